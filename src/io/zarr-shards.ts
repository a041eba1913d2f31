/**
 * Shards: several packed chunks under one key, and an index of where each lies. An index is checked before a byte is read by
 * it; a chunk that was never written has no place.
 */
import { packAll, packedSize, unpackAll } from "./zarr-codecs.ts";
import type { ShardIndex } from "./zarr-meta.ts";
import { failAt, partOf, type Shelf } from "./zarr-store.ts";

/** Both numbers of a chunk that is not there. */
const NONE = 2n ** 64n - 1n;

/** A place in a shard; null: nothing was written. */
export type Place = { readonly from: number; readonly length: number } | null;

/** An open shard: where its chunks lie, and their packed bytes. */
export interface Shard {
  place(n: number): Place;
  /** The packed bytes of chunk n; null: nothing was written. */
  packed(n: number, signal: AbortSignal | undefined): Promise<Uint8Array | null>;
}

/** Bytes of the index of a shard with so many chunks. */
export const indexBytes = (index: ShardIndex, count: number): number =>
  packedSize(index.packers, 16 * count).most;

/** Opens a shard; null: there is none. With `whole` all of it is read at once. */
export async function openShard(
  operation: string,
  shelf: Shelf,
  key: string,
  index: ShardIndex,
  count: number,
  mostChunk: number,
  whole: boolean,
  signal: AbortSignal | undefined,
): Promise<Shard | null> {
  const bad = (fact: string): never => failAt(operation, shelf.name, key, fact);
  const length = indexBytes(index, count);
  const stop = signal === undefined ? {} : { signal };
  const range = index.atEnd ? { last: length } : { from: 0, length };
  const most = length + count * mostChunk;
  const all = whole ? await shelf.get(operation, key, { most, ...stop }) : null;
  if (whole && all === null) return null;
  const raw =
    all === null ? await shelf.get(operation, key, { range, most: length, ...stop }) : partOf(all, range);
  if (raw === null) return null;
  if (raw.length !== length) bad(`its index has ${raw.length} bytes, ${length} are expected.`);
  const bytes = await unpackAll(index.packers, raw, 16 * count, (fact) => bad(`of its index: ${fact}`));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const place = (n: number): Place => {
    const [from, size] = [0, 8].map((k) => view.getBigUint64(16 * n + k, !index.big));
    if (from === NONE && size === NONE) return null;
    const isPlace = size <= BigInt(mostChunk) && from + size <= BigInt(Number.MAX_SAFE_INTEGER);
    if (!isPlace)
      bad(`by its index chunk ${n} has ${size} bytes from ${from} on; at most ${mostChunk} are expected.`);
    return { from: Number(from), length: Number(size) };
  };
  return {
    place,
    async packed(n, stopped) {
      const at = place(n);
      if (at === null) return null;
      const got =
        all === null
          ? await shelf.get(operation, key, {
              range: at,
              most: at.length,
              ...(stopped === undefined ? {} : { signal: stopped }),
            })
          : partOf(all, at);
      if (got?.length !== at.length) {
        bad(
          `by its index chunk ${n} lies in bytes ${at.from} … ${at.from + at.length - 1}, ${got?.length ?? 0} of these are there.`,
        );
      }
      return got as Uint8Array;
    },
  };
}

/** The bytes of a shard with these packed chunks; null: such a chunk has no place in it. */
export async function shardBytes(
  index: ShardIndex,
  chunks: readonly (Uint8Array | null)[],
): Promise<Uint8Array> {
  const table = new DataView(new ArrayBuffer(16 * chunks.length));
  const before = index.atEnd ? 0 : indexBytes(index, chunks.length);
  let at = before;
  for (const [n, chunk] of chunks.entries()) {
    const [from, size] = chunk === null ? [NONE, NONE] : [BigInt(at), BigInt(chunk.length)];
    table.setBigUint64(16 * n, from, !index.big);
    table.setBigUint64(16 * n + 8, size, !index.big);
    at += chunk?.length ?? 0;
  }
  const packed = await packAll(index.packers, new Uint8Array(table.buffer));
  const out = new Uint8Array(at + (index.atEnd ? packed.length : 0));
  out.set(packed, index.atEnd ? at : 0);
  at = before;
  for (const chunk of chunks) {
    if (chunk === null) continue;
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}
