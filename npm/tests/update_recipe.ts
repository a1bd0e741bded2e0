// The recipe of docs/updates.md for web pages: copy it into yours.
import { type Classifier, load, Update } from "../src/index.js";

const KEY = "the 64 digits of update.key.pub";
const NAME = "router";
const FILE = "classifier-int8.retvec";

/** Get an update and keep it for the next start. Throws where it must not be used; `UPDATE_OLD` is the usual day. */
export async function getUpdate(from: string, bundled: number, key = KEY): Promise<number> {
  const get = async (name: string) => {
    const answer = await fetch(`${from}/${name}`, { cache: "no-cache" });
    if (!answer.ok) throw new Error(`${from}/${name}: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  const cache = await caches.open(NAME);
  const [newest = 0] = await versions(cache);
  const manifest = await get("manifest.json");
  const signature = await get("manifest.json.sig");
  const update = await Update.verify(manifest, signature, key, NAME, Math.max(bundled, newest));
  const file = await get(FILE);
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

/** Open the newest model that works; `bundled` is the version that comes with the page, at the address `beside`. */
export async function openNewest(bundled: number, beside: string): Promise<Classifier> {
  const cache = await caches.open(NAME);
  for (const version of await versions(cache)) {
    const kept = version > bundled ? await cache.match(`/${version}`) : undefined;
    if (kept) {
      try {
        return await load(kept);
      } catch {
        await rollBack(version);
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
  return kept.map(({ url }) => Number(new URL(url).pathname.slice(1))).sort((a, b) => b - a);
}
