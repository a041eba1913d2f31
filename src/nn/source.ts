/** Where the random numbers of parameters come from. */
import type { FloatDType } from "../dtype.ts";
import { defaultDType } from "../engine.ts";
import type { RandomGenerator } from "../library/random.ts";
import * as random from "../library/random.ts";

/** How a layer's parameters are made. */
export interface InitOptions {
  /** Where random numbers come from: a generator, or the seed of one. Default 0. */
  readonly rng?: RandomGenerator | number;
  /** Default: f32, or what `configure` says. */
  readonly dtype?: FloatDType;
}

/** The generator that is meant, and the dtype. */
export function sourceOf({ rng = 0, dtype }: InitOptions): { rng: RandomGenerator; dtype: FloatDType } {
  return {
    rng: typeof rng === "number" ? random.generator(rng) : rng,
    dtype: dtype ?? (defaultDType() as FloatDType),
  };
}
