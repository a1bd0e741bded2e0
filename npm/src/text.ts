/** Texts as a model reads them. "Long texts" in docs/contract.md. */

/** One text, or its code points, for input that is not valid Unicode (unpaired surrogates). */
export type Text = string | readonly number[];

/** What separates words: the padding, and white space. */
const SEPARATOR = /^[\0\p{White_Space}]$/u;
/** What ends a sentence. */
const ENDING = /^[.!?]$/;

/** Return bytes as text, each one as a character: what is ASCII in them can be compared. */
export function latin1Of(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/** Return UTF-8 as text; jsdom has no TextDecoder. @throws URIError for what is none. */
export function fromUtf8(bytes: Uint8Array): string {
  return decodeURIComponent(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
}

/** Return text, which is valid Unicode, as UTF-8. */
export function toUtf8(text: string): Uint8Array {
  const bytes = encodeURIComponent(text).match(/%..|./g) ?? [];
  return Uint8Array.from(bytes, (byte) => (byte[1] ? parseInt(byte.slice(1), 16) : byte.charCodeAt(0)));
}

/** Return the first characters of a text, which may hold unpaired surrogates. */
export function firstCharacters(text: string, limit: number): string {
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count++) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Return the code points of a text. Unpaired surrogates stay: the model does all cleaning. */
export function pointsOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) as number);
}

/** A code point as the model reads it, and where it stands in the text as it was given, as `slice` takes it. */
export interface Character {
  readonly point: number;
  readonly start: number;
  readonly end: number;
}

/** Return the code points of a text, with their places. */
export function charactersOf(text: string): Character[] {
  let end = 0;
  return (text.match(/[^]/gu) ?? []).map((piece) => {
    const start = end;
    end += piece.length;
    return { point: piece.codePointAt(0) as number, start, end };
  });
}

/** Code points of a text that the engine looks at, where it condenses it. */
export const MOST_GIVEN = 2 ** 19;

/** Cut code points into windows of at most `maxChars` that end at words; one for a text that fits. */
export function windowsOf(points: readonly number[], maxChars: number): number[][] {
  if (points.length <= maxChars) return [[...points]];
  const is = (kind: RegExp, at: number): boolean => kind.test(String.fromCodePoint(points[at] as number));
  let end = points.length;
  while (end > 0 && is(SEPARATOR, end - 1)) end--;
  const windows: number[][] = [];
  for (let at = 0; at < end || !windows.length;) {
    while (at < end && is(SEPARATOR, at)) at++;
    const left = end - at;
    let next = end;
    if (left > maxChars) {
      const length = Math.ceil(left / Math.ceil(left / maxChars));
      const tried: number[] = [];
      for (let long = length; long <= maxChars; long++) tried.push(at + long);
      for (let short = length - 1; short >= maxChars / 2; short--) tried.push(at + short);
      const ends = tried.filter((place) => is(SEPARATOR, place));
      next = ends.find((place) => is(ENDING, place - 1)) ?? ends[0] ?? at + length;
    }
    windows.push(points.slice(at, next));
    at = next;
  }
  return windows;
}
