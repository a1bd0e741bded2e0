import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import { describe, expect, it } from "vitest";
import { change, curveAfter, drop, openPlayground, PICTURES, type, useBrowser } from "./playground";

const browser = useBrowser();
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8");

const SIZES = [
  ["phone", { width: 390, height: 844 }],
  ["desktop", { width: 1280, height: 900 }],
] as const;
const THEMES = ["light", "dark"] as const;
const EACH = SIZES.flatMap(([name, viewport]) => THEMES.map((colorScheme) => [name, colorScheme, viewport] as const));

describe("looks", () => {
  it.each(EACH)(
    "%s, %s: no accessibility violation, nothing wider than the screen",
    async (name, colorScheme, viewport) => {
      // The page's own policy would block axe.
      const page = await openPlayground(browser(), { viewport, colorScheme, bypassCSP: true });
      const picture = (state: string) =>
        page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${state}.png`), fullPage: true });
      const check = async (state: string): Promise<void> => {
        const found = await page.evaluate(() =>
          (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
        );
        expect(
          found.violations.map(
            ({ id, impact, nodes }) => `${state}: ${impact} ${id}: ${nodes.map((node) => node.html).join(" ")}`,
          ),
        ).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
        await picture(state);
      };
      await page.evaluate(AXE);
      await curveAfter(page, () => type(page, "please wake me up at half past six tomorrow morning"));
      await page.waitForFunction(() => / ms/.test(document.getElementById("latency")?.textContent ?? ""));
      await check("1-clean");
      await curveAfter(page, async () => {
        await page.fill("#rate", "60");
        await change(page, () => page.check("input[value=zero-width]", { force: true }));
        await page.fill("#right-label", "pets");
        await change(page, () => page.press("#right-label", "Enter"));
      });
      await check("2-attacked");
      await drop(page, "notes.txt", new TextEncoder().encode("no model"));
      await page.waitForSelector("#model-error:not([hidden])");
      await check("3-refused");
      await page.selectOption("#model", { label: "language.retvec" });
      await page.waitForSelector("#no-embedding:not([hidden])");
      await page.waitForFunction(() => / ms/.test(document.getElementById("latency")?.textContent ?? ""));
      await check("4-without-embed");
      await page.click("#ask-all");
      await page.waitForFunction(() => !document.getElementById("cards")?.textContent?.includes("…"));
      await check("5-side-by-side");
      await page.context().close();
    },
  );

  it.each(SIZES)("%s: the layout does not shift while the page loads or the user types", async (_, viewport) => {
    const context = await browser().newContext({ viewport });
    await context.addInitScript(() => {
      const shifts: number[] = [];
      Object.assign(globalThis, { shifts });
      // Count shifts after input too: typing must not move the page.
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
      }).observe({ type: "layout-shift", buffered: true });
    });
    const page = await openPlayground({ newContext: async () => context } as never);
    await curveAfter(page, () =>
      page.locator("#text").pressSequentially(" and tell me whether it will rain", { delay: 5 }),
    );
    await page.waitForFunction(() => / ms/.test(document.getElementById("latency")?.textContent ?? ""));
    const shift = await page.evaluate(() =>
      (globalThis as unknown as { shifts: number[] }).shifts.reduce((sum, value) => sum + value, 0),
    );
    console.log(`cumulative layout shift ${shift.toFixed(4)}`);
    expect(shift).toBeLessThan(0.02);
    await context.close();
  });

  it("the labels stay beside the text and its typos, over nothing else", async () => {
    const page = await openPlayground(browser());
    const seen = await page.evaluate(() => {
      scrollTo(0, document.body.scrollHeight);
      const bottom = (selector: string): number =>
        (document.querySelector(selector) as Element).getBoundingClientRect().bottom;
      return { labels: bottom(".answers"), typos: bottom(".stress") };
    });
    expect(seen.labels).toBeLessThanOrEqual(seen.typos + 1);
    await page.context().close();
  });

  it("every control shows a focus ring", async () => {
    const page = await openPlayground(browser());
    // The points are drawn last, and anew: a focused one would be replaced.
    await page.waitForSelector("circle[tabindex='0']", { state: "attached" });
    const reached: string[] = [];
    await page.locator("body").press("Tab");
    for (let step = 0; step < 30; step++) {
      const found = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        if (element === document.body) return undefined;
        // The label of a visually hidden field shows the ring.
        const shown = element.matches(".hidden, .segments input")
          ? (element.nextElementSibling as HTMLElement)
          : element;
        const { outlineStyle, outlineWidth } = getComputedStyle(shown);
        return {
          id: element.id || element.getAttribute("name") || element.tagName,
          ring: outlineStyle === "solid" && outlineWidth === "2px",
        };
      });
      if (!found) break;
      expect(found, found.id).toHaveProperty("ring", true);
      reached.push(found.id);
      await page.keyboard.press("Tab");
    }
    expect(reached).toEqual([
      "model",
      "file",
      "text",
      "why",
      "ask-all",
      "rate",
      "attack",
      "seed",
      "reseed",
      "reading",
      "right-label",
      "BUTTON",
      "memory-file",
      "LI",
      "one",
      "other",
      "cloud",
      "typos",
      "circle",
      "measure",
    ]);
    await page.context().close();
  });

  it("forced colours keep bars, slider and the selected attack visible", async () => {
    const page = await openPlayground(browser(), { forcedColors: "active" });
    await curveAfter(page, async () => {
      await page.fill("#rate", "40");
      await change(page, () => page.check("input[value=leet]", { force: true }));
    });
    const seen = await page.evaluate(() => {
      const background = (selector: string): string =>
        getComputedStyle(document.querySelector(selector) as Element).backgroundColor;
      return {
        paper: background("body"),
        shown: [
          ".is-top .fill",
          ".bars li:not(.is-top) .fill",
          ".before",
          "#reading mark",
          "#cosine-bar",
          "input:checked + span",
        ].map(background),
      };
    });
    const told = await page.locator(".legend mark").evaluateAll((marks) =>
      marks.map((mark) => {
        const { color, backgroundColor, textDecorationLine } = getComputedStyle(mark);
        return { color, backgroundColor, textDecorationLine };
      }),
    );
    const ink = await page.evaluate(() => getComputedStyle(document.body).color);
    expect(told[0]?.backgroundColor).toBe(seen.shown.at(-1)); // as what is selected
    expect(told[0]?.color).not.toBe(ink);
    expect(told[1]).toEqual({ color: ink, backgroundColor: "rgba(0, 0, 0, 0)", textDecorationLine: "underline" });
    expect(seen.shown).not.toContain(seen.paper);
    expect(seen.shown).not.toContain("rgba(0, 0, 0, 0)");
    await page.screenshot({ path: join(PICTURES, "desktop-forced-colors.png"), fullPage: true });
    await page.context().close();
  });

  it("nothing moves for users who prefer reduced motion", async () => {
    const page = await openPlayground(browser(), { reducedMotion: "reduce" });
    const durations = await page
      .locator("#bars li, #bars .fill")
      .evaluateAll((all) => all.map((element) => getComputedStyle(element).transitionDuration));
    expect(new Set(durations)).toEqual(new Set(["0s"]));
    await page.context().close();
  });
});
