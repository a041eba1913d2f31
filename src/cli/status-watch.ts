/** How far a plan is, asked again and again: what was seen once is not looked for a second time. */
import { readFile } from "node:fs/promises";
import { type LiveRun, livePath } from "../chunked/engines/live.ts";
import { hasTask, ownArray } from "../chunked/resume.ts";
import type { AllowList, OperationSpec, Plan } from "../chunked/types.ts";

/** An operation, and which of its tasks are done: a bit each, the first in the lowest, in base64. */
export interface WatchedOperation {
  readonly operation: string;
  readonly label: string;
  readonly tasks: number;
  readonly done: number;
  readonly isThere: boolean;
  readonly bits: string;
}

export interface Watched {
  readonly plan: string;
  readonly isComplete: boolean;
  readonly operations: readonly WatchedOperation[];
  /** What the process that drives the run tells; null where none has. */
  readonly run: LiveRun | null;
}

/** Chunks that are looked for at one time, and in all at each look. */
const SIDE_BY_SIDE = 16;
const MOST_LOOKS = 20_000;
/** Bytes of a status file at the most. */
const MOST_STATUS = 1 << 20;

export class PlanWatch {
  readonly #path: string;
  readonly #plan: Plan;
  readonly #allow: AllowList;
  readonly #done = new Map<string, Uint8Array>();
  /** Where the next look begins. */
  readonly #next = new Map<string, number>();

  constructor(path: string, plan: Plan, allow: AllowList) {
    this.#path = path;
    this.#plan = plan;
    this.#allow = allow;
    for (const { id, tasks } of plan.operations) this.#done.set(id, new Uint8Array(tasks));
  }

  async look(): Promise<Watched> {
    const operations: WatchedOperation[] = [];
    for (const op of this.#plan.operations) operations.push(await this.#lookAt(op));
    const results = this.#plan.operations.filter((op) => op.output === this.#plan.result).map((op) => op.id);
    const isComplete = operations.every((op) => !results.includes(op.operation) || op.done === op.tasks);
    return { plan: this.#plan.hash, isComplete, operations, run: await this.#run() };
  }

  async #lookAt(op: OperationSpec): Promise<WatchedOperation> {
    const seen = this.#done.get(op.id)!;
    const array = await ownArray(this.#plan, op.output, this.#allow);
    if (array !== null) {
      const from = this.#next.get(op.id) ?? 0;
      let [looked, at] = [0, 0];
      const lane = async () => {
        while (at < op.tasks && looked < MOST_LOOKS) {
          const index = (from + at++) % op.tasks;
          if (seen[index] === 1) continue;
          looked++;
          if (await hasTask(array, this.#plan, op, index)) seen[index] = 1;
        }
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
      this.#next.set(op.id, (from + at) % op.tasks);
    }
    const done = seen.reduce((n, bit) => n + bit, 0);
    const { id: operation, label, tasks } = op;
    return { operation, label, tasks, done, isThere: array !== null, bits: packed(seen) };
  }

  async #run(): Promise<LiveRun | null> {
    try {
      const text = await readFile(livePath(this.#path), "utf8");
      const told = text.length > MOST_STATUS ? null : (JSON.parse(text) as LiveRun);
      return told?.plan === this.#plan.hash ? told : null;
    } catch {
      return null;
    }
  }
}

function packed(bits: Uint8Array): string {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (let i = 0; i < bits.length; i++) if (bits[i] === 1) bytes[i >> 3] |= 1 << (i & 7);
  return Buffer.from(bytes).toString("base64");
}
