import fc from "fast-check";
import { expect, test } from "vitest";
import { mayShareMemory, overlaps, sameElements, selfOverlaps } from "./overlap.ts";
import { slice } from "./slice.ts";
import { addresses, bytesOf, samples } from "./testing.ts";
import { broadcastTo, contiguousView, flip, slidingWindow, transpose, type View } from "./view.ts";

function shareByte(a: View, b: View): boolean {
  const bytes = bytesOf(a);
  return [...bytesOf(b)].some((byte) => bytes.has(byte));
}

/** Any strides at all, aligned or not: what asStrided can make. */
const wild: fc.Arbitrary<View> = fc
  .record({
    axes: fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -9, max: 9 })), {
      maxLength: 3,
    }),
    offset: fc.integer({ min: 0, max: 60 }),
    itemBytes: fc.constantFrom(1, 2, 4),
  })
  .map(({ axes, offset, itemBytes }) => ({
    shape: axes.map(([n]) => n),
    strides: axes.map(([, stride]) => stride),
    offset,
    itemBytes,
  }));

const anyView = fc.oneof(
  wild,
  samples.map(({ view }) => view),
);

test("overlaps is exact for small views, and mayShareMemory is never false when they share a byte", () => {
  let interleaved = 0;
  fc.assert(
    fc.property(anyView, anyView, (a, b) => {
      const truth = shareByte(a, b);
      expect(overlaps(a, b)).toBe(truth);
      if (truth) expect(mayShareMemory(a, b)).toBe(true);
      else if (mayShareMemory(a, b)) interleaved++;
    }),
    { numRuns: 2000 },
  );
  // Views that meet in range but not in any byte were among them: bounds alone would have failed.
  expect(interleaved).toBeGreaterThan(20);
});

test("selfOverlaps is exact for small views", () => {
  fc.assert(
    fc.property(anyView, (view) => {
      expect(selfOverlaps(view)).toBe(bytesOf(view).size < addresses(view).length * view.itemBytes);
    }),
    { numRuns: 2000 },
  );
});

test("even and odd elements of one array do not overlap, however many there are", () => {
  const base = contiguousView([2_000_000], 4);
  expect(mayShareMemory(slice(base, ["::2"]), slice(base, ["1::2"]))).toBe(true);
  expect(overlaps(slice(base, ["::2"]), slice(base, ["1::2"]))).toBe(false);
  expect(overlaps(slice(base, ["::2"]), slice(base, ["1::4"]))).toBe(false);
  expect(overlaps(slice(base, ["::2"]), slice(base, ["1::3"]))).toBe(true);
});

test("two blocks of columns do not overlap, adjacent rows do not, a shifted copy does", () => {
  const image = contiguousView([1000, 1000], 4);
  expect(overlaps(slice(image, [":", ":500"]), slice(image, [":", "500:"]))).toBe(false);
  expect(overlaps(slice(image, [":500"]), slice(image, ["500:"]))).toBe(false);
  expect(overlaps(slice(image, ["1:"]), slice(image, [":-1"]))).toBe(true);
  expect(overlaps(image, transpose(image))).toBe(true);
  expect(overlaps(flip(image, 0), slice(image, ["10", "::3"]))).toBe(true);
});

test("the channels of interleaved pixels do not overlap", () => {
  const pixels = contiguousView([480, 640, 3], 1);
  expect(overlaps(slice(pixels, ["...", 0]), slice(pixels, ["...", 1]))).toBe(false);
  expect(overlaps(slice(pixels, ["...", 0]), slice(pixels, ["...", "0:2"]))).toBe(true);
});

test("a search that would take too long answers yes", () => {
  // 10007·x = 10009·y - 14000 has no solution with x, y < 5000: the smallest is x = y = 7000.
  const a: View = { shape: [5000], strides: [10007], offset: 14000, itemBytes: 1 };
  const b: View = { shape: [5000], strides: [10009], offset: 0, itemBytes: 1 };
  expect(shareByte(a, b)).toBe(false);
  expect(overlaps(a, b)).toBe(true);
  // The work is bounded, not only the answer: these have 10^9 elements each.
  const before = process.cpuUsage();
  overlaps({ ...a, shape: [1e9] }, { ...b, shape: [1e9], offset: 5 });
  expect(process.cpuUsage(before).user).toBeLessThan(1e6);
});

test("nothing overlaps a view without elements", () => {
  const empty = contiguousView([0, 3], 4);
  const full = contiguousView([3], 4);
  expect(mayShareMemory(empty, full)).toBe(false);
  expect(overlaps(full, empty)).toBe(false);
  expect(selfOverlaps(broadcastTo(contiguousView([1], 4), [3, 0]))).toBe(false);
});

test("repeats and windows overlap themselves; slices, flips and permutations do not", () => {
  const base = contiguousView([6, 7], 4);
  expect(selfOverlaps(broadcastTo(contiguousView([3], 4), [2, 3]))).toBe(true);
  expect(selfOverlaps(slidingWindow(base, 2, 0))).toBe(true);
  expect(selfOverlaps(transpose(base))).toBe(false);
  expect(selfOverlaps(flip(slice(base, ["::2", "1::3"])))).toBe(false);
  // Not nested, yet free of collisions: 3·i + 2·j with i < 2, j < 3 is 0, 2, 4, 3, 5, 7.
  expect(selfOverlaps({ shape: [2, 3], strides: [3, 2], offset: 0, itemBytes: 1 })).toBe(false);
});

test("the same elements: equal shape, offset and strides, size-1 axes aside", () => {
  const view = contiguousView([2, 1, 3], 4);
  expect(sameElements(view, contiguousView([2, 1, 3], 4))).toBe(true);
  expect(sameElements(view, { ...view, strides: [12, 99, 4] })).toBe(true);
  expect(sameElements(view, { ...view, strides: [12, 12, 0] })).toBe(false);
  expect(sameElements(view, { ...view, offset: 4 })).toBe(false);
  expect(sameElements(view, { ...view, itemBytes: 2 })).toBe(false);
  expect(sameElements(view, contiguousView([2, 3], 4))).toBe(false);
  expect(sameElements(contiguousView([2, 2], 4), transpose(contiguousView([2, 2], 4)))).toBe(false);
});
