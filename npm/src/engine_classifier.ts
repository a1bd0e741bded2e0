import { Classifier, type Embedded } from "./answers.js";
import { RetvecEngine } from "./engine.js";
import type { Span } from "./explain.js";
import type { Text } from "./given.js";

/** An exported `.retvec`, running on the WebAssembly engine, with the interface of the `.tflite` on LiteRT.js. */
export class EngineClassifier extends Classifier {
  private constructor(private readonly engine: RetvecEngine) {
    super(engine.artifact);
  }

  /** @throws RetvecLiteError for a file that is damaged, or of another version. */
  static async load(
    name: string,
    file: Uint8Array,
    wasm: WebAssembly.Module | BufferSource,
  ): Promise<EngineClassifier> {
    return new EngineClassifier(await RetvecEngine.load(wasm, file, { name }));
  }

  get embeds(): boolean {
    return this.engine.embeds;
  }

  async probabilities(text: Text): Promise<Float32Array> {
    return this.engine.probabilities(text);
  }

  async embed(text: Text): Promise<Embedded> {
    return this.engine.embed(text);
  }

  async explain(text: string, label?: string | null): Promise<Span[]> {
    return this.engine.explain(text, label);
  }

  delete(): void {
    this.engine.delete();
  }

  protected checkAlive(): void {
    this.engine.checkAlive();
  }
}
