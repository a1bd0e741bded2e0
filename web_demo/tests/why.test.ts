import { describe, expect, it } from "vitest";
import { signed } from "../src/why";

describe("signed", () => {
  it.each([
    [0.4377, "+0.44"],
    [-0.00412, "−0.0041"],
    [6.09, "+6.1"],
    [0, "+0"],
  ])("writes %f as %s", (weight, shown) => expect(signed(weight)).toBe(shown));
});
