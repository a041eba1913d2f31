/** A = L·Lᵀ for symmetric positive definite A, computed as Uᵀ·U: rows are what lies side by side. */
import { zeros } from "../../api.ts";
import type { DType } from "../../dtype.ts";
import { fail, list } from "../../errors.ts";
import { readOptions } from "../../ops/arguments.ts";
import { choleskyRoutine, triangleRoutine } from "../../routines/linalg.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { unravel } from "../../view/layout.ts";
import { scopedAs } from "../scoped.ts";
import {
  asBatches,
  batchOf,
  block,
  copyStack,
  denseResult,
  flagOption,
  type LinalgOf,
  linalgDType,
  type Stack,
  squareArgument,
  step,
  subtractProduct,
  transposed,
} from "./blocks.ts";
import { solveLower } from "./triangular.ts";

/** Rows that a routine factors by itself. */
const LEAF = 32;
/** A symmetric update is made of squares up to this size: they do some of the work twice. */
const SQUARE = 128;

/** Which factor. */
export interface CholeskyOptions {
  /** Give U with A = Uᵀ·U instead of L with A = L·Lᵀ. */
  readonly upper?: boolean;
}

/**
 * The triangular factor L of a symmetric positive definite matrix, A = L·Lᵀ. Only the triangle on the side of the
 * result is read.
 *
 * @param a a symmetric matrix [..., n, n]
 * @param options `upper`: U with A = Uᵀ·U instead
 * @returns a new tensor of a's shape, f32 or f64
 * @throws TensorError where a matrix is not positive definite
 * @example
 * linalg.cholesky(tensor([[4, 2], [2, 5]])); // → f32 [[2, 0], [1, 2]]
 */
export function cholesky<D extends DType>(a: Tensor<D>, options: CholeskyOptions = {}): Tensor<LinalgOf<D>> {
  options = readOptions("cholesky", options, "{ upper: true }", ["upper"]);
  const t = squareArgument("cholesky", a);
  const upper = flagOption("cholesky", "upper", options.upper, false);
  return scopedAs("cholesky", [t], { upper }, () => {
    const source = upper ? t : t.swapAxes(-1, -2);
    const u = copyStack("cholesky", source, linalgDType("cholesky", [t]));
    const [batch, n] = u.shape;
    const info = zeros([batch], { dtype: "i32" });
    if (u.size > 0) {
      factor(stridedOf(u), info, 0, n);
      checkPositive(info, batchOf(t));
      clearLower(stridedOf(u));
    }
    const whole = asBatches(u, batchOf(t));
    return denseResult("cholesky", upper ? whole : whole.swapAxes(-1, -2));
  }) as Tensor<LinalgOf<D>>;
}

function factor(a: Stack, info: Tensor, from: number, to: number): void {
  const n = to - from;
  if (n <= LEAF) {
    step(choleskyRoutine, { from }, [], [block(a, from, to, from, to), stridedOf(info)]);
    return;
  }
  const middle = from + LEAF * Math.ceil(n / 2 / LEAF);
  factor(a, info, from, middle);
  const right = block(a, from, middle, middle, to);
  solveLower(transposed(block(a, from, middle, from, middle)), right);
  subtractSquare(block(a, middle, to, middle, to), right);
  factor(a, info, middle, to);
}

/** c -= pᵀ·p, at least on and above the diagonal. */
function subtractSquare(c: Stack, p: Stack): void {
  const n = c.frame.shape[1];
  const k = p.frame.shape[1];
  if (n <= SQUARE) {
    subtractProduct(c, transposed(p), p);
    return;
  }
  const half = LEAF * Math.ceil(n / 2 / LEAF);
  const [left, right] = [block(p, 0, k, 0, half), block(p, 0, k, half, n)];
  subtractSquare(block(c, 0, half, 0, half), left);
  subtractProduct(block(c, 0, half, half, n), transposed(left), right);
  subtractSquare(block(c, half, n, half, n), right);
}

function checkPositive(info: Tensor<"i32">, batch: readonly number[]): void {
  const found = info.data.findIndex((x) => x !== 0);
  if (found < 0) return;
  const which = batch.length === 0 ? "the matrix" : `matrix ${list(unravel(found, batch))}`;
  fail(
    "singular",
    "cholesky",
    `${which} is not positive definite: pivot ${info.data[found] - 1} is not positive.`,
    "Check that the matrix is symmetric with positive eigenvalues (eigvalsh); solve and lstsq need neither.",
  );
}

/** What lies below the diagonals becomes 0. */
export const clearLower = (t: Stack): void => step(triangleRoutine, { mirror: false }, [], [t]);

/** What lies above the diagonals becomes the mirror image of what lies below. */
export const mirrorLower = (t: Stack): void => step(triangleRoutine, { mirror: true }, [], [t]);
