/**
 * map and zip: out[…] = f(in0[…], in1[…], …) over operands that broadcast together. The output is new, laid out
 * in its inputs' memory order, or an existing tensor (`out`).
 */
import { convert, type DType, dtypes, isFloat, promoteAll, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list, TensorError } from "../errors.ts";
import { paramValue } from "../frontend/infer.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import { type Evaluator, evaluator } from "../ir/eval.ts";
import type { Program } from "../ir/node.ts";
import { printTemplate } from "../ir/print.ts";
import { interpretElementwise } from "../run/interpret.ts";
import { advance, isEmpty } from "../run/odometer.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { kOrderPermutation, planLoops, viewInOrder } from "../view/loops.ts";
import { broadcastTo, contiguousView, isContiguous, type View } from "../view/view.ts";
import { checkOptionalDType, own } from "./arguments.ts";
import { callAgain, clashes, type ElementwiseOptions, type Ran, remember } from "./calls.ts";
import { assign, sameShape } from "./copy.ts";
import type { Callable } from "./function.ts";
import { isMade } from "./limits.ts";
import {
  absolute,
  allocate,
  checkAlive,
  checkWritable,
  filled,
  holding,
  type Strided,
  withTemporary,
} from "./strided.ts";

export function elementwise(
  operation: string,
  plain: Callable,
  operands: readonly Strided[],
  given: ElementwiseOptions = {},
): Strided {
  checkOperands(operation, plain, operands);
  const dtype = checkOptionalDType(operation, own(given, "dtype"));
  const compute = checkOptionalDType(operation, own(given, "compute"));
  const options = { dtype, compute, out: own(given, "out") };
  const callable = compute === undefined ? plain : plain.computed(compute);
  const done = callAgain(operation, callable, operands, options);
  if (done !== null) return done;
  // A function that is called may dispose what it is called for.
  const run = () => planned(operation, callable, operands, options);
  return callable.template === null ? holding(operands, run) : run();
}

function planned(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  options: ElementwiseOptions,
): Strided {
  const shape = commonShape(operation, operands);
  const views = operands.map((t) =>
    sameShape(t.frame.shape, shape) ? t.frame : broadcastTo(t.frame, shape),
  );
  const { out } = options;
  if (out !== undefined) checkOut(operation, out, shape);
  const work = bind(operation, callable, operands, views, options);
  if (out === undefined) {
    const { bytes } = dtypes[work.dtype];
    const layout = views.every(isContiguous)
      ? contiguousView(shape, bytes)
      : viewInOrder(shape, bytes, kOrderPermutation(views, shape));
    const result = allocate(operation, work.dtype, shape, layout);
    return filled(result, () => {
      const planned = run(operation, work, result, operands, views);
      remember(callable, operands, options, result, planned);
    });
  }
  const clash = operands.some((t, i) => clashes(out, t, views[i]));
  // A function that was called has seen all operands already, and may have disposed the output.
  checkAlive(operation, out);
  if (!clash || (work.program === null && work.by === "function")) {
    remember(callable, operands, options, out, run(operation, work, out, operands, views));
    return out;
  }
  const copy = allocate(operation, out.dtype, shape);
  engine().listener?.({
    kind: "copy",
    operation,
    bytes: copy.storage.bytes,
    why: "the output overlaps an operand, so the result is made aside first",
  });
  withTemporary(copy, () => {
    run(operation, work, copy, operands, views);
    assign(operation, out, copy);
  });
  return out;
}

/** What computes one element: a program with its captured values, or a call of the function itself. */
type Work = { readonly source: string; readonly dtype: DType } & (
  | {
      readonly program: Program;
      readonly params: readonly Value[];
      readonly values: Readonly<Record<string, string>>;
    }
  | {
      readonly program: null;
      readonly by: "function" | "interpreter";
      readonly produces: DType;
      readonly evaluate: Evaluator;
    }
);

function bind(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  views: readonly View[],
  { dtype, compute }: ElementwiseOptions,
): Work {
  const program = callable.program(
    operands.map((t) => t.dtype),
    dtype,
    operation,
  );
  if (program !== null) {
    const params = callable.values.map((v, i) => paramValue(v, program.params[i], operation));
    if (!isMade(operation, callable, program)) {
      const { dtype: produces } = program;
      const evaluate = evaluator(program, params);
      return {
        source: sourceOf(callable),
        dtype: produces,
        program: null,
        by: "interpreter",
        produces,
        evaluate,
      };
    }
    return { source: sourceOf(callable), values: valuesOf(callable), dtype: program.dtype, program, params };
  }
  engine().listener?.({ kind: "fallback", operation, why: refusalMessage(operation, callable.refusal!) });
  return callFunction(operation, callable, operands, views, dtype, compute);
}

/**
 * What a function that is called computes in. It computes as JavaScript does, in floats; integers and bool would come out
 * otherwise than from a compiled function, so they are refused unless a float dtype is asked for.
 */
export function calledIn(
  operation: string,
  { refusal }: Callable,
  operands: readonly DType[],
  compute: DType | undefined,
): DType {
  const whole = (compute === undefined ? operands : [compute]).find((d) => !isFloat(d));
  if (whole === undefined) return compute ?? promoteAll(operands);
  throw new TensorError(
    "kernel",
    refusalMessage(operation, refusal!, {
      fact: ` A function that is called computes as JavaScript does, not in ${whole}.`,
      remedy: `${refusal!.remedy === null ? "Compute" : "Or compute"} in floats, called or compiled: { compute: "f64" }.`,
    }),
  );
}

/**
 * The fallback: calls the function with JavaScript values, once an element, in C order, before anything is made of the
 * results: it may throw halfway. Their dtype is bool if all are booleans, i64 if all are bigints, and what the function
 * computes in otherwise, a boolean among numbers being 1 or 0.
 */
function callFunction(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  views: readonly View[],
  dtype: DType | undefined,
  compute: DType | undefined,
): Work {
  const inputs = operands.map((t) => t.dtype);
  const working = calledIn(operation, callable, inputs, compute);
  const results = callEach(operation, callable, operands, views, compute);
  const kinds = new Set(results.map((x) => typeof x));
  const of = kinds.size > 1 && !kinds.has("bigint") ? 0 : (results[0] ?? 0);
  const produces = dtypeOfResult(operation, of, working);
  let next = 0;
  const evaluate: Evaluator = () => resultValue(operation, results[next++], produces);
  const source = sourceOf(callable);
  return { source, dtype: dtype ?? produces, produces, program: null, by: "function", evaluate };
}

/** What the function returns for every element. It may make tensors, so memory is looked up afresh for each. */
function callEach(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  views: readonly View[],
  compute: DType | undefined,
): unknown[] {
  const fn = callable.fn as (...args: unknown[]) => unknown;
  const { heap } = engine();
  const nest = absolute(planLoops(views, { keepOrder: true }), operands);
  const results: unknown[] = [];
  if (isEmpty(nest)) return results;
  const types = operands.map((t) => t.dtype);
  const index = new Array<number>(nest.shape.length).fill(0);
  const pointers = [...nest.offsets];
  do {
    const args = types.map((d, k) => {
      const value = dtypes[d].read(heap.view, pointers[k]);
      return compute === undefined ? value : convert(value, d, compute);
    });
    results.push(callChecked(operation, fn, args));
  } while (advance(nest, nest.shape.length, index, pointers));
  return results;
}

/** A call of the user's function. Its own errors pass; what cannot be called so is said in our words. */
export function callChecked(
  operation: string,
  fn: (...args: unknown[]) => unknown,
  args: unknown[],
): unknown {
  try {
    return fn(...args);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (/class constructor/i.test(error.message)) {
      return fail(
        "kernel",
        operation,
        "a class was given.",
        "Give a function of numbers, such as x => x * x.",
      );
    }
    if (!error.message.includes("BigInt")) throw error;
    return fail(
      "dtype",
      operation,
      "the function mixes bigints and numbers; elements of 64-bit integers are bigints.",
      'Write bigints inside it (3n), or convert the tensor first: to("f64").',
    );
  }
}

/** What the function says, for those who listen. */
export function sourceOf(callable: Callable): string {
  if (engine().listener === null) return "";
  const { template, fn } = callable;
  if (template !== null && template.source === "") return printTemplate(template);
  return template?.source ?? String(fn);
}

/** The captured values of a function by name, for those who listen. */
export function valuesOf({ template, values }: Callable): Readonly<Record<string, string>> {
  if (engine().listener === null || template === null) return {};
  return Object.fromEntries(template.params.map((name, i) => [name, String(values[i])]));
}

/** The dtype that holds what a called function returns: booleans, bigints, or numbers of the operands' float dtype. */
export function dtypeOfResult(operation: string, result: unknown, operands: DType): DType {
  if (typeof result === "boolean") return "bool";
  if (typeof result === "bigint") return operands === "u64" ? "u64" : "i64";
  if (typeof result !== "number") failResult(operation, result);
  return isFloat(operands) ? operands : "f64";
}

/** A called function's result as a value of `produces`; it must go on returning what it began with. */
export function resultValue(operation: string, result: unknown, produces: DType): Value {
  const kind = produces === "bool" ? "boolean" : dtypes[produces].big ? "bigint" : "number";
  if (typeof result === "boolean" && kind !== "bigint") return Number(result);
  if (typeof result !== kind) failResult(operation, result);
  return dtypes[produces].wrap(result as Value);
}

function failResult(operation: string, result: unknown): never {
  return fail(
    "kernel",
    operation,
    `the function returned ${describe(result)}.`,
    "It must return a number for every element (or always a boolean, or always a bigint).",
  );
}

/** null: no kernel walked. */
function run(
  operation: string,
  work: Work,
  out: Strided,
  operands: readonly Strided[],
  views: readonly View[],
): Ran | null {
  const all = [out, ...operands];
  // Called functions see the elements in C order.
  const nest = absolute(planLoops([out.frame, ...views], { keepOrder: work.program === null }), all);
  const e = engine();
  e.listener?.({
    kind: "operation",
    operation,
    form: "elementwise",
    source: work.source,
    ...(work.program !== null ? { values: work.values } : {}),
    out,
    inputs: operands.map((t, i) => ({ dtype: t.dtype, storage: t.storage, frame: views[i] })),
  });
  if (work.program === null) {
    const types = all.map((t) => t.dtype);
    interpretElementwise(e.heap, nest, types, work.evaluate, work.produces);
    e.listener?.({ kind: "kernel", operation, backend: work.by, detail: { nest, dtypes: types } });
    return null;
  }
  const program = storedInto(work.program, out.dtype);
  const planned = e.kernels.plan(program, nest);
  if (planned !== null) e.kernels.walk(planned, nest.offsets, work.params);
  e.listener?.({
    kind: "kernel",
    operation,
    backend: "wasm",
    detail: {
      program,
      nest,
      kernel: planned && (planned.tile ?? planned.kernel),
      parallel: e.kernels.shared,
    },
  });
  return planned && { planned, params: work.params, at: nest.offsets };
}

const stored = new WeakMap<Program, Map<DType, Program>>();

/** The program with its result converted to the dtype of an output that was there before. */
function storedInto(program: Program, dtype: DType): Program {
  if (program.dtype === dtype) return program;
  const known = stored.get(program) ?? new Map<DType, Program>();
  stored.set(program, known);
  let cast = known.get(dtype);
  if (cast === undefined) {
    const nodes = [...program.nodes, { op: "cast", dtype, args: [program.result] } as const];
    cast = { ...program, nodes, result: nodes.length - 1, dtype };
    known.set(dtype, cast);
  }
  return cast;
}

function commonShape(operation: string, operands: readonly Strided[]): readonly number[] {
  const { shape } = operands[0].frame;
  if (operands.every((t) => sameShape(t.frame.shape, shape))) return shape;
  return broadcastShapes(
    operation,
    operands.map((t) => t.frame.shape),
  );
}

function checkOperands(operation: string, callable: Callable, operands: readonly Strided[]): void {
  if (operands.length === 0) {
    fail(
      "value",
      operation,
      "no tensors.",
      "Give one tensor for each parameter of the function, at least one.",
    );
  }
  for (const t of operands) checkAlive(operation, t);
  const wants = callable.template?.inputs;
  // Fewer parameters than tensors are fine, as in JavaScript: the function ignores the rest.
  if (wants !== undefined && wants > operands.length) {
    fail(
      "kernel",
      operation,
      `the function takes ${wants} ${wants === 1 ? "value" : "values"}, got ${operands.length} ${operands.length === 1 ? "tensor" : "tensors"}.`,
      "Give one tensor for each parameter; other values are captured by name: kernel(fn, { k: 0.01 }).",
    );
  }
}

function checkOut(operation: string, out: Strided, shape: readonly number[]): void {
  checkWritable(operation, out);
  if (sameShape(out.frame.shape, shape)) return;
  fail(
    "shape",
    operation,
    `the output is ${list(out.frame.shape)}, the operands make ${list(shape)}.`,
    "An existing output must have exactly the result's shape.",
  );
}
