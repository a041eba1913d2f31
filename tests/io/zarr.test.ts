/** Zarr: what is written is read again, whatever the dtype, order, codec and version; slices are those of a tensor. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  arange,
  type DType,
  dtypeNames,
  fromBuffer,
  full,
  memory,
  type SliceItem,
  scope,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";
import { type Archive, open, save, type ZarrStore, zarr } from "../../src/io.ts";
import { randomOf } from "../fuzz/memory.ts";
import { factOf, hexOf } from "./fixtures.ts";
import { serveFiles } from "./server.ts";
import { keysOf, packedByPackage, zarrFolder, zarrManifest } from "./zarr-fixtures.ts";

const root = mkdtempSync(join(tmpdir(), "strided-zarr-"));
afterAll(() => rmSync(root, { recursive: true }));
let count = 0;
const folder = () => join(root, `t${count++}.zarr`);
let before = 0;
beforeEach(() => {
  zeros([1]).dispose();
  before = memory().tensors;
});
afterEach(() => expect(memory().tensors).toBe(before));

/** Any bits of a dtype; bools are 0 or 1. */
function anyBits(dtype: DType, shape: readonly number[], seed: number): Tensor {
  const next = randomOf(seed);
  const size = shape.reduce((a, b) => a * b, 8);
  const bytes = Uint8Array.from({ length: size }, () => (dtype === "bool" ? next() * 2 : next() * 256));
  return fromBuffer(bytes, { dtype, shape });
}

const jsonOf = (map: Map<string, Uint8Array>, key: string) =>
  JSON.parse(new TextDecoder().decode(map.get(key))) as Record<string, unknown>;

describe("round trips", () => {
  const versions = [2, 3] as const;
  const codecs = [null, "gzip", "zlib"] as const;
  it.each(versions.flatMap((version) => codecs.map((codec) => ({ version, codec }))))(
    "version $version, $codec: every dtype, order and endianness",
    async ({ version, codec }) => {
      const dtypes = version === 2 ? dtypeNames.filter((d) => d !== "bf16") : dtypeNames;
      for (const dtype of dtypes) {
        const t = anyBits(dtype, [5, 7], 1);
        for (const order of ["C", "F"] as const) {
          for (const endian of ["little", "big"] as const) {
            const map = new Map<string, Uint8Array>();
            const options = { chunks: [3, 4], version, compressor: codec, order, endian };
            await zarr.save(map, t, options);
            const back = await zarr.open(map);
            if (back.kind !== "array") throw new Error("a group");
            const [all, corner, part] = [
              await back.read(),
              await back.readChunk([1, 1]),
              await back.read(["::-2", 3]),
            ];
            const what = `${dtype} ${order} ${endian}`;
            expect(factOf(all), what).toEqual(factOf(t));
            scope(() => {
              expect(hexOf(corner), what).toBe(hexOf(t.slice("3:", "4:")));
              expect(hexOf(part), what).toBe(hexOf(t.slice("::-2", 3)));
            });
            for (const x of [all, corner, part]) x.dispose();
          }
        }
        t.dispose();
      }
    },
  );

  it("in shards: every dtype, packed or not, with checksums", async () => {
    for (const dtype of dtypeNames) {
      const t = anyBits(dtype, [9, 10], 2);
      for (const compressor of [null, "gzip"]) {
        const map = new Map<string, Uint8Array>();
        await zarr.save(map, t, { chunks: [2, 3], shards: [4, 6], compressor, checksum: true, order: "F" });
        expect([...map.keys()].sort()).toEqual([
          "c/0/0",
          "c/0/1",
          "c/1/0",
          "c/1/1",
          "c/2/0",
          "c/2/1",
          "zarr.json",
        ]);
        const array = await zarr.openArray(map);
        expect([array.chunks, array.shards, array.grid]).toEqual([
          [2, 3],
          [4, 6],
          [5, 4],
        ]);
        const all = await array.read();
        const part = await array.read(["1:8:3", "-1:2:-2"]);
        expect(factOf(all)).toEqual(factOf(t));
        scope(() => expect(hexOf(part)).toBe(hexOf(t.slice("1:8:3", "-1:2:-2"))));
        for (const x of [all, part]) x.dispose();
      }
      t.dispose();
    }
  });

  it("0-d arrays, empty ones, and chunks larger than the array", async () => {
    for (const version of [2, 3] as const) {
      for (const [shape, chunks, keys] of [
        [[], [], version === 2 ? ["0"] : ["c"]],
        [[0], [3], []],
        [[3, 0, 2], [2, 2, 2], []],
        [[3], [10], version === 2 ? ["0"] : ["c/0"]],
      ] as const) {
        const t = anyBits("f32", shape, 3);
        const map = new Map<string, Uint8Array>();
        await zarr.save(map, t, { chunks, version });
        const names = [...map.keys()].filter((key) => !/zarr|zattrs/.test(key));
        expect(names).toEqual(keys);
        const back = await (await zarr.openArray(map)).read();
        expect(factOf(back)).toEqual(factOf(t));
        for (const x of [t, back]) x.dispose();
      }
    }
  });

  it("in a folder, by path and by file URL, and nothing else is left there", async () => {
    const t = scope(() => arange(20, { dtype: "i32" }).reshape(4, 5));
    const path = folder();
    await zarr.save(path, t, { chunks: [2, 5] });
    expect(readdirSync(join(path, "c", "1"))).toEqual(["0"]);
    expect(readdirSync(path).sort()).toEqual(["c", "zarr.json"]);
    expect(readFileSync(join(path, "c", "1", "0")).length).toBe(40);
    for (const source of [path, `${path}/`, pathToFileURL(path), pathToFileURL(path).href]) {
      const array = await zarr.openArray(source);
      const back = await array.read();
      expect(factOf(back)).toEqual(factOf(t));
      back.dispose();
    }
    t.dispose();
  });
});

describe("keys", () => {
  it.each([
    [{ version: 2 } as const, "1.0"],
    [{ version: 2, separator: "/" } as const, "1/0"],
    [{ version: 3 } as const, "c/1/0"],
    [{ version: 3, separator: "." } as const, "c.1.0"],
    [{ version: 3, keys: "v2" } as const, "1.0"],
    [{ version: 3, keys: "v2", separator: "/" } as const, "1/0"],
  ])("%j: %s", async (options, key) => {
    const map = new Map<string, Uint8Array>();
    const array = await zarr.create(map, { shape: [4, 4], dtype: "u8", chunks: [2, 4], ...options });
    const ones = full([2, 4], 1, { dtype: "u8" });
    expect(array.chunkKey([1, 0])).toBe(key);
    expect(await array.hasChunk([1, 0])).toBe(false);
    await array.writeChunk([1, 0], ones);
    expect(await array.hasChunk([1, 0])).toBe(true);
    expect(map.has(key)).toBe(true);
    const back = await (await zarr.openArray(map)).read([2]);
    expect(back.toArray()).toEqual([1, 1, 1, 1]);
    for (const x of [ones, back]) x.dispose();
  });
});

describe("fill values", () => {
  it("are what was never written, with all their bits", async () => {
    for (const version of [2, 3] as const) {
      for (const [dtype, fill, said] of [
        ["f32", NaN, "NaN"],
        ["f64", Infinity, "Infinity"],
        ["f16", -Infinity, "-Infinity"],
        ["f32", 0.5, 0.5],
        ["i64", -(2n ** 63n), null],
        ["u64", 2n ** 64n - 1n, null],
        ["u8", 255, 255],
        ["bool", true, true],
      ] as const) {
        for (const endian of ["little", "big"] as const) {
          const map = new Map<string, Uint8Array>();
          await zarr.create(map, { shape: [3], dtype, fill, version, endian });
          if (said !== null) {
            expect(jsonOf(map, version === 2 ? ".zarray" : "zarr.json").fill_value).toBe(said);
          }
          const array = await zarr.openArray(map);
          expect(array.fill).toBe(fill);
          const all = await array.read();
          expect((all.toArray() as unknown[])[2]).toEqual(fill);
          all.dispose();
        }
      }
    }
  });

  it("may be bits of a NaN, and a zero keeps its sign", async () => {
    const map = new Map<string, Uint8Array>();
    await zarr.create(map, { shape: [2], dtype: "f32", fill: "0x7fc00123" });
    expect(jsonOf(map, "zarr.json").fill_value).toBe("0x7fc00123");
    const nan = await (await zarr.openArray(map)).read();
    expect(hexOf(nan)).toBe("2301c07f2301c07f");
    for (const version of [2, 3] as const) {
      const store = new Map<string, Uint8Array>();
      await zarr.create(store, { shape: [2], dtype: "f32", fill: -0, version });
      const zero = await (await zarr.openArray(store)).read();
      expect(hexOf(zero)).toBe("0000008000000080");
      zero.dispose();
    }
    nan.dispose();
  });

  it("of version 2 may be missing: then they are 0", async () => {
    const map = new Map<string, Uint8Array>();
    await zarr.create(map, { shape: [2], dtype: "f32", version: 2 });
    const json = { ...jsonOf(map, ".zarray"), fill_value: null };
    map.set(".zarray", new TextEncoder().encode(JSON.stringify(json)));
    const all = await (await zarr.openArray(map)).read();
    expect(all.toArray()).toEqual([0, 0]);
    all.dispose();
  });
});

describe("slices", () => {
  const item = fc.oneof(
    fc.integer({ min: -3, max: 2 }),
    fc.constantFrom(":", "::2", "::-1", "1:", ":-1", "-2::-2", "5:1:-3", "2:2", "...", null),
    fc.tuple(
      fc.integer({ min: -9, max: 9 }),
      fc.integer({ min: -9, max: 9 }),
      fc.constantFrom(1, 2, 3, -1, -2),
    ),
  );
  const layouts = fc.record({
    items: fc.array(item as fc.Arbitrary<SliceItem>, { maxLength: 4 }),
    chunks: fc.tuple(
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 6 }),
    ),
    shards: fc.option(
      fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 }), fc.constant(1)),
    ),
    order: fc.constantFrom("C" as const, "F" as const),
    endian: fc.constantFrom("little" as const, "big" as const),
  });
  const shape = [6, 4, 5];

  it("read and write what slice of a tensor reads and writes", async () => {
    const t = anyBits("i16", shape, 4);
    await fc.assert(
      fc.asyncProperty(layouts, async ({ items, chunks, shards, order, endian }) => {
        const store = new Map<string, Uint8Array>();
        const array = await zarr.create(store, {
          shape,
          dtype: "i16",
          chunks,
          order,
          endian,
          fill: 7,
          ...(shards === null ? {} : { shards: chunks.map((n, d) => n * shards[d]) }),
        });
        let want: Tensor;
        try {
          want = scope(() => t.slice(...items).clone());
        } catch (error) {
          const said = (error as Error).message;
          await expect(array.read(items)).rejects.toThrow(said);
          await expect(array.write(items, t)).rejects.toThrow(said);
          return;
        }
        await array.write(items, want);
        const part = await array.read(items);
        const all = await array.read();
        scope(() => {
          const whole = full(shape, 7, { dtype: "i16" });
          whole.slice(...items).assign(want);
          expect([part.shape, hexOf(part)]).toEqual([want.shape, hexOf(want)]);
          expect(hexOf(all)).toBe(hexOf(whole));
        });
        for (const x of [want, part, all]) x.dispose();
      }),
      { numRuns: 60 },
    );
    t.dispose();
  });

  it("touch only the chunks they need, a few at a time, and say how far they are", async () => {
    const bytes = new Map<string, Uint8Array>();
    const t = scope(() => arange(100, { dtype: "f32" }).reshape(10, 10));
    await zarr.save(bytes, t, { chunks: [2, 5] });
    const asked: string[] = [];
    let [now, most] = [0, 0];
    const store: ZarrStore = {
      async get(key) {
        asked.push(key);
        most = Math.max(most, ++now);
        await new Promise((done) => setTimeout(done, 1));
        now--;
        return bytes.get(key);
      },
    };
    const array = await zarr.openArray(store);
    expect(asked).toEqual(["zarr.json"]);
    const told: [number, number][] = [];
    const rows = await array.read(["3:5", "::9"], { progress: (...all) => told.push(all) });
    expect(asked.slice(1).sort()).toEqual(["c/1/0", "c/1/1", "c/2/0", "c/2/1"]);
    expect(told).toEqual([
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ]);
    most = 0;
    const all = await array.read(null, { concurrency: 3 });
    expect(most).toBe(3);
    expect(hexOf(all)).toBe(hexOf(t));
    await expect(array.write(null, t)).rejects.toThrow("zarr.write: the store can only be read.");
    for (const x of [t, rows, all]) x.dispose();
  });

  it("of shards ask for the index and the chunks, by range", async () => {
    const bytes = new Map<string, Uint8Array>();
    const t = scope(() => arange(64, { dtype: "f32" }).reshape(8, 8));
    await zarr.save(bytes, t, { chunks: [2, 2], shards: [8, 8] });
    const asked: unknown[] = [];
    const store: ZarrStore = {
      get(key, options) {
        const all = bytes.get(key);
        const range = options?.range;
        asked.push(range ?? key);
        if (all === undefined || range === undefined) return all;
        return "last" in range
          ? all.subarray(all.length - range.last)
          : all.subarray(range.from, range.from + range.length);
      },
    };
    const array = await zarr.openArray(store);
    const one = await array.readChunk([1, 2]);
    expect(asked.slice(1)).toEqual([{ last: 16 * 16 + 4 }, { from: 6 * 16, length: 16 }]);
    expect(one.toArray()).toEqual([
      [20, 21],
      [28, 29],
    ]);
    asked.length = 0;
    const all = await array.read();
    expect(asked).toEqual(["c/0/0"]);
    expect(await array.hasChunk([3, 3])).toBe(true);
    for (const x of [t, one, all]) x.dispose();
  });
});

describe("writing", () => {
  it("broadcasts, wants the array's dtype and a shape that fits, and an index that is one", async () => {
    const array = await zarr.create(new Map(), { shape: [4, 6], dtype: "f32", chunks: [2, 4] });
    const [row, one, wrong] = [arange(6), tensor([5]), zeros([2], { dtype: "f64" })];
    await array.write(["1:3"], row);
    await array.write([0, "::2"], one);
    const all = await array.read();
    expect(all.toArray()).toEqual([
      [5, 0, 5, 0, 5, 0],
      [0, 1, 2, 3, 4, 5],
      [0, 1, 2, 3, 4, 5],
      [0, 0, 0, 0, 0, 0],
    ]);
    await expect(array.write(null, wrong)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: zarr.write: the array is f32, the tensor f64.
        Convert it: t.to("f32").]
    `);
    await expect(array.write(["0:2", "0:2"], row)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: zarr.write: a tensor of shape [6] does not fit into [2, 2].
        Sizes align at the right; each must be equal, or 1 in the tensor.]
    `);
    await expect(array.writeChunk([2, 0], row)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: zarr.writeChunk: [2, 0] is no chunk of [4, 6] in chunks of [2, 4].
        Indices are below [2, 2], one an axis.]
    `);
    for (const x of [row, one, wrong, all]) x.dispose();
  });

  it("two writes to one chunk, or to one shard, at the same time both arrive", async () => {
    for (const more of [{}, { shards: [4, 4] }]) {
      const array = await zarr.create(folder(), { shape: [4, 4], dtype: "u8", chunks: [4, 2], ...more });
      const one = full([1], 1, { dtype: "u8" });
      const all = Array.from({ length: 16 }, (_, i) => array.write([Math.floor(i / 4), i % 4], one));
      await Promise.all(all);
      const back = await array.read();
      expect(hexOf(back)).toBe("01".repeat(16));
      for (const x of [one, back]) x.dispose();
    }
  });

  it("a store that fails leaves nothing held, and the error is its own", async () => {
    const lost = new Error("the disk is gone");
    const store: ZarrStore = {
      get: () => undefined,
      set(key) {
        if (key.startsWith("c/")) throw lost;
      },
      has: () => false,
    };
    const array = await zarr.create(store, { shape: [4], dtype: "u8", chunks: [1] });
    const t = zeros([4], { dtype: "u8" });
    await expect(array.write(null, t)).rejects.toBe(lost);
    t.dispose();
  });

  it("signals end reading and writing", async () => {
    const path = folder();
    const t = arange(1000);
    await zarr.save(path, t, { chunks: [10] });
    const array = await zarr.openArray(path);
    const stop = new AbortController();
    const reading = array.read(null, { signal: stop.signal, progress: (done) => done === 5 && stop.abort() });
    const reason: unknown = await reading.catch((error: unknown) => error);
    expect(reason).toBe(stop.signal.reason);
    await expect(array.write(null, t, { signal: stop.signal })).rejects.toBe(stop.signal.reason);
    await expect(zarr.open(path, { signal: stop.signal })).rejects.toBe(stop.signal.reason);
    expect(readdirSync(join(path, "c")).length).toBe(100);
    t.dispose();
  });

  it("over what is there only when it is said, and then nothing old is left", async () => {
    for (const source of [folder(), new Map<string, Uint8Array>()]) {
      const t = arange(8);
      await zarr.save(source, t, { chunks: [2] });
      await expect(zarr.save(source, t)).rejects.toThrow('at "" lies something already.');
      const array = await zarr.create(source, {
        shape: [8],
        dtype: "f32",
        chunks: [2],
        overwrite: true,
        fill: 3,
      });
      const back = await array.read();
      expect(back.toArray()).toEqual(new Array(8).fill(3));
      for (const x of [t, back]) x.dispose();
    }
  });
});

it("an array of another rank takes the place of one in the same folder, and what was half written is gone", async () => {
  const path = folder();
  const [matrix, vector] = [zeros([4, 4]), arange(4)];
  await zarr.save(path, matrix, { chunks: [2, 2] });
  writeFileSync(join(path, "c/0/.0.0123456789ab.tmp"), "cut off");
  await zarr.save(path, vector, { chunks: [2], overwrite: true });
  const back = await (await zarr.openArray(path)).read();
  expect(back.toArray()).toEqual([0, 1, 2, 3]);
  expect(readdirSync(join(path, "c")).sort()).toEqual(["0", "1"]);
  for (const x of [matrix, vector, back]) x.dispose();
});

it("chunks that were never written are the fill value, or an error where they must be there", async () => {
  for (const shards of [undefined, [4]]) {
    const array = await zarr.create(folder(), {
      shape: [4],
      dtype: "f32",
      chunks: [2],
      ...(shards === undefined ? {} : { shards }),
    });
    const t = tensor([1, 2]);
    await array.write(["0:2"], t);
    const [all, half] = [await array.read(), await array.read(["0:2"], { missing: "error" })];
    expect([all.toArray(), half.toArray()]).toEqual([
      [1, 2, 0, 0],
      [1, 2],
    ]);
    await expect(array.read(null, { missing: "error" })).rejects.toThrow("never written, or was removed");
    await expect(array.read(null, { missing: 1 as never })).rejects.toThrow('There are "fill" and "error"');
    for (const x of [t, all, half]) x.dispose();
  }
});

describe("groups", () => {
  it.each([2, 3] as const)("of version %i: members, paths, attributes", async (version) => {
    for (const source of [folder(), new Map<string, Uint8Array>()]) {
      const [x, y] = [scope(() => arange(6).reshape(2, 3)), tensor([true, false])];
      await zarr.save(
        source,
        { x, "deep/down/y": y },
        { version, attributes: { title: "ü", n: [1, { a: null }] } },
      );
      const group = await zarr.openGroup(source);
      expect([group.version, group.attributes]).toEqual([version, { title: "ü", n: [1, { a: null }] }]);
      expect(await group.members()).toEqual([
        { name: "deep", kind: "group" },
        { name: "x", kind: "array" },
      ]);
      const inner = await group.open("deep/down/y");
      expect([inner.kind, inner.path]).toEqual(["array", "deep/down/y"]);
      const deep = await group.open("deep");
      if (deep.kind !== "group") throw new Error("an array");
      expect(await deep.members()).toEqual([{ name: "down", kind: "group" }]);
      const all = await zarr.load(source);
      expect(Object.keys(all)).toEqual(["deep/down/y", "x"]);
      expect([factOf(all.x), factOf(all["deep/down/y"])]).toEqual([factOf(x), factOf(y)]);
      await expect(group.open("../x")).rejects.toThrow("leads out of its folder");
      await expect(group.open("z")).rejects.toThrow('nothing of Zarr lies at "z"');
      await expect(zarr.openArray(source)).rejects.toThrow("lies a group");
      await expect(zarr.create(source, { path: "x/y", shape: [1], dtype: "u8", version })).rejects.toThrow(
        '"x" is an array, and holds nothing else.',
      );
      for (const t of [x, y, ...Object.values(all)]) t.dispose();
    }
  });

  it.each([2, 3] as const)("of version %i: members may be called as chunks are", async (version) => {
    const t = scope(() => arange(4).reshape(2, 2));
    const path = folder();
    await zarr.save(path, { "0": t, "1": t, c: t }, { version, separator: "/", chunks: [1, 1] });
    const group = await zarr.openGroup(path);
    expect((await group.members()).map((m) => m.name)).toEqual(["0", "1", "c"]);
    const all = await zarr.load(path);
    expect(hexOf(all["1"])).toBe(hexOf(t));
    for (const x of [t, ...Object.values(all)]) x.dispose();
  });

  it.each([2, 3] as const)(
    "of version %i: consolidated, a store that cannot list can be looked into",
    async (version) => {
      const map = new Map<string, Uint8Array>();
      const [x, y] = [arange(3), tensor([1n, 2n])];
      const attributes = { title: "ü", n: 2 ** 60 };
      await zarr.save(map, { x, "deep/y": y }, { version, attributes });
      await zarr.create(map, { path: "deep/z", shape: [2], dtype: "u64", fill: 2n ** 64n - 1n, version });
      await zarr.consolidate(map);
      await zarr.consolidate(map);
      const store: ZarrStore = { get: (key) => map.get(key) };
      const group = await zarr.openGroup(store);
      expect(group.attributes.title).toBe("ü");
      const all = await zarr.load(store);
      expect(Object.keys(all).sort()).toEqual(["deep/y", "deep/z", "x"]);
      expect([factOf(all.x), factOf(all["deep/y"])]).toEqual([factOf(x), factOf(y)]);
      expect(hexOf(all["deep/z"])).toBe("ff".repeat(16));
      const asked: string[] = [];
      const counting: ZarrStore = {
        get(key) {
          asked.push(key);
          return map.get(key);
        },
      };
      await (await zarr.openGroup(counting)).open("deep/z");
      expect(asked).toEqual(
        version === 3 ? ["zarr.json"] : ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"],
      );
      await expect(zarr.consolidate(map, { path: "x" })).rejects.toThrow('at "x" lies an array.');
      for (const t of [x, y, ...Object.values(all)]) t.dispose();
    },
  );

  it("names of axes: version 3 has them, version 2 as xarray does", async () => {
    for (const version of [2, 3] as const) {
      const map = new Map<string, Uint8Array>();
      const options = {
        shape: [2, 3],
        dtype: "f32",
        dimensionNames: ["y", "x"],
        attributes: { u: 1 },
      } as const;
      await zarr.create(map, { ...options, version });
      const array = await zarr.openArray(map);
      if (version === 3) expect(array.dimensionNames).toEqual(["y", "x"]);
      else expect(array.attributes).toEqual({ u: 1, _ARRAY_DIMENSIONS: ["y", "x"] });
    }
  });
});

describe("what is chosen where nothing is said", () => {
  it("chunks have about a mebibyte", async () => {
    const map = new Map<string, Uint8Array>();
    const array = await zarr.create(map, { shape: [10_000, 3000], dtype: "f64" });
    expect(array.chunks).toEqual([313, 375]);
    expect(array.version).toBe(3);
  });
});

describe("as any other format", () => {
  it("open finds a folder, and gives an archive of its arrays", async () => {
    const path = folder();
    const [x, y] = [scope(() => arange(6).reshape(2, 3)), tensor([true, false])];
    await save(path, { x, "deep/y": y });
    const archive = await open(path);
    expect(archive.format).toBe("zarr");
    expect(archive.meta).toEqual({ version: 3 });
    expect(archive.entries).toEqual([
      { name: "deep/y", type: "bool", dtype: "bool", shape: [2], from: 0, bytes: 2, chunks: [2] },
      { name: "x", type: "float32", dtype: "f32", shape: [2, 3], from: 0, bytes: 24, chunks: [2, 3] },
    ]);
    const [all, row] = [await archive.read("deep/y"), await archive.read("x", [1])];
    expect([all.toArray(), row.toArray()]).toEqual([
      [true, false],
      [3, 4, 5],
    ]);
    await expect(archive.raw("x")).rejects.toThrow('entry "x": its elements are not bytes in a row.');
    await expect(archive.read("z")).rejects.toThrow('there is no entry "z".');
    await archive.close();
    await expect(archive.read("x")).rejects.toThrow("it has been closed.");
    for (const t of [x, y, all, row]) t.dispose();
  });

  it("one array is called array", async () => {
    const path = folder();
    const t = arange(10);
    await save(path, t);
    await expect(save(path, t)).rejects.toThrow("lies something already");
    const archive = await open(pathToFileURL(path));
    expect(archive.entries.map((e) => e.name)).toEqual(["array"]);
    const back = await archive.read();
    expect(factOf(back)).toEqual(factOf(t));
    for (const x of [t, back]) x.dispose();
  });

  it("an array that no dtype holds is listed, and says why it cannot be read", async () => {
    const path = folder();
    await zarr.create(path, { shape: [2], dtype: "u8", path: "x" });
    const file = join(path, "x", "zarr.json");
    writeFileSync(file, readFileSync(file, "utf8").replace("uint8", "string"));
    const archive = await open(path);
    expect(archive.entries).toEqual([
      { name: "x", type: "string", dtype: null, shape: [2], from: 0, bytes: 0 },
    ]);
    await expect(archive.read("x")).rejects.toThrow('entry "x": no dtype here holds "string".');
    await expect(zarr.open(path, { path: "x" })).rejects.toThrow(
      'key "x/zarr.json": no dtype here holds "string".',
    );
  });

  it("a folder of anything else is none", async () => {
    await expect(open(root)).rejects.toThrow('nothing of Zarr lies at ""');
  });
});

describe("hierarchies that others wrote", () => {
  const names = Object.keys(zarrManifest);

  async function check(name: string, archive: Archive): Promise<void> {
    const facts = zarrManifest[name];
    expect(archive.entries.map((e) => e.name).sort()).toEqual(Object.keys(facts).sort());
    for (const { name: entry, dtype } of archive.entries) {
      const fact = facts[entry];
      if (fact === null) {
        expect(dtype).toBe(null);
        await expect(archive.read(entry)).rejects.toThrow(/no dtype here holds|is not known/);
        continue;
      }
      if (packedByPackage.test(entry)) continue;
      const t = await archive.read(entry);
      expect(factOf(t), entry).toEqual(fact);
      t.dispose();
    }
  }

  it.each(names)(
    "%s: from a folder, from memory, with and without its consolidated metadata",
    async (name) => {
      await check(name, await open(join(zarrFolder, name)));
      const all = keysOf(name);
      for (const isWhole of [true, false]) {
        const keys = new Map(all);
        if (!isWhole) {
          keys.delete(".zmetadata");
          const root = keys.get("zarr.json");
          if (root !== undefined) {
            const { consolidated_metadata: _, ...rest } = jsonOf(keys, "zarr.json");
            keys.set("zarr.json", new TextEncoder().encode(JSON.stringify(rest)));
          }
        }
        const loaded = await zarr.load(keys, {
          names: Object.keys(zarrManifest[name]).filter(
            (n) => zarrManifest[name][n] !== null && !packedByPackage.test(n),
          ),
        });
        for (const [entry, t] of Object.entries(loaded)) {
          expect(factOf(t), entry).toEqual(zarrManifest[name][entry]);
          t.dispose();
        }
      }
    },
  );

  it.each(names)("%s: from a server, which cannot list", async (name) => {
    const site = await serveFiles(Object.fromEntries([...keysOf(name)].map(([k, v]) => [`${name}/${k}`, v])));
    try {
      await check(name, await open(`${site.url}/${name}`));
    } finally {
      await site.close();
    }
  });

  it("what they say of themselves", async () => {
    const v2 = await zarr.openGroup(join(zarrFolder, "v2.zarr"));
    expect(v2.attributes).toEqual({ title: "made by zarr-python", lost: NaN });
    const nested = await v2.open("nested");
    if (nested.kind !== "group") throw new Error("an array");
    expect(await nested.members()).toEqual([{ name: "slashes", kind: "array" }]);
    const filled = await v2.open("filled");
    expect(filled.kind === "array" && filled.fill).toBe(NaN);
    const shards = await zarr.openArray(join(zarrFolder, "v3.zarr"), { path: "shards-end" });
    expect([shards.chunks, shards.shards, shards.dimensionNames]).toEqual([
      [2, 3],
      [4, 6],
      ["y", null],
    ]);
    expect(await shards.hasChunk([0, 0])).toBe(true);
    expect(await shards.hasChunk([1, 0])).toBe(false);
    const complex = await zarr.openArray(join(zarrFolder, "v3.zarr"), { path: "complex64" });
    expect([complex.shape, complex.chunks, complex.grid, complex.fill]).toEqual([
      [2, 3, 2],
      [2, 3, 2],
      [1, 1],
      [0, 0],
    ]);
  });

  it("are written again: complex numbers, shards and all", async () => {
    for (const path of ["c16", "fortran-big", "complex64", "shards-start", "turned"]) {
      const name = zarrManifest["v2.zarr"][path] === undefined ? "v3.zarr" : "v2.zarr";
      const keys: Map<string, Uint8Array> = keysOf(name);
      const array = await zarr.openArray(keys, { path });
      const all = await array.read();
      for (const key of [...keys.keys()])
        if (key.startsWith(`${path}/`) && !/\.z|zarr/.test(key)) keys.delete(key);
      await array.write(null, all);
      const back = await array.read();
      expect(factOf(back)).toEqual(zarrManifest[name][path]);
      for (const t of [all, back]) t.dispose();
    }
  });
});

describe("rows of chunks that lie as they are", () => {
  it("are read alone, and a slice of any kind is right", async () => {
    const path = folder();
    const x = scope(() => arange(24 * 20 * 6).reshape(24, 20, 6));
    await zarr.save(path, x, { chunks: [8, 10, 6] });
    const a = await zarr.openArray(path);
    expect(a.isPlain).toBe(true);
    for (const items of [
      ["3:5"],
      ["2:20:3", "1:19", 2],
      [5, "::-1"],
      ["::-2", 7, "1:3"],
      ["7:9", "9:11"],
      [-1, -1, -1],
    ]) {
      const got = await a.read(items as never);
      scope(() => expect(got.toArray()).toEqual(x.slice(...(items as [])).toArray()));
      got.dispose();
    }
    const packed = folder();
    await zarr.save(packed, x, { chunks: [8, 10, 6], compressor: "gzip" });
    expect((await zarr.openArray(packed)).isPlain).toBe(false);
    x.dispose();
  });
});

describe("save", () => {
  const all = (path: string) => (readdirSync(path, { recursive: true }) as string[]).sort();

  it("that fails has changed nothing, in a folder and in memory", async () => {
    const [x, y] = scope(() => [arange(6).reshape(2, 3), arange(4)]);
    const options = { chunks: [1, 3], overwrite: true };
    const path = folder();
    for (const store of [path, new Map<string, Uint8Array>()]) {
      // The second has another rank: it fails when the first is written.
      await expect(zarr.save(store, { x, y }, { chunks: [1, 3] })).rejects.toThrow("chunks are [1, 3]");
      await expect(zarr.open(store)).rejects.toThrow("nothing of Zarr");
      await zarr.save(store, { old: y });
      await expect(zarr.save(store, { x, y }, options)).rejects.toThrow("chunks are [1, 3]");
      const { old, ...more } = await zarr.load(store);
      expect([old.toArray(), more]).toEqual([[0, 1, 2, 3], {}]);
      await zarr.save(store, { x }, options);
      expect(await (await zarr.openGroup(store)).members()).toEqual([{ name: "x", kind: "array" }]);
      old.dispose();
    }
    expect(all(root).filter((name) => name.includes(".tmp"))).toEqual([]);
    await expect(zarr.save(join(root, "no", "t.zarr"), { x, y }, options)).rejects.toThrow();
    expect(all(root)).not.toContain("no");
    for (const t of [x, y]) t.dispose();
  });

  it("below a path leaves what lies beside it, and links as they are", async () => {
    const path = folder();
    const [x, y] = [arange(3), arange(2)];
    await zarr.save(path, x, { path: "a/b" });
    await zarr.save(path, y, { path: "a/c" });
    await zarr.save(path, y, { path: "a/b", overwrite: true });
    const link = folder();
    symlinkSync(path, link);
    await zarr.save(link, x, { path: "a/c", overwrite: true });
    await zarr.save(link, { x }, { path: "d" });
    const found = await zarr.load(path);
    const said = Object.entries(found).map(([name, t]) => `${name} ${t.toArray()}`);
    expect(said).toEqual(["a/b 0,1", "a/c 0,1,2", "d/x 0,1,2"]);
    await zarr.save(link, x, { overwrite: true });
    expect([(await zarr.open(path)).kind, lstatSync(link).isSymbolicLink()]).toEqual(["array", true]);
    for (const t of [x, y, ...Object.values(found)]) t.dispose();
  });

  it("leaves what is no Zarr, and replaces no file", async () => {
    const [path, file] = [folder(), folder()];
    const x = arange(3);
    mkdirSync(path);
    writeFileSync(join(path, "notes.txt"), "mine");
    await zarr.save(path, { x });
    expect(all(path)).toEqual(["notes.txt", "x", "x/c", "x/c/0", "x/zarr.json", "zarr.json"]);
    writeFileSync(file, "mine");
    await expect(zarr.save(file, x, { overwrite: true })).rejects.toThrow("no folder");
    expect(readFileSync(file, "utf8")).toBe("mine");
    x.dispose();
  });

  it("of no elements is made at once, however long another axis is", async () => {
    const path = folder();
    const array = await zarr.create(path, { shape: [0, 1e14], dtype: "u8", chunks: [1, 1000] });
    const none = zeros([0, 1], { dtype: "u8" });
    await array.write(null, none);
    const back = await array.read();
    expect(back.shape).toEqual([0, 1e14]);
    for (const t of [none, back]) t.dispose();
  });
});
