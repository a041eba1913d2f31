/** @jax-js/jax: functions under jit, on its WebAssembly device. A call waits until the result is there. */
import type { Adapter, Entry, Prepare, Task, Values } from "../types.ts";
import { compileConstant } from "../workloads.ts";
import { installedVersion } from "./package.ts";

/** What is used of the library's face. Arguments are consumed; `ref` keeps one. */
interface Arr {
  readonly ref: Arr;
  add(x: Arr | number): Arr;
  sub(x: Arr | number): Arr;
  mul(x: Arr | number): Arr;
  div(x: Arr | number): Arr;
  reshape(shape: readonly number[]): Arr;
  slice(...index: (number | [])[]): Arr;
  astype(dtype: string): Arr;
  blockUntilReady(): Promise<Arr>;
  data(): Promise<Values>;
  dispose(): void;
}
interface Jax {
  init(...devices: string[]): Promise<string[]>;
  defaultDevice(device: string): string;
  jit<F>(f: F): F;
  readonly nn: { softmax(x: Arr, axis: number): Arr; logsumexp(x: Arr, axis: number): Arr };
  readonly numpy: {
    array(x: Values): Arr;
    exp(x: Arr): Arr;
    tanh(x: Arr): Arr;
    flip(x: Arr, axis: number): Arr;
    transpose(x: Arr, axes?: readonly number[]): Arr;
    matmul(a: Arr, b: Arr): Arr;
    maximum(a: Arr, b: Arr): Arr;
    sum(x: Arr, axis?: number): Arr;
    max(x: Arr, axis?: number): Arr;
  };
}

let jx: Jax;
const dtypes: Record<string, string> = { f32: "float32", f64: "float64", i32: "int32" };

const call =
  (make: (task: Task) => (a: Arr, b: Arr) => Arr, { jitted = true } = {}): Prepare =>
  async (task, inputs) => {
    const made = inputs.map((v, k) => {
      const { dtype, shape } = task.inputs[k];
      // A Float64Array is refused where there is no Float16Array to compare it with; the inputs fit in f32.
      if (dtype === "f64") return jx.numpy.array(Float32Array.from(v)).astype(dtypes.f64).reshape(shape);
      return jx.numpy.array(v).reshape(shape);
    });
    for (const a of made) await a.blockUntilReady();
    const f = jitted ? jx.jit(make(task)) : make(task);
    const one = f as (a: Arr) => Arr;
    const compute = made.length === 1 ? () => one(made[0].ref) : () => f(made[0].ref, made[1].ref);
    return {
      run: async () => {
        const r = compute();
        await r.blockUntilReady();
        r.dispose();
      },
      read: () => compute().data(),
      dispose: () => {
        for (const a of made) a.dispose();
      },
    };
  };

const add = call(() => (a, b) => a.add(b));
const cast: Prepare = (task, inputs) => {
  if (task.out.dtype === "f16") throw new Error("its WebAssembly device has no f16");
  return call((t) => (a: Arr) => a.astype(dtypes[t.out.dtype]))(task, inputs);
};

export const jax: Adapter = {
  start: async () => {
    jx = (await import("@jax-js/jax" as string)) as Jax;
    await jx.init("wasm");
    jx.defaultDevice("wasm");
    return {
      version: installedVersion("@jax-js/jax"),
      setup: "wasm device, jit; 1 thread (its threads need Web Workers, which Node has not)",
    };
  },
  ops: {
    add,
    exp: call(() => (a: Arr) => jx.numpy.exp(a)),
    tanhSquare: call(() => (a: Arr) => jx.numpy.tanh(a.ref.mul(a).add(1))),
    // Slices have no steps: pairs, then the first of each.
    everySecond: call((task) => {
      const [n, h] = task.out.shape;
      return (a, b) => a.reshape([n, h, 2]).slice([], [], 0).add(b);
    }),
    transposedAdd: call(() => (a, b) => jx.numpy.transpose(a).add(b)),
    reversedAdd: call(() => (a, b) => jx.numpy.flip(a, 1).add(b)),
    sum: call((task) => (a: Arr) => jx.numpy.sum(a, task.axis ?? undefined)),
    max: call((task) => (a: Arr) => jx.numpy.max(a, task.axis ?? undefined)),
    softmax: call(() => (a: Arr) => jx.nn.softmax(a, -1)),
    logsumexp: call(() => (a: Arr) => jx.nn.logsumexp(a, -1)),
    matmul: call((task) => {
      // Its matmul does not broadcast a lone matrix over a batch; a batch of one is broadcast.
      const [p, q] = task.inputs.map((o) => o.shape);
      const left = p.length < q.length ? [1, ...p] : p;
      return (a, b) => jx.numpy.matmul(a.reshape(left), b);
    }),
    matmulTransposed: call(() => (a, b) => jx.numpy.matmul(jx.numpy.transpose(a), b)),
    permuteCopy: call((task) => (a: Arr) => jx.numpy.transpose(a, task.axes)),
    cast: cast as Entry,
    ggmlCopy: call((task) => (a: Arr) => jx.numpy.transpose(a, [1, 0, 2]).reshape(task.out.shape)),
    gelu: call(() => (x: Arr) => {
      const cubic = x.ref.mul(x.ref).mul(x.ref).mul(0.044715);
      const inner = jx.numpy.tanh(x.ref.add(cubic).mul(0.7978845608));
      return x.mul(0.5).mul(inner.add(1));
    }),
    addNew: add,
    compile: async (_task, [values]) => {
      const x = jx.numpy.array(values);
      await x.blockUntilReady();
      let count = 0;
      const fresh = (c: number) =>
        jx.jit((a: Arr) => jx.numpy.maximum(a.ref.mul(c).add(1), a.sub(c)).div(3))(x.ref);
      return {
        run: async () => {
          const r = fresh(count++ + 0.125);
          await r.blockUntilReady();
          r.dispose();
        },
        read: () => fresh(compileConstant).data(),
      };
    },
  },
};
