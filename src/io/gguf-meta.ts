/** Values of GGUF's metadata: thirteen types by number, read into plain JavaScript and written back. */
import { describe, fail } from "../errors.ts";
import { swapBytes } from "./archive.ts";
import type { Cursor } from "./cursor.ts";
import { quoted } from "./names.ts";

type Numbers =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | BigUint64Array
  | BigInt64Array
  | Float64Array;

/**
 * A value of the metadata. 64-bit integers are numbers where a number holds them, else bigints. Lists of numbers are typed
 * arrays, lists of booleans bytes of 0 and 1.
 */
export type MetaValue = string | number | bigint | boolean | Numbers | readonly MetaValue[];

interface Kind {
  readonly bytes: number;
  readonly Array: { new (buffer: ArrayBuffer): Numbers; readonly name: string };
  readonly read: (view: DataView, p: number, little: boolean) => number | bigint;
  readonly write: (view: DataView, value: never) => void;
  readonly fits: (x: number | bigint) => boolean;
}

const within = (low: number, high: number) => (x: number | bigint) =>
  typeof x === "number" && Number.isInteger(x) && x >= low && x <= high;
const big = (low: bigint, high: bigint) => (x: number | bigint) =>
  (typeof x === "bigint" || Number.isSafeInteger(x)) && BigInt(x) >= low && BigInt(x) <= high;
const any = (x: number | bigint) => typeof x === "number";

/** Those that are numbers; bool is one byte more, string and array have a length. */
const kinds: Readonly<Record<string, Kind>> = {
  u8: {
    bytes: 1,
    Array: Uint8Array,
    read: (v, p) => v.getUint8(p),
    write: (v, x) => v.setUint8(0, x),
    fits: within(0, 255),
  },
  i8: {
    bytes: 1,
    Array: Int8Array,
    read: (v, p) => v.getInt8(p),
    write: (v, x) => v.setInt8(0, x),
    fits: within(-128, 127),
  },
  u16: {
    bytes: 2,
    Array: Uint16Array,
    read: (v, p, le) => v.getUint16(p, le),
    write: (v, x) => v.setUint16(0, x, true),
    fits: within(0, 65535),
  },
  i16: {
    bytes: 2,
    Array: Int16Array,
    read: (v, p, le) => v.getInt16(p, le),
    write: (v, x) => v.setInt16(0, x, true),
    fits: within(-32768, 32767),
  },
  u32: {
    bytes: 4,
    Array: Uint32Array,
    read: (v, p, le) => v.getUint32(p, le),
    write: (v, x) => v.setUint32(0, x, true),
    fits: within(0, 2 ** 32 - 1),
  },
  i32: {
    bytes: 4,
    Array: Int32Array,
    read: (v, p, le) => v.getInt32(p, le),
    write: (v, x) => v.setInt32(0, x, true),
    fits: within(-(2 ** 31), 2 ** 31 - 1),
  },
  f32: {
    bytes: 4,
    Array: Float32Array,
    read: (v, p, le) => v.getFloat32(p, le),
    write: (v, x) => v.setFloat32(0, x, true),
    fits: any,
  },
  u64: {
    bytes: 8,
    Array: BigUint64Array,
    read: (v, p, le) => v.getBigUint64(p, le),
    write: (v, x) => v.setBigUint64(0, BigInt(x), true),
    fits: big(0n, 2n ** 64n - 1n),
  },
  i64: {
    bytes: 8,
    Array: BigInt64Array,
    read: (v, p, le) => v.getBigInt64(p, le),
    write: (v, x) => v.setBigInt64(0, BigInt(x), true),
    fits: big(-(2n ** 63n), 2n ** 63n - 1n),
  },
  f64: {
    bytes: 8,
    Array: Float64Array,
    read: (v, p, le) => v.getFloat64(p, le),
    write: (v, x) => v.setFloat64(0, x, true),
    fits: any,
  },
};

/** By number. */
const names = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"];
const ARRAY = names.indexOf("array");
/** Lists in lists, and how many of those: no model has them, and each costs more here than in the file. */
const MOST_DEPTH = 4;
const MOST_LISTS = 4096;

/* Reading ---------------------------------------------------------------------------------------------- */

export async function readValue(
  c: Cursor,
  little: boolean,
  bad: (fact: string) => never,
): Promise<{ value: MetaValue; type: string }> {
  const budget = { lists: MOST_LISTS };
  await c.load(4);
  return valueAt(await typeAt(c, little, bad), 0);

  async function valueAt(type: string, depth: number): Promise<{ value: MetaValue; type: string }> {
    if (type === "array") return list(depth);
    if (type === "string") return { value: await text(), type };
    if (type === "bool") {
      const [byte] = await c.slice(1);
      return byte > 1 ? bad(`a boolean is ${byte}.`) : { value: byte === 1, type };
    }
    const kind = kinds[type];
    if (!c.has(kind.bytes)) await c.load(kind.bytes);
    const { view, p } = c.take(kind.bytes);
    const x = kind.read(view, p, little);
    return { value: typeof x === "bigint" && Number.isSafeInteger(Number(x)) ? Number(x) : x, type };
  }

  async function text(): Promise<string> {
    if (!c.has(8)) await c.load(8);
    const { view, p } = c.take(8);
    const length = Number(view.getBigUint64(p, little));
    if (length > c.left) bad(`a text of ${length} bytes, ${c.left} are left.`);
    return c.text(length);
  }

  async function list(depth: number): Promise<{ value: MetaValue; type: string }> {
    if (depth === MOST_DEPTH) bad(`lists are nested more than ${MOST_DEPTH} deep.`);
    if (depth > 0 && --budget.lists < 0) bad(`more than ${MOST_LISTS} lists are in a list.`);
    const of = await typeAt(c, little, bad);
    await c.load(8);
    const { view, p } = c.take(8);
    const count = Number(view.getBigUint64(p, little));
    const least = of === "string" ? 8 : of === "array" ? 12 : of === "bool" ? 1 : kinds[of].bytes;
    if (count * least > c.left) bad(`a list of ${count} ${of} values, ${c.left} bytes are left.`);
    if (of === "bool" || of in kinds) {
      const bytes = (await c.slice(count * least)).slice();
      if (!little && least > 1) swapBytes(bytes, least);
      if (of === "bool" && bytes.some((b) => b > 1)) bad("a boolean is neither 0 nor 1.");
      return { value: of === "bool" ? bytes : new kinds[of].Array(bytes.buffer), type: `${of}[]` };
    }
    const values: MetaValue[] = [];
    let inner = of;
    for (let i = 0; i < count; i++) {
      if (of === "string") values.push(await text());
      else {
        const one = await list(depth + 1);
        // "array": lists of several types, or none at all.
        inner = i === 0 || inner === one.type ? one.type : "array";
        values.push(one.value);
      }
    }
    return { value: values, type: `${inner}[]` };
  }
}

async function typeAt(c: Cursor, little: boolean, bad: (fact: string) => never): Promise<string> {
  await c.load(4);
  const { view, p } = c.take(4);
  const number = view.getUint32(p, little);
  return names[number] ?? bad(`values of type ${number} are not known.`);
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** The bytes of a key and its value, of the type given or the one that fits. */
export function encodeMeta(operation: string, key: string, value: unknown, asked: unknown): Uint8Array {
  const bad = (fact: string, remedy: string): never =>
    fail("value", operation, `meta ${quoted(key)} ${fact}`, remedy);
  const type = asked === undefined ? typeFor(value) : asked;
  const scalar = typeof type === "string" ? type.replace(/(\[\]){0,4}$/, "") : "";
  if (typeof type !== "string" || !names.includes(scalar) || type === "array") {
    return bad(
      asked === undefined ? `is ${describe(value)}.` : `has the type ${describe(asked)}.`,
      `Values are texts, numbers, booleans, or lists of one kind; types are ${[...Object.keys(kinds), "bool", "string"].join(" ")}, and those with [] after them.`,
    );
  }
  const misfit = () =>
    bad(`is ${describe(value)}, which is no ${type}.`, "Change it, or its type in metaTypes.");
  const kindOf = (of: string) => (of.endsWith("[]") ? ARRAY : names.indexOf(of));
  const one = (x: unknown): Uint8Array => {
    if (scalar === "array")
      return bad("holds lists of several types.", "Give each a key of its own, or all of them one type.");
    if (scalar === "string") return typeof x === "string" ? textBytes(x) : misfit();
    if (scalar === "bool") {
      const is = typeof x === "boolean" || x === 0 || x === 1;
      return is ? new Uint8Array([x ? 1 : 0]) : misfit();
    }
    const kind = kinds[scalar];
    if ((typeof x !== "number" && typeof x !== "bigint") || !kind.fits(x)) return misfit();
    const out = new Uint8Array(kind.bytes);
    kind.write(new DataView(out.buffer), x as never);
    return out;
  };
  const body = (x: unknown, of: string): Uint8Array => {
    if (!of.endsWith("[]")) return one(x);
    const values = listOf(x) ?? misfit();
    const inner = of.slice(0, -2);
    const each = Array.from(values as readonly unknown[], (v) => body(v, inner));
    return joined([u32(kindOf(inner)), u64(values.length), ...each]);
  };
  return joined([textBytes(key), u32(kindOf(type)), body(value, type)]);
}

function listOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? (value as unknown as readonly unknown[])
    : null;
}

/** The type that a value has by itself; null: none. */
function typeFor(value: unknown): string | null {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return value > 2n ** 63n - 1n ? "u64" : "i64";
  if (typeof value === "number") return numberType([value]);
  const list = listOf(value);
  if (list === null) return null;
  if (!Array.isArray(value)) {
    const name = Object.prototype.toString.call(value).slice(8, -1);
    const found = Object.entries(kinds).find(([, kind]) => kind.Array.name === name);
    return found === undefined ? null : `${found[0]}[]`;
  }
  const all = new Set(list.map((x) => typeof x));
  if (all.size === 0) return "i32[]";
  if (all.size > 1) return null;
  if (all.has("string")) return "string[]";
  if (all.has("boolean")) return "bool[]";
  if (all.has("bigint")) return "i64[]";
  return all.has("number") ? `${numberType(list as number[])}[]` : null;
}

const numberType = (list: readonly number[]): string =>
  ["u32", "i32", "i64"].find((name) => list.every(kinds[name].fits)) ?? "f32";

function textBytes(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return joined([u64(bytes.length), bytes]);
}

function u32(x: number): Uint8Array {
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, x, true);
  return out;
}

function u64(x: number): Uint8Array {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, BigInt(x), true);
  return out;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}
