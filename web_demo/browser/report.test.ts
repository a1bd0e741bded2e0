/** The page of a report, as Python writes it: from disk, on a phone and on a screen. tests/web/test_report_in_browser.py writes the pages. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { expectNoProblems, PICTURES, setting, useBrowser, watch } from "./chromium";

const browser = useBrowser();
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8");
const LOOKS = [
  ["phone", "light", { width: 360, height: 780 }],
  ["desktop", "dark", { width: 1200, height: 900 }],
] as const;
const EACH = ["two", "many", "hostile", "hostile-check"].flatMap((name, place) =>
  LOOKS.map((look, at) => [name, ...look, place % 2 === at] as const),
);

async function open(name: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser().newContext(options);
  // A page that needs a network would fail here.
  await context.setOffline(true);
  const page = await context.newPage();
  watch(page);
  await page.goto(`file://${join(setting("RETVEC_REPORTS"), name)}.html`);
  return page;
}

/** What axe finds, which takes seconds: each page is judged in one of its looks. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run());
  return found.violations.map(
    ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map((node) => node.html)}`,
  );
}

const shown = (page: Page): Promise<string[]> =>
  page.locator("#doubts li:visible b").evaluateAll((found) => found.map((each) => each.textContent ?? ""));

describe("the page of a report", () => {
  it.each(EACH)(
    "%s labels, %s, %s: legible, and nothing wider than the screen",
    async (name, size, colorScheme, viewport, isJudged) => {
      const page = await open(name, { viewport, colorScheme, bypassCSP: true });
      await page.evaluate(() => {
        for (const more of document.querySelectorAll("details")) more.open = true;
      });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      const small = await page.locator("svg text").evaluateAll((all) =>
        all
          .map((text) => ({
            told: text.textContent,
            pixels:
              Number.parseFloat(getComputedStyle(text).fontSize) * ((text as SVGTextElement).getScreenCTM()?.a ?? 0),
          }))
          .filter(({ pixels }) => pixels < 9),
      );
      expect(small).toEqual([]);
      if (isJudged) expect(await violations(page)).toEqual([]);
      await page.screenshot({ path: join(PICTURES, `report-${name}-${size}-${colorScheme}.png`), fullPage: true });
      expectNoProblems(page);
      await page.context().close();
    },
  );

  it.each(["hostile", "hostile-check"])("runs no script of a text: %s", async (name) => {
    const page = await open(name);
    expect(await page.evaluate(() => "owned" in globalThis)).toBe(false);
    expect(await page.locator("body script, body img, body style").count()).toBe(1); // its own script
    // Were an element forgotten, the policy would stop it.
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.owned = true";
      document.body.append(script);
    });
    expect(await page.evaluate(() => "owned" in globalThis)).toBe(false);
    await page.context().close();
  });

  it("filters by kind, label, suggestion and words", async () => {
    const page = await open("check");
    const all = await shown(page);
    expect(all.length).toBe(41); // 40 texts, and the copies of one
    expect(await page.textContent("#shown")).toBe("41 of 41 texts");
    await page.selectOption("[name=kind]", { label: "label may be wrong" });
    expect((await shown(page)).length).toBe(20);
    await page.selectOption("[name=label]", { label: "alarm" });
    const alarms = await shown(page);
    expect(alarms.length).toBe(10);
    expect(new Set(alarms)).toEqual(new Set(["alarm → delivery"]));
    await page.selectOption("[name=suggestion]", { label: "delivery" });
    expect((await shown(page)).length).toBe(10);
    await page.fill("[name=search]", "TEXT 12");
    expect(await shown(page)).toEqual(["alarm → delivery"]);
    expect(await page.textContent("#shown")).toBe("1 of 41 texts");
    await page.fill("[name=search]", "no such words");
    expect(await shown(page)).toEqual([]);
    expectNoProblems(page);
    await page.context().close();
  });

  it("shows everything but filters where no script runs, and on paper", async () => {
    const page = await open("check", { javaScriptEnabled: false });
    expect((await shown(page)).length).toBe(41);
    expect(await page.locator("form").isVisible()).toBe(false);
    const paper = await open("check");
    await paper.emulateMedia({ media: "print", colorScheme: "dark" });
    expect(await paper.locator("form").isVisible()).toBe(false);
    expect(await paper.evaluate(() => getComputedStyle(document.body).color)).toBe("rgb(29, 28, 26)");
    await Promise.all([page, paper].map((each) => each.context().close()));
  });
});
