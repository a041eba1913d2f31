/** Where the largest and the smallest element are. */
import { describe, fail, list } from "../errors.ts";
import * as programs from "../optimize/reduce-programs.ts";
import type { Strided } from "../run/call.ts";
import { contiguousView } from "../view/view.ts";
import { readOptions } from "./arguments.ts";
import { foldOf, runFold } from "./fold.ts";
import { asOne } from "./noted.ts";
import { splitShape } from "./reduce.ts";
import type { ArgOptions } from "./reductions.ts";
import { allocate, checkAlive, filled } from "./strided.ts";
import { framed, temporary, tilesOf } from "./tiles.ts";

/** Position of the largest (smallest) element, the first of equals; a NaN is larger and smaller than anything. */
export const argReduce = (name: "argmax" | "argmin", t: Strided, options: ArgOptions = {}): Strided =>
  asOne(name, t, options, (x, read) => positionOf(name, x, read));

function positionOf(name: "argmax" | "argmin", t: Strided, options: ArgOptions): Strided {
  options = readOptions(name, options, "{ axis: 1 }", ["axis", "keepdims"]);
  checkAlive(name, t);
  const axis = Array.isArray(options.axis) && options.axis.length === 1 ? options.axis[0] : options.axis;
  if (axis !== undefined && typeof axis !== "number") {
    fail("axis", name, `the axis is ${describe(axis)}.`, "Give one axis, or none for all elements.");
  }
  const split = splitShape(name, t.frame.shape, axis, options.keepdims ?? false);
  if (split.foldedShape.includes(0)) {
    fail(
      "shape",
      name,
      `nothing to choose from: the tensor is ${list(t.frame.shape)}.`,
      "Fold an axis that has elements.",
    );
  }
  // First the best element, then the first position that has it.
  const extreme = foldOf(programs.extremeStep(name === "argmax" ? "max" : "min", t.dtype, t.dtype), t.dtype);
  const position = foldOf(programs.positionStep(t.dtype), "i64");
  const out = allocate(name, "i64", split.shape);
  const outView = contiguousView(split.keptShape, 8);
  return filled(out, () =>
    temporary([() => allocate(name, t.dtype, split.keptShape)], (best) => {
      for (const tile of tilesOf(t.frame, split)) {
        const common = { operation: name, isFolded: split.isFolded, init: null };
        const x = tile.source(t);
        const bestView = tile.kept(best.frame);
        runFold({ ...common, fold: extreme, sources: [x], out: framed(best, bestView) });
        runFold({
          ...common,
          fold: position,
          sources: [x, tile.spread(best), "position"],
          out: framed(out, tile.kept(outView)),
        });
      }
    }),
  );
}
