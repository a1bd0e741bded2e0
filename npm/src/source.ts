/** Get the bytes of a file from wherever an app has it. */
import { causeOf, RetvecError } from "./errors.js";
import { isA, shown } from "./given.js";
import { latin1Of } from "./text.js";

/** A class of the host, as its types know it; projects without types of the web have none. */
export type Host<Name extends string> =
  typeof globalThis extends Record<Name, { prototype: infer Type }> ? Type : never;

/** Where an exported file is: its address, its path (Node.js), the answer of a server, or its bytes. */
export type Source = string | Host<"URL"> | Host<"Response"> | Host<"Blob"> | ArrayBufferLike | ArrayBufferView;

/** A file and what messages call it; `type`: as what a server sent it, if one did. */
export interface Found {
  readonly name: string;
  readonly file: Uint8Array;
  readonly type?: string;
}

/** How a file is read in Node.js, Deno and Bun. */
interface Files {
  readFile(path: string | URL): Promise<Uint8Array>;
}

/** The module of `Files`. Named so, no bundler looks for it. */
const FILES = ["node:fs", "promises"].join("/");
/** What opening a file says in Node.js, in words. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
};
const UNNAMED = "The file";
/** What a .tflite has behind its first four bytes. */
const TFLITE = "TFL3";
/** What may be meant as the name of a ready-made classifier. */
const READY = /^(?:([a-z]{1,20})|retvec-lite-models\/(.+)\.retvec)$/;
/** Characters of an address that messages show. */
const LONGEST = 200;
/** An answer that no address is known of. */
const NAMELESS = "the answer";

/** @throws RetvecError for what is no source, and for a file that cannot be read. */
export async function find(given: unknown, signal?: Host<"AbortSignal">): Promise<Found> {
  const source = await from(NAMELESS, () => given);
  if (ArrayBuffer.isView(source)) return bytes(source.buffer, source.byteOffset, source.byteLength);
  if (isA(source, "ArrayBuffer") || isA(source, "SharedArrayBuffer")) return bytes(source as ArrayBuffer);
  if (isA(source, "Blob") || isA(source, "File")) {
    const { name = UNNAMED } = source as File;
    return { name, file: new Uint8Array(await from(name, () => (source as File).arrayBuffer())) };
  }
  if (isA(source, "Response")) return answered(source as Response, (source as Response).url || NAMELESS);
  if ((typeof source !== "string" && !isA(source, "URL")) || source === "") {
    throw new RetvecError(
      "WRONG_CALL",
      `load takes the address or path of a file, a Response, a Blob or bytes, not ${source === "" ? '""' : shown(source)}.`,
    );
  }
  const address = String(source);
  const isFile = /^file:/i.test(address);
  const isPath = typeof location === "undefined" && !/^[a-z][a-z0-9+.-]+:/i.test(address);
  const files = isFile || isPath ? await filesOfHost() : undefined;
  if (files) {
    const file = await from(address, () => files.readFile(isFile ? new URL(address) : address));
    return { name: nameOf(address), file: new Uint8Array(file) };
  }
  return answered(await from(address, () => fetch(address, { signal: signal ?? null }), "no answer"), address);
}

/** Return what reads files; undefined in a page. */
async function filesOfHost(): Promise<Files | undefined> {
  const { process } = globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } };
  return process?.versions?.node ? ((await import(FILES)) as Files) : undefined;
}

/** Return what a host gives, or say why it does not, which is no fault of the caller's code. */
async function from<T>(name: string, get: () => T | PromiseLike<T>, cause?: string): Promise<T> {
  try {
    return await get();
  } catch (error) {
    throw cannot(name, cause ?? REASONS[(error as { code?: string } | undefined)?.code ?? ""] ?? causeOf(error));
  }
}

async function bytes(buffer: ArrayBufferLike, start?: number, length?: number): Promise<Found> {
  const read = (): Uint8Array => new Uint8Array(buffer, start, length);
  return { name: UNNAMED, file: await from("the bytes", read, "they were transferred elsewhere") };
}

async function answered(response: Response, address: string): Promise<Found> {
  if (!response.ok) {
    throw cannot(address, response.status ? `${response.status} ${response.statusText}`.trim() : "no answer");
  }
  if (response.bodyUsed) throw cannot(address, "its body was read before: pass response.clone(), or the bytes");
  const type = response.headers.get("content-type") ?? "";
  const name = address === NAMELESS ? UNNAMED : nameOf(address);
  return { name, file: new Uint8Array(await from(address, () => response.arrayBuffer())), type };
}

function nameOf(address: string): string {
  const path = address.replace(/[?#].*$/, "");
  return path.split(/[/\\]/).at(-1) || address;
}

function cannot(address: string, cause: string): RetvecError {
  const short = address.length > LONGEST ? `${address.slice(0, LONGEST)}...` : address;
  const ready = READY.exec(address);
  const advice = ready
    ? ` A ready-made classifier is a file of the npm package retvec-lite-models: import.meta.resolve("retvec-lite-models/${ready[1] ?? ready[2]}.retvec").`
    : "";
  return new RetvecError("CANNOT_LOAD", `Cannot load ${short} (${cause}).${advice}`);
}

/** @throws RetvecError that says what a file is that is no `.retvec`. */
export function refuse({ name, file, type }: Found): never {
  if (!file.length) throw new RetvecError("RVL_NOT_RETVEC", `${name} is empty.`);
  const start = latin1Of(file.subarray(0, 512));
  if (
    /^(\xef\xbb\xbf)?\s*<(!doctype|!--|html|head|body|\?xml)/i.test(start) ||
    /^(text\/html|application\/xhtml)/i.test(type ?? "")
  ) {
    throw new RetvecError(
      "RVL_NOT_RETVEC",
      type !== undefined
        ? `The server sent a web page instead of ${name === UNNAMED ? "the file" : name}. Check the address, and that the file is among those that it serves.`
        : `${name} is a web page, not a .retvec file. Download it again.`,
    );
  }
  if (latin1Of(file.subarray(4, 8)) === TFLITE) {
    throw new RetvecError(
      "RVL_NOT_RETVEC",
      `${name} is a .tflite. Export the classifier with --format engine and load the .retvec.`,
    );
  }
  throw new RetvecError(
    "RVL_NOT_RETVEC",
    `${name} (${file.length.toLocaleString("en")} bytes) is not a .retvec file, or it is cut short.`,
  );
}
