import { describe, expect, it } from "vitest";
import { embedding, pieces } from "../src/facts";

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
