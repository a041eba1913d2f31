/** What TypeScript knows of strided/io. */
import { describe, expectTypeOf, it } from "vitest";
import type { DType, SliceItem, Tensor } from "../../src/index.ts";
import {
  type Archive,
  arrow,
  type CustomSource,
  type Entry,
  gguf,
  hdf5,
  npy,
  npz,
  onnx,
  open,
  parquet,
  png,
  type Source,
  safetensors,
  save,
  type ZarrArray,
  type ZarrGroup,
  type ZarrStore,
  zarr,
} from "../../src/io.ts";

describe("types", () => {
  it("sources are what can be read", () => {
    expectTypeOf<string>().toExtend<Source>();
    expectTypeOf<URL>().toExtend<Source>();
    expectTypeOf<Blob>().toExtend<Source>();
    expectTypeOf<File>().toExtend<Source>();
    expectTypeOf<Buffer>().toExtend<Source>();
    expectTypeOf<Uint8Array>().toExtend<Source>();
    expectTypeOf<ArrayBuffer>().toExtend<Source>();
    expectTypeOf<SharedArrayBuffer>().toExtend<Source>();
    expectTypeOf<CustomSource>().toExtend<Source>();
    expectTypeOf<number>().not.toExtend<Source>();
    expectTypeOf<{ size: number }>().not.toExtend<Source>();
  });

  it("archives are lists of entries, and give tensors", () => {
    expectTypeOf(open).returns.resolves.toEqualTypeOf<Archive>();
    expectTypeOf(gguf.open).returns.resolves.toExtend<Archive>();
    expectTypeOf<Archive["entries"]>().toEqualTypeOf<readonly Entry[]>();
    expectTypeOf<Entry["dtype"]>().toEqualTypeOf<DType | null>();
    expectTypeOf<Archive["read"]>().returns.resolves.toEqualTypeOf<Tensor>();
    expectTypeOf<Archive["raw"]>().returns.resolves.toEqualTypeOf<Tensor<"u8">>();
    expectTypeOf<Archive["read"]>().parameter(1).toEqualTypeOf<readonly SliceItem[] | undefined>();
  });

  it("tables and what their readers take", () => {
    for (const format of [arrow, parquet, hdf5]) {
      expectTypeOf(format.load).returns.resolves.toEqualTypeOf<Record<string, Tensor>>();
      expectTypeOf(format.open).returns.resolves.toEqualTypeOf<Archive>();
    }
    expectTypeOf(png.load).returns.resolves.toEqualTypeOf<Tensor>();
    expectTypeOf<{ nulls: 0; names: ["x"] }>().toExtend<arrow.LoadOptions>();
    expectTypeOf<{ nulls: 0n; rows: [0, 10]; limit: 5 }>().toExtend<parquet.LoadOptions>();
    expectTypeOf<{ rows: [0] }>().not.toExtend<parquet.LoadOptions>();
    expectTypeOf<{ peers: { h5wasm: object }; milliseconds: 5 }>().toExtend<hdf5.OpenOptions>();
    expectTypeOf<{ kind: "table" }>().not.toExtend<arrow.SaveOptions>();
  });

  it("one tensor of npy, several of the others", () => {
    expectTypeOf(npy.load).returns.resolves.toEqualTypeOf<Tensor>();
    for (const format of [npz, safetensors, gguf, onnx]) {
      expectTypeOf(format.load).returns.resolves.toEqualTypeOf<Record<string, Tensor>>();
    }
    expectTypeOf(npy.encode).returns.resolves.toEqualTypeOf<Uint8Array<ArrayBuffer>>();
    // So that it can be sent: a Blob takes no shared memory.
    expectTypeOf<Awaited<ReturnType<typeof npz.encode>>>().toExtend<BlobPart>();
    expectTypeOf(save).parameter(1).toEqualTypeOf<Tensor | Readonly<Record<string, Tensor>>>();
    expectTypeOf<{ slice: ["0:1", 3] }>().toExtend<npy.LoadOptions>();
    expectTypeOf<{ compress: 1 }>().not.toExtend<npz.SaveOptions>();
  });

  it("Zarr: an array or a group, told apart by kind; stores are what has get", () => {
    expectTypeOf(zarr.open).returns.resolves.toEqualTypeOf<ZarrArray | ZarrGroup>();
    expectTypeOf(zarr.openArray).returns.resolves.toEqualTypeOf<ZarrArray>();
    expectTypeOf(zarr.create).returns.resolves.toEqualTypeOf<ZarrArray>();
    expectTypeOf<Extract<ZarrArray | ZarrGroup, { kind: "group" }>>().toEqualTypeOf<ZarrGroup>();
    expectTypeOf<ZarrArray["dtype"]>().toEqualTypeOf<DType>();
    expectTypeOf<ZarrArray["read"]>().returns.resolves.toEqualTypeOf<Tensor>();
    expectTypeOf<Map<string, Uint8Array>>().toExtend<zarr.ZarrSource>();
    expectTypeOf<{ get(key: string): Uint8Array | undefined }>().toExtend<ZarrStore>();
    expectTypeOf<{ set(key: string): void }>().not.toExtend<ZarrStore>();
    expectTypeOf<{ shape: [2]; dtype: "f32"; version: 4 }>().not.toExtend<zarr.ZarrCreateOptions>();
  });
});
