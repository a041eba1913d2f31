/** strided: the public face. The only barrel; its exports are snapshot-tested. */
export * from "./api.ts";
export { type ArrayOf, type DType, dtypeNames, promoted as promote, type ScalarOf } from "./dtype.ts";
export { configure, type EngineOptions, type MemoryReport, memory, ready } from "./engine.ts";
export { type ErrorCode, TensorError } from "./errors.ts";
export {
  type CopyStep,
  explain,
  type FallbackStep,
  type KernelStep,
  type Report,
  type Step,
  type TableOptions,
} from "./explain/explain.ts";
export type { FormatOptions } from "./format.ts";
export { type Kernel, type KernelOptions, kernel } from "./kernel.ts";
export type {
  BufferOptions,
  CreateOptions,
  GgmlTensor,
  Nested,
  Scalar,
  TensorOptions,
} from "./ops/create.ts";
export { type Raw, rawMap, rawMatmul, rawReduce, rawZip } from "./ops/raw.ts";
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
export { type MapOptions, type NamedOptions, type Operand, Tensor } from "./tensor.ts";
export type { SliceItem } from "./view/slice.ts";
