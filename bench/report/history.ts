/** Published runs by commit, a line each: what the site draws. docs/benchmarks/history.json holds them, oldest first. */
import { figureOf, type Report, representative } from "./report.ts";

/** A published run. Speeds are a plain loop's time divided by strided's on one thread, in the oldest Node of the run. */
export interface HistoryRun {
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  readonly speeds: Readonly<Record<string, number>>;
}

/** What has no plain loop beside it (imports, memory) is left out. */
export function historyRun(report: Report): HistoryRun {
  const ours = representative(report, "own", { single: true })?.id;
  const loops = report.contestants.find((c) => c.adapter === "loops" && c.runtime === "own")?.id;
  const speeds: Record<string, number> = {};
  for (const workload of report.workloads) {
    const [mine, plain] = [figureOf(workload, ours), figureOf(workload, loops)];
    if (workload.measure === "call" && mine !== undefined && plain !== undefined)
      speeds[workload.id] = Number((plain.median / mine.median).toPrecision(3));
  }
  const { hash, changed } = report.commit ?? { hash: "unknown", changed: false };
  const { cpu, cores } = report.machine;
  return {
    date: report.date,
    commit: `${hash}${changed ? "+" : ""}`,
    machine: `${cpu}, ${cores} cores`,
    speeds,
  };
}

/** With this run at its end; a run of the same minute and commit takes the place of the one before. */
export function withRun(history: readonly HistoryRun[], run: HistoryRun): HistoryRun[] {
  const others = history.filter((r) => r.date !== run.date || r.commit !== run.commit);
  return [...others, run].sort((a, b) => (a.date < b.date ? -1 : 1));
}

/** A run a line, so that a difference between two commits shows what was added. */
export const historyText = (history: readonly HistoryRun[]): string =>
  `[\n${history.map((run) => `  ${JSON.stringify(run)}`).join(",\n")}\n]\n`;
