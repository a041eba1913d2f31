/**
 * What TypeScript makes of a program: each exported constant and its type, as a declaration file writes it, which is what
 * an editor shows. The program sees the library as users do, by its name.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

const settings = {
  extends: join(root, "tsconfig.json"),
  compilerOptions: {
    paths: { strided: [join(root, "src/index.ts")], "strided/methods": [join(root, "src/methods.ts")] },
    typeRoots: [join(root, "node_modules/@types")],
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: "/",
    outDir: "out",
    noUnusedLocals: false,
  },
  include: ["program.ts"],
};

/** Compiles a program; `errors` are tsc's lines, without places outside of it. */
export function compile(
  program: string,
  options: Readonly<Record<string, unknown>> = {},
): {
  readonly types: ReadonlyMap<string, string>;
  readonly errors: readonly string[];
  readonly output: string;
} {
  const folder = mkdtempSync(join(tmpdir(), "strided-types-"));
  try {
    writeFileSync(join(folder, "program.ts"), program);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const compilerOptions = { ...settings.compilerOptions, ...options };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...settings, compilerOptions }));
    const tsc = join(root, "node_modules/.bin/tsc");
    // One checker: several count the instantiations of what they share once each, by how files fall to them.
    const { stdout } = spawnSync(tsc, ["-p", folder, "--extendedDiagnostics", "--checkers", "1"], {
      cwd: folder,
      encoding: "utf8",
    });
    const errors = stdout.split("\n").filter((line) => /error TS\d+/.test(line));
    const types = new Map<string, string>();
    if (errors.length === 0) {
      const text = readFileSync(join(folder, "out", folder, "program.d.ts"), "utf8");
      for (const [, name, type] of text.matchAll(/^export declare const (\w+): ([\s\S]*?);$/gm)) {
        types.set(name, type.replace(/\s+/g, " ").replace(/\bs\./g, ""));
      }
    }
    return { types, errors: errors.map((line) => line.replace(/^.*program\.ts/, "")), output: stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The dtypes that a type such as Tensor<"f32" | "f64"> allows; null: any. */
export function dtypesIn(type: string): readonly string[] | null {
  const [, inside] = /^Tensor<(.*)>$/.exec(type.replace(/[()]/g, "")) ?? [];
  if (inside === undefined) throw new Error(`no tensor: ${type}`);
  if (inside === "DType") return null;
  if (inside === "FloatDType") return ["f16", "bf16", "f32", "f64"];
  if (!/^"\w+"( \| "\w+")*$/.test(inside)) throw new Error(`no dtypes: ${type}`);
  return inside.split(" | ").map((name) => JSON.parse(name));
}
