/**
 * Python's `retvec_lite.mistype`: the same seed gives the same typos, so the page shows what `evaluate --typos` measures.
 *
 * The character tables come from Python (tables.json). Characters are code points, as in Python.
 */
import { Random } from "./random";
import tables from "./tables.json";

type Kind = "insert" | "delete" | "substitute" | "swap" | "neighbor_key";
type Draw = () => number;

const KINDS = tables.typoKinds as readonly Kind[];
const NEIGHBORS = new Map(Object.entries(tables.neighborKeys));
const SEPARATORS: ReadonlySet<number> = new Set(tables.separators);
/** Code points that the encoder never puts into a word. */
export const HIDDEN: ReadonlySet<number> = new Set([...SEPARATORS, ...tables.invisible]);

const letters = new Map<string, readonly string[]>();

/** Return the letters of a character's script and case; none for punctuation and other characters without a script. */
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
  // Large scripts and emoji: the block of 16 code points. Skip blocks with a space or an invisible character.
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

/** Draw a letter in the script of `character`, or else of the first character of the word that has a script. */
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

/** Split a text at the contract's separators: word, gap, word, ..., word. Only the first and last word can be empty. */
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
 * Mistype a share of the words of a text, with one typo each.
 *
 * @param rate the share of words to mistype, from 0 to 1; rate * n of n words, rounded up or down at random.
 * @param seed a non-negative integer; the same seed gives the same typos, in Python too.
 */
export function mistype(text: string, rate: number, seed: number): string {
  const draw = new Random(seed).random;
  const pieces = splitWords(text);
  const start = pieces[0] ? 0 : 2;
  const stop = pieces.at(-1) ? pieces.length : pieces.length - 2;
  // Floor division as in Python: a text without words gives -1 or 0.
  let words = Math.floor((stop - start + 1) / 2);
  let chosen = Math.min(words, Math.trunc(rate * words + draw()));
  for (let at = start; at < stop && chosen > 0; at += 2) {
    // Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S): every set of `chosen` words is equally likely.
    if (draw() * words < chosen) {
      pieces[at] = mistypeWord([...(pieces[at] as string)], pick(KINDS, draw), draw).join("");
      chosen -= 1;
    }
    words -= 1;
  }
  return pieces.join("");
}
