/** Functions of any size, and sizes of anything: an answer or a TensorError, soon, and never what the engine says. */
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  arange,
  bincount,
  explain,
  eye,
  fft,
  fromFunction,
  full,
  histogram,
  kernel,
  linspace,
  mapReduce,
  oneHot,
  pad,
  random,
  repeat,
  type Tensor,
  tensor,
  tile,
  zeros,
  zip,
} from "../../src/index.ts";
import { refused } from "../refused.ts";

// biome-ignore lint/suspicious/noExplicitAny: what plain JavaScript may pass
type Any = any;

const repeated = (count: number, piece: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => piece(i)).join("");
/** Sources that nobody would write out. */
const functionOf = (source: string): Any => runInThisContext(source);
const chain = (count: number, step: string) =>
  functionOf(`(x) => { let y = x; ${step.repeat(count)} return y; }`);

/** The function itself, on the tensor's numbers, each result rounded to its dtype. */
const called = (t: Tensor, fn: (...x: number[]) => number): number[] =>
  (t.toArray() as number[]).map((x) => fn(x));

describe("functions that unfold to many operations", () => {
  it("a loop in a loop has code", () => {
    const nested = (x: number) => {
      let y = x;
      for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) y = Math.sin(y) + j;
      return y;
    };
    const x = tensor([0, 1, -2, 0.5, 3], { dtype: "f64" });
    const report = explain(() => x.map(nested));
    expect(report.fallbacks).toEqual([]);
    (x.map(nested).toArray() as number[]).forEach((y, i) => {
      expect(y).toBeCloseTo(called(x, nested)[i], 9);
    });
  });

  // Every operation is exact, so that all rungs of the ladder give the same bits: in vectors, in scalars, interpreted.
  const sizes = [20, 200, 600, 1200];
  it.each(sizes)("%i steps give the bits of the function itself", (count) => {
    const fn = functionOf(
      `(x) => { let y = x; ${repeated(count, (i) => `y = y > ${i} ? y - ${i + 0.25} : y * 0.5 + ${i};`)} return y; }`,
    );
    const x = arange(37).to("f64").mul(3.5);
    expect(explain(() => x.map(fn)).fallbacks).toEqual([]);
    expect(x.map(fn).toArray()).toEqual(called(x, fn));
    const strided = x.slice("::-2");
    expect(strided.map(fn).toArray()).toEqual(called(strided, fn));
    const { kernels } = engine();
    kernels.simd = false;
    try {
      expect(x.map(fn).toArray()).toEqual(called(x, fn));
    } finally {
      kernels.simd = true;
    }
  });

  it("many values in use across many branches have code, in scalars", () => {
    const fn = functionOf(
      `(x) => {${repeated(400, (i) => `const a${i} = x + ${i};`)}
        return 0 ${repeated(400, (i) => `+ a${i}`)} ${repeated(400, (i) => `+ a${i} % 3`)};}`,
    );
    const x = arange(19).to("f64");
    const report = explain(() => x.map(fn));
    expect(report.kernels[0].vector).toBe(null);
    expect(x.map(fn).toArray()).toEqual(called(x, fn));
    const total = mapReduce([x], fn).item();
    expect(total).toBe(called(x, fn).reduce((p, q) => p + q));
    expect(explain(() => mapReduce([x], fn)).kernels[0].vector).toBe(null);
  });

  it("folds and scans of 300 sines have code", () => {
    const x = arange(40).to("f64");
    const step = functionOf(`(a, x) => { let y = x; ${"y = Math.sin(y);".repeat(300)} return a * 0.5 + y; }`);
    let acc = 0;
    const want = (x.toArray() as number[]).map((v, i) => {
      acc = i === 0 ? v : step(acc, v);
      return acc;
    });
    expect(explain(() => x.scan(step)).fallbacks).toEqual([]);
    (x.scan(step).toArray() as number[]).forEach((v, i) => {
      expect(v).toBeCloseTo(want[i], 9);
    });
    expect(x.reduce(step).item()).toBeCloseTo(want[39], 9);
  });

  describe("that come to more than a kernel can have", () => {
    const huge = chain(1000, "y = y ** 1.5 - 0.5;");
    const x = tensor([0.5, 1, 2], { dtype: "f64" });

    it("are interpreted by map, zip, reduce and scan, which say why", () => {
      const began = process.cpuUsage();
      const report = explain(() => x.map(huge));
      expect(report.fallbacks[0].why.replace(/about \d+/, "about N")).toMatchInlineSnapshot(`
        "map: the function unfolds to about N operations; code for at most 30000 can be made.
          The interpreter computes it, one element at a time."
      `);
      expect(report.kernels[0].backend).toBe("interpreter");
      expect(x.map(huge).toArray()).toEqual(called(x, huge));
      const into = tensor([9, 9, 9], { dtype: "f64" });
      x.map(huge, { out: into });
      expect(into.toArray()).toEqual(called(x, huge));
      const step = functionOf(
        `(a, x) => { let y = x; ${"y = y ** 1.5 - 0.5;".repeat(1000)} return a * 0.5 + y; }`,
      );
      const folded = explain(() => x.reduce(step));
      expect(folded.fallbacks.map((f) => f.operation)).toEqual(["reduce"]);
      expect(Object.is(x.reduce(step).item(), step(step(0.5, 1), 2))).toBe(true);
      expect(explain(() => x.scan(step)).fallbacks.map((f) => f.operation)).toEqual(["scan"]);
      expect(Object.is(mapReduce([x], huge, { reduce: "max" }).item(), Math.max(...called(x, huge)))).toBe(
        true,
      );
      // The processor's time: others that are busy do not count.
      expect(process.cpuUsage(began).user).toBeLessThan(20e6);
    });

    it("are an error of a kernel, and of its folds", () => {
      expect(refused(() => kernel(huge)(x)).replace(/about \d+/, "about N")).toMatchInlineSnapshot(`
        "(kernel) kernel: the function unfolds to about N operations; code for at most 30000 can be made.
          Split it into several kernels, or give the plain function to map or zip."
      `);
      expect(
        refused(() => kernel(huge).reduce("sum")(x)).replace(/about \d+/, "about N"),
      ).toMatchInlineSnapshot(`
        "(kernel) reduce: the function unfolds to about N operations; code for at most 30000 can be made.
          Split it into several kernels, or give the plain function to map or zip."
      `);
    });
  });

  it.each([990, 1100, 2000])("%i operands", (count) => {
    const names = Array.from({ length: count }, (_, i) => `x${i}`);
    const sum = functionOf(`(${names.join()}) => ${names.join(" + ")}`);
    const operands = names.map(() => arange(3));
    expect(zip(operands, sum).toArray()).toEqual([0, count, 2 * count]);
    expect(mapReduce(operands, sum).item()).toBe(3 * count);
    if (count > 1000)
      expect(() => kernel(sum)(...operands)).toThrow(/has \d+ operands; code for at most 1000/);
  });
});

describe("a function with properties of a kernel", () => {
  it.each([[{ nodes: [], result: 0 }], [5], [null], ["x"]])("is a function: template %j", (template) => {
    const fn = Object.assign((x: number) => x + 1, { template });
    const x = arange(3);
    expect(x.map(fn).toArray()).toEqual([1, 2, 3]);
    expect(kernel(fn)(x).toArray()).toEqual([1, 2, 3]);
    expect(kernel((x: number, { fn }: Any) => fn(x) * 2, { fn } as Any)(x).toArray()).toEqual([2, 4, 6]);
    expect(x.reduce(Object.assign((a: number, b: number) => a + b, { template })).item()).toBe(3);
  });

  it("and an object is no kernel", () => {
    const { template } = kernel((x) => x * 2);
    expect(() => kernel((x: number, { k }: Any) => k(x), { k: { template } } as Any)).toThrow(/captured "k"/);
  });

  it("a kernel's own template cannot be exchanged", () => {
    const twice = kernel((x) => x * 2) as Any;
    expect(() => {
      twice.template = { nodes: [] };
    }).toThrow(TypeError);
    expect(kernel((x: number, { twice }: Any) => twice(x), { twice })(arange(2)).toArray()).toEqual([0, 2]);
  });
});

describe("counts and sizes beyond all memory", () => {
  const x = arange(4);
  const m = zeros([2, 2]);
  const making: Record<string, (n: number) => unknown> = {
    "repeat, one count": (n) => repeat(x, n),
    "repeat, a list": (n) => repeat(x, [n, 1, 1, 1]),
    "repeat, a tensor": (n) => repeat(x, tensor([1n, 1n, 1n, BigInt(n)])),
    "repeat along an axis": (n) => repeat(m, [n, n], { axis: 1 }),
    tile: (n) => tile(x, n),
    "tile twice": (n) => tile(x, [n, n]),
    eye: (n) => eye(n),
    linspace: (n) => linspace(0, 1, n),
    arange: (n) => arange(n),
    zeros: (n) => zeros([n, 2]),
    full: (n) => full([n], 1),
    pad: (n) => pad(x, n),
    "a broadcast tensor, copied": (n) => tensor([1]).broadcastTo([n]).contiguous(),
    "random.uniform": (n) => random.uniform([n]),
    "random.permutation": (n) => random.permutation(n),
    bincount: (n) => bincount(tensor([BigInt(n)])),
    oneHot: (n) => oneHot(tensor([0n, 1n]), n),
    histogram: (n) => histogram(x, { bins: n }),
    "fft.rfft": (n) => fft.rfft(x, { n }),
    "fft.fftfreq": (n) => fft.fftfreq(n),
    fromFunction: (n) => fromFunction((i) => i, [n]),
  };
  const sizes = [2 ** 32, 2 ** 40, Number.MAX_SAFE_INTEGER];
  it.each(Object.keys(making))("are a TensorError with the size, at once: %s", (name) => {
    for (const n of sizes) {
      const began = process.cpuUsage();
      expect(refused(() => making[name](n))).toMatch(/\d{4}/);
      expect(process.cpuUsage(began).user).toBeLessThan(2e6);
    }
  });

  it("repeat by several counts still repeats", () => {
    expect(repeat(x, [2, 0, 1, 3]).toArray()).toEqual([0, 0, 2, 3, 3, 3]);
    expect(repeat(m.add(tensor([1, 2])), tensor([1n, 2n]), { axis: 1 }).toArray()).toEqual([
      [1, 2, 2],
      [1, 2, 2],
    ]);
    expect(repeat(x, [0, 0, 0, 0]).shape).toEqual([0]);
  });
});
