/** NumPy's npz: npy files as members of a zip archive, stored or deflated, of any size. */
import { fail } from "../errors.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { type Archive, type Item, makeArchive, readAll, readNames } from "./archive.ts";
import { crc32, hex } from "./crc32.ts";
import { deflated } from "./deflate.ts";
import type { Held, Place } from "./into-heap.ts";
import { failFile, quoted, whyOutside } from "./names.ts";
import { npyParts } from "./npy.ts";
import { headerLength, NPY_PREFIX, type NpyHeader, parseNpy } from "./npy-header.ts";
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
import { readTensors } from "./tensors.ts";
import {
  bodyOf,
  directoryOf,
  inflated,
  localHeader,
  type Member,
  readDirectory,
  type Written,
} from "./zip.ts";

/**
 * Opens an npz file: reads its directory and the header of every array, and no element.
 *
 *     const file = await npz.open("arrays.npz");
 *     file.entries.map((e) => e.name); // ["x", "y"]
 *     const x = await file.read("x");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await npz.open(await npz.encode({ x: tensor([1, 2]) }));
 * file.entries.map((e) => e.name); // → [x]
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("npz.open", source, options);
  return openInput("npz.open", input, signal);
}

/** Members whose headers are read at the same time. */
const SIDE_BY_SIDE = 8;

export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const reader = await input.open(signal);
  try {
    const { members, directory } = await readDirectory(operation, input, reader);
    const starts = members.map((m) => m.header).sort((a, b) => a - b);
    const next = new Map(starts.map((from, i) => [from, starts[i + 1] ?? directory]));
    const arrays = members.filter((m) => m.name.endsWith(".npy"));
    const items: Item[] = [];
    for (let i = 0; i < arrays.length; i += SIDE_BY_SIDE) {
      const some = arrays.slice(i, i + SIDE_BY_SIDE);
      const read = await Promise.allSettled(
        some.map((m) => itemOf(operation, input, reader, m, next.get(m.header)!)),
      );
      for (const one of read) {
        if (one.status === "rejected") throw one.reason;
        items.push(one.value);
      }
    }
    const other = members.filter((m) => !m.name.endsWith(".npy")).map((m) => m.name);
    if (items.length === 0 && other.length > 0) failForeign(operation, input.name, other);
    return makeArchive({ format: "npz", file: input.name, items, meta: other.length === 0 ? {} : { other } });
  } finally {
    await reader.close();
  }
}

/** A zip file of something else. */
function failForeign(operation: string, file: string, names: readonly string[]): never {
  const some = names.slice(0, 3).map(quoted).join(", ");
  const isTorch = names.some((name) => name.endsWith("/data.pkl"));
  return failFile(
    operation,
    file,
    null,
    `it is a zip file without arrays: it has ${some}${names.length > 3 ? ", …" : ""}.`,
    isTorch
      ? "It is one of PyTorch, which holds a pickle: write its tensors with safetensors.torch.save_file."
      : "Members of npz end in .npy.",
  );
}

/** Bytes that hold a member's header and, mostly, that of its array. */
const WINDOW = 512;

async function itemOf(
  operation: string,
  input: Input,
  reader: Reader,
  member: Member,
  next: number,
): Promise<Item> {
  const { name: file } = input;
  const { header: at, size } = member;
  // One request where it would be four.
  const window = await reader.bytes(at, Math.min(WINDOW, next - at));
  const near = ahead(reader, at, window.slice());
  const body = await bodyOf(operation, file, near, member, next);
  const array = member.deflated ? inflated(operation, file, member, body, near) : shifted(near, body);
  let header: NpyHeader;
  let bytes: Uint8Array;
  try {
    const first = (await array.bytes(0, Math.min(NPY_PREFIX, size))).slice();
    const length = headerLength(operation, file, member.name, first);
    if (length > size) failFile(operation, file, member.name, "it ends inside of its header.");
    bytes = new Uint8Array(length);
    bytes.set(first.subarray(0, length));
    if (length > first.length)
      bytes.set(await array.bytes(first.length, length - first.length), first.length);
    header = parseNpy(operation, file, member.name, bytes);
  } finally {
    if (member.deflated) await array.close();
  }
  const elements = size - header.length;
  if (header.bytes !== null && header.bytes !== elements) {
    failFile(
      operation,
      file,
      member.name,
      `shape [${header.shape.join(", ")}] of ${header.type} takes ${header.bytes} bytes, ${elements} are there.`,
    );
  }
  const { type, dtype, shape, byteStrides, swap, refusal } = header;
  const name = member.name.slice(0, -4);
  const base = {
    name,
    type,
    dtype,
    shape,
    ...(byteStrides === null ? {} : { byteStrides }),
    bytes: elements,
    input,
    swap,
    ...(refusal === null ? {} : { refusal }),
  };
  if (member.deflated) {
    const unpack = (r: Reader) => shifted(inflated("npz.read", file, member, body, r), header.length);
    return { ...base, from: body, packed: member.packed, unpack };
  }
  const verify = (place: Place) => {
    let sum = crc32(bytes);
    for (let p = 0; p < place.bytes; p += 1 << 20)
      sum = crc32(place.at(p, Math.min(1 << 20, place.bytes - p)), sum);
    if (sum === member.crc) return;
    failFile("npz.read", file, name, `its checksum is ${hex(sum)}, it should be ${hex(member.crc)}.`);
  };
  return { ...base, from: body + header.length, verify };
}

/** A reader in which what lies at `by` begins at 0. */
const shifted = (reader: Reader, by: number): Reader => ({
  bytes: (from, length) => reader.bytes(from + by, length),
  fill: (place, at, from, length) => reader.fill(place, at, from + by, length),
  close: () => reader.close(),
});

/** A reader that has some bytes already. */
const ahead = (reader: Reader, at: number, known: Uint8Array): Reader => ({
  ...reader,
  bytes: async (from, length) =>
    from >= at && from + length <= at + known.length
      ? known.subarray(from - at, from - at + length)
      : reader.bytes(from, length),
});

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only these. */
  readonly names?: readonly string[];
}

/**
 * All tensors of an npz file (or those of some names), by name.
 *
 *     const { x, y } = await npz.load("arrays.npz");
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `names`: only these; `signal`, `headers`
 * @returns a promise of the tensors by name
 * @throws TensorError where the file is not what it says
 * @example
 * const { x } = await npz.load(await npz.encode({ x: tensor([1, 2]) }));
 * x; // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "npz.load";
  const { names: given, ...rest } = readOptions(operation, options, "{ names }", [...sourceNames, "names"]);
  const names = readNames(operation, given);
  const { input, signal } = await inputOf(operation, source, rest);
  return readAll(await openInput(operation, input, signal), names, signal);
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** How to write. */
export interface SaveOptions extends ReadOptions {
  /** Deflates the arrays, as np.savez_compressed does. Default false. */
  readonly compress?: boolean;
}

interface Part {
  readonly name: string;
  readonly header: Uint8Array;
  readonly held: Held;
}

function holdAll(operation: string, tensors: Readonly<Record<string, Tensor>>): Part[] {
  const parts: Part[] = [];
  try {
    for (const [name, t] of readTensors(operation, tensors)) {
      const why = whyOutside(name);
      if (why !== null || new TextEncoder().encode(name).length > 60_000) {
        fail(
          "value",
          operation,
          `the name ${quoted(name)} ${why ?? "is too long"}.`,
          "Members are named like files.",
        );
      }
      parts.push({ name: `${name}.npy`, ...npyParts(operation, t) });
    }
  } catch (error) {
    for (const { held } of parts) held.release();
    throw error;
  }
  return parts;
}

function writing(parts: readonly Part[], compress: boolean): Writing {
  return {
    async *pieces() {
      const members: Written[] = [];
      const places: number[] = [];
      let at = 0;
      for (const { name, header, held } of parts) {
        const size = header.length + held.bytes;
        let crc = crc32(header);
        for await (const piece of piecesOf(held)) crc = crc32(piece, crc);
        const all = async function* () {
          yield header;
          yield* piecesOf(held);
        };
        let packed = size;
        const kept: Uint8Array[] = [];
        if (compress) {
          packed = 0;
          // Its length comes before it, so it is made first.
          for await (const piece of deflated("deflate-raw", all())) {
            kept.push(piece);
            packed += piece.length;
          }
        }
        const member = { name, crc, size, packed, deflated: compress };
        const local = localHeader(member);
        yield local;
        yield* compress ? kept : all();
        members.push(member);
        places.push(at);
        at += local.length + packed;
      }
      yield directoryOf(members, places, at);
    },
    release() {
      for (const { held } of parts) held.release();
    },
  };
}

function readSave(operation: string, options: SaveOptions | undefined) {
  const { signal, compress } = readOptions(operation, options, "{ compress: true }", ["signal", "compress"]);
  checkSignal(operation, signal);
  checkFlag(operation, "compress", compress);
  return { signal, compress: compress === true };
}

/**
 * The bytes of an npz file with these tensors in it.
 *
 * @param tensors by name
 * @param options `compress`, `signal`
 * @returns a promise of the file's bytes
 * @example
 * const bytes = await npz.encode({ x: tensor([1, 2]) }, { compress: true });
 * (await npz.load(bytes)).x; // → f32 [1, 2]
 */
export async function encode(
  tensors: Readonly<Record<string, Tensor>>,
  options?: SaveOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const { signal, compress } = readSave("npz.encode", options);
  return toBytes(writing(holdAll("npz.encode", tensors), compress), signal);
}

/**
 * Writes an npz file: wholly, or not at all.
 *
 *     await npz.save("arrays.npz", { x, y }, { compress: true });
 *
 * @param path where to; a file that is there is replaced
 * @param tensors by name
 * @param options `compress`, `signal`
 * @example
 * await npz.save("both.npz", { x: tensor([1]), y: tensor([2]) });
 * (await npz.load("both.npz")).y; // → f32 [2]
 */
export async function save(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  options?: SaveOptions,
): Promise<void> {
  const { signal, compress } = readSave("npz.save", options);
  return toFile("npz.save", path, writing(holdAll("npz.save", tensors), compress), signal);
}
