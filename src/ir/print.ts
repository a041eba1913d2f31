/** The text form of a Program, for explain, messages and cache keys: one node a line, `%3 = mul f32 %1 %2`. */
import { type Node, type Program, resultsOf, type Template } from "./node.ts";
import { isOp, ops } from "./ops.ts";

export function printNode(node: Node, id: number): string {
  const args = node.args.map((a) => ` %${a}`).join("");
  switch (node.op) {
    case "input":
      return `%${id} = input ${node.dtype} #${node.index}`;
    case "param":
      return `%${id} = param ${node.dtype} #${node.index}`;
    case "const":
      return `%${id} = const ${node.dtype} ${Object.is(node.value, -0) ? "-0" : node.value}`;
    case "rare":
      return `%${id} = rare ${node.dtype}${args} ${node.slow}`;
    case "item":
      return `%${id} = item ${node.dtype}${args} #${node.index}`;
    case "read":
      return `%${id} = read ${node.dtype}${args} ${JSON.stringify(node.name)}`;
    case "loop": {
      const [guard, ...rest] = node.args.map((a) => ` %${a}`);
      const [starts, outside] = [rest.slice(0, node.carried), rest.slice(node.carried)];
      const lines = node.body.nodes.filter((n) => n.op !== "tuple").map(printNode);
      const [going, ...next] = resultsOf(node.body).map((r) => ` %${r}`);
      const inner = [...lines, `while${going} next${next.join("")}`].join("\n").replace(/^/gm, "  ");
      return `%${id} = loop ${node.dtype} if${guard} from${starts.join("")} with${outside.join("")} {\n${inner}\n}`;
    }
    default:
      return `%${id} = ${node.op} ${node.dtype}${args}`;
  }
}

export function printProgram(program: Program): string {
  const lines = program.nodes.map(printNode);
  return `${lines.join("\n")}\nreturn ${program.dtype} %${program.result}`;
}

/** Longer pieces are left out of a line: a value that is used twice would double its text at every step. */
const LONGEST = 400;
export const short = (text: string): string => (text.length > LONGEST ? "…" : text);

/** A template as one line of algebra: `max((x0 * x1), 0)`. */
export function printTemplate(template: Template): string {
  const text: string[] = [];
  for (const node of template.nodes) {
    switch (node.op) {
      case "input":
        text.push(`x${node.index}`);
        break;
      case "param":
        text.push(template.params[node.index]);
        break;
      case "literal":
        text.push(Object.is(node.value, -0) ? "-0" : String(node.value));
        break;
      case "cast":
        text.push(`${node.dtype}(${short(text[node.args[0]])})`);
        break;
      case "tuple":
        text.push(`[${node.args.map((a) => short(text[a])).join(", ")}]`);
        break;
      case "loop":
        text.push(
          `loop(${node.args
            .slice(1)
            .map((a) => short(text[a]))
            .join(", ")})`,
        );
        break;
      case "item":
        text.push(`${short(text[node.args[0]])}[${node.index}]`);
        break;
      case "read": {
        const indices = node.args.slice(2).filter((_, i) => i % 3 === 0);
        text.push(`${node.name}.get(${indices.map((a) => short(text[a])).join(", ")})`);
        break;
      }
      default: {
        const args = node.args.map((a) => short(text[a]));
        const sign = isOp(node.op) ? ops[node.op].sign : undefined;
        text.push(sign === undefined ? `${node.op}(${args.join(", ")})` : `(${args.join(` ${sign} `)})`);
      }
    }
  }
  return text[template.result];
}
