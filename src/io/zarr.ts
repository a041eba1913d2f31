/** Zarr as every other format: an archive of its arrays, tensors loaded and saved by name. */
import { dtypes } from "../dtype.ts";
import { fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { isTensor, live, type Tensor } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import type { SliceItem } from "../view/slice.ts";
import { type Archive, makeArchive, readAll, readNames, type Taken } from "./archive.ts";
import { readTensors } from "./tensors.ts";
import { madeAside } from "./zarr-aside.ts";
import {
  arraysAt,
  create,
  createGroup,
  type Opened,
  readSource,
  type ZarrCreateOptions,
  type ZarrOpenOptions,
  type ZarrSource,
} from "./zarr-group.ts";
import { below } from "./zarr-keys.ts";

/** What the one array of a store is called. */
const NAME = "array";

/** The archive of what lies in a store; the registry calls it. */
export async function openArchive(operation: string, opened: Opened): Promise<Archive> {
  const { arrays, version, attributes } = await arraysAt(operation, opened);
  const items = arrays.map(({ name, array, refused }): Taken => {
    const base = { name: name === "" ? NAME : name, from: 0 };
    if (array === null) {
      const { fact, remedy = "", type, shape } = refused!;
      return {
        ...base,
        type,
        dtype: null,
        shape,
        bytes: 0,
        refusal: [fact, remedy],
        take: () => fail("file", operation, fact),
      };
    }
    const { type, dtype, shape } = array;
    const bytes = sizeOf(shape) * dtypes[dtype].bytes;
    const take = (picks: readonly SliceItem[] | null, signal: AbortSignal | undefined) =>
      array.read(picks, signal === undefined ? undefined : { signal });
    return { ...base, type, dtype, shape, bytes, chunks: array.shards ?? array.chunks, take };
  });
  const meta = {
    version,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  };
  return makeArchive({ format: "zarr", file: opened.shelf.name, items, meta });
}

/** The same for what a caller gave. */
export async function openFolder(
  operation: string,
  source: ZarrSource,
  options: ZarrOpenOptions,
): Promise<Archive> {
  return openArchive(operation, readSource(operation, source, options));
}

/** What to read. */
export interface LoadOptions extends ZarrOpenOptions {
  /** Reads only these. */
  readonly names?: readonly string[];
}

/**
 * All arrays of a store (or those of some names), by their path; the one at the root is called "array".
 *
 *     const { temperature } = await zarr.load("measured.zarr", { names: ["temperature"] });
 *
 * @param source a folder, a URL, a Map of keys and bytes, or a store
 * @param options `names`: only these; `path`, `signal`, `headers`, `loaders`
 * @returns a promise of the tensors by name
 * @example
 * const store = zarr.memoryStore();
 * await zarr.save(store, { x: tensor([1, 2]) });
 * (await zarr.load(store)).x; // → f32 [1, 2]
 */
export async function load(source: ZarrSource, options?: LoadOptions): Promise<Record<string, Tensor>> {
  const operation = "zarr.load";
  const known = ["signal", "headers", "followSymlinks", "path", "loaders", "version", "names"];
  const { names: given, ...rest } = readOptions(operation, options, "{ names }", known);
  const names = readNames(operation, given);
  return readAll(await openFolder(operation, source, rest), names, rest.signal);
}

/** How to write: all that `create` takes but what the tensor says. */
export interface SaveOptions extends Omit<ZarrCreateOptions, "shape" | "dtype"> {}

/**
 * Writes a tensor, or several by name, as arrays of a store: in a folder or in memory wholly, or not at all.
 *
 *     await zarr.save("out.zarr", x, { chunks: [256, 256], compressor: "gzip" });
 *     await zarr.save("both.zarr", { x, y });
 *
 * @param source a folder, a Map of keys and bytes, or a store
 * @param what a tensor, or several by name
 * @param options `chunks`, `compressor` and what else `create` takes
 * @example
 * const store = new Map();
 * await zarr.save(store, tensor([1, 2]));
 * (await zarr.load(store)).array; // → f32 [1, 2]
 */
export async function save(
  source: ZarrSource,
  what: Tensor | Readonly<Record<string, Tensor>>,
  options?: SaveOptions,
): Promise<void> {
  const operation = "zarr.save";
  const read = readOptions(operation, options, '{ compressor: "gzip" }');
  const { attributes, path = "", overwrite, version, signal, headers, followSymlinks, ...rest } = read;
  if ("shape" in rest || "dtype" in rest) {
    fail("value", operation, "shape and dtype are the tensor's.", "Leave them out.");
  }
  const target = {
    ...(version && { version }),
    ...(signal && { signal }),
    ...(headers && { headers }),
    ...(followSymlinks !== undefined && { followSymlinks }),
  };
  const about = { ...(attributes && { attributes }), ...(overwrite !== undefined && { overwrite }) };
  const one = async (store: ZarrSource, t: Tensor, at: string, more: object) => {
    const { dtype, frame } = live(operation, t);
    const array = await create(store, { ...rest, ...target, ...more, path: at, dtype, shape: frame.shape });
    await array.write(null, t, signal === undefined ? undefined : { signal });
  };
  const tensors = isTensor(what) ? null : readTensors(operation, what);
  const opened = readSource(operation, source, { ...target, path });
  return madeAside(operation, opened, overwrite === true, async (store) => {
    if (tensors === null) return one(store, what as Tensor, opened.path, about);
    await createGroup(store, { ...target, ...about, path: opened.path });
    for (const [name, t] of tensors) await one(store, t, below(opened.path, name), {});
  });
}
