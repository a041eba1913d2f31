/**
 * A whole function as njit reads it, before dtypes: structured statements over pure expressions. What has an effect or an
 * order (a load, a store, an assignment) is a statement of its own, so an expression may be computed at any time between
 * the statements around it. Calls are gone: functions were written out where they are called.
 */
import type { DType } from "../dtype.ts";
import type { Literal } from "../frontend/template.ts";
import type { Span } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";

/** Where something stands: a piece of the text of the function, or of one that was passed to it. */
export interface Place {
  readonly source: string;
  readonly span: Span;
}

/** Something with elements: an argument of the call, or a small array of the function's own. */
export type ArrayRef =
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "local"; readonly index: number };

export type Expr =
  | { readonly op: "literal"; readonly value: Literal; readonly place: Place }
  | { readonly op: "variable"; readonly id: number; readonly place: Place }
  /** A scalar argument. */
  | { readonly op: "argument"; readonly index: number; readonly place: Place }
  /** The size of an axis (negative: from the end), all of them together (.size), or how long a list is (.length). */
  | {
      readonly op: "size";
      readonly array: ArrayRef;
      readonly axis: number | "size" | "length";
      readonly place: Place;
    }
  | { readonly op: "rank"; readonly array: ArrayRef; readonly place: Place }
  /** BigInt(x) of a number. */
  | { readonly op: "big"; readonly args: readonly [Expr]; readonly place: Place }
  /** BigInt.asIntN(64, x) and BigInt.asUintN(64, x). */
  | { readonly op: "asIntN" | "asUintN"; readonly args: readonly [Expr]; readonly place: Place }
  /** Number(x), of a bigint too. */
  | { readonly op: "number"; readonly args: readonly [Expr]; readonly place: Place }
  /** Any operation with JavaScript's meaning; `select` computes both sides. `strict`: it was === or !==. */
  | {
      readonly op: OpName;
      readonly args: readonly Expr[];
      readonly place: Place;
      readonly strict?: boolean;
    };

/** How elements are named where they are used: `a.get(i, j)`, `a.set([i], v)`, `a[i]`. */
export type Access = "get" | "set" | "[]";

export type Stmt =
  | { readonly op: "set"; readonly id: number; readonly value: Expr; readonly place: Place }
  | {
      readonly op: "load";
      readonly id: number;
      readonly array: ArrayRef;
      readonly index: readonly Expr[];
      readonly access: Access;
      readonly place: Place;
    }
  | {
      readonly op: "store";
      readonly array: ArrayRef;
      readonly index: readonly Expr[];
      readonly value: Expr;
      readonly access: Access;
      readonly place: Place;
    }
  | {
      readonly op: "if";
      readonly test: Expr;
      readonly yes: readonly Stmt[];
      readonly no: readonly Stmt[];
      readonly place: Place;
    }
  /** `break` to its label goes on after it. */
  | { readonly op: "block"; readonly label: number; readonly body: readonly Stmt[]; readonly place: Place }
  | Loop
  | { readonly op: "break"; readonly label: number; readonly place: Place }
  | { readonly op: "continue"; readonly label: number; readonly place: Place }
  | { readonly op: "return"; readonly values: readonly Expr[]; readonly place: Place };

/** Each turn: head, leave unless test, body, update. `continue` to its label goes to the update. */
export interface Loop {
  readonly op: "loop";
  readonly label: number;
  readonly head: readonly Stmt[];
  readonly test: Expr | null;
  readonly body: readonly Stmt[];
  readonly update: readonly Stmt[];
  /** do … while: head and test come after the body. */
  readonly testLast: boolean;
  /** Its turns may run on several threads: it was written with prange. */
  readonly parallel: { readonly counter: number; readonly independent: boolean } | null;
  readonly place: Place;
}

export interface Variable {
  readonly name: string;
  /** Never set again after its declaration. */
  readonly constant: boolean;
  /** Set first to a literal: then it is a whole number or f64, whatever it is set to later. */
  fromLiteral: boolean;
  readonly place: Place;
  /** What a call returns: where its function ends without a value. */
  end?: Place;
}

/** A variable that every iteration adds to. */
export interface Reduction {
  readonly variable: number;
  readonly op: ReductionOp;
}
export type ReductionOp = "add" | "mul" | "min" | "max" | "bitAnd" | "bitOr" | "bitXor";

/**
 * What must hold, or the loop runs in order: it is of 32 bits, not 0, or what algebra makes of it (exact.ts): a bound, or the index
 * of an access.
 */
export type Assumption =
  | { readonly is: "int" | "nonzero" | "bound"; readonly expr: Expr }
  | { readonly is: "index"; readonly expr: Expr; readonly at: Stmt };

/** How a prange loop may be cut. */
export interface LoopPlan {
  readonly reductions: readonly Reduction[];
  readonly assumptions: readonly Assumption[];
}

/** A small array of the function's own: made anew where its declaration stands. */
export interface LocalArray {
  readonly name: string;
  /** null: a plain array of numbers. */
  readonly dtype: DType | null;
  readonly length: number;
  readonly clamped: boolean;
}

export interface Argument {
  readonly name: string;
  /** A captured tensor, by its name; null: one of the call's. */
  readonly captured: string | null;
  readonly place: Place;
}

/** What a function gives back: a number is the length of a list. */
export type Returns = "nothing" | "one" | number;

export interface Tree {
  readonly name: string;
  readonly source: string;
  /** Those of the call, then captured tensors and arrays. */
  readonly args: readonly Argument[];
  /** How many of them the call gives. */
  readonly given: number;
  readonly variables: readonly Variable[];
  readonly arrays: readonly LocalArray[];
  readonly body: readonly Stmt[];
  readonly returns: Returns;
  /** How each prange loop may be cut. */
  readonly plans: ReadonlyMap<Loop, LoopPlan>;
}

/** The expressions of a statement itself. */
export function expressionsOf(s: Stmt): readonly Expr[] {
  switch (s.op) {
    case "set":
      return [s.value];
    case "load":
      return s.index;
    case "store":
      return [...s.index, s.value];
    case "if":
      return [s.test];
    case "loop":
      return s.test === null ? [] : [s.test];
    case "return":
      return s.values;
    default:
      return [];
  }
}
