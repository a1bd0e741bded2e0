import type { Answer } from "./answer";
import { byId, make } from "./dom";
import { seen } from "./reading";
import { WAYS } from "./ways";

/** A text as it was written, and what the model says of it. */
export interface Written {
  readonly text: string;
  readonly answer: Answer;
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
  show(written: readonly Written[]): void {
    const [first] = written as [Written];
    let changed = 0;
    this.rows.forEach(({ row, answer, text }, at) => {
      const { text: shown, answer: said } = written[at] as Written;
      const differs = said.told !== first.answer.told;
      changed += Number(differs);
      row.classList.toggle("is-changed", differs);
      const value = make("span", { className: "value" }, said.value);
      const label = make(
        differs ? "mark" : "span",
        { className: differs ? "against" : "", title: said.told },
        said.told,
      );
      answer.replaceChildren(make("span", { className: "hidden" }, differs ? "Changed: " : ""), label, value);
      text.replaceChildren(...seen([...shown]));
    });
    const others = WAYS.length - 1;
    byId("ways-told").textContent = changed
      ? `${changed} of ${others} ways ${changed === 1 ? "changes" : "change"} the answer “${first.answer.told}”.`
      : `All ${others} ways keep the answer “${first.answer.told}”.`;
  }
}
