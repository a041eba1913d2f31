/** What explain says, as a newcomer reads it; and the documents' iteration tables, number by number. */
import { beforeAll, describe, expect, it } from "vitest";
import { arange, configure, explain, kernel, matmul, tensor, zeros, zip } from "../src/index.ts";

beforeAll(() => configure({ threads: 1 }));

/** The report without what depends on whether a kernel was seen before. */
const text = (run: () => unknown) =>
  `\n${String(explain(run)).replace(/, (compiled now|known already)/g, "")}\n`;
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
    1. add  (x0 + x1)
       out  f32 [3, 4], strides [4, 1]: contiguous
       a    f32 [3, 4], strides [4, 1]: contiguous
       b    f32 [3, 4], strides [4, 1]: contiguous
       loops    3 × 4, walked as 12
       code     SIMD WebAssembly, 4 lanes × 4 a turn
       threads  1: one thread was asked for
       moved    144 B
    "
  `));
  it("a broadcast column", () =>
    expect(text(() => m().mul(arange(3).reshape(3, 1)))).toMatchInlineSnapshot(`
      "
      1. mul  (x0 * x1)
         out  f32 [3, 4], strides [4, 1]: contiguous
         a    f32 [3, 4], strides [4, 1]: contiguous
         b    f32 [3, 4], strides [1, 0]: one element for the whole row
         loops    3 × 4
         code     SIMD WebAssembly, 4 lanes × 4 a turn
         threads  1: one thread was asked for
         moved    108 B
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
      1. map  (x) => x * x
         out  f32 [3, 2], strides [2, 1]: contiguous
         in   f32 [3, 2], strides [4, 2]: strided, lane by lane
         loops    3 × 2, walked as 6
         code     SIMD WebAssembly, 4 lanes × 4 a turn
         threads  1: one thread was asked for
         moved    48 B
      "
    `));
  it("transposed", () => {
    expect(text(() => zeros([32, 32]).T.add(zeros([32, 32])))).toMatchInlineSnapshot(`
      "
      1. add  (x0 + x1)
         out  f32 [32, 32], strides [32, 1]: contiguous
         a    f32 [32, 32], strides [1, 32]: contiguous along the other axis, transposed in registers
         b    f32 [32, 32], strides [32, 1]: contiguous
         loops    32 × 32
         code     SIMD WebAssembly, tiles of 4 × 4
         threads  1: one thread was asked for
         moved    12 KiB
      "
    `);
  });
  it("reversed", () =>
    expect(text(() => m().slice(":", "::-1").add(m()))).toMatchInlineSnapshot(`
    "
    1. add  (x0 + x1)
       out  f32 [3, 4], strides [4, 1]: contiguous
       a    f32 [3, 4], strides [4, -1], offset 3: reversed, vectors turned round
       b    f32 [3, 4], strides [4, 1]: contiguous
       loops    3 × 4
       code     SIMD WebAssembly, 4 lanes × 4 a turn
       threads  1: one thread was asked for
       moved    144 B
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
           Pass it: kernel(fn, { k }).

      2. map  (x) => x * k
         out  f32 [3, 4], strides [4, 1]: contiguous
         in   f32 [3, 4], strides [4, 1]: contiguous
         loops    3 × 4, walked as 12
         code     the JavaScript function itself, called for each element
         threads  1: one thread was asked for
         moved    96 B
      "
    `);
  });
  it("a conversion", () =>
    expect(text(() => m().to("f16"))).toMatchInlineSnapshot(`
      "
      1. to  x => f16(x)
         out  f16 [3, 4], strides [4, 1]: contiguous
         in   f32 [3, 4], strides [4, 1]: contiguous
         loops    3 × 4, walked as 12
         code     SIMD WebAssembly, 4 lanes × 4 a turn
         threads  1: one thread was asked for
         moved    72 B
      "
    `));
  it("an overlapping assignment", () => {
    const t = arange(6);
    expect(text(() => t.slice("1:").assign(t.slice(":-1")))).toMatchInlineSnapshot(`
      "
      1. assign copied 20 B: source and destination overlap, so the source is copied first.

      2. assign  x => x
         out  f32 [5], strides [1]: contiguous
         in   f32 [5], strides [1]: contiguous
         loops    5
         code     WebAssembly
         threads  1: one thread was asked for
         moved    40 B

      3. assign  x => x
         out  f32 [5], strides [1], offset 1: contiguous
         in   f32 [5], strides [1]: contiguous
         loops    5
         code     WebAssembly
         threads  1: one thread was asked for
         moved    40 B
      "
    `);
  });
  it("a fold along the inner axis, and along the outer one", () => {
    expect(text(() => m().sum({ axis: 1 }))).toMatchInlineSnapshot(`
      "
      1. sum  (x0 + x1)
         out  f32 [3], strides [1]: contiguous
         in   f32 [3, 4], strides [4, 1]: contiguous
         loops    3 × 4
         code     SIMD WebAssembly, folded in fixed blocks, whatever the threads
         threads  1: one thread was asked for
         moved    60 B
      "
    `);
    expect(text(() => m().reduce((acc, x) => acc * 2 + x, { axis: 0 }))).toMatchInlineSnapshot(`
      "
      1. reduce  (acc, x) => acc * 2 + x
         out  f32 [4], strides [1]: contiguous
         in   f32 [3, 4], strides [4, 1]: contiguous
         loops    3 × 4, walked as 4 × 3
         code     SIMD WebAssembly, folded in the order of the elements
         threads  1: one thread was asked for
         moved    64 B
      "
    `);
  });
  it("a product of a transposed matrix", () =>
    expect(text(() => m().T.matmul(m()))).toMatchInlineSnapshot(`
    "
    1. matmul  out[i, j] = Σ a[i, k] · b[k, j]
       out  f32 [4, 4], strides [4, 1]: contiguous
       a    f32 [4, 3], strides [1, 4]: read through its own strides
       b    f32 [3, 4], strides [4, 1]: contiguous
       loops    4 × 4 × 3
       code     SIMD WebAssembly, operands read where they lie, tiles of 4 × 8
       threads  1: one thread was asked for
       moved    160 B
    "
  `));
  it("a reshape that must copy", () =>
    expect(text(() => m().T.reshape(12))).toMatchInlineSnapshot(`
    "
    1. reshape copied 48 B: no strides lay [4, 3] with strides [1, 4] out as [12].

    2. reshape  x => x
       out  f32 [4, 3], strides [3, 1]: contiguous
       in   f32 [4, 3], strides [1, 4]: strided, lane by lane
       loops    4 × 3
       code     SIMD WebAssembly, 4 lanes × 4 a turn
       threads  1: one thread was asked for
       moved    96 B
    "
  `));
  it("views alone", () =>
    expect(text(() => m().T.slice("1:").flip())).toMatchInlineSnapshot(`
    "
    Nothing ran: views only, no element was read or written.
    "
  `));
});

describe("reports", () => {
  it("hold the program after each pass, the code, and what the function returned", () => {
    const report = explain(() => kernel((x: number) => Math.max(x * 2, 0))(arange(4)));
    expect(report.result.toArray()).toEqual([0, 2, 4, 6]);
    expect(report.passes()).toMatchInlineSnapshot(`
      "── function
      %0 = input f32 #0
      %1 = const f32 2
      %2 = mul f32 %0 %1
      %3 = const f32 0
      %4 = max f32 %2 %3
      return f32 %4
      ── simplify
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
  it("stop listening when the function throws, and nest", () => {
    expect(() => explain(() => zeros(2).add(zeros(3)))).toThrow(/add/);
    const outer = explain(() => explain(() => zeros(2).neg()).kernels.length + Number(zeros(2).abs().get(0)));
    expect(outer.result).toBe(1);
    expect(outer.kernels.map((k) => k.operation)).toContain("abs");
  });
});
