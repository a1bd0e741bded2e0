/**
 * Load the engine and the models: from the server of `retvec-lite demo`, or from an exported page (`--export`) itself.
 * An exported page holds them in script elements of a type that no browser runs, packed with gzip, then base64.
 */
import { RetvecError } from "retvec-lite/core";

/** A model that the user can choose; its bytes are loaded only then. */
export interface Offer {
  readonly name: string;
  load(): Promise<Uint8Array>;
}

const ENGINE = "engine.wasm";

let compiling: Promise<WebAssembly.Module> | undefined;

/** Compile the engine, once; after a failure, again. */
export function compiledEngine(): Promise<WebAssembly.Module> {
  compiling ??= compile().catch((error: unknown) => {
    compiling = undefined;
    throw error;
  });
  return compiling;
}

async function compile(): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === "undefined") {
    throw new RetvecError(
      "NO_ENGINE",
      "The model cannot run: this browser has no WebAssembly, or it is switched off. Switch it on or use another browser.",
    );
  }
  try {
    const inside = document.querySelector<HTMLScriptElement>(`script[data-file="${ENGINE}"]`);
    if (inside) return await WebAssembly.compile((await unpacked(inside)) as BufferSource);
    return await WebAssembly.compileStreaming(fetchFile(ENGINE));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) {
      throw new RetvecError(
        "NO_ENGINE",
        `This browser cannot compile ${ENGINE}. Use a newer browser. (${error.message})`,
      );
    }
    throw error;
  }
}

/** Return the models to choose from, of which the page starts with the first, and whether all are asked. */
export async function offers(): Promise<{ offers: Offer[]; all: boolean }> {
  const inside = document.querySelectorAll<HTMLScriptElement>("script[data-model]");
  if (inside.length) {
    const offers = Array.from(inside, (element) => ({
      name: element.dataset.model as string,
      load: () => unpacked(element),
    }));
    return { offers, all: offers.length > 1 };
  }
  const { names, all } = (await (await fetchFile("models.json")).json()) as { names: string[]; all: boolean };
  const offers = names.map((name) => ({
    name,
    load: async () => new Uint8Array(await (await fetchFile(`models/${encodeURIComponent(name)}`)).arrayBuffer()),
  }));
  return { offers, all };
}

async function unpacked(element: HTMLScriptElement): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(element.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function fetchFile(path: string): Promise<Response> {
  const response = await fetch(path).catch(() => undefined);
  if (response?.ok) return response;
  const answer = response ? `${response.status} ${response.statusText}` : "no answer";
  throw new RetvecError(
    "CANNOT_LOAD",
    `Cannot load ${path} from the server (${answer}). Is retvec-lite demo still running?`,
  );
}
