import { describe, expect, it } from "vitest";
import { Random } from "../src/random";

describe("Random", () => {
  it("gives the numbers of Python's random.Random(seed).random()", () => {
    const { random } = new Random(5489);
    // python3 -c "import random; r = random.Random(5489); print([r.random() for _ in range(3)])"
    expect([random(), random(), random()]).toEqual([0.7876110167997803, 0.0972674640914375, 0.9735995707790809]);
  });

  it("refuses a seed that Python would treat differently", () => {
    expect(() => new Random(-1)).toThrow(RangeError);
    expect(() => new Random(0.5)).toThrow(RangeError);
    expect(() => new Random(2 ** 53)).toThrow(RangeError);
  });
});
