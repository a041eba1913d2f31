/**
 * A vector of floats as whole numbers, for products with blocks: q·x then is a product of small integers, eight at a time
 * and without rounding. Elements come in portions, as many as a turn of the loop takes. In a portion each is a multiple of
 * one power of two, its unit, and has 30 bits and a sign, in two parts of 16 bits:
 *
 *     x = unit · (2^16 · high + low) + rest
 *
 * A rest is dropped where it is small enough for what `matmul` promises; else the rests of a portion follow as one more
 * portion for the same elements, with a smaller unit.
 */

/** How the elements of a vector lie, which depends on the type of the blocks that it meets. */
export interface VectorForm {
  /** Elements of a portion; those left over at the end come in portions of one block. */
  readonly most: number;
  readonly block: number;
  /** Of each 16: the even ones, then the odd ones. */
  readonly isPaired: boolean;
  /** Are sums of x wanted? Lane l of four for each 16: Σ x[4i + l]. */
  readonly hasSums: boolean;
}

/** Portions of `most` elements, then of one block. */
export interface Portions {
  readonly mains: number;
  readonly tails: number;
}

/** Portions for so many that there must be, at the most: with more of them decoding is no slower. */
const roomFor = (count: number): number => 2 * count + Math.ceil(count / 8);
/**
 * What rounding may cost an element, in relation to itself: half of k · 2^-24, the bound of a sum of k floats, and in long
 * vectors no more than in one of so many. So it matters to no row, whatever weights meet what is large beside the element.
 */
const [LONG, ROUNDING] = [4096, 2 ** -25];
/** Exponents, as floats have them, of what is largest in a portion: its products stay within the range of f32. */
const [LEAST, MOST] = [40 << 23, 227 << 23];

/**
 * Where a portion of so many elements has what, in bytes. The elements first: of each 16 the high parts, 8 and 8, then the
 * low ones. `high` and `low` are what 1 of such a part stands for, `advance` is how many blocks further the next portion is.
 */
export function portionOf({ hasSums }: Pick<VectorForm, "hasSums">, elements: number) {
  const sums = 4 * elements;
  const high = hasSums ? 5 * elements : sums;
  return { sums, high, low: high + 4, advance: high + 8, bytes: high + 16 } as const;
}

const kindsOf = ({ most, block }: VectorForm, elements: number) =>
  [
    { size: most, count: Math.floor(elements / most) },
    { size: block, count: (elements % most) / block },
  ] as const;

/** Bytes for a vector of so many elements. */
export const vectorBytes = (form: VectorForm, elements: number): number =>
  kindsOf(form, elements).reduce(
    (sum, { size, count }) => sum + roomFor(count) * portionOf(form, size).bytes,
    0,
  );

/**
 * Writes x to `at`, an address in its buffer; x itself becomes rests. null: an element is not finite, too large or too
 * small, or too many portions are needed.
 */
export function writeVector(x: Float32Array, form: VectorForm, at: number): Portions | null {
  const views = viewsOf(x, at, vectorBytes(form, x.length));
  const taken: number[] = [];
  let [from, word] = [0, 0];
  for (const { size, count } of kindsOf(form, x.length)) {
    const words = portionOf(form, size).bytes >> 2;
    let portions = 0;
    for (const end = from + count * size; from < end; from += size) {
      for (let isFirst = true, isLeft = true; isLeft; isFirst = false, word += words) {
        const largest = largestBits(views.bits, from, size);
        const isWithin = largest === 0 || (largest >= LEAST && largest < MOST);
        if (!isWithin || portions++ === roomFor(count)) return null;
        if (form.hasSums) writeSums(views, from, size, word + size, isFirst);
        isLeft = writePortion(views, form, from, size, word, largest, isFirst);
      }
    }
    taken.push(portions);
  }
  return { mains: taken[0], tails: taken[1] };
}

/** x and its bits; and the room for it, as numbers of three types. */
function viewsOf(x: Float32Array, at: number, bytes: number) {
  const { buffer, byteOffset, length } = x;
  return {
    x,
    bits: new Int32Array(buffer, byteOffset, length),
    f32: new Float32Array(buffer, at, bytes / 4),
    i32: new Int32Array(buffer, at, bytes / 4),
    i16: new Int16Array(buffer, at, bytes / 2),
  };
}
type Views = ReturnType<typeof viewsOf>;

/** The bits of the largest |x|: as whole numbers they have the order of floats, with NaN above all. */
function largestBits(bits: Int32Array, from: number, size: number): number {
  let largest = 0;
  for (let i = from; i < from + size; i++) largest = Math.max(largest, bits[i] & 0x7fffffff);
  return largest;
}

/** The first portion for some elements has their sums, those that follow have none. */
function writeSums({ x, f32 }: Views, from: number, size: number, to: number, isFirst: boolean): void {
  for (let g = 0; g < size; g += 16) {
    for (let l = 0; l < 4; l++) {
      const i = from + g + l;
      f32[to + (g >> 2) + l] = isFirst ? Math.fround(x[i] + x[i + 4]) + Math.fround(x[i + 8] + x[i + 12]) : 0;
    }
  }
}

/** true: rests are left, and the next portion is for these elements again. */
function writePortion(
  { x, f32, i32, i16 }: Views,
  { hasSums, isPaired, block }: VectorForm,
  from: number,
  size: number,
  word: number,
  largest: number,
  isFirst: boolean,
): boolean {
  const { high, low, advance, bytes } = portionOf({ hasSums }, size);
  // The largest gets 30 bits.
  i32[word + (low >> 2)] = largest === 0 ? 0 : (largest & 0x7f800000) - (29 << 23);
  const unit = f32[word + (low >> 2)];
  f32[word + (high >> 2)] = 2 ** 16 * unit;
  const units = largest === 0 ? 0 : 1 / unit;
  // Half of 1 is too much of a smaller whole number.
  const few = 0.5 / (ROUNDING * Math.min(x.length, LONG));
  let isLeft = false;
  for (let i = 0; i < size; i++) {
    const value = x[from + i];
    const whole = Math.round(value * units);
    const top = (whole + 0x8000) >> 16;
    const place = 2 * (word + (i & ~15)) + (isPaired ? ((i & 1) << 3) | ((i & 15) >> 1) : i & 15);
    // What an element got before is 2^29 units at the least: it is whole now.
    const before = isFirst ? 0 : i16[place - (bytes >> 1)] | i16[place + 16 - (bytes >> 1)];
    i16[place] = top;
    i16[place + 16] = whole - (top << 16);
    const rest = value - whole * unit;
    const counts = rest !== 0 && before === 0 && Math.abs(whole) < few;
    x[from + i] = counts ? rest : 0;
    if (counts) isLeft = true;
  }
  i32[word + (advance >> 2)] = isLeft ? 0 : size / block;
  return isLeft;
}
