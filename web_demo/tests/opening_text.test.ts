import { describe, expect, it } from "vitest";
import { openingText } from "../src/opening_text";

const FIRST = "Wake me up at half past six tomorrow";

/** A model that answers as told, and nothing to all other texts. */
function model(labels: string[], answers: Record<string, number>) {
  return {
    labels,
    predictAll: (text: string) =>
      text in answers ? [{ label: labels[0] as string, probability: answers[text] as number }] : [],
  };
}

describe("the text that a file opens with", () => {
  it("stays where the file is sure of it", () => {
    expect(openingText(model(["alarm"], { [FIRST]: 0.95, alarm: 1 }), FIRST)).toBe(FIRST);
  });

  it("is a sentence that the file answers, before the name of a label", () => {
    const film = "I love it, this is the best film I have seen for years";
    expect(openingText(model(["positive"], { [FIRST]: 0.6, [film]: 0.97, positive: 1 }), FIRST)).toBe(film);
  });

  it("is what the surest label is called, as people write it", () => {
    expect(openingText(model(["cardArrival_2"], { "card Arrival 2": 0.4, [FIRST]: 0.3 }), FIRST)).toBe(
      "card Arrival 2",
    );
  });

  it("stays where the file answers nothing", () => {
    expect(openingText(model(["a"], {}), FIRST)).toBe(FIRST);
  });
});
