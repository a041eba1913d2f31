/** From a Fold to the programs its kernel is emitted from. */
import type { Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import { optimize } from "../optimize/pipeline.ts";
import type { Fold } from "../optimize/reduce.ts";
import { codeSize } from "../optimize/size.ts";
import type { FoldPrograms } from "../wasm/fold/kit.ts";

/** Values of more nodes are never joined early: it would not pay. */
const MOST_EARLY = 1000;

const lowered = { plain: new WeakMap<Fold, FoldPrograms>(), fused: new WeakMap<Fold, FoldPrograms>() };

export function lowerFold(fold: Fold, fma: boolean): FoldPrograms {
  const known = lowered[fma ? "fused" : "plain"];
  let programs = known.get(fold);
  if (programs === undefined) {
    programs = lowerPrograms(fold, fma);
    known.set(fold, programs);
  }
  return programs;
}

function lowerPrograms(fold: Fold, fma: boolean): FoldPrograms {
  const lower = (p: Program) => optimize(p, { fma });
  const known = fold.algebra?.early ?? null;
  const early = known !== null && codeSize(known.value).nodes > MOST_EARLY ? null : known;
  return {
    step: lower(fold.step),
    combine: fold.algebra === null ? null : lower(fold.algebra.combine),
    first: fold.first === null ? null : lower(fold.first),
    finish: lower(fold.finish),
    early:
      early === null
        ? null
        : { ...early, value: lower(early.value), join: lower(early.join), enter: lower(early.enter) },
  };
}

/** Folds of one text share their kernels. Operands and captured values that are not used belong to it: they have places. */
export function foldText(fold: Fold): string {
  const parts = [fold.step, fold.algebra?.combine, fold.algebra?.early?.value, fold.first, fold.finish];
  return parts.map((p) => (p ? `${p.inputs}\n${p.params}\n${printProgram(p)}` : "-")).join("\n");
}
