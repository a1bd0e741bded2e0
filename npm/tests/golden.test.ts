/** The answers of `golden/`, and what `load` takes. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { load, RetvecError } from "../src/core.js";
import { ENGINE_CODES } from "../src/errors.js";

interface Case {
  readonly name: string;
  readonly text: string | null;
  readonly codepoints?: number[];
  readonly probabilities: Record<string, number[]>;
  readonly labels?: Record<string, string | string[] | null>;
}

interface Golden {
  readonly labels: string[];
  readonly tolerance: Record<string, number>;
  readonly cases: Case[];
  readonly long: Case[];
}

const at = (name: string): URL => new URL(`../../golden/${name}`, import.meta.url);
const engine = new Uint8Array(readFileSync(new URL("../../retvec_lite/web/engine.wasm", import.meta.url)));

describe.each([
  ["plain", "engine-int8"],
  ["rejecting", "engine-int8"],
  ["several", "engine-int8"],
])("%s.retvec", (name, key) => {
  it("gives the golden answers", async () => {
    const golden = JSON.parse(readFileSync(at(`${name}.json`), "utf-8")) as Golden;
    const classifier = await load(at(`${name}.retvec`), { engine });
    expect(classifier.labels).toEqual(golden.labels);
    for (const { name: about, text, codepoints, probabilities, labels } of [...golden.cases, ...golden.long]) {
      const input = text ?? (codepoints as number[]);
      const found = classifier.probabilities(input);
      const off = (probabilities[key] as number[]).map((value, label) => Math.abs(value - (found[label] as number)));
      expect(Math.max(...off), about).toBeLessThanOrEqual(golden.tolerance[key] as number);
      const expected = labels?.[key];
      const all = classifier.predictAll(input).map(({ label }) => label);
      if (Array.isArray(expected)) expect(all.toSorted(), about).toEqual(expected.toSorted());
      else if (expected !== undefined) expect(all[0] ?? null, about).toBe(expected);
    }
    classifier.close();
  });
});

describe("load", () => {
  it("takes bytes, a path or an address", async () => {
    const bytes = new Uint8Array(readFileSync(at("several.retvec")));
    const sources = [bytes, bytes.buffer, fileURLToPath(at("several.retvec")), at("several.retvec")];
    for (const source of sources) {
      const classifier = await load(source, { engine });
      expect(classifier.predict("play jazz").label).toBe("music");
    }
  });

  it("says what is missing", async () => {
    await expect(load(at("several.retvec"))).rejects.toThrow("several.retvec needs the engine: pass engine.wasm");
    await expect(load(at("several.tflite"), { engine })).rejects.toThrow(
      "several.tflite is a .tflite. Export the classifier with --format engine and load the .retvec.",
    );
    await expect(load(new Uint8Array(9), { name: "a.bin" })).rejects.toThrow(RetvecError);
    await expect(load("data:,no")).rejects.toThrow("is not a .retvec file");
    await expect(load("http://127.0.0.1:9/a.retvec")).rejects.toThrow(
      "Cannot load http://127.0.0.1:9/a.retvec (no answer).",
    );
  });
});

describe("explain", () => {
  it("tells which words speak for a label", async () => {
    const classifier = await load(at("rejecting.retvec"), { engine });
    const text = "please play some jazz";
    const spans = classifier.explain(text);
    const strongest = spans.toSorted((one, other) => other.weight - one.weight)[0];
    expect(["play", "jazz"]).toContain(text.slice(strongest?.start, strongest?.end));
    expect(classifier.explain(text, "weather").length).toBe(4);
    expect(() => classifier.explain(text, "sport")).toThrow('"sport" is not a label of this classifier: alarm,');
  });
});

interface Explained {
  readonly tolerance: Record<string, number>;
  readonly cases: {
    text: string;
    label: string | null;
    spans: [start: number, end: number][];
    weights: Record<string, number[]>;
  }[];
}

it.each(["plain", "rejecting", "several"])("%s.retvec explains the text as it was given", async (name) => {
  const { tolerance, cases } = JSON.parse(readFileSync(at("explained.json"), "utf-8")) as Explained;
  const classifier = await load(at(`${name}.retvec`), { engine });
  for (const { text, label, spans, weights } of cases) {
    const units = (points: number): number => Array.from(text).slice(0, points).join("").length;
    const found = classifier.explain(text, label);
    expect(
      found.map(({ start, end }) => [start, end]),
      text,
    ).toEqual(spans.map((span) => span.map(units)));
    const off = found.map(({ weight }, place) => Math.abs(weight - (weights[name]?.[place] as number)));
    expect(Math.max(0, ...off), text).toBeLessThanOrEqual(tolerance[".retvec"] as number);
  }
});

interface Taught {
  readonly lessons: [text: string, label: string][];
  readonly kept: [text: string, label: string][];
  readonly plain: TaughtCase[];
  readonly rejecting: TaughtCase[];
}

interface TaughtCase {
  readonly text: string;
  readonly label: string | null;
  readonly taught: string | null;
}

describe.each(["plain", "rejecting"] as const)("what %s.retvec was taught", (name) => {
  const golden = JSON.parse(readFileSync(at("taught.json"), "utf-8")) as Taught;
  const bytes = new Uint8Array(readFileSync(at("taught.memory")));
  const texts = golden[name].map(({ text }) => text);
  const opened = (): ReturnType<typeof load> => load(at(`${name}.retvec`), { engine });

  it("answers as in Python, and is saved as the same bytes", async () => {
    const classifier = await opened();
    const before = classifier.predictMany(texts);
    for (const [text, label] of golden.lessons) classifier.teach(text, label);
    const other = await opened();
    other.memory.load(bytes);
    for (const { memory } of [classifier, other]) {
      expect([memory.texts, memory.length]).toEqual([golden.kept, golden.kept.length]);
      expect(memory.labels).toEqual([...new Set(golden.kept.map(([, label]) => label))]);
      expect(memory.save()).toEqual(bytes);
    }
    for (const [at, { text, label, taught }] of golden[name].entries()) {
      const found = classifier.predict(text);
      expect([found.label, found.taught ?? null], text).toEqual([label, taught]);
      if (taught === null) expect(found, text).toEqual(before[at]);
      else expect(classifier.predict(text, { reject: false }), text).toEqual(found);
      expect(other.predict(text), text).toEqual(found);
      expect(classifier.predictAll(text), text).toEqual(label === null ? [] : [found]);
    }
  });

  it("is forgotten without a trace", async () => {
    const classifier = await opened();
    const before = classifier.predictMany(texts);
    const empty = classifier.memory.save();
    for (const forget of [
      async () => classifier.memory.clear(),
      async () => classifier.memory.load(empty),
      async () => {
        for (const [text] of golden.kept) classifier.forget(text);
      },
    ]) {
      classifier.memory.load(bytes);
      await forget();
      expect(classifier.memory.length).toBe(0);
      expect(classifier.predictMany(texts)).toEqual(before);
    }
  });

  it("may be an old label, and is corrected by the next lesson", async () => {
    const classifier = await opened();
    classifier.teach("my parcel is soaked", "payment");
    expect(classifier.predict("my parcel is soaked")).toMatchObject({
      label: "payment",
      taught: "my parcel is soaked",
    });
    expect(classifier.memory.labels).toEqual([]);
    classifier.teach("my parcel is soaked", "damage");
    expect(classifier.memory.texts).toEqual([["my parcel is soaked", "damage"]]);
  });

  it("has room for more and more", async () => {
    const classifier = await opened();
    const numbers = Array.from({ length: 300 }, (_, number) => number + 300).filter((number) => number % 111);
    const long = numbers.slice(0, 40);
    for (const number of numbers) classifier.teach(`pets ${number}`, `label ${number % 7}`);
    for (const number of long) classifier.teach(`${number} ${"parcel ".repeat(60)}`, "long");
    const { memory } = classifier;
    expect(memory.length).toBe(numbers.length + 40);
    expect(memory.labels.length).toBe(8);
    expect(classifier.predict("pets 317").taught).toBe("pets 317");
    const other = await opened();
    other.memory.load(memory.save());
    expect(other.memory.texts).toEqual(memory.texts);
  });

  it("stays as it was where something is wrong", async () => {
    const classifier = await opened();
    classifier.memory.load(bytes);
    for (const label of ["", "\0", "pets\0", "a\nb", "\ud800", "x".repeat(256), 5 as never, undefined as never]) {
      expect(() => classifier.teach("feed the cat", label)).toThrow(/label/);
    }
    expect(() => classifier.teach(" \u200b ", "pets")).toThrow("Nothing is left to read");
    expect(() => classifier.forget("never taught")).toThrow("This text was not taught.");
    for (let end = 0; end < bytes.length; end += 7) {
      expect(() => classifier.memory.load(bytes.slice(0, end))).toThrow(/not a memory|damaged/);
    }
    const newer = bytes.slice();
    newer[8] = 2;
    expect(() => classifier.memory.load(newer)).toThrow("version");
    expect(() => classifier.memory.load([] as never)).toThrow("Uint8Array, not an empty list");
    expect(classifier.memory.save()).toEqual(bytes);
    expect(classifier.predict("feed the cat at noon").label).toBe("pets");
    classifier.close();
    expect(() => classifier.memory).toThrow("closed");
  });
});

it("says that a file with several labels a text cannot be taught", async () => {
  const classifier = await load(at("several.retvec"), { engine });
  expect(() => classifier.teach("a text", "label")).toThrow(/cannot be taught: it has no vectors/);
  expect(() => classifier.memory.save()).toThrow("cannot be taught");
  expect([classifier.memory.length, classifier.memory.texts]).toEqual([0, []]);
  classifier.memory.clear();
});

it("calls problems as the engine does", () => {
  const header = readFileSync(new URL("../../engine/retvec_lite.h", import.meta.url), "utf-8");
  const names = /RVL_OK = 0,[^}]*/
    .exec(header)?.[0]
    .replace(/\/\*.*?\*\//gs, "")
    .match(/RVL_\w+/g);
  expect(ENGINE_CODES).toEqual(names);
});

it("says what is wrong by a code too", async () => {
  const classifier = await load(at("plain.retvec"), { engine });
  const bytes = new Uint8Array(readFileSync(at("plain.retvec")));
  const cases: [string, () => unknown][] = [
    ["RVL_NOT_RETVEC", () => load(new Uint8Array(9), { engine })],
    ["RVL_TRUNCATED", () => load(bytes.subarray(0, 4000), { engine })],
    ["RVL_CHANGED", () => load(bytes.with(-100, (bytes.at(-100) as number) ^ 1), { engine })],
    ["RVL_NOT_TAUGHT", () => classifier.forget("never taught")],
    ["RVL_NO_TEXT", () => classifier.teach(" ", "a label")],
    ["RVL_NOT_A_MEMORY", () => classifier.memory.load(bytes)],
    ["WRONG_CALL", () => classifier.predict(undefined as never)],
    ["CANNOT_LOAD", () => load("none.retvec", { engine })],
    ["NO_ENGINE", () => load(bytes)],
    ["CLOSED", () => (classifier.close(), classifier.predict("a text"))],
  ];
  for (const [code, call] of cases) {
    await expect((async () => call())(), code).rejects.toMatchObject({ name: "RetvecError", code });
  }
});

it("answers many texts, and is closed at the end of a block", async () => {
  const classifier = await load(at("rejecting.retvec"), { engine });
  const texts = new Set(["please play some jazz", "", "where is my parcle"]);
  expect(classifier.predictMany(texts)).toEqual([...texts].map((text) => classifier.predict(text)));
  expect(classifier.predictMany(texts, { reject: false }).map(({ label }) => label)).not.toContain(null);
  expect(() => classifier.predictMany([], { rejct: false } as never)).toThrow("no option rejct");
  classifier[Symbol.dispose]();
  expect(() => classifier.predictMany([])).toThrow("closed");
});
