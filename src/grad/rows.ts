/**
 * THE table of derivatives: for every operation of the IR, and each of its arguments, the partial derivative applied to a
 * tangent. A missing row is a compile error. null: the derivative is 0 wherever there is one (steps, comparisons, bits).
 *
 * Conventions where there is none: |x| at 0 gives 0; a tie of max or min with a constant gives 0 (so relu at 0 does), a tie
 * of two variables half to each; a % b moves with a, and by -trunc(a / b) with b.
 */
import type { TemplateBuilder } from "../frontend/template.ts";
import type { Id } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";

/** Algebra on the nodes of a template that is being written, with the products by 1 left out. */
export class Algebra {
  readonly t: TemplateBuilder;
  /** Does a node depend on an operand? Literals and captured values do not. */
  readonly varies: (id: Id) => boolean;

  constructor(t: TemplateBuilder, varies: (id: Id) => boolean) {
    this.t = t;
    this.varies = varies;
  }

  op(name: OpName, ...args: Id[]): Id {
    return this.t.op(name, args);
  }
  num(value: number): Id {
    return this.t.literal(value);
  }
  #is(id: Id, value: number): boolean {
    return this.t.literalOf(id) === value;
  }
  add(a: Id, b: Id): Id {
    return this.op("add", a, b);
  }
  sub(a: Id, b: Id): Id {
    return this.op("sub", a, b);
  }
  mul(a: Id, b: Id): Id {
    if (this.#is(a, 1)) return b;
    return this.#is(b, 1) ? a : this.op("mul", a, b);
  }
  div(a: Id, b: Id): Id {
    return this.#is(b, 1) ? a : this.op("div", a, b);
  }
  neg(a: Id): Id {
    const node = this.t.nodes[a];
    return node.op === "neg" ? node.args[0] : this.op("neg", a);
  }
  square(a: Id): Id {
    return this.op("mul", a, a);
  }
  /** test ? d : 0 */
  where(test: Id, d: Id): Id {
    return this.op("select", test, d, this.num(0));
  }
  /** The tangent of the one of two that was chosen. */
  chosen(test: "gt" | "lt", d: Id, own: Id, other: Id): Id {
    const shared = this.varies(other)
      ? this.where(this.op("eq", own, other), this.mul(d, this.num(0.5)))
      : this.num(0);
    return this.op("select", this.op(test, own, other), d, shared);
  }
}

/** The partial derivative of y = op(x…) applied to the tangent d. */
export type Partial = (k: Algebra, d: Id, x: readonly Id[], y: Id) => Id;

const same: Partial = (_, d) => d;
/** d·f(x, y), for what is easier to say as a factor; and d / f(x, y). */
const times =
  (f: (k: Algebra, x: Id, y: Id) => Id): Partial =>
  (k, d, [x], y) =>
    k.mul(d, f(k, x, y));
const over =
  (f: (k: Algebra, x: Id, y: Id) => Id): Partial =>
  (k, d, [x], y) =>
    k.div(d, f(k, x, y));
const one = (k: Algebra) => k.num(1);
const larger = [
  (k, d, [a, b]) => k.chosen("gt", d, a, b),
  (k, d, [a, b]) => k.chosen("gt", d, b, a),
] as const satisfies Partial[];
const smaller = [
  (k, d, [a, b]) => k.chosen("lt", d, a, b),
  (k, d, [a, b]) => k.chosen("lt", d, b, a),
] as const satisfies Partial[];

/** b·a^(b-1): 0 for a constant power, also where a^-1 is infinite. */
const powerOfBase: Partial = (k, d, [a, b]) => {
  const literal = k.t.literalOf(b);
  if (literal === 1) return d;
  if (literal === 2) return k.mul(d, k.mul(a, k.num(2)));
  const slope = k.mul(d, k.mul(b, k.op("pow", a, k.sub(b, k.num(1)))));
  return k.op("select", k.op("eq", b, k.num(0)), k.num(0), slope);
};
/** y·log a: 0 where a is 0 and stays 0 (or 1) for all powers nearby, and where the power does not move: log a may be NaN. */
const powerOfExponent: Partial = (k, d, [a, b], y) => {
  const flat = k.op("and", k.op("eq", a, k.num(0)), k.op("ge", b, k.num(0)));
  const still = k.op("or", flat, k.op("eq", d, k.num(0)));
  return k.op("select", still, k.num(0), k.mul(d, k.mul(y, k.op("log", a))));
};
/** The side of a triangle over its hypotenuse; 0 at the point of the cone. */
const ofSide =
  (i: 0 | 1): Partial =>
  (k, d, x, y) =>
    k.op("select", k.op("eq", y, k.num(0)), k.num(0), k.mul(d, k.div(x[i], y)));
const squares = (k: Algebra, a: Id, b: Id) => k.add(k.square(a), k.square(b));

export const partials = {
  add: [same, same],
  sub: [same, (k, d) => k.neg(d)],
  mul: [(k, d, [, b]) => k.mul(d, b), (k, d, [a]) => k.mul(d, a)],
  div: [(k, d, [, b]) => k.div(d, b), (k, d, [, b], y) => k.neg(k.div(k.mul(d, y), b))],
  rem: [same, (k, d, [a, b]) => k.neg(k.mul(d, k.op("trunc", k.div(a, b))))],
  pow: [powerOfBase, powerOfExponent],
  neg: [(k, d) => k.neg(d)],
  abs: [times((k, x) => k.op("sign", x))],
  floorDivide: [null, null],
  floorMod: [same, (k, d, [a, b]) => k.neg(k.mul(d, k.op("floorDivide", a, b)))],
  min: smaller,
  max: larger,
  madd: [(k, d, [, b]) => k.mul(d, b), (k, d, [a]) => k.mul(d, a), same],
  pmin: smaller,
  pmax: larger,

  floor: [null],
  ceil: [null],
  trunc: [null],
  round: [null],
  nearest: [null],
  sign: [null],
  copysign: [
    (k, d, [a, b]) => k.op("select", k.op("ne", k.op("signbit", a), k.op("signbit", b)), k.neg(d), d),
    null,
  ],
  fround: [same],

  eq: [null, null],
  ne: [null, null],
  lt: [null, null],
  le: [null, null],
  gt: [null, null],
  ge: [null, null],
  not: [null],
  and: [null, null],
  or: [null, null],
  truthy: [null],
  isNaN: [null],
  isFinite: [null],
  isInf: [null],
  signbit: [null],
  /** What was not chosen is not looked at: its tangent may be NaN. The two are joined in tangents.ts, here each is alone. */
  select: [null, (k, d, [c]) => k.where(c, d), (k, d, [c]) => k.op("select", c, k.num(0), d)],

  bitAnd: [null, null],
  bitOr: [null, null],
  bitXor: [null, null],
  bitNot: [null],
  shl: [null, null],
  shr: [null, null],
  shru: [null, null],
  gcd: [null, null],
  imul: [null, null],
  clz32: [null],
  toInt32: [null],

  sqrt: [(k, d, _, y) => k.div(k.mul(d, k.num(0.5)), y)],
  cbrt: [over((k, _, y) => k.mul(k.num(3), k.square(y)))],
  exp: [times((_, __, y) => y)],
  exp2: [times((k, _, y) => k.mul(y, k.num(Math.LN2)))],
  expm1: [times((k, _, y) => k.add(y, one(k)))],
  log: [over((_, x) => x)],
  log2: [over((k, x) => k.mul(x, k.num(Math.LN2)))],
  log10: [over((k, x) => k.mul(x, k.num(Math.LN10)))],
  log1p: [over((k, x) => k.add(x, one(k)))],
  sin: [times((k, x) => k.op("cos", x))],
  cos: [(k, d, [x]) => k.neg(k.mul(d, k.op("sin", x)))],
  tan: [times((k, _, y) => k.add(one(k), k.square(y)))],
  asin: [over((k, x) => k.op("sqrt", k.sub(one(k), k.square(x))))],
  acos: [(k, d, [x]) => k.neg(k.div(d, k.op("sqrt", k.sub(one(k), k.square(x)))))],
  atan: [over((k, x) => k.add(one(k), k.square(x)))],
  atan2: [
    (k, d, [a, b]) => k.mul(d, k.div(b, squares(k, a, b))),
    (k, d, [a, b]) => k.neg(k.mul(d, k.div(a, squares(k, a, b)))),
  ],
  sinh: [times((k, x) => k.op("cosh", x))],
  cosh: [times((k, x) => k.op("sinh", x))],
  tanh: [times((k, _, y) => k.sub(one(k), k.square(y)))],
  asinh: [over((k, x) => k.op("sqrt", k.add(k.square(x), one(k))))],
  acosh: [over((k, x) => k.op("sqrt", k.sub(k.square(x), one(k))))],
  atanh: [over((k, x) => k.sub(one(k), k.square(x)))],
  hypot: [ofSide(0), ofSide(1)],
  sigmoid: [times((k, _, y) => k.mul(y, k.sub(one(k), y)))],
} satisfies Record<OpName, readonly (Partial | null)[]>;
