/** The ways in which a file comes to the page: chosen from the list, opened, or dropped anywhere. */
import type { Offer } from "./assets";
import { byId, make } from "./dom";

interface Opening {
  /**
   * Put offers into the list, and open the first, unless a person's own file was there before them.
   *
   * @returns whether a model is in use.
   */
  offer(offers: readonly Offer[]): Promise<boolean>;
}

/** @param open called with the chosen offer, never twice at a time; it shows its errors itself. */
export function watchOpening(open: (offer: Offer) => Promise<boolean>): Opening {
  const select = byId<HTMLSelectElement>("model");
  const input = byId<HTMLInputElement>("file");
  const target = byId("drop");
  const known: Offer[] = [];
  /** What runs. */
  let current: Offer | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  let choices = 0;

  const list = (): void => {
    select.replaceChildren(...known.map(({ name }) => make("option", {}, name)));
    select.disabled = known.length < 2;
    select.selectedIndex = current ? known.indexOf(current) : 0;
  };
  /** One after the other, and of those that wait only the last: what the list names at the end is what runs. */
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
    input.value = ""; // so that the same file can be opened again after an export
    if (file) void add(file);
  });

  let depth = 0; // dragenter and dragleave come for every child
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
    event.preventDefault(); // or the browser leaves the page for the file
    drag(-depth);
    const files = [...(event.dataTransfer?.files ?? [])];
    const file = files.find(({ name }) => /\.tflite$/i.test(name)) ?? files[0];
    if (file) void add(file);
  });

  return {
    async offer(offers) {
      known.push(...offers);
      list();
      await queue;
      if (!current && offers[0]) await choose(offers[0]);
      await queue; // of a choice made meanwhile
      return current !== undefined;
    },
  };
}
