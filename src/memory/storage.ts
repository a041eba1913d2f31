/**
 * Storage: the lifetime of one heap block, shared by all tensors that are views of it. And `checkReach`, THE
 * gate between views and memory: every view passes it once, when it is bound to a storage; kernels never check.
 */

import { type ArrayOf, type DType, dtypes, type Value } from "../dtype.ts";
import { fail, list, unreachable, written } from "../errors.ts";
import type { View } from "../view/view.ts";
import type { Anchor } from "./backstop.ts";
import type { Heap } from "./heap.ts";

let made = 0;

/** The number of the storage that was made last. */
export const lastStorage = (): number => made;

/**
 * Lives while tensors hold it: starts with one holder, `release` by the last one frees the block. A storage
 * that becomes garbage unreleased is freed by the heap's backstop; never both.
 */
export class Storage {
  /** Storages that are made later have larger numbers. */
  readonly number = ++made;
  readonly heap: Heap;
  readonly address: number;
  readonly bytes: number;
  #version = 0;
  #holders = 1;
  /** Dies with this storage unless given back; null once disposed. */
  #anchor: Anchor | null;
  /** What this one is another name of, and holds; null: the bytes are its own. */
  readonly #of: Storage | null;

  constructor(heap: Heap, address: number, bytes: number, of: Storage | null = null) {
    this.heap = heap;
    this.address = address;
    this.bytes = bytes;
    this.#of = of;
    this.#anchor = of === null ? heap.backstop.watch(address, bytes) : of.#anchor;
  }

  /** Grows when something is written to these bytes, under any name: what was kept of the content may be old then. */
  get version(): number {
    return this.#of === null ? this.#version : this.#of.version;
  }

  set version(version: number) {
    if (this.#of === null) this.#version = version;
    else this.#of.version = version;
  }

  /** The storage whose bytes these are: this one, unless it is another name. */
  get origin(): Storage {
    return this.#of === null ? this : this.#of.origin;
  }

  /** The same bytes under another name, for those who tell values apart by their storage. It holds this one. */
  alias(): Storage {
    this.retain();
    return new Storage(this.heap, this.address, this.bytes, this);
  }

  get disposed(): boolean {
    return this.#anchor === null;
  }

  /** The element that begins at byte `at`. */
  read(dtype: DType, at: number): Value {
    return dtypes[dtype].read(this.heap.view, this.address + at);
  }

  write(dtype: DType, at: number, value: Value): void {
    dtypes[dtype].write(this.heap.view, this.address + at, value);
  }

  /** The same as a function of `at`, for many elements. Nothing may allocate while it is in use. */
  reader(dtype: DType): (at: number) => Value {
    const { read } = dtypes[dtype];
    const { view } = this.heap;
    return (at) => read(view, this.address + at);
  }

  /** Elements as they lie, from byte `from` on; where memory is not shared, until something allocates. */
  cells<D extends DType>(dtype: D, from: number, count: number): ArrayOf<D> {
    return new dtypes[dtype].Array(this.heap.buffer, this.address + from, count) as ArrayOf<D>;
  }

  /** Where the bytes are, for those who tell people of it: nothing keeps it alive, and nothing is found by it. */
  get place(): Place {
    return { address: this.address, bytes: this.bytes };
  }

  /** Bytes as they lie. */
  raw(from: number, length: number): Uint8Array {
    return new Uint8Array(this.heap.buffer, this.address + from, length);
  }

  /** One more tensor uses these bytes. */
  retain(): void {
    if (this.#anchor === null) unreachable("a disposed storage is retained");
    this.#holders++;
  }

  /** One tensor less; the last one frees the block. */
  release(): void {
    if (this.#anchor === null) unreachable("a disposed storage is released");
    if (--this.#holders > 0) return;
    const anchor = this.#anchor;
    this.#anchor = null;
    if (this.#of !== null) {
      this.#of.release();
      return;
    }
    this.heap.backstop.unwatch(anchor);
    this.heap.free(this.address);
  }
}

/** Where the bytes of a storage are, or were. */
export interface Place {
  readonly address: number;
  readonly bytes: number;
}

/** New storage with one holder; its bytes are arbitrary unless `zeroed`. */
export function createStorage(
  heap: Heap,
  bytes: number,
  operation: string,
  options: { readonly zeroed?: boolean } = {},
): Storage {
  const address = options.zeroed ? heap.allocZeroed(bytes, operation) : heap.alloc(bytes, operation);
  return new Storage(heap, address, bytes);
}

/**
 * Throws unless every byte of every element of the view lies in [0, storage.bytes).
 *
 * The element at index i covers the bytes offset + Σ strides[d]·i[d] + [0, itemBytes). The lowest is reached
 * with i[d] = shape[d] - 1 wherever the stride is negative and 0 elsewhere, the highest the other way round.
 * The answer is exact: sums and products beyond 2^53 round to something that still lies outside any storage,
 * and `low` only falls, `high` only rises. A view without elements touches nothing: its strides may be any
 * whole numbers, its offset must lie in [0, storage.bytes].
 */
export function checkReach(operation: string, view: View, storage: { readonly bytes: number }): void {
  const { shape, strides, offset, itemBytes } = view;
  const rank = shape.length;
  if (strides.length !== rank || !isSize(itemBytes) || itemBytes === 0 || !Number.isSafeInteger(offset)) {
    failNumbers(operation, view);
  }
  let low = offset;
  let high = offset + itemBytes;
  let isEmpty = false;
  let isExact = true;
  for (let d = 0; d < rank; d++) {
    const size = shape[d];
    const stride = strides[d];
    if (!isSize(size) || !Number.isInteger(stride)) failNumbers(operation, view);
    if (!Number.isSafeInteger(stride)) isExact = false;
    if (size === 0) isEmpty = true;
    else if (stride < 0) low += (size - 1) * stride;
    else high += (size - 1) * stride;
  }
  if (isEmpty) {
    if (!(offset >= 0 && offset <= storage.bytes)) failOffset(operation, view, storage.bytes);
    return;
  }
  if (!isExact) failNumbers(operation, view);
  if (!(low >= 0 && high <= storage.bytes)) failReach(operation, view, storage.bytes);
}

const isSize = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;

/** Names the first number of the view that cannot be one. */
function failNumbers(operation: string, view: View): never {
  const { shape, strides, offset, itemBytes } = view;
  const refuse = (fact: string): never => fail("bounds", operation, fact, describe(view));
  if (strides.length !== shape.length) refuse(`${shape.length} sizes, ${strides.length} strides.`);
  if (!isSize(itemBytes) || itemBytes === 0)
    refuse(`an element of ${written(itemBytes)} bytes is impossible.`);
  if (!Number.isSafeInteger(offset))
    refuse(`offset ${written(offset)} is not a whole number of bytes below 2^53.`);
  for (let d = 0; d < shape.length; d++) {
    if (!isSize(shape[d]))
      refuse(`size ${written(shape[d])} of axis ${d} is not a whole number from 0 below 2^53.`);
    if (!Number.isSafeInteger(strides[d])) {
      refuse(`stride ${written(strides[d])} of axis ${d} is not a whole number of bytes below 2^53.`);
    }
  }
  return unreachable("a view was refused for its numbers, and they are fine");
}

function failOffset(operation: string, view: View, bytes: number): never {
  const fact = `the empty view begins at byte ${view.offset}, its storage has ${bytes} bytes.`;
  fail("bounds", operation, fact, describe(view));
}

function failReach(operation: string, view: View, bytes: number): never {
  const { low, high } = exactReach(view);
  const has = bytes === 0 ? "no bytes" : `bytes 0 … ${bytes - 1}`;
  fail(
    "bounds",
    operation,
    `the view reaches bytes ${low} … ${high}, its storage has ${has}.`,
    describe(view),
  );
}

/** First and last byte of a view with elements, as BigInt: for the message, where 2^53 must not round. */
function exactReach({ shape, strides, offset, itemBytes }: View): { low: bigint; high: bigint } {
  let low = BigInt(offset);
  let high = low + BigInt(itemBytes) - 1n;
  for (let d = 0; d < shape.length; d++) {
    const extent = BigInt(strides[d]) * BigInt(shape[d] - 1);
    if (extent < 0n) low += extent;
    else high += extent;
  }
  return { low, high };
}

function describe({ shape, strides, offset, itemBytes }: View): string {
  return (
    `Every element must lie inside: shape ${list(shape)}, strides ${list(strides)} bytes, offset ${written(offset)} bytes, ` +
    `${written(itemBytes)} bytes an element.`
  );
}
