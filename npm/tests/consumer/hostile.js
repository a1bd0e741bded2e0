/** `node --expose-gc hostile.js GOLDEN`: files with a right checksum whose metadata and settings disagree, all of them refused. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "retvec-lite";
import { messageOf } from "./misuse.js";

const METADATA = 0x8000;
const files = Object.fromEntries(
  ["plain", "rejecting", "several"].map((name) => [name, readFileSync(join(process.argv[2], `${name}.retvec`))]),
);

/** Write the checksum that belongs to a file. */
function mended(file) {
  file.fill(0, 24, 32);
  let sum = 0n;
  for (let at = 0; at < file.length; at += 4) sum += BigInt(file.readUInt32LE(at)) * BigInt((at / 4) * 2 + 1);
  file.writeBigUInt64LE(BigInt.asUintN(64, sum), 24);
  return file;
}

function sectionAt(file, number) {
  for (let at = 64; at < 64 + 16 * file.readUInt32LE(20); at += 16) {
    if (file.readUInt32LE(at) === number) return at;
  }
  throw new Error(`no section ${number}`);
}

/** Return a file with other metadata. They are the last section, or they get a place behind all. */
function withMetadata(file, change) {
  const entry = sectionAt(file, METADATA);
  const start = file.readUInt32LE(entry + 4);
  const metadata = JSON.parse(file.subarray(start, start + file.readUInt32LE(entry + 8)).toString());
  const json = Buffer.from(change(metadata));
  assert.equal(64 + 16 * file.readUInt32LE(20) - 16, entry, "the metadata are not the last section");
  const made = Buffer.concat([file.subarray(0, start), json, Buffer.alloc((64 - (json.length % 64)) % 64)]);
  made.writeUInt32LE(json.length, entry + 8);
  made.writeUInt32LE(made.length, 16);
  return mended(made);
}

function withSetting(file, place, value) {
  const made = Buffer.from(file);
  made.writeUInt32LE(value, made.readUInt32LE(sectionAt(made, 1) + 4) + 4 * place);
  return mended(made);
}

const changed = (change) => (metadata) => {
  change(metadata);
  return JSON.stringify(metadata);
};
const damaged = "a.retvec is damaged: its metadata";
const differ = (what) => `${damaged} and its engine differ in ${what}. Export it again.`;
const incomplete = `${damaged} are incomplete.`;
const foreign = "The metadata in a.retvec were not written by retvec-lite.";
const cases = [
  ["plain", changed((metadata) => metadata.labels.push("one more")), differ("labels")],
  ["plain", changed((metadata) => metadata.labels.pop()), differ("labels")],
  ["plain", changed((metadata) => (metadata.labels = "labels")), differ("labels")],
  ["plain", changed((metadata) => (metadata.labels[1] = "another")), differ("labels")],
  ["plain", changed((metadata) => metadata.labels.reverse()), differ("labels")],
  ["plain", changed((metadata) => (metadata.encoder.max_chars *= 2)), differ("max_chars")],
  ["plain", changed((metadata) => (metadata.encoder.max_words = 1)), differ("max_words")],
  ["plain", changed((metadata) => (metadata.encoder.word_length = "16")), differ("word_length")],
  ["plain", changed((metadata) => (metadata.encoder.max_chars = -1)), differ("max_chars")],
  ["plain", changed((metadata) => (metadata.encoder = 7)), incomplete],
  ["plain", changed((metadata) => (metadata.contract_version = 1)), differ("contract_version")],
  ["plain", changed((metadata) => (metadata.contract_version = 99)), differ("contract_version")],
  ["several", changed((metadata) => (metadata.decision.thresholds = null)), differ("thresholds")],
  ["plain", changed((metadata) => (metadata.decision = 5)), incomplete],
  ["plain", changed((metadata) => (metadata.format = "other")), foreign],
  ["plain", () => "{", foreign],
  ["plain", () => "null", foreign],
];
let refused = 0;
const refuse = async (file, message) => {
  const found = await messageOf(() => load(file, { name: "a.retvec" }));
  assert.ok(found.startsWith(message), `${found}\nis not\n${message}`);
  refused += 1;
};
for (const [name, change, message] of cases) await refuse(withMetadata(files[name], change), message);

// The helpers change nothing by themselves.
await load(
  withMetadata(
    files.plain,
    changed(() => undefined),
  ),
);
await load(
  withSetting(files.plain, 0, files.plain.readUInt32LE(files.plain.readUInt32LE(sectionAt(files.plain, 1) + 4))),
);

// Settings that the engine goes by: it refuses them, or the metadata tell.
for (const place of [0, 1, 2, 3, 13, 25]) {
  for (const value of [0, 1, 2, 3, 5, 17, 4096, 50_000, 2 ** 31, 2 ** 32 - 1]) {
    const made = withSetting(files.plain, place, value);
    if (!made.equals(files.plain)) await refuse(made, "a.retvec");
  }
}

// A refused file leaves nothing behind: all memories can be collected.
const { instantiate } = WebAssembly;
const memories = [];
WebAssembly.instantiate = async (module) => {
  const instance = await instantiate(module);
  memories.push(new WeakRef(instance.exports.memory));
  return instance;
};
const late = withMetadata(
  files.plain,
  changed((metadata) => metadata.labels.pop()),
);
for (let turn = 0; turn < 5; turn++) {
  await messageOf(() => load(late));
  await messageOf(() => load(withSetting(files.plain, 1, 0)));
}
const kept = await load(files.plain);
const gone = await load(files.plain);
gone.close();
await new Promise((resolve) => setTimeout(resolve));
gc();
assert.equal(memories.length, 12);
assert.deepEqual(
  memories.map((memory) => memory.deref() !== undefined),
  memories.map((_, at) => at === 10),
);
assert.ok(kept.bytes > 0);
console.log(refused);
