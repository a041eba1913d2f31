/**
 * 8- and 16-bit integers live in 32-bit lanes. A lane is CLEAN when it equals its wrapped value, extended. Operations
 * whose low bits depend on low bits only (+ - · & | ^ ~ <<) take and give lanes that are not, so a chain of them
 * wraps once, where somebody looks at the whole lane; a store keeps the low bits anyway.
 */
import { type DType, dtypes } from "../../dtype.ts";
import type { Node, Program } from "../../ir/node.ts";

export function isNarrow(d: DType): boolean {
  return dtypes[d].bytes < 4 && dtypes[d].kind !== "bool" && dtypes[d].kind !== "float";
}

const lowBitsOnly = new Set([
  "add",
  "sub",
  "mul",
  "madd",
  "neg",
  "bitAnd",
  "bitOr",
  "bitXor",
  "bitNot",
  "shl",
]);
const keepsClean = new Set(["bitAnd", "bitOr", "bitXor", "select", "min", "max", "shr"]);

const alwaysClean = new Set(["input", "param", "const", "rare", "loop", "item", "read"]);

/** Must this argument be clean before the node may use it? */
export function wantsClean(program: Program, node: Node, arg: number): boolean {
  const from = program.nodes[node.args[arg]].dtype;
  if (!isNarrow(from)) return false;
  if (node.op === "select") return false;
  if (node.op === "cast") return !(isNarrow(node.dtype) && dtypes[node.dtype].bytes <= dtypes[from].bytes);
  return !lowBitsOnly.has(node.op);
}

/** Is the node's own lane clean, given which arguments are? */
export function givesClean(program: Program, node: Node, argsClean: readonly boolean[]): boolean {
  if (!isNarrow(node.dtype)) return true;
  if (alwaysClean.has(node.op)) return true;
  if (node.op === "cast")
    return castKeepsRange(program.nodes[node.args[0]].dtype, node.dtype) && argsClean[0];
  return keepsClean.has(node.op) && argsClean.every(Boolean);
}

function castKeepsRange(from: DType, to: DType): boolean {
  if (from === "bool") return true;
  return dtypes[from].min >= dtypes[to].min && dtypes[from].max <= dtypes[to].max;
}
