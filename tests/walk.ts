import type { Value } from "../src/dtype.ts";
import { engine } from "../src/engine.ts";
import type { Program } from "../src/ir/node.ts";
import { planWalk } from "../src/run/walks.ts";
import type { LoopNest } from "../src/view/loops.ts";

/** Runs a program over a nest whose offsets are addresses, the output's first; nothing where there are no elements. */
export function walkThrough(program: Program, nest: LoopNest, params: readonly Value[]): void {
  const { kernels, walker } = engine();
  const planned = planWalk(kernels, program, nest);
  if (planned !== null) walker.walk(planned, nest.offsets, params);
}
