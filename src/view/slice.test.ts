import fc from "fast-check";
import { expect, test } from "vitest";
import { type SliceItem, slice } from "./slice.ts";
import { messageOf, type Nested, nest, samples } from "./testing.ts";
import { broadcastTo, contiguousView, extent, type View } from "./view.ts";

type Bound = number | null;

/** The indices Python's a[start:stop:step] visits, by walking. */
function pythonRange(start: Bound, stop: Bound, step: number, n: number): number[] {
  const visited: number[] = [];
  if (step > 0) {
    const from = start === null ? 0 : start < 0 ? Math.max(start + n, 0) : start;
    const to = stop === null ? n : stop < 0 ? stop + n : Math.min(stop, n);
    for (let i = from; i < to; i += step) visited.push(i);
  } else {
    const from = start === null ? n - 1 : start < 0 ? start + n : Math.min(start, n - 1);
    const to = stop === null ? -1 : stop < 0 ? Math.max(stop + n, -1) : stop;
    for (let i = from; i > to; i += step) visited.push(i);
  }
  return visited;
}

type Choice =
  | { readonly kind: "index"; readonly i: number }
  | { readonly kind: "range"; readonly bounds: readonly [Bound, Bound, Bound]; readonly asText: boolean }
  | { readonly kind: "newAxis" };

/** The nested list that the choices select from a nested list. */
function select(node: Nested, choices: readonly Choice[]): Nested {
  if (choices.length === 0) return node;
  const [choice, ...rest] = choices;
  if (choice.kind === "newAxis") return [select(node, rest)];
  const rows = node as readonly Nested[];
  if (choice.kind === "index") return select(rows[choice.i < 0 ? choice.i + rows.length : choice.i], rest);
  const [start, stop, step] = choice.bounds;
  return pythonRange(start, stop, step ?? 1, rows.length).map((i) => select(rows[i], rest));
}

function toItem(choice: Choice): SliceItem {
  if (choice.kind === "newAxis") return null;
  if (choice.kind === "index") return choice.i;
  return choice.asText ? choice.bounds.map((bound) => bound ?? "").join(" : ") : choice.bounds;
}

const bound = fc.option(fc.integer({ min: -8, max: 8 }));
const step = fc.option(fc.constantFrom(1, 2, 3, -1, -2, -3, 100, -100));

/** A view, one choice for each axis, and new axes between them. */
const cases: fc.Arbitrary<{ view: View; bytes: number; choices: readonly Choice[] }> = samples.chain(
  (sample) =>
    fc
      .tuple(
        ...sample.view.shape.map((n): fc.Arbitrary<readonly Choice[]> => {
          const range = fc
            .record({ bounds: fc.tuple(bound, bound, step), asText: fc.boolean() })
            .map((r): Choice => ({ kind: "range", ...r }));
          const index = fc
            .integer({ min: -n, max: n - 1 === -1 ? 0 : n - 1 })
            .map((i): Choice => ({ kind: "index", i }));
          const one = n === 0 ? range : fc.oneof({ weight: 3, arbitrary: range }, index);
          return fc
            .tuple(one, fc.nat(9))
            .map(([choice, k]): readonly Choice[] => (k === 0 ? [{ kind: "newAxis" }, choice] : [choice]));
        }),
      )
      .map((groups) => ({ ...sample, choices: groups.flat() })),
);

test("slice selects what Python selects from the nested list", () => {
  fc.assert(
    fc.property(cases, ({ view, bytes, choices }) => {
      const out = slice(view, choices.map(toItem));
      // An empty axis of the nested list hides the sizes inside it; the elements are compared all the same.
      expect(nest(out)).toEqual(select(nest(view), choices));
      const { start, end } = extent(out);
      expect(start >= 0 && end <= bytes).toBe(true);
    }),
    { numRuns: 600 },
  );
});

test("a slice of a slice selects from the selection", () => {
  fc.assert(
    fc.property(samples, bound, bound, step, bound, bound, step, ({ view }, a, b, c, d, e, f) => {
      if (view.shape.length === 0) return;
      const once = slice(view, [[a, b, c]]);
      const twice = slice(once, [[d, e, f]]);
      const first = pythonRange(a, b, c ?? 1, view.shape[0]);
      const second = pythonRange(d, e, f ?? 1, first.length).map((i) => first[i]);
      expect(nest(twice)).toEqual(second.map((i) => (nest(view) as readonly Nested[])[i]));
    }),
    { numRuns: 300 },
  );
});

test("every start, stop and step of a short axis is Python's", () => {
  const axis = contiguousView([3], 1);
  const bounds = [null, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5];
  for (const start of bounds) {
    for (const stop of bounds) {
      for (const by of [-4, -3, -2, -1, 1, 2, 3, 4]) {
        expect(nest(slice(axis, [[start, stop, by]]))).toEqual(pythonRange(start, stop, by, 3));
      }
    }
  }
});

test("the documents' example: base[:, ::2] has strides (4, 2) and copies nothing", () => {
  const base = contiguousView([2, 4], 4);
  expect(slice(base, [":", "::2"])).toEqual({ shape: [2, 2], strides: [16, 8], offset: 0, itemBytes: 4 });
});

test("an ellipsis stands for all axes that no other item takes", () => {
  const view = contiguousView([2, 3, 4, 5], 1);
  expect(slice(view, ["...", 0]).shape).toEqual([2, 3, 4]);
  expect(slice(view, [1, "...", "::2"]).shape).toEqual([3, 4, 3]);
  expect(slice(view, [0, "...", 0, 0, 0]).shape).toEqual([]);
  expect(slice(view, ["...", null]).shape).toEqual([2, 3, 4, 5, 1]);
  expect(slice(view, ["..."])).toEqual(view);
  expect(slice(view, [])).toEqual(view);
});

test("an integer in a string is an integer, and blanks do not matter", () => {
  const view = contiguousView([4, 5], 1);
  expect(slice(view, ["3"])).toEqual(slice(view, [3]));
  expect(slice(view, [" -1 "])).toEqual(slice(view, [-1]));
  expect(slice(view, ["+1"])).toEqual(slice(view, [1]));
  expect(slice(view, [" 1 : 3 ", " : : 2"])).toEqual(slice(view, ["1:3", "::2"]));
  expect(slice(view, [" ... "])).toEqual(view);
});

test("short ranges leave the rest open", () => {
  const view = contiguousView([6], 1);
  expect(slice(view, [[2]])).toEqual(slice(view, ["2:"]));
  expect(slice(view, [[null, 3]])).toEqual(slice(view, [":3"]));
  expect(slice(view, [[null, null, -1]])).toEqual(slice(view, ["::-1"]));
});

test("a 0-d view can be sliced by nothing and gain axes", () => {
  const scalar = contiguousView([], 8);
  expect(slice(scalar, [])).toEqual(scalar);
  expect(slice(scalar, [null, "...", null]).shape).toEqual([1, 1]);
});

test("a view without elements keeps its offset", () => {
  const view = contiguousView([5, 0], 4);
  expect(slice(view, [4]).offset).toBe(0);
  expect(slice(view, ["::-1", "::-1"]).offset).toBe(0);
  expect(slice(contiguousView([5], 4, 8), ["5:"])).toEqual({
    shape: [0],
    strides: [4],
    offset: 8,
    itemBytes: 4,
  });
});

test("a step beyond the axis keeps strides exact, and a repeated axis never gets stride minus zero", () => {
  const far = slice(contiguousView([5], 4), [[1, null, Number.MAX_VALUE]]);
  expect(far.shape).toEqual([1]);
  expect(Number.isSafeInteger(far.strides[0])).toBe(true);
  expect(slice(contiguousView([5], 4), ["99999999999999999999:"]).shape).toEqual([0]);
  expect(Object.is(slice(broadcastTo(contiguousView([], 4), [3]), ["::-1"]).strides[0], 0)).toBe(true);
});

test("mistakes name the operation, the fact, the values and the remedy", () => {
  const view = contiguousView([2, 3], 4);
  const bad = (...items: unknown[]): string => messageOf(() => slice(view, items as SliceItem[]));
  const messages = [
    bad(0, 5),
    bad(-3),
    bad("7"),
    bad(0, 0, 0),
    bad(null, 0, ":", 0),
    bad("...", "..."),
    bad("::0"),
    bad([null, null, 0]),
    bad("a:b"),
    bad("1:2:3:4"),
    bad(""),
    bad("1.5:"),
    bad("- 1:"),
    bad(0.5),
    bad(Number.NaN),
    bad(Number.POSITIVE_INFINITY),
    bad([0.5, 1]),
    bad([0, Number.NaN]),
    bad([0, Number.POSITIVE_INFINITY]),
    bad([0, undefined]),
    bad(["1", 2]),
    bad([]),
    bad([1, 2, 3, 4]),
    bad(undefined),
    bad({}),
    messageOf(() => slice(contiguousView([], 4), [0])),
    messageOf(() => slice(contiguousView([3], 4), [0, 0])),
    messageOf(() => slice(contiguousView([0], 4), [0])),
  ];
  expect(`\n${messages.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    slice: index 5 is out of range for axis 1 of size 3.
      Use -3 … 2.
    slice: index -3 is out of range for axis 0 of size 2.
      Use -2 … 1.
    slice: index 7 is out of range for axis 0 of size 2.
      Use -2 … 1.
    slice: 0, 0, 0 takes 3 axes of [2, 3].
      Give at most 2 indices; null adds an axis and takes none.
    slice: null, 0, ":", 0 takes 3 axes of [2, 3].
      Give at most 2 indices; null adds an axis and takes none.
    slice: "...", "..." has 2 "...".
      Use "..." at most once.
    slice: "::0" has step 0.
      A step is at least 1, or at most -1.
    slice: [null, null, 0] has step 0.
      A step is at least 1, or at most -1.
    slice: "a:b" is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: "1:2:3:4" is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: "" is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: "1.5:" is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: "- 1:" is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: index 0.5 for axis 0 is not an integer.
      Use -2 … 1.
    slice: index NaN for axis 0 is not an integer.
      Use -2 … 1.
    slice: index Infinity for axis 0 is not an integer.
      Use -2 … 1.
    slice: [0.5, 1] has the bound 0.5.
      Bounds are integers; null leaves one open.
    slice: [0, NaN] has the bound NaN.
      Bounds are integers; null leaves one open.
    slice: [0, Infinity] has the bound Infinity.
      Bounds are integers; null leaves one open.
    slice: [0, undefined] has the bound undefined.
      Bounds are integers; null leaves one open.
    slice: ["1", 2] has the bound "1".
      Bounds are integers; null leaves one open.
    slice: [] has 0 bounds.
      Write [start, stop, step]; null is open.
    slice: [1, 2, 3, 4] has 4 bounds.
      Write [start, stop, step]; null is open.
    slice: undefined is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: an object is not an index.
      Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".
    slice: 0 takes 1 axis of [].
      A 0-d tensor has no axis to index.
    slice: 0, 0 takes 2 axes of [3].
      Give at most 1 index; null adds an axis and takes none.
    slice: index 0 is out of range for axis 0 of size 0.
      The axis is empty: it has no index.
    "
  `);
});
