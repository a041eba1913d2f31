/** Random functions as source text: on f64 the interpreter computes what the host computes, to the bit. */
import fc from "fast-check";
import { isRefusal, lowerFunction, refusalMessage } from "../../src/frontend/lower.ts";
import { double, interpreted } from "../../src/frontend/testing.ts";
import { family } from "./family.ts";

export interface FrontendCase {
  readonly source: string;
  readonly points: readonly (readonly [number, number])[];
}

const literal = fc.constantFrom(
  "0",
  "1",
  "2",
  "(-1)",
  "0.5",
  "3e9",
  "(1/0)",
  "NaN",
  "31",
  "1e300",
  "(!0)",
  "(!1)",
);
const binary = fc.constantFrom(..."+ - * / % ** & | ^ << >> >>> == != < <= > >= && ||".split(" "));
const unary = fc.constantFrom("-", "+", "~", "!");
const math1 = fc.constantFrom(
  ..."abs acos acosh asin asinh atan atanh cbrt ceil clz32 cos cosh exp expm1 floor fround log log10 log1p".split(
    " ",
  ),
  ..."log2 round sign sin sinh sqrt tan tanh trunc".split(" "),
);
const math2 = fc.constantFrom("atan2", "imul", "max", "min", "pow", "hypot");
const variable = fc.constantFrom("x", "y", "t");

/** Every piece is in parentheses, so any piece may stand anywhere. */
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    variable,
    literal,
    fc.tuple(tie("expression"), binary, tie("expression")).map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(unary, tie("expression")).map(([op, a]) => `(${op} ${a})`),
    fc.tuple(math1, tie("expression")).map(([f, a]) => `Math.${f}(${a})`),
    fc.tuple(math2, tie("expression"), tie("expression")).map(([f, a, b]) => `Math.${f}(${a}, ${b})`),
    fc
      .tuple(tie("expression"), tie("expression"), tie("expression"))
      .map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
    fc
      .tuple(variable, fc.constantFrom("=", "+=", "*=", "&&=", "||=", "|="), tie("expression"))
      .map(([v, op, a]) => `(${v} ${op} ${a})`),
    fc.tuple(fc.constantFrom("x++", "--y", "t--", "++t")).map(([a]) => `(${a})`),
    fc.tuple(tie("expression"), tie("expression")).map(([a, b]) => `(${a}, ${b})`),
    fc.tuple(tie("expression"), tie("expression")).map(([a, b]) => `((u, t) => u * t + (x = u))(${a}, ${b})`),
  ),
}));

const { statement } = fc.letrec<{ statement: string }>((tie) => ({
  statement: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.tuple(variable, expression).map(([v, a]) => `${v} = ${a};`),
    expression.map((a) => `return ${a};`),
    fc.tuple(expression, tie("statement")).map(([c, s]) => `if (${c}) ${s}`),
    fc
      .tuple(expression, tie("statement"), tie("statement"))
      .map(([c, a, b]) => `if (${c}) { ${a} } else { ${b} }`),
    fc.tuple(tie("statement"), tie("statement")).map(([a, b]) => `{ let t = x; ${a} ${b} }`),
    tie("statement").map((s) => `for (let i = 0; i < 3; i++) { t += i; ${s} }`),
  ),
}));

const body = (maxLength: number) =>
  fc.array(statement, { minLength: 1, maxLength }).map((statements) => statements.join(" "));
/** Expressions; blocks with early returns, assignments and loops; helpers with early returns, called twice. */
const source = fc.oneof(
  { weight: 8, arbitrary: expression.map((e) => `(x, y) => { let t = 2; return ${e}; }`) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(body(4), expression)
      .map(([block, last]) => `(x, y) => { let t = 0; ${block} return ${last}; }`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(body(3), expression)
      .map(
        ([block, last]) =>
          `(x, y) => { let t = 0; const f = y => { ${block} return ${last}; }; return f(x) - f(t) + x + t; }`,
      ),
  },
);

function check({ source, points }: FrontendCase): boolean {
  const fn = new Function(`return (${source})`)() as (x: number, y: number) => unknown;
  const template = lowerFunction(source);
  if (isRefusal(template)) throw new Error(refusalMessage("test", template));
  const run = interpreted(source, ["f64", "f64"]);
  for (const [x, y] of points) {
    const [want, got] = [Number(fn(x, y)), run(x, y)];
    if (!Object.is(want, got)) throw new Error(`${source} at (${x}, ${y}): expected ${want}, got ${got}`);
  }
  return true;
}

export const frontend = family<FrontendCase>({
  name: "frontend",
  law: "random functions are read as the host reads them: on f64 the interpreter gives the same bits",
  cases: fc.record({ source, points: fc.array(fc.tuple(double, double), { minLength: 8, maxLength: 8 }) }),
  check,
  gate: 1300,
});
