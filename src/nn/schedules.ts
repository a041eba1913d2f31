/** Schedules: the step size as a function of the step, counted from 0. */
import { describe, fail } from "../errors.ts";

/** The step size of a step. */
export type Schedule = (step: number) => number;

function positive(operation: string, name: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  return fail("value", operation, `${name} is ${describe(value)}.`, "Use a number above 0.");
}

/**
 * Always the same.
 *
 * @param lr the step size
 * @returns a function of the step
 * @example
 * constantRate(0.1)(99); // → 0.1
 */
export const constantRate = (lr: number): Schedule => {
  positive("constantRate", "lr", lr);
  return () => lr;
};

/**
 * Every so many steps, gamma times what it was.
 *
 * @param lr the first step size
 * @param every how many steps
 * @param gamma what it is multiplied by, default 0.1
 * @returns a function of the step
 * @example
 * stepDecay(1, 10, 0.5)(25); // → 0.25
 */
export function stepDecay(lr: number, every: number, gamma = 0.1): Schedule {
  positive("stepDecay", "lr", lr);
  positive("stepDecay", "every", every);
  return (step) => lr * gamma ** Math.floor(step / every);
}

/**
 * Every step, gamma times what it was.
 *
 * @param lr the first step size
 * @param gamma what it is multiplied by
 * @returns a function of the step
 * @example
 * exponentialDecay(1, 0.5)(3); // → 0.125
 */
export function exponentialDecay(lr: number, gamma: number): Schedule {
  positive("exponentialDecay", "lr", lr);
  positive("exponentialDecay", "gamma", gamma);
  return (step) => lr * gamma ** step;
}

/**
 * Half a cosine down to `least`, which it stays at.
 *
 * @param lr the first step size
 * @param steps until the least
 * @param least the last step size, default 0
 * @returns a function of the step
 * @example
 * cosine(1, 10)(10); // → 0
 */
export function cosine(lr: number, steps: number, least = 0): Schedule {
  positive("cosine", "lr", lr);
  positive("cosine", "steps", steps);
  return (step) => least + ((lr - least) * (1 + Math.cos(Math.PI * Math.min(step / steps, 1)))) / 2;
}

/**
 * From almost nothing up to where another schedule begins, in so many steps; then that one.
 *
 * @param steps how many
 * @param then what follows
 * @returns a function of the step
 * @example
 * warmup(4, constantRate(1))(1); // → 0.5
 */
export function warmup(steps: number, then: Schedule): Schedule {
  positive("warmup", "steps", steps);
  if (typeof then !== "function")
    fail(
      "value",
      "warmup",
      `the schedule is ${describe(then)}.`,
      "Give one: warmup(100, cosine(0.001, 1000)).",
    );
  return (step) => (step < steps ? (then(0) * (step + 1)) / steps : then(step - steps));
}
