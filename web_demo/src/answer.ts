import type { Classifier } from "retvec-lite/core";
import { percent } from "./dom";

/** What a model says of a text. The whole page, a card and the table of the ways of writing all show this. */
export interface Answer {
  /** Several where the file may give several; where none applies, the name that the file has for that. */
  readonly labels: readonly string[];
  /** Labels in words. */
  readonly told: string;
  /** The probabilities of the labels, in percent. Where none applies: that of the label with this name if it is the likeliest, else empty. */
  readonly value: string;
  /** The probability of the first label, or 0. */
  readonly share: number;
  /** Whether none of the labels applies. */
  readonly isNone: boolean;
  /** The taught text that gave the answer. */
  readonly taught: string | undefined;
}

type Asked = Pick<Classifier, "labels" | "predictAll" | "probabilities"> & {
  readonly artifact: Pick<Classifier["artifact"], "decision">;
};

/** Return what `model` says of `text`. */
export function ask(model: Asked, text: string): Answer {
  const found = model.predictAll(text);
  const none = model.artifact.decision?.unknown_label ?? "none of these";
  const labels = found.length ? found.map(({ label }) => label as string) : [none];
  const shares = found.map(({ probability }) => probability);
  if (!found.length) {
    const probabilities = model.probabilities(text);
    const best = argmax(probabilities);
    // Where another label is likelier, a number beside the name would mislead.
    if (model.labels[best] === none) shares.push(probabilities[best] as number);
  }
  return {
    labels,
    told: labels.join(", "),
    value: shares.map(percent).join(", "),
    share: shares[0] ?? 0,
    isNone: found.length === 0,
    taught: found[0]?.taught,
  };
}

/** Return the index of the largest value. */
export function argmax(values: Float32Array): number {
  return values.reduce((best, value, index) => (value > (values[best] as number) ? index : best), 0);
}
