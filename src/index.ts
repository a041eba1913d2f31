/** strided: the public face. The only barrel; its exports are snapshot-tested. */
export * from "./api.ts";
export * from "./defaults.ts";
export {
  type ArrayOf,
  type DType,
  dtypeNames,
  type FloatDType,
  type ItemOf,
  type Promote,
  promoted as promote,
  type ScalarOf,
} from "./dtype.ts";
export { configure, type EngineOptions, type MemoryReport, memory, ready } from "./engine.ts";
export { type ErrorCode, TensorError } from "./errors.ts";
export {
  type Access,
  type CopyStep,
  explain,
  type FallbackStep,
  type Iteration,
  type IterationOperand,
  type IterationRow,
  type KernelStep,
  type NjitStep,
  type NjitTraceOptions,
  type Report,
  type ReportJSONOptions,
  type RoutineStep,
  type RowOptions,
  type Step,
  type TableOptions,
} from "./explain/explain.ts";
export type { FormatOptions } from "./format.ts";
export { type Fused, type FuseOptions, fuse, type Outputs } from "./fuse/fuse.ts";
export { type Kernel, type KernelOptions, kernel } from "./kernel.ts";
export {
  erf,
  erfc,
  type GradientOptions,
  gradient,
  polyfit,
  polyval,
} from "./library/calculus.ts";
export { complex, complexAbs, complexAngle, complexMul, conj, imag, real } from "./library/complex.ts";
export {
  type ConvOptions,
  type ConvolveMode,
  type ConvolveOptions,
  type ConvTransposeOptions,
  conv1d,
  conv2d,
  conv3d,
  convolve,
  convTranspose1d,
  convTranspose2d,
  correlate,
  type PerAxis,
} from "./library/convolution.ts";
export {
  type AsarrayOptions,
  asarray,
  astype,
  diag,
  emptyLike,
  fromFunction,
  fullLike,
  identity,
  type LikeOptions,
  type MeshgridOptions,
  meshgrid,
  type OneHotOptions,
  oneHot,
  onesLike,
  type TriangleOptions,
  tril,
  triu,
  zerosLike,
} from "./library/creation.ts";
export {
  canCast,
  type DTypeKind,
  type FloatInfo,
  finfo,
  type IntegerInfo,
  iinfo,
  isdtype,
  resultType,
} from "./library/dtypes.ts";
export { einsum } from "./library/einsum.ts";
export {
  allclose,
  arrayEqual,
  type CloseOptions,
  isclose,
  type NanToNumOptions,
  nanToNum,
  nextafter,
} from "./library/elementwise.ts";
export { type ToBufferOptions, toBuffer } from "./library/export.ts";
export * as fft from "./library/fft.ts";
export * as image from "./library/image.ts";
export {
  type AlongOptions,
  assignAt,
  assignTake,
  gather,
  put,
  putAlongAxis,
  scatterAdd,
  type TakeOptions,
  take,
  takeAlongAxis,
} from "./library/indexing.ts";
export { type ConcatOptions, concat, hstack, repeat, stack, tile, vstack } from "./library/join.ts";
export * as linalg from "./library/linalg.ts";
export {
  arraySplit,
  atleast1d,
  atleast2d,
  atleast3d,
  broadcastArrays,
  broadcastTo,
  expandDims,
  flatten,
  flip,
  matrixTranspose,
  moveAxis,
  permuteDims,
  type RollOptions,
  type Rot90Options,
  ravel,
  reshape,
  roll,
  rot90,
  split,
  squeeze,
  swapAxes,
  unstack,
} from "./library/manipulate.ts";
export { argwhere, assignMask, booleanMask, compress, flatnonzero, nonzero } from "./library/mask.ts";
export { fromMessage, type MessageOptions, type TensorMessage, toMessage } from "./library/message.ts";
export { type PadMode, type PadOptions, type PadWidth, pad } from "./library/pad.ts";
export { divmod, frexp, modf } from "./library/parts.ts";
export {
  type AvgPoolOptions,
  avgPool1d,
  avgPool2d,
  type MaxPoolOptions,
  maxPool1d,
  maxPool2d,
} from "./library/pooling.ts";
export { broadcastShapes, ravelIndex, unravelIndex } from "./library/positions.ts";
export {
  cross,
  dot,
  inner,
  kron,
  multiDot,
  outer,
  type TensordotOptions,
  type TraceOptions,
  tensordot,
  trace,
  vecdot,
} from "./library/products.ts";
export * as random from "./library/random.ts";
export { type Raw, rawMap, rawMatmul, rawReduce, rawZip } from "./library/raw.ts";
export { type DigitizeOptions, digitize, type SearchOptions, searchsorted } from "./library/search.ts";
export {
  type IntersectOptions,
  type IsinOptions,
  intersect1d,
  isin,
  type SetOptions,
  setdiff1d,
  setxor1d,
  type Unique,
  type UniqueOptions,
  union1d,
  unique,
  uniqueAll,
  uniqueCounts,
  uniqueInverse,
  uniqueValues,
} from "./library/sets.ts";
export { argsort, lexsort, type SortOptions, sort, type TopkOptions, topk } from "./library/sort.ts";
export {
  type AverageOptions,
  average,
  type BincountOptions,
  bincount,
  type CovOptions,
  type CumulativeSumOptions,
  corrcoef,
  cov,
  cumulativeProd,
  cumulativeSum,
  type DiffOptions,
  diff,
  type HistogramOptions,
  histogram,
  type InterpOptions,
  interp,
  median,
  percentile,
  ptp,
  type QuantileMethod,
  type QuantileOptions,
  type Quantiles,
  quantile,
} from "./library/statistics.ts";
export {
  nanmax,
  nanmean,
  nanmedian,
  nanmin,
  nanpercentile,
  nanprod,
  nanquantile,
  nanstd,
  nansum,
  nanvar,
} from "./library/statistics-nan.ts";
export {
  type MapIndexOptions,
  mapIndex,
  type Stencil,
  type StencilOptions,
  stencil,
} from "./library/stencil.ts";
export * as windows from "./library/windows.ts";
export {
  type Njit,
  type NjitContext,
  type NjitLimits,
  type NjitParameter,
  type NjitTensor,
  type NjitValue,
  njit,
} from "./njit/njit.ts";
export type { AssociativeOptions } from "./ops/associative.ts";
export type {
  BufferOptions,
  CreateOptions,
  GgmlTensor,
  Nested,
  Scalar,
  TensorOptions,
} from "./ops/create.ts";
export type { TensorJSON } from "./ops/json.ts";
export type { ReduceOptions, ScanOptions } from "./ops/reduce.ts";
export type {
  ArgOptions,
  AxisOptions,
  CumulativeOptions,
  NormOptions,
  SoftmaxOptions,
  SumOptions,
  VarOptions,
} from "./ops/reductions.ts";
export type { NjitTrace, NjitTraceAccess, NjitTraceArray, NjitTraceRow } from "./run/whole.ts";
export {
  type Elements,
  type Index,
  type MapOptions,
  type NamedOptions,
  type Operand,
  Tensor,
  tensorEquality,
} from "./tensor.ts";
export type { SliceItem } from "./view/slice.ts";
