/**
 * npm run soak: several Node workers, each with an engine and two threads of its own, compute the same things for a while
 * and compare. Ends with exit code 1 if a single byte of a single result was lost, a thread was given up, an exception was
 * thrown or a tensor was left behind.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import type { SoakReport } from "./soak-worker.ts";

const usage = `npm run soak -- [seconds] [options]
  seconds, or --minutes N   how long (default 30 seconds)
  --workers K               how many Node workers (default 10)
  --busy                    other processes keep every core busy meanwhile
  --help                    this text`;

function asked() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        minutes: { type: "string" },
        workers: { type: "string", default: "10" },
        busy: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return null;
    const seconds = values.minutes === undefined ? Number(positionals[0] ?? 30) : 60 * Number(values.minutes);
    const workers = Number(values.workers);
    if (seconds > 0 && Number.isInteger(workers) && workers > 0)
      return { seconds, workers, busy: values.busy };
    throw new Error("the time and the number of workers are numbers over 0");
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
const choice = asked();
if (choice === null) {
  console.log(usage);
  process.exit(0);
}
const { seconds, workers, busy } = choice;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
// Node 20's workers read no TypeScript.
const folder = mkdtempSync(join(tmpdir(), "strided-soak-"));
const bundle = join(folder, "soak.mjs");
buildSync({
  entryPoints: [here("./soak-worker.ts")],
  bundle: true,
  format: "esm",
  platform: "node",
  outfile: bundle,
});
copyFileSync(here("../src/run/strided-worker.js"), join(folder, "strided-worker.js"));
process.env.STRIDED_THREADS = "2";

/** Processes that do nothing, as fast as they can. */
const others = Array.from({ length: busy ? availableParallelism() : 0 }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
process.on("exit", () => {
  for (const other of others) other.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** What a worker reports; where it ends without a word, why. */
function soak(): Promise<SoakReport | string> {
  return new Promise((done) => {
    const worker = new Worker(bundle, { workerData: { seconds } });
    worker.on("message", done);
    worker.on("error", (error) => done(`uncaught: ${error}`));
    worker.on("exit", (code) => done(`it ended with code ${code}`));
  });
}

const company = busy ? `, beside ${others.length} busy processes` : "";
console.log(`${workers} workers for ${seconds} s${company} …`);
const ends = await Promise.all(Array.from({ length: workers }, soak));
const reports = ends.filter((end) => typeof end !== "string");
const lost = ends.filter((end) => typeof end === "string");
const wrong = [...new Set(reports.flatMap((r) => r.wrong))];
const sum = (of: (r: SoakReport) => number) => reports.reduce((total, r) => total + of(r), 0);

const families = [...new Set(reports.flatMap((r) => Object.keys(r.compared)))];
for (const name of families) {
  const bad = wrong.filter((w) => w.startsWith(`${name}:`)).length;
  const count = sum((r) => r.compared[name] ?? 0);
  console.log(`${name.padEnd(14)} ${String(count).padStart(9)} compared${bad > 0 ? `, ${bad} wrong` : ""}`);
}
const [leftTensors, grownBytes] = [sum((r) => r.leftTensors), sum((r) => r.grownBytes)];
const alone = reports.filter((r) => r.threads < 2).length;
const complaints = [
  ...lost.map((why) => `a worker was lost: ${why}`),
  ...wrong,
  ...(alone > 0 ? [`${alone} workers ended with one thread`] : []),
  ...(leftTensors !== 0 || grownBytes !== 0
    ? [`${leftTensors} tensors and ${grownBytes} bytes left behind`]
    : []),
];
for (const complaint of complaints) console.log(complaint);
console.log(complaints.length > 0 ? "something was lost" : "nothing was lost");
process.exit(complaints.length > 0 ? 1 : 0);
