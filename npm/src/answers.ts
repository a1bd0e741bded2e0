import type { Artifact } from "./artifact.js";
import { decide, decideAll, type Prediction } from "./decision.js";
import type { Span } from "./explain.js";
import { checkProbabilities, checkText, type PredictOptions, rejects, type Text } from "./given.js";
import { firstPoints, inputsOf, readLimit } from "./windows.js";

/** The words and the embedding of a text. */
export interface Embedded {
  /** The words as the encoder splits them: the code points of each used slot. */
  readonly words: readonly (readonly number[])[];
  /** The embedding, of length 1; zeros for a text without words. */
  readonly text: Float32Array;
}

/**
 * An exported file on one of the engines: what all of them do alike. Free it with `delete`.
 *
 * Calls refuse what is no text, wrong options and unknown labels with a RetvecLiteError, and everything after `delete`.
 */
export abstract class Classifier {
  protected constructor(readonly artifact: Artifact) {}

  /** Whether the file has embeddings. */
  abstract get embeds(): boolean;

  /** @throws RetvecLiteError for a file without embeddings; check `embeds` first. */
  abstract embed(text: Text): Promise<Embedded>;

  /** Return the probabilities in the order of the labels. */
  abstract probabilities(text: Text): Promise<Float32Array>;

  /**
   * Return which words speak for a label, in the order of the text.
   *
   * @param label its name; the most probable one by default.
   */
  abstract explain(text: string, label?: string | null): Promise<Span[]>;

  /** Free the memory. A second time does nothing. */
  abstract delete(): void;

  /** @throws RetvecLiteError after `delete`. */
  protected abstract checkAlive(): void;

  /** The classes, in the order of the probabilities. */
  get labels(): readonly string[] {
    return this.artifact.labels;
  }

  /** What `retvec-lite info` shows: `recipe`, `encoder`, `decision` and more. */
  get metadata(): Readonly<Record<string, unknown>> {
    return this.artifact.metadata;
  }

  /** Number of code points that the model takes at once; longer texts are read in windows. */
  get maxChars(): number {
    return this.artifact.encoder.max_chars;
  }

  /** Number of code points of a text that are read at most. */
  get readLimit(): number {
    return readLimit(this.maxChars, this.artifact.contractVersion);
  }

  /** Number of word slots; further words are ignored. */
  get maxWords(): number {
    return this.artifact.encoder.max_words;
  }

  /** Return the label of a text and its probability. The label is null for a text that belongs to none. */
  async predict(text: Text, options: PredictOptions = {}): Promise<Prediction> {
    this.check("predict", text);
    rejects("predict", options);
    return this.decide(text, await this.probabilities(text), options);
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  async predictAll(text: Text): Promise<Prediction[]> {
    this.check("predictAll", text);
    return this.decideAll(text, await this.probabilities(text));
  }

  /** Do the same as `predictAll` with probabilities that are known already. */
  decideAll(text: Text, probabilities: Float32Array): Prediction[] {
    this.check("decideAll", text);
    checkProbabilities("decideAll", probabilities, this.labels.length);
    return decideAll(this.read(text), probabilities, this.labels, this.artifact.decision);
  }

  /** Do the same as `predict` with probabilities that are known already. */
  decide(text: Text, probabilities: Float32Array, options: PredictOptions = {}): Prediction {
    this.check("decide", text);
    checkProbabilities("decide", probabilities, this.labels.length);
    const decision = rejects("decide", options) ? this.artifact.decision : undefined;
    return decide(this.read(text), probabilities, this.labels, decision);
  }

  /** Return the inputs of the model for a text: one, or several windows of a long one. */
  windows(text: Text): number[][] {
    this.check("windows", text);
    return inputsOf(text, this.maxChars, this.artifact.contractVersion);
  }

  /** Refuse calls after `delete`, and what is no text. */
  protected check(call: string, text: unknown): asserts text is Text {
    this.checkAlive();
    checkText(call, text);
  }

  private read(text: Text): readonly number[] {
    return typeof text === "string" ? firstPoints(text, this.readLimit) : text.slice(0, this.readLimit);
  }
}
