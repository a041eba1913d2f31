import fc from "fast-check";
import { expect, test } from "vitest";
import { broadcastShapes, broadcastViews } from "./broadcast.ts";
import { at, indices, messageOf, nest } from "./testing.ts";
import { contiguousView } from "./view.ts";

test("shapes align at the right, and size 1 gives way", () => {
  expect(
    broadcastShapes("add", [
      [5, 1, 5, 1],
      [1, 5, 1, 5],
    ]),
  ).toEqual([5, 5, 5, 5]);
  expect(broadcastShapes("add", [[2, 5], [5]])).toEqual([2, 5]);
  expect(broadcastShapes("add", [[], [3, 1]])).toEqual([3, 1]);
  expect(broadcastShapes("add", [[0], [1]])).toEqual([0]);
  expect(broadcastShapes("add", [])).toEqual([]);
});

test("every operand reads, at each index, its own index with 0 on its axes of size 1", () => {
  const cases = fc.record({
    shape: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }),
    operands: fc.array(fc.tuple(fc.nat(4), fc.nat(15)), { minLength: 1, maxLength: 3 }),
  });
  fc.assert(
    fc.property(cases, ({ shape, operands }) => {
      const sources = operands.map(([drop, ones]) =>
        contiguousView(shape.map((n, d) => (((ones >> d) & 1) === 1 ? 1 : n)).slice(drop), 4),
      );
      const { shape: common, views } = broadcastViews("add", sources);
      views.forEach((view, v) => {
        expect(view.shape).toEqual(common);
        const lead = common.length - sources[v].shape.length;
        for (const index of indices(common)) {
          const own = sources[v].shape.map((n, d) => (n === 1 ? 0 : index[lead + d]));
          expect(at(nest(view), index)).toBe(at(nest(sources[v]), own));
        }
      });
    }),
  );
});

test("views that already have the common shape are passed through untouched", () => {
  const a = contiguousView([2, 3], 4);
  const b = contiguousView([3], 4);
  const { views } = broadcastViews("add", [a, b]);
  expect(views[0]).toBe(a);
  expect(views[1].strides).toEqual([0, 4]);
  const same = [a, contiguousView([2, 3], 8)];
  expect(broadcastViews("add", same).views).toBe(same);
});

test("a common shape too large to count is refused", () => {
  expect(messageOf(() => broadcastShapes("outer", [[2 ** 30, 1], [2 ** 30]]))).toMatchInlineSnapshot(`
    "outer: shape [1073741824, 1073741824] has too many elements to count.
      The limit is 2^53 - 1."
  `);
});

test("shapes that do not fit are named, with the axis", () => {
  expect(messageOf(() => broadcastShapes("add", [[2, 3], [4]]))).toMatchInlineSnapshot(`
    "add: shapes [2, 3] and [4] do not broadcast: axis 1 of the result would be 3 and 4.
      Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
  `);
  expect(messageOf(() => broadcastShapes("zip", [[], [0], [7]]))).toMatchInlineSnapshot(`
    "zip: shapes [], [0] and [7] do not broadcast: axis 0 of the result would be 0 and 7.
      Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
  `);
  expect(
    messageOf(() => broadcastViews("add", [contiguousView([5, 2], 4), contiguousView([5], 4)])),
  ).toMatchInlineSnapshot(`
    "add: shapes [5, 2] and [5] do not broadcast: axis 1 of the result would be 2 and 5.
      Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
  `);
});
