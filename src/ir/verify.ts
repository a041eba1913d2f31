/** Checks a Program against the rules every backend relies on; runs between the compiler's passes. */
import { dtypes } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { resultDType } from "./build.ts";
import type { Node, Program } from "./node.ts";

export function verify(program: Program, after: string): Program {
  const { nodes } = program;
  const bad = (id: number, what: string): never =>
    unreachable(`after ${after}, node ${id} (${nodes[id]?.op}): ${what}`);
  nodes.forEach((node, id) => {
    for (const a of node.args) {
      if (!Number.isInteger(a) || a < 0 || a >= id) bad(id, `argument ${a} does not come before it`);
    }
    const found = expectedDType(program, node, (what) => bad(id, what));
    if (found !== node.dtype) bad(id, `has dtype ${node.dtype}, its arguments make ${found}`);
  });
  if (!(program.result >= 0 && program.result < nodes.length)) unreachable(`after ${after}: no result`);
  if (nodes[program.result].dtype !== program.dtype)
    bad(program.result, `the program's dtype is ${program.dtype}`);
  return program;
}

function expectedDType(program: Program, node: Node, bad: (what: string) => never) {
  const args = node.args.map((a) => program.nodes[a].dtype);
  switch (node.op) {
    case "input":
      return program.inputs[node.index] ?? bad(`no operand ${node.index}`);
    case "param":
      return program.params[node.index] ?? bad(`no captured value ${node.index}`);
    case "const": {
      const row = dtypes[node.dtype];
      if (row.big !== (typeof node.value === "bigint")) bad("a constant of the wrong kind");
      if (!Object.is(row.wrap(node.value), node.value)) bad(`the constant ${node.value} is no ${node.dtype}`);
      return node.dtype;
    }
    case "cast":
      return args.length === 1 ? node.dtype : bad("a cast takes one argument");
    case "bitcast":
      if (dtypes[args[0]].bytes !== dtypes[node.dtype].bytes) bad(`bitcast from ${args[0]}`);
      return node.dtype;
    case "tuple":
      return args[0];
    case "rare":
      return args[1] === "bool" ? args[0] : bad("the second argument of rare is a bool");
    default:
      return resultDType(node.op, args);
  }
}
