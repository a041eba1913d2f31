/** Classes as numbers, as losses and metrics take them. */
import { isInteger } from "../dtype.ts";
import { fail } from "../errors.ts";
import { liveTensor, type Tensor } from "../tensor.ts";

/** Whole numbers, or an error that says what they are. */
export function readClasses(operation: string, classes: Tensor): Tensor {
  const c = liveTensor(operation, classes);
  if (isInteger(c.dtype)) return c;
  return fail(
    "dtype",
    operation,
    `the classes are ${c.dtype}.`,
    'They are whole numbers: convert with to("i32").',
  );
}

/** Has one of them an axis more, the last, and the other the same axes before it? */
export const hasScores = (scores: Tensor, classes: Tensor): boolean =>
  scores.rank > 0 && scores.shape.slice(0, -1).join() === classes.shape.join();
