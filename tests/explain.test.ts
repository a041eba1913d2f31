/** What explain says, as a newcomer reads it; and the documents' iteration tables, number by number. */
import { beforeAll, describe, expect, it } from "vitest";
import { engine } from "../src/engine.ts";
import {
  arange,
  configure,
  convolve,
  einsum,
  explain,
  fft,
  kernel,
  linalg,
  matmul,
  median,
  random,
  softmax,
  sort,
  take,
  tensor,
  tensordot,
  zeros,
  zip,
} from "../src/index.ts";
import { stridedOf } from "../src/tensor.ts";
import { emitBulkCopy } from "../src/wasm/program/bulk.ts";

beforeAll(() => configure({ threads: 1 }));

/** The report without what differs from run to run: what was compiled before, and how long it took. */
const text = (run: () => unknown) =>
  `\n${String(explain(run))
    .replace(/[;,] (compiled|known) .*/g, "")
    .replace(/\n {3}(time|plan) .*/g, "")}\n`;
const table = (run: () => unknown) => `\n${explain(run).table()}\n`;

describe("the iteration tables of the documents", () => {
  it("map, aligned", () => {
    expect(
      table(() =>
        arange(6)
          .reshape(2, 3)
          .map((x) => x + 100),
      ),
    ).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  in index  in position  read in  written
      ─────────────────────────────────────────────────────────────────────────
      0        [0, 0]     0             [0, 0]    0            0        100
      1        [0, 1]     1             [0, 1]    1            1        101
      2        [0, 2]     2             [0, 2]    2            2        102
      3        [1, 0]     3             [1, 0]    3            3        103
      4        [1, 1]     4             [1, 1]    4            4        104
      5        [1, 2]     5             [1, 2]    5            5        105
      "
    `);
  });
  it("map, broadcast (1,3) to (2,3)", () => {
    const row = tensor([[10, 20, 30]]).broadcastTo(2, 3);
    expect(table(() => row.map((x) => x + 100))).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  in index  in position  read in  written
      ─────────────────────────────────────────────────────────────────────────
      0        [0, 0]     0             [0, 0]    0            10       110
      1        [0, 1]     1             [0, 1]    1            20       120
      2        [0, 2]     2             [0, 2]    2            30       130
      3        [1, 0]     3             [0, 0]    0            10       110
      4        [1, 1]     4             [0, 1]    1            20       120
      5        [1, 2]     5             [0, 2]    2            30       130
      "
    `);
  });
  it("map, a slice with other strides", () => {
    const a = arange(8).reshape(2, 4).slice(":", "::2");
    expect(table(() => a.map((x) => x + 100))).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  in index  in position  read in  written
      ─────────────────────────────────────────────────────────────────────────
      0        [0, 0]     0             [0, 0]    0            0        100
      1        [0, 1]     1             [0, 1]    2            2        102
      2        [1, 0]     2             [1, 0]    4            4        104
      3        [1, 1]     3             [1, 1]    6            6        106
      "
    `);
  });
  it("zip, (1,3) with (2,3)", () => {
    const [a, b] = [tensor([[10, 20, 30]]), tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3] })];
    expect(table(() => zip([a, b], (x, y) => x + y))).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  a index  a position  read a  b index  b position  read b  written
      ───────────────────────────────────────────────────────────────────────────────────────────────────
      0        [0, 0]     0             [0, 0]   0           10      [0, 0]   0           1       11
      1        [0, 1]     1             [0, 1]   1           20      [0, 1]   1           2       22
      2        [0, 2]     2             [0, 2]   2           30      [0, 2]   2           3       33
      3        [1, 0]     3             [0, 0]   0           10      [1, 0]   3           4       14
      4        [1, 1]     4             [0, 1]   1           20      [1, 1]   4           5       25
      5        [1, 2]     5             [0, 2]   2           30      [1, 2]   5           6       36
      "
    `);
  });
  it("reduce over the last axis, dense and sliced", () => {
    const dense = tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3] });
    expect(
      table(() => dense.reduce((acc, x) => acc + x, { axis: 1, init: 0, keepdims: true })),
    ).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  in base  walk   read   written
      ────────────────────────────────────────────────────────────────
      0        [0]        0             0        0 1 2  1 2 3  6
      1        [1]        1             3        3 4 5  4 5 6  15
      "
    `);
    const sliced = arange(8).reshape(2, 4).slice(":", "::2");
    expect(table(() => sliced.sum({ axis: 1, keepdims: true }))).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  in base  walk  read  written
      ──────────────────────────────────────────────────────────────
      0        [0]        0             0        0 2   0 2   2
      1        [1]        1             4        4 6   4 6   10
      "
    `);
  });
  it("matmul with a batch broadcast on either side: the bases and the walk along k", () => {
    const a = tensor([1, 2, 3, 4, 5, 6], { shape: [1, 2, 3] });
    const b = tensor([10, 11, 12, 13, 14, 15, 7, 8, 9, 10, 11, 12], { shape: [2, 3, 2] });
    expect(table(() => matmul(a, b))).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  a base  b base  products            written
      ─────────────────────────────────────────────────────────────────────────────
      0        [0, 0, 0]  0             0       0       1·10 + 2·12 + 3·14  76
      1        [0, 0, 1]  1             0       1       1·11 + 2·13 + 3·15  82
      2        [0, 1, 0]  2             3       0       4·10 + 5·12 + 6·14  184
      3        [0, 1, 1]  3             3       1       4·11 + 5·13 + 6·15  199
      4        [1, 0, 0]  4             0       6       1·7 + 2·9 + 3·11    58
      5        [1, 0, 1]  5             0       7       1·8 + 2·10 + 3·12   64
      6        [1, 1, 0]  6             3       6       4·7 + 5·9 + 6·11    139
      7        [1, 1, 1]  7             3       7       4·8 + 5·10 + 6·12   154
      "
    `);
    const c = tensor([1, 2, 3, 4, 5, 6, 2, 1, 0, 3, -1, 2], { shape: [2, 2, 3] });
    const d = tensor([10, 11, 12, 13, 14, 15], { shape: [1, 3, 2] });
    expect(table(() => matmul(c, d))).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  a base  b base  products             written
      ──────────────────────────────────────────────────────────────────────────────
      0        [0, 0, 0]  0             0       0       1·10 + 2·12 + 3·14   76
      1        [0, 0, 1]  1             0       1       1·11 + 2·13 + 3·15   82
      2        [0, 1, 0]  2             3       0       4·10 + 5·12 + 6·14   184
      3        [0, 1, 1]  3             3       1       4·11 + 5·13 + 6·15   199
      4        [1, 0, 0]  4             6       0       2·10 + 1·12 + 0·14   32
      5        [1, 0, 1]  5             6       1       2·11 + 1·13 + 0·15   35
      6        [1, 1, 0]  6             9       0       3·10 + -1·12 + 2·14  46
      7        [1, 1, 1]  7             9       1       3·11 + -1·13 + 2·15  50
      "
    `);
  });
  it("long tables are elided in the middle", () => {
    expect(`\n${explain(() => arange(1000).map((x) => -x)).table({ rows: 6 })}\n`).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  in index  in position  read in  written
      ─────────────────────────────────────────────────────────────────────────
      0        [0]        0             [0]       0            0        -0
      1        [1]        1             [1]       1            1        -1
      2        [2]        2             [2]       2            2        -2
      …        …          …             …         …            …        …
      997      [997]      997           [997]     997          997      -997
      998      [998]      998           [998]     998          998      -998
      999      [999]      999           [999]     999          999      -999
      "
    `);
  });
});

describe("what ran, in words", () => {
  const m = () => arange(12).reshape(3, 4);
  it("aligned operands", () =>
    expect(text(() => m().add(m()))).toMatchInlineSnapshot(`
      "
      1. add: a + b
         out      f32 [3, 4], strides [4, 1]: dense
         a        f32 [3, 4], strides [4, 1]: dense
         b        f32 [3, 4], strides [4, 1]: dense
         loops    3 × 4, walked as one loop of 12
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   96 B read, 48 B written
      "
    `));
  it("a broadcast column", () =>
    expect(text(() => m().mul(arange(3).reshape(3, 1)))).toMatchInlineSnapshot(`
      "
      1. mul: a * b
         out      f32 [3, 4], strides [4, 1]: dense
         a        f32 [3, 4], strides [4, 1]: dense
         b        f32 [3, 4], strides [1, 0]: broadcast, one element for the whole inner loop
         loops    3 × 4
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   60 B read, 48 B written
      "
    `));
  it("a slice", () =>
    expect(
      text(() =>
        m()
          .slice(":", "::2")
          .map((x) => x * x),
      ),
    ).toMatchInlineSnapshot(`
      "
      1. map: (x) => x * x
         out      f32 [3, 2], strides [2, 1]: dense
         in       f32 [3, 2], strides [4, 2]: elements 2 apart, picked up one by one
         loops    3 × 2, walked as one loop of 6
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   24 B read, 24 B written
      "
    `));
  it("transposed", () => {
    expect(text(() => zeros([32, 32]).T.add(zeros([32, 32])))).toMatchInlineSnapshot(`
      "
      1. add: a + b
         out      f32 [32, 32], strides [32, 1]: dense
         a        f32 [32, 32], strides [1, 32]: side by side along the other axis, turned round in registers
         b        f32 [32, 32], strides [32, 1]: dense
         loops    32 × 32
         code     SIMD WebAssembly, tiles of 4 × 4 elements
         threads  1, because one thread was asked for
         memory   8 KiB read, 4 KiB written
      "
    `);
  });
  it("reversed", () =>
    expect(text(() => m().slice(":", "::-1").add(m()))).toMatchInlineSnapshot(`
      "
      1. add: a + b
         out      f32 [3, 4], strides [4, 1]: dense
         a        f32 [3, 4], strides [4, -1], offset 3: backwards, vectors are turned round
         b        f32 [3, 4], strides [4, 1]: dense
         loops    3 × 4
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   96 B read, 48 B written
      "
    `));
  it("a function that reads an outer variable", () => {
    const k = 3;
    expect(text(() => m().map((x) => x * k))).toMatchInlineSnapshot(`
      "
      1. map calls the function for each element, because it was not compiled:
         map: the function reads the outer variable "k".
           (x) => x * k
                      ^
           Pass it: map(…, { with: { k } }).

      2. map: (x) => x * k
         out      f32 [3, 4], strides [4, 1]: dense
         in       f32 [3, 4], strides [4, 1]: dense
         loops    3 × 4, walked as one loop of 12
         code     the JavaScript function itself, called for each element
         threads  1, because one thread was asked for
         memory   48 B read, 48 B written
      "
    `);
  });
  it("a function that is interpreted, because its code would be too large or an executor refuses it", () => {
    const head = (report: unknown) => String(report).split("\n").slice(0, 3).join("\n");
    const huge = new Function("x", `let y = x; ${"y = y ** 1.5 - 0.5;".repeat(1000)} return y;`) as (
      x: number,
    ) => number;
    const report = explain(() => m().map(huge));
    expect(report.fallbacks[0].backend).toBe("interpreter");
    expect(head(report).replace(/about \d+/, "about N")).toMatchInlineSnapshot(`
      "1. map is interpreted, because it was not compiled:
         map: the function unfolds to about N operations; code for at most 30000 can be made.
           The interpreter computes it, one element at a time."
    `);
    const { compiled, executor } = engine();
    try {
      engine().executor = { refuses: () => "it takes nothing.", prepare: (work) => compiled.prepare(work) };
      expect(head(explain(() => m().add(1)))).toMatchInlineSnapshot(`
        "1. add is interpreted, because it was not compiled:
           add: it takes nothing.
             The interpreter computes it, one element at a time."
      `);
    } finally {
      engine().executor = executor;
    }
  });
  it("a function that calls something unknown", () => {
    const clamp = (x: number) => Math.min(x, 5);
    expect(text(() => m().map((x) => clamp(x) + 1))).toMatchInlineSnapshot(`
      "
      1. map calls the function for each element, because it was not compiled:
         map: cannot compile this call; only Math.* functions are known.
           (x) => clamp(x) + 1
                  ^^^^^^^^
           Write clamp inside the function, or pass it: map(…, { with: { clamp } }).

      2. map: (x) => clamp(x) + 1
         out      f32 [3, 4], strides [4, 1]: dense
         in       f32 [3, 4], strides [4, 1]: dense
         loops    3 × 4, walked as one loop of 12
         code     the JavaScript function itself, called for each element
         threads  1, because one thread was asked for
         memory   48 B read, 48 B written
      "
    `);
  });
  it("a conversion", () =>
    expect(text(() => m().to("f16"))).toMatchInlineSnapshot(`
      "
      1. to: x => f16(x)
         out      f16 [3, 4], strides [4, 1]: dense
         in       f32 [3, 4], strides [4, 1]: dense
         loops    3 × 4, walked as one loop of 12
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   48 B read, 24 B written
      "
    `));
  it("an overlapping assignment", () => {
    const t = arange(6);
    expect(text(() => t.slice("1:").assign(t.slice(":-1")))).toMatchInlineSnapshot(`
      "
      1. assign copied 20 B: source and destination overlap, so the source is copied first.

      2. assign: x => x
         out      f32 [5], strides [1]: dense
         in       f32 [5], strides [1]: dense
         loops    5
         code     WebAssembly's memory.copy, the bytes as they are
         threads  1, because one thread was asked for
         memory   20 B read, 20 B written

      3. assign: x => x
         out      f32 [5], strides [1], offset 1: dense
         in       f32 [5], strides [1]: dense
         loops    5
         code     WebAssembly's memory.copy, the bytes as they are
         threads  1, because one thread was asked for
         memory   20 B read, 20 B written
      "
    `);
  });
  it("a fold along the inner axis, and along the outer one", () => {
    const wide = arange(128).reshape(2, 64);
    expect(text(() => wide.sum({ axis: 1 }))).toMatchInlineSnapshot(`
      "
      1. sum: acc + in
         out      f32 [2], strides [1]: dense
         in       f32 [2, 64], strides [64, 1]: dense
         loops    2 × 64
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
                  4 parts of one result side by side, grouped the same way on any number of threads; 4 at a time in f32, then in f64
         threads  1, because one thread was asked for
         memory   512 B read, 8 B written
      "
    `);
    expect(text(() => m().reduce((acc, x) => acc * 2 + x, { axis: 0 }))).toMatchInlineSnapshot(`
      "
      1. reduce: (acc, x) => acc * 2 + x
         out      f32 [4], strides [1]: dense
         in       f32 [3, 4], strides [4, 1]: dense
         loops    3 × 4, walked as 4 × 3, the folded ones inside
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
                  4 results side by side, each in the order of its elements
         threads  1, because one thread was asked for
         memory   48 B read, 16 B written
      "
    `);
  });
  it("a product of a transposed matrix", () =>
    expect(text(() => m().T.matmul(m()))).toMatchInlineSnapshot(`
      "
      1. matmul: out[i, j] = Σ a[i, k] · b[k, j]
         out      f32 [4, 4], strides [4, 1]: dense
         a        f32 [4, 3], strides [1, 4]: read through its own strides, without a copy
         b        f32 [3, 4], strides [4, 1]: dense
         loops    4 × 4 × 3
         code     SIMD WebAssembly, 4 elements at once
                  operands read where they lie, tiles of 4 × 8
         threads  1, because one thread was asked for
         memory   96 B read, 64 B written
      "
    `));
  it("a reshape that must copy", () =>
    expect(text(() => m().T.reshape(12))).toMatchInlineSnapshot(`
      "
      1. reshape copied 48 B: no strides lay [4, 3] with strides [1, 4] out as [12].

      2. reshape: x => x
         out      f32 [4, 3], strides [3, 1]: dense
         in       f32 [4, 3], strides [1, 4]: elements 4 apart, picked up one by one
         loops    4 × 3
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   48 B read, 48 B written
      "
    `));
  it("views alone", () =>
    expect(text(() => m().T.slice("1:").flip())).toMatchInlineSnapshot(`
    "
    No kernel ran: only views were made, or elements were made, read or written one by one from JavaScript.
    "
  `));
});

describe("reports", () => {
  it("hold the program after each pass, the code, and what the function returned", () => {
    const report = explain(() => kernel((x: number) => Math.max(x * 2, 0))(arange(4)));
    expect(report.result.toArray()).toEqual([0, 2, 4, 6]);
    expect(report.passes()).toMatchInlineSnapshot(`
      "── function: what the function says, with dtypes
      %0 = input f32 #0    x
      %1 = const f32 2     2
      %2 = mul f32 %0 %1   x * 2
      %3 = const f32 0     0
      %4 = max f32 %2 %3   Math.max(x * 2, 0)
      return f32 %4
      ── simplify: exact algebra on what the function says
      %0 = input f32 #0
      %1 = const f32 2
      %2 = mul f32 %0 %1
      %3 = const f32 0
      %4 = pmax f32 %2 %3
      %5 = add f32 %4 %3
      return f32 %5"
    `);
    expect(report.wat()).toMatch(/f32x4\.pmax/);
    expect(JSON.parse(JSON.stringify(report)).steps[0]).toMatchObject({
      kind: "kernel",
      operation: "kernel",
    });
  });
  it("say what was compiled and what was known, how long it took and how fast it was", () => {
    const f = kernel((x: number) => x * 3.25 + 7.5);
    const x = arange(1 << 18);
    const [first, again] = [explain(() => f(x)), explain(() => f(x))];
    expect(String(first)).toMatch(/code {5}SIMD .*; compiled in [\d.]+ [mµ]s, V8's first code$/m);
    expect(String(again)).toMatch(/code {5}SIMD .*; known already, V8's first code$/m);
    expect(String(again)).toMatch(/time {5}[\d.]+ [mµ]s, [\d.]+ GB\/s$/m);
    const product = explain(() => matmul(zeros([128, 128]), zeros([128, 128])));
    expect(String(product)).toMatch(/time {5}[\d.]+ [mµ]s, [\d.]+ GFLOP\/s$/m);
    expect(product.kernels[0]).toMatchObject({ flops: 2 * 128 ** 3, rate: { unit: "GFLOP/s" } });
    for (let i = 0; i < 200; i++) f(x).dispose();
    expect(String(explain(() => f(x)))).toMatch(/known already, optimised by V8$/m);
  });
  it("show the loops before and after they were joined and reordered", () => {
    const a = arange(24).reshape(2, 3, 4);
    expect(`\n${explain(() => a.add(arange(4))).loops()}\n`).toMatchInlineSnapshot(`
      "
      ── as asked for, steps in elements
      for 2: out +12, a +12, b +0
        for 3: out +4, a +4, b +0
          for 4: out +1, a +1, b +1
      ── as walked
      for 6: out +4, a +4, b +0
        for 4: out +1, a +1, b +1
      "
    `);
    expect(`\n${explain(() => a.sum({ axis: 1 })).loops()}\n`).toMatchInlineSnapshot(`
      "
      ── as asked for, steps in elements
      for 2: out +4, in +12
        for 3: out +0, in +4
          for 4: out +1, in +1
      ── as walked
      for 2: out +4, in +12
        for 4: out +1, in +1
          for 3: out +0, in +4
      "
    `);
  });
  it("show folds as programs too, and matrix products as WebAssembly", () => {
    const fold = explain(() => arange(6).reduce((acc, x) => acc * 2 + x));
    expect(fold.passes()).toMatchInlineSnapshot(`
      "── function: what the function says, with dtypes
      %0 = input f32 #0    acc
      %1 = const f32 2     2
      %2 = mul f32 %0 %1   acc * 2
      %3 = input f32 #1    x
      %4 = add f32 %2 %3   acc * 2 + x
      return f32 %4"
    `);
    expect(fold.wat()).toMatch(/f32x4|f32\.mul/);
    expect(explain(() => matmul(zeros([8, 8]), zeros([8, 8]))).wat()).toMatch(/f32x4\.mul/);
  });
  it("hold all of it as data, plain enough for JSON", () => {
    const x = arange(24).reshape(4, 6).slice(":", "::2");
    const { steps } = JSON.parse(JSON.stringify(explain(() => x.map((v) => v + 3))));
    const [{ time, compileTime, rate, wat, ...rest }] = steps;
    expect([typeof time, typeof compileTime, typeof wat]).toEqual(["number", "number", "string"]);
    expect(rate === null || rate.value > 0).toBe(true);
    expect(rest).toMatchInlineSnapshot(`
      {
        "backend": "wasm",
        "bytes": 96,
        "bytesRead": 48,
        "bytesWritten": 48,
        "cached": false,
        "flops": null,
        "form": "elementwise",
        "kind": "kernel",
        "layoutKey": "CS",
        "loops": {
          "after": [
            12,
          ],
          "before": [
            4,
            3,
          ],
        },
        "nest": {
          "after": [
            {
              "size": 12,
              "steps": [
                1,
                2,
              ],
            },
          ],
          "before": [
            {
              "size": 4,
              "steps": [
                3,
                6,
              ],
            },
            {
              "size": 3,
              "steps": [
                1,
                2,
              ],
            },
          ],
        },
        "note": null,
        "operands": [
          {
            "dtype": "f32",
            "name": "out",
            "offset": 0,
            "shape": [
              4,
              3,
            ],
            "step": 1,
            "strides": [
              3,
              1,
            ],
            "walk": "contiguous",
          },
          {
            "dtype": "f32",
            "name": "in",
            "offset": 0,
            "shape": [
              4,
              3,
            ],
            "step": 2,
            "strides": [
              6,
              2,
            ],
            "walk": "strided",
          },
        ],
        "operation": "map",
        "passes": [
          {
            "name": "function",
            "says": "what the function says, with dtypes",
            "text": "%0 = input f32 #0
      %1 = const f32 3
      %2 = add f32 %0 %1
      return f32 %2",
          },
        ],
        "replayed": false,
        "source": "(v) => v + 3",
        "spans": [
          {
            "end": 2,
            "node": 0,
            "start": 1,
            "text": "v",
          },
          {
            "end": 12,
            "node": 1,
            "start": 11,
            "text": "3",
          },
          {
            "end": 12,
            "node": 2,
            "start": 7,
            "text": "v + 3",
          },
        ],
        "threads": {
          "own": 0,
          "shared": false,
          "tasks": 0,
          "threads": 1,
          "wanted": 1,
          "why": "one thread was asked for",
        },
        "tier": "first",
        "vector": {
          "lanes": 4,
          "rows": 1,
          "tiled": false,
          "unroll": 4,
        },
      }
    `);
  });
  it("include code written by hand", () => {
    const [from, to] = [arange(64), zeros(64)];
    const tasks = [0, 1, 2, 3].map((i) => [
      stridedOf(to).storage.address + 64 * i,
      stridedOf(from).storage.address + 64 * i,
      64,
    ]);
    const copy = () => {
      engine().routines.run("copy for the test", ({ shared }) => emitBulkCopy(shared), tasks, 0);
      return to.neg();
    };
    expect(text(copy)).toMatchInlineSnapshot(`
      "
      1. copy for the test: a routine written by hand, 4 tasks
         code     WebAssembly
         threads  1, because one thread was asked for

      2. neg: neg(in)
         out      f32 [64], strides [1]: dense
         in       f32 [64], strides [1]: dense
         loops    64
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because one thread was asked for
         memory   256 B read, 256 B written
      "
    `);
    const { routines, steps } = explain(copy);
    expect(routines[0]).toMatchObject({ name: "copy for the test", tasks: 4, cached: true });
    expect(routines[0].wat).toMatch("memory.copy");
    expect(steps.map((s) => s.kind)).toEqual(["routine", "kernel"]);
    expect(to.toArray()).toEqual(from.toArray());
  });
  it("say of routines what the user called, on what, and that they have no element table", () => {
    const m = arange(6).reshape(2, 3);
    const report = explain(() => softmax(m));
    expect(text(() => softmax(m))).toMatchInlineSnapshot(`
      "
      1. softmax: a routine written by hand ("softmax f32"), 1 task
         out      f32 [2, 3], strides [3, 1]
         in       f32 [2, 3], strides [3, 1]
         code     WebAssembly
         threads  1, because one thread was asked for
         memory   48 B read and written
      "
    `);
    expect(`\n${report.table()}\n`).toMatchInlineSnapshot(`
      "
      No compiled kernel ran, only routines written by hand: softmax ("softmax f32").
      They work on whole lines and blocks, so there is no table of elements.
      "
    `);
    expect(() => report.iteration()).toThrow(/no such kernel: 0 ran, and 1 written by hand/);
    const said = (run: () => unknown) =>
      explain(run).routines.map((r) => [
        r.operation,
        ...r.operands.map((o) => `${o.name} ${o.dtype} ${o.shape}`),
      ]);
    expect(said(() => sort(m))).toEqual([["sort", "out f32 2,3", "in f32 2,3"]]);
    expect(said(() => take(m, [1], { axis: 0 }))[1]).toEqual(["take", "out f32 1,3", "a f32 2,3", "b u32 1"]);
    expect(said(() => fft.fft(zeros([8, 2])))).toEqual([["fft", "out f32 8,2", "in f32 8,2"]]);
    expect(said(() => random.uniform([5]))).toEqual([["uniform", "out f32 5"]]);
    expect(said(() => convolve(arange(5), arange(2)))[0][0]).toBe("convolve");
    expect(said(() => linalg.cholesky(tensor([[4]])))[0]).toEqual(["cholesky", "in f32 1,1,1"]);
    expect(explain(() => take(m, [1], { axis: 0 })).routines[1].bytes).toBe(28);
    const [first] = explain(() =>
      engine().routines.run("once", ({ shared }) => emitBulkCopy(shared), [[0, 0, 0]], 0),
    ).routines;
    expect(first.compileTime).toBeGreaterThan(0);
    expect(first.compileTime).toBeLessThanOrEqual(first.time);
  });
  it("put the steps of a call under its name, and say why it copies before it does", () => {
    const m = arange(6).reshape(2, 3);
    expect(
      text(() => einsum("ij,kj->ik", m, m))
        .split("\n")
        .slice(1, 3),
    ).toEqual(["einsum:", "   1. matmul: out[i, j] = Σ a[i, k] · b[k, j]"]);
    const within = (run: () => unknown) => [...new Set(explain(run).steps.map((s) => s.within))];
    expect(within(() => median(m))).toEqual(["median"]);
    const turned = m.T.clone();
    expect(within(() => tensordot(m, turned, { axes: 1 }))).toEqual(["tensordot"]);
    expect(within(() => linalg.svd(m))).toEqual(["svd"]);
    expect(within(() => m.neg())).toEqual([undefined]);
    const order = explain(() => sort(m.T)).steps.map((s) => `${s.kind} ${s.operation}`);
    expect(order).toEqual(["copy sort", "kernel contiguous", "routine sort"]);
    const whys = (run: () => unknown) => explain(run).copies.map((c) => c.why);
    expect(whys(() => linalg.solve(tensor([[2]]), tensor([1])))).toEqual([
      "it works on its matrices in place, so on a copy",
      "the right side is solved in place, so on a copy",
    ]);
    expect(whys(() => linalg.svd(m.T)).at(-1)).toMatch(/side by side/);
    expect(
      whys(() =>
        linalg.cholesky(
          tensor([
            [4, 2],
            [2, 3],
          ]),
        ),
      ).at(-1),
    ).toMatch(/handed out dense/);
    expect(whys(() => convolve(arange(5), arange(3))).at(-1)).toMatch(/weights/);
    expect(explain(() => m.T.contiguous()).kernels[0].operation).toBe("contiguous");
  });
  it("show constants and captured values", () => {
    const m = arange(4);
    expect(explain(() => m.add(5)).kernels[0].source).toBe("in + 5");
    const scaled = explain(() => kernel((x: number, k: number) => x * k, { k: 2.5 })(m));
    expect(scaled.kernels[0].values).toEqual({ k: "2.5" });
    expect(String(scaled)).toMatch(/^ {3}with {5}k = 2\.5$/m);
    expect(scaled.passes()).toMatch(/param f32 #0 \(k = 2\.5\)/);
    const folded = explain(() => kernel((x: number, k: number) => x * k, { k: 3 }).reduce("sum")(m));
    expect(folded.kernels[0].source).toBe("acc + f64((in * 3))");
    expect(explain(() => m.argmax()).kernels[1].source).toMatch(/position, none/);
  });
  it("tell the truth of empty tensors", () => {
    const said = text(() => zeros([0, 3]).map((x) => x + 1));
    expect(said).toMatch(/in {7}f32 \[0, 3\], strides \[3, 1\]: no elements/);
    expect(said).toMatch(/code {5}none: there is no element to write/);
    expect(text(() => zeros([0, 3]).sum({ axis: 0 }))).toMatch(/nothing is folded, so every element is what/);
    expect(explain(() => zeros([0, 3]).neg()).kernels[0].operands[0].walk).toBe("contiguous");
  });
  it("call a walk side by side where the tensor itself is not dense", () => {
    const m = arange(12).reshape(3, 4);
    const said = text(() => m.flip(0).add(m.slice(0)));
    expect(said).toMatch(/strides \[-4, 1\], offset 8: side by side along the inner loop/);
    expect(said).toMatch(/strides \[0, 1\]: side by side along the inner loop/);
    expect(said).toMatch(/out {6}f32 \[3, 4\], strides \[4, 1\]: dense/);
  });
  it("time a matrix product without compiling it", () => {
    const square = zeros([40, 40], { dtype: "i32" });
    const [first, again] = [explain(() => matmul(square, square)), explain(() => matmul(square, square))];
    const [{ cached, compileTime, time }] = first.kernels;
    expect([cached, again.kernels[0].cached, again.kernels[0].compileTime]).toEqual([false, true, 0]);
    expect(compileTime).toBeGreaterThan(0);
    expect(compileTime).toBeLessThan(time);
    expect(String(first)).toMatch(/code .*; compiled in [\d.]+ [mµ]s$/m);
  });
  it("check the kernel's number everywhere alike", () => {
    const report = explain(() => arange(3).neg());
    expect(report.table(0)).toBe(report.table());
    for (const name of ["wat", "passes", "loops", "iteration", "table"] as const) {
      expect(() => report[name](5)).toThrow(/no such kernel: 1 ran.\n {2}Count from 0/);
      expect(() => report[name](0.5)).toThrow(/the kernel is the number 0.5/);
      expect(() => explain(() => 1)[name]()).toThrow(/no such kernel: 0 ran.\n {2}Explain a function/);
    }
  });
  it("are JSON with the result in short, and without WebAssembly if wanted", () => {
    const report = explain(() => ({ x: arange(3).neg(), n: 2n }));
    const { steps, result } = JSON.parse(JSON.stringify(report.toJSON({ wat: false })));
    expect(result).toEqual({
      x: { name: "tensor", dtype: "f32", shape: [3], strides: [1], offset: 0 },
      n: "2",
    });
    expect(explain(() => ({ x: new Float32Array(3), y: [null] })).toJSON().result).toEqual({
      x: "Float32Array",
      y: [null],
    });
    expect("wat" in steps[0]).toBe(false);
    const lazy = explain(() => sort(arange(3))).steps[0];
    expect(Object.getOwnPropertyDescriptor(lazy, "wat")?.get).toBeTypeOf("function");
    expect(steps[0].operation).toBe("neg");
    expect(JSON.parse(JSON.stringify({ report })).report.steps[0].wat).toMatch(/^\(module/);
  });
  it("of a promise say what is not in them; of elements made by JavaScript that no kernel ran", () => {
    expect(String(explain(async () => arange(3).neg()))).toMatch(
      /1\. neg[\s\S]*what runs after its first await/,
    );
    expect(String(explain(() => arange(3).toArray()))).toMatch(/^No kernel ran: .* from JavaScript\.$/);
  });
  it("show a replayed call as a replay, with the plan that ran", () => {
    const v = arange(24).reshape(4, 6).slice(":", "::2");
    const calls: Record<string, (t: typeof v) => unknown> = {
      strided: (t) => t.mul(t),
      scalar: (t) => t.mul(3.5),
      "a kernel with captured values": (t) => t.map((x, { k }) => x * k + 1, { with: { k: 2 } }),
      fold: (t) => t.sum({ axis: 1 }),
      scan: (t) => t.cumsum({ axis: 1 }),
      copy: (t) => t.clone(),
      product: (t) => t.matmul(t.T),
    };
    for (const [name, call] of Object.entries(calls)) {
      const first = explain(() => call(v)).kernels[0];
      const [again] = explain(() => call(v.neg())).kernels.slice(-1);
      const [other] = explain(() => call(v)).kernels;
      expect([name, other.replayed, other.cached]).toEqual([name, true, true]);
      expect(again.operation).toBe(first.operation);
      const plan = ({ loops, nest, layoutKey, vector, note, backend, passes }: typeof first) => ({
        loops,
        nest,
        layoutKey,
        vector,
        note,
        backend,
        passes,
      });
      expect([name, plan(other)]).toEqual([name, plan(first)]);
    }
    const [more] = explain(() => v.mul(-8.5)).kernels;
    expect([more.replayed, more.source]).toEqual([true, "in * -8.5"]);
    expect(String(explain(() => v.mul(v)))).toMatch(/plan {5}replayed: it was made for an earlier call$/m);
  });
  it("stop listening when the function throws, and nest", () => {
    expect(() => explain(() => zeros(2).add(zeros(3)))).toThrow(/add/);
    const outer = explain(() => explain(() => zeros(2).neg()).kernels.length + Number(zeros(2).abs().get(0)));
    expect(outer.result).toBe(1);
    expect(outer.kernels.map((k) => k.operation)).toEqual(["neg", "abs"]);
    const inner = explain(() => [zeros(2).abs(), explain(() => zeros(2).neg())] as const).result[1];
    expect(inner.kernels.map((k) => k.operation)).toEqual(["neg"]);
    expect(inner.table()).toMatch("read in");
  });
});
