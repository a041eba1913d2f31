/** Tasks on this machine: `local` in children of this process (or in itself), `shard` a part of them, for batch systems. */
import { fail } from "../../errors.ts";
import { readOptions } from "../../ops/arguments.ts";
import { pendingTasks } from "../resume.ts";
import { runTask } from "../task.ts";
import type { Executor, OperationSpec, PendingTasks, Plan, RunContext } from "../types.ts";
import { type Drive, drive, pause } from "./drive.ts";
import { count, Pool } from "./pool.ts";

export interface LocalOptions {
  /** Processes that compute; default what the plan says. With 0 tasks run in this process, one after the other. */
  readonly workers?: number;
  /** Seconds that a task may take; default 3,600. */
  readonly timeLimit?: number;
  /** How often a task is tried when its process dies or a file cannot be read; default 5. */
  readonly attempts?: number;
}

export interface ShardOptions extends LocalOptions {
  /** This process's number, from 0. */
  readonly index: number;
  /** How many there are. */
  readonly count: number;
  /** Seconds in which no other shard finished anything, after which waiting for them is an error; default 600. */
  readonly patience?: number;
}

/** What tests put in the place of the real ones. */
export interface Seams {
  readonly program?: string;
  readonly pending?: PendingTasks;
}

export const MOST_WORKERS = 1024;
const HOUR = 3600;
const MOST_SECONDS = 2 ** 31 / 1000 - 1;

export interface PoolSettings {
  readonly workers: number | undefined;
  readonly timeLimit: number;
  readonly attempts: number;
}

export function readPool(operation: string, given: LocalOptions): PoolSettings {
  const { workers, timeLimit, attempts } = given;
  return {
    workers: workers === undefined ? undefined : count(operation, "workers", workers, 1, 0, MOST_WORKERS),
    timeLimit: count(operation, "timeLimit", timeLimit, HOUR, 1, Math.floor(MOST_SECONDS)),
    attempts: count(operation, "attempts", attempts, 5, 1, 100),
  };
}

/**
 * Runs a plan in processes of this machine: the way if there is nothing else to set up.
 *
 *     await plan.run({ to: "z.zarr", work: "work/", on: local({ workers: 2 }) });
 *
 * A process that dies is replaced and its task tried again; `workers: 0` runs the tasks in this process.
 */
export function local(options?: LocalOptions): Executor {
  return localWith(options, {});
}

export function localWith(options: LocalOptions | undefined, seams: Seams): Executor {
  const settings = readPool(
    "local",
    readOptions("local", options, "{ workers: 2 }", ["workers", "timeLimit", "attempts"]),
  );
  if (settings.workers === 0) return inProcess(seams);
  return {
    name: "local",
    run: (plan, context, onProgress) => withPool(plan, context, settings, seams, onProgress, () => ({})),
  };
}

/** One after the other, here. */
function inProcess({ pending = pendingTasks }: Seams): Executor {
  return {
    name: "local",
    inProcess: true,
    run: (plan, context, onProgress) =>
      drive(plan, context, onProgress, () => ({
        pending,
        window: 1,
        task: async ({ id }, index) => ({ report: await runTask(plan, id, index, context) }),
      })),
  };
}

async function withPool(
  plan: Plan,
  context: RunContext,
  { workers = plan.workers, timeLimit, attempts }: PoolSettings,
  { program, pending = pendingTasks }: Seams,
  onProgress: Parameters<Executor["run"]>[2],
  more: (pending: PendingTasks) => Partial<Drive>,
): ReturnType<Executor["run"]> {
  let pool: Pool | undefined;
  try {
    return await drive(plan, context, onProgress, (tell) => {
      const mine = new Pool({
        workers,
        timeLimit,
        attempts,
        onProgress: tell,
        ...(program === undefined ? {} : { program }),
      });
      pool = mine;
      return {
        pending,
        // One more than there are children: no child waits for the next task to be asked for.
        window: workers + 1,
        task: ({ id }, index) => mine.run(plan, id, index, context),
        ...more(pending),
      };
    });
  } finally {
    await pool?.close();
  }
}

/**
 * Runs every `count`-th task of a plan, and waits for the others before the next operation: the same program, started `count`
 * times by a batch system, needs no server between them.
 *
 *     await plan.run({ to, work, resume: true, on: shard({ index: Number(process.env.SLURM_ARRAY_TASK_ID), count: 8 }) });
 */
export function shard(options: ShardOptions): Executor {
  return shardWith(options, {});
}

export function shardWith(options: ShardOptions, seams: Seams): Executor {
  const names = ["index", "count", "patience", "workers", "timeLimit", "attempts"];
  const read = readOptions("shard", options, "{ index: 0, count: 4 }", names);
  if (read.count === undefined || read.index === undefined)
    fail("value", "shard", "index and count are needed.", "Write shard({ index: 0, count: 4 }).");
  const shards = count("shard", "count", read.count, 1, 1, 1e6);
  const index = count("shard", "index", read.index, 0, 0, shards - 1);
  const patience = count("shard", "patience", read.patience, 600, 1, Math.floor(MOST_SECONDS));
  const settings = readPool("shard", read);
  return {
    name: "shard",
    run: (plan, context, onProgress) =>
      withPool(
        plan,
        context,
        { ...settings, workers: settings.workers || plan.workers },
        seams,
        onProgress,
        (pending) => ({
          isOurs: (task) => task % shards === index,
          others: (operation) => waitForOthers(plan, operation, context, pending, patience),
        }),
      ),
  };
}

/** Until nothing of an operation is pending; looks are rarer the longer it takes. */
async function waitForOthers(
  plan: Plan,
  operation: OperationSpec,
  context: RunContext,
  pending: PendingTasks,
  patience: number,
): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let since = performance.now();
  for (let wait = 100; ; wait = Math.min(2 * wait, 5000)) {
    const left = (await pending(plan, operation.id, context)).length;
    if (left === 0) return;
    if (left < least) since = performance.now();
    least = Math.min(least, left);
    if (performance.now() - since > patience * 1000)
      fail(
        "worker",
        "shard",
        `${left} tasks of ${operation.id} belong to other shards, and in ${patience} s none of them was done.`,
        "Do the other shards run? Run this one again when they do: what is there is kept.",
      );
    await pause(wait, context.signal);
  }
}
