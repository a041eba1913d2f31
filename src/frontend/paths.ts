/**
 * Symbolic execution's state: what variables hold on the way through a function. Where control splits, each side
 * runs on its own copy; where it meets again, `select` chooses between what they disagree on. An early return is
 * an exit taken under a test: whatever follows counts only for the elements that have not left.
 */
import type { Id, Template } from "../ir/node.ts";
import type { Builtin } from "./builtins.ts";
import type { FunctionNode } from "./parse.ts";
import type { TemplateBuilder } from "./template.ts";

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

type Vars = Map<Slot, Val>;

/** One way through the function up to here. */
interface Path {
  vars: Vars;
  /** Elements that have returned already, first match wins: `test` holds → `value`. */
  exits: Exit[];
  /** Set once every remaining element has returned. */
  returned: Val | null;
}
interface Exit {
  readonly test: Id;
  readonly value: Val;
  readonly vars: Vars;
}

export const notEveryPath = "cannot compile a function that does not return a value on every path.";

export class Paths {
  path: Path = { vars: new Map(), exits: [], returned: null };
  readonly #t: TemplateBuilder;

  constructor(t: TemplateBuilder) {
    this.#t = t;
  }

  get(slot: Slot): Val | undefined {
    return this.path.vars.get(slot);
  }

  set(slot: Slot, value: Val): void {
    this.path.vars.set(slot, value);
  }

  get hasReturned(): boolean {
    return this.path.returned !== null;
  }

  /** Every element still here returns this value. */
  leave(value: Val): void {
    this.path.returned = value;
  }

  /** Runs the body of a function, whose returns end there; gives what it returns. */
  frame(body: () => void): Val {
    const outer = this.path;
    this.path = { vars: outer.vars, exits: [], returned: null };
    body();
    const { value, vars } = this.#settle(this.path);
    this.path = { ...outer, vars };
    return value;
  }

  /** Runs both sides of a choice, each on its own copy of the variables, and joins them. */
  branch<T>(test: Id, yes: () => T, no: () => T): [T, T] {
    const before = this.path;
    this.path = { vars: new Map(before.vars), exits: [], returned: null };
    const a = yes();
    const p = this.path;
    this.path = { vars: new Map(before.vars), exits: [], returned: null };
    const b = no();
    const q = this.path;
    this.path = this.#join(before.exits, test, p, q);
    return [a, b];
  }

  #join(exits: readonly Exit[], test: Id, p: Path, q: Path): Path {
    const t = this.#t;
    const not = () => t.op("not", [test]);
    if (p.returned !== null && q.returned !== null) {
      const [a, b] = [this.#settle(p), this.#settle(q)];
      const returned = this.choose(test, a.value, b.value, notEveryPath);
      return { vars: this.#mergeVars(test, a.vars, b.vars), exits: [...exits], returned };
    }
    if (p.returned !== null) {
      return { ...q, exits: [...exits, { test, ...this.#settle(p) }, ...q.exits] };
    }
    if (q.returned !== null) {
      return { ...p, exits: [...exits, { test: not(), ...this.#settle(q) }, ...p.exits] };
    }
    const both = [
      ...p.exits.map((e) => ({ ...e, test: t.op("and", [test, e.test]) })),
      ...q.exits.map((e) => ({ ...e, test: t.op("and", [not(), e.test]) })),
    ];
    return { vars: this.#mergeVars(test, p.vars, q.vars), exits: [...exits, ...both], returned: null };
  }

  /** What a path returns, and the variables as they then are: its early exits chosen one after another. */
  #settle(path: Path): { value: Val; vars: Vars } {
    let value = path.returned ?? undefinedValue;
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
