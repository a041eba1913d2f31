/**
 * The metadata of arrays, versions 2 and 3, as one description: shape, chunks, elements, what happens to bytes. Nothing that
 * it says is believed: sizes are counted before anything is made of them, and what is not known is refused by name.
 */
import { dtypes } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import { checkFileShape } from "./archive.ts";
import { type Json, parseJson, textOf } from "./json.ts";
import { quoted } from "./names.ts";
import { type Bad, type Config, checksum, type Loaders, type Packer, packerOf } from "./zarr-codecs.ts";
import type { KeyStyle } from "./zarr-keys.ts";
import { failAt } from "./zarr-store.ts";
import { type Element, elementBytes, elementOfV2, elementOfV3, fillFrom } from "./zarr-types.ts";

export type JsonMap = ReadonlyMap<string, Json>;

/** Where the index of a shard lies, and what its bytes go through. */
export interface ShardIndex {
  readonly atEnd: boolean;
  readonly big: boolean;
  readonly packers: readonly Packer[];
}

/** An array as its metadata describe it. Complex numbers have an axis more here, of size 2. */
export interface Layout {
  readonly version: 2 | 3;
  /** The format's own name of its elements. */
  readonly type: string;
  readonly element: Element;
  readonly shape: readonly number[];
  /** What is packed as one. */
  readonly chunks: readonly number[];
  /** What is stored as one, where that is several chunks. */
  readonly shards: readonly number[] | null;
  readonly index: ShardIndex | null;
  /** The highest byte of an element comes first. */
  readonly big: boolean;
  /** The axes of a chunk as they lie in its bytes, the slowest first. */
  readonly order: readonly number[];
  readonly packers: readonly Packer[];
  /** One element, lowest byte first: what lies where nothing was written. */
  readonly fill: Uint8Array;
  readonly keys: KeyStyle;
  readonly dimensionNames: readonly (string | null)[] | null;
}

/** Whose metadata are read, for messages, and what may be used to read it. */
export interface Context {
  readonly operation: string;
  readonly store: string;
  readonly key: string;
  readonly loaders: Loaders;
}

/** An array that is described well, and that cannot be read here. */
export class Refused extends Error {
  readonly fact: string;
  readonly remedy: string | undefined;
  readonly type: string;
  readonly shape: readonly number[];

  constructor(fact: string, remedy: string | undefined, type: string, shape: readonly number[]) {
    super(fact);
    this.fact = fact;
    this.remedy = remedy;
    this.type = type;
    this.shape = shape;
  }
}

/** Bytes of metadata that are read, at the most: consolidated ones describe thousands of arrays. */
export const MOST_METADATA = 64 << 20;
/** Bytes of one chunk, at the most. */
const MOST_CHUNK = 2 ** 31 - 1;
/** Chunks of one shard, at the most. */
const MOST_INNER = 2 ** 24;

/** The object that some metadata are. */
export function objectFrom({ operation, store, key }: Context, bytes: Uint8Array): JsonMap {
  const bad = (fact: string): never => failAt(operation, store, key, `as JSON it is damaged: ${fact}`);
  const json = parseJson(textOf(bytes, bad), bad, { depth: 64, python: true });
  return json instanceof Map ? json : failAt(operation, store, key, "it is no JSON object.");
}

/** Values of JSON as objects and lists; names out of files may be anything, __proto__ too. */
export function plainOf(value: Json): unknown {
  if (Array.isArray(value)) return value.map(plainOf);
  if (!(value instanceof Map)) return value;
  const plain = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of value) plain[key] = plainOf(inner);
  return plain;
}

/** The description of an array; throws `Refused` for one that cannot be read here. */
export function layoutOf(version: 2 | 3, json: JsonMap, context: Context): Layout {
  return version === 2 ? layoutV2(json, context) : layoutV3(json, context);
}

/* What both versions have ------------------------------------------------------------------------------- */

const isList = (x: Json | undefined): x is readonly Json[] => Array.isArray(x);

function sizesFrom(json: Json | undefined, what: string, least: number, bad: Bad): readonly number[] {
  if (!isList(json)) return bad(`its ${what} is no list of sizes.`);
  for (const [d, n] of json.entries()) {
    if (!Number.isSafeInteger(n) || (n as number) < least) {
      bad(`size ${quoted(String(n)).slice(1, -1)} of axis ${d} in its ${what} is not a size.`);
    }
  }
  return json as number[];
}

/** Sizes that can be counted, and chunks that fit into memory. */
function checkSizes(
  context: Context,
  element: Element,
  shape: readonly number[],
  chunks: readonly number[],
  bad: Bad,
): void {
  const file = `${context.store}, key ${quoted(context.key)}`;
  const bytes = elementBytes(element);
  checkFileShape(context.operation, file, null, shape, bytes);
  if (chunks.length !== shape.length) {
    bad(
      `its shape ${list(shape)} has ${shape.length} axes, its chunks ${list(chunks)} have ${chunks.length}.`,
    );
  }
  let total = bytes;
  for (const n of chunks) total *= n;
  if (!(total <= MOST_CHUNK)) {
    bad(`a chunk ${list(chunks)} takes ${total} bytes; at most ${MOST_CHUNK} are read.`);
  }
}

/** Pairs are an axis more, which is never cut. */
const paired = (element: Element, sizes: readonly number[]): readonly number[] =>
  element.pairs ? [...sizes, 2] : sizes;
const pairedOrder = (element: Element, order: readonly number[]): readonly number[] =>
  element.pairs ? [...order, order.length] : order;

const configOf = (json: JsonMap, ...without: readonly string[]): Config =>
  new Map([...json].filter(([key]) => !without.includes(key)).map(([key, value]) => [key, plainOf(value)]));

/* Version 2 -------------------------------------------------------------------------------------------- */

function layoutV2(json: JsonMap, context: Context): Layout {
  const bad: Bad = (fact, remedy) => failAt(context.operation, context.store, context.key, fact, remedy);
  if (json.get("zarr_format") !== 2) bad("its zarr_format is not 2.");
  const shape = sizesFrom(json.get("shape"), "shape", 0, bad);
  const dtype = json.get("dtype");
  const type = typeof dtype === "string" ? dtype : "structured";
  const refuse: Bad = (fact, remedy) => {
    throw new Refused(fact, remedy, type, shape);
  };
  if (typeof dtype !== "string" && !isList(dtype)) bad("it has no dtype.");
  const found = elementOfV2(type);
  if (found === null) return refuse(`no dtype here holds ${quoted(type)}.`, "Convert it where it was made.");
  const { element, big } = found;
  const given = sizesFrom(json.get("chunks"), "chunks", 0, bad);
  // An axis without elements may have chunks without any.
  const chunks = given.map((n, d) => (n === 0 && shape[d] === 0 ? 1 : n));
  const none = chunks.indexOf(0);
  if (none >= 0) bad(`size 0 of axis ${none} in its chunks is not a size.`);
  checkSizes(context, element, shape, chunks, bad);
  const axes = shape.map((_, d) => d);
  const order = json.get("order");
  if (order !== "C" && order !== "F") bad("its order is neither C nor F.");
  const separator = json.get("dimension_separator") ?? ".";
  if (separator !== "." && separator !== "/") return bad("its dimension_separator is neither . nor /.");
  const filters = json.get("filters") ?? null;
  if (filters !== null && !isList(filters)) bad("its filters are no list.");
  const packers: Packer[] = [];
  for (const codec of [...((filters as readonly Json[] | null) ?? []), json.get("compressor") ?? null]) {
    if (codec === null) continue;
    const id = codec instanceof Map ? codec.get("id") : undefined;
    if (typeof id !== "string") return bad("a compressor or filter has no id.");
    packers.push(packerOf(id, configOf(codec as JsonMap, "id"), context.loaders, refuse));
  }
  return {
    version: 2,
    type,
    element,
    shape: paired(element, shape),
    chunks: paired(element, chunks),
    shards: null,
    index: null,
    big,
    order: pairedOrder(element, order === "F" ? axes.reverse() : axes),
    packers,
    fill: fillFrom(element, json.get("fill_value") ?? null, bad),
    keys: { style: "v2", separator },
    dimensionNames: null,
  };
}

/* Version 3 -------------------------------------------------------------------------------------------- */

const known3: readonly string[] = [
  "zarr_format",
  "node_type",
  "shape",
  "data_type",
  "chunk_grid",
  "chunk_key_encoding",
  "fill_value",
  "codecs",
  "attributes",
  "dimension_names",
  "storage_transformers",
];

/** `{ name, configuration }`, or the name alone. */
function extension(json: Json | undefined, what: string, bad: Bad): { name: string; config: JsonMap } {
  if (typeof json === "string") return { name: json, config: new Map() };
  const name = json instanceof Map ? json.get("name") : undefined;
  const config = json instanceof Map ? (json.get("configuration") ?? new Map()) : new Map();
  if (typeof name !== "string" || !(config instanceof Map)) return bad(`its ${what} has no name.`);
  return { name, config };
}

function layoutV3(json: JsonMap, context: Context): Layout {
  const bad: Bad = (fact, remedy) => failAt(context.operation, context.store, context.key, fact, remedy);
  if (json.get("zarr_format") !== 3) bad("its zarr_format is not 3.");
  const shape = sizesFrom(json.get("shape"), "shape", 0, bad);
  const data = extension(json.get("data_type"), "data_type", bad);
  const refuse: Bad = (fact, remedy) => {
    throw new Refused(fact, remedy, data.name, shape);
  };
  for (const [key, value] of json) {
    const mayMiss = value instanceof Map && value.get("must_understand") === false;
    if (!known3.includes(key) && !mayMiss) refuse(`it has ${quoted(key)}, which is not known.`);
  }
  const transformers = json.get("storage_transformers") ?? [];
  if (!isList(transformers) || transformers.length > 0) refuse("it has storage transformers.");
  const element = elementOfV3(data.name);
  if (element === null) {
    return refuse(`no dtype here holds ${quoted(data.name)}.`, "Convert it where it was made.");
  }
  const grid = extension(json.get("chunk_grid"), "chunk_grid", bad);
  if (grid.name !== "regular") refuse(`its chunk grid is ${quoted(grid.name)}; regular ones are read.`);
  const outer = sizesFrom(grid.config.get("chunk_shape"), "chunk_shape", 1, bad);
  const encoding = extension(json.get("chunk_key_encoding"), "chunk_key_encoding", bad);
  const style = encoding.name;
  if (style !== "default" && style !== "v2") {
    return refuse(`its chunk_key_encoding is ${quoted(style)}; default and v2 are read.`);
  }
  const separator = encoding.config.get("separator") ?? (style === "default" ? "/" : ".");
  if (separator !== "." && separator !== "/") return bad("the separator of its keys is neither . nor /.");
  if (!json.has("fill_value") || json.get("fill_value") === null) bad("it has no fill_value.");
  const chain = chainFrom(
    json.get("codecs"),
    shape.length,
    dtypes[element.dtype].bytes,
    context,
    bad,
    refuse,
    true,
  );
  const chunks = chain.inner?.chunks ?? outer;
  checkSizes(context, element, shape, chunks, bad);
  if (chain.inner !== null) checkShards(outer, chunks, bad);
  const { big, order, packers } = chain.inner ?? chain;
  return {
    version: 3,
    type: data.name,
    element,
    shape: paired(element, shape),
    chunks: paired(element, chunks),
    shards: chain.inner === null ? null : paired(element, outer),
    index: chain.inner?.index ?? null,
    big,
    order: pairedOrder(element, order),
    packers,
    fill: fillFrom(element, json.get("fill_value")!, bad),
    keys: { style, separator },
    dimensionNames: dimensionNamesFrom(json.get("dimension_names"), shape.length, bad),
  };
}

interface Chain {
  readonly big: boolean;
  readonly order: readonly number[];
  readonly packers: readonly Packer[];
  /** Where it cuts into shards: what happens to each chunk of one. */
  readonly inner: (Omit<Chain, "inner"> & { chunks: readonly number[]; index: ShardIndex }) | null;
}

/** Transposes, then one codec that makes bytes, then packers. */
function chainFrom(
  json: Json | undefined,
  rank: number,
  itemBytes: number,
  context: Context,
  bad: Bad,
  refuse: Bad,
  mayShard: boolean,
): Chain {
  if (!isList(json)) return bad("its codecs are no list.");
  let order = Array.from({ length: rank }, (_, d) => d);
  let big: boolean | null = null;
  let inner: Chain["inner"] = null;
  const packers: Packer[] = [];
  for (const codec of json) {
    const { name, config } = extension(codec, "codec", bad);
    if (name === "transpose") {
      if (big !== null) bad("its codecs transpose bytes.");
      const axes = axesFrom(config.get("order"), rank, bad);
      order = axes.map((d) => order[d]);
    } else if (name === "bytes" || name === "endian") {
      if (big !== null) bad("two of its codecs make bytes.");
      const endian = config.get("endian") ?? null;
      if (endian !== "little" && endian !== "big" && !(endian === null && itemBytes === 1)) {
        bad("the endian of its codec bytes is neither little nor big.");
      }
      big = endian === "big" && itemBytes > 1;
    } else if (name === "sharding_indexed") {
      if (big !== null) bad("two of its codecs make bytes.");
      if (!mayShard) return refuse("its shards are cut into shards.");
      if (order.some((axis, d) => axis !== d)) refuse("its shards are transposed.");
      big = false;
      inner = shardsFrom(config, rank, itemBytes, context, bad, refuse);
    } else {
      const packer = packerOf(name, configOf(config), context.loaders, refuse);
      if (big === null) return bad(`its codec ${quoted(name)} comes before one that makes bytes.`);
      packers.push(packer);
    }
  }
  if (big === null) return bad("none of its codecs makes bytes.");
  if (inner !== null && packers.length > 0) {
    refuse(`its shards are packed by ${packers.map((p) => p.name).join(", ")}.`);
  }
  return { big, order, packers, inner };
}

function shardsFrom(
  config: JsonMap,
  rank: number,
  itemBytes: number,
  context: Context,
  bad: Bad,
  refuse: Bad,
): Chain["inner"] {
  const chunks = sizesFrom(config.get("chunk_shape"), "chunk_shape of shards", 1, bad);
  const chain = chainFrom(config.get("codecs"), rank, itemBytes, context, bad, refuse, false);
  const index = chainFrom(config.get("index_codecs"), rank + 1, 8, context, bad, refuse, false);
  if (index.order.some((axis, d) => axis !== d) || index.packers.some((p) => p !== checksum)) {
    refuse("the index of its shards is packed.");
  }
  const at = config.get("index_location") ?? "end";
  if (at !== "end" && at !== "start") bad("its index_location is neither start nor end.");
  return { ...chain, chunks, index: { atEnd: at === "end", big: index.big, packers: index.packers } };
}

function checkShards(shards: readonly number[], chunks: readonly number[], bad: Bad): void {
  const isWhole = shards.length === chunks.length && shards.every((n, d) => n % chunks[d] === 0);
  if (!isWhole) bad(`its shards ${list(shards)} are no whole numbers of chunks ${list(chunks)}.`);
  const inner = shards.reduce((product, n, d) => product * (n / chunks[d]), 1);
  if (!(inner <= MOST_INNER)) bad(`one of its shards has ${inner} chunks; at most ${MOST_INNER} are read.`);
}

function axesFrom(json: Json | undefined, rank: number, bad: Bad): readonly number[] {
  const axes = isList(json) ? json : [];
  const isOrder = axes.length === rank && [...Array(rank).keys()].every((d) => axes.includes(d));
  return isOrder ? (axes as number[]) : bad(`the order of its codec transpose is none of ${rank} axes.`);
}

function dimensionNamesFrom(
  json: Json | undefined,
  rank: number,
  bad: Bad,
): readonly (string | null)[] | null {
  if (json === undefined || json === null) return null;
  const isNames =
    isList(json) && json.length === rank && json.every((x) => x === null || typeof x === "string");
  return isNames ? (json as (string | null)[]) : bad(`its dimension_names are no ${rank} names.`);
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** JSON that was made already. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value as JSON: bigints as their digits, no zero without its sign, and what is not finite as Python has it. */
export function jsonFrom(value: unknown, indent = ""): string {
  if (value instanceof JsonText) return value.text.replaceAll("\n", `\n${indent}`);
  if (typeof value === "bigint") return String(value);
  if (Object.is(value, -0)) return "-0.0";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  const inside = `${indent}  `;
  if (Array.isArray(value)) {
    const parts = value.map((x) => jsonFrom(x, inside));
    const isFlat = value.every((x) => typeof x !== "object" || x === null);
    if (isFlat) return `[${parts.join(", ")}]`;
    return `[\n${parts.map((part) => inside + part).join(",\n")}\n${indent}]`;
  }
  if (typeof value === "object" && value !== null) {
    const pairs: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
    const parts = pairs.map(([key, x]) => `${inside}${JSON.stringify(key)}: ${jsonFrom(x, inside)}`);
    return parts.length === 0 ? "{}" : `{\n${parts.join(",\n")}\n${indent}}`;
  }
  return JSON.stringify(value);
}

/** Attributes as JSON text, made once of what a user gave. */
export function attributesText(operation: string, attributes: unknown): JsonText {
  if (attributes === undefined) return new JsonText("{}");
  let text: string | undefined;
  try {
    text = JSON.stringify(attributes, (_, x: unknown) => (typeof x === "bigint" ? Number(x) : x), 2);
  } catch {
    text = undefined;
  }
  if (text?.startsWith("{")) return new JsonText(text);
  return fail("value", operation, "the attributes are no object of JSON.", 'Give { units: "m" }.');
}
