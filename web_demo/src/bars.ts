import type { Artifact, Decision, Prediction } from "retvec-lite/core";
import { announcer, byId, make, percent } from "./dom";

/** Up to FIT labels keep the file's order, so that only the bars move. Of more labels, show the TOP most probable, ranked. */
const FIT = 12;
const TOP = 10;

interface Row {
  readonly item: HTMLLIElement;
  readonly fill: HTMLElement;
  readonly before: HTMLElement;
  readonly value: HTMLElement;
}

/** Return what an answer is called: its labels; without any, the label that the file has for that, if it has one. */
export function named(answers: readonly Prediction[], decision: Decision | undefined): string {
  return answers.map(({ label }) => label).join(", ") || (decision?.unknown_label ?? "none of these");
}

/** The answer, which may be several labels, and a bar for every label. */
export class Bars {
  private readonly list = byId("bars");
  private readonly more = byId<HTMLButtonElement>("more");
  private rows: Row[] = [];
  private labels: readonly string[] = [];
  private decision: Decision | undefined;
  private last: { after: Float32Array; before: Float32Array } | undefined;
  private readonly announce = announcer("live");
  private all = false;

  constructor() {
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.layOut();
    });
  }

  /** Start over with the labels of a file, without values. */
  reset({ labels, decision }: Artifact): void {
    this.labels = labels;
    this.decision = decision;
    this.last = undefined;
    this.all = false;
    this.rows = labels.map((label) => {
      const fill = make("div", { className: "fill" });
      const before = make("div", { className: "before" });
      const value = make("span", { className: "value" });
      const name = make("span", { className: "name", title: label, dir: "auto" }, label);
      const item = make("li", {}, name, value, make("div", { className: "track" }, fill, before));
      return { item, fill, before, value };
    });
    this.list.replaceChildren(...this.rows.map((row) => row.item));
    this.layOut();
  }

  /** @param before the probabilities of the text as typed; a mark on each bar shows them. */
  show(answers: readonly Prediction[], after: Float32Array, before: Float32Array): void {
    this.last = { after, before };
    const told = named(answers, this.decision);
    const chosen = new Set(answers.length ? answers.map(({ label }) => label) : [told]);
    this.rows.forEach((row, index) => {
      const probability = after[index] as number;
      row.fill.style.transform = `scaleX(${probability})`;
      row.before.style.left = `${(before[index] as number) * 100}%`;
      row.before.hidden = after === before;
      row.value.textContent = percent(probability);
      row.item.classList.toggle("is-top", chosen.has(this.labels[index] as string));
    });
    byId("top-label").textContent = told;
    byId("top-label").classList.toggle("is-none", answers.length === 0);
    // Without an answer, the bars below tell how probable each label is.
    const best = this.labels[argmax(after)] === told ? [{ probability: Math.max(...after) }] : [];
    const value = (answers.length ? answers : best).map(({ probability }) => percent(probability)).join(", ");
    byId("top-value").textContent = value;
    this.layOut();
    this.announce(value ? `${told}, ${value}` : told);
  }

  private layOut(): void {
    const count = this.labels.length;
    const ranked = count > FIT;
    const shown = ranked && !this.all ? TOP : count;
    const order = [...this.labels.keys()];
    const values = this.last?.after;
    if (ranked && values) order.sort((one, other) => (values[other] as number) - (values[one] as number));
    order.forEach((index, rank) => {
      const { item } = this.rows[index] as Row;
      item.style.setProperty("--rank", String(rank));
      item.classList.toggle("is-out", rank >= shown);
    });
    this.list.style.setProperty("--rows", String(shown));
    this.more.hidden = !ranked;
    this.more.textContent = this.all ? `Show the top ${TOP}` : `Show all ${count} labels`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }
}

/** Return the index of the largest value. */
export function argmax(values: Float32Array): number {
  return values.reduce((best, value, index) => (value > (values[best] as number) ? index : best), 0);
}
