/** Folds along axes with any function, from a start value or the first element; and scans, which keep every step. */
import {
  convert,
  type DType,
  dtypes,
  fromScalar,
  isFloat,
  isHalf,
  promote,
  toScalar,
  type Value,
} from "../dtype.ts";
import { engine } from "../engine.ts";
import { counted, fail, list } from "../errors.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import { Builder } from "../ir/build.ts";
import type { Evaluator } from "../ir/eval.ts";
import type { Program } from "../ir/node.ts";
import type { Ending } from "../optimize/reduce.ts";
import { foldMisfitOf } from "../optimize/size.ts";
import type { Strided } from "../run/call.ts";
import { type Call, type FoldWork, type Form, fromStart, newId } from "../run/call.ts";
import type { FoldSteps } from "../run/interpret.ts";
import { normalizeAxes, normalizeAxis } from "../view/layout.ts";
import { contiguousView, type View } from "../view/view.ts";
import { axisList, changed, checkFlag, checkOptionalDType, readOptions } from "./arguments.ts";
import { callChecked, calledIn, dtypeOfResult, performCalled, resultValue } from "./elementwise.ts";
import { execute } from "./execute.ts";
import { foldOf, foldPlan } from "./fold.ts";
import type { Callable, Definition } from "./function.ts";
import { allocate, checkAlive, commonViews, filled, holding } from "./strided.ts";
import { tellFallback } from "./tell.ts";
import { warnCalled } from "./warn.ts";

/** The options of folds with a function. */
export interface ReduceOptions {
  /** The axis or axes to fold; negative ones count from the end. Default: all. */
  readonly axis?: number | readonly number[] | undefined;
  /** Where the fold starts. Default: the first element. */
  readonly init?: number | bigint | boolean | undefined;
  /** Folded axes stay, with size 1. */
  readonly keepdims?: boolean | undefined;
  /** dtype of the accumulator and of the result. */
  readonly dtype?: DType | undefined;
  /** Elements are converted to it first: the function computes in it, called or compiled. */
  readonly compute?: DType | undefined;
}

export const reduceNames = ["axis", "init", "keepdims", "dtype", "compute"] as const;

/** The options of `scan`. */
export interface ScanOptions {
  /** The axis to walk; a vector need not say. */
  readonly axis?: number;
  /** Where the fold starts. Default: the first element. */
  readonly init?: number | bigint | boolean;
  /** dtype of the accumulator and of the result. */
  readonly dtype?: DType;
  /** Elements are converted to it first: the function computes in it, called or compiled. */
  readonly compute?: DType | undefined;
}

/** Which axes are folded, and the shapes that come of it. */
export interface Split {
  readonly isFolded: readonly boolean[];
  readonly keptShape: readonly number[];
  readonly foldedShape: readonly number[];
  /** The result's: keptShape, or with 1 for the folded axes. */
  readonly shape: readonly number[];
}

export function splitShape(
  operation: string,
  shape: readonly number[],
  axis: ReduceOptions["axis"],
  keepdims: boolean,
): Split {
  checkFlag(operation, "keepdims", keepdims);
  const isFolded = new Array<boolean>(shape.length).fill(axis === undefined);
  if (axis !== undefined) {
    for (const d of normalizeAxes(operation, axisList(operation, axis), shape.length)) isFolded[d] = true;
  }
  const keptShape = shape.filter((_, d) => !isFolded[d]);
  return {
    isFolded,
    keptShape,
    foldedShape: shape.filter((_, d) => isFolded[d]),
    shape: keepdims ? shape.map((n, d) => (isFolded[d] ? 1 : n)) : keptShape,
  };
}

/** What a plan knows the axes by. */
export const axisFact = (operation: string, axis: ReduceOptions["axis"]): number | string | undefined =>
  axis === undefined || typeof axis === "number" ? axis : String(axisList(operation, axis));

/* Reduce ---------------------------------------------------------------------------------------------------- */

export interface ReduceExtras {
  /** The dtype to store, where it is not the accumulator's. */
  readonly result?: DType;
  /** What is done with the accumulator at the end; the key stands for it. */
  readonly ending?: { readonly key: string; readonly with: Ending; readonly params: readonly number[] };
  /** What makes the values that are folded of several inputs: the function is fused with it. */
  readonly map?: Callable;
  /** With `map`: the fold alone. */
  readonly fold?: Callable;
}

interface ReduceCall extends Call {
  readonly callable: Callable;
  readonly options: ReduceOptions;
  readonly extras: ReduceExtras;
}

/** The options are plain: what is not given is undefined, whatever all objects may have. */
export function reduce(
  operation: string,
  plain: Callable,
  t: Strided,
  options: ReduceOptions,
  extras: ReduceExtras = {},
): Strided {
  checkAlive(operation, t);
  const callable = computing(operation, plain, [t], options);
  checkOptionalDType(operation, options.dtype);
  if (callable.definition === null) return callReduce(operation, callable, t, options, extras);
  return reduceBy(operation, callable, [t], options, extras);
}

/** A function that has a definition; of several inputs, it is fused with what makes its elements of them (`map`). */
export function reduceBy(
  operation: string,
  callable: Callable,
  inputs: readonly Strided[],
  options: ReduceOptions,
  extras: ReduceExtras,
): Strided {
  const { axis, keepdims, dtype, init, compute } = options;
  const { result, ending, map } = extras;
  const what = callable.definition!;
  const facts = [
    ...callable.facts,
    axisFact(operation, axis),
    keepdims ?? false,
    dtype,
    init,
    compute,
    result,
    ending?.key,
    map?.definition,
  ];
  const more = ending?.params ?? map?.valuesFor(operation);
  const own = callable.valuesFor(operation);
  const values = more === undefined ? own : [...own, ...more];
  const call = { operation, what, facts, inputs, out: null, values, callable, options, extras };
  return execute(reduceForm, call);
}

const reduceForm: Form<ReduceCall> = {
  id: newId(),
  guards: "nothing",
  plan({ operation, callable, inputs, options, extras }) {
    const types = inputs.map((t) => t.dtype);
    const { compute } = options;
    const { ending, map } = extras;
    const mapped = map?.program(types) ?? null;
    const { shape, views } = commonViews(operation, inputs);
    const split = splitShape(operation, shape, options.axis, options.keepdims ?? false);
    const bound = bindFold(operation, callable, types, mapped?.dtype ?? compute ?? types[0], options);
    checkNotEmpty(operation, bound.init, split, shape);
    const startless = bound.init === null;
    const first = mapped ?? (compute === undefined ? undefined : conversion(types[0], compute));
    const making = {
      startless,
      ...(ending ? { ending: ending.with } : {}),
      ...(first === undefined ? {} : { first }),
    };
    const key = `${ending?.key ?? ""}${startless ? " first" : ""}${mapped === null ? (compute ?? "") : "mapped"}`;
    const result = extras.result ?? bound.dtype;
    const fold = foldOf(bound.program, result, making, key);
    if (map !== undefined && foldMisfitOf(fold) !== null) {
      tooLarge.add(callable.definition!);
      throw TOO_LARGE;
    }
    const { bytes } = dtypes[result];
    const out = contiguousView(split.keptShape, bytes);
    const { template } = callable.definition!;
    const told = map === undefined ? template : null;
    const sources = views.map(fromStart);
    const { isFolded } = split;
    const plan = foldPlan("reduce", fold, sources, types, isFolded, out, bound.init, told, template.params);
    return { ...plan, frame: contiguousView(split.shape, bytes) };
  },
};

/** Fused functions that are better computed in two steps; what is thrown where one turns out to be. */
const tooLarge = new WeakSet<Definition>();
export const isTooLarge = ({ definition }: Callable): boolean => tooLarge.has(definition!);
export const TOO_LARGE = new Error("a fused function is too large");

/** The fallback: calls the function, in C order. */
function callReduce(
  operation: string,
  callable: Callable,
  t: Strided,
  options: ReduceOptions,
  { result }: ReduceExtras,
): Strided {
  const split = splitShape(operation, t.frame.shape, options.axis, options.keepdims ?? false);
  return callFold("reduce", operation, callable, t, split.isFolded, options, (made, init) => {
    checkNotEmpty(operation, init, split, t.frame.shape);
    const out = allocate(operation, result ?? made, split.shape);
    return [out, contiguousView(split.keptShape, dtypes[out.dtype].bytes)];
  });
}

/** x as another dtype. */
function conversion(from: DType, to: DType): Program {
  const b = new Builder();
  return b.finish(b.cast(to, b.input(0, from)), [from]);
}

/** A fold of nothing has no value, even where no value is asked for. */
function checkNotEmpty(operation: string, init: Value | null, split: Split, shape: readonly number[]): void {
  if (init !== null || !split.foldedShape.includes(0)) return;
  fail(
    "shape",
    operation,
    `nothing to fold: the tensor is ${list(shape)} and there is no start value.`,
    operation === "reduce" || operation === "mapReduce"
      ? "Give one: { init: 0 }."
      : "Fold axes that have elements.",
  );
}

/* Scan ------------------------------------------------------------------------------------------------------- */

export const scanNames = ["axis", "init", "dtype", "compute"] as const;

interface ScanCall extends Call {
  readonly callable: Callable;
  readonly options: ScanOptions;
}

/** Every step of a fold along one axis: of one tensor, or of several that broadcast together. */
export function scan(
  operation: string,
  plain: Callable,
  inputs: readonly Strided[],
  given: ScanOptions = {},
): Strided {
  const options = readOptions(operation, given, "{ axis: 1 }", scanNames);
  for (const t of inputs) checkAlive(operation, t);
  const { axis, init } = options;
  const dtype = checkOptionalDType(operation, options.dtype);
  const callable = computing(operation, plain, inputs, options);
  const { definition: what } = callable;
  if (what === null) return callScan(operation, callable, inputs[0], options);
  const values = callable.valuesFor(operation);
  const facts = [...callable.facts, axis, init, dtype, options.compute];
  return execute(scanForm, { operation, what, facts, inputs, out: null, values, callable, options });
}

const scanForm: Form<ScanCall> = {
  id: newId(),
  guards: "nothing",
  plan({ operation, callable, inputs, options }) {
    const types = inputs.map((t) => t.dtype);
    const { shape, views } = commonViews(operation, inputs);
    const isFolded = scannedAxis(operation, shape, options.axis);
    const bound = bindFold(operation, callable, types, options.compute ?? types[0], options);
    const fold = foldOf(bound.program, bound.dtype, { ordered: true }, "scan");
    const out = contiguousView(shape, dtypes[bound.dtype].bytes);
    const sources = views.map(fromStart);
    const told = callable.template!;
    return foldPlan("scan", fold, sources, types, isFolded, out, bound.init, told, told.params);
  },
};

function callScan(operation: string, callable: Callable, t: Strided, options: ScanOptions): Strided {
  const isFolded = scannedAxis(operation, t.frame.shape, options.axis);
  return callFold("scan", operation, callable, t, isFolded, options, (dtype) => {
    const out = allocate(operation, dtype, t.frame.shape);
    return [out, out.frame];
  });
}

/** One axis, by itself. */
function scannedAxis(operation: string, { length }: readonly number[], axis: unknown): boolean[] {
  if (length === 0) fail("axis", operation, "a 0-d tensor has no axis to scan.", "Reshape it to [1] first.");
  if (axis === undefined && length > 1) {
    fail("axis", operation, `the tensor has ${length} axes.`, "Say which one to scan: { axis: 0 }.");
  }
  const scanned = normalizeAxis(operation, (axis ?? 0) as number, length);
  return Array.from({ length }, (_, d) => d === scanned);
}

/* Binding ------------------------------------------------------------------------------------------------------ */

interface BoundFold {
  /** The accumulator's. */
  readonly dtype: DType;
  /** [acc, x0, x1, …] → acc */
  readonly program: Program;
  readonly init: Value | null;
}

/**
 * The accumulator's dtype is the fixed point of the function: it starts as the elements' (or what `init` needs) and
 * widens until f(acc, x) gives back what it takes. A boolean that it starts from stays one if the function makes booleans of
 * booleans; otherwise it counts as 1 or 0.
 */
function bindFold(
  operation: string,
  callable: Callable,
  inputs: readonly DType[],
  element: DType,
  options: ReduceOptions,
): BoundFold {
  const takes = callable.template!.inputs;
  if (takes !== inputs.length + 1) {
    fail(
      "kernel",
      operation,
      `the function takes ${counted(takes, "value")}.`,
      "A fold takes two: (acc, x) => ….",
    );
  }
  let dtype = options.dtype ?? startDType(element, options.init);
  for (let round = 0; ; round++) {
    const types = [dtype, ...inputs];
    const own = callable.program(types, options.dtype)!;
    // It never narrows: what the fold starts with must fit as well.
    const wide = promote(dtype, own.dtype);
    if (wide === dtype) {
      const program = own.dtype === dtype ? own : callable.program(types, dtype)!;
      return { dtype, program, init: initValue(operation, options.init, dtype) };
    }
    if (round === 4) {
      fail(
        "dtype",
        operation,
        `the accumulator's dtype does not settle: ${dtype}, then ${wide}.`,
        "Choose it: { dtype }.",
      );
    }
    dtype = dtype === "bool" && isFloat(element) ? element : wide;
  }
}

/** The function with its elements as what it computes in; the accumulator too, unless it is a boolean and stays one. */
function computing(
  operation: string,
  plain: Callable,
  inputs: readonly Strided[],
  { init, dtype, compute }: Pick<ReduceOptions, "init" | "dtype" | "compute">,
): Callable {
  checkOptionalDType(operation, compute);
  const isStart = compute !== undefined && typeof init === "boolean" && dtype === undefined;
  if (isStart && plain.template?.inputs === inputs.length + 1) {
    const own = plain.computed(compute, 1);
    if (own.program(["bool", ...inputs.map((t) => t.dtype)])!.dtype === "bool") return own;
  }
  return plain.computed(compute);
}

function startDType(element: DType, init: ReduceOptions["init"]): DType {
  if (typeof init === "boolean") return "bool";
  if (typeof init === "number") {
    if (element === "bool") return Number.isInteger(init) ? "i32" : "f64";
    if (!isFloat(element) && !Number.isInteger(init)) return "f64";
  }
  return element;
}

function initValue(operation: string, init: ReduceOptions["init"], dtype: DType): Value | null {
  if (init === undefined) return null;
  if (typeof init !== "boolean" && !isFloat(dtype) && dtype !== "bool") {
    const { min, max } = dtypes[dtype];
    const isWhole = typeof init === "bigint" || Number.isInteger(init);
    if (!isWhole || BigInt(init) < BigInt(min) || BigInt(init) > BigInt(max)) {
      fail(
        "dtype",
        operation,
        `init is ${init}, which does not fit the accumulator's ${dtype}.`,
        'Choose a wider one: { dtype: "f64" }.',
      );
    }
  }
  if (typeof init === "bigint" && !dtypes[dtype].big) return convert(init, "i64", dtype);
  return fromScalar(operation, init, dtype);
}

/* Functions that are called -------------------------------------------------------------------------------------- */

/** Where the result of a fold goes, for the dtype and the start value that it has. */
type Placing = (dtype: DType, init: Value | null) => readonly [out: Strided, frame: View];

/**
 * The fallback: the accumulator starts as `init`, or as an element, and has the dtype of what comes back. If a number comes
 * back of a boolean that it started from, it begins again: the boolean counts as 1 or 0.
 */
function callFold(
  form: "reduce" | "scan",
  operation: string,
  callable: Callable,
  t: Strided,
  isFolded: readonly boolean[],
  options: ReduceOptions,
  place: Placing,
): Strided {
  tellFallback(operation, () => refusalMessage(operation, callable.refusal!));
  const working = calledIn(operation, callable, [t.dtype], options.compute);
  warnCalled(operation, callable);
  const fold = (init: ReduceOptions["init"]) =>
    foldCalled(form, operation, callable, t, isFolded, working, changed(options, { init }), place);
  const { init } = options;
  try {
    return fold(init);
  } catch (error) {
    if (error !== NUMBERS) throw error;
    return fold(Number(init));
  }
}

/** A fold that started from a boolean is one of numbers. */
const NUMBERS = new Error("a fold of numbers");

function foldCalled(
  form: "reduce" | "scan",
  operation: string,
  callable: Callable,
  t: Strided,
  isFolded: readonly boolean[],
  working: DType,
  options: Pick<ReduceOptions, "init" | "dtype">,
  place: Placing,
): Strided {
  const fn = callable.fn as (...args: unknown[]) => unknown;
  const result = options.dtype ?? dtypeOfResult(operation, options.init ?? 0, working);
  // As in compiled folds, halves are rounded once, at the end.
  const dtype = isHalf(result) ? "f32" : result;
  const init = initValue(operation, options.init, dtype);
  const step: Evaluator = (values) => {
    const args = [toScalar(values[0], dtype), convert(values[1], t.dtype, working)];
    const returned = callChecked(operation, fn, args);
    if (typeof returned === "number" && dtype === "bool" && options.dtype === undefined) throw NUMBERS;
    return resultValue(operation, returned, dtype);
  };
  const [out, frame] = place(result, init);
  const steps: FoldSteps = {
    step,
    first: ([x]) => convert(x, t.dtype, dtype),
    finish: ([acc]) => convert(acc, dtype, out.dtype),
  };
  const sources = [fromStart(t.frame)];
  const work: FoldWork = { form, fold: null, sources, dtypes: [t.dtype], isFolded, out: frame, init };
  const prepared = engine().interpreter.prepareFold(work, "function", init, () => steps);
  return filled(out, () => holding([t], () => performCalled(operation, callable, work, prepared, [t], out)));
}
