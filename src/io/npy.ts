/** NumPy's npy: one array a file. Both orders of axes, both orders of bytes; complex numbers as pairs. */
import { fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import type { SliceItem } from "../view/slice.ts";
import { type Archive, type Item, makeArchive } from "./archive.ts";
import { type Held, hold } from "./into-heap.ts";
import { failFile } from "./names.ts";
import { descrOf, headerLength, NPY_PREFIX, npyHeader, parseNpy } from "./npy-header.ts";
import {
  checkSignal,
  type Input,
  inputOf,
  type ReadOptions,
  type Source,
  type SourceOptions,
  sourceNames,
} from "./source.ts";
import { piecesOf, toBytes, toFile, type Writing } from "./target.ts";

/** What the one entry of an npy file is called. */
const NAME = "array";

/**
 * Opens an npy file: reads its header, and no element.
 *
 *     const file = await npy.open("big.npy");
 *     file.entries[0].shape; // [1000000, 128]
 *     const some = await file.read("array", ["10:20"]);
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its entries, and `read`
 * @throws TensorError where the file is not what it says
 * @example
 * const file = await npy.open(await npy.encode(zeros([2, 3])));
 * file.entries[0].shape; // → [2, 3]
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const { input, signal } = await inputOf("npy.open", source, options);
  return openInput("npy.open", input, signal);
}

/** The same for what is already an input; the registry calls it. */
export async function openInput(
  operation: string,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<Archive> {
  const reader = await input.open(signal);
  try {
    const head = await reader.bytes(0, Math.min(NPY_PREFIX, input.size));
    const length = headerLength(operation, input.name, null, head);
    if (length > input.size) failFile(operation, input.name, null, "it ends inside of its header.");
    const header = parseNpy(operation, input.name, null, await reader.bytes(0, length));
    const bytes = input.size - length;
    if (header.bytes !== null && header.bytes !== bytes) {
      const shape = `[${header.shape.join(", ")}]`;
      failFile(
        operation,
        input.name,
        null,
        `shape ${shape} of ${header.type} takes ${header.bytes} bytes, ${bytes} follow the header.`,
        bytes < header.bytes ? "The file has been cut." : "There is more in the file than one array.",
      );
    }
    const { type, dtype, shape, swap, byteStrides, refusal, fortran } = header;
    const item: Item = {
      name: NAME,
      type,
      dtype,
      shape,
      ...(byteStrides === null ? {} : { byteStrides }),
      from: length,
      bytes,
      input,
      swap,
      ...(refusal === null ? {} : { refusal }),
    };
    return makeArchive({ format: "npy", file: input.name, items: [item], meta: { fortranOrder: fortran } });
  } finally {
    await reader.close();
  }
}

/** What to read. */
export interface LoadOptions extends SourceOptions {
  /** Reads only this part of it, as `slice` takes it. */
  readonly slice?: readonly SliceItem[];
}

/**
 * The tensor in an npy file.
 *
 *     const x = await npy.load("x.npy");
 *     const few = await npy.load("x.npy", { slice: ["0:10", ":", "::2"] });
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `slice`: only this part; `signal`, `headers`
 * @returns a promise of the tensor
 * @throws TensorError where the file is not what it says
 * @example
 * await npy.load(await npy.encode(tensor([1, 2]))); // → f32 [1, 2]
 */
export async function load(source: Source, options?: LoadOptions): Promise<Tensor> {
  const read = readOptions("npy.load", options, "{ slice }", [...sourceNames, "slice"]);
  const { slice, ...rest } = read;
  const { input, signal } = await inputOf("npy.load", source, rest);
  const file = await openInput("npy.load", input, signal);
  return file.read(NAME, slice, signal === undefined ? undefined : { signal });
}

/** The header and the bytes of one tensor; a transposed matrix is written as it lies. */
export function npyParts(operation: string, t: Tensor): { header: Uint8Array; held: Held } {
  const held = hold(operation, t, true);
  const descr = descrOf(held.dtype);
  if (descr === null) {
    held.release();
    fail(
      "dtype",
      operation,
      `NumPy has no ${held.dtype}.`,
      'Convert it, t.to("f32"), or write safetensors, which has it.',
    );
  }
  return { header: npyHeader(descr, held.shape, held.fortran), held };
}

function writing(operation: string, t: Tensor): Writing {
  const { header, held } = npyParts(operation, t);
  return {
    bytes: header.length + held.bytes,
    async *pieces() {
      yield header;
      yield* piecesOf(held);
    },
    release: () => held.release(),
  };
}

/**
 * The bytes of an npy file with this tensor in it.
 *
 * @param t a tensor of any layout
 * @param options `signal`
 * @returns a promise of the file's bytes
 * @example
 * (await npy.encode(tensor([1, 2]))).length; // → 136
 */
export async function encode(t: Tensor, options?: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { signal } = readOptions("npy.encode", options, "{ signal }", ["signal"]);
  checkSignal("npy.encode", signal);
  return toBytes(writing("npy.encode", t), signal);
}

/**
 * Writes an npy file: wholly, or not at all.
 *
 *     await npy.save("x.npy", x);
 *
 * @param path where to; a file that is there is replaced
 * @param t a tensor of any layout
 * @param options `signal`
 * @example
 * await npy.save("x.npy", tensor([1, 2]));
 * await npy.load("x.npy"); // → f32 [1, 2]
 */
export async function save(path: string | URL, t: Tensor, options?: ReadOptions): Promise<void> {
  const { signal } = readOptions("npy.save", options, "{ signal }", ["signal"]);
  checkSignal("npy.save", signal);
  return toFile("npy.save", path, writing("npy.save", t), signal);
}
