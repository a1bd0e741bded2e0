import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { explain, findParts, leaveOut } from "../src/explain.js";

const words = (text: string): string[] => findParts(text).map(([start, end]) => text.slice(start, end));

describe("findParts", () => {
  it("finds the parts that Python finds", () => {
    const cases = JSON.parse(readFileSync(new URL("../../tests/data/parts.json", import.meta.url), "utf-8")) as [
      string,
      string[],
    ][];
    expect(cases.length).toBeGreaterThan(15);
    for (const [text, expected] of cases) expect(words(text), JSON.stringify(text)).toEqual(expected);
  });
});

describe("leaveOut", () => {
  it("puts a blank where the part was", () => {
    expect(leaveOut("wake\u00a0me\nup", 5, 7)).toBe("wake up");
    expect(leaveOut("漢か字", 1, 2)).toBe("漢 字");
    expect(leaveOut("a b", 0, 1)).toBe(" b");
  });
});

/** Two labels; each "b" of a text makes the second one more probable. */
const model = async (text: string): Promise<Float32Array> => {
  const second = (text.split("b").length - 1) / 4;
  return Float32Array.of(1 - second, second);
};

describe("explain", () => {
  it("tells how much the log probability falls", async () => {
    const found = await explain(model, "a b b b");
    expect(found?.label).toBe(1);
    expect(found?.spans.map(({ start, end }) => [start, end])).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ]);
    expect(found?.spans[0]?.weight).toBe(0);
    for (const { weight } of found?.spans.slice(1) ?? []) expect(weight).toBeCloseTo(Math.log(3 / 2));
  });

  it("explains another label, one of probability 0 as well", async () => {
    const found = await explain(model, "a b b b b", 0);
    expect(found?.spans[1]?.weight).toBeCloseTo(Math.log(2 ** -126) - Math.log(1 / 4));
  });

  it("stops when it is told to", async () => {
    let calls = 0;
    expect(await explain(async (text) => (++calls < 3 ? model(text) : undefined), "a b b b")).toBeUndefined();
    expect(calls).toBe(3);
    expect(await explain(async () => undefined, "a")).toBeUndefined();
  });

  it("has nothing to say about a text without words", async () => {
    expect(await explain(model, " ")).toEqual({ label: 0, spans: [] });
  });
});
