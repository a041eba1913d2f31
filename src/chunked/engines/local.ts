/** Tasks on this machine: `local` in this process or in children of it, `shard` a part of them, for batch systems. */
import { fail } from "../../errors.ts";
import { readOptions } from "../../ops/arguments.ts";
import { turns } from "../../run/turns.ts";
import { pendingTasks } from "../resume.ts";
import { runTask } from "../task.ts";
import type {
  Executor,
  OnProgress,
  OperationSpec,
  PendingTasks,
  Plan,
  RunContext,
  RunReport,
} from "../types.ts";
import { type Drive, drive, isComplete, pause } from "./drive.ts";
import { count, Pool } from "./pool.ts";

/** How tasks are run in processes. */
export interface PoolOptions {
  /** Processes that compute; default what the plan says. */
  readonly workers?: number;
  /** Seconds that a task may take; default 3,600. Without processes: that a function of `mapBlocks` may; default any time. */
  readonly timeLimit?: number;
  /** How often a task is tried when its process dies or a file cannot be read; default 5. */
  readonly attempts?: number;
}

/** How `local` runs tasks. */
export interface LocalOptions extends PoolOptions {
  /** Processes that compute. Left out, or 0: tasks run in this process. */
  readonly workers?: number;
}

/** How `shard` runs its part. */
export interface ShardOptions extends PoolOptions {
  /** Seconds in which no other shard finished anything, after which waiting for them is an error; default 600. */
  readonly patience?: number;
}

/** What tests put in the place of the real ones. */
export interface Seams {
  readonly program?: string;
  readonly pending?: PendingTasks;
}

const MOST_WORKERS = 1024;
const HOUR = 3600;
const MOST_SECONDS = Math.floor(2 ** 31 / 1000 - 1);

export interface PoolSettings {
  readonly workers: number | undefined;
  readonly timeLimit: number;
  readonly attempts: number;
}

/** What a pool of processes is to be like, read and checked. */
export function readPool(operation: string, given: PoolOptions): PoolSettings {
  const { workers, timeLimit, attempts } = given;
  return {
    workers: workers === undefined ? undefined : count(operation, "workers", workers, 1, 0, MOST_WORKERS),
    timeLimit: count(operation, "timeLimit", timeLimit, HOUR, 1, MOST_SECONDS),
    attempts: count(operation, "attempts", attempts, 5, 1, 100),
  };
}

const poolNames = ["workers", "timeLimit", "attempts"] as const;

/**
 * Runs tasks on this machine: in this process, or with `workers` in so many processes, each of which has one thread and may
 * use the plan's memory. A process that dies is replaced and its task tried again.
 *
 *     await plan.run({ to: "z.zarr", on: local({ workers: 2 }) });
 *
 * @param options `workers`, `timeLimit`, `attempts`
 * @returns an executor, for `plan.run({ on })`
 * @throws TensorError where an option is none
 * @example
 * const x = chunked.full([4, 4], 1, { chunks: [2, 4], dtype: "f32" });
 * const report = await x.add(1).plan().run({ to: zarr.memoryStore(), on: local() });
 * report.ran; // → 2
 */
export function local(options?: LocalOptions): Executor {
  return localWith(options, {});
}

/** local, with what tests put in the place of its parts. */
export function localWith(options: LocalOptions | undefined, seams: Seams): Executor {
  const read = readOptions("local", options, "{ workers: 2 }", [...poolNames]);
  const settings = readPool("local", read);
  const { workers = 0 } = settings;
  return Object.freeze<Executor>({
    name: "local",
    inProcess: workers === 0,
    run: (plan, context, onProgress) =>
      workers === 0
        ? inProcess(
            plan,
            read.timeLimit === undefined ? context : { ...context, timeLimit: settings.timeLimit },
            onProgress,
          )
        : withPool(plan, context, { ...settings, workers }, seams, onProgress),
  });
}

/** While one task waits for its chunks another computes; all of them together stay within the plan's memory. */
function inProcess(plan: Plan, context: RunContext, onProgress: OnProgress): Promise<RunReport> {
  const room = (context.memory ?? plan.memory) - plan.reserved;
  const turn = turns();
  return drive(plan, context, onProgress, () => ({
    window: ({ projected }) => Math.max(1, Math.min(plan.workers, Math.floor(room / projected))),
    task: async ({ id }, index) => {
      await turn();
      return { report: await runTask(plan, id, index, context) };
    },
  }));
}

function withPool(
  plan: Plan,
  context: RunContext,
  { workers = Math.max(1, plan.workers), timeLimit, attempts }: PoolSettings,
  { program, pending }: Seams,
  onProgress: OnProgress,
  more: Partial<Drive> = {},
): Promise<RunReport> {
  return drive(plan, context, onProgress, (tell) => {
    const pool = new Pool({
      workers,
      timeLimit,
      attempts,
      onProgress: tell,
      ...(program === undefined ? {} : { program }),
    });
    return {
      // One more than there are children: no child waits for the next task to be asked for.
      window: () => workers + 1,
      task: ({ id }, index) => pool.run(plan, id, index, context),
      close: () => pool.close(),
      ...(pending === undefined ? {} : { pending }),
      ...more,
    };
  });
}

/**
 * Runs every `count`-th task of a plan in processes of this machine, and waits for the others before the next operation: the
 * same program, started `count` times by a batch system, needs no server between them. What is there stays, so shards may
 * begin in any order, and again.
 *
 *     await plan.run({ to, work, on: shard(Number(process.env.SLURM_ARRAY_TASK_ID), 8) });
 *
 * @param index this process's number, from 0
 * @param count how many there are
 * @param options `patience`, `workers`, `timeLimit`, `attempts`
 * @returns an executor, for `plan.run({ on })`
 * @throws TensorError where the number is not below the count
 * @example
 * shard(0, 4).name; // → shard
 */
export function shard(index: number, count: number, options?: ShardOptions): Executor {
  return shardWith(index, count, options, {});
}

/** shard, with what tests put in the place of its parts. */
export function shardWith(
  given: number,
  shards: number,
  options: ShardOptions | undefined,
  seams: Seams,
): Executor {
  const read = readOptions("shard", options, "{ workers: 2 }", ["patience", ...poolNames]);
  if (given === undefined || shards === undefined)
    fail("value", "shard", "its number and their count are needed.", "The first of four: shard(0, 4).");
  const all = count("shard", "count", shards, 1, 1, 1e6);
  const index = count("shard", "index", given, 0, 0, all - 1);
  const patience = count("shard", "patience", read.patience, 600, 1, MOST_SECONDS);
  const settings = readPool("shard", read);
  if (settings.workers === 0) fail("value", "shard", "workers are 0.", "Use 1 or more.");
  const look = seams.pending ?? pendingTasks;
  return Object.freeze<Executor>({
    name: "shard",
    joins: true,
    run: (plan, context, onProgress) =>
      withPool(plan, context, settings, seams, onProgress, {
        isOurs: (task) => task % all === index,
        others: (operation) => waitForOthers(plan, operation, context, look, patience),
      }),
  });
}

/** Until nothing of an operation is pending, or the result is there; looks are rarer the longer it takes. */
async function waitForOthers(
  plan: Plan,
  { id }: OperationSpec,
  context: RunContext,
  look: PendingTasks,
  patience: number,
): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let since = performance.now();
  for (let wait = 100; ; wait = Math.min(2 * wait, 5000)) {
    const left = (await look(plan, id, context)).length;
    // Whoever ends first removes what lies between.
    if (left === 0 || (await isComplete(plan, context, look))) return;
    if (left < least) since = performance.now();
    least = Math.min(least, left);
    if (performance.now() - since > patience * 1000)
      fail(
        "worker",
        "shard",
        `${left} tasks of ${id} belong to other shards, and in ${patience} s none of them was done.`,
        "Do the other shards run? Run this one again when they do: what is there is kept.",
      );
    await pause(wait, context.signal);
  }
}
