import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { change, openPlayground, type, URL, useBrowser } from "./playground";

const browser = useBrowser();
const median = (values: number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1] as number;

/** On a busy machine single loads are slow: the best of several counts. */
describe("speed", () => {
  it("first label within 1 s of opening", async () => {
    const times: number[] = [];
    for (let load = 0; load < 5; load++) {
      const page = await openPlayground(browser());
      times.push(await page.evaluate(() => retvecLite.timing.firstLabel));
      await page.context().close();
    }
    console.log(`first label after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    expect(Math.min(...times)).toBeLessThan(1000);
  });

  it("typing to updated bars under 16 ms at 64 words", async () => {
    const page = await openPlayground(browser());
    await type(page, Array.from({ length: 64 }, (_, at) => `word${at}`).join(" "));
    const times: number[] = [];
    for (let key = 0; key < 40; key++) {
      await change(page, () => page.locator("#text").press("e"));
      times.push(await page.evaluate(() => retvecLite.timing.update));
    }
    console.log(`typing to bars: median ${median(times).toFixed(1)} ms, largest ${Math.max(...times).toFixed(1)} ms`);
    expect(median(times)).toBeLessThan(16);
    await page.context().close();
  });

  it("page without model and runtime is 60 kB compressed at most", async () => {
    let bytes = 0;
    for (const name of ["", "app.js", "app.css"])
      bytes += gzipSync(Buffer.from(await (await fetch(`${URL}${name}`)).arrayBuffer())).length;
    console.log(`page: ${bytes.toLocaleString("en")} bytes compressed`);
    expect(bytes).toBeLessThanOrEqual(60_000);
  });
});
