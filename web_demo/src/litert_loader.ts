/**
 * Replaces `@litertjs/wasm-utils` (see vite.config.ts): starts LiteRT's WebAssembly from what this page has loaded.
 *
 * The original adds a script element for a URL, and that script fetches the .wasm. A page opened from disk cannot fetch.
 * Compiling it ourselves also starts the download earlier.
 */
import { compiledRuntime, runtimeFactory } from "./assets";

/** The last lines that LiteRT printed; they explain why it refused a model. */
export const runtimeNotes: string[] = [];

/** Start the module; @litertjs/core calls this with the class that wraps it. */
export async function createWasmLib<T>(wrapper: new (module: unknown) => T): Promise<T> {
  const compiled = await compiledRuntime();
  const factory = await runtimeFactory();
  const note = (line: string): void => {
    runtimeNotes.push(line);
    runtimeNotes.splice(0, runtimeNotes.length - 20);
  };
  // The factory never settles when the instantiation fails: reject here instead.
  const module = await new Promise((resolve, reject) => {
    factory({
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(compiled, imports).then((instance) => done(instance, compiled), reject);
      },
      print: note,
      printErr: note,
    }).then(resolve, reject);
  });
  return new wrapper(module);
}
