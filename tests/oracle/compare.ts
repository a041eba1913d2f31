/** Is what came out what NumPy says? Answers with a sentence about the first difference, or null. */
import type { Tensor } from "../../src/index.ts";
import { type Check, type Coded, decode, type Expected, exact, type Scalar } from "./cases.ts";

/** Bit-exact (signed zeros and NaN included) when both tolerances are 0. */
export function sameScalar(got: Scalar, want: Scalar, check: Check): boolean {
  if (Object.is(got, want)) return true;
  if (typeof got !== "number" || typeof want !== "number") return false;
  if (got === 0 && want === 0) return check.zero_sign === "any" || check.rtol > 0 || check.atol > 0;
  if (!Number.isFinite(got) || !Number.isFinite(want)) return false;
  return Math.abs(got - want) <= check.atol + check.rtol * Math.abs(want);
}

export function compareValues(
  got: readonly Scalar[],
  want: readonly Scalar[],
  check: Check = exact,
): string | null {
  if (got.length !== want.length) return `${got.length} values, expected ${want.length}`;
  for (let i = 0; i < want.length; i++) {
    if (!sameScalar(got[i], want[i], check))
      return `value ${i} is ${show(got[i])}, expected ${show(want[i])}`;
  }
  return null;
}

export function compareTensor(got: Tensor, want: Expected, check: Check = exact): string | null {
  if (got.dtype !== want.dtype) return `dtype ${got.dtype}, expected ${want.dtype}`;
  const shape = compareLists("shape", got.shape, want.shape);
  return shape ?? compareValues(flatValues(got), decodeAll(want.values, want), check);
}

/** null in `want` stands for "any": strides of axes that are never stepped along. */
export function compareLists(
  what: string,
  got: readonly number[],
  want: readonly (number | null)[],
): string | null {
  const same = got.length === want.length && want.every((x, d) => x === null || Object.is(x, got[d]));
  return same ? null : `${what} [${got.join(", ")}], expected [${want.join(", ")}]`;
}

/** Elements in row-major order. */
export const flatValues = (t: Tensor): Scalar[] => flatten(t.toArray());

function flatten(level: unknown): Scalar[] {
  return Array.isArray(level) ? level.flatMap(flatten) : [level as Scalar];
}

const decodeAll = (values: readonly Coded[], { dtype }: Expected) => values.map((x) => decode(x, dtype));

const show = (x: Scalar): string => (typeof x === "bigint" ? `${x}n` : Object.is(x, -0) ? "-0" : String(x));
