import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { mistype, splitWords } from "../src/typos";

interface Case {
  readonly text: string;
  readonly rate: number;
  readonly seed: number;
  readonly mistyped: string;
}

/** Written by tests/web/conftest.py with `retvec_lite.mistype`, as escaped JSON, so that surrogates survive. */
const vectors = process.env.RETVEC_TYPO_VECTORS;

describe("mistype", () => {
  it.skipIf(!vectors)("gives the same typos as Python for the same seeds", () => {
    const cases = JSON.parse(readFileSync(vectors as string, "utf-8")) as Case[];
    expect(cases.length).toBeGreaterThan(500);
    for (const { text, rate, seed, mistyped } of cases) {
      expect(mistype(text, rate, seed), JSON.stringify({ text, rate, seed })).toBe(mistyped);
    }
  });

  it("changes neither a text without words nor any text at rate 0", () => {
    expect(mistype("", 1, 0)).toBe("");
    expect(mistype(" \n\u3000", 1, 0)).toBe(" \n\u3000");
    expect(mistype("as it is", 0, 3)).toBe("as it is");
  });

  it("changes every word at rate 1, but no gap", () => {
    const text = "  one\ttwo three\u00a0four five six ";
    const before = splitWords(text);
    const after = splitWords(mistype(text, 1, 9));
    expect(after.length).toBe(before.length);
    for (const [at, piece] of after.entries()) expect(piece === before[at]).toBe(at % 2 === 1 || piece === "");
  });
});

describe("splitWords", () => {
  it("splits at every separator of the contract and nowhere else", () => {
    expect(splitWords("a\u00a0b\u0000c\u200bd")).toEqual(["a", "\u00a0", "b", "\u0000", "c\u200bd"]);
    expect(splitWords(" a ")).toEqual(["", " ", "a", " ", ""]);
  });
});
