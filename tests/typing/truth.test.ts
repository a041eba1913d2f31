/**
 * Types tell the truth: every named operation on every dtype and pair of dtypes, the type that TypeScript infers against
 * the dtype that comes out.
 */
import { describe, expect, it } from "vitest";
import type { Promote } from "../../src/dtype.ts";
import * as lib from "../../src/index.ts";
import { type DType, dtypeNames, full, promote, type Tensor } from "../../src/index.ts";
import { compile, dtypesIn } from "./declare.ts";

const unary =
  `neg positive abs sign square floor ceil trunc round relu reciprocal sigmoid sqrt cbrt exp exp2 expm1 log log2
  log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinc deg2rad rad2deg logicalNot isnan isfinite
  isinf signbit bitwiseNot sum prod max min any all countNonzero variance std norm logsumexp softmax logSoftmax mean argmax
  argmin cumsum cumprod median ptp diff cumulativeSum cumulativeProd nansum nanprod nanmax nanmin nanmean nanvar nanstd
  nanmedian average cov sort argsort`.split(/\s+/);
const methods =
  `neg abs sign square floor ceil trunc round relu reciprocal sigmoid sqrt exp log sin cos tanh logicalNot isnan
  isfinite bitwiseNot sum prod max min any all mean var std argmax argmin cumsum cumprod`.split(/\s+/);
const binary =
  `add sub mul maximum minimum fmax fmin remainder floorDivide pow fmod div atan2 hypot copysign logaddexp
  logaddexp2 heaviside gcd lcm equal less logicalAnd bitwiseAnd bitwiseOr bitwiseXor leftShift rightShift matmul dot vecdot
  outer kron convolve`.split(/\s+/);
const binaryMethods =
  `add sub mul div remainder floorDivide pow maximum minimum equal less logicalAnd bitwiseAnd bitwiseOr
  bitwiseXor matmul`.split(/\s+/);
/** All kinds and widths: that `promote` agrees on every pair is a test of its own. */
const some = ["bool", "u8", "u32", "i64", "f16", "f32"] as const;
const scalars = ["2", "0.5", "2n", "true", "some"];
/** Those that need a tensor in second place. */
const ofTensors = ["matmul", "dot", "vecdot", "outer", "kron", "convolve"];
const functions = {
  own: "(x) => x",
  twice: "(x) => 2 * x",
  half: "(x) => x / 2",
  fraction: "(x) => x + 0.5",
  mask: "(x) => (x > 1 ? 1 : 0)",
  counted: "(x) => +(x > 1) + x",
  bits: "(x) => Math.clz32(x) + x",
  truncated: "(x) => x | 0",
  test: "(x) => x > 1",
};
const folds = {
  sum: "(a, x) => a + x",
  half: "(a, x) => a + x / 2",
  count: "(a, x) => a + (x > 1 ? 1 : 0)",
  latest: "(_, x) => x",
  test: "(a, x) => a > x",
};

interface Case {
  readonly code: string;
  readonly run: () => { readonly dtype: DType };
}

const one: Readonly<Record<string, Tensor>> = Object.fromEntries(
  dtypeNames.map((d) => [d, full([3], d === "u64" || d === "i64" ? 2n : 1, { dtype: d })]),
);
type Any = (...args: readonly unknown[]) => Tensor;
const call = (name: string, ...args: readonly unknown[]) =>
  (lib as unknown as Record<string, Any>)[name](...args);
const method = (t: Tensor, name: string, ...args: readonly unknown[]) =>
  (t as unknown as Record<string, Any>)[name](...args);
const values: Readonly<Record<string, number | bigint | boolean>> = {
  2: 2,
  0.5: 0.5,
  "2n": 2n,
  true: true,
  some: 3,
};
const scalarOf = (text: string) => values[text];

function* cases(): Generator<Case> {
  for (const d of dtypeNames) {
    for (const name of unary) yield { code: `s.${name}(${d})`, run: () => call(name, one[d]) };
    for (const name of methods) yield { code: `${d}.${name}()`, run: () => method(one[d], name) };
    for (const name of ["exp", "add", "neg", "maximum", "relu", "pow"] as const) {
      const two = ["add", "maximum", "pow"].includes(name) ? [one[d]] : [];
      for (const dtype of ["bool", "i16", "f16"] as const) {
        const given = [...two.map(() => d), `{ dtype: "${dtype}" }`].join(", ");
        yield { code: `${d}.${name}(${given})`, run: () => method(one[d], name, ...two, { dtype }) };
      }
    }
    for (const e of some.includes(d as "u8") ? some : []) {
      for (const name of binary)
        yield { code: `s.${name}(${d}, ${e})`, run: () => call(name, one[d], one[e]) };
      for (const name of binaryMethods) {
        yield { code: `${d}.${name}(${e})`, run: () => method(one[d], name, one[e]) };
      }
      yield { code: `s.where(bool, ${d}, ${e})`, run: () => lib.where(one.bool, one[d], one[e]) };
      yield { code: `s.clip(${d}, ${e}, 3)`, run: () => lib.clip(one[d], one[e], 3) };
      yield { code: `s.concat([${d}, ${e}])`, run: () => lib.concat([one[d], one[e]]) };
      yield {
        code: `s.zip([${d}, ${e}], (x, y) => x * y)`,
        run: () => lib.zip([one[d], one[e]], (x, y) => x * y),
      };
      yield {
        code: `s.kernel((x, y) => x / y)(${d}, ${e})`,
        run: () => lib.kernel((x, y) => x / y)(one[d], one[e]),
      };
      for (const f of ["i16", "f32"] as const) {
        yield { code: `s.clip(${d}, ${e}, ${f})`, run: () => lib.clip(one[d], one[e], one[f]) };
        yield { code: `s.concat([${d}, ${e}, ${f}])`, run: () => lib.concat([one[d], one[e], one[f]]) };
        yield {
          code: `s.zip([${d}, ${e}, ${f}], (x, y, z) => (x + y) * z)`,
          run: () => lib.zip([one[d], one[e], one[f]], (x, y, z) => (x + y) * z),
        };
      }
    }
    for (const text of some.includes(d as "u8") ? scalars : []) {
      const value = scalarOf(text);
      for (const name of binary) {
        if (ofTensors.includes(name)) continue;
        yield { code: `s.${name}(${d}, ${text})`, run: () => call(name, one[d], value) };
        yield { code: `s.${name}(${text}, ${d})`, run: () => call(name, value, one[d]) };
      }
      for (const name of binaryMethods) {
        if (!ofTensors.includes(name))
          yield { code: `${d}.${name}(${text})`, run: () => method(one[d], name, value) };
      }
      for (const other of scalars) {
        const run = () => lib.where(one[d], value, scalarOf(other));
        yield { code: `s.where(${d}, ${text}, ${other})`, run };
      }
    }
    for (const [name, text] of Object.entries(functions)) {
      const fn = ours(text);
      yield { code: `${d}.map(${text})`, run: () => method(one[d], "map", fn) };
      yield { code: `s.kernel(${text})(${d})`, run: () => lib.kernel(fn as (x: number) => number)(one[d]) };
      yield {
        code: `${d}.map(${text}, { compute: "f32" })`,
        run: () => method(one[d], "map", fn, { compute: "f32" }),
      };
      for (const how of ["sum", "max"] as const) {
        const run = () => lib.kernel(fn as (x: number) => number).reduce(how)(one[d]);
        yield { code: `s.kernel(${text}).reduce("${how}")(${d})`, run };
        if (name !== "test") {
          yield {
            code: `s.mapReduce([${d}], ${text}, { reduce: "${how}" })`,
            run: () => lib.mapReduce([one[d]], fn as (x: number) => number, { reduce: how }),
          };
        }
      }
    }
    for (const text of Object.values(folds)) {
      const fn = ours(text);
      yield { code: `${d}.reduce(${text})`, run: () => method(one[d], "reduce", fn) };
      yield {
        code: `${d}.reduce(${text}, { init: 0 })`,
        run: () => method(one[d], "reduce", fn, { init: 0 }),
      };
      yield {
        code: `${d}.scan(${text}, { init: 0.5 })`,
        run: () => method(one[d], "scan", fn, { init: 0.5 }),
      };
    }
  }
}

const known: Readonly<Record<string, (...x: number[]) => unknown>> = {
  "(x) => x": (x) => x,
  "(x) => 2 * x": (x) => 2 * x,
  "(x) => x / 2": (x) => x / 2,
  "(x) => x + 0.5": (x) => x + 0.5,
  "(x) => (x > 1 ? 1 : 0)": (x) => (x > 1 ? 1 : 0),
  "(x) => +(x > 1) + x": (x) => +(x > 1) + x,
  "(x) => Math.clz32(x) + x": (x) => Math.clz32(x) + x,
  "(x) => x | 0": (x) => x | 0,
  "(x) => x > 1": (x) => x > 1,
  "(a, x) => a + x": (a, x) => a + x,
  "(a, x) => a + x / 2": (a, x) => a + x / 2,
  "(a, x) => a + (x > 1 ? 1 : 0)": (a, x) => a + (x > 1 ? 1 : 0),
  "(_, x) => x": (_, x) => x,
  "(a, x) => a > x": (a, x) => a > x,
};
const ours = (text: string) => known[text];

describe("the type of a result", () => {
  it("allows the dtype that comes out, for every operation and every dtype", { timeout: 300_000 }, () => {
    const all = [...cases()];
    const lines = [
      'import * as s from "strided";',
      "declare const some: number;",
      ...dtypeNames.map((d) => `declare const ${d}: s.Tensor<"${d}">;`),
      ...all.map(({ code }, i) => `export const r${i} = ${code};`),
    ];
    const { types, errors } = compile(lines.join("\n"));
    expect(errors.slice(0, 10)).toEqual([]);
    const wrong: string[] = [];
    let checked = 0;
    all.forEach(({ code, run }, i) => {
      let dtype: DType;
      try {
        dtype = lib.scope(() => run().dtype);
      } catch (error) {
        // What is refused has no dtype.
        if (error instanceof lib.TensorError) return;
        throw error;
      }
      checked++;
      const type = types.get(`r${i}`)!;
      let allowed: readonly string[] | null;
      try {
        allowed = dtypesIn(type);
      } catch {
        wrong.push(`${code}: ${type}`);
        return;
      }
      if (allowed !== null && !allowed.includes(dtype)) wrong.push(`${code}: ${type}, but it is ${dtype}`);
    });
    expect(wrong).toEqual([]);
    expect(checked).toBeGreaterThan(3_000);
  });

  it("promote is a table of types, and the same", () => {
    // biome-ignore format: a table
    const table: { [A in DType]: { [B in DType]: Promote<A, B> } } = {
      bool: { bool: "bool", u8: "u8", i8: "i8", u16: "u16", i16: "i16", u32: "u32", i32: "i32", u64: "u64", i64: "i64", f16: "f16", bf16: "bf16", f32: "f32", f64: "f64" },
      u8: { bool: "u8", u8: "u8", i8: "i16", u16: "u16", i16: "i16", u32: "u32", i32: "i32", u64: "u64", i64: "i64", f16: "f16", bf16: "bf16", f32: "f32", f64: "f64" },
      i8: { bool: "i8", u8: "i16", i8: "i8", u16: "i32", i16: "i16", u32: "i64", i32: "i32", u64: "f64", i64: "i64", f16: "f16", bf16: "bf16", f32: "f32", f64: "f64" },
      u16: { bool: "u16", u8: "u16", i8: "i32", u16: "u16", i16: "i32", u32: "u32", i32: "i32", u64: "u64", i64: "i64", f16: "f32", bf16: "f32", f32: "f32", f64: "f64" },
      i16: { bool: "i16", u8: "i16", i8: "i16", u16: "i32", i16: "i16", u32: "i64", i32: "i32", u64: "f64", i64: "i64", f16: "f32", bf16: "f32", f32: "f32", f64: "f64" },
      u32: { bool: "u32", u8: "u32", i8: "i64", u16: "u32", i16: "i64", u32: "u32", i32: "i64", u64: "u64", i64: "i64", f16: "f64", bf16: "f64", f32: "f64", f64: "f64" },
      i32: { bool: "i32", u8: "i32", i8: "i32", u16: "i32", i16: "i32", u32: "i64", i32: "i32", u64: "f64", i64: "i64", f16: "f64", bf16: "f64", f32: "f64", f64: "f64" },
      u64: { bool: "u64", u8: "u64", i8: "f64", u16: "u64", i16: "f64", u32: "u64", i32: "f64", u64: "u64", i64: "f64", f16: "f64", bf16: "f64", f32: "f64", f64: "f64" },
      i64: { bool: "i64", u8: "i64", i8: "i64", u16: "i64", i16: "i64", u32: "i64", i32: "i64", u64: "f64", i64: "i64", f16: "f64", bf16: "f64", f32: "f64", f64: "f64" },
      f16: { bool: "f16", u8: "f16", i8: "f16", u16: "f32", i16: "f32", u32: "f64", i32: "f64", u64: "f64", i64: "f64", f16: "f16", bf16: "f32", f32: "f32", f64: "f64" },
      bf16: { bool: "bf16", u8: "bf16", i8: "bf16", u16: "f32", i16: "f32", u32: "f64", i32: "f64", u64: "f64", i64: "f64", f16: "f32", bf16: "bf16", f32: "f32", f64: "f64" },
      f32: { bool: "f32", u8: "f32", i8: "f32", u16: "f32", i16: "f32", u32: "f64", i32: "f64", u64: "f64", i64: "f64", f16: "f32", bf16: "f32", f32: "f32", f64: "f64" },
      f64: { bool: "f64", u8: "f64", i8: "f64", u16: "f64", i16: "f64", u32: "f64", i32: "f64", u64: "f64", i64: "f64", f16: "f64", bf16: "f64", f32: "f64", f64: "f64" },
    };
    for (const a of dtypeNames)
      for (const b of dtypeNames) expect(table[a][b], `${a} ${b}`).toBe(promote(a, b));
  });
});
