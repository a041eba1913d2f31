/** `strided run`: runs a plan of a file, or a part of it. */
import { bullmq } from "../../chunked/engines/bullmq.ts";
import { LiveWriter, livePath } from "../../chunked/engines/live.ts";
import { local, shard } from "../../chunked/engines/local.ts";
import { showBytes } from "../../chunked/memory.ts";
import { type ProgressLine, progressPrinter } from "../../chunked/progress.ts";
import { runBound } from "../../chunked/run.ts";
import type { Executor, Plan } from "../../chunked/types.ts";
import { TensorError } from "../../errors.ts";
import type { Parsed } from "../args.ts";
import { type Command, given, help, json } from "../command.ts";
import { jsonText, Usage } from "../host.ts";
import { allow, attempts, lock, planOf, queue, timeLimit } from "../plans.ts";

export const run: Command = {
  usage: "PLAN.json [--workers N] [--redis URL | --shard K/N] [--resume]",
  says: "runs a plan of strided/chunked: in processes here, through Redis, or a shard of it",
  more: `A plan is the JSON of plan.toPlan({ to, work }). What it opens lies beside it, below the current folder, or in what
--allow names. Ctrl-C ends a run in order; --resume goes on with it, and runs only what is missing.`,
  flags: {
    workers: { kind: "number", value: "N", says: "processes that compute; default what the plan says" },
    redis: {
      kind: "text",
      value: "URL",
      says: "tasks through a queue: redis://host:6379; strided worker joins",
    },
    queue,
    lock,
    shard: {
      kind: "text",
      value: "K/N",
      says: "only every N-th task, from the K-th (from 0); waits for the others",
    },
    patience: {
      kind: "number",
      value: "SECONDS",
      says: "that a shard waits while the others do nothing; default 600",
    },
    resume: { kind: "flag", says: "goes on with a run that was cut off" },
    overwrite: { kind: "flag", says: "writes over what lies where the result goes" },
    keep: { kind: "flag", says: "keeps the arrays between operations" },
    allow,
    attempts,
    "time-limit": timeLimit,
    quiet: { kind: "flag", says: "no progress" },
    json,
    help,
  },
  examples: [
    "strided run plan.json --workers 4",
    "strided run plan.json --resume",
    "strided run plan.json --redis redis://10.0.0.5:6379 --workers 0",
    "strided run plan.json --shard $SLURM_ARRAY_TASK_ID/8",
  ],
  words: [1, 1],
  run: async (args, host) => {
    const { plan, allow: allowed } = await planOf("run", args);
    const on = executorOf(args, plan);
    const signal = host.interrupted?.();
    const screen = { isTTY: host.showsProgress, write: (text: string) => host.err(text) };
    const line: ProgressLine | null = args.flag("quiet") ? null : progressPrinter(plan, screen);
    // A shard is a part of a run: none of them knows the whole.
    const live = args.text("shard") === undefined ? new LiveWriter(livePath(args.words[0]), plan) : null;
    try {
      const report = await runBound("run", { plan, allow: allowed }, on, {
        resume: args.flag("resume"),
        overwrite: args.flag("overwrite"),
        keep: args.flag("keep"),
        ...(signal === undefined ? {} : { signal }),
        progress: (event) => {
          line?.tell(event);
          live?.tell(event);
        },
      });
      line?.end();
      const { ran, skipped, retries, read, written, milliseconds } = report;
      host.out(
        args.flag("json")
          ? jsonText(report)
          : `${ran} tasks in ${(milliseconds / 1000).toFixed(1)} s, ${skipped} were there; ` +
              `read ${showBytes(read)}, wrote ${showBytes(written)}${retries > 0 ? `; ${retries} retries` : ""}`,
      );
      return 0;
    } catch (error) {
      line?.end();
      if (signal?.aborted !== true) throw inFlags(error);
      host.err(`strided run: stopped. What is there stays: go on with --resume.\n`);
      return 130;
    } finally {
      await live?.end();
    }
  },
};

/** The same error with remedies that are flags here. */
function inFlags(error: unknown): unknown {
  if (!(error instanceof TensorError)) return error;
  const message = error.message
    .replaceAll("{ resume: true }", "--resume")
    .replaceAll("{ overwrite: true }", "--overwrite")
    .replaceAll("give another { to }", "make a plan for another folder")
    .replaceAll("Give another { to }", "Make a plan for another folder")
    .replaceAll("Give another { work }", "Make a plan with another { work }");
  return new TensorError(error.code, message);
}

function executorOf(args: Parsed, plan: Plan): Executor {
  const pool = given({
    workers: args.number("workers"),
    attempts: args.number("attempts"),
    timeLimit: args.number("time-limit"),
  });
  const [redis, part] = [args.text("redis"), args.text("shard")];
  if (redis !== undefined && part !== undefined)
    throw new Usage("--redis and --shard are two ways to share a run; give one.");
  for (const name of ["queue", "lock"])
    if (redis === undefined && args.text(name) !== undefined) throw new Usage(`--${name} goes with --redis.`);
  if (redis !== undefined)
    return bullmq({
      connection: redis,
      ...pool,
      ...given({ queue: args.text("queue"), lock: args.number("lock") }),
    });
  if (part === undefined) return local({ workers: Math.max(1, plan.workers), ...pool });
  const [, k, n] = /^(\d{1,7})\/(\d{1,7})$/.exec(part) ?? [];
  if (k === undefined) throw new Usage(`--shard is ${JSON.stringify(part)}; the first of four is 0/4.`);
  return shard(Number(k), Number(n), { ...pool, ...given({ patience: args.number("patience") }) });
}
