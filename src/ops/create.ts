/** New tensors: from values, from rules, and from foreign memory with byte strides. */
import {
  arrayFacts,
  checkDType,
  convert,
  type DType,
  dtypeOfArray,
  dtypes,
  fromScalar,
  isInteger,
  type TypedArray,
  type Value,
} from "../dtype.ts";
import { defaultDType, engine } from "../engine.ts";
import { describe, fail, list, shown } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import { checkReach, createStorage } from "../memory/storage.ts";
import { fromStart, type Strided } from "../run/call.ts";
import { checkShape, MAX_RANK, rowMajorStrides } from "../view/layout.ts";
import { selfOverlaps } from "../view/overlap.ts";
import { resolveShape } from "../view/reshape.ts";
import { extent, type View } from "../view/view.ts";
import { checkOptionalDType, entries, numberList, readList, readOptions } from "./arguments.ts";
import { assign } from "./copy.ts";
import { prepare } from "./execute.ts";
import { allocate, filled, withTemporary } from "./strided.ts";

/** One value: a number, a bigint or a boolean. */
export type Scalar = number | bigint | boolean;
/** A value, or arrays of them as deep as there are axes. */
export type Nested = Scalar | readonly Nested[];

/** What creation may be told. */
export interface CreateOptions {
  /** The kind of the elements; default: f32 or what `configure` says, or what the values say. */
  readonly dtype?: DType;
}
/** The options of `tensor`. */
export interface TensorOptions extends CreateOptions {
  /** Sizes of the axes; default: as the arrays are nested. */
  readonly shape?: readonly number[];
}

/** From a scalar, nested arrays (all rows of one length) or a typed array. */
export function fromData(data: Nested | ArrayBufferView, given: TensorOptions, op = "tensor"): Strided {
  const options = readOptions(op, given, '{ dtype: "f64" }', ["dtype", "shape"]);
  checkOptionalDType(op, options.dtype);
  if (ArrayBuffer.isView(data)) return fromTypedArray(op, data as TypedArray, options);
  const { shape, flat } = readNested(op, data);
  const dtype = options.dtype ?? guessDType(op, flat);
  if (options.dtype === undefined) checkLiterals(op, flat, dtype);
  return fromScalars(
    op,
    flat,
    options.shape === undefined ? shape : shapeFor(op, options.shape, flat.length),
    dtype,
  );
}

/** As many elements as the shape has, in row-major order. */
export function fromScalars(
  op: string,
  flat: readonly Scalar[],
  shape: readonly number[],
  dtype: DType,
): Strided {
  const values = flat.map((x) => fromScalar(op, x, dtype));
  const out = allocate(op, dtype, shape);
  writeAll(out, values);
  return out;
}

/** The elements of nested arrays in their order, and the shape they have. Every length and element is read once. */
export function readNested(op: string, data: unknown): { shape: readonly number[]; flat: Scalar[] } {
  const shape: number[] = [];
  const path: number[] = [];
  const flat: Scalar[] = [];
  let hasScalar = false;
  const budget = entries();
  const read = (level: unknown): void => {
    const d = path.length;
    const row = readList(op, "the data", level, budget);
    if (row === null) {
      if (d < shape.length) failRagged(op, path, describe(level), `an array of length ${shape[d]}`);
      if (typeof level !== "number" && typeof level !== "bigint" && typeof level !== "boolean") {
        fail(
          "dtype",
          op,
          `expected numbers, found ${describe(level)}${where(path)}.`,
          "Elements are numbers, bigints or booleans, in nested arrays or typed arrays.",
        );
      }
      hasScalar = true;
      flat.push(level);
      return;
    }
    const { length } = row;
    if (d === shape.length) {
      if (hasScalar) failRagged(op, path, `an array of length ${length}`, "a scalar");
      shape.push(length);
      // Deeper than any tensor: too many axes, or an array inside itself.
      if (shape.length > MAX_RANK) checkShape(op, shape);
    } else if (length !== shape[d]) {
      failRagged(op, path, `an array of length ${length}`, `one of length ${shape[d]}`);
    }
    for (let i = 0; i < length; i++) {
      path.push(i);
      read(row[i]);
      path.pop();
    }
  };
  read(data);
  return { shape, flat };
}

const where = (path: readonly number[]) => (path.length === 0 ? "" : ` at ${list(path)}`);

function failRagged(op: string, path: readonly number[], found: string, expected: string): never {
  return fail(
    "shape",
    op,
    `the nested arrays are ragged: ${found}${where(path)}, expected ${expected}.`,
    "Every row of one level needs the same length; pad the short ones.",
  );
}

function guessDType(op: string, flat: readonly Scalar[]): DType {
  if (flat.length === 0) return defaultDType();
  const kinds = new Set(flat.map((x) => typeof x));
  if (kinds.size > 1 && kinds.has("bigint")) {
    fail("dtype", op, "numbers and bigints are mixed.", 'Use one kind, or say { dtype: "i64" }.');
  }
  if (kinds.has("bigint")) return "i64";
  return kinds.has("number") ? defaultDType() : "bool";
}

/** Decimal digits that an f32 keeps of every number. */
const F32_DIGITS = 7;

/**
 * Nobody has asked for f32 who writes an integer that it cannot hold: 16777217 would be 16777216, and a time in
 * milliseconds another minute. Numbers of few digits, such as 1e12, are taken for what they are: rounded.
 */
function checkLiterals(op: string, flat: readonly Scalar[], dtype: DType): void {
  if (dtype !== "f32") return;
  for (const x of flat) {
    if (typeof x !== "number" || Math.fround(x) === x || !Number.isSafeInteger(x)) continue;
    if (String(Math.abs(x)).replace(/0+$/, "").length <= F32_DIGITS) continue;
    fail(
      "dtype",
      op,
      `${x} does not fit f32, the dtype of numbers by default: it would be ${Math.fround(x)}.`,
      'Say what it is: { dtype: "f64" }, or { dtype: "f32" } if that is near enough; configure({ dtype: "f64" }) for all.',
    );
  }
}

function shapeFor(op: string, shape: readonly number[], count: number): readonly number[] {
  return resolveShape(op, numberList(op, "the shape", shape), count);
}

function fromTypedArray(op: string, data: TypedArray, options: TensorOptions): Strided {
  const own = dtypeOfArray(data);
  if (own === null)
    return fail(
      "dtype",
      op,
      `no dtype holds a ${shown(data.constructor?.name)}.`,
      "Use a typed array, or fromBuffer for raw bytes.",
    );
  // Raw 16-bit floats arrive as Uint16Array: asking for f16 or bf16 takes the bits as they are.
  const bits = own === "u16" && (options.dtype === "f16" || options.dtype === "bf16");
  const dtype = options.dtype ?? own;
  const sizes = options.shape === undefined ? undefined : numberList(op, "the shape", options.shape);
  // From here on nobody else's code runs: the bytes that are counted are the bytes that are copied.
  const raw = bytesOf(op, data);
  const count = raw.length / dtypes[own].bytes;
  const shape = sizes === undefined ? [count] : resolveShape(op, sizes, count);
  const out = allocate(op, dtype, shape);
  if (bits || dtype === own) {
    out.storage.raw(0, raw.length).set(raw);
    return out;
  }
  return filled(out, () =>
    withTemporary(allocate(op, own, shape), (source) => {
      source.storage.raw(0, raw.length).set(raw);
      assign(op, out, source);
    }),
  );
}

function writeAll(out: Strided, values: readonly Value[]): void {
  const { bytes } = dtypes[out.dtype];
  values.forEach((v, i) => {
    out.storage.write(out.dtype, i * bytes, v);
  });
}

/** A shape given as a number is a vector's. */
export function shapeOf(op: string, shape: number | readonly number[]): readonly number[] {
  const s = typeof shape === "number" ? [shape] : numberList(op, "the shape", shape);
  checkShape(op, s);
  return s;
}

export function full(op: string, shape: number | readonly number[], value: Scalar, dtype?: DType): Strided {
  const d = dtype === undefined ? guessDType(op, [value]) : checkDType(op, dtype);
  if (dtype === undefined) checkLiterals(op, [value], d);
  const v = fromScalar(op, value, d);
  const zero = v === 0n || Object.is(v, 0);
  const out = allocate(op, d, shapeOf(op, shape), undefined, zero);
  if (!zero) fillDense(out, v);
  return out;
}

function fillDense(out: Strided, value: Value): void {
  const n = out.storage.bytes / dtypes[out.dtype].bytes;
  if (n === 0) return;
  if (n > FEW) {
    fillMany(out, value);
    return;
  }
  out.storage.write(out.dtype, 0, value);
  const cells = out.storage.cells(out.dtype, 0, n);
  if (n > 1) (cells.fill as (x: Value) => unknown).call(cells, cells[0]);
}

/** Up to here a loop in JavaScript takes no longer than a kernel takes to make. */
const FEW = 16384;

/** One element, copied to all the others. */
function fillMany(out: Strided, value: Value): void {
  const op = "full";
  filled(out, () =>
    withTemporary(allocate(op, out.dtype, []), (one) => {
      one.storage.write(out.dtype, 0, value);
      assign(op, out, one);
    }),
  );
}

export function empty(op: string, shape: number | readonly number[], dtype: DType): Strided {
  return allocate(op, checkDType(op, dtype), shapeOf(op, shape));
}

/** start, start + step, … below stop (above it for a negative step). */
export function arange(start: number, stop: number, step: number, asked: DType | undefined): Strided {
  const op = "arange";
  const dtype = checkDType(op, asked ?? defaultDType());
  checkNumbers(op, { start, stop, step });
  if (step === 0) fail("value", op, "the step is 0.", "Use a positive or a negative step.");
  const n = Math.max(0, Math.ceil((stop - start) / step));
  // Beyond 2^53 floats miss whole numbers: there it is counted in bigints.
  if (dtypes[dtype].big && Math.max(Math.abs(start), Math.abs(stop)) > Number.MAX_SAFE_INTEGER) {
    const whole = [start, stop, step].every(Number.isInteger);
    if (whole) return bigRange(BigInt(start), BigInt(stop), BigInt(step), dtype);
    fail(
      "dtype",
      op,
      `${dtype} cannot be counted by ${step} up to ${stop}.`,
      "Use whole numbers, or bigints such as 3n.",
    );
  }
  const out = allocate(op, dtype, [n]);
  return filled(out, () => {
    // The first two: where f32 has every other whole number only, one of them is missed. A long count from a small number is taken:
    // it rounds at its end, as f32 does everywhere.
    if (asked === undefined) checkLiterals(op, n > 1 ? [start, start + step] : n > 0 ? [start] : [], dtype);
    writeSteps(op, out, n, start, step);
  });
}

/** The same of bigints: exact, however large they are. */
export function bigRange(start: bigint, stop: bigint, step: bigint, dtype: DType): Strided {
  const op = "arange";
  const { big } = dtypes[checkDType(op, dtype)];
  if (step === 0n) fail("value", op, "the step is 0.", "Use a positive or a negative step.");
  const distance = step > 0n ? stop - start : start - stop;
  const stride = step > 0n ? step : -step;
  const n = distance <= 0n ? 0n : (distance + stride - 1n) / stride;
  if (n >= 2n ** 32n) fail("shape", op, `${n} elements are too many.`, "The heap holds up to 4 GiB.");
  const last = start + (n - 1n) * step;
  for (const x of [start, last]) {
    if (n > 0n && big && dtypes[dtype].wrap(x) !== x) {
      fail("dtype", op, `${x} does not fit ${dtype}.`, "Use a wider dtype, or other bounds.");
    }
  }
  const out = allocate(op, dtype, [Number(n)]);
  return filled(out, () => {
    const { bytes } = dtypes[dtype];
    let x = start;
    for (let i = 0; i < n; i++, x += step) {
      out.storage.write(dtype, i * bytes, big ? x : convert(x, "i64", dtype));
    }
  });
}

function checkNumbers(op: string, numbers: Readonly<Record<string, unknown>>): void {
  for (const [name, x] of Object.entries(numbers)) {
    if (!Number.isFinite(x)) fail("value", op, `${name} is ${describe(x)}.`, "Use finite numbers.");
  }
}

export function linspace(
  start: number,
  stop: number,
  count: number,
  endpoint: boolean,
  asked: DType | undefined,
): Strided {
  const op = "linspace";
  const dtype = checkDType(op, asked ?? defaultDType());
  checkNumbers(op, { start, stop });
  checkShape(op, [count]);
  const parts = endpoint ? count - 1 : count;
  const step = parts > 0 ? (stop - start) / parts : 0;
  const down = isInteger(dtype);
  const out = allocate(op, dtype, [count]);
  return filled(out, () => {
    if (asked === undefined) checkLiterals(op, [start, stop], dtype);
    writeSteps(op, out, count, start, step, down);
    if (endpoint && count > 1) writeNumber(op, out, count - 1, down ? Math.floor(stop) : stop);
  });
}

/** Ones on the k-th diagonal of an n × m matrix. */
export function eye(n: number, m: number, k: number, dtype: DType): Strided {
  const op = "eye";
  checkDType(op, dtype);
  if (!Number.isSafeInteger(k))
    fail("value", op, `k is ${describe(k)}.`, "0 is the main diagonal, 1 the one above it.");
  const out = allocate(op, dtype, [n, m], undefined, true);
  const { bytes } = dtypes[dtype];
  const one = fromScalar(op, 1, dtype);
  for (let i = Math.max(0, -k); i < n && i + k < m; i++) {
    out.storage.write(dtype, (i * m + i + k) * bytes, one);
  }
  return out;
}

/** start + i · step for i from 0 to n - 1, computed in f64, with `down` brought to a whole number below, and converted. */
function writeSteps(op: string, out: Strided, n: number, start: number, step: number, down = false): void {
  const many = n > FEW && isPlain(out.dtype, start, start + (n - 1) * step);
  if (many) {
    stepsByKernel(op, out, n, start, step, down);
    return;
  }
  for (let i = 0; i < n; i++) {
    const x = start + i * step;
    writeNumber(op, out, i, down ? Math.floor(x) : x);
  }
}

function writeNumber(op: string, out: Strided, i: number, x: number): void {
  const { bytes, big } = dtypes[out.dtype];
  out.storage.write(out.dtype, i * bytes, fromScalar(op, big ? Math.trunc(x) : x, out.dtype));
}

/** May a cast do it? 64-bit integers refuse what is not exact, and wrap where a cast saturates. */
function isPlain(dtype: DType, first: number, last: number): boolean {
  if (!dtypes[dtype].big) return true;
  const safe = Math.max(Math.abs(first), Math.abs(last)) <= Number.MAX_SAFE_INTEGER;
  return safe && (dtype === "i64" || Math.min(first, last) >= 0);
}

/** Columns of the steps seen as a matrix: index = row · COLUMNS + column. */
const COLUMNS = 1024;
const stepPrograms = new Map<string, Program>();

function stepProgram(dtype: DType, down: boolean): Program {
  const key = `${dtype} ${down}`;
  let program = stepPrograms.get(key);
  if (program === undefined) {
    const b = new Builder();
    const index = b.op("add", b.input(0, "f64"), b.input(1, "f64"));
    const x = b.op("add", b.param(0, "f64"), b.op("mul", index, b.param(1, "f64")));
    program = b.finish(b.cast(dtype, down ? b.op("floor", x) : x), ["f64", "f64"], ["f64", "f64"]);
    stepPrograms.set(key, program);
  }
  return program;
}

function stepsByKernel(
  op: string,
  out: Strided,
  n: number,
  start: number,
  step: number,
  down: boolean,
): void {
  const rows = Math.floor(n / COLUMNS);
  const program = stepProgram(out.dtype, down);
  withTemporary(allocate(op, "f64", [COLUMNS + rows + 1]), (table) => {
    const cells = table.storage.cells("f64", 0, COLUMNS + rows + 1);
    for (let i = 0; i < COLUMNS; i++) cells[i] = i;
    for (let i = 0; i <= rows; i++) cells[COLUMNS + i] = i * COLUMNS;
    const run = (row: number, shape: readonly number[], strides: readonly (readonly number[])[]) => {
      const offsets = [row * COLUMNS * out.frame.itemBytes, 0, 8 * (COLUMNS + row)];
      const [to, columns, base] = [out, table, table].map((t, k) => ({
        ...t,
        frame: { shape, strides: strides[k], offset: offsets[k], itemBytes: t.frame.itemBytes },
      }));
      // A rule that fills memory is nobody's operation: nobody is told.
      const frames = [to, columns, base].map((t) => fromStart(t.frame));
      prepare({ form: "elementwise", program, frames }).prepared.run(to, [columns, base], [start, step]);
    };
    const { itemBytes } = out.frame;
    run(
      0,
      [rows, COLUMNS],
      [
        [COLUMNS * itemBytes, itemBytes],
        [0, 8],
        [8, 0],
      ],
    );
    if (n % COLUMNS > 0) run(rows, [n % COLUMNS], [[itemBytes], [8], [0]]);
  });
}

/* Foreign memory --------------------------------------------------------------------------------------- */

/** How elements lie in foreign memory. */
export interface BufferOptions {
  /** What the bytes are. */
  readonly dtype: DType;
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** Bytes from one index to the next, per axis; default: dense, row-major. */
  readonly byteStrides?: readonly number[];
  /** Byte position of the first element; default 0. */
  readonly byteOffset?: number;
}

const bufferNames = ["dtype", "shape", "byteStrides", "byteOffset"];

/**
 * Interleaved or padded foreign memory with its own byte strides. The bytes the view reaches are copied to the heap
 * once, as they are; the tensor's strides are those given.
 */
export function fromBuffer(
  op: string,
  buffer: ArrayBufferLike | ArrayBufferView,
  options: BufferOptions,
): Strided {
  options = readOptions(op, options ?? null, '{ dtype: "f32", shape: [2, 3] }', bufferNames);
  const dtype = checkDType(op, options.dtype);
  const itemBytes = dtypes[dtype].bytes;
  const shape = numberList(op, "the shape", options.shape);
  checkShape(op, shape);
  const given = options.byteStrides === undefined ? null : numberList(op, "byteStrides", options.byteStrides);
  const foreign = foreignView(op, shape, given, options.byteOffset ?? 0, itemBytes);
  const bytes = bytesOf(op, buffer);
  checkReach(op, foreign, { bytes: bytes.byteLength });
  const { start, end } = extent(foreign);
  // Copy from a multiple of 8 so that elements aligned in the buffer are aligned in the heap.
  const from = start - (start % 8);
  const storage = createStorage(engine().heap, end - from, op);
  storage.raw(0, end - from).set(bytes.subarray(from, end));
  const view = { ...foreign, offset: foreign.offset - from };
  return { dtype, storage, frame: view, readOnly: selfOverlaps(view) };
}

/** How elements lie in foreign memory: with byte strides of its own, or dense in row-major order. */
export function foreignView(
  op: string,
  shape: readonly number[],
  byteStrides: readonly number[] | null,
  offset: number,
  itemBytes: number,
): View {
  const strides = byteStrides ?? rowMajorStrides(shape, itemBytes);
  if (strides.length !== shape.length) {
    const fact = `${strides.length} byteStrides for ${shape.length} sizes.`;
    fail("shape", op, fact, "Give one byte stride an axis.");
  }
  return { shape, strides, offset, itemBytes };
}

/** The bytes that a buffer, or a view of one, covers. */
export function bytesOf(op: string, buffer: ArrayBufferLike | ArrayBufferView): Uint8Array {
  if (ArrayBuffer.isView(buffer)) {
    const { buffer: all, byteOffset, byteLength } = arrayFacts(buffer);
    return bytesIn(op, all, byteOffset, byteLength);
  }
  if (!isBuffer(buffer))
    fail(
      "value",
      op,
      `expected a buffer, got ${describe(buffer)}.`,
      "Give an ArrayBuffer, a typed array or a Node Buffer.",
    );
  return bytesIn(op, buffer);
}

/** A Proxy may refuse to say what it is of. */
function isBuffer(value: unknown): value is ArrayBufferLike {
  try {
    return (
      value instanceof ArrayBuffer || Object.prototype.toString.call(value) === "[object SharedArrayBuffer]"
    );
  } catch {
    return false;
  }
}

function bytesIn(op: string, buffer: ArrayBufferLike, offset = 0, length?: number): Uint8Array {
  try {
    return new Uint8Array(buffer, offset, length);
  } catch {
    return fail(
      "value",
      op,
      "the buffer is detached: its memory has been transferred to somebody else.",
      "Make the tensor before the transfer, or from a copy.",
    );
  }
}

/** ggml's type numbers, for those types that are not quantised. */
const ggmlTypes: Readonly<Record<string, DType>> = {
  0: "f32",
  1: "f16",
  24: "i8",
  25: "i16",
  26: "i32",
  27: "i64",
  28: "f64",
  30: "bf16",
};

/** A tensor as ggml describes it. */
export interface GgmlTensor {
  /** A dtype name, ggml's own (F32, f16 …) or its number. */
  readonly type: DType | string | number;
  /** Sizes, FASTEST axis first. */
  readonly ne: readonly number[];
  /** Strides in BYTES, fastest axis first. Default: dense. */
  readonly nb?: readonly number[];
  /** The memory it lies in; the reachable bytes are copied. */
  readonly data: ArrayBufferLike | ArrayBufferView;
  /** Byte position of the first element. */
  readonly offset?: number;
}

/** A ggml tensor: ne[0] is the fastest axis, so the shape is ne reversed. */
export function fromGgml(t: GgmlTensor): Strided {
  const op = "fromGgml";
  t = readOptions(op, t ?? null, '{ type: "f32", ne: [4, 3], data }');
  const ne = numberList(op, "ne", t.ne);
  const name = typeof t.type === "number" ? ggmlTypes[t.type] : shown(t.type).toLowerCase();
  if (name === undefined || !Object.hasOwn(dtypes, name)) {
    fail(
      "dtype",
      op,
      `ggml type ${shown(t.type)} has no dtype here.`,
      'Known are f32 f16 bf16 f64 i8 i16 i32 i64; block types are taken by fromGgml of "strided/quantised".',
    );
  }
  const nb = t.nb === undefined ? undefined : numberList(op, "nb", t.nb);
  if (nb !== undefined && nb.length !== ne.length) {
    fail(
      "shape",
      op,
      `nb has ${nb.length} entries, ne has ${ne.length}.`,
      "Both list the axes, fastest first.",
    );
  }
  return fromBuffer(op, t.data, {
    dtype: name as DType,
    shape: [...ne].reverse(),
    ...(nb === undefined ? {} : { byteStrides: [...nb].reverse() }),
    byteOffset: t.offset ?? 0,
  });
}
