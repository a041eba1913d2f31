/** `strided explain`: what a kernel is compiled to. */
import type { DType } from "../../dtype.ts";
import { type Command, help, json } from "../command.ts";
import { dtypeOf } from "../entries.ts";
import { explainText } from "../explain.ts";
import { Usage } from "../host.ts";

export const explain: Command = {
  usage: "'x => x + 1' [--dtype f32] [--shape 1000] [--show PART] [--json]",
  says: "what a kernel is compiled to: program, passes, loops, WebAssembly",
  more: "The function is read, not run: it is compiled as kernel() does it, and computed on numbers 0, 1, 2, … of the shape.",
  flags: {
    dtype: { kind: "text", value: "D[,D]", says: "of its operands, one for all or one each; default f32" },
    shape: { kind: "text", value: "N[,N]", says: "of its operands; default 1000" },
    show: { kind: "text", value: "PART", says: "report (default), passes, loops, table, wat or all" },
    json,
    help,
  },
  examples: [
    "strided explain 'x => Math.exp(-x * x)'",
    "strided explain '(a, b) => a * b + 1' --dtype f32,u8 --shape 64,64 --show passes",
    "strided explain 'x => x > 0 ? x : 0' --show wat",
  ],
  words: [1, 1],
  run: async (args, host) => {
    const dtypes = (args.text("dtype") ?? "f32").split(",").map((d) => dtypeOf(d.trim()) as DType);
    const shape = (args.text("shape") ?? "1000").split(",").map(Number);
    if (shape.some((n) => !Number.isInteger(n) || n < 0))
      throw new Usage(`--shape is ${JSON.stringify(args.text("shape"))}: write 64,64.`);
    host.out(
      explainText(args.words[0], dtypes, shape, args.flag("json") ? "json" : (args.text("show") ?? "report")),
    );
    return 0;
  },
};
