/**
 * From a Template to a Program: every node gets a dtype, every conversion becomes a `cast`.
 *
 * THE LAW. Operands have dtypes; literals and captured numbers are WEAK, as Python scalars are to NumPy 2:
 * - with a float dtype they take it (f16 and bf16 too), rounded: what is too large is infinite
 * - an integer-valued one takes an integer dtype; a literal must fit it (`x + 300` on u8 is an error)
 * - but a COMPARISON with a literal that does not fit, of a float dtype too, is done in f64
 * - one that is no integer makes an integer or bool dtype f64; an integer makes bool i32
 * - a bigint takes an integer or float dtype, and makes bool i64
 * - weak with weak stays weak: literals fold as in JavaScript, captured numbers are computed in f64 (bigints in
 *   i64) and converted where they meet an operand; a choice between weak values is converted branch by branch
 * - still weak at the end (`x => x > 0 ? 1 : 0`): as if it met the operands, so f32 stays f32; without any operand
 *   f64, i64 for bigints
 * Booleans are not weak: true, false and captured booleans are bool.
 *
 * Then by rule (ir/ops.ts), on the promoted dtype d:
 *   arith     d, bool as i32                     lattice   d
 *   float     d, integers and bool as f64        integral  integers unchanged, bool as i32
 *   compare   in d, gives bool                   classify  in its own dtype, gives bool
 *   logic     in bool                            select    [bool, d, d]
 *   bits      integer d; floats through ToInt32 in i32 (`>>>` in u32), and back to d; shift: bool as i32
 *   int32     in i32; back to d if d is a float
 *
 * What a loop carries has one dtype: the least that holds where it starts and what each round makes of it, found by trying.
 * A carried value that only meets literals stays weak, computed in f64 (bigints in i64).
 *
 * A captured number is passed in the one dtype it is used in; used in several it is passed as f64 (bigint: i64)
 * and cast.
 */
import { convert, type DType, dtypes, isFloat, isInteger, promoteAll, type Value } from "../dtype.ts";
import { fail, TensorError, unreachable } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import {
  type Id,
  isEffect,
  type Program,
  type Region,
  type Span,
  type Template,
  type TemplateLoop,
  type TemplateNode,
} from "../ir/node.ts";
import { type OpName, ops, type Rule } from "../ir/ops.ts";
import { verify } from "../ir/verify.ts";
import { withCaret } from "./refusal.ts";
import { fold, type Literal } from "./template.ts";

/** The weak kind of a captured scalar: an integer-valued number, another number, a bigint, a boolean. */
export type ParamKind = "int" | "float" | "big" | "bool";

export interface SpecializeOptions {
  /** The result is cast to it at the end. */
  readonly dtype?: DType | undefined;
  /** Named in messages; the template's own name otherwise. */
  readonly operation?: string;
}

export function specialize(
  template: Template,
  inputs: readonly DType[],
  params: readonly ParamKind[] = [],
  options: SpecializeOptions = {},
): Program {
  // Not what somebody may have put on Object.prototype.
  const { dtype, operation: given } = Object.assign(Object.create(null), options) as SpecializeOptions;
  const operation = given ?? (template.name || "kernel");
  if (inputs.length < template.inputs) {
    fail("kernel", operation, `the function takes ${template.inputs} operands, got ${inputs.length}.`);
  }
  if (params.length !== template.params.length) {
    unreachable(`${operation} has ${template.params.length} captured values, got ${params.length} kinds`);
  }
  const carriers = params.map(carrierOf);
  const first = new Inference(template, inputs, params, carriers, operation);
  const program = first.run(dtype);
  const direct = first.uses.map((uses, i) => (uses.size === 1 ? [...uses][0] : carriers[i]));
  const settled = direct.every((d, i) => d === carriers[i])
    ? program
    : new Inference(template, inputs, params, direct, operation).run(dtype);
  return verify(settled, "inference");
}

/* Captured scalars --------------------------------------------------------------------------------------- */

export function paramKind(value: unknown): ParamKind {
  switch (typeof value) {
    case "number":
      return Number.isInteger(value) ? "int" : "float";
    case "bigint":
      return "big";
    case "boolean":
      return "bool";
    default:
      return unreachable(`a captured ${typeof value}`);
  }
}

/** The value to pass for a captured scalar, in the dtype its program asks for. */
export function paramValue(value: unknown, dtype: DType, operation = "kernel"): Value {
  if (typeof value === "boolean") return convert(Number(value), "bool", dtype);
  if (typeof value !== "number" && typeof value !== "bigint")
    return unreachable(`a captured ${typeof value}`);
  const whole = typeof value === "bigint" || Number.isInteger(value);
  if (whole && isInteger(dtype) && !fits(value, dtype)) {
    fail("dtype", operation, `the value ${value} does not fit ${dtype}.`, "Convert the operands first.");
  }
  return literalAs(value, dtype);
}

const carrierOf = (kind: ParamKind): DType => (kind === "big" ? "i64" : kind === "bool" ? "bool" : "f64");

/* Weak values -------------------------------------------------------------------------------------------- */

type WeakKind = "int" | "float" | "big";

/** A number that takes its dtype from what it meets. */
type Weak = { readonly weak: WeakKind; readonly span: Span | undefined } & (
  | { readonly form: "literal"; readonly value: number | bigint }
  | { readonly form: "param"; readonly index: number }
  /** Computed, in f64 or i64. */
  | { readonly form: "computed"; readonly id: Id }
  | {
      readonly form: "choice";
      readonly test: Id;
      readonly a: Weak;
      readonly b: Weak;
      readonly leaves: number;
    }
);
/** A typed node, or a weak value. */
type Operand = Id | Weak;

const isWeak = (x: Operand): x is Weak => typeof x !== "number";

function fits(value: number | bigint, dtype: DType): boolean {
  if (isFloat(dtype)) return value === Infinity || value === -Infinity || !isOutside(value, dtype);
  return (typeof value === "bigint" || Number.isInteger(value)) && !isOutside(value, dtype);
}

const isOutside = (value: Value, dtype: DType): boolean =>
  value < dtypes[dtype].min || value > dtypes[dtype].max;

/** A literal outside of 64-bit integers that it is compared with is an infinity: in f64 they might round to it. */
function besides(x: Operand, dtype: DType): Operand {
  if (!isWeak(x) || !dtypes[dtype].big) return x;
  if (x.form === "choice" && x.leaves <= maxLeaves)
    return { ...x, a: besides(x.a, dtype) as Weak, b: besides(x.b, dtype) as Weak };
  if (x.form !== "literal" || !isOutside(x.value, dtype)) return x;
  return { ...x, weak: "float", value: x.value < 0 ? -Infinity : Infinity };
}

/** A literal in a dtype: floats round, integers that do not fit saturate as casts do. */
function literalAs(value: number | bigint, dtype: DType): Value {
  if (typeof value === "number") return convert(value, "f64", dtype);
  return dtype === "i64" ? BigInt.asIntN(64, value) : convert(value, "i64", dtype);
}

/** Operations on choices between up to this many literals are done now, branch by branch. */
const maxLeaves = 16;

/** Operations that keep integers integers, so that their weak results still take an integer dtype. */
function weakResult(op: OpName, args: readonly Weak[]): WeakKind {
  const { rule } = ops[op];
  if (rule === "float") return "float";
  if (args.some((a) => a.weak === "big")) return "big";
  if (rule === "integral" || rule === "bits" || rule === "shift" || rule === "int32") return "int";
  if (op === "pow") {
    const [base, exponent] = args;
    const whole = exponent.form === "literal" && exponent.weak === "int" && exponent.value >= 0;
    return whole ? base.weak : "float";
  }
  return args.every((a) => a.weak === "int") ? "int" : "float";
}

/* The walk ----------------------------------------------------------------------------------------------- */

/** What a carried value is: a dtype, or weak still. */
type Carried = DType | { readonly weak: WeakKind };

const isWeakly = (c: Carried): c is { readonly weak: WeakKind } => typeof c !== "string";
const heldAs = (c: Carried): DType => (isWeakly(c) ? (c.weak === "big" ? "i64" : "f64") : c);
const sameCarried = (a: Carried, b: Carried): boolean =>
  isWeakly(a) ? isWeakly(b) && a.weak === b.weak : a === b;

/** Where a loop's round gets what lies outside of it. */
interface Outside {
  /** Operands of the round, the carried ones first. */
  readonly inputs: readonly Operand[];
  /** The round's own node for a captured value. */
  readonly param: (index: number) => Id;
}

class Inference {
  /** For each captured scalar, the dtypes it is used in. */
  readonly uses: readonly Set<DType>[];
  readonly #b: Builder;
  readonly #template: Template;
  readonly #inputs: readonly DType[];
  readonly #kinds: readonly ParamKind[];
  readonly #params: readonly DType[];
  readonly #operation: string;

  readonly #outside: Outside | null;
  /** By node: what a loop carries. */
  readonly #carried = new Map<Id, readonly Carried[]>();

  constructor(
    template: Template,
    inputs: readonly DType[],
    kinds: readonly ParamKind[],
    params: readonly DType[],
    operation: string,
    builder = new Builder(),
    outside: Outside | null = null,
  ) {
    this.#template = template;
    this.#inputs = inputs;
    this.#kinds = kinds;
    this.#params = params;
    this.#operation = operation;
    this.#b = builder;
    this.#outside = outside;
    this.uses = kinds.map(() => new Set());
  }

  #walk(region: Region): Operand[] {
    const wanted = reachable(region);
    const values: Operand[] = [];
    region.nodes.forEach((node, id) => {
      values.push(wanted[id] ? this.#node(node, values) : 0);
    });
    return values;
  }

  run(dtype: DType | undefined): Program {
    const { nodes, result } = this.#template;
    const values = this.#walk(this.#template);
    const stored = (id: Id) => {
      const value = values[id];
      const typed = isWeak(value) ? this.#take(value, dtype ?? this.#settle(value)) : value;
      return dtype === undefined ? typed : this.#b.cast(dtype, typed);
    };
    const last = nodes[result];
    const made = last.op === "tuple" ? this.#b.tuple(...last.args.map(stored)) : stored(result);
    return this.#b.finish(made, this.#inputs, this.#params);
  }

  /** The dtype of a result that met no operand on its way: that of all of them. */
  #settle(weak: Weak): DType {
    if (this.#inputs.length === 0) return natural(weak);
    return this.#meet(promoteAll(this.#entries()), weak, "widen", undefined);
  }

  /** The operands' dtypes, as the function sees them: one that is converted first counts as what it becomes. */
  #entries(): readonly DType[] {
    const { nodes, compute } = this.#template;
    if (compute !== undefined) return [compute];
    const inputs = [...this.#inputs];
    for (const node of nodes) {
      // A cast to bool asks for the truth of an operand.
      if (node.op !== "cast" || node.dtype === "bool") continue;
      const from = nodes[node.args[0]];
      if (from.op === "input") inputs[from.index] = node.dtype;
    }
    return inputs;
  }

  #node(node: TemplateNode, values: readonly Operand[]): Operand {
    const { span } = node;
    switch (node.op) {
      // The list itself is made at the end.
      case "tuple":
        return 0;
      case "input":
        if (this.#outside !== null) return this.#outside.inputs[node.index];
        return this.#b.input(node.index, this.#inputs[node.index], span);
      case "loop":
        return this.#loop(node, values);
      case "item": {
        const loop = values[node.args[0]] as Id;
        const id = this.#b.item(loop, node.index);
        const of = this.#carried.get(loop)![node.index];
        return isWeakly(of) ? { form: "computed", weak: of.weak, id, span } : id;
      }
      case "read":
        return this.#read(node, values);
      case "param": {
        const { index } = node;
        const kind = this.#kinds[index];
        if (kind !== "bool") return { form: "param", weak: kind, index, span };
        return this.#param(index, span);
      }
      case "literal":
        return this.#literal(node.value, span);
      case "cast": {
        const x = values[node.args[0]];
        return isWeak(x) ? this.#take(x, node.dtype) : this.#b.cast(node.dtype, x, span);
      }
      default:
        return this.#op(
          node.op,
          node.args.map((a) => values[a]),
          span,
          node.boolean,
        );
    }
  }

  #literal(value: Literal, span: Span | undefined): Operand {
    if (typeof value === "boolean") return this.#b.constant("bool", value ? 1 : 0, span);
    const weak = typeof value === "bigint" ? "big" : Number.isInteger(value) ? "int" : "float";
    return { form: "literal", weak, value, span };
  }

  #param(index: number, span?: Span): Id {
    return this.#outside?.param(index) ?? this.#b.param(index, this.#params[index], span);
  }

  /* Tables and loops --------------------------------------------------------------------------------- */

  /** Indices are integers of 32 or 64 bits, or f64; an address and what is added to it are 32 bits. */
  #read(node: TemplateNode & { op: "read" }, values: readonly Operand[]): Id {
    const b = this.#b;
    const [guard, address, ...axes] = node.args.map((a) => values[a]);
    const facts = axes.map((x, i) => (i % 3 === 0 ? this.#index(x) : this.#as(x, "u32")));
    const args = [this.#truth(guard, node.span), this.#as(address, "u32"), ...facts];
    const { name, dtype, span } = node;
    return b.add({ op: "read", name, dtype, args, ...(span === undefined ? {} : { span }) });
  }

  #index(x: Operand): Id {
    if (isWeak(x)) {
      const isSmall = x.form === "literal" && fits(x.value, "i32");
      return this.#take(x, isSmall ? "i32" : natural(x));
    }
    const d = this.#b.dtypeOf(x);
    if (isFloat(d)) return this.#b.cast("f64", x);
    return dtypes[d].bytes < 4 ? this.#b.cast("i32", x) : x;
  }

  /** A loop, once it is known what it carries. */
  #loop(node: TemplateLoop, values: readonly Operand[]): Id {
    const [guard, ...given] = node.args.map((a) => values[a]);
    const starts = given.slice(0, node.carried);
    const first = starts.map((x, k): Carried | null => {
      if (node.loose[k]) return null;
      return isWeak(x) ? { weak: x.weak } : this.#b.dtypeOf(x);
    });
    let carried = first;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const round = new Round(node, carried, given.slice(node.carried), this);
      const next = carried.map((c, k) => this.#join(c, first[k], round.next[k], starts[k], round, node.span));
      if (next.every((c, k) => c !== null && carried[k] !== null && sameCarried(c, carried[k]))) {
        const settled = carried as readonly Carried[];
        return this.#closeLoop(node, guard, starts, settled, round);
      }
      carried = next;
    }
    return unreachable("what a loop carries has no dtype");
  }

  /** What a carried value must be to hold where it starts, what it was thought to be, and what a round makes of it. */
  #join(
    now: Carried | null,
    first: Carried | null,
    next: Operand,
    start: Operand,
    round: Round,
    span: Span | undefined,
  ): Carried {
    const made: Carried = isWeak(next) ? { weak: next.weak } : round.dtypeOf(next);
    if (now === null) return made;
    if (isWeakly(now) && isWeakly(made)) {
      if ((now.weak === "big") !== (made.weak === "big")) this.#mixes(span);
      return now.weak === made.weak ? now : { weak: "float" };
    }
    if (isWeakly(made)) return this.#meet(now as DType, next as Weak, "strict", span);
    if (!isWeakly(now)) return promoteAll([now, made]);
    // It started weak: as if where it starts met what it became.
    const weak: Weak =
      first !== null && isWeak(start) && start.weak === now.weak
        ? start
        : { form: "computed", weak: now.weak, id: 0, span };
    return this.#meet(made, weak, "strict", span);
  }

  #closeLoop(
    node: TemplateLoop,
    guard: Operand,
    starts: readonly Operand[],
    carried: readonly Carried[],
    round: Round,
  ): Id {
    const b = this.#b;
    const held = carried.map(heldAs);
    const begins = starts.map((x, k) =>
      node.loose[k] ? b.constant(held[k], dtypes[held[k]].big ? 0n : 0) : this.#as(x, held[k]),
    );
    const { body, imports } = round.finish(held);
    const args = [this.#truth(guard, node.span), ...begins, ...imports.map((make) => make())];
    round.inference.uses.forEach((uses, i) => {
      for (const d of uses) this.uses[i].add(d);
    });
    const id = b.loop(node.carried, args, body, node.span);
    this.#carried.set(id, carried);
    return id;
  }

  /* For rounds, which know this inference as what lies around them. */

  inner(region: Region, builder: Builder, outside: Outside): Inference {
    const template = { ...this.#template, ...region };
    return new Inference(template, [], this.#kinds, this.#params, this.#operation, builder, outside);
  }
  walkRegion(): Operand[] {
    return this.#walk(this.#template);
  }
  dtypeOf(id: Id): DType {
    return this.#b.dtypeOf(id);
  }
  paramType(index: number): DType {
    return this.#params[index];
  }
  paramHere(index: number): Id {
    return this.#param(index);
  }
  taken(x: Operand, d: DType): Id {
    return this.#as(x, d);
  }
  truthOf(x: Operand): Id {
    return this.#truth(x, undefined);
  }

  #op(op: OpName, args: readonly Operand[], span: Span | undefined, boolean?: 1 | 2): Operand {
    if (op === "select") return this.#select(args, span, boolean);
    if (args.every(isWeak)) return this.#weakOp(op, args, span);
    return this.#typedOp(op, args, span);
  }

  /* Weak with weak ----------------------------------------------------------------------------------- */

  #weakOp(op: OpName, args: readonly Weak[], span: Span | undefined): Operand {
    const choice = args.find((a) => a.form === "choice");
    if (args.every((a) => a.form === "literal")) {
      const folded = fold(
        op,
        args.map((a) => a.value),
      );
      if (folded !== null) return this.#literal(folded, span);
    } else if (choice !== undefined && args.reduce((n, a) => n * leavesOf(a), 1) <= maxLeaves) {
      const branch = (side: Weak) =>
        this.#weakOp(
          op,
          args.map((a) => (a === choice ? side : a)),
          span,
        );
      return this.#choose(choice.test, branch(choice.a), branch(choice.b), span);
    }
    const bigs = args.filter((a) => a.weak === "big").length;
    const isMix = bigs > 0 && bigs < args.length;
    if (isMix && ops[op].rule !== "compare") this.#mixes(span);
    const carrier = bigs === args.length ? "i64" : "f64";
    const isConstant = args.every((a) => a.form === "literal");
    const typed = args.map((a) => (a.form === "literal" && !isConstant ? a : this.#take(a, carrier)));
    const id = this.#typedOp(op, typed, span);
    if (this.#b.dtypeOf(id) === "bool") return id;
    const weak = weakResult(op, args);
    return {
      form: "computed",
      weak,
      id: weak === "big" ? this.#b.cast("i64", id) : this.#b.cast("f64", id),
      span,
    };
  }

  #mixes(span: Span | undefined): never {
    return this.#error(
      "this mixes a bigint and a number.",
      span,
      "Write both as numbers, or both as bigints.",
    );
  }

  /* Choices ------------------------------------------------------------------------------------------ */

  #select(args: readonly Operand[], span: Span | undefined, boolean: 1 | 2 | undefined): Operand {
    const [test, a, b] = args;
    if (isWeak(test) && test.form === "literal") return test.value ? a : b;
    const [yes, no] = boolean === undefined ? [a, b] : this.#booleans(a, b, boolean);
    return this.#choose(this.#truth(test, span), yes, no, span);
  }

  /** A boolean that became 1 or 0 is one again where the other side is bool. */
  #booleans(a: Operand, b: Operand, boolean: 1 | 2): readonly [Operand, Operand] {
    const [was, other] = boolean === 1 ? [a, b] : [b, a];
    if (!isWeak(was) || isWeak(other) || this.#b.dtypeOf(other) !== "bool") return [a, b];
    const again = this.#unmade(was);
    return boolean === 1 ? [again, other] : [other, again];
  }

  #unmade(number: Weak): Id {
    const isOne = (x: Weak) => x.form === "literal" && x.value === 1;
    if (number.form === "literal") return this.#b.constant("bool", isOne(number) ? 1 : 0, number.span);
    if (number.form !== "choice") return unreachable("a boolean became something else than 1 or 0");
    return isOne(number.a) ? number.test : this.#b.opAt(number.span, "not", [number.test]);
  }

  #choose(test: Id, a: Operand, b: Operand, span: Span | undefined): Operand {
    if (isWeak(a) && isWeak(b)) {
      if ((a.weak === "big") !== (b.weak === "big")) this.#mixes(span);
      const weak = a.weak === b.weak ? a.weak : "float";
      return { form: "choice", weak, test, a, b, leaves: leavesOf(a) + leavesOf(b), span };
    }
    const d = this.#common([a, b], "strict", span);
    return this.#b.opAt(span, "select", [test, this.#as(a, d), this.#as(b, d)]);
  }

  /** JavaScript's truth of a value: bool. */
  #truth(x: Operand, span: Span | undefined): Id {
    const id = isWeak(x) ? this.#take(x, natural(x)) : x;
    return this.#b.dtypeOf(id) === "bool" ? id : this.#b.opAt(span, "truthy", [id]);
  }

  /* Typed operations, by rule ------------------------------------------------------------------------ */

  /** At least one operand has a dtype. */
  #typedOp(op: OpName, args: readonly Operand[], span: Span | undefined): Id {
    const b = this.#b;
    const { rule } = ops[op];
    const all = (d: DType) =>
      b.opAt(
        span,
        op,
        args.map((a) => this.#as(a, d)),
      );
    switch (rule) {
      case "arith": {
        const d = this.#common(args, "strict", span);
        return all(d === "bool" ? "i32" : d);
      }
      case "lattice":
        return all(this.#common(args, "strict", span));
      case "float": {
        const d = this.#common(args, "loose", span);
        if (op === "fround" && isFloat(d) && d !== "f64") return this.#as(args[0], d);
        return all(isFloat(d) ? d : "f64");
      }
      case "integral": {
        const d = this.#common(args, "strict", span);
        return isFloat(d) ? all(d) : this.#as(args[0], d === "bool" ? "i32" : d);
      }
      case "compare": {
        const signs = this.#compareSigns(op, args, span);
        if (signs !== null) return signs;
        const d = this.#common(args, "widen", span);
        const typed = args.flatMap((a) => (isWeak(a) ? [] : [b.dtypeOf(a)]));
        const outside = args.some((a) => isWeak(a) && misfit(a, d) !== null);
        const sides = args.map((a) => this.#as(typed.reduce(besides, a), outside ? "f64" : d));
        return b.opAt(span, op, sides);
      }
      case "logic":
        return all("bool");
      case "classify": {
        const [x] = args;
        return op === "truthy" ? this.#truth(x, span) : b.opAt(span, op, [this.#as(x, this.#natural(x))]);
      }
      case "bits":
      case "shift":
        return this.#bits(op, rule, args, span);
      case "int32": {
        const d = this.#common(args, "loose", span);
        const ints = args.map((a) => this.#toInt32(a, "i32", span));
        if (op === "toInt32") return ints[0];
        const result = b.opAt(span, op, ints);
        return isFloat(d) ? b.cast(d, result, span) : result;
      }
      default:
        return unreachable(`no typed rule for ${op}`);
    }
  }

  #bits(op: OpName, rule: Rule, args: readonly Operand[], span: Span | undefined): Id {
    const b = this.#b;
    const integers = args.every((a) => isWeak(a) || !isFloat(b.dtypeOf(a)));
    const d = this.#common(args, "strict", span);
    if (!isFloat(d)) {
      const working = d === "bool" && rule === "shift" ? "i32" : d;
      return b.opAt(
        span,
        op,
        args.map((a) => this.#as(a, working)),
      );
    }
    if (integers && args.every((a) => !isWeak(a))) {
      const names = args.map((a) => b.dtypeOf(a as Id)).join(" and ");
      this.#error(`no integer dtype holds both ${names}.`, span, "Convert one of them first.");
    }
    const working = args.map((a) => this.#toInt32(a, op === "shru" ? "u32" : "i32", span));
    return b.cast(d, b.opAt(span, op, working), span);
  }

  /** ToInt32 and ToUint32: modulo 2^32. */
  #toInt32(x: Operand, d: "i32" | "u32", span: Span | undefined): Id {
    const b = this.#b;
    if (isWeak(x) && x.form === "literal") {
      const low = typeof x.value === "bigint" ? Number(BigInt.asIntN(32, x.value)) : x.value | 0;
      return b.constant(d, convert(low, "i32", d), x.span);
    }
    const id = isWeak(x) ? this.#take(x, natural(x)) : x;
    return b.cast(d, isFloat(b.dtypeOf(id)) ? b.opAt(span, "toInt32", [id]) : b.cast("i32", id, span));
  }

  /* Common dtypes ------------------------------------------------------------------------------------ */

  #natural(x: Operand): DType {
    return isWeak(x) ? natural(x) : this.#b.dtypeOf(x);
  }

  /**
   * The dtype the operands meet in. An integer literal that does not fit is an error (strict), makes it f64
   * (widen), or does not matter because the operation leaves the integers anyway (loose).
   */
  /** i64 with u64: no dtype holds both, but the comparison is exact: a negative number is less than any u64. */
  #compareSigns(op: OpName, args: readonly Operand[], span: Span | undefined): Id | null {
    const b = this.#b;
    const [x, y] = args;
    if (isWeak(x) || isWeak(y)) return null;
    const kinds = `${b.dtypeOf(x)},${b.dtypeOf(y)}`;
    if (kinds === "u64,i64") {
      const mirrored = { lt: "gt", le: "ge", gt: "lt", ge: "le", eq: "eq", ne: "ne" } as const;
      return this.#compareSigns(mirrored[op as keyof typeof mirrored], [y, x], span);
    }
    if (kinds !== "i64,u64") return null;
    const negative = b.opAt(span, "lt", [x, b.constant("i64", 0n)]);
    const unsigned = b.opAt(span, op, [b.cast("u64", x), y]);
    if (op === "lt" || op === "le" || op === "ne") return b.opAt(span, "or", [negative, unsigned]);
    return b.opAt(span, "and", [b.opAt(span, "not", [negative]), unsigned]);
  }

  #common(args: readonly Operand[], mode: "strict" | "widen" | "loose", span: Span | undefined): DType {
    const typed = args.flatMap((a) => (isWeak(a) ? [] : [this.#b.dtypeOf(a)]));
    let d: DType | null = typed.length === 0 ? null : promoteAll(typed);
    for (const a of args) {
      if (isWeak(a)) d = d === null ? natural(a) : this.#meet(d, a, mode, span);
    }
    return d ?? unreachable("an operation without operands");
  }

  #meet(d: DType, weak: Weak, mode: "strict" | "widen" | "loose", span: Span | undefined): DType {
    if (isFloat(d)) return d;
    if (weak.weak === "float") return "f64";
    const target = d !== "bool" ? d : weak.weak === "big" ? "i64" : "i32";
    const outside = misfit(weak, target);
    if (outside === null || mode === "loose") return target;
    if (mode === "widen" || d === "bool") return "f64";
    return this.#error(
      `literal ${outside.value}${typeof outside.value === "bigint" ? "n" : ""} does not fit ${d}.`,
      outside.span ?? span,
      `${d} holds ${dtypes[d].min} to ${dtypes[d].max}; convert the operand first, for example to("${wider(d)}").`,
    );
  }

  #as(x: Operand, d: DType): Id {
    return isWeak(x) ? this.#take(x, d) : this.#b.cast(d, x);
  }

  /** A weak value in a dtype. Choices are walked with a stack of their own: they may be deep. */
  #take(weak: Weak, d: DType): Id {
    const b = this.#b;
    const made = new Map<Weak, Id>();
    const work: Weak[] = [weak];
    while (work.length > 0) {
      const w = work[work.length - 1];
      if (w.form === "choice") {
        const missing = [w.a, w.b].find((side) => !made.has(side));
        if (missing !== undefined && !made.has(w)) {
          work.push(missing);
          continue;
        }
        if (!made.has(w)) made.set(w, b.opAt(w.span, "select", [w.test, made.get(w.a)!, made.get(w.b)!]));
      } else if (w.form === "literal") made.set(w, b.constant(d, literalAs(w.value, d), w.span));
      else if (w.form === "computed") made.set(w, b.cast(d, w.id, w.span));
      else {
        this.uses[w.index].add(d);
        made.set(w, b.cast(d, this.#param(w.index, w.span)));
      }
      work.pop();
    }
    return made.get(weak)!;
  }

  #error(fact: string, span: Span | undefined, remedy: string): never {
    throw new TensorError(
      "dtype",
      withCaret(`${this.#operation}: ${fact}`, this.#template.source, span, remedy),
    );
  }
}

/** Tries until a loop's dtypes stand still: each can change a few times only. */
const MOST_ATTEMPTS = 200;

/** A round of a loop, for what it is thought to carry. */
class Round {
  readonly inference: Inference;
  /** What the carried values become. */
  readonly next: readonly Operand[];
  readonly #going: Operand;
  readonly #b = new Builder();
  readonly #parent: Inference;
  readonly #carried: number;
  /** Values from outside, by what they are there: the input that stands for each. */
  readonly #imports = new Map<string, { readonly id: Id; readonly make: () => Id }>();

  constructor(
    { body, carried: count }: TemplateLoop,
    carried: readonly (Carried | null)[],
    outside: readonly Operand[],
    parent: Inference,
  ) {
    this.#parent = parent;
    this.#carried = count;
    const own = carried.map((c, index): Operand => {
      // Nobody looks at one that is not known yet.
      const id = this.#b.input(index, c === null ? "f64" : heldAs(c));
      return c !== null && isWeakly(c) ? { form: "computed", weak: c.weak, id, span: undefined } : id;
    });
    const inputs = [...own, ...outside.map((x) => this.#importOperand(x))];
    this.inference = parent.inner(body, this.#b, { inputs, param: (index) => this.#importParam(index) });
    const values = this.inference.walkRegion();
    const last = body.nodes[body.result];
    const [going, ...next] = (last.op === "tuple" ? last.args : []).map((a) => values[a]);
    this.#going = going;
    this.next = next;
  }

  dtypeOf(id: Id): DType {
    return this.#b.dtypeOf(id);
  }

  /** The body as a program, and what makes its inputs from outside. */
  finish(held: readonly DType[]): { readonly body: Program; readonly imports: readonly (() => Id)[] } {
    const next = this.next.map((x, k) => this.inference.taken(x, held[k]));
    const result = this.#b.tuple(this.inference.truthOf(this.#going), ...next);
    const imports = [...this.#imports.values()];
    const types = imports.map(({ id }) => this.#b.dtypeOf(id));
    return { body: this.#b.finish(result, [...held, ...types]), imports: imports.map(({ make }) => make) };
  }

  #import(key: string, dtype: DType, make: () => Id): Id {
    let known = this.#imports.get(key);
    if (known === undefined) {
      known = { id: this.#b.input(this.#carried + this.#imports.size, dtype), make };
      this.#imports.set(key, known);
    }
    return known.id;
  }

  #importId(id: Id): Id {
    return this.#import(`node ${id}`, this.#parent.dtypeOf(id), () => id);
  }

  #importParam(index: number): Id {
    return this.#import(`param ${index}`, this.#parent.paramType(index), () => this.#parent.paramHere(index));
  }

  #importOperand(x: Operand): Operand {
    if (!isWeak(x)) return this.#importId(x);
    switch (x.form) {
      case "literal":
      case "param":
        return x;
      case "computed":
        return { ...x, id: this.#importId(x.id) };
      case "choice": {
        if (x.leaves > maxLeaves) {
          const id = this.#parent.taken(x, natural(x));
          return { form: "computed", weak: x.weak, id: this.#importId(id), span: x.span };
        }
        const [a, b] = [x.a, x.b].map((side) => this.#importOperand(side) as Weak);
        return { ...x, test: this.#importId(x.test), a, b };
      }
    }
  }
}

/** The dtype of a weak value that meets nothing. */
const natural = (weak: Weak): DType => (weak.weak === "big" ? "i64" : "f64");

/** How many literals a value is chosen from; no end of them if it is computed. */
const leavesOf = (weak: Weak): number =>
  weak.form === "choice" ? weak.leaves : weak.form === "literal" ? 1 : Infinity;

/** A literal in it that the dtype cannot hold. */
function misfit(weak: Weak, dtype: DType): (Weak & { form: "literal" }) | null {
  const seen = new Set<Weak>();
  const work: Weak[] = [weak];
  for (let w = work.pop(); w !== undefined; w = work.pop()) {
    if (seen.has(w)) continue;
    seen.add(w);
    if (w.form === "choice") work.push(w.b, w.a);
    else if (w.form === "literal" && !fits(w.value, dtype)) return w;
  }
  return null;
}

const wider = (d: DType): DType => (dtypes[d].bytes < 4 ? "i32" : "f64");

/** Which nodes the result needs. */
function reachable(template: Region): boolean[] {
  const wanted = template.nodes.map(isEffect);
  wanted[template.result] = true;
  for (let id = template.nodes.length - 1; id >= 0; id--) {
    const node = template.nodes[id];
    if (wanted[id] && "args" in node) for (const a of node.args) wanted[a] = true;
  }
  return wanted;
}
