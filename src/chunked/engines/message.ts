/**
 * A message of a queue, which anybody who reaches the queue may have written: { planHash, operation, index } and nothing else. It
 * can choose neither code nor file; it names a task of a plan that the worker has already, or it is refused.
 */
import { describe, fail } from "../../errors.ts";
import { checkPlan } from "../plan-file.ts";
import type { Plan } from "../types.ts";
import { nodeModule } from "./node.ts";

export interface Message {
  readonly planHash: string;
  readonly operation: string;
  readonly index: number;
}

const NAMES = ["index", "operation", "planHash"];
const HASH = /^[0-9a-f]{64}$/;
/** Letters of an operation's id that are looked at. */
const MOST_LETTERS = 200;

/** Reads a message, or says what is wrong with it. Strict: three own fields, of these types. */
export function readMessage(given: unknown): Message {
  const refuse = (fact: string): never =>
    fail("value", "worker", `a message was refused: ${fact}`, "It is { planHash, operation, index }.");
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return refuse(`it is ${describe(given).slice(0, 80)}.`);
  const names = Object.keys(given).sort();
  if (names.length !== 3 || names.some((name, i) => name !== NAMES[i]))
    return refuse(
      `its fields are ${names
        .slice(0, 8)
        .map((name) => JSON.stringify(name.slice(0, 40)))
        .join(", ")}.`,
    );
  const { planHash, operation, index } = given as Record<string, unknown>;
  if (typeof planHash !== "string" || !HASH.test(planHash)) return refuse("planHash is no hash.");
  if (typeof operation !== "string" || operation === "" || operation.length > MOST_LETTERS)
    return refuse("operation is no name.");
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0 || Object.is(index, -0))
    return refuse("index is no whole number.");
  return { planHash, operation, index };
}

/** Does the plan have such a task? */
export function checkTask(plan: Plan, { operation, index }: Message): void {
  const found = plan.operations.find(({ id }) => id === operation);
  if (found === undefined) fail("value", "worker", `the plan has no operation ${JSON.stringify(operation)}.`);
  if (index >= found.tasks)
    fail("index", "worker", `there is no task ${index}: ${operation} has ${found.tasks}.`);
}

type Files = typeof import("node:fs/promises");
type Paths = typeof import("node:path");

/** Writes a plan where workers look for it: under its hash, all of it or nothing. */
export async function publishPlan(operation: string, folder: string, plan: Plan): Promise<void> {
  const fs = nodeModule<Files>(operation, "node:fs/promises");
  const { join } = nodeModule<Paths>(operation, "node:path");
  const aside = join(folder, `.${plan.hash}.${process.pid}.tmp`);
  try {
    await fs.mkdir(folder, { recursive: true });
    await fs.writeFile(aside, JSON.stringify(plan));
    await fs.rename(aside, join(folder, `${plan.hash}.json`));
  } catch (error) {
    await fs.rm(aside, { force: true }).catch(() => {});
    fail("file", operation, `the plan cannot be written to ${JSON.stringify(folder)}: ${String(error)}`);
  }
}

/** Files of a folder that are looked at, and bytes of one. */
const MOST_FILES = 1000;
const MOST_BYTES = 64 << 20;
/** Plans that are kept, and milliseconds for which a hash that is not there is believed to be missing. */
const MOST_PLANS = 16;
const MISSING = 500;

/**
 * Plans of a folder: files that end with .json, whatever their names, each checked against its hash when it is asked for. Only
 * a whole hash finds one, so a message chooses no file; what is no plan is passed over.
 */
export class PlanFolder {
  readonly #folder: string;
  readonly #plans = new Map<string, Plan>();
  /** Which hash each file had, at which time and size. */
  readonly #seen = new Map<string, { readonly stamp: string; readonly hash: string | null }>();
  #looked = Number.NEGATIVE_INFINITY;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Null: there is none. */
  async find(hash: string): Promise<Plan | null> {
    if (!HASH.test(hash)) return null;
    const known = this.#plans.get(hash);
    if (known !== undefined) return known;
    // Messages with hashes of nothing must not keep the disk busy.
    if (performance.now() - this.#looked < MISSING) return null;
    this.#looked = performance.now();
    return this.#look(hash);
  }

  async #look(wanted: string): Promise<Plan | null> {
    const fs = nodeModule<Files>("worker", "node:fs/promises");
    const { join } = nodeModule<Paths>("worker", "node:path");
    const names = (await fs.readdir(this.#folder)).filter((name) => name.endsWith(".json"));
    // The name that run and bullmq give it comes first.
    const first = `${wanted}.json`;
    const rest = names.filter((name) => name !== first).slice(0, MOST_FILES);
    for (const name of names.includes(first) ? [first, ...rest] : rest) {
      const path = join(this.#folder, name);
      const facts = await fs.stat(path).catch(() => null);
      if (facts?.isFile() !== true || facts.size > MOST_BYTES) continue;
      const stamp = `${facts.mtimeMs} ${facts.size}`;
      const seen = this.#seen.get(name);
      if (seen?.stamp === stamp && seen.hash !== wanted) continue;
      const plan = await planIn(await fs.readFile(path, "utf8").catch(() => ""));
      this.#seen.set(name, { stamp, hash: plan?.hash ?? null });
      if (plan?.hash !== wanted) continue;
      this.#plans.set(wanted, plan);
      for (const old of this.#plans.keys()) if (this.#plans.size > MOST_PLANS) this.#plans.delete(old);
      return plan;
    }
    return null;
  }
}

async function planIn(text: string): Promise<Plan | null> {
  try {
    return await checkPlan(JSON.parse(text));
  } catch {
    return null;
  }
}
