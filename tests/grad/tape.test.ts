/** What is traced, what is kept for how long, and what is refused. */
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  checkpoint,
  customGradient,
  grad,
  hvp,
  jvp,
  stopGradient,
  treeLeaves,
  treeMap,
  treeUnflatten,
  valueAndGrad,
  vjp,
} from "../../src/grad.ts";
import {
  concat,
  kernel,
  matmul,
  memory,
  nextafter,
  njit,
  ones,
  random,
  scatterAdd,
  scope,
  type Tensor,
  take,
  tensor,
  zeros,
} from "../../src/index.ts";

const f64 = (data: number[] | number[][]) => tensor(data, { dtype: "f64" });
const loss = (p: { w: Tensor; b: Tensor }, x: Tensor) => matmul(x, p.w).add(p.b).tanh().square().mean();
const params = () => ({
  w: f64([
    [0.1, -0.2],
    [0.3, 0.4],
  ]),
  b: f64([0.5, -0.5]),
});

describe("gradients", () => {
  it("have the form of the argument they are of", () => {
    const { value, grads } = valueAndGrad(loss)(
      params(),
      f64([
        [1, 2],
        [3, 4],
      ]),
    );
    expect([value.shape, value.dtype]).toEqual([[], "f64"]);
    expect(grads.w.shape).toEqual([2, 2]);
    expect(grads.b.shape).toEqual([2]);
  });

  it("are of the first argument, or of those that wrt counts", () => {
    const f = (a: Tensor, b: Tensor) => a.mul(b).sum();
    const [a, b] = [f64([1, 2]), f64([3, 4])];
    expect(grad(f)(a, b).toArray()).toEqual([3, 4]);
    expect(grad(f, { wrt: 1 })(a, b).toArray()).toEqual([1, 2]);
    const [ga, gb] = grad(f, { wrt: [0, 1] })(a, b);
    expect([ga.toArray(), gb.toArray()]).toEqual([
      [3, 4],
      [1, 2],
    ]);
  });

  it("come with more of what the function returns", () => {
    const f = (x: Tensor) => [x.sum(), { doubled: x.mul(2) }] as const;
    const { value, grads, aux } = valueAndGrad(f, { aux: true })(f64([1, 2]));
    expect([value.item(), grads.toArray(), aux.doubled.toArray()]).toEqual([3, [1, 1], [2, 4]]);
  });

  it("of what a function does not use are zeros, and so are those of constants", () => {
    const { grads } = valueAndGrad((p: { a: Tensor; b: Tensor }) => p.a.sum())({
      a: f64([1]),
      b: f64([2, 3]),
    });
    expect(grads.b.toArray()).toEqual([0, 0]);
    expect(grad((_: Tensor) => tensor(1))(f64([1, 2])).toArray()).toEqual([0, 0]);
  });

  it("of halves and f32 have their dtype", () => {
    for (const dtype of ["f16", "bf16", "f32"] as const) {
      const g = grad((x: Tensor) => x.square().sum())(tensor([1, 2], { dtype }));
      expect([g.dtype, g.to("f64").toArray()]).toEqual([dtype, [2, 4]]);
    }
  });

  it("of an operation in two dtypes are each in its own", () => {
    const f = (a: Tensor, b: Tensor) => a.mul(b).sum();
    const [ga, gb] = grad(f, { wrt: [0, 1] })(tensor([1, 2]), f64([3, 4]));
    expect([ga.dtype, ga.toArray(), gb.dtype, gb.toArray()]).toEqual(["f32", [3, 4], "f64", [1, 2]]);
  });

  it("of gradients are second derivatives, and third", () => {
    const cube = (x: Tensor) => x.pow(3).sum();
    const first = grad(cube);
    const second = grad((x: Tensor) => first(x).sum());
    const third = grad((x: Tensor) => second(x).sum());
    const x = f64([1, 2]);
    expect([first(x), second(x), third(x)].map((t) => t.toArray())).toEqual([
      [3, 12],
      [6, 12],
      [6, 6],
    ]);
    expect(hvp(cube, [x], f64([1, 10])).toArray()).toEqual([6, 120]);
  });

  it("forwards: jvp moves the value along tangents", () => {
    const x = f64([0.5, 1]);
    const { value, tangent } = jvp(
      (a: Tensor, b: Tensor) => a.mul(b).sin(),
      [x, x],
      [f64([1, 0]), f64([0, 2])],
    );
    expect(value.toArray()).toEqual(x.mul(x).sin().toArray());
    expect(tangent.toArray()).toEqual([0.5 * Math.cos(0.25), 2 * Math.cos(1)]);
  });

  it("backwards from results of any shape, as often as wanted", () => {
    const a = f64([
      [1, 2],
      [3, 4],
    ]);
    const { value, pull, dispose } = vjp((x: Tensor) => ({ sum: x.sum({ axis: 0 }), square: x.square() }), a);
    const [once] = pull({ sum: f64([1, 10]), square: zeros([2, 2], { dtype: "f64" }) });
    const [again] = pull({ sum: f64([0, 0]), square: ones([2, 2], { dtype: "f64" }) });
    expect(once.toArray()).toEqual([
      [1, 10],
      [1, 10],
    ]);
    expect(again.toArray()).toEqual([
      [2, 4],
      [6, 8],
    ]);
    expect(value.sum.toArray()).toEqual([4, 6]);
    dispose();
    expect(() => pull(value)).toThrow("vjp: pull is called after dispose.");
  });

  it("stop where stopGradient stands, and are what customGradient says", () => {
    const x = f64([2, 3]);
    expect(grad((x: Tensor) => x.mul(stopGradient(x)).sum())(x).toArray()).toEqual([2, 3]);
    const straight = customGradient(
      (x: Tensor) => x.round(),
      (g) => [g],
    );
    expect(grad((x: Tensor) => straight(x).mul(x).sum())(x).toArray()).toEqual([4, 6]);
    const seen = customGradient(
      (x: Tensor) => x.exp(),
      (g, { value }) => g.mul(value).mul(10),
    );
    expect(grad((x: Tensor) => seen(x).sum())(f64([0])).toArray()).toEqual([10]);
  });

  it("of a whole function in njit are what customGradient says", () => {
    const scale = njit((x, out) => {
      for (let i = 0; i < x.shape[0]; i++) out.set([i], 3 * x.get(i));
    });
    const tripled = customGradient(
      (x: Tensor) => {
        const out = zeros(x.shape, { dtype: "f64" });
        scale(x, out);
        return out;
      },
      (g) => [g.mul(3)],
    );
    expect(grad((x: Tensor) => tripled(x).square().sum())(f64([1, 2])).toArray()).toEqual([18, 36]);
  });

  it("are the same where checkpoint computes a part again", () => {
    const p = params();
    const x = f64([
      [1, 2],
      [3, 4],
    ]);
    const plain = valueAndGrad(loss)(p, x).grads;
    const again = valueAndGrad((q: typeof p) => checkpoint(loss)(q, x))(p).grads;
    expect([again.w.toArray(), again.b.toArray()]).toEqual([plain.w.toArray(), plain.b.toArray()]);
  });
});

describe("values are traced, not memory", () => {
  it("one tensor in two places has a gradient for each; what a closure holds is a constant", () => {
    const w = f64([2, 3]);
    const tied = grad((p: { a: Tensor; b: Tensor }) => p.a.mul(p.b.square()).sum())({ a: w, b: w });
    expect([tied.a.toArray(), tied.b.toArray()]).toEqual([
      [4, 9],
      [8, 18],
    ]);
    expect(grad((x: Tensor) => x.mul(w).sum())(w).toArray()).toEqual([2, 3]);
  });

  it("parameters may be parts of one buffer, which lies anywhere", () => {
    const flat = f64([1, 2, 3, 4, 5, 6, 7, 8]);
    const p = { a: flat.slice([0, 2]), b: flat.slice([2, 6]).reshape(2, 2).T, c: flat.slice([7, 6, -1]) };
    const g = grad(({ a, b, c }: typeof p) => b.matmul(a).square().sum().add(c.sum()))(p);
    expect(g.a.shape).toEqual([2]);
    const b = p.b.clone();
    const same = grad((a: Tensor) => b.matmul(a).square().sum())(f64([1, 2]));
    expect(g.a.toArray()).toEqual(same.toArray());
    expect([g.b.shape, g.c.toArray()]).toEqual([[2, 2], [1]]);
  });

  it("elements of an argument that share memory are variables of their own", () => {
    const x = f64([3]).broadcastTo(4);
    expect(grad((t: Tensor) => t.mul(f64([1, 2, 3, 4])).sum())(x).toArray()).toEqual([1, 2, 3, 4]);
  });

  it("what is written into a new tensor, part by part and over parts, is followed", () => {
    const f = (x: Tensor) => {
      const out = zeros([3], { dtype: "f64" });
      out.slice([0, 2]).assign(x);
      out.slice([1, 3]).assign(x.square());
      out.mul(2, { out });
      out.slice(0).fill(5);
      return out.sum();
    };
    // x0² and x1² are left.
    expect(grad(f)(f64([3, 4])).toArray()).toEqual([12, 16]);
  });

  it("products are added to what an output holds, and scattered sums too", () => {
    const f = (x: Tensor) => {
      const out = x.mul(1);
      ones([2, 2], { dtype: "f64" }).matmul(
        f64([
          [1, 1],
          [1, 1],
        ]),
        { out, accumulate: true },
      );
      scatterAdd(out, tensor([0], { dtype: "i32" }), ones([1, 2], { dtype: "f64" }));
      return out.square().sum();
    };
    expect(
      grad(f)(
        f64([
          [1, 2],
          [3, 4],
        ]),
      ).toArray(),
    ).toEqual([
      [8, 10],
      [10, 12],
    ]);
  });

  it("scope, using and dispose inside do as they do outside", () => {
    const f = (x: Tensor) => {
      const inner = scope(() => x.exp().mul(x));
      const a = inner.square();
      inner.dispose();
      const b = a.sum();
      a.dispose();
      return b;
    };
    const x = f64([0.5, 1]);
    const g = grad(f)(x).toArray() as number[];
    g.forEach((v, i) => {
      const t = [0.5, 1][i];
      expect(v).toBeCloseTo(2 * Math.exp(t) * t * (Math.exp(t) * (1 + t)), 12);
    });
  });
});

describe("memory", () => {
  it("stays as it is, step after step, with and without a throw", () => {
    const p = params();
    const x = f64([
      [1, 2],
      [3, 4],
    ]);
    const step = valueAndGrad((q: typeof p) =>
      concat([loss(q, x).reshape(1), take(q.b, 0).reshape(1)]).sum(),
    );
    const failing = valueAndGrad((q: typeof p) => {
      loss(q, x);
      throw new Error("inside");
    });
    const once = () => {
      const { value, grads } = step(p);
      for (const t of [value, grads.w, grads.b]) t.dispose();
      expect(() => failing(p)).toThrow("inside");
      hvp((w: Tensor) => loss({ w, b: p.b }, x), [p.w], p.w).dispose();
      for (const t of tensorsOf(jvp((w: Tensor) => w.exp(), [p.w], [p.w]))) t.dispose();
    };
    once();
    const before = memory();
    for (let i = 0; i < 100; i++) once();
    const after = memory();
    expect([after.tensors, after.bytes]).toEqual([before.tensors, before.bytes]);
    expect(engine().recorder).toBeNull();
  });

  it("of a long chain is let go step by step on the way back", () => {
    const x = random.normal([256, 256]);
    const f = (x: Tensor) => {
      let y = x;
      for (let i = 0; i < 40; i++) y = y.sin();
      return y.sum();
    };
    let live = 0;
    const g = grad((x: Tensor) => {
      const y = f(x);
      live = memory().bytes;
      return y;
    })(x);
    // The peak is what lived at the end of the way forward, and two gradients.
    expect(memory().peakBytes).toBeLessThan(live + 3 * 4 * 256 * 256);
    expect(g.shape).toEqual([256, 256]);
  });
});

const tensorsOf = (tree: unknown) => treeLeaves(tree).map((leaf) => leaf.tensor);

describe("errors", () => {
  const x = f64([1, 2, 3]);
  const throws = (f: (x: Tensor) => Tensor, message: string | RegExp) => {
    const before = memory().tensors;
    expect(() => grad(f)(x)).toThrow(message);
    expect(engine().recorder).toBeNull();
    expect(memory().tensors).toBe(before);
    expect(x.toArray()).toEqual([1, 2, 3]);
  };

  it("writing what the gradient needs names the writer", () => {
    throws((x) => {
      const a = x.mul(1);
      const b = a.exp();
      a.add(1, { out: a });
      return b.sum();
    }, "add: it has written over a tensor that the gradient of exp needs.");
    throws((x) => {
      const c = f64([1, 2, 3]);
      const y = x.mul(c);
      c.fill(0);
      return y.sum();
    }, "fill: it has written over a tensor that the gradient of mul needs.");
    throws((x) => {
      const a = x.mul(1);
      return a.mul(a, { out: a }).sum();
    }, "mul: it has written over a tensor that the gradient of mul needs.");
  });

  it("writing beside it does not", () => {
    const f = (x: Tensor) => {
      const c = f64([1, 2, 3, 4]);
      const y = x.mul(c.slice([0, 3]));
      c.slice([3, 4]).fill(9);
      return y.sum();
    };
    expect(grad(f)(x).toArray()).toEqual([1, 2, 3]);
    const flat = f64([1, 2, 3, 4]);
    const g = (p: Tensor) => {
      flat.slice([2, 4]).fill(7);
      return p.square().sum();
    };
    expect(grad(g)(flat.slice([0, 2])).toArray()).toEqual([2, 4]);
  });

  it("writing to an argument, in whichever way, is refused", () => {
    throws(
      (x) => x.add(1, { out: x }).sum(),
      "add: it writes to the memory of argument 0, whose gradient is being taken.",
    );
    const p = { layer: { w: f64([1, 2]) } };
    const f = grad((q: typeof p) => {
      p.layer.w.fill(0);
      return q.layer.w.sum();
    });
    expect(() => f(p)).toThrow(
      "fill: it writes to the memory of argument 0's layer.w, whose gradient is being taken.",
    );
    throws((x) => {
      const y = x.mul(2);
      stopGradient(y).fill(0);
      return y.sum();
    }, "fill: it writes to traced memory through a tensor that is not traced.");
  });

  it("elements that leave, or are set, behind the tape's back are refused", () => {
    throws((x) => tensor(x.exp().data).sum(), "data: these elements are being traced for a gradient");
    throws((x) => x.mul(2).set([0], 5).sum(), "set: this tensor is being traced for a gradient");
    expect(grad((x: Tensor) => x.mul(stopGradient(x).data[1]).sum())(x).toArray()).toEqual([2, 2, 2]);
  });

  it("operations without a gradient are refused by name", () => {
    throws((x) => nextafter(x, 5).sum(), "nextafter: it reads the bits of a traced f64 tensor as i64.");
    throws((x) => x.map((v) => Number(String(v))).sum(), "map: its gradient is not known.");
    throws((x) => {
      const twice = njit((a) => {
        for (let i = 0; i < a.shape[0]; i++) a.set([i], 2 * a.get(i));
      });
      const y = x.mul(1);
      twice(y);
      return y.sum();
    }, "njit: these elements are being traced for a gradient");
  });

  it("what a function must return", () => {
    throws((x) => x, "grad: the function returned f64 [3].");
    throws(() => 3 as never, "grad: the function returned the number 3.");
    throws((async (x: Tensor) => x.sum()) as never, "grad: the function returned a promise");
    expect(() => grad((n: Tensor) => n.sum())(tensor([1], { dtype: "i32" }))).toThrow(
      "grad: argument 0 is i32.",
    );
    expect(() => grad((x: Tensor) => x.sum(), { wrt: 2 })(x)).toThrow(
      "grad: wrt is 2, and there is 1 argument.",
    );
    expect(() => valueAndGrad(((x: Tensor) => x.sum()) as never, { aux: true })(x as never)).toThrow(
      "valueAndGrad: the function returned a Tensor.",
    );
  });

  it("a traced tensor is no table, and no constant in silence", () => {
    const message = "map: these elements are being traced for a gradient";
    throws(
      (x) =>
        f64([1, 2])
          .map((v, { t }) => v * t.get(0), { with: { t: x as Tensor<"f64"> } })
          .sum(),
      message,
    );
    throws((x) => {
      const by = kernel((v: number, { t }: { t: { get(i: number): number } }) => v * t.get(0), {
        t: x.mul(2),
      });
      return by(f64([1, 2])).sum();
    }, "kernel: these elements are being traced for a gradient");
  });

  it("checkpoint and customGradient use what they are given, and nothing else that is traced", () => {
    throws(
      (x) => checkpoint((y: Tensor) => y.mul(x).sum())(x.exp()),
      "checkpoint: the function uses a traced tensor",
    );
    throws(
      (x) =>
        customGradient(
          (y: Tensor) => y.sum(),
          () => [],
        )(x),
      "customGradient: pull returned 0 gradients for 1 arguments.",
    );
    const table = tensor([3], { dtype: "f64" });
    const scaled = checkpoint((y: Tensor) =>
      y.mul(f64([1]).map((v, { t }) => v * t.get(0), { with: { t: table } })),
    );
    throws((x) => {
      const z = scaled(x).sum();
      table.fill(5);
      return z;
    }, "fill: it has written over a tensor that the gradient of checkpoint needs.");
    const ofIntegers = customGradient(
      (y: Tensor) => y.mul(2),
      (g) => [g.to("i32")],
    );
    throws((x) => ofIntegers(x).sum(), "customGradient: the gradient of 0 is i32.");
  });
});

describe("trees", () => {
  const tree = () => ({
    layers: [
      { weight: f64([1]), name: "first" },
      { weight: f64([2]), bias: null },
    ],
    scale: 3,
  });

  it("name their tensors by the paths to them", () => {
    expect(treeLeaves(tree()).map(({ path }) => path)).toEqual(["layers.0.weight", "layers.1.weight"]);
  });

  it("are mapped beside others of their form", () => {
    const sum = treeMap((a, b) => a.add(b), tree(), tree());
    expect(sum.layers[1].weight.toArray()).toEqual([4]);
    expect([sum.layers[0].name, sum.scale]).toEqual(["first", 3]);
    expect(() => treeMap((a) => a, tree(), { layers: [] })).toThrow(
      'treeMap: the trees differ: tree 2 has no more tensors where the first has a tensor at "layers.0.weight".',
    );
    expect(treeUnflatten(tree(), [f64([7]), f64([8])]).layers[1].weight.toArray()).toEqual([8]);
  });

  it("go in no circles", () => {
    const circle: Record<string, unknown> = { x: f64([1]) };
    circle.self = circle;
    expect(() => treeLeaves(circle)).toThrow("treeLeaves: the tree is deeper than 200, or goes in a circle.");
  });
});
