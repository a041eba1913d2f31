/**
 * Eigenvalues and eigenvectors of symmetric matrices: reflections make them tridiagonal, implicit QL iterations make the
 * second diagonal vanish, and their rotations turn the vectors.
 */
import { empty, scope } from "../../api.ts";
import { engine } from "../../engine.ts";
import { describe, fail } from "../../errors.ts";
import { checkOptions } from "../../ops/arguments.ts";
import type { Tensor } from "../../tensor.ts";
import { emitTridiagonal } from "../../wasm/linalg-reduce.ts";
import {
  addressOf,
  asBatches,
  batchOf,
  block,
  copyStack,
  eachMatrix,
  epsilonOf,
  type LinalgDType,
  linalgDType,
  matrixOf,
  newStack,
  runRoutine,
  setIdentity,
  squareArgument,
  transposed,
} from "./blocks.ts";
import { mirrorLower } from "./cholesky.ts";
import { multiplyAll } from "./reflections.ts";
import { Rotations } from "./rotations.ts";
import { scaleNearOne } from "./scaling.ts";

export interface EighOptions {
  /** Which triangle is read: "L" (default) or "U". */
  readonly uplo?: "L" | "U";
}

export interface EighResult {
  /** In ascending order. */
  readonly eigenvalues: Tensor;
  /** Column i belongs to eigenvalue i. */
  readonly eigenvectors: Tensor;
}

export function eigh(a: Tensor, options: EighOptions = {}): EighResult {
  return scope(() => symmetric("eigh", a, options, true)) as EighResult;
}

export function eigvalsh(a: Tensor, options: EighOptions = {}): Tensor {
  return scope(() => symmetric("eigvalsh", a, options, false).eigenvalues);
}

/** Steps of QL for one eigenvalue; about two are usual. */
const MOST_STEPS = 60;

function symmetric(
  operation: string,
  a: Tensor,
  options: EighOptions,
  wanted: boolean,
): { eigenvalues: Tensor; eigenvectors: Tensor | null } {
  checkOptions(operation, options, '{ uplo: "U" }');
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
    mirrorLower(work);
    const factors = scaleNearOne(operation, work, batchOf(t));
    const { d, e, tau } = tridiagonal(work);
    if (rows !== null) {
      setIdentity(rows);
      const vectors = transposed(block(work, 0, n - 1, 0, n));
      if (n > 2) scope(() => multiplyAll(vectors, tau, n, 1, transposed(rows)));
    }
    for (let i = 0; i < batch; i++) {
      scope(() => {
        const diagonal = d.slice(i * n, (i + 1) * n);
        const turn = rows === null ? null : new Rotations(matrixOf(rows, i));
        iterate(operation, diagonal, e.slice(i * n, (i + 1) * n), epsilonOf(dtype), turn);
        turn?.flush();
        const order = sortedOrder(diagonal, (x, y) => x - y);
        order.forEach((from, to) => {
          eigenvalues.data[i * n + to] = diagonal[from] / factors[i];
        });
        if (rows !== null) reorderRows(matrixOf(rows, i), order);
      });
    }
  }
  const eigenvectors = rows === null ? null : asBatches(rows, batchOf(t)).swapAxes(-1, -2).clone();
  return { eigenvalues, eigenvectors };
}

interface Tridiagonal {
  readonly d: Float64Array;
  readonly e: Float64Array;
  readonly tau: Float64Array;
}

/** Matrices of at most this many rows are shared among threads, a matrix a task. */
const SHARED_ROWS = 256;

function tridiagonal(work: Tensor<LinalgDType>): Tridiagonal {
  const [batch, n] = work.shape;
  const out = empty([3, batch, n], { dtype: "f64" });
  const bytes = work.frame.itemBytes;
  const room = 64 * Math.ceil((2 * n * bytes + 16) / 64);
  const space = empty([batch, room], { dtype: "u8" });
  const each = 8 * batch * n;
  const tasks = eachMatrix(batch, (i) => {
    const d = addressOf(out) + 8 * i * n;
    return [addressOf(work, i), work.frame.strides[1], n, d, d + each, d + 2 * each, addressOf(space, i)];
  });
  const nanoseconds = n <= SHARED_ROWS ? batch * (n * n * n * 0.5 + 500) : 0;
  runRoutine("tridiagonal", emitTridiagonal, work.dtype, tasks, nanoseconds);
  const values = out.toTypedArray();
  const part = (k: number) => values.slice(k * batch * n, (k + 1) * batch * n);
  return { d: part(0), e: part(1), tau: part(2) };
}

/** √(f² + g²), also where the squares vanish. */
export function length(f: number, g: number): number {
  const r = Math.sqrt(f * f + g * g);
  return r > 1e-140 && r < 1e140 ? r : Math.hypot(f, g);
}

/** Implicit QL: d becomes the eigenvalues of the matrix with diagonals d and e, e vanishes. */
function iterate(
  operation: string,
  d: Float64Array,
  e: Float64Array,
  epsilon: number,
  turn: Rotations | null,
): void {
  const n = d.length;
  e[n - 1] = 0;
  for (let l = 0; l < n; l++) {
    for (let steps = 0; ; steps++) {
      let m = l;
      while (m < n - 1 && Math.abs(e[m]) > (epsilon / 2) * (Math.abs(d[m]) + Math.abs(d[m + 1]))) m++;
      if (m === l) break;
      if (steps === MOST_STEPS) failConvergence(operation, "eigenvalue", l);
      sweep(d, e, l, m, turn);
    }
  }
}

/** One step of QL on rows l to m. */
function sweep(d: Float64Array, e: Float64Array, l: number, m: number, turn: Rotations | null): void {
  let g = (d[l + 1] - d[l]) / (2 * e[l]);
  let r = length(g, 1);
  g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
  let s = 1;
  let c = 1;
  let p = 0;
  for (let i = m - 1; i >= l; i--) {
    const f = s * e[i];
    const b = c * e[i];
    r = length(f, g);
    e[i + 1] = r;
    if (r === 0) {
      // The matrix falls apart here already.
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    turn?.add(i, i + 1, c, -s);
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
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
  const bytes = columns * t.frame.itemBytes;
  const memory = engine().heap.u8;
  const at = (row: number) => addressOf(t) + row * t.frame.strides[1];
  const copies = order.map((row) => memory.slice(at(row), at(row) + bytes));
  copies.forEach((copy, row) => void memory.set(copy, at(row)));
}
