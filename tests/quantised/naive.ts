/**
 * ggml's block types, decoded one element at a time, as plainly as it can be said: the oracle for compiled code. Every
 * product and sum rounds to f32.
 */
import { f16FromBits } from "../../src/dtype.ts";
import { gridOf } from "../../src/quantised/grids.ts";
import { blockTypes, type QuantisedDType } from "../../src/quantised/types.ts";

const f = Math.fround;
const mul = (a: number, b: number) => f(a * b);

/** One block of bytes, as its decoder sees it. */
interface Block {
  u8(at: number): number;
  i8(at: number): number;
  u16(at: number): number;
  u32(at: number): number;
  f16(at: number): number;
  f32(at: number): number;
}

function blockAt(bytes: Uint8Array, from: number): Block {
  const view = new DataView(bytes.buffer, bytes.byteOffset + from);
  return {
    u8: (at) => view.getUint8(at),
    i8: (at) => view.getInt8(at),
    u16: (at) => view.getUint16(at, true),
    u32: (at) => view.getUint32(at, true),
    f16: (at) => f16FromBits(view.getUint16(at, true)),
    f32: (at) => view.getFloat32(at, true),
  };
}

const levels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const fp4 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/** Low halves of 16 bytes, then high halves. */
const nibble = (b: Block, at: number, j: number) => (j < 16 ? b.u8(at + j) & 15 : b.u8(at + j - 16) >> 4);
const bit = (b: Block, at: number, j: number) => (b.u8(at + (j >> 3)) >> (j & 7)) & 1;

/** 2^(e - 128). */
const e8m0 = (e: number) => 2 ** (e - 128);
function e4m3(x: number): number {
  if (x === 0 || x === 127) return 0;
  const [e, m] = [(x >> 3) & 15, x & 7];
  return (e === 0 ? m * 2 ** -9 : (1 + m / 8) * 2 ** (e - 7)) / 2;
}

/** Element j of a K type with two bits in each of four places of 64 bytes. */
const two = (b: Block, at: number, j: number) =>
  (b.u8(at + 32 * (j >> 7) + (j & 31)) >> (2 * ((j >> 5) & 3))) & 3;

function sixBits(b: Block, at: number, j: number): [scale: number, min: number] {
  if (j < 4) return [b.u8(at + j) & 63, b.u8(at + j + 4) & 63];
  return [
    (b.u8(at + j + 4) & 15) | ((b.u8(at + j - 4) >> 6) << 4),
    (b.u8(at + j + 4) >> 4) | ((b.u8(at + j) >> 6) << 4),
  ];
}

/** Seven signs; the eighth makes their number even. */
function signOf(seven: number, j: number): number {
  let bits = seven;
  let ones = 0;
  for (let k = 0; k < 7; k++) ones += (seven >> k) & 1;
  bits |= (ones & 1) << 7;
  return (bits >> j) & 1 ? -1 : 1;
}

type Decoder = (b: Block, j: number) => number;

function k4(b: Block, j: number, q: number): number {
  const [sc, m] = sixBits(b, 4, j >> 5);
  return f(mul(mul(b.f16(0), sc), q) - mul(b.f16(2), m));
}

const halfScale = (d: number, s: number, by: number) => mul(mul(d, f(0.5 + s)), by);
const fourOf = (byte: number, isHigh: boolean) => (isHigh ? byte >> 4 : byte & 15);

const decoders: Record<QuantisedDType, Decoder> = {
  q4_0: (b, j) => mul(nibble(b, 2, j) - 8, b.f16(0)),
  q4_1: (b, j) => f(mul(nibble(b, 4, j), b.f16(0)) + b.f16(2)),
  q5_0: (b, j) => mul((nibble(b, 6, j) | (bit(b, 2, j) << 4)) - 16, b.f16(0)),
  q5_1: (b, j) => f(mul(nibble(b, 8, j) | (bit(b, 4, j) << 4), b.f16(0)) + b.f16(2)),
  q8_0: (b, j) => mul(b.i8(2 + j), b.f16(0)),
  q8_1: (b, j) => mul(b.i8(4 + j), b.f16(0)),
  q2_K: (b, j) => {
    const sc = b.u8(j >> 4);
    return f(mul(mul(b.f16(80), sc & 15), two(b, 16, j)) - mul(b.f16(82), sc >> 4));
  },
  q3_K: (b, j) => {
    const g = j >> 4;
    const four = g < 8 ? b.u8(96 + g) & 15 : b.u8(96 + g - 8) >> 4;
    const scale = (four | (((b.u8(104 + (g & 3)) >> (2 * (g >> 2))) & 3) << 4)) - 32;
    const isSet = (b.u8(j & 31) >> (j >> 5)) & 1;
    return mul(mul(b.f16(108), scale), two(b, 32, j) - (isSet ? 0 : 4));
  },
  q4_K: (b, j) => {
    const byte = b.u8(16 + 32 * (j >> 6) + (j & 31));
    return k4(b, j, fourOf(byte, (j & 32) !== 0));
  },
  q5_K: (b, j) => {
    const byte = b.u8(48 + 32 * (j >> 6) + (j & 31));
    const fifth = (b.u8(16 + (j & 31)) >> (j >> 5)) & 1;
    return k4(b, j, fourOf(byte, (j & 32) !== 0) + 16 * fifth);
  },
  q6_K: (b, j) => {
    const [half, part, l] = [j >> 7, (j >> 5) & 3, j & 31];
    const byte = b.u8(64 * half + 32 * (part & 1) + l);
    const top = (b.u8(128 + 32 * half + l) >> (2 * part)) & 3;
    const q = (fourOf(byte, part >= 2) | (top << 4)) - 32;
    return mul(mul(b.f16(208), b.i8(192 + (j >> 4))), q);
  },
  q8_K: (b, j) => mul(b.f32(0), b.i8(4 + j)),
  iq2_xxs: (b, j) => {
    const [ib, l] = [j >> 5, (j >> 3) & 3];
    const word = b.u32(2 + 8 * ib + 4);
    const scale = halfScale(b.f16(0), word >>> 28, 0.25);
    const value = gridOf("iq2_xxs")[8 * b.u8(2 + 8 * ib + l) + (j & 7)];
    return mul(mul(scale, value), signOf((word >>> (7 * l)) & 127, j & 7));
  },
  iq2_xs: (b, j) => {
    const word = b.u16(2 + 2 * (j >> 3));
    const scale = halfScale(b.f16(0), fourOf(b.u8(66 + (j >> 5)), (j & 16) !== 0), 0.25);
    return mul(mul(scale, gridOf("iq2_xs")[8 * (word & 511) + (j & 7)]), signOf(word >> 9, j & 7));
  },
  iq2_s: (b, j) => {
    const i = j >> 3;
    const row = b.u8(2 + i) | (((b.u8(66 + (i >> 2)) >> (2 * (i & 3))) & 3) << 8);
    const scale = halfScale(b.f16(0), fourOf(b.u8(74 + (j >> 5)), (j & 16) !== 0), 0.25);
    return mul(mul(scale, gridOf("iq2_s")[8 * row + (j & 7)]), bit(b, 34, j) ? -1 : 1);
  },
  iq3_xxs: (b, j) => {
    const word = b.u32(66 + 4 * (j >> 5));
    const scale = halfScale(b.f16(0), word >>> 28, 0.5);
    const value = gridOf("iq3_xxs")[4 * b.u8(2 + (j >> 2)) + (j & 3)];
    return mul(mul(scale, value), signOf((word >>> (7 * ((j >> 3) & 3))) & 127, j & 7));
  },
  iq3_s: (b, j) => {
    const i = j >> 2;
    const scale = mul(b.f16(0), 1 + 2 * fourOf(b.u8(106 + (j >> 6)), (j & 32) !== 0));
    const row = b.u8(2 + i) | (bit(b, 66, i) << 8);
    return mul(mul(scale, gridOf("iq3_s")[4 * row + (j & 3)]), bit(b, 74, j) ? -1 : 1);
  },
  iq1_s: (b, j) => {
    const [word, l] = [b.u16(34 + 2 * (j >> 5)), (j >> 3) & 3];
    const scale = mul(b.f16(0), 2 * ((word >> 12) & 7) + 1);
    const row = b.u8(2 + (j >> 3)) | (((word >> (3 * l)) & 7) << 8);
    return mul(scale, gridOf("iq1_s")[8 * row + (j & 7)] + (word & 0x8000 ? -0.125 : 0.125));
  },
  iq1_m: (b, j) => {
    const word = (k: number) => b.u16(48 + 2 * k);
    const bits = (word(0) >> 12) | ((word(1) >> 12) << 4) | ((word(2) >> 12) << 8) | ((word(3) >> 12) << 12);
    const [ib, i] = [j >> 5, j >> 3];
    const three = (word(ib >> 1) >> (6 * (ib & 1) + 3 * ((j >> 4) & 1))) & 7;
    const four = fourOf(b.u8(32 + (i >> 1)), (i & 1) === 1);
    const row = b.u8(i) | ((four & 7) << 8);
    const shifted = gridOf("iq1_s")[8 * row + (j & 7)] + (four & 8 ? -0.125 : 0.125);
    return mul(mul(f16FromBits(bits), 2 * three + 1), shifted);
  },
  iq4_nl: (b, j) => mul(b.f16(0), levels[nibble(b, 2, j)]),
  iq4_xs: (b, j) => {
    const ib = j >> 5;
    const four = (b.u8(4 + (ib >> 1)) >> (4 * (ib & 1))) & 15;
    const scale = (four | (((b.u16(2) >> (2 * ib)) & 3) << 4)) - 32;
    return mul(mul(b.f16(0), scale), levels[nibble(b, 8 + 16 * ib, j & 31)]);
  },
  tq1_0: (b, j) => {
    // 160 elements in 32 bytes, 80 in 16, 16 in 4.
    const [at, run, from] = j < 160 ? [0, 32, 0] : j < 240 ? [32, 16, 160] : [48, 4, 240];
    const i = j - from;
    const q = (b.u8(at + (i % run)) * 3 ** Math.floor(i / run)) & 255;
    return mul(((q * 3) >> 8) - 1, b.f16(52));
  },
  tq2_0: (b, j) => mul(two(b, 0, j) - 1, b.f16(64)),
  mxfp4: (b, j) => mul(fp4[nibble(b, 1, j)], e8m0(b.u8(0))),
  nvfp4: (b, j) => {
    const [s, i] = [j >> 4, j & 15];
    const byte = b.u8(4 + 8 * s + (i & 7));
    return mul(fp4[fourOf(byte, i >= 8)], e4m3(b.u8(s)));
  },
  q1_0: (b, j) => (bit(b, 2, j) ? b.f16(0) : -b.f16(0)),
  q2_0: (b, j) => mul(((b.u8(2 + (j >> 2)) >> (2 * (j & 3))) & 3) - 1, b.f16(0)),
};

/** All elements of whole blocks. */
export function decodeNaively(dtype: QuantisedDType, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const { block, bytes: size } = blockTypes[dtype];
  const out = new Float32Array((bytes.length / size) * block);
  for (let k = 0; k < bytes.length / size; k++) {
    const b = blockAt(bytes, k * size);
    for (let j = 0; j < block; j++) out[k * block + j] = decoders[dtype](b, j);
  }
  return out;
}
