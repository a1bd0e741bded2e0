/**
 * Stands in for `@litertjs/wasm-utils` (see vite.config.ts): starts LiteRT's WebAssembly from what this page holds.
 *
 * The original adds a script element for a URL and lets it fetch the .wasm beside it. A page opened from disk can fetch
 * nothing, and with a compilation of our own the download starts before the script that needs it has come.
 */
import { compiledRuntime, runtimeFactory } from "./assets";

/** What LiteRT writes to standard error; the last lines explain a refused model. */
export const runtimeNotes: string[] = [];

interface ModuleOptions {
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): void;
  print(line: string): void;
  printErr(line: string): void;
}

export type ModuleFactory = (options: ModuleOptions) => Promise<unknown>;

/** Called by @litertjs/core with the class that wraps the module. */
export async function createWasmLib<T>(wrapper: new (module: unknown) => T): Promise<T> {
  const [factory, compiled] = await Promise.all([runtimeFactory(), compiledRuntime()]);
  const note = (line: string): void => {
    runtimeNotes.push(line);
    runtimeNotes.splice(0, runtimeNotes.length - 20);
  };
  // The factory waits for ever when the instance never comes, hence the race with its failure.
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
