/**
 * Zarr stores that lie: metadata, chunks, shards, keys, links, lists and servers. An error that names store, key and fact, before
 * memory is taken; nothing read or written outside; and a process that is killed leaves no half chunk.
 */
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { arange, full, memory, scope, TensorError, zeros } from "../../src/index.ts";
import { open, type ZarrStore, zarr } from "../../src/io.ts";
import { randomOf } from "../fuzz/memory.ts";
import { type Handler, serveFiles } from "./server.ts";

const root = mkdtempSync(join(tmpdir(), "strided-zarr-hostile-"));
afterAll(() => rmSync(root, { recursive: true }));
let count = 0;
const folder = () => join(root, `t${count++}`);
let before = 0;
beforeEach(() => {
  zeros([1]).dispose();
  before = memory().tensors;
});
afterEach(() => expect(memory().tensors).toBe(before));

const text = (value: unknown) =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

/** The message of what a promise rejects with, which must be ours. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    expect((error as TensorError).code).not.toBe("internal");
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

const v2 = {
  zarr_format: 2,
  shape: [4, 4],
  chunks: [2, 2],
  dtype: "<f4",
  compressor: null as unknown,
  fill_value: 0 as unknown,
  order: "C",
  filters: null as unknown,
};
const v3 = {
  zarr_format: 3,
  node_type: "array",
  shape: [4, 4],
  data_type: "float32",
  chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
  chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
  fill_value: 0 as unknown,
  codecs: [{ name: "bytes", configuration: { endian: "little" } }] as unknown,
  attributes: {},
};
const storeV2 = (more: object = {}) => new Map([[".zarray", text({ ...v2, ...more })]]);
const storeV3 = (more: object = {}) => new Map([["zarr.json", text({ ...v3, ...more })]]);
const sharded = (config: object) => ({
  codecs: [
    {
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [1, 1],
        codecs: [{ name: "bytes", configuration: { endian: "little" } }],
        index_codecs: [{ name: "bytes", configuration: { endian: "little" } }, { name: "crc32c" }],
        ...config,
      },
    },
  ],
});
const grid = (chunk_shape: unknown) => ({ chunk_grid: { name: "regular", configuration: { chunk_shape } } });

describe("metadata", () => {
  it.each<[string, Map<string, Uint8Array>, RegExp]>([
    ["nothing", new Map(), /nothing of Zarr lies at ""/],
    ["no JSON", new Map([["zarr.json", text("{zarr")]]), /key "zarr.json": as JSON it is damaged: /],
    ["no text", new Map([["zarr.json", new Uint8Array([0xff, 0xfe])]]), /it is no UTF-8 text/],
    ["a list", new Map([["zarr.json", text("[1]")]]), /it is no JSON object/],
    ["a key twice", new Map([["zarr.json", text('{"a":1,"a":2}')]]), /the key "a" is there twice/],
    ["nesting", new Map([["zarr.json", text("[".repeat(100))]]), /nested more than 64 deep/],
    ["another version", storeV3({ zarr_format: 4 }), /zarr_format is not 3/],
    ["another node", storeV3({ node_type: "link" }), /node_type is neither array nor group/],
    ["an unknown key", storeV3({ zzz: 1 }), /it has "zzz", which is not known/],
    ["transformers", storeV3({ storage_transformers: [{ name: "x" }] }), /storage transformers/],
    ["a shape of text", storeV3({ shape: "4" }), /its shape is no list of sizes/],
    ["a size below 0", storeV3({ shape: [-1, 4] }), /size -1 of axis 0 in its shape/],
    ["a size of half", storeV3({ shape: [1.5, 4] }), /size 1.5 of axis 0/],
    ["a size beyond counting", storeV3({ shape: [2 ** 60, 4] }), /of axis 0 in its shape is not a size/],
    ["sizes that overflow", storeV3({ shape: [2 ** 50, 2 ** 50] }), /is too large to count/],
    ["too many axes", storeV3({ shape: new Array(65).fill(1), ...grid(new Array(65).fill(1)) }), /65 axes/],
    ["chunks of 0", storeV3(grid([0, 2])), /size 0 of axis 0 in its chunk_shape/],
    ["one chunk size", storeV3(grid([2])), /has 2 axes, its chunks \[2\] have 1/],
    ["a chunk of 4 GiB", storeV3(grid([2 ** 15, 2 ** 15])), /takes 4294967296 bytes; at most 2147483647/],
    ["chunks that overflow", storeV3(grid([2 ** 52, 2 ** 52])), /takes .* bytes; at most 2147483647/],
    ["another grid", storeV3({ chunk_grid: { name: "rectilinear" } }), /chunk grid is "rectilinear"/],
    ["other keys", storeV3({ chunk_key_encoding: { name: "suffix" } }), /chunk_key_encoding is "suffix"/],
    [
      "a separator that leads out",
      storeV3({ chunk_key_encoding: { name: "default", configuration: { separator: "/../" } } }),
      /separator of its keys is neither/,
    ],
    ["no fill value", storeV3({ fill_value: undefined }), /it has no fill_value/],
    ["a fill value of text", storeV3({ fill_value: "zero" }), /its fill value "zero" is no f32/],
    ["short bits", storeV3({ fill_value: "0x7f" }), /its fill value "0x7f" is no f32/],
    ["a fill value beyond", storeV3({ data_type: "uint8", fill_value: 256 }), /fill value 256 is no u8/],
    ["no codecs", storeV3({ codecs: undefined }), /its codecs are no list/],
    ["codecs without bytes", storeV3({ codecs: [] }), /none of its codecs makes bytes/],
    [
      "bytes twice",
      storeV3({ codecs: ["bytes", "bytes"], data_type: "uint8" }),
      /two of its codecs make bytes/,
    ],
    ["gzip before bytes", storeV3({ codecs: ["gzip", "bytes"] }), /"gzip" comes before one that makes bytes/],
    [
      "an unknown codec",
      storeV3({ codecs: ["bytes", "zfp"], data_type: "int8" }),
      /codec "zfp" is not known/,
    ],
    ["no endianness", storeV3({ codecs: ["bytes"] }), /endian of its codec bytes is neither/],
    [
      "a transpose of nothing",
      storeV3({ codecs: [{ name: "transpose", configuration: { order: [0, 0] } }, "bytes"] }),
      /order of its codec transpose is none of 2 axes/,
    ],
    ["a codec of no name", storeV3({ codecs: [{}] }), /its codec has no name/],
    [
      "a level",
      storeV3({ data_type: "int8", codecs: ["bytes", { name: "gzip", configuration: { level: 99 } }] }),
      /the level 99/,
    ],
    ["attributes of text", storeV3({ attributes: "x" }), /its attributes are no object/],
    ["names of axes", storeV3({ dimension_names: ["x"] }), /dimension_names are no 2 names/],
    [
      "shards of half a chunk",
      storeV3({ ...sharded({ chunk_shape: [2, 3] }) }),
      /are no whole numbers of chunks/,
    ],
    ["shards in shards", storeV3(sharded({ codecs: sharded({}).codecs })), /shards are cut into shards/],
    [
      "a packed index",
      storeV3(sharded({ index_codecs: ["bytes", "gzip"] })),
      /endian of its codec bytes|is packed/,
    ],
    ["an index nowhere", storeV3(sharded({ index_location: "middle" })), /index_location is neither/],
    [
      "a shard of too many chunks",
      storeV3({ ...grid([2 ** 14, 2 ** 14]), ...sharded({}) }),
      /has 268435456 chunks; at most 16777216/,
    ],
    ["version 2: no order", storeV2({ order: "A" }), /its order is neither C nor F/],
    ["version 2: a dtype", storeV2({ dtype: "<U4" }), /no dtype here holds "<U4"/],
    ["version 2: a structure", storeV2({ dtype: [["x", "<f4"]] }), /no dtype here holds "structured"/],
    ["version 2: order of nothing", storeV2({ dtype: "|f4" }), /no dtype here holds "\|f4"/],
    ["version 2: chunks of 0", storeV2({ chunks: [0, 2] }), /size 0 of axis 0 in its chunks/],
    ["version 2: a separator", storeV2({ dimension_separator: ".." }), /dimension_separator is neither/],
    ["version 2: a filter", storeV2({ filters: [{ id: "delta" }] }), /the codec "delta" is not known/],
    ["version 2: a filter of no name", storeV2({ filters: [1] }), /a compressor or filter has no id/],
    ["version 2: a compressor", storeV2({ compressor: { id: "bz2" } }), /the codec "bz2" is not known/],
  ])("%s", async (_, store, expected) => {
    const peak = memory().peakBytes;
    const said = await refusal(zarr.open(store));
    expect(said).toMatch(expected);
    expect(said).toMatch(/^zarr\.open: the store[,:] /);
    expect(memory().peakBytes).toBe(peak);
  });

  it("longer than any are not read", async () => {
    const path = folder();
    mkdirSync(path);
    writeFileSync(join(path, "zarr.json"), "{}");
    truncateSync(join(path, "zarr.json"), (64 << 20) + 1);
    expect(await refusal(zarr.open(path))).toMatch(
      /it has 67108865 bytes, 67108864 at the most are expected/,
    );
  });

  it("as Python writes them: NaN and whole numbers of any length", async () => {
    const odd = JSON.stringify({ ...v2, dtype: "<u8" }).replace(
      '"fill_value":0',
      '"fill_value":18446744073709551615',
    );
    const store = new Map([
      [".zarray", text(odd)],
      [".zattrs", text('{"_FillValue": NaN, "least": -Infinity, "n": 9007199254740993}')],
    ]);
    const array = await zarr.openArray(store);
    expect(array.fill).toBe(2n ** 64n - 1n);
    expect(array.attributes).toEqual({ _FillValue: NaN, least: -Infinity, n: 9007199254740993n });
  });
});

describe("chunks", () => {
  const reading = async (more: object, chunk: Uint8Array) => {
    const store: Map<string, Uint8Array> = storeV2(more);
    store.set("0.0", chunk);
    const array = await zarr.openArray(store);
    return refusal(array.read());
  };

  it.each<[string, object, Uint8Array, RegExp]>([
    ["cut", {}, new Uint8Array(15), /key "0.0": it has 15 bytes, 16 are expected/],
    ["too long", {}, new Uint8Array(17), /it has 17 bytes, 16 are expected/],
    ["empty", {}, new Uint8Array(), /it has 0 bytes, 16 are expected/],
    ["no gzip", { compressor: { id: "gzip" } }, new Uint8Array(20), /its gzip is damaged/],
    [
      "gzip, cut",
      { compressor: { id: "gzip" } },
      gzipSync(new Uint8Array(16)).subarray(0, 20),
      /gzip is damaged/,
    ],
    [
      "gzip of too little",
      { compressor: { id: "gzip" } },
      gzipSync(new Uint8Array(15)),
      /it has 15 bytes, 16/,
    ],
    ["gzip of too much", { compressor: { id: "gzip" } }, gzipSync(new Uint8Array(17)), /more than 16 bytes/],
    [
      "zlib, a bomb",
      { compressor: { id: "zlib" } },
      deflateSync(new Uint8Array(1 << 20)),
      /more than 16 bytes/,
    ],
    [
      "more bytes than it could be packed to",
      { compressor: { id: "zlib" } },
      new Uint8Array(1 << 20),
      /it has 1048576 bytes, 65568 at the most/,
    ],
    [
      "a large chunk of a few bytes",
      { compressor: { id: "zlib" }, chunks: [2 ** 12, 2 ** 12] },
      deflateSync(new Uint8Array(64)),
      /cannot unpack to 67108864/,
    ],
  ])("%s", async (_, more, chunk, expected) => {
    const said = await reading(more, chunk);
    expect(said).toMatch(expected);
    expect(said).toMatch(/^zarr\.read: the store, key "0.0": /);
  });

  it("with a wrong checksum", async () => {
    const t = arange(4);
    const store = new Map<string, Uint8Array>();
    await zarr.save(store, t, { checksum: true });
    const array = await zarr.openArray(store);
    store.get("c/0")![0] ^= 1;
    expect(await refusal(array.read())).toMatch(/key "c\/0": its checksum is [0-9a-f]{8}, it should be/);
    store.set("c/0", new Uint8Array(3));
    expect(await refusal(array.read())).toMatch(/it has 3 bytes, 20 are expected/);
    t.dispose();
  });

  it("so many that nobody waits for them are refused, before memory is taken", async () => {
    const store = storeV2({ shape: [2 ** 24], chunks: [1], dtype: "|u1" });
    const array = await zarr.openArray(store);
    const { bytes } = memory();
    expect(await refusal(array.read())).toMatch(/lies in 16777216 chunks of \[1\]/);
    expect(memory().bytes).toBe(bytes);
    const few = await array.read(["5:3000000:1000000"]);
    expect(few.toArray()).toEqual([0, 0, 0]);
    few.dispose();
  });

  it("an array larger than memory lists, reads by slices, and is refused as a whole", async () => {
    const array = await zarr.openArray(storeV3({ shape: [2 ** 40, 4], ...grid([2 ** 20, 4]) }));
    expect(array.grid).toEqual([2 ** 20, 1]);
    const part = await array.read([[2 ** 39, 2 ** 39 + 2], 0]);
    expect(part.toArray()).toEqual([0, 0]);
    expect(await refusal(array.read())).toMatch(/zarr\.read: .*(memory|chunks|bytes)/);
    part.dispose();
  });
});

describe("shards", () => {
  const made = async () => {
    const store = new Map<string, Uint8Array>();
    const t = scope(() => arange(16, { dtype: "f32" }).reshape(4, 4));
    await zarr.save(store, t, { chunks: [2, 2], shards: [4, 4] });
    t.dispose();
    return { store, array: await zarr.openArray(store), shard: store.get("c/0/0")! };
  };
  /** The index with its checksum anew: what is wrong then is what it says. */
  const withIndex = async (change: (view: DataView) => void) => {
    const { store, array, shard } = await made();
    const index = shard.subarray(64, 128);
    change(new DataView(index.buffer, index.byteOffset));
    const { crc32c } = await import("../../src/io/crc32.ts");
    new DataView(shard.buffer, shard.byteOffset).setUint32(128, crc32c(index), true);
    store.set("c/0/0", shard);
    return array;
  };

  it("cut, or with an index that is damaged", async () => {
    const { store, array, shard } = await made();
    store.set("c/0/0", shard.subarray(0, 50));
    expect(await refusal(array.read())).toMatch(/key "c\/0\/0": its index has 50 bytes, 68 are expected/);
    store.set("c/0/0", shard.slice().fill(1, 70, 71));
    expect(await refusal(array.readChunk([0, 0]))).toMatch(/of its index: its checksum is/);
  });

  it.each<[string, (view: DataView) => void, RegExp]>([
    [
      "chunks beyond the end",
      (v) => v.setBigUint64(0, 10_000n, true),
      /lies in bytes 10000 … 10015, 0 of these/,
    ],
    [
      "chunks that are too long",
      (v) => v.setBigUint64(8, 2n ** 40n, true),
      /has 1099511627776 bytes from 0 on/,
    ],
    [
      "places beyond counting",
      (v) => v.setBigUint64(0, 2n ** 63n, true),
      /bytes from 9223372036854775808 on/,
    ],
    ["half a place", (v) => v.setBigUint64(0, 2n ** 64n - 1n, true), /bytes from 18446744073709551615 on/],
    [
      "chunks that are too short",
      (v) => v.setBigUint64(8, 15n, true),
      /chunk 0 of the shard: it has 15 bytes, 16/,
    ],
  ])("an index of %s", async (_, change, expected) => {
    const array = await withIndex(change);
    for (const reading of [array.read(), array.readChunk([0, 0])])
      expect(await refusal(reading)).toMatch(expected);
    const other = await array.readChunk([1, 1]);
    expect(other.toArray()).toEqual([
      [10, 11],
      [14, 15],
    ]);
    other.dispose();
  });
});

describe("groups", () => {
  const v3group = (more: object = {}) =>
    text({ zarr_format: 3, node_type: "group", attributes: {}, ...more });
  const inline = (metadata: unknown) => ({
    consolidated_metadata: { kind: "inline", must_understand: false, metadata },
  });

  it("consolidated metadata whose paths lead out are refused", async () => {
    for (const path of ["../x", "/etc", "a//b", "a/../../b", "C:/x", "a\\b", "\u0000"]) {
      const store = new Map([["zarr.json", v3group(inline({ [path]: v3 }))]]);
      expect(await refusal(zarr.open(store))).toMatch(/key "zarr.json": the path .* in it /);
      const old = new Map([
        [".zgroup", text({ zarr_format: 2 })],
        [".zmetadata", text({ zarr_consolidated_format: 1, metadata: { [`${path}/.zarray`]: v2 } })],
      ]);
      expect(await refusal(zarr.open(old))).toMatch(/key ".zmetadata": the path .* in it /);
    }
  });

  it("consolidated metadata of anything else are refused", async () => {
    for (const [metadata, said] of [
      [1, "its consolidated metadata are no object"],
      [{ x: 1 }, 'its consolidated metadata of "x" are no object'],
      [{ x: {} }, "its node_type is neither"],
    ] as const) {
      expect(await refusal(zarr.open(new Map([["zarr.json", v3group(inline(metadata))]])))).toContain(said);
    }
  });

  it("that never end are not followed", async () => {
    const store: ZarrStore = {
      get: (key) => (key.endsWith("zarr.json") ? v3group() : undefined),
      list: () => ["again/", "zarr.json"],
    };
    expect(await refusal(zarr.load(store))).toMatch(/it lies more than 32 groups deep/);
    const group = await zarr.openGroup(store);
    expect(await group.members()).toEqual([{ name: "again", kind: "group" }]);
  });

  it("names that lead out are no members", async () => {
    const asked: string[] = [];
    const store: ZarrStore = {
      get(key) {
        asked.push(key);
        return key === "zarr.json" ? v3group() : undefined;
      },
      list: () => ["../", "a/b/", "/", "x\\y/", "./", "C:/", "file"],
    };
    expect(await (await zarr.openGroup(store)).members()).toEqual([]);
    expect(asked).toEqual(["zarr.json"]);
  });

  it("a store that cannot list says so, unless its metadata are consolidated", async () => {
    const get = (metadata: Uint8Array): ZarrStore => ({
      get: (key) => (key === "zarr.json" ? metadata : undefined),
    });
    expect(await refusal(zarr.load(get(v3group())))).toMatch(/it cannot list what is in it/);
    const all = await zarr.load(
      get(v3group(inline({ "a/x": v3, a: { zarr_format: 3, node_type: "group" } }))),
    );
    expect(all["a/x"].shape).toEqual([4, 4]);
    all["a/x"].dispose();
  });
});

describe("stores of users", () => {
  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /undefined is no store/],
    ["a number", 5, /the number 5 is no store/],
    ["an object without get", {}, /an object is no store/],
    ["a set that is none", { get() {}, set: 5 }, /the store's set is the number 5/],
    [
      "an object that throws",
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("no");
          },
        },
      ),
      /is no store/,
    ],
    ["get that gives text", { get: () => "zarr" }, /key "zarr.json": get gave the string "zarr"/],
    [
      "list that gives nothing",
      {
        get: (k: string) => (k === "zarr.json" ? text({ zarr_format: 3, node_type: "group" }) : undefined),
        list: () => 5,
      },
      /list gave the number 5/,
    ],
  ])("%s", async (_, store, expected) => {
    expect(await refusal(zarr.load(store as never))).toMatch(expected);
  });

  it("options that are none", async () => {
    const store = new Map<string, Uint8Array>();
    const make = (more: object) => zarr.create(store, { shape: [2], dtype: "f32", ...more } as never);
    for (const [more, said] of [
      [{ shape: [-1] }, "size -1"],
      [{ dtype: "f128" }, "unknown dtype"],
      [{ chunks: [0] }, "chunks are [0] for shape [2]"],
      [{ chunks: [2 ** 40] }, "at most 2147483647"],
      [{ shards: [3], chunks: [2] }, "no whole numbers of chunks"],
      [{ version: 4 }, "version is the number 4"],
      [{ version: 2, shards: [2] }, "version 2 has no shards"],
      [{ version: 2, dtype: "bf16" }, "version 2 has no bf16"],
      [{ compressor: "zip" }, 'the codec "zip" is not known'],
      [{ compressor: {} }, "the compressor's name is undefined"],
      [{ order: "K" }, 'order is the string "K"'],
      [{ fill: {} }, "fill is an object"],
      [{ fill: "x" }, 'the fill value "x" is no f32'],
      [{ attributes: 1 }, "the attributes are no object"],
      [
        {
          attributes: (() => {
            const a: Record<string, unknown> = {};
            a.a = a;
            return a;
          })(),
        },
        "the attributes are no object",
      ],
      [{ path: "../x" }, 'the path "../x" leads out'],
      [{ chunk: [2] }, "Did you mean chunks?"],
      [{ loaders: { blosc: 1 } }, 'the loader of "blosc" is the number 1'],
    ] as const) {
      expect(await refusal(make(more)), JSON.stringify(Object.keys(more))).toContain(said);
    }
    expect(store.size).toBe(0);
    const array = await make({});
    for (const [reading, said] of [
      [array.read(5 as never), "the slice is the number 5"],
      [array.read([7]), "index 7 is out of range"],
      [array.readChunk([5]), "[5] is no chunk of [2]"],
      [array.read(null, { concurrency: 0 }), "concurrency is the number 0"],
      [array.read(null, { progress: 1 } as never), "progress is the number 1"],
      [array.read(null, { signal: 1 } as never), "signal is the number 1"],
      [array.write(null, 5 as never), "expected a tensor, got the number 5"],
    ] as const) {
      expect(await refusal(reading)).toContain(said);
    }
  });

  it("what a codec needs that is not there is named", async () => {
    const store = storeV2({ compressor: { id: "blosc" } });
    const bytes = new Uint8Array(32);
    new DataView(bytes.buffer).setUint32(4, 16, true);
    new DataView(bytes.buffer).setUint32(12, 32, true);
    store.set("0.0", bytes);
    const array = await zarr.openArray(store);
    const said = await array.read().catch((error: Error) => error.message);
    // Where numcodecs is installed it finds nothing in them.
    if (!/damaged|0 bytes, 16 are expected/.test(String(said)))
      expect(said).toContain("npm install numcodecs");
  });

  it("what a codec does not take of its configuration is an error of the file, in the codec's words", async () => {
    const store = storeV2({ compressor: { id: "zstd", level: "high" } });
    store.set("0.0", new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00]));
    const fromConfig = ({ level }: Record<string, unknown>): never => {
      throw new Error(`Invalid\n  level ${level}.`);
    };
    for (const loaders of [{ zstd: () => ({ fromConfig }) }, undefined]) {
      const array = await zarr.openArray(store, loaders === undefined ? {} : { loaders });
      const t = zeros(array.shape, { dtype: array.dtype });
      for (const doing of [() => array.read(), () => array.write(null, t)]) {
        const error = await doing().catch((e: unknown) => e);
        expect(error).toBeInstanceOf(TensorError);
        if (loaders !== undefined)
          expect(String(error)).toContain("the codec zstd takes no such configuration: Invalid level high.");
      }
      t.dispose();
    }
  });
});

describe("folders", () => {
  const made = async () => {
    const path = folder();
    const t = scope(() => arange(16).reshape(4, 4));
    await zarr.save(path, t, { chunks: [2, 4] });
    t.dispose();
    return path;
  };

  it("links in them are not followed, unless it is said", async () => {
    const outside = folder();
    mkdirSync(outside);
    writeFileSync(join(outside, "0"), Buffer.alloc(32, 1));
    for (const link of ["file", "folder"] as const) {
      const path = await made();
      const at = link === "file" ? join(path, "c", "1", "0") : join(path, "c", "1");
      rmSync(at, { recursive: true });
      symlinkSync(link === "file" ? join(outside, "0") : outside, at);
      const array = await zarr.openArray(path);
      expect(await refusal(array.read())).toMatch(/key "c\/1\/0": it is or lies behind a symbolic link/);
      const ones = full([2, 4], 1);
      if (link === "folder") {
        expect(await refusal(array.writeChunk([1, 0], ones))).toMatch(/symbolic link/);
      } else {
        // A link is replaced, not written through.
        await array.writeChunk([1, 0], ones);
      }
      expect(readFileSync(join(outside, "0"))).toEqual(Buffer.alloc(32, 1));
      expect(readdirSync(outside)).toEqual(["0"]);
      const follows = await zarr.openArray(zarr.folderStore(path, { followSymlinks: true }));
      const rows = await follows.read([2]);
      for (const t of [ones, rows]) t.dispose();
    }
  });

  it("a folder, a pipe or a cut file where a chunk should be", async () => {
    const path = await made();
    const array = await zarr.openArray(path);
    rmSync(join(path, "c", "0", "0"));
    mkdirSync(join(path, "c", "0", "0"));
    expect(await refusal(array.read())).toMatch(/key "c\/0\/0": it is no file/);
    rmSync(join(path, "c", "0", "0"), { recursive: true });
    writeFileSync(join(path, "c", "0", "0"), Buffer.alloc(31));
    expect(await refusal(array.read())).toMatch(/key "c\/0\/0": it has 31 bytes, 32 are expected/);
  });

  it("keys lead nowhere else", async () => {
    const path = await made();
    const store = zarr.folderStore(path);
    for (const key of ["../x", "/etc/passwd", "c/../../x", "c//0", "", ".", "c/./0", "C:\\x"]) {
      expect(await refusal(Promise.resolve().then(() => store.get(key)))).toMatch(
        /^get: .*a key that .* is none/,
      );
      expect(await refusal(Promise.resolve().then(() => store.set!(key, new Uint8Array(1))))).toMatch(
        /^set: /,
      );
      expect(await refusal(Promise.resolve().then(() => store.delete!(key)))).toMatch(/^delete: /);
    }
    expect(existsSync(join(path, "..", "x"))).toBe(false);
    expect(await refusal(zarr.open(store, { path: "../.." }))).toMatch(/leads out of its folder/);
  });

  it("what was left half written is no member and no chunk", async () => {
    const path = await made();
    writeFileSync(join(path, ".zarr.json.0123456789ab.tmp"), "{");
    writeFileSync(join(path, "c", "0", ".0.0123456789ab.tmp"), "x");
    const store = zarr.folderStore(path);
    expect([...(await store.list!(""))].sort()).toEqual(["c/", "zarr.json"]);
    expect([...(await store.list!("c/0"))]).toEqual(["0"]);
    const all = await (await zarr.openArray(store)).read();
    expect(all.get(3, 3)).toBe(15);
    all.dispose();
  });

  it("a folder that vanished is made again", async () => {
    const path = await made();
    const array = await zarr.openArray(path);
    const ones = full([2, 4], 1);
    await array.writeChunk([0, 0], ones);
    rmSync(join(path, "c"), { recursive: true });
    await array.writeChunk([0, 0], ones);
    expect(await array.hasChunk([0, 0])).toBe(true);
    expect(await array.hasChunk([1, 0])).toBe(false);
    ones.dispose();
  });

  it.runIf(existsSync("/proc/self"))("a folder in which none can be made is an error, and soon", async () => {
    const ones = full([2], 1);
    for (const path of ["/proc/z.zarr", "/proc/no/z.zarr"]) {
      expect(await refusal(zarr.save(path, ones))).toMatch(/no folder can be made there/);
      expect(await refusal(zarr.create(path, { shape: [2], dtype: "f32" }))).toMatch(
        /no folder can be made there/,
      );
    }
    // Those above are made with it, and one that is there is no fault.
    const path = join(root, "far", "below", "z.zarr");
    for (const overwrite of [false, true]) await zarr.save(path, ones, { overwrite });
    ones.dispose();
    expect((await zarr.openArray(path)).shape).toEqual([2]);
  });

  it("a process that is killed while it writes leaves whole chunks, and no other", async () => {
    const size = 1 << 18;
    const program = join(root, "writer.mjs");
    buildSync({
      entryPoints: [fileURLToPath(new URL("./zarr-writer.ts", import.meta.url))],
      bundle: true,
      format: "esm",
      platform: "node",
      outfile: program,
    });
    const next = randomOf(7);
    let found = 0;
    const killed = async (wait: number) => {
      const path = folder();
      await zarr.create(path, { shape: [32, size], dtype: "u8", chunks: [1, size] });
      const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
      await new Promise((done) => child.stdout.once("data", done));
      await new Promise((done) => setTimeout(done, wait));
      child.kill("SIGKILL");
      await new Promise((done) => child.once("exit", done));
      for (const row of readdirSync(join(path, "c"))) {
        for (const name of readdirSync(join(path, "c", row))) {
          if (name !== "0") continue;
          const bytes = readFileSync(join(path, "c", row, name));
          expect(bytes.equals(Buffer.alloc(size, bytes[0])), `${row}: ${bytes.length} bytes`).toBe(true);
          found++;
        }
      }
    };
    const waits = Array.from({ length: 8 }, () => next() * 60);
    for (let i = 0; i < 8; i += 4) await Promise.all(waits.slice(i, i + 4).map(killed));
    expect(found).toBeGreaterThan(8);
  }, 60_000);
});

describe("servers", () => {
  const serving = async (handler?: Handler) => {
    const store = new Map<string, Uint8Array>();
    const t = scope(() => arange(64, { dtype: "f32" }).reshape(8, 8));
    await zarr.save(store, { t }, { chunks: [2, 8], shards: [8, 8] });
    t.dispose();
    const files = Object.fromEntries([...store].map(([key, bytes]) => [`data.zarr/${key}`, bytes]));
    return serveFiles(files, handler);
  };

  it("are asked for metadata, the index and the chunks, by range", async () => {
    const site = await serving();
    try {
      const array = await zarr.openArray(`${site.url}/data.zarr`, { path: "t" });
      const rows = await array.read(["3:5", 0]);
      expect(rows.toArray()).toEqual([24, 32]);
      expect(site.requests).toEqual([
        "GET /data.zarr/t/zarr.json",
        "GET /data.zarr/t/c/0/0 bytes=-68",
        "GET /data.zarr/t/c/0/0 bytes=64-127",
        "GET /data.zarr/t/c/0/0 bytes=128-191",
      ]);
      expect(await array.hasChunk([3, 0])).toBe(true);
      expect(await refusal(array.write([0, 0], rows))).toMatch(/can only be read/);
      expect(await refusal(open(`${site.url}/data.zarr`))).toMatch(/cannot list what is in it/);
      expect(await refusal(zarr.open(`${site.url}/none.zarr`))).toMatch(/nothing of Zarr lies at/);
      rows.dispose();
    } finally {
      await site.close();
    }
  });

  it.each<
    [
      string,
      (path: string) => { status: number; headers?: Record<string, string>; body?: Uint8Array } | null,
      RegExp,
    ]
  >([
    [
      "an error",
      (path) => (path.includes("/c/") ? { status: 500 } : null),
      /the server answers with status 500/,
    ],
    [
      "another range",
      (path) =>
        path.includes("/c/")
          ? { status: 206, headers: { "content-range": "bytes 0-67/388" }, body: new Uint8Array(68) }
          : null,
      /bytes 320 … 387 of 388 were asked for, "bytes 0-67\/388" came/,
    ],
    [
      "a wrong whole",
      (path) => (path.includes("/c/") ? { status: 200, body: new Uint8Array(100) } : null),
      /of its index: its checksum/,
    ],
    [
      "redirects without end",
      (path) => (path.includes("/c/") ? { status: 302, headers: { location: path } } : null),
      /sends on more than 5 times/,
    ],
  ])("that answer with %s", async (_, answer, expected) => {
    const site = await serving((request, response) => {
      const found = answer(request.url!);
      if (found === null) return false;
      response.writeHead(found.status, found.headers ?? {}).end(found.body ?? "");
      return true;
    });
    try {
      const array = await zarr.openArray(`${site.url}/data.zarr/`, { path: "t" });
      const said = await refusal(array.read(["3:5", 0]));
      expect(said).toMatch(expected);
      expect(said).toMatch(/data\.zarr\/", key "t\/c\/0\/0": /);
    } finally {
      await site.close();
    }
  });

  it("that know no ranges send the shard, and that is cut", async () => {
    const site = await serving((request, response) => {
      delete request.headers.range;
      void response;
      return false;
    });
    try {
      const array = await zarr.openArray(`${site.url}/data.zarr`, { path: "t" });
      const rows = await array.read(["3:5", 0]);
      expect(rows.toArray()).toEqual([24, 32]);
      rows.dispose();
    } finally {
      await site.close();
    }
  });

  it("a signal ends a request", async () => {
    const site = await serving((request) => request.url!.includes("/c/"));
    try {
      const array = await zarr.openArray(`${site.url}/data.zarr`, { path: "t" });
      const signal = AbortSignal.timeout(50);
      const reason: unknown = await array.read(["3:5", 0], { signal }).catch((error: unknown) => error);
      expect(reason).toBe(signal.reason);
    } finally {
      await site.close();
    }
  });
});
