import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bars, choose, DIST, expectNoProblems, openPlayground, type, useBrowser } from "./playground";

interface Golden {
  readonly labels: string[];
  readonly tolerance: Record<string, number>;
  readonly cases: Case[];
  /** Texts that are read in windows. */
  readonly long: Case[];
}

interface Case {
  readonly name: string;
  readonly text: string | null;
  readonly codepoints?: number[];
  readonly probabilities: Record<string, number[]>;
  /** The answers that no difference within the tolerance can change: a label, null for none, or a list. */
  readonly labels?: Record<string, string | string[] | null>;
}

const read = (name: string): Golden => JSON.parse(readFileSync(join(DIST, `${name}.json`), "utf-8")) as Golden;
const browser = useBrowser();

describe("golden texts", () => {
  it.each([
    ["rejecting", "int8"],
    ["plain", "int4"],
    ["several", "int8"],
  ])("%s: the page gives the answers of the reference", async (name, recipe) => {
    const [golden, key] = [read(name), "engine-int8"];
    const page = await openPlayground(browser());
    await choose(page, `${name}.retvec`, `, ${recipe},`);
    expect(golden.cases.length).toBeGreaterThan(50);
    for (const { name: about, text, codepoints, probabilities, labels } of [...golden.cases, ...golden.long]) {
      const received = await page.evaluate(
        (input) => retvecLite.probabilities(input),
        text ?? (codepoints as number[]),
      );
      const off = (probabilities[key] as number[]).map((value, at) => Math.abs(value - (received[at] as number)));
      expect(Math.max(...off), about).toBeLessThanOrEqual(golden.tolerance[key] as number);
      const expected = labels?.[key];
      if (text === null || expected === undefined) continue;
      const found = (await page.evaluate((input) => retvecLite.labels(input), text)) as string[];
      expect(found.toSorted(), about).toEqual(expected === null ? [] : [expected].flat().toSorted());
    }
    expectNoProblems(page);
    await page.context().close();
  });

  it("the bars show these probabilities when the texts are typed", async () => {
    const golden = read("rejecting");
    const page = await openPlayground(browser());
    for (const { name, text, probabilities } of golden.cases) {
      // A text field changes line ends and replaces unpaired surrogates.
      if (text === null || /\r|\p{Surrogate}/u.test(text) || text === (await page.inputValue("#text"))) continue;
      await type(page, text);
      const shown = await bars(page);
      golden.labels.forEach((key, at) => {
        const expected = (probabilities["engine-int8"]?.[at] as number) * 100;
        expect(Math.abs((shown.get(key) as number) - expected), `${name}: ${key}`).toBeLessThanOrEqual(0.05 + 0.2);
      });
    }
    await page.context().close();
  });
});
