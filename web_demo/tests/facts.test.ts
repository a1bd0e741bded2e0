import { describe, expect, it } from "vitest";
import { embedding } from "../src/facts";

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
