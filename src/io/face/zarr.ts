/** What users see of zarr. */
export { type LoadOptions, load, type SaveOptions, save } from "../zarr.ts";
export type { ZarrArray, ZarrReadOptions } from "../zarr-array.ts";
export type { ZarrCodec, ZarrCodecClass, ZarrLoader } from "../zarr-codecs.ts";
export { type FolderStoreOptions, folderStore } from "../zarr-folder.ts";
export {
  consolidate,
  create,
  createGroup,
  open,
  openArray,
  openGroup,
  type ZarrCompressor,
  type ZarrCreateOptions,
  type ZarrGroup,
  type ZarrGroupOptions,
  type ZarrMember,
  type ZarrOpenOptions,
  type ZarrSource,
} from "../zarr-group.ts";
export { type HttpStoreOptions, httpStore } from "../zarr-http.ts";
export { type S3StoreOptions, s3Store } from "../zarr-s3.ts";
export {
  memoryStore,
  type ZarrGetOptions,
  type ZarrRange,
  type ZarrSetOptions,
  type ZarrStore,
} from "../zarr-store.ts";
export type { ZarrFill } from "../zarr-types.ts";
