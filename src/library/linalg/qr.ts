/** A = Q·R by Householder reflections, a panel at a time. */
import { empty, scope } from "../../api.ts";
import type { DType } from "../../dtype.ts";
import { describe, fail } from "../../errors.ts";
import { readOptions } from "../../ops/arguments.ts";
import { qrPanelRoutine } from "../../routines/linalg.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { PANEL } from "../../wasm/routines/linalg/factor.ts";
import { scopedAs } from "../scoped.ts";
import {
  asBatches,
  asTensor,
  batchOf,
  block,
  copyStack,
  denseResult,
  type LinalgDType,
  type LinalgOf,
  linalgDType,
  matrixArgument,
  newStack,
  type Stack,
  setIdentity,
  step,
} from "./blocks.ts";
import { clearLower } from "./cholesky.ts";
import { applyReflections, type Reflections, reflectionsOf, TOGETHER } from "./reflections.ts";

/** How large the factors are. */
export interface QrOptions {
  /** "reduced": Q is m × k and R is k × n with k = min(m, n). "complete": m × m and m × n. Default "reduced". */
  readonly mode?: "reduced" | "complete";
}

/** The two factors of a matrix. */
export interface QrResult<T extends Tensor = Tensor> {
  /** Orthonormal columns. */
  readonly q: T;
  /** Upper triangular. */
  readonly r: T;
}

/**
 * Q with orthonormal columns, R upper triangular; R's diagonal may have any sign.
 *
 * @param a a matrix [..., m, n]
 * @param options `mode`: "reduced" (default) or "complete"
 * @returns new tensors q and r with q·r = a, f32 or f64
 * @example
 * linalg.qr(tensor([[3], [4]])).r.abs(); // → f32 [[5]]
 */
export function qr<D extends DType>(a: Tensor<D>, options: QrOptions = {}): QrResult<Tensor<LinalgOf<D>>> {
  options = readOptions("qr", options, '{ mode: "complete" }', ["mode"]);
  const t = matrixArgument("qr", a);
  const mode = options.mode ?? "reduced";
  if (mode !== "reduced" && mode !== "complete") {
    fail("value", "qr", `mode is ${describe(mode)}.`, 'Use "reduced" or "complete".');
  }
  return scopedAs("qr", [t], { mode }, () => {
    const [m, n] = t.shape.slice(-2);
    const rows = mode === "complete" ? m : Math.min(m, n);
    const work = qrOf("qr", t, linalgDType("qr", [t]));
    const q = asBatches(orthogonal(work, rows), batchOf(t));
    const triangle = asTensor(block(stridedOf(work.r), 0, rows, 0, n));
    clearLower(stridedOf(triangle));
    return { q: denseResult("qr", q), r: denseResult("qr", asBatches(triangle, batchOf(t))) };
  }) as QrResult<Tensor<LinalgOf<D>>>;
}

export interface Qr {
  /** (batch, m, n): R on and above the diagonal, anything below. */
  readonly r: Tensor<LinalgDType>;
  /** (batch, m, min(m, n)): the vectors. */
  readonly v: Tensor<LinalgDType>;
  /** (batch, min(m, n)). */
  readonly tau: Tensor<"f64">;
  /** TOGETHER columns each; missing where nobody needed them yet. */
  readonly blocks: Reflections[];
}

/** The factors before Q is made of them; for this scope. */
export function qrOf(operation: string, a: Tensor, dtype: LinalgDType): Qr {
  const r = copyStack(operation, a, dtype);
  const [batch, m, n] = r.shape;
  const k = Math.min(m, n);
  const v = newStack(dtype, [batch, m, k], { zeroed: true });
  const tau = empty([batch, k], { dtype: "f64" });
  const qr: Qr = { r, v, tau, blocks: [] };
  if (batch === 0 || k === 0) return qr;
  const buffer = newStack(dtype, [batch, m + 2, PANEL], { dense: true });
  for (let from = 0; from < k; from += TOGETHER) {
    const to = Math.min(k, from + TOGETHER);
    factorColumns(qr, stridedOf(buffer), from, to);
    if (to === n) break;
    qr.blocks.push(together(qr, from, to));
    scope(() => applyReflections(qr.blocks[qr.blocks.length - 1], block(stridedOf(r), from, m, to, n), true));
  }
  return qr;
}

/** The reflections of some columns. */
function together({ r, v, tau }: Qr, from: number, to: number): Reflections {
  // A copy: where memory is not shared, `data` does not outlive what is allocated next.
  const factors = tau.toTypedArray().subarray(from);
  return reflectionsOf(block(stridedOf(v), from, r.shape[1], from, to), factors, tau.shape[1]);
}

/** Columns `from` to `to`, panel by panel. */
function factorColumns(qr: Qr, buffer: Stack, from: number, to: number): void {
  const { r, v, tau } = qr;
  const m = r.shape[1];
  for (let at = from; at < to; at += PANEL) {
    const end = Math.min(to, at + PANEL);
    const panel = block(stridedOf(r), at, m, at, end);
    const vectors = block(stridedOf(v), at, m, at, end);
    step(qrPanelRoutine, { from: at }, [], [panel, vectors, stridedOf(tau), buffer]);
    if (end < to)
      scope(() => applyReflections(together(qr, at, end), block(stridedOf(r), at, m, end, to), true));
  }
}

/** The first `columns` columns of Q. */
export function orthogonal(qr: Qr, columns: number): Tensor<LinalgDType> {
  const { v } = qr;
  const [batch, m, k] = v.shape;
  const q = newStack(v.dtype, [batch, m, columns], { zeroed: true });
  if (q.size === 0) return q;
  setIdentity(q);
  for (let i = Math.ceil(k / TOGETHER) - 1; i >= 0; i--) {
    const from = i * TOGETHER;
    scope(() => {
      const some = qr.blocks[i] ?? together(qr, from, Math.min(k, from + TOGETHER));
      // What lies left of these columns is still the identity's, and zero in these rows.
      applyReflections(some, block(stridedOf(q), from, m, from, columns), false);
    });
  }
  return q;
}
