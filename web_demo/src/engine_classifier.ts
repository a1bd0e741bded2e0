import { Classifier, type Embedded } from "./answers";
import { type Artifact, artifactOf } from "./artifact";
import { compiledEngine } from "./assets";
import { RetvecEngine } from "./engine";
import { PlaygroundError } from "./errors";
import { meanEmbedding } from "./windows";

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

  /** @throws PlaygroundError for a file that is damaged, or of another version. */
  static async load(name: string, file: Uint8Array): Promise<EngineClassifier> {
    const module = await compiledEngine();
    let engine: RetvecEngine;
    try {
      engine = await RetvecEngine.load(module, file);
    } catch (error) {
      throw new PlaygroundError(`${name}: ${error instanceof Error ? error.message : String(error)}`);
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

  delete(): void {
    this.engine = undefined; // its memory goes with it
  }

  private get running(): RetvecEngine {
    if (!this.engine) throw new Error("The classifier was deleted.");
    return this.engine;
  }
}
