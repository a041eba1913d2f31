/**
 * Elements that fail: a loop that has no end, an index outside of a table. Compiled code leaves a record of one of them; which
 * one comes first, and what is said of it, the interpreter says, within a bound of time.
 */
import type { Value } from "../dtype.ts";
import type { Engine } from "../engine.ts";
import { fail, unreachable } from "../errors.ts";
import { type FailedFact, Failure } from "../ir/eval.ts";
import { isEffect, MOST_ROUNDS, type Program, someNode } from "../ir/node.ts";
import type { Call, Plan, Strided, Work } from "../run/call.ts";
import { FAILURE, failed } from "../wasm/program/failure.ts";

/** Elements and rounds that are interpreted to find the first element that fails. */
const MOST_INTERPRETED = 3_000_000;

/** May an element of this work fail? */
export const mayFail = (work: Work): boolean => programsOf(work).some(({ nodes }) => nodes.some(isEffect));

function programsOf(work: Work): Program[] {
  if (work.form === "matmul") return [];
  if ("fold" in work) {
    const { fold } = work;
    return fold === null ? [] : [fold.step, fold.finish, ...(fold.first === null ? [] : [fold.first])];
  }
  return work.program === null ? [] : [work.program];
}

/** Runs work that may fail: an element that does is an error, in the name of the operation. */
export function runChecked(
  e: Engine,
  { operation, inputs }: Call,
  { work, prepared }: Plan,
  out: Strided,
  params: readonly Value[],
): void {
  const { heap } = e;
  heap.view.setInt32(FAILURE.kind, failed.nothing, true);
  checked(operation, () => prepared.run(out, inputs, params));
  const kind = heap.view.getInt32(FAILURE.kind, true);
  if (kind === failed.nothing) return;
  heap.view.setInt32(FAILURE.kind, failed.nothing, true);
  if (kind === failed.rounds) failWith(operation, { kind: "rounds" });
  const record: FailedFact = {
    kind: "read",
    name: tableOf(work),
    index: heap.view.getFloat64(FAILURE.index, true),
    axis: kind - failed.read,
    size: heap.view.getUint32(FAILURE.size, true),
  };
  failWith(operation, firstOf(e, work, out, inputs, params) ?? record);
}

/** What `run` gives; an element that fails in the interpreter is an error of the operation. */
export function checked<R>(operation: string, run: () => R): R {
  try {
    return run();
  } catch (error) {
    if (error instanceof Failure) failWith(operation, error.fact);
    throw error;
  }
}

/** The first element that fails, in C order; null: it lies too far away. */
function firstOf(
  e: Engine,
  work: Work,
  out: Strided,
  inputs: readonly Strided[],
  params: readonly Value[],
): FailedFact | null {
  if (work.form === "matmul" || "fold" in work || work.program === null) return null;
  const around = { memory: e.heap, most: MOST_INTERPRETED };
  try {
    e.interpreter.prepareElements({ ...work, program: work.program }, around).run(out, inputs, params);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.fact.kind === "long" ? null : error.fact;
  }
  return unreachable("an element failed in compiled code only");
}

/** The table that can be meant. */
function tableOf(work: Work): string {
  const names = new Set<string>();
  for (const program of programsOf(work)) {
    someNode(program, (node) => {
      if (node.op === "read") names.add(node.name);
      return false;
    });
  }
  return names.size === 1 ? [...names][0] : "a table";
}

export function failWith(operation: string, fact: FailedFact): never {
  switch (fact.kind) {
    case "rounds":
      return fail(
        "kernel",
        operation,
        `the loops of one element went round more than ${MOST_ROUNDS} times; they are taken for endless.`,
        "Give the loop a bound: while (n < 1000 && …).",
      );
    case "read": {
      const { name, index, axis, size } = fact;
      const number = typeof index === "number" && Number.isNaN(index) ? "NaN" : String(index);
      const isFraction = typeof index === "number" && Number.isFinite(index) && !Number.isInteger(index);
      return fail(
        "index",
        operation,
        isFraction
          ? `${name}.get: the index ${number} for axis ${axis} is no whole number.`
          : `${name}.get: the index ${number} is outside of axis ${axis}, which has size ${size}.`,
        isFraction
          ? "Make it one: Math.floor(i), Math.round(i) or i | 0."
          : "Indices count from 0; test or clamp them first: Math.min(Math.max(i, 0), n - 1).",
      );
    }
    case "long":
      return unreachable("nobody limits the time of an operation");
  }
}
