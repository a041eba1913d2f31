/**
 * Pooling, as torch has it: the largest element or the mean of every window. The windows are a view (slidingWindow, then
 * every stride-th of them and every dilation-th element), which the compiled reductions fold as it lies. Only padding
 * copies the input.
 */
import { full, scope } from "../api.ts";
import { type DType, dtypes, type Floated, isFloat } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import { checkFlag, readOptions, snapshot } from "../ops/arguments.ts";
import { elementwise } from "../ops/elementwise.ts";
import { Callable, Definition } from "../ops/function.ts";
import { tellCopy } from "../ops/tell.ts";
import { liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { placesOf } from "../view/view.ts";
import { type PerAxis, perAxis } from "./convolution.ts";
import { scopedAs } from "./scoped.ts";

interface PoolOptions {
  /** Steps from one window to the next; default the kernel's size, so that windows touch. */
  readonly stride?: PerAxis;
  /** Elements before and after each axis that no window counts; at most half a window. Default 0. */
  readonly padding?: PerAxis;
  /** A last window that begins inside and ends outside counts too. */
  readonly ceilMode?: boolean;
}
/** The options of `maxPool1d` and `maxPool2d`. */
export interface MaxPoolOptions extends PoolOptions {
  /** Steps from one element of a window to the next; default 1. */
  readonly dilation?: PerAxis;
}
/** The options of `avgPool1d` and `avgPool2d`. */
export interface AvgPoolOptions extends PoolOptions {
  /** Does the padding, as zeros, count in the mean? Default true. */
  readonly countIncludePad?: boolean;
}

/**
 * x [N, C, L] or [C, L]: the largest element of each window; NaN if there is one.
 *
 * @param x the signal, a batch of them or one
 * @param kernel the window's size
 * @param options `stride` (default: the window's size), `padding`, `dilation`
 * @returns a new tensor of x's dtype
 * @example
 * maxPool1d(tensor([[1, 3, 2, 4]]), 2); // → f32 [[3, 4]]
 */
export function maxPool1d<D extends DType>(
  x: Tensor<D>,
  kernel: PerAxis,
  options: MaxPoolOptions = {},
): Tensor<D> {
  return maxPool("maxPool1d", 1, x, kernel, options) as Tensor<D>;
}
/**
 * The largest element of each window of pictures [N, C, H, W] or [C, H, W]; NaN if there is one.
 *
 * @param x the picture, a batch of them or one
 * @param kernel the window's size, or one an axis
 * @param options `stride` (default: the window's size), `padding`, `dilation`
 * @returns a new tensor of x's dtype
 * @example
 * maxPool2d(tensor([[[1, 3], [2, 4]]]), 2); // → f32 [[[4]]]
 */
export function maxPool2d<D extends DType>(
  x: Tensor<D>,
  kernel: PerAxis,
  options: MaxPoolOptions = {},
): Tensor<D> {
  return maxPool("maxPool2d", 2, x, kernel, options) as Tensor<D>;
}
/**
 * x [N, C, L] or [C, L]: the mean of each window.
 *
 * @param x the signal, a batch of them or one
 * @param kernel the window's size
 * @param options `stride` (default: the window's size), `padding`, `countIncludePad`
 * @returns a new tensor; integers give f64
 * @example
 * avgPool1d(tensor([[1, 3, 2, 4]]), 2); // → f32 [[2, 3]]
 */
export function avgPool1d<D extends DType>(
  x: Tensor<D>,
  kernel: PerAxis,
  options: AvgPoolOptions = {},
): Tensor<Floated<D>> {
  return avgPool("avgPool1d", 1, x, kernel, options) as Tensor<Floated<D>>;
}
/**
 * The mean of each window of pictures [N, C, H, W] or [C, H, W].
 *
 * @param x the picture, a batch of them or one
 * @param kernel the window's size, or one an axis
 * @param options `stride` (default: the window's size), `padding`, `countIncludePad`
 * @returns a new tensor; integers give f64
 * @example
 * avgPool2d(tensor([[[1, 3], [2, 4]]]), 2); // → f32 [[[2.5]]]
 */
export function avgPool2d<D extends DType>(
  x: Tensor<D>,
  kernel: PerAxis,
  options: AvgPoolOptions = {},
): Tensor<Floated<D>> {
  return avgPool("avgPool2d", 2, x, kernel, options) as Tensor<Floated<D>>;
}

/** What each of the last axes does. */
interface PoolAxis {
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
  readonly dilation: number;
  /** From a window's first element to its last, and one more. */
  readonly span: number;
  readonly before: number;
  readonly after: number;
  readonly out: number;
}

function planPool(
  operation: string,
  rank: number,
  x: Tensor,
  kernel: PerAxis,
  options: MaxPoolOptions & AvgPoolOptions,
  names: readonly string[],
): PoolAxis[] {
  options = readOptions(operation, options, "{ stride: 2 }", names);
  if (x.rank !== rank + 1 && x.rank !== rank + 2) {
    fail(
      "shape",
      operation,
      `the input is ${list(x.shape)}.`,
      `It must be ${rank === 1 ? "[batch, channels, length]" : "[batch, channels, height, width]"}, or the same without the batch.`,
    );
  }
  for (const name of ["ceilMode", "countIncludePad"] as const) {
    checkFlag(operation, name, options[name]);
  }
  const kernels = perAxis(operation, "the kernel", kernel, rank, 1);
  const strides = perAxis(operation, "stride", options.stride ?? kernel, rank, 1);
  const padding = perAxis(operation, "padding", options.padding ?? 0, rank, 0);
  const dilations = perAxis(operation, "dilation", options.dilation ?? 1, rank, 1);
  return kernels.map((k, d) => {
    const axis = { size: x.shape[x.rank - rank + d], kernel: k, stride: strides[d], dilation: dilations[d] };
    return planAxis(operation, axis, padding[d], options.ceilMode ?? false);
  });
}

function planAxis(
  operation: string,
  axis: Pick<PoolAxis, "size" | "kernel" | "stride" | "dilation">,
  padding: number,
  ceilMode: boolean,
): PoolAxis {
  const { size, stride } = axis;
  const span = axis.dilation * (axis.kernel - 1) + 1;
  if (padding > span / 2) {
    fail(
      "value",
      operation,
      `padding ${padding} for a window of ${span}.`,
      "The padding is at most half a window, so that every window has an element.",
    );
  }
  const room = size + 2 * padding - span;
  let out = (ceilMode ? Math.ceil(room / stride) : Math.floor(room / stride)) + 1;
  // A window that would begin behind the last element does not count.
  if (ceilMode && (out - 1) * stride >= size + padding) out--;
  if (out < 1 || size === 0) {
    fail(
      "shape",
      operation,
      `a window of ${span} does not fit into ${size} and padding ${padding} on both sides.`,
      "Use a smaller kernel, or more padding.",
    );
  }
  const after = Math.max(0, (out - 1) * stride + span - size - padding);
  return { ...axis, span, before: padding, after, out };
}

function maxPool(
  operation: string,
  rank: number,
  x: Tensor,
  kernel: PerAxis,
  options: MaxPoolOptions,
): Tensor {
  kernel = snapshot(operation, "the kernel", kernel);
  options = readOptions(operation, options, "{ stride: 2 }");
  const t = liveTensor(operation, x);
  const axes = planPool(operation, rank, t, kernel, options, ["stride", "padding", "ceilMode", "dilation"]);
  const least = isFloat(t.dtype) ? Number.NEGATIVE_INFINITY : dtypes[t.dtype].min;
  return scope(() => largestOf(operation, windows(operation, t, axes, least), rank));
}

/** Windows of so many places, and so many windows, are compared place by place: loops inside of windows would be short. */
const MOST_PLACES = 9;
const LEAST_WINDOWS = 1024;

function largestOf(operation: string, t: Tensor, rank: number): Tensor {
  const folded = foldedAxes(rank);
  const axes = folded.map((d) => d + t.rank);
  const places = sizeOf(axes.map((d) => t.shape[d]));
  if (places > MOST_PLACES || t.size / places < LEAST_WINDOWS) return t.max({ axis: folded });
  const of = stridedOf(t);
  const run = () => {
    const parts = placesOf(of.frame, axes).map((frame) => ({ ...of, frame }));
    return wrap(elementwise(operation, new Callable(largest(places)), parts));
  };
  return scopedAs(operation, [t], { axes }, run, "largest of windows");
}

const largests = new Map<number, Definition>();
/** The largest of so many operands. */
function largest(count: number): Definition {
  let made = largests.get(count);
  if (made === undefined) {
    const t = new TemplateBuilder();
    const all = Array.from({ length: count }, (_, i) => t.input(i));
    const result = all.reduce((a, b) => t.op("max", [a, b]));
    made = new Definition(t.finish(result, { inputs: count, name: "largest" }));
    largests.set(count, made);
  }
  return made;
}

function avgPool(
  operation: string,
  rank: number,
  x: Tensor,
  kernel: PerAxis,
  options: AvgPoolOptions,
): Tensor {
  kernel = snapshot(operation, "the kernel", kernel);
  options = readOptions(operation, options, "{ stride: 2 }");
  const t = liveTensor(operation, x);
  const names = ["stride", "padding", "ceilMode", "countIncludePad"];
  const axes = planPool(operation, rank, t, kernel, options, names);
  const result: DType = isFloat(t.dtype) ? t.dtype : "f64";
  // Half floats are summed and divided in f32, and rounded once.
  const dtype: DType = dtypes[result].bytes === 2 ? "f32" : result;
  return scope(() => {
    const sums = windows(operation, t, axes, 0).sum({ axis: foldedAxes(rank), dtype });
    const counts = axes.map((axis) => countsOf(axis, options.countIncludePad ?? true));
    let count: Tensor | number = 1;
    counts.forEach((list, d) => {
      const same = list.every((n) => n === list[0]);
      const column = () => vector(list, dtype).reshape(-1, ...new Array(rank - 1 - d).fill(1));
      const by: Tensor | number = same ? list[0] : column();
      count = product(count, by);
    });
    return sums.div(count).to(result);
  });
}

const foldedAxes = (rank: number) => Array.from({ length: rank }, (_, d) => d - rank);

function product(a: Tensor | number, b: Tensor | number): Tensor | number {
  if (typeof a === "number") return typeof b === "number" ? a * b : b.mul(a);
  return a.mul(b);
}

function vector(values: readonly number[], dtype: DType): Tensor {
  const t = full([values.length], 0, { dtype });
  t.assign(values);
  return t;
}

/** By how many elements each window's sum is divided along one axis: those inside, with or without the padding. */
function countsOf({ size, kernel, stride, before, out }: PoolAxis, withPadding: boolean): number[] {
  return Array.from({ length: out }, (_, i) => {
    const start = i * stride - before;
    const end = Math.min(start + kernel, size + before);
    return withPadding ? end - start : Math.min(end, size) - Math.max(start, 0);
  });
}

/** Every window as the last axes of a view of x, with `fill` around x where windows reach beyond it. */
function windows(operation: string, x: Tensor, axes: readonly PoolAxis[], fill: number | bigint): Tensor {
  const first = x.rank - axes.length;
  const t = axes.some(({ before, after }) => before + after > 0) ? padded(operation, x, axes, fill) : x;
  const spans = axes.map(({ span }) => span);
  const where = axes.map((_, d) => first + d);
  const leading = new Array(first).fill(":");
  const steps = axes.map(({ out, stride }) => [0, (out - 1) * stride + 1, stride] as const);
  const inside = axes.map(({ dilation }) => `::${dilation}`);
  return t.slidingWindow(spans, where).slice(...leading, ...steps, ...inside);
}

function padded(operation: string, x: Tensor, axes: readonly PoolAxis[], fill: number | bigint): Tensor {
  const first = x.rank - axes.length;
  const shape = [...x.shape.slice(0, first), ...axes.map((a) => a.before + a.size + a.after)];
  const out = full(shape, fill, { dtype: x.dtype });
  tellCopy(
    operation,
    stridedOf(out).storage.bytes,
    "windows reach beyond the input, so it is copied with a margin",
  );
  const middle = axes.map(({ before, size }) => [before, before + size] as const);
  out.slice(...new Array(first).fill(":"), ...middle).assign(x);
  return out;
}
