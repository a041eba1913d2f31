/**
 * map and zip: out[…] = f(in0[…], in1[…], …) over operands that broadcast together. The output is new, laid out
 * in its inputs' memory order, or an existing tensor (`out`).
 */
import { convert, type DType, dtypes, isFloat, promoteAll, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import { counted, describe, fail, list, TensorError } from "../errors.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import type { Evaluator } from "../ir/eval.ts";
import type { Strided } from "../run/call.ts";
import { type Call, type Form, fromStart, newId, type Prepared, type Work } from "../run/call.ts";
import { sameShape } from "../view/layout.ts";
import { outputView } from "../view/loops.ts";
import { checkOptionalDType } from "./arguments.ts";
import { execute, perform, planned, planOf } from "./execute.ts";
import type { Callable, Definition } from "./function.ts";
import { checkSize } from "./limits.ts";
import { allocate, checkAlive, checkWritable, commonViews, filled, holding } from "./strided.ts";
import { tellFallback } from "./tell.ts";
import { warnCalled } from "./warn.ts";

interface ElementwiseCall extends Call {
  readonly what: Definition;
  readonly callable: Callable;
  readonly dtype: DType | undefined;
}

/**
 * @param out written instead of a new tensor; results are converted to its dtype
 * @param dtype of the result; default: what the function makes of its operands' dtypes
 * @param compute operands are converted to it first: the function computes in it, called or compiled
 */
export function elementwise(
  operation: string,
  plain: Callable,
  operands: readonly Strided[],
  out: Strided | null = null,
  dtype?: DType,
  compute?: DType,
): Strided {
  checkOperands(operation, plain, operands);
  checkOptionalDType(operation, dtype);
  const callable = plain.computed(checkOptionalDType(operation, compute));
  const { definition: what } = callable;
  if (what === null) return callElements(operation, callable, operands, out, dtype, compute);
  const values = callable.valuesFor(operation);
  const facts = dtype === undefined ? callable.facts : [...callable.facts, dtype];
  return execute(elementwiseForm, { operation, what, facts, inputs: operands, out, values, callable, dtype });
}

const elementwiseForm: Form<ElementwiseCall> = {
  id: newId(),
  guards: "elements",
  plan({ operation, callable, inputs, out, dtype }) {
    const { shape, views } = commonViews(operation, inputs);
    if (out !== null) checkOut(operation, out, shape);
    const types = inputs.map((t) => t.dtype);
    const program = callable.program(types, dtype, operation, out === null ? [] : [out.dtype])!;
    checkSize(operation, callable, program);
    const frame = fromStart(out?.frame ?? outputView(shape, dtypes[program.dtype].bytes, views));
    const frames = [frame, ...views.map(fromStart)];
    const { dtype: made, params } = program;
    const told = callable.template!;
    const result = { dtype: made, frame, params, told, names: told.params };
    return planned({ form: "elementwise", program, frames }, result);
  },
};

/* Functions that are called ----------------------------------------------------------------------------------- */

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
 * results: it may throw halfway, and may dispose what it is called for. Their dtype is bool if all are booleans, i64 if all
 * are bigints, and what the function computes in otherwise, a boolean among numbers being 1 or 0.
 */
function callElements(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  out: Strided | null,
  dtype: DType | undefined,
  compute: DType | undefined,
): Strided {
  return holding(operands, () => {
    const { shape, views } = commonViews(operation, operands);
    if (out !== null) checkOut(operation, out, shape);
    tellFallback(operation, () => refusalMessage(operation, callable.refusal!));
    const inputs = operands.map((t, k) => ({ ...t, frame: views[k] }));
    const types = operands.map((t) => t.dtype);
    const working = calledIn(operation, callable, types, compute);
    warnCalled(operation, callable);
    const results = callEach(operation, callable, inputs, compute);
    const kinds = new Set(results.map((x) => typeof x));
    const of = kinds.size > 1 && !kinds.has("bigint") ? 0 : (results[0] ?? 0);
    const produces = dtypeOfResult(operation, of, working);
    const stored = dtype ?? produces;
    const made = out ?? allocate(operation, stored, shape, outputView(shape, dtypes[stored].bytes, views));
    checkAlive(operation, made);
    const fill = () => storeResults(operation, callable, inputs, made, results, produces);
    if (out === null) filled(made, fill);
    else fill();
    return made;
  });
}

/** In C order, as they were computed. */
function storeResults(
  operation: string,
  callable: Callable,
  inputs: readonly Strided[],
  out: Strided,
  results: readonly unknown[],
  produces: DType,
): void {
  const frames = [out, ...inputs].map((t) => fromStart(t.frame));
  const types = [out, ...inputs].map((t) => t.dtype);
  let next = 0;
  const evaluate: Evaluator = () => resultValue(operation, results[next++], produces);
  const prepared = engine().interpreter.prepareEach(frames, "function", types, produces, () => evaluate);
  performCalled(operation, callable, { form: "elementwise", program: null, frames }, prepared, inputs, out);
}

/** Runs work in which a function is called. */
export function performCalled(
  operation: string,
  callable: Callable,
  work: Work,
  prepared: Prepared,
  inputs: readonly Strided[],
  out: Strided,
): void {
  const result = { dtype: out.dtype, frame: out.frame, params: [], told: callable.fn, names: [] };
  const call = { operation, what: callable, facts: [], inputs, out, values: [] };
  perform(engine(), call, planOf(work, prepared, result), out, [], null);
}

/** What the function returns for every element. */
function callEach(
  operation: string,
  callable: Callable,
  inputs: readonly Strided[],
  compute: DType | undefined,
): unknown[] {
  const fn = callable.fn as (...args: unknown[]) => unknown;
  const results: unknown[] = [];
  engine().interpreter.visit(inputs, (values) => {
    const args = compute === undefined ? values : values.map((v, k) => convert(v, inputs[k].dtype, compute));
    results.push(callChecked(operation, fn, args));
  });
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

export function checkOperands(operation: string, callable: Callable, operands: readonly Strided[]): void {
  if (operands.length === 0) {
    fail(
      "value",
      operation,
      "no tensors.",
      "Give one tensor for each parameter of the function, at least one.",
    );
  }
  for (let k = 0; k < operands.length; k++) checkAlive(operation, operands[k]);
  const wants = callable.template?.inputs;
  // Fewer parameters than tensors are fine, as in JavaScript: the function ignores the rest.
  if (wants !== undefined && wants > operands.length) {
    fail(
      "kernel",
      operation,
      `the function takes ${counted(wants, "value")}, got ${counted(operands.length, "tensor")}.`,
      operation === "map"
        ? "map gives one element, mapIndex(t, (x, i, j) => …) its index too, zip([a, b], fn) one of each tensor; pass other values by name: { with: { k } }."
        : "Give one tensor for each parameter; other values are captured by name: kernel(fn, { k: 0.01 }).",
    );
  }
}

export function checkOut(operation: string, out: Strided, shape: readonly number[]): void {
  checkWritable(operation, out);
  if (sameShape(out.frame.shape, shape)) return;
  fail(
    "shape",
    operation,
    `the output is ${list(out.frame.shape)}, the operands make ${list(shape)}.`,
    "An existing output must have exactly the result's shape.",
  );
}
