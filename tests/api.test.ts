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
      abs acos acosh add all allclose any arange argmax argmin argsort argwhere arrayEqual arraySplit asarray asin asinh assignAt assignMask assignTake astype atan atan2 atanh atleast1d atleast2d atleast3d average avgPool1d avgPool2d
      bincount bitwiseAnd bitwiseInvert bitwiseLeftShift bitwiseNot bitwiseOr bitwiseRightShift bitwiseXor booleanMask broadcastArrays broadcastShapes broadcastTo
      canCast cbrt ceil clip complex complexAbs complexAngle complexMul compress concat configure conj conv1d conv2d conv3d convTranspose1d convTranspose2d convolve copysign corrcoef correlate cos cosh countNonzero cov cross cumprod cumsum cumulativeProd cumulativeSum
      deg2rad diag diff digitize div divide divmod dot dtypeNames
      einsum empty emptyLike equal erf erfc exp exp2 expandDims explain expm1 eye
      fft finfo flatnonzero flatten flip floor floorDivide fmax fmin fmod frexp fromBuffer fromFunction fromGgml fromJSON fromMessage full fullLike fuse
      gather gcd gradient greater greaterEqual
      heaviside histogram hstack hypot
      identity iinfo imag image inner interp intersect1d isclose isdtype isfinite isin isinf isnan
      kernel kron
      lcm leftShift less lessEqual lexsort linalg linspace log log10 log1p log2 logSoftmax logaddexp logaddexp2 logicalAnd logicalNot logicalOr logicalXor logsumexp
      mapIndex mapReduce matmul matrixTranspose max maxPool1d maxPool2d maximum mean median memory meshgrid min minimum modf moveAxis mul multiDot multiply
      nanToNum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar neg negative nextafter njit nonzero norm notEqual
      oneHot ones onesLike outer
      pad percentile permuteDims polyfit polyval positive pow prod promote ptp put putAlongAxis
      quantile
      rad2deg random ravel ravelIndex rawMap rawMatmul rawReduce rawZip ready real reciprocal relu remainder repeat reshape resultType rightShift roll rot90 round
      scatterAdd scope scopeAsync searchsorted setdiff1d setxor1d sigmoid sign signbit sin sinc sinh softmax sort split sqrt square squeeze stack std stencil sub subtract sum swapAxes
      take takeAlongAxis tan tanh tensor tensorEquality tensordot tile toBuffer toMessage topk trace tril triu trunc
      union1d unique uniqueAll uniqueCounts uniqueInverse uniqueValues unravelIndex unstack
      variance vecdot vstack
      where windows
      zeros zerosLike zip"
    `);
  });

  it("a tensor has these members", () => {
    expect(lines(Object.getOwnPropertyNames(strided.Tensor.prototype))).toMatchInlineSnapshot(`
      "T
      abs add all any argmax argmin asStrided assign assignFlat
      bitwiseAnd bitwiseNot bitwiseOr bitwiseXor broadcastTo byteOffset byteStrides
      ceil clip clone constructor contiguous cos cumprod cumsum
      data diagonal dispose div dtype
      equal exp expandDims
      fill flip floor floorDivide
      get greater greaterEqual
      isContiguous isDisposed isfinite isnan item
      layout less lessEqual log logicalAnd logicalNot logicalOr
      map matmul max maximum mean min minimum moveAxis mul
      neg notEqual
      offset
      permute pow prod
      rank readOnly reciprocal reduce relu remainder reshape round
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
