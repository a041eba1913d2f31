/** The body of an operation that is made of others. */
import { scope } from "../api.ts";
import { within } from "../engine.ts";
import { TensorError } from "../errors.ts";
import { heldIn } from "../memory/held.ts";
import { noted } from "../ops/noted.ts";
import { isTensor, stridedOf, type Tensor } from "../tensor.ts";

/** A scope whose steps `explain` shows under the operation's name, which its errors have too. */
export function scoped<R>(operation: string, fn: () => R): R {
  return named(operation, () => within(operation, () => scope(fn)));
}

/** The same for an operation that is one to whoever records, whatever it is made of. */
export function scopedAs<R>(
  operation: string,
  inputs: readonly Tensor[],
  facts: object,
  fn: () => R,
  name = operation,
): R {
  const outs = (made: R) => Array.from(heldIn(made, isTensor), stridedOf);
  return noted(name, inputs.map(stridedOf), facts, () => scoped(operation, fn), outs, operation);
}

/** What one of the steps cannot do is what the operation cannot do: that is what the caller knows the name of. */
export function named<R>(operation: string, fn: () => R): R {
  try {
    return fn();
  } catch (error) {
    if (!(error instanceof TensorError) || error.code === "internal") throw error;
    const message = error.message.replace(/^[\w.]+: /, () => `${operation}: `);
    throw message === error.message ? error : new TensorError(error.code, message);
  }
}
