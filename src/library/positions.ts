/** Shapes and positions in them: what broadcasts to what, and a position as one index an axis. */
import { type DType, isInteger } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { indexList, numberList, readList } from "../ops/arguments.ts";
import { type Index, isTensor, liveTensor, type Tensor } from "../tensor.ts";
import { broadcastShapes as commonShape } from "../view/broadcast.ts";
import { checkShape, normalizeIndex, rowMajorStrides, sizeOf, unravel } from "../view/layout.ts";
import { named, scoped } from "./scoped.ts";
import { checkPositions } from "./search.ts";

/**
 * The shape that all of them broadcast to, or an error that says where they disagree.
 *
 * @param shapes one or more
 * @returns the common shape
 * @throws TensorError where they disagree
 * @example
 * broadcastShapes([4, 1], [3]); // → [4, 3]
 */
export function broadcastShapes(...shapes: (readonly number[])[]): number[] {
  const op = "broadcastShapes";
  const all = shapes.map((shape) => {
    const sizes = numberList(op, "the shape", shape);
    checkShape(op, sizes);
    return sizes;
  });
  return commonShape(op, all);
}

/**
 * A position in a flattened tensor as one index an axis, last axis fastest: what argmax gives, for get. Of a tensor of
 * positions, one tensor an axis.
 *
 *     const at = unravelIndex(t.argmax().item(), t.shape);
 *     t.get(...at);
 *
 * @param position a number, or a tensor of positions
 * @param shape of the tensor they are positions in
 * @returns one index an axis
 * @throws TensorError where a position is out of range
 * @example
 * unravelIndex(5, [2, 3]); // → [1, 2]
 */
export function unravelIndex(position: Index, shape: readonly number[]): number[];
export function unravelIndex(position: Tensor, shape: readonly number[]): Tensor<"i64">[];
export function unravelIndex(position: Index | Tensor, shape: readonly number[]): number[] | Tensor<"i64">[] {
  const op = "unravelIndex";
  const sizes = sizesOf(op, shape);
  if (!isTensor(position)) return unravel(normalizeIndex(op, position, sizeOf(sizes), 0), sizes);
  const at = integers(op, "the positions", position);
  return scoped(op, () => {
    checkPositions(op, at, sizeOf(sizes));
    let rest = at.to("i64");
    const found: Tensor<"i64">[] = [];
    for (const n of [...sizes].reverse()) {
      const size = BigInt(Math.max(n, 1));
      found.unshift(rest.remainder(size));
      rest = rest.floorDivide(size);
    }
    return found;
  });
}

/**
 * One index an axis as the position in the flattened tensor; negative ones count from the end. Tensors of indices
 * broadcast together.
 *
 * @param index one an axis: numbers, or tensors that broadcast together
 * @param shape of the tensor they are indices of
 * @returns the position
 * @throws TensorError where an index is out of range
 * @example
 * ravelIndex([1, 2], [2, 3]); // → 5
 */
export function ravelIndex(index: readonly Index[], shape: readonly number[]): number;
export function ravelIndex(index: readonly Tensor[], shape: readonly number[]): Tensor<"i64">;
export function ravelIndex(
  index: readonly Index[] | readonly Tensor[],
  shape: readonly number[],
): number | Tensor<"i64"> {
  const op = "ravelIndex";
  const sizes = sizesOf(op, shape);
  const given = readList(op, "the index", index);
  const isOfTensors = given !== null && given.length > 0 && given.every(isTensor);
  const items = isOfTensors ? (given as Tensor[]) : indexList(op, "the index", given ?? index);
  if (items.length !== sizes.length) {
    fail("index", op, `${items.length} indices for shape ${list(sizes)}.`, "Give one index an axis.");
  }
  const strides = rowMajorStrides(sizes);
  if (!isOfTensors) {
    return (items as readonly Index[]).reduce<number>(
      (sum, i, d) => sum + normalizeIndex(op, i, sizes[d], d) * strides[d],
      0,
    );
  }
  const tensors = (items as readonly Tensor[]).map((t) => integers(op, "the indices", t));
  return scoped(op, () => {
    const parts = tensors.map((t, d) => {
      const at = t.to("i64");
      const from = at.map((i, { n }) => (i < 0 ? i + n : i), { with: { n: sizes[d] }, dtype: "i64" });
      checkPositions(op, from, sizes[d]);
      return from.mul(BigInt(strides[d]));
    });
    return parts.reduce((sum, part) => sum.add(part));
  });
}

function sizesOf(op: string, shape: unknown): readonly number[] {
  const sizes = numberList(op, "the shape", shape);
  checkShape(op, sizes);
  return sizes;
}

function integers<D extends DType>(op: string, what: string, t: Tensor<D>): Tensor<D> {
  const live = named(op, () => liveTensor(op, t)) as Tensor<D>;
  if (isInteger(live.dtype)) return live;
  return fail("dtype", op, `${what} are ${describe(live.dtype)}.`, 'Convert them: to("i64").');
}
