/**
 * Child processes that run tasks, so that the process which holds locks, draws progress or serves a page never computes. A
 * child that dies is replaced, and its task tried again; one that takes longer than the limit is killed. Children are started
 * when there is work for them.
 */
import type { ChildProcess } from "node:child_process";
import { fail, TensorError } from "../../errors.ts";
import type { OnProgress, Plan, RunContext, TaskReport } from "../types.ts";
import { nodeModule } from "./node.ts";
import { childProgram } from "./program.ts";
import { type FromChild, isPassing, PLANS_KEPT, receivedError, type ToChild } from "./protocol.ts";

export interface PoolSetup {
  readonly workers: number;
  /** Seconds that a task may take. */
  readonly timeLimit: number;
  /** How often a task is tried, at the most. */
  readonly attempts: number;
  readonly onProgress?: OnProgress;
  /** The file of another child, for tests. */
  readonly program?: string;
}

interface Task {
  readonly plan: Plan;
  readonly operation: string;
  readonly index: number;
  readonly context: RunContext;
  attempt: number;
  readonly resolve: (done: { report: TaskReport; worker: string }) => void;
  readonly reject: (error: unknown) => void;
}

interface Child {
  readonly name: string;
  readonly process: ChildProcess;
  /** Hashes of plans that it was told, as many as it keeps. */
  readonly plans: string[];
  id: number;
  task: Task | null;
  timer: NodeJS.Timeout | null;
  isReady: boolean;
  /** Why it was killed, where we did it. */
  why: string | null;
}

/** Children that die before they are ready, one after the other, until it is taken for a fault of the program. */
const MOST_STILLBORN = 3;
/** Milliseconds between two tries of a task, times the number of tries. */
const PAUSE = 50;

export class Pool {
  readonly #options: PoolSetup;
  readonly #children = new Set<Child>();
  readonly #queue: Task[] = [];
  #ids = 0;
  #stillborn = 0;
  #isClosed = false;
  /** Those that wait for their pause to be over. */
  readonly #resting = new Map<NodeJS.Timeout, Task>();

  constructor(options: PoolSetup) {
    this.#options = options;
  }

  /** Ids of the processes that are there now. */
  get pids(): number[] {
    return [...this.#children].flatMap(({ process }) => process.pid ?? []);
  }

  /** Runs a task in a child; settles with its report, or with its last error. */
  run(
    plan: Plan,
    operation: string,
    index: number,
    context: RunContext,
  ): Promise<{ report: TaskReport; worker: string }> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(cancelled());
      this.#queue.push({ plan, operation, index, context, attempt: 1, resolve, reject });
      this.#give();
    });
  }

  /** Ends all children at once; what they were doing is cancelled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#queue.splice(0)) task.reject(cancelled());
    for (const [timer, task] of this.#resting) {
      clearTimeout(timer);
      task.reject(cancelled());
    }
    this.#resting.clear();
    await Promise.all(
      [...this.#children].map((child) => {
        const { exitCode, signalCode } = child.process;
        if (child.process.pid === undefined || exitCode !== null || signalCode !== null) return undefined;
        return new Promise<void>((resolve) => {
          child.process.once("exit", () => resolve());
          child.process.kill("SIGKILL");
        });
      }),
    );
  }

  #give(): void {
    if (this.#isClosed) return;
    for (const child of this.#children) {
      if (this.#queue.length === 0) return;
      if (child.isReady && child.task === null) this.#begin(child, this.#queue.shift()!);
    }
    // Each child that is not ready yet will take one.
    let coming = [...this.#children].filter(({ isReady }) => !isReady).length;
    while (coming < this.#queue.length && this.#children.size < this.#options.workers) {
      this.#start();
      coming++;
    }
  }

  #start(): void {
    const { fork } = nodeModule<typeof import("node:child_process")>("chunked", "node:child_process");
    const { hostname } = nodeModule<typeof import("node:os")>("chunked", "node:os");
    const { file, execArgv } = childProgram("chunked", this.#options.program);
    const process_ = fork(file, [String(process.pid)], {
      execArgv,
      // What it prints belongs beside what we print, not among it.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "json",
    });
    const child: Child = {
      name: `${hostname()}/${process_.pid ?? "?"}`,
      process: process_,
      plans: [],
      id: 0,
      task: null,
      timer: null,
      isReady: false,
      why: null,
    };
    this.#children.add(child);
    process_.on("message", (message: FromChild) => this.#hear(child, message));
    process_.on("error", (error) => this.#lost(child, error.message));
    process_.on("exit", (code, signal) =>
      this.#lost(child, child.why ?? `the process ended with ${signal ?? `code ${code}`}`),
    );
  }

  #begin(child: Child, task: Task): void {
    child.task = task;
    child.id = ++this.#ids;
    const { plan, operation, index, context } = task;
    const send = (message: ToChild) => child.process.send(message, () => {});
    const known = child.plans.indexOf(plan.hash);
    if (known < 0) {
      const { allow, memory } = context;
      const { folders, urls } = allow;
      send({
        kind: "plan",
        plan,
        context: memory === undefined ? { folders, urls } : { folders, urls, memory },
      });
      child.plans.push(plan.hash);
      // As the child forgets them: the one that was told first.
      if (child.plans.length > PLANS_KEPT) child.plans.shift();
    }
    send({ kind: "task", id: child.id, hash: plan.hash, operation, index });
    const { timeLimit } = this.#options;
    child.timer = setTimeout(() => {
      child.why = `it took longer than the limit of ${timeLimit} s`;
      child.process.kill("SIGKILL");
    }, timeLimit * 1000);
  }

  #hear(child: Child, message: FromChild): void {
    if (message.kind === "ready") {
      child.isReady = true;
      this.#stillborn = 0;
      this.#options.onProgress?.({ kind: "worker", worker: child.name, state: "joined" });
      this.#give();
      return;
    }
    const { task } = child;
    if (task === null || message.id !== child.id) return;
    if (child.timer !== null) clearTimeout(child.timer);
    child.timer = null;
    child.task = null;
    if (message.kind === "done") task.resolve({ report: message.report, worker: child.name });
    else this.#again(task, receivedError(message.error));
    this.#give();
  }

  #lost(child: Child, why: string): void {
    if (!this.#children.delete(child)) return;
    if (child.timer !== null) clearTimeout(child.timer);
    const { task } = child;
    child.task = null;
    if (child.isReady) this.#options.onProgress?.({ kind: "worker", worker: child.name, state: "left" });
    else if (!this.#isClosed && ++this.#stillborn >= MOST_STILLBORN) {
      const error = new TensorError(
        "worker",
        `chunked: processes that run tasks do not start: ${why}.\n  What they wrote is on standard error.`,
      );
      for (const waiting of this.#queue.splice(0)) waiting.reject(error);
      this.#stillborn = 0;
    }
    if (task !== null) {
      const { operation, index } = task;
      const remedy = "It may need more memory than the machine has, or never end.";
      this.#again(
        task,
        new TensorError("worker", `chunked: task ${index} of ${operation} was lost: ${why}.\n  ${remedy}`),
      );
    }
    this.#give();
  }

  #again(task: Task, error: TensorError): void {
    if (this.#isClosed || !isPassing(error) || task.attempt >= this.#options.attempts) {
      task.reject(this.#isClosed ? cancelled() : error);
      return;
    }
    const { operation, index } = task;
    const pause = PAUSE * task.attempt;
    task.attempt++;
    const reason = error.message;
    this.#options.onProgress?.({ kind: "retry", operation, index, attempt: task.attempt, reason });
    const timer = setTimeout(() => {
      this.#resting.delete(timer);
      this.#queue.unshift(task);
      this.#give();
    }, pause);
    this.#resting.set(timer, task);
  }
}

export const cancelled = (): TensorError => new TensorError("cancelled", "chunked: the run was cancelled.");

/** A whole number within bounds, or the default. */
export function count(
  operation: string,
  name: string,
  value: unknown,
  otherwise: number,
  least: number,
  most: number,
): number {
  if (value === undefined) return otherwise;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  return fail(
    "value",
    operation,
    `${name} is ${String(typeof value === "object" ? "an object" : value)}.`,
    `It is a whole number from ${least} to ${most}.`,
  );
}
