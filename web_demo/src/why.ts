import type { Span } from "retvec-lite/core";
import { byId, make } from "./dom";

/** Words that matter less than this share of the strongest one stay unmarked. */
const LEAST = 0.05;
/** Words that are told to screen readers. */
const TOLD = 5;

/** Show a text with its words marked by how much they speak for the label, or against it, as shares of the strongest. */
export function showWhy(label: string, text: string, spans: readonly Span[]): void {
  const strongest = Math.max(...spans.map(({ weight }) => Math.abs(weight)), Number.MIN_VALUE);
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const { start, end, weight } of spans) {
    const share = Math.abs(weight) / strongest;
    const word = text.slice(start, end);
    parts.push(text.slice(at, start), share < LEAST ? word : marked(word, weight, share));
    at = end;
  }
  byId("why").replaceChildren(...parts, text.slice(at));
  byId("why-label").textContent = label;
  const ranked = [...spans].sort((one, other) => Math.abs(other.weight) - Math.abs(one.weight)).slice(0, TOLD);
  byId("why-told").textContent = ranked
    .map(({ start, end, weight }) => `${text.slice(start, end)} ${signed(weight)}`)
    .join(", ");
}

function marked(word: string, weight: number, share: number): HTMLElement {
  const mark = make("mark", { className: weight > 0 ? "for" : "against", title: signed(weight) }, word);
  mark.style.setProperty("--share", share.toFixed(2));
  return mark;
}

/** Format a weight with two digits that count: +0.32, −0.0041. */
export function signed(weight: number): string {
  return `${weight < 0 ? "−" : "+"}${Number(Math.abs(weight).toPrecision(2))}`;
}
