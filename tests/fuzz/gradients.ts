/** Gradients, and gradients of gradients, of random operations in random layouts, against differences. */
import fc from "fast-check";
import { scope } from "../../src/api.ts";
import { gradcheck } from "../../src/grad.ts";
import { differentiable, drawn, layouts } from "../grad/operations.ts";
import { family } from "./family.ts";

interface Case {
  readonly name: string;
  readonly layouts: readonly (typeof layouts)[number][];
  readonly seed: number;
}

export const gradients = family<Case>({
  name: "gradients",
  law: "gradients and their gradients are what differences say, for every operation in any layout",
  cases: fc.record({
    name: fc.constantFrom(...Object.keys(differentiable)),
    layouts: fc.array(fc.constantFrom(...layouts), { minLength: 3, maxLength: 3 }),
    seed: fc.integer({ min: 0, max: 7 }),
  }),
  check: ({ name, layouts: chosen, seed }) =>
    scope(() => {
      const { args, f } = differentiable[name];
      const given = args.map((a, k) => drawn(a, seed + k, chosen[k]));
      gradcheck(f as never, given as never, { order: 2 });
      return true;
    }),
  gate: 24,
});
