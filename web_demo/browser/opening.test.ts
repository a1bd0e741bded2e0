import { describe, expect, it } from "vitest";
import { alert, bars, drop, expectNoProblems, label, model, openPlayground, type, URL, useBrowser } from "./playground";

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
    // The bars round: two recipes of one classifier may show the same percentages.
    const exact = () => page.evaluate(() => retvecLite.probabilities("play some loud music"));
    const before = await exact();
    await drop(page, "mine.tflite", model("classifier-int4.tflite"));
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("int4"));
    expect(await page.locator("#model option:checked").textContent()).toBe("mine.tflite");
    expect(await exact()).not.toEqual(before);
    expect(await page.isHidden("#drop")).toBe(true);
    await page.selectOption("#model", { label: "classifier-int8.tflite" });
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("int8"));
    expect(await exact()).toEqual(before);
    expectNoProblems(page);
    await page.context().close();
  });

  it.each([
    [
      "a text",
      "notes.txt",
      () => new TextEncoder().encode("hello, this is no model"),
      /^notes\.txt \(23 bytes\) is neither a \.retvec nor a \.tflite file, or it is cut short\.$/,
    ],
    [
      "a file cut short",
      "half.tflite",
      () => model("classifier-int8.tflite").subarray(0, 200_000),
      /^half\.tflite \(200,000 bytes\) has no readable retvec_lite\.json: it is cut short, /,
    ],
    [
      "a changed file",
      "changed.tflite",
      () => changed(model("classifier-int8.tflite")),
      /^changed\.tflite was changed after its export/,
    ],
    [
      "a newer contract",
      "newer.tflite",
      () => model("newer.tflite_"),
      /^newer\.tflite follows contract version 3, but this release reads versions 1 to 2\./,
    ],
    [
      "a model LiteRT refuses",
      "broken.tflite",
      () => model("broken.tflite_"),
      /^LiteRT\.js cannot run broken\.tflite: ./,
    ],
    [
      "another interface",
      "longer.tflite",
      () => model("longer.tflite_"),
      /^The signature classify of longer\.tflite is .*, but its metadata describe \{"codepoints":"int32\[1,64\]"/,
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
    await drop(page, "good.tflite", model("classifier-int4.tflite"));
    await page.waitForSelector("#model-error", { state: "hidden" });
    await page.context().close();
  });

  it("a file dropped while the page loads is the one that is listed and runs", async () => {
    const page = await (await browser().newContext()).newPage();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const name of ["litert.wasm", "models.json"])
      await page.route(`**/${name}`, async (route) => {
        await held;
        await route.continue();
      });
    await page.goto(URL, { waitUntil: "domcontentloaded" });
    await drop(page, "notes.tflite", new TextEncoder().encode("no model")); // may wait or be refused
    await drop(page, "mine.tflite", model("classifier-float32.tflite"));
    release();
    await label(page);
    await page.waitForFunction(
      () => (document.getElementById("model") as HTMLSelectElement).selectedOptions[0]?.textContent === "mine.tflite",
    );
    await page.waitForTimeout(500); // let everything else finish
    expect(await page.locator("#model option:checked").textContent()).toBe("mine.tflite");
    expect(await page.textContent(note)).toContain("float32");
    expect(await page.locator("#model option").count()).toBeGreaterThan(1);
    await page.context().close();
  });

  it("opens the .tflite among several dropped files", async () => {
    const page = await openPlayground(browser());
    const bytes = Buffer.from(model("classifier-float32.tflite")).toString("base64");
    const transfer = await page.evaluateHandle((base64) => {
      const data = new DataTransfer();
      data.items.add(new File(["no model"], "report.md"));
      data.items.add(new File([Uint8Array.from(atob(base64), (at) => at.charCodeAt(0))], "one.tflite"));
      return data;
    }, bytes);
    await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("float32"));
    expect(await page.locator("#model option:checked").textContent()).toBe("one.tflite");
    await page.context().close();
  });

  it("opens a file with the button", async () => {
    const page = await openPlayground(browser());
    await page.setInputFiles("#file", {
      name: "picked.tflite",
      mimeType: "",
      buffer: Buffer.from(model("classifier-float32.tflite")),
    });
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("float32"));
    await page.context().close();
  });

  it("a file without embed hides both word sections and says how to get them", async () => {
    const page = await openPlayground(browser());
    expect(await page.isVisible("#chips")).toBe(true);
    expect(await page.isVisible("#no-embedding")).toBe(false);
    await drop(page, "old.tflite", model("old.tflite"));
    await page.waitForSelector("#no-embedding:not([hidden])");
    expect(await page.textContent("#no-embedding")).toContain("--embed");
    expect(await page.isVisible("#chips")).toBe(false);
    expect(await page.isVisible("#cosine")).toBe(false);
    await type(page, "wake me up");
    expectNoProblems(page);
    await page.context().close();
  });

  it("shows the most probable of many labels, ranked, and all of them on request", async () => {
    const page = await openPlayground(browser());
    await drop(page, "letters.tflite", model("letters.tflite_"));
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("26 labels"));
    await type(page, "zzzz yyy xx");
    const shown = () =>
      page
        .locator("#bars li:visible")
        .evaluateAll((items) =>
          items
            .toSorted((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
            .map((item) => item.querySelector(".name")?.textContent),
        );
    await page.waitForTimeout(300); // the rows move with a transition
    expect((await shown()).slice(0, 3)).toEqual(["z", "y", "x"]);
    expect((await shown()).length).toBe(10);
    await type(page, "aaaa zz bbb");
    await page.waitForTimeout(300);
    expect((await shown()).slice(0, 3)).toEqual(["a", "b", "z"]);
    expect(await page.textContent("#more")).toBe("Show all 26 labels");
    await page.click("#more");
    await page.waitForTimeout(300);
    expect((await shown()).length).toBe(26);
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
