/**
 * Index tensors, checked and turned into byte offsets; and elements moved through them. Everything that indexes with
 * tensors comes down to one picture: a walk over some shape W in which the indexed tensor steps by its strides along the
 * axes that are not indexed (and by 0 along the others), and an offset is added that the index decides.
 */
import { type DType, dtypes, isInteger } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import type { Program } from "../ir/node.ts";
import { createStorage } from "../memory/storage.ts";
import { snapshot } from "../ops/arguments.ts";
import { copyTo } from "../ops/copy.ts";
import { fromData, fromScalars, type Nested, readNested, type Scalar } from "../ops/create.ts";
import { absolute, filled } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { sameShape } from "../run/plans.ts";
import type { EmitRoutine, RoutineAbout } from "../run/routine.ts";
import { isTensor, live, type Tensor } from "../tensor.ts";
import { sizeOf, unravel } from "../view/layout.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import { overlaps } from "../view/overlap.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import { emitMoves, emitOffsets, emitRows, type IndexMode } from "../wasm/routines/index/gather.ts";
import { emitFold } from "../wasm/routines/index/scatter.ts";
import type { ItemBytes } from "../wasm/routines/walk.ts";
import { isEmptyNest, separateTasks, walkTasks } from "./walk.ts";

/** What one index tensor chooses from: an axis, its size, and the bytes from one index to the next. */
export interface IndexedAxis {
  readonly axis: number;
  readonly size: number;
  readonly step: number;
}

/** Indices as callers give them: a tensor of integers, a number, or nested arrays of numbers. */
export type Indices = Tensor | Nested;

/** The indices as a tensor of integers; `made` tells whether it is ours to release. */
export function indexTensor(operation: string, indices: unknown): { index: Strided; made: boolean } {
  if (!isTensor(indices)) {
    const listed = snapshot(operation, "the indices", indices);
    if (typeof listed !== "number" && typeof listed !== "bigint" && !Array.isArray(listed)) {
      fail(
        "value",
        operation,
        `the indices are ${describe(indices)}.`,
        "Give a tensor of integers, a number, or an array of numbers.",
      );
    }
    const { shape, flat } = readNested(operation, listed);
    const whole = flat.map((x) => wholeIndex(operation, x));
    return { index: fromScalars(operation, whole, shape, "i64"), made: true };
  }
  const index = live(operation, indices);
  if (!isInteger(indices.dtype)) {
    fail(
      "dtype",
      operation,
      `the indices are ${indices.dtype}.`,
      indices.dtype === "bool"
        ? "A mask chooses with booleanMask(t, mask) or assignMask(t, mask, values)."
        : 'Indices are integers: convert with to("i64"), or make them with { dtype: "i64" }.',
    );
  }
  return { index, made: false };
}

/** A number beyond 2^53 as a bigint, so that the check of the axis judges it; what no i64 holds fits no axis. */
function wholeIndex(operation: string, index: Scalar): Scalar {
  if (typeof index === "number" && !Number.isInteger(index)) {
    fail(
      "index",
      operation,
      `index ${index} is not a whole number.`,
      "Use whole numbers below the axis' size.",
    );
  }
  if (typeof index !== "bigint" && (typeof index !== "number" || Number.isSafeInteger(index))) return index;
  const exact = BigInt(index);
  if (BigInt.asIntN(64, exact) === exact) return exact;
  return fail("index", operation, `index ${index} is out of range.`, "No axis is that long.");
}

export function checkMode(operation: string, mode: unknown): IndexMode {
  if (mode === undefined) return "raise";
  if (mode === "raise" || mode === "wrap" || mode === "clip") return mode;
  return fail("value", operation, `mode is ${describe(mode)}.`, 'Use "raise", "wrap" or "clip".');
}

/**
 * Offsets for indices of one shape, dense in C order; index k belongs to axes[k] and the steps add up. Every index is
 * checked before any is used. Whoever gets them releases their storage.
 */
export function offsetsOf(
  operation: string,
  shape: readonly number[],
  indices: readonly Strided[],
  axes: readonly IndexedAxis[],
  mode: IndexMode = "raise",
): Strided<"u32"> {
  const { heap, routines } = engine();
  const count = sizeOf(shape);
  for (const [k, { axis, size }] of axes.entries()) {
    if (size === 0 && sizeOf(indices[k].frame.shape) > 0) failEmpty(operation, axis);
  }
  // The flag lies behind the last offset.
  const storage = createStorage(heap, 4 * count + 4, operation);
  const offsets = { dtype: "u32", storage, frame: contiguousView(shape, 4), readOnly: false } as const;
  const flag = storage.address + 4 * count;
  heap.view.setInt32(flag, 0, true);
  filled(offsets, () => {
    for (const [k, index] of indices.entries()) {
      const view = sameShape(index.frame.shape, shape) ? index.frame : broadcastTo(index.frame, shape);
      const nest = absolute(planLoops([offsets.frame, view]), [offsets, index]);
      const { size, step } = axes[k];
      const own = [size % 2 ** 32, Math.floor(size / 2 ** 32), step, flag];
      const added = k > 0;
      const name = `offsets ${index.dtype} ${mode}${added ? " added" : ""}`;
      const emit: EmitRoutine = (options) => emitOffsets(index.dtype, mode, added, options);
      routines.run(name, emit, walkTasks(nest, own), count, { operation, inputs: [index], out: offsets });
    }
  });
  if (heap.view.getInt32(flag, true) !== 0) {
    storage.release();
    failIndex(operation, indices, axes);
  }
  return offsets;
}

function failEmpty(operation: string, axis: number): never {
  return fail(
    "index",
    operation,
    `axis ${axis} is empty: it has no index.`,
    "Only an empty list of indices can choose from it.",
  );
}

/** Names the first index that is out of range. */
function failIndex(operation: string, indices: readonly Strided[], axes: readonly IndexedAxis[]): never {
  for (const [k, index] of indices.entries()) {
    const { axis, size } = axes[k];
    const { read } = dtypes[index.dtype];
    const { shape, strides, offset } = index.frame;
    const memory = engine().heap.view;
    const count = sizeOf(shape);
    for (let i = 0; i < count; i++) {
      const place = unravel(i, shape);
      const at = place.reduce((p, x, d) => p + x * strides[d], index.storage.address + offset);
      const value = read(memory, at);
      if (value >= -size && value < size) continue;
      fail(
        "index",
        operation,
        `index ${value}${place.length === 0 ? "" : ` at position ${list(place)}`} is out of range for axis ${axis} of size ${size}.`,
        `Use ${-size} … ${size - 1}.`,
      );
    }
  }
  return fail("internal", operation, "an index was refused, and all are fine.");
}

/* The walk --------------------------------------------------------------------------------------------- */

/** Where elements are, on a walk over `shape`: both views have that shape. */
export interface Places {
  readonly shape: readonly number[];
  /** The indexed tensor, without what the index decides. */
  readonly indexed: View;
  readonly offsets: View;
}

/** Index axes take the place of `replaced` axes of the view, from `axis` on. */
export function placesAt(view: View, axis: number, replaced: number, indexShape: readonly number[]): Places {
  const before = view.shape.slice(0, axis);
  const after = view.shape.slice(axis + replaced);
  const zeros = (x: readonly number[]) => x.map(() => 0);
  const shape = [...before, ...indexShape, ...after];
  const { strides } = contiguousView(indexShape, 4);
  return {
    shape,
    indexed: {
      ...view,
      shape,
      strides: [...view.strides.slice(0, axis), ...zeros(indexShape), ...view.strides.slice(axis + replaced)],
    },
    offsets: { shape, strides: [...zeros(before), ...strides, ...zeros(after)], offset: 0, itemBytes: 4 },
  };
}

/** About how many nanoseconds one thread needs for n elements, in steps of a row or of an element. */
const MOVE_NS = 1;
const ROW_TASK_BYTES = 65536;

/** out[w] = t[place w] */
export function gatherTo(
  operation: string,
  out: Strided,
  t: Strided,
  offsets: Strided,
  places: Places,
): void {
  const views = [out.frame, places.indexed, places.offsets];
  const nest = widestInside(absolute(planLoops(views), [out, t, offsets]));
  moveAll(nest, t.frame.itemBytes as ItemBytes, "gather", aboutMoves(operation, t, out, offsets, out));
}

/** t[place w] = values[w], for places that all differ. */
export function scatterOnce(
  operation: string,
  t: Strided,
  values: Strided,
  offsets: Strided,
  places: Places,
): void {
  const views = [values.frame, places.indexed, places.offsets];
  const nest = widestInside(absolute(planLoops(views), [values, t, offsets]));
  moveAll(nest, t.frame.itemBytes as ItemBytes, "scatter", aboutMoves(operation, values, t, offsets, values));
}

/** As many elements as `moved` has are read and written, whatever the operands hold. */
function aboutMoves(
  operation: string,
  from: Strided,
  out: Strided,
  offsets: Strided,
  moved: Strided,
): RoutineAbout {
  const bytes = 2 * sizeOf(moved.frame.shape) * moved.frame.itemBytes + 4 * sizeOf(offsets.frame.shape);
  return { operation, inputs: [from, offsets], out, bytes };
}

function moveAll(
  nest: LoopNest,
  bytes: ItemBytes,
  direction: "gather" | "scatter",
  about: RoutineAbout,
): void {
  if (isEmptyNest(nest)) return;
  const { routines } = engine();
  const size = sizeOf(nest.shape);
  if (hasRows(nest, bytes)) {
    const emit: EmitRoutine = (options) => emitRows(direction, options);
    routines.run(
      `${direction} rows`,
      emit,
      walkTasks(inBytes(nest, bytes), [], ROW_TASK_BYTES),
      size * bytes * 0.1,
      about,
    );
    return;
  }
  routines.run(
    `${direction} ${bytes}`,
    (options) => emitMoves(bytes, direction, options),
    walkTasks(nest),
    size * MOVE_NS,
    about,
  );
}

/** t[place w] = values[w], or fold(t[place w], values[w]), in C order of w where places are equal. */
export function scatterTo(
  operation: string,
  t: Strided,
  values: Strided,
  offsets: Strided,
  places: Places,
  fold: Program | null,
): void {
  const views = [values.frame, places.indexed, places.offsets];
  const nest = absolute(planLoops(views, { keepOrder: true }), [values, t, offsets]);
  if (isEmptyNest(nest)) return;
  const { routines } = engine();
  const bytes = t.frame.itemBytes as ItemBytes;
  const rows = fold === null && hasRows(nest, bytes);
  const walked = rows ? inBytes(nest, bytes) : nest;
  const nanoseconds = sizeOf(nest.shape) * MOVE_NS * (fold === null ? 1 : 2);
  const separate = routines.isShared(nanoseconds) ? separateTasks(walked, 1, 2 * routines.threads) : null;
  const emit: EmitRoutine = (options) => {
    if (fold !== null) return emitFold(fold, options);
    return rows ? emitRows("scatter", options) : emitMoves(bytes, "scatter", options);
  };
  const name = fold !== null ? `scatter add ${t.dtype}` : rows ? "scatter rows" : `scatter ${bytes}`;
  // Without separate pieces, one thread does them in their order.
  const about = aboutMoves(operation, values, t, offsets, values);
  if (separate !== null) routines.run(name, emit, separate, nanoseconds, about);
  else routines.run(name, emit, walkTasks(walked, [], rows ? ROW_TASK_BYTES : undefined), 0, about);
}

/** Are the innermost loop's elements one run of bytes on both sides, with one offset for all of them? */
function hasRows(nest: LoopNest, bytes: number): boolean {
  const d = nest.shape.length - 1;
  if (d < 0) return false;
  const [dense, indexed, offsets] = nest.strides;
  return offsets[d] === 0 && dense[d] === bytes && indexed[d] === bytes && nest.shape[d] > 1;
}

/** The nest with its innermost loop over bytes. */
function inBytes(nest: LoopNest, bytes: number): LoopNest {
  const d = nest.shape.length - 1;
  return {
    ...nest,
    shape: [...nest.shape.slice(0, d), nest.shape[d] * bytes],
    strides: nest.strides.map((s) => [...s.slice(0, d), s[d] / bytes]),
  };
}

/** The longest of the outer loops next to the innermost: what is left around the two is walked outside of them. */
function widestInside(nest: LoopNest): LoopNest {
  const rank = nest.shape.length;
  if (rank < 3) return nest;
  let widest = rank - 2;
  for (let d = 0; d < rank - 2; d++) if (nest.shape[d] > nest.shape[widest]) widest = d;
  if (widest === rank - 2) return nest;
  const order = nest.shape.map((_, d) => d).filter((d) => d !== widest);
  order.splice(rank - 2, 0, widest);
  return {
    ...nest,
    shape: order.map((d) => nest.shape[d]),
    strides: nest.strides.map((s) => order.map((d) => s[d])),
    order: order.map((d) => nest.order[d]),
  };
}

/* Values ----------------------------------------------------------------------------------------------- */

/**
 * What is to be written to `t` on a walk over `shape`: in t's dtype, broadcast, and not in t's own way. Calls `use` with
 * it and frees what it had to make.
 */
export function withValues(
  operation: string,
  t: Strided,
  values: unknown,
  shape: readonly number[],
  use: (values: Strided) => void,
): void {
  const given = valuesTensor(operation, values, t.dtype);
  let source: Strided = given.source;
  let made = given.made;
  try {
    const view = broadcastValues(operation, source.frame, shape);
    const clash = source.storage === t.storage && overlaps(source.frame, t.frame);
    if (source.dtype !== t.dtype || clash) {
      const why = clash
        ? "the values overlap the destination, so they are copied first"
        : `the values are ${source.dtype}, so they are converted to ${t.dtype} first`;
      const bytes = sizeOf(source.frame.shape) * t.frame.itemBytes;
      engine().listener?.({ kind: "copy", operation, bytes, why });
      const copy = copyTo(operation, source, t.dtype);
      if (made) source.storage.release();
      source = copy;
      made = true;
      use({ ...source, frame: broadcastValues(operation, source.frame, shape) });
    } else use({ ...source, frame: view });
  } finally {
    if (made) source.storage.release();
  }
}

export function valuesTensor(
  operation: string,
  values: unknown,
  dtype: DType,
): { source: Strided; made: boolean } {
  if (!isTensor(values)) {
    return { source: fromData(values as Nested, { dtype }, operation), made: true };
  }
  return { source: live(operation, values), made: false };
}

function broadcastValues(operation: string, view: View, shape: readonly number[]): View {
  if (sameShape(view.shape, shape)) return view;
  // As NumPy, axes of size 1 in front may be too many.
  let lead = 0;
  while (view.shape.length - lead > shape.length && view.shape[lead] === 1) lead++;
  const trimmed = { ...view, shape: view.shape.slice(lead), strides: view.strides.slice(lead) };
  try {
    return broadcastTo(trimmed, shape);
  } catch {
    return fail(
      "shape",
      operation,
      `values of shape ${list(view.shape)} do not broadcast to ${list(shape)}, the shape that is chosen.`,
      "Sizes align at the right; each must be equal, or 1 in the values.",
    );
  }
}
