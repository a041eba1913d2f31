/** A process that takes tasks from a queue until it is told to stop: `strided worker`. */
import { describe, fail } from "../../errors.ts";
import { readBytes } from "../memory.ts";
import { liesIn, realPath, storeFor } from "../stores.ts";
import type { AllowList, OnProgress, Plan, TaskReport } from "../types.ts";
import { type BullmqOptions, loadBull, reach, readQueue, startWorker } from "./bullmq.ts";
import { readPool } from "./local.ts";
import { PlanFolder } from "./message.ts";
import { nodeModule } from "./node.ts";

const OPERATION = "worker";

export interface WorkerOptions
  extends Pick<BullmqOptions, "connection" | "queue" | "lock" | "workers" | "timeLimit" | "attempts"> {
  /** The folder of the plans; what lies in it may be opened, too. */
  readonly root: string;
  /** Other folders, and beginnings of addresses, that may be opened. */
  readonly allow?: readonly string[];
  /** Bytes that one process may use; default what the plan says. */
  readonly memory?: number | string;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
  readonly onRefused?: (reason: string) => void;
  readonly onDone?: (report: TaskReport) => void;
  /** When it takes tasks. */
  readonly onReady?: () => void;
  readonly program?: string;
}

/** Folders and addresses by name: what a process may open. */
export function readAllow(operation: string, names: readonly string[]): AllowList {
  const { resolve } = nodeModule<typeof import("node:path")>(operation, "node:path");
  const isAddress = (name: string) => /^https?:/i.test(name);
  for (const name of names)
    if (typeof name !== "string" || name === "" || (isAddress(name) && !URL.canParse(name)))
      fail("value", operation, `allow has ${describe(name)}.`, "Give folders, and beginnings of addresses.");
  return {
    folders: names.filter((name) => !isAddress(name)).map((name) => resolve(name)),
    urls: names.filter(isAddress).map((name) => new URL(name).href),
  };
}

/** What of a plan's stores may not be opened: addresses, and paths to where links really lead. */
export function beyond(plan: Plan, allow: AllowList): string[] {
  return Object.values(plan.stores).flatMap((store) => {
    if (store.kind === "folder") {
      const isAllowed = allow.folders.some((folder) => liesIn(store.path, folder));
      return isAllowed ? [] : [realPath(store.path) ?? store.path];
    }
    try {
      storeFor(store, allow);
      return [];
    } catch {
      return [store.kind === "http" ? store.url : store.name];
    }
  });
}

/** Takes tasks of plans that lie in its folder and whose stores it may open; others are left to other workers. */
export async function serveQueue(options: WorkerOptions): Promise<void> {
  const { root, signal, onProgress, onRefused, onDone, onReady, program } = options;
  const settings = readQueue(OPERATION, options);
  const { workers = 1, timeLimit, attempts } = readPool(OPERATION, options);
  if (workers === 0) fail("value", OPERATION, "workers are 0.", "Use 1 or more.");
  const memory =
    options.memory === undefined ? {} : { memory: readBytes(OPERATION, "memory", options.memory) };
  const allow = readAllow(OPERATION, [root, ...(options.allow ?? [])]);
  const bull = await loadBull(OPERATION);
  await reach(OPERATION, settings);
  signal.throwIfAborted();
  const plans = new PlanFolder(root);
  const told = new Set<string>();
  const tellOnce = (hash: string, reason: string) => {
    if (told.has(hash) || told.size > 1000) return;
    told.add(hash);
    onRefused?.(reason);
  };
  const worker = startWorker(bull, {
    settings,
    workers,
    timeLimit,
    attempts,
    find: async (hash) => {
      const plan = await plans.find(hash);
      if (plan === null) {
        tellOnce(hash, `${root} has no plan ${hash}: left to others.`);
        return null;
      }
      const shut = beyond(plan, allow);
      if (shut.length === 0) return { plan, context: { allow, ...memory } };
      tellOnce(
        hash,
        `plan ${hash} wants ${shut.join(", ")}, which is not allowed here (--allow): left to others.`,
      );
      return null;
    },
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(onRefused === undefined ? {} : { onRefused }),
    ...(onDone === undefined ? {} : { onDone }),
    ...(program === undefined ? {} : { program }),
  });
  try {
    onReady?.();
    await new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    await worker.close();
  }
}
