/**
 * Classic programs as njit functions beside careful typed-array loops in the same process, and beside Numba where Debian's
 * python3-numba is installed. All sides take turns in one run, on one thread, after their results were compared. The functions
 * are those of tests/njit/programs.ts, with larger arguments. BENCH_CPU=1 counts processor time, for a machine that is busy.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Tensor, tensor, zeros } from "../src/index.ts";
import type { Njit, NjitValue } from "../src/njit/njit.ts";
import { isTensor } from "../src/tensor.ts";
import { programs } from "../tests/njit/programs.ts";
import { duration, median, table } from "./harness.ts";
import { loops } from "./njit-loops.ts";
import { findPython } from "./python.ts";

/** The same numbers as on the other side: from 0 to `scale`, in no order that a processor could learn to foresee. */
export function values(n: number, scale = 1, seed = 0): Float64Array {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let bits = Math.imul(i + seed * 7919 + 1, 0x9e3779b1);
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
    out[i] = (((bits ^ (bits >>> 16)) >>> 12) / 2 ** 20) * scale;
  }
  return out;
}

export const f64 = (...shape: number[]) => zeros(shape, { dtype: "f64" });
export const i32 = (...shape: number[]) => zeros(shape, { dtype: "i32" });
export const of = (shape: number[], scale = 1, seed = 0): Tensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(values(size, scale, seed)).reshape(shape) as Tensor;
};
const bytes = (n: number, scale: number, seed: number) => Uint8Array.from(values(n, scale, seed));
/** A typed array over the heap: it is used where it lies. */
const owners: Tensor[] = [];
const held = <T>(t: Tensor): T => {
  owners.push(t);
  return t.data as unknown as T;
};

/** What is asked of a program: never more than so many times the loop's time, and so much of Numba's. */
interface Targets {
  /** At least so many times as fast as the loop, and on newer engines where that differs. */
  readonly loop?: number;
  readonly newer?: number;
  /** At most so many times Numba's time, as written and in its best form. */
  readonly numba?: number;
  readonly best?: number;
}

interface Workload {
  readonly name: string;
  /** The test program; its own name if it is not given. */
  readonly program?: string;
  readonly make: () => NjitValue[];
  /** Arguments that a call changes and the next one needs as they were. */
  readonly restore?: readonly number[];
  /** Which argument is compared. */
  readonly result: number;
  readonly tolerance?: number;
  readonly targets: Targets;
}

const fast: Targets = { loop: 3.5, numba: 0.6, best: 1.8 };
const scalar: Targets = { numba: 1.3 };
const product = (dtype: "f64" | "f32") => () => [
  zeros([400, 400], { dtype }),
  of([400, 400], 1, 1).to(dtype),
  of([400, 400], 1, 2).to(dtype),
];

export const workloads: readonly Workload[] = [
  { name: "matmul ijk", make: product("f64"), result: 0, targets: fast },
  { name: "matmul ikj", make: product("f64"), result: 0, targets: fast },
  {
    name: "matmul ikj, f32",
    program: "matmul ikj",
    make: product("f32"),
    result: 0,
    tolerance: 1e-4,
    targets: fast,
  },
  { name: "matmul kij", make: product("f64"), restore: [0], result: 0, targets: fast },
  {
    name: "heat equation",
    make: () => [of([512, 512], 1, 10), f64(512, 512), 50],
    restore: [0],
    result: 0,
    targets: fast,
  },
  { name: "Floyd–Warshall", make: () => [of([400, 400], 10, 15)], restore: [0], result: 0, targets: fast },
  {
    name: "LU",
    make: () => [of([400, 400], 1, 20), i32(400)],
    restore: [0],
    result: 0,
    tolerance: 1e-6,
    targets: { numba: 1.2 },
  },
  {
    name: "game of life",
    make: () => [
      zeros([700, 700], { dtype: "u8" }),
      tensor(bytes(490_000, 2, 14)).reshape([700, 700]) as Tensor,
    ],
    result: 0,
    targets: { numba: 1.2 },
  },
  {
    name: "bilateral filter",
    make: () => [f64(200, 200), of([200, 200], 1, 19), 3],
    result: 0,
    tolerance: 1e-9,
    targets: { numba: 1 },
  },
  {
    name: "Black–Scholes",
    make: () => {
      const n = 500_000;
      const shifted = (seed: number, by: number) => tensor(values(n, 1, seed).map((x) => x + by)) as Tensor;
      return [f64(n), f64(n), shifted(11, 0.5), shifted(12, 0.5), shifted(13, 0.1)];
    },
    result: 0,
    tolerance: 1e-9,
    targets: { numba: 1 },
  },
  { name: "Mandelbrot", make: () => [i32(300, 400), -2.1, -1.2, 0.0078, 200], result: 0, targets: scalar },
  {
    name: "Newton fractal",
    make: () => [zeros([200, 200], { dtype: "i8" }), 200],
    result: 0,
    targets: scalar,
  },
  {
    name: "n-body",
    make: () => [of([1000, 3], 1, 6), f64(1000, 3), of([1000], 1, 7), 0.01, 1],
    restore: [0, 1],
    result: 0,
    tolerance: 1e-9,
    targets: scalar,
  },
  {
    name: "edit distance",
    make: () => [bytes(3000, 4, 3), bytes(3000, 4, 4), new Int32Array(3001)],
    result: 2,
    targets: scalar,
  },
  {
    name: "biquad filter",
    make: () => [f64(2_000_000), of([2_000_000], 1, 16), 0.2, 0.4, 0.2, -0.3, 0.1],
    result: 0,
    targets: scalar,
  },
  {
    name: "k nearest neighbours",
    make: () => [i32(100, 3), of([20_000, 3], 1, 17), of([100, 3], 1, 18)],
    result: 0,
    targets: { numba: 1.4 },
  },
  {
    name: "histogram",
    make: () => [zeros([256], { dtype: "u32" }), of([4_000_000], 1.2, 5), 0, 1],
    restore: [0],
    result: 0,
    targets: { newer: 1 / 1.3, numba: 2.4 },
  },
  {
    name: "compaction",
    make: () => [held<Int32Array>(i32(4_000_000)), held<Float64Array>(of([4_000_000], 1, 21)), 0.6],
    result: 0,
    targets: scalar,
  },
  {
    name: "prefix sum of i64",
    make: () => [
      zeros([2_000_000], { dtype: "i64" }),
      tensor(BigInt64Array.from({ length: 2_000_000 }, (_, i) => BigInt(i))) as Tensor,
    ],
    result: 0,
    targets: scalar,
  },
  {
    name: "sieve",
    make: () => [held<Uint8Array>(zeros([5_000_000], { dtype: "u8" }))],
    result: 0,
    targets: { numba: 1.4 },
  },
  {
    name: "union-find labelling",
    make: () => [i32(490_000), of([700, 700], 1, 22).map((x) => x < 0.55) as Tensor],
    result: 0,
    targets: scalar,
  },
  {
    name: "Smith–Waterman",
    make: () => [
      i32(2001, 2001),
      tensor(bytes(2000, 4, 23)) as Tensor,
      tensor(bytes(2000, 4, 24)) as Tensor,
      1,
    ],
    result: 0,
    targets: scalar,
  },
  {
    name: "k-means step",
    make: () => [
      of([16, 4], 1, 8),
      f64(16, 4),
      i32(16),
      of([50_000, 4], 1, 9),
      zeros([50_000], { dtype: "u8" }),
    ],
    restore: [0, 4],
    result: 0,
    tolerance: 1e-9,
    targets: scalar,
  },
  {
    name: "Perlin noise",
    make: () => [f64(500, 500), tensor(bytes(256, 256, 25)) as Tensor, 0.017],
    result: 0,
    targets: scalar,
  },
];

/** No program may take longer than that, as a part of the loop's speed. */
const LEAST = 1 / 1.1;

/* The other side -------------------------------------------------------------------------------------------------- */

const isCpu = process.env.BENCH_CPU === "1";
const now = (): number => {
  if (!isCpu) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

class Numba {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #waiting: ((line: string) => void)[] = [];

  constructor(python: string) {
    const script = fileURLToPath(new URL("./native/njit.py", import.meta.url));
    const env = { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1", NUMBA_NUM_THREADS: "1" };
    this.#child = spawn(python, [script], { env, stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout! });
    this.#lines.on("line", (line) => this.#waiting.shift()?.(line));
  }

  #ask(request: object): Promise<unknown> {
    return new Promise((done) => {
      this.#waiting.push((line) => done(JSON.parse(line)));
      this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    });
  }

  /** Samples of the result; null: there is no such program. */
  prepare(name: string): Promise<number[] | null> {
    return this.#ask({ prepare: name }) as Promise<number[] | null>;
  }

  /** Milliseconds a call. */
  run(times: number): Promise<number> {
    return this.#ask({ run: times, cpu: isCpu }) as Promise<number>;
  }

  close(): void {
    this.#lines.close();
    this.#child.kill();
  }
}

/* Turns ----------------------------------------------------------------------------------------------------------- */

type Side = (times: number) => number | Promise<number>;

const here =
  (run: () => void): Side =>
  (times) => {
    const start = now();
    for (let i = 0; i < times; i++) run();
    return (now() - start) / times;
  };

/** Milliseconds a call of each side in each round; a turn lasts 20 ms or a call. */
async function rounds(sides: readonly Side[], count: number): Promise<number[][]> {
  const times: number[] = [];
  for (const side of sides) {
    // Warm: V8's second tier has come.
    for (let spent = 0; spent < 150; ) spent += Math.max(0.05, await side(1));
    times.push(Math.max(1, Math.round(20 / Math.max(0.05, await side(1)))));
  }
  const out: number[][] = sides.map(() => []);
  for (let round = 0; round < count; round++) {
    for (const [k, side] of sides.entries()) out[k].push(await side(times[k]));
  }
  return out;
}

const flatOf = (value: NjitValue): ArrayLike<number> => {
  const list = isTensor(value) ? (value as Tensor).contiguous().data : (value as Float64Array);
  return typeof list[0] === "bigint"
    ? Array.from(list as unknown as bigint[], Number)
    : (list as Float64Array);
};

function compare(
  name: string,
  got: ArrayLike<number>,
  want: (k: number) => number | null,
  tolerance: number,
): void {
  for (let k = 0; k < got.length; k++) {
    const w = want(k);
    if (w !== null && !(Math.abs(got[k] - w) <= tolerance * Math.max(1, Math.abs(w)) || Object.is(got[k], w)))
      throw new Error(`${name}: element ${k} is ${got[k]}, expected ${w}`);
  }
}

type Plain = number | Float64Array;

/** A tensor's elements in a typed array outside of the heap: what a loop without the library would have. */
const plainOf = (value: NjitValue): Plain =>
  isTensor(value)
    ? ((value as Tensor).data as Float64Array).slice()
    : ArrayBuffer.isView(value)
      ? (value as Float64Array).slice()
      : (value as Plain);

/** What puts arrays back that a call changes. */
function resetting(arrays: readonly Float64Array[]): () => void {
  const kept = arrays.map((a) => [a, a.slice()] as const);
  return () => {
    for (const [a, first] of kept) a.set(first);
  };
}

const byName = new Map(programs.map((p) => [p.name, p.fn as Njit]));
const isNewer = Number(process.versions.node.split(".")[0]) >= 24;

async function one(w: Workload, numba: Numba | null): Promise<string[]> {
  const fn = byName.get(w.program ?? w.name)!;
  const args = w.make();
  const own = w.make().map(plainOf);
  const changed = w.restore ?? [];
  const reset = resetting(changed.map((i) => (args[i] as Tensor).data as Float64Array));
  const resetOwn = resetting(changed.map((i) => own[i] as Float64Array));
  const shapes = args.map((a) => (isTensor(a) ? (a as Tensor).shape : []));
  const loop = loops[w.program ?? w.name](own as never, shapes);
  const ours = () => {
    reset();
    fn(...args);
  };
  const theirs = () => {
    resetOwn();
    loop();
  };
  ours();
  theirs();
  const got = flatOf(args[w.result]);
  const tolerance = w.tolerance ?? 0;
  const other = flatOf(own[w.result] as Float64Array);
  compare(`${w.name}, the loop's`, other, (k) => got[k], tolerance);
  const dispose = () => {
    for (const a of args) if (isTensor(a)) (a as Tensor).dispose();
  };
  const sides: Side[] = [here(ours), here(theirs)];
  if (numba === null) {
    const timed = await rounds(sides, ROUNDS);
    dispose();
    return row(w, timed[0], timed[1], [], [], []);
  }
  const check = async (name: string): Promise<boolean> => {
    const samples = await numba.prepare(name);
    if (samples === null) return false;
    const limit = Math.max(tolerance, 1e-12);
    for (const [k, s] of samples.entries()) {
      compare(`${name}, Numba's`, [got[(k * 7919) % got.length]], () => s, limit);
    }
    return true;
  };
  await check(w.name);
  const timed = await rounds([...sides, (times) => numba.run(times)], ROUNDS);
  const written = timed[2].map((ms, r) => timed[0][r] / ms);
  let best: number[] = [];
  if (await check(`${w.name}:best`)) {
    const again = await rounds([here(ours), (times) => numba.run(times)], ROUNDS);
    best = again[1].map((ms, r) => again[0][r] / ms);
  }
  dispose();
  return row(w, timed[0], timed[1], timed[2], written, best);
}

const ROUNDS = 7;

function row(
  { name, targets }: Workload,
  ours: number[],
  loop: number[],
  numba: number[],
  written: number[],
  best: number[],
): string[] {
  const faster = median(loop.map((ms, r) => ms / ours[r]));
  const least = (isNewer ? targets.newer : undefined) ?? targets.loop ?? LEAST;
  const mark = (isMet: boolean) => (isMet ? "ok" : "missed");
  const most = (ratios: number[], limit: number | undefined): string => {
    if (ratios.length === 0) return "";
    const ratio = median(ratios);
    const goal = limit === undefined ? "" : `  ≤ ${limit} ${mark(ratio <= limit)}`;
    return `${ratio.toFixed(2)}x${goal}`;
  };
  return [
    name,
    duration(median(ours)),
    duration(median(loop)),
    `${faster.toFixed(2)}x  ≥ ${least.toFixed(2)} ${mark(faster >= least)}`,
    numba.length === 0 ? "" : duration(median(numba)),
    most(written, targets.numba),
    most(best, targets.best),
  ];
}

/** One row a program. `only`: a part of a name. */
export async function benchNjit(only = process.env.BENCH_ONLY ?? ""): Promise<void> {
  const found = findPython("numba");
  const numba = found === null ? null : new Numba(found.python);
  console.log(found === null ? "no Numba here (apt-get install python3-numba)" : `Numba ${found.version}`);
  if (isCpu) console.log("processor time");
  const rows = [["", "njit", "loop", "times as fast", "Numba", "its time, as written", "its best form"]];
  for (const w of workloads) {
    if (!w.name.includes(only)) continue;
    rows.push(await one(w, numba));
    if (only !== "" || isCpu) console.log(rows.at(-1)!.join(" | "));
  }
  console.log(table(rows));
  numba?.close();
}
