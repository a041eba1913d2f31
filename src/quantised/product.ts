/**
 * Products with a matrix in blocks. By a vector, or a few, rows are multiplied where they lie and never become floats in
 * memory. By more columns, some rows at a time become floats, and the product of matrices does the rest.
 */
import { promote } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { assign, copyTo } from "../ops/copy.ts";
import { matmul as multiply } from "../ops/matmul.ts";
import { allocate, checkWritable, filled, withTemporary } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import { isTensor, live, type Tensor, wrap } from "../tensor.ts";
import { overlaps } from "../view/overlap.ts";
import type { View } from "../view/view.ts";
import { withGrid } from "./grids.ts";
import { type Blocks, decode, elementShape } from "./move.ts";
import { insideOf, isQuantised, type Quantised } from "./quantised.ts";
import { recipeOf } from "./recipes.ts";
import { type ProductTask, productRoutine, productWords, vectorForm } from "./routines.ts";
import { hasLanes, runRoutine } from "./run.ts";
import { type Portions, vectorBytes, writeVector } from "./vector.ts";

/** As many columns are multiplied one by one. */
const FEW = 4;
/** Elements of a task. */
const TASK = 2 ** 16;
/** Elements that become floats at a time: 16 MiB. */
const PANEL = 2 ** 22;
const NANOSECONDS = 0.3;

/** The options of `matmul`. */
export interface QuantisedProductOptions {
  /** Write here instead of into a new tensor; this is what is returned then. */
  readonly out?: Tensor<"f32">;
}

/**
 * The product of a matrix in blocks, [n, k], with a vector [k] or a matrix [k, m] of floats; f32, the same bits for any
 * number of threads. It differs from `q.dequantise().matmul(x)` by rounding alone: no element by more than
 * k · 2^-24 · Σ |w·x|, where |w| is |scale · q| + |minimum| for types with minima.
 *
 *     const up = await readGguf(model, "blk.0.ffn_up.weight");
 *     matmul(up, hidden);
 *
 * @param q a matrix in blocks
 * @param x a vector [k], or a matrix [k, m]
 * @param options `out`: the tensor to write to
 * @returns a new tensor [n] or [n, m], or `out`
 * @throws TensorError where sizes differ
 * @example
 * matmul(quantise(ones([2, 32]), "q8_0"), ones([32])).shape; // → [2]
 */
export function matmul(q: Quantised, x: Tensor, options?: QuantisedProductOptions): Tensor<"f32"> {
  const operation = "matmul";
  const { out: given } = readOptions(operation, options, "{ out }", ["out"]);
  const a = insideOf(operation, q);
  if (!isTensor(x)) {
    fail(
      "value",
      operation,
      `expected a tensor to multiply with, got ${isQuantised(x) ? `blocks of ${(x as Quantised).dtype}` : describe(x)}.`,
      isQuantised(x) ? "Blocks are the first factor; dequantise the second." : "Give a tensor of floats.",
    );
  }
  const b = live(operation, x);
  const [shape, right] = [elementShape(a), b.frame.shape];
  if (shape.length !== 2 || right.length < 1 || right.length > 2) {
    fail(
      "shape",
      operation,
      `blocks ${list(shape)} times ${list(right)}.`,
      "Give a matrix in blocks, [n, k], and a vector [k] or a matrix [k, m].",
    );
  }
  const [n, k] = shape;
  if (right[0] !== k) {
    fail(
      "shape",
      operation,
      `inner sizes differ: the blocks are ${list(shape)}, x is ${list(right)}.`,
      `The blocks' last size (${k}) must equal x's first (${right[0]}).`,
    );
  }
  const size = right.length === 1 ? [n] : [n, right[1]];
  if (given === undefined) {
    const made = allocate(operation, "f32", size);
    return wrap(filled(made, () => product(operation, made, a, b)));
  }
  const out = live(operation, given) as Strided<"f32">;
  checkWritable(operation, out);
  const fits = out.frame.shape.length === size.length && out.frame.shape.every((s, d) => s === size[d]);
  if (out.dtype !== "f32" || !fits) {
    fail(
      "shape",
      operation,
      `out is ${out.dtype} ${list(out.frame.shape)}, the product is f32 ${list(size)}.`,
      "Give an output of that dtype and shape.",
    );
  }
  const isApart = [a.of, b].every((t) => t.storage !== out.storage || !overlaps(t.frame, out.frame));
  if (isApart) product(operation, out, a, b);
  else {
    withTemporary(allocate(operation, "f32", size), (aside) => {
      product(operation, aside, a, b);
      assign(operation, out, aside);
    });
  }
  return given;
}

/** Nothing shares memory with the output. */
function product(operation: string, out: Strided<"f32">, a: Blocks, b: Strided): void {
  const [n, k] = elementShape(a);
  const columns = b.frame.shape[1] ?? 1;
  if (n === 0 || columns === 0) return;
  const isFew = k > 0 && columns <= FEW && hasLanes();
  if (!isFew || !byVectors(operation, out, a, b, columns)) byPanels(operation, out, a, b);
}

/** false: x is out of reach of whole numbers, and nothing is done. */
function byVectors(operation: string, out: Strided<"f32">, a: Blocks, b: Strided, columns: number): boolean {
  const [, k] = elementShape(a);
  const form = vectorForm(a.dtype);
  // Each column, and behind it the same as whole numbers.
  const room = allocate(operation, "f32", [columns, k + vectorBytes(form, k) / 4]);
  return withTemporary(room, () => {
    const [height, width] = b.frame.strides;
    assign(
      operation,
      { ...room, frame: { ...room.frame, shape: [columns, k] } },
      { ...b, frame: { ...b.frame, shape: [columns, k], strides: [width ?? 0, height] } },
    );
    const vectors: Vector[] = [];
    for (let c = 0; c < columns; c++) {
      const at = addressOf(room) + c * room.frame.strides[0];
      const x = at + 4 * k;
      const portions = writeVector(new Float32Array(room.storage.heap.buffer, at, k), form, x);
      if (portions === null) return false;
      vectors.push({ x, ...portions });
    }
    runProducts(operation, out, a, b, vectors);
    return true;
  });
}

/** Where a column lies as whole numbers. */
interface Vector extends Portions {
  readonly x: number;
}

function runProducts(
  operation: string,
  out: Strided<"f32">,
  a: Blocks,
  b: Strided,
  vectors: readonly Vector[],
): void {
  const [n, k] = elementShape(a);
  const { strides } = a.of.frame;
  const most = Math.max(1, Math.floor(TASK / k));
  const [down, across] = out.frame.strides;
  withGrid(operation, recipeOf(a.dtype).grid, (grid) => {
    const tasks: ProductTask[] = [];
    vectors.forEach(({ x, mains, tails }, c) => {
      for (let r = 0; r < n; r += most) {
        tasks.push({
          rows: Math.min(most, n - r),
          portions: mains,
          tails,
          from: addressOf(a.of) + r * strides[0],
          to: addressOf(out) + r * down + c * (across ?? 0),
          fromStride: strides[0],
          toStride: down,
          step: strides[1],
          grid,
          x,
        });
      }
    });
    runRoutine(productRoutine(a.dtype), productWords, tasks, NANOSECONDS * n * k * vectors.length, {
      operation,
      inputs: [{ dtype: "u8", frame: a.of.frame }, b],
      out,
    });
  });
  out.storage.version++;
}

function byPanels(operation: string, out: Strided<"f32">, a: Blocks, b: Strided): void {
  const [n, k] = elementShape(a);
  const most = Math.min(n, Math.max(64, Math.floor(PANEL / Math.max(1, k))));
  const cut = (view: View, from: number, rows: number): View => ({
    ...view,
    shape: [rows, ...view.shape.slice(1)],
    offset: view.offset + from * view.strides[0],
  });
  // What meets f32 in a wider dtype is rounded first, as for a vector.
  const right = promote("f32", b.dtype) === "f32" ? b : copyTo(operation, b, "f32");
  try {
    withTemporary(allocate(operation, "f32", [most, k]), (room) => {
      for (let r = 0; r < n; r += most) {
        const rows = Math.min(most, n - r);
        const panel = { ...room, frame: cut(room.frame, 0, rows) };
        decode(operation, panel, { ...a, of: { ...a.of, frame: cut(a.of.frame, r, rows) } });
        multiply(panel, right, { out: { ...out, frame: cut(out.frame, r, rows) } });
      }
    });
  } finally {
    if (right !== b) right.storage.release();
  }
}
