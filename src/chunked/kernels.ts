/**
 * Functions that travel: their text and the values they were given by name. They are read by the front end where they arrive,
 * never evaluated; what it refuses is refused when a plan is made.
 */
import type { DType } from "../dtype.ts";
import { describe, fail, TensorError } from "../errors.ts";
import { isRefusal, lowerFunction, refusalMessage } from "../frontend/lower.ts";
import { captureValues, isKernelLike } from "../frontend/template.ts";
import { printTemplate } from "../ir/print.ts";
import { type Kernel, kernel, makeKernel } from "../kernel.ts";
import { insideOf, NjitFunction } from "../njit/njit.ts";
import { parseTree } from "../njit/parse.ts";
import { checkFunction, readOptions } from "../ops/arguments.ts";
import { Callable, Definition, type ScalarFunction } from "../ops/function.ts";
import type { Captured } from "../run/call.ts";

/** A captured value as JSON: bigints and numbers that JSON does not know are texts with a mark. */
export type SentValue = number | boolean | { readonly big: string } | { readonly number: string };

/** A function as JSON. */
export interface Sent {
  readonly source: string;
  readonly captures: Readonly<Record<string, SentValue>>;
}

/** The longest text of a function that is read. */
const MOST_SOURCE = 1 << 16;

function sentValue(operation: string, name: string, value: unknown): SentValue {
  if (typeof value === "boolean") return value;
  if (typeof value === "bigint") return { big: String(value) };
  if (typeof value === "number") {
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : { number: Object.is(value, -0) ? "-0" : String(value) };
  }
  return fail(
    "value",
    operation,
    `the captured value ${JSON.stringify(name)} is ${describe(value)}.`,
    "Only numbers, bigints and booleans travel with a function; write what else it needs into it.",
  );
}

function valueFrom(operation: string, value: unknown): number | boolean | bigint {
  if (typeof value === "number" || typeof value === "boolean") return value;
  const { big, number } = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (typeof big === "string" && /^-?\d{1,40}$/.test(big)) return BigInt(big);
  if (typeof number === "string" && /^(NaN|-?Infinity|-0)$/.test(number)) return Number(number);
  return fail("value", operation, `a captured value of the plan is ${describe(value)}.`);
}

/** The values that a function was given by name. */
export function capturesOf({ captures }: Sent, operation: string): Record<string, number | boolean | bigint> {
  const given = typeof captures === "object" && captures !== null ? Object.entries(captures) : [];
  return Object.fromEntries(given.map(([name, value]) => [name, valueFrom(operation, value)]));
}

function readCaptured(operation: string, given: unknown): Record<string, SentValue> {
  const read = readOptions(operation, given as Record<string, unknown> | undefined, "{ k: 0.5 }");
  return Object.fromEntries(
    Object.entries(read).map(([name, value]) => [name, sentValue(operation, name, value)]),
  );
}

/** A function of numbers, or a kernel, made ready to travel. Throws, with a caret, where it cannot be compiled. */
export function sendKernel(operation: string, fn: unknown, given: unknown): Sent {
  if (isKernelLike(fn)) {
    const made = fn as unknown as Kernel;
    const { source, compute } = made.template;
    const sent = { source, captures: readCaptured(operation, made.captures) };
    const alone = kernelFrom(operation, sent).template;
    if (compute === undefined && printTemplate(alone) === printTemplate(made.template)) return sent;
    return fail(
      "kernel",
      operation,
      "this kernel is more than its function: it converts, or was made of others.",
      "Pass the plain function, and { dtype } here.",
    );
  }
  checkFunction(operation, fn, "x => x * 2");
  const captures = readCaptured(operation, given);
  kernelFrom(operation, { source: Function.prototype.toString.call(fn), captures });
  // Strictly, and with the function itself: one whose Math is its own is found out only here.
  kernel(fn as (x: number) => number, capturesOf({ source: "", captures }, operation) as never);
  return { source: Function.prototype.toString.call(fn as ScalarFunction), captures };
}

/** Kernels that were read already, by their text and values. */
const known = new Map<string, Kernel>();
const MOST_KNOWN = 500;

/** A kernel made of what has travelled. */
export function kernelFrom(operation: string, sent: Sent, dtype?: DType): Kernel {
  const { source } = sent;
  if (typeof source !== "string" || source.length > MOST_SOURCE) {
    fail("kernel", operation, `a function of the plan is ${describe(source)} or too long.`);
  }
  const key = JSON.stringify([source, sent.captures, dtype ?? null]);
  let made = known.get(key);
  if (made === undefined) {
    const captures = capturesOf(sent, operation);
    const lowered = lowerFunction(source, captures);
    if (isRefusal(lowered)) throw new TensorError("kernel", refusalMessage(operation, lowered));
    const values = captureValues(lowered, captures) as Captured[];
    made = makeKernel(new Callable(new Definition(lowered), { values, captures }), dtype);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, made);
  }
  return made;
}

/* Whole functions -------------------------------------------------------------------------------------- */

/** A function of blocks, or an njit function without captured values, made ready to travel. */
export function sendBlocks(operation: string, fn: unknown, given: unknown): Sent {
  let source: string;
  try {
    const { tree } = insideOf(fn as object);
    if (tree.args.length > tree.given) {
      fail(
        "kernel",
        operation,
        "this njit function has captured values, which only it knows.",
        "Pass the plain function, and its values as { with }.",
      );
    }
    source = tree.source;
  } catch (error) {
    if (error instanceof TensorError && /captured values, which/.test(error.message)) throw error;
    if (typeof fn !== "function") {
      return fail("kernel", operation, `expected a function, got ${describe(fn)}.`, "(out, a) => { … }");
    }
    source = Function.prototype.toString.call(fn);
  }
  const sent = { source, captures: readCaptured(operation, given) };
  try {
    blocksFrom(operation, sent);
  } catch (error) {
    if (!(error instanceof TensorError)) throw error;
    // The parser speaks of njit, and here values go into { with }.
    const text = error.message
      .replace(/^njit:/, `${operation}:`)
      .replace(/njit\((.*), (\{[^}]*\})\)\.$/m, `${operation}($1, { with: $2 }).`);
    throw new TensorError(error.code, text);
  }
  return sent;
}

const knownBlocks = new Map<string, NjitFunction>();

/** An njit function made of what has travelled: it is called as `call([out, block])`. */
export function blocksFrom(operation: string, sent: Sent): NjitFunction {
  const { source } = sent;
  if (typeof source !== "string" || source.length > MOST_SOURCE) {
    fail("kernel", operation, `a function of the plan is ${describe(source)} or too long.`);
  }
  const key = JSON.stringify([source, sent.captures]);
  let made = knownBlocks.get(key);
  if (made === undefined) {
    const captures = capturesOf(sent, operation);
    const never = () => fail("kernel", operation, "a function that has travelled is not called.");
    made = new NjitFunction(never, parseTree(source, captures), captures);
    if (knownBlocks.size >= MOST_KNOWN) knownBlocks.clear();
    knownBlocks.set(key, made);
  }
  return made;
}
