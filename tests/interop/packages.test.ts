/**
 * Round trips with the packages themselves: ndarray, zarrita, tfjs, onnxruntime and flechette. They are development
 * dependencies; a package that is not installed is named in a skipped test.
 */
import { describe, expect, it } from "vitest";
import { arange, type DType, dtypeNames, memory, scope, tensor } from "../../src/index.ts";
import { copyStrided, from, to } from "../../src/interop.ts";
import { load, type Package } from "./packages.ts";

const names = [
  "ndarray",
  "zarrita",
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
