/** Every fixture through every kind of source: what NumPy, safetensors, gguf and onnx wrote is what we read. */
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memory, type SliceItem } from "../../src/index.ts";
import { type Archive, gguf, npy, npz, onnx, open, type Source, safetensors } from "../../src/io.ts";
import { settledTensors } from "../settled.ts";
import { bytesOf, type Fact, factOf, hexOf, manifest, pathOf } from "./fixtures.ts";
import { type Served, serveFiles } from "./server.ts";

const names = Object.keys(manifest).sort();
const companions: Record<string, string[]> = {
  "sharded.safetensors.index.json": [
    "sharded-00001-of-00002.safetensors",
    "sharded-00002-of-00002.safetensors",
  ],
  "external.onnx": ["external.data"],
};
const all = [...names, ...Object.values(companions).flat()];
const files = Object.fromEntries(all.map((name) => [name, bytesOf(name)]));
const filesFor = (name: string) => Object.fromEntries((companions[name] ?? []).map((n) => [n, bytesOf(n)]));

let site: Served;
beforeAll(async () => {
  site = await serveFiles(files);
});
afterAll(() => site.close());

const sources: Record<string, (name: string) => Source> = {
  "a path": pathOf,
  "a file URL": (name) => pathToFileURL(pathOf(name)),
  "a file URL as text": (name) => pathToFileURL(pathOf(name)).href,
  bytes: (name) => files[name],
  "bytes at an odd place": (name) => {
    const shifted = new Uint8Array(files[name].length + 3);
    shifted.set(files[name], 3);
    return shifted.subarray(3);
  },
  "an ArrayBuffer": (name) => files[name].slice().buffer,
  "shared memory": (name) => {
    const shared = new Uint8Array(new SharedArrayBuffer(files[name].length));
    shared.set(files[name]);
    return shared;
  },
  "a Blob": (name) => new Blob([files[name]]),
  "an object that reads": (name) => ({
    size: files[name].length,
    read: async (from, length) => files[name].slice(from, from + length),
  }),
  "an object that fills": (name) => ({
    size: files[name].length,
    read(from, length, into) {
      into!.set(files[name].subarray(from, from + length));
      return into!;
    },
  }),
  "a server": (name) => `${site.url}/${name}`,
};

async function checkFile(name: string, archive: Archive): Promise<void> {
  const expected = manifest[name];
  expect(archive.entries.map((e) => e.name).sort()).toEqual(Object.keys(expected).sort());
  for (const entry of archive.entries) {
    const fact = expected[entry.name];
    if (fact === null || fact.hex === undefined) {
      expect(entry.dtype, entry.name).toBe(null);
      await expect(archive.read(entry.name)).rejects.toMatchObject({ name: "TensorError", code: "file" });
      if (fact?.raw === undefined) continue;
      expect(entry).toMatchObject({ type: fact.type, shape: fact.shape });
      const raw = await archive.raw(entry.name);
      expect(hexOf(raw)).toBe(fact.raw);
      raw.dispose();
      continue;
    }
    const { dtype, shape } = fact;
    expect(entry).toMatchObject({ dtype, shape, bytes: fact.hex.length / 2 });
    const t = await archive.read(entry.name);
    expect(factOf(t), entry.name).toEqual(fact);
    t.dispose();
  }
  await archive.close();
}

describe.each(Object.entries(sources))("from %s", (_, source) => {
  it.each(names)("%s", async (name) => {
    const before = memory().tensors;
    await checkFile(name, await open(source(name), { files: filesFor(name) }));
    expect(memory().tensors).toBe(before);
  });
});

describe("from a folder, with what lies beside", () => {
  it.each(Object.keys(companions))("%s", async (name) => {
    await checkFile(name, await open(pathOf(name)));
    await checkFile(name, await open(`${site.url}/${name}`));
  });
});

describe("slices", () => {
  const slices: readonly (readonly SliceItem[])[] = [
    [],
    ["..."],
    [null],
    ["::-1"],
    [0],
    [-1],
    ["1:2"],
    ["2:1"],
    [":", "::2"],
    [":", "::-2"],
    ["::2", "1:3"],
    ["::-1", "::-1"],
    ["...", 0],
    ["...", null, "1:"],
    [":", 1, "::-1"],
  ];

  // Of formats with many files of one kind: those that are read in ways of their own.
  const some =
    /^(batches\.arrows?|lz4\.arrow|groups\.parquet|gzip\.parquet|rgb8\.png|interlaced-grey16\.png)$/;
  const sliced = names.filter((name) => !/\.(arrows?|feather|parquet|png)$/.test(name) || some.test(name));

  it("of every entry are what slicing the whole gives", async () => {
    let compared = 0;
    for (const name of sliced) {
      const archive = await open(pathOf(name));
      for (const entry of archive.entries) {
        if (entry.dtype === null) continue;
        const whole = await archive.read(entry.name);
        for (const items of slices) {
          let want: Fact | string;
          try {
            const view = whole.slice(...items);
            want = factOf(view);
            view.dispose();
          } catch (error) {
            want = (error as Error).message;
          }
          let got: Fact | string;
          try {
            const part = await archive.read(entry.name, items);
            got = factOf(part);
            part.dispose();
          } catch (error) {
            got = (error as Error).message;
          }
          expect(got, `${name} ${entry.name} ${JSON.stringify(items)}`).toEqual(want);
          compared++;
        }
        whole.dispose();
      }
    }
    expect(compared).toBeGreaterThan(1000);
  });
});

describe("load", () => {
  it("gives one tensor of an npy file, or a slice of it", async () => {
    const t = await npy.load(pathOf("fortran.npy"));
    expect(t.strides).toEqual([1, 3, 12]);
    const part = await npy.load(pathOf("fortran.npy"), { slice: [1, "::2"] });
    expect(factOf(part)).toEqual(factOf(t.slice(1, "::2")));
  });

  it("gives the tensors of other files by name", async () => {
    const { x, y } = await npz.load(pathOf("deflated.npz"));
    expect(factOf(x)).toEqual(manifest["deflated.npz"].x);
    expect(y.strides).toEqual([1, 4]);
    const some = await safetensors.load(pathOf("all.safetensors"), { names: ["f2", "bf16"] });
    expect(Object.keys(some)).toEqual(["f2", "bf16"]);
    expect(Object.keys(await gguf.load(pathOf("plain.gguf"), { names: ["f4"] }))).toEqual(["f4"]);
    expect(Object.keys(await onnx.load(pathOf("external.onnx")))).toEqual(["w", "v"]);
  });

  it("leaves nothing behind where one of them cannot be read", async () => {
    const before = await settledTensors();
    await expect(gguf.load(pathOf("plain.gguf"))).rejects.toThrow(/Q8_0 packs 32 elements in 34 bytes/);
    expect(memory().tensors).toBe(before);
  });
});

describe("metadata", () => {
  it("of GGUF, with its types", async () => {
    const { meta, metaTypes, version } = await gguf.open(pathOf("plain.gguf"));
    expect(version).toBe(3);
    expect({ ...meta }).toEqual({
      "general.architecture": "llama",
      "t.u8": 200,
      "t.i8": -5,
      "t.u16": 60000,
      "t.i16": -30000,
      "t.u32": 4000000000,
      "t.i32": -2000000000,
      "t.f32": 1.5,
      "t.u64": 2n ** 63n + 1n,
      "t.i64": -5,
      "t.f64": 0.1,
      "t.bool": true,
      "t.string": "grüße",
      "t.strings": ["a", "", "ccc"],
      "t.ints": new Int32Array([1, 2, -3]),
      "t.floats": new Float32Array([0.5, 1.5]),
      "t.bools": new Uint8Array([1, 0]),
    });
    expect(metaTypes["t.f32"]).toBe("f32");
    expect(metaTypes["t.strings"]).toBe("string[]");
  });

  it("of safetensors, ONNX and npz", async () => {
    expect({ ...(await open(pathOf("all.safetensors"))).meta }).toEqual({ "made by": "safetensors", ü: "é" });
    const model = (await open(pathOf("all.onnx"))).meta;
    expect(model).toMatchObject({ producer: "onnx", graph: "the graph" });
    expect({ ...(model.opset as object) }).toEqual({ "ai.onnx": 21 });
    expect({ ...(model.props as object) }).toEqual({ author: "nobody" });
    expect((await open(pathOf("descriptors.npz"))).meta).toEqual({ other: ["notes.txt"] });
    expect((await open(pathOf("sharded.safetensors.index.json"))).meta).toMatchObject({ total_size: 84 });
  });
});

it("samples of PNM are shares of maxval, and comments may stand among them", async () => {
  const bytes = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));
  const read = async (text: string, slice?: readonly string[]) => {
    const file = await open(bytes(text));
    const t = await file.read("image", slice);
    const said = [t.dtype, t.toArray(), file.meta.maxval];
    t.dispose();
    return said;
  };
  // What Pillow makes of them: the nearest, halves to even.
  expect(await read("P5 2 1 100\n\x32d")).toEqual(["u8", [[128, 255]], 100]);
  expect(await read("P2 4 1 100\n0 10 30 50")).toEqual(["u8", [[0, 26, 76, 128]], 100]);
  expect(await read("P2 2 1 1000 1000 500")).toEqual(["u16", [[65535, 32768]], 1000]);
  expect(await read("P5 2 1 1000\n\x03\xe8\x01\xf4")).toEqual(["u16", [[65535, 32768]], 1000]);
  expect(await read("P5 3 1 3\n\x01\x02\x03", [":", "1:"])).toEqual(["u8", [[170, 255]], 3]);
  const pam = "P7\nWIDTH 1\nHEIGHT 2\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\x00\x01";
  expect(await read(pam)).toEqual(["u8", [[[0]], [[255]]], 1]);
  expect(await read("P3 1 1 255\n1 # red\n2 # green\n3 # blue")).toEqual(["u8", [[[1, 2, 3]]], 255]);
  expect(await read("P1 2 1 # bits\n0 #x\n1")).toEqual(["bool", [[true, false]], 1]);
});
