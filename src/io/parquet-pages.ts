/**
 * The pages of a Parquet column: unpacked, their levels and values decoded. Every count is held against what was promised
 * before room is made for it, every run against what is still missing.
 */
import { unpacked } from "./deflate.ts";
import { unpackBlock } from "./lz4.ts";
import { guarded, type Peers, peer } from "./peer.ts";
import { readStruct, type Struct, type Thrift } from "./thrift.ts";

/** Physical types by number: bytes of a value, where they are numbers. */
export const BOOLEAN = 0;
export const physicalBytes: Readonly<Record<number, number>> = { 0: 1, 1: 4, 2: 8, 4: 4, 5: 8, 7: 2 };

const codecs = ["none", "snappy", "gzip", "LZO", "brotli", "LZ4 (Hadoop's)", "zstd", "lz4"];
const [NONE, SNAPPY, GZIP, ZSTD, LZ4] = [0, 1, 2, 6, 7];
/** One packed byte makes so many at the most. */
const ratios: Readonly<Record<number, number>> = {
  [NONE]: 1,
  [SNAPPY]: 64,
  [GZIP]: 1032,
  [ZSTD]: 1 << 17,
  [LZ4]: 255,
};
export const codecName = (codec: number): string => codecs[codec] ?? `codec ${codec}`;
export const isCodecKnown = (codec: number): boolean => codec in ratios;

const [PLAIN, PLAIN_DICTIONARY, RLE, DELTA, RLE_DICTIONARY, SPLIT] = [0, 2, 3, 5, 8, 9];
const [DATA, DICTIONARY, DATA_V2] = [0, 2, 3];

/** A column of a row group: how it is packed, and what it promises. */
export interface Chunk {
  readonly type: number;
  readonly codec: number;
  readonly rows: number;
  /** Definition level of a value that is there; 0: all are. */
  readonly most: number;
  readonly bad: (fact: string) => never;
  readonly file: string;
  readonly entry: string;
  readonly peers: Peers;
  readonly signal: AbortSignal | undefined;
}

/** Values of a page: their bytes without gaps, those that are there; and which are, where some are not. */
export interface Page {
  readonly rows: number;
  readonly values: Uint8Array;
  /** Places of the values in `values`, where they come out of a dictionary. */
  readonly picks: Uint32Array | null;
  /** 1 for a value that is there. */
  readonly present: Uint8Array | null;
}

const int = (s: Struct | undefined, k: number, bad: (fact: string) => never, otherwise?: number): number => {
  const x = s?.get(k) ?? otherwise;
  return typeof x === "number" && Number.isSafeInteger(x) && x >= 0
    ? x
    : bad(`a page's description lacks a count (field ${k}).`);
};
export const structIn = (x: Thrift | undefined): Struct | undefined =>
  x instanceof Map ? (x as Struct) : undefined;

/** Its pages, one after the other; all rows are in them. */
export async function* pagesOf(chunk: Chunk, bytes: Uint8Array): AsyncGenerator<Page> {
  const { bad, rows, type } = chunk;
  const width = physicalBytes[type];
  let dictionary: Uint8Array | null = null;
  for (let at = 0, done = 0; done < rows; ) {
    const { struct, end } = readStruct(bytes, at, bad);
    const [kind, size, packedSize] = [1, 2, 3].map((k) => int(struct, k, bad));
    if (end + packedSize > bytes.length)
      bad(`a page of ${packedSize} bytes does not fit in the ${bytes.length - end} that are left.`);
    const packed = bytes.subarray(end, end + packedSize);
    at = end + packedSize;
    chunk.signal?.throwIfAborted();
    if (kind === DICTIONARY) {
      if (dictionary !== null) bad("it has two dictionaries.");
      const head = structIn(struct.get(7));
      const count = int(head, 1, bad);
      const encoding = int(head, 2, bad);
      if (encoding !== PLAIN && encoding !== PLAIN_DICTIONARY) bad(`a dictionary has encoding ${encoding}.`);
      if (type === BOOLEAN || count * width > size)
        bad(`${count} values of a dictionary take ${count * width} bytes, it has ${size}.`);
      dictionary = (await unpack(chunk, packed, size)).subarray(0, count * width);
    } else if (kind === DATA || kind === DATA_V2) {
      const page =
        kind === DATA
          ? await firstKind(chunk, struct, packed, size, rows - done, dictionary)
          : await secondKind(chunk, struct, packed, size, rows - done, dictionary);
      done += page.rows;
      yield page;
    }
  }
}

async function firstKind(
  chunk: Chunk,
  struct: Struct,
  packed: Uint8Array,
  size: number,
  left: number,
  dictionary: Uint8Array | null,
): Promise<Page> {
  const { bad, most } = chunk;
  const head = structIn(struct.get(5));
  const [rows, encoding] = [int(head, 1, bad), int(head, 2, bad)];
  checkRows(rows, left, bad);
  const all = await unpack(chunk, packed, size);
  let at = 0;
  let present: Uint8Array | null = null;
  if (most > 0) {
    if (int(head, 3, bad, RLE) !== RLE) bad("its levels are in an encoding that nobody writes any more.");
    if (all.length < 4) bad("a page ends inside of its levels.");
    const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
    if (4 + length > all.length) bad(`levels of ${length} bytes do not fit in a page of ${all.length}.`);
    present = presence(all.subarray(4, 4 + length), rows, most, bad);
    at = 4 + length;
  }
  return values(chunk, all.subarray(at), encoding, rows, present, dictionary);
}

async function secondKind(
  chunk: Chunk,
  struct: Struct,
  packed: Uint8Array,
  size: number,
  left: number,
  dictionary: Uint8Array | null,
): Promise<Page> {
  const { bad, most } = chunk;
  const head = structIn(struct.get(8));
  const [rows, encoding, levels, repeats] = [
    int(head, 1, bad),
    int(head, 4, bad),
    int(head, 5, bad),
    int(head, 6, bad),
  ];
  checkRows(rows, left, bad);
  const before = levels + repeats;
  if (before > packed.length || before > size)
    bad(`levels of ${before} bytes do not fit in a page of ${packed.length}.`);
  const rest = packed.subarray(before);
  const isPacked = head?.get(7) !== false;
  const all = isPacked ? await unpack(chunk, rest, size - before) : rest;
  const present = most > 0 ? presence(packed.subarray(repeats, before), rows, most, bad) : null;
  return values(chunk, all, encoding, rows, present, dictionary);
}

function checkRows(rows: number, left: number, bad: (fact: string) => never): void {
  if (rows > left) bad(`a page has ${rows} rows, ${left} are missing.`);
  if (rows === 0) bad("a page has no rows.");
}

/** Which rows have a value; null: all of them. */
function presence(
  levels: Uint8Array,
  rows: number,
  most: number,
  bad: (fact: string) => never,
): Uint8Array | null {
  const all = hybrid(levels, 32 - Math.clz32(most), rows, bad);
  let count = 0;
  const out = new Uint8Array(rows);
  for (let i = 0; i < rows; i++) {
    if (all[i] !== most) continue;
    out[i] = 1;
    count++;
  }
  return count === rows ? null : out;
}

function values(
  chunk: Chunk,
  all: Uint8Array,
  encoding: number,
  rows: number,
  present: Uint8Array | null,
  dictionary: Uint8Array | null,
): Page {
  const { bad, type } = chunk;
  const width = physicalBytes[type];
  const count = present === null ? rows : present.reduce((a, b) => a + b, 0);
  const page = { rows, present, picks: null };
  const enough = (bytes: number) => {
    if (bytes > all.length) bad(`${count} values take ${bytes} bytes, a page has ${all.length}.`);
  };
  if (encoding === PLAIN_DICTIONARY || encoding === RLE_DICTIONARY) {
    if (dictionary === null) return bad("a page needs a dictionary, and there is none.");
    const known = dictionary.length / width;
    if (count === 0) return { ...page, values: dictionary, picks: new Uint32Array() };
    enough(1);
    if (all[0] > 32) bad(`indices of ${all[0]} bits are none.`);
    const picks = hybrid(all.subarray(1), all[0], count, bad);
    for (const k of picks) if (k >= known) bad(`a value is number ${k} of a dictionary of ${known}.`);
    return { ...page, values: dictionary, picks };
  }
  if (type === BOOLEAN) {
    if (encoding === RLE) {
      enough(4);
      const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
      return { ...page, values: Uint8Array.from(hybrid(all.subarray(4, 4 + length), 1, count, bad)) };
    }
    if (encoding !== PLAIN) bad(`booleans have encoding ${encoding}.`);
    enough(Math.ceil(count / 8));
    return { ...page, values: Uint8Array.from({ length: count }, (_, i) => (all[i >> 3] >> (i & 7)) & 1) };
  }
  if (encoding === PLAIN) {
    enough(count * width);
    return { ...page, values: all.subarray(0, count * width) };
  }
  if (encoding === SPLIT) {
    enough(count * width);
    const out = new Uint8Array(count * width);
    for (let b = 0; b < width; b++) for (let i = 0; i < count; i++) out[i * width + b] = all[b * count + i];
    return { ...page, values: out };
  }
  if (encoding === DELTA && (type === 1 || type === 2))
    return { ...page, values: deltas(all, count, width, bad) };
  return bad(`its values have encoding ${encoding}, which is not read here.`);
}

/* Encodings -------------------------------------------------------------------------------------------- */

/** Runs of one value, and groups of eight packed in bits: so many values of them. */
function hybrid(b: Uint8Array, width: number, count: number, bad: (fact: string) => never): Uint32Array {
  const out = new Uint32Array(count);
  const bytes = (width + 7) >> 3;
  let [at, done] = [0, 0];
  while (done < count) {
    let [head, scale] = [0, 1];
    for (;;) {
      if (at >= b.length || scale > 2 ** 42) bad(`${done} of ${count} values are there.`);
      const x = b[at++];
      head += (x & 127) * scale;
      scale *= 128;
      if (x < 128) break;
    }
    const n = Math.floor(head / 2);
    if (head % 2 === 0) {
      if (at + bytes > b.length) bad("a run ends before its value.");
      let value = 0;
      for (let i = 0; i < bytes; i++) value += b[at + i] * 2 ** (8 * i);
      at += bytes;
      if (n === 0) bad("a run has no values.");
      const end = Math.min(count, done + n);
      out.fill(value, done, end);
      done = end;
      continue;
    }
    if (n === 0) bad("a group has no values.");
    const some = Math.min(8 * n, count - done);
    // The last group may be cut where nothing is left of it.
    if (at + Math.ceil((some * width) / 8) > b.length) bad("a group ends before its values.");
    unpackBits(b, at, width, some, out, done);
    done += some;
    at += n * width;
  }
  return out;
}

/** Values of up to 32 bits, the lowest bit first. */
function unpackBits(
  b: Uint8Array,
  from: number,
  width: number,
  count: number,
  out: Uint32Array,
  at: number,
): void {
  for (let i = 0, bit = 0; i < count; i++, bit += width) {
    let [value, have] = [0, 0];
    for (let p = bit; have < width; ) {
      const [place, skip] = [from + (p >> 3), p & 7];
      const n = Math.min(8 - skip, width - have);
      value += ((b[place] >> skip) & ((1 << n) - 1)) * 2 ** have;
      have += n;
      p += n;
    }
    out[at + i] = value;
  }
}

/** Differences from one value to the next, in blocks that share the least of them. */
function deltas(b: Uint8Array, count: number, width: number, bad: (fact: string) => never): Uint8Array {
  let at = 0;
  const big = (): bigint => {
    let x = 0n;
    for (let i = 0; i < 10; i++) {
      if (at >= b.length) bad("differences end too early.");
      const y = b[at++];
      x |= BigInt(y & 127) << BigInt(7 * i);
      if (y < 128) return x;
    }
    return bad("a number among differences does not end.");
  };
  const zigzag = (): bigint => {
    const x = big();
    return (x >> 1n) ^ -(x & 1n);
  };
  const [block, minis, total] = [Number(big()), Number(big()), Number(big())];
  let value = zigzag();
  const out = new Uint8Array(count * width);
  const view = new DataView(out.buffer);
  if (total !== count) bad(`${count} values are expected, their differences are of ${total}.`);
  const each = block / minis;
  if (!(minis > 0 && Number.isInteger(each) && each > 0 && each % 8 === 0))
    bad(`blocks of ${block} in ${minis} are none.`);
  const put = (i: number) => {
    if (width === 4) view.setInt32(4 * i, Number(BigInt.asIntN(32, value)), true);
    else view.setBigInt64(8 * i, value, true);
  };
  if (count > 0) put(0);
  for (let i = 1; i < count; ) {
    const least = zigzag();
    if (at + minis > b.length) bad("differences end too early.");
    const widths = b.subarray(at, at + minis);
    at += minis;
    for (const bits of widths) {
      if (i >= count) break;
      if (bits > 64) bad(`differences of ${bits} bits are none.`);
      const n = Math.min(each, count - i);
      if (at + Math.ceil((n * bits) / 8) > b.length) bad("differences end too early.");
      for (let k = 0; k < n; k++, i++) {
        value = BigInt.asIntN(64, value + least + bitsAt(b, at, k * bits, bits));
        put(i);
      }
      at += (each * bits) / 8;
    }
  }
  return out;
}

function bitsAt(b: Uint8Array, from: number, bit: number, width: number): bigint {
  if (width <= 24) {
    let [value, have] = [0, 0];
    for (let p = bit; have < width; ) {
      const skip = p & 7;
      const n = Math.min(8 - skip, width - have);
      value += ((b[from + (p >> 3)] >> skip) & ((1 << n) - 1)) * 2 ** have;
      have += n;
      p += n;
    }
    return BigInt(value);
  }
  let value = 0n;
  const last = (bit + width - 1) >> 3;
  for (let k = last; k >= bit >> 3; k--) value = (value << 8n) | BigInt(b[from + k]);
  return (value >> BigInt(bit & 7)) & ((1n << BigInt(width)) - 1n);
}

/* Packing ---------------------------------------------------------------------------------------------- */

async function unpack(chunk: Chunk, packed: Uint8Array, size: number): Promise<Uint8Array> {
  const { codec, bad, file, entry, peers, signal } = chunk;
  if (codec === NONE) {
    return packed.length === size
      ? packed
      : bad(`a page has ${packed.length} bytes, it should have ${size}.`);
  }
  if (size > packed.length * ratios[codec] + 64)
    bad(`a page of ${packed.length} bytes would unpack to ${size}.`);
  if (size === 0) return new Uint8Array();
  const out = new Uint8Array(size);
  if (codec === SNAPPY) unpackSnappy(packed, out, bad);
  else if (codec === LZ4) {
    if (unpackBlock(packed, out, 0, bad) !== size) bad(`a page unpacks to less than its ${size} bytes.`);
  } else if (codec === GZIP) {
    let done = 0;
    const source = async function* () {
      yield packed;
    };
    for await (const piece of unpacked("gzip", source(), bad)) {
      if (done + piece.length > size) bad(`a page unpacks to more than its ${size} bytes.`);
      out.set(piece, done);
      done += piece.length;
    }
    if (done !== size) bad(`a page unpacks to ${done} bytes, it should be ${size}.`);
  } else {
    const zstd = await peer<{ decompress(a: Uint8Array, b: Uint8Array): Uint8Array }>(
      "parquet.read",
      "fzstd",
      peers,
      "a column that is packed by zstd",
    );
    const got = await guarded("parquet.read", file, entry, "fzstd", signal, () =>
      zstd.decompress(packed.slice(), out),
    );
    if (got.length !== size) bad(`a page unpacks to ${got.length} bytes, it should be ${size}.`);
    return got;
  }
  return out;
}

/** Snappy's bare blocks: a length, then literals and copies of what came before. */
export function unpackSnappy(b: Uint8Array, out: Uint8Array, bad: (fact: string) => never): void {
  let [at, done, length] = [0, 0, 0];
  for (let scale = 1; ; scale *= 128) {
    if (at >= b.length || scale > 2 ** 28) bad("its snappy block has no length.");
    const x = b[at++];
    length += (x & 127) * scale;
    if (x < 128) break;
  }
  if (length !== out.length) bad(`a page unpacks to ${length} bytes, it should be ${out.length}.`);
  const little = (n: number): number => {
    if (at + n > b.length) bad("a snappy block ends inside of a length.");
    let x = 0;
    for (let i = 0; i < n; i++) x += b[at++] * 2 ** (8 * i);
    return x;
  };
  while (at < b.length) {
    const tag = b[at++];
    if ((tag & 3) === 0) {
      const short = tag >> 2;
      const n = 1 + (short < 60 ? short : little(short - 59));
      if (at + n > b.length || done + n > out.length) bad("a snappy block ends inside of its literals.");
      out.set(b.subarray(at, at + n), done);
      at += n;
      done += n;
      continue;
    }
    const kind = tag & 3;
    const n = kind === 1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2);
    const distance = kind === 1 ? ((tag >> 5) << 8) | little(1) : little(kind === 2 ? 2 : 4);
    if (distance === 0 || distance > done || done + n > out.length)
      bad(`a snappy block copies ${n} bytes from ${distance} before byte ${done}.`);
    for (let i = 0; i < n; i++) out[done + i] = out[done + i - distance];
    done += n;
  }
  if (done !== out.length) bad(`a page unpacks to ${done} bytes, it should be ${out.length}.`);
}
