/**
 * The parts of npm run bench that set strided beside plain loops, on one thread of one process: elementwise work, and
 * copies. ours.ts bundles this file with the built package and runs it in plain Node: loaders such as tsx detach
 * buffers, after which V8 looks at every access of a typed array whether its buffer is still there.
 */
import { duration, table, timeAll, timesAsFast } from "./harness.ts";
import { castWorkload, elementwiseWorkloads, transposeWorkload, type Workload } from "./workloads.ts";

const N = Number(process.env.BENCH_N ?? 4096);

function mark(ratio: number, target: number | null): string {
  if (target === null) return "";
  return ratio >= target ? `≥ ${target}x ✓` : `≥ ${target}x ✗`;
}

function compare(workloads: readonly Workload[]): void {
  const rows = [["", "strided", "GB/s", "loop", "ratio", "target", "the loop's fastest form here"]];
  for (const w of workloads) {
    const { ours, loop } = w.make();
    const chosen = loop();
    const [we, they] = timeAll([ours, chosen], { rounds: 5, turn: 2 });
    const ratio = timesAsFast(we, they);
    rows.push([
      w.name,
      duration(we.median),
      (w.bytes / we.median / 1e6).toFixed(1),
      duration(they.median),
      `${ratio.toFixed(1)}x`,
      mark(ratio, w.target),
      `${chosen.form}, of ${Object.keys(chosen.tried).length}`,
    ]);
  }
  console.log(table(rows));
}

const parts: Readonly<Record<string, () => Workload[]>> = {
  elementwise: () => elementwiseWorkloads(N),
  copies: () => [transposeWorkload(2 * N), castWorkload(N)],
};

compare(parts[process.env.BENCH_PART ?? "elementwise"]());
process.exit(0);
