/** Tensors as sets: distinct elements, membership, and the operations of sets. -0 and 0 are one element. */
import { arange, ones, scope } from "../api.ts";
import { type DType, promote } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate } from "../ops/strided.ts";
import { pickRoutine, runsRoutine } from "../routines/sorted.ts";
import {
  isTensor,
  liveTensor,
  namedReduction,
  type Operand,
  stridedOf,
  type Tensor,
  wrap,
} from "../tensor.ts";
import { normalizeAxis, sizeOf } from "../view/layout.ts";
import { scoped } from "./scoped.ts";
import { lookUp, operandFor } from "./search.ts";
import { denseCopy, gatherLines, orderBy, sortLines } from "./sort.ts";

/** The options of `unique`. */
export interface UniqueOptions {
  /** Give `indices`: where each distinct element first is, in the flattened tensor. */
  readonly returnIndex?: boolean;
  /** Give `inverseIndices`: for each element, which of the distinct ones it is. */
  readonly returnInverse?: boolean;
  /** Give `counts`: how often each distinct element is there. */
  readonly returnCounts?: boolean;
  /** Are all NaNs one element? Default true; along an axis each is its own. */
  readonly equalNan?: boolean;
  /** Compare whole slices along this axis instead of elements. */
  readonly axis?: number;
}
/** What is known of distinct elements. */
export interface Unique<D extends DType = DType> {
  /** The distinct elements, in order. */
  readonly values: Tensor<D>;
  /** Where each of them first is, in the flattened tensor. */
  readonly indices: Tensor<"i64">;
  /** For each element, which of the distinct ones it is. */
  readonly inverseIndices: Tensor<"i64">;
  /** How often each of them is there. */
  readonly counts: Tensor<"i64">;
}
type Asked<D extends DType, O> = { readonly values: Tensor<D> } & (O extends { readonly returnIndex: true }
  ? Pick<Unique<D>, "indices">
  : unknown) &
  (O extends { readonly returnInverse: true } ? Pick<Unique<D>, "inverseIndices"> : unknown) &
  (O extends { readonly returnCounts: true } ? Pick<Unique<D>, "counts"> : unknown);
type ReturnFlag = "returnIndex" | "returnInverse" | "returnCounts";
/** A tensor of the values; an object as soon as more is asked for. */
type UniqueResult<D extends DType, O> = O extends { readonly [F in ReturnFlag]?: true } & (
  | { readonly returnIndex: true }
  | { readonly returnInverse: true }
  | { readonly returnCounts: true }
)
  ? Asked<D, O>
  : Tensor<D>;

/** What is known of the operands. */
export interface SetOptions {
  /** The elements are known to be distinct already: nothing is sorted to find out. */
  readonly assumeUnique?: boolean;
}
/** The options of `isin`. */
export interface IsinOptions extends SetOptions {
  /** Which are NOT among them? */
  readonly invert?: boolean;
}
/** The options of `intersect1d`. */
export interface IntersectOptions extends SetOptions {
  /** Give also where the common elements first are in each of the two. */
  readonly returnIndices?: boolean;
}

/* Distinct elements -------------------------------------------------------------------------------------------------- */

/**
 * The distinct elements in order, NaNs last: a tensor, or an object with the indices and counts that are asked for.
 *
 * @param t a tensor of any layout
 * @param options `returnIndex`, `returnInverse`, `returnCounts`, `equalNan`, `axis`
 * @returns a new vector (along an axis: slices), or an object with `values` and what was asked for
 * @example
 * unique(tensor([3, 1, 3])); // → f32 [1, 3]
 * unique(tensor([3, 1, 3]), { returnCounts: true }).counts; // → i64 [1n, 2n]
 */
export function unique<D extends DType, const O extends UniqueOptions = UniqueOptions>(
  t: Tensor<D>,
  options?: O,
): UniqueResult<D, O> {
  options = readOptions("unique", options, "{ returnCounts: true }", uniqueOptions);
  const { returnIndex, returnInverse, returnCounts, equalNan } = options ?? {};
  for (const [name, value] of Object.entries({ returnIndex, returnInverse, returnCounts, equalNan })) {
    checkFlag("unique", name, value);
  }
  const wanted = {
    indices: returnIndex ?? false,
    inverseIndices: returnInverse ?? false,
    counts: returnCounts ?? false,
    equalNan: equalNan ?? true,
  };
  const axis = options?.axis;
  const found =
    axis === undefined ? distinct("unique", t, wanted) : distinctSlices("unique", t, axis, wanted);
  const isPlain = !(returnIndex || returnInverse || returnCounts);
  return (isPlain ? found.values : found) as UniqueResult<D, O>;
}

const uniqueOptions = ["returnIndex", "returnInverse", "returnCounts", "equalNan", "axis"];
const nothing = { indices: false, inverseIndices: false, counts: false, equalNan: false };

/**
 * The distinct elements, in order. Each NaN is distinct, as in the array API.
 *
 * @param t a tensor of any layout
 * @returns a new vector
 * @example
 * uniqueValues(tensor([3, 1, 3])); // → f32 [1, 3]
 */
export const uniqueValues = <D extends DType>(t: Tensor<D>): Tensor<D> =>
  distinct("uniqueValues", t, nothing).values as Tensor<D>;
/**
 * The distinct elements, and how often each is there.
 *
 * @param t a tensor of any layout
 * @returns new vectors `values` and `counts`
 * @example
 * uniqueCounts(tensor([3, 1, 3])).counts; // → i64 [1n, 2n]
 */
export const uniqueCounts = <D extends DType>(t: Tensor<D>): Pick<Unique<D>, "values" | "counts"> =>
  distinct("uniqueCounts", t, { ...nothing, counts: true }) as Unique<D>;
/**
 * The distinct elements, and which of them each element is.
 *
 * @param t a tensor of any layout
 * @returns new tensors `values` and `inverseIndices`, the latter of t's shape
 * @example
 * uniqueInverse(tensor([3, 1, 3])).inverseIndices; // → i64 [1n, 0n, 1n]
 */
export const uniqueInverse = <D extends DType>(t: Tensor<D>): Pick<Unique<D>, "values" | "inverseIndices"> =>
  distinct("uniqueInverse", t, { ...nothing, inverseIndices: true }) as Unique<D>;
/**
 * The distinct elements, where each first is, which of them each element is, and how often each is there.
 *
 * @param t a tensor of any layout
 * @returns new tensors `values`, `indices`, `inverseIndices` and `counts`
 * @example
 * uniqueAll(tensor([3, 1, 3])).indices; // → i64 [1n, 0n]
 */
export const uniqueAll = <D extends DType>(t: Tensor<D>): Unique<D> =>
  distinct("uniqueAll", t, {
    indices: true,
    inverseIndices: true,
    counts: true,
    equalNan: false,
  }) as Unique<D>;

interface Wanted {
  readonly indices: boolean;
  readonly inverseIndices: boolean;
  readonly counts: boolean;
  readonly equalNan: boolean;
}

function distinct(op: string, t: Tensor, wanted: Wanted): { readonly values: Tensor } & Partial<Unique> {
  const live = liveTensor(op, t);
  return scope(() => {
    const flat = flatOf(op, live);
    const needPositions = wanted.indices || wanted.inverseIndices;
    const up = { descending: false };
    const positions = needPositions ? sortLines(op, flat, "positions", up) : null;
    const sorted = positions === null ? sortLines(op, flat, "values", up) : gatherLines(op, flat, positions);
    const { starts, inverse } = runsOf(op, sorted, wanted, positions);
    return {
      values: gatherLines(op, sorted, starts),
      ...(wanted.indices ? { indices: gatherLines(op, positions!, starts) as Tensor<"i64"> } : {}),
      ...(wanted.inverseIndices ? { inverseIndices: inverse!.reshape(live.shape) } : {}),
      ...(wanted.counts ? { counts: lengths(starts, flat.size) } : {}),
    };
  });
}

/** Distinct slices along an axis, in lexicographic order; each slice is a row of a matrix. */
function distinctSlices(
  op: string,
  t: Tensor,
  axis: number,
  wanted: Wanted,
): { readonly values: Tensor } & Partial<Unique> {
  const live = liveTensor(op, t);
  if (typeof axis !== "number") {
    fail("axis", op, `the axis is ${describe(axis)}.`, "Give one axis as a number, or none for elements.");
  }
  const d = normalizeAxis(op, axis, live.rank);
  return scope(() => {
    const moved = live.moveAxis(d, 0);
    const [n, ...rest] = moved.shape;
    const width = sizeOf(rest);
    const rows = moved.reshape([n, width]);
    const order =
      width === 0 || n === 0
        ? arange(n, { dtype: "i64" })
        : orderBy(
            op,
            Array.from({ length: width }, (_, i) => rows.slice(":", width - 1 - i)),
          );
    const sorted = takeRows(op, rows, order);
    // A row begins a run where it differs from the one before.
    const isNew = ones([n], { dtype: "bool" });
    if (n > 1) {
      const differs = sorted.slice([1, null]).notEqual(sorted.slice([0, -1]));
      isNew.slice([1, null]).assign(differs.any({ axis: 1 }));
    }
    const starts = compress(op, arange(n, { dtype: "i64" }), isNew) as Tensor<"i64">;
    const runs = isNew.to("i64").cumsum().sub(1);
    const back = sortLines(op, order, "positions", { descending: false });
    const values = takeRows(op, sorted, starts).reshape([starts.size, ...rest]);
    return {
      values: values.moveAxis(0, d).contiguous(),
      ...(wanted.indices ? { indices: gatherLines(op, order, starts) as Tensor<"i64"> } : {}),
      ...(wanted.inverseIndices ? { inverseIndices: gatherLines(op, runs, back) as Tensor<"i64"> } : {}),
      ...(wanted.counts ? { counts: lengths(starts, n) } : {}),
    };
  });
}

/** Rows of a matrix, by positions that are in range. */
function takeRows(op: string, rows: Tensor, positions: Tensor): Tensor {
  const width = rows.shape[1];
  const all = positions
    .mul(width)
    .expandDims(1)
    .add(arange(width, { dtype: "i64" }));
  return gatherLines(op, flatOf(op, rows), all.reshape(-1).contiguous()).reshape([positions.size, width]);
}

/** All elements as a dense vector. */
function flatOf(op: string, t: Tensor): Tensor {
  return denseCopy(op, t.reshape(-1), "elements are read from dense memory");
}

/** Where the runs of equal elements begin, and for each element's first place the number of its run. */
function runsOf(
  operation: string,
  sorted: Tensor,
  { inverseIndices, equalNan }: Wanted,
  positions: Tensor | null,
): { readonly starts: Tensor<"i64">; readonly inverse: Tensor<"i64"> | null } {
  const asked = { operation, params: { equalNan }, inputs: [stridedOf(sorted)], outs: [] };
  const starts = wrap(allocate(operation, "i64", [runRoutine(runsRoutine, asked)]));
  const inverse = inverseIndices ? wrap(allocate(operation, "i64", [sorted.size])) : null;
  const [inputs, outs] =
    inverse === null
      ? [[sorted], [starts]]
      : [
          [sorted, positions!],
          [starts, inverse],
        ];
  runRoutine(runsRoutine, {
    ...asked,
    inputs: inputs.map((t) => stridedOf(t)),
    outs: outs.map((t) => stridedOf(t)),
  });
  return { starts, inverse };
}

/** From each start to the next, and from the last to the end. */
function lengths(starts: Tensor<"i64">, end: number): Tensor<"i64"> {
  const counts = wrap(allocate("unique", "i64", starts.shape));
  if (starts.size === 0) return counts;
  counts.slice([0, -1]).assign(starts.slice([1, null]));
  counts.set([-1], BigInt(end));
  return counts.sub(starts) as Tensor<"i64">;
}

/* Membership ----------------------------------------------------------------------------------------------------------- */

/**
 * For each element: is it among those of `test`? A NaN never is. Either may be a number.
 *
 * @param t a tensor or a number
 * @param test the elements it is looked for in
 * @param options `invert`: which are not; `assumeUnique`
 * @returns a new bool tensor of t's shape
 * @example
 * isin(tensor([1, 2, 3]), tensor([3, 1])); // → bool [true, false, true]
 */
export function isin(t: Operand, test: Operand, options: IsinOptions = {}): Tensor<"bool"> {
  options = readOptions("isin", options, "{ invert: true }", ["invert", "assumeUnique"]);
  checkFlag("isin", "invert", options.invert);
  checkFlag("isin", "assumeUnique", options.assumeUnique);
  return scoped("isin", () => {
    const beside = isTensor(t) ? t.dtype : isTensor(test) ? test.dtype : "f64";
    const [x, among] = [operandFor("isin", t, beside), operandFor("isin", test, beside)];
    return membership("isin", x, among, options.invert ?? false);
  });
}

function membership(op: string, x: Tensor, test: Tensor, invert: boolean): Tensor<"bool"> {
  const dtype = promote(x.dtype, test.dtype);
  const sorted = sortLines(op, flatOf(op, test.to(dtype)), "values", { descending: false });
  const found = lookUp(op, sorted, x, "has") as Tensor<"bool">;
  return invert ? found.logicalNot() : found;
}

/* Sets ------------------------------------------------------------------------------------------------------------------- */

/**
 * The distinct elements of both, in order.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @returns a new vector of the dtype both meet in
 * @example
 * union1d(tensor([1, 3]), tensor([2, 3])); // → f32 [1, 2, 3]
 */
export function union1d(a: Tensor, b: Tensor): Tensor {
  const [x, y] = pair("union1d", a, b);
  return scoped("union1d", () => distinct("union1d", join(x, y), { ...nothing, equalNan: true }).values);
}

/**
 * The distinct elements that both have, in order.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @param options `assumeUnique`; `returnIndices`: also where they first are in each
 * @returns a new vector of the dtype both meet in, or an object with `values` and `indices`
 * @example
 * intersect1d(tensor([1, 3]), tensor([2, 3])); // → f32 [3]
 */
export function intersect1d(
  a: Tensor,
  b: Tensor,
  options: IntersectOptions & { readonly returnIndices: true },
): { readonly values: Tensor; readonly indices: readonly [Tensor<"i64">, Tensor<"i64">] };
export function intersect1d(a: Tensor, b: Tensor, options?: IntersectOptions): Tensor;
export function intersect1d(
  a: Tensor,
  b: Tensor,
  options: IntersectOptions = {},
): Tensor | { readonly values: Tensor; readonly indices: readonly [Tensor<"i64">, Tensor<"i64">] } {
  const op = "intersect1d";
  options = readSet(op, options, ["returnIndices"]);
  checkFlag(op, "returnIndices", options.returnIndices);
  const [x, y] = pair(op, a, b);
  return scoped(op, () => {
    const dtype = promote(x.dtype, y.dtype);
    const [left, right] = [x, y].map((t) =>
      distinct(op, t.to(dtype), { ...nothing, indices: true, equalNan: true }),
    );
    const values = compress(op, left.values, lookUp(op, right.values, left.values, "has"));
    if (!options.returnIndices) return values;
    const indices = [left, right].map((side) =>
      gatherLines(op, side.indices!, lookUp(op, side.values, values, "left")),
    );
    return { values, indices: indices as unknown as readonly [Tensor<"i64">, Tensor<"i64">] };
  });
}

/**
 * The distinct elements of a that b has not, in order. Known to be distinct, they keep a's order.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @param options `assumeUnique`
 * @returns a new vector
 * @example
 * setdiff1d(tensor([1, 3]), tensor([2, 3])); // → f32 [1]
 */
export function setdiff1d(a: Tensor, b: Tensor, options: SetOptions = {}): Tensor {
  options = readSet("setdiff1d", options);
  const [x, y] = pair("setdiff1d", a, b);
  return scoped("setdiff1d", () => without("setdiff1d", distinctUnless("setdiff1d", x, options), y));
}

/**
 * The distinct elements that only one of the two has, in order.
 *
 * @param a a tensor of any layout
 * @param b another one
 * @param options `assumeUnique`
 * @returns a new vector of the dtype both meet in
 * @example
 * setxor1d(tensor([1, 3]), tensor([2, 3])); // → f32 [1, 2]
 */
export function setxor1d(a: Tensor, b: Tensor, options: SetOptions = {}): Tensor {
  const op = "setxor1d";
  options = readSet(op, options);
  const [x, y] = pair(op, a, b);
  return scoped(op, () => {
    const [left, right] = [distinctUnless(op, x, options), distinctUnless(op, y, options)];
    const apart = join(without(op, left, right), without(op, right, left));
    return sortLines(op, apart, "values", { descending: false });
  });
}

function readSet<O extends SetOptions>(op: string, given: O, more: readonly string[] = []): O {
  const options = readOptions(op, given, "{ assumeUnique: true }", ["assumeUnique", ...more]);
  checkFlag(op, "assumeUnique", options.assumeUnique);
  return options;
}

const pair = (op: string, a: Tensor, b: Tensor): [Tensor, Tensor] => [liveTensor(op, a), liveTensor(op, b)];

const distinctUnless = (op: string, t: Tensor, { assumeUnique }: SetOptions): Tensor =>
  assumeUnique ? flatOf(op, t) : distinct(op, t, { ...nothing, equalNan: true }).values;

const without = (op: string, x: Tensor, y: Tensor): Tensor => compress(op, x, membership(op, x, y, true));

/** Both, flattened, one after the other in their common dtype. */
function join(a: Tensor, b: Tensor): Tensor {
  const joined = wrap(allocate("concat", promote(a.dtype, b.dtype), [a.size + b.size]));
  joined.slice([0, a.size]).assign(a.reshape(-1));
  joined.slice([a.size, null]).assign(b.reshape(-1));
  return joined;
}

/** The elements of a dense vector where the mask is true. */
function compress(op: string, x: Tensor, mask: Tensor): Tensor {
  const count = Number(namedReduction("countNonzero", mask).item());
  const out = wrap(allocate(op, x.dtype, [count]));
  const inputs = [stridedOf(x), stridedOf(mask)];
  runRoutine(pickRoutine, { operation: op, params: {}, inputs, outs: [stridedOf(out)] });
  return out;
}
