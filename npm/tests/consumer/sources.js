/** `node sources.js GOLDEN`: everything that `load` takes, and what it says of everything else. */
import assert from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "./misuse.js";

// Before the package is there: what fails once must not fail for ever, and a file that is no .retvec must not start the engine.
const { compile } = WebAssembly;
let compiled = 0;
WebAssembly.compile = (bytes) => {
  compiled += 1;
  return compiled === 1 ? Promise.reject(new RangeError("out of memory")) : compile(bytes);
};
const { load } = await import("retvec-lite");

const folder = process.argv[2];
const path = join(folder, "plain.retvec");
const bytes = readFileSync(path);
const tflite = readFileSync(join(folder, "rejecting.tflite"));
const page = "\ufeff\n<!DOCTYPE html><html><head><title>Not found</title></head></html>";

assert.match(
  await messageOf(() => load(join(folder, "rejecting.tflite"))),
  /^rejecting\.tflite is a \.tflite\. Export /,
);
assert.equal(compiled, 0);
assert.match(await messageOf(() => load(path)), /^The engine cannot start: out of memory\. /);
const first = await load(path);
await load(path);
assert.equal(compiled, 2);
const expected = await first.probabilities("where is my parcel");

const server = createServer((request, response) => {
  const answers = {
    "/a.retvec": [200, {}, bytes],
    "/typed.retvec": [200, { "content-type": "text/html" }, bytes],
    "/page.retvec": [200, { "content-type": "text/html; charset=utf-8" }, "<p>Log in"],
    "/plain.retvec": [200, { "content-type": "text/plain" }, page],
    "/empty.retvec": [200, {}, ""],
    "/short.retvec": [200, { "content-length": bytes.length }, undefined],
    "/busy.retvec": [503, {}, "later"],
  };
  if (request.url === "/never.retvec") return;
  const [status, headers, body] = answers[request.url.split("?")[0]] ?? [404, {}, page];
  response.writeHead(status, headers);
  if (body !== undefined) return response.end(body);
  response.write(bytes.subarray(0, 1000));
  setTimeout(() => response.destroy(), 50);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}`;

// What an app may have.
const padded = Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(5)]);
const shared = new SharedArrayBuffer(bytes.length);
new Uint8Array(shared).set(bytes);
const whole = Uint8Array.from(bytes);
copyFileSync(path, "a copy#1.retvec");
const sources = {
  path,
  relative: "a copy#1.retvec",
  "file URL": pathToFileURL(path),
  "text of a file URL": String(pathToFileURL(path)),
  address: `${url}/a.retvec?version=2`,
  URL: new URL(`${url}/a.retvec`),
  Response: await fetch(`${url}/a.retvec`),
  "promise of a Response": fetch(`${url}/a.retvec`),
  "wrong type": `${url}/typed.retvec`,
  Blob: new Blob([bytes]),
  File: new File([bytes], "a.retvec"),
  ArrayBuffer: whole.buffer,
  SharedArrayBuffer: shared,
  Uint8Array: whole,
  "Buffer at an offset": padded.subarray(3, 3 + bytes.length),
  DataView: new DataView(whole.buffer),
  Uint16Array: new Uint16Array(whole.buffer),
};
for (const [name, source] of Object.entries(sources)) {
  const classifier = await load(source);
  assert.deepEqual(await classifier.probabilities("where is my parcel"), expected, name);
  classifier.close();
}

// What it cannot use.
const used = await fetch(`${url}/a.retvec`);
await used.text();
const what = "load takes the address or path of a file, a Response, a Blob or bytes, not";
const ready = "A ready-made classifier is a file of the npm package retvec-lite-models:";
const moved = new ArrayBuffer(8);
structuredClone(moved, { transfer: [moved] });
const cases = [
  [undefined, `${what} undefined.`],
  [null, `${what} null.`],
  [5, `${what} 5.`],
  ["", `${what} "".`],
  [{}, `${what} an object.`],
  [[1, 2], `${what} a list.`],
  [[], `${what} an empty list.`],
  [new Map(), `${what} an object of the class Map.`],
  [load, `${what} a function.`],
  ["missing.retvec", "Cannot load missing.retvec (there is no such file)."],
  [
    "sentiment",
    `Cannot load sentiment (there is no such file). ${ready} import.meta.resolve("retvec-lite-models/sentiment.retvec").`,
  ],
  [
    "retvec-lite-models/spam.retvec",
    `Cannot load retvec-lite-models/spam.retvec (there is no such file). ${ready} import.meta.resolve("retvec-lite-models/spam.retvec").`,
  ],
  [folder, `Cannot load ${folder} (it is a folder).`],
  [`${url}/none.retvec`, `Cannot load ${url}/none.retvec (404 Not Found).`],
  [fetch(`${url}/none.retvec`), `Cannot load ${url}/none.retvec (404 Not Found).`],
  [`${url}/busy.retvec`, `Cannot load ${url}/busy.retvec (503 Service Unavailable).`],
  [`${url}/page.retvec`, "The server sent a web page instead of page.retvec."],
  [`${url}/plain.retvec`, "The server sent a web page instead of plain.retvec."],
  [fetch(`${url}/plain.retvec`), "The server sent a web page instead of plain.retvec."],
  [Buffer.from(page), "The file is a web page, not a .retvec file."],
  [new File([page], "a.retvec"), "a.retvec is a web page, not a .retvec file."],
  [`${url}/empty.retvec`, "empty.retvec is empty."],
  [new Uint8Array(), "The file is empty."],
  [`${url}/short.retvec`, `Cannot load ${url}/short.retvec (`],
  ["http://127.0.0.1:1/a.retvec", "Cannot load http://127.0.0.1:1/a.retvec (no answer)."],
  ["nothing://a.retvec", "Cannot load nothing://a.retvec (no answer)."],
  [Response.error(), "Cannot load the answer (no answer)."],
  [{ then: (_, refuse) => refuse(new TypeError("fetch failed")) }, "Cannot load the answer (fetch failed)."],
  [moved, "Cannot load the bytes (they were transferred elsewhere)."],
  ["x".repeat(100_000), `Cannot load ${"x".repeat(200)}... (`],
  [new Response(page), "The server sent a web page instead of the file."],
  [used, `Cannot load ${url}/a.retvec (its body was read before: pass response.clone(), or the bytes).`],
  [bytes.subarray(0, 5), "The file (5 bytes) is not a .retvec file, or it is cut short."],
  [Buffer.from("GIF89a..."), "The file (9 bytes) is not a .retvec file"],
  [bytes.subarray(0, 4000), "The file: The file is not as long as it says"],
  [tflite.subarray(0, 4000), "The file is a .tflite. Export the classifier with --format engine"],
];
let refused = 0;
for (const [source, message] of cases) {
  const found = await messageOf(() => load(source));
  assert.ok(found.startsWith(message), `${found}\nis not\n${message}`);
  refused += 1;
}
for (let length = 0; length < bytes.length; length += 997) {
  await messageOf(() => load(bytes.subarray(0, length)));
}

// Wrong options.
for (const [options, message] of [
  [null, "The options of load are an object ({ name, engine, signal, words }), not null."],
  ["a.retvec", 'The options of load are an object ({ name, engine, signal, words }), not "a.retvec".'],
  [{ nmae: "a" }, "load has no option nmae. It has name, engine, signal, words."],
  [{ name: 5 }, "The option name of load is a string, not 5."],
  [
    { engine: "engine.wasm" },
    'The option engine of load is engine.wasm: its bytes, or a WebAssembly.Module, not "engine.wasm".',
  ],
  [{ words: -1 }, "The option words of load is a whole number from 0 to 65536, not -1."],
  [{ signal: "now" }, 'The option signal of load is an AbortSignal, not "now".'],
  [{ engine: new Uint8Array(9) }, "The engine cannot start: WebAssembly.compile(): "],
  [
    { engine: Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0) },
    "The engine cannot start: this is not the engine.wasm of retvec-lite.",
  ],
]) {
  const found = await messageOf(() => load(path, options));
  assert.ok(found.startsWith(message), `${found}\nis not\n${message}`);
  refused += 1;
}

// A signal that is aborted before, while the server lets one wait, and for an answer that never comes; one that is not aborted changes nothing.
const before = AbortSignal.abort(new Error("before"));
await assert.rejects(() => load(path, { signal: before }), { message: "before" });
for (const source of [`${url}/never.retvec`, new Promise(() => undefined)]) {
  const signal = AbortSignal.timeout(50);
  await assert.rejects(() => load(source, { signal }), { name: "TimeoutError" });
}
const { signal } = new AbortController();
assert.deepEqual((await load(`${url}/a.retvec`, { signal })).probabilities("where is my parcel"), expected);
server.closeAllConnections();
server.close();
console.log(Object.keys(sources).length, refused);
