/** fuse: what becomes one kernel, what stays apart, and that nobody can tell by the bits. */
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import type { DType } from "../src/dtype.ts";
import { engine } from "../src/engine.ts";
import {
  arange,
  explain,
  type Fused,
  fuse,
  kernel,
  logsumexp,
  memory,
  ones,
  random,
  softmax,
  sort,
  type Tensor,
  tensor,
  where,
  zeros,
} from "../src/index.ts";
import { stridedOf } from "../src/tensor.ts";

afterEach(() => {
  engine().executor = engine().compiled;
  engine().recorder = null;
});

const rng = () => random.generator(7);
const normal = (shape: number[], dtype: DType = "f32") => rng().normal(shape).to(dtype);

/** Kernels of a call, by form; routines too. One dispatch each. */
function ran(fn: () => unknown): string[] {
  return explain(fn).steps.flatMap((s) =>
    s.kind === "kernel" ? [s.form] : s.kind === "routine" ? [s.operation] : [s.kind],
  );
}

describe("what becomes one kernel", () => {
  it("operations that follow one another element by element", () => {
    const [a, b, c] = [normal([40, 30]), normal([30]), normal([40, 1])];
    const f = fuse((x, y, z) => x.mul(y).add(z).relu().sub(0.5).exp());
    expect(ran(() => f(a, b, c))).toEqual(["elementwise"]);
    expect(f(a, b, c)).toEqual(a.mul(b).add(c).relu().sub(0.5).exp());
  });

  it("a fold with what it folds, and with what is done to its result", () => {
    const [a, b, c] = [normal([50, 70]), normal([50, 70]), normal([50, 70])];
    const f = fuse((x, y, z) => x.mul(y).add(z).relu().sum().div(3500).sqrt());
    expect(ran(() => f(a, b, c))).toEqual(["reduce"]);
    expect(f(a, b, c).item()).toBe(a.mul(b).add(c).relu().sum().div(3500).sqrt().item());
  });

  it("layer norm is two folds and one loop", () => {
    const norm = (x: Tensor, w: Tensor, b: Tensor) => {
      const centred = x.sub(x.mean({ axis: -1, keepdims: true }));
      const variance = centred.square().mean({ axis: -1, keepdims: true });
      return centred.div(variance.add(1e-5).sqrt()).mul(w).add(b);
    };
    const f = fuse(norm);
    const args = [normal([32, 48]), normal([48]), normal([48])] as const;
    expect(ran(() => f(...args))).toEqual(["reduce", "reduce", "elementwise"]);
    expect(f(...args)).toEqual(norm(...args));
  });

  it("softmax-cross-entropy is two kernels", () => {
    const loss = (x: Tensor, y: Tensor) =>
      logsumexp(x, { axis: -1, keepdims: true }).sub(x).mul(y).sum({ axis: -1 });
    const f = fuse(loss);
    const [x, y] = [normal([64, 10]), ones([64, 10]).div(10)];
    expect(ran(() => f(x, y))).toEqual(["logsumexp", "reduce"]);
    expect(f(x, y)).toEqual(loss(x, y));
    // Down to one number too, where sums may be grouped anew.
    const mean = fuse((p: Tensor, q: Tensor) => loss2(p, q), { exact: false });
    const loss2 = (p: Tensor, q: Tensor) =>
      logsumexp(p, { axis: -1, keepdims: true }).sub(p).mul(q).sum().div(64);
    expect(ran(() => mean(x, y))).toEqual(["logsumexp", "reduce"]);
    expect(mean(x, y).item()).toBeCloseTo(loss2(x, y).item(), 5);
  });

  it("softmax by its formula is three kernels: an exponential is cheaper than memory", () => {
    const soft = (x: Tensor) => {
      const e = x.sub(x.max({ axis: 1, keepdims: true })).exp();
      return e.div(e.sum({ axis: 1, keepdims: true }));
    };
    const x = normal([20, 40]);
    expect(ran(() => fuse(soft)(x))).toEqual(["reduce", "reduce", "elementwise"]);
    expect(fuse(soft)(x)).toEqual(soft(x));
  });

  it("results of one shape: one loop stores them all", () => {
    const f = fuse((x: Tensor, y: Tensor) => ({ sum: x.add(y), more: [x.sub(y), x.add(y).relu()] }));
    const [a, b] = [normal([9, 5]), normal([5])];
    expect(ran(() => f(a, b))).toEqual(["elementwise"]);
    expect(f(a, b)).toEqual({ sum: a.add(b), more: [a.sub(b), a.add(b).relu()] });
  });

  it("views between operations: what they are computed of is viewed instead", () => {
    const chain = (x: Tensor) =>
      x.mul(2).T.slice("::-1", "1:").add(1).expandDims(0).broadcastTo([3, 4, 4]).exp();
    const x = normal([5, 4]);
    expect(ran(() => fuse(chain)(x))).toEqual(["elementwise"]);
    expect(fuse(chain)(x)).toEqual(chain(x));
    // No strides see a sum of a row and a column as one axis.
    const flat = (a: Tensor, b: Tensor) =>
      a
        .add(b)
        .reshape([-1])
        .mul(a.reshape([-1]).sum());
    const [p, q] = [normal([4, 1]), normal([3])];
    expect(fuse(flat)(p, q)).toEqual(flat(p, q));
  });

  it("kernels, maps, conversions and choices", () => {
    const gelu = kernel((x: number) => 0.5 * x * (1 + Math.tanh(0.797 * (x + 0.0447 * x ** 3))));
    const chain = (x: Tensor) => where(x.greater(0), gelu(x), x.map((v) => v / 8).to("f64")).mul(3n);
    const x = normal([100]);
    expect(ran(() => fuse(chain)(x))).toEqual(["elementwise"]);
    expect(fuse(chain)(x)).toEqual(chain(x));
    expect(fuse(chain)(x).dtype).toBe("f64");
  });

  it("what is done as a whole ends a kernel, and the trace goes on", () => {
    const mlp = (x: Tensor, w: Tensor, b: Tensor) => softmax(x.mul(0.5).matmul(w).add(b).relu()).log().neg();
    const args = [normal([8, 6]), normal([6, 4]), normal([4])] as const;
    expect(ran(() => fuse(mlp)(...args))).toEqual([
      "elementwise",
      "matmul",
      "elementwise",
      "softmax",
      "elementwise",
    ]);
    expect(fuse(mlp)(...args)).toEqual(mlp(...args));
  });

  it("what is expensive and read by several kernels is stored", () => {
    const twice = (x: Tensor) => {
      const e = x.exp().sin().tanh().cos().exp();
      return [e.sum({ axis: 0 }), e.max({ axis: 1 }), e.add(1)] as const;
    };
    const x = normal([30, 20]);
    const f = fuse(twice);
    expect(ran(() => f(x))).toEqual(["elementwise", "reduce", "reduce"]);
    expect(f(x)).toEqual(twice(x));
  });
});

describe("the bits of the separate operations", () => {
  it("halves round at every link", () => {
    for (const dtype of ["f16", "bf16"] as const) {
      const [a, b] = [normal([500], dtype), normal([500], dtype)];
      const chain = (x: Tensor, y: Tensor) => x.mul(y).add(x).div(3).mul(y);
      expect(fuse(chain)(a, b)).toEqual(chain(a, b));
      const sum = (x: Tensor, y: Tensor) => chain(x, y).sum();
      expect(fuse(sum)(a, b)).toEqual(sum(a, b));
    }
  });

  it("sums keep their groups, whatever is summed: in rows, in columns, in runs, in parts", () => {
    const heavy = (x: Tensor) => x.mul(1.37).add(0.1).exp().mul(x).sub(0.7);
    for (const [shape, axis] of [
      [[300, 77], 1],
      [[300, 77], 0],
      [[7, 9000], 1],
      [[400_000], 0],
      [
        [33, 5, 21],
        [0, 2],
      ],
    ] as const) {
      const x = normal([...shape]);
      for (const f of [
        (t: Tensor) => heavy(t).sum({ axis }),
        (t: Tensor) => heavy(t.T).sum(),
        (t: Tensor) => heavy(t).mean({ axis }),
        (t: Tensor) => heavy(t.to("f64")).sum({ axis }),
      ])
        expect(fuse(f)(x)).toEqual(f(x));
    }
  });

  it("of the interpreter as of compiled code", () => {
    engine().executor = engine().interpreter;
    const chain = (x: Tensor) => x.mul(3).add(1).sqrt().sum({ axis: 0 }).mul(2);
    const x = arange(24, { dtype: "f16" }).reshape(4, 6);
    expect(fuse(chain)(x)).toEqual(chain(x));
  });

  it("of results of one kernel that are an argument, a view of one, a constant, or equal", () => {
    const w = ones([2]);
    const f = fuse((x: Tensor) => [x, x.T, w, ones([2]), x.add(0), x.add(0), x.isnan().equal(false)]);
    const x = arange(6).reshape(2, 3);
    const [same, turned, outer, made, one, two, known] = f(x);
    expect(same).toBe(x);
    expect(outer).toBe(w);
    expect(stridedOf(turned).storage).toBe(stridedOf(x).storage);
    expect([made.toArray(), one.toArray(), known.toArray()]).toEqual([
      [1, 1],
      x.toArray(),
      [
        [true, true, true],
        [true, true, true],
      ],
    ]);
    made.fill(7);
    one.fill(9);
    expect(f(x)[3].toArray()).toEqual([1, 1]);
    expect(two.toArray()).toEqual(x.toArray());
  });
});

describe("traces", () => {
  it("one for each combination of dtypes and layouts; kernels are found again", () => {
    let runs = 0;
    const f = fuse((x: Tensor) => {
      runs++;
      return x.mul(2).add(1);
    });
    for (let k = 0; k < 3; k++) f(ones([4, 5]));
    expect(runs).toBe(1);
    f(ones([4, 6]));
    expect(runs).toBe(2);
    const [step] = explain(() => f(ones([5, 6]))).kernels;
    expect([runs, step.cached]).toEqual([3, true]);
    f(ones([4, 5], { dtype: "f64" }));
    f(ones([5, 4]).T);
    expect(runs).toBe(5);
    // Where they lie makes no difference.
    f(arange(60).reshape(3, 4, 5).slice(2));
    expect(runs).toBe(5);
  });

  it("numbers are part of it, tensors from outside are read anew", () => {
    const scale = fuse((x: Tensor, k: number) => x.mul(k));
    expect([1, 2, -0].map((k) => scale(ones([1]), k).item())).toEqual([1, 2, -0]);
    const w = ones([3]);
    const f = fuse((x: Tensor) => x.add(w));
    expect(f(ones([3])).toArray()).toEqual([2, 2, 2]);
    w.fill(5);
    expect(f(ones([3])).toArray()).toEqual([6, 6, 6]);
    w.dispose();
    expect(() => f(ones([3]))).toThrow(/disposed/);
  });

  it("a fused function inside of another is a part of it", () => {
    const half = fuse((x: Tensor) => x.mul(0.5).tanh());
    const f = fuse((x: Tensor) => half(x.add(1)).sum());
    expect(ran(() => f(ones([10])))).toEqual(["reduce"]);
  });

  it("arguments in objects and arrays", () => {
    const f = fuse(({ w, b }: { w: Tensor; b: Tensor[] }, x: Tensor) => x.mul(w).add(b[0]).add(b[1]));
    const p = { w: tensor([2, 3]), b: [tensor([1]), tensor([10, 20])] };
    expect(f(p, ones([2])).toArray()).toEqual([13, 24]);
    expect(ran(() => f(p, ones([2])))).toEqual(["elementwise"]);
  });

  it("a recorder sees a group as one operation, and folds by themselves", () => {
    const seen: string[] = [];
    const f = fuse((x: Tensor) => x.mul(2).add(1).sum().sqrt());
    f(ones([2]));
    engine().recorder = { ran: (call) => seen.push(call.operation), viewed() {} };
    expect(f(ones([2])).item()).toBeCloseTo(Math.sqrt(6), 6);
    expect(seen).toEqual(["fuse", "sum", "fuse"]);
  });

  it("nothing is left behind: not after a call, not after a throw", () => {
    const f = fuse((x: Tensor) => {
      const e = x.exp().sin().tanh().cos().exp();
      return softmax(e.matmul(e.T).add(1)).sum({ axis: 0 }).add(e.sum());
    });
    const x = normal([6, 6]);
    f(x).dispose();
    const before = memory().tensors;
    for (let k = 0; k < 50; k++) f(x).dispose();
    expect(memory().tensors).toBe(before);
    const broken = fuse((t: Tensor) =>
      t
        .add(ones([2]))
        .matmul(t)
        .add(ones([77])),
    );
    const square = x.slice(":2", ":2");
    for (let k = 0; k < 5; k++) expect(() => broken(square)).toThrow(/broadcast/);
    expect(memory().tensors).toBe(before);
  });
});

describe("into", () => {
  it("writes results where they are wanted, without a copy where it can", () => {
    const f = fuse((a: Tensor, b: Tensor) => a.mul(b).add(1));
    const [a, b, out] = [arange(4), arange(4), zeros([4])];
    expect(f.into(out, a, b)).toBe(out);
    expect(out.toArray()).toEqual([1, 2, 5, 10]);
    expect(ran(() => f.into(out, a, b))).toEqual(["elementwise"]);
    // On an operand, element upon element, and a step beside it.
    f.into(a, a, b);
    expect(a.toArray()).toEqual([1, 2, 5, 10]);
    const line = arange(5);
    f.into(line.slice("1:"), line.slice(":4"), b);
    expect(line.toArray()).toEqual([0, 1, 2, 5, 10]);
  });

  it("several results, other dtypes, folds, and outputs that later kernels would still read", () => {
    const f = fuse((a: Tensor) => ({ s: a.sum({ axis: 0 }), more: [a.mul(2)] }));
    const a = arange(6).reshape(2, 3);
    const out = { s: zeros([3], { dtype: "i32" }), more: [a] };
    f.into(out, a);
    expect([out.s.toArray(), a.toArray()]).toEqual([
      [3, 5, 7],
      [
        [0, 2, 4],
        [6, 8, 10],
      ],
    ]);
  });

  it("refuses what does not fit", () => {
    const f = fuse((a: Tensor) => [a.add(1), a.sub(1)]);
    const a = ones([3]);
    expect(() => f.into([zeros([3]), zeros([4])], a)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fuse: output 1 is [4], the result is [3].
        An existing output must have exactly the result's shape.]
    `);
    expect(() => f.into([zeros([3])], a)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fuse: the outputs are arranged as [tensor], the result as [tensor,tensor].
        Give one tensor for each tensor of the result, in the same arrays and objects.]
    `);
    const z = zeros([4]);
    expect(() => f.into([z.slice(":3"), z.slice("1:")], a)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fuse: outputs 0 and 1 share memory.
        Each result needs a place of its own.]
    `);
  });
});

describe("what is refused, and why", () => {
  const x = arange(6).reshape(2, 3);
  const message = (fn: (t: Tensor) => unknown) => {
    try {
      fuse(fn)(x);
    } catch (error) {
      return String(error);
    }
    return "nothing";
  };

  it("control flow on values", () => {
    expect(message((t) => (t.sum().item() > 3 ? t : t.neg()))).toMatchInlineSnapshot(`
      "TensorError: fuse: the elements of a tensor are asked for inside a fused function, where they have no values yet.
        It runs once, without elements, to be seen. Choose by where(…), or decide outside and pass what follows."
    `);
    for (const fn of [
      (t: Tensor) => t.add(Number(t.get(0, 0))),
      (t: Tensor) => t.add(t.data.length),
      (t: Tensor) => t.mul(t.toArray().length),
      (t: Tensor) => t.mul(String(t).length),
    ])
      expect(message(fn)).toMatch(/no values yet/);
    const compared = (t: Tensor) => ((t as unknown as number) > 3 ? t : t.neg());
    expect(message(compared)).toMatch(/a tensor is no number/);
  });

  it("what looks at elements, and what would be different every time", () => {
    expect(message((t) => sort(t))).toMatch(/no values yet/);
    expect(message((t) => t.add(random.normal([3])))).toMatchInlineSnapshot(`
      "TensorError: fuse: normal cannot be part of a fused function: it looks at elements, and there they have no values yet.
        It runs once, without elements, to be seen. Choose by where(…), or decide outside and pass what follows."
    `);
  });

  it("writing to what was there", () => {
    expect(message((t) => t.add(1, { out: t }))).toMatchInlineSnapshot(`
      "TensorError: fuse: add writes into a tensor that is there already, inside a fused function.
        A fused function makes new tensors: return them, or have them written with fused.into(out, …)."
    `);
    expect(message((t) => t.assign(3))).toMatch(/writes into a tensor/);
    const w = ones([2, 3]);
    expect(message((t) => w.assign(t))).toMatch(/writes into a tensor/);
  });

  it("results that are none, promises, and what is no tree of tensors", () => {
    expect(message(() => 3)).toMatchInlineSnapshot(`
      "TensorError: fuse: the function returned the number 3.
        Return a tensor that is made of its arguments, or tensors in arrays and plain objects."
    `);
    expect(message(async (t) => t)).toMatchInlineSnapshot(`
      "TensorError: fuse: the function returned a promise, and it is only followed while it runs.
        Fuse what is computed between awaits: const step = fuse((x) => …)."
    `);
    expect(message((t) => new Map([["a", t]]))).toMatchInlineSnapshot(`
      "TensorError: fuse: the result is an object.
        A fused function takes and gives tensors and numbers, alone or in arrays and plain objects."
    `);
    expect(() => fuse(3 as never)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fuse: expected a function, got the number 3.
        Pass one, such as fuse((a, b) => a.mul(b).sum()).]
    `);
    expect(() => fuse((t: Tensor) => t, { exat: true } as never)).toThrow(/exat/);
    expect(() => fuse((t: Tensor) => t.add(1))({} as never)).toThrow();
  });

  it("as the operations themselves say it", () => {
    const alone = (fn: () => unknown) => {
      try {
        fn();
      } catch (error) {
        return String(error);
      }
      return "nothing";
    };
    for (const fn of [
      (t: Tensor) => t.add(ones([7])),
      (t: Tensor) => t.to("u8").add(300),
      (t: Tensor) => t.to("bool").neg(),
      (t: Tensor) => t.sum({ axis: 5 }),
      (t: Tensor) => t.slice(":0").max(),
    ])
      expect(message(fn)).toBe(alone(() => fn(x)));
  });

  it("tensors of a trace that got out", () => {
    let out: Tensor | null = null;
    fuse((t: Tensor) => {
      out = t.mul(2);
      return t.add(1);
    })(x);
    expect(() => out!.toArray()).toThrow(/no values yet/);
    expect(() => out!.add(1)).toThrow(/no values yet/);
    out!.dispose();
  });
});

describe("explain and types", () => {
  it("shows each kernel with its operations, its loops and its WebAssembly", () => {
    const f = fuse((a: Tensor, b: Tensor) => a.mul(b).add(0.5).relu().sum({ axis: 1 }).sqrt());
    const report = f.explain(normal([40, 50]), normal([50]));
    const [step] = report.kernels;
    expect(step.source).toMatchInlineSnapshot(`"(a, b) => a.mul(b).add(0.5).relu().sum().sqrt()"`);
    expect(step.within).toBe("fuse");
    expect(report.wat()).toContain("f32x4.mul");
    expect(report.result.shape).toEqual([40]);
    expect(fuse((a: Tensor) => a.mul(2).sub(1)).explain(ones([3])).kernels[0].source).toMatchInlineSnapshot(
      `"(a) => a.mul(2).sub(1)"`,
    );
  });

  it("parameters and result are the function's", () => {
    const f = fuse((a, b) => a.mul(b).sum());
    expectTypeOf(f).toExtend<Fused<readonly [a: Tensor, b: Tensor], Tensor>>();
    const g = fuse((p: { w: Tensor<"f32"> }, k: number) => [p.w.mul(k), p.w.greater(0)] as const);
    expectTypeOf(g({ w: ones([2]) }, 3)[1]).toEqualTypeOf<Tensor<"bool">>();
    // @ts-expect-error: a number is missing
    expect(() => g({ w: ones([2]) })).toThrow();
    expectTypeOf(g.explain).returns.toHaveProperty("kernels");
  });
});
