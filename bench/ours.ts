/**
 * npm run bench: strided against the fastest plain typed-array loops, against the machine's limits, and against NumPy and
 * torch where they are installed. Each part runs in a process of its own; one part, with all of its rows:
 * npm run bench -- fft.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { engine } from "../src/engine.ts";
import { benchChunked } from "./chunked.ts";
import { benchConvolution } from "./convolution.ts";
import { benchFft } from "./fft.ts";
import { benchFiles } from "./files.ts";
import { benchFuse } from "./fuse.ts";
import { benchIndexing } from "./indexing.ts";
import { againstC, folds, layouts, matmuls, threads } from "./limits.ts";
import { linalg } from "./linalg.ts";
import { longPrograms, printCompileTimes, printFirstCalls, printThreadGains } from "./njit-times.ts";
import { benchQuantised } from "./quantised.ts";
import { sortSection } from "./sort.ts";
import { benchTraining } from "./training.ts";
import { elementwiseWorkloads } from "./workloads.ts";

const N = Number(process.env.BENCH_N ?? 4096);

/** A part of beside-loops.ts, with the built package, in plain Node. */
async function besideLoops(part: string): Promise<void> {
  const at = (path: string) => new URL(path, import.meta.url);
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(at("./beside-loops.ts"))],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    plugins: [
      {
        name: "the built package",
        setup: ({ onResolve }) => {
          onResolve({ filter: /\/src\/index\.ts$/ }, () => ({
            path: at("../dist/node/index.js").href,
            external: true,
          }));
        },
      },
    ],
  });
  spawnSync(process.execPath, ["--input-type=module"], {
    input: outputFiles[0].text,
    env: { ...process.env, STRIDED_THREADS: "1", BENCH_PART: part },
    stdio: ["pipe", "inherit", "inherit"],
  });
}

/** njit.ts and njit-times.ts with the library's sources, in plain Node for the same reason. */
async function besideNumba(): Promise<void> {
  const entry = new URL("./njit-times.ts", import.meta.url);
  const { outputFiles } = await build({
    stdin: {
      contents: 'export * from "./njit-times.ts"; export { benchNjit } from "./njit.ts";',
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    define: { "import.meta.url": JSON.stringify(entry.href) },
  });
  const inNode = (call: string, output: "inherit" | "pipe" = "inherit", threads = 1): unknown => {
    const { stdout } = spawnSync(process.execPath, ["--input-type=module"], {
      input: `${outputFiles[0].text}\nawait ${call};\nprocess.exit(0);`,
      env: { ...process.env, STRIDED_THREADS: String(threads) },
      stdio: ["pipe", output, "inherit"],
    });
    return output === "pipe" ? JSON.parse(String(stdout)) : null;
  };
  const each = <R>(count: number, call: string): R[] =>
    Array.from({ length: count }, () => inNode(call, "pipe") as R);
  inNode("benchNjit()");
  if (process.env.BENCH_ONLY !== undefined) return;
  printCompileTimes(each(5, "compileTimes()"));
  const calls = longPrograms.map(
    (name) => [name, each<number[]>(3, `firstCalls(${JSON.stringify(name)})`)] as const,
  );
  printFirstCalls(new Map(calls));
  const turns = Array.from({ length: 5 }, () =>
    [1, 2].map((threads) => inNode("threadTimes()", "pipe", threads) as number[]),
  );
  printThreadGains(
    turns.map(([one]) => one),
    turns.map(([, two]) => two),
  );
}

/** Sizes, and what of OpenBLAS's rate a runtime must reach there. */
const matmulTargets: Record<string, Record<number, number | null>> = {
  plain: { 64: null, 256: null, 1024: 0.35 },
  turbo: { 64: null, 256: null, 1024: 0.48 },
  "newer turbo": { 64: 1, 128: 1, 256: 0.95, 512: 0.95, 1024: 0.95, 2048: 0.95 },
};

const parts: Record<string, (how: string) => void | Promise<void>> = {
  elementwise: () => besideLoops("elementwise"),
  copies: () => besideLoops("copies"),
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
  njit: besideNumba,
  fuse: () => benchFuse(),
  training: benchTraining,
  files: benchFiles,
  quantised: benchQuantised,
  chunked: benchChunked,
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
  for (const name of [
    "threads",
    "folds",
    "layouts",
    "indexing",
    "sort",
    "linalg",
    "convolution",
    "fft",
    "fuse",
    "files",
    "chunked",
    "quantised",
  ])
    run(name, cores);
  run("njit", 1);
  run("matmul", cores);
  run("matmul", cores, "turbo");
  run("training", cores);
  const newer = newerNode();
  if (newer !== null) {
    run("njit", 1, "plain", newer);
    run("matmul", cores, "newer turbo", newer);
    run("quantised", cores, "plain", newer);
    run("training", cores, "plain", newer);
    run("training", cores, "newer turbo", newer);
  } else
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
