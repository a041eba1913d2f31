/** The elementwise workloads of npm run bench, each with its plain loop in all of its forms. */
import { arange, kernel, type Tensor, zeros } from "../src/index.ts";
import { type Contestant, verify } from "./harness.ts";
import { fastest, formsOf, type LoopName, sized } from "./loops.ts";
import type { Choice, Values } from "./peers/types.ts";
import { sampleValues } from "./python.ts";

export interface Workload {
  readonly name: string;
  /** At least this many times the loop's speed on one thread. */
  readonly target: number | null;
  /** Bytes moved, for GB/s. */
  readonly bytes: number;
  /** Both sides, verified against each other. */
  readonly make: () => Sides;
}

export interface Sides {
  readonly ours: Contestant;
  /** The fastest form of the loop, after a short trial. */
  readonly loop: () => Contestant & Choice;
}

const add = kernel((a: number, b: number) => a + b);
const exp = kernel((x: number) => Math.exp(x));
const tanh = kernel((x: number) => Math.tanh(x * x + 1));
const copy = kernel((x: number) => x);

let known = new Float32Array(0);
/** Values in a range where every function is interesting. */
function values(n: number): Float32Array {
  if (known.length !== n) known = sampleValues(n) as Float32Array<ArrayBuffer>;
  return known.slice();
}

function filled(n: number, m = n): Tensor {
  const t = zeros([n, m]);
  (t.data as Float32Array).set(values(n * m));
  return t;
}

const dataOf = (t: Tensor) => (t.contiguous().data as Values).slice();

/** `run` writes out from x and y; the loop does so with copies of their elements. */
function sides(
  run: () => unknown,
  loop: LoopName,
  out: Tensor,
  [x, y = x]: readonly Tensor[],
  tolerance = 0,
): Sides {
  const o = dataOf(out);
  const forms = formsOf(loop, o, dataOf(x), dataOf(y), sized(out.shape[0], out.shape[1]));
  run();
  forms[0].run();
  verify(loop, dataOf(out), o, tolerance);
  return {
    ours: { name: "strided", run: () => void run() },
    loop: () => {
      const choice = fastest(forms, () => o, tolerance);
      return { ...choice, ...forms.find(({ name }) => name === choice.form)! };
    },
  };
}

export function elementwiseWorkloads(n: number): Workload[] {
  const MB = n * n * 4;
  return [
    {
      name: "a + b",
      target: 3,
      bytes: 3 * MB,
      make: () => {
        const [a, b, out] = [filled(n), filled(n), zeros([n, n])];
        return sides(() => add.into(out, a, b), "add", out, [a, b]);
      },
    },
    {
      name: "exp(a)",
      target: 8,
      bytes: 2 * MB,
      make: () => {
        const [a, out] = [filled(n), zeros([n, n])];
        return sides(() => exp.into(out, a), "exp", out, [a], 2e-7);
      },
    },
    {
      name: "tanh(a·a + 1)",
      target: 10,
      bytes: 2 * MB,
      make: () => {
        const [a, out] = [filled(n), zeros([n, n])];
        return sides(() => tanh.into(out, a), "tanhSquare", out, [a], 4e-7);
      },
    },
    {
      name: "a + row",
      target: 5,
      bytes: 2 * MB,
      make: () => {
        const [a, row, out] = [filled(n), arange(n), zeros([n, n])];
        return sides(() => add.into(out, a, row), "addRow", out, [a, row]);
      },
    },
    {
      name: "a + column",
      target: null,
      bytes: 2 * MB,
      make: () => {
        const [a, column, out] = [filled(n), arange(n).reshape(n, 1), zeros([n, n])];
        return sides(() => add.into(out, a, column), "addColumn", out, [a, column]);
      },
    },
    {
      name: "a[:, ::2] + b",
      target: 3,
      bytes: 2 * MB,
      make: () => {
        const [a, b, out] = [filled(n), filled(n, n / 2), zeros([n, n / 2])];
        const even = a.slice(":", "::2");
        return sides(() => add.into(out, even, b), "everySecond", out, [a, b]);
      },
    },
    {
      name: "a.T + b",
      target: 3,
      bytes: 3 * MB,
      make: () => {
        const [a, b, out] = [filled(n), filled(n), zeros([n, n])];
        const turned = a.T;
        return sides(() => add.into(out, turned, b), "transposedAdd", out, [a, b]);
      },
    },
    {
      name: "a[:, ::-1] + b",
      target: null,
      bytes: 3 * MB,
      make: () => {
        const [a, b, out] = [filled(n), filled(n), zeros([n, n])];
        const back = a.slice(":", "::-1");
        return sides(() => add.into(out, back, b), "reversedAdd", out, [a, b]);
      },
    },
  ];
}

export function transposeWorkload(n: number): Workload {
  return {
    name: `transpose copy ${n}`,
    target: 4,
    bytes: 2 * n * n * 4,
    make: () => {
      const [a, out] = [filled(n), zeros([n, n])];
      const turned = a.T;
      return sides(() => copy.into(out, turned), "transpose", out, [a]);
    },
  };
}

export function castWorkload(n: number): Workload {
  return {
    name: "f32 → f16",
    target: null,
    bytes: n * n * 6,
    make: () => {
      const [a, out] = [filled(n), zeros([n, n], { dtype: "f16" }) as Tensor];
      return sides(() => out.assign(a), "f32ToF16", out, [a]);
    },
  };
}
