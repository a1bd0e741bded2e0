import { describe, expect, it } from "vitest";
import { embedding } from "../src/facts";

describe("what the page says of an embedding", () => {
  it("is its name alone when it was frozen, and in files from before that was told", () => {
    expect(embedding({ embedding: "base", fine_tuned: false, character_filters: 0 })).toBe("base");
    expect(embedding({ embedding: "base" })).toBe("base");
    expect(embedding({})).toBe("–");
  });

  it("is what was trained of it and beside it", () => {
    expect(embedding({ embedding: "base", fine_tuned: true, character_filters: 128 })).toBe(
      "base, fine-tuned, 128 character features",
    );
    expect(embedding({ embedding: "base", fine_tuned: true, character_filters: 0 })).toBe("base, fine-tuned");
  });
});
