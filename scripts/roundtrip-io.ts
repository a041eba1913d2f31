/**
 * npm run test:roundtrip
 *
 * What strided/io writes is read by the programs that own the formats: NumPy, and where they are installed safetensors,
 * gguf, Pillow (PNG), pyarrow (Arrow, Parquet) and zarr. PYTHON names another Python. Says what it could not try; fails where
 * something differs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DType, dtypeNames, fromBuffer, type Tensor } from "../src/index.ts";
import { arrow, gguf, npy, npz, parquet, png, safetensors, zarr } from "../src/io.ts";

const python = process.env.PYTHON ?? "python3";
const found = spawnSync(python, ["-c", "import numpy; print(numpy.__version__)"], { encoding: "utf8" });
if (found.status !== 0) {
  console.log(`round trip: left out, since ${python} has no NumPy (Debian: apt-get install python3-numpy)`);
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), "strided-roundtrip-"));
let seed = 1;
/** Any bits; bools are 0 or 1. */
function made(dtype: DType, shape: readonly number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 8);
  const bytes = Uint8Array.from({ length: size }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return dtype === "bool" ? seed >>> 31 : seed >>> 24;
  });
  return fromBuffer(bytes, { dtype, shape });
}

const layouts: Readonly<Record<string, (dtype: DType) => Tensor>> = {
  dense: (d) => made(d, [3, 4]),
  scalar: (d) => made(d, []),
  empty: (d) => made(d, [2, 0]),
  transposed: (d) => made(d, [3, 4, 5]).T,
  stepped: (d) => made(d, [6, 5]).slice("::2", "::-2"),
};

/** Row-major bytes, for Python to compare with. */
const expected: Record<string, Record<string, { dtype: DType; shape: readonly number[]; hex: string }>> = {};
function expects(file: string, tensors: Readonly<Record<string, Tensor>>): string {
  expected[file] = {};
  for (const [name, t] of Object.entries(tensors)) {
    const { buffer, byteOffset, byteLength } = t.toTypedArray();
    const hex = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("hex");
    expected[file][name] = { dtype: t.dtype, shape: t.shape, hex };
  }
  return join(folder, file);
}

try {
  const numpys = dtypeNames.filter((d) => d !== "bf16");
  const ggmls: DType[] = ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"];
  const all = (dtypes: readonly DType[]) =>
    Object.fromEntries(
      dtypes.flatMap((d) => Object.entries(layouts).map(([name, make]) => [`${d}-${name}`, make(d)])),
    );
  for (const [name, t] of Object.entries(all(numpys))) {
    await npy.save(expects(`${name}.npy`, { array: t }), t);
  }
  const several = all(numpys);
  await npz.save(expects("stored.npz", several), several);
  await npz.save(expects("deflated.npz", several), several, { compress: true });
  const safe = all(dtypeNames);
  await safetensors.save(expects("all.safetensors", safe), safe, { meta: { "made by": "strided", ü: "é" } });
  const plain = Object.fromEntries(Object.entries(all(ggmls)).filter(([name]) => !/scalar|empty/.test(name)));
  await gguf.save(expects("all.gguf", plain), plain, {
    meta: { "general.architecture": "none", n: 5, x: 0.5 },
  });
  for (const d of ["u8", "u16"] as const) {
    // Pillow has no pictures of 16 bits in colour.
    for (const shape of d === "u8"
      ? [
          [5, 7],
          [5, 7, 3],
          [5, 7, 4],
        ]
      : [[5, 7]]) {
      const t = made(d, shape);
      await png.save(expects(`${d}-${shape.length === 2 ? "grey" : shape[2]}.png`, { image: t }), t);
    }
  }
  const columns = Object.fromEntries(numpys.map((d) => [d, made(d, [1000])]));
  const lists = { ...columns, matrix: made("f32", [1000, 3]), cube: made("i16", [1000, 2, 2]) };
  await arrow.save(expects("all.arrow", lists), lists, { meta: { "made by": "strided", ü: "é" } });
  await arrow.save(expects("all.arrows", lists), lists);
  const none = { x: made("f32", [0]), b: made("bool", [0]) };
  await arrow.save(expects("empty.arrow", none), none);
  await parquet.save(expects("all.parquet", columns), columns);
  await parquet.save(expects("empty.parquet", none), none);
  // Chunks that do not fit, in both orders of axes and bytes, packed or not; version 3 is read by zarr-python 3.
  const ways = { c: {}, f: { order: "F", endian: "big" }, gzip: { compressor: "gzip" } } as const;
  for (const version of [2, 3] as const) {
    const dtypes = version === 2 ? numpys : dtypeNames.filter((d) => d !== "bf16");
    const more =
      version === 2 ? { zlib: { compressor: "zlib" } } : { shards: { shards: [6, 6], checksum: true } };
    for (const [way, options] of Object.entries({ ...ways, ...more })) {
      const tensors = all(dtypes);
      const path = expects(`${way}-v${version}.zarr`, tensors);
      await zarr.createGroup(path, { version, attributes: { way } });
      for (const [name, t] of Object.entries(tensors)) {
        const sizes = t.shape.map((_, d) => (way === "shards" ? 3 : 2 + d));
        const shards = way === "shards" ? { shards: t.shape.map(() => 6) } : {};
        await zarr.save(path, t, {
          ...options,
          ...shards,
          chunks: sizes,
          path: name,
          version,
          fill: t.dtype === "bool" ? true : 1,
        });
      }
    }
  }
  writeFileSync(join(folder, "expected.json"), JSON.stringify(expected));
  const script = fileURLToPath(new URL("./roundtrip-io.py", import.meta.url));
  const { status } = spawnSync(python, [script, folder], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
