/** What somebody found who looked at all of it for the first time. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { arange, kernel, mapReduce, type Tensor, tensor, zip } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: functions of any kind
type Fn = any;
const map = (t: Tensor, fn: Fn, options?: object) => (t.map as Fn).call(t, fn, options) as Tensor;

describe("a captured value that the function does not name", () => {
  const a = arange(3);

  it("takes nobody's place", () => {
    expect(map(a, (x: number, { k }: Fn) => x * k, { with: { k: 2, z: 5 } }).toArray()).toEqual([0, 2, 4]);
    expect(
      (zip as Fn)([a, a], (x: number, y: number, { k }: Fn) => x * k + y, { with: { k: 2, z: 5 } }).toArray(),
    ).toEqual([0, 3, 6]);
    const f = (kernel as Fn)((x: number, y: number, { k }: Fn) => x * k + y, { k: 2, z: 5 });
    expect(f(a, a).toArray()).toEqual([0, 3, 6]);
    // As terser leaves it, which drops names that are not used.
    expect(
      (zip as Fn)([a, a], (x: number, y: number, { a: k }: Fn) => x * k + y, {
        with: { a: 1, b: 10 },
      }).toArray(),
    ).toEqual([0, 2, 4]);
    const sum = (a.reduce as Fn).call(a, (acc: number, x: number, { k }: Fn) => acc + x * k, {
      with: { k: 2, z: 1 },
      init: 0,
    });
    expect(sum.item()).toBe(6);
  });

  it("is no tensor", () => {
    expect(() => map(a, (x: number, { k }: Fn) => x * k, { with: { k: tensor(3) } })).toThrow(
      /captured "k" is a Tensor/,
    );
    const table = [5, 6, 7];
    expect(map(a, (x: number, { table }: Fn) => table[x], { with: { table } }).toArray()).toEqual([5, 6, 7]);
  });
});

describe("a closure's own Infinity", () => {
  it("is not the global one", () => {
    const own = new Function("const Infinity = 4; return (x) => x + Infinity")() as (x: number) => number;
    expect(arange(2).map(own).toArray()).toEqual([4, 5]);
    expect(() => kernel(own)).toThrow(/Infinity of its own/);
  });
});

describe("folds never narrow what they start with", () => {
  const f64 = (...x: number[]) => tensor(x, { dtype: "f64" });

  it("nor the first element", () => {
    const fold = (t: Tensor, fn: Fn, options?: object) => (t.reduce as Fn).call(t, fn, options) as Tensor;
    expect(Number(fold(f64(5, 3), (a: number, x: number) => a > x).item())).toBe(1);
    expect(Number(fold(f64(2), (a: number, x: number) => x > a, { init: 3 }).item())).toBe(0);
    expect(
      fold(tensor(new Uint8Array([5])), (a: number, x: number) => (a > 3 ? x : 1), { init: 3.5 }).item(),
    ).toBe(5);
    const t = f64(5, 3, 0.5, -1, 2);
    const q = Number("0");
    const compiled = (t.scan as Fn).call(t, (_a: number, x: number) => x > 1) as Tensor;
    const called = (t.scan as Fn).call(t, (_a: number, x: number) => x > 1 + q) as Tensor;
    expect([compiled.dtype, compiled.toArray()]).toEqual([called.dtype, called.toArray()]);
  });

  it("a boolean start makes a fold of booleans, if the function does", () => {
    const t = f64(5, 3, 0.5);
    const any = (t.reduce as Fn).call(t, (a: boolean, x: number) => (a ? true : x > 1), { init: false });
    expect([any.dtype, any.item()]).toEqual(["bool", true]);
    const q = Number("1");
    const called = (t.reduce as Fn).call(t, (a: boolean, x: number) => (a ? true : x > q), { init: false });
    expect([called.dtype, called.item()]).toEqual(["bool", true]);
    expect(t.reduce((a, x) => a + x, { init: false }).item()).toBe(8.5);
  });

  it("a start that does not fit is an error", () => {
    const u8 = tensor(new Uint8Array([0]));
    expect(() => mapReduce([u8], (x) => x, { reduce: "max", init: 0.5 })).toThrow(/init is 0.5/);
    expect(() => u8.reduce((a, x) => a + x, { init: 2.5, dtype: "i32" })).toThrow(/init is 2.5/);
    expect(() => u8.reduce((a, x) => a + x, { init: 300, dtype: "u8" })).toThrow(/init is 300/);
  });
});

describe("what is kept of calls", () => {
  it("is bounded, whatever tells them apart", () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const x = arange(8);
    const add = (acc: number, y: number) => acc + y;
    const run = (from: number) => {
      for (let i = from; i < from + 6000; i++) x.reduce(add, { init: (i + 0.5) / 4001 }).dispose();
      gc();
      return process.memoryUsage().heapUsed;
    };
    const first = run(0);
    // Forty thousand plans of 3 kB each would show: 120 MB. The rest is room for what else lives in this process.
    for (let i = 1; i < 6; i++) run(6000 * i);
    expect(run(36_000) - first).toBeLessThan(3e7);
    expect(engine().heap.stats().blocks).toBeGreaterThan(0);
  });
});
