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

/** A character that is one code point in composed form has at most so many in decomposed form. */
const MOST_DECOMPOSED = 4;

/** Return the first `limit` code points of a text in composed form, the model's input. The model does all other cleaning. */
export function codePoints(text: string, limit: number): number[] {
  const points: number[] = [];
  for (const character of firstCharacters(text, MOST_DECOMPOSED * limit).normalize("NFC")) {
    if (points.length === limit) break;
    points.push(character.codePointAt(0) as number);
  }
  return points;
}

function firstCharacters(text: string, limit: number): string {
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count++) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
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

  /** Number of code points that the model reads; longer texts are cut. */
  get maxChars(): number {
    return this.full.max_chars;
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
    const points = this.points(text, this.full);
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
    return decideAll(this.points(text, this.full), probabilities, labels, decision);
  }

  /** Do the same as `predict` with probabilities that are known already. */
  decide(text: string | readonly number[], probabilities: Float32Array, { reject = true } = {}): Prediction {
    const { labels, decision } = this.artifact;
    return decide(this.points(text, this.full), probabilities, labels, reject ? decision : undefined);
  }

  /** @throws Error for a file without the signature `embed`; check `embeds` first. */
  async embed(text: string | readonly number[]): Promise<Embedded> {
    if (!this.embedding) throw new Error("This file has no embeddings. Export it with --embed.");
    const outputs = await this.run(this.embedding, this.points(text, this.embedding));
    const flat = outputs.words as Int32Array;
    const length = flat.length / this.embedding.max_words;
    const words: number[][] = [];
    for (let at = 0; at < flat.length; at += length) {
      const word = Array.from(flat.subarray(at, at + length)).filter((point) => point !== 0);
      if (word.length) words.push(word);
    }
    return { words, text: outputs.text as Float32Array };
  }

  delete(): void {
    this.model.delete();
  }

  private points(text: string | readonly number[], signature: Signature): readonly number[] {
    return typeof text === "string" ? codePoints(text, signature.max_chars) : text.slice(0, signature.max_chars);
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
  for (const { name, kind, max_chars, max_words, dimension } of artifact.signatures) {
    const outputs: Record<string, string> =
      kind === "embed"
        ? {
            words: `int32[1,${max_words},${encoder.word_length}]`,
            embeddings: `float32[1,${max_words},${dimension}]`,
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
