import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { alert, change, choose, expectNoProblems, openPlayground, PICTURES, type, useBrowser } from "./playground";

const browser = useBrowser();
let page: Page;
beforeAll(async () => {
  page = await openPlayground(browser());
});
afterAll(() => expectNoProblems(page));

const answer = () => page.textContent("#top-label");
const speaker = () => page.locator("#speaker:visible").allTextContents();
const taught = () => page.locator("#taught li > :not(button)").allTextContents();

async function teach(label: string): Promise<void> {
  await page.fill("#right-label", label);
  await change(page, () => page.click("#lesson button"));
}

it("learns a new label and a corrected one, and answers all else as before", async () => {
  await type(page, "play some jazz");
  const [before, value] = [await answer(), await page.textContent("#top-value")];
  await type(page, "feed the cat at noon");
  expect(await speaker()).toEqual([]);
  await teach("pets");
  expect(await answer()).toBe("pets");
  await type(page, "feed teh cat at noon");
  expect(await answer()).toBe("pets");
  expect(await speaker()).toEqual([
    "As you taught it: like “feed the cat at noon”. The bars are what the model alone says.",
  ]);
  await type(page, "my parcel is soaked");
  expect(await answer()).toBe("delivery");
  await teach("payment");
  expect(await answer()).toBe("payment");
  expect(await page.locator("#bars li.is-top .name").allTextContents()).toEqual(["payment"]);
  expect(await taught()).toEqual(["pets", "feed the cat at noon", "payment", "my parcel is soaked"]);
  expect(await page.locator("#known-labels option").last().getAttribute("value")).toBe("pets");
  await page.screenshot({ path: join(PICTURES, "desktop-taught.png"), fullPage: true });
  await type(page, "play some jazz");
  expect([await answer(), await page.textContent("#top-value")]).toEqual([before, value]);
});

it("takes what it learned to another model, and into a file", async () => {
  await choose(page, "plain.retvec", "156 kB");
  await type(page, "feed the cat at noon");
  expect(await answer()).toBe("pets");
  await page.selectOption("#model", { label: "several.retvec" });
  await page.waitForSelector("#teach", { state: "hidden" });
  await choose(page, "rejecting.retvec", "int8");
  expect((await taught()).length).toBe(4);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save-memory")]);
  expect(download.suggestedFilename()).toBe("classifier.memory");
  const bytes = readFileSync(await download.path());
  for (const text of ["my parcel is soaked", "feed the cat at noon"]) {
    await change(page, () => page.getByRole("button", { name: `Forget “${text}”` }).click());
  }
  expect(await taught()).toEqual([]);
  expect(await answer()).not.toBe("pets");
  expect(await page.isDisabled("#save-memory")).toBe(true);
  const file = { name: "classifier.memory", mimeType: "", buffer: bytes };
  await change(page, () => page.setInputFiles("#memory-file", file));
  expect((await taught()).length).toBe(4);
  expect(await answer()).toBe("pets");
});

it("says what it cannot learn", async () => {
  const before = await taught();
  const file = { name: "a.memory", mimeType: "", buffer: Buffer.from("no memory") };
  await page.setInputFiles("#memory-file", file);
  expect(await alert(page, "teach-error")).toBe("The file is not a memory.");
  await type(page, " ");
  await teach("pets");
  expect(await alert(page, "teach-error")).toBe("Nothing is left to read of this text: teach another one.");
  expect(await taught()).toEqual(before);
  await type(page, "walk the dog");
  await teach("pets");
  expect(await page.isVisible("#teach-error")).toBe(false);
});
