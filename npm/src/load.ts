import { Classifier } from "./classifier.js";
import { causeOf, RetvecError } from "./errors.js";
import { checkOptions, isA } from "./given.js";
import type { Exports } from "./heap.js";
import { isRetvec } from "./retvec_file.js";
import { find, type Host, refuse, type Source } from "./source.js";

/** Words whose vectors are kept: 300 kB. */
const WORDS = 384;
const MOST_WORDS = 65_536;

/** A compiled engine, as the types of the host know it. */
export type Engine = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Type } } } ? Type : object;

export interface LoadOptions {
  /** What messages call the file. */
  readonly name?: string | undefined;
  /** The engine: `engine.wasm`, its bytes or compiled; several classifiers may share it. */
  readonly engine?: Engine | ArrayBufferView | ArrayBuffer | undefined;
  /** Gives up, with its reason, once it is aborted. */
  readonly signal?: Host<"AbortSignal"> | undefined;
  /** How many word vectors are kept for words that come again: 384 by default, 0 for none. */
  readonly words?: number | undefined;
}

/**
 * Load an exported `.retvec`, check it, and start a classifier.
 *
 * @throws RetvecError for a file that cannot be read, is damaged or of another version, and without an engine.
 */
export async function load(source: Source | PromiseLike<Source>, options: LoadOptions = {}): Promise<Classifier> {
  return loadWith(source, options);
}

/** @param inside compiles the engine of the package, for callers who give no other. */
export async function loadWith(
  source: Source | PromiseLike<Source>,
  options: LoadOptions,
  inside?: () => Promise<Engine>,
): Promise<Classifier> {
  const {
    engine,
    name,
    signal,
    words = WORDS,
  } = checkOptions("load", options, {
    name: [(value) => typeof value === "string", "a string"],
    engine: [isEngine, "engine.wasm: its bytes, or a WebAssembly.Module"],
    signal: [(value) => isA(value, "AbortSignal"), "an AbortSignal"],
    words: [
      (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST_WORDS,
      `a whole number from 0 to ${MOST_WORDS}`,
    ],
  });
  return unlessAborted(signal, async () => {
    const found = await find(source, signal);
    const { file, name: called } = name === undefined ? found : { ...found, name };
    if (!isRetvec(file)) refuse({ ...found, name: called });
    const wasm = engine ?? (await inside?.());
    if (wasm) return new Classifier(await started(wasm), file, called, words);
    const advice = 'pass engine.wasm as `engine`, or import "retvec-lite"';
    throw new RetvecError("NO_ENGINE", `${called} needs the engine: ${advice}.`);
  });
}

/** Do some work, or throw the reason of a signal as soon as it is aborted. */
async function unlessAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (!signal) return work();
  signal.throwIfAborted();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort);
  });
  return Promise.race([aborted, work()]).finally(() => signal.removeEventListener("abort", abort));
}

/** Whether a value may be the engine: its bytes, or compiled. */
function isEngine(value: unknown): boolean {
  return isA(value, "WebAssembly.Module") || isA(value, "ArrayBuffer") || ArrayBuffer.isView(value);
}

/** Compile and instantiate the engine. @internal */
export async function started(wasm: NonNullable<LoadOptions["engine"]>): Promise<Exports> {
  try {
    const module = isA(wasm, "WebAssembly.Module") ? wasm : await WebAssembly.compile(wasm as BufferSource);
    const { exports } = await WebAssembly.instantiate(module as WebAssembly.Module);
    if (typeof exports.rvl_open === "function") return exports as unknown as Exports;
  } catch (error) {
    throw new RetvecError("NO_ENGINE", `The engine cannot start: ${causeOf(error)}.`);
  }
  throw new RetvecError("NO_ENGINE", "The engine cannot start: this is not the engine.wasm of retvec-lite.");
}
