/**
 * Sorting along an axis: values, positions, and the first few of either. The order is NumPy's: NaNs come last (first when
 * descending), -0 and 0 are equal, and equal elements keep their order, always. The work is in wasm/routines/sort/sort.ts.
 */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, readList, readOptions } from "../ops/arguments.ts";
import { allocate, filled } from "../ops/strided.ts";
import type { EmitRoutine, RoutineAbout, Task } from "../run/routine.ts";
import { isTensor, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxis, sizeOf } from "../view/layout.ts";
import {
  countBytes,
  digitBits,
  emitSort,
  keyShift,
  recordBytes,
  SORT_WORDS,
  sortSteps,
  sortTask,
} from "../wasm/routines/sort/sort.ts";
import { emitGather } from "../wasm/routines/sort/search.ts";
import { digitsOf, type SortForm, SPECIAL, UNSORTED } from "../wasm/routines/sort/steps.ts";
import { scoped } from "./scoped.ts";

export interface SortOptions {
  /** The axis to sort along; default the last. */
  readonly axis?: number;
  readonly descending?: boolean;
  /** Equal elements keep their order. They do so in any case. */
  readonly stable?: boolean;
}
export interface TopkOptions {
  /** The axis to choose along; default the last. */
  readonly axis?: number;
  /** Default: the largest. */
  readonly largest?: boolean;
  /** In order. They are in any case. */
  readonly sorted?: boolean;
}

/** The elements in order along an axis. */
export function sort<D extends DType>(t: Tensor<D>, options: SortOptions = {}): Tensor<D> {
  return sorted("sort", t, "values", options) as Tensor<D>;
}

/** The positions that would sort along an axis. */
export function argsort(t: Tensor, options: SortOptions = {}): Tensor<"i64"> {
  return sorted("argsort", t, "positions", options) as Tensor<"i64">;
}

function sorted(operation: string, t: Tensor, form: SortForm, options: SortOptions): Tensor {
  options = readOptions(operation, options, "{ axis: 0, descending: true }", [
    "axis",
    "descending",
    "stable",
  ]);
  checkFlag(operation, "descending", options.descending);
  checkFlag(operation, "stable", options.stable);
  const how = { descending: options.descending ?? false };
  return along(operation, t, options.axis, (dense, back) => back(sortLines(operation, dense, form, how)));
}

/** The k largest (or smallest) elements along an axis, in order, and where they are. */
export function topk<D extends DType>(
  t: Tensor<D>,
  k: number,
  options: TopkOptions = {},
): { readonly values: Tensor<D>; readonly indices: Tensor<"i64"> } {
  options = readOptions("topk", options, "{ largest: false }", ["axis", "largest", "sorted"]);
  checkFlag("topk", "largest", options.largest);
  checkFlag("topk", "sorted", options.sorted);
  const live = liveTensor("topk", t);
  const size = live.shape[axisOf("topk", live, options.axis)];
  if (!Number.isInteger(k) || k < 0 || k > size) {
    fail("value", "topk", `k is ${describe(k)}.`, `The axis has ${size} elements: use 0 … ${size}.`);
  }
  const how = { descending: options.largest ?? true, keep: k };
  return along("topk", live, options.axis, (dense, back) => {
    const positions = sortLines("topk", dense, "positions", how);
    const values = gatherLines("topk", dense, positions);
    return { values: back(values) as Tensor<D>, indices: back(positions) as Tensor<"i64"> };
  });
}

/**
 * The positions that sort by several keys: by the last one, where that is equal by the one before it, and so on. The keys
 * are vectors of one length, or the rows of a matrix.
 */
export function lexsort(keys: readonly Tensor[] | Tensor): Tensor<"i64"> {
  const op = "lexsort";
  const single = isTensor(keys);
  const given = single ? [keys] : readList(op, "the keys", keys);
  if (given === null || given.length === 0) {
    return fail(
      "value",
      op,
      given === null ? `the keys are ${describe(keys)}.` : "no keys.",
      "Give an array of vectors, the most important last.",
    );
  }
  const live = given.map((t) => liveTensor(op, t));
  const rank = single ? 2 : 1;
  const wrong = live.find((t) => t.rank !== rank || t.shape[rank - 1] !== live[0].shape[rank - 1]);
  if (wrong !== undefined || (single && live[0].shape[0] === 0)) {
    fail(
      "shape",
      op,
      `${wrong === undefined ? "there is no key" : "a key does not fit"}: ${live.map((t) => list(t.shape)).join(", ")}.`,
      "Give vectors of one length, or a matrix whose rows are the keys.",
    );
  }
  return scoped(op, () => {
    const rows = single ? Array.from({ length: live[0].shape[0] }, (_, i) => live[0].slice(i)) : live;
    return orderBy(op, rows);
  });
}

/** As lexsort, checked; call it in a scope. */
export function orderBy(op: string, keys: readonly Tensor[]): Tensor<"i64"> {
  const up = { descending: false };
  const dense = (t: Tensor) => denseCopy(op, t, "lines are sorted in dense memory");
  let order = sortLines(op, dense(keys[0]), "positions", up);
  for (const key of keys.slice(1)) {
    const arranged = gatherLines(op, dense(key), order);
    order = gatherLines(op, order, sortLines(op, arranged, "positions", up));
  }
  return order as Tensor<"i64">;
}

/* Axes ----------------------------------------------------------------------------------------------------------- */

function axisOf(operation: string, t: Tensor, axis: unknown): number {
  if (axis !== undefined && typeof axis !== "number") {
    fail("axis", operation, `the axis is ${describe(axis)}.`, "Give one axis as a number.");
  }
  return normalizeAxis(operation, axis ?? -1, t.rank);
}

/**
 * Runs `body` in a scope, on a dense tensor whose last axis is `axis` of t; `back` moves the last axis of a result to
 * where it was.
 */
export function along<R>(
  operation: string,
  t: Tensor,
  axis: number | undefined,
  body: (dense: Tensor, back: (made: Tensor) => Tensor) => R,
): R {
  const live = liveTensor(operation, t);
  const d = axisOf(operation, live, axis);
  const isLast = d === live.rank - 1;
  return scoped(operation, () => {
    const dense = isLast
      ? denseCopy(operation, live, "lines are sorted in dense memory")
      : denseCopy(operation, live.moveAxis(d, -1), "the axis to sort along is made the last one");
    const back = (made: Tensor) =>
      isLast ? made : denseCopy(operation, made.moveAxis(-1, d), "the sorted axis goes back to its place");
    return body(dense, back);
  });
}

/** Another handle on a dense tensor, or a copy that explain hears of. */
export function denseCopy<D extends DType>(operation: string, t: Tensor<D>, why: string): Tensor<D> {
  const { frame } = stridedOf(t);
  const isArray = t.isContiguous && frame.offset % frame.itemBytes === 0;
  if (!isArray) engine().listener?.({ kind: "copy", operation, bytes: t.size * frame.itemBytes, why });
  return t.contiguous();
}

/* Lines ---------------------------------------------------------------------------------------------------------- */

export interface LineOptions {
  readonly descending: boolean;
  /** How many of each sorted line are wanted; default all. */
  readonly keep?: number;
}

/** Nanoseconds an element takes, roughly. */
const COST_NS = 10;
/** A line this long is sorted by several threads at once, where there are not enough lines. */
const LONG = 1 << 16;
/** Elements of one task at the most: threads must not vanish into one for long. */
const TASK = 1 << 21;

/** Each line (along the last axis) of a dense tensor, sorted into a new one; positions are i64. */
export function sortLines(
  operation: string,
  of: Tensor,
  form: SortForm,
  { descending, keep }: LineOptions,
): Tensor {
  const dense = stridedOf(of);
  const { shape } = dense.frame;
  const n = shape[shape.length - 1];
  const lines = sizeOf(shape.slice(0, -1));
  const wanted = keep ?? n;
  const dtype = form === "values" ? dense.dtype : "i64";
  const out = allocate(operation, dtype, [...shape.slice(0, -1), wanted]);
  if (lines * wanted === 0) return wrap(out);
  const job: Job = {
    operation,
    about: { operation, inputs: [dense], out, bytes: null },
    dtype: dense.dtype,
    form,
    source: dense.storage.address + dense.frame.offset,
    target: out.storage.address,
    n,
    lines,
    keep: wanted,
    down: descending ? -1 : 0,
  };
  filled(out, () => {
    const { routines } = engine();
    const isLong = n >= LONG && (lines < routines.threads || n > TASK);
    const shared = routines.isShared(n * COST_NS) && isLong && wanted === n;
    if (shared) for (let i = 0; i < lines; i++) sortLong(job, i);
    else sortGroups(job);
  });
  return wrap(out);
}

interface Job {
  readonly operation: string;
  readonly about: RoutineAbout;
  readonly dtype: DType;
  readonly form: SortForm;
  readonly source: number;
  readonly target: number;
  readonly n: number;
  readonly lines: number;
  readonly keep: number;
  readonly down: number;
}

const nameOf = (job: Job): string => `sort ${job.dtype} ${job.form}`;
const itemBytes = (job: Job): number => dtypes[job.dtype].bytes;
const resultBytes = (job: Job): number => (job.form === "values" ? itemBytes(job) : 8);

function runTasks(job: Job, tasks: readonly Task[], nanoseconds: number): void {
  const emit: EmitRoutine = (options) => emitSort(job.dtype, job.form, options);
  engine().routines.run(nameOf(job), emit, tasks, nanoseconds, job.about);
}

function taskOf(words: Partial<Record<keyof typeof sortTask, number>>): Task {
  const task = new Array<number>(SORT_WORDS).fill(0);
  for (const name of Object.keys(words) as (keyof typeof sortTask)[]) task[sortTask[name]] = words[name]!;
  return task;
}

const up64 = (bytes: number): number => 64 * Math.ceil(bytes / 64);

/** A block of the heap for as long as `body` runs. */
export function withScratch<R>(operation: string, bytes: number, body: (address: number) => R): R {
  const { heap } = engine();
  const address = heap.alloc(bytes, operation);
  try {
    return body(address);
  } finally {
    heap.free(address);
  }
}

/** What the counts of a line's digits need, with a word for flags. */
const countsBytesOf = (job: Job): number => up64(countBytes(job.dtype, bitsOf(job)) + 4);
const bitsOf = (job: Job): number => digitBits(job.dtype, job.form, job.n, job.keep);

/** Whole lines, a group of them a task; groups that run at the same time have buffers of their own. */
function sortGroups(job: Job): void {
  const { routines } = engine();
  const { n, lines } = job;
  const cost = n * lines * COST_NS;
  const shared = lines > 1 && n <= TASK && routines.isShared(cost);
  const slots = shared ? Math.min(lines, 4 * routines.threads) : 1;
  const perTask = Math.max(1, Math.min(Math.ceil(lines / slots), Math.floor(TASK / n)));
  const buffer = up64(n * recordBytes(job.dtype, job.form));
  const slotBytes = 2 * buffer + countsBytesOf(job);
  withScratch(job.operation, slots * slotBytes, (scratch) => {
    for (let first = 0; first < lines; ) {
      const tasks: Task[] = [];
      for (; first < lines && tasks.length < slots; first += perTask) {
        const front = scratch + tasks.length * slotBytes;
        tasks.push(
          taskOf({
            step: sortSteps.lines,
            source: job.source + first * n * itemBytes(job),
            target: job.target + first * job.keep * resultBytes(job),
            front,
            back: front + buffer,
            counts: front + 2 * buffer,
            n,
            lines: Math.min(perTask, lines - first),
            down: job.down,
            keep: job.keep,
          }),
        );
      }
      runTasks(job, tasks, shared ? cost : 0);
    }
  });
}

/* One long line, shared -------------------------------------------------------------------------------------------- */

/** A long line, cut into pieces, and where everything lies. */
interface Long {
  readonly job: Job;
  readonly source: number;
  readonly target: number;
  /** Elements of a piece; the last one may have fewer. */
  readonly each: number;
  readonly pieces: number;
  readonly bits: number;
  /** Two buffers of records, and the counts of each piece. */
  readonly buffers: readonly [number, number];
  readonly countsAt: (piece: number) => number;
}

/**
 * All threads at one line, digit by digit: each counts its own piece, the sums say where each piece's share of each
 * bucket begins, and each deals its piece out. Any number of pieces gives the same order.
 */
function sortLong(job: Job, line: number): void {
  const { n, dtype, form } = job;
  const each = Math.ceil(n / Math.max(2 * engine().routines.threads, Math.ceil(n / TASK)));
  const pieces = Math.ceil(n / each);
  const buffer = up64(n * recordBytes(dtype, form));
  const countsBytes = countsBytesOf(job);
  withScratch(job.operation, 2 * buffer + pieces * countsBytes, (scratch) =>
    sortPieces({
      job,
      source: job.source + line * n * itemBytes(job),
      target: job.target + line * n * resultBytes(job),
      each,
      pieces,
      bits: bitsOf(job),
      buffers: [scratch, scratch + buffer],
      countsAt: (p) => scratch + 2 * buffer + p * countsBytes,
    }),
  );
}

function sortPieces(l: Long): void {
  const { job, bits, source, target } = l;
  const { n, dtype, form } = job;
  const digits = digitsOf(dtype, bits);
  const size = 2 ** bits;
  let [front, back] = l.buffers;
  runStep(l, "keys", front);
  const counts = Array.from({ length: l.pieces }, (_, p) => {
    return new Uint32Array(engine().heap.buffer, l.countsAt(p), digits * size + 1);
  });
  const flags = counts.reduce((all, c) => all | c[digits * size], 0);
  const isSorted = (flags & UNSORTED) === 0;
  if (isSorted && form === "values") {
    engine().kernels.copyBytes(target, source, n * itemBytes(job));
    return;
  }
  const numbers = isSorted ? [] : Array.from({ length: digits }, (_, d) => d);
  numbers
    .filter((d) => !isConstant(counts, d, size, n))
    .forEach((d, turn) => {
      const shift = keyShift(dtype, form) + d * bits;
      // The first time the keys' own counts hold; then the pieces have other elements.
      const digit = turn === 0 ? d : 0;
      if (turn > 0) runStep(l, "count", front, shift);
      placeBuckets(counts, digit * size, size, back, recordBytes(dtype, form));
      runStep(l, "deal", front, shift, digit);
      [front, back] = [back, front];
    });
  runStep(l, "finish", front);
  if (form === "values" && (flags & SPECIAL) !== 0) {
    const task = taskOf({ step: sortSteps.restore, source, target, front, n, down: job.down });
    runTasks(job, [task], 0);
  }
}

/** One step of all pieces, whose records lie at `front`; `digit` says whose counts are meant. */
function runStep(l: Long, step: keyof typeof sortSteps, front: number, shift = 0, digit = 0): void {
  const { job, bits, each } = l;
  const tasks = Array.from({ length: l.pieces }, (_, p) => {
    const first = p * each;
    return taskOf({
      step: sortSteps[step],
      source: l.source + first * itemBytes(job),
      target: l.target + first * resultBytes(job),
      front: front + first * recordBytes(job.dtype, job.form),
      counts: l.countsAt(p) + 4 * digit * 2 ** bits,
      n: Math.min(each, job.n - first),
      lines: first,
      down: job.down,
      shift,
      bits,
    });
  });
  runTasks(job, tasks, job.n * COST_NS);
}

/** Do all keys have the same digit? */
function isConstant(counts: readonly Uint32Array[], digit: number, size: number, n: number): boolean {
  for (let b = digit * size; b < (digit + 1) * size; b++) {
    if (counts[0][b] === 0) continue;
    let all = 0;
    for (const c of counts) all += c[b];
    return all === n;
  }
  return false;
}

/** Counts → addresses: bucket by bucket, and in each bucket piece by piece. */
function placeBuckets(
  counts: readonly Uint32Array[],
  from: number,
  size: number,
  base: number,
  record: number,
): void {
  let at = base;
  for (let b = from; b < from + size; b++) {
    for (const c of counts) {
      const count = c[b];
      c[b] = at;
      at += count * record;
    }
  }
}

/* Gathering -------------------------------------------------------------------------------------------------------- */

/** dense[…, positions[…, j]] along the last axis; the positions are in range, which the caller knows. */
export function gatherLines(operation: string, from: Tensor, at: Tensor): Tensor {
  const [dense, positions] = [stridedOf(from), stridedOf(at)];
  const { shape } = positions.frame;
  const k = shape[shape.length - 1];
  const lines = sizeOf(shape.slice(0, -1));
  const n = dense.frame.shape[dense.frame.shape.length - 1];
  const { bytes } = dtypes[dense.dtype];
  const out = allocate(operation, dense.dtype, shape);
  if (k * lines === 0) return wrap(out);
  filled(out, () => {
    const tasks: Task[] = [];
    const piece = 16384;
    // Many short lines are one task; a long one is cut.
    const perTask = Math.max(1, Math.floor(piece / k));
    for (let line = 0; line < lines; line += perTask) {
      for (let j = 0; j < k; j += piece) {
        tasks.push([
          dense.storage.address + dense.frame.offset + line * n * bytes,
          positions.storage.address + positions.frame.offset + 8 * (line * k + j),
          out.storage.address + bytes * (line * k + j),
          Math.min(piece, k - j),
          Math.min(perTask, lines - line),
          n * bytes,
        ]);
      }
    }
    engine().routines.run(
      `sorted gather ${bytes}`,
      ({ shared }) => emitGather(bytes, shared),
      tasks,
      k * lines * 2,
      { operation, inputs: [dense, positions], out },
    );
  });
  return wrap(out);
}
