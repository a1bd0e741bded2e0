import { Classifier, type Embedded } from "./answers.js";
import { type Artifact, artifactOf } from "./artifact.js";
import { RetvecEngine } from "./engine.js";
import { RetvecLiteError } from "./errors.js";
import type { Span } from "./explain.js";
import { meanEmbedding } from "./windows.js";

const MAGIC = "RETVEC\r\n";

/** Whether a file is a `.retvec`. */
export function isRetvec(file: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(file.subarray(0, MAGIC.length)) === MAGIC;
}

/** An exported `.retvec`, running on the WebAssembly engine, with the interface of the `.tflite` on LiteRT.js. */
export class EngineClassifier extends Classifier {
  private constructor(
    artifact: Artifact,
    private engine: RetvecEngine | undefined,
  ) {
    super(artifact);
  }

  /** @throws RetvecLiteError for a file that is damaged, or of another version. */
  static async load(
    name: string,
    file: Uint8Array,
    wasm: WebAssembly.Module | BufferSource,
  ): Promise<EngineClassifier> {
    let engine: RetvecEngine;
    try {
      engine = await RetvecEngine.load(wasm, file);
    } catch (error) {
      throw new RetvecLiteError(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    return new EngineClassifier(artifactOf(name, file, engine.metadata, engine.labels), engine);
  }

  get embeds(): boolean {
    return this.running.dimension > 0;
  }

  protected async windowProbabilities(points: readonly number[]): Promise<Float32Array> {
    return this.running.probabilities(points);
  }

  async embed(text: string | readonly number[]): Promise<Embedded> {
    if (!this.embeds) throw new Error("This file has no embeddings: it reads n-grams alone.");
    const windows = this.windows(text);
    const words = windows.flatMap((points) => this.running.words(points));
    return { words, text: meanEmbedding(windows.map((points) => this.running.embed(points))) };
  }

  override async explain(text: string, label?: string): Promise<Span[]> {
    return this.running.explain(text, label === undefined ? -1 : this.placeOf(label));
  }

  delete(): void {
    this.engine = undefined; // its memory goes with it
  }

  private get running(): RetvecEngine {
    if (!this.engine) throw new Error("The classifier was deleted.");
    return this.engine;
  }
}
