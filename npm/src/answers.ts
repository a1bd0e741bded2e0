import type { Artifact } from "./artifact.js";
import { decide, decideAll, type Prediction } from "./decision.js";
import { RetvecLiteError } from "./errors.js";
import { explain, type Span } from "./explain.js";
import { combine, cutWindows, firstCharacters, firstPoints, readLimit, windowsOf } from "./windows.js";

/** The words and the embedding of a text. */
export interface Embedded {
  /** The words as the encoder splits them: the code points of each used slot. */
  readonly words: readonly (readonly number[])[];
  /** The mean of the word embeddings, scaled to length 1; zeros for a text without words. */
  readonly text: Float32Array;
}

/** An exported file on one of the engines: what all of them do alike. Free it with `delete`. */
export abstract class Classifier {
  protected constructor(readonly artifact: Artifact) {}

  /** Whether the file has embeddings. */
  abstract get embeds(): boolean;

  /** @throws Error for a file without embeddings; check `embeds` first. */
  abstract embed(text: string | readonly number[]): Promise<Embedded>;

  abstract delete(): void;

  protected abstract windowProbabilities(points: readonly number[]): Promise<Float32Array>;

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
    return readLimit(this.maxChars, this.contractVersion);
  }

  /** Number of word slots; further words are ignored. */
  get maxWords(): number {
    return this.artifact.encoder.max_words;
  }

  /**
   * Return the probabilities in the order of the labels.
   *
   * @param text a text, or code points, for input that is not valid Unicode text (unpaired surrogates).
   */
  async probabilities(text: string | readonly number[]): Promise<Float32Array> {
    const rows: Float32Array[] = [];
    for (const points of this.windows(text)) rows.push(await this.windowProbabilities(points));
    const { labels, decision } = this.artifact;
    const unknown = decision?.unknown_label ? labels.indexOf(decision.unknown_label) : -1;
    return combine(rows, unknown, Boolean(decision?.thresholds));
  }

  /**
   * Return the label of a text and its probability. The label is null for a text that belongs to none.
   *
   * @param reject false gives every text a label.
   */
  async predict(text: string | readonly number[], { reject = true } = {}): Promise<Prediction> {
    return this.decide(text, await this.probabilities(text), { reject });
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  async predictAll(text: string | readonly number[]): Promise<Prediction[]> {
    return this.decideAll(text, await this.probabilities(text));
  }

  /**
   * Return which words speak for a label, in the order of the text.
   *
   * @param label the most probable one by default.
   * @throws RetvecLiteError for a label that the file does not know.
   */
  async explain(text: string, label?: string): Promise<Span[]> {
    const place = label === undefined ? undefined : this.placeOf(label);
    const read = firstCharacters(text, this.readLimit).normalize("NFC");
    const found = await explain((part) => this.probabilities(part), read, place, this.maxChars);
    return found?.spans ?? [];
  }

  /** Return a label's place among the probabilities. */
  protected placeOf(label: string): number {
    const place = this.labels.indexOf(label);
    if (place < 0)
      throw new RetvecLiteError(`${label} is not a label of ${this.artifact.name}: ${this.labels.join(", ")}.`);
    return place;
  }

  /** Do the same as `predictAll` with probabilities that are known already. */
  decideAll(text: string | readonly number[], probabilities: Float32Array): Prediction[] {
    const { labels, decision } = this.artifact;
    return decideAll(this.given(text), probabilities, labels, decision);
  }

  /** Do the same as `predict` with probabilities that are known already. */
  decide(text: string | readonly number[], probabilities: Float32Array, { reject = true } = {}): Prediction {
    const { labels, decision } = this.artifact;
    return decide(this.given(text), probabilities, labels, reject ? decision : undefined);
  }

  /** Return the inputs of the model for a text: one, or several windows of a long one. */
  windows(text: string | readonly number[]): number[][] {
    if (typeof text === "string") return cutWindows(text, this.maxChars, this.contractVersion);
    return this.contractVersion === 1 ? [text.slice(0, this.maxChars)] : windowsOf(text, this.maxChars);
  }

  private get contractVersion(): number {
    return this.artifact.metadata.contract_version as number;
  }

  private given(text: string | readonly number[]): readonly number[] {
    return typeof text === "string" ? firstPoints(text, this.readLimit) : text.slice(0, this.readLimit);
  }
}
