/** Shared by the browser tests of the playground. tests/web/conftest.py exports the models, starts the server, and sets the environment. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { RetvecLite } from "../src/main";
import { setting, watch } from "./chromium";

export { expectNoProblems, FLAGS, launch, PICTURES, useBrowser } from "./chromium";

declare global {
  /** What the page offers to the console; test functions that run in the page use it. */
  var retvecLite: RetvecLite;
}

/** The address of a running `retvec-lite demo DIST`. */
export const URL = setting("RETVEC_URL");
/** The folder it serves: the files of `golden/`, plain.retvec as an int4 file. The page starts with rejecting.retvec. */
export const DIST = setting("RETVEC_DIST");
/** A page written by `retvec-lite demo --export`. */
export const PAGE = setting("RETVEC_PAGE");
/** A page written by `retvec-lite demo plain.retvec several.retvec language --export`. */
export const SEVERAL = setting("RETVEC_SEVERAL");
/** Open a fresh page and wait for the first label. `expectNoProblems` reports what it logged. */
export async function openPlayground(
  browser: Browser,
  options: BrowserContextOptions & { url?: string } = {},
): Promise<Page> {
  const { url = URL, ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...rest });
  const page = await context.newPage();
  watch(page);
  await page.goto(url);
  await label(page);
  return page;
}

/** Wait for the first label. */
export async function label(page: Page): Promise<string> {
  await page.waitForFunction(() => globalThis.retvecLite?.timing.firstLabel > 0);
  return (await page.textContent("#top-label")) as string;
}

/** Replace the text and wait until the bars have moved. */
export async function type(page: Page, text: string): Promise<void> {
  await change(page, () => page.fill("#text", text));
}

/** Change the input of the model and wait until the bars have moved. */
export async function change(page: Page, action: () => Promise<unknown>): Promise<void> {
  const before = await page.evaluate(() => retvecLite.timing.updates);
  await action();
  await page.waitForFunction((count) => retvecLite.timing.updates > count, before);
}

/** Milliseconds without a new curve after which none is on its way; typing alone delays one by less. */
const PAUSE = 1000;

/** Run `action`, wait for the next curve, and return its SVG path. */
export async function curveAfter(page: Page, action: () => Promise<unknown>): Promise<string> {
  // A curve that an earlier action asked for may still be drawn.
  const drawn = () => page.evaluate(() => retvecLite.timing.curves);
  let before = await drawn();
  for (let seen = -1; seen !== before; before = await drawn()) {
    seen = before;
    await page.waitForTimeout(PAUSE);
  }
  await action();
  await page.waitForFunction((count) => retvecLite.timing.curves > count, before);
  return (await page.getAttribute("#mean", "d")) as string;
}

/** Read the bars: label -> percent. */
export async function bars(page: Page): Promise<Map<string, number>> {
  const rows = await page
    .locator("#bars li")
    .evaluateAll((items) =>
      items.map((item): [string, string] => [
        item.querySelector(".name")?.textContent ?? "",
        item.querySelector(".value")?.textContent ?? "",
      ]),
    );
  return new Map(rows.map(([name, value]) => [name, Number.parseFloat(value)]));
}

/** Drop a file on the page as a user does: enter, over, drop. */
export async function drop(page: Page, name: string, content: Uint8Array): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([fileName, base64]) => {
      const bytes = Uint8Array.from(atob(base64 as string), (character) => character.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], fileName as string));
      return data;
    },
    [name, Buffer.from(content).toString("base64")],
  );
  for (const event of ["dragenter", "dragover", "drop"])
    await page.dispatchEvent("main", event, { dataTransfer: transfer });
}

/** Choose a file of the list, and wait until it runs. */
export async function choose(page: Page, name: string, recipe: string): Promise<void> {
  // The file that runs until then may say the same of itself.
  await page.evaluate(() => document.getElementById("model-note")?.replaceChildren());
  await page.selectOption("#model", { label: name });
  await page.waitForFunction((said) => document.getElementById("model-note")?.textContent?.includes(said), recipe);
}

export function model(name: string): Uint8Array {
  return readFileSync(join(DIST, name));
}

/** Wait for an error message and return it. */
export async function alert(page: Page, id: string): Promise<string> {
  await page.waitForSelector(`#${id}:not([hidden])`);
  return (await page.textContent(`#${id}`)) as string;
}
