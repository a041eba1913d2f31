/** import "strided/methods": the library's functions as methods. */
import { describe, expect, expectTypeOf, it } from "vitest";
import * as strided from "../src/index.ts";
import { arange, Tensor, tensor } from "../src/index.ts";

const own = new Set(Object.getOwnPropertyNames(Tensor.prototype));
await import("../src/methods.ts");
const added = Object.getOwnPropertyNames(Tensor.prototype).filter((name) => !own.has(name));

describe("strided/methods", () => {
  it("adds these, and replaces none that a tensor has of its own", () => {
    expect(added.sort().join(" ")).toMatchInlineSnapshot(
      `"acos acosh argsort asin asinh atan atan2 atanh booleanMask cbrt compress copysign cosh countNonzero cumulativeProd cumulativeSum deg2rad diag diff dot erf erfc exp2 expm1 flatten fmax fmin gather hypot isclose isinf log10 log1p log2 logSoftmax logaddexp logsumexp median nanToNum nonzero norm pad percentile ptp put quantile rad2deg ravel repeat roll rot90 scatterAdd searchsorted signbit sinc sinh softmax sort split take takeAlongAxis tan tile topk trace tril triu unique unstack vecdot"`,
    );
    const functions: Readonly<Record<string, unknown>> = { ...strided };
    for (const name of added) expect(functions[name], name).toBeTypeOf("function");
  });

  it("chain, and do what the functions do", () => {
    const t = tensor([3, 1, 2, 1]);
    expect(t.sort().take([0, -1]).toArray()).toEqual([1, 3]);
    expect(t.argsort().toArray()).toEqual([1n, 3n, 2n, 0n]);
    expect(t.median().item()).toBe(1.5);
    expect(t.unique().toArray()).toEqual(strided.unique(t).toArray());
    expect(arange(6).reshape(2, 3).pad(1).roll(1, { axis: 0 }).shape).toEqual([4, 5]);
    expect(t.booleanMask(t.greater(1)).toArray()).toEqual([3, 2]);
    expect(t.dot(t).item()).toBe(15);
  });

  it("keep the dtype where the functions do", () => {
    const t = tensor([3, 1, 2], { dtype: "f64" });
    expectTypeOf(t.take([0]).sort().roll(1).pad(1)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.booleanMask(t.greater(1)).repeat(2).tile(2)).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.split(3)).toEqualTypeOf<Tensor<"f64">[]>();
    expectTypeOf(t.topk(1).values).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.unique()).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.unique({ returnCounts: true }).values).toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(t.argsort()).toEqualTypeOf<Tensor<"i64">>();
    expectTypeOf(t.median()).toEqualTypeOf<Tensor<"f64">>();
    expect(t.sort().take([0, 0]).unique().dtype).toBe("f64");
  });

  it("are not listed among a tensor's own keys", () => {
    expect(Object.keys(tensor([1]))).not.toContain("sort");
    const keys: string[] = [];
    for (const key in tensor([1])) keys.push(key);
    expect(keys).not.toContain("sort");
  });

  it("check their arguments as the functions do", () => {
    expect(() => tensor([1, 2]).take([5])).toThrow(/take/);
  });
});
