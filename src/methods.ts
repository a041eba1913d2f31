/**
 * import "strided/methods": the library's functions of a tensor as methods of every tensor, for those who like to chain.
 * An entry of its own, because methods cannot be left out of a bundle one by one.
 */
import type { DType } from "./dtype.ts";
import { isclose, nanToNum } from "./library/elementwise.ts";
import { gather, put, scatterAdd, take, takeAlongAxis } from "./library/indexing.ts";
import { repeat, tile } from "./library/join.ts";
import { ravel, roll, rot90, split, unstack } from "./library/manipulate.ts";
import { booleanMask, compress, nonzero } from "./library/mask.ts";
import { pad } from "./library/pad.ts";
import { dot, type TraceOptions, trace, vecdot } from "./library/products.ts";
import { searchsorted } from "./library/search.ts";
import { type UniqueOptions, unique } from "./library/sets.ts";
import { argsort, sort, topk } from "./library/sort.ts";
import {
  cumulativeProd,
  cumulativeSum,
  diff,
  median,
  percentile,
  ptp,
  quantile,
} from "./library/statistics.ts";
import { Tensor, type Wide } from "./tensor.ts";

/** Every row becomes a method of its name; the tensor is the function's first argument. */
const methods = {
  argsort,
  booleanMask,
  compress,
  cumulativeProd,
  cumulativeSum,
  diff,
  dot,
  gather,
  isclose,
  median,
  nanToNum,
  nonzero,
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
  sort,
  split,
  take,
  takeAlongAxis,
  tile,
  topk,
  trace,
  unique,
  unstack,
  vecdot,
};

// biome-ignore lint/suspicious/noExplicitAny: whatever its first argument is, that is the tensor
type Method<F> = F extends (t: any, ...rest: infer Rest) => infer R ? (...rest: Rest) => R : never;

/** Those whose result follows from the tensor's dtype, in some place. */
interface OfDType<D extends DType> {
  booleanMask: Method<typeof booleanMask<D>>;
  compress: Method<typeof compress<D>>;
  dot<E extends DType>(b: Tensor<E>): ReturnType<typeof dot<D, E>>;
  gather: Method<typeof gather<D>>;
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
  vecdot<E extends DType>(
    b: Tensor<E>,
    options?: { readonly axis?: number },
  ): ReturnType<typeof vecdot<D, E>>;
}
type Others = Omit<typeof methods, keyof OfDType<DType>>;
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
