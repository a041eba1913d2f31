/**
 * Arrays in chunks, not computed yet. Every method makes another one; nothing is read before a plan is run. Shapes and dtypes
 * follow the library's own rules: they are asked of it on a tensor of one element.
 */
import { scope, zeros } from "../api.ts";
import { checkDType, type DType, isFloat } from "../dtype.ts";
import { counted, describe, fail, guessed, list, quote } from "../errors.ts";
import { checkSignal } from "../io/source.ts";
import { selectionOf } from "../io/zarr-blocks.ts";
import type { NjitTensor } from "../njit/njit.ts";
import {
  axisList,
  checkFlag,
  checkOptionalDType,
  numberList,
  readList,
  readOptions,
} from "../ops/arguments.ts";
import { arityOf, type NamedOp, namedOps } from "../ops/named.ts";
import { namedOp, type Operand, spread, type Tensor } from "../tensor.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { normalizeAxes, normalizeAxis } from "../view/layout.ts";
import type { SliceItem } from "../view/slice.ts";
import type { Expr, ScalarArg } from "./expr.ts";
import type { Boundary, FoldKind, Material, Node } from "./graph.ts";
import { kernelFrom, type Sent, type SentValue, sendBlocks, sendKernel } from "./kernels.ts";
import { readBytes } from "./memory.ts";
import { makeDraft, type PlanWish } from "./plan.ts";
import { ChunkedPlan, computeDraft } from "./run.ts";

/** The options of `plan`, and of `compute`. */
export interface PlanOptions {
  /** What one process may use: "1 GiB", "256MB" or a number of bytes. Default "1 GiB". */
  readonly memory?: number | string;
  /** Of it, what a process needs before it has done anything; default "96 MiB", or a quarter where that is less. */
  readonly reserved?: number | string;
  /** For how many workers tasks are cut; default 2. */
  readonly workers?: number;
}

/** The options of folds. */
export interface FoldOptions {
  /** The axis or axes that go away; default all. */
  readonly axis?: number | readonly number[];
  /** The axes stay, with size 1. Default false. */
  readonly keepdims?: boolean;
}
/** The options of `var` and `std`. */
export interface SpreadOptions extends FoldOptions {
  /** The sum of squares is divided by count - ddof. Default 0. */
  readonly ddof?: number;
}
/** Values that travel with a function. */
export type ChunkedCaptures = Readonly<Record<string, number | bigint | boolean>>;
/** The options of `map` and `zip`. */
export interface ChunkedMapOptions<W extends ChunkedCaptures = ChunkedCaptures> {
  /** dtype of the result; default what the function makes of its operands'. */
  readonly dtype?: DType;
  /** Values that the function is given by name: numbers, bigints and booleans. */
  readonly with?: W;
}
/** The options of `mapBlocks`. */
export interface MapBlocksOptions<W extends ChunkedCaptures = ChunkedCaptures> extends ChunkedMapOptions<W> {
  /** How many elements around a block it sees, for all axes or one by one; default 0. */
  readonly halo?: number | readonly number[];
  /**
   * What lies beyond the edge of the array: "edge" (default), the nearest element; "reflect", what lies as far inside of the edge,
   * which is not repeated itself; or a number.
   */
  readonly boundary?: Boundary;
}
/** The options of `histogram`. */
export interface ChunkedHistogramOptions {
  /** Intervals of equal width; default 10. */
  readonly bins?: number;
  /** Where the first begins and the last ends; default the smallest and the largest element, which costs a pass. */
  readonly range?: readonly [number, number];
}

/** The options of `approximateQuantile`. */
export interface ChunkedQuantileOptions {
  /** Intervals of the histogram; default 4096. */
  readonly bins?: number;
}

/** The options of `tensordot`. */
export interface ChunkedTensordotOptions {
  /** Those of this array and those of the other, pair by pair; or how many: its last ones and the other's first. */
  readonly axes: number | readonly [readonly number[], readonly number[]];
}

/** The options of `cumsum`. */
export interface ChunkedScanOptions {
  /** Along which sums are made. */
  readonly axis: number;
}

/** The options of `compute`. */
export interface ChunkedComputeOptions extends PlanOptions {
  /** Calls it off. */
  readonly signal?: AbortSignal;
}

/** Something that elementwise operations take beside an array. */
export type ChunkedOperand = ChunkedArray | number | bigint | boolean;

/** A Proxy that was revoked is none. */
function isChunked(x: unknown): x is ChunkedArray {
  try {
    return x instanceof ChunkedArray;
  } catch {
    return false;
  }
}

/** The dtype that comes out of the library for operands like these. */
function dtypeOf(make: (one: (dtype: DType) => Tensor) => Tensor): DType {
  return scope(() => make((dtype) => zeros([1], { dtype }) as Tensor).dtype);
}

export const virtual = (
  label: string,
  key: unknown,
  facts: Pick<Node, "shape" | "dtype" | "chunks">,
  inputs: readonly Node[],
  of: (inputs: readonly Expr[]) => Expr,
): ChunkedArray =>
  new ChunkedArray({
    ...facts,
    label,
    key: JSON.stringify([label, key]),
    inputs,
    how: { kind: "virtual", of },
  });

const material = (
  facts: Pick<Node, "shape" | "dtype" | "chunks">,
  inputs: readonly Node[],
  how: Material,
): ChunkedArray =>
  new ChunkedArray({ ...facts, label: how.kind, key: JSON.stringify([how, facts.dtype]), inputs, how });

/** Chunks for operands that are broadcast together: along each axis those of the operand with most elements. */
function commonChunks(shape: readonly number[], nodes: readonly Node[]): number[] {
  const bySize = [...nodes].sort((a, b) => size(b) - size(a));
  return shape.map((n, d) => {
    for (const node of bySize) {
      const k = d - (shape.length - node.shape.length);
      if (k >= 0 && node.shape[k] === n) return node.chunks[k];
    }
    return n;
  });
}
export const size = ({ shape }: Node): number => shape.reduce((a, b) => a * b, 1);

let peek: (x: ChunkedArray) => Node;
/** The node of what a caller passed. */
export function nodeOf(operation: string, x: unknown): Node {
  if (isChunked(x)) return peek(x);
  return fail(
    "value",
    operation,
    `expected a chunked array, got ${describe(x)}.`,
    "Open one: await chunked.open(…).",
  );
}

/** An array in chunks, not computed yet. Made by `chunked.open` and the like, and by its own methods. */
export class ChunkedArray {
  /** What it is, for plans. */
  readonly #node: Node;
  /**
   * No other array's: test frameworks compare own properties, and what is not computed yet is equal to itself alone.
   *
   * @example
   * const [a, b] = [1, 1].map((x) => chunked.full([2], x, { chunks: [1] }));
   * a.identity === b.identity; // → false
   */
  readonly identity: symbol;

  static {
    peek = (x) => x.#node;
  }

  constructor(node: Node) {
    this.#node = Object.freeze(node);
    this.identity = Symbol(this.toString());
    Object.freeze(this);
  }

  /**
   * Sizes of the axes.
   *
   * @example
   * chunked.full([2, 3], 1, { chunks: [1, 3] }).shape; // → [2, 3]
   */
  get shape(): readonly number[] {
    return this.#node.shape;
  }
  /**
   * The kind of the elements, once they are computed.
   *
   * @example
   * chunked.full([2], true, { chunks: [1] }).dtype; // → bool
   */
  get dtype(): DType {
    return this.#node.dtype;
  }
  /**
   * What is read and written as a whole.
   *
   * @example
   * chunked.full([2, 3], 1, { chunks: [1, 3] }).chunks; // → [1, 3]
   */
  get chunks(): readonly number[] {
    return this.#node.chunks;
  }
  /**
   * Number of axes.
   *
   * @example
   * chunked.full([2, 3], 1, { chunks: [1, 3] }).rank; // → 2
   */
  get rank(): number {
    return this.shape.length;
  }
  /**
   * What it will be, in a line.
   *
   * @returns dtype, shape and chunks
   * @example
   * String(chunked.full([2], 1, { chunks: [1] })); // → ChunkedArray f32 [2] in chunks of [1]
   */
  toString(): string {
    return `ChunkedArray ${this.dtype} ${list(this.shape)} in chunks of ${list(this.chunks)}`;
  }
  /* Elementwise ----------------------------------------------------------------------------------------- */

  /**
   * Any of the library's named elementwise operations.
   *
   * @param name of it: "hypot", "greater", "where" …
   * @param others its operands after this one: arrays that are broadcast together, and numbers
   * @returns another array, not computed yet
   * @throws TensorError where there is no such operation, or it takes another number of operands
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.op("hypot", 4).compute(); // → f32 [5, 5]
   * await a.op("greater", 2).compute(); // → bool [true, true]
   */
  op(name: NamedOp, ...others: readonly ChunkedOperand[]): ChunkedArray {
    checkOp(name, 1 + others.length);
    return named(name, [this, ...others]);
  }
  /**
   * Sums.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 1, { chunks: [1] });
   * await a.add(2).compute(); // → f32 [3, 3]
   */
  add(other: ChunkedOperand): ChunkedArray {
    return named("add", [this, other]);
  }
  /**
   * Differences.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 1, { chunks: [1] });
   * await a.sub(2).compute(); // → f32 [-1, -1]
   */
  sub(other: ChunkedOperand): ChunkedArray {
    return named("sub", [this, other]);
  }
  /**
   * Products, element by element; see `matmul` for those of matrices.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.mul(2).compute(); // → f32 [6, 6]
   */
  mul(other: ChunkedOperand): ChunkedArray {
    return named("mul", [this, other]);
  }
  /**
   * Quotients.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.div(2).compute(); // → f32 [1.5, 1.5]
   */
  div(other: ChunkedOperand): ChunkedArray {
    return named("div", [this, other]);
  }
  /**
   * Powers.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.pow(2).compute(); // → f32 [9, 9]
   */
  pow(other: ChunkedOperand): ChunkedArray {
    return named("pow", [this, other]);
  }
  /**
   * The larger of two, NaN where one of them is; see `max` for that of all elements.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.maximum(4).compute(); // → f32 [4, 4]
   */
  maximum(other: ChunkedOperand): ChunkedArray {
    return named("maximum", [this, other]);
  }
  /**
   * The smaller of two, NaN where one of them is; see `min` for that of all elements.
   *
   * @param other a number, or an array that is broadcast with this one
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.minimum(4).compute(); // → f32 [3, 3]
   */
  minimum(other: ChunkedOperand): ChunkedArray {
    return named("minimum", [this, other]);
  }
  /**
   * Negatives.
   *
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.neg().compute(); // → f32 [-3, -3]
   */
  neg(): ChunkedArray {
    return named("neg", [this]);
  }
  /**
   * Absolute values.
   *
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], -3, { chunks: [1] });
   * await a.abs().compute(); // → f32 [3, 3]
   */
  abs(): ChunkedArray {
    return named("abs", [this]);
  }
  /**
   * Square roots.
   *
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 9, { chunks: [1] });
   * await a.sqrt().compute(); // → f32 [3, 3]
   */
  sqrt(): ChunkedArray {
    return named("sqrt", [this]);
  }
  /**
   * Powers of e.
   *
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 0, { chunks: [1] });
   * await a.exp().compute(); // → f32 [1, 1]
   */
  exp(): ChunkedArray {
    return named("exp", [this]);
  }
  /**
   * Natural logarithms.
   *
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([2], 1, { chunks: [1] });
   * await a.log().compute(); // → f32 [0, 0]
   */
  log(): ChunkedArray {
    return named("log", [this]);
  }
  /**
   * Every element as another dtype.
   *
   * @param dtype which
   * @returns another array, not computed yet; this one, where it has that dtype
   * @example
   * const a = chunked.full([2], 1.5, { chunks: [1] });
   * await a.to("i32").compute(); // → i32 [1, 1]
   */
  to(dtype: DType): ChunkedArray {
    checkDType("to", dtype);
    const { shape, chunks } = this;
    if (dtype === this.dtype) return this;
    return virtual("to", dtype, { shape, chunks, dtype }, [this.#node], ([of]) => ({
      kind: "cast",
      of,
      shape,
      dtype,
    }));
  }
  /**
   * A function of each element, compiled. It travels as its text, with the values of `with`.
   *
   *     a.map((x, { k }) => Math.tanh(k * x), { with: { k: 2 } });
   *
   * @param fn of an element, and of the values of `with`
   * @param options `with`, `dtype`
   * @returns another array, not computed yet
   * @throws TensorError where the function cannot be compiled, with the place of it
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.map((x, { k }) => x * x + k, { with: { k: 1 } }).compute(); // → f32 [10, 10]
   */
  map<W extends ChunkedCaptures>(
    fn: (x: number, captured: W) => number | boolean,
    options?: ChunkedMapOptions<W>,
  ): ChunkedArray {
    return mapOf("map", fn, [this], options);
  }
  /**
   * A function of each element and of those of another array, broadcast together.
   *
   *     a.zip(b, (x, y) => Math.hypot(x, y));
   *
   * @param other an array
   * @param fn of an element of each, and of the values of `with`
   * @param options `with`, `dtype`
   * @returns another array, not computed yet
   * @throws TensorError where the function cannot be compiled, with the place of it
   * @example
   * const a = chunked.full([2], 3, { chunks: [1] });
   * await a.zip(a.add(1), (x, y) => x * y).compute(); // → f32 [12, 12]
   */
  zip<W extends ChunkedCaptures>(
    other: ChunkedArray,
    fn: (x: number, y: number, captured: W) => number | boolean,
    options?: ChunkedMapOptions<W>,
  ): ChunkedArray {
    return mapOf("zip", fn, [this, other], options);
  }

  /* Folds ----------------------------------------------------------------------------------------------- */

  /**
   * The sum over axes; floats are carried in f64.
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.sum({ axis: 0 }).compute(); // → f32 [4, 4, 4]
   */
  sum(options?: FoldOptions): ChunkedArray {
    const result = dtypeOf((one) => one(this.dtype).sum());
    return fold("sum", this, options, isFloat(result) ? "f64" : result).finish(0, result);
  }
  /**
   * The product over axes; floats are carried in f64.
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.prod({ axis: 0 }).compute(); // → f32 [4, 4, 4]
   */
  prod(options?: FoldOptions): ChunkedArray {
    const result = dtypeOf((one) => one(this.dtype).prod());
    return fold("prod", this, options, isFloat(result) ? "f64" : result).finish(0, result);
  }
  /**
   * The smallest element over axes; NaN where there is one.
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.min({ axis: 1 }).compute(); // → f32 [2, 2]
   */
  min(options?: FoldOptions): ChunkedArray {
    return fold("min", this, options, this.dtype).finish(0, this.dtype);
  }
  /**
   * The largest element over axes; NaN where there is one.
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.max({ axis: 1 }).compute(); // → f32 [2, 2]
   */
  max(options?: FoldOptions): ChunkedArray {
    return fold("max", this, options, this.dtype).finish(0, this.dtype);
  }
  /**
   * Is an element other than 0 over axes?
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 0, { chunks: [1, 3] });
   * await a.any({ axis: 1 }).compute(); // → bool [false, false]
   */
  any(options?: FoldOptions): ChunkedArray {
    return fold("any", this, options, "bool").finish(0, "bool");
  }
  /**
   * Are all elements other than 0 over axes?
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.all({ axis: 1 }).compute(); // → bool [true, true]
   */
  all(options?: FoldOptions): ChunkedArray {
    return fold("all", this, options, "bool").finish(0, "bool");
  }
  /**
   * The mean over axes, in the same pass as `var` and `std` over them.
   *
   * @param options `axis`, `keepdims`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.mean({ axis: 1, keepdims: true }).compute(); // → f32 [[2], [2]]
   */
  mean(options?: FoldOptions): ChunkedArray {
    const result = dtypeOf((one) => one(this.dtype).mean());
    return fold("moments", this, options, "f64", "mean").finish(1, result);
  }
  /**
   * The variance over axes: squares about the mean, merged by Chan's rule.
   *
   * @param options `axis`, `keepdims`, `ddof`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.var({ axis: 0 }).compute(); // → f32 [0, 0, 0]
   */
  var(options?: SpreadOptions): ChunkedArray {
    const { squares, count, result } = this.#spread("var", options);
    return squares.div(count).to(result);
  }
  /**
   * The standard deviation over axes: the root of `var`.
   *
   * @param options `axis`, `keepdims`, `ddof`
   * @returns an array without those axes, not computed yet
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.std({ axis: 0 }).compute(); // → f32 [0, 0, 0]
   */
  std(options?: SpreadOptions): ChunkedArray {
    const { squares, count, result } = this.#spread("std", options);
    return squares.div(count).sqrt().to(result);
  }
  #spread(operation: string, options: SpreadOptions | undefined) {
    const { ddof = 0, ...rest } = readOptions(operation, options, "{ axis: 0, ddof: 1 }", [
      "axis",
      "keepdims",
      "ddof",
    ]);
    if (typeof ddof !== "number") fail("value", operation, `ddof is ${describe(ddof)}.`, "Give a number.");
    const folded = fold("moments", this, rest, "f64", operation);
    const result = dtypeOf((one) => one(this.dtype).mean());
    return { squares: folded.finish(2, "f64"), count: Math.max(0, folded.count - ddof), result };
  }
  /**
   * Sums of all elements up to each, along one axis.
   *
   * @param options `axis`
   * @returns another array, not computed yet
   * @example
   * const a = chunked.full([4], 1, { chunks: [2] });
   * await a.cumsum({ axis: 0 }).compute(); // → f32 [1, 2, 3, 4]
   */
  cumsum(options: ChunkedScanOptions): ChunkedArray {
    const { axis } = readOptions("cumsum", options, "{ axis: 0 }", ["axis"]);
    const d = normalizeAxis("cumsum", axis, this.rank);
    const dtype = dtypeOf((one) => one(this.dtype).cumsum({ axis: 0 }));
    const carried = isFloat(dtype) ? "f64" : dtype;
    const { shape, chunks } = this;
    return material({ shape, chunks, dtype: carried }, [this.#node], { kind: "scan", axis: d }).to(dtype);
  }
  /**
   * How many elements fall into each of some intervals of equal width; the last one has its end, too. The edges are
   * `linspace(low, high, bins + 1)`, where low and high are the range: the smallest and the largest element where none is given (half
   * below and half above, if they are equal). What lies beyond a range is not counted, nor is NaN.
   *
   * @param options `bins`, `range`
   * @returns i64, one for each interval, not computed yet
   * @throws TensorError, when it is computed, where elements are NaN or infinite and there is no range
   * @example
   * const a = chunked.full([4], 1, { chunks: [2] }).cumsum({ axis: 0 }); // 1, 2, 3, 4
   * await a.histogram({ bins: 2, range: [0, 4] }).compute(); // → i64 [1, 3]
   * linspace(0, 4, 3); // → f32 [0, 2, 4]
   */
  histogram(options?: ChunkedHistogramOptions): ChunkedArray {
    const { bins = 10, range } = readOptions("histogram", options, "{ bins: 20, range: [0, 1] }", [
      "bins",
      "range",
    ]);
    return this.#counts("histogram", bins, range, () => [this.min(), this.max()]);
  }
  /** Between `range`, or between the elements that these two arrays hold. */
  #counts(
    operation: string,
    bins: unknown,
    range: unknown,
    ends: () => readonly [ChunkedArray, ChunkedArray],
  ): ChunkedArray {
    if (!(Number.isInteger(bins) && (bins as number) >= 1 && (bins as number) <= 1 << 20)) {
      fail("value", operation, `bins are ${describe(bins)}.`, "Use a whole number from 1 to 2^20.");
    }
    const pair = range === undefined ? undefined : numberList(operation, "range", range);
    if (pair !== undefined && !(pair.length === 2 && pair.every(Number.isFinite) && pair[0] < pair[1])) {
      fail("value", operation, `the range is ${list(pair)}.`, "Give [low, high].");
    }
    const axes = this.shape.map((_, d) => d);
    const facts = { shape: [bins as number], chunks: [bins as number], dtype: "i64" as const };
    const inputs = [this, ...(pair === undefined ? ends() : [])].map((x) => x.#node);
    return material(facts, inputs, {
      kind: "fold",
      how: "histogram",
      axes,
      bins: bins as number,
      ...(pair === undefined ? {} : { range: [pair[0], pair[1]] as const }),
    });
  }
  /** The smallest and the largest element that is a number and finite; Infinity and -Infinity where none is. */
  #finiteEnds(): readonly [ChunkedArray, ChunkedArray] {
    if (!isFloat(this.dtype)) return [this.min(), this.max()];
    const within = (otherwise: number) => named("where", [named("isfinite", [this]), this, otherwise]);
    return [within(Number.POSITIVE_INFINITY).min(), within(Number.NEGATIVE_INFINITY).max()];
  }
  /**
   * Quantiles read off a histogram of `bins` intervals between the smallest and the largest finite element: wrong by the width of
   * one interval at the most. NaN and infinities are not counted; where there is nothing else, the quantiles are NaN.
   *
   * @param q one, from 0 to 1, or a list of them
   * @param options `bins`
   * @returns f64, without an axis or one for each, not computed yet
   * @example
   * const a = chunked.random([1000], { chunks: [100], seed: 1 });
   * const median = Number((await a.approximateQuantile(0.5).compute()).item());
   * Math.abs(median - 0.5) < 0.05; // → true
   */
  approximateQuantile(q: number | readonly number[], options?: ChunkedQuantileOptions): ChunkedArray {
    const operation = "approximateQuantile";
    const all = typeof q === "number" ? [q] : [...numberList(operation, "q", q)];
    if (all.length === 0 || !all.every((x) => x >= 0 && x <= 1)) {
      fail("value", operation, `q is ${list(all)}.`, "Quantiles are from 0 to 1.");
    }
    const { bins = 4096 } = readOptions(operation, options, "{ bins: 4096 }", ["bins"]);
    const ends = this.#finiteEnds();
    const counts = this.#counts(operation, bins, undefined, () => ends);
    const facts = { shape: [all.length], chunks: [all.length], dtype: "f64" as const };
    const inputs = [counts, ...ends].map((x) => x.#node);
    const made = material(facts, inputs, { kind: "quantile", q: all });
    return typeof q === "number" ? made.slice(0) : made;
  }

  /* Shapes ---------------------------------------------------------------------------------------------- */

  /**
   * A part, as `slice` of a tensor takes it: integers, "1:5", [start, stop, step], null for a new axis, "...".
   *
   * @param items for each axis
   * @returns another array, not computed yet
   * @throws TensorError where it is empty
   * @example
   * const a = chunked.full([4], 1, { chunks: [2] }).cumsum({ axis: 0 });
   * await a.slice("::-2").compute(); // → f32 [4, 2]
   */
  slice(...items: SliceItem[]): ChunkedArray {
    const { shape, picks } = selectionOf(this.shape, items);
    if (shape.includes(0)) {
      fail(
        "shape",
        "slice",
        `the slice is empty: ${list(shape)} of ${list(this.shape)}.`,
        "Chunked arrays have elements.",
      );
    }
    const chunks = shape.map((n, d) => {
      const from = picks.findIndex((pick) => pick.out === d);
      if (from < 0) return 1;
      return Math.min(n, Math.max(1, Math.ceil(this.chunks[from] / Math.abs(picks[from].step))));
    });
    const { dtype } = this;
    return virtual("slice", [picks, shape], { shape, dtype, chunks }, [this.#node], ([of]) => ({
      kind: "slice",
      of,
      picks: picks.map(({ start, step, count, out }) => ({ start, step, count, out })),
      shape,
      dtype,
    }));
  }
  /**
   * Axes in another order; without a list they are reversed.
   *
   * @param axes each of them once, in the new order
   * @returns another array, not computed yet
   * @example
   * chunked.full([2, 3], 1, { chunks: [1, 3] }).transpose().shape; // → [3, 2]
   */
  transpose(...axes: readonly number[] | readonly [readonly number[]]): ChunkedArray {
    const given =
      axes.length === 0 ? this.shape.map((_, d) => this.rank - 1 - d) : spread("transpose", "the axes", axes);
    const order = normalizeAxes("transpose", given, this.rank);
    if (order.length !== this.rank) {
      fail("shape", "transpose", `${list(order)} is no order of ${this.rank} axes.`, "Name each axis once.");
    }
    const shape = order.map((d) => this.shape[d]);
    const chunks = order.map((d) => this.chunks[d]);
    const { dtype } = this;
    return virtual("transpose", order, { shape, dtype, chunks }, [this.#node], ([of]) => ({
      kind: "permute",
      of,
      axes: order,
      shape,
      dtype,
    }));
  }
  /**
   * New axes of size 1.
   *
   * @param axes their places in the result
   * @returns another array, not computed yet
   * @example
   * chunked.full([2, 3], 1, { chunks: [1, 3] }).expandDims([0, 2]).shape; // → [1, 2, 1, 3]
   */
  expandDims(axes: number | readonly number[]): ChunkedArray {
    const given = axisList("expandDims", axes);
    const count = typeof given === "number" ? 1 : given.length;
    const at = normalizeAxes("expandDims", given, this.rank + count);
    const items: SliceItem[] = Array.from({ length: this.rank + count }, (_, d) =>
      at.includes(d) ? null : ":",
    );
    return this.slice(...items);
  }
  /**
   * The same elements in other chunks, in one or two passes over them.
   *
   * @param chunks sizes, one for each axis
   * @returns another array, not computed yet
   * @example
   * chunked.full([4, 6], 1, { chunks: [4, 1] }).rechunk([1, 6]).chunks; // → [1, 6]
   */
  rechunk(chunks: readonly number[]): ChunkedArray {
    const sizes = chunksGiven("rechunk", chunks, this.shape);
    if (String(sizes) === String(this.chunks)) return this;
    const { shape, dtype } = this;
    return material({ shape, dtype, chunks: sizes }, [this.#node], { kind: "rechunk" });
  }

  /* Products and blocks --------------------------------------------------------------------------------- */

  /**
   * The product of two matrices.
   *
   * @param other as many rows as this one has columns
   * @returns another array, not computed yet
   * @throws TensorError where they do not fit
   * @example
   * const a = chunked.full([2, 3], 2, { chunks: [1, 3] });
   * await a.matmul(a.transpose()).compute(); // → f32 [[12, 12], [12, 12]]
   */
  matmul(other: ChunkedArray): ChunkedArray {
    const b = nodeOf("matmul", other);
    if (this.rank !== 2 || b.shape.length !== 2 || this.shape[1] !== b.shape[0]) {
      fail(
        "shape",
        "matmul",
        `a is ${list(this.shape)}, b is ${list(b.shape)}.`,
        "Both are matrices, and a's columns are as many as b's rows; see tensordot.",
      );
    }
    return contract(this.#node, b, [1], [0]);
  }
  /**
   * Sums of products over pairs of axes: `{ axes: [[1], [0]] }` is `matmul`, and so is `{ axes: 1 }`. `{ axes: 0 }` is
   * the outer product: every element by every other.
   *
   * @param other an array
   * @param options `axes`
   * @returns an array with the other axes of this one, then those of the other; not computed yet
   * @throws TensorError where sizes differ
   * @example
   * const a = chunked.full([2, 3, 4], 1, { chunks: [1, 3, 4] });
   * a.tensordot(a, { axes: [[0, 2], [0, 2]] }).shape; // → [3, 3]
   * a.tensordot(a.transpose(1, 2, 0), { axes: 2 }).shape; // → [2, 2]
   */
  tensordot(other: ChunkedArray, options: ChunkedTensordotOptions): ChunkedArray {
    const operation = "tensordot";
    const b = nodeOf(operation, other);
    const { axes } = readOptions(operation, options, "{ axes: [[1], [0]] }", ["axes"]);
    const pair =
      typeof axes === "number"
        ? countedAxes(operation, axes, this.rank, b.shape.length)
        : readList(operation, "axes", axes);
    if (pair?.length !== 2)
      fail("value", operation, `axes are ${describe(axes)}.`, "Write [[1], [0]], or how many: 1.");
    const axesA = normalizeAxes(operation, numberList(operation, "axes of a", pair[0]), this.rank);
    const axesB = normalizeAxes(operation, numberList(operation, "axes of b", pair[1]), b.shape.length);
    const isSame =
      axesA.length === axesB.length && axesA.every((d, k) => this.shape[d] === b.shape[axesB[k]]);
    if (!isSame) {
      fail(
        "shape",
        operation,
        `axes ${list(axesA)} of ${list(this.shape)} and ${list(axesB)} of ${list(b.shape)} do not match.`,
        "Name as many axes of each, of equal sizes.",
      );
    }
    // Nothing is added up: every element by every other.
    if (axesA.length === 0) return b.shape.reduce<ChunkedArray>((a) => a.expandDims(a.rank), this).mul(other);
    return contract(this.#node, b, axesA, axesB);
  }
  /**
   * A whole function (as `njit` compiles them) of each chunk, with what lies around it. It is called as `fn(out, x, captured)`: `out` is
   * the block to fill, of zeros, and `x` the elements there, larger by `halo` on each side of each axis: what lies at `i` in `out` lies at
   * `i + halo` in `x`. Beyond the array's edge `x` has what `boundary` says. The result has this array's shape and chunks.
   *
   * @param fn of the block to fill, the elements, and the values of `with`
   * @param options `halo`, `boundary`, `dtype`, `with`
   * @returns another array, not computed yet
   * @throws TensorError where the function cannot be compiled, with the place of it
   * @example
   * const a = chunked.full([5], 1, { chunks: [2] }).cumsum({ axis: 0 }); // 1, 2, 3, 4, 5
   * const smooth = a.mapBlocks(
   *   (out, x) => {
   *     for (let i = 0; i < out.shape[0]; i++) out.set([i], (x.get(i) + x.get(i + 1) + x.get(i + 2)) / 3);
   *   },
   *   { halo: 1, boundary: 0 },
   * );
   * await smooth.compute(); // → f32 [1, 2, 3, 4, 3]
   */
  mapBlocks<W extends ChunkedCaptures>(
    fn: (out: NjitTensor, x: NjitTensor, captured: W) => unknown,
    options?: MapBlocksOptions<W>,
  ): ChunkedArray;
  mapBlocks(fn: (...args: never[]) => unknown, options?: MapBlocksOptions): ChunkedArray;
  mapBlocks(fn: (...args: never[]) => unknown, options?: MapBlocksOptions): ChunkedArray {
    const operation = "mapBlocks";
    const read = readOptions(operation, options, "{ halo: 1 }", ["halo", "boundary", "dtype", "with"]);
    const { halo = 0, boundary = "edge" } = read;
    const dtype = checkOptionalDType(operation, read.dtype) ?? this.dtype;
    const sizes =
      typeof halo === "number" ? this.shape.map(() => halo) : [...numberList(operation, "halo", halo)];
    const isHalo = sizes.length === this.rank && sizes.every((n) => Number.isInteger(n) && n >= 0);
    if (!isHalo) fail("value", operation, `halo is ${describe(halo)}.`, "Give a number, or one an axis.");
    if (boundary !== "edge" && boundary !== "reflect" && typeof boundary !== "number") {
      fail("value", operation, `boundary is ${describe(boundary)}.`, 'Use "edge", "reflect" or a number.');
    }
    if (boundary === "reflect" && sizes.some((n, d) => n >= this.shape[d])) {
      fail("value", operation, `a halo of ${list(sizes)} reflects more than ${list(this.shape)} has.`);
    }
    const sent: Sent = sendBlocks(operation, fn, read.with);
    const { shape, chunks } = this;
    return material({ shape, chunks, dtype }, [this.#node], {
      kind: "blocks",
      fn: sent,
      halo: sizes,
      boundary: typeof boundary === "number" ? sentScalar(operation, boundary) : boundary,
    });
  }

  /* Plans ----------------------------------------------------------------------------------------------- */

  /**
   * What computing it takes. Nothing is read.
   *
   * @param options `memory`, `reserved`, `workers`
   * @returns a plan, to be shown and run
   * @throws TensorError where an operation cannot be done within the memory; it names an amount that is enough
   * @example
   * const a = chunked.full([4, 4], 1, { chunks: [2, 4] });
   * a.sum({ axis: 0 }).plan({ memory: "64 MiB" }).operations.map((op) => op.kind); // → [fold, combine, blockwise]
   */
  plan(options?: PlanOptions): ChunkedPlan {
    return new ChunkedPlan(makeDraft(this.#node, wishFrom("plan", options)));
  }
  /**
   * Computes it in this process, as a tensor. The result, and what lies between operations, are kept in memory.
   *
   * @param options `memory`, `reserved`, `workers`, `signal`
   * @returns a promise of the elements
   * @throws TensorError where they do not fit into the memory: before anything is read
   * @example
   * await chunked.full([2, 2], 1, { chunks: [1, 2] }).add(1).compute(); // → f32 [[2, 2], [2, 2]]
   */
  async compute(options?: ChunkedComputeOptions): Promise<Tensor> {
    const { signal, ...rest } = readOptions("compute", options, '{ memory: "1 GiB" }', [
      "memory",
      "reserved",
      "workers",
      "signal",
    ]);
    checkSignal("compute", signal);
    return computeDraft(makeDraft(this.#node, { ...wishFrom("compute", rest), isKept: true }), signal);
  }
}

function wishFrom(operation: string, options: PlanOptions | undefined): PlanWish {
  const read = readOptions(operation, options, '{ memory: "1 GiB", workers: 2 }', [
    "memory",
    "reserved",
    "workers",
  ]);
  const memory = readBytes(operation, "memory", read.memory ?? "1 GiB");
  const reserved = read.reserved === undefined ? null : readBytes(operation, "reserved", read.reserved);
  const { workers = 2 } = read;
  if (!(Number.isInteger(workers) && workers >= 1 && workers <= 100_000)) {
    fail("value", operation, `workers are ${describe(workers)}.`, "Use 1 … 100,000.");
  }
  return { memory, reserved, workers };
}

/* How they are made ----------------------------------------------------------------------------------------- */

/** Throws unless there is such an operation, and it takes so many operands. */
function checkOp(name: unknown, count: number): void {
  const arity = arityOf(name);
  if (arity === count) return;
  if (arity !== null) {
    fail("value", name as string, `it takes ${counted(arity, "operand")}, and was given ${count}.`);
  }
  const isMethod =
    typeof name === "string" && name !== "constructor" && Object.hasOwn(ChunkedArray.prototype, name);
  const remedy = isMethod
    ? `It is a method: a.${name}(…).`
    : `${typeof name === "string" ? guessed(name, namedOps) : ""}There are ${namedOps.join(", ")}.`;
  fail(
    "value",
    "op",
    `there is no operation ${typeof name === "string" ? quote(name) : describe(name)}.`,
    remedy,
  );
}

/** A number, bigint or boolean as a plan has it. */
export function sentScalar(operation: string, x: unknown): SentValue {
  if (typeof x === "boolean") return x;
  if (typeof x === "bigint") return { big: String(x) };
  if (typeof x !== "number") {
    return fail(
      "value",
      operation,
      `expected a chunked array or a number, got ${describe(x)}.`,
      "What is in memory becomes one through a store: await zarr.save(store, tensor), then await chunked.open(store).",
    );
  }
  const isPlain = Number.isFinite(x) && !Object.is(x, -0);
  return isPlain ? x : { number: Object.is(x, -0) ? "-0" : String(x) };
}

function named(op: NamedOp, operands: readonly ChunkedOperand[]): ChunkedArray {
  const arrays = operands.filter(isChunked).map((x) => nodeOf(op, x));
  const scalars = operands.map((x) => (isChunked(x) ? null : { scalar: sentScalar(op, x) }));
  const shape = broadcastShapes(
    op,
    arrays.map((a) => a.shape),
  );
  const dtype = dtypeOf((one) =>
    namedOp(
      op,
      operands.map((x): Operand => (isChunked(x) ? one(x.dtype) : x)),
    ),
  );
  return virtual(op, scalars, { shape, dtype, chunks: commonChunks(shape, arrays) }, arrays, (inputs) => {
    let k = 0;
    const args = scalars.map((s): Expr | ScalarArg => s ?? inputs[k++]);
    return { kind: "named", op, args, shape, dtype };
  });
}

function mapOf(
  operation: string,
  fn: unknown,
  operands: readonly ChunkedArray[],
  options: ChunkedMapOptions | undefined,
): ChunkedArray {
  const read = readOptions(operation, options, "{ with: { k: 2 } }", ["dtype", "with"]);
  const to = checkOptionalDType(operation, read.dtype) ?? null;
  const nodes = operands.map((x) => nodeOf(operation, x));
  const sent = sendKernel(operation, fn, read.with);
  const made = kernelFrom(operation, sent, to ?? undefined) as unknown as (
    ...all: readonly Tensor[]
  ) => Tensor;
  const dtype = dtypeOf((one) => made(...nodes.map((n) => one(n.dtype))));
  const shape = broadcastShapes(
    operation,
    nodes.map((n) => n.shape),
  );
  return virtual("map", [sent, to], { shape, dtype, chunks: commonChunks(shape, nodes) }, nodes, (args) => ({
    kind: "map",
    fn: sent,
    args,
    to,
    shape,
    dtype,
  }));
}

interface Folded {
  /** Elements that each result is made of. */
  readonly count: number;
  /** One of the states, as this dtype. */
  finish(state: number, dtype: DType): ChunkedArray;
}

function fold(
  how: FoldKind,
  x: ChunkedArray,
  options: FoldOptions | undefined,
  carried: DType,
  operation: string = how,
): Folded {
  const { axis, keepdims } = readOptions(operation, options, "{ axis: 0 }", ["axis", "keepdims"]);
  checkFlag(operation, "keepdims", keepdims);
  const axes = (
    axis === undefined
      ? x.shape.map((_, d) => d)
      : normalizeAxes(operation, axisList(operation, axis), x.rank)
  ).sort((a, b) => a - b);
  const kept = x.shape.map((_, d) => d).filter((d) => !axes.includes(d));
  const states = how === "moments" ? 3 : 1;
  const facts = {
    shape: [states, ...kept.map((d) => x.shape[d])],
    chunks: [states, ...kept.map((d) => x.chunks[d])],
    dtype: carried,
  };
  const made = material(facts, [nodeOf(how, x)], { kind: "fold", how, axes });
  return {
    count: axes.reduce((n, d) => n * x.shape[d], 1),
    finish(state, dtype) {
      const items: SliceItem[] = [
        state,
        ...(keepdims === true ? x.shape.map((_, d) => (axes.includes(d) ? null : ":")) : []),
      ];
      return made.slice(...items).to(dtype);
    },
  };
}

/** The last axes of a with the first ones of b. */
function countedAxes(operation: string, count: number, a: number, b: number): [number[], number[]] {
  if (!(Number.isInteger(count) && count >= 0 && count <= Math.min(a, b))) {
    fail(
      "value",
      operation,
      `axes are ${count}, and the arrays have ${a} and ${b}.`,
      "Write [[1], [0]], or how many: 1.",
    );
  }
  const all = Array.from({ length: count }, (_, k) => k);
  return [all.map((k) => a - count + k), all];
}

function contract(a: Node, b: Node, axesA: readonly number[], axesB: readonly number[]): ChunkedArray {
  const free = (n: Node, axes: readonly number[]) =>
    n.shape.map((_, d) => d).filter((d) => !axes.includes(d));
  const [fa, fb] = [free(a, axesA), free(b, axesB)];
  const shape = [...fa.map((d) => a.shape[d]), ...fb.map((d) => b.shape[d])];
  const chunks = [...fa.map((d) => a.chunks[d]), ...fb.map((d) => b.chunks[d])];
  const dtype = scope(() => {
    const one = (n: Node) => zeros([1, 1], { dtype: n.dtype }) as Tensor;
    return one(a).matmul(one(b)).dtype;
  });
  // Blocks are added up in it: sums of halves would be rounded with each, until they grow no more.
  const carried = dtype === "f16" || dtype === "bf16" ? "f32" : dtype;
  const made = { shape, chunks, dtype: carried } as const;
  return material(made, [a, b], { kind: "contract", axesA, axesB }).to(dtype);
}

/** Chunks as they were given, checked against the shape they are to cut. */
export function chunksGiven(operation: string, given: unknown, shape: readonly number[]): number[] {
  const sizes = numberList(operation, "chunks", given);
  if (sizes.length !== shape.length || !sizes.every((n) => Number.isSafeInteger(n) && n >= 1)) {
    fail(
      "value",
      operation,
      `chunks are ${list(sizes)} for shape ${list(shape)}.`,
      "Give a size from 1 an axis.",
    );
  }
  return sizes.map((n, d) => Math.min(n, shape[d]));
}
