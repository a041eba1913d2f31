/** gpu.js, in the mode it picks by itself. Results are rows of f32 that it makes anew at each call. */
import { untrained } from "../training.ts";
import type { Adapter, Prepare, Task, Values } from "../types.ts";
import { compileConstant } from "../workloads.ts";
import { installedVersion } from "./package.ts";

type Nested = Float32Array | number[] | Nested[];
type KernelFunction = (this: never, ...args: never[]) => number;
interface GpuKernel {
  (...args: unknown[]): Nested;
  setOutput(shape: number[]): GpuKernel;
  setConstants(constants: Record<string, number>): GpuKernel;
  destroy(): void;
}
interface Gpu {
  readonly mode: string;
  createKernel(fn: KernelFunction | string): GpuKernel;
}
interface GpuModule {
  GPU: new () => Gpu;
  input(values: Values, size: number[]): unknown;
}

let lib: GpuModule;
let gpu: Gpu;

/** What a kernel sees: its place in the output, and constants. */
interface Thread {
  readonly thread: { readonly x: number; readonly y: number; readonly z: number };
  readonly constants: Readonly<Record<string, number>>;
}
type M = number[][];

function flat(nested: Nested): Float32Array {
  if (nested instanceof Float32Array) return nested;
  if (typeof nested[0] === "number") return Float32Array.from(nested as number[]);
  const parts = (nested as Nested[]).map(flat);
  const out = new Float32Array(parts.length * parts[0].length);
  for (const [i, part] of parts.entries()) out.set(part, i * part.length);
  return out;
}

/** Sizes fastest first, as gpu.js counts. */
const sizes = (shape: readonly number[]) => (shape.length === 0 ? [1] : [...shape].reverse());

const call =
  (make: (task: Task, inputs: unknown[]) => () => Nested): Prepare =>
  (task, inputs) => {
    const made = inputs.map((v, k) => lib.input(v, sizes(task.inputs[k].shape)));
    const compute = make(task, made);
    return { run: () => void compute(), read: () => flat(compute()) };
  };
const one = (fn: KernelFunction, constants: (task: Task) => Record<string, number> = () => ({})) =>
  call((task, inputs) => {
    const kernel = gpu.createKernel(fn).setOutput(sizes(task.out.shape)).setConstants(constants(task));
    return () => kernel(...inputs);
  });

const width = (task: Task) => ({ n: task.inputs[0].shape[1], m: task.inputs[0].shape[0] });
const inner = (task: Task) => ({ n: task.inputs[0].shape[task.inputs[0].shape.length - 1] });

const plainAdd = one(function (this: Thread, a: M, b: M) {
  return a[this.thread.y][this.thread.x] + b[this.thread.y][this.thread.x];
} as KernelFunction);
const lineAdd = one(function (this: Thread, a: number[], b: number[]) {
  return a[this.thread.x] + b[this.thread.x];
} as KernelFunction);
const rowAdd = one(function (this: Thread, a: M, b: number[]) {
  return a[this.thread.y][this.thread.x] + b[this.thread.x];
} as KernelFunction);
const columnAdd = one(function (this: Thread, a: M, b: M) {
  return a[this.thread.y][this.thread.x] + b[this.thread.y][0];
} as KernelFunction);
const add: Prepare = (task, inputs) => {
  const [a, b] = task.inputs.map((o) => o.shape);
  if (a.length === 1) return lineAdd(task, inputs);
  if (b.length === 1) return rowAdd(task, inputs);
  return (b[1] === 1 && a[1] !== 1 ? columnAdd : plainAdd)(task, inputs);
};

const rowSum = function (this: Thread, a: M) {
  let total = 0;
  for (let j = 0; j < this.constants.n; j++) total += a[this.thread.x][j];
  return total;
} as KernelFunction;
const columnSum = one(
  function (this: Thread, a: M) {
    let total = 0;
    for (let i = 0; i < this.constants.m; i++) total += a[i][this.thread.x];
    return total;
  } as KernelFunction,
  width,
);
/** Rows by a kernel, the rest here. */
const allSum = call((task, [a]) => {
  const rows = gpu.createKernel(rowSum).setOutput([task.inputs[0].shape[0]]).setConstants(width(task));
  return () => [(rows(a) as number[]).reduce((total, x) => total + x, 0)];
});
const rowMax = function (this: Thread, a: M) {
  let top = a[this.thread.x][0];
  for (let j = 1; j < this.constants.n; j++) top = Math.max(top, a[this.thread.x][j]);
  return top;
} as KernelFunction;
const rowTotal = function (this: Thread, a: M, top: number[]) {
  let total = 0;
  for (let j = 0; j < this.constants.n; j++) total += Math.exp(a[this.thread.x][j] - top[this.thread.x]);
  return total;
} as KernelFunction;
const spread = function (this: Thread, a: M, top: number[], total: number[]) {
  return Math.exp(a[this.thread.y][this.thread.x] - top[this.thread.y]) / total[this.thread.y];
} as KernelFunction;
const logOf = function (this: Thread, top: number[], total: number[]) {
  return top[this.thread.x] + Math.log(total[this.thread.x]);
} as KernelFunction;

/** Three kernels: the rows' maxima, their sums, and what follows from both. */
const exponentials = (last: KernelFunction, needsInput: boolean) =>
  call((task, [a]) => {
    const rows = [task.inputs[0].shape[0]];
    const top = gpu.createKernel(rowMax).setOutput(rows).setConstants(width(task));
    const total = gpu.createKernel(rowTotal).setOutput(rows).setConstants(width(task));
    const end = gpu.createKernel(last).setOutput(sizes(task.out.shape));
    return () => {
      const t = top(a);
      const s = total(a, t);
      return needsInput ? end(a, t, s) : end(t, s);
    };
  });

const product = one(
  function (this: Thread, a: M, b: M) {
    let total = 0;
    for (let k = 0; k < this.constants.n; k++) total += a[this.thread.y][k] * b[k][this.thread.x];
    return total;
  } as KernelFunction,
  inner,
);
const vectorProduct = one(
  function (this: Thread, a: M, b: number[]) {
    let total = 0;
    for (let k = 0; k < this.constants.n; k++) total += a[this.thread.x][k] * b[k];
    return total;
  } as KernelFunction,
  inner,
);
const batchedProduct = one(
  function (this: Thread, a: M[], b: M[]) {
    let total = 0;
    for (let k = 0; k < this.constants.n; k++) {
      total += a[this.thread.z][this.thread.y][k] * b[this.thread.z][k][this.thread.x];
    }
    return total;
  } as KernelFunction,
  inner,
);
const broadcastProduct = one(
  function (this: Thread, a: M, b: M[]) {
    let total = 0;
    for (let k = 0; k < this.constants.n; k++) {
      total += a[this.thread.y][k] * b[this.thread.z][k][this.thread.x];
    }
    return total;
  } as KernelFunction,
  inner,
);
const matmul: Prepare = (task, inputs) => {
  const [p, q] = task.inputs.map((o) => o.shape.length);
  if (q === 1) return vectorProduct(task, inputs);
  if (q === 2) return product(task, inputs);
  return (p === 3 ? batchedProduct : broadcastProduct)(task, inputs);
};

const turnedCopy = one(function (this: Thread, a: M) {
  return a[this.thread.x][this.thread.y];
} as KernelFunction);
const permutedCopy = one(function (this: Thread, a: M[]) {
  return a[this.thread.z][this.thread.x][this.thread.y];
} as KernelFunction);

const gelu = one(function (this: Thread, a: M) {
  const x = a[this.thread.y][this.thread.x];
  return 0.5 * x * (1 + Math.tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
} as KernelFunction);

export const gpuJs: Adapter = {
  start: async () => {
    const module = (await import("gpu.js" as string)) as GpuModule & { default?: GpuModule };
    lib = module.default ?? module;
    gpu = new lib.GPU();
    const how = gpu.mode === "gpu" ? "on the GPU" : `mode "${gpu.mode}": no GPU here`;
    return { version: installedVersion("gpu.js"), setup: `${how}; new results, as rows` };
  },
  ops: {
    add,
    exp: one(function (this: Thread, a: M) {
      return Math.exp(a[this.thread.y][this.thread.x]);
    } as KernelFunction),
    tanhSquare: one(function (this: Thread, a: M) {
      const x = a[this.thread.y][this.thread.x];
      return Math.tanh(x * x + 1);
    } as KernelFunction),
    everySecond: one(function (this: Thread, a: M, b: M) {
      return a[this.thread.y][2 * this.thread.x] + b[this.thread.y][this.thread.x];
    } as KernelFunction),
    transposedAdd: one(function (this: Thread, a: M, b: M) {
      return a[this.thread.x][this.thread.y] + b[this.thread.y][this.thread.x];
    } as KernelFunction),
    reversedAdd: one(
      function (this: Thread, a: M, b: M) {
        return a[this.thread.y][this.constants.n - 1 - this.thread.x] + b[this.thread.y][this.thread.x];
      } as KernelFunction,
      width,
    ),
    sum: (task, inputs) => {
      if (task.axis === null) return allSum(task, inputs);
      return task.axis === 0 ? columnSum(task, inputs) : one(rowSum, width)(task, inputs);
    },
    max: one(rowMax, width),
    softmax: exponentials(spread, true),
    logsumexp: exponentials(logOf, false),
    matmul,
    matmulTransposed: one(
      function (this: Thread, a: M, b: M) {
        let total = 0;
        for (let k = 0; k < this.constants.n; k++) total += a[k][this.thread.y] * b[k][this.thread.x];
        return total;
      } as KernelFunction,
      inner,
    ),
    permuteCopy: (task, inputs) => (task.axes!.length === 2 ? turnedCopy : permutedCopy)(task, inputs),
    cast: "results are always f32",
    ggmlCopy: one(function (this: Thread, a: M[]) {
      const j = Math.floor(this.thread.x / 128);
      return a[j][this.thread.y][this.thread.x - j * 128];
    } as KernelFunction),
    gelu,
    addNew: plainAdd,
    compile: (task, [values]) => {
      const x = lib.input(values, [64]);
      let count = 0;
      const fresh = (c: number) => {
        const source = `function (a) { return Math.max(a[this.thread.x] * ${c} + 1, a[this.thread.x] - ${c}) / 3; }`;
        const kernel = gpu.createKernel(source).setOutput(sizes(task.out.shape));
        const result = flat(kernel(x));
        kernel.destroy();
        return result;
      };
      return { run: () => void fresh(count++ + 0.125), read: () => fresh(compileConstant) };
    },
    ...untrained,
  },
};
