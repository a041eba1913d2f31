/**
 * Linear algebra by NumPy's names, for f32 and f64 (integers are computed in f64). Matrices lie in the last two axes;
 * axes before them are batches.
 */
import { matmul as product } from "../api.ts";
import type { DType, Wide } from "../dtype.ts";
import { readOptions } from "../ops/arguments.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { type TraceOptions, trace as traceOf } from "./products.ts";

export { type CholeskyOptions, cholesky } from "./linalg/cholesky.ts";
export { type EighOptions, type EighResult, eigh, eigvalsh } from "./linalg/eigh.ts";
export {
  cond,
  type LstsqResult,
  lstsq,
  type MatrixNorm,
  type MatrixNormOptions,
  matrixNorm,
  matrixRank,
  pinv,
  type RelativeOptions,
  type ToleranceOptions,
  type VectorNormOptions,
  vectorNorm,
} from "./linalg/leastsquares.ts";
export { type QrOptions, type QrResult, qr } from "./linalg/qr.ts";
export { det, inv, matrixPower, type SlogdetResult, slogdet, solve } from "./linalg/solve.ts";
export { type SvdOptions, type SvdResult, svd, svdvals } from "./linalg/svd.ts";
export { cross, matrixTranspose, multiDot, outer, tensordot, vecdot } from "./products.ts";

/**
 * The sum of a diagonal of the matrices in the last two axes.
 *
 * @param a a matrix [..., m, n]
 * @param options `offset`: the diagonal, `dtype` of the sum
 * @returns a new tensor without the last two axes; integers become i64 or u64
 * @example
 * linalg.trace(tensor([[1, 2], [3, 4]])); // → f32 5
 */
export function trace<D extends DType, E extends DType = Wide<D>>(
  a: Tensor<D>,
  options: Pick<TraceOptions<E>, "offset" | "dtype"> = {},
): Tensor<E> {
  options = readOptions("trace", options, "{ offset: 1 }", ["offset", "dtype"]);
  return traceOf(a, { ...options, axis1: -2, axis2: -1 });
}

/**
 * A diagonal of the matrices in the last two axes; a view.
 *
 * @param a a matrix [..., m, n]
 * @param options `offset`: the diagonal, above the main one where positive
 * @returns a view that shares a's memory
 * @example
 * linalg.diagonal(tensor([[1, 2], [3, 4]])); // → f32 [1, 4]
 */
export function diagonal<D extends DType>(
  a: Tensor<D>,
  options: { readonly offset?: number } = {},
): Tensor<D> {
  options = readOptions("diagonal", options, "{ offset: 1 }", ["offset"]);
  return liveTensor("diagonal", a).diagonal({ ...options, axis1: -2, axis2: -1 }) as Tensor<D>;
}

/**
 * The matrix product, which is at home here too.
 *
 * @param a a tensor [..., n, k] or [k]
 * @param b a tensor [..., k, m] or [k]
 * @param options `out`: the tensor to write to; `accumulate`: add to what it holds
 * @returns a new tensor [..., n, m] in the dtype both meet in, or `out`
 * @example
 * linalg.matmul(tensor([[1, 2]]), tensor([[3], [4]])); // → f32 [[11]]
 */
export const matmul = product;
