/**
 * Classify texts with a file that retvec-lite exported, in browsers, workers, Node.js, Deno and Bun.
 *
 *     const classifier = await load("classifier-int8.retvec");
 *     classifier.predict("my pakcage never arived"); // { label: "delivery", probability: 0.99 }
 */
import type { Classifier } from "./classifier.js";
import { ENGINE } from "./engine_wasm.js";
import { causeOf, RetvecError } from "./errors.js";
import { type Engine, type LoadOptions, loadWith } from "./load.js";
import { loadOnnxWith, type OnnxClassifier, type RunOnnx } from "./onnx.js";
import type { Source } from "./source.js";

export * from "./core.js";

let compiling: Promise<Engine> | undefined;

/** Compile the engine of this package, once; after a failure, again. */
export function insideEngine(): Promise<Engine> {
  compiling ??= compile().catch((error: unknown) => {
    compiling = undefined;
    throw error;
  });
  return compiling;
}

async function compile(): Promise<Engine> {
  try {
    return await WebAssembly.compile(typeof ENGINE === "string" ? await unpacked(ENGINE) : ENGINE);
  } catch (error) {
    throw new RetvecError(
      "NO_ENGINE",
      `The engine cannot start: ${causeOf(error)}. A Content Security Policy needs 'wasm-unsafe-eval'; a host that compiles no bytes needs "retvec-lite/engine.wasm", as the option \`engine\`.`,
    );
  }
}

async function unpacked(base64: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  // Gzip ends with the length. A Blob has no stream in older jsdom, and Response starts all that fetch needs in Node.js.
  const engine = new Uint8Array(new DataView(packed.buffer).getUint32(packed.length - 4, true));
  const given = new ReadableStream({ start: (to) => (to.enqueue(packed), to.close()) });
  const reader = given.pipeThrough<Uint8Array>(new DecompressionStream("gzip")).getReader();
  for (let [at, part] = [0, await reader.read()]; !part.done; part = await reader.read()) {
    engine.set(part.value, at);
    at += part.value.length;
  }
  return engine.buffer;
}

/**
 * Load an exported `.retvec`, check it, and start a classifier on the engine of this package.
 *
 * @throws RetvecError for a file that cannot be read, is damaged or of another version.
 */
export async function load(source: Source | PromiseLike<Source>, options: LoadOptions = {}): Promise<Classifier> {
  return loadWith(source, options, insideEngine);
}

/**
 * Open the bytes of an exported `.onnx`, for a runtime that the caller brings: `run` takes the input `codepoints`, int32 `[1, max_chars]`, and
 * returns the output `probabilities`.
 *
 * @throws RetvecError for a file that is damaged, of another version or not from retvec-lite.
 */
export async function loadOnnx(file: Uint8Array, run: RunOnnx): Promise<OnnxClassifier> {
  return loadOnnxWith(file, run, await insideEngine());
}
