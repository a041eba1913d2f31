/** Functions with everything a coverage tool counts: statements, branches, defaults, inner functions, loops. */
export const sources: Readonly<Record<string, string>> = {
  arrow: "(x) => x * 2",
  block: "(x) => { const y = x * x; return y + 1; }",
  "if, else and early returns":
    "(x) => { if (x < 0) return 0; if (x > 1) { return 1; } else { x = x * 2; } return x; }",
  "if without braces": "(x) => { let y = 1; if (x > 0) y = x; else y = -x; return y; }",
  choice: "(x, y) => (x > y ? x - y : y > 3 ? 1 : 2)",
  logic: "(x, y) => (x > 0 && y > 0 ? 1 : x || y)",
  "logic as a test": "(x, y) => { if ((x > 0 && y > 0) || !(x < y)) return 1; return 0; }",
  "logical assignment": "(x, y) => { let z = x; z ||= y; z &&= 2; z ??= 1; return z; }",
  "counted loop": "(x) => { let y = 0; for (let i = 0; i < 4; i++) { y = y * x + i; } return y; }",
  "while loop": "(x) => { let i = 0; while (i < 3) { x += i; i++; } return x; }",
  "inner arrow": "(x) => { const square = (t) => t * t; return square(x) + square(x + 1); }",
  "inner function with a default":
    "(x) => { function scale(t, k = 2) { return t * k; } return scale(x) + scale(x, 3); }",
  "function expression": "function (x) { var y; if (x > 0) y = 1; else y = 2; return y * x; }",
  builtins: "(x) => Math.max(Math.abs(x), 0.5) ** 2",
};
