/**
 * safetensors: a length, a JSON header and the elements. Read and written, whole or in shards with an index that names
 * them. What the header says is checked before anything is read: every byte after it belongs to exactly one tensor.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
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
import { type Held, hold } from "./into-heap.ts";
import { type Json, parseJson, textOf } from "./json.ts";
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
import { type FileAside, fileAside, piecesOf, readPath, toBytes, toFile, type Writing } from "./target.ts";
import { readTensors } from "./tensors.ts";

/** As the format's own implementation allows. */
const MOST_HEADER = 100_000_000;

/** Bits of an element, and the dtype that holds it. */
const types: Readonly<
  Record<string, { readonly bits: number; readonly dtype: DType | null; readonly pairs?: true }>
> = {
  BOOL: { bits: 8, dtype: "bool" },
  U8: { bits: 8, dtype: "u8" },
  I8: { bits: 8, dtype: "i8" },
  U16: { bits: 16, dtype: "u16" },
  I16: { bits: 16, dtype: "i16" },
  U32: { bits: 32, dtype: "u32" },
  I32: { bits: 32, dtype: "i32" },
  U64: { bits: 64, dtype: "u64" },
  I64: { bits: 64, dtype: "i64" },
  F16: { bits: 16, dtype: "f16" },
  BF16: { bits: 16, dtype: "bf16" },
  F32: { bits: 32, dtype: "f32" },
  F64: { bits: 64, dtype: "f64" },
  C64: { bits: 64, dtype: "f32", pairs: true },
  F8_E5M2: { bits: 8, dtype: null },
  F8_E4M3: { bits: 8, dtype: null },
  F8_E8M0: { bits: 8, dtype: null },
  F8_E5M2FNUZ: { bits: 8, dtype: null },
  F8_E4M3FNUZ: { bits: 8, dtype: null },
  F6_E2M3: { bits: 6, dtype: null },
  F6_E3M2: { bits: 6, dtype: null },
  F4: { bits: 4, dtype: null },
};
const nameOf = (dtype: DType): string => dtype.toUpperCase();

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * Opens a safetensors file, or the index of a sharded one: reads headers, and no element.
 *
 *     const model = await safetensors.open("model.safetensors");
 *     model.entries.map((e) => `${e.name} ${e.type} ${e.shape}`);
 *     const w = await model.read("lm_head.weight");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await safetensors.open(await safetensors.encode({ w: tensor([1, 2]) }));
 * file.entries[0].type; // → F32
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("safetensors.open", source, options);
  return openInput("safetensors.open", input, signal);
}

/** A header of at most 100 MB, which begins with a brace; an index is the JSON itself. */
export const isSafetensors = (head: Uint8Array, size: number): boolean => isWhole(head, size) || isJson(head);

function isWhole(head: Uint8Array, size: number): boolean {
  if (head.length < 9 || head[8] !== 0x7b) return false;
  const length = new DataView(head.buffer, head.byteOffset).getBigUint64(0, true);
  return length <= BigInt(size - 8) && length <= BigInt(MOST_HEADER);
}

/** An object of JSON: a brace and a key. */
const isJson = (head: Uint8Array): boolean =>
  /^[ \t\r\n]*\{[ \t\r\n]*"/.test(String.fromCharCode(...head.subarray(0, 64)));

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const reader = await input.open(signal);
  let head: Uint8Array;
  try {
    head = (await reader.bytes(0, Math.min(64, input.size))).slice();
  } finally {
    await reader.close();
  }
  if (!isWhole(head, input.size) && isJson(head)) return openShards(operation, input, signal);
  const { items, meta } = await readHeader(operation, input, signal);
  return makeArchive({ format: "safetensors", file: input.name, items, meta });
}

async function readHeader(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<{ items: Item[]; meta: Record<string, string> }> {
  const { name: file, size } = input;
  const bad = (fact: string): never => failFile(operation, file, null, `its header is damaged: ${fact}`);
  const reader = await input.open(signal);
  try {
    if (size < 8) failFile(operation, file, null, `it has ${size} bytes, too few for a header.`);
    const first = await reader.bytes(0, 8);
    const length = Number(new DataView(first.buffer, first.byteOffset).getBigUint64(0, true));
    if (length > MOST_HEADER) {
      failFile(
        operation,
        file,
        null,
        `its header would have ${length} bytes; at most ${MOST_HEADER} are read.`,
      );
    }
    if (8 + length > size) {
      failFile(
        operation,
        file,
        null,
        `its header takes ${length} bytes, ${size - 8} are there.`,
        "It has been cut.",
      );
    }
    const text = textOf(await reader.bytes(8, length), bad);
    if (!text.startsWith("{")) bad("it begins with no brace.");
    const header = parseJson(text, bad);
    if (!(header instanceof Map)) return bad("it is no object.");
    const meta = readMeta(header.get("__metadata__"), bad);
    const items: Item[] = [];
    for (const [name, value] of header) {
      if (name !== "__metadata__") items.push(itemOf(operation, input, name, value, 8 + length));
    }
    checkCovered(operation, file, items, 8 + length, size);
    return { items, meta };
  } finally {
    await reader.close();
  }
}

function readMeta(value: Json | undefined, bad: (fact: string) => never): Record<string, string> {
  const meta = Object.create(null) as Record<string, string>;
  if (value === undefined) return meta;
  if (!(value instanceof Map)) return bad("__metadata__ is no object.");
  for (const [key, text] of value) {
    if (typeof text !== "string") bad(`__metadata__ has ${quoted(key)}, which is no text.`);
    meta[key] = text as string;
  }
  return meta;
}

const isCount = (x: unknown): x is number =>
  Number.isSafeInteger(x) && (x as number) >= 0 && !Object.is(x, -0);

function itemOf(operation: string, input: Input, name: string, value: Json, start: number): Item {
  const file = input.name;
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  if (!(value instanceof Map)) return bad("it is described by no object.");
  const [type, shape, offsets] = ["dtype", "shape", "data_offsets"].map((key) => value.get(key));
  for (const key of value.keys()) {
    if (!["dtype", "shape", "data_offsets"].includes(key)) bad(`it has the unknown key ${quoted(key)}.`);
  }
  if (typeof type !== "string") return bad("it has no dtype.");
  if (!Array.isArray(shape) || !shape.every(isCount)) return bad("its shape is no list of sizes.");
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    return bad("its data_offsets are no two numbers of bytes.");
  }
  const [from, end] = offsets as number[];
  if (from > end || start + end > input.size) {
    bad(`its elements lie in bytes ${from} … ${end} after the header, ${input.size - start} are there.`);
  }
  const row = Object.hasOwn(types, type) ? types[type] : null;
  const sizes = row?.pairs ? [...(shape as number[]), 2] : (shape as number[]);
  const bytes = end - from;
  const width = row === null ? 1 : row.pairs ? 4 : Math.max(1, row.bits / 8);
  const total = checkFileShape(operation, file, name, sizes, width);
  if (row !== null) {
    const bits = sizes.includes(0) ? 0 : (total / width) * (row.pairs ? 32 : row.bits);
    if (bits !== bytes * 8) {
      bad(
        `shape [${shape.join(", ")}] of ${type} takes ${bits / 8} bytes, its data_offsets give it ${bytes}.`,
      );
    }
  }
  const base = { name, type, shape: sizes, from: start + from, bytes, input };
  if (row === null || row.dtype === null) {
    const refusal = [
      `no dtype here holds ${quoted(type)}.`,
      "Convert it where it was made, or read its bytes with raw.",
    ] as const;
    return { ...base, dtype: null, refusal };
  }
  return { ...base, dtype: row.dtype, byteStrides: denseStrides(sizes, dtypes[row.dtype].bytes) };
}

/** Every byte after the header belongs to one tensor. */
function checkCovered(
  operation: string,
  file: string,
  items: readonly Item[],
  start: number,
  size: number,
): void {
  let at = start;
  for (const item of [...items].sort((a, b) => a.from - b.from || a.bytes - b.bytes)) {
    if (item.from !== at) {
      const fact = `its elements begin at byte ${item.from}, those before it end at ${at}`;
      failFile(operation, file, item.name, `${fact}: entries ${item.from < at ? "overlap" : "leave a gap"}.`);
    }
    at += item.bytes;
  }
  if (at !== size) failFile(operation, file, null, `its entries end at byte ${at}, it has ${size}.`);
}

/* Shards ----------------------------------------------------------------------------------------------- */

async function openShards(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const { name: file, size } = input;
  const bad = (fact: string): never => failFile(operation, file, null, `as an index it is damaged: ${fact}`);
  if (size > MOST_HEADER) bad(`it has ${size} bytes; at most ${MOST_HEADER} are read.`);
  const reader = await input.open(signal);
  let index: Json;
  try {
    index = parseJson(textOf(await reader.bytes(0, size), bad), bad);
  } finally {
    await reader.close();
  }
  const map = index instanceof Map ? index.get("weight_map") : undefined;
  if (!(map instanceof Map)) return bad("it has no weight_map.");
  const wanted = new Map<string, Set<string>>();
  for (const [name, shard] of map) {
    if (typeof shard !== "string") return bad(`${quoted(name)} is in no file.`);
    const names = wanted.get(shard) ?? new Set();
    wanted.set(shard, names.add(name));
  }
  const items: Item[] = [];
  for (const [shard, names] of wanted) {
    const other = await input.sibling(operation, shard, signal);
    const { items: all } = await readHeader(operation, other, signal);
    for (const item of all) if (names.delete(item.name)) items.push(item);
    for (const name of names)
      failFile(operation, other.name, name, `the index ${file} says it is here, it is not.`);
  }
  const meta = (index as ReadonlyMap<string, Json>).get("metadata");
  return makeArchive({ format: "safetensors", file, items, meta: meta instanceof Map ? plainOf(meta) : {} });
}

function plainOf(map: ReadonlyMap<string, Json>): Record<string, unknown> {
  const plain = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of map) plain[key] = value instanceof Map ? plainOf(value) : value;
  return plain;
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only these. */
  readonly names?: readonly string[];
}

/**
 * All tensors of a safetensors file (or those of some names), by name.
 *
 *     const { weight, bias } = await safetensors.load("layer.safetensors");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `signal`, `headers`, `files`
 * @returns a promise of the tensors by name
 * @throws TensorError where the file is not what it says
 * @example
 * const { w } = await safetensors.load(await safetensors.encode({ w: tensor([1, 2]) }));
 * w; // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "safetensors.load";
  const { names: given, ...rest } = readOptions(operation, options, "{ names }", [...sourceNames, "names"]);
  const names = readNames(operation, given);
  const { input, signal } = await inputOf(operation, source, rest);
  return readAll(await openInput(operation, input, signal), names, signal);
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** How to write. */
export interface SaveOptions extends ReadOptions {
  /** Texts about the file, in its header. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** How to write a file. */
export interface SaveFileOptions extends SaveOptions {
  /**
   * Writes several files of about so many bytes and an index that names them. The path is the index's and ends in
   * ".index.json"; default for such a path: 5 GB.
   */
  readonly shardBytes?: number;
}

interface Part {
  readonly name: string;
  readonly held: Held;
}

/** Wide elements first, so that all of them are aligned; then by name. */
const inOrder = (parts: readonly Part[]): Part[] =>
  [...parts].sort((a, b) => {
    const width = dtypes[b.held.dtype].bytes - dtypes[a.held.dtype].bytes;
    return width || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  });

function readTexts(operation: string, meta: unknown): Record<string, string> {
  if (meta === undefined) return {};
  const read = readOptions(operation, meta as Record<string, unknown>, '{ format: "pt" }');
  for (const [key, value] of Object.entries(read)) {
    if (typeof value !== "string") {
      fail("value", operation, `meta ${quoted(key)} is ${describe(value)}.`, "It is a text.");
    }
  }
  return { ...read } as Record<string, string>;
}

function holdAll(operation: string, tensors: Readonly<Record<string, Tensor>>): Part[] {
  const parts: Part[] = [];
  try {
    for (const [name, t] of readTensors(operation, tensors)) {
      if (name === "__metadata__") {
        fail("value", operation, 'a tensor cannot be called "__metadata__".', "The format keeps that name.");
      }
      parts.push({ name, held: hold(operation, t) });
    }
  } catch (error) {
    for (const { held } of parts) held.release();
    throw error;
  }
  return inOrder(parts);
}

function writing(parts: readonly Part[], meta: Readonly<Record<string, string>>): Writing {
  const lines: string[] = [];
  if (Object.keys(meta).length > 0) lines.push(`"__metadata__":${JSON.stringify(meta)}`);
  let at = 0;
  for (const { name, held } of parts) {
    const facts = { dtype: nameOf(held.dtype), shape: held.shape, data_offsets: [at, at + held.bytes] };
    lines.push(`${JSON.stringify(name)}:${JSON.stringify(facts)}`);
    at += held.bytes;
  }
  const text = new TextEncoder().encode(`{${lines.join(",")}}`);
  const length = Math.ceil(text.length / 8) * 8;
  const header = new Uint8Array(8 + length).fill(0x20);
  header.set(text, 8);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  return {
    bytes: header.length + at,
    async *pieces() {
      yield header;
      for (const { held } of parts) yield* piecesOf(held);
    },
    release() {
      for (const { held } of parts) held.release();
    },
  };
}

const saveNames = ["signal", "meta"];

/**
 * The bytes of a safetensors file with these tensors in it.
 *
 * @param tensors by name
 * @param options `meta`: texts by name; `signal`
 * @returns a promise of the file's bytes
 * @example
 * (await safetensors.encode({ w: tensor([1, 2]) })).length; // → 72
 */
export async function encode(
  tensors: Readonly<Record<string, Tensor>>,
  options?: SaveOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const operation = "safetensors.encode";
  const { signal, meta } = readOptions(operation, options, "{ meta }", saveNames);
  checkSignal(operation, signal);
  const texts = readTexts(operation, meta);
  return toBytes(writing(holdAll(operation, tensors), texts), signal);
}

/**
 * Writes a safetensors file: wholly, or not at all.
 *
 *     await safetensors.save("layer.safetensors", { weight, bias }, { meta: { format: "pt" } });
 *
 * @param path where to; a file that is there is replaced
 * @param tensors by name
 * @param options `meta`: texts by name; `signal`
 * @example
 * await safetensors.save("w.safetensors", { w: tensor([1, 2]) });
 * (await safetensors.load("w.safetensors")).w; // → f32 [1, 2]
 */
export async function save(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  options?: SaveFileOptions,
): Promise<void> {
  const operation = "safetensors.save";
  const { signal, meta, shardBytes } = readOptions(operation, options, "{ meta }", [
    ...saveNames,
    "shardBytes",
  ]);
  checkSignal(operation, signal);
  const texts = readTexts(operation, meta);
  const isIndex = readPath(operation, path).endsWith(".index.json");
  if (shardBytes === undefined && !isIndex)
    return toFile(operation, path, writing(holdAll(operation, tensors), texts), signal);
  return saveShards(operation, path, tensors, shardBytes ?? USUAL_SHARD, texts, signal);
}

/** Bytes of a shard that nobody chose. */
const USUAL_SHARD = 5e9;

async function saveShards(
  operation: string,
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  shardBytes: number,
  meta: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!(Number.isSafeInteger(shardBytes) && shardBytes > 0)) {
    fail("value", operation, `shardBytes is ${describe(shardBytes)}.`, "Use a number of bytes over 0.");
  }
  const text = readPath(operation, path);
  const stem = /([^/\\]+?)\.index\.json$/.exec(text)?.[1];
  if (stem === undefined) {
    return fail(
      "value",
      operation,
      `${quoted(text)} does not end in ".index.json".`,
      'With shardBytes the path is the index: "model.safetensors.index.json".',
    );
  }
  const parts = holdAll(operation, tensors);
  const left = new Set(parts);
  const asides: FileAside[] = [];
  try {
    const shards: Part[][] = [[]];
    let bytes = 0;
    for (const part of parts) {
      if (bytes > 0 && bytes + part.held.bytes > shardBytes) {
        shards.push([]);
        bytes = 0;
      }
      shards.at(-1)!.push(part);
      bytes += part.held.bytes;
    }
    const digits = (n: number) => String(n).padStart(5, "0");
    const base = stem.replace(/\.safetensors$/, "");
    const weightMap: [string, string][] = [];
    for (const [i, shard] of shards.entries()) {
      const name = `${base}-${digits(i + 1)}-of-${digits(shards.length)}.safetensors`;
      const beside = `${text.slice(0, text.length - stem.length - ".index.json".length)}${
        /^file:/i.test(text) ? encodeURIComponent(name) : name
      }`;
      for (const part of shard) {
        weightMap.push([part.name, name]);
        left.delete(part);
      }
      asides.push(await fileAside(operation, beside, writing(shard, meta), signal));
    }
    const total = parts.reduce((sum, { held }) => sum + held.bytes, 0);
    const map = weightMap.map(([name, file]) => `${JSON.stringify(name)}:${JSON.stringify(file)}`).join(",");
    const index = new TextEncoder().encode(`{"metadata":{"total_size":${total}},"weight_map":{${map}}}\n`);
    asides.push(await fileAside(operation, text, { pieces: () => [index], release() {} }, signal));
    // All of them are complete; the index last: where it is, the shards are.
    for (const aside of asides) await aside.put();
  } catch (error) {
    for (const aside of asides) await aside.drop();
    throw error;
  } finally {
    for (const { held } of left) held.release();
  }
}
