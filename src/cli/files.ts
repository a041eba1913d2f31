/** Where the command line meets the file formats: the one place that knows both. */
import { scope } from "../api.ts";
import type { DType } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import type { Archive as OpenArchive } from "../io/archive.ts";
import * as arrow from "../io/arrow.ts";
import * as csv from "../io/csv.ts";
import * as gguf from "../io/gguf.ts";
import { Streamed } from "../io/into-heap.ts";
import * as npy from "../io/npy.ts";
import { checkEnding, open, save } from "../io/open.ts";
import * as parquet from "../io/parquet.ts";
import * as png from "../io/png.ts";
import * as safetensors from "../io/safetensors.ts";
import { toFile } from "../io/target.ts";
import * as wav from "../io/wav.ts";
import { madeAside } from "../io/zarr-aside.ts";
import * as zarr from "../io/zarr-group.ts";
import { readGguf } from "../quantised/gguf.ts";
import { isQuantised, type Quantised } from "../quantised/quantised.ts";
import { blockTypeOf } from "../quantised/types.ts";
import type { Tensor } from "../tensor.ts";
import type { SliceItem } from "../view/slice.ts";
import type { Archive, ChunkSettings, Entry, Files, Lazy } from "./archive-types.ts";
import { given } from "./command.ts";

/** Formats that take a tensor piece by piece, so that it need not fit in memory. */
const inPieces = /\.(npy|npz|safetensors|gguf|wav|arrow|arrows|feather|ipc|parquet|ppm|pgm|pam|pnm)$/i;

export const files: Files = {
  async open(source, links = false) {
    const isTable = typeof source === "string" ? /\.(csv|tsv|txt|dat)$/i.test(source) : isText(source);
    return isTable
      ? openTable(source)
      : withBlocks(await open(source, links ? { followSymlinks: true } : {}));
  },
  async save(path, tensors, from) {
    const ending = path.toLowerCase();
    if (/\.(csv|tsv)$/.test(ending)) return saveTable(path, tensors);
    checkEnding("save", path);
    if (ending.endsWith(".index.json")) return save(path, byName(tensors, tensors.map(streamed)));
    if (!inPieces.test(path)) return saveWhole(path, tensors);
    if (ending.endsWith(".gguf")) return saveGguf(path, tensors, from);
    const lazy = tensors.map(streamed);
    const named = byName(tensors, lazy);
    if (ending.endsWith(".npy")) return npy.save(path, only(path, lazy));
    if (ending.endsWith(".wav")) return wav.save(path, only(path, lazy), rateOf(from));
    if (ending.endsWith(".safetensors")) return safetensors.save(path, named, { meta: textsOf(from.meta) });
    if (/\.(arrow|arrows|feather|ipc)$/.test(ending)) return arrow.save(path, named);
    if (ending.endsWith(".parquet")) return parquet.save(path, named);
    return ending.endsWith(".npz") ? save(path, named) : save(path, only(path, lazy));
  },
  leaves(path, { format, meta }) {
    const of = (key: string) => Object.keys((meta[key] as object | undefined) ?? {});
    const all = isOnlyTheirs(format)
      ? Object.keys(meta)
      : ["attributes", "schema", "pairs", "props"].flatMap(of);
    const ending = path.toLowerCase();
    if (ending.endsWith(".gguf") && format === "gguf") return [];
    if (/\.zarr[/\\]?$/.test(ending) && format === "zarr") return [];
    const kept = ending.endsWith(".safetensors")
      ? textsOf(meta)
      : ending.endsWith(".wav")
        ? rateOf({ meta })
        : {};
    return all.filter((name) => !Object.hasOwn(kept, name));
  },
  savePicture: (path, picture) => png.save(path, picture),
  target(path, from, isSeveral, { version, overwrite, chunks, shards, compressor }, fill) {
    if (!/\.zarr[/\\]?$/i.test(path)) return null;
    const common = { ...given({ version }), overwrite };
    const about = from.format === "zarr" ? from.meta.attributes : undefined;
    const attributes = about === undefined ? {} : { attributes: about as Readonly<Record<string, unknown>> };
    const opened = zarr.readSource("convert", path, given({ version }));
    return madeAside("convert", opened, overwrite, async (store) => {
      if (isSeveral) await zarr.createGroup(store, { ...common, ...attributes });
      return fill({
        async add(name, dtype, shape) {
          const more = name === null ? { ...attributes, ...common } : { ...common, path: name };
          const sizes = given({ ...fitted(shape, chunks, shards), compressor });
          const array = await zarr.create(store, { ...sizes, ...more, dtype, shape });
          return { chunks: array.shards ?? array.chunks, write: (slice, t) => array.write(slice, t) };
        },
      });
    });
  },
};

/** Sizes of chunks and shards that reach no further than the tensor does: all of a chunk is written. */
function fitted(
  shape: readonly number[],
  chunks: readonly number[] | undefined,
  shards: readonly number[] | undefined,
): Pick<ChunkSettings, "chunks" | "shards"> {
  // Numbers that do not fit a tensor's axes are refused by who makes it.
  const cut = (sizes: readonly number[] | undefined, to: readonly number[]) =>
    sizes?.length === to.length ? sizes.map((n, d) => Math.min(n, to[d])) : sizes;
  const axes = shape.map((n) => Math.max(n, 1));
  const made = cut(chunks, axes);
  const whole = axes.map((n, d) => (made === undefined ? n : Math.ceil(n / made[d]) * made[d]));
  return given({ chunks: made, shards: cut(shards, whole) });
}

/** What is written never looks at more of a tensor than this; the types of writers ask for one that is here. */
const streamed = (t: Lazy): Tensor =>
  new Streamed(t.dtype as DType, t.shape, () => t.pieces()) as unknown as Tensor;

const byName = <T>(tensors: readonly Lazy[], of: readonly T[]): Record<string, T> => {
  const named = Object.create(null) as Record<string, T>;
  for (const [i, { name }] of tensors.entries()) named[name] = of[i];
  return named;
};

/** Those in blocks are held until the file is written, all others are read while it is. */
async function saveGguf(
  path: string,
  tensors: readonly Lazy[],
  from: Pick<Archive, "format" | "meta">,
): Promise<void> {
  const held: Quantised[] = [];
  try {
    const all: (Tensor | Quantised)[] = [];
    for (const t of tensors) {
      if (t.blocks === undefined) all.push(streamed(t));
      else {
        const q = await t.blocks();
        held.push(q);
        all.push(q);
      }
    }
    const named = byName(tensors, all);
    if (from.format !== "gguf") return await gguf.save(path, named);
    const { meta, metaTypes } = from as gguf.GgufArchive;
    await gguf.save(path, named, { meta, metaTypes });
  } finally {
    for (const q of held) q.dispose();
  }
}

/** Of formats that hold one. */
function only<T>(path: string, tensors: readonly T[]): T {
  if (tensors.length === 1) return tensors[0];
  const format = path.slice(path.lastIndexOf(".") + 1);
  return fail(
    "value",
    "save",
    `${format} holds one tensor, and ${tensors.length} are chosen.`,
    "Choose one with --only, or write .npz.",
  );
}

/** Formats that want their one tensor here. */
async function saveWhole(path: string, tensors: readonly Lazy[]): Promise<void> {
  const t = await only(path, tensors).whole();
  try {
    await save(path, t);
  } finally {
    t.dispose();
  }
}

/** The same file, with entries in blocks that can be read: decoded by `read`, as they are by `keep`. */
function withBlocks(archive: OpenArchive): Archive {
  const isInBlocks = (e: Archive["entries"][number]) => e.dtype === null && blockTypeOf(e.type) !== null;
  const names = new Set(archive.entries.filter(isInBlocks).map((e) => e.name));
  if (names.size === 0) return archive;
  const keep = (name: string) => readGguf(archive, name);
  return {
    ...archive,
    entries: archive.entries.map((e) => (names.has(e.name) ? { ...e, decoded: "f32" as const } : e)),
    keep,
    async read(name, slice) {
      if (!names.has(name)) return archive.read(name, slice);
      const q = await keep(name);
      if (!isQuantised(q)) return q;
      const all = q.dequantise();
      q.dispose();
      if (slice === undefined) return all;
      try {
        const part = all.slice(...slice);
        const copy = part.clone();
        part.dispose();
        return copy;
      } finally {
        all.dispose();
      }
    },
  };
}

/** Frames a second, where the file that is converted says them: a sound, or one that was made of a sound. */
function rateOf({ meta }: Pick<Archive, "meta">): { sampleRate?: number } {
  const sampleRate = Number(meta.sampleRate);
  return Number.isInteger(sampleRate) && sampleRate > 0 ? { sampleRate } : {};
}

/** Formats whose metadata are those that its maker gave; others tell of themselves there, too. */
const isOnlyTheirs = (format: string): boolean => format === "safetensors" || format === "gguf";

/** What a format of texts can hold of the metadata. */
function textsOf(meta: Archive["meta"]): Record<string, string> {
  const texts: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(meta)) {
    if (["string", "number", "bigint", "boolean"].includes(typeof value)) texts[key] = String(value);
  }
  return texts;
}

/* Tables in text ----------------------------------------------------------------------------------------- */

/** Letters that are looked at. */
const HEAD = 512;

/** Nothing but what numbers, names and their separators are made of? */
function isText(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, HEAD);
  // PNM is found by its first letters.
  if (head.length === 0 || /^P[1-7]\s/.test(String.fromCharCode(...head.subarray(0, 3)))) return false;
  return head.every((c) => c === 9 || c === 10 || c === 13 || (c >= 32 && c !== 127));
}

/** A table as its columns where they have names, as one matrix where they have not; columns of texts are listed. */
async function openTable(source: string | Uint8Array): Promise<Archive> {
  const { table, texts } = await csv.loadTable(source, undefined, true);
  const { data } = table;
  const names = table.names && distinct(table.names);
  const entry = (name: string, shape: readonly number[], dtype: DType | null): Entry => ({
    name,
    type: "text",
    dtype,
    shape,
    bytes: dtype === null ? 0 : shape.reduce((a, b) => a * b, 8),
  });
  const isNamed = names !== null;
  const entries = isNamed
    ? names.map((name, i) => entry(name, [data.shape[0]], texts.has(i) ? null : data.dtype))
    : [entry("table", data.shape, texts.size > 0 ? null : data.dtype)];
  return {
    format: "csv",
    entries,
    meta: {},
    async read(name, slice: readonly SliceItem[] = []) {
      const at = entries.findIndex((e) => e.name === name);
      const text = isNamed ? texts.get(at) : [...texts.values()][0];
      if (text !== undefined)
        fail("file", "read", `${JSON.stringify(name)} is no column of numbers: ${text}.`);
      return scope(() => (isNamed ? data.slice(":", at) : data.slice("...")).slice(...slice).clone());
    },
    async close() {
      data.dispose();
    },
  };
}

/** Names of columns, each of them once: a second "a" is "a.1", as pandas calls it. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    let own = name;
    for (let k = 1; seen.has(own) || (own !== name && taken.has(own)); k++) own = `${name}.${k}`;
    seen.add(own);
    return own;
  });
}

/** One matrix or vector as it is; several vectors of one length as columns with their names. */
async function saveTable(path: string, tensors: readonly Lazy[]): Promise<void> {
  const { shape } = tensors[0];
  const isColumns = tensors.length > 1 || shape.length === 1;
  const odd = isColumns ? tensors.find((t) => t.shape.length !== 1 || t.shape[0] !== shape[0]) : undefined;
  if (odd !== undefined) {
    const beside = odd === tensors[0] ? "" : `, the first column ${list(shape)}`;
    fail(
      "shape",
      "save",
      `${JSON.stringify(odd.name)} is ${list(odd.shape)}${beside}.`,
      "Columns of a table are vectors of one length: choose them with --only.",
    );
  }
  // Each column in the words of its own dtype: whole numbers of 64 bits and floats have no dtype in common.
  const columns: string[][] = [];
  for (const lazy of tensors) {
    const t = await lazy.whole();
    try {
      if (!isColumns) return await csv.save(path, t);
      columns.push(new TextDecoder().decode(await csv.encode(t)).split("\n"));
    } finally {
      t.dispose();
    }
  }
  const between = /\.tsv$/i.test(path) ? "\t" : ",";
  const cell = (name: string) => (/["\r\n\t,]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  await toFile("save", path, {
    *pieces() {
      const encoder = new TextEncoder();
      yield encoder.encode(`${tensors.map((t) => cell(t.name)).join(between)}\n`);
      for (let row = 0; row < shape[0]; row += SOME) {
        let text = "";
        for (let i = row; i < Math.min(shape[0], row + SOME); i++)
          text += `${columns.map((lines) => lines[i]).join(between)}\n`;
        yield encoder.encode(text);
      }
    },
    release() {},
  });
}

/** Rows that are put together at a time. */
const SOME = 4096;
