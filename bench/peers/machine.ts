/** The machine of the day: what it is, what it reaches at most, and whether something else is running on it. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { benchFolder, cores, newerVersion } from "./contestants.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory: number;
  readonly system: string;
  readonly node: string;
  readonly newerNode: string | null;
}

/** GB/s of copying (read and written bytes together) and reading, GFLOP/s of multiply-adds in f32. */
export interface Limit {
  readonly copy: number;
  readonly read: number;
  readonly multiplyAdd: number | null;
}
export interface Limits {
  readonly how: string;
  readonly one: Limit;
  readonly all: Limit;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores,
    memory: totalmem(),
    system: `${process.platform} ${release().split("-")[0]} ${process.arch}`,
    node: process.version,
    newerNode: newerVersion(),
  };
}

export interface Commit {
  readonly hash: string;
  /** Files differ from the commit. */
  readonly changed: boolean;
}

export function describeCommit(): Commit | null {
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: benchFolder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    return {
      hash: git("rev-parse", "--short=10", "HEAD"),
      changed: git("status", "--porcelain", "../src") !== "",
    };
  } catch {
    return null;
  }
}

/** Measured in C where there is a compiler, otherwise as well as Node can. */
export function measureLimits(): Limits {
  const folder = mkdtempSync(join(tmpdir(), "strided-limits-"));
  try {
    const program = join(folder, "limits");
    const source = `${benchFolder}/peers/limits.c`;
    const flags = ["-O3", "-march=native", "-ffast-math", "-pthread", "-o", program, source];
    if (spawnSync("cc", flags).status === 0) {
      const answer = spawnSync(program, [String(cores)], { encoding: "utf8" });
      if (answer.status === 0) {
        return { how: "in C, -O3 -march=native", ...(JSON.parse(answer.stdout) as Omit<Limits, "how">) };
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const copy = copyInNode();
  const limit = { copy, read: copy, multiplyAdd: null };
  return { how: "by TypedArray.set, one thread: no C compiler here", one: limit, all: limit };
}

function copyInNode(): number {
  const from = new Float32Array(1 << 24).fill(1);
  const to = new Float32Array(1 << 24);
  let best = Infinity;
  for (let round = 0; round < 7; round++) {
    const start = performance.now();
    to.set(from);
    best = Math.min(best, performance.now() - start);
  }
  return (2 * from.byteLength) / best / 1e6;
}

/** How many cores were busy over some time, with everything of our own paused; null where that cannot be told. */
export async function busyCores(ms: number): Promise<number | null> {
  const before = cpuTimes();
  if (before === null) return null;
  await new Promise((resolve) => setTimeout(resolve, ms));
  const after = cpuTimes()!;
  const all = after.all - before.all;
  return all === 0 ? 0 : ((after.busy - before.busy) / all) * cores;
}

function cpuTimes(): { busy: number; all: number } | null {
  try {
    const [line] = readFileSync("/proc/stat", "utf8").split("\n", 1);
    const [user, nice, system, idle, wait, irq, soft, steal] = line.split(/\s+/).slice(1).map(Number);
    const busy = user + nice + system + irq + soft + steal;
    return { busy, all: busy + idle + wait };
  } catch {
    return null;
  }
}
