/** The shape of what the compiler makes, not only its values: loops, vectors, and what is never compiled twice. */
import { expect, test } from "vitest";
import { engine } from "../../src/engine.ts";
import { arange, explain, kernel, type Tensor, zeros, zip } from "../../src/index.ts";

const add = kernel((a: number, b: number) => a + b);
const report = (run: () => Tensor) => explain(run).kernels.at(-1)!;
const count = (text: string, word: string) => text.split(word).length - 1;

test("dense operands of any rank are one loop", () => {
  const [a, b] = [zeros([4, 5, 6, 7]), zeros([4, 5, 6, 7])];
  expect(report(() => add(a, b)).loops.after).toEqual([840]);
});

test("operands transposed together are one loop again, and the output follows them", () => {
  const [a, b] = [zeros([30, 40]).T, zeros([30, 40]).T];
  const step = report(() => add(a, b));
  expect(step.loops.after).toEqual([1200]);
  expect(add(a, b).strides).toEqual([1, 40]);
});

test("[N, C] + [C] is a loop of rows with a contiguous inner one", () => {
  const step = report(() => add(zeros([50, 64]), zeros(64)));
  expect(step.loops.after).toEqual([50, 64]);
  expect(step.operands.map((o) => o.walk)).toEqual(["contiguous", "contiguous", "contiguous"]);
});

test("contiguous operands are loaded as vectors: no gathering, no lane loads", () => {
  const { wat } = report(() => add(zeros(100), zeros(100)));
  expect(count(wat!, "v128.load ")).toBeGreaterThan(0);
  expect(wat).not.toMatch(/load(8|16|32|64)_lane|load(32|64)_zero|replace_lane/);
});

test("a broadcast operand is loaded once a row and splatted outside the loop", () => {
  const { wat } = report(() => add(zeros([9, 100]), zeros([9, 1])));
  const inner = wat!.slice(wat!.indexOf("loop $loop3"), wat!.indexOf("end", wat!.indexOf("loop $loop3")));
  expect(inner).toMatch(/f32x4\.add/);
  expect(inner).not.toMatch(/splat/);
});

test("a long operand that is the same in every row is loaded, and what follows from it computed, once for several rows", () => {
  const scale = kernel((x: number, row: number) => x * Math.sqrt(row));
  const step = report(() => scale(zeros([1024, 4096]), zeros([4096])));
  expect(step.operands.map((o) => o.walk)).toEqual(["contiguous", "contiguous", "repeated"]);
  expect(step.vector?.rows).toBe(4);
  const body = step.wat!.slice(step.wat!.indexOf("f32x4.sqrt"));
  const inner = body.slice(body.indexOf("loop"), body.indexOf("br_if"));
  expect(inner).toMatch(/f32x4\.mul/);
  expect(inner).not.toMatch(/sqrt/);
  expect(count(inner, "v128.load ")).toBe(4);
});

test("constants stand before the loops, not in them", () => {
  const { wat } = report(() => zeros(100).map((x) => x * 3 + 7));
  const loops = wat!.slice(wat!.indexOf("loop"));
  expect(wat).toMatch(/v128\.const/);
  expect(loops).not.toMatch(/v128\.const/);
});

test("a transposed operand is read in runs and turned in registers", () => {
  const step = report(() => add(zeros([64, 64]).T, zeros([64, 64])));
  expect(step.operands.map((o) => o.walk)).toEqual(["contiguous", "transposed", "contiguous"]);
  expect(step.vector?.tiled).toBe(true);
  expect(step.wat).not.toMatch(/load32_lane/);
});

test("every dtype computes in vectors", () => {
  for (const d of [
    "bool",
    "u8",
    "i8",
    "u16",
    "i16",
    "u32",
    "i32",
    "u64",
    "i64",
    "f16",
    "bf16",
    "f32",
    "f64",
  ] as const) {
    const { wat } = report(() => zeros(64, { dtype: d }).map((x) => x + x));
    expect(count(wat!, "x4.add") + count(wat!, "x2.add"), d).toBeGreaterThan(0);
  }
});

test("a new shape, offset or stride compiles nothing; a new layout class does, once", () => {
  const f = kernel((x: number, y: number) => x * 2 - y);
  const big = arange(4000).reshape(40, 100);
  f(big, big);
  f(big.slice(":", "::2"), big.slice(":", "::2"));
  const before = engine().kernels.compiled;
  f(arange(7), arange(7));
  f(zeros([3, 4, 5]), zeros([3, 4, 5]));
  f(big.slice("3:9"), big.slice("4:10"));
  f(big.slice(":", "::3"), big.slice(":", "::3"));
  f(zeros([0, 3]), zeros([0, 3]));
  expect(engine().kernels.compiled).toBe(before);
  f(big.slice(":", "::-1"), big);
  f(big.slice("::2", "::-1"), big.slice("::2"));
  expect(engine().kernels.compiled).toBe(before + 1);
});

test("other captured values, and new closures of a known text, compile nothing", () => {
  const scale = (k: number) => kernel((x: number, k: number) => x * k, { k });
  const a = zeros(64);
  scale(1.5)(a);
  const before = engine().kernels.compiled;
  for (let i = 0; i < 5; i++) scale(i + 0.25)(a);
  for (let i = 0; i < 5; i++) a.add(i + 0.5);
  const known = engine().kernels.compiled;
  for (let i = 0; i < 5; i++) a.add(i + 0.125);
  expect(known).toBeLessThanOrEqual(before + 1);
  expect(engine().kernels.compiled).toBe(known);
});

test("equal functions of different text share a kernel when they are the same algebra", () => {
  const a = zeros(64);
  a.map((x) => x * 2 + 1);
  const before = engine().kernels.compiled;
  a.map((value) => 1 + value * 2 * 1);
  zip([a], (q) => {
    const twice = q * 2;
    return twice + 1;
  });
  expect(engine().kernels.compiled).toBe(before);
});

test("fastMath fuses, multiplies instead of dividing and drops NaN rules; without it nothing of that happens", () => {
  const f = (x: number, y: number) => Math.max(x / 3, y) * y + x;
  const [a, b] = [arange(64), arange(64)];
  const exact = explain(() => kernel(f)(a, b));
  const fast = explain(() => kernel(f, {}, { fastMath: true })(a, b));
  expect(exact.passes()).toMatch(/ div /);
  expect(exact.passes()).not.toMatch(/madd|pmax/);
  expect(fast.passes()).not.toMatch(/ div /);
  expect(fast.passes()).toMatch(/madd/);
  expect(fast.passes()).toMatch(/pmax/);
  const values = fast.result.toTypedArray() as Float32Array;
  const worst = values.reduce((most, x, i) => Math.max(most, Math.abs(x - f(i, i)) / (1 + Math.abs(x))), 0);
  expect(worst).toBeLessThan(1e-6);
});
