/** What `run`, `worker` and `status` have in common: a plan of a file, and what it may open. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { beyond, readAllow } from "../chunked/engines/worker.ts";
import { checkPlan } from "../chunked/plan-file.ts";
import type { AllowList, Plan } from "../chunked/types.ts";
import { TensorError } from "../errors.ts";
import type { Flag, Parsed } from "./args.ts";

export const allow: Flag = {
  kind: "list",
  value: "DIR|URL",
  says: "a folder, or the beginning of addresses, that may be opened; may be repeated",
};
export const queue: Flag = { kind: "text", value: "NAME", says: "the queue's name; default strided" };
export const lock: Flag = {
  kind: "number",
  value: "SECONDS",
  says: "after which the task of a lost worker is given to another; default 5",
};
export const timeLimit: Flag = {
  kind: "number",
  value: "SECONDS",
  says: "that a task may take; default 3600",
};
export const attempts: Flag = {
  kind: "number",
  value: "N",
  says: "how often a task is tried; default 5",
};

/** Reads a plan and checks its hash. Folders beside it and below the current one may be opened, and those of --allow. */
export async function planOf(operation: string, args: Parsed): Promise<{ plan: Plan; allow: AllowList }> {
  const [path] = args.words;
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    const fact =
      error instanceof SyntaxError ? "it is no JSON" : String((error as { code?: string }).code ?? error);
    throw new TensorError("file", `${operation}: the plan ${JSON.stringify(path)} cannot be read: ${fact}.`);
  }
  const plan = await checkPlan(value);
  const allowed = readAllow(operation, [dirname(resolve(path)), ".", ...args.list("allow")]);
  const shut = beyond(plan, allowed);
  if (shut.length === 0) return { plan, allow: allowed };
  throw new TensorError(
    "value",
    `${operation}: the plan opens ${shut.map((name) => JSON.stringify(name)).join(", ")}, which lies neither beside it nor here.\n` +
      `  If that is meant: ${shut.map((name) => `--allow ${name}`).join(" ")}`,
  );
}
