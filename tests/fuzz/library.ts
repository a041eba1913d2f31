/**
 * Every function of the library on tensors that lie oddly gives what it gives on dense copies of them, and on two
 * threads what it gives on one, to the bit.
 */
import fc from "fast-check";
import { type DType, dtypes } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { scope, Tensor, TensorError } from "../../src/index.ts";
import { calls, rounded } from "./calls.ts";
import { type CallCase, callCases, Draw } from "./draw.ts";
import { family } from "./family.ts";

/* What a call gives, as plain data ------------------------------------------------------------------------------- */

interface Piece {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}
type Plain = Piece | string;

/** Tensors become their bytes, whatever holds them; the rest its text. */
function plainly(x: unknown, where = "the result"): [string, Plain][] {
  if (x instanceof Tensor) {
    const { buffer, byteOffset, byteLength } = x.toTypedArray() as Float32Array;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    return [[where, { dtype: x.dtype, shape: x.shape, bytes }]];
  }
  if (typeof x !== "object" || x === null) return [[where, Object.is(x, -0) ? "-0" : String(x)]];
  return Object.entries(x).flatMap(([key, value]) => plainly(value, `${where}.${key}`));
}

/** A refusal is a result too: the same arguments are refused wherever they lie. */
function outcome(c: CallCase, how: "odd" | "dense"): [string, Plain][] {
  // Where huge numbers cancel, what is left of a sum is its rounding.
  const fill = rounded.has(c.call) && c.fill === "any" ? "unit" : c.fill;
  const d = new Draw({ ...c, fill }, how);
  try {
    const result = plainly(calls[c.call](d));
    d.expectUntouched();
    return result;
  } catch (error) {
    if (error instanceof TensorError) return [["refused", error.code]];
    throw error;
  }
}

/* Comparing ---------------------------------------------------------------------------------------------------- */

const tolerance: Partial<Record<DType, number>> = { f64: 1e-9, f32: 1e-4, f16: 0.02, bf16: 0.05 };

function difference(a: Piece, b: Piece, isRounded: boolean): string | null {
  if (a.dtype !== b.dtype) return `is ${a.dtype} and ${b.dtype}`;
  if (a.shape.join() !== b.shape.join()) return `has shape [${a.shape}] and [${b.shape}]`;
  const { bytes, read } = dtypes[a.dtype];
  const [x, y] = [a, b].map((p) => new DataView(p.bytes.buffer, p.bytes.byteOffset));
  const near = isRounded ? (tolerance[a.dtype] ?? 0) : 0;
  let scale = 0;
  if (near > 0) {
    for (let at = 0; at < a.bytes.length; at += bytes) {
      const value = Math.abs(Number(read(x, at)));
      if (value < Infinity) scale = Math.max(scale, value);
    }
  }
  for (let at = 0; at < a.bytes.length; at += bytes) {
    const [p, q] = [read(x, at), read(y, at)];
    if (Object.is(p, q) || (near > 0 && Math.abs(Number(p) - Number(q)) <= near * scale)) continue;
    return `differs at element ${at / bytes}: ${p} and ${q}`;
  }
  return null;
}

function expectSame(a: [string, Plain][], b: [string, Plain][], what: string, isRounded = false): void {
  if (a.length !== b.length || a.some(([where], i) => where !== b[i][0])) {
    const shown = (x: [string, Plain][]) =>
      x.map(([where, y]) => (typeof y === "string" ? `${where} ${y}` : where));
    throw new Error(`${what}: ${shown(a).slice(0, 3)} against ${shown(b).slice(0, 3)}`);
  }
  a.forEach(([where, x], i) => {
    const y = b[i][1];
    const found =
      typeof x === "string" || typeof y === "string"
        ? x === y
          ? null
          : `is ${JSON.stringify(x)} and ${JSON.stringify(y)}`
        : difference(x, y, isRounded);
    if (found !== null) throw new Error(`${what}: ${where} ${found}`);
  });
}

/* The families --------------------------------------------------------------------------------------------------- */

const small = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 5 }) },
    fc.constantFrom(8, 17, 33),
    fc.constant(0),
  ),
  { maxLength: 3 },
);

export const library = family<CallCase>({
  name: "library",
  law: "a function of oddly laid out tensors equals the function of dense copies, to the bit, and touches nothing else",
  cases: callCases(Object.keys(calls), small),
  check: (c) =>
    scope(() => {
      const dense = outcome(c, "dense");
      expectSame(outcome(c, "odd"), dense, `${c.call} of odd and dense tensors`, rounded.has(c.call));
      return dense[0]?.[0] !== "refused";
    }),
  gate: 2000,
});

/** Calls whose sizes are their own, too small to share. */
const ownShape =
  /^(linalg\..*|.*fft.*|conv.*|correlate|.*Pool.*|cov|corrcoef|bincount|lexsort|interp|kron|outer|tensordot|multiDot|einsum|diag|meshgrid|choice|put|assignAt|image.*|.*(Hsv|Hsl|Yuv|Ycbcr|Srgb|Rgb|Gray|Linear|RGBA))$/;
/** Calls that make much more of a large tensor than it is, or go through arrays of JavaScript. */
const slowHere = /^(toArray|toJSON|fromJSON|print|iterate|unstack|split|trace|gather|slidingWindow|rot90)$/;
/** Enough work to be shared. */
const large = fc.constantFrom([130_000], [360, 361], [2400, 53], [53, 2400], [7, 130, 140], [64_000, 2]);

export const threads = family<CallCase>({
  name: "threads",
  law: "a function on two threads equals the function on one, to the bit",
  cases: callCases(
    Object.keys(calls).filter((name) => !ownShape.test(name) && !slowHere.test(name)),
    large,
  ),
  check: (c) =>
    scope(() => {
      const { pool } = engine();
      pool.waitUntilReady(20_000);
      const { jobs } = pool.tally;
      const shared = outcome(c, "odd");
      const wasShared = pool.tally.jobs > jobs;
      const alone = engine().kernels.alone(() => outcome(c, "odd"));
      expectSame(shared, alone, `${c.call} on two threads and on one`);
      return wasShared && alone[0]?.[0] !== "refused";
    }),
  gate: 200,
});
