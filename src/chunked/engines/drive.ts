/**
 * What all executors have in common: operations one after the other, of each what is not there yet, a bounded number of
 * tasks at a time, and an end only when a look at the store says that everything is there. An operation runs where something
 * that reads it still has to: one whose result is there needs nothing that came before.
 */
import { fail } from "../../errors.ts";
import { pendingTasks } from "../resume.ts";
import type {
  OnProgress,
  OperationSpec,
  PendingTasks,
  Plan,
  RunContext,
  RunReport,
  TaskReport,
} from "../types.ts";

/** A task that was run, and by whom. */
export interface Done {
  readonly report: TaskReport;
  readonly worker?: string;
}

export interface Drive {
  /** Runs one task wherever it runs. */
  readonly task: (operation: OperationSpec, index: number) => Promise<Done>;
  /** Tasks that are asked for at once. */
  readonly window: (operation: OperationSpec) => number;
  /** Which tasks are ours; default all. */
  readonly isOurs?: (index: number) => boolean;
  /** Waits for those that are not ours. */
  readonly others?: (operation: OperationSpec) => Promise<void>;
  /** Ends what is under way: tasks that were not done settle with an error. */
  readonly close?: () => Promise<void>;
  /** In the place of the look at the store, for tests. */
  readonly pending?: PendingTasks;
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
  const { signal } = context;
  const how = make(tell);
  const { pending: look = pendingTasks, isOurs } = how;
  const under = new Set<Promise<unknown>>();
  const one = async (operation: OperationSpec, index: number) => {
    const { report, worker } = await how.task(operation, index);
    sum.ran++;
    sum.read += report.read;
    sum.written += report.written;
    sum.peak = Math.max(sum.peak, report.peak);
    tell(worker === undefined ? { kind: "task", report } : { kind: "task", report, worker });
  };
  try {
    const first = await stillNeeded(plan, context, look);
    for (const operation of plan.operations) {
      signal?.throwIfAborted();
      const { id, tasks } = operation;
      const known = first.get(id) ?? [];
      first.delete(id);
      tell({ kind: "operation", operation: id, tasks, pending: known.length });
      sum.skipped += tasks - known.length;
      if (known.length === 0) continue;
      for (let round = 0; ; round++) {
        const all = round === 0 ? known : await look(plan, id, context);
        const pending = isOurs === undefined ? all : all.filter(isOurs);
        if (pending.length === 0) break;
        if (round === MOST_ROUNDS) failLost(operation, pending.length);
        await inWindow(pending, how.window(operation), signal, (index) => {
          const task = one(operation, index);
          under.add(task);
          const settle = () => void under.delete(task);
          task.then(settle, settle);
          return task;
        });
      }
      await how.others?.(operation);
    }
  } finally {
    await how.close?.();
    // Nothing is under way any more when this settles, also where a task has failed.
    await Promise.allSettled(under);
  }
  const report: RunReport = { plan: plan.hash, ...sum, milliseconds: performance.now() - began };
  onProgress({ kind: "end", report });
  return report;
}

const failLost = ({ id }: OperationSpec, count: number): never =>
  fail(
    "file",
    "chunked",
    `${count} tasks of ${id} ran, and their chunks are not there.`,
    "Does something else delete them, or does a worker write to another folder of the same name?",
  );

/** What is pending of every operation that something pending reads, from the result backwards. */
async function stillNeeded(
  plan: Plan,
  context: RunContext,
  look: PendingTasks,
): Promise<Map<string, readonly number[]>> {
  const needed = new Map<string, readonly number[]>();
  const read = new Set<string>();
  for (const { id, output, after } of [...plan.operations].reverse()) {
    if (output !== plan.result && !read.has(id)) continue;
    const pending = await look(plan, id, context);
    needed.set(id, pending);
    if (pending.length > 0) for (const before of after) read.add(before);
  }
  return needed;
}

/** Is the result complete, whatever has become of what came before it? */
export async function isComplete(plan: Plan, context: RunContext, look: PendingTasks): Promise<boolean> {
  for (const { id, output } of plan.operations)
    if (output === plan.result && (await look(plan, id, context)).length > 0) return false;
  return true;
}

/** Does something for every item, at most so many at a time. The first error ends it. */
async function inWindow(
  items: readonly number[],
  window: number,
  signal: AbortSignal | undefined,
  use: (item: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let isLost = false;
  const lane = async () => {
    while (next < items.length && !isLost) await use(items[next++]);
  };
  const stop = abortion(signal);
  try {
    const lanes = Array.from({ length: Math.min(window, items.length) }, lane);
    await Promise.race([Promise.all(lanes), stop.promise]);
  } finally {
    isLost = true;
    stop.end();
  }
}

/** A promise that fails with the signal's reason, and never settles otherwise. */
function abortion(signal: AbortSignal | undefined): { promise: Promise<never>; end(): void } {
  let stop = () => {};
  const promise = new Promise<never>((_, reject) => {
    stop = () => reject(signal?.reason);
  });
  promise.catch(() => {});
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop);
  return { promise, end: () => signal?.removeEventListener("abort", stop) };
}

/** Waits, or fails with the signal. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const stop = abortion(signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
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
