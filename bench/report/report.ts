/** What a run comes to, and the questions that tables and charts ask of it. */
import type { Commit, Limits, Machine } from "../peers/machine.ts";
import {
  type ContestantResult,
  type Figure,
  hasFigure,
  type Outcome,
  type RunOptions,
  type RunResult,
  type WorkloadResult,
} from "../peers/run.ts";

export interface Report extends RunResult {
  readonly date: string;
  readonly commit: Commit | null;
  readonly version: string;
  readonly machine: Machine;
  readonly limits: Limits;
  readonly busy: number | null;
  readonly size: string;
  readonly settings: RunOptions;
  readonly seconds: number;
}

/** Five digits are enough, and a figure a line. */
export function compactJson(report: Report): string {
  const short = (_key: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
  const text = JSON.stringify(report, short, 2);
  return `${text.replace(/\{\n\s+([^{}[\]]*?)\n\s*\}/g, (_, inner: string) => `{ ${inner.replace(/\n\s+/g, " ")} }`)}\n`;
}

/** Figures closer than this are a draw, and so are figures that differ by less than half of the wider spread. */
export const draw = 1.05;

export interface Match {
  readonly workload: WorkloadResult;
  readonly ours: ContestantResult;
  readonly theirs: ContestantResult;
  /** How many times faster (or smaller) ours is. */
  readonly ratio: number;
  readonly outcome: "win" | "draw" | "loss";
}

/** strided in a runtime: as it comes or with turbo, on all threads or on one. */
export function representative(
  report: Report,
  runtime: "own" | "newer",
  { turbo = false, single = false } = {},
): ContestantResult | undefined {
  const all = report.contestants.filter((c) => c.ours && c.runtime === runtime && c.turbo === turbo);
  return all.sort((a, b) => (single ? a.threads - b.threads : b.threads - a.threads))[0];
}

export function outcomeOf(workload: WorkloadResult, id: string | undefined): Outcome | undefined {
  return id === undefined ? undefined : workload.results[id];
}

export function figureOf(workload: WorkloadResult, id: string | undefined): Figure | undefined {
  const outcome = outcomeOf(workload, id);
  return hasFigure(outcome) ? outcome : undefined;
}

function match(
  workload: WorkloadResult,
  ours: ContestantResult | undefined,
  theirs: ContestantResult,
): Match | null {
  const [a, b] = [figureOf(workload, ours?.id), figureOf(workload, theirs.id)];
  if (ours === undefined || a === undefined || b === undefined) return null;
  const ratio = b.median / a.median;
  const noise = Math.max(a.spread / a.median, b.spread / b.median) / 2;
  const telling = Math.abs(Math.log(ratio)) >= Math.max(Math.log(draw), noise);
  const outcome = !telling ? "draw" : ratio > 1 ? "win" : "loss";
  return { workload, ours, theirs, ratio, outcome };
}

/** JavaScript peers meet strided as it comes in the same runtime; Python's meet it on the machine's own Node. */
export function matches(report: Report, single = false): Match[] {
  const ours = (c: ContestantResult) =>
    representative(report, c.runtime === "newer" ? "newer" : "own", { single });
  return report.workloads.flatMap((workload) =>
    report.contestants
      .filter((c) => !c.ours)
      .map((c) => match(workload, ours(c), c))
      .filter((m) => m !== null),
  );
}

/** Python's peers against strided with turbo on the newer Node: the best that is on offer. */
export function bestMatches(report: Report): Match[] {
  const best = representative(report, "newer", { turbo: true });
  return report.workloads.flatMap((workload) =>
    report.contestants
      .filter((c) => c.runtime === "python")
      .map((c) => match(workload, best, c))
      .filter((m) => m !== null),
  );
}

export const label = (c: ContestantResult): string =>
  c.ours
    ? `${c.name}, ${c.threads === 1 ? "1 thread" : `${c.threads} threads`}, ${c.runtimeLabel}`
    : c.runtime === "python"
      ? c.name
      : `${c.name}, ${c.runtimeLabel}`;
