/** Shared by the front end's tests: lowers, specialises and interprets, and knows the doubles worth trying. */
import fc from "fast-check";
import { expect } from "vitest";
import type { DType, Value } from "../dtype.ts";
import { evaluator } from "../ir/eval.ts";
import type { Program, Template } from "../ir/node.ts";
import { paramKind, paramValue, specialize } from "./infer.ts";
import { type Captures, isRefusal, lowerFunction, refusalMessage } from "./lower.ts";
import type { AnyFunction } from "./parse.ts";
import { captureValues } from "./template.ts";

export function lowered(fn: AnyFunction | string, captures: Captures = {}): Template {
  const template = lowerFunction(fn, captures);
  if (isRefusal(template)) throw new Error(refusalMessage("test", template));
  return template;
}

export function refused(fn: AnyFunction | string, captures: Captures = {}): string {
  const result = lowerFunction(fn, captures);
  return isRefusal(result) ? refusalMessage("map", result) : `compiled: ${result.name}`;
}

export function programOf(
  fn: AnyFunction | string,
  inputs: readonly DType[],
  captures: Captures = {},
): Program {
  const template = lowered(fn, captures);
  const kinds = captureValues(template, captures).map(paramKind);
  return specialize(template, inputs, kinds);
}

/** The function as the interpreter computes it. */
export function interpreted(
  fn: AnyFunction | string,
  inputs: readonly DType[],
  captures: Captures = {},
): (...values: Value[]) => Value {
  const program = programOf(fn, inputs, captures);
  const values = captureValues(lowered(fn, captures), captures);
  const run = evaluator(
    program,
    values.map((value, i) => paramValue(value, program.params[i])),
  );
  return (...args) => run(args);
}

export const awkward = [
  ...[0, -0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, 3, 7, 31, 32, 33, 255, 256, -255, 0.1, 1e-310, 5e-324, 1e308],
  ...[2 ** 31, -(2 ** 31), 2 ** 31 - 1, 2 ** 32, 2 ** 32 + 5, 2 ** 53, 3e9, -3e9, 1e20, 2 ** 51 + 0.5],
  ...[NaN, Infinity, -Infinity, Number.MAX_VALUE, -Number.MAX_VALUE],
];

export const double: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...awkward),
  fc.double(),
  fc.double({ min: -100, max: 100, noNaN: true }),
  fc.integer({ min: -50, max: 50 }),
);

/** On f64 the interpreter gives what the function itself gives, to the bit; booleans count as 0 and 1. */
export function expectSame(
  fn: (...args: number[]) => unknown,
  source: AnyFunction | string,
  runs = 60,
): void {
  const arity = fn.length;
  const run = interpreted(source, new Array(arity).fill("f64"));
  const check = (args: number[]) => {
    const want = Number(fn(...args));
    const got = run(...args);
    if (!Object.is(want, got)) {
      expect.fail(`${source}\n  at (${args.map(show).join(", ")}): expected ${show(want)}, got ${show(got)}`);
    }
  };
  for (const x of awkward) check(awkward.slice(0, arity).map((y, i) => (i === 0 ? x : y)));
  fc.assert(fc.property(fc.array(double, { minLength: arity, maxLength: arity }), check), { numRuns: runs });
}

const show = (x: Value) => (Object.is(x, -0) ? "-0" : String(x));
