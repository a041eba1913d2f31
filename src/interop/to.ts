/**
 * `to.*`: a tensor as other libraries hold it. Nothing is imported: where a class of theirs is needed it is passed in.
 * What is lent (`ndarray`, and `{ copy: false }`) is a typed array over the heap: writes are seen on both sides, it ends
 * when the tensor is disposed (or its scope ends), and where the heap is not shared, as in pages without isolation, also
 * when the heap grows. It keeps its tensor from being collected. What is copied is the receiver's own, in an ArrayBuffer.
 */
import type { ArrayOf, DType, ScalarOf } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { toRGBA } from "../library/image.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import { type Elements, liveTensor, type Tensor } from "../tensor.ts";
import { rowMajorStrides } from "../view/layout.ts";
import { call, construct, factsOf, guarded, isFunction, isObject } from "./facts.ts";
import { liveParts } from "./live.ts";

/** Whether memory is lent. */
export interface CopyOption {
  /** true: memory of the receiver's own. false: the tensor's, as long as it lives. */
  readonly copy?: boolean;
}

/** Memory with a shape, as scijs ndarray has it: stride and offset count elements of `data`. */
export interface NdarrayParts<D extends DType = DType> {
  /** The elements' memory. */
  readonly data: ArrayOf<D>;
  /** The sizes of the axes. */
  readonly shape: number[];
  /** Elements from one index to the next, per axis. */
  readonly stride: number[];
  /** Element at index [0, …, 0]. */
  readonly offset: number;
}

type NdarrayConstructor<R> = (data: never, shape: number[], stride: number[], offset: number) => R;

/**
 * For scijs ndarray: the tensor's own memory with its strides, not a copy ({ copy: true } makes one). With the package's
 * function the result is one of its views, without it the parts of one.
 *
 *     import ndarray from "ndarray";
 *     to.ndarray(t, { ndarray }).set(0, 1, 7); // t.get(0, 1) is 7
 *     const { data, shape, stride, offset } = to.ndarray(t);
 *
 * @param t a tensor of any layout
 * @param options `copy`: its own memory; `ndarray`: the package's function
 * @returns its parts, or what the function makes of them; over t's memory unless copied
 * @example
 * to.ndarray(zeros([2, 3]).T).stride; // → [1, 3]
 */
export function ndarray<R>(t: Tensor, options: CopyOption & { readonly ndarray: NdarrayConstructor<R> }): R;
export function ndarray<D extends DType>(t: Tensor<D>, options?: CopyOption): NdarrayParts<D>;
export function ndarray(
  t: Tensor,
  options: CopyOption & { readonly ndarray?: NdarrayConstructor<unknown> } = {},
): unknown {
  const op = "to.ndarray";
  const { copy, ndarray: make } = readOptions(op, options, "{ copy: true }", ["copy", "ndarray"]);
  checkFlag(op, "copy", copy);
  if (make !== undefined && !isFunction(make)) {
    fail("value", op, `ndarray is ${describe(make)}.`, 'Give the function of the package "ndarray".');
  }
  refuseHalf(op, liveTensor(op, t).dtype, ["f16", "bf16"]);
  const parts = copy === true ? copiedParts(t) : liveParts(op, t);
  return make === undefined
    ? parts
    : call(op, "ndarray", make, undefined, parts.data, parts.shape, parts.stride, parts.offset);
}

/** A chunk as zarrita has it. */
export interface ZarritaChunk<D extends DType = DType> {
  /** The elements' memory. */
  readonly data: ArrayOf<D>;
  /** The sizes of the axes. */
  readonly shape: number[];
  /** Elements from one index to the next, per axis. */
  readonly stride: number[];
}

/**
 * For zarrita's `set`: a chunk, a copy in row-major order. { copy: false } lends the tensor's memory with its strides,
 * where its first element is the first in memory.
 *
 *     await zarr.set(array, [0, null], to.zarrita(t));
 *
 * @param t a tensor of any layout
 * @param options `copy`: false lends t's memory
 * @returns a chunk
 * @example
 * to.zarrita(tensor([[1, 2], [3, 4]]).T).data; // → [1, 3, 2, 4]
 */
export function zarrita<D extends DType>(t: Tensor<D>, options: CopyOption = {}): ZarritaChunk<D> {
  const op = "to.zarrita";
  const { copy } = readOptions(op, options, "{ copy: false }", ["copy"]);
  checkFlag(op, "copy", copy);
  refuseHalf(op, liveTensor(op, t).dtype, hasFloat16() ? ["bf16"] : ["f16", "bf16"]);
  if (copy !== false) {
    const { data, shape, stride } = copiedParts(t);
    return { data: asHalf(data, t.dtype), shape, stride } as ZarritaChunk<D>;
  }
  const { data, shape, stride, offset } = liveParts(op, t);
  if (offset !== 0) {
    fail(
      "value",
      op,
      `a chunk begins with its first element, and this view's is element ${offset} of its memory.`,
      "Take a copy, which is the default.",
    );
  }
  return { data: asHalf(data, t.dtype), shape, stride } as ZarritaChunk<D>;
}

/** What of tfjs is needed: the module, or its core. */
export interface Tfjs<R> {
  /** What makes a tensor there. */
  tensor(values: never, shape: never, dtype: never): R;
}

/** tfjs has three dtypes; what fits one of them without a loss becomes it. */
const tfjsTypes: Readonly<Partial<Record<DType, readonly [string, DType]>>> = {
  bool: ["bool", "bool"],
  u8: ["int32", "i32"],
  i8: ["int32", "i32"],
  u16: ["int32", "i32"],
  i16: ["int32", "i32"],
  i32: ["int32", "i32"],
  f16: ["float32", "f32"],
  bf16: ["float32", "f32"],
  f32: ["float32", "f32"],
};

/**
 * For tfjs: `tf.tensor` of a copy. Small integers become int32 and half floats float32; f64 and 64-bit integers do not
 * fit, and are refused. { copy: false } lends the memory of a dense f32 or i32 tensor to its backend.
 *
 *     import * as tf from "@tensorflow/tfjs-core";
 *     to.tfjs(t, tf);
 *
 * @param t a tensor of any layout
 * @param tf the module, or what else has `tensor`
 * @param options `copy`: false lends t's memory
 * @returns what `tf.tensor` makes
 * @throws TensorError for dtypes that tfjs has not
 * @example
 * to.tfjs(tensor([1, 2]), { tensor: (values) => values }); // → [1, 2]
 */
export function tfjs<R>(t: Tensor, tf: Tfjs<R>, options: CopyOption = {}): R {
  const op = "to.tfjs";
  const { copy } = readOptions(op, options, "{ copy: false }", ["copy"]);
  checkFlag(op, "copy", copy);
  const make = memberOf(op, tf, "tensor", "the module of tfjs: to.tfjs(t, tf)");
  const { dtype, shape } = liveTensor(op, t);
  const row = tfjsTypes[dtype];
  if (row === undefined) {
    return fail(
      "dtype",
      op,
      `tfjs has no dtype that holds ${dtype}.`,
      'Say which one it shall be: t.to("f32") or t.to("i32").',
    );
  }
  const [name, as] = row;
  const values = copy === false && as === dtype ? t.data : converted(t, as);
  return call(op, "tensor", make, tf, values, [...shape], name) as R;
}

function converted(t: Tensor, dtype: DType): ArrayBufferView {
  if (t.dtype === dtype) return t.toTypedArray();
  const as = t.to(dtype);
  try {
    return as.toTypedArray();
  } finally {
    as.dispose();
  }
}

/** onnxruntime's Tensor class. */
export type OnnxTensorClass<R> = new (type: never, data: never, dims: never) => R;

const onnxTypes: Readonly<Partial<Record<DType, string>>> = {
  bool: "bool",
  u8: "uint8",
  i8: "int8",
  u16: "uint16",
  i16: "int16",
  u32: "uint32",
  i32: "int32",
  u64: "uint64",
  i64: "int64",
  f16: "float16",
  f32: "float32",
  f64: "float64",
};

/**
 * For onnxruntime: `new Tensor(type, data, dims)` of a copy, with the class or the module given. { copy: false } lends the
 * memory of a dense tensor.
 *
 *     import * as ort from "onnxruntime-web";
 *     await session.run({ input: to.onnx(t, ort) });
 *
 * @param t a tensor of any layout
 * @param library the module, or its class Tensor
 * @param options `copy`: false lends t's memory
 * @returns a tensor of onnxruntime's
 * @example
 * class OnnxTensor {
 *   constructor(type = "", data = {}, dims = {}) {
 *     Object.assign(this, { type, data, dims });
 *   }
 * }
 * to.onnx(tensor([1, 2]), OnnxTensor); // → { type: float32, data: [1, 2], dims: [2] }
 */
export function onnx<R>(
  t: Tensor,
  library: OnnxTensorClass<R> | { readonly Tensor: OnnxTensorClass<R> },
  options: CopyOption = {},
): R {
  const op = "to.onnx";
  const { copy } = readOptions(op, options, "{ copy: false }", ["copy"]);
  checkFlag(op, "copy", copy);
  const Class = isFunction(library)
    ? library
    : memberOf(op, library, "Tensor", "onnxruntime's module or its Tensor: to.onnx(t, ort)");
  const { dtype, shape } = liveTensor(op, t);
  const type = onnxTypes[dtype];
  if (type === undefined) {
    return fail("dtype", op, `onnxruntime's tensors do not hold ${dtype}.`, 'Convert it first: t.to("f32").');
  }
  const data = asHalf(copy === false ? t.data : t.toTypedArray(), dtype);
  return construct(op, "Tensor", Class, [type, data, [...shape]]) as R;
}

/** What of an Arrow library is needed: flechette's module, or apache-arrow's. */
export type ArrowLibrary =
  | { readonly columnFromArray: unknown; readonly fixedSizeList: unknown }
  | { readonly makeVector: unknown };

/**
 * For Arrow: a column of a vector's elements, copied; with flechette also of a matrix, whose rows become lists of one
 * size. The library is the module of @uwdata/flechette or of apache-arrow.
 *
 *     import * as arrow from "@uwdata/flechette";
 *     arrow.tableFromColumns({ score: to.arrow(t, arrow) });
 *
 * @param t a vector, or a matrix
 * @param library the module of @uwdata/flechette or apache-arrow
 * @returns a column of the library's
 * @example
 * to.arrow(tensor([1, 2]), { makeVector: Array.from }); // → [1, 2]
 */
export function arrow(t: Tensor, library: ArrowLibrary): unknown {
  const op = "to.arrow";
  const remedy = "the module of @uwdata/flechette or apache-arrow: to.arrow(t, flechette)";
  const facts = isObject(library) ? factsOf(op, library) : failLibrary(op, library, remedy);
  const { dtype, shape } = liveTensor(op, t);
  refuseHalf(op, dtype, ["f16", "bf16"]);
  const column = facts("columnFromArray");
  if (isFunction(column) && shape.length === 2) return listColumn(op, t, library, facts, column);
  if (shape.length !== 1) {
    fail(
      "shape",
      op,
      `${list(shape)} is no vector.`,
      "A column has one axis; with flechette a matrix makes lists.",
    );
  }
  if (isFunction(column)) {
    const type = call(op, "type", arrowType(op, dtype, facts), library);
    return call(op, "columnFromArray", column, library, elementsOf(t), type, { useBigInt: true });
  }
  const vector = facts("makeVector");
  if (!isFunction(vector)) return failLibrary(op, library, remedy);
  return call(op, "makeVector", vector, library, t.toTypedArray());
}

/** Booleans are booleans there, not bytes. */
const elementsOf = (t: Tensor): unknown => (t.dtype === "bool" ? t.toArray() : t.toTypedArray());

const arrowTypes: Readonly<Partial<Record<DType, string>>> = {
  ...onnxTypes,
};

function arrowType(op: string, dtype: DType, facts: (key: string) => unknown) {
  const make = facts(arrowTypes[dtype] ?? "");
  return isFunction(make)
    ? make
    : fail("dtype", op, `this Arrow library has no type for ${dtype}.`, 'Convert it first: t.to("f32").');
}

function listColumn(
  op: string,
  t: Tensor,
  library: unknown,
  facts: (key: string) => unknown,
  column: (...args: unknown[]) => unknown,
): unknown {
  const size = facts("fixedSizeList");
  if (!isFunction(size))
    return fail("value", op, "this library has no fixedSizeList.", 'Make a column of each: t.slice(":", 0).');
  const width = t.shape[1];
  const all = elementsOf(t) as unknown[] & Float64Array;
  const rows =
    t.dtype === "bool"
      ? all
      : Array.from({ length: t.shape[0] }, (_, i) => all.subarray(i * width, (i + 1) * width));
  const type = call(
    op,
    "fixedSizeList",
    size,
    library,
    call(op, "type", arrowType(op, t.dtype, facts), library),
    width,
  );
  return call(op, "columnFromArray", column, library, rows, type, { useBigInt: true });
}

/* Pictures --------------------------------------------------------------------------------------------------- */

type ImageDataClass = new (data: Uint8ClampedArray<ArrayBuffer>, width: number, height: number) => ImageData;

/**
 * ImageData of a picture: [height, width] or [height, width, 1 to 4], as `image.toRGBA` takes it. A copy: ImageData
 * refuses shared memory. Where the host has no such class (Node), pass one.
 *
 *     context.putImageData(to.imageData(picture), 0, 0);
 *
 * @param t a picture
 * @param options `ImageData`: the class, where the host has none
 * @returns ImageData of its own
 * @throws TensorError where the host has no ImageData and none is given
 * @example
 * to.imageData(tensor([[1]]));
 * // ✗ to.imageData: this host has no ImageData.
 * //     Pass a class, { ImageData }, or use image.toRGBA(t), which gives the bytes.
 */
export function imageData(t: Tensor, options: { readonly ImageData?: ImageDataClass } = {}): ImageData {
  const op = "to.imageData";
  const given = readOptions(op, options, "{ ImageData }", ["ImageData"]);
  const Class = given.ImageData ?? (globalThis as { ImageData?: ImageDataClass }).ImageData;
  if (!isFunction(Class)) {
    return fail(
      "value",
      op,
      Class === undefined ? "this host has no ImageData." : `ImageData is ${describe(Class)}.`,
      "Pass a class, { ImageData }, or use image.toRGBA(t), which gives the bytes.",
    );
  }
  const bytes = toRGBA(t);
  return construct(op, "ImageData", Class, [bytes, t.shape[1], t.shape[0]]) as ImageData;
}

/** What a canvas needs: those of pages, OffscreenCanvas, and the packages that draw in Node. */
export interface CanvasLike {
  /** In pixels. */
  width: number;
  /** In pixels. */
  height: number;
  /** What draws. */
  getContext(kind: "2d"): unknown;
}

/**
 * Draws a picture on a canvas, which takes the picture's size.
 *
 *     to.canvas(image.resize(picture, [240, 320]), document.querySelector("canvas"));
 *
 * @param t a picture
 * @param onto the canvas
 * @throws TensorError where it has no 2d context
 * @example
 * to.canvas(tensor([[1]]), { width: 0, height: 0, getContext: () => null });
 * // ✗ to.canvas: this canvas has no 2d context.
 * //     Give one that has no WebGL or WebGPU context yet.
 */
export function canvas(t: Tensor, onto: CanvasLike): void {
  const op = "to.canvas";
  const getContext = memberOf(op, onto, "getContext", "a canvas");
  const bytes = toRGBA(t);
  const [height, width] = t.shape;
  guarded(op, "setting the size of the canvas", () => {
    onto.width = width;
    onto.height = height;
  });
  const context = call(op, "getContext", getContext, onto, "2d");
  const facts = isObject(context) ? factsOf(op, context) : undefined;
  const [create, draw] = [facts?.("createImageData"), facts?.("putImageData")];
  if (!isFunction(create) || !isFunction(draw)) {
    fail("value", op, "this canvas has no 2d context.", "Give one that has no WebGL or WebGPU context yet.");
  }
  const picture = call(op, "createImageData", create, context, width, height);
  const data = isObject(picture) ? factsOf(op, picture)("data") : undefined;
  if (!ArrayBuffer.isView(data) || data.byteLength < bytes.length) {
    fail("value", op, `the canvas gave ${describe(data)} to draw on.`, "It has to give ImageData.");
  }
  guarded(op, "drawing", () => (data as Uint8ClampedArray).set(bytes));
  call(op, "putImageData", draw, context, picture, 0, 0);
}

/* Plain things ------------------------------------------------------------------------------------------------- */

/**
 * The elements' bytes in row-major order, a copy, little-endian: for files, hashes and sockets.
 *
 * @param t a tensor of any layout
 * @returns a new array
 * @example
 * to.bytes(tensor([1, 256], { dtype: "u16" })); // → [1, 0, 0, 1]
 */
export function bytes(t: Tensor): Uint8Array<ArrayBuffer> {
  liveTensor("to.bytes", t);
  const { buffer, byteOffset, byteLength } = t.toTypedArray() as Uint8Array<ArrayBuffer>;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

interface BufferClass {
  from(buffer: ArrayBuffer, byteOffset: number, length: number): Uint8Array;
}

/**
 * The same as a Buffer of Node's.
 *
 * @param t a tensor of any layout
 * @returns a new Buffer
 * @example
 * to.buffer(tensor([1, 256], { dtype: "u16" })).length; // → 4
 */
export function buffer(t: Tensor): Uint8Array {
  const all = bytes(t);
  const { Buffer: Class } = globalThis as { Buffer?: BufferClass };
  if (Class === undefined) {
    return fail("value", "to.buffer", "this host has no Buffer.", "Use to.bytes(t), a Uint8Array.");
  }
  return Class.from(all.buffer, all.byteOffset, all.byteLength);
}

/**
 * Nested arrays: what `t.toArray()` gives.
 *
 * @param t a tensor of any layout
 * @returns arrays of numbers, bigints or booleans: a copy
 * @example
 * to.nested(tensor([[1, 2], [3, 4]])); // → [[1, 2], [3, 4]]
 */
export function nested<D extends DType>(t: Tensor<D>): Elements<ScalarOf<D>> {
  liveTensor("to.nested", t);
  return t.toArray();
}

/* What they share ------------------------------------------------------------------------------------------------ */

function copiedParts(t: Tensor): NdarrayParts {
  return { data: t.toTypedArray(), shape: [...t.shape], stride: rowMajorStrides(t.shape), offset: 0 };
}

const hasFloat16 = (): boolean => isFunction((globalThis as { Float16Array?: unknown }).Float16Array);

/** Bits of f16 as half floats, where the host has them. */
function asHalf(data: ArrayBufferView, dtype: DType): ArrayBufferView {
  if (dtype !== "f16" || !hasFloat16()) return data;
  const { Float16Array: Half } = globalThis as unknown as { Float16Array: typeof Uint16Array };
  return new Half(data.buffer, data.byteOffset, data.byteLength / 2);
}

/** A Uint16Array of their bits would be taken for whole numbers. */
function refuseHalf(op: string, dtype: DType, refused: readonly DType[]): void {
  if (!refused.includes(dtype)) return;
  fail("dtype", op, `no typed array holds ${dtype} there.`, 'Convert it first: t.to("f32").');
}

function memberOf(op: string, library: unknown, name: string, remedy: string) {
  if (!isObject(library) && !isFunction(library)) return failLibrary(op, library, remedy);
  const member = factsOf(op, library)(name);
  return isFunction(member) ? member : failLibrary(op, library, remedy);
}

function failLibrary(op: string, library: unknown, remedy: string): never {
  return fail("value", op, `the second argument is ${describe(library)}.`, `Pass ${remedy}.`);
}
