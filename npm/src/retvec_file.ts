/** What a `.retvec` says of itself, beside what the engine reads. "The file" in docs/engine.md. */
import { RetvecError } from "./errors.js";
import { fromUtf8, latin1Of } from "./text.js";

/** The encoder config. `EncoderConfig` in Python documents every field; these are used here. */
export interface EncoderConfig {
  readonly max_chars: number;
  readonly max_words: number;
  readonly word_length: number;
  readonly [name: string]: unknown;
}

/** Which labels a text has, and when it has none. `Decision` in Python documents every field. */
export interface Decision {
  readonly threshold: number | null;
  readonly unknown_label: string | null;
  readonly unknown_power: number;
  readonly characters: string;
  /** One for each label, where a text may have several. */
  readonly thresholds?: readonly number[] | null;
  /** How common each label is among the training texts. */
  readonly shares?: readonly number[] | null;
}

/** An exported file, read and checked. */
export interface Artifact {
  readonly name: string;
  /** Size of the file in bytes. */
  readonly size: number;
  readonly labels: readonly string[];
  readonly encoder: EncoderConfig;
  /** When a text belongs to none of the labels; undefined: never. */
  readonly decision: Decision | undefined;
  /** All of the metadata. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

const MAGIC = "RETVEC\r\n";
const COUNT_AT = 20;
const SECTIONS_AT = 64;
const SECTION_SIZE = 16;
/** Sections: the metadata, and the settings that the engine goes by. */
const METADATA = 0x8000;
const SETTINGS = 1;
/** Places of the settings that count here: `SETTINGS` in retvec_lite/runtime/retvec_file.py. */
const CONTRACT_VERSION = 0;
const SIZES = { max_chars: 1, max_words: 2, word_length: 3 };
const MULTI_LABEL = 25;

/** Whether a file is a `.retvec`. */
export function isRetvec(file: Uint8Array): boolean {
  return latin1Of(file.subarray(0, MAGIC.length)) === MAGIC;
}

/**
 * Read the metadata of a file that the engine has checked. Refuse those that have other labels or sizes than the engine goes by.
 *
 * @param labels of the engine.
 */
export function artifactOf(name: string, file: Uint8Array, labels: readonly string[]): Artifact {
  const metadata = metadataOf(name, sectionOf(file, METADATA));
  const { encoder, decision = null } = metadata;
  const isWhole =
    isRecord(encoder) && (decision === null || (isRecord(decision) && typeof decision.characters === "string"));
  if (!isWhole)
    throw new RetvecError("RVL_DAMAGED", `${name} is damaged: its metadata are incomplete. Export it again.`);
  const settings = viewOf(sectionOf(file, SETTINGS));
  const setting = (place: number): number => settings.getUint32(4 * place, true);
  const pairs: [what: string, said: unknown, is: unknown][] = [
    ["labels", metadata.labels, labels],
    ["contract_version", metadata.contract_version, setting(CONTRACT_VERSION)],
    ...Object.entries(SIZES).map(([size, place]): [string, unknown, unknown] => [size, encoder[size], setting(place)]),
    ["thresholds", Boolean(decision?.thresholds), setting(MULTI_LABEL) === 1],
  ];
  for (const [what, said, is] of pairs) {
    if (JSON.stringify(said) === JSON.stringify(is)) continue;
    throw new RetvecError(
      "RVL_DAMAGED",
      `${name} is damaged: its metadata and its engine differ in ${what}. Export it again.`,
    );
  }
  return {
    name,
    size: file.length,
    labels,
    encoder: encoder as EncoderConfig,
    decision: (decision ?? undefined) as Decision | undefined,
    metadata,
  };
}

function metadataOf(name: string, json: Uint8Array): Record<string, unknown> {
  try {
    const metadata: unknown = JSON.parse(fromUtf8(json));
    if (isRecord(metadata) && metadata.format === "retvec-lite") return metadata;
  } catch {
    // As below.
  }
  throw new RetvecError("RVL_DAMAGED", `The metadata in ${name} were not written by retvec-lite.`);
}

/** Return a section of a file; empty where the file has none of that number. */
function sectionOf(file: Uint8Array, number: number): Uint8Array {
  const view = viewOf(file);
  const end = SECTIONS_AT + SECTION_SIZE * view.getUint32(COUNT_AT, true);
  for (let at = SECTIONS_AT; at < end; at += SECTION_SIZE) {
    if (view.getUint32(at, true) !== number) continue;
    const start = view.getUint32(at + 4, true);
    return file.subarray(start, start + view.getUint32(at + 8, true));
  }
  return file.subarray(0, 0);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
