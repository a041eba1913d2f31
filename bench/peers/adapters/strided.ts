/** strided itself. The library is given from outside: the build of the day, of another commit, or the sources in tests. */
import type { Tensor } from "../../../src/index.ts";
import { reading } from "../inputs.ts";
import { classesOf, RATE, trained } from "../training.ts";
import type { About, Adapter, DTypeName, Prepare, Prepared, Task, Values } from "../types.ts";
import { compileConstant, ggml } from "../workloads.ts";

export type Library = typeof import("../../../src/index.ts");
/** What trains: entries of their own, loaded where a workload wants them. */
export interface Trainers {
  readonly grad: typeof import("../../../src/grad.ts");
  readonly nn: typeof import("../../../src/nn.ts");
}
export interface Loaded {
  readonly lib: Library;
  readonly trainers: () => Promise<Trainers>;
  readonly about: About;
}

const typed = (t: Tensor): Values => t.toTypedArray() as Values;

export function stridedAdapter(load: () => Promise<Loaded>): Adapter {
  let lib: Library;
  let trainers: Loaded["trainers"];

  const from = (values: Values, shape: readonly number[], dtype: DTypeName): Tensor =>
    lib.tensor(values, { shape, dtype });
  const operands = (task: Task, inputs: readonly Values[]) =>
    inputs.map((v, k) => from(v, task.inputs[k].shape, task.inputs[k].dtype));

  /** Writes into an existing tensor. */
  const into =
    (make: (out: Tensor, a: Tensor, b: Tensor, task: Task) => () => unknown): Prepare =>
    (task, inputs) => {
      const made = operands(task, inputs);
      const out = lib.zeros(task.out.shape, { dtype: task.out.dtype }) as Tensor;
      const call = make(out, made[0], made[1], task);
      // Without a value: what a call gives back would be awaited, which takes as long as the call.
      const run = () => void call();
      const dispose = () => {
        for (const t of [...made, out]) t.dispose();
      };
      return { run, read: reading(run, () => typed(out)), dispose };
    };

  /** Makes a new tensor at every call, and lets it go. */
  const fresh =
    (make: (a: Tensor, b: Tensor, task: Task) => () => Tensor): Prepare =>
    (task, inputs) => {
      const made = operands(task, inputs);
      const call = make(made[0], made[1], task);
      return {
        run: () => call().dispose(),
        read: () => typed(call()),
        dispose: () => {
          for (const t of made) t.dispose();
        },
      };
    };

  type Layer = ReturnType<Trainers["nn"]["linear"]["init"]>;

  /** A step of gradient descent, from the scores that `forward` makes. */
  const training =
    (forward: (nn: Trainers["nn"]) => (layers: readonly Layer[], x: Tensor) => Tensor): Prepare =>
    async (task, inputs) => {
      const { grad, nn } = await trainers();
      const x = from(inputs[0], task.inputs[0].shape, "f32");
      const y = lib.tensor(classesOf(inputs[1])) as Tensor;
      const scores = forward(nn);
      const step = grad.valueAndGrad((layers: readonly Layer[], a: Tensor, b: Tensor) =>
        nn.crossEntropy(scores(layers, a), b),
      );
      let made: Tensor[] = [];
      const begin = () => {
        for (const t of made) t.dispose();
        made = inputs.slice(2).map((v, k) => from(v, task.inputs[k + 2].shape, "f32"));
        const layers = made.flatMap((weight, k) => (k % 2 === 0 ? [{ weight, bias: made[k + 1] }] : []));
        const optimiser = nn.sgd(layers, { lr: RATE });
        return () =>
          lib.scope(() => {
            const { value, grads } = step(layers, x, y);
            optimiser.step(grads);
            return Number(value.item());
          });
      };
      return trained(begin, () => {
        for (const t of [x, y, ...made]) t.dispose();
      });
    };

  const axisOf = (task: Task) => (task.axis === null || task.axis === undefined ? {} : { axis: task.axis });

  return {
    start: async () => {
      const loaded = await load();
      ({ lib, trainers } = loaded);
      return loaded.about;
    },
    settle: () => lib.ready(),
    ops: {
      add: into((out, a, b) => () => lib.add(a, b, { out })),
      exp: into((out, a) => () => lib.exp(a, { out })),
      tanhSquare: into((out, a) => {
        const f = lib.kernel((x) => Math.tanh(x * x + 1));
        return () => f.into(out, a);
      }),
      everySecond: into((out, a, b) => {
        const even = a.slice(":", "::2");
        return () => lib.add(even, b, { out });
      }),
      transposedAdd: into((out, a, b) => {
        const turned = a.T;
        return () => lib.add(turned, b, { out });
      }),
      reversedAdd: into((out, a, b) => {
        const back = a.slice(":", "::-1");
        return () => lib.add(back, b, { out });
      }),
      sum: fresh((a, _, task) => () => a.sum(axisOf(task))),
      max: fresh((a, _, task) => () => a.max(axisOf(task))),
      softmax: fresh((a) => () => lib.softmax(a)),
      logsumexp: fresh((a) => () => lib.logsumexp(a, { axis: 1 })),
      matmul: into((out, a, b) => () => a.matmul(b, { out })),
      matmulTransposed: into((out, a, b) => {
        const turned = a.T;
        return () => turned.matmul(b, { out });
      }),
      permuteCopy: into((out, a, _, task) => {
        const turned = a.permute(task.axes!);
        return () => out.assign(turned);
      }),
      cast: into((out, a) => () => out.assign(a)),
      ggmlCopy: (task, [values]) => {
        const src = lib.fromGgml({ type: "f32", ne: [...ggml.ne], nb: [...ggml.nb], data: values });
        const dst = lib.zeros(task.out.shape);
        const run = () => void dst.assignFlat(src);
        return { run, read: reading(run, () => typed(dst)) };
      },
      gelu: into((out, a) => {
        const gelu = lib.kernel((x) => 0.5 * x * (1 + Math.tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
        return () => gelu.into(out, a);
      }),
      addNew: fresh((a, b) => () => lib.add(a, b)),
      compile: (task, inputs): Prepared => {
        const [a] = operands(task, inputs);
        let count = 0;
        return {
          run: () => a.map(newFunction(count++)).dispose(),
          read: () => typed(a.map(newFunction(null))),
        };
      },
      trainMlp: training(
        (nn) => (layers, x) => layers.reduce((h, layer, k) => nn.linear(layer, k === 0 ? h : lib.relu(h)), x),
      ),
      trainConvnet: training((nn) => ([first, second, last], x) => {
        const one = lib.maxPool2d(lib.relu(nn.conv2d(first, x, { padding: 1 })), 2);
        const two = lib.maxPool2d(lib.relu(nn.conv2d(second, one, { padding: 1 })), 2);
        return nn.linear(last, two.reshape([x.shape[0], -1]));
      }),
    },
  };
}

/** A function whose text was never seen: nothing of it can be in a cache. */
export function newFunction(count: number | null): (x: number) => number {
  const c = count === null ? compileConstant : count + 0.125;
  const text = `return Math.max(x * ${c} + 1, x - ${c}) / 3`;
  return new Function("x", text) as (x: number) => number;
}

/** The library from a folder of its built files, with what turbo switched on. */
export async function loadBuilt(folder: string, turbo: boolean): Promise<Loaded> {
  const load = (file: string): Promise<unknown> => import(new URL(file, `file://${folder}/`).href);
  const switched = turbo
    ? ((await load("turbo.js")) as { turbo: { name: string; on: boolean }[] }).turbo
    : [];
  const lib = (await load("index.js")) as Library;
  const trainers = async () => ({ grad: await load("grad.js"), nn: await load("nn.js") }) as Trainers;
  const on = switched.filter((feature) => feature.on).map((feature) => feature.name);
  const threads = process.env.STRIDED_THREADS ?? "all";
  const how = turbo ? `turbo: ${on.join(", ") || "nothing to switch on here"}` : "as it comes";
  return {
    lib,
    trainers,
    about: { version: "", setup: `${how}; ${threads === "1" ? "1 thread" : `${threads} threads`}` },
  };
}
