/**
 * Functions of floats become arithmetic. Each transcendental is a function that appends primitive nodes to a Builder, so
 * one decomposition serves scalar code, SIMD lanes and the interpreter, and accuracy is measured once for all.
 *
 * Bounds, measured in math/math.test.ts, with and without fused multiply-add: f32 exp, log, tanh and sigmoid within
 * 1 ulp, the rest within 2; f64 within 2. Special values are JavaScript's.
 */
import { type DType, isFloat, isHalf } from "../dtype.ts";
import type { Builder } from "../ir/build.ts";
import { type Id, type Node, type Program, someNode } from "../ir/node.ts";
import { isOp, type OpName } from "../ir/ops.ts";
import { cosh, exp, exp2, expm1, sigmoid, sinh, tanh32, tanh64 } from "./math/exp.ts";
import {
  Calc,
  type DecomposeOptions,
  type Decomposition,
  type Float,
  type Formula,
  throughDouble,
} from "./math/kit.ts";
import { acosh, asinh, atanh, log1p, log2, log10, log32, log64 } from "./math/log.ts";
import { integerPower, moduloTable } from "./math/modulo.ts";
import { cbrt, hypot32, hypot64, pow32, pow64 } from "./math/pow.ts";
import { trigTable } from "./math/trig.ts";
import { rewrite } from "./rewrite.ts";

/** One formula a float dtype; on other dtypes the operation stays what it is. */
function floats(op: OpName, f32: Formula, f64: Formula): Decomposition {
  return (b, args, options) => {
    const dtype = b.dtypeOf(args[0]);
    const formula = dtype === "f32" ? f32 : dtype === "f64" ? f64 : null;
    return formula === null ? b.op(op, ...args) : formula(new Calc(b, dtype as Float, options), ...args);
  };
}

/** f32 has lanes of its own: the fastest form. */
const own = (op: OpName, formula: Formula) => floats(op, formula, formula);
/** f32 borrows f64's lanes. */
const wide = (op: OpName, formula: Formula) => floats(op, throughDouble(formula), formula);

/** Exact remainders of floats; integers divide elsewhere (exact.ts, and 64 bits lane by lane). */
function onFloats(op: "rem" | "floorMod" | "floorDivide"): Decomposition {
  return (b, args, options) =>
    isFloat(b.dtypeOf(args[0])) ? moduloTable[op]!(b, args, options) : b.op(op, ...args);
}

const floatPower = floats("pow", pow32, pow64);

export const decompositions: Partial<Record<OpName, Decomposition>> = {
  rem: onFloats("rem"),
  floorMod: onFloats("floorMod"),
  floorDivide: onFloats("floorDivide"),
  pow: (b, args, options) =>
    isFloat(b.dtypeOf(args[0])) ? floatPower(b, args, options) : integerPower(b, args, options),
  cbrt: wide("cbrt", cbrt),
  exp: own("exp", exp),
  exp2: own("exp2", exp2),
  expm1: wide("expm1", expm1),
  log: floats("log", log32, log64),
  log2: wide("log2", log2),
  log10: wide("log10", log10),
  log1p: wide("log1p", log1p),
  ...trigTable,
  sinh: wide("sinh", sinh),
  cosh: wide("cosh", cosh),
  tanh: floats("tanh", tanh32, tanh64),
  asinh: wide("asinh", asinh),
  acosh: wide("acosh", acosh),
  atanh: wide("atanh", atanh),
  hypot: floats("hypot", hypot32, hypot64),
  sigmoid: own("sigmoid", sigmoid),
};

export function decompose(program: Program, options: DecomposeOptions): Program {
  if (!someNode(program, (node) => Object.hasOwn(decompositions, node.op))) return program;
  return rewrite(program, (b: Builder, node: Node, args: readonly Id[]) => {
    const expand = isOp(node.op) ? decompositions[node.op] : undefined;
    return expand === undefined ? null : expand(b, args, options);
  });
}

/**
 * f16 and bf16 compute in f32: operands are widened where they come in, the result is rounded once where it goes out.
 * A cast to 16 bits that the function asks for still rounds, where it stands.
 */
export function widenHalf(program: Program): Program {
  if (!someNode(program, (node) => isHalf(node.dtype))) return program;
  const widened = rewrite(program, (b, node, args, of) => {
    if (node.op === "cast") return isHalf(node.dtype) ? castToHalf(b, node, args[0]) : null;
    if (node.op === "bitcast") {
      const from = of.nodes[node.args[0]].dtype;
      const x = b.bitcast(node.dtype, isHalf(from) ? round(b, from, args[0]) : args[0]);
      return isHalf(node.dtype) ? b.cast("f32", x) : x;
    }
    if (node.op === "tuple") {
      const dtypesOf = node.args.map((a) => program.nodes[a].dtype);
      return b.tuple(...args.map((x, k) => (isHalf(dtypesOf[k]) ? round(b, dtypesOf[k], x) : x)));
    }
    if (!isHalf(node.dtype)) return null;
    if (node.op === "const") return b.constant("f32", node.value, node.span);
    if (node.op === "input" || node.op === "param") return b.cast("f32", b.add({ ...node, args: [] }));
    if (node.op === "read") return b.cast("f32", b.add({ ...node, args }));
    return b.add({ ...node, args, dtype: "f32" });
  });
  const isRounded = widened.nodes[widened.result].op === "tuple" || !isHalf(program.dtype);
  return isRounded ? widened : rounded(widened, program.dtype);
}

/** What 8 bits or a bool hold is exact in any float. */
function castToHalf(b: Builder, node: Node, x: Id): Id {
  const from = b.dtypeOf(x);
  if (from === "bool" || from === "i8" || from === "u8") return b.cast("f32", x);
  return b.cast("f32", b.cast(node.dtype, x));
}

/** x, held in f32, as 16 bits; a value that was just widened from them is taken as it was. */
function round(b: Builder, dtype: DType, x: Id): Id {
  const node = b.nodes[x];
  const source = node.op === "cast" ? node.args[0] : -1;
  return source >= 0 && b.dtypeOf(source) === dtype ? source : b.cast(dtype, x);
}

function rounded(program: Program, dtype: DType): Program {
  const last = program.nodes[program.result];
  const source = last.op === "cast" ? program.nodes[last.args[0]] : null;
  // Just widened from 16 bits; but captured values are passed as f32.
  if (source !== null && source.dtype === dtype && source.op !== "param") {
    return rewrite({ ...program, result: last.args[0] }, () => null);
  }
  const nodes: Node[] = [...program.nodes, { op: "cast", dtype, args: [program.result] }];
  return { ...program, nodes, result: nodes.length - 1, dtype };
}
