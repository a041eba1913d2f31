/**
 * Tasks that write a file of known bytes, behind the contract of the real ones: what engines do with processes, locks and queues
 * shows without arrays. `work.how` says how a task behaves.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { PendingTasks, Plan, RunContext, RunTask } from "../../src/chunked/types.ts";

export interface How {
  /** Milliseconds of computing, without a pause. */
  readonly spin?: number;
  /** The first try of this task kills its process. */
  readonly dies?: number;
  /** This one always throws. */
  readonly throws?: number;
  /** Pieces in which a file is written, with a millisecond between. */
  readonly pieces?: number;
}

export const BYTES = 4096;

export function fakePlan(folder: string, tasks: number, how: How = {}, operations = 2): Plan {
  mkdirSync(folder, { recursive: true });
  const rest = {
    version: 1 as const,
    memory: 2 ** 28,
    reserved: 2 ** 26,
    workers: 2,
    stores: { out: { kind: "folder" as const, path: folder } },
    arrays: {},
    operations: Array.from({ length: operations }, (_, k) => ({
      id: `${k}-fake`,
      kind: "blockwise" as const,
      label: "fake",
      inputs: [],
      output: "out",
      block: [1],
      tasks,
      projected: 0,
      reads: 0,
      writes: tasks * BYTES,
      after: k === 0 ? [] : [`${k - 1}-fake`],
      work: { how },
    })),
    result: "out",
  };
  return { ...rest, hash: createHash("sha256").update(JSON.stringify(rest)).digest("hex") };
}

const folderOf = (plan: Plan): string => (plan.stores.out as { path: string }).path;
const fileOf = (plan: Plan, operation: string, index: number) =>
  join(folderOf(plan), `${operation}.${index}`);

export const contextOf = (plan: Plan): RunContext => ({ allow: { folders: [folderOf(plan)], urls: [] } });

/** What a task writes: known by its name and, for later operations, by what the one before has written. */
export function bytesOf(plan: Plan, operation: string, index: number): Uint8Array {
  const k = Number.parseInt(operation, 10);
  const before = k === 0 ? "" : readFileSync(fileOf(plan, `${k - 1}-fake`, index)).toString("hex");
  const bytes = new Uint8Array(BYTES);
  for (let at = 0; at < BYTES; at += 32)
    bytes.set(createHash("sha256").update(`${operation} ${index} ${at} ${before}`).digest(), at);
  return bytes;
}

const nap = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export const runFake: RunTask = async (plan, operation, index, _context) => {
  const began = performance.now();
  const { how } = plan.operations.find(({ id }) => id === operation)!.work as { how: How };
  const file = fileOf(plan, operation, index);
  if (how.throws === index) throw new Error(`task ${index} throws`);
  const died = `${file}.died`;
  if (how.dies === index && !existsSync(died)) {
    closeSync(openSync(died, "w"));
    process.kill(process.pid, "SIGKILL");
  }
  const end = performance.now() + (how.spin ?? 0);
  while (performance.now() < end);
  const bytes = bytesOf(plan, operation, index);
  const temporary = `${file}.${process.pid}.part`;
  const open = openSync(temporary, "w");
  const pieces = how.pieces ?? 1;
  for (let k = 0; k < pieces; k++) {
    writeSync(open, bytes, (k * BYTES) / pieces, BYTES / pieces);
    if (pieces > 1) await nap(1);
  }
  closeSync(open);
  renameSync(temporary, file);
  return { operation, index, read: 0, written: BYTES, peak: 1, milliseconds: performance.now() - began };
};

export const pendingFake: PendingTasks = async (plan, operation) => {
  const there = new Set(readdirSync(folderOf(plan)));
  const { tasks } = plan.operations.find(({ id }) => id === operation)!;
  return Array.from({ length: tasks }, (_, i) => i).filter((i) => !there.has(`${operation}.${i}`));
};

/** Everything under its final name, as one hash; a short file is told. */
export function digestOf(plan: Plan): string {
  const hash = createHash("sha256");
  for (const { id, tasks } of plan.operations)
    for (let i = 0; i < tasks; i++) {
      const bytes = readFileSync(fileOf(plan, id, i));
      if (bytes.length !== BYTES) throw new Error(`${id}.${i} has ${bytes.length} bytes`);
      hash.update(bytes);
    }
  return hash.digest("hex");
}

/** Is a process there that is no zombie? */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Waits until something holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  seconds: number,
  what: string,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await nap(20);
  }
}
