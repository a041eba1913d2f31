/** Views against index arithmetic on plain arrays. */
import fc from "fast-check";
import { scope, type Tensor } from "../../src/index.ts";
import {
  applySteps,
  type Drawn,
  drawnTensor,
  indices,
  laidOut,
  type Model,
  type Step,
  steps,
} from "../arbitrary.ts";
import { family } from "./family.ts";

export interface ViewCase {
  readonly tensor: Drawn;
  readonly steps: readonly Step[];
}

/** As a bigint where it is one: `get` gives numbers, and refuses what they cannot hold. */
export const elementOf = (t: Tensor, index: readonly number[]): unknown =>
  t.dtype === "i64" || t.dtype === "u64" ? t.slice(...index).toArray() : t.get(...index);

/** Throws at the first element that `get` and the model give differently. */
export function expectModel(t: Tensor, m: Model): void {
  if (t.shape.join() !== m.shape.join()) throw new Error(`the shape is [${t.shape}], expected [${m.shape}]`);
  indices(m.shape).forEach((index, k) => {
    const got = elementOf(t, index);
    if (!Object.is(got, m.values[k]))
      throw new Error(`element [${index}] is ${got}, expected ${m.values[k]}`);
  });
}

export const views = family<ViewCase>({
  name: "views",
  law: "any chain of view operations on any layout is the same chain on plain arrays",
  cases: fc.record({ tensor: drawnTensor(), steps }),
  check: (c) =>
    scope(() => {
      const s = laidOut(c.tensor);
      const [t, m] = applySteps(s.make(), s, c.steps);
      expectModel(t, m);
      expectModel(t.clone(), m);
      return true;
    }),
  gate: 1000,
});
