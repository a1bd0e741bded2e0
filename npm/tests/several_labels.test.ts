import { describe, expect, it } from "vitest";
import { type Decision, decide, decideAll, decisionOf } from "../src/decision.js";

const labels = ["a", "b", "c"];
const several: Decision = {
  threshold: null,
  unknown_label: null,
  unknown_power: 0,
  characters: "x",
  thresholds: [0.5, 0.25, 0.75],
};
const one: Decision = { threshold: 0.5, unknown_label: "b", unknown_power: 0, characters: "x", thresholds: null };
const text = [..."x"].map((char) => char.codePointAt(0) as number);
const values = (...numbers: number[]) => new Float32Array(numbers);

describe("decideAll", () => {
  it("returns every label that reaches its threshold, most probable first", () => {
    const found = decideAll(text, values(0.5, 0.625, 0.74), labels, several);
    expect(found).toEqual([
      { label: "b", probability: 0.625 },
      { label: "a", probability: 0.5 },
    ]);
    expect(decide(text, values(0.5, 0.2, 0.74), labels, several)).toEqual({ label: "a", probability: 0.5 });
  });

  it("returns no label where none reaches its threshold, and for a text with nothing to read", () => {
    expect(decideAll(text, values(0.49, 0.2, 0.74), labels, several)).toEqual([]);
    expect(decide(text, values(0.25, 0.125, 0.5), labels, several)).toEqual({ label: null, probability: 0.5 });
    expect(decideAll([63], values(1, 1, 1), labels, several)).toEqual([]);
  });

  it("returns one label or none where a text has one", () => {
    expect(decideAll(text, values(0.2, 0.3, 0.5), labels, one)).toEqual([{ label: "c", probability: 0.5 }]);
    expect(decideAll(text, values(0.3, 0.6, 0.1), labels, one)).toEqual([]);
    expect(decideAll(text, values(0.4, 0.35, 0.25), labels, one)).toEqual([]);
    expect(decideAll(text, values(0.2, 0.5, 0.3), labels, undefined)).toEqual([{ label: "b", probability: 0.5 }]);
  });
});

describe("decisionOf", () => {
  it("refuses thresholds that are not one share for each label", () => {
    expect(decisionOf("m", several, labels)).toEqual(several);
    for (const thresholds of [[0.5, 0.5], [0.5, 0.5, 1], [0.5, 0.5, "0.5"], 0.5]) {
      expect(() => decisionOf("m", { ...several, thresholds }, labels)).toThrow("The decision in m is damaged");
    }
  });
});
