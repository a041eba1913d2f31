/**
 * A Zarr array that is open: slices and chunks of it, read straight into one tensor and written out of one. Chunks are read
 * and written side by side, a few at a time; what has no chunk is the fill value.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { numberList, readList, readOptions } from "../ops/arguments.ts";
import { live, type Tensor } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { viewInOrder } from "../view/loops.ts";
import type { SliceItem } from "../view/slice.ts";
import { broadcastTo, contiguousView, extent, type View } from "../view/view.ts";
import { swapBytes } from "./archive.ts";
import { holdLying, takePlace } from "./into-heap.ts";
import { checkSignal, type ReadOptions } from "./source.ts";
import {
  blocksOf,
  chunksTouched,
  copyBlock,
  coversChunk,
  isRun,
  type Pick,
  type Run,
  type Selection,
  selectionOf,
  viewInChunk,
  viewInSelection,
} from "./zarr-blocks.ts";
import { type Bad, packAll, packedSize, unpackAll } from "./zarr-codecs.ts";
import { below, chunkKey } from "./zarr-keys.ts";
import type { Layout } from "./zarr-meta.ts";
import { openShard, type Shard, shardBytes } from "./zarr-shards.ts";
import { failAt, type Shelf } from "./zarr-store.ts";
import { fillShown, type ZarrFill } from "./zarr-types.ts";

/** How much is read at a time. */
export interface ZarrReadOptions extends ReadOptions {
  /** Is told how many chunks are done, and of how many. */
  readonly progress?: (done: number, total: number) => void;
  /** Chunks that are on their way at the same time; default 8. */
  readonly concurrency?: number;
  /** What is read where no chunk was written: the fill value (default), or an error. */
  readonly missing?: "fill" | "error";
}

/** A chunked array in a store. */
export interface ZarrArray {
  /** Which of the two this is. */
  readonly kind: "array";
  /** Of the format. */
  readonly version: 2 | 3;
  /** Where it lies in its store; "" is the root. */
  readonly path: string;
  /** The kind of the elements, as they are read. */
  readonly dtype: DType;
  /** The format's own name of its elements: "<f4", "float32". */
  readonly type: string;
  /** Complex numbers are pairs along a last axis. */
  readonly shape: readonly number[];
  /** What is packed as one: a slice costs whole chunks, unless `isPlain`. */
  readonly chunks: readonly number[];
  /** Chunks lie as they are, in C order and not packed: of those in a folder, rows are read alone. */
  readonly isPlain: boolean;
  /** What is stored under one key, where that is several chunks; null otherwise. */
  readonly shards: readonly number[] | null;
  /** Chunks along each axis. */
  readonly grid: readonly number[];
  /** What lies where nothing was written. */
  readonly fill: ZarrFill;
  /** What its maker wrote down about it. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Names of the axes, where they have any. */
  readonly dimensionNames: readonly (string | null)[] | null;
  /**
   * All of it, or a slice, as `slice` of a tensor takes it: only the chunks that it touches are read.
   *
   *     const rows = await array.read(["100:200", "::2"]);
   */
  read(slice?: readonly SliceItem[] | null, options?: ZarrReadOptions): Promise<Tensor>;
  /** One chunk, without what lies beyond the array's edge. */
  readChunk(index: readonly number[], options?: ZarrReadOptions): Promise<Tensor>;
  /**
   * Writes a tensor of the array's dtype to a slice of it (all of it: null), broadcast as in an assignment. Chunks that it
   * covers are written as they are; others are read, changed and written again.
   *
   *     await array.write(["0:10"], rows);
   */
  write(slice: readonly SliceItem[] | null, tensor: Tensor, options?: ZarrReadOptions): Promise<void>;
  /** Writes one chunk: it appears whole, or not at all. In a shard the other chunks are written again. */
  writeChunk(index: readonly number[], tensor: Tensor, options?: ZarrReadOptions): Promise<void>;
  /** Was this chunk written? */
  hasChunk(index: readonly number[], options?: ReadOptions): Promise<boolean>;
  /** The key of a chunk, or of the shard that holds it. */
  chunkKey(index: readonly number[]): string;
}

/** Chunks that are on their way at the same time. */
const SIDE_BY_SIDE = 8;
/** Chunks that one read may touch, and one more for each so many bytes of it. */
const MOST_CHUNKS = 2 ** 20;
const BYTES_A_CHUNK = 4096;
/** A shard of so many bytes is read at once where all of it is wanted. */
const MOST_AT_ONCE = 64 << 20;

interface Settings {
  readonly signal: AbortSignal | undefined;
  readonly progress: ((done: number, total: number) => void) | undefined;
  readonly concurrency: number;
  readonly mustBe: boolean;
}

function readSettings(operation: string, options: ZarrReadOptions | undefined): Settings {
  const { signal, progress, concurrency, missing } = readOptions(operation, options, "{ signal, progress }", [
    "signal",
    "progress",
    "concurrency",
    "missing",
  ]);
  checkSignal(operation, signal);
  if (progress !== undefined && typeof progress !== "function") {
    fail(
      "value",
      operation,
      `progress is ${describe(progress)}.`,
      "Give a function: (done, total) => { … }.",
    );
  }
  if (
    concurrency !== undefined &&
    !(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 1024)
  ) {
    fail("value", operation, `concurrency is ${describe(concurrency)}.`, "Use 1 … 1024.");
  }
  if (missing !== undefined && missing !== "fill" && missing !== "error") {
    fail("value", operation, `missing is ${describe(missing)}.`, 'There are "fill" and "error".');
  }
  return { signal, progress, concurrency: concurrency ?? SIDE_BY_SIDE, mustBe: missing === "error" };
}

/* Side by side ----------------------------------------------------------------------------------------- */

/** Runs work, so many at a time; settles when none is under way any more, also where one has failed. */
async function sideBySide<T>(
  work: Iterable<T>,
  lanes: number,
  run: (one: T) => Promise<void>,
): Promise<void> {
  const all = work[Symbol.iterator]();
  let isLost = false;
  const lane = async () => {
    while (!isLost) {
      const next = all.next();
      if (next.done) return;
      try {
        await run(next.value);
      } catch (error) {
        isLost = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

type Gate = <R>(run: () => Promise<R>) => Promise<R>;

/** Lets so many through at a time. */
function gateOf(most: number): Gate {
  let inside = 0;
  const waiting: (() => void)[] = [];
  return async (run) => {
    if (inside >= most) await new Promise<void>((go) => waiting.push(go));
    else inside++;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next === undefined) inside--;
      else next();
    }
  };
}

/* The array -------------------------------------------------------------------------------------------- */

/** An open array over its metadata. */
export function makeArray(
  shelf: Shelf,
  path: string,
  layout: Layout,
  attributes: Readonly<Record<string, unknown>>,
): ZarrArray {
  const { shape, chunks, shards, element } = layout;
  const { dtype, pairs } = element;
  /** Axes that keys count: pairs are never cut. */
  const counted = shape.length - (pairs ? 1 : 0);
  const grid = shape.slice(0, counted).map((n, d) => Math.ceil(n / chunks[d]));
  const core = coreOf(shelf, path, layout);

  const readIndex = (operation: string, given: unknown): number[] => {
    const index = [...numberList(operation, "the index", given)];
    const isInside =
      index.length === counted && index.every((i, d) => Number.isInteger(i) && i >= 0 && i < grid[d]);
    if (isInside) return index;
    return fail(
      "index",
      operation,
      `${list(index)} is no chunk of ${list(shape)} in chunks of ${list(chunks)}.`,
      grid.includes(0) ? "It has none." : `Indices are below ${list(grid)}, one an axis.`,
    );
  };
  /** A chunk as a selection. */
  const chunkOf = (index: readonly number[]): Selection => {
    const full = pairs ? [...index, 0] : index;
    const counts = full.map((i, d) => Math.min(chunks[d], shape[d] - i * chunks[d]));
    const picks = full.map((i, d): Pick => ({ start: i * chunks[d], step: 1, count: counts[d], out: d }));
    return { shape: counts, picks };
  };
  const selected = (operation: string, given: unknown): Selection => {
    if (given === undefined || given === null) return selectionOf(shape, []);
    const items = readList(operation, "the slice", given);
    if (items !== null) return selectionOf(shape, items as SliceItem[]);
    return fail(
      "value",
      operation,
      `the slice is ${describe(given)}.`,
      'Give a list of what slice takes: ["0:10", 3]; null is all of it.',
    );
  };
  return Object.freeze<ZarrArray>({
    kind: "array",
    version: layout.version,
    path,
    dtype,
    type: layout.type,
    shape: Object.freeze([...shape]),
    chunks: Object.freeze([...chunks]),
    isPlain: core.isPlain,
    shards: shards === null ? null : Object.freeze([...shards]),
    grid: Object.freeze(grid),
    fill: fillShown(element, layout.fill),
    attributes,
    dimensionNames: layout.dimensionNames === null ? null : Object.freeze([...layout.dimensionNames]),
    async read(slice, options) {
      const settings = readSettings("zarr.read", options);
      return core.read("zarr.read", selected("zarr.read", slice), settings);
    },
    async readChunk(index, options) {
      const settings = readSettings("zarr.readChunk", options);
      return core.read("zarr.readChunk", chunkOf(readIndex("zarr.readChunk", index)), settings);
    },
    async write(slice, tensor, options) {
      const settings = readSettings("zarr.write", options);
      return core.write("zarr.write", selected("zarr.write", slice), tensor, settings);
    },
    async writeChunk(index, tensor, options) {
      const settings = readSettings("zarr.writeChunk", options);
      return core.write("zarr.writeChunk", chunkOf(readIndex("zarr.writeChunk", index)), tensor, settings);
    },
    async hasChunk(index, options) {
      const { signal } = readSettings("zarr.hasChunk", options);
      return core.has("zarr.hasChunk", readIndex("zarr.hasChunk", index), signal);
    },
    chunkKey(index) {
      return core.keyOf(readIndex("zarr.chunkKey", index));
    },
  });
}

interface Core {
  read(operation: string, selection: Selection, settings: Settings): Promise<Tensor>;
  write(operation: string, selection: Selection, tensor: Tensor, settings: Settings): Promise<void>;
  has(operation: string, index: readonly number[], signal: AbortSignal | undefined): Promise<boolean>;
  keyOf(index: readonly number[]): string;
  readonly isPlain: boolean;
}

/** A part of a selection in one key, and its parts in chunks. */
interface Unit {
  readonly key: string;
  /** The chunks' number along each axis where this key begins. */
  readonly first: readonly number[];
  blocks(): Iterable<readonly Run[]>;
  readonly count: number;
}

function coreOf(shelf: Shelf, path: string, layout: Layout): Core {
  const { shape, chunks, shards, element, packers, index: shardIndex, keys } = layout;
  const { dtype, pairs } = element;
  const itemBytes = dtypes[dtype].bytes;
  const counted = shape.length - (pairs ? 1 : 0);
  const chunkBytes = sizeOf(chunks) * itemBytes;
  const mostPacked = packedSize(packers, chunkBytes).most;
  /** Where elements lie in the bytes of a chunk. */
  const inChunk = viewInOrder(chunks, itemBytes, layout.order);
  const isPlain = packers.length === 0 && isRun(inChunk);
  /** As it lies in a chunk. */
  const rawFill = layout.fill.slice();
  if (layout.big) swapBytes(rawFill, itemBytes);
  const stored = shards ?? chunks;
  const per = chunks.map((n, d) => stored[d] / n);
  const inner = sizeOf(per);

  const keyOfStored = (index: readonly number[]): string =>
    below(path, chunkKey(keys, index.slice(0, counted)));
  const keyOf = (index: readonly number[]): string =>
    keyOfStored(index.map((i, d) => Math.floor(i / per[d])));
  const badAt =
    (operation: string, key: string): Bad =>
    (fact, remedy) =>
      failAt(operation, shelf.name, key, fact, remedy);
  /** The number of a chunk within its shard. */
  const slotOf = (block: readonly Run[], first: readonly number[]): number => {
    let slot = 0;
    for (let d = 0; d < per.length; d++) slot = slot * per[d] + (block[d].chunk - first[d]);
    return slot;
  };

  /** What a selection takes, key by key. */
  function* unitsOf({ picks }: Selection): Iterable<Unit> {
    for (const outer of blocksOf(picks, stored)) {
      const key = keyOfStored(outer.map((run) => run.chunk));
      if (shards === null) {
        yield { key, first: outer.map((run) => run.chunk), blocks: () => [outer], count: 1 };
        continue;
      }
      const first = outer.map((run, d) => run.chunk * per[d]);
      const within = outer.map(
        (run, d): Pick => ({ ...picks[d], start: run.chunk * stored[d] + run.from, count: run.count }),
      );
      yield {
        key,
        first,
        *blocks() {
          for (const block of blocksOf(within, chunks)) {
            yield block.map((run, d) => ({ ...run, at: run.at + outer[d].at }));
          }
        },
        count: within.reduce((product, pick, d) => product * chunksTouched(pick, chunks[d]), 1),
      };
    }
  }

  /** Chunks of a selection; throws where they are absurdly many. */
  const countOf = (operation: string, { shape: selected, picks }: Selection): number => {
    const count = picks.reduce((product, pick, d) => product * chunksTouched(pick, chunks[d]), 1);
    if (count <= MOST_CHUNKS + (sizeOf(selected) * itemBytes) / BYTES_A_CHUNK) return count;
    return fail(
      "file",
      operation,
      `${shelf.name}, array ${JSON.stringify(path)}: ${list(selected)} lies in ${count} chunks of ${list(chunks)}.`,
      "Take a smaller slice at a time.",
    );
  };

  const counter = (total: number, { progress, signal }: Settings) => {
    let done = 0;
    return (n = 1) => {
      signal?.throwIfAborted();
      done += n;
      progress?.(done, total);
    };
  };

  async function read(operation: string, selection: Selection, settings: Settings): Promise<Tensor> {
    const { picks } = selection;
    const { signal, concurrency, mustBe } = settings;
    const count = countOf(operation, selection);
    const whole = contiguousView(selection.shape, itemBytes);
    signal?.throwIfAborted();
    const place = takePlace(operation, dtype, sizeOf(selection.shape) * itemBytes);
    const step = counter(count, settings);
    const gate = gateOf(concurrency);
    /** `bytes` are those of the chunk from byte `start` on. */
    const put = (key: string, block: readonly Run[], bytes: Uint8Array | null, start = 0) => {
      if (bytes === null && mustBe) {
        failAt(operation, shelf.name, key, "this chunk was never written, or was removed.");
      }
      const to = viewInSelection(block, picks, whole);
      const inside = viewInChunk(block, picks, inChunk.strides, itemBytes);
      const from =
        bytes === null ? repeated(to, rawFill, pairs) : { ...inside, offset: inside.offset - start };
      copyBlock(place.at(0, place.bytes), to, bytes ?? rawFill, from);
    };
    /** Memory for chunks, used again and again: garbage of that size is collected late. */
    const spare: Uint8Array[] = [];
    const takeChunk = async (key: string, block: readonly Run[]) => {
      const to = viewInSelection(block, picks, whole);
      const isAll = block.every((run, d) => run.count === chunks[d] && picks[d].step === 1);
      if (isPlain && isAll && shelf.fill !== undefined && place.stays && isRun(to)) {
        const found = await shelf.fill(operation, key, place.at(to.offset, chunkBytes), signal);
        if (!found) put(key, block, null);
        return;
      }
      if (packers.length === 0 && shelf.fill !== undefined) {
        // What lies before the first element and behind the last is not read.
        const { start, end } = extent(viewInChunk(block, picks, inChunk.strides, itemBytes));
        const bytes = spare.pop() ?? new Uint8Array(chunkBytes);
        const part = bytes.subarray(0, end - start);
        const found = await shelf.fill(operation, key, part, signal, chunkBytes, start);
        put(key, block, found ? part : null, start);
        spare.push(bytes);
        return;
      }
      const stop = signal === undefined ? {} : { signal };
      const packed = await shelf.get(operation, key, { most: mostPacked, ...stop });
      put(key, block, packed && (await unpackAll(packers, packed, chunkBytes, badAt(operation, key))));
    };
    const takeShard = async (unit: Unit) => {
      const isWhole = unit.count === inner && inner * chunkBytes <= MOST_AT_ONCE;
      const shard = await gate(() =>
        openShard(operation, shelf, unit.key, shardIndex!, inner, mostPacked, isWhole, signal),
      );
      const takeOne = (block: readonly Run[]) =>
        gate(async () => {
          const slot = slotOf(block, unit.first);
          const packed = shard === null ? null : await shard.packed(slot, signal);
          const bad: Bad = (fact) =>
            failAt(operation, shelf.name, unit.key, `chunk ${slot} of the shard: ${fact}`);
          put(unit.key, block, packed && (await unpackAll(packers, packed, chunkBytes, bad)));
          step();
        });
      await sideBySide(unit.blocks(), concurrency, takeOne);
    };
    try {
      await sideBySide(unitsOf(selection), concurrency, async (unit) => {
        signal?.throwIfAborted();
        if (shards !== null) return takeShard(unit);
        for (const block of unit.blocks()) await takeChunk(unit.key, block);
        step();
      });
      signal?.throwIfAborted();
      const all = place.at(0, place.bytes);
      if (layout.big) swapBytes(all, itemBytes);
      if (dtype === "bool") for (let i = 0; i < all.length; i++) if (all[i] > 1) all[i] = 1;
      return place.finish(whole);
    } catch (error) {
      place.release();
      throw error;
    }
  }

  /* Writing */

  const busy = new Map<string, Promise<void>>();
  /** One after the other for each key: what is read, changed and written is not changed meanwhile. */
  const alone = async (key: string, run: () => Promise<void>): Promise<void> => {
    const before = busy.get(key) ?? Promise.resolve();
    const mine = before.then(run, run);
    const settled = mine.catch(() => {});
    busy.set(key, settled);
    try {
      await mine;
    } finally {
      if (busy.get(key) === settled) busy.delete(key);
    }
  };

  /** A chunk in memory, lowest byte first: what is known of it, or filled. */
  const chunkFrom = (known: Uint8Array | null): Uint8Array => {
    const bytes = new Uint8Array(chunkBytes);
    if (known !== null) {
      bytes.set(known);
      if (layout.big) swapBytes(bytes, itemBytes);
    } else if (layout.fill.some((b) => b !== 0)) {
      copyBlock(bytes, inChunk, layout.fill, repeated(inChunk, layout.fill, pairs));
    }
    return bytes;
  };

  async function write(
    operation: string,
    selection: Selection,
    tensor: Tensor,
    settings: Settings,
  ): Promise<void> {
    const { picks } = selection;
    const { signal, concurrency } = settings;
    const { set } = shelf;
    if (set === null) {
      return fail(
        "value",
        operation,
        `${shelf.name} can only be read.`,
        "Write to a folder, to memory or to S3.",
      );
    }
    const of = live(operation, tensor);
    if (of.dtype !== dtype) {
      fail(
        "dtype",
        operation,
        `the array is ${dtype}, the tensor ${of.dtype}.`,
        `Convert it: t.to("${dtype}").`,
      );
    }
    const frame = fitted(operation, of.frame, selection.shape);
    const count = countOf(operation, selection);
    const step = counter(count, settings);
    signal?.throwIfAborted();
    const held = holdLying(operation, tensor);
    const into = (bytes: Uint8Array, block: readonly Run[]) => {
      const to = viewInChunk(block, picks, inChunk.strides, itemBytes);
      copyBlock(bytes, to, held.at(), viewInSelection(block, picks, frame));
    };
    /** Memory that was written and is not held by the store. */
    const spare: Uint8Array[] = [];
    /** Packed: a chunk with a block of the tensor in it. */
    const packed = async (block: readonly Run[], known: () => Promise<Uint8Array | null>) => {
      const covers = coversChunk(block, picks, chunks, shape);
      const isAll = covers && block.every((run, d) => run.count === chunks[d]);
      const from = viewInSelection(block, picks, frame);
      if (isPlain && isAll && !layout.big && isRun(from)) {
        const piece = held.at(from.offset, chunkBytes);
        return shelf.takesHeap && held.stays && shards === null ? piece : piece.slice();
      }
      const bytes = isAll
        ? (spare.pop() ?? new Uint8Array(chunkBytes))
        : chunkFrom(covers ? null : await known());
      into(bytes, block);
      if (layout.big) swapBytes(bytes, itemBytes);
      return packAll(packers, bytes);
    };
    const stop = signal === undefined ? {} : { signal };
    const putChunk = async (unit: Unit) => {
      const [block] = unit.blocks();
      const known = async () => {
        const there = await shelf.get(operation, unit.key, { most: mostPacked, ...stop });
        return there && unpackAll(packers, there, chunkBytes, badAt(operation, unit.key));
      };
      const bytes = await packed(block, known);
      await set(operation, unit.key, bytes, signal);
      if (packers.length === 0 && shelf.takesHeap && bytes.buffer !== held.at().buffer) spare.push(bytes);
      step();
    };
    const putShard = async (unit: Unit) => {
      // Chunks of the shard that lie in the array.
      const inside = per.reduce(
        (n, k, d) => n * Math.min(k, Math.ceil(shape[d] / chunks[d]) - unit.first[d]),
        1,
      );
      let isCovered = unit.count === inside;
      for (const block of unit.blocks()) isCovered &&= coversChunk(block, picks, chunks, shape);
      const isSmall = inner * chunkBytes <= MOST_AT_ONCE;
      const old: Shard | null = isCovered
        ? null
        : await openShard(operation, shelf, unit.key, shardIndex!, inner, mostPacked, isSmall, signal);
      const parts: (Uint8Array | null)[] = new Array(inner).fill(null);
      const changed = new Set<number>();
      for (const block of unit.blocks()) {
        const slot = slotOf(block, unit.first);
        changed.add(slot);
        const known = async () => {
          const there = old === null ? null : await old.packed(slot, signal);
          return there && unpackAll(packers, there, chunkBytes, badAt(operation, unit.key));
        };
        parts[slot] = await packed(block, known);
        step();
      }
      if (old !== null) {
        for (let slot = 0; slot < inner; slot++)
          if (!changed.has(slot)) parts[slot] = await old.packed(slot, signal);
      }
      await set(operation, unit.key, await shardBytes(shardIndex!, parts), signal);
    };
    try {
      await sideBySide(unitsOf(selection), concurrency, (unit) => {
        signal?.throwIfAborted();
        return alone(unit.key, () => (shards === null ? putChunk(unit) : putShard(unit)));
      });
    } finally {
      held.release();
    }
  }

  async function has(
    operation: string,
    index: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const key = keyOf(index);
    if (shards === null) return shelf.has(operation, key, signal);
    const shard = await openShard(operation, shelf, key, shardIndex!, inner, mostPacked, false, signal);
    const slot = index.reduce((n, i, d) => n * per[d] + (i % per[d]), 0);
    return shard !== null && shard.place(slot) !== null;
  }

  return { read, write, has, keyOf, isPlain: isPlain && shards === null };
}

/** One element, or one pair, for every index. */
function repeated(view: View, fill: Uint8Array, pairs: boolean): View {
  const strides: number[] = view.shape.map(() => 0);
  if (pairs) strides[strides.length - 1] = fill.length / 2;
  return { shape: view.shape, strides, offset: 0, itemBytes: view.itemBytes };
}

/** A tensor's frame in the shape that it is written to. */
function fitted(operation: string, frame: View, shape: readonly number[]): View {
  // As in an assignment: leading axes of size 1 that the target has not got are nothing to repeat.
  const extra = Math.max(0, frame.shape.length - shape.length);
  const isSpare = frame.shape.slice(0, extra).every((n) => n === 1);
  const plain = isSpare
    ? { ...frame, shape: frame.shape.slice(extra), strides: frame.strides.slice(extra) }
    : frame;
  try {
    return broadcastTo(plain, shape);
  } catch {
    return fail(
      "shape",
      operation,
      `a tensor of shape ${list(frame.shape)} does not fit into ${list(shape)}.`,
      "Sizes align at the right; each must be equal, or 1 in the tensor.",
    );
  }
}
