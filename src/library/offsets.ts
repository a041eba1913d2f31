/**
 * Index tensors, checked and turned into byte offsets; and elements moved through them. Everything that indexes with
 * tensors comes down to one picture: a walk over some shape W in which the indexed tensor steps by its strides along the
 * axes that are not indexed (and by 0 along the others), and an offset is added that the index decides.
 */
import { type DType, isInteger } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import type { Program } from "../ir/node.ts";
import { snapshot } from "../ops/arguments.ts";
import { copyTo } from "../ops/copy.ts";
import { fromData, fromScalars, type Nested, readNested, type Scalar } from "../ops/create.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate, filled } from "../ops/strided.ts";
import { tellCopy } from "../ops/tell.ts";
import {
  gatherRoutine,
  type IndexedAxis,
  offsetsRoutine,
  type Places,
  scatterRoutine,
} from "../routines/index.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, live, type Tensor } from "../tensor.ts";
import { sameShape, sizeOf, unravel } from "../view/layout.ts";
import { overlaps } from "../view/overlap.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import type { IndexMode } from "../wasm/routines/index/gather.ts";

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
  for (const [k, { axis, size }] of axes.entries()) {
    if (size === 0 && sizeOf(indices[k].frame.shape) > 0) failEmpty(operation, axis);
  }
  const offsets = allocate(operation, "u32", shape);
  let fine = true;
  filled(offsets, () => {
    const params = { axes, mode };
    fine = runRoutine(offsetsRoutine, { operation, params, inputs: indices, outs: [offsets] });
  });
  if (!fine) {
    offsets.storage.release();
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
    const { shape, strides, offset } = index.frame;
    const read = index.storage.reader(index.dtype);
    const count = sizeOf(shape);
    for (let i = 0; i < count; i++) {
      const place = unravel(i, shape);
      const value = read(place.reduce((p, x, d) => p + x * strides[d], offset));
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

/** out[w] = t[place w] */
export function gatherTo(
  operation: string,
  out: Strided,
  t: Strided,
  offsets: Strided,
  places: Places,
): void {
  runRoutine(gatherRoutine, { operation, params: places, inputs: [t, offsets], outs: [out] });
}

/** t[place w] = values[w], for places that all differ. */
export function scatterOnce(
  operation: string,
  t: Strided,
  values: Strided,
  offsets: Strided,
  places: Places,
): void {
  const params = { places, fold: null, once: true };
  runRoutine(scatterRoutine, { operation, params, inputs: [values, offsets], outs: [t] });
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
  const params = { places, fold, once: false };
  runRoutine(scatterRoutine, { operation, params, inputs: [values, offsets], outs: [t] });
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
    const clash = source.storage.origin === t.storage.origin && overlaps(source.frame, t.frame);
    if (source.dtype !== t.dtype || clash) {
      const why = clash
        ? "the values overlap the destination, so they are copied first"
        : `the values are ${source.dtype}, so they are converted to ${t.dtype} first`;
      const bytes = sizeOf(source.frame.shape) * t.frame.itemBytes;
      tellCopy(operation, bytes, why);
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
