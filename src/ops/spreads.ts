/** Means, variances and lengths: folds that end in a division or a root, all of it in f64. */
import { dtypes } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import type { Ending } from "../optimize/reduce.ts";
import * as programs from "../optimize/reduce-programs.ts";
import type { Strided } from "../run/call.ts";
import { sizeOf } from "../view/layout.ts";
import { checkOptionalDType, readOptions } from "./arguments.ts";
import { foldOf, runFold } from "./fold.ts";
import { asOne } from "./noted.ts";
import { reduce, splitShape } from "./reduce.ts";
import {
  callableFor,
  floatOf,
  foldOptions,
  type NormOptions,
  type SumOptions,
  sumNames,
  type VarOptions,
} from "./reductions.ts";
import { allocate, checkAlive, filled } from "./strided.ts";
import { type FoldsOf, framed, passesOf, runTwoFolds } from "./tiles.ts";

/** acc / p0, and its root. */
const endings = {
  mean: { params: ["f64"], make: (b, acc) => b.op("div", acc, b.param(0, "f64")) },
  root: { params: [], make: (b, acc) => b.op("sqrt", acc) },
  rootMean: {
    params: ["f64"],
    make: (b, acc) => b.op("sqrt", b.op("div", acc, b.param(0, "f64"))),
  },
} as const satisfies Record<string, Ending>;

/** Sum over count, carried in f64; integers give f64. */
export function mean(t: Strided, options: SumOptions = {}): Strided {
  options = readOptions("mean", options, "{ axis: 1 }", sumNames);
  checkAlive("mean", t);
  const result = checkOptionalDType("mean", options.dtype) ?? floatOf(t.dtype);
  const split = splitShape("mean", t.frame.shape, options.axis, false);
  const ending = { key: "mean", with: endings.mean, params: [sizeOf(split.foldedShape)] };
  const full = foldOptions(options, 0, "f64");
  return reduce("mean", callableFor("sum"), t, full, { result, ending });
}

/** Mean square distance from the mean, in two passes: first the mean, then the distances from it, all in f64. */
export const variance = (t: Strided, options: VarOptions = {}, name: "var" | "variance" = "var"): Strided =>
  asOne(name, t, options, (x, read) => spread(name, x, read));
/** The root of the variance. */
export const std = (t: Strided, options: VarOptions = {}): Strided =>
  asOne("std", t, options, (x, read) => spread("std", x, read));

/** What is taken from the count before it divides, by either of its names. */
export function freedomOf(op: string, { ddof, correction }: VarOptions): number {
  const value = ddof ?? correction ?? 0;
  if (ddof !== undefined && correction !== undefined && ddof !== correction) {
    fail(
      "value",
      op,
      `ddof is ${describe(ddof)}, correction ${describe(correction)}.`,
      "They mean the same: give one.",
    );
  }
  if (typeof value !== "number" || Number.isNaN(value)) {
    const name = ddof === undefined ? "correction" : "ddof";
    fail("value", op, `${name} is ${describe(value)}.`, `Give a number, such as { ${name}: 1 }.`);
  }
  return value;
}

function spread(name: "var" | "variance" | "std", t: Strided, options: VarOptions): Strided {
  options = readOptions(name, options, "{ axis: 1 }", ["ddof", "correction", ...sumNames]);
  checkAlive(name, t);
  const result = checkOptionalDType(name, options.dtype) ?? floatOf(t.dtype);
  const ddof = freedomOf(name, options);
  const passes = passesOf(name, t, options, result, spreadFolds);
  const count = sizeOf(passes.foldedShape);
  const values = [[count], [Math.max(count - ddof, 0)]];
  return runTwoFolds(name, t, passes, { between: "f64", result, init: 0, values });
}

const spreadFolds: FoldsOf = (name, x, result) => {
  const key = name === "std" ? "rootMean" : "mean";
  return [
    foldOf(programs.sumStep(x), "f64", { ending: endings.mean }, "mean"),
    foldOf(programs.deviationStep(x), result, { ending: endings[key] }, key),
  ];
};

/** Length of vectors along the axes, carried in f64. */
export const norm = (t: Strided, options: NormOptions = {}): Strided =>
  asOne("norm", t, options, (x, read) => lengthOf(x, read));

function lengthOf(t: Strided, options: NormOptions): Strided {
  options = readOptions("norm", options, "{ axis: 1, ord: 1 }", ["ord", ...sumNames]);
  checkAlive("norm", t);
  const result = checkOptionalDType("norm", options.dtype) ?? floatOf(t.dtype);
  const ord = options.ord ?? 2;
  if (ord !== 1 && ord !== 2 && ord !== Number.POSITIVE_INFINITY) {
    fail("value", "norm", `ord is ${describe(ord)}.`, "Use 1, 2 or Infinity.");
  }
  const { isFolded, shape, kept, whole } = passesOf("norm", t, options, result);
  const fold =
    ord === 1 || ord === 2
      ? foldOf(
          programs.powerStep(t.dtype, ord),
          result,
          ord === 2 ? { ending: endings.root } : {},
          `norm ${ord}`,
        )
      : foldOf(programs.largestStep(t.dtype, programs.workingFloat(t.dtype)), result, {}, "norm");
  const { bytes } = dtypes[result];
  const out = allocate("norm", result, shape, whole(bytes));
  return filled(out, () =>
    runFold({ operation: "norm", fold, sources: [t], isFolded, init: 0, out: framed(out, kept(bytes)) }),
  );
}
