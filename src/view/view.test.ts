import fc from "fast-check";
import { expect, test } from "vitest";
import { addresses, at, indices, messageOf, type Nested, nest, samples } from "./testing.ts";
import {
  asStrided,
  broadcastTo,
  contiguousView,
  diagonal,
  expandDims,
  extent,
  flip,
  hasBroadcastAxis,
  isContiguous,
  isDense,
  isFContiguous,
  moveAxis,
  permute,
  slidingWindow,
  squeeze,
  swapAxes,
  transpose,
  type View,
} from "./view.ts";

/** Every index of `out` reaches the address that `law` finds in the model of `source`. */
function expectLaw(source: View, out: View, law: (index: number[]) => number[]): void {
  const model = nest(source);
  const result = nest(out);
  for (const index of indices(out.shape)) expect(at(result, index)).toBe(at(model, law(index)));
}

const withAxis = fc.tuple(samples, fc.nat(99)).filter(([{ view }]) => view.shape.length > 0);
const withAxes = fc.tuple(samples, fc.nat(99), fc.nat(99)).filter(([{ view }]) => view.shape.length > 0);

test("no operation ever points outside the memory it came from, not even without elements", () => {
  fc.assert(
    fc.property(samples, ({ view, bytes }) => {
      const { start, end } = extent(view);
      expect(start).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(bytes);
      expect(start).toBeLessThanOrEqual(end);
    }),
    { numRuns: 500 },
  );
});

test("the extent is the first byte of the lowest element to the last byte of the highest", () => {
  fc.assert(
    fc.property(samples, ({ view }) => {
      const all = addresses(view);
      const { start, end } = extent(view);
      if (all.length === 0) expect([start, end]).toEqual([view.offset, view.offset]);
      else expect([start, end]).toEqual([Math.min(...all), Math.max(...all) + view.itemBytes]);
    }),
  );
});

test("contiguous means that C order walks the memory item by item", () => {
  fc.assert(
    fc.property(samples, ({ view }) => {
      const inOrder = (v: View): boolean => addresses(v).every((a, k) => a === v.offset + k * v.itemBytes);
      expect(isContiguous(view)).toBe(inOrder(view));
      expect(isFContiguous(view)).toBe(inOrder(transpose(view)));
    }),
    { numRuns: 300 },
  );
});

test("dense means that every item from the offset on is reached once", () => {
  fc.assert(
    fc.property(samples, ({ view }) => {
      const sorted = addresses(view).sort((a, b) => a - b);
      expect(isDense(view)).toBe(sorted.every((a, k) => a === view.offset + k * view.itemBytes));
    }),
    { numRuns: 300 },
  );
});

test("dense views: permuted yes, stepped, flipped and repeated no", () => {
  const base = contiguousView([2, 3, 4], 4);
  expect(isDense(permute(base, [1, 2, 0]))).toBe(true);
  expect(isDense(flip(base, 0))).toBe(false);
  expect(isDense(asStrided(base, [2, 2], [8, 4]))).toBe(true);
  expect(isDense(asStrided(base, [2, 2], [12, 4]))).toBe(false);
  expect(isDense(asStrided(base, [2, 2], [0, 4]))).toBe(false);
});

test("size-1 axes and empty views are contiguous whatever their strides", () => {
  expect(isContiguous({ shape: [1, 3], strides: [-7, 4], offset: 0, itemBytes: 4 })).toBe(true);
  expect(isContiguous({ shape: [3, 0], strides: [1, 99], offset: 0, itemBytes: 4 })).toBe(true);
  expect(isContiguous({ shape: [0, 3], strides: [1, 99], offset: 0, itemBytes: 4 })).toBe(true);
  expect(isContiguous({ shape: [3], strides: [-4], offset: 8, itemBytes: 4 })).toBe(false);
});

test("only a repeated element makes a broadcast axis", () => {
  const row = contiguousView([3], 4);
  expect(hasBroadcastAxis(broadcastTo(row, [2, 3]))).toBe(true);
  expect(hasBroadcastAxis(broadcastTo(row, [1, 3]))).toBe(false);
  expect(hasBroadcastAxis(expandDims(row, 0))).toBe(false);
});

test("permute: index k of the result is index axes[k] of the view", () => {
  fc.assert(
    fc.property(samples, fc.infiniteStream(fc.nat(99)), ({ view }, numbers) => {
      const axes = view.shape.map((_, d) => d);
      for (let k = axes.length - 1; k > 0; k--) {
        const j = numbers.next().value % (k + 1);
        [axes[k], axes[j]] = [axes[j], axes[k]];
      }
      const out = permute(view, axes);
      expect(out.shape).toEqual(axes.map((d) => view.shape[d]));
      expectLaw(view, out, (index) => view.shape.map((_, d) => index[axes.indexOf(d)]));
      const inverse = axes.map((_, d) => axes.indexOf(d));
      expect(permute(out, inverse)).toEqual(view);
    }),
  );
});

test("transpose reverses the index, and twice gives the view back", () => {
  fc.assert(
    fc.property(samples, ({ view }) => {
      const out = transpose(view);
      expect(out.shape).toEqual([...view.shape].reverse());
      expectLaw(view, out, (index) => [...index].reverse());
      expect(transpose(out)).toEqual(view);
    }),
  );
});

test("swapAxes exchanges two axes", () => {
  fc.assert(
    fc.property(withAxes, ([{ view }, a, b]) => {
      const rank = view.shape.length;
      const [i, j] = [a % rank, b % rank];
      const swap = (index: readonly number[]): number[] =>
        index.map((n, d) => (d === i ? index[j] : d === j ? index[i] : n));
      const out = swapAxes(view, i, j - rank);
      expect(out.shape).toEqual(swap(view.shape));
      expectLaw(view, out, swap);
    }),
  );
});

test("moveAxis takes one axis out and puts it in at another place", () => {
  fc.assert(
    fc.property(withAxes, ([{ view }, a, b]) => {
      const rank = view.shape.length;
      const [src, dst] = [a % rank, b % rank];
      const out = moveAxis(view, src - rank, dst);
      const shape = [...view.shape];
      shape.splice(dst, 0, ...shape.splice(src, 1));
      expect(out.shape).toEqual(shape);
      expectLaw(view, out, (index) => {
        const back = [...index];
        back.splice(src, 0, ...back.splice(dst, 1));
        return back;
      });
    }),
  );
});

test("moveAxis moves several axes at once, as NumPy does", () => {
  const view = contiguousView([3, 4, 5, 6], 1);
  expect(moveAxis(view, [0, 1], [-1, -2]).shape).toEqual([5, 6, 4, 3]);
  expect(moveAxis(view, [2, 0], [0, 2]).shape).toEqual([5, 4, 3, 6]);
  expect(moveAxis(view, [], []).shape).toEqual([3, 4, 5, 6]);
});

test("expandDims adds axes that read index 0, and squeeze takes them away again", () => {
  fc.assert(
    fc.property(samples, fc.nat(99), ({ view }, a) => {
      const d = a % (view.shape.length + 1);
      const out = expandDims(view, d);
      expect(out.shape).toEqual([...view.shape.slice(0, d), 1, ...view.shape.slice(d)]);
      expectLaw(view, out, (index) => index.filter((_, k) => k !== d));
      expect(squeeze(out, d)).toEqual(view);
    }),
  );
  expect(expandDims(contiguousView([2, 3], 4), [0, -1]).shape).toEqual([1, 2, 3, 1]);
});

test("squeeze without axes drops every axis of size 1 and no element", () => {
  fc.assert(
    fc.property(samples, ({ view }) => {
      const out = squeeze(view);
      expect(out.shape).toEqual(view.shape.filter((n) => n !== 1));
      expect(addresses(out)).toEqual(addresses(view));
    }),
  );
});

test("flip reverses an axis, and twice gives the elements back", () => {
  fc.assert(
    fc.property(withAxis, ([{ view }, a]) => {
      const d = a % view.shape.length;
      const out = flip(view, d);
      expect(out.shape).toEqual(view.shape);
      expectLaw(view, out, (index) => index.map((i, k) => (k === d ? view.shape[d] - 1 - i : i)));
      expect(flip(out, d)).toEqual(view);
    }),
  );
});

test("flip without axes reverses the C order", () => {
  fc.assert(
    fc.property(samples, ({ view }) => {
      expect(addresses(flip(view))).toEqual(addresses(view).reverse());
    }),
  );
});

test("broadcastTo repeats along new and size-1 axes", () => {
  fc.assert(
    fc.property(samples, fc.nat(3), fc.nat(3), ({ view }, lead, n) => {
      const shape = [lead, ...view.shape.map((size) => (size === 1 ? n : size))];
      const out = broadcastTo(view, shape);
      expect(out.shape).toEqual(shape);
      expectLaw(view, out, (index) => view.shape.map((size, d) => (size === 1 ? 0 : index[d + 1])));
    }),
  );
});

test("diagonal walks two axes at once and puts the new axis last", () => {
  const deep = fc.tuple(samples, fc.nat(99), fc.nat(99), fc.integer({ min: -6, max: 6 }));
  fc.assert(
    fc.property(
      deep.filter(([{ view }]) => view.shape.length > 1),
      ([{ view }, a, b, k]) => {
        const rank = view.shape.length;
        const axis1 = a % rank;
        const axis2 = (axis1 + 1 + (b % (rank - 1))) % rank;
        const out = diagonal(view, k, axis1, axis2 - rank);
        let length = 0;
        for (let i = 0; i < view.shape[axis1]; i++) if (i + k >= 0 && i + k < view.shape[axis2]) length++;
        const rest = view.shape.map((_, d) => d).filter((d) => d !== axis1 && d !== axis2);
        expect(out.shape).toEqual([...rest.map((d) => view.shape[d]), length]);
        expectLaw(view, out, (index) => {
          const i = index[index.length - 1] + Math.max(-k, 0);
          return view.shape.map((_, d) => (d === axis1 ? i : d === axis2 ? i + k : index[rest.indexOf(d)]));
        });
      },
    ),
    { numRuns: 300 },
  );
});

test("slidingWindow: start s and place w within the window read index s + w", () => {
  fc.assert(
    fc.property(
      withAxes.filter(([{ view }, a]) => view.shape[a % view.shape.length] > 0),
      ([{ view }, a, b]) => {
        const d = a % view.shape.length;
        const window = 1 + (b % view.shape[d]);
        const out = slidingWindow(view, window, d);
        const starts = view.shape.map((n, k) => (k === d ? n - window + 1 : n));
        expect(out.shape).toEqual([...starts, window]);
        expectLaw(view, out, (index) => {
          const w = index[index.length - 1];
          return index.slice(0, -1).map((i, k) => (k === d ? i + w : i));
        });
      },
    ),
  );
});

test("slidingWindow takes a window of several axes, one axis twice, and size 0, as NumPy does", () => {
  expect(slidingWindow(contiguousView([5, 6], 4), [2, 3])).toEqual({
    shape: [4, 4, 2, 3],
    strides: [24, 4, 24, 4],
    offset: 0,
    itemBytes: 4,
  });
  expect(slidingWindow(contiguousView([5], 4), [2, 2], [0, 0]).shape).toEqual([3, 2, 2]);
  expect(slidingWindow(contiguousView([3], 4), 0).shape).toEqual([4, 0]);
});

test("asStrided takes what it is given, and keeps the view's offset if none is given", () => {
  const view = contiguousView([6], 4, 8);
  expect(asStrided(view, [2, 3], [4, -4], 16)).toEqual({
    shape: [2, 3],
    strides: [4, -4],
    offset: 16,
    itemBytes: 4,
  });
  expect(asStrided(view, [2], [0]).offset).toBe(8);
});

test("an operation leaves its argument as it was", () => {
  const view = Object.freeze({
    shape: Object.freeze([2, 1, 3]),
    strides: Object.freeze([12, 12, 4]),
    offset: 0,
    itemBytes: 4,
  });
  const results: View[] = [
    permute(view, [2, 0, 1]),
    transpose(view),
    flip(view),
    squeeze(view),
    expandDims(view, 0),
    broadcastTo(view, [2, 2, 3]),
    diagonal(view),
    slidingWindow(view, 2, 2),
  ];
  // Frozen arrays would have thrown; the results own theirs.
  for (const out of results) expect(Object.isFrozen(out.shape) || Object.isFrozen(out.strides)).toBe(false);
});

test("strides are never minus zero", () => {
  const still = broadcastTo(contiguousView([], 4), [3]);
  expect(Object.is(flip(still).strides[0], 0)).toBe(true);
});

test("mistakes name the operation, the fact, the values and the remedy", () => {
  const view = contiguousView([2, 3], 4);
  const vector = contiguousView([3], 4);
  const mistakes: (() => View)[] = [
    () => permute(view, [0]),
    () => permute(view, [0, 0]),
    () => permute(view, [0, 2]),
    () => swapAxes(view, 0, 5),
    () => moveAxis(view, [0, 1], 0),
    () => moveAxis(view, -3, 0),
    () => squeeze(view, 1),
    () => squeeze(vector, 1),
    () => expandDims(view, 3),
    () => expandDims(view, [0, 0]),
    () => flip(view, Number.NaN),
    () => broadcastTo(view, [3]),
    () => broadcastTo(view, [4, 3]),
    () => broadcastTo(view, [2, -3]),
    () => diagonal(vector),
    () => diagonal(view, 0, 1, -1),
    () => diagonal(view, 0.5),
    () => slidingWindow(view, 2),
    () => slidingWindow(view, [2, 2], 0),
    () => slidingWindow(view, 3, 0),
    () => slidingWindow(view, -1, 0),
    () => asStrided(view, [2, 2], [4]),
    () => asStrided(view, [2], [0.5]),
    () => asStrided(view, [2], [4], -4),
  ];
  expect(`\n${mistakes.map(messageOf).join("\n")}\n`).toMatchInlineSnapshot(`
    "
    permute: [0] names 1 axis of 2.
      Name every axis once.
    permute: axis 0 is named twice in [0, 0].
      Name each axis once.
    permute: axis 2 is out of range for rank 2.
      Use -2 … 1.
    swapAxes: axis 5 is out of range for rank 2.
      Use -2 … 1.
    moveAxis: 2 sources but 1 destination.
      Give one destination for each source.
    moveAxis: axis -3 is out of range for rank 2.
      Use -2 … 1.
    squeeze: axis 1 of [2, 3] has size 3.
      Only axes of size 1 can be dropped.
    squeeze: axis 1 is out of range for rank 1.
      Use -1 … 0.
    expandDims: axis 3 is out of range for rank 3.
      Use -3 … 2.
    expandDims: axis 0 is named twice in [0, 0].
      Name each axis once.
    flip: axis NaN is not an integer.
      Use -2 … 1.
    broadcastTo: [2, 3] has more axes than [3].
      Broadcasting adds axes, it never drops them; index or squeeze them first.
    broadcastTo: [2, 3] does not broadcast to [4, 3]: axis 0 is 2 against 4.
      Sizes, aligned at the right, must be equal, or 1 in the source.
    broadcastTo: size -3 of axis 1 in [2, -3] is not a size.
      Sizes are integers from 0.
    diagonal: [3] has 1 axis.
      A diagonal needs two axes.
    diagonal: axes 1 and -1 are the same axis.
      A diagonal needs two different axes.
    diagonal: offset 0.5 is not an integer.
      0 is the main diagonal, 1 the one above it.
    slidingWindow: 1 window size for 2 axes.
      Give a size for every axis, or name the axes.
    slidingWindow: 2 window sizes for 1 axis.
      Give one size for each named axis.
    slidingWindow: a window of 3 does not fit axis 0 of size 2.
      Use a window no longer than the axis.
    slidingWindow: window size -1 is not a size.
      Sizes are integers from 0.
    asStrided: shape [2, 2] and strides [4] differ in length.
      Give one stride for each axis.
    asStrided: stride 0.5 is not an integer.
      Strides are whole numbers of bytes.
    asStrided: offset -4 is not an offset.
      Offsets are integers from 0.
    "
  `);
});

test("the model itself: addresses of a transposed view, written out", () => {
  const expected: Nested = [
    [0, 12],
    [4, 16],
    [8, 20],
  ];
  expect(nest(transpose(contiguousView([2, 3], 4)))).toEqual(expected);
});
