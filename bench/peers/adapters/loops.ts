/** Plain typed-array loops: the floor of the table, and the reference without Python. Their forms are in bench/loops.ts. */
import type { Contestant } from "../../harness.ts";
import { fastest, formsOf, type LoopName, type Size, sized } from "../../loops.ts";
import { allocate } from "../inputs.ts";
import { trainedInLoops } from "../training.ts";
import type { Adapter, Prepare, Prepared, Task, Values } from "../types.ts";
import { newFunction } from "./strided.ts";

/** The first of the forms until one is chosen; `look` gives what the last call made. */
function several(task: Task, forms: readonly Contestant[], look: () => Values): Prepared {
  let { run } = forms[0];
  return {
    run: () => run(),
    read: () => {
      run();
      return look();
    },
    choose: () => {
      // Both round to the output's dtype in their own way: twice what each may differ from the exact result.
      const choice = fastest(forms, look, 2 * task.tolerance);
      run = forms.find(({ name }) => name === choice.form)!.run;
      return choice;
    },
  };
}

/** A loop over inputs and an output that is made once. */
const loop =
  (which: (task: Task) => readonly [LoopName, Size]): Prepare =>
  (task, [x, y = x]) => {
    const out = allocate(task.out.dtype, task.out.shape);
    const [name, size] = which(task);
    return several(task, formsOf(name, out, x, y, size), () => out);
  };

/** A loop along memory, whatever the shape. */
const flat = (name: LoopName) =>
  loop(({ out: { shape } }) => [
    name,
    sized(
      1,
      shape.reduce((p, d) => p * d, 1),
    ),
  ]);
/** A loop over a matrix: the output, or the input of a fold. */
const byOutput = (name: LoopName) => loop(({ out: { shape } }) => [name, sized(shape[0], shape[1])]);
const byInput = (name: LoopName) => loop(({ inputs: [{ shape }] }) => [name, sized(shape[0], shape[1])]);

function add(task: Task): readonly [LoopName, Size] {
  const { shape } = task.out;
  const other = task.inputs[1].shape;
  const name = other.length < shape.length ? "addRow" : other[other.length - 1] === 1 ? "addColumn" : "add";
  return [name, sized(shape[0], shape[1] ?? 1)];
}

function sum({ axis, inputs: [{ shape }] }: Task): readonly [LoopName, Size] {
  const [n, m] = shape;
  return axis === 0 ? ["sumColumns", sized(n, m)] : ["sumRows", axis === 1 ? sized(n, m) : sized(1, n * m)];
}

const matmul =
  (turned: boolean) =>
  (task: Task): readonly [LoopName, Size] => {
    const [a, b] = task.inputs.map((t) => t.shape);
    const [n, k] = turned ? [a[1], a[0]] : a.slice(-2);
    if (b.length === 1) return ["gemv", sized(n, 1, { k })];
    const m = b[b.length - 1];
    const batches = task.out.shape.length > 2 ? task.out.shape[0] : 1;
    const [nextX, nextY] = [a.length > 2 ? n * k : 0, b.length > 2 ? k * m : 0];
    const [down, along] = turned ? [1, n] : [k, 1];
    return ["matmul", { batches, n, m, k, down, along, nextX, nextY }];
  };

function permuteCopy({ inputs: [{ shape }] }: Task): readonly [LoopName, Size] {
  const [n, m] = shape.slice(-2);
  return ["transpose", sized(n, m, { batches: shape.length > 2 ? shape[0] : 1 })];
}

/** One loop a pair of dtypes: a loop that meets several kinds of array is slow ever after. */
const casts: Readonly<Record<string, LoopName>> = {
  "f32 f64": "f32ToF64",
  "f64 f32": "f64ToF32",
  "f32 i32": "f32ToI32",
  "f32 f16": "f32ToF16",
};

/** A new array for every result. */
const addNew: Prepare = (task, [x, y]) => {
  let latest = allocate(task.out.dtype, task.out.shape);
  const forms: Contestant[] = [
    {
      name: "one index",
      run: () => {
        const out = new Float32Array(x.length);
        for (let i = 0; i < out.length; i++) out[i] = x[i] + y[i];
        latest = out;
      },
    },
    {
      name: "map",
      run: () => {
        latest = (x as Float32Array).map((v, i) => v + y[i]);
      },
    },
    {
      name: "slice, then add",
      run: () => {
        const out = x.slice();
        for (let i = 0; i < out.length; i++) out[i] += y[i];
        latest = out;
      },
    },
  ];
  return several(task, forms, () => latest);
};

export const loops: Adapter = {
  start: async () => ({ version: "", setup: "1 thread, existing output; the fastest of several forms" }),
  ops: {
    add: loop(add),
    exp: flat("exp"),
    tanhSquare: flat("tanhSquare"),
    everySecond: byOutput("everySecond"),
    transposedAdd: byOutput("transposedAdd"),
    reversedAdd: byOutput("reversedAdd"),
    sum: loop(sum),
    max: byInput("maxRows"),
    softmax: byInput("softmax"),
    logsumexp: byInput("logsumexp"),
    matmul: loop(matmul(false)),
    matmulTransposed: loop(matmul(true)),
    permuteCopy: loop(permuteCopy),
    cast: loop(({ inputs: [x], out }) => [
      casts[`${x.dtype} ${out.dtype}`],
      sized(out.shape[0], out.shape[1]),
    ]),
    ggmlCopy: loop(({ inputs: [{ shape }] }) => ["swapRuns", sized(shape[0], shape[1], { k: shape[2] })]),
    gelu: flat("gelu"),
    addNew,
    // 64 elements: what counts is how V8 reads and starts a new function, not the form of the loop.
    compile: (_task, [x]) => {
      let count = 0;
      const call = (c: number | null) => {
        const fn = newFunction(c);
        const out = new Float32Array(x.length);
        for (let i = 0; i < x.length; i++) out[i] = fn(x[i]);
        return out;
      };
      return { run: () => void call(count++), read: () => call(null) };
    },
    trainMlp: trainedInLoops,
    trainConvnet: trainedInLoops,
  },
};
