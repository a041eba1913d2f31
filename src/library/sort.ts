/**
 * Sorting along an axis: values, positions, and the first few of either. The order is NumPy's: NaNs come last (first when
 * descending), -0 and 0 are equal, and equal elements keep their order, always. The work is in routines/sort.ts.
 */
import type { DType } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, readList, readOptions } from "../ops/arguments.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate, filled } from "../ops/strided.ts";
import { tellCopy } from "../ops/tell.ts";
import { sortRoutine } from "../routines/sort.ts";
import { gatherLinesRoutine } from "../routines/sorted.ts";
import { isTensor, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxis, sizeOf } from "../view/layout.ts";
import type { SortForm } from "../wasm/routines/sort/steps.ts";
import { scoped } from "./scoped.ts";

/** The options of `sort` and `argsort`. */
export interface SortOptions {
  /** The axis to sort along; default the last. */
  readonly axis?: number;
  /** The largest first; NaNs are then the first. Default false. */
  readonly descending?: boolean;
  /** Equal elements keep their order. They do so in any case. */
  readonly stable?: boolean;
}
/** The options of `topk`. */
export interface TopkOptions {
  /** The axis to choose along; default the last. */
  readonly axis?: number;
  /** Default: the largest. */
  readonly largest?: boolean;
  /** In order. They are in any case. */
  readonly sorted?: boolean;
}

/**
 * The elements in order along an axis, NaNs last; equal ones keep their order.
 *
 * @param t a tensor of any layout
 * @param options `axis`, default the last; `descending`
 * @returns a new tensor of t's shape and dtype
 * @example
 * sort(tensor([3, 1, 2])); // → f32 [1, 2, 3]
 */
export function sort<D extends DType>(t: Tensor<D>, options: SortOptions = {}): Tensor<D> {
  return sorted("sort", t, "values", options) as Tensor<D>;
}

/**
 * The positions that would sort along an axis; equal elements keep their order.
 *
 * @param t a tensor of any layout
 * @param options `axis`, default the last; `descending`
 * @returns a new i64 tensor of t's shape
 * @example
 * argsort(tensor([3, 1, 2])); // → i64 [1n, 2n, 0n]
 */
export function argsort(t: Tensor, options: SortOptions = {}): Tensor<"i64"> {
  return sorted("argsort", t, "positions", options) as Tensor<"i64">;
}

function sorted(operation: string, t: Tensor, form: SortForm, options: SortOptions): Tensor {
  options = readOptions(operation, options, "{ axis: 0, descending: true }", [
    "axis",
    "descending",
    "stable",
  ]);
  checkFlag(operation, "descending", options.descending);
  checkFlag(operation, "stable", options.stable);
  const how = { descending: options.descending ?? false };
  return along(operation, t, options.axis, (dense, back) => back(sortLines(operation, dense, form, how)));
}

/**
 * The k largest (or smallest) elements along an axis, in order, and where they are.
 *
 * @param t a tensor of any layout
 * @param k how many
 * @param options `axis`, default the last; `largest`, default true
 * @returns new tensors `values` and `indices` (i64), k along the axis
 * @throws TensorError where the axis has fewer than k
 * @example
 * const { values, indices } = topk(tensor([3, 9, 5]), 2);
 * values; // → f32 [9, 5]
 * indices; // → i64 [1n, 2n]
 */
export function topk<D extends DType>(
  t: Tensor<D>,
  k: number,
  options: TopkOptions = {},
): { readonly values: Tensor<D>; readonly indices: Tensor<"i64"> } {
  options = readOptions("topk", options, "{ largest: false }", ["axis", "largest", "sorted"]);
  checkFlag("topk", "largest", options.largest);
  checkFlag("topk", "sorted", options.sorted);
  const live = liveTensor("topk", t);
  const size = live.shape[axisOf("topk", live, options.axis)];
  if (!Number.isInteger(k) || k < 0 || k > size) {
    fail("value", "topk", `k is ${describe(k)}.`, `The axis has ${size} elements: use 0 … ${size}.`);
  }
  const how = { descending: options.largest ?? true, keep: k };
  return along("topk", live, options.axis, (dense, back) => {
    const positions = sortLines("topk", dense, "positions", how);
    const values = gatherLines("topk", dense, positions);
    return { values: back(values) as Tensor<D>, indices: back(positions) as Tensor<"i64"> };
  });
}

/**
 * The positions that sort by several keys: by the last one, where that is equal by the one before it, and so on. The keys
 * are vectors of one length, or the rows of a matrix.
 *
 * @param keys the last one counts most
 * @returns a new i64 vector
 * @example
 * lexsort([tensor([2, 1, 3]), tensor([0, 0, -1])]); // → i64 [2n, 1n, 0n]
 */
export function lexsort(keys: readonly Tensor[] | Tensor): Tensor<"i64"> {
  const op = "lexsort";
  const single = isTensor(keys);
  const given = single ? [keys] : readList(op, "the keys", keys);
  if (given === null || given.length === 0) {
    return fail(
      "value",
      op,
      given === null ? `the keys are ${describe(keys)}.` : "no keys.",
      "Give an array of vectors, the most important last.",
    );
  }
  const live = given.map((t) => liveTensor(op, t));
  const rank = single ? 2 : 1;
  const wrong = live.find((t) => t.rank !== rank || t.shape[rank - 1] !== live[0].shape[rank - 1]);
  if (wrong !== undefined || (single && live[0].shape[0] === 0)) {
    fail(
      "shape",
      op,
      `${wrong === undefined ? "there is no key" : "a key does not fit"}: ${live.map((t) => list(t.shape)).join(", ")}.`,
      "Give vectors of one length, or a matrix whose rows are the keys.",
    );
  }
  return scoped(op, () => {
    const rows = single ? Array.from({ length: live[0].shape[0] }, (_, i) => live[0].slice(i)) : live;
    return orderBy(op, rows);
  });
}

/** As lexsort, checked; call it in a scope. */
export function orderBy(op: string, keys: readonly Tensor[]): Tensor<"i64"> {
  const up = { descending: false };
  const dense = (t: Tensor) => denseCopy(op, t, "lines are sorted in dense memory");
  let order = sortLines(op, dense(keys[0]), "positions", up);
  for (const key of keys.slice(1)) {
    const arranged = gatherLines(op, dense(key), order);
    order = gatherLines(op, order, sortLines(op, arranged, "positions", up));
  }
  return order as Tensor<"i64">;
}

/* Axes ----------------------------------------------------------------------------------------------------------- */

function axisOf(operation: string, t: Tensor, axis: unknown): number {
  if (axis !== undefined && typeof axis !== "number") {
    fail("axis", operation, `the axis is ${describe(axis)}.`, "Give one axis as a number.");
  }
  return normalizeAxis(operation, axis ?? -1, t.rank);
}

/**
 * Runs `body` in a scope, on a dense tensor whose last axis is `axis` of t; `back` moves the last axis of a result to
 * where it was.
 */
export function along<R>(
  operation: string,
  t: Tensor,
  axis: number | undefined,
  body: (dense: Tensor, back: (made: Tensor) => Tensor) => R,
): R {
  const live = liveTensor(operation, t);
  const d = axisOf(operation, live, axis);
  const isLast = d === live.rank - 1;
  return scoped(operation, () => {
    const dense = isLast
      ? denseCopy(operation, live, "lines are sorted in dense memory")
      : denseCopy(operation, live.moveAxis(d, -1), "the axis to sort along is made the last one");
    const back = (made: Tensor) =>
      isLast ? made : denseCopy(operation, made.moveAxis(-1, d), "the sorted axis goes back to its place");
    return body(dense, back);
  });
}

/** Another handle on a dense tensor, or a copy that explain hears of. */
export function denseCopy<D extends DType>(operation: string, t: Tensor<D>, why: string): Tensor<D> {
  const { frame } = stridedOf(t);
  const isArray = t.isContiguous && frame.offset % frame.itemBytes === 0;
  if (!isArray) tellCopy(operation, t.size * frame.itemBytes, why);
  return t.contiguous();
}

/* Lines ---------------------------------------------------------------------------------------------------------- */

export interface LineOptions {
  readonly descending: boolean;
  /** How many of each sorted line are wanted; default all. */
  readonly keep?: number;
}

/** Each line (along the last axis) of a dense tensor, sorted into a new one; positions are i64. */
export function sortLines(
  operation: string,
  of: Tensor,
  form: SortForm,
  { descending, keep }: LineOptions,
): Tensor {
  const dense = stridedOf(of);
  const { shape } = dense.frame;
  const wanted = keep ?? shape[shape.length - 1];
  const dtype = form === "values" ? dense.dtype : "i64";
  const out = allocate(operation, dtype, [...shape.slice(0, -1), wanted]);
  if (sizeOf(out.frame.shape) === 0) return wrap(out);
  const params = { form, descending };
  return wrap(
    filled(out, () => runRoutine(sortRoutine, { operation, params, inputs: [dense], outs: [out] })),
  );
}

/** dense[…, positions[…, j]] along the last axis; the positions are in range, which the caller knows. */
export function gatherLines(operation: string, from: Tensor, at: Tensor): Tensor {
  const inputs = [stridedOf(from), stridedOf(at)];
  const out = allocate(operation, inputs[0].dtype, inputs[1].frame.shape);
  if (sizeOf(out.frame.shape) === 0) return wrap(out);
  return wrap(
    filled(out, () => runRoutine(gatherLinesRoutine, { operation, params: {}, inputs, outs: [out] })),
  );
}
