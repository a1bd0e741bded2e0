import type { Decision, Prediction } from "retvec-lite/core";
import { expect, it } from "vitest";
import { ask } from "../src/answer";

/** A model of "hate" and "none" that gives these answers and probabilities to every text. */
function model(answers: Prediction[], probabilities: number[], unknown: string | null) {
  return {
    labels: ["hate", "none"],
    artifact: { decision: { unknown_label: unknown } as Decision },
    predictAll: () => answers,
    probabilities: () => Float32Array.from(probabilities),
  };
}

it("names every label, with its probability", () => {
  const answers = [
    { label: "hate", probability: 0.75 },
    { label: "none", probability: 0.5 },
  ];
  expect(ask(model(answers, [0.75, 0.5], null), "x")).toEqual({
    labels: ["hate", "none"],
    told: "hate, none",
    value: "75.0 %, 50.0 %",
    share: 0.75,
    isNone: false,
    taught: undefined,
  });
});

it.each([
  ["the name is a label and the likeliest", "none", [0.25, 0.75], "none", "75.0 %", 0.75],
  ["another label is likelier, and not enough", "none", [0.75, 0.25], "none", "", 0],
  ["the name is no label", "other", [0.25, 0.75], "other", "", 0],
  ["the file has no name for it", null, [0.25, 0.75], "none of these", "", 0],
])("gives the name for none: %s", (_, unknown, probabilities, told, value, share) => {
  expect(ask(model([], probabilities, unknown), "x")).toMatchObject({ told, value, share, isNone: true });
});

it("tells which taught text gave the answer", () => {
  const answers = [{ label: "pets", probability: 1, taught: "feed the cat" }];
  expect(ask(model(answers, [0.5, 0.5], null), "x")).toMatchObject({ told: "pets", taught: "feed the cat" });
});
