/**
 * Flatbuffers without a schema: tables whose fields are found by number, vectors, texts. Reading believes nothing: every
 * place is held against the bytes there are, and what a table leads to is counted, since two fields may lead to the same
 * place and so a few bytes to a great many tables.
 */
import { textOf } from "./json.ts";

/** Tables and vectors that are looked at in one buffer, at the most. */
const MOST_STEPS = 1 << 20;

/** Bytes with a table at their root. */
export class Flat {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #bad: (fact: string) => never;
  #left = MOST_STEPS;

  constructor(bytes: Uint8Array, bad: (fact: string) => never) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bad = bad;
  }

  check(at: number, length: number): void {
    const isInside = Number.isSafeInteger(at) && at >= 0 && length >= 0 && at + length <= this.#bytes.length;
    if (!isInside) this.#bad(`its metadata of ${this.#bytes.length} bytes leads to byte ${at}.`);
  }

  u8(at: number): number {
    this.check(at, 1);
    return this.#view.getUint8(at);
  }
  i16(at: number): number {
    this.check(at, 2);
    return this.#view.getInt16(at, true);
  }
  u16(at: number): number {
    this.check(at, 2);
    return this.#view.getUint16(at, true);
  }
  i32(at: number): number {
    this.check(at, 4);
    return this.#view.getInt32(at, true);
  }
  u32(at: number): number {
    this.check(at, 4);
    return this.#view.getUint32(at, true);
  }
  /** A number of 64 bits that counts something: from 0, and few enough to count. */
  count(at: number): number {
    this.check(at, 8);
    const x = Number(this.#view.getBigInt64(at, true));
    return x >= 0 && Number.isSafeInteger(x)
      ? x
      : this.#bad(`its metadata has ${x} where a count should be.`);
  }
  i64(at: number): bigint {
    this.check(at, 8);
    return this.#view.getBigInt64(at, true);
  }

  /** Where a place leads to. */
  follow(at: number): number {
    return at + this.u32(at);
  }

  get root(): Table {
    return this.table(this.follow(0));
  }

  table(at: number): Table {
    if (--this.#left < 0) this.#bad(`its metadata has more than ${MOST_STEPS} parts.`);
    const fields = at - this.i32(at);
    const length = this.u16(fields);
    return {
      flat: this,
      field: (k) => {
        const slot = 4 + 2 * k;
        if (slot + 2 > length) return null;
        const offset = this.u16(fields + slot);
        return offset === 0 ? null : at + offset;
      },
    };
  }

  /** Places of the elements of a vector; `width` bytes each. */
  vector(at: number | null, width: number): number[] {
    if (at === null) return [];
    const base = this.follow(at);
    const n = this.u32(base);
    this.check(base + 4, n * width);
    this.#left -= n;
    if (this.#left < 0) this.#bad(`its metadata has more than ${MOST_STEPS} parts.`);
    return Array.from({ length: n }, (_, i) => base + 4 + i * width);
  }

  tables(at: number | null): Table[] {
    return this.vector(at, 4).map((place) => this.table(this.follow(place)));
  }

  text(at: number | null): string {
    if (at === null) return "";
    const base = this.follow(at);
    const n = this.u32(base);
    this.check(base + 4, n);
    return textOf(this.#bytes.subarray(base + 4, base + 4 + n), () =>
      this.#bad(`the text at byte ${base} of its metadata is no UTF-8.`),
    );
  }
}

/** Fields of a table by their number: where their value lies, null where it is left out. */
export interface Table {
  readonly flat: Flat;
  field(k: number): number | null;
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** What a field holds; null: it is left out. */
export type Part =
  | { readonly u8: number }
  | { readonly i16: number }
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly text: string }
  | { readonly table: readonly (Part | null)[] }
  /** A vector of texts or tables. */
  | { readonly list: readonly Part[] }
  /** A vector of structs that are whole numbers of 64 bits (or of what takes their place), so many each. */
  | { readonly structs: readonly (readonly number[])[] };

const widths: Readonly<Record<string, number>> = { u8: 1, i16: 2, i32: 4, i64: 8 };
const kindOf = (part: Part): string => Object.keys(part)[0];
const padded = (n: number, to: number): number => Math.ceil(n / to) * to;

/** The bytes of a table and all that it leads to, a multiple of 8. */
export function flatBytes(root: Part): Uint8Array {
  let out = new Uint8Array(1024);
  let view = new DataView(out.buffer);
  let end = 4;
  const take = (bytes: number): number => {
    const at = end;
    end += bytes;
    if (end > out.length) {
      const more = new Uint8Array(2 * end);
      more.set(out);
      out = more;
      view = new DataView(out.buffer);
    }
    return at;
  };
  const number = (at: number, kind: string, x: number) => {
    if (kind === "u8") view.setUint8(at, x);
    else if (kind === "i16") view.setInt16(at, x, true);
    else if (kind === "i32") view.setInt32(at, x, true);
    else view.setBigInt64(at, BigInt(x), true);
  };
  /** Where the part lies, which comes after everything that was written. */
  const put = (part: Part): number => {
    if ("text" in part) {
      const bytes = new TextEncoder().encode(part.text);
      end = padded(end, 4);
      const at = take(padded(5 + bytes.length, 4));
      view.setUint32(at, bytes.length, true);
      out.set(bytes, at + 4);
      return at;
    }
    if ("list" in part) {
      end = padded(end, 4);
      const at = take(4 + 4 * part.list.length);
      view.setUint32(at, part.list.length, true);
      for (const [i, one] of part.list.entries()) link(at + 4 + 4 * i, one);
      return at;
    }
    if ("structs" in part) {
      end = padded(end + 4, 8) - 4;
      const width = 8 * (part.structs[0]?.length ?? 0);
      const at = take(4 + width * part.structs.length);
      view.setUint32(at, part.structs.length, true);
      for (const [i, x] of part.structs.flat().entries()) number(at + 4 + 8 * i, "i64", x);
      return at;
    }
    if ("table" in part) return putTable(part.table);
    throw new TypeError(`${kindOf(part)} stands in no place of its own`);
  };
  const link = (slot: number, part: Part) => {
    const at = put(part);
    view.setUint32(slot, at - slot, true);
  };
  const putTable = (fields: readonly (Part | null)[]): number => {
    end = padded(end, 2);
    const slots = take(4 + 2 * fields.length);
    end = padded(end, 8);
    const at = end;
    let size = 4;
    const places = fields.map((part) => {
      if (part === null) return 0;
      const width = widths[kindOf(part)] ?? 4;
      size = padded(size, width) + width;
      return size - width;
    });
    take(size);
    view.setInt32(at, at - slots, true);
    view.setUint16(slots, 4 + 2 * fields.length, true);
    view.setUint16(slots + 2, size, true);
    fields.forEach((part, k) => {
      if (part === null) return;
      view.setUint16(slots + 4 + 2 * k, places[k], true);
      const kind = kindOf(part);
      if (kind in widths) number(at + places[k], kind, (part as unknown as Record<string, number>)[kind]);
      else link(at + places[k], part);
    });
    return at;
  };
  const first = put(root);
  view.setUint32(0, first, true);
  return out.subarray(0, padded(take(0), 8)).slice();
}
