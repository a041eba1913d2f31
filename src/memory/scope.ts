/**
 * Scopes: what is made inside and not returned is disposed at the end. Works on anything with `dispose()`;
 * what a result contains is the caller's knowledge (`collect`).
 */

import { fail, unreachable } from "../errors.ts";

/** `dispose` may be called on a thing that its maker has disposed already, and then does nothing. */
export interface Disposes {
  dispose(): void;
}

/** Nested scopes in one flat list: scope k holds the things from `#starts[k]` up to the next start. */
export class ScopeStack<T extends Disposes> {
  readonly #things: T[] = [];
  readonly #starts: number[] = [];

  /** How many scopes are open. */
  get depth(): number {
    return this.#starts.length;
  }

  enter(): void {
    this.#starts.push(this.#things.length);
  }

  /** The innermost scope takes care of `thing`; without a scope nothing happens. */
  track(thing: T): void {
    if (this.#starts.length > 0) this.#things.push(thing);
  }

  /**
   * Closes the innermost scope: what `keep` accepts moves to the scope around it, the rest is disposed. All
   * of it, even when a `dispose` throws; the first such error is thrown at the end.
   */
  leave(keep: (thing: T) => boolean): void {
    const start = this.#starts.pop();
    if (start === undefined) unreachable("a scope is left that was not entered");
    let failure: { error: unknown } | null = null;
    for (const thing of this.#things.splice(start)) {
      try {
        if (keep(thing)) this.track(thing);
        else thing.dispose();
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== null) throw failure.error;
  }
}

/**
 * Runs `fn` in a scope of its own and keeps what `collect` finds in its result. When `fn` throws, nothing is
 * kept; scopes that it entered and did not leave are closed with it.
 */
export function runScope<T extends Disposes, R>(
  stack: ScopeStack<T>,
  fn: () => R,
  collect: (result: unknown) => Iterable<T>,
): R {
  const outer = stack.depth;
  stack.enter();
  let result: R;
  let kept: Set<T>;
  try {
    result = fn();
    if (isThenable(result)) failAsync(result);
    kept = new Set(collect(result));
  } catch (error) {
    try {
      leaveTo(stack, outer, () => false);
    } catch {
      // The error of the function says more than that of a dispose.
    }
    throw error;
  }
  leaveTo(stack, outer, (thing) => kept.has(thing));
  return result;
}

function leaveTo<T extends Disposes>(stack: ScopeStack<T>, depth: number, keep: (thing: T) => boolean): void {
  if (stack.depth <= depth) return;
  try {
    stack.leave(keep);
  } finally {
    leaveTo(stack, depth, keep);
  }
}

function isThenable(value: unknown): boolean {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  try {
    return "then" in value && typeof value.then === "function";
  } catch {
    // A Proxy that was revoked, or a getter that throws.
    return false;
  }
}

function failAsync(result: unknown): never {
  // The function goes on without its tensors and will likely reject: this error is the one to be seen.
  if (result instanceof Promise) result.catch(() => {});
  fail(
    "value",
    "scope",
    "the function returned a promise, and everything it made is disposed when it returns.",
    "scope is synchronous: await outside of it, or free with dispose() what lives across an await.",
  );
}
