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
  | "readonly"
  | "disposed"
  | "memory"
  | "kernel"
  | "worker"
  | "internal";

export class TensorError extends Error {
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
  return `[${values.join(", ")}]`;
}

/** What a caller passed, in words: `null`, `the string "x"`, `an array`, `a function`. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return `the string ${JSON.stringify(value)}`;
  if (typeof value === "bigint") return `the bigint ${value}n`;
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  if (typeof value === "object") return Array.isArray(value) ? "an array" : "an object";
  return `a ${typeof value}`;
}

/** A bug of ours, not of the caller: says so. */
export function unreachable(what: string): never {
  throw new TensorError(
    "internal",
    `strided: internal error: ${what}.\n  This is a bug in strided; please report it with the code that led here.`,
  );
}
