/** Opening reads headers, reading reads what is asked for: counted in bytes, on files larger than any memory. */
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { arange, memory } from "../../src/index.ts";
import { type CustomSource, npy, npz, open, safetensors } from "../../src/io.ts";
import { settledTensors } from "../settled.ts";
import { factOf } from "./fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-lazy-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Bytes, and how many of them were read, in how many calls. */
function counted(bytes: Uint8Array): CustomSource & { bytes: number; calls: number } {
  const source = {
    size: bytes.length,
    bytes: 0,
    calls: 0,
    async read(from: number, length: number) {
      source.bytes += length;
      source.calls++;
      return bytes.slice(from, from + length);
    },
  };
  return source;
}

describe("a file of 20 GB", () => {
  const GB = 1e9;
  const path = join(folder, "huge.safetensors");
  const header = JSON.stringify({
    first: { dtype: "F32", shape: [4_999_999_996], data_offsets: [0, 20 * GB - 16] },
    last: { dtype: "F32", shape: [2, 2], data_offsets: [20 * GB - 16, 20 * GB] },
  });
  const start = 8 + header.length;
  const fd = openSync(path, "w");
  const length = new Uint8Array(new BigUint64Array([BigInt(header.length)]).buffer);
  writeSync(fd, length, 0, 8, 0);
  writeSync(fd, header, 8);
  truncateSync(path, start + 20 * GB);
  writeSync(fd, new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer), 0, 16, start + 20 * GB - 16);
  closeSync(fd);

  it("lists at once, and one tensor of it reads alone", async () => {
    const began = performance.now();
    const file = await open(path);
    // On an idle machine it takes one or two milliseconds; whoever reads the file takes longer than this on any.
    expect(performance.now() - began).toBeLessThan(5000);
    expect(file.entries.map((e) => e.name)).toEqual(["first", "last"]);
    expect((await file.read("last")).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect((await file.read("last", [1])).toArray()).toEqual([3, 4]);
    expect((await file.read("first", ["-3:"])).toArray()).toEqual([0, 0, 0]);
    expect((await file.read("first", ["::1000000000"])).toArray()).toEqual([0, 0, 0, 0, 0]);
  });

  it("does not fit, and that is an error before anything is read", async () => {
    const before = await settledTensors();
    const file = await open(path);
    await expect(file.read("first")).rejects.toMatchObject({ code: "memory" });
    expect(memory().tensors).toBe(before);
  });
});

describe("bytes that are read", () => {
  it("opening an npy file takes its header", async () => {
    const source = counted(await npy.encode(arange(100_000)));
    await npy.open(source);
    expect(source.bytes).toBeLessThanOrEqual(12 + 128);
  });

  it("rows of a matrix are read alone, columns with what lies between them", async () => {
    const m = arange(2000 * 300).reshape(2000, 300);
    const source = counted(await npy.encode(m));
    const file = await npy.open(source);
    const read = async (...items: Parameters<typeof m.slice>) => {
      [source.bytes, source.calls] = [0, 0];
      const part = await file.read("array", items);
      expect(factOf(part)).toEqual(factOf(m.slice(...items)));
      return { bytes: source.bytes, calls: source.calls };
    };
    expect(await read("10:20")).toEqual({ bytes: 10 * 300 * 4, calls: 1 });
    expect(await read(1999)).toEqual({ bytes: 300 * 4, calls: 1 });
    expect(await read("5:6", "3:7")).toEqual({ bytes: 16, calls: 1 });
    expect(await read("::500", "3:7")).toEqual({ bytes: 16 * 4, calls: 4 });
    expect(await read(":", 0)).toEqual({ bytes: (1999 * 300 + 1) * 4, calls: 1 });
    expect(await read("::2", "::-3")).toMatchObject({ calls: 1 });
    expect(await read("0:0")).toEqual({ bytes: 0, calls: 0 });
    const transposed = counted(await npy.encode(m.T));
    const other = await npy.open(transposed);
    transposed.bytes = 0;
    expect(factOf(await other.read("array", [":", "7:9"]))).toEqual(factOf(m.T.slice(":", "7:9")));
    expect(transposed.bytes).toBe(2 * 300 * 4);
  });

  it("slices longer than a window are read in several", async () => {
    const m = arange(3_000_000).reshape(1500, 2000);
    const source = counted(await npy.encode(m));
    const file = await npy.open(source);
    source.calls = 0;
    expect(factOf(await file.read("array", [":", "::2"]))).toEqual(factOf(m.slice(":", "::2")));
    expect(source.calls).toBeGreaterThan(1);
    expect(factOf(await file.read("array", ["::-7", 1]))).toEqual(factOf(m.slice("::-7", 1)));
    const packed = await npz.open(await npz.encode({ m }, { compress: true }));
    expect(factOf(await packed.read("m", ["3:5", "::2"]))).toEqual(factOf(m.slice("3:5", "::2")));
    expect(factOf(await packed.read("m", ["::200"]))).toEqual(factOf(m.slice("::200")));
  });

  it("one of many tensors is read alone", async () => {
    const tensors = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`t${i}`, arange(1000).add(i)]));
    const source = counted(await safetensors.encode(tensors));
    const file = await safetensors.open(source);
    source.bytes = 0;
    expect((await file.read("t7")).get(3)).toBe(10);
    expect(source.bytes).toBe(4000);
  });
});
