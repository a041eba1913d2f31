/** Types of gradients: trees like the arguments that they are of, by `wrt`. */
import { expectTypeOf, it } from "vitest";
import { type GradsOf, grad, hvp, jvp, treeMap, valueAndGrad, vjp } from "../../src/grad.ts";
import { ones, type Tensor } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";

interface Params {
  readonly layers: readonly { readonly weight: Tensor; readonly bias?: Tensor }[];
  readonly scale: Tensor<"f64">;
}
const params: Params = { layers: [nn.linear.init(2, 3, { rng: 1 })], scale: ones([3], { dtype: "f64" }) };
const loss = (p: Params, x: Tensor, count: number): Tensor =>
  nn.linear(p.layers[0], x).mul(p.scale).sum().mul(count);

it("gradients are trees of the argument's type", () => {
  const x = ones([4, 2]);
  const { value, grads } = valueAndGrad(loss)(params, x, 2);
  expectTypeOf(value).toEqualTypeOf<Tensor>();
  expectTypeOf(grads).toEqualTypeOf<Params>();
  expectTypeOf(grads.scale).toEqualTypeOf<Tensor<"f64">>();
  expectTypeOf(grad(loss)).parameters.toEqualTypeOf<[p: Params, x: Tensor, count: number]>();
});

it("wrt chooses one argument, or a list of them in its order", () => {
  const x = ones([4, 2]);
  expectTypeOf(grad(loss, { wrt: 1 })(params, x, 2)).toEqualTypeOf<Tensor>();
  const [gx, gp] = grad(loss, { wrt: [1, 0] })(params, x, 2);
  expectTypeOf(gx).toEqualTypeOf<Tensor>();
  expectTypeOf(gp).toEqualTypeOf<Params>();
  expectTypeOf<GradsOf<[Params, Tensor?], 1>>().toEqualTypeOf<Tensor>();
});

it("products with Jacobians and Hessians have the types of what they move", () => {
  const x: Tensor = ones([2]);
  const { value, pull } = vjp((a: Tensor, p: { readonly b: Tensor }) => ({ sum: a.add(p.b) }), x, { b: x });
  expectTypeOf(value).toEqualTypeOf<{ sum: Tensor }>();
  expectTypeOf(pull(value)).toExtend<[a: Tensor, p: { readonly b: Tensor }]>();
  const { tangent } = jvp((a: Tensor) => [a.sin(), a.cos()] as const, [x], [x]);
  expectTypeOf(tangent).toExtend<readonly [Tensor, Tensor]>();
  expectTypeOf(hvp((p: { w: Tensor }) => p.w.pow(3).sum(), [{ w: x }], { w: x })).toEqualTypeOf<{
    w: Tensor;
  }>();
  expectTypeOf(treeMap((t: Tensor) => t.mul(2), params)).toEqualTypeOf<Params>();
});

it("losses are floats: what they hold is a number", () => {
  const [x, classes] = [ones([2, 3]), ones([2], { dtype: "i32" })];
  const { value } = valueAndGrad((logits: Tensor) => nn.crossEntropy(logits, classes))(x);
  expectTypeOf(value.item()).toEqualTypeOf<number>();
  for (const loss of [
    nn.mse(x, x),
    nn.l1(x, x),
    nn.huber(x, x),
    nn.nll(x, classes),
    nn.binaryCrossEntropy(x, x),
  ])
    expectTypeOf(loss.item()).toEqualTypeOf<number>();
});
