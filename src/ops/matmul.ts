/** Matrix product: shapes as NumPy's matmul, any strides, batches broadcast by stride 0. */
import { dtypes, promote } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { interpretMatmul } from "../run/interpret.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { planLoops } from "../view/loops.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import { absolute, allocate, checkAlive, type Strided } from "./strided.ts";

/** The matrices of one product: 1-D operands became a row or a column, batch axes are equal on all sides. */
export interface MatmulPlan {
  readonly batch: readonly number[];
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** (…batch, m, k) and (…batch, k, n). */
  readonly a: View;
  readonly b: View;
  /** Shape of the result, without the axes a 1-D operand lent. */
  readonly shape: readonly number[];
}

export function planMatmul(a: View, b: View): MatmulPlan {
  const operation = "matmul";
  if (a.shape.length === 0 || b.shape.length === 0) {
    fail(
      "shape",
      operation,
      `a scalar has no matrix: a is ${list(a.shape)}, b is ${list(b.shape)}.`,
      "Use mul for products with a scalar.",
    );
  }
  const rowVector = a.shape.length === 1;
  const columnVector = b.shape.length === 1;
  const left = rowVector ? withAxis(a, 0) : a;
  const right = columnVector ? withAxis(b, 1) : b;
  const k = left.shape[left.shape.length - 1];
  if (k !== right.shape[right.shape.length - 2]) {
    const where = columnVector ? "b's only size" : "b's second-last";
    fail(
      "shape",
      operation,
      `inner sizes differ: a is ${list(a.shape)}, b is ${list(b.shape)}.`,
      `a's last size (${k}) must equal ${where} (${right.shape[right.shape.length - 2]}).`,
    );
  }
  const batch = broadcastShapes(operation, [left.shape.slice(0, -2), right.shape.slice(0, -2)]);
  const m = left.shape[left.shape.length - 2];
  const n = right.shape[right.shape.length - 1];
  return {
    batch,
    m,
    n,
    k,
    a: broadcastTo(left, [...batch, m, k]),
    b: broadcastTo(right, [...batch, k, n]),
    shape: [...batch, ...(rowVector ? [] : [m]), ...(columnVector ? [] : [n])],
  };
}

export function matmul(a: Strided, b: Strided): Strided {
  checkAlive("matmul", a);
  checkAlive("matmul", b);
  const plan = planMatmul(a.frame, b.frame);
  const working = promote(a.dtype, b.dtype);
  const out = allocate("matmul", working, [...plan.batch, plan.m, plan.n]);
  const operands = [out, a, b];
  const views = [out.frame, plan.a, plan.b];
  const batches = absolute(planLoops(views.map(batchView)), operands);
  const rank = plan.batch.length;
  const matrix = (v: View) => [v.strides[rank], v.strides[rank + 1]] as const;
  interpretMatmul(
    engine().heap.view,
    batches,
    { m: plan.m, n: plan.n, k: plan.k, out: matrix(out.frame), a: matrix(plan.a), b: matrix(plan.b) },
    [working, a.dtype, b.dtype],
    working,
  );
  return { ...out, frame: contiguousView(plan.shape, dtypes[working].bytes) };
}

/** The view without its two matrix axes. */
function batchView(v: View): View {
  return { ...v, shape: v.shape.slice(0, -2), strides: v.strides.slice(0, -2) };
}

function withAxis(v: View, axis: 0 | 1): View {
  const shape = [...v.shape];
  const strides = [...v.strides];
  shape.splice(axis, 0, 1);
  strides.splice(axis, 0, 0);
  return { ...v, shape, strides };
}
