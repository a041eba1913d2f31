/** From a Fold to the programs its kernel is emitted from, and whether there are instructions for all of it. */
import { dtypes } from "../dtype.ts";
import type { Node, Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import { optimize } from "../optimize/pipeline.ts";
import type { Fold } from "../optimize/reduce.ts";
import { codeSize, foldMisfitOf } from "../optimize/size.ts";
import { rowOf } from "../wasm/lower.ts";
import type { FoldPrograms } from "../wasm/reduce-kit.ts";

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

const folds = new WeakMap<Fold, boolean>();
const programs = new WeakMap<Program, boolean>();

/** Has every operation of the fold instructions, and the code a size that can be made? What has not is interpreted. */
export function canCompile(fold: Fold): boolean {
  let can = folds.get(fold);
  if (can === undefined) {
    can = foldMisfitOf(fold) === null && isLowered(fold);
    folds.set(fold, can);
  }
  return can;
}

function isLowered(fold: Fold): boolean {
  const { step, combine, first, finish } = lowerFold(fold, false);
  return [step, combine, first, finish].every((p) => p === null || p.nodes.every(isKnown));
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
