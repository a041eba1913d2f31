/**
 * `fuse(fn)`: a function of tensors becomes few loops. The function is run once, on tensors without elements; what it asks
 * for is noted, and operations that follow one another element by element become one kernel, a fold with what it folds. The
 * bits are those of the separate operations.
 */
import { engine, within } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { explain, type Report } from "../explain/explain.ts";
import type { Storage } from "../memory/storage.ts";
import { checkFlag, checkThunk, readOptions } from "../ops/arguments.ts";
import { assign, copyTo } from "../ops/copy.ts";
import { checkAlive, checkWritable, share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { live, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { overlaps } from "../view/overlap.ts";
import { isContiguous } from "../view/view.ts";
import { type Given, locate, runSchedule, type Slots } from "./run.ts";
import { type Schedule, schedule } from "./schedule.ts";
import { type Ref, Trace } from "./trace.ts";
import { buildTree, readTree, type Shape } from "./tree.ts";

/** How much may be fused. */
export interface FuseOptions {
  /**
   * true (the default): sums of floats are grouped as those of the separate operations, to the last bit. false: they may be
   * grouped otherwise, so that more of them take in what they sum.
   */
  readonly exact?: boolean;
}

/** A tensor of any dtype for each tensor of a result. */
export type Outputs<R> = R extends Tensor
  ? Tensor
  : R extends object
    ? { readonly [K in keyof R]: Outputs<R[K]> }
    : R;

/** A function that was fused: the same parameters, the same result. */
export interface Fused<P extends readonly unknown[], R> {
  (...args: P): R;
  /** As calling it, but results are written into tensors that are there: one for each, arranged as the result is. */
  into<O extends Outputs<R>>(out: O, ...args: P): O;
  /** Runs it and reports what ran: each kernel with its operations, its source, its loops and its WebAssembly. */
  explain(...args: P): Report<R>;
}

/**
 * A function of tensors as few kernels: one for operations that follow one another element by element, one for a fold and
 * all that it folds. Nothing is stored in between, and the results have the bits of the separate operations.
 *
 *     const loss = fuse((a, b, c) => a.mul(b).add(c).relu().sum());
 *     loss(x, y, z); // one loop
 *
 * The function is run once for each combination of dtypes and layouts, on tensors that have no elements: what it decides, it
 * decides by shapes. Numbers that it is given, and what it has from outside, are taken as they were then; pass what changes.
 *
 * @param fn a function of tensors, and of what else it needs
 * @param options `exact`: sums have the bits of the separate operations, default true
 * @returns a function of the same parameters, with `into` and `explain`
 * @example
 * const loss = fuse((a, b) => a.sub(b).square().sum());
 * loss(tensor([1, 2]), tensor([0, 4])); // → f32 5
 */
export function fuse<P extends readonly Tensor[], R>(
  fn: (...args: P) => R,
  options?: FuseOptions,
): Fused<P, R>;
export function fuse<P extends readonly unknown[], R>(
  fn: (...args: P) => R,
  options?: FuseOptions,
): Fused<P, R>;
export function fuse(fn: (...args: never[]) => unknown, options: FuseOptions = {}): unknown {
  checkThunk("fuse", fn, "fuse((a, b) => a.mul(b).sum())");
  const { exact = true } = readOptions("fuse", options, "{ exact: false }", ["exact"]);
  checkFlag("fuse", "exact", exact);
  const traces = new Map<string, Traced>();
  const call = (args: readonly unknown[]): unknown => {
    const e = engine();
    // Inside of another one it is a part of it.
    if (e.tracer !== null) return fn(...(args as never[]));
    const { traced, given, tensors } = tracedFor(fn, exact, traces, args);
    return within("fuse", () => resultOf(traced, given, tensors));
  };
  return Object.assign((...args: unknown[]) => call(args), {
    into: (out: unknown, ...args: unknown[]) => {
      const e = engine();
      if (e.tracer !== null || e.recorder !== null) return assignTree(out, fn(...(args as never[])));
      const { traced, given } = tracedFor(fn, exact, traces, args);
      within("fuse", () => writeInto(traced, given, out));
      return out;
    },
    explain: (...args: unknown[]) => explain(() => call(args)),
  });
}

/* Traces ------------------------------------------------------------------------------------------------------------- */

/** What a function came to, for arguments of these dtypes and layouts. */
interface Traced {
  readonly schedule: Schedule;
  /** Where arguments began in the trace. */
  readonly offsets: readonly number[];
  readonly shape: Shape;
  readonly results: readonly Result[];
  /** Storages of its own: what it made of numbers. */
  readonly own: readonly Storage[];
}

interface Result {
  readonly ref: Ref;
  readonly readOnly: boolean;
  /** It is that argument, or that tensor from elsewhere, and nothing was done to it. */
  readonly given: { readonly argument: number } | { readonly tensor: Tensor } | null;
}

/** So many combinations of layouts are kept of a function; then the one that was made first goes. */
const MOST_TRACES = 64;

function tracedFor(
  fn: (...args: never[]) => unknown,
  exact: boolean,
  traces: Map<string, Traced>,
  args: readonly unknown[],
): { traced: Traced; given: Given; tensors: readonly Tensor[] } {
  const { shape, tensors, text } = readTree(args, "the arguments");
  const operands = tensors.map((t) => live("fuse", t));
  const isRecorded = engine().recorder !== null;
  const key = `${isRecorded ? "recorded " : ""}${text}|${operands.map(layoutKey).join("|")}`;
  let traced = traces.get(key);
  if (traced === undefined) {
    traced = trace(fn, exact, shape, operands, isRecorded);
    const [oldest] = traces.keys();
    if (traces.size >= MOST_TRACES) traces.delete(oldest);
    traces.set(key, traced);
  }
  const { offsets } = traced;
  const shifts = operands.map((t, k) => t.frame.offset - offsets[k]);
  return { traced, given: { args: operands, shifts }, tensors };
}

const layoutKey = ({ dtype, frame, readOnly }: Strided): string =>
  `${dtype} ${frame.shape} ${frame.strides}${readOnly ? " r" : ""}`;

function trace(
  fn: (...args: never[]) => unknown,
  exact: boolean,
  shape: Shape,
  operands: readonly Strided[],
  isRecorded: boolean,
): Traced {
  const t = new Trace(engine(), isRecorded);
  const { result, tensors } = t.run(() => {
    const symbols = operands.map((of) => wrap(t.argument(of)));
    const args = buildTree(shape, (k) => symbols[k]) as never[];
    const returned = fn(...args);
    failPromise(returned);
    const tree = readTree(returned, "the result");
    if (tree.tensors.length === 0) {
      fail(
        "value",
        "fuse",
        `the function returned ${describe(returned)}.`,
        "Return a tensor that is made of its arguments, or tensors in arrays and plain objects.",
      );
    }
    const results = tree.tensors.map((made): Result => {
      const of = live("fuse", made);
      const argument = symbols.indexOf(made);
      const ref = t.refOf(of);
      const isOutside = ref.place.kind === "captured" && !ref.place.isOwn;
      return {
        ref,
        readOnly: of.readOnly,
        given: argument >= 0 ? { argument } : isOutside ? { tensor: made } : null,
      };
    });
    return { shape: tree.shape, results };
  });
  const { results } = result;
  const own = new Set<Storage>();
  for (const { place } of [...t.notes.flatMap((n) => n.inputs), ...results.map((r) => r.ref)])
    if (place.kind === "captured") own.add(place.storage);
  t.letGo(tensors, own);
  const refs = results.map((r) => r.ref);
  return {
    schedule: schedule(t.notes, t.made, refs, { exact }),
    offsets: t.offsets,
    shape: result.shape,
    results,
    own: [...own],
  };
}

function failPromise(returned: unknown): void {
  if (!(returned instanceof Promise)) return;
  returned.catch(() => {});
  fail(
    "value",
    "fuse",
    "the function returned a promise, and it is only followed while it runs.",
    "Fuse what is computed between awaits: const step = fuse((x) => …).",
  );
}

/* Results ------------------------------------------------------------------------------------------------------------ */

function resultOf(traced: Traced, given: Given, tensors: readonly Tensor[]): unknown {
  const slots = runSchedule(traced.schedule, given, new Map());
  const taken = new Set<number>();
  const leaf = (index: number): Tensor => {
    const { ref, readOnly, given: itself } = traced.results[index];
    if (itself !== null) return "argument" in itself ? tensors[itself.argument] : itself.tensor;
    const of = { ...locate(ref, given, slots), readOnly };
    // What was made of numbers is the trace's own.
    if (ref.place.kind === "captured") return wrap(copyTo("fuse", of, of.dtype, true));
    if (ref.place.kind === "made" && !taken.has(ref.place.id)) {
      taken.add(ref.place.id);
      return wrap(of);
    }
    return wrap(share(of, of.frame, readOnly));
  };
  try {
    return buildTree(traced.shape, leaf);
  } catch (error) {
    releaseSlots(slots, taken);
    throw error;
  }
}

function releaseSlots(slots: Slots, taken: ReadonlySet<number>): void {
  slots.forEach((t, id) => {
    if (t !== null && !taken.has(id)) t.storage.release();
  });
}

/* Into outputs ------------------------------------------------------------------------------------------------------- */

function writeInto(traced: Traced, given: Given, out: unknown): void {
  const { results, schedule } = traced;
  const outs = outputsFor(traced, out);
  outs.forEach((o, k) => {
    const { shape } = results[k].ref.frame;
    checkWritable("fuse", o);
    if (sameShape(o.frame.shape, shape)) return;
    fail(
      "shape",
      "fuse",
      `output ${k} is ${list(o.frame.shape)}, the result is ${list(shape)}.`,
      "An existing output must have exactly the result's shape.",
    );
  });
  const direct = directOutputs(traced, given, outs);
  const slots = runSchedule(schedule, given, direct);
  try {
    results.forEach(({ ref }, k) => {
      if (ref.place.kind === "made" && direct.get(ref.place.id) === outs[k]) return;
      assign("fuse", outs[k], locate(ref, given, slots));
    });
  } finally {
    slots.forEach((t, id) => {
      if (t !== null && !direct.has(id)) t.storage.release();
    });
  }
}

function outputsFor({ shape }: Traced, out: unknown): Strided[] {
  const tree = readTree(out, "the output");
  const outs = tree.tensors.map((t) => live("fuse", t));
  const text = (s: Shape): string =>
    s.kind === "list"
      ? `[${s.items.map(text)}]`
      : s.kind === "object"
        ? `{${s.keys.map((key, k) => `${key}: ${text(s.items[k])}`)}}`
        : s.kind;
  if (text(tree.shape) !== text(shape)) {
    fail(
      "value",
      "fuse",
      `the outputs are arranged as ${text(tree.shape)}, the result as ${text(shape)}.`,
      "Give one tensor for each tensor of the result, in the same arrays and objects.",
    );
  }
  outs.forEach((a, i) => {
    const j = outs.findIndex(
      (b, k) => k > i && a.storage.origin === b.storage.origin && overlaps(a.frame, b.frame),
    );
    if (j >= 0)
      fail("value", "fuse", `outputs ${i} and ${j} share memory.`, "Each result needs a place of its own.");
  });
  return outs;
}

/** Results that can be computed right where they go: nobody else reads them, and nothing that is read lies there. */
function directOutputs(
  { schedule: { kernels, made }, results }: Traced,
  { args }: Given,
  outs: readonly Strided[],
): Map<number, Strided> {
  const direct = new Map<number, Strided>();
  const read = new Set(
    kernels.flatMap((k) => k.leaves.flatMap(({ place }) => (place.kind === "made" ? [place.id] : []))),
  );
  const sources = [
    ...args.map((t) => t.storage.origin),
    ...kernels.flatMap((k) =>
      k.leaves.flatMap(({ place }) => (place.kind === "captured" ? [place.storage.origin] : [])),
    ),
  ];
  results.forEach(({ ref: { place, frame } }, k) => {
    if (place.kind !== "made" || read.has(place.id)) return;
    const isShared = results.some(
      (r, j) => j !== k && r.ref.place.kind === "made" && r.ref.place.id === place.id,
    );
    const { dtype, frame: own } = made[place.id];
    const out = outs[k];
    const kernel = kernels.find((one) => (one.outs as readonly number[]).includes(place.id))!;
    const isAll = sameShape(own.shape, frame.shape) && sameShape(own.strides, frame.strides);
    // One loop over elements looks itself whether it would write what it has yet to read.
    const isApart = !sources.includes(out.storage.origin) || (kernels.length === 1 && kernel.kind === "map");
    const isTaken = kernel.kind === "map" || (kernel.kind === "fold" && isContiguous(out.frame));
    if (out.dtype === dtype && !isShared && isAll && isApart && isTaken) direct.set(place.id, out);
  });
  return direct;
}

/** Where somebody records: what was computed, copied into the outputs. */
function assignTree(out: unknown, result: unknown): unknown {
  const to = readTree(out, "the output").tensors;
  const from = readTree(result, "the result").tensors;
  if (to.length !== from.length) {
    fail("value", "fuse", `there are ${from.length} results and ${to.length} outputs.`, "Give one for each.");
  }
  to.forEach((t, k) => {
    checkAlive("fuse", stridedOf(from[k]));
    t.assign(from[k]);
  });
  return out;
}
