/** Derivatives of functions of numbers: the table, its conventions, and kernels made of it. */
import { describe, expect, it } from "vitest";
import { derivative } from "../../src/grad/derivative.ts";
import { partials } from "../../src/grad/rows.ts";
import { kernel, tensor } from "../../src/index.ts";
import { type OpName, ops } from "../../src/ir/ops.ts";

describe("the table of derivatives", () => {
  it("has a row for every operation, and an entry for every argument", () => {
    const lengths = Object.fromEntries(Object.entries(partials).map(([op, row]) => [op, row.length]));
    expect(lengths).toEqual(Object.fromEntries(Object.keys(ops).map((op) => [op, ops[op as OpName].arity])));
  });
});

describe("derivative", () => {
  it("is a kernel: of numbers, and of the elements of tensors in their dtype", () => {
    const slope = derivative(kernel((x: number) => x * Math.sin(x)));
    expect(slope(2)).toBeCloseTo(Math.sin(2) + 2 * Math.cos(2), 14);
    const t = slope(tensor([0, 2]));
    expect(t.dtype).toBe("f32");
    expect(t.toArray()[1]).toBeCloseTo(Math.sin(2) + 2 * Math.cos(2), 6);
  });

  it("takes a plain function, and the parameter to derive by", () => {
    const f = (x: number, y: number) => x * x * y;
    expect(derivative(f)(3, 5)).toBe(30);
    expect(derivative(f, 1)(3, 5)).toBe(9);
    expect(derivative(derivative(f), 1)(3, 5)).toBe(6);
  });

  it("of a constant slope has the operands' dtype", () => {
    const t = derivative((x: number) => 3 * x)(tensor([1, Number.NaN, 2]));
    expect([t.dtype, t.toArray()]).toEqual(["f32", [3, 3, 3]]);
  });

  it("keeps captured values", () => {
    const f = kernel((x: number, { k }: { k: number }) => k * x * x, { k: 4 });
    expect(derivative(f)(3)).toBe(24);
  });

  it("of loops, variables and functions follows from what they say", () => {
    const f = (x: number) => {
      let y = x;
      for (let i = 0; i < 3; i++) y = y * x + 1;
      return y;
    };
    // x⁴ + x² + x + 1
    expect(derivative(f)(2)).toBe(4 * 8 + 2 * 2 + 1);
  });

  it("does not look at branches that are not taken", () => {
    const f = derivative((x: number) => (x > 0 ? Math.sqrt(x) : 0));
    expect([f(-1), f(0), f(4)]).toEqual([0, 0, 0.25]);
    expect(derivative((x: number) => (x === 0 ? 1 : Math.sin(x) / x))(0)).toBe(0);
  });

  it("where there is none: |x| at 0 gives 0, ties with a constant 0, ties of two variables a half each", () => {
    expect(derivative((x: number) => Math.abs(x))(0)).toBe(0);
    expect(derivative((x: number) => Math.max(x, 0))(0)).toBe(0);
    expect(derivative((x: number) => Math.min(x, 0))(0)).toBe(0);
    const both = (x: number, y: number) => Math.max(x, y);
    expect([derivative(both, 0)(2, 2), derivative(both, 1)(2, 2)]).toEqual([0.5, 0.5]);
    expect(derivative((x: number) => Math.max(x, x))(2)).toBe(1);
    const rem = (x: number, y: number) => x % y;
    expect([derivative(rem, 0)(-7, 2), derivative(rem, 1)(-7, 2)]).toEqual([1, 3]);
    expect(derivative((x: number) => Math.floor(x))(1.5)).toBe(0);
    expect(derivative((x: number) => x ** 0)(0)).toBe(0);
    expect(derivative((x: number, y: number) => x ** y, 1)(0, 2)).toBe(0);
    expect(derivative((x: number, y: number) => Math.hypot(x, y))(0, 0)).toBe(0);
  });

  it("says what it cannot do", () => {
    expect(() => derivative((x: number) => Number(String(x)))).toThrow(/derivative: cannot compile/);
    expect(() => derivative((x: number) => x, 1)).toThrow(
      "derivative: the parameter is the number 1, and the function has 1 parameter.\n  Count them from 0.",
    );
    expect(() => derivative(kernel((x: number) => [x, x] as const) as never)).toThrow(/2 results/);
    expect(() => derivative(3 as never)).toThrow(/expected a function/);
  });
});
