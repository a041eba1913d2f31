/** Classes and other places as whole numbers, as losses, metrics and tables take them. */
import { mapReduce, scope } from "../api.ts";
import { isInteger } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail } from "../errors.ts";
import { copyTo } from "../ops/copy.ts";
import { share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { unrecorded } from "./aside.ts";

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
  scores.rank > 0 && sameShape(scores.shape.slice(0, -1), classes.shape);

const isBeyond = (c: number, { count }: { count: number }) => (c < 0 || c >= count ? 1 : 0);

const anyBeyond = (numbers: Tensor, count: number): boolean =>
  numbers.size > 0 &&
  unrecorded(() =>
    scope(
      () => mapReduce([numbers], isBeyond, { with: { count }, reduce: "max", dtype: "i32" }).item() === 1,
    ),
  );

/**
 * Whole numbers from 0 up to count, without count; else an error: `wrong`, such as "a class is not among the 3". While a
 * function is traced nobody knows them: what is given back then is looked at in every call.
 */
export function within(operation: string, numbers: Tensor, count: number, wrong: string): Tensor {
  const check = (t: Tensor) => {
    if (anyBeyond(t, count))
      fail("value", operation, `${wrong}.`, `Use whole numbers from 0 to ${count - 1}.`);
  };
  const { tracer } = engine();
  if (tracer === null) {
    check(numbers);
    return numbers;
  }
  const copied = (t: Strided): Strided => {
    scope(() => check(wrap(share(t, t.frame))));
    return copyTo(operation, t, t.dtype);
  };
  return wrap(tracer.whole(operation, stridedOf(numbers), copied)) as Tensor;
}
