/** What a task of each operation computes, as JSON: written by plan.ts, spent by task.ts. */
import type { DType } from "../dtype.ts";
import type { Expr } from "./expr.ts";
import type { FoldKind } from "./graph.ts";
import type { Sent, SentValue } from "./kernels.ts";

export interface FoldWork {
  readonly kind: "fold";
  readonly expr: Expr;
  readonly how: FoldKind;
  /** The axes that are folded; chunks along them are cut into groups, each of which is a task. */
  readonly axes: readonly number[];
  readonly chunks: readonly number[];
  readonly groups: number;
  /** Of what is carried. */
  readonly dtype: DType;
  /** Is the next block read while one is folded? */
  readonly ahead: boolean;
  readonly bins?: number;
  readonly range: readonly [number, number] | readonly [Expr, Expr] | null;
}

export interface ContractWork {
  readonly kind: "contract";
  readonly a: Expr;
  readonly b: Expr;
  readonly axesA: readonly number[];
  readonly axesB: readonly number[];
  /** Sizes of the blocks along the axes that are summed over. */
  readonly inner: readonly number[];
  /** Of the product. */
  readonly dtype: DType;
  readonly ahead: boolean;
}

export type Work =
  | { readonly kind: "blockwise"; readonly expr: Expr }
  | FoldWork
  | { readonly kind: "combine"; readonly array: string; readonly how: FoldKind; readonly groups: number }
  | { readonly kind: "scan"; readonly stage: "offsets"; readonly array: string }
  | {
      readonly kind: "scan";
      readonly stage: "apply";
      readonly expr: Expr;
      readonly axis: number;
      readonly offsets: string | null;
      readonly dtype: DType;
    }
  | ContractWork
  | {
      readonly kind: "blocks";
      readonly expr: Expr;
      readonly fn: Sent;
      readonly halo: readonly number[];
      readonly boundary: "edge" | "reflect" | SentValue;
      readonly dtype: DType;
    }
  | {
      readonly kind: "quantile";
      readonly counts: Expr;
      readonly low: Expr;
      readonly high: Expr;
      readonly q: readonly number[];
    };
