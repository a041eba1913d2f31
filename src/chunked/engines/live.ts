/**
 * A run as others can see it while it goes on: who works at what, how fast, what was tried again. The process that drives the
 * run writes it beside the plan, whole each time, so whoever reads it reads one moment.
 */
import { rename, rm, writeFile } from "node:fs/promises";
import type { Plan, ProgressEvent } from "../types.ts";

/** What is written: plain JSON. */
export interface LiveRun {
  readonly plan: string;
  /** Milliseconds since 1970. */
  readonly began: number;
  readonly told: number;
  readonly isOver: boolean;
  readonly ran: number;
  readonly read: number;
  readonly written: number;
  readonly retries: number;
  /** The last of them. */
  readonly lastRetries: readonly {
    readonly operation: string;
    readonly index: number;
    readonly reason: string;
  }[];
  readonly workers: readonly {
    readonly name: string;
    readonly tasks: number;
    /** What it did last. */
    readonly last: string;
    readonly isHere: boolean;
  }[];
}

/** Milliseconds between two writings. */
const OFTEN = 500;
const MOST_RETRIES = 20;
const MOST_WORKERS = 256;

/** The file of a plan's run: the plan's own name, and what it is. */
export const livePath = (plan: string): string => `${plan}.status`;

export class LiveWriter {
  readonly #path: string;
  readonly #plan: string;
  readonly #began = Date.now();
  readonly #workers = new Map<string, { tasks: number; last: string; isHere: boolean }>();
  readonly #retries: { operation: string; index: number; reason: string }[] = [];
  readonly #sum = { ran: 0, read: 0, written: 0, retries: 0 };
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, plan: Plan) {
    this.#path = path;
    this.#plan = plan.hash;
  }

  tell(event: ProgressEvent): void {
    switch (event.kind) {
      case "task": {
        const { operation, index, read, written } = event.report;
        this.#sum.ran++;
        this.#sum.read += read;
        this.#sum.written += written;
        const name = event.worker ?? "this process";
        const known = this.#workers.get(name);
        this.#know(name, (known?.tasks ?? 0) + 1, `${operation}, task ${index}`, known?.isHere ?? true);
        break;
      }
      case "retry":
        this.#sum.retries++;
        this.#retries.push({ operation: event.operation, index: event.index, reason: event.reason });
        if (this.#retries.length > MOST_RETRIES) this.#retries.shift();
        break;
      case "worker": {
        const known = this.#workers.get(event.worker);
        this.#know(event.worker, known?.tasks ?? 0, known?.last ?? "", event.state === "joined");
        break;
      }
      default:
        break;
    }
    this.#timer ??= setTimeout(() => this.#write(), OFTEN);
  }

  /** The last word: nothing is written after it. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#write();
    await this.#writing;
  }

  #know(name: string, tasks: number, last: string, isHere: boolean): void {
    if (!this.#workers.has(name) && this.#workers.size >= MOST_WORKERS) return;
    this.#workers.set(name, { tasks, last, isHere });
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const live: LiveRun = {
      plan: this.#plan,
      began: this.#began,
      told: Date.now(),
      isOver: this.#isOver,
      ...this.#sum,
      lastRetries: this.#retries,
      workers: [...this.#workers].map(([name, w]) => ({ name, ...w })),
    };
    const text = JSON.stringify(live);
    const beside = `${this.#path}.${process.pid}`;
    // Who cannot write beside the plan runs all the same.
    this.#writing = this.#writing.then(async () => {
      try {
        await writeFile(beside, text);
        await rename(beside, this.#path);
      } catch {
        await rm(beside, { force: true }).catch(() => {});
      }
    });
  }
}
