/** Matrix product: shapes as NumPy's matmul, any strides, batches broadcast by stride 0. */
import { type DType, dtypes, isHalf, promote } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import type { Strided } from "../run/call.ts";
import { type Call, type Form, fromStart, newId, type ProductWork } from "../run/call.ts";
import { addsInPlace } from "../run/executor.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { sameShape } from "../view/layout.ts";
import { overlaps } from "../view/overlap.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import { checkFlag, own } from "./arguments.ts";
import { elementwise } from "./elementwise.ts";
import { aside, execute, planned } from "./execute.ts";
import { namedCallable } from "./named.ts";
import { checkAlive, checkWritable, withTemporary } from "./strided.ts";

/** What the axes before the last two broadcast to. */
function commonBatch(operation: string, a: View, b: View): readonly number[] {
  if (a.shape.length <= 2 && b.shape.length <= 2) return [];
  const [left, right] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const rank = Math.max(left.length, right.length);
  const sizeAt = (shape: readonly number[], d: number) => shape[d - rank + shape.length] ?? 1;
  for (let d = 0; d < rank; d++) {
    const [x, y] = [sizeAt(left, d), sizeAt(right, d)];
    if (x === y || x === 1 || y === 1) continue;
    fail(
      "shape",
      operation,
      `the batch axes do not broadcast: a is ${list(a.shape)}, b is ${list(b.shape)}.`,
      `All axes but the last two, aligned at the right, must be equal or 1: ${x} and ${y} are neither.`,
    );
  }
  return broadcastShapes(operation, [left, right]);
}

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
  const batch = commonBatch(operation, a, b);
  const m = left.shape[left.shape.length - 2];
  const n = right.shape[right.shape.length - 1];
  return {
    batch,
    m,
    n,
    k,
    a: left.shape.length === 2 && batch.length === 0 ? left : broadcastTo(left, [...batch, m, k]),
    b: right.shape.length === 2 && batch.length === 0 ? right : broadcastTo(right, [...batch, k, n]),
    shape: [...batch, ...(rowVector ? [] : [m]), ...(columnVector ? [] : [n])],
  };
}

export interface MatmulOptions {
  /** Write here instead of into a new tensor; results are converted to its dtype. */
  readonly out?: Strided | undefined;
  /** Add to what is there. */
  readonly accumulate?: boolean | undefined;
}

interface ProductCall extends Call {
  readonly sign: ProductWork["sign"];
}

/** What calls of matmul have in common: there is nothing more to say of what is done. */
const product = {};

const productForm: Form<ProductCall> = {
  id: newId(),
  guards: "memory",
  plan({ inputs: [a, b], out, sign }) {
    const plan = planMatmul(a.frame, b.frame);
    const dtype = out?.dtype ?? promote(a.dtype, b.dtype);
    const { bytes } = dtypes[dtype];
    const full =
      out === null ? contiguousView([...plan.batch, plan.m, plan.n], bytes) : asMatrices(out, a, b);
    const frame = plan.shape.length === full.shape.length ? full : contiguousView(plan.shape, bytes);
    const frames = [full, plan.a, plan.b].map(fromStart) as [View, View, View];
    const work = { form: "matmul", frames, dtypes: [dtype, a.dtype, b.dtype], sign } as const;
    const told = `out[i, j] ${sign} Σ a[i, k] · b[k, j]`;
    return planned(work, { dtype, frame, params: [], told, names: [] });
  },
};

/** The same for callers who know that nothing overlaps. */
const blockForm: Form<ProductCall> = { ...productForm, id: newId(), guards: "nothing" };

const run = (
  form: Form<ProductCall>,
  a: Strided,
  b: Strided,
  out: Strided | null,
  sign: ProductWork["sign"] = "=",
): Strided =>
  execute(form, {
    operation: "matmul",
    what: product,
    facts: [sign.length, sign],
    inputs: [a, b],
    out,
    values: [],
    sign,
  });

export function matmul(a: Strided, b: Strided, options?: MatmulOptions): Strided {
  checkAlive("matmul", a);
  checkAlive("matmul", b);
  if (options === undefined) return run(productForm, a, b, null);
  const [out, accumulate] = [own(options, "out"), own(options, "accumulate")];
  checkFlag("matmul", "accumulate", accumulate);
  if (out !== undefined) return matmulInto(out, a, b, accumulate === true);
  if (accumulate !== true) return run(productForm, a, b, null);
  return fail(
    "value",
    "matmul",
    "there is nothing to accumulate in.",
    "Give the tensor that the product is added to: { out, accumulate: true }.",
  );
}

/** Products of half floats are sums in f32, and rounded once, when stored: a wider output takes them as they are. */
function heldIn(dtype: DType, out: DType): DType {
  return isHalf(dtype) && (out === "f32" || out === "f64") ? "f32" : dtype;
}

/** Into a tensor that was there before; made aside first where it overlaps an operand or has another dtype. */
function matmulInto(out: Strided, a: Strided, b: Strided, accumulate: boolean): Strided {
  const operation = "matmul";
  const { shape } = planMatmul(a.frame, b.frame);
  checkWritable(operation, out);
  if (!sameShape(out.frame.shape, shape)) {
    fail(
      "shape",
      operation,
      `the output is ${list(out.frame.shape)}, the operands make ${list(shape)}.`,
      "An existing output must have exactly the result's shape.",
    );
  }
  const held = heldIn(promote(a.dtype, b.dtype), out.dtype);
  if (accumulate) {
    addProduct("add", out, a, b, held);
    return out;
  }
  if (out.dtype === held) return run(productForm, a, b, out);
  const why = `the product is ${held} and the output ${out.dtype}`;
  aside(operation, [out], why, ([made]) => run(productForm, a, b, made), held);
  return out;
}

/** An output with both matrix axes, those included that a 1-D operand lends. */
function asMatrices({ frame }: Strided, a: Strided, b: Strided): View {
  const { length } = frame.shape;
  const columns = b.frame.shape.length === 1 ? withAxis(frame, length) : frame;
  return a.frame.shape.length === 1 ? withAxis(columns, columns.shape.length - 1) : columns;
}

/** out ± a·b: in place where the code can add and nothing is in the way, else by way of the product, made as `held`. */
function addProduct(
  how: "add" | "subtract",
  out: Strided,
  a: Strided,
  b: Strided,
  held: DType,
  isApart = [a, b].every((t) => t.storage.origin !== out.storage.origin || !overlaps(out.frame, t.frame)),
): void {
  const sign = how === "add" ? "+=" : "-=";
  const { m, n, k, batch, a: left, b: right } = planMatmul(a.frame, b.frame);
  if (k === 0 || m === 0 || n === 0 || batch.includes(0)) return;
  const dtypesOf = [out.dtype, a.dtype, b.dtype] as const;
  const frames = [asMatrices(out, a, b), left, right] as const;
  const work = { form: "matmul", frames, dtypes: dtypesOf, sign } as const;
  const canAdd = out.dtype === held && isApart && engine().executor.refuses(work) === null;
  if (canAdd && addsInPlace(work)) {
    run(blockForm, a, b, out, sign);
    return;
  }
  const product = run(productForm, a, b, null);
  withTemporary(product, () => {
    const callable = namedCallable(how === "add" ? "add" : "sub", [out.dtype, product.dtype], []);
    elementwise("matmul", callable, [out, product], out);
  });
}

/**
 * out += a·b or out -= a·b, on matrices with equal batch axes, of one float dtype. out must not overlap the others.
 * For algorithms that work on blocks: nothing is checked.
 */
export function accumulateProduct(how: "add" | "subtract", out: Strided, a: Strided, b: Strided): void {
  addProduct(how, single(out), single(a), single(b), out.dtype, true);
}

/** out = a·b on matrices with equal batch axes, of one dtype; out must not overlap the others. Nothing is checked. */
export function replaceByProduct(out: Strided, a: Strided, b: Strided): void {
  run(blockForm, single(a), single(b), single(out));
}

/** Without a batch axis of size 1: that is one matrix. */
function single(t: Strided): Strided {
  const { shape, strides } = t.frame;
  if (shape.length !== 3 || shape[0] !== 1) return t;
  return { ...t, frame: { ...t.frame, shape: shape.slice(1), strides: strides.slice(1) } };
}

function withAxis(v: View, axis: number): View {
  const shape = [...v.shape];
  const strides = [...v.strides];
  shape.splice(axis, 0, 1);
  strides.splice(axis, 0, 0);
  return { ...v, shape, strides };
}
