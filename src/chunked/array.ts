/**
 * Arrays in chunks, not computed yet. Every method makes another one; nothing is read before a plan is run. Shapes and dtypes
 * follow the library's own rules: they are asked of it on a tensor of one element.
 */
import { scope, zeros } from "../api.ts";
import { checkDType, type DType, isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { checkSignal } from "../io/source.ts";
import { selectionOf } from "../io/zarr-blocks.ts";
import { openArray as openZarr, type ZarrOpenOptions, type ZarrSource } from "../io/zarr-group.ts";
import {
  axisList,
  checkFlag,
  checkOptionalDType,
  numberList,
  readList,
  readOptions,
} from "../ops/arguments.ts";
import type { NamedOp } from "../ops/named.ts";
import { namedOp, type Operand, spread, type Tensor } from "../tensor.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { checkShape, normalizeAxes, normalizeAxis } from "../view/layout.ts";
import type { SliceItem } from "../view/slice.ts";
import type { Distribution, Expr, ScalarArg } from "./expr.ts";
import type { Boundary, FoldKind, Material, Node } from "./graph.ts";
import { kernelFrom, type Sent, type SentValue, sendBlocks, sendKernel } from "./kernels.ts";
import { readBytes } from "./memory.ts";
import { makeDraft, type PlanFacts } from "./plan.ts";
import { ChunkedPlan, computeDraft } from "./run.ts";
import { effectiveChunks } from "./stores.ts";

export interface PlanOptions {
  /** What one process may use: "1 GiB", or bytes. Default "1 GiB". */
  readonly memory?: number | string;
  /** Of it, what a process needs before it has done anything; default "128 MiB", or a quarter where that is less. */
  readonly reserved?: number | string;
  /** For how many workers tasks are cut; default 2. */
  readonly workers?: number;
}

export interface FoldOptions {
  /** The axis or axes that go away; default all. */
  readonly axis?: number | readonly number[];
  /** They stay, with size 1. */
  readonly keepdims?: boolean;
}
export interface SpreadOptions extends FoldOptions {
  /** The sum of squares is divided by count - ddof. Default 0. */
  readonly ddof?: number;
}
/** Values that travel with a function. */
export type ChunkedCaptures = Readonly<Record<string, number | bigint | boolean>>;
export interface ChunkedMapOptions<W extends ChunkedCaptures = ChunkedCaptures> {
  /** dtype of the result; default what the function makes of its operands'. */
  readonly dtype?: DType;
  /** Values that the function is given by name: numbers, bigints and booleans. */
  readonly with?: W;
}
export interface MapBlocksOptions extends ChunkedMapOptions {
  /** How many elements around a block it sees, for all axes or one by one; default 0. */
  readonly halo?: number | readonly number[];
  /** What lies beyond the edge of the array: "edge" (default), "reflect", or a number. */
  readonly boundary?: Boundary;
}
export interface ChunkedHistogramOptions {
  /** Intervals of equal width; default 10. */
  readonly bins?: number;
  /** Where the first begins and the last ends; default the smallest and the largest element, which costs a pass. */
  readonly range?: readonly [number, number];
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

const virtual = (
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
const size = ({ shape }: Node): number => shape.reduce((a, b) => a * b, 1);

/** An array in chunks, not computed yet. Made by `chunked.open` and the like, and by its own methods. */
export class ChunkedArray {
  /** What it is, for plans. */
  readonly #node: Node;
  /** No other array's: test frameworks compare own properties, and what is not computed yet is equal to itself alone. */
  readonly identity: symbol;

  constructor(node: Node) {
    this.#node = Object.freeze(node);
    this.identity = Symbol(this.toString());
    Object.freeze(this);
  }

  get shape(): readonly number[] {
    return this.#node.shape;
  }
  get dtype(): DType {
    return this.#node.dtype;
  }
  /** What is read and written as a whole. */
  get chunks(): readonly number[] {
    return this.#node.chunks;
  }
  get rank(): number {
    return this.shape.length;
  }
  toString(): string {
    return `ChunkedArray ${this.dtype} ${list(this.shape)} in chunks of ${list(this.chunks)}`;
  }
  /** For the other functions of this file. */
  static node(operation: string, x: unknown): Node {
    if (isChunked(x)) return x.#node;
    return fail(
      "value",
      operation,
      `expected a chunked array, got ${describe(x)}.`,
      "Open one: await chunked.open(…).",
    );
  }

  /* Elementwise ----------------------------------------------------------------------------------------- */

  /** Any of the library's named elementwise operations: `a.op("hypot", b)`. */
  op(name: NamedOp, ...others: readonly ChunkedOperand[]): ChunkedArray {
    return named(name, [this, ...others]);
  }
  add(other: ChunkedOperand): ChunkedArray {
    return named("add", [this, other]);
  }
  sub(other: ChunkedOperand): ChunkedArray {
    return named("sub", [this, other]);
  }
  mul(other: ChunkedOperand): ChunkedArray {
    return named("mul", [this, other]);
  }
  div(other: ChunkedOperand): ChunkedArray {
    return named("div", [this, other]);
  }
  pow(other: ChunkedOperand): ChunkedArray {
    return named("pow", [this, other]);
  }
  maximum(other: ChunkedOperand): ChunkedArray {
    return named("maximum", [this, other]);
  }
  minimum(other: ChunkedOperand): ChunkedArray {
    return named("minimum", [this, other]);
  }
  neg(): ChunkedArray {
    return named("neg", [this]);
  }
  abs(): ChunkedArray {
    return named("abs", [this]);
  }
  sqrt(): ChunkedArray {
    return named("sqrt", [this]);
  }
  exp(): ChunkedArray {
    return named("exp", [this]);
  }
  log(): ChunkedArray {
    return named("log", [this]);
  }
  /** Every element as another dtype. */
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
   */
  map<W extends ChunkedCaptures>(
    fn: (x: number, captured: W) => number | boolean,
    options?: ChunkedMapOptions<W>,
  ): ChunkedArray {
    return mapOf("map", fn, [this], options);
  }
  /** A function of each element and of those of others, broadcast together: `a.zip(b, (x, y) => Math.hypot(x, y))`. */
  zip<W extends ChunkedCaptures>(
    other: ChunkedArray,
    fn: (x: number, y: number, captured: W) => number | boolean,
    options?: ChunkedMapOptions<W>,
  ): ChunkedArray {
    return mapOf("zip", fn, [this, other], options);
  }

  /* Folds ----------------------------------------------------------------------------------------------- */

  /** The sum over axes; floats are carried in f64. */
  sum(options?: FoldOptions): ChunkedArray {
    const result = dtypeOf((one) => one(this.dtype).sum());
    return fold("sum", this, options, isFloat(result) ? "f64" : result).finish(0, result);
  }
  prod(options?: FoldOptions): ChunkedArray {
    const result = dtypeOf((one) => one(this.dtype).prod());
    return fold("prod", this, options, isFloat(result) ? "f64" : result).finish(0, result);
  }
  min(options?: FoldOptions): ChunkedArray {
    return fold("min", this, options, this.dtype).finish(0, this.dtype);
  }
  max(options?: FoldOptions): ChunkedArray {
    return fold("max", this, options, this.dtype).finish(0, this.dtype);
  }
  any(options?: FoldOptions): ChunkedArray {
    return fold("any", this, options, "bool").finish(0, "bool");
  }
  all(options?: FoldOptions): ChunkedArray {
    return fold("all", this, options, "bool").finish(0, "bool");
  }
  /** The mean over axes, in the same pass as `var` and `std` over them. */
  mean(options?: FoldOptions): ChunkedArray {
    const result = dtypeOf((one) => one(this.dtype).mean());
    return fold("moments", this, options, "f64").finish(1, result);
  }
  /** The variance: squares about the mean, merged by Chan's rule. */
  var(options?: SpreadOptions): ChunkedArray {
    const { squares, count, result } = this.#spread("var", options);
    return squares.div(count).to(result);
  }
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
    const folded = fold("moments", this, rest, "f64");
    const result = dtypeOf((one) => one(this.dtype).mean());
    return { squares: folded.finish(2, "f64"), count: Math.max(0, folded.count - ddof), result };
  }
  /** Sums of all elements up to each, along one axis. */
  cumsum(options: { readonly axis: number }): ChunkedArray {
    const { axis } = readOptions("cumsum", options, "{ axis: 0 }", ["axis"]);
    const d = normalizeAxis("cumsum", axis, this.rank);
    const dtype = dtypeOf((one) => one(this.dtype).cumsum({ axis: 0 }));
    const carried = isFloat(dtype) ? "f64" : dtype;
    const { shape, chunks } = this;
    return material({ shape, chunks, dtype: carried }, [this.#node], { kind: "scan", axis: d }).to(dtype);
  }
  /** How many elements fall into each interval: i64, one for each. */
  histogram(options?: ChunkedHistogramOptions): ChunkedArray {
    const { bins = 10, range } = readOptions("histogram", options, "{ bins: 20, range: [0, 1] }", [
      "bins",
      "range",
    ]);
    return this.#counts("histogram", bins, range);
  }
  #counts(operation: string, bins: unknown, range: unknown): ChunkedArray {
    if (!(Number.isInteger(bins) && (bins as number) >= 1 && (bins as number) <= 1 << 20)) {
      fail("value", operation, `bins are ${describe(bins)}.`, "Use a whole number from 1 to 2^20.");
    }
    const pair = range === undefined ? undefined : numberList(operation, "range", range);
    if (pair !== undefined && !(pair.length === 2 && pair.every(Number.isFinite) && pair[0] < pair[1])) {
      fail("value", operation, `the range is ${list(pair)}.`, "Give [low, high].");
    }
    const axes = this.shape.map((_, d) => d);
    const facts = { shape: [bins as number], chunks: [bins as number], dtype: "i64" as const };
    return material(facts, [this.#node], {
      kind: "fold",
      how: "histogram",
      axes,
      bins: bins as number,
      ...(pair === undefined ? {} : { range: [pair[0], pair[1]] as const }),
    });
  }
  /**
   * Quantiles read off a histogram of `bins` intervals between the smallest and the largest element: wrong by the width of one
   * interval at the most. NaN is not counted.
   */
  approximateQuantile(q: number | readonly number[], options?: { readonly bins?: number }): ChunkedArray {
    const operation = "approximateQuantile";
    const all = typeof q === "number" ? [q] : [...numberList(operation, "q", q)];
    if (all.length === 0 || !all.every((x) => x >= 0 && x <= 1)) {
      fail("value", operation, `q is ${list(all)}.`, "Quantiles are from 0 to 1.");
    }
    const { bins = 4096 } = readOptions(operation, options, "{ bins: 4096 }", ["bins"]);
    const counts = this.#counts(operation, bins, undefined);
    const facts = { shape: [all.length], chunks: [all.length], dtype: "f64" as const };
    const inputs = [counts, this.min(), this.max()].map((x) => x.#node);
    const made = material(facts, inputs, { kind: "quantile", q: all });
    return typeof q === "number" ? made.slice(0) : made;
  }

  /* Shapes ---------------------------------------------------------------------------------------------- */

  /** As `slice` of a tensor: integers, "1:5", [start, stop, step], null for a new axis, "...". */
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
  /** Axes in another order; without a list they are reversed. */
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
  /** New axes of size 1, at these places of the result. */
  expandDims(axes: number | readonly number[]): ChunkedArray {
    const given = axisList("expandDims", axes);
    const count = typeof given === "number" ? 1 : given.length;
    const at = normalizeAxes("expandDims", given, this.rank + count);
    const items: SliceItem[] = Array.from({ length: this.rank + count }, (_, d) =>
      at.includes(d) ? null : ":",
    );
    return this.slice(...items);
  }
  /** The same elements in other chunks, in one or two passes over them. */
  rechunk(chunks: readonly number[]): ChunkedArray {
    const sizes = chunksGiven("rechunk", chunks, this.shape);
    if (String(sizes) === String(this.chunks)) return this;
    const { shape, dtype } = this;
    return material({ shape, dtype, chunks: sizes }, [this.#node], { kind: "rechunk" });
  }

  /* Products and blocks --------------------------------------------------------------------------------- */

  /** The product of two matrices. */
  matmul(other: ChunkedArray): ChunkedArray {
    const b = ChunkedArray.node("matmul", other);
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
  /** Sums of products over pairs of axes: `{ axes: [[1], [0]] }` is matmul. */
  tensordot(
    other: ChunkedArray,
    options: { readonly axes: readonly [readonly number[], readonly number[]] },
  ): ChunkedArray {
    const operation = "tensordot";
    const b = ChunkedArray.node(operation, other);
    const { axes } = readOptions(operation, options, "{ axes: [[1], [0]] }", ["axes"]);
    const pair = readList(operation, "axes", axes);
    if (pair?.length !== 2) fail("value", operation, `axes are ${describe(axes)}.`, "Write [[1], [0]].");
    const axesA = normalizeAxes(operation, numberList(operation, "axes of a", pair[0]), this.rank);
    const axesB = normalizeAxes(operation, numberList(operation, "axes of b", pair[1]), b.shape.length);
    const isSame =
      axesA.length === axesB.length && axesA.every((d, k) => this.shape[d] === b.shape[axesB[k]]);
    if (!isSame || axesA.length === 0) {
      fail(
        "shape",
        operation,
        `axes ${list(axesA)} of ${list(this.shape)} and ${list(axesB)} of ${list(b.shape)} do not match.`,
        "Name as many axes of each, of equal sizes.",
      );
    }
    return contract(this.#node, b, axesA, axesB);
  }
  /**
   * A whole function (as `njit` compiles them) of each chunk, with what lies around it: it is given the block to fill, and the
   * block with `halo` elements on each side.
   *
   *     a.mapBlocks((out, x) => {
   *       for (let i = 0; i < out.shape[0]; i++) out.set([i], (x.get(i) + x.get(i + 1) + x.get(i + 2)) / 3);
   *     }, { halo: 1 });
   */
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
      boundary,
    });
  }

  /* Plans ----------------------------------------------------------------------------------------------- */

  /**
   * What computing it takes. Throws, before anything is read, where an operation cannot be done within the memory, and says what
   * would do.
   */
  plan(options?: PlanOptions): ChunkedPlan {
    return new ChunkedPlan(makeDraft(this.#node, factsFrom("plan", options)));
  }
  /** Computes it as a tensor: for what fits into memory. */
  async compute(options?: PlanOptions & { readonly signal?: AbortSignal }): Promise<Tensor> {
    const { signal, ...rest } = readOptions("compute", options, '{ memory: "1 GiB" }', [
      "memory",
      "reserved",
      "workers",
      "signal",
    ]);
    checkSignal("compute", signal);
    return computeDraft(makeDraft(this.#node, factsFrom("compute", rest)), signal);
  }
}

const RESERVED = 96 << 20;

function factsFrom(operation: string, options: PlanOptions | undefined): PlanFacts {
  const read = readOptions(operation, options, '{ memory: "1 GiB", workers: 2 }', [
    "memory",
    "reserved",
    "workers",
  ]);
  const memory = readBytes(operation, "memory", read.memory ?? "1 GiB");
  const reserved =
    read.reserved === undefined
      ? Math.min(RESERVED, Math.floor(memory / 4))
      : readBytes(operation, "reserved", read.reserved);
  const { workers = 2 } = read;
  if (!(Number.isInteger(workers) && workers >= 1 && workers <= 100_000)) {
    fail("value", operation, `workers are ${describe(workers)}.`, "Use 1 … 100,000.");
  }
  return { memory, reserved, workers };
}

/* How they are made ----------------------------------------------------------------------------------------- */

function sentScalar(operation: string, x: unknown): SentValue {
  if (typeof x === "boolean") return x;
  if (typeof x === "bigint") return { big: String(x) };
  if (typeof x !== "number") {
    return fail("value", operation, `expected a chunked array or a number, got ${describe(x)}.`);
  }
  const isPlain = Number.isFinite(x) && !Object.is(x, -0);
  return isPlain ? x : { number: Object.is(x, -0) ? "-0" : String(x) };
}

function named(op: NamedOp, operands: readonly ChunkedOperand[]): ChunkedArray {
  const arrays = operands.filter(isChunked).map((x) => ChunkedArray.node(op, x));
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
  const nodes = operands.map((x) => ChunkedArray.node(operation, x));
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

function fold(how: FoldKind, x: ChunkedArray, options: FoldOptions | undefined, carried: DType): Folded {
  const { axis, keepdims } = readOptions(how, options, "{ axis: 0 }", ["axis", "keepdims"]);
  checkFlag(how, "keepdims", keepdims);
  const axes = (
    axis === undefined ? x.shape.map((_, d) => d) : normalizeAxes(how, axisList(how, axis), x.rank)
  ).sort((a, b) => a - b);
  const kept = x.shape.map((_, d) => d).filter((d) => !axes.includes(d));
  const states = how === "moments" ? 3 : 1;
  const facts = {
    shape: [states, ...kept.map((d) => x.shape[d])],
    chunks: [states, ...kept.map((d) => x.chunks[d])],
    dtype: carried,
  };
  const made = material(facts, [ChunkedArray.node(how, x)], { kind: "fold", how, axes });
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
  return material({ shape, chunks, dtype }, [a, b], { kind: "contract", axesA, axesB });
}

function chunksGiven(operation: string, given: unknown, shape: readonly number[]): number[] {
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

/* The beginning ---------------------------------------------------------------------------------------------- */

export interface ChunkedOpenOptions extends Pick<ZarrOpenOptions, "path" | "signal"> {}

/**
 * Opens a Zarr array: reads its metadata, and no chunk.
 *
 *     const a = await chunked.open("a.zarr");
 *     const b = await chunked.open("https://host/data.zarr", { path: "temperature" });
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

export interface RandomOptions {
  readonly chunks: readonly number[];
  /** The same seed gives the same numbers, whatever else is computed. */
  readonly seed: number | bigint;
  readonly distribution?: Distribution;
  /** uniform: low, high; normal: mean, std; exponential: scale; integers: low, high. */
  readonly params?: readonly number[];
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

/** One value everywhere: `chunked.full([100, 100], 1, { chunks: [10, 100], dtype: "f32" })`. */
export function full(
  shape: readonly number[],
  value: number | bigint | boolean,
  options: { readonly chunks: readonly number[]; readonly dtype: DType },
): ChunkedArray {
  const operation = "chunked.full";
  const sizes = shapeGiven(operation, shape);
  const read = readOptions(operation, options, '{ chunks: [10], dtype: "f32" }', ["chunks", "dtype"]);
  const dtype = checkDType(operation, read.dtype);
  const chunks = chunksGiven(operation, read.chunks, sizes);
  const sent = sentScalar(operation, value);
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

/** Arrays one after the other along an axis; the chunks are those of the largest. */
export function concat(arrays: readonly ChunkedArray[], options?: { readonly axis?: number }): ChunkedArray {
  const operation = "chunked.concat";
  const { axis = 0 } = readOptions(operation, options, "{ axis: 0 }", ["axis"]);
  const given = readList(operation, "arrays", arrays);
  if (given === null || given.length === 0) {
    return fail("value", operation, `the arrays are ${describe(arrays)}.`, "Give a list of chunked arrays.");
  }
  const plain = given.map((x) => ChunkedArray.node(operation, x));
  const [first] = plain;
  const d = normalizeAxis(operation, axis, first.shape.length);
  const fits = (n: Node) =>
    n.shape.length === first.shape.length && n.shape.every((size, k) => k === d || size === first.shape[k]);
  for (const n of plain) {
    if (!fits(n)) {
      fail("shape", operation, `${list(n.shape)} does not go after ${list(first.shape)} along axis ${d}.`);
    }
  }
  const dtype = scope(() =>
    given
      .map((x) => zeros([1], { dtype: (x as ChunkedArray).dtype }) as Tensor)
      .reduce((a, b) => namedOp("maximum", [a, b])),
  ).dtype;
  const nodes = given.map((x) => ChunkedArray.node(operation, (x as ChunkedArray).to(dtype)));
  const shape = first.shape.map((n, k) => (k === d ? plain.reduce((sum, p) => sum + p.shape[d], 0) : n));
  const largest = [...plain].sort((a, b) => size(b) - size(a))[0];
  const facts = { shape, dtype, chunks: largest.chunks };
  if (nodes.length === 1) return given[0] as ChunkedArray;
  return virtual("concat", d, facts, nodes, (of) => ({ kind: "concat", of, axis: d, shape, dtype }));
}

/** Arrays of one shape along a new axis. */
export function stack(arrays: readonly ChunkedArray[], options?: { readonly axis?: number }): ChunkedArray {
  const operation = "chunked.stack";
  const { axis = 0 } = readOptions(operation, options, "{ axis: 0 }", ["axis"]);
  const given = readList(operation, "arrays", arrays);
  if (given === null || given.length === 0) {
    return fail("value", operation, `the arrays are ${describe(arrays)}.`, "Give a list of chunked arrays.");
  }
  const rank = ChunkedArray.node(operation, given[0]).shape.length;
  const d = normalizeAxis(operation, axis, rank + 1);
  return concat(
    given.map((x) => {
      ChunkedArray.node(operation, x);
      return (x as ChunkedArray).expandDims(d);
    }),
    { axis: d },
  );
}
