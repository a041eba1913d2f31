/** Folds along axes: any function with a start value, and scans that keep every step. */
import { convert, type DType, dtypes, fromScalar, isFloat, toScalar, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { paramValue } from "../frontend/infer.ts";
import { type Evaluator, evaluator } from "../ir/eval.ts";
import { interpretReduce, interpretScan } from "../run/interpret.ts";
import { normalizeAxes, normalizeAxis } from "../view/layout.ts";
import { planLoops } from "../view/loops.ts";
import { contiguousView, type View } from "../view/view.ts";
import { axisList, checkOptionalDType, checkOptions } from "./arguments.ts";
import { dtypeOfResult, resultValue } from "./elementwise.ts";
import type { Callable } from "./function.ts";
import { absolute, allocate, checkAlive, filled, type Strided } from "./strided.ts";

export interface ReduceOptions {
  /** The axis or axes to fold; negative ones count from the end. Default: all. */
  readonly axis?: number | readonly number[];
  /** Where the fold starts. Default: the first element. */
  readonly init?: number | bigint | boolean;
  /** Folded axes stay, with size 1. */
  readonly keepdims?: boolean;
  /** dtype of the accumulator and of the result. */
  readonly dtype?: DType;
}

export interface ScanOptions {
  readonly axis?: number;
  readonly init?: number | bigint | boolean;
  readonly dtype?: DType;
}

/** The axes that stay and those that are folded, as views of the input, and the result's shape. */
export function splitAxes(operation: string, view: View, axis: ReduceOptions["axis"], keepdims: boolean) {
  const rank = view.shape.length;
  const axes =
    axis === undefined
      ? view.shape.map((_, d) => d)
      : normalizeAxes(operation, axisList(operation, axis), rank);
  const isFolded = new Set(axes);
  const pick = (folded: boolean): View => {
    const which = view.shape.map((_, d) => d).filter((d) => isFolded.has(d) === folded);
    return { ...view, shape: which.map((d) => view.shape[d]), strides: which.map((d) => view.strides[d]) };
  };
  const kept = pick(false);
  const folded = pick(true);
  const shape = keepdims ? view.shape.map((n, d) => (isFolded.has(d) ? 1 : n)) : kept.shape;
  return { kept, folded, shape };
}

/** `result` is the dtype to store, where it is not the accumulator's. */
export function reduce(
  operation: string,
  callable: Callable,
  t: Strided,
  options: ReduceOptions = {},
  result?: DType,
): Strided {
  checkAlive(operation, t);
  checkOptions(operation, options, "{ axis: 1 }");
  checkOptionalDType(operation, options.dtype);
  const { kept, folded, shape } = splitAxes(operation, t.frame, options.axis, options.keepdims ?? false);
  const fold = bindFold(operation, callable, t, options);
  if (fold.init === null && folded.shape.includes(0) && !kept.shape.includes(0))
    failEmpty(operation, t.frame);
  const dtype = result ?? fold.dtype;
  const out = allocate(operation, dtype, shape);
  const outKept = contiguousView(kept.shape, dtypes[dtype].bytes);
  const keptNest = absolute(planLoops([outKept, kept]), [out, t]);
  const foldedNest = planLoops([folded], { keepOrder: true });
  const e = engine();
  e.listener?.({
    kind: "kernel",
    operation,
    backend: "interpreter",
    detail: { kept: keptNest, folded: foldedNest },
  });
  return filled(out, () =>
    interpretReduce(
      e.heap.view,
      keptNest,
      foldedNest,
      [dtype, t.dtype],
      fold.evaluate,
      fold.dtype,
      fold.init,
    ),
  );
}

export function scan(operation: string, callable: Callable, t: Strided, options: ScanOptions = {}): Strided {
  checkAlive(operation, t);
  checkOptions(operation, options, "{ axis: 1 }");
  checkOptionalDType(operation, options.dtype);
  const rank = t.frame.shape.length;
  if (rank === 0) fail("axis", operation, "a 0-d tensor has no axis to scan.", "Reshape it to [1] first.");
  if (options.axis === undefined && rank > 1) {
    fail("axis", operation, `the tensor has ${rank} axes.`, "Say which one to scan: { axis: 0 }.");
  }
  const axis = normalizeAxis(operation, options.axis ?? 0, rank);
  const fold = bindFold(operation, callable, t, options);
  const out = allocate(operation, fold.dtype, t.frame.shape);
  const drop = (v: View): View => ({
    ...v,
    shape: v.shape.filter((_, d) => d !== axis),
    strides: v.strides.filter((_, d) => d !== axis),
  });
  const nest = absolute(planLoops([drop(out.frame), drop(t.frame)]), [out, t]);
  const steps = [out.frame.strides[axis], t.frame.strides[axis]] as const;
  const e = engine();
  e.listener?.({ kind: "kernel", operation, backend: "interpreter", detail: { kept: nest } });
  const size = t.frame.shape[axis];
  return filled(out, () =>
    interpretScan(
      e.heap.view,
      nest,
      size,
      steps,
      [fold.dtype, t.dtype],
      fold.evaluate,
      fold.dtype,
      fold.init,
    ),
  );
}

interface Fold {
  readonly dtype: DType;
  readonly evaluate: Evaluator;
  readonly init: Value | null;
}

/**
 * The accumulator's dtype is the fixed point of the function: it starts as the elements' (or what `init` needs) and
 * widens until f(acc, x) gives back what it takes.
 */
function bindFold(operation: string, callable: Callable, t: Strided, options: ReduceOptions): Fold {
  if (callable.template === null) return callFold(operation, callable, t, options);
  if (callable.template.inputs !== 2) {
    fail(
      "kernel",
      operation,
      `the function takes ${callable.template.inputs} ${callable.template.inputs === 1 ? "value" : "values"}.`,
      "A fold takes two: (acc, x) => ….",
    );
  }
  let dtype = options.dtype ?? startDType(t.dtype, options.init);
  for (let round = 0; ; round++) {
    const program = callable.program([dtype, t.dtype], options.dtype)!;
    if (program.dtype === dtype) {
      const values = callable.values.map((v, i) => paramValue(v, program.params[i]));
      return { dtype, evaluate: evaluator(program, values), init: initValue(operation, options.init, dtype) };
    }
    if (round === 4) {
      fail(
        "dtype",
        operation,
        `the accumulator's dtype does not settle: ${dtype}, then ${program.dtype}.`,
        "Choose it: { dtype }.",
      );
    }
    dtype = program.dtype;
  }
}

function startDType(element: DType, init: ReduceOptions["init"]): DType {
  if (typeof init === "number") {
    if (element === "bool") return Number.isInteger(init) ? "i32" : "f64";
    if (!isFloat(element) && !Number.isInteger(init)) return "f64";
  }
  return element;
}

function initValue(operation: string, init: ReduceOptions["init"], dtype: DType): Value | null {
  if (init === undefined) return null;
  if (typeof init === "bigint" && !dtypes[dtype].big) return convert(init, "i64", dtype);
  return fromScalar(operation, init, dtype);
}

/** The fallback: the accumulator starts as `init`, or as an element, and has the dtype of what comes back. */
function callFold(operation: string, callable: Callable, t: Strided, options: ReduceOptions): Fold {
  const fn = callable.fn as (acc: unknown, x: unknown) => unknown;
  const kind = options.init ?? (dtypes[t.dtype].big ? 0n : 0);
  const dtype = options.dtype ?? dtypeOfResult(operation, kind, t.dtype);
  const evaluate: Evaluator = (values) =>
    resultValue(operation, fn(toScalar(values[0], dtype), toScalar(values[1], t.dtype)), dtype);
  return { dtype, evaluate, init: initValue(operation, options.init, dtype) };
}

function failEmpty(operation: string, view: View): never {
  return fail(
    "shape",
    operation,
    `nothing to fold: the tensor is ${list(view.shape)} and there is no start value.`,
    operation === "reduce" ? "Give one: { init: 0 }." : "Fold axes that have elements.",
  );
}
