/**
 * Round trips with the packages themselves: ndarray, zarrita, numcodecs, tfjs, onnxruntime and flechette. They are development
 * dependencies; a package that is not installed is named in a skipped test.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { arange, type DType, dtypeNames, memory, scope, tensor } from "../../src/index.ts";
import { copyStrided, from, to } from "../../src/interop.ts";
import { zarr } from "../../src/io.ts";
import { factOf } from "../io/fixtures.ts";
import { zarrFolder, zarrManifest } from "../io/zarr-fixtures.ts";
import { load, type Package } from "./packages.ts";

const names = [
  "ndarray",
  "zarrita",
  "numcodecs",
  "@tensorflow/tfjs-core",
  "@tensorflow/tfjs-backend-cpu",
  "onnxruntime-common",
  "@uwdata/flechette",
] as const;
const packages = Object.fromEntries(
  await Promise.all(names.map(async (name) => [name, await load(name)] as const)),
) as Record<(typeof names)[number], Package>;

/** Runs with the package, or says that it is missing. */
const withPackages = (
  needed: readonly (typeof names)[number][],
  tests: (...all: Package[]) => void,
): void => {
  const missing = needed.filter((name) => packages[name] === null);
  if (missing.length === 0)
    describe(needed.join(" and "), () => tests(...needed.map((name) => packages[name])));
  else
    it.skip(`${missing.join(" and ")} not installed: npm install --no-save ${missing.join(" ")}`, () => {});
};
const only = (refused: readonly DType[]) => dtypeNames.filter((d) => !refused.includes(d));

withPackages(["ndarray"], (ndarray: Package) => {
  it("views of views arrive with their strides, and live memory goes both ways", () => {
    scope(() => {
      const nd = ndarray(
        Float64Array.from({ length: 24 }, (_, i) => i),
        [2, 3, 4],
      );
      const view = nd.transpose(2, 0, 1).step(-1, 1, 2).lo(1, 0, 0);
      const t = from(view);
      expect(t.shape).toEqual(view.shape);
      expect(t.strides).toEqual(view.stride);
      for (let i = 0; i < view.shape[0]; i++) {
        for (let j = 0; j < view.shape[1]; j++) {
          for (let k = 0; k < view.shape[2]; k++) expect(t.get(i, j, k)).toBe(view.get(i, j, k));
        }
      }
      const base = arange(12).reshape(3, 4);
      const lent = to.ndarray(base.T, { ndarray }) as Package;
      expect(lent.dtype).toBe("float32");
      lent.set(3, 1, 77);
      expect(base.get(1, 3)).toBe(77);
      const before = memory().tensors;
      const back = from(lent.hi(2, 2).transpose(1, 0));
      expect(memory().tensors).toBe(before);
      expect(back.toArray()).toEqual([
        [0, 1],
        [4, 5],
      ]);
      back.set([1, 1], -5);
      expect(lent.get(1, 1)).toBe(-5);
    });
  });

  it("every dtype it has comes back", () => {
    scope(() => {
      for (const dtype of only(["f16", "bf16", "bool"])) {
        const t = arange(6, { dtype: "f64" }).reshape(2, 3).to(dtype);
        const back = from(to.ndarray(t, { ndarray }));
        expect([back.dtype, back.toArray()]).toEqual([dtype, t.toArray()]);
      }
    });
  });

  it("copyStrided copies between its views, without code made from text", () => {
    const a = ndarray(
      Float32Array.from({ length: 12 }, (_, i) => i),
      [3, 4],
    );
    const b = ndarray(new Float32Array(12), [4, 3]);
    copyStrided(b.transpose(1, 0), a.step(-1, 1));
    for (let i = 0; i < 3; i++) for (let j = 0; j < 4; j++) expect(b.get(j, i)).toBe(a.get(2 - i, j));
  });
});

withPackages(["zarrita"], (zarr: Package) => {
  it("chunks and selections come in with their strides, and set takes what to.zarrita gives", async () => {
    const store = new Map<string, Uint8Array>();
    for (const type of ["float32", "int16", "uint8", "float64", "int64", "bool"]) {
      const array = await zarr.create(zarr.root(store).resolve(`/${type}`), {
        shape: [4, 6],
        chunkShape: [2, 4],
        chunk_shape: [2, 4],
        dtype: type,
        data_type: type,
        fillValue: type === "bool" ? false : 0,
      });
      const dtype =
        ({ bool: "bool", uint8: "u8" } as Record<string, DType>)[type] ??
        (`${type[0]}${type.replace(/\D/g, "")}` as DType);
      const t = arange(24, { dtype: "f64" })
        .reshape(4, 6)
        .remainder(type === "bool" ? 2 : 100)
        .to(dtype);
      const chunk = to.zarrita(t);
      if (type === "bool") {
        const flags = new zarr.BoolArray(24);
        for (let i = 0; i < 24; i++) flags.set(i, (chunk.data as Uint8Array)[i] === 1);
        await zarr.set(array, null, { ...chunk, data: flags });
      } else await zarr.set(array, null, chunk);
      const all = from(await zarr.get(array));
      expect([all.dtype, all.toArray()]).toEqual([dtype, t.toArray()]);
      const part = from(await zarr.get(array, [zarr.slice(1, 4, 2), 3]));
      expect(part.toArray()).toEqual(t.slice("1:4:2", 3).toArray());
      const piece = from(await array.getChunk([1, 1]));
      expect(piece.shape).toEqual([2, 4]);
      expect(piece.slice(":", ":2").toArray()).toEqual(t.slice("2:", "4:").toArray());
      for (const x of [t, all, part, piece]) x.dispose();
    }
  });
});

/** A Map as zarrita has stores: keys begin with a slash. */
const storeOver = (map: Map<string, Uint8Array>) => ({
  get: async (key: string) => map.get(key.slice(1)),
  set: async (key: string, bytes: Uint8Array) => void map.set(key.slice(1), bytes),
  getRange: async (key: string, range: { offset: number; length: number } | { suffixLength: number }) => {
    const all = map.get(key.slice(1));
    if (all === undefined) return undefined;
    return "suffixLength" in range
      ? all.subarray(all.length - range.suffixLength)
      : all.subarray(range.offset, range.offset + range.length);
  },
});

withPackages(["zarrita"], (zarrita: Package) => {
  const names: Partial<Record<DType, string>> = {
    bool: "bool",
    u8: "uint8",
    i8: "int8",
    u16: "uint16",
    i16: "int16",
    u32: "uint32",
    i32: "int32",
    u64: "uint64",
    i64: "int64",
    f32: "float32",
    f64: "float64",
  };
  const dtypes = Object.keys(names) as DType[];
  const some = (dtype: DType) =>
    scope(() =>
      arange(35, { dtype: "f64" })
        .reshape(5, 7)
        .remainder(dtype === "bool" ? 2 : 100)
        .to(dtype),
    );

  it("it reads the arrays that we write, in both versions, orders and endiannesses, packed and in shards", async () => {
    const kinds = [
      ...[2, 3].flatMap((version) =>
        [null, "gzip", version === 2 ? "zlib" : "gzip"].map((compressor) => ({ version, compressor })),
      ),
      { version: 3, compressor: "gzip", shards: [6, 4], checksum: true },
      { version: 3, compressor: null, keys: "v2", separator: "/" },
    ];
    for (const kind of kinds) {
      for (const dtype of dtypes) {
        for (const [order, endian] of [
          ["C", "little"],
          ["F", "big"],
        ]) {
          const map = new Map<string, Uint8Array>();
          const t = some(dtype);
          await zarr.save(map, t, { chunks: [3, 4], order, endian, ...kind } as never);
          const array = await zarrita.open(storeOver(map), { kind: "array" });
          const back = from(await zarrita.get(array));
          expect(back.toArray(), JSON.stringify({ ...kind, dtype, order, endian })).toEqual(t.toArray());
          for (const x of [t, back]) x.dispose();
        }
      }
    }
  });

  it("we read the arrays that it writes", async () => {
    for (const dtype of dtypes) {
      for (const codecs of [
        [{ name: "bytes", configuration: { endian: "little" } }],
        [{ name: "bytes", configuration: { endian: "big" } }],
        [
          { name: "transpose", configuration: { order: [1, 0] } },
          { name: "bytes", configuration: { endian: "little" } },
        ],
      ]) {
        // Its bools of big endian are turned around as a whole.
        if (dtype === "bool" && JSON.stringify(codecs).includes("big")) continue;
        const map = new Map<string, Uint8Array>();
        const t = some(dtype);
        const options = { shape: [5, 7], chunkShape: [3, 4], dtype: names[dtype], codecs };
        const more = {
          chunk_shape: [3, 4],
          data_type: names[dtype],
          fillValue: dtype === "bool" ? false : 0,
        };
        const array = await zarrita.create(zarrita.root(storeOver(map)), { ...options, ...more });
        const chunk = to.zarrita(t);
        if (dtype === "bool") {
          const flags = new zarrita.BoolArray(35);
          for (let i = 0; i < 35; i++) flags.set(i, (chunk.data as Uint8Array)[i] === 1);
          await zarrita.set(array, null, { ...chunk, data: flags });
        } else await zarrita.set(array, null, chunk);
        const back = await (await zarr.openArray(map)).read();
        expect([back.dtype, back.toArray()], JSON.stringify(codecs)).toEqual([dtype, t.toArray()]);
        for (const x of [t, back]) x.dispose();
      }
    }
  });
});

withPackages(["zarrita", "numcodecs"], (zarrita: Package, numcodecs: Package) => {
  const loaders = {
    blosc: () => numcodecs.Blosc,
    lz4: () => numcodecs.LZ4,
    zstd: async () => ({ default: numcodecs.Zstd }),
  };
  const codecs = [
    { name: "zstd", level: 3 },
    { name: "blosc", cname: "zstd", shuffle: 2 },
    { name: "blosc" },
    { name: "lz4" },
  ];

  it("codecs of numcodecs, ours and zarrita's", async () => {
    for (const compressor of codecs) {
      for (const version of compressor.name === "lz4" ? ([2] as const) : ([2, 3] as const)) {
        const { shuffle, ...rest } = compressor as { shuffle?: number; name: string };
        const named = { ...rest, ...(shuffle && { shuffle: version === 3 ? "bitshuffle" : 2 }) };
        const map = new Map<string, Uint8Array>();
        const t = scope(() => arange(4000, { dtype: "f64" }).reshape(40, 100));
        await zarr.save(map, t, { chunks: [16, 50], compressor: named, version, loaders });
        const ours = await (await zarr.openArray(map, { loaders })).read();
        const theirs = from(await zarrita.get(await zarrita.open(storeOver(map), { kind: "array" })));
        expect(ours.toArray(), JSON.stringify(named)).toEqual(t.toArray());
        expect(theirs.toArray(), JSON.stringify(named)).toEqual(t.toArray());
        for (const x of [t, ours, theirs]) x.dispose();
      }
    }
  });

  it("what zarr-python packs is read", async () => {
    for (const path of ["blosc", "zstd", "lz4"]) {
      const t = await (await zarr.openArray(join(zarrFolder, "v2.zarr"), { path, loaders })).read();
      expect(factOf(t)).toEqual(zarrManifest["v2.zarr"][path]);
      t.dispose();
    }
  });

  it("what zarrita packs is read", async () => {
    for (const codec of [
      { name: "zstd", configuration: { level: 3, checksum: true } },
      {
        name: "blosc",
        configuration: { typesize: 4, cname: "lz4", clevel: 5, shuffle: "shuffle", blocksize: 0 },
      },
    ]) {
      const map = new Map<string, Uint8Array>();
      const t = scope(() => arange(35).reshape(5, 7));
      const options = { shape: [5, 7], chunkShape: [3, 4], dtype: "float32", fillValue: 0 };
      const more = { chunk_shape: [3, 4], data_type: "float32" };
      const bytes = { name: "bytes", configuration: { endian: "little" } };
      const array = await zarrita.create(zarrita.root(storeOver(map)), {
        ...options,
        ...more,
        codecs: [bytes, codec],
      });
      await zarrita.set(array, null, to.zarrita(t));
      const back = await (await zarr.openArray(map, { loaders })).read();
      expect(back.toArray()).toEqual(t.toArray());
      for (const x of [t, back]) x.dispose();
    }
  });

  it("packed bytes that claim too much, or are damaged, are refused before or while they are unpacked", async () => {
    for (const { name } of codecs) {
      const map = new Map<string, Uint8Array>();
      const t = arange(1000, { dtype: "i32" });
      await zarr.save(map, t, { chunks: [1000], compressor: name, version: 2, loaders });
      const array = await zarr.openArray(map, { loaders });
      const good = map.get("0")!.slice();
      const long = new Map<string, Uint8Array>();
      await zarr.save(
        long,
        scope(() => arange(9000, { dtype: "i32" }).mul(0)),
        {
          chunks: [9000],
          compressor: name,
          version: 2,
          loaders,
        },
      );
      map.set("0", long.get("0")!);
      await expect(array.read(), name).rejects.toThrow(/key "0": .*(unpacks to 36000|36000 bytes)/);
      for (let at = 0; at < good.length; at += Math.ceil(good.length / 40)) {
        for (const bytes of [good.slice(0, at), good.with(at, good[at] ^ 0x55)]) {
          map.set("0", bytes);
          const got = await array.read().catch((error: unknown) => error);
          if (got instanceof Error) expect(got.message).toMatch(/^zarr\.read: the store, key "0": /);
          else (got as { dispose(): void }).dispose();
        }
      }
      t.dispose();
    }
  });
});

withPackages(["@tensorflow/tfjs-core", "@tensorflow/tfjs-backend-cpu"], (tf: Package) => {
  it("tensors go in and out, with every dtype it has", async () => {
    await tf.setBackend("cpu");
    scope(() => {
      const a = arange(6).reshape(2, 3);
      const there = to.tfjs(a.T, tf) as Package;
      expect([there.shape, there.dtype]).toEqual([[3, 2], "float32"]);
      expect(from(tf.mul(there, 2)).toArray()).toEqual(a.T.mul(2).toArray());
      for (const dtype of ["i32", "u8", "i16", "bool"] as const) {
        const t = tensor([1, 0, 1], { dtype });
        const back = from(to.tfjs(t, tf));
        expect(back.dtype).toBe(dtype === "bool" ? "bool" : "i32");
        expect(back.to(dtype).toArray()).toEqual(t.toArray());
      }
      const c = tf.complex([1, 2], [3, 4]);
      expect(from(c).toArray()).toEqual([
        [1, 3],
        [2, 4],
      ]);
      expect(() => from(tf.tensor(["a"]))).toThrow("no dtype holds the tfjs type string");
      expect(() => to.tfjs(a.to("f64"), tf)).toThrow('t.to("f32")');
    });
  });

  it("lent memory is what its backend computes on", () => {
    scope(() => {
      const a = tensor([1, 2, 3]);
      const there = to.tfjs(a, tf, { copy: false }) as Package;
      a.fill(5);
      expect([...there.dataSync()]).toEqual([5, 5, 5]);
    });
  });
});

withPackages(["onnxruntime-common"], (ort: Package) => {
  it("tensors go in and out, with every dtype it has", () => {
    scope(() => {
      for (const dtype of only(["bf16"])) {
        const t = arange(6, { dtype: "f64" }).reshape(2, 3).to(dtype).T;
        const there = to.onnx(t, ort) as Package;
        expect(there.dims).toEqual([3, 2]);
        const back = from(there);
        expect([back.dtype, back.toArray()]).toEqual([dtype, t.toArray()]);
      }
      const t = tensor([1, 2]);
      expect(to.onnx(t, ort.Tensor)).toBeInstanceOf(ort.Tensor);
      expect(() => from(new ort.Tensor("string", ["a"], [1]))).toThrow(
        "no dtype holds the onnxruntime type string",
      );
      const gpu = ort.Tensor.fromGpuBuffer({}, { dataType: "float32", dims: [2] });
      expect(() => from(gpu)).toThrow("await t.getData()");
    });
  });
});

withPackages(["@uwdata/flechette"], (arrow: Package) => {
  const throughFile = (column: unknown, options = {}) => {
    const table = arrow.tableFromColumns({ x: column });
    return arrow.tableFromIPC(arrow.tableToIPC(table, { format: "file" }), options).getChild("x");
  };

  it("columns go in and out through a file, with every dtype it has", () => {
    scope(() => {
      for (const dtype of only(["f16", "bf16"])) {
        const t = arange(5, { dtype: "f64" }).to(dtype);
        const back = from(throughFile(to.arrow(t, arrow), { useBigInt: true }));
        expect([back.dtype, back.toArray()]).toEqual([dtype, t.toArray()]);
      }
    });
  });

  it("matrices become lists of one size", () => {
    scope(() => {
      const t = arange(6, { dtype: "f64" }).reshape(3, 2);
      const back = from(throughFile(to.arrow(t, arrow)));
      expect([back.dtype, back.toArray()]).toEqual(["f64", t.toArray()]);
      expect(() => to.arrow(t.reshape(3, 2, 1), arrow)).toThrow("is no vector");
    });
  });

  it("nulls are refused, or become the number that is given", () => {
    scope(() => {
      const column = throughFile(arrow.columnFromArray([1.5, null, 3], arrow.float64()));
      expect(() => from(column)).toThrow("from(column, { nulls: NaN })");
      expect(from(column, { nulls: NaN }).toArray()).toEqual([1.5, NaN, 3]);
      expect(from(column, { nulls: 0, dtype: "i32" }).toArray()).toEqual([1, 0, 3]);
      const words = arrow.columnFromArray(["a", "b"], arrow.utf8());
      expect(() => from(words)).toThrow("expected numbers");
    });
  });
});
