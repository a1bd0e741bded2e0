import { named } from "./bars";
import type { Decision, Prediction } from "retvec-lite/core";
import { byId, make, percent } from "./dom";
import { seen } from "./reading";
import { WAYS } from "./ways";

/** A text as it was written, and its answer. */
export interface Written {
  readonly text: string;
  readonly answers: readonly Prediction[];
}

/** The table of the ways of writing: what is written, the answer, and a mark where it is another one than that of the text as it is. */
export class WaysTable {
  private readonly rows = WAYS.map(([name]) => {
    const answer = make("td");
    const text = make("td", { dir: "auto" });
    const row = make("tr", {}, make("th", { scope: "row" }, name), answer, text);
    return { row, answer, text };
  });

  constructor() {
    byId("ways").replaceChildren(...this.rows.map(({ row }) => row));
  }

  /** @param written of each way, in the order of `WAYS`. */
  show(written: readonly Written[], decision: Decision | undefined): void {
    const labels = written.map(({ answers }) => named(answers, decision));
    let changed = 0;
    this.rows.forEach(({ row, answer, text }, at) => {
      const { text: shown, answers } = written[at] as Written;
      const differs = labels[at] !== labels[0];
      changed += Number(differs);
      row.classList.toggle("is-changed", differs);
      const value = make("span", { className: "value" }, answers[0] ? percent(answers[0].probability) : "");
      const label = make(
        differs ? "mark" : "span",
        { className: differs ? "against" : "", title: labels[at] as string },
        labels[at] as string,
      );
      answer.replaceChildren(make("span", { className: "hidden" }, differs ? "Changed: " : ""), label, value);
      text.replaceChildren(...seen([...shown]));
    });
    const others = WAYS.length - 1;
    byId("ways-told").textContent = changed
      ? `${changed} of ${others} ways ${changed === 1 ? "changes" : "change"} the answer “${labels[0]}”.`
      : `All ${others} ways keep the answer “${labels[0]}”.`;
  }
}
