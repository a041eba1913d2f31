/**
 * What a plot shows of a tensor, in a size that does not follow from the tensor's: folds and histograms run compiled over
 * all elements, and only what is drawn comes to JavaScript. Numbers that are not finite are counted, and left out.
 */
import { mapReduce } from "../api.ts";
import { scoped } from "../library/scoped.ts";
import { histogram } from "../library/statistics.ts";
import type { Tensor } from "../tensor.ts";
import type { Range } from "./scale.ts";

/** The elements from the smallest finite one to the largest, and how many are no finite numbers. */
export interface Summary {
  readonly size: number;
  readonly finite: number;
  readonly nan: number;
  /** NaN where no element is finite. */
  readonly range: Range;
}

const fold = (t: Tensor, fn: (x: number) => number, reduce: "sum" | "min" | "max", axis?: number): Tensor =>
  mapReduce([t], fn, { reduce, compute: "f64", dtype: "f64", ...(axis === undefined ? {} : { axis }) });

const orInfinity = (x: number): number => (Number.isFinite(x) ? x : Number.POSITIVE_INFINITY);
const orMinus = (x: number): number => (Number.isFinite(x) ? x : Number.NEGATIVE_INFINITY);
const isFinite01 = (x: number): number => (Number.isFinite(x) ? 1 : 0);
const isNaN01 = (x: number): number => (Number.isNaN(x) ? 1 : 0);
const orZero = (x: number): number => (Number.isFinite(x) ? x : 0);

export function summaryOf(op: string, t: Tensor): Summary {
  if (t.size === 0) return { size: 0, finite: 0, nan: 0, range: { low: Number.NaN, high: Number.NaN } };
  return scoped(op, () => {
    const finite = Number(fold(t, isFinite01, "sum").item());
    const low = Number(fold(t, orInfinity, "min").item());
    const high = Number(fold(t, orMinus, "max").item());
    const nan = Number(fold(t, isNaN01, "sum").item());
    const range = finite === 0 ? { low: Number.NaN, high: Number.NaN } : { low, high };
    return { size: t.size, finite, nan, range };
  });
}

/** A line in at most so many pieces: the lowest and highest element of each; NaN where it has no finite one. */
export interface Envelope {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number>;
  /** Elements of a piece; the last may have fewer. */
  readonly piece: number;
}

export function envelopeOf(op: string, vector: Tensor, most: number): Envelope {
  const n = vector.size;
  const piece = Math.max(1, Math.ceil(n / most));
  return scoped(op, () => {
    const whole = Math.floor(n / piece);
    const low: number[] = [];
    const high: number[] = [];
    const push = (part: Tensor) => {
      low.push(...(fold(part, orInfinity, "min", 1).toTypedArray() as Float64Array));
      high.push(...(fold(part, orMinus, "max", 1).toTypedArray() as Float64Array));
    };
    if (whole > 0) push(vector.slice([0, whole * piece]).reshape(whole, piece));
    if (whole * piece < n) push(vector.slice([whole * piece, n]).reshape(1, n - whole * piece));
    const orNaN = (x: number) => (Number.isFinite(x) ? x : Number.NaN);
    return { low: low.map(orNaN), high: high.map(orNaN), piece };
  });
}

/** Points that are drawn one by one: of more, every so-many-th. */
const MOST_POINTS = 2 ** 18;

export function pointsOf(op: string, vectors: readonly Tensor[]): Float64Array[] {
  const step = Math.max(1, Math.ceil(vectors[0].size / MOST_POINTS));
  return scoped(op, () =>
    vectors.map((v) => v.slice([null, null, step]).to("f64").toTypedArray() as Float64Array),
  );
}

export interface Bins {
  readonly counts: number[];
  readonly edges: number[];
}

/** How many elements lie in each of `bins` equal parts of the range. */
export function binsOf(op: string, t: Tensor, bins: number, range: Range): Bins {
  return scoped(op, () => {
    // Every dtype is counted as f64: ranges of integers have edges between them.
    const { counts, edges } = histogram(t.dtype === "f64" ? t : t.to("f64"), {
      bins,
      range: [range.low, range.high],
    });
    return {
      counts: Array.from(counts.toTypedArray() as ArrayLike<number | bigint>, Number),
      edges: [...(edges.to("f64").toTypedArray() as Float64Array)],
    };
  });
}

/** A matrix in at most rows × columns cells: the mean of each one's finite elements, NaN where it has none. */
export interface Grid {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

export function gridOf(op: string, matrix: Tensor, mostRows: number, mostColumns: number): Grid {
  const [m, n] = matrix.shape;
  const rows = Math.min(m, mostRows);
  const columns = Math.min(n, mostColumns);
  const values = new Float64Array(rows * columns);
  return scoped(op, () => {
    for (let i = 0; i < rows; i++) {
      const part = matrix.slice([Math.floor((i * m) / rows), Math.floor(((i + 1) * m) / rows)]);
      const sums = fold(part, orZero, "sum", 0).toTypedArray() as Float64Array;
      const counts = fold(part, isFinite01, "sum", 0).toTypedArray() as Float64Array;
      for (let j = 0; j < columns; j++) {
        let [sum, count] = [0, 0];
        for (let k = Math.floor((j * n) / columns); k < Math.floor(((j + 1) * n) / columns); k++) {
          sum += sums[k];
          count += counts[k];
        }
        values[i * columns + j] = count === 0 ? Number.NaN : sum / count;
      }
    }
    return { rows, columns, values };
  });
}
