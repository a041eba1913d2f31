import fc from "fast-check";
import { expect, test } from "vitest";
import { broadcastViews } from "./broadcast.ts";
import { kOrderPermutation, type LoopNest, planLoops, viewInOrder } from "./loops.ts";
import { slice } from "./slice.ts";
import { addresses, indices, messageOf, operands } from "./testing.ts";
import { broadcastTo, contiguousView, flip, isDense, permute, transpose, type View } from "./view.ts";

/** The addresses of all operands, element by element, as the loops visit them. */
function visits(nest: LoopNest): string[] {
  return indices(nest.shape).map((index) =>
    nest.offsets
      .map((offset, v) => index.reduce((address, i, k) => address + i * nest.strides[v][k], offset))
      .join(),
  );
}

/** The same in C order of the index. */
function naive(views: readonly View[]): string[] {
  const all = views.map(addresses);
  return all[0].map((_, k) => all.map((one) => one[k]).join());
}

test("the loops visit exactly the elements, in all operands together", () => {
  fc.assert(
    fc.property(operands, (views) => {
      expect(visits(planLoops(views)).sort()).toEqual(naive(views).sort());
    }),
    { numRuns: 1000 },
  );
});

test("with keepOrder the loops visit the elements in C order", () => {
  fc.assert(
    fc.property(operands, (views) => {
      const nest = planLoops(views, { keepOrder: true });
      expect(visits(nest)).toEqual(naive(views));
      expect(nest.flipped).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("the loops are as few as their order allows, and each axis is in one of them", () => {
  fc.assert(
    fc.property(operands, (views) => {
      const { shape, strides, order, flipped } = planLoops(views);
      if (views[0].shape.includes(0)) {
        expect(shape).toEqual([0]);
        return;
      }
      const sizes = views[0].shape;
      expect(order.flat().sort()).toEqual(sizes.map((_, d) => d).filter((d) => sizes[d] !== 1));
      expect(shape).toEqual(order.map((axes) => axes.reduce((size, d) => size * sizes[d], 1)));
      for (let k = 0; k + 1 < shape.length; k++) {
        expect(strides.every((own) => own[k] === own[k + 1] * shape[k + 1])).toBe(false);
      }
      // What could be turned round was: no loop runs backwards in every operand.
      for (let k = 0; k < shape.length; k++) {
        expect(strides.every((own) => own[k] <= 0) && strides.some((own) => own[k] < 0)).toBe(false);
      }
      for (const d of flipped) expect(views.every((view) => view.strides[d] <= 0)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("contiguous operands are one loop, whatever their rank", () => {
  const a = contiguousView([32, 3, 10, 10], 4);
  const b = contiguousView([32, 3, 10, 10], 8, 64);
  expect(planLoops([a, b])).toEqual({
    shape: [9600],
    strides: [[4], [8]],
    offsets: [0, 64],
    order: [[0, 1, 2, 3]],
    flipped: [],
  });
});

test("operands permuted together are one loop", () => {
  const views = [0, 1, 2].map(() => permute(contiguousView([2, 3, 4], 4), [2, 0, 1]));
  expect(planLoops(views)).toMatchObject({ shape: [24], strides: [[4], [4], [4]], order: [[1, 2, 0]] });
});

test("operands flipped together are one loop that runs forwards", () => {
  const views = [flip(contiguousView([2, 3], 4)), flip(contiguousView([2, 3], 4, 100))];
  expect(planLoops(views)).toEqual({
    shape: [6],
    strides: [[4], [4]],
    offsets: [0, 100],
    order: [[0, 1]],
    flipped: [0, 1],
  });
});

test("one operand flipped alone stays backwards", () => {
  const views = [contiguousView([6], 4), flip(contiguousView([6], 4))];
  expect(planLoops(views)).toMatchObject({ shape: [6], strides: [[4], [-4]], offsets: [0, 20], flipped: [] });
});

test("[N, C] + [C] is a row loop with a contiguous inner axis", () => {
  const { views } = broadcastViews("add", [
    contiguousView([64, 8], 4),
    contiguousView([64, 8], 4),
    contiguousView([8], 4),
  ]);
  expect(planLoops(views)).toMatchObject({
    shape: [64, 8],
    strides: [
      [32, 4],
      [32, 4],
      [0, 4],
    ],
  });
});

test("leading axes merge around a broadcast row", () => {
  const { views } = broadcastViews("add", [contiguousView([4, 5, 6], 4), contiguousView([6], 4)]);
  expect(planLoops(views)).toMatchObject({ shape: [20, 6], order: [[0, 1], [2]] });
});

test("a scalar operand does not break the one loop of the others", () => {
  const { views } = broadcastViews("add", [contiguousView([4, 5], 4), contiguousView([], 4)]);
  expect(planLoops(views)).toMatchObject({ shape: [20], strides: [[4], [0]] });
});

test("the output decides the order where the operands disagree", () => {
  const out = contiguousView([3, 5], 4);
  const source = transpose(contiguousView([5, 3], 4));
  expect(planLoops([out, source])).toMatchObject({
    shape: [3, 5],
    strides: [
      [20, 4],
      [4, 12],
    ],
  });
  expect(planLoops([source, out])).toMatchObject({
    shape: [5, 3],
    strides: [
      [12, 4],
      [4, 20],
    ],
  });
});

test("an operand that repeats along an axis has no say in that axis's place", () => {
  const repeated = broadcastTo(contiguousView([3, 1], 4), [3, 5]);
  const source = transpose(contiguousView([5, 3], 4));
  expect(planLoops([repeated, source]).order).toEqual([[1], [0]]);
});

test("a stepped inner axis merges with the rows around it only if the rows have no gap", () => {
  const base = contiguousView([4, 6], 4);
  expect(planLoops([slice(base, [":", "::2"])])).toMatchObject({ shape: [12], strides: [[8]] });
  expect(planLoops([slice(base, [":", ":3"])])).toMatchObject({ shape: [4, 3], strides: [[24, 4]] });
});

test("one element needs no loop, no element is one loop of 0", () => {
  expect(planLoops([contiguousView([], 4, 8)])).toMatchObject({ shape: [], strides: [[]], offsets: [8] });
  expect(planLoops([contiguousView([1, 1], 4)])).toMatchObject({ shape: [], strides: [[]], order: [] });
  const stepped = { shape: [1, 1], strides: [7, 0], offset: 8, itemBytes: 4 };
  expect(planLoops([stepped, contiguousView([1, 1], 4)])).toMatchObject({ shape: [], offsets: [8, 0] });
  expect(planLoops([contiguousView([3, 0], 4)])).toMatchObject({ shape: [0], strides: [[0]] });
});

test("views of different shapes are our own mistake, and said to be", () => {
  expect(messageOf(() => planLoops([contiguousView([2], 4), contiguousView([3], 4)]))).toMatchInlineSnapshot(`
    "strided: internal error: loops over shapes [2] and [3].
      This is a bug in strided; please report it with the code that led here."
  `);
  expect(messageOf(() => planLoops([]))).toMatchInlineSnapshot(`
    "strided: internal error: a loop nest needs at least one view.
      This is a bug in strided; please report it with the code that led here."
  `);
});

test("an output in K order follows the memory of a dense input exactly", () => {
  fc.assert(
    fc.property(
      operands.filter(([view]) => isDense(view)),
      ([view]) => {
        const out = viewInOrder(view.shape, view.itemBytes, kOrderPermutation([view], view.shape));
        if (view.shape.includes(0)) expect(out.shape).toEqual(view.shape);
        else expect(addresses({ ...out, offset: view.offset })).toEqual(addresses(view));
      },
    ),
    { numRuns: 300 },
  );
});

test("an output in K order is dense for any inputs", () => {
  fc.assert(
    fc.property(operands, (views) => {
      const { shape } = views[0];
      const order = kOrderPermutation(views, shape);
      expect([...order].sort()).toEqual(shape.map((_, d) => d));
      expect(isDense(viewInOrder(shape, 4, order))).toBe(true);
    }),
  );
});

test("K order as NumPy's iterator chooses it", () => {
  const c = contiguousView([2, 3, 4], 4);
  const f = transpose(contiguousView([4, 3, 2], 4));
  expect(kOrderPermutation([c], [2, 3, 4])).toEqual([0, 1, 2]);
  expect(kOrderPermutation([f], [2, 3, 4])).toEqual([2, 1, 0]);
  expect(kOrderPermutation([f, f], [2, 3, 4])).toEqual([2, 1, 0]);
  // In a conflict C order wins, whoever comes first.
  expect(kOrderPermutation([f, c], [2, 3, 4])).toEqual([0, 1, 2]);
  // Broadcast axes have no say.
  expect(kOrderPermutation([f, contiguousView([4], 4)], [2, 3, 4])).toEqual([2, 1, 0]);
  expect(kOrderPermutation([f, broadcastTo(contiguousView([], 4), [2, 3, 4])], [2, 3, 4])).toEqual([2, 1, 0]);
  expect(kOrderPermutation([flip(f)], [2, 3, 4])).toEqual([2, 1, 0]);
  expect(kOrderPermutation([contiguousView([], 4)], [])).toEqual([]);
});

test("viewInOrder lays the axes out as ordered", () => {
  expect(viewInOrder([2, 3, 4], 4, [2, 0, 1])).toEqual(permute(contiguousView([4, 2, 3], 4), [1, 2, 0]));
  expect(viewInOrder([2, 0], 4, [1, 0], 16)).toEqual({
    shape: [2, 0],
    strides: [4, 8],
    offset: 16,
    itemBytes: 4,
  });
});
