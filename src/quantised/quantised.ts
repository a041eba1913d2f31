/// <reference lib="esnext.disposable" preserve="true" />
/**
 * `Quantised`: elements in blocks, as ggml packs them. A block type is no element dtype, as a block cannot be cut, so it is
 * a class of its own around a tensor of bytes: that tensor holds the memory, belongs to scopes, and is the only state.
 */
import { checkDType, type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { type FormatOptions, formatValues, readFormat } from "../format.ts";
import { introduceBlocks } from "../io/blocks.ts";
import { numberList, readOptions } from "../ops/arguments.ts";
import { copyTo } from "../ops/copy.ts";
import { fromGgml as fromGgmlElements, type GgmlTensor } from "../ops/create.ts";
import { allocate, filled, withTemporary } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import { isTensor, live, type Tensor, viewOf, wrap } from "../tensor.ts";
import { checkShape, rowMajorStrides, sizeOf, unravel } from "../view/layout.ts";
import { reshape, resolveShape } from "../view/reshape.ts";
import { type SliceItem, slice } from "../view/slice.ts";
import { broadcastTo, contiguousView, isContiguous, permute, type View } from "../view/view.ts";
import { type Blocks, decode, elementShape, encode, recode } from "./move.ts";
import {
  blockTypeOf,
  blockTypes,
  checkBlockType,
  type EncodedDType,
  encodedNames,
  isEncoded,
  type QuantisedDType,
} from "./types.ts";

const inspect = Symbol.for("nodejs.util.inspect.custom");
const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for("Symbol.dispose") as never);
/** Only who holds it makes them. */
const making = Symbol("making");

let isIt: (x: object) => x is Quantised;

/** The options of `dequantise`. */
export interface DequantiseOptions<D extends DType = DType> {
  /** Default "f32", which holds every element exactly. */
  readonly dtype?: D;
  /** Write here instead of into a new tensor, whatever its strides and dtype; this is what is returned then. */
  readonly out?: Tensor<D>;
}

/**
 * Elements in blocks: rows along the last axis are packed, with a scale or several to a block. The other axes may have any
 * strides. Made by `quantise`, `fromBlocks`, `fromGgml` and `readGguf`.
 *
 *     const q = quantise(weights, "q4_0"); // 18 bytes for 32 elements
 *     matmul(q, x);
 *     q.dequantise({ dtype: "f16" });
 */
export class Quantised<out Q extends QuantisedDType = QuantisedDType> {
  readonly #dtype: Q;
  /** The bytes, live: axes as the elements have them, but for the last, which is two: blocks, and bytes of a block. */
  readonly blocks: Tensor<"u8">;

  static {
    isIt = (x): x is Quantised => #dtype in x;
  }

  /** Made by functions, not with `new`. */
  constructor(key: typeof making, dtype: Q, blocks: Tensor<"u8">) {
    if (key !== making) {
      fail(
        "value",
        "Quantised",
        "quantised tensors are not made with new.",
        'Use quantise(t, "q4_0"), fromBlocks(bytes, "q4_0") or readGguf(archive, name).',
      );
    }
    this.#dtype = dtype;
    this.blocks = blocks;
    Object.freeze(this);
    introduceBlocks(this, { type: blockTypes[dtype].id, shape: this.shape, blocks });
  }

  /* What it is ------------------------------------------------------------------------------------------ */

  /** The block type: "q4_0", "q4_K", … */
  get dtype(): Q {
    return this.#dtype;
  }
  /** Sizes in elements. */
  get shape(): readonly number[] {
    const shape = this.blocks.shape.slice(0, -1);
    shape[shape.length - 1] *= blockTypes[this.#dtype].block;
    return Object.freeze(shape);
  }
  /** Number of axes. */
  get rank(): number {
    return this.blocks.rank - 1;
  }
  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }
  /** Elements that share a block. */
  get blockSize(): number {
    return blockTypes[this.#dtype].block;
  }
  /** Bytes of a block. */
  get blockBytes(): number {
    return blockTypes[this.#dtype].bytes;
  }
  /** Bytes of all blocks. */
  get bytes(): number {
    return this.blocks.size;
  }
  /** Bytes from one index to the next along each axis; along the last one, from block to block. */
  get byteStrides(): readonly number[] {
    return this.blocks.byteStrides.slice(0, -1);
  }
  /** Has it let go of its memory? */
  get isDisposed(): boolean {
    return this.blocks.isDisposed;
  }
  get [Symbol.toStringTag](): string {
    return "Quantised";
  }

  /* Lifetime -------------------------------------------------------------------------------------------- */

  /** Lets go of the memory; freed when no other view holds it. */
  dispose(): void {
    this.blocks.dispose();
  }
  [disposeSymbol](): void {
    this.blocks.dispose();
  }

  /* Views ----------------------------------------------------------------------------------------------- */

  /** As `slice` of a tensor; the last axis is cut at borders of blocks, and stays the last. */
  slice(...items: SliceItem[]): Quantised<Q> {
    return viewed("slice", this, (of) => sliceBlocks(this.#dtype, of.frame, items));
  }
  /** The axes in another order; the last one stays the last. */
  permute(...axes: number[] | [readonly number[]]): Quantised<Q> {
    const order = spread("permute", "the axes", axes);
    return viewed("permute", this, (of) => permuteBlocks(of.frame, order));
  }
  /** Another shape over the same blocks, never a copy; rows must be whole blocks. One size may be -1. */
  reshape(...shape: number[] | [readonly number[]]): Quantised<Q> {
    const to = spread("reshape", "the shape", shape);
    return viewed("reshape", this, (of) => reshapeBlocks(this.#dtype, of.frame, to));
  }

  /* Elements -------------------------------------------------------------------------------------------- */

  /** The elements as a tensor: bit for bit what ggml makes of them, then converted. */
  dequantise<D extends DType = "f32">(options?: DequantiseOptions<D>): Tensor<NoInfer<D>> {
    const operation = "dequantise";
    const read = readOptions(operation, options, '{ dtype: "f16" }', ["dtype", "out"]);
    const dtype = read.dtype === undefined ? undefined : checkDType(operation, read.dtype);
    const src = insideOf(operation, this);
    const shape = elementShape(src);
    if (read.out === undefined) {
      const made = allocate(operation, dtype ?? "f32", shape);
      return wrap(filled(made, () => decode(operation, made, src))) as Tensor as Tensor<D>;
    }
    const out = live(operation, read.out);
    if (dtype !== undefined && dtype !== out.dtype) {
      fail(
        "dtype",
        operation,
        `dtype is ${dtype}, and out has ${out.dtype}.`,
        "Leave dtype out: the output says it.",
      );
    }
    if (!sameSizes(out.frame.shape, shape)) {
      fail(
        "shape",
        operation,
        `out is ${list(out.frame.shape)}, the elements are ${list(shape)}.`,
        "Both must have the same sizes.",
      );
    }
    decode(operation, out, src);
    return read.out;
  }

  /**
   * this[…] = source[…]: elements of a tensor with any strides, broadcast and quantised; or of another `Quantised`, whose
   * blocks are copied as they are if it has the same type.
   */
  assign(source: Tensor | Quantised): this {
    assignTo("assign", this, source, false);
    return this;
  }
  /** The same in row-major order of each side's own shape, as ggml copies: only the counts must agree. */
  assignFlat(source: Tensor | Quantised): this {
    assignTo("assignFlat", this, source, true);
    return this;
  }
  /** A dense copy of the blocks. */
  clone(): Quantised<Q> {
    const { of } = insideOf("clone", this);
    return make(this.#dtype, wrap(copyTo("clone", of, "u8")));
  }

  /** What JSON.stringify shows: what it is, and how many bytes it has, not the bytes. For those: `q.blocks`. */
  toJSON(): { dtype: Q; shape: readonly number[]; bytes: number } {
    const { dtype, shape, bytes } = this;
    return { dtype, shape, bytes };
  }
  /** The type, the shape and the elements as text. */
  toString(options?: FormatOptions): string {
    return printed(this, options);
  }
  [inspect](): string {
    return printed(this);
  }
}

const make = <Q extends QuantisedDType>(dtype: Q, blocks: Tensor<"u8">): Quantised<Q> =>
  new Quantised(making, dtype, blocks);

/**
 * Whether something is a `Quantised`.
 *
 * @param x anything
 * @returns true or false
 * @example
 * isQuantised(tensor([1])); // → false
 */
export function isQuantised(x: unknown): x is Quantised {
  return typeof x === "object" && x !== null && isIt(x);
}

/** What it is made of, if it may be used. */
export function insideOf<Q extends QuantisedDType>(operation: string, q: Quantised<Q>): Blocks<Q> {
  if (!isQuantised(q)) {
    fail(
      "value",
      operation,
      `expected a Quantised, got ${describe(q)}.`,
      'Make one with quantise(t, "q4_0").',
    );
  }
  return { dtype: q.dtype, of: live(operation, q.blocks) };
}

const spread = (operation: string, name: string, given: readonly unknown[]): readonly number[] =>
  numberList(operation, name, given.length === 1 && typeof given[0] !== "number" ? given[0] : given);

const sameSizes = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((n, d) => n === b[d]);

/* Views ------------------------------------------------------------------------------------------------------ */

function viewed<Q extends QuantisedDType>(
  operation: string,
  q: Quantised<Q>,
  change: (of: Strided<"u8">) => View,
): Quantised<Q> {
  const { dtype, of } = insideOf(operation, q);
  const frame = change(of);
  return make(
    dtype,
    viewOf(operation, q.blocks, () => frame),
  );
}

/** The two axes that stand for the last one: blocks, and bytes. */
const ends = ({ shape, strides }: View) => ({ shape: shape.slice(-2), strides: strides.slice(-2) });

function sliceBlocks(dtype: QuantisedDType, frame: View, items: readonly SliceItem[]): View {
  const { block } = blockTypes[dtype];
  const last = ends(frame);
  const shape = [...frame.shape.slice(0, -2), last.shape[0] * block];
  const outer = frame.strides.slice(0, -2);
  const of = (strides: readonly number[], offset: number): View =>
    slice({ shape, strides, offset, itemBytes: 1 }, items);
  // Once to see where the other axes go, once to see what becomes of the last one: the only axis with a step then.
  const around = of([...outer, 0], frame.offset);
  const along = of([...outer.map(() => 0), 1], 0);
  const at = along.strides.length - 1;
  const [from, count] = [along.offset, along.shape[at] ?? 0];
  if (along.strides[at] !== 1) {
    const step = along.strides.find((s) => s !== 0);
    const what =
      step === undefined
        ? "takes one element of the last axis"
        : step === 1
          ? "puts an axis behind the last one"
          : `steps along the last axis by ${step}`;
    fail(
      "index",
      "slice",
      `it ${what}, and elements of ${dtype} come in blocks of ${block}.`,
      "Dequantise first, or take a range of whole blocks.",
    );
  }
  if (from % block !== 0 || count % block !== 0) {
    fail(
      "index",
      "slice",
      `elements ${from} … ${from + count} of the last axis are no whole blocks: ${dtype} has ${block} elements a block.`,
      `Cut at multiples of ${block}, or dequantise first.`,
    );
  }
  return {
    itemBytes: 1,
    shape: [...around.shape.slice(0, -1), count / block, last.shape[1]],
    strides: [...around.strides.slice(0, -1), ...last.strides],
    offset: around.offset + (count === 0 ? 0 : (from / block) * last.strides[0]),
  };
}

function permuteBlocks(frame: View, axes: readonly number[]): View {
  const rank = frame.shape.length - 1;
  // Strides that count the axes say afterwards which went where.
  const counted = permute(
    {
      shape: frame.shape.slice(0, -1),
      strides: frame.shape.slice(0, -1).map((_, d) => d),
      offset: 0,
      itemBytes: 1,
    },
    axes,
  ).strides;
  if (counted[rank - 1] !== rank - 1) {
    fail(
      "axis",
      "permute",
      `axis ${counted[rank - 1]} would be the last, and blocks lie along axis ${rank - 1}.`,
      "Keep the last axis where it is, or dequantise first.",
    );
  }
  const order = [...counted, rank];
  return { ...frame, shape: order.map((d) => frame.shape[d]), strides: order.map((d) => frame.strides[d]) };
}

function reshapeBlocks(dtype: QuantisedDType, frame: View, shape: readonly number[]): View {
  const { block, bytes } = blockTypes[dtype];
  const count = (sizeOf(frame.shape) / bytes) * block;
  const to = resolveShape("reshape", shape, count);
  checkRows("reshape", dtype, to);
  const wanted = [...to.slice(0, -1), to[to.length - 1] / block, bytes];
  const view = reshape(frame, wanted);
  if (view !== null) return view;
  return fail(
    "shape",
    "reshape",
    `no strides lay these blocks out as ${list(to)} without a copy.`,
    "Use clone() first.",
  );
}

/** Throws unless rows of this shape are whole blocks. */
function checkRows(operation: string, dtype: QuantisedDType, shape: readonly number[]): void {
  const { block } = blockTypes[dtype];
  const last = shape.at(-1);
  if (last === undefined) {
    fail(
      "shape",
      operation,
      "a tensor without axes has no rows.",
      `${dtype} has ${block} elements a block, along the last axis.`,
    );
  }
  if (last % block !== 0) {
    fail(
      "shape",
      operation,
      `rows of ${last} are no whole blocks: shape ${list(shape)}, and ${dtype} has ${block} elements a block.`,
      `The last size must be a multiple of ${block}; pad the tensor, or choose a type with smaller blocks.`,
    );
  }
}

/* Making ----------------------------------------------------------------------------------------------------- */

const blockShape = (dtype: QuantisedDType, shape: readonly number[]): readonly number[] => {
  const { block, bytes } = blockTypes[dtype];
  return [...shape.slice(0, -1), shape[shape.length - 1] / block, bytes];
};

function checkEncodes(operation: string, dtype: QuantisedDType): EncodedDType {
  if (isEncoded(dtype)) return dtype;
  return fail(
    "dtype",
    operation,
    `${dtype} is read here, not made: it takes a search over a model's activations.`,
    `Those that are made: ${encodedNames.join(" ")}.`,
  );
}

/**
 * A tensor in blocks of this type, chosen as ggml's reference functions choose them, bit for bit. The last size is a multiple
 * of the block's. No block holds NaN or infinities, nor what is too large for its scale: where there is one, others of its block
 * are lost, too, without an error.
 *
 *     const q = quantise(random.normal([64, 256]), "q4_K");
 *     q.bytes; // 9216, of 65536
 *
 * @param t a tensor of floats
 * @param dtype which blocks: "q8_0", "q4_K" …
 * @returns new blocks
 * @throws TensorError where rows are no whole blocks
 * @example
 * quantise(ones([2, 32]), "q8_0").bytes; // → 68
 */
export function quantise<Q extends EncodedDType>(t: Tensor, dtype: Q): Quantised<Q> {
  const operation = "quantise";
  const type = checkEncodes(operation, checkBlockType(operation, dtype));
  const src = live(operation, t);
  checkRows(operation, type, src.frame.shape);
  const made = allocate(operation, "u8", blockShape(type, src.frame.shape));
  filled(made, () => encode(operation, { dtype: type, of: made }, src));
  return make(dtype, wrap(made));
}

/**
 * Bytes of a tensor as blocks of this type: no copy. With a shape, a dense run of bytes is seen in it (sizes in elements);
 * without one, the last axis of the tensor holds the bytes of a row.
 *
 *     fromBlocks(await archive.raw("blk.0.ffn_up.weight"), "q4_K", [1024, 4096]);
 *
 * @param bytes the blocks
 * @param dtype which they are
 * @param shape sizes in elements
 * @returns a view of the bytes
 * @throws TensorError where they are no whole blocks
 * @example
 * fromBlocks(zeros([34], { dtype: "u8" }), "q8_0").shape; // → [32]
 */
export function fromBlocks<Q extends QuantisedDType>(
  bytes: Tensor<"u8">,
  dtype: Q,
  shape?: readonly number[],
): Quantised<Q> {
  const operation = "fromBlocks";
  checkBlockType(operation, dtype);
  const sizes = shape === undefined ? null : numberList(operation, "the shape", shape);
  const of = live(operation, bytes as Tensor);
  if (of.dtype !== "u8") {
    fail("dtype", operation, `blocks are bytes, and this tensor has ${of.dtype}.`, "Give a tensor of u8.");
  }
  const { block, bytes: size } = blockTypes[dtype];
  const row = of.frame.shape.at(-1);
  if (sizes === null && (row === undefined || row % size !== 0)) {
    fail(
      "shape",
      operation,
      `rows of ${row ?? "no"} bytes are no whole blocks: ${dtype} has ${size} bytes a block.`,
      "Give the shape in elements, or rows of whole blocks.",
    );
  }
  const to = sizes ?? [...of.frame.shape.slice(0, -1), (row! / size) * block];
  checkShape(operation, to);
  checkRows(operation, dtype, to);
  const wanted = blockShape(dtype, to);
  if (sizeOf(wanted) !== sizeOf(of.frame.shape)) {
    fail(
      "shape",
      operation,
      `shape ${list(to)} of ${dtype} takes ${sizeOf(wanted)} bytes, there are ${sizeOf(of.frame.shape)}.`,
      `${block} elements take ${size} bytes.`,
    );
  }
  const view = reshape(of.frame, wanted);
  if (view === null || (view.strides.at(-1) !== 1 && sizeOf(wanted) > 0)) {
    fail(
      "shape",
      operation,
      "the bytes of a block do not lie side by side.",
      "Copy the bytes first: fromBlocks(bytes.clone(), …).",
    );
  }
  return make(
    dtype,
    viewOf(operation, bytes, () => view),
  );
}

/**
 * A ggml tensor of any type: block types as `Quantised`, others as a tensor. `ne` and `nb` list the fastest axis first, and
 * nb[0] is the bytes of a block.
 *
 *     fromGgml({ type: "q8_0", ne: [64, 2], data: bytes }).shape; // [2, 64]
 *
 * @param t its `type`, `ne`, `nb` and `data`
 * @returns blocks, or a tensor
 * @example
 * fromGgml({ type: "q8_0", ne: [32, 2], data: new Uint8Array(68) }).shape; // → [2, 32]
 */
export function fromGgml(t: GgmlTensor): Tensor | Quantised {
  const operation = "fromGgml";
  const read = readOptions(operation, t ?? null, '{ type: "q4_0", ne: [32, 3], data }');
  const dtype = blockTypeOf(read.type);
  if (dtype === null) return wrap(fromGgmlElements(read));
  const { block, bytes } = blockTypes[dtype];
  const ne = numberList(operation, "ne", read.ne);
  const shape = [...ne].reverse();
  checkShape(operation, shape);
  checkRows(operation, dtype, shape);
  const wanted = blockShape(dtype, shape);
  const nb = read.nb === undefined ? null : numberList(operation, "nb", read.nb);
  if (nb !== null && (nb.length !== ne.length || nb[0] !== bytes)) {
    fail(
      "shape",
      operation,
      nb.length !== ne.length
        ? `nb has ${nb.length} entries, ne has ${ne.length}.`
        : `nb[0] is ${nb[0]}, and a block of ${dtype} has ${bytes} bytes.`,
      `Both list the axes, fastest first; nb[0] leads from one block of ${block} elements to the next.`,
    );
  }
  // Bytes are fastest, then blocks: one axis more than ggml names.
  const of = fromGgmlElements({
    type: "u8",
    ne: [...wanted].reverse(),
    nb: [1, ...(nb ?? [...rowMajorStrides(wanted, 1)].reverse().slice(1))],
    data: read.data,
    ...(read.offset === undefined ? {} : { offset: read.offset }),
  });
  return make(dtype, wrap(of as Strided<"u8">));
}

function assignTo(operation: string, q: Quantised, source: Tensor | Quantised, isFlat: boolean): void {
  const dst = insideOf(operation, q);
  const shape = elementShape(dst);
  if (isQuantised(source)) {
    const given = insideOf(operation, source);
    if (given.dtype !== dst.dtype) checkEncodes(operation, dst.dtype);
    const from = elementShape(given);
    const fits = isFlat ? sizeOf(from) === sizeOf(shape) : sameSizes(from, shape);
    if (!fits) failFit(operation, from, shape, isFlat);
    if (sameSizes(from, shape)) {
      recode(operation, dst, given);
      return;
    }
    const bent = reshape(given.of.frame, [...blockShape(given.dtype, shape)]);
    if (shape[shape.length - 1] % blockTypes[given.dtype].block === 0 && bent !== null) {
      recode(operation, dst, { ...given, of: { ...given.of, frame: bent } });
      return;
    }
    const dense = source.dequantise();
    try {
      assignTo(operation, q, dense, true);
    } finally {
      dense.dispose();
    }
    return;
  }
  if (!isTensor(source)) {
    fail(
      "value",
      operation,
      `expected a tensor or a Quantised, got ${describe(source)}.`,
      "Make one with tensor(…).",
    );
  }
  const type = checkEncodes(operation, dst.dtype);
  const src = live(operation, source);
  if (!isFlat) {
    encode(operation, { ...dst, dtype: type }, { ...src, frame: stretched(operation, src.frame, shape) });
    return;
  }
  if (sizeOf(src.frame.shape) !== sizeOf(shape)) failFit(operation, src.frame.shape, shape, true);
  const bent = reshape(src.frame, shape);
  if (bent !== null) encode(operation, { ...dst, dtype: type }, { ...src, frame: bent });
  else {
    withTemporary(copyTo(operation, src, "f32"), (dense) =>
      encode(operation, { ...dst, dtype: type }, { ...dense, frame: contiguousView(shape, 4) }),
    );
  }
}

function stretched(operation: string, frame: View, shape: readonly number[]): View {
  if (sameSizes(frame.shape, shape)) return frame;
  try {
    return broadcastTo(frame, shape);
  } catch {
    return failFit(operation, frame.shape, shape, false);
  }
}

function failFit(operation: string, from: readonly number[], to: readonly number[], isFlat: boolean): never {
  return fail(
    "shape",
    operation,
    isFlat
      ? `the element counts differ: source ${list(from)} has ${sizeOf(from)}, destination ${list(to)} has ${sizeOf(to)}.`
      : `a source of shape ${list(from)} does not fit the destination's ${list(to)}.`,
    isFlat
      ? "Both sides are read in row-major order."
      : "A tensor is broadcast; blocks must have the same sizes.",
  );
}

/* Printing --------------------------------------------------------------------------------------------------- */

function printed(q: Quantised, options?: FormatOptions): string {
  if (!isQuantised(q)) insideOf("toString", q);
  const { dtype, shape, blockSize, blockBytes } = q;
  const head = `Quantised ${dtype} ${list(shape)}`;
  if (q.isDisposed) return `${head}  disposed`;
  const format = readFormat("toString", options);
  const { of } = insideOf("toString", q);
  const strides = isContiguous(of.frame) ? "" : `, byte strides ${list(of.frame.strides.slice(0, -1))}`;
  const header = `${head}  ${blockBytes} bytes for ${blockSize} elements${strides}`;
  return `${header}\n${valuesOf({ dtype, of }, shape, format)}`;
}

/** Only what is shown is decoded. */
function valuesOf(b: Blocks, shape: readonly number[], format: FormatOptions): string {
  const operation = "toString";
  const { block } = blockTypes[b.dtype];
  const view: View = { shape, strides: rowMajorStrides(shape), offset: 0, itemBytes: 1 };
  return withTemporary(allocate(operation, "f32", [1, block]), (room) => {
    let held = -1;
    const read = (ordinal: number) => {
      const whole = Math.floor(ordinal / block);
      if (whole !== held) {
        const at = unravel(whole, b.of.frame.shape.slice(0, -1));
        const { strides, offset } = b.of.frame;
        const from = at.reduce((sum, i, d) => sum + i * strides[d], offset);
        const frame = { ...contiguousView([1, 1, blockTypes[b.dtype].bytes], 1), offset: from };
        decode(operation, room, { ...b, of: { ...b.of, frame } });
        held = whole;
      }
      const place = addressOf(room) + 4 * (ordinal % block);
      return dtypes.f32.read(engine().heap.view, place);
    };
    return formatValues("f32", view, read, format);
  });
}
