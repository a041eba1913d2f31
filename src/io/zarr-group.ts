/**
 * Hierarchies: what lies at a path, groups and their members, and new arrays. Metadata come from their own keys, or, where a
 * group has them all in one place (`.zmetadata`, or inline in version 3), from there.
 */
import { checkDType, type DType, dtypes } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, numberList, readList, readOptions } from "../ops/arguments.ts";
import { checkShape } from "../view/layout.ts";
import type { Json } from "./json.ts";
import { quoted, whyOutside } from "./names.ts";
import { isNode } from "./node.ts";
import { checkSignal, isReal, readHeaders, type SourceOptions } from "./source.ts";
import { makeArray, type ZarrArray } from "./zarr-array.ts";
import type { Loaders, ZarrLoader } from "./zarr-codecs.ts";
import { folderShelf } from "./zarr-folder.ts";
import { httpShelf } from "./zarr-http.ts";
import { below } from "./zarr-keys.ts";
import {
  attributesText,
  type Context,
  type JsonMap,
  JsonText,
  jsonFrom,
  type Layout,
  layoutOf,
  MOST_METADATA,
  objectFrom,
  plainOf,
  Refused,
} from "./zarr-meta.ts";
import { failAt, type Shelf, shelfOfGiven, type ZarrStore } from "./zarr-store.ts";
import { fillFrom, fillText, nameInV2, nameInV3 } from "./zarr-types.ts";

/** Where a hierarchy lies: a folder's path, a URL, a Map of keys and bytes, or a store. */
export type ZarrSource = string | URL | ZarrStore | Map<string, Uint8Array>;

/** Where in a store, and how it is read. */
export interface ZarrOpenOptions extends Pick<SourceOptions, "signal" | "headers" | "followSymlinks"> {
  /** Opens what lies here in the store; default its root. */
  readonly path?: string;
  /** Codecs by name, for bundlers that have to see their import: { blosc: () => import("numcodecs/blosc") }. */
  readonly loaders?: Readonly<Record<string, ZarrLoader>>;
  /** Looks for this version only. */
  readonly version?: 2 | 3;
}

/** A member of a group. */
export interface ZarrMember {
  /** As its group calls it. */
  readonly name: string;
  /** Which of the two it is. */
  readonly kind: "array" | "group";
}

/** Arrays and groups by name. */
export interface ZarrGroup {
  /** Which of the two this is. */
  readonly kind: "group";
  /** Of the format. */
  readonly version: 2 | 3;
  /** Where it lies in its store; "" is the root. */
  readonly path: string;
  /** What its maker wrote down about it. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** What is in it, by name. A server cannot list: there the group needs consolidated metadata. */
  members(options?: { readonly signal?: AbortSignal }): Promise<readonly ZarrMember[]>;
  /** Opens what lies at a path below it. */
  open(path: string, options?: { readonly signal?: AbortSignal }): Promise<ZarrArray | ZarrGroup>;
}

/* The border ------------------------------------------------------------------------------------------- */

const openNames = ["signal", "headers", "followSymlinks", "path", "loaders", "version"] as const;

/** What a caller gave, read once. */
export interface Opened {
  readonly shelf: Shelf;
  readonly path: string;
  readonly loaders: Loaders;
  readonly version: 2 | 3 | undefined;
  readonly signal: AbortSignal | undefined;
}

export function readSource(operation: string, source: unknown, options: ZarrOpenOptions): Opened {
  const { signal, headers, followSymlinks, path, loaders, version } = options;
  checkSignal(operation, signal);
  checkFlag(operation, "followSymlinks", followSymlinks);
  if (version !== undefined && version !== 2 && version !== 3) {
    fail("value", operation, `version is ${describe(version)}.`, "There are 2 and 3.");
  }
  const shelf = shelfFrom(operation, source, readHeaders(operation, headers), followSymlinks === true);
  return {
    shelf,
    path: readPathOption(operation, path),
    loaders: readLoaders(operation, loaders),
    version,
    signal,
  };
}

function shelfFrom(
  operation: string,
  source: unknown,
  headers: Readonly<Record<string, string>>,
  followSymlinks: boolean,
): Shelf {
  const text = isReal(URL, "href", source)
    ? (Reflect.get(URL.prototype, "href", source as URL) as string)
    : source;
  if (typeof text === "string") {
    const isRemote = /^https?:/i.test(text) || (!isNode() && !/^file:/i.test(text));
    if (isRemote) return httpShelf(operation, text, headers);
    return folderShelf(operation, source as string | URL, { flush: false, followSymlinks });
  }
  const shelf = shelfOfGiven(operation, source);
  if (shelf !== null) return shelf;
  return fail(
    "value",
    operation,
    `${describe(source)} is no store.`,
    "Give a folder's path, a URL, a Map of keys and bytes, or an object with get(key).",
  );
}

/** Where a source lies, where that can be told: see `Shelf.place`. */
export const placeOf = (operation: string, source: ZarrSource): string | undefined =>
  shelfFrom(operation, source, {}, false).place;

function readPathOption(operation: string, path: unknown): string {
  if (path === undefined || path === "" || path === "/") return "";
  if (typeof path !== "string")
    return fail("value", operation, `path is ${describe(path)}.`, 'Write "group/array".');
  const plain = path.replace(/^\/|\/$/g, "");
  const why = whyOutside(plain);
  return why === null
    ? plain
    : fail("value", operation, `the path ${quoted(path)} ${why}.`, 'Write "group/array".');
}

function readLoaders(operation: string, loaders: unknown): Loaders {
  if (loaders === undefined) return new Map();
  const example = '{ blosc: () => import("…") }';
  const read = readOptions(operation, loaders as Record<string, unknown>, example);
  for (const [name, loader] of Object.entries(read)) {
    if (typeof loader !== "function") {
      fail("value", operation, `the loader of ${quoted(name)} is ${describe(loader)}.`, `Write ${example}.`);
    }
  }
  return new Map(Object.entries(read)) as Loaders;
}

/* Opening ---------------------------------------------------------------------------------------------- */

/** What metadata say lies at a path. */
interface Node {
  readonly kind: "array" | "group";
  readonly version: 2 | 3;
  /** The key they come from, for messages. */
  readonly key: string;
  readonly json: JsonMap;
  readonly attributes: JsonMap | null;
  /** Metadata of everything below, where a group has them. */
  readonly known: Known | null;
}

/** Consolidated metadata: what lies at each path, relative to the group that has them. */
type Known = ReadonlyMap<string, Node>;

/**
 * Opens an array or a group: reads metadata, and no chunk.
 *
 *     const array = await zarr.open("measured.zarr");
 *     if (array.kind === "array") console.log(array.shape, array.chunks);
 *     const group = await zarr.open("https://host/data.zarr", { signal: AbortSignal.timeout(5000) });
 *
 * @param source a folder, a URL, a Map of keys and bytes, or a store
 * @param options `path`, `version`, `signal`, `headers`, `loaders`
 * @returns a promise of an array or a group
 * @throws TensorError where nothing lies there, or metadata are wrong
 * @example
 * const store = zarr.memoryStore();
 * await zarr.save(store, zeros([4, 4]));
 * (await zarr.open(store)).kind; // → array
 */
export async function open(source: ZarrSource, options?: ZarrOpenOptions): Promise<ZarrArray | ZarrGroup> {
  const read = readOptions("zarr.open", options, "{ path, signal }", openNames);
  return openAt("zarr.open", readSource("zarr.open", source, read));
}

/**
 * The same where an array is expected.
 *
 * @param source a folder, a URL, a Map of keys and bytes, or a store
 * @param options `path`, `version`, `signal`, `headers`, `loaders`
 * @returns a promise of an array
 * @throws TensorError where none lies there
 * @example
 * const store = zarr.memoryStore();
 * await zarr.save(store, zeros([4, 4]));
 * (await zarr.openArray(store)).shape; // → [4, 4]
 */
export async function openArray(source: ZarrSource, options?: ZarrOpenOptions): Promise<ZarrArray> {
  const operation = "zarr.openArray";
  const opened = readSource(
    operation,
    source,
    readOptions(operation, options, "{ path, signal }", openNames),
  );
  const found = await openAt(operation, opened);
  if (found.kind === "array") return found;
  return fail(
    "value",
    operation,
    `${opened.shelf.name}: at ${quoted(found.path)} lies a group.`,
    "Use openGroup, or { path } of an array in it.",
  );
}

/**
 * The same where a group is expected.
 *
 * @param source a folder, a URL, a Map of keys and bytes, or a store
 * @param options `path`, `version`, `signal`, `headers`, `loaders`
 * @returns a promise of a group
 * @throws TensorError where none lies there
 * @example
 * const store = zarr.memoryStore();
 * await zarr.save(store, { x: zeros([4]) });
 * (await (await zarr.openGroup(store)).members()).map((m) => m.name); // → [x]
 */
export async function openGroup(source: ZarrSource, options?: ZarrOpenOptions): Promise<ZarrGroup> {
  const operation = "zarr.openGroup";
  const opened = readSource(
    operation,
    source,
    readOptions(operation, options, "{ path, signal }", openNames),
  );
  const found = await openAt(operation, opened);
  if (found.kind === "group") return found;
  return fail(
    "value",
    operation,
    `${opened.shelf.name}: at ${quoted(found.path)} lies an array.`,
    "Use openArray.",
  );
}

export async function openAt(operation: string, opened: Opened): Promise<ZarrArray | ZarrGroup> {
  return openNode(operation, opened, opened.path, await nodeAt(operation, opened, opened.path));
}

function openNode(operation: string, opened: Opened, path: string, node: Node): ZarrArray | ZarrGroup {
  if (node.kind === "group") return makeGroup(opened, path, node);
  const { shelf } = opened;
  try {
    return makeArray(shelf, path, layoutFor(operation, opened, node), attributesOf(node));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return failAt(operation, shelf.name, node.key, error.fact, error.remedy);
  }
}

const contextOf = (operation: string, { shelf, loaders }: Opened, key: string): Context => ({
  operation,
  store: shelf.name,
  key,
  loaders,
});

const layoutFor = (operation: string, opened: Opened, node: Node): Layout =>
  layoutOf(node.version, node.json, contextOf(operation, opened, node.key));

const attributesOf = ({ attributes }: Node): Readonly<Record<string, unknown>> =>
  (attributes === null ? {} : plainOf(attributes)) as Record<string, unknown>;

const isMap = (json: Json | undefined): json is JsonMap => json instanceof Map;

async function metadata(operation: string, opened: Opened, key: string): Promise<JsonMap | null> {
  const { shelf, signal } = opened;
  const options = { most: MOST_METADATA, ...(signal === undefined ? {} : { signal }) };
  const bytes = await shelf.get(operation, key, options);
  if (bytes === null) return null;
  if (bytes.length > MOST_METADATA) {
    failAt(operation, shelf.name, key, `it has ${bytes.length} bytes; at most ${MOST_METADATA} are read.`);
  }
  return objectFrom(contextOf(operation, opened, key), bytes);
}

/** What lies at a path: version 3 is looked for first. */
async function nodeAt(operation: string, opened: Opened, path: string): Promise<Node> {
  const { shelf, version } = opened;
  if (version !== 2) {
    const key = below(path, "zarr.json");
    const json = await metadata(operation, opened, key);
    if (json !== null) return nodeV3(operation, opened, key, json);
  }
  if (version !== 3) {
    const [array, group, attributes] = await Promise.all(
      [".zarray", ".zgroup", ".zattrs"].map((name) => metadata(operation, opened, below(path, name))),
    );
    if (array !== null) {
      return { kind: "array", version: 2, key: below(path, ".zarray"), json: array, attributes, known: null };
    }
    if (group !== null) {
      const key = below(path, ".zmetadata");
      const all = await metadata(operation, opened, key);
      const known = all === null ? null : knownV2(operation, opened, key, all);
      return { kind: "group", version: 2, key: below(path, ".zgroup"), json: group, attributes, known };
    }
  }
  const fact = `nothing of Zarr lies at ${quoted(path)}: neither zarr.json nor .zarray nor .zgroup is there.`;
  return fail("file", operation, `${shelf.name}: ${fact}`, path === "" ? shelf.hint : undefined);
}

function nodeV3(operation: string, opened: Opened, key: string, json: JsonMap): Node {
  const bad = (fact: string): never => failAt(operation, opened.shelf.name, key, fact);
  const kind = json.get("node_type");
  if (kind !== "array" && kind !== "group") return bad("its node_type is neither array nor group.");
  if (json.get("zarr_format") !== 3) bad("its zarr_format is not 3.");
  const attributes = json.get("attributes") ?? null;
  if (attributes !== null && !isMap(attributes)) return bad("its attributes are no object.");
  const inline = kind === "group" ? (json.get("consolidated_metadata") ?? null) : null;
  const known = isMap(inline) ? knownV3(operation, opened, key, inline) : null;
  return { kind, version: 3, key, json, attributes: attributes as JsonMap | null, known };
}

/** Members that one listing may have. */
const MOST_MEMBERS = 1_000_000;

function checkMember(operation: string, opened: Opened, key: string, path: string): void {
  const why = whyOutside(path);
  if (why !== null) failAt(operation, opened.shelf.name, key, `the path ${quoted(path)} in it ${why}.`);
}

function knownV3(operation: string, opened: Opened, key: string, inline: JsonMap): Known | null {
  const bad = (fact: string): never => failAt(operation, opened.shelf.name, key, fact);
  if (inline.get("kind") !== "inline") return null;
  const metadata = inline.get("metadata");
  if (!isMap(metadata)) return bad("its consolidated metadata are no object.");
  const known = new Map<string, Node>();
  for (const [path, json] of metadata) {
    checkMember(operation, opened, key, path);
    if (!isMap(json)) return bad(`its consolidated metadata of ${quoted(path)} are no object.`);
    // Those of a group inside may have been kept, too: here all are in one place.
    known.set(path, { ...nodeV3(operation, opened, key, withoutInline(json)), known: null });
  }
  return known;
}

const withoutInline = (json: JsonMap): JsonMap =>
  new Map([...json].filter(([name]) => name !== "consolidated_metadata"));

function knownV2(operation: string, opened: Opened, key: string, all: JsonMap): Known {
  const bad = (fact: string): never => failAt(operation, opened.shelf.name, key, fact);
  if (all.get("zarr_consolidated_format") !== 1) bad("its zarr_consolidated_format is not 1.");
  const metadata = all.get("metadata");
  if (!isMap(metadata)) return bad("it has no metadata.");
  const known = new Map<string, Node>();
  for (const [name, json] of metadata) {
    const parts = /^(?:(.*)\/)?(\.zarray|\.zgroup|\.zattrs)$/.exec(name);
    if (parts === null) continue;
    const path = parts[1] ?? "";
    if (path !== "") checkMember(operation, opened, key, path);
    if (!isMap(json)) return bad(`its metadata ${quoted(name)} are no object.`);
    if (parts[2] === ".zattrs" || path === "") continue;
    const attributes = metadata.get(below(path, ".zattrs")) ?? null;
    const kind = parts[2] === ".zarray" ? "array" : "group";
    if (known.has(path)) bad(`it says that ${quoted(path)} is an array and a group.`);
    known.set(path, {
      kind,
      version: 2,
      key,
      json,
      attributes: isMap(attributes) ? attributes : null,
      known: null,
    });
  }
  return known;
}

/* Groups ----------------------------------------------------------------------------------------------- */

function makeGroup(opened: Opened, path: string, node: Node): ZarrGroup {
  const { known } = node;
  return Object.freeze<ZarrGroup>({
    kind: "group",
    version: node.version,
    path,
    attributes: attributesOf(node),
    async members(options) {
      const operation = "zarr.members";
      const { signal } = readOptions(operation, options, "{ signal }", ["signal"]);
      checkSignal(operation, signal);
      return (await membersOf(operation, { ...opened, signal }, path, known)).map(
        ({ name, node: { kind } }) => Object.freeze({ name, kind }),
      );
    },
    async open(given, options) {
      const operation = "zarr.open";
      const { signal } = readOptions(operation, options, "{ signal }", ["signal"]);
      checkSignal(operation, signal);
      const plain = readPathOption(operation, given);
      const full = below(path, plain);
      const there = known?.get(plain);
      if (plain === "") return makeGroup(opened, path, node);
      const here = { ...opened, signal };
      if (there === undefined) return openNode(operation, here, full, await nodeAt(operation, here, full));
      return openNode(operation, here, full, { ...there, known: knownBelow(known, plain) });
    },
  });
}

/** The part of consolidated metadata that is about a group inside. */
function knownBelow(known: Known | null, path: string): Known | null {
  if (known === null) return null;
  const prefix = `${path}/`;
  return new Map(
    [...known].filter(([at]) => at.startsWith(prefix)).map(([at, n]) => [at.slice(prefix.length), n]),
  );
}

interface Found {
  readonly name: string;
  readonly node: Node;
}

/** What lies in a group: by consolidated metadata, or by looking into every folder. */
async function membersOf(
  operation: string,
  opened: Opened,
  path: string,
  known: Known | null,
): Promise<readonly Found[]> {
  if (known !== null) {
    const direct = [...known].filter(([at]) => !at.includes("/"));
    return direct.map(([name, node]) => ({ name, node: { ...node, known: knownBelow(known, name) } }));
  }
  const { shelf, signal } = opened;
  if (shelf.list === null) {
    return fail(
      "file",
      operation,
      `${shelf.name}: it cannot list what is in it, and has no consolidated metadata.`,
      "Open a member by its path.",
    );
  }
  const names = await shelf.list(operation, path, signal);
  const folders = [...new Set(names.filter((name) => name.endsWith("/")).map((name) => name.slice(0, -1)))];
  const found: Found[] = [];
  for (const name of folders.sort()) {
    if (whyOutside(name) !== null || name.includes("/")) continue;
    const node = await nodeAt(operation, opened, below(path, name)).catch((error: unknown) => {
      // A folder of something else is no member; metadata that are damaged are an error.
      if (error instanceof Error && /nothing of Zarr lies at/.test(error.message)) return null;
      throw error;
    });
    if (node !== null) found.push({ name, node });
    if (found.length > MOST_MEMBERS)
      fail("file", operation, `${shelf.name}: more than ${MOST_MEMBERS} members.`);
  }
  return found;
}

/** Groups inside of groups, at the most. */
const MOST_DEPTH = 32;

/** An array somewhere below a path: open, or with why it cannot be. */
export interface Listed {
  /** Relative to where the search began. */
  readonly name: string;
  readonly array: ZarrArray | null;
  readonly refused: Refused | null;
}

/** Every array at a path and below it, groups first looked into in the order of their names. */
export async function arraysAt(
  operation: string,
  opened: Opened,
): Promise<{
  arrays: readonly Listed[];
  version: 2 | 3;
  attributes: Readonly<Record<string, unknown>>;
}> {
  const arrays: Listed[] = [];
  const add = (name: string, path: string, node: Node) => {
    if (arrays.length >= MOST_MEMBERS)
      fail("file", operation, `${opened.shelf.name}: more than ${MOST_MEMBERS} arrays.`);
    try {
      const array = makeArray(opened.shelf, path, layoutFor(operation, opened, node), attributesOf(node));
      arrays.push({ name, array, refused: null });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      arrays.push({ name, array: null, refused: error });
    }
  };
  const visit = async (name: string, path: string, node: Node, depth: number): Promise<void> => {
    if (node.kind === "array") return add(name, path, node);
    if (depth > MOST_DEPTH) {
      failAt(operation, opened.shelf.name, node.key, `it lies more than ${MOST_DEPTH} groups deep.`);
    }
    for (const member of await membersOf(operation, opened, path, node.known)) {
      opened.signal?.throwIfAborted();
      await visit(below(name, member.name), below(path, member.name), member.node, depth + 1);
    }
  };
  const root = await nodeAt(operation, opened, opened.path);
  await visit("", opened.path, root, 0);
  return { arrays, version: root.version, attributes: attributesOf(root) };
}

/* Consolidated metadata -------------------------------------------------------------------------------- */

/**
 * Puts the metadata of everything in a group in one place, so that a server that cannot list can be looked into. What is made or
 * changed afterwards is not in it.
 *
 *     await zarr.consolidate("data.zarr");
 *
 * @param source a folder, a URL, a Map of keys and bytes, or a store
 * @param options `path`, `version`, `signal`, `headers`, `loaders`
 * @example
 * const store = new Map();
 * await zarr.save(store, { x: zeros([4]) }, { version: 2 });
 * await zarr.consolidate(store);
 * store.has(".zmetadata"); // → true
 */
export async function consolidate(source: ZarrSource, options?: ZarrOpenOptions): Promise<void> {
  const operation = "zarr.consolidate";
  const opened = readSource(
    operation,
    source,
    readOptions(operation, options, "{ path, signal }", openNames),
  );
  const { shelf, path, signal } = opened;
  const set = writerOf(operation, shelf);
  const root = await nodeAt(operation, opened, path);
  if (root.kind === "array") {
    fail("value", operation, `${shelf.name}: at ${quoted(path)} lies an array.`, "Groups are consolidated.");
  }
  const all = new Map<string, Node>();
  const visit = async (name: string, node: Node, depth: number): Promise<void> => {
    if (depth > MOST_DEPTH) {
      failAt(operation, shelf.name, node.key, `it lies more than ${MOST_DEPTH} groups deep.`);
    }
    if (node.version !== root.version) return;
    if (name !== "") all.set(name, node);
    if (node.kind === "array") return;
    // What was consolidated before may be old.
    for (const member of await membersOf(operation, opened, below(path, name).replace(/\/$/, ""), null)) {
      await visit(below(name, member.name), member.node, depth + 1);
    }
  };
  await visit("", root, 0);
  if (root.version === 3) {
    const metadata = Object.fromEntries([...all].map(([name, { json }]) => [name, withoutInline(json)]));
    const consolidated_metadata = { kind: "inline", must_understand: false, metadata };
    const text = jsonFrom({ ...Object.fromEntries(withoutInline(root.json)), consolidated_metadata });
    return set(operation, below(path, "zarr.json"), encoded(text), signal);
  }
  const metadata: Record<string, JsonMap> = Object.create(null);
  for (const [name, { kind, json, attributes }] of [["", root] as const, ...all]) {
    metadata[below(name, kind === "array" ? ".zarray" : ".zgroup")] = json;
    if (attributes !== null) metadata[below(name, ".zattrs")] = attributes;
  }
  const text = jsonFrom({ zarr_consolidated_format: 1, metadata });
  return set(operation, below(path, ".zmetadata"), encoded(text), signal);
}

/* Making ----------------------------------------------------------------------------------------------- */

/** A compressor by its name, or with its configuration: { name: "gzip", level: 9 }. */
export type ZarrCompressor = string | ({ readonly name: string } & Readonly<Record<string, unknown>>);

/** What a new array is. */
export interface ZarrCreateOptions extends ZarrOpenOptions {
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** The kind of the elements. */
  readonly dtype: DType;
  /** Sizes of a chunk; default: such that a chunk has 1 MiB or a little less. */
  readonly chunks?: readonly number[];
  /** Several chunks under one key: sizes of a shard, whole numbers of chunks. Version 3 only. */
  readonly shards?: readonly number[];
  /** What lies where nothing was written; default 0. Bits of a float as a text: "0x7fc00001". */
  readonly fill?: number | bigint | boolean | string;
  /** "gzip", "zlib" (version 2), or "zstd", "blosc", "lz4", which need numcodecs; default none. */
  readonly compressor?: ZarrCompressor | null;
  /** Order of axes in a chunk; default "C", the last axis fastest. */
  readonly order?: "C" | "F";
  /** Order of bytes; default "little". */
  readonly endian?: "little" | "big";
  /** A checksum with every chunk. Version 3 only. Default false. */
  readonly checksum?: boolean;
  /** What is to be written down about it. */
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Names of axes; in version 2 they are the attribute _ARRAY_DIMENSIONS, as xarray has them. */
  readonly dimensionNames?: readonly (string | null)[];
  /** Between the numbers of a chunk's key; default "/" in version 3, "." in version 2. */
  readonly separator?: "." | "/";
  /** Keys as version 2 has them, in version 3. Default "default". */
  readonly keys?: "default" | "v2";
  /** Default 3. */
  readonly version?: 2 | 3;
  /**
   * Replaces an array or group that is there, with all that is in it: `create` before it makes the new one, `save` when all is
   * written. Default false: it is an error.
   */
  readonly overwrite?: boolean;
}

const createNames = [
  ...openNames,
  "shape",
  "dtype",
  "chunks",
  "shards",
  "fill",
  "compressor",
  "order",
  "endian",
  "checksum",
  "attributes",
  "dimensionNames",
  "separator",
  "keys",
  "overwrite",
] as const;

/**
 * Makes an array without elements: its metadata, and those of the groups above it. Elements come by `write` and `writeChunk`.
 *
 *     const array = await zarr.create("out.zarr", { shape: [10000, 10000], dtype: "f32", chunks: [256, 256], compressor: "gzip" });
 *     await array.write(["0:256"], rows);
 *
 * @param source a folder, a Map of keys and bytes, or a store
 * @param options `shape`, `dtype`, `chunks`, `compressor`, `attributes` and more
 * @returns a promise of the array
 * @throws TensorError where something is there already
 * @example
 * const array = await zarr.create(zarr.memoryStore(), { shape: [4], dtype: "f32", chunks: [2] });
 * array.chunks; // → [2]
 */
export async function create(source: ZarrSource, options: ZarrCreateOptions): Promise<ZarrArray> {
  const operation = "zarr.create";
  const read = readOptions(operation, options, '{ shape: [2, 3], dtype: "f32" }', createNames);
  const opened = readSource(operation, source, read);
  const text = read.version === 2 ? textV2(operation, read) : textV3(operation, read);
  const { shelf, path, signal } = opened;
  const version = read.version ?? 3;
  const key = below(path, version === 2 ? ".zarray" : "zarr.json");
  // What was made is read as anybody's would be: what cannot be read is never written.
  const json = objectFrom(contextOf(operation, opened, key), encoded(text.array));
  const attributes = objectFrom(contextOf(operation, opened, key), encoded(text.attributes));
  let layout: Layout;
  try {
    layout = layoutOf(version, json, contextOf(operation, opened, key));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return fail("value", operation, error.fact, error.remedy);
  }
  const set = writerOf(operation, shelf);
  await clear(operation, opened, read.overwrite === true);
  await makeGroups(operation, opened, version, path);
  if (version === 2 && attributes.size > 0) {
    await set(operation, below(path, ".zattrs"), encoded(text.attributes), signal);
  }
  await set(operation, key, encoded(text.array), signal);
  return makeArray(shelf, path, layout, plainOf(attributes) as Record<string, unknown>);
}

/** What a new group is. */
export interface ZarrGroupOptions extends ZarrOpenOptions {
  /** What is to be written down about it. */
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Remove what is there. Default false: an error. */
  readonly overwrite?: boolean;
}

/**
 * Makes a group, and those above it.
 *
 *     const group = await zarr.createGroup("out.zarr", { attributes: { title: "measured" } });
 *
 * @param source a folder, a Map of keys and bytes, or a store
 * @param options `attributes`, `overwrite`, `version`, `path`
 * @returns a promise of the group
 * @example
 * const group = await zarr.createGroup(zarr.memoryStore(), { attributes: { title: "measured" } });
 * group.attributes.title; // → measured
 */
export async function createGroup(source: ZarrSource, options?: ZarrGroupOptions): Promise<ZarrGroup> {
  const operation = "zarr.createGroup";
  const read = readOptions(operation, options, "{ attributes }", [...openNames, "attributes", "overwrite"]);
  const opened = readSource(operation, source, read);
  const attributes = attributesText(operation, read.attributes);
  checkFlag(operation, "overwrite", read.overwrite);
  const version = read.version ?? 3;
  await clear(operation, opened, read.overwrite === true);
  await makeGroups(operation, opened, version, opened.path);
  await writeGroup(operation, opened, version, opened.path, attributes);
  const found = await openAt(operation, { ...opened, version });
  return found as ZarrGroup;
}

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);

type Setter = NonNullable<Shelf["set"]>;
function writerOf(operation: string, { set, name }: Shelf): Setter {
  return (
    set ?? fail("value", operation, `${name} can only be read.`, "Write to a folder, to memory or to S3.")
  );
}

const metadataNames = ["zarr.json", ".zarray", ".zgroup"];

/** Does something lie at a path? Throws where it may not be overwritten. */
export async function isTaken(operation: string, opened: Opened, overwrite: boolean): Promise<boolean> {
  const { shelf, path, signal } = opened;
  const there = await Promise.all(
    metadataNames.map((name) => shelf.has(operation, below(path, name), signal)),
  );
  if (!there.includes(true)) return false;
  if (overwrite) return true;
  return fail(
    "value",
    operation,
    `${shelf.name}: at ${quoted(path)} lies something already.`,
    "Give another { path }, or { overwrite: true }.",
  );
}

/** Makes sure that nothing lies at a path, or removes it. */
async function clear(operation: string, opened: Opened, overwrite: boolean): Promise<void> {
  if (!(await isTaken(operation, opened, overwrite))) return;
  const { shelf, path, signal } = opened;
  if (shelf.empty !== undefined) return shelf.empty(operation, path, signal);
  const { list: names, remove } = shelf;
  if (names === null || remove === null) {
    return fail("value", operation, `${shelf.name} cannot remove what is there.`, "Give another { path }.");
  }
  const empty = async (folder: string, depth: number): Promise<void> => {
    if (depth > 2 * MOST_DEPTH) failAt(operation, shelf.name, folder, "it lies too deep to be removed.");
    for (const name of await names(operation, folder, signal)) {
      signal?.throwIfAborted();
      const plain = name.replace(/\/$/, "");
      if (whyOutside(plain) !== null) continue;
      if (name.endsWith("/")) await empty(below(folder, plain), depth + 1);
      else await remove(operation, below(folder, plain), signal);
    }
  };
  await empty(path, 0);
}

/** Makes groups above a path, where there are none. */
export async function makeGroups(
  operation: string,
  opened: Opened,
  version: 2 | 3,
  path: string,
): Promise<void> {
  for (const above of await groupsMissing(operation, opened, version, path))
    await writeGroup(operation, opened, version, above, new JsonText("{}"));
}

/** The groups above a path that are not there; throws where something else is. */
export async function groupsMissing(
  operation: string,
  opened: Opened,
  version: 2 | 3,
  path: string,
): Promise<readonly string[]> {
  const missing: string[] = [];
  const parts = path === "" ? [] : path.split("/");
  for (let n = 0; n < parts.length; n++) {
    const above = parts.slice(0, n).join("/");
    const { shelf, signal } = opened;
    const there = await Promise.all(
      metadataNames.map((name) => shelf.has(operation, below(above, name), signal)),
    );
    const [v3, array, v2] = there;
    if (array || (v3 && !(await isGroup(operation, opened, above)))) {
      fail("value", operation, `${shelf.name}: ${quoted(above)} is an array, and holds nothing else.`);
    }
    if ((version === 3 && v2 && !v3) || (version === 2 && v3)) {
      const other = version === 3 ? 2 : 3;
      fail(
        "value",
        operation,
        `${shelf.name}: ${quoted(above)} is a group of version ${other}.`,
        `Use { version: ${other} }.`,
      );
    }
    if (!v3 && !v2) missing.push(above);
  }
  return missing;
}

const isGroup = async (operation: string, opened: Opened, path: string): Promise<boolean> =>
  (await metadata(operation, opened, below(path, "zarr.json")))?.get("node_type") === "group";

async function writeGroup(
  operation: string,
  { shelf, signal }: Opened,
  version: 2 | 3,
  path: string,
  attributes: JsonText,
): Promise<void> {
  const set = writerOf(operation, shelf);
  if (version === 3) {
    const text = jsonFrom({ zarr_format: 3, node_type: "group", attributes });
    return set(operation, below(path, "zarr.json"), encoded(text), signal);
  }
  if (attributes.text !== "{}")
    await set(operation, below(path, ".zattrs"), encoded(attributes.text), signal);
  await set(operation, below(path, ".zgroup"), encoded(jsonFrom({ zarr_format: 2 })), signal);
}

/* What a new array's metadata say ----------------------------------------------------------------------- */

interface Texts {
  readonly array: string;
  readonly attributes: string;
}

/** What both versions take, checked. */
function common(operation: string, read: ZarrCreateOptions) {
  const { fill, order = "C", endian = "little", compressor = null, separator, dimensionNames } = read;
  const shape = numberList(operation, "shape", read.shape);
  checkShape(operation, shape);
  const dtype = checkDType(operation, read.dtype);
  const { bytes } = dtypes[dtype];
  const chunks = read.chunks === undefined ? null : sizesGiven(operation, "chunks", read.chunks, shape);
  const shards = read.shards === undefined ? null : sizesGiven(operation, "shards", read.shards, shape);
  for (const name of ["checksum", "overwrite"] as const) checkFlag(operation, name, read[name]);
  const oneOf = (name: string, value: unknown, all: readonly string[]) => {
    if (!all.includes(value as string)) {
      fail(
        "value",
        operation,
        `${name} is ${describe(value)}.`,
        `Use one of ${all.map((x) => `"${x}"`).join(", ")}.`,
      );
    }
  };
  oneOf("order", order, ["C", "F"]);
  oneOf("endian", endian, ["little", "big"]);
  if (separator !== undefined) oneOf("separator", separator, [".", "/"]);
  if (read.keys !== undefined) oneOf("keys", read.keys, ["default", "v2"]);
  const names = dimensionNames === undefined ? null : readList(operation, "dimensionNames", dimensionNames);
  if (dimensionNames !== undefined) {
    const isNames = names?.length === shape.length && names.every((x) => x === null || typeof x === "string");
    if (!isNames)
      fail("value", operation, `dimensionNames are no ${shape.length} names.`, 'Write ["y", "x"].');
  }
  const bad = (fact: string): never =>
    fail("value", operation, fact.replace("its fill value", "the fill value"), `Give a number of ${dtype}.`);
  const isFill = ["undefined", "number", "bigint", "boolean", "string"].includes(typeof fill);
  if (!isFill) fail("value", operation, `fill is ${describe(fill)}.`, "Give a number.");
  const element = { dtype, pairs: false };
  const filled = fillFrom(element, (fill ?? null) as Json, bad);
  return {
    shape,
    dtype,
    element,
    chunks: chunks ?? chosenChunks(shape, bytes, shards),
    shards,
    order,
    endian,
    big: endian === "big" && bytes > 1,
    names: names as readonly (string | null)[] | null,
    fill: filled,
    compressor: compressor === null ? null : compressorFrom(operation, compressor),
  };
}

function sizesGiven(
  operation: string,
  name: string,
  given: unknown,
  shape: readonly number[],
): readonly number[] {
  const sizes = numberList(operation, name, given);
  if (sizes.length === shape.length && sizes.every((n) => Number.isSafeInteger(n) && n >= 1)) return sizes;
  return fail(
    "value",
    operation,
    `${name} are ${list(sizes)} for shape ${list(shape)}.`,
    "Give a size from 1 an axis.",
  );
}

/** Bytes of a chunk that nobody chose. */
const USUAL_CHUNK = 1 << 20;

/** Chunks of about a mebibyte: the longest axis is halved until they are. With shards, as many as one holds whole. */
function chosenChunks(
  shape: readonly number[],
  bytes: number,
  shards: readonly number[] | null,
): readonly number[] {
  if (shards !== null) return shards;
  const chunks = shape.map((n) => Math.max(n, 1));
  while (chunks.reduce((product, n) => product * n, bytes) > USUAL_CHUNK) {
    const longest = chunks.indexOf(Math.max(...chunks));
    if (chunks[longest] === 1) break;
    chunks[longest] = Math.ceil(chunks[longest] / 2);
  }
  return chunks;
}

function compressorFrom(
  operation: string,
  given: unknown,
): { name: string; config: Record<string, unknown> } {
  if (typeof given === "string") return { name: given, config: {} };
  const read = readOptions(operation, given as Record<string, unknown>, '{ name: "gzip", level: 9 }');
  const { name, ...config } = read;
  if (typeof name === "string") return { name, config };
  return fail(
    "value",
    operation,
    `the compressor's name is ${describe(name)}.`,
    'Write { name: "gzip", level: 9 }.',
  );
}

/** Configurations that a format wants and a user need not give. */
const usual: Readonly<Record<string, (bytes: number, version: 2 | 3) => Record<string, unknown>>> = {
  gzip: () => ({ level: 5 }),
  zlib: () => ({ level: 1 }),
  zstd: (_, version) => (version === 3 ? { level: 0, checksum: false } : { level: 0 }),
  lz4: () => ({ acceleration: 1 }),
  blosc: (bytes, version) => ({
    cname: "lz4",
    clevel: 5,
    shuffle: version === 3 ? "shuffle" : 1,
    blocksize: 0,
    ...(version === 3 ? { typesize: bytes } : {}),
  }),
};

function configFor(
  { name, config }: { name: string; config: Record<string, unknown> },
  bytes: number,
  version: 2 | 3,
): Record<string, unknown> {
  return { ...(Object.hasOwn(usual, name) ? usual[name](bytes, version) : {}), ...config };
}

function textV2(operation: string, read: ZarrCreateOptions): Texts {
  const made = common(operation, read);
  const type = nameInV2(made.dtype, made.big);
  const only3 = read.shards !== undefined ? "shards" : read.checksum === true ? "checksum" : null;
  if (only3 !== null) fail("value", operation, `version 2 has no ${only3}.`, "Use { version: 3 }.");
  if (type === null) fail("dtype", operation, `version 2 has no ${made.dtype}.`, "Use { version: 3 }.");
  const { compressor } = made;
  const array = {
    zarr_format: 2,
    shape: made.shape,
    chunks: made.chunks,
    dtype: type,
    compressor:
      compressor === null
        ? null
        : { id: compressor.name, ...configFor(compressor, dtypes[made.dtype].bytes, 2) },
    fill_value: fillText(made.element, made.fill, 2),
    order: made.order,
    filters: null,
    dimension_separator: read.separator ?? ".",
  };
  const attributes = attributesText(operation, read.attributes);
  if (made.names === null) return { array: jsonFrom(array), attributes: attributes.text };
  const all = { ...(JSON.parse(attributes.text) as object), _ARRAY_DIMENSIONS: made.names };
  return { array: jsonFrom(array), attributes: JSON.stringify(all, null, 2) };
}

function textV3(operation: string, read: ZarrCreateOptions): Texts {
  const made = common(operation, read);
  const { bytes } = dtypes[made.dtype];
  const rank = made.shape.length;
  const bytesCodec =
    bytes === 1 ? { name: "bytes" } : { name: "bytes", configuration: { endian: made.endian } };
  const { compressor } = made;
  const codecs = [
    ...(made.order === "F" && rank > 1
      ? [{ name: "transpose", configuration: { order: made.shape.map((_, d) => rank - 1 - d) } }]
      : []),
    bytesCodec,
    ...(compressor === null
      ? []
      : [{ name: compressor.name, configuration: configFor(compressor, bytes, 3) }]),
    ...(read.checksum === true ? [{ name: "crc32c" }] : []),
  ];
  const shards = made.shards && {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: made.chunks,
      codecs,
      index_codecs: [{ name: "bytes", configuration: { endian: "little" } }, { name: "crc32c" }],
      index_location: "end",
    },
  };
  const style = read.keys ?? "default";
  const separator = read.separator ?? (style === "default" ? "/" : ".");
  const attributes = attributesText(operation, read.attributes);
  const array = {
    zarr_format: 3,
    node_type: "array",
    shape: made.shape,
    data_type: nameInV3(made.dtype),
    chunk_grid: { name: "regular", configuration: { chunk_shape: made.shards ?? made.chunks } },
    chunk_key_encoding: { name: style, configuration: { separator } },
    fill_value: fillText(made.element, made.fill, 3),
    codecs: shards === null ? codecs : [shards],
    ...(made.names === null ? {} : { dimension_names: made.names }),
    attributes,
  };
  return { array: jsonFrom(array), attributes: attributes.text };
}
