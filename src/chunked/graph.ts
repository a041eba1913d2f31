/**
 * What users build: nodes that know their shape, dtype and chunks and have not been computed. A virtual node is an expression
 * over those before it; any other has to be computed and stored before something can be made of it. Nothing runs here.
 */
import type { DType } from "../dtype.ts";
import type { ZarrSource } from "../io/zarr-group.ts";
import type { Expr } from "./expr.ts";
import type { Sent, SentValue } from "./kernels.ts";

/** How the elements of blocks become few. */
export type FoldKind = "sum" | "prod" | "min" | "max" | "any" | "all" | "moments" | "histogram";

/** What has to be stored, and how it is computed. */
export type Material =
  | {
      readonly kind: "fold";
      readonly how: FoldKind;
      readonly axes: readonly number[];
      /** Of a histogram; its range is fixed, or from the second input to the third. */
      readonly bins?: number;
      readonly range?: readonly [number, number];
    }
  | { readonly kind: "scan"; readonly axis: number }
  | { readonly kind: "contract"; readonly axesA: readonly number[]; readonly axesB: readonly number[] }
  | { readonly kind: "rechunk" }
  | {
      readonly kind: "blocks";
      readonly fn: Sent;
      readonly halo: readonly number[];
      readonly boundary: "edge" | "reflect" | SentValue;
    }
  | { readonly kind: "quantile"; readonly q: readonly number[] };

/** What lies beyond the array's edge, for blocks that look there. */
export type Boundary = "edge" | "reflect" | number;

export interface Source {
  readonly kind: "source";
  /** Rows of its chunks can be read alone. */
  readonly isPlain: boolean;
  readonly from: ZarrSource;
  readonly path: string;
}

export interface Node {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly chunks: readonly number[];
  /** What it is, apart from its inputs: two nodes with the same key and the same inputs are the same. */
  readonly key: string;
  /** A word for people. */
  readonly label: string;
  readonly inputs: readonly Node[];
  readonly how:
    | Source
    | Material
    | { readonly kind: "virtual"; readonly of: (inputs: readonly Expr[]) => Expr };
}
