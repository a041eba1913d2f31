/** Mistakes that users found, each with the test that would have caught it. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { arange, kernel, ones, promote, tensor, zeros } from "../src/index.ts";

describe("once wrong, now right", () => {
  it("a tensor's shape and strides cannot be changed from outside: kernels trust them", () => {
    const a = zeros([16]);
    const b = ones([16]);
    expect(() => Object.assign(a.shape, { 0: 32 })).toThrow(TypeError);
    expect(() => (a.shape as number[]).push(2)).toThrow(TypeError);
    expect(() => Object.assign(a.byteStrides, { 0: 0 })).toThrow(TypeError);
    expect(() => Object.assign(a.frame, { offset: 4 })).toThrow(TypeError);
    a.fill(7);
    expect(b.sum().item()).toBe(16);
  });

  it("an array inside itself is an error, not the end of the process", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => tensor(cycle as never)).toThrow(/at most 64 axes|64/);
  });

  it("u64 elements stay u64 when a function is called on them", () => {
    const zero = 0n;
    const u = tensor(new BigUint64Array([2n ** 64n - 1n]));
    expect(u.map((x) => ((x as unknown as bigint) + zero) as never).toArray()).toEqual([2n ** 64n - 1n]);
  });

  it("i64 and u64 compare exactly, as NumPy 2", () => {
    const i = tensor([-1n, 0n, 2n ** 63n - 2n, 2n ** 63n - 1n]);
    const u = tensor(new BigUint64Array([2n ** 64n - 1n, 0n, 2n ** 63n - 1n, 2n ** 63n - 1n]));
    expect(i.equal(u).toArray()).toEqual([false, true, false, true]);
    expect(i.notEqual(u).toArray()).toEqual([true, false, true, false]);
    expect(i.less(u).toArray()).toEqual([true, false, true, false]);
    expect(i.lessEqual(u).toArray()).toEqual([true, true, true, true]);
    expect(i.greater(u).toArray()).toEqual([false, false, false, false]);
    expect(u.greater(i).toArray()).toEqual([true, false, true, false]);
    expect(u.lessEqual(i).toArray()).toEqual([false, true, false, true]);
    expect(u.notEqual(i).toArray()).toEqual([true, false, true, false]);
  });

  it("a function may ignore its operands", () => {
    expect(
      arange(3)
        .map(() => 5)
        .toArray(),
    ).toEqual([5, 5, 5]);
  });

  it("captured values that take every parameter are refused with a hint at options", () => {
    expect(() => kernel((x: number) => x * 2, { fastMath: true })).toThrow(/third argument/);
  });

  it("unknown dtypes do not promote", () => {
    expect(() => promote("f99" as never, "f32")).toThrow(/unknown dtype "f99"/);
  });

  it("a conversion keeps the memory order, as NumPy's astype", () => {
    expect(zeros([2, 3]).T.to("f64").strides).toEqual([1, 3]);
    expect(zeros([2, 3]).T.clone().strides).toEqual([2, 1]);
  });

  it("any number of digits prints", () => {
    for (const digits of [-1, 0, 200, Number.NaN]) expect(arange(3).toString({ digits })).toMatch(/\[/);
  });

  it("a kernel prints as its algebra", () => {
    expect(inspect(kernel((x: number) => x * 2 + 1))).toBe("kernel ((x0 * 2) + 1)");
  });

  it("a call prepared for one output is not taken for another: in place, other storage, other dtype", () => {
    const double = kernel((x: number) => x * 2);
    const a = arange(64);
    const out = zeros([64]);
    double.into(out, a);
    double.into(a, a);
    expect(a.toArray()).toEqual(out.toArray());
    const long = zeros([128]).assign(3);
    double.into(long.slice("64:"), long.slice(":64"));
    expect(long.sum().item()).toBe(64 * 3 + 64 * 6);
    double.into(long.slice("1:65"), long.slice(":64"));
    expect(long.slice("1:65").toArray()).toEqual(new Array(64).fill(6));
    expect(double(a.to("f64")).dtype).toBe("f64");
    expect(double(a).dtype).toBe("f32");
  });
});
