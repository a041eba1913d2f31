/**
 * A short benchmark of this machine: strided beside the plain loop over typed arrays that one would write instead, turn by
 * turn in one process. A result is checked before it is timed, medians are shown, and ratios are what counts.
 */
import { arange, scope, zeros } from "../api.ts";
import { kernel } from "../kernel.ts";
import type { Tensor } from "../tensor.ts";

/** One workload. */
export interface Row {
  readonly name: string;
  /** Milliseconds a call, the median; and the middle half's width, as a share of it. */
  readonly strided: number;
  readonly spread: number;
  readonly loop: number;
  /** How many times as fast as the loop: the median of the rounds' own ratios. */
  readonly ratio: number;
  /** What strided reaches: bytes or operations, in billions a second. */
  readonly rate: number;
  readonly unit: "GB/s" | "GFLOP/s" | "G/s";
}

interface Workload {
  readonly name: string;
  readonly unit: Row["unit"];
  /** Bytes moved, or operations, of one call. */
  readonly amount: number;
  readonly strided: () => Tensor | undefined;
  readonly loop: () => ArrayLike<number>;
  /** The result of strided, to be compared with the loop's. */
  readonly result: () => Tensor;
  readonly tolerance: number;
  readonly done: () => void;
}

const wave = (n: number): Tensor<"f32"> =>
  scope(() =>
    arange(n, { dtype: "f64" })
      .map((i) => Math.sin(i * 0.7))
      .to("f32"),
  );

/** The same numbers, in memory of their own. */
const copyOf = (t: Tensor<"f32">): Float32Array => t.toTypedArray() as Float32Array;

/** A result that is kept, and written over by every call. */
function elementwise(
  name: string,
  n: number,
  flops: number,
  run: (out: Tensor, a: Tensor, b: Tensor) => void,
  loop: (out: Float32Array, a: Float32Array, b: Float32Array) => void,
): Workload {
  const [a, b, out] = [wave(n), wave(n), zeros([n])];
  const [x, y, z] = [copyOf(a), copyOf(b), new Float32Array(n)];
  return {
    name,
    unit: flops === 0 ? "GB/s" : "G/s",
    amount: flops === 0 ? 12 * n : flops * n,
    strided: () => {
      run(out, a, b);
      return undefined;
    },
    loop: () => {
      loop(z, x, y);
      return z;
    },
    result: () => out,
    tolerance: 1e-6,
    done: () => {
      for (const t of [a, b, out]) t.dispose();
    },
  };
}

const workloads: readonly ((size: number) => Workload)[] = [
  (size) => {
    const add = kernel((a: number, b: number) => a + b);
    return elementwise(
      "a + b, f32",
      size * size,
      0,
      (out, a, b) => add.into(out, a, b),
      (out, a, b) => {
        for (let i = 0; i < out.length; i++) out[i] = a[i] + b[i];
      },
    );
  },
  (size) => {
    const bell = kernel((a: number) => Math.exp(-a * a));
    return elementwise(
      "exp(-a²), f32",
      (size * size) / 4,
      1,
      (out, a) => bell.into(out, a),
      (out, a) => {
        for (let i = 0; i < out.length; i++) out[i] = Math.exp(-a[i] * a[i]);
      },
    );
  },
  (size) => {
    const a = scope(() =>
      wave(size * size)
        .reshape(size, size)
        .clone(),
    );
    const [x, z] = [copyOf(a), new Float32Array(size)];
    let out: Tensor = zeros([size]);
    return {
      name: "sums of columns, f32",
      unit: "GB/s",
      amount: 4 * size * size,
      strided: () => {
        out.dispose();
        out = a.sum({ axis: 0 });
        return out;
      },
      loop: () => {
        z.fill(0);
        for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) z[j] += x[i * size + j];
        return z;
      },
      result: () => out,
      tolerance: 1e-3,
      done: () => {
        a.dispose();
        out.dispose();
      },
    };
  },
  (size) => {
    const a = scope(() =>
      wave(size * size)
        .reshape(size, size)
        .clone(),
    );
    const t = a.T;
    const out = zeros([size, size]);
    const [x, z] = [copyOf(a), new Float32Array(size * size)];
    return {
      name: "a transposed copy, f32",
      unit: "GB/s",
      amount: 8 * size * size,
      strided: () => {
        out.assign(t);
        return undefined;
      },
      loop: () => {
        for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) z[i * size + j] = x[j * size + i];
        return z;
      },
      result: () => out,
      tolerance: 0,
      done: () => {
        for (const one of [a, t, out]) one.dispose();
      },
    };
  },
  (size) => {
    const n = Math.max(16, size / 4);
    const a = scope(() =>
      wave(n * n)
        .reshape(n, n)
        .clone(),
    );
    const [x, z] = [copyOf(a), new Float32Array(n * n)];
    let out: Tensor = zeros([n, n]);
    return {
      name: `a product of ${n} × ${n}, f32`,
      unit: "GFLOP/s",
      amount: 2 * n ** 3,
      strided: () => {
        out.dispose();
        out = a.matmul(a);
        return out;
      },
      loop: () => {
        z.fill(0);
        for (let i = 0; i < n; i++) {
          for (let k = 0; k < n; k++) {
            const v = x[i * n + k];
            for (let j = 0; j < n; j++) z[i * n + j] += v * x[k * n + j];
          }
        }
        return z;
      },
      result: () => out,
      tolerance: 1e-3,
      done: () => {
        a.dispose();
        out.dispose();
      },
    };
  },
];

const median = (x: readonly number[]): number => {
  const sorted = [...x].sort((p, q) => p - q);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

/** Calls that take about so many milliseconds together. */
function callsOf(run: () => unknown, milliseconds: number): number {
  for (let i = 0; i < 3; i++) run();
  const start = performance.now();
  let calls = 0;
  do {
    run();
    calls++;
  } while (performance.now() - start < milliseconds);
  return calls;
}

function timed(run: () => unknown, calls: number): number {
  const start = performance.now();
  for (let i = 0; i < calls; i++) run();
  return (performance.now() - start) / calls;
}

/** Each workload in turn. `size`: rows and columns of its matrices; a turn lasts so many milliseconds. */
export function* benchmark(size: number, rounds: number, milliseconds: number): Iterable<Row> {
  for (const make of workloads) {
    const w = make(size);
    try {
      w.strided();
      check(w.name, w.result(), w.loop(), w.tolerance);
      const [mine, other] = [callsOf(w.strided, milliseconds), callsOf(w.loop, milliseconds)];
      const [ours, theirs]: number[][] = [[], []];
      for (let round = 0; round < rounds; round++) {
        ours.push(timed(w.strided, mine));
        theirs.push(timed(w.loop, other));
      }
      const sorted = [...ours].sort((p, q) => p - q);
      const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
      const strided = median(ours);
      yield {
        name: w.name,
        strided,
        spread: (at(0.75) - at(0.25)) / strided,
        loop: median(theirs),
        ratio: median(ours.map((ms, i) => theirs[i] / ms)),
        rate: w.amount / strided / 1e6,
        unit: w.unit,
      };
    } finally {
      w.done();
    }
  }
}

/** A benchmark of a wrong result is worth nothing. */
function check(name: string, got: Tensor, want: ArrayLike<number>, tolerance: number): void {
  const all = got.toTypedArray() as Float32Array;
  for (let i = 0; i < want.length; i++) {
    if (Math.abs(all[i] - want[i]) <= tolerance * Math.max(1, Math.abs(want[i]))) continue;
    throw new Error(`${name}: element ${i} is ${all[i]}, the loop gives ${want[i]}`);
  }
}
