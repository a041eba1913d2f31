/** What executors use of Node, asked for when they run: bundlers for browsers see none of it. */
import { fail } from "../../errors.ts";
import { builtin } from "../../io/node.ts";

/** One of Node's own modules; an error where there are no processes. */
export function nodeModule<M>(operation: string, name: string): M {
  return (builtin(name) ??
    fail(
      "value",
      operation,
      "there are no processes here, only this one.",
      "Run tasks in this one: { on: local() }.",
    )) as M;
}
