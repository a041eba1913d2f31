/** @jax-js/jax: functions under jit, on its WebAssembly device. A call waits until the result is there. */
import { CLASSES, classesOf, RATE, STEPS } from "../training.ts";
import type { Adapter, Entry, Prepare, Task, Values } from "../types.ts";
import { compileConstant } from "../workloads.ts";
import { installedVersion } from "./package.ts";

/** What is used of the library's face. Arguments are consumed; `ref` keeps one. */
interface Arr {
  readonly shape: readonly number[];
  readonly ref: Arr;
  add(x: Arr | number): Arr;
  sub(x: Arr | number): Arr;
  mul(x: Arr | number): Arr;
  div(x: Arr | number): Arr;
  reshape(shape: readonly number[]): Arr;
  slice(...index: (number | [])[]): Arr;
  astype(dtype: string): Arr;
  sum(): Arr;
  blockUntilReady(): Promise<Arr>;
  data(): Promise<Values>;
  dispose(): void;
}
interface Jax {
  init(...devices: string[]): Promise<string[]>;
  defaultDevice(device: string): string;
  jit<F>(f: F): F;
  valueAndGrad(f: (params: Arr[], x: Arr, y: Arr) => Arr): (params: Arr[], x: Arr, y: Arr) => [Arr, Arr[]];
  readonly nn: {
    softmax(x: Arr, axis: number): Arr;
    logsumexp(x: Arr, axis: number): Arr;
    relu(x: Arr): Arr;
    logSoftmax(x: Arr): Arr;
    oneHot(x: Arr, classes: number): Arr;
  };
  readonly lax: {
    convGeneralDilated(x: Arr, w: Arr, strides: number[], padding: [number, number][]): Arr;
    reduceWindow(x: Arr, f: (x: Arr) => Arr, sizes: number[], strides: number[]): Arr;
  };
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

/** A step of gradient descent under jit, from the scores that `forward` makes. Weights of layers are [inputs, outputs]. */
const training =
  (forward: (params: readonly Arr[], x: Arr) => Arr): Prepare =>
  async (task, inputs) => {
    const array = (k: number) => jx.numpy.array(inputs[k]).reshape(task.inputs[k].shape);
    const [batch] = task.inputs[0].shape;
    const x = array(0);
    const y = jx.nn.oneHot(jx.numpy.array(classesOf(inputs[1])), CLASSES);
    const loss = (params: readonly Arr[], a: Arr, b: Arr) =>
      jx.nn
        .logSoftmax(forward(params, a))
        .mul(b)
        .sum()
        .mul(-1 / batch);
    const step = jx.jit((params: Arr[], a: Arr, b: Arr): [Arr, Arr[]] => {
      const [value, grads] = jx.valueAndGrad(loss)(
        params.map((p) => p.ref),
        a,
        b,
      );
      return [value, params.map((p, k) => p.sub(grads[k].mul(RATE)))];
    });
    let params: Arr[] = [];
    const begin = async () => {
      for (const p of params) p.dispose();
      params = inputs.slice(2).map((_, k) => {
        const made = array(k + 2);
        return task.inputs[k + 2].shape.length === 2 ? jx.numpy.transpose(made) : made;
      });
      for (const p of [x, y, ...params]) await p.blockUntilReady();
    };
    const once = async () => {
      const [value, next] = step(params, x.ref, y.ref);
      params = next;
      for (const p of params) await p.blockUntilReady();
      return value;
    };
    await begin();
    return {
      run: async () => (await once()).dispose(),
      read: async () => {
        await begin();
        const losses = new Float32Array(STEPS);
        for (let i = 0; i < STEPS; i++) [losses[i]] = await (await once()).data();
        return losses;
      },
      dispose: () => {
        for (const a of [x, y, ...params]) a.dispose();
      },
    };
  };

const linear = (x: Arr, w: Arr, b: Arr) => jx.numpy.matmul(x, w).add(b);
const around: [number, number][] = [
  [1, 1],
  [1, 1],
];
/** A convolution of 3 × 3 with zeros around, relu, and a pool of 2. */
function convolved(x: Arr, w: Arr, b: Arr): Arr {
  const channels = b.shape[0];
  const made = jx.lax.convGeneralDilated(x, w, [1, 1], around).add(b.reshape([channels, 1, 1]));
  return jx.lax.reduceWindow(jx.nn.relu(made), jx.numpy.max, [2, 2], [2, 2]);
}

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
    trainMlp: training(([w1, b1, w2, b2, w3, b3], x) =>
      linear(jx.nn.relu(linear(jx.nn.relu(linear(x, w1, b1)), w2, b2)), w3, b3),
    ),
    trainConvnet: training(([w1, b1, w2, b2, w3, b3], x) => {
      const [batch] = x.shape;
      const two = convolved(convolved(x, w1, b1), w2, b2);
      return linear(two.reshape([batch, -1]), w3, b3);
    }),
  },
};
