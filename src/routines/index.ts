/**
 * Elements through indices and masks. Index tensors become byte offsets, checked; then everything is one picture: a walk over
 * some shape W in which the indexed tensor steps by its strides along the axes that are not indexed (and by 0 along the
 * others), and an offset is added that the index decides. A mask is cut into stretches, and how many are true before each
 * says where its output begins.
 */
import type { Program } from "../ir/node.ts";
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import {
  type Device,
  type EmitRoutine,
  type Routine,
  type RoutineAbout,
  type Task,
  withScratch,
} from "../run/routine.ts";
import { PIECE } from "../run/split.ts";
import { sameShape, sizeOf } from "../view/layout.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import { broadcastTo, type View } from "../view/view.ts";
import {
  countTrueTask,
  emitCompress,
  emitCount,
  emitPositions,
  emitUnravel,
  unravelTask,
} from "../wasm/routines/index/compress.ts";
import { emitJoin, emitMoves, emitOffsets, emitRows, type IndexMode } from "../wasm/routines/index/gather.ts";
import { emitFold } from "../wasm/routines/index/scatter.ts";
import type { ItemBytes } from "../wasm/routines/walk.ts";
import { absolute, isEmptyNest, separateTasks, walkTasks } from "./walk.ts";

/* Indices ---------------------------------------------------------------------------------------------- */

/** What one index tensor chooses from: an axis, its size, and the bytes from one index to the next. */
export interface IndexedAxis {
  readonly axis: number;
  readonly size: number;
  readonly step: number;
}

/** out = Σ index[k] · axes[k].step, as u32 offsets; false where an index is out of range. */
export const offsetsRoutine: Routine<
  { readonly axes: readonly IndexedAxis[]; readonly mode: IndexMode },
  boolean
> = {
  name: "offsets",
  run(device, { operation, params: { axes, mode }, inputs, outs: [offsets] }) {
    const { heap, routines } = device;
    const { shape } = offsets.frame;
    return withScratch(device, operation, 64, (flag) => {
      heap.view.setInt32(flag, 0, true);
      for (const [k, index] of inputs.entries()) {
        const view = sameShape(index.frame.shape, shape) ? index.frame : broadcastTo(index.frame, shape);
        const nest = absolute(planLoops([offsets.frame, view]), [offsets, index]);
        const { size, step } = axes[k];
        const own = [size % 2 ** 32, Math.floor(size / 2 ** 32), step, flag];
        const added = k > 0;
        const name = `offsets ${index.dtype} ${mode}${added ? " added" : ""}`;
        const emit: EmitRoutine = (options) => emitOffsets(index.dtype, mode, added, options);
        const about = { operation, inputs: [index], out: offsets };
        routines.run(name, emit, walkTasks(nest, own), sizeOf(shape), about);
      }
      return heap.view.getInt32(flag, true) === 0;
    });
  },
};

/* The walk --------------------------------------------------------------------------------------------- */

/** Where elements are, on a walk over `shape`: both views have that shape. */
export interface Places {
  readonly shape: readonly number[];
  /** The indexed tensor, without what the index decides. */
  readonly indexed: View;
  readonly offsets: View;
}

/** About how many nanoseconds one thread needs for n elements, in steps of a row or of an element. */
const MOVE_NS = 1;
const ROW_TASK_BYTES = 65536;

/** out[w] = t[place w]. Inputs: t, offsets. */
export const gatherRoutine: Routine<Places> = {
  name: "gather",
  run(device, { operation, params: places, inputs: [t, offsets], outs: [out] }) {
    const views = [out.frame, places.indexed, places.offsets];
    const nest = widestInside(absolute(planLoops(views), [out, t, offsets]));
    const about = aboutMoves(operation, t, out, offsets, out);
    moveAll(device, nest, t.frame.itemBytes as ItemBytes, "gather", about);
  },
};

export interface ScatterParams {
  readonly places: Places;
  /** What lies there becomes fold(it, the value); null: the value. */
  readonly fold: Program | null;
  /** Places all differ. */
  readonly once: boolean;
}

/** t[place w] = values[w], in C order of w where places are equal. Inputs: values, offsets. */
export const scatterRoutine: Routine<ScatterParams> = {
  name: "scatter",
  run(device, { operation, params: { places, fold, once }, inputs: [values, offsets], outs: [t] }) {
    const { routines } = device;
    const views = [values.frame, places.indexed, places.offsets];
    const operands = [values, t, offsets];
    const bytes = t.frame.itemBytes as ItemBytes;
    const about = aboutMoves(operation, values, t, offsets, values);
    if (once) {
      moveAll(device, widestInside(absolute(planLoops(views), operands)), bytes, "scatter", about);
      return;
    }
    const nest = absolute(planLoops(views, { keepOrder: true }), operands);
    if (isEmptyNest(nest)) return;
    const rows = fold === null && hasRows(nest, bytes);
    const walked = rows ? inBytes(nest, bytes) : nest;
    const nanoseconds = sizeOf(nest.shape) * MOVE_NS * (fold === null ? 1 : 2);
    const separate = routines.isShared(nanoseconds) ? separateTasks(walked, 1, 2 * routines.threads) : null;
    const emit: EmitRoutine = (options) => {
      if (fold !== null) return emitFold(fold, options);
      return rows ? emitRows("scatter", options) : emitMoves(bytes, "scatter", options);
    };
    const name = fold !== null ? `scatter add ${t.dtype}` : rows ? "scatter rows" : `scatter ${bytes}`;
    // Without separate pieces, one thread does them in their order.
    if (separate !== null) routines.run(name, emit, separate, nanoseconds, about);
    else routines.run(name, emit, walkTasks(walked, [], rows ? ROW_TASK_BYTES : undefined), 0, about);
  },
};

/** As many elements as `moved` has are read and written, whatever the operands hold. */
function aboutMoves(
  operation: string,
  from: Strided,
  out: Strided,
  offsets: Strided,
  moved: Strided,
): RoutineAbout {
  const bytes = 2 * sizeOf(moved.frame.shape) * moved.frame.itemBytes + 4 * sizeOf(offsets.frame.shape);
  return { operation, inputs: [from, offsets], out, bytes };
}

function moveAll(
  { routines }: Device,
  nest: LoopNest,
  bytes: ItemBytes,
  direction: "gather" | "scatter",
  about: RoutineAbout,
): void {
  if (isEmptyNest(nest)) return;
  const size = sizeOf(nest.shape);
  if (hasRows(nest, bytes)) {
    const emit: EmitRoutine = (options) => emitRows(direction, options);
    routines.run(
      `${direction} rows`,
      emit,
      walkTasks(inBytes(nest, bytes), [], ROW_TASK_BYTES),
      size * bytes * 0.1,
      about,
    );
    return;
  }
  routines.run(
    `${direction} ${bytes}`,
    (options) => emitMoves(bytes, direction, options),
    walkTasks(nest),
    size * MOVE_NS,
    about,
  );
}

/** Are the innermost loop's elements one run of bytes on both sides, with one offset for all of them? */
function hasRows(nest: LoopNest, bytes: number): boolean {
  const d = nest.shape.length - 1;
  if (d < 0) return false;
  const [dense, indexed, offsets] = nest.strides;
  return offsets[d] === 0 && dense[d] === bytes && indexed[d] === bytes && nest.shape[d] > 1;
}

/** The nest with its innermost loop over bytes. */
function inBytes(nest: LoopNest, bytes: number): LoopNest {
  const d = nest.shape.length - 1;
  return {
    ...nest,
    shape: [...nest.shape.slice(0, d), nest.shape[d] * bytes],
    strides: nest.strides.map((s) => [...s.slice(0, d), s[d] / bytes]),
  };
}

/** The longest of the outer loops next to the innermost: what is left around the two is walked outside of them. */
function widestInside(nest: LoopNest): LoopNest {
  const rank = nest.shape.length;
  if (rank < 3) return nest;
  let widest = rank - 2;
  for (let d = 0; d < rank - 2; d++) if (nest.shape[d] > nest.shape[widest]) widest = d;
  if (widest === rank - 2) return nest;
  const order = nest.shape.map((_, d) => d).filter((d) => d !== widest);
  order.splice(rank - 2, 0, widest);
  return {
    ...nest,
    shape: order.map((d) => nest.shape[d]),
    strides: nest.strides.map((s) => order.map((d) => s[d])),
    order: order.map((d) => nest.order[d]),
  };
}

/* Masks ------------------------------------------------------------------------------------------------ */

/** Nanoseconds an element of a mask takes, roughly. */
const COUNT_NS = 0.15;
const WRITE_NS = 1;

/** Stretches of a dense mask beside a view, in C order: words of a walk over both. */
const stretchesOf = (mask: Strided, view: View, base: number): Task[] => {
  const nest = planLoops([mask.frame, view], { keepOrder: true });
  const [first, second] = nest.offsets;
  return walkTasks({ ...nest, offsets: [first + mask.storage.address, second + base] });
};

/** How many elements of a mask are true before each of its stretches, and (last) in all. `view` says how it is cut. */
export const countTrueRoutine: Routine<{ readonly view: View }, readonly number[]> = {
  name: "count true",
  run(device, { operation, params: { view }, inputs: [mask] }) {
    const stretches = stretchesOf(mask, view, 0);
    return withScratch(device, operation, 4 * stretches.length, (counts) => {
      const tasks = stretches.map(([n, m, at], i) =>
        countTrueTask.of({ mask: at, bytes: n * m, result: counts + 4 * i }),
      );
      const nanoseconds = sizeOf(mask.frame.shape) * COUNT_NS;
      device.routines.run("count true", emitCount, tasks, nanoseconds, { operation, inputs: [mask] });
      const starts = [0];
      for (const count of new Uint32Array(device.heap.buffer, counts, stretches.length)) {
        starts.push(starts[starts.length - 1] + count);
      }
      return starts;
    });
  },
};

/** Writes something for each true element: `bytes` each, from the start of the output on. */
function writeTrue(
  { routines }: Device,
  about: RoutineAbout & { readonly out: Strided },
  name: string,
  emit: EmitRoutine,
  stretches: readonly Task[],
  starts: readonly number[],
): void {
  const { out } = about;
  const tasks = stretches.map((task, i) => [...task, addressOf(out) + out.frame.itemBytes * starts[i]]);
  routines.run(name, emit, tasks, tasks.length * PIECE * WRITE_NS, about);
}

/** The elements where a mask is true, in row-major order. Inputs: t, mask; `view` is t's, of the mask's shape. */
export const compressRoutine: Routine<{ readonly view: View; readonly starts: readonly number[] }> = {
  name: "compress",
  run(device, { operation, params: { view, starts }, inputs: [t, mask], outs: [out] }) {
    const bytes = t.frame.itemBytes as ItemBytes;
    const stretches = stretchesOf(mask, view, t.storage.address);
    const about = { operation, inputs: [t, mask], out };
    writeTrue(device, about, `compress ${bytes}`, (o) => emitCompress(bytes, o), stretches, starts);
  },
};

/** The byte offsets in a view at which a mask is true, in an output of u32 or i64. */
export const positionsRoutine: Routine<{ readonly view: View; readonly starts: readonly number[] }> = {
  name: "positions",
  run(device, { operation, params: { view, starts }, inputs: [mask], outs: [out] }) {
    const bytes = out.frame.itemBytes as 4 | 8;
    const about = { operation, inputs: [mask], out };
    const stretches = stretchesOf(mask, view, 0);
    writeTrue(device, about, `positions ${bytes}`, (o) => emitPositions(bytes, o), stretches, starts);
  },
};

/** Row-major numbers (u32) in a shape → indices along one of its axes, into a vector of i64 with any stride. */
export const unravelRoutine: Routine<{ readonly shape: readonly number[]; readonly axis: number }> = {
  name: "unravel",
  run({ routines }, { operation, params: { shape, axis }, inputs: [numbers], outs: [out] }) {
    const [count] = numbers.frame.shape;
    const [step] = out.frame.strides;
    const divisor = sizeOf(shape.slice(axis + 1));
    const steps = { divides: divisor > 1, reduces: axis > 0 };
    const tasks: Task[] = [];
    for (let i = 0; i < count; i += PIECE) {
      const from = addressOf(numbers) + 4 * i;
      const to = addressOf(out) + step * i;
      tasks.push(
        unravelTask.of({ n: Math.min(PIECE, count - i), from, to, step, divisor, size: shape[axis] }),
      );
    }
    const name = `unravel${steps.divides ? " divided" : ""}${steps.reduces ? " reduced" : ""}`;
    const about = { operation, inputs: [numbers], out, bytes: null };
    routines.run(name, (options) => emitUnravel(steps, options), tasks, 2 * count, about);
  },
};

/* Joining ---------------------------------------------------------------------------------------------- */

/** Bytes of the output that a task writes at the least, tasks at the most, and parts a task has room for. */
const TASK_BYTES = 65536;
const MOST_TASKS = 128;
const MOST_PARTS = 100;
/** Shorter runs are better off with the strided copy. */
const LEAST_RUN = 64;

/**
 * Parts that lie side by side in every row, as runs of bytes, are joined row by row, so that the output is written from
 * its start to its end: input i goes to the frame `to[i]` of the output. False, and nothing done, where they are not such.
 */
export const joinRoutine: Routine<{ readonly to: readonly View[] }, boolean> = {
  name: "join",
  run({ routines }, { operation, params: { to: frames }, inputs, outs: [out] }) {
    if (inputs.length < 2 || inputs.length > MOST_PARTS) return false;
    const nests = inputs.map((from, i) => rowsOf({ ...out, frame: frames[i] }, from));
    if (!nests.every((nest) => nest !== null)) return false;
    const rows = nests[0].shape[0];
    if (nests.some((nest) => nest.shape[0] !== rows)) return false;
    const rowBytes = nests.reduce((sum, nest) => sum + nest.shape[1], 0);
    const step = Math.max(1, Math.floor(TASK_BYTES / rowBytes), Math.ceil(rows / MOST_TASKS));
    const tasks: Task[] = [];
    for (let i = 0; i < rows; i += step) {
      const task = [Math.min(step, rows - i), nests.length];
      for (const { shape, strides, offsets } of nests) {
        const [[to], [from]] = strides;
        task.push(shape[1], offsets[0] + i * to, offsets[1] + i * from, to, from);
      }
      tasks.push(task);
    }
    routines.run("join rows", emitJoin, tasks, 0.1 * rows * rowBytes, { operation, inputs, out });
    return true;
  },
};

/** The copy of a part as rows of so many bytes; null where it is none. */
function rowsOf(to: Strided, from: Strided): LoopNest | null {
  if (to.dtype !== from.dtype) return null;
  const nest = absolute(planLoops([to.frame, from.frame]), [to, from]);
  const { itemBytes } = to.frame;
  const [rows, columns] = nest.shape;
  const isRows = nest.shape.length === 2 && nest.strides.every((s) => s[1] === itemBytes);
  if (!isRows || columns * itemBytes < LEAST_RUN) return null;
  return { ...nest, shape: [rows, columns * itemBytes] };
}
