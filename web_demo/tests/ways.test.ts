import { describe, expect, it } from "vitest";
import { WAYS } from "../src/ways";

const TEXT = "Verify your account now, 42 times";

function written(name: string, text = TEXT): string {
  const [, write] = WAYS.find(([known]) => known === name) as (typeof WAYS)[number];
  return write(text);
}

describe("ways of writing", () => {
  it("are all different, the text as it is first", () => {
    expect(WAYS[0]?.[1](TEXT)).toBe(TEXT);
    const forms = WAYS.map(([, write]) => write(TEXT));
    expect(new Set(forms).size).toBe(WAYS.length);
  });

  it.each(["Fullwidth", "Mathematical"])("%s: the same letters to Unicode", (name) => {
    expect(written(name)).not.toMatch(/[A-Za-z]/);
    expect(written(name).normalize("NFKC")).toBe(TEXT);
  });

  it.each([
    ["Cyrillic letters", /\p{Script=Cyrillic}/u],
    ["Greek letters", /\p{Script=Greek}/u],
  ])("%s: one letter for one", (name, script) => {
    expect(written(name)).toMatch(script);
    expect([...written(name)].length).toBe([...TEXT].length);
  });

  it.each([
    ["Dots", "a.b.c d,"],
    ["Spaces", "a b c   d,"],
    ["Struck through", "a\u0336b\u0336c\u0336 d\u0336,"],
    ["Small capitals", "ᴀʙᴄ ᴅ,"],
    ["Words in pairs", "abcd,"],
    ["Emoji between words", "abc 🎲 d,"],
    ["With !!!", "abc d,!!!"],
  ])("%s", (name, expected) => {
    expect(written(name, "abc d,")).toBe(expected);
  });

  it("read an empty text", () => {
    for (const [, write] of WAYS) expect(write("").trim()).toMatch(/^(|!!!|🙂🙂|https:.*)$/u);
  });
});
