/** The gate for memory that is not ours: does every element of shape, stride and offset lie in the data? */
import { fail, list, written } from "../errors.ts";
import { checkShape, extentOf } from "../view/layout.ts";

/** Throws unless all indices of the shape reach elements 0 … count - 1, with whole numbers all the way. */
export function checkElements(
  op: string,
  shape: readonly number[],
  stride: readonly number[],
  offset: unknown,
  count: number,
): asserts offset is number {
  checkShape(op, shape);
  if (stride.length !== shape.length) {
    fail("shape", op, `${stride.length} strides for ${shape.length} sizes.`, "Give one stride an axis.");
  }
  const odd = [...stride, offset].find((x) => !Number.isSafeInteger(x));
  if (odd !== undefined || !Number.isSafeInteger(offset)) {
    const name = stride.includes(odd as number) ? "stride" : "offset";
    fail(
      "value",
      op,
      `the ${name} ${written(odd)} is not a whole number.`,
      "Strides and offset count elements.",
    );
  }
  const at = offset as number;
  const reach = extentOf(shape, stride);
  const [low, high] = reach === null ? [at, at - 1] : [at + reach.min, at + reach.max];
  if (low >= 0 && high < count && at <= count) return;
  fail(
    "bounds",
    op,
    reach === null
      ? `the empty view begins at element ${at}, the data has ${count}.`
      : `the view reaches elements ${low} … ${high}, the data has ${count}.`,
    `Every element must lie inside: shape ${list(shape)}, stride ${list(stride)}, offset ${at}.`,
  );
}
