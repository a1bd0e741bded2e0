import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  alert,
  bars,
  drop,
  expectNoProblems,
  label,
  launch,
  model,
  openPlayground,
  PAGE,
  type,
  URL,
  useBrowser,
} from "./playground";

const browser = useBrowser();

describe("served", () => {
  it("contacts no other host, and needs no COOP, COEP or threads", async () => {
    const context = await browser().newContext();
    const page = await context.newPage();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const response = await page.goto(URL);
    await page.waitForFunction(() => globalThis.retvecLite?.timing.curves > 0);
    expect(asked.length).toBeGreaterThan(4);
    expect(asked.filter((url) => !url.startsWith(URL) && !url.startsWith("data:,"))).toEqual([]);
    const headers = (await response?.allHeaders()) ?? {};
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';");
    expect(Object.keys(headers).filter((name) => name.startsWith("cross-origin"))).toEqual([]);
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
    await context.close();
  });

  it.each([
    ["served", URL],
    ["exported", pathToFileURL(PAGE).href],
  ])("%s: the policy blocks inline scripts, eval and other hosts", async (_, url) => {
    const page = await openPlayground(browser(), { url });
    const refused = page.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          const found: string[] = [];
          document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
            if (found.push(effectiveDirective) === 3) resolve(found.toSorted());
          });
          const script = document.createElement("script");
          script.textContent = "globalThis.intruder = true";
          document.body.append(script);
          setTimeout("globalThis.intruder = true");
          void fetch("https://example.com/").catch(() => undefined);
        }),
    );
    expect(await refused).toEqual(["connect-src", "script-src", "script-src-elem"]);
    expect(await page.evaluate(() => "intruder" in globalThis)).toBe(false);
    await page.context().close();
  });
});

describe("exported page", () => {
  it("runs from disk and gives the same answers as the served page", async () => {
    const served = await openPlayground(browser());
    const page = await openPlayground(browser(), { url: pathToFileURL(PAGE).href });
    expect(page.url()).toMatch(/^file:/);
    for (const text of ["wake me up at half past six", "Where is my parcel?", "你的验证码是 482913", ""]) {
      await type(served, `${text} `);
      await type(page, `${text} `);
      expect(await bars(page)).toEqual(await bars(served));
    }
    expect(await page.isVisible("#chips")).toBe(true);
    await drop(page, "other.retvec", model("plain.retvec"));
    await page.waitForFunction(() => document.getElementById("model-note")?.textContent?.includes("156 kB"));
    expectNoProblems(page);
    await page.context().close();
    await served.context().close();
  });

  it("requests nothing", async () => {
    const context = await browser().newContext();
    const page = await context.newPage();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(PAGE).href);
    await label(page);
    expect(asked.filter((url) => !url.startsWith("data:,"))).toEqual([pathToFileURL(PAGE).href]);
    await context.close();
  });

  it("is 500 kB at most", () => {
    console.log(`exported page: ${statSync(PAGE).size.toLocaleString("en")} bytes`);
    expect(statSync(PAGE).size).toBeLessThanOrEqual(500_000);
  });
});

describe("what is missing", () => {
  it("WebAssembly: the message is shown in place of the label", async () => {
    const without = await launch("--js-flags=--jitless"); // as in "hardened" browsers
    const page = await (await without.newContext()).newPage();
    await page.goto(URL);
    expect(await page.evaluate(() => typeof WebAssembly)).toBe("undefined");
    expect(await alert(page, "labels-error")).toMatch(/^The model cannot run: this browser has no WebAssembly/);
    expect(await page.textContent("#top-label")).toBe("No model");
    await without.close();
  });

  it("the model on the server: the message is shown beside its name", async () => {
    const context = await browser().newContext();
    const page = await context.newPage();
    await page.route("**/models/*", (route) => route.fulfill({ status: 404, body: "" }));
    await page.goto(URL);
    expect(await alert(page, "model-error")).toMatch(
      /^Cannot load models\/rejecting\.retvec from the server \(404 .*\)\. Is retvec-lite demo still running\?$/,
    );
    await context.close();
  });

  it.each(["engine.wasm", "models.json"])("%s: says what cannot be loaded", async (name) => {
    const context = await browser().newContext();
    const page = await context.newPage();
    await page.route(`**/${name}`, (route) => route.abort());
    await page.goto(URL);
    expect(await alert(page, "labels-error")).toMatch(new RegExp(`^Cannot load ${name.replace(".", "\\.")}`));
    await context.close();
  });
});
