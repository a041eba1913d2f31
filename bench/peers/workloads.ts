/** The workloads, as one table: what is computed, on what, and what it moves. Sizes are a parameter of the table. */
import { convnetInputs, mlpInputs, STEPS } from "./training.ts";
import type { DTypeName, Group, Operand, Task, Workload } from "./types.ts";

export type Size = "full" | "quick" | "tiny";

interface Sizes {
  /** Side of the square matrices of elementwise work and reductions. */
  readonly n: number;
  readonly softmax: readonly [number, number];
  readonly matmul: readonly number[];
  readonly batched: readonly [number, number];
  readonly gemv: number;
  readonly skinny: readonly [number, number];
  readonly turned: number;
  readonly permute: readonly [number, number, number];
  readonly transpose: number;
  /** Sizes of layers and pictures of a batch; channels, side of a picture and pictures of a batch. */
  readonly mlp: readonly [readonly number[], number];
  readonly convnet: readonly [readonly number[], number, number];
}

const sizes: Record<Size, Sizes> = {
  full: {
    n: 4096,
    softmax: [2048, 4096],
    matmul: [32, 64, 128, 256, 512, 1024, 2048],
    batched: [64, 128],
    gemv: 4096,
    skinny: [4096, 8],
    turned: 1024,
    permute: [64, 512, 512],
    transpose: 4096,
    mlp: [[784, 512, 512, 10], 256],
    convnet: [[1, 16, 32], 28, 64],
  },
  quick: {
    n: 1024,
    softmax: [512, 1024],
    matmul: [32, 64, 128, 256, 512],
    batched: [16, 128],
    gemv: 1024,
    skinny: [1024, 8],
    turned: 256,
    permute: [16, 256, 256],
    transpose: 1024,
    mlp: [[196, 64, 64, 10], 64],
    convnet: [[1, 4, 8], 12, 16],
  },
  tiny: {
    n: 24,
    softmax: [6, 20],
    matmul: [5, 16],
    batched: [3, 8],
    gemv: 20,
    skinny: [24, 3],
    turned: 12,
    permute: [3, 10, 6],
    transpose: 40,
    mlp: [[12, 9, 7, 10], 5],
    convnet: [[1, 2, 3], 8, 3],
  },
};

const bytesOf: Record<DTypeName, number> = { f32: 4, f64: 8, i32: 4, f16: 2 };
const count = (shape: readonly number[]) => shape.reduce((p, d) => p * d, 1);
const input = (shape: readonly number[], dtype: DTypeName = "f32", scale = 1): Operand => ({
  shape,
  dtype,
  scale,
});
/** ggml's copy of the documents: sizes [128, 16, 13] at byte strides [4, 6656, 512] into a dense [2048, 13]. */
export const ggml = { ne: [128, 16, 13, 1], nb: [4, 6656, 512, 106496], out: [13, 2048] } as const;

type Row = Omit<Task, "tolerance" | "out"> &
  Pick<Workload, "id" | "title"> & {
    readonly out: readonly number[];
    readonly dtype?: DTypeName;
    readonly tolerance?: number;
    readonly measure?: Workload["measure"];
    readonly flops?: number;
  };

export function workloads(size: Size): Workload[] {
  const s = sizes[size];
  const { n } = s;
  const square = input([n, n]);
  const small = input([64, 64]);
  const [sm, sn] = s.softmax;
  const [batch, side] = s.batched;
  const [long, thin] = s.skinny;
  const product = (
    id: string,
    title: string,
    a: readonly number[],
    b: readonly number[],
    out: readonly number[],
  ) => {
    const k = a[a.length - 1];
    return { id, title, op: "matmul", inputs: [input(a), input(b)], out, flops: 2 * count(out) * k } as const;
  };
  const table: Record<Group, readonly Row[]> = {
    elementwise: [
      { id: "add", title: "a + b", op: "add", inputs: [square, square], out: [n, n] },
      { id: "exp", title: "exp(a)", op: "exp", inputs: [square], out: [n, n], tolerance: 2e-6 },
      {
        id: "tanh",
        title: "tanh(a·a + 1)",
        op: "tanhSquare",
        inputs: [square],
        out: [n, n],
        tolerance: 2e-6,
      },
    ],
    strides: [
      { id: "row", title: "a + row", op: "add", inputs: [square, input([n])], out: [n, n] },
      { id: "column", title: "a + column", op: "add", inputs: [square, input([n, 1])], out: [n, n] },
      {
        id: "every-second",
        title: "a[:, ::2] + b",
        op: "everySecond",
        inputs: [square, input([n, n / 2])],
        out: [n, n / 2],
      },
      { id: "transposed", title: "a.T + b", op: "transposedAdd", inputs: [square, square], out: [n, n] },
      { id: "reversed", title: "a[:, ::-1] + b", op: "reversedAdd", inputs: [square, square], out: [n, n] },
    ],
    reductions: [
      { id: "sum-0", title: "sum, axis 0", op: "sum", axis: 0, inputs: [square], out: [n], tolerance: 5e-3 },
      { id: "sum-1", title: "sum, axis 1", op: "sum", axis: 1, inputs: [square], out: [n], tolerance: 5e-3 },
      { id: "sum", title: "sum, all", op: "sum", axis: null, inputs: [square], out: [], tolerance: 2e-3 },
      { id: "max-1", title: "max, axis 1", op: "max", axis: 1, inputs: [square], out: [n] },
      {
        id: "softmax",
        title: `softmax ${sm}×${sn}`,
        op: "softmax",
        inputs: [input([sm, sn])],
        out: [sm, sn],
        tolerance: 1e-6,
      },
      {
        id: "logsumexp",
        title: `logsumexp ${sm}×${sn}`,
        op: "logsumexp",
        inputs: [input([sm, sn])],
        out: [sm],
        tolerance: 5e-6,
      },
    ],
    matmul: s.matmul.map((m) => product(`matmul-${m}`, `${m}`, [m, m], [m, m], [m, m])),
    shapes: [
      product(
        "batched",
        `batched (${batch},${side},${side})`,
        [batch, side, side],
        [batch, side, side],
        [batch, side, side],
      ),
      product(
        "broadcast-batch",
        `(${side},${side}) @ (${batch},${side},${side})`,
        [side, side],
        [batch, side, side],
        [batch, side, side],
      ),
      product("gemv", `matrix · vector ${s.gemv}`, [s.gemv, s.gemv], [s.gemv], [s.gemv]),
      product("skinny", `(${long},${long}) @ (${long},${thin})`, [long, long], [long, thin], [long, thin]),
      {
        ...product(
          "a-t-b",
          `A.T @ B ${s.turned}`,
          [s.turned, s.turned],
          [s.turned, s.turned],
          [s.turned, s.turned],
        ),
        op: "matmulTransposed",
      },
    ],
    copies: [
      {
        id: "permute",
        title: `permute(0,2,1) of (${s.permute.join(",")})`,
        op: "permuteCopy",
        axes: [0, 2, 1],
        inputs: [input(s.permute)],
        out: [s.permute[0], s.permute[2], s.permute[1]],
      },
      {
        id: "transpose",
        title: `transpose ${s.transpose}²`,
        op: "permuteCopy",
        axes: [1, 0],
        inputs: [input([s.transpose, s.transpose])],
        out: [s.transpose, s.transpose],
      },
      { id: "f32-f64", title: "f32 → f64", op: "cast", inputs: [square], out: [n, n], dtype: "f64" },
      { id: "f64-f32", title: "f64 → f32", op: "cast", inputs: [input([n, n], "f64")], out: [n, n] },
      {
        id: "f32-i32",
        title: "f32 → i32",
        op: "cast",
        inputs: [input([n, n], "f32", 1000)],
        out: [n, n],
        dtype: "i32",
      },
      { id: "f32-f16", title: "f32 → f16", op: "cast", inputs: [square], out: [n, n], dtype: "f16" },
      {
        id: "ggml",
        title: "ggml's copy, 26,624",
        op: "ggmlCopy",
        inputs: [input([16, 13, 128])],
        out: ggml.out,
      },
    ],
    kernels: [
      { id: "gelu", title: "gelu(a)", op: "gelu", inputs: [square], out: [n, n], tolerance: 3e-6 },
      { id: "small", title: "64×64 add", op: "add", inputs: [small, small], out: [64, 64] },
      {
        id: "small-new",
        title: "64×64 add, new result",
        op: "addNew",
        inputs: [small, small],
        out: [64, 64],
      },
      {
        id: "compile",
        title: "a new kernel's first result",
        op: "compile",
        inputs: [input([64])],
        out: [64],
        tolerance: 1e-6,
      },
    ],
    training: [
      {
        id: "train-mlp",
        title: `MLP ${s.mlp[0].join("-")}, batch ${s.mlp[1]}`,
        op: "trainMlp",
        inputs: mlpInputs(...s.mlp),
        out: [STEPS],
        tolerance: 1e-4,
      },
      {
        id: "train-convnet",
        title: `convnet ${s.convnet[0].join("-")}, ${s.convnet[1]}² pixels, batch ${s.convnet[2]}`,
        op: "trainConvnet",
        inputs: convnetInputs(...s.convnet),
        out: [STEPS],
        tolerance: 1e-4,
      },
    ],
    start: [
      {
        id: "import",
        title: "import to first result",
        op: "add",
        measure: "import",
        inputs: [input([64]), input([64])],
        out: [64],
      },
      {
        id: "memory",
        title: `peak memory, gelu of ${n}²`,
        op: "gelu",
        measure: "memory",
        inputs: [square],
        out: [n, n],
        tolerance: 3e-6,
      },
    ],
  };
  return Object.entries(table).flatMap(([group, rows]) => rows.map((row) => resolve(group as Group, row)));
}

/** The constant 64-element kernel of the latency test is max(x·c + 1, x - c) / 3; this is c where it is verified. */
export const compileConstant = 7.5;

function resolve(group: Group, row: Row): Workload {
  const { dtype = "f32", out, flops = 0, measure = "call", ...rest } = row;
  const size = (o: Operand) => count(o.shape) * bytesOf[o.dtype];
  const read = row.inputs.reduce((sum, o) => sum + size(o), 0);
  const tolerance = row.tolerance ?? (flops > 0 ? 4e-4 : 0);
  const bytes = read + count(out) * bytesOf[dtype];
  return { ...rest, group, measure, tolerance, flops, bytes, out: { shape: out, dtype } };
}

/** What a group is called, and what its numbers are given in. */
export const groups: Record<Group, { readonly title: string; readonly about: string }> = {
  elementwise: { title: "Elementwise", about: "f32, dense" },
  strides: { title: "Broadcasting and strides", about: "f32; operands are views, nothing is copied first" },
  reductions: { title: "Reductions", about: "f32" },
  matmul: { title: "Matrix product, square", about: "f32, n × n" },
  shapes: { title: "Matrix product, other shapes", about: "f32" },
  copies: { title: "Copies and conversions", about: "into dense memory" },
  kernels: { title: "Your own function, and what a call costs", about: "gelu by its tanh formula" },
  training: { title: "A step of training", about: "f32; loss, gradients and descent, one batch" },
  start: { title: "Start and memory", about: "in fresh processes" },
};
