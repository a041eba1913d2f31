/** What TypeScript knows of strided/quantised. */
import { describe, expectTypeOf, it } from "vitest";
import type { Tensor } from "../../src/index.ts";
import type { gguf } from "../../src/io.ts";
import {
  type EncodedDType,
  fromBlocks,
  fromGgml,
  isQuantised,
  loadGguf,
  matmul,
  type Quantised,
  type QuantisedDType,
  quantise,
  readGguf,
} from "../../src/quantised.ts";

describe("types", () => {
  it("a block type that is given is known; those that are only read cannot be made", () => {
    const make = (t: Tensor) => quantise(t, "q4_K");
    expectTypeOf(make).returns.toEqualTypeOf<Quantised<"q4_K">>();
    expectTypeOf<"iq2_xxs">().not.toExtend<EncodedDType>();
    expectTypeOf<EncodedDType>().toExtend<QuantisedDType>();
    expectTypeOf<"f32">().not.toExtend<QuantisedDType>();
    const see = (t: Tensor<"u8">) => fromBlocks(t, "iq2_xxs", [256]);
    expectTypeOf(see).returns.toEqualTypeOf<Quantised<"iq2_xxs">>();
    expectTypeOf<Quantised<"q8_0">>().toExtend<Quantised>();
    expectTypeOf<Quantised<"q8_0">["dtype"]>().toEqualTypeOf<"q8_0">();
  });

  it("what comes out is f32, or what was asked for", () => {
    const plain = (q: Quantised) => q.dequantise();
    const half = (q: Quantised) => q.dequantise({ dtype: "f16" });
    const into = (q: Quantised, out: Tensor<"f64">) => q.dequantise({ out });
    expectTypeOf(plain).returns.toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(half).returns.toEqualTypeOf<Tensor<"f16">>();
    expectTypeOf(into).returns.toEqualTypeOf<Tensor<"f64">>();
    expectTypeOf(matmul).returns.toEqualTypeOf<Tensor<"f32">>();
    expectTypeOf(matmul).parameter(0).toEqualTypeOf<Quantised>();
  });

  it("files give either, and writers of GGUF take both", () => {
    expectTypeOf(readGguf).returns.resolves.toEqualTypeOf<Tensor | Quantised>();
    expectTypeOf(loadGguf).returns.resolves.toEqualTypeOf<Record<string, Tensor | Quantised>>();
    expectTypeOf(fromGgml).returns.toEqualTypeOf<Tensor | Quantised>();
    expectTypeOf<Tensor | Quantised>().toExtend<gguf.GgufTensor>();
    expectTypeOf(isQuantised).guards.toEqualTypeOf<Quantised>();
  });
});
