import { describe, expect, test } from "vitest";
import type { DType } from "../dtype.ts";
import { evaluator } from "../ir/eval.ts";
import { printProgram } from "../ir/print.ts";
import { paramKind, paramValue, specialize } from "./infer.ts";
import { interpreted, lowered, programOf } from "./testing.ts";

const dtypeOf = (source: string, ...inputs: DType[]) => programOf(source, inputs).dtype;
const text = (source: string, inputs: DType[], captures = {}) =>
  printProgram(programOf(source, inputs, captures));
const messageOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return "no error";
};

/** source | operand dtypes | result dtype */
const rules = `
  (x, y) => x + y     | f32 f32   | f32
  (x, y) => x + y     | u8 i8     | i16
  (x, y) => x * y     | i32 f32   | f64
  (x, y) => x - y     | f16 bf16  | f32
  (x, y) => x + y     | f16 i8    | f16
  (x, y) => x + y     | bool bool | i32
  (x, y) => x + y     | i64 u64   | f64
  (x, y) => x % y     | u16 u16   | u16
  (x, y) => x ** y    | i64 i64   | i64
  x => -x             | bool      | i32
  x => -x             | u8        | u8
  x => Math.abs(x)    | i8        | i8
  x => Math.sign(x)   | u8        | u8
  (x, y) => x / y     | i32 i32   | f64
  (x, y) => x / y     | f32 f32   | f32
  (x, y) => x / y     | f32 i16   | f32
  x => Math.exp(x)    | f16       | f16
  x => Math.exp(x)    | u8        | f64
  x => Math.sqrt(x)   | i64       | f64
  x => Math.sin(x)    | bool      | f64
  x => Math.atan2(x, 1) | f32     | f32
  x => Math.hypot(x)  | i32       | f64
  x => Math.fround(x) | f32       | f32
  x => Math.fround(x) | bf16      | bf16
  x => Math.fround(x) | f64       | f64
  x => Math.fround(x) | i32       | f64
  x => Math.floor(x)  | f32       | f32
  x => Math.floor(x)  | i64       | i64
  x => Math.round(x)  | bool      | i32
  (x, y) => Math.max(x, y) | bool bool | bool
  (x, y) => Math.min(x, y) | u8 i16    | i16
  (x, y) => x < y     | f32 i64   | bool
  x => x > 0          | u8        | bool
  x => Number.isNaN(x) | i32      | bool
  x => isFinite(x)    | f16       | bool
  x => !x             | f32       | bool
  (x, y) => x & y     | u8 u8     | u8
  (x, y) => x | y     | bool bool | bool
  (x, y) => x ^ y     | u32 i32   | i64
  (x, y) => x & y     | f32 i32   | f64
  x => x | 0          | f32       | f32
  x => x >>> 0        | f64       | f64
  x => x >>> 1        | u64       | u64
  x => ~x             | bool      | i32
  x => x << 2         | i16       | i16
  x => Math.imul(x, 3) | i64      | i32
  x => Math.imul(x, 3) | f32      | f32
  x => Math.clz32(x)  | u8        | i32
  x => Math.clz32(x)  | f64       | f64
  (x, y) => x > 0 ? x : y | f32 i16 | f32
  (x, y) => x && y    | u8 f32    | f32
  x => x + 1          | u8        | u8
  x => x + 1          | f16       | f16
  x => x * 0.1        | bf16      | bf16
  x => x * 0.1        | i32       | f64
  x => x + 1          | bool      | i32
  x => x + 0.5        | bool      | f64
  x => x + 1n         | i64       | i64
  x => x + 1n         | u8        | u8
  x => x * 2n         | f32       | f32
  x => x + 1          | u64       | u64
  x => x + Infinity   | i32       | f64
  x => x / 300        | u8        | f64
  x => x > 0 ? x : 0  | f32       | f32
  x => x > 0 ? 1 : 0  | f32       | f32
  x => x > 0 ? true : false | f32 | bool
  x => (x > 0) * x    | f32       | f32
  x => x * ((x > 0) + (x > 1)) | f16 | f16
  x => (x > 0 ? 1 : 0.01) * x  | f32 | f32
  x => (x > 0 ? 2 : 3) + x     | u8  | u8
  x => (x > 0 ? 2 : 0.5) + x   | u8  | f64
  () => 3             |           | f64
  () => 3n            |           | i64
  () => true          |           | bool
  x => Number.isInteger(x)     | u8  | bool
`
  .trim()
  .split("\n")
  .map((line) =>
    /^(.*)\|(.*)\|(.*)$/
      .exec(line)!
      .slice(1)
      .map((cell) => cell.trim()),
  );

describe("dtypes follow from the operands", () => {
  test.each(rules)("%s on %s gives %s", (source, inputs, result) => {
    expect(dtypeOf(source, ...(inputs.split(/\s+/).filter(Boolean) as DType[]))).toBe(result);
  });
});

describe("conversions are casts, and only where needed", () => {
  test("literals take the operand's dtype", () => {
    expect(text("x => 0.1 * x + 1", ["f32"])).toMatchInlineSnapshot(`
      "%0 = input f32 #0
      %1 = const f32 0.10000000149011612
      %2 = mul f32 %1 %0
      %3 = const f32 1
      %4 = add f32 %2 %3
      return f32 %4"
    `);
    expect(text("x => x / 2", ["u8"])).toMatchInlineSnapshot(`
      "%0 = input u8 #0
      %1 = cast f64 %0
      %2 = const f64 2
      %3 = div f64 %1 %2
      return f64 %3"
    `);
    expect(text("x => x > 300", ["u8"])).toMatchInlineSnapshot(`
      "%0 = input u8 #0
      %1 = cast f64 %0
      %2 = const f64 300
      %3 = gt bool %1 %2
      return bool %3"
    `);
    expect(text("x => x < 5", ["i64"])).toMatchInlineSnapshot(`
      "%0 = input i64 #0
      %1 = const i64 5
      %2 = lt bool %0 %1
      return bool %2"
    `);
  });

  test("bits of floats go through ToInt32 and back", () => {
    expect(text("x => (x & 4294967295) >>> 1", ["f32"])).toMatchInlineSnapshot(`
      "%0 = input f32 #0
      %1 = toInt32 i32 %0
      %2 = const i32 -1
      %3 = bitAnd i32 %1 %2
      %4 = cast f32 %3
      %5 = toInt32 i32 %4
      %6 = cast u32 %5
      %7 = const u32 1
      %8 = shru u32 %6 %7
      %9 = cast f32 %8
      return f32 %9"
    `);
  });

  test("rounding an integer is no work", () => {
    expect(text("x => Math.floor(x)", ["i64"])).toBe("%0 = input i64 #0\nreturn i64 %0");
  });

  test("truth of a bool is itself, of NaN is false", () => {
    expect(text("x => x ? 1 : 2", ["bool"])).not.toContain("truthy");
    expect(interpreted("x => x ? 1 : 2", ["f32"])(NaN)).toBe(2);
  });

  test("{ dtype } casts the result at the end", () => {
    const template = lowered("x => x + 0.5");
    const program = specialize(template, ["f32"], [], { dtype: "u8" });
    expect(program.dtype).toBe("u8");
    expect(evaluator(program)([300])).toBe(255);
    expect(specialize(lowered("() => 300"), [], [], { dtype: "u8" })).toMatchObject({ dtype: "u8" });
  });

  test("u64 has no float in the middle", () => {
    expect(interpreted("x => (x >> 60) + (x & 15)", ["u64"])(2n ** 64n - 1n)).toBe(30n);
    expect(interpreted("x => Math.imul(x, x)", ["i64"])(4294967299n)).toBe(9);
  });
});

describe("captured numbers are weak, and passed at call time", () => {
  const k = (source: string, inputs: DType[], value: unknown) => text(source, inputs, { k: value });
  test("used in one dtype, a value is passed in that dtype", () => {
    expect(k("(x, k) => x * k + k", ["f32"], 0.1)).toMatchInlineSnapshot(`
      "%0 = input f32 #0
      %1 = param f32 #0
      %2 = mul f32 %0 %1
      %3 = add f32 %2 %1
      return f32 %3"
    `);
    expect(programOf("(x, k) => x + k", ["i32"], { k: 3 }).params).toEqual(["i32"]);
    expect(programOf("(x, k) => x + k", ["i32"], { k: 0.5 }).params).toEqual(["f64"]);
    expect(programOf("(x, k) => x + k", ["u64"], { k: 3n }).params).toEqual(["u64"]);
    expect(programOf("(x, k) => k ? x : 0", ["f32"], { k: true }).params).toEqual(["bool"]);
  });

  test("used in two, it is passed as f64 and cast", () => {
    expect(k("(x, y, k) => (x + k) * (y + k)", ["f32", "i32"], 3)).toMatchInlineSnapshot(`
      "%0 = input f32 #0
      %1 = param f64 #0
      %2 = cast f32 %1
      %3 = add f32 %0 %2
      %4 = input i32 #1
      %5 = cast i32 %1
      %6 = add i32 %4 %5
      %7 = cast f64 %3
      %8 = cast f64 %6
      %9 = mul f64 %7 %8
      return f64 %9"
    `);
  });

  test("algebra on captured numbers alone is done in f64, and stays weak", () => {
    expect(k("(x, k) => x * (1 - k)", ["f32"], 0.1)).toMatchInlineSnapshot(`
      "%0 = input f32 #0
      %1 = param f64 #0
      %2 = const f64 1
      %3 = sub f64 %2 %1
      %4 = cast f32 %3
      %5 = mul f32 %0 %4
      return f32 %5"
    `);
    const run = interpreted("(x, k) => x * (1 - k)", ["f32"], { k: 0.1 });
    expect(run(3)).toBe(Math.fround(3 * Math.fround(1 - 0.1)));
    expect(programOf("(x, k) => x + (k + 1)", ["i32"], { k: 3 }).dtype).toBe("i32");
    expect(programOf("(x, k) => x + k / 2", ["i32"], { k: 3 }).dtype).toBe("f64");
    expect(programOf("(x, k) => x + Math.floor(k / 2)", ["i32"], { k: 3 }).dtype).toBe("i32");
    expect(programOf("(x, k) => x + k ** 2", ["i32"], { k: 3 }).dtype).toBe("i32");
  });

  test("kinds and values", () => {
    expect([3, 0.5, NaN, 3n, true, -0].map(paramKind)).toEqual([
      "int",
      "float",
      "float",
      "big",
      "bool",
      "int",
    ]);
    expect(paramValue(0.1, "f32")).toBe(Math.fround(0.1));
    expect(paramValue(3, "i64")).toBe(3n);
    expect(paramValue(2n ** 64n - 1n, "u64")).toBe(2n ** 64n - 1n);
    expect(paramValue(true, "bool")).toBe(1);
    expect(paramValue(-0, "f64")).toBe(-0);
    expect(messageOf(() => paramValue(300, "u8"))).toMatchInlineSnapshot(`
      "kernel: the value 300 does not fit u8.
        Convert the operands first."
    `);
  });
});

describe("mistakes point at their place", () => {
  test("a literal that does not fit", () => {
    expect(messageOf(() => programOf("x => x + 300", ["u8"]))).toMatchInlineSnapshot(`
      "kernel: literal 300 does not fit u8.
        x => x + 300
                 ^^^
        u8 holds 0 to 255; convert the operand first, for example to("i32")."
    `);
    expect(messageOf(() => programOf("x => x * -1", ["u32"]))).toMatchInlineSnapshot(`
      "kernel: literal -1 does not fit u32.
        x => x * -1
                 ^^
        u32 holds 0 to 4294967295; convert the operand first, for example to("f64")."
    `);
    expect(messageOf(() => programOf("x => x > 0 ? x : 99999", ["i16"]))).toMatchInlineSnapshot(`
      "kernel: literal 99999 does not fit i16.
        x => x > 0 ? x : 99999
                         ^^^^^
        i16 holds -32768 to 32767; convert the operand first, for example to("i32")."
    `);
  });

  test("a bigint with a number", () => {
    expect(messageOf(() => programOf("(x, k) => x * (k + 1n)", ["i64"], { k: 3 }))).toMatchInlineSnapshot(`
      "kernel: this mixes a bigint and a number.
        (x, k) => x * (k + 1n)
                       ^^^^^^
        Write both as numbers, or both as bigints."
    `);
  });

  test("bits of u64 and i64", () => {
    expect(messageOf(() => programOf("(x, y) => x & y", ["u64", "i64"]))).toMatchInlineSnapshot(`
      "kernel: no integer dtype holds both u64 and i64.
        (x, y) => x & y
                  ^^^^^
        Convert one of them first."
    `);
  });

  test("the number of operands", () => {
    expect(messageOf(() => programOf("(x, y) => x + y", ["f32"]))).toMatchInlineSnapshot(
      `"kernel: the function takes 2 operands, got 1."`,
    );
  });
});

test("integers wrap, f32 rounds after every operation", () => {
  expect(interpreted("x => x * x", ["u8"])(20)).toBe(144);
  expect(interpreted("x => x * 3 + x", ["i32"])(2 ** 30)).toBe(0);
  const [a, b] = [Math.fround(0.1), Math.fround(0.3)];
  const want = Math.fround(Math.fround(Math.fround(a * b) + a) / b);
  expect(interpreted("(x, y) => (x * y + x) / y", ["f32", "f32"])(a, b)).toBe(want);
});

test("a chain of a thousand choices does not overflow the stack", () => {
  const steps = Array.from(
    { length: 64 },
    (_, i) => `for (let i = 0; i < 20; i++) t = x > i * ${i} ? ${i} : t;`,
  );
  expect(dtypeOf(`x => { let t = 0; ${steps.join(" ")} return t * x }`, "f32")).toBe("f32");
});
