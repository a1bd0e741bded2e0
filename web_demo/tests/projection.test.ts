import { describe, expect, it } from "vitest";
import { dot, fit, project } from "../src/projection";

const distance = (one: readonly number[] = [], other: readonly number[] = []): number =>
  Math.hypot(...one.map((value, at) => value - (other[at] as number)));

describe("project", () => {
  it("keeps all distances of vectors of length 1 that lie in a plane", () => {
    const root = Math.SQRT1_2;
    const vectors = [
      [1, 0, 0, 0],
      [0, 0, 1, 0],
      [root, 0, root, 0],
      [-1, 0, 0, 0],
    ];
    const { places, shown } = project(vectors);
    expect(shown).toBeCloseTo(1, 6);
    for (const [one, vector] of vectors.entries())
      for (const [other, second] of vectors.entries())
        expect(distance(places[one], places[other])).toBeCloseTo(distance(vector, second), 6);
  });

  it("compares directions, not lengths", () => {
    const { places } = project([Float32Array.of(2, 0, 1), Float32Array.of(20, 0, 10), Float32Array.of(0, 3, 0)]);
    expect(distance(places[0], places[1])).toBeCloseTo(0, 6);
    expect(distance(places[0], places[2])).toBeCloseTo(Math.SQRT2, 6);
  });

  it("puts the largest variance first, the coordinates at right angles, and their mean in the middle", () => {
    // Two groups that lie apart in one direction, and spread in others.
    const vectors = Array.from({ length: 24 }, (_, at) =>
      Array.from(
        { length: 8 },
        (_, axis) => Math.sin(at * 7 + axis * axis * 3) / (axis + 3) + (axis ? 0 : (at % 2) * 4 - 2),
      ),
    );
    const { places, shown } = project(vectors);
    const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
    expect(dot(xs, xs)).toBeGreaterThan(dot(ys, ys));
    expect(dot(xs, ys)).toBeCloseTo(0, 6);
    for (const along of [xs, ys]) expect(along.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 6);
    expect(shown).toBeGreaterThan(0.5);
    expect(shown).toBeLessThan(1);
    for (const [at, x] of xs.entries()) expect(x < 0).toBe(at % 2 === 0); // the first vector's group is left
  });

  it("finds the share of the variance of a simplex, whose directions are all alike", () => {
    const { shown } = project([0, 1, 2, 3, 4].map((at) => [0, 1, 2, 3, 4].map((axis) => Number(axis === at))));
    expect(shown).toBeCloseTo(2 / 4, 6);
  });

  it("has a place for no vector, one, and equal ones", () => {
    expect(project([])).toEqual({ places: [], shown: 1 });
    const alike = project([
      [3, 4],
      [6, 8],
      [0.3, 0.4],
    ]);
    expect(alike.shown).toBe(1);
    expect(distance(alike.places[0], alike.places[2])).toBeCloseTo(0, 6);
    expect(project([[0, 0, 0]]).shown).toBe(1);
  });
});

describe("fit", () => {
  it("fills the square between the margins, with one scale for both directions", () => {
    const fitted = fit(
      [
        [-3, 1],
        [1, 1],
        [-1, 2],
      ],
      10,
    );
    for (const [at, place] of [
      [10, 40],
      [90, 40],
      [50, 60],
    ].entries())
      expect(distance(fitted[at], place)).toBeCloseTo(0, 6);
  });

  it("puts equal places into the middle", () => {
    for (const place of fit(
      [
        [2, 5],
        [2, 5 + 1e-12],
      ],
      8,
    ))
      expect(distance(place, [50, 50])).toBeLessThan(0.01);
    expect(fit([], 8)).toEqual([]);
  });
});
