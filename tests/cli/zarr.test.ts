/** The command line and folders of Zarr: shown, compared and converted, block by block where they are large. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { blockShape, blocksOf, blocksOfEntry } from "../../src/cli/blocks.ts";
import { run } from "../../src/cli/commands.ts";
import { files } from "../../src/cli/files.ts";
import type { Host } from "../../src/cli/host.ts";
import { differenceOf, joinDifferences, joinStatistics, statisticsOf } from "../../src/cli/statistics.ts";
import { arange, memory, random, scope, tensor } from "../../src/index.ts";
import { npyHeader } from "../../src/io/npy-header.ts";
import { npy, npz, open, zarr } from "../../src/io.ts";
import { hexOf, pathOf } from "../io/fixtures.ts";

const root = mkdtempSync(join(tmpdir(), "strided-cli-zarr-"));
afterAll(() => rmSync(root, { recursive: true }));
const at = (name: string) => join(root, name);

async function ran(...args: string[]) {
  const before = memory().tensors;
  let [out, err] = ["", ""];
  const host: Host = {
    out: (text) => {
      out += `${text}\n`;
    },
    err: (text) => {
      err += text;
    },
    terminal: { columns: 100, color: "none", ascii: false },
    showsProgress: false,
    version: "1.2.3",
    files,
    stdin: async () => new Uint8Array(),
    exists: existsSync,
    write() {},
    pipe: (name, write) => write(name),
  };
  const code = await run(args, host);
  expect(memory().tensors, "tensors left behind").toBe(before);
  return { code, out: out.replaceAll(root, "…"), err: err.replaceAll(root, "…") };
}

describe("a folder of Zarr", () => {
  it("is converted to and from, shown, counted and compared", async () => {
    const x = scope(() => arange(60, { dtype: "f32" }).reshape(6, 10));
    await npy.save(at("x.npy"), x);
    const made = await ran("convert", at("x.npy"), at("x.zarr"), "--chunks", "2x5", "--compressor", "gzip");
    expect([made.code, made.err]).toEqual([0, ""]);
    expect(readdirSync(at("x.zarr/c")).sort()).toEqual(["0", "1", "2"]);
    const array = await zarr.openArray(at("x.zarr"));
    expect([array.chunks, array.version]).toEqual([[2, 5], 3]);
    expect((await ran("info", at("x.zarr"))).out).toMatchInlineSnapshot(`
      "…/x.zarr  zarr  1 tensor  240 bytes

      name   dtype  shape                  bytes
      array  f32    [6, 10] in [2, 5]  240 bytes

      metadata
        version: 3
      "
    `);
    expect((await ran("show", at("x.zarr"), "1:3,::5")).out).toContain("[[10, 15],\n [20, 25]]");
    expect((await ran("stats", at("x.zarr"))).out).toContain("29.5");
    expect((await ran("diff", at("x.npy"), at("x.zarr"))).out).toBe("1 tensor, all the same\n");
    const again = await ran("convert", at("x.npy"), at("x.zarr"));
    expect([again.code, again.err]).toEqual([
      2,
      expect.stringContaining("x.zarr is there already: --force writes over it."),
    ]);
    const forced = ["convert", at("x.npy"), at("x.zarr"), "--force", "--dtype", "f16", "--zarr", "2"];
    expect((await ran(...forced)).code).toBe(0);
    expect(readdirSync(at("x.zarr")).sort()).toEqual([".zarray", "0.0"]);
    const back = await ran("convert", at("x.zarr"), at("back.npz"));
    expect(back.code).toBe(0);
    expect((await ran("diff", at("x.npy"), at("back.npz"), "--rtol", "1e-3")).out).toBe(
      "1 tensor, all the same\n",
    );
    x.dispose();
  });

  it("holds several, in groups", async () => {
    const [x, y] = [arange(4), tensor([1, 2, 3], { dtype: "i16" })];
    await npz.save(at("both.npz"), { x, "deep/y": y });
    expect((await ran("convert", at("both.npz"), at("both.zarr"))).code).toBe(0);
    const archive = await open(at("both.zarr"));
    expect(archive.entries.map((e) => e.name)).toEqual(["deep/y", "x"]);
    const one = await ran("convert", at("both.zarr"), at("one.zarr"), "--only", "x");
    expect(one.code).toBe(0);
    expect((await zarr.open(at("one.zarr"))).kind).toBe("array");
    for (const t of [x, y]) t.dispose();
  });

  it("is converted in place: what is read stays until all is written", async () => {
    const [v, w] = scope(() => [arange(21).add(1).reshape(7, 3), arange(5).add(1)]);
    await npy.save(at("v.npy"), v);
    await zarr.save(at("place.zarr"), v, { chunks: [7, 3] });
    const same = async (...more: string[]) => {
      const { code, err } = await ran("convert", at("place.zarr"), at("place.zarr"), "--force", ...more);
      expect([code, err]).toEqual([0, ""]);
      expect((await ran("diff", at("v.npy"), at("place.zarr"), "--rtol", "0")).code).toBe(0);
    };
    await same("--chunks", "10x10", "--compressor", "gzip");
    await same("--dtype", "f16");
    await zarr.save(at("pair.zarr"), { v, w });
    expect((await ran("convert", at("pair.zarr/v"), at("pair.zarr"), "--force")).code).toBe(0);
    expect((await ran("diff", at("v.npy"), at("pair.zarr"))).code).toBe(0);
    expect(readdirSync(root).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    for (const t of [v, w]) t.dispose();
  });

  it("stays as it was where a conversion fails, and is not there where there was none", async () => {
    const x = arange(4);
    await zarr.save(at("kept.zarr"), x);
    await npy.save(at("kept.npy"), x);
    const broken = readFileSync(pathOf("rgb8.png"));
    broken[broken.length - 20] ^= 255;
    writeFileSync(at("broken.png"), broken);
    writeFileSync(at("text.csv"), "x,name\n1,a\n");
    for (const [from, said] of [
      ["broken.png", "checksum"],
      ["text.csv", 'Without it: --except "name".'],
    ]) {
      for (const to of ["kept.zarr", "fresh.zarr"]) {
        const { code, err } = await ran("convert", at(from), at(to), "--force");
        expect([code, err]).toEqual([1, expect.stringContaining(said)]);
      }
    }
    expect((await ran("diff", at("kept.npy"), at("kept.zarr"))).code).toBe(0);
    expect(readdirSync(root).filter((name) => /fresh|tmp$/.test(name))).toEqual([]);
    x.dispose();
  });

  it("has chunks no larger than the tensor, and none of no elements", async () => {
    const x = scope(() => arange(12).reshape(4, 3));
    await npy.save(at("small.npy"), x);
    const chunks = async (...args: string[]) => {
      expect((await ran("convert", at("small.npy"), at("small.zarr"), "--force", ...args)).code).toBe(0);
      const array = await zarr.openArray(at("small.zarr"));
      return [array.chunks, array.shards];
    };
    expect(await chunks("--chunks", "99999999x2")).toEqual([[4, 2], null]);
    expect(await chunks("--chunks", "3x2", "--shards", "999x4")).toEqual([
      [3, 2],
      [6, 4],
    ]);
    expect(await chunks("--chunks", "9x9", "--shards", "9x9")).toEqual([
      [4, 3],
      [4, 3],
    ]);
    expect(await chunks("--shards", "99x2")).toEqual([
      [4, 2],
      [4, 2],
    ]);
    writeFileSync(at("none.npy"), npyHeader("<f8", [0, 99999999999999], false));
    expect((await ran("convert", at("none.npy"), at("none.zarr"))).code).toBe(0);
    x.dispose();
  });

  it("wrong calls say what is wrong", async () => {
    const t = arange(4);
    await npy.save(at("t.npy"), t);
    for (const [args, code, said] of [
      [["t.zarr", "--chunks", "2by2"], 2, '--chunks is "2by2": write 256x256.'],
      [["t.zarr", "--chunks", "2x2"], 1, "chunks are [2, 2] for shape [4]"],
      [["t.zarr", "--zarr", "4"], 2, "--zarr is 4: there are 2 and 3."],
      [["t.zarr", "--compressor", "zip"], 1, 'the codec "zip" is not known'],
      [["t.npz", "--chunks", "2"], 2, "--chunks is for a .zarr."],
    ] as const) {
      const result = await ran("convert", at("t.npy"), at(args[0]), ...args.slice(1));
      expect([result.code, result.err]).toEqual([code, expect.stringContaining(said)]);
    }
    t.dispose();
  });
});

it("a shape of more chunks than anyone can go through is refused: its chunks were looked for, without an end", async () => {
  const meta = { zarr_format: 2, dtype: "<f4", order: "C", fill_value: 0, compressor: null, filters: null };
  for (const [name, shape, chunks, count] of [
    ["points.zarr", [1e15], [1], "1000000000000000 chunks of [1]"],
    ["rows.zarr", [1e9, 1e6], [1000, 1000], "1000000000 chunks of [1000, 1000]"],
    ["wide.zarr", [2e12], [5e8], "4000 chunks of [500000000]"],
  ] as const) {
    mkdirSync(at(name));
    writeFileSync(at(`${name}/.zarray`), JSON.stringify({ ...meta, shape, chunks }));
    for (const words of [
      ["stats", at(name)],
      ["info", at(name), "--stats"],
      ["diff", at(name), at(name)],
      ["convert", at(name), at("many.npy")],
      ["convert", at(name), at("again.zarr")],
    ]) {
      const { code, err } = await ran(...words);
      expect(code, words.join(" ")).not.toBe(0);
      expect(err, words.join(" ")).toContain(count);
    }
    expect((await ran("info", at(name))).code).toBe(0);
    expect((await ran("show", at(name), shape.map(() => ":2").join())).out).toMatch(/0, 0/);
  }
  expect(readdirSync(root).filter((name) => /many|again|tmp/.test(name))).toEqual([]);
}, 20_000);

describe("blocks", () => {
  it("are whole chunks, as many as fit, and cover everything once", () => {
    expect(blockShape([100, 100], [10, 10], 4, 1000 * 4)).toEqual([10, 100]);
    expect(blockShape([100, 100], [10, 10], 4, 500 * 4)).toEqual([10, 50]);
    expect(blockShape([100, 100], [10, 10], 4, 3500 * 4)).toEqual([30, 100]);
    expect(blockShape([100, 100], [10, 10], 4, 1)).toEqual([10, 10]);
    expect(blockShape([], [], 4, 1)).toEqual([]);
    const all = [...blocksOf([5, 3], [2, 2])].map(({ slice }) => slice.map((s) => s.join(":")).join());
    expect(all).toEqual(["0:2,0:2", "0:2,2:3", "2:4,0:2", "2:4,2:3", "4:5,0:2", "4:5,2:3"]);
    expect([...blocksOf([0, 3], [1, 1])]).toEqual([]);
    expect([...blocksOf([], [])]).toEqual([{ at: [], slice: [] }]);
    const entry = { name: "x", type: "<f4", dtype: "f32", shape: [8, 4], bytes: 128 } as const;
    expect(blocksOfEntry(entry, 128)).toBe(null);
    expect(blocksOfEntry({ ...entry, packed: 5 }, 64)).toBe(null);
    expect(blocksOfEntry({ ...entry, chunks: [3, 4] }, 64)?.map(({ at }) => at)).toEqual([
      [0, 0],
      [3, 0],
      [6, 0],
    ]);
  });

  it("statistics and differences of parts are those of the whole", () => {
    scope(() => {
      const a = random.generator(3).normal([40, 6], { dtype: "f64" });
      a.set([3, 3], NaN);
      a.set([30, 2], -Infinity);
      a.set([5, 5], 0);
      const [top, bottom] = [a.slice(":15"), a.slice("15:")];
      const [whole, joined] = [statisticsOf(a), joinStatistics(statisticsOf(top), statisticsOf(bottom))];
      const { mean, std, ...exact } = whole;
      expect(joined).toMatchObject(exact);
      expect(joined.mean).toBeCloseTo(mean!, 12);
      expect(joined.std).toBeCloseTo(std!, 12);
      const none = statisticsOf(tensor([NaN, NaN], { dtype: "f64" }));
      expect(joinStatistics(none, whole)).toMatchObject({ ...whole, count: 242, nan: 3 });
      expect(joinStatistics(whole, none)).toMatchObject({ ...whole, count: 242, nan: 3 });
      const b = a.clone();
      b.set([2, 1], 7);
      b.set([33, 4], -99);
      const loose = { rtol: 0, atol: 0 };
      const parts = [top, bottom].map((part, i) =>
        differenceOf(part, b.slice(i === 0 ? ":15" : "15:"), loose),
      );
      expect(joinDifferences(parts[0], parts[1], [15, 0])).toEqual(differenceOf(a, b, loose));
      expect(differenceOf(a, b, loose).at).toEqual([33, 4]);
      expect(hexOf(top)).not.toBe(hexOf(bottom));
    });
  });

  it("a tensor of several blocks goes from npy to Zarr and is compared, without being held as a whole", async () => {
    const path = at("long.npy");
    const t = scope(() => arange(1 << 20, { dtype: "f64" }).mul(1));
    await npy.save(path, t);
    const small = { name: "array", type: "<f8", dtype: "f64", shape: [1 << 20], bytes: 8 << 20 } as const;
    const blocks = blocksOfEntry({ ...small, chunks: [1 << 17] }, 3 << 20)!;
    expect(blocks.length).toBe(3);
    const source = await open(path);
    await files.target!(at("long.zarr"), source, false, { overwrite: false }, async (target) => {
      const sink = await target.add(null, "f64", [1 << 20]);
      for (const { slice } of blocks) {
        const part = await source.read("array", slice);
        await sink.write(slice, part);
        part.dispose();
      }
    });
    expect((await ran("diff", path, at("long.zarr"))).out).toBe("1 tensor, all the same\n");
    t.dispose();
  });
});
