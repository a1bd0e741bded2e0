import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { change, drop, expectNoProblems, model, openPlayground, PAGE, SEVERAL, type, useBrowser } from "./playground";

const browser = useBrowser();

/** Wait until every card has an answer to the text; return them by the names of their models. */
async function cards(page: Page): Promise<Map<string, string>> {
  await page.waitForTimeout(300); // longer than all models take
  const rows = await page
    .locator("#cards li")
    .evaluateAll((items) =>
      items.map((item): [string, string] => [
        item.querySelector(".name")?.textContent ?? "",
        `${item.querySelector("strong")?.textContent} ${item.querySelector(".value, .note")?.textContent}`,
      ]),
    );
  return new Map(rows);
}

const names = async (page: Page): Promise<string[]> =>
  (await page.locator("#model option").allTextContents()).map((name) => name.replace(".retvec", ""));

/** What the whole page says. */
const answer = async (page: Page): Promise<string> =>
  `${await page.textContent("#top-label")} ${await page.textContent("#top-value")}`;

/** Press the card of a model and wait until the whole page shows its answer. */
const press = (page: Page, name: string): Promise<void> =>
  change(page, () => page.locator("#cards button", { has: page.locator(`.name:text-is("${name}")`) }).press("Enter"));

const pressed = (page: Page): Promise<string[]> =>
  page.locator("#cards button[aria-pressed=true] .name").allTextContents();

it("asks every model of the list on demand, and each card says what its model says alone", async () => {
  const page = await openPlayground(browser());
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(request.url()));
  await type(page, "put some music on");
  expect((await cards(page)).size).toBe(0);
  expect(loaded).toEqual([]);
  const known = await names(page);
  expect(known).toContain("language");
  expect(await page.textContent("#ask-all")).toBe(`Ask all ${known.length} models`);
  await page.click("#ask-all");
  expect([...(await cards(page)).keys()]).toEqual(known);
  await type(page, "wake me at six tomorrow");
  const found = await cards(page);
  expect(found.get("language")).toMatch(/^en /);
  await page.waitForFunction(() => document.getElementById("beside-told")?.textContent?.includes("language: en"));
  for (const name of known) {
    await press(page, name);
    await page.waitForFunction((wanted) => {
      const shown = (document.getElementById("model") as HTMLSelectElement).selectedOptions[0];
      return shown?.textContent === `${wanted}.retvec`;
    }, name);
    expect(await pressed(page)).toEqual([name]);
    expect(await page.evaluate(() => document.activeElement?.querySelector(".name")?.textContent)).toBe(name);
    expect(await answer(page)).toBe(found.get(name));
    expect(await cards(page)).toEqual(found);
  }
  expectNoProblems(page);
  await page.click("#ask-all");
  expect((await cards(page)).size).toBe(0);
  await type(page, "guten Morgen");
  for (const name of known) {
    await page.selectOption("#model", { label: `${name}.retvec` });
    await page.waitForFunction((wanted) => document.getElementById("model-note")?.textContent?.includes(wanted), "kB");
  }
  expectNoProblems(page);
  await page.context().close();
});

it("answers typos, attacks and what was taught as the whole page does", async () => {
  const page = await openPlayground(browser());
  await page.click("#ask-all");
  await type(page, "feed the cat at noon");
  await page.fill("#right-label", "pets");
  await page.click("#lesson button");
  expect((await cards(page)).get("rejecting")).toMatch(/^pets /);
  await page.fill("#rate", "100");
  await page.check("input[value=leet]", { force: true });
  const found = await cards(page);
  expect(found.get("rejecting")).toBe(await answer(page));
  await page.context().close();
});

it("gives a dropped file a card, and says on the card of another why it cannot be opened", async () => {
  const page = await openPlayground(browser());
  await page.route("**/plain.retvec", (route) => route.abort());
  await page.click("#ask-all");
  expect((await cards(page)).get("plain")).toMatch(
    /^Cannot be opened Cannot load models\/plain\.retvec from the server/,
  );
  expect((await cards(page)).get("several")).toMatch(/ %$/);
  await drop(page, "mine.retvec", model("plain.retvec"));
  expect([...(await cards(page)).keys()].at(-1)).toBe("mine");
  expect(await pressed(page)).toEqual(["mine"]);
  expect((await cards(page)).get("mine")).toBe(await answer(page));
  await page.unroute("**/plain.retvec");
  await press(page, "plain");
  await page.waitForFunction(() => document.querySelector("#model option:checked")?.textContent === "plain.retvec");
  expect(await answer(page)).toBe((await cards(page)).get("mine"));
  await page.context().close();
});

it("a page of several models starts with all of them; one of a single model has no such panel", async () => {
  const page = await openPlayground(browser(), { url: pathToFileURL(SEVERAL).href });
  await type(page, "wake me at six tomorrow");
  expect([...(await cards(page)).keys()]).toEqual(["plain", "several", "language"]);
  expect((await cards(page)).get("plain")).toBe(await answer(page));
  expectNoProblems(page);
  await page.context().close();
  const single = await openPlayground(browser(), { url: pathToFileURL(PAGE).href });
  expect(await single.isVisible("#beside")).toBe(false);
  await single.context().close();
});

it("typing moves no card", async () => {
  const page = await openPlayground(browser());
  await page.click("#ask-all");
  const places = () =>
    page.locator("#cards li").evaluateAll((items) => items.map((item) => JSON.stringify(item.getBoundingClientRect())));
  await cards(page);
  const before = await places();
  for (const text of ["", "ja", "what a day, please wake me and play music, I am so happy", "x"]) {
    await type(page, text);
    await cards(page);
    expect(await places()).toEqual(before);
  }
  await page.context().close();
});
