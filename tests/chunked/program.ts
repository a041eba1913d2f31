/** The command line and the child's program as the build has them, in a folder of this process: they start fast, and find packages. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Built {
  readonly folder: string;
  readonly cli: string;
  readonly child: string;
  /** Whatever else was asked for, by its name. */
  readonly file: (name: string) => string;
  remove(): void;
}

/** Other programs by name: their paths from here. */
export async function buildPrograms(others: Readonly<Record<string, string>> = {}): Promise<Built> {
  // Below the packages, which the command line imports by name.
  const parent = join(root, "node_modules/.cache");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "strided-chunked-"));
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  await build({
    entryPoints: [
      { in: join(root, "src/cli/main.ts"), out: "cli" },
      { in: join(root, "src/chunked/engines/child.ts"), out: "chunked-child" },
      ...Object.entries(others).map(([out, path]) => ({ in: here(path), out })),
    ],
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    packages: "external",
    define: { "import.meta.url": "undefined", STRIDED_VERSION: '"test"' },
    logLevel: "error",
  });
  const file = (name: string) => join(folder, `${name}.cjs`);
  return {
    folder,
    cli: file("cli"),
    child: file("chunked-child"),
    file,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
