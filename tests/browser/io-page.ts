/** Runs in the page: files over HTTP, by range requests, and out of Blobs, as the test's query names them. */
import { type Archive, open, type Source, zarr } from "../../src/io.ts";

export interface FileResult {
  readonly format: string;
  /** Entry by entry: dtype, shape and bytes; null where it has no dtype. */
  readonly entries: Readonly<Record<string, { dtype: string; shape: readonly number[]; hex: string } | null>>;
}
export interface IoResult {
  readonly isolated: boolean;
  readonly files: Readonly<Record<string, FileResult>>;
  readonly blobs: Readonly<Record<string, FileResult>>;
  readonly rows: readonly unknown[];
  readonly refused: string;
  readonly saved: string;
  /** Hierarchies of Zarr, over HTTP: all of them, a row of one in shards, and one that was written to memory. */
  readonly zarr: Readonly<Record<string, FileResult>>;
  readonly shardRow: readonly unknown[];
  readonly packed: readonly unknown[];
}

const hexOf = (bytes: Uint8Array): string => [...bytes].map((x) => x.toString(16).padStart(2, "0")).join("");

async function listed(archive: Archive): Promise<FileResult> {
  const entries: Record<string, FileResult["entries"][string]> = {};
  for (const { name, dtype } of archive.entries) {
    if (dtype === null) {
      entries[name] = null;
      continue;
    }
    const t = await archive.read(name);
    const { buffer, byteOffset, byteLength } = t.toTypedArray();
    entries[name] = { dtype, shape: t.shape, hex: hexOf(new Uint8Array(buffer, byteOffset, byteLength)) };
    t.dispose();
  }
  return { format: archive.format, entries };
}

async function all(names: readonly string[], source: (name: string) => Promise<Source>) {
  const files: Record<string, FileResult> = {};
  for (const name of names) files[name] = await listed(await open(await source(name)));
  return files;
}

/** Arrays that numcodecs would have to unpack. */
const packedByPackage = /^(blosc|zstd|lz4)$/;

async function listedZarr(url: string): Promise<FileResult> {
  const archive = await open(url);
  const readable = archive.entries.filter(({ name }) => !packedByPackage.test(name));
  return listed({ ...archive, entries: readable });
}

/** A row of an array that lies in shards: the index and a chunk or two, by range. */
async function shardRow(base: string): Promise<readonly unknown[]> {
  const array = await zarr.openArray(`${base}v3.zarr`, { path: "shards-end" });
  const row = await array.read([3]);
  return row.toArray() as unknown[];
}

/** Packed and unpacked by the browser's own streams. */
async function packed(): Promise<readonly unknown[]> {
  const store = zarr.memoryStore();
  const array = await zarr.create(store, { shape: [5], dtype: "f32", chunks: [2], compressor: "gzip" });
  const t = (await import("../../src/index.ts")).arange(5);
  await array.write(null, t);
  return (await (await zarr.openArray(store)).read(["::-1"])).toArray() as unknown[];
}

async function main(): Promise<IoResult> {
  const query = new URLSearchParams(location.search);
  const names = query.get("names")!.split(",");
  const base = query.get("base")!;
  const long = await open(`${base}big.npy`);
  const rows = await long.read("array", ["-2:", "::2"]);
  const { save } = await import("../../src/io.ts");
  return {
    isolated: globalThis.crossOriginIsolated,
    files: await all(names, async (name) => `${base}${name}`),
    blobs: await all(names, async (name) => (await fetch(`${base}${name}`)).blob()),
    rows: rows.toArray() as unknown[],
    zarr: {
      "v2.zarr": await listedZarr(`${base}v2.zarr`),
      "v3.zarr": await listedZarr(`${base}v3.zarr/`),
    },
    shardRow: await shardRow(base),
    packed: await packed(),
    refused: await open(`${base}missing.npy`).then(
      () => "nothing",
      (error: Error) => error.message,
    ),
    saved: await save("x.npy", rows).then(
      () => "nothing",
      (error: Error) => error.message,
    ),
  };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
