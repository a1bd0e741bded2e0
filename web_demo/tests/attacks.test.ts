import { describe, expect, it } from "vitest";
import { type Attack, attack } from "../src/attacks";
import tables from "../src/tables.json";
import { splitWords } from "../src/typos";

const TEXT = "Verify your account now, 42 times; 你好 мир";
const KINDS: Attack[] = ["homoglyphs", "leet", "zero-width"];

describe("attack", () => {
  it.each(KINDS)("%s: the same seed gives the same text, another seed a different one", (kind) => {
    expect(attack(TEXT, kind, 1)).toBe(attack(TEXT, kind, 1));
    expect(attack(TEXT, kind, 1)).not.toBe(attack(TEXT, kind, 2));
  });

  it.each(KINDS)("%s: no word appears or disappears, and every Latin word changes", (kind) => {
    const before = splitWords(TEXT);
    const after = splitWords(attack(TEXT, kind, 3));
    expect(after.length).toBe(before.length);
    const latin = [...before.keys()].filter((at) => /[a-z]{2}/.test(before[at] as string));
    expect(latin.length).toBe(5);
    for (const at of latin) expect(after[at]).not.toBe(before[at]);
  });

  it("zero-width adds only characters that the encoder drops", () => {
    const invisible = new Set(tables.invisible);
    const kept = [...attack(TEXT, "zero-width", 4)].filter(
      (character) => !invisible.has(character.codePointAt(0) as number),
    );
    expect(kept.join("")).toBe(TEXT);
  });

  it("homoglyphs are letters of another script, one for one", () => {
    const after = [...attack("aeopcxy AEO", "homoglyphs", 5)];
    expect(after.length).toBe(11);
    expect(after.some((letter) => /\p{Script=Cyrillic}|\p{Script=Greek}/u.test(letter))).toBe(true);
  });

  it("leet uses digits and symbols", () => {
    expect(attack("aeiosz", "leet", 6)).toMatch(/^[aeiosz4@31!05$2]{6}$/);
  });

  it("none leaves the text alone", () => {
    expect(attack(TEXT, "none", 0)).toBe(TEXT);
  });
});
