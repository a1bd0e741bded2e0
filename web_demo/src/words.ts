import { byId, draw, hex, make, visible } from "./dom";
import tables from "./tables.json";

const CELL = 10;

/** The words as chips, and the bits of the word that is hovered, focused or selected. */
export class Words {
  private readonly list = byId("chips");
  private readonly figure = byId("bits");
  private words: readonly (readonly number[])[] = [];
  private chosen = 0;

  /** @param slot characters in a slot, the width of the picture. */
  constructor(private slot: number) {
    const indexOf = (event: Event): number =>
      [...this.list.children].indexOf((event.target as Element).closest("li") as Element);
    for (const type of ["pointerover", "focusin", "click"]) {
      this.list.addEventListener(type, (event) => this.choose(indexOf(event)));
    }
    this.list.addEventListener("keydown", (event) => {
      const last = this.words.length - 1;
      const to = { ArrowRight: this.chosen + 1, ArrowLeft: this.chosen - 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.choose(Math.max(0, Math.min(last, to)));
      (this.list.children[this.chosen] as HTMLElement | undefined)?.focus();
    });
  }

  show(words: readonly (readonly number[])[], slot = this.slot): void {
    this.slot = slot;
    this.words = words;
    const items = words.map((word, at) => {
      const shown = legible(word);
      return make("li", { role: "option", tabIndex: -1, dir: "auto", ariaLabel: `Word ${at + 1}: ${shown}` }, shown);
    });
    this.list.replaceChildren(
      ...(items.length
        ? items
        : [make("li", { className: "nothing", role: "option", ariaDisabled: "true" }, "No words")]),
    );
    this.choose(Math.min(this.chosen, Math.max(0, words.length - 1)));
  }

  private choose(index: number): void {
    if (index < 0) return;
    this.chosen = index;
    [...this.list.children].forEach((item, at) => {
      if (item.classList.contains("nothing")) return;
      item.ariaSelected = String(at === index);
      (item as HTMLElement).tabIndex = at === index ? 0 : -1;
    });
    this.figure.replaceChildren(...picture(this.words[index] ?? [], this.slot));
  }
}

/** Return a word with its invisible characters named; a combining mark stays on the character before it. */
export function legible(word: readonly number[]): string {
  return word
    .map((point, at) => {
      const character = String.fromCodePoint(point);
      return at > 0 && /^\p{M}$/u.test(character) ? character : visible(point);
    })
    .join("");
}

/** Draw the bits as a punch card: a column for each character of the slot, a row for each bit, highest bit on top. */
function picture(word: readonly number[], slot: number): Element[] {
  const head = make("div", { className: "card-head", ariaHidden: "true" });
  head.append(
    ...Array.from({ length: slot }, (_, at) => make("span", {}, at < word.length ? short(word[at] as number) : "")),
  );
  const drawing = draw("svg", {
    viewBox: `0 0 ${slot * CELL} ${tables.bits * 6}`,
    role: "img",
    "aria-label": word.length ? `Bits of the word: ${word.map(binary).join(", ")}` : "No bits",
  });
  let on = "";
  let off = "";
  for (let column = 0; column < slot; column++) {
    for (let row = 0; row < tables.bits; row++) {
      const cell = `M${column * CELL + 1.5} ${row * 6 + 1}h7v4h-7z`;
      if (((word[column] ?? 0) >> (tables.bits - 1 - row)) & 1) on += cell;
      else off += cell;
    }
  }
  drawing.append(draw("path", { class: "off", d: off }), draw("path", { class: "on", d: on }));
  const points = word.length ? word.map(hex).join(" ") : "\u00a0";
  return [head, drawing, make("figcaption", { className: "note" }, points)];
}

function binary(point: number): string {
  return `${visible(point)} ${point.toString(2).padStart(tables.bits, "0")}`;
}

/** Return one character for a narrow column; a dot stands for a code point, which the caption spells out. */
function short(point: number): string {
  const shown = visible(point);
  return shown.startsWith("U+") ? "·" : shown;
}
