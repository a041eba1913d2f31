/**
 * Tensors on their way to another thread. A tensor belongs to the thread that made it: its memory is that thread's heap,
 * which only that thread frees. What crosses is a message of plain data: dtype, shape and the elements, in memory that all
 * threads see where the host has such, and the receiver makes a tensor of its own of it.
 */
import { type ArrayOf, checkDType, type DType, dtypes } from "../dtype.ts";
import { describe, fail, isRevoked, list } from "../errors.ts";
import { checkFlag, numberList, readOptions } from "../ops/arguments.ts";
import { fromBuffer } from "../ops/create.ts";
import { live, type Tensor, wrap } from "../tensor.ts";
import { checkShape, sizeOf } from "../view/layout.ts";

/** What `postMessage` and `structuredClone` can take of a tensor. */
export interface TensorMessage<D extends DType = DType> {
  /** The kind of the elements. */
  readonly dtype: D;
  /** The sizes of the axes. */
  readonly shape: readonly number[];
  /** The elements in row-major order; f16 and bf16 as their raw bits. */
  readonly data: ArrayOf<D>;
}

/** How elements travel. */
export interface MessageOptions {
  /**
   * Whether the elements are copied to shared memory, which is posted without another copy and which all who receive it
   * see. Default: where the host shares memory. false: to a buffer of their own, which can be transferred.
   */
  readonly shared?: boolean;
  /**
   * No copy at all: `data` is the tensor's own `data`, and who receives it sees and changes the tensor's elements. Keep
   * the tensor until everybody is done with it. Only of contiguous tensors, and where memory is shared.
   */
  readonly live?: boolean;
}

/**
 * A tensor as a message to another thread, which makes a tensor of it with `fromMessage`.
 *
 *     worker.postMessage(toMessage(t)); // here
 *     parentPort.on("message", (m) => fromMessage(m).sum()); // there
 *
 * The message holds a copy: the tensor may be changed or disposed at once, and nobody has to free the message.
 *
 * @param t a tensor of any layout
 * @param options `shared`: into memory that all threads see; `live`: the tensor's own memory, without a copy
 * @returns plain data for postMessage or structuredClone
 * @example
 * toMessage(tensor([[1, 2]])).shape; // → [1, 2]
 */
export function toMessage<D extends DType>(t: Tensor<D>, options: MessageOptions = {}): TensorMessage<D> {
  const op = "toMessage";
  const { shared, live: isLive } = readOptions(op, options, "{ shared: false }", ["shared", "live"]);
  checkFlag(op, "shared", shared);
  checkFlag(op, "live", isLive);
  const { dtype, frame, storage } = live(op, t);
  const shape = [...frame.shape];
  if (isLive === true) {
    if (!canShare() || !storage.heap.shared || shared === false) {
      fail(
        "value",
        op,
        shared === false
          ? "live is true and shared is false; a tensor's own memory is shared or stays here."
          : "this host does not share memory between threads, so no other thread can see the tensor's own.",
        "Leave out live, and the message holds a copy. A page shares memory when it is cross-origin isolated.",
      );
    }
    return { dtype, shape, data: t.data };
  }
  if (shared === true && !canShare()) {
    fail(
      "value",
      op,
      "this host does not share memory between threads.",
      "Leave out shared, and the message is copied where it must be. A page shares memory when it is cross-origin isolated.",
    );
  }
  const data = room(op, dtype, sizeOf(shape), shared ?? canShare());
  const dense = t.contiguous();
  try {
    (data as { set(from: unknown): void }).set(dense.data);
  } finally {
    dense.dispose();
  }
  return { dtype, shape, data };
}

/**
 * The tensor that a message of `toMessage` describes: a new one in this thread's heap, with a copy of the elements.
 *
 *     const t = fromMessage(structuredClone(toMessage(arange(3))));
 *
 * @param message what `toMessage` made
 * @returns a new contiguous tensor
 * @throws TensorError where it is no such message
 * @example
 * fromMessage(structuredClone(toMessage(tensor([1, 2])))); // → f32 [1, 2]
 */
export function fromMessage<D extends DType = DType>(message: TensorMessage<D>): Tensor<D> {
  const op = "fromMessage";
  const remedy = "Give what toMessage(t) made, as it was received.";
  if (typeof message !== "object" || message === null || isRevoked(message)) {
    return fail("value", op, `expected a message, got ${describe(message)}.`, remedy);
  }
  const { dtype: named, shape: sizes, data } = message;
  const dtype = checkDType(op, named) as D;
  const shape = numberList(op, "the shape", sizes);
  checkShape(op, shape);
  const wanted = dtypes[dtype].Array.name;
  const found = arrayName(data);
  if (found !== wanted) {
    fail("value", op, `the data of ${dtype} is a ${wanted}, got ${found ?? describe(data)}.`, remedy);
  }
  const count = byteLength.call(data) / dtypes[dtype].bytes;
  if (count !== sizeOf(shape)) {
    fail("shape", op, `${count} elements for shape ${list(shape)}.`, remedy);
  }
  return wrap(fromBuffer(op, data, { dtype, shape })) as Tensor as Tensor<D>;
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
/** The getters that no property of a typed array's own stands before. */
const getter = (name: PropertyKey) =>
  Object.getOwnPropertyDescriptor(typedArray, name)!.get as (this: unknown) => unknown;
const byteLength = getter("byteLength") as (this: unknown) => number;
const tag = getter(Symbol.toStringTag) as (this: unknown) => string | undefined;

/** `Float32Array`; undefined: it is no typed array. */
const arrayName = (value: unknown): string | undefined => tag.call(value);

/** Memory outside the heap. */
function room<D extends DType>(op: string, dtype: D, size: number, shared: boolean): ArrayOf<D> {
  const bytes = size * dtypes[dtype].bytes;
  try {
    const buffer = shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
    return new dtypes[dtype].Array(buffer, 0, size) as ArrayOf<D>;
  } catch {
    return fail("memory", op, `the host grants no buffer of ${bytes} bytes.`, "Send it in slices.");
  }
}

function canShare(): boolean {
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated;
  return typeof SharedArrayBuffer !== "undefined" && isolated !== false;
}
