/**
 * Fused functions beside the same operations one by one: verified bit by bit, then in turns. BENCH_CPU=1 counts processor
 * time, for a machine that is busy. How many kernels a call runs is counted, too.
 */
import { vjp } from "../src/grad.ts";
import { explain, fuse, logSoftmax, random, scope, type Tensor, tensor } from "../src/index.ts";
import { duration, median, table, timesAsFast, verify } from "./harness.ts";

const isCpu = process.env.BENCH_CPU !== undefined;
const ROUNDS = 11;
/** Milliseconds that a turn lasts, or a call. */
const TURN = 30;

interface Workload {
  readonly name: string;
  readonly make: () => { readonly fn: (...args: Tensor[]) => Tensor; readonly args: readonly Tensor[] };
  /** Times as fast as one by one, at the least; and kernels a call, at the most. One has one kernel an input on the way back. */
  readonly target: number | null;
  readonly kernels: number;
}

const rng = random.generator(1);
const sum = (a: Tensor, b: Tensor, c: Tensor) => a.mul(b).add(c).relu().sum();
const norm = (x: Tensor, w: Tensor, b: Tensor) => {
  const centred = x.sub(x.mean({ axis: -1, keepdims: true }));
  const variance = centred.square().mean({ axis: -1, keepdims: true });
  return centred.div(variance.add(1e-5).sqrt()).mul(w).add(b);
};
const crossEntropy = (logits: Tensor, hot: Tensor) => logSoftmax(logits).mul(hot).sum({ axis: -1 }).neg();

const square = (n: number) => [rng.normal([n, n]), rng.normal([n, n]), rng.normal([n, n])];
const chosen = (rows: number, classes: number): Tensor => {
  const values = new Float32Array(rows * classes);
  for (let i = 0; i < rows; i++) values[i * classes + (i % classes)] = 1;
  return tensor(values, { shape: [rows, classes] });
};
const workloads: readonly Workload[] = [
  {
    name: "Σ relu(a·b + c), 1 M",
    make: () => ({ fn: sum, args: square(1000) }),
    target: 2.5,
    kernels: 1,
  },
  {
    name: "Σ relu(a·b + c), 16 M",
    make: () => ({ fn: sum, args: square(4000) }),
    target: 2.5,
    kernels: 1,
  },
  {
    name: "layer norm, 1000 × 1000",
    make: () => ({ fn: norm, args: [rng.normal([1000, 1000]), rng.normal([1000]), rng.normal([1000])] }),
    target: 1.8,
    kernels: 3,
  },
  {
    name: "softmax and cross entropy, 4096 × 256",
    make: () => ({ fn: crossEntropy, args: [rng.normal([4096, 256]), chosen(4096, 256)] }),
    target: null,
    kernels: 2,
  },
];

const now = (): number => {
  if (!isCpu) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Milliseconds a call of each side in each round. */
function inTurns(sides: readonly (() => Tensor)[]): number[][] {
  const run = (side: () => Tensor, times: number): number => {
    const start = now();
    for (let i = 0; i < times; i++) side().dispose();
    return (now() - start) / times;
  };
  const times = sides.map((side) => {
    run(side, 20);
    return Math.max(1, Math.round(TURN / Math.max(run(side, 3), 0.01)));
  });
  const made: number[][] = sides.map(() => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [k, side] of sides.entries()) made[k].push(run(side, times[k]));
  return made;
}

/** Kernels that a call runs; copies (of a gradient to all elements of a sum) are none. */
const kernelsOf = (fn: () => unknown): number =>
  explain(fn).steps.filter(({ operation }) => operation !== "assign").length;

function one({ name, make, target, kernels }: Workload): string[] {
  const { fn, args } = make();
  const fused = fuse(fn);
  const [apart, together] = [() => fn(...args), () => fused(...args)].map((run) => () => scope(run));
  verify(name, numbersOf(together()), numbersOf(apart()));
  const [own, other] = inTurns([together, apart]);
  const times = timesAsFast({ times: own }, { times: other });
  const count = kernelsOf(together);
  const { value, pull, dispose } = vjp((...given: Tensor[]) => fused(...given), ...args);
  const back = kernelsOf(() => scope(() => void pull(value)));
  dispose();
  const judged = (is: boolean) => (is ? "ok" : "missed");
  const row = [
    name,
    duration(median(own)),
    duration(median(other)),
    `${times.toFixed(2)}x${target === null ? "" : `  ≥ ${target} ${judged(times >= target)}`}`,
    `${kernelsOf(apart)} → ${count}  ≤ ${kernels} ${judged(count <= kernels)}`,
    `${back} for ${args.length} inputs${kernels === 1 ? `  ${judged(back <= args.length)}` : ""}`,
  ];
  for (const t of [...args, value]) t.dispose();
  return row;
}

const numbersOf = (t: Tensor): ArrayLike<number> => Array.from(t.toTypedArray() as Iterable<number>);

/** One row a function. */
export function benchFuse(): void {
  if (isCpu) console.log("processor time");
  const rows = [["f32", "fused", "one by one", "times as fast", "kernels", "on the way back"]];
  for (const w of workloads) rows.push(one(w));
  console.log(table(rows));
}
