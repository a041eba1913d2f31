/**
 * The uncompiled twin: handles that the user's own function is called with. They have what an njit function may use of an
 * array, and njit's rule for an index: a whole number from 0, below the size.
 */
import { arrayFacts, type DType, dtypeOfArray, dtypes, fromScalar, toScalar, type Value } from "../dtype.ts";
import { describe, fail, list, shown, TensorError } from "../errors.ts";
import { sizeOf } from "../view/layout.ts";
import type { Access } from "./tree.ts";

export type Scalar = number | bigint | boolean;

/** What an njit function sees of a tensor. */
export interface Handle {
  readonly shape: readonly number[];
  readonly size: number;
  readonly rank: number;
  get(...index: number[]): number;
  set(index: readonly number[], value: Scalar): void;
}

/** A handle's elements. */
export interface Cells {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly readOnly: boolean;
  read(index: readonly number[]): Value;
  write(index: readonly number[], value: Value): void;
}

export function handleOf(cells: Cells): Handle {
  const { dtype, shape } = cells;
  return Object.freeze({
    shape,
    size: sizeOf(shape),
    rank: shape.length,
    get(...index: number[]): number {
      checkIndex("get", index, shape);
      return toScalar(cells.read(index.map((i) => i + 0)), dtype) as unknown as number;
    },
    set(index: readonly number[], value: Scalar): void {
      if (!Array.isArray(index))
        fail("index", "set", `the index is ${describe(index)}.`, "Write a.set([i, j], value).");
      if (cells.readOnly) failReadOnly();
      checkIndex("set", index, shape);
      cells.write(
        index.map((i) => i + 0),
        fromScalar("set", value, dtype),
      );
    },
  });
}

export function failReadOnly(): never {
  return fail("readonly", "set", "this writes to a read-only view.", "Pass a copy made with clone().");
}

function checkIndex(operation: string, index: readonly number[], shape: readonly number[]): void {
  if (index.length !== shape.length) {
    const indices = index.length === 1 ? "1 index" : `${index.length} indices`;
    fail("index", operation, `${indices} for shape ${list(shape)}.`, "Give one index an axis.");
  }
  for (let d = 0; d < shape.length; d++) {
    const i = index[d];
    if (!(Number.isInteger(i) && i >= 0 && i < shape[d]))
      throw indexError(operation as Access, i, d, shape[d]);
  }
}

/** The error of an access, compiled or not; a compiled one adds the line of the source. */
export function indexError(
  access: Access,
  index: unknown,
  axis: number,
  size: number,
  more = "",
): TensorError {
  const operation = access === "[]" ? "element" : access;
  const what = Number.isInteger(index) ? "is out of range" : "is not a whole number";
  const remedy =
    size === 0
      ? "The axis is empty: it has no index."
      : `Use 0 … ${size - 1}; an njit function counts from 0, and never from the end.`;
  const fact = `${operation}: index ${shown(index)} ${what} for axis ${axis} of size ${size}.`;
  return new TensorError("index", `${fact}${more}\n  ${remedy}`);
}

/** The error of a division by 0n, or of a number that is no bigint. */
export function bigintError(what: "/" | "BigInt", x: unknown, more = ""): TensorError {
  const [fact, remedy] =
    what === "/"
      ? ["njit: a bigint is divided by 0n.", "Ask before: b === 0n ? 0n : a / b."]
      : [
          `BigInt: ${shown(x)} is no whole number of 64 bits.`,
          "Write BigInt(Math.trunc(x)), of an x below 2^63.",
        ];
  return new TensorError("value", `${fact}${more}\n  ${remedy}`);
}

/** What the function itself threw, as compiled code says it. */
export function plainError(error: unknown): unknown {
  if (!(error instanceof RangeError)) return error;
  // "Division by zero", "BigInt division by zero", "0 is an invalid divisor value."
  if (/divi/i.test(error.message)) return bigintError("/", 0);
  const [x] = /-?(?:[\d.]+(?:e[+-]?\d+)?|Infinity)|NaN/.exec(error.message) ?? ["a number"];
  return bigintError("BigInt", x);
}

/** A typed array whose every index is checked. */
export function checkedArray<T extends ArrayBufferView>(array: T, ask: (() => void) | null = null): T {
  const { bytes } = dtypes[dtypeOfArray(array)!];
  const length = arrayFacts(array).byteLength / bytes;
  const target = array as unknown as Record<number, unknown>;
  const indexOf = (key: string | symbol): number | null => {
    if (typeof key !== "string" || !/^(?:-?\d+(?:\.\d+)?(?:e[+-]\d+)?|-?Infinity|NaN)$/.test(key))
      return null;
    const index = Number(key);
    if (!(Number.isInteger(index) && index >= 0 && index < length)) throw indexError("[]", index, 0, length);
    return index;
  };
  return new Proxy(array, {
    get(_, key) {
      const index = indexOf(key);
      ask?.();
      if (index !== null) return target[index];
      return key === "length" ? length : Reflect.get(array, key, array);
    },
    set(_, key, value) {
      const index = indexOf(key);
      if (index === null) return Reflect.set(array, key, value);
      target[index] = value;
      return true;
    },
  });
}

export interface PrangeOptions {
  /** The iterations are known to touch different elements, though njit cannot see it. */
  readonly independent?: boolean;
}

/** Counts as `for (let i = start; i < end; i += step)`; compiled, its turns may run on several threads. */
export interface Prange {
  (end: number, options?: PrangeOptions): Iterable<number>;
  (start: number, end: number, options?: PrangeOptions): Iterable<number>;
  (start: number, end: number, step: number, options?: PrangeOptions): Iterable<number>;
}

export const prange: Prange = function* prange(...given: readonly (number | PrangeOptions | undefined)[]) {
  const numbers = given.filter((x) => typeof x === "number");
  const [start, end] = numbers.length > 1 ? numbers : [0, numbers[0]];
  const step = numbers[2] ?? 1;
  for (let i = start; i < end; i += step) yield i;
};
