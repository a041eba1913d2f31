import { describe, expect, it } from "vitest";
import { engine } from "../engine.ts";
import { arange, explain, memory, type Tensor, tensor } from "../index.ts";

/** Associative, and recognised by nobody: the later of two, unless it is 0. */
const later = (acc: number, x: number) => (x !== 0 ? x : acc);
/** Associative up to rounding. */
const hypot = (acc: number, x: number) => Math.sqrt(acc * acc + x * x);

const both = (t: Tensor, fn: (acc: number, x: number) => number, options = {}) => {
  const plain = t.reduce(fn, options);
  const cut = t.reduce(fn, { ...options, associative: true });
  return [plain.toArray(), cut.toArray()] as const;
};

describe("folds that are associative by declaration", () => {
  const n = 200_003;
  const t = arange(n, { dtype: "f64" }).map((x) => (x % 977 === 5 ? x : 0));

  it("give what folding in order gives, with and without a start value, for lengths that do not divide", () => {
    for (const [plain, cut] of [
      both(t, later),
      both(t, later, { init: 7 }),
      both(t.slice(":199936"), later),
      both(t.flip(), later),
      both(t.slice("::3"), later, { keepdims: true }),
      both(t.slice(":200000").reshape(2, 100_000), later, { axis: 1 }),
      both(t.slice(":200000").reshape(100_000, 2), later, { axis: 0, init: 1 }),
      both(t.slice(":200000").reshape(10, 2, 10_000), later, { axis: [0, 2], keepdims: true }),
    ])
      expect(cut).toEqual(plain);
  });

  it("keep the order of the parts", () => {
    const x = tensor(Float64Array.from({ length: 70_000 }, (_, i) => (i % 7000 === 0 ? i + 1 : 0)));
    expect(x.reduce(later, { associative: true }).item()).toBe(63_001);
  });

  it("round as a fold in parts does, the same for any number of threads", () => {
    const x = arange(300_000, { dtype: "f32" }).map((v) => Math.sin(v));
    const cut = x.reduce(hypot, { associative: true }).item();
    expect(engine().kernels.alone(() => x.reduce(hypot, { associative: true }).item())).toBe(cut);
    expect(cut).toBeCloseTo(Math.sqrt(150_000), 0);
  });

  it("are cut, and explain says so", () => {
    const report = explain(() => t.reduce(later, { associative: true }));
    expect(report.copies.map((c) => c.why)).toEqual([
      "the fold is associative and was cut into 64 parts, whose results are folded next",
    ]);
    expect(explain(() => t.reduce(later)).copies).toEqual([]);
    expect(explain(() => t.slice(":1000").reduce(later, { associative: true })).copies).toEqual([]);
  });

  it("of integers, bools and functions that are called are right too", () => {
    const i = arange(50_000, { dtype: "i32" });
    const [plain, cut] = both(i, (acc, x) => Math.max(acc, x % 1009), { init: -1 });
    expect(cut).toBe(plain);
    const b = i.map((x) => x > 3);
    const xor = both(b, (acc, x) => (acc !== x ? 1 : 0), { init: 0 });
    expect(xor[1]).toBe(xor[0]);
    const outer = 2;
    const called = both(i.slice(":9000").to("f32"), (acc, x) => Math.max(acc, x * outer));
    expect(called[1]).toBe(called[0]);
  });

  it("free their parts", () => {
    const before = memory().tensors;
    for (let k = 0; k < 3; k++) t.reduce(later, { associative: true, init: 1 }).dispose();
    expect(memory().tensors).toBe(before);
  });

  it("is a yes or no, beside the other options", () => {
    expect(() => t.reduce(later, { asociative: true } as never)).toThrow(/asociative/);
  });
});
