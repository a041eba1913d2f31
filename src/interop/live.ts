import { fail } from "../errors.ts";
import { live, type Tensor, viewOf } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { selfOverlaps } from "../view/overlap.ts";
import { extent } from "../view/view.ts";
import { checkElements } from "./reach.ts";

interface Given {
  readonly tensor: Tensor;
  /** Byte of the tensor's storage at which the array begins. */
  readonly start: number;
  readonly bytes: number;
}

const given = new WeakMap<object, Given>();

/** A tensor's memory as scijs has it: strides and offset count elements of `data`. */
export interface LiveParts {
  readonly data: ArrayBufferView;
  readonly shape: number[];
  readonly stride: number[];
  readonly offset: number;
}

/** The tensor's memory as it lies, without a copy: from its first to its last element. */
export function liveParts(op: string, t: Tensor): LiveParts {
  const { dtype, storage, frame } = live(op, t);
  const { shape, strides, itemBytes } = frame;
  const { start, end } = extent(frame);
  if ([frame.offset, ...strides].some((bytes) => bytes % itemBytes !== 0)) {
    fail(
      "value",
      op,
      `no typed array lies as this tensor does: its byte strides or its byte offset are no multiples of ${itemBytes}.`,
      "Take a copy: { copy: true }.",
    );
  }
  const data = storage.cells(dtype, start, (end - start) / itemBytes);
  given.set(data, { tensor: t, start, bytes: end - start });
  return {
    data,
    shape: [...shape],
    stride: strides.map((bytes) => bytes / itemBytes),
    offset: sizeOf(shape) === 0 ? 0 : (frame.offset - start) / itemBytes,
  };
}

/** Is it an array that `liveParts` gave? */
export const isGiven = (data: object): boolean => given.has(data);

/** A view of the tensor whose memory the array is; it passes the gate as every view does. */
export function viewOfGiven(
  op: string,
  data: ArrayBufferView,
  shape: readonly number[],
  stride: readonly number[],
  offset: unknown,
): Tensor {
  const { tensor, start, bytes } = given.get(data)!;
  if (tensor.isDisposed) {
    fail(
      "disposed",
      op,
      "this array lies in the memory of a tensor that has been disposed.",
      "Keep the tensor as long as the array, or take a copy: { copy: true }.",
    );
  }
  const { itemBytes } = live(op, tensor).frame;
  // Not beyond the array itself, though the storage may go on.
  checkElements(op, shape, stride, offset, bytes / itemBytes);
  const strides = stride.map((s) => s * itemBytes);
  return viewOf(
    op,
    tensor,
    () => ({ shape, strides, offset: start + offset * itemBytes, itemBytes }),
    selfOverlaps,
  );
}
