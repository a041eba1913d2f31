/**
 * import … from "strided/io": tensors out of files and into them. An entry of its own, and every format can be left out of
 * a bundle; `open` and `save` bring all of them.
 */
export type { Archive, Entry } from "./io/archive.ts";
export * as arrow from "./io/face/arrow.ts";
export * as csv from "./io/face/csv.ts";
export * as gguf from "./io/face/gguf.ts";
export * as hdf5 from "./io/face/hdf5.ts";
export * as npy from "./io/face/npy.ts";
export * as npz from "./io/face/npz.ts";
export * as onnx from "./io/face/onnx.ts";
export * as parquet from "./io/face/parquet.ts";
export * as png from "./io/face/png.ts";
export * as pnm from "./io/face/pnm.ts";
export * as safetensors from "./io/face/safetensors.ts";
export * as wav from "./io/face/wav.ts";
export * as zarr from "./io/face/zarr.ts";
export type { GgufArchive, MetaValue } from "./io/gguf.ts";
export { open, save } from "./io/open.ts";
export type { CustomSource, ReadOptions, Source, SourceOptions } from "./io/source.ts";
export type { ZarrArray } from "./io/zarr-array.ts";
export type { ZarrGroup, ZarrSource } from "./io/zarr-group.ts";
export type { ZarrStore } from "./io/zarr-store.ts";
