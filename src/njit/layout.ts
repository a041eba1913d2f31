/**
 * Where a call's arguments and results lie in its descriptor, in bytes from its start. First the failure, then results,
 * scalars, arrays, and the memory of the function's own arrays.
 */
import { dtypes } from "../dtype.ts";
import { type Code, eachStep, expressionsOf, type ForkStep, forksOf } from "./ir.ts";

/** Where an access that failed is written down: which one (0: none did), and the index it asked for. */
export const FAILURE = { site: 0, index: 8, bytes: 16 } as const;
/** A failed site as one word: the site, counted from 1, and its axis. */
export const AXES = 64;
/**
 * What stands before a call's arguments: its failure, the first cut that need not run (a task failed in it; -1: none need,
 * the call was cancelled), and where the reductions of the cuts are.
 */
export const HEAD = { ...FAILURE, stop: 16, partials: 20, bytes: 24 } as const;
/** No cut is to be left out. */
export const GO_ON = 0x7fffffff;
/**
 * A task of a fork: its failure, the call's descriptor, which fork, cuts [from, to), how many turns there are in all, a number that
 * changes while it works, and how it ended. After these the arrays of an iteration's own.
 */
export const TASK = {
  ...FAILURE,
  d: 16,
  fork: 20,
  from: 24,
  to: 28,
  turns: 32,
  beat: 36,
  end: 40,
  bytes: 64,
} as const;
/** How a task ended: in the middle, with all of it, or early, because another had failed. */
export const ENDS = { none: 0, done: 1, stopped: 2 } as const;

export interface Layout {
  readonly bytes: number;
  /** By result, 8 bytes each. */
  readonly results: readonly number[];
  /** By scalar of the code, 8 bytes each. */
  readonly scalars: readonly number[];
  /** By array of the code. */
  readonly arrays: readonly ArrayLayout[];
  readonly forks: readonly ForkLayout[];
  /** Bytes of a task, its own arrays included. */
  readonly taskBytes: number;
  /** Reductions of the fork that has the most. */
  readonly reductions: number;
}

/** What passes between a call and the tasks of a fork. */
export interface ForkLayout {
  readonly step: ForkStep;
  /** Locals that tasks begin with, 8 bytes each in the call's descriptor. */
  readonly params: readonly { readonly local: number; readonly at: number }[];
  /** Where a task has the arrays of its own, by array. */
  readonly own: ReadonlyMap<number, number>;
}

/** Words: the address, the number of elements, then size and byte stride of each axis. Own arrays lie there themselves. */
export interface ArrayLayout {
  readonly address: number;
  readonly size: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

export function layoutOf(code: Code): Layout {
  let at: number = HEAD.bytes;
  const take = (bytes: number): number => {
    const start = at;
    at += Math.ceil(bytes / 8) * 8;
    return start;
  };
  const results = code.results.filter((r) => typeof r === "string").map(() => take(8));
  const scalars = code.scalars.map(() => take(8));
  const arrays = code.arrays.map(({ argument, rank, dtype, length }): ArrayLayout => {
    if (argument === null)
      return { address: take(length * dtypes[dtype].bytes), size: 0, sizes: [], strides: [] };
    const start = take(8 + 8 * rank);
    const axes = Array.from({ length: rank }, (_, d) => start + 8 + 8 * d);
    return { address: start, size: start + 4, sizes: axes, strides: axes.map((a) => a + 4) };
  });
  let taskBytes: number = TASK.bytes;
  const forks = forksOf(code).map((step): ForkLayout => {
    const params = paramsOf(code, step).map((local) => ({ local, at: take(8) }));
    const own = new Map<number, number>();
    let end: number = TASK.bytes;
    for (const k of ownArrays(code, step)) {
      own.set(k, end);
      end += Math.ceil((code.arrays[k].length * dtypes[code.arrays[k].dtype].bytes) / 8) * 8;
    }
    taskBytes = Math.max(taskBytes, Math.ceil(end / 64) * 64);
    return { step, params, own };
  });
  const reductions = Math.max(0, ...forks.map((f) => f.step.reductions.length));
  return { bytes: at, results, scalars, arrays, forks, taskBytes, reductions };
}

/** Locals that a fork's tasks read and others set: its counter first. */
function paramsOf(code: Code, fork: ForkStep): number[] {
  const known = new Set([...code.scalars, ...code.sizes, ...code.words].map((s) => s.local));
  for (const { local } of fork.reductions) known.add(local);
  known.add(fork.limit);
  const inside = new Set<number>();
  const sets = (steps: Code["body"]): Map<number, number> => {
    const counts = new Map<number, number>();
    eachStep(steps, (s) => {
      if (s.op === "set" || s.op === "load") counts.set(s.local, (counts.get(s.local) ?? 0) + 1);
    });
    return counts;
  };
  eachStep(fork.body, (s) => {
    for (const e of expressionsOf(s)) for (const l of e.locals) inside.add(l);
  });
  const [all, own] = [sets(code.body), sets(fork.body)];
  const params = [...inside].filter((l) => l !== fork.counter && !known.has(l) && all.get(l) !== own.get(l));
  return [fork.counter, ...params.sort((a, b) => a - b)];
}

/** The function's arrays that nothing but this fork mentions: each iteration makes them anew. */
function ownArrays(code: Code, fork: ForkStep): number[] {
  const count = (steps: Code["body"]) => {
    const counts = new Map<number, number>();
    eachStep(steps, (s) => {
      if (s.op === "load" || s.op === "store") counts.set(s.array, (counts.get(s.array) ?? 0) + 1);
    });
    return counts;
  };
  const [all, own] = [count(code.body), count(fork.body)];
  return [...own.keys()].filter((k) => code.arrays[k].argument === null && all.get(k) === own.get(k));
}
