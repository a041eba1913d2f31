/** Masks: which elements are true, those elements, and writing to them. NumPy's nonzero, t[mask] and t[mask] = values. */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { createStorage } from "../memory/storage.ts";
import { readOptions, snapshot } from "../ops/arguments.ts";
import { copyTo } from "../ops/copy.ts";
import { fromData, type Nested } from "../ops/create.ts";
import { allocate, checkWritable, filled, share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { sameShape } from "../run/plans.ts";
import type { EmitRoutine, RoutineAbout, Task } from "../run/routine.ts";
import { live, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxis, sizeOf } from "../view/layout.ts";
import { planLoops } from "../view/loops.ts";
import { contiguousView, isContiguous, type View } from "../view/view.ts";
import { emitCompress, emitCount, emitPositions, emitUnravel } from "../wasm/routines/index/compress.ts";
import type { ItemBytes } from "../wasm/routines/walk.ts";
import { take, type Values } from "./indexing.ts";
import { gatherTo, placesAt, scatterOnce, withValues } from "./offsets.ts";
import { named } from "./scoped.ts";
import { TASK_ELEMENTS, walkTasks } from "./walk.ts";

/** Nanoseconds an element of a mask takes, roughly. */
const COUNT_NS = 0.15;
const WRITE_NS = 1;

/** The elements of t where the mask is true, in row-major order. The mask covers the leading axes of t. */
export function booleanMask<D extends DType>(t: Tensor<D>, mask: Tensor): Tensor<D> {
  const op = "booleanMask";
  liveTensor(op, t);
  return withMask(maskOf(op, stridedOf(t), mask), (m) => wrap(masked(op, stridedOf(t), m)));
}

/** t[mask] = values, in row-major order; broadcast to what the mask chooses. Changes t and gives it back. */
export function assignMask<D extends DType>(t: Tensor<D>, mask: Tensor, values: Values): Tensor<D> {
  const op = "assignMask";
  values = snapshot(op, "the values", values);
  checkWritable(op, live(op, t));
  withMask(maskOf(op, stridedOf(t), mask), (m) => {
    const { offsets, count } = positionsIn(op, stridedOf(t).frame, m);
    try {
      const places = placesAt(stridedOf(t).frame, 0, m.frame.shape.length, [count]);
      withValues(op, stridedOf(t), values, places.shape, (source) =>
        scatterOnce(op, stridedOf(t), source, offsets, places),
      );
    } finally {
      offsets.storage.release();
    }
  });
  return t;
}

/** Indices of the elements that are not 0 (NaN is not): one i64 vector an axis, in row-major order. */
export function nonzero(t: Tensor): Tensor<"i64">[] {
  const op = "nonzero";
  if (liveTensor(op, t).rank === 0) {
    fail("shape", op, "a 0-d tensor has no indices.", "Give it an axis: reshape(1).");
  }
  return withMask(truth(op, stridedOf(t)), (m) => {
    if (t.rank === 1) return [wrap(ordinals(op, m))];
    const { offsets, count } = positionsIn(op, contiguousView(t.shape, 1), m);
    try {
      const along = (d: number) => indicesAlong(op, offsets, count, t.shape, [d]);
      return t.shape.map((_, d) => wrap({ ...along(d), frame: contiguousView([count], 8) }));
    } finally {
      offsets.storage.release();
    }
  });
}

/** As nonzero, as rows: a [count, rank] tensor. */
export function argwhere(t: Tensor): Tensor<"i64"> {
  const op = "argwhere";
  liveTensor(op, t);
  return withMask(truth(op, stridedOf(t)), (m) => {
    const { offsets, count } = positionsIn(op, contiguousView(t.shape, 1), m);
    const axes = t.shape.map((_, d) => d);
    try {
      return wrap(indicesAlong(op, offsets, count, t.shape, axes));
    } finally {
      offsets.storage.release();
    }
  });
}

/** Indices into the elements in row-major order of those that are not 0. */
export function flatnonzero(t: Tensor): Tensor<"i64"> {
  const op = "flatnonzero";
  return withMask(truth(op, live(op, t)), (m) => wrap(ordinals(op, m)));
}

/**
 * NumPy's compress: slices along an axis (default: the elements in row-major order) where the condition, a vector, is
 * true. It may be shorter than the axis.
 */
export function compress<D extends DType>(
  t: Tensor<D>,
  condition: Tensor | readonly (number | boolean)[],
  options: { readonly axis?: number } = {},
): Tensor<D> {
  const op = "compress";
  condition = snapshot(op, "the condition", condition);
  options = readOptions(op, options, "{ axis: 0 }", ["axis"]);
  liveTensor(op, t);
  if (options.axis !== undefined) normalizeAxis(op, options.axis, t.rank);
  const made = Array.isArray(condition);
  const given = made ? fromData(condition as Nested, { dtype: "bool" }, op) : live(op, condition as Tensor);
  try {
    if (given.frame.shape.length !== 1) {
      fail("shape", op, `the condition has shape ${list(given.frame.shape)}.`, "It is a vector.");
    }
    const chosen = withMask(truth(op, given), (m) => wrap(ordinals(op, m)));
    try {
      return named(op, () => take(t, chosen, options.axis === undefined ? {} : { axis: options.axis }));
    } finally {
      chosen.dispose();
    }
  } finally {
    if (made) given.storage.release();
  }
}

/* Masks in memory -------------------------------------------------------------------------------------- */

/** Calls `use` with a dense mask and lets go of it. */
function withMask<R>(mask: Strided<"bool">, use: (mask: Strided<"bool">) => R): R {
  try {
    return use(mask);
  } finally {
    mask.storage.release();
  }
}

/** Which elements are not 0, dense in row-major order: t itself where it is that already. */
function truth(op: string, t: Strided): Strided<"bool"> {
  if (t.dtype === "bool" && isContiguous(t.frame)) return share(t as Strided<"bool">, t.frame);
  if (t.dtype === "bool") {
    const why = "the mask is not contiguous, so it is brought into row-major order first";
    engine().listener?.({ kind: "copy", operation: op, bytes: sizeOf(t.frame.shape), why });
  }
  return copyTo(op, t, "bool");
}

/** The mask of t, which must be bool and cover its leading axes. */
function maskOf(op: string, t: Strided, mask: Tensor): Strided<"bool"> {
  liveTensor(op, mask);
  if (mask.dtype !== "bool") {
    fail(
      "dtype",
      op,
      `the mask is ${mask.dtype}.`,
      "A mask is bool: compare first, such as t.greater(0), or use take for indices.",
    );
  }
  const { shape } = t.frame;
  // As the array API has it, a mask without elements chooses none, whatever axis it is empty along.
  const fits = mask.rank <= shape.length && mask.shape.every((n, d) => n === shape[d] || n === 0);
  if (!fits) {
    fail(
      "shape",
      op,
      `the mask has shape ${list(mask.shape)}, the tensor ${list(shape)}.`,
      "A mask has the shape of the tensor, or of its leading axes.",
    );
  }
  if (sameShape(mask.shape, shape.slice(0, mask.rank))) return truth(op, stridedOf(mask));
  return allocate(op, "bool", shape.slice(0, mask.rank), undefined, true) as Strided<"bool">;
}

/** The leading axes of a view that a mask covers, as bytes. */
const leading = (view: View, rank: number): View => ({
  ...view,
  shape: view.shape.slice(0, rank),
  strides: view.strides.slice(0, rank),
});

/** Stretches of the mask beside the view: tasks in C order, and before each of them how many are true. */
function stretches(
  op: string,
  mask: Strided<"bool">,
  view: View,
  base: number,
): { tasks: Task[]; starts: number[]; count: number } {
  const nest = planLoops([mask.frame, view], { keepOrder: true });
  const placed = { ...nest, offsets: [nest.offsets[0] + mask.storage.address, nest.offsets[1] + base] };
  const tasks = walkTasks(placed);
  const { heap, routines } = engine();
  const counts = createStorage(heap, 4 * tasks.length, op);
  try {
    routines.run(
      "count true",
      emitCount,
      tasks.map((task, i) => [task[2], task[0] * task[1], counts.address + 4 * i]),
      sizeOf(mask.frame.shape) * COUNT_NS,
      { operation: op, inputs: [mask] },
    );
    const each = new Uint32Array(heap.buffer, counts.address, tasks.length);
    const starts: number[] = [];
    let count = 0;
    for (let i = 0; i < tasks.length; i++) {
      starts.push(count);
      count += each[i];
    }
    return { tasks, starts, count };
  } finally {
    counts.release();
  }
}

/** Writes what the routine writes for true elements: `bytes` each, from `address` on. */
function writeTrue(
  about: RoutineAbout,
  name: string,
  emit: EmitRoutine,
  { tasks, starts }: { tasks: readonly Task[]; starts: readonly number[] },
  address: number,
  bytes: number,
): void {
  const all = tasks.map((task, i) => [...task, address + bytes * starts[i]]);
  engine().routines.run(name, emit, all, tasks.length * TASK_ELEMENTS * WRITE_NS, about);
}

function masked<D extends DType>(op: string, t: Strided<D>, mask: Strided<"bool">): Strided<D> {
  const rank = mask.frame.shape.length;
  const view = leading(t.frame, rank);
  if (rank === t.frame.shape.length) {
    const found = stretches(op, mask, view, t.storage.address);
    const out = allocate(op, t.dtype, [found.count]);
    const bytes = dtypes[t.dtype].bytes as ItemBytes;
    const emit: EmitRoutine = (options) => emitCompress(bytes, options);
    return filled(out, () =>
      writeTrue(
        { operation: op, inputs: [t, mask], out },
        `compress ${bytes}`,
        emit,
        found,
        out.storage.address,
        bytes,
      ),
    );
  }
  const { offsets, count } = positionsIn(op, t.frame, mask);
  try {
    const places = placesAt(t.frame, 0, rank, [count]);
    const out = allocate(op, t.dtype, places.shape);
    return filled(out, () => gatherTo(op, out, t, offsets, places));
  } finally {
    offsets.storage.release();
  }
}

/** The offsets, in the view, of the true elements of a mask over its leading axes. */
function positionsIn(
  op: string,
  view: View,
  mask: Strided<"bool">,
): { offsets: Strided<"u32">; count: number } {
  const lead = { ...leading(view, mask.frame.shape.length), offset: 0 };
  const found = stretches(op, mask, lead, 0);
  const offsets = allocate(op, "u32", [found.count]);
  const emit: EmitRoutine = (options) => emitPositions(4, options);
  filled(offsets, () =>
    writeTrue(
      { operation: op, inputs: [mask], out: offsets },
      "positions 4",
      emit,
      found,
      offsets.storage.address,
      4,
    ),
  );
  return { offsets, count: found.count };
}

/** The numbers of the true elements in row-major order. */
function ordinals(op: string, mask: Strided<"bool">): Strided<"i64"> {
  const found = stretches(op, mask, contiguousView(mask.frame.shape, 1), 0);
  const out = allocate(op, "i64", [found.count]);
  const emit: EmitRoutine = (options) => emitPositions(8, options);
  return filled(out, () =>
    writeTrue({ operation: op, inputs: [mask], out }, "positions 8", emit, found, out.storage.address, 8),
  );
}

/** Row-major numbers as indices along the given axes: [count, axes]. */
function indicesAlong(
  op: string,
  numbers: Strided<"u32">,
  count: number,
  shape: readonly number[],
  axes: readonly number[],
): Strided<"i64"> {
  const out = allocate(op, "i64", [count, axes.length]);
  return filled(out, () => {
    for (const [k, d] of axes.entries()) unravelAxis(op, numbers, out, 8 * k, 8 * axes.length, shape, d);
  });
}

/** Indices along one axis, written `step` bytes apart. */
function unravelAxis(
  operation: string,
  numbers: Strided<"u32">,
  out: Strided<"i64">,
  start: number,
  step: number,
  shape: readonly number[],
  axis: number,
): void {
  const [count] = numbers.frame.shape;
  const divisor = sizeOf(shape.slice(axis + 1));
  const steps = { divides: divisor > 1, reduces: axis > 0 };
  const tasks: Task[] = [];
  for (let i = 0; i < count; i += TASK_ELEMENTS) {
    const from = numbers.storage.address + 4 * i;
    const to = out.storage.address + start + step * i;
    tasks.push([Math.min(TASK_ELEMENTS, count - i), from, to, step, divisor, shape[axis]]);
  }
  const name = `unravel${steps.divides ? " divided" : ""}${steps.reduces ? " reduced" : ""}`;
  engine().routines.run(name, (options) => emitUnravel(steps, options), tasks, 2 * count, {
    operation,
    inputs: [numbers],
    out,
    bytes: null,
  });
}
