/** Scalar functions that `rare` nodes call, as the interpreter computes them. wasm/slow.ts has the compiled twins. */
export const slowFunctions: Record<string, (a: number, b: number) => number> = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  pow: (a, b) => a ** b,
  rem: (a, b) => a % b,
};
