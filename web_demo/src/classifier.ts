import {
  type CompiledModel,
  loadAndCompile,
  loadLiteRt,
  type SignatureRunner,
  Tensor,
  type TypedArray,
} from "@litertjs/core";
import type { Artifact, Signature } from "./artifact";
import { decide, decideAll, type Prediction } from "./decision";
import { PlaygroundError } from "./errors";
import { runtimeNotes } from "./litert_loader";
import { combine, cutWindows, firstPoints, meanEmbedding, readLimit, windowsOf } from "./windows";

/** The answer of the signature `embed`. */
export interface Embedded {
  /** The words as the encoder splits them: the code points of each used slot. */
  readonly words: readonly (readonly number[])[];
  /** The mean of the word embeddings, scaled to length 1; zeros for a text without words. */
  readonly text: Float32Array;
}

const CODE_POINTS = "codepoints";
const BLANK = 0x20;

let loading: Promise<unknown> | undefined;

/** Start LiteRT once: loading it twice is an error. */
export function loadRuntime(): Promise<unknown> {
  loading ??= start();
  return loading;
}

async function start(): Promise<void> {
  // LiteRT asks for a WebGPU device even when it runs on the CPU. Hide the GPU so that it stays idle, and drop LiteRT's
  // warning about its absence.
  const { warn } = console;
  const gpu = Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu");
  try {
    if (gpu) Object.defineProperty(Navigator.prototype, "gpu", { configurable: true, value: undefined });
    console.warn = (...values) => String(values[0]).startsWith("Failed to create default WebGPU") || warn(...values);
    // Nothing fetches this path: litert_loader.ts starts what the page has loaded.
    await loadLiteRt("litert.js");
  } finally {
    console.warn = warn;
    if (gpu) Object.defineProperty(Navigator.prototype, "gpu", gpu);
  }
}

/** An exported file, running on the CPU with LiteRT.js. Create one with `load`, free it with `delete`. */
export class TextClassifier {
  private readonly full: Signature;
  private readonly embedding: Signature | undefined;
  /** The signatures that classify, by rising number of slots; the full one is last. */
  private readonly classifying: readonly Signature[];

  private constructor(
    readonly artifact: Artifact,
    private readonly model: CompiledModel,
  ) {
    const of = (kind: string): Signature[] => artifact.signatures.filter((signature) => signature.kind === kind);
    this.classifying = of("classify").sort((one, other) => one.max_words - other.max_words);
    this.full = this.classifying.at(-1) as Signature;
    this.embedding = of("embed")[0];
  }

  /** @throws PlaygroundError for a model that the runtime refuses or that differs from its metadata. */
  static async load(artifact: Artifact): Promise<TextClassifier> {
    await loadRuntime();
    runtimeNotes.length = 0;
    let model: CompiledModel;
    try {
      model = await loadAndCompile(artifact.model, { accelerator: "wasm", cpuOptions: { numThreads: 1 } });
    } catch (error) {
      const notes = runtimeNotes.filter((line) => /error/i.test(line)).at(-1);
      const cause = notes ?? (error instanceof Error ? error.message : String(error));
      throw new PlaygroundError(`LiteRT.js cannot run ${artifact.name}: ${cause.replace(/\s+/g, " ")}`);
    }
    try {
      checkInterface(artifact, model);
      return new TextClassifier(artifact, model);
    } catch (error) {
      model.delete();
      throw error;
    }
  }

  /** Whether the file has the signature `embed`. */
  get embeds(): boolean {
    return this.embedding !== undefined;
  }

  /** Number of code points that the model takes at once; longer texts are read in windows. */
  get maxChars(): number {
    return this.full.max_chars;
  }

  /** Number of code points of a text that are read at most. */
  get readLimit(): number {
    return readLimit(this.maxChars, this.contractVersion);
  }

  /** Number of word slots; further words are ignored. */
  get maxWords(): number {
    return this.full.max_words;
  }

  /**
   * Return the probabilities in the order of the labels.
   *
   * Runs the smallest signature that the text fits into: the same answer, sooner.
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

  private async windowProbabilities(points: readonly number[]): Promise<Float32Array> {
    // Skip a signature when the text has more spaces than it has slots for: it would almost surely not fit.
    const blanks = points.filter((point) => point === BLANK).length;
    for (const signature of this.classifying) {
      if (signature === this.full) break;
      if (signature.max_chars < points.length || signature.max_words <= blanks) continue;
      const { probabilities, slots } = await this.run(signature, points);
      if ((slots?.[0] as number) <= signature.max_words) return probabilities as Float32Array;
    }
    return (await this.run(this.full, points)).probabilities as Float32Array;
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

  /** Do the same with probabilities that are known already. */
  decideAll(text: string | readonly number[], probabilities: Float32Array): Prediction[] {
    const { labels, decision } = this.artifact;
    return decideAll(this.given(text), probabilities, labels, decision);
  }

  /** Do the same as `predict` with probabilities that are known already. */
  decide(text: string | readonly number[], probabilities: Float32Array, { reject = true } = {}): Prediction {
    const { labels, decision } = this.artifact;
    return decide(this.given(text), probabilities, labels, reject ? decision : undefined);
  }

  /** @throws Error for a file without the signature `embed`; check `embeds` first. */
  async embed(text: string | readonly number[]): Promise<Embedded> {
    if (!this.embedding) throw new Error("This file has no embeddings. Export it with --embed.");
    const words: number[][] = [];
    const rows: Float32Array[] = [];
    for (const points of this.windows(text)) {
      const outputs = await this.run(this.embedding, points);
      const flat = outputs.words as Int32Array;
      const length = flat.length / this.embedding.max_words;
      for (let at = 0; at < flat.length; at += length) {
        const word = Array.from(flat.subarray(at, at + length)).filter((point) => point !== 0);
        if (word.length) words.push(word);
      }
      rows.push(outputs.text as Float32Array);
    }
    return { words, text: meanEmbedding(rows) };
  }

  delete(): void {
    this.model.delete();
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

  /** Run one signature. Deletes every tensor, even after a failure: the browser does not collect the runtime's memory. */
  private async run(signature: Signature, points: readonly number[]): Promise<Record<string, TypedArray>> {
    const padded = new Int32Array(signature.max_chars);
    padded.set(points);
    const input = new Tensor(padded, [1, signature.max_chars]);
    let outputs: Record<string, Tensor> = {};
    try {
      outputs = await (this.model.signatures[signature.name] as SignatureRunner).run({ [CODE_POINTS]: input });
      return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.toTypedArray()]));
    } finally {
      input.delete();
      for (const tensor of Object.values(outputs)) tensor.delete();
    }
  }
}

/** Check that names, types and shapes of all inputs and outputs are those of the metadata. */
function checkInterface(artifact: Artifact, model: CompiledModel): void {
  const { labels, encoder } = artifact;
  for (const { name, kind, max_chars, max_words, dimension, word_dimension = dimension } of artifact.signatures) {
    const outputs: Record<string, string> =
      kind === "embed"
        ? {
            words: `int32[1,${max_words},${encoder.word_length}]`,
            embeddings: `float32[1,${max_words},${word_dimension}]`,
            text: `float32[1,${dimension}]`,
          }
        : { probabilities: `float32[1,${labels.length}]`, ...(name !== "classify" && { slots: "int32[1]" }) };
    const expected: Record<string, string> = { [CODE_POINTS]: `int32[1,${max_chars}]`, ...outputs };
    const runner = model.signatures[name];
    const received = Object.fromEntries(
      [...(runner?.getInputDetails() ?? []), ...(runner?.getOutputDetails() ?? [])].map((tensor) => [
        tensor.name,
        `${tensor.dtype}[${tensor.shape}]`,
      ]),
    );
    const differs = Object.keys({ ...expected, ...received }).some((key) => expected[key] !== received[key]);
    if (differs) {
      throw new PlaygroundError(
        `The signature ${name} of ${artifact.name} is ${JSON.stringify(received)}, but its metadata describe ` +
          `${JSON.stringify(expected)}. Export the file again.`,
      );
    }
  }
}
