/** Elementwise functions that are more than one named operation: floats as their bits, tolerances, and yes or no. */
import { all, equal, isnan, logicalAnd, logicalOr } from "../api.ts";
import { checkDType, type DType, dtypes, isFloat, promoteAll } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import { full } from "../ops/create.ts";
import { elementwise } from "../ops/elementwise.ts";
import { Callable, Definition } from "../ops/function.ts";
import { share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import {
  isTensor,
  liveTensor,
  type NamedOptions,
  namedOp,
  type Operand,
  outputNames,
  stridedOf,
  type Tensor,
  wrap,
} from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { scoped } from "./scoped.ts";

/* Neighbours ------------------------------------------------------------------------------------------- */

/** Floats of one sign are in the order of their bits, so the next one is one integer on. */
const bitsOf: Partial<Record<DType, DType>> = { f16: "i16", bf16: "i16", f32: "i32", f64: "i64" };
const asBits = (t: Strided): Strided => ({ ...share(t, t.frame), dtype: bitsOf[t.dtype]! });

const neighbours = new Map<DType, Callable>();

/** The function of x, y and their bits that gives the bits of x's neighbour towards y. */
function neighbourOf(bits: DType): Callable {
  const before = neighbours.get(bits);
  if (before !== undefined) return before;
  const t = new TemplateBuilder();
  const { big, min } = dtypes[bits];
  const whole = (value: bigint) => t.literal(big ? value : Number(value));
  const [x, y, xBits, yBits] = [0, 1, 2, 3].map((i) => t.input(i));
  const zero = t.literal(0);
  const up = t.op("gt", [y, zero]);
  const tiny = t.op("select", [up, whole(1n), whole(BigInt(min) + 1n)]);
  const outwards = t.op("eq", [t.op("lt", [x, y]), t.op("gt", [x, zero])]);
  const moved = t.op("add", [xBits, t.op("select", [outwards, whole(1n), whole(-1n)])]);
  const there = t.op("or", [t.op("isNaN", [y]), t.op("eq", [x, y])]);
  const step = t.op("select", [t.op("eq", [x, zero]), tiny, moved]);
  const towards = t.op("select", [there, yBits, step]);
  const result = t.op("select", [t.op("isNaN", [x]), xBits, towards]);
  const callable = new Callable(new Definition(t.finish(result, { inputs: 4, name: "nextafter" })));
  neighbours.set(bits, callable);
  return callable;
}

/**
 * The float next to x on the way to y; y itself where they are equal.
 *
 * @param x a tensor or a scalar; one of both is a tensor
 * @param y where to go
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats
 * @example
 * nextafter(tensor([1], { dtype: "f64" }), 2); // → f64 [1.0000000000000002]
 */
export function nextafter(x: Operand, y: Operand, options: NamedOptions = {}): Tensor {
  const op = "nextafter";
  options = readOptions(op, options, "{ out }", outputNames);
  if (options.out !== undefined) liveTensor(op, options.out);
  const tensors = [x, y].filter((t) => typeof t === "object").map((t) => liveTensor(op, t));
  if (tensors.length === 0) {
    fail("value", op, "no operand is a tensor.", "Make one with tensor(…).");
  }
  const met = options.dtype === undefined ? promoteAll(tensors.map((t) => t.dtype)) : options.dtype;
  const dtype = isFloat(checkDType(op, met)) ? met : options.dtype === undefined ? "f64" : met;
  const bits = bitsOf[dtype];
  if (bits === undefined)
    return fail("dtype", op, `not defined on ${dtype}.`, "Neighbours are those of floats.");
  return scoped(op, () => {
    const isBig = tensors.some((t) => dtypes[t.dtype].big);
    const operands = [x, y].map((t) => {
      if (isTensor(t)) return t.to(dtype);
      return wrap(full(op, [], isBig && typeof t === "bigint" ? Number(t) : t, dtype));
    });
    const inputs = [...operands, ...operands.map((t) => wrap(asBits(stridedOf(t))))];
    const { out } = options;
    if (out?.dtype === dtype) {
      elementwise(op, neighbourOf(bits), inputs.map(stridedOf), { ...stridedOf(out), dtype: bits });
      return out;
    }
    const made = wrap({ ...elementwise(op, neighbourOf(bits), inputs.map(stridedOf)), dtype });
    return out === undefined ? made : namedOp("positive", [made], { out });
  });
}

/* What is not a number --------------------------------------------------------------------------------- */

/** The options of `nanToNum`. */
export interface NanToNumOptions {
  /** Instead of NaN; default 0. */
  readonly nan?: number;
  /** Instead of infinity; default the dtype's largest number. */
  readonly posinf?: number;
  /** Instead of -infinity; default the dtype's smallest number. */
  readonly neginf?: number;
  /** Write here instead of into a new tensor. */
  readonly out?: Tensor;
}

/**
 * A copy in which NaN and the infinities have become numbers.
 *
 * @param x a tensor of any layout
 * @param options `nan`, `posinf`, `neginf`: what stands there instead; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * nanToNum(tensor([1, NaN, Infinity]), { posinf: 9 }); // → f32 [1, 0, 9]
 */
export function nanToNum(x: Tensor, options: NanToNumOptions = {}): Tensor {
  const op = "nanToNum";
  options = readOptions(op, options, "{ out }", ["nan", "posinf", "neginf", "out"]);
  const { dtype } = liveTensor(op, x);
  const { nan = 0, posinf = dtypes[dtype].max, neginf = dtypes[dtype].min, out } = options;
  const into = out === undefined ? {} : { out };
  if (!isFloat(dtype)) return out === undefined ? x.clone() : namedOp("maximum", [x, x], into);
  for (const [name, value] of Object.entries({ nan, posinf, neginf })) {
    if (typeof value !== "number")
      fail("value", op, `${name} is ${describe(value)}.`, "Give a number to put there.");
  }
  return namedOp(op, [x, nan, posinf, neginf], into);
}

/* Close enough ----------------------------------------------------------------------------------------- */

/** How close is close. */
export interface CloseOptions {
  /** Relative to the second operand; default 1e-5. */
  readonly rtol?: number;
  /** Default 1e-8. */
  readonly atol?: number;
  /** Is NaN close to NaN? Default false. */
  readonly equalNan?: boolean;
}

/**
 * |a - b| ≤ atol + rtol·|b|, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b what it should be
 * @param options `rtol` (default 1e-5), `atol` (default 1e-8), `equalNan`
 * @returns a new bool tensor of the shape they broadcast to
 * @example
 * isclose(tensor([1, 2]), tensor([1.000001, 2.1])); // → bool [true, false]
 */
export function isclose(a: Operand, b: Operand, options: CloseOptions = {}): Tensor<"bool"> {
  return closeness("isclose", a, b, options);
}

/**
 * Is every element close to its partner?
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b what it should be
 * @param options `rtol` (default 1e-5), `atol` (default 1e-8), `equalNan`
 * @returns true or false
 * @example
 * allclose(tensor([1, 2]), tensor([1, 2.1])); // → false
 */
export function allclose(a: Operand, b: Operand, options: CloseOptions = {}): boolean {
  return scoped("allclose", () => all(closeness("allclose", a, b, options)).item()) as boolean;
}

function closeness(operation: string, a: Operand, b: Operand, options: CloseOptions): Tensor<"bool"> {
  options = readOptions(operation, options, "{ rtol: 1e-3 }", ["rtol", "atol", "equalNan"]);
  const { rtol = 1e-5, atol = 1e-8, equalNan = false } = options;
  for (const [name, value] of Object.entries({ rtol, atol })) {
    if (typeof value === "number" && value >= 0) continue;
    fail("value", operation, `${name} is ${describe(value)}.`, "Tolerances are numbers from 0 on.");
  }
  checkFlag(operation, "equalNan", equalNan);
  return namedOp("isclose", [a, b, rtol, atol, equalNan]) as Tensor<"bool">;
}

/**
 * The same shape and the same elements?
 *
 * @param a a tensor
 * @param b another one
 * @param options `equalNan`: is NaN equal to NaN? Default false
 * @returns true or false, also where shapes differ
 * @example
 * arrayEqual(tensor([1, 2]), tensor([1, 2])); // → true
 */
export function arrayEqual(a: Tensor, b: Tensor, options: { readonly equalNan?: boolean } = {}): boolean {
  const op = "arrayEqual";
  options = readOptions(op, options, "{ equalNan: true }", ["equalNan"]);
  const { equalNan = false } = options;
  checkFlag(op, "equalNan", equalNan);
  if (!sameShape(liveTensor(op, a).shape, liveTensor(op, b).shape)) return false;
  return scoped(op, () => {
    const same = equal(a, b);
    return all(equalNan ? logicalOr(same, logicalAnd(isnan(a), isnan(b))) : same).item();
  }) as boolean;
}
