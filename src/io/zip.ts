/**
 * Zip archives, as far as npz needs them: the directory at the end, members stored or deflated, ZIP64. What the directory
 * says is held against the file before a member is read: nothing overlaps, nothing lies outside, nothing claims to
 * unpack to more than deflate can make of its bytes.
 */
import { crc32, hex } from "./crc32.ts";
import { MOST_RATIO, unpacked, unpackedShort } from "./deflate.ts";
import { textOf } from "./json.ts";
import { failFile, quoted, whyOutside } from "./names.ts";
import type { Input, Reader } from "./source.ts";

export interface Member {
  readonly name: string;
  readonly deflated: boolean;
  readonly crc: number;
  /** Bytes in the file, and unpacked. */
  readonly packed: number;
  readonly size: number;
  /** Where its own header lies. */
  readonly header: number;
}

const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
/** Bytes of one line of the directory without its name. */
const LINE = 46;
const MOST_DIRECTORY = 100_000_000;

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const isZip = (head: Uint8Array): boolean =>
  head.length >= 4 && [LOCAL, END].includes(viewOf(head).getUint32(0, true));

/** The members of a zip file in the order of its directory, and where that begins. */
export async function readDirectory(
  operation: string,
  input: Input,
  reader: Reader,
): Promise<{ members: readonly Member[]; directory: number }> {
  const { name: file, size } = input;
  const bad = (fact: string): never =>
    failFile(operation, file, null, `as a zip file it is damaged: ${fact}`);
  const end = await findEnd(input, reader, bad);
  const { count, from, bytes, before } = end;
  if (bytes > MOST_DIRECTORY) bad(`its directory has ${bytes} bytes; at most ${MOST_DIRECTORY} are read.`);
  if (from + bytes > before) bad(`its directory lies in bytes ${from} … ${from + bytes} of ${size}.`);
  if (count * LINE > bytes) bad(`its directory of ${bytes} bytes is too short for ${count} members.`);
  const lines = await reader.bytes(from, bytes);
  const view = viewOf(lines);
  const members: Member[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + LINE > bytes || view.getUint32(at, true) !== CENTRAL)
      bad(`member ${i} has no line in the directory.`);
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((k) => view.getUint16(at + k, true));
    const next = at + LINE + nameBytes + extraBytes + commentBytes;
    if (next > bytes) bad(`the line of member ${i} is cut.`);
    const name = nameFrom(lines.subarray(at + LINE, at + LINE + nameBytes), bad);
    members.push(memberAt(operation, file, view, at, name, nameBytes, extraBytes, from));
    at = next;
  }
  if (at !== bytes) bad("something follows the last member in its directory.");
  checkMembers(operation, file, members, from);
  return { members, directory: from };
}

interface End {
  readonly count: number;
  readonly from: number;
  readonly bytes: number;
  /** The directory ends before this. */
  readonly before: number;
}

async function findEnd(input: Input, reader: Reader, bad: (fact: string) => never): Promise<End> {
  const { size } = input;
  if (size < 22) bad(`it has ${size} bytes.`);
  // A comment of up to 65535 bytes may follow; mostly there is none.
  for (const reach of [22, 22 + 65535]) {
    const length = Math.min(reach, size);
    const tail = await reader.bytes(size - length, length);
    const view = viewOf(tail);
    for (let at = length - 22; at >= 0; at--) {
      if (view.getUint32(at, true) !== END || at + 22 + view.getUint16(at + 20, true) !== length) continue;
      return endAt(size - length + at, view, at, reader, bad);
    }
  }
  return bad("it has no directory at its end; has it been cut?");
}

async function endAt(
  place: number,
  view: DataView,
  at: number,
  reader: Reader,
  bad: (fact: string) => never,
): Promise<End> {
  const [disk, first, here, count] = [4, 6, 8, 10].map((k) => view.getUint16(at + k, true));
  const [bytes, from] = [12, 16].map((k) => view.getUint32(at + k, true));
  const needs64 = count === 0xffff || bytes === 0xffffffff || from === 0xffffffff;
  const locator = place >= 20 ? await reader.bytes(place - 20, 20) : null;
  const has64 = locator !== null && viewOf(locator).getUint32(0, true) === LOCATOR64;
  if (!needs64 || !has64) {
    if (needs64) bad("its directory is of ZIP64, and has no second end.");
    if (disk !== 0 || first !== 0 || here !== count) bad("it is one of several disks.");
    return { count, from, bytes, before: place };
  }
  const end64 = number(viewOf(locator), 8, bad);
  if (end64 + 56 > place - 20) bad("the end of its ZIP64 directory lies outside.");
  const more = viewOf(await reader.bytes(end64, 56));
  if (more.getUint32(0, true) !== END64) bad("the end of its ZIP64 directory is not where it should be.");
  if (more.getUint32(16, true) !== 0 || more.getUint32(20, true) !== 0) bad("it is one of several disks.");
  const [count64, bytes64, from64] = [32, 40, 48].map((k) => number(more, k, bad));
  if (number(more, 24, bad) !== count64) bad("it is one of several disks.");
  return { count: count64, bytes: bytes64, from: from64, before: end64 };
}

function number(view: DataView, at: number, bad: (fact: string) => never): number {
  const x = view.getBigUint64(at, true);
  return x <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(x) : bad(`a size in it is ${x}.`);
}

/** UTF-8, whatever the flags say: DOS's code page agrees with it as far as ASCII goes, and the rest is refused. */
const nameFrom = (raw: Uint8Array, bad: (fact: string) => never): string =>
  textOf(raw, () => bad("the name of a member is no UTF-8 text."));

function memberAt(
  operation: string,
  file: string,
  view: DataView,
  at: number,
  name: string,
  nameBytes: number,
  extraBytes: number,
  directory: number,
): Member {
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  const flags = view.getUint16(at + 8, true);
  const method = view.getUint16(at + 10, true);
  let [packed, size] = [20, 24].map((k) => view.getUint32(at + k, true));
  let header = view.getUint32(at + 42, true);
  const wanted = [size === 0xffffffff, packed === 0xffffffff, header === 0xffffffff];
  if (wanted.includes(true)) {
    const values = extra64(view, at + LINE + nameBytes, extraBytes, wanted, bad);
    [size, packed, header] = [values[0] ?? size, values[1] ?? packed, values[2] ?? header];
  }
  const why = whyOutside(name);
  // A folder's name ends in a slash.
  if (why !== null && !(name.endsWith("/") && whyOutside(name.slice(0, -1)) === null))
    bad(`its name ${why}.`);
  if (flags & 1) bad("it is encrypted.");
  if (view.getUint16(at + 34, true) !== 0) bad("it is on another disk.");
  if (method !== 0 && method !== 8) {
    const known: Readonly<Record<number, string>> = {
      9: "deflate64",
      12: "bzip2",
      14: "lzma",
      93: "zstd",
      95: "xz",
    };
    bad(
      `it is compressed with ${known[method] ?? `method ${method}`}; stored and deflated members are read.`,
    );
  }
  const deflated = method === 8;
  if (!deflated && packed !== size) bad(`it is stored, and has ${packed} bytes packed and ${size} unpacked.`);
  if (deflated && size > packed * MOST_RATIO) {
    bad(`${packed} bytes cannot unpack to ${size}: deflate makes at most ${MOST_RATIO} of one.`);
  }
  if (header + 30 + packed > directory)
    bad(`its ${packed} bytes from ${header} on do not fit before the directory.`);
  return { name, deflated, crc: view.getUint32(at + 16, true), packed, size, header };
}

/** The ZIP64 field among the extra ones: those of size, packed size and header place that did not fit. */
function extra64(
  view: DataView,
  from: number,
  length: number,
  wanted: readonly boolean[],
  bad: (fact: string) => never,
): (number | undefined)[] {
  for (let at = from; at + 4 <= from + length; ) {
    const [id, bytes] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    if (at + 4 + bytes > from + length) break;
    if (id === 1) {
      let p = at + 4;
      return wanted.map((isWanted) => {
        if (!isWanted) return undefined;
        if (p + 8 > at + 4 + bytes) bad("its ZIP64 sizes are cut.");
        p += 8;
        return number(view, p - 8, bad);
      });
    }
    at += 4 + bytes;
  }
  return bad("its ZIP64 sizes are missing.");
}

/** No two of one name, none inside of another. */
function checkMembers(operation: string, file: string, members: readonly Member[], directory: number): void {
  const names = new Set<string>();
  for (const { name } of members) {
    if (names.has(name)) failFile(operation, file, name, "there are two of this name.");
    names.add(name);
  }
  const sorted = [...members].sort((a, b) => a.header - b.header);
  for (let i = 0; i < sorted.length; i++) {
    const { name, header, packed } = sorted[i];
    const next = sorted[i + 1]?.header ?? directory;
    if (header + 30 + packed > next) {
      failFile(
        operation,
        file,
        name,
        `its ${packed} bytes from ${header} on reach into what begins at ${next}.`,
      );
    }
  }
}

/** Where a member's bytes begin: its own header is held against the directory. `next`: where what follows begins. */
export async function bodyOf(
  operation: string,
  file: string,
  reader: Reader,
  member: Member,
  next: number,
): Promise<number> {
  const { name, header, packed } = member;
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  const view = viewOf(await reader.bytes(header, 30));
  if (view.getUint32(0, true) !== LOCAL) bad(`it has no header at byte ${header}.`);
  const [nameBytes, extraBytes] = [26, 28].map((k) => view.getUint16(k, true));
  const from = header + 30 + nameBytes + extraBytes;
  if (from + packed > next) bad(`its ${packed} bytes from ${from} on reach into what begins at ${next}.`);
  const own = nameFrom(await reader.bytes(header + 30, nameBytes), bad);
  if (own !== name) bad(`its own header calls it ${quoted(own)}.`);
  return from;
}

/* Unpacking -------------------------------------------------------------------------------------------- */

/** Bytes of a packed member that are read at a time. */
const STEP = 256 << 10;

/**
 * A reader of an unpacked member, in which its bytes begin at 0: forward only. All of it read, its checksum is compared.
 * More or fewer bytes than the directory says are an error, and never kept.
 */
export function inflated(
  operation: string,
  file: string,
  member: Member,
  body: number,
  reader: Reader,
): Reader {
  const { name, packed, size, crc } = member;
  const bad = (fact: string): never => failFile(operation, file, name, fact);
  let pieces: AsyncGenerator<Uint8Array> | null = null;
  let rest = new Uint8Array() as Uint8Array;
  let at = 0;
  let sum = 0;
  const next = async (): Promise<boolean> => {
    pieces ??=
      unpackedShort("deflate-raw", () => reader.bytes(body, packed), packed, size, bad) ??
      unpacked("deflate-raw", packedBytes(reader, body, packed), bad);
    const { done, value } = await pieces.next();
    if (done) return false;
    if (at + value.length > size) bad(`it unpacks to more than its ${size} bytes.`);
    sum = crc32(value, sum);
    rest = value;
    return true;
  };
  /** Gives [from, from + length) to `take`, piece by piece. */
  const pull = async (from: number, length: number, take: (piece: Uint8Array) => void) => {
    if (from < at) bad("it is deflated, and was asked for in the wrong order.");
    const end = from + length;
    while (at < end) {
      if (rest.length === 0 && !(await next())) bad(`it unpacks to ${at} bytes, it should be ${size}.`);
      const skip = Math.min(rest.length, Math.max(0, from - at));
      const n = Math.min(rest.length - skip, end - at - skip);
      if (n > 0) take(rest.subarray(skip, skip + n));
      at += skip + n;
      rest = rest.subarray(skip + n);
    }
    if (at === size && (await next())) bad(`it unpacks to more than its ${size} bytes.`);
    if (at === size && sum !== crc) bad(`its checksum is ${hex(sum)}, it should be ${hex(crc)}.`);
  };
  return {
    async bytes(from, length) {
      const out = new Uint8Array(length);
      let done = 0;
      await pull(from, length, (piece) => {
        out.set(piece, done);
        done += piece.length;
      });
      return out;
    },
    async fill(place, to, from, length) {
      let done = to;
      await pull(from, length, (piece) => {
        place.at(done, piece.length).set(piece);
        done += piece.length;
      });
    },
    async close() {
      await pieces?.return(undefined);
    },
  };
}

/** The packed bytes of a member, some at a time. */
async function* packedBytes(reader: Reader, from: number, packed: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < packed; at += STEP) yield reader.bytes(from + at, Math.min(STEP, packed - at));
}

/* Writing ---------------------------------------------------------------------------------------------- */

export interface Written {
  readonly name: string;
  readonly crc: number;
  readonly size: number;
  readonly packed: number;
  readonly deflated: boolean;
}

/** Every size as ZIP64 where it must be; dates are the earliest there is, so that equal tensors give equal files. */
const needs64 = (x: number) => x >= 0xffffffff;

export function localHeader(of: Written): Uint8Array {
  const name = new TextEncoder().encode(of.name);
  const is64 = needs64(of.size) || needs64(of.packed);
  const out = new Uint8Array(30 + name.length + (is64 ? 20 : 0));
  const view = viewOf(out);
  view.setUint32(0, LOCAL, true);
  common(view, 4, of, is64);
  view.setUint32(18, is64 ? 0xffffffff : of.packed, true);
  view.setUint32(22, is64 ? 0xffffffff : of.size, true);
  view.setUint16(26, name.length, true);
  view.setUint16(28, is64 ? 20 : 0, true);
  out.set(name, 30);
  if (is64) extra(view, 30 + name.length, [of.size, of.packed]);
  return out;
}

/** Version, flags (names are UTF-8), method, date and checksum: the same in both headers. */
function common(view: DataView, at: number, of: Written, is64: boolean): void {
  view.setUint16(at, is64 ? 45 : 20, true);
  view.setUint16(at + 2, 0x800, true);
  view.setUint16(at + 4, of.deflated ? 8 : 0, true);
  view.setUint16(at + 8, 0x21, true);
  view.setUint32(at + 10, of.crc, true);
}

function extra(view: DataView, at: number, values: readonly number[]): void {
  view.setUint16(at, 1, true);
  view.setUint16(at + 2, 8 * values.length, true);
  for (const [i, x] of values.entries()) view.setBigUint64(at + 4 + 8 * i, BigInt(x), true);
}

/** The directory and its end; `places`: where each member's header lies. */
export function directoryOf(
  members: readonly Written[],
  places: readonly number[],
  from: number,
): Uint8Array {
  const lines = members.map((of, i) => centralLine(of, places[i]));
  const bytes = lines.reduce((sum, line) => sum + line.length, 0);
  const is64 = members.length >= 0xffff || needs64(bytes) || needs64(from);
  const out = new Uint8Array(bytes + (is64 ? 76 : 0) + 22);
  let at = 0;
  for (const line of lines) {
    out.set(line, at);
    at += line.length;
  }
  const view = viewOf(out);
  if (is64) {
    view.setUint32(at, END64, true);
    view.setBigUint64(at + 4, 44n, true);
    view.setUint16(at + 12, 45, true);
    view.setUint16(at + 14, 45, true);
    for (const [k, x] of [members.length, members.length, bytes, from].entries()) {
      view.setBigUint64(at + 24 + 8 * k, BigInt(x), true);
    }
    view.setUint32(at + 56, LOCATOR64, true);
    view.setBigUint64(at + 64, BigInt(from + bytes), true);
    view.setUint32(at + 72, 1, true);
    at += 76;
  }
  view.setUint32(at, END, true);
  view.setUint16(at + 8, Math.min(members.length, 0xffff), true);
  view.setUint16(at + 10, Math.min(members.length, 0xffff), true);
  view.setUint32(at + 12, Math.min(bytes, 0xffffffff), true);
  view.setUint32(at + 16, Math.min(from, 0xffffffff), true);
  return out;
}

function centralLine(of: Written, place: number): Uint8Array {
  const name = new TextEncoder().encode(of.name);
  const big = [of.size, of.packed, place].filter(needs64);
  const is64 = big.length > 0;
  const out = new Uint8Array(LINE + name.length + (is64 ? 4 + 8 * big.length : 0));
  const view = viewOf(out);
  view.setUint32(0, CENTRAL, true);
  view.setUint16(4, is64 ? 45 : 20, true);
  common(view, 6, of, is64);
  view.setUint32(20, Math.min(of.packed, 0xffffffff), true);
  view.setUint32(24, Math.min(of.size, 0xffffffff), true);
  view.setUint16(28, name.length, true);
  view.setUint16(30, is64 ? 4 + 8 * big.length : 0, true);
  view.setUint32(42, Math.min(place, 0xffffffff), true);
  out.set(name, LINE);
  if (is64) extra(view, LINE + name.length, big);
  return out;
}
