/** PNG: what is written is read again, by us and by fast-png where it is installed; pictures that lie are refused. */
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { memory, random, scope, TensorError, zeros } from "../../src/index.ts";
import { crc32 } from "../../src/io/crc32.ts";
import { png, save } from "../../src/io.ts";
import { load } from "../interop/packages.ts";
import { bytesOf, factOf, manifest } from "./fixtures.ts";

async function refusal(promise: Promise<unknown>): Promise<string> {
  const before = memory().tensors;
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    expect(memory().tensors).toBe(before);
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

const shapes = [
  [1, 1],
  [3, 4],
  [5, 7, 1],
  [5, 7, 2],
  [5, 7, 3],
  [9, 2, 4],
  [60, 80, 3],
];
const picture = (dtype: "u8" | "u16", shape: readonly number[]) =>
  scope(() =>
    random
      .generator(3)
      .integers(0, dtype === "u8" ? 256 : 65536, shape)
      .to(dtype),
  );

describe("png", () => {
  it("reads what it writes", async () => {
    for (const dtype of ["u8", "u16"] as const) {
      for (const shape of shapes) {
        const t = picture(dtype, shape);
        const back = await png.load(await png.encode(t));
        const want = shape[2] === 1 ? t.reshape(shape[0], shape[1]) : t.slice("...");
        expect(factOf(back)).toEqual(factOf(want));
        for (const x of [t, back, want]) x.dispose();
      }
    }
  });

  it("packs what is smooth", async () => {
    const t = scope(() => zeros([300, 400], { dtype: "u8" }).fill(7));
    expect((await png.encode(t)).length).toBeLessThan(1000);
    t.dispose();
  });

  it("gives a part, and says what it has", async () => {
    const bytes = bytesOf("rgb8.png");
    const file = await png.open(bytes);
    expect(file.meta).toEqual({ bits: 8, colour: "RGB", interlaced: false });
    expect(file.entries[0]).toMatchObject({ type: "RGB 8", shape: [7, 5, 3], whole: true });
    const part = await png.load(bytes, { slice: ["2:4", ":", 0] });
    expect(part.shape).toEqual([2, 5]);
    part.dispose();
  });

  it("refuses what is no picture", async () => {
    const [f, v, e] = [zeros([2, 2]), zeros([4], { dtype: "u8" }), zeros([0, 4], { dtype: "u8" })];
    expect(await refusal(png.encode(f))).toMatch(/PNG has no f32/);
    expect(await refusal(png.encode(v))).toMatch(/shape \[4\] is no picture/);
    expect(await refusal(png.encode(e))).toMatch(/shape \[0, 4\] is no picture/);
    expect(await refusal(save("x.png", { v } as never))).toMatch(/png holds one tensor/);
    for (const t of [f, v, e]) t.dispose();
  });
});

const fast = await load("fast-png");
describe.skipIf(fast === null)("fast-png", () => {
  it("reads what we write", async () => {
    for (const dtype of ["u8", "u16"] as const) {
      for (const shape of shapes) {
        const t = picture(dtype, shape);
        const { data, width, height, depth } = fast.decode(await png.encode(t));
        expect([height, width, depth]).toEqual([shape[0], shape[1], dtype === "u8" ? 8 : 16]);
        expect([...data]).toEqual([...t.toTypedArray()]);
        t.dispose();
      }
    }
  });
  it("writes what we read", async () => {
    const data = Uint16Array.from({ length: 24 }, (_, i) => i * 1000);
    const t = await png.load(fast.encode({ width: 4, height: 2, data, depth: 16, channels: 3 }));
    expect([t.shape, [...t.toTypedArray()]]).toEqual([[2, 4, 3], [...data]]);
    t.dispose();
  });
});

const chunk = (name: string, data: Uint8Array) => {
  const body = Buffer.concat([Buffer.from(name), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
};
const made = (
  width: number,
  height: number,
  bits: number,
  colour: number,
  rows: Uint8Array,
  more: Uint8Array[] = [],
) => {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bits, colour, 0, 0, 0], 8);
  const signature = bytesOf("rgb8.png").slice(0, 8);
  return new Uint8Array(
    Buffer.concat([
      signature,
      chunk("IHDR", head),
      ...more,
      chunk("IDAT", deflateSync(rows)),
      chunk("IEND", new Uint8Array()),
    ]),
  );
};

describe("pictures that lie", () => {
  it.each<[string, () => Uint8Array, RegExp]>([
    ["nothing", () => new Uint8Array(), /does not begin as a PNG picture/],
    ["a cut header", () => bytesOf("rgb8.png").slice(0, 20), /its chunk "IHDR" takes 13 bytes, 0 are there/],
    ["no pixels", () => bytesOf("rgb8.png").slice(0, 60), /it ends at byte 60|takes \d+ bytes/],
    [
      "fewer rows than promised",
      () => made(2, 5, 8, 0, new Uint8Array(6)),
      /its pixels end before the last row/,
    ],
    [
      "more rows than promised",
      () => made(2, 1, 8, 0, new Uint8Array(6)),
      /its pixels go on after the last row/,
    ],
    ["a filter that is none", () => made(2, 1, 8, 0, Uint8Array.of(5, 0, 0)), /a row has filter 5/],
    ["a bomb", () => made(2 ** 30, 2 ** 10, 8, 0, new Uint8Array(3)), /packed ones cannot make so many/],
    ["no columns", () => made(0, 5, 8, 0, new Uint8Array(3)), /0 columns and 5 rows are no picture/],
    ["bits that are none", () => made(1, 1, 3, 0, new Uint8Array(2)), /no colour type 0 of 3 bits/],
    ["no palette", () => made(1, 1, 8, 3, new Uint8Array(2)), /its palette has 0 colours/],
    [
      "a colour beyond the palette",
      () => made(1, 1, 8, 3, Uint8Array.of(0, 9), [chunk("PLTE", new Uint8Array(6))]),
      /colour 9 of a palette of 2/,
    ],
    [
      "two palettes",
      () =>
        made(1, 1, 8, 3, Uint8Array.of(0, 0), [
          chunk("PLTE", new Uint8Array(3)),
          chunk("PLTE", new Uint8Array(3)),
        ]),
      /two chunks "PLTE"/,
    ],
    [
      "a changed byte",
      () => {
        const b = bytesOf("pillow.png");
        b[60] ^= 1;
        return b;
      },
      /the checksum of its chunk "IDAT" is wrong/,
    ],
    [
      "damaged packing",
      () => {
        const b = made(2, 2, 8, 0, new Uint8Array(6));
        const at = 8 + 25 + 8;
        b[at + 3] ^= 255;
        const end = b.length - 12 - 4;
        new DataView(b.buffer).setUint32(end, crc32(b.subarray(at - 4, end)));
        return b;
      },
      /deflated bytes are damaged|filter|rows?/,
    ],
  ])("%s", async (_, bytes, message) => {
    expect(await refusal(png.load(bytes()))).toMatch(message);
  });

  it("a picture of one colour is small, and still what it says", async () => {
    const rows = new Uint8Array(1001 * 1000);
    const t = await png.load(made(1000, 1000, 8, 0, rows));
    expect(t.shape).toEqual([1000, 1000]);
    t.dispose();
    expect(manifest["rgb8.png"].image?.shape).toEqual([7, 5, 3]);
  });
});
