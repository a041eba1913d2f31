/** T⁻¹·B for triangular T: halves and products down to small triangles, which a routine solves. */
import { triangularRoutine } from "../../routines/linalg.ts";
import { block, flipped, type Stack, step, subtractProduct } from "./blocks.ts";

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
    step(triangularRoutine, { unit }, [t], [b]);
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
