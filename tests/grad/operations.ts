/**
 * Every function of tensors, by whether gradients pass it: rows to check them by, those whose results are integers, choices
 * or copies that leave, and those that are refused.
 */
import * as lib from "../../src/index.ts";
import { type Tensor, tensor } from "../../src/index.ts";

const { fft, image, linalg } = lib;

/** An argument: its shape, and the range of its elements. */
export interface Argument {
  readonly shape: readonly number[];
  readonly low: number;
  readonly high: number;
}
export interface Row {
  readonly args: readonly Argument[];
  readonly f: (...t: never[]) => unknown;
}

const at = (low: number, high: number, ...shape: number[]): Argument => ({ shape, low, high });
const plain = (...shape: number[]): Argument => at(-2, 2, ...shape);
const named = lib as unknown as Record<string, (...args: unknown[]) => unknown>;
const words = (text: string) => text.trim().split(/\s+/);
const rowsOf = (text: string, args: readonly Argument[], module: object = lib): Record<string, Row> =>
  Object.fromEntries(
    words(text).map((name) => [
      name,
      { args, f: (...t: never[]) => (module as typeof named)[name.split(".").at(-1)!](...t) },
    ]),
  );
const row = (args: readonly Argument[], f: (...t: Tensor[]) => unknown): Row => ({ args, f: f as never });
const i32 = (data: number[]) => tensor(data, { dtype: "i32" });
const f64 = (data: number[] | number[][]) => tensor(data, { dtype: "f64" });

const x = plain(2, 3);
const pairs = plain(3, 4, 2);
/** a·aᵀ + 1: symmetric and positive. */
const positive = (a: Tensor) => a.matmul(a.T).add(lib.eye(3, { dtype: "f64" }));
const square = plain(3, 3);

export const differentiable: Readonly<Record<string, Row>> = {
  ...rowsOf(
    `neg positive abs square relu sigmoid cbrt exp exp2 expm1 sin cos atan sinh cosh tanh asinh sinc deg2rad rad2deg negative
     nanToNum erf erfc`,
    [x],
  ),
  ...rowsOf("sqrt log log2 log10 log1p reciprocal", [at(0.3, 3, 2, 3)]),
  ...rowsOf("asin acos atanh tan", [at(-0.9, 0.9, 2, 3)]),
  ...rowsOf("acosh", [at(1.2, 3, 2, 3)]),
  ...rowsOf("add sub mul subtract multiply maximum minimum fmax fmin logaddexp logaddexp2", [x, plain(3)]),
  ...rowsOf("div divide atan2 hypot copysign pow", [at(0.3, 2, 2, 1), at(0.4, 3, 2, 3)]),
  ...rowsOf("remainder fmod", [at(3.1, 3.9, 2, 3), at(0.62, 0.76, 3)]),
  round: row([x], (a) => lib.round(a).mul(a)),
  clip: row([x, at(-1, -0.5, 3)], (a, low) => lib.clip(a, low, 1)),
  where: row([x, plain(3)], (a, b) =>
    lib.where(
      f64([
        [1, 0, 1],
        [0, 0, 1],
      ]),
      a,
      b,
    ),
  ),
  map: row([x], (a) => a.map((v) => (v > 0 ? Math.sqrt(v) : v * v * Math.cos(v)))),
  zip: row([x, plain(3)], (a, b) => lib.zip([a, b], (p, q) => p * Math.exp(q))),
  kernel: row([x, plain(2, 1)], (a, b) => lib.kernel((p: number, q: number) => p * p * q)(a, b)),
  mapIndex: row([x], (a) => lib.mapIndex(a, (v, i) => v * v * (i + 1))),
  stencil: row([x], (a) => lib.stencil((at) => at(-1, 0) * at(0, 1), { edge: "wrap" })(a)),
  "kernel, several results": row([x, plain(3)], (a, b) =>
    lib.kernel((p: number, q: number) => [p * q, Math.sin(p)] as const)(a, b),
  ),
  "add, scalar": row([x], (a) => a.add(2).mul(3)),
  "add, out": row([x, x], (a, b) => a.add(b, { out: lib.zeros([2, 3], { dtype: "f64" }) })),
  "map, out": row([x], (a) => a.map((v) => v * v, { out: lib.zeros([2, 3], { dtype: "f64" }) })),
  divmod: row([at(3.1, 3.9, 2, 3)], (a) => lib.divmod(a, 0.7)[1]),
  modf: row([at(3.1, 3.9, 2, 3)], (a) => lib.modf(a)[0]),
  astype: row([x], (a) => lib.astype(lib.astype(a, "f64"), "f64")),
  clone: row([x], (a) => a.clone()),
  complex: row([x, x], (a, b) => lib.complex(a, b)),
  ...rowsOf("real imag conj complexAbs complexAngle", [at(0.4, 2, 3, 2)]),
  complexMul: row([plain(3, 2), plain(1, 2)], (a, b) => lib.complexMul(a, b)),

  ...rowsOf(
    "sum prod max min variance std norm logsumexp mean median ptp nansum nanprod nanmax nanmin nanmean nanmedian",
    [x],
  ),
  ...rowsOf("nanvar nanstd softmax logSoftmax average", [x]),
  "average, weights": row([x, at(0.5, 2, 3)], (a, w) => lib.average(a, { weights: w, axis: 1 })),
  cumsum: row([x], (a) => a.cumsum({ axis: 1 })),
  cumprod: row([x], (a) => a.cumprod({ axis: 0 })),
  cumulativeSum: row([x], (a) => lib.cumulativeSum(a, { axis: 1, includeInitial: true })),
  cumulativeProd: row([x], (a) => lib.cumulativeProd(a, { axis: 1 })),
  reduce: row([x], (a) => a.reduce((acc, v) => acc * 0.5 + v * v, { axis: 1 })),
  scan: row([x], (a) => a.scan((acc, v) => acc * Math.cos(v), { axis: 1, init: 1 })),
  mapReduce: row([x, plain(3)], (a, b) => lib.mapReduce([a, b], (p, q) => p * Math.sin(q), { axis: 1 })),
  quantile: row([x], (a) => lib.quantile(a, [0.3, 0.5], { axis: 1 })),
  percentile: row([x], (a) => lib.percentile(a, 40)),
  nanquantile: row([x], (a) => lib.nanquantile(a, 0.3, { axis: 1 })),
  nanpercentile: row([x], (a) => lib.nanpercentile(a, 40)),
  diff: row([x], (a) => lib.diff(a, { axis: 1 })),
  trace: row([square], (a) => lib.trace(a)),
  cov: row([plain(2, 4)], (a) => lib.cov(a)),
  corrcoef: row([plain(2, 4)], (a) => lib.corrcoef(a)),
  gradient: row([plain(4)], (a) => lib.gradient(a)),
  polyfit: row([plain(5)], (y) => lib.polyfit(f64([0, 1, 2, 3, 4]), y, 2)),
  polyval: row([plain(3), plain(2)], (c, v) => lib.polyval(c, v)),
  bincount: row([plain(4)], (w) => lib.bincount(i32([0, 2, 2, 1]), { weights: w })),

  matmul: row([plain(2, 2, 3), plain(3, 2)], (a, b) => a.matmul(b)),
  dot: row([plain(3), plain(3)], (a, b) => lib.dot(a, b)),
  inner: row([x, plain(3)], (a, b) => lib.inner(a, b)),
  vecdot: row([x, plain(3)], (a, b) => lib.vecdot(a, b)),
  outer: row([plain(2), plain(3)], (a, b) => lib.outer(a, b)),
  kron: row([plain(2, 2), plain(1, 2)], (a, b) => lib.kron(a, b)),
  cross: row([plain(2, 3), plain(3)], (a, b) => lib.cross(a, b)),
  tensordot: row([plain(2, 3), plain(3, 2)], (a, b) => lib.tensordot(a, b, { axes: 1 })),
  multiDot: row([plain(2, 3), plain(3, 2), plain(2)], (a, b, c) => lib.multiDot([a, b, c])),
  einsum: row([plain(2, 3), plain(3, 2)], (a, b) => lib.einsum("ij,jk->ki", a, b)),

  ...rowsOf(
    "ravel flatten squeeze atleast1d atleast2d atleast3d flip tril triu matrixTranspose asarray rot90",
    [x],
  ),
  reshape: row([x], (a) => lib.reshape(a.T, [6])),
  expandDims: row([x], (a) => lib.expandDims(a, 1)),
  broadcastTo: row([plain(3)], (a) => lib.broadcastTo(a, [2, 3])),
  broadcastArrays: row([plain(3), plain(2, 1)], (a, b) => lib.broadcastArrays(a, b)),
  permuteDims: row([x], (a) => lib.permuteDims(a, [1, 0])),
  swapAxes: row([x], (a) => lib.swapAxes(a, 0, 1)),
  moveAxis: row([x], (a) => lib.moveAxis(a, 0, 1)),
  unstack: row([x], (a) => lib.unstack(a)),
  split: row([plain(4)], (a) => lib.split(a, 2)),
  arraySplit: row([plain(4)], (a) => lib.arraySplit(a, 3)),
  roll: row([x], (a) => lib.roll(a, 1, { axis: 1 })),
  concat: row([x, plain(2, 1)], (a, b) => lib.concat([a, b], { axis: 1 })),
  stack: row([x, x], (a, b) => lib.stack([a, b], { axis: 1 })),
  hstack: row([x, x], (a, b) => lib.hstack([a, b])),
  vstack: row([x, x], (a, b) => lib.vstack([a, b])),
  tile: row([x], (a) => lib.tile(a, [2, 2])),
  repeat: row([x], (a) => lib.repeat(a, 2, { axis: 1 })),
  "repeat, counts": row([x], (a) => lib.repeat(a, [2, 0, 1], { axis: 1 })),
  diag: row([plain(3)], (a) => lib.diag(a)),
  meshgrid: row([plain(2), plain(3)], (a, b) => lib.meshgrid([a, b])),
  pad: row([x], (a) => lib.pad(a, 1, { mode: "reflect" })),
  slidingWindow: row([plain(5)], (a) => a.slidingWindow(3)),
  iterate: row([x], (a) => [...a]),
  take: row([x], (a) => lib.take(a, i32([2, 0, 2]), { axis: 1 })),
  takeAlongAxis: row([x], (a) =>
    lib.takeAlongAxis(
      a,
      tensor(
        [
          [2, 0],
          [1, 1],
        ],
        { dtype: "i32" },
      ),
      { axis: 1 },
    ),
  ),
  gather: row([x], (a) =>
    lib.gather(a, [
      [0, 1, 1],
      [2, 2, 0],
    ]),
  ),
  assignTake: row([x, plain(2)], (a, v) => lib.assignTake(a.clone(), i32([1, 1]), v.reshape(2, 1))),
  putAlongAxis: row([x, plain(2, 1)], (a, v) =>
    lib.putAlongAxis(a.clone(), tensor([[2], [0]], { dtype: "i32" }), v, { axis: 1 }),
  ),
  assignAt: row([x, plain(2)], (a, v) =>
    lib.assignAt(
      a.clone(),
      [
        [0, 1],
        [2, 2],
      ],
      v,
    ),
  ),
  scatterAdd: row([x, plain(2, 3)], (a, v) => lib.scatterAdd(a.clone(), i32([1, 1]), v)),
  put: row([x, plain(2)], (a, v) => lib.put(a.clone(), [4, 1], v)),
  booleanMask: row([x], (a) =>
    lib.booleanMask(
      a,
      tensor([
        [true, false, true],
        [false, true, true],
      ]),
    ),
  ),
  assignMask: row([x, plain(3)], (a, v) =>
    lib.assignMask(
      a.clone(),
      tensor([
        [true, false, true],
        [false, true, false],
      ]),
      v,
    ),
  ),
  compress: row([x], (a) => lib.compress(a, [true, false, true], { axis: 1 })),
  assign: row([x, plain(3)], (a, v) => a.clone().assign(v)),
  assignFlat: row([x, plain(3, 2)], (a, v) => a.clone().assignFlat(v)),
  fill: row([x], (a) => {
    const b = a.mul(2);
    b.slice(0).fill(3);
    return b;
  }),
  ...rowsOf("sort uniqueValues", [plain(4)]),
  ...rowsOf("union1d", [plain(3), plain(4)]),
  uniqueCounts: row([plain(4)], (a) => lib.uniqueCounts(a).values),
  uniqueInverse: row([plain(4)], (a) => lib.uniqueInverse(a).values),
  uniqueAll: row([plain(4)], (a) => lib.uniqueAll(a).values),
  frexp: row([plain(4)], (a) => lib.frexp(a)[0]),
  histogram: row(
    [plain(4), plain(4)],
    (a, w) => lib.histogram(a, { bins: 2, range: [-2, 2], weights: w }).counts,
  ),
  unique: row([plain(4)], (a) => lib.unique(a)),
  topk: row([x], (a) => lib.topk(a, 2).values),
  interp: row([at(0.1, 2.9, 4), plain(4)], (v, fp) => lib.interp(v, f64([0, 1, 2, 3]), fp)),
  shuffle: row([plain(4)], (a) => lib.random.generator(3).shuffle(a.clone())),
  permutation: row([plain(4)], (a) => lib.random.generator(3).permutation(a)),

  ...rowsOf("fft ifft hfft irfft fftn ifftn fft2 ifft2 irfftn irfft2", [pairs], fft),
  ...rowsOf("rfft ihfft rfftn rfft2 fftshift ifftshift", [plain(3, 4)], fft),
  convolve: row([plain(4), plain(2)], (a, v) => lib.convolve(a, v)),
  correlate: row([plain(2), plain(4)], (a, v) => lib.correlate(a, v, { mode: "same" })),
  conv1d: row([plain(2, 4, 5), plain(2, 2, 2)], (a, w) =>
    lib.conv1d(a, w, { groups: 2, padding: "same", dilation: 2 }),
  ),
  conv2d: row([plain(1, 2, 4, 3), plain(2, 2, 2, 2), plain(2)], (a, w, bias) =>
    lib.conv2d(a, w, { bias, padding: 1, stride: 2 }),
  ),
  conv3d: row([plain(1, 1, 2, 3, 2), plain(1, 1, 2, 2, 1)], (a, w) => lib.conv3d(a, w)),
  convTranspose1d: row([plain(2, 2, 3), plain(2, 1, 2)], (a, w) => lib.convTranspose1d(a, w, { stride: 2 })),
  convTranspose2d: row([plain(1, 1, 2, 2), plain(1, 2, 2, 2)], (a, w) =>
    lib.convTranspose2d(a, w, { padding: 1, stride: 2, outputPadding: 1 }),
  ),
  maxPool1d: row([plain(1, 1, 6)], (a) => lib.maxPool1d(a, 2, { stride: 1 })),
  maxPool2d: row([plain(1, 1, 4, 4)], (a) => lib.maxPool2d(a, 2)),
  avgPool1d: row([plain(1, 1, 6)], (a) => lib.avgPool1d(a, 3, { stride: 2, padding: 1 })),
  avgPool2d: row([plain(1, 1, 4, 4)], (a) => lib.avgPool2d(a, 2, { countIncludePad: false, padding: 1 })),
  ...rowsOf(
    `rgbToHsv hsvToRgb rgbToHsl hslToRgb rgbToYuv yuvToRgb rgbToYcbcr ycbcrToRgb rgbToGray srgbToLinear linearToSrgb`,
    [at(0.2, 0.9, 2, 3)],
    image,
  ),
  grayToRgb: row([at(0.2, 0.9, 2, 1)], (a) => image.grayToRgb(a)),
  toRGBA: row([at(0.2, 0.9, 2, 2, 3)], (a) => image.toRGBA(a)),
  "image.resize": row([at(0.1, 0.9, 3, 3, 1)], (a) => image.resize(a, [5, 4])),

  "linalg.det": row([square], (a) => linalg.det(positive(a))),
  "linalg.slogdet": row([square], (a) => linalg.slogdet(positive(a)).logabsdet),
  "linalg.inv": row([square], (a) => linalg.inv(positive(a))),
  "linalg.solve": row([square, plain(3, 2)], (a, b) => linalg.solve(positive(a), b)),
  "linalg.cholesky": row([square], (a) => linalg.cholesky(positive(a))),
  "linalg.qr": row([plain(3, 2)], (a) => linalg.qr(a)),
  "linalg.svd": row([plain(3, 2)], (a) => {
    const { u, s, vh } = linalg.svd(a, { fullMatrices: false });
    return [u.abs(), s, vh.abs()];
  }),
  "linalg.svdvals": row([plain(2, 3)], (a) => linalg.svdvals(a)),
  "linalg.eigh": row([square], (a) => {
    const { eigenvalues, eigenvectors } = linalg.eigh(positive(a));
    return [eigenvalues, eigenvectors.abs()];
  }),
  "linalg.eigvalsh": row([square], (a) => linalg.eigvalsh(positive(a))),
  "linalg.pinv": row([x, plain(2, 3, 2)], (wide, tall) => [linalg.pinv(wide), linalg.pinv(tall)]),
  "linalg.lstsq": row([plain(4, 2), plain(4), x, plain(2, 2)], (tall, b, wide, c) => {
    const { x: found, residuals, s } = linalg.lstsq(tall, b);
    return [found, residuals, s, linalg.lstsq(wide, c).x];
  }),
  "linalg.matrixPower": row([square], (a) => linalg.matrixPower(positive(a), -2)),
  "linalg.matrixNorm": row([x], (a) => linalg.matrixNorm(a)),
  "linalg.vectorNorm": row([x], (a) => linalg.vectorNorm(a, { ord: 3 })),
  "linalg.cond": row([square], (a) => linalg.cond(positive(a))),
  "linalg.trace": row([square], (a) => linalg.trace(a)),
  "linalg.diagonal": row([square], (a) => linalg.diagonal(a)),
};

/** Their results are integers, booleans, steps, or new tensors: gradients are 0, or there is nothing to have one. */
export const constant: readonly string[] = words(
  `sign floor ceil trunc logicalNot isnan isfinite isinf signbit bitwiseNot bitwiseInvert floorDivide heaviside gcd lcm equal
   notEqual less lessEqual greater greaterEqual logicalAnd logicalOr logicalXor bitwiseAnd bitwiseOr bitwiseXor leftShift
   rightShift isclose allclose arrayEqual bitwiseLeftShift bitwiseRightShift any all countNonzero argmax argmin unravelIndex
   ravelIndex zerosLike onesLike fullLike oneHot nonzero argwhere flatnonzero argsort lexsort searchsorted digitize isin
   linalg.matrixRank toArray toJSON print fromJSON fromMessage toMessage categorical choice`,
);

/** Refused, by name. */
export const refused: Readonly<Record<string, Row>> = {
  ...rowsOf("intersect1d setdiff1d setxor1d", [plain(3), plain(4)]),
  nextafter: row([x], (a) => lib.nextafter(a, 3)),
  "kernel, table": row([x], (a) =>
    lib.kernel((v: number, { t }: { t: { get(i: number): number } }) => v * t.get(0), {
      t: lib.tensor([2], { dtype: "f64" }),
    })(a),
  ),
  "kernel, loop": row([x], (a) =>
    lib.kernel((v: number) => {
      let y = v;
      while (y > 1) y /= 2;
      return y;
    })(a),
  ),
  njit: row([plain(3)], (a) => {
    lib.njit((t) => t.get(0))(a);
    return a;
  }),
};

/** Copies that leave for other libraries: they are constants there. */
export const leaving: readonly string[] = words("toBuffer to.ndarray to.zarrita to.bytes copyStrided");

/** Layouts of one tensor: dense, turned, backwards, with gaps, and as one of two in a row. */
export const layouts = ["dense", "turned", "backwards", "gaps", "inside"] as const;

/** Numbers that keep their distance, in the shape and range of an argument, laid out in some way. */
export function drawn(
  { shape, low, high }: Argument,
  seed: number,
  layout: (typeof layouts)[number],
): Tensor<"f64"> {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: size }, (_, i) => {
    const place = ((i + 1) * 0.6180339887498949 + seed * 0.3819) % 1;
    return low + (high - low) * place;
  });
  const dense = tensor(values).reshape(shape) as Tensor<"f64">;
  if (layout === "turned") return dense.T.clone().T;
  if (layout === "backwards" && shape.length > 0) return dense.flip().clone().flip();
  if (layout === "gaps" && shape.length > 0) {
    const wide = lib.zeros(
      shape.map((n) => 2 * n),
      { dtype: "f64" },
    );
    const view = wide.slice(...shape.map(() => "::2"));
    view.assign(dense);
    return view;
  }
  if (layout === "inside")
    return lib.stack([dense, dense.mul(-1)], { axis: -1 }).slice("...", 0) as Tensor<"f64">;
  return dense;
}
