import fc from "fast-check";
import { expect, test } from "vitest";
import { reshape, resolveShape } from "./reshape.ts";
import { slice } from "./slice.ts";
import { addresses, indices, messageOf, samples } from "./testing.ts";
import { broadcastTo, contiguousView, flip, isContiguous, permute, transpose, type View } from "./view.ts";

/** A shape of `size` elements, its factors chosen by the numbers, with some sizes 1 among them. */
function factor(size: number, numbers: readonly number[]): number[] {
  const shape: number[] = [];
  let rest = size;
  for (const n of numbers) {
    const divisors: number[] = [];
    for (let k = 1; k <= rest; k++) if (rest % k === 0) divisors.push(k);
    const take = divisors[n % divisors.length];
    shape.push(take);
    rest /= take;
  }
  if (rest !== 1) shape.push(rest);
  return shape;
}

/**
 * Do strides exist that give `shape` these addresses in C order? Any such stride shows at index 1 of its
 * axis.
 */
function stridesExist(flat: readonly number[], shape: readonly number[]): boolean {
  const all = indices(shape);
  const ordinal = new Map(all.map((index, k) => [index.join(), k]));
  const strides = shape.map((n, d) =>
    n === 1 ? 0 : flat[ordinal.get(shape.map((_, k) => (k === d ? 1 : 0)).join())!] - flat[0],
  );
  return all.every((index, k) => flat[k] === index.reduce((sum, i, d) => sum + i * strides[d], flat[0]));
}

const numbers = fc.array(fc.nat(99), { maxLength: 4 });

test("reshape keeps the elements in C order, or returns null exactly when no strides can", () => {
  let views = 0;
  let copies = 0;
  fc.assert(
    fc.property(
      samples.filter(({ view }) => !view.shape.includes(0)),
      numbers,
      ({ view }, choice) => {
        const flat = addresses(view);
        const shape = factor(flat.length, choice);
        const out = reshape(view, shape);
        expect(out !== null).toBe(stridesExist(flat, shape));
        if (out === null) {
          copies++;
          return;
        }
        views++;
        expect(out.shape).toEqual(shape);
        expect(addresses(out)).toEqual(flat);
        expect(addresses(reshape(out, view.shape)!)).toEqual(flat);
      },
    ),
    { numRuns: 1000 },
  );
  // The generator reaches both answers often.
  expect(Math.min(views, copies)).toBeGreaterThan(50);
});

test("a contiguous view can take any shape and is contiguous again", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }), numbers, (from, choice) => {
      const view = contiguousView(from, 4, 16);
      const out = reshape(view, factor(addresses(view).length, choice))!;
      expect(isContiguous(out)).toBe(true);
      expect(addresses(reshape(out, from)!)).toEqual(addresses(view));
    }),
  );
});

test("an empty view can take any shape without elements", () => {
  const view = transpose(contiguousView([2, 0, 3], 4));
  expect(reshape(view, [0, 7])).toEqual({ shape: [0, 7], strides: [28, 4], offset: 0, itemBytes: 4 });
  expect(reshape(view, [-1, 7])!.shape).toEqual([0, 7]);
});

test("a 0-d view gains axes and loses them again", () => {
  const scalar = contiguousView([], 4, 12);
  const grown = reshape(scalar, [1, -1, 1])!;
  expect(grown.shape).toEqual([1, 1, 1]);
  expect(reshape(grown, [])).toEqual(scalar);
});

test("which layouts need a copy: the rows NumPy gives", () => {
  const base = contiguousView([4, 6], 4);
  const shapes = (view: View, shape: number[]): readonly number[] | null =>
    reshape(view, shape)?.strides ?? null;
  expect(shapes(base, [2, 2, 2, 3])).toEqual([48, 24, 12, 4]);
  expect(shapes(transpose(base), [24])).toBeNull();
  expect(shapes(transpose(base), [3, 2, 4])).toEqual([8, 4, 24]);
  expect(shapes(slice(base, [":", "::2"]), [12])).toEqual([8]);
  expect(shapes(slice(base, [":", ":3"]), [12])).toBeNull();
  expect(shapes(slice(base, ["::2"]), [12])).toBeNull();
  expect(shapes(flip(base), [24])).toEqual([-4]);
  expect(shapes(flip(base, 1), [24])).toBeNull();
  expect(shapes(broadcastTo(contiguousView([1], 4), [2, 3]), [6])).toEqual([0]);
  expect(shapes(broadcastTo(contiguousView([3], 4), [2, 3]), [6])).toBeNull();
  expect(shapes(permute(contiguousView([2, 1, 3], 4), [1, 0, 2]), [6])).toEqual([4]);
});

test("(2, 3) viewed as (3, 2) reads the same memory in pairs", () => {
  expect(addresses(reshape(contiguousView([2, 3], 1), [3, 2])!)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("one -1 is filled in from the element count", () => {
  expect(resolveShape("reshape", [2, -1, 3], 24)).toEqual([2, 4, 3]);
  expect(resolveShape("reshape", [-1], 1)).toEqual([1]);
  expect(resolveShape("reshape", [-1, 3], 0)).toEqual([0, 3]);
  expect(resolveShape("reshape", [0, 3], 0)).toEqual([0, 3]);
});

test("mistakes name the operation, the fact, the values and the remedy", () => {
  const view = contiguousView([2, 3], 4);
  const shapes = [[4], [-1, -1], [-1, 4], [0, -1], [2.5], [Number.NaN], [-2, -3], [], [0]];
  expect(
    `\n${shapes.map((shape) => messageOf(() => reshape(view, shape))).join("\n")}\n`,
  ).toMatchInlineSnapshot(`
    "
    reshape: [4] has 4 elements, not 6.
      The element counts must agree.
    reshape: [-1, -1] leaves more than one size open.
      Use -1 at most once.
    reshape: 6 elements do not divide into [-1, 4]: the sizes given make 4.
      The sizes given must divide the element count.
    reshape: the -1 in [0, -1] could be any size, as another is 0.
      Write the size out.
    reshape: size 2.5 of axis 0 in [2.5] is not a size.
      Sizes are integers from 0.
    reshape: size NaN of axis 0 in [NaN] is not a size.
      Sizes are integers from 0.
    reshape: size -2 of axis 0 in [-2, -3] is not a size.
      Sizes are integers from 0.
    reshape: [] has 1 element, not 6.
      The element counts must agree.
    reshape: [0] has 0 elements, not 6.
      The element counts must agree.
    "
  `);
  expect(messageOf(() => resolveShape("view", [0, -1], 0))).toMatchInlineSnapshot(`
    "view: the -1 in [0, -1] could be any size, as another is 0.
      Write the size out."
  `);
});
