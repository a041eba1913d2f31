/**
 * Folds at run time: kernels by fold and layout class, and who runs them. Folds of many elements into few cells are cut
 * along the fold too: each part makes partial cells, and a last fold combines them in order.
 */
import { type DType, dtypes } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import type { Heap } from "../memory/heap.ts";
import type { Fold } from "../optimize/reduce.ts";
import {
  type FoldAxis,
  type FoldKernelPlan,
  type FoldLoops,
  planFold,
  planFoldKernel,
} from "../optimize/reduce-plan.ts";
import { inVectors } from "../optimize/size.ts";
import { detectFeatures } from "../wasm/features.ts";
import { emitFold } from "../wasm/reduce.ts";
import { starts } from "../wasm/reduce-kit.ts";
import { Scratch } from "./descriptors.ts";
import { instantiate, type KernelCache } from "./kernel.ts";
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
  type FoldRequest,
  keptOf,
  MOST_SPLIT,
  noParams,
  type Parts,
  places,
  type Recording,
  sizeOfAxes,
} from "./reduce-tasks.ts";

/** What was done, for explain. */
export interface FoldReport {
  readonly kernel: CompiledFold;
  readonly loops: FoldLoops;
  readonly cut: Cut;
  /** How many parts the fold was cut into. */
  readonly parts: number;
}

/** A fold that has been run, to be run again for tensors that lie elsewhere. */
export class RecordedFold {
  /** null: something of it cannot be recorded. */
  steps: Recording[] | null = [];
  /** Bytes of the places that are neither the input nor the output. */
  partials = 0;
  cells = 0;

  add(step: Recording | null): void {
    if (step === null) this.steps = null;
    else this.steps?.push(step);
  }
}

/** With fewer tasks than this, a fold that may be regrouped is cut into parts of so many elements. */
const FEW_TASKS = 16;
const PART = 131072;
/** Elements that a part folds into a cell: partial cells are written and read again. Fewer where tasks are too few. */
const PART_FOLD = 256;
const LEAST_FOLD = 64;
const LEAST_TASKS = 8;

export class FoldRunner {
  readonly #heap: Heap;
  readonly #kernels: KernelCache;
  readonly #pool: Pool;
  readonly #byFold = new WeakMap<Fold, Map<string, CompiledFold>>();
  readonly #byText = new Recent<CompiledFold>(MOST_KERNELS);
  readonly #stages = new WeakMap<Fold, Stages>();
  readonly #scratch: Scratch;

  constructor(heap: Heap, kernels: KernelCache, pool: Pool) {
    this.#heap = heap;
    this.#kernels = kernels;
    this.#pool = pool;
    this.#scratch = new Scratch(heap);
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
    };
  }

  /** Folds. No axis is empty. */
  run(r: FoldRequest, record: RecordedFold | null = null): FoldReport {
    return this.#run(
      r,
      record,
      r.itemBytes.map((bytes, k) => (bytes === 0 ? places.fixed : places.input(k))),
    );
  }

  /** `from`: the inputs' places. */
  #run(r: FoldRequest, record: RecordedFold | null, from: readonly number[]): FoldReport {
    const mayRegroup = r.fold.algebra !== null && r.every !== true;
    const loops = planFold(r.kept, r.folded, r.itemBytes, mayRegroup);
    const cut = cutLoops(loops, r.itemBytes, mayRegroup);
    const parts = mayRegroup ? partsOf(loops, cut) : null;
    const kernel =
      parts === null
        ? this.#runWhole(r, loops, cut, record, from)
        : this.#runParts(r, loops, cut, parts, record, from);
    return { kernel, loops, cut, parts: parts?.count ?? 1 };
  }

  /** A recorded fold of inputs that begin elsewhere; an input that is a position begins nowhere. */
  again({ steps, partials, cells }: RecordedFold, out: number, inputs: readonly number[]): void {
    const scratch = partials + cells === 0 ? 0 : this.#heap.alloc(partials + cells, "reduce");
    try {
      const begins = [0, out, scratch, scratch + partials, ...inputs];
      for (const step of steps!) this.#batch(step.kernel).replay(step, begins);
    } finally {
      if (scratch !== 0) this.#heap.free(scratch);
    }
  }

  #kernelFor(r: FoldRequest, loops: FoldLoops): CompiledFold {
    const resultBytes = dtypes[r.fold.finish.dtype].bytes;
    descriptorBytes(r.fold, 1 + r.itemBytes.length);
    return this.find(planFoldKernel(r.fold, loops, r.itemBytes, r.every ?? false, resultBytes));
  }

  #batch(kernel: CompiledFold): Batch {
    return new Batch(this.#scratch, this.#pool, kernel);
  }

  #runWhole(
    r: FoldRequest,
    loops: FoldLoops,
    cut: Cut,
    record: RecordedFold | null,
    from: readonly number[],
  ): CompiledFold {
    const { fold } = r;
    const { bytes } = dtypes[fold.carry];
    const kernel = this.#kernelFor(r, loops);
    const start = r.start === null && fold.first !== null ? starts.first : starts.value;
    // Folded loops that the kernel does not run: it is called once a round, and cells live on between rounds.
    const rounds = sizeOfAxes(loops.moreFolded);
    const where = cellsPlace(r, loops);
    const count = cellCount(where, loops, cut);
    const cells: Cells = { where, address: count === 0 ? 0 : this.#heap.alloc(count * bytes, "reduce") };
    try {
      const batch = this.#batch(kernel);
      const index = new Array<number>(loops.moreFolded.length).fill(0);
      for (let round = 0; round < rounds; round++) {
        const addresses = r.addresses.map((a, k) =>
          loops.moreFolded.reduce((at, axis, d) => at + index[d] * axis.inputs[k], a),
        );
        batch.add({
          request: { ...r, addresses },
          loops,
          cut,
          parts: null,
          cells,
          start: round === 0 ? start : starts.kept,
          finish: where !== "output" && !r.every && round === rounds - 1,
          work: cut.total / rounds,
        });
        if (record !== null) {
          const own = where === "output";
          const begins = [r.out, ...inputBegins(r), own ? r.out : cells.address];
          record.add(batch.record(begins, [places.out, ...from, own ? places.out : places.cells]));
          record.cells = count * bytes;
        }
        batch.flush();
        for (let d = index.length - 1; d >= 0 && ++index[d] === loops.moreFolded[d].size; d--) index[d] = 0;
      }
    } finally {
      if (count > 0) this.#heap.free(cells.address);
    }
    return kernel;
  }

  #runParts(
    r: FoldRequest,
    loops: FoldLoops,
    cut: Cut,
    parts: Parts,
    record: RecordedFold | null,
    from: readonly number[],
  ): CompiledFold {
    const stages = this.#stagesOf(r.fold);
    const { bytes } = dtypes[r.fold.carry];
    const identity = r.fold.algebra!.identity;
    const kept = keptOf(loops);
    const count = sizeOfAxes(kept);
    const partials = this.#heap.alloc(parts.count * count * bytes, "reduce");
    try {
      const { dense, steps } = densely(loops, kept, bytes);
      const kernel = this.#kernelFor({ ...r, fold: stages.part }, dense);
      const batch = this.#batch(kernel);
      batch.add({
        request: { ...r, fold: stages.part, out: partials, start: identity },
        loops: dense,
        cut,
        parts,
        cells: { where: "output", address: 0 },
        start: starts.value,
        finish: false,
        work: cut.total,
      });
      if (record !== null) {
        const begins = [partials, ...inputBegins(r), partials];
        record.add(batch.record(begins, [places.partials, ...from, places.partials]));
        record.partials = parts.count * count * bytes;
      }
      batch.flush();
      const combine: FoldRequest = {
        fold: stages.combine,
        params: { ...noParams, finish: r.params.finish },
        itemBytes: [bytes],
        addresses: [partials],
        out: r.out,
        kept: kept.map((axis, d) => ({ size: axis.size, inputs: [steps[d]], out: axis.out })),
        folded: [{ size: parts.count, inputs: [count * bytes], out: 0 }],
        start: r.start ?? identity,
      };
      this.#run(combine, record, [places.partials]);
      return kernel;
    } finally {
      this.#heap.free(partials);
    }
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

const inputBegins = ({ addresses, itemBytes }: FoldRequest): number[] =>
  addresses.map((a, k) => (itemBytes[k] === 0 ? 0 : a));

/** Where a whole fold's accumulators are. */
function cellsPlace({ fold, every }: FoldRequest, loops: FoldLoops): Cells["where"] {
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
