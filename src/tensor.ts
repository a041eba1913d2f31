/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The Tensor: storage + dtype + view, and methods that delegate. It holds its storage while it lives: `dispose`
 * (or `using`, or the end of a `scope`) lets go, and the last one to let go frees the memory.
 */
import {
  type ArrayOf,
  checkDType,
  type DType,
  dtypes,
  fromScalar,
  type ScalarOf,
  toScalar,
  type Value,
} from "./dtype.ts";
import { engine } from "./engine.ts";
import { describe, fail, list } from "./errors.ts";
import { checkFormat, type FormatOptions, formatHeader, formatValues } from "./format.ts";
import { checkReach, type Storage } from "./memory/storage.ts";
import { axisList, checkOptions, numberList } from "./ops/arguments.ts";
import { type AssociativeOptions, associativeReduce } from "./ops/associative.ts";
import type { ElementwiseOptions } from "./ops/calls.ts";
import { assign, assignFlat, copyTo } from "./ops/copy.ts";
import { fromData, type Nested, type Scalar } from "./ops/create.ts";
import { elementwise } from "./ops/elementwise.ts";
import { type Captured, callableOf } from "./ops/function.ts";
import { matmul } from "./ops/matmul.ts";
import { type NamedOp, namedCallable } from "./ops/named.ts";
import { type ScanOptions, scan } from "./ops/reduce.ts";
import {
  type ArgOptions,
  type AxisOptions,
  argReduce,
  type CumulativeOptions,
  mean,
  namedReduce,
  namedScan,
  type Reduction,
  type SumOptions,
  std,
  type VarOptions,
  variance,
} from "./ops/reductions.ts";
import { checkAlive, checkWritable, failDisposed, type Strided, share } from "./ops/strided.ts";
import { drawView } from "./view/draw.ts";
import { normalizeIndex, sizeOf } from "./view/layout.ts";
import { selfOverlaps } from "./view/overlap.ts";
import { reshape, resolveShape } from "./view/reshape.ts";
import { type SliceItem, slice } from "./view/slice.ts";
import * as views from "./view/view.ts";
import { isContiguous, type View } from "./view/view.ts";

export type NestedArray<T> = T | NestedArray<T>[];
export type MapFunction = (x: number) => number | bigint | boolean;
export type FoldFunction = (acc: number, x: number) => number | bigint | boolean;
export interface MapOptions<D extends DType = DType> {
  readonly dtype?: D;
  /** Write here instead of into a new tensor. */
  readonly out?: Tensor;
}

/* What can be known of a result's dtype before anything runs. */
export type FloatDType = "f16" | "bf16" | "f32" | "f64";
/** Sums and products of integers are 64-bit. */
export type Wide<D extends DType> = D extends FloatDType ? D : D extends `u${string}` ? "u64" : "i64";
/** Functions of floats make f64 of integers. */
export type Floated<D extends DType> = D extends FloatDType ? D : "f64";
/** Two operands: the dtype of both if they agree; a float tensor keeps its own beside a number. */
export type Together<D extends DType, O> =
  O extends Tensor<infer E> ? ([E] extends [D] ? D : DType) : D extends FloatDType ? D : DType;

const inspect = Symbol.for("nodejs.util.inspect.custom");
const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for("Symbol.dispose") as never);
/** Elements that nested arrays may have: V8 ends the process when its own memory is full. */
const MOST_NESTED = 2 ** 28;

export class Tensor<D extends DType = DType> implements Strided<D> {
  readonly dtype: D;
  readonly storage: Storage;
  /** Shape, strides and offset in bytes. */
  readonly frame: View;
  readonly readOnly: boolean;
  #disposed = false;

  /** Takes over the hold on the storage that `of` has. Use `tensor`, `zeros` …, not this. */
  constructor(of: Strided<D>) {
    if (of?.frame?.shape === undefined || of.storage === undefined) {
      fail(
        "value",
        "Tensor",
        "tensors are not made with new.",
        "Use tensor([1, 2, 3]), zeros([2, 3]), fromBuffer(…) or another function that makes one.",
      );
    }
    this.dtype = of.dtype;
    this.storage = of.storage;
    // Shape and strides are what kernels trust: nobody may change them behind the gate.
    Object.freeze(of.frame.shape);
    Object.freeze(of.frame.strides);
    this.frame = Object.freeze(of.frame);
    this.readOnly = of.readOnly;
    engine().scopes.track(this);
  }

  /* What it is ------------------------------------------------------------------------------------------ */

  get shape(): readonly number[] {
    return this.frame.shape;
  }
  /** Number of axes. */
  get rank(): number {
    return this.frame.shape.length;
  }
  /** Number of elements. */
  get size(): number {
    return sizeOf(this.frame.shape);
  }
  /** Elements to skip for one step along each axis. */
  get strides(): readonly number[] {
    return this.frame.strides.map((s) => s / this.frame.itemBytes);
  }
  get byteStrides(): readonly number[] {
    return this.frame.strides;
  }
  /** Position of the first element in its storage, in elements. */
  get offset(): number {
    return this.frame.offset / this.frame.itemBytes;
  }
  get byteOffset(): number {
    return this.frame.offset;
  }
  /** Row-major without gaps: the elements lie in the order they are counted. */
  get isContiguous(): boolean {
    return isContiguous(this.frame);
  }
  get isDisposed(): boolean {
    return this.#disposed || this.storage.disposed;
  }

  /** The elements as a typed array over the live memory: no copy. f16 and bf16 show their raw bits. */
  get data(): ArrayOf<D> {
    this.#check("data");
    const { Array: Typed, bytes } = dtypes[this.dtype];
    const address = this.storage.address + this.frame.offset;
    if (!this.#isArray()) {
      fail(
        "value",
        "data",
        isContiguous(this.frame)
          ? `byte offset ${this.byteOffset} is not a multiple of ${this.dtype}'s ${bytes} bytes.`
          : `this view is not contiguous: shape ${list(this.shape)}, strides ${list(this.strides)}.`,
        "Use toTypedArray() for a copy of its elements, or contiguous().data.",
      );
    }
    return new Typed(this.storage.heap.buffer, address, this.size);
  }

  /** Dense, and where a typed array may begin: foreign memory can lie at any byte. */
  #isArray(): boolean {
    return isContiguous(this.frame) && this.frame.offset % this.frame.itemBytes === 0;
  }

  /* Lifetime -------------------------------------------------------------------------------------------- */

  /** Lets go of the memory; freed when no other view holds it. Using this tensor afterwards is an error. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.storage.release();
  }

  [disposeSymbol](): void {
    this.dispose();
  }

  #check(operation: string): this {
    if (this.#disposed) failDisposed(operation);
    checkAlive(operation, this);
    return this;
  }

  /* Views: no element moves ----------------------------------------------------------------------------- */

  #share(operation: string, view: View, readOnly = this.readOnly): Tensor<D> {
    this.#check(operation);
    checkReach(operation, view, this.storage);
    return new Tensor(share(this, view, readOnly));
  }

  /** Per axis: an integer, "start:stop:step", [start, stop, step], null (a new axis) or "...". Always a view. */
  slice(...items: SliceItem[]): Tensor<D> {
    return this.#share("slice", slice(this.frame, items));
  }
  permute(...axes: number[] | [readonly number[]]): Tensor<D> {
    return this.#share("permute", views.permute(this.frame, spread("permute", "the axes", axes)));
  }
  /** Axes in reverse order. */
  transpose(): Tensor<D> {
    return this.#share("transpose", views.transpose(this.frame));
  }
  get T(): Tensor<D> {
    return this.transpose();
  }
  swapAxes(a: number, b: number): Tensor<D> {
    return this.#share("swapAxes", views.swapAxes(this.frame, a, b));
  }
  moveAxis(source: number | readonly number[], destination: number | readonly number[]): Tensor<D> {
    return this.#share(
      "moveAxis",
      views.moveAxis(this.frame, axisList("moveAxis", source), axisList("moveAxis", destination)),
    );
  }
  /** Without the axes of size 1, or without those given. */
  squeeze(axes?: number | readonly number[]): Tensor<D> {
    return this.#share("squeeze", views.squeeze(this.frame, optionalAxes("squeeze", axes)));
  }
  expandDims(axes: number | readonly number[]): Tensor<D> {
    return this.#share("expandDims", views.expandDims(this.frame, axisList("expandDims", axes)));
  }
  flip(axes?: number | readonly number[]): Tensor<D> {
    return this.#share("flip", views.flip(this.frame, optionalAxes("flip", axes)));
  }
  /** Repeats along size-1 and new leading axes by stride 0; read-only. */
  broadcastTo(...shape: number[] | [readonly number[]]): Tensor<D> {
    const view = views.broadcastTo(this.frame, spread("broadcastTo", "the shape", shape));
    return this.#share("broadcastTo", view, this.readOnly || views.hasBroadcastAxis(view));
  }
  diagonal(
    options: { readonly offset?: number; readonly axis1?: number; readonly axis2?: number } = {},
  ): Tensor<D> {
    checkOptions("diagonal", options, "{ offset: 1 }", ["offset", "axis1", "axis2"]);
    const view = views.diagonal(this.frame, options.offset ?? 0, options.axis1 ?? 0, options.axis2 ?? 1);
    return this.#share("diagonal", view);
  }
  /** Every window of the given size, as new last axes; read-only. */
  slidingWindow(window: number | readonly number[], axes?: number | readonly number[]): Tensor<D> {
    const sizes = typeof window === "number" ? window : numberList("slidingWindow", "the window", window);
    const view = views.slidingWindow(this.frame, sizes, optionalAxes("slidingWindow", axes));
    return this.#share("slidingWindow", view, this.readOnly || selfOverlaps(view));
  }
  /** Any shape, strides and offset (in elements, counted from the storage's start); must stay inside the storage. */
  asStrided(shape: readonly number[], strides: readonly number[], offset = this.offset): Tensor<D> {
    this.#check("asStrided");
    const sizes = numberList("asStrided", "the shape", shape);
    const steps = numberList("asStrided", "strides", strides);
    const view = views.asStridedElements(this.frame, sizes, steps, offset, this.storage.bytes);
    checkReach("asStrided", view, this.storage);
    return this.#share("asStrided", view, this.readOnly || selfOverlaps(view));
  }
  /** A view whenever the strides allow it, else a copy; one size may be -1. */
  reshape(...shape: number[] | [readonly number[]]): Tensor<D> {
    this.#check("reshape");
    const to = resolveShape("reshape", spread("reshape", "the shape", shape), this.size);
    const view = reshape(this.frame, to);
    if (view !== null) return this.#share("reshape", view);
    engine().listener?.({
      kind: "copy",
      operation: "reshape",
      bytes: this.size * this.frame.itemBytes,
      why: `no strides lay ${list(this.shape)} with strides ${list(this.strides)} out as ${list(to)}`,
    });
    const copy = copyTo("reshape", this, this.dtype);
    return new Tensor({ ...copy, frame: views.contiguousView(to, this.frame.itemBytes) });
  }
  /** As reshape, but never copies: an error where no strides exist. */
  view(...shape: number[] | [readonly number[]]): Tensor<D> {
    this.#check("view");
    const to = resolveShape("view", spread("view", "the shape", shape), this.size);
    const view = reshape(this.frame, to);
    if (view !== null) return this.#share("view", view);
    return fail(
      "shape",
      "view",
      `shape ${list(this.shape)} with strides ${list(this.strides)} cannot be seen as ${list(to)} without a copy.`,
      "Use reshape, which copies where it must, or contiguous() first.",
    );
  }

  /* Elements -------------------------------------------------------------------------------------------- */

  #address(operation: string, index: readonly number[]): number {
    const { shape, strides } = this.frame;
    if (index.length !== shape.length) {
      fail(
        "index",
        operation,
        `${index.length} indices for shape ${list(shape)}.`,
        "Give one index an axis; slice() takes fewer.",
      );
    }
    let address = this.storage.address + this.frame.offset;
    for (let d = 0; d < shape.length; d++) {
      address += normalizeIndex(operation, index[d], shape[d], d) * strides[d];
    }
    return address;
  }

  /** One element; negative indices count from the end. */
  get(...index: number[]): ScalarOf<D> {
    this.#check("get");
    const address = this.#address("get", index);
    return toScalar(dtypes[this.dtype].read(this.storage.heap.view, address), this.dtype);
  }
  set(index: readonly number[], value: Scalar): this {
    this.#check("set");
    checkWritable("set", this);
    const address = this.#address("set", numberList("set", "the index", index));
    dtypes[this.dtype].write(this.storage.heap.view, address, fromScalar("set", value, this.dtype));
    return this;
  }
  /** The only element of a tensor of size 1. */
  item(): ScalarOf<D> {
    this.#check("item");
    if (this.size !== 1) {
      fail(
        "shape",
        "item",
        `the tensor has ${this.size} elements.`,
        "item() is for one element; use get(i, …) or toArray().",
      );
    }
    return this.get(...this.shape.map(() => 0));
  }
  /** this[…] = source[…], broadcast and converted; overlapping memory behaves as if the source were copied first. */
  assign(source: Tensor | Nested): this {
    return this.#assign("assign", source);
  }
  #assign(operation: string, source: Tensor | Nested): this {
    this.#check(operation);
    checkWritable(operation, this);
    if (source instanceof Tensor) {
      assign(operation, this, source.#check(operation));
      return this;
    }
    const value = fromData(source, { dtype: this.dtype }, operation);
    try {
      assign(operation, this, value);
    } finally {
      value.storage.release();
    }
    return this;
  }
  /** Elements in row-major order of each side's own shape, as ggml copies: only the counts must agree. */
  assignFlat(source: Tensor): this {
    assignFlat("assignFlat", this.#check("assignFlat"), liveTensor("assignFlat", source));
    return this;
  }
  fill(value: Scalar): this {
    return this.#assign("fill", value);
  }

  /** A dense copy. */
  clone(): Tensor<D> {
    return new Tensor(copyTo("clone", this.#check("clone"), this.dtype));
  }
  /** This tensor if it is contiguous (another handle on it), else a dense copy: either has `data`. */
  contiguous(): Tensor<D> {
    return this.#dense("contiguous");
  }
  #dense(operation: string): Tensor<D> {
    return this.#isArray()
      ? this.#share(operation, this.frame)
      : new Tensor(copyTo(operation, this, this.dtype));
  }
  /** The elements converted; the same dtype gives another handle on this tensor. */
  to<E extends DType>(dtype: E): Tensor<E> {
    checkDType("to", dtype);
    this.#check("to");
    if ((dtype as DType) === this.dtype) return this.#share("to", this.frame) as unknown as Tensor<E>;
    return new Tensor(copyTo("to", this, dtype, true));
  }

  /* Kernels --------------------------------------------------------------------------------------------- */

  map<E extends DType>(fn: MapFunction, options: MapOptions<E> & { readonly dtype: E }): Tensor<E>;
  map(fn: (x: number) => boolean, options?: MapOptions): Tensor<"bool">;
  map(fn: (x: number) => number, options?: MapOptions): Tensor<D extends FloatDType ? D : DType>;
  map(fn: MapFunction, options?: MapOptions): Tensor;
  map(fn: MapFunction, options: MapOptions = {}): Tensor {
    this.#check("map");
    checkOutput("map", options, outputNames);
    return wrapResult(elementwise("map", callableOf("map", fn), [this], options), options.out);
  }
  /** Folds axes with fn(acc, x). */
  reduce(fn: FoldFunction, options: AssociativeOptions = {}): Tensor {
    const callable = callableOf("reduce", fn);
    return new Tensor(associativeReduce("reduce", callable, this.#check("reduce"), options));
  }
  /** Every step of the fold along one axis. */
  scan(fn: FoldFunction, options: ScanOptions = {}): Tensor {
    return new Tensor(scan("scan", callableOf("scan", fn), this.#check("scan"), options));
  }
  matmul<E extends DType>(
    other: Tensor<E>,
    options?: { readonly out?: Tensor },
  ): Tensor<Together<D, Tensor<E>>> {
    if (options !== undefined) checkOutput("matmul", options, ["out"]);
    const result = matmul(this.#check("matmul"), liveTensor("matmul", other), options);
    return wrapResult(result, options?.out) as never;
  }

  /* Named operations, as NumPy means them; every other is a function of the same form ----------------------- */

  add<O extends Operand, E extends DType = Together<D, O>>(other: O, options?: NamedOptions<E>): Tensor<E> {
    return namedOp("add", [this, other], options) as Tensor<E>;
  }
  sub<O extends Operand, E extends DType = Together<D, O>>(other: O, options?: NamedOptions<E>): Tensor<E> {
    return namedOp("sub", [this, other], options) as Tensor<E>;
  }
  mul<O extends Operand, E extends DType = Together<D, O>>(other: O, options?: NamedOptions<E>): Tensor<E> {
    return namedOp("mul", [this, other], options) as Tensor<E>;
  }
  div<O extends Operand, E extends DType = Floated<Together<D, O>>>(
    other: O,
    options?: NamedOptions<E>,
  ): Tensor<E> {
    return namedOp("div", [this, other], options) as Tensor<E>;
  }
  remainder<O extends Operand, E extends DType = Together<D, O>>(
    other: O,
    options?: NamedOptions<E>,
  ): Tensor<E> {
    return namedOp("remainder", [this, other], options) as Tensor<E>;
  }
  floorDivide<O extends Operand, E extends DType = Together<D, O>>(
    other: O,
    options?: NamedOptions<E>,
  ): Tensor<E> {
    return namedOp("floorDivide", [this, other], options) as Tensor<E>;
  }
  pow<O extends Operand, E extends DType = Together<D, O>>(other: O, options?: NamedOptions<E>): Tensor<E> {
    return namedOp("pow", [this, other], options) as Tensor<E>;
  }
  maximum<O extends Operand, E extends DType = Together<D, O>>(
    other: O,
    options?: NamedOptions<E>,
  ): Tensor<E> {
    return namedOp("maximum", [this, other], options) as Tensor<E>;
  }
  minimum<O extends Operand, E extends DType = Together<D, O>>(
    other: O,
    options?: NamedOptions<E>,
  ): Tensor<E> {
    return namedOp("minimum", [this, other], options) as Tensor<E>;
  }
  equal(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("equal", [this, other], options) as Tensor<"bool">;
  }
  notEqual(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("notEqual", [this, other], options) as Tensor<"bool">;
  }
  less(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("less", [this, other], options) as Tensor<"bool">;
  }
  lessEqual(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("lessEqual", [this, other], options) as Tensor<"bool">;
  }
  greater(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("greater", [this, other], options) as Tensor<"bool">;
  }
  greaterEqual(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("greaterEqual", [this, other], options) as Tensor<"bool">;
  }
  logicalAnd(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("logicalAnd", [this, other], options) as Tensor<"bool">;
  }
  logicalOr(other: Operand, options?: NamedOptions): Tensor<"bool"> {
    return namedOp("logicalOr", [this, other], options) as Tensor<"bool">;
  }
  bitwiseAnd(other: Operand, options?: NamedOptions): Tensor {
    return namedOp("bitwiseAnd", [this, other], options);
  }
  bitwiseOr(other: Operand, options?: NamedOptions): Tensor {
    return namedOp("bitwiseOr", [this, other], options);
  }
  bitwiseXor(other: Operand, options?: NamedOptions): Tensor {
    return namedOp("bitwiseXor", [this, other], options);
  }
  neg<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("neg", [this], options) as Tensor<E>;
  }
  abs<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("abs", [this], options) as Tensor<E>;
  }
  sign<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("sign", [this], options) as Tensor<E>;
  }
  square<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("square", [this], options) as Tensor<E>;
  }
  reciprocal<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("reciprocal", [this], options) as Tensor<E>;
  }
  relu<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("relu", [this], options) as Tensor<E>;
  }
  sigmoid<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("sigmoid", [this], options) as Tensor<E>;
  }
  sqrt<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("sqrt", [this], options) as Tensor<E>;
  }
  exp<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("exp", [this], options) as Tensor<E>;
  }
  log<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("log", [this], options) as Tensor<E>;
  }
  sin<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("sin", [this], options) as Tensor<E>;
  }
  cos<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("cos", [this], options) as Tensor<E>;
  }
  tanh<E extends DType = Floated<D>>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("tanh", [this], options) as Tensor<E>;
  }
  floor<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("floor", [this], options) as Tensor<E>;
  }
  ceil<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("ceil", [this], options) as Tensor<E>;
  }
  trunc<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("trunc", [this], options) as Tensor<E>;
  }
  round<E extends DType = D>(options?: NamedOptions<E>): Tensor<E> {
    return namedOp("round", [this], options) as Tensor<E>;
  }
  isnan(options?: NamedOptions): Tensor<"bool"> {
    return namedOp("isnan", [this], options) as Tensor<"bool">;
  }
  isfinite(options?: NamedOptions): Tensor<"bool"> {
    return namedOp("isfinite", [this], options) as Tensor<"bool">;
  }
  logicalNot(options?: NamedOptions): Tensor<"bool"> {
    return namedOp("logicalNot", [this], options) as Tensor<"bool">;
  }
  bitwiseNot(options?: NamedOptions): Tensor {
    return namedOp("bitwiseNot", [this], options);
  }
  clip(low: Operand, high: Operand, options?: NamedOptions): Tensor {
    return namedOp("clip", [this, low, high], options);
  }
  sum<E extends DType = Wide<D>>(options?: SumOptions & { readonly dtype?: E }): Tensor<E> {
    return namedReduction("sum", this, options) as Tensor<E>;
  }
  prod<E extends DType = Wide<D>>(options?: SumOptions & { readonly dtype?: E }): Tensor<E> {
    return namedReduction("prod", this, options) as Tensor<E>;
  }
  max<E extends DType = D>(options?: SumOptions & { readonly dtype?: E }): Tensor<E> {
    return namedReduction("max", this, options) as Tensor<E>;
  }
  min<E extends DType = D>(options?: SumOptions & { readonly dtype?: E }): Tensor<E> {
    return namedReduction("min", this, options) as Tensor<E>;
  }
  any(options?: AxisOptions): Tensor<"bool"> {
    return namedReduction("any", this, options) as Tensor<"bool">;
  }
  all(options?: AxisOptions): Tensor<"bool"> {
    return namedReduction("all", this, options) as Tensor<"bool">;
  }
  mean<E extends DType = Floated<D>>(options?: SumOptions & { readonly dtype?: E }): Tensor<E> {
    return new Tensor(mean(this.#check("mean"), options)) as Tensor as Tensor<E>;
  }
  /** The mean square distance from the mean; divided by count - ddof. */
  var<E extends DType = Floated<D>>(options?: VarOptions & { readonly dtype?: E }): Tensor<E> {
    return new Tensor(variance(this.#check("var"), options)) as Tensor as Tensor<E>;
  }
  /** The square root of `var`. */
  std<E extends DType = Floated<D>>(options?: VarOptions & { readonly dtype?: E }): Tensor<E> {
    return new Tensor(std(this.#check("std"), options)) as Tensor as Tensor<E>;
  }
  /** Position of the largest element along an axis, or in the flattened tensor. */
  argmax(options?: ArgOptions): Tensor<"i64"> {
    return new Tensor(argReduce("argmax", this.#check("argmax"), options)) as Tensor as Tensor<"i64">;
  }
  argmin(options?: ArgOptions): Tensor<"i64"> {
    return new Tensor(argReduce("argmin", this.#check("argmin"), options)) as Tensor as Tensor<"i64">;
  }
  cumsum(options?: CumulativeOptions): Tensor {
    return new Tensor(namedScan("cumsum", this.#check("cumsum"), options));
  }
  cumprod(options?: CumulativeOptions): Tensor {
    return new Tensor(namedScan("cumprod", this.#check("cumprod"), options));
  }

  /* Leaving --------------------------------------------------------------------------------------------- */

  toArray(): NestedArray<ScalarOf<D>> {
    this.#check("toArray");
    if (this.size > MOST_NESTED) {
      fail(
        "memory",
        "toArray",
        `${this.size} elements are too many for arrays of JavaScript, which hold up to ${MOST_NESTED}.`,
        "Take a slice, or toTypedArray().",
      );
    }
    const { read } = dtypes[this.dtype];
    const memory = this.storage.heap.view;
    const { shape, strides } = this.frame;
    const level = (d: number, p: number): NestedArray<ScalarOf<D>> => {
      if (d === shape.length) return toScalar(read(memory, p), this.dtype);
      const row: NestedArray<ScalarOf<D>>[] = new Array(shape[d]);
      for (let i = 0; i < shape[d]; i++) row[i] = level(d + 1, p + i * strides[d]);
      return row;
    };
    return level(0, this.storage.address + this.frame.offset);
  }
  /** A copy of the elements in row-major order, outside the heap. */
  toTypedArray(): ArrayOf<D> {
    this.#check("toTypedArray");
    const dense = this.#dense("toTypedArray");
    const out = new dtypes[this.dtype].Array(this.size);
    (out as { set(from: unknown): void }).set(dense.data);
    dense.dispose();
    return out;
  }
  toJSON(): { dtype: D; shape: readonly number[]; data: (number | boolean | string)[] } {
    this.#check("toJSON");
    const values = this.size === 0 ? [] : flatten(this.toArray());
    return { dtype: this.dtype, shape: this.shape, data: values.map(jsonScalar) };
  }
  /** Along the first axis: views, or scalars of a vector. */
  *[Symbol.iterator](): IterableIterator<Tensor<D> | ScalarOf<D>> {
    this.#check("iterate");
    if (this.rank === 0) fail("shape", "iterate", "a 0-d tensor has no axis to iterate over.", "Use item().");
    for (let i = 0; i < this.shape[0]; i++) yield this.rank === 1 ? this.get(i) : this.slice(i);
  }

  /** A picture of the view over its memory. */
  layout(): string {
    this.#check("layout");
    return drawView(this.frame, {
      elements: this.storage.bytes / this.frame.itemBytes,
      values: (byteOffset) => formatValues(this.dtype, scalarView(this.frame, byteOffset), this.#reader()),
    });
  }

  #reader(): (byteOffset: number) => Value {
    const { read } = dtypes[this.dtype];
    const memory = this.storage.heap.view;
    const { address } = this.storage;
    return (byteOffset) => read(memory, address + byteOffset);
  }

  toString(options?: FormatOptions): string {
    if (this.isDisposed) return `Tensor ${this.dtype} ${list(this.shape)}  disposed`;
    checkFormat("toString", options);
    const notes = this.readOnly ? ["read-only"] : [];
    const header = formatHeader(this.dtype, this.frame, this.storage, notes);
    return `${header}\n${formatValues(this.dtype, this.frame, this.#reader(), options)}`;
  }
  [inspect](): string {
    return this.toString();
  }
}

/** `f(2, 3)` and `f([2, 3])` mean the same. */
const spread = (operation: string, name: string, given: readonly unknown[]): readonly number[] =>
  numberList(operation, name, given.length === 1 && typeof given[0] !== "number" ? given[0] : given);

const optionalAxes = (operation: string, axes: unknown) =>
  axes === undefined ? undefined : axisList(operation, axes);

/** A tensor that may be used, or an error that says what came instead. */
export function liveTensor(operation: string, t: unknown): Tensor {
  if (!(t instanceof Tensor)) {
    fail("value", operation, `expected a tensor, got ${describe(t)}.`, "Make one with tensor(…).");
  }
  if (t.isDisposed) failDisposed(operation);
  return t;
}

/** The options of operations that compute element by element. */
export const outputNames = ["dtype", "out"] as const;

/** Options with an output to write to, where there is one. */
export function checkOutput(
  operation: string,
  options: { readonly out?: unknown },
  names?: readonly string[],
): void {
  checkOptions(operation, options, "{ out }", names);
  if (options.out !== undefined) liveTensor(operation, options.out);
}

const scalarView = (view: View, offset: number): View => ({ ...view, shape: [], strides: [], offset });

function flatten(nested: unknown): Scalar[] {
  return Array.isArray(nested) ? nested.flatMap(flatten) : [nested as Scalar];
}

/** JSON has no bigint, NaN or infinities: these become strings. */
function jsonScalar(x: Scalar): number | boolean | string {
  if (typeof x === "bigint" || (typeof x === "number" && !Number.isFinite(x))) return String(x);
  return Object.is(x, -0) ? "-0" : (x as number | boolean);
}

/** An operation's result as a tensor; one written into `out` is that very tensor. */
export function wrapResult(result: Strided, out: Tensor | undefined): Tensor {
  return out !== undefined && result === (out as Strided) ? out : new Tensor(result);
}

/* Named operations ------------------------------------------------------------------------------------- */

export type Operand = Tensor | number | bigint | boolean;
export interface NamedOptions<E extends DType = DType> {
  /** Operands are converted to this dtype first, as NumPy's dtype= does. */
  readonly dtype?: E;
  /** Write here instead of into a new tensor. */
  readonly out?: Tensor;
}

export function namedOp(name: NamedOp, operands: readonly Operand[], options: NamedOptions = {}): Tensor {
  checkOutput(name, options, outputNames);
  const tensors: Tensor[] = [];
  const scalars: Captured[] = [];
  const kinds: (DType | null)[] = [];
  for (const x of operands) {
    if (x instanceof Tensor) {
      if (x.isDisposed) failDisposed(name);
      tensors.push(x);
      kinds.push(x.dtype);
      continue;
    }
    if (typeof x !== "number" && typeof x !== "bigint" && typeof x !== "boolean") {
      fail(
        "value",
        name,
        `expected a tensor or a number, got ${describe(x)}.`,
        "Wrap arrays with tensor(…).",
      );
    }
    scalars.push(x);
    kinds.push(null);
  }
  if (tensors.length === 0) {
    fail(
      "value",
      name,
      "no operand is a tensor.",
      "Make one with tensor(…), or use JavaScript's own arithmetic.",
    );
  }
  const callable = namedCallable(name, kinds, scalars, options.dtype);
  const out: ElementwiseOptions = options.out === undefined ? {} : { out: options.out };
  return wrapResult(elementwise(name, callable, tensors, out), options.out);
}

export function namedReduction(name: Reduction, t: Tensor, options?: SumOptions): Tensor {
  return new Tensor(namedReduce(name, liveTensor(name, t), options));
}
