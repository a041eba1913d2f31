/** Folds whose programs are known: what the named reductions that make several passes consist of. */
import type { DType, Value } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import { type Fold, type FoldMaking, makeFold } from "../optimize/reduce.ts";
import type { Strided } from "../run/call.ts";
import { type Call, type Captured, type Form, fromStart, idOf, newId, type Plan } from "../run/call.ts";
import type { View } from "../view/view.ts";
import { execute, planned } from "./execute.ts";

/** An input of a fold, in the common shape; or the position of an element in its fold, in C order. */
export type Source = Strided | "position";

export interface FoldOrder {
  readonly operation: string;
  readonly fold: Fold;
  /** Captured values of the step, then of the end. */
  readonly values?: readonly Captured[];
  readonly sources: readonly Source[];
  readonly isFolded: readonly boolean[];
  /** In the function's own dtype; null: where the operation itself starts. */
  readonly init: Value | null;
  /** Where the result goes: a view of the kept axes. */
  readonly out: Strided;
}

interface FoldCall extends Call {
  readonly what: Fold;
  readonly order: FoldOrder;
}

/** out[kept] = fold over the folded axes. There is a start value if nothing is folded. */
export function runFold(order: FoldOrder): void {
  const { operation, fold, sources, isFolded, init, out, values = [] } = order;
  let mask = 0;
  for (let d = 0; d < isFolded.length; d++) mask = 2 * mask + (isFolded[d] ? 1 : 0);
  const inputs = sources.filter((s) => s !== "position");
  execute(foldForm, {
    operation,
    what: fold,
    facts: [idOf(fold), mask, init],
    inputs,
    out,
    values,
    order,
  });
}

const foldForm: Form<FoldCall> = {
  id: newId(),
  guards: "nothing",
  plan({ what, order, out }) {
    const views = order.sources.map((s) => (s === "position" ? null : fromStart(s.frame)));
    const types = order.sources.map((s) => (s === "position" ? null : s.dtype));
    const { isFolded, init } = order;
    return foldPlan("reduce", what, views, types, isFolded, fromStart(out!.frame), init, null);
  },
};

/** The plan of a fold or a scan, once all about it is decided. */
export function foldPlan(
  form: "reduce" | "scan",
  fold: Fold,
  sources: readonly (View | null)[],
  dtypes: readonly (DType | null)[],
  isFolded: readonly boolean[],
  out: View,
  init: Value | null,
  told: Plan["told"],
  names: readonly string[] = [],
): Plan {
  const { dtype } = fold.finish;
  const work = { form, fold, sources, dtypes, isFolded, out, init };
  return planned(work, { dtype, frame: out, params: paramsOfFold(fold), told, names });
}

/** dtypes of a fold's captured values. */
export const paramsOfFold = ({ step, finish, first }: Fold): DType[] => [
  ...step.params,
  ...finish.params,
  ...(first?.params ?? []),
];

const folds = new WeakMap<Program, Map<string, Fold>>();

/** One fold a program and result, so that kernels are found again. `key` names what is made of it. */
export function foldOf(program: Program, result: DType, making: FoldMaking = {}, key = ""): Fold {
  let known = folds.get(program);
  if (known === undefined) {
    known = new Map();
    folds.set(program, known);
  }
  const full = `${result} ${key}`;
  let fold = known.get(full);
  if (fold === undefined) {
    fold = makeFold(program, result, making);
    known.set(full, fold);
  }
  return fold;
}
