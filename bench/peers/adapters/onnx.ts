/**
 * onnxruntime-web: one model a workload, on its WebAssembly provider with all threads. A call hands over JavaScript
 * arrays and gets JavaScript arrays: the library copies them in and out, which is part of using it.
 */
import { availableParallelism } from "node:os";
import { untrained } from "../training.ts";
import type { Adapter, Prepare, Task, Values } from "../types.ts";
import { compileConstant } from "../workloads.ts";
import { type GraphConstant, type GraphNode, onnxModel } from "./onnx-model.ts";
import { installedVersion } from "./package.ts";

interface OrtTensor {
  readonly data: Values;
  dispose(): void;
}
interface Session {
  run(feeds: Record<string, OrtTensor>): Promise<{ out: OrtTensor }>;
  release(): Promise<void>;
}
interface Ort {
  readonly env: { logLevel: string; readonly wasm: { numThreads?: number } };
  readonly Tensor: new (type: string, data: Values, shape: readonly number[]) => OrtTensor;
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<Session> };
}

let ort: Ort;
const types: Record<string, string> = { f32: "float32", f64: "float64", i32: "int32", f16: "float16" };

interface Recipe {
  readonly nodes: readonly GraphNode[];
  readonly constants?: readonly GraphConstant[];
}

const step = (
  op: string,
  inputs: readonly string[],
  output = "out",
  attributes: GraphNode["attributes"] = {},
): GraphNode => ({ op, inputs, output, attributes });
const integers = (name: string, values: readonly number[]): GraphConstant => ({
  name,
  dtype: "i64",
  shape: [values.length],
  values,
});
const number = (name: string, x: number): GraphConstant => ({ name, dtype: "f32", shape: [], values: [x] });

function session(task: Task, recipe: Recipe): Promise<Session> {
  const model = onnxModel({
    ...recipe,
    inputs: task.inputs.map(({ dtype, shape }, k) => ({ name: "ab"[k], dtype, shape })),
    output: { name: "out", ...task.out },
  });
  return ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
}

function feedsOf(task: Task, inputs: readonly Values[]): Record<string, OrtTensor> {
  const tensors = inputs.map((v, k) => new ort.Tensor(types[task.inputs[k].dtype], v, task.inputs[k].shape));
  return Object.fromEntries(tensors.map((t, k) => ["ab"[k], t]));
}

function valuesOf({ data }: OrtTensor, task: Task): Values {
  return task.out.dtype === "f16" ? new Uint16Array(data.buffer, data.byteOffset, data.length) : data;
}

const model =
  (recipe: (task: Task) => Recipe): Prepare =>
  async (task, inputs) => {
    const made = await session(task, recipe(task));
    const feeds = feedsOf(task, inputs);
    return {
      run: async () => {
        await made.run(feeds);
      },
      read: async () => valuesOf((await made.run(feeds)).out, task),
      dispose: () => void made.release(),
    };
  };
const nodes = (...list: GraphNode[]) => model(() => ({ nodes: list }));

/** A[:, start::step] of the input a, as "view". */
const sliced = (start: number, end: number, by: number): Recipe => ({
  nodes: [step("Slice", ["a", "starts", "ends", "axes", "steps"], "view"), step("Add", ["view", "b"])],
  constants: [
    integers("starts", [start]),
    integers("ends", [end]),
    integers("axes", [1]),
    integers("steps", [by]),
  ],
});

const reduced = (op: string) =>
  model((task) => ({
    nodes: [step(op, task.axis === null ? ["a"] : ["a", "axes"], "out", { keepdims: 0 })],
    constants: task.axis === null ? [] : [integers("axes", [task.axis ?? 1])],
  }));

const fresh = (c: number): Recipe => ({
  nodes: [
    step("Mul", ["a", "c"], "p"),
    step("Add", ["p", "one"], "q"),
    step("Sub", ["a", "c"], "r"),
    step("Max", ["q", "r"], "s"),
    step("Div", ["s", "three"]),
  ],
  constants: [number("c", c), number("one", 1), number("three", 3)],
});

const add = nodes(step("Add", ["a", "b"]));

export const onnx: Adapter = {
  start: async () => {
    ort = (await import("onnxruntime-web" as string)) as Ort;
    const threads = Number(process.env.BENCH_THREADS ?? availableParallelism());
    ort.env.wasm.numThreads = threads;
    ort.env.logLevel = "error";
    return {
      version: installedVersion("onnxruntime-web"),
      setup: `wasm provider, ${threads} threads; arrays are copied in and out at each call`,
    };
  },
  ops: {
    add,
    exp: nodes(step("Exp", ["a"])),
    tanhSquare: model(() => ({
      nodes: [step("Mul", ["a", "a"], "p"), step("Add", ["p", "one"], "q"), step("Tanh", ["q"])],
      constants: [number("one", 1)],
    })),
    everySecond: model((task) => sliced(0, task.inputs[0].shape[1], 2)),
    transposedAdd: nodes(step("Transpose", ["a"], "view", { perm: [1, 0] }), step("Add", ["view", "b"])),
    reversedAdd: model(() => sliced(-1, -(2 ** 31), -1)),
    sum: reduced("ReduceSum"),
    max: reduced("ReduceMax"),
    softmax: nodes(step("Softmax", ["a"], "out", { axis: 1 })),
    logsumexp: model(() => ({
      nodes: [step("ReduceLogSumExp", ["a", "axes"], "out", { keepdims: 0 })],
      constants: [integers("axes", [1])],
    })),
    matmul: nodes(step("MatMul", ["a", "b"])),
    matmulTransposed: nodes(
      step("Transpose", ["a"], "view", { perm: [1, 0] }),
      step("MatMul", ["view", "b"]),
    ),
    permuteCopy: model((task) => ({ nodes: [step("Transpose", ["a"], "out", { perm: task.axes! })] })),
    cast: model((task) => ({
      nodes: [step("Cast", ["a"], "out", { to: { f32: 1, i32: 6, f16: 10, f64: 11 }[task.out.dtype] })],
    })),
    ggmlCopy: model((task) => ({
      nodes: [step("Transpose", ["a"], "view", { perm: [1, 0, 2] }), step("Reshape", ["view", "shape"])],
      constants: [integers("shape", task.out.shape)],
    })),
    gelu: nodes(step("Gelu", ["a"], "out", { approximate: "tanh" })),
    addNew: add,
    compile: (task, inputs) => {
      const feeds = feedsOf(task, inputs);
      let count = 0;
      const first = async (c: number) => {
        const made = await session(task, fresh(c));
        const { out } = await made.run(feeds);
        await made.release();
        return out.data;
      };
      return {
        run: async () => {
          await first(count++ + 0.125);
        },
        read: () => first(compileConstant),
      };
    },
    ...untrained,
  },
};
