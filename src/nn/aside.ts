/** What is computed beside what is recorded: statistics, steps of an optimiser, checks. */
import { engine } from "../engine.ts";

/** Runs `fn` while nobody records. */
export function unrecorded<R>(fn: () => R): R {
  const e = engine();
  const { recorder } = e;
  if (recorder === null) return fn();
  e.recorder = null;
  try {
    return fn();
  } finally {
    e.recorder = recorder;
  }
}
