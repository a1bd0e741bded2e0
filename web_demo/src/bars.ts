import type { Artifact } from "retvec-lite/core";
import type { Answer } from "./answer";
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

/** The answer, which may be several labels, and a bar for every label. */
export class Bars {
  private readonly list = byId("bars");
  private readonly more = byId<HTMLButtonElement>("more");
  private rows: Row[] = [];
  private labels: readonly string[] = [];
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
  reset({ labels }: Artifact): void {
    this.labels = labels;
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
  show({ labels, told, value, isNone }: Answer, after: Float32Array, before: Float32Array): void {
    this.last = { after, before };
    this.rows.forEach((row, index) => {
      const probability = after[index] as number;
      row.fill.style.transform = `scaleX(${probability})`;
      row.before.style.left = `${(before[index] as number) * 100}%`;
      row.before.hidden = after === before;
      row.value.textContent = percent(probability);
      row.item.classList.toggle("is-top", labels.includes(this.labels[index] as string));
    });
    byId("top-label").textContent = told;
    byId("top-label").classList.toggle("is-none", isNone);
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
