/** `node misuse_node.js GOLDEN`: one file of each kind. */
import { join } from "node:path";
import { load } from "retvec-lite";
import { misuse } from "./misuse.js";

let refused = 0;
for (const name of ["plain.retvec", "rejecting.retvec", "several.retvec"]) {
  refused += await misuse(await load(join(process.argv[2], name)));
}
console.log(refused);
