/** Matrices brought near 1 by powers of two, so that squares of their elements stay in range. */
import { mapReduce, tensor } from "../../api.ts";
import { fail, list } from "../../errors.ts";
import type { Tensor } from "../../tensor.ts";
import { unravel } from "../../view/layout.ts";
import type { LinalgDType } from "./blocks.ts";

/** Magnitudes that need no scaling: their squares, and sums of them, are in range of f32 too. */
const LARGE = 2 ** 30;
const SMALL = 2 ** -30;

/**
 * Multiplies every matrix of a stack with rows and columns by a power of two and gives these; NaN and infinities are an
 * error, as no algorithm here ends on them.
 */
export function scaleNearOne(
  operation: string,
  t: Tensor<LinalgDType>,
  batch: readonly number[],
): Float64Array {
  const largest = mapReduce([t], (x) => Math.abs(x), { reduce: "max", axis: [-2, -1] }).toTypedArray();
  const factors = Float64Array.from(largest as Float64Array, (x, i) => {
    if (!Number.isFinite(x)) failInfinite(operation, i, batch);
    if (x === 0 || (x > SMALL && x < LARGE)) return 1;
    const most = t.dtype === "f32" ? 120 : 1000;
    return 2 ** Math.max(-most, Math.min(most, -Math.floor(Math.log2(x))));
  });
  if (factors.some((f) => f !== 1)) {
    const by = tensor(factors, { shape: [factors.length, 1, 1] }).to(t.dtype);
    t.mul(by, { out: t });
  }
  return factors;
}

function failInfinite(operation: string, index: number, batch: readonly number[]): never {
  const which = batch.length === 0 ? "the matrix" : `matrix ${list(unravel(index, batch))}`;
  return fail(
    "value",
    operation,
    `${which} holds NaN or an infinity.`,
    "Its factors are not defined; check the data with isfinite.",
  );
}
