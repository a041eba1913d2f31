/**
 * What an Arrow IPC file says of itself: the fields of its schema, and for every batch of rows where the buffers of each
 * column lie. Nothing of a body is read here.
 */
import type { DType } from "../dtype.ts";
import { checkApart } from "./archive.ts";
import { Flat, type Table } from "./flatbuffer.ts";
import { failFile } from "./names.ts";
import type { Input, Reader } from "./source.ts";

export const ARROW_MAGIC = "ARROW1";
const CONTINUES = 0xffffffff;
/** No schema and no list of buffers is longer. */
const MOST_META = 64 << 20;
const MOST_BATCHES = 1 << 20;
/** Lists in lists. */
const MOST_DEPTH = 16;

export const isArrow = (head: Uint8Array, size: number): boolean => isArrowFile(head) || isStream(head, size);

export const isArrowFile = (head: Uint8Array): boolean =>
  [...ARROW_MAGIC].every((c, i) => head[i] === c.charCodeAt(0));

/** A stream has no magic: it begins with a message, which begins with four bytes of ones and its length. */
function isStream(head: Uint8Array, size: number): boolean {
  if (head.length < 16 || head.subarray(0, 4).some((x) => x !== 255)) return false;
  const length = new DataView(head.buffer, head.byteOffset).getInt32(4, true);
  return length >= 16 && length % 8 === 0 && length <= Math.min(size - 8, MOST_META);
}

/* Types ------------------------------------------------------------------------------------------------ */

/** How the buffers of a type follow each other. */
interface Layout {
  /** Its name in messages. */
  readonly type: string;
  /** Elements that one of ours holds, and bits of one. */
  readonly dtype: DType | null;
  readonly bits: number;
  readonly nodes: 0 | 1;
  readonly buffers: number;
  /** Also as many buffers as the batch says. */
  readonly variadic?: true;
  /** A list of so many of its one child. */
  readonly size?: number;
}

export interface Field {
  readonly name: string;
  readonly layout: Layout;
  readonly children: readonly Field[];
}

const other = (type: string, buffers: number, more: Partial<Layout> = {}): Layout => ({
  type,
  dtype: null,
  bits: 0,
  nodes: 1,
  buffers,
  ...more,
});
const numbers = (type: string, dtype: DType, bits: number): Layout => ({
  type,
  dtype,
  bits,
  nodes: 1,
  buffers: 2,
});

const units = ["s", "ms", "us", "ns"];
const halves: readonly [string, DType, number][] = [
  ["float16", "f16", 16],
  ["float32", "f32", 32],
  ["float64", "f64", 64],
];

const short = (t: Table, k: number, otherwise: number): number => {
  const at = t.field(k);
  return at === null ? otherwise : t.flat.i16(at);
};
const int = (t: Table, k: number, otherwise: number): number => {
  const at = t.field(k);
  return at === null ? otherwise : t.flat.i32(at);
};
const byte = (t: Table, k: number, otherwise: number): number => {
  const at = t.field(k);
  return at === null ? otherwise : t.flat.u8(at);
};

/** By the number of the type. */
const types: Readonly<Record<number, (t: Table, bad: (fact: string) => never) => Layout>> = {
  1: () => other("null", 0),
  2: (t, bad) => {
    const [bits, isSigned] = [int(t, 0, 0), byte(t, 1, 0) !== 0];
    if (![8, 16, 32, 64].includes(bits)) bad(`there are no integers of ${bits} bits.`);
    return numbers(`${isSigned ? "int" : "uint"}${bits}`, `${isSigned ? "i" : "u"}${bits}` as DType, bits);
  },
  3: (t, bad) =>
    numbers(...(halves[short(t, 0, 0)] ?? bad(`there are no floats of kind ${short(t, 0, 0)}.`))),
  4: () => other("binary", 3),
  5: () => other("utf8", 3),
  6: () => numbers("bool", "bool", 1),
  7: () => other("decimal", 2),
  8: (t) => (short(t, 0, 1) === 0 ? numbers("date[day]", "i32", 32) : numbers("date[ms]", "i64", 64)),
  9: (t) => {
    const wide = int(t, 1, 32) === 64;
    return numbers(`time[${units[short(t, 0, 1)] ?? "?"}]`, wide ? "i64" : "i32", wide ? 64 : 32);
  },
  10: (t) => numbers(`timestamp[${units[short(t, 0, 0)] ?? "?"}]`, "i64", 64),
  11: () => other("interval", 2),
  12: () => other("list", 2),
  13: () => other("struct", 1),
  14: (t) => other("union", short(t, 0, 0) === 0 ? 1 : 2),
  15: () => other("fixed-size binary", 2),
  16: (t, bad) => {
    const size = int(t, 0, 0);
    return size >= 0 ? other("fixed-size list", 1, { size }) : bad(`there are no lists of ${size}.`);
  },
  17: () => other("map", 2),
  18: (t) => numbers(`duration[${units[short(t, 0, 1)] ?? "?"}]`, "i64", 64),
  19: () => other("large binary", 3),
  20: () => other("large utf8", 3),
  21: () => other("large list", 2),
  22: () => other("run-end encoded", 0),
  23: () => other("binary view", 2, { variadic: true }),
  24: () => other("utf8 view", 2, { variadic: true }),
  25: () => other("list view", 3),
  26: () => other("large list view", 3),
};

export interface Schema {
  readonly fields: readonly Field[];
  readonly bigEndian: boolean;
  readonly meta: Readonly<Record<string, string>>;
}

function schemaOf(t: Table, bad: (fact: string) => never): Schema {
  const { flat } = t;
  const meta = Object.create(null) as Record<string, string>;
  for (const pair of flat.tables(t.field(2))) meta[flat.text(pair.field(0))] = flat.text(pair.field(1));
  return {
    bigEndian: short(t, 0, 0) === 1,
    fields: flat.tables(t.field(1)).map((f) => fieldOf(f, 0, bad)),
    meta,
  };
}

function fieldOf(t: Table, depth: number, bad: (fact: string) => never): Field {
  if (depth > MOST_DEPTH) bad(`its types are nested more than ${MOST_DEPTH} deep.`);
  const { flat } = t;
  const name = flat.text(t.field(0));
  const kind = byte(t, 2, 0);
  // Indices stand in the batch, what they stand for somewhere else.
  if (t.field(4) !== null) return { name, layout: other("dictionary", 2), children: [] };
  const at = t.field(3);
  const make = types[kind] ?? bad(`there is no type of number ${kind}.`);
  const layout = make(
    at === null ? bad(`a type of number ${kind} has no description.`) : flat.table(flat.follow(at)),
    bad,
  );
  const children = flat.tables(t.field(5)).map((child) => fieldOf(child, depth + 1, bad));
  if (layout.size !== undefined && children.length !== 1) bad("a list of one size has one kind of elements.");
  return { name, layout, children };
}

/* Batches ---------------------------------------------------------------------------------------------- */

/** Bytes of the file. */
export interface Range {
  readonly from: number;
  readonly length: number;
}

/** Which elements are there: a bit for each of `count`, of which `nulls` are not set. */
export interface Validity {
  readonly bits: Range;
  readonly count: number;
  readonly nulls: number;
}

/** What one batch has of a column. */
export interface Chunk {
  readonly rows: number;
  readonly values: Range;
  /** Of the rows, then of the lists in them, then of the elements: those that have nulls. */
  readonly validities: readonly Validity[];
}

export type Codec = "lz4" | "zstd" | null;

export interface Batch {
  readonly rows: number;
  readonly codec: Codec;
  /** By column: null where no dtype holds its elements. */
  readonly chunks: readonly (Chunk | null)[];
}

export interface ArrowFacts {
  readonly schema: Schema;
  readonly batches: readonly Batch[];
  readonly kind: "file" | "stream";
}

/** Numbers of a list in a list in … a column of numbers; null where it is no such thing. */
export function shapeOf({ layout, children }: Field): { sizes: number[]; layout: Layout } | null {
  if (layout.size === undefined) return layout.dtype === null ? null : { sizes: [], layout };
  const inner = shapeOf(children[0]);
  return inner === null ? null : { sizes: [layout.size, ...inner.sizes], layout: inner.layout };
}

interface Message {
  readonly kind: number;
  readonly header: Table | null;
  readonly bodyLength: number;
}

const SCHEMA = 1;
const BATCH = 3;

function messageOf(bytes: Uint8Array, bad: (fact: string) => never): Message {
  const flat = new Flat(bytes, bad);
  const { root } = flat;
  const at = root.field(2);
  const length = root.field(3);
  return {
    kind: byte(root, 1, 0),
    header: at === null ? null : flat.table(flat.follow(at)),
    bodyLength: length === null ? 0 : flat.count(length),
  };
}

export async function readArrow(operation: string, input: Input, reader: Reader): Promise<ArrowFacts> {
  const bad = (fact: string): never => failFile(operation, input.name, null, fact);
  const head = await reader.bytes(0, Math.min(16, input.size));
  if (isArrowFile(head)) return fromFile(operation, input, reader, bad);
  if (!isStream(head, input.size)) bad("it begins neither as an Arrow file nor as a stream.");
  return fromStream(input, reader, bad);
}

/** The length of a message's description, and of what stands before it. */
function prefixOf(bytes: Uint8Array): { before: number; length: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const first = view.getUint32(0, true);
  return first === CONTINUES ? { before: 8, length: view.getInt32(4, true) } : { before: 4, length: first };
}

async function fromFile(
  operation: string,
  input: Input,
  reader: Reader,
  bad: (fact: string) => never,
): Promise<ArrowFacts> {
  const { size } = input;
  if (size < 8 + 10) bad("it ends inside of its header.");
  const tail = await reader.bytes(size - 10, 10);
  if (!isArrowFile(tail.subarray(4))) bad("it does not end as an Arrow file: it has been cut.");
  const length = new DataView(tail.buffer, tail.byteOffset).getInt32(0, true);
  const end = size - 10 - length;
  if (length < 8 || length > MOST_META || end < 8) bad(`its footer would have ${length} bytes.`);
  const flat = new Flat(await reader.bytes(end, length), bad);
  const { root } = flat;
  const at = root.field(1) ?? bad("its footer has no schema.");
  const schema = schemaOf(flat.table(flat.follow(at)), bad);
  const blocks = flat.vector(root.field(3), 24).map((place, i) => {
    const [from, metaLength, bodyLength] = [flat.count(place), flat.i32(place + 8), flat.count(place + 16)];
    const bytes = metaLength + bodyLength;
    if (metaLength < 8 || metaLength > MOST_META || from < 8 || !(from + bytes <= end))
      bad(`batch ${i} lies in bytes ${from} … ${from + bytes} of ${size}.`);
    return { name: `batch ${i}`, from, metaLength, bytes };
  });
  if (blocks.length > MOST_BATCHES) bad(`it has ${blocks.length} batches; at most ${MOST_BATCHES} are read.`);
  checkApart(operation, input.name, blocks);
  const batches: Batch[] = [];
  for (const { from, metaLength, bytes } of blocks) {
    const all = await reader.bytes(from, metaLength);
    const { before, length: n } = prefixOf(all);
    if (n < 8 || before + n > metaLength)
      bad(`the description of batch ${batches.length} would have ${n} bytes.`);
    const message = messageOf(all.subarray(before, before + n), bad);
    if (message.kind !== BATCH || message.header === null) bad(`batch ${batches.length} is none.`);
    const body = { from: from + metaLength, length: bytes - metaLength };
    if (message.bodyLength !== body.length)
      bad(`batch ${batches.length} has ${body.length} bytes, and says ${message.bodyLength}.`);
    batches.push(batchOf(message.header!, schema, body, bad));
  }
  return { schema, batches, kind: "file" };
}

async function fromStream(input: Input, reader: Reader, bad: (fact: string) => never): Promise<ArrowFacts> {
  let schema: Schema | null = null;
  const batches: Batch[] = [];
  for (let at = 0; at + 4 <= input.size; ) {
    const start = await reader.bytes(at, Math.min(8, input.size - at));
    if (start.length < 8) {
      if (prefixOf(new Uint8Array([...start, 0, 0, 0, 0])).length === 0) break;
      bad(`it ends at byte ${input.size}, inside of a message.`);
    }
    const { before, length } = prefixOf(start);
    if (length === 0) break;
    if (length < 8 || length > MOST_META || at + before + length > input.size)
      bad(`the message at byte ${at} would have a description of ${length} bytes.`);
    const message = messageOf(await reader.bytes(at + before, length), bad);
    const body = { from: at + before + length, length: message.bodyLength };
    if (body.from + body.length > input.size)
      bad(`the message at byte ${at} has a body of ${body.length} bytes, ${input.size - body.from} follow.`);
    if (message.kind === SCHEMA && message.header !== null) {
      if (schema !== null) bad("it has two schemas.");
      schema = schemaOf(message.header, bad);
    } else if (message.kind === BATCH && message.header !== null) {
      if (schema === null) return bad("its rows come before their schema.");
      if (batches.length >= MOST_BATCHES) bad(`it has more than ${MOST_BATCHES} batches.`);
      batches.push(batchOf(message.header, schema, body, bad));
    }
    at = body.from + body.length;
  }
  return schema === null ? bad("it has no schema.") : { schema, batches, kind: "stream" };
}

/** Where the next field begins among the nodes and buffers of a batch. */
interface Walk {
  node: number;
  buffer: number;
  variadic: number;
}

interface Parts {
  readonly nodes: readonly { readonly length: number; readonly nulls: number }[];
  readonly buffers: readonly Range[];
  readonly variadics: readonly number[];
  readonly bad: (fact: string) => never;
}

function batchOf(t: Table, schema: Schema, body: Range, bad: (fact: string) => never): Batch {
  const { flat } = t;
  const rowsAt = t.field(0);
  const rows = rowsAt === null ? 0 : flat.count(rowsAt);
  const nodes = flat
    .vector(t.field(1), 16)
    .map((at) => ({ length: flat.count(at), nulls: flat.count(at + 8) }));
  const buffers = flat.vector(t.field(2), 16).map((at) => {
    const [offset, length] = [flat.count(at), flat.count(at + 8)];
    if (offset + length > body.length)
      bad(`a buffer lies in bytes ${offset} … ${offset + length} of a body of ${body.length}.`);
    return { from: body.from + offset, length };
  });
  const variadics = flat.vector(t.field(4), 8).map((at) => flat.count(at));
  const packing = t.field(3);
  const codec = packing === null ? null : byte(flat.table(flat.follow(packing)), 0, 0);
  if (codec !== null && codec > 1) bad(`it is packed by codec ${codec}, which is not known.`);
  const walk: Walk = { node: 0, buffer: 0, variadic: 0 };
  const parts: Parts = { nodes, buffers, variadics, bad };
  const chunks = schema.fields.map((field) => {
    const chunk = chunkOf(field, parts, walk);
    if (chunk !== null && chunk.rows !== rows) bad(`a batch of ${rows} rows has ${chunk.rows} of a column.`);
    return chunk;
  });
  return { rows, codec: codec === null ? null : codec === 0 ? "lz4" : "zstd", chunks };
}

/** What a field has in a batch; steps over it in any case. */
function chunkOf(field: Field, parts: Parts, walk: Walk): Chunk | null {
  const { layout, children } = field;
  const { nodes, buffers, variadics, bad } = parts;
  const node = nodes[walk.node] ?? bad(`a batch has ${nodes.length} nodes, more are expected.`);
  walk.node += layout.nodes;
  const first = walk.buffer;
  let count = layout.buffers;
  if (layout.variadic) {
    const more = variadics[walk.variadic++] ?? bad("a batch does not say how many buffers a view has.");
    count += more;
  }
  walk.buffer += count;
  if (walk.buffer > buffers.length) bad(`a batch has ${buffers.length} buffers, more are expected.`);
  const inner = children.map((child) => chunkOf(child, parts, walk));
  if (node.nulls > node.length) bad(`${node.nulls} of ${node.length} elements are null.`);
  const validities =
    node.nulls === 0 || count === 0 ? [] : [{ bits: buffers[first], count: node.length, nulls: node.nulls }];
  if (layout.size !== undefined) {
    const [child] = inner;
    if (child === null) return null;
    if (child.rows !== node.length * layout.size)
      bad(`${node.length} lists of ${layout.size} have ${child.rows} elements.`);
    return { ...child, rows: node.length, validities: [...validities, ...child.validities] };
  }
  return layout.dtype === null ? null : { rows: node.length, values: buffers[first + 1], validities };
}
