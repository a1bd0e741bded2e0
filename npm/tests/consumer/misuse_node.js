/** `node misuse_node.js GOLDEN`: both classes that run a `.retvec`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { insideEngine, load, RetvecEngine } from "retvec-lite";
import { misuse } from "./misuse.js";

let refused = 0;
for (const name of ["plain.retvec", "rejecting.retvec", "several.retvec"]) {
  const path = join(process.argv[2], name);
  refused += await misuse(await load(path));
  refused += await misuse(await RetvecEngine.load(await insideEngine(), readFileSync(path)));
}
console.log(refused);
