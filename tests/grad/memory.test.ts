/** What training keeps in memory, for how long, and what it says of writes behind its back. */
import { beforeEach, describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { checkpoint, grad, treeLeaves, valueAndGrad, vjp } from "../../src/grad.ts";
import { memory, ones, scope, type Tensor, take, tensor, zeros } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";
import { gpt } from "../nn/models.ts";
import { gptSteps, mlpSteps } from "./steps.ts";

const alive = () => [memory().tensors, memory().bytes];
const f64 = (data: number[] | number[][]) => tensor(data, { dtype: "f64" });

describe("a step of a GPT", () => {
  const size = { layers: 4, width: 64, heads: 4, context: 64, words: 40, batch: 8 };
  // First of all: the peak is of the whole process.
  const { params, x, y, loss } = gpt(size, "f32");
  let first: number[] = [];
  let live = 0;
  beforeEach(() => {
    first = alive();
  });
  const watched = (p: typeof params, a: Tensor, b: Tensor) => {
    const value = loss(p, a, b);
    live = memory().bytes;
    return value;
  };

  it("needs at most 1.1 times what is alive after the way forward, and leaves gradients and nothing else", () => {
    const { value, grads } = valueAndGrad(watched)(params, x, y);
    const ratio = memory().peakBytes / live;
    console.log(`peak ${(memory().peakBytes / 2 ** 20).toFixed(1)} MiB, ${ratio.toFixed(3)} times`);
    expect(ratio).toBeLessThan(1.1);
    value.dispose();
    for (const t of leaves(grads)) t.dispose();
    expect(alive()).toEqual(first);
  });

  it("needs far less where its layers are checkpoints", () => {
    const block = (h: Tensor, p: (typeof params)["layers"][number]) =>
      h.add(nn.multiHeadAttention(p.attention, nn.layerNorm(p.before, h), { heads: 4, causal: true }));
    const chain = (wrapped: typeof block) => (p: (typeof params)["layers"], h: Tensor) => {
      const made = p
        .reduce((t, layer) => wrapped(t, layer), h)
        .square()
        .mean();
      live = memory().bytes;
      return made;
    };
    const h = nn.embedding(params.words, x);
    const bytes = [chain(block), chain(checkpoint(block))].map((f) => {
      const base = memory().bytes;
      const { value, grads } = valueAndGrad(f)(params.layers, h);
      value.dispose();
      for (const t of leaves(grads)) t.dispose();
      return live - base;
    });
    h.dispose();
    expect(bytes[1]).toBeLessThan(bytes[0] / 5);
    expect(alive()).toEqual(first);
  });
});

const leaves = (tree: unknown): Tensor[] => treeLeaves(tree).map((leaf) => leaf.tensor);

describe("steps", () => {
  it.each([
    ["a network of three layers", mlpSteps, 400],
    ["a transformer", gptSteps, 60],
  ] as const)("of %s keep tensors and bytes constant", (_, steps, count) => {
    const { before, most, after, peakGrew } = steps(count);
    expect(most).toEqual(before);
    expect(after).toEqual(before);
    expect(peakGrew).toBe(0);
  });
});

describe("a throw leaves nothing", () => {
  const x = f64([1, 2, 3]);
  let before: number[] = [];
  beforeEach(() => {
    before = alive();
  });
  const fails = (f: (t: Tensor) => Tensor, message: string | RegExp) => {
    expect(() => valueAndGrad(f)(x)).toThrow(message);
    expect(engine().recorder).toBeNull();
    expect(alive()).toEqual(before);
  };

  it("on the way forward", () => {
    fails((t) => {
      t.exp().mul(t);
      throw new Error("midway");
    }, "midway");
  });

  it("on the way back", () => {
    fails((t) => {
      const a = t.mul(2);
      const b = a.exp();
      a.fill(0);
      return b.mul(t).sum();
    }, "fill: it has written over a tensor that the gradient of exp needs.");
  });

  it("inside a gradient of a gradient, a checkpoint, and a scope", () => {
    const inner = (t: Tensor) => {
      if (t.size === 3) t.exp();
      throw new Error("inside");
    };
    fails((t) => grad(inner as never)(t as never) as Tensor, "inside");
    fails((t) => checkpoint(inner as never)(t as never) as Tensor, "inside");
    fails((t) => scope(() => inner(t.mul(2))) as never, "inside");
  });

  it("where a pull is given the wrong shape, and may be called again", () => {
    const { value, pull, dispose } = vjp((t: Tensor) => t.square(), x);
    const open = alive();
    expect(() => pull(ones([2], { dtype: "f64" }))).toThrow("the gradient is [2], the value [3].");
    expect(alive()[0]).toBe(open[0] + 1);
    expect(pull(value)[0].toArray()).toEqual([2, 16, 54]);
    dispose();
  });
});

describe("lifetimes", () => {
  it("what the function disposes, or a scope, is kept as long as the way back needs it", () => {
    const x = f64([0.5, 1]);
    const before = alive();
    const f = (t: Tensor) => {
      const a = t.exp();
      const b = scope(() => {
        const c = a.square();
        return c.mul(c);
      });
      a.dispose();
      const made = b.sum();
      b.dispose();
      return made;
    };
    const g = grad(f)(x);
    (g.toArray() as number[]).forEach((v, i) => {
      expect(v).toBeCloseTo(4 * Math.exp(4 * [0.5, 1][i]), 10);
    });
    g.dispose();
    expect(alive()).toEqual(before);
  });

  it("disposing an argument inside does not free it for the caller", () => {
    const x = f64([1, 2]);
    const g = grad((t: Tensor) => {
      const made = t.square().sum();
      t.dispose();
      return made;
    })(x);
    expect([g.toArray(), x.toArray()]).toEqual([
      [2, 4],
      [1, 2],
    ]);
  });

  it("gradients outlive the parameters that they are of", () => {
    const x = f64([1, 2]);
    const g = grad((t: Tensor) => t.square().sum())(x);
    x.dispose();
    expect(g.toArray()).toEqual([2, 4]);
  });
});

describe("tied weights", () => {
  it("one tensor for words in and out has a gradient for each place, and their sum moves it", () => {
    const table = f64([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    const words = tensor([2, 0], { dtype: "i32" });
    const logits = (p: { table: Tensor; out: Tensor }) => take(p.table, words).matmul(p.out.T);
    const two = grad((p: { table: Tensor; out: Tensor }) => logits(p).square().sum())({
      table,
      out: table,
    });
    const one = grad((p: { table: Tensor }) => logits({ table: p.table, out: p.table }).square().sum())({
      table,
    });
    expect(one.table.toArray()).toEqual(two.table.add(two.out).toArray());
  });
});

describe("writes", () => {
  it("to disjoint slices of one storage are no alarm, to what was saved an error with its writer", () => {
    const flat = zeros([4, 3], { dtype: "f64" });
    const rows = f64([1, 2, 3]);
    const f = (overwrites: boolean) => (t: Tensor) => {
      flat.fill(0);
      for (let i = 0; i < 3; i++) flat.slice(i).assign(rows);
      const a = t.mul(flat.slice(0));
      flat.slice(overwrites ? 0 : 3).fill(7);
      return a.mul(t).sum();
    };
    const x = f64([1, 1, 1]);
    expect(grad(f(false))(x).toArray()).toEqual([2, 4, 6]);
    expect(() => grad(f(true))(x)).toThrow(
      "fill: it has written over a tensor that the gradient of mul needs.",
    );
  });

  it("of traced values are followed into every part, or refused: never a constant in silence", () => {
    const x = f64([1, 2, 3]);
    const followed = (t: Tensor) => {
      const board = zeros([2, 3], { dtype: "f64" });
      board.slice(0).assign(t);
      board.slice(1).assign(board.slice(0).square());
      board.slice(1).mul(3, { out: board.slice(1) });
      return board.sum();
    };
    expect(grad(followed)(x).toArray()).toEqual([7, 13, 19]);
    const typed = new Float64Array(3);
    expect(() =>
      grad((t: Tensor) => {
        typed.set(t.mul(2).data as Float64Array);
        return tensor(typed).sum();
      })(x),
    ).toThrow("data: these elements are being traced for a gradient");
  });

  it("of parameters by an optimiser after the step are nobody's business", () => {
    const p = { w: f64([1, 2]) };
    const optimiser = nn.sgd(p, { lr: 0.5 });
    const step = valueAndGrad((q: typeof p) => q.w.square().sum());
    for (let i = 0; i < 3; i++) scope(() => optimiser.step(step(p).grads));
    expect(p.w.toArray()).toEqual([0, 0]);
  });

  it("of parameters by an optimiser inside the step are refused by name", () => {
    const p = { w: f64([1, 2]) };
    const optimiser = nn.sgd(p, { lr: 0.5 });
    const broken = (q: typeof p) => {
      const value = q.w.square().sum();
      optimiser.step({ w: ones([2], { dtype: "f64" }) });
      return value;
    };
    expect(() => grad(broken)(p)).toThrow(/it has written|has been written|it writes/);
  });
});
