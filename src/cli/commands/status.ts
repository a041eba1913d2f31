/** `strided status`: how far a plan is, by what lies in its stores. */
import { statusOf } from "../../chunked/resume.ts";
import { plainText } from "../../plot/text.ts";
import { type Command, help, json } from "../command.ts";
import { jsonText } from "../host.ts";
import { allow, planOf } from "../plans.ts";
import { columns } from "../table.ts";

export const status: Command = {
  usage: "PLAN.json [--json]",
  says: "how far a run of a plan is, by what lies in its stores",
  more: "Exit code 0: the result is complete. 1: it is not.",
  flags: { allow, json, help },
  examples: ["strided status plan.json", "strided status plan.json --json"],
  words: [1, 1],
  run: async (args, host) => {
    const { plan, allow: allowed } = await planOf("status", args);
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
