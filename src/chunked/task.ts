/**
 * One task: reads what it needs, computes, writes the chunks of its block, and lets go of everything. It may be run again at any
 * time, by anybody: the same bytes come out.
 */

import { scope, tensor, zeros } from "../api.ts";
import { dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import type { ZarrArray } from "../io/zarr-array.ts";
import { kernel } from "../kernel.ts";
import { pad } from "../library/pad.ts";
import { tensordot } from "../library/products.ts";
import { histogram } from "../library/statistics.ts";
import type { NamedOp } from "../ops/named.ts";
import { turns } from "../run/turns.ts";
import { namedOp, namedReduction, type Tensor } from "../tensor.ts";
import {
  blockRegion,
  countsOf,
  type Expr,
  evaluate,
  gridOf,
  itemsOf,
  LANES,
  placeIn,
  type ReadArray,
  type Region,
  scalarFrom,
  touchedBytes,
  whole,
} from "./expr.ts";
import type { FoldKind } from "./graph.ts";
import { blocksFrom } from "./kernels.ts";
import { operationOf } from "./resume.ts";
import { openArray, specOf } from "./stores.ts";
import type { Plan, RunContext, TaskReport } from "./types.ts";
import type { ContractWork, FoldWork, Work } from "./work.ts";

const OPERATION = "chunked";

interface Task {
  readonly plan: Plan;
  readonly read: ReadArray;
  /** What is written: a region of the output. */
  readonly region: Region;
  readonly shape: readonly number[];
  readonly block: readonly number[];
  readonly at: readonly number[];
  readonly signal: AbortSignal | undefined;
  readonly timeLimit: number | undefined;
}

/** Runs one task of an operation: see `TaskReport` for what comes back. */
export async function runTask(
  plan: Plan,
  operation: string,
  index: number,
  context: RunContext,
): Promise<TaskReport> {
  const start = performance.now();
  const op = operationOf(plan, operation);
  if (!(Number.isInteger(index) && index >= 0 && index < op.tasks)) {
    fail("index", OPERATION, `operation ${operation} has no task ${index}.`, `There are ${op.tasks}.`);
  }
  const { signal } = context;
  signal?.throwIfAborted();
  const stop = signal === undefined ? {} : { signal };
  let read = 0;
  const readArray: ReadArray = async (name, region) => {
    const array = await openArray(plan, name, context);
    const spec = specOf(plan, name);
    read += touchedBytes(region, spec, spec.dtype);
    return array.read(itemsOf(region), { concurrency: LANES, ...stop });
  };
  const { shape, dtype } = specOf(plan, op.output);
  const at = placeIn(gridOf(shape, op.block), index);
  const region = blockRegion(shape, op.block, at);
  const out = await openArray(plan, op.output, context);
  const { heap } = engine();
  heap.resetPeak();
  const before = heap.stats().bytesInUse;
  const { timeLimit } = context;
  const task: Task = { plan, read: readArray, region, shape, block: op.block, at, signal, timeLimit };
  const result = await compute(op.work as Work, task);
  try {
    await write(out, region, result, stop);
  } finally {
    result.dispose();
  }
  const written = region.reduce<number>((n, r) => n * r.count, dtypes[dtype].bytes);
  const peak = Math.max(0, heap.stats().peakBytes - before);
  return { operation, index, read, written, peak, milliseconds: performance.now() - start };
}

async function write(
  array: ZarrArray,
  region: Region,
  result: Tensor,
  stop: { readonly signal?: AbortSignal },
): Promise<void> {
  if (result.dtype !== array.dtype || String(result.shape) !== String(countsOf(region))) {
    fail(
      "internal",
      OPERATION,
      `a task made ${result.dtype} [${result.shape}] for ${array.dtype} [${countsOf(region)}].`,
    );
  }
  await array.write(itemsOf(region), result, { concurrency: LANES, ...stop });
}

function compute(work: Work, task: Task): Promise<Tensor> {
  switch (work.kind) {
    case "blockwise":
      return evaluate(work.expr, task.region, task.read);
    case "fold":
      return fold(work, task);
    case "combine":
      return combine(work, task);
    case "scan":
      return work.stage === "offsets" ? offsets(work.array, task) : cumulate(work, task);
    case "contract":
      return contract(work, task);
    case "blocks":
      return blocks(work, task);
    case "quantile":
      return quantile(work, task);
    default:
      return fail("value", OPERATION, "the plan has an operation of no known kind.", "Make the plan again.");
  }
}

/** What is made of each, one after the other; with `ahead` the next one is on its way meanwhile. Each is disposed of. */
async function each<T>(
  items: readonly T[],
  ahead: boolean,
  make: (item: T) => Promise<Tensor>,
  use: (t: Tensor, item: T) => void,
): Promise<void> {
  let next: Promise<Tensor> | null = items.length > 0 ? make(items[0]) : null;
  const turn = turns();
  for (const [k, item] of items.entries()) {
    const t: Tensor = await next!;
    await turn();
    const hasMore = k + 1 < items.length;
    next = ahead && hasMore ? make(items[k + 1]) : null;
    // Whoever fails first is told; the other is not left alone.
    next?.catch(() => {});
    try {
      use(t, item);
    } catch (error) {
      await next?.then(
        (late) => late.dispose(),
        () => {},
      );
      throw error;
    } finally {
      t.dispose();
    }
    if (next === null && hasMore) next = make(items[k + 1]);
  }
}

/* Folds ------------------------------------------------------------------------------------------------- */

/** How two folds become one; a state is a tensor of [states, …kept]. */
const mergers: Record<Exclude<FoldKind, "moments">, NamedOp> = {
  sum: "add",
  histogram: "add",
  prod: "mul",
  min: "minimum",
  max: "maximum",
  any: "logicalOr",
  all: "logicalAnd",
};

const meanOf = kernelOf(() => kernel((n1, m1, n2, m2) => m1 + ((m2 - m1) * n2) / (n1 + n2)));
const squaresOf = kernelOf(() =>
  kernel((n1: number, m1: number, s1: number, n2: number, m2: number, s2: number) => {
    const d = m2 - m1;
    return s1 + s2 + (d * d * n1 * n2) / (n1 + n2);
  }),
);
const squareDistance = kernelOf(() => kernel((x, m) => (x - m) * (x - m), {}, { compute: "f64" }));

/** A kernel made at first use: importing makes nothing. */
function kernelOf<K>(make: () => K): () => K {
  let made: K | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Writes into `state` what it and `more` come to together (Chan's rule for moments: counts, means, squares about the mean). */
function mergeInto(how: FoldKind, state: Tensor, more: Tensor): void {
  if (how !== "moments") {
    namedOp(mergers[how], [state, more], { out: state });
    return;
  }
  scope(() => {
    const [n1, m1, s1] = [0, 1, 2].map((k) => state.slice(k));
    const [n2, m2, s2] = [0, 1, 2].map((k) => more.slice(k));
    s1.assign(squaresOf()(n1, m1, s1, n2, m2, s2) as Tensor);
    m1.assign(meanOf()(n1, m1, n2, m2) as Tensor);
    namedOp("add", [n1, n2], { out: n1 });
  });
}

/** The state of one block: [states, …kept]. */
function stateOf(work: FoldWork, block: Tensor, range: readonly [number, number] | null): Tensor {
  const { how, axes, dtype } = work;
  return scope(() => {
    switch (how) {
      case "moments": {
        const count = axes.reduce((n, d) => n * block.shape[d], 1);
        const mean = (block.sum({ axis: axes, keepdims: true, dtype: "f64" }) as Tensor).div(count);
        const squares = squareDistance().reduce("sum", { axis: [...axes] })(block, mean) as Tensor;
        const state = zeros([3, ...squares.shape], { dtype: "f64" });
        state.slice(0).fill(count);
        state.slice(1).assign(mean.reshape(squares.shape));
        state.slice(2).assign(squares);
        return state;
      }
      case "histogram": {
        const { counts } = histogram(block, { bins: work.bins!, range: range! });
        return (counts as Tensor).to(dtype);
      }
      default: {
        const options = how === "sum" || how === "prod" ? { dtype } : {};
        return namedReduction(how, block, { axis: [...axes], ...options })
          .expandDims(0)
          .to(dtype);
      }
    }
  });
}

/** The chunks of one group, folded one after the other. */
async function fold(work: FoldWork, task: Task): Promise<Tensor> {
  const { expr, axes, chunks, groups, how } = work;
  const { at, read } = task;
  const range = await rangeOf(work, task);
  const kept = expr.shape.map((_, d) => d).filter((d) => !axes.includes(d));
  const grid = gridOf(
    axes.map((d) => expr.shape[d]),
    axes.map((d) => chunks[d]),
  );
  const total = grid.reduce((a, b) => a * b, 1);
  const group = at[1];
  const [first, end] = [Math.floor((group * total) / groups), Math.floor(((group + 1) * total) / groups)];
  // A histogram keeps no axis, and runs over all of them.
  const keptAt = at.slice(2);
  const regions = Array.from({ length: end - first }, (_, k) => {
    const inside = placeIn(grid, first + k);
    const index = expr.shape.map((_, d) => {
      const a = axes.indexOf(d);
      return a >= 0 ? inside[a] : keptAt[kept.indexOf(d)];
    });
    return blockRegion(expr.shape, chunks, index);
  });
  let state: Tensor | null = null;
  try {
    await each(
      regions,
      work.ahead,
      (region) => evaluate(expr, region, read),
      (block) => {
        task.signal?.throwIfAborted();
        const more = stateOf(work, block, range);
        if (state === null) {
          state = more;
          return;
        }
        mergeInto(how, state, more);
        more.dispose();
      },
    );
    const made = (state as Tensor | null)!.expandDims(1);
    return made;
  } finally {
    (state as Tensor | null)?.dispose();
  }
}

async function rangeOf({ range }: FoldWork, { read }: Task): Promise<readonly [number, number] | null> {
  if (range === null) return null;
  const [low, high] = range;
  if (typeof low === "number" || typeof high === "number") return [low as number, high as number];
  const ends = spread(await scalarOf(low, read), await scalarOf(high, read));
  if (ends.every(Number.isFinite)) return ends;
  return fail(
    "value",
    "histogram",
    `elements are NaN or infinite: the range from the smallest to the largest is ${list(ends)}.`,
    "Give one: { range: [low, high] }; what lies beyond it is not counted.",
  );
}

/** As NumPy does where all elements are the same; where there are none, any range will do. */
function spread(low: number, high: number): readonly [number, number] {
  if (low > high) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

async function scalarOf(expr: Expr, read: ReadArray): Promise<number> {
  return (await numbersOf(expr, read))[0];
}

/** All elements as numbers. */
async function numbersOf(expr: Expr, read: ReadArray): Promise<number[]> {
  const t = await evaluate(expr, whole(expr.shape), read);
  try {
    return scope(() => Array.from(t.reshape(-1).toTypedArray() as ArrayLike<number | bigint>, Number));
  } finally {
    t.dispose();
  }
}

/** The states of all groups, one after the other. */
async function combine(work: Extract<Work, { kind: "combine" }>, task: Task): Promise<Tensor> {
  const { region, read } = task;
  const parts = Array.from({ length: work.groups }, (_, g) => [
    region[0],
    { start: g, step: 1, count: 1 },
    ...region.slice(1),
  ]);
  let state: Tensor | null = null;
  try {
    await each(
      parts,
      false,
      (part) => read(work.array, part),
      (t) => {
        state = scope(() => {
          const one = t.reshape(countsOf(region));
          if (state === null) return one.clone();
          mergeInto(work.how, state, one);
          return state;
        });
      },
    );
    return (state as Tensor | null)!;
  } catch (error) {
    (state as Tensor | null)?.dispose();
    throw error;
  }
}

/* Cumulative sums --------------------------------------------------------------------------------------- */

/** Of the sums of chunks, those before each chunk. */
async function offsets(array: string, { region, read }: Task): Promise<Tensor> {
  const sums = await read(array, [{ start: 0, step: 1, count: 1 }, ...region]);
  try {
    return scope(() => {
      const plain = sums.reshape(countsOf(region));
      const made = zeros([...plain.shape], { dtype: plain.dtype });
      if (plain.shape[0] > 1) {
        const before = plain.cumsum({ axis: 0, dtype: plain.dtype });
        made.slice([1, null]).assign(before.slice([0, -1]));
      }
      return made;
    });
  } finally {
    sums.dispose();
  }
}

async function cumulate(
  work: Extract<Work, { kind: "scan"; stage: "apply" }>,
  { region, read, at }: Task,
): Promise<Tensor> {
  const { expr, axis } = work;
  const t = await evaluate(expr, region, read);
  try {
    const sums = scope(() => t.cumsum({ axis, dtype: work.dtype }) as Tensor);
    if (work.offsets === null) return sums;
    try {
      await addBefore(sums, work.offsets, { region, read, at }, axis);
      return sums;
    } catch (error) {
      sums.dispose();
      throw error;
    }
  } finally {
    t.dispose();
  }
}

/** Adds to cumulative sums of a block what lies before it. */
async function addBefore(
  sums: Tensor,
  offsets: string,
  { region, read, at }: Pick<Task, "region" | "read" | "at">,
  axis: number,
): Promise<void> {
  const kept = region.filter((_, d) => d !== axis);
  const before = await read(offsets, [{ start: at[axis], step: 1, count: 1 }, ...kept]);
  try {
    scope(() => {
      const shape = region.map((r, d) => (d === axis ? 1 : r.count));
      namedOp("add", [sums, before.reshape(shape)], { out: sums });
    });
  } finally {
    before.dispose();
  }
}

/* Products ---------------------------------------------------------------------------------------------- */

/** A block of the result stays; blocks of the operands pass by. */
async function contract(work: ContractWork, task: Task): Promise<Tensor> {
  const { a, b, axesA, axesB, inner, dtype } = work;
  const { region, read } = task;
  const freeA = a.shape.map((_, d) => d).filter((d) => !axesA.includes(d));
  const freeB = b.shape.map((_, d) => d).filter((d) => !axesB.includes(d));
  const sizes = axesA.map((d) => a.shape[d]);
  const grid = gridOf(sizes, inner);
  const total = grid.reduce((x, y) => x * y, 1);
  const panel = (expr: Expr, free: readonly number[], axes: readonly number[], from: number, k: number) => {
    const summed = blockRegion(sizes, inner, placeIn(grid, k));
    return expr.shape.map((_, d) => {
      const j = axes.indexOf(d);
      return j >= 0 ? summed[j] : region[from + free.indexOf(d)];
    });
  };
  const isPlain = a.shape.length === 2 && b.shape.length === 2 && axesA.length === 1;
  const out = zeros([...countsOf(region)], { dtype });
  /** The second operands that are on their way or here. */
  const others = new Map<number, Tensor>();
  try {
    await each(
      Array.from({ length: total }, (_, k) => k),
      work.ahead,
      async (k) => {
        const left = await evaluate(a, panel(a, freeA, axesA, 0, k), read);
        try {
          others.set(k, await evaluate(b, panel(b, freeB, axesB, freeA.length, k), read));
        } catch (error) {
          left.dispose();
          throw error;
        }
        return left;
      },
      (left, k) => {
        task.signal?.throwIfAborted();
        const right = others.get(k)!;
        scope(() => {
          if (isPlain) {
            const [x, y] = [
              axesA[0] === 1 ? left : left.transpose(),
              axesB[0] === 0 ? right : right.transpose(),
            ];
            x.to(dtype).matmul(y.to(dtype), { out, accumulate: true });
            return;
          }
          const axes = [[...axesA], [...axesB]] as [number[], number[]];
          namedOp("add", [out, tensordot(left.to(dtype), right.to(dtype), { axes })], { out });
        });
        right.dispose();
        others.delete(k);
      },
    );
    return out;
  } catch (error) {
    out.dispose();
    throw error;
  } finally {
    for (const t of others.values()) t.dispose();
  }
}

/* Blocks ------------------------------------------------------------------------------------------------ */

/** A function of a block with what lies around it. */
async function blocks(work: Extract<Work, { kind: "blocks" }>, task: Task): Promise<Tensor> {
  const { expr, halo, boundary, dtype } = work;
  const { region, read } = task;
  const sides = region.map(({ start, count }, d) => {
    const [low, high] = [start - halo[d], start + count + halo[d]];
    return [Math.max(0, -low), Math.max(0, high - expr.shape[d])] as [number, number];
  });
  const around = region.map(({ start, count }, d) => {
    const from = start - halo[d] + sides[d][0];
    return { start: from, step: 1, count: count + 2 * halo[d] - sides[d][0] - sides[d][1] };
  });
  const inside = await evaluate(expr, around, read);
  const out = zeros([...countsOf(region)], { dtype });
  try {
    scope(() => {
      const isEdge = sides.some(([before, after]) => before + after > 0);
      const options =
        typeof boundary === "string"
          ? { mode: boundary }
          : { mode: "constant" as const, value: scalarFrom(boundary) };
      const block = isEdge ? pad(inside, sides, options) : inside.contiguous();
      blocksFrom("mapBlocks", work.fn).call(
        [out, block],
        task.timeLimit === undefined ? null : { timeLimit: task.timeLimit * 1000 },
      );
    });
    return out;
  } catch (error) {
    out.dispose();
    throw error;
  } finally {
    inside.dispose();
  }
}

/* Quantiles --------------------------------------------------------------------------------------------- */

async function quantile(work: Extract<Work, { kind: "quantile" }>, { read }: Task): Promise<Tensor> {
  const all = await numbersOf(work.counts, read);
  const [low, high] = spread(await scalarOf(work.low, read), await scalarOf(work.high, read));
  const total = all.reduce((a, b) => a + b, 0);
  if (total === 0)
    return tensor(
      work.q.map(() => Number.NaN),
      { dtype: "f64" },
    );
  const width = (high - low) / all.length;
  const values = work.q.map((q) => {
    const wanted = q * total;
    let before = 0;
    for (const [k, n] of all.entries()) {
      if (n > 0 && before + n >= wanted) return low + width * (k + (wanted - before) / n);
      before += n;
    }
    return high;
  });
  return tensor(values, { dtype: "f64" });
}
