/** Three ways to open a file: from the list, with the button, or by dropping it anywhere on the page. */
import type { Offer } from "./assets";
import { byId, make } from "./dom";

/** What the name of a file ends with. */
export const SUFFIX = /\.retvec$/i;

interface Opening {
  /** Open an offer that is listed. */
  choose(offer: Offer): void;
  /**
   * List the offers and open the first, unless the user has already opened a file.
   *
   * @returns whether a model is open.
   */
  offer(offers: readonly Offer[]): Promise<boolean>;
}

/**
 * @param open opens the chosen offer and shows its own errors; it never runs twice at a time.
 * @param listed is told what can be chosen, and what is open.
 */
export function watchOpening(
  open: (offer: Offer) => Promise<boolean>,
  listed: (offers: readonly Offer[], current: Offer | undefined) => void,
): Opening {
  const select = byId<HTMLSelectElement>("model");
  const input = byId<HTMLInputElement>("file");
  const target = byId("drop");
  const known: Offer[] = [];
  /** The open model. */
  let current: Offer | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  let choices = 0;

  const list = (): void => {
    select.replaceChildren(...known.map(({ name }) => make("option", {}, name)));
    select.disabled = known.length < 2;
    select.selectedIndex = current ? known.indexOf(current) : 0;
    listed(known, current);
  };
  /** Open one offer after the other and skip all waiting ones but the last, so that the list always names the open model. */
  const choose = (offer: Offer): Promise<void> => {
    const mine = ++choices;
    const done = queue.then(async () => {
      if (mine !== choices) return;
      if (await open(offer)) {
        current = offer;
        if (!known.includes(offer)) known.push(offer);
      }
      if (mine === choices) list();
    });
    queue = done.catch(() => undefined);
    return done;
  };
  const add = (file: File): Promise<void> =>
    choose({ name: file.name, load: async () => new Uint8Array(await file.arrayBuffer()) });

  select.addEventListener("change", () => void choose(known[select.selectedIndex] as Offer));
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    input.value = ""; // lets the user open the same file again after an export
    if (file) void add(file);
  });

  let depth = 0; // dragenter and dragleave also fire for every child
  const drag = (change: number): void => {
    depth = Math.max(0, depth + change);
    target.hidden = depth === 0;
  };
  const isFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragenter", (event) => isFile(event) && drag(1));
  window.addEventListener("dragleave", (event) => isFile(event) && drag(-1));
  window.addEventListener("dragover", (event) => isFile(event) && event.preventDefault());
  window.addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault(); // otherwise the browser navigates to the file
    drag(-depth);
    const files = [...(event.dataTransfer?.files ?? [])];
    const file = files.find(({ name }) => SUFFIX.test(name)) ?? files[0];
    if (file) void add(file);
  });

  return {
    choose: (offer) => void choose(offer),
    async offer(offers) {
      known.push(...offers);
      list();
      await queue;
      if (!current && offers[0]) await choose(offers[0]);
      await queue; // a choice made in the meantime
      return current !== undefined;
    },
  };
}
