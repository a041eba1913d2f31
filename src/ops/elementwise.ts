/**
 * map and zip: out[…] = f(in0[…], in1[…], …) over operands that broadcast together. The output is new, laid out
 * in its inputs' memory order, or an existing tensor (`out`).
 */
import { type DType, dtypes, isFloat, promote, toScalar, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { paramValue } from "../frontend/infer.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import { type Evaluator, evaluator } from "../ir/eval.ts";
import type { Program } from "../ir/node.ts";
import { interpretElementwise } from "../run/interpret.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { kOrderPermutation, planLoops, viewInOrder } from "../view/loops.ts";
import { overlaps, sameElements } from "../view/overlap.ts";
import { broadcastTo, type View } from "../view/view.ts";
import { assign, sameShape } from "./copy.ts";
import type { Callable } from "./function.ts";
import { absolute, allocate, checkAlive, checkWritable, type Strided } from "./strided.ts";

export interface ElementwiseOptions {
  /** dtype of the result; default: what the function makes of its operands' dtypes. */
  readonly dtype?: DType;
  /** Write here instead of into a new tensor; results are converted to its dtype. */
  readonly out?: Strided;
}

export function elementwise(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  options: ElementwiseOptions = {},
): Strided {
  checkOperands(operation, callable, operands);
  const shape = commonShape(operation, operands);
  const views = operands.map((t) =>
    sameShape(t.frame.shape, shape) ? t.frame : broadcastTo(t.frame, shape),
  );
  const work = bind(operation, callable, operands, options.dtype);
  const { out } = options;
  if (out === undefined) {
    const layout = viewInOrder(shape, dtypes[work.dtype].bytes, kOrderPermutation(views, shape));
    const result = allocate(operation, work.dtype, shape, layout);
    run(operation, work, result, operands, views);
    return result;
  }
  checkOut(operation, out, shape);
  const clash = operands.some(
    (t, i) =>
      t.storage === out.storage && !sameElements(out.frame, views[i]) && overlaps(out.frame, views[i]),
  );
  if (!clash) {
    run(operation, work, out, operands, views);
    return out;
  }
  const copy = allocate(operation, out.dtype, shape);
  engine().listener?.({
    kind: "copy",
    operation,
    bytes: copy.storage.bytes,
    why: "the output overlaps an operand, so the result is made aside first",
  });
  run(operation, work, copy, operands, views);
  assign(operation, out, copy);
  copy.storage.release();
  return out;
}

/** What computes one element: a program, or the function itself where it could not be compiled. */
interface Work {
  /** dtype of the result, and of the values before they are stored. */
  readonly dtype: DType;
  readonly produces: DType;
  readonly program: Program | null;
  readonly evaluate: Evaluator;
}

function bind(operation: string, callable: Callable, operands: readonly Strided[], dtype?: DType): Work {
  const inputs = operands.map((t) => t.dtype);
  const program = callable.program(inputs, dtype);
  if (program !== null) {
    const values = callable.values.map((v, i) => paramValue(v, program.params[i]));
    return { dtype: program.dtype, produces: program.dtype, program, evaluate: evaluator(program, values) };
  }
  engine().listener?.({ kind: "fallback", operation, why: refusalMessage(operation, callable.refusal!) });
  return callFunction(operation, callable, operands, dtype);
}

/**
 * The fallback: calls the function with JavaScript values. Its result's dtype is the operands' promoted float dtype
 * (f64 when they are integers) for numbers, bool for booleans, i64 for bigints, judged by the first element.
 */
function callFunction(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  dtype?: DType,
): Work {
  const fn = callable.fn as (...args: unknown[]) => unknown;
  const inputs = operands.map((t) => t.dtype);
  const args: unknown[] = new Array(inputs.length);
  const call = (values: readonly Value[]) => {
    for (let k = 0; k < args.length; k++) args[k] = toScalar(values[k], inputs[k]);
    return fn(...args);
  };
  const first = firstValues(operands);
  const produces = dtypeOfResult(operation, first === null ? 0 : call(first), inputs.reduce(promote));
  const evaluate: Evaluator = (values) => resultValue(operation, call(values), produces);
  return { dtype: dtype ?? produces, produces, program: null, evaluate };
}

/** The dtype that holds what a called function returns: booleans, bigints, or numbers of the operands' float dtype. */
export function dtypeOfResult(operation: string, result: unknown, operands: DType): DType {
  if (typeof result === "boolean") return "bool";
  if (typeof result === "bigint") return "i64";
  if (typeof result !== "number") failResult(operation, result);
  return isFloat(operands) ? operands : "f64";
}

/** A called function's result as a value of `produces`; it must go on returning what it began with. */
export function resultValue(operation: string, result: unknown, produces: DType): Value {
  const kind = produces === "bool" ? "boolean" : dtypes[produces].big ? "bigint" : "number";
  if (typeof result !== kind) failResult(operation, result);
  return dtypes[produces].wrap(typeof result === "boolean" ? Number(result) : (result as Value));
}

function failResult(operation: string, result: unknown): never {
  return fail(
    "kernel",
    operation,
    `the function returned ${result === null ? "null" : typeof result}.`,
    "It must return a number for every element (or always a boolean, or always a bigint).",
  );
}

/** The values at index [0, …, 0], or null when an operand is empty. */
function firstValues(operands: readonly Strided[]): Value[] | null {
  if (operands.some((t) => t.frame.shape.includes(0))) return null;
  const memory = engine().heap.view;
  return operands.map((t) => dtypes[t.dtype].read(memory, t.storage.address + t.frame.offset));
}

function run(
  operation: string,
  work: Work,
  out: Strided,
  operands: readonly Strided[],
  views: readonly View[],
): void {
  const all = [out, ...operands];
  const nest = absolute(planLoops([out.frame, ...views]), all);
  const types = all.map((t) => t.dtype);
  const e = engine();
  e.listener?.({
    kind: "kernel",
    operation,
    backend: work.program === null ? "function" : "interpreter",
    detail: { program: work.program, nest, dtypes: types },
  });
  interpretElementwise(e.heap.view, nest, types, work.evaluate, work.produces);
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
  for (const t of operands) checkAlive(operation, t);
  const wants = callable.template?.inputs;
  if (wants !== undefined && wants !== operands.length) {
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
