/**
 * Folds at run time: kernels by fold and layout class, and who runs them. Folds of many elements into few cells are cut
 * along the fold too: each part makes partial cells, and a last fold combines them in order.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import type { Heap } from "../memory/heap.ts";
import type { Fold } from "../optimize/reduce.ts";
import {
  axesOf,
  type FoldAxis,
  type FoldKernelPlan,
  type FoldLoops,
  type Grouping,
  groupedAs,
  joinsEarly,
  levelsOf,
  planFold,
  planFoldKernel,
  unrollOf,
} from "../optimize/reduce-plan.ts";
import { inVectors } from "../optimize/size.ts";
import { rowMajorStrides } from "../view/layout.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import type { View } from "../view/view.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import { starts } from "../wasm/fold/kit.ts";
import { emitFold } from "../wasm/fold/reduce.ts";
import type { FoldNests, FoldWork, Prepared } from "./call.ts";
import { Scratch } from "./descriptors.ts";
import { addressOf, instantiate, type KernelCache } from "./kernel.ts";
import { isEmpty } from "./odometer.ts";
import type { Pool } from "./pool.ts";
import { MOST_KERNELS, Recent } from "./recent.ts";
import { foldText, lowerFold } from "./reduce-lower.ts";
import {
  Batch,
  type Cells,
  type CompiledFold,
  type Cut,
  cellCount,
  cutLoops,
  descriptorBytes,
  type FoldParams,
  type FoldRequest,
  keptOf,
  MOST_SPLIT,
  type Parts,
  sizeOfAxes,
} from "./reduce-tasks.ts";
import type { Walker } from "./walker.ts";
import { planWalk } from "./walks.ts";

/** A fold that is planned, for inputs and an output anywhere. */
export interface PlannedFold {
  readonly request: FoldRequest;
  readonly kernel: CompiledFold;
  readonly loops: FoldLoops;
  readonly cut: Cut;
  /** Into how many parts the fold is cut, and the fold of what they make; null: it is not. */
  readonly parts: Parts | null;
  readonly combine: PlannedFold | null;
  readonly cells: Cells;
  /** Bytes of the cells that are not the output's own. */
  readonly cellBytes: number;
  /** The tasks of each round, from when they have been run once; null: they are too many. */
  tasks: (Int32Array | null)[] | null;
}

/** With fewer tasks than this, a fold that may be regrouped is cut into parts of so many elements. */
const FEW_TASKS = 16;
const PART = 131072;
/** Elements that a part folds into a cell: partial cells are written and read again. Fewer where tasks are too few. */
const PART_FOLD = 256;
const LEAST_FOLD = 64;
const LEAST_TASKS = 8;
/** Rounds whose tasks are kept. */
const MOST_ROUNDS = 64;

export class FoldRunner {
  readonly #heap: Heap;
  readonly #kernels: KernelCache;
  readonly #walker: Walker;
  readonly #pool: Pool;
  readonly #byFold = new WeakMap<Fold, Map<string, CompiledFold>>();
  readonly #byText = new Recent<CompiledFold>(MOST_KERNELS);
  readonly #stages = new WeakMap<Fold, Stages>();
  readonly #scratch: Scratch;

  constructor(heap: Heap, kernels: KernelCache, walker: Walker, pool: Pool) {
    this.#heap = heap;
    this.#kernels = kernels;
    this.#walker = walker;
    this.#pool = pool;
    this.#scratch = new Scratch(heap);
  }

  prepare(work: FoldWork & { readonly fold: Fold }): Prepared {
    const { fold, sources, form, like } = work;
    const { kept, folded } = like?.own ?? foldNests(work, fold.algebra === null);
    const count = sources.length;
    const isNothing = isEmpty(kept) || (form === "scan" && isEmpty(folded));
    if (isNothing) return { backend: "wasm", spent: { kept, folded }, run() {} };
    const start = startOf(fold, work.init);
    if (isEmpty(folded)) return this.#prepareFill(fold, sources.length, kept, folded, start!);
    const known = like?.itemBytes.length ?? 0;
    const nests = like?.all ?? { kept, folded };
    const planned = this.plan({
      fold,
      itemBytes: sources.map((s) => s?.itemBytes ?? 0),
      shifts: sources.map((_, k) => kept.offsets[k] + folded.offsets[k]),
      out: kept.offsets[count],
      kept: axesOf(nests.kept, known + count),
      folded: axesOf(nests.folded, known + count),
      start,
      every: form === "scan",
      ...(like === undefined ? {} : { like }),
    });
    const { kernel, loops } = planned;
    return {
      backend: "wasm",
      spent: { fold, kept, folded, kernel, loops },
      run: (out, inputs, params) => {
        const at = new Array<number>(count);
        for (let i = 0, k = 0; i < count; i++) at[i] = sources[i] === null ? 0 : addressOf(inputs[k++]);
        this.run(planned, addressOf(out), at, foldParams(fold, params));
      },
    };
  }

  /** Nothing is folded: every output is what the start value comes to. */
  #prepareFill(fold: Fold, out: number, kept: LoopNest, folded: LoopNest, start: Value): Prepared {
    const strides = kept.strides[out];
    const nest = { ...kept, strides: [strides, strides.map(() => 0)], offsets: [] };
    const planned = planWalk(this.#kernels, fold.finish, nest)!;
    return {
      backend: "wasm",
      spent: { kept, folded },
      run: (to, _, params) => {
        const cell = this.#heap.alloc(8, "reduce");
        try {
          dtypes[fold.carry].write(this.#heap.view, cell, start);
          const at = addressOf(to) + kept.offsets[out];
          this.#walker.walk(planned, [at, cell], foldParams(fold, params).finish);
        } finally {
          this.#heap.free(cell);
        }
      },
    };
  }

  /** The kernel for a plan, made if it is new. */
  find(plan: FoldKernelPlan): CompiledFold {
    let kernels = this.#byFold.get(plan.fold);
    if (kernels === undefined) {
      kernels = new Map();
      this.#byFold.set(plan.fold, kernels);
    }
    const key = this.#kernels.simd ? plan.key : `scalar ${plan.key}`;
    let kernel = kernels.get(key);
    if (kernel === undefined) {
      const text = `${key}\n${foldText(plan.fold)}`;
      kernel = this.#byText.get(text) ?? this.#compile(plan);
      this.#byText.set(text, kernel);
      kernels.set(key, kernel);
    }
    return kernel;
  }

  #compile(plan: FoldKernelPlan): CompiledFold {
    const began = performance.now();
    const features = detectFeatures();
    const simd = features.simd && this.#kernels.simd && inVectors(plan.fold.step);
    const fma = features.relaxedSimd && simd;
    const programs = lowerFold(plan.fold, fma);
    const bytes = emitFold(plan, programs, { simd, fma, shared: this.#heap.shared }).toBytes();
    const made = instantiate(bytes, this.#heap);
    this.#kernels.compiled++;
    return {
      ...made,
      plan,
      programs,
      simd,
      cost: 0.08 * programs.step.nodes.length * (simd ? 1 : 4),
      compileTime: performance.now() - began,
      params:
        programs.step.params.length + (programs.first?.params.length ?? 0) + programs.finish.params.length,
      taskBytes: descriptorBytes(programs, 1 + plan.streams.length),
    };
  }

  /** No axis is empty. */
  plan(r: FoldRequest): PlannedFold {
    const mayRegroup = r.fold.algebra !== null && r.every !== true;
    // Loops are chosen by what the fold is like: what it reads itself counts for nothing.
    const chosenBy = r.like === undefined ? r.itemBytes : [...r.like.itemBytes, ...r.itemBytes.map(() => 0)];
    const all = planFold(r.kept, r.folded, chosenBy, mayRegroup);
    const cut = cutLoops(all, chosenBy, mayRegroup);
    const known = r.like?.itemBytes.length ?? 0;
    const loops = known === 0 ? all : withInputs(all, known, chosenBy.length);
    const grouping = r.like === undefined ? undefined : this.#groupingOf(r.like, withInputs(all, 0, known));
    const parts = mayRegroup ? partsOf(loops, cut) : null;
    if (parts !== null) return this.#planParts(r, loops, cut, parts, grouping);
    const cells = cellsPlace(r, loops);
    const cellBytes = cellCount(cells, loops, cut) * dtypes[r.fold.carry].bytes;
    const kernel = this.#kernelFor(r, loops, grouping);
    return { request: r, kernel, loops, cut, parts, combine: null, cells, cellBytes, tasks: [] };
  }

  /** How a fold of stored values groups them. */
  #groupingOf({ fold, itemBytes }: NonNullable<FoldRequest["like"]>, loops: FoldLoops): Grouping {
    const plan = planFoldKernel(fold, loops, itemBytes, false, 0);
    const features = detectFeatures();
    const simd = features.simd && this.#kernels.simd && inVectors(fold.step);
    const { step, early } = lowerFold(fold, features.relaxedSimd && simd);
    return {
      groups: unrollOf(step, levelsOf(step, plan), plan),
      early: early !== null && joinsEarly(early, plan),
    };
  }

  #planParts(r: FoldRequest, loops: FoldLoops, cut: Cut, parts: Parts, grouping?: Grouping): PlannedFold {
    const stages = this.#stagesOf(r.fold);
    const { bytes } = dtypes[r.fold.carry];
    const { identity } = r.fold.algebra!;
    const kept = keptOf(loops);
    const count = sizeOfAxes(kept);
    const { dense, steps } = densely(loops, kept, bytes);
    const request = { ...r, fold: stages.part, out: 0, start: identity };
    const combine = this.plan({
      fold: stages.combine,
      itemBytes: [bytes],
      shifts: [0],
      out: r.out,
      kept: kept.map((axis, d) => ({ size: axis.size, inputs: [steps[d]], out: axis.out })),
      folded: [{ size: parts.count, inputs: [count * bytes], out: 0 }],
      start: r.start ?? identity,
    });
    const kernel = this.#kernelFor(request, dense, grouping);
    const cellBytes = parts.count * count * bytes;
    return { request, kernel, loops: dense, cut, parts, combine, cells: "output", cellBytes, tasks: [] };
  }

  /** Folds inputs that begin here; an input that is a position begins at 0. */
  run(planned: PlannedFold, out: number, inputs: readonly number[], params: FoldParams): void {
    const { cellBytes, combine, cells } = planned;
    const own = cellBytes === 0 ? 0 : this.#heap.alloc(cellBytes, "reduce");
    try {
      if (combine === null) {
        this.#runRounds(planned, [out, ...inputs, cells === "output" ? out : own], params);
        return;
      }
      // Every part has cells of its own, which are then folded in their order.
      this.#runRounds(planned, [own, ...inputs, own], params);
      this.run(combine, out, [own], { step: [], first: [], finish: params.finish });
    } finally {
      if (own !== 0) this.#heap.free(own);
    }
  }

  /** Folded loops that the kernel does not run: it is called once a round, and cells live on between rounds. */
  #runRounds(planned: PlannedFold, begins: readonly number[], params: FoldParams): void {
    const { request: r, kernel, loops, cut, parts, cells } = planned;
    const { moreFolded } = loops;
    const rounds = sizeOfAxes(moreFolded);
    const work = cut.total / rounds;
    const known = planned.tasks;
    if (rounds === 1 && known?.[0]) {
      new Batch(this.#scratch, this.#pool, kernel, begins).again(known[0], params, work);
      return;
    }
    const first = r.start === null && r.fold.first !== null ? starts.first : starts.value;
    const index = new Array<number>(moreFolded.length).fill(0);
    if (rounds > MOST_ROUNDS) planned.tasks = null;
    for (let round = 0; round < rounds; round++) {
      const batch = new Batch(this.#scratch, this.#pool, kernel, begins);
      const words = known?.[round];
      if (words) batch.again(words, params, work);
      else {
        const shifts = r.shifts.map((a, k) =>
          moreFolded.reduce((at, axis, d) => at + index[d] * axis.inputs[k], a),
        );
        const tasks = batch.run(
          {
            request: { ...r, shifts },
            loops,
            cut,
            parts,
            cells,
            start: round === 0 ? first : starts.kept,
            finish: cells !== "output" && !r.every && round === rounds - 1,
            work,
          },
          params,
        );
        if (planned.tasks !== null) planned.tasks[round] = tasks;
      }
      for (let d = index.length - 1; d >= 0 && ++index[d] === moreFolded[d].size; d--) index[d] = 0;
    }
  }

  #kernelFor(r: FoldRequest, loops: FoldLoops, grouping?: Grouping): CompiledFold {
    const resultBytes = dtypes[r.fold.finish.dtype].bytes;
    descriptorBytes(r.fold, 1 + r.itemBytes.length);
    const plan = planFoldKernel(r.fold, loops, r.itemBytes, r.every ?? false, resultBytes);
    return this.find(grouping === undefined ? plan : groupedAs(plan, grouping));
  }

  #stagesOf(fold: Fold): Stages {
    let stages = this.#stages.get(fold);
    if (stages === undefined) {
      stages = {
        part: fold.plain ? fold : { ...fold, finish: bareProgram(fold.carry), plain: true },
        combine: {
          ...fold,
          step: fold.algebra!.combine,
          algebra: { ...fold.algebra!, early: null },
        },
      };
      this.#stages.set(fold, stages);
    }
    return stages;
  }
}

/** Captured values come in one list: the step's, the end's, and the first element's if it has any. */
export function foldParams({ step, finish }: Fold, all: readonly Value[]): FoldParams {
  if (all.length === 0) return noParams;
  const afterStep = step.params.length;
  const afterFinish = afterStep + finish.params.length;
  return {
    step: all.slice(0, afterStep),
    finish: all.slice(afterStep, afterFinish),
    first: all.slice(afterFinish),
  };
}
const noParams: FoldParams = { step: [], first: [], finish: [] };

/* Loops -------------------------------------------------------------------------------------------------- */

/** The loops of [...inputs, out] over the axes that stay, and of the inputs (a scan's output too) over those that go. */
export function foldNests({ sources, isFolded, out, form }: FoldWork, keepOrder: boolean): FoldNests {
  const { shape } = sources.find((s) => s !== null)!;
  const views = sources.map((s) => s ?? positions(shape, isFolded));
  const isScan = form === "scan";
  const stays = isScan ? pick(out, isFolded, false) : out;
  const kept = planLoops([...views.map((v) => pick(v, isFolded, false)), stays]);
  const goes = isScan ? [...views, out] : views;
  const folded = planLoops(
    goes.map((v) => pick(v, isFolded, true)),
    { keepOrder: keepOrder || isScan },
  );
  return { kept, folded };
}

/** The same loops for some of their inputs. */
function withInputs(loops: FoldLoops, from: number, to: number): FoldLoops {
  const cut = (axis: FoldAxis): FoldAxis => ({ ...axis, inputs: axis.inputs.slice(from, to) });
  const { lane, step, block, outer, moreKept, moreFolded } = loops;
  return {
    ...loops,
    lane: cut(lane),
    step: cut(step),
    block: cut(block),
    outer: cut(outer),
    moreKept: moreKept.map(cut),
    moreFolded: moreFolded.map(cut),
  };
}

/** The view of the axes that are folded, or of those that are not, from its start. */
export function pick(view: View, isFolded: readonly boolean[], folded: boolean): View {
  const wanted = (_: number, d: number) => isFolded[d] === folded;
  return {
    shape: view.shape.filter(wanted),
    strides: view.strides.filter(wanted),
    offset: 0,
    itemBytes: view.itemBytes,
  };
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

/** Where the accumulator starts, carried; null: at the first element. */
export function startOf(fold: Fold, init: Value | null): Value | null {
  return init !== null ? fold.enter(init) : (fold.algebra?.identity ?? null);
}

/* Cells -------------------------------------------------------------------------------------------------- */

/** Where a whole fold's accumulators are. */
function cellsPlace({ fold, every }: FoldRequest, loops: FoldLoops): Cells {
  const { bytes } = dtypes[fold.carry];
  const isDense = loops.kind !== "columns" || loops.lane.out === bytes || loops.lane.size === 1;
  if (fold.plain && !every && isDense) return "output";
  return sizeOfAxes(loops.moreFolded) > 1 ? "all" : "tile";
}

/* Parts -------------------------------------------------------------------------------------------------- */

/** The fold that leaves its accumulators as they are, and the fold of those. */
interface Stages {
  readonly part: Fold;
  readonly combine: Fold;
}

/** Into how many parts a fold is cut; null: it is not. */
function partsOf(loops: FoldLoops, cut: Cut): Parts | null {
  if (cut.tasks >= FEW_TASKS || cut.total < 2 * PART || loops.moreFolded.length > 0) return null;
  const along = loops.kind !== "rows" && loops.step.size >= loops.block.size ? "step" : "block";
  const perCell = cut.total / sizeOfAxes(keptOf(loops));
  const count = Math.min(
    loops[along].size,
    Math.floor(cut.total / PART),
    Math.ceil(MOST_SPLIT / cut.tasks),
    Math.max(
      Math.floor(perCell / PART_FOLD),
      Math.min(Math.floor(perCell / LEAST_FOLD), Math.ceil(LEAST_TASKS / cut.tasks)),
    ),
  );
  return count > 1 ? { along, count } : null;
}

/** The same loops with cells that lie densely in the order of the kept loops, and the bytes each of these moves. */
function densely(
  loops: FoldLoops,
  kept: readonly FoldAxis[],
  bytes: number,
): { dense: FoldLoops; steps: number[] } {
  const steps = new Array<number>(kept.length);
  let step = bytes;
  for (let d = kept.length - 1; d >= 0; d--) {
    steps[d] = step;
    step *= kept[d].size;
  }
  const place = (axis: FoldAxis): FoldAxis => {
    const d = kept.indexOf(axis);
    return d < 0 ? axis : { ...axis, out: steps[d] };
  };
  const dense = {
    ...loops,
    lane: place(loops.lane),
    step: place(loops.step),
    outer: place(loops.outer),
    moreKept: loops.moreKept.map(place),
  };
  return { dense, steps };
}

const bare = new Map<DType, Program>();

function bareProgram(d: DType): Program {
  let program = bare.get(d);
  if (program === undefined) {
    const nodes = [{ op: "input", index: 0, dtype: d, args: [] }] as const;
    program = { nodes, result: 0, inputs: [d], params: [], dtype: d };
    bare.set(d, program);
  }
  return program;
}
