/** The engine on what Python exported, against the answers of golden.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Classifier } from "../src/classifier.js";
import { load } from "../src/load.js";
import { isRetvec } from "../src/retvec_file.js";

interface Case {
  readonly name: string;
  readonly text: string | null;
  readonly codepoints?: number[];
  readonly words?: number[][];
  readonly probabilities: Record<string, number[]>;
  /** The answers that no difference within the tolerance can change. */
  readonly labels?: Record<string, string | string[] | null>;
}

interface Golden {
  readonly labels: string[];
  readonly tolerance: Record<string, number>;
  readonly cases: Case[];
  readonly long: Case[];
}

/** A folder that tests/web/conftest.py writes: exports as .retvec, with golden.json and the embeddings of Python. */
const DIST = process.env.RETVEC_ENGINE_DIST;
/** Another build of the engine, such as one without SIMD. */
const WASM = process.env.RETVEC_WASM ?? join(import.meta.dirname, "../../retvec_lite/web/engine.wasm");
const wasm = readFileSync(WASM);

describe("without a file", () => {
  it("refuses what is no .retvec", async () => {
    await expect(load(new Uint8Array(100), { engine: wasm })).rejects.toThrow(
      "The file (100 bytes) is not a .retvec file",
    );
    await expect(load(new Uint8Array(9), { name: "a.retvec", engine: wasm })).rejects.toThrow(
      /^a\.retvec \(9 bytes\) is not a \.retvec file, or it is cut short\.$/,
    );
    expect(isRetvec(new TextEncoder().encode("RETVEC\r\n..."))).toBe(true);
    expect(isRetvec(new TextEncoder().encode("....TFL3"))).toBe(false);
  });
});

describe.skipIf(!DIST).each(["pool", "several", "ngrams"])("%s", (head) => {
  const read = (name: string): Buffer => readFileSync(join(DIST as string, head, name));
  let golden: Golden;
  let engine: Classifier;
  let classifier: Classifier;
  let texts: (Case & { text: string })[];

  beforeAll(async () => {
    golden = JSON.parse(read("golden.json").toString()) as Golden;
    engine = await load(read("classifier-int8.retvec"), { engine: wasm });
    classifier = await load(join(DIST as string, head, "classifier-int8.retvec"), { engine: wasm });
    texts = [...golden.cases, ...golden.long].filter((one): one is Case & { text: string } => one.text !== null);
    expect(texts.length).toBeGreaterThan(80);
  });

  const expectNear = (received: Float32Array, expected: readonly number[], bound: number, name: string): void => {
    expect(received.length).toBe(expected.length);
    const off = Math.max(...received.map((value, at) => Math.abs(value - (expected[at] as number))));
    expect(off, name).toBeLessThanOrEqual(bound);
  };

  it("has the labels and the metadata of the file", () => {
    expect(engine.labels).toEqual(golden.labels);
    expect(engine.metadata.recipe).toBe("int8");
    expect(classifier.artifact.labels).toEqual(golden.labels);
    expect(classifier.readLimit).toBe(engine.readLimit);
  });

  it("gives the probabilities of golden.json, from bytes and from a path", async () => {
    const [bound, key] = [golden.tolerance["engine-int8"] as number, "engine-int8"];
    for (const { name, text, codepoints, probabilities } of [...golden.cases, ...golden.long]) {
      const input = text ?? (codepoints as number[]);
      expectNear(engine.probabilities(input), probabilities[key] as number[], bound, name);
      expect(classifier.probabilities(input), name).toEqual(engine.probabilities(input));
    }
    console.log(`bits of ${head}:`, hash(texts.flatMap(({ text }) => [...engine.probabilities(text)])));
  });

  it("gives the labels of golden.json, and none where there is none", async () => {
    for (const { name, text, labels } of texts) {
      const expected = labels?.["engine-int8"];
      const all = engine.predictAll(text).map(({ label }) => label);
      if (Array.isArray(expected)) expect(all.toSorted(), name).toEqual(expected.toSorted());
      else if (expected !== undefined) expect(all[0] ?? null, name).toBe(expected);
      expect(engine.predictMany([text]), name).toEqual([engine.predict(text)]);
      expect(classifier.predictAll(text), name).toEqual(engine.predictAll(text));
      const { label, probability } = engine.predict(text, { reject: false });
      expect(engine.labels).toContain(label);
      expect(probability).toBe(Math.max(...engine.probabilities(text)));
    }
    expect(engine.predict("").label).toBeNull();
  });

  it("splits texts into the words of golden.json, and embeds them", async () => {
    if (!classifier.embeds) {
      expect(() => engine.embed("a")).toThrow("n-grams alone");
      return;
    }
    for (const { name, text, words } of golden.cases) {
      if (text === null) continue;
      const whole = (words as number[][]).map((word) => word.filter((point) => point !== 0));
      expect(classifier.embed(text).words, name).toEqual(whole.filter((word) => word.length));
    }
    const embeddings = JSON.parse(read("embeddings.json").toString()) as [string, number[]][];
    for (const [text, expected] of embeddings) {
      expectNear(engine.embed(text).text, expected, 1e-5, text);
      expectNear(classifier.embed(text).text, expected, 1e-5, text);
    }
  });

  it("explains by the parts that Python leaves out", () => {
    const cases = JSON.parse(readFileSync(new URL("../../tests/data/parts.json", import.meta.url), "utf-8")) as [
      string,
      string[],
    ][];
    expect(cases.length).toBeGreaterThan(15);
    for (const [text, expected] of cases) {
      const parts = engine.explain(text).map(({ start, end }) => text.slice(start, end));
      expect(parts, JSON.stringify(text)).toEqual(expected);
    }
  });

  it("explains by how much the log probability falls without a word", () => {
    const log = (text: string): number => Math.log(engine.probabilities(text)[2] as number);
    const text = "cancel it 😀! where is my parcle";
    const whole = log(text);
    for (const { start, end, weight } of engine.explain(text, golden.labels[2])) {
      const without = `${text.slice(0, start).trimEnd()} ${text.slice(end).trimStart()}`;
      expect(weight, text.slice(start, end)).toBeCloseTo(whole - log(without), 4);
    }
    const [decomposed, composed] = ["u\u0308ber uns", "über uns"].map((text) =>
      engine.explain(text).map((span) => span.weight),
    );
    expect(decomposed).toEqual(composed);
  });

  it("keeps its memory small, and frees it", async () => {
    const before = engine.bytes;
    for (let turn = 0; turn < 200; turn++) engine.probabilities(`${turn} parcels and ${"more ".repeat(turn)}`);
    expect(engine.bytes).toBeLessThanOrEqual(before + 65_536);
    classifier.close();
    expect(() => classifier.embeds).toThrow("closed");
  });

  it("condenses and composes what is given, and reads no more than it says", () => {
    expect(engine.probabilities("u\u0308ber")).toEqual(engine.probabilities("über"));
    const padded = ` <b>${"\u200b".repeat(9000)}w - h - e - r - e</b>  %69s&#32;it${"?".repeat(600_000)}`;
    expect(engine.windows(padded)).toEqual([[..."where is it?"].map((one) => one.codePointAt(0))]);
    expect(engine.windows([...padded].map((one) => one.codePointAt(0) as number))).toEqual(engine.windows(padded));
    expect(engine.probabilities(padded)).toEqual(engine.probabilities("where is it?"));
    const disguised = "whx\bere \u202e?ti si\u202c";
    expect(engine.windows(disguised)).toEqual(engine.windows("where is it?"));
    const filler = "parcel ".repeat(Math.ceil(engine.readLimit / 7)).slice(0, engine.readLimit);
    expect(engine.probabilities(`${filler} cancel`)).toEqual(engine.probabilities(filler));
  });

  it("refuses a damaged file", async () => {
    const damaged = Uint8Array.from(read("classifier-int8.retvec"));
    damaged[damaged.length - 100] = (damaged[damaged.length - 100] as number) ^ 1;
    await expect(load(damaged, { engine: wasm })).rejects.toThrow("changed after its export");
    await expect(load(damaged.subarray(0, 4000), { engine: wasm })).rejects.toThrow("not as long as it says");
  });
});

describe.skipIf(!DIST).each(["pool", "several", "ngrams"])("spans of %s", (head) => {
  it("are parts of the text as it was given", async () => {
    const read = (name: string): Buffer => readFileSync(join(DIST as string, head, name));
    const classifier = await load(read("classifier-int8.retvec"), { engine: wasm });
    const cases = JSON.parse(read("spans.json").toString()) as [text: string, parts: string[]][];
    expect(cases.length).toBeGreaterThan(7);
    for (const [text, expected] of cases) {
      if (text.includes("\u200b")) continue; // as above
      const parts = classifier.explain(text).map(({ start, end }) => text.slice(start, end));
      expect(parts, JSON.stringify(text)).toEqual(expected);
    }
  });
});

/** FNV-1a of the bits of numbers. */
function hash(values: readonly number[]): string {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  return bytes.reduce((found, byte) => Math.imul(found ^ byte, 0x01000193) >>> 0, 0x811c9dc5).toString(16);
}
