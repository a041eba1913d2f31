/**
 * Symbolic execution's state: what variables hold on the way through a function. Where control splits, each side
 * runs on its own copy; where it meets again, `select` chooses between what they disagree on. A return, a break or a
 * continue is an exit taken under a test: whatever follows counts only for the elements that have not left.
 */
import type { Id, Template } from "../ir/node.ts";
import type { Builtin } from "./builtins.ts";
import type { FunctionNode } from "./parse.ts";
import type { Table, TemplateBuilder } from "./template.ts";

/** What a name or an expression stands for. */
export type Val =
  | { readonly kind: "node"; readonly id: Id }
  | { readonly kind: "nothing"; readonly name: "undefined" | "null" }
  /** A list that is returned: several results. */
  | { readonly kind: "tuple"; readonly items: readonly Id[] }
  /** A `let` before its line, or a variable that holds different kinds of things on different paths. */
  | { readonly kind: "unusable"; readonly why: string; readonly undeclared?: true }
  | { readonly kind: "function"; readonly node: FunctionNode; readonly scope: Scope }
  | {
      readonly kind: "template";
      readonly template: Template;
      readonly params: readonly Id[];
      readonly name: string;
    }
  /** A captured tensor, the name it was captured by, and its sizes. */
  | { readonly kind: "table"; readonly table: Table; readonly key: string }
  | { readonly kind: "shape"; readonly of: Val & { kind: "table" } }
  | { readonly kind: "get"; readonly of: Val & { kind: "table" } }
  /** What a stencil calls with an offset for each axis. */
  | { readonly kind: "at" }
  | { readonly kind: "namespace"; readonly name: string }
  | { readonly kind: "builtin"; readonly apply: Builtin };

export const undefinedValue: Val = { kind: "nothing", name: "undefined" };
export const nullValue: Val = { kind: "nothing", name: "null" };

/** One variable, whatever its name: the key of its value on a path. */
export interface Slot {
  readonly name: string;
  readonly constant: boolean;
}

export class Scope {
  readonly parent: Scope | null;
  readonly slots = new Map<string, Slot>();

  constructor(parent: Scope | null) {
    this.parent = parent;
  }

  find(name: string): Slot | null {
    let scope: Scope | null = this;
    while (scope !== null) {
      const slot = scope.slots.get(name);
      if (slot !== undefined) return slot;
      scope = scope.parent;
    }
    return null;
  }
}

export type Vars = Map<Slot, Val>;

/** Where an exit leads, by identity: behind a function, a loop or a round of it. */
export interface Target {
  readonly what: "function" | "loop" | "round";
}

/** One way through the function up to here. */
export interface Path {
  vars: Vars;
  /** Elements that have left already, first match wins: `test` holds → `value`. */
  exits: Exit[];
  /** Set once every remaining element has left. */
  left: Leaving | null;
}
export interface Leaving {
  readonly target: Target;
  readonly value: Val;
}
export interface Exit extends Leaving {
  readonly test: Id;
  readonly vars: Vars;
}

/** Another path that runs inside of a part of this one. */
interface Around {
  readonly path: Path;
  /** The part; null: all of it. */
  readonly test: Id | null;
  readonly holds: boolean;
}

export const notEveryPath = "cannot compile a function that does not return a value on every path.";

export class Paths {
  path: Path = { vars: new Map(), exits: [], left: null };
  readonly #t: TemplateBuilder;
  #around: Around[] = [];
  /** The condition for being in the loop's round at hand; null: there is no loop. */
  #base: Id | null = null;

  constructor(t: TemplateBuilder) {
    this.#t = t;
  }

  get(slot: Slot): Val | undefined {
    return this.path.vars.get(slot);
  }

  set(slot: Slot, value: Val): void {
    this.path.vars.set(slot, value);
  }

  get hasLeft(): boolean {
    return this.path.left !== null;
  }

  /** Every element still here leaves. */
  leave(target: Target, value: Val = undefinedValue): void {
    this.path.left = { target, value };
  }

  /** What must hold of an element for it to be here. */
  guard(): Id {
    const t = this.#t;
    let all = this.#base ?? t.literal(true);
    const also = (test: Id) => {
      all = t.op("and", [all, test]);
    };
    const stays = ({ exits }: Path) => {
      for (const { test } of exits) also(t.op("not", [test]));
    };
    for (const { path, test, holds } of this.#around) {
      stays(path);
      if (test !== null) also(holds ? test : t.op("not", [test]));
    }
    stays(this.path);
    return all;
  }

  /** Runs the body of a function, whose returns end there; gives what it returns. */
  frame(body: () => void): Val {
    const outer = this.path;
    this.#inside(null, true, { vars: outer.vars, exits: [], left: null }, body);
    const { value, vars } = this.#settle(this.path);
    this.path = { ...outer, vars };
    return value;
  }

  /** Runs a part that can be left: what leaves for this target goes on behind it. */
  block(target: Target, body: () => void): void {
    const outer = this.path;
    this.#inside(null, true, { vars: outer.vars, exits: [], left: null }, body);
    const { vars, exits, left } = this.path;
    if (exits.length === 0 && left === null) {
      this.path = { ...outer, vars };
      return;
    }
    const closed = this.close(this.path, target);
    this.path = { vars: closed.vars, exits: [...outer.exits, ...closed.exits], left: closed.left };
  }

  /** The same path with exits to this target joined to the rest of it. */
  close(path: Path, target: Target): Path {
    const t = this.#t;
    const own = path.exits.filter((e) => e.target === target);
    const isLeft = path.left !== null && path.left.target !== target;
    // An exit counts where none before it was taken.
    const gone: Id[] = [];
    const exits: Exit[] = [];
    for (const e of path.exits) {
      if (e.target === target) gone.push(e.test);
      else
        exits.push({ ...e, test: gone.reduce((test, g) => t.op("and", [test, t.op("not", [g])]), e.test) });
    }
    if (own.length === 0) return { vars: path.vars, exits, left: isLeft ? path.left : null };
    let { vars } = path;
    let joined = !isLeft;
    for (const e of own.toReversed()) {
      vars = joined ? this.#mergeVars(e.test, e.vars, vars) : e.vars;
      joined = true;
    }
    if (isLeft) {
      const test = gone.map((g) => t.op("not", [g])).reduce((a, b) => t.op("and", [a, b]));
      exits.push({ test, ...path.left!, vars: path.vars });
    }
    return { vars, exits, left: null };
  }

  /**
   * Runs a round of a loop on variables of its own; gives the path at its end. `base` is the condition for being in it, and
   * may be set anew once the round's test is known.
   */
  round(vars: Vars, base: Id, body: (rebase: (base: Id) => void) => void): Path {
    const [outer, around, before] = [this.path, this.#around, this.#base];
    this.path = { vars, exits: [], left: null };
    this.#around = [];
    this.#base = base;
    try {
      body((next) => {
        this.#base = next;
      });
      return this.path;
    } finally {
      this.path = outer;
      this.#around = around;
      this.#base = before;
    }
  }

  /** Runs both sides of a choice, each on its own copy of the variables, and joins them. */
  branch<T>(test: Id, yes: () => T, no: () => T): [T, T] {
    const before = this.path;
    const a = this.#inside(test, true, { vars: new Map(before.vars), exits: [], left: null }, yes);
    const p = this.path;
    this.path = before;
    const b = this.#inside(test, false, { vars: new Map(before.vars), exits: [], left: null }, no);
    const q = this.path;
    this.path = this.#join(before.exits, test, p, q);
    return [a, b];
  }

  /** The variables at the end of a path, whichever way it was left. */
  varsAtEnd(path: Path): Vars {
    return this.#settle({ ...path, exits: path.exits.map((e) => ({ ...e, value: undefinedValue })) }).vars;
  }

  /** Where the state of things can be brought back to. */
  save(): () => void {
    const { vars, exits, left } = this.path;
    const [around, base] = [[...this.#around], this.#base];
    const saved = { vars: new Map(vars), exits: [...exits], left };
    return () => {
      this.path = { ...saved, vars: new Map(saved.vars) };
      this.#around = [...around];
      this.#base = base;
    };
  }

  #inside<T>(test: Id | null, holds: boolean, path: Path, body: () => T): T {
    this.#around.push({ path: this.path, test, holds });
    this.path = path;
    const value = body();
    this.#around.pop();
    return value;
  }

  #join(exits: readonly Exit[], test: Id, p: Path, q: Path): Path {
    const t = this.#t;
    const not = () => t.op("not", [test]);
    if (!haveOneTarget(p, q)) return this.#joinMixed(exits, test, p, q);
    if (p.left !== null && q.left !== null) {
      const [a, b] = [this.#settle(p), this.#settle(q)];
      const value = this.choose(test, a.value, b.value, notEveryPath);
      const left = { target: p.left.target, value };
      return { vars: this.#mergeVars(test, a.vars, b.vars), exits: [...exits], left };
    }
    if (p.left !== null) {
      const { target } = p.left;
      return { ...q, exits: [...exits, { test, target, ...this.#settle(p) }, ...q.exits] };
    }
    if (q.left !== null) {
      const { target } = q.left;
      return { ...p, exits: [...exits, { test: not(), target, ...this.#settle(q) }, ...p.exits] };
    }
    const both = [
      ...p.exits.map((e) => ({ ...e, test: t.op("and", [test, e.test]) })),
      ...q.exits.map((e) => ({ ...e, test: t.op("and", [not(), e.test]) })),
    ];
    return { vars: this.#mergeVars(test, p.vars, q.vars), exits: [...exits, ...both], left: null };
  }

  /** The same where exits lead to different places: each stays by itself. */
  #joinMixed(exits: readonly Exit[], test: Id, p: Path, q: Path): Path {
    const t = this.#t;
    const under = (condition: Id, { exits, left, vars }: Path): Exit[] => [
      ...exits.map((e) => ({ ...e, test: t.op("and", [condition, e.test]) })),
      ...(left === null ? [] : [{ test: condition, ...left, vars }]),
    ];
    const not = t.op("not", [test]);
    if (p.left !== null && q.left !== null) {
      const all = [...exits, ...under(test, p), ...under(not, { ...q, left: null })];
      return { vars: q.vars, exits: all, left: q.left };
    }
    const vars = p.left !== null ? q.vars : q.left !== null ? p.vars : this.#mergeVars(test, p.vars, q.vars);
    return { vars, exits: [...exits, ...under(test, p), ...under(not, q)], left: null };
  }

  /** What a path returns, and the variables as they then are: its early exits chosen one after another. */
  #settle(path: Path): { value: Val; vars: Vars } {
    let value = path.left?.value ?? undefinedValue;
    let vars = path.vars;
    for (const exit of path.exits.toReversed()) {
      value = this.choose(exit.test, exit.value, value, notEveryPath);
      vars = this.#mergeVars(exit.test, exit.vars, vars);
    }
    return { value, vars };
  }

  #mergeVars(test: Id, a: Vars, b: Vars): Vars {
    if (a === b) return a;
    const merged: Vars = new Map();
    for (const [slot, x] of a) {
      const y = b.get(slot);
      if (y !== undefined)
        merged.set(slot, this.choose(test, x, y, `"${slot.name}" is not a number on every path to here.`));
    }
    return merged;
  }

  /** One of two values; `why` it cannot be used, if they are not both numbers. */
  choose(test: Id, a: Val, b: Val, why: string, span = this.#t.nodes[test].span): Val {
    if (a === b || (a.kind === "nothing" && b.kind === "nothing")) return a;
    if (a.kind === "tuple" && b.kind === "tuple" && a.items.length === b.items.length) {
      const items = a.items.map((x, i) => this.#t.op("select", [test, x, b.items[i]], span));
      return { kind: "tuple", items };
    }
    if (a.kind !== "node" || b.kind !== "node") return { kind: "unusable", why };
    return { kind: "node", id: this.#t.op("select", [test, a.id, b.id], span) };
  }
}

/** Do all exits of both lead to one place? */
function haveOneTarget(p: Path, q: Path): boolean {
  const first = p.exits[0] ?? p.left ?? q.exits[0] ?? q.left;
  const isSame = (e: Leaving | null) => e === null || e.target === first?.target;
  return [...p.exits, p.left, ...q.exits, q.left].every(isSame);
}
