import { byId, draw } from "./dom";
import { dot, fit, project } from "./projection";
import { mistype, splitWords } from "./typos";
import { legible } from "./words";

/** Words that are drawn, as the page says, and mistyped forms of each; equal forms count once. */
const MOST_WORDS = 8;
const FORMS = 10;
/** Free space on each side of the picture, for the names (percent). */
const MARGIN = 8;

interface Point {
  readonly word: string;
  readonly form: string;
  readonly vector: ArrayLike<number>;
  readonly cosine: number;
}

/** Return mistyped forms of a word: the same every time. With more typos in each, the same forms change further. */
export function mistypedForms(word: string, typos: number): string[] {
  const forms = Array.from({ length: FORMS }, (_, at) => {
    let form = word;
    for (let typo = 0; typo < typos; typo++) form = mistype(form, 1, at + typo * FORMS);
    return form;
  });
  return [...new Set(forms)].filter((form) => form !== word);
}

/** Words with their names, and their mistyped forms as dots; the dot that is hovered, focused or tapped is named, too. */
export class Points {
  private readonly tip = draw("text", { class: "tip" });
  private points: readonly Point[] = [];
  private circles: readonly SVGElement[] = [];

  constructor() {
    const figure = byId("map"); // Chromium puts drawings that listen for focus into the tab order
    for (const type of ["pointerover", "focusin", "click"]) {
      figure.addEventListener(type, ({ target }) => this.choose(this.circles.indexOf(target as SVGElement)));
    }
    figure.addEventListener("keydown", (event) => {
      const at = this.circles.indexOf(event.target as SVGElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.circles.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.circles[to]?.focus();
    });
  }

  /** Draw the words of the field. `embed` returns a vector of length 1, zeros for no word, or undefined to stop. */
  async update(embed: (text: string) => Promise<ArrayLike<number> | undefined>): Promise<void> {
    const pieces = splitWords(byId<HTMLInputElement>("cloud").value).filter((piece, at) => piece && at % 2 === 0);
    const typos = Number(document.querySelector<HTMLInputElement>("input[name=typos]:checked")?.value);
    const points: Point[] = [];
    for (const word of [...new Set(pieces)].slice(0, MOST_WORDS)) {
      let own: ArrayLike<number> | undefined;
      for (const form of [word, ...mistypedForms(word, typos)]) {
        const vector = await embed(form);
        if (!vector) return;
        own ??= vector;
        // Invisible characters alone are no word.
        if (dot(own, own) > 0) points.push({ word, form, vector, cosine: dot(own, vector) });
      }
    }
    this.points = points;
    const shown = Math.round(this.place() * 100);
    const told = `These two dimensions show ${shown} % of the variance; groups that overlap may lie apart.`;
    byId("map-note").textContent = points.length ? told : "No words";
  }

  /** Put the dots and the names in their places. Return the share of the variance that is seen. */
  private place(): number {
    const { places, shown } = project(this.points.map(({ vector }) => vector));
    const fitted = fit(places, MARGIN);
    const words = [...new Set(this.points.map(({ word }) => word))];
    this.circles = this.points.map(({ word, form, cosine }, at) => {
      const [x, y] = fitted[at] as readonly [number, number];
      const circle = draw("circle", { cx: `${x}%`, cy: `${y}%`, r: form === word ? "6" : "4.5", role: "option" });
      circle.style.setProperty("--word", String(words.indexOf(word)));
      circle.ariaLabel =
        form === word ? seen(word) : `${seen(form)}: ${seen(word)} mistyped, cosine ${cosine.toFixed(2)}`;
      return circle;
    });
    byId("map-dots").replaceChildren(...this.circles);
    const byHeight = this.circles.toSorted((one, other) => percent(one, "cy") - percent(other, "cy"));
    // Above its highest dot, a name hides none of them.
    const names = words.map((word, at) => {
      const highest = byHeight.find((circle) => circle.style.getPropertyValue("--word") === String(at));
      return write(draw("text"), highest as SVGElement, seen(word));
    });
    this.tip.textContent = "";
    byId("map-names").replaceChildren(...names, this.tip);
    this.choose(0);
    return shown;
  }

  private choose(index: number): void {
    if (index < 0) return;
    for (const [at, circle] of this.circles.entries()) {
      circle.ariaSelected = String(at === index);
      circle.tabIndex = at === index ? 0 : -1;
    }
    const circle = this.circles[index];
    const { word, form } = this.points[index] ?? { word: "", form: "" };
    if (circle) write(this.tip, circle, form === word ? "" : seen(form));
    byId("map-told").textContent = circle?.ariaLabel ?? "";
  }
}

/** Write a word above a dot in the colour of the dot, away from the nearer side of the picture. */
function write(text: SVGElement, circle: SVGElement, word: string): SVGElement {
  const x = percent(circle, "cx");
  text.textContent = word;
  text.setAttribute("x", `${x}%`);
  text.setAttribute("y", `${percent(circle, "cy")}%`);
  text.style.textAnchor = x < 20 ? "start" : x > 80 ? "end" : "middle";
  text.style.setProperty("--word", circle.style.getPropertyValue("--word"));
  return text;
}

function percent(circle: SVGElement, attribute: "cx" | "cy"): number {
  return Number.parseFloat(circle.getAttribute(attribute) as string);
}

function seen(word: string): string {
  return legible([...word].map((character) => character.codePointAt(0) as number));
}
