/** What a `.retvec` says of itself, beside what the engine reads. "The file" in docs/engine.md. */
import type { Artifact } from "./artifact.js";
import { RetvecLiteError } from "./errors.js";

const MAGIC = "RETVEC\r\n";
const COUNT_AT = 20;
const SECTIONS_AT = 64;
const SECTION_SIZE = 16;
/** Sections: the metadata, and the settings that the engine goes by. */
export const METADATA = 0x8000;
const SETTINGS = 1;
const NUMBERS = 3;
const THRESHOLDS = 5;
/** Places of the settings that the metadata repeat: `SETTINGS` in retvec_lite/runtime/retvec_file.py. */
const CONTRACT_VERSION = 0;
const SIZES = { max_chars: 1, max_words: 2, word_length: 3, drop_invisible: 5, letters_only: 6 };
const PIECES = { han_piece: 7, kana_piece: 9, sea_piece: 11 };
const TRUNCATES = 4;
const MULTI_LABEL = 25;
const UNKNOWN_LABEL = 26;
const HAS_THRESHOLD = 27;

/** Whether a file is a `.retvec`. */
export function isRetvec(file: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(file.subarray(0, MAGIC.length)) === MAGIC;
}

/** Return a section of a file that the engine has checked; empty where the file has none of that number. */
export function sectionOf(file: Uint8Array, number: number): Uint8Array {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const end = SECTIONS_AT + SECTION_SIZE * view.getUint32(COUNT_AT, true);
  for (let at = SECTIONS_AT; at < end; at += SECTION_SIZE) {
    if (view.getUint32(at, true) !== number) continue;
    const start = view.getUint32(at + 4, true);
    return file.subarray(start, start + view.getUint32(at + 8, true));
  }
  return file.subarray(0, 0);
}

/** Refuse metadata with another number of labels than the engine has, before any label is read. */
export function checkCount(name: string, { labels }: Readonly<Record<string, unknown>>, count: number): void {
  agree(name, "number of labels", Array.isArray(labels) ? labels.length : 0, count);
}

/**
 * Refuse metadata that say something else than the engine goes by: its answers would be misread.
 *
 * @param dimension of the engine's embeddings.
 * @param wordDimension of those of its words.
 */
export function checkAgreement(artifact: Artifact, dimension: number, wordDimension: number): void {
  const { name, model, contractVersion, encoder, signatures, decision, labels } = artifact;
  const section = sectionOf(model, SETTINGS);
  const settings = new DataView(section.buffer, section.byteOffset, section.byteLength);
  const setting = (place: number): number => settings.getUint32(4 * place, true);
  agree(name, "contract_version", contractVersion, setting(CONTRACT_VERSION));
  for (const [size, place] of Object.entries(SIZES)) agree(name, size, Number(encoder[size] ?? 0), setting(place));
  agree(name, "overflow", encoder.overflow === "truncate" ? 1 : 0, setting(TRUNCATES));
  for (const [piece, place] of Object.entries(PIECES)) {
    agree(name, piece, String(encoder[piece] ?? [0, 0]), String([setting(place), setting(place + 1)]));
  }
  agree(name, "multi_label", decision?.thresholds ? 1 : 0, setting(MULTI_LABEL));
  const unknown = decision?.unknown_label ? labels.indexOf(decision.unknown_label) + 1 : 0;
  agree(name, "unknown_label", unknown, setting(UNKNOWN_LABEL));
  agree(name, "has_threshold", typeof decision?.threshold === "number" ? 1 : 0, setting(HAS_THRESHOLD));
  const numbers = [decision?.threshold ?? 0, decision?.unknown_power ?? 0];
  agree(name, "the threshold", String(numbers), String(doubles(sectionOf(model, NUMBERS))));
  agree(
    name,
    "the list of thresholds",
    String(decision?.thresholds ?? []),
    String(doubles(sectionOf(model, THRESHOLDS))),
  );
  const embedding = signatures.find(({ kind }) => kind === "embed");
  if (!embedding) return;
  agree(name, "dimension", embedding.dimension, dimension);
  agree(name, "word_dimension", embedding.word_dimension ?? embedding.dimension, wordDimension);
}

function doubles(section: Uint8Array): number[] {
  const view = new DataView(section.buffer, section.byteOffset, section.byteLength);
  return Array.from({ length: section.length / 8 }, (_, place) => view.getFloat64(8 * place, true));
}

function agree(name: string, what: string, said: unknown, is: number | string): void {
  if (said === is) return;
  throw new RetvecLiteError(
    `${name} is damaged: its metadata say that ${what} is ${JSON.stringify(said)}, its settings ${is}. Export it again.`,
  );
}
