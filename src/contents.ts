/**
 * What two tensors are compared by. Deep equality, as test frameworks and assert know it, walks own properties, and what
 * a tensor is made of cannot be seen from outside. So a tensor has one own property, whose value holds nothing until it is
 * asked for its keys: then it holds dtype, shape and values as they are at that moment, for as long as the caller's turn
 * lasts.
 */
import { type DType, dtypes, isHalf, type ScalarOf, type TypedArray, toScalar } from "./dtype.ts";
import { fail, list } from "./errors.ts";
import { formatValues } from "./format.ts";
import { copyTo } from "./ops/copy.ts";
import { withTemporary } from "./ops/strided.ts";
import type { Strided } from "./run/call.ts";
import { sizeOf } from "./view/layout.ts";
import { isContiguous } from "./view/view.ts";

/** Where tests run in a context of their own, a global name costs a microsecond each time it is read: not in loops. */
const { imul } = Math;
const { isNaN: isNaNumber, NaN: nan } = Number;

/** Up to so many elements are all shown where two tensors differ. */
const MOST_SHOWN = 1000;

/** The tensor behind a target of the Proxy below. */
let ownerOf: (contents: TensorContents) => object;

/** Its own properties are what was asked for last. */
class TensorContents {
  readonly #owner: object;
  [key: string]: unknown;
  static {
    ownerOf = (contents) => contents.#owner;
  }
  constructor(owner: object) {
    this.#owner = owner;
  }
}

/**
 * A comparison begins with the keys of one side. From there on both sides answer with what they hold then: the other is
 * filled when it is first asked for anything.
 */
let asking = 0;
/** Those that hold something, and the asking that it is from. */
const filled = new WeakMap<TensorContents, number>();

/** What they may hold. */
const keys: ReadonlySet<unknown> = new Set(["dtype", "shape", "values", "checksum", "differs"]);

/** Makes the property's values; `read` gives what an owner is made of, or throws where it has been disposed. */
export function lazyContents(read: (owner: object) => Strided): (owner: object) => object {
  const fill = (contents: TensorContents): TensorContents => {
    if (filled.get(contents) === asking) return contents;
    const of = read(ownerOf(contents));
    clear(contents);
    Object.assign(contents, contentsOf(of));
    filled.set(contents, asking);
    void turnEnds.then(() => clear(contents));
    return contents;
  };
  const handler: ProxyHandler<TensorContents> = {
    ownKeys(contents) {
      asking++;
      return Reflect.ownKeys(fill(contents));
    },
    has: (contents, key) => Reflect.has(keys.has(key) ? fill(contents) : contents, key),
    get: (contents, key) => Reflect.get(keys.has(key) ? fill(contents) : contents, key),
    getOwnPropertyDescriptor: (contents, key) =>
      Reflect.getOwnPropertyDescriptor(keys.has(key) ? fill(contents) : contents, key),
    preventExtensions: () =>
      fail(
        "value",
        "freeze",
        "what a tensor holds cannot be frozen.",
        "Leave tensors out where objects are frozen deeply.",
      ),
  };
  return (owner) => new Proxy(new TensorContents(owner), handler);
}

type Tester = (a: unknown, b: unknown) => boolean | undefined;
/** Where vitest and Jest keep what `expect.addEqualityTesters` was given. */
const matchers = Symbol.for("$$jest-matchers-object");
/** Marks a tester as one of ours: a test run may load this module many times. */
const mark = Symbol.for("strided.tester");
const MOST_TESTERS = 4;

/**
 * Tells a test framework, if one is there, how tensors are compared. By itself it would go through their elements one by
 * one, which takes seconds for a million of them.
 */
export function introduce(tester: Tester): void {
  const registry = (globalThis as { [matchers]?: { customEqualityTesters?: unknown } })[matchers];
  const testers = registry?.customEqualityTesters;
  if (!Array.isArray(testers)) return;
  const isOurs = (t: unknown) => typeof t === "function" && mark in t;
  if (testers.filter(isOurs).length >= MOST_TESTERS) testers.splice(testers.findIndex(isOurs), 1);
  testers.push(Object.assign((a: unknown, b: unknown) => tester(a, b), { [mark]: true }));
}

/** Not a timer: test frameworks replace those. */
const turnEnds = Promise.resolve();

function clear(contents: TensorContents): void {
  filled.delete(contents);
  for (const key of Reflect.ownKeys(contents)) delete contents[key as string];
}

/**
 * dtype, shape and values in plain data. Many values are not listed: the first and last of them, a checksum, and where
 * they differ from those of the tensor that was asked before, if it has this dtype and shape.
 */
function contentsOf(of: Strided): Record<string, unknown> {
  const { dtype, frame } = of;
  const shape = [...frame.shape];
  if (sizeOf(shape) <= MOST_SHOWN) return { dtype, shape, values: nestedValues(of) };
  const elements = elementsOf(of);
  const before = latest;
  latest = { dtype, shape, elements };
  void turnEnds.then(() => {
    latest = null;
  });
  const values = formatValues(dtype, frame, of.storage.reader(of.dtype)).split("\n");
  const known = { dtype, shape, values, checksum: checksum(wordsOf(elements)) };
  const isAlike = before !== null && before.dtype === dtype && list(before.shape) === list(shape);
  const differs = isAlike ? difference(dtype, shape, elements, before.elements) : null;
  return differs === null ? known : { ...known, differs };
}

/** The tensor that was asked last in this turn. */
let latest: {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly elements: TypedArray;
} | null = null;

/**
 * The elements in row-major order, outside the heap, and each value in one form only: there are many NaNs, and bytes
 * other than 0 that are true.
 */
function elementsOf(of: Strided): TypedArray {
  const elements = denseOf(of);
  const { dtype } = of;
  if (dtype === "f32" || dtype === "f64") {
    const floats = elements as Float64Array;
    for (let i = 0; i < floats.length; i++) if (isNaNumber(floats[i])) floats[i] = nan;
  } else if (isHalf(dtype)) {
    const bits = elements as Uint16Array;
    const infinity = dtype === "f16" ? 0x7c00 : 0x7f80;
    for (let i = 0; i < bits.length; i++) if ((bits[i] & 0x7fff) > infinity) bits[i] = 0x7fff;
  } else if (dtype === "bool") {
    const bytes = elements as Uint8Array;
    for (let i = 0; i < bytes.length; i++) if (bytes[i] > 1) bytes[i] = 1;
  }
  return elements;
}

function denseOf(of: Strided): TypedArray {
  const { dtype, storage, frame } = of;
  if (!isContiguous(frame) || frame.offset % frame.itemBytes !== 0) {
    return withTemporary(copyTo("compare", of, dtype), denseOf);
  }
  const size = sizeOf(frame.shape);
  return storage.cells(dtype, frame.offset, size).slice();
}

type Words = Uint8Array | Uint16Array | Uint32Array;

/** The same bytes as unsigned integers, of 32 bits at the most. */
function wordsOf({ buffer, BYTES_PER_ELEMENT: bytes }: TypedArray): Words {
  return bytes === 1
    ? new Uint8Array(buffer)
    : bytes === 2
      ? new Uint16Array(buffer)
      : new Uint32Array(buffer);
}

/** Same dtype, shape and values: NaN is NaN, and -0 is not 0. */
export function sameContents(a: Strided, b: Strided): boolean {
  if (a.dtype !== b.dtype || list(a.frame.shape) !== list(b.frame.shape)) return false;
  const x = wordsOf(elementsOf(a));
  const y = wordsOf(elementsOf(b));
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
  return true;
}

/** Where elements of one shape differ, in words; null: nowhere. */
function difference(
  dtype: DType,
  shape: readonly number[],
  elements: TypedArray,
  others: TypedArray,
): string | null {
  const [x, y] = [wordsOf(elements), wordsOf(others)];
  const perElement = x.length / elements.length;
  let first = -1;
  let last = -1;
  let count = 0;
  for (let i = 0; i < x.length; i++) {
    if (x[i] === y[i]) continue;
    const element = (i - (i % perElement)) / perElement;
    if (element === last) continue;
    if (first < 0) first = element;
    last = element;
    count++;
  }
  if (count === 0) return null;
  const here = scalarAt(dtype, elements, first);
  const there = scalarAt(dtype, others, first);
  const which = count === 1 ? "1 element" : `${count} elements, the first`;
  return `from the other in ${which} at ${list(indexOf(first, shape))}: ${here}, there ${there}`;
}

function scalarAt(dtype: DType, { buffer }: TypedArray, i: number): string {
  const { read, bytes } = dtypes[dtype];
  const scalar = toScalar(read(new DataView(buffer), i * bytes), dtype);
  return Object.is(scalar, -0) ? "-0" : String(scalar);
}

function indexOf(position: number, shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length);
  for (let d = shape.length - 1; d >= 0; d--) {
    index[d] = position % shape[d];
    position = Math.floor(position / shape[d]);
  }
  return index;
}

/** 64 bits in which few words more or other are all but sure to show. */
function checksum(words: Words): string {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let i = 0; i < words.length; i++) {
    a = imul(a ^ words[i], 0x01000193);
    b = imul((b ^ words[i]) + a, 0x85ebca6b);
    b ^= b >>> 15;
  }
  const hex = (word: number) => (word >>> 0).toString(16).padStart(8, "0");
  return hex(a) + hex(b);
}

type NestedValues = ScalarOf<DType> | NestedValues[];

function nestedValues(of: Strided): NestedValues {
  const { dtype, frame } = of;
  const read = of.storage.reader(of.dtype);
  const level = (d: number, offset: number): NestedValues =>
    d === frame.shape.length
      ? toScalar(read(offset), dtype)
      : Array.from({ length: frame.shape[d] }, (_, i) => level(d + 1, offset + i * frame.strides[d]));
  return level(0, frame.offset);
}
