/**
 * THE border. What callers pass is read here, once, into plain data, before anything is checked: an object may answer
 * differently the second time, and reading it may run code of the caller's. So: first everything is read, then what was
 * read is checked, then the tensors are asked whether they still live.
 */
import { checkDType, type DType } from "../dtype.ts";
import { describe, fail, failKey, isRevoked, isTensorLike } from "../errors.ts";

/** What was read and nothing else: no key that somebody gave to all objects. */
class Plain {
  [key: string]: unknown;
  static {
    Object.setPrototypeOf(Plain.prototype, null);
  }
}
const none = Object.freeze(new Plain());

/** An option that is the object's own, whatever all objects may have. */
export function own<O extends object, K extends keyof O>(options: O, key: K): O[K] | undefined {
  const value = options[key];
  return value === undefined || Object.hasOwn(options, key) ? value : undefined;
}

/** Options with some of their values replaced: as plain as they were. */
export const changed = <O extends object, M extends object>(options: O, more: M): Omit<O, keyof M> & M =>
  Object.assign(new Plain(), options, more) as unknown as Omit<O, keyof M> & M;

/** Options without some of them. */
export function without<O extends object, K extends keyof O>(options: O, ...keys: readonly K[]): Omit<O, K> {
  const rest = new Plain();
  for (const [key, value] of Object.entries(options)) {
    if (!keys.includes(key as K)) rest[key] = value;
  }
  return rest as unknown as Omit<O, K>;
}

/**
 * Options as plain data: own properties, each read once. They are an object, or left out: `sum(1)` would otherwise be a
 * sum of everything. With `names`, those are all the options there are: `sum({ axes: 1 })` would otherwise be one too.
 */
export function readOptions<O extends object>(
  operation: string,
  options: O | undefined,
  example: string,
  names?: readonly string[],
): O {
  if (options === undefined) return none as O;
  if (typeof options !== "object" || options === null || isNoOptions(options)) {
    return fail(
      "value",
      operation,
      `the options are ${describe(options)}.`,
      `Give an object such as ${example}.`,
    );
  }
  const read = new Plain();
  const keys = Object.keys(options);
  for (let k = 0; k < keys.length; k++) {
    const key = keys[k];
    if (names !== undefined && !names.includes(key)) failKey(operation, key, names);
    read[key] = snapshot(operation, key, (options as Record<string, unknown>)[key]);
  }
  return read as O;
}

/** Lists inside of lists that are read, at the most: deeper than any tensor. */
const MOST_DEPTH = 66;
/** Entries of lists that are read for one argument, those of lists in it included. */
const MOST_ENTRIES = 2 ** 26;
/** Counts them down. */
export interface Budget {
  left: number;
}
export const entries = (): Budget => ({ left: MOST_ENTRIES });

/** An argument as plain data: a list, and the lists in it, are copied, each once; what is no list stays what it is. */
export function snapshot<T>(operation: string, name: string, value: T): T {
  if (typeof value !== "object" || value === null) return value;
  checkNotRevoked(operation, name, value);
  return Array.isArray(value) ? (copied(operation, name, value, 0, entries(), new Map()) as T) : value;
}

function checkNotRevoked(operation: string, name: string, value: object): void {
  if (isRevoked(value))
    fail("value", operation, `${name} is a Proxy that was revoked.`, "Pass the thing itself.");
}

function copied(
  operation: string,
  name: string,
  value: object,
  depth: number,
  budget: Budget,
  known: Map<object, unknown>,
): unknown {
  if (known.has(value)) return known.get(value);
  checkNotRevoked(operation, name, value);
  const list = depth < MOST_DEPTH ? readList(operation, name, value, budget) : null;
  if (list === null) return value;
  known.set(value, list);
  for (let i = 0; i < list.length; i++) {
    const entry = list[i];
    if (typeof entry === "object" && entry !== null)
      list[i] = copied(operation, name, entry, depth + 1, budget, known);
  }
  return list;
}

/** Also what does not say what it is, such as a Proxy that was revoked. */
function isNoOptions(value: object): boolean {
  try {
    return Array.isArray(value) || ArrayBuffer.isView(value) || isTensorLike(value);
  } catch {
    return true;
  }
}

/** A Proxy that was revoked is no list. */
function isList(value: unknown): value is unknown[] {
  return typeof value === "object" && value !== null && !isRevoked(value) && Array.isArray(value);
}

/** A list, each entry read once; null: it is none. */
export function readList(
  operation: string,
  name: string,
  value: unknown,
  budget: Budget = entries(),
): unknown[] | null {
  if (!isList(value)) return null;
  const { length } = value;
  if (Number.isInteger(length)) budget.left -= length;
  if (!(Number.isInteger(length) && length >= 0 && budget.left >= 0)) {
    fail(
      "value",
      operation,
      budget.left < 0
        ? `${name} has more than ${MOST_ENTRIES} entries.`
        : `${name} has ${describe(length)} as its length.`,
      "Give large data as a typed array.",
    );
  }
  const list = new Array<unknown>(length);
  for (let i = 0; i < length; i++) list[i] = value[i];
  return list;
}

/** An option that is true or false, or left out. */
export function checkFlag(operation: string, name: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return;
  fail("value", operation, `${name} is ${describe(value)}.`, `Use { ${name}: true } or { ${name}: false }.`);
}

export function checkOptionalDType(operation: string, dtype: unknown): DType | undefined {
  return dtype === undefined ? undefined : checkDType(operation, dtype);
}

/** A list of numbers, a copy; what the numbers may be is checked where they are used. */
export function numberList(operation: string, name: string, value: unknown): readonly number[] {
  const list = readList(operation, name, value);
  if (list !== null) {
    const wrong = list.findIndex((x) => typeof x !== "number");
    if (wrong < 0) return list as number[];
    return fail(
      "value",
      operation,
      `${name}[${wrong}] is ${describe(list[wrong])}.`,
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

/** A list of indices, a copy: numbers, or bigints as they come out of 64-bit integers. */
export function indexList(operation: string, name: string, value: unknown): readonly (number | bigint)[] {
  const list = readList(operation, name, value);
  const isIndex = (x: unknown) => typeof x === "number" || typeof x === "bigint";
  if (list?.every(isIndex)) return list as (number | bigint)[];
  return numberList(operation, name, list ?? value);
}

/** One axis or a list of them. */
export function axisList(operation: string, axes: unknown): number | readonly number[] {
  if (typeof axes === "number") return axes;
  if (isList(axes)) return numberList(operation, "the axis", axes);
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
