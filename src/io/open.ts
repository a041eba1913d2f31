/** The registry: one line a format. `open` finds the format of a file by its first bytes, `save` by the name's ending. */
import { fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { isTensor, type Tensor } from "../tensor.ts";
import type { Archive } from "./archive.ts";
import * as arrow from "./arrow.ts";
import * as csv from "./csv.ts";
import * as gguf from "./gguf.ts";
import * as hdf5 from "./hdf5.ts";
import { Streamed } from "./into-heap.ts";
import { failFile, quoted } from "./names.ts";
import { isNode, nodeModules } from "./node.ts";
import * as npy from "./npy.ts";
import { isNpy } from "./npy-header.ts";
import * as npz from "./npz.ts";
import * as onnx from "./onnx.ts";
import * as parquet from "./parquet.ts";
import type { Peers } from "./peer.ts";
import * as png from "./png.ts";
import * as pnm from "./pnm.ts";
import * as safetensors from "./safetensors.ts";
import {
  type Input,
  inputOf,
  isReal,
  type ReadOptions,
  type Source,
  type SourceOptions,
  sourceNames,
} from "./source.ts";
import { strangerOf } from "./strangers.ts";
import { readPath } from "./target.ts";
import * as wav from "./wav.ts";
import * as zarr from "./zarr.ts";
import { isZip } from "./zip.ts";

interface Format {
  readonly name: string;
  readonly endings: readonly string[];
  /** Does a file begin so? */
  readonly matches?: (head: Uint8Array, size: number) => boolean;
  readonly open?: (
    operation: string,
    input: Input,
    signal: AbortSignal | undefined,
    settings: { readonly peers: Peers },
  ) => Promise<Archive>;
  /** Where it is a folder and not a file. */
  readonly folder?: (operation: string, source: string | URL, options: SourceOptions) => Promise<Archive>;
  /** Where it can be written: one tensor, several by name, or both. */
  readonly save?: (path: string | URL, what: never, options?: ReadOptions) => Promise<void>;
  readonly holds?: "one" | "several" | "both";
}

/** Those with a magic of their own first. */
const formats: readonly Format[] = [
  { name: "npy", endings: [".npy"], matches: isNpy, open: npy.openInput, save: npy.save, holds: "one" },
  { name: "npz", endings: [".npz"], matches: isZip, open: npz.openInput, save: npz.save, holds: "several" },
  {
    name: "gguf",
    endings: [".gguf"],
    matches: gguf.isGguf,
    open: gguf.openInput,
    save: gguf.save,
    holds: "several",
  },
  {
    name: "safetensors",
    endings: [".safetensors", ".safetensors.index.json"],
    matches: safetensors.isSafetensors,
    open: safetensors.openInput,
    save: safetensors.save,
    holds: "several",
  },
  { name: "wav", endings: [".wav"], matches: wav.isWav, open: wav.openInput, save: wav.save, holds: "one" },
  {
    name: "pnm",
    endings: [".ppm", ".pgm", ".pam", ".pnm"],
    matches: pnm.isPnm,
    open: pnm.openInput,
    save: pnm.save,
    holds: "one",
  },
  { name: "png", endings: [".png"], matches: png.isPng, open: png.openInput, save: png.save, holds: "one" },
  {
    name: "arrow",
    endings: [".arrow", ".arrows", ".feather", ".ipc"],
    matches: arrow.isArrow,
    open: arrow.openInput,
    save: arrow.save,
    holds: "several",
  },
  {
    name: "parquet",
    endings: [".parquet"],
    matches: parquet.isParquet,
    open: parquet.openInput,
    save: parquet.save,
    holds: "several",
  },
  { name: "hdf5", endings: [".h5", ".hdf5"], matches: hdf5.isHdf5, open: hdf5.openInput },
  // Text has no magic: it is read with csv.load, which gives names of columns too.
  { name: "csv", endings: [".csv", ".tsv"], save: csv.save, holds: "one" },
  { name: "onnx", endings: [".onnx"], matches: onnx.isOnnx, open: onnx.openInput },
  { name: "zarr", endings: [".zarr"], folder: zarr.openFolder, save: zarr.save, holds: "both" },
];

/** Bytes that tell one format from another. */
const HEAD = 64;

/** A path that is one of a folder, or a URL that ends as one of a format does that is a folder; null: it is neither. */
async function folderOf(source: unknown): Promise<string | URL | null> {
  const isUrl = isReal(URL, "href", source);
  const text = isUrl ? (Reflect.get(URL.prototype, "href", source as URL) as string) : source;
  if (typeof text !== "string") return null;
  const endings = formats.flatMap((f) => (f.folder === undefined ? [] : f.endings));
  if (/^https?:/i.test(text) || !isNode()) {
    const path = text
      .replace(/[?#].*$/s, "")
      .replace(/\/$/, "")
      .toLowerCase();
    return endings.some((ending) => path.endsWith(ending)) ? text : null;
  }
  const { fs, url } = nodeModules("open");
  try {
    const facts = await fs.stat(/^file:/i.test(text) ? url.fileURLToPath(text) : text);
    return facts.isDirectory() ? (source as string | URL) : null;
  } catch {
    return null;
  }
}

/**
 * Opens a file of any format that is known, and reads no element. Its format is found by its first bytes, not by its name; a
 * folder is one of Zarr.
 *
 *     const file = await open("model.safetensors");
 *     file.format; // "safetensors"
 *     for (const { name, dtype, shape } of file.entries) console.log(name, dtype, shape);
 *     const w = await file.read("weight", ["0:10"]);
 *
 * @param source a path, a URL, bytes, a Blob, or an object with `size` and `read`
 * @param options `signal`, `headers`, `files`, `followSymlinks`, `peers`
 * @returns a promise of the open file: its format, its entries, and `read`
 * @throws TensorError where no format knows it
 * @example
 * const file = await open(await npy.encode(tensor([1, 2])));
 * file.format; // → npy
 */
export async function open(source: Source, options?: SourceOptions): Promise<Archive> {
  const read = readOptions("open", options, "{ signal }", sourceNames);
  const folder = await folderOf(source);
  if (folder !== null) return formats.find((f) => f.folder !== undefined)!.folder!("open", folder, read);
  const { input, signal, peers } = await inputOf("open", source, read);
  const reader = await input.open(signal);
  let head: Uint8Array;
  try {
    head = (await reader.bytes(0, Math.min(HEAD, input.size))).slice();
  } finally {
    await reader.close();
  }
  const format = formats.find((f) => f.matches?.(head, input.size));
  if (format?.open !== undefined) return format.open("open", input, signal, { peers });
  const stranger = strangerOf(head);
  if (stranger !== null)
    failFile("open", input.name, null, `it is ${stranger.name}, which is not read here.`, stranger.remedy);
  // What its name promises says best what is wrong with it; and HDF5 may begin later.
  const name = input.name.toLowerCase().replace(/"$/, "");
  const named = formats.find((f) => f.open !== undefined && f.endings.some((e) => name.endsWith(e)));
  if (named?.open !== undefined && head.length > 0) return named.open("open", input, signal, { peers });
  const known = formats
    .flatMap((f) => (f.open === undefined && f.folder === undefined ? [] : f.name))
    .join(", ");
  const begins = [...head.subarray(0, 8)].map((x) => x.toString(16).padStart(2, "0")).join(" ");
  const fact = head.length === 0 ? "it is empty." : `no format that is known begins with ${begins}.`;
  return failFile(
    "open",
    input.name,
    null,
    fact,
    `Known are ${known}; tables of numbers in text are read with csv.load.`,
  );
}

/**
 * Writes tensors to a file, in the format that its name ends in: .npy, .csv, .tsv, .wav, .png and .ppm take one tensor,
 * .npz, .safetensors, .gguf, .arrow and .parquet take several by name, .zarr takes either. The formats' own `save` have more
 * options.
 *
 *     await save("x.npy", x);
 *     await save("both.npz", { x, y });
 *
 * @param path where to; a file that is there is replaced
 * @param what a tensor, or several by name
 * @param options `signal`
 * @throws TensorError where no format has this ending
 * @example
 * await save("x.npy", tensor([1, 2]));
 * await npy.load("x.npy"); // → f32 [1, 2]
 */
export async function save(
  path: string | URL,
  what: Tensor | Readonly<Record<string, Tensor>>,
  options?: ReadOptions,
): Promise<void> {
  const name = readPath("save", path);
  const format = checkEnding("save", name);
  const isOne = isTensor(what) || Streamed.is(what);
  if (format.holds !== "both" && isOne !== (format.holds === "one")) {
    fail(
      "value",
      "save",
      format.holds === "one" ? `${format.name} holds one tensor.` : `${format.name} holds tensors by name.`,
      format.holds === "one" ? "Give a tensor." : "Give an object: { x, y }.",
    );
  }
  return format.save(name, what as never, options);
}

/** The format that a name ends in, if it is written. */
export function checkEnding(operation: string, name: string): Format & Required<Pick<Format, "save">> {
  const written = formats.filter((f): f is Format & Required<Pick<Format, "save">> => f.save !== undefined);
  const format = written.find((f) => f.endings.some((e) => name.toLowerCase().endsWith(e)));
  return (
    format ??
    fail(
      "value",
      operation,
      `no format is written to ${quoted(name)}.`,
      `Endings are ${written.flatMap((f) => f.endings).join(", ")}.`,
    )
  );
}
