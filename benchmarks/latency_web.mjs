// latency_web.mjs ORDER.json: open Chromium on latency_web_page.mjs and print its measurements as one line of JSON.
//
// latency_web.py writes the order: the browser, files by address, and what to measure.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname } from "node:path";

const { chromium } = createRequire(new URL("../web_demo/package.json", import.meta.url))("playwright-core");

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"];
const IMPORTS = { "@litertjs/core": "/core.js", "@litertjs/wasm-utils": "/wasm-utils.js" };
const PAGE = `<!doctype html><title>latency</title><body>
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script></body>`;

const order = JSON.parse(readFileSync(process.argv[2], "utf-8"));

const server = createServer(({ url }, response) => {
  const file = order.files[url];
  response.writeHead(file || url === "/" ? 200 : 404, {
    "Content-Type": url === "/" ? "text/html; charset=utf-8" : (TYPES[extname(url)] ?? "application/octet-stream"),
    // Only an isolated page can read the time in steps of 5 microseconds; others get 100.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
  });
  response.end(url === "/" ? PAGE : file && readFileSync(file));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({ executablePath: order.chromium, args: FLAGS });

/** Call `job` with a fresh page that runs code with the exports of latency_web_page.mjs. */
async function withPage(job) {
  const context = await browser.newContext();
  const page = await context.newPage();
  try {
    // Without this, an error outside an awaited call would wait forever.
    const failure = new Promise((_, reject) => page.on("pageerror", reject));
    failure.catch(() => undefined);
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    if (!(await page.evaluate(() => crossOriginIsolated))) throw new Error("The page is not cross-origin isolated, so its clock is too coarse.");
    await page.evaluate(async () => Object.assign(globalThis, { measured: await import("/page.mjs") }));
    const run = (code, argument) => Promise.race([page.evaluate(code, argument), failure]);
    return await job(run, await context.newCDPSession(page));
  } finally {
    await context.close();
  }
}

/**
 * Measure how a fresh page starts with a file: milliseconds of processor time and bytes of WebAssembly memory.
 *
 * The runtime is compiled on many threads, so its time is that of the process, in steps of 10 ms. After that only the main
 * thread works, and its time counts.
 */
async function measureStart(file) {
  return withPage(async (run, session) => {
    await session.send("Performance.enable");
    const now = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      const seconds = (wanted) => metrics.find(({ name }) => name === wanted).value * 1000;
      return { process: seconds("ProcessTime"), thread: seconds("ThreadTime") };
    };
    const stage = async (name) => {
      const before = await now();
      await run((step) => globalThis.measured.start[step](), name);
      const after = await now();
      return { process: after.process - before.process, thread: after.thread - before.thread };
    };
    await run((argument) => globalThis.measured.start.fetch(argument), file);
    const runtime_ms = (await stage("runtime")).process;
    const empty_bytes = await run(() => globalThis.measured.memoryBytes());
    const load_ms = (await stage("load")).thread;
    const first_ms = (await stage("first")).thread;
    await run(() => globalThis.measured.start.rest());
    const wasm_bytes = await run(() => globalThis.measured.memoryBytes());
    return { runtime_ms, load_ms, first_ms, empty_bytes, wasm_bytes };
  });
}

try {
  const starts = [];
  for (let round = 0; round < order.runs; round++)
    for (const { name, ...file } of order.starts) starts.push({ name, ...(await measureStart(file)) });
  const times = await withPage((run) => run((argument) => globalThis.measured.times(argument), order.times));
  console.log(JSON.stringify({ browser: browser.version(), times, starts }));
} finally {
  await browser.close();
  server.close();
}
