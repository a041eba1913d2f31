/** Mistakes that users found, each with the test that would have caught it. */
import { availableParallelism } from "node:os";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { engine } from "../src/engine.ts";
import * as lib from "../src/index.ts";
import {
  arange,
  dtypeNames,
  explain,
  eye,
  fromBuffer,
  fromGgml,
  kernel,
  linspace,
  mapReduce,
  memory,
  norm,
  ones,
  promote,
  scope,
  softmax,
  type Tensor,
  tensor,
  zeros,
  zip,
} from "../src/index.ts";
import { fromJSON } from "../src/ops/json.ts";
import { Pool } from "../src/run/pool.ts";
import { Recent } from "../src/run/recent.ts";
import { stridedOf, wrap } from "../src/tensor.ts";
import { descriptor } from "../src/wasm/program/elementwise.ts";
import { refused } from "./refused.ts";

// biome-ignore lint/suspicious/noExplicitAny: what plain JavaScript may pass
type Any = any;

describe("once wrong, now right", () => {
  it("a tensor's shape and strides cannot be changed from outside: kernels trust them", () => {
    const a = zeros([16]);
    const b = ones([16]);
    expect(() => Object.assign(a.shape, { 0: 32 })).toThrow(TypeError);
    expect(() => (a.shape as number[]).push(2)).toThrow(TypeError);
    expect(() => Object.assign(a.byteStrides, { 0: 0 })).toThrow(TypeError);
    expect(() => Object.assign(stridedOf(a).frame, { offset: 4 })).toThrow(TypeError);
    a.fill(7);
    expect(b.sum().item()).toBe(16);
  });

  describe("with a pool of another kind", () => {
    /** The engine's pool with so many threads and another way to run tasks, while `fn` runs. */
    const withPool = (threads: number, run: Pool["run"], fn: () => void) => {
      const { pool } = engine();
      Object.defineProperty(pool, "threads", { value: threads, configurable: true });
      Object.defineProperty(pool, "run", { value: run, configurable: true });
      try {
        fn();
      } finally {
        delete (pool as Any).threads;
        delete (pool as Any).run;
      }
    };

    it("the tasks of a call that failed are not run by the next one", () => {
      const every = (n: number) => ones([n, 2 * n]).slice(":", "::2");
      const add = kernel((a, b) => a + b);
      const broken = () => {
        throw new Error("a worker stopped");
      };
      withPool(2, broken, () => {
        expect(() => add(every(1000), every(1000))).toThrow("a worker stopped");
        expect(() => add(ones(1e6), ones(1e6))).toThrow("a worker stopped");
      });
      // After that a pool has one thread, and nothing is left to be run on others.
      withPool(1, broken, () => {
        expect(add(every(4), every(4)).sum().item()).toBe(32);
        expect(add(ones(7), ones(7)).sum().item()).toBe(14);
      });
    });

    it("rows that are computed together stay in one task, with any number of threads", () => {
      const { heap } = engine();
      for (const [m, n] of [
        [170, 30_000],
        [40, 130_000],
      ]) {
        const rows: number[] = [];
        const count: Pool["run"] = (k, at, step, tasks) => {
          for (let i = 0; i < tasks; i++) {
            rows.push(new Int32Array(heap.buffer)[(at + i * step) / 4 + descriptor.m]);
            k.run(at + i * step);
          }
        };
        const [a, row] = [ones([m, n]), arange(n)];
        withPool(16, count, () => {
          expect(
            a
              .add(row)
              .sum({ axis: 0, dtype: "f64" })
              .get(n - 1),
          ).toBe(m * n);
        });
        expect(rows.length).toBeGreaterThan(16);
        expect(Math.max(...rows)).toBeGreaterThanOrEqual(4);
        expect(rows.filter((r) => r % 4 !== 0).length).toBeLessThan(rows.length / 8);
        a.dispose();
      }
    });
  });

  it("a product of half floats into a wider output is not rounded to a half on the way", () => {
    const values = Array.from({ length: 40 }, (_, i) => 1 + ((i * 37) % 128) / 128);
    for (const dtype of ["f16", "bf16"] as const) {
      for (const [m, k, n] of [
        [1, 2, 1],
        [3, 1, 4],
        [5, 8, 5],
        [2, 20, 2],
      ]) {
        const a = tensor(values.slice(0, m * k), { dtype, shape: [m, k] });
        const b = tensor(values.slice(0, k * n), { dtype, shape: [k, n] });
        const want = a.to("f64").matmul(b.to("f64")).to("f32").toArray();
        expect(a.matmul(b, { out: zeros([m, n]) }).toArray()).toEqual(want);
        expect(a.matmul(b, { out: zeros([m, n], { dtype: "f64" }) }).toArray()).toEqual(want);
        expect(a.matmul(b).toArray()).toEqual(a.to("f64").matmul(b.to("f64")).to(dtype).toArray());
      }
    }
  });

  it("an array inside itself is an error, not the end of the process", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => tensor(cycle as never)).toThrow(/at most 64 axes|64/);
  });

  it("u64 elements are not handed to a function that would be called, unless as floats", () => {
    const zero = 0n;
    const u = tensor(new BigUint64Array([2n ** 64n - 1n]));
    expect(() => u.map((x) => ((x as unknown as bigint) + zero) as never)).toThrow(/not in u64/);
    const half = 0.5;
    expect(u.map((x) => x * half, { compute: "f64" }).toArray()).toEqual([2 ** 63]);
  });

  it("signed integers folded as u64, and u64 as signed ones, never pass through floats", () => {
    const a = tensor(new Int8Array([-1, 5]));
    const u = (...values: bigint[]) => tensor(values, { dtype: "u64" });
    expect(a.sum({ dtype: "u64" }).item()).toBe(4);
    expect(a.prod({ dtype: "u64" }).toArray()).toBe(2n ** 64n - 5n);
    expect(a.cumsum({ dtype: "u64" }).toArray()).toEqual([2n ** 64n - 1n, 4n]);
    expect(
      u(2n ** 63n, 3n)
        .sum({ dtype: "i32" })
        .item(),
    ).toBe(3);
    expect(
      u(2n ** 53n, 1n, 1n, 1n)
        .sum({ dtype: "i64" })
        .toArray(),
    ).toBe(2n ** 53n + 3n);
    expect(
      u(2n ** 53n + 1n, 1n)
        .prod({ dtype: "i64" })
        .toArray(),
    ).toBe(2n ** 53n + 1n);
    expect(
      u(2n ** 53n + 1n, 1n)
        .max({ dtype: "i64" })
        .toArray(),
    ).toBe(2n ** 53n + 1n);
    expect(
      kernel((x: number) => x)
        .reduce("sum", { dtype: "u64" })(a)
        .item(),
    ).toBe(4);
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

  it("an option that does not exist is an error that names those that do", () => {
    const t = arange(6).reshape(2, 3);
    expect(refused(() => t.sum({ axes: 0 } as Any))).toMatchInlineSnapshot(`
      "(value) sum: there is no option "axes".
        Did you mean axis? There are axis, keepdims, dtype."
    `);
    expect(refused(() => t.reduce((a, x) => a + x, { keepDims: true } as Any))).toMatchInlineSnapshot(`
      "(value) reduce: there is no option "keepDims".
        Did you mean keepdims? There are axis, init, keepdims, dtype, compute, associative, with."
    `);
    expect(refused(() => zeros([2], { type: "f64" } as Any))).toMatchInlineSnapshot(`
      "(value) zeros: there is no option "type".
        Did you mean dtype? The only one is dtype."
    `);
    const one = { nosuch: 1 } as Any;
    const calls: (() => unknown)[] = [
      () => tensor([1], one),
      () => ones([1], one),
      () => arange(3, one),
      () => linspace(0, 1, 3, one),
      () => eye(2, one),
      () => fromBuffer(new Float32Array(2), { dtype: "f32", shape: [2], ...one }),
      () => t.map((x) => x, one),
      () => zip([t], (x) => x, one),
      () => t.add(1, one),
      () => t.exp(one),
      () => t.scan((a, x) => a + x, { axis: 0, ...one }),
      () => t.mean(one),
      () => t.var(one),
      () => t.argmax(one),
      () => t.cumsum({ axis: 0, ...one }),
      () => norm(t, one),
      () => softmax(t, one),
      () => mapReduce([t], (x) => x, one),
      () => t.diagonal(one),
      () => t.toString(one),
      () => kernel((x: number) => x, {}, one),
      () => explain(() => t.neg()).table(one),
    ];
    for (const call of calls) expect(refused(call)).toMatch(/there is no option "nosuch"/);
  });

  it("a `let` that is assigned before its declaration does not compile, as it does not run", () => {
    const source = new Function("return (x) => { y = x; let y = 2; return y; }")();
    expect(refused(() => kernel(source))).toMatchInlineSnapshot(`
      "(kernel) kernel: the function assigns to "y" before its declaration.
        (x) => { y = x; let y = 2; return y; }
                 ^
        JavaScript throws here; move the declaration up."
    `);
    const late = new Function("return (x) => { if (x > 0) { y = 1; } let y = 2; return y; }")();
    expect(() => arange(3).map(late)).toThrow(ReferenceError);
    const fine = new Function("return (x) => { let y = 1; if (x > 0) { y = 3; } return y; }")();
    expect(kernel(fine)(arange(2)).toArray()).toEqual([1, 3]);
  });

  it("symbols and detached buffers are described, never a raw TypeError", () => {
    const s: Any = Symbol("s");
    const t = arange(4).reshape(2, 2);
    const gone = new Float32Array(4);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    expect(refused(() => tensor(gone))).toMatchInlineSnapshot(`
      "(value) tensor: the buffer is detached: its memory has been transferred to somebody else.
        Make the tensor before the transfer, or from a copy."
    `);
    for (const call of [
      () => tensor(gone, { dtype: "f64" }),
      () => fromBuffer(gone, { dtype: "f32", shape: [0] }),
      () => fromBuffer(gone.buffer, { dtype: "f32", shape: [0] }),
      () => fromGgml({ type: "f32", ne: [0], data: gone }),
      () => t.assign(gone as Any),
    ])
      expect(refused(call)).toMatch(/the buffer is detached/);
    expect(refused(() => t.swapAxes(s, 0))).toMatchInlineSnapshot(`
      "(axis) swapAxes: axis a symbol is not an integer.
        Use -2 … 1."
    `);
    for (const call of [
      () => t.get(s, 0),
      () => t.slice(s),
      () => t.diagonal({ offset: s }),
      () => t.cumsum({ axis: s }),
      () => t.toString({ digits: s }),
      () => eye(s),
      () => fromGgml({ type: s, ne: [1], data: new Float32Array(1) }),
      () => explain(() => t.neg()).table({ rows: s }),
      () => explain(() => t.neg()).wat(s),
      () => explain(() => t.neg()).passes(s),
    ])
      expect(refused(call)).toMatch(/symbol/i);
  });

  it("asStrided speaks of elements, as it is asked in elements", () => {
    const t = arange(6);
    expect(refused(() => t.asStrided([2, 4], [3, 1]))).toMatchInlineSnapshot(`
      "(bounds) asStrided: the view reaches elements 0 … 6, its storage has 0 … 5.
        Every element must lie inside: shape [2, 4], strides [3, 1], offset 0."
    `);
    expect(refused(() => t.asStrided([2], [-1], 0))).toMatchInlineSnapshot(`
      "(bounds) asStrided: the view reaches elements -1 … 0, its storage has 0 … 5.
        Every element must lie inside: shape [2], strides [-1], offset 0."
    `);
    expect(refused(() => t.asStrided([2, 2], [1]))).toMatchInlineSnapshot(`
      "(shape) asStrided: shape [2, 2] and strides [1] differ in length.
        Give one stride for each axis."
    `);
    expect(refused(() => t.asStrided([2], [1], -3))).toMatchInlineSnapshot(`
      "(value) asStrided: offset -3 is not an offset.
        Offsets are integers from 0."
    `);
    expect(refused(() => t.asStrided([2], [0.5]))).toMatchInlineSnapshot(`
      "(value) asStrided: 0.5 is no whole number of elements.
        Strides and the offset count elements."
    `);
    expect(refused(() => t.asStrided([0], [1], 100))).toMatchInlineSnapshot(`
      "(bounds) asStrided: the empty view begins at element 100, its storage has 6.
        Every element must lie inside: shape [0], strides [1], offset 100."
    `);
    expect(t.asStrided([0], [1], 6).toArray()).toEqual([]);
    expect(t.asStrided([2, 3], [1, 2]).toArray()).toEqual([
      [0, 2, 4],
      [1, 3, 5],
    ]);
  });

  it("a hole in a list of tensors is an error of its own, not a TypeError", () => {
    const a = ones([2, 2]);
    // biome-ignore lint/suspicious/noSparseArray: what this is about
    const holes = [a, , a] as unknown as Tensor[];
    for (const run of [
      () => lib.concat(holes),
      () => lib.stack(holes),
      () => lib.broadcastArrays(holes as never),
      () => lib.multiDot(holes),
      () => lib.meshgrid(new Array(3)),
      () => lib.lexsort(new Array(3)),
      () => zip(holes, (x, y, z) => x + y + z),
      () => lib.gather(a, new Array(2)),
    ]) {
      expect(run).toThrow(expect.objectContaining({ name: "TensorError" }));
    }
  });

  it("assign drops leading axes of size 1 that the destination has not got, as NumPy does", () => {
    const src = arange(6).reshape(1, 1, 2, 3);
    expect(zeros([2, 3]).assign(src).toArray()).toEqual(arange(6).reshape(2, 3).toArray());
    expect(
      zeros([2, 3])
        .assign(src.slice(":", ":", "1:"))
        .toArray(),
    ).toEqual([
      [3, 4, 5],
      [3, 4, 5],
    ]);
    expect(() => zeros([3]).assign(src)).toThrow("does not broadcast");
    expect(() => zeros([2, 3]).assign(arange(12).reshape(2, 2, 3))).toThrow("does not broadcast");
  });

  it("the temporary of assignFlat is among the copies of a report", () => {
    const src = arange(12).reshape(3, 4).T;
    // A dense destination can be seen in the source's shape; one in another order cannot.
    expect(explain(() => zeros([2, 6]).assignFlat(src)).copies).toEqual([]);
    const turned = zeros([6, 2]).T;
    expect(turned.assignFlat(src).toArray()).toEqual(zeros([2, 6]).assignFlat(src).toArray());
    const { copies } = explain(() => turned.assignFlat(src));
    expect(copies).toEqual([
      {
        kind: "copy",
        operation: "assignFlat",
        bytes: 48,
        why: "no strides see the source's [4, 3] as [2, 6], so it is brought into row-major order first",
      },
    ]);
  });

  it("STRIDED_THREADS that is no number of threads is an error at the first use", () => {
    const { heap } = engine();
    const before = process.env.STRIDED_THREADS;
    const wanted = (text: string) => {
      process.env.STRIDED_THREADS = text;
      return new Pool(heap, undefined).status().wanted;
    };
    try {
      expect(refused(() => wanted("many"))).toMatchInlineSnapshot(`
        "(value) STRIDED_THREADS: "many" is no number of threads.
          Set it to a whole number from 1 to 64, or leave it out for every core."
      `);
      for (const text of ["0", "-1", "1.5", "1e400"]) {
        expect(refused(() => wanted(text))).toMatch(`"${text}" is no number of threads`);
      }
      expect(wanted("")).toBe(availableParallelism());
      expect(wanted("2")).toBe(2);
    } finally {
      if (before === undefined) delete process.env.STRIDED_THREADS;
      else process.env.STRIDED_THREADS = before;
    }
  });

  it("code of kernels is no tensor: memory() counts none after work on threads", () => {
    engine().pool.waitUntilReady();
    const before = memory();
    scope(() => {
      const big = arange(1 << 20);
      for (let i = 0; i < 3; i++) big.map((x) => Math.sqrt(x * x + 1.25)).sum();
    });
    expect(memory().tensors).toBe(before.tensors);
    expect(memory().bytes).toBe(before.bytes);
  });

  it("kernels that nobody used for the longest time make room for new ones", () => {
    const map = new Recent<number>(3);
    for (const [key, value] of [
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ] as const)
      map.set(key, value);
    expect(map.get("a")).toBe(1);
    map.set("d", 4);
    expect(["a", "b", "c", "d"].map((key) => map.get(key))).toEqual([1, undefined, 3, 4]);
    map.set("c", 5);
    expect([map.size, map.get("c")]).toEqual([3, 5]);
  });

  it("what is no number is shown as it is written, and never a TypeError of JavaScript's", () => {
    const a = arange(6).reshape(2, 3);
    const odd: Any[] = [Symbol("x"), Object.create(null), [Symbol("x")]];
    for (const x of odd) {
      for (const run of [
        () => lib.configure({ maximumBytes: x }),
        () => fromBuffer(new Float32Array(4), { dtype: "f32", shape: [2], byteOffset: x }),
        () => lib.pad(a, 1, { mode: x }),
      ])
        expect(refused(run)).toMatch(/an object|an array|a symbol/);
    }
    expect(refused(() => lib.pad(a, 1, { mode: ["edge"] as Any }))).toMatch("mode is an array.");
    expect(a.get(0n, 0)).toBe(a.get(0, 0));
    expect(refused(() => a.get("1" as Any, 0))).toMatch('index "1" for axis 0 is not an integer.');
    expect(refused(() => a.cumsum({ axis: "x" as Any }))).toMatch('axis "x" is not an integer.');
    expect(refused(() => lib.configure({ maximumBytes: "1" as Any }))).toMatch('maximumBytes is "1".');
    expect(refused(() => lib.oneHot(arange(3).to("i32"), 2 ** 32))).toMatch("from 0 to 2147483647");
    class Given {}
    for (const run of [() => scope(Given as Any), () => explain(Given as Any)])
      expect(refused(run)).toMatch("a class was given.");
    expect(refused(() => explain(3 as Any))).toMatch("expected a function, got the number 3.");
  });

  it("copies that no memory holds are refused under their own name, not by V8's end", () => {
    const vast = arange(1).broadcastTo(2 ** 20, 2 ** 20);
    expect(refused(() => vast.toArray())).toMatch(/toArray: 1099511627776 elements are too many/);
    expect(refused(() => vast.toJSON())).toMatch(/too many/);
    expect(refused(() => vast.toTypedArray())).toMatch(/toTypedArray: out of memory/);
  });

  it("a tensor goes to JSON and back, 64-bit integers, NaN and -0 included", () => {
    const back = (t: Tensor) => wrap(fromJSON(JSON.stringify(t)));
    for (const dtype of dtypeNames) {
      const t = tensor(
        [
          [1, 0, 1],
          [0, 1, 1],
        ],
        { dtype },
      ).T;
      expect(back(t)).toMatchObject({ dtype, shape: [3, 2] });
      expect(back(t).toArray()).toEqual(t.toArray());
    }
    for (const t of [
      tensor([NaN, -0, Infinity, -Infinity, 0.1]),
      tensor([2n ** 63n - 1n, -(2n ** 63n)]),
      tensor(new BigUint64Array([2n ** 64n - 1n])),
      zeros([2, 0, 3]),
      tensor(5),
    ]) {
      expect(back(t).toArray()).toEqual(t.toArray());
      expect(wrap(fromJSON(t.toJSON())).toArray()).toEqual(t.toArray());
    }
    const broken: Any[] = [
      "{",
      1,
      null,
      {},
      { dtype: "f32", shape: [2], data: [1] },
      { dtype: "f32", shape: [1], data: ["x"] },
      { dtype: "i32", shape: [1], data: [1.5] },
      { dtype: "u8", shape: [1], data: [300] },
      { dtype: "i64", shape: [1], data: ["9223372036854775808"] },
      { dtype: "bool", shape: [1], data: [1] },
    ];
    for (const json of broken) expect(refused(() => fromJSON(json))).toMatch(/fromJSON/);
  });
});
