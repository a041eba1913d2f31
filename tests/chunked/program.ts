/** The command line and the child's program as the build has them, in a folder of this process: they start fast, and find packages. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
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

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<{ code: number | null; out: string; err: string }>;
  readonly err: () => string;
}

/** A program of ours with what it prints; `before` are words in front of it. */
export function startProgram(
  program: string,
  cwd: string,
  args: readonly string[],
  before: readonly string[] = [],
): Running {
  const [first, ...rest] = [...before, process.execPath, program, ...args];
  const child = spawn(first, rest, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (text) => {
    out += text;
  });
  child.stderr.on("data", (text) => {
    err += text;
  });
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, out, err })),
  );
  return { process: child, ended, err: () => err };
}

/** Ids of processes that are there and for which something holds of their parent's id and their command. */
export const processes = (holds: (parent: number, command: string) => boolean): number[] =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, state, parent] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${name}/stat`, "utf8"))!;
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      return state !== "Z" && state !== "X" && holds(Number(parent), command) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });

/** Processes whose parent is this one. */
export const childrenOf = (pid: number): number[] => processes((parent) => parent === pid);
