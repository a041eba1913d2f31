/** What follows from an LU factorisation: solve, inv, det, slogdet; and powers of a matrix. */
import { empty, eye, matmul } from "../../api.ts";
import type { DType } from "../../dtype.ts";
import { describe, fail, list } from "../../errors.ts";
import { liveTensor, stridedOf, type Tensor } from "../../tensor.ts";
import { broadcastShapes } from "../../view/broadcast.ts";
import { sizeOf, unravel } from "../../view/layout.ts";
import { scoped, scopedAs } from "../scoped.ts";
import {
  asBatches,
  batchOf,
  denseResult,
  type LinalgDType,
  type LinalgOf,
  linalgDType,
  newStack,
  setIdentity,
  squareArgument,
  tellCopy,
} from "./blocks.ts";
import { type Lu, luOf, solveWith } from "./lu.ts";

/**
 * x with a·x = b. A 1-D b is a vector; else its last two axes are matrices. Batches broadcast.
 *
 * @param a a square matrix [..., n, n]
 * @param b a vector [n], or matrices [..., n, k]
 * @returns a new tensor of b's shape (batches as broadcast), f32 or f64; (2/3)·n³ operations a matrix
 * @throws TensorError where a is singular
 * @example
 * linalg.solve(tensor([[2, 0], [0, 4]]), tensor([2, 8])); // → f32 [1, 2]
 */
export function solve<A extends DType, B extends DType>(a: Tensor<A>, b: Tensor<B>): Tensor<LinalgOf<A, B>> {
  const left = squareArgument("solve", a);
  const right = liveTensor("solve", b);
  const dtype = linalgDType("solve", [left, right]);
  const n = left.shape[left.rank - 1];
  const vector = right.rank === 1;
  if (right.rank === 0 || right.shape[vector ? 0 : right.rank - 2] !== n) {
    fail(
      "shape",
      "solve",
      `a is ${list(left.shape)}, b is ${list(right.shape)}.`,
      `b must be a vector of ${n}, or matrices of ${n} rows.`,
    );
  }
  return scopedAs("solve", [left, right], {}, () => {
    const columns = vector ? right.expandDims(1) : right;
    const batch = broadcastShapes("solve", [batchOf(left), batchOf(columns)]);
    const count = sizeOf(batch);
    const own = sizeOf(batchOf(left));
    // One matrix serves all; where only some axes repeat, each batch gets its own.
    const matrices = own === count || own === 1 ? left : left.broadcastTo(...batch, n, n);
    const lu = luOf("solve", matrices, dtype);
    checkRegular("solve", lu, own === 1 ? batchOf(left) : batch);
    const x = newStack(dtype, [count, n, columns.shape[columns.rank - 1]]);
    tellCopy("solve", x, "the right side is solved in place, so on a copy");
    asBatches(x, batch).assign(columns);
    solveWith(lu, stridedOf(x));
    return result("solve", x, batch, vector);
  }) as Tensor<LinalgOf<A, B>>;
}

/** Dense, with its own batch axes. */
function result(operation: string, x: Tensor<LinalgDType>, batch: readonly number[], vector = false): Tensor {
  const whole = asBatches(x, batch);
  const shaped = vector ? whole.squeeze(-1) : whole;
  return denseResult(operation, shaped);
}

function checkRegular(operation: string, { info }: Lu, batch: readonly number[]): void {
  const found = info.data.findIndex((x) => x !== 0);
  if (found < 0) return;
  const which = batch.length === 0 ? "the matrix" : `matrix ${list(unravel(found, batch))}`;
  fail(
    "singular",
    operation,
    `${which} is singular: pivot ${info.data[found] - 1} is exactly 0.`,
    "There is no inverse. Use lstsq or pinv for a solution of least squares.",
  );
}

/**
 * The inverse. Prefer solve(a, b) to inv(a).matmul(b): it is faster and more accurate.
 *
 * @param a a square matrix [..., n, n]
 * @returns a new tensor of a's shape, f32 or f64
 * @throws TensorError where a is singular
 * @example
 * linalg.inv(tensor([[2, 0], [0, 4]])); // → f32 [[0.5, 0], [0, 0.25]]
 */
export function inv<D extends DType>(a: Tensor<D>): Tensor<LinalgOf<D>> {
  const t = squareArgument("inv", a);
  return scopedAs("inv", [t], {}, () => inverse("inv", t)) as Tensor<LinalgOf<D>>;
}

/** For this scope; errors name `operation`. */
function inverse(operation: string, t: Tensor): Tensor {
  const lu = luOf(operation, t, linalgDType(operation, [t]));
  checkRegular(operation, lu, batchOf(t));
  return inverseOf(lu, batchOf(t));
}

function inverseOf(lu: Lu, batch: readonly number[]): Tensor {
  const [count, n] = lu.factors.shape;
  const x = newStack(lu.factors.dtype, [count, n, n], { zeroed: true });
  setIdentity(x);
  solveWith(lu, stridedOf(x));
  return result("inv", x, batch);
}

/** As inv, but singular matrices give NaN instead of an error. */
export function inverseOrNaN(a: Tensor, dtype: LinalgDType): Tensor {
  return scoped("inv", () => {
    const lu = luOf("inv", a, dtype);
    const out = inverseOf(lu, batchOf(a));
    const each = out.view(lu.info.size, ...out.shape.slice(-2));
    lu.info.toTypedArray().forEach((info, i) => {
      if (info !== 0) each.slice(i).fill(Number.NaN);
    });
    return out;
  });
}

/** Mantissa × 2 ^ exponent, the mantissa far from the ends of the range. */
interface Wide {
  readonly mantissa: number;
  readonly exponent: number;
}

function brought(mantissa: number, exponent = 0): Wide {
  if (mantissa === 0 || !Number.isFinite(mantissa)) return { mantissa, exponent: 0 };
  let [m, e] = [mantissa, exponent];
  for (; Math.abs(m) >= 2 ** 256; e += 256) m *= 2 ** -256;
  for (; Math.abs(m) < 2 ** -256; e -= 256) m *= 2 ** 256;
  return { mantissa: m, exponent: e };
}

/** Products of many numbers leave the range long before their logarithm is large. */
function determinants({ factors, pivots }: Lu): Wide[] {
  const [batch, n] = factors.shape;
  const diagonals = factors.diagonal({ axis1: 1, axis2: 2 }).toTypedArray();
  const rows = pivots.data;
  return Array.from({ length: batch }, (_, b) => {
    let product = brought(1);
    for (let i = 0; i < n; i++) {
      const x = diagonals[b * n + i];
      const { mantissa, exponent } = brought(rows[b * n + i] === i ? x : -x);
      product = brought(product.mantissa * mantissa, product.exponent + exponent);
    }
    return product;
  });
}

/**
 * The determinant; 0 of a singular matrix.
 *
 * @param a a square matrix [..., n, n]
 * @returns a new tensor without the last two axes, f32 or f64
 * @example
 * linalg.det(tensor([[2, 0], [0, 4]])); // → f32 8
 */
export function det<D extends DType>(a: Tensor<D>): Tensor<LinalgOf<D>> {
  const t = squareArgument("det", a);
  return scopedAs("det", [t], {}, () => {
    const dtype = linalgDType("det", [t]);
    const values = determinants(luOf("det", t, dtype));
    const out = empty(batchOf(t), { dtype });
    const { data } = out;
    values.forEach(({ mantissa, exponent }, i) => {
      // In steps: 2 ** exponent alone may leave the range when the product does not.
      let x = mantissa;
      for (let e = exponent; e !== 0; e -= Math.sign(e) * 256) x *= 2 ** (Math.sign(e) * 256);
      data[i] = x;
    });
    return out;
  }) as Tensor<LinalgOf<D>>;
}

/** A determinant as its sign and the logarithm of its magnitude. */
export interface SlogdetResult<T extends Tensor = Tensor> {
  /** 1, -1, or 0 for singular matrices. */
  readonly sign: T;
  /** log |det|: -Infinity for singular matrices. */
  readonly logabsdet: T;
}

/**
 * det as its sign and the logarithm of its magnitude, which neither overflow nor underflow.
 *
 * @param a a square matrix [..., n, n]
 * @returns new tensors without the last two axes
 * @example
 * linalg.slogdet(tensor([[-1, 0], [0, 1]])).sign; // → f32 -1
 */
export function slogdet<D extends DType>(a: Tensor<D>): SlogdetResult<Tensor<LinalgOf<D>>> {
  const t = squareArgument("slogdet", a);
  return scopedAs("slogdet", [t], {}, () => {
    const dtype = linalgDType("slogdet", [t]);
    const values = determinants(luOf("slogdet", t, dtype));
    const sign = empty(batchOf(t), { dtype });
    const logabsdet = empty(batchOf(t), { dtype });
    const [signs, logs] = [sign.data, logabsdet.data];
    values.forEach(({ mantissa, exponent }, i) => {
      signs[i] = Math.sign(mantissa);
      logs[i] = Math.log(Math.abs(mantissa)) + exponent * Math.LN2;
    });
    return { sign, logabsdet };
  }) as SlogdetResult<Tensor<LinalgOf<D>>>;
}

/**
 * a·a·…·a, n times; negative powers are those of the inverse. Integers stay integers for n ≥ 0.
 *
 * @param a a square matrix [..., n, n]
 * @param n a whole number
 * @returns a new tensor of a's shape
 * @throws TensorError where n is negative and a singular
 * @example
 * linalg.matrixPower(tensor([[1, 1], [0, 1]]), 3); // → f32 [[1, 3], [0, 1]]
 */
export function matrixPower<D extends DType>(a: Tensor<D>, n: number): Tensor<D | LinalgOf<D>> {
  if (!Number.isSafeInteger(n)) {
    fail("value", "matrixPower", `the power is ${describe(n)}.`, "Use a whole number.");
  }
  const t = liveTensor("matrixPower", a);
  if (t.rank < 2 || t.shape[t.rank - 1] !== t.shape[t.rank - 2]) {
    fail("shape", "matrixPower", `the matrix is ${list(t.shape)}.`, "The last two sizes must be equal.");
  }
  return scoped("matrixPower", () => {
    const size = t.shape[t.rank - 1];
    let base = n < 0 ? scopedAs("matrixPower", [t], {}, () => inverse("matrixPower", t), "inv") : t;
    let left = Math.abs(n);
    let power: Tensor | null = null;
    while (left > 0) {
      if (left % 2 === 1) power = power === null ? base : matmul(power, base);
      left = Math.floor(left / 2);
      if (left > 0) base = matmul(base, base);
    }
    if (power === null) return eye(size, { dtype: base.dtype }).broadcastTo(t.shape).clone();
    return power === t ? t.clone() : power;
  }) as Tensor<D | LinalgOf<D>>;
}
