/**
 * Which prange loops may run in any order, and on several threads: those whose iterations share nothing that one of them
 * writes. An element is an iteration's own if its index tells which iteration it is of: i, 2·i + 1, i·n + j with 0 <= j < n,
 * in one of the axes. What a variable carries from iteration to iteration must be a sum, a product, a least or a greatest.
 * Everything else is refused, with the place, the reason and a remedy; nothing is known of types yet.
 *
 * The proof takes some things for granted, which the types or the call must show (`Assumption`); a loop for which they do
 * not hold runs in order.
 */
import type { OpName } from "../ir/ops.ts";
import {
  atom,
  atomsOf,
  constant,
  equal,
  factorsOf,
  isSmall,
  leastOf,
  numberOf,
  type Polynomial,
  plus,
  type Sign,
  split,
  times,
} from "./polynomial.ts";
import { refuse, textOf } from "./refuse.ts";
import {
  type ArrayRef,
  type Assumption,
  type Expr,
  expressionsOf,
  type Loop,
  type LoopPlan,
  type Place,
  type Reduction,
  type ReductionOp,
  type Stmt,
  type Tree,
} from "./tree.ts";

/** The plan of each prange loop; throws where iterations are not independent. */
export function planLoops(tree: Omit<Tree, "plans">): ReadonlyMap<Loop, LoopPlan> {
  const plans = new Map<Loop, LoopPlan>();
  let facts: Facts | null = null;
  eachStmt(tree.body, (s) => {
    if (s.op !== "loop" || s.parallel === null) return;
    facts ??= factsOf(tree.body);
    plans.set(s, new LoopCheck(tree, facts, s as PrangeLoop).run());
  });
  return plans;
}

type PrangeLoop = Loop & { readonly parallel: NonNullable<Loop["parallel"]> };
type AccessStmt = Stmt & { readonly op: "load" | "store" };

/* What statements say ------------------------------------------------------------------------------------ */

function listsOf(s: Stmt): readonly (readonly Stmt[])[] {
  switch (s.op) {
    case "if":
      return [s.yes, s.no];
    case "block":
      return [s.body];
    case "loop":
      return [s.head, s.body, s.update];
    default:
      return [];
  }
}

function eachStmt(stmts: readonly Stmt[], visit: (s: Stmt) => void): void {
  for (const s of stmts) {
    visit(s);
    for (const list of listsOf(s)) eachStmt(list, visit);
  }
}

function eachVariable(expr: Expr, visit: (id: number, place: Place) => void): void {
  if (expr.op === "variable") visit(expr.id, expr.place);
  else if ("args" in expr) for (const a of expr.args) eachVariable(a, visit);
}

const mentions = (expr: Expr, id: number): boolean =>
  expr.op === "variable" ? expr.id === id : "args" in expr && expr.args.some((a) => mentions(a, id));

/** Of a whole function: where each variable is set, and how often it is read. */
interface Facts {
  readonly sets: ReadonlyMap<number, readonly (Stmt & { op: "set" | "load" })[]>;
  readonly reads: ReadonlyMap<number, number>;
}

function factsOf(stmts: readonly Stmt[]): Facts {
  const sets = new Map<number, (Stmt & { op: "set" | "load" })[]>();
  eachStmt(stmts, (s) => {
    if (s.op !== "set" && s.op !== "load") return;
    const known = sets.get(s.id);
    if (known === undefined) sets.set(s.id, [s]);
    else known.push(s);
  });
  return { sets, reads: countReads(stmts) };
}

function countReads(stmts: readonly Stmt[]): Map<number, number> {
  const reads = new Map<number, number>();
  eachStmt(stmts, (s) => {
    for (const e of expressionsOf(s)) eachVariable(e, (id) => reads.set(id, (reads.get(id) ?? 0) + 1));
  });
  return reads;
}

const keyOf = ({ kind, index }: ArrayRef): string => `${kind} ${index}`;

/* One loop ------------------------------------------------------------------------------------------------- */

/** What is known of an atom of an index. */
type Atom =
  /** The same in every iteration. */
  | { readonly kind: "fixed"; readonly expr: Expr; readonly sign: Sign }
  /** The iteration. */
  | { readonly kind: "counter" }
  /** The counter of a loop inside, from `lo` to before `hi`. */
  | { readonly kind: "inner"; readonly lo: Polynomial; readonly hi: Polynomial }
  | { readonly kind: "unknown"; readonly expr: Expr };

const COUNTER = "#";

class LoopCheck {
  readonly #tree: Omit<Tree, "plans">;
  readonly #facts: Facts;
  readonly #loop: PrangeLoop;
  /** Set in the loop's body. */
  readonly #own: ReadonlySet<number>;
  readonly #ownReads: ReadonlyMap<number, number>;
  readonly #atoms = new Map<string, Atom>([[COUNTER, { kind: "counter" }]]);
  readonly #assumptions = new Map<string, Assumption>();
  /** Axes whose indices must be exact. */
  readonly #indices = new Map<AccessStmt, ReadonlySet<number>>();
  readonly #inner: ReadonlyMap<number, Loop>;
  /** Variables whose polynomial is being made. */
  readonly #open = new Set<number>();

  constructor(tree: Omit<Tree, "plans">, facts: Facts, loop: PrangeLoop) {
    this.#tree = tree;
    this.#facts = facts;
    this.#loop = loop;
    const own = factsOf(loop.body);
    this.#own = new Set(own.sets.keys());
    this.#ownReads = own.reads;
    this.#inner = innerCounters(loop.body, facts);
  }

  run(): LoopPlan {
    const reductions = this.#variables();
    if (!this.#loop.parallel.independent) this.#arrays();
    return { reductions, assumptions: [...this.#assumptions.values()] };
  }

  /* Variables -------------------------------------------------------------------------------------------- */

  #variables(): Reduction[] {
    const carried = carriedBy(this.#loop.body, this.#own);
    const reductions: Reduction[] = [];
    for (const id of this.#own) {
      const isReadOutside = (this.#facts.reads.get(id) ?? 0) > (this.#ownReads.get(id) ?? 0);
      const place = carried.get(id);
      if (place === undefined && !isReadOutside) continue;
      const op = this.#reductionOf(id);
      if (op !== null) reductions.push({ variable: id, op });
      else this.#refuseVariable(id, place ?? null);
    }
    return reductions;
  }

  /** What all assignments to the variable do: v = v op …, and nothing else reads it; null: something else. */
  #reductionOf(id: number): ReductionOp | null {
    let op: ReductionOp | null = null;
    let reads = 0;
    let isOne = true;
    const held = new Map<number, Expr>();
    eachStmt(this.#loop.body, (s) => {
      if (s.op === "set" && this.#tree.variables[s.id].constant && mentions(s.value, id))
        held.set(s.id, s.value);
      if ((s.op !== "set" && s.op !== "load") || s.id !== id) return;
      // `v += f` is held for a moment: t = v + f; v = t.
      let value = s.op === "set" ? s.value : null;
      if (value?.op === "variable" && held.has(value.id)) {
        if (this.#facts.reads.get(value.id) !== 1) isOne = false;
        value = held.get(value.id)!;
      }
      const found = value === null ? null : chainOf(value, id);
      if (found === null || (op !== null && op !== found)) isOne = false;
      else {
        op = found;
        reads++;
      }
    });
    return isOne && reads === (this.#ownReads.get(id) ?? 0) ? op : null;
  }

  #refuseVariable(id: number, place: Place | null): never {
    const { name } = this.#tree.variables[id];
    const what = name === "" ? "a value" : `"${name}"`;
    if (place !== null) {
      return refuse(
        place,
        `${what} is carried from one iteration of a prange loop to the next; they run in no particular order.`,
        "Declare it inside the loop, or let each iteration only add to it: acc += f, acc -= f, acc *= f, acc = Math.min(acc, f), acc = Math.max(acc, f).",
      );
    }
    const set = this.#facts.sets.get(id)!.find((s) => this.#isInside(s)) ?? this.#loop;
    return refuse(
      set.place,
      `${what} is set by every iteration of a prange loop and read after it; which comes last is not known.`,
      "Declare it inside the loop, or write it into an element of the iteration's own.",
    );
  }

  #isInside(wanted: Stmt): boolean {
    let found = false;
    eachStmt(this.#loop.body, (s) => {
      if (s === wanted) found = true;
    });
    return found;
  }

  /* Arrays ----------------------------------------------------------------------------------------------- */

  #arrays(): void {
    const inside = accessesOf(this.#loop.body);
    const everywhere = accessesOf(this.#tree.body);
    for (const [key, accesses] of inside) {
      const stores = accesses.filter((a) => a.op === "store");
      if (stores.length === 0) continue;
      // An array that only this loop mentions was made in it, by each iteration for itself.
      const isOwn = accesses[0].array.kind === "local" && everywhere.get(key)!.length === accesses.length;
      if (isOwn) continue;
      for (const store of stores) for (const other of accesses) this.#pair(store, other);
    }
  }

  /** Refuses a store and another access of the array, unless they never meet in two iterations. */
  #pair(store: AccessStmt, other: AccessStmt): void {
    if (store.index.length !== other.index.length) return; // refused by its rank
    const axes = store.index.map((_, d) => [
      this.#polynomial(store.index[d]),
      this.#polynomial(other.index[d]),
    ]);
    const axis = axes.findIndex(([s, o]) => s !== null && o !== null && this.#isApart(s, o));
    if (axis < 0) this.#refusePair(store, other, axes);
    for (const at of [store, other]) this.#assumeIndex(at, axis);
  }

  /** Do the two indices differ whenever their iterations do? */
  #isApart(s: Polynomial, o: Polynomial): boolean {
    const [a, b] = [split(s, COUNTER), split(o, COUNTER)];
    if (a === null || b === null) return false;
    if ([...atomsOf(a.factor), ...atomsOf(b.factor)].some((x) => this.#atoms.get(x)!.kind !== "fixed"))
      return false;
    const signOf = this.#signs([s, o]);
    const isLeast = (p: Polynomial | null, least: number) => {
      if (p === null) return false;
      const known = leastOf(p, signOf);
      return known !== null && known >= least;
    };
    // Regions of their own, whatever the iterations are.
    const [low, high] = [this.#bound(s, o, false, signOf), this.#bound(s, o, true, signOf)];
    if (isLeast(low, 1) || (high !== null && isLeast(plus(constant(0), high, -1), 1))) return true;
    if (!equal(a.factor, b.factor)) return false;
    const step = plus(constant(0), a.factor, this.#step);
    const [most, least] = [
      this.#bound(a.rest, b.rest, true, signOf),
      this.#bound(a.rest, b.rest, false, signOf),
    ];
    if (most === null || least === null) return false;
    if (!isSmall(step)) return false;
    const [c, top, bottom] = [numberOf(step), numberOf(most), numberOf(least)];
    if (c !== null) {
      if (c === 0 || top === null || bottom === null) return false;
      if (Math.max(Math.abs(top), Math.abs(bottom)) < Math.abs(c)) return true;
      return top === bottom && !Number.isInteger(top / c);
    }
    const room = plus(step, constant(1), -1);
    if (isLeast(plus(room, most, -1), 0) && isLeast(plus(room, least), 0)) return true;
    if (top !== 0 || bottom !== 0 || step.size !== 1) return false;
    // The same place in rows of n: apart unless n is 0.
    for (const x of atomsOf(step)) {
      const known = this.#atoms.get(x)!;
      if (known.kind === "fixed") this.#assume("nonzero", known.expr);
    }
    return true;
  }

  get #step(): number {
    const set = this.#loop.update[0] as Stmt & { op: "set" };
    const [, by] = (set.value as Expr & { args: readonly Expr[] }).args;
    return Number((by as Expr & { op: "literal" }).value);
  }

  /** The most, or least, that a - b can be, each with inner counters of its own; null: nothing bounds it. */
  #bound(a: Polynomial, b: Polynomial, isMost: boolean, signOf: (x: string) => Sign): Polynomial | null {
    const [x, y] = [this.#extreme(a, isMost, signOf), this.#extreme(b, !isMost, signOf)];
    return x === null || y === null ? null : small(plus(x, y, -1));
  }

  #extreme(p: Polynomial, isMost: boolean, signOf: (x: string) => Sign): Polynomial | null {
    let left = p;
    for (let turn = 0; turn < 16; turn++) {
      const moving = [...atomsOf(left)].filter((x) => this.#atoms.get(x)!.kind !== "fixed");
      if (moving.length === 0) return left;
      // A counter whose bounds do not need the others' comes last.
      const x = moving.find((m) => !moving.some((o) => o !== m && this.#dependsOn(o, m))) ?? moving[0];
      const range = this.#rangeOf(x);
      const parts = split(left, x);
      if (range === null || parts === null) return null;
      const isUp = (leastOf(parts.factor, signOf) ?? -1) >= 0;
      const isDown = (leastOf(plus(constant(0), parts.factor, -1), signOf) ?? -1) >= 0;
      if (!isUp && !isDown) return null;
      const to = isUp === isMost ? plus(range.hi, constant(1), -1) : range.lo;
      const product = times(parts.factor, to);
      if (product === null) return null;
      left = plus(parts.rest, product);
      if (!isSmall(left)) return null;
    }
    return null;
  }

  /** Do the bounds of one counter mention another? */
  #dependsOn(x: string, other: string): boolean {
    const range = this.#rangeOf(x);
    return range !== null && (atomsOf(range.lo).has(other) || atomsOf(range.hi).has(other));
  }

  #rangeOf(x: string): { lo: Polynomial; hi: Polynomial } | null {
    const known = this.#atoms.get(x)!;
    if (known.kind === "inner") return known;
    if (known.kind !== "counter") return null;
    const { parallel, test } = this.#loop;
    const first = this.#facts.sets.get(parallel.counter)!.find((s) => s !== this.#loop.update[0]);
    const end = (test as Expr & { args: readonly Expr[] }).args[1];
    const lo = first?.op === "set" ? this.#polynomial(first.value) : null;
    const hi = this.#polynomial(end);
    if (lo === null || hi === null) return null;
    this.#assumeBound((first as Stmt & { op: "set" }).value);
    this.#assumeBound(end);
    return { lo, hi };
  }

  /** Signs of what is fixed: a counter that runs from 0 or more to before n shows that n is positive. */
  #signs(indices: readonly Polynomial[]): (x: string) => Sign {
    const positive = new Set<string>();
    for (const x of indices.flatMap((p) => [...atomsOf(p)])) {
      if (this.#atoms.get(x)!.kind === "fixed") continue;
      const range = this.#rangeOf(x);
      const lo = range === null ? null : numberOf(range.lo);
      if (range === null || lo === null || lo < 0 || range.hi.size !== 1) continue;
      const [[product, c]] = range.hi;
      const [name, ...more] = factorsOf(product);
      if (name !== undefined && more.length === 0 && c > 0) positive.add(name);
    }
    return (x) => {
      const known = this.#atoms.get(x)!;
      if (positive.has(x)) return "positive";
      return known.kind === "fixed" ? known.sign : null;
    };
  }

  /* Indices ---------------------------------------------------------------------------------------------- */

  #polynomial(expr: Expr): Polynomial | null {
    const p = this.#unfolded(expr);
    return p === null ? null : small(p);
  }

  #unfolded(expr: Expr): Polynomial | null {
    switch (expr.op) {
      case "literal":
        return typeof expr.value === "number" && Number.isFinite(expr.value) ? constant(expr.value) : null;
      case "variable":
        return this.#variable(expr);
      case "number":
        return this.#polynomial(expr.args[0]);
      case "add":
      case "sub": {
        const [a, b] = expr.args.map((x) => this.#polynomial(x));
        return a === null || b === null ? null : plus(a, b, expr.op === "add" ? 1 : -1);
      }
      case "neg": {
        const a = this.#polynomial(expr.args[0]);
        return a === null ? null : plus(constant(0), a, -1);
      }
      case "mul": {
        const [a, b] = expr.args.map((x) => this.#polynomial(x));
        return a === null || b === null ? null : times(a, b);
      }
      case "bitOr": {
        if (!this.#isCut(expr)) break;
        this.#assume("int", expr.args[0]);
        return this.#polynomial(expr.args[0]);
      }
    }
    return this.#named(expr);
  }

  /** x | 0, which stands for x. */
  #isCut(expr: Expr & { args: readonly Expr[] }): boolean {
    const [, y] = expr.args;
    return expr.op === "bitOr" && y.op === "literal" && y.value === 0 && !this.#isFixed(expr);
  }

  /** An atom for what is no sum or product. */
  #named(expr: Expr): Polynomial {
    const name = this.#isFixed(expr) ? textKey(expr) : `?${textKey(expr)}`;
    if (!this.#atoms.has(name)) {
      const sign: Sign = expr.op === "size" || expr.op === "rank" ? "nonnegative" : null;
      this.#atoms.set(name, name.startsWith("?") ? { kind: "unknown", expr } : { kind: "fixed", expr, sign });
    }
    return atom(name);
  }

  #variable(expr: Expr & { op: "variable" }): Polynomial | null {
    const { id } = expr;
    if (id === this.#loop.parallel.counter) return atom(COUNTER);
    const inner = this.#inner.get(id);
    if (inner !== undefined) return this.#innerCounter(id, inner, expr);
    const value = this.#standsFor(id);
    if (value !== null) {
      this.#open.add(id);
      const p = this.#polynomial(value);
      this.#open.delete(id);
      if (p !== null) return p;
    }
    return this.#named(expr);
  }

  /** What a variable is that is set once, of what nobody changes; null: it is not so simple. */
  #standsFor(id: number): Expr | null {
    const [only, ...more] = this.#facts.sets.get(id) ?? [];
    if (only?.op !== "set" || more.length > 0 || this.#open.has(id)) return null;
    return this.#own.has(id) || this.#isStable(only.value) ? only.value : null;
  }

  /** The sums and products that a polynomial was made of, down to its atoms. */
  #algebraOf(expr: Expr): Expr {
    if (expr.op === "variable") {
      const { id } = expr;
      if (id === this.#loop.parallel.counter || this.#inner.has(id)) return expr;
      const value = this.#standsFor(id);
      if (value === null) return expr;
      this.#open.add(id);
      const made = this.#algebraOf(value);
      this.#open.delete(id);
      return made;
    }
    if (!("args" in expr)) return expr;
    if (this.#isCut(expr)) return this.#algebraOf(expr.args[0]);
    if (!algebra.has(expr.op)) return expr;
    return { ...expr, args: expr.args.map((a) => this.#algebraOf(a)) } as Expr;
  }

  #innerCounter(id: number, loop: Loop, expr: Expr): Polynomial | null {
    const name = `#${id}`;
    if (this.#atoms.has(name)) return atom(name);
    if (this.#open.has(id)) return this.#named(expr);
    this.#open.add(id);
    const range = this.#innerRange(id, loop);
    this.#open.delete(id);
    if (range === null) {
      const unknown = `?${textKey(expr)}`;
      this.#atoms.set(unknown, { kind: "unknown", expr });
      return atom(unknown);
    }
    this.#atoms.set(name, { kind: "inner", ...range });
    return atom(name);
  }

  #innerRange(id: number, loop: Loop): { lo: Polynomial; hi: Polynomial } | null {
    const sets = this.#facts.sets.get(id)!;
    const first = sets.find((s) => !loop.update.includes(s)) as Stmt & { op: "set" };
    const test = loop.test as Expr & { args: readonly Expr[] };
    const isLeft = test.args[0].op === "variable" && test.args[0].id === id;
    const bound = test.args[isLeft ? 1 : 0];
    const by = isLeft ? test.op : mirrored[test.op];
    const [start, end] = [this.#polynomial(first.value), this.#polynomial(bound)];
    if (start === null || end === null) return null;
    const isUp = stepOf(loop, id)! > 0;
    const after = (p: Polynomial) => plus(p, constant(1));
    const known = isUp
      ? by === "lt"
        ? { lo: start, hi: end }
        : by === "le"
          ? { lo: start, hi: after(end) }
          : null
      : by === "ge"
        ? { lo: end, hi: after(start) }
        : by === "gt"
          ? { lo: after(end), hi: after(start) }
          : null;
    if (known === null) return null;
    // A number below another is below it by one only if both are whole.
    this.#assumeBound(first.value);
    this.#assumeBound(bound);
    return known;
  }

  /** Does it give the same in every iteration? */
  #isFixed(expr: Expr): boolean {
    if (expr.op === "variable") {
      if (expr.id === this.#loop.parallel.counter) return false;
      if (!this.#own.has(expr.id)) return true;
      const sets = this.#facts.sets.get(expr.id)!;
      const [only] = sets;
      if (sets.length !== 1 || only.op !== "set" || this.#open.has(expr.id)) return false;
      this.#open.add(expr.id);
      const isFixed = this.#isFixed(only.value);
      this.#open.delete(expr.id);
      return isFixed;
    }
    return !("args" in expr) || expr.args.every((a) => this.#isFixed(a));
  }

  /** Does it give the same wherever in the function it is computed? */
  #isStable(expr: Expr): boolean {
    if (expr.op === "variable") {
      const sets = this.#facts.sets.get(expr.id) ?? [];
      const [only] = sets;
      return sets.length === 1 && only.op === "set" && this.#isStable(only.value);
    }
    return !("args" in expr) || expr.args.every((a) => this.#isStable(a));
  }

  /** Numbers are doubles: what holds of polynomials holds of them where none was rounded. */
  #assumeBound(given: Expr): void {
    const expr = this.#algebraOf(given);
    this.#assumptions.set(`bound ${textKey(expr)}`, { is: "bound", expr });
  }

  #assumeIndex(at: AccessStmt, axis: number): void {
    const known = this.#indices.get(at);
    if (known?.has(axis)) return;
    this.#indices.set(at, new Set([...(known ?? []), axis]));
    const expr = this.#algebraOf(at.index[axis]);
    this.#assumptions.set(`index ${this.#assumptions.size}`, { is: "index", expr, at });
  }

  #assume(is: "int" | "nonzero", expr: Expr): void {
    const known = this.#spelledOut(expr);
    this.#assumptions.set(`${is} ${textKey(known)}`, { is, expr: known });
  }

  /** The expression without variables that the loop itself sets, as far as they are set once. */
  #spelledOut(expr: Expr): Expr {
    if (expr.op === "variable") {
      const [only, ...more] = this.#facts.sets.get(expr.id) ?? [];
      const isOne = this.#own.has(expr.id) && only.op === "set" && more.length === 0;
      return isOne ? this.#spelledOut(only.value) : expr;
    }
    if (!("args" in expr)) return expr;
    return { ...expr, args: expr.args.map((a) => this.#spelledOut(a)) } as Expr;
  }

  /* Words ------------------------------------------------------------------------------------------------ */

  #refusePair(
    store: AccessStmt,
    other: AccessStmt,
    axes: readonly (readonly (Polynomial | null)[])[],
  ): never {
    const i = this.#counterName;
    const shared = this.#textOf(other, store);
    const isSame = store === other || equalIndices(store, other);
    const reads =
      other.op === "load" ||
      accessesOf(this.#loop.body)
        .get(keyOf(store.array))!
        .some((a) => a.op === "load" && equalIndices(a, store));
    const ownElement = `Let each iteration write elements of its own, such as ${this.#nameOf(store)}[${i}]`;
    const optOut = `where you know that they are, say so: prange(n, { independent: true }).`;
    const distance = this.#distance(axes);
    if (distance !== null && distance !== 0) {
      const back = distance > 0 ? `${i} - ${distance}` : `${i} + ${-distance}`;
      return refuse(
        other.place,
        `iterations ${i} and ${back} of this prange loop share ${this.#nameOf(store)}[…]: one writes ${this.#textOf(store, other)}, the other ${other.op === "load" ? "reads" : "writes"} ${shared}.`,
        other.op === "load"
          ? "Read from one array and write to another, or write a plain for loop: its iterations run in order."
          : `${ownElement}, or write a plain for loop.`,
      );
    }
    const period = isSame ? this.#period(store) : null;
    const sum = reads && isSame ? "To add up, use a variable: acc += f is kept for each thread. " : "";
    if (period !== null) {
      return refuse(
        store.place,
        `iterations ${i} and ${i} + ${period} of this prange loop share ${shared}.`,
        `${sum}${ownElement}, or write a plain for loop.`,
      );
    }
    const depends = axes.some(
      ([s]) =>
        s === null || [...atomsOf(s)].some((x) => this.#atoms.get(x)!.kind !== "fixed" && this.#tells(x)),
    );
    if (isSame && !depends) {
      return refuse(
        store.place,
        `every iteration of this prange loop writes ${shared}: no index depends on ${i}.`,
        `${sum}${ownElement}, or write a plain for loop.`,
      );
    }
    return refuse(
      other.place,
      isSame
        ? `two iterations of this prange loop may share ${shared}; whether they do cannot be told.`
        : `two iterations of this prange loop may share ${this.#nameOf(store)}[…]: one writes ${this.#textOf(store, other)}, the other ${other.op === "load" ? "reads" : "writes"} ${shared}.`,
      `${sum}${ownElement}; ${optOut}`,
    );
  }

  /** Can it differ between iterations? Counters inside do not: they run through the same numbers. */
  #tells(x: string): boolean {
    const known = this.#atoms.get(x)!;
    return known.kind === "counter" || known.kind === "unknown";
  }

  /** How many iterations lie between two that share an element; null: it is not so simple. */
  #distance(axes: readonly (readonly (Polynomial | null)[])[]): number | null {
    let distance: number | null = null;
    for (const [s, o] of axes) {
      const [a, b] = [s === null ? null : split(s, COUNTER), o === null ? null : split(o, COUNTER)];
      if (a === null || b === null || !equal(a.factor, b.factor)) return null;
      const c = numberOf(a.factor);
      const by = numberOf(plus(b.rest, a.rest, -1));
      if (c === null || by === null) continue;
      if (c !== 0 && by % c === 0) distance = -by / c;
    }
    return distance;
  }

  /** i % m: iterations that many apart share. */
  #period(store: AccessStmt): number | null {
    for (const index of store.index) {
      const expr = index.op === "variable" ? this.#definition(index.id) : index;
      if (expr.op !== "rem") continue;
      const [, by] = expr.args;
      if (by.op === "literal" && typeof by.value === "number" && by.value > 0) return by.value;
    }
    return null;
  }

  #definition(id: number): Expr {
    const [only, ...more] = this.#facts.sets.get(id) ?? [];
    const known = only?.op === "set" && more.length === 0 ? only.value : null;
    return known ?? { op: "variable", id, place: this.#loop.place };
  }

  get #counterName(): string {
    return this.#tree.variables[this.#loop.parallel.counter].name || "i";
  }

  #nameOf({ array }: AccessStmt): string {
    const { args, arrays } = this.#tree;
    return (array.kind === "local" ? arrays[array.index].name : args[array.index].name) || "the array";
  }

  /** As it is written; where another is written alike, as what its names stand for. */
  #textOf(access: AccessStmt, other = access): string {
    const written = (a: AccessStmt) => a.index.map((e) => textOf(e.place)).join();
    const isAlike = access !== other && written(access) === written(other) && !equalIndices(access, other);
    const texts = access.index.map((e) => {
      const meant = isAlike && e.op === "variable" ? this.#argumentOf(e.id) : e;
      return textOf(meant.place).replace(/\s+/g, " ");
    });
    return `${this.#nameOf(access)}[${texts.map((t) => (t.length > 40 ? "…" : t)).join(", ")}]`;
  }

  /** What was given to the parameter of a function that was written out. */
  #argumentOf(id: number): Expr {
    let expr = this.#definition(id);
    while (expr.op === "variable" && this.#facts.sets.has(expr.id)) {
      const next = this.#definition(expr.id);
      if (next.op === "variable" && next.id === expr.id) break;
      expr = next;
    }
    return expr;
  }
}

/* Small things ------------------------------------------------------------------------------------------- */

const small = (p: Polynomial): Polynomial | null => (isSmall(p) ? p : null);

/** What polynomials look through. */
const algebra: ReadonlySet<string> = new Set(["number", "neg", "add", "sub", "mul"]);

function accessesOf(stmts: readonly Stmt[]): Map<string, AccessStmt[]> {
  const found = new Map<string, AccessStmt[]>();
  eachStmt(stmts, (s) => {
    if (s.op !== "load" && s.op !== "store") return;
    const known = found.get(keyOf(s.array));
    if (known === undefined) found.set(keyOf(s.array), [s]);
    else known.push(s);
  });
  return found;
}

const equalIndices = (a: AccessStmt, b: AccessStmt): boolean =>
  a.index.map(textKey).join() === b.index.map(textKey).join();

/** The same for expressions that say the same. */
function textKey(expr: Expr): string {
  switch (expr.op) {
    case "literal":
      return `${typeof expr.value}:${Object.is(expr.value, -0) ? "-0" : expr.value}`;
    case "variable":
      return `v${expr.id}`;
    case "argument":
      return `a${expr.index}`;
    case "size":
      return `${keyOf(expr.array)}.${expr.axis === "length" ? 0 : expr.axis}`;
    case "rank":
      return `${keyOf(expr.array)}.rank`;
    default:
      return `${expr.op}(${expr.args.map(textKey).join()})`;
  }
}

const mirrored: Readonly<Record<string, string>> = { lt: "gt", le: "ge", gt: "lt", ge: "le" };

/** v op …: what v is made of, with itself as its first part; null: something else. */
function chainOf(expr: Expr, id: number): ReductionOp | null {
  const op = reductionOps[expr.op];
  if (op === undefined || !("args" in expr)) return null;
  const with_ = expr.args.filter((a) => mentions(a, id));
  if (with_.length !== 1) return null;
  const [inner] = with_;
  if (expr.op === "sub" && inner !== expr.args[0]) return null;
  if (inner.op === "variable") return op;
  return chainOf(inner, id) === op ? op : null;
}

const reductionOps: Readonly<Partial<Record<OpName | string, ReductionOp>>> = {
  add: "add",
  sub: "add",
  mul: "mul",
  min: "min",
  max: "max",
  bitAnd: "bitAnd",
  bitOr: "bitOr",
  bitXor: "bitXor",
};

/** What is added to the variable in the loop's update, if that is all that happens there. */
function stepOf(loop: Loop, id: number): number | null {
  const [first, second] = loop.update;
  if (first?.op !== "set" || loop.update.length > 2) return null;
  let { value } = first;
  if (second !== undefined) {
    // j += 2 is held for a moment: t = j + 2; j = t.
    if (
      second.op !== "set" ||
      second.id !== id ||
      second.value.op !== "variable" ||
      second.value.id !== first.id
    )
      return null;
  } else if (first.id !== id) return null;
  if (value.op === "number") value = value.args[0];
  if (value.op !== "add" && value.op !== "sub") return null;
  const [x, c] = value.args;
  if (x.op !== "variable" || x.id !== id || c.op !== "literal" || typeof c.value !== "number") return null;
  return value.op === "add" ? c.value : -c.value;
}

/** Variables that count through a loop inside: set before it and by its update alone, and read in it alone. */
function innerCounters(body: readonly Stmt[], facts: Facts): ReadonlyMap<number, Loop> {
  const found = new Map<number, Loop>();
  eachStmt(body, (loop) => {
    if (loop.op !== "loop" || loop.testLast || loop.test === null || !("args" in loop.test)) return;
    if (!["lt", "le", "gt", "ge"].includes(loop.test.op)) return;
    const reads = countReads([loop]);
    for (const side of loop.test.args) {
      if (side.op !== "variable") continue;
      const { id } = side;
      const step = stepOf(loop, id);
      const sets = facts.sets.get(id) ?? [];
      const isCounter = step !== null && step !== 0 && Number.isInteger(step) && sets.length === 2;
      if (!isCounter || sets.some((s) => s.op !== "set") || facts.reads.get(id) !== reads.get(id)) continue;
      if (sets.filter((s) => loop.update.includes(s)).length === 1) found.set(id, loop);
    }
  });
  return found;
}

/** Variables, of these, that an iteration may read before it has set them, and where it does. */
function carriedBy(body: readonly Stmt[], own: ReadonlySet<number>): ReadonlyMap<number, Place> {
  const carried = new Map<number, Place>();
  const jumps = new Map<string, Known[]>();
  const read = (expr: Expr, known: Known): void =>
    eachVariable(expr, (id, place) => {
      if (own.has(id) && !known.has(id) && !carried.has(id)) carried.set(id, place);
    });
  /** What is set after `write`, and wherever something jumped to its end. */
  const joined = (target: string, write: () => Known | null): Known | null => {
    jumps.set(target, []);
    return [write(), ...jumps.get(target)!].reduce(common);
  };
  const list = (stmts: readonly Stmt[], start: Known | null): Known | null => {
    let known = start;
    for (const s of stmts) {
      if (known === null) return null;
      known = one(s, known);
    }
    return known;
  };
  const one = (s: Stmt, known: Known): Known | null => {
    if (s.op !== "loop") for (const e of expressionsOf(s)) read(e, known);
    switch (s.op) {
      case "set":
      case "load":
        return new Set([...known, s.id]);
      case "store":
        return known;
      case "if":
        return common(list(s.yes, known), list(s.no, known));
      case "block":
        return joined(`break ${s.label}`, () => list(s.body, known));
      case "loop":
        return joined(`break ${s.label}`, () => loop(s, known));
      case "break":
      case "continue":
        jumps.get(`${s.op} ${s.label}`)?.push(known);
        return null;
      case "return":
        return null;
    }
  };
  /** The first turn knows the least: what it may read unset is carried. */
  const loop = (s: Loop, known: Known): Known | null => {
    const turn = (start: Known | null): Known | null =>
      list(
        s.update,
        joined(`continue ${s.label}`, () => list(s.body, start)),
      );
    const tested = (start: Known | null): Known | null => {
      const after = list(s.head, start);
      if (after !== null && s.test !== null) read(s.test, after);
      return after;
    };
    if (s.testLast) return tested(turn(known));
    const after = tested(known);
    turn(after);
    return s.test === null ? null : after;
  };
  list(body, new Set());
  return carried;
}

/** Variables that are set. */
type Known = ReadonlySet<number>;

/** Set on both ways; null: there is no such way. */
function common(a: Known | null, b: Known | null): Known | null {
  if (a === null || b === null) return a ?? b;
  return new Set([...a].filter((x) => b.has(x)));
}
