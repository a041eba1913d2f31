/** What users found wrong in the library's functions, one test each. */
import { describe, expect, expectTypeOf, it } from "vitest";
import { type DType, dtypeNames, promoteAll } from "../../src/dtype.ts";
import * as s from "../../src/index.ts";
import { memory, scope, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";

const plain = (t: Tensor) => t.toArray();
/** The error of a call, which is a TensorError. */
function errorOf(call: () => unknown): string {
  try {
    scope(call);
  } catch (e) {
    expect(e).toBeInstanceOf(TensorError);
    return (e as TensorError).message;
  }
  return "no error";
}

describe("wrong results", () => {
  it("cov and corrcoef of one row whose columns are the variables", () => {
    const nan = [Number.NaN, Number.NaN, Number.NaN];
    const row = tensor([[1, 2, 3]]);
    expect(plain(s.cov(row, { rowvar: false }))).toEqual([nan, nan, nan]);
    expect(plain(s.corrcoef(row, { rowvar: false }))).toEqual([nan, nan, nan]);
    expect(s.cov(zeros([1, 0]), { rowvar: false }).shape).toEqual([0, 0]);
    expect(s.corrcoef(zeros([1, 0]), { rowvar: false }).shape).toEqual([0, 0]);
    expect(plain(s.cov(tensor([1, 2, 3]), { rowvar: false }))).toBe(1);
    expect(plain(s.cov(row))).toBe(1);
    expect(plain(s.cov(row, { bias: true, rowvar: false }))).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });

  it("linspace of integers goes down to the next one", () => {
    const down = { endpoint: false } as const;
    expect(plain(s.linspace(1, -4, 6, { dtype: "i64", ...down }))).toEqual([1n, 0n, -1n, -2n, -3n, -4n]);
    expect(plain(s.linspace(1, -4, 6, { dtype: "i32", ...down }))).toEqual([1, 0, -1, -2, -3, -4]);
    expect(plain(s.linspace(-0.5, -2.5, 3, { dtype: "i8" }))).toEqual([-1, -2, -3]);
    const many = s.linspace(-3, 3, 20001, { dtype: "i32" });
    expect(many.get(1)).toBe(-3);
    expect(many.get(3334)).toBe(-2);
    expect(many.get(20000)).toBe(3);
    expect(many.min().item()).toBe(-3);
    expect(plain(s.arange(-1.5, 2, { dtype: "i32" }))).toEqual([-1, 0, 0, 1]);
  });

  it("bigints beside 64-bit tensors: shift counts and nextafter", () => {
    const t = tensor([1n, -5n]);
    expect(plain(s.leftShift(t, 1n))).toEqual([2n, -10n]);
    expect(plain(s.rightShift(t, 1n))).toEqual([0n, -3n]);
    expect(plain(s.leftShift(t, 64n))).toEqual([0n, 0n]);
    expect(plain(s.rightShift(t, 200n))).toEqual([0n, -1n]);
    expect(plain(s.rightShift(t, -1n))).toEqual([0n, -1n]);
    expect(plain(s.leftShift(1n, tensor([3n, 70n])))).toEqual([8n, 0n]);
    expect(plain(s.leftShift(tensor([1n], { dtype: "u64" }), 63n))).toEqual([1n << 63n]);
    expect(plain(s.leftShift(t, 1))).toEqual([2n, -10n]);
    const two = tensor([1n, 2n]);
    expect(plain(s.nextafter(two, 1n))).toEqual([1, 2 - 2 ** -52]);
    expect(plain(s.nextafter(0n, two))).toEqual([5e-324, 5e-324]);
  });

  it("a generator's functions without the generator", () => {
    const { normal, integers, spawn, choice, shuffle, permutation, uniform } = s.random.generator(1);
    expect(plain(normal(2))).toEqual(plain(s.random.generator(1).normal(2)));
    expect(integers(0, 5, 3).shape).toEqual([3]);
    expect(choice(5, 2).shape).toEqual([2]);
    expect(permutation(4).shape).toEqual([4]);
    expect(shuffle(tensor([1, 2])).shape).toEqual([2]);
    expect(uniform(2).shape).toEqual([2]);
    expect(spawn(2)).toHaveLength(2);
  });

  it("several dtypes meet as NumPy's result_type, in any order", () => {
    expect(s.resultType("u16", "i16", "f32")).toBe("f32");
    expect(s.resultType("f16", "u8", "i8")).toBe("f16");
    expect(s.resultType("u64", "i64", "f32")).toBe("f64");
    for (const a of dtypeNames) {
      for (const b of dtypeNames) {
        for (const c of dtypeNames) {
          const orders = [
            [a, b, c],
            [b, c, a],
            [c, a, b],
          ] as const;
          expect(new Set(orders.map((of) => promoteAll(of))).size, `${a} ${b} ${c}`).toBe(1);
        }
      }
    }
    const of = (dtype: DType) => zeros([2], { dtype });
    const three = [of("u16"), of("i16"), of("f32")] as const;
    expect(s.concat(three).dtype).toBe("f32");
    expect(s.stack(three).dtype).toBe("f32");
  });

  it("diff of order 0 is the input, whatever is put before it", () => {
    expect(plain(s.diff(tensor([1, 4]), { n: 0, prepend: 0 }))).toEqual([1, 4]);
  });

  it("nanquantile of nothing is NaN", () => {
    const none = zeros([2, 0]);
    expect(plain(s.nanquantile(none, 0.5, { axis: 1 }))).toEqual([Number.NaN, Number.NaN]);
    expect(s.nanquantile(none, [0.5, 1], { axis: 1, keepdims: true }).shape).toEqual([2, 2, 1]);
    expect(plain(s.nanpercentile(zeros([0]), 50))).toBeNaN();
    expect(errorOf(() => s.quantile(none, 0.5, { axis: 1 }))).toMatch(/^quantile: /);
  });
});

const vector = tensor([1, 2, 3]);
const anything = (x: unknown) => x as never;

describe("errors name the function that was called", () => {
  const rows: [string, () => unknown][] = [
    ["compress", () => s.compress(vector, [true, false, true, true])],
    ["oneHot", () => s.oneHot([Number.NaN], 3)],
    ["allclose", () => s.allclose(vector, tensor([1, 2]))],
    ["complex", () => s.complex(vector, tensor([1, 2]))],
    ["histogram", () => s.histogram(vector, { bins: 1e12 })],
    ["permuteDims", () => s.permuteDims(vector, [0, 1])],
    ["variance", () => s.variance(vector, { axis: 5 })],
    ["variance", () => s.variance(vector, anything({ axes: 5 }))],
  ];
  it.each(rows)("%s", (name, call) => {
    const { tensors } = memory();
    expect(errorOf(call)).toMatch(new RegExp(`^${name}: `));
    expect(memory().tensors).toBe(tensors);
  });
});

describe("errors say what is wrong", () => {
  const rows: [string, () => unknown, RegExp][] = [
    ["take 2^53", () => s.take(vector, [2 ** 53]), /^take: index 9007199254740992 .*out of range/],
    ["take NaN", () => s.take(vector, [Number.NaN]), /^take: index NaN is not a whole number/],
    ["take 0.5", () => s.take(vector, [[0], [0.5]]), /^take: index 0.5 is not a whole number/],
    ["take, one number", () => s.take(vector, 0.5), /^take: index 0.5 is not a whole number/],
    ["arange", () => s.arange(0, 1e18), /^arange: .*1e18|^arange: .*1000000000000000000.*\n.*2\^53/],
    ["zeros", () => zeros([0, 2 ** 53]), /^zeros: size 9007199254740992.* too large\b.*\n.*2\^53 - 1/],
    ["roll", () => s.roll(vector, 2 ** 60), /^roll: .*1152921504606847000.*\n.*2\^53 - 1/],
    ["fft", () => s.fft.fft(zeros([4, 2]), { n: 1e12 }), /^fft: .*1000000000000.*\n.* to \d/],
    [
      "conv2d",
      () => s.conv2d(zeros([1, 1, 4, 4]), zeros([1, 1, 2, 2]), { stride: 1e12 }),
      /^conv2d: .*1000000000000.*\n.* to \d/,
    ],
    ["arraySplit", () => s.arraySplit(vector, 1e9), /^arraySplit: .*1000000000.*\n.*16777215/],
    [
      "integers",
      () => s.random.integers(0, 2 ** 53, 2, { dtype: "i64" }),
      /^integers: high is .*9007199254740992.*\n.*2\^53 - 1.*bigint/,
    ],
    ["sum", () => s.sum(vector, anything({ axis: null })), /^sum: the axis is null.*\n.*leave it out/i],
    ["fftn", () => s.fft.fftn(zeros([2, 0, 2])), /^fftn: .*\[2, 0, 2\]|^fftn: axis \d has no elements/],
    ["lexsort", () => s.lexsort([]), /^lexsort: no keys/],
    ["concat", () => s.concat(anything(vector)), /^concat: .*got a Tensor.*\n.*concat\(\[a, b\]\)/],
    ["zip", () => s.zip(anything(vector), (x) => x), /^zip: .*got a Tensor/],
    [
      "meshgrid",
      () => s.meshgrid(anything(vector), anything(vector)),
      /^meshgrid: .*\n.*meshgrid\(\[x, y\]\)/,
    ],
    [
      "meshgrid of one",
      () => s.meshgrid(anything(vector)),
      /^meshgrid: .*got a Tensor.*\n.*meshgrid\(\[x, y\]\)/,
    ],
  ];
  it.each(rows)("%s", (_, call, message) => {
    expect(errorOf(call)).toMatch(message);
  });
});

describe("flags are true or false", () => {
  const rows: [string, string, () => unknown][] = [
    ["sum", "keepdims", () => vector.sum(anything({ keepdims: "no" }))],
    ["mean", "keepdims", () => vector.mean(anything({ keepdims: 0 }))],
    ["max", "keepdims", () => vector.max(anything({ keepdims: "no" }))],
    ["var", "keepdims", () => vector.var(anything({ keepdims: "no" }))],
    ["norm", "keepdims", () => s.norm(vector, anything({ keepdims: "no" }))],
    ["argmax", "keepdims", () => vector.argmax(anything({ keepdims: "no" }))],
    ["logsumexp", "keepdims", () => s.logsumexp(vector, anything({ keepdims: "no" }))],
    ["reduce", "keepdims", () => vector.reduce((a, b) => a + b, anything({ keepdims: "no" }))],
    ["reduce", "associative", () => vector.reduce((a, b) => a + b, anything({ associative: 1 }))],
    ["linspace", "endpoint", () => s.linspace(0, 1, 3, anything({ endpoint: "no" }))],
    ["sort", "descending", () => s.sort(vector, anything({ descending: "no" }))],
    ["sort", "stable", () => s.sort(vector, anything({ stable: "no" }))],
    ["integers", "endpoint", () => s.random.integers(0, 3, 2, anything({ endpoint: "no" }))],
  ];
  it.each(rows)("%s { %s }", (op, name, call) => {
    expect(errorOf(call)).toMatch(new RegExp(`^${op}: ${name} is `));
  });
});

describe("types", () => {
  it("meshgrid of an array literal is a tuple", () => {
    const [x, y] = s.meshgrid([tensor([1, 2]), tensor([1n])]);
    expectTypeOf(x).toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(y).toEqualTypeOf<Tensor<"i64">>();
    expect([x.dtype, y.dtype]).toEqual(["f32", "i64"]);
  });
});

it("histogram takes 64-bit integers beyond what a number holds exactly", () => {
  for (const dtype of ["u64", "i64"] as const) {
    const t = tensor([0n, 2n ** 62n, 2n ** 63n - 1n], { dtype });
    const { counts, edges } = s.histogram(t, { bins: 2 });
    expect(plain(counts)).toEqual([1n, 2n]);
    expect(plain(edges)).toEqual([0, 2 ** 62, 2 ** 63]);
  }
});
