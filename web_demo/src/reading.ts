import { byId, hex, make } from "./dom";
import tables from "./tables.json";
import { splitWords } from "./typos";

const INVISIBLE = new Set(tables.invisible);

/**
 * Show the first `limit` characters of the altered text and mark the words that differ from the typed text. Both texts
 * must have the same number of words.
 */
export function showReading(typed: string, altered: string, limit: number): void {
  const before = splitWords(typed);
  const parts: (Node | string)[] = [];
  let left = limit;
  for (const [at, piece] of splitWords(altered).entries()) {
    const characters = [...piece].slice(0, left);
    const shown = seen(characters);
    parts.push(...(piece === before[at] ? shown : [make("mark", {}, ...shown)]));
    left -= characters.length;
    if (left === 0) break;
  }
  byId("reading").replaceChildren(...parts);
}

/** Return the characters, with a dot for each invisible one. */
export function seen(characters: readonly string[]): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let run = "";
  for (const character of characters) {
    const point = character.codePointAt(0) as number;
    if (!INVISIBLE.has(point)) {
      run += character;
      continue;
    }
    parts.push(run, make("span", { className: "invisible", title: hex(point) }, "·"));
    run = "";
  }
  return [...parts, run];
}
