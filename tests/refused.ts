/** For tests of errors: runs what must fail, and says how it failed. */
import { expect } from "vitest";
import { memory, scope, TensorError } from "../src/index.ts";

/** `(code) message` of the TensorError that `action` throws; nothing may be allocated or freed by failing. */
export function refused(action: () => unknown): string {
  const before = memory();
  let error: unknown;
  try {
    // Operands made inside the expression go with the scope: what stays was left behind by the operation.
    scope(() => {
      action();
    });
  } catch (thrown) {
    error = thrown;
  }
  expect(error, "no error was thrown").toBeDefined();
  if (!(error instanceof TensorError)) throw error;
  const after = memory();
  expect([after.tensors, after.bytes], "the failed call left memory behind").toEqual([
    before.tensors,
    before.bytes,
  ]);
  return `(${error.code}) ${error.message}`;
}
