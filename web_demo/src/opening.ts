/** The ways in which a file comes to the page: chosen from the list, opened, or dropped anywhere. */
import type { Offer } from "./assets";
import { byId, make } from "./dom";

/** @param open called with the chosen offer; it shows its errors itself. */
export function watchOpening(open: (offer: Offer) => Promise<boolean>): { offer(offers: readonly Offer[]): void } {
  const select = byId<HTMLSelectElement>("model");
  const input = byId<HTMLInputElement>("file");
  const target = byId("drop");
  const known: Offer[] = [];
  let current = 0;

  const list = (): void => {
    select.replaceChildren(...known.map(({ name }) => make("option", {}, name)));
    select.disabled = known.length < 2;
    select.selectedIndex = current;
  };
  const add = async (file: File): Promise<void> => {
    const offer: Offer = { name: file.name, load: async () => new Uint8Array(await file.arrayBuffer()) };
    if (!(await open(offer))) return;
    current = known.push(offer) - 1;
    list();
  };

  select.addEventListener("change", async () => {
    const chosen = select.selectedIndex;
    if (await open(known[chosen] as Offer)) current = chosen;
    else select.selectedIndex = current;
  });
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
    const file = event.dataTransfer?.files[0];
    if (file) void add(file);
  });

  return {
    offer(offers) {
      known.push(...offers);
      list();
    },
  };
}
