/**
 * A strided copy in plain JavaScript: from typed arrays (or lists) with shape, strides and offset to others of the same
 * shape. No WebAssembly and no code made from text, so it runs under the strictest content security policy, where the
 * copies of the scijs packages do not. Tensors copy faster by themselves.
 */
import { arrayFacts, dtypeOfArray } from "../dtype.ts";
import { describe, fail, isRevoked, list } from "../errors.ts";
import { numberList, readList } from "../ops/arguments.ts";
import { rowMajorStrides, sizeOf } from "../view/layout.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import { extent, type View } from "../view/view.ts";
import { factsOf, guarded, isObject } from "./facts.ts";
import { checkElements } from "./reach.ts";

/** Memory with a shape, as scijs ndarray and zarrita have it: strides and offset count elements. */
export interface StridedArray {
  /** The elements' memory. */
  readonly data: ArrayBufferView | readonly unknown[];
  /** The sizes of the axes. */
  readonly shape: readonly number[];
  /** Elements from one index to the next, per axis; default: dense, row-major. */
  readonly stride?: readonly number[];
  /** Element at index [0, …, 0]; default 0. */
  readonly offset?: number;
}

/** What may be read and written by index. */
interface Cells {
  [i: number]: unknown;
  readonly length: number;
}
type Typed = Float64Array;

/** One side of a copy, read once: cells that are really there, and a view of them in elements. */
interface Side {
  readonly cells: Cells;
  /** null for a list. */
  readonly dtype: string | null;
  readonly isBig: boolean;
  readonly view: View;
}

const example = "{ data: new Float32Array(6), shape: [2, 3] }";

/**
 * to[i] = from[i] for every index of their common shape, whatever the strides of either side. Elements of other types are
 * written as JavaScript writes them to a typed array: integers wrap, fractions are cut off. Memory that both sides share
 * is read first and written afterwards.
 *
 *     const data = new Float32Array(6);
 *     copyStrided({ data, shape: [3, 2] }, { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2], stride: [1, 3] });
 *     data; // 1 4 2 5 3 6
 *
 * @param to what is written
 * @param from what is read
 * @throws TensorError where shapes differ, or an element would lie outside
 * @example
 * const data = new Float32Array(4);
 * copyStrided({ data, shape: [2, 2] }, { data: [1, 2, 3, 4], shape: [2, 2], stride: [1, 2] });
 * data; // → [1, 3, 2, 4]
 */
export function copyStrided(to: StridedArray, from: StridedArray): void {
  const op = "copyStrided";
  const target = readSide(op, "the destination", to, false);
  const source = readSide(op, "the source", from, true);
  const { shape } = target.view;
  if (list(shape) !== list(source.view.shape)) {
    fail(
      "shape",
      op,
      `the destination is ${list(shape)}, the source ${list(source.view.shape)}.`,
      "Both sides need the same shape; a stride of 0 repeats an element.",
    );
  }
  if (target.dtype !== null && source.dtype !== null && target.isBig !== source.isBig) {
    fail(
      "dtype",
      op,
      `${source.dtype} does not go to ${target.dtype}: one holds bigints, the other numbers.`,
      "Convert one of them first, for instance with BigInt64Array.from(data, BigInt).",
    );
  }
  if (sizeOf(shape) === 0) return;
  guarded(op, "writing to the destination", () => {
    if (mayOverlap(target, source)) {
      const aside = asideOf(source, sizeOf(shape));
      walk(aside, source);
      walk(target, aside);
    } else walk(target, source);
  });
}

function readSide(op: string, what: string, given: unknown, isRead: boolean): Side {
  if (!isObject(given)) {
    fail("value", op, `${what} is ${describe(given)}.`, `Give an object such as ${example}.`);
  }
  // Views of scijs have their fields, and more of them than these.
  const facts = factsOf(op, given);
  const [data, sizes, stride, offset] = [
    facts("data"),
    facts("shape"),
    facts("stride"),
    facts("offset") ?? 0,
  ];
  const shape = numberList(op, `${what}'s shape`, sizes);
  const strides = stride === undefined ? rowMajorStrides(shape) : numberList(op, `${what}'s stride`, stride);
  const { count, ...cells } = cellsOf(op, what, data, isRead);
  checkElements(op, shape, strides, offset, count);
  return { ...cells, view: { shape, strides, offset, itemBytes: 1 } };
}

type Counted = Omit<Side, "view"> & { readonly count: number };

function cellsOf(op: string, what: string, data: unknown, isRead: boolean): Counted {
  if (ArrayBuffer.isView(data)) {
    const dtype = dtypeOfArray(data);
    if (dtype !== null) {
      const { buffer, byteOffset, byteLength } = arrayFacts(data);
      // Made anew from what is really there: properties of the given one may say anything.
      const isBig = dtype === "i64" || dtype === "u64";
      const Kind = kindOf(data);
      const open = () => new Kind(buffer, byteOffset, byteLength / Kind.BYTES_PER_ELEMENT);
      const cells = guarded(op, `opening ${what}'s memory`, open);
      return { cells, dtype, isBig, count: cells.length };
    }
  }
  if (isObject(data) && !isRevoked(data) && Array.isArray(data)) return listCells(op, what, data, isRead);
  return fail(
    "value",
    op,
    `${what}'s data is ${ArrayBuffer.isView(data) ? "a DataView" : describe(data)}.`,
    "It needs a typed array or an array.",
  );
}

/** A source is read once; a destination is written to where it is. */
function listCells(op: string, what: string, data: unknown[], isRead: boolean): Counted {
  const cells = isRead ? readList(op, what, data)! : data;
  const count: unknown = guarded(op, `reading the length of ${what}`, () => cells.length);
  if (Number.isSafeInteger(count)) return { cells, dtype: null, isBig: false, count: count as number };
  return fail("value", op, `${what}'s data has ${describe(count)} as its length.`, "Give an array.");
}

interface TypedConstructor {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Typed;
  new (length: number): Typed;
  readonly BYTES_PER_ELEMENT: number;
}

const tagOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)!.get!;

/** The class of a typed array, by what it is and not by what it says. */
function kindOf(data: ArrayBufferView): TypedConstructor {
  return (globalThis as unknown as Record<string, TypedConstructor>)[tagOf.call(data) as string];
}

function mayOverlap(a: Side, b: Side): boolean {
  // A list that is read has been copied.
  if (a.dtype === null || b.dtype === null) return false;
  const [x, y] = [a.cells as Typed, b.cells as Typed];
  if (x.buffer !== y.buffer) return false;
  const [p, q] = [bytesOf(a), bytesOf(b)];
  return p.start < q.end && q.start < p.end;
}

function bytesOf({ cells, view }: Side): { start: number; end: number } {
  const { byteOffset, BYTES_PER_ELEMENT } = cells as Typed;
  const { start, end } = extent(view);
  return { start: byteOffset + start * BYTES_PER_ELEMENT, end: byteOffset + end * BYTES_PER_ELEMENT };
}

/** Room for the elements of a side, dense. */
function asideOf({ cells, dtype, isBig, view }: Side, size: number): Side {
  const room = new (kindOf(cells as unknown as Typed))(size);
  return { cells: room, dtype, isBig, view: { ...view, strides: rowMajorStrides(view.shape), offset: 0 } };
}

/* The loops -------------------------------------------------------------------------------------------- */

/** Side of the squares in which two sides that disagree about the inner axis are copied: both stay in the cache. */
const TILE = 32;

function walk(to: Side, from: Side): void {
  const nest = planLoops([to.view, from.view]);
  const rank = nest.shape.length;
  const index = new Array<number>(rank).fill(0);
  const inner = innerOf(nest, to, from);
  const outer = rank - inner.loops;
  let [p, q] = nest.offsets;
  const [steps, froms] = nest.strides;
  for (;;) {
    inner.run(p, q);
    let d = outer - 1;
    for (; d >= 0; d--) {
      p += steps[d];
      q += froms[d];
      if (++index[d] < nest.shape[d]) break;
      p -= steps[d] * nest.shape[d];
      q -= froms[d] * nest.shape[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

interface Inner {
  /** How many of the innermost loops it does. */
  readonly loops: number;
  readonly run: (p: number, q: number) => void;
}

function innerOf(nest: LoopNest, to: Side, from: Side): Inner {
  const [out, src] = [to.cells, from.cells];
  const rank = nest.shape.length;
  if (rank === 0) {
    return {
      loops: 0,
      run: (p, q) => {
        out[p] = src[q];
      },
    };
  }
  const n = nest.shape[rank - 1];
  const [a, b] = [nest.strides[0][rank - 1], nest.strides[1][rank - 1]];
  const isSame = to.dtype !== null && to.dtype === from.dtype;
  if (a === 1 && b === 1 && isSame && n >= TILE) {
    const [typed, other] = [out as Typed, src as Typed];
    return { loops: 1, run: (p, q) => typed.set(other.subarray(q, q + n), p) };
  }
  const outer = rank >= 2 ? nest.shape[rank - 2] : 1;
  const crosses = rank >= 2 && Math.abs(nest.strides[1][rank - 2]) < Math.abs(b);
  if (crosses && n >= TILE && outer >= TILE) {
    const [c, d] = [nest.strides[0][rank - 2], nest.strides[1][rank - 2]];
    return { loops: 2, run: (p, q) => tiles(out, src, { n, a, b, m: outer, c, d }, p, q) };
  }
  return {
    loops: 1,
    run: (p, q) => {
      for (let i = 0; i < n; i++) {
        out[p] = src[q];
        p += a;
        q += b;
      }
    },
  };
}

interface Plane {
  readonly n: number;
  readonly a: number;
  readonly b: number;
  readonly m: number;
  readonly c: number;
  readonly d: number;
}

/** n by m elements in squares: a and b are the steps along n, c and d those along m. */
function tiles(out: Cells, src: Cells, { n, a, b, m, c, d }: Plane, p: number, q: number): void {
  for (let i = 0; i < m; i += TILE) {
    const rows = Math.min(TILE, m - i);
    for (let j = 0; j < n; j += TILE) {
      const columns = Math.min(TILE, n - j);
      for (let k = 0; k < rows; k++) {
        let x = p + (i + k) * c + j * a;
        let y = q + (i + k) * d + j * b;
        for (let l = 0; l < columns; l++) {
          out[x] = src[y];
          x += a;
          y += b;
        }
      }
    }
  }
}
