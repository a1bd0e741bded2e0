import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";
import type { LiteRt } from "retvec-lite/core";
import { runtimeNotes } from "./litert_loader";

let loading: Promise<LiteRt> | undefined;

/** Start LiteRT once, since loading it twice is an error; after a failure, again. */
export function loadRuntime(): Promise<LiteRt> {
  loading ??= start().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function start(): Promise<LiteRt> {
  // LiteRT asks for a WebGPU device even when it runs on the CPU. Hide the GPU so that it stays idle, and drop LiteRT's
  // warning about its absence.
  const { warn } = console;
  const gpu = Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu");
  try {
    if (gpu) Object.defineProperty(Navigator.prototype, "gpu", { configurable: true, value: undefined });
    console.warn = (...values) => String(values[0]).startsWith("Failed to create default WebGPU") || warn(...values);
    // Nothing fetches this path: litert_loader.ts starts what the page has loaded.
    await loadLiteRt("litert.js");
  } finally {
    console.warn = warn;
    if (gpu) Object.defineProperty(Navigator.prototype, "gpu", gpu);
  }
  return { loadAndCompile: compile, Tensor };
}

/** Compile a model; the error of a refused one is what LiteRT printed about it. */
async function compile(...parameters: Parameters<LiteRt["loadAndCompile"]>): ReturnType<LiteRt["loadAndCompile"]> {
  runtimeNotes.length = 0;
  try {
    return await loadAndCompile(...parameters);
  } catch (error) {
    throw new Error(runtimeNotes.filter((line) => /error/i.test(line)).at(-1) ?? String(error));
  }
}
