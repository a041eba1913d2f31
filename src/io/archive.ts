/**
 * What every format gives: a list of entries, metadata, and a way to read one entry, or a slice of one, alone. A format
 * turns a header into items; everything that happens to bytes afterwards is here.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { readList, readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { checkShape, MAX_RANK, rowMajorStrides } from "../view/layout.ts";
import { type SliceItem, slice } from "../view/slice.ts";
import type { View } from "../view/view.ts";
import { type Place, takePlace } from "./into-heap.ts";
import { failFile, quoted } from "./names.ts";
import { planRuns, readRuns } from "./runs.ts";
import { checkSignal, type Input, type Reader, type ReadOptions } from "./source.ts";

/** One tensor of a file, as its header describes it. */
export interface Entry {
  /** As the file calls it. */
  readonly name: string;
  /** The format's own name of its element type: "<f4", "BF16", "Q4_K". */
  readonly type: string;
  /** What `read` gives; null where no dtype holds such elements. */
  readonly dtype: DType | null;
  /** As read; complex numbers are pairs along a last axis. */
  readonly shape: readonly number[];
  /** Bytes from one index to the next in the file; absent where they lie in several pieces or are no whole bytes. */
  readonly byteStrides?: readonly number[];
  /** Where the entry's bytes begin, in the file that holds them. */
  readonly from: number;
  /** Bytes of the elements. */
  readonly bytes: number;
  /** Bytes that they take in the file, where they are compressed. */
  readonly packed?: number;
  /** A slice of it reads all of it. */
  readonly whole?: true;
  /** Sizes of what is stored as one, where that is less than all of it: slices along them cost least. */
  readonly chunks?: readonly number[];
}

/** An open file: its entries are known, their elements are read when they are asked for. */
export interface Archive {
  /** "npy", "npz", "safetensors", … */
  readonly format: string;
  /** What is in it. */
  readonly entries: readonly Entry[];
  /** What the file says about itself. */
  readonly meta: Readonly<Record<string, unknown>>;
  /**
   * One entry as a tensor. With a slice, as `slice` of a tensor takes it, only the bytes it needs are read:
   *
   *     const rows = await archive.read("embedding", ["100:200"]);
   *
   * The name may be left out where there is only one entry.
   */
  read(name?: string, slice?: readonly SliceItem[], options?: ReadOptions): Promise<Tensor>;
  /** The bytes of one entry as they lie in the file, of whatever type they are. */
  raw(name?: string, options?: ReadOptions): Promise<Tensor<"u8">>;
  /** Reading afterwards is an error. Files are open only while they are read, so nothing leaks without it. */
  close(): Promise<void>;
}

/** What a format knows of an entry. */
export interface Item extends Entry {
  readonly input: Input;
  /** Elements have their highest byte first. */
  readonly swap?: boolean;
  /** Why there is no dtype, and what can be done. */
  readonly refusal?: readonly [fact: string, remedy: string];
  /** Where the bytes are not simply those from `from` on: a reader in which they begin at 0. */
  readonly unpack?: (reader: Reader) => Reader;
  /** Checks what was read, when it was all of it. */
  readonly verify?: (place: Place) => void;
  /** Where elements are not bytes in a row: reads all of them, in row-major order. */
  readonly decode?: (reader: Reader, signal: AbortSignal | undefined) => Promise<Place>;
  /** The same for a part of them: those whose index lies between the two corners, in row-major order. */
  readonly decodeBox?: (
    reader: Reader,
    from: readonly number[],
    to: readonly number[],
    signal: AbortSignal | undefined,
  ) => Promise<Place>;
  /** They lie in several pieces: `unpack` gives a reader of them all. */
  readonly apart?: true;
}

/** An entry that its format reads by itself: its elements are no bytes in a row of one file. */
export interface Taken extends Entry {
  readonly refusal?: Item["refusal"];
  readonly take: (picks: readonly SliceItem[] | null, signal: AbortSignal | undefined) => Promise<Tensor>;
}

export interface Made {
  readonly format: string;
  readonly file: string;
  readonly items: readonly (Item | Taken)[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Their bytes in the file are not those of the elements. */
const isDecoded = ({ decode, decodeBox }: Partial<Pick<Item, "decode" | "decodeBox">>): boolean =>
  decode !== undefined || decodeBox !== undefined;

const entryOf = ({
  name,
  type,
  dtype,
  shape,
  byteStrides,
  from,
  bytes,
  packed,
  chunks,
  ...rest
}: Item | Taken): Entry => {
  const item = rest as Partial<Item>;
  const isWhole = item.decodeBox === undefined && (packed !== undefined || item.decode !== undefined);
  return Object.freeze({
    name,
    type,
    dtype,
    shape: Object.freeze([...shape]),
    ...(byteStrides === undefined || isDecoded(item) || item.apart
      ? {}
      : { byteStrides: Object.freeze([...byteStrides]) }),
    from,
    bytes,
    ...(packed === undefined ? {} : { packed }),
    ...(isWhole && !("take" in rest) ? { whole: true as const } : {}),
    ...(chunks === undefined ? {} : { chunks: Object.freeze([...chunks]) }),
  });
};

/** An archive of these items; two of one name are refused. */
export function makeArchive({ format, file, items, meta = {} }: Made): Archive {
  const named = new Map<string, Item | Taken>();
  for (const item of items) {
    if (named.has(item.name)) failFile(`${format}.open`, file, item.name, "there are two of this name.");
    named.set(item.name, item);
  }
  const operation = `${format}.read`;
  let isOpen = true;
  const find = (name: unknown): Item | Taken => {
    if (!isOpen) failFile(operation, file, null, "it has been closed.", "Open it again.");
    if (name === undefined && items.length === 1) return items[0];
    const item = typeof name === "string" ? named.get(name) : undefined;
    return item ?? failName(operation, file, name, items);
  };
  return Object.freeze({
    format,
    entries: Object.freeze(items.map(entryOf)),
    meta,
    async read(name?: string, items?: readonly SliceItem[], options?: ReadOptions) {
      const { signal } = readOptions(operation, options, "{ signal }", ["signal"]);
      checkSignal(operation, signal);
      const picks = items === undefined ? null : readPicks(operation, items);
      const item = find(name);
      if (item.dtype === null) {
        const [fact, remedy] = item.refusal ?? [
          `elements of type ${quoted(item.type)} have no dtype here.`,
          "",
        ];
        failFile(operation, file, item.name, fact, remedy === "" ? undefined : remedy);
      }
      if ("take" in item) return item.take(picks, signal);
      return readItem(operation, item, item.dtype, picks, signal);
    },
    async raw(name?: string, options?: ReadOptions) {
      const { signal } = readOptions(operation, options, "{ signal }", ["signal"]);
      checkSignal(operation, signal);
      const found = find(name);
      if ("take" in found || isDecoded(found)) {
        failFile(operation, file, found.name, "its elements are not bytes in a row.", "Use read.");
      }
      const { dtype: _, swap, refusal, decode, decodeBox, verify, byteStrides, ...item } = found;
      const bytes = { ...item, dtype: "u8" as const, shape: [item.bytes], byteStrides: [1] };
      const checked = verify === undefined ? bytes : { ...bytes, verify };
      return (await readItem(operation, checked, "u8", null, signal)) as Tensor<"u8">;
    },
    async close() {
      isOpen = false;
    },
  });
}

function readPicks(operation: string, items: unknown): readonly SliceItem[] {
  const picks = readList(operation, "the slice", items);
  if (picks !== null) return picks as SliceItem[];
  return fail(
    "value",
    operation,
    `the slice is ${describe(items)}.`,
    'Give a list of what slice takes: ["0:10", 3].',
  );
}

function failName(operation: string, file: string, name: unknown, items: readonly Entry[]): never {
  const names = items.slice(0, 8).map((item) => quoted(item.name));
  const more = items.length > 8 ? `, … (${items.length} in all)` : "";
  const fact =
    name === undefined
      ? `it has ${items.length} entries.`
      : `there is no entry ${typeof name === "string" ? quoted(name) : describe(name)}.`;
  const remedy = items.length === 0 ? "It has no entries." : `Name one of ${names.join(", ")}${more}.`;
  return failFile(operation, file, null, fact, remedy);
}

async function readItem(
  operation: string,
  item: Item,
  dtype: DType,
  picks: readonly SliceItem[] | null,
  signal: AbortSignal | undefined,
): Promise<Tensor> {
  const { shape, byteStrides = [], input } = item;
  const itemBytes = dtypes[dtype].bytes;
  const whole: View = { shape, strides: byteStrides, offset: 0, itemBytes };
  // What is wrong with a slice is known before anything is opened.
  const view = picks === null ? whole : slice(whole, picks);
  signal?.throwIfAborted();
  const reader = await input.open(signal);
  try {
    const { decodeBox, decode } = item;
    if (decodeBox !== undefined)
      return await boxed((r, low, high) => decodeBox(r, low, high, signal), reader, whole, view);
    if (decode !== undefined) return await decoded((r) => decode(r, signal), reader, whole, view);
    const plan = planRuns(view);
    const place = takePlace(operation, dtype, plan.bytes);
    const inner = item.unpack?.(reader) ?? reader;
    try {
      await readRuns(inner, plan, item.unpack === undefined ? item.from : 0, input.gap, place);
      if (picks === null) item.verify?.(place);
      settle(place, dtype, item.swap === true);
      signal?.throwIfAborted();
      return place.finish(plan.dense);
    } catch (error) {
      place.release();
      throw error;
    } finally {
      if (inner !== reader) await inner.close();
    }
  } finally {
    await reader.close();
  }
}

async function decoded(
  decode: (reader: Reader) => Promise<Place>,
  reader: Reader,
  whole: View,
  view: View,
): Promise<Tensor> {
  const place = await decode(reader);
  if (view === whole) return place.finish(whole);
  const all = place.finish(whole);
  try {
    const { shape, strides, offset, itemBytes } = view;
    const at = Math.floor(offset / itemBytes);
    const part = all.asStrided(
      shape,
      strides.map((s) => s / itemBytes),
      at,
    );
    const copy = part.clone();
    part.dispose();
    return copy;
  } finally {
    all.dispose();
  }
}

/** Reads the smallest box that holds the view's elements, and takes them out of it. */
async function boxed(
  decode: (reader: Reader, from: readonly number[], to: readonly number[]) => Promise<Place>,
  reader: Reader,
  whole: View,
  view: View,
): Promise<Tensor> {
  const zeros = whole.shape.map(() => 0);
  if (view === whole) return (await decode(reader, zeros, whole.shape)).finish(whole);
  const box = boxOf(whole, view);
  return decoded(
    (r) => decode(r, box.from, box.to),
    reader,
    box.whole,
    view === whole ? box.whole : box.view,
  );
}

interface Box {
  readonly from: readonly number[];
  readonly to: readonly number[];
  /** The box without gaps, and the view in it. */
  readonly whole: View;
  readonly view: View;
}

/** The smallest box of a dense row-major view that holds another view of its elements. */
export function boxOf(whole: View, view: View): Box {
  const { shape, strides, itemBytes } = whole;
  const indexOf = (offset: number): number[] => {
    let rest = offset;
    return strides.map((s, d) => {
      const i = shape[d] <= 1 ? 0 : Math.floor(rest / s);
      rest -= i * s;
      return i;
    });
  };
  const isEmpty = view.shape.includes(0);
  let [low, high] = [view.offset, view.offset];
  for (const [d, n] of view.shape.entries()) {
    const reach = view.strides[d] * Math.max(0, n - 1);
    if (reach < 0) low += reach;
    else high += reach;
  }
  const from = isEmpty ? shape.map(() => 0) : indexOf(low);
  const to = isEmpty ? shape.map(() => 0) : indexOf(high).map((i) => i + 1);
  const sizes = to.map((n, d) => n - from[d]);
  const dense = denseStrides(sizes, itemBytes);
  // One step along an axis of the view is a number of steps along one axis of the whole.
  const inner = view.strides.map((s, d) => {
    if (isEmpty || view.shape[d] <= 1) return 0;
    const there = indexOf(low + Math.abs(s));
    const axis = there.findIndex((i, k) => i !== from[k]);
    return Math.sign(s) * (there[axis] - from[axis]) * dense[axis];
  });
  const offset = inner.reduce((sum, s, d) => (s < 0 ? sum - s * (view.shape[d] - 1) : sum), 0);
  return {
    from,
    to,
    whole: { shape: sizes, strides: dense, offset: 0, itemBytes },
    view: { shape: view.shape, strides: inner, offset, itemBytes },
  };
}

/** Bytes as a tensor has them: lowest byte first, and 0 or 1 for a bool. */
function settle(place: Place, dtype: DType, swap: boolean): void {
  const { bytes } = dtypes[dtype];
  if (dtype === "bool") {
    const cells = place.at(0, place.bytes);
    for (let i = 0; i < cells.length; i++) if (cells[i] > 1) cells[i] = 1;
  }
  if (swap && bytes > 1) swapBytes(place.at(0, place.bytes), bytes);
}

/** The other byte order, in place. */
export function swapBytes(all: Uint8Array, itemBytes: number): void {
  const { buffer, byteOffset, length } = all;
  if (itemBytes === 2) {
    const cells = new Uint16Array(buffer, byteOffset, length / 2);
    for (let i = 0; i < cells.length; i++) cells[i] = (cells[i] << 8) | (cells[i] >> 8);
    return;
  }
  const cells = new Uint32Array(buffer, byteOffset, length / 4);
  const turned = (x: number) => (x << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24);
  if (itemBytes === 4) for (let i = 0; i < cells.length; i++) cells[i] = turned(cells[i]);
  else {
    for (let i = 0; i < cells.length; i += 2) {
      const low = cells[i];
      cells[i] = turned(cells[i + 1]);
      cells[i + 1] = turned(low);
    }
  }
}

/* What formats check ----------------------------------------------------------------------------------- */

/** Throws unless a shape out of a file is one: sizes from 0, and few enough elements to count. */
export function checkFileShape(
  operation: string,
  file: string,
  entry: string | null,
  shape: readonly number[],
  itemBytes: number,
): number {
  const wrong = shape.findIndex((n) => !Number.isSafeInteger(n) || n < 0);
  if (wrong >= 0) failFile(operation, file, entry, `size ${shape[wrong]} of axis ${wrong} is not a size.`);
  if (shape.length > MAX_RANK) {
    failFile(operation, file, entry, `it has ${shape.length} axes; at most ${MAX_RANK} are supported.`);
  }
  let bytes = itemBytes;
  for (const n of shape) bytes *= Math.max(n, 1);
  if (!Number.isSafeInteger(bytes))
    failFile(operation, file, entry, `shape ${list(shape)} is too large to count.`);
  checkShape(operation, shape);
  return shape.includes(0) ? 0 : bytes;
}

/** Sorted by where they begin, none reaches into the next; throws otherwise. */
export function checkApart(
  operation: string,
  file: string,
  items: readonly { readonly name: string; readonly from: number; readonly bytes: number }[],
): void {
  const sorted = items.filter((item) => item.bytes > 0).sort((a, b) => a.from - b.from);
  for (let i = 1; i < sorted.length; i++) {
    const [a, b] = [sorted[i - 1], sorted[i]];
    if (a.from + a.bytes <= b.from) continue;
    failFile(operation, file, b.name, `it begins at byte ${b.from}, inside of ${quoted(a.name)}.`);
  }
}

/** Row-major byte strides. */
export const denseStrides = (shape: readonly number[], itemBytes: number): number[] =>
  rowMajorStrides(shape, itemBytes);

/* Several at once -------------------------------------------------------------------------------------- */

/** The entries of these names, or all of them, each under its name; if one fails nothing is left behind. */
export async function readAll(
  archive: Archive,
  names: readonly string[] | undefined,
  signal: AbortSignal | undefined,
  slice?: readonly SliceItem[],
): Promise<Record<string, Tensor>> {
  // A name out of a file may be anything, __proto__ too.
  const all = Object.create(null) as Record<string, Tensor>;
  const options = signal === undefined ? undefined : { signal };
  try {
    for (const name of names ?? archive.entries.map((e) => e.name)) {
      if (!(name in all)) all[name] = await archive.read(name, slice, options);
    }
  } catch (error) {
    for (const t of Object.values(all)) t.dispose();
    throw error;
  }
  return all;
}

/** The option `names`: a list of strings, or left out. */
export function readNames(operation: string, given: unknown): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const names = readList(operation, "names", given);
  if (names?.every((name) => typeof name === "string")) return names as string[];
  return fail("value", operation, `names is ${describe(given)}.`, 'Give a list of names: ["w", "b"].');
}
