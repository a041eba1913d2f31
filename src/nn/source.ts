/** Where the random numbers of parameters come from. */
import type { FloatDType } from "../dtype.ts";
import { defaultDType } from "../engine.ts";
import { describe, fail } from "../errors.ts";
import type { RandomGenerator } from "../library/random.ts";
import * as random from "../library/random.ts";

/** How a layer's parameters are made. */
export interface InitOptions {
  /** Where random numbers come from: a generator, or the seed of one. Default 0. */
  readonly rng?: RandomGenerator | number;
  /** Default: f32, or what `configure` says. */
  readonly dtype?: FloatDType;
}

/** Something that gives random numbers. A Proxy may refuse to say. */
export function checkGenerator(operation: string, rng: unknown): RandomGenerator {
  try {
    if (typeof (rng as RandomGenerator | null | undefined)?.bernoulli === "function")
      return rng as RandomGenerator;
  } catch {
    // It is none.
  }
  return fail("value", operation, `rng is ${describe(rng)}.`, "Give a generator: random.generator(1).");
}

/** The generator that is meant, and the dtype. */
export function sourceOf(
  operation: string,
  { rng = 0, dtype }: InitOptions,
): { rng: RandomGenerator; dtype: FloatDType } {
  return {
    rng: typeof rng === "number" ? random.generator(rng) : checkGenerator(operation, rng),
    dtype: dtype ?? (defaultDType() as FloatDType),
  };
}
