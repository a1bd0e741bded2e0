/** Return the element with this id, which index.html must contain. */
export function byId<T extends Element = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element #${id}.`);
  return element as unknown as T;
}

/** Create an element with properties and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Create an element of a drawing with attributes. */
export function draw(tag: string, attributes: Readonly<Record<string, string>> = {}): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element as SVGElement;
}

/** Show an error message in `element`; undefined hides it. */
export function showError(element: HTMLElement, message: string | undefined): void {
  element.hidden = message === undefined;
  element.textContent = message ?? "";
}

/** Announce a label to screen readers when typing pauses for this long (milliseconds). */
const QUIET = 700;

/** Return what lets a live region say the last text that it is given in a while. */
export function announcer(id: string): (text: string) => void {
  let timer = 0;
  return (text) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      byId(id).textContent = text;
    }, QUIET);
  };
}

/** Format a probability with one decimal; less than 1 never becomes "100 %". */
export function percent(probability: number): string {
  return `${(Math.min(probability, probability < 1 ? 0.999 : 1) * 100).toFixed(1)} %`;
}

const NAMES = new Map([
  [0x20, "␠"],
  [0x09, "⇥"],
  [0x0a, "⏎"],
]);

/** Return a visible form of a character: a symbol or the code point for what cannot be seen. */
export function visible(point: number): string {
  const name = NAMES.get(point);
  if (name !== undefined) return name;
  const character = String.fromCodePoint(point);
  // A combining mark needs a base; Unicode charts use the dotted circle.
  if (/^\p{M}$/u.test(character)) return `\u25cc${character}`;
  return /^[\p{C}\p{Z}]$/u.test(character) ? hex(point) : character;
}

/** Format a code point as Unicode does: U+0061. */
export function hex(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
