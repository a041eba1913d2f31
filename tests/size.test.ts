/** How much a user downloads: ceilings about a quarter above the present sizes, so that growth is a decision. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

/** Checks against a ceiling in kB and shows the figure. */
function below(what: string, bytes: number, ceiling: number): void {
  console.log(`size: ${what}: ${kB(bytes)} (ceiling ${ceiling} kB)`);
  expect(bytes / 1000, what).toBeLessThan(ceiling);
}

/** Minified and tree-shaken, as a page would load it: its size gzipped, and the files of src that are in it. */
async function bundled(
  code: string,
  external: string[] = [],
): Promise<{ bytes: number; files: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: root, loader: "ts" },
    alias: {
      "strided/interop": join(root, "src/interop.ts"),
      "strided/quantised": join(root, "src/quantised.ts"),
      "strided/io": join(root, "src/io.ts"),
      strided: join(root, "src/index.ts"),
    },
    external,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    platform: "neutral",
    mainFields: ["module", "main"],
    write: false,
    metafile: true,
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  const files = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return {
    bytes: gzipSync(outputFiles[0].contents, { level: 9 }).length,
    files: files.map(([path]) => path.replace(/^.*src\//, "")),
  };
}

describe("sizes", () => {
  test("a minimal import, bundled", async () => {
    const minimal = `import { tensor, kernel } from "strided"; console.log(kernel((x) => x + 1)(tensor([1])));`;
    const { bytes, files } = await bundled(minimal);
    below("minimal import with acorn, gzipped", bytes, 180);
    below("minimal import without acorn, gzipped", (await bundled(minimal, ["acorn"])).bytes, 142);
    expect(files).toContain("tensor.ts");
    expect(
      files.filter((path) => /^library\/|linalg|random|sort|fft|convolution|gather|njit/.test(path)),
    ).toEqual([]);
  });

  test("an import from the library brings its own part only", async () => {
    const { files } = await bundled(
      'import { sort, tensor } from "strided"; console.log(sort(tensor([1])));',
    );
    expect(files).toContain("library/sort.ts");
    expect(files.filter((path) => /linalg|random|fft|convolution/.test(path))).toEqual([]);
    const solver = await bundled('import { linalg, eye } from "strided"; console.log(linalg.inv(eye(2)));');
    expect(solver.files.filter((path) => /random|sort|fft|convolution/.test(path))).toEqual([]);
  });

  test("a strided copy alone brings neither WebAssembly nor the parser", async () => {
    const { bytes, files } = await bundled(
      'import { copyStrided } from "strided/interop"; console.log(copyStrided);',
    );
    below("copyStrided, gzipped", bytes, 8);
    expect(files).toContain("interop/copy.ts");
    expect(
      files.filter((path) => /^(wasm|run|frontend|optimize|ops\/create|memory)|tensor|engine/.test(path)),
    ).toEqual([]);
  });

  test("a format of strided/io brings its own part only, and nothing of Node", async () => {
    const core = await bundled('import { tensor } from "strided"; console.log(tensor([1]).add(1));');
    expect(core.files.filter((path) => path.startsWith("io"))).toEqual([]);
    const formats: Readonly<Record<string, { code: string; ceiling: number; own: RegExp }>> = {
      csv: { code: "csv", ceiling: 13, own: /csv|json/ },
      npy: { code: "npy", ceiling: 13, own: /npy/ },
      npz: { code: "npz", ceiling: 18, own: /np[yz]|zip|crc|deflate|json|tensors/ },
      safetensors: { code: "safetensors", ceiling: 14, own: /safetensors|json|tensors/ },
      gguf: { code: "gguf", ceiling: 16, own: /gguf|ggml|blocks|cursor|json|tensors/ },
      onnx: { code: "onnx", ceiling: 15, own: /onnx|protobuf|cursor|json/ },
      png: { code: "png", ceiling: 16, own: /png|deflate|crc|json/ },
      arrow: { code: "arrow", ceiling: 21, own: /arrow|flatbuffer|lz4|nulls|peer|json|tensors/ },
      parquet: { code: "parquet", ceiling: 22, own: /parquet|thrift|deflate|lz4|nulls|peer|json|tensors/ },
      hdf5: { code: "hdf5", ceiling: 14, own: /hdf5|peer/ },
      "all of them": { code: "open", ceiling: 90, own: /./ },
      zarr: { code: "zarr", ceiling: 32, own: /zarr|crc|json|tensors/ },
    };
    const shared = /^io\/(archive|into-heap|names|node|peer|runs|source|target)\.ts$/;
    for (const [name, { code, ceiling, own }] of Object.entries(formats)) {
      const { bytes, files } = await bundled(
        `import { tensor } from "strided"; import * as io from "strided/io"; console.log(tensor([1]).add(1), io.${code});`,
      );
      below(`strided/io, ${name}, gzipped, beside the core`, bytes - core.bytes, ceiling);
      const others = files.filter((path) => path.startsWith("io/") && !shared.test(path) && !own.test(path));
      expect(others, name).toEqual([]);
    }
  });

  test("block types are brought by strided/quantised alone", async () => {
    const core = await bundled('import { tensor } from "strided"; console.log(tensor([1]).add(1));');
    const blocks = await bundled(
      'import { tensor } from "strided"; import { matmul, quantise } from "strided/quantised"; console.log(tensor([1]).add(1), matmul, quantise);',
    );
    expect(core.files.filter((path) => /quantised|ggml/.test(path))).toEqual([]);
    below("strided/quantised, gzipped, beside the core", blocks.bytes - core.bytes, 28);
    expect(blocks.files.filter((path) => path.startsWith("io/"))).toEqual(["io/blocks.ts"]);
  });

  test("the packed package", () => {
    // Built aside, so that nobody's dist changes under them.
    const folder = mkdtempSync(join(tmpdir(), "strided-size-"));
    try {
      const dist = join(folder, "dist");
      const tsc = join(root, "node_modules/.bin/tsc");
      const built = spawnSync(tsc, ["-p", "tsconfig.build.json", "--outDir", dist], {
        cwd: root,
        encoding: "utf8",
      });
      expect(built.stdout).toBe("");
      const bundler = spawnSync(process.execPath, [join(root, "scripts/bundle-node.mjs"), dist]);
      expect(bundler.stderr.toString()).toBe("");
      for (const name of ["package.json", "README.md", "LICENSE", "CHANGELOG.md"])
        cpSync(join(root, name), join(folder, name));
      const npm = process.platform === "win32" ? "npm.cmd" : "npm";
      const pack = spawnSync(npm, ["pack", "--dry-run", "--json", "--ignore-scripts"], {
        cwd: folder,
        encoding: "utf8",
      });
      const report = JSON.parse(pack.stdout) as
        | { size: number; unpackedSize: number }[]
        | Record<string, never>;
      const [{ size, unpackedSize }] = Object.values(report) as { size: number; unpackedSize: number }[];
      // Formats, interop, plots and the command line are there twice, as all code is; and what Node runs is not minified, so
      // that crashes can be read: half a megabyte of it is spaces.
      below("tarball", size, 2150);
      below("tarball, unpacked", unpackedSize, 8300);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
