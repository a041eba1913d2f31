/**
 * A message of a queue, which anybody who reaches the queue may have written: { planHash, operation, index } and nothing else. It
 * can choose neither code nor file; it names a task of a plan that the worker has already, or it is refused.
 */
import { describe, fail } from "../../errors.ts";
import { makeFolder } from "../../io/node.ts";
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
  const path = nodeModule<Paths>(operation, "node:path");
  const { join } = path;
  const aside = join(folder, `.${plan.hash}.${process.pid}.tmp`);
  try {
    await makeFolder({ fs, path }, folder);
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
/** Plans that are kept, and milliseconds between two looks at the folder: messages must not keep the disk busy. */
const MOST_PLANS = 16;
const BETWEEN = 500;

/** The hash that a file had, and when; null: it was no plan. */
interface Seen {
  readonly stamp: string;
  readonly hash: string | null;
}

/**
 * Plans of a folder: files that end with .json, whatever their names, each checked against its hash. Only a whole hash finds
 * one, so a message chooses no file; what is no plan is passed over.
 */
export class PlanFolder {
  readonly #folder: string;
  readonly #plans = new Map<string, Plan>();
  #seen = new Map<string, Seen>();
  #looked = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Null: there is none. */
  async find(hash: string): Promise<Plan | null> {
    const known = this.#plans.get(hash);
    if (known !== undefined) return known;
    if (performance.now() - this.#looked > BETWEEN) {
      this.#looking ??= this.#look().finally(() => {
        this.#looked = performance.now();
        this.#looking = null;
      });
      await this.#looking;
    }
    for (const [name, seen] of this.#seen) {
      if (seen.hash !== hash) continue;
      const plan = await this.#read(name);
      if (plan?.hash !== hash) continue;
      this.#plans.set(hash, plan);
      for (const old of this.#plans.keys()) if (this.#plans.size > MOST_PLANS) this.#plans.delete(old);
      return plan;
    }
    return null;
  }

  async #look(): Promise<void> {
    const fs = nodeModule<Files>("worker", "node:fs/promises");
    const { join } = nodeModule<Paths>("worker", "node:path");
    const names = (await fs.readdir(this.#folder)).filter((name) => name.endsWith(".json"));
    const seen = new Map<string, Seen>();
    for (const name of names.slice(0, MOST_FILES)) {
      const facts = await fs.stat(join(this.#folder, name)).catch(() => null);
      if (facts?.isFile() !== true || facts.size > MOST_BYTES) continue;
      const stamp = `${facts.mtimeMs} ${facts.size}`;
      const before = this.#seen.get(name);
      const hash = before?.stamp === stamp ? before.hash : ((await this.#read(name))?.hash ?? null);
      seen.set(name, { stamp, hash });
    }
    this.#seen = seen;
  }

  async #read(name: string): Promise<Plan | null> {
    const fs = nodeModule<Files>("worker", "node:fs/promises");
    const { join } = nodeModule<Paths>("worker", "node:path");
    try {
      return await checkPlan(JSON.parse(await fs.readFile(join(this.#folder, name), "utf8")));
    } catch {
      return null;
    }
  }
}
