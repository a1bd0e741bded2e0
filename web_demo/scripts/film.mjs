/**
 * Photograph the playground for docs/: `node film.mjs PAGE CHROMIUM OUT TEXT`, which `python -m tools.playground_pictures` calls.
 *
 * Somebody types TEXT; then the page's own table "Write it another way" says how to write it in disguise, and that is pasted.
 * OUT gets frames `0000.png`, ..., `frames.json` (milliseconds and label of each), and `page.png`, the whole page.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** A way of that table -> what is said of it under the page. */
const WAYS = {
  "Cyrillic letters": "Cyrillic letters that look like Latin ones",
  Fullwidth: "fullwidth letters",
  "Small capitals": "small capitals",
  "Struck through": "struck through",
};
const KEY = 100;
const HOLD = 1800;

const [page, executablePath, out, text] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({
  viewport: { width: 960, height: 900 },
  colorScheme: "light",
  reducedMotion: "reduce",
});
const tab = await context.newPage();
await tab.goto(pathToFileURL(page).href);
await tab.waitForFunction(() => globalThis.retvecLite?.timing.firstLabel > 0);
await tab.fill("#text", "");

const frames = [];
const clip = await tab.evaluate(() => {
  const end = document.querySelector(".legend").getBoundingClientRect().bottom + scrollY;
  return { x: 0, y: 0, width: innerWidth, height: Math.ceil(end) + 56 };
});

/** Say under the page what is being done, because lookalikes cannot be told by looking. */
async function say(words) {
  await tab.evaluate(
    ([words, top]) => {
      const caption = document.getElementById("caption") ?? document.body.appendChild(document.createElement("p"));
      caption.id = "caption";
      caption.textContent = words;
      Object.assign(caption.style, {
        ...{ position: "absolute", top: `${top}px`, left: "0", right: "0", margin: "0", height: "44px" },
        ...{ font: "600 20px/44px sans-serif", textAlign: "center", color: "#fff", background: "#0f6b5c" },
      });
    },
    [words, clip.height - 44],
  );
}

async function photograph(milliseconds) {
  await tab.screenshot({ path: join(out, `${String(frames.length).padStart(4, "0")}.png`), clip });
  frames.push({ milliseconds, label: await tab.textContent("#top-label"), text: await tab.inputValue("#text") });
}

/** Do what changes the text, and wait for its answer and for the words that speak for it. */
async function answered(change) {
  const before = await tab.evaluate(() => retvecLite.timing.updates);
  await change();
  await tab.waitForFunction((count) => retvecLite.timing.updates > count, before);
  await tab.waitForFunction(() => {
    const plain = (id, key) => document.getElementById(id)[key].replace(/\s+/g, "");
    return plain("why", "textContent") === plain("text", "value");
  });
}

await say("Typed in a hurry …");
for (const letter of text) {
  await answered(() => tab.press("#text", letter === " " ? "Space" : letter));
  await photograph(KEY);
}
frames.at(-1).milliseconds = HOLD;

await tab.waitForFunction(() => document.querySelectorAll("#ways tr").length > 10);
const ways = await tab
  .locator("#ways tr")
  .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
for (const [way, words] of Object.entries(WAYS)) {
  const written = ways.find(([name]) => name === way)?.at(-1);
  if (!written) throw new Error(`The page does not write a text in ${way}; it has ${ways.map(([name]) => name)}.`);
  await say(`… and disguised: ${words}`);
  await answered(() => tab.fill("#text", written));
  await photograph(HOLD);
}

await tab.evaluate(() => document.getElementById("caption").remove());
await tab.setViewportSize({ width: 1280, height: 900 });
await answered(() => tab.fill("#text", text));
await tab.waitForFunction(() => / ms/.test(document.getElementById("latency")?.textContent ?? ""));
await tab.screenshot({ path: join(out, "page.png"), fullPage: true });
writeFileSync(join(out, "frames.json"), JSON.stringify(frames));
await browser.close();
