/** Protobuf's wire format: fields with a number, and varints. No schema: who reads knows which numbers it wants. */
import type { Cursor } from "./cursor.ts";

export interface Field {
  readonly number: number;
  /** 0 varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes. */
  readonly wire: number;
  /** Where its payload begins, in the file, and its bytes; none for a varint, which has been read. */
  readonly from: number;
  readonly length: number;
  /** Of a varint: its value, beyond 2^53 rounded. */
  readonly value: number;
  /** Where the value's bytes begin: for a varint before `from`. */
  readonly valueFrom: number;
}

/** A varint of up to ten bytes; 64-bit values as protobuf writes them, negative ones too. */
async function varint(c: Cursor, end: number, bad: (fact: string) => never): Promise<bigint> {
  const most = Math.min(10, end - c.at);
  if (most <= 0) bad(`a number is cut at byte ${c.at}.`);
  if (!c.has(most)) await c.load(most);
  const start = c.at;
  const { view, p } = c.take(0);
  let low = 0;
  for (let i = 0; i < most; i++) {
    const byte = view.getUint8(p + i);
    // Up to four bytes fit in 28 bits: all tags and most lengths.
    if (i < 4) {
      low |= (byte & 127) << (7 * i);
      if (byte < 128) {
        c.at = start + i + 1;
        return BigInt(low);
      }
      continue;
    }
    if (byte >= 128) continue;
    let x = 0n;
    for (let k = i; k >= 0; k--) x = (x << 7n) | BigInt(view.getUint8(p + k) & 127);
    c.at = start + i + 1;
    return BigInt.asIntN(64, x);
  }
  return bad(`a number at byte ${start} does not end.`);
}

/** The next field of a message that ends at `end`; the cursor is left at its payload. */
export async function nextField(c: Cursor, end: number, bad: (fact: string) => never): Promise<Field> {
  const start = c.at;
  const tag = Number(await varint(c, end, bad));
  const [number, wire] = [Math.floor(tag / 8), tag % 8];
  if (tag < 8 || tag > 0xffffffff) bad(`there is no field at byte ${start}.`);
  const valueFrom = c.at;
  if (wire === 0) {
    const value = Number(await varint(c, end, bad));
    return { number, wire, from: c.at, length: 0, value, valueFrom };
  }
  const fixed = wire === 1 ? 8 : wire === 5 ? 4 : -1;
  if (fixed < 0 && wire !== 2) bad(`field ${number} at byte ${start} has wire type ${wire}.`);
  const length = wire === 2 ? Number(await varint(c, end, bad)) : fixed;
  if (!(length >= 0 && c.at + length <= end)) {
    bad(`field ${number} at byte ${start} has ${length} bytes, ${end - c.at} are there.`);
  }
  return { number, wire, from: c.at, length, value: 0, valueFrom: c.at };
}

/** All varints in some bytes. */
export function* valuesIn(bytes: Uint8Array, bad: (fact: string) => never): Iterable<bigint> {
  let x = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    x |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) {
      if (shift >= 70n) bad("a number does not end.");
      continue;
    }
    yield BigInt.asIntN(64, x);
    x = 0n;
    shift = 0n;
  }
  if (shift > 0n) bad("a number is cut.");
}
