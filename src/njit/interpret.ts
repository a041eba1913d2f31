/**
 * What a Code means, in plain JavaScript: the oracle of the emitter, on every dtype. It reads and writes elements through
 * `Elements`, so it knows nothing of memory.
 */
import { convert, dtypes, type Value } from "../dtype.ts";
import { type Evaluator, evaluator } from "../ir/eval.ts";
import { combined, cutsOf, identityOf, turnsOf } from "./forks.ts";
import type { Code, Expression, ForkStep, LoopStep, Step } from "./ir.ts";

/** An array as the interpreter sees it. */
export interface Elements {
  readonly shape: readonly number[];
  read(index: readonly number[]): Value;
  write(index: readonly number[], value: Value): void;
}

/** An access that failed. */
export interface Failure {
  readonly site: number;
  readonly axis: number;
  readonly index: number;
  readonly size: number;
}

export class AccessError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(`index ${failure.index}`);
    this.failure = failure;
  }
}

/** Who watches a run: before each step and each turn of a loop, and whenever a local or an element is touched. */
export interface Observer {
  step(step: Step): void;
  turn(loop: LoopStep): void;
  set(local: number, value: Value): void;
  access(array: number, index: readonly number[], value: Value, isWrite: boolean): void;
}

/** How a list of steps ended: it ran through, left so many blocks, or returned. */
type End =
  | { readonly kind: "through" }
  | { readonly kind: "break"; readonly depth: number }
  | { readonly kind: "return" };
const through: End = { kind: "through" };
const returned: End = { kind: "return" };

/** Runs the code on arguments' values (by argument) and arrays (by argument); gives the scalars it returns. */
export function interpretCode(
  code: Code,
  scalars: ReadonlyMap<number, Value>,
  arrays: ReadonlyMap<number, Elements>,
  observer: Observer | null = null,
): Value[] {
  const locals: Value[] = code.locals.map(({ dtype }) => (dtypes[dtype].big ? 0n : 0));
  const elements = code.arrays.map((a) =>
    a.argument === null ? ownElements(a.length) : arrays.get(a.argument)!,
  );
  for (const { local, argument } of code.scalars) locals[local] = scalars.get(argument)!;
  for (const { local, array, axis } of code.sizes) {
    const { shape } = elements[array];
    locals[local] = axis === "size" ? shape.reduce((a, b) => a * b, 1) : shape[axis];
  }
  const evaluators = new WeakMap<Expression, Evaluator>();
  const evaluate = (e: Expression): Value => {
    let run = evaluators.get(e);
    if (run === undefined) {
      run = evaluator(e.program);
      evaluators.set(e, run);
    }
    return run(e.locals.map((l) => locals[l]));
  };
  let results: Value[] = [];

  const indexOf = (step: Step & { op: "load" | "store" }): number[] => {
    const index = step.index.map((e) => Number(evaluate(e)));
    const { shape } = elements[step.array];
    index.forEach((i, axis) => {
      if (!(Number.isInteger(i) && i >= 0 && i < shape[axis])) {
        throw new AccessError({ site: step.site, axis, index: i, size: shape[axis] });
      }
    });
    return index.map((i) => i + 0);
  };

  const run = (steps: readonly Step[]): End => {
    for (const step of steps) {
      const end = runStep(step);
      if (end !== through) return end;
    }
    return through;
  };

  const runFork = (step: ForkStep): void => {
    const { counter, limit, reductions } = step;
    const start = Number(locals[counter]);
    const turns = turnsOf(start, Number(evaluate(step.end)), step.step);
    const before = reductions.map((r) => locals[r.local]);
    const cuts = cutsOf(turns);
    for (let c = 0; c < cuts.length - 1; c++) {
      locals[counter] = start + cuts[c] * step.step;
      observer?.set(counter, locals[counter]);
      locals[limit] = start + cuts[c + 1] * step.step;
      for (const r of reductions) locals[r.local] = identityOf(r.op, code.locals[r.local].dtype)!;
      run(step.body);
      reductions.forEach((r, k) => {
        before[k] = combined(r.op, code.locals[r.local].dtype, before[k], locals[r.local]);
      });
    }
    reductions.forEach((r, k) => {
      locals[r.local] = before[k];
    });
  };

  const runStep = (step: Step): End => {
    observer?.step(step);
    switch (step.op) {
      case "set":
        locals[step.local] = evaluate(step.value);
        observer?.set(step.local, locals[step.local]);
        return through;
      case "load": {
        const index = indexOf(step);
        const value = elements[step.array].read(index);
        locals[step.local] = convert(value, code.arrays[step.array].dtype, code.locals[step.local].dtype);
        observer?.access(step.array, index, value, false);
        observer?.set(step.local, locals[step.local]);
        return through;
      }
      case "store": {
        const index = indexOf(step);
        const value = evaluate(step.value);
        elements[step.array].write(index, value);
        observer?.access(step.array, index, value, true);
        return through;
      }
      case "if":
        return run(evaluate(step.test) ? step.yes : step.no);
      case "block": {
        const end = run(step.body);
        if (end.kind !== "break") return end;
        return end.depth === 0 ? through : { kind: "break", depth: end.depth - 1 };
      }
      case "loop":
        for (;;) {
          observer?.turn(step);
          const end = run(step.body);
          if (end.kind === "break" && end.depth === 0) continue;
          return end.kind === "break" ? { kind: "break", depth: end.depth - 1 } : end;
        }
      case "lanes":
        return through;
      case "fork":
        runFork(step);
        return through;
      case "break":
        return { kind: "break", depth: step.depth };
      case "return":
        results = step.values.map(evaluate);
        return returned;
    }
  };
  run(code.body);
  return results;
}

function ownElements(length: number): Elements {
  const values = new Array<Value>(length).fill(0);
  return {
    shape: [length],
    read: ([i]) => values[i],
    write: ([i], value) => {
      values[i] = value;
    },
  };
}
