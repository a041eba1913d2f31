/**
 * Running a fold: planned for the layouts at hand, and kept, so that the same fold of tensors that lie elsewhere is not
 * planned again.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { type Engine, engine } from "../engine.ts";
import type { Program } from "../ir/node.ts";
import { type Fold, type FoldMaking, makeFold } from "../optimize/reduce.ts";
import { axesOf } from "../optimize/reduce-plan.ts";
import type { KernelCache } from "../run/kernel.ts";
import { isEmpty } from "../run/odometer.ts";
import { FoldRunner, RecordedFold } from "../run/reduce.ts";
import { interpretFold } from "../run/reduce-interpret.ts";
import { canCompile } from "../run/reduce-lower.ts";
import { type FoldParams, type FoldRequest, noParams } from "../run/reduce-tasks.ts";
import { rowMajorStrides } from "../view/layout.ts";
import { planLoops } from "../view/loops.ts";
import type { View } from "../view/view.ts";
import { sameShape, sameStrides } from "./copy.ts";
import type { Strided } from "./strided.ts";

/** The view of the axes that are folded, or of those that are not. */
export function pick(view: View, isFolded: readonly boolean[], folded: boolean, offset = view.offset): View {
  const shape: number[] = [];
  const strides: number[] = [];
  for (let d = 0; d < isFolded.length; d++) {
    if (isFolded[d] !== folded) continue;
    shape.push(view.shape[d]);
    strides.push(view.strides[d]);
  }
  return { shape, strides, offset, itemBytes: view.itemBytes };
}

const runners = new WeakMap<KernelCache, FoldRunner>();

export function foldRunner(e: Engine): FoldRunner {
  let runner = runners.get(e.kernels);
  if (runner === undefined) {
    runner = new FoldRunner(e.heap, e.kernels, e.pool);
    runners.set(e.kernels, runner);
  }
  return runner;
}

/** An input of a fold, in the common shape; or the position of an element in its fold, in C order. */
export type Source = { readonly of: Strided; readonly view: View } | "position";

export interface FoldWork {
  readonly operation: string;
  /** What the function says, for those who listen. */
  readonly source?: string;
  readonly fold: Fold;
  readonly params?: FoldParams;
  /** Captured values by name, for those who listen. */
  readonly values?: Readonly<Record<string, string>>;
  readonly sources: readonly Source[];
  readonly shape: readonly number[];
  readonly isFolded: readonly boolean[];
  /** In the function's own dtype; null: at the first element, or where the operation itself starts. */
  readonly init: Value | null;
  /** Where the result goes: a view of the kept axes. */
  readonly out: { readonly of: Strided; readonly view: View };
}

/** A compiled fold that was run: for any operands of these shapes and strides. */
export interface RanFold {
  readonly recorded: RecordedFold;
  /** null: the position. */
  readonly sources: readonly (View | null)[];
  readonly out: View;
  readonly shape: readonly number[];
  readonly isFolded: readonly boolean[];
  readonly init: Value | null;
  readonly params: FoldParams;
  readonly simd: boolean;
  /** Bytes from where a view begins to where it is read or written first. */
  readonly shifts: readonly number[];
}
const MOST_RAN = 4;
/** The latest folds, by what was folded. */
const ran = new WeakMap<Fold, RanFold[]>();

/** A fold like one before, without a plan; null: there was none, or somebody wants to hear of it. */
function runAgain(w: FoldWork): RanFold | null {
  const e = engine();
  const known = ran.get(w.fold);
  if (e.listener !== null || known === undefined) return null;
  for (const call of known) {
    if (call.simd !== e.kernels.simd || !isSameWork(call, w)) continue;
    const inputs = w.sources.map((s, k) =>
      s === "position" ? 0 : s.of.storage.address + s.view.offset + call.shifts[k],
    );
    const { of, view } = w.out;
    foldRunner(e).again(call.recorded, of.storage.address + view.offset, inputs);
    return call;
  }
  return null;
}

function isSameWork(call: RanFold, { sources, out, shape, isFolded, init, params }: FoldWork): boolean {
  if (!Object.is(call.init, init) || call.sources.length !== sources.length) return false;
  if (!sameStrides(call.out, out.view) || !sameShape(call.shape, shape)) return false;
  for (let d = 0; d < isFolded.length; d++) if (call.isFolded[d] !== isFolded[d]) return false;
  for (let k = 0; k < sources.length; k++) {
    const source = sources[k];
    const before = call.sources[k];
    if (source === "position" || before === null) {
      if (source !== "position" || before !== null) return false;
    } else if (!sameStrides(before, source.view)) return false;
  }
  return sameParams(call.params, params ?? noParams);
}

function sameParams(a: FoldParams, b: FoldParams): boolean {
  if (a === b) return true;
  const same = (x: readonly Value[], y: readonly Value[]) =>
    x.length === y.length && x.every((value, i) => Object.is(value, y[i]));
  return same(a.step, b.step) && same(a.first, b.first) && same(a.finish, b.finish);
}

/** out[kept] = fold over the folded axes. There is a start value if nothing is folded. */
export function runFold(w: FoldWork): RanFold | null {
  const again = runAgain(w);
  if (again !== null) return again;
  const { fold, isFolded, shape, sources, out } = w;
  const e = engine();
  const views = sources.map((s) => (s === "position" ? positions(shape, isFolded) : s.view));
  const kept = planLoops([...views.map((v) => pick(v, isFolded, false)), out.view]);
  if (isEmpty(kept)) return null;
  const start = w.init !== null ? fold.enter(w.init) : fold.algebra !== null ? fold.algebra.identity : null;
  const params = w.params ?? noParams;
  const outAddress = out.of.storage.address + kept.offsets[sources.length];
  const foldedViews = views.map((v) => pick(v, isFolded, true, 0));
  const folded = planLoops(foldedViews, { keepOrder: fold.algebra === null });
  e.listener?.({
    kind: "operation",
    operation: w.operation,
    form: "reduce",
    source: w.source ?? w.operation,
    ...(w.values === undefined ? {} : { values: w.values }),
    out: { dtype: out.of.dtype, storage: out.of.storage, frame: out.view },
    inputs: sources.flatMap((s) =>
      s === "position" ? [] : [{ dtype: s.of.dtype, storage: s.of.storage, frame: s.view }],
    ),
    axes: isFolded.flatMap((f, d) => (f ? [d] : [])),
  });
  if (!canCompile(fold)) {
    const addresses = sources.map((s) => (s === "position" ? 0 : s.of.storage.address));
    const offsets = [...addresses, out.of.storage.address].map((a, k) => a + kept.offsets[k]);
    const types = sources.map((s) => (s === "position" ? null : s.of.dtype));
    interpretFold(e.heap.view, { ...kept, offsets }, folded, types, fold, params, start);
    e.listener?.({
      kind: "kernel",
      operation: w.operation,
      backend: "interpreter",
      detail: { kept, folded, fold },
    });
    return null;
  }
  if (isEmpty(folded)) {
    fillStart(e, fold, params, start!, outAddress, kept.shape, kept.strides[sources.length]);
    e.listener?.({ kind: "kernel", operation: w.operation, backend: "wasm", detail: { kept, folded } });
    return null;
  }
  const request: FoldRequest = {
    fold,
    params,
    itemBytes: sources.map((s) => (s === "position" ? 0 : s.view.itemBytes)),
    addresses: sources.map(
      (s, k) => kept.offsets[k] + folded.offsets[k] + (s === "position" ? 0 : s.of.storage.address),
    ),
    out: outAddress,
    kept: axesOf(kept, sources.length),
    folded: axesOf(folded, sources.length),
    start,
  };
  const recorded = new RecordedFold();
  const report = foldRunner(e).run(request, recorded);
  e.listener?.({
    kind: "kernel",
    operation: w.operation,
    backend: "wasm",
    detail: { ...report, kept, folded, fold },
  });
  if (recorded.steps === null || e.listener !== null) return null;
  const call: RanFold = {
    recorded,
    sources: sources.map((s) => (s === "position" ? null : s.view)),
    out: out.view,
    shape,
    isFolded,
    init: w.init,
    params,
    simd: e.kernels.simd,
    shifts: sources.map((s, k) =>
      s === "position" ? 0 : request.addresses[k] - s.of.storage.address - s.view.offset,
    ),
  };
  const known = ran.get(fold) ?? [];
  ran.set(fold, known);
  known.unshift(call);
  if (known.length > MOST_RAN) known.pop();
  return call;
}

/** The address of an element of this "view" is its position in the fold. */
function positions(shape: readonly number[], isFolded: readonly boolean[]): View {
  const within = rowMajorStrides(
    shape.filter((_, d) => isFolded[d]),
    1,
  );
  let k = 0;
  return { shape, strides: isFolded.map((f) => (f ? within[k++] : 0)), offset: 0, itemBytes: 1 };
}

/** Nothing is folded: every output is what the start value comes to. */
function fillStart(
  e: Engine,
  fold: Fold,
  params: FoldParams,
  start: Value,
  out: number,
  shape: readonly number[],
  strides: readonly number[],
): void {
  const cell = e.heap.alloc(8, "reduce");
  try {
    dtypes[fold.carry].write(e.heap.view, cell, start);
    const nest = {
      shape,
      strides: [strides, strides.map(() => 0)],
      offsets: [out, cell],
      order: [],
      flipped: [],
    };
    e.kernels.elementwise(fold.finish, nest, params.finish);
  } finally {
    e.heap.free(cell);
  }
}

const folds = new WeakMap<Program, Map<string, Fold>>();

/** One fold a program and result, so that kernels are found again. `key` names what is made of it. */
export function foldOf(program: Program, result: DType, making: FoldMaking = {}, key = ""): Fold {
  let known = folds.get(program);
  if (known === undefined) {
    known = new Map();
    folds.set(program, known);
  }
  const full = `${result} ${key}`;
  let fold = known.get(full);
  if (fold === undefined) {
    fold = makeFold(program, result, making);
    known.set(full, fold);
  }
  return fold;
}
