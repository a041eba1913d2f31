/** Matrices brought near 1 by powers of two, so that squares of their elements stay in range. */
import { mapReduce, tensor } from "../../api.ts";
import { fail, list } from "../../errors.ts";
import type { Tensor } from "../../tensor.ts";
import { unravel } from "../../view/layout.ts";
import type { LinalgDType } from "./blocks.ts";

/** Magnitudes that need no scaling: their squares, and sums of them, are in range of f32 too. */
const LARGE = 2 ** 30;
const SMALL = 2 ** -30;

/** The power of two that brings a magnitude near 1, in range of the dtype; 1 where there is no need. */
function powerNearOne(x: number, dtype: LinalgDType): number {
  if (x === 0 || !Number.isFinite(x) || (x > SMALL && x < LARGE)) return 1;
  const most = dtype === "f32" ? 120 : 1000;
  return 2 ** Math.max(-most, Math.min(most, -Math.floor(Math.log2(x))));
}

/** The same for all of a tensor at once; 1 where it holds NaN or an infinity. */
export const powerFor = (t: Tensor<LinalgDType>): number =>
  t.size === 0
    ? 1
    : powerNearOne(mapReduce([t], (x) => Math.abs(x), { reduce: "max" }).item() as number, t.dtype);

export const exponentOf = (power: number): number => Math.round(Math.log2(power));

/** One for each matrix; NaN and infinities are an error, as no algorithm here ends on them. */
function powersOf(operation: string, t: Tensor<LinalgDType>, batch: readonly number[]): Float64Array {
  const largest = mapReduce([t], (x) => Math.abs(x), { reduce: "max", axis: [-2, -1] }).toTypedArray();
  return Float64Array.from(largest as Float64Array, (x, i) => {
    if (!Number.isFinite(x)) failInfinite(operation, i, batch);
    return powerNearOne(x, t.dtype);
  });
}

/** The matrices near 1, and what they were multiplied by: as numbers, and (null: by nothing) to multiply with. */
export function broughtNearOne(
  operation: string,
  t: Tensor<LinalgDType>,
  batch: readonly number[],
): { near: Tensor<LinalgDType>; powers: Float64Array; factors: Tensor<LinalgDType> | null } {
  const powers = powersOf(operation, t, batch);
  if (powers.every((f) => f === 1)) return { near: t, powers, factors: null };
  const factors = tensor(powers, { shape: [...batch, 1, 1] }).to(t.dtype);
  return { near: t.mul(factors), powers, factors };
}

/** t·2^exponent, where the power alone may leave the range. */
export function timesPower(t: Tensor, exponent: number): Tensor {
  if (exponent === 0) return t;
  const half = Math.floor(exponent / 2);
  return t
    .to("f64")
    .mul(2 ** half)
    .mul(2 ** (exponent - half))
    .to(t.dtype);
}

/**
 * Multiplies every matrix of a stack with rows and columns by a power of two and gives these.
 */
export function scaleNearOne(
  operation: string,
  t: Tensor<LinalgDType>,
  batch: readonly number[],
): Float64Array {
  const factors = powersOf(operation, t, batch);
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
