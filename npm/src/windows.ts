/** Texts longer than the model's input: windows that end at words, and one answer. "Long texts" in docs/contract.md. */
import type { Text } from "./given.js";
import { SEPARATORS } from "./tables.js";

/** What ends a sentence. */
const ENDING = new Set([...".!?"].map((character) => character.codePointAt(0) as number));
/** A character that is one code point in composed form has at most so many in decomposed form. */
const MOST_DECOMPOSED = 4;
const MOST_WINDOWS = 32;
const MOST_CHARS = 16_384;
/** The least positive normal float32: a probability may be rounded to 0. */
const TINY = 2 ** -126;

/** Return how many code points of a text, as it is given, are read at most. */
export function readLimit(maxChars: number, contractVersion: number): number {
  if (contractVersion === 1) return maxChars;
  return Math.max(MOST_DECOMPOSED * maxChars, Math.min(MOST_WINDOWS * maxChars, MOST_CHARS));
}

/** Return the first code points of a text, as it is given. Unpaired surrogates stay: the model does all cleaning. */
export function firstPoints(text: string, limit: number): number[] {
  const points: number[] = [];
  for (const character of text) {
    if (points.length === limit) break;
    points.push(character.codePointAt(0) as number);
  }
  return points;
}

/** Return the first characters of a text, which may hold unpaired surrogates. */
export function firstCharacters(text: string, limit: number): string {
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count++) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Return the inputs of the model for a text: one, or several windows of a long one. Code points are taken as they are. */
export function inputsOf(text: Text, maxChars: number, contractVersion: number): number[][] {
  if (typeof text === "string") return cutWindows(text, maxChars, contractVersion);
  return contractVersion === 1 ? [text.slice(0, maxChars)] : windowsOf(text, maxChars);
}

/** Compose a text (NFC) and cut it into windows of at most `maxChars` code points: the inputs of the model. */
export function cutWindows(text: string, maxChars: number, contractVersion: number): number[][] {
  const isOld = contractVersion === 1;
  const limit = isOld ? MOST_DECOMPOSED * maxChars : readLimit(maxChars, contractVersion);
  const points = firstPoints(firstCharacters(text, limit).normalize("NFC"), Infinity);
  return isOld ? [points.slice(0, maxChars)] : windowsOf(points, maxChars);
}

/** Cut code points into windows; one for a text that fits. */
export function windowsOf(points: readonly number[], maxChars: number): number[][] {
  if (points.length <= maxChars) return [[...points]];
  const separates = (at: number): boolean => SEPARATORS.has(points[at] as number);
  let end = points.length;
  while (end > 0 && separates(end - 1)) end--;
  const windows: number[][] = [];
  for (let at = 0; at < end || !windows.length;) {
    while (at < end && separates(at)) at++;
    const next =
      end - at <= maxChars ? end : at + windowLength(end - at, maxChars, (offset) => points[at + offset] as number);
    windows.push(points.slice(at, next));
    at = next;
  }
  return windows;
}

function windowLength(left: number, maxChars: number, at: (offset: number) => number): number {
  const length = Math.ceil(left / Math.ceil(left / maxChars));
  const tried: number[] = [];
  for (let long = length; long <= maxChars; long++) tried.push(long);
  for (let short = length - 1; short >= maxChars / 2; short--) tried.push(short);
  const ends = tried.filter((end) => SEPARATORS.has(at(end)));
  return ends.find((end) => ENDING.has(at(end - 1))) ?? ends[0] ?? length;
}

/**
 * Return the probabilities of a text from those of its windows.
 *
 * @param unknown index of the label that is never the best one; -1 if there is none.
 * @param several whether a text may have several labels: it then has those of any window.
 */
export function combine(windows: readonly Float32Array[], unknown: number, several: boolean): Float32Array {
  const first = windows[0] as Float32Array;
  if (windows.length === 1) return first;
  if (several) return first.map((_, label) => Math.max(...windows.map((row) => row[label] as number)));
  const weights = windows.map((row) => Math.max(TINY, ...row.filter((_, label) => label !== unknown)) ** 4);
  return mean(windows, weights);
}

/** Return the embedding of a text from those of its windows: their mean, scaled to length 1. */
export function meanEmbedding(windows: readonly Float32Array[]): Float32Array {
  if (windows.length === 1) return windows[0] as Float32Array;
  const ones = windows.map(() => 1);
  const found = mean(windows, ones);
  const norm = Math.max(TINY, Math.hypot(...found));
  return found.map((value) => value / norm);
}

function mean(rows: readonly Float32Array[], weights: readonly number[]): Float32Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return (rows[0] as Float32Array).map(
    (_, at) => rows.reduce((sum, row, index) => sum + (weights[index] as number) * (row[at] as number), 0) / total,
  );
}
