/**
 * THE operation table. One row says everything the compiler's front half must know of an operation: its arity,
 * how dtypes flow through it, and its meaning on JavaScript values. The back half is one row in wasm/program/lower.ts
 * (or a decomposition in optimize/decompose.ts); the compiler names what is missing.
 *
 * `eval` works on numbers, `int` replaces it for integer dtypes up to 32 bits where it differs, `big` is the
 * meaning on bigints. Results are brought into the dtype by its `wrap`, so rows need not round or wrap.
 */

/**
 * How dtypes flow:
 * - arith: operands promoted, bool counts as i32; the result has that dtype
 * - lattice: as arith, but bool stays bool
 * - float: as arith, integers become f64
 * - integral: one operand; integers pass through unchanged, so the node disappears
 * - compare: operands promoted, the result is bool
 * - logic: operands cast to bool, the result is bool
 * - classify: one operand, the result is bool
 * - bits: operands promoted to an integer dtype; floats go through ToInt32 and back, bool stays bool
 * - shift: as bits, bool counts as i32
 * - select: [bool, a, b], a and b promoted, bool stays bool
 * - int32: operands through ToInt32, computed in i32; floats get a float back
 */
export type Rule =
  | "arith"
  | "lattice"
  | "float"
  | "integral"
  | "compare"
  | "logic"
  | "classify"
  | "bits"
  | "shift"
  | "select"
  | "int32";

export interface OpRow {
  readonly arity: 1 | 2 | 3;
  readonly rule: Rule;
  readonly eval: (a: number, b: number, c: number) => number | boolean;
  readonly int?: (a: number, b: number, c: number) => number | boolean;
  /** Required unless the rule never sees bigints (float). */
  readonly big?: (a: bigint, b: bigint, c: bigint) => bigint | boolean;
  /** a op b = b op a, exactly. */
  readonly commutes?: true;
  /** Infix spelling for the text form. */
  readonly sign?: string;
}

const bigAbs = (a: bigint) => (a < 0n ? -a : a);

/** Integer powers wrap; a negative exponent truncates towards zero as the quotient 1 / a^-b would. */
function intPower(a: number, b: number): number {
  if (b < 0) return a === 1 ? 1 : a === -1 ? (b % 2 === 0 ? 1 : -1) : 0;
  let result = 1;
  for (let base = a, e = b; e > 0; e = Math.floor(e / 2)) {
    if (e % 2 === 1) result = Math.imul(result, base);
    base = Math.imul(base, base);
  }
  return result;
}

function bigPower(a: bigint, b: bigint): bigint {
  if (b < 0n) return a === 1n ? 1n : a === -1n ? (b % 2n === 0n ? 1n : -1n) : 0n;
  let result = 1n;
  for (let base = a, e = b; e > 0n; e >>= 1n) {
    if (e & 1n) result = BigInt.asIntN(64, result * base);
    base = BigInt.asIntN(64, base * base);
  }
  return result;
}

function intFloorDivide(a: number, b: number): number {
  return b === 0 ? 0 : Math.floor(a / b);
}

/** Floor modulo: the result has the divisor's sign, as Python's %. */
function floorMod(a: number, b: number): number {
  const r = a % b;
  if (r === 0) return b < 0 ? -0 : 0; // a zero takes the divisor's sign
  return r < 0 === b < 0 ? r : r + b;
}

/** NumPy's floor_divide on floats: exact quotient of a - mod(a, b), with the rounding repaired. */
function floorDivide(a: number, b: number): number {
  if (b === 0) return a / b;
  let mod = a % b;
  let quotient = (a - mod) / b;
  if (mod !== 0 && b < 0 !== mod < 0) {
    mod += b;
    quotient -= 1;
  }
  if (quotient === 0) return Object.is(a / b, -0) || a / b < 0 ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

function nearestEven(x: number): number {
  if (!(Math.abs(x) < 2 ** 52)) return x;
  const magic = x < 0 || Object.is(x, -0) ? -(2 ** 52) : 2 ** 52;
  const r = x + magic - magic;
  return r === 0 ? (magic < 0 ? -0 : 0) : r;
}

function commonDivisor(a: number, b: number): number {
  let [p, q] = [Math.abs(a), Math.abs(b)];
  while (q !== 0) [p, q] = [q, p % q];
  return p;
}

function bigCommonDivisor(a: bigint, b: bigint): bigint {
  let [p, q] = [bigAbs(a), bigAbs(b)];
  while (q !== 0n) [p, q] = [q, p % q];
  return p;
}

const toInt32 = (x: number) => x | 0;
const signBit = (x: number) => x < 0 || Object.is(x, -0);

const table = {
  // Arithmetic
  add: { arity: 2, rule: "arith", eval: (a, b) => a + b, big: (a, b) => a + b, commutes: true, sign: "+" },
  sub: { arity: 2, rule: "arith", eval: (a, b) => a - b, big: (a, b) => a - b, sign: "-" },
  mul: {
    arity: 2,
    rule: "arith",
    eval: (a, b) => a * b,
    int: Math.imul,
    big: (a, b) => a * b,
    commutes: true,
    sign: "*",
  },
  div: { arity: 2, rule: "float", eval: (a, b) => a / b, sign: "/" },
  /** JavaScript's %: the sign of the dividend; an integer modulo 0 is 0. */
  rem: {
    arity: 2,
    rule: "arith",
    eval: (a, b) => a % b,
    int: (a, b) => (b === 0 ? 0 : a % b),
    big: (a, b) => (b === 0n ? 0n : a % b),
    sign: "%",
  },
  pow: { arity: 2, rule: "arith", eval: (a, b) => a ** b, int: intPower, big: bigPower, sign: "**" },
  neg: { arity: 1, rule: "arith", eval: (a) => -a, big: (a) => -a },
  abs: { arity: 1, rule: "arith", eval: Math.abs, big: bigAbs },
  /** NumPy's floor_divide; an integer divided by 0 is 0. */
  floorDivide: {
    arity: 2,
    rule: "arith",
    eval: floorDivide,
    int: intFloorDivide,
    big: (a, b) => (b === 0n ? 0n : a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n)),
  },
  /** NumPy's remainder: the sign of the divisor; an integer modulo 0 is 0. */
  floorMod: {
    arity: 2,
    rule: "arith",
    eval: floorMod,
    int: (a, b) => (b === 0 ? 0 : floorMod(a, b)),
    big: (a, b) => (b === 0n ? 0n : ((a % b) + b) % b),
  },
  min: {
    arity: 2,
    rule: "lattice",
    eval: (a, b) => Math.min(a, b),
    big: (a, b) => (a < b ? a : b),
    commutes: true,
  },
  max: {
    arity: 2,
    rule: "lattice",
    eval: (a, b) => Math.max(a, b),
    big: (a, b) => (a > b ? a : b),
    commutes: true,
  },
  /** a*b + c; fused (one rounding) where the host has it, so only decompositions that allow both may use it. */
  madd: { arity: 3, rule: "arith", eval: (a, b, c) => a * b + c, big: (a, b, c) => a * b + c },
  /** b < a ? b : a, whatever NaN does: one instruction; only for decompositions. */
  pmin: { arity: 2, rule: "arith", eval: (a, b) => (b < a ? b : a), big: (a, b) => (b < a ? b : a) },
  /** a < b ? b : a, whatever NaN does: one instruction; only for decompositions. */
  pmax: { arity: 2, rule: "arith", eval: (a, b) => (a < b ? b : a), big: (a, b) => (a < b ? b : a) },

  // Rounding and sign
  floor: { arity: 1, rule: "integral", eval: Math.floor },
  ceil: { arity: 1, rule: "integral", eval: Math.ceil },
  trunc: { arity: 1, rule: "integral", eval: Math.trunc },
  /** JavaScript's Math.round: halves go up. */
  round: { arity: 1, rule: "integral", eval: Math.round },
  /** Halves go to even, as NumPy's round. */
  nearest: { arity: 1, rule: "integral", eval: nearestEven },
  /** JavaScript's Math.sign: keeps -0 and NaN. */
  sign: {
    arity: 1,
    rule: "arith",
    eval: Math.sign,
    big: (a) => (a > 0n ? 1n : a < 0n ? -1n : 0n),
  },
  copysign: { arity: 2, rule: "float", eval: (a, b) => (signBit(b) ? -Math.abs(a) : Math.abs(a)) },
  fround: { arity: 1, rule: "float", eval: Math.fround },

  // Comparison, logic, choice
  eq: {
    arity: 2,
    rule: "compare",
    eval: (a, b) => a === b,
    big: (a, b) => a === b,
    commutes: true,
    sign: "==",
  },
  ne: {
    arity: 2,
    rule: "compare",
    eval: (a, b) => a !== b,
    big: (a, b) => a !== b,
    commutes: true,
    sign: "!=",
  },
  lt: { arity: 2, rule: "compare", eval: (a, b) => a < b, big: (a, b) => a < b, sign: "<" },
  le: { arity: 2, rule: "compare", eval: (a, b) => a <= b, big: (a, b) => a <= b, sign: "<=" },
  gt: { arity: 2, rule: "compare", eval: (a, b) => a > b, big: (a, b) => a > b, sign: ">" },
  ge: { arity: 2, rule: "compare", eval: (a, b) => a >= b, big: (a, b) => a >= b, sign: ">=" },
  not: { arity: 1, rule: "logic", eval: (a) => a === 0 },
  and: { arity: 2, rule: "logic", eval: (a, b) => a !== 0 && b !== 0, commutes: true, sign: "&&" },
  or: { arity: 2, rule: "logic", eval: (a, b) => a !== 0 || b !== 0, commutes: true, sign: "||" },
  /** JavaScript's truth: 0, -0 and NaN are false (a cast to bool, NumPy's truth, takes NaN as true). */
  truthy: { arity: 1, rule: "classify", eval: (a) => !!a, big: (a) => a !== 0n },
  isNaN: { arity: 1, rule: "classify", eval: Number.isNaN, big: () => false },
  isFinite: { arity: 1, rule: "classify", eval: Number.isFinite, big: () => true },
  isInf: { arity: 1, rule: "classify", eval: (a) => Math.abs(a) === Infinity, big: () => false },
  signbit: { arity: 1, rule: "classify", eval: signBit, big: (a) => a < 0n },
  select: { arity: 3, rule: "select", eval: (c, a, b) => (c ? a : b), big: (c, a, b) => (c ? a : b) },

  // Bits. Shift counts are taken modulo 32 (64 for 64-bit integers), as JavaScript and WebAssembly do
  bitAnd: { arity: 2, rule: "bits", eval: (a, b) => a & b, big: (a, b) => a & b, commutes: true, sign: "&" },
  bitOr: { arity: 2, rule: "bits", eval: (a, b) => a | b, big: (a, b) => a | b, commutes: true, sign: "|" },
  bitXor: { arity: 2, rule: "bits", eval: (a, b) => a ^ b, big: (a, b) => a ^ b, commutes: true, sign: "^" },
  bitNot: { arity: 1, rule: "shift", eval: (a) => ~a, big: (a) => ~a },
  shl: { arity: 2, rule: "shift", eval: (a, b) => a << b, big: (a, b) => a << (b & 63n), sign: "<<" },
  shr: {
    arity: 2,
    rule: "shift",
    /** u32 keeps its value: arithmetic on the dtype's own range, not on the int32 reading of it. */
    eval: (a, b) => (a > 2147483647 ? a >>> b : a >> b),
    big: (a, b) => a >> (b & 63n),
    sign: ">>",
  },
  shru: {
    arity: 2,
    rule: "shift",
    eval: (a, b) => a >>> b,
    big: (a, b) => BigInt.asUintN(64, a) >> (b & 63n),
    sign: ">>>",
  },
  /** The greatest common divisor; of 0 and x it is |x|. */
  gcd: { arity: 2, rule: "shift", eval: commonDivisor, big: bigCommonDivisor, commutes: true },
  imul: { arity: 2, rule: "int32", eval: Math.imul, commutes: true },
  clz32: { arity: 1, rule: "int32", eval: Math.clz32 },
  /** ToInt32 of a float: modulo 2^32, NaN and infinities give 0. The result is i32. */
  toInt32: { arity: 1, rule: "int32", eval: toInt32 },

  // Functions of floats
  sqrt: { arity: 1, rule: "float", eval: Math.sqrt },
  cbrt: { arity: 1, rule: "float", eval: Math.cbrt },
  exp: { arity: 1, rule: "float", eval: Math.exp },
  exp2: { arity: 1, rule: "float", eval: (x) => 2 ** x },
  expm1: { arity: 1, rule: "float", eval: Math.expm1 },
  log: { arity: 1, rule: "float", eval: Math.log },
  log2: { arity: 1, rule: "float", eval: Math.log2 },
  log10: { arity: 1, rule: "float", eval: Math.log10 },
  log1p: { arity: 1, rule: "float", eval: Math.log1p },
  sin: { arity: 1, rule: "float", eval: Math.sin },
  cos: { arity: 1, rule: "float", eval: Math.cos },
  tan: { arity: 1, rule: "float", eval: Math.tan },
  asin: { arity: 1, rule: "float", eval: Math.asin },
  acos: { arity: 1, rule: "float", eval: Math.acos },
  atan: { arity: 1, rule: "float", eval: Math.atan },
  atan2: { arity: 2, rule: "float", eval: Math.atan2 },
  sinh: { arity: 1, rule: "float", eval: Math.sinh },
  cosh: { arity: 1, rule: "float", eval: Math.cosh },
  tanh: { arity: 1, rule: "float", eval: Math.tanh },
  asinh: { arity: 1, rule: "float", eval: Math.asinh },
  acosh: { arity: 1, rule: "float", eval: Math.acosh },
  atanh: { arity: 1, rule: "float", eval: Math.atanh },
  hypot: { arity: 2, rule: "float", eval: (a, b) => Math.hypot(a, b), commutes: true },
  /** 1 / (1 + exp(-x)), without overflow or cancellation. */
  sigmoid: {
    arity: 1,
    rule: "float",
    eval: (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x))),
  },
} satisfies Record<string, OpRow>;

export type OpName = keyof typeof table;
export const ops: { readonly [K in OpName]: OpRow } = table;

export function isOp(name: string): name is OpName {
  return Object.hasOwn(table, name);
}
