/** numpy-ts: NumPy's calls on its WebAssembly kernels. Every call makes a new array; there is no out. */
import { untrained } from "../training.ts";
import type { Adapter, Prepare, Task, Values } from "../types.ts";
import { installedVersion } from "./package.ts";

interface Arr {
  readonly T: Arr;
  readonly data: Values;
  readonly shape: readonly number[];
  reshape(...shape: number[]): Arr;
  slice(...items: string[]): Arr;
  transpose(axes?: readonly number[]): Arr;
  astype(dtype: string): Arr;
  copy(): Arr;
  flatten(): Arr;
  dispose?(): void;
}
type Two = (a: Arr, b: Arr | number) => Arr;
type One = (a: Arr) => Arr;
type Fold = (a: Arr, axis?: number, keepdims?: boolean) => Arr;
interface NumpyTs {
  configureWasm(options: { maxMemory: number }): void;
  asarray(values: Values, dtype: string): Arr;
  add: Two;
  subtract: Two;
  multiply: Two;
  divide: Two;
  exp: One;
  log: One;
  tanh: One;
  sum: Fold;
  max: Fold;
  matmul(a: Arr, b: Arr): Arr;
  ascontiguousarray: One;
}

let np: NumpyTs;
const dtypes: Record<string, string> = { f32: "float32", f64: "float64", i32: "int32", f16: "float16" };

/** Arrays made on the way, let go at the end of the call. */
class Keep {
  readonly #made: Arr[] = [];
  add<T>(x: T): T {
    if (typeof x === "object") this.#made.push(x as Arr);
    return x;
  }
  free(): void {
    for (const a of this.#made) a.dispose?.();
    this.#made.length = 0;
  }
}

const call =
  (make: (a: Arr, b: Arr, task: Task, keep: Keep) => () => Arr): Prepare =>
  (task, inputs) => {
    const flat = inputs.map((v, k) => np.asarray(v, dtypes[task.inputs[k].dtype]));
    const made = flat.map((a, k) => a.reshape(...task.inputs[k].shape));
    const keep = new Keep();
    const compute = make(made[0], made[1], task, keep);
    return {
      run: () => {
        keep.add(compute());
        keep.free();
      },
      read: () => {
        const r = compute() as Arr | number;
        if (typeof r === "number") return Float32Array.of(r);
        const flattened = keep.add(keep.add(np.ascontiguousarray(keep.add(r))).flatten());
        const { data } = flattened;
        // A Float16Array, where there is one, is read as its bits.
        const bits = task.out.dtype === "f16";
        const values = bits
          ? new Uint16Array(data.buffer, data.byteOffset, data.length).slice()
          : data.slice();
        keep.free();
        return values;
      },
      dispose: () => {
        for (const a of [...made, ...flat]) a.dispose?.();
      },
    };
  };

export const numpyTs: Adapter = {
  start: async () => {
    if (Number(process.versions.node.split(".")[0]) < 22) throw new Error("needs Node 22 or newer");
    np = (await import("numpy-ts" as string)) as NumpyTs;
    // By default 256 MiB, and all that does not fit is computed in plain JavaScript from then on.
    np.configureWasm({ maxMemory: 3 * 2 ** 30 });
    return {
      version: installedVersion("numpy-ts"),
      setup: "WebAssembly kernels with 3 GiB of memory, 1 thread (it has no others); new results",
    };
  },
  ops: {
    add: call((a, b) => () => np.add(a, b)),
    exp: call((a) => () => np.exp(a)),
    tanhSquare: call((a, _b, _task, keep) => () => {
      const square = keep.add(np.multiply(a, a));
      return np.tanh(keep.add(np.add(square, 1)));
    }),
    everySecond: call((a, b) => {
      const even = a.slice(":", "::2");
      return () => np.add(even, b);
    }),
    transposedAdd: call((a, b) => {
      const turned = a.T;
      return () => np.add(turned, b);
    }),
    reversedAdd: call((a, b) => {
      const back = a.slice(":", "::-1");
      return () => np.add(back, b);
    }),
    sum: call((a, _b, task) => () => np.sum(a, task.axis ?? undefined)),
    max: call((a, _b, task) => () => np.max(a, task.axis ?? undefined)),
    softmax: call((a, _b, _task, keep) => () => {
      const top = keep.add(np.max(a, 1, true));
      const powers = keep.add(np.exp(keep.add(np.subtract(a, top))));
      return np.divide(powers, keep.add(np.sum(powers, 1, true)));
    }),
    logsumexp: call((a, _b, _task, keep) => () => {
      const top = keep.add(np.max(a, 1, true));
      const total = keep.add(np.sum(keep.add(np.exp(keep.add(np.subtract(a, top)))), 1, true));
      return np.add(keep.add(np.log(total)), top);
    }),
    matmul: call((a, b) => () => np.matmul(a, b)),
    matmulTransposed: call((a, b) => {
      const turned = a.T;
      return () => np.matmul(turned, b);
    }),
    permuteCopy: call((a, _b, task) => {
      const turned = a.transpose(task.axes);
      return () => np.ascontiguousarray(turned);
    }),
    cast: call((a, _b, task) => () => a.astype(dtypes[task.out.dtype])),
    ggmlCopy: call((a, _b, task, keep) => {
      const turned = a.transpose([1, 0, 2]);
      return () => keep.add(np.ascontiguousarray(turned)).reshape(...task.out.shape);
    }),
    gelu: call((x, _b, _task, keep) => () => {
      const square = keep.add(np.multiply(x, x));
      const cubic = keep.add(np.multiply(keep.add(np.multiply(square, x)), 0.044715));
      const inner = keep.add(np.tanh(keep.add(np.multiply(keep.add(np.add(x, cubic)), 0.7978845608))));
      return np.multiply(keep.add(np.multiply(x, 0.5)), keep.add(np.add(inner, 1)));
    }),
    addNew: call((a, b) => () => np.add(a, b)),
    compile: "has no kernels of one's own: functions are composed of its operations",
    ...untrained,
  },
};
