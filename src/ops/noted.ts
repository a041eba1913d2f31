/** Operations that are one to whoever records them, whatever they are made of. Nobody records: they just run. */
import { engine } from "../engine.ts";
import type { Strided } from "../run/call.ts";

/**
 * Runs an operation and notes it by its name, with what it read, what it wrote, and what else is to be known of it. What it
 * is made of is not noted.
 */
export function noted<R>(
  name: string,
  inputs: readonly Strided[],
  facts: object,
  run: () => R,
  outsOf: (made: R) => readonly Strided[],
  operation = name,
): R {
  const e = engine();
  const { recorder } = e;
  if (recorder?.noted === undefined) return run();
  e.recorder = null;
  let made: R;
  try {
    made = run();
  } finally {
    e.recorder = recorder;
  }
  recorder.noted({ name, operation, inputs, outs: outsOf(made), facts });
  return made;
}

/** The same for an operation that makes one thing. */
export const notedOne = (
  name: string,
  inputs: readonly Strided[],
  facts: object,
  run: () => Strided,
): Strided => noted(name, inputs, facts, run, (made) => [made]);
