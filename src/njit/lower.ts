/**
 * From a tree and its types to Code: every expression becomes a typed scalar program, every conversion a cast. Numbers are
 * held as integers of 32 or 64 bits or as doubles; here it is decided, operation by operation, what it works in.
 */
import { convert, type DType, dtypes, isFloat, isInteger } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { fold } from "../frontend/template.ts";
import { Builder } from "../ir/build.ts";
import type { Id, Program } from "../ir/node.ts";
import { type OpName, ops } from "../ir/ops.ts";
import { whyInexact, whyRounded } from "./exact.ts";
import { identityOf } from "./forks.ts";
import type { Env, Typed } from "./infer.ts";
import {
  type ArrayInfo,
  CHECKS,
  type Code,
  type Expression,
  jumpsTo,
  type LocalInfo,
  lifted,
  type Site,
  type Step,
} from "./ir.ts";
import { anything, isInt, isLong, isUint, type Range } from "./range.ts";
import { refuse, textOf } from "./refuse.ts";
import {
  type ArrayRef,
  type Expr,
  expressionsOf,
  type Loop,
  type LoopPlan,
  type Place,
  type Stmt,
} from "./tree.ts";
import {
  asNumber,
  comparedType,
  dtypeOf,
  elementType,
  inFloat32,
  isBig,
  isInFloat32,
  operationType,
  type Type,
} from "./types.ts";
import { verifyCode } from "./verify.ts";

/** `places` learns where in the source each step comes from. */
export function lowerCode(typed: Typed, places: Map<Step, Place> | null = null): Code {
  return verifyCode(new Lowering(typed, places).run(), "lowering");
}

/** A value in a program under construction. */
interface Value {
  readonly id: Id;
  readonly type: Type;
}

/** What the blocks and loops around a step are to labels; null: nothing jumps to it. */
type Target = { readonly label: number; readonly by: "break" | "continue" } | null;

class Lowering {
  readonly #typed: Typed;
  readonly #locals: LocalInfo[] = [];
  readonly #arrays: ArrayInfo[] = [];
  readonly #arrayIds = new Map<string, number>();
  readonly #scalars: { local: number; argument: number }[] = [];
  readonly #sizes: { local: number; array: number; axis: number | "size" }[] = [];
  readonly #known = new Map<string, number>();
  readonly #sites: Site[] = [];
  readonly #targets: Target[] = [];
  /** What constants of this turn are, and what each loop around sets in its body. */
  #definitions = new Map<number, Expr>();
  readonly #moving: ReadonlySet<number>[] = [];
  #results: (DType | { argument: number })[] | null = null;
  readonly #places: Map<Step, Place> | null;

  constructor(typed: Typed, places: Map<Step, Place> | null) {
    this.#typed = typed;
    this.#places = places;
  }

  run(): Code {
    const { tree, variables } = this.#typed;
    tree.variables.forEach(({ name }, id) => {
      this.#locals.push({ name, dtype: dtypeOf(variables[id]) });
    });
    this.#results = this.#resultDTypes(tree.body);
    const body = this.#list(tree.body);
    return {
      name: tree.name,
      locals: this.#locals,
      arrays: this.#arrays,
      scalars: this.#scalars,
      sizes: this.#sizes,
      words: [],
      body,
      sites: this.#sites,
      unrolled: [],
      results: this.#results ?? [],
      returns: tree.returns,
    };
  }

  /* Statements ------------------------------------------------------------------------------------------- */

  /** What cannot be reached has no types, and is left out. */
  #list(stmts: readonly Stmt[]): Step[] {
    return stmts.flatMap((s) => {
      const env = this.#typed.before.get(s);
      if (env === undefined) return [];
      // A loop's test is computed in the loop.
      const exprs = s.op === "loop" ? [] : expressionsOf(s);
      const steps = [...exprs.flatMap((e) => this.#checks(e, env)), ...this.#steps(s, env)];
      // A loop's lines are told by what is in it.
      if (s.op !== "loop" && s.op !== "block") for (const step of steps) this.#places?.set(step, s.place);
      return steps;
    });
  }

  #steps(s: Stmt, env: Env): Step[] {
    switch (s.op) {
      case "set":
        this.#define(s);
        return [{ op: "set", local: s.id, value: this.#expression(s.value, env, this.#locals[s.id].dtype) }];
      case "load":
      case "store":
        return [this.#access(s, env)];
      case "if": {
        const test = this.#test(s.test, env);
        return [{ op: "if", test, yes: this.#list(s.yes), no: this.#list(s.no) }];
      }
      case "block":
        return [
          { op: "block", body: this.#inside({ label: s.label, by: "break" }, () => this.#list(s.body)) },
        ];
      case "loop":
        return [s.parallel === null ? this.#loop(s) : this.#prange(s)];
      case "break":
      case "continue":
        return [{ op: "break", depth: this.#depthOf(s.label, s.op) }];
      case "return":
        return [{ op: "return", values: this.#returned(s.values, env) }];
    }
  }

  /** What has to be looked at before an expression is computed: divisors of bigints, and numbers that are to be some. */
  #checks(expr: Expr, env: Env): Step[] {
    if (!("args" in expr)) return [];
    const { typeOf, narrowed } = this.#typed;
    const [x, y, z] = expr.args;
    const under = (test: Expr, sides: readonly (Expr | null)[]): Step[] => {
      const [yes, no] = sides.map((side, k) => {
        const known = narrowed(test, k === 0, env);
        return side === null || known === null ? [] : this.#checks(side, known);
      });
      const before = this.#checks(test, env);
      if (yes.length + no.length === 0) return before;
      return [...before, { op: "if", test: this.#test(test, env), yes, no }];
    };
    if (expr.op === "select") return under(x, [y, z]);
    if (expr.op === "and") return under(x, [y, null]);
    if (expr.op === "or") return under(x, [null, y]);
    const inner = expr.args.flatMap((a) => this.#checks(a, env));
    if ((expr.op === "div" || expr.op === "rem") && isBig(typeOf(y, env))) {
      if (y.op === "literal" && y.value !== 0n) return inner;
      return [...inner, this.#check("/", expr.place, env, (p) => p.isZero(y))];
    }
    if (expr.op !== "big" || isBig(typeOf(x, env))) return inner;
    const { kind, range } = asNumber(typeOf(x, env));
    if (kind === "number" && range.whole && !range.nan) return inner;
    return [...inner, this.#check("BigInt", expr.place, env, (p) => p.unlessLong(x))];
  }

  #check(access: Site["access"], place: Place, env: Env, index: (p: ProgramBuilder) => Id): Step {
    const array = this.#checked;
    const site = this.#sites.push({ array, access, place }) - 1;
    const local = this.#once(CHECKS, "", "i32", () => {});
    const p = new ProgramBuilder(this, env);
    return { op: "load", local, array, index: [p.finish(index(p))], proved: [false], site };
  }

  #inside(target: Target, write: () => Step[]): Step[] {
    this.#targets.push(target);
    const steps = write();
    this.#targets.pop();
    return steps;
  }

  #depthOf(label: number, by: "break" | "continue"): number {
    const at = this.#targets.findLastIndex((t) => t !== null && t.label === label && t.by === by);
    return at < 0 ? unreachable(`njit: no label ${label}`) : this.#targets.length - 1 - at;
  }

  /** A prange loop is a fork, if its turns can be counted and nothing else forbids it. */
  #prange(s: Loop): Step {
    const { tree, typeOf } = this.#typed;
    const { counter } = s.parallel!;
    const env = this.#typed.atTest.get(s);
    const plan = tree.plans.get(s);
    if (env === undefined || plan === undefined) return this.#loop(s);
    const end = (s.test as Expr & { args: readonly Expr[] }).args[1];
    const isCounted = this.#locals[counter].dtype === "i32" && isInt(typeOf(end, env).range);
    const set = s.update[0] as Stmt & { op: "set" };
    const by = (set.value as Expr & { args: readonly Expr[] }).args[1];
    const step = by.op === "literal" ? Number(by.value) : 0;
    const why =
      !isCounted || !Number.isInteger(step)
        ? "its bounds are not known to be 32-bit integers"
        : this.#whyInOrder(plan, s, env);
    if (why !== null) return this.#loop(s, null, why);
    const limit = this.#locals.push({ name: "limit", dtype: "i32" }) - 1;
    const p = new ProgramBuilder(this, env);
    const below = p.finish(p.b.op("lt", p.local(counter), p.local(limit)));
    return {
      op: "fork",
      body: [this.#loop(s, below)],
      counter,
      limit,
      step,
      end: this.#expression(end, env, "i32"),
      reductions: plan.reductions.map(({ variable, op }) => ({ local: variable, op })),
      inOrder: this.#inOrder(plan, env),
      place: s.place,
    };
  }

  /** Why the types do not show what the plan takes for granted; null: they do. */
  #whyInOrder({ assumptions, reductions }: LoopPlan, loop: Loop, env: Env): string | null {
    const own = setIn(loop);
    // Of what the turns set, what is known everywhere.
    const ranges = (at: Env) => {
      const all = at.map((range, id) => {
        const known = this.#typed.variables[id]?.range ?? null;
        return own.has(id) ? known : (range ?? known);
      });
      return (leaf: Expr): Range | null => {
        const { kind, range } = asNumber(this.#typed.typeOf(leaf, all));
        return kind === "number" ? range : null;
      };
    };
    for (const a of assumptions) {
      const at = a.is === "index" ? this.#typed.before.get(a.at) : env;
      // What is not reached has no index.
      if (a.is === "nonzero" || at === undefined) continue;
      const rangeOf = ranges(at);
      if (a.is === "int") {
        if (isInt(rangeOf(a.expr) ?? anything)) continue;
        return `${textOf(a.expr.place)} is not known to be a 32-bit integer`;
      }
      const why = a.is === "index" ? whyInexact(a.expr, rangeOf) : whyRounded(a.expr, rangeOf);
      if (why !== null) return why;
    }
    for (const { variable, op } of reductions) {
      const { name, dtype } = this.#locals[variable];
      if (identityOf(op, dtype) === null) return `"${name}" is ${dtype}, and has no ${op} of its own`;
    }
    return null;
  }

  #inOrder({ assumptions }: LoopPlan, env: Env): Expression | null {
    const tests = assumptions.flatMap(({ is, expr }) => (is === "nonzero" ? [expr] : []));
    if (tests.length === 0) return null;
    const p = new ProgramBuilder(this, env);
    const zeros = tests.map((e) => p.b.op("eq", p.as(p.value(e), "f64"), p.b.constant("f64", 0)));
    return p.finish(zeros.reduce((a, b) => p.b.op("or", a, b)));
  }

  /**
   * block { loop { head; leave unless test; block { body }; update; again } }, or with head and test at the end. `below`: a
   * test of its own.
   */
  #loop(s: Loop, below: Expression | null = null, why?: string): Step {
    const { label } = s;
    const goesOn = (): Step[] => {
      const head = this.#list(s.head);
      const env = s.test === null ? undefined : this.#typed.atTest.get(s);
      if (s.test === null || env === undefined) return head;
      const leave: Step = { op: "break", depth: this.#depthOf(label, "break") };
      const test: Step = { op: "if", test: below ?? this.#test(s.test, env), yes: [], no: [leave] };
      this.#places?.set(test, s.test.place);
      return [...head, ...(below === null ? this.#checks(s.test, env) : []), test];
    };
    const body = this.#inside({ label, by: "break" }, () => {
      const turn = this.#inside(null, (): Step[] => {
        const around = this.#definitions;
        this.#definitions = new Map(around);
        this.#moving.push(setIn(s));
        const inner = this.#inside({ label, by: "continue" }, () => this.#list(s.body));
        this.#definitions = around;
        this.#moving.pop();
        const wrapped: Step[] = jumpsTo(inner, 0) ? [{ op: "block", body: inner }] : lifted(inner, 0);
        const again: Step = { op: "break", depth: 0 };
        const update = this.#list(s.update);
        return s.testLast
          ? [...wrapped, ...update, ...goesOn(), again]
          : [...goesOn(), ...wrapped, ...update, again];
      });
      // A fork's own loop runs in order.
      const parallel = s.parallel !== null && below === null;
      return [{ op: "loop", body: turn, parallel, ...(why === undefined ? {} : { why }), place: s.place }];
    });
    return { op: "block", body };
  }

  /* Results ---------------------------------------------------------------------------------------------- */

  /** One dtype for each value that is returned, whichever return it is; null: none is reached. */
  #resultDTypes(stmts: readonly Stmt[]): (DType | { argument: number })[] | null {
    let results: (DType | { argument: number })[] | null = null;
    const visit = (list: readonly Stmt[]): void => {
      for (const s of list) {
        if (s.op === "return") {
          const env = this.#typed.before.get(s);
          if (env === undefined) continue;
          const own = s.values.map((value) => this.#resultDType(value, env));
          results ??= own;
          own.forEach((r, i) => {
            if (JSON.stringify(r) !== JSON.stringify(results![i])) {
              refuse(
                s.place,
                "the returns of this function give different kinds of things.",
                "Return a number on every path, or a boolean, or a bigint, or the same argument.",
                "dtype",
              );
            }
          });
        } else if (s.op === "if") {
          visit(s.yes);
          visit(s.no);
        } else if (s.op === "block") visit(s.body);
        else if (s.op === "loop") for (const l of [s.head, s.body, s.update]) visit(l);
      }
    };
    visit(stmts);
    return results;
  }

  #resultDType(value: Expr, env: Env): DType | { argument: number } {
    if (value.op === "argument" && this.#typed.args[value.index]?.kind === "array") {
      return { argument: value.index };
    }
    const type = this.#typed.typeOf(value, env);
    return type.kind === "number" || type.kind === "f32" ? "f64" : dtypeOf(type);
  }

  #returned(values: readonly Expr[], env: Env): Expression[] {
    return values.flatMap((value, i) => {
      const dtype = this.#results![i];
      return typeof dtype === "string" ? [this.#expression(value, env, dtype)] : [];
    });
  }

  /* Elements --------------------------------------------------------------------------------------------- */

  #array(ref: ArrayRef, place: Place): number {
    const key = `${ref.kind} ${ref.index}`;
    const known = this.#arrayIds.get(key);
    if (known !== undefined) return known;
    const { tree } = this.#typed;
    const { dtype, rank, unit } = this.#typed.arrayOf(ref, place);
    const isOwn = ref.kind === "local";
    this.#arrays.push({
      name: isOwn ? tree.arrays[ref.index].name : tree.args[ref.index].name,
      dtype,
      rank,
      unit,
      argument: isOwn ? null : ref.index,
      length: isOwn ? tree.arrays[ref.index].length : 0,
      written: false,
    });
    this.#arrayIds.set(key, this.#arrays.length - 1);
    return this.#arrays.length - 1;
  }

  /** The array whose one index is right where a check is. */
  get #checked(): number {
    const known = this.#arrayIds.get(CHECKS);
    if (known !== undefined) return known;
    const of = { dtype: "i32", rank: 1, unit: true, argument: null, length: 1, written: false } as const;
    const id = this.#arrays.push({ name: CHECKS, ...of }) - 1;
    this.#arrayIds.set(CHECKS, id);
    return id;
  }

  #access(s: Stmt & { op: "load" | "store" }, env: Env): Step {
    const array = this.#array(s.array, s.place);
    const site = this.#sites.push({ array, access: s.access, place: s.place }) - 1;
    const index = s.index.map((i) => this.#index(i, env));
    const proved = index.map(
      ({ program }, d) => program.dtype === "i32" && this.#typed.isInside(s.index[d], s.array, d, env),
    );
    if (s.op === "load") return { op: "load", local: s.id, array, index, proved, site };
    this.#arrays[array].written = true;
    return {
      op: "store",
      array,
      index,
      proved,
      value: this.#stored(s, env, this.#arrays[array].dtype),
      site,
    };
  }

  /** i32 where it is proved to be one, i64 where nobody can tell, else a float that is checked for being whole. */
  #index(expr: Expr, env: Env): Expression {
    const { typeOf } = this.#typed;
    const type = typeOf(expr, env);
    if (type.kind === "f32") return this.#expression(expr, env, "f32");
    const q = new ProgramBuilder(this, env);
    const value = q.value(expr);
    if (isInt(type.range) && q.isHeldWhole(value)) return q.finish(q.as(value, "i32"));
    const p = new ProgramBuilder(this, env);
    const flat = p.flatIndex(expr);
    if (flat !== null) return p.finish(flat.id);
    // An index of -0 is 0.
    if (isInt({ ...type.range, minusZero: false })) return q.finish(q.wholeInt(value));
    return q.finish(q.as(value, isLong(type.range) && q.isHeldWhole(value) ? "i64" : "f64"));
  }

  /** The value as the array holds it: tensors saturate as `set` does, typed arrays wrap as JavaScript's do. */
  #stored(s: Stmt & { op: "store" }, env: Env, dtype: DType): Expression {
    const { typed, clamped } = this.#typed.arrayOf(s.array, s.place);
    const p = new ProgramBuilder(this, env);
    const value = p.value(s.value);
    if (isBig(value.type) || !isInteger(dtype)) return p.finish(p.as(value, dtype));
    if (clamped) return p.finish(p.clamped(value));
    if (typed) return p.finish(p.b.cast(dtype, p.toInt32(value)));
    return p.finish(p.saturated(value, dtype));
  }

  /* Expressions ------------------------------------------------------------------------------------------ */

  #expression(expr: Expr, env: Env, dtype: DType): Expression {
    const p = new ProgramBuilder(this, env);
    return p.finish(p.as(p.value(expr), dtype));
  }

  #test(expr: Expr, env: Env): Expression {
    const p = new ProgramBuilder(this, env);
    return p.finish(p.truth(p.value(expr)));
  }

  /** `const base = i * n`: an index may be told from what it is made of, as long as that stays. */
  #define(s: Stmt & { op: "set" }): void {
    const { value } = s;
    if (!this.#typed.tree.variables[s.id].constant) return;
    if (value.op !== "add" && value.op !== "sub" && value.op !== "mul") return;
    const stays = (e: Expr): boolean => {
      if (e.op === "literal" || e.op === "size" || e.op === "argument") return true;
      if (e.op !== "variable") return "args" in e && e.args.every(stays);
      const { constant } = this.#typed.tree.variables[e.id];
      return constant || (this.#moving.length > 0 && !this.#moving.at(-1)!.has(e.id));
    };
    if (stays(value)) this.#definitions.set(s.id, value);
  }

  definitionOf(id: number): Expr | undefined {
    return this.#definitions.get(id);
  }

  /* For programs ------------------------------------------------------------------------------------------ */

  get typed(): Typed {
    return this.#typed;
  }

  dtypeOfLocal(local: number): DType {
    return this.#locals[local].dtype;
  }

  /** The local of a scalar argument. */
  scalar(argument: number, dtype: DType): number {
    return this.#once(`argument ${argument}`, this.#typed.tree.args[argument].name, dtype, (local) =>
      this.#scalars.push({ local, argument }),
    );
  }

  /** The local of a size. */
  size(ref: ArrayRef, axis: number | "size", place: Place): number {
    const array = this.#array(ref, place);
    const name =
      axis === "size" ? `${this.#arrays[array].name}.size` : `${this.#arrays[array].name}.shape${axis}`;
    return this.#once(`size ${array} ${axis}`, name, "i32", (local) =>
      this.#sizes.push({ local, array, axis }),
    );
  }

  #once(key: string, name: string, dtype: DType, made: (local: number) => void): number {
    let local = this.#known.get(key);
    if (local === undefined) {
      local = this.#locals.push({ name, dtype }) - 1;
      this.#known.set(key, local);
      made(local);
    }
    return local;
  }
}

/** One expression: a scalar program whose inputs are locals. */
class ProgramBuilder {
  readonly b = new Builder();
  readonly #lowering: Lowering;
  #env: Env;
  readonly #locals: number[] = [];

  constructor(lowering: Lowering, env: Env) {
    this.#lowering = lowering;
    this.#env = env;
  }

  finish(result: Id): Expression {
    const inputs = this.#locals.map((l) => this.#lowering.dtypeOfLocal(l));
    const program: Program = this.b.finish(result, inputs);
    return { program, locals: this.#locals };
  }

  local(local: number): Id {
    let k = this.#locals.indexOf(local);
    if (k < 0) k = this.#locals.push(local) - 1;
    return this.b.input(k, this.#lowering.dtypeOfLocal(local));
  }

  value(expr: Expr): Value {
    const { typed } = this.#lowering;
    const { b } = this;
    switch (expr.op) {
      case "literal": {
        const type = typed.typeOf(expr, this.#env);
        const dtype = dtypeOf(type);
        const of = typeof expr.value === "boolean" ? Number(expr.value) : expr.value;
        if (typeof of === "bigint") return { id: b.constant(dtype, BigInt.asIntN(64, of)), type };
        return { id: b.constant(dtype, dtype === "i64" ? BigInt(of) : of), type };
      }
      case "variable":
        return { id: this.local(expr.id), type: typed.typeOf(expr, this.#env) };
      case "argument": {
        const type = typed.typeOf(expr, this.#env);
        // Held as it was given, whatever is known of it here.
        const held = typed.args[expr.index]?.kind;
        const dtype = type.kind !== "number" ? dtypeOf(type) : held === "number" ? "f64" : "i32";
        return { id: this.local(this.#lowering.scalar(expr.index, dtype)), type };
      }
      case "size":
        return this.#size(expr);
      case "rank": {
        const type = typed.typeOf(expr, this.#env);
        return { id: b.constant("i32", type.range.lo), type };
      }
      case "number": {
        const x = this.value(expr.args[0]);
        const type = typed.typeOf(expr, this.#env);
        if (isBig(x.type)) return { id: b.cast("f64", x.id), type };
        return { id: x.type.kind === "bool" ? b.cast("i32", x.id) : x.id, type };
      }
      case "big": {
        const x = this.value(expr.args[0]);
        return isBig(x.type) ? x : { id: b.cast("i64", x.id), type: elementType("i64") };
      }
      case "asIntN":
      case "asUintN": {
        const type = typed.typeOf(expr, this.#env);
        return { id: this.as(this.value(expr.args[0]), dtypeOf(type)), type };
      }
      case "select":
        return this.#select(expr.args, expr.place);
      default: {
        const args = expr.args.map((a) => this.value(a));
        const types = args.map((a) => a.type);
        const plain = operationType(expr.op, types, expr.place);
        const outside = this.#outside(expr.op, expr.args, types);
        if (outside !== null) return { id: b.constant("bool", outside), type: plain };
        // What a place in an array can be, nobody but the types knows.
        const isFlat = plain.kind === "number" && flatOps.has(expr.op) && !isInt(plain.range);
        const known = isFlat ? typed.typeOf(expr, this.#env) : plain;
        const type = isFlat && known.kind === "number" && isInt(known.range) ? known : plain;
        return { id: this.#operation(expr.op, args, type, expr.place), type };
      }
    }
  }

  /** What comes of comparing bigints with a literal that they cannot be; null: it is no such thing. Nothing is divided by one. */
  #outside(op: OpName, args: readonly Expr[], types: readonly Type[]): number | null {
    const isCompare = ops[op].rule === "compare";
    const at = args.findIndex((a) => a.op === "literal" && typeof a.value === "bigint");
    const kind = types[1 - at]?.kind;
    if ((!isCompare && op !== "div" && op !== "rem") || (kind !== "i64" && kind !== "u64")) return null;
    const { value, place } = args[at] as { value: bigint; place: Place };
    const { min, max } = dtypes[kind];
    if (value >= min && value <= max) return null;
    const sides = at === 0 ? [value, 0n] : [0n, value];
    if (isCompare) return Number(fold(op, sides));
    return refuse(place, `${value}n does not fit ${kind}.`, `${kind} holds ${min}n to ${max}n.`, "dtype");
  }

  #size(expr: Expr & { op: "size" }): Value {
    const { typed } = this.#lowering;
    const type = typed.typeOf(expr, this.#env);
    if (expr.array.kind === "local") return { id: this.b.constant("i32", type.range.lo), type };
    const { rank } = typed.arrayOf(expr.array, expr.place);
    const axis = expr.axis === "length" ? 0 : expr.axis;
    const place = typeof axis === "number" && axis < 0 ? axis + rank : axis;
    return { id: this.local(this.#lowering.size(expr.array, place, expr.place)), type };
  }

  /** Both sides are computed: they do nothing else. What the test proves holds in each. */
  #select(args: readonly Expr[], place: Place): Value {
    const { typed } = this.#lowering;
    const { b } = this;
    const [test, x, y] = args;
    const condition = this.truth(this.value(test));
    const around = this.#env;
    this.#env = typed.narrowed(test, true, around) ?? around;
    const yes = this.value(x);
    this.#env = typed.narrowed(test, false, around) ?? around;
    const no = this.value(y);
    this.#env = around;
    const type = operationType(
      "select",
      [test, x, y].map((_, i) => (i === 0 ? yes : i === 1 ? yes : no).type),
      place,
    );
    const dtype = this.#common([yes, no], type);
    return { id: b.op("select", condition, this.as(yes, dtype), this.as(no, dtype)), type };
  }

  /**
   * i·n + j in 64 bits: a sum of 32-bit integers and one product of two. It is exact there, and where JavaScript's rounds,
   * beyond 2^53, both are no index, since what is added to the product is too small to bring it back.
   */
  flatIndex(expr: Expr): { id: Id; products: number; terms: number } | null {
    const { b } = this;
    if (expr.op === "add" || expr.op === "sub") {
      const [x, y] = expr.args.map((a) => this.flatIndex(a));
      if (x === null || y === null) return null;
      const products = x.products + y.products;
      const terms = x.terms + y.terms;
      return products > 1 || terms > MOST_TERMS ? null : { id: b.op(expr.op, x.id, y.id), products, terms };
    }
    if (expr.op === "mul") {
      const [x, y] = expr.args.map((a) => this.#wide(a));
      return x === null || y === null ? null : { id: b.op("mul", x, y), products: 1, terms: 1 };
    }
    const id = this.#wide(expr);
    if (id !== null) return { id, products: 0, terms: 1 };
    const definition = expr.op === "variable" ? this.#lowering.definitionOf(expr.id) : undefined;
    return definition === undefined ? null : this.flatIndex(definition);
  }

  /** A 32-bit integer in 64 bits; null: it is none. */
  #wide(expr: Expr): Id | null {
    const value = this.value(expr);
    if (value.type.kind !== "number" || !isInt(value.type.range) || !this.isHeldWhole(value)) return null;
    return this.b.cast("i64", this.as(value, "i32"));
  }

  /** JavaScript's truth, as a bool. */
  truth({ id }: Value): Id {
    return this.b.dtypeOf(id) === "bool" ? id : this.b.op("truthy", id);
  }

  /** The value in a dtype that can hold it. */
  as({ id, type }: Value, dtype: DType): Id {
    const { b } = this;
    const node = b.nodes[id];
    if (node.op !== "const" || b.dtypeOf(id) === dtype) {
      // Rounded once: half floats are made of f64.
      const isLongFloat = !isBig(type) && b.dtypeOf(id) === "i64" && isFloat(dtype);
      return b.cast(dtype, isLongFloat ? b.cast("f64", id) : id);
    }
    if (isBig(type)) return b.constant(dtype, convert(node.value, "i64", dtype));
    const value = typeof node.value === "bigint" ? Number(node.value) : node.value;
    return b.constant(dtype, convert(value, node.dtype === "bool" ? "bool" : "f64", dtype));
  }

  /**
   * A double that is known to be a whole number of 32 bits: it is the last bits of what it is beside 2^52. Less work than a
   * conversion, which looks for what does not fit.
   */
  wholeInt(value: Value): Id {
    const { b } = this;
    if (b.dtypeOf(value.id) !== "f64" || b.nodes[value.id].op === "const") return this.as(value, "i32");
    const beside = b.op("add", value.id, b.constant("f64", 1.5 * 2 ** 52));
    return b.cast("i32", b.bitcast("i64", beside));
  }

  /** What values of one type meet in: as they are held, if they are held alike. */
  #common(values: readonly Value[], type: Type): DType {
    if (type.kind !== "number") return dtypeOf(type);
    if (!values.every((v) => this.isHeldWhole(v))) return "f64";
    const all = values.map((v) => asNumber(v.type).range);
    return all.every(isInt) ? "i32" : all.every(isLong) ? "i64" : "f64";
  }

  /** Is the number held as an integer? */
  isHeldWhole({ id, type }: Value): boolean {
    return !isBig(type) && (this.b.dtypeOf(id) === "bool" || isInteger(this.b.dtypeOf(id)));
  }

  /** ToInt32: modulo 2^32. */
  toInt32(value: Value): Id {
    const { b } = this;
    const dtype = b.dtypeOf(value.id);
    if (dtype === "f32" || dtype === "f64") {
      const isWhole = value.type.kind === "number" && !value.type.range.nan && value.type.range.whole;
      return isWhole ? b.cast("i32", b.cast("i64", value.id)) : b.op("toInt32", value.id);
    }
    return b.cast("i32", value.id);
  }

  /** As `set` writes a number into a tensor of integers: what lies outside saturates; 64 bits take whole numbers alone. */
  saturated(value: Value, dtype: DType): Id {
    const { b } = this;
    const { min, max, big } = dtypes[dtype];
    if (big) return b.cast(dtype, b.cast("i64", value.id));
    const { kind, range } = asNumber(value.type);
    const fits = kind === "number" && isInt(range) && range.lo >= min && range.hi <= max;
    if (fits) return this.as(value, dtype);
    if (kind !== "number" || !isLong(range) || !this.isHeldWhole(value))
      return b.cast(dtype, this.as(value, "f64"));
    let wide = this.as(value, "i64");
    if (range.hi > max) wide = b.op("min", wide, b.constant("i64", BigInt(max)));
    if (range.lo < min) wide = b.op("max", wide, b.constant("i64", BigInt(min)));
    return b.cast(dtype, wide);
  }

  /** As Uint8ClampedArray holds it: within 0 and 255, halves to even, NaN is 0. */
  clamped(value: Value): Id {
    const { b } = this;
    return b.cast("u8", b.op("nearest", this.as(value, "f64")));
  }

  #operation(op: OpName, args: readonly Value[], type: Type, place: Place): Id {
    const { b } = this;
    const types = args.map((a) => asNumber(a.type));
    const { rule } = ops[op];
    const all = (dtype: DType) => b.op(op, ...args.map((a) => this.as(a, dtype)));
    if (rule === "logic") return b.op(op, ...args.map((a) => this.truth(a)));
    if (op === "truthy") return this.truth(args[0]);
    if (types.some(isBig)) {
      const dtype = dtypeOf(rule === "compare" ? comparedType(types, place) : type);
      if (op === "div") return this.#quotient(this.as(args[0], dtype), this.as(args[1], dtype), dtype);
      return op === "shl" || op === "shr" ? this.#shifted(op, this.as(args[0], dtype), args[1]) : all(dtype);
    }
    switch (rule) {
      case "compare":
        if (args.every((a) => a.type.kind === "bool")) return all("bool");
        if (inFloat32(types) && types.every(isInFloat32)) return all("f32");
        return all(this.#common(args, { ...type, kind: "number" }));
      case "classify":
        return b.op(op, this.as(args[0], args[0].type.kind === "bool" ? "i32" : b.dtypeOf(args[0].id)));
      case "bits":
      case "shift":
      case "int32": {
        const ints = args.map((a) => this.toInt32(a));
        if (op === "toInt32") return ints[0];
        if (op !== "shru") return b.op(op, ...ints);
        const result = b.op(op, ...ints.map((i) => b.cast("u32", i)));
        return isInt(type.range) ? b.cast("i32", result) : result;
      }
      case "integral":
        if (
          type.kind === "number" &&
          types[0].kind === "number" &&
          types[0].range.whole &&
          !types[0].range.nan
        ) {
          return this.as(args[0], b.dtypeOf(args[0].id) === "bool" ? "i32" : b.dtypeOf(args[0].id));
        }
        break;
    }
    if (type.kind === "f32") return op === "fround" ? this.as(args[0], "f32") : all("f32");
    return all(this.#workingDType(op, args, type));
  }

  /** Towards zero, as JavaScript divides bigints. */
  #quotient(x: Id, y: Id, dtype: DType): Id {
    const { b } = this;
    const whole = dtype === "u64" ? x : b.op("sub", x, b.op("rem", x, y));
    return b.op("floorDivide", whole, y);
  }

  /** By any count, as JavaScript shifts bigints: beyond 63 nothing is left but the sign, and a negative one goes the other way. */
  #shifted(op: "shl" | "shr", x: Id, by: Value): Id {
    const { b } = this;
    const dtype = b.dtypeOf(x);
    const count = this.as(by, dtypeOf(by.type));
    const counts = b.dtypeOf(count);
    const int = (n: number) => b.constant(counts, BigInt(n));
    const shift = (how: "shl" | "shr", k: Id): Id => {
      const within = b.op(how, x, b.cast(dtype, b.op("min", k, int(63))));
      const isSigned = how === "shr" && dtype === "i64";
      return isSigned ? within : b.op("select", b.op("gt", k, int(63)), b.constant(dtype, 0n), within);
    };
    const node = b.nodes[count];
    if (node.op === "const" && Number(node.value) >= 0 && Number(node.value) < 64)
      return b.op(op, x, b.constant(dtype, BigInt(node.value)));
    if (counts === "u64") return shift(op, count);
    const back = b.op("neg", b.op("max", count, int(-64)));
    const other = op === "shl" ? "shr" : "shl";
    return b.op("select", b.op("lt", count, int(0)), shift(other, back), shift(op, count));
  }

  /** 1 if the bigint is 0n, else 0. */
  isZero(expr: Expr): Id {
    const { b } = this;
    return b.cast("i32", b.op("not", this.truth(this.value(expr))));
  }

  /** 0 if the number is one of 64 bits, else the number. */
  unlessLong(expr: Expr): Id {
    const { b } = this;
    const x = this.as(this.value(expr), "f64");
    const isLong = b.op(
      "and",
      b.op("eq", b.op("trunc", x), x),
      b.op("lt", b.op("abs", x), b.constant("f64", 2 ** 63)),
    );
    return b.op("select", isLong, b.constant("f64", 0), x);
  }

  /** Integers where operands and result are some, and are held as such. */
  #workingDType(op: OpName, args: readonly Value[], type: Type): DType {
    if (!integerOps.has(op) || !args.every((a) => this.isHeldWhole(a))) return "f64";
    const ranges = [type.range, ...args.map((a) => asNumber(a.type).range)];
    // Without a sign, so that what is below an axis' size is told from the code alone.
    if (op === "rem" && ranges.every(isUint)) return "u32";
    if (ranges.every(isInt)) return "i32";
    if (op === "rem") return "f64";
    return op !== "sign" && ranges.every(isLong) ? "i64" : "f64";
  }
}

const flatOps: ReadonlySet<string> = new Set(["add", "sub", "mul"]);

/** Summands of an index, at the most: far from what 64 bits could not hold. */
const MOST_TERMS = 16;

/** Operations that integers do as doubles do, where neither operands nor result leave their range. */
const integerOps: ReadonlySet<OpName> = new Set<OpName>(
  "add sub mul neg abs min max sign rem".split(" ") as OpName[],
);

/** Variables that the body of a loop sets, those of loops inside included; what it counts with is not among them. */
function setIn(loop: Loop): Set<number> {
  const found = new Set<number>();
  const visit = (list: readonly Stmt[]): void => {
    for (const s of list) {
      if (s.op === "set" || s.op === "load") found.add(s.id);
      else if (s.op === "if") [s.yes, s.no].forEach(visit);
      else if (s.op === "block") visit(s.body);
      else if (s.op === "loop") for (const inner of [s.head, s.body, s.update]) visit(inner);
    }
  };
  for (const list of [loop.head, loop.body]) visit(list);
  return found;
}
