/**
 * The plan of a fold, as data: which loop runs in the lanes, which loops the kernel runs around it, and which are left
 * to the caller. It depends on the layout, never on the number of threads.
 *
 * rows     lanes along a folded axis, one accumulator cell a row; several rows a call
 * runs     the same for rows that are long: a row is cut into runs of RUN elements
 * columns  lanes along a kept axis, each with its own cell: the fold keeps its order, so any function will do
 */
import { type DType, dtypes } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import type { LoopNest } from "../view/loops.ts";
import type { Early, Fold } from "./reduce.ts";
import { withConstants } from "./size.ts";
import { classLetters, type LayoutClass, layoutClass } from "./vectorize.ts";

export type FoldKind = "rows" | "runs" | "columns";

/** Elements of a row that are folded at once; sums of longer rows are sums of such sums, whoever computes them. */
export const RUN = 8192;
/** Shorter folded axes are not worth lanes of their own. */
const LEAST_ROW = 16;

/** One loop: how far it goes, and the bytes each input and the output move. A folded axis moves no output. */
export interface FoldAxis {
  readonly size: number;
  readonly inputs: readonly number[];
  readonly out: number;
}

export interface FoldLoops {
  readonly kind: FoldKind;
  readonly lane: FoldAxis;
  /** rows: kept. runs: the runs of a row. columns: folded. */
  readonly step: FoldAxis;
  /** runs: what is left of a row after its last whole run. */
  readonly tail: number;
  /** A folded loop around it. */
  readonly block: FoldAxis;
  /** A kept loop around that. */
  readonly outer: FoldAxis;
  /** More kept loops, and more folded ones, outermost first. */
  readonly moreKept: readonly FoldAxis[];
  readonly moreFolded: readonly FoldAxis[];
}

/** An operand whose address IS its value: the position in the fold. */
export type FoldClass = LayoutClass | "index";
const letters = { ...classLetters, index: "I" } as const;

export interface StreamClass {
  readonly layout: FoldClass;
  /** columns: does not move along the fold, so it is loaded once a group of columns. */
  readonly fixed: boolean;
}

export interface FoldKernelPlan {
  readonly kind: FoldKind;
  readonly fold: Fold;
  readonly streams: readonly StreamClass[];
  /** How the output's cells lie. */
  readonly out: "contiguous" | "strided";
  /** A scan: every step is stored. */
  readonly every: boolean;
  /** How elements are grouped, where it is not by what a step weighs. */
  readonly grouping?: Grouping;
  readonly key: string;
}

/** What decides in which order values are joined. */
export interface Grouping {
  /** Groups of 4 accumulators of a row. */
  readonly groups: 1 | 2 | 4 | 8;
  /** Are values joined before they are carried? */
  readonly early: boolean;
}

/** The plan of a kernel that groups elements as another one does. */
export const groupedAs = (plan: FoldKernelPlan, grouping: Grouping): FoldKernelPlan => ({
  ...plan,
  grouping,
  key: `${plan.key}~${grouping.groups}${grouping.early ? "e" : ""}`,
});

export const noLoop = (inputs: number): FoldAxis => ({ size: 1, inputs: new Array(inputs).fill(0), out: 0 });

/** The axes of a nest of [...inputs, out], or of the inputs alone. */
export function axesOf(nest: LoopNest, inputs: number): FoldAxis[] {
  return nest.shape.map((size, d) => ({
    size,
    inputs: Array.from({ length: inputs }, (_, k) => nest.strides[k][d]),
    out: nest.strides.length > inputs ? nest.strides[inputs][d] : 0,
  }));
}

/** Kept and folded axes come outermost first. */
export function planFold(
  kept: readonly FoldAxis[],
  folded: readonly FoldAxis[],
  itemBytes: readonly number[],
  mayRegroup: boolean,
): FoldLoops {
  const inputs = itemBytes.length;
  const none = noLoop(inputs);
  const alongFold = mayRegroup ? bestLane(folded, itemBytes) : null;
  const alongKept = bestLane(kept, itemBytes);
  if (alongFold !== null && prefersFold(alongFold, alongKept, itemBytes)) {
    const restFolded = folded.filter((a) => a !== alongFold);
    if (alongFold.size <= RUN) {
      const rows = kept.at(-1) ?? none;
      const restKept = kept.slice(0, -1);
      return {
        kind: "rows",
        lane: alongFold,
        step: rows,
        tail: 0,
        block: restFolded.at(-1) ?? none,
        outer: restKept.at(-1) ?? none,
        moreKept: restKept.slice(0, -1),
        moreFolded: restFolded.slice(0, -1),
      };
    }
    const runs = Math.floor(alongFold.size / RUN);
    return {
      kind: "runs",
      lane: { ...alongFold, size: RUN },
      step: { size: runs, inputs: alongFold.inputs.map((s) => s * RUN), out: 0 },
      tail: alongFold.size - runs * RUN,
      block: restFolded.at(-1) ?? none,
      outer: kept.at(-1) ?? none,
      moreKept: kept.slice(0, -1),
      moreFolded: restFolded.slice(0, -1),
    };
  }
  const lane = alongKept ?? none;
  const restKept = kept.filter((a) => a !== alongKept);
  return {
    kind: "columns",
    lane,
    step: folded.at(-1) ?? none,
    tail: 0,
    block: folded.at(-2) ?? none,
    outer: restKept.at(-1) ?? none,
    moreKept: restKept.slice(0, -1),
    moreFolded: folded.slice(0, -2),
  };
}

const isContiguous = (axis: FoldAxis, itemBytes: readonly number[]): boolean =>
  axis.inputs.every((s, k) => itemBytes[k] === 0 || s === 0 || s === itemBytes[k]) &&
  axis.inputs.some((s) => s !== 0);

/** The axis that is contiguous for every operand, else the one with the smallest steps. */
function bestLane(axes: readonly FoldAxis[], itemBytes: readonly number[]): FoldAxis | null {
  let best: FoldAxis | null = null;
  for (const axis of axes) {
    if (best === null || rank(axis, itemBytes) < rank(best, itemBytes)) best = axis;
  }
  return best;
}

/** Bytes that steps along the axis move; axes of a few elements come last. */
function rank(axis: FoldAxis, itemBytes: readonly number[]): number {
  let bytes = 0;
  axis.inputs.forEach((s, k) => {
    if (itemBytes[k] > 0) bytes += Math.abs(s);
  });
  return bytes + (axis.size < 4 ? 2 ** 40 : 0);
}

function prefersFold(fold: FoldAxis, kept: FoldAxis | null, itemBytes: readonly number[]): boolean {
  if (kept === null) return true;
  if (fold.size < LEAST_ROW) return false;
  if (isContiguous(fold, itemBytes)) return true;
  if (kept.size >= 4 && isContiguous(kept, itemBytes)) return false;
  return rank(fold, itemBytes) <= rank(kept, itemBytes);
}

/** What of the loops the kernel's code depends on. */
export function planFoldKernel(
  fold: Fold,
  loops: FoldLoops,
  itemBytes: readonly number[],
  every: boolean,
  resultBytes: number,
): FoldKernelPlan {
  const { kind, lane, step } = loops;
  const alone = lane.size === 1 && lane.inputs.every((s) => s === 0);
  const streams = itemBytes.map((bytes, k): StreamClass => {
    const fixed = kind === "columns" && step.inputs[k] === 0 && step.size > 1;
    if (bytes === 0) return { layout: "index", fixed };
    return { layout: alone ? "contiguous" : layoutClass(lane.inputs[k], bytes), fixed };
  });
  const cells = kind === "columns" ? lane : kind === "rows" ? step : loops.outer;
  const out = cells.out === resultBytes || cells.size === 1 ? "contiguous" : "strided";
  const key = `${kind}${every ? "*" : ""}:${out[0]}${streams.map((s) => letters[s.layout] + (s.fixed ? "=" : "")).join("")}`;
  return { kind, fold, streams, out, every, key };
}

/** When a node's value can change: never, with the row (or the group of columns), with the element. */
export function levelsOf(program: Program, plan: FoldKernelPlan): number[] {
  const levels: number[] = [];
  for (const node of program.nodes) {
    let level = 0;
    if (node.op === "input") {
      // Input 0 is the accumulator.
      const stream = node.index === 0 ? null : plan.streams[node.index - 1];
      const steady =
        stream !== null && (plan.kind === "columns" ? stream.fixed : stream.layout === "broadcast");
      level = steady ? 1 : 2;
    }
    for (const a of node.args) level = Math.max(level, levels[a]);
    levels.push(level);
  }
  return withConstants(program, levels, 2);
}

/** Instructions an element takes, about: 64-bit lanes take two registers. */
function weightOf(program: Program, levels: readonly number[]): number {
  let weight = 0;
  program.nodes.forEach((node, id) => {
    if (levels[id] === 2 && node.op !== "bitcast") weight += is64(node.dtype) ? 2 : 1;
  });
  return weight;
}

/**
 * Groups of 4 elements a turn: several chains of additions hide each other's latency, too many spill. Columns that are
 * gathered each have a cache line of their own, and columns a power of two apart share few places in the cache.
 */
export function unrollOf(program: Program, levels: readonly number[], plan: FoldKernelPlan): 1 | 2 | 4 | 8 {
  const gathers =
    plan.kind === "columns" && plan.streams.some((s) => s.layout === "strided" || s.layout === "reversed");
  if (gathers && plan.every) return 1;
  const weight = weightOf(program, levels);
  if (plan.kind !== "columns" && weight <= 6) return 8;
  return weight <= 10 && !gathers ? 4 : weight <= 40 ? 2 : 1;
}

/** Groups of 4 accumulators that a row has. */
export const groupsOf = (program: Program, levels: readonly number[], plan: FoldKernelPlan): 1 | 2 | 4 | 8 =>
  plan.grouping?.groups ?? unrollOf(program, levels, plan);

/** Groups of values that are joined before they are carried: few where each rounds, and no more than registers hold. */
export const earlyCount = ({ watch, value }: Early): 4 | 8 =>
  watch === "finite" || is64(value.dtype) ? 4 : 8;
/** The heaviest that are: where more is computed, carrying is cheap. */
const EARLY_WEIGHT = 6;

/**
 * Are the fold's values joined early? Scans carry every step, gathered operands are slow for other reasons, and largest
 * columns are found at the memory's speed anyway.
 */
export function joinsEarly({ value, watch }: Early, plan: FoldKernelPlan): boolean {
  if (plan.grouping !== undefined) return plan.grouping.early;
  if (plan.every || (plan.kind === "columns" && watch === "numbers")) return false;
  const isGathered = plan.streams.some((s) => s.layout === "strided" || s.layout === "index");
  return !isGathered && weightOf(value, levelsOf(value, plan)) <= EARLY_WEIGHT;
}

const is64 = (d: DType): boolean => dtypes[d].lane === "i64" || dtypes[d].lane === "f64";
