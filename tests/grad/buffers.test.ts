/** Where gradients lie on their way back: whose memory is whose. */
import { expect, it } from "vitest";
import { Buffers } from "../../src/grad/buffers.ts";
import { grad } from "../../src/grad.ts";
import { ones, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { stridedOf } from "../../src/tensor.ts";

it("a gradient that is not asked for again gives its memory to the next, unless another has it too", () => {
  scope(() => {
    const [a, b, c, turned] = [zeros([4, 2]), zeros([4, 2]), zeros([4, 2]), zeros([2, 4]).T].map(stridedOf);
    const grads = new Buffers(new Map());
    grads.give(a, ones([4, 2]), true);
    const { storage } = grads.at(a)!;
    expect(grads.pass(a, turned)).toBeNull();
    expect(grads.lend(a, b)).toBe(true);
    expect(grads.pass(a, c)).toBeNull();
    grads.drop(b);
    expect(grads.pass(a, c)?.storage).toBe(storage);
    grads.drop(a);
    expect(grads.owned(c)?.storage).toBe(storage);
    grads.dispose();
  });
});

it("functions of elements that write over each other's gradients, and some that must not", () => {
  const x = tensor([0.3, -0.7, 1.1], { dtype: "f64" });
  const slope = (f: (v: Tensor) => Tensor) => Array.from(grad(f)(x).toTypedArray() as Float64Array);
  const each = (f: (v: number) => number) => Array.from(x.toTypedArray() as Float64Array, f);
  const close = (got: number[], want: number[]) =>
    got.forEach((v, i) => {
      expect(v).toBeCloseTo(want[i], 12);
    });
  close(
    slope((v) => v.sin().exp().sin().sum()),
    each((v) => Math.cos(Math.exp(Math.sin(v))) * Math.exp(Math.sin(v)) * Math.cos(v)),
  );
  // One value twice, as both operands, and beside itself.
  close(
    slope((v) => {
      const s = v.sin();
      return s.mul(s).add(s).mul(v.exp()).add(s).sum();
    }),
    each((v) => {
      const [s, c, e] = [Math.sin(v), Math.cos(v), Math.exp(v)];
      return (2 * s * c + c) * e + (s * s + s) * e + c;
    }),
  );
});
