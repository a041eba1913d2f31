/** Runs a plan in this process: so many tasks at a time as fit, operation after operation. */
import { describe, fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { pendingTasks } from "./resume.ts";
import { runTask } from "./task.ts";
import type { Executor, OnProgress, Plan, RunContext, RunReport } from "./types.ts";

export interface LocalOptions {
  /** Tasks that are under way at the same time, where memory allows; default the plan's workers. */
  readonly workers?: number;
}

/**
 * Runs tasks in this process. While one waits for its chunks another computes; all of them together stay within the plan's
 * memory.
 *
 *     await plan.run({ to: "z.zarr", on: local({ workers: 2 }) });
 */
export function local(options?: LocalOptions): Executor {
  const { workers } = readOptions("local", options, "{ workers: 2 }", ["workers"]);
  if (workers !== undefined && !(Number.isInteger(workers) && workers >= 1 && workers <= 1024)) {
    fail("value", "local", `workers are ${describe(workers)}.`, "Use 1 … 1024.");
  }
  return Object.freeze<Executor>({
    name: "local",
    inProcess: true,
    run: (plan, context, onProgress) => runHere(plan, context, onProgress, workers ?? plan.workers),
  });
}

async function runHere(
  plan: Plan,
  context: RunContext,
  onProgress: OnProgress,
  workers: number,
): Promise<RunReport> {
  const start = performance.now();
  const sums = { ran: 0, skipped: 0, read: 0, written: 0, peak: 0 };
  const room = (context.memory ?? plan.memory) - plan.reserved;
  for (const op of plan.operations) {
    const pending = await pendingTasks(plan, op.id, context);
    sums.skipped += op.tasks - pending.length;
    onProgress({ kind: "operation", operation: op.id, tasks: op.tasks, pending: pending.length });
    const lanes = Math.max(1, Math.min(workers, Math.floor(room / op.projected), pending.length));
    let next = 0;
    let isLost = false;
    const lane = async () => {
      while (!isLost && next < pending.length) {
        const index = pending[next++];
        try {
          context.signal?.throwIfAborted();
          const report = await runTask(plan, op.id, index, context);
          sums.ran++;
          sums.read += report.read;
          sums.written += report.written;
          sums.peak = Math.max(sums.peak, report.peak);
          onProgress({ kind: "task", report });
        } catch (error) {
          isLost = true;
          throw error;
        }
      }
    };
    // Nothing is under way any more when this settles, also where a task has failed.
    const ended = await Promise.allSettled(Array.from({ length: lanes }, lane));
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }
  const report = { plan: plan.hash, ...sums, retries: 0, milliseconds: performance.now() - start };
  onProgress({ kind: "end", report });
  return report;
}
