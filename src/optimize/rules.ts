/**
 * Exact algebra, one row a law. "Exact" means: the same bits for every input, NaN, -0 and rounding included. Rows are
 * tried in order at each node, on arguments that are already simplified.
 */
import { type DType, dtypes, isFloat, isInteger, type Value } from "../dtype.ts";
import type { Builder } from "../ir/build.ts";
import { evaluator } from "../ir/eval.ts";
import type { Id, Node, Program } from "../ir/node.ts";
import { isOp, type OpName, ops } from "../ir/ops.ts";
import { constantOf, rewrite } from "./rewrite.ts";

export interface Rule {
  readonly name: string;
  readonly law: string;
  readonly apply: (b: Builder, node: Node, args: readonly Id[]) => Id | null;
}

const is = (node: Node, ...names: OpName[]): boolean => names.includes(node.op as OpName);
const isConst = (b: Builder, id: Id, value: number): boolean => {
  const c = constantOf(b, id);
  return c !== undefined && (typeof c === "bigint" ? c === BigInt(value) : Object.is(c, value));
};
/** 2^k with a normal reciprocal in the dtype, so that dividing and multiplying by the reciprocal round alike. */
function hasExactReciprocal(value: Value | undefined, dtype: DType): boolean {
  if (typeof value !== "number" || !Number.isFinite(value) || value === 0) return false;
  const e = Math.log2(Math.abs(value));
  return Number.isInteger(e) && Math.abs(e) <= (dtype === "f64" ? 1022 : dtype === "f32" ? 126 : 14);
}

export const exactRules: readonly Rule[] = [
  {
    name: "fold",
    law: "an operation on constants is a constant",
    apply: (b, node, args) => {
      const stays = node.op === "rare" || node.op === "tuple" || node.op === "read";
      if (args.length === 0 || stays) return null;
      if (!args.every((a) => constantOf(b, a) !== undefined)) return null;
      const nodes = args.map((a) => b.nodes[a]);
      const alone: Program = {
        nodes: [...nodes, { ...node, args: args.map((_, i) => i) }],
        result: args.length,
        inputs: [],
        params: [],
        dtype: node.dtype,
      };
      const value = evaluator(alone)([]);
      return Object.is(dtypes[node.dtype].wrap(value), value) ? b.constant(node.dtype, value) : null;
    },
  },
  {
    name: "constant-right",
    law: "c ∘ x = x ∘ c for operations that commute",
    apply: (b, node, [x, y]) => {
      if (!isOp(node.op) || !ops[node.op].commutes) return null;
      if (constantOf(b, x) === undefined || constantOf(b, y) !== undefined) return null;
      return simplifyOp(b, node.op, [y, x]);
    },
  },
  {
    name: "add-zero",
    law: "x + 0 = x on integers, x + -0 = x and x - 0 = x on floats",
    apply: (b, node, [x, y]) => {
      if (!is(node, "add", "sub")) return null;
      const zero = isFloat(node.dtype) && node.op === "add" ? -0 : 0;
      return isConst(b, y, zero) ? x : null;
    },
  },
  {
    name: "mul-one",
    law: "x · 1 = x, x / 1 = x",
    apply: (b, node, [x, y]) => (is(node, "mul", "div") && isConst(b, y, 1) ? x : null),
  },
  {
    name: "mul-zero",
    law: "x · 0 = 0 on integers",
    apply: (b, node, [, y]) => (is(node, "mul") && isInteger(node.dtype) && isConst(b, y, 0) ? y : null),
  },
  {
    name: "mul-minus-one",
    law: "x · -1 = -x",
    apply: (b, node, [x, y]) => (is(node, "mul") && isConst(b, y, -1) ? b.op("neg", x) : null),
  },
  {
    name: "div-power-of-two",
    law: "x / 2^k = x · 2^-k, both exact scalings rounded once",
    apply: (b, node, [x, y]) => {
      if (!is(node, "div") || !hasExactReciprocal(constantOf(b, y), node.dtype)) return null;
      return b.op("mul", x, b.constant(node.dtype, 1 / (constantOf(b, y) as number)));
    },
  },
  {
    name: "mul-power-of-two",
    law: "x · 2^k = x << k on integers",
    apply: (b, node, [x, y]) => {
      if (!is(node, "mul") || !isInteger(node.dtype) || dtypes[node.dtype].big) return null;
      const c = constantOf(b, y);
      if (typeof c !== "number" || c < 2 || !Number.isInteger(Math.log2(c))) return null;
      return b.op("shl", x, b.constant(node.dtype, Math.log2(c)));
    },
  },
  {
    name: "double-negation",
    law: "-(-x) = x, !!x = x, ~~x = x on integers",
    apply: (b, node, [x]) => {
      if (!is(node, "neg", "not", "bitNot") || b.nodes[x].op !== node.op) return null;
      return b.nodes[x].args[0];
    },
  },
  {
    name: "abs",
    law: "|-x| = |x|, ||x|| = |x|, and |x| = x for unsigned x",
    apply: (b, node, [x]) => {
      if (!is(node, "abs")) return null;
      if (dtypes[node.dtype].kind === "uint") return x;
      const inner = b.nodes[x];
      if (inner.op === "abs") return x;
      return inner.op === "neg" ? b.op("abs", inner.args[0]) : null;
    },
  },
  {
    name: "select-same",
    law: "c ? x : x = x, and a constant c decides",
    apply: (b, node, [c, x, y]) => {
      if (!is(node, "select")) return null;
      if (x === y) return x;
      const known = constantOf(b, c);
      return known === undefined ? null : known ? x : y;
    },
  },
  {
    name: "select-not",
    law: "!c ? x : y = c ? y : x",
    apply: (b, node, [c, x, y]) =>
      is(node, "select") && b.nodes[c].op === "not" ? b.op("select", b.nodes[c].args[0], y, x) : null,
  },
  {
    name: "not-equal",
    law: "!(x == y) = (x != y), also for NaN",
    apply: (b, node, [x]) => {
      const inner = b.nodes[x];
      if (!is(node, "not") || !(inner.op === "eq" || inner.op === "ne")) return null;
      return b.op(inner.op === "eq" ? "ne" : "eq", ...inner.args);
    },
  },
  {
    name: "max-constant",
    law: "max(x, c) = (x < c ? c : x) for c ≠ ±0, NaN stays; max(x, +0) = (x < 0 ? 0 : x) + 0, which turns -0 to +0",
    apply: (b, node, [x, y]) => {
      if (!is(node, "max") || !isFloat(node.dtype)) return null;
      const c = constantOf(b, y);
      if (c === undefined || Number.isNaN(c)) return null;
      const chosen = b.op("pmax", x, y);
      return Object.is(c, 0) ? b.op("add", chosen, y) : chosen;
    },
  },
  {
    name: "min-constant",
    law: "min(x, c) = (c < x ? c : x) for c ≠ -0, NaN stays",
    apply: (b, node, [x, y]) => {
      if (!is(node, "min") || !isFloat(node.dtype)) return null;
      const c = constantOf(b, y);
      return c === undefined || Number.isNaN(c) || Object.is(c, -0) ? null : b.op("pmin", x, y);
    },
  },
  {
    name: "cast-chain",
    law: "a cast to a dtype that holds every value and back is nothing",
    apply: (b, node, [x]) => {
      const inner = b.nodes[x];
      if (node.op !== "cast" || inner.op !== "cast") return null;
      const from = b.dtypeOf(inner.args[0]);
      return from === node.dtype && holds(inner.dtype, from) ? inner.args[0] : null;
    },
  },
  {
    name: "bitcast-chain",
    law: "bits read as another dtype and back are the same bits",
    apply: (b, node, [x]) => {
      const inner = b.nodes[x];
      if (node.op !== "bitcast" || inner.op !== "bitcast") return null;
      return b.bitcast(node.dtype, inner.args[0]);
    },
  },
  {
    name: "narrow-arithmetic",
    law: "f32(f64(x) ∘ f64(y)) = x ∘ y for + - · / and sqrt: 53 bits are twice 24 and two more",
    apply: (b, node, [x]) => {
      if (node.op !== "cast" || node.dtype !== "f32" || b.dtypeOf(x) !== "f64") return null;
      const inner = b.nodes[x];
      if (!is(inner, "add", "sub", "mul", "div", "sqrt")) return null;
      const args = inner.args.map((a) => narrowed(b, a));
      return args.every((a) => a !== null) ? b.op(inner.op as OpName, ...(args as Id[])) : null;
    },
  },
];

/**
 * Algebra that may change the last bits, NaN or the sign of a zero; only where `fastMath` allows it. The result still has
 * the working dtype's precision.
 */
export const fastRules: readonly Rule[] = [
  {
    name: "div-constant",
    law: "x / c ≈ x · (1 / c), one more rounding",
    apply: (b, node, [x, y]) => {
      if (!is(node, "div")) return null;
      const c = constantOf(b, y);
      if (typeof c !== "number" || c === 0 || !Number.isFinite(1 / c)) return null;
      return b.op("mul", x, b.constant(node.dtype, dtypes[node.dtype].wrap(1 / c)));
    },
  },
  {
    name: "fuse",
    law: "a · b + c with one rounding instead of two, where the host can",
    apply: (b, node, [x, y]) => {
      if (!is(node, "add") || !isFloat(node.dtype)) return null;
      const left = b.nodes[x];
      if (left.op === "mul") return b.op("madd", left.args[0], left.args[1], y);
      const right = b.nodes[y];
      return right.op === "mul" ? b.op("madd", right.args[0], right.args[1], x) : null;
    },
  },
  {
    name: "extreme",
    law: "max(a, b) = (a < b ? b : a): a NaN in b is lost, and so is the order of -0 and 0",
    apply: (b, node, args) => {
      if (!is(node, "max", "min") || !isFloat(node.dtype)) return null;
      return b.op(node.op === "max" ? "pmax" : "pmin", args[0], args[1]);
    },
  },
];

/** The f32 behind an f64 node that only widened it, or that is a constant f32 can hold. */
function narrowed(b: Builder, id: Id): Id | null {
  const node = b.nodes[id];
  if (node.op === "cast" && b.dtypeOf(node.args[0]) === "f32") return node.args[0];
  if (
    node.op === "const" &&
    typeof node.value === "number" &&
    Object.is(Math.fround(node.value), node.value)
  ) {
    return b.constant("f32", node.value);
  }
  return null;
}

/** Does every value of `from` survive in `dtype`? */
function holds(dtype: DType, from: DType): boolean {
  const d = dtypes[dtype];
  const f = dtypes[from];
  if (from === "bool") return true;
  if (d.kind === "float") {
    if (f.kind === "float") return d.bytes > f.bytes;
    return f.bytes * 8 <= (dtype === "f64" ? 53 : dtype === "f32" ? 24 : 8);
  }
  if (f.kind === "float") return false;
  return d.bytes > f.bytes && (d.kind === "int" || f.kind === "uint");
}

function simplifyOp(b: Builder, op: OpName, args: readonly Id[]): Id {
  const node = { op, args, dtype: b.nodes[args[0]].dtype } as Node;
  for (const rule of exactRules) {
    if (rule.name === "constant-right") continue;
    const done = rule.apply(b, node, args);
    if (done !== null) return done;
  }
  return b.op(op, ...args);
}

export function simplify(program: Program, rules: readonly Rule[] = exactRules): Program {
  return rewrite(program, (b, node, args) => {
    for (const rule of rules) {
      const id = rule.apply(b, node, args);
      if (id !== null) return id;
    }
    return null;
  });
}
