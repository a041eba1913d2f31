/** Folds along axes: any function with a start value, fused with a function of several tensors, and scans. */
import {
  convert,
  type DType,
  dtypes,
  fromScalar,
  isFloat,
  promoteAll,
  toScalar,
  type Value,
} from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { paramValue } from "../frontend/infer.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import { inlineTemplate, TemplateBuilder } from "../frontend/template.ts";
import { Builder } from "../ir/build.ts";
import { type Evaluator, evaluator } from "../ir/eval.ts";
import type { Program } from "../ir/node.ts";
import { createStorage } from "../memory/storage.ts";
import type { Ending } from "../optimize/reduce.ts";
import { axesOf } from "../optimize/reduce-plan.ts";
import { interpretReduce, interpretScan } from "../run/interpret.ts";
import { isEmpty } from "../run/odometer.ts";
import { canCompile } from "../run/reduce-lower.ts";
import { type FoldParams, noParams } from "../run/reduce-tasks.ts";
import { broadcastViews } from "../view/broadcast.ts";
import { normalizeAxes, normalizeAxis, sizeOf } from "../view/layout.ts";
import { planLoops } from "../view/loops.ts";
import { contiguousView } from "../view/view.ts";
import { axisList, changed, checkFlag, checkOptionalDType, readOptions, without } from "./arguments.ts";
import { sameStrides } from "./copy.ts";
import {
  callChecked,
  calledIn,
  dtypeOfResult,
  elementwise,
  resultValue,
  sourceOf,
  valuesOf,
} from "./elementwise.ts";
import { foldOf, foldRunner, pick, type RanFold, runFold } from "./fold.ts";
import { Callable, type FoldCall } from "./function.ts";
import { tellLargeFold } from "./limits.ts";
import { absolute, allocate, checkAlive, filled, holding, type Strided } from "./strided.ts";

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

export interface ScanOptions {
  readonly axis?: number;
  readonly init?: number | bigint | boolean;
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
  /** What is done with the accumulator at the end. It follows from the operation, the shape and the axis: see isSameFold. */
  readonly ending?: { readonly key: string; readonly with: Ending; readonly params: readonly Value[] };
  /** What elements are converted to before anything else. */
  readonly compute?: DType | undefined;
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
  const known = callable.folds.get(operation);
  if (known !== undefined && isSameFold(known, t, options, extras)) return foldAgain(operation, known, t);
  checkOptionalDType(operation, options.dtype);
  const split = splitShape(operation, t.frame.shape, options.axis, options.keepdims ?? false);
  const bound = bindFold(operation, callable, [t.dtype], compute ?? t.dtype, options);
  checkNotEmpty(operation, bound.init, split, t.frame.shape);
  const out = allocate(operation, extras.result ?? bound.result ?? bound.dtype, split.shape);
  return filled(out, () => {
    const ran = fillReduce(operation, sourceOf(callable), bound, t, split, out, { ...extras, compute });
    if (ran !== null) remember(operation, callable, t, options, extras, out, ran);
  });
}

function isSameFold(call: FoldCall, t: Strided, options: ReduceOptions, extras: ReduceExtras): boolean {
  const e = engine();
  return (
    sameStrides(call.frame, t.frame) &&
    call.dtype === t.dtype &&
    call.axis === options.axis &&
    call.keepdims === (options.keepdims ?? false) &&
    call.asked === options.dtype &&
    Object.is(call.init, options.init) &&
    call.result === extras.result &&
    call.simd === e.kernels.simd &&
    e.listener === null
  );
}

function foldAgain(operation: string, call: FoldCall, t: Strided): Strided {
  const e = engine();
  const storage = createStorage(e.heap, sizeOf(call.out.shape) * call.out.itemBytes, operation);
  const from = t.storage.address + t.frame.offset + call.shift;
  const made = { dtype: call.made, storage, frame: call.out, readOnly: false };
  return filled(made, () => foldRunner(e).again(call.recorded, storage.address, [from]));
}

/** A fold is kept, so that it need not be planned again. */
function remember(
  operation: string,
  callable: Callable,
  t: Strided,
  { axis, keepdims, dtype, init }: ReduceOptions,
  { result }: ReduceExtras,
  out: Strided,
  { recorded, shifts }: RanFold,
): void {
  if (typeof axis === "object") return;
  callable.folds.set(operation, {
    frame: t.frame,
    dtype: t.dtype,
    axis,
    keepdims: keepdims ?? false,
    asked: dtype,
    init,
    result,
    simd: engine().kernels.simd,
    recorded,
    shift: shifts[0],
    out: out.frame,
    made: out.dtype,
  });
}

function fillReduce(
  operation: string,
  source: string,
  bound: BoundFold,
  t: Strided,
  split: Split,
  out: Strided,
  extras: ReduceExtras,
): RanFold | null {
  const { isFolded } = split;
  const outView = contiguousView(split.keptShape, dtypes[out.dtype].bytes);
  const e = engine();
  if (bound.program !== null) {
    const { ending, compute } = extras;
    const startless = bound.init === null;
    const making = {
      startless,
      ...(ending ? { ending: ending.with } : {}),
      ...(compute === undefined ? {} : { first: conversion(t.dtype, compute) }),
    };
    const key = `${ending?.key ?? ""}${startless ? " first" : ""}${compute ?? ""}`;
    const fold = foldOf(bound.program, out.dtype, making, key);
    if (canCompile(fold)) {
      return runFold({
        operation,
        source,
        fold,
        params: { ...noParams, step: bound.params, finish: extras.ending?.params ?? [] },
        values: bound.values,
        sources: [{ of: t, view: t.frame }],
        shape: t.frame.shape,
        isFolded,
        init: bound.init,
        out: { of: out, view: outView },
      });
    }
    tellLargeFold(operation, fold);
  }
  const kept = absolute(planLoops([outView, pick(t.frame, isFolded, false)]), [out, t]);
  const folded = planLoops([pick(t.frame, isFolded, true)], { keepOrder: true });
  const backend = bound.program === null ? "function" : "interpreter";
  const axes = isFolded.flatMap((f, d) => (f ? [d] : []));
  const seen = { dtype: out.dtype, storage: out.storage, frame: outView };
  e.listener?.({ kind: "operation", operation, form: "reduce", source, out: seen, inputs: [t], axes });
  holding([t], () =>
    interpretReduce(e.heap, kept, folded, [out.dtype, t.dtype], bound.evaluate(), bound.dtype, bound.init),
  );
  e.listener?.({ kind: "kernel", operation, backend, detail: { kept, folded } });
  return null;
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

function fusedReduce(
  operation: string,
  tensors: readonly Strided[],
  map: Callable,
  how: NamedFold | Callable,
  options: ReduceOptions,
): Strided | null {
  const inputs = tensors.map((t) => t.dtype);
  const mapped = map.program(inputs);
  const fused = mapped === null ? null : fuse(map, how, conversionOf(how, mapped.dtype, options));
  if (mapped === null || fused === null) return null;
  const plan = foldOptions(how, mapped.dtype, options);
  const { shape, views } = broadcastViews(
    operation,
    tensors.map((t) => t.frame),
  );
  const split = splitShape(operation, shape, options.axis, options.keepdims ?? false);
  const bound = bindFold(operation, fused, inputs, mapped.dtype, plan);
  const key = bound.init === null ? "mapped first" : "mapped";
  const fold = foldOf(
    bound.program!,
    bound.result ?? bound.dtype,
    { first: mapped, startless: bound.init === null },
    key,
  );
  if (!canCompile(fold)) return null;
  checkNotEmpty(operation, bound.init, split, shape);
  const out = allocate(operation, fold.finish.dtype, split.shape);
  const params: FoldParams = {
    step: bound.params,
    first: map.values.map((v, i) => paramValue(v, mapped.params[i], operation)),
    finish: [],
  };
  return filled(out, () =>
    runFold({
      operation,
      fold,
      params,
      values: bound.values,
      sources: tensors.map((of, k) => ({ of, view: views[k] })),
      shape,
      isFolded: split.isFolded,
      init: bound.init,
      out: { of: out, view: contiguousView(split.keptShape, dtypes[out.dtype].bytes) },
    }),
  );
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
  const mapped = elementwise(operation, map, tensors, compute === undefined ? {} : { compute });
  try {
    engine().listener?.({
      kind: "copy",
      operation,
      bytes: mapped.storage.bytes,
      why: "map and reduce could not be fused, so the mapped values are stored first",
    });
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
    callable = new Callable(t.finish(result, { inputs: 2, name: how }), null, null);
    foldTemplates.set(key, callable);
  }
  return callable;
}

const fusions = new WeakMap<Callable, Map<Callable, Callable>>();

/** (acc, x0, x1, …) => fold(acc, map(x0, x1, …)); null if one of the two has no template. */
function fuse(map: Callable, how: NamedFold | Callable, converted: DType | null): Callable | null {
  const fold = typeof how === "string" ? foldTemplate(how, converted) : how;
  if (map.template === null || fold.template === null || fold.template.inputs !== 2) return null;
  let known = fusions.get(map);
  if (known === undefined) {
    known = new Map();
    fusions.set(map, known);
  }
  let fused = known.get(fold);
  if (fused === undefined) {
    const b = new TemplateBuilder();
    const args = Array.from({ length: map.template.inputs }, (_, i) => b.input(i + 1));
    const params = [...map.template.params, ...fold.template.params];
    const ids = params.map((_, i) => b.param(i));
    const x = inlineTemplate(b, map.template, args, ids.slice(0, map.template.params.length));
    const result = inlineTemplate(b, fold.template, [b.input(0), x], ids.slice(map.template.params.length));
    const template = b.finish(result, {
      inputs: args.length + 1,
      params: params.map((name, i) => `${name}#${i}`),
      source: map.template.source,
      name: map.template.name,
    });
    fused = new Callable(template, null, null, [...map.values, ...fold.values]);
    known.set(fold, fused);
  }
  return fused;
}

/* Scan ------------------------------------------------------------------------------------------------------- */

export const scanNames = ["axis", "init", "dtype", "compute"] as const;

export function scan(operation: string, plain: Callable, t: Strided, given: ScanOptions = {}): Strided {
  const options = readOptions(operation, given, "{ axis: 1 }", scanNames);
  checkAlive(operation, t);
  checkOptionalDType(operation, options.dtype);
  const compute = checkOptionalDType(operation, options.compute);
  const callable = compute === undefined ? plain : plain.computed(compute);
  const rank = t.frame.shape.length;
  if (rank === 0) fail("axis", operation, "a 0-d tensor has no axis to scan.", "Reshape it to [1] first.");
  if (options.axis === undefined && rank > 1) {
    fail("axis", operation, `the tensor has ${rank} axes.`, "Say which one to scan: { axis: 0 }.");
  }
  const axis = normalizeAxis(operation, options.axis ?? 0, rank);
  const bound = bindFold(operation, callable, [t.dtype], compute ?? t.dtype, options);
  const out = allocate(operation, bound.result ?? bound.dtype, t.frame.shape);
  engine().listener?.({
    kind: "operation",
    operation,
    form: "scan",
    source: sourceOf(callable),
    values: bound.values,
    out,
    inputs: [t],
    axes: [axis],
  });
  return filled(out, () => fillScan(operation, bound, t, axis, out));
}

function fillScan(operation: string, bound: BoundFold, t: Strided, axis: number, out: Strided): void {
  const e = engine();
  const size = t.frame.shape[axis];
  const isFolded = t.frame.shape.map((_, d) => d === axis);
  const outKept = pick(out.frame, isFolded, false);
  const inKept = pick(t.frame, isFolded, false);
  const steps = [out.frame.strides[axis], t.frame.strides[axis]] as const;
  const fold = bound.program === null ? null : foldOf(bound.program, out.dtype, { ordered: true }, "scan");
  if (fold !== null && canCompile(fold)) {
    const kept = absolute(planLoops([inKept, outKept]), [t, out]);
    if (isEmpty(kept) || size === 0) return;
    const report = foldRunner(e).run({
      fold,
      params: { ...noParams, step: bound.params },
      itemBytes: [t.frame.itemBytes],
      addresses: [kept.offsets[0]],
      out: kept.offsets[1],
      kept: axesOf(kept, 1),
      folded: [{ size, inputs: [steps[1]], out: steps[0] }],
      start: bound.init === null ? null : fold.enter(bound.init),
      every: true,
    });
    e.listener?.({ kind: "kernel", operation, backend: "wasm", detail: { ...report, kept, fold } });
    return;
  }
  if (fold !== null) tellLargeFold(operation, fold);
  const nest = absolute(planLoops([outKept, inKept]), [out, t]);
  const backend = bound.program === null ? "function" : "interpreter";
  holding([t], () =>
    interpretScan(e.heap, nest, size, steps, [out.dtype, t.dtype], bound.evaluate(), bound.dtype, bound.init),
  );
  e.listener?.({ kind: "kernel", operation, backend, detail: { kept: nest } });
}

/* Binding ------------------------------------------------------------------------------------------------------ */

interface BoundFold {
  readonly dtype: DType;
  /** What a named fold stores, where it is not the accumulator. */
  readonly result?: DType;
  /** [acc, x0, x1, …] → acc; null when the function is called. */
  readonly program: Program | null;
  readonly params: readonly Value[];
  /** The same by name, for those who listen. */
  readonly values: Readonly<Record<string, string>>;
  readonly evaluate: () => Evaluator;
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
  options: ReduceOptions & { readonly result?: DType },
): BoundFold {
  if (callable.template === null) return callFold(operation, callable, inputs[0], options);
  if (callable.template.inputs !== inputs.length + 1) {
    fail(
      "kernel",
      operation,
      `the function takes ${callable.template.inputs} ${callable.template.inputs === 1 ? "value" : "values"}.`,
      "A fold takes two: (acc, x) => ….",
    );
  }
  let dtype = options.dtype ?? startDType(element, options.init);
  for (let round = 0; ; round++) {
    const program = callable.program([dtype, ...inputs], options.dtype)!;
    if (program.dtype === dtype) {
      const params = callable.values.map((v, i) => paramValue(v, program.params[i]));
      return {
        dtype,
        ...(options.result === undefined ? {} : { result: options.result }),
        program,
        params,
        values: valuesOf(callable),
        evaluate: () => evaluator(program, params),
        init: initValue(operation, options.init, dtype),
      };
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
  const isWhole = typeof init === "bigint" || Number.isInteger(init);
  if (isWhole && !isFloat(dtype) && dtype !== "bool") {
    const { min, max } = dtypes[dtype];
    const value = BigInt(init as number | bigint);
    if (value < BigInt(min) || value > BigInt(max)) {
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

/** The fallback: the accumulator starts as `init`, or as an element, and has the dtype of what comes back. */
function callFold(operation: string, callable: Callable, element: DType, options: ReduceOptions): BoundFold {
  engine().listener?.({ kind: "fallback", operation, why: refusalMessage(operation, callable.refusal!) });
  const working = calledIn(operation, callable, [element], options.compute);
  const fn = callable.fn as (...args: unknown[]) => unknown;
  const result = options.dtype ?? dtypeOfResult(operation, options.init ?? 0, working);
  // As in compiled folds, halves are rounded once, at the end.
  const dtype = result === "f16" || result === "bf16" ? "f32" : result;
  const evaluate: Evaluator = (values) => {
    const args = [toScalar(values[0], dtype), convert(values[1], element, working)];
    return resultValue(operation, callChecked(operation, fn, args), dtype);
  };
  return {
    dtype,
    ...(result === dtype ? {} : { result }),
    program: null,
    params: [],
    values: {},
    evaluate: () => evaluate,
    init: initValue(operation, options.init, dtype),
  };
}
