/**
 * Run a `.retvec` file with retvec-lite's WebAssembly engine. Its calls return at once: they are good for workers.
 *
 *     const engine = await RetvecEngine.load(await insideEngine(), new Uint8Array(file));
 *     engine.predict("my pakcage never arived"); // { label: "delivery", probability: 0.99 }
 */
import type { Prediction } from "./decision.js";
import type { Span } from "./explain.js";
import { firstCharacters } from "./windows.js";

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
/** The section of a file that holds its metadata, and where the list of sections is. */
const METADATA = 0x8000;
const COUNT_AT = 20;
const SECTIONS_AT = 64;
const SECTION_SIZE = 16;
/** A composed character has at most so many code points in decomposed form. */
const MOST_DECOMPOSED = 4;

/** An exported `.retvec` in memory of its own, which is freed with this object. */
export class RetvecEngine {
  readonly labels: readonly string[];
  /** What `retvec-lite info` shows: `recipe`, `encoder`, `decision` and more. */
  readonly metadata: Readonly<Record<string, unknown>>;
  private readonly engine: number;
  /** Where memory is free. */
  private readonly free: number;

  private constructor(
    private readonly wasm: Exports,
    file: Uint8Array,
    words: number,
  ) {
    const result = aligned(wasm.__heap_base.value as number);
    const start = result + ALIGN;
    this.reserve(start + file.length);
    new Uint8Array(wasm.memory.buffer).set(file, start);
    this.check(wasm.rvl_block_size(start, file.length, words, result));
    const bytes = this.view().getUint32(result, true);
    const block = aligned(start + file.length);
    this.free = aligned(block + bytes);
    this.reserve(this.free);
    this.check(wasm.rvl_open(start, file.length, words, block, bytes, result));
    this.engine = this.view().getUint32(result, true);
    const count = wasm.rvl_labels(this.engine);
    this.labels = Array.from({ length: count }, (_, label) => this.text(wasm.rvl_label(this.engine, label)));
    this.metadata = metadataOf(file);
  }

  /**
   * Check a file and start an engine.
   *
   * @param wasm `engine.wasm`: its bytes, or the compiled module, which several engines may share.
   * @param words how many word vectors are kept for words that come again; 0 for none.
   * @throws Error for a file that is damaged, or of another version. Its message says what to do.
   */
  static async load(wasm: WebAssembly.Module | BufferSource, file: Uint8Array, words = WORDS): Promise<RetvecEngine> {
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const { exports } = await WebAssembly.instantiate(module);
    return new RetvecEngine(exports as unknown as Exports, file, words);
  }

  /** Number of code points of a text that are read at most. */
  get readLimit(): number {
    return this.wasm.rvl_read_limit(this.engine);
  }

  /** Length of the vectors from `embed`; 0 for a file that reads n-grams alone. */
  get dimension(): number {
    return this.wasm.rvl_dimension(this.engine);
  }

  /** Bytes of WebAssembly memory in use: the file, the engine, and what a call needs. */
  get memory(): number {
    return this.wasm.memory.buffer.byteLength;
  }

  /**
   * Return the probabilities in the order of the labels. Long texts are read in windows.
   *
   * @param text a text, or code points in composed form (NFC).
   */
  probabilities(text: string | readonly number[]): Float32Array {
    const [codes, count, result] = this.place(text, 4 * this.labels.length);
    this.wasm.rvl_probabilities(this.engine, codes, count, result);
    return this.floats(result, this.labels.length);
  }

  /**
   * Return the label of a text and its probability. The label is null for a text that belongs to none.
   *
   * @param reject false gives every text a label.
   */
  predict(text: string | readonly number[], { reject = true } = {}): Prediction {
    const [first] = reject ? this.answers(text, 1) : [];
    if (first) return first;
    const probabilities = this.probabilities(text);
    const probability = Math.max(...probabilities);
    return { label: reject ? null : (this.labels[probabilities.indexOf(probability)] as string), probability };
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  predictAll(text: string | readonly number[]): Prediction[] {
    const { thresholds } = (this.metadata.decision ?? {}) as { thresholds?: unknown };
    return this.answers(text, thresholds ? this.labels.length : 1).filter(({ label }) => label !== null);
  }

  /** Return which words speak for a label, by its place in `labels`; for the most probable one by default. */
  explain(text: string, label = -1): Span[] {
    const characters = [...this.composed(text)];
    const [codes, count, result] = this.place(characters.map(pointOf), 16 * characters.length);
    const found = this.wasm.rvl_explain(this.engine, codes, count, label, result, count);
    const units = [0];
    for (const character of characters) units.push((units.at(-1) as number) + character.length);
    const view = this.view();
    return Array.from({ length: found }, (_, at) => {
      const [start, end] = [0, 4].map((offset) => units[view.getUint32(result + 16 * at + offset, true)] as number);
      return { start: start as number, end: end as number, weight: view.getFloat64(result + 16 * at + 8, true) };
    });
  }

  /** Return the embedding of a text, of length 1; zeros for a text without words. */
  embed(text: string | readonly number[]): Float32Array {
    const [codes, count, result] = this.place(text, 4 * this.dimension);
    this.wasm.rvl_embed(this.engine, codes, count, result);
    return this.floats(result, this.dimension);
  }

  /** Return the words of one window as the network reads them: the code points of each slot in use. */
  words(text: string | readonly number[]): number[][] {
    const [slots, length] = [this.wasm.rvl_slots(this.engine), this.wasm.rvl_slot_length(this.engine)];
    const [codes, count, result] = this.place(text, 4 * slots * length);
    const used = this.wasm.rvl_words(this.engine, codes, count, result, 0);
    const points = new Uint32Array(this.wasm.memory.buffer, result, used * length);
    return Array.from({ length: used }, (_, slot) =>
      Array.from(points.subarray(slot * length, (slot + 1) * length)).filter((point) => point !== 0),
    );
  }

  private answers(text: string | readonly number[], most: number): Prediction[] {
    const [codes, count, result] = this.place(text, 8 * most);
    const written = this.wasm.rvl_classify(this.engine, codes, count, result, most);
    const view = this.view();
    return Array.from({ length: written }, (_, at) => ({
      label: this.labels[view.getInt32(result + 8 * at, true)] ?? null,
      probability: view.getFloat32(result + 8 * at + 4, true),
    }));
  }

  /** Write the code points of a text; return where, how many, and where `bytes` of a result may be written. */
  private place(text: string | readonly number[], bytes: number): [codes: number, count: number, result: number] {
    const points = typeof text === "string" ? Array.from(this.composed(text), pointOf) : text;
    const result = aligned(this.free + 4 * points.length);
    this.reserve(result + bytes);
    new Uint32Array(this.wasm.memory.buffer, this.free, points.length).set(points);
    return [this.free, points.length, result];
  }

  /** Return a text in composed form, as far as it is read. */
  private composed(text: string): string {
    const isOld = this.metadata.contract_version === 1;
    const limit = this.readLimit * (isOld ? MOST_DECOMPOSED : 1);
    return firstCharacters(text, limit).normalize("NFC");
  }

  private floats(at: number, count: number): Float32Array {
    return new Float32Array(this.wasm.memory.buffer, at, count).slice();
  }

  private view(): DataView {
    return new DataView(this.wasm.memory.buffer);
  }

  private text(at: number): string {
    const bytes = new Uint8Array(this.wasm.memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  private reserve(end: number): void {
    const missing = end - this.wasm.memory.buffer.byteLength;
    if (missing > 0) this.wasm.memory.grow(Math.ceil(missing / PAGE));
  }

  private check(problem: number): void {
    if (problem !== 0) throw new Error(this.text(this.wasm.rvl_message(problem)));
  }
}

function pointOf(character: string): number {
  return character.codePointAt(0) as number;
}

function aligned(address: number): number {
  return Math.ceil(address / ALIGN) * ALIGN;
}

/** Return the metadata of a file that the engine has checked. */
function metadataOf(file: Uint8Array): Record<string, unknown> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const end = SECTIONS_AT + SECTION_SIZE * view.getUint32(COUNT_AT, true);
  for (let at = SECTIONS_AT; at < end; at += SECTION_SIZE) {
    if (view.getUint32(at, true) !== METADATA) continue;
    const start = view.getUint32(at + 4, true);
    return JSON.parse(new TextDecoder().decode(file.subarray(start, start + view.getUint32(at + 8, true))));
  }
  return {};
}
