/** Run a `.tflite` with LiteRT.js (`@litertjs/core`), which the caller has loaded. */
import { Classifier, type Embedded } from "./answers.js";
import type { Artifact, Signature } from "./artifact.js";
import { causeOf, deleted, RetvecLiteError } from "./errors.js";
import { explain, type Span } from "./explain.js";
import { checkString, placeOf, type Text } from "./given.js";
import { combine, firstCharacters, meanEmbedding } from "./windows.js";

/** What is used of `@litertjs/core`: pass the module itself, after its `loadLiteRt`. */
export interface LiteRt {
  loadAndCompile(
    model: Uint8Array,
    options: { accelerator: "wasm"; cpuOptions: { numThreads: number } },
  ): Promise<LiteRtModel>;
  readonly Tensor: new (data: Int32Array, shape: number[]) => LiteRtTensor;
}

export interface LiteRtTensor {
  toTypedArray(): ArrayLike<number>;
  delete(): void;
}

export interface LiteRtModel {
  readonly signatures: Readonly<Record<string, LiteRtSignature>>;
  delete(): void;
}

interface LiteRtDetails {
  readonly name: string;
  readonly dtype: string;
  readonly shape: ArrayLike<number>;
}

interface LiteRtSignature {
  getInputDetails(): readonly LiteRtDetails[];
  getOutputDetails(): readonly LiteRtDetails[];
  run(inputs: Record<string, LiteRtTensor>): Promise<Record<string, LiteRtTensor>>;
}

const CODE_POINTS = "codepoints";
const BLANK = 0x20;

/** An exported `.tflite`, running on the CPU with LiteRT.js. Create one with `load`, free it with `delete`. */
export class LiteRtClassifier extends Classifier {
  private isDeleted = false;
  private readonly full: Signature;
  private readonly embedding: Signature | undefined;
  /** The signatures that classify, by rising number of slots; the full one is last. */
  private readonly classifying: readonly Signature[];

  private constructor(
    artifact: Artifact,
    private readonly litert: LiteRt,
    private readonly model: LiteRtModel,
  ) {
    super(artifact);
    const of = (kind: string): Signature[] => artifact.signatures.filter((signature) => signature.kind === kind);
    this.classifying = of("classify").sort((one, other) => one.max_words - other.max_words);
    this.full = this.classifying.at(-1) as Signature;
    this.embedding = of("embed")[0];
  }

  /** @throws RetvecLiteError for a model that the runtime refuses or that differs from its metadata. */
  static async load(artifact: Artifact, litert: LiteRt): Promise<LiteRtClassifier> {
    let model: LiteRtModel;
    try {
      model = await litert.loadAndCompile(artifact.model, { accelerator: "wasm", cpuOptions: { numThreads: 1 } });
    } catch (error) {
      throw new RetvecLiteError(`LiteRT.js cannot run ${artifact.name}: ${causeOf(error)}.`);
    }
    try {
      checkInterface(artifact, model);
      return new LiteRtClassifier(artifact, litert, model);
    } catch (error) {
      model.delete();
      throw error;
    }
  }

  /** Whether the file has the signature `embed`. */
  get embeds(): boolean {
    this.checkAlive();
    return this.embedding !== undefined;
  }

  async probabilities(text: Text): Promise<Float32Array> {
    this.check("probabilities", text);
    const rows: Float32Array[] = [];
    for (const points of this.windows(text)) rows.push(await this.windowProbabilities(points));
    const { labels, decision } = this.artifact;
    const unknown = decision?.unknown_label ? labels.indexOf(decision.unknown_label) : -1;
    return combine(rows, unknown, Boolean(decision?.thresholds));
  }

  async explain(text: string, label?: string | null): Promise<Span[]> {
    this.checkAlive();
    checkString("explain", text);
    const place = placeOf(this.labels, label);
    const read = firstCharacters(text, this.readLimit).normalize("NFC");
    const ask = (part: string): Promise<Float32Array> => this.probabilities(part);
    const found = await explain(ask, read, place < 0 ? undefined : place, this.maxChars);
    return found?.spans ?? [];
  }

  /** Run the smallest signature that the window fits into: the same answer, sooner. */
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

  async embed(text: Text): Promise<Embedded> {
    this.check("embed", text);
    if (!this.embedding) throw new RetvecLiteError("This file has no embeddings. Export it with --embed.");
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
    if (!this.isDeleted) this.model.delete();
    this.isDeleted = true;
  }

  protected checkAlive(): void {
    if (this.isDeleted) throw deleted();
  }

  /** Run one signature. Deletes every tensor, even after a failure: the browser does not collect the runtime's memory. */
  private async run(signature: Signature, points: readonly number[]): Promise<Record<string, ArrayLike<number>>> {
    const padded = new Int32Array(signature.max_chars);
    padded.set(points);
    const input = new this.litert.Tensor(padded, [1, signature.max_chars]);
    let outputs: Record<string, LiteRtTensor> = {};
    try {
      outputs = await (this.model.signatures[signature.name] as LiteRtSignature).run({ [CODE_POINTS]: input });
      return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.toTypedArray()]));
    } finally {
      input.delete();
      for (const tensor of Object.values(outputs)) tensor.delete();
    }
  }
}

/** Check that names, types and shapes of all inputs and outputs are those of the metadata. */
function checkInterface(artifact: Artifact, model: LiteRtModel): void {
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
      throw new RetvecLiteError(
        `The signature ${name} of ${artifact.name} is ${JSON.stringify(received)}, but its metadata describe ` +
          `${JSON.stringify(expected)}. Export the file again.`,
      );
    }
  }
}
