/**
 * Files that lie, sources that misbehave, servers that send on: an error that names the file, the entry and the fact, and
 * nothing taken, left open or left behind.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { arange, memory, TensorError, zeros } from "../../src/index.ts";
import {
  arrow,
  csv,
  gguf,
  hdf5,
  npy,
  npz,
  onnx,
  open,
  parquet,
  png,
  pnm,
  safetensors,
  save,
  wav,
} from "../../src/io.ts";
import { bytesOf, pathOf } from "./fixtures.ts";
import { type Handler, type Served, serveFiles } from "./server.ts";

const root = mkdtempSync(join(tmpdir(), "strided-hostile-"));
afterAll(() => rmSync(root, { recursive: true }));
let before = 0;
beforeEach(() => {
  zeros([1]).dispose();
  before = memory().tensors;
});
afterEach(() => expect(memory().tensors).toBe(before));

const text = (s: string) => new TextEncoder().encode(s);
function joined(...parts: (Uint8Array | string | number[])[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((p) => [...(typeof p === "string" ? text(p) : p)]));
}
/** An npy file of 0, 1, 2 and so on. */
async function counting(n: number): Promise<Uint8Array<ArrayBuffer>> {
  const t = arange(n);
  const bytes = await npy.encode(t);
  t.dispose();
  return bytes;
}
const u16 = (x: number) => [x & 255, x >> 8];
const u32 = (x: number) => [...new Uint8Array(new Uint32Array([x]).buffer)];
const u64 = (x: number | bigint) => [...new Uint8Array(new BigUint64Array([BigInt(x)]).buffer)];

/** The message of what a promise rejects with, which must be ours. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

/* npy -------------------------------------------------------------------------------------------------- */

const npyOf = (dict: string, data: number[] = [], version = 1) =>
  joined([0x93], "NUMPY", [version, 0], version === 1 ? u16(dict.length) : u32(dict.length), dict, data);

describe("npy", () => {
  it.each<[string, Uint8Array, RegExp]>([
    ["nothing", new Uint8Array(), /the bytes: it does not begin with the magic of npy/],
    ["a cut magic", text("\x93NUM"), /magic/],
    ["a cut header", joined([0x93], "NUMPY", [1, 0], u16(500)), /ends inside of its header/],
    ["a header without its length", joined([0x93], "NUMPY", [2, 0], [1, 0]), /ends inside of its header/],
    ["version 9", npyOf("{}", [], 9), /version 9\.0/],
    ["a header bomb", joined([0x93], "NUMPY", [2, 0], u32(0xffffffff)), /header has 4294967307 bytes/],
    ["a dictionary of nothing", npyOf("{}"), /descr, fortran_order or shape is missing/],
    ["no dictionary", npyOf("[]"), /expected a dictionary/],
    ["a key twice", npyOf("{'descr': '<f4', 'descr': '<f8'}"), /not twice/],
    ["a key too many", npyOf("{'descr': '<f4', 'extra': 1}"), /"extra" should not be there/],
    ["code", npyOf("{'descr': __import__('os')}"), /expected a dtype/],
    ["a size below 0", npyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), /expected a size/],
    [
      "a size that is no number",
      npyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (NaN,)}"),
      /expected a size/,
    ],
    [
      "too many elements to count",
      npyOf("{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 4000000000)}"),
      /too large to count/,
    ],
    [
      "a size over 2^53",
      npyOf("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999,)}"),
      /is not a size/,
    ],
    [
      "more elements than bytes",
      npyOf("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000,)}", [1, 2]),
      /shape \[1000000\] of <f8 takes 8000000 bytes, 2 follow the header/,
    ],
    [
      "fewer elements than bytes",
      npyOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", [1, 2]),
      /There is more in the file than one array/,
    ],
    [
      "sixty-five axes",
      npyOf(`{'descr': '|u1', 'fortran_order': False, 'shape': (${"1, ".repeat(65)})}`, [1]),
      /it has 65 axes/,
    ],
    [
      "something after the dictionary",
      npyOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} or 1", [1]),
      /follows the dictionary/,
    ],
    ["an endless dtype", npyOf("{'descr': [('a', '<f4'"), /the dtype does not end/],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(npy.load(bytes))).toMatch(message);
  });

  it("says what to do with dtypes that are none here", async () => {
    expect(await refusal(npy.load(bytesOf("refused-structured.npy")))).toMatchInlineSnapshot(`
      "npy.read: the bytes, entry "array": its elements are records with fields, and a tensor has one dtype.
        Save one field in NumPy: np.save(file, a['x']), or all of them with np.savez(file, **{n: a[n] for n in a.dtype.names})."
    `);
    expect(await refusal(npy.load(bytesOf("refused-objects.npy")))).toMatchInlineSnapshot(`
      "npy.read: the bytes, entry "array": its elements are Python objects, which only Python can read (and run).
        Save numbers."
    `);
    expect(await refusal(npy.load(bytesOf("refused-longdouble.npy")))).toMatchInlineSnapshot(`
      "npy.read: the bytes, entry "array": its elements are floats of 16 bytes.
        Save them as f8: a.astype('f8')."
    `);
  });

  it("takes any byte but 0 as true", async () => {
    const t = await npy.load(npyOf("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", [0, 1, 255]));
    expect([...t.data]).toEqual([0, 1, 1]);
    t.dispose();
  });
});

/* safetensors ------------------------------------------------------------------------------------------- */

const safe = (header: unknown, data: number = 0) => {
  const json = typeof header === "string" ? header : JSON.stringify(header);
  return joined(u64(text(json).length), json, new Uint8Array(data));
};
const f32 = (shape: unknown, data_offsets: unknown) => ({ dtype: "F32", shape, data_offsets });

describe("safetensors", () => {
  it.each<[string, Uint8Array, RegExp]>([
    ["a header bomb", joined(u64(2n ** 63n), "{"), /header would have 9223372036854776000 bytes/],
    ["a header longer than the file", joined(u64(500), "{}"), /takes 500 bytes, 2 are there/],
    ["no JSON", safe("{,}"), /header is damaged: there is no string at character 1/],
    ["no object", safe("[1]"), /begins with no brace/],
    ["no text", joined(u64(2), [0x7b, 0xff]), /no UTF-8/],
    ["a name twice", safe(`{"a":${JSON.stringify(f32([1], [0, 4]))},"a":1}`), /key "a" is there twice/],
    ["an endless nesting", safe(`{"a":${"[".repeat(100_000)}`), /nested more than 16 deep/],
    ["offsets outside", safe({ a: f32([1], [0, 4]) }), /entry "a": its elements lie in bytes 0 … 4/],
    ["offsets backwards", safe({ a: f32([1], [4, 0]) }, 4), /lie in bytes 4 … 0/],
    ["offsets below 0", safe({ a: f32([1], [-4, 0]) }, 4), /no two numbers of bytes/],
    [
      "offsets that are no numbers",
      safe('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1e99]}}'),
      /no two numbers/,
    ],
    ["a shape that is none", safe({ a: f32([1.5], [0, 4]) }, 4), /no list of sizes/],
    ["a shape that does not fit", safe({ a: f32([2], [0, 4]) }, 4), /shape \[2\] of F32 takes 8 bytes/],
    ["a shape over 2^53", safe({ a: f32([2 ** 30, 2 ** 30], [0, 4]) }, 4), /too large to count/],
    ["elements that overlap", safe({ a: f32([1], [0, 4]), b: f32([1], [2, 6]) }, 6), /entry "b": .* overlap/],
    ["elements with a gap", safe({ a: f32([1], [0, 4]), b: f32([1], [8, 12]) }, 12), /leave a gap/],
    ["bytes of nobody", safe({ a: f32([1], [0, 4]) }, 9), /entries end at byte/],
    ["an unknown key", safe({ a: { ...f32([1], [0, 4]), more: 1 } }, 4), /unknown key "more"/],
    ["metadata that is none", safe({ __metadata__: { a: 1 } }), /"a", which is no text/],
    ["no dtype", safe({ a: { shape: [], data_offsets: [0, 0] } }), /has no dtype/],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(safetensors.load(bytes))).toMatch(message);
  });

  it("names that are Object's own are names", async () => {
    const all = await safetensors.load(
      safe('{"__proto__":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}', 1),
    );
    expect(Object.keys(all)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(all)).toBe(null);
    for (const t of Object.values(all)) t.dispose();
  });

  it("eight-bit floats are listed by name, and refused", async () => {
    const file = await safetensors.open(
      safe({ a: { dtype: "F8_E4M3", shape: [3], data_offsets: [0, 3] } }, 3),
    );
    expect(file.entries).toMatchObject([{ name: "a", type: "F8_E4M3", dtype: null, shape: [3], bytes: 3 }]);
    expect(await refusal(file.read("a"))).toMatchInlineSnapshot(`
      "safetensors.read: the bytes, entry "a": no dtype here holds "F8_E4M3".
        Convert it where it was made, or read its bytes with raw."
    `);
    const raw = await file.raw("a");
    expect(raw.toArray()).toEqual([0, 0, 0]);
    raw.dispose();
  });
});

/* zip -------------------------------------------------------------------------------------------------- */

interface Fake {
  name: string;
  data: Uint8Array;
  packed?: Uint8Array;
  method?: number;
  size?: number;
  packedSize?: number;
  crc?: number;
  place?: number;
  flags?: number;
  own?: string;
}

/** A zip file in which the directory says whatever it likes. */
function zipOf(members: readonly Fake[], end: { count?: number; from?: number; bytes?: number } = {}) {
  let out = new Uint8Array();
  let lines = new Uint8Array();
  for (const m of members) {
    const place = out.length;
    const packed = m.packed ?? m.data;
    const method = m.method ?? (m.packed === undefined ? 0 : 8);
    const common = [...u16(20), ...u16(m.flags ?? 0), ...u16(method), ...u32(0)];
    const sizes = [
      ...u32(m.crc ?? crcOf(m.data)),
      ...u32(m.packedSize ?? packed.length),
      ...u32(m.size ?? m.data.length),
    ];
    const own = m.own ?? m.name;
    out = joined(out, u32(0x04034b50), common, sizes, u16(text(own).length), u16(0), own, packed);
    lines = joined(
      lines,
      u32(0x02014b50),
      u16(20),
      common,
      sizes,
      u16(text(m.name).length),
      new Array(12).fill(0),
      u32(m.place ?? place),
      m.name,
    );
  }
  const count = u16(end.count ?? members.length);
  const tail = [u32(end.bytes ?? lines.length), u32(end.from ?? out.length), u16(0)].flat();
  return joined(out, lines, u32(0x06054b50), u32(0), count, count, tail);
}

/** A checksum that is not the one under test: bit by bit. */
function crcOf(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) {
    c ^= byte;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return ~c >>> 0;
}

const array = npyOf("{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", [1, 2, 3, 4]);
const x = { name: "x.npy", data: array };

describe("npz", () => {
  it("a plain one is fine", async () => {
    const packed = new Uint8Array(deflateRawSync(array));
    const all = await npz.load(zipOf([x, { ...x, name: "y.npy", packed }]));
    expect([all.x.toArray(), all.y.toArray()]).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
    for (const t of Object.values(all)) t.dispose();
  });

  const bomb = (declared: number) => {
    const dict = `{'descr': '|u1', 'fortran_order': False, 'shape': (${declared},)}`;
    const data = joined(npyOf(dict), new Uint8Array(100_000));
    return { name: "x.npy", data, packed: new Uint8Array(deflateRawSync(data)) };
  };
  it.each<[string, () => Uint8Array, RegExp]>([
    ["no directory", () => joined(zipOf([x]).subarray(0, 60)), /no directory at its end/],
    [
      "a name that leads out",
      () => zipOf([{ ...x, name: "../x.npy" }]),
      /entry "\.\.\/x\.npy": its name leads out/,
    ],
    ["an absolute name", () => zipOf([{ ...x, name: "/etc/x.npy" }]), /its name is absolute/],
    ["a name of Windows", () => zipOf([{ ...x, name: "C:\\x.npy" }]), /holds a backslash/],
    [
      "a name with a control character",
      () => zipOf([{ ...x, name: "a\u001b[2J.npy" }]),
      /\\u001b.*control character/,
    ],
    ["a name twice", () => zipOf([x, x]), /two of this name/],
    [
      "another name in its own header",
      () => zipOf([{ ...x, own: "y.npy" }]),
      /its own header calls it "y\.npy"/,
    ],
    [
      "a wrong checksum",
      () => zipOf([{ ...x, crc: 5 }]),
      /entry "x": its checksum is .*, it should be 00000005/,
    ],
    [
      "a wrong checksum, deflated",
      () => zipOf([{ ...x, packed: new Uint8Array(deflateRawSync(array)), crc: 5 }]),
      /it should be 00000005/,
    ],
    ["encryption", () => zipOf([{ ...x, flags: 1 }]), /it is encrypted/],
    ["bzip2", () => zipOf([{ ...x, method: 12 }]), /compressed with bzip2/],
    ["a place outside", () => zipOf([{ ...x, place: 1 << 30 }]), /do not fit before the directory/],
    [
      "members that overlap",
      () => zipOf([x, { ...x, name: "y.npy", place: 0 }]),
      /reach into what begins at 0/,
    ],
    ["a stored size that lies", () => zipOf([{ ...x, size: 1000 }]), /it is stored, and has/],
    ["more members than lines", () => zipOf([x], { count: 500 }), /too short for 500 members/],
    ["a directory outside", () => zipOf([x], { from: 1 << 30 }), /its directory lies in bytes/],
    ["several disks", () => zipOf([x], { count: 0xffff }), /ZIP64, and has no second end/],
    [
      "a ratio that deflate cannot have",
      () => zipOf([{ ...bomb(10), size: 2 ** 31 }]),
      /cannot unpack to 2147483648/,
    ],
    [
      "a bomb: more than declared",
      () => zipOf([{ ...bomb(1000), size: 1100 }]),
      /takes 1000 bytes|unpacks to more/,
    ],
    [
      "a header that lies about its member",
      () => zipOf([bomb(1_000_000)]),
      /shape \[1000000\] of \|u1 takes 1000000/,
    ],
    [
      "fewer bytes than declared",
      () => {
        const m = bomb(100_001);
        return zipOf([{ ...m, size: m.data.length + 1 }]);
      },
      /it unpacks to \d+ bytes, it should be/,
    ],
    [
      "damaged deflated bytes",
      () => zipOf([{ ...x, packed: joined([0xff, 0xff, 0xff], new Uint8Array(60)) }]),
      /entry "x.npy": its deflated bytes are damaged/,
    ],
    [
      "deflated bytes that are cut",
      () => zipOf([{ ...bomb(100_000), packed: bomb(100_000).packed.subarray(0, 120) }]),
      /damaged|it unpacks to/,
    ],
    ["no npy in it", () => zipOf([{ name: "x.npy", data: text("hello, world!") }]), /magic of npy/],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(npz.load(bytes()))).toMatch(message);
  });

  it.each([3, 700_000])("%i bytes after the deflated ones are refused, however they are cut", async (n) => {
    for (const size of [array.length, 400_000]) {
      const data = new Uint8Array(size);
      data.set(size === array.length ? array : await counting((size - 128) / 4));
      const packed = joined(new Uint8Array(deflateRawSync(data)), new Uint8Array(n));
      expect(await refusal(npz.load(zipOf([{ ...x, data, packed }])))).toMatch(
        /entry "x.npy": (\d+ bytes follow the end of its deflated bytes|its deflated bytes are damaged)/,
      );
    }
  });
});

/* Strangers --------------------------------------------------------------------------------------------- */

describe("files of other formats are named, with a way to go on", () => {
  it.each<[string, Uint8Array, RegExp]>([
    [
      "JPEG",
      joined([0xff, 0xd8, 0xff, 0xe0], "..JFIF"),
      /it is JPEG, which is not read here.\n.*sharp in Node/,
    ],
    ["WebP", joined("RIFF", u32(20), "WEBPVP8 "), /it is WebP/],
    ["gzip", joined([0x1f, 0x8b, 8, 0], new Uint8Array(20)), /it is gzip, .*\n.*Unpack it first/],
    ["a pickle", joined([0x80, 4, 0x95], new Uint8Array(20)), /a pickle of Python.*\n.*safetensors/],
    ["MATLAB", text("MATLAB 5.0 MAT-file, Platform"), /MATLAB 5.*\n.*-v7\.3/],
    [
      "PyTorch",
      zipOf([{ name: "m/data.pkl", data: new Uint8Array(3) }]),
      /a zip file without arrays: it has "m\/data\.pkl".\n.*save_file/,
    ],
    [
      "a spreadsheet",
      zipOf([{ name: "xl/a.xml", data: new Uint8Array(3) }]),
      /without arrays.*\n.*end in \.npy/,
    ],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(open(bytes))).toMatch(message);
  });
});

/* GGUF -------------------------------------------------------------------------------------------------- */

const str = (s: string) => joined(u64(text(s).length), s);
const ggufOf = (tensors: number | bigint, keys: number | bigint, ...rest: (Uint8Array | number[])[]) =>
  joined("GGUF", u32(3), u64(tensors), u64(keys), ...rest);
const info = (name: string, dims: number[], type: number, offset: number) =>
  joined(str(name), u32(dims.length), dims.flatMap(u64), u32(type), u64(offset));
const pad = (bytes: Uint8Array, data: number) =>
  joined(bytes, new Uint8Array((32 - (bytes.length % 32)) % 32), new Uint8Array(data));

describe("GGUF", () => {
  it.each<[string, Uint8Array, RegExp]>([
    ["too short", text("GGUF"), /4 bytes, too few/],
    ["version 1", joined("GGUF", u32(1), new Uint8Array(30)), /version 1 of GGUF/],
    ["more tensors than bytes", ggufOf(2n ** 62n, 0), /tensors do not fit/],
    ["more keys than bytes", ggufOf(0, 2n ** 63n), /keys do not fit/],
    [
      "a key that is too long",
      ggufOf(0, 1, u64(2n ** 40n), new Uint8Array(20)),
      /a name of 1099511627776 bytes/,
    ],
    ["an unknown value", ggufOf(0, 1, str("k"), u32(77), new Uint8Array(9)), /key "k": values of type 77/],
    [
      "a list longer than the file",
      ggufOf(0, 1, str("k"), u32(9), u32(4), u64(2n ** 60n)),
      /a list of 1152921504606847000 u32 values, 0 bytes are left/,
    ],
    ["a text longer than the file", ggufOf(0, 1, str("k"), u32(8), u64(1e6)), /a text of 1000000 bytes/],
    [
      "lists in lists in lists",
      ggufOf(0, 1, str("k"), u32(9), ...Array.from({ length: 9 }, () => [...u32(9), ...u64(1)])),
      /nested more than 4 deep/,
    ],
    [
      "a key twice",
      ggufOf(0, 2, ...[0, 1].flatMap(() => [str("k"), u32(4), u32(1)]), []),
      /key "k" is there twice/,
    ],
    ["an alignment of 0", ggufOf(0, 1, str("general.alignment"), u32(4), u32(0)), /no power of two/],
    ["an alignment of 7", ggufOf(0, 1, str("general.alignment"), u32(4), u32(7)), /no power of two/],
    [
      "elements outside",
      pad(ggufOf(1, 0, info("w", [8], 0, 0)), 16),
      /entry "w": shape \[8\] of F32 takes 32 bytes/,
    ],
    ["an odd offset", pad(ggufOf(1, 0, info("w", [1], 0, 5)), 64), /offset 5 is no multiple of 32/],
    [
      "elements that overlap",
      pad(ggufOf(2, 0, info("a", [9], 0, 0), info("b", [9], 0, 32)), 99),
      /entry "b": .* inside of "a"/,
    ],
    ["a name twice", pad(ggufOf(2, 0, info("a", [1], 0, 0), info("a", [1], 0, 32)), 64), /two of this name/],
    ["no whole blocks", pad(ggufOf(1, 0, info("w", [33], 2, 0)), 99), /rows of 33 are no whole blocks of 32/],
    ["a size over 2^53", pad(ggufOf(1, 0, info("w", [2 ** 40, 2 ** 40], 0, 0)), 8), /too large to count/],
    ["nine axes", pad(ggufOf(1, 0, info("w", new Array(9).fill(1), 0, 0)), 8), /it has 9 axes/],
    ["a cut list of tensors", ggufOf(1, 0, info("w", [1], 0, 0).subarray(0, 24)), /it ends at byte/],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(gguf.load(bytes))).toMatch(message);
  });

  it("block types are listed, refused by name, and their bytes are there", async () => {
    const file = await gguf.open(pathOf("plain.gguf"));
    expect(await refusal(file.read("q8"))).toMatch(
      /entry "q8": Q8_0 packs 32 elements in 34 bytes.*readGguf/s,
    );
    const other = await gguf.open(pad(ggufOf(1, 0, info("w", [4], 99, 0)), 40));
    expect(other.entries).toMatchObject([{ type: "type 99", dtype: null, bytes: 40 }]);
    expect(await refusal(other.read("w"))).toMatch(/ggml's number 99, is not known/);
  });
});

/* ONNX ------------------------------------------------------------------------------------------------- */

const varint = (x: number): number[] => (x < 128 ? [x] : [(x & 127) | 128, ...varint(Math.floor(x / 128))]);
const field = (n: number, payload: Uint8Array | number[] | string) => {
  const bytes = typeof payload === "string" ? text(payload) : new Uint8Array(payload);
  return joined(varint(n * 8 + 2), varint(bytes.length), bytes);
};
const number = (n: number, x: number) => joined(varint(n * 8), varint(x));
const modelOf = (...initializers: Uint8Array[]) =>
  joined(number(1, 10), field(7, joined(field(2, "g"), ...initializers.map((t) => field(5, t)))));
const initializer = (...parts: Uint8Array[]) => joined(field(8, "w"), number(1, 2), number(2, 1), ...parts);
const external = (location: string, more: Record<string, string> = {}) =>
  modelOf(
    initializer(
      number(14, 1),
      ...Object.entries({ location, ...more }).map(([k, v]) => field(13, joined(field(1, k), field(2, v)))),
    ),
  );

describe("ONNX", () => {
  it.each<[string, Uint8Array, RegExp]>([
    ["no graph", number(1, 10), /holds no graph/],
    ["two graphs", joined(number(1, 10), field(7, "\x12\x00"), field(7, "\x12\x00")), /it has two graphs/],
    ["a length outside", joined(number(1, 10), varint(7 * 8 + 2), varint(500)), /has 500 bytes, 0 are there/],
    ["an endless number", joined([8], new Uint8Array(12).fill(255)), /does not end/],
    ["a group", joined(number(1, 10), varint(7 * 8 + 3)), /wire type 3/],
    [
      "raw data of another size",
      modelOf(initializer(field(9, [1, 2, 3]))),
      /entry "w": shape \[2\] of FLOAT takes 8 bytes, 3/,
    ],
    [
      "a size below 0",
      modelOf(joined(field(8, "w"), [8], new Uint8Array(9).fill(255), [1], number(2, 1))),
      /size -1 of axis 0/,
    ],
    [
      "two of one name",
      modelOf(initializer(field(9, new Uint8Array(8))), initializer(field(9, new Uint8Array(8)))),
      /two of this name/,
    ],
    [
      "elements twice",
      modelOf(initializer(field(9, new Uint8Array(8)), field(4, new Uint8Array(8)))),
      /more than once/,
    ],
    [
      "too few typed elements",
      modelOf(initializer(field(4, new Uint8Array(4)))),
      /has 2 elements, 1 are there/,
    ],
    ["typed elements of another type", modelOf(initializer(field(7, [1, 2]))), /not in the field of FLOAT/],
    ["a typed field that is cut", modelOf(initializer(field(4, new Uint8Array(7)))), /field 4 has 7 bytes/],
    [
      "typed elements that cannot be there",
      modelOf(joined(field(8, "w"), number(1, 1e9), number(2, 2), field(5, [1]))),
      /shape \[1000000000\] does not fit in/,
    ],
    ["external data without a place", modelOf(initializer(number(14, 1))), /has no location/],
    ["external data elsewhere", external("../secret"), /"..\/secret", leads out of its folder/],
    ["external data anywhere", external("/etc/passwd"), /is absolute/],
    ["external data on the net", external("https://host/x"), /is a URL/],
    ["external data of nobody", external("w.bin"), /has no folder to look in/],
    [
      "external data with an odd offset",
      external("w.bin", { offset: "-5" }),
      /offset of its external data is "-5"/,
    ],
    [
      "external data of another length",
      external("w.bin", { length: "4" }),
      /takes 8 bytes, its external data has 4/,
    ],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(onnx.load(bytes))).toMatch(message);
  });

  it("external data outside of its file", async () => {
    const files = { "w.bin": new Uint8Array(16) };
    const model = external("w.bin", { offset: "9" });
    expect(await refusal(onnx.load(model, { files }))).toMatch(
      /bytes 9 … 17 are outside of the bytes, which has 16/,
    );
    const { w } = await onnx.load(external("w.bin", { offset: "8" }), { files });
    expect(w.toArray()).toEqual([0, 0]);
    w.dispose();
  });
});

/* WAV and PNM ------------------------------------------------------------------------------------------ */

const riff = (...chunks: (Uint8Array | number[])[]) => joined("RIFF", u32(0), "WAVE", ...chunks);
const chunk = (id: string, data: number[] | Uint8Array, length = data.length) =>
  joined(id, u32(length), data);
const fmt = (kind: number, channels: number, align: number, bits: number) =>
  chunk("fmt ", [...u16(kind), ...u16(channels), ...u32(8000), ...u32(8000), ...u16(align), ...u16(bits)]);

describe("WAV", () => {
  it.each<[string, Uint8Array, RegExp]>([
    ["no samples", riff(fmt(1, 1, 2, 16)), /it has no samples/],
    ["samples before their format", riff(chunk("data", [1, 2])), /come before their format/],
    [
      "a chunk longer than the file",
      riff(fmt(1, 1, 2, 16), chunk("data", [1, 2], 500)),
      /"data" takes 500 bytes, 2 are there/,
    ],
    ["a format that is cut", riff(chunk("fmt ", [1, 0])), /takes 2 bytes, 16 at least/],
    [
      "no channels",
      riff(fmt(1, 0, 0, 16), chunk("data", [1, 2])),
      /no whole frames of 0 bytes in 0 channels/,
    ],
    ["half a frame", riff(fmt(1, 2, 4, 16), chunk("data", [1, 2])), /2 bytes are no whole frames of 4/],
    [
      "frames of another size",
      riff(fmt(1, 1, 1, 16), chunk("data", [1, 2])),
      /frames take 1 bytes, 1 samples of 16 bits 2/,
    ],
    ["a codec", riff(fmt(85, 1, 1, 8), chunk("data", [1, 2])), /entry "audio": samples of format 85 8 bits/],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(open(bytes).then((file) => file.read()))).toMatch(message);
  });
});

describe("PNM", () => {
  it.each<[string, string, RegExp]>([
    ["no size", "P5\n", /there is no width/],
    ["a size that is none", "P5\n3 -2\n255\n", /there is no height/],
    ["a size over all", "P5\n9999999999 9999999999\n255\n", /too large to count/],
    ["a maxval over all", "P5\n1 1\n65536\n..", /its maxval is 65536/],
    ["too few pixels", "P5\n2 2\n255\n...", /2 × 2 of u8 takes 4 bytes, 3 follow/],
    ["too many pixels", "P5\n2 2\n255\n.....", /5 follow the header; one picture a file is read/],
    ["a byte over its maxval", "P5\n2 1\n9\n\t\n", /pixel 1 at byte 10 is 10; 9 is the most/],
    ["two bytes over their maxval", "P5\n1 1\n999\n\x04\x01", /pixel 0 at byte 11 is 1025; 999 is the most/],
    ["a comment without an end", "P2 2 1 9\n1 # 2", /pixel 1/],
    ["no blank", "P5 2 2 255", /no blank follows it/],
    ["a pixel that is none", "P2 2 1 255\n1 x  ", /pixel 1 at byte 13 is no number up to 255/],
    ["a pixel over its maxval", "P2 2 1 9\n1 10 ", /pixel 1 .* up to 9/],
    ["fewer pixels than said", "P2 2 1 9\n1  ", /pixel 1/],
    ["pixels that cannot be there", "P3 9000 9000 9\n1", /does not fit in 1 bytes/],
    ["PAM without an end", "P7\nWIDTH 5\n", /it does not end/],
    ["PAM without a depth", "P7\nWIDTH 5\nHEIGHT 1\nMAXVAL 1\nENDHDR\n", /DEPTH is ""/],
    ["PAM with a size twice", "P7\nWIDTH 5\nWIDTH 6\nENDHDR\n", /"WIDTH" is there twice/],
    ["PAM without channels", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 0\nMAXVAL 1\nENDHDR\n", /no channels/],
  ])("%s", async (_, source, message) => {
    expect(await refusal(open(text(source)).then((file) => file.read()))).toMatch(message);
  });
});

/* Folders ---------------------------------------------------------------------------------------------- */

describe("files that name files", () => {
  const inner = join(root, "inner");
  mkdirSync(join(inner, "deep"), { recursive: true });
  const shard = safe({ a: f32([1], [0, 4]) }, 4);
  writeFileSync(join(root, "outside.safetensors"), shard);
  writeFileSync(join(inner, "deep", "one.safetensors"), shard);
  symlinkSync(join(root, "outside.safetensors"), join(inner, "link.safetensors"));
  symlinkSync(root, join(inner, "up"));
  const index = (name: string) => {
    const path = join(inner, `i${readdirSync(inner).length}.safetensors.index.json`);
    writeFileSync(path, JSON.stringify({ weight_map: { a: name } }));
    return path;
  };

  it("find them beside and below", async () => {
    const file = await open(index("deep/one.safetensors"));
    expect(file.entries.map((e) => e.name)).toEqual(["a"]);
  });

  it.each<[string, RegExp]>([
    ["../outside.safetensors", /leads out of its folder/],
    ["deep/../../outside.safetensors", /leads out of its folder/],
    ["/etc/passwd", /is absolute/],
    ["file:///etc/passwd", /is a URL/],
    ["link.safetensors", /is or lies behind a symbolic link/],
    ["up/outside.safetensors", /is or lies behind a symbolic link/],
    ["missing.safetensors", /there is no such file/],
    ["deep", /it is a folder|no file that can be read/],
    ["", /is empty/],
    ["a\0b", /control character/],
  ])("do not get %s", async (name, message) => {
    expect(await refusal(open(index(name)))).toMatch(message);
  });

  it("may follow links where the caller says so", async () => {
    const path = index("link.safetensors");
    const file = await open(path, { followSymlinks: true });
    const t = await file.read("a");
    expect(t.toArray()).toEqual([0]);
    t.dispose();
    expect(await refusal(open(index("../outside.safetensors"), { followSymlinks: true }))).toMatch(
      /leads out/,
    );
  });

  it("what the index promises must be there", async () => {
    const path = index("deep/one.safetensors");
    writeFileSync(path, JSON.stringify({ weight_map: { b: "deep/one.safetensors" } }));
    expect(await refusal(open(path))).toMatch(/entry "b": the index .* says it is here, it is not/);
  });
});

/* Sources ---------------------------------------------------------------------------------------------- */

describe("sources", () => {
  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /cannot read from undefined/],
    ["a number", 5, /cannot read from the number 5/],
    ["an object of something else", {}, /cannot read from an object/],
    ["a revoked Proxy", revoked(), /cannot read from/],
    ["what says it is a URL", { [Symbol.toStringTag]: "URL" }, /cannot read from/],
    ["what says it is a Blob", { [Symbol.toStringTag]: "Blob", size: 9 }, /cannot read from/],
    ["what says it is memory", { [Symbol.toStringTag]: "ArrayBuffer", byteLength: 9 }, /cannot read from/],
    ["an FTP address", new URL("ftp://host/x"), /no reader for/],
    ["a file that is not there", "/none/x.npy", /"\/none\/x\.npy": there is no such file/],
    ["a folder", root, /nothing of Zarr lies at ""/],
    ["a path with a zero", "a\0b", /open: /],
    ["a size of NaN", { size: Number.NaN, read: () => new Uint8Array() }, /size is the number NaN/],
    ["a size below 0", { size: -1, read: () => new Uint8Array() }, /size is the number -1/],
    ["a size over 2^53", { size: 2 ** 60, read: () => new Uint8Array() }, /the source's size is/],
    [
      "one that gives too little",
      { size: 500, read: () => new Uint8Array(3) },
      /read gave 3 bytes of 64, from 0 on/,
    ],
    ["one that gives something else", { size: 500, read: () => "text" }, /read gave the string "text"/],
    [
      "an unknown format",
      text("hello, this is no tensor"),
      /no format that is known begins with 68 65 6c 6c 6f/,
    ],
    ["an empty file", new Uint8Array(), /it is empty/],
  ])("%s", async (_, source, message) => {
    expect(await refusal(open(source as never))).toMatch(message);
  });

  // Windows has neither.
  describe.skipIf(process.platform === "win32")("what has no places", () => {
    it("a device", async () => {
      expect(await refusal(open("/dev/zero"))).toMatch(/no file that can be read at any place/);
    });

    it("a pipe does not keep anybody waiting", async () => {
      const pipe = join(root, "pipe");
      execFileSync("mkfifo", [pipe]);
      expect(await refusal(open(pipe))).toMatch(/no file that can be read at any place/);
    });
  });

  it("memory that is transferred meanwhile is an error", async () => {
    const bytes = await counting(10);
    const file = await npy.open(bytes);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    expect(await refusal(file.read())).toMatch(/transferred/);
    expect(await refusal(npy.open(bytes.buffer))).toMatch(/magic of npy/);
  });

  it("a file that changes meanwhile is an error", async () => {
    const path = join(root, "changing.npy");
    writeFileSync(path, await counting(10));
    const file = await npy.open(path);
    writeFileSync(path, await counting(20));
    expect(await refusal(file.read())).toMatch(/changed since it was opened/);
  });

  it("a custom source cannot write to the heap afterwards", async () => {
    const bytes = await counting(10);
    const kept: Uint8Array[] = [];
    const t = await npy.load({
      size: bytes.length,
      read(from, length, into) {
        into!.set(bytes.subarray(from, from + length));
        kept.push(into!);
        return into!;
      },
    });
    for (const into of kept) into.fill(255);
    expect(t.toArray()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    t.dispose();
  });

  it("an error of a custom source is its own", async () => {
    const mine = new RangeError("mine");
    const read = () => Promise.reject(mine);
    await expect(open({ size: 10, read })).rejects.toBe(mine);
  });

  it("a closed archive reads no more; names that are not there are told", async () => {
    const file = await npz.open(pathOf("stored.npz"));
    expect(await refusal(file.read())).toMatch(/it has 3 entries\.\n {2}Name one of "x", "y", "folder\/z"/);
    expect(await refusal(file.read("w"))).toMatch(/there is no entry "w"/);
    expect(await refusal(file.read(5 as never))).toMatch(/there is no entry the number 5/);
    expect(await refusal(file.read("x", "0:1" as never))).toMatch(/the slice is the string "0:1"/);
    expect(await refusal(file.read("x", [9]))).toMatch(/index 9 is out of range/);
    expect(await refusal(file.read("x", [], { signals: 1 } as never))).toMatch(/Did you mean signal/);
    expect(await refusal(file.read("x", [], { signal: 1 } as never))).toMatch(/signal is the number 1/);
    const fake = { [Symbol.toStringTag]: "AbortSignal" };
    expect(await refusal(file.read("x", [], { signal: fake } as never))).toMatch(/signal is an object/);
    await file.close();
    expect(await refusal(file.read("x"))).toMatch(/it has been closed/);
    expect(() => Object.assign(file.entries[0], { shape: [1e9] })).toThrow();
  });

  const faces = Object.entries({
    npy,
    npz,
    safetensors,
    gguf,
    onnx,
    csv,
    wav,
    pnm,
    png,
    arrow,
    parquet,
    hdf5,
  });
  it.each(faces)("%s: odd arguments are refused", async (_, face) => {
    for (const fn of Object.values(face) as ((...args: unknown[]) => Promise<unknown>)[]) {
      for (const odd of [null, 5, Symbol("s"), () => {}, revoked(), [], { size: 5 }]) {
        await refusal(fn(odd));
        await refusal(fn(odd, odd, odd));
        await refusal(fn(pathOf("f4-little.npy"), odd, odd));
      }
      for (const odd of [undefined, ""]) await refusal(fn(odd));
    }
    if (!("save" in face)) return;
    // A good tensor, or good tensors, and a path that is none.
    const t = zeros([2, 2], { dtype: "u8" });
    const whole = zeros([2, 2], { dtype: "f32" });
    const fake = { [Symbol.toStringTag]: "URL", href: "file:///tmp/x" };
    for (const odd of [
      undefined,
      null,
      5,
      "",
      "a\0b",
      "https://host/x",
      new URL("ftp://host/x"),
      fake,
      revoked(),
    ]) {
      for (const what of [t, whole, { t: whole }]) await refusal(face.save(odd as never, what as never));
      await refusal(save(odd as never, t));
    }
    t.dispose();
    whole.dispose();
  });
});

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/* Stopping --------------------------------------------------------------------------------------------- */

describe("signals", () => {
  const big = new Uint8Array(64 << 20);

  it("end opening and reading with their reason, and nothing is left", async () => {
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    const { signal } = stop;
    for (const name of ["f4-little.npy", "deflated.npz", "all.safetensors", "plain.gguf", "all.onnx"]) {
      await expect(open(pathOf(name), { signal })).rejects.toThrow("enough");
      const file = await open(pathOf(name));
      const entry = file.entries.find((e) => e.dtype !== null)!;
      await expect(file.read(entry.name, undefined, { signal })).rejects.toThrow("enough");
    }
  });

  it("in the middle of a file, a slow source, and deflated bytes", async () => {
    const path = join(root, "big.npy");
    const header = npyOf(`{'descr': '|u1', 'fortran_order': False, 'shape': (${big.length},)}`);
    writeFileSync(path, header);
    writeFileSync(path, big, { flag: "a" });
    const file = await npy.open(path);
    const stop = new AbortController();
    const reading = file.read(undefined, undefined, { signal: stop.signal });
    setImmediate(() => stop.abort(new Error("enough")));
    await expect(reading).rejects.toThrow("enough");

    const slow = new AbortController();
    let calls = 0;
    const source = {
      size: header.length + big.length,
      async read(from: number, length: number) {
        if (++calls === 4) slow.abort(new Error("too slow"));
        return from < header.length ? header.subarray(from, from + length) : new Uint8Array(length);
      },
    };
    await expect(npy.load(source, { signal: slow.signal })).rejects.toThrow("too slow");

    const t = zeros([20_000_000], { dtype: "u8" });
    const packed = await npz.encode({ t }, { compress: true });
    t.dispose();
    const late = new AbortController();
    const archive = await npz.open(packed);
    const unpacking = archive.read("t", undefined, { signal: late.signal });
    setTimeout(() => late.abort(new Error("late")), 5);
    await expect(unpacking).rejects.toThrow("late");
  });
});

/* Servers ---------------------------------------------------------------------------------------------- */

describe("servers", () => {
  const sites: Served[] = [];
  const site = async (files: Record<string, Uint8Array>, handler?: Handler) => {
    const served = await serveFiles(files, handler);
    sites.push(served);
    return served;
  };
  afterEach(async () => {
    for (const served of sites.splice(0)) await served.close();
  });
  const file = async () => counting(100_000);

  it("are asked for the ranges that are needed", async () => {
    const { url, requests } = await site({ "x.npy": await file() });
    const archive = await open(`${url}/x.npy`);
    const t = await archive.read("array", ["50000:50003"]);
    expect(t.toArray()).toEqual([50000, 50001, 50002]);
    t.dispose();
    expect(requests).toEqual(["GET /x.npy bytes=0-65535", "GET /x.npy bytes=200128-200139"]);
  });

  it("without ranges send the whole file once", async () => {
    const body = await file();
    const { url, requests } = await site({}, (_, response) => {
      response.writeHead(200, { "content-length": body.length }).end(body);
      return true;
    });
    const t = await npy.load(`${url}/x.npy`);
    expect(t.size).toBe(100_000);
    t.dispose();
    expect(requests.length).toBe(1);
  });

  it("that send on are followed five times, with headers to their own origin only", async () => {
    const body = await file();
    const seen: (string | undefined)[] = [];
    const other = await site({ "x.npy": body }, (request) => {
      seen.push(request.headers.authorization);
      return false;
    });
    const first = await site({}, (request, response) => {
      seen.push(request.headers.authorization);
      const step = Number(/step=(\d+)/.exec(request.url!)?.[1] ?? 0);
      const next = step < 3 ? `/?step=${step + 1}` : `${other.url}/x.npy`;
      response.writeHead(302, { location: next }).end();
      return true;
    });
    const t = await npy.load(`${first.url}/`, { headers: { authorization: "Bearer secret" } });
    expect(t.size).toBe(100_000);
    t.dispose();
    expect(seen).toEqual([...new Array(4).fill("Bearer secret"), undefined, undefined]);
    const endless = await site({}, (_, response) => {
      response.writeHead(302, { location: "/again" }).end();
      return true;
    });
    expect(await refusal(npy.load(`${endless.url}/`))).toMatch(/sends on more than 5 times/);
    const sly = await site({}, (_, response) => {
      response.writeHead(302, { location: "file:///etc/passwd" }).end();
      return true;
    });
    expect(await refusal(npy.load(`${sly.url}/`))).toMatch(
      /sends on to "file:\/\/\/etc\/passwd", which is not as safe/,
    );
  });

  const answers: [string, Handler, RegExp][] = [
    ["404", (_, r) => Boolean(r.writeHead(404).end()), /answers with status 404/],
    ["403", (_, r) => Boolean(r.writeHead(403).end()), /status 403\.\n {2}Give \{ headers/],
    ["500", (_, r) => Boolean(r.writeHead(500).end("no")), /status 500/],
    [
      "another range",
      (_, r) => Boolean(r.writeHead(206, { "content-range": "bytes 5-9/100" }).end("hello")),
      /bytes 0 … 99 were asked for, "bytes 5-9\/100" came/,
    ],
    [
      "a range that is none",
      (_, r) => Boolean(r.writeHead(206, { "content-range": "bytes NaN-9/x" }).end("hello")),
      /does not say how long it is/,
    ],
    [
      "too little",
      (_, r) => Boolean(r.writeHead(206, { "content-range": "bytes 0-99/100" }).end("hello")),
      /5 bytes of 100 came/,
    ],
    [
      "too much",
      (_, r) => Boolean(r.writeHead(206, { "content-range": "bytes 0-4/5" }).end("hello, world")),
      /more bytes of 5 came/,
    ],
    [
      "a broken connection",
      (_, r) => {
        r.writeHead(206, { "content-range": "bytes 0-99/100", "content-length": 100 });
        r.write("hello");
        setTimeout(() => r.destroy(), 20);
        return true;
      },
      /the connection broke after|the request failed/,
    ],
    [
      "a file that is too long to take whole",
      (_, r) => {
        r.writeHead(200, { "content-length": 5e9 });
        r.write("hello");
        return true;
      },
      /knows no range requests, and the file has 5000000000 bytes/,
    ],
  ];
  it.each(answers)("that answer with %s", async (_, handler, message) => {
    const { url } = await site({}, handler);
    expect(await refusal(npy.load(`${url}/x.npy`))).toMatch(message);
  });

  it("that are not there", async () => {
    const { url, close } = await serveFiles({});
    await close();
    expect(await refusal(npy.load(`${url}/x.npy`))).toMatch(/the request failed: /);
    expect(await refusal(npy.load("http://"))).toMatch(/is no URL/);
  });

  it("whose file changes between two requests", async () => {
    const body = await file();
    let count = 0;
    const { url } = await site({ "x.npy": body }, (request, response) => {
      if (++count === 1) return false;
      const [, from, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range!)!;
      const range = `bytes ${from}-${last}/${body.length}`;
      response.writeHead(206, { "content-range": range, etag: '"two"' });
      response.end(body.subarray(Number(from), Number(last) + 1));
      return true;
    });
    expect(await refusal(npy.load(`${url}/x.npy`))).toMatch(/changed since it was opened/);
  });

  it("whose answers can be stopped", async () => {
    const stop = new AbortController();
    const { url } = await site({}, (_, response) => {
      response.writeHead(206, { "content-range": "bytes 0-65535/100000000" });
      response.write("hello");
      setTimeout(() => stop.abort(new Error("enough")), 20);
      return true;
    });
    await expect(npy.load(`${url}/x.npy`, { signal: stop.signal })).rejects.toThrow("enough");
  });
});
