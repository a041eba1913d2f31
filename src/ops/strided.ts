/**
 * What operations work on: a dtype, a storage and a view of it. `Tensor` is one; operations know nothing of the
 * class, take these and give back these. A result holds its storage (see Storage): whoever gets it releases it.
 */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail } from "../errors.ts";
import { createStorage } from "../memory/storage.ts";
import type { Strided } from "../run/call.ts";
import { broadcastViews } from "../view/broadcast.ts";
import { checkShape, sizeOf } from "../view/layout.ts";
import { contiguousView, type View } from "../view/view.ts";

/** A new dense tensor of any content, laid out as `view` says (C order if it is not given). */
export function allocate<D extends DType>(
  operation: string,
  dtype: D,
  shape: readonly number[],
  view?: View,
  zeroed = false,
): Strided<D> {
  checkShape(operation, shape);
  const layout = view ?? contiguousView(shape, dtypes[dtype].bytes);
  const { heap, tracer } = engine();
  const bytes = sizeOf(shape) * dtypes[dtype].bytes;
  const storage =
    tracer?.storage(operation, bytes, zeroed) ?? createStorage(heap, bytes, operation, { zeroed });
  return { dtype, storage, frame: layout, readOnly: false };
}

/** The operands' common shape, and the view of each in it. */
export const commonViews = (operation: string, operands: readonly Strided[]) =>
  broadcastViews(
    operation,
    operands.map((t) => t.frame),
  );

/** Fills a new tensor; if that fails nothing is left behind. */
export function filled<D extends DType>(made: Strided<D>, fill: () => void): Strided<D> {
  try {
    fill();
  } catch (error) {
    made.storage.release();
    throw error;
  }
  return made;
}

/** Runs `fn` with a tensor that is let go afterwards, whatever happens. */
export function withTemporary<D extends DType, R>(made: Strided<D>, fn: (made: Strided<D>) => R): R {
  try {
    return fn(made);
  } finally {
    made.storage.release();
  }
}

/** Runs `fn`, which may call a user's function, while these tensors cannot be freed by it. */
export function holding<R>(tensors: readonly Strided[], fn: () => R): R {
  for (const { storage } of tensors) storage.retain();
  try {
    return fn();
  } finally {
    for (const { storage } of tensors) storage.release();
  }
}

/** Another view of the same storage, which it holds. */
export function share<D extends DType>(of: Strided<D>, view: View, readOnly = of.readOnly): Strided<D> {
  of.storage.retain();
  return { dtype: of.dtype, storage: of.storage, frame: view, readOnly };
}

export function checkAlive(operation: string, t: Strided): void {
  if (t.storage.disposed) failDisposed(operation);
}

export function failDisposed(operation: string): never {
  return fail(
    "disposed",
    operation,
    "this tensor has been disposed.",
    "Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it.",
  );
}

export function checkWritable(operation: string, t: Strided): void {
  checkAlive(operation, t);
  if (!t.readOnly) return;
  fail(
    "readonly",
    operation,
    "the destination is a read-only view: several of its indices share one element.",
    "Broadcast and window views are read-only. Write to the tensor they view, or to a copy made with clone().",
  );
}
