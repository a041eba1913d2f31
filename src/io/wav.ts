/**
 * WAV: sound as frames × channels. Whole numbers of 8 to 32 bits and floats, also beyond 4 GiB (RF64); 24-bit samples are
 * widened to i32, which keeps their values.
 */
import { type DType, dtypes } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import type { SliceItem } from "../view/slice.ts";
import { type Archive, checkFileShape, denseStrides, type Item, makeArchive } from "./archive.ts";
import { hold, takePlace } from "./into-heap.ts";
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
import { piecesOf, toBytes, toFile, type Writing } from "./target.ts";

const NAME = "audio";
const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
/** Chunks that are not sound; more of them is no file that anybody wrote. */
const MOST_CHUNKS = 1000;

const fourcc = (b: Uint8Array, at: number) => String.fromCharCode(...b.subarray(at, at + 4));
export const isWav = (head: Uint8Array): boolean =>
  head.length >= 12 && ["RIFF", "RF64", "BW64"].includes(fourcc(head, 0)) && fourcc(head, 8) === "WAVE";

/** By kind and bits. */
const types: Readonly<Record<string, DType>> = {
  "1 8": "u8",
  "1 16": "i16",
  "1 24": "i32",
  "1 32": "i32",
  "3 32": "f32",
  "3 64": "f64",
};

/**
 * Opens a WAV file: reads its header, and no sample. Its one entry, "audio", is frames × channels; `meta` has `sampleRate`.
 *
 *     const file = await wav.open("long.wav");
 *     const second = await file.read("audio", [[0, file.meta.sampleRate]]);
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await wav.open(await wav.encode(tensor([0, 0.5]), { sampleRate: 8000 }));
 * file.meta.sampleRate; // → 8000
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("wav.open", source, options);
  return openInput("wav.open", input, signal);
}

interface Format {
  readonly kind: number;
  readonly channels: number;
  readonly sampleRate: number;
  readonly bits: number;
  /** Bytes of a frame. */
  readonly align: number;
}

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const { name: file, size } = input;
  const bad = (fact: string): never => failFile(operation, file, null, fact);
  const reader = await input.open(signal);
  try {
    const head = await reader.bytes(0, Math.min(12, size));
    if (!isWav(head)) bad("it does not begin as a WAV file.");
    const isLong = fourcc(head, 0) !== "RIFF";
    let longData: number | null = null;
    let format: Format | null = null;
    let at = 12;
    for (let i = 0; i < MOST_CHUNKS && at + 8 <= size; i++) {
      const chunk = await reader.bytes(at, 8);
      const id = fourcc(chunk, 0);
      let length = new DataView(chunk.buffer, chunk.byteOffset).getUint32(4, true);
      if (id === "data" && isLong && length === 0xffffffff && longData !== null) length = longData;
      const from = at + 8;
      if (from + length > size)
        bad(`its chunk ${quoted(id)} takes ${length} bytes, ${size - from} are there.`);
      if (id === "ds64" && length >= 16) {
        const more = await reader.bytes(from, 16);
        longData = Number(new DataView(more.buffer, more.byteOffset).getBigUint64(8, true));
        if (!Number.isSafeInteger(longData)) bad(`its data would have ${longData} bytes.`);
      } else if (id === "fmt ") format = await readFormat(reader, from, length, bad);
      else if (id === "data") {
        if (format === null) return bad("its samples come before their format.");
        const item = itemOf(operation, input, format, from, length);
        const { sampleRate, channels, bits } = format;
        const meta = Object.freeze({ sampleRate, channels, bits });
        return makeArchive({ format: "wav", file, items: [item], meta });
      }
      // Chunks begin at even places.
      at = from + length + (length % 2);
    }
    return bad("it has no samples.");
  } finally {
    await reader.close();
  }
}

async function readFormat(
  reader: Reader,
  from: number,
  length: number,
  bad: (fact: string) => never,
): Promise<Format> {
  if (length < 16) bad(`its format takes ${length} bytes, 16 at least are needed.`);
  const bytes = await reader.bytes(from, Math.min(length, 40));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = view.getUint16(0, true);
  return {
    kind: kind === EXTENSIBLE && bytes.length >= 26 ? view.getUint16(24, true) : kind,
    channels: view.getUint16(2, true),
    sampleRate: view.getUint32(4, true),
    align: view.getUint16(12, true),
    bits: view.getUint16(14, true),
  };
}

function itemOf(operation: string, input: Input, format: Format, from: number, length: number): Item {
  const { kind, channels, bits, align } = format;
  const { name: file } = input;
  const bad = (fact: string): never => failFile(operation, file, NAME, fact);
  const type = `${kind === PCM ? "PCM" : kind === FLOAT ? "float" : `format ${kind}`} ${bits}`;
  const dtype = types[`${kind} ${bits}`];
  const width = bits / 8;
  if (channels === 0 || align === 0 || length % align !== 0) {
    bad(`${length} bytes are no whole frames of ${align} bytes in ${channels} channels.`);
  }
  const frames = length / align;
  const shape = [frames, channels];
  const base = { name: NAME, type, shape, from, input };
  if (dtype === undefined) {
    const refusal = [`samples of ${type} bits are not read here.`, "Convert it to PCM or floats."] as const;
    return { ...base, dtype: null, bytes: length, refusal };
  }
  if (align !== channels * width)
    bad(`its frames take ${align} bytes, ${channels} samples of ${bits} bits ${channels * width}.`);
  const bytes = checkFileShape(operation, file, NAME, shape, dtypes[dtype].bytes);
  const item = { ...base, dtype, bytes, byteStrides: denseStrides(shape, dtypes[dtype].bytes) };
  if (bits !== 24) return item;
  return { ...item, decode: (reader) => widened(reader, from, frames * channels) };
}

/** Bytes of 24-bit samples that are read at a time; a multiple of 3. */
const STEP = 3 << 18;

async function widened(reader: Reader, from: number, count: number) {
  const place = takePlace("wav.read", "i32", count * 4);
  try {
    for (let at = 0; at < count * 3; at += STEP) {
      const piece = await reader.bytes(from + at, Math.min(STEP, count * 3 - at));
      const target = place.at((at / 3) * 4, (piece.length / 3) * 4);
      const out = new Int32Array(target.buffer, target.byteOffset, target.byteLength / 4);
      for (let i = 0, p = 0; i < out.length; i++, p += 3) {
        out[i] = ((piece[p] << 8) | (piece[p + 1] << 16) | (piece[p + 2] << 24)) >> 8;
      }
    }
    return place;
  } catch (error) {
    place.release();
    throw error;
  }
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only this part of it: frames, then channels. */
  readonly slice?: readonly SliceItem[];
}

/** Sound: frames × channels, and frames a second. */
export interface Sound {
  /** Samples: frames × channels. */
  readonly data: Tensor;
  /** Frames a second. */
  readonly sampleRate: number;
}

/**
 * The samples of a WAV file.
 *
 *     const { data, sampleRate } = await wav.load("speech.wav");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `slice`: only this part; `signal`, `headers`
 * @returns a promise of samples and their rate
 * @throws TensorError where the file is not what it says
 * @example
 * const { data } = await wav.load(await wav.encode(tensor([0, 0.5]), { sampleRate: 8000 }));
 * data; // → f32 [[0], [0.5]]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Sound> {
  const { slice, ...rest } = readOptions("wav.load", options, "{ slice }", [...sourceNames, "slice"]);
  const { input, signal } = await inputOf("wav.load", source, rest);
  const file = await openInput("wav.load", input, signal);
  const data = await file.read(NAME, slice, signal === undefined ? undefined : { signal });
  return { data, sampleRate: file.meta.sampleRate as number };
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** How to write. */
export interface SaveOptions extends ReadOptions {
  /** Frames a second. Default 44100. */
  readonly sampleRate?: number;
}

function writing(operation: string, t: Tensor, sampleRate: unknown = 44100): Writing {
  if (!(Number.isInteger(sampleRate) && (sampleRate as number) > 0 && (sampleRate as number) < 2 ** 32)) {
    fail("value", operation, `sampleRate is ${describe(sampleRate)}.`, "Use frames a second, such as 44100.");
  }
  const held = hold(operation, t);
  const { shape, dtype, bytes } = held;
  const [, channels = 1] = shape;
  const width = dtypes[dtype].bytes;
  const known = ["u8", "i16", "i32", "f32", "f64"].includes(dtype);
  const wrong = !known
    ? `WAV has no ${dtype}.`
    : shape.length < 1 || shape.length > 2 || channels < 1 || channels * width > 0xffff
      ? `shape [${shape.join(", ")}] is no sound.`
      : bytes > 0xffffff00
        ? `${bytes} bytes are too many for a WAV file.`
        : null;
  if (wrong !== null) {
    held.release();
    fail(known ? "shape" : "dtype", operation, wrong, "Give frames × channels of u8, i16, i32, f32 or f64.");
  }
  const padding = bytes % 2;
  const head = new Uint8Array(44);
  const view = new DataView(head.buffer);
  const put = (at: number, text: string) => head.set(new TextEncoder().encode(text), at);
  put(0, "RIFF");
  view.setUint32(4, 36 + bytes + padding, true);
  put(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, dtype.startsWith("f") ? FLOAT : PCM, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate as number, true);
  view.setUint32(28, Math.min(2 ** 32 - 1, (sampleRate as number) * channels * width), true);
  view.setUint16(32, channels * width, true);
  view.setUint16(34, 8 * width, true);
  put(36, "data");
  view.setUint32(40, bytes, true);
  return {
    bytes: 44 + bytes + padding,
    async *pieces() {
      yield head;
      yield* piecesOf(held);
      yield new Uint8Array(padding);
    },
    release: () => held.release(),
  };
}

/**
 * The bytes of a WAV file with these samples: frames, or frames × channels.
 *
 * @param t a tensor of any layout
 * @param options `sampleRate`; `signal`
 * @returns a promise of the file's bytes
 * @example
 * const bytes = await wav.encode(tensor([0, 0.5]), { sampleRate: 8000 });
 * (await wav.load(bytes)).sampleRate; // → 8000
 */
export async function encode(t: Tensor, options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { signal, sampleRate } = readOptions("wav.encode", options, "{ sampleRate }", [
    "signal",
    "sampleRate",
  ]);
  checkSignal("wav.encode", signal);
  return toBytes(writing("wav.encode", t, sampleRate), signal);
}

/**
 * Writes a WAV file: wholly, or not at all.
 *
 *     await wav.save("tone.wav", samples, { sampleRate: 48000 });
 *
 * @param path where to; a file that is there is replaced
 * @param t a tensor of any layout
 * @param options `sampleRate`; `signal`
 * @example
 * await wav.save("tone.wav", tensor([0, 0.5]), { sampleRate: 8000 });
 * (await wav.load("tone.wav")).data.shape; // → [2, 1]
 */
export async function save(path: string | URL, t: Tensor, options?: SaveOptions): Promise<void> {
  const { signal, sampleRate } = readOptions("wav.save", options, "{ sampleRate }", ["signal", "sampleRate"]);
  checkSignal("wav.save", signal);
  return toFile("wav.save", path, writing("wav.save", t, sampleRate), signal);
}
