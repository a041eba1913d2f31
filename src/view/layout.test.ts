import fc from "fast-check";
import { expect, test } from "vitest";
import {
  broadcastIndex,
  checkShape,
  extentOf,
  normalizeAxes,
  normalizeAxis,
  normalizeIndex,
  positionOf,
  rowMajorStrides,
  sizeOf,
  unravel,
} from "./layout.ts";
import { addresses, indices, messageOf, samples } from "./testing.ts";

test("C-order strides come from the sizes inside each axis", () => {
  expect(rowMajorStrides([32, 3, 100, 100])).toEqual([30000, 10000, 100, 1]);
  expect(rowMajorStrides([2, 3, 4])).toEqual([12, 4, 1]);
  expect(rowMajorStrides([2, 3], 8)).toEqual([24, 8]);
  expect(rowMajorStrides([])).toEqual([]);
});

test("a zero size counts as 1 in the strides", () => {
  expect(rowMajorStrides([2, 0, 3])).toEqual([3, 3, 1]);
});

test("ordinal 17 of (2, 3, 4) is index (1, 1, 1), at position 17", () => {
  expect(unravel(17, [2, 3, 4])).toEqual([1, 1, 1]);
  expect(positionOf([1, 1, 1], [12, 4, 1])).toEqual(17);
  expect(positionOf([1, 1], [-4, 2], 9)).toEqual(7);
});

test("ordinals count the indices in C order, and the dense position of an index is its ordinal", () => {
  const shape = [3, 1, 4, 2];
  indices(shape).forEach((index, ordinal) => {
    expect(unravel(ordinal, shape)).toEqual(index);
    expect(positionOf(index, rowMajorStrides(shape))).toBe(ordinal);
  });
});

test("a broadcast index aligns at the right and reads 0 on axes of size 1", () => {
  expect(broadcastIndex([4, 1, 2], [3, 1])).toEqual([1, 0]);
  expect(broadcastIndex([1, 0], [1, 3])).toEqual([0, 0]);
  expect(broadcastIndex([1, 2], [])).toEqual([]);
});

test("the extent is the lowest and the highest position of any index", () => {
  expect(extentOf([2, 5], [18, -15])).toEqual({ min: -60, max: 18 });
  expect(extentOf([3, 0], [1, 1])).toBeNull();
  fc.assert(
    fc.property(samples, ({ view }) => {
      const all = addresses(view).map((address) => address - view.offset);
      const reach = extentOf(view.shape, view.strides);
      expect(reach).toEqual(all.length === 0 ? null : { min: Math.min(...all), max: Math.max(...all) });
    }),
  );
});

test("sizes multiply, and nothing multiplies to 1", () => {
  expect(sizeOf([2, 3, 4])).toBe(24);
  expect(sizeOf([])).toBe(1);
  expect(sizeOf([5, 0])).toBe(0);
});

test("shapes are checked", () => {
  expect(() => checkShape("zeros", [])).not.toThrow();
  expect(() => checkShape("zeros", [0, 3])).not.toThrow();
  expect(messageOf(() => checkShape("zeros", [2, -1]))).toMatchInlineSnapshot(`
    "zeros: size -1 of axis 1 in [2, -1] is not a size.
      Sizes are integers from 0."
  `);
  expect(messageOf(() => checkShape("zeros", [2.5]))).toMatchInlineSnapshot(`
    "zeros: size 2.5 of axis 0 in [2.5] is not a size.
      Sizes are integers from 0."
  `);
  expect(messageOf(() => checkShape("zeros", [Number.NaN]))).toMatchInlineSnapshot(`
    "zeros: size NaN of axis 0 in [NaN] is not a size.
      Sizes are integers from 0."
  `);
  expect(messageOf(() => checkShape("zeros", [2 ** 27, 2 ** 27]))).toMatchInlineSnapshot(`
    "zeros: shape [134217728, 134217728] has too many elements to count.
      The limit is 2^53 - 1."
  `);
  expect(messageOf(() => checkShape("zeros", [2 ** 27, 0, 2 ** 27]))).toMatchInlineSnapshot(`
    "zeros: shape [134217728, 0, 134217728] has too many elements to count.
      The limit is 2^53 - 1."
  `);
  expect(messageOf(() => checkShape("zeros", new Array(65).fill(1)))).toMatchInlineSnapshot(`
    "zeros: the shape has 65 axes.
      At most 64 axes are supported."
  `);
});

test("axes and indices count from the end when negative, and are checked", () => {
  expect(normalizeAxis("sum", -1, 3)).toBe(2);
  expect(normalizeAxis("sum", -0, 3)).toBe(0);
  expect(normalizeAxes("sum", [-1, 0], 3)).toEqual([2, 0]);
  expect(normalizeIndex("get", -3, 3, 0)).toBe(0);
  expect(messageOf(() => normalizeAxis("sum", 2, 2))).toMatchInlineSnapshot(`
    "sum: axis 2 is out of range for rank 2.
      Use -2 … 1."
  `);
  expect(messageOf(() => normalizeAxis("sum", 0, 0))).toMatchInlineSnapshot(`
    "sum: axis 0 is out of range for rank 0.
      A 0-d tensor has no axes."
  `);
  expect(messageOf(() => normalizeAxis("sum", 0.5, 2))).toMatchInlineSnapshot(`
    "sum: axis 0.5 is not an integer.
      Use -2 … 1."
  `);
  expect(messageOf(() => normalizeAxes("sum", [1, -1], 2))).toMatchInlineSnapshot(`
    "sum: axis 1 is named twice in [1, -1].
      Name each axis once."
  `);
  expect(messageOf(() => normalizeIndex("get", 5, 3, 1))).toMatchInlineSnapshot(`
    "get: index 5 is out of range for axis 1 of size 3.
      Use -3 … 2."
  `);
  expect(messageOf(() => normalizeIndex("get", Number.NaN, 3, 1))).toMatchInlineSnapshot(`
    "get: index NaN for axis 1 is not an integer.
      Use -3 … 2."
  `);
  expect(messageOf(() => normalizeIndex("get", 0, 0, 1))).toMatchInlineSnapshot(`
    "get: index 0 is out of range for axis 1 of size 0.
      The axis is empty: it has no index."
  `);
});
