// Compile src/ to dist/, and put the engine inside: packed with gzip it has less than half the bytes, and no page has to find a file.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const place = (path) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(place("../package.json"), "utf-8"));
const [, expected] = /__version__: Final = "(.*)"/.exec(readFileSync(place("../../retvec_lite/version.py"), "utf-8"));
if (version !== expected)
  throw new Error(`npm/package.json has version ${version}, but retvec_lite/version.py ${expected}.`);

rmSync(place("../dist"), { recursive: true, force: true });
const compiler = createRequire(import.meta.url)
  .resolve("typescript/package.json")
  .replace("package.json", "bin/tsc");
for (const options of [["--declaration", "false", "--removeComments"], ["--emitDeclarationOnly"]]) {
  execFileSync(process.execPath, [compiler, "--project", place(".."), ...options], { stdio: "inherit" }); // comments stand in the types
}
const engine = gzipSync(readFileSync(place("../../retvec_lite/web/engine.wasm")), { level: 9 }).toString("base64");
writeFileSync(place("../dist/engine_wasm.js"), `export const ENGINE =\n  "${engine}";\n`);
copyFileSync(place("../../LICENSE"), place("../LICENSE"));
