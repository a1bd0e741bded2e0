/** Check what was downloaded of an update before it takes the place of the installed model. docs/updates.md has the whole recipe. */
import { causeOf, RetvecError } from "./errors.js";

/** A file of an export. */
export interface ModelFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** `manifest.json`: what an export holds. There is more in it, such as the figures of the training. */
export interface Manifest {
  readonly name: string;
  readonly version: number;
  readonly contract_version: number;
  readonly labels: readonly string[];
  /** Golden texts, and the labels that every file gives them. */
  readonly texts: readonly { readonly text: string; readonly labels: readonly string[] }[];
  readonly files: readonly ModelFile[];
}

const FORMAT = "retvec-lite-manifest";
const MANIFEST_VERSION = 1;
/** The newest version of the contract that this package reads. */
const CONTRACT_VERSION = 3;
const LARGEST_VERSION = 2 ** 31 - 1;

/** An update whose signature, name and version are right. */
export class Update {
  private constructor(readonly manifest: Manifest) {}

  /**
   * Check the signature, then the name and version that were signed. Nothing is read of what is not signed.
   *
   * @param manifest the exact bytes of `manifest.json`.
   * @param signature those of `manifest.json.sig`.
   * @param key the public key that the app was built with, 64 hexadecimal digits.
   * @param name of the model: no other model of the same key can take its place.
   * @param installed version of the installed model; the update must be newer.
   * @throws RetvecError where anything is wrong.
   */
  static async verify(
    manifest: Uint8Array | ArrayBuffer,
    signature: Uint8Array | ArrayBuffer,
    key: string,
    name: string,
    installed = 0,
  ): Promise<Update> {
    const signed = copyOf(manifest);
    if (!/^[0-9a-f]{64}$/i.test(key))
      throw new RetvecError("UPDATE_KEY", "The public key must be 64 hexadecimal digits.");
    const raw = Uint8Array.from(key.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
    if (!(await isSigned(signed, copyOf(signature), raw))) {
      throw new RetvecError(
        "UPDATE_SIGNATURE",
        "The manifest was not signed with this key, or was changed since. Do not use its files.",
      );
    }
    const found = read(signed);
    if (found.name !== name) {
      throw new RetvecError("UPDATE_NAME", `The update is of the model ${found.name}, not of ${name}.`);
    }
    const { version } = found;
    if (version === null || version < 1 || version > LARGEST_VERSION)
      throw unreadable("it has no version of the model");
    if (version <= installed) {
      throw new RetvecError(
        "UPDATE_OLD",
        `The update is version ${version} of ${name}, and ${installed} is installed.`,
      );
    }
    return new Update(found as Manifest);
  }

  /**
   * Check that a file is the one that was signed, byte for byte.
   *
   * @throws RetvecError for a file that is not listed, half, or another one.
   */
  async check(file: string, content: Uint8Array | ArrayBuffer): Promise<void> {
    const listed = this.manifest.files.find((found) => found.file === file);
    if (!listed) throw new RetvecError("UPDATE_FILE", `${file} is not in the manifest.`);
    if (content.byteLength !== listed.bytes) {
      throw new RetvecError(
        "UPDATE_FILE",
        `${file} has ${content.byteLength} bytes instead of ${listed.bytes}. Download it again.`,
      );
    }
    const hash = new Uint8Array(await platform().digest("SHA-256", copyOf(content)));
    if (Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("") !== listed.sha256) {
      throw new RetvecError("UPDATE_FILE", `${file} is another file than the manifest lists. Download it again.`);
    }
  }

  /**
   * Check that a file answers the golden texts as it did when it was exported.
   *
   * @param labelsOf returns the labels of a text: one, none, or any number where there may be several.
   * @throws RetvecError for the first text that has others.
   */
  async tryTexts(
    labelsOf: (text: string) => PromiseLike<readonly (string | null)[]> | readonly (string | null)[],
  ): Promise<void> {
    for (const { text, labels } of this.manifest.texts) {
      const found = (await labelsOf(text)).filter((label) => label !== null);
      if (JSON.stringify([...found].sort()) === JSON.stringify([...labels].sort())) continue;
      throw new RetvecError(
        "UPDATE_ANSWERS",
        `The update answers ${JSON.stringify(found)} to ${JSON.stringify(text)}, not ${JSON.stringify(labels)}. Keep the installed model.`,
      );
    }
  }
}

async function isSigned(signed: BufferSource, signature: BufferSource, key: BufferSource): Promise<boolean> {
  const subtle = platform();
  try {
    const imported = await subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
    return await subtle.verify({ name: "Ed25519" }, imported, signature, signed);
  } catch (error) {
    throw new RetvecError("UPDATE_PLATFORM", `Signatures cannot be checked here: ${causeOf(error)}.`);
  }
}

function platform(): SubtleCrypto {
  const { subtle } = (globalThis as { crypto?: { subtle?: SubtleCrypto } }).crypto ?? {};
  if (subtle) return subtle;
  throw new RetvecError("UPDATE_PLATFORM", "There is no WebCrypto here. It needs https, or Node.js 20.");
}

/** Parse a manifest that is signed; `name` and `version` are null where its export had none. */
function read(
  signed: Uint8Array,
): Omit<Manifest, "name" | "version"> & { name: string | null; version: number | null } {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(signed));
  } catch (error) {
    throw unreadable(causeOf(error));
  }
  if (!isRecord(found) || found.format !== FORMAT) throw unreadable(`its format is not ${FORMAT}`);
  if (found.manifest_version !== MANIFEST_VERSION) throw unreadable("it is of another version; update retvec-lite");
  const { contract_version: contract, name = null, version = null } = found;
  // Before the rest, which a newer contract may have changed.
  if (Number.isInteger(contract) && ((contract as number) < 1 || (contract as number) > CONTRACT_VERSION)) {
    throw new RetvecError(
      "UPDATE_CONTRACT",
      `The files follow version ${contract as number} of the contract, and this package knows ${CONTRACT_VERSION} at most. Update it first.`,
    );
  }
  const isWhole =
    Number.isInteger(contract) &&
    (name === null || isText(name)) &&
    (version === null || Number.isInteger(version)) &&
    isList(found.labels, isText) &&
    isList(found.texts, (item) => isRecord(item) && isText(item.text) && isList(item.labels, isText)) &&
    isList(
      found.files,
      (item) => isRecord(item) && isText(item.file) && isText(item.sha256) && Number.isInteger(item.bytes),
    );
  if (!isWhole) throw unreadable("it lacks a field, or has one of another kind");
  return { ...found, name, version } as ReturnType<typeof read>;
}

function unreadable(why: string): RetvecError {
  return new RetvecError("UPDATE_MANIFEST", `The manifest cannot be read: ${why}.`);
}

function copyOf(bytes: Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
}

const isText = (value: unknown): value is string => typeof value === "string";

function isList(value: unknown, fits: (part: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
