/**
 * npm run bench:compare A B: two commits of strided side by side, taking turns in one run, on the workloads of
 * bench:peers. Prints B's speed relative to A's.
 *
 *     npm run bench:compare main~5 main
 *     npm run bench:compare v0.1 HEAD -- --only add,matmul --threads 1 --turbo
 *
 * "." stands for the files as they are, committed or not.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { duration, table } from "./harness.ts";
import { buildAll, buildStrided, root } from "./peers/build.ts";
import { type Contestant, cores } from "./peers/contestants.ts";
import { busyCores } from "./peers/machine.ts";
import { orUsage, pick } from "./peers/options.ts";
import { progressLine } from "./peers/progress.ts";
import { hasFigure, runAll, type WorkloadResult } from "./peers/run.ts";
import { workloads } from "./peers/workloads.ts";

const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** Builds a commit from its files alone: nothing is left in the repository, even if the run is broken off. */
function buildCommit(commit: string, folder: string): string {
  const hash = git("rev-parse", "--verify", `${commit}^{commit}`);
  const files = join(folder, "files.tar");
  git("archive", "--format=tar", `--output=${files}`, hash);
  execFileSync("tar", ["-xf", files, "-C", folder]);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return buildStrided(folder, join(folder, "dist"));
}

function row(w: WorkloadResult): string[] {
  const [a, b] = [w.results.A, w.results.B];
  const text = (o: typeof a) => (hasFigure(o) ? figure(w, o.median) : o.why.slice(0, 40));
  if (!hasFigure(a) || !hasFigure(b)) return [`${w.group}: ${w.title}`, text(a), text(b), "", ""];
  const ratio = a.median / b.median;
  const noise = Math.max(a.spread / a.median, b.spread / b.median);
  const telling = Math.abs(Math.log(ratio)) > Math.max(0.05, noise);
  const mark = telling ? (ratio > 1 ? "faster" : "SLOWER") : "";
  return [`${w.group}: ${w.title}`, text(a), text(b), ratio.toFixed(2), mark];
}

const figure = (w: WorkloadResult, x: number) =>
  w.measure === "memory" ? `${Math.round(x / 2 ** 20)} MiB` : duration(x);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: "string" },
      threads: { type: "string" },
      turbo: { type: "boolean", default: false },
      newer: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
    },
  });
  if (positionals.length !== 2) throw new Error("give two commits: npm run bench:compare main~5 main");
  const threads = Number(values.threads ?? cores);
  if (!Number.isInteger(threads) || threads < 1)
    throw new Error(`--threads is ${values.threads}: give a whole number from 1 on`);
  const chosen = pick(workloads(values.quick ? "quick" : "full"), values.only, (w) => [w.id, w.group]);
  const builds = await buildAll();
  const folders: string[] = [];
  const clear = () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", clear);
  try {
    const taking = positionals.map((commit, k): Contestant => {
      const folder = mkdtempSync(join(tmpdir(), "strided-compare-"));
      folders.push(folder);
      return {
        id: "AB"[k],
        name: commit,
        adapter: "strided",
        runtime: values.newer ? "newer" : "own",
        ours: true,
        threads,
        turbo: values.turbo,
        build: commit === "." ? builds.strided : buildCommit(commit, folder),
      };
    });
    const busy = await busyCores(1000);
    if (busy !== null && busy > 0.1)
      console.log(`warning: ${busy.toFixed(1)} cores are busy with something else`);
    const line = progressLine();
    const options = values.quick
      ? { rounds: 5, turn: 2, lead: 2, budget: 60, starts: 2, slowest: 1000, patient: false }
      : { rounds: 15, turn: 8, lead: 20, budget: 500, starts: 5, slowest: 3000, patient: true };
    const result = await runAll(taking, chosen, builds, options, line.show);
    line.end();
    const head = ["", `A: ${positionals[0]}`, `B: ${positionals[1]}`, "A / B", ""];
    console.log(table([head, ...result.workloads.map(row)]));
    console.log("A / B above 1: B is faster. Marked where the difference is above 5 % and above the spread.");
  } finally {
    clear();
  }
}

await orUsage(main);
