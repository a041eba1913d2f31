/** Lines of a dense tensor, sorted: how the radix sort of wasm/routines/sort is cut into tasks. */
import { type DType, dtypes } from "../dtype.ts";
import { addressOf } from "../run/kernel.ts";
import {
  type Device,
  type EmitRoutine,
  type Routine,
  type RoutineAbout,
  type Task,
  withScratch,
} from "../run/routine.ts";
import { sizeOf } from "../view/layout.ts";
import {
  countBytes,
  digitBits,
  emitSort,
  keyShift,
  recordBytes,
  sortSteps,
  sortTask,
} from "../wasm/routines/sort/sort.ts";
import { digitsOf, type SortForm, SPECIAL, UNSORTED } from "../wasm/routines/sort/steps.ts";

/** Nanoseconds an element takes, roughly. */
const COST_NS = 10;
/** A line this long is sorted by several threads at once, where there are not enough lines. */
const LONG = 1 << 16;
/** Elements of one task at the most: threads must not vanish into one for long. */
const TASK = 1 << 21;

export interface SortParams {
  readonly form: SortForm;
  readonly descending: boolean;
}

/** Each line (along the last axis) of a dense input: as many as the output's lines have, in order. */
export const sortRoutine: Routine<SortParams> = {
  name: "sort",
  run(device, { operation, params: { form, descending }, inputs: [dense], outs: [out] }) {
    const { shape } = dense.frame;
    const n = shape[shape.length - 1];
    const lines = sizeOf(shape.slice(0, -1));
    const keep = out.frame.shape[out.frame.shape.length - 1];
    const job: Job = {
      device,
      operation,
      about: { operation, inputs: [dense], out, bytes: null },
      dtype: dense.dtype,
      form,
      source: addressOf(dense),
      target: addressOf(out),
      n,
      lines,
      keep,
      down: descending ? -1 : 0,
    };
    const { routines } = device;
    const isLong = n >= LONG && (lines < routines.threads || n > TASK);
    const shared = routines.isShared(n * COST_NS) && isLong && keep === n;
    if (shared) for (let i = 0; i < lines; i++) sortLong(job, i);
    else sortGroups(job);
  },
};

interface Job {
  readonly device: Device;
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
  job.device.routines.run(nameOf(job), emit, tasks, nanoseconds, job.about);
}

const up64 = (bytes: number): number => 64 * Math.ceil(bytes / 64);

/** What the counts of a line's digits need, with a word for flags. */
const countsBytesOf = (job: Job): number => up64(countBytes(job.dtype, bitsOf(job)) + 4);
const bitsOf = (job: Job): number => digitBits(job.dtype, job.form, job.n, job.keep);

/** Whole lines, a group of them a task; groups that run at the same time have buffers of their own. */
function sortGroups(job: Job): void {
  const { routines } = job.device;
  const { n, lines } = job;
  const cost = n * lines * COST_NS;
  const shared = lines > 1 && n <= TASK && routines.isShared(cost);
  const slots = shared ? Math.min(lines, 4 * routines.threads) : 1;
  const perTask = Math.max(1, Math.min(Math.ceil(lines / slots), Math.floor(TASK / n)));
  const buffer = up64(n * recordBytes(job.dtype, job.form));
  const slotBytes = 2 * buffer + countsBytesOf(job);
  withScratch(job.device, job.operation, slots * slotBytes, (scratch) => {
    for (let first = 0; first < lines; ) {
      const tasks: Task[] = [];
      for (; first < lines && tasks.length < slots; first += perTask) {
        const front = scratch + tasks.length * slotBytes;
        tasks.push(
          sortTask.of({
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
  const each = Math.ceil(n / Math.max(2 * job.device.routines.threads, Math.ceil(n / TASK)));
  const pieces = Math.ceil(n / each);
  const buffer = up64(n * recordBytes(dtype, form));
  const countsBytes = countsBytesOf(job);
  withScratch(job.device, job.operation, 2 * buffer + pieces * countsBytes, (scratch) =>
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
    return new Uint32Array(job.device.heap.buffer, l.countsAt(p), digits * size + 1);
  });
  const flags = counts.reduce((all, c) => all | c[digits * size], 0);
  const isSorted = (flags & UNSORTED) === 0;
  if (isSorted && form === "values") {
    job.device.walker.copyBytes(target, source, n * itemBytes(job));
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
    const task = sortTask.of({ step: sortSteps.restore, source, target, front, n, down: job.down });
    runTasks(job, [task], 0);
  }
}

/** One step of all pieces, whose records lie at `front`; `digit` says whose counts are meant. */
function runStep(l: Long, step: keyof typeof sortSteps, front: number, shift = 0, digit = 0): void {
  const { job, bits, each } = l;
  const tasks = Array.from({ length: l.pieces }, (_, p) => {
    const first = p * each;
    return sortTask.of({
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
