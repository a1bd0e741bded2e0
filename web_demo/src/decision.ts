import { PlaygroundError } from "./errors";

/** When a text belongs to none of the labels. `Decision` in Python documents every field. */
export interface Decision {
  readonly threshold: number | null;
  readonly unknown_label: string | null;
  readonly unknown_power: number;
  readonly characters: string;
}

/** The label of a text, null if it belongs to none, and the probability of the most probable label. */
export interface Prediction {
  readonly label: string | null;
  readonly probability: number;
}

/** @throws PlaygroundError for a damaged decision; files of earlier releases have none. */
export function decisionOf(name: string, decision: unknown, labels: readonly string[]): Decision | undefined {
  if (decision === undefined || decision === null) return undefined;
  const { threshold, unknown_label, unknown_power, characters } = decision as Record<string, unknown>;
  const valid =
    (threshold === null || (typeof threshold === "number" && threshold > 0)) &&
    typeof unknown_power === "number" &&
    (unknown_label === null || labels.includes(unknown_label as string)) &&
    typeof characters === "string";
  if (!valid) throw new PlaygroundError(`The decision in ${name} is damaged. Export the file again.`);
  return decision as Decision;
}

/**
 * Return the answer to a text.
 *
 * @param points the code points that the model has read.
 * @param decision undefined: every text gets a label.
 */
export function decide(
  points: readonly number[],
  probabilities: Float32Array,
  labels: readonly string[],
  decision: Decision | undefined,
): Prediction {
  const unknown = decision?.unknown_label ? labels.indexOf(decision.unknown_label) : -1;
  let best = unknown === 0 ? 1 : 0;
  probabilities.forEach((value, index) => {
    if (index !== unknown && value > (probabilities[best] as number)) best = index;
  });
  const probability = probabilities[best] as number;
  const none = probabilities[unknown] ?? 0;
  const rejected =
    decision !== undefined &&
    (probability < (decision.threshold ?? 0) * none ** decision.unknown_power ||
      none > probability ||
      (decision.characters !== "" && !points.some((point) => known(decision).has(point))));
  return { label: rejected ? null : (labels[best] as string), probability };
}

const sets = new WeakMap<Decision, ReadonlySet<number>>();

/** Return the letters and digits that training texts contained, made into a set once. */
function known(decision: Decision): ReadonlySet<number> {
  let found = sets.get(decision);
  if (!found)
    sets.set(decision, (found = new Set(Array.from(decision.characters, (char) => char.codePointAt(0) as number))));
  return found;
}
