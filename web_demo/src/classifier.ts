import {
  type CompiledModel,
  loadAndCompile,
  loadLiteRt,
  type SignatureRunner,
  Tensor,
  type TypedArray,
} from "@litertjs/core";
import type { Artifact, Signature } from "./artifact";
import { PlaygroundError } from "./errors";
import { runtimeNotes } from "./litert_loader";

/** What the second signature says about a text. */
export interface Embedded {
  /** The code points of each slot in use, as the encoder cut them. */
  readonly words: readonly (readonly number[])[];
  /** The mean of the words' embeddings, of length 1; zeros for a text without words. */
  readonly text: Float32Array;
}

const CODE_POINTS = "codepoints";
const BLANK = 0x20;

let loading: Promise<unknown> | undefined;

/** Start LiteRT; a second call waits for the first one, because LiteRT refuses to be loaded twice. */
export function loadRuntime(): Promise<unknown> {
  loading ??= start();
  return loading;
}

async function start(): Promise<void> {
  // LiteRT asks for a WebGPU device whatever the accelerator. Not handing it one keeps the GPU asleep, and its one
  // warning about that off the console.
  const { warn } = console;
  const gpu = Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu");
  try {
    if (gpu) Object.defineProperty(Navigator.prototype, "gpu", { configurable: true, value: undefined });
    console.warn = (...values) => String(values[0]).startsWith("Failed to create default WebGPU") || warn(...values);
    // The path is never fetched: litert_loader.ts hands over what the page holds.
    await loadLiteRt("litert.js");
  } finally {
    console.warn = warn;
    if (gpu) Object.defineProperty(Navigator.prototype, "gpu", gpu);
  }
}

/** The model's input for a text: its code points, nothing cleaned; more than `limit` of them are cut. */
export function codePoints(text: string, limit: number): number[] {
  const points: number[] = [];
  for (const character of text) {
    if (points.length === limit) break;
    points.push(character.codePointAt(0) as number);
  }
  return points;
}

/** An exported file, ready to run on the CPU through LiteRT.js. Make one with `load`, end it with `delete`. */
export class TextClassifier {
  private readonly full: Signature;
  private readonly embedding: Signature | undefined;
  /** The signatures that classify, in rising order of slots, the full one last. */
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

  /** @throws PlaygroundError for a model that the runtime refuses or that is not what its metadata say. */
  static async load(artifact: Artifact): Promise<TextClassifier> {
    await loadRuntime();
    runtimeNotes.length = 0;
    let model: CompiledModel;
    try {
      model = await loadAndCompile(artifact.model, { accelerator: "wasm", cpuOptions: { numThreads: 1 } });
    } catch (error) {
      const notes = runtimeNotes.filter((line) => /error/i.test(line)).at(-1);
      const cause = notes ?? (error instanceof Error ? error.message : String(error));
      throw new PlaygroundError(`Expected LiteRT.js to run ${artifact.name}, received: ${cause.replace(/\s+/g, " ")}`);
    }
    try {
      checkInterface(artifact, model);
      return new TextClassifier(artifact, model);
    } catch (error) {
      model.delete();
      throw error;
    }
  }

  /** Whether the file can say how it cuts words and embeds them. */
  get embeds(): boolean {
    return this.embedding !== undefined;
  }

  /** Code points that are read; the rest of a longer text is cut. */
  get maxChars(): number {
    return this.full.max_chars;
  }

  /** Slots for words; words that find none are not read. */
  get maxWords(): number {
    return this.full.max_words;
  }

  /**
   * Probabilities in the order of the labels, of a text or of code points that are no text (unpaired surrogates).
   *
   * A text that fits into a smaller signature is run by that one: the answer is the same, and comes sooner.
   */
  async probabilities(text: string | readonly number[]): Promise<Float32Array> {
    const points = this.points(text, this.full);
    // As many blanks as slots are, but for double ones, more words than slots: not worth a try, and a longer one is right, too.
    const blanks = points.filter((point) => point === BLANK).length;
    for (const signature of this.classifying) {
      if (signature === this.full) break;
      if (signature.max_chars < points.length || signature.max_words <= blanks) continue;
      const { probabilities, slots } = await this.run(signature, points);
      if ((slots?.[0] as number) <= signature.max_words) return probabilities as Float32Array;
    }
    return (await this.run(this.full, points)).probabilities as Float32Array;
  }

  /** @throws Error for a file without the signature: ask `embeds` before. */
  async embed(text: string | readonly number[]): Promise<Embedded> {
    if (!this.embedding) throw new Error("Expected a file exported with --embed.");
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

  /** One call. Every tensor is deleted, whatever happens: the runtime's memory is not the browser's to collect. */
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

/** The model must offer what its metadata promise; shapes are compared, so that no text can be laid out wrongly. */
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
        `Expected the signature ${name} of ${artifact.name} to be ${JSON.stringify(expected)}, received ${JSON.stringify(received)}.`,
      );
    }
  }
}
