/** From a Fold to the programs its kernel is emitted from, and whether there are instructions for all of it. */
import { dtypes } from "../dtype.ts";
import type { Node, Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import { optimize } from "../optimize/pipeline.ts";
import type { Fold } from "../optimize/reduce.ts";
import { rowOf } from "../wasm/lower.ts";
import type { FoldPrograms } from "../wasm/reduce-kit.ts";

export function lowerFold(fold: Fold, fma: boolean): FoldPrograms {
  const lower = (p: Program) => optimize(p, { fma });
  const early = fold.algebra?.early ?? null;
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

const folds = new WeakMap<Fold, boolean>();
const programs = new WeakMap<Program, boolean>();

/** Has every operation of the fold instructions? Functions that nobody has decomposed yet go to the interpreter. */
export function canCompile(fold: Fold): boolean {
  let can = folds.get(fold);
  if (can === undefined) {
    const { step, combine, first, finish } = lowerFold(fold, false);
    can = [step, combine, first, finish].every((p) => p === null || p.nodes.every(isKnown));
    folds.set(fold, can);
  }
  return can;
}

export function canCompileProgram(program: Program): boolean {
  let can = programs.get(program);
  if (can === undefined) {
    can = optimize(program, { fma: false }).nodes.every(isKnown);
    programs.set(program, can);
  }
  return can;
}

const integerOnly = new Set(["rem", "floorMod", "floorDivide"]);

function isKnown(node: Node): boolean {
  switch (node.op) {
    case "input":
    case "param":
    case "const":
    case "cast":
    case "bitcast":
    case "rare":
      return node.dtype !== "f16" && node.dtype !== "bf16";
    default:
      try {
        rowOf(node.op);
        return dtypes[node.dtype].big || !integerOnly.has(node.op);
      } catch {
        return false;
      }
  }
}
