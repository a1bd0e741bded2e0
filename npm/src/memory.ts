/** The texts that a classifier was taught. */
import { RetvecError } from "./errors.js";
import { isA, shown } from "./given.js";
import type { Heap } from "./heap.js";
import { toUtf8 } from "./text.js";

/** RVL_FULL of engine/retvec_lite.h. */
const FULL = 12;
/** Texts for which the first block has room, on average. */
const FEW = 64;

/**
 * What a classifier was taught; `Classifier.memory` is one.
 *
 * It holds the texts themselves, up to 256 bytes of each, so a saved memory is as private as they are.
 */
export class Memory {
  /** Its block is the last thing that was taken of the heap, so that a larger one may replace it. */
  private block = 0;
  private room = 0;

  /** @internal */
  constructor(
    private readonly heap: Heap,
    private readonly engine: number,
    private readonly known: readonly string[],
  ) {}

  /** How many texts are taught. */
  get length(): number {
    return this.heap.wasm.rvl_taught(this.engine) >>> 0;
  }

  /** The taught texts, as they are kept, with their labels, in the order of teaching. */
  get texts(): [text: string, label: string][] {
    return Array.from({ length: this.length }, (_, number) => this.pair(number));
  }

  /** The taught labels that the classifier does not have. */
  get labels(): string[] {
    return [...new Set(this.texts.map(([, label]) => label))].filter((label) => !this.known.includes(label));
  }

  /** Return the memory as the bytes of a file, which every package of retvec-lite reads. */
  save(): Uint8Array {
    this.opened(() => 0);
    const { wasm, free } = this.heap;
    const size = wasm.rvl_memory_save(this.engine, 0, 0) >>> 0;
    this.heap.reserve(free + size);
    wasm.rvl_memory_save(this.engine, free, size);
    return new Uint8Array(wasm.memory.buffer, free, size).slice();
  }

  /**
   * Take what a file holds, in place of what was taught. It may have been taught to another classifier.
   *
   * @throws RetvecError for bytes that are no memory, damaged or of a newer version; then nothing changes.
   */
  load(bytes: Uint8Array): void {
    if (!isA(bytes, "Uint8Array")) {
      throw new RetvecError("WRONG_CALL", `load takes the bytes of a memory as a Uint8Array, not ${shown(bytes)}.`);
    }
    this.opened(() => {
      this.heap.reserve(this.heap.free + bytes.length);
      this.heap.write(this.heap.free, bytes);
      return this.heap.wasm.rvl_memory_load(this.engine, this.heap.free, bytes.length);
    });
  }

  /** Forget all texts. */
  clear(): void {
    if (this.block)
      this.heap.check(this.heap.wasm.rvl_memory_open(this.engine, this.block, this.heap.free - this.block));
  }

  /** @internal */
  teach(points: readonly number[], label: string): void {
    if (typeof label !== "string") throw new RetvecError("WRONG_CALL", `teach takes a label, not ${shown(label)}.`);
    const name = toUtf8(/[\0\p{Cs}]/u.test(label) ? "\0" : `${label}\0`);
    this.opened(() => {
      const [codes, count, end] = this.heap.place(points, name.length);
      this.heap.write(end, name);
      return this.heap.wasm.rvl_teach(this.engine, codes, count, end);
    });
  }

  /** @internal */
  forget(points: readonly number[]): void {
    this.opened(() => {
      const [codes, count] = this.heap.place(points, 0);
      return this.heap.wasm.rvl_forget(this.engine, codes, count);
    });
  }

  /** Return the taught text by which the memory gave the last answer. @internal */
  speaker(): string | undefined {
    const number = this.heap.wasm.rvl_speaker(this.engine);
    return number < 0 ? undefined : this.pair(number)[0];
  }

  private pair(number: number): [text: string, label: string] {
    const { wasm, free } = this.heap;
    this.heap.reserve(free + 4);
    const text = wasm.rvl_taught_text(this.engine, number, free);
    return [this.heap.string(text), this.heap.string(this.heap.view().getUint32(free, true))];
  }

  /** Change an open memory; where it has no room, a larger one, as long as there is. */
  private opened(change: () => number): void {
    if (!this.block) this.grow();
    let problem = change();
    while (problem === FULL && this.grow()) problem = change();
    this.heap.check(problem);
  }

  /** Open a larger block with the same texts; returns whether there is one. */
  private grow(): boolean {
    const { heap, engine } = this;
    const room = this.room ? 2 * this.room : FEW;
    const bytes = heap.wasm.rvl_memory_size(engine, room) >>> 0;
    if (this.block && bytes <= heap.free - this.block) return false;
    const texts = this.block ? this.save() : undefined;
    const start = this.block || heap.free;
    heap.reserve(start + bytes);
    heap.check(heap.wasm.rvl_memory_open(engine, start, bytes));
    heap.free = start;
    this.block = heap.take(bytes);
    this.room = room;
    if (texts) this.load(texts);
    return true;
  }
}
