/** Operations that are one to whoever records them, whatever they are made of. Nobody records: they just run. */
import { engine } from "../engine.ts";
import type { Strided } from "../run/call.ts";
import { readOptions } from "./arguments.ts";

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

/** What makes several passes is one operation to whoever records or traces. */
export function asOne<O extends object>(
  name: string,
  t: Strided,
  options: O,
  run: (t: Strided, options: O) => Strided,
): Strided {
  const { recorder, tracer } = engine();
  if (recorder === null && tracer === null) return run(t, options);
  const read = readOptions(name, options, "{ axis: 1 }");
  if (tracer !== null) return tracer.whole(name, t, (x) => asOne(name, x, read, run));
  return notedOne(name, [t], read, () => run(t, read));
}
