import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bars, change, choose, curveAfter, expectNoProblems, openPlayground, type, useBrowser } from "./playground";

const browser = useBrowser();
let page: Page;
beforeAll(async () => {
  page = await openPlayground(browser());
});
afterAll(() => expectNoProblems(page));

const TEXT = "please tell me whether it will rain tomorrow in the afternoon";

describe("typing", () => {
  it("moves label and bars with every key", async () => {
    await type(page, "");
    const seen = new Set<string>();
    for (const key of "play some loud music") {
      await change(page, () => page.locator("#text").press(key === " " ? "Space" : key));
      seen.add(JSON.stringify([...(await bars(page))]));
    }
    // A sure classifier shows the same percentages for several beginnings.
    expect(seen.size).toBeGreaterThan(2);
    const shown = await bars(page);
    const [top] = [...shown].reduce((best, row) => (row[1] > best[1] ? row : best));
    expect(await page.textContent("#top-label")).toBe(top);
    expect(await page.locator("#bars li.is-top .name").textContent()).toBe(top);
    expect([...shown.values()].reduce((sum, value) => sum + value, 0)).toBeCloseTo(100, -0.5);
  });

  it("says when a text belongs to none of the labels", async () => {
    await type(page, "?!");
    expect(await page.textContent("#top-label")).toBe("none of these");
    expect(await page.textContent("#top-value")).toBe("");
    expect(await page.locator("#bars li.is-top").count()).toBe(0);
    expect(await page.textContent("#facts")).toMatch(/probability below \d+\.\d %; no known letter or digit/);
    await type(page, "play some loud music");
    expect(await page.locator("#bars li.is-top").count()).toBe(1);
    await page.waitForTimeout(800); // it has been announced
  });

  it("announces the label once when typing pauses", async () => {
    await page.evaluate(() => {
      const told: string[] = [];
      Object.assign(globalThis, { told });
      new MutationObserver(() => told.push(document.getElementById("live")?.textContent ?? "")).observe(
        document.getElementById("live") as Node,
        { childList: true, characterData: true, subtree: true },
      );
    });
    await page.locator("#text").pressSequentially(" now please", { delay: 20 });
    await page.waitForTimeout(1000);
    const told = await page.evaluate(() => (globalThis as unknown as { told: string[] }).told);
    expect(told).toEqual([`${await page.textContent("#top-label")}, ${await page.textContent("#top-value")}`]);
  });

  it("says in how many windows a long text is read, and how much of it is ignored", async () => {
    await type(page, "ab".repeat(10_000));
    const note = (await page.textContent("#text-note")) as string;
    const [, count, size] = /read in (\d+) windows of up to (\d+): the rest is ignored$/.exec(note) ?? [];
    // How much is read: docs/contract.md.
    const read = Math.max(4 * Number(size), Math.min(32 * Number(size), 16_384));
    expect(note.split(" ")[0]).toBe(read.toLocaleString("en"));
    expect(Number(count)).toBe(Math.ceil(read / Number(size)));
    expect((await page.textContent("#reading"))?.length).toBe(read);
  });

  it("says when words find no slot, but not when the last one just fits", async () => {
    const [, slots] = /(\d+) words of 16/.exec((await page.textContent("#facts")) as string) ?? [];
    const words = Number(slots);
    expect(words).toBeGreaterThan(1);
    const ignored = new RegExp(` characters, ${words} of ${words} words: the rest is ignored$`);
    await type(page, "ab ".repeat(words));
    expect(await page.textContent("#text-note")).toMatch(new RegExp(`^${3 * words - 1} of \\d+ characters$`));
    await type(page, "あい".repeat(words / 2 + 8)); // overlapping pieces
    expect(await page.textContent("#text-note")).toMatch(ignored);
    await type(page, "ab ".repeat(words + 1));
    expect(await page.textContent("#text-note")).toMatch(ignored);
  });
});

describe("mistyping", () => {
  it("the slider mistypes, marks the words and keeps a mark where the bars were", async () => {
    await type(page, TEXT);
    const clean = await bars(page);
    await change(page, () => page.fill("#rate", "100"));
    expect(await page.locator("#reading mark").count()).toBe(TEXT.split(" ").length);
    expect(await page.textContent("#reading")).not.toBe(TEXT);
    expect(await page.textContent("#rate-value")).toBe("100 % mistyped");
    expect(await bars(page)).not.toEqual(clean);
    const marks = await page
      .locator("#bars .before:visible")
      .evaluateAll((all) => all.map((mark) => Number.parseFloat((mark as HTMLElement).style.left)));
    for (const [at, value] of [...clean.values()].entries())
      expect(Math.abs((marks[at] as number) - value)).toBeLessThan(0.06);
    expect(marks.length).toBe(clean.size);
  });

  it("another seed gives different typos, the same seed the same", async () => {
    const first = await page.textContent("#reading");
    await change(page, () => page.click("#reseed"));
    expect(await page.textContent("#reading")).not.toBe(first);
    await change(page, () => page.fill("#seed", "0"));
    expect(await page.textContent("#reading")).toBe(first);
  });

  it("an invalid seed counts as 0", async () => {
    const first = await page.textContent("#reading");
    for (const seed of ["", "-3"]) {
      await change(page, () => page.fill("#seed", seed));
      expect(await page.textContent("#reading")).toBe(first);
      await page.locator("#seed").blur();
      expect(await page.inputValue("#seed")).toBe("0");
    }
  });

  it("the seed after the largest is 0", async () => {
    await change(page, () => page.fill("#seed", "98765432109876"));
    await page.locator("#seed").blur();
    expect(await page.inputValue("#seed")).toBe("999999999");
    await change(page, () => page.click("#reseed"));
    expect(await page.inputValue("#seed")).toBe("0");
  });

  it("the slider works with the keyboard alone", async () => {
    await page.focus("#rate");
    await change(page, () => page.keyboard.press("Home"));
    expect(await page.locator("#reading mark").count()).toBe(0);
    await change(page, () => page.keyboard.press("ArrowRight"));
    expect(await page.getAttribute("#rate", "aria-valuetext")).toBe("5 % of the words mistyped");
    await change(page, () => page.keyboard.press("Home"));
  });

  it.each([["homoglyphs"], ["leet"], ["zero-width"]])("attacks with %s", async (kind) => {
    await change(page, () => page.check(`input[value=${kind}]`, { force: true }));
    expect(await page.locator("#reading mark").count()).toBeGreaterThanOrEqual(8);
    await change(page, () => page.check("input[value=none]", { force: true }));
    expect(await page.textContent("#reading")).toBe(TEXT);
  });

  it("zero-width characters change nothing: the encoder drops them", async () => {
    const clean = await bars(page);
    await change(page, () => page.check("input[value=zero-width]", { force: true }));
    expect(await bars(page)).toEqual(clean);
    await change(page, () => page.check("input[value=none]", { force: true }));
  });

  it("the curve starts at the probability of the clean text, where the dot is", async () => {
    const path = await curveAfter(page, () => type(page, `${TEXT} then`));
    const points = path
      .slice(1)
      .split("L")
      .map((point) => point.split(" ").map(Number) as [number, number]);
    expect(points.map(([x]) => x)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    const top = Math.max(...(await bars(page)).values());
    expect(100 - (points[0]?.[1] as number)).toBeCloseTo(top, 0);
    const dot = await page
      .locator("#dot")
      .evaluate((element) => [element.style.left, Number.parseFloat(element.style.top)]);
    expect(dot[0]).toBe("0%");
    expect(dot[1]).toBeCloseTo(points[0]?.[1] as number, 1);
    expect(await page.getAttribute("#plot", "aria-label")).toContain(
      `Mean probability of ${await page.textContent("#top-label")}`,
    );
  });
});

describe("other ways of writing", () => {
  const rows = (): Promise<string[][]> =>
    page
      .locator("#ways tr")
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent as string)));

  it("shows what is written with its answer, and marks the answers that changed", async () => {
    await curveAfter(page, () => type(page, "please play some loud music"));
    const found = await rows();
    const texts = new Map(found.map(([name, , written]) => [name, written]));
    expect(texts.get("As written")).toBe("please play some loud music");
    expect(texts.get("Fullwidth")).toBe("ｐｌｅａｓｅ ｐｌａｙ ｓｏｍｅ ｌｏｕｄ ｍｕｓｉｃ");
    expect(texts.get("Words in pairs")).toBe("pleaseplay someloud music");
    expect(new Set(texts.values()).size).toBe(found.length);
    for (const [name, answer, written] of found) {
      const isChanged = answer?.startsWith("Changed: ");
      // Invisible characters are shown as dots.
      if (name === "Invisible characters") continue;
      const label = (await page.evaluate((input) => retvecLite.label(input as string), written)) ?? "none of these";
      expect(answer?.replace("Changed: ", ""), name).toMatch(new RegExp(`^${label}`));
      expect(isChanged, name).toBe(label !== "music");
    }
    expect(await page.textContent("#ways-told")).toMatch(
      /^(All \d+|\d+ of \d+) (other )?ways (keep|changes?) the answer “music”\.$/,
    );
    expect(await page.locator("#ways mark").count()).toBe(
      found.filter(([, answer]) => /^Changed/.test(answer as string)).length,
    );
  });

  it("follows the text, and reads an empty one", async () => {
    await curveAfter(page, () => type(page, ""));
    const found = await rows();
    expect(found[0]).toEqual(["As written", "none of these", ""]);
  });
});

describe("words", () => {
  it("shows the words as the encoder splits them, long ones in two", async () => {
    await type(page, "extraordinarilylong 你好 ok");
    expect(await page.locator("#chips li").allTextContents()).toEqual(["extraordinarilyl", "ong", "你", "好", "ok"]);
  });

  it("shows the bits of the word that is hovered, focused or selected with the arrow keys", async () => {
    await page.hover("#chips li:nth-child(5)");
    expect(await page.textContent("#bits figcaption")).toBe("U+006F U+006B");
    // o = 1101111 and k = 1101011 are 6 and 5 binary ones: as many cells of the card are on.
    const on = (await page.getAttribute("#bits .on", "d")) as string;
    expect(on.split("M").length - 1).toBe(11);
    expect(((await page.getAttribute("#bits .off", "d")) as string).split("M").length - 1).toBe(16 * 21 - 11);
    await page.focus("#chips li:nth-child(5)");
    await page.keyboard.press("ArrowLeft");
    expect(await page.textContent("#bits figcaption")).toBe("U+597D");
    expect(await page.getAttribute("#chips li:nth-child(4)", "aria-selected")).toBe("true");
    await page.keyboard.press("Home");
    expect(
      await page.locator("#chips li").evaluateAll((all) => all.indexOf(document.activeElement as HTMLElement)),
    ).toBe(0);
  });

  it("an empty text has no words", async () => {
    await type(page, " ");
    expect(await page.locator("#chips").textContent()).toBe("No words");
  });
});

describe("two words", () => {
  beforeAll(() => choose(page, "plain.retvec", "156 kB"));
  const cosine = async (one: string, other: string): Promise<string> => {
    await page.fill("#one", one);
    await page.fill("#other", other);
    await page.waitForTimeout(100);
    return (await page.textContent("#cosine")) as string;
  };

  it("shows the cosine: 1 for the same word, less for a typo, least for another word", async () => {
    expect(await cosine("tomorrow", "tomorrow")).toBe("1.000");
    const typo = Number(await cosine("tomorrow", "tomorow"));
    const stranger = Number((await cosine("tomorrow", "giraffe")).replace("−", "-"));
    expect(typo).toBeLessThan(1);
    expect(stranger).toBeLessThan(typo);
  });

  it("shows a dash for an empty word", async () => {
    expect(await cosine("tomorrow", "")).toBe("–");
  });
});

describe("words as points", () => {
  const dots = "#map-dots circle";
  const draw = async (words: string, typos = 1): Promise<void> => {
    await page.waitForSelector(dots, { state: "attached" });
    await page.evaluate(() => document.getElementById("map-dots")?.replaceChildren());
    await page.fill("#cloud", words);
    await page.check(`input[name=typos][value="${typos}"]`, { force: true });
    await page.dispatchEvent("#cloud", "input"); // a choice that is the same asks for no picture
    await page.waitForSelector(dots, { state: "attached" });
  };
  const places = (): Promise<{ word: string; x: number; y: number; size: number }[]> =>
    page.locator(dots).evaluateAll((all) =>
      all.map((dot) => {
        const [x, y, size] = ["cx", "cy", "r"].map((name) => Number.parseFloat(dot.getAttribute(name) as string));
        return { word: (dot as SVGElement).style.getPropertyValue("--word"), x, y, size } as never;
      }),
    );
  /** The share of forms whose nearest word is their own. */
  const found = async (): Promise<number> => {
    const all = await places();
    const words = all.filter(({ size }) => size === 6);
    const forms = all.filter(({ size }) => size !== 6);
    const own = forms.filter(({ word, x, y }) => {
      const far = words.map((other) => Math.hypot(other.x - x, other.y - y));
      return words[far.indexOf(Math.min(...far))]?.word === word;
    });
    return own.length / forms.length;
  };

  it("draws the words of the field with about ten forms each, near their words and inside the picture", async () => {
    await page.waitForSelector(dots, { state: "attached" });
    expect(await page.locator("#map-names text:not(.tip)").allTextContents()).toEqual(
      (await page.inputValue("#cloud")).split(" "),
    );
    const all = await places();
    expect(all.length).toBeGreaterThan(6 * 8);
    expect(all.length).toBeLessThanOrEqual(6 * 11);
    for (const { x, y } of all) {
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(7.9);
      expect(Math.max(x, y)).toBeLessThanOrEqual(92.1);
    }
    expect(await found()).toBeGreaterThan(0.9);
    expect(await page.textContent("#map-note")).toMatch(/^These two dimensions show [1-9]\d % of the variance/);
  });

  it("draws the same picture every time, and another one for more typos", async () => {
    await draw("umbrella parcel погода", 1);
    const first = await places();
    await draw("umbrella parcel погода", 3);
    expect(await places()).not.toEqual(first);
    await draw("umbrella parcel погода", 1);
    expect(await places()).toEqual(first);
  });

  it("names the form that is hovered, focused or reached with the arrow keys", async () => {
    await draw("umbrella погода");
    const told = /^(\S+): umbrella mistyped, cosine 0\.\d\d$/;
    await page.locator(dots).nth(4).hover({ force: true });
    const [, form] = told.exec((await page.textContent("#map-told")) as string) ?? [];
    expect(await page.textContent("#map-names .tip")).toBe(form);
    await page.locator(dots).nth(4).focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.textContent("#map-told")).toMatch(told);
    expect(await page.textContent("#map-names .tip")).not.toBe(form);
    expect(await page.locator(`${dots}[tabindex="0"]`).getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("End");
    expect(await page.textContent("#map-told")).toMatch(/^\S+: погода mistyped/);
    await page.keyboard.press("ArrowRight"); // none after the last
    expect(await page.textContent("#map-told")).toMatch(/^\S+: погода mistyped/);
    await page.keyboard.press("Home");
    expect(await page.textContent("#map-told")).toBe("umbrella");
    expect(await page.textContent("#map-names .tip")).toBe("");
  });

  it("draws eight words at most, each once, and none of an empty field", async () => {
    await draw("one one two three four five six seven eight nine ten");
    expect(await page.locator("#map-names text:not(.tip)").allTextContents()).toEqual(
      "one two three four five six seven eight".split(" "),
    );
    await page.fill("#cloud", " \u200b ");
    await page.waitForFunction(() => document.getElementById("map-note")?.textContent === "No words");
    expect(await page.locator(dots).count()).toBe(0);
    expect(await page.locator("#map-names").textContent()).toBe("");
  });

  it("is hidden for a file without embeddings, and drawn anew for one with them", async () => {
    await page.fill("#cloud", "umbrella погода");
    await page.selectOption("#model", { label: "language.retvec" });
    await page.waitForSelector("#no-embedding:not([hidden])");
    expect(await page.isVisible(".points")).toBe(false);
    await choose(page, "plain.retvec", "156 kB");
    await page.waitForSelector("#no-embedding", { state: "hidden" });
    await page.waitForSelector(dots);
    expect(await page.isVisible(".points")).toBe(true);
  });
});

describe("this file", () => {
  it("shows the metadata and the latency", async () => {
    const facts = (await page.textContent("#facts")) as string;
    for (const fact of ["int4", "10: alarm, appointment", "retvec-lite 0.2.0 or newer", "contract 3"])
      expect(facts).toContain(fact);
    await page.waitForFunction(() =>
      / ms, median of 50 calls/.test(document.getElementById("latency")?.textContent ?? ""),
    );
  });
});

describe("why", () => {
  it("marks the words of the text as it is read, and tells them to screen readers", async () => {
    await type(page, "please play some jazz now");
    await page.waitForFunction(() => document.getElementById("why")?.textContent === "please play some jazz now");
    const shares = await page
      .locator("#why mark.for")
      .evaluateAll((all) => all.map((mark) => Number((mark as HTMLElement).style.getPropertyValue("--share"))));
    expect(Math.max(...shares)).toBe(1);
    expect(await page.textContent("#why-told")).toMatch(/^(jazz|play) \+\d/);
    expect(await page.textContent("#why-label")).toBe(await page.textContent("#top-label"));
    await change(page, () => page.fill("#rate", "100"));
    const altered = await page.textContent("#reading");
    await page.waitForFunction((text) => document.getElementById("why")?.textContent === text, altered);
    await change(page, () => page.fill("#rate", "0"));
  });

  it("shows all of a long text, and marks its beginning", async () => {
    const text = `please play some jazz ${"or whatever else there is ".repeat(40)}`;
    await type(page, text);
    await page.waitForFunction((shown) => document.getElementById("why")?.textContent === shown, text);
    const ends = await page.locator("#why mark").evaluateAll((marks) =>
      marks.map((mark) => {
        const range = document.createRange();
        range.setStart(document.getElementById("why") as Node, 0);
        range.setEndAfter(mark);
        return range.toString().length;
      }),
    );
    expect(ends.length).toBeGreaterThan(0);
    expect(Math.max(...ends)).toBeLessThanOrEqual(104); // characters of a window
  });
});
