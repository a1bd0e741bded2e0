import { describe, expect, it } from "vitest";
import { legible } from "../src/words";

const points = (text: string): number[] => [...text].map((character) => character.codePointAt(0) as number);

describe("legible", () => {
  it.each(["\u0915\u0939\u093e\u0901", "\u0938\u094d\u0924\u0947", "e\u0301t\u00e9", "\u0e17\u0e35\u0e48"])(
    "keeps the combining marks of %s on their letters",
    (word) => {
      expect(legible(points(word))).toBe(word);
    },
  );

  it("shows a combining mark at the start of a word on a dotted circle", () => {
    expect(legible(points("\u0301a"))).toBe("\u25cc\u0301a");
  });

  it("names invisible characters", () => {
    expect(legible([0x61, 0x2060, 0xd800])).toBe("aU+2060U+D800");
  });
});
