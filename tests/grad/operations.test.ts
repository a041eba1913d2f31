/** Every operation: its gradient is what differences say, in any layout, or it is refused by name. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { grad, gradcheck, vjp } from "../../src/grad.ts";
import {
  cov,
  histogram,
  linalg,
  matmul,
  maxPool2d,
  scope,
  softmax,
  sort,
  stack,
  type Tensor,
  take,
  tensor,
  zeros,
} from "../../src/index.ts";
import { calls } from "../fuzz/calls.ts";
import { constant, differentiable, drawn, layouts, leaving, refused } from "./operations.ts";

describe("gradients of operations", () => {
  it("are known, known to be none, or refused, of every function of tensors", () => {
    const known = [...Object.keys(differentiable), ...constant, ...Object.keys(refused), ...leaving];
    expect(known.sort()).toEqual(Object.keys(calls).sort());
  });

  it.each(Object.entries(differentiable))("%s", (name, { args, f }) => {
    scope(() => {
      const which = name.length + args.length;
      const given = args.map((a, k) => drawn(a, k, layouts[(which + k) % layouts.length]));
      expect(gradcheck(f as never, given as never)).toBeLessThan(1e-6);
    });
  });

  it.each(Object.entries(refused))("%s is refused", (name, { args, f }) => {
    const given = args.map((a, k) => drawn(a, k, "dense"));
    const short = name.startsWith("kernel") ? "derivative" : name.split(".").at(-1);
    expect(() => vjp(f as never, ...(given as never[]))).toThrow(new RegExp(`^${short}: `));
  });

  it("steps have none, and what is chosen by them has", () => {
    const x = drawn({ shape: [4], low: -2, high: 2 }, 1, "dense");
    for (const step of ["sign", "floor", "ceil", "trunc"] as const) {
      const g = grad((t: Tensor) => (t as unknown as Record<string, () => Tensor>)[step]().sum())(x);
      expect(g.toArray()).toEqual([0, 0, 0, 0]);
    }
    const masked = grad((t: Tensor) => t.mul(t.greater(0).to("f64")).sum())(x);
    expect(masked.toArray()).toEqual((x.toArray() as number[]).map((v) => (v > 0 ? 1 : 0)));
  });

  it("of second order stand where what was solved for has been used before", () => {
    const [a, tall, b] = [
      [3, 3],
      [3, 2],
      [3, 2],
    ].map((shape, k) => drawn({ shape, low: -2, high: 2 }, k, "dense"));
    const solved = (m: Tensor, v: Tensor) => [v.mul(v), linalg.solve(m, v)];
    const left = (m: Tensor, v: Tensor) => [v.mul(v), linalg.lstsq(m, v).residuals];
    expect(gradcheck(solved, [a, b], { order: 2 })).toBeLessThan(1e-6);
    expect(gradcheck(left, [tall, b], { order: 2 })).toBeLessThan(1e-6);
  });

  it("of histograms go to the smallest and the largest, where the edges are theirs", () => {
    const x = drawn({ shape: [2, 3], low: -2, high: 2 }, 0, "turned");
    const w = drawn({ shape: [2, 3], low: 0.5, high: 2 }, 1, "dense");
    const of = (t: Tensor, weights: Tensor) => {
      const { counts, edges } = histogram(t, { bins: 3, weights, density: true });
      return [counts, edges];
    };
    expect(gradcheck(of, [x, w], { order: 2 })).toBeLessThan(1e-6);
    const width = (t: Tensor) => {
      const { edges } = histogram(t, { bins: 2 });
      return edges.slice(2).sub(edges.slice(0));
    };
    expect(grad(width)(tensor([1, 5, 1, 3])).toArray()).toEqual([-0.5, 1, -0.5, 0]);
  });

  it("of covariances go to what observations weigh", () => {
    const x = drawn({ shape: [2, 4], low: -2, high: 2 }, 0, "dense");
    const w = drawn({ shape: [4], low: 0.5, high: 2 }, 1, "dense");
    const counts = tensor([1, 2, 1, 3], { dtype: "i32" });
    const both = (t: Tensor, aweights: Tensor) => [
      cov(t, { aweights }),
      cov(t, { aweights, fweights: counts, ddof: 0 }),
    ];
    expect(gradcheck(both, [x, w], { order: 2 })).toBeLessThan(1e-6);
  });

  it("of determinants are cofactors, also where a matrix has no inverse", () => {
    const matrices = tensor(
      [
        [
          [1, 2, 3],
          [2, 4, 6],
          [1, 0, 1],
        ],
        [
          [0, 0, 0],
          [0, 2, 1],
          [0, 1, 3],
        ],
        [
          [1, 1, 1],
          [1, 1, 1],
          [1, 1, 1],
        ],
        [
          [2, 0, 1],
          [1, 3, 2],
          [1, 1, 4],
        ],
      ],
      { dtype: "f64" },
    );
    expect(gradcheck((a: Tensor) => linalg.det(a), [matrices])).toBeLessThan(1e-6);
    expect(grad((a: Tensor) => linalg.det(a))(zeros([1, 1])).toArray()).toEqual([[1]]);
    expect(() => grad((a: Tensor) => linalg.slogdet(a).logabsdet)(matrices.slice(0))).toThrow(
      "slogdet: the matrix is singular",
    );
  });

  it("of determinants have gradients too where singular values are equal, beside a matrix without inverse as well", () => {
    const f64 = (rows: number[][]) => tensor(rows, { dtype: "f64" });
    const alike = [
      f64([
        [0, 0],
        [0, 0],
      ]),
      f64([
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 0],
      ]),
      zeros([3, 3], { dtype: "f64" }),
      zeros([1, 1], { dtype: "f64" }),
      stack([
        f64([
          [1, 0],
          [0, 1],
        ]),
        f64([
          [1, 2],
          [2, 4],
        ]),
      ]),
    ];
    for (const a of alike)
      expect(gradcheck((t: Tensor) => linalg.det(t), [a], { order: 2 })).toBeLessThan(1e-6);
    const slope = grad((t: Tensor) => linalg.det(t));
    const bent = (t: Tensor) => grad((u: Tensor) => slope(u).slice(0, 0))(t).sum();
    // The third derivative is that of the cofactors, where singular values differ.
    const single = f64([
      [1, 2, 3],
      [2, 4, 6],
      [1, 0, 1],
    ]);
    expect(gradcheck(bent, [single])).toBeLessThan(1e-6);
  });

  it("of the largest and the smallest go to every NaN, where one is the value", () => {
    const x = tensor([
      [NaN, 1, NaN],
      [3, 5, 5],
    ]);
    for (const name of ["max", "min"] as const) {
      const g = grad((t: Tensor) => t[name]({ axis: 1 }).sum())(x).toArray();
      expect(g).toEqual([[0.5, 0, 0.5], name === "max" ? [0, 0.5, 0.5] : [1, 0, 0]]);
    }
    expect(grad((t: Tensor) => t.max())(tensor([NaN, 1])).toArray()).toEqual([1, 0]);
    // Short lines of many, which are taken place by place.
    const many = zeros([5000, 3]);
    many.slice(7).assign(x.slice(0));
    const g = grad((t: Tensor) => t.max({ axis: 1 }).sum())(many);
    expect(g.slice(7).toArray()).toEqual([0.5, 0, 0.5]);
    expect(g.slice(8).toArray()).toEqual(
      many
        .slice(8)
        .add(1 / 3)
        .toArray(),
    );
    const pooled = grad((t: Tensor) => maxPool2d(t, 2).sum())(
      tensor([
        [
          [
            [NaN, 1],
            [2, 3],
          ],
        ],
      ]),
    );
    expect(pooled.toArray()).toEqual([
      [
        [
          [1, 0],
          [0, 0],
        ],
      ],
    ]);
  });

  it("of nothing are nothing", () => {
    const none = zeros([0, 3], { dtype: "f64" });
    const all = [
      (t: Tensor) => t.exp(),
      (t: Tensor) => t.sum({ axis: 0 }),
      (t: Tensor) => matmul(t, zeros([3, 2], { dtype: "f64" })),
      (t: Tensor) => matmul(t.T, t),
      (t: Tensor) => softmax(t),
      (t: Tensor) => sort(t),
      (t: Tensor) => t.cumsum({ axis: 1 }),
      (t: Tensor) => t.prod({ axis: 1 }),
      (t: Tensor) => t.mean({ axis: 1 }),
      (t: Tensor) => take(t, [0, 2], { axis: 1 }),
      (t: Tensor) => t.T.slidingWindow(2, 0),
    ];
    for (const f of all) expect(grad((t: Tensor) => f(t).sum())(none).shape).toEqual([0, 3]);
  });

  it("at ties: the largest share, and equal terms of logaddexp have a half each", () => {
    const x = drawn({ shape: [3], low: 1, high: 1 }, 0, "dense");
    expect(grad((t: Tensor) => t.max())(x).toArray()).toEqual([1 / 3, 1 / 3, 1 / 3]);
    expect(grad((t: Tensor) => t.prod())(zeros([2], { dtype: "f64" })).toArray()).toEqual([0, 0]);
    expect(grad((t: Tensor) => t.pow(3).sum())(x).toArray()).toEqual([3, 3, 3]);
  });

  it("of pools with many windows are those of a few, with overlaps and ties", () => {
    const few = drawn({ shape: [1, 1, 12, 12], low: -2, high: 2 }, 3, "dense");
    const tied = few.mul(2).round();
    for (const options of [{}, { stride: 1 }, { stride: 3 }, { padding: 1 }]) {
      for (const one of [few, tied]) {
        const weights = drawn({ shape: maxPool2d(one, 2, options).shape, low: 1, high: 2 }, 5, "dense");
        const f = (t: Tensor) => maxPool2d(t, 2, options).mul(weights).sum();
        const alone = grad(f)(one);
        const many = grad(f)(one.broadcastTo([200, 2, 12, 12]).clone());
        expect(many.sub(alone).abs().max().item(), JSON.stringify(options)).toBe(0);
      }
    }
    const slope = (t: Tensor) => grad((u: Tensor) => maxPool2d(u, 2).pow(3).sum())(t).sum();
    const [one, many] = [few, few.broadcastTo([200, 2, 12, 12]).clone()].map((t) => grad(slope)(t));
    expect(many.sub(one).abs().max().item()).toBe(0);
    expect(one.abs().max().item()).toBeGreaterThan(0);
  });
});

describe("docs/gradients.md", () => {
  const text = readFileSync(new URL("../../docs/gradients.md", import.meta.url), "utf8");
  const listed = (mark: string) => {
    const rest = text.slice(text.indexOf(`<!-- ${mark} -->`) + mark.length + 9).trimStart();
    return [...rest.slice(0, rest.indexOf("\n\n")).matchAll(/`([^`]+)`/g)].map(([, name]) => name).sort();
  };
  const names = (all: readonly string[]) => [...new Set(all.map((name) => name.split(",")[0]))].sort();

  it("lists what gradients pass, what has none, and what is refused", () => {
    expect(listed("differentiable")).toEqual(names(Object.keys(differentiable)));
    expect(listed("constant")).toEqual(names(constant));
    for (const name of Object.keys(refused)) expect(text).toContain(`\`${name.split(",")[0]}\``);
  });
});
