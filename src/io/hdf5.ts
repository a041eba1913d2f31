/**
 * HDF5, read by its own library, which the package h5wasm brings as WebAssembly: datasets by their path, whole or a box of
 * them, chunked and packed ones too, and attributes. The library sees this one file, in memory of its own: what a file
 * names beside itself is not there for it. The file is held in memory while it is open.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail, TensorError } from "../errors.ts";
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
import { type Place, takePlace } from "./into-heap.ts";
import { failFile } from "./names.ts";
import { guarded, type Peers, peer } from "./peer.ts";
import { type Input, inputOf, type Source, type SourceOptions, sourceNames } from "./source.ts";

export const isHdf5 = (head: Uint8Array): boolean =>
  [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a].every((x, i) => head[i] === x);

/** Where the package comes from. */
export interface OpenOptions extends SourceOptions {
  /** Bytes that the file may have, and a dataset that is read. Default 1 GiB. */
  readonly limit?: number;
  /**
   * Milliseconds that listing the file, or reading a dataset, may take. Looked at between one object and the next, and
   * between one piece of a dataset and the next. Default 60 000.
   */
  readonly milliseconds?: number;
}

/** What to read. */
export interface LoadOptions extends OpenOptions {
  /** Reads only these datasets. */
  readonly names?: readonly string[];
}

const openNames = [...sourceNames, "limit", "milliseconds"];
const LIMIT = 2 ** 30;
const TIME = 60_000;
const MOST_OBJECTS = 100_000;
/** Bytes of an attribute that is shown. */
const MOST_ATTRIBUTE = 64 << 10;
/** Bytes that the library reads at a time. */
const PIECE = 32 << 20;

/* What is used of h5wasm ------------------------------------------------------------------------------- */

interface Metadata {
  readonly type: number;
  readonly size: number;
  readonly signed: boolean;
  readonly shape: readonly number[] | null;
  readonly total_size: number;
  readonly enum_type?: { readonly members: Readonly<Record<string, number>> };
  readonly compound_type?: {
    readonly members: readonly (Metadata & { readonly name: string; readonly offset: number })[];
  };
}
interface Attribute {
  readonly metadata: Metadata;
  readonly json_value: unknown;
}
interface HdfObject {
  readonly attrs: Readonly<Record<string, Attribute>>;
  readonly metadata?: Metadata;
}
interface HdfFile extends HdfObject {
  readonly file_id: bigint;
  paths(): string[];
  get_type(path: string): number;
  get(path: string): HdfObject | null;
  close(): number;
}
interface HdfModule {
  readonly FS: {
    createDataFile(
      folder: string,
      name: string,
      data: Uint8Array,
      read: boolean,
      write: boolean,
      own: boolean,
    ): unknown;
    unlink(path: string): void;
  };
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(at: number): void;
  get_dataset_data(
    file: bigint,
    path: string,
    count: bigint[] | null,
    from: bigint[] | null,
    steps: bigint[] | null,
    at: bigint,
  ): number;
  activate_throwing_error_handler?(): number;
  deactivate_throwing_error_handler?(): number;
}
interface Library {
  readonly ready: Promise<HdfModule>;
  readonly File: new (path: string, mode: "r") => HdfFile;
}

const [INTEGER, FLOAT, COMPOUND, ENUM, DATASET, GROUP] = [0, 1, 6, 8, 1, 0];

/** How many files have been shown to the library: each has a name of its own. */
let shown = 0;

interface Opened {
  readonly operation: string;
  readonly input: Input;
  readonly bytes: Uint8Array;
  readonly library: Library;
  readonly module: HdfModule;
  readonly limit: number;
  readonly milliseconds: number;
}

/** Shows the file to the library for as long as something is done with it; what that throws is told in our words. */
function withFile<R>(
  o: Opened,
  operation: string,
  entry: string | null,
  signal: AbortSignal | undefined,
  run: (file: HdfFile, tick: () => void) => R,
): R {
  const { module, library, input, bytes, milliseconds } = o;
  const name = `strided-${shown++}.h5`;
  const until = performance.now() + milliseconds;
  const tick = () => {
    signal?.throwIfAborted();
    if (performance.now() > until)
      failFile(
        operation,
        input.name,
        entry,
        `it takes longer than ${milliseconds} ms.`,
        "Give it more: { milliseconds }.",
      );
  };
  // Otherwise the library writes to standard error, and goes on.
  module.activate_throwing_error_handler?.();
  try {
    module.FS.createDataFile("/", name, bytes, true, false, true);
    const file = new library.File(`/${name}`, "r");
    try {
      return run(file, tick);
    } finally {
      file.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TensorError) throw error;
    return failFile(operation, input.name, entry, `HDF5's library cannot read it: ${wordsOf(error)}`);
  } finally {
    module.deactivate_throwing_error_handler?.();
    try {
      module.FS.unlink(`/${name}`);
    } catch {
      // It was never there.
    }
  }
}

/** The library tells a stack of errors: the last one is where it began. */
function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const lines = [...text.matchAll(/in \w+\(\): ([^\n]+)/g)].map((m) => m[1]);
  const said = (lines.at(-1) ?? text).replace(/\s+/g, " ").slice(0, 200);
  return said.endsWith(".") ? said : `${said}.`;
}

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * Opens an HDF5 file: lists its datasets, and reads none. Entries are called by their paths; `meta` has the names of the
 * groups and the attributes of everything, by path ("/" is the file itself). Needs the package h5wasm.
 *
 *     const file = await hdf5.open("run.h5");
 *     file.entries.map((e) => e.name); // ["detector/counts", …]
 *     const corner = await file.read("detector/counts", ["0:10", "0:10"]);
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `peers`, `limit`, `milliseconds`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * await hdf5.open(new Uint8Array(8));
 * // ✗ hdf5.open: the bytes: it does not begin as an HDF5 file.
 */
export async function open(source: Source, options?: OpenOptions): Promise<Archive> {
  const { limit, milliseconds, ...rest } = readOptions("hdf5.open", options, "{ limit: 4e9 }", openNames);
  checkCaps("hdf5.open", limit, milliseconds);
  const { input, signal, peers } = await inputOf("hdf5.open", source, rest);
  return openInput("hdf5.open", input, signal, { peers, limit, milliseconds });
}

function checkCaps(operation: string, limit: unknown, milliseconds: unknown): void {
  for (const [name, x] of Object.entries({ limit, milliseconds })) {
    if (x === undefined || (typeof x === "number" && x >= 0)) continue;
    fail("value", operation, `${name} is ${describe(x)}.`, "It is a number from 0 on.");
  }
}

interface Settings {
  readonly peers?: Peers;
  readonly limit?: number | undefined;
  readonly milliseconds?: number | undefined;
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
  settings: Settings = {},
): Promise<Archive> {
  const { limit = LIMIT, milliseconds = TIME, peers = {} } = settings;
  const { name: file, size } = input;
  if (size > limit) {
    failFile(
      operation,
      file,
      null,
      `it has ${size} bytes, and would be held in memory.`,
      `If there is room: hdf5.open(file, { limit: ${size} }).`,
    );
  }
  const library = await peer<Library>(operation, "h5wasm", peers, "reading HDF5");
  if (typeof library.File !== "function" || library.ready === undefined)
    fail(
      "value",
      operation,
      "what was given as h5wasm is not its module.",
      "Give the module itself: { peers: { h5wasm } }.",
    );
  const reader = await input.open(signal);
  let bytes: Uint8Array;
  try {
    const all = await reader.bytes(0, size);
    if (!isHdf5(all)) failFile(operation, file, null, "it does not begin as an HDF5 file.");
    // The library may look at it later, whatever becomes of the caller's memory.
    bytes = all.slice();
  } finally {
    await reader.close();
  }
  const module = await guarded(operation, file, null, "h5wasm", signal, () => library.ready);
  const opened: Opened = { operation, input, bytes, library, module, limit, milliseconds };
  const { items, meta } = withFile(opened, operation, null, signal, (f, tick) => listed(opened, f, tick));
  return makeArchive({ format: "hdf5", file, items, meta });
}

function listed(o: Opened, f: HdfFile, tick: () => void) {
  const { operation, input } = o;
  const items: Item[] = [];
  const groups: string[] = [];
  const attributes = Object.create(null) as Record<string, unknown>;
  const keep = (path: string, of: HdfObject) => {
    const found = attributesOf(of);
    if (found !== null) attributes[path] = found;
  };
  keep("/", f);
  const paths = f.paths();
  if (paths.length > MOST_OBJECTS)
    failFile(
      operation,
      input.name,
      null,
      `it has ${paths.length} objects; at most ${MOST_OBJECTS} are listed.`,
    );
  for (const path of paths) {
    tick();
    // Links that lead out of the file, or nowhere, are neither.
    const kind = f.get_type(path);
    const found = kind === DATASET || kind === GROUP ? f.get(path) : null;
    if (found === null) continue;
    if (kind === GROUP) groups.push(path);
    else if (found.metadata !== undefined) items.push(itemOf(o, path, found.metadata));
    keep(path, found);
  }
  const meta = Object.freeze({
    groups: Object.freeze(groups),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  });
  return { items, meta };
}

function attributesOf(of: HdfObject): Record<string, unknown> | null {
  const out = Object.create(null) as Record<string, unknown>;
  for (const [name, attribute] of Object.entries(of.attrs)) {
    const { size, total_size: count } = attribute.metadata;
    out[name] = size * count > MOST_ATTRIBUTE ? `${count} elements` : attribute.json_value;
  }
  return Object.keys(out).length === 0 ? null : out;
}

/** The dtype of an HDF5 type, and whether two of it make a complex number; null: no dtype holds it. */
function typeOf(m: Metadata): { dtype: DType; pairs: boolean } | null {
  const bits = 8 * m.size;
  if (m.type === FLOAT && [16, 32, 64].includes(bits)) return { dtype: `f${bits}` as DType, pairs: false };
  if ((m.type === INTEGER || m.type === ENUM) && [8, 16, 32, 64].includes(bits)) {
    const members = m.enum_type?.members ?? {};
    const isBool =
      m.type === ENUM &&
      bits === 8 &&
      Object.keys(members).length === 2 &&
      members.FALSE === 0 &&
      members.TRUE === 1;
    return { dtype: isBool ? "bool" : (`${m.signed ? "i" : "u"}${bits}` as DType), pairs: false };
  }
  const parts = m.compound_type?.members;
  if (m.type === COMPOUND && parts?.length === 2) {
    const [re, im] = parts.map((part) => (part.type === FLOAT ? typeOf(part) : null));
    const isPair =
      re !== null &&
      re?.dtype === im?.dtype &&
      parts[0].offset === 0 &&
      2 * parts[0].size === m.size &&
      parts[1].offset === parts[0].size;
    if (isPair && /^r/i.test(parts[0].name) && /^i/i.test(parts[1].name))
      return { dtype: re.dtype, pairs: true };
  }
  return null;
}

const classes = [
  "integer",
  "float",
  "time",
  "string",
  "bits",
  "opaque",
  "compound",
  "reference",
  "enum",
  "variable-length",
  "array",
  "complex",
];

function itemOf(o: Opened, name: string, m: Metadata): Item {
  const { operation, input, limit } = o;
  const found = typeOf(m);
  const kind = classes[m.type] ?? "unknown";
  const type = `${kind} ${8 * m.size}`;
  const base = { name, type, from: 0, input };
  if (found === null || m.shape === null) {
    const why =
      m.shape === null
        ? "it has no elements, not even none."
        : `elements of type ${kind} have no dtype here.`;
    const refuse = () => failFile("hdf5.read", input.name, name, why);
    return { ...base, dtype: null, shape: m.shape ?? [], bytes: 0, refusal: [why, ""], decode: refuse };
  }
  const { dtype, pairs } = found;
  const shape = [...m.shape, ...(pairs ? [2] : [])];
  const itemBytes = dtypes[dtype].bytes;
  const bytes = checkFileShape(operation, input.name, name, shape, itemBytes);
  const decodeBox: Item["decodeBox"] = async (_, from, to, signal) => {
    const asked = to.reduce((n, end, d) => n * (end - from[d]), itemBytes);
    if (asked > limit)
      failFile(
        "hdf5.read",
        input.name,
        name,
        `${asked} bytes are asked for; at most ${limit} are read.`,
        "Read a part of it, or open it with another { limit }.",
      );
    const rank = (m.shape as readonly number[]).length;
    return withFile(o, "hdf5.read", name, signal, (file, tick) =>
      boxOf(o, file, name, dtype, m.size, from, to, rank, tick),
    );
  };
  return { ...base, dtype, shape, bytes, byteStrides: denseStrides(shape, itemBytes), decodeBox };
}

/** The elements of a box, some rows at a time. Of complex numbers both parts are read, and those of the box taken. */
function boxOf(
  { module, input }: Opened,
  file: HdfFile,
  path: string,
  dtype: DType,
  width: number,
  from: readonly number[],
  to: readonly number[],
  rank: number,
  tick: () => void,
): Place {
  const itemBytes = dtypes[dtype].bytes;
  const sizes = to.map((end, d) => end - from[d]);
  const total = sizes.reduce((a, b) => a * b, itemBytes);
  const place = takePlace("hdf5.read", dtype, total);
  try {
    if (total === 0) return place;
    const inner = sizes.slice(1, rank).reduce((a, b) => a * b, 1);
    const rows = rank === 0 ? 1 : sizes[0];
    const some = Math.max(1, Math.min(rows, Math.floor(PIECE / (inner * width))));
    // Of pairs, the first and the last part that are wanted.
    const [low, high] = from.length > rank ? [from[rank], to[rank]] : [0, width / itemBytes];
    const at = module._malloc(some * inner * width);
    if (at === 0) failFile("hdf5.read", input.name, path, "HDF5's library has no room for it.");
    try {
      for (let row = 0, done = 0; row < rows; row += some) {
        tick();
        const n = Math.min(some, rows - row);
        const count = sizes.slice(0, rank).map((size, d) => BigInt(d === 0 ? n : size));
        const start = from.slice(0, rank).map((x, d) => BigInt(d === 0 ? x + row : x));
        const steps = count.map(() => 1n);
        const status =
          rank === 0
            ? module.get_dataset_data(file.file_id, path, null, null, null, BigInt(at))
            : module.get_dataset_data(file.file_id, path, count, start, steps, BigInt(at));
        if (status < 0) failFile("hdf5.read", input.name, path, "HDF5's library cannot read it.");
        const got = module.HEAPU8.subarray(at, at + n * inner * width);
        const parts = high - low;
        const bytes = n * inner * parts * itemBytes;
        const target = place.at(done, bytes);
        if (parts * itemBytes === width) target.set(got);
        else
          for (let i = 0; i < n * inner; i++)
            target.set(
              got.subarray(i * width + low * itemBytes, i * width + high * itemBytes),
              i * parts * itemBytes,
            );
        if (dtype === "bool") for (let i = 0; i < bytes; i++) if (target[i] > 1) target[i] = 1;
        done += bytes;
      }
      return place;
    } finally {
      module._free(at);
    }
  } catch (error) {
    place.release();
    throw error;
  }
}

/**
 * All datasets of numbers of an HDF5 file (or those of some paths), by path. Needs the package h5wasm.
 *
 *     const { "detector/counts": counts } = await hdf5.load("run.h5");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `signal`, `headers`, `peers`
 * @returns a promise of the tensors by path
 * @throws TensorError where the file is not what it says
 * @example
 * await hdf5.load(new Uint8Array(8));
 * // ✗ hdf5.load: the bytes: it does not begin as an HDF5 file.
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "hdf5.load";
  const read = readOptions(operation, options, "{ names }", [...openNames, "names"]);
  const { names: given, limit, milliseconds, ...rest } = read;
  checkCaps(operation, limit, milliseconds);
  const names = readNames(operation, given);
  const { input, signal, peers } = await inputOf(operation, source, rest);
  const file = await openInput(operation, input, signal, { peers, limit, milliseconds });
  const all = file.entries.filter((e) => e.dtype !== null).map((e) => e.name);
  return readAll(file, names ?? all, signal);
}
