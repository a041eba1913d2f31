/** Pictures without compression: PBM, PGM and PPM, in bytes and in text, and PAM with any number of channels. */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import { counted, fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import type { SliceItem } from "../view/slice.ts";
import { type Archive, checkFileShape, denseStrides, type Item, makeArchive, swapBytes } from "./archive.ts";
import { hold, type Place, takePlace } from "./into-heap.ts";
import { failFile, quoted } from "./names.ts";
import {
  checkSignal,
  type Input,
  inputOf,
  type Reader,
  type ReadOptions,
  type Source,
  type SourceOptions,
  sourceNames,
} from "./source.ts";
import { piecesOf, readPath, toBytes, toFile, type Writing } from "./target.ts";

const NAME = "image";
/** A header with its comments. */
const MOST_HEADER = 64 << 10;

export const isPnm = (head: Uint8Array): boolean =>
  head[0] === 0x50 && head[1] >= 0x31 && head[1] <= 0x37 && [9, 10, 13, 32, 35].includes(head[2]);

/**
 * Opens a picture: reads its header, and no pixel. Its one entry, "image", is rows × columns, or rows × columns × channels.
 *
 *     const picture = await pnm.open("photo.ppm");
 *     const corner = await picture.read("image", ["0:100", "0:100"]);
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await pnm.open(await pnm.encode(zeros([2, 3, 3], { dtype: "u8" })));
 * file.entries[0].shape; // → [2, 3, 3]
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("pnm.open", source, options);
  return openInput("pnm.open", input, signal);
}

interface Header {
  /** 1 to 7. */
  readonly kind: number;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly most: number;
  /** Where the pixels begin. */
  readonly from: number;
  readonly tuple: string | null;
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const reader = await input.open(signal);
  try {
    const head = await reader.bytes(0, Math.min(MOST_HEADER, input.size));
    if (!isPnm(head)) failFile(operation, input.name, null, "it does not begin as a PNM picture.");
    const bad = (fact: string): never =>
      failFile(operation, input.name, null, `its header is damaged: ${fact}`);
    const header = head[1] === 0x37 ? readPam(head, bad) : readPlain(head, bad);
    const { most, tuple, kind } = header;
    const item = itemOf(operation, input, header);
    const meta = Object.freeze({ kind: `P${kind}`, maxval: most, ...(tuple === null ? {} : { tuple }) });
    return makeArchive({ format: "pnm", file: input.name, items: [item], meta });
  } finally {
    await reader.close();
  }
}

const isBlank = (c: number) => c === 32 || (c >= 9 && c <= 13);

/** Behind blanks and comments, which go on to the end of their line. */
function pastBlanks(b: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    while (isBlank(b[at])) at++;
    if (b[at] !== 35) return at;
    while (at < b.length && b[at] !== 10) at++;
  }
}

function readPlain(b: Uint8Array, bad: (fact: string) => never): Header {
  const kind = b[1] - 0x30;
  let at = 2;
  const next = (what: string): number => {
    at = pastBlanks(b, at);
    const start = at;
    while (b[at] >= 48 && b[at] < 58) at++;
    const text = String.fromCharCode(...b.subarray(start, Math.min(at, start + 20)));
    return /^\d{1,10}$/.test(text) ? Number(text) : bad(`there is no ${what} at byte ${start}.`);
  };
  const [width, height] = [next("width"), next("height")];
  const isBitmap = kind === 1 || kind === 4;
  const most = isBitmap ? 1 : next("maxval");
  if (!isBlank(b[at])) bad(`no blank follows it at byte ${at}.`);
  return { kind, width, height, most, channels: kind === 3 || kind === 6 ? 3 : 1, from: at + 1, tuple: null };
}

function readPam(b: Uint8Array, bad: (fact: string) => never): Header {
  const values = new Map<string, string>();
  let at = 3;
  for (;;) {
    const end = b.indexOf(10, at);
    if (end < 0) return bad("it does not end.");
    const line = String.fromCharCode(...b.subarray(at, Math.min(end, at + 200))).trim();
    at = end + 1;
    if (line === "ENDHDR") break;
    if (line === "" || line.startsWith("#")) continue;
    const [key, ...rest] = line.split(/\s+/);
    if (values.has(key) && key !== "TUPLTYPE") bad(`${quoted(key)} is there twice.`);
    values.set(key, rest.join(" "));
  }
  const number = (key: string): number => {
    const text = values.get(key) ?? "";
    return /^\d{1,10}$/.test(text) ? Number(text) : bad(`${key} is ${quoted(text)}.`);
  };
  return {
    kind: 7,
    width: number("WIDTH"),
    height: number("HEIGHT"),
    channels: number("DEPTH"),
    most: number("MAXVAL"),
    from: at,
    tuple: values.get("TUPLTYPE") ?? null,
  };
}

function itemOf(operation: string, input: Input, header: Header): Item {
  const { kind, width, height, channels, most, from } = header;
  const file = input.name;
  const bad = (fact: string): never => failFile(operation, file, NAME, fact);
  if (most < 1 || most > 65535) bad(`its maxval is ${most}; 1 to 65535 are possible.`);
  if (channels < 1) bad("it has no channels.");
  const isBitmap = kind === 1 || kind === 4;
  const dtype: DType = isBitmap ? "bool" : most < 256 ? "u8" : "u16";
  const itemBytes = dtypes[dtype].bytes;
  const shape = kind === 3 || kind === 6 || kind === 7 ? [height, width, channels] : [height, width];
  const bytes = checkFileShape(operation, file, NAME, shape, itemBytes);
  const room = input.size - from;
  const base = { name: NAME, type: `P${kind}`, dtype, shape, from, input, bytes };
  const item: Item = { ...base, byteStrides: denseStrides(shape, itemBytes) };
  const text = `${shape.join(" × ")} of ${dtype}`;
  if (kind < 4) {
    // A number takes a byte, and all but bits a blank.
    if (bytes / itemBytes > room) bad(`${text} does not fit in ${room} bytes.`);
    return { ...item, decode: (reader) => fromText(file, header, dtype, reader, input.size, bytes) };
  }
  const packed = kind === 4 ? Math.ceil(width / 8) * height : bytes;
  if (packed !== room) {
    const more = packed < room ? "; one picture a file is read" : "";
    bad(`${text} takes ${packed} bytes, ${room} follow the header${more}.`);
  }
  if (kind === 4) return { ...item, decode: (reader) => fromBits(header, reader) };
  if (most !== fullOf(dtype))
    return { ...item, decode: (reader) => fromBytes(file, header, dtype, reader, bytes) };
  return { ...item, swap: true };
}

/** What white is in a dtype. */
const fullOf = (dtype: DType): number => (dtype === "u16" ? 65535 : 255);

/** For each sample what it becomes, so that the largest is white: the nearest whole number, halves to even. */
function levelsOf(most: number, dtype: DType): Uint16Array {
  return Uint16Array.from({ length: most + 1 }, (_, x) => {
    const y = (x / most) * fullOf(dtype);
    const low = Math.floor(y);
    const rest = y - low;
    return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  });
}

/** Samples of another range than the dtype's. */
async function fromBytes(
  file: string,
  { from, most }: Header,
  dtype: DType,
  reader: Reader,
  bytes: number,
): Promise<Place> {
  const b = await reader.bytes(from, bytes);
  const isWide = dtype === "u16";
  const levels = levelsOf(most, dtype);
  const place = takePlace("pnm.read", dtype, bytes);
  const all = place.at(0, bytes);
  const out = isWide ? new Uint16Array(all.buffer, all.byteOffset, bytes / 2) : all;
  for (let i = 0; i < out.length; i++) {
    const x = isWide ? (b[2 * i] << 8) | b[2 * i + 1] : b[i];
    if (x > most) {
      place.release();
      failFile(
        "pnm.read",
        file,
        NAME,
        `pixel ${i} at byte ${from + (isWide ? 2 * i : i)} is ${x}; ${most} is the most.`,
      );
    }
    out[i] = levels[x];
  }
  return place;
}

/** Eight pixels a byte, the first in the highest bit, each row a whole number of bytes; 1 is black, which is false. */
async function fromBits({ width, height, from }: Header, reader: Reader): Promise<Place> {
  const row = Math.ceil(width / 8);
  const packed = await reader.bytes(from, row * height);
  const place = takePlace("pnm.read", "bool", width * height);
  const out = place.at(0, place.bytes);
  for (let i = 0, p = 0; i < height; i++) {
    for (let j = 0; j < width; j++) out[p++] = (packed[i * row + (j >> 3)] & (128 >> (j & 7))) === 0 ? 1 : 0;
  }
  return place;
}

async function fromText(
  file: string,
  { kind, from, most }: Header,
  dtype: DType,
  reader: Reader,
  size: number,
  bytes: number,
): Promise<Place> {
  const bad = (fact: string): never => failFile("pnm.read", file, NAME, fact);
  const b = await reader.bytes(from, size - from);
  const { bytes: itemBytes } = dtypes[dtype];
  const count = bytes / itemBytes;
  const levels = levelsOf(most, dtype);
  const place = takePlace("pnm.read", dtype, bytes);
  try {
    const all = place.at(0, bytes);
    const out = itemBytes === 2 ? new Uint16Array(all.buffer, all.byteOffset, count) : all;
    let p = 0;
    for (let i = 0; i < count; i++) {
      p = pastBlanks(b, p);
      const start = p;
      let x = 0;
      while (b[p] >= 48 && b[p] < 58 && x <= most) {
        x = x * 10 + (b[p++] - 48);
        // Bits need no blanks between them.
        if (kind === 1) break;
      }
      if (p === start || x > most) bad(`pixel ${i} at byte ${from + start} is no number up to ${most}.`);
      out[i] = kind === 1 ? 1 - x : levels[x];
    }
    return place;
  } catch (error) {
    place.release();
    throw error;
  }
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only this part of it. */
  readonly slice?: readonly SliceItem[];
}

/**
 * The pixels of a picture: u8, u16 where it has more than 256 values, bool for bitmaps (true is white). White is 255 or 65535,
 * whatever the file calls it: a sample is its share of `meta.maxval`.
 *
 *     const photo = await pnm.load("photo.ppm"); // u8 [height, width, 3]
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `slice`: only this part; `signal`, `headers`
 * @returns a promise of the pixels
 * @throws TensorError where the file is not what it says
 * @example
 * const picture = tensor([[0, 255]], { dtype: "u8" });
 * await pnm.load(await pnm.encode(picture)); // → u8 [[0, 255]]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Tensor> {
  const { slice, ...rest } = readOptions("pnm.load", options, "{ slice }", [...sourceNames, "slice"]);
  const { input, signal } = await inputOf("pnm.load", source, rest);
  const file = await openInput("pnm.load", input, signal);
  return file.read(NAME, slice, signal === undefined ? undefined : { signal });
}

/* Writing ---------------------------------------------------------------------------------------------- */

const tuples = ["GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"];

/** Throws where a name promises a simpler picture than this is; who reads .ppm takes grey ones, too. */
function checkEnding(operation: string, path: string, channels: number | undefined): void {
  const [ending] = /\.(ppm|pgm)$/i.exec(path) ?? [];
  if (ending === undefined || channels === undefined) return;
  if (channels === 3 && ending.toLowerCase() === ".ppm") return;
  const remedy = channels === 3 ? "Name it .ppm or .pam." : "Name it .pam, which has any number of them.";
  fail(
    "value",
    operation,
    `a picture of ${counted(channels, "channel")} is no ${ending.toLowerCase()}.`,
    remedy,
  );
}

function writing(operation: string, t: Tensor, path?: string): Writing {
  const held = hold(operation, t);
  const { shape, dtype, bytes } = held;
  const [height, width, channels = 1] = shape;
  const known = dtype === "u8" || dtype === "u16" || dtype === "bool";
  if (!known || shape.length < 2 || shape.length > 3 || channels < 1 || channels > 4) {
    held.release();
    fail(
      known ? "shape" : "dtype",
      operation,
      known ? `shape [${shape.join(", ")}] is no picture.` : `PNM has no ${dtype}.`,
      `Give u8, u16 or bool of shape [height, width] or [height, width, channels], with 1 to 4 channels.${isFloat(dtype) ? '\nOf floats from 0 to 1: t.mul(255).round().to("u8").' : ""}`,
    );
  }
  try {
    if (path !== undefined) checkEnding(operation, path, shape[2]);
  } catch (error) {
    held.release();
    throw error;
  }
  const most = fullOf(dtype);
  const isPlain = shape.length === 2 || channels === 3;
  const text = isPlain
    ? `P${channels === 3 ? 6 : 5}\n${width} ${height}\n${most}\n`
    : `P7\nWIDTH ${width}\nHEIGHT ${height}\nDEPTH ${channels}\nMAXVAL ${most}\nTUPLTYPE ${tuples[channels - 1]}\nENDHDR\n`;
  const head = new TextEncoder().encode(text);
  return {
    bytes: head.length + bytes,
    async *pieces() {
      yield head;
      for await (const piece of piecesOf(held)) {
        if (dtype === "u8") yield piece;
        else if (dtype === "bool") yield piece.map((x) => (x === 0 ? 0 : 255));
        else {
          const turned = piece.slice();
          swapBytes(turned, 2);
          yield turned;
        }
      }
    },
    release: () => held.release(),
  };
}

/**
 * The bytes of a picture: PGM, PPM, or PAM for other numbers of channels. A bool is black or white.
 *
 * @param t a tensor of any layout
 * @param options `signal`
 * @returns a promise of the file's bytes
 * @example
 * const bytes = await pnm.encode(zeros([2, 3, 3], { dtype: "u8" }));
 * (await pnm.load(bytes)).shape; // → [2, 3, 3]
 */
export async function encode(t: Tensor, options?: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { signal } = readOptions("pnm.encode", options, "{ signal }", ["signal"]);
  checkSignal("pnm.encode", signal);
  return toBytes(writing("pnm.encode", t), signal);
}

/**
 * Writes a picture: wholly, or not at all.
 *
 *     await pnm.save("photo.ppm", photo);
 *
 * @param path where to; a file that is there is replaced
 * @param t a tensor of any layout
 * @param options `signal`
 * @example
 * await pnm.save("dot.ppm", tensor([[0, 255]], { dtype: "u8" }));
 * await pnm.load("dot.ppm"); // → u8 [[0, 255]]
 */
export async function save(path: string | URL, t: Tensor, options?: ReadOptions): Promise<void> {
  const { signal } = readOptions("pnm.save", options, "{ signal }", ["signal"]);
  checkSignal("pnm.save", signal);
  const place = readPath("pnm.save", path);
  return toFile("pnm.save", place, writing("pnm.save", t, place), signal);
}
