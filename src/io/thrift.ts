/**
 * Thrift's compact protocol without a schema: structs whose fields are found by number. A list is held against the bytes
 * that are left before it is made, since each of its elements takes one at least.
 */

/** Whole numbers are numbers: those of 64 bits that are too large for one are no count of anything. */
export type Thrift = boolean | number | Uint8Array | readonly Thrift[] | Struct;
export type Struct = ReadonlyMap<number, Thrift>;

const MOST_DEPTH = 32;
const [STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID] = Array.from(
  { length: 14 },
  (_, i) => i,
);

/** The struct that begins at a place, and where it ends. */
export function readStruct(
  bytes: Uint8Array,
  from: number,
  bad: (fact: string) => never,
): { struct: Struct; end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = from;
  const need = (n: number) => {
    if (!(n >= 0 && at + n <= bytes.length))
      bad(`a description ends at byte ${bytes.length}, inside of a field.`);
  };
  const byte = (): number => {
    need(1);
    return bytes[at++];
  };
  const varint = (): number => {
    let [x, scale] = [0, 1];
    for (let i = 0; i < 10; i++, scale *= 128) {
      const b = byte();
      x += (b & 127) * scale;
      if (b < 128) return x;
    }
    return bad("a number in a description does not end.");
  };
  const signed = (): number => {
    const x = varint();
    return x % 2 === 0 ? x / 2 : -(x + 1) / 2;
  };
  const list = (depth: number): Thrift[] => {
    const head = byte();
    const n = head >> 4 === 15 ? varint() : head >> 4;
    need(n);
    const kind = head & 15;
    return Array.from({ length: n }, () =>
      kind === TRUE || kind === FALSE ? byte() === 1 : value(kind, depth),
    );
  };
  const value = (kind: number, depth: number): Thrift => {
    switch (kind) {
      case TRUE:
      case FALSE:
        return kind === TRUE;
      case BYTE:
        return (byte() << 24) >> 24;
      case I16:
      case I32:
      case I64:
        return signed();
      case DOUBLE:
        need(8);
        at += 8;
        return view.getFloat64(at - 8, true);
      case BINARY: {
        const n = varint();
        need(n);
        at += n;
        return bytes.subarray(at - n, at);
      }
      case LIST:
      case SET:
        return list(depth + 1);
      case MAP: {
        const n = varint();
        need(n);
        const kinds = n === 0 ? 0 : byte();
        for (let i = 0; i < n; i++) [kinds >> 4, kinds & 15].map((k) => value(k, depth + 1));
        return [];
      }
      case STRUCT:
        return struct(depth + 1);
      case UUID:
        need(16);
        at += 16;
        return bytes.subarray(at - 16, at);
      default:
        return bad(`a description has a field of kind ${kind}.`);
    }
  };
  const struct = (depth: number): Struct => {
    if (depth > MOST_DEPTH) bad(`a description is nested more than ${MOST_DEPTH} deep.`);
    const fields = new Map<number, Thrift>();
    for (let id = 0; ; ) {
      const head = byte();
      const kind = head & 15;
      if (kind === STOP) return fields;
      id = head >> 4 === 0 ? signed() : id + (head >> 4);
      fields.set(id, value(kind, depth));
    }
  };
  return { struct: struct(0), end: at };
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** Field numbers with what they hold: numbers say how wide they are. */
export type Field =
  | { readonly i8: number }
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly flag: boolean }
  | { readonly bytes: Uint8Array }
  | { readonly struct: readonly (readonly [number, Field])[] }
  | { readonly list: readonly Field[] };

const kinds: Readonly<Record<string, number>> = {
  i8: BYTE,
  i32: I32,
  i64: I64,
  flag: TRUE,
  bytes: BINARY,
  struct: STRUCT,
  list: LIST,
};
const kindOf = (field: Field): string => Object.keys(field)[0];

/** The bytes of a struct; its fields come with rising numbers. */
export function structBytes(fields: readonly (readonly [number, Field])[]): Uint8Array {
  const out: number[] = [];
  const varint = (x: number) => {
    let rest = x;
    for (; rest >= 128; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
    out.push(rest);
  };
  const signed = (x: number) => varint(x < 0 ? -2 * x - 1 : 2 * x);
  const put = (field: Field) => {
    if ("i8" in field) out.push(field.i8 & 255);
    else if ("i32" in field) signed(field.i32);
    else if ("i64" in field) signed(field.i64);
    else if ("bytes" in field) {
      varint(field.bytes.length);
      for (const b of field.bytes) out.push(b);
    } else if ("list" in field) {
      const n = field.list.length;
      const kind = n === 0 ? STRUCT : kinds[kindOf(field.list[0])];
      out.push((Math.min(n, 15) << 4) | kind);
      if (n >= 15) varint(n);
      for (const one of field.list) put(one);
    } else if ("struct" in field) putStruct(field.struct);
  };
  const putStruct = (all: readonly (readonly [number, Field])[]) => {
    let before = 0;
    for (const [id, field] of all) {
      const kind = "flag" in field && !field.flag ? FALSE : kinds[kindOf(field)];
      out.push(((id - before) << 4) | kind);
      before = id;
      if (!("flag" in field)) put(field);
    }
    out.push(STOP);
  };
  putStruct(fields);
  return Uint8Array.from(out);
}
