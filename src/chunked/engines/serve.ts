/**
 * The side of the child: tasks come in, reports go out, one at a time. It ends with its parent: when the channel closes, and
 * (because a task that computes hears nothing) when a thread of its own sees that the parent is gone.
 */
import { Worker } from "node:worker_threads";
import { unreachable } from "../../errors.ts";
import type { Plan, RunContext, RunTask } from "../types.ts";
import { type FromChild, PLANS_KEPT, sentError, type ToChild } from "./protocol.ts";

/** Looks twice a second whether the parent lives. A thread cannot end its process by leaving, so it kills it. */
const watching = `
const { workerData } = require("node:worker_threads");
setInterval(() => {
  let isThere = process.ppid === workerData;
  try { process.kill(workerData, 0); } catch (error) { if (error.code === "ESRCH") isThere = false; }
  if (!isThere) process.kill(process.pid, "SIGKILL");
}, 500);
`;

/** Serves tasks to the process that forked this one; its id is the last argument. */
export function serveTasks(runTask: RunTask): void {
  const parent = Number(process.argv.at(-1));
  const send = process.send?.bind(process);
  if (send === undefined || !Number.isInteger(parent))
    unreachable("a child that computes was started by hand");
  const leave = () => process.kill(process.pid, "SIGKILL");
  process.on("disconnect", leave);
  // Those are for the parent, which is in the same group of a terminal and ends its children itself.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {});
  const watcher = new Worker(watching, {
    eval: true,
    workerData: parent,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  });
  watcher.unref();
  const plans = new Map<string, { plan: Plan; context: RunContext }>();
  const answer = (message: FromChild) => void send(message, undefined, {}, () => {});
  process.on("message", (message: ToChild) => {
    if (message.kind === "plan") {
      const { plan, context } = message;
      plans.delete(plan.hash);
      plans.set(plan.hash, {
        plan,
        context: {
          allow: { folders: context.folders, urls: context.urls },
          ...(context.memory === undefined ? {} : { memory: context.memory }),
        },
      });
      for (const old of plans.keys()) if (plans.size > PLANS_KEPT) plans.delete(old);
      return;
    }
    const { id, hash, operation, index } = message;
    const known = plans.get(hash);
    if (known === undefined) unreachable(`a child was asked for the plan ${hash} before it had it`);
    void (async () => runTask(known.plan, operation, index, known.context))().then(
      (report) => answer({ kind: "done", id, report }),
      (error) => answer({ kind: "failed", id, error: sentError(error) }),
    );
  });
  answer({ kind: "ready" });
}
