/** Checks a Program against the rules every backend relies on; runs between the compiler's passes. */
import { type DType, dtypes } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { resultDType } from "./build.ts";
import { type LoopNode, type Node, type Program, resultsOf } from "./node.ts";

export function verify(program: Program, after: string): Program {
  const { nodes } = program;
  const bad = (id: number, what: string): never =>
    unreachable(`after ${after}, node ${id} (${nodes[id]?.op}): ${what}`);
  nodes.forEach((node, id) => {
    for (const a of node.args) {
      if (!Number.isInteger(a) || a < 0 || a >= id) bad(id, `argument ${a} does not come before it`);
    }
    if (node.op === "loop") verify(node.body, `${after} (in the loop ${id})`);
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
    case "loop":
      return loopDType(node, args, bad);
    case "item": {
      const loop = program.nodes[node.args[0]];
      if (loop.op !== "loop" || !(node.index < loop.carried)) return bad("it is no item of a loop");
      return program.nodes[loop.args[1 + node.index]].dtype;
    }
    case "read":
      if (args[0] !== "bool") bad("the guard of a read is a bool");
      if (args[1] !== "u32" || (args.length - 2) % 3 !== 0) bad("a read takes an address and axes");
      args.slice(2).forEach((d, i) => {
        if (i % 3 === 0 ? !indexDTypes.has(d) : d !== "u32") bad(`a read with ${d} as argument ${i + 2}`);
      });
      return node.dtype;
    default:
      return resultDType(node.op, args);
  }
}

/** What an index of a read may be. */
const indexDTypes: ReadonlySet<string> = new Set(["i32", "u32", "i64", "u64", "f64"]);

function loopDType(
  { body, carried }: LoopNode,
  [guard, ...args]: readonly DType[],
  bad: (what: string) => never,
): DType {
  if (guard !== "bool") bad("its guard is a bool");
  if (!(carried > 0 && carried <= args.length)) bad(`it carries ${carried} of ${args.length} values`);
  if (body.inputs.join() !== args.join()) bad(`its body takes ${body.inputs}, it is given ${args}`);
  if (body.params.length > 0) bad("its body has captured values of its own");
  const results = resultsOf(body).map((id) => body.nodes[id].dtype);
  const expected = ["bool", ...args.slice(0, carried)];
  if (results.join() !== expected.join()) bad(`its body gives ${results}, it must give ${expected}`);
  return args[0];
}
