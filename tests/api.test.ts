/** The public face, name by name: a change here is a change for every user. */
import { describe, expect, it } from "vitest";
import * as strided from "../src/index.ts";

/** Sorted, a line for each first letter: a new name changes one line. */
function lines(names: readonly string[]): string {
  const byLetter = new Map<string, string[]>();
  for (const name of [...names].sort()) byLetter.set(name[0], [...(byLetter.get(name[0]) ?? []), name]);
  return [...byLetter.values()].map((group) => group.join(" ")).join("\n");
}

describe("the public face", () => {
  it("exports these names", () => {
    expect(lines(Object.keys(strided))).toMatchInlineSnapshot(`
      "Tensor TensorError
      abs acos acosh add all any arange argmax argmin asin asinh atan atan2 atanh
      bitwiseAnd bitwiseInvert bitwiseLeftShift bitwiseNot bitwiseOr bitwiseRightShift bitwiseXor
      cbrt ceil clip configure copysign cos cosh countNonzero cumprod cumsum
      deg2rad div divide dtypeNames
      empty equal exp exp2 explain expm1 eye
      floor floorDivide fmax fmin fmod fromBuffer fromGgml full
      gcd greater greaterEqual
      heaviside hypot
      isfinite isinf isnan
      kernel
      lcm leftShift less lessEqual linspace log log10 log1p log2 logSoftmax logaddexp logaddexp2 logicalAnd logicalNot logicalOr logicalXor logsumexp
      mapReduce matmul max maximum mean memory min minimum mul multiply
      neg negative norm notEqual
      ones
      positive pow prod promote
      rad2deg rawMap rawMatmul rawReduce rawZip ready reciprocal relu remainder rightShift round
      scope sigmoid sign signbit sin sinc sinh softmax sqrt square std sub subtract sum
      tan tanh tensor trunc
      variance
      where
      zeros zip"
    `);
  });

  it("a tensor has these members", () => {
    expect(lines(Object.getOwnPropertyNames(strided.Tensor.prototype))).toMatchInlineSnapshot(`
      "T
      abs add all any argmax argmin asStrided assign assignFlat
      bitwiseAnd bitwiseNot bitwiseOr bitwiseXor broadcastTo byteOffset byteStrides
      ceil clip clone constructor contiguous cos cumprod cumsum
      data diagonal dispose div
      equal exp expandDims
      fill flip floor floorDivide
      get greater greaterEqual
      isContiguous isDisposed isfinite isnan item
      layout less lessEqual log logicalAnd logicalNot logicalOr
      map matmul max maximum mean min minimum moveAxis mul
      neg notEqual
      offset
      permute pow prod
      rank reciprocal reduce relu remainder reshape round
      scan set shape sigmoid sign sin size slice slidingWindow sqrt square squeeze std strides sub sum swapAxes
      tanh to toArray toJSON toString toTypedArray transpose trunc
      var view"
    `);
  });

  it("every named elementwise method has a function of the same name, and they agree", () => {
    const functions = strided as unknown as Record<string, (...args: unknown[]) => strided.Tensor>;
    const methods = strided.Tensor.prototype as unknown as Record<
      string,
      (...args: unknown[]) => strided.Tensor
    >;
    const unary =
      "neg abs sign square relu exp sqrt log sin cos tanh floor ceil trunc round isnan isfinite".split(" ");
    const binary =
      "add sub mul div remainder floorDivide pow maximum minimum equal notEqual less greater logicalAnd".split(
        " ",
      );
    const a = strided.tensor([1.5, 2.5, 3.5]);
    const b = strided.tensor([2, 2, 2]);
    for (const name of unary) {
      expect(methods[name].call(a).toArray(), name).toEqual(functions[name](a).toArray());
    }
    for (const name of binary) {
      expect(methods[name].call(a, b).toArray(), name).toEqual(functions[name](a, b).toArray());
    }
  });

  it("names the thirteen dtypes", () => {
    expect(strided.dtypeNames.join(" ")).toMatchInlineSnapshot(
      `"bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64"`,
    );
  });
});
