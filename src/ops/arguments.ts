/** What callers pass, checked at the border: plain JavaScript has no types to stop a wrong argument. */
import { checkDType, type DType } from "../dtype.ts";
import { checkKeys, describe, fail, isTensorLike } from "../errors.ts";

/**
 * Options are an object, or left out: `sum(1)` would otherwise be a sum of everything. With `names`, those are all the
 * options there are: `sum({ axes: 1 })` would otherwise be one too.
 */
export function checkOptions(
  operation: string,
  options: unknown,
  example: string,
  names?: readonly string[],
): void {
  if (options === undefined) return;
  const isList = Array.isArray(options) || ArrayBuffer.isView(options);
  if (typeof options === "object" && options !== null && !isList && !isTensorLike(options)) {
    if (names !== undefined) checkKeys(operation, options, names);
    return;
  }
  fail("value", operation, `the options are ${describe(options)}.`, `Give an object such as ${example}.`);
}

/** An option that is true or false, or left out. */
export function checkFlag(operation: string, name: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return;
  fail("value", operation, `${name} is ${describe(value)}.`, `Use { ${name}: true } or { ${name}: false }.`);
}

export function checkOptionalDType(operation: string, dtype: unknown): DType | undefined {
  return dtype === undefined ? undefined : checkDType(operation, dtype);
}

/** A list of numbers; what the numbers may be is checked where they are used. */
export function numberList(operation: string, name: string, value: unknown): readonly number[] {
  if (Array.isArray(value)) {
    const wrong = value.findIndex((x) => typeof x !== "number");
    if (wrong < 0) return value;
    return fail(
      "value",
      operation,
      `${name}[${wrong}] is ${describe(value[wrong])}.`,
      `Give ${name} as an array of numbers.`,
    );
  }
  return fail(
    "value",
    operation,
    `${name} is ${describe(value)}.`,
    `Give ${name} as an array of numbers, such as [2, 3].`,
  );
}

/** One axis or a list of them. */
export function axisList(operation: string, axes: unknown): number | readonly number[] {
  if (typeof axes === "number") return axes;
  if (Array.isArray(axes)) return numberList(operation, "the axis", axes);
  return fail(
    "value",
    operation,
    `the axis is ${describe(axes)}.`,
    "Give an axis or an array of axes, or leave it out.",
  );
}

/** A function to be called without arguments; a class cannot be. */
export function checkThunk(operation: string, fn: unknown, example: string): void {
  checkFunction(operation, fn, example);
  if (Object.getOwnPropertyDescriptor(fn, "prototype")?.writable === false)
    fail("value", operation, "a class was given.", `Pass a function, such as ${example}.`);
}

export function checkFunction(operation: string, fn: unknown, example: string): void {
  if (typeof fn === "function") return;
  fail("value", operation, `expected a function, got ${describe(fn)}.`, `Pass one, such as ${example}.`);
}
