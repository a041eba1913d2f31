/**
 * npm run bench: strided against plain typed-array loops in the same process, against the machine's limits, and against
 * NumPy and torch where they are installed. Each part runs in a process of its own; one part, with all of its rows:
 * npm run bench -- fft.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { engine } from "../src/engine.ts";
import { benchConvolution } from "./convolution.ts";
import { benchFft } from "./fft.ts";
import { duration, table, timeAll, timesAsFast } from "./harness.ts";
import { benchIndexing } from "./indexing.ts";
import { againstC, folds, layouts, matmuls, threads } from "./limits.ts";
import { linalg } from "./linalg.ts";
import { sortSection } from "./sort.ts";
import { castWorkload, elementwiseWorkloads, transposeWorkload, type Workload } from "./workloads.ts";

const N = Number(process.env.BENCH_N ?? 4096);

function mark(ratio: number, target: number | null): string {
  if (target === null) return "";
  return ratio >= target ? `≥ ${target}x ✓` : `≥ ${target}x ✗`;
}

function compare(workloads: readonly Workload[]): void {
  const rows = [["", "strided", "GB/s", "loop", "ratio", "target"]];
  for (const w of workloads) {
    const [ours, loop] = timeAll(w.make(), { rounds: 5, turn: 2 });
    const ratio = timesAsFast(ours, loop);
    rows.push([
      w.name,
      duration(ours.median),
      (w.bytes / ours.median / 1e6).toFixed(1),
      duration(loop.median),
      `${ratio.toFixed(1)}x`,
      mark(ratio, w.target),
    ]);
  }
  console.log(table(rows));
}

/** Sizes, and what of OpenBLAS's rate a runtime must reach there. */
const matmulTargets: Record<string, Record<number, number | null>> = {
  plain: { 64: null, 256: null, 1024: 0.35 },
  turbo: { 64: null, 256: null, 1024: 0.48 },
  "newer turbo": { 64: 1, 128: 1, 256: 0.95, 512: 0.95, 1024: 0.95, 2048: 0.95 },
};

const parts: Record<string, (how: string) => void | Promise<void>> = {
  elementwise: () => compare(elementwiseWorkloads(N)),
  copies: () => compare([transposeWorkload(2 * N), castWorkload(N)]),
  limits: againstC,
  threads: () => threads(elementwiseWorkloads(N)),
  matmul: (how) => matmuls(matmulTargets[how] ?? {}),
  folds,
  layouts,
  indexing: () => benchIndexing(),
  sort: sortSection,
  linalg: () => linalg(),
  convolution: benchConvolution,
  fft: benchFft,
};

/** A newer Node for turbo: what bench:setup installs, or the one that STRIDED_NODE names. */
function newerNode(): string | null {
  const installed = fileURLToPath(new URL("./node_modules/node/bin/node", import.meta.url));
  return [process.env.STRIDED_NODE, installed].find((path) => path !== undefined && existsSync(path)) ?? null;
}

const self = fileURLToPath(import.meta.url);

/** A part in a process of its own. */
function run(name: string, threads: number, how = "plain", node = process.execPath): void {
  const version = node === process.execPath ? process.version : spawnSync(node, ["--version"]).stdout;
  const count = threads === 1 ? "one thread" : `${threads} threads`;
  const turbo = how.includes("turbo") ? ", turbo" : "";
  console.log(`\n${name}, ${count}, Node ${String(version).trim()}${turbo}`);
  const env = { ...process.env, STRIDED_THREADS: String(threads), BENCH_SHORT: "1" };
  spawnSync(node, [...process.execArgv, self, name, how], { env, stdio: "inherit" });
}

function runAll(): void {
  const cores = availableParallelism();
  console.log(`${cpus()[0]?.model ?? "unknown CPU"}, ${cores} cores, Node ${process.version}`);
  if (loadavg()[0] > 0.7)
    console.log(`warning: the machine is busy (load ${loadavg()[0].toFixed(1)}); ratios will be noisy`);
  for (const name of ["elementwise", "copies", "limits"]) run(name, 1);
  console.log("\nlatency, one thread, the built package");
  spawnSync(process.execPath, [fileURLToPath(new URL("./latency.mjs", import.meta.url))], {
    env: { ...process.env, STRIDED_THREADS: "1" },
    stdio: "inherit",
  });
  for (const name of ["threads", "folds", "layouts", "indexing", "sort", "linalg", "convolution", "fft"])
    run(name, cores);
  run("matmul", cores);
  run("matmul", cores, "turbo");
  const newer = newerNode();
  if (newer !== null) run("matmul", cores, "newer turbo", newer);
  else
    console.log("\nno newer Node here (npm run bench:setup, or STRIDED_NODE): matmul with turbo is left out");
  console.log(`\none part, with all of its rows: npm run bench -- ${Object.keys(parts).join(" | ")}`);
}

const [, , part, how = "plain"] = process.argv;
if (part === undefined) runAll();
else if (parts[part] === undefined) {
  console.error(`there is no part "${part}": ${Object.keys(parts).join(", ")}`);
  process.exitCode = 1;
} else {
  if (how.includes("turbo")) await import("../src/turbo.ts");
  engine().pool.waitUntilReady();
  await parts[part](how);
  process.exit(0);
}
