/**
 * Matrices that algorithms work on: copies in f32 or f64 with rows at a comfortable distance, a stack of them at once
 * (one for each batch), blocks of them, and the products and small routines on blocks. Shapes are (batch, rows, columns).
 */
import { empty, zeros } from "../../api.ts";
import { type DType, dtypes, isHalf } from "../../dtype.ts";
import { engine } from "../../engine.ts";
import { describe, fail, list } from "../../errors.ts";
import { runRoutine } from "../../ops/execute.ts";
import { accumulateProduct, replaceByProduct } from "../../ops/matmul.ts";
import { tellCopy as tell } from "../../ops/tell.ts";
import type { Strided } from "../../run/call.ts";
import type { Routine } from "../../run/routine.ts";
import { liveTensor, stridedOf, type Tensor, wrap } from "../../tensor.ts";
import { sizeOf } from "../../view/layout.ts";
import type { LinalgDType } from "../../wasm/routines/linalg/kit.ts";

export type { LinalgDType };

/** A stack of matrices or blocks; somebody else holds the storage. */
export interface Stack extends Strided<LinalgDType> {
  readonly dtype: LinalgDType;
}

/* Arguments -------------------------------------------------------------------------------------------------- */

/** A tensor whose last two axes are matrices, in a dtype that algorithms know; integers become f64. */
export function matrixArgument(operation: string, t: unknown, name = "a"): Tensor {
  const live = liveTensor(operation, t);
  if (live.rank < 2) {
    fail(
      "shape",
      operation,
      `${name} is ${list(live.shape)}, which has no matrix.`,
      "Matrices lie in the last two axes; axes before them are batches.",
    );
  }
  linalgDType(operation, [live]);
  return live;
}

export function squareArgument(operation: string, t: unknown): Tensor {
  const live = matrixArgument(operation, t);
  const [rows, columns] = live.shape.slice(-2);
  if (rows !== columns) {
    fail(
      "shape",
      operation,
      `the matrix is ${rows} × ${columns}: ${list(live.shape)}.`,
      `${operation} is for square matrices; the last two sizes must be equal.`,
    );
  }
  return live;
}

/** f32 if all are, else f64: integers and booleans count as f64. */
export function linalgDType(operation: string, tensors: readonly Tensor[]): LinalgDType {
  for (const { dtype } of tensors) {
    if (!isHalf(dtype)) continue;
    fail("dtype", operation, `${dtype} is too coarse for it.`, 'Convert first: to("f32") or to("f64").');
  }
  return tensors.every((t) => t.dtype === "f32") ? "f32" : "f64";
}

/** linalgDType of one or two operands, as far as it is known. */
export type LinalgOf<A extends DType, B extends DType = "f32"> = A extends "f32"
  ? B extends "f32"
    ? "f32"
    : "f64"
  : "f64";

/** An option that is true or false, checked. */
export function flagOption(operation: string, name: string, value: unknown, standard: boolean): boolean {
  if (value === undefined) return standard;
  if (typeof value === "boolean") return value;
  return fail("value", operation, `${name} is ${describe(value)}.`, "Use true or false.");
}

export const batchOf = (t: Tensor): readonly number[] => t.shape.slice(0, -2);

/** The rounding unit: distance from 1 to the next number. */
export const epsilonOf = (dtype: LinalgDType): number => (dtype === "f32" ? 2 ** -23 : 2 ** -52);

/* Stacks ----------------------------------------------------------------------------------------------------- */

/** Rows 64 bytes apart from where they would crowd into few sets of a cache. */
function rowElements(columns: number, bytes: number): number {
  if (columns * bytes < 512) return columns;
  const rounded = (64 / bytes) * Math.ceil((columns * bytes) / 64);
  return (rounded * bytes) % 512 === 0 ? rounded + 64 / bytes : rounded;
}

/** New matrices of any content (or zeros), for this scope. `dense`: rows follow one another. */
export function newStack(
  dtype: LinalgDType,
  [batch, rows, columns]: readonly [number, number, number],
  options: { readonly zeroed?: boolean; readonly dense?: boolean } = {},
): Tensor<LinalgDType> {
  const width = options.dense ? columns : rowElements(columns, dtypes[dtype].bytes);
  const shape = [batch, rows, width];
  const made = options.zeroed ? zeros(shape, { dtype }) : empty(shape, { dtype });
  return width === columns ? made : made.slice(":", ":", [0, columns]);
}

/** A copy to work on: `t` with its batch axes as one. */
export function copyStack(operation: string, t: Tensor, dtype: LinalgDType): Tensor<LinalgDType> {
  const [rows, columns] = t.shape.slice(-2);
  const made = newStack(dtype, [sizeOf(batchOf(t)), rows, columns]);
  tell(operation, t.size * dtypes[dtype].bytes, "it works on its matrices in place, so on a copy");
  asBatches(made, batchOf(t)).assign(t);
  return made;
}

/** Tells whoever listens why `t` is about to be copied to. */
export function tellCopy(operation: string, t: Tensor, why: string): void {
  tell(operation, t.size * stridedOf(t).frame.itemBytes, why);
}

/** A result as it is handed out: dense, where it was worked on with gaps between rows or lies the other way. */
export function denseResult(operation: string, t: Tensor): Tensor {
  if (t.isContiguous && stridedOf(t).storage.bytes === t.size * stridedOf(t).frame.itemBytes) return t;
  tellCopy(operation, t, "the result is handed out dense, without the gaps and turns it was worked on with");
  return t.clone();
}

/** (batch, rows, columns) with the batch axis cut into several; always a view. */
export function asBatches<D extends LinalgDType>(t: Tensor<D>, batch: readonly number[]): Tensor<D> {
  return t.view(...batch, ...t.shape.slice(-2));
}

/** Rows r0 to r1 and columns c0 to c1 of every matrix. */
export function block(t: Stack, r0: number, r1: number, c0: number, c1: number): Stack {
  const { frame } = t;
  const [, row, column] = frame.strides;
  return {
    ...t,
    frame: {
      ...frame,
      shape: [frame.shape[0], r1 - r0, c1 - c0],
      offset: frame.offset + r0 * row + c0 * column,
    },
  };
}

export function transposed(t: Stack): Stack {
  const { frame } = t;
  const [batch, rows, columns] = frame.shape;
  const [step, row, column] = frame.strides;
  return { ...t, frame: { ...frame, shape: [batch, columns, rows], strides: [step, column, row] } };
}

/** Rows, and if asked columns, in reverse order. */
export function flipped(t: Stack, both: boolean): Stack {
  const { frame } = t;
  const [, rows, columns] = frame.shape;
  const [step, row, column] = frame.strides;
  const offset = frame.offset + (rows - 1) * row + (both ? (columns - 1) * column : 0);
  return { ...t, frame: { ...frame, strides: [step, -row, both ? -column : column], offset } };
}

/** One matrix of the stack. */
export function matrixOf(t: Stack, index: number): Stack {
  const { frame } = t;
  const offset = frame.offset + index * frame.strides[0];
  return { ...t, frame: { ...frame, shape: [1, frame.shape[1], frame.shape[2]], offset } };
}

/** A tensor of a stack's view, for elementwise operations; held by this scope. */
export function asTensor(t: Stack): Tensor<LinalgDType> {
  t.storage.retain();
  return wrap({ ...t, frame: { ...t.frame } });
}

/** The identity in every matrix of a stack that is zero. */
export function setIdentity(t: Tensor): void {
  t.diagonal({ axis1: -2, axis2: -1 }).fill(1);
}

/* Products --------------------------------------------------------------------------------------------------- */

/** c -= a·b. */
export function subtractProduct(c: Stack, a: Stack, b: Stack): void {
  accumulateProduct("subtract", c, a, b);
}

/** A new a·b, for this scope. */
export function productOf(a: Stack, b: Stack): Tensor<LinalgDType> {
  const out = newStack(a.dtype, [a.frame.shape[0], a.frame.shape[1], b.frame.shape[2]]);
  replaceByProduct(stridedOf(out), a, b);
  return out;
}

/* Routines --------------------------------------------------------------------------------------------------- */

/** Asks for a step of an algorithm; for whoever listens it is a part of what the user called. */
export function step<P>(
  routine: Routine<P>,
  params: P,
  inputs: readonly Strided[],
  outs: readonly Strided[],
): void {
  runRoutine(routine, { operation: engine().group ?? routine.name, params, inputs, outs });
}
