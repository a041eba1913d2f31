/**
 * The initializers of an ONNX model: its weights, read out of the protobuf without any schema but the few field numbers
 * below. Elements lie in raw_data, in a typed field, or in a file beside the model; the graph itself is stepped over.
 */
import { type DType, dtypes } from "../dtype.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import {
  type Archive,
  checkFileShape,
  denseStrides,
  type Item,
  makeArchive,
  readAll,
  readNames,
} from "./archive.ts";
import { Cursor } from "./cursor.ts";
import { type Place, takePlace } from "./into-heap.ts";
import { failFile, quoted } from "./names.ts";
import { type Field, nextField, valuesIn } from "./protobuf.ts";
import { type Input, inputOf, type Reader, type Source, type SourceOptions, sourceNames } from "./source.ts";

/** Element types by number: the name, the dtype, and the field that holds them where raw_data does not. */
interface Row {
  readonly name: string;
  readonly dtype: DType | null;
  readonly field?: number;
  readonly pairs?: true;
}
const FLOATS = 4;
const INTS = 5;
const LONGS = 7;
const DOUBLES = 10;
const ULONGS = 11;
const rows: Readonly<Record<number, Row>> = {
  1: { name: "FLOAT", dtype: "f32", field: FLOATS },
  2: { name: "UINT8", dtype: "u8", field: INTS },
  3: { name: "INT8", dtype: "i8", field: INTS },
  4: { name: "UINT16", dtype: "u16", field: INTS },
  5: { name: "INT16", dtype: "i16", field: INTS },
  6: { name: "INT32", dtype: "i32", field: INTS },
  7: { name: "INT64", dtype: "i64", field: LONGS },
  8: { name: "STRING", dtype: null },
  9: { name: "BOOL", dtype: "bool", field: INTS },
  10: { name: "FLOAT16", dtype: "f16", field: INTS },
  11: { name: "DOUBLE", dtype: "f64", field: DOUBLES },
  12: { name: "UINT32", dtype: "u32", field: ULONGS },
  13: { name: "UINT64", dtype: "u64", field: ULONGS },
  14: { name: "COMPLEX64", dtype: "f32", field: FLOATS, pairs: true },
  15: { name: "COMPLEX128", dtype: "f64", field: DOUBLES, pairs: true },
  16: { name: "BFLOAT16", dtype: "bf16", field: INTS },
  17: { name: "FLOAT8E4M3FN", dtype: null },
  18: { name: "FLOAT8E4M3FNUZ", dtype: null },
  19: { name: "FLOAT8E5M2", dtype: null },
  20: { name: "FLOAT8E5M2FNUZ", dtype: null },
  21: { name: "UINT4", dtype: null },
  22: { name: "INT4", dtype: null },
  23: { name: "FLOAT4E2M1", dtype: null },
  24: { name: "FLOAT8E8M0", dtype: null },
};

/** Fields of a model: number → wire type. A file whose first fields are others is no model. */
const modelFields: Readonly<Record<number, number>> = {
  1: 0,
  2: 2,
  3: 2,
  4: 2,
  5: 0,
  6: 2,
  7: 2,
  8: 2,
  14: 2,
  20: 2,
  25: 2,
  26: 2,
};

/** A protobuf has no magic: the first bytes are taken for a model where they say its version, and go on as one. */
export function isOnnx(head: Uint8Array): boolean {
  if (head.length < 4 || head[0] !== 8 || head[1] === 0 || head[1] > 64) return false;
  const field = modelFields[head[2] >> 3];
  return head[2] < 128 ? field === (head[2] & 7) : head[3] === 1;
}

/**
 * Opens an ONNX model: finds its initializers, and reads no element. External data must lie in the model's folder.
 *
 *     const model = await onnx.open("model.onnx");
 *     const kernel = await model.read("conv1.weight");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * // Two floats, called w.
 * const model = [8, 8, 58, 19, 42, 17, 8, 2, 16, 1, 66, 1, 119, 74, 8, 0, 0, 128, 63, 0, 0, 0, 64];
 * const file = await onnx.open(new Uint8Array(model));
 * file.entries[0].name; // → w
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("onnx.open", source, options);
  return openInput("onnx.open", input, signal);
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const { name: file, size } = input;
  const bad = (fact: string): never =>
    failFile(operation, file, null, `as a protobuf it is damaged: ${fact}`);
  const reader = await input.open(signal);
  try {
    const c = new Cursor(reader, 0, size, bad);
    const meta = Object.create(null) as Record<string, unknown>;
    const opset = Object.create(null) as Record<string, number>;
    const props = Object.create(null) as Record<string, string>;
    let graph: Field | null = null;
    while (c.at < size) {
      const field = await nextField(c, size, bad);
      const { number: n, wire, from, length } = field;
      const text = async () => (wire === 2 ? c.text(length) : bad(`field ${n} is no text.`));
      if (n === 1 && wire === 0) meta.irVersion = field.value;
      else if (n === 2) meta.producer = await text();
      else if (n === 3) meta.producerVersion = await text();
      else if (n === 4) meta.domain = await text();
      else if (n === 5 && wire === 0) meta.modelVersion = field.value;
      else if (n === 8 && wire === 2) await readOpset(c, field, opset, bad);
      else if (n === 14 && wire === 2) {
        const [key, value] = await readPair(c, field, bad);
        props[key] = value;
      } else if (n === 7 && wire === 2) {
        if (graph !== null) bad("it has two graphs.");
        graph = field;
      }
      c.at = from + length;
    }
    if (graph === null) return failFile(operation, file, null, "it holds no graph, so it is no ONNX model.");
    const { items, name } = await readGraph(operation, input, reader, graph, signal, bad);
    Object.assign(meta, { graph: name, opset }, Object.keys(props).length === 0 ? {} : { props });
    return makeArchive({ format: "onnx", file, items, meta });
  } finally {
    await reader.close();
  }
}

async function readOpset(
  c: Cursor,
  { from, length }: Field,
  opset: Record<string, number>,
  bad: (fact: string) => never,
): Promise<void> {
  let [domain, version] = ["", 0];
  for (c.at = from; c.at < from + length; ) {
    const field = await nextField(c, from + length, bad);
    if (field.number === 1 && field.wire === 2) domain = await c.text(field.length);
    if (field.number === 2 && field.wire === 0) version = field.value;
    c.at = field.from + field.length;
  }
  opset[domain === "" ? "ai.onnx" : domain] = version;
}

/** A StringStringEntryProto. */
async function readPair(
  c: Cursor,
  { from, length }: Field,
  bad: (fact: string) => never,
): Promise<[string, string]> {
  const pair: [string, string] = ["", ""];
  for (c.at = from; c.at < from + length; ) {
    const field = await nextField(c, from + length, bad);
    if ((field.number === 1 || field.number === 2) && field.wire === 2) {
      pair[field.number - 1] = await c.text(field.length);
    }
    c.at = field.from + field.length;
  }
  return pair;
}

async function readGraph(
  operation: string,
  input: Input,
  reader: Reader,
  { from, length }: Field,
  signal: AbortSignal | undefined,
  bad: (fact: string) => never,
): Promise<{ items: Item[]; name: string }> {
  const items: Item[] = [];
  const others = new Map<string, Promise<Input>>();
  const sibling = (location: string) => {
    const known = others.get(location) ?? input.sibling(operation, location, signal);
    others.set(location, known);
    return known;
  };
  let name = "";
  const end = from + length;
  const c = new Cursor(reader, from, end, bad);
  while (c.at < end) {
    const field = await nextField(c, end, bad);
    if (field.number === 2 && field.wire === 2) name = await c.text(field.length);
    if (field.number === 5 && field.wire === 2) {
      const proto = await readProto(c, field, bad);
      items.push(await itemOf(operation, input, proto, sibling));
    }
    c.at = field.from + field.length;
  }
  return { items, name };
}

/** A TensorProto, without its elements. */
interface Proto {
  readonly field: Field;
  readonly name: string;
  readonly dims: readonly number[];
  readonly type: number;
  readonly raw: Field | null;
  /** Fields of typed elements that are there. */
  readonly typed: ReadonlySet<number>;
  readonly external: ReadonlyMap<string, string> | null;
  readonly isSegment: boolean;
}

async function readProto(c: Cursor, field: Field, bad: (fact: string) => never): Promise<Proto> {
  const end = field.from + field.length;
  const dims: number[] = [];
  const typed = new Set<number>();
  const external = new Map<string, string>();
  let [name, type, isExternal, isSegment] = ["", 0, false, false];
  let raw: Field | null = null;
  for (c.at = field.from; c.at < end; ) {
    const part = await nextField(c, end, bad);
    const { number: n, wire, from, length, value } = part;
    if (n === 1 && wire === 0) dims.push(value);
    else if (n === 1 && wire === 2) {
      if (length > 1024) bad(`a tensor's dims take ${length} bytes.`);
      dims.push(...[...valuesIn(await c.slice(length), bad)].map(Number));
    } else if (n === 2 && wire === 0) type = value;
    else if (n === 3) isSegment = true;
    else if (n === 8 && wire === 2) name = await c.text(length);
    else if (n === 9 && wire === 2) {
      if (raw !== null) bad(`tensor ${quoted(name)} has raw_data twice.`);
      raw = part;
    } else if (n === 13 && wire === 2) {
      const [key, text] = await readPair(c, part, bad);
      if (external.has(key)) bad(`the external data of ${quoted(name)} has ${quoted(key)} twice.`);
      external.set(key, text);
    } else if (n === 14 && wire === 0) isExternal = value === 1;
    else if ([FLOATS, INTS, 6, LONGS, DOUBLES, ULONGS].includes(n)) typed.add(n);
    if (dims.length > 64) bad(`tensor ${quoted(name)} has more than 64 axes.`);
    c.at = from + length;
  }
  return { field, name, dims, type, raw, typed, external: isExternal ? external : null, isSegment };
}

async function itemOf(
  operation: string,
  input: Input,
  proto: Proto,
  sibling: (location: string) => Promise<Input>,
): Promise<Item> {
  const { name, dims, type: number, raw, typed, external } = proto;
  const file = input.name;
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  const row = Object.hasOwn(rows, number) ? rows[number] : { name: `type ${number}`, dtype: null };
  const shape = row.pairs ? [...dims, 2] : dims;
  const bytes = checkFileShape(
    operation,
    file,
    name,
    shape,
    row.dtype === null ? 1 : dtypes[row.dtype].bytes,
  );
  if (proto.isSegment) bad("it is one of several segments, which are not joined here.");
  const sources = Number(raw !== null) + typed.size + Number(external !== null);
  if (sources > 1) bad("its elements are there more than once.");
  const base = { name, type: row.name, shape, input };
  if (row.dtype === null) {
    const refusal = [
      `no dtype here holds elements of type ${row.name}.`,
      "Convert it where it was made.",
    ] as const;
    const place = raw === null ? { from: proto.field.from, bytes: 0 } : { from: raw.from, bytes: raw.length };
    return { ...base, dtype: null, ...place, refusal };
  }
  const { dtype } = row;
  const byteStrides = denseStrides(shape, dtypes[dtype].bytes);
  if (external !== null) {
    const { from, other } = await readExternal(operation, file, name, external, bytes, sibling);
    return { ...base, dtype, byteStrides, from, bytes, input: other };
  }
  if (raw !== null || sources === 0) {
    const length = raw?.length ?? 0;
    if (length !== bytes)
      bad(`shape [${dims.join(", ")}] of ${row.name} takes ${bytes} bytes, ${length} are there.`);
    return { ...base, dtype, byteStrides, from: raw?.from ?? proto.field.from, bytes };
  }
  if (row.field === undefined || !typed.has(row.field))
    bad(`its elements are not in the field of ${row.name}.`);
  const { from, length } = proto.field;
  const decode = (reader: Reader) => decodeTyped(file, proto, row, shape, reader);
  // A value takes a byte at least: what cannot be there is not asked for.
  if (bytes / dtypes[dtype].bytes > length)
    bad(`shape [${dims.join(", ")}] does not fit in ${length} bytes.`);
  return { ...base, dtype, byteStrides, from, bytes, decode };
}

async function readExternal(
  operation: string,
  file: string,
  name: string,
  external: ReadonlyMap<string, string>,
  bytes: number,
  sibling: (location: string) => Promise<Input>,
): Promise<{ from: number; other: Input }> {
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  const location = external.get("location") ?? bad("its external data has no location.");
  const numberAt = (key: string, otherwise: number) => {
    const text = external.get(key);
    if (text === undefined) return otherwise;
    return /^\d{1,15}$/.test(text)
      ? Number(text)
      : bad(`the ${key} of its external data is ${quoted(text)}.`);
  };
  const from = numberAt("offset", 0);
  const length = numberAt("length", bytes);
  if (length !== bytes) bad(`it takes ${bytes} bytes, its external data has ${length}.`);
  const other = await sibling(location);
  if (from + bytes > other.size) {
    bad(`its bytes ${from} … ${from + bytes} are outside of ${other.name}, which has ${other.size}.`);
  }
  return { from, other };
}

/** Elements out of a typed field, packed or one by one. */
async function decodeTyped(
  file: string,
  { field, name }: Proto,
  row: Row,
  shape: readonly number[],
  reader: Reader,
): Promise<Place> {
  const operation = "onnx.read";
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  const dtype = row.dtype!;
  const { bytes: itemBytes, write, wrap, big } = dtypes[dtype];
  const count = sizeOf(shape);
  const all = await reader.bytes(field.from, field.length);
  const wide = row.field === DOUBLES ? 8 : row.field === FLOATS ? 4 : 0;
  const pieces = await typedPieces(all, row.field!, wide, bad);
  let found = 0;
  for (const piece of pieces) {
    if (wide === 0) for (const byte of piece) found += byte < 128 ? 1 : 0;
    else found += piece.length / wide;
  }
  if (found !== count) bad(`shape [${shape.join(", ")}] has ${count} elements, ${found} are there.`);
  const place = takePlace(operation, dtype, count * itemBytes);
  try {
    let at = 0;
    for (const piece of pieces) {
      if (wide > 0) {
        place.at(at, piece.length).set(piece);
        at += piece.length;
        continue;
      }
      const target = place.at(0, place.bytes);
      const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
      for (const x of valuesIn(piece, bad)) {
        // Half floats come as their bits.
        if (dtype === "f16" || dtype === "bf16") view.setUint16(at, Number(BigInt.asUintN(16, x)), true);
        else write(view, at, wrap(big ? x : Number(BigInt.asIntN(64, x))));
        at += itemBytes;
      }
    }
    return place;
  } catch (error) {
    place.release();
    throw error;
  }
}

/** The payloads of one field of a message: packed runs, and single values. */
async function typedPieces(
  all: Uint8Array,
  number: number,
  wide: number,
  bad: (fact: string) => never,
): Promise<Uint8Array[]> {
  const inMemory: Reader = {
    bytes: async (from, length) => all.subarray(from, from + length),
    fill: async () => {},
    close: async () => {},
  };
  const c = new Cursor(inMemory, 0, all.length, bad);
  const pieces: Uint8Array[] = [];
  while (c.at < all.length) {
    const field = await nextField(c, all.length, bad);
    const { from, length, wire } = field;
    c.at = from + length;
    if (field.number !== number) continue;
    const isSingle = wire === (wide === 8 ? 1 : wide === 4 ? 5 : 0);
    if (wire !== 2 && !isSingle) bad(`a value in field ${number} has the wrong wire type.`);
    if (wire === 2 && wide > 0 && length % wide !== 0) bad(`field ${number} has ${length} bytes.`);
    const piece = all.subarray(field.valueFrom, from + length);
    if (wire === 2 && wide === 0 && piece.length > 0 && piece[piece.length - 1] > 127) {
      bad(`field ${number} ends inside of a value.`);
    }
    pieces.push(piece);
  }
  return pieces;
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only these. */
  readonly names?: readonly string[];
}

/**
 * All initializers of an ONNX model (or those of some names), by name.
 *
 *     const { "fc.weight": w, "fc.bias": b } = await onnx.load("model.onnx");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `signal`, `headers`, `files`
 * @returns a promise of the tensors by name
 * @throws TensorError where the file is not what it says
 * @example
 * // Two floats, called w.
 * const model = [8, 8, 58, 19, 42, 17, 8, 2, 16, 1, 66, 1, 119, 74, 8, 0, 0, 128, 63, 0, 0, 0, 64];
 * (await onnx.load(new Uint8Array(model))).w; // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "onnx.load";
  const { names: given, ...rest } = readOptions(operation, options, "{ names }", [...sourceNames, "names"]);
  const names = readNames(operation, given);
  const { input, signal } = await inputOf(operation, source, rest);
  return readAll(await openInput(operation, input, signal), names, signal);
}
