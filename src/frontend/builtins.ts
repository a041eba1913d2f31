/**
 * The global names a kernel may use: one table of constants and one of functions, by their full name. What a
 * function means is said in template operations, so this file knows nothing of syntax trees.
 */
import type { Id, Span } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import type { TemplateBuilder } from "./template.ts";

/** Writes the call's operations; a string is the reason it cannot be compiled. */
export type Builtin = (t: TemplateBuilder, args: readonly Id[], span: Span) => Id | string;

export const namespaces: ReadonlySet<string> = new Set(["Math", "Number", "globalThis"]);

export const constants: ReadonlyMap<string, number> = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ...(["PI", "E", "LN2", "LN10", "LOG2E", "LOG10E", "SQRT2", "SQRT1_2"] as const).map(
    (name) => [`Math.${name}`, Math[name]] as const,
  ),
  ...(
    [
      "EPSILON",
      "MAX_VALUE",
      "MIN_VALUE",
      "POSITIVE_INFINITY",
      "NEGATIVE_INFINITY",
      "NaN",
      "MAX_SAFE_INTEGER",
      "MIN_SAFE_INTEGER",
    ] as const
  ).map((name) => [`Number.${name}`, Number[name]] as const),
]);

const unary = [
  "abs acos acosh asin asinh atan atanh cbrt ceil clz32 cos cosh exp expm1 floor fround",
  "log log10 log1p log2 round sign sin sinh sqrt tan tanh trunc",
]
  .join(" ")
  .split(" ") as OpName[];
const binary = ["atan2", "imul", "pow"] as const satisfies readonly OpName[];

/** Missing arguments are undefined, which is NaN to Math (0 to its integer functions). Extra ones are ignored. */
const fixed =
  (op: OpName, arity: number): Builtin =>
  (t, args, span) => {
    const given = args.slice(0, arity).map((x) => t.toNumber(x, span));
    while (given.length < arity) given.push(t.literal(NaN, span));
    return t.op(op, given, span);
  };

/** max and min of any number of arguments. */
const chain =
  (op: OpName, none: number): Builtin =>
  (t, args, span) => {
    if (args.length === 0) return t.literal(none, span);
    return args.map((x) => t.toNumber(x, span)).reduce((a, b) => t.op(op, [a, b], span));
  };

const hypot: Builtin = (t, args, span) => {
  const zero = t.literal(0, span);
  const [first = zero, ...rest] = args.map((x) => t.toNumber(x, span));
  if (args.length === 0) return zero;
  return (rest.length === 0 ? [zero] : rest).reduce((a, b) => t.op("hypot", [a, b], span), first);
};

/** `Number.isX(v)` is false for anything but a number; the global twins convert first. */
const onNumbers =
  (test: Builtin): Builtin =>
  (t, args, span) => {
    if (args.length === 0 || t.typeOf(args[0]) === "boolean") return t.literal(false, span);
    if (t.typeOf(args[0]) === "either")
      return "cannot compile this test of a value that is a number or a boolean.";
    return test(t, args, span);
  };

const isInteger: Builtin = (t, [x], span) =>
  t.op("and", [t.op("isFinite", [x], span), t.op("eq", [t.op("trunc", [x], span), x], span)], span);

/** Strictly between ±2^53, which every float dtype holds (or takes for infinity) where it would round 2^53 - 1. */
const isSafeInteger: Builtin = (t, [x], span) => {
  const below = t.op("lt", [x, t.literal(2 ** 53, span)], span);
  const above = t.op("gt", [x, t.literal(-(2 ** 53), span)], span);
  const whole = t.op("eq", [t.op("trunc", [x], span), x], span);
  return t.op("and", [whole, t.op("and", [below, above], span)], span);
};

export const functions: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  ...unary.map((op): [string, Builtin] => [`Math.${op}`, fixed(op, 1)]),
  ...binary.map((op): [string, Builtin] => [`Math.${op}`, fixed(op, 2)]),
  ["Math.max", chain("max", -Infinity)],
  ["Math.min", chain("min", Infinity)],
  ["Math.hypot", hypot],
  ["Math.random", () => "cannot compile Math.random; a kernel gives the same value for the same element."],
  ["isNaN", fixed("isNaN", 1)],
  ["isFinite", fixed("isFinite", 1)],
  ["Number.isNaN", onNumbers(fixed("isNaN", 1))],
  ["Number.isFinite", onNumbers(fixed("isFinite", 1))],
  ["Number.isInteger", onNumbers(isInteger)],
  ["Number.isSafeInteger", onNumbers(isSafeInteger)],
  ["Number", (t, args, span) => (args.length === 0 ? t.literal(0, span) : t.toNumber(args[0], span))],
  [
    "Boolean",
    (t, args, span) => (args.length === 0 ? t.literal(false, span) : t.op("truthy", [args[0]], span)),
  ],
  ["__pow", fixed("pow", 2)], // esbuild's name for Math.pow where ** is too new
]);

/** The full name of `object.name`: members of globalThis are the globals themselves. */
export function memberName(object: string, name: string): string {
  return object === "globalThis" ? name : `${object}.${name}`;
}

let hostNames: Map<unknown, string> | undefined;

/** The name of a function of the host that kernels know: `Math.sqrt` for Math.sqrt itself. */
export function builtinName(fn: unknown): string | null {
  hostNames ??= new Map([...functions.keys()].map((name) => [hostValue(name), name]));
  return hostNames.get(fn) ?? null;
}

function hostValue(name: string): unknown {
  let value: unknown = globalThis;
  for (const key of name.split(".")) value = (value as Record<string, unknown> | undefined)?.[key];
  return value;
}
