/**
 * The header of the npy format, versions 1 to 3: a magic, a length, and a Python dictionary with the dtype, the order of
 * the axes and the shape. Shared by npy and npz.
 */
import { type DType, dtypes } from "../dtype.ts";
import { rowMajorStrides } from "../view/layout.ts";
import { checkFileShape } from "./archive.ts";
import { failFile, quoted } from "./names.ts";

/** What a header says, in our terms. */
export interface NpyHeader {
  /** Bytes before the elements. */
  readonly length: number;
  /** NumPy's own name of the dtype: "<f4". */
  readonly type: string;
  readonly dtype: DType | null;
  readonly swap: boolean;
  readonly shape: readonly number[];
  readonly byteStrides: readonly number[] | null;
  readonly fortran: boolean;
  /** Bytes of the elements; null where their size is not known. */
  readonly bytes: number | null;
  readonly refusal: readonly [fact: string, remedy: string] | null;
}

/** Bytes that say how long the header is. */
export const NPY_PREFIX = 12;
/** NumPy writes 128 bytes, and more only for structured dtypes. */
export const MOST_HEADER = 1 << 20;

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
export const isNpy = (head: Uint8Array): boolean => magic.every((byte, i) => head[i] === byte);

/** The length of the whole header, from its first 12 bytes. */
export function headerLength(
  operation: string,
  file: string,
  entry: string | null,
  head: Uint8Array,
): number {
  if (!isNpy(head)) failFile(operation, file, entry, "it does not begin with the magic of npy.");
  const [major, minor] = [head[6], head[7]];
  if (major < 1 || major > 3 || minor !== 0) {
    failFile(
      operation,
      file,
      entry,
      `it has version ${major}.${minor} of the npy format; 1.0 to 3.0 are known.`,
    );
  }
  if (head.length < (major === 1 ? 10 : 12))
    failFile(operation, file, entry, "it ends inside of its header.");
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const length = major === 1 ? 10 + view.getUint16(8, true) : 12 + view.getUint32(8, true);
  if (length > MOST_HEADER) {
    failFile(operation, file, entry, `its header has ${length} bytes; at most ${MOST_HEADER} are read.`);
  }
  return length;
}

/** The whole header, out of exactly its bytes. */
export function parseNpy(
  operation: string,
  file: string,
  entry: string | null,
  bytes: Uint8Array,
): NpyHeader {
  const major = bytes[6];
  const start = major === 1 ? 10 : 12;
  const bad = (fact: string): never => failFile(operation, file, entry, `its header is damaged: ${fact}`);
  const text = decode(bytes.subarray(start), major === 3 ? "utf-8" : "latin1", bad);
  const { descr, fortran, shape: sizes } = readDict(text, bad);
  const known = typeof descr === "string" ? typeOf(descr) : structured;
  const type = typeof descr === "string" ? descr : "structured";
  if (known.dtype === null) {
    checkFileShape(operation, file, entry, sizes, Math.max(1, known.bytes ?? 1));
    const count = sizes.reduce((a, b) => a * b, 1);
    return {
      length: bytes.length,
      type,
      dtype: null,
      swap: false,
      shape: sizes,
      byteStrides: null,
      fortran,
      bytes: known.bytes === null ? null : count * known.bytes,
      refusal: known.refusal,
    };
  }
  const itemBytes = dtypes[known.dtype].bytes;
  const shape = known.pairs ? [...sizes, 2] : sizes;
  const total = checkFileShape(operation, file, entry, shape, itemBytes);
  return {
    length: bytes.length,
    type,
    dtype: known.dtype,
    swap: known.swap,
    shape,
    byteStrides: stridesOf(sizes, itemBytes, fortran, known.pairs),
    fortran,
    bytes: total,
    refusal: null,
  };
}

/** Row-major, or with the first axis fastest; the parts of a complex number always lie together. */
function stridesOf(shape: readonly number[], itemBytes: number, fortran: boolean, pairs: boolean): number[] {
  const unit = pairs ? 2 * itemBytes : itemBytes;
  const own = fortran ? rowMajorStrides([...shape].reverse(), unit).reverse() : rowMajorStrides(shape, unit);
  return pairs ? [...own, itemBytes] : own;
}

function decode(bytes: Uint8Array, encoding: "utf-8" | "latin1", bad: (fact: string) => never): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return bad("it is no text.");
  }
}

/* NumPy's dtypes --------------------------------------------------------------------------------------- */

interface Known {
  readonly dtype: DType | null;
  readonly swap: boolean;
  readonly pairs: boolean;
  /** Of one element, where it has no dtype. */
  readonly bytes: number | null;
  readonly refusal: readonly [fact: string, remedy: string] | null;
}

const plain: Readonly<Record<string, DType>> = {
  b1: "bool",
  u1: "u8",
  i1: "i8",
  u2: "u16",
  i2: "i16",
  u4: "u32",
  i4: "i32",
  u8: "u64",
  i8: "i64",
  f2: "f16",
  f4: "f32",
  f8: "f64",
};
const complex: Readonly<Record<string, DType>> = { c8: "f32", c16: "f64" };

const none = (fact: string, remedy: string, bytes: number | null = null): Known => ({
  dtype: null,
  swap: false,
  pairs: false,
  bytes,
  refusal: [fact, remedy],
});
const structured = none(
  "its elements are records with fields, and a tensor has one dtype.",
  "Save one field in NumPy: np.save(file, a['x']), or all of them with np.savez(file, **{n: a[n] for n in a.dtype.names}).",
);

function typeOf(descr: string): Known {
  const parts = /^([<>|=]?)([a-zA-Z])(\d{0,9})(\[.*\])?$/.exec(descr);
  if (parts === null)
    return none(`its dtype ${quoted(descr)} is not known here.`, "Save it as another dtype.");
  const [, order, kind, size] = parts;
  const name = `${kind}${size}`;
  const pairs = Object.hasOwn(complex, name);
  if (parts[4] === undefined && (pairs || Object.hasOwn(plain, name))) {
    const dtype = pairs ? complex[name] : plain[name];
    return { dtype, swap: order === ">", pairs, bytes: null, refusal: null };
  }
  const bytes = size === "" || kind === "O" ? null : Number(size) * (kind === "U" ? 4 : 1);
  const reasons: Readonly<Record<string, readonly [string, string]>> = {
    O: ["its elements are Python objects, which only Python can read (and run).", "Save numbers."],
    S: ["its elements are strings of bytes.", "Save numbers, or read its bytes with raw."],
    U: ["its elements are strings.", "Save numbers, or read its bytes with raw."],
    V: [
      "its elements are raw bytes without a type.",
      "View them as a dtype in NumPy, or read them with raw.",
    ],
    M: ["its elements are dates.", "Save them as whole numbers: a.astype('i8')."],
    m: ["its elements are spans of time.", "Save them as whole numbers: a.astype('i8')."],
    f: [`its elements are floats of ${size} bytes.`, "Save them as f8: a.astype('f8')."],
    c: [`its elements are complex numbers of ${size} bytes.`, "Save them as c16: a.astype('c16')."],
  };
  const [fact, remedy] = Object.hasOwn(reasons, kind)
    ? reasons[kind]
    : [`its dtype ${quoted(descr)} is not known here.`, "Save it as another dtype."];
  return none(fact, remedy, bytes);
}

/* The dictionary --------------------------------------------------------------------------------------- */

interface Dict {
  /** null: a list, as structured dtypes have. */
  readonly descr: string | null;
  readonly fortran: boolean;
  readonly shape: readonly number[];
}

/** Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }` and nothing else of Python. */
function readDict(text: string, bad: (fact: string) => never): Dict {
  let at = 0;
  const blank = () => {
    while (text[at] === " " || text[at] === "\n" || text[at] === "\t") at++;
  };
  const take = (pattern: RegExp): string | null => {
    blank();
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return null;
    at = pattern.lastIndex;
    return found[1] ?? found[2] ?? found[0];
  };
  const expect = (pattern: RegExp, what: string): string =>
    take(pattern) ?? bad(`expected ${what} at ${quoted(text.slice(at, at + 20))}.`);
  const string = /'([^'\\\n]{0,4096})'|"([^"\\\n]{0,4096})"/y;

  let descr: string | null | undefined;
  let fortran: boolean | undefined;
  let shape: readonly number[] | undefined;
  expect(/\{/y, "a dictionary");
  while (take(/\}/y) === null) {
    const key = expect(string, "a key");
    expect(/:/y, "a colon");
    if (key === "descr" && descr === undefined) descr = take(string) ?? skipList();
    else if (key === "fortran_order" && fortran === undefined) {
      fortran = expect(/True|False/y, "True or False") === "True";
    } else if (key === "shape" && shape === undefined) shape = readTuple();
    else bad(`the key ${quoted(key)} should not be there, or not twice.`);
    if (take(/,/y) === null) {
      expect(/\}/y, "a comma");
      break;
    }
  }
  blank();
  if (at !== text.length) bad(`${quoted(text.slice(at, at + 20))} follows the dictionary.`);
  if (descr === undefined || fortran === undefined || shape === undefined) {
    return bad("descr, fortran_order or shape is missing.");
  }
  return { descr, fortran, shape };

  function readTuple(): readonly number[] {
    const sizes: number[] = [];
    expect(/\(/y, "a tuple");
    while (take(/\)/y) === null) {
      // Python 2 wrote 3L.
      sizes.push(Number.parseInt(expect(/\d{1,16}L?/y, "a size"), 10));
      if (sizes.length > 1000) bad("the shape does not end.");
      if (take(/,/y) === null) {
        expect(/\)/y, "a comma");
        if (sizes.length === 1) bad("a tuple of one has a comma.");
        break;
      }
    }
    return sizes;
  }

  /** A structured dtype: a list of tuples, strings and numbers, of which only the end matters. */
  function skipList(): null {
    blank();
    if (text[at] !== "[" && text[at] !== "(") bad(`expected a dtype at ${quoted(text.slice(at, at + 20))}.`);
    let depth = 0;
    for (;;) {
      blank();
      if (take(string) !== null) continue;
      const c = text[at++];
      if (c === undefined) bad("the dtype does not end.");
      if (c === "[" || c === "(" || c === "{") depth++;
      if (c === "]" || c === ")" || c === "}") depth--;
      if (depth === 0) return null;
    }
  }
}

/* Writing ---------------------------------------------------------------------------------------------- */

/** NumPy's name of a dtype; null where it has none. */
export function descrOf(dtype: DType): string | null {
  const found = Object.entries(plain).find(([, d]) => d === dtype);
  if (found === undefined) return null;
  return `${dtypes[dtype].bytes === 1 ? "|" : "<"}${found[0]}`;
}

/** A header for row-major (or Fortran-order) elements; its length is a multiple of 64. */
export function npyHeader(descr: string, shape: readonly number[], fortran: boolean): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const dict = `{'descr': '${descr}', 'fortran_order': ${fortran ? "True" : "False"}, 'shape': ${tuple}, }`;
  const version = dict.length + 11 > 65000 ? 2 : 1;
  const start = version === 1 ? 10 : 12;
  const length = Math.ceil((start + dict.length + 1) / 64) * 64;
  const out = new Uint8Array(length).fill(0x20);
  out.set(magic);
  out[6] = version;
  out[7] = 0;
  const view = new DataView(out.buffer);
  if (version === 1) view.setUint16(8, length - start, true);
  else view.setUint32(8, length - start, true);
  out.set(new TextEncoder().encode(dict), start);
  out[length - 1] = 0x0a;
  return out;
}
