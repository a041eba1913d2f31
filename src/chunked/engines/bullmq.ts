/**
 * Tasks through a queue: BullMQ on Redis, for workers on several machines. Nothing is decided by what the queue says: a
 * message names a task of a plan that the worker has, tasks may run more than once, and an operation is over when its
 * chunks are there. The process that holds a job's lock never computes, so a task may be longer than the lock.
 */
import { fail, TensorError } from "../../errors.ts";
import { type Peers, peer } from "../../io/peer.ts";
import { readOptions } from "../../ops/arguments.ts";
import { isTaskDone } from "../resume.ts";
import type { Executor, OnProgress, Plan, RunContext, TaskReport } from "../types.ts";
import { type Done, drive, pause } from "./drive.ts";
import { type PoolOptions, readPool, type Seams } from "./local.ts";
import { checkTask, type Message, publishPlan, readMessage } from "./message.ts";
import { nodeModule } from "./node.ts";
import { cancelled, count, Pool } from "./pool.ts";
import { isPassing } from "./protocol.ts";

/** Which queue, and how tasks go through it. */
export interface BullmqOptions extends PoolOptions {
  /** redis://user:password@host:port/database, or rediss:// for TLS. */
  readonly connection: string;
  /** The queue's name, the same for coordinator and workers; default "strided". */
  readonly queue?: string;
  /** Seconds after which the job of a lost worker is given to another; default 5. Tasks may take longer. */
  readonly lock?: number;
  /** Jobs that wait in Redis at one time; default 500. */
  readonly window?: number;
  /** A folder in which workers look for plans (their `--root`): the plan is written there. Left out: they have it already. */
  readonly root?: string;
}

/* What is used of BullMQ ---------------------------------------------------------------------------------------- */

interface Job {
  readonly id?: string;
  readonly data: unknown;
  readonly attemptsStarted?: number;
  moveToDelayed(timestamp: number, token?: string): Promise<void>;
}
interface Emitter {
  on(event: string, listener: (args: Record<string, unknown>) => void): unknown;
  close(force?: boolean): Promise<void>;
  disconnect?(): Promise<void>;
  waitUntilReady(): Promise<unknown>;
}
interface Queue extends Emitter {
  add(name: string, data: Message, options: object): Promise<unknown>;
  getJob(id: string): Promise<{ readonly attemptsMade: number } | undefined>;
  getJobState(id: string): Promise<string>;
  remove(id: string): Promise<unknown>;
}
interface Bull {
  Queue: new (name: string, options: object) => Queue;
  QueueEvents: new (name: string, options: object) => Emitter;
  Worker: new (
    name: string,
    process: (job: Job, token?: string) => Promise<unknown>,
    options: object,
  ) => Emitter;
  UnrecoverableError: new (message: string) => Error;
  DelayedError: new () => Error;
}

/* Settings ------------------------------------------------------------------------------------------------------- */

const OPERATION = "bullmq";
/** Milliseconds between two looks at jobs of which nothing was heard. */
const LOOK = 2000;
/** Milliseconds for which a job of a plan that is not here is put aside, and for which whoever did so takes no other. */
const ASIDE = 200;
const REST = 2000;
/** So often it is put aside until it is nobody's: for an hour at the least. */
const MOST_ASIDE = 2000;
/** Milliseconds that closing may take: Redis may be gone. */
const FAREWELL = 3000;

export interface QueueSettings {
  readonly connection: Readonly<Record<string, unknown>>;
  readonly host: string;
  readonly port: number;
  readonly queue: string;
  /** Milliseconds. */
  readonly lock: number;
}

/** Where the queue is, and what it is called, read and checked. */
export function readQueue(
  operation: string,
  given: Pick<BullmqOptions, "connection" | "queue" | "lock">,
): QueueSettings {
  const { connection, queue = "strided" } = given;
  const example = 'Write it as "redis://127.0.0.1:6379".';
  if (typeof connection !== "string" || !URL.canParse(connection))
    return fail("value", operation, "the connection is no address.", example);
  const url = new URL(connection);
  if (!["redis:", "rediss:"].includes(url.protocol) || url.hostname === "")
    return fail("value", operation, `the connection is one of ${url.protocol} and not of redis:.`, example);
  if (typeof queue !== "string" || !/^[\w.-]{1,100}$/.test(queue))
    return fail("value", operation, "the queue's name has other letters than a-z, 0-9, _, - and dots.");
  const db = /^\/(\d{1,4})?$|^$/.exec(url.pathname);
  if (db === null)
    return fail(
      "value",
      operation,
      `the database is ${JSON.stringify(url.pathname.slice(1))}, no number.`,
      example,
    );
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? 6379 : Number(url.port);
  return {
    host,
    port,
    queue,
    lock: 1000 * count(operation, "lock", given.lock, 5, 1, 3600),
    connection: {
      host,
      port,
      db: Number(db[1] ?? 0),
      ...(url.username === "" ? {} : { username: decodeURIComponent(url.username) }),
      ...(url.password === "" ? {} : { password: decodeURIComponent(url.password) }),
      ...(url.protocol === "rediss:" ? { tls: {} } : {}),
      // A server that comes back is found again, and nothing that was asked for meanwhile is lost.
      maxRetriesPerRequest: null,
      retryStrategy: (times: number) => Math.min(100 * times, 1000),
    },
  };
}

/** The packages that a queue on Redis needs, or the error that names them. */
export async function loadBull(operation: string, peers: Peers = {}): Promise<Bull> {
  await peer(operation, "ioredis", peers, "A queue on Redis");
  return peer<Bull>(operation, "bullmq", peers, "A queue on Redis");
}

/** Is somebody there? Otherwise the first command would wait for ever. */
export function reach(operation: string, { host, port }: QueueSettings): Promise<void> {
  const { connect } = nodeModule<typeof import("node:net")>(operation, "node:net");
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 5000 });
    const end = (why: string | null) => {
      socket.destroy();
      if (why === null) return resolve();
      reject(
        new TensorError(
          "worker",
          `${operation}: no Redis answers at ${host}:${port}: ${why}.\n  Start one: redis-server --appendonly yes`,
        ),
      );
    };
    socket.once("connect", () => end(null));
    socket.once("timeout", () => end("no answer in 5 s"));
    socket.once("error", (error) => end(error.message || String((error as { code?: string }).code)));
  });
}

/* The worker ------------------------------------------------------------------------------------------------------ */

export interface QueueWorker {
  readonly pool: Pool;
  close(): Promise<void>;
}

export interface WorkerSetup {
  readonly settings: QueueSettings;
  readonly workers: number;
  readonly timeLimit: number;
  readonly attempts: number;
  /** The plan of a hash and what its tasks may open; null where it is not known here. */
  readonly find: (hash: string) => Promise<{ plan: Plan; context: RunContext } | null>;
  readonly onProgress?: OnProgress;
  readonly onRefused?: (reason: string) => void;
  readonly onDone?: (report: TaskReport) => void;
  readonly program?: string;
}

/** Takes jobs of a queue and gives them to children. */
export function startWorker(bull: Bull, setup: WorkerSetup): QueueWorker {
  const { settings, workers, timeLimit, attempts, find, onProgress, program } = setup;
  const pool = new Pool({
    workers,
    timeLimit,
    attempts,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(program === undefined ? {} : { program }),
  });
  const stop = new AbortController();
  const refuse = (error: unknown): never => {
    const text = error instanceof Error ? error.message : String(error);
    setup.onRefused?.(text);
    throw new bull.UnrecoverableError(text);
  };
  const processJob = async (job: Job, token?: string): Promise<unknown> => {
    let message: Message;
    let found: { plan: Plan; context: RunContext } | null;
    try {
      message = readMessage(job.data);
      found = await find(message.planHash);
      if (found !== null) checkTask(found.plan, message);
    } catch (error) {
      return refuse(error);
    }
    if (found === null) {
      if ((job.attemptsStarted ?? 0) > MOST_ASIDE)
        return refuse(new Error(`no worker has the plan ${message.planHash}.`));
      await job.moveToDelayed(Date.now() + ASIDE, token);
      // Others shall have it.
      await pause(REST, stop.signal).catch(() => {});
      throw new bull.DelayedError();
    }
    const { operation, index } = message;
    // One that was begun before, by somebody who is gone, may be done: what is there stays as it is.
    if ((job.attemptsStarted ?? 0) > 1 && (await isTaskDone(found.plan, operation, index, found.context))) {
      const report = { operation, index, read: 0, written: 0, peak: 0, milliseconds: 0 };
      setup.onDone?.(report);
      return { report };
    }
    try {
      const done = await pool.run(found.plan, operation, index, found.context);
      setup.onDone?.(done.report);
      return done;
    } catch (error) {
      if (isPassing(error) || (error instanceof TensorError && error.code === "cancelled")) throw error;
      throw new bull.UnrecoverableError(error instanceof Error ? error.message : String(error));
    }
  };
  const worker = new bull.Worker(settings.queue, processJob, {
    connection: settings.connection,
    // One job more than children: its lock is held while it waits, and no child waits for Redis.
    concurrency: workers + 1,
    lockDuration: settings.lock,
    lockRenewTime: settings.lock / 2,
    stalledInterval: Math.min(2000, settings.lock / 2),
    // A task is done when its chunks are there, however many workers were lost on the way.
    maxStalledCount: 20,
    // What strangers put there does not stay.
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 100 },
  });
  worker.on("error", () => {});
  return {
    pool,
    close: async () => {
      // It takes no more jobs; those it has are given back, because the pool ends them.
      const closing = worker.close();
      stop.abort();
      await pool.close();
      await bounded(closing);
      await bounded(worker.close(true));
    },
  };
}

/** Waits for what may never come, for a while. */
async function bounded(promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FAREWELL);
  });
  await Promise.race([promise.catch(() => {}), patience]);
  clearTimeout(timer);
}

/* The coordinator -------------------------------------------------------------------------------------------------- */

/**
 * Runs a plan through a queue on Redis: this process adds tasks and computes some in children, and `strided worker` computes
 * others, on this machine or on machines that reach the same files.
 *
 *     await plan.run({ to: "z.zarr", work: "work/", on: bullmq({ connection: "redis://127.0.0.1:6379" }) });
 *
 * Needs the packages bullmq and ioredis. With `workers: 0` this process only adds tasks and waits.
 *
 * @param options `connection`, `queue`, `root`, `workers`, `lock`, `window`, `timeLimit`, `attempts`
 * @returns an executor, for `plan.run({ on })`
 * @throws TensorError where an option is none; the packages and Redis are looked for when a plan is run
 * @example
 * bullmq({ connection: "redis://127.0.0.1:6379", workers: 2 }).name; // → bullmq
 */
export function bullmq(options: BullmqOptions): Executor {
  return bullmqWith(options, {});
}

/** bullmq, with what tests put in the place of its parts. */
export function bullmqWith(options: BullmqOptions, { program, pending }: Seams): Executor {
  const names = ["connection", "queue", "lock", "window", "root", "workers", "timeLimit", "attempts"];
  const read = readOptions(OPERATION, options, '{ connection: "redis://127.0.0.1:6379" }', names);
  const settings = readQueue(OPERATION, read);
  const { workers, timeLimit, attempts } = readPool(OPERATION, read);
  const window = count(OPERATION, "window", read.window, 500, 1, 10_000);
  const { root } = read;
  if (root !== undefined && typeof root !== "string")
    fail("value", OPERATION, "root is no path.", 'Write { root: "plans" }.');
  return Object.freeze<Executor>({
    name: OPERATION,
    ready: async () => {
      await loadBull(OPERATION);
      await reach(OPERATION, settings);
    },
    run: async (plan, context, onProgress) => {
      const bull = await loadBull(OPERATION);
      await reach(OPERATION, settings);
      if (root !== undefined) await publishPlan(OPERATION, root, plan);
      const own = workers ?? plan.workers;
      return drive(plan, context, onProgress, (tell) => {
        const ledger = new Ledger(bull, settings, plan, attempts, tell);
        const worker =
          own === 0
            ? null
            : startWorker(bull, {
                settings,
                workers: own,
                timeLimit,
                attempts,
                onProgress: tell,
                find: async (hash) => (hash === plan.hash ? { plan, context } : null),
                ...(program === undefined ? {} : { program }),
              });
        return {
          window: () => window,
          task: ({ id }, index) => ledger.run(id, index),
          close: async () => {
            await Promise.all([worker?.close(), ledger.close()]);
          },
          ...(pending === undefined ? {} : { pending }),
        };
      });
    },
  });
}

interface Waiting {
  readonly operation: string;
  readonly index: number;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
  /** How often it failed. */
  failures: number;
  /** When something was last known of it. */
  heard: number;
}

/** The jobs that a coordinator waits for: added, heard of by events, and looked after where no event came. */
class Ledger {
  readonly #queue: Queue;
  readonly #events: Emitter;
  readonly #plan: Plan;
  readonly #attempts: number;
  readonly #waiting = new Map<string, Waiting>();
  readonly #timer: NodeJS.Timeout;
  readonly #ready: Promise<unknown>;
  #isLooking = false;

  constructor(
    bull: Bull,
    { queue, connection }: QueueSettings,
    plan: Plan,
    attempts: number,
    tell: OnProgress,
  ) {
    this.#plan = plan;
    this.#attempts = attempts;
    this.#queue = new bull.Queue(queue, { connection });
    this.#events = new bull.QueueEvents(queue, { connection });
    for (const emitter of [this.#queue, this.#events]) emitter.on("error", () => {});
    const of = (args: Record<string, unknown>) => this.#waiting.get(String(args.jobId));
    const retry = ({ operation, index, failures }: Waiting, reason: string) =>
      tell({ kind: "retry", operation, index, attempt: failures + 2, reason });
    this.#events.on("completed", (args) => {
      const job = this.#settle(String(args.jobId));
      job?.resolve(doneOf(args.returnvalue, job));
    });
    this.#events.on("failed", (args) => {
      const text = String(args.failedReason).slice(0, 4000);
      this.#settle(String(args.jobId))?.reject(new TensorError("worker", text));
    });
    this.#events.on("stalled", (args) => {
      const job = of(args);
      if (job === undefined) return;
      job.heard = performance.now();
      retry(job, "its worker was lost");
    });
    this.#events.on("delayed", (args) => {
      const job = of(args);
      if (job === undefined) return;
      job.heard = performance.now();
      // Those that a worker leaves to others are put aside, too; only what failed is counted with the job.
      const look = async () => {
        const failures = (await this.#queue.getJob(String(args.jobId)))?.attemptsMade ?? 0;
        if (of(args) !== job) return;
        for (; job.failures < failures; job.failures++) retry(job, "it failed, and is tried again");
      };
      look().catch(() => {});
    });
    this.#ready = Promise.all([this.#queue.waitUntilReady(), this.#events.waitUntilReady()]);
    this.#ready.catch(() => {});
    this.#timer = setInterval(() => void this.#look().catch(() => {}), LOOK);
  }

  async run(operation: string, index: number): Promise<Done> {
    await this.#ready;
    const id = `${this.#plan.hash.slice(0, 24)}.${operation}.${index}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { operation, index, resolve, reject, failures: 0, heard: performance.now() });
      this.#queue
        .add(
          "task",
          { planHash: this.#plan.hash, operation, index },
          {
            jobId: id,
            attempts: this.#attempts,
            backoff: { type: "fixed", delay: 500 },
            removeOnComplete: true,
            removeOnFail: true,
          },
        )
        .catch((error: unknown) => this.#settle(id)?.reject(error));
    });
  }

  #settle(id: string): Waiting | undefined {
    const job = this.#waiting.get(id);
    this.#waiting.delete(id);
    return job;
  }

  /** Events may be missed, and a queue may be lost: a job that is not there any more was done, or is asked for again. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const before = performance.now() - LOOK;
      for (const [id, job] of [...this.#waiting]) {
        if (job.heard > before || !this.#waiting.has(id)) continue;
        const state = await this.#queue.getJobState(id);
        job.heard = performance.now();
        if (state !== "unknown" && state !== "completed") continue;
        // An event may still be on its way; if it is not, the store says whether the chunks are there.
        await new Promise((resolve) => setTimeout(resolve, 20));
        this.#settle(id)?.resolve(doneOf(undefined, job));
      }
    } finally {
      this.#isLooking = false;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const left = [...this.#waiting];
    this.#waiting.clear();
    for (const [, job] of left) job.reject(cancelled());
    // Nobody computes for a run that has ended.
    if (left.length > 0) await bounded(Promise.allSettled(left.map(([id]) => this.#queue.remove(id))));
    await Promise.all([bounded(this.#events.close()), bounded(this.#queue.close())]);
  }
}

/** What a worker answers, as far as it is numbers: it is shown and added up, nothing more. */
function doneOf(value: unknown, { operation, index }: { operation: string; index: number }): Done {
  let given = value;
  try {
    if (typeof given === "string") given = JSON.parse(given);
  } catch {
    given = null;
  }
  const { report, worker } = (given ?? {}) as { report?: Record<string, unknown> | null; worker?: unknown };
  const number = (name: string): number => {
    const x = report?.[name];
    return typeof x === "number" && Number.isFinite(x) && x >= 0 ? x : 0;
  };
  const [read, written, peak, milliseconds] = ["read", "written", "peak", "milliseconds"].map(number);
  return {
    report: { operation, index, read, written, peak, milliseconds },
    ...(typeof worker === "string" ? { worker: worker.slice(0, 100) } : {}),
  };
}
