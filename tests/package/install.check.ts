/**
 * The package as its users get it: packed, installed into an empty folder, and used from there by TypeScript projects of
 * both kinds of module resolution, by plain JavaScript and by a bundler.
 */
import { spawnSync } from "node:child_process";
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
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
let folder: string;
let tarball: string;

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (error !== undefined || status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed:\n${error ?? ""}${stdout}${stderr}`);
  }
  return stdout;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "strided-package-"));
  run(npm, ["pack", "--pack-destination", folder], root); // prepack builds
  tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "user", private: true, type: "module" }),
  );
  run(npm, ["install", "--no-audit", "--no-fund", "--prefer-offline", `./${tarball}`], folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = `
import { arange, kernel, tensor, TensorError, type Tensor } from "strided";

const view = arange(8).reshape(2, 4).slice(":", "::2");
const data: Float32Array = arange(3).data;
const leaky = kernel((x: number, k: number) => (x > 0 ? x : k * x), { k: 0.5 });
const made: Tensor = leaky(view.sub(4));
const big: number = tensor(new BigInt64Array([1n, 2n])).get(1);
let code: string | undefined;
try {
  view.matmul(arange(3));
} catch (error) {
  if (error instanceof TensorError) code = error.code;
}
{
  using temporary = arange(4);
  console.log(temporary.shape.join());
}
console.log(data.length, JSON.stringify(made.toArray()), big, code);
`;
const printed = "4\n3 [[-2,-1],[0,2]] 2 shape\n";

/** The strictest a user may be: declaration files are checked too, and no lib is given that the package needs. */
const strict = {
  target: "es2022",
  lib: ["es2022", "dom"],
  types: [],
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  outDir: "out",
};

function compile(name: string, options: Record<string, unknown>, text = program): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "main.ts"), text);
  const config = { compilerOptions: { ...strict, ...options }, files: ["main.ts"] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  run(join(root, "node_modules/.bin/tsc"), ["-p", project], project);
  return join(project, "out/main.js");
}

describe("the packed tarball", () => {
  test("brings a command line, and entries for other libraries and for plots", () => {
    const bin = join(
      folder,
      "node_modules",
      ".bin",
      process.platform === "win32" ? "strided.cmd" : "strided",
    );
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect(run(bin, ["--version"], folder)).toBe(`${version}\n`);
    expect(run(bin, ["explain", "x => x + 1"], folder)).toContain("SIMD WebAssembly");
    const code = `
      import { arange } from "strided";
      import { from, to } from "strided/interop";
      import { plot } from "strided/plot";
      const t = from(to.ndarray(arange(4)));
      console.log(t.shape.join(), plot.text(t, { width: 30, height: 5 }).split("\\n").length);`;
    expect(run(process.execPath, ["--input-type=module", "--eval", code], folder)).toBe("4 5\n");
  });

  test("holds the build, its declarations and the papers, and no tests or sources", () => {
    const installed = join(folder, "node_modules/strided");
    const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
    for (const name of ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "dist"]) {
      expect(existsSync(join(installed, name)), name).toBe(true);
    }
    expect(files.filter((name) => /test/.test(name))).toEqual([]);
    // Maps of lines, for the files that were bundled.
    expect(files.filter((name) => name.endsWith(".map") && !/^dist.node./.test(name))).toEqual([]);
    expect(files.filter((name) => /\.[cm]?ts$/.test(name) && !/\.d\.[cm]?ts$/.test(name))).toEqual([]);
  });

  test("every path in exports exists, types come first, and nothing runs at install", () => {
    const installed = join(folder, "node_modules/strided");
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    type Entry = string | { readonly [condition: string]: Entry };
    const pathsOf = (entry: Entry): string[] =>
      typeof entry === "string" ? [entry] : Object.values(entry).flatMap(pathsOf);
    for (const [name, entry] of Object.entries(manifest.exports as Record<string, Entry>)) {
      for (const path of pathsOf(entry)) expect(existsSync(join(installed, path)), path).toBe(true);
      if (typeof entry === "string") continue;
      const file = name === "." ? "index" : name.slice(2);
      // The order counts. Node's own come before what bundlers take, so that test runners which know both agree with Node.
      expect(JSON.stringify(entry)).toBe(
        JSON.stringify({
          types: { require: `./dist/${file}.d.cts`, default: `./dist/${file}.d.ts` },
          node: { require: `./dist/node/${file}.cjs`, default: `./dist/node/${file}.js` },
          module: `./dist/${file}.js`,
          require: `./dist/node/${file}.cjs`,
          default: `./dist/${file}.js`,
        }),
      );
    }
    for (const path of [manifest.main, manifest.module, manifest.types])
      expect(existsSync(join(installed, path)), path).toBe(true);
    for (const hook of ["preinstall", "install", "postinstall"])
      expect(manifest.scripts).not.toHaveProperty(hook);
  });

  test("every file that is started by its URL is there", () => {
    const dist = join(folder, "node_modules/strided/dist");
    const scripts = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".js"),
    );
    const urls = scripts.flatMap((name) => {
      const text = readFileSync(join(dist, name), "utf8");
      const found = text.matchAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g);
      return [...found].map(([, path]) => join(dist, dirname(name), path));
    });
    expect(urls).not.toEqual([]);
    expect(urls.filter((path) => !existsSync(path))).toEqual([]);
  });

  test("brings acorn along and nothing else", () => {
    const packages = readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
    expect(packages).toEqual(["acorn", "strided"]);
  });
});

describe("used from an empty folder", () => {
  test("by a TypeScript project with moduleResolution nodenext", () => {
    const main = compile("nodenext", { module: "nodenext", moduleResolution: "nodenext" });
    expect(run(process.execPath, [main], folder)).toBe(printed);
  });

  test("by a TypeScript project with moduleResolution bundler, bundled", async () => {
    const main = compile("bundler", { module: "esnext", moduleResolution: "bundler" });
    const outfile = join(folder, "bundler/bundle.mjs");
    await build({
      entryPoints: [main],
      bundle: true,
      minify: true,
      format: "esm",
      platform: "neutral",
      mainFields: ["module", "main"],
      outfile,
    });
    expect(run(process.execPath, [outfile], folder)).toBe(printed);
  });

  test("with methods and turbo, on all threads, in a few files", () => {
    const text = `
import "strided/turbo";
import "strided/methods";
import { arange, linalg, ready, type Tensor } from "strided";

await ready();
const t: Tensor = arange(6).flip().sort().take([0, -1]);
const big = arange(1_000_000).map((x: number) => x % 7);
console.log(t.toArray(), big.sum().item(), linalg.det(arange(4).reshape(2, 2).to("f64")).item());
`;
    const main = compile("methods", { module: "nodenext", moduleResolution: "nodenext" }, text);
    const env = { ...process.env, STRIDED_THREADS: "2" };
    const { stdout, stderr } = spawnSync(process.execPath, [main], {
      cwd: folder,
      encoding: "utf8",
      env,
    });
    expect(stderr).toBe("");
    expect(stdout).toBe("[ 0, 5 ] 2999997 -2\n");
    const files = readdirSync(join(folder, "node_modules/strided/dist/node"));
    // Entries, what they share, and the worker: not two hundred.
    expect(files.filter((f) => !f.endsWith(".map")).length).toBeLessThan(60);
  });

  test("a program without kernels of its own reads neither the parser nor njit and explain", () => {
    const text = `
const { explain, kernel, njit, ones } = require("strided");
const loaded = () => Object.keys(require.cache).map((path) => path.replaceAll("\\\\", "/")).filter((path) => /acorn|dist.node/.test(path));
ones([4]).add(1).sum().item();
const before = loaded();
kernel((x) => x + 1)(ones([2]));
njit((n) => n + 1)(1);
explain(() => ones([2]).add(1));
const after = loaded();
console.log(before.some((path) => path.includes("acorn")), after.some((path) => path.includes("acorn")), after.length - before.length);
`;
    writeFileSync(join(folder, "late.cjs"), text);
    const [early, late, more] = run(process.execPath, ["late.cjs"], folder).trim().split(" ");
    expect([early, late]).toEqual(["false", "true"]);
    expect(Number(more)).toBe(3);
  });

  test("with strided/io, which shares tensors with strided, from paths and bytes", () => {
    const text = `
import { arange, memory, type Tensor } from "strided";
import { type Archive, npy, open, save } from "strided/io";

await save("both.npz", { x: arange(6).reshape(2, 3), y: arange(2) });
const file: Archive = await open("both.npz");
const x: Tensor = await file.read("x", [":", -1]);
const bytes: Uint8Array = await npy.encode(x);
console.log(file.entries.map((e) => e.name).join(), x.toArray(), (await npy.load(bytes)).add(x).toArray());
console.log(memory().tensors > 0, await npy.load("none.npy").catch((error: Error) => error.message));
`;
    const main = compile("io", { module: "nodenext", moduleResolution: "nodenext" }, text);
    expect(run(process.execPath, [main], folder)).toBe(
      'x,y [ 2, 5 ] [ 4, 10 ]\ntrue npy.load: "none.npy": there is no such file.\n',
    );
  });

  test("with strided/grad and strided/nn, whose trees keep their types", () => {
    const text = `
import { memory, ones, scope, type Tensor } from "strided";
import { valueAndGrad } from "strided/grad";
import { type Optimiser, linear, mse, sgd } from "strided/nn";

const params = { layer: linear.init(2, 1, { rng: 1 }) };
const loss = (p: typeof params, x: Tensor) => mse(linear(p.layer, x), ones([3, 1]));
const optimiser: Optimiser = sgd(params, { lr: 0.1 });
const step = () =>
  scope(() => {
    const { value, grads } = valueAndGrad(loss)(params, ones([3, 2]));
    const weight: Tensor = grads.layer.weight;
    optimiser.step(grads);
    return [Number(value.item()), weight.shape.join()] as const;
  });
const [first] = step();
const before = memory().tensors;
for (let i = 0; i < 20; i++) step();
const [last, shape] = step();
console.log(last < first / 100, shape, memory().tensors - before);
`;
    const main = compile("train", { module: "nodenext", moduleResolution: "nodenext" }, text);
    expect(run(process.execPath, [main], folder)).toBe("true 1,2 0\n");
  });

  test("with strided/chunked in processes of its own, from both kinds of module", () => {
    const text = (load: string) => `
      ${load}
      const run = async () => {
        const x = chunked.random([64], { chunks: [8], seed: 1 });
        const plan = x.map((v) => v * 2).plan({ workers: 2 });
        const { ran } = await plan.run({ to: "out.zarr", overwrite: true, on: local({ workers: 2 }) });
        const missing = plan.run({ to: "none.zarr", on: bullmq({ connection: "redis://127.0.0.1:1" }) });
        console.log(ran, /npm install (ioredis|bullmq)/.test(await missing.catch((error) => error.message)));
      };
      run();`;
    writeFileSync(
      join(folder, "chunks.mjs"),
      text('import { bullmq, chunked, local } from "strided/chunked";'),
    );
    writeFileSync(
      join(folder, "chunks.cjs"),
      text('const { bullmq, chunked, local } = require("strided/chunked");'),
    );
    for (const name of ["chunks.mjs", "chunks.cjs"])
      expect(run(process.execPath, [name], folder)).toBe("8 true\n");
  });

  test("by plain JavaScript", () => {
    const source = `
      import { arange, memory, scope, zip } from "strided";
      const grid = arange(1, 7).reshape(2, 3);
      const sum = scope(() => zip([grid, grid.slice(0)], (a, b) => a * b).sum({ axis: 1 }));
      console.log(sum.toArray().join(), memory().tensors);
      console.log(String(grid.T));
    `;
    writeFileSync(join(folder, "plain.js"), source);
    expect(run(process.execPath, ["plain.js"], folder)).toMatchInlineSnapshot(`
      "14,32 2
      Tensor f32 [3, 2]  strides [1, 3]
      [[1, 4],
       [2, 5],
       [3, 6]]
      "
    `);
  });

  test("by CommonJS, with require and with import(), which are one", () => {
    const source = `
      const strided = require("strided");
      import("strided").then((imported) => {
        const both = Object.keys(strided).filter((name) => strided[name] === imported[name]);
        console.log(both.length === Object.keys(imported).length, both.length > 200);
        console.log(strided.add(imported.tensor([1, 2]), strided.tensor([3, 4])).toArray());
      });`;
    writeFileSync(join(folder, "plain.cjs"), source);
    expect(run(process.execPath, ["plain.cjs"], folder)).toBe("true true\n[ 4, 6 ]\n");
  });
});

describe("an uncaught error", () => {
  const uncaught = (name: string, source: string, ...flags: string[]): string => {
    writeFileSync(join(folder, name), source);
    const { status, stderr } = spawnSync(process.execPath, [...flags, name], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(status).toBe(1);
    return stderr.trimEnd();
  };
  const caret = `TensorError: kernel: the function reads the outer variable "limit".
  (x) => Math.min(x, limit)
                     ^^^^^
  Pass it: kernel(fn, { limit }).
    at compileStrict (`;
  const programs: readonly (readonly [string, string])[] = [
    [
      "uncaught.mjs",
      'import { kernel } from "strided";\n\nconst limit = 6;\nkernel((x) => Math.min(x, limit));\n',
    ],
    [
      "uncaught.cjs",
      'import("strided").then(({ kernel }) => {\n  const limit = 6;\n  kernel((x) => Math.min(x, limit));\n});\n',
    ],
  ];

  test.each(programs)(
    "of a kernel in %s fits on a screen: the line, the caret, and our files",
    (name, source) => {
      const printed = uncaught(name, source);
      const lines = printed.split("\n");
      expect(lines.length).toBeLessThanOrEqual(20);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200);
      expect(printed).toContain(caret);
      expect(lines[1]).toContain('throw new TensorError("kernel"');
      expect(printed).toMatch(/at compileStrict \(.*strided.dist.node.[\w-]+\.cjs:\d+:\d+\)\n +at kernel \(/);
      expect(printed).toMatch(new RegExp(`at .*${name}:\\d+:\\d+`));
    },
  );

  test("names the files of src with --enable-source-maps, by their lines", () => {
    const printed = uncaught(...(programs[0] as [string, string]), "--enable-source-maps");
    expect(printed).toContain(caret);
    const [, file, line] =
      /at compileStrict \(.*strided.(src.ops.function\.ts):(\d+):\d+\)/.exec(printed) ?? [];
    const text = readFileSync(join(root, file), "utf8").split("\n")[Number(line) - 1];
    expect(text).toContain('throw new TensorError("kernel"');
    expect(printed).toMatch(/at kernel \(.*strided.src.kernel\.ts:\d+:\d+\)/);
  });

  test("of a shape names the operation's own functions", () => {
    const source =
      'import { arange } from "strided";\narange(6).reshape(2, 3).matmul(arange(20).reshape(4, 5));\n';
    const printed = uncaught("shape.mjs", source);
    expect(printed.split("\n").length).toBeLessThanOrEqual(20);
    expect(printed).toContain("TensorError: matmul: inner sizes differ: a is [2, 3], b is [4, 5].");
    expect(printed).toMatch(/at Tensor\.matmul \(/);
  });
});
