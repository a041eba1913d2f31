/**
 * A step of training (loss, gradients, optimiser) of three models, beside torch where Debian's python3-torch is installed: the
 * same numbers on both sides, whose first losses are compared, then steps taken in turns. BENCH_CPU=1 counts processor time,
 * for a machine that is busy. The models are those of tests/nn/models.ts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { valueAndGrad } from "../src/grad.ts";
import { scope } from "../src/index.ts";
import * as nn from "../src/nn.ts";
import { convnet, gpt, type Model, mlp } from "../tests/nn/models.ts";
import { duration, median, table, timesAsFast } from "./harness.ts";
import { findPython } from "./python.ts";

const isCpu = process.env.BENCH_CPU !== undefined;
const ROUNDS = 7;
/** A turn lasts so many milliseconds, or a step. */
const TURN = 150;
/** Between turns: threads that still wait for work, spinning, take a core from the other side. */
const REST = 300;

interface Workload {
  readonly name: string;
  /** The model, and its arguments on the other side. */
  readonly model: "mlp" | "convnet" | "gpt";
  readonly args: readonly unknown[];
  readonly make: () => Model<never>;
  readonly optimiser: (params: never) => nn.Optimiser;
  /** Of torch's time at the most: plain, and with turbo on a newer Node. */
  readonly targets: Readonly<Record<"plain" | "turbo", number>>;
}

const size = { layers: 4, width: 128, heads: 4, context: 128, words: 65, batch: 16 };
const sgd = (params: never) => nn.sgd(params, { lr: 0.01 });
const workloads: readonly Workload[] = [
  {
    name: "MLP 784-512-512-10, batch 256, SGD",
    model: "mlp",
    args: [[784, 512, 512, 10], 256],
    make: () => mlp([784, 512, 512, 10], 256, "f32") as unknown as Model<never>,
    optimiser: sgd,
    targets: { plain: 1.6, turbo: 1.1 },
  },
  {
    name: "convnet 1-16-32, 3 × 3, pools, batch 64, SGD",
    model: "convnet",
    args: [[1, 16, 32], 28, 64],
    make: () => convnet([1, 16, 32], 28, 64, "f32") as unknown as Model<never>,
    optimiser: sgd,
    targets: { plain: 1.8, turbo: 1.4 },
  },
  {
    name: "GPT 4 layers, d 128, context 128, batch 16, AdamW",
    model: "gpt",
    args: Object.values(size),
    make: () => gpt(size, "f32") as unknown as Model<never>,
    optimiser: (params) => nn.adamw(params, { lr: 0.001, weightDecay: 0.01 }),
    targets: { plain: 1.5, turbo: 0.95 },
  },
];

/** torch in a process of its own, with so many threads. */
class Torch {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #waiting: ((line: string) => void)[] = [];

  constructor(python: string, threads: number) {
    const script = fileURLToPath(new URL("./native/training.py", import.meta.url));
    this.#child = spawn(python, [script, String(threads)], {
      env: { ...process.env, OMP_NUM_THREADS: String(threads) },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout! });
    this.#lines.on("line", (line) => this.#waiting.shift()?.(line));
  }
  #ask(request: object): Promise<unknown> {
    return new Promise((done) => {
      this.#waiting.push((line) => done(JSON.parse(line)));
      this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    });
  }
  prepare(name: string, args: readonly unknown[]): Promise<number[]> {
    return this.#ask({ prepare: name, args }) as Promise<number[]>;
  }
  run(times: number): Promise<number> {
    return this.#ask({ run: times, cpu: isCpu }) as Promise<number>;
  }
  close(): void {
    this.#lines.close();
    this.#child.kill();
  }
}

const now = (): number => {
  if (!isCpu) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

type Side = (times: number) => number | Promise<number>;

/** Milliseconds a step of each side in each round. */
async function inTurns(sides: readonly Side[]): Promise<number[][]> {
  const times: number[] = [];
  for (const side of sides) {
    await side(20);
    times.push(Math.max(1, Math.round(TURN / (await side(2)))));
  }
  const made: number[][] = sides.map(() => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [k, side] of sides.entries()) {
      await setTimeout(REST);
      made[k].push(await side(times[k]));
    }
  return made;
}

async function one(w: Workload, torches: readonly Torch[], how: string): Promise<string[]> {
  const { params, x, y, loss } = w.make();
  const step = valueAndGrad(loss);
  const optimiser = w.optimiser(params);
  const once = () =>
    scope(() => {
      const { value, grads } = step(params, x, y);
      optimiser.step(grads);
      return Number(value.item());
    });
  const losses = [once(), once(), once()];
  for (const torch of torches) {
    (await torch.prepare(w.model, w.args)).forEach((want, i) => {
      if (!(Math.abs(losses[i] - want) < 1e-3 * Math.max(1, want)))
        throw new Error(`${w.name}: the loss of step ${i} is ${losses[i]}, torch's ${want}`);
    });
  }
  const ours: Side = (times) => {
    const start = now();
    for (let i = 0; i < times; i++) once();
    return (now() - start) / times;
  };
  const [own, ...others] = await inTurns([
    ours,
    ...torches.map(
      (t): Side =>
        (times) =>
          t.run(times),
    ),
  ]);
  if (others.length === 0) return [w.name, duration(median(own)), "", ""];
  // Beside the better of its counts of threads.
  const best = others.reduce((a, b) => (median(b) < median(a) ? b : a));
  const ratio = 1 / timesAsFast({ times: own }, { times: best });
  const most = w.targets[how.includes("newer") ? "turbo" : "plain"];
  const goal = `≤ ${most} ${ratio <= most ? "ok" : "missed"}`;
  return [
    w.name,
    duration(median(own)),
    others.map((t) => duration(median(t))).join(", "),
    `${ratio.toFixed(2)}x  ${goal}`,
  ];
}

/** One row a model. */
export async function benchTraining(how = "plain", only = process.env.BENCH_ONLY ?? ""): Promise<void> {
  const found = findPython("torch");
  const threads = Number(process.env.STRIDED_THREADS ?? 2);
  const counts = threads === 1 ? [1] : [1, threads];
  const torches = found === null ? [] : counts.map((n) => new Torch(found.python, n));
  console.log(found === null ? "no torch here (apt-get install python3-torch)" : `torch ${found.version}`);
  if (isCpu) console.log("processor time");
  const heads = counts.map((n) => (n === 1 ? "1 thread" : `${n} threads`)).join(", ");
  const rows = [["a step of training, f32", "strided", `torch, ${heads}`, "its time"]];
  for (const w of workloads) if (w.model.includes(only)) rows.push(await one(w, torches, how));
  console.log(table(rows));
  for (const torch of torches) torch.close();
}
