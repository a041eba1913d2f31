/** The questions one may ask about dtypes. */
import { describe, expect, it } from "vitest";
import { dtypeNames, scope, tensor } from "../../src/index.ts";
import { canCast, finfo, iinfo, isdtype, resultType } from "../../src/library/dtypes.ts";
import { nextafter } from "../../src/library/elementwise.ts";
import { refused } from "../refused.ts";

describe("data type functions", () => {
  it("resultType takes tensors and dtypes", () => {
    scope(() => {
      expect(resultType("u8", "i8")).toBe("i16");
      expect(resultType(tensor([1n]), "f16", "bool")).toBe("f64");
      expect(resultType("bf16")).toBe("bf16");
      expect(resultType("i8", "u8", "f16")).toBe("f16");
    });
  });

  it("canCast means that promotion would do it", () => {
    expect(canCast("u8", "i16")).toBe(true);
    expect(canCast("i16", "u8")).toBe(false);
    expect(canCast("i64", "f64")).toBe(true);
    expect(canCast("f32", "f16")).toBe(false);
    expect(canCast("bool", "f16")).toBe(true);
    for (const d of dtypeNames) expect(canCast(d, d)).toBe(true);
  });

  it("isdtype knows dtypes, kinds and lists of them", () => {
    const of = (kind: Parameters<typeof isdtype>[1]) => dtypeNames.filter((d) => isdtype(d, kind)).join(" ");
    expect(of("bool")).toBe("bool");
    expect(of("signed integer")).toBe("i8 i16 i32 i64");
    expect(of("unsigned integer")).toBe("u8 u16 u32 u64");
    expect(of("integral")).toBe("u8 i8 u16 i16 u32 i32 u64 i64");
    expect(of("real floating")).toBe("f16 bf16 f32 f64");
    expect(of("complex floating")).toBe("");
    expect(of("numeric")).toBe("u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64");
    expect(of(["bool", "real floating"])).toBe("bool f16 bf16 f32 f64");
    expect(of("i32")).toBe("i32");
  });

  it("finfo agrees with the floats themselves", () => {
    scope(() => {
      for (const dtype of ["f16", "bf16", "f32", "f64"] as const) {
        const { bits, eps, max, min, smallestNormal } = finfo(dtype);
        const one = tensor([1], { dtype });
        expect(nextafter(one, 2).sub(1).item(), dtype).toBe(eps);
        expect(nextafter(tensor([max], { dtype }), Number.POSITIVE_INFINITY).item(), dtype).toBe(
          Number.POSITIVE_INFINITY,
        );
        expect(min).toBe(-max);
        expect(bits).toBe({ f16: 16, bf16: 16, f32: 32, f64: 64 }[dtype]);
        expect(tensor([smallestNormal], { dtype }).item()).toBe(smallestNormal);
        // Below it the steps stay what they are: smallestNormal · eps.
        const below = nextafter(tensor([smallestNormal], { dtype }), 0).item();
        expect(smallestNormal - Number(below)).toBe(smallestNormal * eps);
      }
      expect(finfo(tensor([1])).dtype).toBe("f32");
    });
  });

  it("iinfo has bigints for 64 bits", () => {
    expect(iinfo("i8")).toEqual({ dtype: "i8", bits: 8, min: -128, max: 127 });
    expect(iinfo("u64")).toEqual({ dtype: "u64", bits: 64, min: 0n, max: 2n ** 64n - 1n });
  });

  it("refusals", () => {
    expect(refused(() => resultType())).toMatchInlineSnapshot(`
      "(value) resultType: no tensor and no dtype was given.
        Give at least one; numbers alone have no dtype."
    `);
    expect(refused(() => resultType("f8" as never))).toMatchInlineSnapshot(`
      "(dtype) resultType: unknown dtype "f8".
        Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
    expect(refused(() => isdtype("f32", "real" as never))).toMatchInlineSnapshot(`
      "(value) isdtype: the kind is the string "real".
        Use a dtype, or one of: bool, signed integer, unsigned integer, integral, real floating, complex floating, numeric."
    `);
    expect(refused(() => finfo("i32"))).toMatchInlineSnapshot(`
      "(dtype) finfo: i32 is no float dtype.
        iinfo is for integers."
    `);
    expect(refused(() => iinfo("f32"))).toMatchInlineSnapshot(`
      "(dtype) iinfo: f32 is no integer dtype.
        finfo is for floats."
    `);
    expect(refused(() => canCast(1 as never, "f32"))).toMatchInlineSnapshot(`
      "(dtype) canCast: the dtype is the number 1.
        Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
  });
});
