/** What names and expressions stand for while a function is read: values, arrays, functions, and where names are found. */
import type { FunctionNode, ParsedFunction } from "../frontend/parse.ts";
import type { KernelLike } from "../frontend/template.ts";
import type { ArrayRef, Expr } from "./tree.ts";

export type Val =
  | { readonly kind: "value"; readonly expr: Expr }
  /** An argument that is never assigned to: a scalar or an array, told by how it is used. */
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "array"; readonly ref: ArrayRef }
  | { readonly kind: "shape"; readonly of: ArrayRef }
  | { readonly kind: "tuple"; readonly items: readonly Val[] }
  | { readonly kind: "function"; readonly fn: InnerFunction }
  | { readonly kind: "kernel"; readonly kernel: KernelLike; readonly name: string }
  | { readonly kind: "namespace"; readonly name: string }
  | { readonly kind: "builtin"; readonly name: string }
  | { readonly kind: "prange" }
  | { readonly kind: "nothing" };

/** A function that is written out where it is called. */
export interface InnerFunction {
  readonly node: FunctionNode;
  readonly scope: Scope;
  /** The text it stands in. */
  readonly text: Text;
}

/** One function's text: its own, or that of a function that was passed along. */
export interface Text extends Pick<ParsedFunction, "source" | "shift"> {
  /** What the function calls itself; empty: nothing. */
  readonly name: string;
  readonly reassigned: ReadonlySet<number>;
}

export type Binding =
  | { readonly kind: "variable"; readonly id: number; readonly constant: boolean }
  | { readonly kind: "fixed"; readonly val: Val }
  /** Declared further down. */
  | { readonly kind: "pending"; readonly constant: boolean };

export class Scope {
  readonly parent: Scope | null;
  readonly names = new Map<string, Binding>();

  constructor(parent: Scope | null) {
    this.parent = parent;
  }

  find(name: string): Binding | null {
    return this.holder(name)?.names.get(name) ?? null;
  }

  /** The scope that declares the name. */
  holder(name: string): Scope | null {
    for (let scope: Scope | null = this; scope !== null; scope = scope.parent) {
      if (scope.names.has(name)) return scope;
    }
    return null;
  }
}

export const nothing: Val = { kind: "nothing" };
