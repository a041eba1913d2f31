import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteBuffer, ByteReader } from "./encode.ts";

function written(write: (buffer: ByteBuffer) => void): Uint8Array {
  const buffer = new ByteBuffer(1); // so that growth is part of every test
  write(buffer);
  return buffer.toBytes();
}

/** LEB128 as its definition says it, over bigints: the shortest run of 7-bit groups that holds the value. */
function lebBySpec(value: bigint, signed: boolean): number[] {
  let count = 1;
  const holds = (n: number) =>
    (signed ? BigInt.asIntN(7 * n, value) : BigInt.asUintN(7 * n, value)) === value;
  while (!holds(count)) count++;
  return Array.from({ length: count }, (_, i) => {
    const group = Number(BigInt.asUintN(7, value >> BigInt(7 * i)));
    return i < count - 1 ? group | 0x80 : group;
  });
}

describe("LEB128", () => {
  it("writes the examples of the specification", () => {
    expect([...written((b) => b.u32(624485))]).toEqual([0xe5, 0x8e, 0x26]);
    expect([...written((b) => b.s32(-123456))]).toEqual([0xc0, 0xbb, 0x78]);
    expect([...written((b) => b.s32(64))]).toEqual([0xc0, 0x00]);
    expect([...written((b) => b.s32(-64))]).toEqual([0x40]);
  });

  const edges32 = fc.oneof(
    fc.integer(),
    fc.integer({ min: -300, max: 300 }),
    fc.constantFrom(-(2 ** 31), 2 ** 31 - 1),
  );
  const edges64 = fc.oneof(
    fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
    fc.bigInt({ min: -300n, max: 300n }),
  );

  it("is the shortest form, and reads back, signed and unsigned, 32 and 64 bits", () => {
    fc.assert(
      fc.property(edges32, edges64, (n, big) => {
        const [u32, u64] = [n >>> 0, BigInt.asUintN(64, big)];
        const bytes = written((b) => {
          b.s32(n);
          b.u32(u32);
          b.s64(big);
          b.u64(u64);
        });
        const spec = [
          lebBySpec(BigInt(n), true),
          lebBySpec(BigInt(u32), false),
          lebBySpec(big, true),
          lebBySpec(u64, false),
        ];
        expect([...bytes]).toEqual(spec.flat());
        const reader = new ByteReader(bytes);
        expect([reader.s32(), reader.u32(), reader.s64(), reader.u64()]).toEqual([n, u32, big, u64]);
        expect(reader.done).toBe(true);
      }),
    );
  });
});

describe("floats, names and frames", () => {
  it("floats are little-endian", () => {
    expect([...written((b) => b.f32(1.5))]).toEqual([0, 0, 0xc0, 0x3f]);
    expect([...written((b) => b.f64(-2))]).toEqual([0, 0, 0, 0, 0, 0, 0, 0xc0]);
    fc.assert(
      fc.property(fc.double(), (x) => {
        const reader = new ByteReader(
          written((b) => {
            b.f64(x);
            b.f32(x);
          }),
        );
        expect(reader.f64()).toBe(x);
        expect(reader.f32()).toBe(Math.fround(x));
      }),
    );
  });

  it("names are counted in bytes of UTF-8", () => {
    expect([...written((b) => b.name("é"))]).toEqual([2, 0xc3, 0xa9]);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(new ByteReader(written((b) => b.name(text))).name()).toBe(text);
      }),
    );
  });

  it.each([0, 1, 127, 128, 300, 16383, 16384])(
    "a frame of %i bytes, nested, begins with its size",
    (size) => {
      const content = Uint8Array.from({ length: size }, (_, i) => i * 7);
      const bytes = written((b) => {
        b.u8(9);
        b.section(5, () => {
          b.u8(1);
          b.sized(() => b.raw(content));
          b.u8(2);
        });
        b.u8(8);
      });
      const reader = new ByteReader(bytes);
      expect([reader.u8(), reader.u8()]).toEqual([9, 5]);
      const end = reader.u32() + reader.at;
      expect(reader.u8()).toBe(1);
      expect(reader.raw(reader.u32())).toEqual(content);
      expect(reader.u8()).toBe(2);
      expect(reader.at).toBe(end);
      expect(reader.u8()).toBe(8);
      expect(reader.done).toBe(true);
    },
  );

  it("reading past the end says where", () => {
    expect(() => new ByteReader(Uint8Array.of(0x80)).u32()).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: disassemble: the bytes end at 1, inside a module]`,
    );
    expect(() => new ByteReader(Uint8Array.of(1, 2)).f32()).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: disassemble: 4 bytes expected at 0, but the end is at 2]`,
    );
  });
});
