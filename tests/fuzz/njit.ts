/**
 * Random whole functions: nested loops, breaks, carried scalars, indices that are data. Compiled they do what the function
 * itself does, to the bit, errors of indices included; where f32 takes part, they do what the interpreter does.
 */
import fc from "fast-check";
import { type DType, scope, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { difference, outcome } from "../njit/compare.ts";
import { family } from "./family.ts";

/* The function: (A: rank 2, B: rank 1, C: bigints, T: typed array, n, x, { prange, k }) --------------------------------------- */

const numbers = ["i0", "i1", "f0", "f1"];
const counters = ["p", "q", "r"];
const literal = fc.constantFrom(
  ..."0 1 2 3 -1 7 0.5 -0 255 -2.75 65536 2147483647 -2147483648 3e9 1e300 NaN Infinity"
    .split(" ")
    .map((x) => `(${x})`),
);
const fixed = fc.constantFrom("n", "x", "k", "A.shape[0]", "A.shape[1]", "B.size", "T.length", "A.rank");
const binary = fc.constantFrom(..."+ - * + - * / % & | ^ << >> >>>".split(" "));
const compare = fc.constantFrom(..."< <= > >= == != === !==".split(" "));
const math1 = fc.constantFrom(..."floor ceil trunc round abs sign sqrt fround clz32".split(" "));
const math2 = fc.constantFrom("min", "max", "imul");

/** Pieces that know how many counters are in scope, and whether a loop is around them. */
function pieces(depth: number) {
  const inScope = counters.slice(0, depth);
  /** Integers of few bits, zeros and negative ones among them: where products and remainders are -0. */
  const small = fc.oneof(
    fc.constantFrom(
      "0",
      "1",
      "(-1)",
      "2",
      "(-2)",
      "(n & 3)",
      "(T.length - 2)",
      "(j0 & 3)",
      "((x | 0) & 1)",
      ...inScope,
    ),
    fc.constantFrom("A.shape[1]", "(A.shape[0] - 1)", "(w[1] & 1)", "Math.min(n, 2)", "(n > 2 ? -1 : 0)"),
  );
  const tiny = fc.oneof(
    fc
      .tuple(small, fc.constantFrom(..."* * % + - >> <<".split(" ")), small)
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc
      .tuple(fc.constantFrom("-", "~", "-Math.abs", "Math.sign", "Math.round"), small)
      .map(([f, a]) => `(${f}(${a}))`),
  );
  const variable = fc.constantFrom(...numbers, ...inScope, ...inScope);
  const target = fc.constantFrom(...numbers);
  const { number, whole, big, test, index } = fc.letrec<
    Record<"number" | "whole" | "big" | "test" | "index", string>
  >((tie) => ({
    /** Of few bits, so that 64 are enough for what is made of them. */
    big: fc.oneof(
      { maxDepth: 2, depthSize: "small" },
      fc.constantFrom("g0", "0n", "1n", "(-3n)", "40000n"),
      tie("index").map((i) => `C.get(${i})`),
      fc
        .tuple(tie("big"), fc.constantFrom("+", "-", "&", "|", "^"), tie("big"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(tie("big"), tie("big")).map(([a, b]) => `((${a} & 255n) * (${b} & 127n))`),
      fc
        .tuple(fc.constantFrom("-", "~"), tie("big"), fc.constantFrom("", " << 3n", " >> 2n"))
        .map(([op, a, by]) => `((${op}${a})${by})`),
      // None of these divisors is 0n.
      fc
        .tuple(tie("big"), fc.constantFrom("/", "%"), tie("big"))
        .map(([a, op, b]) => `(${a} ${op} (${b} | 1n))`),
      fc.tuple(tie("test"), tie("big")).map(([c, a]) => `(${c} && g0 !== 0n ? ${a} / g0 : 2n)`),
      fc.tuple(tie("big"), tie("big")).map(([a, b]) => `((${a} & 255n) << (${b} % 9n))`),
      fc.tuple(tie("big"), tie("big")).map(([a, b]) => `(${a} >> (${b} & 127n))`),
      tie("big").map((a) => `BigInt.asIntN(64, ${a})`),
      tie("whole").map((a) => `BigInt((${a} | 0) & 4095)`),
      fc.tuple(tie("test"), tie("big"), tie("big")).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
    ),
    /** Numbers that stay 32-bit integers for a while, where the ranges see it. */
    whole: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom("j0", "j1", "n", "A.shape[0]", "T.length", ...inScope, ...inScope),
      fc.constantFrom("0", "1", "2", "(-1)", "(-3)", "5", "100000", "(-2147483648)", "2147483647"),
      fc
        .tuple(tie("whole"), fc.constantFrom("+", "-", "*", "%", "&", "|", "<<", ">>", ">>>"), tie("whole"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc
        .tuple(tie("whole"), fc.constantFrom("% 5", "& 15", "| 0", ">> 1", "* 2", "* -1", "% -3"))
        .map(([a, op]) => `(${a} ${op})`),
      fc
        .tuple(fc.constantFrom("min", "max"), tie("whole"), tie("whole"))
        .map(([f, a, b]) => `Math.${f}(${a}, ${b})`),
      fc
        .tuple(fc.constantFrom("abs", "sign", "floor", "round"), tie("whole"))
        .map(([f, a]) => `Math.${f}(${a})`),
      tie("whole").map((a) => `(-${a})`),
      fc.tuple(tie("test"), tie("whole"), tie("whole")).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
      tie("number").map((a) => `(${a} | 0)`),
      tie("number").map((a) => `Math.floor(${a} / 2)`),
    ),
    number: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      variable,
      literal,
      fixed,
      tie("whole"),
      tie("whole").map((a) => `(1 / ${a})`),
      tie("whole").map((a) => `(${a} + 0.5)`),
      fc.tuple(tie("number"), binary, tie("number")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(tie("number"), binary, tie("number")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(math1, tie("number")).map(([f, a]) => `Math.${f}(${a})`),
      fc.tuple(math2, tie("number"), tie("number")).map(([f, a, b]) => `Math.${f}(${a}, ${b})`),
      fc.tuple(fc.constantFrom("-", "~", "+"), tie("number")).map(([op, a]) => `(${op}${a})`),
      fc.tuple(tie("test"), tie("number"), tie("number")).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
      fc
        .tuple(target, fc.constantFrom("=", "+=", "-=", "|="), tie("number"))
        .map(([v, op, a]) => `(${v} ${op} ${a})`),
      fc.tuple(fc.constantFrom("i0++", "--i1", "f0--", "++i0")).map(([a]) => `(${a})`),
      fc.tuple(tie("index"), tie("index")).map(([i, j]) => `A.get(${i}, ${j})`),
      tie("index").map((i) => `B.get(${i})`),
      tie("index").map((i) => `T[${i}]`),
      tie("number").map((i) => `w[(${i} >>> 0) % 3]`),
      fc.tuple(tie("number"), tie("number")).map(([a, b]) => `helper(${a}, ${b})`),
      tie("test").map((c) => `Number(${c})`),
      tie("big").map((a) => `Number(${a})`),
    ),
    test: fc.oneof(
      { maxDepth: 2, depthSize: "small" },
      fc.constantFrom("b0", "!b0", "true"),
      fc.tuple(tie("number"), compare, tie("number")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(tie("whole"), compare, tie("whole")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc
        .tuple(tie("test"), fc.constantFrom("&&", "||"), tie("test"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      tie("test").map((c) => `!${c}`),
      fc.tuple(tie("number")).map(([a]) => `!!${a}`),
    ),
    /** Mostly inside. */
    index: fc.oneof(
      { maxDepth: 1, depthSize: "small" },
      fc.constantFrom("0", "(n & 1)", ...inScope, ...inScope),
      tie("number").map((a) => `((${a}) >>> 0) % 2`),
      fc.tuple(small, small, small).map(([a, b, c]) => `${a} * ${b} + ${c}`),
      fc
        .tuple(fc.constantFrom(...["i0", ...inScope]), fc.constantFrom("+ 1", "- 1"))
        .map(([v, s]) => `${v} ${s}`),
      tie("number"),
    ),
  }));
  return { number, whole, tiny, big, test, index, target };
}

function statements(depth: number, inLoop: boolean, most: number): fc.Arbitrary<string> {
  const { number, whole, tiny, big, test, index, target } = pieces(depth);
  const kinds: fc.Arbitrary<string>[] = [
    fc.tuple(target, number).map(([v, a]) => `${v} = ${a};`),
    fc.tuple(target, fc.constantFrom("+", "-", "*"), number).map(([v, op, a]) => `${v} ${op}= ${a};`),
    fc.constantFrom("i0++;", "i1 -= 1;", "f0 *= 0.5;"),
    test.map((c) => `b0 = ${c};`),
    big.map((a) => `g0 = ${a} & 65535n;`),
    fc.tuple(index, big).map(([i, a]) => `C.set([${i}], ${a} & 1048575n);`),
    fc.tuple(fc.constantFrom("j0", "j1"), whole).map(([v, a]) => `${v} = ${a};`),
    fc.tuple(fc.constantFrom("j0", "j1"), whole).map(([v, a]) => `${v} = ${a} % 9;`),
    whole.map((a) => `f0 += 1 / ${a};`),
    tiny.map((a) => `f1 = 1 / ${a};`),
    fc.tuple(tiny, tiny).map(([a, b]) => `f0 += 1 / (${a} * ${b});`),
    whole.map((a) => `if (${a} > j0) j1 = ${a};`),
    fc.tuple(index, index, number).map(([i, j, a]) => `A.set([${i}, ${j}], ${a});`),
    fc.tuple(index, number).map(([i, a]) => `B.set([${i}], ${a});`),
    fc.tuple(index, fc.constantFrom("", "+", "-", "^"), number).map(([i, op, a]) => `T[${i}] ${op}= ${a};`),
    fc.tuple(number, number).map(([i, a]) => `w[(${i} >>> 0) % 3] = ${a};`),
    number.map((a) => `if (T.length > 2) T[i1 & 1] = ${a};`),
  ];
  if (inLoop) {
    kinds.push(test.map((c) => `if (${c}) continue;`));
    kinds.push(test.map((c) => `if (${c}) break;`));
    if (depth >= 2) kinds.push(test.map((c) => `if (${c}) continue outer;`));
  }
  kinds.push(test.map((c) => `if (${c}) return [i0, f0, b0, g0];`));
  if (most > 0) {
    const same = statements(depth, inLoop, most - 1);
    kinds.push(
      fc.tuple(test, same).map(([c, s]) => `if (${c}) { ${s} }`),
      fc.tuple(test, same, same).map(([c, s, t]) => `if (${c}) { ${s} } else { ${t} }`),
    );
    if (depth < counters.length) {
      const v = counters[depth];
      const label = depth === 0 ? "outer: " : "";
      const bound = fc.oneof(
        fc.constantFrom("3", "A.shape[0]", "B.shape[0]", "T.length", "n"),
        number.map((a) => `Math.min(${a}, 4)`),
      );
      const from = fc.oneof(
        fc.constantFrom("0", "1"),
        number.map((a) => `Math.max(${a}, -2)`),
      );
      const step = fc.constantFrom(`${v}++`, `++${v}`, `${v} += 2`, `${v} += 1.5`);
      const body = statements(depth + 1, true, most - 1);
      kinds.push(
        fc
          .tuple(from, bound, step, body)
          .map(([a, b, s, t]) => `${label}for (let ${v} = ${a}; ${v} < ${b}; ${s}) { ${t} }`),
        fc
          .tuple(from, bound, step, body)
          .map(([a, b, s, t]) => `${label}for (let ${v} = ${a}; ${v} < ${b}; ${s}) { ${t} }`),
        fc
          .tuple(bound, body)
          .map(([b, t]) => `${label}for (let ${v} = ${b} - 1; ${v} >= 0; ${v}--) { ${t} }`),
        fc
          .tuple(test, body)
          .map(([c, t]) => `{ let ${v} = i0; ${label}while (fuel-- > 0 && ${c}) { ${t} } }`),
        fc
          .tuple(test, body)
          .map(([c, t]) => `{ let ${v} = f0; ${label}do { ${t} } while (${c} && fuel-- > 0); }`),
      );
    }
  }
  return fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 3 }).map((list) => list.join(" "));
}

const helpers = [
  "(u, v) => u > v ? u - v : v",
  "(u, v) => { if (u > v) return u; let s = v; for (let h = 0; h < 3; h++) { s += u; if (s > 100) return h; } return s; }",
  "(u, v) => { i1 = u; return A.size * v + i1; }",
];
const source = fc.tuple(fc.constantFrom(...helpers), statements(0, false, 3), statements(0, false, 0)).map(
  ([helper, first, second]) =>
    `(A, B, C, T, n, x, { k }) => {
  let i0 = 0, i1 = 3, j0 = 0, j1 = -1, f0 = 0.5, f1 = x, b0 = false, g0 = 7n, fuel = 12;
  const w = [1, 0, 2];
  const helper = ${helper};
  ${first}
  ${second}
  return [i0 + w[0] + w[1] * w[2] + 1 / j0, f0 - f1 + j1, b0, g0];
}`,
);

/* Its arguments ----------------------------------------------------------------------------------------------------- */

const exact = ["f64", "i32", "u8", "i16", "bool", "u32"] as const satisfies readonly DType[];
const rounded = ["f32", "f16", "bf16"] as const satisfies readonly DType[];
const arrays = {
  Float64Array,
  Int32Array,
  Uint8Array,
  Int16Array,
  Uint32Array,
  Uint8ClampedArray,
  Float32Array,
};

interface ArraySpec {
  readonly dtype: DType;
  readonly layout: "dense" | "turned" | "reversed" | "stepped" | "shared";
}
export interface NjitCase {
  readonly source: string;
  readonly a: ArraySpec & { readonly shape: readonly [number, number] };
  readonly b: ArraySpec & { readonly length: number };
  readonly c: { readonly dtype: "i64" | "u64"; readonly length: number };
  readonly t: { readonly kind: keyof typeof arrays; readonly length: number };
  readonly n: number;
  readonly x: number;
  readonly k: number;
  readonly values: readonly number[];
}

const dtype = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...exact) },
  { weight: 1, arbitrary: fc.constantFrom(...rounded) },
);
const layout = fc.constantFrom("dense", "dense", "turned", "reversed", "stepped", "shared") as fc.Arbitrary<
  ArraySpec["layout"]
>;
const scalar = fc.oneof(
  fc.integer({ min: -3, max: 6 }),
  fc.constantFrom(0.5, -0, NaN, 2 ** 31 - 1, -(2 ** 31), 2 ** 40, 1e-9, Infinity),
);

const cases: fc.Arbitrary<NjitCase> = fc.record({
  source,
  a: fc.record({
    dtype,
    layout,
    shape: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
  }),
  b: fc.record({ dtype, layout, length: fc.integer({ min: 0, max: 5 }) }),
  c: fc.record({
    dtype: fc.constantFrom("i64", "i64", "i64", "u64") as fc.Arbitrary<"i64" | "u64">,
    length: fc.integer({ min: 0, max: 3 }),
  }),
  t: fc.record({
    kind: fc.constantFrom(...(Object.keys(arrays) as (keyof typeof arrays)[])),
    length: fc.integer({ min: 0, max: 5 }),
  }),
  n: fc.integer({ min: 0, max: 5 }),
  x: scalar,
  k: scalar,
  values: fc.array(fc.oneof(fc.integer({ min: -4, max: 300 }), fc.constantFrom(0.5, -1.25, 1e9)), {
    minLength: 3,
    maxLength: 6,
  }),
});

function laidOut(
  spec: ArraySpec,
  shape: readonly number[],
  values: readonly number[],
  shared: Tensor | null,
): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const make = (of: readonly number[]) => {
    const count = of.reduce((a, b) => a * b, 1);
    const list = Array.from({ length: count }, (_, i) => values[i % values.length] + (i >> 1));
    return (
      count === 0 ? zeros([...of], { dtype: "f64" }) : tensor(list, { dtype: "f64" }).reshape([...of])
    ).to(spec.dtype);
  };
  switch (spec.layout) {
    case "turned":
      return make([...shape].reverse()).T;
    case "reversed":
      return make(shape).flip();
    case "stepped":
      return make(shape.map((n) => 2 * n)).slice(...shape.map(() => "::2"));
    case "shared":
      if (shared !== null && shared.size >= size && shape.length === 1)
        return shared.slice(-1).slice(`:${size}`);
      return make(shape);
    default:
      return make(shape);
  }
}

function argumentsOf(c: NjitCase): NjitValue[] {
  const a = laidOut(c.a, c.a.shape, c.values, null);
  const row = c.b.layout === "shared" && c.b.length <= c.a.shape[1] ? a : null;
  const b =
    row === null ? laidOut(c.b, [c.b.length], c.values, null) : laidOut(c.b, [c.b.length], c.values, row);
  const t = new arrays[c.t.kind](c.t.length);
  for (let i = 0; i < t.length; i++) t[i] = c.values[i % c.values.length];
  const big = tensor([5n, 260n, 3n], { dtype: c.c.dtype }).slice(`:${c.c.length}`).flip();
  return [a, b, big, t, c.n, c.x];
}

/* The check --------------------------------------------------------------------------------------------------------- */

export type Run = { readonly outcome: unknown[] } | { readonly error: string };

/** What a function made of new arguments, or the index it failed at. */
export function runOn(run: (...args: NjitValue[]) => unknown, make: () => NjitValue[]): Run {
  return scope(() => {
    const args = make();
    try {
      return { outcome: outcome(run(...args), args) };
    } catch (error) {
      if (!(error instanceof TensorError) || error.code !== "index") throw error;
      const [, index, axis] = /index (\S+) .*?for axis (\d+)/.exec(error.message)!;
      // What was written stays written.
      return { error: `index ${index}, axis ${axis}: ${JSON.stringify(outcome(null, args), replacer)}` };
    }
  });
}

const replacer = (_: string, v: unknown) =>
  typeof v === "bigint" || (typeof v === "number" && !Number.isFinite(v)) ? String(v) : v;

const runOf = (run: (...args: NjitValue[]) => unknown, c: NjitCase): Run => runOn(run, () => argumentsOf(c));

export function compareRuns(a: Run, b: Run): string | null {
  if ("error" in a || "error" in b) {
    return JSON.stringify(a) === JSON.stringify(b)
      ? null
      : `${JSON.stringify(a)} against ${JSON.stringify(b)}`;
  }
  return difference(a.outcome, b.outcome);
}

export function checkNjit(c: NjitCase): boolean {
  const make = new Function(`return (${c.source})`) as () => (...args: never[]) => unknown;
  let fn: Njit;
  let compiled: Run;
  try {
    fn = njit(make(), { k: c.k });
    compiled = runOf(fn, c);
  } catch (error) {
    if (error instanceof TensorError && (error.code === "dtype" || error.code === "kernel")) return false;
    throw error;
  }
  const problem = (what: string, found: string | null) => {
    if (found !== null) throw new Error(`${what}: ${found}\n${c.source}`);
  };
  problem(
    "compiled against interpreted",
    compareRuns(
      compiled,
      runOf((...args) => insideOf(fn).interpreted(args), c),
    ),
  );
  const isRounded =
    [c.a.dtype, c.b.dtype].some((d) => (rounded as readonly DType[]).includes(d)) ||
    c.t.kind === "Float32Array" ||
    // Where JavaScript's bigints are negative.
    c.c.dtype === "u64";
  if (!isRounded) problem("compiled against plain", compareRuns(compiled, runOf(fn.plain, c)));
  return true;
}

export const njitFamily = family<NjitCase>({
  name: "njit",
  law: "random whole functions with loops, compiled, do what they do uncompiled, to the bit",
  cases,
  check: checkNjit,
  gate: 2000,
});
