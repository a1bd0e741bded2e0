/** The element of this id; the page's own markup has it, so its absence is a mistake of ours. */
export function byId<T extends Element = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element #${id}.`);
  return element as unknown as T;
}

/** A new element with properties and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Say in `element` what went wrong, or take back what it said. */
export function showError(element: HTMLElement, message: string | undefined): void {
  element.hidden = message === undefined;
  element.textContent = message ?? "";
}

/** A probability as people read it: one decimal, never "100 %" for less than that. */
export function percent(probability: number): string {
  return `${(Math.min(probability, probability < 1 ? 0.999 : 1) * 100).toFixed(1)} %`;
}

const NAMES = new Map([
  [0x20, "␠"],
  [0x09, "⇥"],
  [0x0a, "⏎"],
]);

/** A character that can be seen: invisible ones and unpaired surrogates become a name or their code point. */
export function visible(point: number): string {
  const name = NAMES.get(point);
  if (name !== undefined) return name;
  const character = String.fromCodePoint(point);
  // A mark needs something to sit on; the dotted circle is what Unicode charts use.
  if (/^\p{M}$/u.test(character)) return `\u25cc${character}`;
  return /^[\p{C}\p{Z}]$/u.test(character) ? hex(point) : character;
}

/** A code point as Unicode writes it: U+0061. */
export function hex(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
