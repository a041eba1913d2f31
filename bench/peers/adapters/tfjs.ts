/** @tensorflow/tfjs on its WebAssembly backend. Every call makes a new tensor, which is disposed. */
import { CLASSES, classesOf, RATE, trained } from "../training.ts";
import type { Adapter, Entry, Prepare, Task, Values } from "../types.ts";
import { installedVersion } from "./package.ts";

interface Arr {
  add(x: Arr | number): Arr;
  mul(x: Arr | number): Arr;
  square(): Arr;
  exp(): Arr;
  tanh(): Arr;
  sum(axis?: number): Arr;
  max(axis?: number): Arr;
  softmax(axis?: number): Arr;
  logSumExp(axis?: number): Arr;
  transpose(axes?: readonly number[]): Arr;
  reverse(axis: number): Arr;
  reshape(shape: readonly number[]): Arr;
  cast(dtype: string): Arr;
  relu(): Arr;
  dataSync(): Values;
  dispose(): void;
}
interface Tfjs {
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  getBackend(): string;
  tensor(values: Values, shape: readonly number[]): Arr;
  matMul(a: Arr, b: Arr, turnA?: boolean, turnB?: boolean): Arr;
  stridedSlice(x: Arr, begin: number[], end: readonly number[], strides: number[]): Arr;
  tidy<T>(fn: () => T): T;
  oneHot(classes: Arr, depth: number): Arr;
  variable(initial: Arr): Arr;
  readonly train: {
    sgd(rate: number): { minimize(f: () => Arr, returnCost: boolean): Arr; dispose(): void };
  };
  readonly losses: { softmaxCrossEntropy(labels: Arr, logits: Arr): Arr };
}

let tf: Tfjs;

const call =
  (make: (a: Arr, b: Arr, task: Task) => () => Arr): Prepare =>
  (task, inputs) => {
    const made = inputs.map((v, k) => tf.tensor(v, task.inputs[k].shape));
    const compute = make(made[0], made[1], task);
    return {
      run: () => tf.tidy(() => void compute()),
      read: () => tf.tidy(() => compute().dataSync()),
      dispose: () => {
        for (const t of made) t.dispose();
      },
    };
  };

const cast: Prepare = (task, inputs) => {
  const types = [task.inputs[0].dtype, task.out.dtype];
  if (types.includes("f64")) throw new Error("has no f64");
  if (types.includes("f16")) throw new Error("has no f16");
  return call((a) => () => a.cast("int32"))(task, inputs);
};
/** Operands of matMul have the same rank: a vector becomes a column, a lone matrix a batch of one. */
const matmul = call((a, b, task) => {
  const [p, q] = task.inputs.map((o) => o.shape);
  if (q.length === 1) {
    const column = b.reshape([q[0], 1]);
    return () => tf.matMul(a, column).reshape(task.out.shape);
  }
  const one = p.length < q.length ? a.reshape([1, ...p]) : a;
  return () => tf.matMul(one, b);
});
const add = call((a, b) => () => a.add(b));

/** A step of gradient descent, from the scores that `forward` makes. */
const training =
  (forward: (x: Arr, params: readonly Arr[]) => Arr): Prepare =>
  (task, inputs) => {
    const given = inputs.map((v, k) =>
      k === 1 ? tf.tensor(classesOf(v), task.inputs[k].shape) : tf.tensor(v, task.inputs[k].shape),
    );
    const right = tf.oneHot(given[1], CLASSES);
    const [x, , ...start] = given;
    const optimiser = tf.train.sgd(RATE);
    let params: Arr[] = [];
    const drop = () => {
      for (const p of params) p.dispose();
    };
    return trained(
      () => {
        drop();
        params = start.map((p) => tf.variable(p));
        return () => {
          const loss = optimiser.minimize(
            () => tf.losses.softmaxCrossEntropy(right, forward(x, params)),
            true,
          );
          const [value] = loss.dataSync();
          loss.dispose();
          return value;
        };
      },
      () => {
        drop();
        for (const t of [...given, right]) t.dispose();
      },
    );
  };

const linear = (x: Arr, w: Arr, b: Arr) => tf.matMul(x, w, false, true).add(b);

export const tfjs: Adapter = {
  start: async () => {
    tf = (await import("@tensorflow/tfjs" as string)) as Tfjs;
    await import("@tensorflow/tfjs-backend-wasm" as string);
    if (!(await tf.setBackend("wasm"))) throw new Error("the wasm backend does not start");
    await tf.ready();
    return {
      version: installedVersion("@tensorflow/tfjs"),
      setup: "backend-wasm with SIMD, 1 thread (it starts threads in browsers only); new results",
    };
  },
  ops: {
    add,
    exp: call((a) => () => a.exp()),
    tanhSquare: call((a) => () => a.square().add(1).tanh()),
    everySecond: call((a, b, task) => {
      const { shape } = task.inputs[0];
      return () => tf.stridedSlice(a, [0, 0], shape, [1, 2]).add(b);
    }),
    transposedAdd: call((a, b) => () => a.transpose().add(b)),
    reversedAdd: call((a, b) => () => a.reverse(1).add(b)),
    sum: call((a, _b, task) => () => a.sum(task.axis ?? undefined)),
    max: call((a, _b, task) => () => a.max(task.axis ?? undefined)),
    softmax: call((a) => () => a.softmax(-1)),
    logsumexp: call((a) => () => a.logSumExp(1)),
    matmul,
    matmulTransposed: call((a, b) => () => tf.matMul(a, b, true)),
    permuteCopy: call((a, _b, task) => () => a.transpose(task.axes)),
    cast: cast as Entry,
    ggmlCopy: call((a, _b, task) => () => a.transpose([1, 0, 2]).reshape(task.out.shape)),
    gelu: call((x) => () => {
      const cubic = x.mul(x).mul(x).mul(0.044715);
      return x.mul(0.5).mul(x.add(cubic).mul(0.7978845608).tanh().add(1));
    }),
    addNew: add,
    compile: "has no kernels of one's own on this backend: functions are composed of its operations",
    trainMlp: training((x, [w1, b1, w2, b2, w3, b3]) =>
      linear(linear(linear(x, w1, b1).relu(), w2, b2).relu(), w3, b3),
    ),
    trainConvnet: "its WebAssembly backend has no gradient of a convolution's weights (Conv2DBackpropFilter)",
  },
};
