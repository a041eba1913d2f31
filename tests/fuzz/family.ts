/**
 * What a family of random cases is. One object serves three: the gate runs a fixed sample of it in `npm test`, the corpus
 * runs the cases that once failed, and `npm run fuzz` looks for new ones.
 */
import type fc from "fast-check";

export interface Family<C = unknown> {
  /** What --only and the corpus call it. */
  readonly name: string;
  /** What holds for every case: the title of its test. */
  readonly law: string;
  /** Plain data: numbers, bigints, strings, booleans, null, arrays, objects. */
  readonly cases: fc.Arbitrary<C>;
  /** Throws where the law is broken. False: there was nothing to compare, since the call is refused as it should be. */
  readonly check: (c: C) => boolean | Promise<boolean>;
  /** What a case is one of: `npm run fuzz` counts them apart, so that runs can be added up. */
  readonly kind?: (c: C) => string;
  /** How many cases the gate runs, 2,000 at most. */
  readonly gate: number;
}

/** A family whose cases only it understands. */
export const family = <C>(f: Family<C>): Family => f as unknown as Family;
