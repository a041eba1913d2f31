/**
 * Valid arguments of everything public: for each function and member one or more ways to call it, which together give
 * every option. Hostile arguments are made out of these (mutators.ts).
 */
import * as strided from "../../src/index.ts";
import "../../src/methods.ts";
import { type EncodedDType, quantise } from "../../src/quantised.ts";
import type { World } from "./world.ts";

/** The arguments of one valid call, made anew for each case. */
export type Make = (w: World) => unknown[];

export interface Recipe {
  readonly ways: readonly Make[];
  /** Elements and numbers of the result differ from call to call: only its form counts. */
  readonly arbitrary?: boolean;
  /** Its objects are trees of tensors: plain ones, so that an instance of a class is none. */
  readonly trees?: boolean;
}

const { Tensor } = strided;
type Fn = (...args: never[]) => unknown;

const recipe = (...ways: Make[]): Recipe => ({ ways });
const arbitrary = (...ways: Make[]): Recipe => ({ ways, arbitrary: true });
const words = (text: string): string[] => text.trim().split(/\s+/);
/** One recipe for each of several names. */
const each = (text: string, of: (name: string) => Recipe): Record<string, Recipe> =>
  Object.fromEntries(words(text).map((name) => [name, of(name)]));

/** A way to give `out`: what the call makes without it, to be written over. */
const withOut =
  (name: string, make: Make): Make =>
  (w) => {
    const args = make(w);
    const fn = (strided as unknown as Record<string, Fn>)[name];
    return [...args, { out: w.own(fn(...(args as never[])) as strided.Tensor) }];
  };

const named = (name: string, dtype: strided.DType, make: Make): Recipe =>
  recipe((w) => [...make(w), { dtype }], withOut(name, make), make);
const unary = (name: string) => named(name, "f64", (w) => [w.f32(2, 3)]);
const binary = (name: string) => named(name, "f64", (w) => [w.f32(2, 3), w.f32(3)]);
const unaryInt = (name: string) => named(name, "i32", (w) => [w.of("i32", 2, 3)]);
const binaryInt = (name: string) => named(name, "i64", (w) => [w.of("i32", 2, 3), w.of("i32", 3)]);

const axis = { axis: [0, 1] };
const sumOptions = { axis: 1, keepdims: true, dtype: "f64" };
const fold = recipe(
  (w) => [w.f32(2, 3), sumOptions],
  (w) => [w.of("u8", 2, 3), axis],
);
const folded = (options: object) =>
  recipe(
    (w) => [w.f32(2, 3), options],
    (w) => [w.of("i32", 3, 2), axis],
  );
const matrix = (options: object) =>
  recipe(
    (w) => [w.positive(3), options],
    (w) => [w.positive(2)],
  );
const ofTensor = recipe(
  (w) => [w.f32(2, 3)],
  (w) => [w.of("i64", 4)],
);
const ofVectors = (options: object) =>
  recipe(
    (w) => [w.f32(4), w.f32(3), options],
    (w) => [w.of("i32", 4), w.of("i32", 3)],
  );
const shaped = (...rest: unknown[]): Recipe =>
  recipe(
    () => [[2, 3], ...rest],
    () => [4, ...rest],
  );
const transform = (t: (w: World) => strided.Tensor): Recipe =>
  recipe(
    (w) => [t(w), { n: 4, axis: 0, norm: "ortho" }],
    (w) => [t(w)],
  );
const transforms = (t: (w: World) => strided.Tensor): Recipe =>
  recipe(
    (w) => [t(w), { shape: [2, 4], axes: [0, 1], norm: "forward" }],
    (w) => [t(w)],
  );
const pairs = (w: World) => w.f32(4, 3, 2);
const reals = (w: World) => w.f32(4, 3);
const conv = { stride: [1, 1], padding: [1, 0], dilation: [1, 1], groups: 1 };
const json = () => ({ dtype: "f32", shape: [2, 2], data: [1, 2, "NaN", 4] });
const raw = (...shape: number[]) => ({
  storage: Float64Array.from({ length: 12 }, (_, i) => i + 1),
  shape,
  strides: shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1)),
  offset: 1,
});

/** The exports of the package; namespaces are rows of their own below. */
export const exported: Readonly<Record<string, Recipe>> = {
  ...each(
    `abs acos acosh asin asinh atan atanh cbrt ceil cos cosh deg2rad exp exp2 expm1 floor isfinite isinf isnan log log10
    log1p log2 logicalNot neg negative positive rad2deg reciprocal relu sigmoid sign signbit sin sinc sinh sqrt square tan
    tanh trunc`,
    unary,
  ),
  ...each(
    `add atan2 copysign div divide equal floorDivide fmax fmin fmod greater greaterEqual heaviside hypot less lessEqual
    logaddexp logaddexp2 logicalAnd logicalOr logicalXor maximum minimum mul multiply notEqual pow remainder sub subtract
    nextafter`,
    binary,
  ),
  ...each("bitwiseInvert bitwiseNot", unaryInt),
  ...each(
    "bitwiseAnd bitwiseLeftShift bitwiseOr bitwiseRightShift bitwiseXor gcd lcm leftShift rightShift",
    binaryInt,
  ),
  divmod: recipe(
    (w) => [w.f32(2, 3), w.f32(3)],
    (w) => [w.of("i32", 4), 3],
  ),
  ...each("frexp modf", () => ofTensor),
  clip: named("clip", "f64", (w) => [w.f32(2, 3), 2, w.f32(3)]),
  round: recipe(
    (w) => [w.f32(2, 3), { decimals: 1, dtype: "f64" }],
    (w) => [w.of("i32", 3), { decimals: -1, out: w.of("i32", 3) }],
  ),
  where: named("where", "f64", (w) => [w.of("bool", 2, 3), w.f32(3), 2]),
  matmul: recipe(
    (w) => [w.f32(2, 3), w.f32(3, 2), { out: w.f32(2, 2), accumulate: true }],
    (w) => [w.f32(3, 3), w.f32(3)],
  ),

  ...each("sum prod max min countNonzero logsumexp mean nansum nanprod", () => fold),
  ...each("any all median ptp nanmax nanmin nanmean nanmedian", () => folded({ axis: 1, keepdims: true })),
  ...each("variance std nanvar nanstd", () =>
    recipe(
      (w) => [w.f32(2, 3), { axis: [1], keepdims: true, dtype: "f64", ddof: 1 }],
      (w) => [w.f32(2, 3), { correction: 1 }],
    ),
  ),
  norm: folded({ ord: 1, axis: [1], keepdims: true, dtype: "f64" }),
  ...each("softmax logSoftmax", () => folded({ axis: [0], dtype: "f64" })),
  ...each("argmax argmin", () =>
    recipe(
      (w) => [w.f32(2, 3), { axis: 1, keepdims: true }],
      (w) => [w.f32(2, 3)],
    ),
  ),
  ...each("cumsum cumprod", () => recipe((w) => [w.f32(2, 3), { axis: 1, dtype: "f64" }])),
  ...each("cumulativeSum cumulativeProd", () =>
    recipe((w) => [w.f32(2, 3), { axis: 1, dtype: "f64", includeInitial: true }]),
  ),
  ...each("quantile nanquantile", () =>
    recipe(
      (w) => [w.f32(2, 3), [0.25, 0.5], { axis: 1, keepdims: true, method: "linear" }],
      (w) => [w.f32(2, 3), w.from("f64", [0, 1])],
    ),
  ),
  ...each("percentile nanpercentile", () =>
    recipe(
      (w) => [w.f32(2, 3), [25, 50], { axis: [0, 1], keepdims: true, method: "lower" }],
      (w) => [w.f32(2, 3), 10],
    ),
  ),
  average: recipe((w) => [w.f32(2, 3), { axis: 1, keepdims: true, weights: w.f32(2, 3) }]),
  bincount: recipe((w) => [w.of("i32", 4), { weights: w.f32(4), minlength: 8 }]),
  histogram: recipe(
    (w) => [w.f32(6), { bins: 3, range: [0, 6], weights: w.f32(6), density: true }],
    (w) => [w.f32(6), { bins: [0, 2, 6] }],
  ),
  cov: recipe(
    (w) => [w.f32(2, 4), { y: w.f32(1, 4), rowvar: true, bias: false, ddof: 0 }],
    (w) => [w.f32(2, 4), { fweights: w.of("i32", 4), aweights: w.f32(4) }],
  ),
  corrcoef: recipe((w) => [w.f32(2, 4), { y: w.f32(1, 4), rowvar: true }]),
  diff: recipe((w) => [w.f32(2, 3), { n: 1, axis: 1, prepend: 0, append: w.f32(2, 1) }]),
  interp: recipe(
    (w) => [w.f32(3), w.from("f64", [1, 2, 3]), w.f32(3), { left: 0, right: 9 }],
    (w) => [2.5, w.from("f64", [1, 2, 3]), w.f32(3), { period: 3 }],
  ),
  mapReduce: recipe(
    (w) => [
      [w.f32(2, 3), w.f32(3)],
      (a: number, b: number) => a * b,
      { reduce: "max", axis: 1, keepdims: true, dtype: "f64" },
    ],
    (w) => [
      [w.f32(2, 3)],
      (a: number) => a + 1,
      { reduce: (acc: number, x: number) => acc + x, init: 0, axis: [0] },
    ],
    (w) => [[w.f32(2, 3)], (a: number, { k }: Given) => a * k, { with: { k: 2 }, compute: "f64" }],
  ),

  tensor: recipe(
    () => [
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { dtype: "f32", shape: [3, 2] },
    ],
    (w) => [w.given(Float32Array.of(1, 2, 3, 4)), { dtype: "f64", shape: [2, 2] }],
    (w) => [w.given(new Float64Array(16))],
    (w) => [w.given(BigInt64Array.of(1n, 2n)), { dtype: "i64", shape: [2] }],
  ),
  asarray: recipe(
    () => [[1, 2, 3], { dtype: "f64" }],
    (w) => [w.f32(3), { dtype: "i32", copy: true }],
    (w) => [w.given(new Int16Array(5)), { dtype: "i16" }],
  ),
  ...each("zeros ones", () => shaped({ dtype: "i32" })),
  empty: { ...shaped({ dtype: "u8" }), arbitrary: true },
  full: recipe(
    () => [[2, 3], 7, { dtype: "i32" }],
    () => [4, 7n],
  ),
  fullLike: recipe((w) => [w.f32(2, 3), 7, { dtype: "f64", shape: [3, 2] }]),
  ...each("zerosLike onesLike", () =>
    recipe(
      (w) => [w.f32(2, 3), { dtype: "f64", shape: [3, 2] }],
      (w) => [w.own(w.f32(2, 3).T), { shape: 5 }],
    ),
  ),
  emptyLike: arbitrary((w) => [w.f32(2, 3), { dtype: "f64", shape: [3, 2] }]),
  arange: recipe(
    () => [1, 7, 2, { dtype: "i32" }],
    () => [5],
  ),
  linspace: recipe(() => [0, 1, 5, { dtype: "f64", endpoint: false }]),
  eye: recipe(() => [3, { columns: 4, k: 1, dtype: "i32" }]),
  identity: recipe(() => [3, { dtype: "f64" }]),
  mapIndex: recipe(
    (w) => [w.f32(2, 3), (x: number, i: number, j: number) => x + i * 3 + j, { dtype: "f64" }],
    (w) => [
      w.f32(3),
      (x: number, i: number, { from }: { from: strided.Tensor }) => x + Number(from.get(i)),
      { with: { from: w.f32(3) } },
    ],
  ),
  stencil: recipe(
    () => [(at: (i: number) => number) => at(-1) + at(2), { edge: "wrap", dtype: "f32", compute: "f64" }],
    (w) => [
      (at: (i: number) => number, { from }: { from: strided.Tensor }) => at(0) * Number(from.get(1)),
      { value: 7, with: { from: w.f32(3) } },
    ],
  ),
  fromFunction: recipe(
    () => [(i: number, j: number) => i * 3 + j, [2, 3], { dtype: "f32" }],
    () => [(i: number) => i, 4],
  ),
  fromBuffer: recipe(
    (w) => [
      w.given(new ArrayBuffer(64)),
      { dtype: "f32", shape: [2, 3], byteStrides: [16, 4], byteOffset: 4 },
    ],
    (w) => [w.given(Uint8Array.of(1, 2, 3, 4, 5, 6)), { dtype: "u8", shape: [2, 3] }],
  ),
  fromGgml: recipe((w) => [
    { type: "f32", ne: [3, 2], nb: [4, 16], data: w.given(new Float32Array(16)), offset: 4 },
  ]),
  fromMessage: recipe(() => [{ dtype: "f32", shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) }]),
  toMessage: recipe(
    (w) => [w.f32(2, 3), { shared: false, live: false }],
    (w) => [w.own(w.f32(2, 3).T)],
  ),
  fromJSON: recipe(
    () => [json()],
    () => [JSON.stringify(json())],
  ),
  oneHot: recipe(
    () => [[0, 2, 1], 3, { axis: 0, on: 5, off: 1, dtype: "i32" }],
    (w) => [w.from("i32", [0, 1, 1]), 2],
  ),
  meshgrid: recipe((w) => [[w.f32(2), w.f32(3)], { indexing: "ij", sparse: true }]),
  ...each("tril triu diag", () => recipe((w) => [w.f32(3, 3), { k: 1 }])),
  astype: recipe((w) => [w.f32(2, 3), "f64", { copy: true }]),
  complex: recipe((w) => [w.f32(3), w.f32(3)]),
  ...each("real imag conj complexAbs complexAngle", () => recipe((w) => [w.f32(3, 2)])),
  complexMul: recipe((w) => [w.f32(3, 2), w.f32(3, 2)]),

  ...each("atleast1d atleast2d atleast3d ravel flatten", () => ofTensor),
  matrixTranspose: recipe((w) => [w.f32(2, 3)]),
  reshape: recipe(
    (w) => [w.f32(2, 3), [3, -1]],
    (w) => [w.own(w.f32(2, 3).T), 6],
  ),
  ...each("expandDims", () =>
    recipe(
      (w) => [w.f32(2, 3), [0, 2]],
      (w) => [w.f32(3), 1],
    ),
  ),
  squeeze: recipe(
    (w) => [w.f32(1, 3, 1), [0, 2]],
    (w) => [w.f32(1, 3)],
  ),
  flip: recipe(
    (w) => [w.f32(2, 3), [0, 1]],
    (w) => [w.f32(2, 3)],
  ),
  broadcastTo: recipe((w) => [w.f32(3), [2, 3]]),
  broadcastArrays: recipe(
    (w) => [[w.f32(2, 1), w.f32(3)]],
    (w) => [w.f32(2, 1), w.f32(3)],
  ),
  broadcastShapes: recipe(() => [[2, 1], [3]]),
  unravelIndex: recipe(
    () => [4, [2, 3]],
    (w) => [w.from("i32", [5, 0, 3]), [2, 3]],
  ),
  ravelIndex: recipe(
    () => [
      [1, 2],
      [2, 3],
    ],
    (w) => [
      [w.from("i32", [1, 0]), w.from("i64", [2, 1])],
      [2, 3],
    ],
  ),
  gradient: recipe(
    (w) => [w.f32(3, 4), { axis: 0, spacing: 0.5 }],
    (w) => [w.f32(3, 4), { axis: [0, 1], spacing: [w.of("f64", 3), 2] }],
  ),
  polyfit: recipe((w) => [w.f32(5), w.f32(5), 2]),
  polyval: recipe((w) => [w.f32(3), w.f32(2, 3)]),
  erf: ofTensor,
  erfc: ofTensor,
  toBuffer: recipe(
    (w) => [w.f32(2, 3), w.given(new Uint8Array(64)), { dtype: "u8", byteStrides: [12, 4], byteOffset: 1 }],
    (w) => [w.f32(2, 3), w.given(new Float32Array(6))],
  ),
  permuteDims: recipe((w) => [w.f32(2, 3, 1), [2, 0, 1]]),
  swapAxes: recipe((w) => [w.f32(2, 3), 0, 1]),
  moveAxis: recipe(
    (w) => [w.f32(2, 3, 1), [0, 1], [1, 2]],
    (w) => [w.f32(2, 3), 0, -1],
  ),
  roll: recipe(
    (w) => [w.f32(2, 3), [1, 2], { axis: [0, 1] }],
    (w) => [w.f32(2, 3), 2],
  ),
  rot90: recipe((w) => [w.f32(2, 3), { k: 1, axes: [0, 1] }]),
  ...each("split arraySplit", () =>
    recipe(
      (w) => [w.f32(2, 4), [1, 3], { axis: 1 }],
      (w) => [w.f32(4), 2],
    ),
  ),
  unstack: recipe((w) => [w.f32(2, 3), { axis: 1 }]),
  concat: recipe(
    (w) => [[w.f32(2, 3), w.f32(2, 3)], { axis: 1, dtype: "f64" }],
    (w) => [[w.f32(2, 3), w.f32(3)], { axis: null }],
  ),
  stack: recipe((w) => [[w.f32(2, 3), w.f32(2, 3)], { axis: 1, dtype: "f64" }]),
  ...each("vstack hstack", () => recipe((w) => [[w.f32(2, 3), w.f32(2, 3)]])),
  tile: recipe(
    (w) => [w.f32(2, 3), [2, 1]],
    (w) => [w.f32(3), 2],
  ),
  repeat: recipe(
    (w) => [w.f32(2, 3), [1, 2], { axis: 0 }],
    (w) => [w.f32(3), w.from("i32", [1, 0, 2])],
    (w) => [w.f32(3), 2],
  ),
  pad: recipe(
    (w) => [
      w.f32(2, 3),
      [
        [1, 0],
        [0, 2],
      ],
      { mode: "constant", value: 7 },
    ],
    (w) => [w.f32(3), [1, 2], { mode: "reflect" }],
    (w) => [w.f32(3), 1],
  ),

  take: recipe(
    (w) => [w.f32(3, 2), [0, 2], { axis: 0, mode: "wrap" }],
    (w) => [w.f32(3), w.from("i32", [2, 0])],
  ),
  takeAlongAxis: recipe((w) => [w.f32(2, 3), [[1], [0]], { axis: 1 }]),
  gather: recipe((w) => [
    w.f32(2, 3),
    [
      [0, 1],
      [2, 0],
    ],
  ]),
  assignTake: recipe((w) => [w.f32(3, 2), [0, 2], w.f32(2, 2), { axis: 0, mode: "clip" }]),
  putAlongAxis: recipe((w) => [w.f32(2, 3), [[1], [0]], 9, { axis: 1 }]),
  assignAt: recipe((w) => [
    w.f32(2, 3),
    [
      [0, 1],
      [2, 0],
    ],
    [7, 8],
  ]),
  scatterAdd: recipe(
    (w) => [w.f32(3), w.from("i32", [0, 2]), w.f32(2), { axis: 0 }],
    (w) => [
      w.f32(2, 3),
      [
        [0, 1],
        [2, 0],
      ],
      [7, 8],
    ],
  ),
  put: recipe((w) => [w.f32(2, 3), [0, 5], [7, 8], { mode: "wrap" }]),
  booleanMask: recipe((w) => [w.f32(2, 3), w.of("bool", 2, 3)]),
  assignMask: recipe((w) => [w.f32(2, 3), w.of("bool", 2, 3), 9]),
  ...each("nonzero argwhere flatnonzero", () => ofTensor),
  compress: recipe(
    (w) => [w.f32(3, 2), [true, false, true], { axis: 0 }],
    (w) => [w.f32(3), w.of("bool", 3)],
  ),

  sort: recipe((w) => [w.f32(2, 3), { axis: 1, descending: true, stable: true }]),
  argsort: recipe((w) => [w.f32(2, 3), { axis: 0, descending: true, stable: true }]),
  topk: recipe((w) => [w.f32(2, 3), 2, { axis: 1, largest: true, sorted: true }]),
  lexsort: recipe(
    (w) => [[w.f32(4), w.f32(4)]],
    (w) => [w.f32(2, 4)],
  ),
  searchsorted: recipe((w) => [
    w.from("f32", [1, 2, 3]),
    w.f32(2),
    { side: "right", sorter: w.from("i64", [0, 1, 2]) },
  ]),
  digitize: recipe((w) => [w.f32(4), w.from("f32", [1, 2, 3]), { right: true }]),
  unique: recipe((w) => [
    w.f32(6),
    { returnIndex: true, returnInverse: true, returnCounts: true, equalNan: true, axis: 0 },
  ]),
  ...each("uniqueAll uniqueCounts uniqueInverse uniqueValues", () => ofTensor),
  isin: recipe((w) => [w.f32(2, 3), w.f32(2), { invert: true, assumeUnique: false }]),
  union1d: recipe((w) => [w.f32(3), w.f32(3)]),
  intersect1d: ofVectors({ returnIndices: true, assumeUnique: false }),
  ...each("setdiff1d setxor1d", () => ofVectors({ assumeUnique: false })),

  ...each("dot inner outer kron", () => recipe((w) => [w.f32(3), w.f32(3)])),
  vecdot: recipe((w) => [w.f32(2, 3), w.f32(2, 3), { axis: 1 }]),
  cross: recipe((w) => [w.f32(2, 3), w.f32(2, 3), { axis: 1 }]),
  tensordot: recipe(
    (w) => [w.f32(2, 3), w.f32(3, 2), { axes: [[1], [0]] }],
    (w) => [w.f32(2, 3), w.f32(3, 2), { axes: 1 }],
  ),
  trace: recipe((w) => [w.f32(3, 3), { offset: 1, axis1: 0, axis2: 1, dtype: "f64" }]),
  multiDot: recipe((w) => [[w.f32(2, 3), w.f32(3, 2), w.f32(2, 2)]]),
  einsum: recipe(
    (w) => ["ij,jk->ik", w.f32(2, 3), w.f32(3, 2)],
    (w) => ["ii", w.f32(3, 3)],
  ),
  conv1d: recipe((w) => [
    w.f32(1, 2, 5),
    w.f32(2, 2, 3),
    { ...conv, stride: 1, padding: "same", dilation: [1], bias: w.f32(2) },
  ]),
  conv2d: recipe((w) => [w.f32(1, 2, 4, 4), w.f32(2, 2, 3, 3), { ...conv, bias: w.f32(2) }]),
  conv3d: recipe((w) => [
    w.f32(1, 1, 3, 3, 3),
    w.f32(1, 1, 2, 2, 2),
    { stride: 1, padding: [0, 1, 0], dilation: 1, groups: 1, bias: w.f32(1) },
  ]),
  convTranspose1d: recipe((w) => [
    w.f32(1, 2, 3),
    w.f32(2, 2, 3),
    { stride: [2], padding: 1, outputPadding: [1], dilation: 1, groups: 1, bias: w.f32(2) },
  ]),
  convTranspose2d: recipe((w) => [
    w.f32(1, 1, 3, 3),
    w.f32(1, 1, 2, 2),
    { stride: [2, 2], padding: [0, 1], outputPadding: 1, dilation: [1, 1], groups: 1, bias: w.f32(1) },
  ]),
  ...each("convolve correlate", () => recipe((w) => [w.f32(5), w.f32(3), { mode: "same" }])),
  maxPool1d: recipe((w) => [w.f32(1, 2, 6), [2], { stride: [2], padding: 1, ceilMode: true, dilation: [1] }]),
  maxPool2d: recipe((w) => [
    w.f32(1, 4, 4),
    [2, 2],
    { stride: 2, padding: [1, 0], ceilMode: false, dilation: 1 },
  ]),
  avgPool1d: recipe((w) => [
    w.f32(1, 2, 6),
    2,
    { stride: [2], padding: 1, ceilMode: true, countIncludePad: false },
  ]),
  avgPool2d: recipe((w) => [
    w.f32(1, 4, 4),
    [2, 2],
    { stride: 2, padding: [1, 0], ceilMode: false, countIncludePad: true },
  ]),

  allclose: recipe((w) => [w.f32(3), w.f32(3), { rtol: 0.1, atol: 0.1, equalNan: true }]),
  isclose: recipe((w) => [w.f32(3), 2, { rtol: 0.1, atol: 0.1, equalNan: true }]),
  arrayEqual: recipe((w) => [w.f32(3), w.f32(3), { equalNan: true }]),
  nanToNum: recipe((w) => [w.f32(3), { nan: 1, posinf: 2, neginf: 3, out: w.f32(3) }]),

  canCast: recipe(
    () => ["i32", "f64"],
    (w) => [w.f32(2), "f64"],
  ),
  promote: recipe(() => ["i32", "f64"]),
  resultType: recipe((w) => ["i32", w.f32(2), "u8"]),
  isdtype: recipe(
    () => ["f32", ["real floating", "bool"]],
    () => ["i8", "integral"],
  ),
  finfo: recipe(
    () => ["f32"],
    (w) => [w.f32(2)],
  ),
  iinfo: recipe(
    () => ["i64"],
    (w) => [w.of("u8", 2)],
  ),

  zip: recipe(
    (w) => [[w.f32(2, 3), w.f32(3)], (a: number, b: number) => a + b, { dtype: "f64" }],
    (w) => [[w.f32(2, 3), w.f32(3)], (a: number, b: number) => a * b, { out: w.f32(2, 3) }],
    (w) => [
      [w.f32(2, 3), w.f32(3)],
      (a: number, b: number, { k }: Given) => a * b + k,
      { with: { k: 2 }, compute: "f64" },
    ],
  ),
  kernel: recipe(
    () => [(x: number, k: number) => x * k, { k: 2 }, { fastMath: true }],
    () => [(x: number, { a, b }: { a: number; b: number }) => x * a + b, { a: 2, b: [3, 4][0] }],
    () => [(x: number) => x + 1, {}, { compute: "f64" }],
    (w) => [
      (x: number, { from }: { from: strided.Tensor }) => {
        let n = 0;
        while (n < 3 && Number(from.get(n)) < x) n++;
        return n;
      },
      { from: w.f32(4) },
    ],
  ),
  fuse: recipe(
    () => [(a: strided.Tensor) => a.mul(2).add(1), { exact: true }],
    () => [(a: strided.Tensor, b: strided.Tensor) => [a.add(b).sum(), a.sub(b)]],
  ),
  njit: recipe(
    () => [(n: number, { k }: Given) => n * k, { k: 2 }],
    (w) => [(i: number, { table }: { table: strided.NjitTensor }) => table.get(i), { table: w.f32(3) }],
  ),
  scope: recipe((w) => {
    const a = w.f32(3);
    return [() => [a.add(1), { b: a.mul(2) }]];
  }),
  explain: arbitrary((w) => {
    const a = w.f32(3);
    return [() => a.add(1)];
  }),
  memory: arbitrary(() => []),
  ready: recipe(() => []),
  // The engine is in use: refused, whatever it is given.
  configure: recipe(() => [{ maximumBytes: 2 ** 20, threads: 1, dtype: "f32", warnings: true }]),

  rawMap: recipe(() => [(x: number) => x + 1, raw(2, 3), raw(2, 3)]),
  rawZip: recipe(() => [(a: number, b: number) => a * b, raw(2, 3), raw(2, 3), raw(2, 3)]),
  rawReduce: recipe(() => [(acc: number, x: number) => acc + x, raw(2, 1), raw(2, 3), 1]),
  rawMatmul: recipe(() => [raw(1, 2, 2), raw(1, 2, 3), raw(1, 3, 2)]),
};

/** Exports that are no functions, or make nothing of what they are given. */
export const plain: Readonly<Record<string, string>> = {
  dtypeNames: "a list of names",
  fft: "a namespace",
  image: "a namespace",
  linalg: "a namespace",
  random: "a namespace",
  windows: "a namespace",
  TensorError: "an error says what it is given",
  Tensor: "a class: its members are rows, and so is new Tensor",
  scopeAsync: "asynchronous: tests/trust/memory-scopes.test.ts",
  tensorEquality: "takes anything: tests/frameworks/compare.test.ts",
};

const drawn: Readonly<Record<string, Recipe>> = {
  uniform: shaped({ low: -1, high: 1, dtype: "f64" }),
  normal: shaped({ mean: 1, std: 2, dtype: "f32" }),
  exponential: shaped({ scale: 2, dtype: "f32" }),
  bernoulli: shaped({ p: 0.25 }),
  integers: recipe(() => [1, 9, [2, 3], { dtype: "u8", endpoint: true }]),
  shuffle: recipe((w) => [w.f32(3, 2), { axis: 0 }]),
  permutation: recipe(
    (w) => [w.f32(3, 2), { axis: 1 }],
    () => [5],
  ),
  categorical: recipe(
    () => [
      [0.5, 0.25, 0.25],
      [2, 2],
    ],
    (w) => [w.f32(2, 3)],
  ),
  choice: recipe(
    (w) => [w.f32(4), [2, 2], { axis: 0, replace: true, p: [0.25, 0.25, 0.25, 0.25] }],
    (w) => [4, 2, { replace: false, p: w.from("f64", [0.25, 0.25, 0.25, 0.25]) }],
  ),
};

type Space = "fft" | "image" | "linalg" | "random" | "windows";
export const namespaces: Readonly<Record<Space, Readonly<Record<string, Recipe>>>> = {
  fft: {
    ...each("fft ifft irfft hfft", () => transform(pairs)),
    ...each("rfft ihfft", () => transform(reals)),
    ...each("fftn ifftn fft2 ifft2 irfftn irfft2", () => transforms(pairs)),
    ...each("rfftn rfft2", () => transforms(reals)),
    ...each("fftfreq rfftfreq", () => recipe(() => [5, { d: 0.5, dtype: "f32" }])),
    ...each("fftshift ifftshift", () =>
      recipe(
        (w) => [w.f32(3, 2), { axes: [0], pairs: true }],
        (w) => [w.f32(4), { axes: 0 }],
      ),
    ),
  },
  linalg: {
    cholesky: matrix({ upper: true }),
    cond: matrix({ ord: 2 }),
    ...each("cross matmul matrixTranspose multiDot outer tensordot vecdot", (name) => exported[name]),
    ...each("det inv slogdet svdvals", () => recipe((w) => [w.positive(3)])),
    diagonal: recipe((w) => [w.f32(3, 3), { offset: 1 }]),
    trace: recipe((w) => [w.f32(3, 3), { offset: 1, dtype: "f64" }]),
    ...each("eigh eigvalsh", () => matrix({ uplo: "U" })),
    lstsq: recipe((w) => [w.positive(3), w.of("f64", 3), { rtol: 1e-9 }]),
    matrixNorm: matrix({ ord: "nuc", keepdims: true }),
    matrixPower: recipe((w) => [w.positive(2), 3]),
    ...each("matrixRank pinv", () => matrix({ rtol: 1e-9 })),
    qr: matrix({ mode: "complete" }),
    solve: recipe((w) => [w.positive(3), w.of("f64", 3)]),
    svd: matrix({ fullMatrices: false }),
    vectorNorm: folded({ ord: 3, axis: [1], keepdims: true }),
  },
  random: {
    ...Object.fromEntries(Object.entries(drawn).map(([name, r]) => [name, { ...r, arbitrary: true }])),
    generator: recipe(() => [7, { stream: 1, at: 3 }]),
  },
  windows: {
    ...each("hann hamming blackman bartlett flatTop", () =>
      recipe(
        () => [8, { periodic: true, dtype: "f64" }],
        () => [5],
      ),
    ),
    kaiser: recipe(
      () => [8, 5, { periodic: true, dtype: "f64" }],
      () => [5, 2],
    ),
  },
  image: {
    ...each("rgbToHsv hsvToRgb rgbToHsl hslToRgb rgbToYcbcr ycbcrToRgb srgbToLinear linearToSrgb", () =>
      recipe(
        (w) => [w.of("u8", 2, 3, 3)],
        (w) => [w.f32(2, 4)],
      ),
    ),
    ...each("rgbToYuv yuvToRgb", () => recipe((w) => [w.f32(2, 3, 3)])),
    rgbToGray: recipe(
      (w) => [w.of("u8", 2, 3, 3), { standard: "bt709" }],
      (w) => [w.f32(2, 4)],
    ),
    grayToRgb: recipe((w) => [w.of("u8", 2, 3)]),
    resize: recipe(
      (w) => [w.of("u8", 4, 3, 2), [2, 5], { method: "lanczos", antialias: true }],
      (w) => [w.f32(4, 3), [3, 2], { method: "area", antialias: false }],
      (w) => [w.f32(2, 4, 3, 1), [3, 2], { method: "nearest" }],
    ),
    fromRGBA: recipe(
      (w) => [
        w.given(new Uint8ClampedArray(24).fill(7)),
        { width: 3, height: 2, dtype: "f32", alpha: "premultiply" },
      ],
      (w) => [{ data: w.given(new Uint8Array(24)), width: 3, height: 2 }, { alpha: "drop" }],
    ),
    toRGBA: recipe(
      (w) => [w.f32(2, 3, 4), { alpha: "premultiplied" }],
      (w) => [w.of("u8", 2, 3)],
    ),
  },
};

/** Members of a generator; the generator itself is made by `self`. */
export const generator: Readonly<Record<string, Recipe>> = {
  ...drawn,
  bits: shaped({ dtype: "u64" }),
  spawn: recipe(() => [2]),
  at: recipe(() => []),
};

const plus = (x: number) => x + 1;
const adds = (acc: number, x: number) => acc + x;
interface Given {
  readonly k: number;
}

/** Members of Tensor that no function of the same name stands for; the first argument is the tensor. */
const ownMembers: Readonly<Record<string, Recipe>> = {
  ...each(
    `dtype readOnly shape rank size strides byteStrides offset byteOffset isContiguous isDisposed data T transpose clone contiguous
    toArray toTypedArray toJSON layout dispose`,
    () => recipe((w) => [w.f32(2, 3)]),
  ),
  var: exported.variance,
  slice: recipe(
    (w) => [w.f32(2, 3), ":", [0, 3, 2], null],
    (w) => [w.f32(2, 3), 1, "::-1"],
    (w) => [w.f32(2, 3), "...", 0],
  ),
  permute: recipe(
    (w) => [w.f32(2, 3), [1, 0]],
    (w) => [w.f32(2, 3), 1, 0],
  ),
  diagonal: recipe((w) => [w.f32(3, 3), { offset: 1, axis1: 0, axis2: 1 }]),
  slidingWindow: recipe(
    (w) => [w.f32(3, 4), [2, 2], [0, 1]],
    (w) => [w.f32(5), 2],
  ),
  asStrided: recipe((w) => [w.f32(2, 3), [2, 2], [3, 1], 1]),
  view: recipe(
    (w) => [w.f32(2, 3), [3, 2]],
    (w) => [w.f32(2, 3), 6],
  ),
  get: recipe((w) => [w.f32(2, 3), 1, 2]),
  set: recipe((w) => [w.f32(2, 3), [1, 2], 9]),
  item: recipe((w) => [w.f32(1, 1)]),
  assign: recipe(
    (w) => [w.f32(2, 3), w.f32(3)],
    (w) => [w.f32(2, 3), [1, 2, 3]],
  ),
  assignFlat: recipe((w) => [w.f32(2, 3), w.f32(6)]),
  fill: recipe((w) => [w.f32(2, 3), 9]),
  to: recipe((w) => [w.f32(2, 3), "f64"]),
  map: recipe(
    (w) => [w.f32(2, 3), plus, { dtype: "f64" }],
    (w) => [w.f32(2, 3), plus, { out: w.f32(2, 3) }],
    (w) => [w.f32(2, 3), (x: number, { k }: Given) => x * k, { with: { k: 2 }, compute: "f64" }],
  ),
  reduce: recipe(
    (w) => [w.f32(2, 3), adds, { axis: 1, init: 0, keepdims: true, dtype: "f64", associative: true }],
    (w) => [w.f32(2, 3), adds, { axis: [0, 1] }],
    (w) => [
      w.f32(2, 3),
      (acc: number, x: number, { k }: Given) => acc + k * x,
      { with: { k: 2 }, compute: "f64", axis: 1, init: 0 },
    ],
  ),
  scan: recipe(
    (w) => [w.f32(2, 3), adds, { axis: 1, init: 0, dtype: "f64" }],
    (w) => [
      w.f32(2, 3),
      (acc: number, x: number, { k }: Given) => acc + k * x,
      { with: { k: 2 }, compute: "f64", axis: 1, init: 0 },
    ],
  ),
  toString: recipe((w) => [w.f32(2, 3), { threshold: 4, edge: 1, digits: 3, lineWidth: 60 }]),
};

/** Every member of Tensor.prototype; what is a function too is called with the function's arguments. */
export const members: Readonly<Record<string, Recipe | undefined>> = Object.fromEntries(
  Object.getOwnPropertyNames(Tensor.prototype)
    .filter((name) => name !== "constructor")
    .map((name) => [name, ownMembers[name] ?? methodRecipe(name)]),
);

function methodRecipe(name: string): Recipe | undefined {
  if (name !== "round") return exported[name];
  return exported.trunc;
}

const kernelOf = (w: World): unknown[] => [
  strided.kernel((a: number, b: number, k: number) => a * b + k, { k: 2 }),
  w.f32(2, 3),
  w.f32(3),
];

/** Members of a kernel: the first argument is the kernel. */
export const kernelMembers: Readonly<Record<string, Recipe>> = {
  "()": recipe(kernelOf, (w) => [kernelOf(w)[0], 2, 3]),
  into: recipe((w) => {
    const [k, ...tensors] = kernelOf(w);
    return [k, w.f32(2, 3), ...tensors];
  }),
  as: recipe((w) => [kernelOf(w)[0], "f64"]),
  reduce: recipe(
    (w) => [kernelOf(w)[0], "max", { axis: 1, keepdims: true, init: 0, dtype: "f64" }],
    (w) => [kernelOf(w)[0], adds, { init: 0, axis: [0] }],
  ),
  template: recipe((w) => [kernelOf(w)[0]]),
  captures: recipe((w) => [kernelOf(w)[0]]),
  toString: recipe((w) => [kernelOf(w)[0]]),
};

const fusedOf = (w: World): unknown[] => [
  strided.fuse((a: strided.Tensor, b: strided.Tensor) => strided.add(strided.mul(a, b), 2)),
  w.f32(2, 3),
  w.f32(3),
];

/** Members of a fused function: the first argument is the function. */
export const fusedMembers: Readonly<Record<string, Recipe>> = {
  "()": recipe(fusedOf),
  into: recipe((w) => {
    const [f, ...args] = fusedOf(w);
    return [f, w.f32(2, 3), ...args];
  }),
  explain: arbitrary(fusedOf),
};

const added = strided.njit((out, a, n) => {
  for (let i = 0; i < n; i++) for (let j = 0; j < a.shape[1]; j++) out.set([i, j], a.get(i, j) + n);
  return n;
});
const filled = strided.njit((a: Float64Array, x: number) => {
  for (let i = 0; i < a.length; i++) a[i] = x;
});
const njitCalls = recipe(
  (w) => [added, w.f32(2, 3), w.f32(2, 3), 2],
  () => [filled, new Float64Array(3), 1.5],
);

/** Members of an njit function: the first argument is the function. */
export const njitMembers: Readonly<Record<string, Recipe>> = {
  "()": njitCalls,
  plain: njitCalls,
  with: recipe(
    () => [added, { timeLimit: 1000 }],
    () => [filled, { flag: new Int32Array(new SharedArrayBuffer(4)), signal: new AbortController().signal }],
  ),
  toString: recipe(() => [added]),
};

const reportOf = (w: World) => {
  const a = w.f32(2, 3);
  return strided.explain(() => w.own(a.add(1)));
};
const ofReport = (...rest: unknown[]): Recipe => arbitrary((w) => [reportOf(w), ...rest]);

/** Members of a report: the first argument is the report. */
export const reportMembers: Readonly<Record<string, Recipe>> = {
  ...each("kernels copies fallbacks routines functions toString", () => ofReport()),
  ...each("wat passes loops iteration", () => ofReport(0)),
  table: recipe(
    (w) => [reportOf(w), { rows: 2, kernel: 0 }],
    (w) => [reportOf(w), -1],
  ),
  toJSON: ofReport({ wat: false }),
  trace: recipe((w) => {
    const total = strided.njit((x) => {
      let s = 0;
      for (let i = 0; i < x.size; i++) s += x.get(i);
      return s;
    });
    const t = w.f32(3);
    return [strided.explain(() => total(t)), { call: 0, most: 100 }];
  }),
};

const iterationOf = (w: World) => reportOf(w).iteration();

/** Members of an iteration: the first argument is the iteration. */
export const iterationMembers: Readonly<Record<string, Recipe>> = {
  row: recipe(
    (w) => [iterationOf(w), 1, { most: 2, from: 0 }],
    (w) => [iterationOf(w), 0, 1],
  ),
  toJSON: arbitrary((w) => [iterationOf(w)]),
};

/* Entries of their own ---------------------------------------------------------------------------------------- */

const lent = (w: World) => ({
  data: w.given(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8)),
  shape: [2, 3],
  stride: [4, 1],
  offset: 1,
});
class Made {
  readonly given: readonly unknown[];
  constructor(...given: unknown[]) {
    this.given = given;
  }
}

/** A small matrix in blocks, let go with the case. */
const inBlocks = (w: World, dtype: EncodedDType = "q8_0") => {
  const q = quantise(w.f32(2, 64), dtype);
  w.own(q.blocks);
  return q;
};

/** "strided/quantised": its functions, those that read files apart. */
export const quantised: Readonly<Record<string, Recipe>> = {
  quantise: recipe(
    (w) => [w.f32(2, 32), "q4_0"],
    (w) => [w.of("i32", 64), "q5_1"],
  ),
  fromBlocks: recipe(
    (w) => [w.of("u8", 2, 34), "q8_0"],
    (w) => [w.of("u8", 36), "q4_0", [2, 32]],
  ),
  fromGgml: recipe(
    (w) => [{ type: "q4_0", ne: [32, 2], nb: [18, 18], data: w.given(new Uint8Array(36)), offset: 0 }],
    (w) => [{ type: 0, ne: [3, 2], data: w.given(new Float32Array(6)) }],
  ),
  isQuantised: recipe((w) => [inBlocks(w)]),
  matmul: recipe(
    (w) => [inBlocks(w), w.f32(64)],
    (w) => [inBlocks(w, "q4_1"), w.f32(64, 3), { out: w.f32(2, 3) }],
    (w) => [inBlocks(w, "q4_0"), w.f32(64, 6)],
  ),
};

/** Its members: the first argument is what they belong to. */
export const quantisedMembers: Readonly<Record<string, Recipe>> = {
  ...each("dtype shape rank size blockSize blockBytes bytes byteStrides isDisposed clone", () =>
    recipe((w) => [inBlocks(w)]),
  ),
  dispose: recipe((w) => [quantise(w.f32(2, 64), "q8_0")]),
  slice: recipe((w) => [inBlocks(w), "::-1", "0:32"]),
  permute: recipe((w) => [inBlocks(w), [0, 1]]),
  reshape: recipe((w) => [inBlocks(w), [4, -1]]),
  dequantise: recipe(
    (w) => [inBlocks(w), { dtype: "f16" }],
    (w) => [inBlocks(w), { out: w.f32(2, 64) }],
  ),
  assign: recipe(
    (w) => [inBlocks(w), w.f32(64)],
    (w) => [inBlocks(w), inBlocks(w, "q4_0")],
  ),
  assignFlat: recipe((w) => [inBlocks(w), w.f32(128)]),
  toString: recipe((w) => [inBlocks(w), { digits: 3, threshold: 10, edge: 2, lineWidth: 60 }]),
  toJSON: recipe((w) => [inBlocks(w)]),
};

/** "strided/interop": its functions, and those of its namespace `to`. */
export const interop: Readonly<Record<string, Recipe>> = {
  from: recipe(
    (w) => [lent(w), { dtype: "f64", nulls: 0 }],
    (w) => [{ ...lent(w), stride: [1, 2], offset: 0 }],
    () => [{ data: [1, 2, 3, 4], shape: [2, 2], stride: [1, 2] }],
    (w) => [{ dataSync: () => w.given(Int32Array.of(1, 2, 3, 4)), shape: [2, 2], dtype: "int32" }],
    (w) => [{ data: w.given(Float32Array.of(1, 2)), dims: [2, 1], type: "float32", location: "cpu" }],
    (w) => [{ data: w.given(new Uint8ClampedArray(24)), width: 3, height: 2 }],
    (w) => [{ nullCount: 0, length: 2, toArray: () => w.given(Float64Array.of(1, 2)) }],
    () => [
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: "i32" },
    ],
    (w) => [[w.given(Float64Array.of(1, 2)), Float64Array.of(3, 4)]],
    (w) => [w.given(new Uint16Array(6)), { dtype: "bf16" }],
    (w) => [w.f32(2, 3)],
    () => [new Set([1, 2])],
  ),
  copyStrided: recipe(
    (w) => [{ data: w.given(new Float32Array(12)), shape: [2, 3], stride: [1, 4], offset: 1 }, lent(w)],
    () => [
      { data: [0, 0], shape: [2] },
      { data: [1, 2], shape: [2] },
    ],
  ),
  "to.ndarray": recipe(
    (w) => [w.own(w.f32(2, 3).T), { copy: true, ndarray: (...all: unknown[]) => all.length }],
    (w) => [w.f32(2, 3)],
  ),
  "to.zarrita": recipe(
    (w) => [w.f32(2, 3), { copy: false }],
    (w) => [w.own(w.f32(2, 3).T)],
  ),
  "to.tfjs": recipe(
    (w) => [w.of("u8", 2, 3), { tensor: (...all: unknown[]) => all.slice(1) }, { copy: false }],
    (w) => [w.f32(2), { tensor: (...all: unknown[]) => all.length }],
  ),
  "to.onnx": recipe(
    (w) => [w.f32(2, 3), Made, { copy: false }],
    (w) => [w.of("i64", 2), { Tensor: Made }],
  ),
  "to.arrow": recipe(
    (w) => [w.f32(3), { columnFromArray: (x: unknown) => x, float32: () => 1 }],
    (w) => [
      w.f32(3, 2),
      { columnFromArray: (x: unknown) => x, float32: () => 1, fixedSizeList: (_: unknown, n: number) => n },
    ],
    (w) => [w.of("i32", 3), { makeVector: (x: unknown) => x }],
  ),
  "to.imageData": recipe((w) => [w.of("u8", 2, 3), { ImageData: Made }]),
  "to.canvas": recipe((w) => [
    w.of("u8", 2, 3),
    {
      width: 1,
      height: 1,
      getContext: () => ({
        createImageData: (m: number, n: number) => ({ data: new Uint8ClampedArray(4 * m * n) }),
        putImageData: () => {},
      }),
    },
  ]),
  ...each("to.bytes to.buffer to.nested", () => ofTensor),
};

const drawing = { bins: 4, range: [0, 9], title: "a title", width: 120, height: 120 };

/** "strided/plot": the function itself prints what `plot.text` gives. */
export const plotting: Readonly<Record<string, Recipe>> = {
  "plot.text": recipe(
    (w) => [w.f32(6), { ...drawing, kind: "line", x: w.f32(6), color: "none", ascii: false }],
    (w) => [w.f32(3, 4), { height: 5, color: "truecolor" }],
    (w) => [w.of("u8", 2, 3, 2)],
  ),
  "plot.image": recipe(
    (w) => [w.f32(6), { ...drawing, kind: "line", x: w.f32(6), xLabel: "x", yLabel: "y" }],
    (w) => [w.f32(3, 4)],
  ),
  "plot.svg": recipe(
    (w) => [w.f32(6), { ...drawing, kind: "scatter", x: w.f32(6), xLabel: "x", yLabel: "y" }],
    (w) => [w.f32(3, 4)],
    (w) => [w.of("i32", 6), { kind: "histogram" }],
  ),
};

const weighted = (w: World) => ({ weight: w.f32(4, 3), bias: w.f32(4) });
const scaling = (w: World) => ({ weight: w.f32(4), bias: w.f32(4) });
const labels = (w: World) => w.own(strided.tensor([0, 2], { dtype: "i32" }));
const loss = recipe(
  (w) => [w.f32(2, 3), w.f32(2, 3), { reduction: "sum" }],
  (w) => [w.f32(2, 3), w.f32(2, 3)],
);
const square = (t: strided.Tensor) => strided.sum(strided.mul(t, t));
const ofTrees = (...ways: Make[]): Recipe => ({ ways, trees: true });
const tree = (w: World) => ({ a: w.f32(2), b: [w.f32(3)] });

/** "strided/nn", but for what reads, writes or waits. */
export const networks: Readonly<Record<string, Recipe>> = {
  ...each("mse l1 binaryCrossEntropy", () => loss),
  huber: recipe((w) => [w.f32(2, 3), w.f32(2, 3), { reduction: "none", delta: 2 }]),
  crossEntropy: recipe((w) => [w.f32(2, 3), labels(w), { reduction: "mean", labelSmoothing: 0.1 }]),
  nll: recipe((w) => [w.f32(2, 3), labels(w), { reduction: "sum" }]),
  accuracy: recipe((w) => [w.f32(2, 3), labels(w)]),
  precisionRecall: recipe((w) => [w.f32(2, 2), w.own(strided.tensor([0, 1], { dtype: "i32" }))]),
  confusion: recipe((w) => [w.f32(2, 3), labels(w), 3]),
  ...each("r2 meanAbsoluteError", () => recipe((w) => [w.f32(4), w.f32(4)])),
  linear: recipe((w) => [weighted(w), w.f32(2, 3)]),
  conv1d: recipe((w) => [
    { weight: w.f32(2, 3, 2), bias: w.f32(2) },
    w.f32(1, 3, 5),
    { stride: 1, padding: 1, dilation: 1, groups: 1 },
  ]),
  conv2d: recipe((w) => [{ weight: w.f32(2, 1, 2, 2), bias: w.f32(2) }, w.f32(1, 1, 3, 3)]),
  embedding: recipe((w) => [{ weight: w.f32(4, 3) }, labels(w)]),
  layerNorm: recipe((w) => [scaling(w), w.f32(2, 4), { eps: 1e-3 }]),
  rmsNorm: recipe((w) => [{ weight: w.f32(4) }, w.f32(2, 4), { eps: 1e-3 }]),
  groupNorm: recipe((w) => [scaling(w), w.f32(2, 4, 3), 2, { eps: 1e-3 }]),
  batchNorm: recipe((w) => [
    scaling(w),
    { mean: w.f32(4), variance: w.own(strided.ones([4])) },
    w.f32(2, 4, 3),
    { training: true, momentum: 0.2, eps: 1e-3 },
  ]),
  dropout: recipe((w) => [w.f32(2, 3), { p: 0.25, rng: strided.random.generator(3), training: true }]),
  multiHeadAttention: recipe((w) => {
    const part = () => ({ weight: w.f32(4, 4), bias: w.f32(4) });
    return [
      { query: part(), key: part(), value: part(), out: part() },
      w.f32(1, 3, 4),
      { heads: 2, causal: true, context: w.f32(1, 3, 4) },
    ];
  }),
  gradientNorm: ofTrees((w) => [tree(w)]),
  clipByNorm: ofTrees((w) => [tree(w), 1]),
  clipByValue: ofTrees((w) => [tree(w), 2]),
  accumulate: ofTrees(
    (w) => [tree(w), tree(w), 0.5],
    (w) => [null, tree(w)],
  ),
  checkNumbers: recipe((w) => {
    const t = w.f32(3);
    return [() => t.add(1)];
  }),
  constantRate: recipe(() => [0.1]),
  stepDecay: recipe(() => [0.1, 3, 0.5]),
  exponentialDecay: recipe(() => [0.1, 0.5]),
  cosine: recipe(() => [0.1, 10, 0.01]),
  warmup: recipe(() => [3, () => 0.1]),
};

/** "strided/grad". */
export const gradients: Readonly<Record<string, Recipe>> = {
  derivative: recipe(() => [strided.kernel((x: number, y: number) => x * y), 1]),
  grad: recipe(() => [square, { wrt: 0 }]),
  valueAndGrad: recipe(() => [square, { wrt: [0], aux: false }]),
  jvp: recipe((w) => [square, [w.f32(3)], [w.f32(3)]]),
  hvp: recipe((w) => [square, [w.f32(3)], w.f32(3)]),
  gradcheck: recipe((w) => [square, [w.of("f64", 3)], { order: 1, step: 1e-4, tolerance: 1e-3 }]),
  stopGradient: ofTrees((w) => [tree(w)]),
  customGradient: recipe(() => [(x: strided.Tensor) => x.exp(), (g: strided.Tensor) => [g]]),
  checkpoint: recipe(() => [square]),
  treeLeaves: ofTrees((w) => [tree(w)]),
  treeMap: ofTrees((w) => [(t: strided.Tensor) => t.neg(), tree(w), tree(w)]),
  treeUnflatten: ofTrees((w) => [tree(w), [w.f32(1), w.f32(2)]]),
};
