/** Folds along axes: any function with a start value, fused with a function of several tensors, and scans. */
import {
  convert,
  type DType,
  dtypes,
  fromScalar,
  isFloat,
  isHalf,
  promote,
  promoteAll,
  toScalar,
  type Value,
} from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import { inlineTemplate, TemplateBuilder } from "../frontend/template.ts";
import { Builder } from "../ir/build.ts";
import type { Evaluator } from "../ir/eval.ts";
import type { Program, Template } from "../ir/node.ts";
import type { Ending } from "../optimize/reduce.ts";
import { foldMisfitOf } from "../optimize/size.ts";
import type { Strided } from "../run/call.ts";
import { type Call, type FoldWork, type Form, fromStart, newId } from "../run/call.ts";
import type { FoldSteps } from "../run/interpret.ts";
import { broadcastViews } from "../view/broadcast.ts";
import { normalizeAxes, normalizeAxis } from "../view/layout.ts";
import { contiguousView, type View } from "../view/view.ts";
import { axisList, changed, checkFlag, checkOptionalDType, readOptions, without } from "./arguments.ts";
import { callChecked, calledIn, dtypeOfResult, elementwise, resultValue } from "./elementwise.ts";
import { execute, perform, planOf } from "./execute.ts";
import { foldOf, foldPlan } from "./fold.ts";
import { Callable, Definition } from "./function.ts";
import { allocate, checkAlive, filled, holding } from "./strided.ts";
import { tellCopy, tellFallback } from "./tell.ts";
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

/* Reduce ---------------------------------------------------------------------------------------------------- */

export interface ReduceExtras {
  /** The dtype to store, where it is not the accumulator's. */
  readonly result?: DType;
  /** What is done with the accumulator at the end; the key stands for it. */
  readonly ending?: { readonly key: string; readonly with: Ending; readonly params: readonly number[] };
  /** What makes the values that are folded of several inputs: the function is fused with it. */
  readonly map?: Callable;
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
  const compute = checkOptionalDType(operation, options.compute);
  const callable = compute === undefined ? plain : plain.computed(compute);
  checkOptionalDType(operation, options.dtype);
  if (callable.definition === null) return callReduce(operation, callable, t, options, extras);
  return reduceBy(operation, callable, [t], options, extras);
}

function reduceBy(
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
    axis === undefined || typeof axis === "number" ? axis : String(axisList(operation, axis)),
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
    const { shape, views } = broadcastViews(
      operation,
      inputs.map((t) => t.frame),
    );
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

/** Fused functions that are better computed in two steps. */
const tooLarge = new WeakSet<Definition>();
const TOO_LARGE = new Error("a fused function is too large");

/** The fallback: calls the function, in C order. */
function callReduce(
  operation: string,
  callable: Callable,
  t: Strided,
  options: ReduceOptions,
  { result }: ReduceExtras,
): Strided {
  const split = splitShape(operation, t.frame.shape, options.axis, options.keepdims ?? false);
  const bound = callFold(operation, callable, t.dtype, options);
  checkNotEmpty(operation, bound.init, split, t.frame.shape);
  const out = allocate(operation, result ?? bound.result, split.shape);
  const kept = contiguousView(split.keptShape, dtypes[out.dtype].bytes);
  return fillCalled("reduce", operation, callable, bound, t, split.isFolded, out, kept);
}

function fillCalled(
  form: "reduce" | "scan",
  operation: string,
  callable: Callable,
  bound: CalledFold,
  t: Strided,
  isFolded: readonly boolean[],
  out: Strided,
  frame: View,
): Strided {
  const e = engine();
  const { dtype, evaluate, init } = bound;
  const work: FoldWork = {
    form,
    fold: null,
    sources: [fromStart(t.frame)],
    dtypes: [t.dtype],
    isFolded,
    out: frame,
    init,
  };
  const steps: FoldSteps = {
    step: evaluate,
    first: ([x]) => convert(x, t.dtype, dtype),
    finish: ([acc]) => convert(acc, dtype, out.dtype),
  };
  const prepared = e.interpreter.prepareFold(work, "function", init, () => steps);
  const plan = planOf(work, prepared, { dtype: out.dtype, frame, params: [], told: callable.fn, names: [] });
  const call = { operation, what: callable, facts: [], inputs: [t], out, values: [] };
  return filled(out, () => holding([t], () => perform(e, call, plan, out, [], null)));
}

/** x as another dtype. */
function conversion(from: DType, to: DType): Program {
  const b = new Builder();
  return b.finish(b.cast(to, b.input(0, from)), [from]);
}

/** A fold of nothing has no value, even where no value is asked for. */
export function checkNotEmpty(
  operation: string,
  init: Value | null,
  split: Split,
  shape: readonly number[],
): void {
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

/* Map and reduce, fused --------------------------------------------------------------------------------------- */

export type NamedFold = "sum" | "prod" | "max" | "min";

export interface MapReduceOptions extends ReduceOptions {
  /** What folds the mapped values. Default "sum". A function keeps the order of the elements. */
  readonly reduce?: NamedFold | Callable;
}

const namedFolds = {
  sum: { op: "add", init: 0 },
  prod: { op: "mul", init: 1 },
  max: { op: "max", init: null },
  min: { op: "min", init: null },
} as const;

/** Sums and products of integers narrower than 64 bits are 64-bit, as NumPy's. */
export const wideDType = (d: DType): DType => (isFloat(d) ? d : dtypes[d].kind === "uint" ? "u64" : "i64");

/** The fold of map(x0, x1, …) over tensors that broadcast together: no tensor is made in between. */
export function mapReduce(
  operation: string,
  tensors: readonly Strided[],
  plain: Callable,
  given: MapReduceOptions = {},
): Strided {
  if (!Array.isArray(tensors) || tensors.length === 0) {
    fail(
      "value",
      operation,
      Array.isArray(tensors) ? "no tensors." : `expected an array of tensors, got ${describe(tensors)}.`,
      "Give at least one.",
    );
  }
  const all = readOptions(operation, given, '{ reduce: "sum", axis: 1 }', ["reduce", ...reduceNames]);
  const { compute } = all;
  const options = without(all, "compute");
  for (const t of tensors) checkAlive(operation, t);
  checkOptionalDType(operation, options.dtype);
  const map = checkOptionalDType(operation, compute) === undefined ? plain : plain.computed(compute!);
  const how = options.reduce ?? "sum";
  if (!(how instanceof Callable) && !(typeof how === "string" && Object.hasOwn(namedFolds, how))) {
    fail(
      "value",
      operation,
      `reduce is ${describe(how)}.`,
      'Use "sum", "prod", "max", "min" or a function (acc, x) => ….',
    );
  }
  const wants = map.template?.inputs;
  if (wants !== undefined && wants !== tensors.length) {
    fail(
      "kernel",
      operation,
      `the function takes ${wants} ${wants === 1 ? "value" : "values"}, got ${tensors.length} ${tensors.length === 1 ? "tensor" : "tensors"}.`,
      "Give one tensor for each parameter.",
    );
  }
  return (
    fusedReduce(operation, tensors, map, how, options) ??
    plainReduce(operation, tensors, map, how, options, compute)
  );
}

/** null: the two cannot be one. */
function fusedReduce(
  operation: string,
  tensors: readonly Strided[],
  map: Callable,
  how: NamedFold | Callable,
  options: ReduceOptions,
): Strided | null {
  if (map.definition === null) return null;
  const named = typeof how === "string";
  const mapped = named ? map.program(tensors.map((t) => t.dtype))!.dtype : null;
  const fused = fuse(map, how, mapped === null ? null : conversionOf(how, mapped, options));
  if (fused === null || tooLarge.has(fused.definition!)) return null;
  const full = mapped === null ? options : foldOptions(how, mapped, options);
  const { result } = full as { readonly result?: DType };
  const extras = { map, ...(result === undefined ? {} : { result }) };
  try {
    return reduceBy(operation, fused, tensors, full, extras);
  } catch (error) {
    if (error !== TOO_LARGE) throw error;
    return null;
  }
}

/** The same in two steps, where one of the functions cannot be compiled. */
function plainReduce(
  operation: string,
  tensors: readonly Strided[],
  map: Callable,
  how: NamedFold | Callable,
  options: ReduceOptions,
  compute: DType | undefined,
): Strided {
  const mapped = elementwise(operation, map, tensors, null, undefined, compute);
  try {
    const why = "map and reduce could not be fused, so the mapped values are stored first";
    tellCopy(operation, mapped.storage.bytes, why);
    const full = foldOptions(how, mapped.dtype, options);
    const { result } = full;
    const plan = without(full as MapReduceOptions & typeof full, "result", "reduce");
    const converted = conversionOf(how, mapped.dtype, options);
    const callable = typeof how === "string" ? foldTemplate(how, converted) : how;
    return reduce(operation, callable, mapped, plan, result === undefined ? {} : { result });
  } finally {
    mapped.storage.release();
  }
}

/** Options with what a named fold starts from, the dtype it is carried in, and the one it is stored in. */
function foldOptions(
  how: NamedFold | Callable,
  element: DType,
  options: ReduceOptions,
): ReduceOptions & { readonly result?: DType } {
  if (typeof how !== "string") return options;
  const { init } = namedFolds[how];
  const result = options.dtype ?? (init === null ? element : wideDType(element));
  const carry = isFloat(result) && init !== null ? "f64" : result;
  return changed(options, { init: options.init ?? init ?? undefined, dtype: carry, result });
}

/**
 * As NumPy, floats that are summed as integers are converted first, one by one; so are integers that meet the dtype asked
 * for in floats only (signed ones and u64), whatever the named fold.
 */
export function conversionOf(
  how: NamedFold | Callable,
  element: DType,
  { dtype }: ReduceOptions,
): DType | null {
  if (typeof how !== "string" || dtype === undefined || isFloat(dtype)) return null;
  if (isFloat(element)) return how === "sum" || how === "prod" ? dtype : null;
  return isFloat(promoteAll([element, dtype])) ? dtype : null;
}

const foldTemplates = new Map<string, Callable>();

function foldTemplate(how: NamedFold, converted: DType | null): Callable {
  const key = `${how} ${converted}`;
  let callable = foldTemplates.get(key);
  if (callable === undefined) {
    const t = new TemplateBuilder();
    const x = converted === null ? t.input(1) : t.cast(converted, t.input(1));
    const result = t.op(namedFolds[how].op, [t.input(0), x]);
    callable = new Callable(new Definition(t.finish(result, { inputs: 2, name: how })));
    foldTemplates.set(key, callable);
  }
  return callable;
}

const fusions = new WeakMap<Definition, WeakMap<Definition, Definition>>();

/** (acc, x0, x1, …) => fold(acc, map(x0, x1, …)); null if one of the two has no template. */
function fuse(map: Callable, how: NamedFold | Callable, converted: DType | null): Callable | null {
  const fold = typeof how === "string" ? foldTemplate(how, converted) : how;
  if (map.definition === null || fold.definition === null || fold.template!.inputs !== 2) return null;
  let known = fusions.get(map.definition);
  if (known === undefined) {
    known = new WeakMap();
    fusions.set(map.definition, known);
  }
  let fused = known.get(fold.definition);
  if (fused === undefined) {
    fused = new Definition(fuseTemplates(map.template!, fold.template!));
    known.set(fold.definition, fused);
  }
  return new Callable(fused, {
    values: [...map.values, ...fold.values],
    tables: [...map.tables, ...fold.tables],
  });
}

function fuseTemplates(map: Template, fold: Template): Template {
  const b = new TemplateBuilder();
  const args = Array.from({ length: map.inputs }, (_, i) => b.input(i + 1));
  const params = [...map.params, ...fold.params];
  const ids = params.map((_, i) => b.param(i));
  const into = { guard: null, effects: [] as number[] };
  const x = inlineTemplate(b, map, args, ids.slice(0, map.params.length), undefined, into);
  const result = inlineTemplate(b, fold, [b.input(0), x], ids.slice(map.params.length), undefined, into);
  return b.finish(result, {
    effects: into.effects,
    inputs: args.length + 1,
    params: params.map((name, i) => `${name}#${i}`),
    source: map.source,
    name: map.name,
  });
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
  const compute = checkOptionalDType(operation, options.compute);
  const callable = compute === undefined ? plain : plain.computed(compute);
  const { definition: what } = callable;
  if (what === null) return callScan(operation, callable, inputs[0], options);
  const values = callable.valuesFor(operation);
  const facts = [...callable.facts, axis, init, dtype, compute];
  return execute(scanForm, { operation, what, facts, inputs, out: null, values, callable, options });
}

const scanForm: Form<ScanCall> = {
  id: newId(),
  guards: "nothing",
  plan({ operation, callable, inputs, options }) {
    const types = inputs.map((t) => t.dtype);
    const { shape, views } = broadcastViews(
      operation,
      inputs.map((t) => t.frame),
    );
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
  const bound = callFold(operation, callable, t.dtype, options);
  const out = allocate(operation, bound.result, t.frame.shape);
  return fillCalled("scan", operation, callable, bound, t, isFolded, out, out.frame);
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
 * widens until f(acc, x) gives back what it takes.
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
      `the function takes ${takes} ${takes === 1 ? "value" : "values"}.`,
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
    dtype = wide;
  }
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

/** A fold whose function is called. */
interface CalledFold {
  /** The accumulator's, and what is stored of it. */
  readonly dtype: DType;
  readonly result: DType;
  readonly evaluate: Evaluator;
  readonly init: Value | null;
}

/** The fallback: the accumulator starts as `init`, or as an element, and has the dtype of what comes back. */
function callFold(operation: string, callable: Callable, element: DType, options: ReduceOptions): CalledFold {
  tellFallback(operation, () => refusalMessage(operation, callable.refusal!));
  const working = calledIn(operation, callable, [element], options.compute);
  warnCalled(operation, callable);
  const fn = callable.fn as (...args: unknown[]) => unknown;
  const result = options.dtype ?? dtypeOfResult(operation, options.init ?? 0, working);
  // As in compiled folds, halves are rounded once, at the end.
  const dtype = isHalf(result) ? "f32" : result;
  const evaluate: Evaluator = (values) => {
    const args = [toScalar(values[0], dtype), convert(values[1], element, working)];
    return resultValue(operation, callChecked(operation, fn, args), dtype);
  };
  return { dtype, result, evaluate, init: initValue(operation, options.init, dtype) };
}
