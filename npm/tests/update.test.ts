import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { RetvecError } from "../src/errors.js";
import { Update } from "../src/update.js";

interface Case {
  readonly name: string;
  /** Why it is refused; null where it is not. */
  readonly code: string | null;
  readonly manifest: string;
  readonly signature: string;
  readonly key: string;
  readonly model: string;
  readonly installed: number;
  readonly file: string;
  readonly content: string;
  readonly answers: Readonly<Record<string, readonly string[]>>;
}

/** Python and Kotlin take and refuse the same. */
const cases = JSON.parse(readFileSync(new URL("../../tests/data/updates.json", import.meta.url), "utf-8")) as Case[];
const newer = cases[0] as Case;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function take(given: Case): Promise<void> {
  const signature = Uint8Array.from(Buffer.from(given.signature, "hex"));
  const update = await Update.verify(bytesOf(given.manifest), signature, given.key, given.model, given.installed);
  await update.check(given.file, bytesOf(given.content));
  await update.tryTexts(async (text) => given.answers[text] ?? []);
}

async function refusalOf(given: Case): Promise<RetvecError | undefined> {
  try {
    await take(given);
  } catch (error) {
    expect(error).toBeInstanceOf(RetvecError);
    return error as RetvecError;
  }
  return undefined;
}

it.each(cases)("$name: $code", async (given) => {
  const refusal = await refusalOf(given);
  expect(refusal?.code ?? null).toBe(given.code);
  if (refusal) expect(refusal.message).toMatch(/^[^\n]+\.$/);
});

it("there are cases of each kind", () => {
  expect(cases.filter(({ code }) => code === null).length).toBeGreaterThan(5);
  expect(new Set(cases.map(({ code }) => code)).size).toBe(10);
});

it("an installed version that JSON does not have is refused as well", async () => {
  for (const installed of [Number.NaN, Number.POSITIVE_INFINITY, -0.5, 7n, Symbol("7"), () => 6]) {
    const refusal = await refusalOf({ ...newer, installed: installed as unknown as number });
    expect(refusal?.code).toBe("UPDATE_INSTALLED");
  }
});

it("bytes may be part of a larger buffer, or a whole one", async () => {
  const around = bytesOf(`xx${newer.manifest}xx`);
  const signature = Uint8Array.from(Buffer.from(newer.signature, "hex"));
  for (const manifest of [around.subarray(2, around.length - 2), around.slice(2, -2).buffer]) {
    const update = await Update.verify(manifest, signature.buffer, newer.key, "router");
    expect(update.manifest.version).toBe(7);
  }
});

it("a host without Ed25519 or without WebCrypto says so", async () => {
  const { subtle } = crypto;
  const importKey = () => Promise.reject(new DOMException("Unrecognized algorithm name", "NotSupportedError"));
  for (const lacking of [{ subtle: { ...subtle, importKey } }, {}, undefined]) {
    vi.stubGlobal("crypto", lacking);
    expect((await refusalOf(newer))?.code).toBe("UPDATE_PLATFORM");
    vi.unstubAllGlobals();
  }
});
