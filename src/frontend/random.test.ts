/** Random kernels as source text: on f64 the interpreter computes what the host computes, to the bit. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isRefusal, lowerFunction } from "./lower.ts";
import { double, interpreted } from "./testing.ts";

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

const inputs = fc.array(fc.tuple(double, double), { minLength: 8, maxLength: 8 });

function check(source: string, points: readonly (readonly [number, number])[]): void {
  const fn = new Function(`return (${source})`)() as (x: number, y: number) => unknown;
  const template = lowerFunction(source);
  if (isRefusal(template)) expect.fail(template.message);
  const run = interpreted(source, ["f64", "f64"]);
  for (const [x, y] of points) {
    const [want, got] = [Number(fn(x, y)), run(x, y)];
    if (!Object.is(want, got)) expect.fail(`${source}\n  at (${x}, ${y}): expected ${want}, got ${got}`);
  }
}

test("random expressions", () => {
  const property = fc.property(expression, inputs, (e, points) =>
    check(`(x, y) => { let t = 2; return ${e}; }`, points),
  );
  fc.assert(property, { numRuns: 800 });
});

test("random blocks of statements with early returns, assignments and loops", () => {
  const body = fc.array(statement, { minLength: 1, maxLength: 4 });
  const property = fc.property(body, expression, inputs, (statements, last, points) =>
    check(`(x, y) => { let t = 0; ${statements.join(" ")} return ${last}; }`, points),
  );
  fc.assert(property, { numRuns: 300 });
});

test("random helpers with early returns, called twice", () => {
  const body = fc.array(statement, { minLength: 1, maxLength: 3 });
  const property = fc.property(body, expression, inputs, (statements, last, points) =>
    check(
      `(x, y) => { let t = 0; const f = y => { ${statements.join(" ")} return ${last}; }; return f(x) - f(t) + x + t; }`,
      points,
    ),
  );
  fc.assert(property, { numRuns: 200 });
});
