/** The passes between the front end and the emitter, in order; each is checked by the verifier. */
import type { Program } from "../ir/node.ts";
import { verify } from "../ir/verify.ts";
import { decompose, widenHalf } from "./decompose.ts";
import { expandExact } from "./exact.ts";
import { simplify } from "./rules.ts";
import { lowerStorage } from "./storage.ts";

export interface Pass {
  readonly name: string;
  readonly says: string;
  readonly run: (program: Program, options: OptimizeOptions) => Program;
}

export interface OptimizeOptions {
  /** The host fuses a·b + c (relaxed SIMD). */
  readonly fma: boolean;
  /** For scalar code, where 32-bit integers have a remainder. */
  readonly remainders?: boolean;
}

const again = (p: Program): Program => simplify(p);

export const passes: readonly Pass[] = [
  { name: "simplify", says: "exact algebra on what the function says", run: again },
  { name: "widen", says: "f16 and bf16 compute in f32", run: widenHalf },
  { name: "decompose", says: "functions become arithmetic", run: decompose },
  {
    name: "exact",
    says: "tests, signs, rounding and integer division become lane operations",
    run: expandExact,
  },
  { name: "storage", says: "casts and 16-bit floats become lane operations", run: lowerStorage },
  { name: "clean", says: "exact algebra on what that made", run: again },
];

/** The program as the emitter wants it; `seen` hears of every step. */
export function optimize(
  program: Program,
  options: OptimizeOptions,
  seen?: (pass: string, program: Program) => void,
): Program {
  let p = program;
  let simplified: Program | null = null;
  for (const pass of passes) {
    // What nobody touched since it was simplified is simple still.
    const isIdle: boolean = pass.run === again && p === simplified;
    const next: Program = isIdle ? p : pass.run(p, options);
    if (next !== p) verify(next, pass.name);
    if (pass.run === again) simplified = next;
    p = next;
    seen?.(pass.name, p);
  }
  return p;
}
