/** Check what was downloaded of an update before it takes the place of the installed model: docs/updates.md has the recipe. */
import { causeOf, RetvecError, type UpdateCode } from "./errors.js";
import { shown } from "./given.js";
import { isRecord } from "./retvec_file.js";

/** `manifest.json`: what an export holds, and more, such as the figures of the training. */
export interface Manifest {
  readonly name: string;
  readonly version: number;
  readonly contract_version: number;
  readonly labels: readonly string[];
  /** Golden texts, and the labels that every file gives them. */
  readonly texts: readonly { readonly text: string; readonly labels: readonly string[] }[];
  readonly files: readonly { readonly file: string; readonly bytes: number; readonly sha256: string }[];
}

type Bytes = Uint8Array | ArrayBuffer;

const FORMAT = "retvec-lite-manifest";
const MANIFEST_VERSION = 1;
/** The version of the contract that this package reads. */
const CONTRACT_VERSION = 3;
const LARGEST_VERSION = 2 ** 31 - 1;
const KEYS = /^[0-9a-f]{64}( [0-9a-f]{64})*$/;
/** Public keys for which anybody can sign, such as one of zeros: retvec_lite/signing.py says which. */
const LOW_ORDER =
  /\b(0[01](00){30}[08]0|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a|(e[c-f]|f.)(ff){30}[7f]f)\b/;

/** An update whose signature, name and version are right. Every refusal is a RetvecError with a code that begins with `UPDATE_`. */
export class Update {
  private constructor(readonly manifest: Manifest) {}

  /**
   * Check the signature, then what was signed.
   *
   * @param manifest the exact bytes of `manifest.json`.
   * @param signature those of `manifest.json.sig`.
   * @param key the public key, 64 hexadecimal digits; of several with spaces between them, any may have signed.
   * @param name of the model: no other one of this key can take its place.
   * @param installed version of the installed model, 0 for none; the update must be newer.
   */
  static async verify(manifest: Bytes, signature: Bytes, key: string, name: string, installed = 0): Promise<Update> {
    const signed = copyOf(manifest);
    if (!isWhole(installed) || installed < 0) {
      refuse("INSTALLED", `The installed version is a whole number, 0 for none, not ${shown(installed)}`);
    }
    if (!(await isSigned(signed, copyOf(signature), keysOf(key)))) {
      refuse("SIGNATURE", "The manifest was not signed with this key, or was changed since. Do not use its files");
    }
    const found = read(signed);
    if (found.name !== name) refuse("NAME", `The update is of the model ${found.name}, not of ${name}`);
    const { version } = found;
    if (version === null || version < 1 || version > LARGEST_VERSION) unreadable("it has no version of the model");
    if (version <= installed) {
      refuse("OLD", `The update is version ${version} of ${name}, and ${installed} is installed`);
    }
    return new Update(found as Manifest);
  }

  /** Check that a file is the one that was signed, byte for byte. */
  async check(file: string, content: Bytes): Promise<void> {
    const listed = this.manifest.files.find((found) => found.file === file);
    if (!listed) refuse("FILE", `${file} is not in the manifest`);
    if (content.byteLength !== listed.bytes) {
      refuse("FILE", `${file} has ${content.byteLength} bytes instead of ${listed.bytes}. Download it again`);
    }
    const hash = new Uint8Array(await platform().digest("SHA-256", copyOf(content)));
    if (Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("") !== listed.sha256) {
      refuse("FILE", `${file} is another file than the manifest lists. Download it again`);
    }
  }

  /** Check that a file answers the golden texts as when it was exported; `labelsOf` returns the labels of a text, if any. */
  async tryTexts(
    labelsOf: (text: string) => PromiseLike<readonly (string | null)[]> | readonly (string | null)[],
  ): Promise<void> {
    for (const { text, labels } of this.manifest.texts) {
      const found = (await labelsOf(text)).filter((label) => label !== null);
      const [said, wanted] = [found, labels].map((all) => JSON.stringify([...all].sort()));
      if (said !== wanted) {
        refuse(
          "ANSWERS",
          `The update answers ${said} to ${JSON.stringify(text)}, not ${wanted}. Keep the installed model`,
        );
      }
    }
  }
}

/** Return the bytes of public keys. */
function keysOf(key: unknown): Uint8Array<ArrayBuffer>[] {
  const digits = typeof key === "string" ? key.toLowerCase().trim().replace(/\s+/g, " ") : "";
  if (!KEYS.test(digits)) refuse("KEY", "The public key must be 64 hexadecimal digits");
  if (LOW_ORDER.test(digits)) {
    refuse("KEY", "Anybody can sign for this public key. Build with the one that retvec-lite make-key wrote");
  }
  return digits.split(" ").map((one) => Uint8Array.from(one.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)));
}

async function isSigned(signed: BufferSource, signature: BufferSource, keys: BufferSource[]): Promise<boolean> {
  const subtle = platform();
  try {
    for (const key of keys) {
      const imported = await subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
      if (await subtle.verify("Ed25519", imported, signature, signed)) return true;
    }
    return false;
  } catch (error) {
    return refuse("PLATFORM", `Signatures cannot be checked here: ${causeOf(error)}`);
  }
}

function platform(): SubtleCrypto {
  const { subtle } = (globalThis as { crypto?: { subtle?: SubtleCrypto } }).crypto ?? {};
  return subtle ?? refuse("PLATFORM", "There is no WebCrypto here. It needs https, or Node.js 20");
}

/** Parse a manifest that is signed; `name` and `version` are null where its export had none. */
function read(
  signed: Uint8Array,
): Omit<Manifest, "name" | "version"> & { name: string | null; version: number | null } {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(signed));
  } catch (error) {
    unreadable(causeOf(error));
  }
  if (!isRecord(found) || found.format !== FORMAT) unreadable(`its format is not ${FORMAT}`);
  if (found.manifest_version !== MANIFEST_VERSION) unreadable("it is of another version; update retvec-lite");
  const { contract_version: contract, name = null, version = null } = found;
  // Before the rest, which a newer contract may have changed.
  if (isWhole(contract) && contract !== CONTRACT_VERSION) {
    refuse("CONTRACT", `The files follow version ${contract} of the contract. Update retvec-lite first`);
  }
  const isRight =
    isWhole(contract) &&
    (name === null || isText(name)) &&
    (version === null || isWhole(version)) &&
    isList(found.labels, isText) &&
    isList(found.texts, (item) => isRecord(item) && isText(item.text) && isList(item.labels, isText)) &&
    isList(found.files, (item) => isRecord(item) && isText(item.file) && isText(item.sha256) && isWhole(item.bytes));
  if (!isRight) unreadable("it lacks a field, or has one of another kind");
  return { ...found, name, version } as ReturnType<typeof read>;
}

function unreadable(why: string): never {
  refuse("MANIFEST", `The manifest cannot be read: ${why}`);
}

function refuse(code: UpdateCode extends `UPDATE_${infer Code}` ? Code : never, message: string): never {
  throw new RetvecError(`UPDATE_${code}`, `${message}.`);
}

function copyOf(bytes: Bytes): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
}

const isText = (value: unknown): value is string => typeof value === "string";

const isWhole = (value: unknown): value is number => Number.isInteger(value);

const isList = (value: unknown, fits: (part: unknown) => boolean): boolean => Array.isArray(value) && value.every(fits);
