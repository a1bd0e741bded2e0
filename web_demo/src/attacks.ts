/** Three tricks that hide words from spam filters but not from people. Seeded like the typos. */
import { Random } from "./random";
import tables from "./tables.json";
import { splitWords } from "./typos";

export type Attack = "none" | "homoglyphs" | "leet" | "zero-width";

/** Share of the eligible characters that an attack changes; at least one in every word. */
const STRENGTH = 0.5;
/** Zero-width space, non-joiner, joiner, and word joiner: the ones found in real spam. */
const ZERO_WIDTH = ["\u200b", "\u200c", "\u200d", "\u2060"];

const LEET = new Map(
  Object.entries(tables.leet).flatMap(([key, value]) => [
    [key, value],
    [key.toUpperCase(), value],
  ]),
);
const HOMOGLYPHS = new Map(Object.entries(tables.homoglyphs));

/**
 * Attack every word of a text. Change about half of the characters that can be replaced, and at least one; for
 * zero-width, insert into about half of the gaps between characters.
 */
export function attack(text: string, kind: Attack, seed: number): string {
  if (kind === "none") return text;
  const { random } = new Random(seed);
  const change = kind === "zero-width" ? insertInvisible : replaceFrom(kind === "leet" ? LEET : HOMOGLYPHS);
  return splitWords(text)
    .map((piece, at) => (at % 2 ? piece : change([...piece], random)))
    .join("");
}

function insertInvisible(word: string[], random: () => number): string {
  const chosen = choose(
    Array.from({ length: word.length - 1 }, (_, at) => at + 1),
    random,
  );
  return word.map((character, at) => (chosen.has(at) ? draw(ZERO_WIDTH, random) : "") + character).join("");
}

function replaceFrom(table: ReadonlyMap<string, string>) {
  return (word: string[], random: () => number): string => {
    const chosen = choose(
      [...word.keys()].filter((at) => table.has(word[at] as string)),
      random,
    );
    return word
      .map((character, at) => (chosen.has(at) ? draw([...(table.get(character) as string)], random) : character))
      .join("");
  };
}

function choose(places: readonly number[], random: () => number): Set<number> {
  const chosen = new Set(places.filter(() => random() < STRENGTH));
  if (places.length && !chosen.size) chosen.add(draw(places, random));
  return chosen;
}

function draw<T>(from: readonly T[], random: () => number): T {
  return from[Math.floor(random() * from.length)] as T;
}
