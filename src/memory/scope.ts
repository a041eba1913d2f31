/**
 * Scopes: what is made inside and not returned is disposed at the end. Works on anything with `dispose()`;
 * what a result contains is the caller's knowledge (`collect`).
 *
 * A synchronous scope is a place on a stack. An asynchronous one cannot be: while it waits, others run. It is a list of
 * its own, and things come into it by name.
 */

import { describe, fail, unreachable } from "../errors.ts";

/** `dispose` may be called on a thing that its maker has disposed already, and then does nothing. */
export interface Disposes {
  readonly isDisposed?: boolean;
  dispose(): void;
}

/** The things that a result contains. */
export type Collect<T> = (result: unknown) => Iterable<T>;

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
    disposeAll(this.take(), (thing) => {
      const kept = keep(thing);
      if (kept) this.track(thing);
      return kept;
    });
  }

  /** Closes the innermost scope and hands over what it held. */
  take(): T[] {
    const start = this.#starts.pop();
    if (start === undefined) unreachable("a scope is left that was not entered");
    return this.#things.splice(start);
  }
}

/** Disposes all but those that `keep` accepts, even when a `dispose` throws; the first such error is thrown at the end. */
function disposeAll<T extends Disposes>(things: readonly T[], keep: (thing: T) => boolean): void {
  let failure: { error: unknown } | null = null;
  for (const thing of things) {
    try {
      if (!keep(thing)) thing.dispose();
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== null) throw failure.error;
}

/**
 * Runs `fn` in a scope of its own and keeps what `collect` finds in its result. When `fn` throws, nothing is
 * kept; scopes that it entered and did not leave are closed with it.
 */
export function runScope<T extends Disposes, R>(
  stack: ScopeStack<T>,
  fn: () => R,
  collect: Collect<T>,
  name: keyof typeof asyncRefusals = "scope",
): R {
  const outer = stack.depth;
  stack.enter();
  let result: R;
  let kept: Set<T>;
  try {
    result = fn();
    if (isThenable(result)) failAsync(name, result);
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

const asyncRefusals = {
  scope: {
    fact: "the function returned a promise, and everything it made is disposed when it returns.",
    remedy:
      "scope is synchronous. With await between steps: scopeAsync(async (s) => { const t = s.run(() => …); await …; return t; }).",
  },
  run: {
    fact: "the function returned a promise, and what it makes after its first await belongs to no scope.",
    remedy:
      "run is synchronous: await between runs, const x = await load(); const y = s.run(() => x.add(1)).",
  },
} as const;

function failAsync(name: keyof typeof asyncRefusals, result: unknown): never {
  // The function goes on without its tensors and will likely reject: this error is the one to be seen.
  if (result instanceof Promise) result.catch(() => {});
  const { fact, remedy } = asyncRefusals[name];
  fail("value", name, fact, remedy);
}

/** Below so many things, those disposed by hand are not looked for. */
const LEAST_THINGS = 64;

/** The scope of one asynchronous function: what its runs returned, until the function settles. */
export class AsyncScope<T extends Disposes> {
  readonly #stack: ScopeStack<T>;
  readonly #collect: Collect<T>;
  /** null: the scope has ended. */
  #things: Set<T> | null = new Set();
  /** So many things, and those that were disposed by hand are forgotten. */
  #sweepAt = LEAST_THINGS;

  constructor(stack: ScopeStack<T>, collect: Collect<T>) {
    this.#stack = stack;
    this.#collect = collect;
  }

  /** `runScope` whose result goes to this scope, whatever scopes are open around it. */
  run<R>(fn: () => R): R {
    this.#open("run");
    if (typeof fn !== "function") {
      fail(
        "value",
        "run",
        `expected a function, got ${describe(fn)}.`,
        "Pass one, such as s.run(() => a.add(b)).",
      );
    }
    this.#stack.enter();
    try {
      return runScope(this.#stack, fn, this.#collect, "run");
    } finally {
      for (const thing of this.#stack.take()) this.#add(thing);
    }
  }

  /** This scope takes care of what `value` contains. */
  track<V>(value: V): V {
    this.#open("track");
    for (const thing of this.#collect(value)) this.#add(thing);
    return value;
  }

  /** Disposes all that is not in `result`. */
  end(result: unknown): void {
    const things = this.#things ?? unreachable("a scope ends twice");
    this.#things = null;
    let kept = new Set<T>();
    try {
      kept = new Set(this.#collect(result));
    } finally {
      disposeAll([...things], (thing) => kept.has(thing));
    }
  }

  #add(thing: T): void {
    const things = this.#open("run");
    things.add(thing);
    if (things.size < this.#sweepAt) return;
    for (const one of things) if (one.isDisposed) things.delete(one);
    this.#sweepAt = Math.max(LEAST_THINGS, 2 * things.size);
  }

  #open(operation: "run" | "track"): Set<T> {
    return (
      this.#things ??
      fail(
        "disposed",
        operation,
        "the scope has ended: its async function has returned or thrown.",
        "Await everything that uses the scope before the function ends; a scope of its own serves what goes on.",
      )
    );
  }
}

/** Runs `fn` with a scope of its own, which ends when what `fn` returned has settled. */
export async function runScopeAsync<T extends Disposes, R>(
  stack: ScopeStack<T>,
  fn: (scope: AsyncScope<T>) => R | PromiseLike<R>,
  collect: Collect<T>,
): Promise<R> {
  const scope = new AsyncScope(stack, collect);
  let result: R;
  try {
    result = await fn(scope);
  } catch (error) {
    try {
      scope.end(undefined);
    } catch {
      // The error of the function says more than that of a dispose.
    }
    throw error;
  }
  scope.end(result);
  return result;
}
