/**
 * The one file of io that knows where tensors live: room for a tensor that is about to be read, and the bytes of a tensor
 * that is about to be written. Until it is finished, a tensor that is being read belongs to no scope and has no handle:
 * nobody can free it while bytes still arrive.
 */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { unreachable } from "../errors.ts";
import { checkReach, createStorage } from "../memory/storage.ts";
import { copyTo } from "../ops/copy.ts";
import { share } from "../ops/strided.ts";
import { live, type Tensor, wrap } from "../tensor.ts";
import { isContiguous, isFContiguous, transpose, type View } from "../view/view.ts";

/** Bytes of a tensor that are handed over at a time. */
export const PIECE = 8 << 20;

/** Room in the heap for the elements of one tensor. It is finished, or released. */
export interface Place {
  readonly bytes: number;
  /** Memory that never moves: what is given by `at` may be written to while others allocate. */
  readonly stays: boolean;
  /** The bytes [from, from + length); where memory does not stay, only until something allocates. */
  at(from: number, length: number): Uint8Array;
  /** The tensor whose elements lie here as the view says. */
  finish(view: View): Tensor;
  release(): void;
}

/** Room for so many bytes, of any content. */
export function takePlace(operation: string, dtype: DType, bytes: number): Place {
  const { heap } = engine();
  const storage = createStorage(heap, bytes, operation);
  return {
    bytes,
    stays: heap.shared,
    at(from, length) {
      if (!(from >= 0 && length >= 0 && from + length <= bytes)) unreachable("io reaches beyond its place");
      return storage.raw(from, length);
    },
    finish(view) {
      checkReach(operation, view, storage);
      return wrap({ dtype, storage, frame: view, readOnly: false });
    },
    release: () => storage.release(),
  };
}

/**
 * A tensor that is not here yet: it is read piece by piece while it is written, so that a file may be larger than memory.
 * Only what is written in one go, from its first element to its last, can be given so. Each piece is disposed of.
 */
export class Streamed {
  /** Known by a field that nobody can fake, and that may be asked of anything. */
  readonly #mark = true;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Its elements in row-major order, some at a time; as often as it is asked for. */
  readonly pieces: () => AsyncIterable<Tensor>;

  constructor(dtype: DType, shape: readonly number[], pieces: () => AsyncIterable<Tensor>) {
    this.dtype = dtype;
    this.shape = shape;
    this.pieces = pieces;
  }

  get rank(): number {
    return this.shape.length;
  }

  static is(t: unknown): t is Streamed {
    return typeof t === "object" && t !== null && #mark in t && t.#mark;
  }
}

/** The elements of a tensor as bytes without gaps, held until they are released. */
export interface Held {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The first axis is the fastest. */
  readonly fortran: boolean;
  readonly bytes: number;
  /** The bytes [from, from + length) as they are now. */
  at(from: number, length: number): Uint8Array;
  /** Where they are not here yet: all of them, from the first to the last. */
  readonly stream?: () => AsyncIterable<Uint8Array>;
  release(): void;
}

function holdStreamed(operation: string, { dtype, shape, pieces }: Streamed): Held {
  const bytes = shape.reduce((a, b) => a * b, dtypes[dtype].bytes);
  return {
    dtype,
    shape,
    fortran: false,
    bytes,
    at: () => unreachable("a tensor that is not here yet is asked for its bytes"),
    async *stream() {
      let total = 0;
      for await (const piece of pieces()) {
        const held = hold(operation, piece);
        try {
          for (let at = 0; at < held.bytes; at += PIECE) yield held.at(at, Math.min(PIECE, held.bytes - at));
          total += held.bytes;
        } finally {
          held.release();
          piece.dispose();
        }
      }
      if (total !== bytes) unreachable(`${total} bytes were streamed, ${bytes} expected`);
    },
    release() {},
  };
}

/** Holds a tensor to be written; one that has gaps is copied. With `keepFortran`, a transposed matrix is not. */
export function hold(operation: string, t: Tensor | Streamed, keepFortran = false): Held {
  if (Streamed.is(t)) return holdStreamed(operation, t);
  const of = live(operation, t);
  const { dtype, frame } = of;
  const fortran = keepFortran && !isContiguous(frame) && isFContiguous(frame);
  const isDense = isContiguous(fortran ? transpose(frame) : frame);
  const held = isDense ? share(of, frame) : copyTo(operation, of, dtype);
  const bytes = dtypes[dtype].bytes * frame.shape.reduce((a, b) => a * b, 1);
  return {
    dtype,
    shape: frame.shape,
    fortran,
    bytes,
    at(from, length) {
      const piece = held.storage.raw(held.frame.offset + from, length);
      return held.storage.heap.shared ? piece : piece.slice();
    },
    release: () => held.storage.release(),
  };
}

/** A tensor as it lies, with its gaps, held until it is released. */
export interface Lying {
  readonly frame: View;
  /** Memory that never moves. */
  readonly stays: boolean;
  /** The bytes [from, from + length) of its storage, or all of them; where memory does not stay, only until something allocates. */
  at(from?: number, length?: number): Uint8Array;
  release(): void;
}

/** Holds a tensor as it lies: nothing is copied. */
export function holdLying(operation: string, t: Tensor): Lying {
  const of = live(operation, t);
  const held = share(of, of.frame);
  const { heap, address, bytes } = held.storage;
  return {
    frame: of.frame,
    stays: heap.shared,
    at: (from = 0, length = bytes - from) => new Uint8Array(heap.buffer, address + from, length),
    release: () => held.storage.release(),
  };
}
