/** The value a walk carries, in the output's dtype: the sum so far of a matrix product, of a known fold. */
import type { KernelStep } from "strided";

type Fold = "sum" | "product" | "largest" | "smallest";

const bits: Readonly<Record<string, number>> = {
  i8: 8,
  i16: 16,
  i32: 32,
  i64: 64,
  u8: 8,
  u16: 16,
  u32: 32,
  u64: 64,
};
const whole = (texts: readonly string[]) => texts.every((t) => /^-?\d+$/.test(t));

/** Integers wrap as the kernel's do; other numbers are added in f64, and marked where that may differ. */
export function accumulate(fold: Fold, dtype: string, terms: readonly (readonly string[])[]): string | null {
  if (terms.length === 0 || dtype === "bool" || terms.flat().includes("?")) return null;
  if (dtype in bits) {
    if (!whole(terms.flat())) return null;
    const wrap = (n: bigint) => (dtype[0] === "u" ? BigInt.asUintN : BigInt.asIntN)(bits[dtype], n);
    return String(
      terms
        .map((factors) => factors.reduce((p, f) => wrap(p * BigInt(f)), 1n))
        .reduce((a, b) => wrap(bigFolds[fold](a, b))),
    );
  }
  const values = terms.map((factors) => factors.reduce((p, f) => p * Number(f), 1));
  const sum = values.reduce((a, b) => folds[fold](a, b));
  const isExact = (n: number) => Number.isInteger(n) && Math.abs(n) <= 2 ** 24;
  const picks = fold === "largest" || fold === "smallest";
  return picks || (isExact(sum) && values.every(isExact)) ? String(sum) : `≈ ${Number(sum.toPrecision(6))}`;
}

const bigFolds: Record<Fold, (a: bigint, b: bigint) => bigint> = {
  sum: (a, b) => a + b,
  product: (a, b) => a * b,
  largest: (a, b) => (a > b ? a : b),
  smallest: (a, b) => (a < b ? a : b),
};
const folds: Record<Fold, (a: number, b: number) => number> = {
  sum: (a, b) => a + b,
  product: (a, b) => a * b,
  largest: Math.max,
  smallest: Math.min,
};

/** Which fold a kernel is, as far as its name or its text says so. */
export function foldOf({ operation, source }: Pick<KernelStep, "operation" | "source">): Fold | null {
  const text = source.replace(/\s+/g, " ").trim();
  const named = { sum: "sum", prod: "product", max: "largest", min: "smallest" } as const;
  if (operation in named) return named[operation as keyof typeof named];
  if (/^\(?(\w+), (\w+)\)? => (\1 \+ \2|\2 \+ \1)$/.test(text)) return "sum";
  if (/^\(?(\w+), (\w+)\)? => (\1 \* \2|\2 \* \1)$/.test(text)) return "product";
  if (/^\(?(\w+), (\w+)\)? => Math\.max\((\1, \2|\2, \1)\)$/.test(text)) return "largest";
  if (/^\(?(\w+), (\w+)\)? => Math\.min\((\1, \2|\2, \1)\)$/.test(text)) return "smallest";
  return null;
}

/** Are they the same number, up to the rounding of f32? A fold that starts from another value is not told wrongly. */
export function agrees(sum: string, written: string): boolean {
  const [a, b] = [Number(sum.replace("≈ ", "")), Number(written)];
  return sum === written || Math.abs(a - b) <= 1e-4 * Math.max(Math.abs(a), Math.abs(b));
}
