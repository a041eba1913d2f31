/** Joining and repeating: the output is allocated once, and every part is one strided copy into its place. */
import { checkDType, type DType, isInteger, promoteAll } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { numberList, readOptions, snapshot } from "../ops/arguments.ts";
import { assign } from "../ops/copy.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate, filled } from "../ops/strided.ts";
import { joinRoutine } from "../routines/index.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, type Joined, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { checkShape, normalizeAxis, sizeOf } from "../view/layout.ts";
import { contiguousView, expandDims as expandView, type View } from "../view/view.ts";
import { take } from "./indexing.ts";
import { atleast1d, atleast2d, rangeOf, tensorList } from "./manipulate.ts";
import { named } from "./scoped.ts";

/** The options of `concat`. */
export interface ConcatOptions<E extends DType = DType> {
  /** Where they are joined, default 0; null: all elements of each, in row-major order. */
  readonly axis?: number | null;
  /** Default: what the dtypes promote to. */
  readonly dtype?: E;
}

/**
 * One after the other along an axis that is there.
 *
 * @param tensors one or more, of the same sizes along all other axes
 * @param options `axis`, default 0, null: all elements of each; `dtype` of the result
 * @returns a new tensor of the dtype they meet in
 * @throws TensorError where other sizes differ
 * @example
 * concat([tensor([[1, 2]]), tensor([[3, 4]])]); // → f32 [[1, 2], [3, 4]]
 */
export function concat<const T extends readonly Tensor[], E extends DType = Joined<T>>(
  tensors: T,
  options: ConcatOptions<E> = {},
): Tensor<NoInfer<E>> {
  const op = "concat";
  options = readOptions(op, options, "{ axis: 1 }", ["axis", "dtype"]);
  const all = tensorList(op, tensors);
  if (options.axis === null) return flatJoin(op, all, options.dtype) as Tensor<E>;
  const axis = normalizeAxis(op, options.axis ?? 0, rankOf(op, all));
  const { shape } = all[0];
  for (const [i, t] of all.entries()) {
    if (t.rank === shape.length && t.shape.every((n, d) => d === axis || n === shape[d])) continue;
    fail(
      "shape",
      op,
      `tensor ${i} is ${list(t.shape)}, tensor 0 is ${list(shape)}.`,
      `Beside axis ${axis}, all sizes must agree.`,
    );
  }
  return join(
    op,
    all.map((t) => stridedOf(t).frame),
    all.map(stridedOf),
    axis,
    options.dtype,
  ) as Tensor<E>;
}

function rankOf(op: string, all: readonly Tensor[]): number {
  if (all[0].rank > 0) return all[0].rank;
  return fail("axis", op, "a 0-d tensor has no axis to join along.", "Use stack, or { axis: null }.");
}

/**
 * One beside the other along a new axis.
 *
 * @param tensors one or more, of one shape
 * @param options `axis`: where the new one is, default 0; `dtype` of the result
 * @returns a new tensor with one axis more
 * @throws TensorError where shapes differ
 * @example
 * stack([tensor([1, 2]), tensor([3, 4])], { axis: 1 }); // → f32 [[1, 3], [2, 4]]
 */
export function stack<const T extends readonly Tensor[], E extends DType = Joined<T>>(
  tensors: T,
  options: { readonly axis?: number; readonly dtype?: E } = {},
): Tensor<NoInfer<E>> {
  const op = "stack";
  options = readOptions(op, options, "{ axis: 1 }", ["axis", "dtype"]);
  const all = tensorList(op, tensors);
  const { shape } = all[0];
  const wrong = all.findIndex((t) => t.rank !== shape.length || t.shape.some((n, d) => n !== shape[d]));
  if (wrong >= 0) {
    fail(
      "shape",
      op,
      `tensor ${wrong} is ${list(all[wrong].shape)}, tensor 0 is ${list(shape)}.`,
      "All shapes must be equal.",
    );
  }
  const axis = normalizeAxis(op, options.axis ?? 0, shape.length + 1);
  const frames = all.map((t) => expandView(stridedOf(t).frame, axis));
  return join(op, frames, all.map(stridedOf), axis, options.dtype) as Tensor<E>;
}

/**
 * Rows upon rows: vectors count as rows.
 *
 * @param tensors one or more
 * @returns a new tensor of the dtype they meet in
 * @example
 * vstack([tensor([1, 2]), tensor([3, 4])]); // → f32 [[1, 2], [3, 4]]
 */
export const vstack = <const T extends readonly Tensor[]>(tensors: T): Tensor<Joined<T>> =>
  joinViews("vstack", tensors, atleast2d, () => 0) as never;
/**
 * Side by side: along the second axis, vectors along their only one.
 *
 * @param tensors one or more
 * @returns a new tensor of the dtype they meet in
 * @example
 * hstack([tensor([1, 2]), tensor([3])]); // → f32 [1, 2, 3]
 */
export const hstack = <const T extends readonly Tensor[]>(tensors: T): Tensor<Joined<T>> =>
  joinViews("hstack", tensors, atleast1d, (rank) => (rank === 1 ? 0 : 1)) as never;

function joinViews(
  op: string,
  tensors: readonly Tensor[],
  view: (t: Tensor) => Tensor,
  axis: (rank: number) => number,
): Tensor {
  const parts = tensorList(op, tensors).map(view);
  try {
    return named(op, () => concat(parts, { axis: axis(parts[0].rank) }));
  } finally {
    for (const part of parts) part.dispose();
  }
}

function dtypeFor(op: string, all: readonly Strided[], dtype?: DType): DType {
  return dtype === undefined ? promoteAll(all.map((t) => t.dtype)) : checkDType(op, dtype);
}

function join(
  op: string,
  frames: readonly View[],
  of: readonly Strided[],
  axis: number,
  dtype?: DType,
): Tensor {
  const length = frames.reduce((sum, v) => sum + v.shape[axis], 0);
  const shape = frames[0].shape.map((n, d) => (d === axis ? length : n));
  const out = allocate(op, dtypeFor(op, of, dtype), shape);
  let start = 0;
  const parts = frames.map((frame, i) => {
    const to = { ...out, frame: rangeOf(out.frame, axis, start, frame.shape[axis]) };
    start += frame.shape[axis];
    return { to, from: { ...of[i], frame } };
  });
  const fill = () => {
    const params = { to: parts.map((p) => p.to.frame) };
    const asked = { operation: op, params, inputs: parts.map((p) => p.from), outs: [out] };
    if (!runRoutine(joinRoutine, asked)) for (const { to, from } of parts) assign(op, to, from);
  };
  return wrap(filled(out, fill));
}

/** Elements in row-major order, tensor after tensor. */
function flatJoin(op: string, all: readonly Tensor[], dtype?: DType): Tensor {
  const out = allocate(op, dtypeFor(op, all.map(stridedOf), dtype), [
    all.reduce((sum, t) => sum + t.size, 0),
  ]);
  return wrap(
    filled(out, () => {
      let start = 0;
      for (const t of all) {
        const line = rangeOf(out.frame, 0, start, t.size);
        assign(op, { ...out, frame: shaped(line, t.shape) }, stridedOf(t));
        start += t.size;
      }
    }),
  );
}

/** A dense line in another shape. */
const shaped = (line: View, shape: readonly number[]): View =>
  contiguousView(shape, line.itemBytes, line.offset);

/* Repeating -------------------------------------------------------------------------------------------- */

/**
 * The whole tensor again and again: reps times along each axis; missing axes are added in front.
 *
 * @param t a tensor of any layout
 * @param reps how often along each axis
 * @returns a new tensor of t's dtype
 * @example
 * tile(tensor([1, 2]), 2); // → f32 [1, 2, 1, 2]
 */
export function tile<D extends DType>(t: Tensor<D>, reps: number | readonly number[]): Tensor<D> {
  const op = "tile";
  const given = typeof reps === "number" ? [reps] : numberList(op, "reps", reps);
  liveTensor(op, t);
  for (const r of given) checkCount(op, r);
  const rank = Math.max(t.rank, given.length);
  const times = [...new Array<number>(rank - given.length).fill(1), ...given];
  const sizes = [...new Array<number>(rank - t.rank).fill(1), ...t.shape];
  const strides = [...new Array<number>(rank - t.rank).fill(0), ...stridedOf(t).frame.strides];
  const out = allocate(
    op,
    t.dtype,
    sizes.map((n, d) => n * times[d]),
  );
  // Every axis as two, [times, size]: the source has only the second of them.
  const pairs = sizes.flatMap((n, d) => [times[d], n]);
  const source: View = {
    ...stridedOf(t).frame,
    shape: sizes.flatMap((n) => [1, n]),
    strides: strides.flatMap((s) => [0, s]),
  };
  return wrap(filled(out, () => pairwise(op, out, pairs, stridedOf(t), source)));
}

/**
 * Every element (or slice along the axis) so many times in place: one count for all, or one for each.
 *
 * @param t a tensor of any layout
 * @param repeats one count for all, or one for each element along the axis
 * @param options `axis`; default: the elements in row-major order
 * @returns a new tensor of t's dtype
 * @example
 * repeat(tensor([1, 2]), [1, 3]); // → f32 [1, 2, 2, 2]
 */
export function repeat<D extends DType>(
  t: Tensor<D>,
  repeats: number | readonly number[] | Tensor,
  options: { readonly axis?: number } = {},
): Tensor<D> {
  const op = "repeat";
  repeats = snapshot(op, "repeats", repeats);
  options = readOptions(op, options, "{ axis: 0 }", ["axis"]);
  liveTensor(op, t);
  if (options.axis === undefined && t.rank !== 1) {
    const flat = t.reshape(-1);
    try {
      return repeat(flat, repeats, { axis: 0 });
    } finally {
      flat.dispose();
    }
  }
  const axis = normalizeAxis(op, options.axis ?? 0, t.rank);
  if (typeof repeats !== "number") return repeatEach(op, t, countList(op, repeats), axis);
  checkCount(op, repeats);
  const shape = t.shape.map((n, d) => (d === axis ? n * repeats : n));
  const out = allocate(op, t.dtype, shape);
  const pairs = [...t.shape.slice(0, axis + 1), repeats, ...t.shape.slice(axis + 1)];
  return wrap(
    filled(out, () => pairwise(op, out, pairs, stridedOf(t), expandView(stridedOf(t).frame, axis + 1))),
  );
}

/** The dense output, seen with more axes, is the source broadcast. */
function pairwise(op: string, out: Strided, shape: readonly number[], t: Strided, source: View): void {
  checkShape(op, shape);
  if (sizeOf(shape) === 0) return;
  assign(op, { ...out, frame: shaped(out.frame, shape) }, { ...t, frame: source });
}

function repeatEach<D extends DType>(
  op: string,
  t: Tensor<D>,
  counts: readonly number[],
  axis: number,
): Tensor<D> {
  const size = t.shape[axis];
  if (counts.length !== size && counts.length !== 1) {
    fail(
      "shape",
      op,
      `${counts.length} counts for axis ${axis} of size ${size}.`,
      "Give one count, or one for each index.",
    );
  }
  if (counts.length === 1) return repeat(t, counts[0], { axis });
  const total = counts.reduce((a, b) => a + b, 0);
  // Is there room for the result? Its index takes a while to make.
  allocate(op, t.dtype, t.shape.with(axis, total)).storage.release();
  const index = wrap(allocate(op, "i32", [total]));
  try {
    const cells = stridedOf(index).storage.cells("i32", 0, total);
    for (let i = 0, at = 0; i < size; at += counts[i++]) cells.fill(i, at, at + counts[i]);
    return take(t, index, { axis });
  } finally {
    index.dispose();
  }
}

function countList(op: string, repeats: unknown): readonly number[] {
  let counts: readonly number[];
  if (isTensor(repeats)) {
    liveTensor(op, repeats);
    if (!isInteger(repeats.dtype) || repeats.rank > 1) {
      fail(
        "value",
        op,
        `the counts are ${repeats.dtype} ${list(repeats.shape)}.`,
        "Give a vector of integers.",
      );
    }
    counts = Array.from(repeats.toTypedArray() as ArrayLike<number | bigint>, Number);
  } else counts = numberList(op, "repeats", repeats);
  for (const c of counts) checkCount(op, c);
  return counts;
}

function checkCount(op: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return;
  fail("value", op, `${describe(count)} is no count.`, "Use whole numbers from 0.");
}
