/**
 * Classify texts with a file that retvec-lite exported, in browsers, workers, Node.js, Deno and Bun.
 *
 *     const classifier = await load("classifier-int8.retvec");
 *     await classifier.predict("my pakcage never arived"); // { label: "delivery", probability: 0.99 }
 */
import type { Classifier } from "./answers.js";
import { ENGINE } from "./engine_wasm.js";
import { load as loadWith, type LoadOptions, type Source } from "./load.js";
import { decompress } from "./zip.js";

export * from "./core.js";

let compiling: Promise<WebAssembly.Module> | undefined;

/** Compile the engine of this package, once. */
export function insideEngine(): Promise<WebAssembly.Module> {
  compiling ??= decompress(
    Uint8Array.from(atob(ENGINE), (character) => character.charCodeAt(0)),
    "gzip",
  ).then((bytes) => WebAssembly.compile(bytes as BufferSource));
  return compiling;
}

/**
 * Load an exported `.retvec` or `.tflite`, check it, and start a classifier; a `.retvec` runs on the engine of this package.
 *
 * @throws RetvecLiteError for a file that cannot be fetched, is damaged or of another version, or needs something that is not given.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Classifier> {
  return loadWith(source, options.engine ? options : { ...options, engine: await insideEngine() });
}
