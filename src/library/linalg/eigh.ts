/**
 * Eigenvalues and eigenvectors of symmetric matrices: reflections make them tridiagonal, implicit QL or QR iterations make
 * the second diagonal vanish, and their rotations turn the vectors.
 */
import { empty, scope } from "../../api.ts";
import type { DType } from "../../dtype.ts";
import { describe, fail } from "../../errors.ts";
import { readOptions } from "../../ops/arguments.ts";
import { reductionSpace, tridiagonalRoutine } from "../../routines/linalg.ts";
import { liveTensor, stridedOf, type Tensor } from "../../tensor.ts";
import { scopedAs } from "../scoped.ts";
import {
  asBatches,
  batchOf,
  block,
  copyStack,
  denseResult,
  epsilonOf,
  type LinalgDType,
  type LinalgOf,
  linalgDType,
  matrixOf,
  newStack,
  setIdentity,
  squareArgument,
  step,
  transposed,
} from "./blocks.ts";
import { mirrorLower } from "./cholesky.ts";
import { multiplyAll } from "./reflections.ts";
import { Rotations } from "./rotations.ts";
import { scaleNearOne } from "./scaling.ts";

/** Which triangle of a symmetric matrix counts. */
export interface EighOptions {
  /** Which triangle is read: "L" (default) or "U". */
  readonly uplo?: "L" | "U";
}

/** Eigenvalues and eigenvectors. */
export interface EighResult<T extends Tensor = Tensor> {
  /** In ascending order. */
  readonly eigenvalues: T;
  /** Column i belongs to eigenvalue i. */
  readonly eigenvectors: T;
}

/**
 * Eigenvalues and eigenvectors of a symmetric matrix; only one of its triangles is read.
 *
 * @param a a symmetric matrix [..., n, n]
 * @param options `uplo`: which triangle, "L" (default) or "U"
 * @returns new tensors: eigenvalues [..., n], rising, and the vectors as columns of [..., n, n]
 * @throws TensorError where the iteration does not converge, as for NaN
 * @example
 * linalg.eigh(tensor([[2, 0], [0, 1]])).eigenvalues; // → f32 [1, 2]
 */
export function eigh<D extends DType>(
  a: Tensor<D>,
  options: EighOptions = {},
): EighResult<Tensor<LinalgOf<D>>> {
  options = readOptions("eigh", options, '{ uplo: "U" }');
  const t = liveTensor("eigh", a);
  return scopedAs("eigh", [t], options, () => symmetric("eigh", t, options, true)) as EighResult<
    Tensor<LinalgOf<D>>
  >;
}

/**
 * The eigenvalues of a symmetric matrix alone, rising; less work than `eigh`.
 *
 * @param a a symmetric matrix [..., n, n]
 * @param options `uplo`: which triangle, "L" (default) or "U"
 * @returns a new tensor [..., n], f32 or f64
 * @example
 * linalg.eigvalsh(tensor([[3, 0], [0, 1]])); // → f32 [1, 3]
 */
export function eigvalsh<D extends DType>(a: Tensor<D>, options: EighOptions = {}): Tensor<LinalgOf<D>> {
  options = readOptions("eigvalsh", options, '{ uplo: "U" }');
  const t = liveTensor("eigvalsh", a);
  const run = () => symmetric("eigvalsh", t, options, false).eigenvalues;
  const values = scopedAs("eigvalsh", [t], options, run);
  return values as Tensor<LinalgOf<D>>;
}

/** Steps for one eigenvalue; about two are usual. After PATIENCE of them the limits become those of the whole matrix. */
const MOST_STEPS = 90;
const PATIENCE = 30;

function symmetric(
  operation: string,
  a: Tensor,
  options: EighOptions,
  wanted: boolean,
): { eigenvalues: Tensor; eigenvectors: Tensor | null } {
  options = readOptions(operation, options, '{ uplo: "U" }', ["uplo"]);
  const uplo = options.uplo ?? "L";
  if (uplo !== "L" && uplo !== "U") {
    fail("value", operation, `uplo is ${describe(uplo)}.`, 'Use "L" or "U".');
  }
  const t = squareArgument(operation, a);
  const dtype = linalgDType(operation, [t]);
  const work = copyStack(operation, uplo === "L" ? t : t.swapAxes(-1, -2), dtype);
  const [batch, n] = work.shape;
  const eigenvalues = empty([...batchOf(t), n], { dtype });
  // Row i becomes eigenvector i: first column i of the product of the reflections, then turned by the rotations.
  const rows = wanted ? newStack(dtype, [batch, n, n], { zeroed: true }) : null;
  if (work.size > 0) {
    mirrorLower(stridedOf(work));
    const factors = scaleNearOne(operation, work, batchOf(t));
    const { d, e, tau } = tridiagonal(work);
    if (rows !== null) {
      setIdentity(rows);
      const vectors = transposed(block(stridedOf(work), 0, n - 1, 0, n));
      if (n > 2) scope(() => multiplyAll(vectors, tau, n, 1, transposed(stridedOf(rows))));
    }
    for (let i = 0; i < batch; i++) {
      scope(() => {
        const diagonal = d.slice(i * n, (i + 1) * n);
        const turn = rows === null ? null : new Rotations(matrixOf(stridedOf(rows), i));
        iterate(operation, diagonal, e.slice(i * n, (i + 1) * n), epsilonOf(dtype), turn);
        turn?.flush();
        const order = sortedOrder(diagonal, (x, y) => x - y);
        order.forEach((from, to) => {
          eigenvalues.data[i * n + to] = diagonal[from] / factors[i];
        });
        if (rows !== null) reorderRows(matrixOf(stridedOf(rows), i), order);
      });
    }
  }
  const eigenvectors =
    rows === null ? null : denseResult(operation, asBatches(rows, batchOf(t)).swapAxes(-1, -2));
  return { eigenvalues, eigenvectors };
}

interface Tridiagonal {
  readonly d: Float64Array;
  readonly e: Float64Array;
  readonly tau: Float64Array;
}

function tridiagonal(work: Tensor<LinalgDType>): Tridiagonal {
  const [batch, n] = work.shape;
  const out = empty([3, batch, n], { dtype: "f64" });
  const space = empty([batch, reductionSpace(n, stridedOf(work).frame.itemBytes)], { dtype: "u8" });
  step(
    tridiagonalRoutine,
    {},
    [],
    [work, out, space].map((t) => stridedOf(t as Tensor)),
  );
  const values = out.toTypedArray();
  const part = (k: number) => values.slice(k * batch * n, (k + 1) * batch * n);
  return { d: part(0), e: part(1), tau: part(2) };
}

/** √(f² + g²), also where the squares vanish. */
export function length(f: number, g: number): number {
  const r = Math.sqrt(f * f + g * g);
  return r > 1e-140 && r < 1e140 ? r : Math.hypot(f, g);
}

/**
 * d becomes the eigenvalues of the matrix with diagonals d and e, e vanishes. The matrix falls into blocks where e is
 * negligible; in each, sweeps run towards the end whose diagonal is smaller (QL or QR): the other way, the rounding of
 * the large elements would hide the small ones.
 */
function iterate(
  operation: string,
  d: Float64Array,
  e: Float64Array,
  epsilon: number,
  turn: Rotations | null,
): void {
  const n = d.length;
  e[n - 1] = 0;
  const limits = { relative: epsilon / 2, absolute: epsilon * largestOf(d, e) };
  let first = 0;
  while (first < n) {
    const last = endOfBlock(d, e, first, n - 1, limits.relative, 0);
    const upwards = Math.abs(d[last]) < Math.abs(d[first]);
    const [from, to] = upwards ? [last, first] : [first, last];
    iterateBlock(operation, d, e, from, to, limits, turn);
    first = last + 1;
  }
}

const largestOf = (...lists: readonly Float64Array[]): number =>
  lists.reduce((most, list) => list.reduce((x, y) => Math.max(x, Math.abs(y)), most), 0);

/** What is negligible: relative to the neighbours in d, or where that leads nowhere, to the whole matrix. */
interface Limits {
  readonly relative: number;
  readonly absolute: number;
}

/** Eigenvalues of rows `from` to `to` (or from `to` up), one after the other. */
function iterateBlock(
  operation: string,
  d: Float64Array,
  e: Float64Array,
  from: number,
  to: number,
  { relative, absolute }: Limits,
  turn: Rotations | null,
): void {
  const step = to < from ? -1 : 1;
  for (let l = from; l !== to; l += step) {
    for (let steps = 0; ; steps++) {
      const m = endOfBlock(d, e, l, to, relative, steps < PATIENCE ? 0 : absolute);
      if (m === l) break;
      if (steps === MOST_STEPS) failConvergence(operation, "eigenvalue", l);
      sweep(d, e, l, m, turn);
    }
  }
}

/** The last row, from `l` towards `to`, before an element of e that is negligible, which becomes 0. */
function endOfBlock(
  d: Float64Array,
  e: Float64Array,
  l: number,
  to: number,
  relative: number,
  absolute: number,
): number {
  const step = to < l ? -1 : 1;
  for (let m = l; m !== to; m += step) {
    const at = step > 0 ? m : m - 1;
    const size = Math.abs(e[at]);
    if (size > absolute && size > relative * (Math.abs(d[m]) + Math.abs(d[m + step]))) continue;
    e[at] = 0;
    return m;
  }
  return to;
}

/** One step of QL on rows l to m; of QR where m lies above l. */
function sweep(d: Float64Array, e: Float64Array, l: number, m: number, turn: Rotations | null): void {
  const step = m < l ? -1 : 1;
  /** e between row i and the next one. */
  const after = step > 0 ? 0 : -1;
  const start = e[l + after];
  let g = (d[l + step] - d[l]) / (2 * start);
  let r = length(g, 1);
  g = d[m] - d[l] + start / (g + (g < 0 ? -r : r));
  let s = 1;
  let c = 1;
  let p = 0;
  for (let i = m - step; i !== l - step; i -= step) {
    const next = i + step;
    const f = s * e[i + after];
    const b = c * e[i + after];
    r = length(f, g);
    if (next !== m) e[next + after] = r;
    if (r === 0) {
      // The matrix falls apart here already.
      d[next] -= p;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[next] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[next] = g + p;
    g = c * r - b;
    turn?.add(i, next, c, -s);
  }
  d[l] -= p;
  e[l + after] = g;
}

export function failConvergence(operation: string, what: string, index: number): never {
  return fail(
    "value",
    operation,
    `${what} ${index} did not converge.`,
    "Check the data for extreme values; a matrix of moderate numbers converges.",
  );
}

/** Positions in the order of their values; equal ones keep theirs. */
export function sortedOrder(values: Float64Array, compare: (x: number, y: number) => number): number[] {
  return Array.from(values, (_, i) => i).sort((i, j) => compare(values[i], values[j]) || i - j);
}

/** Row i becomes what row order[i] was. */
export function reorderRows(t: ReturnType<typeof matrixOf>, order: readonly number[]): void {
  const [, , columns] = t.frame.shape;
  const row = (i: number) =>
    t.storage.raw(t.frame.offset + i * t.frame.strides[1], columns * t.frame.itemBytes);
  const copies = order.map((i) => row(i).slice());
  copies.forEach((copy, i) => void row(i).set(copy));
}
