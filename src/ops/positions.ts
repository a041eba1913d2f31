/** Where the largest and the smallest element are. */
import { describe, fail, list } from "../errors.ts";
import * as programs from "../optimize/reduce-programs.ts";
import type { Strided } from "../run/call.ts";
import { readOptions } from "./arguments.ts";
import { foldOf, runFold } from "./fold.ts";
import { asOne } from "./noted.ts";
import type { ArgOptions } from "./reductions.ts";
import { allocate, checkAlive, filled } from "./strided.ts";
import { framed, passesOf, temporary } from "./tiles.ts";

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
  const { tiles, isFolded, shape, foldedShape, kept, whole } = passesOf(
    name,
    t.frame,
    axis,
    options.keepdims,
  );
  if (foldedShape.includes(0)) {
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
  const out = allocate(name, "i64", shape, whole(8));
  const bests = kept(t.frame.itemBytes);
  return filled(out, () =>
    temporary([() => allocate(name, t.dtype, bests.shape, bests)], (best) => {
      for (const tile of tiles) {
        const common = { operation: name, isFolded, init: null };
        const x = tile.source(t);
        runFold({ ...common, fold: extreme, sources: [x], out: framed(best, tile.kept(bests)) });
        runFold({
          ...common,
          fold: position,
          sources: [x, tile.spread(best), "position"],
          out: framed(out, tile.kept(kept(8))),
        });
      }
    }),
  );
}
