/** A .retvec on the page: the engine in place of LiteRT. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  alert,
  bars,
  DIST,
  drop,
  expectNoProblems,
  openPlayground,
  PAGE,
  PICTURES,
  type,
  useBrowser,
} from "./playground";

interface Golden {
  readonly tolerance: Record<string, number>;
  readonly cases: { name: string; text: string | null; probabilities: Record<string, number[]> }[];
}

const RECIPE = "engine-int8";
const golden = JSON.parse(readFileSync(join(DIST, "golden.json"), "utf-8")) as Golden;
const browser = useBrowser();

describe("a .retvec", () => {
  it("gives the probabilities of golden.json, and loads no other runtime", async () => {
    const page = await openPlayground(browser());
    expect(await page.textContent("#model-note")).toContain(", int8,");
    for (const { name, text, probabilities } of golden.cases) {
      if (text === null) continue;
      const received = await page.evaluate((input) => retvecLite.probabilities(input), text);
      const off = received.map((value, at) => Math.abs(value - (probabilities[RECIPE]?.[at] as number)));
      expect(Math.max(...off), name).toBeLessThanOrEqual(golden.tolerance[RECIPE] as number);
    }
    const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
    expect(loaded.filter((name) => name.endsWith(".wasm"))).toEqual([expect.stringMatching(/\/engine\.wasm$/)]);
    await page.screenshot({ path: join(PICTURES, "engine.png"), fullPage: true });
    expectNoProblems(page);
    await page.context().close();
  });

  it("runs in a page of its own from disk, below 2 MB, with the same answers and every part", async () => {
    expect(statSync(PAGE).size).toBeLessThanOrEqual(2_000_000);
    const served = await openPlayground(browser());
    const page = await openPlayground(browser(), { url: pathToFileURL(PAGE).href });
    for (const text of ["where is my parcel", "我的包裹在哪里", "stop ".repeat(100), ""]) {
      await type(served, `${text} `);
      await type(page, `${text} `);
      expect(await bars(page)).toEqual(await bars(served));
    }
    await type(page, "where is my parcel");
    await page.waitForFunction(() => retvecLite.timing.curves > 0);
    expect(await page.isVisible("#chips")).toBe(true);
    expectNoProblems(page);
    await drop(page, "other.tflite", readFileSync(join(DIST, "other.tflite_")));
    expect(await alert(page, "model-error")).toBe(
      "This page opens .retvec files only. Other files open in retvec-lite demo.",
    );
    await page.screenshot({ path: join(PICTURES, "engine-single.png"), fullPage: true });
    await page.context().close();
    await served.context().close();
  });

  it("opens beside a .tflite on the served page, damaged ones excepted", async () => {
    const page = await openPlayground(browser());
    await drop(page, "other.tflite", readFileSync(join(DIST, "other.tflite_")));
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("float32"));
    const file = readFileSync(join(DIST, "classifier-int8.retvec"));
    await drop(page, "again.retvec", file);
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("int8"));
    expectNoProblems(page);
    file[file.length - 100] = (file[file.length - 100] as number) ^ 1;
    await drop(page, "damaged.retvec", file);
    expect(await alert(page, "model-error")).toMatch(/^damaged\.retvec: The file was changed after its export/);
    await page.context().close();
  });
});
