/** Functions of an element and where it stands: by its index, or by its neighbours. */

import { arange } from "../api.ts";
import { type DType, isFloat, type Returned } from "../dtype.ts";
import { describe, fail, list, TensorError } from "../errors.ts";
import { lowerStencil } from "../frontend/lower.ts";
import { isRefusal, refusalMessage } from "../frontend/refusal.ts";
import { captureValues } from "../frontend/template.ts";
import { isEffect } from "../ir/node.ts";
import { checkFunction, checkOptionalDType, readOptions } from "../ops/arguments.ts";
import { assign } from "../ops/copy.ts";
import type { Scalar } from "../ops/create.ts";
import { elementwise } from "../ops/elementwise.ts";
import { Callable, type Captures, callableOf, Definition, type ScalarFunction } from "../ops/function.ts";
import { allocate, filled } from "../ops/strided.ts";
import type { Captured, Strided } from "../run/call.ts";
import { live, liveTensor, stridedOf, type Tensor, withTables, wrap } from "../tensor.ts";
import { overlaps } from "../view/overlap.ts";
import { take } from "./indexing.ts";
import { type PadMode, pad } from "./pad.ts";
import { scoped } from "./scoped.ts";

/** The options of `mapIndex`. */
export interface MapIndexOptions<E extends DType = DType, W = Captures> {
  /** dtype of the result; default: what the function makes of the element's dtype. */
  readonly dtype?: E;
  /** Values the function is given by name, tensors among them, in its last parameter. */
  readonly with?: W;
}

/**
 * A function of each element and its index, one number an axis:
 *
 *     mapIndex(t, (x, i, j) => (i === j ? x : 0)); // the diagonal of a matrix
 *
 * Indices are numbers: beside floats they take the element's dtype at the end, beside integers they are i32.
 *
 * @param t a tensor of any layout
 * @param fn takes the element, one index an axis, then the captured values
 * @param options `dtype` of the result, `with`: values the function is given by name
 * @returns a new tensor of t's shape
 * @example
 * mapIndex(tensor([[1, 2], [3, 4]]), (x, i, j) => (i === j ? x : 0)); // → f32 [[1, 0], [0, 4]]
 */
export function mapIndex<D extends DType, R extends Scalar, E extends DType = Returned<R, D>>(
  t: Tensor<D>,
  fn: (x: number, ...index: number[]) => R,
  options?: MapIndexOptions<E, never>,
): Tensor<NoInfer<E>>;
export function mapIndex<
  D extends DType,
  W extends Captures,
  R extends Scalar,
  E extends DType = Returned<R, D>,
>(
  t: Tensor<D>,
  fn: (x: number, ...index: (number & W)[]) => R,
  options: MapIndexOptions<E, W>,
): Tensor<NoInfer<E>>;
export function mapIndex(t: Tensor, fn: ScalarFunction, given: MapIndexOptions = {}): Tensor {
  const op = "mapIndex";
  const options = readOptions(op, given, '{ dtype: "f64" }', ["dtype", "with"]);
  liveTensor(op, t);
  const asked = checkOptionalDType(op, options.dtype);
  const callable = callableOf(op, fn, withTables(op, options.with));
  const of = isFloat(t.dtype) ? "f64" : "i32";
  return scoped(op, () => {
    const indices = t.shape.map((n, d) =>
      arange(n, { dtype: of }).reshape(t.shape.map((_, k) => (k === d ? n : 1))),
    );
    const operands = [t, ...indices].map(stridedOf);
    const made =
      callable.template === null
        ? null
        : callable.program(
            operands.map((x) => x.dtype),
            undefined,
            op,
          );
    const natural = made?.dtype === "f64" && isFloat(t.dtype) ? t.dtype : undefined;
    const dtype = asked ?? natural;
    return wrap(elementwise(op, callable, operands, null, dtype));
  });
}

/** The options of `stencil`. */
export interface StencilOptions<E extends DType = DType, W = Captures> {
  /** What lies beyond the ends, as `pad` has it. Default "constant". */
  readonly edge?: PadMode;
  /** What "constant" has there; default 0. */
  readonly value?: Scalar;
  /** dtype of the result; default: what the function makes of the tensor's. */
  readonly dtype?: E;
  /** Neighbours are converted to it first: the function computes in it, whatever the tensor's dtype. */
  readonly compute?: DType;
  /** Values the function is given by name, tensors among them, in its last parameter. */
  readonly with?: W;
}

/** A function of tensors made by `stencil`. */
export interface Stencil<E extends DType | null = null> {
  <D extends DType>(t: Tensor<D>): Tensor<E extends DType ? E : DType>;
  /** As calling it, but the result is written into an existing tensor. */
  into<F extends DType>(out: Tensor<F>, t: Tensor): Tensor<F>;
  /** The offsets of the elements it asks for, in the order it does. */
  readonly offsets: readonly (readonly number[])[];
}

/**
 * A function of each element's neighbours, by their offsets, one number an axis:
 *
 *     const relax = stencil((at) => 0.25 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)), { edge: "reflect" });
 *     relax(grid);
 *
 * Compiled as any kernel; the elements away from the edges are computed where they lie, without a test. Sums of bytes wrap: for
 * pixels say what to compute in, `{ compute: "f32" }`.
 *
 * @param fn takes `at(offset, …)`, which gives a neighbour, then the captured values
 * @param options `edge`: what lies beyond the ends, default "constant"; `value`, `dtype`, `compute`, `with`
 * @returns a function of tensors
 * @throws TensorError where the function cannot be compiled
 * @example
 * const mean = stencil((at) => (at(-1) + at(0) + at(1)) / 3);
 * mean(tensor([3, 3, 6])); // → f32 [2, 4, 3]
 */
export function stencil<E extends DType, W extends Captures>(
  fn: (at: (...offset: number[]) => number, captured: W) => Scalar,
  options: StencilOptions<E, W> & { readonly dtype: E },
): Stencil<E>;
export function stencil<W extends Captures>(
  fn: (at: (...offset: number[]) => number, captured: W) => Scalar,
  options?: StencilOptions<DType, W>,
): Stencil;
export function stencil(fn: ScalarFunction, given: StencilOptions = {}): Stencil {
  const op = "stencil";
  checkFunction(op, fn, "stencil((at) => at(-1) + at(1))");
  const options = readOptions(op, given, '{ edge: "wrap" }', ["edge", "value", "dtype", "compute", "with"]);
  const { edge = "constant", value = 0 } = options;
  if (edge !== "constant" && !(typeof edge === "string" && Object.hasOwn(continued, edge))) {
    fail(
      "value",
      op,
      `edge is ${describe(edge)}.`,
      `Use one of constant ${Object.keys(continued).join(" ")}.`,
    );
  }
  const dtype = checkOptionalDType(op, options.dtype);
  const captures = withTables(op, options.with) ?? {};
  const made = lowerStencil(fn, captures);
  if (isRefusal(made)) throw new TensorError("kernel", refusalMessage(op, made));
  const { template, offsets } = made;
  const values = captureValues(template, captures) as Captured[];
  const compute = checkOptionalDType(op, options.compute);
  const callable = Callable.of(new Definition(template), values, captures).computed(compute);
  const mayFail = template.nodes.some(isEffect);
  const work: Work = { callable, offsets, edge, value, dtype };
  const run = (t: Tensor): Tensor => {
    checkRank(live(op, t), offsets);
    return scoped(op, () => {
      const types = offsets.map(() => t.dtype);
      const result = callable.program(types, dtype, op)!.dtype;
      const out = allocate(op, result, t.shape);
      return wrap(filled(out, () => fill(work, t, out)));
    });
  };
  const into = (out: Tensor, t: Tensor): Tensor => {
    const to = live(op, out);
    const from = live(op, t);
    checkRank(from, offsets);
    if (list(out.shape) !== list(t.shape)) {
      fail(
        "shape",
        op,
        `the output is ${list(out.shape)}, the tensor ${list(t.shape)}.`,
        "They have one shape.",
      );
    }
    scoped(op, () => {
      const isShared = to.storage === from.storage && overlaps(to.frame, from.frame);
      // What fails halfway must change nothing.
      if (isShared || mayFail) assign(op, to, stridedOf(run(t)));
      else fill(work, t, to);
    });
    return out;
  };
  return Object.freeze(Object.assign(run, { into, offsets })) as Stencil;
}

interface Work {
  readonly callable: Callable;
  readonly offsets: readonly (readonly number[])[];
  readonly edge: PadMode;
  readonly value: Scalar;
  readonly dtype: DType | undefined;
}

/** Where an index beyond the ends of an axis of n leads. */
const continued: Record<Exclude<PadMode, "constant">, (i: number, n: number) => number> = {
  edge: (i, n) => Math.min(n - 1, Math.max(0, i)),
  reflect: (i, n) => (n === 1 ? 0 : n - 1 - Math.abs(n - 1 - modulo(i, 2 * n - 2))),
  symmetric: (i, n) => {
    const x = modulo(i, 2 * n);
    return x < n ? x : 2 * n - 1 - x;
  },
  wrap: (i, n) => modulo(i, n),
};

const modulo = (i: number, n: number) => ((i % n) + n) % n;

function checkRank({ frame }: Strided, offsets: readonly (readonly number[])[]): void {
  const rank = frame.shape.length;
  const [first] = offsets;
  if (rank === first.length) return;
  fail(
    "shape",
    "stencil",
    `the tensor is ${list(frame.shape)}, the stencil has offsets of ${first.length} ${first.length === 1 ? "axis" : "axes"}.`,
    "Give at(…) an offset for each axis.",
  );
}

/** A box of the output: where it begins and ends along each axis. */
type Box = readonly (readonly [from: number, to: number])[];

/** The inner box is computed on views of the tensor, the boxes around it on small copies that go on beyond the ends. */
function fill(work: Work, t: Tensor, out: Strided): void {
  const { offsets } = work;
  const low = t.shape.map((_, d) => Math.min(0, ...offsets.map((o) => o[d])));
  const high = t.shape.map((_, d) => Math.max(0, ...offsets.map((o) => o[d])));
  for (const box of boxesOf(t.shape, low, high)) {
    const around = box.map(([from, to], d) => [from + low[d], to + high[d]] as const);
    const source = regionOf(work, t, around);
    const operands = offsets.map((o) => {
      const items = box.map(([from, to], d) => {
        const begin = o[d] - low[d];
        return `${begin}:${begin + to - from}`;
      });
      return stridedOf(source.slice(...items));
    });
    const section = sectionOf(out, box);
    elementwise("stencil", work.callable, operands, section, work.dtype);
  }
}

/** The inner box first, then for each axis what is left before and behind it. */
function boxesOf(shape: readonly number[], low: readonly number[], high: readonly number[]): Box[] {
  const boxes: Box[] = [];
  const whole: Box = shape.map((n) => [0, n]);
  const inner = shape.map((n, d): readonly [number, number] => {
    const from = Math.min(n, -low[d]);
    return [from, Math.max(from, n - high[d])];
  });
  boxes.push(inner);
  for (let d = 0; d < shape.length; d++) {
    const rest = (own: readonly [number, number]): Box =>
      whole.map((all, k) => (k < d ? inner[k] : k === d ? own : all));
    boxes.push(rest([0, inner[d][0]]), rest([inner[d][1], shape[d]]));
  }
  return boxes.filter((box) => box.every(([from, to]) => to > from));
}

/** The elements from … to along each axis, also where they lie beyond the ends. */
function regionOf({ edge, value }: Work, t: Tensor, around: Box): Tensor {
  if (edge === "constant") {
    const clamp = (i: number, n: number) => Math.min(n, Math.max(0, i));
    const within = around.map(([from, to], d) => [clamp(from, t.shape[d]), clamp(to, t.shape[d])] as const);
    const part = t.slice(...within.map(([from, to]) => `${from}:${to}`));
    const widths = around.map(([from, to], d): [number, number] => {
      const before = Math.max(0, Math.min(to, 0) - from);
      return [before, to - from - before - (within[d][1] - within[d][0])];
    });
    const isInside = widths.every(([a, b]) => a === 0 && b === 0);
    return isInside ? part : pad(part, widths, { value });
  }
  const rule = continued[edge];
  return around.reduce((part: Tensor, [from, to], d) => {
    const n = t.shape[d];
    if (from >= 0 && to <= n) return part.slice(...t.shape.map((_, k) => (k === d ? `${from}:${to}` : ":")));
    const indices = Array.from({ length: to - from }, (_, i) => rule(from + i, n));
    return take(part, indices, { axis: d });
  }, t);
}

/** A box of the output, as an output. */
function sectionOf(out: Strided, box: Box): Strided {
  const { frame } = out;
  const offset = box.reduce((at, [from], d) => at + from * frame.strides[d], frame.offset);
  const shape = box.map(([from, to]) => to - from);
  return { ...out, frame: { ...frame, shape, offset } };
}
