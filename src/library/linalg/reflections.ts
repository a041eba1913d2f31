/**
 * Products of Householder reflections, some at a time: H₀·H₁·…·H₍k₋₁₎ = I - V·T·Vᵀ, T upper triangular, so that applying
 * them is three matrix products.
 */
import { empty } from "../../api.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { block, type LinalgDType, productOf, type Stack, subtractProduct, transposed } from "./blocks.ts";

/** Reflections that are applied together. */
export const TOGETHER = 32;

/** v is (batch, m, k), a column a reflection; t is (batch, k, k). */
export interface Reflections {
  readonly v: Stack;
  readonly t: Tensor<LinalgDType>;
}

/** T of reflections whose factors are `tau` (batch × k, f64). For this scope. */
export function reflectionsOf(v: Stack, tau: Float64Array, tauStep: number): Reflections {
  const [batch, , k] = v.frame.shape;
  const inner = productOf(transposed(v), v);
  const t = empty([batch, k, k], { dtype: v.dtype });
  const products = inner.toTypedArray();
  const row = new Float64Array(k * k);
  for (let b = 0; b < batch; b++) {
    const base = b * k * k;
    row.fill(0);
    for (let j = 0; j < k; j++) {
      const factor = tau[b * tauStep + j];
      // T[0:j, j] = -tau · T[0:j, 0:j] · (VᵀV)[0:j, j]
      for (let i = 0; i < j; i++) {
        let sum = 0;
        for (let p = i; p < j; p++) sum += row[i * k + p] * products[base + p * k + j];
        row[i * k + j] = -factor * sum;
      }
      row[j * k + j] = factor;
    }
    t.data.set(row, base);
  }
  return { v, t };
}

/** c = H₀·H₁·…·c, or (`inverse`) …·H₁·H₀·c. c's rows or columns lie side by side. */
export function applyReflections({ v, t }: Reflections, c: Stack, inverse: boolean): void {
  if (c.frame.shape[2] === 0 || v.frame.shape[2] === 0) return;
  const inner = productOf(transposed(v), c);
  const scaled = productOf(inverse ? transposed(stridedOf(t)) : stridedOf(t), stridedOf(inner));
  subtractProduct(c, v, stridedOf(scaled));
}

/**
 * c = H₀·H₁·…·H₍k₋₁₎ for all columns of v, where vector j is zero before element j + skip. c is the identity at first:
 * only what is no longer the identity's is touched.
 */
export function multiplyAll(v: Stack, tau: Float64Array, tauStep: number, skip: number, c: Stack): void {
  const [, m, k] = v.frame.shape;
  const columns = c.frame.shape[2];
  for (let from = TOGETHER * Math.floor((k - 1) / TOGETHER); from >= 0; from -= TOGETHER) {
    const to = Math.min(k, from + TOGETHER);
    const first = Math.min(m, from + skip);
    const together = reflectionsOf(block(v, first, m, from, to), tau.subarray(from), tauStep);
    applyReflections(together, block(c, first, m, first, columns), false);
  }
}
