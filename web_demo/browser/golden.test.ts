import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bars, DIST, expectNoProblems, openPlayground, type, useBrowser } from "./playground";

interface Golden {
  readonly labels: string[];
  readonly tolerance: Record<string, number>;
  readonly cases: Case[];
  /** Texts that are read in windows; a file of contract version 1 has none. */
  readonly long?: Case[];
}

interface Case {
  readonly name: string;
  readonly text: string | null;
  readonly codepoints?: number[];
  readonly probabilities: Record<string, number[]>;
  /** The answers that no difference within the tolerance can change; null for none of the labels. */
  readonly labels?: Record<string, string | null>;
}

const golden = JSON.parse(readFileSync(join(DIST, "golden.json"), "utf-8")) as Golden;
const cases = [...golden.cases, ...(golden.long ?? [])];
/** The recipes that were exported; golden.json also lists those of Core ML. */
const RECIPES = Object.keys(golden.tolerance).filter((recipe) => existsSync(join(DIST, `classifier-${recipe}.tflite`)));
const browser = useBrowser();

describe("golden texts", () => {
  it.each(RECIPES)("%s: the page gives the probabilities of Python's golden.json", async (recipe) => {
    const page = await openPlayground(browser());
    await page.selectOption("#model", { label: `classifier-${recipe}.tflite` });
    await page.waitForFunction(
      (name) => document.getElementById("model-note")?.textContent?.includes(`, ${name},`),
      recipe,
    );
    expect(golden.cases.length).toBeGreaterThan(50);
    const worst = { name: "", difference: 0 };
    for (const { name, text, codepoints, probabilities } of cases) {
      const received = await page.evaluate(
        (input) => retvecLite.probabilities(input),
        text ?? (codepoints as number[]),
      );
      const expected = probabilities[recipe] as number[];
      expect(received.length).toBe(expected.length);
      received.forEach((value, at) => {
        const difference = Math.abs(value - (expected[at] as number));
        if (difference > worst.difference) Object.assign(worst, { name, difference });
      });
    }
    for (const { name, text, labels } of cases) {
      if (text === null || labels?.[recipe] === undefined) continue;
      expect(await page.evaluate((input) => retvecLite.label(input), text), name).toBe(labels[recipe]);
    }
    console.log(
      `${recipe}: largest difference ${worst.difference.toExponential(1)} (${worst.name}), bound ${golden.tolerance[recipe]}`,
    );
    expect(worst.difference, worst.name).toBeLessThanOrEqual(golden.tolerance[recipe] as number);
    expectNoProblems(page);
    await page.context().close();
  });

  it("the bars show these probabilities when the texts are typed", async () => {
    const page = await openPlayground(browser());
    for (const { name, text, probabilities } of cases) {
      // A text field changes line ends and replaces unpaired surrogates.
      if (text === null || /\r|\p{Surrogate}/u.test(text) || text === (await page.inputValue("#text"))) continue;
      await type(page, text);
      const shown = await bars(page);
      golden.labels.forEach((key, at) => {
        const expected = (probabilities.int8?.[at] as number) * 100;
        expect(Math.abs((shown.get(key) as number) - expected), `${name}: ${key}`).toBeLessThanOrEqual(0.05 + 0.2);
      });
    }
    await page.context().close();
  });
});
