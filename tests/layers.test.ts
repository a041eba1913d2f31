/**
 * The house rules, read off the source: each layer imports only itself and those before it, one file knows the
 * parser, nothing makes code from text, and no import leads back to where it came from.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** From the ground up; a name is a folder of src or a file in it. */
const layers = [
  "errors",
  "dtype",
  "defaults",
  "view",
  "memory",
  "ir",
  "frontend",
  "optimize",
  "wasm",
  "run",
  "routines",
  "engine",
  "ops",
  "format",
  "contents",
  "tensor",
  "kernel",
  "njit",
  "api",
  "library",
  "explain",
  "fuse",
  "io",
  "interop",
  "plot",
  "quantised",
  "grad",
  "nn",
  "chunked",
  "index",
  "methods",
  "turbo",
  "cli",
];

const src = join(dirname(fileURLToPath(import.meta.url)), "..", "src");
const files = (readdirSync(src, { recursive: true }) as string[])
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /\.[jt]s$/.test(path) && !/\.test\.ts$|\/testing\.ts$/.test(path))
  .sort();
const text = new Map(files.map((file) => [file, readFileSync(join(src, file), "utf8")]));

/** `from "x"`, `import "x"`, `import("x")` and workers made of `new URL("x", …)`. */
const importPattern = /(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)"([\w@./:-]+)"/g;
const importsOf = (file: string): string[] => [...codeOf(file).matchAll(importPattern)].map((m) => m[1]);
const resolve = (file: string, specifier: string) => posix.join(posix.dirname(file), specifier);
const relativeImports = (file: string): string[] =>
  importsOf(file)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => resolve(file, specifier));
const layerOf = (file: string) => file.split("/")[0].replace(/\.[jt]s$/, "");
/** Without comments, so that one may speak of what the code must not do. */
const codeOf = (file: string) => text.get(file)!.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`])\/\/.*$/gm, "");

describe("the layers of src", () => {
  it("every file belongs to a layer", () => {
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter((file) => !layers.includes(layerOf(file)))).toEqual([]);
  });

  it("every relative import names a file that exists", () => {
    const missing = files.flatMap((file) =>
      relativeImports(file)
        .filter((to) => !text.has(to))
        .map((to) => `${file} imports ${to}`),
    );
    expect(missing).toEqual([]);
  });

  it("a file imports only from its own layer and from those before it", () => {
    const upward = files.flatMap((file) =>
      relativeImports(file)
        .filter((to) => layers.indexOf(layerOf(to)) > layers.indexOf(layerOf(file)))
        .map((to) => `${file} imports ${to}`),
    );
    expect(upward).toEqual([]);
  });

  it("no chain of imports leads back to where it began", () => {
    const done = new Set<string>();
    const findCycle = (file: string, path: readonly string[]): readonly string[] | null => {
      if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
      if (done.has(file)) return null;
      for (const to of relativeImports(file)) {
        const cycle = findCycle(to, [...path, file]);
        if (cycle !== null) return cycle;
      }
      done.add(file);
      return null;
    };
    for (const file of files) expect(findCycle(file, []), "an import cycle").toBeNull();
  });

  it("packages: acorn in frontend/parse.ts (and its tree's types), Node's own behind node: in run, io, cli and what runs chunks", () => {
    const packages = files.flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !specifier.startsWith("."))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    const allowed =
      /^(frontend\/parse\.ts imports acorn|frontend\/\w+\.ts imports estree|(run|io|cli|chunked\/engines|chunked\/status)\/.* imports node:.*)$/;
    expect(packages.filter((line) => !allowed.test(line))).toEqual([]);
    expect(packages).toContain("frontend/parse.ts imports acorn");
  });

  it("addresses: in memory, run and routines, and where others run code of their own", () => {
    const asks = files.filter((file) =>
      /\bstorage\.address\b|\bstorage: \{[^}]*\baddress\b|\baddressOf\b.*run\/kernel\.ts"/.test(codeOf(file)),
    );
    expect(asks.filter((file) => !/^(memory|run|routines)\//.test(file))).toEqual([
      // What runs a whole function.
      "njit/bind.ts",
      // The tasks of its own routines.
      "quantised/move.ts",
      "quantised/product.ts",
      "quantised/quantised.ts",
    ]);
  });

  it("whoever listens is told in few places", () => {
    const told = files.flatMap((file) => codeOf(file).match(/\blistener\??\.?\(\{/g) ?? []);
    expect(told.length).toBeLessThanOrEqual(12);
    expect(told.length).toBeGreaterThan(2);
  });

  it("no code is made from text: neither eval nor new Function", () => {
    const offenders = files.filter((file) =>
      /(?<![.\w])eval\s*\(|\bnew\s+Function\b|(?<![.\w])Function\s*\(/.test(codeOf(file)),
    );
    expect(offenders).toEqual([]);
  });

  it("only index.ts re-exports from other layers: it is the one barrel", () => {
    const barrels = files.filter(
      (file) =>
        file !== "index.ts" &&
        [...codeOf(file).matchAll(/^export\s[^;]*?\sfrom\s+"([^"]+)"/gm)].some(
          ([, to]) => layerOf(resolve(file, to)) !== layerOf(file),
        ),
    );
    expect(barrels).toEqual([]);
  });

  it("importing the library makes nothing: no top-level call allocates, reads files or starts workers", async () => {
    const { Heap } = await import("../src/memory/heap.ts");
    const before = WebAssembly.Memory;
    let made = 0;
    WebAssembly.Memory = class extends before {
      constructor(descriptor: WebAssembly.MemoryDescriptor) {
        super(descriptor);
        made++;
      }
    };
    try {
      await import("../src/index.ts");
      expect(made).toBe(0);
    } finally {
      WebAssembly.Memory = before;
    }
    expect(Heap).toBeTypeOf("function");
  });
});
