/** Products of tensors by their NumPy names. Contractions are matrix products on views (see einsum.ts). */

import { empty, mapReduce, matmul, mul, scope, sub, sum } from "../api.ts";
import { type DType, type Promote, promote, type Wide } from "../dtype.ts";
import { within } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { readList, readOptions } from "../ops/arguments.ts";
import { type Joined, liveTensor, type Tensor } from "../tensor.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { normalizeAxes, normalizeAxis } from "../view/layout.ts";
import { contractPair, type Term } from "./einsum.ts";
import { named, scoped } from "./scoped.ts";

/** As matmul's: the dtype that both meet in. */
type Product<D extends DType, E extends DType> = Tensor<Promote<D, E>>;

/** a's axes by number, b's by number and a prime, except those that are summed together. */
function contracted(a: Tensor, b: Tensor, aAxes: readonly number[], bAxes: readonly number[]): Tensor {
  return scope(() => {
    const left = a.shape.map((_, d) => String(d));
    const right = b.shape.map((_, d) => (bAxes.includes(d) ? String(aAxes[bAxes.indexOf(d)]) : `${d}'`));
    const output = [
      ...left.filter((_, d) => !aAxes.includes(d)),
      ...right.filter((_, d) => !bAxes.includes(d)),
    ];
    const terms: [Term, Term] = [
      { t: a, labels: left },
      { t: b, labels: right },
    ];
    const { t, labels } = contractPair(...terms, new Set(output), output, promote(a.dtype, b.dtype));
    return t.permute(output.map((label) => labels.indexOf(label)));
  });
}

/** The options of `tensordot`. */
export interface TensordotOptions {
  /** How many: the last of a with the first of b. Or [a's axes, b's axes]. Default 2. */
  readonly axes?: number | readonly [number | readonly number[], number | readonly number[]];
}

/**
 * Sums over the given axes of both; the others follow one another.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @param options `axes`: how many, or [a's, b's]; default 2
 * @returns a new tensor: a's other axes, then b's
 * @throws TensorError where sizes differ
 * @example
 * tensordot(tensor([[1, 2]]), tensor([[3], [4]]), { axes: 1 }); // → f32 [[11]]
 */
export function tensordot<D extends DType, E extends DType>(
  a: Tensor<D>,
  b: Tensor<E>,
  options: TensordotOptions = {},
): Product<D, E> {
  options = readOptions("tensordot", options, "{ axes: [[1], [0]] }", ["axes"]);
  const [left, right] = [liveTensor("tensordot", a), liveTensor("tensordot", b)];
  const [aAxes, bAxes] = tensordotAxes(left, right, options.axes ?? 2);
  aAxes.forEach((d, i) => {
    if (left.shape[d] === right.shape[bAxes[i]]) return;
    fail(
      "shape",
      "tensordot",
      `axis ${d} of a (${list(left.shape)}) is ${left.shape[d]}, axis ${bAxes[i]} of b (${list(right.shape)}) is ${right.shape[bAxes[i]]}.`,
      "Axes that are summed together have one size.",
    );
  });
  return within("tensordot", () => contracted(left, right, aAxes, bAxes)) as Product<D, E>;
}

function tensordotAxes(a: Tensor, b: Tensor, axes: unknown): [readonly number[], readonly number[]] {
  if (typeof axes === "number") {
    if (!Number.isInteger(axes) || axes < 0 || axes > a.rank || axes > b.rank) {
      fail(
        "axis",
        "tensordot",
        `axes is ${axes}, a is ${list(a.shape)}, b is ${list(b.shape)}.`,
        "Use a whole number up to the rank of both.",
      );
    }
    const counted = Array.from({ length: axes }, (_, i) => i);
    return [counted.map((i) => a.rank - axes + i), counted];
  }
  const isAxes = (x: unknown): x is number | readonly number[] =>
    typeof x === "number" || (Array.isArray(x) && x.every((y) => typeof y === "number"));
  if (!Array.isArray(axes) || axes.length !== 2 || !axes.every(isAxes)) {
    return fail(
      "value",
      "tensordot",
      `axes is ${describe(axes)}.`,
      "Give a number, or a pair: [axes of a, axes of b].",
    );
  }
  const [left, right] = axes as [number | readonly number[], number | readonly number[]];
  const pair: [number[], number[]] = [
    normalizeAxes("tensordot", left, a.rank),
    normalizeAxes("tensordot", right, b.rank),
  ];
  if (pair[0].length !== pair[1].length) {
    fail(
      "axis",
      "tensordot",
      `${pair[0].length} axes of a, ${pair[1].length} of b.`,
      "Give as many of one as of the other.",
    );
  }
  return pair;
}

/**
 * NumPy's dot: the last axis of a with the second-last (or only) of b; with a scalar it multiplies.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @returns a new tensor of the dtype both meet in
 * @example
 * dot(tensor([1, 2]), tensor([3, 4])); // → f32 11
 */
export function dot<D extends DType, E extends DType>(a: Tensor<D>, b: Tensor<E>): Product<D, E> {
  const [left, right] = [liveTensor("dot", a), liveTensor("dot", b)];
  if (left.rank === 0 || right.rank === 0) return mul(left, right) as Product<D, E>;
  return overLast("dot", left, right, Math.max(0, right.rank - 2)) as Product<D, E>;
}

/**
 * Over the last axes of both; with a scalar it multiplies.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @returns a new tensor: a's axes but the last, then b's
 * @example
 * inner(tensor([[1, 2], [3, 4]]), tensor([1, 1])); // → f32 [3, 7]
 */
export function inner<D extends DType, E extends DType>(a: Tensor<D>, b: Tensor<E>): Product<D, E> {
  const [left, right] = [liveTensor("inner", a), liveTensor("inner", b)];
  if (left.rank === 0 || right.rank === 0) return mul(left, right) as Product<D, E>;
  return overLast("inner", left, right, right.rank - 1) as Product<D, E>;
}

function overLast(operation: string, a: Tensor, b: Tensor, axis: number): Tensor {
  const last = a.rank - 1;
  if (a.shape[last] !== b.shape[axis]) {
    fail(
      "shape",
      operation,
      `sizes differ: a is ${list(a.shape)}, b is ${list(b.shape)}.`,
      `a's last size (${a.shape[last]}) must equal b's size of axis ${axis} (${b.shape[axis]}).`,
    );
  }
  // With a vector, or a matrix summed over its first axis, that is what matmul does.
  if (b.rank <= 2 && axis === 0) return named(operation, () => within(operation, () => matmul(a, b)));
  return contracted(a, b, [last], [axis]);
}

/**
 * Σ a·b along one axis (default the last) of tensors that broadcast together otherwise.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @param options `axis`, default the last
 * @returns a new tensor without the axis
 * @example
 * vecdot(tensor([[1, 2], [3, 4]]), tensor([1, 1])); // → f32 [3, 7]
 */
export function vecdot<D extends DType, E extends DType>(
  a: Tensor<D>,
  b: Tensor<E>,
  options: { readonly axis?: number } = {},
): Product<D, E> {
  options = readOptions("vecdot", options, "{ axis: 0 }", ["axis"]);
  const [left, right] = [liveTensor("vecdot", a), liveTensor("vecdot", b)];
  return scoped("vecdot", () => {
    const [x, y] = [left, right].map((t) => {
      if (t.rank === 0) {
        fail("shape", "vecdot", "a scalar has no vectors.", "Use mul for products with a scalar.");
      }
      return t.moveAxis(normalizeAxis("vecdot", options.axis ?? -1, t.rank), -1);
    });
    const [m, n] = [x.shape[x.rank - 1], y.shape[y.rank - 1]];
    if (m !== n) {
      fail(
        "shape",
        "vecdot",
        `the vectors have ${m} and ${n} elements: a is ${list(left.shape)}, b is ${list(right.shape)}.`,
        "The axis must have one size in both.",
      );
    }
    broadcastShapes("vecdot", [x.shape.slice(0, -1), y.shape.slice(0, -1)]);
    const dtype = promote(left.dtype, right.dtype);
    // Half floats are summed in f32 and booleans by "or": matrix products do both.
    if (dtype !== "bool" && dtype !== "f16" && dtype !== "bf16") {
      return mapReduce([x, y], (p, q) => p * q, { axis: -1, dtype });
    }
    return matmul(x.expandDims(-2), y.expandDims(-1)).squeeze([-2, -1]);
  }) as Product<D, E>;
}

/**
 * Every product of an element of a with one of b: (a.size, b.size); both are flattened.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @returns a new matrix of the dtype both meet in
 * @example
 * outer(tensor([1, 2]), tensor([3, 4])); // → f32 [[3, 4], [6, 8]]
 */
export function outer<D extends DType, E extends DType>(a: Tensor<D>, b: Tensor<E>): Product<D, E> {
  const [left, right] = [liveTensor("outer", a), liveTensor("outer", b)];
  const products = scoped("outer", () => mul(left.reshape(-1).expandDims(1), right.reshape(-1)));
  return products as Product<D, E>;
}

/**
 * The Kronecker product: a block of b for every element of a.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @returns a new tensor whose sizes are products of theirs
 * @example
 * kron(tensor([1, 10]), tensor([1, 2])); // → f32 [1, 2, 10, 20]
 */
export function kron<D extends DType, E extends DType>(a: Tensor<D>, b: Tensor<E>): Product<D, E> {
  const [left, right] = [liveTensor("kron", a), liveTensor("kron", b)];
  return scoped("kron", () => {
    const rank = Math.max(left.rank, right.rank);
    const padded = (t: Tensor) => [...Array<number>(rank - t.rank).fill(1), ...t.shape];
    const [p, q] = [padded(left), padded(right)];
    const shape = p.map((n, d) => n * q[d]);
    const dtype = promote(left.dtype, right.dtype);
    const out = empty(shape, { dtype });
    const split = out.view(p.flatMap((n, d) => [n, q[d]]));
    const odd = left.view(p).expandDims(p.map((_, d) => 2 * d + 1));
    const even = right.view(q).expandDims(q.map((_, d) => 2 * d));
    mul(odd, even, { out: split });
    return out;
  }) as Product<D, E>;
}

/**
 * The cross product of vectors of 3 elements along an axis, default the last; other axes broadcast.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @param options `axis`, default the last
 * @returns a new tensor of the shape they broadcast to
 * @throws TensorError where the axis has not 3 elements
 * @example
 * cross(tensor([1, 0, 0]), tensor([0, 1, 0])); // → f32 [0, 0, 1]
 */
export function cross<D extends DType, E extends DType>(
  a: Tensor<D>,
  b: Tensor<E>,
  options: { readonly axis?: number } = {},
): Product<D, E> {
  options = readOptions("cross", options, "{ axis: 0 }", ["axis"]);
  const [left, right] = [liveTensor("cross", a), liveTensor("cross", b)];
  const axis = options.axis ?? -1;
  return scoped("cross", () => {
    const [x, y] = [left, right].map((t) => {
      const d = t.rank === 0 ? 0 : normalizeAxis("cross", axis, t.rank);
      if (t.rank === 0 || t.shape[d] !== 3) {
        fail(
          "shape",
          "cross",
          `the vectors are those along axis ${axis}: a is ${list(left.shape)}, b is ${list(right.shape)}.`,
          "They must have 3 elements in both.",
        );
      }
      return t.moveAxis(d, -1);
    });
    const shape = broadcastShapes("cross", [x.shape, y.shape]);
    const dtype = promote(left.dtype, right.dtype);
    const out = empty(shape, { dtype });
    const at = (t: Tensor, i: number) => t.slice("...", i % 3);
    for (let i = 0; i < 3; i++) {
      const first = mul(at(x, i + 1), at(y, i + 2), { dtype });
      const second = mul(at(x, i + 2), at(y, i + 1), { dtype });
      sub(first, second, { out: at(out, i) });
    }
    return out.moveAxis(-1, axis);
  }) as Product<D, E>;
}

/** The options of `trace`. */
export interface TraceOptions<E extends DType = DType> {
  /** Diagonals above (positive) or below (negative) the main one. */
  readonly offset?: number;
  /** The axes of the matrices. Default 0 and 1, as NumPy's trace; linalg.trace takes the last two. */
  readonly axis1?: number;
  /** The other one. */
  readonly axis2?: number;
  /** dtype of the result. Default: sums of integers are 64-bit, floats keep theirs. */
  readonly dtype?: E;
}

/**
 * The sum of a diagonal.
 *
 * @param a a tensor of two axes or more
 * @param options `offset`: the diagonal; `axis1`, `axis2`: default 0 and 1; `dtype` of the sum
 * @returns a new tensor without the two axes; integers become i64 or u64
 * @example
 * trace(tensor([[1, 2], [3, 4]])); // → f32 5
 */
export function trace<D extends DType, E extends DType = Wide<D>>(
  a: Tensor<D>,
  options: TraceOptions<E> = {},
): Tensor<E> {
  options = readOptions("trace", options, "{ offset: 1 }", ["offset", "axis1", "axis2", "dtype"]);
  const t = liveTensor("trace", a);
  if (t.rank < 2) {
    fail("shape", "trace", `the tensor is ${list(t.shape)}.`, "A diagonal needs two axes.");
  }
  const { dtype, ...how } = options;
  return scoped("trace", () =>
    sum(t.diagonal(how), dtype === undefined ? { axis: -1 } : { axis: -1, dtype }),
  ) as Tensor<E>;
}

/**
 * The last two axes exchanged; a view.
 *
 * @param a a matrix, or a batch of them
 * @returns a view that shares a's memory
 * @example
 * linalg.matrixTranspose(tensor([[1, 2]])); // → f32 [[1], [2]]
 */
export function matrixTranspose<D extends DType>(a: Tensor<D>): Tensor<D> {
  const t = liveTensor("matrixTranspose", a);
  if (t.rank < 2) {
    fail("shape", "matrixTranspose", `the tensor is ${list(t.shape)}.`, "A matrix has two axes.");
  }
  return t.swapAxes(-1, -2) as Tensor<D>;
}

/**
 * The product of several matrices, in the order that takes the fewest multiplications. The first and last may be vectors.
 *
 * @param tensors two or more
 * @returns a new tensor of the dtype they meet in
 * @example
 * multiDot([tensor([[1, 2]]), tensor([[3], [4]]), tensor([[2]])]); // → f32 [[22]]
 */
export function multiDot<const T extends readonly Tensor[]>(tensors: T): Tensor<Joined<T>> {
  const all = readList("multiDot", "the list", tensors);
  if (all === null || all.length < 2) {
    return fail(
      "value",
      "multiDot",
      all === null ? `expected an array, got ${describe(tensors)}.` : `got ${all.length} of them.`,
      "Give at least two matrices: multiDot([a, b, c]).",
    );
  }
  const live = all.map((t) => liveTensor("multiDot", t));
  const last = live.length - 1;
  live.forEach((t, i) => {
    if (t.rank === 2 || (t.rank === 1 && (i === 0 || i === last))) return;
    fail(
      "shape",
      "multiDot",
      `operand ${i} is ${list(t.shape)}.`,
      "Each is a matrix; the first and the last may be vectors.",
    );
  });
  return scoped("multiDot", () => {
    const matrices = live.map((t, i) => (t.rank === 2 ? t : i === 0 ? t.expandDims(0) : t.expandDims(1)));
    checkChain(live, matrices);
    const split = cheapestSplits([matrices[0].shape[0], ...matrices.map((t) => t.shape[1])]);
    const product = (i: number, j: number): Tensor =>
      i === j ? matrices[i] : matmul(product(i, split[i][j]), product(split[i][j] + 1, j));
    const whole = product(0, last);
    const vectors = [...(live[0].rank === 1 ? [0] : []), ...(live[last].rank === 1 ? [1] : [])];
    return vectors.length === 0 ? whole : whole.squeeze(vectors);
  }) as never;
}

function checkChain(given: readonly Tensor[], matrices: readonly Tensor[]): void {
  for (let i = 1; i < matrices.length; i++) {
    if (matrices[i - 1].shape[1] === matrices[i].shape[0]) continue;
    fail(
      "shape",
      "multiDot",
      `operands ${i - 1} and ${i} do not fit: ${list(given[i - 1].shape)} and ${list(given[i].shape)}.`,
      "The last size of one must equal the first of the next.",
    );
  }
}

/** split[i][j]: after which matrix the product of i to j is best cut. Matrix i is sizes[i] × sizes[i + 1]. */
function cheapestSplits(sizes: readonly number[]): number[][] {
  const n = sizes.length - 1;
  const cost = Array.from({ length: n }, () => new Array<number>(n).fill(0));
  const split = Array.from({ length: n }, () => new Array<number>(n).fill(0));
  for (let count = 2; count <= n; count++) {
    for (let i = 0; i + count <= n; i++) {
      const j = i + count - 1;
      cost[i][j] = Number.POSITIVE_INFINITY;
      for (let k = i; k < j; k++) {
        const total = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (total >= cost[i][j]) continue;
        cost[i][j] = total;
        split[i][j] = k;
      }
    }
  }
  return split;
}
