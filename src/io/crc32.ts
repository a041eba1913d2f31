/**
 * Checksums, eight bytes a step: that of zip and gzip (polynomial 0xedb88320, reflected), by Node's own code where it has it,
 * and Castagnoli's (0x82f63b78), which Zarr has.
 */
import { builtin } from "./node.ts";

/** tables[k][b]: what byte b does to the sum when k more bytes follow it. */
function makeTables(polynomial: number): Uint32Array[] {
  const first = Uint32Array.from({ length: 256 }, (_, b) => {
    let c = b;
    for (let k = 0; k < 8; k++) c = c & 1 ? polynomial ^ (c >>> 1) : c >>> 1;
    return c;
  });
  const all = [first];
  for (let k = 1; k < 8; k++) all.push(all[k - 1].map((c) => first[c & 255] ^ (c >>> 8)));
  return all;
}

let zip: Uint32Array[] | undefined;
let castagnoli: Uint32Array[] | undefined;

type Native = ((bytes: Uint8Array, before: number) => number) | null;
let native: Native | undefined;
/** Shorter ones are not worth the call. */
const LONG = 4096;

/** The checksum of `before` and then these bytes; start with 0. */
export function crc32(bytes: Uint8Array, before = 0): number {
  if (bytes.length >= LONG) {
    native ??= (builtin("node:zlib") as { crc32?: NonNullable<Native> } | undefined)?.crc32 ?? null;
    if (native !== null) return native(bytes, before);
  }
  return plainCrc32(bytes, before);
}

/** The same, by hand. */
export function plainCrc32(bytes: Uint8Array, before = 0): number {
  zip ??= makeTables(0xedb88320);
  return sumOf(zip, bytes, before);
}

/** The same with Castagnoli's polynomial. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  castagnoli ??= makeTables(0x82f63b78);
  return sumOf(castagnoli, bytes, before);
}

function sumOf(tables: readonly Uint32Array[], bytes: Uint8Array, before: number): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
  let c = ~before;
  let i = 0;
  const { length } = bytes;
  for (; i + 8 <= length; i += 8) {
    const low = c ^ (bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24));
    c =
      t7[low & 255] ^
      t6[(low >>> 8) & 255] ^
      t5[(low >>> 16) & 255] ^
      t4[low >>> 24] ^
      t3[bytes[i + 4]] ^
      t2[bytes[i + 5]] ^
      t1[bytes[i + 6]] ^
      t0[bytes[i + 7]];
  }
  for (; i < length; i++) c = t0[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/** A checksum as messages show it. */
export const hex = (x: number): string => x.toString(16).padStart(8, "0");
