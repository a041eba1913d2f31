/**
 * What all executors have in common: operations one after the other, of each what is not there yet, a bounded number of
 * tasks at a time, and an end only when a look at the store says that everything is there.
 */
import { fail, TensorError } from "../../errors.ts";
import type {
  OnProgress,
  OperationSpec,
  PendingTasks,
  Plan,
  RunContext,
  RunReport,
  TaskReport,
} from "../types.ts";
import { cancelled } from "./pool.ts";

export interface Drive {
  readonly pending: PendingTasks;
  /** Runs one task wherever it runs. */
  readonly task: (
    operation: OperationSpec,
    index: number,
  ) => Promise<{ report: TaskReport; worker?: string }>;
  /** Tasks that are asked for at once. */
  readonly window: number;
  /** Which tasks are ours; default all. */
  readonly isOurs?: (index: number) => boolean;
  /** Waits for those that are not ours; says which are still pending. */
  readonly others?: (operation: OperationSpec) => Promise<void>;
}

/** Looks at the store before tasks that were told done and are not there are an error. */
const MOST_ROUNDS = 4;

export async function drive(
  plan: Plan,
  context: RunContext,
  onProgress: OnProgress,
  make: (tell: OnProgress) => Drive,
): Promise<RunReport> {
  const began = performance.now();
  const sum = { ran: 0, skipped: 0, retries: 0, read: 0, written: 0, peak: 0 };
  const tell: OnProgress = (event) => {
    if (event.kind === "retry") sum.retries++;
    onProgress(event);
  };
  const how = make(tell);
  const throwIfAborted = () => {
    if (context.signal?.aborted === true) throw cancelled();
  };
  for (const operation of plan.operations) {
    throwIfAborted();
    let ran = 0;
    for (let round = 0; ; round++) {
      const all = await how.pending(plan, operation.id, context);
      const pending = how.isOurs === undefined ? all : all.filter(how.isOurs);
      if (round === 0)
        tell({ kind: "operation", operation: operation.id, tasks: operation.tasks, pending: all.length });
      if (round === 0) sum.skipped += operation.tasks - all.length;
      if (pending.length === 0) break;
      if (round === MOST_ROUNDS)
        fail(
          "file",
          "chunked",
          `${pending.length} tasks of ${operation.id} ran, and their chunks are not there.`,
          "Does something else delete them, or does a worker write to another folder of the same name?",
        );
      await inWindow(pending, how.window, context.signal, async (index) => {
        const { report, worker } = await how.task(operation, index);
        ran++;
        sum.read += report.read;
        sum.written += report.written;
        sum.peak = Math.max(sum.peak, report.peak);
        tell(worker === undefined ? { kind: "task", report } : { kind: "task", report, worker });
      });
    }
    sum.ran += ran;
    await how.others?.(operation);
  }
  const report: RunReport = { plan: plan.hash, ...sum, milliseconds: performance.now() - began };
  onProgress({ kind: "end", report });
  return report;
}

/** Does something for every item, at most so many at a time. The first error ends it; nothing that was begun is left unheard. */
async function inWindow(
  items: readonly number[],
  window: number,
  signal: AbortSignal | undefined,
  use: (item: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failure: { error: unknown } | null = null;
  const stop = abortion(signal);
  const lane = async () => {
    while (next < items.length && failure === null) {
      try {
        await Promise.race([use(items[next++]), stop.promise]);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(window, items.length) }, lane));
  } finally {
    stop.end();
  }
  const { error } = (failure ?? {}) as { error?: unknown };
  if (error !== undefined) throw error;
}

/** A promise that fails when the signal says so, and never settles otherwise. */
export function abortion(signal: AbortSignal | undefined): { promise: Promise<never>; end(): void } {
  let stop = () => {};
  const promise = new Promise<never>((_, reject) => {
    stop = () => reject(cancelled());
  });
  promise.catch(() => {});
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop);
  return { promise, end: () => signal?.removeEventListener("abort", stop) };
}

/** Waits, or fails with the signal. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const stop = abortion(signal);
  let timer: NodeJS.Timeout | undefined;
  try {
    await Promise.race([
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, milliseconds);
      }),
      stop.promise,
    ]);
  } finally {
    clearTimeout(timer);
    stop.end();
  }
}

/** An executor's error, whatever was thrown. */
export const asError = (operation: string, error: unknown): TensorError =>
  error instanceof TensorError
    ? error
    : new TensorError("worker", `${operation}: ${error instanceof Error ? error.message : String(error)}`);
