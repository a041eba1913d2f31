/**
 * Tensors out of JSON, as `toJSON` writes them: { dtype, shape, data }, elements in row-major order. JSON has no
 * 64-bit integers, NaN, infinities or -0: these are strings.
 */
import { checkDType, type DType, dtypes, fromScalar, type Value } from "../dtype.ts";
import { describe, fail, isRevoked } from "../errors.ts";
import type { Strided } from "../run/call.ts";
import { checkShape, sizeOf } from "../view/layout.ts";
import { numberList, readList } from "./arguments.ts";
import type { Scalar } from "./create.ts";
import { allocate, filled } from "./strided.ts";

/** What `toJSON` gives and `fromJSON` takes. */
export interface TensorJSON<D extends DType = DType> {
  /** The kind of the elements. */
  readonly dtype: D;
  /** The sizes of the axes. */
  readonly shape: readonly number[];
  /** The elements in row-major order; bigints, NaN, infinities and -0 are strings. */
  readonly data: readonly (number | boolean | string)[];
}

const op = "fromJSON";
const example = 'Give what JSON.stringify(tensor) made, such as {"dtype":"f32","shape":[2],"data":[1,2]}.';

/** The tensor that was written: from the text, or from what JSON.parse made of it. */
export function fromJSON(json: string | TensorJSON): Strided {
  const { dtype, shape, data } = checkJSON(typeof json === "string" ? parse(json) : json);
  const out = allocate(op, dtype, shape);
  return filled(out, () => {
    const { bytes } = dtypes[dtype];
    data.forEach((x, i) => {
      out.storage.write(dtype, i * bytes, elementOf(x, dtype, i));
    });
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail("value", op, `the text is no JSON: ${(error as Error).message}.`, example);
  }
}

function checkJSON(json: unknown): TensorJSON {
  if (typeof json !== "object" || json === null || isRevoked(json) || Array.isArray(json)) {
    return fail("value", op, `expected an object, got ${describe(json)}.`, example);
  }
  const { dtype, shape: sizes, data: elements } = json as TensorJSON;
  checkDType(op, dtype);
  const shape = numberList(op, "the shape", sizes);
  checkShape(op, shape);
  const data = readList(op, "the data", elements) as TensorJSON["data"] | null;
  if (data === null) return fail("value", op, `the data is ${describe(elements)}.`, example);
  if (data.length !== sizeOf(shape)) {
    fail(
      "shape",
      op,
      `${data.length} elements for shape [${shape.join(", ")}].`,
      "The text was cut or edited.",
    );
  }
  return { dtype, shape, data };
}

const named: ReadonlySet<unknown> = new Set(["NaN", "Infinity", "-Infinity", "-0"]);

/** Exactly what was written: an integer that does not fit is a mistake, not a number to wrap. */
function elementOf(x: unknown, dtype: DType, at: number): Value {
  const { kind } = dtypes[dtype];
  const scalar = scalarOf(x, dtype);
  const value = scalar === null ? null : fromScalar(op, scalar, dtype);
  if (value !== null && (kind === "float" || kind === "bool" || value === scalar)) return value;
  return fail("value", op, `element ${at} is ${describe(x)}, which is no ${dtype}.`, example);
}

function scalarOf(x: unknown, dtype: DType): Scalar | null {
  const { big, kind } = dtypes[dtype];
  if (big) {
    const isInteger = Number.isSafeInteger(x) || (typeof x === "string" && /^-?\d+$/.test(x));
    return isInteger ? BigInt(x as string | number) : null;
  }
  if (kind === "bool") return typeof x === "boolean" ? x : null;
  if (kind === "float" && named.has(x)) return Number(x);
  return typeof x === "number" ? x : null;
}
