/**
 * Every mistake a caller can make ends here: one error class with a `code`, and one way to word it.
 *
 * A message has four parts: the operation, the fact, the values, the remedy:
 *
 *     matmul: inner sizes differ: a is [2, 3], b is [4, 5].
 *       a's last size (3) must equal b's second-last (4).
 */

export type ErrorCode =
  | "shape"
  | "dtype"
  | "index"
  | "axis"
  | "value"
  | "bounds"
  | "singular"
  | "readonly"
  | "disposed"
  | "memory"
  | "kernel"
  | "file"
  | "worker"
  | "cancelled"
  | "internal";

/** What every mistake throws: the message names the operation, the fact, the values and the remedy. */
export class TensorError extends Error {
  /** Which kind of mistake it is, for programs. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "TensorError";
    this.code = code;
  }
}

/** Throws `<operation>: <fact>` and, indented below it, the remedy. */
export function fail(code: ErrorCode, operation: string, fact: string, remedy?: string): never {
  throw new TensorError(code, messageOf(operation, fact, remedy));
}

export function messageOf(operation: string, fact: string, remedy?: string): string {
  const head = `${operation}: ${fact}`;
  return remedy === undefined ? head : `${head}\n${remedy.replace(/^/gm, "  ")}`;
}

/** `[2, 3]`, the way shapes and indices are written in every message. */
export function list(values: readonly (number | bigint | string | null)[]): string {
  return `[${values.map(shown).join(", ")}]`;
}

/** A value where a number should be, as it prints; what does not print as one is described. */
export function shown(value: unknown): string {
  return ["symbol", "function", "object"].includes(typeof value) ? describe(value) : String(value);
}

/** The same as it is written in a program: "1" and 1n are not 1. */
export function written(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "string" ? quote(value) : shown(value);
}

const MOST_LETTERS = 200;
/** A text in quotes; of one that nobody would read to its end, the beginning. */
export const quote = (text: string): string =>
  text.length <= MOST_LETTERS ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, MOST_LETTERS))}…`;

/** What a caller passed, in words: `null`, `the string "x"`, `an array`, `a function`. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return `the string ${quote(value)}`;
  if (typeof value === "bigint") return `the bigint ${value}n`;
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  if (typeof value === "object") {
    try {
      return Array.isArray(value) ? "an array" : isTensorLike(value) ? "a Tensor" : "an object";
    } catch {
      // A Proxy that was revoked, or that throws when it is asked.
      return "a Proxy";
    }
  }
  return `a ${typeof value}`;
}

/** "1 tensor", "2 tensors". */
export const counted = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** Is it a tensor, as far as can be told down here? */
export const isTensorLike = (value: object): boolean =>
  Object.prototype.toString.call(value) === "[object Tensor]";

/** Is it a Proxy that was revoked? Whatever is asked of one throws. */
export function isRevoked(value: object): boolean {
  try {
    Array.isArray(value);
    return false;
  } catch {
    return true;
  }
}

/** A misspelt option would otherwise do nothing, silently. */
export function failKey(operation: string, key: string, names: readonly string[]): never {
  const known = names.length === 1 ? `The only one is ${names[0]}` : `There are ${names.join(", ")}`;
  return fail("value", operation, `there is no option ${quote(key)}.`, `${guessed(key, names)}${known}.`);
}

/** "Did you mean add? " with the name that is nearest to one that is none; nothing where no name is near. */
export function guessed(name: string, names: readonly string[]): string {
  // What is much longer is not near, and would take long to compare.
  const [near] = names
    .filter((other) => Math.abs(other.length - name.length) <= 2)
    .map((other) => ({ other, letters: distance(name, other) }))
    .sort((a, b) => a.letters - b.letters);
  return near !== undefined && near.letters <= 2 ? `Did you mean ${near.other}? ` : "";
}

/** How many letters have to be changed, added or left out; capitals do not count. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of [...a.toLowerCase()].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b.toLowerCase()].entries()) {
      next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}

/** A bug of ours, not of the caller: says so. */
export function unreachable(what: string): never {
  throw new TensorError(
    "internal",
    `strided: internal error: ${what}.\n  This is a bug in strided; please report it with the code that led here.`,
  );
}
