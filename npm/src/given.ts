/** Checks of what callers pass, since JavaScript has no types at run time: one sentence for each mistake, as in Python. */
import { RetvecError } from "./errors.js";
import type { Text } from "./text.js";

/** How `predict` answers. */
export interface PredictOptions {
  /** Answer null for a text that belongs to none of the labels, which is the default; false gives every text a label. */
  readonly reject?: boolean | undefined;
}

/** @throws RetvecError for anything but one text; `call` names the function. */
export function checkText(call: string, text: unknown): asserts text is Text {
  if (!isCodePoints(text)) checkString(call, text);
}

/** The same, but refuses code points too. */
export function checkString(call: string, text: unknown): asserts text is string {
  if (typeof text === "string") return;
  if (isList(text))
    throw new RetvecError("WRONG_CALL", `${call} takes one text, not a list. Call it once for each text.`);
  throw new RetvecError("WRONG_CALL", `${call} takes a text, not ${shown(text)}.`);
}

/** @throws RetvecError for what is no list of texts; the texts are checked one by one. */
export function checkTexts(call: string, texts: unknown): asserts texts is Iterable<Text> {
  if (typeof texts === "object" && texts !== null && Symbol.iterator in texts) return;
  const instead = typeof texts === "string" ? " Use predict for one." : "";
  throw new RetvecError("WRONG_CALL", `${call} takes a list of texts, not ${shown(texts)}.${instead}`);
}

/** What an option may be: a test, and the words for it. */
type Rule = readonly [isValid: (value: unknown) => boolean, what: string];

/** Return options whose names and values were checked; undefined counts as not given. */
export function checkOptions<T extends object>(call: string, options: T, rules: Record<keyof T & string, Rule>): T {
  if (typeof options !== "object" || options === null || isList(options)) {
    const example = Object.keys(rules).join(", ");
    throw new RetvecError(
      "WRONG_CALL",
      `The options of ${call} are an object ({ ${example} }), not ${shown(options)}.`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name as keyof T & string] : undefined;
    if (!rule)
      throw new RetvecError("WRONG_CALL", `${call} has no option ${name}. It has ${Object.keys(rules).join(", ")}.`);
    if (value !== undefined && !rule[0](value)) {
      throw new RetvecError("WRONG_CALL", `The option ${name} of ${call} is ${rule[1]}, not ${shown(value)}.`);
    }
  }
  return options;
}

/** Return whether answers may be null. */
export function isRejecting(call: string, options: PredictOptions): boolean {
  return checkOptions(call, options, { reject: [(it) => typeof it === "boolean", "true or false"] }).reject ?? true;
}

const SHOWN_LABELS = 20;

/** Return a label's place among the probabilities; -1 for null or undefined: the most probable one. */
export function placeOf(labels: readonly string[], label: unknown): number {
  if (label === undefined || label === null) return -1;
  const place = labels.indexOf(label as string);
  if (place >= 0) return place;
  const known = labels.slice(0, SHOWN_LABELS).join(", ") + (labels.length > SHOWN_LABELS ? ", ..." : "");
  throw new RetvecError("WRONG_CALL", `${shown(label)} is not a label of this classifier: ${known}.`);
}

/** Return a value as messages name it, cut short. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (isList(value)) return value.length ? "a list" : "an empty list";
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const kind = (Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null)?.constructor?.name;
  return kind && kind !== "Object" ? `an object of the class ${kind}` : "an object";
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** An empty list is more likely one of texts. The model reads any 32 bits: what is no character is U+FFFD. */
function isCodePoints(value: unknown): boolean {
  const is32Bits = (point: unknown) =>
    Number.isInteger(point) && (point as number) >= -(2 ** 31) && (point as number) < 2 ** 32;
  return Array.isArray(value) && value.length > 0 && value.every(is32Bits);
}

/** Whether a value is of a class of the host, or of the same class of another frame or realm. */
export function isA(value: unknown, kind: string): boolean {
  return Object.prototype.toString.call(value) === `[object ${kind}]`;
}
