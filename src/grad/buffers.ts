/**
 * Where gradients are added up on their way back: for every storage that a traced value lies in, a buffer of the same
 * layout. So a view needs no rule of its own: the same view of the buffer takes the gradient, and where elements of a view
 * share memory (windows, broadcast axes) they add up.
 */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { createStorage, type Storage } from "../memory/storage.ts";
import { share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { namedOp, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sameShape, sizeOf } from "../view/layout.ts";
import { selfOverlaps } from "../view/overlap.ts";
import { extent, isContiguous, type View } from "../view/view.ts";

interface Buffer {
  readonly dtype: DType;
  readonly storage: Storage;
  /** The bytes of the traced storage that it stands for. */
  readonly start: number;
  readonly end: number;
  /** Of how many storages it is the buffer, all of the same gradient: before one of them is written, it gets its own. */
  readonly users: { count: number };
}

export class Buffers {
  readonly #of = new Map<Storage, Buffer>();
  /** Storages of which only a part is traced: what lies around it has no gradient. */
  readonly #parts: ReadonlyMap<Storage, View>;

  constructor(parts: ReadonlyMap<Storage, View>) {
    this.#parts = parts;
  }

  has({ storage }: Strided): boolean {
    return this.#of.has(storage);
  }

  /** The gradient that has arrived at a place so far, where it lies; null: none. */
  at(place: Strided): Strided | null {
    const buffer = this.#of.get(place.storage);
    return buffer === undefined ? null : seen(buffer, place);
  }

  /** The same, to be written. */
  owned(place: Strided): Strided | null {
    const buffer = this.#of.get(place.storage);
    return buffer === undefined ? null : seen(this.#unshared(place.storage, buffer), place);
  }

  /** A place's gradient where it lies, zeros if nothing has arrived. */
  zeroed(place: Strided): Strided {
    return seen(this.#bufferFor(place, true), place);
  }

  /** Where to write or add a place's gradient; `isFresh`: what lies there is arbitrary, and all of it is to be written. */
  slot(place: Strided): { readonly to: Strided; readonly isFresh: boolean } {
    const isFresh = !this.#of.has(place.storage) && this.#covers(place);
    return { to: seen(this.#bufferFor(place, !isFresh), place), isFresh };
  }

  /** Adds a gradient to a place, of its shape. `isOurs`: nobody else needs it, so it may become the buffer. */
  give(place: Strided, g: Tensor, isOurs = false): void {
    const { shape } = place.frame;
    const repeated = repeatedAxes(place.frame);
    if (repeated.length > 0) {
      const once = {
        ...place,
        frame: { ...place.frame, shape: shape.map((n, d) => (repeated.includes(d) ? 1 : n)) },
      };
      this.give(once, g.sum({ axis: repeated, keepdims: true }), true);
      return;
    }
    if (sharesMemory(place.frame)) {
      this.#giveInTurn(place, g);
      return;
    }
    if (isOurs && this.#adopt(place, g)) return;
    const { to, isFresh } = this.slot(place);
    const out = wrap(share(to, to.frame));
    if (isFresh) out.assign(g);
    else namedOp("add", [out, g], { out });
  }

  /** Elements that share memory one after the other: along the shortest axis, until none do. */
  #giveInTurn(place: Strided, g: Tensor): void {
    const { shape, strides, offset } = place.frame;
    let axis = -1;
    shape.forEach((n, d) => {
      if (n > 1 && (axis < 0 || n < shape[axis])) axis = d;
    });
    const items = shape.map(() => ":" as string | number);
    for (let i = 0; i < shape[axis]; i++) {
      items[axis] = i;
      const frame = {
        ...place.frame,
        shape: shape.filter((_, d) => d !== axis),
        strides: strides.filter((_, d) => d !== axis),
        offset: offset + i * strides[axis],
      };
      this.zeroed(place);
      this.give({ ...place, frame }, g.slice(...items));
    }
  }

  /** Takes a gradient's own memory for the buffer, where the two are laid out alike. */
  #adopt(place: Strided, g: Tensor): boolean {
    if (this.#of.has(place.storage) || !this.#covers(place)) return false;
    const { storage, dtype, frame } = stridedOf(g);
    const { start, end } = this.#rangeOf(place);
    const isSame =
      dtype === place.dtype &&
      frame.offset === place.frame.offset - start &&
      isAlike(frame, place.frame) &&
      storage.bytes === end - start;
    if (!isSame) return false;
    storage.retain();
    this.#of.set(place.storage, { dtype, storage, start, end, users: { count: 1 } });
    return true;
  }

  /** The buffer of one storage is that of another too, of the same layout, where that has none. */
  lend(from: Strided, to: Strided): boolean {
    const buffer = this.#of.get(from.storage);
    if (buffer === undefined || this.#of.has(to.storage) || !this.#covers(to)) return false;
    const { start, end } = this.#rangeOf(to);
    const shift = from.frame.offset - buffer.start === to.frame.offset - start;
    if (!shift || buffer.end - buffer.start !== end - start || buffer.dtype !== to.dtype) return false;
    if (!isAlike(from.frame, to.frame)) return false;
    buffer.storage.retain();
    buffer.users.count++;
    this.#of.set(to.storage, { ...buffer, start, end });
    return true;
  }

  /** The buffer of a storage whose gradient is not asked for again, to be written as that of another; null: it cannot be. */
  pass(from: Strided, to: Strided): Strided | null {
    if (this.#of.get(from.storage)?.users.count !== 1 || !this.lend(from, to)) return null;
    return this.at(to);
  }

  /** Nobody asks for a storage's gradient any more. */
  drop({ storage }: Strided): void {
    const buffer = this.#of.get(storage);
    if (buffer === undefined) return;
    this.#of.delete(storage);
    buffer.users.count--;
    buffer.storage.release();
  }

  /** The buffer of a storage as its own, if it was that of others too. */
  #unshared(of: Storage, buffer: Buffer): Buffer {
    if (buffer.users.count === 1) return buffer;
    const { dtype, storage, start, end, users } = buffer;
    const made = createStorage(engine().heap, storage.bytes, "gradient", { zeroed: false });
    const own = { dtype, storage: made, start, end, users: { count: 1 } };
    this.#of.set(of, own);
    users.count--;
    copyAll(buffer, own, 0);
    storage.release();
    return own;
  }

  /** Is a place all of its buffer, each element once? */
  #covers(place: Strided): boolean {
    const { start, end } = this.#rangeOf(place);
    return sizeOf(place.frame.shape) * place.frame.itemBytes === end - start;
  }

  #rangeOf({ storage, frame }: Strided): { readonly start: number; readonly end: number } {
    const part = this.#parts.get(storage);
    if (part !== undefined) {
      const range = extent(part);
      if (sizeOf(frame.shape) === 0) return range;
      const own = extent(frame);
      if (own.start >= range.start && own.end <= range.end) return range;
    }
    return { start: 0, end: storage.bytes };
  }

  #bufferFor(place: Strided, zeroed: boolean): Buffer {
    const { storage, dtype } = place;
    const before = this.#of.get(storage);
    const range = this.#rangeOf(place);
    if (before !== undefined && before.start <= range.start && before.end >= range.end)
      return this.#unshared(storage, before);
    const bytes = range.end - range.start;
    const made = createStorage(engine().heap, bytes, "gradient", { zeroed: zeroed || before !== undefined });
    const buffer = { dtype, storage: made, start: range.start, end: range.end, users: { count: 1 } };
    this.#of.set(storage, buffer);
    // A view beyond the part that is traced: what has arrived moves to a buffer of the whole storage.
    if (before !== undefined) {
      copyAll(before, buffer, before.start - buffer.start);
      before.users.count--;
      before.storage.release();
    }
    return buffer;
  }

  dispose(): void {
    for (const { storage } of this.#of.values()) storage.release();
    this.#of.clear();
  }
}

/** All of a buffer into another, so many bytes behind its start. */
function copyAll(from: Buffer, to: Buffer, offset: number): void {
  const { dtype } = from;
  const { bytes } = dtypes[dtype];
  const line = { shape: [(from.end - from.start) / bytes], strides: [bytes], itemBytes: bytes };
  const at = (storage: Storage, first: number): Tensor =>
    wrap(
      share({ dtype, storage, readOnly: false, frame: { ...line, offset: 0 } }, { ...line, offset: first }),
    );
  const [source, target] = [at(from.storage, 0), at(to.storage, offset)];
  target.assign(source);
  source.dispose();
  target.dispose();
}

/** Are elements of one index at one place in both, counted from their start? An axis of one element has no stride. */
function isAlike(a: View, b: View): boolean {
  if (!sameShape(a.shape, b.shape)) return false;
  return a.strides.every((stride, d) => stride === b.strides[d] || a.shape[d] === 1);
}

const noAxes: readonly number[] = [];

/** Axes that a view walks without moving: what stands there once is seen many times. */
export function repeatedAxes({ shape, strides }: View): readonly number[] {
  for (let d = 0; d < shape.length; d++) {
    if (shape[d] > 1 && strides[d] === 0)
      return shape.flatMap((n, e) => (n > 1 && strides[e] === 0 ? [e] : []));
  }
  return noAxes;
}

/** Do elements of a view share memory? */
export const sharesMemory = (view: View): boolean => !isContiguous(view) && selfOverlaps(view);

const seen = ({ storage, start, dtype }: Buffer, { frame }: Strided): Strided => ({
  dtype,
  storage,
  frame: start === 0 ? frame : { ...frame, offset: frame.offset - start },
  readOnly: false,
});
