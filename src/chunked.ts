/** strided/chunked: arrays larger than memory, computed chunk by chunk, by one process or many. An entry of its own. */
import { concat, full, open, random, stack } from "./chunked/array.ts";

/** Where chunked arrays come from. */
export const chunked: {
  readonly open: typeof open;
  readonly random: typeof random;
  readonly full: typeof full;
  readonly concat: typeof concat;
  readonly stack: typeof stack;
} = Object.freeze({ open, random, full, concat, stack });

export {
  ChunkedArray,
  type ChunkedCaptures,
  type ChunkedHistogramOptions,
  type ChunkedMapOptions,
  type ChunkedOpenOptions,
  type ChunkedOperand,
  type FoldOptions,
  type MapBlocksOptions,
  type PlanOptions,
  type RandomOptions,
  type SpreadOptions,
} from "./chunked/array.ts";
export { type BullmqOptions, bullmq } from "./chunked/engines/bullmq.ts";
export {
  type LocalOptions,
  local,
  type PoolOptions,
  type ShardOptions,
  shard,
} from "./chunked/engines/local.ts";
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
