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
import { type ProductTask, productRoutine, productWords } from "./routines.ts";
import { hasLanes, runRoutine } from "./run.ts";
import { blockTypes } from "./types.ts";

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
 * k · 2^-22 · Σ |w·x|.
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
  if (k === 0 || columns > FEW || !hasLanes()) {
    byPanels(operation, out, a, b);
    return;
  }
  const { heap } = out.storage;
  const room = allocate(operation, "f32", [columns, k + k / 4]);
  withTemporary(room, () => {
    const rows = { ...room, frame: { ...room.frame, shape: [columns, k] } };
    const [height, width] = b.frame.strides;
    assign(operation, rows, {
      ...b,
      frame: { ...b.frame, shape: [columns, k], strides: [width ?? 0, height] },
    });
    for (let c = 0; c < columns; c++) {
      prepare(new Float32Array(heap.buffer, addressOf(room) + 5 * c * k, k + k / 4), k);
    }
    byVectors(operation, out, a, b, addressOf(room), columns);
  });
}

/** Sums of 16 elements, four by four, behind the elements; and the elements as they are wanted. */
function prepare(x: Float32Array, k: number): void {
  for (let g = 0; g < k; g += 16) {
    for (let l = 0; l < 4; l++) {
      const [p, q] = [x[g + l] + x[g + 4 + l], x[g + 8 + l] + x[g + 12 + l]];
      x[k + g / 4 + l] = p + q;
    }
  }
  for (let i = 0; i < k; i++) x[i] *= 2 ** -24;
}

function byVectors(
  operation: string,
  out: Strided<"f32">,
  a: Blocks,
  b: Strided,
  x: number,
  columns: number,
): void {
  const { shape, strides } = a.of.frame;
  const [n, blocks] = shape;
  const k = blocks * blockTypes[a.dtype].block;
  const most = Math.max(1, Math.floor(TASK / k));
  const [down, across] = out.frame.strides;
  withGrid(operation, recipeOf(a.dtype).grid, (grid) => {
    const tasks: ProductTask[] = [];
    for (let c = 0; c < columns; c++) {
      for (let r = 0; r < n; r += most) {
        tasks.push({
          rows: Math.min(most, n - r),
          blocks,
          from: addressOf(a.of) + r * strides[0],
          to: addressOf(out) + r * down + c * (across ?? 0),
          fromStride: strides[0],
          toStride: down,
          step: strides[1],
          grid,
          x: x + 5 * c * k,
          sums: x + 5 * c * k + 4 * k,
        });
      }
    }
    runRoutine(productRoutine(a.dtype), productWords, tasks, NANOSECONDS * n * k * columns, {
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
