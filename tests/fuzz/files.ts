/** Files of every format that is read by hand, changed at random: the right tensor, or an error that says what is wrong. */
import fc from "fast-check";
import { dtypes } from "../../src/dtype.ts";
import { memory, type Tensor, TensorError } from "../../src/index.ts";
import {
  type Archive,
  type CustomSource,
  csv,
  type Entry,
  open,
  type ZarrArray,
  zarr,
} from "../../src/io.ts";
import { bytesOf, manifest } from "../io/fixtures.ts";
import { keysOf, packedByPackage, zarrManifest } from "../io/zarr-fixtures.ts";
import { family } from "./family.ts";

/** Numbers that lengths, counts and offsets are not. */
const odd = [
  0n,
  1n,
  2n,
  7n,
  8n,
  127n,
  255n,
  256n,
  65535n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];

/** One change. Places are taken round and round the file, `early` ones round its first 200 bytes. */
interface Edit {
  readonly kind: "byte" | "number" | "digit" | "cut" | "drop" | "repeat" | "insert" | "copy";
  readonly at: number;
  readonly early: boolean;
  readonly value: number;
}

export interface FileCase {
  readonly file: string;
  readonly edits: readonly Edit[];
  /** Of the slice that is read of each entry. */
  readonly slice: readonly string[];
}

const names = Object.keys(manifest).sort();
/** Formats with one small file are as good as those with thirty. */
const byFormat = new Map<string, string[]>();
for (const name of names) {
  const ending = name.slice(name.lastIndexOf("."));
  byFormat.set(ending, [...(byFormat.get(ending) ?? []), name]);
}

/** A table, which is found by no magic. */
const TABLE = "table.csv";
const table = new TextEncoder().encode(
  'a,"b ""x"", y",c\r\n1,-2.5e-3,"3"\r\n,nan,12345678901234567890\r\n7, 8 ,-inf\r\n',
);
byFormat.set(".csv", [TABLE]);

/** Hierarchies of Zarr, one key of which is changed: "v2.zarr!ragged/0.0". */
const stores = new Map(Object.keys(zarrManifest).map((name) => [name, keysOf(name)]));
const metadata = (key: string) => /(^|\/)(zarr\.json|\.z\w+)$/.test(key);
for (const [store, keys] of stores) {
  const all = [...keys.keys()].filter((key) => !packedByPackage.test(key.split("/")[0]));
  byFormat.set(
    `${store}, metadata`,
    all.filter(metadata).map((key) => `${store}!${key}`),
  );
  byFormat.set(
    `${store}, chunks`,
    all.filter((key) => !metadata(key)).map((key) => `${store}!${key}`),
  );
}

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom(
    "byte",
    "byte",
    "number",
    "digit",
    "digit",
    "cut",
    "drop",
    "repeat",
    "insert",
    "copy",
  ),
  at: fc.nat(1 << 20),
  early: fc.boolean(),
  value: fc.nat(1 << 20),
});

const cases: fc.Arbitrary<FileCase> = fc.record({
  file: fc.constantFrom(...byFormat.values()).chain((list) => fc.constantFrom(...list)),
  edits: fc.oneof(fc.array(edit, { maxLength: 1 }), fc.array(edit, { minLength: 1, maxLength: 4 })),
  slice: fc.array(fc.constantFrom("::2", "1:", "::-1", "0", ":", "..."), { maxLength: 2 }),
});

const originals = new Map<string, Uint8Array<ArrayBuffer>>();
function original(name: string): Uint8Array<ArrayBuffer> {
  const [store, key] = name.split("!");
  const made = () => (key === undefined ? bytesOf(name) : stores.get(store)!.get(key)!);
  const known = originals.get(name) ?? (name === TABLE ? table : made());
  originals.set(name, known);
  return known;
}

const joined = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** What each kind of change does to a file. */
const change: Readonly<Record<Edit["kind"], (b: Uint8Array, at: number, value: number) => Uint8Array>> = {
  byte(b, at, value) {
    b[at] = value;
    return b;
  },
  number(b, at, value) {
    const width = [2, 4, 8][value % 3];
    const view = new DataView(b.buffer);
    for (let i = 0; i < width && at + i < b.length; i++) {
      view.setUint8(at + i, Number((odd[value % odd.length] >> BigInt(8 * i)) & 255n));
    }
    return b;
  },
  /** A digit of a header in text, so that it stays one. */
  digit(b, at, value) {
    const digits = [...b.keys()].filter((i) => b[i] >= 48 && b[i] < 58);
    if (digits.length > 0) b[digits[at % digits.length]] = 48 + (value % 10);
    return b;
  },
  cut: (b, at) => b.slice(0, at),
  drop: (b, at, value) => joined(b.subarray(0, at), b.subarray(at + (value % 40))),
  repeat: (b, at, value) => joined(b.subarray(0, at), b.subarray(Math.max(0, at - (value % 200)))),
  insert: (b, at, value) =>
    joined(b.subarray(0, at), new Uint8Array(value % 300).fill(value), b.subarray(at)),
  copy: (b, at, value) => {
    b.copyWithin(value % b.length, at, at + 32);
    return b;
  },
};

function changed(name: string, edits: readonly Edit[]): Uint8Array {
  let bytes: Uint8Array = original(name).slice();
  for (const { kind, at, early, value } of edits) {
    if (bytes.length === 0) break;
    bytes = change[kind](bytes, at % (early ? Math.min(200, bytes.length) : bytes.length), value);
  }
  return bytes;
}

/** Longer than this and a file counts as hanging. */
const MOST_MILLISECONDS = 20_000;
/** What the heap holds beside tensors: blocks are rounded up. */
const SLACK = 4096;

/** Its result, or null where it was refused as it should be. */
async function outcome<T>(what: string, run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof TensorError)) throw new Error(`${what}: ${(error as Error)?.stack ?? error}`);
    if (error.code === "internal") throw error;
    if (error.code === "file" && !/^[\w.]+: (the source|the bytes|the store)/.test(error.message)) {
      throw new Error(`${what}: the message names no file: ${error.message}`);
    }
    return null;
  }
}

function sourceOf(bytes: Uint8Array): CustomSource {
  return {
    size: bytes.length,
    async read(from, length) {
      // Nothing asks for more than the file has, so nothing makes room for more.
      if (from < 0 || from + length > bytes.length)
        throw new Error(`bytes ${from} + ${length} of ${bytes.length}`);
      return bytes.slice(from, from + length);
    },
  };
}

async function check({ file, edits, slice }: FileCase): Promise<boolean> {
  const bytes = changed(file, edits);
  const began = performance.now();
  const before = memory();
  if (file === TABLE) return checkTable(bytes, edits.length === 0);
  if (file.includes("!")) return checkStore(file, bytes, slice, edits.length === 0);
  const beside = Object.keys(manifest).filter((name) => /^sharded-|^external/.test(name));
  const files = Object.fromEntries([...beside, "external.data"].map((name) => [name, original(name)]));
  const archive = await outcome("open", () => open(sourceOf(bytes), { files }));
  if (memory().bytes !== before.bytes) throw new Error("opening took memory of the heap");
  if (archive !== null) {
    for (const entry of archive.entries)
      await checkEntry(archive, entry, bytes, slice, edits.length === 0, file);
  } else if (edits.length === 0) throw new Error("a good file was refused");
  const took = performance.now() - began;
  if (took > MOST_MILLISECONDS) throw new Error(`it took ${Math.round(took)} ms`);
  return true;
}

async function checkTable(bytes: Uint8Array, isGood: boolean): Promise<boolean> {
  const read = await outcome("csv", () => csv.load(sourceOf(bytes)));
  if (isGood && String(read?.data.toArray()) !== "1,-0.0025,3,NaN,NaN,12345678901234567000,7,8,-Infinity") {
    throw new Error(`a good table is ${read?.data}`);
  }
  // Every cell is followed by a byte, but for the last.
  if (read !== null && read.data.size > bytes.length + 1)
    throw new Error(`${read.data.size} cells, ${bytes.length} bytes`);
  read?.data.dispose();
  return true;
}

/** Arrays of more bytes than this are read by a slice alone: a shape that was changed may be any. */
const MOST_ARRAY = 1 << 20;

/** A hierarchy with one key changed: the array it belongs to, or, where it is the root's, all of them. */
async function checkStore(
  file: string,
  bytes: Uint8Array,
  slice: readonly string[],
  isGood: boolean,
): Promise<boolean> {
  const [name, key] = file.split("!");
  const keys = new Map<string, Uint8Array>(stores.get(name)!).set(key, bytes);
  const paths = Object.keys(zarrManifest[name]).filter((path) => key.startsWith(`${path}/`));
  const before = memory();
  if (paths.length === 0) {
    await outcome("load", async () => {
      const group = await zarr.openGroup(keys);
      for (const member of await group.members()) await outcome("open", () => group.open(member.name));
    });
  }
  for (const path of paths) {
    const fact = zarrManifest[name][path];
    const array = await outcome("open", () => zarr.openArray(keys, { path }));
    if (memory().bytes !== before.bytes) throw new Error("opening took memory of the heap");
    if (array !== null) await checkArray(array, slice, isGood ? (fact?.hex ?? null) : null);
    else if (isGood && fact !== null) throw new Error("a good array was refused");
  }
  return true;
}

async function checkArray(
  array: ZarrArray,
  slice: readonly string[],
  expected: string | null,
): Promise<void> {
  const size = array.shape.reduce((a, b) => a * b, dtypes[array.dtype].bytes);
  const few = array.shape.map(() => "0:3");
  const [items, isWhole] = size > MOST_ARRAY ? [few, false] : [slice, true];
  const whole = isWhole ? await outcome("read", () => array.read()) : null;
  const part = await outcome("slice", () => array.read(items));
  if (array.grid.every((n) => n > 0)) {
    const chunk = await outcome("chunk", () => array.readChunk(array.grid.map((n) => n - 1)));
    chunk?.dispose();
  }
  if (whole !== null) {
    if (whole.dtype !== array.dtype || String(whole.shape) !== String(array.shape))
      throw new Error("another array");
    const view = await outcome("slice", async () => whole.slice(...items));
    if (view !== null && part === null) throw new Error("its slice was refused");
    if (part !== null && view !== null) expectSame("its slice", part, view);
  }
  if (expected !== null && (whole === null || hex(whole) !== expected)) throw new Error("it is wrong");
  for (const t of [whole, part]) t?.dispose();
}

async function checkEntry(
  archive: Archive,
  entry: Entry,
  bytes: Uint8Array,
  slice: readonly string[],
  isGood: boolean,
  file: string,
): Promise<void> {
  const before = memory();
  const whole = await outcome(`read ${entry.name}`, () => archive.read(entry.name));
  const part = await outcome(`slice ${entry.name}`, () => archive.read(entry.name, slice));
  const raw = await outcome(`raw ${entry.name}`, () => archive.raw(entry.name));
  const { peakBytes } = memory();
  // Each of the three at most, and a copy where elements are decoded.
  if (peakBytes > before.peakBytes && peakBytes > before.bytes + 4 * entry.bytes + SLACK) {
    throw new Error(`${entry.name}: ${entry.bytes} bytes took ${peakBytes - before.bytes} of the heap`);
  }
  // What is listed is there: before anything is read, and before memory is taken for it.
  const count = entry.shape.reduce((a, b) => a * b, 1);
  if (entry.dtype !== null && count * dtypes[entry.dtype].bytes !== entry.bytes) {
    throw new Error(`${entry.name} is ${entry.dtype} [${entry.shape}] in ${entry.bytes} bytes`);
  }
  const isElsewhere = /sharded|external/.test(file);
  // Some elements take less in the file: numbers in text, varints, single bits. Others lie in several pieces.
  const isDecoded = entry.byteStrides === undefined || archive.format === "onnx";
  const room = isDecoded ? 16 * bytes.length : bytes.length - entry.from;
  if (!isElsewhere && entry.packed === undefined && entry.bytes > room) {
    throw new Error(`${entry.name} has ${entry.bytes} bytes from ${entry.from} on, the file ${bytes.length}`);
  }
  if (whole !== null) {
    if (whole.dtype !== entry.dtype || String(whole.shape) !== String(entry.shape)) {
      throw new Error(
        `${entry.name} is ${whole.dtype} ${whole.shape}, listed as ${entry.dtype} ${entry.shape}`,
      );
    }
    const view = await outcome("slice", async () => whole.slice(...slice));
    if ((view === null) !== (part === null))
      throw new Error(`${entry.name}: its slice ${part ?? "was refused"}`);
    if (part !== null && view !== null) expectSame(`${entry.name}, sliced`, part, view);
    const fact = manifest[file][entry.name];
    // Members of a zip file have checksums.
    const isKnown = isGood || archive.format === "npz";
    if (isKnown && fact?.hex !== undefined && hex(whole) !== fact.hex)
      throw new Error(`${entry.name} is wrong`);
  } else if (isGood && entry.dtype !== null) throw new Error(`${entry.name} was refused`);
  const isOnePiece = entry.packed === undefined && entry.byteStrides !== undefined;
  if (raw !== null && isOnePiece && entry.from + entry.bytes <= bytes.length) {
    const own = Buffer.from(bytes.subarray(entry.from, entry.from + entry.bytes)).toString("hex");
    // Elements may lie in another file: of a good one, both are known.
    if (!/sharded|external/.test(file) && hex(raw) !== own)
      throw new Error(`${entry.name}: its bytes are others`);
  }
  for (const t of [whole, part, raw]) t?.dispose();
}

const hex = (t: Tensor): string => {
  const { buffer, byteOffset, byteLength } = t.toTypedArray();
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("hex");
};

function expectSame(what: string, got: Tensor, want: Tensor): void {
  if (String(got.shape) !== String(want.shape) || hex(got) !== hex(want)) throw new Error(`${what} differs`);
  want.dispose();
}

export const files = family<FileCase>({
  name: "files",
  law: "a file that was changed at random gives its tensors or an error that names it, and takes no more memory than it has",
  cases,
  check,
  kind: ({ file }) => {
    const [store, key] = file.split("!");
    if (key !== undefined) return `${store} ${metadata(key) ? "metadata" : "chunks"}`;
    return store.slice(store.lastIndexOf(".") + 1);
  },
  gate: 2000,
});
