/** Paths are names: of parameters to optimisers and files, of gradients beside them. */
import { describe, expect, it } from "vitest";
import { grad } from "../../src/grad.ts";
import { memory, ones, type Tensor, tensor } from "../../src/index.ts";
import { accumulate, adam, adamw, encodeTree, loadTree, rmsprop, sgd } from "../../src/nn.ts";

describe("two tensors with one path", () => {
  const tree = () => ({ "a.b": ones([2]), a: { b: tensor([2, 2]) } });

  it("are refused by files and by optimisers", async () => {
    await expect(encodeTree(tree())).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: encodeTree: two tensors have the path "a.b".
        Names are joined by dots: give one of them a name without.]
    `);
    const bytes = await encodeTree({ "a.b": ones([2]) });
    await expect(loadTree(bytes, tree())).rejects.toThrow('loadTree: two tensors have the path "a.b".');
    await expect(encodeTree({ "": ones([1]), tensor: ones([1]) })).rejects.toThrow(
      'two tensors have the path "tensor"',
    );
    expect(() => sgd(tree(), { lr: 1 })).toThrow('sgd: two tensors have the path "a.b".');
    expect(() => adam({ a: { b: ones([2]) } }).step(tree())).toThrow(
      'adam: two tensors have the path "a.b".',
    );
  });
});

describe("a parameter in two places", () => {
  const loss = (p: { a: Tensor; b: Tensor }) => p.a.mul(p.b.square()).sum();

  it("moves once a step, by the sum of its gradients", () => {
    for (const make of [
      (p: object) => sgd(p, { lr: 0.1 }),
      (p: object) => sgd(p, { lr: 0.1, momentum: 0.9 }),
      (p: object) => adam(p),
      (p: object) => adamw(p, { lr: 0.1, weightDecay: 0.5 }),
      (p: object) => rmsprop(p),
    ]) {
      const [w, alone] = [tensor([2, 3]), tensor([2, 3])];
      const tied = make({ a: w, b: w });
      const once = make({ w: alone });
      for (let k = 0; k < 3; k++) {
        tied.step(grad(loss)({ a: w, b: w }));
        once.step(grad((p: { w: Tensor }) => loss({ a: p.w, b: p.w }))({ w: alone }));
      }
      expect(w.sub(alone).abs().max().item()).toBeLessThan(1e-6);
      expect(Object.keys(tied.state).length).toBeLessThanOrEqual(1);
      const again = make({ a: w, b: w });
      again.restore(tied);
      expect(again.steps).toBe(3);
    }
  });

  it("leaves nothing behind", () => {
    const w = tensor([2, 3]);
    const [tied, grads] = [sgd({ a: w, b: w }, { lr: 0.1 }), { a: ones([2]), b: ones([2]) }];
    tied.step(grads);
    const before = memory().tensors;
    tied.step(grads);
    expect(memory().tensors).toBe(before);
    expect(
      w
        .sub(tensor([1.6, 2.6]))
        .abs()
        .max()
        .item(),
    ).toBeLessThan(1e-6);
  });

  it("is refused where it is seen in two ways, or frozen in one place", () => {
    const w = ones([2, 2]);
    expect(() => adam({ a: w, b: w.T })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: adam: a and b share memory.
        Keep a parameter once in the tree, and use it as often as you like.]
    `);
    expect(() => adam({ a: w, b: w.slice(0) }, { frozen: ["a"] })).toThrow("adam: a and b share memory.");
    expect(() => adam({ a: w, b: w }, { frozen: ["b"] })).toThrow(
      "adam: a and b are one tensor, and only one of them is frozen.",
    );
    // Parts of one buffer, and what stays, are nobody's concern.
    const parts = { a: w.slice(0), b: w.slice(1), c: ones([1]) };
    adam(parts).step({ a: ones([2]), b: ones([2]), c: ones([1]) });
    adam({ a: w, b: w.T, c: ones([1]) }, { frozen: ["a", "b"] }).step({ c: ones([1]) });
  });
});

describe("names that are not there", () => {
  const params = () => ({ encoder: { w: ones([2]) }, head: { w: ones([2]) } });

  it("are no frozen parts", () => {
    expect(() => sgd(params(), { lr: 1, frozen: ["encodr"] })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: sgd: frozen has the string "encodr", where no parameter is.
        Parameters are encoder.w, head.w.]
    `);
    expect(() => sgd(params(), { lr: 1, frozen: ["enc"] })).toThrow('frozen has the string "enc"');
    sgd(params(), { lr: 1, frozen: ["encoder", "head.w"] }).step({});
  });

  it("are no gradients", () => {
    const grads = { ...params(), tail: ones([1]) };
    expect(() => sgd(params(), { lr: 1 }).step(grads)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: sgd: there is a gradient of tail, and no such parameter.
        Gradients are a tree as the parameters are: is it of another model?]
    `);
    // Those of frozen parameters are not looked at.
    sgd(params(), { lr: 1, frozen: ["head"] }).step(params());
  });

  it("are not added up, and neither are other shapes", () => {
    const sum = accumulate(null, { a: ones([2]) });
    expect(() => accumulate(sum, { a: ones([1]) })).toThrow("accumulate: a is [1], and [2] in the sum.");
    expect(() => accumulate(sum, { b: ones([2]) } as never)).toThrow("accumulate: the trees differ");
    expect(() => accumulate(sum, { a: ones([2]), b: ones([2]) } as never)).toThrow(
      "accumulate: the trees differ",
    );
    expect(sum.a.toArray()).toEqual([1, 1]);
  });
});
