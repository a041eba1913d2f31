/** Around sorted data: gathering by position, searching, runs of equal elements, compaction, counting. All dense. */
import { type DType, dtypes } from "../dtype.ts";
import { addressOf } from "../run/kernel.ts";
import { type Device, type Routine, type Task, withScratch } from "../run/routine.ts";
import { PIECE } from "../run/split.ts";
import { sizeOf } from "../view/layout.ts";
import {
  countTask,
  emitBincount,
  emitCompress,
  emitGather,
  emitKeys,
  emitRuns,
  emitSearch,
  gatherLinesTask,
  type ItemBytes,
  keysTask,
  pickTask,
  runsTask,
  type Search,
  searchTask,
} from "../wasm/routines/sort/search.ts";

/** Tasks for pieces of n elements: `of` the first one and how many. */
function inPieces(n: number, of: (first: number, count: number) => Task): Task[] {
  const tasks: Task[] = [];
  for (let i = 0; i < n; i += PIECE) tasks.push(of(i, Math.min(PIECE, n - i)));
  return tasks;
}

/** out[…, j] = from[…, at[…, j]] along the last axis, for i64 positions that are in range. */
export const gatherLinesRoutine: Routine<object> = {
  name: "gather lines",
  run({ routines }, { operation, inputs, outs: [out] }) {
    const [from, at] = inputs;
    const { shape } = at.frame;
    const k = shape[shape.length - 1];
    const lines = sizeOf(shape.slice(0, -1));
    const step = from.frame.shape[from.frame.shape.length - 1] * from.frame.itemBytes;
    const bytes = from.frame.itemBytes as ItemBytes;
    // Many short lines are one task; a long one is cut.
    const perTask = Math.max(1, Math.floor(PIECE / k));
    const tasks: Task[] = [];
    for (let line = 0; line < lines; line += perTask) {
      for (let j = 0; j < k; j += PIECE) {
        tasks.push(
          gatherLinesTask.of({
            from: addressOf(from) + line * step,
            at: addressOf(at) + 8 * (line * k + j),
            to: addressOf(out) + bytes * (line * k + j),
            n: Math.min(PIECE, k - j),
            lines: Math.min(perTask, lines - line),
            step,
          }),
        );
      }
    }
    const emit = ({ shared }: { shared: boolean }) => emitGather(bytes, shared);
    routines.run(`sorted gather ${bytes}`, emit, tasks, k * lines * 2, { operation, inputs, out });
  },
};

/** out = where each element of the second input belongs among those of the first, which are sorted; at least one is. */
export const searchRoutine: Routine<{ readonly search: Search }> = {
  name: "search",
  run(device, { operation, params: { search }, inputs, outs: [out] }) {
    const [among, wanted] = inputs;
    const { dtype } = among;
    const count = sizeOf(among.frame.shape);
    const n = sizeOf(wanted.frame.shape);
    const { bytes } = dtypes[dtype];
    withScratch(device, operation, count * bytes, (keys) => {
      makeKeys(device, operation, dtype, addressOf(among), keys, count);
      const tasks = inPieces(n, (i, size) =>
        searchTask.of({
          keys,
          count,
          from: addressOf(wanted) + i * bytes,
          to: addressOf(out) + i * out.frame.itemBytes,
          n: size,
        }),
      );
      device.routines.run(
        `sorted search ${search} ${dtype}`,
        ({ shared }) => emitSearch(dtype, search, shared),
        tasks,
        n * 2 * Math.log2(count + 1),
        { operation, inputs, out },
      );
    });
  },
};

/** The keys of a dense vector, as unsigned integers of its width. */
function makeKeys(
  device: Device,
  operation: string,
  dtype: DType,
  from: number,
  to: number,
  n: number,
): void {
  const { bytes } = dtypes[dtype];
  const tasks = inPieces(n, (i, size) =>
    keysTask.of({ from: from + i * bytes, to: to + i * bytes, n: size }),
  );
  const emit = ({ shared }: { shared: boolean }) => emitKeys(dtype, shared);
  const about = { operation, bytes: 2 * n * bytes };
  device.routines.run(`sorted keys ${dtype}`, emit, tasks, n, about);
}

/**
 * Runs of equal elements in a sorted input; given back is how many there are. Where there are outputs, the first becomes
 * where each run begins, and the second, for each of the positions in the second input, the run of the element there.
 */
export const runsRoutine: Routine<{ readonly equalNan: boolean }, number> = {
  name: "runs",
  run(device, { operation, params: { equalNan }, inputs, outs }) {
    const [sorted, positions] = inputs;
    const { dtype } = sorted;
    const { heap, routines } = device;
    return withScratch(device, operation, 64, (state) => {
      heap.view.setInt32(state, 0, true);
      const tasks = inPieces(sizeOf(sorted.frame.shape), (first, n) =>
        runsTask.of({
          from: addressOf(sorted) + first * sorted.frame.itemBytes,
          n,
          first,
          state,
          starts: outs.length > 0 ? addressOf(outs[0]) : 0,
          where: outs.length > 1 ? addressOf(positions) + 8 * first : 0,
          inverse: outs.length > 1 ? addressOf(outs[1]) : 0,
        }),
      );
      const name = `sorted runs ${dtype}${equalNan ? "" : " NaNs apart"}`;
      // In order, so in this thread.
      const about = { operation, inputs: [sorted] };
      routines.run(name, ({ shared }) => emitRuns(dtype, equalNan, shared), tasks, 0, about);
      return heap.view.getInt32(state, true) >>> 0;
    });
  },
};

/** The elements of the first input where the second is true, one after the other. */
export const pickRoutine: Routine<object> = {
  name: "pick",
  run(device, { operation, inputs, outs: [out] }) {
    const [from, mask] = inputs;
    const bytes = from.frame.itemBytes as ItemBytes;
    withScratch(device, operation, 64, (state) => {
      device.heap.view.setUint32(state, addressOf(out), true);
      const tasks = inPieces(sizeOf(from.frame.shape), (i, n) =>
        pickTask.of({ from: addressOf(from) + i * bytes, mask: addressOf(mask) + i, n, state }),
      );
      // In order, so in this thread.
      const about = { operation, inputs, out };
      const emit = ({ shared }: { shared: boolean }) => emitCompress(bytes, shared);
      device.routines.run(`sorted compress ${bytes}`, emit, tasks, 0, about);
    });
  },
};

/**
 * out[p, at[i]] += 1, or += weights[i], for i64 positions that are in range: the rows p of the output take a part of the
 * positions each, and may be counted at the same time.
 */
export const countRoutine: Routine<object> = {
  name: "bincount",
  run({ routines }, { operation, inputs, outs: [out] }) {
    const [at, weights] = inputs;
    const [parts, length] = out.frame.shape;
    const n = sizeOf(at.frame.shape);
    const each = Math.ceil(n / parts);
    const inOrder = Array.from({ length: parts }, (_, p) => {
      const first = p * each;
      return inPieces(Math.max(0, Math.min(n - first, each)), (i, size) =>
        countTask.of({
          at: addressOf(at) + 8 * (first + i),
          n: size,
          counts: addressOf(out) + 8 * p * length,
          weights: weights === undefined ? 0 : addressOf(weights) + 8 * (first + i),
        }),
      );
    });
    const weighted = weights !== undefined;
    const name = weighted ? "bincount weighted" : "bincount";
    const emit = ({ shared }: { shared: boolean }) => emitBincount(weighted, shared);
    const about = { operation, inputs, out, bytes: null };
    if (parts === 1) {
      routines.run(name, emit, inOrder[0], 0, about);
      return;
    }
    // Tasks that run together must not share counts: one of each part at a time.
    for (let k = 0; k < inOrder[0].length; k++) {
      const tasks = inOrder.flatMap((p) => (k < p.length ? [p[k]] : []));
      routines.run(name, emit, tasks, tasks.length * PIECE * 2, about);
    }
  },
};
