/**
 * Folds as programs. A fold is one step (acc, x0, x1, …) → acc; where the step is `acc ∘ f(x…)` with an associative and
 * commutative ∘ the elements may be grouped at will, and f is fused into the loop. Everything else keeps its order.
 *
 * The accumulator is CARRIED in a dtype of its own: sums and products of floats in f64 (rounded once, at the end), other
 * folds of f16 and bf16 in f32, the rest in what the function says. Sums of f32 and narrower floats add a few neighbours
 * EARLY, in f32, before they are carried: see docs/decisions/0009-sums-of-floats.md.
 */
import { convert, type DType, dtypes, isFloat, isHalf, type Value } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import { type Id, isEffect, type Node, type Program } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { rewrite } from "./rewrite.ts";

export interface Algebra {
  readonly op: OpName;
  /** [acc, acc] → acc. */
  readonly combine: Program;
  /** A carried value e with e ∘ x = x. */
  readonly identity: Value;
  /** How a few elements may be joined before they are carried; null: each is carried by itself. */
  readonly early: Early | null;
}

/**
 * carry = enter(carry, join(join(value(x…), value(y…)), …)): cheaper than a step for each, but right only if what is
 * watched holds; if not, the elements are folded again, step by step.
 *
 * finite: the fold is. (Sums of numbers that fit their dtype may not fit it.)
 * numbers: all values are, and the fold is not zero. (A one-sided maximum loses NaN, and takes either zero.)
 */
export interface Early {
  readonly watch: "finite" | "numbers";
  /** [acc, x0, x1, …] → value; acc is not used. */
  readonly value: Program;
  /** [value, value] → value. */
  readonly join: Program;
  /** [acc, value] → acc. */
  readonly enter: Program;
}

export interface Fold {
  /** [acc, x0, x1, …] → acc, both carried. */
  readonly step: Program;
  readonly carry: DType;
  /** null: the steps are done one after the other, in C order. */
  readonly algebra: Algebra | null;
  /** [x0, x1, …] → carried: where a fold without a start value begins. Only for folds that keep their order. */
  readonly first: Program | null;
  /** [acc] → the result; captured values of its own. */
  readonly finish: Program;
  /** Is `finish` nothing at all? */
  readonly plain: boolean;
  /** A start value in the function's own dtype → carried. */
  readonly enter: (init: Value) => Value;
}

/** What is done with the accumulator at the end, before it is stored: a mean divides, a norm takes the root. */
export interface Ending {
  readonly params: readonly DType[];
  readonly make: (b: Builder, acc: Id) => Id;
}

export interface FoldMaking {
  readonly ending?: Ending;
  /** [x0, …] → acc, the value of a first element. Default: the element itself. */
  readonly first?: Program;
  /** Keep the order whatever the function: a scan shows every step. */
  readonly ordered?: boolean;
  /** The fold starts at its first element: then `acc ∘ f(x)` may be regrouped only if f(x) is the element itself. */
  readonly startless?: boolean;
}

/** The fold of a typed program [acc, x0, …] → acc, its result stored as `result`. */
export function makeFold(program: Program, result: DType, making: FoldMaking = {}): Fold {
  const found = making.ordered ? null : recognise(program);
  const known =
    found !== null && making.startless && !isFirst(program, found.value, making.first) ? null : found;
  const ending = making.ending ?? null;
  return known === null
    ? orderedFold(program, result, ending, making.first)
    : regroupedFold(program, known, result, ending);
}

/* Known algebra ---------------------------------------------------------------------------------------- */

interface Recognised {
  readonly op: OpName;
  /** The argument that is not the accumulator, and does not depend on it. */
  readonly value: Id;
}

/** e with e ∘ x = x for every x, the sign of zero included. */
const identities: Partial<Record<OpName, (d: DType) => Value>> = {
  add: (d) => (isFloat(d) ? -0 : zero(d)),
  mul: (d) => (dtypes[d].big ? 1n : 1),
  min: (d) => (isFloat(d) ? Number.POSITIVE_INFINITY : dtypes[d].max),
  max: (d) => (isFloat(d) ? Number.NEGATIVE_INFINITY : dtypes[d].min),
  and: () => 1,
  or: () => 0,
  bitAnd: (d) => (dtypes[d].kind === "int" ? dtypes[d].wrap(dtypes[d].big ? -1n : -1) : dtypes[d].max),
  bitOr: (d) => zero(d),
  bitXor: (d) => zero(d),
};
const zero = (d: DType): Value => (dtypes[d].big ? 0n : 0);

export function recognise(program: Program): Recognised | null {
  const { nodes, result } = program;
  const root = nodes[result];
  if (identities[root.op as OpName] === undefined) return null;
  const isAcc = (id: Id) => {
    const node = nodes[id];
    return node.op === "input" && node.index === 0;
  };
  const [a, b] = root.args;
  if (isAcc(a) === isAcc(b)) return null;
  const value = isAcc(a) ? b : a;
  const depends = dependingOnAcc(nodes);
  if (depends[value] || nodes.some((node, id) => isEffect(node) && depends[id])) return null;
  return { op: root.op as OpName, value };
}

function dependingOnAcc(nodes: readonly Node[]): boolean[] {
  const depends: boolean[] = [];
  for (const node of nodes) {
    depends.push((node.op === "input" && node.index === 0) || node.args.some((a) => depends[a]));
  }
  return depends;
}

/** Is the value what a fold without a start value would begin with? */
function isFirst(program: Program, value: Id, first: Program | undefined): boolean {
  const b = new Builder();
  const found = copyNodes(b, program, value);
  const shift = (node: Node): Node => (node.op === "input" ? { ...node, index: node.index + 1 } : node);
  const start =
    first === undefined
      ? b.input(1, program.inputs[1])
      : copyNodes(b, { ...first, nodes: first.nodes.map(shift), inputs: program.inputs }, first.result);
  return b.cast(program.dtype, start) === found;
}

function carryOf(op: OpName, d: DType): DType {
  if (isFloat(d) && (op === "add" || op === "mul")) return "f64";
  return isHalf(d) ? "f32" : d;
}

function regroupedFold(
  program: Program,
  { op, value }: Recognised,
  result: DType,
  ending: Ending | null,
): Fold {
  const d = program.dtype;
  const carry = carryOf(op, d);
  const [, ...inputs] = program.inputs;
  // The largest of floats is the smallest of their negatives: see `smaller`.
  const turned = op === "max" && isFloat(carry);
  const isSmaller = isFloat(carry) && (op === "min" || op === "max");
  const join = (b: Builder, x: Id, y: Id) => (isSmaller ? smaller(b, x, y) : b.op(op, x, y));

  const b = new Builder();
  const x = b.cast(carry, copyNodes(b, program, value));
  const step = b.finish(
    join(b, b.input(0, carry), turned ? negative(b, x) : x),
    [carry, ...inputs],
    program.params,
  );
  const c = new Builder();
  const combine = c.finish(join(c, c.input(0, carry), c.input(1, carry)), [carry, carry]);

  const e = new Builder();
  const acc = e.input(0, carry);
  const end = finishProgram(e, turned ? e.op("neg", acc) : acc, d, carry, result, ending);
  const identity = turned ? Number.POSITIVE_INFINITY : identities[op]!(carry);
  const early =
    op === "add" && result !== "f64"
      ? earlySum(program, value, carry)
      : isSmaller
        ? earlyExtreme(program, value, carry, turned)
        : null;
  return {
    step,
    carry,
    algebra: { op, combine, identity, early },
    first: null,
    finish: end,
    plain: isPlain(end),
    enter: (init) => (turned ? -(convert(init, d, carry) as number) : convert(init, d, carry)),
  };
}

/**
 * min(x, y) of floats in three instructions: the two one-sided minima differ only for zeros of two signs and for NaN,
 * and there their bits, or-ed, are -0 and NaN.
 */
function smaller(b: Builder, x: Id, y: Id): Id {
  const d = b.dtypeOf(x);
  const bits = d === "f64" ? "i64" : "i32";
  const either = b.op("bitOr", b.bitcast(bits, b.op("pmin", x, y)), b.bitcast(bits, b.op("pmin", y, x)));
  return b.bitcast(d, either);
}

/** -x by its bits, with a mask that is made once: V8 makes the mask of `neg` anew for every vector. */
function negative(b: Builder, x: Id): Id {
  const d = b.dtypeOf(x);
  const [bits, sign]: [DType, Value] = d === "f64" ? ["i64", -(2n ** 63n)] : ["i32", -(2 ** 31)];
  return b.bitcast(d, b.op("bitXor", b.bitcast(bits, x), b.constant(bits, sign)));
}

/** A sum of values that are f32 or narrower, carried in f64 but not asked for in it: neighbours are added in f32 first. */
function earlySum(program: Program, of: Id, carry: DType): Early | null {
  let value = of;
  while (program.nodes[value].op === "cast" && program.nodes[value].dtype === carry)
    [value] = program.nodes[value].args;
  const { dtype } = program.nodes[value];
  if (carry !== "f64" || !isFloat(dtype) || dtype === carry) return null;
  const e = new Builder();
  return {
    watch: "finite",
    value: valueProgram(program, value, "f32", carry),
    join: joinProgram("add", "f32"),
    enter: e.finish(e.op("add", e.input(0, carry), e.cast(carry, e.input(1, "f32"))), [carry, "f32"]),
  };
}

/** The largest of a few by one-sided comparisons, of which the processor has an instruction. */
function earlyExtreme(program: Program, value: Id, carry: DType, turned: boolean): Early {
  const e = new Builder();
  const v = e.input(1, carry);
  return {
    watch: "numbers",
    value: valueProgram(program, value, carry, carry),
    join: joinProgram(turned ? "pmax" : "pmin", carry),
    enter: e.finish(smaller(e, e.input(0, carry), turned ? negative(e, v) : v), [carry, carry]),
  };
}

/** [acc, x0, …] → the value of a node, as `as`. */
function valueProgram(program: Program, value: Id, as: DType, carry: DType): Program {
  const b = new Builder();
  const inputs = [carry, ...program.inputs.slice(1)];
  return b.finish(b.cast(as, copyNodes(b, program, value)), inputs, program.params);
}

function joinProgram(op: OpName, d: DType): Program {
  const b = new Builder();
  return b.finish(b.op(op, b.input(0, d), b.input(1, d)), [d, d]);
}

/** The nodes `of` needs, written into `b`. */
function copyNodes(b: Builder, program: Program, of: Id): Id {
  const pruned = rewrite({ ...program, result: of, dtype: program.nodes[of].dtype }, () => null);
  const places: Id[] = [];
  for (const node of pruned.nodes) places.push(b.add({ ...node, args: node.args.map((a) => places[a]) }));
  return places[pruned.result];
}

function finishProgram(
  b: Builder,
  acc: Id,
  own: DType,
  carry: DType,
  result: DType,
  ending: Ending | null,
): Program {
  const value = ending === null ? acc : ending.make(b, acc);
  // A result of another dtype than the function's own goes through it, as the function's value would.
  const through =
    ending === null && own !== result && !(isFloat(own) && isFloat(result)) ? b.cast(own, value) : value;
  return b.finish(b.cast(result, through), [carry], ending?.params ?? []);
}

const isPlain = (p: Program): boolean => p.nodes[p.result].op === "input";

/* Folds that keep their order ----------------------------------------------------------------------------- */

function orderedFold(
  program: Program,
  result: DType,
  ending: Ending | null,
  start: Program | undefined,
): Fold {
  const d = program.dtype;
  const step = isHalf(d) ? carryInFloat(program) : program;
  const carry = step.dtype;
  const [, ...inputs] = program.inputs;
  const f = new Builder();
  const value = start === undefined ? f.input(0, inputs[0]) : copyNodes(f, start, start.result);
  const first = f.finish(f.cast(carry, f.cast(d, value)), inputs, start?.params ?? []);
  const e = new Builder();
  const end = finishProgram(e, e.input(0, carry), d, carry, result, ending);
  return {
    step,
    carry,
    algebra: null,
    first,
    finish: end,
    plain: isPlain(end),
    enter: (init) => convert(init, d, carry),
  };
}

/** A program on f16 or bf16 as one on f32, accumulator included: inside programs they are held in f32 anyway. */
function carryInFloat(program: Program): Program {
  const wide = rewrite({ ...program, inputs: ["f32", ...program.inputs.slice(1)] }, (b, node, args) => {
    if (node.op === "cast" && isHalf(node.dtype)) return b.cast("f32", b.cast(node.dtype, args[0]));
    if (!isHalf(node.dtype)) return null;
    if (node.op === "input" && node.index === 0) return b.input(0, "f32");
    if (node.op === "const") return b.constant("f32", node.value);
    if (node.op === "input" || node.op === "param") return b.cast("f32", b.add({ ...node, args: [] }));
    return b.add({ ...node, args, dtype: "f32" } as Node);
  });
  return wide;
}
