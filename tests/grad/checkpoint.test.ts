/** What runs again on the way back: it gives what it would have given without, or says why it cannot. */
import { describe, expect, it } from "vitest";
import { checkpoint, customGradient, grad, hvp, stopGradient, valueAndGrad, vjp } from "../../src/grad.ts";
import { memory, ones, random, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { batchNorm, dropout, linear } from "../../src/nn.ts";

type Step = (x: Tensor) => Tensor;
const plain = (f: Step): Step => f;

describe("checkpoint draws the same numbers again", () => {
  /** Value and gradient of what `make` makes of a generator, and what that gives next. */
  const outcome = (wrap: (f: Step) => Step, make: (rng: random.RandomGenerator) => Step) => {
    const rng = random.generator(2);
    const g = wrap(make(rng));
    const { value, grads } = valueAndGrad((x: Tensor) => g(g(x)).sum())(ones([40]));
    return [value.item(), grads.toArray(), rng.at, rng.normal([3]).toArray(), rng.spawn(1)[0].seed];
  };
  it.each<[string, (rng: random.RandomGenerator) => Step]>([
    ["of dropout", (rng) => (x) => dropout(x, { rng }).square()],
    [
      "several times",
      (rng) => (x) =>
        x
          .mul(rng.normal([40]))
          .add(rng.uniform([40]))
          .square(),
    ],
    ["of generators that it makes", (rng) => (x) => x.mul(rng.spawn(2)[1].normal([40])).square()],
    ["in another checkpoint", (rng) => (x) => checkpoint((y: Tensor) => dropout(y, { rng }))(x.square())],
    [
      "in customGradient",
      (rng) => (x) => {
        const noisy = customGradient(
          (y: Tensor) => y.mul(rng.normal([40])),
          (g, { value }) => [g.mul(value)],
        );
        return noisy(x).square();
      },
    ],
  ])("%s", (_, make) => {
    expect(outcome(checkpoint, make)).toEqual(outcome(plain, make));
  });

  it("of the generator that nobody made, and as often as pull is called", () => {
    const f = (x: Tensor) => x.mul(random.normal([5])).square();
    const { value, pull, dispose } = vjp(checkpoint(f), ones([5]));
    const [first] = pull(ones([5]));
    const [second] = pull(ones([5]));
    dispose();
    expect(first.toArray()).toEqual(second.toArray());
    expect(first.toArray()).toEqual(value.mul(2).toArray());
  });

  it("in gradients of gradients", () => {
    const run = (wrap: (f: Step) => Step) => {
      const rng = random.generator(5);
      const f = wrap((x) => dropout(x.pow(3), { rng }));
      return hvp((x: Tensor) => f(x).sum(), [ones([20])], ones([20])).toArray();
    };
    expect(run(checkpoint)).toEqual(run(plain));
  });

  it("and keeps the statistics of a batch once", () => {
    const x = tensor([
      [1, 5],
      [3, 7],
      [8, 9],
    ]);
    const run = (wrap: (f: Step) => Step) => {
      const { params, state } = batchNorm.init(2);
      const f = wrap((y) => batchNorm(params, state, y, { training: true }).square());
      const g = grad((y: Tensor) => f(f(y)).mul(x).sum())(x);
      return [g.toArray(), state.mean.toArray(), state.variance.toArray()];
    };
    expect(run(checkpoint)).toEqual(run(plain));
    expect(run((f) => checkpoint((y) => checkpoint(f)(y)))).toEqual(run(plain));
  });
});

describe("checkpoint needs what it used", () => {
  it("as it was: what has been written since is an error, as without it", () => {
    const c = tensor([1, 2]);
    const f = checkpoint((x: Tensor) => x.mul(c));
    const writing = (x: Tensor) => {
      const y = f(x);
      c.fill(100);
      return y.sum();
    };
    expect(() => grad(writing)(ones([2]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: fill: it has written over a tensor that the gradient of checkpoint needs.
        Write to a clone, or take the gradient first.]
    `);
    for (const wrap of [f, checkpoint((x: Tensor) => checkpoint((y: Tensor) => y.mul(c))(x))]) {
      const { pull, dispose } = vjp(wrap, ones([2]));
      c.fill(7);
      expect(() => pull(ones([2]))).toThrow("written");
      dispose();
    }
  });

  it("and says nothing of what is beside it, or is its own", () => {
    const c = tensor([1, 2, 3, 4]);
    const f = checkpoint((x: Tensor) => {
      const own = zeros([2]);
      own.assign(c.slice([0, 2]));
      own.mul(2, { out: own });
      return x.mul(own).add(c.slice([0, 2]));
    });
    const beside = (x: Tensor) => {
      const y = f(x);
      c.slice([2, 4]).fill(9);
      return y.sum();
    };
    expect(grad(beside)(ones([2])).toArray()).toEqual([2, 4]);
  });

  it("and does not write to it twice", () => {
    const seen = zeros([2]);
    const counting = checkpoint((x: Tensor) => {
      seen.add(1, { out: seen });
      return x.square();
    });
    expect(() => grad((x: Tensor) => counting(x).sum())(ones([2]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: checkpoint: add writes to a tensor that the function did not make, and would again on the way back.
        Return what is to be written, and write it after the call.]
    `);
    expect(seen.toArray()).toEqual([0, 0]);
    const inPlace = checkpoint((x: Tensor) => x.mul(2, { out: x }));
    expect(() => grad((x: Tensor) => inPlace(x.square()).sum())(ones([2]))).toThrow("checkpoint: mul writes");
    const setting = checkpoint((x: Tensor) => {
      seen.set([0], 1);
      return x.square();
    });
    expect(() => grad((x: Tensor) => setting(x).sum())(ones([2]))).toThrow("checkpoint: set writes");
    // Without a gradient nothing runs twice.
    counting(ones([2]));
    expect(seen.toArray()).toEqual([1, 1]);
  });

  it("and names itself where it is gone, or is an argument from outside", () => {
    const closing = (x: Tensor) => checkpoint((y: Tensor) => y.mul(x))(x).sum();
    expect(() => grad(closing)(ones([2]))).toThrow(
      "checkpoint: the function uses a traced tensor that it was not given.",
    );
    const masked = (x: Tensor) => {
      const mask = stopGradient(x);
      return checkpoint((y: Tensor) => y.mul(mask))(x).sum();
    };
    expect(() => grad(masked)(ones([2]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: checkpoint: the function uses a tensor that is none of its arguments, and that has been disposed since.
        It runs again on the way back, after the function around it has ended: pass the tensor as an argument.]
    `);
    const given = (x: Tensor) =>
      checkpoint((y: Tensor, mask: Tensor) => y.mul(mask))(x, stopGradient(x)).sum();
    expect(grad(given)(tensor([2, 3])).toArray()).toEqual([2, 3]);
  });

  it("and gives the same both times", () => {
    let runs = 0;
    const changing = checkpoint((x: Tensor) => (runs++ === 0 ? x.square() : concat2(x)));
    const concat2 = (x: Tensor) => x.reshape([1, -1]).broadcastTo([2, 2]).mul(1);
    expect(() => grad((x: Tensor) => changing(x).sum())(ones([2]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: checkpoint: the function gave f32 [2], and f32 [2, 2] when it ran again on the way back.
        What it does may depend on its arguments alone.]
    `);
  });

  it("hands back what was there as a value of its own, and holds no memory", () => {
    const c = tensor([5, 6]);
    const constant = checkpoint((_: Tensor) => c);
    expect(grad((x: Tensor) => constant(x).mul(x).sum())(ones([2])).toArray()).toEqual([5, 6]);
    const p = linear.init(3, 3, { rng: 1 });
    const x = ones([2, 3]);
    const step = (y: Tensor) => checkpoint((z: Tensor) => linear(p, z).tanh())(y).sum();
    const once = () => scope(() => grad(step)(x).sum().item());
    const first = once();
    const before = memory().tensors;
    for (let i = 0; i < 10; i++) expect(once()).toBe(first);
    expect(memory().tensors).toBe(before);
  });
});

describe("customGradient", () => {
  it("finds gradients by their places, whatever the names are", () => {
    const f = customGradient(
      (p: { "a.b": Tensor }) => p["a.b"].round(),
      (g) => [{ "a.b": g }],
    );
    expect(grad((p: { "a.b": Tensor }) => f(p).sum())({ "a.b": tensor([1.5]) })["a.b"].toArray()).toEqual([
      1,
    ]);
  });

  describe("knows nothing of what its function writes to and did not make", () => {
    const writing = (write: (x: Tensor, out: Tensor) => void) => (x: Tensor, out: Tensor) =>
      customGradient(
        (y: Tensor) => {
          write(y, out);
          return y.square();
        },
        (g, { args: [y] }) => [g.mul(y).mul(2)],
      )(x);
    const ways: [string, (x: Tensor, out: Tensor) => void][] = [
      ["assign", (x, out) => out.assign(x)],
      ["set", (x, out) => out.set([0], x.get(0))],
      ["out", (x, out) => x.mul(2, { out })],
    ];
    it.each(ways)("%s: a gradient that depends on it is an error", (_, write) => {
      const lost = (x: Tensor) => {
        const out = zeros([2]);
        return writing(write)(x, out).sum().add(out.sum());
      };
      expect(() => grad(lost)(ones([2]))).toThrow(
        "customGradient: the function wrote to a tensor that it did not make, and a gradient depends on what it wrote.",
      );
    });

    it("of an argument as well", () => {
      const lost = (x: Tensor) => {
        const y = x.mul(1);
        const made = writing((own) => own.mul(2, { out: own }))(y, y);
        return made.sum().add(y.sum());
      };
      expect(() => grad(lost)(ones([2]))).toThrow("and a gradient depends on what it wrote");
    });

    it("one that does not stays as it is: scratch memory, what is returned, what is beside it or written anew", () => {
      const used = (x: Tensor) => {
        const out = zeros([2]);
        const f = customGradient(
          (y: Tensor) => {
            out.assign(y);
            return out;
          },
          (g) => [g.mul(3)],
        );
        const twice = f(f(x)).sum();
        out.fill(7);
        const wide = zeros([4]);
        const beside = writing((y, o) => o.slice([0, 2]).assign(y))(x, wide).sum();
        wide.slice([2, 4]).assign(x);
        return twice
          .add(out.mul(x).sum())
          .add(beside)
          .add(wide.slice([2, 4]).sum());
      };
      const before = memory().tensors;
      scope(() => expect(grad(used)(ones([2])).toArray()).toEqual([19, 19]));
      expect(memory().tensors).toBe(before);
    });
  });
});
