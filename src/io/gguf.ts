/**
 * GGUF, version 2 and 3: typed metadata, then tensors with their axes fastest first. Plain element types are read and
 * written; block types are listed with their names and sizes, their bytes are read with `raw`, and what `strided/quantised`
 * makes is written.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { readOptions, snapshot } from "../ops/arguments.ts";
import { live, type Tensor } from "../tensor.ts";
import {
  type Archive,
  checkApart,
  checkFileShape,
  denseStrides,
  type Item,
  makeArchive,
  readAll,
  readNames,
} from "./archive.ts";
import { blocksOf, type InBlocks } from "./blocks.ts";
import { Cursor } from "./cursor.ts";
import { ggmlTypeOf, ggmlTypes } from "./ggml-types.ts";
import { encodeMeta, type MetaValue, readValue } from "./gguf-meta.ts";
import { type Held, hold, Streamed } from "./into-heap.ts";
import { failFile, quoted } from "./names.ts";
import {
  checkSignal,
  type Input,
  inputOf,
  type ReadOptions,
  type Source,
  type SourceOptions,
  sourceNames,
} from "./source.ts";
import { piecesOf, toBytes, toFile, type Writing } from "./target.ts";
import { readNamed } from "./tensors.ts";

export type { MetaValue } from "./gguf-meta.ts";

/** An open GGUF file: `meta` has plain values, `metaTypes` says how each was written. */
export interface GgufArchive extends Archive {
  /** The format's: 2 or 3. */
  readonly version: number;
  /** What the file says about itself: plain values by key. */
  readonly meta: Readonly<Record<string, MetaValue>>;
  /** "u32", "f32", "string", "i32[]", … by key. */
  readonly metaTypes: Readonly<Record<string, string>>;
}

/** Metadata beyond this is no metadata. */
const MOST_HEADER = 2 ** 30;
const DEFAULT_ALIGNMENT = 32;
const MOST_AXES = 8;

export const isGguf = (head: Uint8Array): boolean =>
  head[0] === 0x47 && head[1] === 0x47 && head[2] === 0x55 && head[3] === 0x46;

/**
 * Opens a GGUF file: reads its metadata and the list of its tensors, and no element.
 *
 *     const model = await gguf.open("model.gguf");
 *     model.meta["general.architecture"]; // "llama"
 *     model.entries.filter((e) => e.dtype === null).map((e) => e.type); // ["Q4_K", …]
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await gguf.open(await gguf.encode({ w: tensor([1, 2]) }));
 * file.entries[0].type; // → F32
 */
export async function open(source: Source, options?: SourceOptions): Promise<GgufArchive> {
  const { input, signal } = await inputOf("gguf.open", source, options);
  return openInput("gguf.open", input, signal);
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<GgufArchive> {
  const { name: file, size } = input;
  const bad = (fact: string): never => failFile(operation, file, null, `its header is damaged: ${fact}`);
  const reader = await input.open(signal);
  try {
    const c = new Cursor(reader, 0, Math.min(size, MOST_HEADER), bad);
    await c.load(Math.min(8, size));
    if (size < 24) failFile(operation, file, null, `it has ${size} bytes, too few for a GGUF file.`);
    await c.load(24);
    const { view, p } = c.take(24);
    if (view.getUint32(p, true) !== 0x46554747)
      failFile(operation, file, null, "it does not begin with GGUF.");
    // Written on a machine with the other order of bytes, the version's low half is empty.
    const little = (view.getUint32(p + 4, true) & 0xffff) !== 0;
    const version = view.getUint32(p + 4, little);
    if (version !== 2 && version !== 3) {
      failFile(operation, file, null, `it has version ${version} of GGUF; 2 and 3 are read.`);
    }
    const [tensors, keys] = [8, 16].map((k) => Number(view.getBigUint64(p + k, little)));
    // A key takes 8 bytes of length, 4 of type and a value; a tensor 8, 4, 4 and 8.
    if (keys * 13 > c.left) bad(`${keys} keys do not fit in ${c.left} bytes.`);
    if (tensors * 24 > c.left) bad(`${tensors} tensors do not fit in ${c.left} bytes.`);

    const meta = Object.create(null) as Record<string, MetaValue>;
    const metaTypes = Object.create(null) as Record<string, string>;
    for (let i = 0; i < keys; i++) {
      const key = await readText(c, little, bad, 65535);
      if (key in meta) bad(`the key ${quoted(key)} is there twice.`);
      const { value, type } = await readValue(c, little, (fact) => bad(`key ${quoted(key)}: ${fact}`));
      meta[key] = value;
      metaTypes[key] = type;
    }
    const alignment = meta["general.alignment"] ?? DEFAULT_ALIGNMENT;
    const isPower = typeof alignment === "number" && Number.isInteger(Math.log2(alignment));
    if (!isPower || alignment < 1 || alignment > 2 ** 24) {
      return bad(`general.alignment is ${describe(alignment)}, which is no power of two.`);
    }
    const infos: Info[] = [];
    for (let i = 0; i < tensors; i++) infos.push(await readInfo(operation, file, c, little, bad));
    const start = infos.length === 0 ? c.at : Math.ceil(c.at / alignment) * alignment;
    const starts = [...new Set(infos.map((info) => info.offset))].sort((a, b) => a - b);
    const after = new Map(starts.map((offset, i) => [offset, starts[i + 1] ?? size - start]));
    const items = infos.map((info) => {
      const room = start + after.get(info.offset)!;
      return itemOf(operation, input, info, room, start, alignment, !little);
    });
    checkApart(operation, file, items);
    const archive = makeArchive({ format: "gguf", file, items, meta });
    return Object.freeze({ ...archive, meta, metaTypes, version });
  } finally {
    await reader.close();
  }
}

async function readText(
  c: Cursor,
  little: boolean,
  bad: (fact: string) => never,
  most: number,
): Promise<string> {
  if (!c.has(8)) await c.load(8);
  const { view, p } = c.take(8);
  const length = Number(view.getBigUint64(p, little));
  if (length > most || length > c.left) bad(`a name of ${length} bytes at byte ${c.at}.`);
  return c.text(length);
}

interface Info {
  readonly name: string;
  /** Slowest axis first, as everywhere here. */
  readonly shape: readonly number[];
  readonly type: number;
  /** From where the elements of all tensors begin. */
  readonly offset: number;
}

async function readInfo(
  operation: string,
  file: string,
  c: Cursor,
  little: boolean,
  bad: (fact: string) => never,
): Promise<Info> {
  const name = await readText(c, little, bad, 65535);
  await c.load(4);
  const first = c.take(4);
  const rank = first.view.getUint32(first.p, little);
  if (rank > MOST_AXES)
    failFile(operation, file, name, `it has ${rank} axes; at most ${MOST_AXES} are read.`);
  await c.load(rank * 8 + 12);
  const { view, p } = c.take(rank * 8 + 12);
  const sizes = Array.from({ length: rank }, (_, d) => Number(view.getBigUint64(p + 8 * d, little)));
  return {
    name,
    shape: sizes.reverse(),
    type: view.getUint32(p + 8 * rank, little),
    offset: Number(view.getBigUint64(p + 8 * rank + 4, little)),
  };
}

function itemOf(
  operation: string,
  input: Input,
  info: Info,
  /** Where what follows it begins. */
  next: number,
  start: number,
  alignment: number,
  swap: boolean,
): Item {
  const { name, shape, offset } = info;
  const bad = (fact: string): never => failFile(operation, input.name, name, fact);
  if (!Number.isSafeInteger(offset) || offset % alignment !== 0) {
    bad(`its offset ${offset} is no multiple of ${alignment}.`);
  }
  const from = start + offset;
  const type = ggmlTypes[info.type];
  const count = checkFileShape(operation, input.name, name, shape, 1);
  if (type === undefined) {
    if (from > input.size || next > input.size) {
      bad(`its elements lie in bytes ${from} … ${next}, the file has ${input.size}.`);
    }
    const refusal = [
      `its type, ggml's number ${info.type}, is not known here.`,
      "Its bytes, up to those of the next, are read with raw.",
    ] as const;
    return { name, type: `type ${info.type}`, dtype: null, shape, from, bytes: next - from, input, refusal };
  }
  const row = shape.at(-1) ?? 1;
  if (row % type.block !== 0)
    bad(`its rows of ${row} are no whole blocks of ${type.block}, as ${type.name} has.`);
  const bytes = (count / type.block) * type.bytes;
  if (!Number.isSafeInteger(bytes) || from + bytes > input.size) {
    bad(
      `shape [${shape.join(", ")}] of ${type.name} takes ${bytes} bytes from ${from} on, the file has ${input.size}.`,
    );
  }
  const base = { name, type: type.name, shape, from, bytes, input, swap };
  if (type.dtype === null) {
    const refusal = [
      `${type.name} packs ${type.block} elements in ${type.bytes} bytes: it is no dtype but a block type.`,
      'Use readGguf(archive, name) of "strided/quantised", or raw for the bytes as u8.',
    ] as const;
    // Which bytes of a block would have to change places is not known here.
    return { ...base, type: swap ? `${type.name}, big-endian` : type.name, dtype: null, refusal };
  }
  return { ...base, dtype: type.dtype, byteStrides: denseStrides(shape, dtypes[type.dtype].bytes) };
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only these. */
  readonly names?: readonly string[];
}

/**
 * All tensors of a GGUF file (or those of some names), by name.
 *
 *     const { "output_norm.weight": norm } = await gguf.load(url, { names: ["output_norm.weight"] });
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `signal`, `headers`
 * @returns a promise of the tensors by name
 * @throws TensorError where the file is not what it says
 * @example
 * const { w } = await gguf.load(await gguf.encode({ w: tensor([1, 2]) }));
 * w; // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "gguf.load";
  const { names: given, ...rest } = readOptions(operation, options, "{ names }", [...sourceNames, "names"]);
  const names = readNames(operation, given);
  const { input, signal } = await inputOf(operation, source, rest);
  return readAll(await openInput(operation, input, signal), names, signal);
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** How to write. */
export interface SaveOptions extends ReadOptions {
  /** Texts, numbers, bigints, booleans, and lists of one kind; "general.alignment" is obeyed. */
  readonly meta?: Readonly<Record<string, MetaValue>>;
  /**
   * How to write values of meta: "u32", "f32", "string", "f32[]" and so on, as `metaTypes` of an open file has them. Without
   * it whole numbers are u32 where they fit, then i32, then i64; other numbers are f32.
   */
  readonly metaTypes?: Readonly<Record<string, string>>;
}

interface Part {
  readonly name: string;
  readonly held: Held;
  readonly type: number;
  /** In elements. */
  readonly shape: readonly number[];
}

/** What can be written: tensors, and elements in blocks. */
export type GgufTensor = Tensor | InBlocks;

function holdAll(operation: string, tensors: Readonly<Record<string, GgufTensor>>): Part[] {
  const parts: Part[] = [];
  try {
    const given = Object.entries(readNamed<GgufTensor>(operation, tensors));
    const all = given.map(
      ([name, t]) => [name, blocksOf(t) ?? plainOf(operation, name, t as Tensor)] as const,
    );
    for (const [name, { type, shape, blocks }] of all) {
      if (shape.length > 4) {
        fail("shape", operation, `${quoted(name)} has ${shape.length} axes.`, "GGUF has at most 4.");
      }
      parts.push({ name, held: hold(operation, blocks), type, shape });
    }
  } catch (error) {
    for (const { held } of parts) held.release();
    throw error;
  }
  return parts;
}

function plainOf(operation: string, name: string, t: Tensor) {
  const { dtype, shape } = Streamed.is(t) ? t : factsOf(operation, t);
  const type = ggmlTypeOf(dtype);
  if (type === null) {
    const known: DType[] = ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"];
    return fail("dtype", operation, `GGUF has no ${dtype} (${quoted(name)}).`, `It has ${known.join(" ")}.`);
  }
  return { type, shape, blocks: t };
}

function factsOf(operation: string, t: Tensor): { dtype: DType; shape: readonly number[] } {
  const { dtype, frame } = live(operation, t);
  return { dtype, shape: frame.shape };
}

function writing(
  operation: string,
  tensors: Readonly<Record<string, GgufTensor>>,
  options: SaveOptions,
): Writing {
  const meta = readMeta(operation, options.meta);
  const types = readMeta(operation, options.metaTypes);
  const asked = meta["general.alignment"] ?? DEFAULT_ALIGNMENT;
  if (typeof asked !== "number" || !(asked >= 8 && asked <= 2 ** 24 && Number.isInteger(Math.log2(asked)))) {
    return fail(
      "value",
      operation,
      `general.alignment is ${describe(asked)}.`,
      "It is a power of two from 8 on.",
    );
  }
  const pairs = Object.entries(meta).map(([key, value]) => encodeMeta(operation, key, value, types[key]));
  const parts = holdAll(operation, tensors);
  const padded = (n: number) => Math.ceil(n / asked) * asked;
  let offset = 0;
  const infos = parts.map(({ name, held, type, shape }) => {
    const text = new TextEncoder().encode(name);
    const rank = shape.length;
    const out = new Uint8Array(8 + text.length + 4 + 8 * rank + 12);
    const view = new DataView(out.buffer);
    view.setBigUint64(0, BigInt(text.length), true);
    out.set(text, 8);
    let p = 8 + text.length;
    view.setUint32(p, rank, true);
    p += 4;
    for (const n of [...shape].reverse()) {
      view.setBigUint64(p, BigInt(n), true);
      p += 8;
    }
    view.setUint32(p, type, true);
    view.setBigUint64(p + 4, BigInt(offset), true);
    offset += padded(held.bytes);
    return out;
  });
  const head = new Uint8Array(24);
  const view = new DataView(head.buffer);
  view.setUint32(0, 0x46554747, true);
  view.setUint32(4, 3, true);
  view.setBigUint64(8, BigInt(parts.length), true);
  view.setBigUint64(16, BigInt(pairs.length), true);
  const length = [head, ...pairs, ...infos].reduce((sum, piece) => sum + piece.length, 0);
  return {
    bytes: parts.length === 0 ? length : padded(length) + offset,
    async *pieces() {
      yield head;
      yield* pairs;
      yield* infos;
      if (parts.length > 0) yield new Uint8Array(padded(length) - length);
      for (const { held } of parts) {
        yield* piecesOf(held);
        yield new Uint8Array(padded(held.bytes) - held.bytes);
      }
    },
    release() {
      for (const { held } of parts) held.release();
    },
  };
}

function readMeta<V>(operation: string, given: Readonly<Record<string, V>> | undefined): Record<string, V> {
  const read = readOptions(operation, given, '{ "general.name": "mine" }');
  const meta = Object.create(null) as Record<string, V>;
  for (const [key, value] of Object.entries(read)) meta[key] = snapshot(operation, key, value);
  return meta;
}

const saveNames = ["signal", "meta", "metaTypes"];

/**
 * The bytes of a GGUF file (version 3) with these tensors in it.
 *
 * @param tensors by name
 * @param options `meta`: values by key; `signal`
 * @returns a promise of the file's bytes
 * @example
 * const bytes = await gguf.encode({ w: tensor([1, 2]) }, { meta: { "general.name": "mine" } });
 * (await gguf.open(bytes)).meta["general.name"]; // → mine
 */
export async function encode(
  tensors: Readonly<Record<string, GgufTensor>>,
  options?: SaveOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const read = readOptions("gguf.encode", options, "{ meta }", saveNames);
  const signal = checkSignal("gguf.encode", read.signal);
  return toBytes(writing("gguf.encode", tensors, read), signal);
}

/**
 * Writes a GGUF file (version 3): wholly, or not at all.
 *
 *     await gguf.save("out.gguf", { "blk.0.weight": w }, { meta: { "general.name": "mine" } });
 *
 * @param path where to; a file that is there is replaced
 * @param tensors by name
 * @param options `meta`: values by key; `signal`
 * @example
 * await gguf.save("w.gguf", { w: tensor([1, 2]) });
 * (await gguf.load("w.gguf")).w; // → f32 [1, 2]
 */
export async function save(
  path: string | URL,
  tensors: Readonly<Record<string, GgufTensor>>,
  options?: SaveOptions,
): Promise<void> {
  const read = readOptions("gguf.save", options, "{ meta }", saveNames);
  const signal = checkSignal("gguf.save", read.signal);
  return toFile("gguf.save", path, writing("gguf.save", tensors, read), signal);
}
