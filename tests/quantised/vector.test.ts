/** A vector as whole numbers: what its portions come to, and when there are none. */
import { describe, expect, it } from "vitest";
import { portionOf, type VectorForm, vectorBytes, writeVector } from "../../src/quantised/vector.ts";
import { numbers } from "./draw.ts";

const forms: Record<string, VectorForm> = {
  "two blocks of 32": { most: 64, block: 32, isPaired: false, hasSums: false },
  "two blocks of 32, in pairs, with sums": { most: 64, block: 32, isPaired: true, hasSums: true },
  "a block of 256": { most: 256, block: 256, isPaired: true, hasSums: true },
};

/** x, written and read again; null: not written. */
function circle(
  x: Float32Array,
  form: VectorForm,
): { back: Float64Array; sums: number[]; portions: number } | null {
  const room = new ArrayBuffer(x.byteLength + vectorBytes(form, x.length) + 16);
  const copy = new Float32Array(room, 0, x.length);
  copy.set(x);
  const guard = new Uint8Array(room, room.byteLength - 16).fill(7);
  const made = writeVector(copy, form, x.byteLength);
  expect([...guard].every((byte) => byte === 7)).toBe(true);
  if (made === null) return null;
  const view = new DataView(room);
  const back = new Float64Array(x.length);
  const sums = new Array<number>(x.length / 16).fill(0);
  let [at, from] = [x.byteLength, 0];
  for (const [count, size] of [
    [made.mains, form.most],
    [made.tails, form.block],
  ]) {
    const { sums: sumsAt, high, low, advance, bytes } = portionOf(form, size);
    for (let p = 0; p < count; p++, at += bytes) {
      for (let i = 0; i < size; i++) {
        const place = form.isPaired ? ((i & 1) << 3) | ((i & 15) >> 1) : i & 15;
        const part = (k: number) => view.getInt16(at + 64 * (i >> 4) + 2 * (place + k), true);
        back[from + i] +=
          part(0) * view.getFloat32(at + high, true) + part(16) * view.getFloat32(at + low, true);
      }
      for (let s = 0; form.hasSums && s < size / 4; s++) {
        sums[(from >> 4) + (s >> 2)] += view.getFloat32(at + sumsAt + 4 * s, true);
      }
      from += form.block * view.getInt32(at + advance, true);
    }
  }
  expect(from).toBe(x.length);
  return { back, sums, portions: made.mains + made.tails };
}

describe("a vector as whole numbers", () => {
  const draw = numbers(11);
  const uniform = () => draw() * 2 ** -31 - 1;

  const kinds: Record<string, (i: number) => number> = {
    ordinary: uniform,
    "of many exponents": () => uniform() * 2 ** Math.round(uniform() * 14),
    "of two ranges": (i) => uniform() * (i % 7 === 0 ? 2 ** 20 : 2 ** -20),
    sparse: (i) => (i % 100 === 3 ? uniform() : i % 100 === 4 ? -0 : 0),
    "all powers of two": (i) => 2 ** -(i % 40),
  };

  for (const [name, form] of Object.entries(forms)) {
    const k = form.block === 32 ? 1312 : 1280;
    it(`comes to what it was, within k · 2^-25 of each element: ${name}`, () => {
      for (const [kind, make] of Object.entries(kinds)) {
        const x = Float32Array.from({ length: k }, (_, i) => make(i));
        const read = circle(x, form);
        if (read === null) throw new Error(`${kind} is not written`);
        x.forEach((value, i) => {
          expect(Math.abs(read.back[i] - value), `${kind}, ${i}`).toBeLessThanOrEqual(
            k * 2 ** -25 * Math.abs(value),
          );
        });
        for (let g = 0; form.hasSums && g < k / 16; g++) {
          const own = x.subarray(16 * g, 16 * g + 16);
          const [sum, most] = own.reduce(([s, a], v) => [s + v, a + Math.abs(v)], [0, 0]);
          expect(Math.abs(read.sums[g] - sum)).toBeLessThanOrEqual(2 ** -22 * most);
        }
      }
    });
  }

  it("takes no more portions than it must where elements are alike", () => {
    const form = forms["two blocks of 32"];
    expect(
      circle(
        Float32Array.from({ length: 4096 }, () => 1 + Math.abs(uniform())),
        form,
      )?.portions,
    ).toBe(64);
    // Seven blocks: three portions of two, and one of one.
    expect(circle(new Float32Array(224), form)?.portions).toBe(4);
  });

  it("is not written where an element is not finite, or too large, too small, or ranges are too wide", () => {
    const form = forms["two blocks of 32"];
    for (const bad of [NaN, Infinity, -Infinity, 3e38, 2 ** 100, 2 ** -90, 2 ** -149]) {
      for (const at of [0, 63, 70]) {
        const x = new Float32Array(96);
        x[at] = bad;
        expect(circle(x, form), `${bad}`).toBe(null);
      }
    }
    const wide = Float32Array.from({ length: 128 }, (_, i) => 2 ** (-8 * (i % 10)));
    expect(circle(wide, form)).toBe(null);
    // In few places they may be.
    const few = Float32Array.from({ length: 4096 }, (_, i) => (i < 64 ? 2 ** (-6 * (i % 10)) : 1));
    expect(circle(few, form)?.portions).toBeGreaterThan(64);
  });
});
