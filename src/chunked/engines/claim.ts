/**
 * One run at a time for a result in a folder: two that do not know of each other would remove what the other still reads. A file
 * beside the result says who writes it. Whoever was killed left it there, and is found to be gone.
 */
import { fail } from "../../errors.ts";
import { builtin, makeFolder, nodeModules } from "../../io/node.ts";
import { realPath, sourceOf } from "../stores.ts";
import type { AllowList, Plan } from "../types.ts";

type Files = typeof import("node:fs/promises");

const MOST_TRIES = 20;

interface Holder {
  readonly pid: number;
  readonly host: string;
  /** When the process began, where the system says so: numbers of processes come again. */
  readonly born: string;
  readonly since: string;
}

/** Is the process of a file there still? */
function isAlive({ pid, born }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
  const now = bornOf(pid);
  return now !== null && (now === "" || born === "" || now === born);
}

/** When a process began, in the system's ticks; null: it has ended, and nobody has asked for its end yet; "": not known. */
function bornOf(pid: number): string | null {
  const { readFileSync } = builtin("node:fs") as typeof import("node:fs");
  try {
    const [state, ...rest] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return /[ZX]/.test(state) ? null : rest[18];
  } catch {
    return "";
  }
}

/** Claims a plan's result; settles with what gives it back. Shards, which share theirs, claim nothing. */
export async function claim(
  operation: string,
  plan: Plan,
  allow: AllowList,
  isResumed: boolean,
): Promise<() => Promise<void>> {
  const source = sourceOf(plan, plan.result, allow);
  const nothing = async () => {};
  if (plan.stores[plan.arrays[plan.result].store].kind !== "folder" || typeof source !== "string")
    return nothing;
  const { path: paths } = nodeModules(operation);
  const fs = builtin("node:fs/promises") as Files;
  const { hostname } = builtin("node:os") as typeof import("node:os");
  const file = `${realPath(source) ?? source}.lock`;
  const host = hostname();
  const born = bornOf(process.pid) ?? "";
  const mine = JSON.stringify({ pid: process.pid, host, born, since: new Date().toISOString() });
  const readHolder = () => fs.readFile(file, "utf8").catch(() => null);
  // Where nothing can be written beside the result, nobody is kept out.
  try {
    await makeFolder(nodeModules(operation), paths.dirname(file));
  } catch {
    return nothing;
  }
  for (let tries = 1; ; tries++) {
    try {
      await fs.writeFile(file, mine, { flag: "wx" });
      break;
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") return nothing;
    }
    const text = await readHolder();
    // It has gone meanwhile, or is no file.
    if (text === null && tries < MOST_TRIES) continue;
    const holder = text === null ? null : holderOf(text);
    // Of another machine nothing is known, and whoever resumes says that the run was cut off.
    const isHeld = holder === null || (holder.host === host ? isAlive(holder) : !isResumed);
    if (isHeld) failHeld(operation, source, file, holder);
    // Of several that find it, one has it.
    const aside = `${file}.${crypto.randomUUID()}`;
    await fs.rename(file, aside).catch(() => {});
    const taken = await fs.readFile(aside, "utf8").catch(() => null);
    if (taken !== null && taken !== text) await fs.link(aside, file).catch(() => {});
    await fs.rm(aside, { force: true });
  }
  return async () => {
    if ((await readHolder()) === mine) await fs.rm(file, { force: true });
  };
}

function holderOf(text: string): Holder | null {
  try {
    const { pid, host, born, since } = JSON.parse(text);
    const isHolder =
      Number.isSafeInteger(pid) && pid > 0 && [host, born, since].every((x) => typeof x === "string");
    return isHolder ? { pid, host, born, since } : null;
  } catch {
    return null;
  }
}

const failHeld = (operation: string, to: string, file: string, holder: Holder | null): never =>
  fail(
    "value",
    operation,
    `another run writes to ${JSON.stringify(to)}${
      holder === null
        ? ""
        : `: process ${holder.pid} on ${JSON.stringify(holder.host)}, since ${holder.since}`
    }.`,
    `Wait for its end, or give another { to }. If it is gone, remove ${JSON.stringify(file)}.`,
  );
