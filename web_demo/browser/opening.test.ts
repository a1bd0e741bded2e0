import { describe, expect, it } from "vitest";
import {
  alert,
  bars,
  choose,
  drop,
  expectNoProblems,
  label,
  model,
  openPlayground,
  type,
  URL,
  useBrowser,
} from "./playground";

const browser = useBrowser();
const note = "#model-note";

/** The file with one bit of a weight flipped. */
function changed(file: Uint8Array): Uint8Array {
  const copy = Buffer.from(file);
  copy[Math.floor(copy.length / 3)] = (copy[Math.floor(copy.length / 3)] as number) ^ 1;
  return copy;
}

describe("opening files", () => {
  it("runs a file that is dropped, and lists it", async () => {
    const page = await openPlayground(browser());
    const exact = () => page.evaluate(() => retvecLite.probabilities("play some loud music"));
    const before = await exact();
    await drop(page, "mine.retvec", model("plain.retvec"));
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("156 kB"));
    expect(await page.locator("#model option:checked").textContent()).toBe("mine.retvec");
    expect(await exact()).not.toEqual(before);
    expect(await page.isHidden("#drop")).toBe(true);
    await choose(page, "rejecting.retvec", "int8");
    expect(await exact()).toEqual(before);
    expectNoProblems(page);
    await page.context().close();
  });

  it.each([
    [
      "a text",
      "notes.txt",
      () => new TextEncoder().encode("hello, this is no model"),
      /^notes\.txt \(23 bytes\) is not a \.retvec file, or it is cut short\.$/,
    ],
    [
      "a .tflite",
      "mine.tflite",
      () => model("rejecting.tflite"),
      /^mine\.tflite is a \.tflite\. Export the classifier with --format engine and load the \.retvec\.$/,
    ],
    [
      "a file cut short",
      "half.retvec",
      () => model("plain.retvec").subarray(0, 20_000),
      /^half\.retvec: The file is not as long as it says/,
    ],
    [
      "a changed file",
      "changed.retvec",
      () => changed(model("plain.retvec")),
      /^changed\.retvec: The file was changed after its export/,
    ],
  ])("refuses %s, says why, and keeps the current model", async (_, name, content, message) => {
    const page = await openPlayground(browser());
    const before = { note: await page.textContent(note), bars: await bars(page) };
    await drop(page, name, content());
    expect(await alert(page, "model-error")).toMatch(message);
    expect(await page.textContent(note)).toBe(before.note);
    expect(await bars(page)).toEqual(before.bars);
    await type(page, "and it still answers");
    expect(await page.isVisible("#model-error")).toBe(false);
    await drop(page, "good.retvec", model("plain.retvec"));
    await page.waitForSelector("#model-error", { state: "hidden" });
    await page.context().close();
  });

  it("a file dropped while the page loads is the one that is listed and runs", async () => {
    const page = await (await browser().newContext()).newPage();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const name of ["engine.wasm", "models.json"])
      await page.route(`**/${name}`, async (route) => {
        await held;
        await route.continue();
      });
    await page.goto(URL, { waitUntil: "domcontentloaded" });
    await drop(page, "notes.retvec", new TextEncoder().encode("no model")); // may wait or be refused
    await drop(page, "mine.retvec", model("plain.retvec"));
    release();
    await label(page);
    await page.waitForFunction(
      () => (document.getElementById("model") as HTMLSelectElement).selectedOptions[0]?.textContent === "mine.retvec",
    );
    await page.waitForTimeout(500); // let everything else finish
    expect(await page.locator("#model option:checked").textContent()).toBe("mine.retvec");
    expect(await page.textContent(note)).toContain("156 kB");
    expect(await page.locator("#model option").count()).toBeGreaterThan(1);
    await page.context().close();
  });

  it("opens the .retvec among several dropped files", async () => {
    const page = await openPlayground(browser());
    const bytes = Buffer.from(model("plain.retvec")).toString("base64");
    const transfer = await page.evaluateHandle((base64) => {
      const data = new DataTransfer();
      data.items.add(new File(["no model"], "report.md"));
      data.items.add(new File([Uint8Array.from(atob(base64), (at) => at.charCodeAt(0))], "one.retvec"));
      return data;
    }, bytes);
    await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("156 kB"));
    expect(await page.locator("#model option:checked").textContent()).toBe("one.retvec");
    await page.context().close();
  });

  it("opens a file with the button", async () => {
    const page = await openPlayground(browser());
    await page.setInputFiles("#file", {
      name: "picked.retvec",
      mimeType: "",
      buffer: Buffer.from(model("plain.retvec")),
    });
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("156 kB"));
    await page.context().close();
  });

  it("a file of n-grams alone hides the word sections", async () => {
    const page = await openPlayground(browser());
    expect(await page.isVisible("#chips")).toBe(true);
    expect(await page.isVisible("#no-embedding")).toBe(false);
    await page.selectOption("#model", { label: "language.retvec" });
    await page.waitForSelector("#no-embedding:not([hidden])");
    expect(await page.isVisible("#chips")).toBe(false);
    expect(await page.isVisible("#cosine")).toBe(false);
    await type(page, "guten Morgen");
    expect(await page.textContent("#top-label")).toBe("de");
    expectNoProblems(page);
    await page.context().close();
  });

  it("shows the most probable of many labels, ranked, and all of them on request", async () => {
    const page = await openPlayground(browser());
    await page.selectOption("#model", { label: "language.retvec" });
    await page.waitForSelector("#more:not([hidden])");
    const shown = () =>
      page
        .locator("#bars li:visible")
        .evaluateAll((items) =>
          items
            .toSorted((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
            .map((item) => Number.parseFloat(item.querySelector(".value")?.textContent as string)),
        );
    const labels = Number(/(\d+) labels/.exec((await page.textContent(note)) as string)?.[1]);
    for (const text of ["guten Morgen", "no"]) {
      await type(page, text);
      await page.waitForTimeout(300); // the rows move with a transition
      const values = await shown();
      expect(values).toEqual(values.toSorted((one, other) => other - one));
      expect(values.length).toBe(10);
    }
    expect(await page.textContent("#more")).toBe(`Show all ${labels} labels`);
    await page.click("#more");
    await page.waitForTimeout(300);
    expect((await shown()).length).toBe(labels);
    await page.click("#more");
    expect((await shown()).length).toBe(10);
    await page.context().close();
  });

  it("shows the drop target while a file is over the page", async () => {
    const page = await openPlayground(browser());
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["x"], "x"));
      return data;
    });
    await page.dispatchEvent("main", "dragenter", { dataTransfer: transfer });
    expect(await page.isVisible("#drop")).toBe(true);
    await page.dispatchEvent("main", "dragleave", { dataTransfer: transfer });
    expect(await page.isVisible("#drop")).toBe(false);
    await page.context().close();
  });
});
