/** The answers of `golden/`, and what `load` takes. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { load, RetvecLiteError } from "../src/core.js";

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
  ["plain", "engine-int4"],
  ["rejecting", "engine-int8"],
  ["several", "engine-int8"],
])("%s.retvec", (name, key) => {
  it("gives the golden answers", async () => {
    const golden = JSON.parse(readFileSync(at(`${name}.json`), "utf-8")) as Golden;
    const classifier = await load(at(`${name}.retvec`), { engine });
    expect(classifier.labels).toEqual(golden.labels);
    for (const { name: about, text, codepoints, probabilities, labels } of [...golden.cases, ...golden.long]) {
      const input = text ?? (codepoints as number[]);
      const found = await classifier.probabilities(input);
      const off = (probabilities[key] as number[]).map((value, label) => Math.abs(value - (found[label] as number)));
      expect(Math.max(...off), about).toBeLessThanOrEqual(golden.tolerance[key] as number);
      const expected = labels?.[key];
      const all = (await classifier.predictAll(input)).map(({ label }) => label);
      if (Array.isArray(expected)) expect(all.toSorted(), about).toEqual(expected.toSorted());
      else if (expected !== undefined) expect(all[0] ?? null, about).toBe(expected);
    }
    classifier.delete();
  });
});

describe("load", () => {
  it("takes bytes, a path or an address", async () => {
    const bytes = new Uint8Array(readFileSync(at("several.retvec")));
    const sources = [bytes, bytes.buffer, fileURLToPath(at("several.retvec")), at("several.retvec")];
    for (const source of sources) {
      const classifier = await load(source, { engine });
      expect((await classifier.predict("play jazz")).label).toBe("music");
    }
  });

  it("says what is missing", async () => {
    await expect(load(at("several.retvec"))).rejects.toThrow("several.retvec needs the engine: pass engine.wasm");
    await expect(load(at("several.tflite"), { engine })).rejects.toThrow(
      "several.tflite is a .tflite. Export the classifier with --format engine and load the .retvec.",
    );
    await expect(load(new Uint8Array(9), { name: "a.bin" })).rejects.toThrow(RetvecLiteError);
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
    const spans = await classifier.explain(text);
    const strongest = spans.toSorted((one, other) => other.weight - one.weight)[0];
    expect(["play", "jazz"]).toContain(text.slice(strongest?.start, strongest?.end));
    expect((await classifier.explain(text, "weather")).length).toBe(4);
    await expect(classifier.explain(text, "sport")).rejects.toThrow(
      '"sport" is not a label of this classifier: alarm,',
    );
  });
});
