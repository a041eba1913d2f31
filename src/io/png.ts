/**
 * PNG: pictures of 8 and 16 bits a sample, grey or in colour, with and without transparency. Palettes become colours, fewer
 * bits than 8 are stretched to 8; interlaced ones are read too. What the header promises is held against the file before
 * memory is taken, and unpacking stops where the promise ends.
 */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import { fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import type { SliceItem } from "../view/slice.ts";
import { type Archive, checkFileShape, denseStrides, type Item, makeArchive, swapBytes } from "./archive.ts";
import { crc32 } from "./crc32.ts";
import { deflated, MOST_RATIO, unpacked } from "./deflate.ts";
import { type Held, hold, type Place, takePlace } from "./into-heap.ts";
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
import { toBytes, toFile, type Writing } from "./target.ts";

const NAME = "image";
const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
/** Chunks before the pixels, and bytes of one of them that is kept. */
const MOST_CHUNKS = 1000;
const MOST_KEPT = 64 << 10;

export const isPng = (head: Uint8Array): boolean => SIGNATURE.every((x, i) => head[i] === x);

/** By colour type: its name, samples a pixel, and the bits that a sample may have. */
const colours: Readonly<Record<number, { name: string; samples: number; bits: readonly number[] }>> = {
  0: { name: "grey", samples: 1, bits: [1, 2, 4, 8, 16] },
  2: { name: "RGB", samples: 3, bits: [8, 16] },
  3: { name: "palette", samples: 1, bits: [1, 2, 4, 8] },
  4: { name: "grey and alpha", samples: 2, bits: [8, 16] },
  6: { name: "RGBA", samples: 4, bits: [8, 16] },
};
const PALETTE = 3;

interface Header {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  readonly colour: number;
  readonly interlaced: boolean;
  /** Of three bytes each. */
  readonly palette: Uint8Array | null;
  /** Of a palette: alphas of its first colours. Else: the one colour that is transparent, two bytes a sample. */
  readonly transparent: Uint8Array | null;
  /** Where the first chunk of pixels begins. */
  readonly from: number;
}

/** Samples of a pixel of the result. */
function channelsOf({ colour, transparent }: Header): number {
  const more = transparent === null ? 0 : 1;
  return colour === PALETTE ? 3 + more : colours[colour].samples + more;
}

/** Columns and rows of each pass: where it begins, and its steps. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;
const whole = [[0, 0, 1, 1]] as const;

/** Rows that follow each other in the stream: so many, of so many pixels, each with a filter in front. */
function passesOf({ width, height, interlaced }: Header) {
  return (interlaced ? passes : whole)
    .map(([x, y, dx, dy]) => ({
      x,
      y,
      dx,
      dy,
      columns: Math.ceil((width - x) / dx),
      rows: Math.ceil((height - y) / dy),
    }))
    .filter(({ columns, rows }) => columns > 0 && rows > 0);
}

const rowBytes = (pixels: number, { bits, colour }: Header): number =>
  Math.ceil((pixels * bits * colours[colour].samples) / 8);

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * Opens a picture: reads its header, and no pixel. Its one entry, "image", is rows × columns, or rows × columns × channels.
 *
 *     const picture = await png.open("photo.png");
 *     picture.entries[0].shape; // [480, 640, 3]
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await png.open(await png.encode(zeros([2, 3, 3], { dtype: "u8" })));
 * file.entries[0].shape; // → [2, 3, 3]
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("png.open", source, options);
  return openInput("png.open", input, signal);
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const reader = await input.open(signal);
  try {
    const header = await readHeader(operation, input, reader);
    const { bits, colour, interlaced } = header;
    const meta = Object.freeze({ bits, colour: colours[colour].name, interlaced });
    return makeArchive({
      format: "png",
      file: input.name,
      items: [itemOf(operation, input, header)],
      meta,
    });
  } finally {
    await reader.close();
  }
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const letters = (bytes: Uint8Array, at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));

interface Chunk {
  readonly name: string;
  /** Where its bytes begin, and where the next chunk does. */
  readonly from: number;
  readonly length: number;
  readonly next: number;
}

async function chunkAt(
  input: Input,
  reader: Reader,
  at: number,
  bad: (fact: string) => never,
): Promise<Chunk> {
  if (at + 12 > input.size) bad(`it ends at byte ${input.size}, where a chunk should begin or go on.`);
  const head = await reader.bytes(at, 8);
  const [length, name] = [viewOf(head).getUint32(0), letters(head, 4)];
  const next = at + 12 + length;
  if (next > input.size)
    bad(`its chunk ${quoted(name)} takes ${length} bytes, ${input.size - at - 12} are there.`);
  return { name, from: at + 8, length, next };
}

/** The bytes of a chunk, whose checksum is right. */
async function chunkBytes(reader: Reader, chunk: Chunk, bad: (fact: string) => never): Promise<Uint8Array> {
  const { name, from, length } = chunk;
  const all = await reader.bytes(from - 4, length + 8);
  const want = viewOf(all).getUint32(length + 4);
  if (crc32(all.subarray(0, length + 4)) !== want) bad(`the checksum of its chunk ${quoted(name)} is wrong.`);
  return all.subarray(4, length + 4);
}

async function readHeader(operation: string, input: Input, reader: Reader): Promise<Header> {
  const bad = (fact: string): never => failFile(operation, input.name, null, fact);
  const start = await reader.bytes(0, Math.min(8, input.size));
  if (!isPng(start)) bad("it does not begin as a PNG picture.");
  const first = await chunkAt(input, reader, 8, bad);
  if (first.name !== "IHDR" || first.length !== 13) bad("its first chunk is no header.");
  const view = viewOf((await chunkBytes(reader, first, bad)).slice());
  const [width, height] = [view.getUint32(0), view.getUint32(4)];
  const [bits, colour, packing, filtering, interlace] = [8, 9, 10, 11, 12].map((k) => view.getUint8(k));
  if (width === 0 || height === 0 || width >= 2 ** 31 || height >= 2 ** 31)
    bad(`${width} columns and ${height} rows are no picture.`);
  if (!colours[colour]?.bits.includes(bits)) bad(`there is no colour type ${colour} of ${bits} bits.`);
  if (packing !== 0 || filtering !== 0 || interlace > 1)
    bad(`its packing is ${packing}, filtering ${filtering}, interlacing ${interlace}: none that is known.`);
  const kept = new Map<string, Uint8Array>();
  let at = first.next;
  for (let i = 0; i < MOST_CHUNKS; i++) {
    const chunk = await chunkAt(input, reader, at, bad);
    const { name, length } = chunk;
    if (name === "IDAT") {
      const [palette, transparent] = [kept.get("PLTE") ?? null, kept.get("tRNS") ?? null];
      const header = { width, height, bits, colour, interlaced: interlace === 1, from: at };
      return checkColours({ ...header, palette, transparent }, bad);
    }
    if (name === "IEND") bad("it has no pixels.");
    if (name === "PLTE" || name === "tRNS") {
      if (kept.has(name)) bad(`it has two chunks ${quoted(name)}.`);
      if (length > MOST_KEPT) bad(`its chunk ${quoted(name)} has ${length} bytes.`);
      kept.set(name, (await chunkBytes(reader, chunk, bad)).slice());
    }
    at = chunk.next;
  }
  return bad(`more than ${MOST_CHUNKS} chunks come before its pixels.`);
}

/** A palette has whole colours, and no more than its bits can name; one transparent colour is as wide as a pixel. */
function checkColours(header: Header, bad: (fact: string) => never): Header {
  const { colour, bits, palette, transparent } = header;
  if (colour === PALETTE) {
    const n = (palette?.length ?? 0) / 3;
    if (!Number.isInteger(n) || n < 1 || n > 2 ** bits) bad(`its palette has ${n} colours of ${bits} bits.`);
    if (transparent !== null && transparent.length > n)
      bad(`its palette has ${n} colours and ${transparent.length} alphas.`);
    return header;
  }
  if (transparent === null) return header;
  const { samples } = colours[colour];
  if (samples % 2 === 0 || transparent.length !== 2 * samples)
    bad(`${transparent.length} bytes are no transparent colour of ${colours[colour].name}.`);
  return header;
}

function itemOf(operation: string, input: Input, header: Header): Item {
  const { width, height, bits, colour, from } = header;
  const channels = channelsOf(header);
  const dtype: DType = bits === 16 ? "u16" : "u8";
  const shape = channels === 1 ? [height, width] : [height, width, channels];
  const itemBytes = dtypes[dtype].bytes;
  const bytes = checkFileShape(operation, input.name, NAME, shape, itemBytes);
  const packed = input.size - from;
  const rows = passesOf(header).reduce((sum, p) => sum + p.rows * (1 + rowBytes(p.columns, header)), 0);
  if (rows > packed * MOST_RATIO)
    failFile(
      operation,
      input.name,
      NAME,
      `${width} × ${height} pixels take ${rows} bytes, ${packed} packed ones cannot make so many.`,
    );
  return {
    name: NAME,
    type: `${colours[colour].name} ${bits}`,
    dtype,
    shape,
    byteStrides: denseStrides(shape, itemBytes),
    from,
    bytes,
    packed,
    input,
    decode: (reader, signal) => decoded(input, header, dtype, bytes, reader, signal),
  };
}

/** The deflated bytes: those of the chunks IDAT, one after the other. */
async function* pixelBytes(
  input: Input,
  reader: Reader,
  from: number,
  bad: (fact: string) => never,
): AsyncGenerator<Uint8Array> {
  for (let at = from; ; ) {
    const chunk = await chunkAt(input, reader, at, bad);
    if (chunk.name !== "IDAT") return;
    yield await chunkBytes(reader, chunk, bad);
    at = chunk.next;
  }
}

async function decoded(
  input: Input,
  header: Header,
  dtype: DType,
  bytes: number,
  reader: Reader,
  signal: AbortSignal | undefined,
): Promise<Place> {
  const bad = (fact: string): never => failFile("png.read", input.name, NAME, fact);
  const place = takePlace("png.read", dtype, bytes);
  const rows = new Rows(unpacked("deflate", pixelBytes(input, reader, header.from, bad), bad), bad);
  try {
    const { bits, colour, interlaced, transparent } = header;
    const isPlain = bits >= 8 && colour !== PALETTE && transparent === null && !interlaced;
    if (isPlain) await plainRows(header, rows, place, bad);
    else await otherRows(header, rows, place, bad, signal);
    await rows.end();
    if (dtype === "u16") swapBytes(place.at(0, bytes), 2);
    return place;
  } catch (error) {
    place.release();
    throw error;
  } finally {
    await rows.close();
  }
}

/** The stream in rows. */
class Rows {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  readonly #bad: (fact: string) => never;
  #rest: Uint8Array = new Uint8Array();

  constructor(pieces: AsyncGenerator<Uint8Array>, bad: (fact: string) => never) {
    this.#pieces = pieces;
    this.#bad = bad;
  }

  /** Fills it with what comes next; gives the filter before it. */
  async next(into: Uint8Array): Promise<number> {
    const filter = await this.#byte();
    for (let done = 0; done < into.length; ) {
      if (this.#rest.length === 0) await this.#more();
      const n = Math.min(this.#rest.length, into.length - done);
      into.set(this.#rest.subarray(0, n), done);
      this.#rest = this.#rest.subarray(n);
      done += n;
    }
    return filter;
  }

  async #byte(): Promise<number> {
    if (this.#rest.length === 0) await this.#more();
    const [first] = this.#rest;
    this.#rest = this.#rest.subarray(1);
    return first;
  }

  async #more(): Promise<void> {
    do {
      const { done, value } = await this.#pieces.next();
      if (done) this.#bad("its pixels end before the last row.");
      this.#rest = value as Uint8Array;
    } while (this.#rest.length === 0);
  }

  /** All of it has been taken. */
  async end(): Promise<void> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) return;
      this.#rest = value;
    }
    this.#bad("its pixels go on after the last row.");
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}

/** Rows whose bytes are those of the result, but for the order of two. */
async function plainRows(
  header: Header,
  rows: Rows,
  place: Place,
  bad: (fact: string) => never,
): Promise<void> {
  const width = rowBytes(header.width, header);
  const step = width / header.width;
  let [row, above] = [new Uint8Array(width), new Uint8Array(width)];
  for (let i = 0; i < header.height; i++) {
    unfilter(await rows.next(row), row, above, step, bad);
    place.at(i * width, width).set(row);
    [row, above] = [above, row];
  }
}

async function otherRows(
  header: Header,
  rows: Rows,
  place: Place,
  bad: (fact: string) => never,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { bits, colour, width } = header;
  const channels = channelsOf(header);
  const pixel = channels * (bits === 16 ? 2 : 1);
  const step = Math.max(1, (bits * colours[colour].samples) >> 3);
  const put = pixelWriter(header, bad);
  for (const { x, y, dx, dy, columns, rows: count } of passesOf(header)) {
    const length = rowBytes(columns, header);
    let [row, above] = [new Uint8Array(length), new Uint8Array(length)];
    for (let i = 0; i < count; i++) {
      unfilter(await rows.next(row), row, above, step, bad);
      const line = place.at((y + i * dy) * width * pixel, width * pixel);
      for (let j = 0; j < columns; j++) put(row, j, line, (x + j * dx) * pixel);
      [row, above] = [above, row];
    }
    signal?.throwIfAborted();
  }
}

type PutPixel = (row: Uint8Array, j: number, line: Uint8Array, at: number) => void;

/** Pixel j of a row, as it is in the result. */
function pixelWriter(header: Header, bad: (fact: string) => never): PutPixel {
  const { bits, colour, palette, transparent } = header;
  const { samples } = colours[colour];
  const most = 2 ** bits - 1;
  const small = (row: Uint8Array, j: number) =>
    (row[(j * bits) >> 3] >> (8 - bits - ((j * bits) & 7))) & most;
  if (palette !== null && colour === PALETTE) {
    const n = palette.length / 3;
    return (row, j, line, at) => {
      const k = small(row, j);
      if (k >= n) bad(`a pixel has colour ${k} of a palette of ${n}.`);
      for (let c = 0; c < 3; c++) line[at + c] = palette[3 * k + c];
      if (transparent !== null) line[at + 3] = k < transparent.length ? transparent[k] : 255;
    };
  }
  const bytes = bits === 16 ? 2 : 1;
  const isClear = (line: Uint8Array, row: Uint8Array, j: number, at: number): boolean => {
    for (let c = 0; c < samples; c++) {
      const [high, low] = [transparent![2 * c], transparent![2 * c + 1]];
      const value =
        bits === 16
          ? (line[at + 2 * c] << 8) | line[at + 2 * c + 1]
          : bits === 8
            ? line[at + c]
            : small(row, j);
      if (value !== ((high << 8) | low)) return false;
    }
    return true;
  };
  return (row, j, line, at) => {
    if (bits < 8) line[at] = (small(row, j) * 255) / most;
    else for (let k = 0; k < samples * bytes; k++) line[at + k] = row[j * samples * bytes + k];
    if (transparent === null) return;
    const alpha = isClear(line, row, j, at) ? 0 : 255;
    for (let k = 0; k < bytes; k++) line[at + samples * bytes + k] = alpha;
  };
}

/** Each byte plus what its filter foretells of it by the bytes to the left, above, and above left. */
function unfilter(
  filter: number,
  row: Uint8Array,
  above: Uint8Array,
  step: number,
  bad: (fact: string) => never,
): void {
  const { length } = row;
  switch (filter) {
    case 0:
      return;
    case 1:
      for (let i = step; i < length; i++) row[i] += row[i - step];
      return;
    case 2:
      for (let i = 0; i < length; i++) row[i] += above[i];
      return;
    case 3:
      for (let i = 0; i < step; i++) row[i] += above[i] >> 1;
      for (let i = step; i < length; i++) row[i] += (row[i - step] + above[i]) >> 1;
      return;
    case 4:
      for (let i = 0; i < step; i++) row[i] += above[i];
      for (let i = step; i < length; i++) row[i] += nearest(row[i - step], above[i], above[i - step]);
      return;
    default:
      bad(`a row has filter ${filter}; there are 0 to 4.`);
  }
}

/** Of left, above and above left the one that is closest to left + above - above left. */
function nearest(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [p, q, r] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
  return p <= q && p <= r ? left : q <= r ? above : corner;
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Gives only this part of it. */
  readonly slice?: readonly SliceItem[];
}

/**
 * The pixels of a picture: u8, or u16 where it has 16 bits, of shape [height, width] or [height, width, channels].
 *
 *     const photo = await png.load("photo.png"); // u8 [height, width, 3]
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `slice`: only this part; `signal`, `headers`
 * @returns a promise of the pixels
 * @throws TensorError where the file is not what it says
 * @example
 * const picture = tensor([[0, 255]], { dtype: "u8" });
 * await png.load(await png.encode(picture)); // → u8 [[0, 255]]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Tensor> {
  const { slice, ...rest } = readOptions("png.load", options, "{ slice }", [...sourceNames, "slice"]);
  const { input, signal } = await inputOf("png.load", source, rest);
  const file = await openInput("png.load", input, signal);
  return file.read(NAME, slice, signal === undefined ? undefined : { signal });
}

/* Writing ---------------------------------------------------------------------------------------------- */

const colourOf = [0, 4, 2, 6];

function writing(operation: string, t: Tensor): Writing {
  const held = hold(operation, t);
  const { shape, dtype } = held;
  const [height, width, channels = 1] = shape;
  const isKnown = dtype === "u8" || dtype === "u16" || dtype === "bool";
  const isPicture =
    (shape.length === 2 || shape.length === 3) && channels >= 1 && channels <= 4 && height > 0 && width > 0;
  if (!isKnown || !isPicture || Math.max(height, width) >= 2 ** 31) {
    held.release();
    fail(
      isKnown ? "shape" : "dtype",
      operation,
      isKnown ? `shape [${shape.join(", ")}] is no picture.` : `PNG has no ${dtype}.`,
      `Give u8, u16 or bool of shape [height, width] or [height, width, channels], with 1 to 4 channels and a pixel at least.${isFloat(dtype) ? '\nOf floats from 0 to 1: t.mul(255).round().to("u8").' : ""}`,
    );
  }
  const header = new Uint8Array(13);
  const view = viewOf(header);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8 * dtypes[dtype].bytes, colourOf[channels - 1], 0, 0, 0], 8);
  return {
    async *pieces() {
      yield SIGNATURE;
      yield chunkOf("IHDR", header);
      for await (const piece of deflated("deflate", filteredRows(held, height, width, channels))) {
        yield chunkOf("IDAT", piece);
      }
      yield chunkOf("IEND", new Uint8Array());
    },
    release: () => held.release(),
  };
}

function chunkOf(name: string, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 12);
  const view = viewOf(out);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) out[4 + i] = name.charCodeAt(i);
  out.set(data, 8);
  view.setUint32(data.length + 8, crc32(out.subarray(4, data.length + 8)));
  return out;
}

/** Bytes of rows that are handed over at a time. */
const PIECE = 256 << 10;

/** Every row with the filter that leaves the smallest bytes, which is what packs best. */
function* filteredRows(held: Held, height: number, width: number, channels: number): Iterable<Uint8Array> {
  const itemBytes = dtypes[held.dtype].bytes;
  const step = channels * itemBytes;
  const length = width * step;
  const tries = Array.from({ length: 5 }, () => new Uint8Array(length));
  let above = new Uint8Array(length);
  const some = Math.max(1, Math.floor(PIECE / (length + 1)));
  for (let i = 0; i < height; i += some) {
    const n = Math.min(some, height - i);
    const out = new Uint8Array(n * (length + 1));
    for (let k = 0; k < n; k++) {
      const row = held.at((i + k) * length, length).slice();
      if (itemBytes === 2) swapBytes(row, 2);
      if (held.dtype === "bool") for (let j = 0; j < length; j++) row[j] = row[j] === 0 ? 0 : 255;
      const filter = bestFilter(row, above, step, tries);
      out[k * (length + 1)] = filter;
      out.set(filter === 0 ? row : tries[filter], k * (length + 1) + 1);
      above = row;
    }
    yield out;
  }
}

function bestFilter(row: Uint8Array, above: Uint8Array, step: number, tries: readonly Uint8Array[]): number {
  let [best, least] = [0, Infinity];
  for (let filter = 0; filter < 5; filter++) {
    const out = tries[filter];
    let sum = 0;
    for (let i = 0; i < row.length; i++) {
      const left = i < step ? 0 : row[i - step];
      const corner = i < step ? 0 : above[i - step];
      const guess =
        filter === 0
          ? 0
          : filter === 1
            ? left
            : filter === 2
              ? above[i]
              : filter === 3
                ? (left + above[i]) >> 1
                : nearest(left, above[i], corner);
      const x = (row[i] - guess) & 255;
      out[i] = x;
      sum += x < 128 ? x : 256 - x;
      if (sum >= least) break;
    }
    if (sum < least) [best, least] = [filter, sum];
  }
  return best;
}

/**
 * The bytes of a PNG picture. A bool is black or white.
 *
 * @param t a tensor of any layout
 * @param options `signal`
 * @returns a promise of the file's bytes
 * @example
 * const bytes = await png.encode(zeros([2, 3, 3], { dtype: "u8" }));
 * (await png.load(bytes)).shape; // → [2, 3, 3]
 */
export async function encode(t: Tensor, options?: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { signal } = readOptions("png.encode", options, "{ signal }", ["signal"]);
  checkSignal("png.encode", signal);
  return toBytes(writing("png.encode", t), signal);
}

/**
 * Writes a PNG picture: wholly, or not at all.
 *
 *     await png.save("photo.png", photo);
 *
 * @param path where to; a file that is there is replaced
 * @param t a tensor of any layout
 * @param options `signal`
 * @example
 * await png.save("dot.png", tensor([[0, 255]], { dtype: "u8" }));
 * await png.load("dot.png"); // → u8 [[0, 255]]
 */
export async function save(path: string | URL, t: Tensor, options?: ReadOptions): Promise<void> {
  const { signal } = readOptions("png.save", options, "{ signal }", ["signal"]);
  checkSignal("png.save", signal);
  return toFile("png.save", path, writing("png.save", t), signal);
}
