// The stopwatch of latency_web.py inside the browser: LiteRT.js as the playground runs it, on the CPU with one thread.
import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";

/** The runtime's memory, set when it starts. */
let memory;

/** Start LiteRT from its bytes. */
async function startRuntime(wasm) {
  // LiteRT requests a WebGPU device even for the CPU.
  Object.defineProperty(navigator, "gpu", { value: undefined });
  globalThis.Module = {
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(wasm, imports).then(({ instance, module }) => {
        memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
        done(instance, module);
      });
    },
  };
  await loadLiteRt("/litert.js");
}

const fileBytes = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
const compile = (bytes) => loadAndCompile(bytes, { accelerator: "wasm", cpuOptions: { numThreads: 1 } });

/**
 * One call of a signature: code points in, probabilities out, every tensor deleted.
 *
 * `check` tests an answer: the time of a text that was cut or not read would mean nothing.
 */
function makeCall(model, { signature, max_chars: limit }, { text, words }) {
  const padded = new Int32Array(limit);
  padded.set(Array.from(text, (character) => character.codePointAt(0)).slice(0, limit));
  const run = async (names) => {
    const input = new Tensor(padded, [1, limit]);
    const outputs = await model.signatures[signature].run({ codepoints: input });
    const values = names.map((name) => outputs[name]?.toTypedArray());
    input.delete();
    for (const tensor of Object.values(outputs)) tensor.delete();
    return values;
  };
  const check = async () => {
    const [probabilities, slots] = await run(["probabilities", "slots"]);
    const sum = probabilities.reduce((all, value) => all + value, 0);
    if (!(Math.abs(sum - 1) < 1e-3))
      throw new Error(`The probabilities of ${signature} sum to ${sum} instead of 1.`);
    if (slots && slots[0] !== words) throw new Error(`${signature} read ${slots[0]} words of ${words}.`);
  };
  return { check, call: () => run(["probabilities"]) };
}

/** Return medians in microseconds: for each text the contestants that fit it, and the first one twice, in turns. */
export async function times({ contestants, texts, rounds, before }) {
  await startRuntime(await fileBytes("/litert.wasm"));
  const models = new Map();
  const open = async ({ url }) => {
    if (!models.has(url)) models.set(url, await compile(await fileBytes(url)));
    return models.get(url);
  };
  const rows = [];
  for (const text of texts) {
    const able = contestants.filter(({ words }) => words.includes(text.words));
    if (!able.length) continue;
    const first = able[0];
    const second = await compile(await fileBytes(first.url));
    const entered = [];
    for (const contestant of able) {
      entered.push([contestant.name, makeCall(await open(contestant), contestant, text)]);
    }
    entered.push([`control: ${first.name}`, makeCall(second, first, text)]);
    for (const [, { check }] of entered) await check();
    for (const [name, microseconds] of await takeTurns(entered, rounds, before))
      rows.push({ words: text.words, name, microseconds });
    second.delete();
  }
  return rows;
}

/** As in latency_measure.py: in every turn each has one call that does not count, then three that do. */
async function takeTurns(entered, rounds, before) {
  const found = new Map(entered.map(([name]) => [name, []]));
  for (let turn = -before; turn < rounds; turn++) {
    for (const [name, { call }] of entered) {
      await call();
      for (let run = 0; run < 3; run++) {
        const began = performance.now();
        await call();
        if (turn >= 0) found.get(name).push(performance.now() - began);
      }
    }
  }
  return Array.from(found, ([name, values]) => [name, median(values) * 1000]);
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** The start of a fresh page with a file, in steps that can be measured from outside. */
export const start = {
  /** Download, not measured. */
  async fetch({ url, calls }) {
    Object.assign(this, { wasm: await fileBytes("/litert.wasm"), bytes: await fileBytes(url), calls });
  },
  runtime() {
    return startRuntime(this.wasm);
  },
  async load() {
    this.model = await compile(this.bytes);
  },
  async first() {
    this.made = [makeCall(this.model, this.calls[0], this.calls[0])];
    await this.made[0].call();
  },
  /** One checked answer of each, then 100 more texts. */
  async rest() {
    for (const call of this.calls.slice(1)) this.made.push(makeCall(this.model, call, call));
    for (const { check } of this.made) await check();
    for (let round = 0; round < 50; round++) for (const { call } of this.made) await call();
  },
};

/** Bytes of the runtime's memory. */
export const memoryBytes = () => memory.buffer.byteLength;
