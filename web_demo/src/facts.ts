import type { Artifact, Decision } from "retvec-lite/core";
import { byId, make, percent } from "./dom";

/** Format a size in powers of ten, as the reports of `export` do. */
export function bytes(size: number): string {
  return size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : `${(size / 1e6).toFixed(2)} MB`;
}

/** Show what the metadata say about the file. The latency is filled in later. */
export function showFacts({ size, labels, encoder, decision, metadata }: Artifact): void {
  const oldest = Object.entries((metadata.oldest_runtime ?? {}) as Record<string, unknown>).map(
    ([name, version]) => `${name} ${version}`,
  );
  const rows: [string, string | undefined][] = [
    ["Size", `${bytes(size)} (${size.toLocaleString("en")} bytes)`],
    ["Latency", undefined],
    ["Recipe", text(metadata.recipe)],
    ["Embedding, head", `${text(metadata.embedding)}, ${text(metadata.head)}`],
    ["Labels", `${labels.length}: ${labels.join(", ")}`],
    ["None of these", rejection(decision)],
    ...languages(metadata),
    ["Input", `${encoder.max_chars} code points, ${encoder.max_words} words of ${encoder.word_length} characters`],
    ["Runs on", oldest.length ? `${oldest.join(", ")} or newer` : "–"],
    ["Created by", `${text(metadata.created_by)}, contract ${text(metadata.contract_version)}`],
  ];
  byId("facts").replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const definition = make("dd", {}, value ?? "measuring…");
      if (value === undefined) definition.id = "latency";
      return [make("dt", {}, name), definition];
    }),
  );
}

/** Name the languages that a file was trained for with texts of one of them. */
export function languages({ languages: tags }: Artifact["metadata"]): [string, string][] {
  return Array.isArray(tags) ? [["Languages", tags.map(String).join(", ")]] : [];
}

/** Describe when a text belongs to none of the labels. */
export function rejection(decision: Artifact["decision"]): string {
  if (!decision) return "never";
  const rules = [
    decision.thresholds && "no label reaches its threshold",
    decision.threshold !== null && `probability below ${threshold(decision.threshold, decision)}`,
    decision.unknown_label !== null && `label ${decision.unknown_label}`,
    decision.characters !== "" && "no known letter or digit",
  ];
  return rules.filter(Boolean).join("; ");
}

function threshold(value: number, { unknown_label, unknown_power }: Decision): string {
  return unknown_power ? `${value.toFixed(3)} × p(${String(unknown_label)})^${unknown_power}` : percent(value);
}

function text(value: unknown): string {
  return value === undefined || value === null ? "–" : String(value);
}
