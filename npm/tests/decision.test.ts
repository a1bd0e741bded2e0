import { describe, expect, it } from "vitest";
import { type Decision, decide, decisionOf } from "../src/decision.js";

const LABELS = ["none", "a", "b"];
const DECISION: Decision = { threshold: 0.5, unknown_label: "none", unknown_power: 0, characters: "Aa𝔸" };

const answer = (text: string, shares: number[], decision: Decision | undefined = DECISION) =>
  decide(
    Array.from(text, (char) => char.codePointAt(0) as number),
    Float32Array.from(shares),
    LABELS,
    decision,
  );

describe("decide", () => {
  it("answers the most probable label but the unknown one", () => {
    expect(answer("a", [0.25, 0.25, 0.5])).toEqual({ label: "b", probability: 0.5 });
    expect(answer("a", [0.125, 0.75, 0.125])).toEqual({ label: "a", probability: 0.75 });
  });

  it.each([
    ["below the threshold", "a", [0.25, 0.25, 0.4375], 0.4375],
    ["below the unknown label", "a", [0.625, 0, 0.5], 0.5],
    ["an empty text", "", [0, 1, 0], 1],
    ["no known letter", "b? 𝔹", [0, 1, 0], 1],
  ])("answers null: %s", (_, text, shares, probability) => {
    expect(answer(text, shares)).toEqual({ label: null, probability });
    expect(decide([], Float32Array.from(shares), LABELS, undefined).label).not.toBeNull();
  });

  it("knows letters beyond the first 65,536", () => {
    expect(answer("? 𝔸", [0, 1, 0]).label).toBe("a");
  });

  it("lets the unknown label raise the threshold", () => {
    const decision: Decision = { ...DECISION, threshold: 1.25, unknown_power: 0.5 };
    expect(answer("a", [0.25, 0.625, 0.125], decision).label).toBe("a"); // 1.25 * 0.5
    expect(answer("a", [0.25, 0.5625, 0.1875], decision).label).toBeNull();
    expect(answer("a", [0, 0.25, 0.125], decision).label).toBe("a");
  });

  it("compares in double precision", () => {
    const probability = Float32Array.of(0.6)[0] as number;
    const at = (threshold: number) => answer("a", [0, 0.6, 0], { ...DECISION, threshold }).label;
    expect([at(probability), at(probability + 1e-12)]).toEqual(["a", null]);
  });

  it("skips the rules that a file does not have", () => {
    const none: Decision = { threshold: null, unknown_label: null, unknown_power: 0, characters: "" };
    expect(answer("", [0.5, 0.25, 0.25], none)).toEqual({ label: "none", probability: 0.5 });
  });
});

describe("decisionOf", () => {
  it("reads what files say; earlier releases say nothing", () => {
    expect(decisionOf("m", DECISION, LABELS)).toEqual(DECISION);
    expect(decisionOf("m", undefined, LABELS)).toBeUndefined();
    expect(decisionOf("m", null, LABELS)).toBeUndefined();
  });

  it.each([
    { threshold: 0 },
    { unknown_power: null },
    { threshold: "0.5" },
    { unknown_label: "c" },
    { characters: null },
  ])("refuses a damaged one, %o", (change) => {
    expect(() => decisionOf("m.tflite", { ...DECISION, ...change }, LABELS)).toThrow(
      "The decision in m.tflite is damaged. Export the file again.",
    );
  });
});
