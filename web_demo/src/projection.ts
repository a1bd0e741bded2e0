/** Many dimensions on a flat picture: the first two principal components of vectors, compared by cosine. */

export interface Projection {
  /** Two coordinates for each vector. */
  readonly places: readonly (readonly [number, number])[];
  /** Share of the variance that the two coordinates show, from 0 to 1. */
  readonly shown: number;
}

type Row = readonly number[];

/** Steps of power iteration. It does not tell apart directions of almost the same variance: either will do. */
const STEPS = 100;
/** Smaller differences are rounding. */
const NOISE = 1e-6;

/** Project vectors to two dimensions. The first vector never lies right of the middle or below it (y points down). */
export function project(vectors: readonly ArrayLike<number>[]): Projection {
  const units = vectors.map((vector) => unit(Array.from(vector)));
  const mean = (units[0] ?? []).map((_, at) => units.reduce((sum, row) => sum + (row[at] as number), 0) / units.length);
  const rows = units.map((row) => row.map((value, at) => value - (mean[at] as number)));
  // The matrix of inner products has the eigenvalues of the covariance, and its eigenvectors are the coordinates.
  let gram: readonly Row[] = rows.map((row) => rows.map((other) => dot(row, other)));
  const total = trace(gram);
  const axes = [0, 1].map(() => {
    const axis = principal(gram);
    const length = Math.sqrt(Math.max(0, dot(axis, times(gram, axis)))) * ((axis[0] ?? 0) > 0 ? -1 : 1);
    const coordinates = axis.map((value) => value * length);
    gram = gram.map((row, i) => row.map((value, j) => value - (coordinates[i] as number) * (coordinates[j] as number)));
    return coordinates;
  });
  const places = rows.map((_, at) => axes.map((coordinates) => coordinates[at]) as [number, number]);
  return { places, shown: total > NOISE ** 2 ? 1 - trace(gram) / total : 1 };
}

/** Scale places to percent of a square, with a margin on each side; equal distances stay equal. */
export function fit(places: Projection["places"], margin: number): Projection["places"] {
  const along = ([0, 1] as const).map((axis) => places.map((place) => place[axis]));
  const [least, most] = [along.map((values) => Math.min(...values)), along.map((values) => Math.max(...values))];
  const width = Math.max(NOISE, ...most.map((value, axis) => value - (least[axis] as number)));
  const middle = most.map((value, axis) => (value + (least[axis] as number)) / 2);
  const scale = (100 - 2 * margin) / width;
  return places.map(([x, y]) => [50 + (x - (middle[0] as number)) * scale, 50 + (y - (middle[1] as number)) * scale]);
}

/** Return the eigenvector of the largest eigenvalue, of length 1; zeros for a matrix of zeros. */
function principal(gram: readonly Row[]): Row {
  // The column of the longest vector: it cannot be at right angles to all that varies.
  const lengths = gram.map((row, at) => row[at] as number);
  let axis = unit(gram[lengths.indexOf(Math.max(...lengths))] ?? []);
  for (let step = 0; step < STEPS; step++) axis = unit(times(gram, axis));
  return axis;
}

function times(matrix: readonly Row[], vector: Row): Row {
  return matrix.map((row) => dot(row, vector));
}

function trace(matrix: readonly Row[]): number {
  return matrix.reduce((sum, row, at) => sum + (row[at] as number), 0);
}

function unit(row: Row): Row {
  const length = Math.sqrt(dot(row, row));
  return length > 0 ? row.map((value) => value / length) : row;
}

/** Return the inner product: the cosine of vectors of length 1. */
export function dot(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] as number) * (other[at] as number);
  return sum;
}
