import { Classifier } from "./classifier.js";
import { isEngine, RetvecEngine } from "./engine.js";
import { RetvecLiteError } from "./errors.js";
import { checkOptions } from "./given.js";
import { isRetvec } from "./retvec_file.js";
import { find, refuse, type Source } from "./source.js";

export interface LoadOptions {
  /** What messages call the file. */
  readonly name?: string | undefined;
  /** The engine: `engine.wasm`, its bytes or compiled; several classifiers may share it. */
  readonly engine?: WebAssembly.Module | BufferSource | undefined;
}

/**
 * Load an exported `.retvec`, check it, and start a classifier.
 *
 * @throws RetvecLiteError for a file that cannot be read, is damaged or of another version, and without an engine.
 */
export async function load(source: Source | PromiseLike<Source>, options: LoadOptions = {}): Promise<Classifier> {
  return loadWith(source, options);
}

/** @param inside compiles the engine of the package, for callers who give no other. */
export async function loadWith(
  source: Source | PromiseLike<Source>,
  options: LoadOptions,
  inside?: () => Promise<WebAssembly.Module>,
): Promise<Classifier> {
  const { engine, name } = checkOptions("load", options, {
    name: [(value) => typeof value === "string", "a string"],
    engine: [isEngine, "engine.wasm: its bytes, or a WebAssembly.Module"],
  });
  const found = await find(source);
  const named = name === undefined ? found : { ...found, name };
  if (!isRetvec(named.file)) refuse(named);
  const module = engine ?? (await inside?.());
  if (module) return new Classifier(await RetvecEngine.load(module, named.file, { name: named.name }));
  throw new RetvecLiteError(`${named.name} needs the engine: pass engine.wasm as \`engine\`, or import "retvec-lite".`);
}
