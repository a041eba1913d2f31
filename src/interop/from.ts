/**
 * `from(x)`: a tensor of what other libraries hold, known by its shape and not by its class, so nothing is imported. One
 * row a kind of thing: what it is recognised by, and how it is read. Every property is read once (facts.ts), and what was
 * read is checked before memory is touched.
 */
import { arrayFacts, checkDType, type DType, dtypeOfArray, dtypes } from "../dtype.ts";
import { describe, fail, list, shown } from "../errors.ts";
import { checkOptionalDType, numberList, readList, readOptions } from "../ops/arguments.ts";
import { fromBuffer, fromData, type Nested, type Scalar, type TensorOptions } from "../ops/create.ts";
import { isTensor, liveTensor, type Tensor, wrap } from "../tensor.ts";
import { checkShape, extentOf, rowMajorStrides, sizeOf } from "../view/layout.ts";
import { copyStrided } from "./copy.ts";
import { call, type Facts, factsOf, isFunction, isObject } from "./facts.ts";
import { isGiven, viewOfGiven } from "./live.ts";
import { checkElements } from "./reach.ts";

/** The options of `from`. */
export interface FromOptions<D extends DType = DType> {
  /** Elements are converted to it; a Uint16Array asked for as f16 or bf16 is taken as bits. Default: what they are. */
  readonly dtype?: D;
  /** What stands for a null of an Arrow column; without it a null is an error. */
  readonly nulls?: Scalar;
}

/**
 * A tensor of what other libraries hold: a scijs ndarray, a zarrita chunk, a tfjs or onnxruntime tensor, an Arrow column,
 * ImageData or a canvas, a typed array, a Buffer, nested arrays, any iterable. Strides, offset and dtype stay as they are.
 * The elements are copied once, into the heap; only memory that `to.ndarray` or `to.zarrita` lent is not copied: the
 * tensor is a view of the one it came from.
 *
 *     from(ndarray(new Float32Array(6), [2, 3])); // f32 [2, 3]
 *     from(await zarr.get(array, [0, null])); // a chunk, with its strides
 *     from(session.outputs.logits); // onnxruntime
 *     from(canvas); // u8 [height, width, 4]
 *
 * @param x what another library holds
 * @param options `dtype` of the result; `nulls`: what stands for one
 * @returns a new tensor, or a view of the one whose memory was lent
 * @throws TensorError where it is nothing that is known
 * @example
 * from({ data: new Float32Array([1, 2, 3, 4]), shape: [2, 2], stride: [1, 2], offset: 0 }); // → f32 [[1, 3], [2, 4]]
 */
export function from<D extends DType>(x: unknown, options: FromOptions<D> & { readonly dtype: D }): Tensor<D>;
export function from(x: unknown, options?: FromOptions): Tensor;
export function from(x: unknown, options: FromOptions = {}): Tensor {
  const { dtype, nulls } = readOptions(op, options, '{ dtype: "f32" }', ["dtype", "nulls"]);
  checkOptionalDType(op, dtype);
  if (nulls !== undefined && !["number", "bigint", "boolean"].includes(typeof nulls)) {
    fail("value", op, `nulls is ${describe(nulls)}.`, "Give the number that stands for a null, such as NaN.");
  }
  if (isTensor(x)) return liveTensor(op, x).to(dtype ?? x.dtype);
  const made = foreign(x, { dtype, nulls });
  if (dtype === undefined || made.dtype === dtype) return made;
  try {
    return made.to(dtype);
  } finally {
    made.dispose();
  }
}

const op = "from";

interface Wanted {
  readonly dtype: DType | undefined;
  readonly nulls: Scalar | undefined;
}

function foreign(x: unknown, wanted: Wanted): Tensor {
  if (ArrayBuffer.isView(x)) return wrap(fromData(bytesOfView(x), optionsOf(x, wanted.dtype), op));
  if (!isObject(x)) return plainly(x, wanted.dtype);
  const facts = factsOf(op, x);
  if (Array.isArray(x)) return nested(x, wanted.dtype);
  if (isBuffer(x)) return wrap(fromData(bytesOfBuffer(x), {}, op));
  const kind = kinds.find(({ is }) => is(facts));
  if (kind !== undefined) return kind.read(facts, x, wanted);
  return fail("value", op, `cannot tell what this is: ${describe(x)}.`, known());
}

/** A number, a bigint or a boolean; anything else is refused by name. */
function plainly(x: unknown, dtype: DType | undefined): Tensor {
  if (["number", "bigint", "boolean"].includes(typeof x)) return nested(x, dtype);
  return fail("value", op, `cannot make a tensor of ${describe(x)}.`, known());
}

const known = () => `It takes ${kinds.map((kind) => kind.name).join(", ")}, typed arrays and nested arrays.`;

/* Typed arrays and buffers ------------------------------------------------------------------------------- */

/** A DataView is bytes. */
function bytesOfView(x: ArrayBufferView): ArrayBufferView {
  if (dtypeOfArray(x) !== null) return x;
  const { buffer, byteOffset, byteLength } = arrayFacts(x);
  return bytesIn(buffer, byteOffset, byteLength);
}

/** Bits of 16-bit floats stay bits; every other conversion is made by the caller. */
const bitsOf = (x: ArrayBufferView, dtype: DType | undefined): DType | null =>
  (dtype === "f16" || dtype === "bf16") && dtypeOfArray(x) === "u16" ? dtype : null;

function optionsOf(x: ArrayBufferView, wanted: DType | undefined): TensorOptions {
  const dtype = bitsOf(x, wanted);
  return dtype === null ? {} : { dtype };
}

const isBuffer = (x: object): x is ArrayBufferLike =>
  ["[object ArrayBuffer]", "[object SharedArrayBuffer]"].includes(tagOf(x));

/** As the host says it; a Proxy may refuse. */
function tagOf(x: object): string {
  try {
    return Object.prototype.toString.call(x);
  } catch {
    return "";
  }
}

function bytesOfBuffer(buffer: ArrayBufferLike): Uint8Array {
  return bytesIn(buffer, 0, undefined);
}

function bytesIn(buffer: ArrayBufferLike, offset: number, length: number | undefined): Uint8Array {
  try {
    return new Uint8Array(buffer, offset, length);
  } catch {
    return fail(
      "value",
      op,
      "this is no buffer, or one that is detached.",
      "Give an ArrayBuffer, a typed array or a Node Buffer.",
    );
  }
}

/** Nested arrays; the rows may be typed arrays, whose dtype stays. */
function nested(x: unknown, dtype: DType | undefined): Tensor {
  const rows = readList(op, "the data", x);
  if (rows !== null && rows.length > 0 && rows.every(isTyped)) return stacked(rows, dtype);
  return wrap(fromData((rows ?? x) as Nested, dtype === undefined ? {} : { dtype }, op));
}

const isTyped = (x: unknown): x is ArrayBufferView => ArrayBuffer.isView(x) && dtypeOfArray(x) !== null;

function stacked(rows: readonly ArrayBufferView[], wanted: DType | undefined): Tensor {
  const facts = rows.map((row) => {
    const dtype = ofArray(row, wanted);
    const { buffer, byteOffset, byteLength } = arrayFacts(row);
    return { dtype, count: byteLength / dtypes[dtype].bytes, raw: bytesIn(buffer, byteOffset, byteLength) };
  });
  const [{ dtype, count, raw }] = facts;
  const odd = facts.findIndex((row) => row.dtype !== dtype || row.count !== count);
  if (odd >= 0) {
    fail(
      "shape",
      op,
      `row ${odd} has ${facts[odd].count} elements of ${facts[odd].dtype}, row 0 has ${count} of ${dtype}.`,
      "Every row needs the same length and the same dtype.",
    );
  }
  const all = new Uint8Array(facts.length * raw.length);
  for (const [i, row] of facts.entries()) all.set(row.raw, i * raw.length);
  return wrap(fromBuffer(op, all, { dtype, shape: [facts.length, count] }));
}

/* Kinds ------------------------------------------------------------------------------------------------- */

interface Kind {
  /** As the remedy of an error says it. */
  readonly name: string;
  readonly is: (facts: Facts) => boolean;
  readonly read: (facts: Facts, x: object, wanted: Wanted) => Tensor;
}

const isNumber = (x: unknown): x is number => typeof x === "number";

/** The first that fits is taken. */
const kinds: readonly Kind[] = [
  {
    name: "tfjs tensors",
    is: (facts) => isFunction(facts("dataSync")) && isObject(facts("shape")),
    read: fromTfjs,
  },
  {
    name: "onnxruntime tensors",
    is: (facts) => isObject(facts("dims")) && typeof facts("type") === "string",
    read: fromOnnx,
  },
  {
    name: "ndarrays and zarrita chunks ({ data, shape, stride })",
    is: (facts) => isObject(facts("shape")) && isObject(facts("stride")) && isObject(facts("data")),
    read: (facts, _, { dtype }) => strided(facts, dtype),
  },
  {
    name: "ImageData",
    is: (facts) => isNumber(facts("width")) && isNumber(facts("height")) && isObject(facts("data")),
    read: (facts) => fromImage(facts),
  },
  {
    name: "Arrow columns",
    is: (facts) => isFunction(facts("toArray")) && isNumber(facts("nullCount")),
    read: fromArrow,
  },
  {
    name: "canvases",
    is: (facts) => isFunction(facts("getContext")) && isNumber(facts("width")) && isNumber(facts("height")),
    read: fromCanvas,
  },
  {
    name: "iterables",
    is: (facts) => isFunction(facts(Symbol.iterator)),
    read: (facts, x, { dtype }) => nested(listOf(facts, x), dtype),
  },
];

/* tfjs ---------------------------------------------------------------------------------------------------- */

const tfjsTypes: Readonly<Record<string, DType>> = {
  float32: "f32",
  int32: "i32",
  bool: "bool",
  complex64: "f32",
};

function fromTfjs(facts: Facts, x: object): Tensor {
  const type = facts("dtype");
  const dtype = typeof type === "string" && Object.hasOwn(tfjsTypes, type) ? tfjsTypes[type] : undefined;
  if (dtype === undefined) return failType("tfjs", type, Object.keys(tfjsTypes));
  const shape = [...numberList(op, "the shape", facts("shape"))];
  // Complex elements are pairs, as everywhere here: the last axis has the real and the imaginary part.
  if (type === "complex64") shape.push(2);
  const data = call(op, "dataSync", facts("dataSync"), x);
  return typed("tfjs", data, dtype, shape);
}

function failType(library: string, type: unknown, names: readonly string[]): never {
  return fail(
    "dtype",
    op,
    `no dtype holds the ${library} type ${shown(type)}.`,
    `Convert it there first; known are ${names.join(" ")}.`,
  );
}

/** Dense elements of a typed array. */
function typed(library: string, data: unknown, dtype: DType, shape: readonly number[]): Tensor {
  if (!ArrayBuffer.isView(data) || dtypeOfArray(data) === null) {
    return fail(
      "value",
      op,
      `the data of this ${library} tensor is ${describe(data)}.`,
      "It needs a typed array: bring the data to the processor's own memory first.",
    );
  }
  return wrap(fromData(data, { dtype, shape }, op));
}

/* onnxruntime --------------------------------------------------------------------------------------------- */

const onnxTypes: Readonly<Record<string, DType>> = {
  bool: "bool",
  uint8: "u8",
  int8: "i8",
  uint16: "u16",
  int16: "i16",
  uint32: "u32",
  int32: "i32",
  uint64: "u64",
  int64: "i64",
  float16: "f16",
  bfloat16: "bf16",
  float32: "f32",
  float64: "f64",
};

function fromOnnx(facts: Facts): Tensor {
  const type = facts("type");
  const dtype = typeof type === "string" && Object.hasOwn(onnxTypes, type) ? onnxTypes[type] : undefined;
  if (dtype === undefined) return failType("onnxruntime", type, Object.keys(onnxTypes));
  const location = facts("location");
  if (location !== undefined && location !== "cpu" && location !== "cpu-pinned") {
    fail(
      "value",
      op,
      `this onnxruntime tensor's data is not here: its location is ${shown(location)}.`,
      "Fetch it first: await t.getData().",
    );
  }
  return typed("onnxruntime", facts("data"), dtype, numberList(op, "dims", facts("dims")));
}

/* Memory with strides --------------------------------------------------------------------------------------- */

/** A view that reaches over so many times its own elements is gathered, instead of copied with all that lies between. */
const SPARSE = 4;

function strided(facts: Facts, wanted: DType | undefined): Tensor {
  const shape = numberList(op, "the shape", facts("shape"));
  const stride = numberList(op, "the stride", facts("stride"));
  const offset = facts("offset") ?? 0;
  const data = facts("data") as object;
  if (ArrayBuffer.isView(data)) {
    if (isGiven(data)) return viewOfGiven(op, data, shape, stride, offset);
    const dtype = ofArray(data, wanted);
    checkElements(op, shape, stride, offset, arrayFacts(data).byteLength / dtypes[dtype].bytes);
    return ofMemory(data, dtype, shape, stride, offset);
  }
  const entries = readList(op, "the data", data);
  if (entries !== null) {
    checkElements(op, shape, stride, offset, entries.length);
    return ofEntries(entries, shape, stride, offset, wanted);
  }
  const bytes = packedBools(data);
  if (bytes === null) {
    return fail(
      "value",
      op,
      `the data is ${describe(data)}: no typed array and no array.`,
      "Data that lies behind functions (get and set) has to be copied to a typed array first.",
    );
  }
  checkElements(op, shape, stride, offset, bytes.length);
  const made = ofMemory(bytes, "u8", shape, stride, offset);
  try {
    return made.notEqual(0);
  } finally {
    made.dispose();
  }
}

function ofArray(data: ArrayBufferView, wanted: DType | undefined): DType {
  const dtype = dtypeOfArray(data);
  if (dtype === null) return fail("dtype", op, "the data is a DataView.", "Give a typed array.");
  return bitsOf(data, wanted) ?? dtype;
}

function ofMemory(
  data: ArrayBufferView,
  dtype: DType,
  shape: readonly number[],
  stride: readonly number[],
  offset: number,
): Tensor {
  const { bytes } = dtypes[dtype];
  const reach = extentOf(shape, stride);
  if (reach !== null && reach.max - reach.min > SPARSE * sizeOf(shape)) {
    const dense = new dtypes[dtype].Array(sizeOf(shape));
    const bits = dtypeOfArray(data) === "f16" ? new Uint16Array(dense.buffer) : dense;
    copyStrided({ data: bits, shape }, { data: sameBits(data), shape, stride, offset });
    return wrap(fromData(dense, { dtype, shape }, op));
  }
  return wrap(
    fromBuffer(op, data, {
      dtype,
      shape,
      byteStrides: stride.map((s) => s * bytes),
      byteOffset: offset * bytes,
    }),
  );
}

/** Half floats as their bits: nobody shall round them. */
function sameBits(data: ArrayBufferView): ArrayBufferView {
  if (dtypeOfArray(data) !== "f16") return data;
  const { buffer, byteOffset, byteLength } = arrayFacts(data);
  return new Uint16Array(buffer, byteOffset, byteLength / 2);
}

/** An ndarray over an array of JavaScript's own. */
function ofEntries(
  entries: readonly unknown[],
  shape: readonly number[],
  stride: readonly number[],
  offset: number,
  dtype: DType | undefined,
): Tensor {
  const flat = new Array<unknown>(Math.min(sizeOf(shape), entries.length * MOST_REPEATS));
  if (sizeOf(shape) > flat.length) {
    fail(
      "shape",
      op,
      `${list(shape)} for ${entries.length} entries of data.`,
      "Give the data as a typed array.",
    );
  }
  copyStrided(
    { data: flat, shape, stride: rowMajorStrides(shape) },
    { data: entries, shape, stride, offset },
  );
  return wrap(fromData(flat as Nested, dtype === undefined ? { shape } : { shape, dtype }, op));
}

/** How often strides of 0 may repeat the entries of a list: more would be a list too long for JavaScript. */
const MOST_REPEATS = 1024;

/** zarrita's booleans: a class around bytes, with `get`. null: it is something else. */
function packedBools(data: object): Uint8Array | null {
  const facts = factsOf(op, data);
  const buffer = facts("buffer");
  const isClass = isFunction(facts("get")) && facts("BYTES_PER_ELEMENT") === 1 && isObject(buffer);
  if (!isClass || !isBuffer(buffer)) return null;
  const [from, length] = [facts("byteOffset"), facts("byteLength")];
  return isNumber(from) && isNumber(length) ? bytesIn(buffer, from, length) : null;
}

/* Pictures -------------------------------------------------------------------------------------------------- */

function fromImage(facts: Facts): Tensor {
  const [width, height] = [facts("width"), facts("height")] as [number, number];
  const data = facts("data");
  if (!ArrayBuffer.isView(data) || dtypeOfArray(data) === null) {
    return fail("value", op, `the picture's data is ${describe(data)}.`, "It needs a typed array.");
  }
  checkShape(op, [height, width]);
  const dtype = checkDType(op, dtypeOfArray(data));
  const count = arrayFacts(data).byteLength / dtypes[dtype].bytes;
  const said = facts("channels");
  const channels = isNumber(said) ? said : width * height === 0 ? 4 : count / (width * height);
  if (
    !(Number.isInteger(channels) && channels >= 1 && channels <= 4) ||
    channels * width * height !== count
  ) {
    fail(
      "shape",
      op,
      `${count} elements are no picture of ${width} × ${height}${isNumber(said) ? ` with ${said} channels` : ""}.`,
      "A picture has width · height · channels of them, and 1 to 4 channels.",
    );
  }
  return wrap(fromData(data, { shape: [height, width, channels] }, op));
}

function fromCanvas(facts: Facts, canvas: object): Tensor {
  const context = call(op, "getContext", facts("getContext"), canvas, "2d");
  const read = isObject(context) ? factsOf(op, context)("getImageData") : undefined;
  if (!isFunction(read)) {
    return fail(
      "value",
      op,
      "this canvas has no 2d context.",
      "A canvas with a WebGL or WebGPU context is drawn to a 2d one first.",
    );
  }
  const picture = call(op, "getImageData", read, context, 0, 0, facts("width"), facts("height"));
  if (!isObject(picture))
    return fail("value", op, `the canvas gave ${describe(picture)}.`, "It has to give ImageData.");
  return fromImage(factsOf(op, picture));
}

/* Columns and iterables --------------------------------------------------------------------------------------- */

function fromArrow(facts: Facts, column: object, { dtype, nulls }: Wanted): Tensor {
  const nullCount = facts("nullCount") as number;
  if (nullCount > 0 && nulls === undefined) {
    fail(
      "value",
      op,
      `${nullCount} elements of this column are null.`,
      "Say what stands for them: from(column, { nulls: NaN }).",
    );
  }
  if (nullCount > 0) {
    const values = isFunction(facts(Symbol.iterator)) ? listOf(facts, column) : [];
    const filled = values.map((v) => (v === null || v === undefined ? nulls : v));
    return nested(filled, dtype ?? (typeof filled[0] === "number" ? "f64" : undefined));
  }
  const all = call(op, "toArray", facts("toArray"), column);
  if (ArrayBuffer.isView(all)) return wrap(fromData(bytesOfView(all), optionsOf(all, dtype), op));
  const rows = readList(op, "the column", all);
  if (rows === null) return fail("value", op, `the column gave ${describe(all)}.`, "It needs numbers.");
  return nested(rows, dtype ?? (typeof rows[0] === "number" ? "f64" : undefined));
}

/** Elements that an iterable may give: one without an end is told, and does not fill memory. */
const MOST_ITERATED = 2 ** 22;

function listOf(facts: Facts, x: object): unknown[] {
  // The iterator was read; asking for it again would be another one.
  const iterator = call(op, "iterator", facts(Symbol.iterator), x);
  const of = isObject(iterator) ? factsOf(op, iterator) : undefined;
  const next = of?.("next");
  if (!isFunction(next)) {
    return fail("value", op, "its iterator has no next.", "Give an iterable, such as a Set.");
  }
  const all: unknown[] = [];
  for (;;) {
    const step = call(op, "next", next, iterator);
    if (!isObject(step))
      return fail("value", op, `its iterator gave ${describe(step)}.`, "Give an iterable.");
    const result = factsOf(op, step);
    if (result("done")) return all;
    if (all.length >= MOST_ITERATED) {
      const end = of?.("return");
      if (isFunction(end)) call(op, "return", end, iterator);
      fail(
        "value",
        op,
        `the iterable gave more than ${MOST_ITERATED} elements.`,
        "Collect it in a typed array, which is taken as it is.",
      );
    }
    all.push(result("value"));
  }
}
