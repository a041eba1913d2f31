/** What is written is read again, bit for bit; files appear wholly or not at all. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  arange,
  type DType,
  dtypeNames,
  fromBuffer,
  memory,
  scope,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";
import { Streamed } from "../../src/io/into-heap.ts";
import { gguf, npy, npz, open, png, pnm, safetensors, save, wav } from "../../src/io.ts";
import { randomOf } from "../fuzz/memory.ts";
import { settledTensors } from "../settled.ts";
import { bytesOf, factOf } from "./fixtures.ts";

const root = mkdtempSync(join(tmpdir(), "strided-io-"));
afterAll(() => rmSync(root, { recursive: true }));
let folder: string;
let count = 0;
beforeEach(() => {
  folder = mkdtempSync(join(root, `t${count++}-`));
});
const at = (name: string) => join(folder, name);

/** Any bits of a dtype; bools are 0 or 1. */
function anyBits(dtype: DType, shape: readonly number[], seed: number): Tensor {
  const next = randomOf(seed);
  const size = shape.reduce((a, b) => a * b, 8);
  const bytes = Uint8Array.from({ length: size }, () => (dtype === "bool" ? next() * 2 : next() * 256));
  return fromBuffer(bytes, { dtype, shape });
}

/** A tensor in layouts that files do not have. */
const layouts: Record<string, (dtype: DType) => Tensor> = {
  dense: (d) => anyBits(d, [3, 4], 1),
  scalar: (d) => anyBits(d, [], 2),
  empty: (d) => zeros([3, 0], { dtype: d }),
  transposed: (d) => anyBits(d, [3, 4], 3).T,
  stepped: (d) => anyBits(d, [6, 5], 4).slice("::2", "::-2"),
  broadcast: (d) => anyBits(d, [1, 4], 5).broadcastTo(3, 4),
  permuted: (d) => anyBits(d, [2, 3, 4], 6).permute(1, 2, 0),
  long: (d) => anyBits(d, [33, 70], 7),
};

const formats = {
  npy: { encode: (t: Tensor) => npy.encode(t), dtypes: dtypeNames.filter((d) => d !== "bf16") },
  npz: { encode: (t: Tensor) => npz.encode({ array: t }), dtypes: dtypeNames.filter((d) => d !== "bf16") },
  "npz, deflated": {
    encode: (t: Tensor) => npz.encode({ array: t }, { compress: true }),
    dtypes: dtypeNames.filter((d) => d !== "bf16"),
  },
  safetensors: { encode: (t: Tensor) => safetensors.encode({ array: t }), dtypes: dtypeNames },
  gguf: {
    encode: (t: Tensor) => gguf.encode({ array: t }),
    dtypes: ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"] as const,
  },
};

describe.each(Object.entries(formats))("%s", (_, { encode, dtypes }) => {
  it.each(dtypes)("writes %s of any layout and reads it again", async (dtype) => {
    const before = await settledTensors();
    for (const [layout, make] of Object.entries(layouts)) {
      const t = scope(() => make(dtype).slice("..."));
      const file = await open(await encode(t));
      const back = await file.read("array");
      expect(factOf(back), layout).toEqual(factOf(t));
      t.dispose();
      back.dispose();
    }
    expect(memory().tensors).toBe(before);
  });
});

describe("sound and pictures", () => {
  it("WAV of every dtype it has", async () => {
    for (const dtype of ["u8", "i16", "i32", "f32", "f64"] as const) {
      for (const shape of [[5], [5, 1], [4, 3], [0, 2]]) {
        const t = anyBits(dtype, shape, 9);
        const { data, sampleRate } = await wav.load(await wav.encode(t, { sampleRate: 48000 }));
        expect(sampleRate).toBe(48000);
        expect(factOf(data)).toEqual(factOf(shape.length === 1 ? t.reshape(-1, 1) : t));
      }
    }
    await expect(wav.encode(zeros([2], { dtype: "i8" }))).rejects.toThrow("WAV has no i8");
    await expect(wav.encode(zeros([2, 2, 2]))).rejects.toThrow("is no sound");
    await expect(wav.encode(zeros([2]), { sampleRate: 0 })).rejects.toThrow("sampleRate is the number 0");
  });

  it("PGM, PPM and PAM", async () => {
    for (const dtype of ["u8", "u16"] as const) {
      for (const shape of [
        [3, 4],
        [3, 4, 1],
        [3, 4, 2],
        [3, 4, 3],
        [3, 4, 4],
        [0, 4],
      ]) {
        const t = anyBits(dtype, shape, 9);
        expect(factOf(await pnm.load(await pnm.encode(t)))).toEqual(factOf(t));
      }
    }
    const mask = tensor([[true, false, true]]);
    for (const { encode, load } of [pnm, png]) {
      const back = await load(await encode(mask));
      expect([back.dtype, back.toArray()]).toEqual(["u8", [[255, 0, 255]]]);
    }
    await expect(pnm.encode(zeros([2, 2]))).rejects.toThrow("PNM has no f32");
    await expect(pnm.encode(zeros([2], { dtype: "u8" }))).rejects.toThrow("is no picture");
  });
});

describe("what a format lacks is refused", () => {
  it("by name, and nothing is held afterwards", async () => {
    const t = zeros([2], { dtype: "bf16" });
    const u = zeros([2], { dtype: "u8" });
    const before = await settledTensors();
    await expect(npy.encode(t)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: npy.encode: NumPy has no bf16.
        Convert it, t.to("f32"), or write safetensors, which has it.]
    `);
    await expect(npz.encode({ u, t })).rejects.toThrow("npz.encode: NumPy has no bf16.");
    await expect(gguf.encode({ t, u })).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: gguf.encode: GGUF has no u8 ("u").
        It has f32 f16 bf16 f64 i8 i16 i32 i64.]
    `);
    await expect(npz.encode({ "../a": u })).rejects.toThrow('the name "../a" leads out of its folder');
    await expect(safetensors.encode({ __metadata__: u })).rejects.toThrow("cannot be called");
    await expect(safetensors.encode(undefined as never)).rejects.toThrow("the options are null");
    await expect(safetensors.encode({ u: 1 } as never)).rejects.toThrow(
      "expected a tensor, got the number 1",
    );
    expect(memory().tensors).toBe(before);
    for (const held of [t, u]) held.dispose();
  });
});

describe("files", () => {
  it("are written under their own name, and nothing else is left in the folder", async () => {
    const x = arange(6).reshape(2, 3);
    await npy.save(at("x.npy"), x);
    await save(at("y.npy"), x.T);
    await save(at("z.npz"), { x });
    await save(pathToFileURL(at("w.safetensors")), { x });
    await save(at("v.gguf"), { x });
    expect(readdirSync(folder).sort()).toEqual(["v.gguf", "w.safetensors", "x.npy", "y.npy", "z.npz"]);
    for (const name of readdirSync(folder)) {
      const file = await open(at(name));
      const [entry] = file.entries;
      const back = await file.read(entry.name);
      expect(back.toArray(), name).toEqual((name === "y.npy" ? x.T : x).toArray());
    }
    expect((await npy.load(at("y.npy"))).strides).toEqual([1, 3]);
  });

  it("replace what was there, and only when they are complete", async () => {
    await npy.save(at("x.npy"), arange(3));
    await npy.save(at("x.npy"), arange(4));
    expect((await npy.load(at("x.npy"))).toArray()).toEqual([0, 1, 2, 3]);
    const t = arange(5);
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    await expect(npy.save(at("x.npy"), t, { signal: stop.signal })).rejects.toThrow("enough");
    expect((await npy.load(at("x.npy"))).toArray()).toEqual([0, 1, 2, 3]);
    expect(readdirSync(folder)).toEqual(["x.npy"]);
  });

  it("in a folder that is not there, or over a folder, are an error", async () => {
    const t = arange(2);
    const before = await settledTensors();
    await expect(npy.save(at("none/x.npy"), t)).rejects.toThrow(
      /npy\.save: ".*x\.npy": there is no folder ".*none"\./,
    );
    await expect(npy.save(folder, t)).rejects.toMatchObject({ code: "file" });
    await expect(npy.save("https://host/x.npy", t)).rejects.toThrow("cannot write to");
    await expect(npy.save(5 as never, t)).rejects.toThrow("cannot write to");
    await expect(save(at("x.jpg"), t)).rejects.toThrow("no format is written to");
    await expect(save(at("x.npz"), t)).rejects.toThrow("npz holds tensors by name");
    await expect(save(at("x.npy"), { t })).rejects.toThrow("npy holds one tensor");
    expect(readdirSync(folder)).toEqual([]);
    expect(memory().tensors).toBe(before);
    t.dispose();
  });

  it("do not follow a link that lies where they are to be", async () => {
    writeFileSync(at("precious"), "keep me");
    symlinkSync(at("precious"), at("x.npy"));
    await npy.save(at("x.npy"), arange(2));
    expect(readFileSync(at("precious"), "utf8")).toBe("keep me");
    expect((await npy.load(at("x.npy"))).toArray()).toEqual([0, 1]);
  });

  it("hold their tensors while they are written, whatever happens to the handles", async () => {
    const before = await settledTensors();
    let saving: Promise<void> = Promise.resolve();
    scope(() => {
      const t = arange(3_000_000);
      saving = npy.save(at("x.npy"), t);
    });
    const others = Array.from({ length: 20 }, () => zeros([3_000_000]));
    await saving;
    for (const t of others) t.dispose();
    const back = await npy.load(at("x.npy"));
    expect(back.sub(arange(3_000_000)).abs().max().item()).toBe(0);
    back.dispose();
    expect(memory().tensors).toBeLessThanOrEqual(before + 4);
  });
});

describe("safetensors in shards", () => {
  it("are files of about the size asked for, and an index that finds them", async () => {
    const tensors = Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`t${i}`, arange(10).add(i)]));
    const path = at("model.safetensors.index.json");
    await safetensors.save(path, tensors, { shardBytes: 100, meta: { format: "pt" } });
    expect(readdirSync(folder).sort()).toEqual([
      "model-00001-of-00004.safetensors",
      "model-00002-of-00004.safetensors",
      "model-00003-of-00004.safetensors",
      "model-00004-of-00004.safetensors",
      "model.safetensors.index.json",
    ]);
    const back = await safetensors.load(path);
    for (const [name, t] of Object.entries(tensors)) expect(factOf(back[name])).toEqual(factOf(t));
    await expect(safetensors.save(at("model"), tensors, { shardBytes: 100 })).rejects.toThrow("index.json");
    await expect(safetensors.save(path, tensors, { shardBytes: -1 })).rejects.toThrow("shardBytes is");
    const url = pathToFileURL(at("other one.safetensors.index.json"));
    await safetensors.save(url, tensors, { shardBytes: 1000 });
    expect(Object.keys(await safetensors.load(url)).sort()).toEqual(Object.keys(tensors));
  });

  it("a path of an index gets one, also by save", async () => {
    const x = arange(3);
    await save(at("plain.safetensors.index.json"), { x });
    expect(JSON.parse(readFileSync(at("plain.safetensors.index.json"), "utf8")).weight_map).toEqual({
      x: "plain-00001-of-00001.safetensors",
    });
    x.dispose();
  });

  it("that fail leave those that were there", async () => {
    const x = arange(30);
    const path = at("old.safetensors.index.json");
    await safetensors.save(path, { a: x, b: x }, { shardBytes: 100 });
    const before = readdirSync(folder);
    // The second shard cannot be written.
    const late = new Streamed("f32", [30], async function* () {
      yield* [];
      throw new Error("no more");
    }) as unknown as Tensor;
    const y = x.add(1);
    await expect(safetensors.save(path, { a: y, b: late }, { shardBytes: 100 })).rejects.toThrow("no more");
    expect(readdirSync(folder)).toEqual(before);
    const { a } = await safetensors.load(path);
    expect(a.get(0)).toBe(0);
    for (const t of [x, y]) t.dispose();
  });
});

describe("GGUF's metadata", () => {
  it("is written as it was read", async () => {
    const original = await gguf.open(bytesOf("plain.gguf"));
    const { meta, metaTypes } = original;
    const again = await gguf.open(await gguf.encode({ t: tensor([1]) }, { meta, metaTypes }));
    expect({ ...again.meta }).toEqual({ ...meta });
    expect({ ...again.metaTypes }).toEqual({ ...metaTypes });
  });

  it("without types has those that fit", async () => {
    const meta = {
      "general.alignment": 64,
      a: 1,
      b: -1,
      c: 2 ** 40,
      d: 0.1,
      e: 5n,
      f: true,
      g: "text",
      h: [1, -2],
      i: [0.5, 1],
      j: ["x"],
      k: new Uint16Array([7]),
      l: [],
    };
    const file = await gguf.open(await gguf.encode({ t: arange(3), u: arange(2) }, { meta }));
    expect(Object.values(file.metaTypes).join(" ")).toBe(
      "u32 u32 i32 i64 f32 i64 bool string i32[] f32[] string[] u16[] i32[]",
    );
    expect(file.meta.d).toBe(Math.fround(0.1));
    expect(file.entries.every((e) => e.from % 64 === 0)).toBe(true);
    await expect(gguf.encode({}, { meta: { a: null } as never })).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: gguf.encode: meta "a" is null.
        Values are texts, numbers, booleans, or lists of one kind; types are u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 bool string, and those with [] after them.]
    `);
    await expect(gguf.encode({}, { meta: { a: 300 }, metaTypes: { a: "u8" } })).rejects.toThrow("no u8");
    await expect(gguf.encode({}, { meta: { "general.alignment": 7 } })).rejects.toThrow("power of two");
  });

  it("has lists of lists, written by the types that reading gives", async () => {
    const meta = { a: [[7], [8, 9]], b: [[["x"], []], [["é"]]], c: [[true], []], d: [], e: [[], []] };
    const metaTypes = { a: "u16[][]", b: "string[][][]", c: "bool[][]", d: "array[]", e: "array[][]" };
    const bytes = await gguf.encode({}, { meta, metaTypes });
    const file = await gguf.open(bytes);
    expect({ ...file.metaTypes }).toEqual(metaTypes);
    expect(file.meta.a).toEqual([Uint16Array.of(7), Uint16Array.of(8, 9)]);
    expect(file.meta.b).toEqual(meta.b);
    expect(file.meta.e).toEqual(meta.e);
    expect(await gguf.encode({}, { meta: file.meta, metaTypes: file.metaTypes })).toEqual(bytes);
    const odd = { meta: { a: [[1], 2] }, metaTypes: { a: "u8[][]" } };
    await expect(gguf.encode({}, odd)).rejects.toThrow('meta "a" is an array, which is no u8[][].');
    const deep = { meta: { a: [] }, metaTypes: { a: "u8[][][][][]" } };
    await expect(gguf.encode({}, deep)).rejects.toThrow('has the type the string "u8[][][][][]"');
  });

  it("with lists of several types in a list is read, and not written as something else", async () => {
    const bytes = await gguf.encode({}, { meta: { k: [[7], [8]] }, metaTypes: { k: "u32[][]" } });
    // The second list's type: f32 instead of u32.
    bytes[bytes.lastIndexOf(4)] = 6;
    const { meta, metaTypes } = await gguf.open(bytes);
    expect(metaTypes.k).toBe("array[]");
    await expect(gguf.encode({}, { meta, metaTypes })).rejects.toThrow('"k" holds lists of several types.');
  });
});
