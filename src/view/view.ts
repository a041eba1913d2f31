/**
 * A view of memory, without the memory, and the operations that only rearrange it.
 *
 * Element i lies at byte offset + Σ strides[d]·i[d]. Every function returns a new view of the same memory
 * and leaves its argument alone. Slicing is in slice.ts, reshaping in reshape.ts; whether the bytes exist
 * is checked by the storage. A view without elements keeps the offset it came from: it points nowhere new.
 */
import { fail, list, shown, written } from "../errors.ts";
import { checkShape, extentOf, normalizeAxes, normalizeAxis, rowMajorStrides, sizeOf } from "./layout.ts";

export interface View {
  readonly shape: readonly number[];
  /** Bytes from one index to the next along each axis; may be negative or 0. */
  readonly strides: readonly number[];
  /** Byte position of index [0, …, 0]. */
  readonly offset: number;
  /** Bytes of one element. */
  readonly itemBytes: number;
}

/** The dense C-order view of a shape. */
export function contiguousView(shape: readonly number[], itemBytes: number, offset = 0): View {
  return { shape: shape.slice(), strides: rowMajorStrides(shape, itemBytes), offset, itemBytes };
}

/** `view` with other axes. Without elements the offset stays: stepping into nothing may leave the memory. */
export function rearranged(view: View, shape: number[], strides: number[], offset: number): View {
  return { shape, strides, offset: sizeOf(shape) === 0 ? view.offset : offset, itemBytes: view.itemBytes };
}

// ---- questions --------------------------------------------------------------------------------------

/** C order without gaps: stride[d] = itemBytes · Π sizes inside d. Size-1 axes may have any stride. */
export function isContiguous(view: View): boolean {
  const { shape, strides } = view;
  let step = view.itemBytes;
  let contiguous = true;
  for (let d = shape.length - 1; d >= 0; d--) {
    const n = shape[d];
    if (n === 0) return true;
    if (n === 1) continue;
    if (strides[d] !== step) contiguous = false;
    step *= n;
  }
  return contiguous;
}

/** Fortran order without gaps: the first axis is the fastest. */
export function isFContiguous(view: View): boolean {
  const { shape, strides } = view;
  let step = view.itemBytes;
  let contiguous = true;
  for (let d = 0; d < shape.length; d++) {
    const n = shape[d];
    if (n === 0) return true;
    if (n === 1) continue;
    if (strides[d] !== step) contiguous = false;
    step *= n;
  }
  return contiguous;
}

/** Some order of the axes makes it contiguous: the elements fill one block of memory, each byte once. */
export function isDense(view: View): boolean {
  const { shape, strides } = view;
  const axes: number[] = [];
  for (let d = 0; d < shape.length; d++) {
    if (shape[d] === 0) return true;
    if (shape[d] > 1) axes.push(d);
  }
  axes.sort((a, b) => strides[a] - strides[b]);
  let step = view.itemBytes;
  for (const d of axes) {
    if (strides[d] !== step) return false;
    step *= shape[d];
  }
  return true;
}

/** Does some axis repeat one element (size > 1, stride 0)? Such a view may be read, not written. */
export function hasBroadcastAxis(view: View): boolean {
  for (let d = 0; d < view.shape.length; d++) {
    if (view.shape[d] > 1 && view.strides[d] === 0) return true;
  }
  return false;
}

/** The bytes [start, end) that any element touches; empty at the offset when there is no element. */
export function extent(view: View): { start: number; end: number } {
  const reach = extentOf(view.shape, view.strides);
  if (reach === null) return { start: view.offset, end: view.offset };
  return { start: view.offset + reach.min, end: view.offset + reach.max + view.itemBytes };
}

// ---- axes -------------------------------------------------------------------------------------------

/** Axis k of the result is axis axes[k] of the view; every axis is named once. */
export function permute(view: View, axes: readonly number[]): View {
  const rank = view.shape.length;
  if (axes.length !== rank) {
    fail(
      "axis",
      "permute",
      `${list(axes)} names ${count(axes.length, "axis", "axes")} of ${rank}.`,
      "Name every axis once.",
    );
  }
  return take(view, normalizeAxes("permute", axes, rank));
}

/** All axes in reverse order. */
export function transpose(view: View): View {
  return { ...view, shape: [...view.shape].reverse(), strides: [...view.strides].reverse() };
}

export function swapAxes(view: View, a: number, b: number): View {
  const rank = view.shape.length;
  const i = normalizeAxis("swapAxes", a, rank);
  const j = normalizeAxis("swapAxes", b, rank);
  const axes = allAxes(rank);
  axes[i] = j;
  axes[j] = i;
  return take(view, axes);
}

/** Puts axis src[k] at place dst[k] of the result; the other axes keep their order. */
export function moveAxis(view: View, src: number | readonly number[], dst: number | readonly number[]): View {
  const rank = view.shape.length;
  const from = normalizeAxes("moveAxis", src, rank);
  const to = normalizeAxes("moveAxis", dst, rank);
  if (from.length !== to.length) {
    fail(
      "axis",
      "moveAxis",
      `${count(from.length, "source", "sources")} but ${count(to.length, "destination", "destinations")}.`,
      "Give one destination for each source.",
    );
  }
  const rest = allAxes(rank).filter((d) => !from.includes(d));
  const axes: number[] = [];
  for (let d = 0, r = 0; d < rank; d++) {
    const k = to.indexOf(d);
    axes.push(k >= 0 ? from[k] : rest[r++]);
  }
  return take(view, axes);
}

/** Drops the named axes, or all those of size 1. */
export function squeeze(view: View, axes?: number | readonly number[]): View {
  const { shape } = view;
  const rank = shape.length;
  const drop =
    axes === undefined ? allAxes(rank).filter((d) => shape[d] === 1) : normalizeAxes("squeeze", axes, rank);
  for (const d of drop) {
    if (shape[d] !== 1) {
      fail(
        "shape",
        "squeeze",
        `axis ${d} of ${list(shape)} has size ${shape[d]}.`,
        "Only axes of size 1 can be dropped.",
      );
    }
  }
  return take(
    view,
    allAxes(rank).filter((d) => !drop.includes(d)),
  );
}

/** New axes of size 1 (stride 0) at the given places of the RESULT. */
export function expandDims(view: View, axes: number | readonly number[]): View {
  const rank = view.shape.length + (typeof axes === "number" ? 1 : axes.length);
  const added = normalizeAxes("expandDims", axes, rank);
  const shape: number[] = [];
  const strides: number[] = [];
  for (let d = 0, k = 0; d < rank; d++) {
    const isNew = added.includes(d);
    shape.push(isNew ? 1 : view.shape[k]);
    strides.push(isNew ? 0 : view.strides[k++]);
  }
  checkShape("expandDims", shape);
  return { ...view, shape, strides };
}

/** Walks the named axes (all, if none is named) backwards: start at the last index, negate the stride. */
export function flip(view: View, axes?: number | readonly number[]): View {
  const rank = view.shape.length;
  const strides = [...view.strides];
  let offset = view.offset;
  for (const d of axes === undefined ? allAxes(rank) : normalizeAxes("flip", axes, rank)) {
    offset += (view.shape[d] - 1) * strides[d];
    strides[d] = 0 - strides[d];
  }
  return rearranged(view, [...view.shape], strides, offset);
}

// ---- sizes ------------------------------------------------------------------------------------------

/** Repeats size-1 and missing leading axes to reach `shape`, by stride 0. Shapes align at the right. */
export function broadcastTo(view: View, shape: readonly number[]): View {
  checkShape("broadcastTo", shape);
  const lead = shape.length - view.shape.length;
  if (lead < 0) {
    fail(
      "shape",
      "broadcastTo",
      `${list(view.shape)} has more axes than ${list(shape)}.`,
      "Broadcasting adds axes, it never drops them; index or squeeze them first.",
    );
  }
  const strides: number[] = [];
  for (let d = 0; d < shape.length; d++) {
    const n = d < lead ? 1 : view.shape[d - lead];
    if (n !== shape[d] && n !== 1) {
      fail(
        "shape",
        "broadcastTo",
        `${list(view.shape)} does not broadcast to ${list(shape)}: axis ${d} is ${n} against ${shape[d]}.`,
        "Sizes, aligned at the right, must be equal, or 1 in the source.",
      );
    }
    strides.push(d < lead || n !== shape[d] ? 0 : view.strides[d - lead]);
  }
  return { ...view, shape: [...shape], strides };
}

/** Elements i, i + offset of two axes, as a new last axis: its stride is the sum of the two. */
export function diagonal(view: View, offset = 0, axis1 = 0, axis2 = 1): View {
  const { shape, strides } = view;
  const rank = shape.length;
  if (rank < 2) {
    fail(
      "shape",
      "diagonal",
      `${list(shape)} has ${count(rank, "axis", "axes")}.`,
      "A diagonal needs two axes.",
    );
  }
  const a = normalizeAxis("diagonal", axis1, rank);
  const b = normalizeAxis("diagonal", axis2, rank);
  if (a === b) {
    fail(
      "axis",
      "diagonal",
      `axes ${axis1} and ${axis2} are the same axis.`,
      "A diagonal needs two different axes.",
    );
  }
  if (!Number.isSafeInteger(offset)) {
    fail(
      "value",
      "diagonal",
      `offset ${shown(offset)} is not an integer.`,
      "0 is the main diagonal, 1 the one above it.",
    );
  }
  const row = Math.max(-offset, 0);
  const column = Math.max(offset, 0);
  const length = Math.max(Math.min(shape[a] - row, shape[b] - column), 0);
  const rest = allAxes(rank).filter((d) => d !== a && d !== b);
  return rearranged(
    view,
    [...rest.map((d) => shape[d]), length],
    [...rest.map((d) => strides[d]), strides[a] + strides[b]],
    view.offset + row * strides[a] + column * strides[b],
  );
}

/** What a view has at each place of some axes, in C order: views of the other axes. */
export function placesOf(view: View, axes: readonly number[]): View[] {
  const stays = (_: number, d: number) => !axes.includes(d);
  const [shape, strides] = [view.shape.filter(stays), view.strides.filter(stays)];
  let offsets = [view.offset];
  for (const d of axes) {
    const steps = Array.from({ length: view.shape[d] }, (_, i) => i * view.strides[d]);
    offsets = offsets.flatMap((at) => steps.map((step) => at + step));
  }
  return offsets.map((offset) => ({ ...view, shape, strides, offset }));
}

/**
 * Every window of the given sizes: axis n shrinks to n - window + 1 starts, and the window's own axes are
 * appended with the same strides. Without `axes`, one window size for each axis of the view.
 */
export function slidingWindow(
  view: View,
  window: number | readonly number[],
  axes?: number | readonly number[],
): View {
  const rank = view.shape.length;
  const sizes = typeof window === "number" ? [window] : window;
  // An axis may be named twice: the second window then slides within the first one's starts.
  const along =
    axes === undefined
      ? allAxes(rank)
      : (typeof axes === "number" ? [axes] : axes).map((d) => normalizeAxis("slidingWindow", d, rank));
  if (sizes.length !== along.length) {
    fail(
      "shape",
      "slidingWindow",
      `${count(sizes.length, "window size", "window sizes")} for ${count(along.length, "axis", "axes")}.`,
      axes === undefined
        ? "Give a size for every axis, or name the axes."
        : "Give one size for each named axis.",
    );
  }
  const starts = [...view.shape];
  for (let k = 0; k < sizes.length; k++) {
    const w = sizes[k];
    const d = along[k];
    if (!Number.isSafeInteger(w) || w < 0) {
      fail("value", "slidingWindow", `window size ${w} is not a size.`, "Sizes are integers from 0.");
    }
    if (w > starts[d]) {
      fail(
        "shape",
        "slidingWindow",
        `a window of ${w} does not fit axis ${d} of size ${starts[d]}.`,
        "Use a window no longer than the axis.",
      );
    }
    starts[d] -= w - 1;
  }
  const shape = [...starts, ...sizes];
  checkShape("slidingWindow", shape);
  return { ...view, shape, strides: [...view.strides, ...along.map((d) => view.strides[d])] };
}

/**
 * Any shape, strides and offset over a storage of so many bytes, counted in elements: and so is what is wrong with them.
 * Where the offset is inherited it may lie between elements (foreign memory).
 */
export function asStridedElements(
  view: View,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  storageBytes: number,
): View {
  const { itemBytes } = view;
  const inherited = offset === view.offset / itemBytes;
  for (const x of inherited ? strides : [...strides, offset]) {
    if (Number.isSafeInteger(x) && Number.isSafeInteger(x * itemBytes)) continue;
    fail(
      "value",
      "asStrided",
      Number.isInteger(x)
        ? `${shown(x)} elements are too many.`
        : `${shown(x)} is no whole number of elements.`,
      "Strides and the offset count elements.",
    );
  }
  if (offset < 0) {
    fail("value", "asStrided", `offset ${offset} is not an offset.`, "Offsets are integers from 0.");
  }
  checkShape("asStrided", shape);
  if (strides.length !== shape.length) {
    fail(
      "shape",
      "asStrided",
      `shape ${list(shape)} and strides ${list(strides)} differ in length.`,
      "Give one stride for each axis.",
    );
  }
  checkElements(shape, strides, offset, Math.floor(storageBytes / itemBytes));
  const byteStrides = strides.map((s) => s * itemBytes);
  return asStrided(view, shape, byteStrides, inherited ? view.offset : offset * itemBytes);
}

/** Exact, also where the reach is beyond 2^53. */
function checkElements(
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  count: number,
): void {
  if (!Number.isInteger(offset)) return;
  const rule = `Every element must lie inside: shape ${list(shape)}, strides ${list(strides)}, offset ${offset}.`;
  if (shape.includes(0)) {
    const fact = `the empty view begins at element ${offset}, its storage has ${count}.`;
    if (offset > count) fail("bounds", "asStrided", fact, rule);
    return;
  }
  const steps = shape.map((n, d) => BigInt(strides[d]) * BigInt(n - 1));
  const low = steps.reduce((sum, x) => (x < 0n ? sum + x : sum), BigInt(offset));
  const high = steps.reduce((sum, x) => (x > 0n ? sum + x : sum), BigInt(offset));
  if (low >= 0n && high < BigInt(count)) return;
  const has = count === 0 ? "none" : `0 … ${count - 1}`;
  fail("bounds", "asStrided", `the view reaches elements ${low} … ${high}, its storage has ${has}.`, rule);
}

/**
 * Any shape, strides and offset over the same memory, all in bytes. The storage checks that it stays
 * inside.
 */
export function asStrided(
  view: View,
  shape: readonly number[],
  byteStrides: readonly number[],
  byteOffset: number = view.offset,
): View {
  checkShape("asStrided", shape);
  if (byteStrides.length !== shape.length) {
    fail(
      "shape",
      "asStrided",
      `shape ${list(shape)} and strides ${list(byteStrides)} differ in length.`,
      "Give one stride for each axis.",
    );
  }
  for (const stride of byteStrides) {
    if (!Number.isSafeInteger(stride)) {
      fail(
        "value",
        "asStrided",
        `stride ${written(stride)} is not an integer.`,
        "Strides are whole numbers of bytes.",
      );
    }
  }
  if (!Number.isSafeInteger(byteOffset) || byteOffset < 0) {
    fail(
      "value",
      "asStrided",
      `offset ${written(byteOffset)} is not an offset.`,
      "Offsets are integers from 0.",
    );
  }
  return { shape: [...shape], strides: [...byteStrides], offset: byteOffset, itemBytes: view.itemBytes };
}

// ---- helpers ----------------------------------------------------------------------------------------

function take(view: View, axes: readonly number[]): View {
  return { ...view, shape: axes.map((d) => view.shape[d]), strides: axes.map((d) => view.strides[d]) };
}

function allAxes(rank: number): number[] {
  return Array.from({ length: rank }, (_, d) => d);
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}
