import type { RetvecEngine } from "./engine.js";
import type { PredictOptions } from "./given.js";
import type { Memory } from "./memory.js";
import type { Artifact } from "./retvec_file.js";
import type { Text } from "./text.js";

/** The label of a text, null if it belongs to none, and the probability of the most probable label. */
export interface Prediction {
  readonly label: string | null;
  readonly probability: number;
  /** The taught text by which the memory answered; absent where the model did. */
  readonly taught?: string;
}

/**
 * A part of a text, from `start` up to `end` as `slice` takes them, and how much it speaks for the label. Of files that follow version 1 or 2
 * of the contract, it is a part of the text in composed form (NFC).
 */
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
 * An exported file that answers with promises; `RetvecEngine` has the same calls without. Free it with `delete`.
 *
 * Calls refuse what is no text, wrong options and unknown labels with a RetvecLiteError, and everything after `delete`.
 */
export class Classifier {
  constructor(private readonly engine: RetvecEngine) {}

  /** What the file says of itself. */
  get artifact(): Artifact {
    return this.engine.artifact;
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
    return this.engine.embeds;
  }

  /** Number of code points that the model takes at once; longer texts are read in windows. */
  get maxChars(): number {
    return this.artifact.encoder.max_chars;
  }

  /** Number of word slots; further words are ignored. */
  get maxWords(): number {
    return this.artifact.encoder.max_words;
  }

  /** Number of code points that are read of a text at most: of what condensing leaves, from version 3 of the contract on. */
  get readLimit(): number {
    return this.engine.readLimit;
  }

  /** Return the label of a text and its probability. The label is null for a text that belongs to none. */
  async predict(text: Text, options?: PredictOptions): Promise<Prediction> {
    return this.engine.predict(text, options);
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  async predictAll(text: Text): Promise<Prediction[]> {
    return this.engine.predictAll(text);
  }

  /** Return the probabilities in the order of the labels. */
  async probabilities(text: Text): Promise<Float32Array> {
    return this.engine.probabilities(text);
  }

  /** Return which words speak for a label, in the order of the text: for the most probable label by default. */
  async explain(text: string, label?: string | null): Promise<Span[]> {
    return this.engine.explain(text, label);
  }

  /** @throws RetvecLiteError for a file without embeddings; check `embeds` first. */
  async embed(text: Text): Promise<Embedded> {
    return this.engine.embed(text);
  }

  /** What was taught: `length`, `texts`, `labels`, and `save` and `load` for its file. */
  get memory(): Memory {
    return this.engine.memory;
  }

  /**
   * Teach that a text has a label, old or new: from now on, `predict` and `predictAll` answer it, and texts like it, with that label.
   *
   * All other texts are answered as before, to the last bit. What was taught lies in `memory`, not in the file.
   *
   * @throws RetvecLiteError for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a
   *   classifier that cannot be taught: one without embeddings, or with several labels a text.
   */
  async teach(text: Text, label: string): Promise<void> {
    this.engine.teach(text, label);
  }

  /** Forget a text that was taught: everything is answered as if it had never been. */
  async forget(text: Text): Promise<void> {
    this.engine.forget(text);
  }

  /** Return the inputs of the model for a text: one, or several windows of a long one. */
  windows(text: Text): number[][] {
    return this.engine.windows(text);
  }

  /** Free the memory. A second time does nothing. */
  delete(): void {
    this.engine.delete();
  }
}
