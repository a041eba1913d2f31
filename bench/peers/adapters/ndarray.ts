/** scijs: ndarray for the views, ndarray-ops for the operations, cwise for functions of one's own. */
import { allocate, reading } from "../inputs.ts";
import { untrained } from "../training.ts";
import type { Adapter, Entry, Prepare, Task, Values } from "../types.ts";
import { compileConstant } from "../workloads.ts";
import { installedVersion } from "./package.ts";

interface View {
  readonly data: Values;
  transpose(...axes: number[]): View;
  step(...steps: number[]): View;
  pick(...index: (number | null)[]): View;
}
type Make = (data: Values, shape: readonly number[], stride?: readonly number[]) => View;
interface Ops {
  add(out: View, a: View, b: View): void;
  addeq(out: View, a: View): void;
  subs(out: View, a: View, s: number): void;
  divseq(out: View, s: number): void;
  exp(out: View, a: View): void;
  expeq(out: View): void;
  assign(out: View, a: View): void;
  assigns(out: View, s: number): void;
  sum(a: View): number;
  sup(a: View): number;
}
type Body = (...values: number[]) => void;
type Cwise = (spec: { args: string[]; body: Body | string }) => (...views: View[]) => void;

let ndarray: Make;
let ops: Ops;
let cwise: Cwise;

const call =
  (make: (out: View, a: View, b: View, task: Task) => () => void): Prepare =>
  (task, inputs) => {
    const made = inputs.map((v, k) => ndarray(v, task.inputs[k].shape));
    const data = allocate(task.out.dtype, task.out.shape);
    const run = make(ndarray(data, task.out.shape), made[0], made[1], task);
    return { run, read: reading(run, () => data) };
  };

/** Views do not broadcast by themselves, but a stride of 0 repeats. */
const add = call((out, a, b, task) => {
  const [other, shape] = [task.inputs[1].shape, task.out.shape];
  let wide = b;
  if (other.length < shape.length) wide = ndarray(b.data, shape, [0, 1]);
  else if (other.length === 2 && other[1] === 1) wide = ndarray(b.data, shape, [1, 0]);
  return () => ops.add(out, a, wide);
});

/** Its parser knows ES5 only, so bodies are made from text; the first parameter is where the result goes. */
const bodyOf = (expression: string) => new Function("o", "x", `o = ${expression}`) as Body;
const own = (expression: string) =>
  call((out, a) => {
    const kernel = cwise({ args: ["array", "array"], body: bodyOf(expression) });
    return () => kernel(out, a);
  });

const sum = call((out, a, _b, task) => {
  const [n] = task.inputs[0].shape;
  if (task.axis === null) {
    return () => {
      out.data[0] = ops.sum(a);
    };
  }
  if (task.axis === 1) {
    return () => {
      for (let i = 0; i < n; i++) out.data[i] = ops.sum(a.pick(i, null));
    };
  }
  return () => {
    ops.assigns(out, 0);
    for (let i = 0; i < n; i++) ops.addeq(out, a.pick(i, null));
  };
});

/** Row by row: the maximum, the exponentials into `powers`, their sum. */
function eachRow(
  a: View,
  powers: View,
  n: number,
  then: (i: number, row: View, top: number, total: number) => void,
) {
  for (let i = 0; i < n; i++) {
    const [x, row] = [a.pick(i, null), powers.pick(i, null)];
    const top = ops.sup(x);
    ops.subs(row, x, top);
    ops.expeq(row);
    then(i, row, top, ops.sum(row));
  }
}

const noProduct = "ndarray-ops has no matrix product";

export const scijs: Adapter = {
  start: async () => {
    const load = async (name: string) => ((await import(name)) as { default: unknown }).default;
    ndarray = (await load("ndarray")) as Make;
    ops = (await load("ndarray-ops")) as Ops;
    cwise = (await load("cwise")) as Cwise;
    const version = `${installedVersion("ndarray")}, ndarray-ops ${installedVersion("ndarray-ops")}`;
    return { version, setup: "with cwise for functions of one's own; 1 thread, existing output" };
  },
  ops: {
    add,
    exp: call((out, a) => () => ops.exp(out, a)),
    tanhSquare: own("Math.tanh(x * x + 1)"),
    everySecond: call((out, a, b) => () => ops.add(out, a.step(1, 2), b)),
    transposedAdd: call((out, a, b) => () => ops.add(out, a.transpose(1, 0), b)),
    reversedAdd: call((out, a, b) => () => ops.add(out, a.step(1, -1), b)),
    sum,
    max: call((out, a, _b, task) => {
      const [n] = task.inputs[0].shape;
      return () => {
        for (let i = 0; i < n; i++) out.data[i] = ops.sup(a.pick(i, null));
      };
    }),
    softmax: call((out, a, _b, task) => {
      const [n] = task.inputs[0].shape;
      return () => eachRow(a, out, n, (_i, row, _top, total) => ops.divseq(row, total));
    }),
    logsumexp: call((out, a, _b, task) => {
      const { shape } = task.inputs[0];
      const powers = ndarray(allocate("f32", shape), shape);
      return () =>
        eachRow(a, powers, shape[0], (i, _row, top, total) => {
          out.data[i] = top + Math.log(total);
        });
    }),
    matmul: noProduct,
    matmulTransposed: noProduct,
    permuteCopy: call((out, a, _b, task) => () => ops.assign(out, a.transpose(...task.axes!))),
    cast: ((task, inputs) => {
      if (task.out.dtype === "f16") throw new Error("has no f16");
      return call((out, a) => () => ops.assign(out, a))(task, inputs);
    }) as Entry,
    ggmlCopy: call((out, a) => {
      const dense = ndarray(out.data, [13, 16, 128]);
      const turned = a.transpose(1, 0, 2);
      return () => ops.assign(dense, turned);
    }),
    gelu: own("0.5 * x * (1 + Math.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"),
    addNew: (task, inputs) => {
      const [a, b] = inputs.map((v, k) => ndarray(v, task.inputs[k].shape));
      const fresh = () => {
        const out = allocate(task.out.dtype, task.out.shape);
        ops.add(ndarray(out, task.out.shape), a, b);
        return out;
      };
      return { run: () => void fresh(), read: fresh };
    },
    compile: (task, [values]) => {
      let count = 0;
      const fresh = (c: number) => {
        const body = bodyOf(`Math.max(x * ${c} + 1, x - ${c}) / 3`);
        const out = allocate("f32", task.out.shape);
        cwise({ args: ["array", "array"], body })(ndarray(out, [64]), ndarray(values, [64]));
        return out;
      };
      return { run: () => void fresh(count++ + 0.125), read: () => fresh(compileConstant) };
    },
    ...untrained,
  },
};
