/** T⁻¹·B for triangular T: halves and products down to small triangles, which a routine solves. */
import { emitTriangular } from "../../wasm/routines/linalg/factor.ts";
import { addressOf, block, flipped, pieces, runRoutine, type Stack, subtractProduct } from "./blocks.ts";

/** Rows of a triangle that are solved one by one. */
const LEAF = 32;

export interface TriangularOptions {
  /** Ones on the diagonal, which are not read. */
  readonly unit?: boolean;
}

/** b = t⁻¹·b, t lower triangular. b's columns lie side by side. t may be one matrix for all (stride 0). */
export function solveLower(t: Stack, b: Stack, { unit = false }: TriangularOptions = {}): void {
  const n = t.frame.shape[1];
  if (n <= LEAF) {
    solveLeaf(t, b, unit);
    return;
  }
  const half = LEAF * Math.ceil(n / 2 / LEAF);
  const columns = b.frame.shape[2];
  const [top, bottom] = [block(b, 0, half, 0, columns), block(b, half, n, 0, columns)];
  solveLower(block(t, 0, half, 0, half), top, { unit });
  subtractProduct(bottom, block(t, half, n, 0, half), top);
  solveLower(block(t, half, n, half, n), bottom, { unit });
}

/** b = t⁻¹·b, t upper triangular: a lower one, read from its end. */
export function solveUpper(t: Stack, b: Stack, options: TriangularOptions = {}): void {
  if (t.frame.shape[1] > 0) solveLower(flipped(t, true), flipped(b, false), options);
}

function solveLeaf(t: Stack, b: Stack, unit: boolean): void {
  const [batch, n, columns] = b.frame.shape;
  const [, tRow, tColumn] = t.frame.strides;
  const nanoseconds = batch * columns * n * n * 0.15;
  const cuts = pieces(columns, 64, nanoseconds);
  const tasks: number[][] = [];
  for (let i = 0; i < batch; i++) {
    for (const [start, size] of cuts) {
      const at = addressOf(b, i) + start * b.frame.strides[2];
      tasks.push([addressOf(t, i), tRow, tColumn, n, at, b.frame.strides[1], size, unit ? 1 : 0]);
    }
  }
  runRoutine("triangular", emitTriangular, b.dtype, tasks, nanoseconds, [t, b]);
}
