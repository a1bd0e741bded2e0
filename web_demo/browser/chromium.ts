/** The browser of all tests in it. pytest names it, and where screenshots go. */
import { mkdirSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";

export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set. Run these tests with pytest tests/web.`);
  return value;
}

/** Where screenshots go. */
export const PICTURES = setting("RETVEC_PICTURES");
mkdirSync(PICTURES, { recursive: true });

export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function launch(...flags: string[]): Promise<Browser> {
  return chromium.launch({ executablePath: setting("RETVEC_CHROMIUM"), args: [...FLAGS, ...flags] });
}

/** A browser for the tests of one file. */
export function useBrowser(...flags: string[]): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launch(...flags);
  });
  afterAll(() => browser?.close());
  return () => browser as Browser;
}

/** Collect what a page logs, for `expectNoProblems`. */
export function watch(page: Page): void {
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.get(page)?.push(message.text());
  });
  page.on("pageerror", (error) => problems.get(page)?.push(String(error)));
  problems.set(page, []);
}

const problems = new WeakMap<Page, string[]>();

/** Check that the console is empty: no blocked script or style, no missing file, no exception. */
export function expectNoProblems(page: Page): void {
  expect(problems.get(page)).toEqual([]);
}
