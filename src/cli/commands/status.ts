/** `strided status`: how far a plan is, by what lies in its stores. */
import { statusOf } from "../../chunked/resume.ts";
import type { AllowList, Plan } from "../../chunked/types.ts";
import { plainText } from "../../plot/text.ts";
import type { Parsed } from "../args.ts";
import { type Command, help, json } from "../command.ts";
import { type Host, jsonText, Usage } from "../host.ts";
import { allow, planOf } from "../plans.ts";
import { serveStatus } from "../status-server.ts";
import { PlanWatch } from "../status-watch.ts";
import { columns } from "../table.ts";

export const status: Command = {
  usage: "PLAN.json [--json | --serve]",
  says: "how far a run of a plan is, by what lies in its stores",
  more: `Exit code 0: the result is complete. 1: it is not. --serve shows it as a page that follows the run; it listens on this
machine only, unless --host says otherwise.`,
  flags: {
    serve: { kind: "flag", says: "a page that shows the run live, until Ctrl-C" },
    port: { kind: "number", value: "N", says: "of the page; default 4190, or any that is free" },
    host: { kind: "text", value: "NAME", says: "that the page listens on; default 127.0.0.1" },
    allow,
    json,
    help,
  },
  examples: [
    "strided status plan.json",
    "strided status plan.json --json",
    "strided status plan.json --serve",
  ],
  words: [1, 1],
  run: async (args, host) => {
    const { plan, allow: allowed } = await planOf("status", args);
    if (args.flag("serve")) return serve(args, host, plan, allowed);
    for (const name of ["port", "host"])
      if (args.text(name) !== undefined) throw new Usage(`--${name} goes with --serve.`);
    const operations = await statusOf(plan, { allow: allowed });
    const results = plan.operations.filter(({ output }) => output === plan.result).map(({ id }) => id);
    const isComplete = operations.every((op) => !results.includes(op.operation) || op.done === op.tasks);
    if (args.flag("json")) {
      host.out(jsonText({ plan: plan.hash, complete: isComplete, operations }));
      return isComplete ? 0 : 1;
    }
    const rows = operations.map(({ operation, label, tasks, done, isThere }) => {
      const share = `${Math.floor((100 * done) / tasks)} %`;
      const removed = isComplete ? "removed" : "not begun";
      return [operation, isThere ? `${done}/${tasks}` : removed, isThere ? share : "", plainText(label)];
    });
    host.out(
      [
        `plan ${plan.hash.slice(0, 12)}: ${isComplete ? "complete" : "not complete"}`,
        "",
        ...columns(["operation", "tasks", "", "what"], rows, [1, 2]),
      ].join("\n"),
    );
    return isComplete ? 0 : 1;
  },
};

async function serve(args: Parsed, host: Host, plan: Plan, allowed: AllowList): Promise<number> {
  const port = args.number("port");
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65536))
    throw new Usage(`--port is ${port}; ports are whole numbers below 65536.`);
  const name = args.text("host") ?? "127.0.0.1";
  const watch = new PlanWatch(args.words[0], plan, allowed);
  const { url, server } = await serveStatus(watch, port ?? 4190, name).catch((error: { code?: string }) => {
    if (error.code !== "EADDRINUSE" || port !== undefined) throw error;
    return serveStatus(watch, 0, name);
  });
  host.out(`The run is shown at ${url} (Ctrl-C stops it)`);
  const signal = host.interrupted?.();
  await new Promise<void>((done) => {
    if (signal === undefined) return;
    signal.addEventListener("abort", () => done());
    if (signal.aborted) done();
  });
  server.closeAllConnections();
  server.close();
  return 0;
}
