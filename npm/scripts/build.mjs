// Compile src/ to dist/ as modules and to dist/cjs/ as CommonJS, and put the engine beside and inside.
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
const commonjs = ["--module", "CommonJS", "--moduleResolution", "Bundler", "--verbatimModuleSyntax", "false"];
for (const kind of [[], ["--outDir", place("../dist/cjs"), ...commonjs]]) {
  for (const options of [["--declaration", "false", "--removeComments"], ["--emitDeclarationOnly"]]) {
    execFileSync(process.execPath, [compiler, "--project", place(".."), ...kind, ...options], { stdio: "inherit" }); // comments stand in the types
  }
}
writeFileSync(place("../dist/cjs/package.json"), '{ "type": "commonjs" }\n');

// Bundlers warn of an import whose name they do not know, unless these comments, which the compiler removes, say that they need not.
const source = place("../dist/source.js");
const compiled = readFileSync(source, "utf-8");
const marked = compiled.replace("import(FILES)", "import(/* webpackIgnore: true */ /* @vite-ignore */ FILES)");
if (marked === compiled) throw new Error("dist/source.js has no import(FILES).");
writeFileSync(source, marked);

// Pages find the engine inside a module: packed, it has less than half the bytes. CommonJS is for machines with files.
const engine = readFileSync(place("../../retvec_lite/web/engine.wasm"));
writeFileSync(place("../dist/engine.wasm"), engine);
writeFileSync(
  place("../dist/engine.wasm.d.ts"),
  'declare const engine: import("./load.js").Engine;\nexport default engine;\n',
);
const packed = gzipSync(engine, { level: 9 }).toString("base64");
writeFileSync(place("../dist/engine_wasm.js"), `export const ENGINE =\n  "${packed}";\n`);
writeFileSync(
  place("../dist/cjs/engine_wasm.js"),
  'exports.ENGINE = require("node:fs").readFileSync(require("node:path").join(__dirname, "../engine.wasm"));\n',
);
copyFileSync(place("../../LICENSE"), place("../LICENSE"));
