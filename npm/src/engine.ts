/**
 * Run a `.retvec` file with retvec-lite's WebAssembly engine. Its calls return at once: they are good for workers.
 *
 *     const engine = await RetvecEngine.load(await insideEngine(), new Uint8Array(file));
 *     engine.predict("my pakcage never arived"); // { label: "delivery", probability: 0.99 }
 */
import type { Embedded, Prediction, Span } from "./classifier.js";
import { causeOf, RetvecLiteError } from "./errors.js";
import { checkOptions, checkString, checkText, placeOf, type PredictOptions, shown } from "./given.js";
import { type Artifact, artifactOf, isRetvec } from "./retvec_file.js";
import { firstCharacters, pointsOf, type Text, windowsOf } from "./text.js";

/** The functions of engine/retvec_lite.h. Addresses are numbers. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly __heap_base: WebAssembly.Global<"i32">;
  rvl_message(problem: number): number;
  rvl_block_size(file: number, size: number, words: number, bytes: number): number;
  rvl_open(file: number, size: number, words: number, block: number, bytes: number, engine: number): number;
  rvl_labels(engine: number): number;
  rvl_label(engine: number, label: number): number;
  rvl_read_limit(engine: number): number;
  rvl_condense(engine: number, codes: number, count: number, out: number, most: number): number;
  rvl_probabilities(engine: number, codes: number, count: number, probabilities: number): void;
  rvl_classify(engine: number, codes: number, count: number, answers: number, most: number): number;
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
  private readonly engine: number;
  /** Where memory is free. */
  private readonly free: number;

  private constructor(
    private exports: Exports | undefined,
    file: Uint8Array,
    name: string,
    words: number,
  ) {
    const { wasm } = this;
    const result = aligned(wasm.__heap_base.value as number);
    const start = result + ALIGN;
    this.reserve(start + file.length);
    new Uint8Array(wasm.memory.buffer).set(file, start);
    this.checkResult(name, wasm.rvl_block_size(start, file.length, words, result));
    const bytes = this.view().getUint32(result, true);
    const block = aligned(start + file.length);
    this.free = aligned(block + bytes);
    this.reserve(this.free);
    this.checkResult(name, wasm.rvl_open(start, file.length, words, block, bytes, result));
    this.engine = this.view().getUint32(result, true);
    const count = wasm.rvl_labels(this.engine) >>> 0;
    const labels = Array.from({ length: count }, (_, label) => this.string(wasm.rvl_label(this.engine, label)));
    this.artifact = artifactOf(name, file, labels);
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
    return this.wasm.rvl_read_limit(this.engine) >>> 0;
  }

  /** Length of the vectors from `embed`; 0 for a file that reads n-grams alone. */
  get dimension(): number {
    return this.wasm.rvl_dimension(this.engine) >>> 0;
  }

  /** Bytes of WebAssembly memory in use: the file, the engine, and what a call needs. */
  get memory(): number {
    return this.wasm.memory.buffer.byteLength;
  }

  /** Return the probabilities in the order of the labels. Long texts are read in windows. */
  probabilities(text: Text): Float32Array {
    const points = this.points("probabilities", text);
    const [codes, count, result] = this.place(points, 4 * this.labels.length);
    this.wasm.rvl_probabilities(this.engine, codes, count, result);
    return this.floats(result, this.labels.length);
  }

  /** Return the label of a text and its probability. The label is null for a text that belongs to none. */
  predict(text: Text, options: PredictOptions = {}): Prediction {
    const points = this.points("predict", text);
    const { reject = true } = checkOptions("predict", options, {
      reject: [(value) => typeof value === "boolean", "true or false"],
    });
    const [first] = reject ? this.answers(points, 1) : [];
    if (first) return first;
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
    void this.wasm;
    checkString("explain", text);
    const place = placeOf(this.labels, label);
    const read = this.given(text, this.readLimit);
    const characters = [...read];
    const [codes, count, result] = this.place(pointsOf(read), 16 * characters.length);
    const found = this.wasm.rvl_explain(this.engine, codes, count, place, result, count);
    const units = [0];
    for (const character of characters) units.push((units.at(-1) as number) + character.length);
    const view = this.view();
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
    const [codes, count, result] = this.place(points, 4 * dimension);
    this.wasm.rvl_embed(this.engine, codes, count, result);
    return { words, text: this.floats(result, dimension) };
  }

  /** Return the inputs of the model for a text: one, or several windows of a long one. */
  windows(text: Text): number[][] {
    return this.cut(this.points("windows", text));
  }

  /** Free the memory. A second time does nothing. */
  delete(): void {
    this.exports = undefined;
  }

  /** @throws RetvecLiteError after `delete`. */
  private get wasm(): Exports {
    if (!this.exports) throw new RetvecLiteError("This classifier was deleted. Load its file again.");
    return this.exports;
  }

  /** Check what a call was given, and return its code points as they are read. */
  private points(call: string, text: unknown): readonly number[] {
    void this.wasm;
    checkText(call, text);
    return typeof text === "string" ? pointsOf(this.given(text, MOST_GIVEN)) : text.slice(0, MOST_GIVEN);
  }

  /** Return the windows of what is read of a text. */
  private cut(points: readonly number[]): number[][] {
    const limit = this.readLimit;
    const [codes, count, result] = this.place(points, 4 * limit);
    const read = Math.min(this.wasm.rvl_condense(this.engine, codes, count, result, limit) >>> 0, limit);
    const condensed = Array.from(new Uint32Array(this.wasm.memory.buffer, result, read));
    return windowsOf(condensed, this.artifact.encoder.max_chars);
  }

  /** Return the words of one window as the network reads them: the code points of each slot in use. */
  private words(points: readonly number[]): number[][] {
    const slots = this.wasm.rvl_slots(this.engine) >>> 0;
    const length = this.wasm.rvl_slot_length(this.engine) >>> 0;
    const [codes, count, result] = this.place(points, 4 * slots * length);
    const used = Math.min(this.wasm.rvl_words(this.engine, codes, count, result, 0) >>> 0, slots);
    const read = new Uint32Array(this.wasm.memory.buffer, result, used * length);
    return Array.from({ length: used }, (_, slot) =>
      Array.from(read.subarray(slot * length, (slot + 1) * length)).filter((point) => point !== 0),
    );
  }

  private answers(points: readonly number[], most: number): Prediction[] {
    const [codes, count, result] = this.place(points, 8 * most);
    const written = this.wasm.rvl_classify(this.engine, codes, count, result, most);
    const view = this.view();
    return Array.from({ length: Math.min(written >>> 0, most) }, (_, at) => ({
      label: this.labels[view.getInt32(result + 8 * at, true)] ?? null,
      probability: view.getFloat32(result + 8 * at + 4, true),
    }));
  }

  /** Write code points; return where, how many, and where `bytes` of a result may be written. */
  private place(points: readonly number[], bytes: number): [codes: number, count: number, result: number] {
    const result = aligned(this.free + 4 * points.length);
    this.reserve(result + bytes);
    new Uint32Array(this.wasm.memory.buffer, this.free, points.length).set(points);
    return [this.free, points.length, result];
  }

  /** Return a text as the engine takes it: as it was given, up to a length; under earlier versions of the contract composed, as far as it is read. */
  private given(text: string, most: number): string {
    const { contractVersion } = this.artifact;
    if (contractVersion > 2) return firstCharacters(text, most);
    return firstCharacters(text, this.readLimit * (contractVersion === 1 ? MOST_DECOMPOSED : 1)).normalize("NFC");
  }

  private floats(at: number, count: number): Float32Array {
    return new Float32Array(this.wasm.memory.buffer, at, count).slice();
  }

  private view(): DataView {
    return new DataView(this.wasm.memory.buffer);
  }

  /** Return the text that ends in a zero. */
  private string(address: number): string {
    const bytes = new Uint8Array(this.wasm.memory.buffer, address >>> 0);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  private reserve(end: number): void {
    const missing = end - this.wasm.memory.buffer.byteLength;
    if (missing <= 0) return;
    try {
      this.wasm.memory.grow(Math.ceil(missing / PAGE));
    } catch {
      throw new RetvecLiteError(
        `There is not enough memory: the engine needs ${Math.ceil(end / 1e6)} MB for this file.`,
      );
    }
  }

  private checkResult(name: string, problem: number): void {
    if (problem !== 0) throw new RetvecLiteError(`${name}: ${this.string(this.wasm.rvl_message(problem))}`);
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

function aligned(address: number): number {
  return Math.ceil(address / ALIGN) * ALIGN;
}
