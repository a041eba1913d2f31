/**
 * What njit costs around its loops: making the code, a first long call beside the second, and what a second thread brings. Where
 * nothing may be warm, ours.ts runs a function of this file in a process of its own.
 */
import { ready, zeros } from "../src/index.ts";
import { emitCode } from "../src/njit/emit.ts";
import { hoistChecks, proveIndices } from "../src/njit/hoist.ts";
import { type ArgumentType, infer } from "../src/njit/infer.ts";
import { liftInvariants } from "../src/njit/lift.ts";
import { lowerCode } from "../src/njit/lower.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../src/njit/njit.ts";
import { reuseLoads } from "../src/njit/reuse.ts";
import { unrollLoops } from "../src/njit/unroll.ts";
import { programs } from "../tests/njit/programs.ts";
import { duration, median, table } from "./harness.ts";
import { f64, i32, of, workloads } from "./njit.ts";

const now = (): number => {
  if (process.env.BENCH_CPU !== "1") return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/* Making the code --------------------------------------------------------------------------------------------- */

/** Forty lines of loops: a step of particles on a grid, with what they leave on it. */
const makeSteps = () =>
  njit((pos, vel, grid, mass, dt, steps) => {
    const n = mass.shape[0];
    const [h, w] = grid.shape;
    let lost = 0;
    for (let s = 0; s < steps; s++) {
      for (let i = 0; i < h; i++) {
        for (let j = 0; j < w; j++) grid.set([i, j], 0);
      }
      for (let p = 0; p < n; p++) {
        const x = pos.get(p, 0);
        const y = pos.get(p, 1);
        const i = Math.floor(y);
        const j = Math.floor(x);
        if (i < 0 || i >= h || j < 0 || j >= w) {
          lost++;
          continue;
        }
        grid.set([i, j], grid.get(i, j) + mass.get(p));
      }
      for (let p = 0; p < n; p++) {
        let [ax, ay] = [0, 0];
        for (let q = 0; q < n; q++) {
          if (p === q) continue;
          const dx = pos.get(q, 0) - pos.get(p, 0);
          const dy = pos.get(q, 1) - pos.get(p, 1);
          const d2 = dx * dx + dy * dy + 0.01;
          const k = mass.get(q) / (d2 * Math.sqrt(d2));
          ax += k * dx;
          ay += k * dy;
        }
        vel.set([p, 0], vel.get(p, 0) + dt * ax);
        vel.set([p, 1], vel.get(p, 1) + dt * ay);
      }
      for (let p = 0; p < n; p++) {
        for (let k = 0; k < 2; k++) pos.set([p, k], pos.get(p, k) + dt * vel.get(p, k));
      }
    }
    return lost;
  });

const stepArguments = (): NjitValue[] => [f64(9, 2), f64(9, 2), f64(8, 8), f64(9), 0.01, 2];

type Stages = Record<string, number>;

/** Milliseconds of each stage, in the order of NjitFunction.code and compile. */
function stagesOf(make: () => Njit, args: NjitValue[]): Stages {
  const stages: Stages = {};
  const stage = <R>(name: string, run: () => R): R => {
    const start = now();
    const result = run();
    stages[name] = now() - start;
    return result;
  };
  const fn = insideOf(stage("parse", make));
  const types: readonly ArgumentType[] = fn.typesFor(args);
  const typed = stage("types", () => infer(fn.tree, types));
  const lowered = stage("lower", () => unrollLoops(lowerCode(typed)));
  const reused = stage("reuse", () => liftInvariants(reuseLoads(proveIndices(lowered))));
  const code = stage("checks and lanes", () => hoistChecks(reused));
  const bytes = stage("emit", () => emitCode(code, { shared: true }).toBytes());
  stage("WebAssembly", () => new WebAssembly.Module(bytes as Uint8Array<ArrayBuffer>));
  return stages;
}

const sumOf = (stages: Stages): number => Object.values(stages).reduce((a, b) => a + b, 0);

/** The first function of a process, and the same after ten others: one line of JSON. */
export function compileTimes(): void {
  zeros([1]).dispose();
  const cold = stagesOf(makeSteps, stepArguments());
  for (const { fn, make } of programs.slice(0, 10)) insideOf(fn).compiledFor(make());
  // Another text, so that nothing of it is known.
  const warm = stagesOf(makeSteps, stepArguments());
  console.log(JSON.stringify({ cold, warm }));
}

const MOST_COMPILE = 5;

/** `processes`: what compileTimes printed in each. */
export function printCompileTimes(processes: readonly { cold: Stages; warm: Stages }[]): void {
  const names = Object.keys(processes[0].cold);
  const rows = [["compile of 40 lines", "all", "", ...names]];
  for (const kind of ["warm", "cold"] as const) {
    const all = median(processes.map((p) => sumOf(p[kind])));
    const goal = kind === "warm" ? `≤ ${MOST_COMPILE} ms ${all <= MOST_COMPILE ? "ok" : "missed"}` : "";
    const label = kind === "warm" ? "after ten others" : "first of the process";
    rows.push([
      label,
      duration(all),
      goal,
      ...names.map((n) => duration(median(processes.map((p) => p[kind][n])))),
    ]);
  }
  console.log(table(rows));
}

/* A first long call ------------------------------------------------------------------------------------------- */

/** Arguments that make one call long: a fifth of a second and more. */
const long: Readonly<Record<string, () => NjitValue[]>> = {
  "matmul ijk": () => [f64(900, 900), of([900, 900], 1, 1), of([900, 900], 1, 2)],
  "matmul ikj": () => [f64(900, 900), of([900, 900], 1, 1), of([900, 900], 1, 2)],
  "heat equation": () => [of([700, 700], 1, 10), f64(700, 700), 300],
  "Floyd–Warshall": () => [of([800, 800], 10, 15)],
  LU: () => [of([1000, 1000], 1, 20), i32(1000)],
  Mandelbrot: () => [i32(600, 800), -2.1, -1.2, 0.0039, 400],
  "Newton fractal": () => [zeros([800, 800], { dtype: "i8" }), 800],
  "n-body": () => [of([2500, 3], 1, 6), f64(2500, 3), of([2500], 1, 7), 0.01, 5],
  "bilateral filter": () => [f64(600, 600), of([600, 600], 1, 19), 3],
  "biquad filter": () => [f64(20_000_000), of([20_000_000], 1, 16), 0.2, 0.4, 0.2, -0.3, 0.1],
  "k nearest neighbours": () => [i32(600, 3), of([40_000, 3], 1, 17), of([600, 3], 1, 18)],
  histogram: () => [zeros([256], { dtype: "u32" }), of([30_000_000], 1.2, 5), 0, 1],
  "Smith–Waterman": () => {
    const letters = (seed: number) => of([6000], 4, seed).to("u8");
    return [i32(6001, 6001), letters(23), letters(24), 1];
  },
  "k-means step": () => [
    of([16, 4], 1, 8),
    f64(16, 4),
    i32(16),
    of([900_000, 4], 1, 9),
    zeros([900_000], { dtype: "u8" }),
  ],
  "Perlin noise": () => [f64(2500, 2500), of([256], 256, 25).to("u8"), 0.017],
};

export const longPrograms = Object.keys(long);

/**
 * Milliseconds of the first call and the second, both with new arguments: one line of JSON. Its code is made before: that is
 * another number.
 */
export function firstCalls(name: string): void {
  const fn = programs.find((p) => p.name === name)!.fn as Njit;
  const both = [long[name](), long[name]()];
  insideOf(fn).compiledFor(both[0]);
  const times = both.map((args) => {
    const start = now();
    fn(...args);
    return now() - start;
  });
  console.log(JSON.stringify(times));
}

const MOST_FIRST = 1.3;

/** `runs`: by program, what firstCalls printed in each process. */
export function printFirstCalls(runs: ReadonlyMap<string, readonly (readonly number[])[]>): void {
  const rows = [["a long call", "first", "second", "", ""]];
  for (const [name, times] of runs) {
    const ratio = median(times.map(([first, second]) => first / second));
    rows.push([
      name,
      ...[0, 1].map((k) => duration(median(times.map((t) => t[k])))),
      `${ratio.toFixed(2)}x`,
      `≤ ${MOST_FIRST} ${ratio <= MOST_FIRST ? "ok" : "missed"}`,
    ]);
  }
  console.log(table(rows));
}

/* Two threads ------------------------------------------------------------------------------------------------- */

/** Much to compute for each element, and turns that know nothing of each other. */
const independent = [
  "Mandelbrot",
  "Newton fractal",
  "bilateral filter",
  "n-body",
  "Black–Scholes",
  "k nearest neighbours",
  "matmul ijk",
];
const LEAST_GAIN = 1.7;
const ROUNDS = 5;

/** Milliseconds of a call of each, in this process: the median of five. */
export async function threadTimes(): Promise<void> {
  await ready();
  const times = independent.map((name) => {
    const fn = programs.find((p) => p.name === name)!.fn as Njit;
    const args = (long[name] ?? workloads.find((w) => w.name === name)!.make)();
    const call = (): number => {
      const start = performance.now();
      fn(...args);
      return performance.now() - start;
    };
    for (let i = 0; i < 3; i++) call();
    return median(Array.from({ length: ROUNDS }, call));
  });
  console.log(JSON.stringify(times));
}

/** Processes of one thread and of two, in turns: what passes on the clock, whoever else is busy. */
export function printThreadGains(ones: readonly number[][], twos: readonly number[][]): void {
  const rows = [["", "one thread", "two threads", "gain", ""]];
  independent.forEach((name, k) => {
    const gain = median(ones.map((one, r) => one[k] / twos[r][k]));
    rows.push([
      name,
      ...[ones, twos].map((all) => duration(median(all.map((r) => r[k])))),
      `${gain.toFixed(2)}x`,
      `≥ ${LEAST_GAIN} ${gain >= LEAST_GAIN ? "ok" : "missed"}`,
    ]);
  });
  console.log(table(rows));
}
