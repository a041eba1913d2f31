/**
 * Arrays larger than memory beside Dask, where Debian's python3-dask and python3-zarr are installed: mean and deviation along
 * an axis, other chunks, a product. Each side is a process of its own with as many workers; they take turns on the same files,
 * and what they come to is compared.
 *
 * Where the system's cache of files can be dropped (as root, on Linux), the first is done from the disk, beside what dd reads.
 *
 *     npm run bench -- chunked
 *     BENCH_GB=12 BENCH_SIDE=20480 BENCH_FOLDER=/data npm run bench -- chunked
 */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chunked } from "../src/chunked.ts";
import { duration, median, table } from "./harness.ts";

const GB = Number(process.env.BENCH_GB ?? 2);
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const workers = availableParallelism();

interface Outcome {
  readonly milliseconds: number;
  readonly check: readonly number[];
  /** Bytes of all processes together. */
  readonly peak: number;
}

interface Job {
  readonly name: string;
  readonly work: "spread" | "rechunk" | "matmul";
  readonly shape: readonly [number, number];
  readonly chunks: readonly [number, number];
  readonly to?: readonly [number, number];
  readonly memory: string;
  /** Of Dask's time at the most. */
  readonly target: number;
}

const rows = Math.round((GB * 1e9) / 4 / 16384 / 1024) * 1024;
const side = Number(process.env.BENCH_SIDE ?? 6144);
const jobs: readonly Job[] = [
  {
    name: `mean and std, ${GB} GB f32`,
    work: "spread",
    shape: [rows, 16384],
    chunks: [1024, 4096],
    memory: "400 MiB",
    target: 0.5,
  },
  {
    name: "rechunk 2 GiB, 2048 × 2048 to 256 × 32768",
    work: "rechunk",
    shape: [16384, 32768],
    chunks: [2048, 2048],
    to: [256, 32768],
    memory: "256 MiB",
    target: 1,
  },
  {
    name: `product of ${side} × ${side}`,
    work: "matmul",
    shape: [side, side],
    chunks: [2048, 2048],
    memory: "512 MiB",
    target: 1,
  },
];

const built = (name: string) => new URL(`../dist/node/${name}.js`, import.meta.url).href;
/** Our side as a program of its own: what it imports is the built package. */
const program = (turbo: boolean) => `
  ${turbo ? `await import(${JSON.stringify(built("turbo"))});` : ""}
  const { chunked, local } = await import(${JSON.stringify(built("chunked"))});
  const { zarr } = await import(${JSON.stringify(built("io"))});
  const [work, source, target, workers, memory, to] = process.argv.slice(1);
  const start = performance.now();
  const a = await chunked.open(source);
  const lazy = work === "spread" ? chunked.stack([a.mean({ axis: 0 }), a.std({ axis: 0 })])
    : work === "rechunk" ? a.rechunk(to.split("x").map(Number)) : a.matmul(a);
  const plan = lazy.plan({ memory, workers: Number(workers) });
  await plan.run({ to: target, overwrite: true, on: local({ workers: Number(workers) }) });
  const milliseconds = performance.now() - start;
  const out = await zarr.openArray(target);
  const at = async (i, j) => Number((await out.read([i, j])).item());
  const n = out.shape[1] - 1;
  const check = work === "spread" ? [await at(0, 0), await at(1, 0), await at(0, n), await at(1, n)]
    : [await at(0, 0), await at(-1, -1), await at(7, 11)];
  console.log(JSON.stringify({ milliseconds, check }));
  process.exit(0);`;

/** Memory of a process and its children now, what they share counted once. */
function residentBelow(pid: number): number {
  try {
    const pss = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    const below = children === "" ? [] : children.split(" ").map(Number);
    return Number(pss?.[1] ?? 0) * 1024 + below.reduce((sum, child) => sum + residentBelow(child), 0);
  } catch {
    return 0;
  }
}

/** Runs our side and looks at its memory four times a second. */
async function ours(job: Job, source: string, target: string): Promise<Outcome> {
  const { work, memory, to } = job;
  const isNewer = Number(process.versions.node.split(".")[0]) >= 24;
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      program(isNewer && work === "matmul"),
      work,
      source,
      target,
      String(workers),
      memory,
      to?.join("x") ?? "",
    ],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, STRIDED_THREADS: "" } },
  );
  let [out, peak] = ["", 0];
  child.stdout!.on("data", (text) => {
    out += text;
  });
  const look = setInterval(() => {
    peak = Math.max(peak, residentBelow(child.pid!));
  }, 250);
  await new Promise((done) => child.once("close", done));
  clearInterval(look);
  return { ...(JSON.parse(out) as Omit<Outcome, "peak">), peak };
}

function dask(python: string, job: Job, source: string, target: string): Outcome {
  const script = fileURLToPath(new URL("./native/chunked.py", import.meta.url));
  const args = [script, job.work, source, target, String(workers), job.to?.join("x") ?? ""];
  const { stdout, stderr, status } = spawnSync(python, args, { encoding: "utf8", env: { ...process.env } });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Outcome;
}

function findDask(): string | null {
  for (const python of ["/usr/bin/python3", "python3"]) {
    const { status } = spawnSync(python, ["-c", "import dask.array, zarr"]);
    if (status === 0) return python;
  }
  return null;
}

/** The same chunks under the names and the metadata that version 2 has: what Debian's zarr reads. */
function asVersion2({ shape, chunks }: Job, source: string): string {
  const folder = `${source}.v2`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const json = {
    zarr_format: 2,
    shape,
    chunks,
    dtype: "<f4",
    compressor: null,
    fill_value: 0,
    order: "C",
    filters: null,
    dimension_separator: "/",
  };
  writeFileSync(join(folder, ".zarray"), JSON.stringify(json));
  for (const row of readdirSync(join(source, "c"))) symlinkSync(join(source, "c", row), join(folder, row));
  return folder;
}

const uncached = "/proc/sys/vm/drop_caches";
function dropsCaches(): boolean {
  try {
    spawnSync("sync");
    writeFileSync(uncached, "3");
    return true;
  } catch {
    return false;
  }
}

/** Bytes a second that our side and dd read from the disk, in turns; null where the cache stays. */
async function fromDisk(job: Job, source: string, target: string): Promise<[number, number] | null> {
  const files = readdirSync(join(source, "c"), { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => join(f.parentPath, f.name));
  const bytes = job.shape[0] * job.shape[1] * 4;
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    if (!dropsCaches()) return null;
    rates[0].push(bytes / (await ours(job, source, target)).milliseconds);
    dropsCaches();
    const start = performance.now();
    const reading = 'for f in "$@"; do dd if="$f" of=/dev/null bs=4M status=none; done';
    spawnSync("sh", ["-c", reading, "sh", ...files]);
    rates[1].push(bytes / (performance.now() - start));
  }
  return [median(rates[0]) * 1000, median(rates[1]) * 1000];
}

const same = (a: Outcome, b: Outcome): boolean =>
  a.check.every((x, i) => Math.abs(x - b.check[i]) <= 1e-4 * Math.max(1, Math.abs(b.check[i])));
const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

export async function benchChunked(): Promise<void> {
  if (!existsSync(fileURLToPath(built("chunked")))) throw new Error("npm run build first");
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), "strided-chunked-"));
  const python = findDask();
  if (python === null)
    console.log("no Dask here (Debian: python3-dask, python3-zarr): only our side is timed");
  const shown: string[][] = [];
  try {
    for (const job of jobs) {
      const source = join(folder, "source.zarr");
      const made = chunked.random([...job.shape], { chunks: [...job.chunks], seed: 1, dtype: "f32" });
      await made.plan({ workers }).run({ to: source, overwrite: true });
      const [mine, theirs]: [Outcome[], Outcome[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        mine.push(await ours(job, source, join(folder, "ours.zarr")));
        if (python !== null)
          theirs.push(dask(python, job, asVersion2(job, source), join(folder, "theirs.zarr")));
        if (python !== null && !same(mine[round], theirs[round]))
          throw new Error(
            `${job.name}: ${mine[round].check} here, ${theirs[round].check} there: nothing is timed`,
          );
      }
      const [us, them] = [mine, theirs].map((all) => median(all.map((o) => o.milliseconds)));
      const ratio = us / them;
      shown.push([
        job.name,
        duration(us),
        mib(Math.max(...mine.map((o) => o.peak))),
        python === null ? "" : duration(them),
        python === null ? "" : mib(Math.max(...theirs.map((o) => o.peak))),
        python === null
          ? ""
          : `${ratio.toFixed(2)}x  ≤ ${job.target} ${ratio <= job.target ? "ok" : "missed"}`,
      ]);
      if (job.work === "spread") {
        const rates = await fromDisk(job, source, join(folder, "ours.zarr"));
        const gb = (rate: number) => `${(rate / 1e9).toFixed(2)} GB/s`;
        if (rates !== null) {
          const part = rates[0] / rates[1];
          console.log(
            `from the disk: ${gb(rates[0])}, dd ${gb(rates[1])}: ${part.toFixed(2)} of it  ≥ 0.8 ${part >= 0.8 ? "ok" : "missed"}`,
          );
        }
      }
      rmSync(source, { recursive: true });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(table([["", "strided", "all processes", "Dask", "its process", "its time"], ...shown]));
}
