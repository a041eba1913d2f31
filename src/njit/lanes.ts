/** Programs as the emitters want them: by the compiler's passes, or as they are where each node is an instruction. */
import { type DType, dtypes, isFloat, isHalf } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id, Node, Program } from "../ir/node.ts";
import { isOp, type OpName } from "../ir/ops.ts";
import { printProgram } from "../ir/print.ts";
import { optimize } from "../optimize/pipeline.ts";
import { Recent } from "../run/recent.ts";
import { lowering } from "../wasm/program/lower.ts";

/** Programs that went through the passes: many expressions are alike. */
const known = new Recent<Program>(1000);

/** For lanes: what there is no scalar instruction for is spelled out, so that all lanes do it at once. */
export function lowered(program: Program, remainders = false): Program {
  if (program.nodes.every((node) => isDirect(program, node, remainders))) return program;
  const key = `${remainders ? "scalar " : ""}${program.inputs}\n${printProgram(program)}`;
  let made = known.get(key);
  if (made === undefined) {
    made = optimize(program, { fma: false, remainders });
    known.set(key, made);
  }
  return made;
}

/** For scalar code, which has instructions that lanes do not have. */
export function loweredScalar(program: Program): Program {
  let made = scalars.get(program);
  if (made === undefined) {
    made = lowered(withInstructions(program), true);
    scalars.set(program, made);
  }
  return made;
}

/** One program stands in several copies of a loop. */
const scalars = new WeakMap<Program, Program>();

const isSmall = (d: DType): boolean => d === "i32" || d === "u32";

/**
 * ToInt32 by way of 64 bits: what does not fit those is rare. The remainder of a sum is that of an index that goes round, (i + 1) % n:
 * it is seldom twice as large as n or larger, and nothing is divided until it is.
 */
function withInstructions(program: Program): Program {
  const { nodes } = program;
  const isRound = ({ op, dtype, args }: Node): boolean =>
    op === "rem" && dtype === "u32" && isSum(program, args[0]) && nodes[args[1]].op !== "const";
  if (!nodes.some((node) => node.op === "toInt32" || isRound(node))) return program;
  const b = new Builder();
  const made: Id[] = [];
  for (const node of nodes) {
    const args = node.args.map((a) => made[a]);
    if (isRound(node)) {
      const [x, n] = args;
      const once = b.op("select", b.op("lt", x, n), x, b.op("sub", x, n));
      made.push(b.rare(once, b.op("ge", once, n), "urem", x, n));
    } else if (node.op !== "toInt32") made.push(b.add({ ...node, args }));
    else {
      const x = b.cast("f64", args[0]);
      const fits = b.op("lt", b.op("abs", x), b.constant("f64", 2 ** 63));
      made.push(b.rare(b.cast("i32", b.cast("i64", x)), b.op("not", fits), "toInt32", x));
    }
  }
  return b.finish(made[program.result], program.inputs, program.params);
}

/** A sum or a difference, whatever it is converted to. */
function isSum({ nodes }: Program, id: Id): boolean {
  let node = nodes[id];
  while (node.op === "cast") node = nodes[node.args[0]];
  return node.op === "add" || node.op === "sub";
}

const isNarrow = (d: DType): boolean => dtypes[d].bytes < 4 && d !== "bool";
/** Spelled out by the passes on some dtypes. */
const partial: ReadonlySet<OpName> = new Set<OpName>(["rem", "floorMod", "floorDivide"]);

/** Is the node one of the emitter's own operations, on this dtype? */
function isDirect({ nodes }: Program, node: Node, remainders: boolean): boolean {
  if (isHalf(node.dtype)) return false;
  if (remainders && node.op === "rem" && isSmall(node.dtype)) return true;
  if (node.op === "input" || node.op === "const") return true;
  if (node.op === "cast") return !(isFloat(nodes[node.args[0]].dtype) && isNarrow(node.dtype));
  return isOp(node.op) && lowering[node.op] !== "decomposed" && !partial.has(node.op);
}
