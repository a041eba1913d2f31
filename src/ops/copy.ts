/** Strided copies: any layouts, any dtype pair, overlap-safe. The destination's other bytes stay untouched. */
import { fail, list } from "../errors.ts";
import type { Strided } from "../run/call.ts";
import { sameLayout } from "../run/plans.ts";
import { sameShape, sizeOf } from "../view/layout.ts";
import { overlaps } from "../view/overlap.ts";
import { reshape } from "../view/reshape.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import { copyCall, copyForm, execute, orderedForm } from "./execute.ts";
import { allocate, checkAlive, checkWritable, withTemporary } from "./strided.ts";
import { tellCopy } from "./tell.ts";

/** dst[…] = src[…], src broadcast to dst's shape; as if src had been copied first. */
export function assign(operation: string, dst: Strided, src: Strided): void {
  checkWritable(operation, dst);
  checkAlive(operation, src);
  const view = sameShape(dst.frame.shape, src.frame.shape)
    ? src.frame
    : broadcastFor(operation, dst.frame, src.frame);
  copyElements(operation, dst, view === src.frame ? src : { ...src, frame: view });
}

/** ggml's copy: elements in C order of each side's own shape; only the counts must agree. */
export function assignFlat(operation: string, dst: Strided, src: Strided): void {
  checkWritable(operation, dst);
  checkAlive(operation, src);
  const have = sizeOf(src.frame.shape);
  const want = sizeOf(dst.frame.shape);
  if (have !== want) {
    fail(
      "shape",
      operation,
      `the element counts differ: source ${list(src.frame.shape)} has ${have}, destination ${list(dst.frame.shape)} has ${want}.`,
      "Both sides are read in row-major order; slice or reshape one of them until the counts agree.",
    );
  }
  copyElements(operation, dst, src);
}

/** A dense copy in the given dtype, in C order or (`keepOrder`) in the source's memory order, as NumPy's astype. */
export function copyTo<D extends Strided["dtype"]>(
  operation: string,
  src: Strided,
  dtype: D,
  keepOrder = false,
): Strided<D> {
  checkAlive(operation, src);
  const form = keepOrder ? orderedForm : copyForm;
  return execute(form, copyCall(operation, null, src, dtype)) as Strided<D>;
}

/** Equal element counts are given. */
function copyElements(operation: string, dst: Strided, src: Strided): void {
  if (sizeOf(dst.frame.shape) === 0) return;
  if (dst.storage.origin !== src.storage.origin || !overlaps(dst.frame, src.frame)) {
    copyApart(operation, dst, src);
    return;
  }
  const isItself = dst.frame.offset === src.frame.offset && sameLayout(dst.frame, src.frame);
  if (dst.dtype === src.dtype && isItself) return;
  throughCopy(operation, dst, src, "source and destination overlap, so the source is copied first");
}

/** By way of a copy of the source, in C order. */
function throughCopy(operation: string, dst: Strided, src: Strided, why: string): void {
  const dense = allocate(operation, src.dtype, src.frame.shape);
  tellCopy(operation, dense.storage.bytes, why);
  withTemporary(dense, () => {
    copyApart(operation, dense, src);
    copyApart(operation, dst, { ...dense, frame: contiguousView(dst.frame.shape, src.frame.itemBytes) });
  });
}

/** The two sides share no element. */
function copyApart(operation: string, dst: Strided, src: Strided): void {
  const [to, from] = [dst.frame, src.frame];
  const isPlain = sameShape(to.shape, from.shape);
  const view = isPlain ? from : reshape(from, to.shape);
  const turned = view === null ? reshape(to, from.shape) : null;
  if (view !== null) execute(copyForm, copyCall(operation, dst, isPlain ? src : { ...src, frame: view }));
  else if (turned !== null) execute(copyForm, copyCall(operation, { ...dst, frame: turned }, src));
  else {
    const seen = `no strides see the source's ${list(from.shape)} as ${list(to.shape)}`;
    throughCopy(operation, dst, src, `${seen}, so it is brought into row-major order first`);
  }
}

function broadcastFor(operation: string, dst: View, src: View): View {
  // As NumPy's assignment: leading axes of size 1 that the destination has not got are nothing to repeat.
  const extra = src.shape.length - dst.shape.length;
  const spare = extra > 0 && src.shape.slice(0, extra).every((n) => n === 1) ? extra : 0;
  const fitting =
    spare === 0 ? src : { ...src, shape: src.shape.slice(spare), strides: src.strides.slice(spare) };
  try {
    return broadcastTo(fitting, dst.shape);
  } catch {
    return fail(
      "shape",
      operation,
      `a source of shape ${list(src.shape)} does not broadcast to the destination's ${list(dst.shape)}.`,
      "Sizes align at the right; each must be equal, or 1 in the source.",
    );
  }
}
