import { expect, it } from "vitest";
import { label, URL, useBrowser } from "./playground";

const browser = useBrowser();

it("2,000 classifications, and as many texts typed and embedded, do not make the heaps grow", async () => {
  const context = await browser().newContext();
  await context.addInitScript(() => {
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = (async (...values: Parameters<typeof instantiate>) => {
      const made = await instantiate(...values);
      const { exports } = made as unknown as WebAssembly.Instance;
      const memory = Object.values(exports).find((value) => value instanceof WebAssembly.Memory);
      if (memory) Object.assign(globalThis, { memory });
      return made;
    }) as typeof instantiate;
  });
  const page = await context.newPage();
  await page.goto(URL);
  await label(page);
  const session = await context.newCDPSession(page);
  const heaps = async (): Promise<{ wasm: number; script: number }> => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const wasm = await page.evaluate(
      () => (globalThis as unknown as { memory: WebAssembly.Memory }).memory.buffer.byteLength,
    );
    return { wasm, script: usedSize };
  };
  const work = (count: number): Promise<void> =>
    page.evaluate(async (calls) => {
      const field = document.getElementById("text") as HTMLTextAreaElement;
      for (let call = 0; call < calls; call++) {
        // Short and long texts, which are read in windows.
        const text = `call ${call} ${"and on ".repeat(call % 40)}`;
        await retvecLite.probabilities(text);
        const before = retvecLite.timing.updates;
        field.value = text;
        field.dispatchEvent(new Event("input"));
        while (retvecLite.timing.updates === before) await new Promise((resolve) => setTimeout(resolve));
      }
    }, count);
  await work(100);
  const before = await heaps();
  await work(2000);
  const after = await heaps();
  console.log(
    `WebAssembly ${before.wasm} -> ${after.wasm} bytes, JavaScript ${before.script} -> ${after.script} bytes`,
  );
  expect(after.wasm).toBe(before.wasm);
  expect(after.script - before.script).toBeLessThan(500_000);
  await context.close();
});
