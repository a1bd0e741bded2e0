/** `node edge_run.js`: bundle edge.js, run it in workerd, and print what it answers. */
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const loader = { ".wasm": "copy", ".retvec": "binary" };
await build({ entryPoints: ["edge.js"], bundle: true, format: "esm", outdir: "dist", loader, assetNames: "[name]" });
const modules = [
  { type: "ESModule", path: "dist/edge.js" },
  { type: "CompiledWasm", path: "dist/engine.wasm" },
];
const host = new Miniflare({ modules, modulesRoot: "dist" });
const answer = await host.dispatchFetch("http://localhost/", { method: "POST", body: "my pakcage never arived" });
console.log(await answer.text());
await host.dispose();
