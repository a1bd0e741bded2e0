import { describe, expect, it } from "vitest";
import { languages, rejection } from "../src/facts";

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
