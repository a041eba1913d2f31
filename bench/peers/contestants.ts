/** Who takes part: one row a contestant, with the runtime it runs in. What is missing is said, never left out. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

export interface Contestant {
  readonly id: string;
  readonly name: string;
  /** The module in adapters/, or in python/. */
  readonly adapter: string;
  /** own: the Node that runs the benchmark. newer: the one installed with the peers. */
  readonly runtime: "own" | "newer" | "python";
  readonly ours: boolean;
  readonly threads: number;
  readonly turbo: boolean;
  /**
   * Has several forms of a loop and chooses one, in a new process for every workload: what V8 has learned about a loop
   * from one pair of arrays makes it slower on the next.
   */
  readonly chooses?: true;
  /** A folder with another build of strided. */
  readonly build?: string;
}

export const cores = availableParallelism();
export const benchFolder = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
export const newerNode = `${benchFolder}/node_modules/node/bin/node`;

const peer = (adapter: string, name: string, threads = 1) =>
  (["own", "newer"] as const).map(
    (runtime): Contestant => ({
      id: `${adapter}-${runtime}`,
      name,
      adapter,
      runtime,
      ours: false,
      threads,
      turbo: false,
    }),
  );

const python = (adapter: string, name: string): Contestant => ({
  id: adapter,
  name,
  adapter,
  runtime: "python",
  ours: false,
  threads: cores,
  turbo: false,
});

const strided = (["own", "newer"] as const).flatMap((runtime) =>
  [false, true].flatMap((turbo) =>
    [...new Set([1, cores])].map(
      (threads): Contestant => ({
        id: `strided-${runtime}${turbo ? "-turbo" : ""}-${threads}`,
        name: turbo ? "strided turbo" : "strided",
        adapter: "strided",
        runtime,
        ours: true,
        threads,
        turbo,
      }),
    ),
  ),
);

export const contestants: readonly Contestant[] = [
  ...strided,
  ...peer("loops", "typed-array loops").map((c): Contestant => ({ ...c, chooses: true })),
  ...peer("jax", "@jax-js/jax"),
  ...peer("numpy-ts", "numpy-ts"),
  ...peer("tfjs", "tfjs-wasm"),
  ...peer("onnx", "onnxruntime-web", cores),
  ...peer("gpu", "gpu.js"),
  ...peer("ndarray", "ndarray + ops"),
  python("numpy", "NumPy"),
  python("numba", "Numba, minitorch's"),
  python("torch", "torch"),
];

/** The contestant that strided is represented by in a runtime: all threads, as it comes. */
export const representative = (runtime: "own" | "newer", turbo = false) =>
  `strided-${runtime}${turbo ? "-turbo" : ""}-${cores}`;

/** How a runtime is started, or why it cannot be. */
export type Program = { readonly path: string; readonly label: string } | { readonly missing: string };

const setUp = "run npm run bench:setup";

/** The npm package an adapter needs beside the benchmark. */
const packages: Record<string, string> = {
  jax: "@jax-js/jax",
  "numpy-ts": "numpy-ts",
  tfjs: "@tensorflow/tfjs-backend-wasm",
  onnx: "onnxruntime-web",
  gpu: "gpu.js",
  ndarray: "ndarray-ops",
};

export function programOf(contestant: Contestant): Program {
  if (contestant.runtime === "python") return pythonWith(contestant.adapter);
  const needed = packages[contestant.adapter];
  if (needed !== undefined && !existsSync(`${benchFolder}/node_modules/${needed}`)) {
    return { missing: `${needed} is not installed: ${setUp}` };
  }
  if (contestant.runtime === "own") return { path: process.execPath, label: ownLabel };
  const version = newerVersion();
  if (version === null) return { missing: `the newer Node is not installed: ${setUp}` };
  return { path: newerNode, label: `Node ${major(version)}` };
}

/** "Node 20" of the Node that runs this. */
export const ownLabel = `Node ${process.versions.node.split(".")[0]}`;
const major = (version: string) => version.replace(/^v/, "").split(".")[0];

let newer: string | null | undefined;
export function newerVersion(): string | null {
  if (newer === undefined) {
    const answer = spawnSync(newerNode, ["--version"], { encoding: "utf8" });
    newer = answer.status === 0 ? answer.stdout.trim() : null;
  }
  return newer;
}

const found = new Map<string, Program>();
/** The first Python that has a module: BENCH_PYTHON where that is set, else the system's, else the one on the path. */
export function pythonWith(adapter: string): Program {
  const module = adapter === "reference" ? "numpy" : adapter;
  const known = found.get(module);
  if (known !== undefined) return known;
  const chosen = process.env.BENCH_PYTHON;
  const candidates = chosen === undefined ? ["/usr/bin/python3", "python3"] : [chosen];
  const where = chosen === undefined ? "no Python" : `BENCH_PYTHON (${chosen}) is no Python`;
  let program: Program = { missing: `${where} with ${module}: ${setUp}` };
  for (const path of candidates) {
    const code = `import platform, ${module}; print(platform.python_version())`;
    const answer = spawnSync(path, ["-c", code], { encoding: "utf8" });
    if (answer.status !== 0) continue;
    program = { path, label: `Python ${answer.stdout.trim()}` };
    break;
  }
  found.set(module, program);
  return program;
}
