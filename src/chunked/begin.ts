/** Where chunked arrays come from: stores, random numbers, one value, and others put together. */
import { full as fullTensor, scope, zeros } from "../api.ts";
import { checkDType, type DType, isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { openArray as openZarr, type ZarrOpenOptions, type ZarrSource } from "../io/zarr-group.ts";
import { checkOptionalDType, numberList, readList, readOptions } from "../ops/arguments.ts";
import { namedOp, type Tensor } from "../tensor.ts";
import { checkShape, normalizeAxis } from "../view/layout.ts";
import { ChunkedArray, chunksGiven, nodeOf, sentScalar, size, virtual } from "./array.ts";
import type { Distribution } from "./expr.ts";
import type { Node } from "./graph.ts";
import { effectiveChunks } from "./stores.ts";

/** The options of `chunked.open`. */
export interface ChunkedOpenOptions extends Pick<ZarrOpenOptions, "path" | "signal"> {}

/**
 * Opens a Zarr array: reads its metadata, and no chunk.
 *
 *     const a = await chunked.open("a.zarr");
 *     const b = await chunked.open("https://host/data.zarr", { path: "temperature" });
 *
 * @param source a folder, a URL, a Map of keys and bytes, or a store
 * @param options `path`, `signal`
 * @returns a promise of an array
 * @throws TensorError where none lies there, or it is empty
 * @example
 * const store = zarr.memoryStore();
 * await zarr.save(store, ones([4, 6]), { chunks: [2, 6] });
 * (await chunked.open(store)).chunks; // → [2, 6]
 */
export async function open(source: ZarrSource, options?: ChunkedOpenOptions): Promise<ChunkedArray> {
  const operation = "chunked.open";
  const read = readOptions(operation, options, "{ path }", ["path", "signal"]);
  const array = await openZarr(source, read);
  const { shape, dtype } = array;
  if (shape.includes(0)) {
    fail("shape", operation, `the array is empty: ${list(shape)}.`, "Chunked arrays have elements.");
  }
  return new ChunkedArray({
    shape: [...shape],
    dtype,
    chunks: effectiveChunks(array),
    key: JSON.stringify(["source", array.path]),
    label: "open",
    inputs: [],
    how: { kind: "source", from: source, path: array.path, isPlain: array.isPlain && liesInFolder(source) },
  });
}

const liesInFolder = (source: ZarrSource): boolean =>
  (typeof source === "string" || source instanceof URL) && !/^https?:/i.test(String(source));

/** The options of `chunked.random`. */
export interface RandomOptions {
  /** Sizes of a chunk, one for each axis. Other chunks are other numbers. */
  readonly chunks: readonly number[];
  /** The same seed gives the same numbers, whatever else is computed. */
  readonly seed: number | bigint;
  /** "uniform" (default), "normal", "exponential" or "integers". */
  readonly distribution?: Distribution;
  /** uniform: low, high (default 0, 1); normal: mean, std (0, 1); exponential: scale (1); integers: low, high (0, 2). */
  readonly params?: readonly number[];
  /** Default f32, of integers i32. */
  readonly dtype?: DType;
}

const usual: Record<Distribution, readonly number[]> = {
  uniform: [0, 1],
  normal: [0, 1],
  exponential: [1],
  integers: [0, 2],
};

/**
 * Random numbers, drawn chunk by chunk when they are needed: each chunk has a stream of its own.
 *
 *     chunked.random([10000, 10000], { chunks: [1000, 1000], seed: 1, distribution: "normal" });
 *
 * @param shape sizes of the axes
 * @param options `chunks`, `seed`, `distribution`, `params`, `dtype`
 * @returns an array, not drawn yet
 * @throws TensorError where an option is none
 * @example
 * const dice = chunked.random([1000], { chunks: [100], seed: 1, distribution: "integers", params: [1, 7] });
 * await dice.max().compute(); // → i32 6
 */
export function random(shape: readonly number[], options: RandomOptions): ChunkedArray {
  const operation = "chunked.random";
  const sizes = shapeGiven(operation, shape);
  const read = readOptions(operation, options, "{ chunks: [100], seed: 1 }", [
    "chunks",
    "seed",
    "distribution",
    "params",
    "dtype",
  ]);
  const { distribution = "uniform" } = read;
  if (typeof distribution !== "string" || !Object.hasOwn(usual, distribution)) {
    fail(
      "value",
      operation,
      `distribution is ${describe(distribution)}.`,
      `Use one of ${Object.keys(usual).join(", ")}.`,
    );
  }
  const isSeed = typeof read.seed === "bigint" || Number.isSafeInteger(read.seed);
  if (!isSeed || read.seed < 0 || read.seed >= 2n ** 64n) {
    fail("value", operation, `the seed is ${describe(read.seed)}.`, "Use a whole number from 0.");
  }
  const dtype = checkOptionalDType(operation, read.dtype) ?? (distribution === "integers" ? "i32" : "f32");
  const params =
    read.params === undefined ? usual[distribution] : numberList(operation, "params", read.params);
  if (params.length !== usual[distribution].length || !params.every(Number.isFinite)) {
    fail(
      "value",
      operation,
      `params are ${list(params)}.`,
      `${distribution} takes ${usual[distribution].length}.`,
    );
  }
  if (isFloat(dtype) === (distribution === "integers")) {
    fail(
      "dtype",
      operation,
      `${distribution} numbers are not ${dtype}.`,
      "Leave dtype out, or convert with to().",
    );
  }
  const chunks = chunksGiven(operation, read.chunks, sizes);
  const seed = String(read.seed);
  const facts = { shape: sizes, dtype, chunks };
  return virtual("random", [seed, sizes, chunks, distribution, params, dtype], facts, [], () => ({
    kind: "random",
    seed,
    chunks,
    distribution,
    params,
    shape: sizes,
    dtype,
  }));
}

/** The options of `chunked.full`. */
export interface ChunkedFullOptions {
  /** Sizes of a chunk, one for each axis. */
  readonly chunks: readonly number[];
  /** Default that of `full`: f32 for a number, i64 for a bigint, bool for a boolean. */
  readonly dtype?: DType;
}

/**
 * One value everywhere.
 *
 * @param shape sizes of the axes
 * @param value a number, a bigint or a boolean
 * @param options `chunks`, `dtype`
 * @returns an array, not filled yet
 * @example
 * await chunked.full([2, 2], 7, { chunks: [1, 2] }).compute(); // → f32 [[7, 7], [7, 7]]
 */
export function full(
  shape: readonly number[],
  value: number | bigint | boolean,
  options: ChunkedFullOptions,
): ChunkedArray {
  const operation = "chunked.full";
  const sizes = shapeGiven(operation, shape);
  const read = readOptions(operation, options, '{ chunks: [10], dtype: "f32" }', ["chunks", "dtype"]);
  const chunks = chunksGiven(operation, read.chunks, sizes);
  if (!["number", "bigint", "boolean"].includes(typeof value))
    fail("value", operation, `the value is ${describe(value)}.`, "Give a number, a bigint or a boolean.");
  const sent = sentScalar(operation, value);
  const dtype =
    read.dtype === undefined ? scope(() => fullTensor([1], value).dtype) : checkDType(operation, read.dtype);
  const facts = { shape: sizes, dtype, chunks };
  return virtual("full", [sizes, sent, dtype], facts, [], () => ({
    kind: "full",
    value: sent,
    shape: sizes,
    dtype,
  }));
}

function shapeGiven(operation: string, shape: unknown): number[] {
  const sizes = [...numberList(operation, "shape", shape)];
  checkShape(operation, sizes);
  if (sizes.includes(0))
    fail("shape", operation, `the shape is ${list(sizes)}.`, "Chunked arrays have elements.");
  return sizes;
}

/** The options of `chunked.concat` and `chunked.stack`. */
export interface ChunkedJoinOptions {
  /** Along which they follow each other; default 0. */
  readonly axis?: number;
}

/**
 * Arrays one after the other along an axis; the chunks are those of the largest, the dtype the one that they meet in.
 *
 * @param arrays a list of arrays
 * @param options `axis`
 * @returns an array, not computed yet
 * @throws TensorError where sizes of other axes differ
 * @example
 * const a = chunked.full([2], 1, { chunks: [1] });
 * await chunked.concat([a, a.add(1)]).compute(); // → f32 [1, 1, 2, 2]
 */
export function concat(arrays: readonly ChunkedArray[], options?: ChunkedJoinOptions): ChunkedArray {
  const operation = "chunked.concat";
  const { axis = 0 } = readOptions(operation, options, "{ axis: 0 }", ["axis"]);
  const given = arraysGiven(operation, arrays);
  const plain = given.map((x) => nodeOf(operation, x));
  const [first] = plain;
  const d = normalizeAxis(operation, axis, first.shape.length);
  const fits = (n: Node) =>
    n.shape.length === first.shape.length && n.shape.every((size, k) => k === d || size === first.shape[k]);
  for (const n of plain) {
    if (!fits(n)) {
      fail("shape", operation, `${list(n.shape)} does not go after ${list(first.shape)} along axis ${d}.`);
    }
  }
  const dtype = scope(
    () =>
      given.map((x) => zeros([1], { dtype: x.dtype }) as Tensor).reduce((a, b) => namedOp("maximum", [a, b]))
        .dtype,
  );
  const nodes = given.map((x) => nodeOf(operation, x.to(dtype)));
  const shape = first.shape.map((n, k) => (k === d ? plain.reduce((sum, p) => sum + p.shape[d], 0) : n));
  const largest = [...plain].sort((a, b) => size(b) - size(a))[0];
  const facts = { shape, dtype, chunks: largest.chunks };
  if (nodes.length === 1) return given[0];
  return virtual("concat", d, facts, nodes, (of) => ({ kind: "concat", of, axis: d, shape, dtype }));
}

/**
 * Arrays of one shape along a new axis.
 *
 * @param arrays a list of arrays
 * @param options `axis`
 * @returns an array, not computed yet
 * @throws TensorError where shapes differ
 * @example
 * const a = chunked.full([2], 1, { chunks: [1] });
 * await chunked.stack([a, a.add(1)]).compute(); // → f32 [[1, 1], [2, 2]]
 */
export function stack(arrays: readonly ChunkedArray[], options?: ChunkedJoinOptions): ChunkedArray {
  const operation = "chunked.stack";
  const { axis = 0 } = readOptions(operation, options, "{ axis: 0 }", ["axis"]);
  const given = arraysGiven(operation, arrays);
  const d = normalizeAxis(operation, axis, given[0].rank + 1);
  return concat(
    given.map((x) => x.expandDims(d)),
    { axis: d },
  );
}

/** A list of arrays, one at least. */
function arraysGiven(operation: string, arrays: unknown): readonly ChunkedArray[] {
  const given = readList(operation, "arrays", arrays);
  if (given === null || given.length === 0) {
    return fail("value", operation, `the arrays are ${describe(arrays)}.`, "Give a list of chunked arrays.");
  }
  for (const x of given) nodeOf(operation, x);
  return given as readonly ChunkedArray[];
}
