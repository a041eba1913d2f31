/** Where routines of block types are run: the one file here that knows how code by hand gets its tasks and threads. */
import { engine } from "../engine.ts";
import type { RoutineAbout } from "../run/routine.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import type { Routine } from "./routines.ts";

/** Runs all tasks, in no particular order; `words` says in which order their words lie. About so many nanoseconds. */
export function runRoutine<N extends string>(
  routine: Routine,
  words: readonly N[],
  tasks: readonly Readonly<Record<N, number>>[],
  nanoseconds: number,
  about: RoutineAbout,
): void {
  engine().routines.run(
    routine.name,
    routine.emit,
    tasks.map((task) => words.map((name) => task[name])),
    nanoseconds,
    about,
  );
}

/** Has the host vector instructions, and are they wanted? */
export const hasLanes = (): boolean => engine().kernels.simd && detectFeatures().simd;
