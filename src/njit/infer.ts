/**
 * What each variable holds, found by running the tree on types: ranges flow through statements and are narrowed by the
 * tests on the way; loops run until nothing grows any more. The kind of a variable is one for the whole function, its
 * range one for each point.
 */
import type { DType } from "../dtype.ts";
import { fail } from "../errors.ts";
import {
  type Axes,
  anything,
  applyLaw,
  asIndex,
  atMost,
  type Comparison,
  clamped,
  isInt,
  joinAxes,
  joinRanges,
  MOST_SIZE,
  MOST_SMALL,
  narrowed,
  narrowedNot,
  type Range,
  rangeOf,
  sameRange,
  summed,
  wholes,
  widen,
  withRoot,
} from "./range.ts";
import { OPERATION, refuse } from "./refuse.ts";
import { countingForm, type Sets, type Summand, setsOf, startOf, sumsOf } from "./sums.ts";
import type { Access, ArrayRef, Expr, Loop, Place, Stmt, Tree } from "./tree.ts";
import {
  asNumber,
  bool,
  describeKind,
  elementType,
  isBig,
  joinTypes,
  literalType,
  number,
  operationType,
  type Type,
} from "./types.ts";

/** An argument as far as code depends on it. */
export type ArgumentType =
  | { readonly kind: "small" | "int" | "number" | "bool" | "i64" }
  | ArrayType
  /** It was not given. */
  | { readonly kind: "none" };

export interface ArrayType {
  readonly kind: "array";
  readonly dtype: DType;
  readonly rank: number;
  /** Neighbours along the last axis are neighbours in memory. */
  readonly unit: boolean;
  readonly writable: boolean;
  /** A typed array: elements are a[i], and are converted as typed arrays do. */
  readonly typed: boolean;
  readonly clamped: boolean;
}

/**
 * What is known of each variable at one point, and after them of each argument: null where it may have no value. What is
 * no number is anything.
 */
export type Env = readonly (Range | null)[];

export interface Typed {
  readonly tree: Tree;
  readonly args: readonly ArgumentType[];
  /** By variable: what holds it. */
  readonly variables: readonly Type[];
  /** What is known before a statement, and where a loop is tested. */
  readonly before: ReadonlyMap<Stmt, Env>;
  readonly atTest: ReadonlyMap<Loop, Env>;
  readonly typeOf: (expr: Expr, env: Env) => Type;
  /** What is known where a test holds, or does not; null: that cannot be. */
  readonly narrowed: (test: Expr, holds: boolean, env: Env) => Env | null;
  readonly arrayOf: (ref: ArrayRef, place: Place) => ArrayType;
  /** Is an index known to be one of the axis, whatever its size? */
  readonly isInside: (index: Expr, ref: ArrayRef, axis: number, env: Env) => boolean;
}

/** A range that nothing else gives: is it what a variable is known to be, where it is known? */
const PROBE = wholes(0, 0);

const isAlike = (a: Type, b: Type): boolean =>
  a.kind === b.kind &&
  a.weak === b.weak &&
  (a.kind !== "number" || b.kind !== "number" || sameRange(a.range, b.range));

/** Loops that count further are not said to end. */
const FAR = 2 ** 40;

/** Rounds of the whole function, at the most: kinds only grow, and there are few of them. */
const MOST_ROUNDS = 50;

export function infer(tree: Tree, args: readonly ArgumentType[]): Typed {
  return new Inference(tree, args).run();
}

/** What a variable was set to so far. */
interface State {
  /** Everything but literals. */
  strong: Type | null;
  /** Literals. */
  weak: Type | null;
  /** All of it. */
  range: Range | null;
}

type Flow = (Range | null)[];

class Inference {
  readonly #tree: Tree;
  readonly #args: readonly ArgumentType[];
  readonly #states: State[];
  readonly #sets: Sets;
  readonly #breaks = new Map<number, Flow[]>();
  readonly #continues = new Map<number, Flow[]>();
  readonly #before = new Map<Stmt, Env>();
  readonly #atTest = new Map<Loop, Env>();
  /** By loop, in this round: what was known before it, and then in every turn. */
  readonly #heads = new Map<Loop, { readonly start: Flow; readonly head: Flow }>();
  /** Something that was read before holds another kind now, so that all is looked at once more. */
  #changed = false;

  constructor(tree: Tree, args: readonly ArgumentType[]) {
    this.#tree = tree;
    this.#args = args;
    this.#states = tree.variables.map(() => ({ strong: null, weak: null, range: null }));
    this.#sets = setsOf(tree.body);
  }

  run(): Typed {
    const tree = this.#tree;
    const scalars = this.#args.map((_, i) => this.#given(i)?.range ?? null);
    const fresh = (): Flow => [...tree.variables.map(() => null), ...scalars];
    let round = 0;
    do {
      this.#changed = false;
      this.#heads.clear();
      this.#before.clear();
      this.#atTest.clear();
      for (const state of this.#states) state.range = null;
      this.#walk(tree.body, fresh());
      if (++round > MOST_ROUNDS) fail("kernel", OPERATION, "the types of this function do not settle.");
    } while (this.#changed);
    return {
      tree,
      args: this.#args,
      variables: tree.variables.map((_, id) => this.#variableType(id, null)),
      before: this.#before,
      atTest: this.#atTest,
      typeOf: (expr, env) => this.#type(expr, env as Flow),
      narrowed: (test, holds, env) => this.#narrow(test, holds, [...env]),
      arrayOf: (ref, place) => this.#array(ref, place),
      isInside: (index, ref, axis, env) => this.#isInside(index, ref, axis, env as Flow),
    };
  }

  /* Variables -------------------------------------------------------------------------------------------- */

  /** The type of a variable where this is known of it; null: anywhere. */
  #variableType(id: number, range: Range | null): Type {
    const { strong, weak, range: all } = this.#states[id];
    const { fromLiteral } = this.#tree.variables[id];
    const known = range ?? all ?? anything;
    if (strong === null) {
      if (weak === null) return number(known, true);
      return weak.kind === "number" ? number(known, !fromLiteral) : weak;
    }
    if (strong.kind === "number") return number(known);
    if (strong.kind === "f32" && fromLiteral && weak !== null) return number(anything);
    return strong;
  }

  #assign(id: number, type: Type, env: Flow, place: Place): void {
    const state = this.#states[id];
    const { name } = this.#tree.variables[id];
    const side = type.weak ? "weak" : "strong";
    const known = state[side];
    const other = state[type.weak ? "strong" : "weak"];
    const clash = [known, other].find((t) => t !== null && !mayMeet(t, type));
    if (clash) {
      const what = name === "" ? "this" : `"${name}"`;
      refuse(
        place,
        `${what} is ${describeKind(clash.kind)} and then ${describeKind(type.kind)}; a variable keeps its kind.`,
        "Use two variables, or Number(x), BigInt(x) or x !== 0.",
        "dtype",
      );
    }
    if (known === null || known.kind !== type.kind) {
      const before = known === null && other === null ? null : this.#variableType(id, PROBE);
      state[side] = known === null ? type : joinTypes(known, type, place);
      // Nobody has read what had no value.
      if (before !== null && !isAlike(before, this.#variableType(id, PROBE))) this.#changed = true;
    }
    const range = type.kind === "number" ? type.range : anything;
    state.range = state.range === null ? range : joinRanges(state.range, range);
    env[id] = range;
  }

  /* Statements ------------------------------------------------------------------------------------------- */

  #walk(stmts: readonly Stmt[], start: Flow | null): Flow | null {
    let env = start;
    for (const s of stmts) {
      if (env === null) return null;
      this.#before.set(s, [...env]);
      env = this.#statement(s, env);
    }
    return env;
  }

  /** What is known after the statement; null: nothing comes after it. `env` may be changed. */
  #statement(s: Stmt, env: Flow): Flow | null {
    switch (s.op) {
      case "set":
        this.#assign(s.id, this.#type(s.value, env), env, s.place);
        return env;
      case "load": {
        const { dtype } = this.#access(s.array, s.index, s.access, env, s.place);
        this.#assign(s.id, elementType(dtype), env, s.place);
        this.#narrowIndices(s.index, env);
        return env;
      }
      case "store": {
        const array = this.#access(s.array, s.index, s.access, env, s.place);
        if (!array.writable) {
          refuse(s.place, "this writes to a read-only view.", "Pass a copy made with clone().", "readonly");
        }
        const type = this.#type(s.value, env);
        checkStored(type, array, s.place);
        if (
          type.kind === "bool" &&
          s.array.kind === "local" &&
          this.#tree.arrays[s.array.index].dtype === null
        ) {
          refuse(s.place, "a local array holds numbers, and this is a boolean.", "Write 0 and 1.", "dtype");
        }
        this.#narrowIndices(s.index, env);
        return env;
      }
      case "if": {
        this.#type(s.test, env);
        const yes = this.#narrow(s.test, true, [...env]);
        const no = this.#narrow(s.test, false, env);
        return meet(this.#walk(s.yes, yes), this.#walk(s.no, no));
      }
      case "block": {
        this.#breaks.set(s.label, []);
        const after = this.#walk(s.body, env);
        return this.#breaks.get(s.label)!.reduce<Flow | null>(meet, after);
      }
      case "loop":
        return this.#loop(s, env);
      case "break":
        this.#breaks.get(s.label)!.push([...env]);
        return null;
      case "continue":
        this.#continues.get(s.label)!.push([...env]);
        return null;
      case "return":
        for (const value of s.values) this.#result(value, env);
        return null;
    }
  }

  #loop(loop: Loop, start: Flow): Flow | null {
    const limits = this.#limits(loop, start);
    // In a loop inside of others this comes again and again, with more: what held before holds still.
    const known = this.#heads.get(loop);
    let head = known !== undefined && isWithin(known.start, start) ? meet(start, known.head)! : start;
    for (;;) {
      this.#breaks.set(loop.label, []);
      this.#continues.set(loop.label, []);
      const { back, exit } = loop.testLast
        ? this.#turnLast(loop, [...head])
        : this.#turnFirst(loop, [...head]);
      const next = back === null ? head : head.map((r, id) => held(grown(r, back[id]), limits?.get(id)));
      if (next.every((r, id) => same(r, head[id]))) {
        this.#heads.set(loop, { start: [...start], head });
        return this.#breaks.get(loop.label)!.reduce<Flow | null>(meet, exit);
      }
      head = next;
    }
  }

  /** What sums can become in a loop that counts: it makes only so many turns. */
  #limits(loop: Loop, start: Flow): ReadonlyMap<number, Range> | null {
    const sums = sumsOf(loop, this.#sets);
    if (sums.length === 0) return null;
    const limits = new Map<number, Range>();
    for (const { id, terms } of sums) {
      const from = start[id];
      if (from === null || this.#variableType(id, from).kind !== "number") continue;
      const summands = terms.map(({ of, loops }) => ({
        of: this.#summand(of),
        times: loops.reduce((n, l) => n * this.#turns(l, start, l === loop), 1),
      }));
      if (summands.some(({ of, times }) => of === null || !Number.isFinite(times))) continue;
      const limit = summed(from, summands as { of: Range; times: number }[]);
      if (limit !== null) limits.set(id, limit);
    }
    return limits;
  }

  /** What is added, wherever that is: a literal, or an element of an integer array. */
  #summand({ sign, of }: Summand): Range | null {
    const range = this.#fixedRange(of);
    return range === null || sign > 0 ? range : applyLaw("neg", [range]);
  }

  #fixedRange(of: Expr): Range | null {
    if (of.op === "literal" && typeof of.value === "number") return rangeOf(of.value);
    if (of.op === "select") {
      const [x, y] = [this.#fixedRange(of.args[1]), this.#fixedRange(of.args[2])];
      return x === null || y === null ? null : joinRanges(x, y);
    }
    if (of.op !== "variable") return null;
    let range = wholes(0, 0);
    for (const s of this.#sets.get(of.id) ?? []) {
      if (s.op !== "load") return null;
      const type = elementType(this.#array(s.array, s.place).dtype);
      if (type.kind !== "number") return null;
      range = joinRanges(range, type.range);
    }
    return range;
  }

  /** How often the loop's parts are come to, at the most. `isOuter`: `start` is what is known where it begins. */
  #turns(loop: Loop, start: Flow, isOuter: boolean): number {
    const form = countingForm(loop);
    if (form === null) return Infinity;
    const { counter, bound, by } = form;
    const isFixed = (e: Expr): boolean => {
      if (e.op === "literal" || e.op === "size" || e.op === "rank" || e.op === "argument") return true;
      if (e.op === "variable") return this.#tree.variables[e.id].constant && start[e.id] !== null;
      return "args" in e && e.args.every(isFixed);
    };
    if (!isFixed(bound)) return Infinity;
    const first = isOuter ? start[counter] : startOf(counter, by, this.#sets);
    const limit = this.#type(bound, start);
    // Where adding is exact.
    if (first === null || !first.whole || first.nan || limit.kind !== "number" || limit.range.nan)
      return Infinity;
    const far = by > 0 ? limit.range.hi - first.lo : first.hi - limit.range.lo;
    if (!(Math.abs(limit.range.lo) <= FAR && Math.abs(limit.range.hi) <= FAR && far <= FAR)) return Infinity;
    return Math.max(0, Math.floor(far / Math.abs(by))) + 2;
  }

  #turnFirst(loop: Loop, start: Flow): { back: Flow | null; exit: Flow | null } {
    const tested = this.#walk(loop.head, start);
    if (tested === null) return { back: null, exit: null };
    this.#test(loop, tested);
    const exit = loop.test === null ? null : this.#narrow(loop.test, false, [...tested]);
    const enter = loop.test === null ? tested : this.#narrow(loop.test, true, tested);
    const body = this.#walk(loop.body, enter);
    const after = this.#continues.get(loop.label)!.reduce<Flow | null>(meet, body);
    return { back: this.#walk(loop.update, after), exit };
  }

  #turnLast(loop: Loop, start: Flow): { back: Flow | null; exit: Flow | null } {
    const body = this.#walk(loop.body, start);
    const after = this.#continues.get(loop.label)!.reduce<Flow | null>(meet, body);
    const tested = this.#walk(loop.head, this.#walk(loop.update, after));
    if (tested === null) return { back: null, exit: null };
    this.#test(loop, tested);
    if (loop.test === null) return { back: tested, exit: null };
    const exit = this.#narrow(loop.test, false, [...tested]);
    return { back: this.#narrow(loop.test, true, tested), exit };
  }

  #test(loop: Loop, env: Flow): void {
    if (loop.test === null) return;
    this.#type(loop.test, env);
    this.#atTest.set(loop, [...env]);
  }

  /* Arrays ----------------------------------------------------------------------------------------------- */

  #array(ref: ArrayRef, place: Place): ArrayType {
    if (ref.kind === "local") return localArrayType(this.#tree, ref.index);
    const type = this.#args[ref.index];
    if (type?.kind === "array") return type;
    const { name } = this.#tree.args[ref.index];
    return refuse(
      place,
      `"${name}" is used as an array, and ${type === undefined || type.kind === "none" ? "was not given" : "a scalar was given"}.`,
      "Pass a tensor or a typed array.",
      "value",
    );
  }

  #access(ref: ArrayRef, index: readonly Expr[], access: Access, env: Flow, place: Place): ArrayType {
    const array = this.#array(ref, place);
    if (array.typed !== (access === "[]")) {
      refuse(
        place,
        array.typed ? `a typed array has no ${access}(…).` : "elements of a tensor are not taken with [ ].",
        array.typed ? "Write a[i], or pass a tensor." : "Write a.get(i, j) and a.set([i, j], value).",
      );
    }
    if (index.length !== array.rank) {
      const indices = index.length === 1 ? "1 index" : `${index.length} indices`;
      refuse(place, `${indices} for an array of rank ${array.rank}.`, "Give one index an axis.", "index");
    }
    for (const i of index) {
      const type = this.#type(i, env);
      if (type.kind === "number" || type.kind === "f32") continue;
      refuse(
        i.place,
        `an index is ${describeKind(type.kind)}.`,
        "Indices are numbers: write Number(i).",
        "dtype",
      );
    }
    return array;
  }

  /** Where an access has succeeded, its indices are what indices can be. */
  #narrowIndices(index: readonly Expr[], env: Flow): void {
    for (const i of index) {
      if (i.op === "variable") {
        const range = env[i.id];
        if (range !== null && this.#variableType(i.id, range).kind === "number") env[i.id] = asIndex(range);
      } else if (i.op === "add" || i.op === "sub") {
        const [x, c] = i.args;
        if (x.op !== "variable" || c.op !== "literal" || typeof c.value !== "number") continue;
        const range = env[x.id];
        if (range === null || !range.whole) continue;
        const shift = i.op === "add" ? c.value : -c.value;
        const low = narrowed(range, "ge", rangeOf(-shift));
        const both = low === null ? null : narrowed(low, "le", rangeOf(MOST_SIZE - 1 - shift));
        if (both !== null) env[x.id] = both;
      }
    }
  }

  /* Expressions ------------------------------------------------------------------------------------------ */

  #result(expr: Expr, env: Flow): void {
    if (expr.op === "argument" && this.#args[expr.index]?.kind === "array") return;
    this.#type(expr, env);
  }

  #type(expr: Expr, env: Flow): Type {
    switch (expr.op) {
      case "literal":
        return literalType(expr.value);
      case "variable": {
        const range = env[expr.id];
        if (range === null) {
          const { name, end } = this.#tree.variables[expr.id];
          if (end !== undefined) {
            refuse(
              end,
              "this function may end here without a value, and its value is used.",
              "Return a value here too: return -1.",
            );
          }
          const what = name === "" ? "this" : `"${name}"`;
          const remedy = name === "" ? undefined : `Give it a start: let ${name} = 0.`;
          refuse(expr.place, `${what} may be read before it has a value.`, remedy);
        }
        return this.#variableType(expr.id, range);
      }
      case "argument": {
        const type = this.#scalar(expr.index, expr.place);
        const range = env[this.#tree.variables.length + expr.index];
        return type.kind === "number" && range ? number(range) : type;
      }
      case "size": {
        const array = this.#array(expr.array, expr.place);
        checkSize(array, expr.axis, expr.place);
        if (expr.array.kind === "local") {
          const { length } = this.#tree.arrays[expr.array.index];
          return number(wholes(length, length));
        }
        return number(wholes(0, MOST_SIZE));
      }
      case "rank": {
        const { rank } = this.#array(expr.array, expr.place);
        return number(wholes(rank, rank));
      }
      case "number": {
        const type = asNumber(this.#type(expr.args[0], env));
        return isBig(type) ? number({ ...anything, nan: false, minusZero: false }) : type;
      }
      case "big": {
        const type = asNumber(this.#type(expr.args[0], env));
        if (isBig(type)) return type;
        return elementType("i64");
      }
      case "asIntN":
      case "asUintN": {
        const type = this.#type(expr.args[0], env);
        if (!isBig(type)) {
          refuse(
            expr.place,
            `BigInt.${expr.op} takes a bigint, and this is ${describeKind(type.kind)}.`,
            `Write BigInt.${expr.op}(64, BigInt(x)).`,
            "dtype",
          );
        }
        return elementType(expr.op === "asIntN" ? "i64" : "u64");
      }
      case "select": {
        const [test, a, b] = expr.args;
        this.#type(test, env);
        const yes = this.#narrow(test, true, [...env]) ?? env;
        const no = this.#narrow(test, false, [...env]) ?? env;
        if ([a, b].some((e) => e.op === "argument" && this.#args[e.index]?.kind === "array")) {
          refuse(
            expr.place,
            "this chooses between arrays.",
            "Choose between their elements, c ? a[i] : b[i], or write if … else.",
          );
        }
        return joinTypes(this.#type(a, yes), this.#type(b, no), expr.place);
      }
      default: {
        const args = expr.args.map((a) => this.#type(a, env));
        if (expr.strict) checkStrict(args, expr.place);
        const type = operationType(expr.op, args, expr.place);
        return expr.op === "mul" || expr.op === "add" || expr.op === "sub"
          ? this.#flat(expr, type, env)
          : type;
      }
    }
  }

  /* Places in arrays -------------------------------------------------------------------------------------- */

  /** The axes whose sizes the expression is the product of; null: it is none. */
  #sizesOf(expr: Expr): Axes | null {
    if (expr.op === "mul") return joinAxes(this.#sizesOf(expr.args[0]), this.#sizesOf(expr.args[1]));
    if (expr.op === "variable") {
      const [only, ...more] = this.#sets.get(expr.id) ?? [];
      const isFixed = this.#tree.variables[expr.id].constant && more.length === 0;
      return isFixed && only?.op === "set" && only.value.op !== "mul" ? this.#sizesOf(only.value) : null;
    }
    if (expr.op !== "size" || expr.array.kind === "local") return null;
    const type = this.#args[expr.array.index];
    if (type?.kind !== "array") return null;
    const { index: array } = expr.array;
    if (expr.axis === "size" || expr.axis === "length") return { array, axes: allAxes(type) };
    const d = expr.axis < 0 ? expr.axis + type.rank : expr.axis;
    return d >= 0 && d < type.rank ? { array, axes: 1 << d } : null;
  }

  #isAll({ array, axes }: Axes): boolean {
    const type = this.#args[array];
    return type?.kind === "array" && axes === allAxes(type);
  }

  /**
   * An array has at most MOST_SIZE elements, so what lies below the product of all its sizes is that small: i·w + j, where i < h and
   * j < w are its sizes.
   */
  #flat(expr: Expr & { args: readonly Expr[] }, type: Type, env: Flow): Type {
    if (type.kind !== "number" || type.range.nan || (isInt(type.range) && expr.op !== "add")) return type;
    const [x, y] = expr.args;
    if (expr.op === "mul") {
      const product = this.#sizesOf(expr) ?? joinAxes(this.#below(x, env), this.#sizesOf(y));
      const all = product ?? joinAxes(this.#below(y, env), this.#sizesOf(x));
      return all !== null && this.#isAll(all) ? number(atMost(type.range, MOST_SIZE)) : type;
    }
    const below = this.#below(expr, env);
    if (below === null || !this.#isAll(below)) return type;
    return number({ ...atMost(type.range, MOST_SIZE - 1), below });
  }

  /** The axes whose sizes' product the expression, a whole number, is below; null: nobody knows. */
  #below(expr: Expr, env: Flow): Axes | null {
    switch (expr.op) {
      case "variable": {
        const range = env[expr.id];
        return range?.whole && !range.nan ? (range.below ?? null) : null;
      }
      case "sub": {
        const [x, c] = expr.args;
        const isLess = c.op === "literal" && typeof c.value === "number" && Number.isInteger(c.value);
        return isLess && Number(c.value) >= 0 ? this.#below(x, env) : null;
      }
      case "add": {
        for (const [product, rest] of [expr.args, expr.args.toReversed()]) {
          if (product.op !== "mul") continue;
          const last = this.#below(rest, env);
          if (last === null) continue;
          for (const [x, w] of [product.args, product.args.toReversed()]) {
            const size = this.#sizesOf(w);
            if (size?.array !== last.array || size.axes !== last.axes) continue;
            const all = joinAxes(this.#below(x, env), size);
            if (all !== null) return all;
          }
        }
        return null;
      }
      case "floor":
      case "trunc": {
        // Below h·w, it goes less than h times into w. Sizes are far from where quotients are rounded up to the next one.
        const [quotient] = expr.args;
        if (quotient.op !== "div") return null;
        const [all, size] = [this.#below(quotient.args[0], env), this.#sizesOf(quotient.args[1])];
        if (all === null || size?.array !== all.array || (all.axes & size.axes) !== size.axes) return null;
        return { array: all.array, axes: all.axes & ~size.axes };
      }
      default:
        return null;
    }
  }

  /** From 0 to below the size of the axis: tests on the way have shown it. */
  #isInside(index: Expr, ref: ArrayRef, axis: number, env: Flow): boolean {
    const { kind, range } = this.#type(index, env);
    if (kind !== "number" || !range.whole || range.nan || range.lo < 0) return false;
    if (ref.kind === "local") return range.hi < this.#tree.arrays[ref.index].length;
    const below = range.below ?? this.#below(index, env);
    return below !== null && below.array === ref.index && below.axes === 1 << axis;
  }

  /** The type of a scalar argument; null: it is none. */
  #given(index: number): Type | null {
    switch (this.#args[index]?.kind) {
      case "small":
        return number(wholes(-MOST_SMALL, MOST_SMALL));
      case "int":
        return number(wholes(-MOST_SIZE, MOST_SIZE));
      case "number":
        return number(anything);
      case "bool":
        return bool;
      case "i64":
        return elementType("i64");
      default:
        return null;
    }
  }

  #scalar(index: number, place: Place): Type {
    const given = this.#given(index);
    if (given !== null) return given;
    switch (this.#args[index]?.kind) {
      case "array":
        return refuse(
          place,
          `"${this.#tree.args[index].name}" is used as a number, and an array was given.`,
          "Take an element: a.get(i), a[i]; a variable holds no array.",
          "value",
        );
      default:
        return refuse(place, `"${this.#tree.args[index].name}" was not given.`, undefined, "value");
    }
  }

  /* What tests prove -------------------------------------------------------------------------------------- */

  /** What is known where the test holds (or does not); null: that cannot be. `env` may be changed. */
  #narrow(test: Expr, holds: boolean, env: Flow): Flow | null {
    switch (test.op) {
      case "literal":
        return !!test.value === holds ? env : null;
      case "truthy":
        return this.#narrow(test.args[0], holds, env);
      case "not":
        return this.#narrow(test.args[0], !holds, env);
      case "and": {
        if (!holds) return env;
        const first = this.#narrow(test.args[0], true, env);
        return first === null ? null : this.#narrow(test.args[1], true, first);
      }
      case "or": {
        if (holds) return env;
        const first = this.#narrow(test.args[0], false, env);
        return first === null ? null : this.#narrow(test.args[1], false, first);
      }
      case "select": {
        // How a && b and a || b are written.
        const [c, x, y] = test.args;
        if (holds && y.op === "literal" && y.value === false) {
          const first = this.#narrow(c, true, env);
          return first === null ? null : this.#narrow(x, true, first);
        }
        if (!holds && x.op === "literal" && x.value === true) {
          const first = this.#narrow(c, false, env);
          return first === null ? null : this.#narrow(y, false, first);
        }
        return env;
      }
      case "lt":
      case "le":
      case "gt":
      case "ge":
      case "eq":
      case "ne":
        return this.#compared(test.op, test.args[0], test.args[1], holds, env);
      default:
        return env;
    }
  }

  #compared(op: Comparison, a: Expr, b: Expr, holds: boolean, env: Flow): Flow | null {
    const [x, y] = [this.#type(a, env), this.#type(b, env)];
    if (x.kind !== "number" || y.kind !== "number") return env;
    const how = holds ? narrowed : narrowedNot;
    const [left, right] = [how(x.range, op, y.range), how(y.range, mirrored[op], x.range)];
    if (left === null || right === null) return null;
    const isBelow = (holds && op === "lt") || (!holds && op === "ge");
    const isAbove = (holds && op === "gt") || (!holds && op === "le");
    for (const [e, known, other, isLess] of [
      [a, left, b, isBelow] as const,
      [b, right, a, isAbove] as const,
    ]) {
      const below = isLess && known.whole && !known.nan ? this.#sizesOf(other) : null;
      const range = below === null ? known : { ...known, below };
      if (e.op === "variable") {
        env[e.id] = range;
        this.#narrowSource(e.id, range, env);
      }
      // What is known of it is known from here on; it is held as it was given.
      if (e.op === "argument") env[this.#tree.variables.length + e.index] = range;
    }
    // i * i < n bounds i.
    for (const [square, range] of [[a, left] as const, [b, right] as const]) {
      if (square.op !== "mul") continue;
      const [p, q] = square.args;
      if (p.op !== "variable" || q.op !== "variable" || p.id !== q.id) continue;
      const known = env[p.id];
      if (known !== null && this.#variableType(p.id, known).kind === "number" && !range.nan) {
        env[p.id] = withRoot(known, range.hi);
      }
    }
    // 0 < h * w, where neither is below 0: both are over 0.
    for (const [product, range] of [[a, left] as const, [b, right] as const]) {
      if (product.op !== "mul" || !(range.lo > 0)) continue;
      for (const factor of product.args) {
        if (factor.op !== "variable") continue;
        const known = env[factor.id];
        if (known === null || this.#variableType(factor.id, known).kind !== "number") continue;
        if (!known.whole || !(known.lo >= 0)) continue;
        const over = narrowed(known, "gt", rangeOf(0));
        if (over !== null) env[factor.id] = over;
      }
    }
    return env;
  }

  /** What a copy is known to be, its source is: `const end = n`, where neither is set again. */
  #narrowSource(copy: number, range: Range, env: Flow): void {
    let id = copy;
    for (let depth = 0; depth < MOST_COPIES && this.#tree.variables[id].constant; depth++) {
      const [only, ...more] = this.#sets.get(id) ?? [];
      if (only?.op !== "set" || more.length > 0 || only.value.op !== "variable") return;
      id = only.value.id;
      const known = env[id];
      if (!this.#tree.variables[id].constant || known === null) return;
      if (this.#variableType(id, known).kind !== "number") return;
      env[id] = range;
    }
  }
}

const allAxes = ({ rank }: ArrayType): number => 2 ** Math.min(rank, 31) - 1;

/** Copies of copies that are looked through. */
const MOST_COPIES = 4;

const mirrored: Record<Comparison, Comparison> = {
  lt: "gt",
  le: "ge",
  gt: "lt",
  ge: "le",
  eq: "eq",
  ne: "ne",
};

/** May one variable hold both? */
function mayMeet(a: Type, b: Type): boolean {
  const isNumber = (t: Type) => t.kind === "number" || t.kind === "f32";
  return a.kind === b.kind || (isNumber(a) && isNumber(b)) || (isBig(a) && isBig(b));
}

function checkStrict(args: readonly Type[], place: Place): void {
  const isBool = args.map((a) => a.kind === "bool");
  const bigs = args.map(isBig);
  if (isBool[0] === isBool[1] && bigs[0] === bigs[1]) return;
  refuse(
    place,
    `this compares ${describeKind(args[0].kind)} and ${describeKind(args[1].kind)}; they are never equal.`,
    "Use ==, which compares a boolean as 0 or 1, or convert one of them.",
    "dtype",
  );
}

function checkSize(array: ArrayType, axis: number | "size" | "length", place: Place): void {
  if (array.typed !== (axis === "length")) {
    refuse(
      place,
      array.typed ? "a typed array has a length, and no size or shape." : "a tensor has no length.",
      array.typed ? "Write a.length." : "Write a.size or a.shape[0].",
    );
  }
  if (typeof axis === "number" && (axis >= array.rank || axis < -array.rank)) {
    refuse(place, `there is no axis ${axis}; the tensor has rank ${array.rank}.`, undefined, "axis");
  }
}

/** What an array of the function's own is like. */
export function localArrayType(tree: Tree, index: number): ArrayType {
  const { dtype, clamped } = tree.arrays[index];
  return { kind: "array", dtype: dtype ?? "f64", rank: 1, unit: true, writable: true, typed: true, clamped };
}

/** May a value of the type be written there? */
function checkStored(type: Type, array: ArrayType, place: Place): void {
  const holdsBig = array.dtype === "i64" || array.dtype === "u64";
  if (isBig(type) === holdsBig) return;
  if (isBig(type)) {
    refuse(place, `${array.dtype} holds numbers, and this is a bigint.`, "Write Number(x).", "dtype");
  }
  // A tensor takes whole numbers; a typed array takes bigints alone.
  const number = asNumber(type);
  if (
    !array.typed &&
    (type.kind === "bool" || (number.kind === "number" && number.range.whole && !number.range.nan))
  ) {
    return;
  }
  refuse(
    place,
    `${array.dtype} holds bigints, and this is ${describeKind(type.kind)}.`,
    "Write BigInt(x) of a whole number, or a bigint such as 3n.",
    "dtype",
  );
}

/* Flows --------------------------------------------------------------------------------------------------- */

function meet(a: Flow | null, b: Flow | null): Flow | null {
  if (a === null || b === null) return a ?? b;
  return a.map((r, id) => {
    const s = b[id];
    return r === null || s === null ? null : r === s ? r : joinRanges(r, s);
  });
}

function grown(before: Range | null, next: Range | null): Range | null {
  return before === null || next === null ? null : before === next ? before : widen(before, next);
}

/** Is everything that was so of the first so of the second? */
const isWithin = (a: Flow, b: Flow): boolean =>
  a.every((r, id) => {
    const s = b[id];
    return r === s || s === null || (r !== null && sameRange(joinRanges(r, s), s));
  });

/** What grew, but not beyond what it can be. */
const held = (r: Range | null, limit: Range | undefined): Range | null =>
  r === null || limit === undefined ? r : clamped(r, limit);

const same = (a: Range | null, b: Range | null): boolean =>
  a === b || (a !== null && b !== null && sameRange(a, b));
