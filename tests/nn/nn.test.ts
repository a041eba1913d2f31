/** strided/nn: parameters are trees, steps are one loop each, and what goes wrong is named. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { arange, explain, memory, ones, random, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { safetensors } from "../../src/io.ts";
import { lineOf } from "../../src/nn/progress.ts";
import * as nn from "../../src/nn.ts";

describe("the public face", () => {
  it("has these exports", () => {
    expect(Object.keys(nn).sort().join(" ")).toMatchInlineSnapshot(
      `"accumulate accuracy adam adamw batchNorm binaryCrossEntropy checkNumbers clipByNorm clipByValue confusion constantRate conv1d conv2d cosine crossEntropy dropout embedding encodeTree exponentialDecay fit gradientNorm groupNorm huber init l1 layerNorm linear loadTree loader meanAbsoluteError mse multiHeadAttention nll precisionRecall r2 rmsNorm rmsprop saveTree sgd stepDecay warmup"`,
    );
    expect(Object.keys(nn.init).sort().join(" ")).toMatchInlineSnapshot(
      `"constant kaimingNormal kaimingUniform normal ones uniform xavierNormal xavierUniform zeros"`,
    );
  });
});

describe("layers", () => {
  it("make their own parameters, the same from one seed, within torch's bounds", () => {
    const p = nn.linear.init(100, 7, { rng: 3 });
    expect([p.weight.shape, p.bias!.shape]).toEqual([[7, 100], [7]]);
    expect(p).toEqual(nn.linear.init(100, 7, { rng: 3 }));
    expect(p.weight.abs().max().item()).toBeLessThanOrEqual(0.1);
    expect(nn.linear.init(4, 2, { bias: false, dtype: "f64" })).not.toHaveProperty("bias");
    const rng = random.generator(1);
    const [a, b] = [nn.linear.init(3, 3, { rng }), nn.linear.init(3, 3, { rng })];
    expect(a.weight.equal(b.weight).all().item()).toBe(false);
    const conv = nn.conv2d.init(4, 8, 3, { groups: 2 });
    expect(conv.weight.shape).toEqual([8, 2, 3, 3]);
    const std = nn.init.kaimingNormal()([400, 300], random.generator(1), "f32").std().item();
    expect(std).toBeCloseTo(Math.sqrt(2 / 300), 3);
    const bound = nn.init.xavierUniform(2)([40, 30], random.generator(1), "f64").abs().max().item();
    expect(bound).toBeLessThanOrEqual(2 * Math.sqrt(6 / 70));
  });

  it("embedding, rmsNorm and dropout", () => {
    const { weight } = nn.embedding.init(5, 3, { rng: 1 });
    const rows = nn.embedding({ weight }, tensor([[4, 0]], { dtype: "i32" }));
    expect([rows.shape, rows.toArray()[0][1]]).toEqual([[1, 2, 3], weight.toArray()[0]]);
    const y = nn.rmsNorm(nn.rmsNorm.init(4), tensor([[1, 2, 3, 4]], { dtype: "f64" }));
    expect(y.square().mean().item()).toBeCloseTo(1, 5);
    const x = ones([1000]);
    const rng = random.generator(1);
    const dropped = nn.dropout(x, { p: 0.25, rng });
    expect(new Set(dropped.toArray().map((v) => Number(v).toFixed(3)))).toEqual(new Set(["0.000", "1.333"]));
    expect(dropped.mean().item()).toBeCloseTo(1, 1);
    expect(nn.dropout(x, { p: 0.25, rng, training: false })).toBe(x);
  });

  it("say what does not fit", () => {
    const p = nn.linear.init(3, 2);
    expect(() => nn.linear(p, ones([4, 5]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: linear: x is [4, 5], the weight [2, 3].
        x's last axis is the weight's second: [outputs, inputs].]
    `);
    expect(() => nn.linear(ones([2]) as never, ones([4, 3]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: linear: the parameters are a Tensor.
        Give { weight, bias }, as linear.init makes them.]
    `);
    expect(() => nn.linear.init(0, 2)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: linear.init: inputs is the number 0.
        Use a whole number from 1.]
    `);
    expect(() => nn.mse(ones([3]), ones([3, 1]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: mse: the prediction is [3], the target [3, 1].
        They have one shape: reshape the target, for instance with expandDims(-1).]
    `);
    expect(() => nn.crossEntropy(ones([3, 2]), ones([3]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: crossEntropy: the classes are f32.
        They are whole numbers: convert with to("i32").]
    `);
    expect(() => nn.groupNorm(nn.groupNorm.init(6), ones([1, 6, 2]), 4)).toThrow(/not 4 groups/);
  });
});

describe("optimisers", () => {
  const make = {
    sgd: (p: unknown) => nn.sgd(p, { lr: 0.1, momentum: 0.9 }),
    adam: nn.adam,
    adamw: nn.adamw,
    rmsprop: nn.rmsprop,
  };

  it.each(Object.keys(make) as (keyof typeof make)[])(
    "%s: a step is one loop for each parameter, in place",
    (name) => {
      const params = { a: ones([3, 4]), more: [zeros([5]), ones([2], { dtype: "f16" })] };
      const grads = { a: ones([3, 4]), more: [ones([5]), ones([2])] };
      const o = make[name](params);
      const before = memory().tensors;
      const report = explain(() => o.step(grads));
      expect(report.kernels.map((k) => [k.operation, k.form])).toEqual(
        [1, 2, 3].map(() => [name, "elementwise"]),
      );
      expect(report.copies).toEqual([]);
      expect(memory().tensors).toBe(before);
      // Other numbers compile nothing.
      expect(explain(() => o.step(grads)).kernels.every((k) => k.cached && k.replayed)).toBe(true);
      expect(params.a.less(1).all().item()).toBe(true);
    },
  );

  it("leave frozen parameters alone, by path or by question", () => {
    const params = { body: { w: ones([2]) }, head: { w: ones([2]) } };
    const grads = { head: { w: ones([2]) } };
    nn.sgd(params, { lr: 0.5, frozen: ["body"] }).step(grads);
    expect([params.body.w.toArray(), params.head.w.toArray()]).toEqual([
      [1, 1],
      [0.5, 0.5],
    ]);
    nn.sgd(params, { lr: 0.5, frozen: (path) => path.startsWith("body") }).step(grads);
    expect(params.head.w.toArray()).toEqual([0, 0]);
    expect(() => nn.sgd(params, { lr: 0.5 }).step(grads)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: sgd: there is no gradient of body.w.
        Gradients are a tree as the parameters are; freeze what has none.]
    `);
    expect(() => nn.adam(params).step({ ...grads, body: { w: ones([3]) } })).toThrow(/\[3\], not \[2\]/);
    expect(() => nn.adam({ n: ones([2], { dtype: "i32" }) })).toThrow(/n is i32/);
    expect(() => nn.sgd(params, { lr: -1 })).toThrow(/lr is the number -1/);
    expect(() => nn.adam({})).toThrow(/parameters/);
  });

  it("go on where a saved one stopped", () => {
    const run = (p: Tensor, o: nn.Optimiser, n: number) => {
      for (let k = 0; k < n; k++) o.step(p.mul(0.3).add(0.1));
    };
    const [p, q] = [arange(4), arange(4)];
    run(p, nn.adam(p), 10);
    const first = nn.adam(q);
    run(q, first, 4);
    const second = nn.adam(q);
    second.restore({ steps: first.steps, state: first.state });
    run(q, second, 6);
    expect(q).toEqual(p);
    for (const none of [null, undefined, Number.NaN, {}, { state: null }])
      for (const o of [nn.adam(q), nn.sgd(q, { lr: 1 })])
        expect(() => o.restore(none as never)).toThrow(/what is restored is .*\n.*steps, state/);
  });

  it("a step, or what is restored, that does not fit changes nothing", () => {
    const make = () => {
      const p = { a: ones([2]), b: ones([1]) };
      return { p, o: nn.adam(p) };
    };
    const { p, o } = make();
    const full = (mean: Tensor) => ({
      a: { mean, square: ones([2]) },
      b: { mean: ones([1]), square: ones([1]) },
    });
    for (const [saved, why] of [
      [{ steps: 1, state: { a: full(ones([2])).a } }, "nothing was saved of b's mean"],
      [{ steps: 1, state: full(ones([1])) }, "a's mean is [2], and [1] where it was saved"],
      [{ steps: 1.5, state: full(ones([2])) }, "steps is the number 1.5"],
    ] as const) {
      expect(() => o.restore(saved as never)).toThrow(why);
      expect([o.steps, o.state.a.mean.toArray()]).toEqual([0, [0, 0]]);
    }
    p.b.dispose();
    expect(() => o.step({ a: ones([2]), b: ones([1]) })).toThrow("adam: this tensor has been disposed");
    expect(p.a.toArray()).toEqual([1, 1]);
  });
});

describe("schedules, clipping, accumulation", () => {
  it("schedules are functions of the step", () => {
    const at = (s: nn.Schedule, ...steps: number[]) => steps.map((k) => Number(s(k).toPrecision(4)));
    expect(at(nn.stepDecay(1, 10), 0, 9, 10, 25)).toEqual([1, 1, 0.1, 0.01]);
    expect(at(nn.exponentialDecay(1, 0.5), 0, 1, 3)).toEqual([1, 0.5, 0.125]);
    expect(at(nn.cosine(1, 100, 0.1), 0, 50, 100, 200)).toEqual([1, 0.55, 0.1, 0.1]);
    expect(at(nn.warmup(4, nn.cosine(1, 100)), 0, 3, 4, 54)).toEqual([0.25, 1, 1, 0.5]);
    expect(at(nn.constantRate(0.3), 7)).toEqual([0.3]);
    expect(() => nn.cosine(0, 3)).toThrow(/lr is/);
  });

  it("gradients become no longer, and no further from 0, than is allowed", () => {
    const grads = { a: tensor([3, 0]), b: [tensor([[4]])] };
    expect(nn.clipByNorm(grads, 10)).toBe(5);
    expect(nn.clipByNorm(grads, 1)).toBe(5);
    expect(nn.gradientNorm(grads)).toBeCloseTo(1, 5);
    nn.clipByValue(grads, 0.7);
    expect(grads.b[0].item()).toBeCloseTo(0.7, 6);
    const shared = tensor([3, 4]);
    nn.clipByNorm({ a: shared, b: shared }, Math.SQRT1_2);
    expect(nn.gradientNorm(shared)).toBeCloseTo(0.5, 5);
  });

  it("micro-batches add up", () => {
    const sum = nn.accumulate(null, { a: tensor([2, 4]) }, 0.5);
    nn.accumulate(sum, { a: tensor([10, 20]) }, 0.5);
    expect(sum.a.toArray()).toEqual([6, 12]);
  });
});

describe("the loader", () => {
  const data = { x: arange(20).reshape(10, 2), y: arange(10, { dtype: "i32" }) };

  it("gives every sample once an epoch, in an order that a seed makes, another each epoch", () => {
    const orders = () => {
      const l = nn.loader(data, { batch: 4, shuffle: 5 });
      expect([l.length, l.size]).toEqual([3, 10]);
      return [0, 1].map(() =>
        [...l].flatMap(({ x, y }) => {
          expect(x.slice(":", 0).div(2).to("i32")).toEqual(y);
          return y.toArray() as number[];
        }),
      );
    };
    const [one, two] = orders();
    expect([...one].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(one).not.toEqual(two);
    expect(orders()).toEqual([one, two]);
  });

  it("as they lie, without the last few, as views", () => {
    const l = nn.loader(data.y, { batch: 4, dropLast: true });
    expect([...l].map((t) => t.toArray())).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ]);
    expect(() => nn.loader({ x: data.x, y: ones([3]) })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: loader: y has 3 samples, x 10.
        The first axis counts the samples, and is the same for all.]
    `);
    expect(() => nn.loader(data, { batch: 0 })).toThrow(/batch is the number 0/);
  });

  it("fetches ahead from a source that takes its time", async () => {
    const asked: number[] = [];
    const source = {
      size: 6,
      load: async (indices: readonly number[]) => {
        asked.push(indices[0]);
        await Promise.resolve();
        return tensor([...indices]);
      },
    };
    const seen: number[][] = [];
    for await (const batch of nn.loader(source, { batch: 2, prefetch: 1 })) {
      if (seen.length === 0) expect(asked).toEqual([0, 2]);
      seen.push(batch.toArray() as number[]);
    }
    expect(seen).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    expect(() => [...nn.loader(source)]).toThrow(/gives promises/);
  });
});

describe("metrics", () => {
  it("accuracy, confusion, r2, precision and recall", () => {
    const classes = tensor([0, 1, 2, 1], { dtype: "i32" });
    const scores = tensor([
      [9, 1, 1],
      [1, 9, 1],
      [9, 1, 1],
      [1, 9, 1],
    ]);
    expect(nn.accuracy(scores, classes)).toBe(0.75);
    expect(nn.confusion(scores, classes, 3).toArray()).toEqual([
      [1n, 0n, 0n],
      [0n, 2n, 0n],
      [1n, 0n, 0n],
    ]);
    expect(nn.r2(tensor([1, 2, 3]), tensor([1, 2, 4]))).toBeCloseTo(1 - 1 / (14 / 3), 12);
    expect(nn.meanAbsoluteError(tensor([1, 2]), tensor([2, 4]))).toBe(1.5);
    const guess = tensor([1, 1, 0, 0], { dtype: "i32" });
    const truth = tensor([1, 0, 1, 0], { dtype: "i32" });
    expect(nn.precisionRecall(guess, truth)).toEqual({ precision: 0.5, recall: 0.5, f1: 0.5 });
    // Nothing right is an f1 of 0, also where one of the two has nothing to be divided by.
    const [none, all] = [zeros([4], { dtype: "i32" }), ones([4], { dtype: "i32" })];
    expect(nn.precisionRecall(truth.equal(0).to("i32"), truth).f1).toBe(0);
    expect(nn.precisionRecall(none, all)).toEqual({ precision: Number.NaN, recall: 0, f1: 0 });
    expect(nn.precisionRecall(none, none).f1).toBeNaN();
    // What was compared is a prediction as well.
    const taken = tensor([0.9, 0.8, 0.1, 0.2]).greater(0.5);
    expect(nn.precisionRecall(taken, truth)).toEqual(nn.precisionRecall(guess, truth));
    expect(nn.accuracy(taken, truth)).toBe(0.5);
    expect(nn.confusion(taken, truth, 2).toArray()).toEqual(nn.confusion(guess, truth, 2).toArray());
  });
});

describe("files", () => {
  const params = () => ({ layers: [nn.linear.init(2, 3, { rng: 1 })], scale: ones([2], { dtype: "f64" }) });

  it("names are paths; what is read goes into the tree that is there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "strided-nn-"));
    try {
      const path = join(folder, "model.safetensors");
      const p = params();
      await nn.saveTree(path, p);
      const found = await safetensors.load(path);
      expect(Object.keys(found).sort()).toEqual(["layers.0.bias", "layers.0.weight", "scale"]);
      const q = params();
      for (const t of [q.scale, q.layers[0].weight]) t.fill(0);
      expect(await nn.loadTree(path, q)).toBe(q);
      expect(q).toEqual(p);
      await expect(nn.loadTree(path, { scale: p.scale })).rejects.toThrowErrorMatchingInlineSnapshot(`
        [TensorError: loadTree: the file has layers.0.bias, layers.0.weight, which the tree has not.
          Names are the paths of the tree. { strict: false } takes what is in both.]
      `);
      await expect(nn.loadTree(path, { ...q, more: ones([1]) })).rejects.toThrow(/has no more/);
      await expect(nn.loadTree(path, { scale: ones([3]) }, { strict: false })).rejects.toThrow(
        /\[2\] in the file/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("checkNumbers", () => {
  it("names the operation that made the first NaN or infinity, and passes on what came in", () => {
    const x = tensor([
      [1, 0],
      [2, 3],
    ]);
    expect(() =>
      nn.checkNumbers(() => x.add(1).sub(1).log().exp().mul(0)),
    ).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: checkNumbers: log of f32 [2, 2] made 1 of 4 elements NaN or infinite; the first is -Infinity at [0, 1].
        Its operands were finite. Look for a division by 0, a logarithm of 0, an exponential that is too large.]
    `);
    expect(nn.checkNumbers(() => x.add(1).sum().item())).toBe(10);
    expect(nn.checkNumbers(() => tensor([NaN]).add(1).item())).toBeNaN();
    expect(() =>
      nn.checkNumbers(() => nn.crossEntropy(x.div(0).mul(0), tensor([0, 1], { dtype: "i32" }))),
    ).toThrow(/div of/);
  });
});

describe("fit", () => {
  /** y = 2x + 1, its gradients by hand. */
  const step = ({ w, b }: { w: Tensor; b: Tensor }, { x, y }: { x: Tensor; y: Tensor }) => {
    const away = x.mul(w).add(b).sub(y);
    const twice = away.mul(2 / x.size);
    return { value: away.square().mean(), grads: { w: twice.mul(x).sum(), b: twice.sum() } };
  };
  const problem = () => {
    const x = arange(64).div(32).sub(1);
    return { params: { w: tensor(0), b: tensor(0) }, data: { x, y: x.mul(2).add(1) } };
  };

  it("trains, tells how it goes, and leaves nothing behind", async () => {
    const { params, data } = problem();
    const optimiser = nn.sgd(params, { lr: 0.3 });
    const lines: string[] = [];
    const progress = { write: (text: string) => lines.push(text) };
    const load = nn.loader(data, { batch: 16, shuffle: 1 });
    await nn.fit({ optimiser, data: load, step, epochs: 1, progress: false });
    const before = memory().tensors;
    const { losses, steps, stopped } = await nn.fit({
      optimiser,
      data: load,
      step,
      epochs: 30,
      progress,
      plot: true,
    });
    // What others left behind may have gone meanwhile.
    expect(memory().tensors).toBeLessThanOrEqual(before);
    expect([steps, stopped]).toEqual([120, false]);
    expect(losses.at(-1)).toBeLessThan(1e-4);
    expect(params.w.item()).toBeCloseTo(2, 2);
    expect(lines.join("")).toMatch(/epoch 30\/30 {2}step 120\/120 {2}loss .* lr 0\.3 .*\/s {2}0:00 left\n/);
    expect(lines.at(-1)).toContain("loss");
  });

  it("accumulates: two halves are one batch", async () => {
    const runs = await Promise.all(
      [
        [1, 32],
        [2, 16],
      ].map(async ([accumulate, batch]) => {
        const { params, data } = problem();
        const optimiser = nn.sgd(params, { lr: 0.3 });
        const { losses } = await nn.fit({
          optimiser,
          data: nn.loader(data, { batch }),
          step,
          accumulate,
          progress: false,
        });
        return [losses.length, params.w.item() as number, losses[0]];
      }),
    );
    expect(runs[0][0]).toBe(runs[1][0]);
    for (const k of [1, 2]) expect(runs[0][k]).toBeCloseTo(runs[1][k], 5);
  });

  it("ends when it is told to, with what it has", async () => {
    const { params, data } = problem();
    const optimiser = nn.sgd(params, { lr: 0.1 });
    const abort = new AbortController();
    const onStep = ({ step: k }: { step: number }) => {
      if (k === 3) abort.abort();
    };
    const options = {
      optimiser,
      data: nn.loader(data, { batch: 8 }),
      step,
      epochs: 100,
      progress: false,
    } as const;
    expect(await nn.fit({ ...options, signal: abort.signal, onStep })).toMatchObject({
      steps: 3,
      stopped: true,
    });
    expect(await nn.fit({ ...options, steps: 5 })).toMatchObject({ steps: 5, stopped: false });
    expect(await nn.fit({ ...options, onStep: ({ step: k }) => k < 2 })).toMatchObject({
      steps: 2,
      stopped: true,
    });
    const rates: number[] = [];
    await nn.fit({
      ...options,
      steps: 3,
      schedule: nn.exponentialDecay(1, 0.5),
      clip: 1,
      onStep: ({ lr }) => rates.push(lr),
    });
    expect(rates).toEqual([1, 0.5, 0.25]);
    const broken = (p: typeof params, b: typeof data) => ({
      ...step(p, b),
      value: scope(() => b.x.mul(0).log().sum()),
    });
    await expect(nn.fit({ ...options, step: broken, check: true })).rejects.toThrow(/log of f32/);
    await expect(nn.fit({ ...options, step: (() => 3) as never })).rejects.toThrow(/the step gave/);
  });

  it("the line has a bar, the loss, the rate and what is left", () => {
    const at = { step: 25, epoch: 0, loss: 0.123456, lr: 0.001, samples: 5000 };
    expect(lineOf(at, 100, 4, 10)).toMatchInlineSnapshot(
      `"█████░░░░░░░░░░░░░░░  25 %  epoch 1/4  step 25/100  loss 0.1235  lr 0.001  500/s  0:30 left"`,
    );
    expect(lineOf(at, Infinity, 1, 100)).toMatchInlineSnapshot(
      `"step 25  loss 0.1235  lr 0.001  50.0/s  1:40"`,
    );
  });
});
