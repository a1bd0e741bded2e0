/**
 * Why this label: how much the log probability of a label falls when a part of the text is left out. The parts are those of
 * Python's `explain`.
 */
import { SEPARATORS, UNSPACED } from "./tables.js";

/** A part of a text in composed form (NFC), from `start` up to `end` as `slice` takes them, and how much it speaks for the label. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** By how much the natural logarithm of the label's probability falls without it. */
  readonly weight: number;
}

type Script = "spaced" | "joining" | keyof typeof UNSPACED;
type Part = readonly [start: number, end: number];

const RUN_OF_SEPARATORS = `[${String.fromCodePoint(...SEPARATORS)}]+`;
const AT_END = new RegExp(`${RUN_OF_SEPARATORS}$`, "u");
const AT_START = new RegExp(`^${RUN_OF_SEPARATORS}`, "u");
/** What belongs to the character before it: marks, and invisible characters. */
const JOINS = /^[\p{M}\p{Cf}]$/u;
/** Characters of a part where the words of a spaced script are cut, which happens in texts of so few words. */
const LENGTH = 3;
const FEW = 2;
/** The least positive normal float32: a probability may be rounded to 0. */
const TINY = 2 ** -126;

/**
 * Leave each part of a text out, and compare.
 *
 * @param probabilities the classifier; undefined stops the work.
 * @param text as much as the classifier reads.
 * @param label index of the label to explain; the most probable one by default.
 * @param maxChars a longer text is read in windows.
 * @returns undefined when the work was stopped.
 */
export async function explain(
  probabilities: (text: string) => Promise<Float32Array | undefined>,
  text: string,
  label?: number,
  maxChars = Infinity,
): Promise<{ label: number; spans: Span[] } | undefined> {
  const whole = await probabilities(text);
  if (!whole) return undefined;
  const place = label ?? whole.indexOf(Math.max(...whole));
  const log = (values: Float32Array): number => Math.log(Math.max(values[place] as number, TINY));
  const spans: Span[] = [];
  const inWindows = [...text].length > maxChars;
  for (const [start, end] of findParts(text)) {
    const without = await probabilities(leaveOut(text, start, end, inWindows));
    if (!without) return undefined;
    spans.push({ start, end, weight: log(whole) - log(without) });
  }
  return { label: place, spans };
}

/**
 * Return where the parts of a text start and end that are left out one by one: its words.
 *
 * A run of a script without spaces is cut, and so are all words in a text of one or two.
 */
export function findParts(text: string): Part[] {
  const runs = findRuns(text);
  const whole = runs.flatMap(({ script, edges }) => cut(edges, lengthOf(script) ?? edges.length));
  return whole.length > FEW ? whole : runs.flatMap(({ script, edges }) => cut(edges, lengthOf(script) ?? LENGTH));
}

/**
 * Return a text without a part. A blank stands in its place, so that its neighbours do not become one word; in a text that is read in
 * windows as many blanks as it had characters, so that other windows shift less.
 */
export function leaveOut(text: string, start: number, end: number, inWindows = false): string {
  if (inWindows) return text.slice(0, start) + " ".repeat([...text.slice(start, end)].length) + text.slice(end);
  return `${text.slice(0, start).replace(AT_END, "")} ${text.slice(end).replace(AT_START, "")}`;
}

/** An unbroken run of one script: where its characters start, and where the last one ends. */
interface Run {
  readonly script: Script;
  readonly edges: number[];
}

function findRuns(text: string): Run[] {
  const runs: Run[] = [];
  let script: Script = "joining";
  let starts: number[] = [];
  let at = 0;
  for (const character of `${text}\0`) {
    const found = scriptOf(character);
    let joins: boolean = found === "joining" || script === "joining";
    if (starts.length && (found === undefined || (found !== script && !joins))) {
      runs.push({ script, edges: [...starts, at] });
      [script, starts, joins] = ["joining", [], false];
    }
    if (found !== undefined) {
      // A mark belongs to the character before it; at the start of a word, to the one behind it.
      if (!starts.length || !joins) starts.push(at);
      if (found !== "joining") script = found;
    }
    at += character.length;
  }
  return runs;
}

/** Return how a character is cut; undefined for a separator. */
function scriptOf(character: string): Script | undefined {
  const point = character.codePointAt(0) as number;
  if (SEPARATORS.has(point)) return undefined;
  if (point < 0x80) return "spaced";
  if (JOINS.test(character)) return "joining";
  for (const [script, { ranges }] of Object.entries(UNSPACED)) {
    if (ranges.some(([first, last]) => (first as number) <= point && point <= (last as number)))
      return script as Script;
  }
  return "spaced";
}

/** Return how many characters a part of an unspaced script has at most. */
function lengthOf(script: Script): number | undefined {
  return script in UNSPACED ? UNSPACED[script as keyof typeof UNSPACED].length : undefined;
}

/** Cut a run into parts of similar length, of `most` characters at most. */
function cut(edges: readonly number[], most: number): Part[] {
  const length = edges.length - 1;
  const count = Math.ceil(length / most);
  const edge = (part: number): number => edges[Math.floor((part * length) / count)] as number;
  return Array.from({ length: count }, (_, part) => [edge(part), edge(part + 1)] as const);
}
