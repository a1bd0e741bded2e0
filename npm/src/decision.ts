import { RetvecLiteError } from "./errors.js";

/** Which labels a text has, and when it has none. `Decision` in Python documents every field. */
export interface Decision {
  readonly threshold: number | null;
  readonly unknown_label: string | null;
  readonly unknown_power: number;
  readonly characters: string;
  /** One for each label, where a text may have several. */
  readonly thresholds?: readonly number[] | null;
}

/** The label of a text, null if it belongs to none, and the probability of the most probable label. */
export interface Prediction {
  readonly label: string | null;
  readonly probability: number;
}

/** @throws RetvecLiteError for a damaged decision; files of earlier releases have none. */
export function decisionOf(name: string, decision: unknown, labels: readonly string[]): Decision | undefined {
  if (decision === undefined || decision === null) return undefined;
  const { threshold, unknown_label, unknown_power, characters, thresholds } = decision as Record<string, unknown>;
  const isShare = (value: unknown) => typeof value === "number" && value > 0 && value < 1;
  const valid =
    (threshold === null || (typeof threshold === "number" && threshold > 0)) &&
    typeof unknown_power === "number" &&
    ((thresholds ?? null) === null ||
      (Array.isArray(thresholds) && thresholds.length === labels.length && thresholds.every(isShare))) &&
    (unknown_label === null || labels.includes(unknown_label as string)) &&
    typeof characters === "string";
  if (!valid) throw new RetvecLiteError(`The decision in ${name} is damaged. Export the file again.`);
  return decision as Decision;
}

/**
 * Return the labels of a text, most probable first: one or none, or any number where texts may have several.
 *
 * @param points the code points of the text as it was given, as far as it is read.
 * @param decision undefined: every text gets a label.
 */
export function decideAll(
  points: readonly number[],
  probabilities: Float32Array,
  labels: readonly string[],
  decision: Decision | undefined,
): Prediction[] {
  if (decision && decision.characters !== "" && !points.some((point) => known(decision).has(point))) return [];
  const all = Array.from(probabilities, (probability, index) => ({ label: labels[index] as string, probability }));
  const { thresholds } = decision ?? {};
  if (thresholds) {
    return all
      .filter(({ probability }, index) => probability >= (thresholds[index] as number))
      .sort((one, other) => other.probability - one.probability);
  }
  const best = most(probabilities, labels, decision);
  const unknown = decision?.unknown_label ? labels.indexOf(decision.unknown_label) : -1;
  const { probability } = all[best] as Prediction;
  const none = probabilities[unknown] ?? 0;
  const least = (decision?.threshold ?? 0) * none ** (decision?.unknown_power ?? 0);
  const rejected = probability < least || none > probability;
  return rejected ? [] : [all[best] as Prediction];
}

/** Return the first label of `decideAll`; without one, null and the probability of the most probable label. */
export function decide(
  points: readonly number[],
  probabilities: Float32Array,
  labels: readonly string[],
  decision: Decision | undefined,
): Prediction {
  const [first] = decideAll(points, probabilities, labels, decision);
  return first ?? { label: null, probability: probabilities[most(probabilities, labels, decision)] as number };
}

/** Return the index of the most probable label but that of texts that belong to no other. */
function most(probabilities: Float32Array, labels: readonly string[], decision: Decision | undefined): number {
  const unknown = decision?.unknown_label ? labels.indexOf(decision.unknown_label) : -1;
  let best = unknown === 0 ? 1 : 0;
  probabilities.forEach((value, index) => {
    if (index !== unknown && value > (probabilities[best] as number)) best = index;
  });
  return best;
}

const sets = new WeakMap<Decision, ReadonlySet<number>>();

/** Return the letters and digits that training texts contained, made into a set once. */
function known(decision: Decision): ReadonlySet<number> {
  let found = sets.get(decision);
  if (!found)
    sets.set(decision, (found = new Set(Array.from(decision.characters, (char) => char.codePointAt(0) as number))));
  return found;
}
