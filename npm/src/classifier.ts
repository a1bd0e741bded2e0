/// <reference lib="esnext.disposable" preserve="true" />
import { RetvecError } from "./errors.js";
import { checkString, checkText, checkTexts, isRejecting, placeOf, type PredictOptions } from "./given.js";
import { type Exports, Heap } from "./heap.js";
import { Memory } from "./memory.js";
import { type Artifact, artifactOf } from "./retvec_file.js";
import { type Character, charactersOf, firstCharacters, MOST_GIVEN, pointsOf, type Text, windowsOf } from "./text.js";

/** The label of a text, null if it belongs to none, and the probability of the most probable label. */
export interface Prediction {
  readonly label: string | null;
  readonly probability: number;
  /** The taught text by which the memory answered; absent where the model did. */
  readonly taught?: string;
}

/** A part of the text as it was given, from `start` up to `end` as `slice` takes them, and how much it speaks for the label. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** By how much the natural logarithm of the label's probability falls without it. */
  readonly weight: number;
}

/** The words and the embedding of a text. */
export interface Embedded {
  /** The words as the encoder splits them: the code points of each used slot. */
  readonly words: readonly (readonly number[])[];
  /** The embedding, of length 1; zeros for a text without words. */
  readonly text: Float32Array;
}

/**
 * An exported `.retvec`, which `load` opens. Calls return at once; where many texts would stop a page, make it in a worker.
 *
 * It has a WebAssembly memory of its own. What the engine writes is as long as the engine says; what the metadata say only has to agree.
 * Calls refuse what is no text, wrong options and unknown labels with a RetvecError, and everything after `close`.
 */
export class Classifier {
  /** What the file says of itself. */
  readonly artifact: Artifact;
  private readonly heap: Heap;
  private readonly engine: number;
  private readonly taught: Memory;

  /** @internal */
  constructor(exports: Exports, file: Uint8Array, name: string, words: number) {
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

  /** Length of the vectors from `embed`; 0 for a file that reads n-grams alone. */
  get dimension(): number {
    return this.heap.wasm.rvl_dimension(this.engine) >>> 0;
  }

  /** Number of code points that the model takes at once; longer texts are read in windows. */
  get maxChars(): number {
    return this.artifact.encoder.max_chars;
  }

  /** Number of word slots; further words are ignored. */
  get maxWords(): number {
    return this.artifact.encoder.max_words;
  }

  /** Number of code points that are read of a text at most, of what condensing leaves. */
  get readLimit(): number {
    return this.heap.wasm.rvl_read_limit(this.engine) >>> 0;
  }

  /** Bytes of WebAssembly memory in use: the file, the engine, what was taught, and what a call needs. */
  get bytes(): number {
    return this.heap.bytes;
  }

  /** Return the label of a text and its probability. The label is null for a text that belongs to none. */
  predict(text: Text, options: PredictOptions = {}): Prediction {
    const points = this.points("predict", text);
    const reject = isRejecting("predict", options);
    const [first] = reject || this.taught.length ? this.answers(points, 1) : [];
    if (first && (reject || (first.taught !== undefined && first.label !== null))) return first;
    const probabilities = this.probabilities(text);
    const probability = Math.max(...probabilities);
    return { label: reject ? null : (this.labels[probabilities.indexOf(probability)] as string), probability };
  }

  /** Return what `predict` says of each text, in their order. */
  predictMany(texts: Iterable<Text>, options: PredictOptions = {}): Prediction[] {
    void this.heap.wasm;
    checkTexts("predictMany", texts);
    isRejecting("predictMany", options);
    return Array.from(texts, (text) => this.predict(text, options));
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  predictAll(text: Text): Prediction[] {
    const points = this.points("predictAll", text);
    const most = this.artifact.decision?.thresholds ? this.labels.length : 1;
    return this.answers(points, most).filter(({ label }) => label !== null);
  }

  /** Return the probabilities in the order of the labels. Long texts are read in windows. */
  probabilities(text: Text): Float32Array {
    const points = this.points("probabilities", text);
    const [codes, count, result] = this.heap.place(points, 4 * this.labels.length);
    this.heap.wasm.rvl_probabilities(this.engine, codes, count, result);
    return this.heap.floats(result, this.labels.length);
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
    const read = charactersOf(firstCharacters(text, this.readLimit));
    const points = read.map(({ point }) => point);
    const [codes, count, result] = this.heap.place(points, 16 * points.length);
    const found = this.heap.wasm.rvl_explain(this.engine, codes, count, place, result, count);
    const view = this.heap.view();
    return Array.from({ length: Math.min(found >>> 0, count) }, (_, at) => {
      const [first, end] = [0, 4].map((offset) => view.getUint32(result + 16 * at + offset, true)) as [number, number];
      return {
        start: (read[first] as Character).start,
        end: (read[end - 1] as Character).end,
        weight: view.getFloat64(result + 16 * at + 8, true),
      };
    });
  }

  /** @throws RetvecError for a file without embeddings; check `embeds` first. */
  embed(text: Text): Embedded {
    const points = this.points("embed", text);
    const { dimension } = this;
    if (!dimension) throw new RetvecError("WRONG_CALL", "This file has no embeddings: it reads n-grams alone.");
    const words = this.cut(points).flatMap((window) => this.words(window));
    const [codes, count, result] = this.heap.place(points, 4 * dimension);
    this.heap.wasm.rvl_embed(this.engine, codes, count, result);
    return { words, text: this.heap.floats(result, dimension) };
  }

  /** What was taught: `length`, `texts`, `labels`, and `save` and `load` for its file. */
  get memory(): Memory {
    void this.heap.wasm;
    return this.taught;
  }

  /**
   * Teach that a text has a label, old or new: from now on, `predict` and `predictAll` answer it, and texts like it, with that label.
   *
   * All other texts are answered as before, to the last bit. What was taught lies in `memory`, not in the file.
   *
   * @throws RetvecError for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a
   *   classifier that cannot be taught: one without embeddings, or with several labels a text.
   */
  teach(text: Text, label: string): void {
    this.taught.teach(this.points("teach", text), label);
  }

  /** Forget a text that was taught: everything is answered as if it had never been. */
  forget(text: Text): void {
    this.taught.forget(this.points("forget", text));
  }

  /** Return the inputs of the model for a text: one, or several windows of a long one. */
  windows(text: Text): number[][] {
    return this.cut(this.points("windows", text));
  }

  /** Free the memory. A second time does nothing. */
  close(): void {
    this.heap.close();
  }

  /** The same at the end of a block: `using classifier = await load(...)`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Check what a call was given, and return its code points as they are read. */
  private points(call: string, text: unknown): readonly number[] {
    void this.heap.wasm;
    checkText(call, text);
    return typeof text === "string" ? pointsOf(firstCharacters(text, MOST_GIVEN)) : text.slice(0, MOST_GIVEN);
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
}
