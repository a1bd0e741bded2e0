/**
 * `retvec_lite.typos.mistype`, the same typos for the same seed: what the page shows is what `evaluate --typos` measured.
 *
 * The character tables come from Python (tables.json). Words and letters are code points, as there.
 */
import { Random } from "./random";
import tables from "./tables.json";

type Kind = "insert" | "delete" | "substitute" | "swap" | "neighbor_key";
type Draw = () => number;

const KINDS = tables.typoKinds as readonly Kind[];
const NEIGHBORS = new Map(Object.entries(tables.neighborKeys));
/** What the encoder never puts into a word. */
export const HIDDEN: ReadonlySet<number> = new Set([0, ...tables.separators, ...tables.invisible]);
const SEPARATORS = new Set([0, ...tables.separators]);

const letters = new Map<string, readonly string[]>();

/** The letters of a character's own script and case; none where there is no such script (punctuation). */
function lettersOf(character: string): readonly string[] {
  let found = letters.get(character);
  if (found === undefined) {
    found = findLetters(character);
    letters.set(character, found);
  }
  return found;
}

function findLetters(character: string): readonly string[] {
  const code = character.codePointAt(0) as number;
  for (const [first, last, alphabet] of tables.scripts as [number, number, string][]) {
    if (first <= code && code <= last) {
      const all = spans(alphabet);
      return /^\p{Uppercase}$/u.test(character) ? [...all.join("").toUpperCase()] : all;
    }
  }
  // Large scripts and emoji: the 16 code points around; blocks with a space or an invisible character are left alone.
  const nearby = Array.from({ length: 16 }, (_, low) => (code & ~15) + low);
  const unfit = code < 0x80 || nearby.some((other) => HIDDEN.has(other) || (other >= 0xd800 && other < 0xe000));
  return unfit ? [] : nearby.map((other) => String.fromCodePoint(other));
}

function spans(text: string): string[] {
  return text.split(" ").flatMap((span) => {
    const [first, last] = span.split("-").map((code) => Number.parseInt(code, 16)) as [number, number?];
    return Array.from({ length: (last ?? first) - first + 1 }, (_, at) => String.fromCodePoint(first + at));
  });
}

function pick<T>(from: readonly T[], draw: Draw): T {
  return from[Math.floor(draw() * from.length)] as T;
}

/** A letter that fits beside `character`, or, where that has no script, beside the first of the word that has one. */
function drawLetter(character: string, word: readonly string[], draw: Draw): string {
  let fitting = lettersOf(character);
  if (!fitting.length) fitting = word.map(lettersOf).find((some) => some.length) ?? [...tables.latin];
  return pick(fitting, draw);
}

function mistypeWord(word: readonly string[], kind: Kind, draw: Draw): string[] {
  const length = word.length;
  if (kind === "insert") {
    const at = Math.floor(draw() * (length + 1));
    return word.toSpliced(at, 0, drawLetter(word[at ? at - 1 : 0] as string, word, draw));
  }
  if (kind === "swap" && length > 1) {
    let at = Math.floor(draw() * (length - 1));
    if (word[at] === word[at + 1]) {
      const places = Array.from({ length: length - 1 }, (_, place) => place).filter(
        (place) => word[place] !== word[place + 1],
      );
      if (!places.length) return mistypeWord(word, "substitute", draw);
      at = pick(places, draw);
    }
    return word.toSpliced(at, 2, word[at + 1] as string, word[at] as string);
  }
  const at = Math.floor(draw() * length);
  if (kind === "delete" && length > 1) return word.toSpliced(at, 1);
  const old = word[at] as string;
  const keys = NEIGHBORS.get(old);
  if (kind === "neighbor_key" && keys !== undefined) return word.toSpliced(at, 1, pick([...keys], draw));
  let letter = old;
  while (letter === old) letter = drawLetter(old, word, draw);
  return word.toSpliced(at, 1, letter);
}

/** A text cut at the contract's separators: word, gap, word, ..., word; only the first and the last word can be empty. */
export function splitWords(text: string): string[] {
  const pieces = [""];
  let inGap = false;
  for (const character of text) {
    if (SEPARATORS.has(character.codePointAt(0) as number) !== inGap) {
      inGap = !inGap;
      pieces.push("");
    }
    pieces[pieces.length - 1] += character;
  }
  if (inGap) pieces.push("");
  return pieces;
}

/**
 * Mistype a share of the words of a text, each with exactly one typo.
 *
 * @param rate the share, from 0 to 1; of n words, rate * n are mistyped, rounded up or down at random.
 * @param seed an integer from 0; the same one gives the same typos, in Python as well.
 */
export function mistype(text: string, rate: number, seed: number): string {
  const draw = new Random(seed).random;
  const pieces = splitWords(text);
  const start = pieces[0] ? 0 : 2;
  const stop = pieces.at(-1) ? pieces.length : pieces.length - 2;
  // Python's floor division: a text without words has -1 or 0 of them, not more.
  let words = Math.floor((stop - start + 1) / 2);
  let chosen = Math.min(words, Math.trunc(rate * words + draw()));
  for (let at = start; at < stop && chosen > 0; at += 2) {
    // Selection sampling: exactly `chosen` words, every set of them equally likely.
    if (draw() * words < chosen) {
      pieces[at] = mistypeWord([...(pieces[at] as string)], pick(KINDS, draw), draw).join("");
      chosen -= 1;
    }
    words -= 1;
  }
  return pieces.join("");
}
