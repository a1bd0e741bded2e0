/**
 * Where runtime and models come from: the server of `retvec-lite demo`, or, in the page of `--export`, the page itself.
 * An exported page holds them in script elements of a type no browser runs: gzip, then base64.
 */
import { PlaygroundError } from "./errors";
import type { ModuleFactory } from "./litert_loader";
import { decompress } from "./zip";

/** A model on offer; its bytes are only read when it is chosen. */
export interface Offer {
  readonly name: string;
  load(): Promise<Uint8Array>;
}

const WASM = "litert.wasm";

let compiling: Promise<WebAssembly.Module> | undefined;

/** LiteRT's WebAssembly, compiled once; called at the start of the page, so that it is ready when the model is. */
export function compiledRuntime(): Promise<WebAssembly.Module> {
  compiling ??= compile();
  return compiling;
}

async function compile(): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === "undefined") {
    throw new PlaygroundError(
      "Expected a browser with WebAssembly, received one without it, or with it switched off: the model cannot run here.",
    );
  }
  try {
    const inside = embedded(WASM);
    if (inside) return await WebAssembly.compile((await unpacked(inside)) as BufferSource);
    return await WebAssembly.compileStreaming(fetchFile(WASM));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) {
      throw new PlaygroundError(`Expected a browser that compiles LiteRT's WebAssembly, received: ${error.message}`);
    }
    throw error;
  }
}

/** LiteRT's own script, litert.js, defines `ModuleFactory`; it stands in the page before this one. */
export async function runtimeFactory(): Promise<ModuleFactory> {
  const { ModuleFactory: factory } = globalThis as { ModuleFactory?: ModuleFactory };
  if (factory === undefined)
    throw new PlaygroundError("Expected LiteRT's litert.js beside this page, received none: reload it.");
  return factory;
}

/** The models to choose from, the one to begin with first. */
export async function offers(): Promise<Offer[]> {
  const inside = document.querySelectorAll<HTMLScriptElement>("script[data-model]");
  if (inside.length) {
    return Array.from(inside, (element) => ({ name: element.dataset.model as string, load: () => unpacked(element) }));
  }
  const names = (await (await fetchFile("models.json")).json()) as string[];
  return names.map((name) => ({
    name,
    load: async () => new Uint8Array(await (await fetchFile(`models/${encodeURIComponent(name)}`)).arrayBuffer()),
  }));
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
  const received = response ? `${response.status} ${response.statusText}` : "no answer";
  throw new PlaygroundError(
    `Expected ${path} from the server, received ${received}: is retvec-lite demo still running?`,
  );
}
