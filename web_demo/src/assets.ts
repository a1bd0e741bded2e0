/**
 * Load the runtimes and the models: from the server of `retvec-lite demo`, or from an exported page (`--export`) itself.
 * An exported page holds them in script elements of a type that no browser runs, packed with gzip, then base64.
 */
import { decompress, RetvecLiteError } from "retvec-lite/core";

/** A model that the user can choose; its bytes are loaded only then. */
export interface Offer {
  readonly name: string;
  load(): Promise<Uint8Array>;
}

/** What Emscripten's `ModuleFactory` takes from us. */
interface ModuleOptions {
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): void;
  print(line: string): void;
  printErr(line: string): void;
}

export type ModuleFactory = (options: ModuleOptions) => Promise<unknown>;

const LITERT = "litert.wasm";
const ENGINE = "engine.wasm";

const compiling = new Map<string, Promise<WebAssembly.Module>>();

/** Compile LiteRT's WebAssembly, once; after a failure, again. */
export function compiledRuntime(): Promise<WebAssembly.Module> {
  return compiled(LITERT);
}

/** Compile the engine for `.retvec` files, once. */
export function compiledEngine(): Promise<WebAssembly.Module> {
  return compiled(ENGINE);
}

/** Compile what runs the first file. */
export async function prepare(offers: readonly Offer[]): Promise<void> {
  if (offers[0]) await (isRetvecName(offers[0].name) ? compiledEngine() : compiledRuntime());
}

/** Whether a file's name is that of a `.retvec`. */
export function isRetvecName(name: string): boolean {
  return /\.retvec$/i.test(name);
}

function compiled(name: string): Promise<WebAssembly.Module> {
  let found = compiling.get(name);
  if (!found) {
    found = compile(name);
    compiling.set(name, found);
    found.catch(() => compiling.delete(name)); // the next try starts anew
  }
  return found;
}

async function compile(name: string): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === "undefined") {
    throw new RetvecLiteError(
      "The model cannot run: this browser has no WebAssembly, or it is switched off. Switch it on or use another browser.",
    );
  }
  try {
    const inside = embedded(name);
    if (inside) return await WebAssembly.compile((await unpacked(inside)) as BufferSource);
    if (modelsInside().length) {
      const kind = name === ENGINE ? ".tflite" : ".retvec";
      throw new RetvecLiteError(`This page opens ${kind} files only. Other files open in retvec-lite demo.`);
    }
    return await WebAssembly.compileStreaming(fetchFile(name));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) {
      throw new RetvecLiteError(`This browser cannot compile ${name}. Use a newer browser. (${error.message})`);
    }
    throw error;
  }
}

/** Return the `ModuleFactory` of LiteRT's own script, litert.js, which the page loads before this one. */
export async function runtimeFactory(): Promise<ModuleFactory> {
  const { ModuleFactory: factory } = globalThis as { ModuleFactory?: ModuleFactory };
  if (factory === undefined) throw new RetvecLiteError("Cannot load litert.js. Reload the page.");
  return factory;
}

/** Return the models to choose from; the page starts with the first. */
export async function offers(): Promise<Offer[]> {
  const inside = modelsInside();
  if (inside.length) {
    return Array.from(inside, (element) => ({ name: element.dataset.model as string, load: () => unpacked(element) }));
  }
  const names = (await (await fetchFile("models.json")).json()) as string[];
  return names.map((name) => ({
    name,
    load: async () => new Uint8Array(await (await fetchFile(`models/${encodeURIComponent(name)}`)).arrayBuffer()),
  }));
}

function modelsInside(): NodeListOf<HTMLScriptElement> {
  return document.querySelectorAll<HTMLScriptElement>("script[data-model]");
}

function embedded(name: string): HTMLScriptElement | null {
  return document.querySelector(`script[data-file="${name}"]`);
}

async function unpacked(element: HTMLScriptElement): Promise<Uint8Array> {
  const characters = atob(element.textContent);
  const packed = new Uint8Array(characters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = characters.charCodeAt(at);
  return decompress(packed, "gzip");
}

async function fetchFile(path: string): Promise<Response> {
  const response = await fetch(path).catch(() => undefined);
  if (response?.ok) return response;
  const answer = response ? `${response.status} ${response.statusText}` : "no answer";
  throw new RetvecLiteError(`Cannot load ${path} from the server (${answer}). Is retvec-lite demo still running?`);
}
