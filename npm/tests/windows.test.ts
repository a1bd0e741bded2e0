import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { firstCharacters, pointsOf, windowsOf } from "../src/text.js";

/** What Python makes of them; the tests of Android read the same file. */
const { cut } = JSON.parse(readFileSync(new URL("../../tests/data/windows.json", import.meta.url), "utf-8")) as {
  cut: [number, string, string[]][];
};

it.each(cut)("windows of %d: %j", (maxChars, given, expected) => {
  const limit = Math.max(4 * maxChars, Math.min(32 * maxChars, 16_384)); // the engine says so
  const found = windowsOf(pointsOf(firstCharacters(given, limit).normalize("NFC")), maxChars);
  expect(found.map((points) => String.fromCodePoint(...points))).toEqual(expected);
});

it("unpaired surrogates stay, and characters beyond the first 65,536 count once", () => {
  expect(windowsOf(pointsOf("a👍\ud800b"), 9)).toEqual([[0x61, 0x1f44d, 0xd800, 0x62]]);
});
