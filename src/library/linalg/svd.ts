/**
 * A = U·S·Vᴴ. Tall matrices are brought to a square R by QR first; R becomes bidiagonal by reflections from both sides,
 * then diagonal by sweeps of rotations. Wide matrices are computed as their transposes.
 */
import { empty, scope } from "../../api.ts";
import type { DType } from "../../dtype.ts";
import { readOptions } from "../../ops/arguments.ts";
import { bidiagonalRoutine, reductionSpace } from "../../routines/linalg.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { scoped, scopedAs } from "../scoped.ts";
import { diagonalize } from "./bidiagonal.ts";
import {
  asBatches,
  asTensor,
  batchOf,
  block,
  copyStack,
  denseResult,
  epsilonOf,
  flagOption,
  type LinalgDType,
  type LinalgOf,
  linalgDType,
  matrixArgument,
  matrixOf,
  newStack,
  type Stack,
  setIdentity,
  step,
  tellCopy,
  transposed,
} from "./blocks.ts";
import { clearLower } from "./cholesky.ts";
import { reorderRows, sortedOrder } from "./eigh.ts";
import { orthogonal, type Qr, qrOf } from "./qr.ts";
import { multiplyAll } from "./reflections.ts";
import { Rotations } from "./rotations.ts";
import { scaleNearOne } from "./scaling.ts";

/** How large U and Vᴴ are. */
export interface SvdOptions {
  /** U is m × m and Vᴴ n × n; else m × k and k × n with k = min(m, n). Default true, as NumPy's. */
  readonly fullMatrices?: boolean;
}

/** The three factors of a matrix. */
export interface SvdResult<T extends Tensor = Tensor> {
  /** Orthonormal columns. */
  readonly u: T;
  /** Singular values in descending order. */
  readonly s: T;
  /** Orthonormal rows. */
  readonly vh: T;
}

/**
 * The singular value decomposition A = U·S·Vᴴ.
 *
 * @param a a matrix [..., m, n]
 * @param options `fullMatrices`: square U and Vᴴ, default true
 * @returns new tensors u, s (falling) and vh, f32 or f64
 * @throws TensorError where the iteration does not converge, as for NaN
 * @example
 * linalg.svd(tensor([[0, 2], [3, 0]])).s; // → f32 [3, 2]
 */
export function svd<D extends DType>(a: Tensor<D>, options: SvdOptions = {}): SvdResult<Tensor<LinalgOf<D>>> {
  options = readOptions("svd", options, "{ fullMatrices: false }", ["fullMatrices"]);
  const t = matrixArgument("svd", a);
  const full = flagOption("svd", "fullMatrices", options.fullMatrices, true);
  return scopedAs("svd", [t], { full }, () => {
    const [m, n] = t.shape.slice(-2);
    const wide = m < n;
    const { u, s, vh } = tallSvd("svd", wide ? t.swapAxes(-1, -2) : t, full);
    return wide ? { u: vh.swapAxes(-1, -2), s, vh: u.swapAxes(-1, -2) } : { u, s, vh };
  }) as SvdResult<Tensor<LinalgOf<D>>>;
}

/**
 * The singular values alone, in descending order.
 *
 * @param a a matrix [..., m, n]
 * @returns a new tensor [..., min(m, n)], f32 or f64
 * @example
 * linalg.svdvals(tensor([[0, 2], [3, 0]])); // → f32 [3, 2]
 */
export function svdvals<D extends DType>(a: Tensor<D>): Tensor<LinalgOf<D>> {
  const values = scoped("svdvals", () => singularValues("svdvals", matrixArgument("svdvals", a)));
  return values as Tensor<LinalgOf<D>>;
}

export function singularValues(operation: string, t: Tensor): Tensor {
  const run = () => {
    const [m, n] = t.shape.slice(-2);
    const reduced = reduce(operation, m < n ? t.swapAxes(-1, -2) : t);
    const s = empty([...batchOf(t), Math.min(m, n)], { dtype: reduced.dtype });
    eachReduced(reduced, (i, d, e) => {
      diagonalize(operation, d, e, epsilonOf(reduced.dtype), null);
      writeValues(s, i, d, reduced.factors[i], sortedOrder(d, descending));
    });
    return s;
  };
  return scopedAs(operation, [t], {}, run, "svdvals");
}

const descending = (x: number, y: number) => Math.abs(y) - Math.abs(x);

function writeValues(
  s: Tensor<LinalgDType>,
  index: number,
  d: Float64Array,
  factor: number,
  order: readonly number[],
): void {
  const values = s.data;
  order.forEach((from, to) => {
    values[index * d.length + to] = Math.abs(d[from]) / factor;
  });
}

function tallSvd(operation: string, t: Tensor, full: boolean): SvdResult {
  const reduced = reduce(operation, t);
  const { dtype, right, left, qr, tauLeft, tauRight, factors } = reduced;
  const [m, n] = t.shape.slice(-2);
  const batch = batchOf(t);
  const count = right.shape[0];
  const s = empty([...batch, n], { dtype });
  // Row i is column i of U (of the square part), and of V.
  const ut = newStack(dtype, [count, n, n], { zeroed: true });
  const vt = newStack(dtype, [count, n, n], { zeroed: true });
  setIdentity(ut);
  setIdentity(vt);
  if (ut.size > 0) {
    scope(() => {
      multiplyAll(transposed(stridedOf(left)), tauLeft, n, 0, transposed(stridedOf(ut)));
      const vectors = transposed(block(stridedOf(right), 0, n - 1, 0, n));
      if (n > 1) multiplyAll(vectors, tauRight, n, 1, transposed(stridedOf(vt)));
    });
  }
  eachReduced(reduced, (i, d, e) => {
    const [u, v] = [matrixOf(stridedOf(ut), i), matrixOf(stridedOf(vt), i)];
    const turn = { left: new Rotations(u), right: new Rotations(v) };
    diagonalize(operation, d, e, epsilonOf(dtype), turn);
    turn.left.flush();
    turn.right.flush();
    const order = sortedOrder(d, descending);
    writeValues(s, i, d, factors[i], order);
    d.forEach((x, row) => {
      if (x < 0 || Object.is(x, -0)) negateRow(v, row);
    });
    reorderRows(u, order);
    reorderRows(v, order);
  });
  return { u: leftVectors(ut, qr, m, full, batch), s, vh: denseResult("svd", asBatches(vt, batch)) };
}

function negateRow(t: Stack, row: number): void {
  const tensor = asTensor(block(t, row, row + 1, 0, t.frame.shape[2]));
  tensor.neg({ out: tensor });
}

/** Q·U, with the rest of Q where all of it is asked for. */
function leftVectors(
  ut: Tensor<LinalgDType>,
  qr: Qr | null,
  m: number,
  full: boolean,
  batch: readonly number[],
): Tensor {
  const square = ut.swapAxes(-1, -2);
  const [count, n] = ut.shape;
  if (qr === null) return denseResult("svd", asBatches(square, batch));
  const q = orthogonal(qr, full ? m : n);
  const turned = q.slice(":", ":", [0, n]).matmul(square);
  if (!full) return turned.view(...batch, m, n);
  const out = empty([count, m, m], { dtype: ut.dtype });
  tellCopy("svd", out, "the two parts of U are put side by side");
  out.slice(":", ":", [0, n]).assign(turned);
  out.slice(":", ":", [n, null]).assign(q.slice(":", ":", [n, null]));
  return out.view(...batch, m, m);
}

interface Reduced {
  readonly dtype: LinalgDType;
  /** null: the matrices were square. */
  readonly qr: Qr | null;
  /** (batch, n, n), a row a vector: reflections from the left and from the right. */
  readonly left: Tensor<LinalgDType>;
  readonly right: Tensor<LinalgDType>;
  /** batch × n each. */
  readonly d: Float64Array;
  readonly e: Float64Array;
  readonly tauLeft: Float64Array;
  readonly tauRight: Float64Array;
  /** What each matrix was multiplied by. */
  readonly factors: Float64Array;
}

/** m ≥ n: bidiagonal n × n. */
function reduce(operation: string, t: Tensor): Reduced {
  const dtype = linalgDType(operation, [t]);
  const [m, n] = t.shape.slice(-2);
  let right: Tensor<LinalgDType>;
  let qr: Qr | null = null;
  let factors: Float64Array;
  if (m === n) {
    right = copyStack(operation, t, dtype);
    factors =
      right.size === 0 ? new Float64Array(right.shape[0]) : scaleNearOne(operation, right, batchOf(t));
  } else {
    const scaled = copyStack(operation, t, dtype);
    factors =
      scaled.size === 0 ? new Float64Array(scaled.shape[0]) : scaleNearOne(operation, scaled, batchOf(t));
    qr = qrOf(operation, scaled, dtype);
    right = asTensor(block(stridedOf(qr.r), 0, n, 0, n));
    if (right.size > 0) clearLower(stridedOf(right));
  }
  const count = right.shape[0];
  const left = newStack(dtype, [count, n, n], { zeroed: true });
  const out = empty([4, count, n], { dtype: "f64" });
  if (right.size > 0) bidiagonal(right, left, out);
  const values = out.toTypedArray();
  const part = (k: number) => values.slice(k * count * n, (k + 1) * count * n);
  return { dtype, qr, left, right, d: part(0), e: part(1), tauLeft: part(2), tauRight: part(3), factors };
}

function bidiagonal(right: Tensor<LinalgDType>, left: Tensor<LinalgDType>, out: Tensor<"f64">): void {
  const [count, n] = right.shape;
  const space = empty([count, reductionSpace(n, stridedOf(right).frame.itemBytes)], { dtype: "u8" });
  step(
    bidiagonalRoutine,
    {},
    [],
    [right, left, out, space].map((t) => stridedOf(t as Tensor)),
  );
}

/** For each matrix, in a scope of its own. */
function eachReduced(
  { right, d, e }: Reduced,
  visit: (index: number, d: Float64Array, e: Float64Array) => void,
): void {
  const [count, n] = right.shape;
  if (n === 0) return;
  for (let i = 0; i < count; i++) {
    scope(() => visit(i, d.slice(i * n, (i + 1) * n), e.slice(i * n, (i + 1) * n)));
  }
}
