/** Numbers about a tensor, and about how two of them differ. */
import { mapReduce, scope } from "../api.ts";
import { arrayFacts, type DType, dtypes, isFloat, type Value } from "../dtype.ts";
import { binsOf, summaryOf } from "../plot/data.ts";
import { spread } from "../plot/scale.ts";
import type { Tensor } from "../tensor.ts";

export interface Statistics {
  readonly count: number;
  /** Of the finite elements; null where there is none. Whole numbers that no number holds are bigints. */
  readonly min: Value | null;
  readonly max: Value | null;
  readonly mean: number | null;
  readonly std: number | null;
  readonly zeros: number;
  readonly nan: number;
  readonly infinite: number;
}

const sumOf = (t: Tensor, fn: (x: number) => number): number =>
  Number(mapReduce([t], fn, { compute: "f64", dtype: "f64" }).item());

/** All of them of the finite elements alone. */
export function statisticsOf(t: Tensor): Statistics {
  return scope(() => {
    const { size, finite, nan, range } = summaryOf("stats", t);
    const zeros = size === 0 ? 0 : sumOf(t, (x) => (x === 0 ? 1 : 0));
    const parts = { count: size, zeros, nan, infinite: size - finite - nan };
    if (finite === 0) return { ...parts, min: null, max: null, mean: null, std: null };
    const mean = sumOf(t, (x) => (Number.isFinite(x) ? x : 0)) / finite;
    const squared = ((x: number, { mean }: { mean: number }) =>
      Number.isFinite(x) ? (x - mean) * (x - mean) : 0) as unknown as (x: number) => number;
    const far = mapReduce([t], squared, { with: { mean }, compute: "f64", dtype: "f64" }).item();
    const std = Math.sqrt(Number(far) / finite);
    const [min, max] = dtypes[t.dtype].big ? [t.min(), t.max()].map(exactOf) : [range.low, range.high];
    return { ...parts, min, max, mean, std };
  });
}

/** A whole number of 64 bits, as a number where one holds it. */
function exactOf(t: Tensor): Value {
  const [n] = t.toTypedArray() as BigInt64Array;
  return Number.isSafeInteger(Number(n)) ? Number(n) : n;
}

/** Of all elements of two parts: means and deviations are joined as Chan, Golub and LeVeque do it. */
export function joinStatistics(a: Statistics, b: Statistics): Statistics {
  const counts = {
    count: a.count + b.count,
    zeros: a.zeros + b.zeros,
    nan: a.nan + b.nan,
    infinite: a.infinite + b.infinite,
  };
  const [n, m] = [a, b].map(({ count, nan, infinite }) => count - nan - infinite);
  if (m === 0 || b.mean === null) return { ...a, ...counts };
  if (n === 0 || a.mean === null) return { ...b, ...counts };
  const far = b.mean - a.mean;
  const squares = n * (a.std as number) ** 2 + m * (b.std as number) ** 2 + (far * far * n * m) / (n + m);
  return {
    ...counts,
    min: (a.min as Value) < (b.min as Value) ? a.min : b.min,
    max: (a.max as Value) > (b.max as Value) ? a.max : b.max,
    mean: a.mean + (far * m) / (n + m),
    std: Math.sqrt(squares / (n + m)),
  };
}

const blocks = { unicode: "▁▂▃▄▅▆▇█", ascii: ".:-=+*#@" };

/** How many finite elements lie in each of so many parts of a range. */
export function countsOf(
  t: Tensor,
  letters: number,
  range: { low: number; high: number },
): readonly number[] {
  return scope(() => binsOf("stats", t, letters, spread(range)).counts);
}

/** Counts as letters of their height. */
export function lineOf(counts: readonly number[], ascii: boolean): string {
  const most = Math.max(...counts);
  const steps = ascii ? blocks.ascii : blocks.unicode;
  return counts.map((n) => (n === 0 ? " " : steps[Math.min(7, Math.floor((n / most) * 8))])).join("");
}

/* Differences ------------------------------------------------------------------------------------------------ */

export interface Difference {
  /** Elements that are not equal; NaN is equal to NaN. */
  readonly different: number;
  /** Those that also lie further apart than the tolerance. */
  readonly beyond: number;
  /** The largest distance; NaN where a number stands beside NaN. */
  readonly maxError: number;
  /** The most floats that lie between two partners: NaN as the distance is, null where they are no floats of one dtype. */
  readonly maxUlp: number | null;
  /** Index of the element with the largest distance, or of the first that differs. */
  readonly at: readonly number[] | null;
  readonly values: readonly [string, string] | null;
}

export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** Two tensors of one shape, element by element: numbers are compared as what they are, whatever the two dtypes. */
export function differenceOf(a: Tensor, b: Tensor, { rtol, atol }: Tolerance): Difference {
  const [x, y] = [cellsOf(a), cellsOf(b)];
  // Floats of two dtypes have no steps in common.
  const ulps = a.dtype === b.dtype && isFloat(a.dtype) ? ulpOf(a.dtype) : null;
  let [different, beyond, maxError, maxUlp, place] = [0, 0, 0, 0, -1];
  for (let i = 0; i < x.length; i++) {
    const p = x.at(i);
    const q = y.at(i);
    if (p === q || isSame(p, q)) continue;
    different++;
    const distance = distanceOf(p, q);
    // No tolerance reaches from a number to an infinity.
    const within = isNumber(p) && isNumber(q) && distance <= atol + rtol * Math.abs(Number(q));
    if (!within) beyond++;
    const error = Number(distance);
    if (ulps !== null)
      maxUlp = Math.max(maxUlp, Number.isNaN(error) ? Number.NaN : ulps(p as number, q as number));
    const isWorse = place < 0 || (Number.isNaN(error) ? !Number.isNaN(maxError) : error > maxError);
    if (isWorse) [maxError, place] = [error, i];
  }
  const isFound = place >= 0;
  return {
    different,
    beyond,
    maxError,
    maxUlp: ulps === null ? null : maxUlp,
    at: isFound ? indexAt(place, a.shape) : null,
    values: isFound ? [shown(a, x.at(place)), shown(b, y.at(place))] : null,
  };
}

/** Of two parts of the same tensors; the second begins at an index of the whole. */
export function joinDifferences(a: Difference, b: Difference, at: readonly number[]): Difference {
  const isWorse =
    b.at !== null &&
    (a.at === null || (Number.isNaN(b.maxError) ? !Number.isNaN(a.maxError) : b.maxError > a.maxError));
  const worse = isWorse ? b : a;
  return {
    different: a.different + b.different,
    beyond: a.beyond + b.beyond,
    maxError: worse.maxError,
    maxUlp: a.maxUlp === null || b.maxUlp === null ? null : Math.max(a.maxUlp, b.maxUlp),
    at: isWorse ? (b.at as readonly number[]).map((i, d) => i + at[d]) : a.at,
    values: worse.values,
  };
}

/** JavaScript compares whole numbers of 64 bits and floats as the numbers that they are. NaN is the same as NaN. */
const isSame = (p: Value, q: Value): boolean => !(p < q || p > q) && Number.isNaN(p) === Number.isNaN(q);

const shown = ({ dtype }: Tensor, p: Value): string => String(dtype === "bool" ? p !== 0 : p);

/** Neither NaN nor infinite. */
const isNumber = (p: Value): boolean => typeof p === "bigint" || Number.isFinite(p);

const isWhole = (p: Value): boolean => typeof p === "bigint" || Number.isInteger(p);

/** |p - q|, exact where one has 64 bits and both are whole. */
function distanceOf(p: Value, q: Value): Value {
  if ((typeof p === "number" && typeof q === "number") || !isWhole(p) || !isWhole(q))
    return Math.abs(Number(p) - Number(q));
  const far = BigInt(p) - BigInt(q);
  return far < 0n ? -far : far;
}

interface Cells {
  readonly length: number;
  at(i: number): Value;
}

/** Elements in row-major order; half floats as numbers. */
function cellsOf(t: Tensor): Cells {
  const { read, bytes } = dtypes[t.dtype];
  const { buffer, byteOffset, byteLength } = arrayFacts(t.toTypedArray());
  const memory = new DataView(buffer, byteOffset, byteLength);
  return { length: byteLength / bytes, at: (i) => read(memory, i * bytes) };
}

/** How many floats of the dtype one has to step over from p to q. */
function ulpOf(dtype: DType): (p: number, q: number) => number {
  const { write, bytes } = dtypes[dtype];
  const memory = new DataView(new ArrayBuffer(8));
  const rank = (v: number): bigint => {
    write(memory, 0, v);
    const bits =
      bytes === 8
        ? memory.getBigUint64(0, true)
        : BigInt(bytes === 4 ? memory.getUint32(0, true) : memory.getUint16(0, true));
    const sign = 1n << BigInt(8 * bytes - 1);
    // Negative floats count downwards from zero.
    return bits < sign ? bits : sign - bits;
  };
  return (p, q) => {
    const steps = rank(p) - rank(q);
    return Number(steps < 0n ? -steps : steps);
  };
}

function indexAt(place: number, shape: readonly number[]): number[] {
  const index: number[] = new Array(shape.length);
  let rest = place;
  for (let d = shape.length - 1; d >= 0; d--) {
    index[d] = rest % shape[d];
    rest = Math.floor(rest / shape[d]);
  }
  return index;
}
