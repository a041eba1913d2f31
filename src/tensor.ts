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
import { describe, fail, list } from "./errors.ts";
import { type FormatOptions, formatHeader, formatValues, readFormat } from "./format.ts";
import { Table } from "./frontend/template.ts";
import type { Template } from "./ir/node.ts";
import { checkReach } from "./memory/storage.ts";
import { viewWords } from "./memory/words.ts";
import { axisList, indexList, numberList, readList, readOptions, without } from "./ops/arguments.ts";
import { type AssociativeOptions, associativeReduce } from "./ops/associative.ts";
import { assign, assignFlat, copyTo } from "./ops/copy.ts";
import { fromData, type Nested, type Scalar } from "./ops/create.ts";
import { elementwise } from "./ops/elementwise.ts";
import { type Captures, callableOf, type ScalarFunction } from "./ops/function.ts";
import type { NamedFold } from "./ops/map-reduce.ts";
import { matmul } from "./ops/matmul.ts";
import { type NamedOp, namedCallable } from "./ops/named.ts";
import { argReduce } from "./ops/positions.ts";
import { reduceNames, type ScanOptions, scan, scanNames } from "./ops/reduce.ts";
import {
  type ArgOptions,
  type AxisOptions,
  type CumulativeOptions,
  namedReduce,
  namedScan,
  type Reduction,
  type SumOptions,
  type VarOptions,
} from "./ops/reductions.ts";
import { mean, std, variance } from "./ops/spreads.ts";
import { checkWritable, failDisposed, share } from "./ops/strided.ts";
import { tellCopy } from "./ops/tell.ts";
import type { Captured, Strided } from "./run/call.ts";
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
/** A function that folds: what came so far, and one element. */
export type FoldFunction = (acc: number, x: number) => number | bigint | boolean;
/** The options of `map` and `zip`. */
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
/** The options of `matmul`. */
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
/** The dtype that a list of tensors meets in. */
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
  /** What the kernel computes, before dtypes are known. */
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

  /**
   * The kind of its elements: "f32", "i64", "bool" ….
   *
   * @example
   * tensor([1, 2]).dtype; // → f32
   */
  get dtype(): D {
    return inside(this, "dtype").dtype;
  }
  /**
   * The sizes of its axes; frozen.
   *
   * @example
   * tensor([[1, 2, 3], [4, 5, 6]]).shape; // → [2, 3]
   */
  get shape(): readonly number[] {
    return inside(this, "shape").frame.shape;
  }
  /**
   * Number of axes.
   *
   * @example
   * tensor([[1, 2, 3]]).rank; // → 2
   */
  get rank(): number {
    return inside(this, "rank").frame.shape.length;
  }
  /**
   * Number of elements: the product of the sizes.
   *
   * @example
   * zeros([2, 3]).size; // → 6
   */
  get size(): number {
    return sizeOf(inside(this, "size").frame.shape);
  }
  /**
   * Elements to skip in memory for one step along each axis.
   *
   * @example
   * zeros([2, 3]).strides; // → [3, 1]
   * zeros([2, 3]).T.strides; // → [1, 3]
   */
  get strides(): readonly number[] {
    const { strides, itemBytes } = inside(this, "strides").frame;
    return strides.map((s) => s / itemBytes);
  }
  /**
   * Bytes to skip in memory for one step along each axis.
   *
   * @example
   * zeros([2, 3]).byteStrides; // → [12, 4]
   */
  get byteStrides(): readonly number[] {
    return inside(this, "byteStrides").frame.strides;
  }
  /**
   * Position of the first element in its storage, in elements.
   *
   * @example
   * arange(6).slice("2:").offset; // → 2
   */
  get offset(): number {
    const { offset, itemBytes } = inside(this, "offset").frame;
    return offset / itemBytes;
  }
  /**
   * Position of the first element in its storage, in bytes.
   *
   * @example
   * arange(6).slice("2:").byteOffset; // → 8
   */
  get byteOffset(): number {
    return inside(this, "byteOffset").frame.offset;
  }
  /**
   * Row-major without gaps: the elements lie in the order they are counted.
   *
   * @example
   * zeros([2, 3]).isContiguous; // → true
   * zeros([2, 3]).T.isContiguous; // → false
   */
  get isContiguous(): boolean {
    return isContiguous(inside(this, "isContiguous").frame);
  }
  /**
   * Broadcast and window views name one element many times: writing to them is an error.
   *
   * @example
   * tensor([1, 2]).broadcastTo(3, 2).readOnly; // → true
   */
  get readOnly(): boolean {
    return inside(this, "readOnly").readOnly;
  }
  /**
   * Has this tensor let go of its memory?
   *
   * @example
   * const t = tensor([1, 2]);
   * t.dispose();
   * t.isDisposed; // → true
   */
  get isDisposed(): boolean {
    inside(this, "isDisposed");
    return livingOf(this) === null;
  }

  /**
   * The elements as a typed array over the live memory: no copy. f16 and bf16 show their raw bits. It ends with the
   * tensor, and with the next growth of the heap where memory is not shared: ask for it anew.
   *
   *
   * @throws TensorError where the tensor is not contiguous
   * @example
   * const t = tensor([1, 2, 3]);
   * t.data[0] = 9;
   * t; // → f32 [9, 2, 3]
   */
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

  /**
   * Lets go of the memory; freed when no other view holds it. Using this tensor afterwards is an error.
   *
   * @example
   * const t = tensor([1, 2]);
   * const view = t.slice("1:");
   * t.dispose();
   * view; // → f32 [2]
   */
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

  /**
   * A view of some of the elements, by Python's rules: never a copy.
   *
   *
   * @param items one an axis, from the left: an integer (drops the axis), "start:stop:step" or [start, stop, step],
   *   null (a new axis), "..." (all axes that no other item takes); axes left over stay whole
   * @returns a view that shares this tensor's memory
   * @throws TensorError where an index is out of range or there are more items than axes
   * @example
   * const t = tensor([[1, 2, 3], [4, 5, 6]]);
   * t.slice(1); // → f32 [4, 5, 6]
   * t.slice(":", "::-1"); // → f32 [[3, 2, 1], [6, 5, 4]]
   * t.slice("...", [0, 2]); // → f32 [[1, 2], [4, 5]]
   */
  slice(...items: SliceItem[]): Tensor<D> {
    return viewOf("slice", this, (frame) => slice(frame, items));
  }
  /**
   * The axes in another order.
   *
   *
   * @param axes every axis once, as arguments or as one array
   * @returns a view that shares this tensor's memory
   * @throws TensorError where an axis is missing, twice or out of range
   * @example
   * zeros([2, 3, 4]).permute(2, 0, 1).shape; // → [4, 2, 3]
   */
  permute(...axes: number[] | [readonly number[]]): Tensor<D> {
    return viewOf("permute", this, (frame) => views.permute(frame, spread("permute", "the axes", axes)));
  }
  /**
   * The axes in reverse order.
   *
   *
   * @returns a view that shares this tensor's memory
   * @example
   * tensor([[1, 2], [3, 4]]).transpose(); // → f32 [[1, 3], [2, 4]]
   */
  transpose(): Tensor<D> {
    return viewOf("transpose", this, views.transpose);
  }
  /**
   * The axes in reverse order: a view, as `transpose` gives it.
   *
   * @example
   * tensor([[1, 2], [3, 4]]).T; // → f32 [[1, 3], [2, 4]]
   */
  get T(): Tensor<D> {
    return viewOf("transpose", this, views.transpose);
  }
  /**
   * Two axes in each other's place.
   *
   *
   * @param a an axis; negative ones count from the end
   * @param b the other
   * @returns a view that shares this tensor's memory
   * @example
   * zeros([2, 3, 4]).swapAxes(0, -1).shape; // → [4, 3, 2]
   */
  swapAxes(a: number, b: number): Tensor<D> {
    return viewOf("swapAxes", this, (frame) => views.swapAxes(frame, a, b));
  }
  /**
   * Axes moved to other places; the others keep their order.
   *
   *
   * @param source an axis, or several
   * @param destination where each of them goes
   * @returns a view that shares this tensor's memory
   * @example
   * zeros([2, 3, 4]).moveAxis(0, -1).shape; // → [3, 4, 2]
   */
  moveAxis(source: number | readonly number[], destination: number | readonly number[]): Tensor<D> {
    return viewOf("moveAxis", this, (frame) =>
      views.moveAxis(frame, axisList("moveAxis", source), axisList("moveAxis", destination)),
    );
  }
  /**
   * Without the axes of size 1, or without those given.
   *
   *
   * @param axes an axis or several, which must have size 1; default all that do
   * @returns a view that shares this tensor's memory
   * @throws TensorError where a given axis has another size
   * @example
   * zeros([1, 3, 1]).squeeze().shape; // → [3]
   */
  squeeze(axes?: number | readonly number[]): Tensor<D> {
    return viewOf("squeeze", this, (frame) => views.squeeze(frame, optionalAxes("squeeze", axes)));
  }
  /**
   * With new axes of size 1.
   *
   *
   * @param axes where they are in the result
   * @returns a view that shares this tensor's memory
   * @example
   * zeros([2, 3]).expandDims([0, -1]).shape; // → [1, 2, 3, 1]
   */
  expandDims(axes: number | readonly number[]): Tensor<D> {
    return viewOf("expandDims", this, (frame) => views.expandDims(frame, axisList("expandDims", axes)));
  }
  /**
   * Axes walked backwards, by negative strides.
   *
   *
   * @param axes an axis or several; default all
   * @returns a view that shares this tensor's memory
   * @example
   * tensor([[1, 2], [3, 4]]).flip(1); // → f32 [[2, 1], [4, 3]]
   */
  flip(axes?: number | readonly number[]): Tensor<D> {
    return viewOf("flip", this, (frame) => views.flip(frame, optionalAxes("flip", axes)));
  }
  /**
   * Repeated along axes of size 1 and new leading axes by stride 0: no element is copied.
   *
   *
   * @param shape the sizes, as arguments or as one array
   * @returns a read-only view that shares this tensor's memory
   * @throws TensorError where a size is neither 1 nor the one asked for
   * @example
   * tensor([1, 2]).broadcastTo(2, 2); // → f32 [[1, 2], [1, 2]]
   */
  broadcastTo(...shape: number[] | [readonly number[]]): Tensor<D> {
    const make = (frame: View) => views.broadcastTo(frame, spread("broadcastTo", "the shape", shape));
    return viewOf("broadcastTo", this, make, views.hasBroadcastAxis);
  }
  /**
   * The elements whose indices along two axes are equal, as a new last axis.
   *
   *
   * @param options `offset`: above the main diagonal where positive; `axis1`, `axis2`: default 0 and 1
   * @returns a view that shares this tensor's memory
   * @example
   * tensor([[1, 2], [3, 4]]).diagonal(); // → f32 [1, 4]
   */
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
  /**
   * Every window of the given size, as new last axes: no element is copied.
   *
   *
   * @param window a size, or one for each axis
   * @param axes the axes it slides along; default all
   * @returns a read-only view that shares this tensor's memory; an axis of n becomes one of n - window + 1
   * @throws TensorError where a window is larger than its axis
   * @example
   * arange(5).slidingWindow(3); // → f32 [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
   */
  slidingWindow(window: number | readonly number[], axes?: number | readonly number[]): Tensor<D> {
    const sizes = typeof window === "number" ? window : numberList("slidingWindow", "the window", window);
    const make = (frame: View) => views.slidingWindow(frame, sizes, optionalAxes("slidingWindow", axes));
    return viewOf("slidingWindow", this, make, selfOverlaps);
  }
  /**
   * Any shape and strides over this tensor's memory, both in elements.
   *
   *
   * @param shape the sizes
   * @param strides elements to skip for one step along each axis; they may be 0 or negative
   * @param offset where the first element is, counted from this view's first; default 0
   * @returns a view that shares this tensor's memory, read-only where elements are named twice
   * @throws TensorError where an element would lie outside the storage
   * @example
   * arange(6).asStrided([2, 2], [3, 1], 1); // → f32 [[1, 2], [4, 5]]
   */
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
  /**
   * The same elements, in row-major order, in another shape.
   *
   *
   * @param shape the sizes, as arguments or as one array; one of them may be -1 and follows from the others
   * @returns a view whenever strides allow it, else a copy; `view` never copies
   * @throws TensorError where the shape has another number of elements
   * @example
   * arange(6).reshape(2, -1); // → f32 [[0, 1, 2], [3, 4, 5]]
   */
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
  /**
   * As `reshape`, but never a copy.
   *
   *
   * @param shape the sizes, as arguments or as one array; one of them may be -1
   * @returns a view that shares this tensor's memory
   * @throws TensorError where no strides lay this tensor out so
   * @example
   * arange(4).view(2, 2); // → f32 [[0, 1], [2, 3]]
   */
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

  /**
   * One element, as a number or a boolean (64-bit integers beyond 2^53 are an error: `toArray` has bigints).
   *
   *
   * @param index one an axis; negative ones count from the end
   * @returns the element
   * @throws TensorError where an index is out of range or missing
   * @example
   * tensor([[1, 2], [3, 4]]).get(1, -1); // → 4
   */
  get(...index: Index[]): ItemOf<D> {
    const of = live("get", this);
    return toItem("get", of.storage.read(of.dtype, byteOf("get", of, index)), of.dtype);
  }
  /**
   * Writes one element, in place.
   *
   *
   * @param index one an axis; negative ones count from the end
   * @param value converted to this dtype
   * @returns this tensor
   * @throws TensorError where the index is out of range or the tensor is read-only
   * @example
   * zeros([3]).set([1], 5); // → f32 [0, 5, 0]
   */
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
  /**
   * The only element of a tensor of size 1, as a number or a boolean.
   *
   *
   * @returns the element
   * @throws TensorError where there is another number of elements
   * @example
   * tensor([1, 2, 3]).sum().item(); // → 6
   */
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
  /**
   * Writes elements in place: this[…] = source[…]. Overlapping memory behaves as if the source were copied first.
   *
   *
   * @param source a tensor, a scalar or nested arrays; broadcast to this shape, converted to this dtype
   * @returns this tensor
   * @throws TensorError where the shapes do not broadcast or this tensor is read-only
   * @example
   * const t = zeros([2, 2]);
   * t.slice(0).assign([1, 2]);
   * t; // → f32 [[1, 2], [0, 0]]
   */
  assign(source: Tensor | Nested): this {
    assignAny("assign", this, source);
    return this;
  }
  /**
   * Elements in row-major order of each side's own shape, as ggml copies: only the counts must agree.
   *
   * @param source a tensor of as many elements, in any shape
   * @returns this tensor
   * @throws TensorError where the counts differ or this tensor is read-only
   * @example
   * zeros([2, 2]).assignFlat(arange(4)); // → f32 [[0, 1], [2, 3]]
   */
  assignFlat(source: Tensor): this {
    assignFlat("assignFlat", live("assignFlat", this), live("assignFlat", source));
    return this;
  }
  /**
   * Writes one value to every element, in place.
   *
   *
   * @param value converted to this dtype
   * @returns this tensor
   * @throws TensorError where this tensor is read-only
   * @example
   * const t = zeros([2, 3]);
   * t.slice(":", 1).fill(7);
   * t; // → f32 [[0, 7, 0], [0, 7, 0]]
   */
  fill(value: Scalar): this {
    assignAny("fill", this, value);
    return this;
  }

  /**
   * A dense copy.
   *
   *
   * @returns a new contiguous tensor
   * @example
   * const t = tensor([1, 2]);
   * const copy = t.clone();
   * t.fill(0);
   * copy; // → f32 [1, 2]
   */
  clone(): Tensor<D> {
    const of = live("clone", this);
    return wrap(copyTo("clone", of, of.dtype));
  }
  /**
   * This tensor if it is contiguous (another handle on it), else a dense copy: either has `data`.
   *
   * @returns a contiguous tensor, which may share this one's memory
   * @example
   * tensor([[1, 2], [3, 4]]).T.contiguous().strides; // → [2, 1]
   */
  contiguous(): Tensor<D> {
    return dense("contiguous", this);
  }
  /**
   * The elements converted. Floats become integers without what is behind the point and are held in the range; integers
   * wrap.
   *
   *
   * @param dtype of the result
   * @returns a new tensor; where it has this dtype already, another handle on this one
   * @example
   * tensor([1.7, -2.2]).to("i32"); // → i32 [1, -2]
   */
  to<E extends DType>(dtype: E): Tensor<E> {
    checkDType("to", dtype);
    const of = live("to", this);
    if ((dtype as DType) === of.dtype) return viewOf("to", this, (frame) => frame) as unknown as Tensor<E>;
    return wrap(copyTo("to", of, dtype, true));
  }

  /* Kernels --------------------------------------------------------------------------------------------- */

  /**
   * A function of every element, compiled to one loop.
   *
   *
   * @param fn takes a number, then the captured values; what it returns decides the dtype. One that cannot be compiled
   *   is called
   * @param options `dtype`, `out`, `compute`, and `with`: values the function is given by name
   * @returns a new tensor of this shape, or `out`
   * @example
   * tensor([-1, 2]).map((x) => Math.max(x, 0)); // → f32 [0, 2]
   * tensor([1, 2]).map((x, { k }) => x * k, { with: { k: 10 } }); // → f32 [10, 20]
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
    const { out, dtype, compute, tensor } = read;
    return wrapResult(elementwise("map", callable, [live("map", this)], out, dtype, compute), tensor);
  }
  /**
   * Folds axes with a function.
   *
   *
   * @param fn takes what came so far and an element, then the captured values
   * @param options `axis` (default all), `init`: what it starts from (default the first element), `keepdims`, `dtype`,
   *   `compute`, `with`, `associative`: parts may be folded side by side
   * @returns a new tensor without the folded axes
   * @throws TensorError where there is nothing to fold and no `init`
   * @example
   * tensor([[1, 5], [7, 3]]).reduce((a, x) => Math.max(a, x), { axis: 1 }); // → f32 [5, 7]
   */
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
  /**
   * Every step of a fold along one axis.
   *
   *
   * @param fn takes what came so far and an element, then the captured values
   * @param options `axis`, which a vector need not say; `init`, `dtype`, `compute`, `with`
   * @returns a new tensor of this shape
   * @example
   * tensor([1, 2, 3, 4]).scan((a, x) => a * x); // → f32 [1, 2, 6, 24]
   */
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
  /**
   * The matrix product of the last two axes; axes before them broadcast. A vector is a row on the left, a column on the
   * right.
   *
   *
   * @param other a tensor [..., k, m] or [k], in any layout
   * @param options `out`: the tensor to write to; `accumulate`: add to what it holds
   * @returns a new tensor [..., n, m] in the dtype both meet in, or `out`
   * @throws TensorError where the inner sizes differ or the batches do not broadcast
   * @example
   * tensor([[1, 2], [3, 4]]).matmul(tensor([[1], [1]])); // → f32 [[3], [7]]
   */
  matmul<E extends DType, F extends DType = Promote<D, E>>(
    other: Tensor<E>,
    options?: ProductOptions<F>,
  ): Tensor<NoInfer<F>> {
    const read = readOutput("matmul", options, ["out", "accumulate"]);
    return wrapResult(matmul(live("matmul", this), live("matmul", other), read), read.tensor) as never;
  }

  /* Named operations, as NumPy means them; every other is a function of the same form ----------------------- */

  /**
   * The sum, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([1, 2]).add(10); // → f32 [11, 12]
   */
  add<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("add", [this, other], options) as Tensor<F>;
  }
  /**
   * The difference, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([1, 2]).sub(tensor([[1], [2]])); // → f32 [[0, 1], [-1, 0]]
   */
  sub<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("sub", [this, other], options) as Tensor<F>;
  }
  /**
   * The product, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([1, 2]).mul(3); // → f32 [3, 6]
   */
  mul<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("mul", [this, other], options) as Tensor<F>;
  }
  /**
   * The quotient, element by element, also of integers.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2]).div(4); // → f32 [0.25, 0.5]
   */
  div<O extends Operand, E extends DType = Together<D, O>, F extends DType = Floated<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("div", [this, other], options) as Tensor<F>;
  }
  /**
   * What is left of a division, with the sign of the divisor.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([-7, 7]).remainder(3); // → f32 [2, 1]
   */
  remainder<O extends Operand, E extends DType = Together<D, O>, F extends DType = Counted<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("remainder", [this, other], options) as Tensor<F>;
  }
  /**
   * The quotient, rounded down.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([-7, 7]).floorDivide(2); // → f32 [-4, 3]
   */
  floorDivide<O extends Operand, E extends DType = Together<D, O>, F extends DType = Counted<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("floorDivide", [this, other], options) as Tensor<F>;
  }
  /**
   * To the power of another, element by element; integers stay integers.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([2, 3]).pow(2); // → f32 [4, 9]
   */
  pow<O extends Operand, E extends DType = Together<D, O>, F extends DType = Counted<E>>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("pow", [this, other], options) as Tensor<F>;
  }
  /**
   * The larger of two, element by element; NaN where one of them is.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([-1, 2]).maximum(0); // → f32 [0, 2]
   */
  maximum<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("maximum", [this, other], options) as Tensor<F>;
  }
  /**
   * The smaller of two, element by element; NaN where one of them is.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([-1, 2]).minimum(0); // → f32 [-1, 0]
   */
  minimum<O extends Operand, E extends DType = Together<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("minimum", [this, other], options) as Tensor<F>;
  }
  /**
   * Equal, element by element; a NaN equals nothing.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2]).equal(2); // → bool [false, true]
   */
  equal<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("equal", [this, other], options) as Tensor<F>;
  }
  /**
   * Not equal, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2]).notEqual(2); // → bool [true, false]
   */
  notEqual<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("notEqual", [this, other], options) as Tensor<F>;
  }
  /**
   * Less than another, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2]).less(2); // → bool [true, false]
   */
  less<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("less", [this, other], options) as Tensor<F>;
  }
  /**
   * Less than another or equal, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2, 3]).lessEqual(2); // → bool [true, true, false]
   */
  lessEqual<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("lessEqual", [this, other], options) as Tensor<F>;
  }
  /**
   * Greater than another, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2, 3]).greater(2); // → bool [false, false, true]
   */
  greater<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("greater", [this, other], options) as Tensor<F>;
  }
  /**
   * Greater than another or equal, element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([1, 2, 3]).greaterEqual(2); // → bool [false, true, true]
   */
  greaterEqual<F extends DType = "bool">(
    other: Operand,
    options?: NamedOptions<DType, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("greaterEqual", [this, other], options) as Tensor<F>;
  }
  /**
   * Are both not 0? Element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([0, 1]).logicalAnd(true); // → bool [false, true]
   */
  logicalAnd<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("logicalAnd", [this, other], options) as Tensor<F>;
  }
  /**
   * Is one of both not 0? Element by element.
   *
   * @param other a tensor or a scalar, broadcast with this one
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of the shape they broadcast to, or `out`
   * @example
   * tensor([0, 1]).logicalOr(false); // → bool [false, true]
   */
  logicalOr<F extends DType = "bool">(other: Operand, options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("logicalOr", [this, other], options) as Tensor<F>;
  }
  /**
   * Bits that both have; of bool, and.
   *
   * @param other a tensor of integers (or bool) or an integer, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([12, 10], { dtype: "u8" }).bitwiseAnd(6); // → u8 [4, 2]
   */
  bitwiseAnd<O extends Operand, E extends DType = Bits<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("bitwiseAnd", [this, other], options) as Tensor<F>;
  }
  /**
   * Bits that one of both has; of bool, or.
   *
   * @param other a tensor of integers (or bool) or an integer, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([12, 10], { dtype: "u8" }).bitwiseOr(1); // → u8 [13, 11]
   */
  bitwiseOr<O extends Operand, E extends DType = Bits<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("bitwiseOr", [this, other], options) as Tensor<F>;
  }
  /**
   * Bits that exactly one of both has; of bool, whether they differ.
   *
   * @param other a tensor of integers (or bool) or an integer, broadcast with this one
   * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([12, 10], { dtype: "u8" }).bitwiseXor(15); // → u8 [3, 5]
   */
  bitwiseXor<O extends Operand, E extends DType = Bits<D, O>, F extends DType = E>(
    other: O,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("bitwiseXor", [this, other], options) as Tensor<F>;
  }
  /**
   * Each element with the other sign; unsigned integers wrap round, bool is refused.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([1, -2]).neg(); // → f32 [-1, 2]
   */
  neg<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("neg", [this], options) as Tensor<F>;
  }
  /**
   * The distance from 0.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([1, -2]).abs(); // → f32 [1, 2]
   */
  abs<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("abs", [this], options) as Tensor<F>;
  }
  /**
   * -1, 0 or 1; NaN stays NaN.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([-5, 0, 2]).sign(); // → f32 [-1, 0, 1]
   */
  sign<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("sign", [this], options) as Tensor<F>;
  }
  /**
   * x·x, element by element.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([2, -3]).square(); // → f32 [4, 9]
   */
  square<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("square", [this], options) as Tensor<F>;
  }
  /**
   * 1 / x, element by element.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([2, 4]).reciprocal(); // → f32 [0.5, 0.25]
   */
  reciprocal<E extends DType = D, F extends DType = Floated<E>>(
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("reciprocal", [this], options) as Tensor<F>;
  }
  /**
   * max(x, 0); NaN stays NaN.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([-1, 2]).relu(); // → f32 [0, 2]
   */
  relu<E extends DType = D, F extends DType = Counted<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("relu", [this], options) as Tensor<F>;
  }
  /**
   * 1 / (1 + exp(-x)), from 0 to 1.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([0]).sigmoid(); // → f32 [0.5]
   */
  sigmoid<E extends DType = D, F extends DType = Floated<E>>(
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("sigmoid", [this], options) as Tensor<F>;
  }
  /**
   * The square root; NaN below 0.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([4, 9]).sqrt(); // → f32 [2, 3]
   */
  sqrt<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("sqrt", [this], options) as Tensor<F>;
  }
  /**
   * e to the power of x.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([0]).exp(); // → f32 [1]
   */
  exp<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("exp", [this], options) as Tensor<F>;
  }
  /**
   * The natural logarithm; -Infinity of 0, NaN below it.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([1, 0]).log(); // → f32 [0, -Infinity]
   */
  log<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("log", [this], options) as Tensor<F>;
  }
  /**
   * The sine of an angle in radians.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([0]).sin(); // → f32 [0]
   */
  sin<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("sin", [this], options) as Tensor<F>;
  }
  /**
   * The cosine of an angle in radians.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([0]).cos(); // → f32 [1]
   */
  cos<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("cos", [this], options) as Tensor<F>;
  }
  /**
   * The hyperbolic tangent, from -1 to 1.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape; floats keep their dtype, integers and bool give f64; or `out`
   * @example
   * tensor([0, Infinity]).tanh(); // → f32 [0, 1]
   */
  tanh<E extends DType = D, F extends DType = Floated<E>>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("tanh", [this], options) as Tensor<F>;
  }
  /**
   * The next whole number below, in the same dtype.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([1.5, -1.5]).floor(); // → f32 [1, -2]
   */
  floor<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("floor", [this], options) as Tensor<F>;
  }
  /**
   * The next whole number above, in the same dtype.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([1.5, -1.5]).ceil(); // → f32 [2, -1]
   */
  ceil<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("ceil", [this], options) as Tensor<F>;
  }
  /**
   * Without what is behind the point, in the same dtype.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([1.5, -1.5]).trunc(); // → f32 [1, -1]
   */
  trunc<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("trunc", [this], options) as Tensor<F>;
  }
  /**
   * To the nearest whole number, halves to even; the function `round` takes decimals.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([0.5, 1.5, 2.6]).round(); // → f32 [0, 2, 3]
   */
  round<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("round", [this], options) as Tensor<F>;
  }
  /**
   * Is it NaN? Never, of integers.
   *
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of this shape, or `out`
   * @example
   * tensor([1, NaN]).isnan(); // → bool [false, true]
   */
  isnan<F extends DType = "bool">(options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("isnan", [this], options) as Tensor<F>;
  }
  /**
   * Is it neither NaN nor infinite?
   *
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of this shape, or `out`
   * @example
   * tensor([1, NaN, Infinity]).isfinite(); // → bool [true, false, false]
   */
  isfinite<F extends DType = "bool">(options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("isfinite", [this], options) as Tensor<F>;
  }
  /**
   * Is it 0?
   *
   * @param options `out`: the tensor to write to
   * @returns a new bool tensor of this shape, or `out`
   * @example
   * tensor([0, 3]).logicalNot(); // → bool [true, false]
   */
  logicalNot<F extends DType = "bool">(options?: NamedOptions<DType, F>): Tensor<NoInfer<F>> {
    return namedOp("logicalNot", [this], options) as Tensor<F>;
  }
  /**
   * Every bit turned; of bool, not.
   *
   * @param options `dtype`: what elements are converted to first; `out`: the tensor to write to
   * @returns a new tensor of this shape and dtype, or `out`
   * @example
   * tensor([0, 255], { dtype: "u8" }).bitwiseNot(); // → u8 [255, 0]
   */
  bitwiseNot<E extends DType = D, F extends DType = E>(options?: NamedOptions<E, F>): Tensor<NoInfer<F>> {
    return namedOp("bitwiseNot", [this], options) as Tensor<F>;
  }
  /**
   * Held between two bounds; the function `clip` takes null for no bound.
   *
   *
   * @param low the lower bound, a tensor or a scalar
   * @param high the upper bound, which wins where they cross
   * @param options `dtype`: what all are converted to first; `out`: the tensor to write to
   * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
   * @example
   * tensor([-1, 0.5, 9]).clip(0, 1); // → f32 [0, 0.5, 1]
   */
  clip<A extends Operand, B extends Operand, E extends DType = Clipped<D, A, B>, F extends DType = E>(
    low: A,
    high: B,
    options?: NamedOptions<E, F>,
  ): Tensor<NoInfer<F>> {
    return namedOp("clip", [this, low, high], options) as Tensor<F>;
  }
  /**
   * The sum along axes, or of all elements; of nothing 0.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the fold and the
   *   result
   * @returns a new tensor without the folded axes; floats keep their dtype, integers become i64 or u64
   * @example
   * tensor([[1, 2], [3, 4]]).sum({ axis: 1 }); // → f32 [3, 7]
   */
  sum<E extends DType = Wide<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("sum", this, options) as Tensor<E>;
  }
  /**
   * The product along axes, or of all elements; of nothing 1.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the fold and the
   *   result
   * @returns a new tensor without the folded axes; floats keep their dtype, integers become i64 or u64
   * @example
   * tensor([[1, 2], [3, 4]]).prod(); // → f32 24
   */
  prod<E extends DType = Wide<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("prod", this, options) as Tensor<E>;
  }
  /**
   * The largest element along axes, or of all; NaN if there is one.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
   * @returns a new tensor of this dtype without the folded axes
   * @throws TensorError where there is nothing to fold
   * @example
   * tensor([[1, 9], [3, 4]]).max({ axis: 0 }); // → f32 [3, 9]
   */
  max<E extends DType = D>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("max", this, options) as Tensor<E>;
  }
  /**
   * The smallest element along axes, or of all; NaN if there is one.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
   * @returns a new tensor of this dtype without the folded axes
   * @throws TensorError where there is nothing to fold
   * @example
   * tensor([[1, 9], [3, 4]]).min(); // → f32 1
   */
  min<E extends DType = D>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return namedReduction("min", this, options) as Tensor<E>;
  }
  /**
   * Is any element along axes, or at all, not 0? Of nothing false.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
   * @returns a new bool tensor without the folded axes
   * @example
   * tensor([0, 0, 3]).any(); // → bool true
   */
  any(options?: AxisOptions): Tensor<"bool"> {
    return namedReduction("any", this, options) as Tensor<"bool">;
  }
  /**
   * Are all elements along axes, or at all, not 0? Of nothing true.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
   * @returns a new bool tensor without the folded axes
   * @example
   * tensor([[1, 1], [1, 0]]).all({ axis: 1 }); // → bool [true, false]
   */
  all(options?: AxisOptions): Tensor<"bool"> {
    return namedReduction("all", this, options) as Tensor<"bool">;
  }
  /**
   * The mean along axes, or of all elements, carried in f64; of nothing NaN.
   *
   * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
   * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
   * @example
   * tensor([[1, 2], [3, 4]]).mean({ axis: 0 }); // → f32 [2, 3]
   */
  mean<E extends DType = Floated<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>> {
    return wrap(mean(live("mean", this), options)) as Tensor as Tensor<E>;
  }
  /**
   * The mean square distance from the mean, in two passes carried in f64.
   *
   * @param options `axis`, `keepdims`, `dtype`; `ddof` (or `correction`): what is taken from the count that divides,
   *   default 0
   * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
   * @example
   * tensor([1, 2, 3, 4]).var(); // → f32 1.25
   */
  var<E extends DType = Floated<D>>(options?: VarOptions<E>): Tensor<NoInfer<E>> {
    return wrap(variance(live("var", this), options)) as Tensor as Tensor<E>;
  }
  /**
   * The square root of `var`.
   *
   * @param options `axis`, `keepdims`, `dtype`; `ddof` (or `correction`): what is taken from the count that divides,
   *   default 0
   * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
   * @example
   * tensor([1, 3]).std(); // → f32 1
   */
  std<E extends DType = Floated<D>>(options?: VarOptions<E>): Tensor<NoInfer<E>> {
    return wrap(std(live("std", this), options)) as Tensor as Tensor<E>;
  }
  /**
   * Position of the largest element along an axis, or in the flattened tensor; the first of equals, or of NaNs.
   *
   * @param options `axis`, default the flattened tensor; `keepdims`: it stays with size 1
   * @returns a new i64 tensor without the axis
   * @throws TensorError where there is nothing to choose from
   * @example
   * tensor([[1, 9], [8, 4]]).argmax({ axis: 1 }); // → i64 [1n, 0n]
   */
  argmax(options?: ArgOptions): Tensor<"i64"> {
    return wrap(argReduce("argmax", live("argmax", this), options)) as Tensor as Tensor<"i64">;
  }
  /**
   * Position of the smallest element along an axis, or in the flattened tensor; the first of equals, or of NaNs.
   *
   * @param options `axis`, default the flattened tensor; `keepdims`: it stays with size 1
   * @returns a new i64 tensor without the axis
   * @throws TensorError where there is nothing to choose from
   * @example
   * tensor([[1, 9], [8, 4]]).argmin().item(); // → 0
   */
  argmin(options?: ArgOptions): Tensor<"i64"> {
    return wrap(argReduce("argmin", live("argmin", this), options)) as Tensor as Tensor<"i64">;
  }
  /**
   * The sums of the first 1, 2, 3 … elements along an axis.
   *
   * @param options `axis`, which a vector need not say; `dtype` of the result
   * @returns a new tensor of this shape; floats keep their dtype, integers become i64 or u64
   * @throws TensorError where there are several axes and none is said
   * @example
   * tensor([[1, 2], [3, 4]]).cumsum({ axis: 1 }); // → f32 [[1, 3], [3, 7]]
   */
  cumsum<E extends DType = Wide<D>>(options?: CumulativeOptions<E>): Tensor<NoInfer<E>> {
    return wrap(namedScan("cumsum", live("cumsum", this), options)) as Tensor as Tensor<E>;
  }
  /**
   * The products of the first 1, 2, 3 … elements along an axis.
   *
   * @param options `axis`, which a vector need not say; `dtype` of the result
   * @returns a new tensor of this shape; floats keep their dtype, integers become i64 or u64
   * @throws TensorError where there are several axes and none is said
   * @example
   * tensor([1, 2, 3]).cumprod(); // → f32 [1, 2, 6]
   */
  cumprod<E extends DType = Wide<D>>(options?: CumulativeOptions<E>): Tensor<NoInfer<E>> {
    return wrap(namedScan("cumprod", live("cumprod", this), options)) as Tensor as Tensor<E>;
  }

  /* Leaving --------------------------------------------------------------------------------------------- */

  /**
   * The elements in nested arrays, one level an axis; a 0-d tensor gives its element. 64-bit integers are bigints.
   *
   *
   * @returns arrays of numbers, bigints or booleans: a copy
   * @throws TensorError for more than 2^28 elements
   * @example
   * const [[a, b]] = tensor([[1, 2], [3, 4]]).toArray();
   * [a, b]; // → [1, 2]
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
  /**
   * A copy of the elements in row-major order, outside the heap; f16 and bf16 as their raw bits.
   *
   *
   * @returns a typed array of this dtype
   * @example
   * tensor([[1, 2], [3, 4]]).T.toTypedArray(); // → [1, 3, 2, 4]
   */
  toTypedArray(): OwnArrayOf<D> {
    const { dtype, frame } = live("toTypedArray", this);
    const elements = dense("toTypedArray", this);
    const out = new dtypes[dtype].Array(sizeOf(frame.shape));
    (out as { set(from: unknown): void }).set(elements.data);
    elements.dispose();
    return out as unknown as OwnArrayOf<D>;
  }
  /**
   * What JSON.stringify takes: `fromJSON` reads it. Bigints, NaN and infinities are strings.
   *
   *
   * @returns the dtype, the shape and the elements in row-major order
   * @example
   * JSON.stringify(tensor([1, NaN])); // → {"dtype":"f32","shape":[2],"data":[1,"NaN"]}
   */
  toJSON(): { dtype: D; shape: readonly number[]; data: (number | boolean | string)[] } {
    const { dtype, frame } = live("toJSON", this);
    const values = sizeOf(frame.shape) === 0 ? [] : flatten(this.toArray());
    return { dtype, shape: frame.shape, data: values.map(jsonScalar) };
  }
  /** Along the first axis: views, or scalars of a vector. A 0-d tensor has no axis, and is not iterable: use item(). */
  get [Symbol.iterator](): () => IterableIterator<Tensor<D> | ItemOf<D>> {
    return (insideOf(this)?.frame.shape.length === 0 ? undefined : iterate) as typeof iterate<D>;
  }

  /**
   * A picture of the view over its memory, for people.
   *
   *
   * @returns several lines of text
   * @example
   * console.log(arange(4).slice("::2").layout());
   * // → view: shape [2], strides [2], offset 0
   * //
   * //   memory: 4 elements
   * //      0   1   2   3
   * //     [0]  1  [2]  3
   * //
   * //   view, each cell as value@position:
   * //      0@0  2@2
   */
  layout(): string {
    const of = live("layout", this);
    return drawView(of.frame, {
      elements: of.storage.bytes / of.frame.itemBytes,
      values: (byteOffset) =>
        formatValues(of.dtype, scalarView(of.frame, byteOffset), of.storage.reader(of.dtype)),
    });
  }

  /**
   * The dtype, the shape and the elements as text; many elements are elided.
   *
   *
   * @param options `threshold`, `edge`, `digits`, `lineWidth`: see `FormatOptions`
   * @returns several lines of text
   * @example
   * tensor([1.5, 2]).toString(); // → Tensor f32 [2]
   * //   [1.5, 2.0]
   */
  toString(options?: FormatOptions): string {
    return printed(this, options);
  }
  [inspect](): string {
    return printed(this);
  }
  /**
   * Text where text will do; a tensor is no number, and `t * 2` would be NaN.
   *
   * @param hint what the language asks for
   * @returns as `toString`
   * @throws TensorError where a number is asked for
   * @example
   * `${tensor([1.5, 2]).sum()}`; // → Tensor f32 []  3.5
   */
  [Symbol.toPrimitive](hint: string): string {
    if (hint !== "number") return printed(this);
    return fail(
      "value",
      "tensor",
      "a tensor is no number, and the language's operators do not compute with it.",
      "Use methods: t.mul(2), t.less(3); t.item() gives the number of a tensor that has one element.",
    );
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
 *
 * @param a anything
 * @param b anything
 * @returns undefined where one is no tensor
 * @example
 * tensorEquality(tensor([1, NaN]), tensor([1, NaN])); // → true
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

export function failForeign(operation: string, t: unknown): never {
  if (isDerived(t)) {
    fail(
      "value",
      operation,
      "expected a tensor, got a Proxy around one, or an object derived from one.",
      "Pass the tensor itself, for instance toRaw(t) where a framework has wrapped it.",
    );
  }
  if (isOfBlocks(t)) {
    fail(
      "value",
      operation,
      "expected a tensor, got a Quantised.",
      "Decode it with dequantise(). Of files only GGUF holds it as it is.",
    );
  }
  return fail("value", operation, `expected a tensor, got ${describe(t)}.`, "Make one with tensor(…).");
}

/** Does it say that it is one of strided/quantised, which is not known down here? A Proxy may refuse to say. */
export function isOfBlocks(t: unknown): boolean {
  try {
    return Object.prototype.toString.call(t) === "[object Quantised]";
  } catch {
    return false;
  }
}

/** A Proxy around a tensor, or an object that inherits from one: never a tensor. A Proxy may refuse to say what it is of. */
export function isDerived(t: unknown): boolean {
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
export const spread = (operation: string, name: string, given: readonly unknown[]): readonly number[] =>
  numberList(operation, name, given.length === 1 && typeof given[0] !== "number" ? given[0] : given);

const optionalAxes = (operation: string, axes: unknown) =>
  axes === undefined ? undefined : axisList(operation, axes);

/** Captured values, each read once, with tensors as tables that functions of an element can read. */
export function withTables(operation: string, given: Captures | undefined): Captures | undefined {
  if (given === undefined) return undefined;
  const read = readOptions(operation, given, "{ k: 0.01 }");
  const entries = Object.entries(read);
  const foreign = entries.find(
    ([, value]) => typeof value === "object" && !isTensor(value) && isDerived(value),
  );
  if (foreign !== undefined) failForeign(operation, foreign[1]);
  if (!entries.some(([, value]) => isTensor(value))) return read;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isTensor(value) ? tableOf(operation, value) : value]),
  );
}

/** The tensor as a table: that it lives is checked again at every use. */
function tableOf(operation: string, tensor: Tensor): Table {
  const { dtype, storage, frame } = live(operation, tensor);
  return new Table(tensor, dtype, frame.shape, viewWords(storage, frame), (use) => {
    const table = live(use, tensor);
    engine().recorder?.touched?.(use, table);
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

/** What operations take beside a tensor: another one, or a scalar, which is weak and takes the tensor's dtype. */
export type Operand = Tensor | number | bigint | boolean;
/** The options of operations that compute element by element. */
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
  for (let k = 0; k < operands.length; k++) {
    const x = operands[k];
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

export function namedOp(name: NamedOp, operands: readonly Operand[], options?: NamedOptions): Tensor {
  const read = readOutput(name, options, outputNames);
  const { tensors, scalars, kinds } = splitOperands(name, operands);
  const callable = namedCallable(name, kinds, scalars, read.dtype);
  return wrapResult(elementwise(name, callable, tensors, read.out), read.tensor);
}

export function namedReduction(name: Reduction, t: Tensor, options?: SumOptions): Tensor {
  return wrap(namedReduce(name, live(name, t), options));
}
