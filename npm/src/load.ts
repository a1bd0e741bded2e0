import type { Classifier } from "./answers.js";
import { readArtifact } from "./artifact.js";
import { EngineClassifier, isRetvec } from "./engine_classifier.js";
import { RetvecLiteError } from "./errors.js";
import { type LiteRt, LiteRtClassifier } from "./litert_classifier.js";

/** Where an exported file is: its address, its path (Node.js), or its bytes. */
export type Source = string | URL | ArrayBuffer | Uint8Array;

export interface LoadOptions {
  /** What messages call the file, if it is given as bytes. */
  readonly name?: string;
  /** The engine for a `.retvec`: `engine.wasm`, its bytes or compiled; several classifiers may share it. */
  readonly engine?: WebAssembly.Module | BufferSource;
  /** For a `.tflite`: the module `@litertjs/core`, after its `loadLiteRt`. */
  readonly litert?: LiteRt;
}

/** What `process` has in Node.js. Named so, no bundler looks for the module. */
interface Host {
  readonly process?: { getBuiltinModule?(name: string): { readFile(path: string | URL): Promise<Uint8Array> } };
}

/**
 * Load an exported `.retvec` or `.tflite`, check it, and start a classifier.
 *
 * @throws RetvecLiteError for a file that cannot be fetched, is damaged or of another version, or needs something that is not given.
 */
export async function load(source: Source, options: LoadOptions = {}): Promise<Classifier> {
  const [found, file] = await fileOf(source);
  const name = options.name ?? found;
  if (isRetvec(file)) {
    if (options.engine) return EngineClassifier.load(name, file, options.engine);
    throw new RetvecLiteError(`${name} needs the engine: pass engine.wasm as \`engine\`, or import "retvec-lite".`);
  }
  const artifact = await readArtifact(name, file);
  if (options.litert) return LiteRtClassifier.load(artifact, options.litert);
  throw new RetvecLiteError(
    `${name} needs LiteRT.js: pass the module @litertjs/core as \`litert\`, or export with --format engine.`,
  );
}

/** Return a file's name and bytes. */
async function fileOf(source: Source): Promise<[string, Uint8Array]> {
  if (source instanceof Uint8Array) return ["The file", source];
  if (source instanceof ArrayBuffer) return ["The file", new Uint8Array(source)];
  const address = String(source);
  const name =
    address
      .replace(/[?#].*$/, "")
      .split(/[/\\]/)
      .at(-1) || address;
  const { process } = globalThis as Host;
  const isPath = source instanceof URL ? source.protocol === "file:" : !/^[a-z][a-z0-9+.-]+:/i.test(address);
  const files = isPath && typeof location === "undefined" ? process?.getBuiltinModule?.("node:fs/promises") : undefined;
  if (files) return [name, new Uint8Array(await files.readFile(source as string | URL))];
  const response = await fetch(source).catch(() => undefined);
  if (response?.ok) return [name, new Uint8Array(await response.arrayBuffer())];
  const answer = response ? `${response.status} ${response.statusText}`.trim() : "no answer";
  throw new RetvecLiteError(`Cannot load ${address} (${answer}).`);
}
