/**
 * What the bits of each block type mean, as data. A block is a list of groups of 16 elements that have one scale, and an
 * element is
 *
 *     scale · (q + shift) + plus - less        shift, plus and less only where a type has them
 *
 * with q a small whole number that is put together from bytes of the block. A `Bytes` is such 16 numbers at once, lane by
 * lane; a `Whole` is one number of a block, a `Float` one of its scales. Code is made of these (emit.ts), so is the
 * documentation. Facts from ggml's reference functions; every product and sum rounds to f32, in the order written here.
 */
import type { QuantisedDType } from "./types.ts";

/** A whole number of 32 bits, the same for all lanes. */
export type Whole =
  | { readonly op: "u8" | "i8" | "u16" | "u32"; readonly at: number }
  | { readonly op: "and" | "shr" | "shl" | "plus" | "times"; readonly x: Whole; readonly by: number }
  | { readonly op: "or"; readonly a: Whole; readonly b: Whole }
  /** Seven bits, and as the eighth whether their number is odd. */
  | { readonly op: "parity"; readonly x: Whole };

/** A number in f32. */
export type Float =
  /** The bits of a half float. */
  | { readonly op: "f16"; readonly x: Whole }
  | { readonly op: "f32"; readonly at: number }
  /** 2^(x - 128): the exponent of a float alone, halved. */
  | { readonly op: "e8m0"; readonly x: Whole }
  /** Four bits of exponent, three of mantissa, no sign; halved. */
  | { readonly op: "e4m3"; readonly x: Whole }
  | { readonly op: "of"; readonly x: Whole }
  | { readonly op: "const"; readonly value: number }
  | { readonly op: "mul" | "add"; readonly a: Float; readonly b: Float };

/** 16 bytes, lane by lane: small numbers with a sign. */
export type Bytes =
  /** Lane l is the byte at + l; of fewer than 16, those beyond are of no use. */
  | { readonly op: "load"; readonly at: number; readonly bytes: 16 | 8 | 4 }
  | { readonly op: "and" | "shr" | "shl" | "minus"; readonly x: Bytes; readonly by: number }
  | { readonly op: "or" | "add"; readonly a: Bytes; readonly b: Bytes }
  /** table[x]: 16 small signed numbers. */
  | { readonly op: "lookup"; readonly x: Bytes; readonly table: readonly number[] }
  /** `value` where bit l is set, else 0. */
  | { readonly op: "bits"; readonly from: Whole; readonly value: number }
  /** -x where bit l is set, else x. */
  | { readonly op: "negate"; readonly x: Bytes; readonly from: Whole }
  /** ⌊3x / 256⌋: the first digit of x/256 to the base 3. */
  | { readonly op: "thirds"; readonly x: Bytes }
  /** The first eight lanes of two, or the first four of four: one part after the other. */
  | { readonly op: "join"; readonly of: readonly Bytes[] }
  /** The first four lanes of four, one of each in turn. */
  | { readonly op: "weave"; readonly of: readonly Bytes[] }
  /** Rows of the type's grid, one after the other: two of eight bytes or four of four. */
  | { readonly op: "grid"; readonly rows: readonly Whole[] };

export interface Group {
  readonly q: Bytes;
  readonly scale: Float;
  readonly shift?: Float;
  readonly plus?: Float;
  readonly less?: Float;
}

export interface Recipe {
  readonly groups: readonly Group[];
  readonly grid?: GridName;
}
export type GridName = "iq1_s" | "iq2_xxs" | "iq2_xs" | "iq2_s" | "iq3_xxs" | "iq3_s";

/* Words for it ----------------------------------------------------------------------------------------------- */

const u8 = (at: number): Whole => ({ op: "u8", at });
const i8 = (at: number): Whole => ({ op: "i8", at });
const u16 = (at: number): Whole => ({ op: "u16", at });
const u32 = (at: number): Whole => ({ op: "u32", at });
const whole =
  (op: "and" | "shr" | "shl" | "plus" | "times") =>
  (x: Whole, by: number): Whole =>
    op === "shr" && by === 0 ? x : { op, x, by };
const [andW, shrW, shlW, plusW, timesW] = (["and", "shr", "shl", "plus", "times"] as const).map(whole);
const orW = (a: Whole, b: Whole): Whole => ({ op: "or", a, b });
const field = (x: Whole, from: number, mask: number): Whole => andW(shrW(x, from), mask);

const f16 = (at: number): Float => ({ op: "f16", x: u16(at) });
const of = (x: Whole): Float => ({ op: "of", x });
const number = (value: number): Float => ({ op: "const", value });
const mul = (a: Float, b: Float): Float => ({ op: "mul", a, b });
const add = (a: Float, b: Float): Float => ({ op: "add", a, b });

const load = (at: number, bytes: 16 | 8 | 4 = 16): Bytes => ({ op: "load", at, bytes });
const bytesOp =
  (op: "and" | "shr" | "shl" | "minus") =>
  (x: Bytes, by: number): Bytes =>
    op !== "and" && by === 0 ? x : { op, x, by };
const [and, shr, shl, minus] = (["and", "shr", "shl", "minus"] as const).map(bytesOp);
const or = (a: Bytes, b: Bytes): Bytes => ({ op: "or", a, b });
const sum = (a: Bytes, b: Bytes): Bytes => ({ op: "add", a, b });
const low = (x: Bytes): Bytes => and(x, 15);
const high = (x: Bytes): Bytes => shr(x, 4);
const bits = (from: Whole, value: number): Bytes => ({ op: "bits", from, value });
const lookup = (table: readonly number[], x: Bytes): Bytes => ({ op: "lookup", table, x });
const join = (...parts: readonly Bytes[]): Bytes => ({ op: "join", of: parts });
const grid = (...rows: readonly Whole[]): Bytes => ({ op: "grid", rows });
const negate = (x: Bytes, from: Whole): Bytes => ({ op: "negate", x, from });

const signed = (q: Bytes, scale: Float): Group => ({ q, scale });
const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

/** Sixteen levels that are not evenly spaced. */
export const levels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113] as const;
/** Twice what a float of four bits can be: one sign, two of exponent, one of mantissa. */
export const floats4 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12] as const;

/* Blocks of one scale ---------------------------------------------------------------------------------------- */

/** 32 elements in 16 bytes: the low halves, then the high ones. */
const nibbles = (at: number): readonly [Bytes, Bytes] => {
  const all = load(at);
  return [low(all), high(all)];
};

function fifths(at: number, bitsAt: number): readonly [Bytes, Bytes] {
  const [a, b] = nibbles(at);
  return [or(a, bits(u16(bitsAt), 16)), or(b, bits(u16(bitsAt + 2), 16))];
}

const oneScale = (qs: readonly Bytes[], scale: Float): Recipe => ({
  groups: qs.map((q) => signed(q, scale)),
});

function withMinimum(qs: readonly Bytes[]): Recipe {
  const [scale, plus] = [f16(0), f16(2)];
  return { groups: qs.map((q) => ({ q, scale, plus })) };
}

/* Blocks of 256 with scales of their own --------------------------------------------------------------------- */

/** Two bits an element: 32 bytes hold 128, at four places of each byte. */
const quarters = (at: number): readonly Bytes[] => {
  const loads = times(4, (k) => load(at + 16 * k));
  return times(16, (g) => and(shr(loads[(g >> 3) * 2 + (g & 1)], 2 * ((g >> 1) & 3)), 3));
};

function q2K(): Recipe {
  const [d, min] = [f16(80), f16(82)];
  const qs = quarters(16);
  return {
    groups: qs.map((q, g) => {
      const sc = u8(g);
      return { q, scale: mul(d, of(andW(sc, 15))), less: mul(min, of(shrW(sc, 4))) };
    }),
  };
}

function q3K(): Recipe {
  const d = f16(108);
  const masks = [load(0), load(16)];
  return {
    groups: quarters(32).map((q, g) => {
      const scale = orW(
        g < 8 ? andW(u8(96 + g), 15) : shrW(u8(88 + g), 4),
        shlW(field(u8(104 + (g & 3)), 2 * (g >> 2), 3), 4),
      );
      // A high bit that is not set takes 4 away.
      const bit = and(shr(masks[g & 1], g >> 1), 1);
      return signed(minus(or(q, shl(bit, 2)), 4), mul(d, of(plusW(scale, -32))));
    }),
  };
}

/** Six bits each of scale and minimum for eight runs of 32, in twelve bytes. */
function sixes(at: number, j: number): readonly [scale: Whole, min: Whole] {
  if (j < 4) return [andW(u8(at + j), 63), andW(u8(at + 4 + j), 63)];
  const both = u8(at + 4 + j);
  return [
    orW(andW(both, 15), shlW(shrW(u8(at + j - 4), 6), 4)),
    orW(shrW(both, 4), shlW(shrW(u8(at + j), 6), 4)),
  ];
}

/** q4_K, and with a fifth bit q5_K. */
function q45K(highAt: number | null): Recipe {
  const [d, min] = [f16(0), f16(2)];
  const at = highAt === null ? 16 : 48;
  const loads = times(8, (k) => load(at + 16 * k));
  const highs = highAt === null ? null : [load(highAt), load(highAt + 16)];
  const groups = times(8, (j) => {
    const [sc, m] = sixes(4, j);
    const [scale, less] = [mul(d, of(sc)), mul(min, of(m))];
    return times(2, (h): Group => {
      const all = loads[(j >> 1) * 2 + h];
      const four = (j & 1) === 0 ? low(all) : high(all);
      const q = highs === null ? four : or(four, shl(and(shr(highs[h], j), 1), 4));
      return { q, scale, less };
    });
  });
  return { groups: groups.flat() };
}

function q6K(): Recipe {
  const d = f16(208);
  const lows = times(8, (k) => load(16 * k));
  const highs = times(4, (k) => load(128 + 16 * k));
  return {
    groups: times(16, (g) => {
      const [half, part, side] = [g >> 3, (g >> 1) & 3, g & 1];
      const all = lows[4 * half + 2 * (part & 1) + side];
      const two = and(shr(highs[2 * half + side], 2 * part), 3);
      const q = minus(or(part < 2 ? low(all) : high(all), shl(two, 4)), 32);
      return signed(q, mul(d, of(i8(192 + g))));
    }),
  };
}

const q8K = (): Recipe =>
  oneScale(
    times(16, (g) => load(4 + 16 * g)),
    { op: "f32", at: 0 },
  );

/* Elements out of a grid ------------------------------------------------------------------------------------- */

/** Two runs of eight, each with a byte of signs. */
const runs = (rows: readonly Whole[], signs: readonly Whole[]): Bytes =>
  negate(grid(...rows), orW(signs[0], shlW(signs[1], 8)));
const sevens = (x: Whole): Whole => ({ op: "parity", x });
const half = number(0.5);
const quarter = number(0.25);

function iq2xxs(): Recipe {
  const d = f16(0);
  const groups = times(8, (ib) => {
    const [at, word] = [2 + 8 * ib, u32(6 + 8 * ib)];
    const scale = mul(mul(d, add(half, of(shrW(word, 28)))), quarter);
    const signs = times(4, (l) => sevens(field(word, 7 * l, 127)));
    return times(2, (h) =>
      signed(runs([u8(at + 2 * h), u8(at + 2 * h + 1)], signs.slice(2 * h, 2 * h + 2)), scale),
    );
  });
  return { groups: groups.flat(), grid: "iq2_xxs" };
}

/** Two scales in a byte: one for each 16 elements. */
const twoScales = (d: Float, at: number, g: number): Float => {
  const scale = (g & 1) === 0 ? andW(u8(at + (g >> 1)), 15) : shrW(u8(at + (g >> 1)), 4);
  return mul(mul(d, add(half, of(scale))), quarter);
};

function iq2xs(): Recipe {
  const d = f16(0);
  const groups = times(16, (g) => {
    const words = [u16(2 + 4 * g), u16(4 + 4 * g)];
    const rows = words.map((w) => andW(w, 511));
    return signed(
      runs(
        rows,
        words.map((w) => sevens(shrW(w, 9))),
      ),
      twoScales(d, 66, g),
    );
  });
  return { groups, grid: "iq2_xs" };
}

function iq2s(): Recipe {
  const d = f16(0);
  const groups = times(16, (g) => {
    const rows = times(2, (k) => {
      const i = 2 * g + k;
      return orW(u8(2 + i), shlW(field(u8(66 + (i >> 2)), 2 * (i & 3), 3), 8));
    });
    return signed(negate(grid(...rows), u16(34 + 2 * g)), twoScales(d, 74, g));
  });
  return { groups, grid: "iq2_s" };
}

function iq3xxs(): Recipe {
  const d = f16(0);
  const groups = times(8, (ib) => {
    const word = u32(66 + 4 * ib);
    const scale = mul(mul(d, add(half, of(shrW(word, 28)))), half);
    const signs = times(4, (l) => sevens(field(word, 7 * l, 127)));
    return times(2, (h) => {
      const rows = times(4, (k) => u8(2 + 8 * ib + 4 * h + k));
      return signed(runs(rows, signs.slice(2 * h, 2 * h + 2)), scale);
    });
  });
  return { groups: groups.flat(), grid: "iq3_xxs" };
}

function iq3s(): Recipe {
  const d = f16(0);
  const groups = times(16, (g) => {
    const ib = g >> 1;
    const four = (ib & 1) === 0 ? andW(u8(106 + (ib >> 1)), 15) : shrW(u8(106 + (ib >> 1)), 4);
    const rows = times(4, (k) => {
      const i = 4 * (g & 1) + k;
      return orW(u8(2 + 4 * g + k), shlW(field(u8(66 + ib), i, 1), 8));
    });
    const scale = mul(d, of(plusW(timesW(four, 2), 1)));
    return signed(negate(grid(...rows), u16(74 + 2 * g)), scale);
  });
  return { groups, grid: "iq3_s" };
}

/** ±1/8: a bit says which. */
const eighth = (bit: Whole): Float => add(number(0.125), mul(number(-0.25), of(bit)));

function iq1s(): Recipe {
  const d = f16(0);
  const groups = times(8, (ib) => {
    const word = u16(34 + 2 * ib);
    const scale = mul(d, of(plusW(timesW(field(word, 12, 7), 2), 1)));
    const shift = eighth(shrW(word, 15));
    return times(2, (h): Group => {
      const rows = times(2, (k) => {
        const l = 2 * h + k;
        return orW(u8(2 + 4 * ib + l), shlW(field(word, 3 * l, 7), 8));
      });
      return { q: grid(...rows), scale, shift };
    });
  });
  return { groups: groups.flat(), grid: "iq1_s" };
}

/** The grid's ±1 and 0, eight times as large, and a shift of each run of eight: 8q ± 1 with an eighth of the scale. */
function iq1m(): Recipe {
  const words = times(4, (k) => u16(48 + 2 * k));
  const bitsOfD = words.map((w, k) => shlW(shrW(w, 12), 4 * k)).reduce((a, b) => orW(a, b));
  const d: Float = { op: "f16", x: bitsOfD };
  const groups = times(16, (g) => {
    const ib = g >> 1;
    const scale = mul(d, of(plusW(timesW(field(words[ib >> 1], 6 * (ib & 1) + 3 * (g & 1), 7), 2), 1)));
    const highs = u8(32 + g);
    const rows = times(2, (k) => orW(u8(2 * g + k), shlW(field(highs, 4 * k, 7), 8)));
    const q = sum(
      shl(grid(...rows), 3),
      minus(bits(orW(timesW(field(highs, 3, 1), 255), timesW(shlW(shrW(highs, 7), 8), 255)), -2 & 255), -1),
    );
    return signed(q, mul(scale, number(0.125)));
  });
  return { groups, grid: "iq1_s" };
}

function iq4xs(): Recipe {
  const d = f16(0);
  const groups = times(8, (ib) => {
    const four = field(u8(4 + (ib >> 1)), 4 * (ib & 1), 15);
    const scale = mul(d, of(plusW(orW(four, shlW(field(u16(2), 2 * ib, 3), 4)), -32)));
    return nibbles(8 + 16 * ib).map((q) => signed(lookup(levels, q), scale));
  });
  return { groups: groups.flat() };
}

/* Three values, and fewer bits ------------------------------------------------------------------------------- */

const threeTimes = (x: Bytes): Bytes => sum(x, sum(x, x));
const digit = (x: Bytes): Bytes => minus({ op: "thirds", x }, 1);

/** Five digits to the base 3 in a byte, as a fraction: each digit comes out of the next multiple. */
function tq10(): Recipe {
  const multiples = (x: Bytes, n: number): Bytes[] => {
    const all = [x];
    while (all.length < n) all.push(threeTimes(all[all.length - 1]));
    return all;
  };
  const [a, b, c] = [0, 16, 32].map((at) => multiples(load(at), 5));
  const qs = [...times(10, (g) => ((g & 1) === 0 ? a : b)[g >> 1]), ...c, join(...multiples(load(48, 4), 4))];
  return oneScale(qs.map(digit), f16(52));
}

const tq20 = (): Recipe =>
  oneScale(
    quarters(0).map((q) => minus(q, 1)),
    f16(64),
  );

const mxfp4 = (): Recipe =>
  oneScale(
    nibbles(1).map((q) => lookup(floats4, q)),
    { op: "e8m0", x: u8(0) },
  );

const nvfp4 = (): Recipe => ({
  groups: times(4, (s) => {
    const all = load(4 + 8 * s, 8);
    return signed(lookup(floats4, join(low(all), high(all))), { op: "e4m3", x: u8(s) });
  }),
});

const q10 = (): Recipe =>
  oneScale(
    times(8, (g) => minus(bits(u16(2 + 2 * g), 2), 1)),
    f16(0),
  );

/** Four elements a byte, side by side. */
function q20(): Recipe {
  const scale = f16(0);
  return {
    groups: times(4, (g) => {
      const all = load(2 + 4 * g, 4);
      const parts = times(4, (k) => and(shr(all, 2 * k), 3));
      return signed(minus({ op: "weave", of: parts }, 1), scale);
    }),
  };
}

const makers: Record<QuantisedDType, () => Recipe> = {
  q4_0: () =>
    oneScale(
      nibbles(2).map((q) => minus(q, 8)),
      f16(0),
    ),
  q4_1: () => withMinimum(nibbles(4)),
  q5_0: () =>
    oneScale(
      fifths(6, 2).map((q) => minus(q, 16)),
      f16(0),
    ),
  q5_1: () => withMinimum(fifths(8, 4)),
  q8_0: () => oneScale([load(2), load(18)], f16(0)),
  q8_1: () => oneScale([load(4), load(20)], f16(0)),
  q2_K: q2K,
  q3_K: q3K,
  q4_K: () => q45K(null),
  q5_K: () => q45K(16),
  q6_K: q6K,
  q8_K: q8K,
  iq2_xxs: iq2xxs,
  iq2_xs: iq2xs,
  iq3_xxs: iq3xxs,
  iq1_s: iq1s,
  iq4_nl: () =>
    oneScale(
      nibbles(2).map((q) => lookup(levels, q)),
      f16(0),
    ),
  iq3_s: iq3s,
  iq2_s: iq2s,
  iq4_xs: iq4xs,
  iq1_m: iq1m,
  tq1_0: tq10,
  tq2_0: tq20,
  mxfp4,
  nvfp4,
  q1_0: q10,
  q2_0: q20,
};

const made = new Map<QuantisedDType, Recipe>();

/** What a block of this type is, made once. */
export function recipeOf(dtype: QuantisedDType): Recipe {
  let recipe = made.get(dtype);
  if (recipe === undefined) {
    recipe = makers[dtype]();
    made.set(dtype, recipe);
  }
  return recipe;
}
