/**
 * Runs in the page: the whole battery on the real engine. NumPy's cases, random kernels, folds and scans against the
 * interpreter, and, where there are threads, many against one. The node side prints what comes out.
 */
import fc from "fast-check";
import { type DType, dtypes } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import {
  arange,
  configure,
  explain,
  kernel,
  memory,
  ready,
  scope,
  softmax,
  type Tensor,
} from "../../src/index.ts";
import { absolute } from "../../src/routines/walk.ts";
import type { Strided } from "../../src/run/call.ts";
import { stridedOf } from "../../src/tensor.ts";
import { planLoops } from "../../src/view/loops.ts";
import { compareFold, compareScan, foldCases } from "../compiled/folds.ts";
import { compareKernel, type KernelCase, kernelCases } from "../compiled/kernels.ts";
import { exactProgram, lay } from "../compiled/random.ts";
import { runCase } from "../oracle/adapters.ts";
import { families, parseCases } from "../oracle/cases.ts";
import { walkThrough } from "../walk.ts";

/** One line of the outcome: how many cases of what passed, and what the first failures say. */
export interface Outcome {
  readonly what: string;
  readonly cases: number;
  readonly passed: number;
  readonly failures: readonly string[];
  readonly milliseconds: number;
}

export interface BatteryResult {
  readonly isolated: boolean;
  readonly threads: number;
  readonly outcomes: readonly Outcome[];
  /** Tensors that were left behind. */
  readonly tensors: number;
  /** What explain says of a large operation here. */
  readonly report: string;
}

const SHOWN = 5;
/** The same kernels in every page and every run. */
const SEED = 20_260_101;
/** Lets the page breathe between parts. */
const pause = () => new Promise((done) => setTimeout(done, 0));

async function oracle(family: (typeof families)[number]): Promise<Outcome> {
  const { body } = await fetch(`/cases/${family}.jsonl.gz`);
  const unzipped = body!.pipeThrough(new DecompressionStream("gzip"));
  const cases = parseCases(await new Response(unzipped).text());
  const start = performance.now();
  const failures = cases.flatMap((c) => {
    const difference = runCase(c);
    return difference === null ? [] : [`${c.id} ${c.op}: ${difference}`];
  });
  return {
    what: `NumPy's ${family}`,
    cases: cases.length,
    passed: cases.length - failures.length,
    failures: failures.slice(0, SHOWN),
    milliseconds: performance.now() - start,
  };
}

/** Compares that many random cases; `compare` throws where something differs and is false where nothing was compared. */
function random<C>(
  what: string,
  arbitrary: fc.Arbitrary<C>,
  compare: (c: C) => boolean,
  numRuns: number,
): Outcome {
  let passed = 0;
  const failures: string[] = [];
  const start = performance.now();
  try {
    fc.assert(
      fc.property(arbitrary, (c) => {
        if (compare(c)) passed++;
      }),
      { numRuns, seed: SEED },
    );
  } catch (error) {
    failures.push(String(error));
  }
  const milliseconds = performance.now() - start;
  return { what, cases: passed + failures.length, passed, failures, milliseconds };
}

function inScalarCode<R>(run: () => R): R {
  engine().kernels.simd = false;
  try {
    return run();
  } finally {
    engine().kernels.simd = true;
  }
}

/* Many threads against one ---------------------------------------------------------------------------------- */

const bytesOf = (t: Strided) =>
  engine().heap.u8.slice(t.storage.address, t.storage.address + t.storage.bytes);

/** The same bits; NaNs of any payload are equal. */
function alike(d: DType, a: Uint8Array, b: Uint8Array): boolean {
  if (a.every((x, i) => x === b[i])) return true;
  const { read, bytes } = dtypes[d];
  const [x, y] = [new DataView(a.buffer), new DataView(b.buffer)];
  for (let p = 0; p + bytes <= a.length; p += bytes) if (!Object.is(read(x, p), read(y, p))) return false;
  return true;
}

/** A random kernel on operands that are large enough to be shared. */
function compareThreads(c: KernelCase): boolean {
  const made = exactProgram(c.source, c.k, c.types);
  if (made === null) return false;
  const { program, params } = made;
  const shape = [c.shape[0] * 32 + 1, c.shape[1] * 40 + 7] as const;
  const [x, y] = [0, 1].map((k) => lay(c.types[k], shape, c.axes[k + 1], c.values[k]));
  const zero = dtypes[program.dtype].big ? 0n : 0;
  const outs = [0, 1].map(() => lay(program.dtype, shape, c.axes[0], [zero]));
  try {
    const run = (out: Strided) => {
      const nest = absolute(planLoops([out.frame, x.frame, y.frame]), [out, x, y]);
      walkThrough(program, nest, params);
      return engine().walker.shared;
    };
    const shared = run(outs[0]);
    engine().kernels.alone(() => run(outs[1]));
    const [many, one] = outs.map(bytesOf);
    if (!alike(program.dtype, many, one)) throw new Error(`${c.source} on ${c.types} differs`);
    return shared;
  } finally {
    for (const t of [x, y, ...outs]) t.storage.release();
  }
}

/** Large folds, scans, products and copies: each on all threads and on one. */
function compareLarge(): Outcome {
  const start = performance.now();
  const failures: string[] = [];
  let cases = 0;
  scope(() => {
    const n = 600;
    const a = arange(n * n)
      .reshape(n, n)
      .map((x) => Math.sin(x) * 10);
    const views = { a, "a.T": a.T, "a[::2, ::-1]": a.slice("::2", "::-1") };
    const runs: Record<string, (t: Tensor) => Tensor> = {
      "sum()": (t) => t.sum(),
      "sum(0)": (t) => t.sum({ axis: 0 }),
      "sum(1)": (t) => t.sum({ axis: 1 }),
      "max(0)": (t) => t.max({ axis: 0 }),
      "var(1)": (t) => t.var({ axis: 1 }),
      "argmax(1)": (t) => t.argmax({ axis: 1 }),
      "reduce(0)": (t) => t.reduce((acc, x) => acc * 0.5 + x, { axis: 0 }),
      "cumsum(1)": (t) => t.cumsum({ axis: 1 }),
      "scan(0)": (t) => t.scan((acc, x) => acc * 0.5 + x, { axis: 0 }),
      softmax: (t) => softmax(t, { axis: 1 }),
      matmul: (t) => t.matmul(t.T),
      "matmul f64": (t) => t.to("f64").matmul(t.T.to("f64")),
      "matmul i32": (t) => t.to("i32").matmul(t.T.to("i32")),
      matvec: (t) => t.matmul(t.slice(0)),
      batched: (t) => t.slice(":300", ":300").reshape(3, 100, 300).matmul(t.slice(":300", ":50")),
      "to f16": (t) => t.to("f16"),
      clone: (t) => t.clone(),
      exp: (t) => t.exp(),
    };
    for (const [view, t] of Object.entries(views)) {
      for (const [name, run] of Object.entries(runs)) {
        cases++;
        const many = run(t);
        const one = engine().kernels.alone(() => run(t));
        if (!alike(many.dtype, bytesOf(stridedOf(many)), bytesOf(stridedOf(one))))
          failures.push(`${name} of ${view} differs`);
      }
    }
  });
  const what = "large folds, products, copies: all threads = one";
  return { what, cases, passed: cases - failures.length, failures, milliseconds: performance.now() - start };
}

/* All of it --------------------------------------------------------------------------------------------------- */

async function battery(): Promise<BatteryResult> {
  // What is asked for is used all the time, also where workers come late.
  configure({ threads: Math.max(2, navigator.hardwareConcurrency) });
  await ready();
  const outcomes: Outcome[] = [];
  if (location.search !== "?report") await runAll(outcomes);
  const { threads } = engine().pool;
  const x = arange(1 << 20);
  const report = explain(() => kernel((v: number) => Math.sqrt(v * v + 1))(x).dispose());
  x.dispose();
  return {
    isolated: globalThis.crossOriginIsolated,
    threads,
    outcomes,
    tensors: memory().tensors,
    report: String(report),
  };
}

async function runAll(outcomes: Outcome[]): Promise<void> {
  const add = async (outcome: Outcome) => {
    outcomes.push(outcome);
    await pause();
  };
  for (const family of families) await add(await oracle(family));
  await add(random("random kernels, SIMD", kernelCases, compareKernel, 2500));
  await add(inScalarCode(() => random("random kernels, scalar", kernelCases, compareKernel, 1000)));
  await add(random("random folds, SIMD", foldCases, compareFold, 1200));
  await add(inScalarCode(() => random("random folds, scalar", foldCases, compareFold, 500)));
  await add(random("random scans", foldCases, compareScan, 500));
  if (engine().pool.threads > 1) {
    await add(random("random kernels: all threads = one", kernelCases, compareThreads, 300));
    await add(compareLarge());
  }
}

battery().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
