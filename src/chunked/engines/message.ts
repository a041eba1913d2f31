/**
 * A message of a queue, which anybody who reaches the queue may have written: { planHash, operation, index } and nothing else. It
 * can choose neither code nor file; it names a task of a plan that the worker has already, or it is refused.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, fail } from "../../errors.ts";
import { checkPlan } from "../plan-file.ts";
import type { Plan } from "../types.ts";

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

/** Plans of a folder, `<hash>.json` each, checked against their hash when they are first asked for. */
export class PlanFolder {
  readonly #folder: string;
  readonly #plans = new Map<string, Plan>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Null: there is none. */
  async find(hash: string): Promise<Plan | null> {
    if (!HASH.test(hash)) return null;
    const known = this.#plans.get(hash);
    if (known !== undefined) return known;
    let text: string;
    try {
      text = await readFile(join(this.#folder, `${hash}.json`), "utf8");
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return null;
      throw error;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return fail("file", "worker", `${hash}.json is no JSON.`, "Write it again with strided run.");
    }
    const plan = await checkPlan(value, hash);
    this.#plans.set(hash, plan);
    for (const old of this.#plans.keys()) if (this.#plans.size > 16) this.#plans.delete(old);
    return plan;
  }
}
