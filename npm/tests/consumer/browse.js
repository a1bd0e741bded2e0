/** `node browse.js CHROMIUM URL FOUND`: print what the page found, as JSON, once the expression FOUND is true. playwright-core is that of the repository. */
import { chromium } from "playwright-core";

const [, , executablePath, url, found] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
await page.goto(url);
await page.waitForFunction(found, undefined, { timeout: 1_800_000 }).catch(() => undefined);
console.log(JSON.stringify({ found: await page.evaluate(found), problems }));
await browser.close();
