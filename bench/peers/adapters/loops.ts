/** Plain typed-array loops, as a careful person writes them: the floor of the table, and the reference without Python. */
import { allocate, reading } from "../inputs.ts";
import type { Adapter, Prepare, Task, Values } from "../types.ts";
import { newFunction } from "./strided.ts";

/** A loop over inputs and an output that is made once. */
const loop =
  (make: (out: Values, inputs: readonly Values[], task: Task) => () => void): Prepare =>
  (task, inputs) => {
    const out = allocate(task.out.dtype, task.out.shape);
    const run = make(out, inputs, task);
    return { run, read: reading(run, () => out) };
  };

function add(o: Values, [x, y]: readonly Values[], task: Task): () => void {
  const [rows, columns] = task.out.shape.length === 2 ? task.out.shape : [1, task.out.shape[0]];
  const other = task.inputs[1].shape;
  if (other.length < task.out.shape.length) {
    return () => {
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) o[i * columns + j] = x[i * columns + j] + y[j];
    };
  }
  if (other[other.length - 1] === 1) {
    return () => {
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) o[i * columns + j] = x[i * columns + j] + y[i];
    };
  }
  return () => {
    for (let i = 0; i < o.length; i++) o[i] = x[i] + y[i];
  };
}

function sum(o: Values, [x]: readonly Values[], task: Task): () => void {
  const [n, m] = task.inputs[0].shape;
  if (task.axis === 0) {
    return () => {
      o.fill(0);
      for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) o[j] += x[i * m + j];
    };
  }
  const [rows, columns] = task.axis === 1 ? [n, m] : [1, n * m];
  return () => {
    for (let i = 0; i < rows; i++) {
      let total = 0;
      for (let j = 0; j < columns; j++) total += x[i * columns + j];
      o[i] = total;
    }
  };
}

/** The largest of each row and the sum of its exponentials, then `finish`. */
function rows(finish: (o: Values, x: Values, i: number, m: number, top: number, total: number) => void) {
  return (o: Values, [x]: readonly Values[], task: Task) => {
    const [n, m] = task.inputs[0].shape;
    return () => {
      for (let i = 0; i < n; i++) {
        let top = -Infinity;
        for (let j = 0; j < m; j++) if (x[i * m + j] > top) top = x[i * m + j];
        let total = 0;
        for (let j = 0; j < m; j++) total += Math.exp(x[i * m + j] - top);
        finish(o, x, i, m, top, total);
      }
    };
  };
}

/** out[b] = x[b] · y[b], rows of y added up: every access runs along memory. */
function matmul(turned: boolean) {
  return (o: Values, [x, y]: readonly Values[], task: Task) => {
    const [a, b] = task.inputs.map((t) => t.shape);
    const k = turned ? a[0] : a[a.length - 1];
    const n = b.length === 1 ? 1 : b[b.length - 1];
    const m = turned ? a[1] : a[a.length - 2];
    const batches = o.length / (m * n);
    const [stepX, stepY] = [a.length > 2 ? m * k : 0, b.length > 2 ? k * n : 0];
    const [alongI, alongP] = turned ? [1, m] : [k, 1];
    if (n === 1) {
      return () => {
        for (let i = 0; i < m; i++) {
          let total = 0;
          for (let p = 0; p < k; p++) total += x[i * k + p] * y[p];
          o[i] = total;
        }
      };
    }
    return () => {
      o.fill(0);
      for (let t = 0; t < batches; t++) {
        for (let i = 0; i < m; i++) {
          const row = (t * m + i) * n;
          for (let p = 0; p < k; p++) {
            const v = x[t * stepX + i * alongI + p * alongP];
            const from = t * stepY + p * n;
            for (let j = 0; j < n; j++) o[row + j] += v * y[from + j];
          }
        }
      }
    };
  };
}

function permuteCopy(o: Values, [x]: readonly Values[], task: Task): () => void {
  const shape = task.inputs[0].shape;
  const [batches, n, m] = shape.length === 3 ? shape : [1, shape[0], shape[1]];
  return () => {
    for (let t = 0; t < batches; t++) {
      const base = t * n * m;
      for (let j = 0; j < m; j++) for (let i = 0; i < n; i++) o[base + j * n + i] = x[base + i * m + j];
    }
  };
}

/** One loop a pair of dtypes: a loop that meets several kinds of array is slow ever after. */
const castLoops: Record<string, (o: Values, x: Values) => void> = {
  "f32 f64": (o, x) => {
    for (let i = 0; i < o.length; i++) o[i] = x[i];
  },
  "f64 f32": (o, x) => {
    for (let i = 0; i < o.length; i++) o[i] = x[i];
  },
  "f32 i32": (o, x) => {
    for (let i = 0; i < o.length; i++) o[i] = x[i];
  },
  "f32 f16": (o, x) => {
    for (let i = 0; i < o.length; i++) o[i] = halfBits(x[i]);
  },
};

function cast(o: Values, [x]: readonly Values[], task: Task): () => void {
  const convert = castLoops[`${task.inputs[0].dtype} ${task.out.dtype}`];
  return () => convert(o, x);
}

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);
/** One float to half, ties to even, by integer arithmetic: what a loop without Float16Array has to do. */
function halfBits(x: number): number {
  float[0] = x;
  const b = bits[0];
  const sign = (b >>> 16) & 0x8000;
  const a = b & 0x7fffffff;
  if (a >= 0x47800000) return sign | (a > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (a < 0x38800000) {
    float[0] = Math.abs(x) + 0.5;
    return sign | (bits[0] - 0x3f000000);
  }
  return sign | ((a + 0xc8000fff + ((a >>> 13) & 1)) >>> 13);
}

export const loops: Adapter = {
  start: async () => ({ version: "", setup: "1 thread, existing output" }),
  ops: {
    add: loop(add),
    exp: loop((o, [x]) => () => {
      for (let i = 0; i < o.length; i++) o[i] = Math.exp(x[i]);
    }),
    tanhSquare: loop((o, [x]) => () => {
      for (let i = 0; i < o.length; i++) o[i] = Math.tanh(x[i] * x[i] + 1);
    }),
    everySecond: loop((o, [x, y], task) => {
      const [n, h] = task.out.shape;
      return () => {
        for (let i = 0; i < n; i++)
          for (let j = 0; j < h; j++) o[i * h + j] = x[i * 2 * h + 2 * j] + y[i * h + j];
      };
    }),
    transposedAdd: loop((o, [x, y], task) => {
      const [n] = task.out.shape;
      return () => {
        for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) o[i * n + j] = x[j * n + i] + y[i * n + j];
      };
    }),
    reversedAdd: loop((o, [x, y], task) => {
      const [n] = task.out.shape;
      return () => {
        for (let i = 0; i < n; i++)
          for (let j = 0; j < n; j++) o[i * n + j] = x[i * n + n - 1 - j] + y[i * n + j];
      };
    }),
    sum: loop(sum),
    max: loop((o, [x], task) => {
      const [n, m] = task.inputs[0].shape;
      return () => {
        for (let i = 0; i < n; i++) {
          let top = -Infinity;
          for (let j = 0; j < m; j++) if (x[i * m + j] > top) top = x[i * m + j];
          o[i] = top;
        }
      };
    }),
    softmax: loop(
      rows((o, x, i, m, top, total) => {
        for (let j = 0; j < m; j++) o[i * m + j] = Math.exp(x[i * m + j] - top) / total;
      }),
    ),
    logsumexp: loop(
      rows((o, _x, i, _m, top, total) => {
        o[i] = top + Math.log(total);
      }),
    ),
    matmul: loop(matmul(false)),
    matmulTransposed: loop(matmul(true)),
    permuteCopy: loop(permuteCopy),
    cast: loop(cast),
    ggmlCopy: loop((o, [x]) => () => {
      for (let i = 0; i < 13; i++)
        for (let j = 0; j < 16; j++)
          for (let k = 0; k < 128; k++) o[(i * 16 + j) * 128 + k] = x[(j * 13 + i) * 128 + k];
    }),
    gelu: loop((o, [x]) => () => {
      for (let i = 0; i < o.length; i++) {
        const v = x[i];
        o[i] = 0.5 * v * (1 + Math.tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
      }
    }),
    addNew: (task, inputs) => {
      const call = () => {
        const out = allocate(task.out.dtype, task.out.shape);
        add(out, inputs, task)();
        return out;
      };
      return { run: () => void call(), read: call };
    },
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
  },
};
