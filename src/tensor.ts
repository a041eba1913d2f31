/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The Tensor: storage + dtype + view, and methods that delegate. It holds its storage while it lives: `dispose`
 * (or `using`, or the end of a `scope`) lets go, and the last one to let go frees the memory.
 */
import { introduce, lazyContents, sameContents } from "./contents.ts";
import {
  type ArrayOf,
  type Counted,
  checkDType,
  type DType,
  dtypes,
  type FloatDType,
  type Floated,
  type FoldedBy,
  fromScalar,
  type ItemOf,
  type OwnArrayOf,
  type Promote,
  type PromoteAll,
  type Returned,
  type ScalarOf,
  toItem,
  toScalar,
  type Weakly,
  type Wide,
} from "./dtype.ts";
import { engine } from "./engine.ts";
import { describe, fail, list, unreachable } from "./errors.ts";
import { type FormatOptions, formatHeader, formatValues, readFormat } from "./format.ts";
import { Table } from "./frontend/template.ts";
import type { Template } from "./ir/node.ts";
import { checkReach } from "./memory/storage.ts";
import { axisList, indexList, numberList, readList, readOptions, without } from "./ops/arguments.ts";
import { type AssociativeOptions, associativeReduce } from "./ops/associative.ts";
import { assign, assignFlat, copyTo } from "./ops/copy.ts";
import { fromData, type Nested, type Scalar } from "./ops/create.ts";
import { type ElementwiseOptions, elementwise } from "./ops/elementwise.ts";
import { type Captures, callableOf, type ScalarFunction } from "./ops/function.ts";
import { matmul } from "./ops/matmul.ts";
import { type NamedOp, namedCallable } from "./ops/named.ts";
import { type NamedFold, reduceNames, type ScanOptions, scan, scanNames } from "./ops/reduce.ts";
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
import { checkWritable, failDisposed, share } from "./ops/strided.ts";
import { tellCopy } from "./ops/tell.ts";
import type { Captured, Strided } from "./run/call.ts";
import { addressOf } from "./run/kernel.ts";
import { drawView } from "./view/draw.ts";
import { normalizeIndex, sizeOf } from "./view/layout.ts";
import { selfOverlaps } from "./view/overlap.ts";
import { reshape, resolveShape } from "./view/reshape.ts";
import { type SliceItem, slice } from "./view/slice.ts";
import * as views from "./view/view.ts";
import { isContiguous, type View } from "./view/view.ts";

/** Rows of rows, as deep as a tensor has axes. */
interface Rows<T> extends Array<T & Rows<T>> {}
/**
 * What `toArray` gives. TypeScript does not know a tensor's rank, so an entry is typed as both, an element and rows of
 * them; it is the one that the rank says.
 */
export type Elements<T> = T & Rows<T>;
/** An index, or a size: bigints as they come out of 64-bit integers are as good as numbers. */
export type Index = number | bigint;
export type FoldFunction = (acc: number, x: number) => number | bigint | boolean;
export interface MapOptions<
  E extends DType = DType,
  F extends DType = DType,
  C extends DType = DType,
  W extends Captures = Captures,
> {
  /** dtype of the result. Default: what the function makes of its operands' dtypes. */
  readonly dtype?: E;
  /** Write here instead of into a new tensor. */
  readonly out?: Tensor<F>;
  /** Operands are converted to it first: the function computes in it, called or compiled. */
  readonly compute?: C;
  /** Values the function is given by name: `t.map((x, { k }) => x * k, { with: { k } })`. */
  readonly with?: W;
}
export interface ProductOptions<F extends DType = DType> {
  /** Write here instead of into a new tensor; this is what is returned then. */
  readonly out?: Tensor<F>;
  /** Add the product to what `out` holds: out += a·b. */
  readonly accumulate?: boolean;
}

/** Options of a fold: the dtype it gives, the one it computes in, and values its function is given by name. */
export type FoldOptions<O, E extends DType = DType, C extends DType = DType, W = Captures> = Omit<
  O,
  "dtype" | "compute"
> & { readonly dtype?: E; readonly compute?: C; readonly with?: W };

/** The dtypes of a list of tensors, and the one they all meet in. */
export type DTypesOf<T extends readonly Tensor[]> = T[number]["dtype"];
export type Joined<T extends readonly Tensor[]> = PromoteAll<{ [K in keyof T]: T[K]["dtype"] }>;

/** The dtype of a fold over elements of dtype D: by name, or by a function that returns Q. */
export type Folded<N extends NamedFold, Q, D extends DType> = [Q] extends [never]
  ? N extends "max" | "min"
    ? D
    : Wide<D>
  : FoldedBy<Q, D>;

/** A kernel: a function that says itself what it makes of dtypes. */
export interface AnyKernel {
  (...values: number[]): unknown;
  readonly template: Template;
}

/** The dtype in which a tensor and another operand meet, as far as it is known. */
export type Together<D extends DType, O> = O extends Tensor<infer E> ? Promote<D, E> : Weakly<D, O>;
/** The same for operations on bits, which refuse fractions. */
export type Bits<D extends DType, O> =
  O extends Tensor<infer E> ? Promote<D, E> : Weakly<D, O extends number ? 0 : O>;

const inspect = Symbol.for("nodejs.util.inspect.custom");
const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for("Symbol.dispose") as never);
/** Elements that nested arrays may have: V8 ends the process when its own memory is full. */
const MOST_NESTED = 2 ** 28;

/** What a tensor is made of; undefined for what is no tensor: a Proxy around one, an object made to look like one. */
let insideOf: (t: object) => Strided | undefined;
/** The same of one that may be used; null where it has let go of its storage. */
let livingOf: (t: object) => Strided | null | undefined;
/** Disposes a tensor, whatever its methods are. */
let letGo: (t: Tensor) => void;
/** Only who holds it makes tensors. */
const making = Symbol("making");
/** What deep equality sees of a tensor. */
const contentsOf = lazyContents((t) => live("compare", t as Tensor));
let isIntroduced = false;

/**
 * A handle on a storage, a dtype and a view of the two. What it is made of cannot be seen, replaced or forged from
 * outside: kernels trust it and never check again.
 */
export class Tensor<out D extends DType = DType> {
  readonly #of: Strided<D>;
  #disposed = false;

  static {
    insideOf = (t) => (#of in t ? t.#of : undefined);
    livingOf = (t) => {
      if (!(#of in t)) return undefined;
      const of = t.#of;
      return t.#disposed || of.storage.disposed ? null : of;
    };
    letGo = (t) => {
      const { storage } = inside(t, "dispose");
      if (t.#disposed) return;
      t.#disposed = true;
      storage.release();
    };
  }

  /** Tensors are made by `tensor`, `zeros`, `fromBuffer` and other functions, not with `new`. */
  constructor(key: typeof making, of: Strided<D>) {
    if (key !== making) {
      fail(
        "value",
        "Tensor",
        "tensors are not made with new.",
        "Use tensor([1, 2, 3]), zeros([2, 3]), fromBuffer(…) or another function that makes one.",
      );
    }
    this.#of = of;
    const { frame } = of;
    // Shape and strides are what kernels trust: nobody may change them behind the gate.
    if (!Object.isFrozen(frame)) {
      Object.freeze(frame.shape);
      Object.freeze(frame.strides);
      Object.freeze(frame);
    }
    (this as { contents?: object }).contents = contentsOf(this);
    if (!isIntroduced) {
      isIntroduced = true;
      introduce(tensorEquality);
    }
    // Nor may an own property stand before what the class says.
    Object.preventExtensions(this);
    engine().scopes.track(this);
  }

  /* What it is ------------------------------------------------------------------------------------------ */

  get dtype(): D {
    return inside(this, "dtype").dtype;
  }
  get shape(): readonly number[] {
    return inside(this, "shape").frame.shape;
  }
  /** Number of axes. */
  get rank(): number {
    return inside(this, "rank").frame.shape.length;
  }
  /** Number of elements. */
  get size(): number {
    return sizeOf(inside(this, "size").frame.shape);
  }
  /** Elements to skip for one step along each axis. */
  get strides(): readonly number[] {
    const { strides, itemBytes } = inside(this, "strides").frame;
    return strides.map((s) => s / itemBytes);
  }
  get byteStrides(): readonly number[] {
    return inside(this, "byteStrides").frame.strides;
  }
  /** Position of the first element in its storage, in elements. */
  get offset(): number {
    const { offset, itemBytes } = inside(this, "offset").frame;
    return offset / itemBytes;
  }
  get byteOffset(): number {
    return inside(this, "byteOffset").frame.offset;
  }
  /** Row-major without gaps: the elements lie in the order they are counted. */
  get isContiguous(): boolean {
    return isContiguous(inside(this, "isContiguous").frame);
  }
  /** Broadcast and window views name one element many times: writing to them is an error. */
  get readOnly(): boolean {
    return inside(this, "readOnly").readOnly;
  }
  get isDisposed(): boolean {
    inside(this, "isDisposed");
    return livingOf(this) === null;
  }

  /** The elements as a typed array over the live memory: no copy. f16 and bf16 show their raw bits. */
  get data(): ArrayOf<D> {
    const of = live("data", this);
    engine().recorder?.touched?.("data", of);
    const { dtype, storage, frame } = of;
    if (!isArray(frame)) {
      fail(
        "value",
        "data",
        isContiguous(frame)
          ? `byte offset ${frame.offset} is not a multiple of ${dtype}'s ${frame.itemBytes} bytes.`
          : `this view is not contiguous: shape ${list(frame.shape)}, strides ${list(this.strides)}.`,
        "Use toTypedArray() for a copy of its elements, or contiguous().data.",
      );
    }
    return storage.cells(dtype, frame.offset, sizeOf(frame.shape));
  }

  /* Lifetime -------------------------------------------------------------------------------------------- */

  /** Lets go of the memory; freed when no other view holds it. Using this tensor afterwards is an error. */
  dispose(): void {
    letGo(this);
  }

  [disposeSymbol](): void {
    letGo(this);
  }

  get [Symbol.toStringTag](): string {
    return "Tensor";
  }

  /* Views: no element moves ----------------------------------------------------------------------------- */

  /** Per axis: an integer, "start:stop:step", [start, stop, step], null (a new axis) or "...". Always a view. */
  slice(...items: SliceItem[]): Tensor<D> {
    return viewOf("slice", this, (frame) => slice(frame, items));
  }
  permute(...axes: number[] | [readonly number[]]): Tensor<D> {
    return viewOf("permute", this, (frame) => views.permute(frame, spread("permute", "the axes", axes)));
  }
  /** Axes in reverse order. */
  transpose(): Tensor<D> {
    return viewOf("transpose", this, views.transpose);
  }
  get T(): Tensor<D> {
    return viewOf("transpose", this, views.transpose);
  }
  swapAxes(a: number, b: number): Tensor<D> {
    return viewOf("swapAxes", this, (frame) => views.swapAxes(frame, a, b));
  }
  moveAxis(source: number | readonly number[], destination: number | readonly number[]): Tensor<D> {
    return viewOf("moveAxis", this, (frame) =>
      views.moveAxis(frame, axisList("moveAxis", source), axisList("moveAxis", destination)),
    );
  }
  /** Without the axes of size 1, or without those given. */
  squeeze(axes?: number | readonly number[]): Tensor<D> {
    return viewOf("squeeze", this, (frame) => views.squeeze(frame, optionalAxes("squeeze", axes)));
  }
  expandDims(axes: number | readonly number[]): Tensor<D> {
    return viewOf("expandDims", this, (frame) => views.expandDims(frame, axisList("expandDims", axes)));
  }
  flip(axes?: number | readonly number[]): Tensor<D> {
    return viewOf("flip", this, (frame) => views.flip(frame, optionalAxes("flip", axes)));
  }
  /** Repeats along size-1 and new leading axes by stride 0; read-only. */
  broadcastTo(...shape: number[] | [readonly number[]]): Tensor<D> {
    const make = (frame: View) => views.broadcastTo(frame, spread("broadcastTo", "the shape", shape));
    return viewOf("broadcastTo", this, make, views.hasBroadcastAxis);
  }
  diagonal(
    options: { readonly offset?: number; readonly axis1?: number; readonly axis2?: number } = {},
  ): Tensor<D> {
    const {
      offset = 0,
      axis1 = 0,
      axis2 = 1,
    } = readOptions("diagonal", options, "{ offset: 1 }", ["offset", "axis1", "axis2"]);
    return viewOf("diagonal", this, (frame) => views.diagonal(frame, offset, axis1, axis2));
  }
  /** Every window of the given size, as new last axes; read-only. */
  slidingWindow(window: number | readonly number[], axes?: number | readonly number[]): Tensor<D> {
    const sizes = typeof window === "number" ? window : numberList("slidingWindow", "the window", window);
    const make = (frame: View) => views.slidingWindow(frame, sizes, optionalAxes("slidingWindow", axes));
    return viewOf("slidingWindow", this, make, selfOverlaps);
  }
  /** Any shape, strides and offset (in elements, counted from this view's first); must stay inside the storage. */
  asStrided(shape: readonly number[], strides: readonly number[], offset?: number): Tensor<D> {
    const { storage } = live("asStrided", this);
    const sizes = numberList("asStrided", "the shape", shape);
    const steps = numberList("asStrided", "strides", strides);
    const make = (frame: View) => {
      const own = frame.offset / frame.itemBytes;
      const from = offset === undefined ? own : typeof offset === "number" ? own + offset : offset;
      const view = views.asStridedElements(frame, sizes, steps, from, storage.bytes);
      // Before anybody walks it.
      checkReach("asStrided", view, storage);
      return view;
    };
    return viewOf("asStrided", this, make, selfOverlaps);
  }
  /** A view whenever the strides allow it, else a copy; one size may be -1. */
  reshape(...shape: number[] | [readonly number[]]): Tensor<D> {
    const { to, view } = reshaped("reshape", this, shape);
    if (view !== null) return viewOf("reshape", this, () => view);
    const of = live("reshape", this);
    const { itemBytes, shape: own } = of.frame;
    tellCopy(
      "reshape",
      sizeOf(own) * itemBytes,
      `no strides lay ${list(own)} with strides ${list(this.strides)} out as ${list(to)}`,
    );
    return wrap({ ...copyTo("reshape", of, of.dtype), frame: views.contiguousView(to, itemBytes) });
  }
  /** As reshape, but never copies: an error where no strides exist. */
  view(...shape: number[] | [readonly number[]]): Tensor<D> {
    const { to, view } = reshaped("view", this, shape);
    if (view !== null) return viewOf("view", this, () => view);
    return fail(
      "shape",
      "view",
      `shape ${list(this.shape)} with strides ${list(this.strides)} cannot be seen as ${list(to)} without a copy.`,
      "Use reshape, which copies where it must, or contiguous() first.",
    );
  }

  /* Elements -------------------------------------------------------------------------------------------- */

  /** One element, as a number or a boolean; negative indices count from the end. */
  get(...index: Index[]): ItemOf<D> {
    const of = live("get", this);
    return toItem("get", of.storage.read(of.dtype, byteOf("get", of, index)), of.dtype);
  }
  set(index: readonly Index[], value: Scalar): this {
    const place = indexList("set", "the index", index);
    const of = live("set", this);
    checkWritable("set", of);
    const at = byteOf("set", of, place);
    const element = fromScalar("set", value, of.dtype);
    engine().recorder?.touched?.("set", of);
    of.storage.write(of.dtype, at, element);
    of.storage.version++;
    return this;
  }
  /** The only element of a tensor of size 1, as a number or a boolean. */
  item(): ItemOf<D> {
    const of = live("item", this);
    const { shape } = of.frame;
    if (sizeOf(shape) !== 1) {
      fail(
        "shape",
        "item",
        `the tensor has ${sizeOf(shape)} elements.`,
        "item() is for one element; use get(i, …) or toArray().",
      );
    }
    return toItem("item", of.storage.read(of.dtype, of.frame.offset), of.dtype);
  }
  /** this[…] = source[…], broadcast and converted; overlapping memory behaves as if the source were copied first. */
  assign(source: Tensor | Nested): this {
    assignAny("assign", this, source);
    return this;
  }
  /** Elements in row-major order of each side's own shape, as ggml copies: only the counts must agree. */
  assignFlat(source: Tensor): this {
    assignFlat("assignFlat", live("assignFlat", this), live("assignFlat", source));
    return this;
  }
  fill(value: Scalar): this {
    assignAny("fill", this, value);
    return this;
  }

  /** A dense copy. */
  clone(): Tensor<D> {
    const of = live("clone", this);
    return wrap(copyTo("clone", of, of.dtype));
  }
  /** This tensor if it is contiguous (another handle on it), else a dense copy: either has `data`. */
  contiguous(): Tensor<D> {
    return dense("contiguous", this);
  }
  /** The elements converted; the same dtype gives another handle on this tensor. */
  to<E extends DType>(dtype: E): Tensor<E> {
    checkDType("to", dtype);
    const of = live("to", this);
    if ((dtype as DType) === of.dtype) return viewOf("to", this, (frame) => frame) as unknown as Tensor<E>;
    return wrap(copyTo("to", of, dtype, true));
  }

  /* Kernels --------------------------------------------------------------------------------------------- */

  /**
   * fn of every element.
   *
   *     t.map((x) => Math.max(x, 0));
   *     t.map((x, { k }) => x * k, { with: { k: 2 } });
   */
  map<E extends DType = DType, F extends DType = E>(
    fn: AnyKernel,
    options?: MapOptions<E, F>,
  ): Tensor<NoInfer<F>>;
  map<
    R extends Scalar,
    W extends Captures = never,
    C extends DType = D,
    E extends DType = Returned<R, C>,
    F extends DType = E,
  >(fn: (x: number, captured: W) => R, options?: MapOptions<E, F, C, W>): Tensor<NoInfer<F>>;
  map(fn: (x: number) => Scalar, options?: MapOptions): Tensor;
  map(fn: ScalarFunction, options: MapOptions = {}): Tensor {
    const read = readOutput("map", options, mapNames);
    const callable = callableOf("map", fn, withTables("map", read.with));
    return wrapResult(elementwise("map", callable, [live("map", this)], read), read.tensor);
  }
  /** Folds axes with fn(acc, x). */
  reduce<R extends Scalar, W extends Captures = never, C extends DType = D, E extends DType = FoldedBy<R, C>>(
    fn: (acc: number, x: number, captured: W) => R,
    options?: FoldOptions<AssociativeOptions, E, C, W>,
  ): Tensor<NoInfer<E>>;
  reduce(fn: FoldFunction, options?: FoldOptions<AssociativeOptions>): Tensor;
  reduce(fn: ScalarFunction, options?: FoldOptions<AssociativeOptions>): Tensor {
    const read = readOptions("reduce", options, "{ axis: 1 }", [...reduceNames, "associative", "with"]);
    const callable = callableOf("reduce", fn, withTables("reduce", read.with));
    return wrap(associativeReduce("reduce", callable, live("reduce", this), without(read, "with")));
  }
  /** Every step of the fold along one axis. */
  scan<R extends Scalar, W extends Captures = never, C extends DType = D, E extends DType = FoldedBy<R, C>>(
    fn: (acc: number, x: number, captured: W) => R,
    options?: FoldOptions<ScanOptions, E, C, W>,
  ): Tensor<NoInfer<E>>;
  scan(fn: FoldFunction, options?: FoldOptions<ScanOptions>): Tensor;
  scan(fn: ScalarFunction, options?: FoldOptions<ScanOptions>): Tensor {
    const read = readOptions("scan", options, "{ axis: 1 }", [...scanNames, "with"]);
    const callable = callableOf("scan", fn, withTables("scan", read.with));
    return wrap(scan("scan", callable, [live("scan", this)], without(read, "with")));
  }
  matmul<E extends DType, F extends DType = Promote<D, E>>(
    other: Tensor<E>,
    options?: ProductOptions<F>,
  ): Tensor<NoInfer<F>> {
    const read = readOutput("matmul", options, ["out", "accumulate"]);
    return wrapResult(matmul(live("matmul", this), live("matmul", other), read), read.tensor) as never;
  }

  /* Named operations, as NumPy means them; every other is a function of the same form ----------------------- */

  add<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("add", [this, other], options) as Tensor<F>;
  }
  sub<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("sub", [this, other], options) as Tensor<F>;
  }
  mul<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("mul", [this, other], options) as Tensor<F>;
  }
  div<O extends Operand, E extends DType = Together<D, O>, F extends DType = Floated<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("div", [this, other], options) as Tensor<F>;
  }
  remainder<O extends Operand, E extends DType = Together<D, O>, F extends DType = Counted<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("remainder", [this, other], options) as Tensor<F>;
  }
  floorDivide<O extends Operand, E extends DType = Together<D, O>, F extends DType = Counted<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("floorDivide", [this, other], options) as Tensor<F>;
  }
  pow<O extends Operand, E extends DType = Together<D, O>, F extends DType = Counted<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("pow", [this, other], options) as Tensor<F>;
  }
  maximum<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("maximum", [this, other], options) as Tensor<F>;
  }
  minimum<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("minimum", [this, other], options) as Tensor<F>;
  }
  equal<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("equal", [this, other], options) as Tensor<F>;
  }
  notEqual<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("notEqual", [this, other], options) as Tensor<F>;
  }
  less<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("less", [this, other], options) as Tensor<F>;
  }
  lessEqual<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("lessEqual", [this, other], options) as Tensor<F>;
  }
  greater<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("greater", [this, other], options) as Tensor<F>;
  }
  greaterEqual<F extends DType = "bool">(
    other: Operand,
    options?: NamedOptions<DType, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("greaterEqual", [this, other], options) as Tensor<F>;
  }
  logicalAnd<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("logicalAnd", [this, other], options) as Tensor<F>;
  }
  logicalOr<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("logicalOr", [this, other], options) as Tensor<F>;
  }
  bitwiseAnd<O extends Operand, E extends DType = Bits<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("bitwiseAnd", [this, other], options) as Tensor<F>;
  }
  bitwiseOr<O extends Operand, E extends DType = Bits<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("bitwiseOr", [this, other], options) as Tensor<F>;
  }
  bitwiseXor<O extends Operand, E extends DType = Bits<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("bitwiseXor", [this, other], options) as Tensor<F>;
  }
  neg<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("neg", [this], options) as Tensor<F>;
  }
  abs<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("abs", [this], options) as Tensor<F>;
  }
  sign<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("sign", [this], options) as Tensor<F>;
  }
  square<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("square", [this], options) as Tensor<F>;
  }
  reciprocal<E extends DType = D, F extends DType = Floated<E>>(
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("reciprocal", [this], options) as Tensor<F>;
  }
  relu<E extends DType = D, F extends DType = Counted<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("relu", [this], options) as Tensor<F>;
  }
  sigmoid<E extends DType = D, F extends DType = Floated<E>>(
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("sigmoid", [this], options) as Tensor<F>;
  }
  sqrt<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("sqrt", [this], options) as Tensor<F>;
  }
  exp<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("exp", [this], options) as Tensor<F>;
  }
  log<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("log", [this], options) as Tensor<F>;
  }
  sin<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("sin", [this], options) as Tensor<F>;
  }
  cos<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("cos", [this], options) as Tensor<F>;
  }
  tanh<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("tanh", [this], options) as Tensor<F>;
  }
  floor<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("floor", [this], options) as Tensor<F>;
  }
  ceil<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("ceil", [this], options) as Tensor<F>;
  }
  trunc<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("trunc", [this], options) as Tensor<F>;
  }
  round<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("round", [this], options) as Tensor<F>;
  }
  isnan<F extends DType = "bool">(options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("isnan", [this], options) as Tensor<F>;
  }
  isfinite<F extends DType = "bool">(options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("isfinite", [this], options) as Tensor<F>;
  }
  logicalNot<F extends DType = "bool">(options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("logicalNot", [this], options) as Tensor<F>;
  }
  bitwiseNot<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("bitwiseNot", [this], options) as Tensor<F>;
  }
  clip<A extends Operand, B extends Operand, E extends DType = Clipped<D, A, B>, F extends DType = E>(
    low: A,
    high: B,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("clip", [this, low, high], options) as Tensor<F>;
  }
  sum<E extends DType = Wide<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("sum", this, options) as Tensor<E>;
  }
  prod<E extends DType = Wide<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("prod", this, options) as Tensor<E>;
  }
  max<E extends DType = D>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("max", this, options) as Tensor<E>;
  }
  min<E extends DType = D>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("min", this, options) as Tensor<E>;
  }
  any(options?: AxisOptions): Tensor<"bool"> {
    return namedReduction("any", this, options) as Tensor<"bool">;
  }
  all(options?: AxisOptions): Tensor<"bool"> {
    return namedReduction("all", this, options) as Tensor<"bool">;
  }
  mean<E extends DType = Floated<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return wrap(mean(live("mean", this), options)) as Tensor as Tensor<E>;
  }
  /** The mean square distance from the mean; divided by count - ddof. */
  var<E extends DType = Floated<D>>(options?: VarOptions<E>): Tensor<NoInfer<E>> {
    return wrap(variance(live("var", this), options)) as Tensor as Tensor<E>;
  }
  /** The square root of `var`. */
  std<E extends DType = Floated<D>>(options?: VarOptions<E>): Tensor<NoInfer<E>> {
    return wrap(std(live("std", this), options)) as Tensor as Tensor<E>;
  }
  /** Position of the largest element along an axis, or in the flattened tensor. */
  argmax(options?: ArgOptions): Tensor<"i64"> {
    return wrap(argReduce("argmax", live("argmax", this), options)) as Tensor as Tensor<"i64">;
  }
  argmin(options?: ArgOptions): Tensor<"i64"> {
    return wrap(argReduce("argmin", live("argmin", this), options)) as Tensor as Tensor<"i64">;
  }
  cumsum<E extends DType = Wide<D>>(options?: CumulativeOptions<E>): Tensor<NoInfer<E>> {
    return wrap(namedScan("cumsum", live("cumsum", this), options)) as Tensor as Tensor<E>;
  }
  cumprod<E extends DType = Wide<D>>(options?: CumulativeOptions<E>): Tensor<NoInfer<E>> {
    return wrap(namedScan("cumprod", live("cumprod", this), options)) as Tensor as Tensor<E>;
  }

  /* Leaving --------------------------------------------------------------------------------------------- */

  /**
   * The elements in nested arrays, one level an axis; a 0-d tensor gives its element. 64-bit integers are bigints.
   *
   *     const [a, b] = tensor([1, 2]).toArray();
   *     const [[p, q]] = tensor([[1, 2], [3, 4]]).toArray();
   */
  toArray(): Elements<ScalarOf<D>> {
    const { dtype, storage, frame } = live("toArray", this);
    const size = sizeOf(frame.shape);
    if (size > MOST_NESTED) {
      fail(
        "memory",
        "toArray",
        `${size} elements are too many for arrays of JavaScript, which hold up to ${MOST_NESTED}.`,
        "Take a slice, or toTypedArray().",
      );
    }
    const read = storage.reader(dtype);
    const { shape, strides } = frame;
    const level = (d: number, p: number): unknown => {
      if (d === shape.length) return toScalar(read(p), dtype);
      const row: unknown[] = new Array(shape[d]);
      for (let i = 0; i < shape[d]; i++) row[i] = level(d + 1, p + i * strides[d]);
      return row;
    };
    return level(0, frame.offset) as Elements<ScalarOf<D>>;
  }
  /** A copy of the elements in row-major order, outside the heap. */
  toTypedArray(): OwnArrayOf<D> {
    const { dtype, frame } = live("toTypedArray", this);
    const elements = dense("toTypedArray", this);
    const out = new dtypes[dtype].Array(sizeOf(frame.shape));
    (out as { set(from: unknown): void }).set(elements.data);
    elements.dispose();
    return out as unknown as OwnArrayOf<D>;
  }
  toJSON(): { dtype: D; shape: readonly number[]; data: (number | boolean | string)[] } {
    const { dtype, frame } = live("toJSON", this);
    const values = sizeOf(frame.shape) === 0 ? [] : flatten(this.toArray());
    return { dtype, shape: frame.shape, data: values.map(jsonScalar) };
  }
  /** Along the first axis: views, or scalars of a vector. A 0-d tensor has no axis, and is not iterable: use item(). */
  get [Symbol.iterator](): () => IterableIterator<Tensor<D> | ItemOf<D>> {
    return (insideOf(this)?.frame.shape.length === 0 ? undefined : iterate) as typeof iterate<D>;
  }

  /** A picture of the view over its memory. */
  layout(): string {
    const of = live("layout", this);
    return drawView(of.frame, {
      elements: of.storage.bytes / of.frame.itemBytes,
      values: (byteOffset) =>
        formatValues(of.dtype, scalarView(of.frame, byteOffset), of.storage.reader(of.dtype)),
    });
  }

  toString(options?: FormatOptions): string {
    return printed(this, options);
  }
  [inspect](): string {
    return printed(this);
  }
}

function* iterate<D extends DType>(this: Tensor<D>): IterableIterator<Tensor<D> | ItemOf<D>> {
  const { shape } = live("iterate", this).frame;
  for (let i = 0; i < shape[0]; i++) yield shape.length === 1 ? this.get(i) : this.slice(i);
}

function printed(t: Tensor, options?: FormatOptions): string {
  const of = inside(t, "toString");
  if (livingOf(t) === null) return `Tensor ${of.dtype} ${list(of.frame.shape)}  disposed`;
  const format = readFormat("toString", options);
  live("toString", t);
  const notes = of.readOnly ? ["read-only"] : [];
  const header = formatHeader(of.dtype, of.frame, of.storage, notes);
  return `${header}\n${formatValues(of.dtype, of.frame, of.storage.reader(of.dtype), format)}`;
}

/** A tensor around a storage, which it holds from now on. */
export function wrap<D extends DType>(of: Strided<D>): Tensor<D> {
  return new Tensor(making, of);
}

export function isTensor(x: unknown): x is Tensor {
  return typeof x === "object" && x !== null && insideOf(x) !== undefined;
}

/**
 * Whether two tensors have the same dtype, shape and values (NaN is NaN, -0 is not 0); undefined where one is no tensor.
 * vitest and Jest are told of it by themselves. Where another framework takes such a function:
 *
 *     jasmine.addCustomEqualityTester(tensorEquality);
 */
export function tensorEquality(a: unknown, b: unknown): boolean | undefined {
  if (!isTensor(a) || !isTensor(b)) return undefined;
  return a === b || sameContents(live("compare", a), live("compare", b));
}

/** What a tensor is made of, alive or not. */
function inside<D extends DType>(t: Tensor<D>, operation: string): Strided<D> {
  const of = typeof t === "object" && t !== null ? insideOf(t) : undefined;
  return of === undefined ? failForeign(operation, t) : (of as Strided<D>);
}

/** The same of a tensor that may be used, for code that has said so before. */
export const stridedOf = <D extends DType>(t: Tensor<D>): Strided<D> => live("tensor", t);

/** The same of a tensor that may be used, or an error that says what came instead. */
export function live<D extends DType>(operation: string, t: Tensor<D>): Strided<D> {
  const of = typeof t === "object" && t !== null ? livingOf(t) : undefined;
  if (of === null) failDisposed(operation);
  return of === undefined ? failForeign(operation, t) : (of as Strided<D>);
}

/** Tensors that may be used, from a list that is read once; at least one. */
export function liveTensors(operation: string, tensors: unknown, remedy: string): Tensor[] {
  const all = readList(operation, "the list", tensors);
  if (all === null || all.length === 0) {
    const fact = all === null ? `expected an array of tensors, got ${describe(tensors)}.` : "no tensors.";
    return fail("value", operation, fact, remedy);
  }
  return all.map((t) => liveTensor(operation, t));
}

/** The tensor itself, if it may be used. */
export function liveTensor(operation: string, t: unknown): Tensor {
  live(operation, t as Tensor);
  return t as Tensor;
}

function failForeign(operation: string, t: unknown): never {
  if (isDerived(t)) {
    fail(
      "value",
      operation,
      "expected a tensor, got a Proxy around one, or an object derived from one.",
      "Pass the tensor itself, for instance toRaw(t) where a framework has wrapped it.",
    );
  }
  return fail("value", operation, `expected a tensor, got ${describe(t)}.`, "Make one with tensor(…).");
}

/** A Proxy may refuse to say what it is of. */
function isDerived(t: unknown): boolean {
  try {
    return t instanceof Tensor;
  } catch {
    return true;
  }
}

/**
 * Another view of the same storage. `make` may run code of the caller's, so whether the tensor still lives is asked
 * after it; and the view passes the gate.
 */
export function viewOf<D extends DType>(
  operation: string,
  t: Tensor<D>,
  make: (frame: View) => View,
  isShared: (view: View) => boolean = () => false,
): Tensor<D> {
  const view = make(live(operation, t).frame);
  const of = live(operation, t);
  checkReach(operation, view, of.storage);
  const made = share(of, view, of.readOnly || isShared(view));
  engine().recorder?.viewed(operation, of, made);
  return wrap(made);
}

/** The shape asked for, and the view of it if there is one. */
function reshaped(
  operation: string,
  t: Tensor,
  shape: readonly unknown[],
): { to: readonly number[]; view: View | null } {
  const { frame } = live(operation, t);
  const to = resolveShape(operation, spread(operation, "the shape", shape), sizeOf(frame.shape));
  return { to, view: reshape(frame, to) };
}

/** Dense, and where a typed array may begin: foreign memory can lie at any byte. */
const isArray = (frame: View): boolean => isContiguous(frame) && frame.offset % frame.itemBytes === 0;

/** Another handle if the tensor is an array already, else a copy that is one. */
function dense<D extends DType>(operation: string, t: Tensor<D>): Tensor<D> {
  const of = live(operation, t);
  return isArray(of.frame) ? viewOf(operation, t, (frame) => frame) : wrap(copyTo(operation, of, of.dtype));
}

/** The byte of its storage at which an element begins. */
function byteOf(operation: string, { frame }: Strided, index: readonly Index[]): number {
  const { shape, strides } = frame;
  if (index.length !== shape.length) {
    fail(
      "index",
      operation,
      `${index.length} indices for shape ${list(shape)}.`,
      "Give one index an axis; slice() takes fewer.",
    );
  }
  let at = frame.offset;
  for (let d = 0; d < shape.length; d++) at += normalizeIndex(operation, index[d], shape[d], d) * strides[d];
  return at;
}

function assignAny(operation: string, t: Tensor, source: Tensor | Nested): void {
  if (isTensor(source)) {
    assign(operation, live(operation, t), live(operation, source));
    return;
  }
  const { dtype } = live(operation, t);
  const value = fromData(source, { dtype }, operation);
  try {
    assign(operation, live(operation, t), value);
  } finally {
    value.storage.release();
  }
}

/** `f(2, 3)` and `f([2, 3])` mean the same. */
const spread = (operation: string, name: string, given: readonly unknown[]): readonly number[] =>
  numberList(operation, name, given.length === 1 && typeof given[0] !== "number" ? given[0] : given);

const optionalAxes = (operation: string, axes: unknown) =>
  axes === undefined ? undefined : axisList(operation, axes);

/** Captured values, each read once, with tensors as tables that functions of an element can read. */
export function withTables(operation: string, given: Captures | undefined): Captures | undefined {
  if (given === undefined) return undefined;
  const read = readOptions(operation, given, "{ k: 0.01 }");
  const entries = Object.entries(read);
  if (!entries.some(([, value]) => isTensor(value))) return read;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isTensor(value) ? tableOf(operation, value) : value]),
  );
}

/** The tensor as a table: where it lies is checked again at every use. */
function tableOf(operation: string, tensor: Tensor): Table {
  const of = live(operation, tensor);
  const address = addressOf(of);
  return new Table(tensor, of.dtype, of.frame.shape, address, of.frame.strides, (use) => {
    if (addressOf(live(use, tensor)) !== address) unreachable("a table has moved");
  });
}

/** The options of operations with a function of an element. */
export const mapNames = ["dtype", "out", "compute", "with"] as const;
/** The options of operations that compute element by element. */
export const outputNames = ["dtype", "out"] as const;

/** Options with an output to write to, where there is one: the tensor, and what it is made of. */
export type OutputOptions<O> = Omit<O, "out"> & { readonly out?: Strided; readonly tensor?: Tensor };

/** Options with an output, read once. */
export function readOutput<O extends { readonly out?: Tensor }>(
  operation: string,
  options: O | undefined,
  names: readonly string[],
): OutputOptions<O> {
  const read = readOptions(operation, options, "{ out }", names) as { out?: unknown; tensor?: Tensor };
  const { out } = read;
  if (out !== undefined) {
    // What was read is ours to change.
    read.tensor = out as Tensor;
    read.out = live(operation, out as Tensor);
  }
  return read as unknown as OutputOptions<O>;
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
  return out ?? wrap(result);
}

/* Named operations ------------------------------------------------------------------------------------- */

export type Operand = Tensor | number | bigint | boolean;
export interface NamedOptions<E extends DType = DType, F extends DType = DType> {
  /** Operands are converted to this dtype first, as NumPy's dtype= does. */
  readonly dtype?: E;
  /** Write here instead of into a new tensor; this is what is returned then. */
  readonly out?: Tensor<F>;
}
/** A tensor between two bounds, which meet it one after the other; null is no bound. */
export type Clipped<D extends DType, A, B> =
  A extends Tensor<infer P>
    ? B extends Tensor<infer Q>
      ? AllThree<D, P, Q>
      : Bound<Promote<D, P>, B>
    : Bound<Bound<D, A>, B>;
type Bound<D extends DType, A> = A extends null ? D : Together<D, A>;
/** Integers among floats meet each of them: two by two they might meet elsewhere. */
export type AllThree<A extends DType, B extends DType, C extends DType> = [A | B | C] extends [FloatDType]
  ? Promote<Promote<A, B>, C>
  : [Extract<A | B | C, FloatDType>] extends [never]
    ? Promote<Promote<A, B>, C>
    : DType;

/** Tensors and scalars apart, and which operand was which: the dtype of a tensor, null for a scalar. */
export function splitOperands(
  operation: string,
  operands: readonly Operand[],
): { tensors: Strided[]; scalars: Captured[]; kinds: (DType | null)[] } {
  const tensors: Strided[] = [];
  const scalars: Captured[] = [];
  const kinds: (DType | null)[] = [];
  for (const x of operands) {
    if (typeof x === "object") {
      const of = live(operation, x);
      tensors.push(of);
      kinds.push(of.dtype);
      continue;
    }
    if (typeof x !== "number" && typeof x !== "bigint" && typeof x !== "boolean") {
      fail(
        "value",
        operation,
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
      operation,
      "no operand is a tensor.",
      "Make one with tensor(…), or use JavaScript's own arithmetic.",
    );
  }
  return { tensors, scalars, kinds };
}

export function namedOp(name: NamedOp, operands: readonly Operand[], options: NamedOptions = {}): Tensor {
  const read = readOutput(name, options, outputNames);
  const { tensors, scalars, kinds } = splitOperands(name, operands);
  const callable = namedCallable(name, kinds, scalars, read.dtype);
  const into: ElementwiseOptions = { dtype: undefined, out: read.out, compute: undefined };
  return wrapResult(elementwise(name, callable, tensors, into), read.tensor);
}

export function namedReduction(name: Reduction, t: Tensor, options?: SumOptions): Tensor {
  return wrap(namedReduce(name, live(name, t), options));
}
