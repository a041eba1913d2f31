/** `strided doctor`: what this machine has for strided. */
import { availableParallelism, cpus } from "node:os";
import { type Command, help, json } from "../command.ts";
import { examine } from "../doctor.ts";
import { jsonText } from "../host.ts";

export const doctor: Command = {
  usage: "[--turbo] [--json]",
  says: "what this machine has for strided, and what it reaches",
  flags: { turbo: { kind: "flag", says: "with the features that strided/turbo switches on" }, json, help },
  examples: ["strided doctor", "strided doctor --turbo"],
  words: [0, 0],
  run: async (args, host) => {
    const machine = {
      runtime: `${process.version}, V8 ${process.versions.v8}`,
      processor: `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} cores`,
    };
    const found: Record<string, string> = {};
    for await (const [name, value] of examine(machine, args.flag("turbo"))) {
      found[name] = value;
      if (!args.flag("json")) host.out(`${name.padEnd(18)} ${value}`);
    }
    if (args.flag("json")) host.out(jsonText(found));
    return 0;
  },
};
