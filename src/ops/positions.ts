/** Where the largest and the smallest element are. */
import { describe, fail, list } from "../errors.ts";
import * as programs from "../optimize/reduce-programs.ts";
import type { Strided } from "../run/call.ts";
import { readOptions } from "./arguments.ts";
import { foldOf } from "./fold.ts";
import { asOne } from "./noted.ts";
import type { ArgOptions } from "./reductions.ts";
import { checkAlive } from "./strided.ts";
import { type FoldsOf, passesOf, runTwoFolds } from "./tiles.ts";

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
  const passes = passesOf(name, t, { axis, keepdims: options.keepdims }, "i64", folds);
  if (passes.foldedShape.includes(0)) {
    fail(
      "shape",
      name,
      `nothing to choose from: the tensor is ${list(t.frame.shape)}.`,
      "Fold an axis that has elements.",
    );
  }
  const order = { between: t.dtype, result: "i64", init: null, more: ["position"] } as const;
  return runTwoFolds(name, t, passes, order);
}

/** First the best element, then the first position that has it. */
const folds: FoldsOf = (name, x) => [
  foldOf(programs.extremeStep(name === "argmax" ? "max" : "min", x, x), x),
  foldOf(programs.positionStep(x), "i64"),
];
