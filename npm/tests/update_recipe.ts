// The recipe of docs/updates.md for web pages: copy it into yours.
import { type Classifier, load, RetvecError, Update } from "../src/index.js";

const KEY = "the 64 digits of update.key.pub, and those of spare.key.pub";
const NAME = "router";
const FILE = "classifier-int8.retvec";
/** Faults of a file itself. Those of the engine, the memory or the disk may be gone at the next start. */
const FAULTS = ["RVL_NOT_RETVEC", "RVL_TRUNCATED", "RVL_CHANGED", "RVL_DAMAGED"];

/** Get an update and keep it for the next start. Throws where it must not be used; `UPDATE_OLD` is the usual day. */
export async function getUpdate(from: string, bundled: number, key = KEY): Promise<number> {
  const cache = await caches.open(NAME);
  const [newest = 0] = await versions(cache);
  const manifest = await get(`${from}/manifest.json`, 4e6);
  const signature = await get(`${from}/manifest.json.sig`, 64);
  const update = await Update.verify(manifest, signature, key, NAME, Math.max(bundled, newest));
  const listed = update.manifest.files.find(({ file }) => file === FILE);
  const file = await get(`${from}/${FILE}`, listed?.bytes ?? 0);
  await update.check(FILE, file);
  const classifier = await load(file);
  try {
    await update.tryTexts((text) => classifier.predictAll(text).map(({ label }) => label));
  } finally {
    classifier.close();
  }
  await cache.put(`/${update.manifest.version}`, new Response(file)); // whole or not at all
  return update.manifest.version;
}

/** Get a file, of which no more is read than it may have. */
async function get(address: string, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch(address, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = answer.body?.getReader();
  let size = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > most) {
      await reader?.cancel();
      throw new Error(`${address}: more than ${most} bytes`);
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Open the newest model that works; `bundled` is the version that comes with the page, at the address `beside`. */
export async function openNewest(bundled: number, beside: string): Promise<Classifier> {
  const cache = await caches.open(NAME);
  for (const version of await versions(cache)) {
    const kept = version > bundled ? await cache.match(`/${version}`) : undefined;
    if (kept) {
      try {
        return await load(kept);
      } catch (error) {
        if (error instanceof RetvecError && FAULTS.includes(error.code)) await rollBack(version);
      }
    }
  }
  return load(beside);
}

/** Never use a version again. An empty answer stays, so that it is not taken for a new one. */
export async function rollBack(version: number): Promise<void> {
  await (await caches.open(NAME)).put(`/${version}`, new Response(null));
}

/** The versions that were ever kept, newest first. */
async function versions(cache: Cache): Promise<number[]> {
  const kept = await cache.keys();
  const paths = kept.map(({ url }) => new URL(url).pathname).filter((path) => /^\/[1-9]\d*$/.test(path));
  return paths.map((path) => Number(path.slice(1))).sort((a, b) => b - a);
}
