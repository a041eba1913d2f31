/**
 * Random functions with parallel loops whose iterations are independent: alone and on three threads they give the same bits,
 * those of the interpreter, and, where sums are exact, those of the function itself. A failure is the one that comes first.
 */
import fc from "fast-check";
import { type DType, scope, TensorError, tensor, zeros } from "../../src/index.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { difference, outcome } from "../njit/compare.ts";
import { onThreads } from "../njit/threads.ts";
import { family } from "./family.ts";

/* (A: rank 2, B: rank 1, O: rank 1, P: rank 2, T: flat typed array, n, m, x, { prange }) ------------------------------------ */

/** What an expression may use. */
interface Reach {
  /** Counters and variables that are there. */
  readonly names: readonly string[];
  /** Elements of the iteration's own. */
  readonly own: readonly string[];
}

function expressions({ names, own }: Reach) {
  const { number, whole } = fc.letrec<Record<"number" | "whole", string>>((tie) => ({
    whole: fc.oneof(
      { maxDepth: 2, depthSize: "small" },
      fc.constantFrom("n", "m", "0", "1", "2", "(-1)", ...names.filter((v) => v !== "v0"), "i", "i"),
      fc
        .tuple(tie("whole"), fc.constantFrom("+", "-", "*", "&", "%"), tie("whole"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      tie("number").map((a) => `(${a} | 0)`),
    ),
    number: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom("x", "0.5", "i", ...names, ...own),
      tie("whole"),
      fc
        .tuple(tie("number"), fc.constantFrom("+", "-", "*", "/"), tie("number"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(fc.constantFrom("abs", "floor", "sqrt"), tie("number")).map(([f, a]) => `Math.${f}(${a})`),
      tie("whole").map((a) => `B.get((${a}) >>> 0 & 1)`),
      fc.tuple(tie("whole"), tie("whole")).map(([a, b]) => `A.get(((${a}) >>> 0) % n, ((${b}) >>> 0) % m)`),
      fc.constantFrom("A.get(i, 0)", "B.get(i)", "B.get(i + 1)", "A.get(i, m - 1)"),
      fc.tuple(tie("number"), tie("number"), tie("number")).map(([c, a, b]) => `(${c} > 1 ? ${a} : ${b})`),
      tie("whole").map((a) => `w[(${a} >>> 0) % 3]`),
    ),
  }));
  return { number, whole };
}

const ownElements = ["O.get(i)", "T[i * m]", "P.get(i, 0)"];
const ownInLoop = ["P.get(i, j)", "T[i * m + j]", "A.get(i, j)", "Q[2 * i]", "Q[2 * i + 1]"];

function statements(inLoop: boolean, most: number): fc.Arbitrary<string> {
  const names = ["v0", "k0", ...(inLoop ? ["j"] : [])];
  const { number, whole } = expressions({
    names,
    own: inLoop ? [...ownElements, ...ownInLoop] : ownElements,
  });
  const kinds: fc.Arbitrary<string>[] = [
    number.map((a) => `v0 = ${a};`),
    whole.map((a) => `k0 = ${a} % 7;`),
    fc.tuple(whole, number).map(([i, a]) => `w[(${i} >>> 0) % 3] = ${a};`),
    number.map((a) => `O.set([i], ${a});`),
    fc.tuple(fc.constantFrom("", "+", "-"), number).map(([op, a]) => `Q[2 * i + 1] ${op}= ${a};`),
    // Reductions: sums of whole numbers are exact in any order.
    whole.map((a) => `sum += (${a}) % 1000 | 0;`),
    whole.map((a) => `sum -= (${a}) & 255;`),
    number.map((a) => `least = Math.min(least, ${a});`),
    number.map((a) => `most = Math.max(${a}, most);`),
    whole.map((a) => `product *= (${a}) > 3 ? 2 : -1;`),
    number.map((a) => `if (${a} > 0) count++;`),
    number.map((a) => `if (${a} > 2) continue;`),
  ];
  if (inLoop) {
    kinds.push(
      number.map((a) => `P.set([i, j], ${a});`),
      fc.tuple(fc.constantFrom("", "+", "*"), number).map(([op, a]) => `T[i * m + j] ${op}= ${a};`),
      number.map((a) => `if (${a} > 5) break;`),
    );
  }
  if (most > 0) {
    const inner = statements(inLoop, most - 1);
    kinds.push(
      fc.tuple(number, inner).map(([a, s]) => `if (${a} > 1) { ${s} }`),
      fc.tuple(number, inner, inner).map(([a, s, t]) => `if (${a} > 1) { ${s} } else { ${t} }`),
    );
    if (!inLoop) {
      const body = statements(true, most - 1);
      kinds.push(
        body.map((s) => `for (let j = 0; j < m; j++) { ${s} }`),
        body.map((s) => `for (let j = 0; j < m; j++) { ${s} }`),
        body.map((s) => `for (let j = m - 1; j >= 0; j--) { ${s} }`),
        fc
          .tuple(fc.constantFrom("m - 1", "i", "2"), body)
          .map(([b, s]) => `for (let j = 0; j < Math.min(m, ${b}); j++) { ${s} }`),
        number.map((a) => `{ let fuel = 4; while (fuel-- > 0 && v0 < ${a}) v0 += 1.5; }`),
      );
    }
  }
  return fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 4 }).map((list) => list.join(" "));
}

const loop = fc
  .tuple(
    fc.constantFrom("n", "n", "n", "1, n", "n - 1", "0, n, 2", "n + 1", "0"),
    statements(false, 2),
    fc.constantFrom("", "const w = [i, 0, x];", "const w = new Float64Array(3);"),
  )
  .map(
    ([bounds, body, own]) =>
      `for (const i of prange(${bounds})) { let v0 = 1, k0 = 2; ${own === "" ? "const w = [0, 1, 2];" : own} ${body} }`,
  );
const source = fc.tuple(loop, fc.option(loop), fc.boolean()).map(([first, second, repeats]) => {
  const loops = `${first} ${second ?? ""}`;
  return `(A, B, O, P, T, Q, n, m, x, { prange }) => {
  let sum = 0, least = Infinity, most = -5, product = 1, count = 0;
  ${repeats ? `for (let t = 0; t < 2; t++) { ${loops} }` : loops}
  return [sum, least, most, product, count];
}`;
});

/* Its arguments ----------------------------------------------------------------------------------------------------- */

const arrays = { Float64Array, Int32Array, Uint8Array, Float32Array };
export interface PrangeCase {
  readonly source: string;
  readonly dtypes: readonly [DType, DType, DType, DType];
  readonly turned: boolean;
  /** O lies over B. */
  readonly overlaps: boolean;
  readonly kind: keyof typeof arrays;
  readonly n: number;
  readonly m: number;
  readonly x: number;
  readonly values: readonly number[];
}

const dtype = fc.constantFrom<DType>("f64", "f64", "i32", "u8", "i16", "f32");
const cases: fc.Arbitrary<PrangeCase> = fc.record({
  source,
  dtypes: fc.tuple(dtype, dtype, dtype, dtype),
  turned: fc.boolean(),
  overlaps: fc.nat(5).map((k) => k === 0),
  kind: fc.constantFrom(...(Object.keys(arrays) as (keyof typeof arrays)[])),
  n: fc.oneof(
    { weight: 15, arbitrary: fc.integer({ min: 0, max: 7 }) },
    { weight: 1, arbitrary: fc.constant(300) },
  ),
  m: fc.integer({ min: 1, max: 5 }),
  x: fc.oneof(fc.integer({ min: -3, max: 6 }), fc.constantFrom(0.5, -0, Number.NaN, 1e9)),
  values: fc.array(fc.integer({ min: -4, max: 300 }), { minLength: 3, maxLength: 6 }),
});

function argumentsOf(c: PrangeCase): NjitValue[] {
  const { n, m, values } = c;
  const make = (dtype: DType, ...shape: number[]) => {
    const size = shape.reduce((a, b) => a * b, 1);
    if (size === 0) return zeros(shape, { dtype });
    const list = Array.from({ length: size }, (_, i) => values[i % values.length] + (i % 5));
    return tensor(list, { dtype: "f64" }).reshape(shape).to(dtype);
  };
  const a = c.turned ? make(c.dtypes[0], m, n).T : make(c.dtypes[0], n, m);
  const base = make(c.dtypes[1], n + 3);
  const b = base.slice(`:${n + 1}`);
  const o = c.overlaps ? base.slice(`1:${n + 2}`) : make(c.dtypes[2], n + 1);
  const p = c.turned ? make(c.dtypes[3], m, n + 1).T : make(c.dtypes[3], n + 1, m);
  const t = new arrays[c.kind]((n + 1) * m).fill(1);
  const q = new Float64Array(2 * n + 3);
  return [a, b, o, p, t, q, n, m, c.x];
}

/* The check --------------------------------------------------------------------------------------------------------- */

interface Run {
  readonly error: string | null;
  readonly outcome: unknown[];
}

function runOf(run: (...args: NjitValue[]) => unknown, c: PrangeCase): Run {
  return scope(() => {
    const args = argumentsOf(c);
    try {
      return { error: null, outcome: outcome(run(...args), args) };
    } catch (error) {
      if (!(error instanceof TensorError) || error.code !== "index") throw error;
      const [, index, axis] = /index (\S+) .*?for axis (\d+)/.exec(error.message)!;
      return { error: `index ${index}, axis ${axis}`, outcome: outcome(null, args) };
    }
  });
}

export function checkPrange(c: PrangeCase): boolean {
  const make = new Function(`return (${c.source})`) as () => (...args: never[]) => unknown;
  let fn: Njit;
  try {
    fn = njit(make());
  } catch (error) {
    // Rows that end at the least of two numbers: nobody can tell that they do not meet.
    if (error instanceof TensorError && error.code === "kernel" && c.source.includes("Math.min(m"))
      return false;
    throw error;
  }
  const compare = (what: string, a: Run, b: Run, all = true) => {
    const found = a.error === b.error ? null : `${a.error} against ${b.error}`;
    const other = found ?? (all || a.error === null ? difference(a.outcome, b.outcome) : null);
    if (other !== null) throw new Error(`${what}: ${other}\n${c.source}`);
  };
  const alone = runOf(fn, c);
  // Of a call that fails, later iterations may have written too.
  compare(
    "three threads against one",
    onThreads(3, () => runOf(fn, c)),
    alone,
    false,
  );
  compare(
    "compiled against interpreted",
    alone,
    runOf((...args) => insideOf(fn).interpreted(args), c),
  );
  const isRounded = c.dtypes.includes("f32") || c.kind === "Float32Array";
  if (!isRounded) compare("compiled against plain", alone, runOf(fn.plain, c));
  return true;
}

export const prange = family<PrangeCase>({
  name: "prange",
  law: "random functions with parallel loops give the same bits on one thread, on three, interpreted and uncompiled",
  cases,
  check: checkPrange,
  gate: 150,
});
