/**
 * npm run soak: ten Node workers, each with an engine and two threads of its own, for 30 seconds (or as many as are
 * given: npm run soak -- 3). Ends with an error if a single byte of a single result was lost.
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import type { SoakReport } from "./soak-worker.ts";

const seconds = Number(process.argv[2] ?? 30);
const workers = 10;
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
copyFileSync(here("../src/run/worker.js"), join(folder, "worker.js"));
process.env.STRIDED_THREADS = "2";

function soak(): Promise<SoakReport> {
  return new Promise((done, failed) => {
    const worker = new Worker(bundle, { workerData: { seconds } });
    worker.on("message", done);
    worker.on("error", failed);
  });
}

console.log(`${workers} workers for ${seconds} s …`);
const reports = await Promise.all(Array.from({ length: workers }, soak)).finally(() =>
  rmSync(folder, { recursive: true }),
);
const total = (key: "rounds" | "operations" | "leftTensors" | "grownBytes") =>
  reports.reduce((sum, r) => sum + r[key], 0);
const wrong = reports.flatMap((r) => r.wrong);
const alone = reports.filter((r) => r.threads < 2).length;
console.log(`${total("operations")} operations, ${wrong.length} of them wrong ${wrong.join(", ")}`.trim());
console.log(`${total("leftTensors")} tensors and ${total("grownBytes")} bytes left behind`);
if (alone > 0) console.log(`${alone} workers ended with one thread`);
const lost = wrong.length > 0 || alone > 0 || total("leftTensors") > 0 || total("grownBytes") > 0;
console.log(lost ? "something was lost" : "nothing was lost");
process.exit(lost ? 1 : 0);
