/** Functions that return a list: one loop, several outputs. */
import { dtypes } from "../dtype.ts";
import { counted, fail } from "../errors.ts";
import { isEffect, resultsOf, severalOf } from "../ir/node.ts";
import { type Call, type Form, fromStart, newId, type Strided } from "../run/call.ts";
import { outputView } from "../view/loops.ts";
import { overlaps } from "../view/overlap.ts";
import { checkOperands, checkOut } from "./elementwise.ts";
import { aside, executeSeveral, isInTheWay, planned } from "./execute.ts";
import type { Callable, Definition } from "./function.ts";
import { checkSize } from "./limits.ts";
import { commonViews } from "./strided.ts";

interface SeveralCall extends Call {
  readonly what: Definition;
  readonly callable: Callable;
  /** How many of the inputs are outputs. */
  readonly outs: number;
}

/** [out0[…], out1[…], …] = f(in0[…], in1[…], …); `outs` are written if they are given, and made if not. */
export function elementwiseSeveral(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  outs: readonly Strided[] = [],
): Strided[] {
  checkOperands(operation, callable, operands);
  if (outs.length > 0) checkOutputs(operation, callable, operands, outs);
  const values = callable.valuesFor(operation);
  const what = callable.definition!;
  const run = (into: readonly Strided[]) => {
    const facts = [...callable.facts, into.length];
    const inputs = [...into, ...operands];
    const call = { operation, what, facts, inputs, out: null, values, callable, outs: into.length };
    return executeSeveral(severalForm, call, into);
  };
  const guard = { guards: "elements" } as const;
  // What fails halfway must change nothing.
  const mayFail = callable.template!.nodes.some(isEffect);
  const clash = outs.map((out) => mayFail || isInTheWay(guard, operands, out));
  if (!clash.includes(true)) return run(outs);
  const why = mayFail ? "an element may fail" : "an output overlaps an operand";
  const shared = outs.filter((_, k) => clash[k]);
  aside(operation, shared, why, (made) => {
    run(outs.map((out, k) => (clash[k] ? made[shared.indexOf(out)] : out)));
  });
  return [...outs];
}

const severalForm: Form<SeveralCall> = {
  id: newId(),
  guards: "nothing",
  plan({ operation, callable, inputs: all, outs: count }) {
    const [outs, inputs] = [all.slice(0, count), all.slice(count)];
    const { shape, views } = commonViews(operation, inputs);
    const types = inputs.map((t) => t.dtype);
    const stored = outs.map((t) => t.dtype);
    const program = callable.program(types, undefined, operation, stored)!;
    checkSize(operation, callable, program);
    const outputs = resultsOf(program).map((id, k) => {
      const { dtype } = program.nodes[id];
      return { dtype, frame: fromStart(outs[k]?.frame ?? outputView(shape, dtypes[dtype].bytes, views)) };
    });
    const frames = [...outputs.map((o) => o.frame), ...views.map(fromStart)];
    const [{ dtype, frame }, ...more] = outputs;
    const told = callable.template!;
    const result = { dtype, frame, more, params: program.params, told, names: told.params };
    return planned({ form: "elementwise", program, frames }, result);
  },
};

function checkOutputs(
  operation: string,
  callable: Callable,
  operands: readonly Strided[],
  outs: readonly Strided[],
): void {
  const several = severalOf(callable.template!);
  if (outs.length !== several) {
    fail(
      "kernel",
      operation,
      `the function has ${several} results, got ${counted(outs.length, "output")}.`,
      "Give one output for each result.",
    );
  }
  const { shape } = commonViews(operation, operands);
  for (const out of outs) checkOut(operation, out, shape);
  outs.forEach((a, i) => {
    const j = outs.findIndex(
      (b, k) => k > i && a.storage.origin === b.storage.origin && overlaps(a.frame, b.frame),
    );
    if (j >= 0) {
      fail(
        "value",
        operation,
        `outputs ${i} and ${j} share memory.`,
        "Each result needs a place of its own: give tensors, or views, that do not overlap.",
      );
    }
  });
}
