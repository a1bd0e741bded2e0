import { describe, expect, it } from "vitest";
import { mistypedForms } from "../src/points";

describe("mistypedForms", () => {
  it.each(["umbrella", "погода", "ամպ", "天気", "a"])("gives about ten forms of %s, the same every time", (word) => {
    for (const typos of [1, 2, 3, 4]) {
      const forms = mistypedForms(word, typos);
      expect(forms).toEqual(mistypedForms(word, typos));
      expect(new Set(forms).size).toBe(forms.length);
      expect(forms).not.toContain(word);
      expect(forms.length).toBeGreaterThanOrEqual(6);
      expect(forms.length).toBeLessThanOrEqual(10);
    }
  });

  it("changes a word by one letter with one typo, and further with more", () => {
    const lengths = mistypedForms("umbrella", 1).map((form) => form.length);
    expect(Math.min(...lengths)).toBe(7);
    expect(Math.max(...lengths)).toBe(9);
    const kept = (typos: number): number =>
      mistypedForms("umbrella", typos).filter((form) => form.startsWith("umb") || form.endsWith("lla")).length;
    expect(kept(1)).toBe(10);
    expect(kept(4)).toBeLessThan(10);
  });
});
