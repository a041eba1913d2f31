/** Padding: the tensor in the middle of a larger one, and rules for what lies around it. */
import type { DType } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { numberList, readOptions, snapshot } from "../ops/arguments.ts";
import { assign } from "../ops/copy.ts";
import { fromData, type Scalar } from "../ops/create.ts";
import { allocate, filled } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import type { View } from "../view/view.ts";
import { rangeOf } from "./manipulate.ts";

/** How the index goes on beyond the ends of an axis of n: i → the index whose element stands there. */
const rules = {
  edge: (i: number, n: number) => Math.min(n - 1, Math.max(0, i)),
  /** … 2 1 | 0 1 2 | 1 0 …: the ends are not repeated. */
  reflect: (i: number, n: number) => (n === 1 ? 0 : n - 1 - Math.abs(n - 1 - modulo(i, 2 * n - 2))),
  /** … 1 0 | 0 1 2 | 2 1 … */
  symmetric: (i: number, n: number) => {
    const x = modulo(i, 2 * n);
    return x < n ? x : 2 * n - 1 - x;
  },
  wrap: (i: number, n: number) => modulo(i, n),
} as const;

const modulo = (i: number, n: number) => ((i % n) + n) % n;

/** What lies around: one value, or the tensor's own elements by a rule, by NumPy's names. */
export type PadMode = "constant" | keyof typeof rules;
/** For all axes, before and after; [before, after] for all axes; or a pair for each axis. */
export type PadWidth = number | readonly [number, number] | readonly (readonly [number, number])[];

/** The options of `pad`. */
export interface PadOptions {
  /** Default "constant". */
  readonly mode?: PadMode;
  /** What "constant" writes; default 0. */
  readonly value?: Scalar;
}

/**
 * The tensor in the middle of a larger one.
 *
 * @param t a tensor of any layout
 * @param width for all axes and both ends; [before, after] for all axes; or such a pair an axis
 * @param options `mode`: what lies around, default "constant"; `value`: of "constant", default 0
 * @returns a new tensor of t's dtype
 * @example
 * pad(tensor([1, 2, 3]), [1, 2]); // → f32 [0, 1, 2, 3, 0, 0]
 * pad(tensor([1, 2, 3]), 2, { mode: "reflect" }); // → f32 [3, 2, 1, 2, 3, 2, 1]
 */
export function pad<D extends DType>(t: Tensor<D>, width: PadWidth, options: PadOptions = {}): Tensor<D> {
  const op = "pad";
  width = snapshot(op, "the width", width);
  options = readOptions(op, options, '{ mode: "edge" }', ["mode", "value"]);
  liveTensor(op, t);
  const { mode = "constant", value = 0 } = options;
  if (mode !== "constant" && !(typeof mode === "string" && Object.hasOwn(rules, mode))) {
    fail("value", op, `mode is ${describe(mode)}.`, `Use one of constant ${Object.keys(rules).join(" ")}.`);
  }
  const widths = widthsOf(op, width, t.rank);
  for (const [d, [before, after]] of widths.entries()) {
    if (mode === "constant" || t.shape[d] > 0 || before + after === 0) continue;
    fail("shape", op, `axis ${d} is empty, so ${mode} has nothing to go on.`, 'Use mode "constant".');
  }
  const out = allocate(
    op,
    t.dtype,
    t.shape.map((n, d) => n + widths[d][0] + widths[d][1]),
  );
  return wrap(
    filled(out, () => {
      const middle = inner(out.frame, widths, 0);
      assign(op, { ...out, frame: middle }, stridedOf(t));
      if (mode === "constant") fillAround(op, out, widths, value);
      else for (let d = 0; d < t.rank; d++) extend(op, out, widths, d, rules[mode]);
    }),
  );
}

type Widths = readonly (readonly [number, number])[];

function widthsOf(op: string, width: unknown, rank: number): Widths {
  const check = (x: unknown): number => {
    if (Number.isSafeInteger(x) && (x as number) >= 0) return x as number;
    return fail("value", op, `the width ${describe(x)} is none.`, "Widths are whole numbers from 0.");
  };
  const pair = (x: unknown): readonly [number, number] => {
    const both = numberList(op, "a width", x);
    if (both.length !== 2) fail("value", op, `${list(both)} is no pair.`, "Give [before, after].");
    return [check(both[0]), check(both[1])];
  };
  if (typeof width === "number") return new Array(rank).fill([check(width), check(width)]);
  if (!Array.isArray(width) || width.length === 0) {
    if (Array.isArray(width) && rank === 0) return [];
    return fail("value", op, `the width is ${describe(width)}.`, "Give a number, [before, after], or pairs.");
  }
  if (typeof width[0] === "number") return new Array(rank).fill(pair(width));
  const pairs = width.map(pair);
  if (pairs.length === rank) return pairs;
  if (pairs.length === 1) return new Array(rank).fill(pairs[0]);
  return fail(
    "shape",
    op,
    `${pairs.length} pairs for ${rank} axes.`,
    "Give one for each axis, or one for all.",
  );
}

/** Without the padding of the axes from `first` on. */
function inner(view: View, widths: Widths, first: number): View {
  let v = view;
  for (let d = first; d < widths.length; d++) {
    const [before, after] = widths[d];
    v = rangeOf(v, d, before, v.shape[d] - before - after);
  }
  return v;
}

/** One value around the middle: of each axis both ends, of the axes before it only the middle, so nothing twice. */
function fillAround(op: string, out: Strided, widths: Widths, value: Scalar): void {
  const one = fromData(value, { dtype: out.dtype }, op);
  try {
    let rest = out.frame;
    for (const [d, [before, after]] of widths.entries()) {
      const size = rest.shape[d];
      if (before > 0) assign(op, { ...out, frame: rangeOf(rest, d, 0, before) }, one);
      if (after > 0) assign(op, { ...out, frame: rangeOf(rest, d, size - after, after) }, one);
      rest = rangeOf(rest, d, before, size - before - after);
    }
  } finally {
    one.storage.release();
  }
}

/** Both ends of one axis from its middle; axes before it are whole already, those after it have only their middle. */
function extend(
  op: string,
  out: Strided,
  widths: Widths,
  axis: number,
  rule: (i: number, n: number) => number,
): void {
  const [before, after] = widths[axis];
  const whole = inner(out.frame, widths, axis + 1);
  const n = whole.shape[axis] - before - after;
  const runs = [...runsOf(-before, 0, n, rule), ...runsOf(n, n + after, n, rule)];
  for (const { at, from, count, step } of runs) {
    const to = rangeOf(whole, axis, before + at, count);
    assign(op, { ...out, frame: to }, { ...out, frame: rangeOf(whole, axis, before + from, count, step) });
  }
}

/** Indices start … end as runs in which the rule goes one up, one down, or stays. */
function runsOf(start: number, end: number, n: number, rule: (i: number, n: number) => number) {
  const runs: { at: number; from: number; count: number; step: number }[] = [];
  let last = runs[0];
  for (let i = start; i < end; i++) {
    const source = rule(i, n);
    const step = last === undefined ? 0 : source - (last.from + (last.count - 1) * last.step);
    if (last !== undefined && Math.abs(step) <= 1 && (last.count === 1 || step === last.step)) {
      last.count++;
      last.step = step;
    } else {
      last = { at: i, from: source, count: 1, step: 0 };
      runs.push(last);
    }
  }
  return runs;
}
