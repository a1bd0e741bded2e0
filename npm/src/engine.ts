/**
 * Run a `.retvec` file with retvec-lite's WebAssembly engine. Its calls return at once: they are good for workers.
 *
 *     const engine = await RetvecEngine.load(await insideEngine(), new Uint8Array(file));
 *     engine.predict("my pakcage never arived"); // { label: "delivery", probability: 0.99 }
 */
import type { Embedded, Prediction, Span } from "./classifier.js";
import { causeOf, RetvecLiteError } from "./errors.js";
import { checkOptions, checkString, checkText, placeOf, type PredictOptions, shown } from "./given.js";
import { type Exports, Heap } from "./heap.js";
import { Memory } from "./memory.js";
import { type Artifact, artifactOf, isRetvec } from "./retvec_file.js";
import { firstCharacters, pointsOf, type Text, windowsOf } from "./text.js";

/** Words whose vectors are kept: 300 kB. */
const WORDS = 384;
const MOST_WORDS = 65_536;
/** A composed character has at most so many code points in decomposed form. */
const MOST_DECOMPOSED = 4;
/** Code points of a text that the engine looks at, where it condenses it. */
const MOST_GIVEN = 2 ** 19;

export interface EngineOptions {
  /** What messages call the file. */
  readonly name?: string | undefined;
  /** How many word vectors are kept for words that come again; 0 for none. */
  readonly words?: number | undefined;
}

/**
 * An exported `.retvec`, with the calls of `Classifier` but without promises.
 *
 * It has a WebAssembly memory of its own, which is freed with this object. What the engine writes is as long as the engine says; what
 * the metadata say only has to agree.
 */
export class RetvecEngine {
  readonly artifact: Artifact;
  private readonly heap: Heap;
  private readonly engine: number;
  private readonly taught: Memory;

  private constructor(exports: Exports, file: Uint8Array, name: string, words: number) {
    const heap = new Heap(exports);
    const { wasm } = heap;
    const result = heap.take(8);
    const start = heap.take(file.length);
    heap.write(start, file);
    heap.check(wasm.rvl_block_size(start, file.length, words, result), `${name}: `);
    const bytes = heap.view().getUint32(result, true);
    const block = heap.take(bytes);
    heap.check(wasm.rvl_open(start, file.length, words, block, bytes, result), `${name}: `);
    this.heap = heap;
    this.engine = heap.view().getUint32(result, true);
    const count = wasm.rvl_labels(this.engine) >>> 0;
    const labels = Array.from({ length: count }, (_, label) => heap.string(wasm.rvl_label(this.engine, label)));
    this.artifact = artifactOf(name, file, labels);
    this.taught = new Memory(heap, this.engine, labels);
  }

  /**
   * Check a file and start an engine.
   *
   * @param wasm `engine.wasm`: its bytes, or the compiled module, which several engines may share.
   * @throws RetvecLiteError for a file that is damaged, or of another version. Its message says what to do.
   */
  static async load(
    wasm: WebAssembly.Module | BufferSource,
    file: Uint8Array,
    options: EngineOptions = {},
  ): Promise<RetvecEngine> {
    const { name = "The file", words = WORDS } = checkOptions("RetvecEngine.load", options, {
      name: [(value) => typeof value === "string", "a string"],
      words: [
        (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST_WORDS,
        `a whole number from 0 to ${MOST_WORDS}`,
      ],
    });
    if (!(file instanceof Uint8Array)) {
      throw new RetvecLiteError(`RetvecEngine.load takes the bytes of a file as a Uint8Array, not ${shown(file)}.`);
    }
    if (!isRetvec(file)) throw new RetvecLiteError(`${name} is not a .retvec file.`);
    return new RetvecEngine(await started(wasm), file, name, words);
  }

  /** The classes, in the order of the probabilities. */
  get labels(): readonly string[] {
    return this.artifact.labels;
  }

  /** What `retvec-lite info` shows: `recipe`, `encoder`, `decision` and more. */
  get metadata(): Readonly<Record<string, unknown>> {
    return this.artifact.metadata;
  }

  /** Whether the file has embeddings. */
  get embeds(): boolean {
    return this.dimension > 0;
  }

  /** Number of code points that are read of a text at most: of what condensing leaves, from version 3 of the contract on. */
  get readLimit(): number {
    return this.heap.wasm.rvl_read_limit(this.engine) >>> 0;
  }

  /** Length of the vectors from `embed`; 0 for a file that reads n-grams alone. */
  get dimension(): number {
    return this.heap.wasm.rvl_dimension(this.engine) >>> 0;
  }

  /** Bytes of WebAssembly memory in use: the file, the engine, what was taught, and what a call needs. */
  get bytes(): number {
    return this.heap.bytes;
  }

  /** What was taught: `length`, `texts`, `labels`, and `save` and `load` for its file. */
  get memory(): Memory {
    void this.heap.wasm;
    return this.taught;
  }

  /** Teach that a text has a label, old or new; `Classifier.teach` describes it. */
  teach(text: Text, label: string): void {
    this.taught.teach(this.points("teach", text), label);
  }

  /** Forget a text that was taught. */
  forget(text: Text): void {
    this.taught.forget(this.points("forget", text));
  }

  /** Return the probabilities in the order of the labels. Long texts are read in windows. */
  probabilities(text: Text): Float32Array {
    const points = this.points("probabilities", text);
    const [codes, count, result] = this.heap.place(points, 4 * this.labels.length);
    this.heap.wasm.rvl_probabilities(this.engine, codes, count, result);
    return this.heap.floats(result, this.labels.length);
  }

  /** Return the label of a text and its probability. The label is null for a text that belongs to none. */
  predict(text: Text, options: PredictOptions = {}): Prediction {
    const points = this.points("predict", text);
    const { reject = true } = checkOptions("predict", options, {
      reject: [(value) => typeof value === "boolean", "true or false"],
    });
    const [first] = reject || this.taught.length ? this.answers(points, 1) : [];
    if (first && (reject || (first.taught !== undefined && first.label !== null))) return first;
    const probabilities = this.probabilities(text);
    const probability = Math.max(...probabilities);
    return { label: reject ? null : (this.labels[probabilities.indexOf(probability)] as string), probability };
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  predictAll(text: Text): Prediction[] {
    const points = this.points("predictAll", text);
    const most = this.artifact.decision?.thresholds ? this.labels.length : 1;
    return this.answers(points, most).filter(({ label }) => label !== null);
  }

  /**
   * Return which words speak for a label, in the order of the text, of its first `readLimit` code points.
   *
   * @param label its name; the most probable one by default.
   */
  explain(text: string, label?: string | null): Span[] {
    void this.heap.wasm;
    checkString("explain", text);
    const place = placeOf(this.labels, label);
    const read = this.given(text, this.readLimit);
    const characters = [...read];
    const [codes, count, result] = this.heap.place(pointsOf(read), 16 * characters.length);
    const found = this.heap.wasm.rvl_explain(this.engine, codes, count, place, result, count);
    const units = [0];
    for (const character of characters) units.push((units.at(-1) as number) + character.length);
    const view = this.heap.view();
    return Array.from({ length: Math.min(found >>> 0, count) }, (_, at) => {
      const [start, end] = [0, 4].map((offset) => units[view.getUint32(result + 16 * at + offset, true)] as number);
      return { start: start as number, end: end as number, weight: view.getFloat64(result + 16 * at + 8, true) };
    });
  }

  /** @throws RetvecLiteError for a file without embeddings; check `embeds` first. */
  embed(text: Text): Embedded {
    const points = this.points("embed", text);
    const { dimension } = this;
    if (!dimension) throw new RetvecLiteError("This file has no embeddings: it reads n-grams alone.");
    const words = this.cut(points).flatMap((window) => this.words(window));
    const [codes, count, result] = this.heap.place(points, 4 * dimension);
    this.heap.wasm.rvl_embed(this.engine, codes, count, result);
    return { words, text: this.heap.floats(result, dimension) };
  }

  /** Return the inputs of the model for a text: one, or several windows of a long one. */
  windows(text: Text): number[][] {
    return this.cut(this.points("windows", text));
  }

  /** Free the memory. A second time does nothing. */
  delete(): void {
    this.heap.delete();
  }

  /** Check what a call was given, and return its code points as they are read. */
  private points(call: string, text: unknown): readonly number[] {
    void this.heap.wasm;
    checkText(call, text);
    return typeof text === "string" ? pointsOf(this.given(text, MOST_GIVEN)) : text.slice(0, MOST_GIVEN);
  }

  /** Return the windows of what is read of a text. */
  private cut(points: readonly number[]): number[][] {
    const limit = this.readLimit;
    const [codes, count, result] = this.heap.place(points, 4 * limit);
    const read = Math.min(this.heap.wasm.rvl_condense(this.engine, codes, count, result, limit) >>> 0, limit);
    const condensed = Array.from(new Uint32Array(this.heap.wasm.memory.buffer, result, read));
    return windowsOf(condensed, this.artifact.encoder.max_chars);
  }

  /** Return the words of one window as the network reads them: the code points of each slot in use. */
  private words(points: readonly number[]): number[][] {
    const slots = this.heap.wasm.rvl_slots(this.engine) >>> 0;
    const length = this.heap.wasm.rvl_slot_length(this.engine) >>> 0;
    const [codes, count, result] = this.heap.place(points, 4 * slots * length);
    const used = Math.min(this.heap.wasm.rvl_words(this.engine, codes, count, result, 0) >>> 0, slots);
    const read = new Uint32Array(this.heap.wasm.memory.buffer, result, used * length);
    return Array.from({ length: used }, (_, slot) =>
      Array.from(read.subarray(slot * length, (slot + 1) * length)).filter((point) => point !== 0),
    );
  }

  private answers(points: readonly number[], most: number): Prediction[] {
    const { wasm } = this.heap;
    const [codes, count, result] = this.heap.place(points, 8 * most);
    const written = wasm.rvl_classify(this.engine, codes, count, result, most);
    const view = this.heap.view();
    const answers: Prediction[] = Array.from({ length: Math.min(written >>> 0, most) }, (_, at) => {
      const number = view.getInt32(result + 8 * at, true);
      const label = this.labels[number] ?? (number < 0 ? null : this.heap.string(wasm.rvl_label(this.engine, number)));
      return { label, probability: view.getFloat32(result + 8 * at + 4, true) };
    });
    const taught = this.taught.speaker();
    return answers.map((answer, at) => (at === 0 && taught !== undefined ? { ...answer, taught } : answer));
  }

  /** Return a text as the engine takes it: as it was given, up to a length; under earlier versions of the contract composed, as far as it is read. */
  private given(text: string, most: number): string {
    const { contractVersion } = this.artifact;
    if (contractVersion > 2) return firstCharacters(text, most);
    return firstCharacters(text, this.readLimit * (contractVersion === 1 ? MOST_DECOMPOSED : 1)).normalize("NFC");
  }
}

/** Whether a value may be the engine: its bytes, or compiled. */
export function isEngine(value: unknown): value is WebAssembly.Module | BufferSource {
  return value instanceof WebAssembly.Module || value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

/** Compile and instantiate the engine. */
async function started(wasm: WebAssembly.Module | BufferSource): Promise<Exports> {
  if (!isEngine(wasm)) {
    throw new RetvecLiteError(`RetvecEngine.load takes the engine, its bytes or compiled, not ${shown(wasm)}.`);
  }
  try {
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const { exports } = await WebAssembly.instantiate(module);
    if (typeof exports.rvl_open === "function") return exports as unknown as Exports;
  } catch (error) {
    throw new RetvecLiteError(`The engine cannot start: ${causeOf(error)}.`);
  }
  throw new RetvecLiteError("The engine cannot start: this is not the engine.wasm of retvec-lite.");
}
