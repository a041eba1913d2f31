/**
 * The library's functions, each with arguments to call it with: a row a function. What a row gives back is compared;
 * rows that write give back what they wrote to.
 */

import type { Tensor } from "../../src/index.ts";
import * as lib from "../../src/index.ts";
import { copyStrided, from, to } from "../../src/interop.ts";
import type { Draw } from "./draw.ts";

export type Call = (d: Draw) => unknown;
type Rows = Record<string, Call>;

const { fft, image, linalg, random } = lib;
const named = lib as unknown as Record<string, (...args: unknown[]) => unknown>;
const words = (text: string) => text.trim().split(/\s+/);
const rowsOf = (text: string, row: (name: string) => Call): Rows =>
  Object.fromEntries(words(text).map((name) => [name, row(name)]));

/** Copies of numbers by rank, element by element. */
const copies = [
  lib.njit((out, a) => {
    out.set([], Number(a.get()));
    return out;
  }),
  lib.njit((out, a) => {
    for (let i = 0; i < a.shape[0]; i++) out.set([i], Number(a.get(i)));
    return out;
  }),
  lib.njit((out, a) => {
    const [n, m] = a.shape;
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out.set([i, j], Number(a.get(i, j)));
    return out;
  }),
];

/* Elementwise ------------------------------------------------------------------------------------------------- */

const unary = rowsOf(
  `neg positive abs sign square reciprocal relu sigmoid sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin
   acos atan sinh cosh tanh asinh acosh atanh sinc deg2rad rad2deg floor ceil trunc logicalNot isnan isfinite isinf
   signbit bitwiseNot negative bitwiseInvert nanToNum`,
  (name) => (d) => named[name](d.t()),
);
const binary = rowsOf(
  `add sub mul div remainder floorDivide pow maximum minimum atan2 hypot copysign fmod fmax fmin logaddexp logaddexp2
   heaviside gcd lcm equal notEqual less lessEqual greater greaterEqual logicalAnd logicalOr logicalXor bitwiseAnd
   bitwiseOr bitwiseXor leftShift rightShift nextafter isclose allclose arrayEqual subtract multiply divide
   bitwiseLeftShift bitwiseRightShift`,
  (name) => (d) => named[name](d.t(), d.beside()),
);
const elementwise: Rows = {
  ...unary,
  ...binary,
  divmod: (d) => lib.divmod(d.t(), d.beside()),
  modf: (d) => lib.modf(d.t()),
  frexp: (d) => lib.frexp(d.t()),
  "kernel, several results": (d) =>
    (lib.kernel as never as (fn: unknown) => (...t: Tensor[]) => unknown)((x: number, y: number) => [
      x > y ? x : y,
      x * y,
      x < y,
    ])(d.t(), d.beside()),
  round: (d) => lib.round(d.t(), d.one({}, { decimals: 1 })),
  clip: (d) => lib.clip(d.t(), d.beside(), d.beside()),
  where: (d) => lib.where(d.mask(), d.t(), d.beside()),
  "add, scalar": (d) =>
    d.t().add(d.dtype === "bool" ? true : d.dtype.endsWith("64") && d.dtype !== "f64" ? 2n : 2),
  "add, out": (d) => lib.add(d.t(), d.beside(), { out: d.target() }),
  map: (d) => d.t().map((x) => x * x + x),
  "map, out": (d) => d.t().map((x) => (x > 0 ? x : -x), { out: d.target() }),
  zip: (d) => lib.zip([d.t(), d.beside(), d.beside()], (x, y, z) => (x > y ? z : x)),
  kernel: (d) =>
    lib.kernel((x: number, y: number, k: number) => x * k + y, { k: d.pick(5) })(d.t(), d.beside()),
  njit: (d) => {
    const out = lib.zeros(d.shape, { dtype: "f64" });
    return d.rank < copies.length ? copies[d.rank](out, d.t()) : copies[1](lib.ravel(out), lib.ravel(d.t()));
  },
  astype: (d) => lib.astype(d.t(), d.one(...lib.dtypeNames)),
  clone: (d) => d.t().clone(),
  complex: (d) => lib.complex(d.t(), d.t()),
  ...rowsOf(
    "real imag conj complexAbs complexAngle",
    (name) => (d) => named[name](d.t([...d.shape, 2], { dtype: d.real })),
  ),
  complexMul: (d) =>
    lib.complexMul(d.t([...d.shape, 2], { dtype: d.real }), d.t([...d.shape, 2], { dtype: d.real })),
};

/* Folds --------------------------------------------------------------------------------------------------------- */

const folds: Rows = {
  ...rowsOf(
    `sum prod max min any all countNonzero variance std norm logsumexp mean nansum nanprod nanmax nanmin nanmean nanvar
     nanstd nanmedian median ptp average`,
    (name) => (d) => named[name](d.t(), d.fold()),
  ),
  ...rowsOf(
    "softmax logSoftmax cumsum cumprod cumulativeSum cumulativeProd",
    (name) => (d) => named[name](d.t(), { axis: d.axis() }),
  ),
  ...rowsOf("argmax argmin", (name) => (d) => named[name](d.t(), d.one({}, { axis: d.axis() }))),
  reduce: (d) => d.t().reduce((acc, x) => (acc > x ? acc : x), { ...d.fold(), init: 0 as never }),
  scan: (d) => d.t().scan((acc, x) => (acc > x ? acc : x), { axis: d.axis() }),
  mapReduce: (d) => lib.mapReduce([d.t(), d.beside()], (x, y) => x * y, d.fold()),
  "average, weights": (d) => {
    const axis = d.axis();
    return lib.average(d.t(), { axis, weights: d.t([d.size(axis)], { dtype: "f64", fill: "unit" }) });
  },
  quantile: (d) => lib.quantile(d.t(), d.one(0, 0.3, 0.5, 1), d.fold()),
  percentile: (d) => lib.percentile(d.t(), d.one(0, 30, 50, 100), d.fold()),
  nanquantile: (d) => lib.nanquantile(d.t(), d.one(0, 0.3, 0.5, 1), d.fold()),
  nanpercentile: (d) => lib.nanpercentile(d.t(), d.one(0, 30, 50, 100), d.fold()),
  diff: (d) => lib.diff(d.t(), { axis: d.axis(), n: d.one(1, 2) }),
  trace: (d) => lib.trace(d.t([...d.shape, 4, 3]), { offset: d.pick(3) - 1 }),
  cov: (d) => lib.cov(d.t([3, 7], { fill: "unit" })),
  corrcoef: (d) => lib.corrcoef(d.t([3, 7], { fill: "unit" })),
  gradient: (d) => lib.gradient(d.t([5, 4], { fill: "unit" }), { axis: d.one(0, 1), spacing: d.one(1, 0.5) }),
  polyfit: (d) => lib.polyfit(lib.arange(7, { dtype: "f64" }), d.t([7], { fill: "unit" }), d.pick(3)),
  polyval: (d) => lib.polyval(d.t([4], { fill: "unit" }), d.t([5], { fill: "unit" })),
  erf: (d) => lib.erf(d.t(undefined, { fill: "unit" })),
  erfc: (d) => lib.erfc(d.t(undefined, { fill: "unit" })),
  unravelIndex: (d) => lib.unravelIndex(d.indices([d.pick(50)], 12, false), [3, 4]),
  ravelIndex: (d) => lib.ravelIndex([d.indices([6], 3, true), d.indices([6], 4, true)], [3, 4]),
  toBuffer: (d) => {
    const t = d.t();
    return new Uint8Array(lib.toBuffer(t, new ArrayBuffer(8 * t.size), { dtype: "f64" }));
  },
  bincount: (d) => lib.bincount(d.indices([d.pick(50)], 7, false)),
  histogram: (d) => lib.histogram(d.t(undefined, { fill: "whole" }), { bins: d.one(3, 10) }),
};

/* Products -------------------------------------------------------------------------------------------------------- */

/** Sums of these are exact, so the order of addition leaves no trace. */
const whole = { fill: "whole" } as const;
const products: Rows = {
  matmul: (d) => lib.matmul(d.t([...d.shape, 5], whole), d.t([5, 1 + d.pick(20)], whole)),
  dot: (d) => lib.dot(d.t([...d.shape, 6], whole), d.t([6, 3], whole)),
  inner: (d) => lib.inner(d.t([...d.shape, 4], whole), d.t([3, 4], whole)),
  vecdot: (d) => lib.vecdot(d.t(undefined, whole), d.t(undefined, whole), { axis: d.axis() }),
  outer: (d) => lib.outer(d.vector(undefined, whole), d.vector(undefined, whole)),
  kron: (d) => lib.kron(d.t([2, 3], whole), d.t([3, 2], whole)),
  cross: (d) => lib.cross(d.t([...d.shape, 3], whole), d.t([3], whole)),
  tensordot: (d) => lib.tensordot(d.t([3, 4, 5], whole), d.t([4, 5, 2], whole), { axes: 2 }),
  multiDot: (d) => lib.multiDot([d.t([3, 4], whole), d.t([4, 5], whole), d.t([5, 2], whole)]),
  einsum: (d) =>
    d.one(
      () => lib.einsum("ij,jk->ki", d.t([3, 4], whole), d.t([4, 5], whole)),
      () => lib.einsum("bij,bjk->bik", d.t([2, 3, 4], whole), d.t([2, 4, 3], whole)),
      () => lib.einsum("ii->i", d.t([5, 5], whole)),
      () => lib.einsum("ij->j", d.t([5, 4], whole)),
    )(),
};

/* Shapes, joins, creation ------------------------------------------------------------------------------------------ */

const shapes: Rows = {
  ...rowsOf(
    "ravel flatten squeeze atleast1d atleast2d atleast3d flip tril triu zerosLike onesLike asarray",
    (name) => (d) => named[name](d.t()),
  ),
  reshape: (d) => lib.reshape(d.t([...d.shape, 6]), [-1, d.one(2, 3, 6)]),
  expandDims: (d) => lib.expandDims(d.t(), d.axis(d.rank + 1)),
  broadcastTo: (d) => lib.broadcastTo(d.t(), [2, ...d.shape]),
  broadcastArrays: (d) => lib.broadcastArrays([d.t(), d.beside()]),
  permuteDims: (d) =>
    lib.permuteDims(
      d.t(),
      d.shape.map((_, a) => (a + 1) % d.rank),
    ),
  swapAxes: (d) => lib.swapAxes(d.t(), d.axis(), d.axis()),
  moveAxis: (d) => lib.moveAxis(d.t(), d.axis(), d.axis()),
  matrixTranspose: (d) => lib.matrixTranspose(d.t()),
  rot90: (d) => lib.rot90(d.t([3, 4, ...d.shape]), { k: d.pick(4) }),
  unstack: (d) => lib.unstack(d.t(), { axis: d.axis() }),
  split: (d) => lib.split(d.t([6, ...d.shape]), d.one<number | number[]>(2, 3, [1, 4])),
  arraySplit: (d) => lib.arraySplit(d.t(), d.one(2, 3), { axis: d.axis() }),
  roll: (d) => lib.roll(d.t(), d.pick(9) - 4, d.one({}, { axis: d.axis() })),
  concat: (d) => lib.concat([d.t(), d.t(), d.t()], { axis: d.axis() }),
  stack: (d) => lib.stack([d.t(), d.t()], { axis: d.axis(d.rank + 1) }),
  hstack: (d) => lib.hstack([d.t(), d.t()]),
  vstack: (d) => lib.vstack([d.t(), d.t()]),
  tile: (d) => lib.tile(d.t(), d.one<number | number[]>(2, [2, 1], [1, 3])),
  repeat: (d) => lib.repeat(d.t(), d.pick(4), { axis: d.axis() }),
  "repeat, counts": (d) => lib.repeat(d.t([4, ...d.shape]), d.indices([4], 3, false), { axis: 0 }),
  diag: (d) => lib.diag(d.t(d.flag() ? [5] : [4, 5]), { k: d.pick(3) - 1 }),
  fullLike: (d) => lib.fullLike(d.t(), d.dtype === "bool" ? true : 1),
  meshgrid: (d) => lib.meshgrid([d.vector(3), d.vector(4)], { indexing: d.one("xy", "ij") }),
  oneHot: (d) => lib.oneHot(d.indices(d.shape, 5, false), 5),
  mapIndex: (d) => lib.mapIndex(d.t(), (x, i, j) => (i > (j ?? 0) ? x : x * x)),
  stencil: (d) => {
    const edge = d.one("constant", "edge", "reflect", "symmetric", "wrap");
    return lib.stencil((at) => (at(-1, 0) > at(0, 2) ? at(0, 0) : at(1, -1)), { edge })(d.t([3, 5]));
  },
  "kernel, loop": (d) =>
    d.t().map((x) => {
      let n = 0;
      while (x > 1 && n < 40) {
        x = x / 2;
        n++;
      }
      return n;
    }),
  "kernel, table": (d) =>
    d
      .indices(d.shape, 4, false)
      .map((i, { from }: { from: lib.Tensor }) => from.get(i) as number, { with: { from: d.t([4]) } }),
  pad: (d) => lib.pad(d.t(), d.pick(3), { mode: d.one("constant", "edge", "reflect", "wrap") }),
  slidingWindow: (d) => d.t([6, ...d.shape]).slidingWindow(1 + d.pick(4), 0),
  toArray: (d) => d.t().toArray(),
  toJSON: (d) => JSON.stringify(d.t()),
  // The first line tells of the layout.
  print: (d) => String(d.t()).split("\n").slice(1),
  fromJSON: (d) => lib.fromJSON(JSON.stringify(d.t())),
  fromMessage: (d) => lib.fromMessage(lib.toMessage(d.t())),
  toMessage: (d) => [...lib.toMessage(d.t(), { shared: d.flag() }).data],
  iterate: (d) => [...d.t([3, ...d.shape])],
};

/* Indices and masks ------------------------------------------------------------------------------------------------ */

const indexing: Rows = {
  take: (d) => lib.take(d.t([5, ...d.shape]), d.indices([2, 3], 5), { axis: 0 }),
  takeAlongAxis: (d) => lib.takeAlongAxis(d.t([5, ...d.shape]), d.indices([3, ...d.shape], 5), { axis: 0 }),
  gather: (d) => lib.gather(d.t([5, 4, ...d.shape]), [d.indices([6], 5), d.indices([6], 4)]),
  assignTake: (d) =>
    lib.assignTake(d.target([5, ...d.shape]), d.indices([3], 5), d.t([3, ...d.shape]), { axis: 0 }),
  putAlongAxis: (d) =>
    lib.putAlongAxis(d.target([5, ...d.shape]), d.indices([3, ...d.shape], 5), d.t([3, ...d.shape]), {
      axis: 0,
    }),
  assignAt: (d) => lib.assignAt(d.target([5, 4]), [d.indices([6], 5), d.indices([6], 4)], d.t([6])),
  scatterAdd: (d) =>
    lib.scatterAdd(d.target([5, ...d.shape]), d.indices([6], 5), d.t([6, ...d.shape], whole)),
  put: (d) => lib.put(d.target([30]), d.indices([7], 30), d.t([7])),
  booleanMask: (d) => lib.booleanMask(d.t(), d.mask()),
  assignMask: (d) => lib.assignMask(d.target(), d.mask(), d.t([])),
  ...rowsOf("nonzero argwhere flatnonzero", (name) => (d) => named[name](d.t(undefined, whole))),
  compress: (d) => lib.compress(d.t([6, ...d.shape]), d.mask([6]), { axis: 0 }),
  assign: (d) => d.target().assign(d.beside()),
  assignFlat: (d) => d.target([...d.shape].reverse()).assignFlat(d.t()),
  fill: (d) => d.target().fill(d.dtype === "bool" ? true : 1),
};

/* Order -------------------------------------------------------------------------------------------------------------- */

const order: Rows = {
  sort: (d) => lib.sort(d.t(), { axis: d.axis(), descending: d.flag() }),
  argsort: (d) => lib.argsort(d.t(), { axis: d.axis(), descending: d.flag() }),
  topk: (d) => {
    const axis = d.axis();
    return lib.topk(d.t(), Math.min(d.pick(6), d.size(axis)), { axis, largest: d.flag() });
  },
  lexsort: (d) => lib.lexsort([d.t([20], whole), d.t([20], whole)]),
  searchsorted: (d) => lib.searchsorted(lib.sort(d.vector()), d.t(), { side: d.one("left", "right") }),
  digitize: (d) => lib.digitize(d.t(), lib.unique(d.vector(9, whole)) as Tensor, { right: d.flag() }),
  interp: (d) => lib.interp(d.t(), lib.arange(6, { dtype: "f64" }), d.t([6])),
  ...rowsOf(
    "unique uniqueValues uniqueCounts uniqueInverse uniqueAll",
    (name) => (d) => named[name](d.t(undefined, whole)),
  ),
  ...rowsOf(
    "isin union1d intersect1d setdiff1d setxor1d",
    (name) => (d) => named[name](d.t(undefined, whole), d.vector(undefined, whole)),
  ),
};

/* Signals and pictures --------------------------------------------------------------------------------------------- */

const pairs = (d: Draw, shape: readonly number[]) => d.t([...shape, 2], { dtype: d.real });
const length = (d: Draw) => d.one(1, 2, 3, 8, 12, 15, 16, 17, 30, 64);
const signals: Rows = {
  ...rowsOf(
    "fft ifft hfft",
    (name) => (d) => fft[name as "fft"](pairs(d, [2, length(d), 3]), { axis: d.one(0, 1, 2) }),
  ),
  irfft: (d) => fft.irfft(pairs(d, [2, 1 + length(d)]), { axis: d.one(0, 1), n: 1 + length(d) }),
  ...rowsOf(
    "rfft ihfft",
    (name) => (d) => fft[name as "rfft"](d.t([2, length(d), 3], { dtype: d.real }), { axis: d.one(0, 1, 2) }),
  ),
  ...rowsOf(
    "fftn ifftn fft2 ifft2 irfftn irfft2",
    (name) => (d) => fft[name as "fftn"](pairs(d, [3, length(d), 4])),
  ),
  ...rowsOf("rfftn rfft2", (name) => (d) => fft[name as "rfftn"](d.t([3, length(d), 4], { dtype: d.real }))),
  ...rowsOf("fftshift ifftshift", (name) => (d) => fft[name as "fftshift"](d.t())),
  convolve: (d) =>
    lib.convolve(d.vector(undefined, whole), d.vector(5, whole), { mode: d.one("full", "same", "valid") }),
  correlate: (d) =>
    lib.correlate(d.vector(undefined, whole), d.vector(5, whole), { mode: d.one("full", "same", "valid") }),
  conv1d: (d) =>
    lib.conv1d(d.t([2, 3, 12], real(d)), d.t([4, 3, 3], real(d)), {
      padding: d.pick(3),
      stride: d.one(1, 2),
    }),
  conv2d: (d) =>
    lib.conv2d(d.t([2, 3, 8, 9], real(d)), d.t([4, 3, 3, 3], real(d)), {
      padding: d.pick(3),
      stride: d.one(1, 2),
    }),
  conv3d: (d) =>
    lib.conv3d(d.t([2, 5, 6, 7], real(d)), d.t([3, 2, 2, 3, 2], real(d)), { padding: d.pick(2) }),
  convTranspose1d: (d) =>
    lib.convTranspose1d(d.t([2, 3, 7], real(d)), d.t([3, 4, 3], real(d)), { stride: d.one(1, 2) }),
  convTranspose2d: (d) =>
    lib.convTranspose2d(d.t([2, 3, 5, 6], real(d)), d.t([3, 4, 3, 2], real(d)), { stride: d.one(1, 2) }),
  maxPool1d: (d) => lib.maxPool1d(d.t([2, 3, 13]), d.one(2, 3), { stride: d.one(1, 2) }),
  maxPool2d: (d) => lib.maxPool2d(d.t([2, 3, 9, 8]), d.one(2, 3), { stride: d.one(1, 2) }),
  avgPool1d: (d) => lib.avgPool1d(d.t([2, 3, 13], real(d)), d.one(2, 3), { stride: d.one(1, 2) }),
  avgPool2d: (d) => lib.avgPool2d(d.t([2, 3, 9, 8], real(d)), d.one(2, 3), { stride: d.one(1, 2) }),
  "image.resize": (d) =>
    image.resize(d.t([5, 7, 3]), d.one([3, 9], [7, 4], [1, 2]), {
      method: d.one("nearest", "area", "bilinear", "bicubic", "lanczos"),
      antialias: d.flag(),
    }),
  ...rowsOf(
    "rgbToHsv hsvToRgb rgbToHsl hslToRgb rgbToYuv yuvToRgb rgbToYcbcr ycbcrToRgb rgbToGray srgbToLinear linearToSrgb",
    (name) => (d) => image[name as "rgbToHsv"](d.t([...d.shape, d.one(3, 4)], { fill: "unit" })),
  ),
  grayToRgb: (d) => image.grayToRgb(d.t()),
  toRGBA: (d) => image.toRGBA(d.t([4, 5, 1 + d.pick(4)]), { alpha: d.one("straight", "premultiplied") }),
};
function real(d: Draw) {
  return { dtype: d.float, fill: "whole" } as const;
}

/* Other libraries ---------------------------------------------------------------------------------------------------- */

const others: Rows = {
  "to.ndarray": (d) => {
    const lent = from(to.ndarray(d.t()));
    return [lent, from(to.ndarray(lent, { copy: true }))];
  },
  "to.zarrita": (d) => from(to.zarrita(d.t())),
  "to.bytes": (d) => from(to.bytes(d.t())),
  copyStrided: (d) => {
    const t = d.t(undefined, { dtype: d.real });
    const data = new Float64Array(t.size);
    copyStrided({ data, shape: t.shape }, to.ndarray(t));
    return from(data);
  },
};

/* Linear algebra --------------------------------------------------------------------------------------------------- */

const side = (d: Draw) => d.one(1, 2, 3, 5, 8, 17, 33);
const unit = (d: Draw) => ({ dtype: d.real, fill: "unit" }) as const;
const square = (d: Draw) => {
  const n = side(d);
  return d.t([...(d.flag() ? [2] : []), n, n], unit(d));
};
const tall = (d: Draw) => d.t([...(d.flag() ? [2] : []), side(d), side(d)], unit(d));
/** Symmetric, with a positive diagonal that outweighs the rest; it lies as its transpose would. */
const definite = (d: Draw) => {
  const a = square(d);
  const n = a.shape[a.rank - 1];
  return a
    .add(a.swapAxes(-1, -2))
    .add(lib.eye(n, { dtype: d.real }).mul(2 * n))
    .swapAxes(-1, -2);
};
const algebra: Rows = {
  "linalg.det": (d) => linalg.det(square(d)),
  "linalg.slogdet": (d) => linalg.slogdet(square(d)),
  "linalg.inv": (d) => linalg.inv(definite(d)),
  "linalg.solve": (d) => {
    const n = side(d);
    return linalg.solve(d.t([n, n], unit(d)).add(lib.eye(n, { dtype: d.real }).mul(n)), d.t([n, 3], unit(d)));
  },
  "linalg.cholesky": (d) => linalg.cholesky(definite(d), { upper: d.flag() }),
  "linalg.qr": (d) => linalg.qr(tall(d)),
  "linalg.svd": (d) => linalg.svd(tall(d)),
  "linalg.svdvals": (d) => linalg.svdvals(tall(d)),
  "linalg.eigh": (d) => linalg.eigh(definite(d)),
  "linalg.eigvalsh": (d) => linalg.eigvalsh(definite(d)),
  "linalg.pinv": (d) => linalg.pinv(tall(d)),
  "linalg.matrixRank": (d) => linalg.matrixRank(tall(d)),
  "linalg.lstsq": (d) => linalg.lstsq(d.t([9, 4], unit(d)), d.t([9, 2], unit(d))),
  "linalg.matrixPower": (d) => linalg.matrixPower(definite(d), d.pick(4)),
  "linalg.matrixNorm": (d) => linalg.matrixNorm(tall(d)),
  "linalg.vectorNorm": (d) => linalg.vectorNorm(d.t(undefined, unit(d)), d.one({}, { axis: d.axis() })),
  "linalg.cond": (d) => linalg.cond(definite(d)),
  "linalg.trace": (d) => linalg.trace(d.t([...d.shape, 4, 3], whole)),
  "linalg.diagonal": (d) => linalg.diagonal(d.t([...d.shape, 4, 3]), { offset: d.pick(3) - 1 }),
};

/* Random, from a seed ------------------------------------------------------------------------------------------------ */

const chance: Rows = {
  shuffle: (d) => random.generator(d.pick(99)).shuffle(d.target([7, ...d.shape])),
  permutation: (d) => random.generator(d.pick(99)).permutation(d.t([7, ...d.shape])),
  categorical: (d) => random.generator(d.pick(99)).categorical([1, 0, 2, 5], [d.pick(20)]),
  choice: (d) => random.generator(d.pick(99)).choice(d.t([7]), [d.pick(20)]),
};

/** Rounded on the way, in an order that follows the layout; the rest does not depend on it by a single bit. */
export const rounded: ReadonlySet<string> = new Set(
  words(`sum mean prod nansum nanprod nanmean variance std norm logsumexp nanvar nanstd softmax logSoftmax mapReduce
    average trace cov corrcoef linalg.matrixNorm linalg.vectorNorm linalg.cond`).concat("average, weights"),
);

export const calls: Rows = {
  ...elementwise,
  ...folds,
  ...products,
  ...shapes,
  ...indexing,
  ...order,
  ...signals,
  ...others,
  ...algebra,
  ...chance,
};
