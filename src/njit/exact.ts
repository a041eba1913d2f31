/**
 * Whether a number is what algebra makes of it. Numbers are doubles: i + c - c is i only as long as every sum on the way is exact,
 * and of whole numbers below 2^53 every sum and product is. A larger one may have been rounded. In an index that does no harm
 * where nothing brings it back: then it is none.
 */
import type { Range } from "./range.ts";
import { textOf } from "./refuse.ts";
import type { Expr } from "./tree.ts";

const EXACT = 2 ** 53;
/** Far from every index. */
const FAR = 2 ** 40;

interface Reach {
  readonly lo: number;
  readonly hi: number;
  /** Where it was rounded, it is at least so far from 0, and so is what algebra says. Infinity: it never is. */
  readonly rounded: number;
}

/** Of what is no sum or product; null: it is no number. */
type RangeOf = (leaf: Expr) => Range | null;

/** Why an index may be another than algebra says; null: it is that one, or no index. */
export function whyInexact(expr: Expr, rangeOf: RangeOf): string | null {
  const reach = reachOf(expr, rangeOf);
  return typeof reach === "string" ? reach : null;
}

/** Why a bound may be another than algebra says; null: it is that one. */
export function whyRounded(expr: Expr, rangeOf: RangeOf): string | null {
  const reach = reachOf(expr, rangeOf);
  if (typeof reach === "string") return reach;
  return reach.rounded === Infinity ? null : tooLarge(expr);
}

function reachOf(expr: Expr, rangeOf: RangeOf): Reach | string {
  switch (expr.op) {
    case "number":
      return reachOf(expr.args[0], rangeOf);
    case "neg": {
      const x = reachOf(expr.args[0], rangeOf);
      return typeof x === "string" ? x : negated(x);
    }
    case "add":
    case "sub":
    case "mul": {
      const [x, y] = expr.args.map((a) => reachOf(a, rangeOf));
      if (typeof x === "string") return x;
      if (typeof y === "string") return y;
      if (expr.op === "mul") return product(x, y);
      return sum(x, expr.op === "add" ? y : negated(y)) ?? tooLarge(expr);
    }
    default: {
      const range = rangeOf(expr);
      const isKnown = range?.whole && !range.nan;
      return isKnown
        ? { lo: range.lo, hi: range.hi, rounded: Infinity }
        : `${textOf(expr.place)} is not known to be a 32-bit integer`;
    }
  }
}

const negated = ({ lo, hi, rounded }: Reach): Reach => ({ lo: -hi, hi: -lo, rounded });

/** Summands of one sign never bring each other back; a small one does not bring a large one back. */
function sum(x: Reach, y: Reach): Reach | null {
  const [lo, hi] = [x.lo + y.lo, x.hi + y.hi];
  const isAlike = (x.lo >= 0 && y.lo >= 0) || (x.hi <= 0 && y.hi <= 0);
  // A summand that was rounded is larger than every bound of the other that is finite.
  const left = isAlike ? Infinity : Math.min(x.rounded - largest(y), y.rounded - largest(x));
  const rounded = Math.min(x.rounded, y.rounded, left, roundedFrom(lo, hi));
  return rounded < FAR ? null : { lo, hi, rounded };
}

/** Whole numbers: one times another is 0 or no smaller. */
function product(x: Reach, y: Reach): Reach {
  const ends = [x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi].map((e) => (Number.isNaN(e) ? 0 : e));
  const [lo, hi] = [Math.min(...ends), Math.max(...ends)];
  return { lo, hi, rounded: Math.min(x.rounded, y.rounded, roundedFrom(lo, hi)) };
}

const largest = ({ lo, hi }: Reach): number => Math.max(Math.abs(lo), Math.abs(hi));
const roundedFrom = (lo: number, hi: number): number => (lo > -EXACT && hi < EXACT ? Infinity : EXACT);

const tooLarge = ({ place }: Expr): string => `${textOf(place)} may be beyond 2^53`;
