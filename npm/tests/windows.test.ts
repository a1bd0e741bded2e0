import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { combine, cutWindows, meanEmbedding, readLimit } from "../src/windows.js";

interface Cases {
  readonly limits: [number, number][];
  readonly cut: [number, string, string[]][];
  readonly combine: { unknown: number | null; several: boolean; windows: number[][]; text: number[] }[];
}

/** What Python makes of them; the Android app's tests read the same file. */
const cases = JSON.parse(readFileSync(new URL("../../tests/data/windows.json", import.meta.url), "utf-8")) as Cases;
const text = (points: readonly number[]): string => points.map((point) => String.fromCodePoint(point)).join("");

describe("windows", () => {
  it.each(cases.cut)("of %d: %j", (maxChars, given, expected) => {
    expect(cutWindows(given, maxChars, 2).map(text)).toEqual(expected);
  });

  it.each(cases.limits)("of %d: %d code points are read", (maxChars, limit) => {
    expect(readLimit(maxChars, 2)).toBe(limit);
  });

  it("are not there in version 1", () => {
    expect(readLimit(10, 1)).toBe(10);
    expect(cutWindows("e\u0301".repeat(30), 10, 1).map(text)).toEqual(["\u00e9".repeat(10)]);
  });

  it("keep unpaired surrogates, and count characters beyond the first 65,536 once", () => {
    expect(cutWindows("a👍\ud800b", 9, 2)).toEqual([[0x61, 0x1f44d, 0xd800, 0x62]]);
  });

  it.each(cases.combine)(
    "say together what they say in Python: %j",
    ({ unknown, several, windows, text: expected }) => {
      const found = combine(
        windows.map((row) => new Float32Array(row)),
        unknown ?? -1,
        several,
      );
      expected.forEach((value, label) => expect(found[label]).toBeCloseTo(value, 5));
    },
  );

  it("have a mean of length 1 as their embedding, or zeros", () => {
    expect([...meanEmbedding([new Float32Array([1, 0]), new Float32Array([0, 1])])]).toEqual([
      Math.fround(Math.SQRT1_2),
      Math.fround(Math.SQRT1_2),
    ]);
    expect([...meanEmbedding([new Float32Array(2), new Float32Array(2)])]).toEqual([0, 0]);
  });
});
