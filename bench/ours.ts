/**
 * npm run bench: strided against plain typed-array loops in the same process, and against its own limits. Each part runs
 * in a process of its own, with one thread and then with all. Takes under two minutes on a quiet machine.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { engine } from "../src/engine.ts";
import { kernel, zeros } from "../src/index.ts";
import { duration, table, timeAll } from "./harness.ts";
import { castWorkload, elementwiseWorkloads, transposeWorkload, type Workload } from "./workloads.ts";

const N = Number(process.env.BENCH_N ?? 4096);

function mark(ratio: number, target: number | null): string {
  if (target === null) return "";
  return ratio >= target ? `≥ ${target}x ✓` : `≥ ${target}x ✗`;
}

function compare(workloads: readonly Workload[]): void {
  const rows = [["", "strided", "GB/s", "loop", "ratio", "target"]];
  for (const w of workloads) {
    const [ours, loop] = timeAll(w.make(), { rounds: 9, turn: 2 });
    const ratio = loop.median / ours.median;
    rows.push([
      w.name,
      duration(ours.median),
      (w.bytes / ours.median / 1e6).toFixed(1),
      duration(loop.median),
      `${ratio.toFixed(1)}x`,
      engine().pool.threads === 1 ? mark(ratio, w.target) : "",
    ]);
  }
  console.log(table(rows));
}

/** Add into an existing output beside the same loop in C, in cache and out of it, taking turns. */
function againstC(): void {
  const folder = mkdtempSync(join(tmpdir(), "strided-bench-"));
  const program = join(folder, "add");
  const source = fileURLToPath(new URL("./native/add.c", import.meta.url));
  const built = spawnSync("cc", ["-O3", "-march=native", "-o", program, source]);
  if (built.status !== 0) {
    console.log("no C compiler here: the comparison with C is left out");
    return;
  }
  const rows = [["a + b into out", "strided GB/s", "C GB/s", "ratio", "target"]];
  const add = kernel((a: number, b: number) => a + b);
  for (const [label, n] of [
    ["64K floats (cache)", 1 << 16],
    ["16M floats (memory)", 1 << 24],
  ] as const) {
    const [a, b, out] = [zeros(n), zeros(n), zeros(n)];
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      theirs.push(Number(execFileSync(program, [String(n), "9"], { encoding: "utf8" })));
      ours.push(timeAll([{ name: "strided", run: () => add.into(out, a, b) }], { rounds: 9 })[0].median);
    }
    const median = (x: number[]) => x.sort((p, q) => p - q)[x.length >> 1];
    const [s, c] = [median(ours), median(theirs)];
    const rate = (ms: number) => ((12 * n) / ms / 1e6).toFixed(1);
    rows.push([label, rate(s), rate(c), (c / s).toFixed(2), c / s >= 0.9 ? "≥ 0.90 ✓" : "≥ 0.90 ✗"]);
  }
  console.log(table(rows));
  rmSync(folder, { recursive: true });
}

/** What a call costs when the work is small, and what a new kernel costs. */
function latency(): void {
  const add = kernel((a: number, b: number) => a + b);
  const [a, b, out] = [zeros([64, 64]), zeros([64, 64]), zeros([64, 64])];
  const [into, fresh] = timeAll(
    [
      { name: "into", run: () => add.into(out, a, b) },
      { name: "new", run: () => add(a, b).dispose() },
    ],
    { rounds: 31 },
  );
  const small = zeros(64);
  const first: number[] = [];
  for (let i = 0; i < 60; i++) {
    // A text that was never seen: parse, optimise, emit, compile, run.
    const fn = new Function("x", `return Math.max(x * ${i}.5 + 1, x - ${i}) / 3`) as (x: number) => number;
    const start = performance.now();
    small.map(fn).dispose();
    if (i >= 10) first.push(performance.now() - start);
  }
  first.sort((p, q) => p - q);
  const rows = [
    ["", "median", "target"],
    ["64x64 add into an output", duration(into.median), into.median <= 0.001 ? "≤ 1 µs ✓" : "≤ 1 µs ✗"],
    ["64x64 add, allocating", duration(fresh.median), fresh.median <= 0.002 ? "≤ 2 µs ✓" : "≤ 2 µs ✗"],
    ["new kernel to first result", duration(first[25]), first[25] <= 1 ? "≤ 1 ms ✓" : "≤ 1 ms ✗"],
  ];
  console.log(table(rows));
}

const parts: Record<string, () => void> = {
  elementwise: () => compare(elementwiseWorkloads(N)),
  copies: () => compare([transposeWorkload(2 * N), castWorkload(N)]),
  limits: againstC,
  latency,
};

const part = process.argv[2];
if (part !== undefined && parts[part] !== undefined) {
  engine().pool.waitUntilReady();
  parts[part]();
} else {
  console.log(
    `${cpus()[0]?.model ?? "unknown CPU"}, ${availableParallelism()} cores, Node ${process.version}`,
  );
  if (loadavg()[0] > 0.7)
    console.log(`warning: the machine is busy (load ${loadavg()[0].toFixed(1)}); ratios will be noisy`);
  const self = fileURLToPath(import.meta.url);
  const run = (name: string, threads: number) => {
    console.log(`\n${name}, ${threads === 1 ? "one thread" : `${threads} threads`}`);
    const env = { ...process.env, STRIDED_THREADS: String(threads) };
    spawnSync(process.execPath, [...process.execArgv, self, name], { env, stdio: "inherit" });
  };
  for (const threads of new Set([1, availableParallelism()])) {
    run("elementwise", threads);
    run("copies", threads);
    if (threads === 1) run("limits", 1);
    if (threads === 1) run("latency", 1);
  }
}
