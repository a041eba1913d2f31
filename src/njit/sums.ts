/**
 * Sums that loops make, told from the tree alone: variables that nothing happens to in a loop but that something is added.
 * How far such a sum can get follows from how often the loop turns; so counts and sums of integers stay integers.
 */
import { type Range, rangeOf } from "./range.ts";
import type { Expr, Loop, Stmt } from "./tree.ts";

/** By variable: every statement of the function that sets it. */
export type Sets = ReadonlyMap<number, readonly (Stmt & { readonly op: "set" | "load" })[]>;

export interface Summand {
  readonly sign: 1 | -1;
  readonly of: Expr;
}

/** A variable that is only added to, and by what, in which loops. */
export interface Sum {
  readonly id: number;
  readonly terms: readonly { readonly of: Summand; readonly loops: readonly Loop[] }[];
}

type Visit = (s: Stmt, loops: readonly Loop[]) => void;

function each(stmts: readonly Stmt[], visit: Visit, loops: readonly Loop[] = []): void {
  for (const s of stmts) {
    visit(s, loops);
    if (s.op === "if") for (const list of [s.yes, s.no]) each(list, visit, loops);
    else if (s.op === "block") each(s.body, visit, loops);
    else if (s.op === "loop") {
      for (const list of [s.head, s.body, s.update]) each(list, visit, [...loops, s]);
    }
  }
}

export function setsOf(stmts: readonly Stmt[]): Sets {
  const sets = new Map<number, (Stmt & { op: "set" | "load" })[]>();
  each(stmts, (s) => {
    if (s.op === "set" || s.op === "load") sets.set(s.id, [...(sets.get(s.id) ?? []), s]);
  });
  return sets;
}

/** What a counter begins with that is set to a literal and counted in one place, and set nowhere else. */
export function startOf(id: number, by: number, sets: Sets): Range | null {
  const own = sets.get(id) ?? [];
  if (own.length !== 2) return null;
  const isStep = (s: Stmt) => {
    if (s.op !== "set" || (s.value.op !== "add" && s.value.op !== "sub")) return false;
    const [v, c] = s.value.args;
    if (v.op !== "variable" || v.id !== id || c.op !== "literal") return false;
    return (s.value.op === "add" ? Number(c.value) : -Number(c.value)) === by;
  };
  const first = own.find((s) => s.op === "set" && s.value.op === "literal");
  if (first?.op !== "set" || !own.some(isStep) || first.value.op !== "literal") return null;
  return typeof first.value.value === "number" ? rangeOf(first.value.value) : null;
}

const known = new WeakMap<Loop, readonly Sum[]>();

/** The sums of one loop, those of loops inside it included. */
export function sumsOf(loop: Loop, all: Sets): readonly Sum[] {
  let sums = known.get(loop);
  if (sums === undefined) {
    sums = findSums(loop, all);
    known.set(loop, sums);
  }
  return sums;
}

function findSums(loop: Loop, all: Sets): Sum[] {
  const sets = new Map<number, { s: Stmt & { op: "set" }; loops: readonly Loop[] }[]>();
  const loaded = new Set<number>();
  each([loop], (s, loops) => {
    if (s.op === "load") loaded.add(s.id);
    if (s.op === "set") sets.set(s.id, [...(sets.get(s.id) ?? []), { s, loops }]);
  });
  /** A variable that is set in one place of the function stands for what it is set to there, now or in a turn before. */
  const resolved = (e: Expr, depth = 0): Expr => {
    if (e.op !== "variable" || depth > 3) return e;
    const own = all.get(e.id);
    const [only] = own ?? [];
    if (own?.length !== 1 || only.op !== "set" || !sets.has(e.id)) return e;
    return resolved(only.value, depth + 1);
  };
  const sums: Sum[] = [];
  for (const [id, list] of sets) {
    if (loaded.has(id)) continue;
    const terms = list.map(({ s, loops }) => {
      const of = termOf(s.value, id, resolved);
      return of === null ? null : { of, loops };
    });
    if (terms.every((t) => t !== null)) sums.push({ id, terms });
  }
  return sums;
}

/** What is added, if the value is the variable and something: v + x, v - x, and x + v. */
function termOf(value: Expr, id: number, resolved: (e: Expr) => Expr): Summand | null {
  const isSelf = (e: Expr): boolean => {
    if (e.op !== "variable") return false;
    if (e.id === id) return true;
    const to = resolved(e);
    return to.op === "variable" && to.id === id;
  };
  const whole = value.op === "variable" && value.id !== id ? resolved(value) : value;
  if (whole.op !== "add" && whole.op !== "sub") return null;
  const [x, y] = whole.args;
  if (isSelf(x)) return { sign: whole.op === "add" ? 1 : -1, of: y };
  return whole.op === "add" && isSelf(y) ? { sign: 1, of: x } : null;
}

interface CountingForm {
  readonly counter: number;
  readonly bound: Expr;
  readonly by: number;
}

const forms = new WeakMap<Loop, CountingForm | null>();

/** i < bound; i += by, where nothing else sets i. */
export function countingForm(loop: Loop): CountingForm | null {
  let form = forms.get(loop);
  if (form === undefined) {
    form = findForm(loop);
    forms.set(loop, form);
  }
  return form;
}

function findForm(loop: Loop): CountingForm | null {
  const { test } = loop;
  if (test === null || loop.testLast) return null;
  const isUp = test.op === "lt" || test.op === "le";
  if (!isUp && test.op !== "gt" && test.op !== "ge") return null;
  const [x, y] = test.args;
  for (const [counter, bound, up] of [[x, y, isUp] as const, [y, x, !isUp] as const]) {
    if (counter.op !== "variable") continue;
    const sets: Stmt[] = [];
    each([loop], (s) => {
      if ((s.op === "set" || s.op === "load") && s.id === counter.id) sets.push(s);
    });
    // Every turn comes to the update.
    const [only] = sets;
    if (sets.length !== 1 || only.op !== "set" || !loop.update.includes(only)) continue;
    const { value } = only;
    if (value.op !== "add" && value.op !== "sub") continue;
    const [v, c] = value.args;
    if (v.op !== "variable" || v.id !== counter.id || c.op !== "literal" || typeof c.value !== "number")
      continue;
    const by = value.op === "add" ? c.value : -c.value;
    if (Number.isInteger(by) && by !== 0 && by > 0 === up) return { counter: counter.id, bound, by };
  }
  return null;
}
