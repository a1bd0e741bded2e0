/** The WebAssembly memory of one engine: what lies where in it, and what is written and read there. */
import { ENGINE_CODES, RetvecError } from "./errors.js";
import { fromUtf8 } from "./text.js";

/** The functions of engine/retvec_lite.h. Addresses are numbers. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly __heap_base: WebAssembly.Global<"i32">;
  rvl_message(problem: number): number;
  rvl_block_size(file: number, size: number, words: number, bytes: number): number;
  rvl_open(file: number, size: number, words: number, block: number, bytes: number, engine: number): number;
  rvl_labels(engine: number): number;
  rvl_label(engine: number, label: number): number;
  rvl_read_limit(engine: number): number;
  rvl_condense(engine: number, codes: number, count: number, out: number, most: number): number;
  rvl_condense_by(rules: number, codes: number, count: number, out: number): number;
  rvl_probabilities(engine: number, codes: number, count: number, probabilities: number): void;
  rvl_classify(engine: number, codes: number, count: number, answers: number, most: number): number;
  rvl_memory_size(engine: number, texts: number): number;
  rvl_memory_open(engine: number, block: number, bytes: number): number;
  rvl_teach(engine: number, codes: number, count: number, label: number): number;
  rvl_forget(engine: number, codes: number, count: number): number;
  rvl_taught(engine: number): number;
  rvl_taught_text(engine: number, number: number, label: number): number;
  rvl_speaker(engine: number): number;
  rvl_memory_save(engine: number, out: number, most: number): number;
  rvl_memory_load(engine: number, data: number, size: number): number;
  rvl_explain(engine: number, codes: number, count: number, label: number, spans: number, most: number): number;
  rvl_dimension(engine: number): number;
  rvl_embed(engine: number, codes: number, count: number, embedding: number): void;
  rvl_slots(engine: number): number;
  rvl_slot_length(engine: number): number;
  rvl_words(engine: number, codes: number, count: number, slots: number, embeddings: number): number;
}

/** Where files and blocks must start. */
const ALIGN = 16;
const PAGE = 65_536;

export class Heap {
  /** Where memory is free. */
  free: number;

  constructor(private exports: Exports | undefined) {
    this.free = aligned(this.wasm.__heap_base.value as number);
  }

  /** @throws RetvecError after `close`. */
  get wasm(): Exports {
    if (!this.exports) throw new RetvecError("CLOSED", "This classifier was closed. Load its file again.");
    return this.exports;
  }

  get bytes(): number {
    return this.wasm.memory.buffer.byteLength;
  }

  close(): void {
    this.exports = undefined;
  }

  /** Take bytes for good, and return where they start. */
  take(bytes: number): number {
    const start = this.free;
    this.reserve(start + bytes);
    this.free = aligned(start + bytes);
    return start;
  }

  /** Write code points; return where, how many, and where `bytes` of a result may be written. */
  place(points: readonly number[], bytes: number): [codes: number, count: number, result: number] {
    const result = aligned(this.free + 4 * points.length);
    this.reserve(result + bytes);
    new Uint32Array(this.wasm.memory.buffer, this.free, points.length).set(points);
    return [this.free, points.length, result];
  }

  write(at: number, bytes: Uint8Array): void {
    new Uint8Array(this.wasm.memory.buffer).set(bytes, at);
  }

  floats(at: number, count: number): Float32Array {
    return new Float32Array(this.wasm.memory.buffer, at, count).slice();
  }

  view(): DataView {
    return new DataView(this.wasm.memory.buffer);
  }

  /** Return the text that ends in a zero. */
  string(address: number): string {
    const bytes = new Uint8Array(this.wasm.memory.buffer, address >>> 0);
    return fromUtf8(bytes.subarray(0, bytes.indexOf(0)));
  }

  reserve(end: number): void {
    const missing = end - this.bytes;
    if (missing <= 0) return;
    try {
      this.wasm.memory.grow(Math.ceil(missing / PAGE));
    } catch {
      throw new RetvecError(
        "NO_SPACE",
        `There is not enough memory: the engine needs ${Math.ceil(end / 1e6)} MB for this file.`,
      );
    }
  }

  /** @throws RetvecError for the number of a problem, with the words of the engine behind those before them. */
  check(problem: number, before = ""): void {
    if (problem === 0) return;
    throw new RetvecError(ENGINE_CODES[problem] ?? "RVL_DAMAGED", before + this.string(this.wasm.rvl_message(problem)));
  }
}

function aligned(address: number): number {
  return Math.ceil(address / ALIGN) * ALIGN;
}
