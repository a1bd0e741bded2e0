/** `node browse.js CHROMIUM URL`: print what the page found, as JSON. playwright-core is that of the repository. */
import { chromium } from "playwright-core";

const [, , executablePath, url] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
await page.goto(url);
await page.waitForFunction(() => globalThis.found, undefined, { timeout: 1_800_000 }).catch(() => undefined);
console.log(JSON.stringify({ found: await page.evaluate(() => globalThis.found), problems }));
await browser.close();
