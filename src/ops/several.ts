/** Functions that return a list: one loop, several outputs. */
import { fail } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import { isEffect, type Program, resultsOf, severalOf } from "../ir/node.ts";
import { type Call, type Form, fromStart, newId, type Strided } from "../run/call.ts";
import { overlaps } from "../view/overlap.ts";
import { checkOperands, checkOut, commonViews, outputView } from "./elementwise.ts";
import { copyCall, copyForm, execute, executeSeveral, isInTheWay, prepare } from "./execute.ts";
import type { Callable, Definition } from "./function.ts";
import { checkSize } from "./limits.ts";
import { allocate } from "./strided.ts";
import { tellCopy } from "./tell.ts";

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
  const { definition, kinds } = callable;
  const values = callable.valuesFor(operation);
  const what = definition!;
  const run = (into: readonly Strided[]) => {
    const facts = [what.id, kinds, into.length];
    const inputs = [...into, ...operands];
    const call = { operation, what, facts, inputs, out: null, values, callable, outs: into.length };
    return executeSeveral(severalForm, call, into);
  };
  const guard = { guards: "elements" } as const;
  // What fails halfway must change nothing.
  const mayFail = callable.template!.nodes.some(isEffect);
  const clash = outs.map((out) => mayFail || isInTheWay(guard, operands, out));
  if (!clash.includes(true)) return run(outs);
  const made = outs.map((out, k) => (clash[k] ? allocate(operation, out.dtype, out.frame.shape) : out));
  try {
    const asides = made.filter((_, k) => clash[k]);
    const bytes = asides.reduce((sum, t) => sum + t.storage.bytes, 0);
    const why = mayFail ? "an element may fail" : "an output overlaps an operand";
    tellCopy(operation, bytes, `${why}, so the result is made aside first`);
    run(made);
    made.forEach((t, k) => {
      if (clash[k]) execute(copyForm, copyCall(operation, outs[k], t));
    });
    return [...outs];
  } finally {
    made.forEach((t, k) => {
      if (clash[k]) t.storage.release();
    });
  }
}

const severalForm: Form<SeveralCall> = {
  id: newId(),
  guards: "nothing",
  plan({ operation, callable, inputs: all, outs: count }) {
    const [outs, inputs] = [all.slice(0, count), all.slice(count)];
    const { shape, views } = commonViews(operation, inputs);
    const types = inputs.map((t) => t.dtype);
    const own = callable.program(types, undefined, operation)!;
    checkSize(operation, callable, own);
    const program = count === 0 ? own : storedInto(own, outs);
    const outputs = resultsOf(program).map((id, k) => {
      const { dtype } = program.nodes[id];
      return { dtype, frame: fromStart(outs[k]?.frame ?? outputView(dtype, shape, views)) };
    });
    const frames = [...outputs.map((o) => o.frame), ...views.map(fromStart)];
    const [{ dtype, frame }, ...more] = outputs;
    const told = callable.template!;
    const ready = prepare({ form: "elementwise", program, frames });
    return { ...ready, dtype, frame, more, params: program.params, told, names: told.params };
  },
};

/** The program with each result converted to the dtype of its output. */
function storedInto(program: Program, outs: readonly Strided[]): Program {
  const b = new Builder();
  const places: number[] = [];
  for (const node of program.nodes) {
    if (node.op !== "tuple") places.push(b.add({ ...node, args: node.args.map((a) => places[a]) }));
  }
  const results = resultsOf(program).map((id, k) => b.cast(outs[k].dtype, places[id]));
  return b.finish(b.tuple(...results), program.inputs, program.params);
}

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
      `the function has ${several} results, got ${outs.length} ${outs.length === 1 ? "output" : "outputs"}.`,
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
