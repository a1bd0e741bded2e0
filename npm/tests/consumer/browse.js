/** `node browse.js CHROMIUM URL FOUND`: print what the page found, as JSON, once the expression FOUND is true. playwright-core is that of the repository. */
import { chromium } from "playwright-core";

const PATIENCE = 1_800_000;
const [, , executablePath, url, expression] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
await page.goto(url);
const end = Date.now() + PATIENCE;
// A server for development loads the page anew when it has prepared a package.
const reloads = (error) => (/context was destroyed/.test(error) ? undefined : Promise.reject(error));
let found;
while (!(found = await page.evaluate(expression).catch(reloads)) && !problems.length && Date.now() < end) {
  await new Promise((next) => setTimeout(next, 100));
}
console.log(JSON.stringify({ found, problems }));
await browser.close();
