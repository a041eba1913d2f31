/** Random functions: their derivatives against differences, compiled and interpreted. */
import fc from "fast-check";
import { scope, tensor } from "../../src/api.ts";
import type { Value } from "../../src/dtype.ts";
import { TemplateBuilder } from "../../src/frontend/template.ts";
import { derivativeTemplate } from "../../src/grad/tangents.ts";
import { evaluator } from "../../src/ir/eval.ts";
import type { Id, Template } from "../../src/ir/node.ts";
import { type OpName, ops } from "../../src/ir/ops.ts";
import { makeKernel } from "../../src/kernel.ts";
import { Callable, Definition } from "../../src/ops/function.ts";
import { family } from "./family.ts";

/** A literal, an operand ("x0" or "x1"), or an operation on such. */
type Expression = number | string | readonly [OpName, ...Expression[]];

interface Case {
  readonly f: Expression;
  readonly at: readonly [number, number];
}

/** Only for decompositions; on bits, of which there is little to say; and a step at every f32. */
const left: readonly OpName[] = [
  "madd",
  "pmin",
  "pmax",
  "gcd",
  "shl",
  "shr",
  "shru",
  "imul",
  "toInt32",
  "bitNot",
  "fround",
];
const names = (Object.keys(ops) as OpName[]).filter((op) => !left.includes(op));
const tests = names.filter((op) => ["compare", "logic", "classify"].includes(ops[op].rule));
const numbers = names.filter((op) => !tests.includes(op) && op !== "select");

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("x0", "x1") },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 2, -1, 0.5, 3) },
);
const { number } = fc.letrec<{ number: Expression; test: Expression }>((tie) => ({
  number: fc.oneof(
    { maxDepth: 4, depthIdentifier: "f" },
    leaf,
    ...[1, 2].map((arity) => ({
      weight: 4,
      arbitrary: fc.tuple(
        fc.constantFrom(...numbers.filter((op) => ops[op].arity === arity)),
        ...Array.from({ length: arity }, () => tie("number")),
      ) as fc.Arbitrary<Expression>,
    })),
    {
      weight: 2,
      arbitrary: fc.tuple(
        fc.constant("select"),
        tie("test"),
        tie("number"),
        tie("number"),
      ) as fc.Arbitrary<Expression>,
    },
  ),
  test: fc.oneof(
    { maxDepth: 2, depthIdentifier: "f" },
    fc.tuple(
      fc.constantFrom("lt", "gt", "le", "ge"),
      tie("number"),
      tie("number"),
    ) as fc.Arbitrary<Expression>,
    fc.tuple(fc.constantFrom("isFinite", "signbit"), tie("number")) as fc.Arbitrary<Expression>,
    fc.tuple(fc.constantFrom("and", "or"), tie("test"), tie("test")) as fc.Arbitrary<Expression>,
  ),
}));
const place = fc.integer({ min: -384, max: 384 }).map((i) => i / 128);
const cases: fc.Arbitrary<Case> = fc.record({ f: number, at: fc.tuple(place, place) });

function templateFor(f: Expression): Template {
  const t = new TemplateBuilder();
  const inputs = [t.input(0), t.input(1)];
  const write = (e: Expression): Id => {
    if (typeof e === "number") return t.literal(e);
    if (typeof e === "string") return inputs[e === "x0" ? 0 : 1];
    const [op, ...args] = e;
    return t.op(op, args.map(write));
  };
  return t.finish(write(f), { inputs: 2 });
}

type F = (x: readonly [number, number]) => number;

function evaluate(template: Template): F {
  const run = evaluator(new Definition(template).program(["f64", "f64"], [], "f64", "fuzz"));
  return (x) => Number(run(x as unknown as Value[]));
}

/** The slope, where several distances agree on it; null where they do not: there is a step near by, or no number is. */
function slopeOf(f: F, at: readonly [number, number], i: number): { slope: number; scale: number } | null {
  const y = f(at);
  if (!Number.isFinite(y) || Math.abs(y) > 1e6) return null;
  const moved = (h: number) => f(at.with(i, at[i] + h) as [number, number]);
  const slopes = [1e-3, 5e-4, 2.5e-4].map((h) => (moved(h) - moved(-h)) / (2 * h));
  // One side after the other: where they differ there is a kink.
  const sides = [1e-5, -1e-5].map((h) => (moved(h) - y) / h);
  if (![...slopes, ...sides].every(Number.isFinite)) return null;
  // Each has a quarter of the error of the one before.
  const better = slopes.slice(1).map((s, k) => s + (s - slopes[k]) / 3);
  const slope = better[1] + (better[1] - better[0]) / 15;
  const scale = Math.max(1, Math.abs(slope), Math.abs(y));
  if (Math.abs(better[1] - better[0]) > 1e-8 * scale) return null;
  if (Math.abs(sides[0] - sides[1]) > 1e-3 * scale) return null;
  // A staircase looks like a slope from afar.
  if (sides.some((side) => Math.abs(side - slope) > 1e-2 * scale)) return null;
  // Steps in step with the distances are seen by others.
  const others = [1.37e-4, -0.83e-4, 3.1e-5, -7.3e-4];
  if (others.some((h) => !(Math.abs(moved(h) - y - slope * h) <= 1e-3 * scale))) return null;
  return Math.abs(slope) > 1e6 ? null : { slope, scale };
}

const isTie = (a: number, b: number) => a === b;
const turns = (a: number, b: number) => Math.abs(b) < 0.3 || Math.abs(a / (b * b)) > 50;
/** Where the slope is infinite, and 0 times it is NaN for everybody. */
const singular: { readonly [K in OpName]?: (a: number, b: number) => boolean } = {
  sqrt: (a) => a === 0,
  cbrt: (a) => a === 0,
  asin: (a) => Math.abs(a) === 1,
  acos: (a) => Math.abs(a) === 1,
  acosh: (a) => a === 1,
  pow: (a) => a === 0,
  // Ties are a convention.
  max: isTie,
  min: isTie,
  atan2: (a, b) => a === 0 && b === 0,
  // Kinks: what is made of them may have none.
  abs: (a) => a === 0,
  hypot: (a, b) => a === 0 && b === 0,
  copysign: (a) => a === 0,
  // These turn faster than any difference can see.
  rem: turns,
  floorMod: turns,
  floorDivide: turns,
  sin: (a) => Math.abs(a) > 100,
  cos: (a) => Math.abs(a) > 100,
  tan: (a) => Math.abs(a) > 100,
};

/** Is there a number in it, on the way that is taken, that has no neighbourhood to look at? */
function isWild(f: Expression, at: readonly [number, number]): boolean {
  let wild = false;
  const value = (e: Expression): number => {
    if (typeof e === "number") return e;
    if (typeof e === "string") return at[e === "x0" ? 0 : 1];
    const [op, ...args] = e;
    if (op === "select") return value(value(args[0]) ? args[1] : args[2]);
    const [a, b, c] = args.map(value);
    const y = Number(ops[op].eval(a, b, c));
    if (!Number.isFinite(y) || singular[op]?.(a, b)) wild = true;
    // Another branch may be taken here than on both sides.
    if (ops[op].rule === "compare" && isTie(a, b))
      wild ||= JSON.stringify(args[0]) !== JSON.stringify(args[1]);
    return y;
  };
  value(f);
  return wild;
}

function check({ f, at }: Case): boolean {
  if (isWild(f, at)) return false;
  const template = templateFor(f);
  const own = evaluate(template);
  const checked: { readonly i: number; readonly exact: number; readonly scale: number }[] = [];
  for (const i of [0, 1]) {
    const found = slopeOf(own, at, i);
    if (found === null) continue;
    const exact = evaluate(derivativeTemplate(template, i, []))(at);
    if (!(Math.abs(exact - found.slope) <= 1e-6 * found.scale)) {
      throw new Error(`∂/∂x${i} is ${exact}, differences give ${found.slope}`);
    }
    checked.push({ i, exact, scale: found.scale });
  }
  // Compiled is what costs: one partial derivative will do.
  const some = checked.find(({ exact }) => exact !== 0) ?? checked[0];
  if (some !== undefined)
    compareCompiled(derivativeTemplate(template, some.i, []), at, some.exact, some.scale);
  return some !== undefined;
}

function compareCompiled(derived: Template, at: readonly number[], exact: number, scale: number): void {
  scope(() => {
    const compiled = makeKernel(new Callable(new Definition(derived)), undefined);
    const [x, y] = at.map((v) => tensor([v, v, v], { dtype: "f64" }));
    const values = (compiled(x, y) as typeof x).to("f64").toArray() as number[];
    const wrong = values.find((v) => !(Math.abs(v - exact) <= 1e-9 * scale));
    if (wrong !== undefined) throw new Error(`the derivative is ${exact} interpreted and ${wrong} compiled`);
  });
}

export const derivatives = family<Case>({
  name: "derivatives",
  law: "derivatives of random functions are what differences say, compiled and interpreted",
  cases,
  check,
  gate: 2000,
});
