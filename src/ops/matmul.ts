/** Matrix product: shapes as NumPy's matmul, any strides, batches broadcast by stride 0. */
import { type DType, dtypes, promote } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import { ADD, canAccumulate, type GemmProblem, SUBTRACT } from "../optimize/gemm.ts";
import { gemmOf } from "../run/gemm.ts";
import { interpretMatmul } from "../run/interpret.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import { overlaps } from "../view/overlap.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import { detectFeatures } from "../wasm/features.ts";
import { own } from "./arguments.ts";
import { assign, sameShape } from "./copy.ts";
import { elementwise } from "./elementwise.ts";
import { namedCallable } from "./named.ts";
import {
  absolute,
  allocate,
  checkAlive,
  checkWritable,
  filled,
  type Strided,
  withTemporary,
} from "./strided.ts";

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
  readonly out?: Strided;
}

export function matmul(a: Strided, b: Strided, options?: MatmulOptions): Strided {
  checkAlive("matmul", a);
  checkAlive("matmul", b);
  const out = options === undefined ? undefined : own(options, "out");
  if (out !== undefined) return matmulInto(out, a, b);
  const call = prepare(a, b);
  const made = allocate("matmul", call.dtype, call.full.shape, call.full);
  filled(made, () => multiply(call.plan, made, a, b));
  return { dtype: call.dtype, storage: made.storage, frame: call.frame, readOnly: false };
}

/** The last product's plan and layouts: frames do not change, so the same frames make the same product. */
interface Prepared {
  readonly aFrame: View;
  readonly bFrame: View;
  readonly aType: DType;
  readonly bType: DType;
  readonly dtype: DType;
  readonly plan: MatmulPlan;
  /** The output with both matrix axes, and as it is given back. */
  readonly full: View;
  readonly frame: View;
}

let last: Prepared | null = null;

function prepare(a: Strided, b: Strided): Prepared {
  if (
    last !== null &&
    last.aFrame === a.frame &&
    last.bFrame === b.frame &&
    last.aType === a.dtype &&
    last.bType === b.dtype
  )
    return last;
  const plan = planMatmul(a.frame, b.frame);
  const dtype = promote(a.dtype, b.dtype);
  const { bytes } = dtypes[dtype];
  const full = contiguousView([...plan.batch, plan.m, plan.n], bytes);
  const frame = plan.shape.length === full.shape.length ? full : contiguousView(plan.shape, bytes);
  last = { aFrame: a.frame, bFrame: b.frame, aType: a.dtype, bType: b.dtype, dtype, plan, full, frame };
  return last;
}

/** Products of half floats are sums in f32, and rounded once, when stored: a wider output takes them as they are. */
function heldIn(dtype: DType, out: DType): DType {
  const isHalf = dtype === "f16" || dtype === "bf16";
  return isHalf && (out === "f32" || out === "f64") ? "f32" : dtype;
}

/** Into a tensor that was there before; made aside first where it overlaps an operand or has another dtype. */
function matmulInto(out: Strided, a: Strided, b: Strided): Strided {
  const operation = "matmul";
  const { plan, dtype, frame } = prepare(a, b);
  checkWritable(operation, out);
  if (!sameShape(out.frame.shape, frame.shape)) {
    fail(
      "shape",
      operation,
      `the output is ${list(out.frame.shape)}, the operands make ${list(frame.shape)}.`,
      "An existing output must have exactly the result's shape.",
    );
  }
  const clash = [a, b].some((t) => t.storage === out.storage && overlaps(out.frame, t.frame));
  const held = heldIn(dtype, out.dtype);
  if (!clash && out.dtype === held) {
    const { batch } = plan;
    const columns = b.frame.shape.length === 1 ? withAxis(out.frame, frame.shape.length) : out.frame;
    const matrices = a.frame.shape.length === 1 ? withAxis(columns, batch.length) : columns;
    multiply(plan, { ...out, frame: matrices }, a, b);
    return out;
  }
  const aside = allocate(operation, held, frame.shape);
  engine().listener?.({
    kind: "copy",
    operation,
    bytes: aside.storage.bytes,
    why: clash
      ? "the output overlaps an operand, so the result is made aside first"
      : `the product is ${held} and the output ${out.dtype}, so the result is made aside first`,
  });
  withTemporary(aside, () => {
    matmulInto(aside, a, b);
    assign(operation, out, aside);
  });
  return out;
}

/**
 * out += a·b or out -= a·b, on matrices with equal batch axes, of one float dtype. out must not overlap the others.
 * For algorithms that work on blocks: nothing is checked.
 */
export function accumulateProduct(how: "add" | "subtract", out: Strided, a: Strided, b: Strided): void {
  const e = engine();
  const operation = "matmul";
  const plan = planOf(out.frame, a.frame, b.frame);
  if (plan.m === 0 || plan.n === 0 || plan.k === 0) return;
  const target = { ...out, frame: single(out.frame) };
  const problem = gemmProblem(plan, target, a, b);
  const simd = e.kernels.simd && detectFeatures().simd;
  if (simd && (canAccumulate(problem, false) || canAccumulate(problem, true))) {
    announce(plan, target, a, b, how === "add" ? "+=" : "-=");
    const kernels = gemmOf(e.heap, e.pool);
    const gemm = kernels.run(problem, { accumulate: how === "add" ? ADD : SUBTRACT });
    const detail = { gemm, parallel: kernels.shared };
    e.listener?.({ kind: "kernel", operation, backend: "wasm", detail });
    return;
  }
  const product = allocate(operation, out.dtype, out.frame.shape);
  withTemporary(product, () => {
    multiply(plan, { ...product, frame: single(product.frame) }, a, b);
    const callable = namedCallable(how === "add" ? "add" : "sub", [out.dtype, out.dtype], []);
    elementwise(operation, callable, [out, product], { out });
  });
}

/** out = a·b on matrices with equal batch axes, of one dtype; out must not overlap the others. Nothing is checked. */
export function replaceByProduct(out: Strided, a: Strided, b: Strided): void {
  multiply(planOf(out.frame, a.frame, b.frame), { ...out, frame: single(out.frame) }, a, b);
}

/** Of matrices whose shapes are known to fit. */
function planOf(out: View, a: View, b: View): MatmulPlan {
  const { shape } = single(out);
  const rank = shape.length - 2;
  const [left, right] = [single(a), single(b)];
  return {
    batch: shape.slice(0, rank),
    m: shape[rank],
    n: shape[rank + 1],
    k: left.shape[rank + 1],
    a: left,
    b: right,
    shape,
  };
}

/** Without a batch axis of size 1: that is one matrix. */
function single(v: View): View {
  if (v.shape.length !== 3 || v.shape[0] !== 1) return v;
  return { ...v, shape: v.shape.slice(1), strides: v.strides.slice(1) };
}

/** out = a·b, where out is (…batch, m, n) of the promoted dtype, or f32 for half floats, in any layout. */
function multiply(plan: MatmulPlan, out: Strided, a: Strided, b: Strided): void {
  const e = engine();
  const operation = "matmul";
  announce(plan, out, a, b, "=");
  if (plan.k === 1 && e.kernels.simd) {
    const program = outerProgram(out.dtype, a.dtype, b.dtype);
    const views = [out.frame, broadcastTo(plan.a, out.frame.shape), broadcastTo(plan.b, out.frame.shape)];
    const nest = absolute(planLoops(views), [out, a, b]);
    const kernel = e.kernels.elementwise(program, nest, []);
    e.listener?.({ kind: "kernel", operation, backend: "wasm", detail: { program, nest, kernel } });
    return;
  }
  const problem = gemmProblem(plan, out, a, b);
  if (!e.kernels.simd || !detectFeatures().simd) {
    interpretMatmul(e.heap.view, problem.batches, problem, problem.dtypes, out.dtype);
    e.listener?.({ kind: "kernel", operation, backend: "interpreter", detail: { nest: problem.batches } });
    return;
  }
  const kernels = gemmOf(e.heap, e.pool);
  const gemm = kernels.run(problem);
  e.listener?.({ kind: "kernel", operation, backend: "wasm", detail: { gemm, parallel: kernels.shared } });
}

function announce(plan: MatmulPlan, out: Strided, a: Strided, b: Strided, sign: "=" | "+=" | "-="): void {
  engine().listener?.({
    kind: "operation",
    operation: "matmul",
    form: "matmul",
    source: `out[i, j] ${sign} Σ a[i, k] · b[k, j]`,
    out,
    inputs: [
      { dtype: a.dtype, storage: a.storage, frame: plan.a },
      { dtype: b.dtype, storage: b.storage, frame: plan.b },
    ],
  });
}

function gemmProblem(plan: MatmulPlan, out: Strided, a: Strided, b: Strided): GemmProblem {
  const rank = plan.batch.length;
  return {
    m: plan.m,
    n: plan.n,
    k: plan.k,
    out: matrixSteps(out.frame, rank),
    a: matrixSteps(plan.a, rank),
    b: matrixSteps(plan.b, rank),
    dtypes: [out.dtype, a.dtype, b.dtype],
    batches: batchNest(plan, out, a, b),
  };
}

/** The loops over [out, a, b] around one product, with addresses. */
function batchNest(plan: MatmulPlan, out: Strided, a: Strided, b: Strided): LoopNest {
  if (plan.batch.length > 0) {
    return absolute(planLoops([batchView(out.frame), batchView(plan.a), batchView(plan.b)]), [out, a, b]);
  }
  const offsets = [
    out.storage.address + out.frame.offset,
    a.storage.address + plan.a.offset,
    b.storage.address + plan.b.offset,
  ];
  return { shape: none, strides: [none, none, none], offsets, order: [], flipped: none };
}

const none: readonly number[] = [];

/** One product an element: what a matrix product with k = 1 is. */
function outerProgram(out: DType, a: DType, b: DType): Program {
  const key = `${out} ${a} ${b}`;
  let program = outerPrograms.get(key);
  if (program === undefined) {
    const build = new Builder();
    const [x, y] = [a, b].map((dtype, i) => build.cast(out, build.input(i, dtype)));
    program = build.finish(build.op(out === "bool" ? "and" : "mul", x, y), [a, b]);
    outerPrograms.set(key, program);
  }
  return program;
}

const outerPrograms = new Map<string, Program>();

/** The view without its two matrix axes. */
function batchView(v: View): View {
  return { ...v, shape: v.shape.slice(0, -2), strides: v.strides.slice(0, -2) };
}

/** Byte strides of the two axes after the batch's. */
const matrixSteps = ({ strides }: View, rank: number) => [strides[rank], strides[rank + 1]] as const;

function withAxis(v: View, axis: number): View {
  const shape = [...v.shape];
  const strides = [...v.strides];
  shape.splice(axis, 0, 1);
  strides.splice(axis, 0, 0);
  return { ...v, shape, strides };
}
