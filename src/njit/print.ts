/**
 * The text form of a Code: one step a line, expressions as algebra.
 *
 *     loop prange
 *       if !(i < n) break 1
 *       t4:f64 = a[i?, p]
 *
 * A question mark follows an index that is checked.
 */
import type { Node, Program } from "../ir/node.ts";
import { isOp, ops } from "../ir/ops.ts";
import { short } from "../ir/print.ts";
import type { Code, Expression, Step } from "./ir.ts";

export function printCode(code: Code): string {
  const names = localNames(code);
  const lines: string[] = [`function ${code.name || "(anonymous)"}`];
  const line = (depth: number, text: string) => lines.push("  ".repeat(depth + 1) + text);
  for (const [k, a] of code.arrays.entries()) {
    const form = a.argument === null ? `own, ${a.length} elements` : `argument ${a.argument}`;
    line(
      0,
      `array ${arrayName(code, k)}: ${a.dtype}, rank ${a.rank}${a.unit ? ", unit stride" : ""}, ${form}`,
    );
  }
  for (const { local, argument } of code.scalars) line(0, `${names[local]} = argument ${argument}`);
  for (const { local, array, axis } of code.sizes) {
    line(0, `${names[local]} = ${axis === "size" ? "size" : `shape[${axis}]`} of ${arrayName(code, array)}`);
  }
  for (const { local, array, word } of code.words) {
    const what = word === "address" ? word : `stride ${word}`;
    line(0, `${names[local]} = ${what} of ${arrayName(code, array)}`);
  }
  const text = (e: Expression) => printExpression(e, names);
  // A question mark: the index is checked.
  const place = ({ array, index, proved }: Step & { op: "load" | "store" }) =>
    `${arrayName(code, array)}[${index.map((i, d) => (proved[d] ? text(i) : `${text(i)}?`)).join(", ")}]`;
  const walk = (steps: readonly Step[], depth: number): void => {
    for (const step of steps) {
      switch (step.op) {
        case "set":
          line(depth, `${names[step.local]} = ${text(step.value)}`);
          break;
        case "load":
          line(depth, `${names[step.local]} = ${place(step)}`);
          break;
        case "store":
          line(depth, `${place(step)} = ${text(step.value)}`);
          break;
        case "if":
          line(depth, `if ${text(step.test)}`);
          walk(step.yes, depth + 1);
          if (step.no.length > 0) {
            line(depth, "else");
            walk(step.no, depth + 1);
          }
          break;
        case "fork": {
          const own = names.map((n) => n.replace(/:\w+$/, ""));
          const sums = step.reductions.map((r) => `, ${r.op} ${own[r.local]}`).join("");
          const order = step.inOrder === null ? "" : `, in order if ${text(step.inOrder)}`;
          const by = `from ${own[step.counter]} to before ${text(step.end)} by ${step.step}`;
          line(depth, `fork ${by}${sums}${order}`);
          walk(step.body, depth + 1);
          break;
        }
        case "block":
        case "loop":
          line(depth, step.op === "loop" && step.parallel ? "loop prange" : step.op);
          walk(step.body, depth + 1);
          break;
        case "lanes":
          line(depth, `lanes of ${step.width}: ${names[step.counter]} to ${text(step.bound)}`);
          walk(step.body, depth + 1);
          if (step.after.length > 0) {
            line(depth, "in order");
            walk(step.after, depth + 1);
          }
          break;
        case "break":
          line(depth, `break ${step.depth}`);
          break;
        case "return":
          line(depth, `return ${step.values.map(text).join(", ")}`.trimEnd());
      }
    }
  };
  walk(code.body, 0);
  return lines.join("\n");
}

/** `name: dtype`, made distinct where one name is that of several. */
function localNames(code: Code): string[] {
  const seen = new Map<string, number>();
  return code.locals.map(({ name, dtype }, id) => {
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    const own = name === "" ? `t${id}` : count === 0 ? name : `${name}.${count}`;
    return `${own}:${dtype}`;
  });
}

const arrayName = (code: Code, k: number): string => code.arrays[k].name || `array${k}`;

function printExpression({ program, locals }: Expression, names: readonly string[]): string {
  const text: string[] = [];
  for (const node of program.nodes) text.push(printOne(program, node, text, locals, names));
  return text[program.result];
}

function printOne(
  program: Program,
  node: Node,
  text: readonly string[],
  locals: readonly number[],
  names: readonly string[],
): string {
  const args = node.args.map((a) => short(text[a]));
  switch (node.op) {
    case "input":
      return names[locals[node.index]].replace(/:\w+$/, "");
    case "const":
      return `${Object.is(node.value, -0) ? "-0" : node.value}${node.dtype === "f64" || node.dtype === "i32" ? "" : `:${node.dtype}`}`;
    case "cast":
    case "bitcast":
      return `${node.dtype}(${args[0]})`;
    default: {
      const sign = isOp(node.op) ? ops[node.op].sign : undefined;
      const dtype =
        node.args.length === 0 ? node.dtype : program.nodes[node.args[node.args.length - 1]].dtype;
      return sign === undefined ? `${node.op}(${args.join(", ")})` : `(${args.join(` ${sign}.${dtype} `)})`;
    }
  }
}
