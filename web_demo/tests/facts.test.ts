import { describe, expect, it } from "vitest";
import { embedding, languages, pieces, rejection } from "../src/facts";

describe("how the page describes an embedding", () => {
  it("by its name alone when it was frozen or the file does not say", () => {
    expect(embedding({ embedding: "base", fine_tuned: false, character_filters: 0 })).toBe("base");
    expect(embedding({ embedding: "base" })).toBe("base");
    expect(embedding({})).toBe("–");
  });

  it("with fine-tuning and character features", () => {
    expect(embedding({ embedding: "base", fine_tuned: true, character_filters: 128 })).toBe(
      "base, fine-tuned, 128 character features",
    );
    expect(embedding({ embedding: "base", fine_tuned: true, character_filters: 0 })).toBe("base, fine-tuned");
  });
});

describe("how the page describes scripts without spaces", () => {
  it("by characters per word and the step of overlapping words", () => {
    const sizes = { max_chars: 512, max_words: 64, word_length: 16 };
    expect(pieces({ ...sizes, han_piece: [1, 1], kana_piece: [2, 1], sea_piece: null })).toBe(
      "Han 1; kana 2 (step 1); Thai, Lao, Khmer, Burmese all",
    );
  });
});

describe("how the page describes the languages of a file", () => {
  it("by their tags where there are several", () => {
    expect(languages({ languages: ["en", "de", "es"] })).toEqual([["Languages", "en, de, es"]]);
    expect(languages({})).toEqual([]);
  });
});

describe("how the page describes when a text has no label", () => {
  it("by its rules", () => {
    const known = { threshold: 0.5, unknown_label: "none", unknown_power: 0, characters: "Aa𝔸" };
    expect(rejection(known)).toBe("probability below 50.0 %; label none; no known letter or digit");
    expect(rejection({ ...known, threshold: 1.25, unknown_power: 0.5 })).toBe(
      "probability below 1.250 × p(none)^0.5; label none; no known letter or digit",
    );
    expect(rejection({ threshold: null, unknown_label: null, unknown_power: 0, characters: "" })).toBe("");
    expect(rejection(undefined)).toBe("never");
  });
});
