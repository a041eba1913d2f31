/**
 * Parquet: columns of numbers as vectors, whole or a range of rows, of which only the row groups that hold it are read.
 * Plain, dictionary, delta and byte-split encodings; unpacked, snappy, gzip and lz4 by hand, zstd by the package fzstd.
 * Lists and texts are named, and refused.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { describe, fail, list, unreachable } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { type Archive, checkFileShape, type Item, makeArchive, readAll, readNames } from "./archive.ts";
import { type Held, hold, type Place, takePlace } from "./into-heap.ts";
import { textOf } from "./json.ts";
import { failFile, quoted } from "./names.ts";
import { checkNulls, type NullValue, nullBytes } from "./nulls.ts";
import {
  type Chunk,
  codecName,
  isCodecKnown,
  type Page,
  pagesOf,
  physicalBytes,
  structIn,
} from "./parquet-pages.ts";
import type { Peers } from "./peer.ts";
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
import { piecesOf, toBytes, toFile, type Writing } from "./target.ts";
import { readTensors } from "./tensors.ts";
import { type Field, readStruct, type Struct, structBytes, type Thrift } from "./thrift.ts";

const MAGIC = 0x31524150;
const MOST_META = 256 << 20;
/**
 * A column of one repeated value takes a few bytes, however many rows it has: up to here that is believed, beyond it only
 * so many times the bytes it takes in the file.
 */
const BELIEVED = 64 << 20;
const MOST_RATIO = 4096;

export const isParquet = (head: Uint8Array, size: number): boolean =>
  size >= 12 && [0x50, 0x41, 0x52, 0x31].every((x, i) => head[i] === x);

/** What nulls become, and where packages come from. */
export interface OpenOptions extends SourceOptions {
  /** What nulls become. Without it a column that has any is refused. */
  readonly nulls?: NullValue;
  /** Bytes that a column may take in memory. Default 64 MiB, or 4096 times what it takes in the file. */
  readonly limit?: number;
}

/** What to read. */
export interface LoadOptions extends OpenOptions {
  /** Reads only these columns. */
  readonly names?: readonly string[];
  /** Reads only these rows: from the first, up to the second. */
  readonly rows?: readonly [number, number];
}

const openNames = [...sourceNames, "nulls", "limit"];

interface Settings {
  readonly peers?: Peers;
  readonly nulls?: NullValue | undefined;
  readonly limit?: number | undefined;
}

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * Opens a Parquet file: reads its footer, and no value. Columns of numbers are its entries.
 *
 *     const table = await parquet.open("trips.parquet");
 *     const some = await table.read("distance", ["1000:2000"]); // reads the row groups that hold them
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const table = await parquet.open(await parquet.encode({ x: tensor([1, 2]) }));
 * table.entries[0].name; // → x
 */
export async function open(source: Source, options?: OpenOptions): Promise<Archive> {
  const operation = "parquet.open";
  const { nulls, limit, ...rest } = readOptions(operation, options, "{ nulls: NaN }", openNames);
  checkNulls(operation, nulls);
  checkLimit(operation, limit);
  const { input, signal, peers } = await inputOf(operation, source, rest);
  return openInput(operation, input, signal, { peers, nulls, limit });
}

function checkLimit(operation: string, limit: unknown): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && (limit as number) >= 0)) return;
  fail("value", operation, `limit is ${describe(limit)}.`, "It is a number of bytes.");
}

interface Leaf {
  readonly name: string;
  readonly type: number;
  /** Of the schema's own words. */
  readonly says: string;
  readonly dtype: DType | null;
  /** Definition level of a value that is there. */
  readonly most: number;
}

interface Group {
  readonly rows: number;
  readonly chunks: readonly Part[];
}

/** What the footer says of a column in a row group. */
interface Part {
  readonly from: number;
  readonly length: number;
  readonly codec: number;
  readonly type: number;
}

interface Context {
  readonly operation: string;
  readonly input: Input;
  readonly settings: Settings;
  readonly groups: readonly Group[];
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
  settings: Settings = {},
): Promise<Archive> {
  const bad = (fact: string): never => failFile(operation, input.name, null, fact);
  const { size } = input;
  const reader = await input.open(signal);
  try {
    if (size < 12) bad("it is too short for a Parquet file.");
    const tail = await reader.bytes(size - 8, 8);
    const view = new DataView(tail.buffer, tail.byteOffset, 8);
    if (view.getUint32(4, true) === 0x45524150) bad("it is encrypted.");
    if (view.getUint32(4, true) !== MAGIC) bad("it does not end as a Parquet file: it has been cut.");
    const length = view.getUint32(0, true);
    if (length > MOST_META || length + 12 > size) bad(`its footer would have ${length} bytes.`);
    const footer = readStruct(await reader.bytes(size - 8 - length, length), 0, bad).struct;
    const leaves = leavesOf(listIn(footer, 2, bad), bad);
    const groups = listIn(footer, 4, bad, true).map((g) => groupOf(g, leaves, input, bad));
    const rows = groups.reduce((sum, g) => sum + g.rows, 0);
    if (rows !== countIn(footer, 3, bad)) bad(`it says ${footer.get(3)} rows, its groups have ${rows}.`);
    const context: Context = { operation, input, settings, groups };
    const items = leaves.map((leaf, i) => itemOf(context, leaf, i, rows));
    return makeArchive({
      format: "parquet",
      file: input.name,
      items,
      meta: metaOf(footer, rows, groups.length, bad),
    });
  } finally {
    await reader.close();
  }
}

type Bad = (fact: string) => never;

const countIn = (s: Struct, k: number, bad: Bad): number => {
  const x = s.get(k);
  return typeof x === "number" && Number.isSafeInteger(x) && x >= 0
    ? x
    : bad(`its footer lacks a count (field ${k}).`);
};
const textIn = (s: Struct, k: number, bad: Bad): string => {
  const x = s.get(k);
  return x instanceof Uint8Array
    ? textOf(x, () => bad("a text of its footer is no UTF-8."))
    : bad(`its footer lacks a text (field ${k}).`);
};
function listIn(s: Struct, k: number, bad: Bad, mayLack = false): readonly Struct[] {
  const x = s.get(k) ?? (mayLack ? [] : undefined);
  if (!Array.isArray(x)) return bad(`its footer lacks a list (field ${k}).`);
  return (x as readonly Thrift[]).map(
    (one) => structIn(one) ?? bad(`a list of its footer (field ${k}) has no structs.`),
  );
}

function metaOf(footer: Struct, rows: number, groups: number, bad: Bad): Readonly<Record<string, unknown>> {
  const pairs = Object.create(null) as Record<string, string>;
  for (const pair of listIn(footer, 5, bad, true)) {
    if (pair.has(1)) pairs[textIn(pair, 1, bad)] = pair.has(2) ? textIn(pair, 2, bad) : "";
  }
  const by = footer.has(6) ? { createdBy: textIn(footer, 6, bad) } : {};
  return Object.freeze({ rows, groups, ...by, ...(Object.keys(pairs).length === 0 ? {} : { pairs }) });
}

const physical = [
  "BOOLEAN",
  "INT32",
  "INT64",
  "INT96",
  "FLOAT",
  "DOUBLE",
  "BYTE_ARRAY",
  "FIXED_LEN_BYTE_ARRAY",
];
/** By converted type: whole numbers that are narrower, or have no sign. */
const narrow: Readonly<Record<number, DType>> = {
  11: "u8",
  12: "u16",
  13: "u32",
  14: "u64",
  15: "i8",
  16: "i16",
  17: "i32",
  18: "i64",
};
const logical: Readonly<Record<number, string>> = {
  1: "string",
  2: "map",
  3: "list",
  4: "enum",
  5: "decimal",
  6: "date",
  7: "time",
  8: "timestamp",
  12: "JSON",
  13: "BSON",
  14: "UUID",
  15: "float16",
};
const MOST_DEPTH = 64;

/** The columns: what has no children, by the names on the way to it. */
function leavesOf(schema: readonly Struct[], bad: Bad): Leaf[] {
  const leaves: Leaf[] = [];
  let at = 0;
  const walk = (path: readonly string[], most: number, repeats: boolean) => {
    if (path.length > MOST_DEPTH) bad(`its schema is nested more than ${MOST_DEPTH} deep.`);
    const s = schema[at++] ?? bad("its schema ends too early.");
    const isRoot = at === 1;
    const name = isRoot ? "" : textIn(s, 4, bad);
    const kind = isRoot ? 0 : (s.get(3) ?? 0);
    const way = isRoot ? [] : [...path, name];
    const [level, again] = [most + (kind === 0 ? 0 : 1), repeats || kind === 2];
    const children = s.has(5) ? countIn(s, 5, bad) : 0;
    if (children > schema.length) bad(`a part of its schema has ${children} children.`);
    if (children === 0 && !isRoot) leaves.push(leafOf(s, way.join("."), level, again, bad));
    for (let i = 0; i < children; i++) walk(way, level, again);
  };
  walk([], 0, false);
  if (at !== schema.length) bad("its schema goes on after its end.");
  return leaves;
}

function leafOf(s: Struct, name: string, most: number, repeats: boolean, bad: Bad): Leaf {
  const type = countIn(s, 1, bad);
  if (physical[type] === undefined) bad(`there is no physical type ${type}.`);
  const converted = s.get(6);
  const union = structIn(s.get(10));
  const kind = union === undefined ? undefined : [...union.keys()][0];
  const whole = structIn(union?.get(10));
  const bits = whole?.get(1);
  const isDecimal = converted === 5 || kind === 5;
  let dtype: DType | null = null;
  if (type === 0) dtype = "bool";
  else if ((type === 1 || type === 2) && !isDecimal) {
    const otherwise = type === 1 ? "i32" : "i64";
    const said =
      whole === undefined
        ? narrow[converted as number]
        : (`${whole.get(2) === true ? "i" : "u"}${bits}` as DType);
    dtype =
      said === undefined
        ? otherwise
        : said in dtypes
          ? said
          : bad(`there are no whole numbers of ${bits} bits.`);
    if ((dtypes[dtype].bytes === 8) !== (type === 2)) bad(`${physical[type]} holds no ${dtype}.`);
  } else if (type === 4) dtype = "f32";
  else if (type === 5) dtype = "f64";
  else if (type === 7 && s.get(2) === 2 && kind === 15) dtype = "f16";
  const more = kind === undefined || kind === 10 ? (dtype ?? "") : (logical[kind] ?? "");
  const says = more === "" ? physical[type] : `${physical[type]} ${more}`;
  return { name, type, says: repeats ? `list of ${says}` : says, dtype: repeats ? null : dtype, most };
}

function groupOf(s: Struct, leaves: readonly Leaf[], input: Input, bad: Bad): Group {
  const rows = countIn(s, 3, bad);
  const columns = listIn(s, 1, bad);
  if (columns.length !== leaves.length)
    bad(`a row group has ${columns.length} columns, the schema ${leaves.length}.`);
  const chunks = columns.map((column, i): Part => {
    if (column.has(1)) bad(`column ${quoted(leaves[i].name)} lies in another file.`);
    const meta =
      structIn(column.get(3)) ?? bad(`column ${quoted(leaves[i].name)} is not described, or encrypted.`);
    const [type, codec, length, data] = [1, 4, 7, 9].map((k) => countIn(meta, k, bad));
    const dictionary = meta.get(11);
    const hasOne = typeof dictionary === "number" && dictionary > 0 && dictionary < data;
    const from = hasOne ? dictionary : data;
    if (type !== leaves[i].type) bad(`column ${quoted(leaves[i].name)} has another type in a row group.`);
    if (rows > 0 && (from < 4 || from + length > input.size))
      bad(`column ${quoted(leaves[i].name)} lies in bytes ${from} … ${from + length} of ${input.size}.`);
    return { type, codec, from, length };
  });
  return { rows, chunks };
}

function itemOf(context: Context, leaf: Leaf, i: number, rows: number): Item {
  const { operation, input, groups, settings } = context;
  const { name, dtype, says } = leaf;
  const parts = groups.map((g) => g.chunks[i]);
  const packed = parts.reduce((sum, p) => sum + p.length, 0);
  const base = { name, type: says, shape: [rows], from: parts[0]?.from ?? 0, packed, input };
  const decode = () => unreachable("a column is read at once");
  if (dtype === null) {
    const refusal = [
      `values of type ${quoted(says)} have no dtype here.`,
      "Columns of numbers are read.",
    ] as const;
    return { ...base, dtype, bytes: 0, refusal, decode };
  }
  const { bytes: itemBytes } = dtypes[dtype];
  const bytes = checkFileShape(operation, input.name, name, [rows], itemBytes);
  const believed = settings.limit ?? Math.max(BELIEVED, MOST_RATIO * packed);
  const decodeBox: Item["decodeBox"] = async (reader, [from], [to], signal) => {
    const codec = parts.find((p) => !isCodecKnown(p.codec))?.codec;
    if (codec !== undefined)
      failFile(
        "parquet.read",
        input.name,
        name,
        `it is packed by ${codecName(codec)}, which is not read here.`,
        "Write it with snappy, gzip, lz4 or zstd.",
      );
    const asked = (to - from) * itemBytes;
    if (asked > believed)
      failFile(
        "parquet.read",
        input.name,
        name,
        `${to - from} rows take ${asked} bytes, ${packed} in the file.`,
        `If that is true: { limit: ${asked} }.`,
      );
    return decoded(context, leaf, dtype, i, reader, from, to, signal);
  };
  return { ...base, dtype, bytes, byteStrides: [itemBytes], decodeBox };
}

async function decoded(
  context: Context,
  leaf: Leaf,
  dtype: DType,
  i: number,
  reader: Reader,
  from: number,
  to: number,
  signal: AbortSignal | undefined,
): Promise<Place> {
  const { input, groups, settings } = context;
  const { name: entry, most } = leaf;
  const bad = (fact: string): never => failFile("parquet.read", input.name, entry, fact);
  const itemBytes = dtypes[dtype].bytes;
  const place = takePlace("parquet.read", dtype, (to - from) * itemBytes);
  try {
    let first = 0;
    for (const { rows, chunks } of groups) {
      const [low, high] = [Math.max(from, first), Math.min(to, first + rows)];
      if (low < high) {
        const { from: at, length, codec, type } = chunks[i];
        const bytes = await reader.bytes(at, length);
        const chunk: Chunk = {
          type,
          codec,
          rows,
          most,
          bad,
          file: input.name,
          entry,
          peers: settings.peers ?? {},
          signal,
        };
        let row = first;
        for await (const page of pagesOf(chunk, bytes)) {
          const [a, b] = [Math.max(low, row), Math.min(high, row + page.rows)];
          if (a < b) {
            const out = place.at((a - from) * itemBytes, (b - a) * itemBytes);
            put(page, a - row, b - row, physicalBytes[type], itemBytes, out, () =>
              fillOf(context, leaf, dtype),
            );
          }
          row += page.rows;
          if (row >= high) break;
        }
        if (row < high) bad(`a row group of ${rows} rows has pages of ${row - first}.`);
      }
      first += rows;
    }
    return place;
  } catch (error) {
    place.release();
    throw error;
  }
}

function fillOf({ settings, input }: Context, { name }: Leaf, dtype: DType): Uint8Array {
  if (settings.nulls === undefined)
    failFile(
      "parquet.read",
      input.name,
      name,
      "some of its values are null.",
      "Say what they become: parquet.load(file, { nulls: NaN }).",
    );
  return nullBytes("parquet.read", input.name, name, dtype, settings.nulls!);
}

/** Rows [from, to) of a page into place; numbers that are narrower than they are stored keep their lowest bytes. */
function put(
  page: Page,
  from: number,
  to: number,
  width: number,
  itemBytes: number,
  out: Uint8Array,
  fill: () => Uint8Array,
): void {
  const { values, picks, present } = page;
  if (picks === null && present === null && width === itemBytes) {
    out.set(values.subarray(from * width, to * width));
    return;
  }
  const nothing = present === null ? null : fill();
  let k = 0;
  if (present === null) k = from;
  else for (let i = 0; i < from; i++) k += present[i];
  for (let i = from, p = 0; i < to; i++, p += itemBytes) {
    if (present !== null && present[i] === 0) {
      out.set(nothing!, p);
      continue;
    }
    const at = (picks === null ? k : picks[k]) * width;
    k++;
    for (let b = 0; b < itemBytes; b++) out[p + b] = values[at + b];
  }
}

/**
 * All columns of numbers of a Parquet file (or those of some names), by name; all rows, or a range of them.
 *
 *     const { price } = await parquet.load("trips.parquet", { names: ["price"], rows: [0, 1000] });
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `nulls`: what stands for one; `signal`, `headers`, `peers`
 * @returns a promise of the columns by name
 * @throws TensorError where the file is not what it says
 * @example
 * const { x } = await parquet.load(await parquet.encode({ x: tensor([1, 2]) }));
 * x; // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "parquet.load";
  const read = readOptions(operation, options, "{ names }", [...openNames, "names", "rows"]);
  const { names: given, rows, nulls, limit, ...rest } = read;
  checkNulls(operation, nulls);
  checkLimit(operation, limit);
  const names = readNames(operation, given);
  const range = rows as readonly unknown[] | undefined;
  const isRange =
    range === undefined ||
    (Array.isArray(range) && range.length === 2 && range.every((x) => Number.isSafeInteger(x)));
  if (!isRange)
    fail(
      "value",
      operation,
      `rows is ${describe(rows)}.`,
      "Give the first and the one after the last: [0, 1000].",
    );
  const { input, signal, peers } = await inputOf(operation, source, rest);
  const file = await openInput(operation, input, signal, { peers, nulls, limit });
  const all = file.entries.filter((e) => e.dtype !== null).map((e) => e.name);
  return readAll(file, names ?? all, signal, range === undefined ? undefined : [`${range[0]}:${range[1]}`]);
}

/* Writing ---------------------------------------------------------------------------------------------- */

interface Column {
  readonly name: string;
  readonly held: Held;
  readonly type: number;
  readonly more: readonly (readonly [number, Field])[];
  /** Bytes of a value in the file. */
  readonly width: number;
}

const converted = new Map(Object.entries(narrow).map(([k, dtype]) => [dtype, Number(k)]));

function columnOf(operation: string, name: string, held: Held): Column {
  const { dtype } = held;
  const { bytes } = dtypes[dtype];
  const base = { name, held, more: [] };
  if (dtype === "bf16")
    fail("dtype", operation, `Parquet has no bf16 (${quoted(name)}).`, 'Convert it: t.to("f32").');
  if (dtype === "bool") return { ...base, type: 0, width: 1 / 8 };
  if (dtype === "f32" || dtype === "f64") return { ...base, type: dtype === "f32" ? 4 : 5, width: bytes };
  if (dtype === "f16") return { ...base, type: 7, width: 2, more: [[2, { i32: 2 }]] };
  return { ...base, type: bytes === 8 ? 2 : 1, width: Math.max(4, bytes) };
}

/** Bytes of a page, about. */
const PAGE = 8 << 20;

function writing(operation: string, tensors: Readonly<Record<string, Tensor>>): Writing {
  const helds: Held[] = [];
  const release = () => {
    for (const held of helds) held.release();
  };
  try {
    const columns = readTensors(operation, tensors).map(([name, t]) => {
      const held = hold(operation, t);
      helds.push(held);
      return columnOf(operation, name, held);
    });
    const rows = columns[0]?.held.shape[0] ?? 0;
    for (const { name, held } of columns) {
      if (held.shape.length === 1 && held.shape[0] === rows) continue;
      fail(
        "shape",
        operation,
        `${quoted(name)} is ${list(held.shape)}, the columns are vectors of ${rows}.`,
        "Columns of a table are vectors of one length.",
      );
    }
    return { pieces: () => tablePieces(columns, rows), release };
  } catch (error) {
    release();
    throw error;
  }
}

const text = (x: string): Field => ({ bytes: new TextEncoder().encode(x) });

async function* tablePieces(columns: readonly Column[], rows: number): AsyncGenerator<Uint8Array> {
  const magic = text("PAR1") as { bytes: Uint8Array };
  yield magic.bytes;
  let at = 4;
  const chunks: Field[] = [];
  for (const { name, held, type, width } of columns) {
    const from = at;
    for await (const { count, bytes } of pagePieces(held, width)) {
      const head = structBytes([
        [1, { i32: 0 }],
        [2, { i32: bytes.length }],
        [3, { i32: bytes.length }],
        [
          5,
          {
            struct: [
              [1, { i32: count }],
              [2, { i32: 0 }],
              [3, { i32: 3 }],
              [4, { i32: 3 }],
            ],
          },
        ],
      ]);
      yield head;
      yield bytes;
      at += head.length + bytes.length;
    }
    const meta: Field = {
      struct: [
        [1, { i32: type }],
        [2, { list: [{ i32: 0 }] }],
        [3, { list: [text(name)] }],
        [4, { i32: 0 }],
        [5, { i64: rows }],
        [6, { i64: at - from }],
        [7, { i64: at - from }],
        [9, { i64: from }],
      ],
    };
    chunks.push({
      struct: [
        [2, { i64: from }],
        [3, meta],
      ],
    });
  }
  const schema = columns.map(({ name, held, type, more }): Field => {
    const kind = converted.get(held.dtype);
    return {
      struct: [
        [1, { i32: type }],
        ...more,
        [3, { i32: 0 }],
        [4, text(name)],
        ...(kind === undefined ? [] : [[6, { i32: kind }] as const]),
        ...(held.dtype === "f16" ? [[10, { struct: [[15, { struct: [] }]] }] as const] : []),
      ],
    };
  });
  const root: Field = {
    struct: [
      [4, text("schema")],
      [5, { i32: columns.length }],
    ],
  };
  const group: Field = {
    struct: [
      [1, { list: chunks }],
      [2, { i64: at - 4 }],
      [3, { i64: rows }],
    ],
  };
  const footer = structBytes([
    [1, { i32: 2 }],
    [2, { list: [root, ...schema] }],
    [3, { i64: rows }],
    [4, { list: rows === 0 || columns.length === 0 ? [] : [group] }],
    [6, text("strided")],
  ]);
  yield footer;
  const tail = new Uint8Array(8);
  new DataView(tail.buffer).setUint32(0, footer.length, true);
  tail.set(magic.bytes, 4);
  yield tail;
}

/** Values as Parquet has them: bools as bits, narrow whole numbers in four bytes. */
async function* pagePieces(held: Held, width: number): AsyncGenerator<{ count: number; bytes: Uint8Array }> {
  const { dtype } = held;
  const itemBytes = dtypes[dtype].bytes;
  const { read } = dtypes[dtype];
  for await (const whole of piecesOf(held)) {
    const most = Math.floor(PAGE / Math.max(width, itemBytes)) & ~7;
    for (let from = 0; from < whole.length / itemBytes; from += most) {
      const piece = whole.subarray(from * itemBytes, (from + most) * itemBytes);
      const count = piece.length / itemBytes;
      if (width === itemBytes) {
        yield { count, bytes: piece };
        continue;
      }
      const out = new Uint8Array(Math.ceil(count * width));
      if (dtype === "bool") for (let i = 0; i < count; i++) out[i >> 3] |= piece[i] << (i & 7);
      else {
        const [from, to] = [new DataView(piece.buffer, piece.byteOffset), new DataView(out.buffer)];
        for (let i = 0; i < count; i++)
          to.setInt32(4 * i, read(from, i * itemBytes) as Value as number, true);
      }
      yield { count, bytes: out };
    }
  }
}

/**
 * The bytes of a Parquet file with these columns, vectors of one length; nothing is packed.
 *
 * @param tensors by name
 * @param options `signal` and more
 * @returns a promise of the file's bytes
 * @example
 * (await parquet.load(await parquet.encode({ x: tensor([1, 2]) }))).x; // → f32 [1, 2]
 */
export async function encode(
  tensors: Readonly<Record<string, Tensor>>,
  options?: ReadOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const { signal } = readOptions("parquet.encode", options, "{ signal }", ["signal"]);
  checkSignal("parquet.encode", signal);
  return toBytes(writing("parquet.encode", tensors), signal);
}

/**
 * Writes a Parquet file: wholly, or not at all. Values are plain and not packed.
 *
 *     await parquet.save("points.parquet", { x, y });
 *
 * @param path where to; a file that is there is replaced
 * @param tensors by name
 * @param options `signal` and more
 * @example
 * await parquet.save("x.parquet", { x: tensor([1, 2]) });
 * (await parquet.load("x.parquet")).x; // → f32 [1, 2]
 */
export async function save(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  options?: ReadOptions,
): Promise<void> {
  const { signal } = readOptions("parquet.save", options, "{ signal }", ["signal"]);
  checkSignal("parquet.save", signal);
  return toFile("parquet.save", path, writing("parquet.save", tensors), signal);
}
