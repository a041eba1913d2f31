/**
 * The small steps that algorithms of linear algebra are made of, on stacks of matrices (batch, rows, columns) with dense
 * rows: panels that are factored, triangles that are solved, reductions to few diagonals. What lies between them is matrix
 * products, which the library asks for itself.
 */
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import type { Asked, Device, EmitRoutine, Routine, Task } from "../run/routine.ts";
import {
  choleskyTask,
  emitCholesky,
  emitLuPanel,
  emitQrPanel,
  emitSwapRows,
  emitTriangle,
  emitTriangular,
  luPanelTask,
  qrPanelTask,
  swapRowsTask,
  triangleTask,
  triangularTask,
} from "../wasm/routines/linalg/factor.ts";
import type { LinalgDType } from "../wasm/routines/linalg/kit.ts";
import {
  bidiagonalTask,
  emitBidiagonal,
  emitRotations,
  emitTridiagonal,
  rotationTask,
  tridiagonalTask,
} from "../wasm/routines/linalg/reduce.ts";

/** Where a matrix of a stack begins, or a row of a matrix. */
const placeOf = (t: Strided, index = 0): number => addressOf(t) + index * t.frame.strides[0];

/** Runs the code for the dtype of what it works on. */
function run(
  { routines }: Device,
  { operation, inputs, outs }: Asked<unknown>,
  name: string,
  emit: (dtype: LinalgDType) => EmitRoutine,
  tasks: readonly Task[],
  nanoseconds: number,
): void {
  const dtype = outs[0].dtype as LinalgDType;
  const about = { operation, inputs: [...inputs, outs[0]], bytes: null };
  routines.run(`linalg ${name} ${dtype}`, emit(dtype), tasks, nanoseconds, about);
}

/** One task for each matrix of a stack. */
const eachMatrix = (t: Strided, task: (index: number) => Task): Task[] =>
  Array.from({ length: t.frame.shape[0] }, (_, i) => task(i));

/** A task for some columns of each matrix of a stack: as many of them as are worth a task, in multiples of `step`. */
function eachColumns(
  { routines }: Device,
  t: Strided,
  step: number,
  nanoseconds: number,
  task: (index: number, start: number, columns: number) => Task,
): Task[] {
  const [batch, , total] = t.frame.shape;
  const wanted = routines.isShared(nanoseconds) ? 2 * routines.threads : 1;
  const size = Math.max(step, step * Math.ceil(total / wanted / step));
  const tasks: Task[] = [];
  for (let i = 0; i < batch; i++) {
    for (let start = 0; start < total; start += size)
      tasks.push(task(i, start, Math.min(size, total - start)));
  }
  return tasks;
}

/** b = t⁻¹·b for lower triangles t of few rows; t may be one matrix for all (stride 0). */
export const triangularRoutine: Routine<{ readonly unit: boolean }> = {
  name: "triangular",
  run(device, asked) {
    const [t] = asked.inputs;
    const [b] = asked.outs;
    const [batch, n, all] = b.frame.shape;
    const [, bRow, bColumn] = b.frame.strides;
    const [, tRow, tColumn] = t.frame.strides;
    const unit = asked.params.unit ? 1 : 0;
    const nanoseconds = batch * all * n * n * 0.15;
    const tasks = eachColumns(device, b, 64, nanoseconds, (i, start, columns) => {
      const at = { t: placeOf(t, i), b: placeOf(b, i) + start * bColumn };
      return triangularTask.of({ ...at, tRow, tColumn, n, bRow, columns, unit });
    });
    run(device, asked, "triangular", emitTriangular, tasks, nanoseconds);
  },
};

/** a = the factor of a panel, rows exchanged: `from` is its first column in the whole. Outs: a, pivots, info, a buffer. */
export const luPanelRoutine: Routine<{ readonly from: number }> = {
  name: "lu panel",
  run(device, asked) {
    const { from } = asked.params;
    const [a, pivots, info, buffer] = asked.outs;
    const [batch, rows, columns] = a.frame.shape;
    const tasks = eachMatrix(a, (i) =>
      luPanelTask.of({
        a: placeOf(a, i),
        aRow: a.frame.strides[1],
        rows,
        columns,
        buffer: placeOf(buffer, i),
        pivots: placeOf(pivots, i) + 4 * from,
        info: placeOf(info, i),
        first: from,
      }),
    );
    run(device, asked, "lu panel", emitLuPanel, tasks, batch * rows * columns * 6);
  },
};

/** The exchanges of rows `from` to `to` in all columns of a. pivots of one matrix serve all if its stride is 0. */
export const swapRowsRoutine: Routine<{ readonly from: number; readonly to: number }> = {
  name: "swap rows",
  run(device, asked) {
    const { from, to } = asked.params;
    const [pivots] = asked.inputs;
    const [a] = asked.outs;
    const [batch, , all] = a.frame.shape;
    const [, aRow, column] = a.frame.strides;
    const nanoseconds = batch * (to - from) * all * 0.5;
    const tasks = eachColumns(device, a, 128, nanoseconds, (i, start, columns) => {
      const at = { a: placeOf(a, i) + start * column, pivots: placeOf(pivots, i) + 4 * from };
      return swapRowsTask.of({ ...at, aRow, first: from, count: to - from, columns });
    });
    run(device, { ...asked, inputs: [] }, "swap rows", emitSwapRows, tasks, nanoseconds);
  },
};

/** a = U with a = Uᵀ·U, for few rows; `from` is the first of them in the whole. Outs: a, info. */
export const choleskyRoutine: Routine<{ readonly from: number }> = {
  name: "cholesky",
  run(device, asked) {
    const { from } = asked.params;
    const [a, info] = asked.outs;
    const [batch, n] = a.frame.shape;
    const tasks = eachMatrix(a, (i) =>
      choleskyTask.of({ a: placeOf(a, i), aRow: a.frame.strides[1], n, info: placeOf(info, i), first: from }),
    );
    run(device, asked, "cholesky", emitCholesky, tasks, batch * n * n * n * 0.2);
  },
};

/** What lies on one side of the diagonals: 0 below them, or above them the mirror image of what lies below. */
export const triangleRoutine: Routine<{ readonly mirror: boolean }> = {
  name: "triangle",
  run(device, asked) {
    const { mirror } = asked.params;
    const [a] = asked.outs;
    const [batch, rows, columns] = a.frame.shape;
    const tasks = eachMatrix(a, (i) =>
      triangleTask.of({ a: placeOf(a, i), aRow: a.frame.strides[1], rows, columns, mirror: mirror ? 1 : 0 }),
    );
    const nanoseconds = mirror ? batch * rows * rows : batch * rows * (20 + columns * 0.1);
    run(device, asked, "triangle", emitTriangle, tasks, nanoseconds);
  },
};

/** Reflections that make a panel upper triangular; `from` is its first column. Outs: a, the vectors, tau, a buffer. */
export const qrPanelRoutine: Routine<{ readonly from: number }> = {
  name: "qr panel",
  run(device, asked) {
    const { from } = asked.params;
    const [a, v, tau, buffer] = asked.outs;
    const [batch, rows, columns] = a.frame.shape;
    const tasks = eachMatrix(a, (i) =>
      qrPanelTask.of({
        a: placeOf(a, i),
        aRow: a.frame.strides[1],
        rows,
        columns,
        buffer: placeOf(buffer, i),
        v: placeOf(v, i),
        vRow: v.frame.strides[1],
        tau: placeOf(tau, i) + 8 * from,
      }),
    );
    run(device, asked, "qr panel", emitQrPanel, tasks, batch * rows * columns * 12);
  },
};

/** Matrices of at most this many rows are shared among threads, a matrix a task. */
const SHARED_ROWS = { tridiagonal: 256, bidiagonal: 200 } as const;

/** Bytes that a reduction needs beside a matrix of n rows. */
export const reductionSpace = (n: number, itemBytes: number): number =>
  64 * Math.ceil((2 * n * itemBytes + 16) / 64);

/** Symmetric matrices → three diagonals. Outs: a (vectors come out), [3, batch, n] of f64 with d, e, tau, and space. */
export const tridiagonalRoutine: Routine<object> = {
  name: "tridiagonal",
  run(device, asked) {
    const [a, out, space] = asked.outs;
    const [batch, n] = a.frame.shape;
    const tasks = eachMatrix(a, (i) => {
      const [d, e, tau] = [0, 1, 2].map((k) => placeOf(out, k) + 8 * i * n);
      return tridiagonalTask.of({
        a: placeOf(a, i),
        aRow: a.frame.strides[1],
        n,
        d,
        e,
        tau,
        space: placeOf(space, i),
      });
    });
    const nanoseconds = n <= SHARED_ROWS.tridiagonal ? batch * (n * n * n * 0.5 + 500) : 0;
    run(device, asked, "tridiagonal", emitTridiagonal, tasks, nanoseconds);
  },
};

/** Square matrices → two diagonals. Outs: a, left, [4, batch, n] of f64 with d, e, and both tau, and space. */
export const bidiagonalRoutine: Routine<object> = {
  name: "bidiagonal",
  run(device, asked) {
    const [a, left, out, space] = asked.outs;
    const [batch, n] = a.frame.shape;
    const tasks = eachMatrix(a, (i) => {
      const [d, e, tauLeft, tauRight] = [0, 1, 2, 3].map((k) => placeOf(out, k) + 8 * i * n);
      return bidiagonalTask.of({
        a: placeOf(a, i),
        aRow: a.frame.strides[1],
        n,
        left: placeOf(left, i),
        leftRow: left.frame.strides[1],
        d,
        e,
        tauLeft,
        tauRight,
        space: placeOf(space, i),
      });
    });
    const nanoseconds = n <= SHARED_ROWS.bidiagonal ? batch * (n * n * n + 500) : 0;
    run(device, { ...asked, inputs: [left] }, "bidiagonal", emitBidiagonal, tasks, nanoseconds);
  },
};

/** Bytes of a row that stay in a cache while rotations go by. */
const STRIP_BYTES = 1024;

/** The first `count` rotations of a list, applied to the rows of one matrix. */
export const rotationsRoutine: Routine<{ readonly count: number }> = {
  name: "rotations",
  run(device, asked) {
    const { count } = asked.params;
    const [list] = asked.inputs;
    const [a] = asked.outs;
    const [, , columns] = a.frame.shape;
    const [, aRow, column] = a.frame.strides;
    const strip = STRIP_BYTES / a.frame.itemBytes;
    const tasks: Task[] = [];
    for (let from = 0; from < columns; from += strip) {
      const at = { a: addressOf(a) + from * column, list: addressOf(list) };
      tasks.push(rotationTask.of({ ...at, aRow, columns: Math.min(strip, columns - from), count }));
    }
    run(device, { ...asked, inputs: [] }, "rotations", emitRotations, tasks, count * columns);
  },
};
