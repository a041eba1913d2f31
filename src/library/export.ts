/** Copying out: a tensor's elements into memory that belongs to somebody else, with its own byte strides. */
import { checkDType, type DType, dtypes } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import { checkReach } from "../memory/storage.ts";
import { numberList, readOptions } from "../ops/arguments.ts";
import { bytesOf, foreignView } from "../ops/create.ts";
import { liveTensor, stridedOf, type Tensor } from "../tensor.ts";
import { selfOverlaps } from "../view/overlap.ts";
import type { View } from "../view/view.ts";
import { scoped } from "./scoped.ts";

/** How elements are to lie in foreign memory. */
export interface ToBufferOptions {
  /** What the buffer holds; elements are converted. Default: the tensor's. */
  readonly dtype?: DType;
  /** Bytes from one index to the next, per axis; default: dense, row-major. */
  readonly byteStrides?: readonly number[];
  /** Byte position of the first element; default 0. */
  readonly byteOffset?: number;
}

/**
 * Writes the elements into a buffer, as `fromBuffer` with the same options reads them; bytes between them stay as they
 * are. Gives the buffer back.
 *
 *     toBuffer(t, pixels, { dtype: "u8", byteStrides: [4 * width, 4], byteOffset: 1 }); // the green of RGBA
 *
 * @param t a tensor of any layout
 * @param buffer an ArrayBuffer, a typed array or a DataView
 * @param options `dtype`, `byteStrides` (default: without gaps) and `byteOffset`
 * @returns the buffer
 * @throws TensorError where an element would lie outside the buffer
 * @example
 * toBuffer(tensor([1, 2]), new Uint8Array(4), { dtype: "u8", byteStrides: [2] }); // → [1, 0, 2, 0]
 */
export function toBuffer<B extends ArrayBufferLike | ArrayBufferView>(
  t: Tensor,
  buffer: B,
  options: ToBufferOptions = {},
): B {
  const op = "toBuffer";
  options = readOptions(op, options, '{ dtype: "u8", byteOffset: 1 }', [
    "dtype",
    "byteStrides",
    "byteOffset",
  ]);
  const { byteOffset: offset = 0 } = options;
  const asked = options.dtype === undefined ? undefined : checkDType(op, options.dtype);
  const given = options.byteStrides === undefined ? null : numberList(op, "byteStrides", options.byteStrides);
  const live = liveTensor(op, t);
  const { shape } = live;
  const dtype = asked ?? live.dtype;
  const { bytes: itemBytes } = dtypes[dtype];
  const to = foreignView(op, shape, given, offset, itemBytes);
  checkReach(op, to, { bytes: bytesOf(op, buffer).byteLength });
  if (selfOverlaps(to)) {
    fail(
      "value",
      op,
      `with byteStrides ${list(to.strides)} elements of ${list(shape)} would lie on each other.`,
      "Give strides that keep them apart.",
    );
  }
  return scoped(op, () => {
    const from = stridedOf(live.to(dtype).contiguous());
    // Nobody else's code has run since the bytes were counted, and none runs until they are written.
    const target = bytesOf(op, buffer);
    copyRows(from.storage.raw(from.frame.offset, live.size * itemBytes), target, to);
    return buffer;
  });
}

/** Dense elements to where the view says: a row at a time where rows are dense. */
function copyRows(dense: Uint8Array, target: Uint8Array, { shape, strides, offset, itemBytes }: View): void {
  if (shape.includes(0)) return;
  // Axes at the end that lie as they are read.
  let inner = shape.length;
  let run = itemBytes;
  while (inner > 0 && strides[inner - 1] === run) run *= shape[--inner];
  const index = new Array<number>(inner).fill(0);
  let at = offset;
  for (let from = 0; ; from += run) {
    if (run <= 8) for (let b = 0; b < run; b++) target[at + b] = dense[from + b];
    else target.set(dense.subarray(from, from + run), at);
    let d = inner - 1;
    for (; d >= 0; d--) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}
