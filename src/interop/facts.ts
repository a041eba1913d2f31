/**
 * What a foreign object says of itself, each property read once: it may be a getter, and give another answer the second
 * time. Only what is asked for is read, and names that somebody gave to all objects are nobody's. What the host throws on
 * the way (a class that is called, a method on the wrong object) is told as what it is: a mistake in what was given.
 */
import { fail, isRevoked } from "../errors.ts";

export type Facts = (key: PropertyKey) => unknown;
export type AnyFunction = (...args: unknown[]) => unknown;

export const isFunction = (x: unknown): x is AnyFunction => typeof x === "function";
export const isObject = (x: unknown): x is object => typeof x === "object" && x !== null;

/** Runs code that is not ours; errors of the host's become ours, all others are the code's own and stay. */
export function guarded<R>(op: string, what: string, fn: () => R): R {
  try {
    return fn();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError))
      throw error;
    return fail(
      "value",
      op,
      `${what} failed: ${error.message}.`,
      "It has to behave as the library's own does.",
    );
  }
}

/** Reads properties of `x` at their first mention. */
export function factsOf(op: string, x: object): Facts {
  if (isRevoked(x)) fail("value", op, "it is a Proxy that was revoked.", "Pass the thing itself.");
  const known = new Map<PropertyKey, unknown>();
  return (key) => {
    if (!known.has(key)) {
      const read = () => (isOwnKind(x, key) ? (x as Record<PropertyKey, unknown>)[key] : undefined);
      known.set(key, guarded(op, `reading its ${String(key)}`, read));
    }
    return known.get(key);
  };
}

/** The object's, or of its classes: not a name that all objects have. */
function isOwnKind(x: object, key: PropertyKey): boolean {
  if (!Object.hasOwn(Object.prototype, key)) return true;
  for (let o: object | null = x; o !== null && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
    if (Object.hasOwn(o, key)) return true;
  }
  return false;
}

/** A method that was read before, on what it was read from. */
export const call = (op: string, name: string, fn: unknown, on: unknown, ...args: unknown[]): unknown =>
  guarded(op, `its ${name}`, () => Reflect.apply(fn as AnyFunction, on, args));

/** `new Class(…)`, of a class that was passed in. */
export const construct = (op: string, name: string, Class: unknown, args: unknown[]): unknown =>
  guarded(op, `new ${name}`, () => Reflect.construct(Class as new () => unknown, args));
