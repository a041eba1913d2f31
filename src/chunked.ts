/** strided/chunked: arrays larger than memory, computed chunk by chunk, by one process or many. An entry of its own. */
export {
  ChunkedArray,
  type ChunkedCaptures,
  type ChunkedComputeOptions,
  type ChunkedHistogramOptions,
  type ChunkedMapOptions,
  type ChunkedOperand,
  type ChunkedQuantileOptions,
  type ChunkedScanOptions,
  type ChunkedTensordotOptions,
  type FoldOptions,
  type MapBlocksOptions,
  type PlanOptions,
  type SpreadOptions,
} from "./chunked/array.ts";
export type {
  ChunkedFullOptions,
  ChunkedJoinOptions,
  ChunkedOpenOptions,
  RandomOptions,
} from "./chunked/begin.ts";
export { type BullmqOptions, bullmq } from "./chunked/engines/bullmq.ts";
export {
  type LocalOptions,
  local,
  type PoolOptions,
  type ShardOptions,
  shard,
} from "./chunked/engines/local.ts";
/** Where chunked arrays come from. */
export * as chunked from "./chunked/face.ts";
export { checkPlan } from "./chunked/plan-file.ts";
export { type BindOptions, ChunkedPlan, type RunOptions } from "./chunked/run.ts";
export type {
  AllowList,
  ArraySpec,
  Executor,
  OnProgress,
  OperationSpec,
  Plan,
  ProgressEvent,
  RunContext,
  RunReport,
  StoreSpec,
  TaskReport,
} from "./chunked/types.ts";
