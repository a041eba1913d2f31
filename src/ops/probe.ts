/**
 * Does a function mean the global Math? Its text cannot tell: a closure may have a `Math`, `NaN` or `isNaN` of its own.
 * So a function that uses such a name is called on a few numbers, and must give what its template gives. Another answer
 * makes it a function that cannot be compiled. One that throws, or gives no number, is taken as it reads.
 */
import { paramKind, paramValue, specialize } from "../frontend/infer.ts";
import { type Refusal, refusal } from "../frontend/refusal.ts";
import { evaluatorOfAll, Failure } from "../ir/eval.ts";
import type { Template } from "../ir/node.ts";

/** Between integers, negative, whole, no number, beyond 32 bits, none at all. */
const samples = [0.75, -2.5, 3, Number.NaN, 6_000_000_001, 0];
const TOLERANCE = 1e-6;
/** Rounds that a function's loops may have in a call that is only a trial. */
const MOST_ROUNDS = 10_000;

interface Expected {
  readonly args: readonly number[];
  /** One, or those of a list. */
  readonly values: readonly number[];
}
/** Of functions without captured values, so that a new closure of a known text costs its calls alone. */
const known = new WeakMap<Template, readonly Expected[] | null>();

/** Why the function is not what it reads as; null: it is, as far as a few calls can tell. */
export function ownGlobals(
  // biome-ignore lint/complexity/noBannedTypes: any function at all may be asked about
  fn: Function,
  template: Template,
  values: readonly unknown[] = [],
  captures: Readonly<Record<string, unknown>> = {},
): Refusal | null {
  const { globals } = template;
  if (globals === undefined) return null;
  const expected = expectedOf(template, values);
  if (expected === null) return null;
  let difference: string | null = null;
  for (const more of waysToPass(fn.length - template.inputs, globals.keyed, captures)) {
    difference = differenceOf(fn, expected, more);
    if (difference === null) return null;
  }
  const names = globals.names.map(({ name }) => name).join(" or ");
  return refusal(
    `the function has a ${names} of its own: ${difference}.`,
    template.source,
    globals.names[0].span,
    "Give it another name, and pass it as a captured value: kernel((x, { abs }) => abs(x), { abs }).",
  );
}

/** What the template gives for each sample, in f64; null: it does not compute with numbers. */
function expectedOf(template: Template, values: readonly unknown[]): readonly Expected[] | null {
  let expected = values.length === 0 ? known.get(template) : undefined;
  if (expected === undefined) {
    expected = computeExpected(template, values);
    if (values.length === 0) known.set(template, expected);
  }
  return expected;
}

function computeExpected(template: Template, values: readonly unknown[]): readonly Expected[] | null {
  try {
    const inputs = Array.from({ length: template.inputs }, () => "f64" as const);
    const program = specialize(template, inputs, values.map(paramKind));
    const params = values.map((v, i) => paramValue(v, program.params[i]));
    const evaluate = evaluatorOfAll(program, params, { rounds: MOST_ROUNDS });
    return samples.flatMap((_, j) => {
      const args = inputs.map((_, i) => samples[(j + 2 * i) % samples.length]);
      try {
        return [{ args, values: evaluate(args).map(Number) }];
      } catch (error) {
        // Where its loops take long, it is not called.
        if (error instanceof Failure) return [];
        throw error;
      }
    });
  } catch {
    return null;
  }
}

/** What may follow the operands: nothing, the captured values in one object, or as many of them as there is room for. */
function waysToPass(
  count: number,
  keyed: boolean,
  captures: Readonly<Record<string, unknown>>,
): readonly (readonly unknown[])[] {
  if (count <= 0) return [[]];
  if (keyed) return [[{ ...captures }]];
  const values = Object.values(captures);
  // Others may be variables that the function reads: any one of them may be the parameter.
  return count === 1 ? values.map((value) => [value]) : [values.slice(-count)];
}

/** The first call that gives something else, in words; null: none does, or calling it tells nothing. */
function differenceOf(
  // biome-ignore lint/complexity/noBannedTypes: any function at all may be asked about
  fn: Function,
  expected: readonly Expected[],
  more: readonly unknown[],
): string | null {
  for (const { args, values } of expected) {
    let got: unknown;
    try {
      got = fn(...args, ...more);
    } catch {
      return null;
    }
    const all: readonly unknown[] = Array.isArray(got) ? got : [got];
    if (!all.every((x) => typeof x === "number" || typeof x === "boolean")) return null;
    if (all.length !== values.length || !all.every((x, k) => isClose(Number(x), values[k]))) {
      const meant = values.map((v, k) => (typeof all[k] === "boolean" ? v !== 0 : v));
      return `called on ${args.join(", ")} it gives ${got}, where the global one gives ${meant}`;
    }
  }
  return null;
}

function isClose(a: number, b: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
}
