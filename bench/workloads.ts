/** The elementwise workloads: each with its plain typed-array loop, as a careful person would write it. */
import { arange, kernel, type Tensor, zeros } from "../src/index.ts";
import { type Contestant, verify } from "./harness.ts";
import { sampleValues } from "./python.ts";

export interface Workload {
  readonly name: string;
  /** At least this many times the loop's speed on one thread. */
  readonly target: number | null;
  /** Bytes moved, for GB/s. */
  readonly bytes: number;
  readonly make: () => readonly [ours: Contestant, loop: Contestant];
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

function filled(n: number): Tensor {
  const t = zeros([n, n]);
  (t.data as Float32Array).set(values(n * n));
  return t;
}

/** Runs both once and compares, then gives both. */
function pair(
  name: string,
  out: Tensor,
  want: Float32Array,
  ours: () => void,
  loop: () => void,
  tolerance = 0,
): readonly [Contestant, Contestant] {
  ours();
  loop();
  verify(name, out.contiguous().data as Float32Array, want, tolerance);
  return [
    { name: "strided", run: ours },
    { name: "loop", run: loop },
  ];
}

export function elementwiseWorkloads(n: number): Workload[] {
  const MB = n * n * 4;
  const fresh = () => ({
    a: filled(n),
    b: filled(n),
    out: zeros([n, n]),
    x: values(n * n),
    y: values(n * n),
  });
  return [
    {
      name: "a + b",
      target: 3,
      bytes: 3 * MB,
      make: () => {
        const { a, b, out, x, y } = fresh();
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < o.length; i++) o[i] = x[i] + y[i];
        };
        return pair("a + b", out, o, () => add.into(out, a, b), loop);
      },
    },
    {
      name: "exp(a)",
      target: 8,
      bytes: 2 * MB,
      make: () => {
        const { a, out, x } = fresh();
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < o.length; i++) o[i] = Math.exp(x[i]);
        };
        return pair("exp", out, o, () => exp.into(out, a), loop, 2e-7);
      },
    },
    {
      name: "tanh(a·a + 1)",
      target: 10,
      bytes: 2 * MB,
      make: () => {
        const { a, out, x } = fresh();
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < o.length; i++) o[i] = Math.tanh(x[i] * x[i] + 1);
        };
        return pair("tanh", out, o, () => tanh.into(out, a), loop, 4e-7);
      },
    },
    {
      name: "a + row",
      target: 5,
      bytes: 2 * MB,
      make: () => {
        const { a, out, x } = fresh();
        const row = arange(n);
        const r = (row.data as Float32Array).slice();
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) o[i * n + j] = x[i * n + j] + r[j];
        };
        return pair("a + row", out, o, () => add.into(out, a, row), loop);
      },
    },
    {
      name: "a + column",
      target: null,
      bytes: 2 * MB,
      make: () => {
        const { a, out, x } = fresh();
        const column = arange(n).reshape(n, 1);
        const c = (column.data as Float32Array).slice();
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) o[i * n + j] = x[i * n + j] + c[i];
        };
        return pair("a + column", out, o, () => add.into(out, a, column), loop);
      },
    },
    {
      name: "a[:, ::2] + b",
      target: 3,
      bytes: 2 * MB,
      make: () => {
        const { a, x, y } = fresh();
        const h = n / 2;
        const b = zeros([n, h]);
        (b.data as Float32Array).set(y.subarray(0, n * h));
        const out = zeros([n, h]);
        const even = a.slice(":", "::2");
        const o = new Float32Array(n * h);
        const loop = () => {
          for (let i = 0; i < n; i++)
            for (let j = 0; j < h; j++) o[i * h + j] = x[i * n + 2 * j] + y[i * h + j];
        };
        return pair("a[:, ::2] + b", out, o, () => add.into(out, even, b), loop);
      },
    },
    {
      name: "a.T + b",
      target: 3,
      bytes: 3 * MB,
      make: () => {
        const { a, b, out, x, y } = fresh();
        const turned = a.T;
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) o[i * n + j] = x[j * n + i] + y[i * n + j];
        };
        return pair("a.T + b", out, o, () => add.into(out, turned, b), loop);
      },
    },
    {
      name: "a[:, ::-1] + b",
      target: null,
      bytes: 3 * MB,
      make: () => {
        const { a, b, out, x, y } = fresh();
        const back = a.slice(":", "::-1");
        const o = new Float32Array(n * n);
        const loop = () => {
          for (let i = 0; i < n; i++)
            for (let j = 0; j < n; j++) o[i * n + j] = x[i * n + n - 1 - j] + y[i * n + j];
        };
        return pair("reversed", out, o, () => add.into(out, back, b), loop);
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
      const a = filled(n);
      const out = zeros([n, n]);
      const x = (a.data as Float32Array).slice();
      const o = new Float32Array(n * n);
      const turned = a.T;
      const loop = () => {
        for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) o[i * n + j] = x[j * n + i];
      };
      return pair("transpose", out, o, () => copy.into(out, turned), loop);
    },
  };
}

export function castWorkload(n: number): Workload {
  return {
    name: "f32 → f16",
    target: null,
    bytes: n * n * 6,
    make: () => {
      const a = filled(n);
      const out = zeros([n, n], { dtype: "f16" });
      const x = (a.data as Float32Array).slice();
      const o = new Uint16Array(n * n);
      const loop = () => {
        for (let i = 0; i < o.length; i++) o[i] = halfBits(x[i]);
      };
      out.assign(a);
      loop();
      verify("f32 → f16", out.data as Uint16Array, o);
      return [
        { name: "strided", run: () => out.assign(a) },
        { name: "loop", run: loop },
      ];
    },
  };
}

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);
/** One float to half, by integer arithmetic: what a loop without Float16Array has to do. */
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
