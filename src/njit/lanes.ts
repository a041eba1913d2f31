/** Scalar programs as the emitter wants them: by the compiler's passes, or as they are where each node is an instruction. */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import type { Node, Program } from "../ir/node.ts";
import { isOp, type OpName } from "../ir/ops.ts";
import { printProgram } from "../ir/print.ts";
import { optimize } from "../optimize/pipeline.ts";
import { Recent } from "../run/recent.ts";
import { lowering } from "../wasm/program/lower.ts";

/** Programs that went through the passes: many expressions are alike. */
const known = new Recent<Program>(1000);

export function lowered(program: Program): Program {
  if (program.nodes.every((node) => isDirect(program, node))) return program;
  const key = `${program.inputs}\n${printProgram(program)}`;
  let made = known.get(key);
  if (made === undefined) {
    made = optimize(program, { fma: false });
    known.set(key, made);
  }
  return made;
}

const isHalf = (d: DType): boolean => d === "f16" || d === "bf16";
const isNarrow = (d: DType): boolean => dtypes[d].bytes < 4 && d !== "bool";
/** Spelled out by the passes on some dtypes. */
const partial: ReadonlySet<OpName> = new Set<OpName>(["rem", "floorMod", "floorDivide"]);

/** Is the node one of the emitter's own operations, on this dtype? */
function isDirect({ nodes }: Program, node: Node): boolean {
  if (isHalf(node.dtype)) return false;
  if (node.op === "input" || node.op === "const") return true;
  if (node.op === "cast") return !(isFloat(nodes[node.args[0]].dtype) && isNarrow(node.dtype));
  return isOp(node.op) && lowering[node.op] !== "decomposed" && !partial.has(node.op);
}
