/** Which arguments may have gradients: what cannot be followed is an error, never a constant in silence. */
import { describe, expect, it } from "vitest";
import { grad, gradcheck, hvp, jvp, valueAndGrad, vjp } from "../../src/grad.ts";
import { type Tensor, take, tensor } from "../../src/index.ts";

const i32 = (data: number[]) => tensor(data, { dtype: "i32" });
const mixed = () => ({ w: tensor([1, 2]), k: i32([3, 4]) });
const f = (p: { w: Tensor; k: Tensor }) => p.w.square().mul(p.k).sum();

describe("arguments of gradients", () => {
  it("with an integer in their tree are refused by every function alike", () => {
    const p = mixed();
    expect(() => grad(f)(p)).toThrow("grad: argument 0's k is i32.");
    expect(() => valueAndGrad(f)(p)).toThrow("valueAndGrad: argument 0's k is i32.");
    expect(() => vjp(f, p)).toThrow("vjp: argument 0's k is i32.");
    expect(() => jvp(f, [p], [p])).toThrow("jvp: argument 0's k is i32.");
    expect(() => hvp(f, [p], p)).toThrow("argument 0's k is i32.");
  });

  it("of integers alone are refused too, and none comes back as its own gradient", () => {
    const k = i32([3]);
    expect(() => vjp((x: Tensor) => x.square(), k)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: vjp: argument 0 is i32.
        Gradients are of floats: convert it with to("f32"), or let the function have it from outside.]
    `);
    expect(() => jvp((x: Tensor) => x.square(), [k], [k])).toThrow("jvp: argument 0 is i32.");
    expect(() => vjp((x: Tensor, i: Tensor) => take(x, i), tensor([1, 2]), k)).toThrow(
      "vjp: argument 1 is i32.",
    );
  });

  it("from outside the function may be integers", () => {
    const { w, k } = mixed();
    const { pull, dispose } = vjp((v: Tensor) => v.square().mul(k).sum(), w);
    expect(pull(tensor(1))[0].toArray()).toEqual([6, 16]);
    dispose();
    const along = jvp((v: Tensor) => v.square().mul(k).sum(), [w], [tensor([1, 1])]);
    expect(along.tangent.item()).toBe(22);
  });

  it("without tensors have no gradient", () => {
    const ofNumber = (x: number) => tensor(x).square().sum();
    expect(() => grad(ofNumber)(3)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: grad: argument 0 is the number 3.
        Gradients are of tensors: give one, such as tensor(3), or a tree that has some.]
    `);
    expect(() => grad((p: object) => tensor(Object.keys(p).length))({})).toThrow(
      "grad: argument 0 has no tensors.",
    );
    expect(() => vjp(ofNumber, 3)).toThrow("vjp: no argument has tensors.");
    expect(() => jvp(ofNumber, [3], [1])).toThrow("jvp: no argument has tensors.");
  });

  it("keep what is no tensor as it is, beside those that have some", () => {
    const w = tensor([3]);
    const scaled = (p: { w: Tensor; rate: number }) => p.w.mul(p.rate).sum();
    expect(grad(scaled)({ w, rate: 2 }).rate).toBe(2);
    const { pull, dispose } = vjp((x: Tensor, k: number) => x.mul(k), w, 4);
    const [g, k] = pull(tensor([1]));
    dispose();
    expect([g.toArray(), k]).toEqual([[4], 4]);
  });

  it("may be mixed where differences are compared: integers are constants there", () => {
    const p = { w: tensor([1, 2], { dtype: "f64" }), k: i32([3, 4]) };
    expect(gradcheck(f, [p])).toBeLessThan(1e-6);
  });
});
