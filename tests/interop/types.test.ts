/** What TypeScript infers at the border to other libraries, of windows and of pictures. */
import { describe, expectTypeOf, it } from "vitest";
import { arange, image, scope, type Tensor, windows } from "../../src/index.ts";
import { from, to } from "../../src/interop.ts";

describe("types", () => {
  it("a dtype that is asked for is known", () => {
    scope(() => {
      expectTypeOf(from([1, 2], { dtype: "f64" })).toEqualTypeOf<Tensor<"f64">>();
      expectTypeOf(from([1, 2])).toEqualTypeOf<Tensor>();
      expectTypeOf(windows.hann(4)).toEqualTypeOf<Tensor<"f32">>();
      expectTypeOf(windows.kaiser(4, 2, { dtype: "f64" })).toEqualTypeOf<Tensor<"f64">>();
    });
  });

  it("what is lent has the typed array of its dtype, and the class that is given back", () => {
    scope(() => {
      expectTypeOf(to.ndarray(arange(3)).data).toEqualTypeOf<Float32Array>();
      expectTypeOf(to.zarrita(arange(3, { dtype: "i64" })).data).toEqualTypeOf<BigInt64Array>();
      const made = to.ndarray(arange(3), { ndarray: (_data: Float32Array, shape: number[]) => shape.length });
      expectTypeOf(made).toEqualTypeOf<number>();
      expectTypeOf(to.bytes(arange(3))).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
      expectTypeOf(image.toRGBA(arange(4).reshape(2, 2))).toEqualTypeOf<Uint8ClampedArray<ArrayBuffer>>();
    });
  });
});
