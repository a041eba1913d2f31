/**
 * The inner loops of sums and maxima, from the plain one to the one in use, on one thread: GB/s from a cache and from
 * memory. What a conversion, a sign flip or a longer chain costs shows here first.
 *
 *     npx tsx bench/lab/fold-ladder.ts
 */
import type { FuncBuilder, Local } from "../../src/wasm/assembler/assembler.ts";
import type { PlainOp } from "../../src/wasm/assembler/opcodes.ts";
import { heapModule } from "../../src/wasm/kit.ts";
import { median, table } from "../harness.ts";

const BYTES = 1 << 26;
const CACHED = 1 << 17;
const CHUNK = 1 << 16;
const memory = new WebAssembly.Memory({ initial: BYTES / 65536 + 1, maximum: 65536, shared: true });
new Float32Array(memory.buffer).fill(1.25);
const highHalf = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];

interface Loop {
  readonly name: string;
  /** Bytes a turn reads, and registers that go from turn to turn. */
  readonly bytes: number;
  readonly chains: number;
  readonly turn: (f: FuncBuilder, at: Local, acc: readonly Local[]) => void;
}

const load = (f: FuncBuilder, at: Local, i: number) => f.get(at).load("v128.load", 16 * i, 1);
const loaded = (f: FuncBuilder, at: Local, i: number): Local => {
  const x = f.local("v128");
  load(f, at, i).set(x);
  return x;
};
/** acc ∘= x, vector by vector. */
const each = (op: PlainOp) => (f: FuncBuilder, at: Local, acc: readonly Local[]) => {
  acc.forEach((a, i) => {
    f.get(a);
    load(f, at, i).op(op).set(a);
  });
};
/** Pushes (0 ∘ 1) ∘ (2 ∘ 3) of `count` vectors. */
function tree(f: FuncBuilder, op: PlainOp, push: (i: number) => void, from: number, count: number): void {
  if (count === 1) {
    push(from);
    return;
  }
  tree(f, op, push, from, count / 2);
  tree(f, op, push, from + count / 2, count / 2);
  f.op(op);
}
/** acc, in two registers of f64, += x, four lanes of f32. */
function carry(f: FuncBuilder, low: Local, high: Local, x: Local): void {
  f.get(low).get(x).op("f64x2.promote_low_f32x4").op("f64x2.add").set(low);
  f.get(high).get(x).get(x).shuffle(highHalf).op("f64x2.promote_low_f32x4").op("f64x2.add").set(high);
}
/** The smaller one with NaN and the right zero: both one-sided minima, or-ed. */
const smaller = (f: FuncBuilder, a: Local, x: Local) =>
  f.get(a).get(x).op("f32x4.pmin").get(x).get(a).op("f32x4.pmin").op("v128.or").set(a);

const groups = (count: number): Loop => ({
  name: `sum: ${count} in f32, then f64`,
  bytes: 32 * count,
  chains: 4,
  turn: (f, at, acc) => {
    for (const g of [0, 1]) {
      const x = f.local("v128");
      tree(f, "f32x4.add", (i) => load(f, at, g * count + i), 0, count);
      f.set(x);
      carry(f, acc[2 * g], acc[2 * g + 1], x);
    }
  },
});

const carefully = (chains: number): Loop => ({
  name: `min: smaller, ${chains} chains`,
  bytes: 16 * chains,
  chains,
  turn: (f, at, acc) => {
    acc.forEach((a, i) => {
      smaller(f, a, loaded(f, at, i));
    });
  },
});

const loops: Loop[] = [
  { name: "sum: all in f32 (reading)", bytes: 64, chains: 4, turn: each("f32x4.add") },
  {
    name: "sum: each converted to f64",
    bytes: 64,
    chains: 8,
    turn: (f, at, acc) => {
      acc.forEach((a, i) => {
        f.get(a)
          .get(at)
          .load("v128.load64_zero", 8 * i, 1);
        f.op("f64x2.promote_low_f32x4").op("f64x2.add").set(a);
      });
    },
  },
  groups(2),
  groups(4),
  groups(8),
  { name: "max: f32x4.max", bytes: 128, chains: 8, turn: each("f32x4.max") },
  {
    name: "max: smaller of negatives, f32x4.neg",
    bytes: 128,
    chains: 8,
    turn: (f, at, acc) => {
      acc.forEach((a, i) => {
        const x = f.local("v128");
        load(f, at, i).op("f32x4.neg").set(x);
        smaller(f, a, x);
      });
    },
  },
  carefully(4),
  carefully(8),
  {
    name: "min: pmin of eight, a sum to find NaN",
    bytes: 128,
    chains: 2,
    turn: (f, at, [acc, check]) => {
      const xs = Array.from({ length: 8 }, (_, i) => loaded(f, at, i));
      f.get(check);
      tree(f, "f32x4.add", (i) => f.get(xs[i]), 0, 8);
      f.op("f32x4.add").set(check);
      const x = f.local("v128");
      tree(f, "f32x4.pmin", (i) => f.get(xs[i]), 0, 8);
      f.set(x);
      smaller(f, acc, x);
    },
  },
];

type Run = (at: number, bytes: number) => number;
function compile({ bytes, chains, turn }: Loop): Run {
  const module = heapModule(true);
  const f = module.func("run", { at: "i32", bytes: "i32" }, ["i32"], { export: true });
  const [at, left] = f.params;
  const acc = Array.from({ length: chains }, () => f.local("v128"));
  f.loop((next) => {
    turn(f, at, acc);
    f.get(at).i32(bytes).op("i32.add").set(at);
    f.get(left).i32(bytes).op("i32.sub").tee(left).brIf(next);
  });
  // Everything is used, so nothing is left out.
  f.get(acc[0]);
  for (const a of acc.slice(1)) f.get(a).op("v128.xor");
  f.lane("i32x4.extract_lane", 0);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), { e: { m: memory } });
  return instance.exports.run as Run;
}

const runs = loops.map(compile);
for (const run of runs) for (let i = 0; i < 3000; i++) run(0, CHUNK);
const rate = (run: Run, bytes: number, times: number): number => {
  const start = performance.now();
  for (let t = 0; t < times; t++) for (let p = 0; p < bytes; p += CHUNK) run(p, CHUNK);
  return (times * bytes) / (performance.now() - start) / 1e6;
};
const cached: number[][] = loops.map(() => []);
const streamed: number[][] = loops.map(() => []);
for (let round = 0; round < 15; round++) {
  runs.forEach((run, i) => {
    cached[i].push(rate(run, CACHED, 20));
    rate(run, BYTES, 1);
    streamed[i].push(rate(run, BYTES, 1));
  });
}
console.log(
  table([
    ["GB/s", "128 KiB", "64 MiB"],
    ...loops.map(({ name }, i) => [name, median(cached[i]).toFixed(1), median(streamed[i]).toFixed(1)]),
  ]),
);
