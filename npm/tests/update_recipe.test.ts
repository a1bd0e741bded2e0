/** The recipe of docs/updates.md for web pages, with a real model, a server and a cache that are Maps. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { load, RetvecError, type Source } from "../src/index.js";
import { getUpdate, openNewest, rollBack } from "./update_recipe.js";

const engine = vi.hoisted(() => ({ bytes: undefined as Uint8Array<ArrayBuffer> | undefined, fails: false }));
engine.bytes = new Uint8Array(readFileSync(new URL("../../retvec_lite/web/engine.wasm", import.meta.url)));
// The engine inside the package is there after a build only.
vi.mock("../src/index.js", async () => {
  const core = await import("../src/core.js");
  const broken = Uint8Array.of(0, 0x61);
  return { ...core, load: (source: Source) => core.load(source, { engine: engine.fails ? broken : engine.bytes }) };
});
const model = new Uint8Array(readFileSync(new URL("../../golden/plain.retvec", import.meta.url)));
const other = new Uint8Array(readFileSync(new URL("../../golden/several.retvec", import.meta.url)));

const hex = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString("hex");
const keys = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
const key = hex(await crypto.subtle.exportKey("raw", keys.publicKey));
const labels = (await load(model)).predictAll("where is my parcel").map(({ label }) => label);

/** What the server has, and what the browser kept. */
let served: Map<string, Uint8Array<ArrayBuffer>>;
let kept: Map<string, Response>;

async function publish(version: number, changes: object = {}, file = model): Promise<void> {
  const manifest = {
    format: "retvec-lite-manifest",
    manifest_version: 1,
    contract_version: 3,
    name: "router",
    version,
    labels: ["one", "two"],
    texts: [{ text: "where is my parcel", labels }],
    files: [
      { file: "classifier-int8.retvec", bytes: file.length, sha256: hex(await crypto.subtle.digest("SHA-256", file)) },
    ],
    ...changes,
  };
  const signed = new TextEncoder().encode(JSON.stringify(manifest));
  served = new Map([
    ["manifest.json", signed],
    ["manifest.json.sig", new Uint8Array(await crypto.subtle.sign("Ed25519", keys.privateKey, signed))],
    ["classifier-int8.retvec", file],
  ]);
}

beforeEach(() => {
  kept = new Map();
  vi.stubGlobal("fetch", async (address: string) => {
    const found = served.get(address.split("/").at(-1) as string);
    return new Response(found ?? null, { status: found ? 200 : 404 });
  });
  const cache = {
    keys: async () => [...kept.keys()].map((path) => ({ url: `https://example.com${path}` })),
    match: async (path: string) => kept.get(path)?.clone(),
    put: async (path: string, answer: Response) => void kept.set(path, answer),
  };
  vi.stubGlobal("caches", { open: async () => cache });
});
afterEach(() => vi.unstubAllGlobals());

/** Which model is used now: the two have different heads. */
async function used(bundled = 1): Promise<unknown> {
  served.set("bundled.retvec", other);
  return (await openNewest(bundled, "https://example.com/bundled.retvec")).metadata.head;
}

const UPDATE = "pool";
const BUNDLED = "linear";

it("an update is used from the next start on, and only a newer one after it", async () => {
  await publish(7);
  expect(await used()).toBe(BUNDLED);
  expect(await getUpdate("https://example.com", 1, key)).toBe(7);
  expect(await used()).toBe(UPDATE);
  for (const version of [7, 6]) {
    await publish(version);
    await expect(getUpdate("https://example.com", 1, key)).rejects.toMatchObject({ code: "UPDATE_OLD" });
  }
  expect(await used(7)).toBe(BUNDLED); // a newer page brings as new a model
});

it("a half file, another file, wrong answers and a missing file change nothing", async () => {
  const faults: [unknown, () => Promise<unknown>][] = [
    [
      { code: "UPDATE_FILE" },
      async () => (await publish(7), served.set("classifier-int8.retvec", model.slice(0, -64))),
    ],
    [{ code: "UPDATE_FILE" }, async () => (await publish(7), served.set("classifier-int8.retvec", other))],
    [{ code: "UPDATE_ANSWERS" }, async () => publish(7, { texts: [{ text: "where is my parcel", labels: [] }] })],
    [{ code: "UPDATE_CONTRACT" }, async () => publish(7, { contract_version: 4 })],
    [{ code: "RVL_TRUNCATED" }, async () => publish(7, {}, model.slice(0, -64))],
    [
      { message: "https://example.com/manifest.json.sig: 404" },
      async () => (await publish(7), served.delete("manifest.json.sig")),
    ],
  ];
  for (const [expected, spoil] of faults) {
    await spoil();
    await expect(getUpdate("https://example.com", 1, key)).rejects.toMatchObject(expected as object);
    expect(kept.size).toBe(0);
  }
  expect(await used()).toBe(BUNDLED);
});

it("a version that was rolled back is never taken again", async () => {
  await publish(7);
  await getUpdate("https://example.com", 1, key);
  await publish(8);
  await getUpdate("https://example.com", 1, key);
  await rollBack(8);
  expect(await used()).toBe(UPDATE); // version 7
  await expect(getUpdate("https://example.com", 1, key)).rejects.toMatchObject({ code: "UPDATE_OLD" });
  kept.set("/7", new Response("spoiled")); // by the disk
  expect(await used()).toBe(BUNDLED);
  await publish(9);
  expect(await getUpdate("https://example.com", 1, key)).toBe(9);
});

it("what is no fault of the file rolls nothing back", async () => {
  await publish(7);
  await getUpdate("https://example.com", 1, key);
  engine.fails = true; // as where a Content Security Policy forbids WebAssembly
  await expect(used()).rejects.toBeInstanceOf(RetvecError);
  engine.fails = false;
  expect(await used()).toBe(UPDATE);
});

it("what else lies in the cache is no version, and a version that is no number is an error", async () => {
  kept.set("/", new Response("else"));
  kept.set("/engine.wasm", new Response("else"));
  kept.set("/1e3", new Response("else"));
  for (const version of [7, 6]) {
    await publish(version);
    const got = getUpdate("https://example.com", 1, key);
    await (version === 7 ? expect(got).resolves.toBe(7) : expect(got).rejects.toMatchObject({ code: "UPDATE_OLD" }));
  }
  await publish(9);
  for (const version of [Number.NaN, undefined, "x", {}]) {
    const got = getUpdate("https://example.com", version as number, key);
    await expect(got).rejects.toMatchObject({ code: "UPDATE_INSTALLED" });
  }
});

it("no more is read of an answer than it may have", async () => {
  for (const [name, most] of [
    ["manifest.json", 4e6],
    ["manifest.json.sig", 64],
    ["classifier-int8.retvec", model.length],
  ] as const) {
    await publish(7);
    let given = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (to) => (to.enqueue(new Uint8Array(65_536)), void (given += 65_536)),
    });
    const { get } = served;
    served.get = (asked) =>
      asked === name ? (endless as unknown as Uint8Array<ArrayBuffer>) : get.call(served, asked);
    await expect(getUpdate("https://example.com", 1, key)).rejects.toThrow(`${name}: more than ${most} bytes`);
    expect(given).toBeLessThan(most + 3 * 65_536);
    expect(kept.size).toBe(0);
  }
});
