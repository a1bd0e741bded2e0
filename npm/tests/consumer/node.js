/** `node node.js GOLDEN`: by paths. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "retvec-lite";
import { check } from "./check.js";

const place = (name) => join(process.argv[2], name);
console.log(await check(load, async (name) => JSON.parse(readFileSync(place(name), "utf-8")), place));
