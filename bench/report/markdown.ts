/** The page of results. Every number, win and loss in it is computed from the run; only the reasons are written by hand. */
import { median } from "../harness.ts";
import type { ContestantResult, WorkloadResult } from "../peers/run.ts";
import type { Group } from "../peers/types.ts";
import { groups } from "../peers/workloads.ts";
import {
  bestMatches,
  draw,
  figureOf,
  label,
  type Match,
  matches,
  outcomeOf,
  type Report,
  representative,
} from "./report.ts";

/** Reasons by "workload contestant", "workload", "group contestant" or "group". */
export type Notes = Readonly<Record<string, string>>;

export function markdown(report: Report, notes: Notes): string {
  const sections = [
    opening(report),
    score(report),
    ...(Object.keys(groups) as Group[]).map((group) => groupSection(report, group)),
    losses(report, notes),
    loopForms(report),
    method(report),
    contestantTable(report),
  ];
  return `${sections.filter((s) => s !== "").join("\n\n")}\n`;
}

function table(rows: readonly (readonly string[])[], left = 1): string {
  const line = (cells: readonly string[]) => `| ${cells.map((c) => c.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = rows[0].map((_, c) => (c < left ? "---" : "---:"));
  return [line(rows[0]), line(rule), ...rows.slice(1).map(line)].join("\n");
}

function opening(report: Report): string {
  const { machine, commit, date } = report;
  const state =
    commit === null
      ? ""
      : `, commit ${commit.hash}${commit.changed ? " with changes that are not committed" : ""}`;
  const nodes = [machine.node, machine.newerNode].filter((v) => v !== null).join(" and ");
  const noise = report.workloads.map((w) => w.busy ?? 0);
  const busiest = Math.max(0, ...noise);
  const quiet =
    busiest > 0.3
      ? `**The machine was not quiet:** just before some workloads up to ${busiest.toFixed(1)} of its cores were busy with something else, so small differences mean nothing.`
      : "Nothing else was running.";
  const size =
    report.size === "full" ? "" : `\n\n**Sizes are reduced (${report.size}): a trial run, not a result.**`;
  return `<!-- Written by npm run bench:peers. Do not edit: reasons for losses go into notes.json. -->

# Benchmarks

strided beside the libraries one would otherwise use, all in one run, taking turns, each in a process of its own.
Everything was verified against ${report.reference} before it was timed. [How it was measured](#how-it-was-measured) and
[who took part](#contestants) are below; the raw figures are in [results.json](results.json).

![Speed relative to a plain loop, by workload and library](chart.svg)

strided ${report.version}${state}. ${date} UTC, ${machine.cpu}, ${machine.cores} cores,
${Math.round(machine.memory / 2 ** 30)} GiB, ${machine.system}, Node ${nodes}. The run took ${Math.round(report.seconds / 60)} minutes. ${quiet}${size}`;
}

/** One row a peer: how often strided is ahead. */
function score(report: Report): string {
  const [all, single] = [matches(report), matches(report, true)];
  const best = bestMatches(report);
  const rows = [["against", "wins", "draws", "losses", "typical ratio", "best", "worst"]];
  for (const c of report.contestants.filter((c) => !c.ours)) {
    const of = (list: readonly Match[]) => list.filter((m) => m.theirs.id === c.id);
    rows.push(...scoreRow(label(c), of(all)));
    if (c.threads === 1) rows.push(...scoreRow(`${label(c)}; strided on 1 thread`, of(single)));
    if (c.runtime === "python")
      rows.push(...scoreRow(`${c.name}; strided turbo on ${best[0]?.ours.runtimeLabel}`, of(best)));
  }
  if (rows.length === 1) return "";
  const ours = representative(report, "own");
  const margin = Math.round((draw - 1) * 100);
  return `## Wins and losses

strided as it comes, on all ${ours?.threads ?? report.machine.cores} threads where nothing else is said, in the runtime the other one runs in (against
Python: on ${ours?.runtimeLabel}). A ratio above 1 means strided is that many times faster, or smaller; within ${margin} %, or
within half of the wider spread (the middle half of a contestant's rounds), is a draw. Each workload counts once; the typical
ratio is the median.${absent(report)}

${table(rows)}`;
}

/** Who would have taken part. */
function absent(report: Report): string {
  const names = report.contestants.filter((c) => c.missing !== undefined).map(label);
  return names.length === 0 ? "" : ` No part took: ${names.join("; ")} (see [contestants](#contestants)).`;
}

function scoreRow(name: string, list: readonly Match[]): string[][] {
  if (list.length === 0) return [];
  const count = (outcome: Match["outcome"]) => String(list.filter((m) => m.outcome === outcome).length);
  const sorted = list.map((m) => m.ratio).sort((a, b) => a - b);
  const ratios = [median(sorted), sorted[sorted.length - 1], sorted[0]].map(times);
  return [[name, count("win"), count("draw"), count("loss"), ...ratios]];
}

const times = (ratio: number) => (ratio >= 100 ? `${ratio.toFixed(0)}×` : `${ratio.toPrecision(2)}×`);

/** Numbers reasons as they come up. */
class Footnotes {
  readonly #numbers = new Map<string, number>();
  mark(reason: string): string {
    if (!this.#numbers.has(reason)) this.#numbers.set(reason, this.#numbers.size + 1);
    return `<sup>${this.#numbers.get(reason)}</sup>`;
  }
  toString(): string {
    return [...this.#numbers].map(([reason, n]) => `<sup>${n}</sup> ${reason}`).join("; ");
  }
}

function groupSection(report: Report, group: Group): string {
  const list = report.workloads.filter((w) => w.group === group);
  if (list.length === 0) return "";
  const footnotes = new Footnotes();
  const taking = report.contestants.filter((c) => c.missing === undefined);
  const rows = [["", ...list.map((w) => w.title)]];
  for (const c of taking) {
    const name = c.ours ? `**${label(c)}**` : label(c);
    rows.push([name, ...list.map((w) => cell(report, w, c, footnotes))]);
  }
  const share = shareRow(report, list);
  if (share !== null) rows.push(share);
  const unit = list.some((w) => w.flops > 0) ? "GFLOP/s, more is better" : "time a call, less is better";
  const notes = `${footnotes}`;
  const { title, about } = groups[group];
  const sizes = list.every((w) => same(w.inputs[0].shape, list[0].inputs[0].shape))
    ? `, ${list[0].inputs[0].shape.join("×")}`
    : "";
  const what = group === "start" || group === "kernels" ? "less is better" : unit;
  return `## ${title}\n\n${about}${group === "kernels" ? "" : sizes}; ${what}. The best of a column is bold.\n\n${table(rows)}${notes === "" ? "" : `\n\n${notes}`}`;
}

const same = (a: readonly number[], b: readonly number[]) => a.join() === b.join();

function cell(report: Report, w: WorkloadResult, c: ContestantResult, footnotes: Footnotes): string {
  const outcome = outcomeOf(w, c.id);
  if (outcome === undefined) return "";
  if ("none" in outcome) {
    const prefix = { missing: "", slow: "", wrong: "wrong result: ", failed: "failed: " }[outcome.none];
    return `–${footnotes.mark(`${prefix}${outcome.why}`)}`;
  }
  const once =
    outcome.rounds === 1 && w.measure === "call" ? footnotes.mark("one call, it is that slow") : "";
  const text = `${quantity(w, outcome.median)}${once}`;
  const least = Math.min(...report.contestants.map((o) => figureOf(w, o.id)?.median ?? Infinity));
  return outcome.median === least ? `**${text}**` : text;
}

/** A figure in the unit of its workload. */
export function quantity(w: WorkloadResult, median: number): string {
  if (w.measure === "memory") return `${Math.round(median / 2 ** 20)} MiB`;
  if (w.flops > 0) return significant(w.flops / median / 1e6);
  if (median >= 1000) return `${significant(median / 1000)} s`;
  if (median >= 1) return `${significant(median)} ms`;
  return median >= 0.001 ? `${significant(median * 1000)} µs` : `${(median * 1e6).toFixed(0)} ns`;
}

const significant = (x: number) => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));

/** Groups whose figures have no limit of the machine beside them. */
const timed: readonly Group[] = ["kernels", "training", "start"];

/** How near strided comes to what the machine can do: copying for memory-bound work, multiply-adds for products. */
function shareRow(report: Report, list: readonly WorkloadResult[]): string[] | null {
  const ours = representative(report, "own");
  const turbo = representative(report, "newer", { turbo: true }) ?? ours;
  const { all } = report.limits;
  const products = list.some((w) => w.flops > 0);
  if (ours === undefined || turbo === undefined || timed.includes(list[0].group)) return null;
  const share = (w: WorkloadResult): string => {
    const median = Math.min(...[ours, turbo].map((c) => figureOf(w, c.id)?.median ?? Infinity));
    if (median === Infinity) return "";
    if (products) return all.multiplyAdd === null ? "" : percent(w.flops / median / 1e6 / all.multiplyAdd);
    return percent(w.bytes / median / 1e6 / all.copy);
  };
  const against = products ? "of the multiply-add peak" : "of memcpy's bandwidth";
  return [`_strided, plain or turbo, ${against}_`, ...list.map(share)];
}

const percent = (x: number) => `${Math.round(x * 100)} %`;

function reason(notes: Notes, m: Match): string {
  const { id, group } = m.workload;
  const { adapter } = m.theirs;
  const keys = [`${id} ${adapter}`, id, `${group} ${adapter}`, group];
  const key = keys.find((k) => notes[k] !== undefined);
  return key === undefined ? "Not looked into yet." : notes[key];
}

/** One item a workload and reason, the largest losses first. */
function losses(report: Report, notes: Notes): string {
  const all = matches(report)
    .filter((m) => m.outcome === "loss")
    .sort((a, b) => a.ratio - b.ratio);
  const none = `Nowhere in this run by more than ${Math.round((draw - 1) * 100)} %.`;
  const best = bestMatches(report);
  const section = (title: string, list: readonly Match[]) => {
    const items = new Map<string, Match[]>();
    for (const m of list) {
      const key = `${m.workload.id} ${reason(notes, m)}`;
      items.set(key, [...(items.get(key) ?? []), m]);
    }
    const lines = [...items.values()].map((group) => lossItem(group, best, reason(notes, group[0])));
    return `### Against ${title}\n\n${lines.length === 0 ? none : lines.join("\n")}`;
  };
  const python = (m: Match) => m.theirs.runtime === "python";
  return `## Where strided loses, and why

The largest losses first; in brackets the other one's figure and strided's speed relative to it.

${section(
  "JavaScript",
  all.filter((m) => !python(m)),
)}

${section("Python", all.filter(python))}

### One thread against one thread

${singleLosses(report)}`;
}

/** Where a library without threads is ahead of strided on one. */
function singleLosses(report: Report): string {
  const both = matches(report);
  const only = matches(report, true).filter(
    (m) =>
      m.outcome === "loss" &&
      m.theirs.threads === 1 &&
      both.find((x) => x.workload === m.workload && x.theirs === m.theirs)?.outcome !== "loss",
  );
  const text = only
    .sort((a, b) => a.ratio - b.ratio)
    .map((m) => `${m.workload.title} (${label(m.theirs)}, ${times(m.ratio)})`);
  return text.length === 0
    ? "Nowhere else."
    : `Without threads strided is also behind at ${text.join(", ")}. Its sums of f32 go on in f64 after four neighbours.`;
}

function lossItem(list: readonly Match[], best: readonly Match[], why: string): string {
  const { workload } = list[0];
  const show = (c: ContestantResult) => quantity(workload, figureOf(workload, c.id)!.median);
  const ours = [...new Map(list.map((m) => [m.ours.id, m.ours])).values()];
  const mine = ours.map((c) => `${show(c)} on ${c.runtimeLabel}`).join(", ");
  const others = list.map((m) => {
    const turbo = best.find((x) => x.workload.id === workload.id && x.theirs.id === m.theirs.id);
    const also =
      turbo === undefined ? "" : `, with turbo on ${turbo.ours.runtimeLabel} ${times(turbo.ratio)}`;
    return `${label(m.theirs)} (${show(m.theirs)}, ${times(m.ratio)}${also})`;
  });
  const name = workload.group === "matmul" ? `matmul ${workload.title}` : workload.title;
  const unit = workload.flops > 0 ? ", GFLOP/s" : "";
  return `- **${name}**${unit}: ${mine}, behind ${others.join("; ")}. ${why}`;
}

/** Which form of each plain loop was timed, in each runtime. */
function loopForms(report: Report): string {
  const choosing = report.contestants.filter((c) => report.workloads.some((w) => formOf(w, c) !== ""));
  if (choosing.length === 0) return "";
  const rows = report.workloads
    .filter((w) => choosing.some((c) => formOf(w, c) !== ""))
    .map((w) => [w.group === "matmul" ? `matmul ${w.title}` : w.title, ...choosing.map((c) => formOf(w, c))]);
  return `## The plain loops

Each loop is the fastest of the forms in \`bench/loops.ts\`, all verified, found by a short trial in the process in which it
was then timed. In brackets: how many forms were tried, and how many times as long the slowest of them took.

${table([["", ...choosing.map(label)], ...rows], 1 + choosing.length)}`;
}

function formOf(w: WorkloadResult, c: ContestantResult): string {
  const { form, tried } = figureOf(w, c.id) ?? {};
  if (form === undefined || tried === undefined) return "";
  const all = Object.values(tried);
  return `${form} (${all.length}, ${times(Math.max(...all) / tried[form])})`;
}

function method(report: Report): string {
  const { settings, limits } = report;
  const peak = (x: number | null) => (x === null ? "not measured" : `${x.toFixed(0)} GFLOP/s`);
  return `## How it was measured

- **The same inputs everywhere**, made from one formula in every process, to the bit. Workloads are a table
  (\`bench/peers/workloads.ts\`); an adapter says how a library's users would write each one.
- **Verified first.** Every element of every contestant's result was compared with ${report.reference}: equal for sums
  of two numbers and copies, within 3e-6 for functions, 4e-4 for products, 5e-3 for sums of thousands (each relative to
  numbers of about 1 or the result). A wrong result is reported as such and not timed.
- **Turns.** Each contestant lives in a process of its own; in up to ${settings.rounds} rounds each gets a turn of at least ${settings.turn} ms, in
  rotating order. Out of its turn a process is stopped by the system, so that idle threads cannot disturb anybody. The
  first ${settings.lead} ms of a turn, or its first call, are not counted. Figures are medians over the rounds; results.json also has spread and least.
- **Existing outputs** are used where a library can (\`out=\`, \`into\`, loops); where it cannot, a call includes making the
  result, and strided's reductions and softmax do so too. Data stays where the library keeps it: only
  onnxruntime-web copies JavaScript arrays in and out at each call, because that is how it is called.
- **Numba** runs the kernels of minitorch (\`tensor_map\`, \`tensor_zip\`, \`tensor_reduce\`, the matrix product), compiled in
  parallel, because strided set out from them: they find every element's position anew, for any layout. A Numba loop
  written for one layout is many times faster than that, and comes near NumPy and torch.
- **Python's libraries** are those of Debian 12, onnxruntime-web and tfjs the WebAssembly builds, which run in Node and in
  browsers alike; their native builds for Node do not take part.
- **Threads**: strided with 1 and with all; the others with as many as they can use in Node, or in Python.
- **Start** is measured in fresh processes from the import to the first sum of 64 elements, without the time that Node or
  Python itself takes to start; **peak memory** is that of a fresh process after five calls, the runtime included.
- **Limits of this machine**, measured ${limits.how}: memcpy ${limits.one.copy.toFixed(1)} GB/s with one thread and ${limits.all.copy.toFixed(1)} GB/s with all (bytes read plus bytes
  written; what the machine gives moves from minute to minute), reading ${limits.one.read.toFixed(1)} and ${limits.all.read.toFixed(1)} GB/s, f32 multiply-adds ${peak(limits.one.multiplyAdd)} and ${peak(limits.all.multiplyAdd)}.

To run it yourself:

\`\`\`sh
npm ci && npm run bench:setup    # installs the contestants, once
npm run bench:peers              # about ${Math.max(1, Math.round(report.seconds / 60))} minutes on this machine; writes this page
\`\`\``;
}

function contestantTable(report: Report): string {
  const rows = [["contestant", "version", "runs on", "set up"]];
  for (const c of report.contestants) {
    const setup = c.missing === undefined ? c.setup : `**takes no part:** ${c.missing}`;
    const version = c.version !== "" ? c.version : c.ours ? report.version : "";
    rows.push([c.ours ? `**${label(c)}**` : label(c), version, c.runtimeLabel, setup]);
  }
  return `## Contestants\n\n${table(rows, 4)}`;
}
