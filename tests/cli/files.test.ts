/** The command line on real files of many formats: what is converted is the same, and never in memory all at once. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "../../src/cli/commands.ts";
import { files } from "../../src/cli/files.ts";
import type { Host } from "../../src/cli/host.ts";
import { arange, memory, scope, tensor } from "../../src/index.ts";
import { cutsOf } from "../../src/io/cuts.ts";
import { npyHeader } from "../../src/io/npy-header.ts";
import { gguf, npy, npz, open, parquet, safetensors, save, wav, zarr } from "../../src/io.ts";
import { pathOf } from "../io/fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

/** What went to standard output as it is. */
let piped = new Uint8Array();
async function strided(...args: string[]) {
  return withInput(new Uint8Array(), ...args);
}
async function withInput(input: Uint8Array, ...args: string[]) {
  const before = memory().tensors;
  let [out, err] = ["", ""];
  const host: Host = {
    out: (text) => {
      out += `${text}\n`;
    },
    err: (text) => {
      err += text;
    },
    terminal: { columns: 80, color: "none", ascii: false },
    showsProgress: false,
    version: "1.2.3",
    files,
    stdin: async () => input,
    exists: existsSync,
    write: (path, data) => writeFileSync(path, data),
    async pipe(name, write) {
      const path = at(`piped-${name}`);
      await write(path);
      piped = readFileSync(path);
    },
  };
  const code = await run(args, host);
  expect(memory().tensors).toBe(before);
  return { code, out: out.replaceAll(folder, ""), err: err.replaceAll(folder, "") };
}

it("a sound keeps its rate: 8000 frames a second became 44100", async () => {
  const t = scope(() => arange(20).div(20));
  await wav.save(at("slow.wav"), t, { sampleRate: 8000 });
  await npy.save(at("slow.npy"), t);
  t.dispose();
  const rate = async (name: string) => (await open(at(name))).meta.sampleRate;
  expect((await strided("convert", at("slow.wav"), at("other.wav"), "--dtype", "f64")).code).toBe(0);
  expect(await rate("other.wav")).toBe(8000);
  await strided("convert", at("slow.wav"), at("slow.safetensors"));
  await strided("convert", at("slow.safetensors"), at("back.wav"));
  expect(await rate("back.wav")).toBe(8000);
  await strided("convert", at("slow.npy"), at("said.wav"), "--rate", "16000");
  expect(await rate("said.wav")).toBe(16000);
  expect((await strided("convert", at("slow.npy"), at("said.npz"), "--rate", "16000")).err).toContain(
    "--rate is for a .wav.",
  );
  expect((await strided("convert", at("slow.npy"), at("zero.wav"), "--rate", "0")).code).not.toBe(0);
});

it("an ending that no format has is told from a format of one tensor; an index takes several", async () => {
  const [x, y] = [arange(4), arange(6)];
  await npz.save(at("pair.npz"), { x, y });
  for (const t of [x, y]) t.dispose();
  expect((await strided("convert", at("pair.npz"), at("pair.parquet2"))).err).toContain(
    'no format is written to "/pair.parquet2"',
  );
  const index = await strided("convert", at("pair.npz"), at("pair.safetensors.index.json"));
  expect(index.err).toBe("");
  expect((await strided("diff", at("pair.npz"), at("pair.safetensors.index.json"))).code).toBe(0);
});

it("block types are known as info writes them, and listed where a name is wrong", async () => {
  const t = scope(() => arange(64).reshape(2, 32));
  await npz.save(at("w.npz"), { w: t });
  t.dispose();
  expect((await strided("convert", at("w.npz"), at("w.gguf"), "--dtype", "Q8_0")).err).toBe("");
  expect((await strided("info", at("w.gguf"))).out).toContain("Q8_0");
  const wrong = await strided("convert", at("w.npz"), at("w2.gguf"), "--dtype", "q9");
  expect(wrong.err).toContain("q4_K");
});

it("a sound is drawn as a line a channel, a column as a line", async () => {
  const [column, stereo] = scope(() => [arange(20).reshape(20, 1), arange(40).div(40).reshape(20, 2)]);
  await npy.save(at("column.npy"), column);
  await wav.save(at("stereo.wav"), stereo, { sampleRate: 8000 });
  for (const t of [column, stereo]) t.dispose();
  const asked = ["--width", "40", "--height", "6", "--ascii", "--title", "x"];
  const line = (await strided("plot", at("column.npy"), ...asked)).out;
  expect(line).toBe((await strided("plot", at("column.npy"), ":,0", ...asked)).out);
  const both = (await strided("plot", at("stereo.wav"), ...asked)).out;
  expect(both).toBe((await strided("plot", at("stereo.wav"), "--kind", "line", ...asked)).out);
});

it("shards that are links are read where --links allows it, and refused with that word", async () => {
  const [store, snapshot] = [at("blobs"), at("snapshot")];
  for (const path of [store, snapshot]) mkdirSync(path);
  const t = arange(4);
  await safetensors.save(join(store, "x.safetensors"), { t });
  t.dispose();
  symlinkSync(join(store, "x.safetensors"), join(snapshot, "a.safetensors"));
  const index = join(snapshot, "model.safetensors.index.json");
  writeFileSync(index, JSON.stringify({ metadata: {}, weight_map: { t: "a.safetensors" } }));
  expect((await strided("info", index)).err).toContain("If you trust the folder: --links.");
  expect((await strided("show", index, "--links")).out).toContain("[0, 1, 2, 3]");
});

it("a chunk of Zarr that is a link is refused with the same word", async () => {
  const folder = at("linked.zarr");
  const t = arange(4);
  await save(folder, t);
  t.dispose();
  renameSync(join(folder, "c", "0"), at("elsewhere"));
  symlinkSync(at("elsewhere"), join(folder, "c", "0"));
  expect((await strided("show", folder)).err).toMatch(/\n {2}If you trust the folder: --links\.\n$/);
  expect((await strided("show", folder, "--links")).out).toContain("[0, 1, 2, 3]");
});

it("what is missing or wrong is named: the folder, and what a folder is read as", async () => {
  const t = arange(4);
  await npy.save(at("four.npy"), t);
  t.dispose();
  const folderSaid = '"/no/where/four.x": there is no folder "/no/where".\n  Make it first.';
  for (const ending of ["npy", "csv", "png"]) {
    const args = ending === "png" ? ["plot", at("four.npy"), "--out"] : ["convert", at("four.npy")];
    const { code, err } = await strided(...args, at(`no/where/four.${ending}`));
    expect([code, err]).toEqual([1, expect.stringContaining(folderSaid.replace(".x", `.${ending}`))]);
  }
  mkdirSync(at("plain"));
  expect((await strided("info", at("plain"))).err).toContain("A folder is read as one of Zarr");
  writeFileSync(at("texts.npy"), npyHeader("<U3", [1], false));
  expect((await strided("show", at("texts.npy"))).err).not.toContain("raw");
});

it("a file goes to standard output in the format that --to says", async () => {
  const t = scope(() => arange(6).reshape(2, 3));
  await npy.save(at("six.npy"), t);
  const done = await strided("convert", at("six.npy"), "-", "--to", "npz");
  expect(done).toEqual({ code: 0, out: "", err: "" });
  const { array, ...more } = await npz.load(piped);
  scope(() => expect([array.toArray(), more]).toEqual([t.toArray(), {}]));
  for (const [args, said] of [
    [[], "say the format"],
    [["--to", "zarr"], '--to is "zarr"'],
    [["--to", "../npy"], '--to is "../npy"'],
    [["--to", "npy", "--json"], "leave --json out"],
  ] as const) {
    const { code, err } = await strided("convert", at("six.npy"), "-", ...args);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  }
  expect((await strided("convert", at("six.npy"), "-", "--to", "what")).err).toContain(
    "no format is written",
  );
  for (const one of [t, array]) one.dispose();
});

it("a file that was cut is judged by the format of its name", async () => {
  writeFileSync(at("cut.safetensors"), readFileSync(pathOf("all.safetensors")).subarray(0, 60));
  expect((await strided("info", at("cut.safetensors"))).err).toMatch(
    /its header takes \d+ bytes, 52 are there/,
  );
  writeFileSync(at("cut.npy"), "hello there");
  expect((await strided("info", at("cut.npy"))).err).toContain("does not begin with the magic of npy");
});

describe("tables in text", () => {
  writeFileSync(at("prices.csv"), "day,open,close\n1,10.5,11\n2,11,10.25\n3,10,12\n");
  writeFileSync(at("plain.tsv"), "1\t2\n3\t4\n");

  it("are their columns where these have names, a matrix where not", async () => {
    expect((await strided("info", at("prices.csv"))).out).toMatchInlineSnapshot(`
      "/prices.csv  csv  3 tensors  72 bytes

      name   dtype  shape     bytes
      day    f64    [3]    24 bytes
      open   f64    [3]    24 bytes
      close  f64    [3]    24 bytes
      "
    `);
    expect((await strided("show", at("prices.csv"), "close", "1:")).out).toContain("[10.25, 12");
    expect((await strided("show", at("plain.tsv"))).out).toContain("[[1, 2],\n [3, 4]]");
    expect((await strided("info", at("nothing.csv"))).code).toBe(1);
  });

  it("lists columns of texts, and says why they are not read", async () => {
    writeFileSync(at("cities.csv"), "city,lat,lon\nOslo,59.91,10.75\nLima,-12.05,\n");
    expect((await strided("info", at("cities.csv"))).out).toContain(
      "city  text   [2]    not read\nlat   f64    [2]    16 bytes",
    );
    expect((await strided("show", at("cities.csv"), "lat")).out).toContain("[ 59.91, -12.05]");
    const shown = await strided("show", at("cities.csv"), "city");
    expect(shown).toMatchObject({
      code: 1,
      err: 'strided show: read: "city" is no column of numbers: row 2 is "Oslo".\n',
    });
    const converted = await strided("convert", at("cities.csv"), at("cities.npz"));
    expect(converted.err).toContain('Without it: --except "city".');
    expect((await strided("convert", at("cities.csv"), at("cities.npz"), "--except", "city")).out).toContain(
      "2 tensors",
    );
    writeFileSync(at("twice.csv"), "a,a\n1,x\n");
    expect((await strided("show", at("twice.csv"), "a.1")).err).toContain('row 2 is "x"');
  });

  it("shows an empty name: there was nothing in its place", async () => {
    writeFileSync(at("noname.csv"), ",b\n1,2\n");
    writeFileSync(at("other.csv"), ",b\n3,2\n");
    expect((await strided("diff", at("noname.csv"), at("other.csv"))).out).toMatch(/^"" {2}1 of 1 differ/);
    for (const command of ["info", "stats"])
      expect((await strided(command, at("noname.csv"))).out).toMatch(/^"" +f64 +\[1\]/m);
    expect((await strided("show", at("noname.csv"))).err).toContain('There are "", b.');
  });

  it("keeps names of columns that are there twice", async () => {
    writeFileSync(at("same.csv"), "a,b,a,a.1,a\n1,2,3,4,5\n");
    expect((await strided("convert", at("same.csv"), at("same2.csv"))).code).toBe(0);
    expect(readFileSync(at("same2.csv"), "utf8")).toBe("a,b,a.2,a.1,a.3\n1,2,3,4,5\n");
  });

  it("may have blanks between numbers, and end in .txt", async () => {
    writeFileSync(at("saved.txt"), " 1.0e+00 -2\n3   4e-1\n");
    expect((await strided("show", at("saved.txt"))).out).toContain("[[ 1.0, -2.0],\n [ 3.0,  0.4]]");
  });

  it("come by standard input too", async () => {
    const text = new TextEncoder().encode("a,b\n1,2\n");
    expect((await withInput(text, "show", "-", "b")).out).toContain("[2]");
    expect((await withInput(readFileSync(pathOf("P2.pgm")), "info", "-")).out).toContain("pnm");
    expect((await withInput(readFileSync(pathOf("all.arrow")), "info", "-", "--json")).out).toContain(
      '"format": "arrow"',
    );
    expect((await withInput(new Uint8Array(), "info", "-")).err).toContain("it is empty");
  });

  it("become Parquet and Arrow, and tables again", async () => {
    for (const [from, to] of [
      ["prices.csv", "prices.parquet"],
      ["prices.parquet", "prices.arrow"],
      ["prices.arrow", "again.csv"],
    ]) {
      expect(await strided("convert", at(from), at(to))).toMatchObject({
        code: 0,
        out: `/${from} → /${to}: 3 tensors\n`,
      });
    }
    expect(readFileSync(at("again.csv"), "utf8")).toBe(readFileSync(at("prices.csv"), "utf8"));
    expect((await strided("diff", at("prices.csv"), at("prices.arrow"))).code).toBe(0);
    expect(
      (await strided("convert", pathOf("groups.parquet"), at("whole.tsv"), "--only", "i8", "--only", "f4"))
        .code,
    ).toBe(0);
    // Not one digit of 64 bits is lost beside floats.
    expect(readFileSync(at("whole.tsv"), "utf8").split("\n").slice(0, 3)).toEqual([
      "i8\tf4",
      "-9223372036854775808\tnan",
      "9223372036854775807\tinf",
    ]);
    expect((await strided("convert", pathOf("all.arrow"), at("none.npz"))).err).toContain(
      'Without it: --except "text".',
    );
    const { code, err } = await strided(
      "convert",
      pathOf("all.arrow"),
      at("odd.csv"),
      "--only",
      "f4",
      "--only",
      "matrix",
    );
    expect([code, err]).toEqual([1, expect.stringContaining('"matrix" is [7, 3], the first column [7]')]);
  });
});

describe("info", () => {
  it("says which tensors are not read: they had 0 bytes", async () => {
    const meta = { zarr_format: 2, dtype: "<f4", order: "C", fill_value: 0, compressor: null };
    mkdirSync(at("odd.zarr"));
    writeFileSync(
      at("odd.zarr/.zarray"),
      JSON.stringify({ ...meta, shape: [5], chunks: [5], filters: [{ id: "own" }] }),
    );
    writeFileSync(at("two.csv"), "a,b\n1,x\n");
    expect((await strided("info", at("odd.zarr"))).out).toMatch(
      /zarr {2}1 tensor {2}1 not read\n[\s\S]*not read$/m,
    );
    expect((await strided("info", at("two.csv"))).out).toMatch(/2 tensors {2}8 bytes, 1 not read\n/);
    expect((await strided("info", pathOf("all.arrow"), "--only", "text")).out).toMatch(/\] +not read\n/);
    const { entries } = JSON.parse((await strided("info", at("two.csv"), "--json")).out);
    expect(entries.map((e: { bytes: number | null }) => e.bytes)).toEqual([8, null]);
  });
});

describe("convert", () => {
  it("says which metadata the new file does not have: they were left out silently", async () => {
    const t = tensor([1, 2]);
    await safetensors.save(at("meta.safetensors"), { t }, { meta: { licence: "mit", "from\n": "x" } });
    const tokens = { "general.name": "n", "tokens.list": ["a", "b"], "tokens.scores": [1.5, 2] };
    await gguf.save(at("meta.gguf"), { t }, { meta: tokens });
    await zarr.save(at("meta.zarr"), { t }, { attributes: { units: "K" } });
    t.dispose();
    const said = async (from: string, to: string) =>
      (await strided("convert", at(from), at(`left/${to}`), "--force")).err.replace("strided convert: ", "");
    mkdirSync(at("left"));
    expect(await said("meta.safetensors", "x.gguf")).toBe("metadata left out: licence, from\\u000a.\n");
    expect(await said("meta.safetensors", "x.safetensors")).toBe("");
    expect(await said("meta.gguf", "x.safetensors")).toBe("metadata left out: tokens.list, tokens.scores.\n");
    expect(await said("meta.gguf", "x.gguf")).toBe("");
    expect(await said("meta.gguf", "x.zarr")).toMatch(/left out: general.name, tokens.list, tokens.scores/);
    expect(await said("meta.zarr", "x.npz")).toBe("metadata left out: units.\n");
    expect(await said("meta.zarr", "x.zarr")).toBe("");
    const json = await strided("convert", at("meta.gguf"), at("left/y.npz"), "--json");
    expect(JSON.parse(json.out).metadataLeftOut).toEqual(Object.keys(tokens));
  });

  it("says how many elements are beyond the dtype: they became infinite, wrapped and were cut silently", async () => {
    const [big, fine, half, whole, unsigned, odd] = [
      tensor([1e5, -1e6, 65504, 1, Infinity, NaN], { dtype: "f64" }),
      tensor([1, 2]),
      tensor([1, -65504], { dtype: "f16" }),
      tensor([2n ** 40n, -(2n ** 31n), 2n ** 31n - 1n, -(2n ** 31n) - 1n], { dtype: "i64" }),
      tensor([2n ** 63n - 1n, 2n ** 63n, 0n], { dtype: "u64" }),
      tensor([NaN, -1.5, -0.5, 255.5, 256, Infinity]),
    ];
    await npz.save(at("wide.npz"), { big, fine, half, whole, unsigned, odd });
    const convert = (to: string, ...more: string[]) => strided("convert", at("wide.npz"), at(to), ...more);
    for (const to of ["wide.safetensors", "wide.zarr", "wide2.npz"]) {
      const { code, err } = await convert(to, "--dtype", "f16", "--only", "big", "--only", "half");
      expect([code, err]).toEqual([
        0,
        "strided convert: big: 2 elements beyond f16, which became infinite.\n",
      ]);
    }
    const only = ["--only", "whole", "--only", "unsigned", "--only", "fine"];
    expect((await convert("i32.zarr", "--dtype", "i32", ...only)).err).toBe(
      "strided convert: whole: 2 elements beyond i32, which wrapped.\n" +
        "strided convert: unsigned: 2 elements beyond i32, which wrapped.\n",
    );
    expect((await convert("i64.npz", "--dtype", "i64", ...only)).err).toBe(
      "strided convert: unsigned: 1 element beyond i64, which wrapped.\n",
    );
    expect((await convert("u64.npz", "--dtype", "u64", ...only)).err).toBe(
      "strided convert: whole: 2 elements beyond u64, which wrapped.\n",
    );
    expect((await convert("u8.npz", "--dtype", "u8", "--all", "--only", "odd")).err).toBe(
      "strided convert: odd: 4 elements beyond u8, which became the nearest that it has, and NaN 0.\n",
    );
    const json = await convert("again.npz", "--dtype", "f16", "--only", "big", "--only", "fine", "--json");
    expect(JSON.parse(json.out).entries).toEqual([
      { name: "big", dtype: "f16", shape: [6], lost: "2 elements beyond f16, which became infinite." },
      { name: "fine", dtype: "f16", shape: [2] },
    ]);
    for (const t of [big, fine, half, whole, unsigned, odd]) t.dispose();
    // In pieces, and in blocks of chunks, they are counted once each.
    const long = scope(() => arange(9 << 20, { dtype: "i32" }));
    await npy.save(at("count.npy"), long);
    long.dispose();
    for (const to of ["count.safetensors", "count.zarr"]) {
      expect((await strided("convert", at("count.npy"), at(to), "--dtype", "u16")).err).toBe(
        `strided convert: array: ${(9 << 20) - 65536} elements beyond u16, which wrapped.\n`,
      );
    }
  });

  it("reads tensors while it writes them, a few megabytes at a time", async () => {
    // 40 MiB that take no room on the disk, with a mark at the end.
    const shape = [5, 1024, 1024, 2];
    const header = npyHeader("<f4", shape, false);
    const fd = openSync(at("long.npy"), "w");
    writeSync(fd, header);
    const size = header.length + 4 * shape.reduce((a, b) => a * b, 1);
    truncateSync(at("long.npy"), size);
    writeSync(fd, new Uint8Array(new Float32Array([1, 2, 3]).buffer), 0, 12, size - 12);
    closeSync(fd);
    for (const [to, options] of [
      ["long.safetensors", []],
      ["half.npy", ["--dtype", "f16"]],
    ] as const) {
      const before = memory();
      expect((await strided("convert", at("long.npy"), at(to), ...options)).code).toBe(0);
      const { peakBytes } = memory();
      if (peakBytes > before.peakBytes) expect(peakBytes - before.bytes).toBeLessThan(36 << 20);
      const file = await open(at(to));
      const [{ name }] = file.entries;
      expect(file.entries[0].shape).toEqual(shape);
      const end = await file.read(name, [-1, -1, -2, "..."]);
      expect(end.toArray()).toEqual([0, 1]);
      end.dispose();
    }
    expect(statSync(at("half.npy")).size).toBeLessThan(size / 2 + 200);
  }, 60_000);

  it("gives the same whatever the blocks are, transposed and deflated files too", async () => {
    const [a, b] = scope(
      () => [arange(24_000).reshape(20, 30, 40).permute(2, 0, 1).clone(), arange(12).reshape(3, 4)] as const,
    );
    await npy.save(at("t.npy"), b.T);
    await npz.save(at("d.npz"), { a, b }, { compress: true });
    for (const to of ["t.npz", "t.safetensors", "t.gguf", "t.arrow"]) {
      expect((await strided("convert", at("t.npy"), at(to))).code).toBe(0);
      expect((await strided("diff", at("t.npy"), at(to))).out).toBe("1 tensor, all the same\n");
    }
    expect((await strided("convert", at("d.npz"), at("d.safetensors"))).code).toBe(0);
    expect((await strided("diff", at("d.npz"), at("d.safetensors"))).code).toBe(0);
    expect((await strided("convert", at("d.npz"), at("one.npy"))).err).toContain(
      "npy holds one tensor, and 2 are chosen",
    );
    expect((await strided("convert", pathOf("rgb8.png"), at("p.ppm"))).code).toBe(0);
    expect((await strided("convert", at("p.ppm"), at("p.png"))).code).toBe(0);
    expect((await strided("diff", pathOf("rgb8.png"), at("p.png"))).code).toBe(0);
    // PAM was written under names of other formats.
    for (const [from, to] of [
      ["grey-alpha8.png", "ga.ppm"],
      ["grey-alpha8.png", "ga.PGM"],
    ]) {
      const { code, err } = await strided("convert", pathOf(from), at(to));
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/2 channels is no \.p[pg]m\.\n {2}Name it \.pam/),
      ]);
      expect(existsSync(at(to))).toBe(false);
    }
    expect((await strided("convert", pathOf("rgb8.png"), at("p.pgm"))).err).toContain("Name it .ppm or .pam");
    expect((await strided("convert", pathOf("grey-alpha8.png"), at("ga.pam"))).code).toBe(0);
    expect((await strided("diff", pathOf("grey-alpha8.png"), at("ga.pam"))).code).toBe(0);
    // Blocks are decoded where the new file has none.
    expect((await strided("convert", pathOf("plain.gguf"), at("q.npz"), "--except", "bf16")).code).toBe(0);
    expect(
      (await strided("diff", pathOf("plain.gguf"), at("q.npz"), "--atol", "0", "--except", "bf16")).code,
    ).toBe(0);
    a.dispose();
    b.dispose();
  });

  it("every block of every shape, once and in order", () => {
    for (const shape of [[], [0], [5], [3, 0], [7, 3], [2, 3, 4], [1, 1, 9], [4, 1, 2, 3]]) {
      const size = shape.reduce((p, n) => p * n, 1);
      for (const most of [1, 8, 20, 100, 1e6]) {
        scope(() => {
          const t = arange(size, { dtype: "f64" }).reshape(shape);
          const all = [...cutsOf(shape, 8, most)].flatMap((items) => {
            const piece = t.slice(...items);
            expect(piece.size * 8).toBeLessThanOrEqual(Math.max(8, most));
            return [...piece.toTypedArray()];
          });
          expect(all).toEqual(Array.from({ length: size }, (_, i) => i));
        });
      }
    }
  });
});

describe("bench", () => {
  it("says what the machine is, and checks what it times", async () => {
    const { out, code } = await strided("bench", "--size", "16", "--rounds", "1", "--json");
    expect(code).toBe(0);
    const { rows, processor, runtime } = JSON.parse(out);
    expect([processor, runtime]).toEqual([
      expect.stringContaining("cores"),
      expect.stringContaining("Node v"),
    ]);
    expect(rows.map((r: { name: string }) => r.name)).toEqual([
      "a + b, f32",
      "exp(-a²), f32",
      "sums of columns, f32",
      "a transposed copy, f32",
      "a product of 16 × 16, f32",
    ]);
    for (const { strided: ms, loop, ratio } of rows)
      expect([ms > 0, loop > 0, ratio > 0]).toEqual([true, true, true]);
    expect((await strided("bench", "--size", "16", "--rounds", "1")).out).toContain("as fast as the loop");
    expect((await strided("bench", "--size", "3")).code).toBe(2);
  });
});

describe("in a shell", () => {
  it("reads a pipe, and its exit codes are those of a program", async () => {
    const main = join(process.cwd(), "src/cli/main.ts");
    const call = (args: string[], input?: Uint8Array) =>
      execFileSync(process.execPath, ["--import", "tsx", main, ...args], {
        input,
        encoding: "utf8",
        stdio: ["pipe", "pipe", "pipe"],
      });
    const x = tensor([1, 2, 3]);
    expect(call(["show", "-"], await parquet.encode({ x }))).toContain("[1, 2, 3]");
    const bytes = execFileSync(
      process.execPath,
      ["--import", "tsx", main, "convert", "-", "-", "--to", "npy"],
      {
        input: await parquet.encode({ x }),
      },
    );
    const back = await npy.load(bytes);
    expect(back.toArray()).toEqual([1, 2, 3]);
    back.dispose();
    expect(() => call(["show", "-"], new Uint8Array([0, 1, 2]))).toThrow(
      expect.objectContaining({ status: 1 }),
    );
    x.dispose();
  }, 60_000);
});
