/**
 * npm run bench:peers: strided beside its alternatives. Everything is verified before it is timed, all take turns in one
 * run, and the results, tables and chart are written to docs/benchmarks/.
 *
 *     npm run bench:setup                          once: installs the contestants
 *     npm run bench:peers                          all of it, about twenty minutes on a quiet machine
 *     npm run bench:peers -- --only add,exp        some workloads, by id or group
 *     npm run bench:peers -- --contestants strided,numpy
 *     npm run bench:peers -- --quick               small sizes, few rounds: does everything work?
 *     npm run bench:peers -- --out folder          write somewhere else
 *     npm run bench:peers -- --rewrite             the page and the chart anew from results.json, without running
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildAll, root } from "./peers/build.ts";
import { type Contestant, contestants } from "./peers/contestants.ts";
import { busyCores, describeCommit, describeMachine, measureLimits } from "./peers/machine.ts";
import { orUsage, pick } from "./peers/options.ts";
import { progressLine } from "./peers/progress.ts";
import { type RunOptions, type RunResult, runAll } from "./peers/run.ts";
import type { Workload } from "./peers/types.ts";
import { type Size, workloads } from "./peers/workloads.ts";
import { type HistoryRun, historyRun, historyText, withRun } from "./report/history.ts";
import { markdown } from "./report/markdown.ts";
import { compactJson, type Report } from "./report/report.ts";
import { chart } from "./report/svg.ts";

const settings: Record<Size, RunOptions> = {
  full: { rounds: 7, turn: 8, lead: 40, budget: 250, starts: 3, slowest: 3000, patient: true },
  quick: { rounds: 3, turn: 2, lead: 2, budget: 60, starts: 1, slowest: 1000, patient: false },
  tiny: { rounds: 2, turn: 0.5, lead: 0.5, budget: 10, starts: 1, slowest: 1000, patient: false },
};

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      contestants: { type: "string" },
      quick: { type: "boolean", default: false },
      tiny: { type: "boolean", default: false },
      out: { type: "string" },
      rewrite: { type: "boolean", default: false },
    },
  });
  if (values.rewrite) {
    const folder = outFolder(values.out, false);
    if (!existsSync(join(folder, "results.json")))
      throw new Error(`there is no results.json in ${folder}: npm run bench:peers writes one`);
    write(folder, JSON.parse(readFileSync(join(folder, "results.json"), "utf8")) as Report);
    return;
  }
  const size: Size = values.tiny ? "tiny" : values.quick ? "quick" : "full";
  const chosen = pick<Workload>(workloads(size), values.only, (w) => [w.id, w.group]);
  const taking = pick<Contestant>(contestants, values.contestants, (c) => [c.id, c.adapter, c.runtime]);
  const partial = size !== "full" || values.only !== undefined || values.contestants !== undefined;
  const folder = outFolder(values.out, partial);

  console.log("building");
  // What is built now is what runs, whatever happens to the files meanwhile.
  const commit = describeCommit();
  const builds = await buildAll();
  const busy = await busyCores(1000);
  if (busy !== null && busy > 0.1) {
    console.log(`warning: ${busy.toFixed(1)} cores are busy with something else; figures will be noisy`);
  }
  console.log("measuring the machine's limits");
  const limits = measureLimits();
  const line = progressLine();
  const started = performance.now();
  const reportOf = (result: RunResult): Report => ({
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    commit,
    version: version(),
    machine: describeMachine(),
    limits,
    busy,
    size,
    settings: settings[size],
    seconds: Math.round((performance.now() - started) / 1000),
    ...result,
  });
  const unfinished = `${folder}/unfinished.json`;
  mkdirSync(folder, { recursive: true });
  const save = (soFar: RunResult) => writeFileSync(unfinished, compactJson(reportOf(soFar)));
  const report = reportOf(await runAll(taking, chosen, builds, settings[size], line.show, save));
  line.end();
  rmSync(unfinished, { force: true });
  write(folder, report);
  remember(folder, report);
  summary(report, folder);
}

/** A run that is published stays in the history, also when the next one takes its place. */
function remember(folder: string, report: Report): void {
  const file = join(folder, "history.json");
  if (!existsSync(file)) return;
  const history = JSON.parse(readFileSync(file, "utf8")) as HistoryRun[];
  writeFileSync(file, historyText(withRun(history, historyRun(report))));
}

/** Only a whole run replaces what is published. */
function outFolder(out: string | undefined, partial: boolean): string {
  const published = join(root, "docs/benchmarks");
  if (out !== undefined) return resolve(out);
  return partial ? join(root, "bench/node_modules/.cache/results") : published;
}

const version = () =>
  (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;

function write(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "results.json");
  writeFileSync(file, compactJson(report));
  // As the rest of the repository is formatted, where the formatter is installed.
  spawnSync(process.execPath, [
    join(root, "node_modules/@biomejs/biome/bin/biome"),
    "format",
    "--write",
    file,
  ]);
  const written = JSON.parse(readFileSync(file, "utf8")) as Report;
  writeFileSync(join(folder, "README.md"), markdown(written, readNotes()));
  writeFileSync(join(folder, "chart.svg"), chart(written));
}

const readNotes = () =>
  JSON.parse(readFileSync(join(root, "docs/benchmarks/notes.json"), "utf8")) as Record<string, string>;

/** What did not come to a figure, and which loops were timed, on the terminal too. */
function summary(report: Report, folder: string): void {
  for (const c of report.contestants) {
    if (c.missing !== undefined) console.log(`takes no part: ${c.name} (${c.id}): ${c.missing}`);
  }
  for (const w of report.workloads) {
    for (const [id, outcome] of Object.entries(w.results)) {
      if ("none" in outcome) {
        if (outcome.none !== "missing") console.log(`${w.id}, ${id}: ${outcome.none}: ${outcome.why}`);
      } else if (outcome.form !== undefined) console.log(`${w.id}, ${id}: fastest form: ${outcome.form}`);
    }
  }
  console.log(`${report.seconds} s; written to ${folder}`);
}

await orUsage(main);
