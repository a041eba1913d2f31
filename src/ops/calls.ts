/**
 * Elementwise calls that are made again. What follows from shapes, strides and dtypes alone is kept with the function, so
 * that the same call on tensors that lie elsewhere goes straight to its kernel.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import { paramValue } from "../frontend/infer.ts";
import { createStorage } from "../memory/storage.ts";
import { misfitOf } from "../optimize/size.ts";
import type { PlannedWalk } from "../run/kernel.ts";
import { sizeOf } from "../view/layout.ts";
import { overlaps, sameElements } from "../view/overlap.ts";
import { contiguousView, isContiguous, type View } from "../view/view.ts";
import { sameShape, sameStrides } from "./copy.ts";
import type { Callable, FlatCall, KnownCall } from "./function.ts";
import { filled, type Strided } from "./strided.ts";

export interface ElementwiseOptions {
  /** dtype of the result; default: what the function makes of its operands' dtypes. */
  readonly dtype?: DType | undefined;
  /** Write here instead of into a new tensor; results are converted to its dtype. */
  readonly out?: Strided | undefined;
  /** Operands are converted to it first: the function computes in it, called or compiled. */
  readonly compute?: DType | undefined;
}

/** The call, if it needs no plan; null where it does, or where somebody wants to hear of the plan. */
export function callAgain(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  options: ElementwiseOptions,
): Strided | null {
  if (engine().listener !== null || callable.template === null) return null;
  return (
    flatCall(operation, callable, operands, options) ?? walkAgain(operation, callable, operands, options)
  );
}

/** The common case: all operands, and the output, are dense in C order and of one shape. null where it is not so. */
function flatCall(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  options: ElementwiseOptions,
): Strided | null {
  const e = engine();
  const { out } = options;
  const known = callable.flat;
  const call =
    known !== null && isSame(known, operands, options)
      ? known
      : prepareFlat(operation, callable, operands, options);
  if (call === null) return null;
  if (out !== undefined) {
    if (out.storage.disposed) return null;
    for (let k = 0; k < operands.length; k++) {
      // In place is fine, element upon element; any other overlap is not.
      const { storage, frame } = operands[k];
      const inPlace = frame.offset === out.frame.offset && frame.itemBytes === out.frame.itemBytes;
      if (storage === out.storage && !inPlace && overlaps(out.frame, frame)) return null;
    }
    e.kernels.flat(call.program, out, operands, call.size, call.params);
    return out;
  }
  const storage = createStorage(e.heap, call.size * call.made.itemBytes, operation);
  const made = { dtype: call.program.dtype, storage, frame: call.made, readOnly: false };
  return filled(made, () => e.kernels.flat(call.program, made, operands, call.size, call.params));
}

/** The same shapes, strides and dtypes make the same call, wherever the operands begin. */
function isSame(call: KnownCall, operands: readonly Strided[], { out, dtype }: ElementwiseOptions): boolean {
  if (call.asked !== dtype || call.frames.length !== operands.length) return false;
  for (let k = 0; k < operands.length; k++) {
    if (operands[k].dtype !== call.dtypes[k] || !sameStrides(operands[k].frame, call.frames[k])) return false;
  }
  if (out === undefined) return call.out === null;
  return call.out !== null && out.dtype === call.dtype && !out.readOnly && sameStrides(out.frame, call.out);
}

function prepareFlat(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  { out, dtype }: ElementwiseOptions,
): FlatCall | null {
  const first = operands[0].frame;
  if (!isContiguous(first)) return null;
  for (let k = 1; k < operands.length; k++) {
    const { frame } = operands[k];
    if (frame !== first && !(sameShape(frame.shape, first.shape) && isContiguous(frame))) return null;
  }
  const program = callable.programFor(operands, dtype, operation);
  if (misfitOf(program) !== null) return null;
  if (out !== undefined) {
    if (out.dtype !== program.dtype || out.readOnly) return null;
    if (!sameShape(out.frame.shape, first.shape) || !isContiguous(out.frame)) return null;
  }
  const { bytes } = dtypes[program.dtype];
  // Axes of size 0 or 1 may have any stride in a view; a new tensor's are the plain ones.
  const reuse = first.itemBytes === bytes && first.offset === 0 && first.shape.every((n) => n > 1);
  const call: FlatCall = {
    asked: dtype,
    dtype: program.dtype,
    program,
    params: callable.values.map((v, p) => paramValue(v, program.params[p], operation)),
    frames: operands.map((t) => t.frame),
    dtypes: operands.map((t) => t.dtype),
    out: out?.frame ?? null,
    made: reuse ? first : contiguousView(first.shape, bytes),
    size: sizeOf(first.shape),
  };
  callable.flat = call;
  return call;
}

/** Would writing the output change elements of an operand that are still to be read? In place they are not. */
export const clashes = (out: Strided, operand: Strided, view: View): boolean =>
  operand.storage === out.storage && !sameElements(out.frame, view) && overlaps(out.frame, view);

/** A walk that was made: where its operands begin, the output first. */
export interface Ran {
  readonly planned: PlannedWalk;
  readonly params: readonly Value[];
  readonly at: readonly number[];
}

/** Walks that are kept for each function. */
const MOST_WALKS = 4;

/** A call like one before, on any layout. null where there was none. */
function walkAgain(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  options: ElementwiseOptions,
): Strided | null {
  const e = engine();
  for (const call of callable.walks) {
    if (call.simd !== e.kernels.simd || !isSame(call, operands, options)) continue;
    const { out } = options;
    if (out !== undefined) {
      if (out.storage.disposed) return null;
      for (const t of operands) {
        if (clashes(out, t, t.frame)) return null;
      }
    }
    const { made, dtype, shifts } = call;
    const result = out ?? {
      dtype,
      storage: createStorage(e.heap, sizeOf(made.shape) * made.itemBytes, operation),
      frame: made,
      readOnly: false,
    };
    const at = [result.storage.address + result.frame.offset + shifts[0]];
    for (let k = 0; k < operands.length; k++) {
      const { storage, frame } = operands[k];
      at.push(storage.address + frame.offset + shifts[k + 1]);
    }
    if (out !== undefined) e.kernels.walk(call.planned, at, call.params);
    else filled(result, () => e.kernels.walk(call.planned, at, call.params));
    return result;
  }
  return null;
}

export function remember(
  callable: Callable,
  operands: readonly Strided[],
  { out, dtype }: ElementwiseOptions,
  result: Strided,
  ran: Ran | null,
): void {
  if (ran === null || engine().listener !== null) return;
  const all = [result, ...operands];
  callable.walks.unshift({
    asked: dtype,
    frames: operands.map((t) => t.frame),
    dtypes: operands.map((t) => t.dtype),
    out: out?.frame ?? null,
    dtype: result.dtype,
    made: result.frame,
    planned: ran.planned,
    params: ran.params,
    shifts: all.map((t, k) => ran.at[k] - t.storage.address - t.frame.offset),
    simd: engine().kernels.simd,
  });
  if (callable.walks.length > MOST_WALKS) callable.walks.pop();
}
