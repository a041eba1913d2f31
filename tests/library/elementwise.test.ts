/** The named elementwise functions against NumPy, and what the cases cannot say: bf16, outputs, errors. */
import { describe, expect, it } from "vitest";
import { dtypes } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import * as s from "../../src/index.ts";
import { Builder } from "../../src/ir/build.ts";
import { evaluator } from "../../src/ir/eval.ts";
import * as elementwise from "../../src/library/elementwise.ts";
import { optimize } from "../../src/optimize/pipeline.ts";
import { refused } from "../refused.ts";
import { type Rows, testReference } from "./reference.ts";

const { scope, tensor } = s;
type Tensor = s.Tensor;
type Any = (...args: unknown[]) => Tensor;
const all = { ...s, ...elementwise } as unknown as Record<string, Any>;

const names = {
  unary:
    "neg negative positive abs sign square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin " +
    "acos atan sinh cosh tanh asinh acosh atanh deg2rad rad2deg sinc floor ceil trunc isnan isfinite isinf signbit " +
    "logicalNot bitwiseNot bitwiseInvert",
  binary:
    "add sub subtract mul multiply div divide remainder fmod floorDivide pow maximum minimum fmax fmin atan2 hypot " +
    "copysign logaddexp logaddexp2 heaviside gcd lcm equal notEqual less lessEqual greater greaterEqual logicalAnd " +
    "logicalOr logicalXor bitwiseAnd bitwiseOr bitwiseXor leftShift bitwiseLeftShift rightShift bitwiseRightShift " +
    "nextafter",
};
const unary = names.unary.split(" ");
const binary = names.binary.split(" ");
const integral = /^(bitwise|gcd|lcm|leftShift|rightShift)/;

const rows: Record<string, Rows[string]> = {};
for (const name of unary) rows[name] = ([x]) => all[name](x);
for (const name of binary) {
  rows[name] = ([x, y], params: { left?: number; right?: number }) => {
    if (params.left !== undefined) return all[name](params.left, x);
    return all[name](x, params.right ?? y);
  };
}
const answer = (yes: boolean) => tensor(yes);
Object.assign(rows, {
  round: ([x], params) => s.round(x, params),
  nanToNum: ([x], params) => elementwise.nanToNum(x, params),
  isclose: ([x, y], params) => elementwise.isclose(x, y, params),
  allclose: ([x, y], params) => answer(elementwise.allclose(x, y, params)),
  arrayEqual: ([x, y], params) => answer(elementwise.arrayEqual(x, y, params)),
  where: ([c, a, b]) => s.where(c, a, b),
  clip: ([x], params) => s.clip(x, params.low, params.high),
} satisfies Rows);

testReference("elementwise", rows);

describe("16-bit floats are f32 inside and round once", () => {
  const x = [0.1, -0.7, 1.5, 3, 100, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-3, 7.25, 0.5, -12];
  const y = [2, 0.3, -1.5, 0, 7, 1, 1, 2, Number.NaN, -0.5, 0.5, 3];
  for (const dtype of ["bf16", "f16"] as const) {
    it(dtype, () => {
      for (const name of [...unary, ...binary]) {
        if (integral.test(name) || name === "nextafter") continue;
        scope(() => {
          const halves = [x, y].map((v) => tensor(v, { dtype })).slice(0, unary.includes(name) ? 1 : 2);
          const got = all[name](...halves);
          const single = all[name](...halves.map((t) => t.to("f32")));
          const want = single.dtype === "bool" ? single : single.to(dtype);
          expect(got.dtype, name).toBe(want.dtype);
          expect(got.toArray(), name).toEqual(want.toArray());
        });
      }
    });
  }
});

describe("neighbours", () => {
  const { nextafter } = elementwise;
  it("of bf16 are one bit apart, and there are none beyond infinity", () => {
    scope(() => {
      const x = tensor([1, -1, 0, 3.3895313892515355e38, Number.POSITIVE_INFINITY], { dtype: "bf16" });
      const up = nextafter(x, Number.POSITIVE_INFINITY);
      expect([...(up.data as Uint16Array)].map((b, i) => b - x.data[i])).toEqual([1, -1, 1, 1, 0]);
      const down = nextafter(x, Number.NEGATIVE_INFINITY);
      expect([...(down.data as Uint16Array)].map((b, i) => b - x.data[i])).toEqual([-1, 1, 0x8001, -1, -1]);
    });
  });

  it("go there and back again", () => {
    scope(() => {
      const x = s.linspace(-3, 5, 101, { dtype: "f64" });
      expect(elementwise.arrayEqual(nextafter(nextafter(x, 99), -99), x)).toBe(true);
    });
  });

  it("are written into an output, in place too, and converted", () => {
    scope(() => {
      const x = tensor([1, 2, 3]);
      const wide = s.zeros(3, { dtype: "f64" });
      expect(nextafter(x, 9, { out: wide })).toBe(wide);
      expect(wide.toArray()).toEqual(nextafter(x, 9).toArray());
      expect(nextafter(x, 9, { out: x })).toBe(x);
      expect(x.toArray()).toEqual(wide.toArray());
      const reversed = x.flip();
      const want = nextafter(reversed, 9).toArray();
      expect(nextafter(reversed, 9, { out: x }).toArray()).toEqual(want);
    });
  });

  it("of integers are those of f64", () => {
    scope(() => {
      const next = nextafter(tensor([1, 2], { dtype: "i32" }), 9);
      expect(next.dtype).toBe("f64");
      expect(next.toArray()).toEqual([1 + 2 ** -52, 2 + 2 ** -51]);
    });
  });
});

describe("shifts", () => {
  it("by the width and beyond, or by less than nothing, leave nothing but the sign", () => {
    scope(() => {
      for (const dtype of ["i8", "u8", "i16", "i32", "u32"] as const) {
        const x = tensor([1, 100, dtype.startsWith("i") ? -3 : 200], { dtype });
        const sign = dtype.startsWith("i") ? -1 : 0;
        for (const count of [32, 33, 64, 100]) {
          expect(s.leftShift(x, count).toArray(), `${dtype} << ${count}`).toEqual([0, 0, 0]);
          expect(s.rightShift(x, count).toArray(), `${dtype} >> ${count}`).toEqual([0, 0, sign]);
        }
      }
      const big = tensor([1n, -3n]);
      expect(s.leftShift(big, 40).toArray()).toEqual([1n << 40n, -3n << 40n]);
      expect(s.leftShift(big, 64).toArray()).toEqual([0n, 0n]);
      expect(s.rightShift(big, tensor([64n, 99n])).toArray()).toEqual([0n, -1n]);
    });
  });
});

describe("comparisons", () => {
  it("with a number that the dtype cannot hold are decided by its side", () => {
    scope(() => {
      for (const x of [tensor([0, 255], { dtype: "u8" }), tensor([-128, 127], { dtype: "i8" })]) {
        for (const far of [300, 2 ** 40, 10n ** 30n]) {
          expect(s.less(x, far).toArray()).toEqual([true, true]);
          expect(s.greaterEqual(x, far).toArray()).toEqual([false, false]);
          expect(s.equal(x, far).toArray()).toEqual([false, false]);
          expect(s.greater(x, -far).toArray()).toEqual([true, true]);
          expect(s.less(far, x).toArray()).toEqual([false, false]);
        }
      }
      const wide = tensor([2n ** 63n - 1n, -(2n ** 63n)]);
      expect(s.less(wide, 2n ** 63n).toArray()).toEqual([true, true]);
      expect(s.notEqual(wide, -(2n ** 63n) - 1n).toArray()).toEqual([true, true]);
      expect(s.less(tensor(new BigUint64Array([0n, 5n])), -1).toArray()).toEqual([false, false]);
    });
  });
});

describe("outputs and dtypes", () => {
  it("every function writes into an output and converts its operands", () => {
    for (const name of [...unary, ...binary]) {
      scope(() => {
        const dtype = integral.test(name) ? "i32" : "f32";
        const operands = [tensor([1, 2, 3], { dtype }), tensor([3, 2, 1], { dtype })];
        const args = unary.includes(name) ? operands.slice(0, 1) : operands;
        const want = all[name](...args);
        const out = s.empty(3, { dtype: want.dtype });
        expect(all[name](...args, { out }), name).toBe(out);
        expect(out.toArray(), name).toEqual(want.toArray());
        const wide = integral.test(name) ? "i64" : "f64";
        const converted = all[name](...args, { dtype: wide });
        const first = all[name](...args.map((t) => t.to(wide)));
        expect(converted.toArray(), name).toEqual(first.toArray());
        expect(converted.dtype, name).toBe(first.dtype);
      });
    }
  });

  it("a part gives the same bits as that part of the whole", () => {
    scope(() => {
      const a = s.linspace(-9, 9, 40_001);
      const b = s.linspace(5, -5, 40_001);
      for (const name of ["logaddexp", "nextafter", "fmod", "heaviside"]) {
        const whole = all[name](a, b).toTypedArray();
        const part = all[name](a.slice("1000:1007"), b.slice("1000:1007")).toTypedArray();
        expect([...part], name).toEqual([...whole.subarray(1000, 1007)]);
      }
    });
  });
});

describe("without SIMD, and interpreted", () => {
  const exact =
    "fmod fmax fmin heaviside gcd lcm leftShift rightShift bitwiseAnd nextafter maximum remainder floorDivide less";
  it("exact functions give the same", () => {
    const { kernels } = engine();
    for (const name of exact.split(" ")) {
      for (const dtype of integral.test(name)
        ? (["i8", "u32", "i64"] as const)
        : (["f32", "f64", "i16"] as const)) {
        scope(() => {
          const x = s.linspace(-60, 66, 43).to(dtype);
          const y = s.linspace(41, -3, 43).to(dtype);
          const fast = all[name](x, y).toArray();
          kernels.simd = false;
          try {
            expect(all[name](x, y).toArray(), `${name} ${dtype}`).toEqual(fast);
          } finally {
            kernels.simd = true;
          }
        });
      }
    }
  });

  it("gcd means the same to the interpreter, before and after it is rewritten", () => {
    for (const dtype of ["i8", "u8", "i32", "u32", "i64", "u64"] as const) {
      const b = new Builder();
      const program = b.finish(b.op("gcd", b.input(0, dtype), b.input(1, dtype)), [dtype, dtype]);
      const steps = [program, optimize(program, { fma: false })].map((p) => evaluator(p));
      const { big, min, max } = dtypes[dtype];
      const values = [0, 1, 2, 12, 18, 35, 64, 100, -6, -35].filter((v) => v >= min);
      const all = [...values.map((v) => (big ? BigInt(v) : v)), min, max];
      for (const x of all) {
        for (const y of all) {
          const [plain, rewritten] = steps.map((step) => step([x, y]));
          expect(rewritten, `${dtype} ${x} ${y}`).toBe(plain);
        }
      }
    }
  });
});

describe("refusals", () => {
  const x = () => tensor([1, 2]);
  const i = () => tensor([1, 2], { dtype: "i32" });
  const flags = () => tensor([true, false]);
  it("say what is wrong and what to do", () => {
    expect(refused(() => s.bitwiseAnd(x(), 1))).toMatchInlineSnapshot(`
      "(dtype) bitwiseAnd: not defined on f32.
        It is for integers: convert with to("i32") first."
    `);
    expect(refused(() => s.bitwiseOr(i(), 0.5))).toMatchInlineSnapshot(`
      "(dtype) bitwiseOr: not defined on the number 0.5.
        It is for integers: convert with to("i32") first."
    `);
    expect(refused(() => s.leftShift(i(), x()))).toMatchInlineSnapshot(`
      "(dtype) leftShift: not defined on f32.
        It is for integers: convert with to("i32") first."
    `);
    expect(refused(() => s.gcd(flags(), flags()))).toMatchInlineSnapshot(`
      "(dtype) gcd: not defined on bool.
        Convert with to(…) first."
    `);
    expect(refused(() => s.lcm(x(), 2))).toMatchInlineSnapshot(`
      "(dtype) lcm: not defined on f32.
        It is for integers: convert with to("i32") first."
    `);
    expect(refused(() => s.sign(flags()))).toMatchInlineSnapshot(`
      "(dtype) sign: not defined on bool.
        Convert with to(…) first."
    `);
    expect(refused(() => s.positive(flags()))).toMatchInlineSnapshot(`
      "(dtype) positive: not defined on bool.
        Convert with to(…) first."
    `);
    expect(refused(() => s.round(x(), { decimals: 0.5 }))).toMatchInlineSnapshot(`
      "(value) round: decimals is the number 0.5.
        Use a whole number from -308 to 308."
    `);
    expect(refused(() => s.round(x(), { decimals: 400 }))).toMatchInlineSnapshot(`
      "(value) round: decimals is the number 400.
        Use a whole number from -308 to 308."
    `);
    expect(refused(() => elementwise.nextafter(1, 2))).toMatchInlineSnapshot(`
      "(value) nextafter: no operand is a tensor.
        Make one with tensor(…)."
    `);
    expect(refused(() => elementwise.nextafter(x(), 2, { dtype: "i32" }))).toMatchInlineSnapshot(`
      "(dtype) nextafter: not defined on i32.
        Neighbours are those of floats."
    `);
    expect(refused(() => elementwise.nextafter(x(), [1] as never))).toMatchInlineSnapshot(`
      "(value) nextafter: expected a tensor, got an array.
        Make one with tensor(…)."
    `);
    expect(refused(() => elementwise.isclose(x(), 1, { rtol: -1 }))).toMatchInlineSnapshot(`
      "(value) isclose: rtol is the number -1.
        Tolerances are numbers from 0 on."
    `);
    expect(refused(() => elementwise.isclose(x(), 1, { equalNan: 1 as never }))).toMatchInlineSnapshot(`
      "(value) isclose: equalNan is the number 1.
        Use { equalNan: true } or { equalNan: false }."
    `);
    expect(refused(() => elementwise.allclose(x(), 1, 1e-3 as never))).toMatchInlineSnapshot(`
      "(value) allclose: the options are the number 0.001.
        Give an object such as { rtol: 1e-3 }."
    `);
    expect(refused(() => elementwise.nanToNum(x(), { nan: "0" as never }))).toMatchInlineSnapshot(`
      "(value) nanToNum: nan is the string "0".
        Give a number to put there."
    `);
    expect(refused(() => elementwise.arrayEqual(x(), [1, 2] as never))).toMatchInlineSnapshot(`
      "(value) arrayEqual: expected a tensor, got an array.
        Make one with tensor(…)."
    `);
    expect(refused(() => s.add(x(), tensor([1, 2, 3])))).toMatchInlineSnapshot(`
      "(shape) add: shapes [2] and [3] do not broadcast: axis 0 of the result would be 2 and 3.
        Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
    `);
  });

  it("a disposed tensor is refused by every function", () => {
    const gone = tensor([1, 2], { dtype: "i32" });
    gone.dispose();
    for (const name of [...unary, ...binary, "isclose", "allclose", "nanToNum", "arrayEqual", "round"]) {
      const isUnary = unary.includes(name) || name === "nanToNum" || name === "round";
      expect(() => all[name](...(isUnary ? [gone] : [gone, gone])), name).toThrow(/has been disposed/);
    }
  });
});
