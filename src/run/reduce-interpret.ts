/** Folds of several operands on the interpreter: what a Fold means, one element after the other. */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { evaluator } from "../ir/eval.ts";
import type { Fold } from "../optimize/reduce.ts";
import type { LoopNest } from "../view/loops.ts";
import { advance, isEmpty } from "./odometer.ts";
import type { FoldParams } from "./reduce-tasks.ts";

/**
 * `kept` walks [...inputs, out] over the axes that stay, `folded` the inputs over those that go. An input whose dtype is
 * null is its own address.
 */
export function interpretFold(
  memory: DataView,
  kept: LoopNest,
  folded: LoopNest,
  dtypesOf: readonly (DType | null)[],
  fold: Fold,
  params: FoldParams,
  start: Value | null,
): void {
  if (isEmpty(kept)) return;
  const step = evaluator(fold.step, params.step);
  const first = fold.first === null ? null : evaluator(fold.first, params.first);
  const finish = evaluator(fold.finish, params.finish);
  const { write } = dtypes[fold.finish.dtype];
  const count = dtypesOf.length;
  const values: Value[] = new Array(count + 1).fill(0);
  const index = new Array<number>(kept.shape.length).fill(0);
  const pointers = [...kept.offsets];
  const foldIndex = new Array<number>(folded.shape.length).fill(0);
  do {
    let acc = start;
    if (!isEmpty(folded)) {
      const at = folded.offsets.map((o, k) => pointers[k] + o);
      do {
        for (let k = 0; k < count; k++) {
          const d = dtypesOf[k];
          values[k + 1] = d === null ? at[k] : dtypes[d].read(memory, at[k]);
        }
        if (acc === null) acc = first!(values.slice(1));
        else {
          values[0] = acc;
          acc = step(values);
        }
      } while (advance(folded, folded.shape.length, foldIndex, at));
    }
    write(memory, pointers[count], finish([acc!]));
  } while (advance(kept, kept.shape.length, index, pointers));
}
