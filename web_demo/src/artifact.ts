import { PlaygroundError } from "./errors";
import tables from "./tables.json";
import { readZipTail, type Tail } from "./zip";

/** The encoder's config, as far as the page shows it (`EncoderConfig` in Python says what each field means). */
export interface EncoderConfig {
  readonly max_chars: number;
  readonly max_words: number;
  readonly word_length: number;
  readonly [name: string]: unknown;
}

/** One entry point of the model: what it reads and, for `embed`, how long its vectors are. */
export interface Signature {
  readonly name: string;
  readonly kind: string;
  readonly max_chars: number;
  readonly max_words: number;
  readonly dimension?: number;
}

/** An exported file, read and checked but not yet given to the runtime. */
export interface Artifact {
  readonly name: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** The flatbuffer without the zip tail. */
  readonly model: Uint8Array;
  readonly labels: readonly string[];
  readonly encoder: EncoderConfig;
  readonly signatures: readonly Signature[];
  /** All of `retvec_lite.json`. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

const METADATA_NAME = "retvec_lite.json";
const LABELS_NAME = "labels.txt";

/**
 * Read an exported `.tflite` and make sure that it is one, whole, and of this contract version.
 *
 * A damaged flatbuffer can bring the runtime down, so everything is checked before: the file identifier, the zip tail
 * with its CRCs, and the SHA-256 of the flatbuffer. The order of the checks is that of `read_artifact` in Python.
 *
 * @throws PlaygroundError for a file that is foreign, cut short, damaged, or of another contract version.
 */
export async function readArtifact(name: string, file: Uint8Array): Promise<Artifact> {
  if (new TextDecoder("latin1").decode(file.subarray(4, 8)) !== "TFL3") {
    throw new PlaygroundError(`Expected a .tflite model, received ${name}, a file of another kind.`);
  }
  const tail = await tailOf(name, file);
  const metadata = metadataOf(name, tail);
  if (metadata.contract_version !== tables.contractVersion) {
    throw new PlaygroundError(
      `Expected contract version ${tables.contractVersion}, received ${JSON.stringify(metadata.contract_version)} in ` +
        `${name}: open it with the retvec-lite release that wrote it, or export it again.`,
    );
  }
  const labels = new TextDecoder().decode(tail.members.get(LABELS_NAME)).replace(/\n$/, "").split("\n");
  if (labels.length < 2 || JSON.stringify(metadata.labels) !== JSON.stringify(labels)) {
    throw new PlaygroundError(`Expected the same 2 or more labels in ${LABELS_NAME} and ${METADATA_NAME} of ${name}.`);
  }
  const model = file.subarray(0, tail.start);
  if (metadata.model_sha256 !== (await sha256(model))) {
    throw new PlaygroundError(`Expected the SHA-256 noted at export, but ${name} was changed since: export it again.`);
  }
  const encoder = encoderOf(name, metadata.encoder);
  return {
    name,
    size: file.length,
    model,
    labels,
    encoder,
    signatures: signaturesOf(name, metadata, encoder),
    metadata,
  };
}

async function tailOf(name: string, file: Uint8Array): Promise<Tail> {
  const tail = await readZipTail(file).catch((error: unknown) => {
    if (error instanceof PlaygroundError) return undefined;
    throw error;
  });
  if (!tail?.members.has(METADATA_NAME) || !tail.members.has(LABELS_NAME)) {
    throw new PlaygroundError(
      `Expected a model exported by retvec-lite, received ${name}, a .tflite of ${file.length.toLocaleString("en")} bytes ` +
        `without a readable ${METADATA_NAME}: it is cut short or comes from another tool.`,
    );
  }
  return tail;
}

function metadataOf(name: string, tail: Tail): Record<string, unknown> {
  let metadata: unknown;
  try {
    metadata = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(tail.members.get(METADATA_NAME)));
  } catch {
    metadata = undefined;
  }
  if (!isRecord(metadata) || metadata.format !== "retvec-lite") {
    throw new PlaygroundError(`Expected ${METADATA_NAME} of retvec-lite inside ${name}, received something else.`);
  }
  return metadata;
}

function encoderOf(name: string, encoder: unknown): EncoderConfig {
  if (isRecord(encoder) && ["max_chars", "max_words", "word_length"].every((key) => isSize(encoder[key]))) {
    return encoder as EncoderConfig;
  }
  throw new PlaygroundError(
    `Expected the encoder's sizes as positive integers inside ${name}, received ${JSON.stringify(encoder)}.`,
  );
}

/** The listed signatures; a file written before there were several has `classify` alone. */
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
    throw new PlaygroundError(
      `Expected the signatures with "classify" among them inside ${name}, received ${JSON.stringify(listed)}.`,
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
    throw new PlaygroundError(
      `Expected this page from disk, from this machine or over https, received it from ${location.origin}: browsers give ` +
        "no SHA-256 to pages like that, and without it no model is run.",
    );
  }
  const digest = await crypto.subtle.digest("SHA-256", data as BufferSource);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
