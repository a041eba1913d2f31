/**
 * WebAssembly's binary format at the level of bytes, in both directions: the numbers of types and
 * sections, LEB128 integers, little-endian floats, names, and the `size, contents` frames of sections and function bodies. Knows nothing of instructions.
 *
 * LEB128: seven bits a byte, least significant first, the high bit says that more follow; a signed number ends
 * when the rest is a copy of bit 6.
 */
import { fail } from "../../errors.ts";
import type { ValType } from "./opcodes.ts";

export const typeCodes = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
} satisfies Record<ValType, number>;
/** Section ids, in the order in which sections stand in a module (custom ones may stand anywhere). */
export const sections = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  global: 6,
  export: 7,
  code: 10,
  data: 11,
} as const;
/** Parts of the custom section "name". */
export const nameSections = { functions: 1, locals: 2, globals: 7 } as const;
/** What an import or an export is. */
export const kinds = { func: 0, memory: 2, global: 3 } as const;

const scratch = new DataView(new ArrayBuffer(8));

/** An append-only byte buffer that doubles when it is full. */
export class ByteBuffer {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  u8(byte: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = byte;
  }

  /** Unsigned 32-bit LEB128. */
  u32(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.u8(rest);
  }

  /** Signed 32-bit LEB128. */
  s32(value: number): void {
    let rest = value;
    while (rest < -64 || rest > 63) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    this.u8(rest & 0x7f);
  }

  /** Unsigned 64-bit LEB128. */
  u64(value: bigint): void {
    let rest = value;
    while (rest > 0x7fn) {
      this.u8(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.u8(Number(rest));
  }

  /** Signed 64-bit LEB128. */
  s64(value: bigint): void {
    let rest = value;
    while (rest < -64n || rest > 63n) {
      this.u8(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.u8(Number(rest & 0x7fn));
  }

  f32(value: number): void {
    scratch.setFloat32(0, value, true);
    for (let i = 0; i < 4; i++) this.u8(scratch.getUint8(i));
  }

  f64(value: number): void {
    scratch.setFloat64(0, value, true);
    for (let i = 0; i < 8; i++) this.u8(scratch.getUint8(i));
  }

  raw(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    // For a v128 constant a loop is faster than the call of `set`.
    if (bytes.length > 16) this.#bytes.set(bytes, this.#length);
    else for (let i = 0; i < bytes.length; i++) this.#bytes[this.#length + i] = bytes[i];
    this.#length += bytes.length;
  }

  append(other: ByteBuffer): void {
    this.raw(other.#bytes.subarray(0, other.#length));
  }

  /** UTF-8 bytes after their count. */
  name(text: string): void {
    const start = this.#length;
    this.u32(text.length);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        this.#length = start;
        const bytes = new TextEncoder().encode(text);
        this.u32(bytes.length);
        this.raw(bytes);
        return;
      }
      this.u8(unit);
    }
  }

  /** The count of `items`, then each of them. */
  vector<T>(items: readonly T[], write: (item: T, index: number) => void): void {
    this.u32(items.length);
    items.forEach(write);
  }

  /** A frame: the size in bytes of what `write` appends, then those bytes. */
  sized(write: () => void): void {
    const start = this.#length;
    this.u8(0);
    write();
    const size = this.#length - start - 1;
    if (size < 0x80) {
      this.#bytes[start] = size;
      return;
    }
    // The size needs more than the one byte set aside: write it after the contents, then swap the two.
    const end = this.#length;
    this.u32(size);
    const head = this.#bytes.slice(end, this.#length);
    this.#bytes.copyWithin(start + head.length, start + 1, end);
    this.#bytes.set(head, start);
    this.#length--;
  }

  section(id: number, write: () => void): void {
    this.u8(id);
    this.sized(write);
  }

  /** A copy of what was written. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(more: number): void {
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + more));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** Reads what ByteBuffer writes; every read moves `at`. */
export class ByteReader {
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.at >= this.#bytes.length;
  }

  u8(): number {
    if (this.done) fail("value", "disassemble", `the bytes end at ${this.at}, inside a module`);
    return this.#bytes[this.at++];
  }

  u32(): number {
    return Number(this.u64());
  }

  s32(): number {
    return Number(this.s64());
  }

  u64(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.u8();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  s64(): bigint {
    const start = this.at;
    const value = this.u64();
    return BigInt.asIntN(7 * (this.at - start), value);
  }

  f32(): number {
    return this.#view.getFloat32(this.#skip(4), true);
  }

  f64(): number {
    return this.#view.getFloat64(this.#skip(8), true);
  }

  raw(count: number): Uint8Array {
    const start = this.#skip(count);
    return this.#bytes.subarray(start, start + count);
  }

  name(): string {
    return new TextDecoder().decode(this.raw(this.u32()));
  }

  vector<T>(read: (index: number) => T): T[] {
    return Array.from({ length: this.u32() }, (_, index) => read(index));
  }

  #skip(count: number): number {
    const start = this.at;
    if (start + count > this.#bytes.length) {
      fail(
        "value",
        "disassemble",
        `${count} bytes expected at ${start}, but the end is at ${this.#bytes.length}`,
      );
    }
    this.at += count;
    return start;
  }
}
