/** Block types in files: GGUF in and out, and what the command line makes of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "../../src/cli/commands.ts";
import { files } from "../../src/cli/files.ts";
import { memory, random, type Tensor, tensor, zeros } from "../../src/index.ts";
import { arrow, gguf, npz, parquet, safetensors, save, zarr } from "../../src/io.ts";
import { blockTypes, quantisedNames } from "../../src/quantised/types.ts";
import { fromBlocks, loadGguf, matmul, Quantised, quantise, readGguf } from "../../src/quantised.ts";
import { numbers, randomBlocks } from "./draw.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-quantised-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bytesOf = (q: Quantised) => Buffer.from(q.blocks.toTypedArray()).toString("hex");
const rng = () => random.generator(11);

async function command(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ["", ""];
  const code = await run(args, {
    out: (text) => {
      out += `${text}\n`;
    },
    err: (text) => {
      err += text;
    },
    terminal: { columns: 100, color: "none", ascii: true },
    showsProgress: false,
    version: "0",
    files,
    stdin: async () => new Uint8Array(),
    exists: () => false,
    write: () => {},
    pipe: async () => {},
  });
  return { code, out, err };
}

describe("GGUF", () => {
  it("every block type is written and read back, byte for byte, beside tensors", async () => {
    const next = numbers(31);
    const all: Record<string, Tensor | Quantised> = { norm: rng().normal([5]) };
    for (const dtype of quantisedNames) {
      const { block } = blockTypes[dtype];
      all[dtype] = fromBlocks(tensor(randomBlocks(dtype, 6, next)), dtype, [3, 2 * block]);
    }
    const bytes = await gguf.encode(all, { meta: { "general.name": "blocks" } });
    const archive = await gguf.open(bytes);
    expect(archive.entries.map((e) => e.type.toLowerCase())).toEqual([
      "f32",
      ...quantisedNames.map((name) => name.toLowerCase()),
    ]);
    for (const dtype of quantisedNames) {
      const q = await readGguf(archive, dtype);
      if (!(q instanceof Quantised)) throw new Error(`${dtype} is no Quantised`);
      expect([q.dtype, q.shape]).toEqual([dtype, all[dtype].shape]);
      expect(bytesOf(q)).toBe(bytesOf(all[dtype] as Quantised));
    }
    const loaded = await loadGguf(bytes, { names: ["norm", "q4_K"] });
    expect(Object.keys(loaded)).toEqual(["norm", "q4_K"]);
    expect((loaded.norm as Tensor).toArray()).toEqual((all.norm as Tensor).toArray());
    expect(loaded.q4_K).toBeInstanceOf(Quantised);
  });

  it("views with gaps are written dense, and what is refused names its reason", async () => {
    const q = quantise(rng().normal([6, 64]), "q8_0");
    const bytes = await gguf.encode({ w: q.slice("::-2", "32:") });
    const { w } = await loadGguf(bytes);
    expect(bytesOf(w as Quantised)).toBe(bytesOf(q.slice("::-2", "32:").clone()));
    const archive = await gguf.open(bytes);
    await expect(archive.read("w")).rejects.toThrow(/Use readGguf\(archive, name\) of "strided\/quantised"/);
    await expect(readGguf(archive, "v")).rejects.toThrow(/no entry/);
    await expect(readGguf({} as never, "v")).rejects.toThrow(/no open file/);
    await expect(loadGguf(bytes, { names: ["w", "v"] })).rejects.toMatchObject({
      code: "file",
      message: expect.stringMatching(/no entry "v"\.\n {2}Name one of "w"/),
    });
    await expect(gguf.encode({ w: {} as never })).rejects.toThrow(/expected a tensor, got an object/);
    q.dispose();
    await expect(gguf.encode({ w: q })).rejects.toThrow(/disposed/);
  });

  it("a truncated file is refused before anything is made of it", async () => {
    const before = memory().tensors;
    const bytes = await gguf.encode({ w: quantise(zeros([4, 256]), "q4_K") });
    await expect(loadGguf(bytes.subarray(0, bytes.length - 32))).rejects.toThrow(/the file has/);
    expect(memory().tensors - before).toBeLessThanOrEqual(2);
  });
});

describe("the command line", () => {
  const [plain, packed, again] = ["model.safetensors", "model.gguf", "again.gguf"].map((f) =>
    join(folder, f),
  );

  it("says which tensors have elements that no block holds", async () => {
    const one = (value: number, dtype: "f32" | "f64" = "f32") => {
      const t = rng().normal([2, 256], { dtype });
      t.set([1, 7], value);
      return t;
    };
    const weights = {
      fine: one(1000),
      nan: one(Number.NaN),
      odd: one(Number.NEGATIVE_INFINITY),
      large: one(1e30),
      larger: one(1e300, "f64"),
      none: zeros([2, 256]),
      deep: rng().normal([2, 3, 256]),
    };
    await safetensors.save(plain, weights);
    const done = await command("convert", plain, packed, "--dtype", "q4_K");
    expect(done.code).toBe(0);
    expect(done.out).toContain("7 of them as q4_K");
    expect(done.err).toMatchInlineSnapshot(`
      "strided convert: larger: elements up to 1e+300 are too large for q4_K, and others of their blocks are lost with them.
      strided convert: large: elements up to 1e+30 are too large for q4_K, and others of their blocks are lost with them.
      strided convert: nan: 1 element NaN or infinite: q4_K holds neither, and others of their blocks are lost with them.
      strided convert: odd: 1 element NaN or infinite: q4_K holds neither, and others of their blocks are lost with them.
      "
    `);
  });

  it("safetensors → GGUF in blocks → numbers: the whole circle", async () => {
    const g = rng();
    const weights = {
      "up.weight": g.normal([128, 256]),
      "norm.weight": g.normal([256]),
      "odd.weight": g.normal([4, 100]),
    };
    await safetensors.save(plain, weights);
    for (const dtype of ["q8_0", "q4_0", "q4_K"] as const) {
      const done = await command("convert", plain, packed, "--dtype", dtype);
      expect(done.err).toBe("");
      expect(done.out).toContain(`3 tensors, 1 of them as ${dtype}`);
      const made = await loadGguf(packed);
      const up = made["up.weight"];
      if (!(up instanceof Quantised)) throw new Error("no blocks");
      expect([up.dtype, made["norm.weight"].dtype, made["odd.weight"].dtype]).toEqual([dtype, "f32", "f32"]);
      expect(bytesOf(up)).toBe(bytesOf(quantise(weights["up.weight"], dtype)));
      const x = g.normal([256]);
      const [exact, near] = [weights["up.weight"].matmul(x), matmul(up, x)];
      const error = exact.sub(near).square().mean().item() / exact.square().mean().item();
      expect(error).toBeGreaterThan(0);
      expect(error).toBeLessThan(dtype === "q8_0" ? 1e-4 : 2e-2);
    }
  });

  it("info, stats, show and diff see elements in blocks", async () => {
    const info = await command("info", packed, "--stats");
    expect(info.code).toBe(0);
    expect(info.out).toMatch(/up\.weight +Q4_K +\[128, 256\] +18\.4 kB +-\d/);
    const stats = JSON.parse((await command("stats", packed, "up.weight", "--json")).out);
    expect(stats[0]).toMatchObject({ type: "Q4_K", dtype: null, statistics: { count: 128 * 256 } });
    const show = await command("show", packed, "up.weight", "0:1,0:2", "--json");
    expect(JSON.parse(show.out)).toMatchObject({ dtype: "f32", shape: [1, 2] });
    const diff = await command("diff", plain, packed, "--only", "up.weight");
    expect(diff.code).toBe(1);
    expect(diff.out).toMatch(/f32 and Q4_K; \d+ of 32768 differ/);
  });

  it("GGUF to GGUF keeps blocks as they are, and --dtype f16 decodes them", async () => {
    expect((await command("convert", packed, again)).err).toBe("");
    const [a, b] = [await loadGguf(packed), await loadGguf(again)];
    expect(bytesOf(a["up.weight"] as Quantised)).toBe(bytesOf(b["up.weight"] as Quantised));
    await command("convert", packed, again, "--dtype", "f16");
    expect((await loadGguf(again))["up.weight"].dtype).toBe("f16");
    await command("convert", packed, again, "--dtype", "q8_0", "--all");
    const all = await loadGguf(again);
    expect([all["up.weight"].dtype, all["norm.weight"].dtype, all["odd.weight"].dtype]).toEqual([
      "q8_0",
      "q8_0",
      "f32",
    ]);
    const bad = await command("convert", plain, join(folder, "x.npz"), "--dtype", "q4_K");
    expect([bad.code, bad.err]).toEqual([2, expect.stringContaining("only files of GGUF hold it")]);
  });
});

describe("blocks without a name", () => {
  it("are refused by every writer of several tensors, and never written as bytes called blocks", async () => {
    const q = quantise(zeros([2, 32]), "q8_0");
    const writers = { arrow, gguf, npz, parquet, safetensors };
    for (const [name, { encode }] of Object.entries(writers)) {
      await expect(encode(q as never)).rejects.toThrow(
        `${name}.encode: expected tensors by name, got a Quantised.\n  Give an object: { weight }.`,
      );
    }
    await expect(save(join(folder, "q.npz"), q as never)).rejects.toThrow("expected tensors by name");
    await expect(zarr.save(new Map(), q as never)).rejects.toThrow("expected tensors by name");
    q.dispose();
  });
});
