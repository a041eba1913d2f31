/**
 * Indices as polynomials: sums of products of atoms with numbers before them. (i·h + y)·w + x is i·h·w + y·w + x, whatever way
 * it was written. What an atom is, and between what bounds it lies, is for whoever asks.
 */

/** Products (names of atoms, sorted, with * between; "" for none) and what stands before them. */
export type Polynomial = ReadonlyMap<string, number>;

/** More products are not worth looking at. */
const MOST_PRODUCTS = 40;

export const zero: Polynomial = new Map();
export const constant = (c: number): Polynomial => (c === 0 ? zero : new Map([["", c]]));
export const atom = (name: string): Polynomial => new Map([[name, 1]]);

/** a + k·b. */
export function plus(a: Polynomial, b: Polynomial, k = 1): Polynomial {
  const sum = new Map(a);
  for (const [product, c] of b) {
    const total = (sum.get(product) ?? 0) + k * c;
    if (total === 0) sum.delete(product);
    else sum.set(product, total);
  }
  return sum;
}

/** a · b; null: it is too long. */
export function times(a: Polynomial, b: Polynomial): Polynomial | null {
  if (a.size * b.size > MOST_PRODUCTS) return null;
  let sum = zero;
  for (const [x, c] of a) {
    for (const [y, d] of b) sum = plus(sum, new Map([[joined(x, y), c * d]]));
  }
  return sum;
}

export const factorsOf = (product: string): string[] => (product === "" ? [] : product.split("*"));
const joined = (x: string, y: string): string => [...factorsOf(x), ...factorsOf(y)].sort().join("*");

/** The number it is; null: it is none. */
export function numberOf(p: Polynomial): number | null {
  if (p.size === 0) return 0;
  return p.size === 1 ? (p.get("") ?? null) : null;
}

/** Numbers that can be added up a few times, and are exact. */
const SMALL = 2 ** 45;
export const isSmall = (p: Polynomial): boolean => [...p.values()].every((c) => Math.abs(c) <= SMALL);

export const isZero = (p: Polynomial): boolean => p.size === 0;
export const equal = (a: Polynomial, b: Polynomial): boolean => isZero(plus(a, b, -1));

/** Every atom in it. */
export const atomsOf = (p: Polynomial): Set<string> => new Set([...p.keys()].flatMap(factorsOf));

/** p = x·factor + rest, where neither has x; null: x occurs in a higher power. */
export function split(p: Polynomial, x: string): { factor: Polynomial; rest: Polynomial } | null {
  const factor = new Map<string, number>();
  const rest = new Map<string, number>();
  for (const [product, c] of p) {
    const factors = factorsOf(product);
    const at = factors.indexOf(x);
    if (at < 0) rest.set(product, c);
    else {
      factors.splice(at, 1);
      if (factors.includes(x)) return null;
      factor.set(factors.join("*"), c);
    }
  }
  return { factor, rest };
}

/** What is known of an atom's sign. */
export type Sign = "positive" | "nonnegative" | null;

/** The least that it can be, as far as signs tell: whole atoms that are positive are at least 1. null: nothing is known. */
export function leastOf(p: Polynomial, signOf: (atom: string) => Sign): number | null {
  let least = 0;
  for (const [product, c] of p) {
    const signs = factorsOf(product).map(signOf);
    if (product === "") least += c;
    else if (c < 0 || signs.includes(null)) return null;
    else if (signs.every((s) => s === "positive")) least += c;
  }
  return least;
}
