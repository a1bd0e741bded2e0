import type { Classifier } from "./answers.js";
import { isTflite, readArtifact } from "./artifact.js";
import { isEngine } from "./engine.js";
import { EngineClassifier } from "./engine_classifier.js";
import { RetvecLiteError } from "./errors.js";
import { checkOptions } from "./given.js";
import { type LiteRt, LiteRtClassifier } from "./litert_classifier.js";
import { isRetvec } from "./retvec_file.js";
import { find, refuse, type Source } from "./source.js";

export interface LoadOptions {
  /** What messages call the file. */
  readonly name?: string | undefined;
  /** The engine for a `.retvec`: `engine.wasm`, its bytes or compiled; several classifiers may share it. */
  readonly engine?: WebAssembly.Module | BufferSource | undefined;
  /** For a `.tflite`: the module `@litertjs/core`, after its `loadLiteRt`. */
  readonly litert?: LiteRt | undefined;
}

/**
 * Load an exported `.retvec` or `.tflite`, check it, and start a classifier.
 *
 * @throws RetvecLiteError for a file that cannot be read, is damaged or of another version, or needs something that is not given.
 */
export async function load(source: Source | PromiseLike<Source>, options: LoadOptions = {}): Promise<Classifier> {
  return loadWith(source, options);
}

/** @param inside compiles the engine of the package, for a `.retvec` without another. */
export async function loadWith(
  source: Source | PromiseLike<Source>,
  options: LoadOptions,
  inside?: () => Promise<WebAssembly.Module>,
): Promise<Classifier> {
  const { engine, litert, name } = checkOptions("load", options, {
    name: [(value) => typeof value === "string", "a string"],
    engine: [isEngine, "engine.wasm: its bytes, or a WebAssembly.Module"],
    litert: [(value) => typeof (value as Partial<LiteRt>)?.loadAndCompile === "function", "the module @litertjs/core"],
  });
  const found = await find(source);
  const named = name === undefined ? found : { ...found, name };
  if (isRetvec(found.file)) {
    const module = engine ?? (await inside?.());
    if (module) return EngineClassifier.load(named.name, found.file, module);
    throw new RetvecLiteError(
      `${named.name} needs the engine: pass engine.wasm as \`engine\`, or import "retvec-lite".`,
    );
  }
  if (!isTflite(found.file)) refuse(named);
  const artifact = await readArtifact(named.name, found.file);
  if (litert) return LiteRtClassifier.load(artifact, litert);
  throw new RetvecLiteError(
    `${named.name} needs LiteRT.js: pass the module @litertjs/core as \`litert\`, or export with --format engine.`,
  );
}
