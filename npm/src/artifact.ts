import { type Decision, decisionOf } from "./decision.js";
import { RetvecLiteError } from "./errors.js";
import { CONTRACT_VERSION } from "./tables.js";
import { readZipTail, type Tail } from "./zip.js";

/** The encoder config. `EncoderConfig` in Python documents every field; these are used here. */
export interface EncoderConfig {
  readonly max_chars: number;
  readonly max_words: number;
  readonly word_length: number;
  readonly [name: string]: unknown;
}

/** One entry point of the model: its input sizes and, for `embed`, the length of its vectors. */
export interface Signature {
  readonly name: string;
  readonly kind: string;
  readonly max_chars: number;
  readonly max_words: number;
  readonly dimension?: number;
  /** The length of a word's vector, where it is another. */
  readonly word_dimension?: number;
}

/** An exported file, read and checked, but not yet loaded by the runtime. */
export interface Artifact {
  readonly name: string;
  /** Size of the whole file in bytes. */
  readonly size: number;
  /** The flatbuffer without the zip tail; of a `.retvec`, the whole file. */
  readonly model: Uint8Array;
  readonly labels: readonly string[];
  readonly contractVersion: number;
  readonly encoder: EncoderConfig;
  readonly signatures: readonly Signature[];
  /** When a text belongs to none of the labels; undefined: never. */
  readonly decision: Decision | undefined;
  /** All of `retvec_lite.json`. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

const TFLITE_MAGIC = "TFL3";
const METADATA_NAME = "retvec_lite.json";
const LABELS_NAME = "labels.txt";

/** Whether a file is a `.tflite`. */
export function isTflite(file: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(file.subarray(4, 8)) === TFLITE_MAGIC;
}

/**
 * Read an exported `.tflite` and check that it is whole and of this contract version.
 *
 * A damaged flatbuffer can crash the runtime. So check everything first, in the order of Python's `read_artifact`: the
 * zip tail with its CRCs, the SHA-256 of the flatbuffer.
 *
 * @throws RetvecLiteError for a file of another tool, a damaged one, or one of another contract version.
 */
export async function readArtifact(name: string, file: Uint8Array): Promise<Artifact> {
  if (!isTflite(file)) throw new RetvecLiteError(`${name} is not a .tflite model.`);
  const tail = await tailOf(name, file);
  const labels = new TextDecoder().decode(tail.members.get(LABELS_NAME)).replace(/\n$/, "").split("\n");
  const artifact = artifactOf(
    name,
    file.subarray(0, tail.start),
    metadataOf(name, tail.members.get(METADATA_NAME)),
    labels,
    file.length,
  );
  if (artifact.metadata.model_sha256 !== (await sha256(artifact.model))) {
    throw new RetvecLiteError(`${name} was changed after its export: its SHA-256 differs. Export it again.`);
  }
  return artifact;
}

/**
 * Check what the metadata of a file say.
 *
 * @param labels as they stand in the file beside the metadata.
 * @throws RetvecLiteError for metadata of another contract version, or damaged ones.
 */
export function artifactOf(
  name: string,
  model: Uint8Array,
  metadata: Readonly<Record<string, unknown>>,
  labels: readonly string[],
  size = model.length,
): Artifact {
  const version = metadata.contract_version;
  if (!Number.isInteger(version) || (version as number) < 1 || (version as number) > CONTRACT_VERSION) {
    throw new RetvecLiteError(
      `${name} follows contract version ${JSON.stringify(version)}, but this release reads versions 1 to ` +
        `${CONTRACT_VERSION}. Export it again, or open it with the retvec-lite release that wrote it.`,
    );
  }
  if (labels.length < 2 || JSON.stringify(metadata.labels) !== JSON.stringify(labels)) {
    throw new RetvecLiteError(
      `${name} needs 2 or more labels, the same in ${LABELS_NAME} and ${METADATA_NAME}. Export it again.`,
    );
  }
  const encoder = encoderOf(name, metadata.encoder);
  const signatures = signaturesOf(name, metadata, encoder);
  return {
    name,
    size,
    model,
    labels,
    contractVersion: version as number,
    encoder,
    signatures,
    decision: decisionOf(name, metadata.decision, labels),
    metadata,
  };
}

async function tailOf(name: string, file: Uint8Array): Promise<Tail> {
  const tail = await readZipTail(file).catch((error: unknown) => {
    if (error instanceof RetvecLiteError) return undefined;
    throw error;
  });
  if (!tail?.members.has(METADATA_NAME) || !tail.members.has(LABELS_NAME)) {
    throw new RetvecLiteError(
      `${name} (${file.length.toLocaleString("en")} bytes) has no readable ${METADATA_NAME}: ` +
        "it is cut short, or retvec-lite did not export it.",
    );
  }
  return tail;
}

/** Parse the metadata of a file. */
export function metadataOf(name: string, json: Uint8Array | undefined): Record<string, unknown> {
  let metadata: unknown;
  try {
    metadata = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
  } catch {
    metadata = undefined;
  }
  if (!isRecord(metadata) || metadata.format !== "retvec-lite") {
    throw new RetvecLiteError(`The ${METADATA_NAME} in ${name} was not written by retvec-lite.`);
  }
  return metadata;
}

function encoderOf(name: string, encoder: unknown): EncoderConfig {
  if (isRecord(encoder) && ["max_chars", "max_words", "word_length"].every((key) => isSize(encoder[key]))) {
    return encoder as EncoderConfig;
  }
  throw new RetvecLiteError(
    `The encoder sizes in ${name} must be positive integers: ${JSON.stringify(encoder)}. Export it again.`,
  );
}

/** Return the listed signatures; files of early releases list none and have only `classify`. */
function signaturesOf(name: string, metadata: Record<string, unknown>, encoder: EncoderConfig): Signature[] {
  const { max_chars, max_words } = encoder;
  const listed = metadata.signatures ?? [{ name: "classify", kind: "classify", max_chars, max_words }];
  const valid = (entry: unknown): entry is Signature =>
    isRecord(entry) &&
    typeof entry.name === "string" &&
    typeof entry.kind === "string" &&
    isSize(entry.max_chars) &&
    isSize(entry.max_words);
  if (!Array.isArray(listed) || !listed.every(valid) || !listed.some((entry) => entry.name === "classify")) {
    throw new RetvecLiteError(
      `The signatures in ${name} are damaged, or "classify" is missing: ${JSON.stringify(listed)}. Export it again.`,
    );
  }
  return listed;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0;
}

async function sha256(data: Uint8Array): Promise<string> {
  if (crypto.subtle === undefined) {
    throw new RetvecLiteError(
      `This page cannot check the SHA-256 of a model, because ${location.origin} is not secure. ` +
        "Open the page over https, from this machine or from disk.",
    );
  }
  const digest = await crypto.subtle.digest("SHA-256", data as BufferSource);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
