/** P·A = L·U with partial pivoting: columns are halved down to panels; what lies between is matrix products. */
import { empty, zeros } from "../../api.ts";
import { luPanelRoutine, swapRowsRoutine } from "../../routines/linalg.ts";
import type { Strided } from "../../run/call.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { PANEL } from "../../wasm/routines/linalg/factor.ts";
import { block, copyStack, type LinalgDType, newStack, type Stack, step, subtractProduct } from "./blocks.ts";
import { solveLower, solveUpper } from "./triangular.ts";

export interface Lu {
  /** L below the diagonal (ones on it are not stored), U above: (batch, n, n). */
  readonly factors: Tensor<LinalgDType>;
  /** Row i was exchanged with row pivots[i]: (batch, n). */
  readonly pivots: Tensor<"i32">;
  /** 0, or 1 + the first pivot that is exactly zero: (batch). */
  readonly info: Tensor<"i32">;
}

export function luOf(operation: string, a: Tensor, dtype: LinalgDType): Lu {
  const factors = copyStack(operation, a, dtype);
  const [batch, n] = factors.shape;
  const pivots = empty([batch, n], { dtype: "i32" });
  const info = zeros([batch], { dtype: "i32" });
  const lu = { factors, pivots, info };
  if (n > 0 && batch > 0) {
    const buffer = newStack(dtype, [batch, n + 1, PANEL], { dense: true });
    factorColumns(lu, stridedOf(buffer), 0, n);
  }
  return lu;
}

function factorColumns(lu: Lu, buffer: Stack, from: number, to: number): void {
  if (to - from <= PANEL) {
    factorPanel(lu, buffer, from, to);
    return;
  }
  const { factors } = lu;
  const n = factors.shape[1];
  const middle = from + PANEL * Math.ceil((to - from) / 2 / PANEL);
  factorColumns(lu, buffer, from, middle);
  swapRows(stridedOf(factors), stridedOf(lu.pivots), [from, middle], [middle, to]);
  const right = block(stridedOf(factors), from, middle, middle, to);
  solveLower(block(stridedOf(factors), from, middle, from, middle), right, { unit: true });
  subtractProduct(
    block(stridedOf(factors), middle, n, middle, to),
    block(stridedOf(factors), middle, n, from, middle),
    right,
  );
  factorColumns(lu, buffer, middle, to);
  swapRows(stridedOf(factors), stridedOf(lu.pivots), [middle, to], [from, middle]);
}

function factorPanel({ factors, pivots, info }: Lu, buffer: Stack, from: number, to: number): void {
  const panel = block(stridedOf(factors), from, factors.shape[1], from, to);
  step(luPanelRoutine, { from }, [], [panel, stridedOf(pivots), stridedOf(info), buffer]);
}

/** The exchanges of rows `from` to `to`, in columns c0 to c1. pivots of one matrix serve all if its stride is 0. */
function swapRows(
  t: Stack,
  pivots: Strided,
  [from, to]: readonly [number, number],
  [c0, c1]: readonly [number, number],
): void {
  step(swapRowsRoutine, { from, to }, [pivots], [block(t, 0, t.frame.shape[1], c0, c1)]);
}

/** b = A⁻¹·b for the factored A; the factors of one matrix serve all of b's. */
export function solveWith({ factors, pivots }: Lu, b: Stack): void {
  const [batch, n, columns] = b.frame.shape;
  if (n === 0 || columns === 0 || batch === 0) return;
  const [t, p] = [spread(factors, batch), spread(pivots, batch)];
  swapRows(b, p, [0, n], [0, columns]);
  solveLower(t as Stack, b, { unit: true });
  solveUpper(t as Stack, b);
}

function spread(t: Tensor, batch: number): Strided {
  if (t.shape[0] === batch) return stridedOf(t);
  const { dtype, storage, readOnly, frame } = stridedOf(t);
  const shape = [batch, ...frame.shape.slice(1)];
  return { dtype, storage, readOnly, frame: { ...frame, shape, strides: [0, ...frame.strides.slice(1)] } };
}
