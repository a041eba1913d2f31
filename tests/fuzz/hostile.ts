/** Hostile arguments: what tests/hostile calls its laws, from seeds that were never tried. */
import fc from "fast-check";
import { runHostile, runLine } from "../hostile/hostile.ts";
import { family } from "./family.ts";

/** A seed, or the line that such a seed came to: "zeros:0 0=changes@4". */
export type HostileCase = { readonly seed: number } | { readonly line: string };

export const hostile = family<HostileCase>({
  name: "hostile",
  law: "whatever a call is given, it returns or throws a TensorError, and harms nothing",
  cases: fc.nat(2 ** 30).map((seed) => ({ seed })),
  check: (c) => {
    const found = "line" in c ? runLine(c.line) : runHostile(c.seed);
    if (found !== null) throw new Error(found);
    return true;
  },
  // tests/hostile runs 2,000 of its own.
  gate: 100,
});
