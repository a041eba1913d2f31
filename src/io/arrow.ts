/**
 * Arrow IPC, files and streams: a column of numbers is a tensor, lists of one size are its further axes. Elements go from
 * the file straight into the heap, whatever batches they lie in; only single bits, nulls and packed buffers are looked at
 * on the way. Feather (version 2) is the same format.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail, list, unreachable } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import {
  type Archive,
  checkFileShape,
  denseStrides,
  type Item,
  makeArchive,
  readAll,
  readNames,
} from "./archive.ts";
import {
  ARROW_MAGIC,
  type Batch,
  type Chunk,
  type Codec,
  type Field,
  type Range,
  readArrow,
  shapeOf,
} from "./arrow-meta.ts";
import { flatBytes, type Part } from "./flatbuffer.ts";
import { type Held, hold, type Place, takePlace } from "./into-heap.ts";
import { MOST_LZ4_RATIO, unpackLz4 } from "./lz4.ts";
import { failFile, quoted } from "./names.ts";
import { checkNulls, type NullValue, nullBytes } from "./nulls.ts";
import { guarded, type Peers, peer } from "./peer.ts";
import {
  checkSignal,
  type Input,
  inputOf,
  type Reader,
  type ReadOptions,
  type Source,
  type SourceOptions,
  sourceNames,
} from "./source.ts";
import { piecesOf, readPath, toBytes, toFile, type Writing } from "./target.ts";
import { readTensors } from "./tensors.ts";

export { isArrow } from "./arrow-meta.ts";
export type { NullValue } from "./nulls.ts";

/** What nulls become, and where packages come from. */
export interface OpenOptions extends SourceOptions {
  /** What nulls become. Without it a column that has any is refused. */
  readonly nulls?: NullValue;
}

/** What to read. */
export interface LoadOptions extends OpenOptions {
  /** Reads only these columns. */
  readonly names?: readonly string[];
}

const openNames = [...sourceNames, "nulls"];

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * Opens an Arrow file or stream: reads its schema and where its batches lie, and no element. Columns are its entries.
 *
 *     const table = await arrow.open("flights.arrow");
 *     const delay = await table.read("delay", ["0:1000"]);
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const table = await arrow.open(await arrow.encode({ x: tensor([1, 2]) }));
 * table.entries[0].name; // → x
 */
export async function open(source: Source, options?: OpenOptions): Promise<Archive> {
  const { nulls, ...rest } = readOptions("arrow.open", options, "{ nulls: NaN }", openNames);
  checkNulls("arrow.open", nulls);
  const { input, signal, peers } = await inputOf("arrow.open", source, rest);
  return openInput("arrow.open", input, signal, { peers, nulls });
}

interface Settings {
  readonly peers?: Peers;
  readonly nulls?: NullValue | undefined;
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
  settings: Settings = {},
): Promise<Archive> {
  const reader = await input.open(signal);
  try {
    const { schema, batches, kind } = await readArrow(operation, input, reader);
    const context: Context = { operation, input, swap: schema.bigEndian, batches, settings };
    const items = schema.fields.map((field, i) => itemOf(context, field, i));
    const rows = batches.reduce((sum, b) => sum + b.rows, 0);
    const meta = Object.freeze({
      kind,
      rows,
      batches: batches.length,
      ...(Object.keys(schema.meta).length === 0 ? {} : { schema: schema.meta }),
    });
    return makeArchive({ format: "arrow", file: input.name, items, meta });
  } finally {
    await reader.close();
  }
}

interface Context {
  readonly operation: string;
  readonly input: Input;
  readonly swap: boolean;
  readonly batches: readonly Batch[];
  readonly settings: Settings;
}

/** A chunk of a column, and how it is packed. */
type Piece = Chunk & { readonly codec: Codec };

/** One byte of a packed buffer makes so many at the most; a block of zstd's may repeat one byte 128 Ki times. */
const ratios: Readonly<Record<string, number>> = { lz4: MOST_LZ4_RATIO, zstd: 1 << 17 };

function itemOf(context: Context, field: Field, i: number): Item {
  const { operation, input, batches, settings, swap } = context;
  const { name } = field;
  const bad = (fact: string): never => failFile(operation, input.name, name, fact);
  const rows = batches.reduce((sum, b) => sum + b.rows, 0);
  const shaped = shapeOf(field);
  if (shaped === null) {
    const { type } = field.layout;
    const refusal = [
      `elements of type ${quoted(type)} have no dtype here.`,
      "Columns of numbers are read.",
    ] as const;
    const decode = () => unreachable("a column without a dtype is read");
    return { name, type, dtype: null, shape: [rows], from: 0, bytes: 0, input, refusal, decode };
  }
  const { sizes, layout } = shaped;
  const dtype = layout.dtype as DType;
  const itemBytes = dtypes[dtype].bytes;
  const shape = [rows, ...sizes];
  const bytes = checkFileShape(operation, input.name, name, shape, itemBytes);
  const each = sizes.reduce((a, b) => a * b, 1);
  const pieces = batches.map((b): Piece => ({ ...(b.chunks[i] as Chunk), codec: b.codec }));
  let packed = 0;
  for (const { rows: n, values, codec } of pieces) {
    const needed = Math.ceil((n * each * layout.bits) / 8);
    packed += values.length;
    const room = codec === null ? values.length : values.length * ratios[codec];
    if (needed > room) bad(`${n} rows take ${needed} bytes, its buffer has ${values.length}.`);
  }
  const type = sizes.length === 0 ? layout.type : `${layout.type}${list(sizes)}`;
  const byteStrides = denseStrides(shape, itemBytes);
  const base = { name, type, dtype, shape, byteStrides, bytes, input };
  const nulls = pieces.reduce((sum, p) => sum + p.validities.reduce((n, v) => n + v.nulls, 0), 0);
  if (nulls > 0 && settings.nulls === undefined) {
    const refusal = [
      `${nulls} of its elements are null.`,
      "Say what they become: arrow.load(file, { nulls: NaN }).",
    ] as const;
    const decode = () => failFile("arrow.read", input.name, name, ...refusal);
    return { ...base, from: pieces[0]?.values.from ?? 0, decode };
  }
  const isPacked = pieces.some((p) => p.codec !== null);
  if (isPacked || nulls > 0 || dtype === "bool") {
    const column: Column = { name, dtype, bits: layout.bits, each, bytes, pieces };
    const from = pieces[0]?.values.from ?? 0;
    return {
      ...base,
      from,
      ...(isPacked ? { packed } : {}),
      decode: (reader, signal) => decoded(context, column, reader, signal),
    };
  }
  const full = pieces.filter((p) => p.rows > 0);
  const from = full[0]?.values.from ?? 0;
  if (full.length <= 1) return { ...base, from, swap };
  const lengths = full.map((p) => p.rows * each * itemBytes);
  return { ...base, from, swap, apart: true, unpack: (reader) => chained(reader, full, lengths) };
}

/** A reader in which the pieces lie one after the other. */
function chained(reader: Reader, pieces: readonly Piece[], lengths: readonly number[]): Reader {
  const starts = lengths.map((_, i) => lengths.slice(0, i).reduce((a, b) => a + b, 0));
  const parts = function* (from: number, length: number) {
    // The last piece that begins at or before it.
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= from) low = middle;
      else high = middle;
    }
    for (let at = from, i = low; at < from + length; i++) {
      const skip = at - starts[i];
      const n = Math.min(lengths[i] - skip, from + length - at);
      yield { from: pieces[i].values.from + skip, length: n, to: at - from };
      at += n;
    }
  };
  return {
    async bytes(from, length) {
      const out = new Uint8Array(length);
      for (const p of parts(from, length)) out.set(await reader.bytes(p.from, p.length), p.to);
      return out;
    },
    async fill(place, at, from, length) {
      for (const p of parts(from, length)) await reader.fill(place, at + p.to, p.from, p.length);
    },
    close: async () => {},
  };
}

interface Column {
  readonly name: string;
  readonly dtype: DType;
  readonly bits: number;
  /** Elements of a row. */
  readonly each: number;
  readonly bytes: number;
  readonly pieces: readonly Piece[];
}

async function decoded(
  context: Context,
  column: Column,
  reader: Reader,
  signal: AbortSignal | undefined,
): Promise<Place> {
  const { settings, swap } = context;
  const { dtype, bytes, bits, each, pieces } = column;
  const itemBytes = dtypes[dtype].bytes;
  const { nulls } = settings;
  const fill =
    nulls === undefined ? null : nullBytes("arrow.read", context.input.name, column.name, dtype, nulls);
  const place = takePlace("arrow.read", dtype, bytes);
  try {
    let at = 0;
    for (const piece of pieces) {
      const count = piece.rows * each;
      const raw = await bufferOf(
        context,
        column,
        piece.values,
        piece.codec,
        Math.ceil((count * bits) / 8),
        reader,
        signal,
      );
      const target = place.at(at, count * itemBytes);
      if (dtype === "bool") for (let i = 0; i < count; i++) target[i] = (raw[i >> 3] >> (i & 7)) & 1;
      else target.set(raw);
      if (swap && itemBytes > 1)
        for (let i = 0; i < target.length; i += itemBytes) target.subarray(i, i + itemBytes).reverse();
      for (const { bits: mask, count: n } of piece.validities) {
        const valid = await bufferOf(context, column, mask, piece.codec, Math.ceil(n / 8), reader, signal);
        const view = place.at(at, count * itemBytes);
        const width = n === 0 ? 0 : count / n;
        if (fill !== null) fillNulls(view, valid, n, width, itemBytes, fill);
      }
      at += count * itemBytes;
      signal?.throwIfAborted();
    }
    return place;
  } catch (error) {
    place.release();
    throw error;
  }
}

function fillNulls(
  out: Uint8Array,
  valid: Uint8Array,
  count: number,
  width: number,
  itemBytes: number,
  fill: Uint8Array,
): void {
  for (let i = 0; i < count; i++) {
    if ((valid[i >> 3] >> (i & 7)) & 1) continue;
    for (let k = i * width; k < (i + 1) * width; k++) out.set(fill, k * itemBytes);
  }
}

/** The first `needed` bytes of a buffer, unpacked. */
async function bufferOf(
  { input, settings }: Context,
  { name }: Column,
  { from, length }: Range,
  codec: Codec,
  needed: number,
  reader: Reader,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const bad = (fact: string): never => failFile("arrow.read", input.name, name, fact);
  if (needed === 0) return new Uint8Array();
  if (codec === null) {
    if (length < needed) bad(`a buffer has ${length} bytes, ${needed} are needed.`);
    return reader.bytes(from, needed);
  }
  if (length < 8) bad(`a packed buffer has ${length} bytes.`);
  const all = await reader.bytes(from, length);
  const size = Number(new DataView(all.buffer, all.byteOffset).getBigInt64(0, true));
  const packed = all.subarray(8);
  if (size === -1) {
    if (packed.length < needed) bad(`a buffer has ${packed.length} bytes, ${needed} are needed.`);
    return packed.subarray(0, needed);
  }
  if (size < needed || needed > packed.length * ratios[codec])
    bad(`a buffer unpacks to ${size} bytes, ${needed} are needed.`);
  const out = new Uint8Array(needed);
  if (codec === "lz4") {
    unpackLz4(packed, out, bad);
    return out;
  }
  if (size > packed.length * ratios.zstd) bad(`a buffer of ${packed.length} bytes would unpack to ${size}.`);
  const operation = "arrow.read";
  const zstd = await peer<Zstd>(operation, "fzstd", settings.peers ?? {}, "a column that is packed by zstd");
  const got = await guarded(operation, input.name, name, "fzstd", signal, () =>
    zstd.decompress(packed.slice(), new Uint8Array(size)),
  );
  if (got.length < needed) bad(`a buffer unpacks to ${got.length} bytes, ${needed} are needed.`);
  return got.subarray(0, needed);
}

interface Zstd {
  decompress(packed: Uint8Array, into: Uint8Array): Uint8Array;
}

/**
 * All columns of an Arrow file or stream (or those of some names), by name. Columns that no dtype holds (texts, structs,
 * dictionaries) are left out unless they are named.
 *
 *     const { delay, distance } = await arrow.load("flights.arrow", { nulls: NaN });
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `nulls`: what stands for one; `signal`, `headers`, `peers`
 * @returns a promise of the columns by name
 * @throws TensorError where the file is not what it says
 * @example
 * const { x } = await arrow.load(await arrow.encode({ x: tensor([1, 2]) }));
 * x; // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "arrow.load";
  const read = readOptions(operation, options, "{ names }", [...openNames, "names"]);
  const { names: given, nulls, ...rest } = read;
  checkNulls(operation, nulls);
  const names = readNames(operation, given);
  const { input, signal, peers } = await inputOf(operation, source, rest);
  const file = await openInput(operation, input, signal, { peers, nulls });
  const all = file.entries.filter((e) => e.dtype !== null).map((e) => e.name);
  return readAll(file, names ?? all, signal);
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** How to write. */
export interface SaveOptions extends ReadOptions {
  /** Default "file", or "stream" where the path ends in .arrows. */
  readonly kind?: "file" | "stream";
  /** Texts that the schema keeps. */
  readonly meta?: Readonly<Record<string, string>>;
}

const saveNames = ["signal", "kind", "meta"];
const V5 = 4;

/** A type by its number, and its description. */
function typeOf(operation: string, name: string, dtype: DType): [kind: number, type: Part] {
  const { kind, bytes } = dtypes[dtype];
  if (dtype === "bf16")
    fail("dtype", operation, `Arrow has no bf16 (${quoted(name)}).`, 'Convert it: t.to("f32").');
  if (dtype === "bool") return [6, { table: [] }];
  if (kind === "float") return [3, { table: [{ i16: Math.log2(bytes) - 1 }] }];
  return [2, { table: [{ i32: 8 * bytes }, { u8: dtype.startsWith("i") ? 1 : 0 }] }];
}

/** A field of a shape: lists of lists of numbers. */
function fieldPart(operation: string, name: string, dtype: DType, sizes: readonly number[]): Part {
  const [size, ...rest] = sizes;
  const [kind, type]: [number, Part] =
    size === undefined ? typeOf(operation, name, dtype) : [16, { table: [{ i32: size }] }];
  const children = size === undefined ? [] : [fieldPart(operation, "item", dtype, rest)];
  return { table: [{ text: name }, { u8: 0 }, { u8: kind }, type, null, { list: children }] };
}

const padded = (n: number): number => Math.ceil(n / 64) * 64;

/** A message: what goes before its body. */
function messageBytes(kind: number, header: Part, bodyLength: number): Uint8Array {
  const meta = flatBytes({ table: [{ i16: V5 }, { u8: kind }, header, { i64: bodyLength }] });
  const out = new Uint8Array(8 + meta.length);
  const view = new DataView(out.buffer);
  view.setUint32(0, 0xffffffff, true);
  view.setInt32(4, meta.length, true);
  out.set(meta, 8);
  return out;
}

interface Written {
  readonly name: string;
  readonly held: Held;
}

function writing(
  operation: string,
  tensors: Readonly<Record<string, Tensor>>,
  kind: "file" | "stream",
  meta: Readonly<Record<string, string>>,
): Writing {
  const columns: Written[] = [];
  const release = () => {
    for (const { held } of columns) held.release();
  };
  try {
    for (const [name, t] of readTensors(operation, tensors)) columns.push({ name, held: hold(operation, t) });
    const rows = columns[0]?.held.shape[0] ?? 0;
    for (const { name, held } of columns) {
      const { shape } = held;
      if (shape.length === 0 || shape[0] !== rows) {
        fail(
          "shape",
          operation,
          `${quoted(name)} is ${list(shape)}, ${quoted(columns[0].name)} has ${rows} rows.`,
          "Columns of a table have the same length; further axes become lists.",
        );
      }
    }
    return { ...tableWriting(operation, columns, rows, kind, meta), release };
  } catch (error) {
    release();
    throw error;
  }
}

function tableWriting(
  operation: string,
  columns: readonly Written[],
  rows: number,
  kind: "file" | "stream",
  meta: Readonly<Record<string, string>>,
): Omit<Writing, "release"> {
  const pairs = Object.entries(meta).map(([k, v]): Part => ({ table: [{ text: k }, { text: v }] }));
  const fields = columns.map(({ name, held }) => fieldPart(operation, name, held.dtype, held.shape.slice(1)));
  const schema: Part = { table: [{ i16: 0 }, { list: fields }, { list: pairs }] };
  const nodes: number[][] = [];
  const buffers: number[][] = [];
  let body = 0;
  for (const { held } of columns) {
    const { shape, dtype, bytes } = held;
    for (let d = 0; d < shape.length; d++) {
      nodes.push([shape.slice(0, d + 1).reduce((a, b) => a * b, 1), 0]);
      // Nothing is null.
      buffers.push([body, 0]);
    }
    const length = dtype === "bool" ? Math.ceil(bytes / 8) : bytes;
    buffers.push([body, length]);
    body += padded(length);
  }
  const batch: Part = { table: [{ i64: rows }, { structs: nodes }, { structs: buffers }] };
  const first = messageBytes(1, schema, 0);
  const second = messageBytes(3, batch, body);
  const over = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);
  const isFile = kind === "file";
  const magic = new Uint8Array(8);
  magic.set(new TextEncoder().encode(ARROW_MAGIC));
  // Place, length of its description (and four bytes that are none), length of its body.
  const block = [8 + first.length, second.length, body];
  const footer = flatBytes({ table: [{ i16: V5 }, schema, { structs: [] }, { structs: [block] }] });
  const tail = new Uint8Array(footer.length + 10);
  tail.set(footer);
  new DataView(tail.buffer).setInt32(footer.length, footer.length, true);
  tail.set(magic.subarray(0, 6), footer.length + 4);
  return {
    bytes: (isFile ? 8 + tail.length : 0) + first.length + second.length + body + over.length,
    async *pieces() {
      if (isFile) yield magic;
      yield first;
      yield second;
      for (const { held } of columns) {
        let length = 0;
        for await (const piece of held.dtype === "bool" ? bitsOf(held) : piecesOf(held)) {
          length += piece.length;
          yield piece;
        }
        yield new Uint8Array(padded(length) - length);
      }
      yield over;
      if (isFile) yield tail;
    },
  };
}

/** Eight bools a byte, the first in the lowest bit. */
async function* bitsOf(held: Held): AsyncIterable<Uint8Array> {
  let [byte, n] = [0, 0];
  for await (const piece of piecesOf(held)) {
    const out = new Uint8Array((n + piece.length) >> 3);
    let at = 0;
    for (const x of piece) {
      if (x !== 0) byte |= 1 << n;
      if (++n < 8) continue;
      out[at++] = byte;
      [byte, n] = [0, 0];
    }
    yield out;
  }
  if (n > 0) yield Uint8Array.of(byte);
}

function readSave(operation: string, options: SaveOptions | undefined, otherwise: "file" | "stream") {
  const { signal, kind, meta } = readOptions(operation, options, '{ kind: "stream" }', saveNames);
  checkSignal(operation, signal);
  if (kind !== undefined && kind !== "file" && kind !== "stream")
    fail("value", operation, `kind is ${describe(kind)}.`, 'It is "file" or "stream".');
  const texts =
    meta === undefined ? {} : readOptions(operation, meta as Record<string, string>, '{ source: "sensor" }');
  for (const [key, value] of Object.entries(texts)) {
    if (typeof value !== "string")
      fail("value", operation, `meta ${quoted(key)} is ${describe(value)}.`, "It is a text.");
  }
  return { signal, kind: kind ?? otherwise, meta: texts };
}

/**
 * The bytes of an Arrow file with these columns: vectors of one length, or tensors with one first axis.
 *
 * @param tensors by name
 * @param options `signal` and more
 * @returns a promise of the file's bytes
 * @example
 * (await arrow.load(await arrow.encode({ x: tensor([1, 2]) }))).x; // → f32 [1, 2]
 */
export async function encode(
  tensors: Readonly<Record<string, Tensor>>,
  options?: SaveOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const { signal, kind, meta } = readSave("arrow.encode", options, "file");
  return toBytes(writing("arrow.encode", tensors, kind, meta), signal);
}

/**
 * Writes an Arrow file (or a stream): wholly, or not at all.
 *
 *     await arrow.save("points.arrow", { id, position }); // position: [n, 3] becomes lists of 3
 *
 * @param path where to; a file that is there is replaced
 * @param tensors by name
 * @param options `signal` and more
 * @example
 * await arrow.save("x.arrow", { x: tensor([1, 2]) });
 * (await arrow.load("x.arrow")).x; // → f32 [1, 2]
 */
export async function save(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  options?: SaveOptions,
): Promise<void> {
  const operation = "arrow.save";
  const place = readPath(operation, path);
  const { signal, kind, meta } = readSave(operation, options, /\.arrows$/i.test(place) ? "stream" : "file");
  return toFile(operation, place, writing(operation, tensors, kind, meta), signal);
}
