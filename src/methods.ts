/**
 * import "strided/methods": the library's functions of a tensor as methods of every tensor, for those who like to chain.
 * An entry of its own, because methods cannot be left out of a bundle one by one.
 */
import * as api from "./api.ts";
import type { DType, Floated, Promote, Wide } from "./dtype.ts";
import { erf, erfc } from "./library/calculus.ts";
import { diag, tril, triu } from "./library/creation.ts";
import { isclose, nanToNum } from "./library/elementwise.ts";
import { gather, put, scatterAdd, take, takeAlongAxis } from "./library/indexing.ts";
import { repeat, tile } from "./library/join.ts";
import { flatten, ravel, roll, rot90, split, unstack } from "./library/manipulate.ts";
import { booleanMask, compress, nonzero } from "./library/mask.ts";
import { pad } from "./library/pad.ts";
import { dot, type TraceOptions, trace, vecdot } from "./library/products.ts";
import { searchsorted } from "./library/search.ts";
import { type UniqueOptions, unique } from "./library/sets.ts";
import { argsort, sort, topk } from "./library/sort.ts";
import {
  type CumulativeSumOptions,
  cumulativeProd,
  cumulativeSum,
  diff,
  median,
  percentile,
  ptp,
  quantile,
} from "./library/statistics.ts";
import type { AxisOptions, NormOptions, SoftmaxOptions, SumOptions } from "./ops/reductions.ts";
import { type NamedOptions, type Operand, Tensor, type Together } from "./tensor.ts";

const { acos, acosh, asin, asinh, atan, atanh, cbrt, cosh, deg2rad, exp2, expm1 } = api;
const { log10, log1p, log2, rad2deg, sinc, sinh, tan } = api;
/** Functions of floats: of integers they are f64. */
const ofFloats = {
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  cbrt,
  cosh,
  deg2rad,
  exp2,
  expm1,
  log10,
  log1p,
  log2,
  rad2deg,
  sinc,
  sinh,
  tan,
};
const { atan2, copysign, fmax, fmin, hypot, logaddexp } = api;
const { countNonzero, isinf, logSoftmax, logsumexp, norm, signbit, softmax } = api;

/** Every row becomes a method of its name; the tensor is the function's first argument. */
const methods = {
  ...ofFloats,
  argsort,
  atan2,
  booleanMask,
  compress,
  copysign,
  countNonzero,
  cumulativeProd,
  cumulativeSum,
  diag,
  diff,
  dot,
  erf,
  erfc,
  flatten,
  fmax,
  fmin,
  gather,
  hypot,
  isclose,
  isinf,
  logSoftmax,
  logaddexp,
  logsumexp,
  median,
  nanToNum,
  nonzero,
  norm,
  pad,
  percentile,
  ptp,
  put,
  quantile,
  ravel,
  repeat,
  roll,
  rot90,
  scatterAdd,
  searchsorted,
  signbit,
  softmax,
  sort,
  split,
  take,
  takeAlongAxis,
  tile,
  topk,
  trace,
  tril,
  triu,
  unique,
  unstack,
  vecdot,
};

// biome-ignore lint/suspicious/noExplicitAny: whatever its first argument is, that is the tensor
type Method<F> = F extends (t: any, ...rest: infer Rest) => infer R ? (...rest: Rest) => R : never;

type OfFloats<D extends DType> = {
  [Name in keyof typeof ofFloats]: <E extends DType = D, F extends DType = Floated<E>>(
    options?: NamedOptions<E, F>,
  ) => Tensor<NoInfer<F>>;
};
type FloatOfTwo<D extends DType> = <
  O extends Operand,
  E extends DType = Together<D, O>,
  F extends DType = Floated<E>,
>(
  other: O,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type LatticeOfTwo<D extends DType> = <
  O extends Operand,
  E extends DType = Together<D, O>,
  F extends DType = E,
>(
  other: O,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;

/** Those whose result follows from the tensor's dtype, in some place. */
interface OfDType<D extends DType> extends OfFloats<D> {
  atan2: FloatOfTwo<D>;
  copysign: FloatOfTwo<D>;
  hypot: FloatOfTwo<D>;
  logaddexp: FloatOfTwo<D>;
  fmax: LatticeOfTwo<D>;
  fmin: LatticeOfTwo<D>;
  erf<E extends DType = Floated<D>>(): Tensor<NoInfer<E>>;
  erfc<E extends DType = Floated<D>>(): Tensor<NoInfer<E>>;
  softmax<E extends DType = Floated<D>>(options?: SoftmaxOptions<E>): Tensor<NoInfer<E>>;
  logSoftmax<E extends DType = Floated<D>>(options?: SoftmaxOptions<E>): Tensor<NoInfer<E>>;
  norm<E extends DType = Floated<D>>(options?: NormOptions<E>): Tensor<NoInfer<E>>;
  logsumexp<E extends DType = Floated<D>>(options?: SumOptions<E>): Tensor<NoInfer<E>>;
  cumulativeSum<E extends DType = Wide<D>>(options?: CumulativeSumOptions<E>): Tensor<NoInfer<E>>;
  cumulativeProd<E extends DType = Wide<D>>(options?: CumulativeSumOptions<E>): Tensor<NoInfer<E>>;
  diag: Method<typeof diag<D>>;
  tril: Method<typeof tril<D>>;
  triu: Method<typeof triu<D>>;
  ptp(options?: AxisOptions): Tensor<D>;
  booleanMask: Method<typeof booleanMask<D>>;
  compress: Method<typeof compress<D>>;
  dot<E extends DType, F extends DType = Promote<D, E>>(b: Tensor<E>): Tensor<NoInfer<F>>;
  flatten: Method<typeof flatten<D>>;
  gather: Method<typeof gather<D>>;
  median<E extends DType = Floated<D>>(options?: AxisOptions): Tensor<NoInfer<E>>;
  pad: Method<typeof pad<D>>;
  put: Method<typeof put<D>>;
  ravel: Method<typeof ravel<D>>;
  repeat: Method<typeof repeat<D>>;
  roll: Method<typeof roll<D>>;
  rot90: Method<typeof rot90<D>>;
  scatterAdd: Method<typeof scatterAdd<D>>;
  sort: Method<typeof sort<D>>;
  split: Method<typeof split<D>>;
  take: Method<typeof take<D>>;
  takeAlongAxis: Method<typeof takeAlongAxis<D>>;
  tile: Method<typeof tile<D>>;
  topk: Method<typeof topk<D>>;
  trace<E extends DType = Wide<D>>(options?: TraceOptions<E>): Tensor<E>;
  unique<const O extends UniqueOptions = UniqueOptions>(options?: O): ReturnType<typeof unique<D, O>>;
  unstack: Method<typeof unstack<D>>;
  vecdot<E extends DType, F extends DType = Promote<D, E>>(
    b: Tensor<E>,
    options?: { readonly axis?: number },
  ): Tensor<NoInfer<F>>;
}
type Others = Omit<typeof methods, keyof OfDType<DType>>;
/** What `import "strided/methods"` adds to every tensor: the functions of the same names, with the tensor first. */
export type TensorMethods<D extends DType = DType> = OfDType<D> & {
  [Name in keyof Others]: Method<Others[Name]>;
};

declare module "./tensor.ts" {
  interface Tensor<D extends DType> extends TensorMethods<D> {}
}

for (const [name, fn] of Object.entries(methods)) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...rest: unknown[]) {
      return (fn as (t: Tensor, ...rest: unknown[]) => unknown)(this, ...rest);
    },
    writable: true,
    configurable: true,
  });
}
