/** What callers can get wrong in sorting, searching, sets and statistics: always a TensorError that says what and why. */
import { describe, expect, it } from "vitest";
import { memory, scope, TensorError, tensor } from "../../src/index.ts";
import * as search from "../../src/library/search.ts";
import * as sets from "../../src/library/sets.ts";
import * as sorting from "../../src/library/sort.ts";
import * as statistics from "../../src/library/statistics.ts";
import * as without from "../../src/library/statistics-nan.ts";

const vector = () => tensor([3, 1, 2]);
const matrix = () =>
  tensor([
    [1, 2],
    [3, 4],
  ]);
const gone = () => {
  const t = vector();
  t.dispose();
  return t;
};

/** Values that no argument should be; each takes the place of each argument in turn. */
const oddities: readonly unknown[] = [
  undefined,
  null,
  "x",
  Number.NaN,
  -1,
  1.5,
  1e20,
  2 ** 31,
  10n ** 30n,
  true,
  [],
  [[1, 2]],
  {},
  () => 1,
  { axis: 9 },
  { axis: "x" },
  { axis: Number.NaN },
  { axis: [0, 0] },
  { n: -1 },
  { n: 1.5 },
  { side: "up" },
  { method: "x" },
  { bins: -1 },
  { bins: "auto" },
  { bins: [1] },
  { range: [1] },
  { range: [Number.NaN, 1] },
  { weights: 1 },
  { minlength: -1 },
  { descending: 1 },
  { stable: "yes" },
  { keepdims: 1 },
  { sorter: [1] },
  { prepend: "x" },
  { period: 0 },
  { left: "x" },
];

type AnyFunction = (...args: unknown[]) => unknown;
const functions: Readonly<Record<string, { readonly fn: unknown; readonly args: () => readonly unknown[] }>> =
  {
    sort: { fn: sorting.sort, args: () => [vector(), {}] },
    argsort: { fn: sorting.argsort, args: () => [vector(), {}] },
    topk: { fn: sorting.topk, args: () => [vector(), 2, {}] },
    lexsort: { fn: sorting.lexsort, args: () => [[vector(), vector()]] },
    searchsorted: { fn: search.searchsorted, args: () => [vector(), vector(), {}] },
    digitize: { fn: search.digitize, args: () => [vector(), tensor([1, 2]), {}] },
    unique: { fn: sets.unique, args: () => [vector(), {}] },
    uniqueValues: { fn: sets.uniqueValues, args: () => [vector()] },
    uniqueCounts: { fn: sets.uniqueCounts, args: () => [vector()] },
    uniqueInverse: { fn: sets.uniqueInverse, args: () => [vector()] },
    uniqueAll: { fn: sets.uniqueAll, args: () => [vector()] },
    isin: { fn: sets.isin, args: () => [vector(), matrix(), {}] },
    union1d: { fn: sets.union1d, args: () => [vector(), matrix()] },
    intersect1d: { fn: sets.intersect1d, args: () => [vector(), matrix(), {}] },
    setdiff1d: { fn: sets.setdiff1d, args: () => [vector(), matrix(), {}] },
    setxor1d: { fn: sets.setxor1d, args: () => [vector(), matrix(), {}] },
    median: { fn: statistics.median, args: () => [matrix(), {}] },
    quantile: { fn: statistics.quantile, args: () => [matrix(), 0.5, {}] },
    percentile: { fn: statistics.percentile, args: () => [matrix(), 50, {}] },
    ptp: { fn: statistics.ptp, args: () => [matrix(), {}] },
    bincount: { fn: statistics.bincount, args: () => [tensor([1n, 2n]), {}] },
    histogram: { fn: statistics.histogram, args: () => [matrix(), {}] },
    average: { fn: statistics.average, args: () => [matrix(), {}] },
    cov: { fn: statistics.cov, args: () => [matrix(), {}] },
    corrcoef: { fn: statistics.corrcoef, args: () => [matrix(), {}] },
    diff: { fn: statistics.diff, args: () => [matrix(), {}] },
    cumulativeSum: { fn: statistics.cumulativeSum, args: () => [vector(), {}] },
    cumulativeProd: { fn: statistics.cumulativeProd, args: () => [vector(), {}] },
    nansum: { fn: without.nansum, args: () => [matrix(), {}] },
    nanprod: { fn: without.nanprod, args: () => [matrix(), {}] },
    nanmax: { fn: without.nanmax, args: () => [matrix(), {}] },
    nanmin: { fn: without.nanmin, args: () => [matrix(), {}] },
    nanmean: { fn: without.nanmean, args: () => [matrix(), {}] },
    nanvar: { fn: without.nanvar, args: () => [matrix(), {}] },
    nanstd: { fn: without.nanstd, args: () => [matrix(), {}] },
    nanquantile: { fn: without.nanquantile, args: () => [matrix(), 0.5, {}] },
    nanpercentile: { fn: without.nanpercentile, args: () => [matrix(), 50, {}] },
    nanmedian: { fn: without.nanmedian, args: () => [matrix(), {}] },
    interp: { fn: statistics.interp, args: () => [vector(), tensor([1, 2]), tensor([1, 2]), {}] },
  };

describe("odd arguments", () => {
  for (const [name, { fn, args }] of Object.entries(functions)) {
    it(`${name} takes them or throws a TensorError, and leaves nothing behind`, () => {
      const before = memory().tensors;
      const count = scope(() => args().length);
      for (let i = 0; i < count; i++) {
        for (const odd of [...oddities, "disposed"]) {
          scope(() => {
            const given = [...args()];
            given[i] = odd === "disposed" ? gone() : odd;
            try {
              (fn as AnyFunction)(...given);
            } catch (error) {
              expect(error, `${name}, argument ${i}: ${String(error)}`).toBeInstanceOf(TensorError);
              expect((error as TensorError).code, String(error)).not.toBe("internal");
            }
          });
        }
      }
      expect(memory().tensors).toBe(before);
    });
  }
});

/** The message of what `fn` throws. */
function messageOf(fn: () => unknown): string {
  try {
    scope(fn);
  } catch (error) {
    if (error instanceof TensorError) return error.message;
    throw error;
  }
  return "nothing was thrown";
}

describe("messages", () => {
  it("name the operation, the fact and the remedy", () => {
    expect(messageOf(() => sorting.sort(tensor(3)))).toMatchInlineSnapshot(`
      "sort: axis -1 is out of range for rank 0.
        A 0-d tensor has no axes."
    `);
    expect(messageOf(() => sorting.sort(matrix(), { axis: 2 }))).toMatchInlineSnapshot(`
      "sort: axis 2 is out of range for rank 2.
        Use -2 … 1."
    `);
    expect(messageOf(() => sorting.sort(gone()))).toMatchInlineSnapshot(`
      "sort: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
    expect(messageOf(() => sorting.topk(vector(), 4))).toMatchInlineSnapshot(`
      "topk: k is the number 4.
        The axis has 3 elements: use 0 … 3."
    `);
    expect(messageOf(() => sorting.argsort(vector(), { descending: 1 as never }))).toMatchInlineSnapshot(`
      "argsort: descending is the number 1.
        Use { descending: true } or { descending: false }."
    `);
    expect(messageOf(() => search.searchsorted(matrix(), 1))).toMatchInlineSnapshot(`
      "searchsorted: the sorted tensor has shape [2, 2].
        Give a vector: reshape(-1) makes one."
    `);
    expect(
      messageOf(() => search.searchsorted(vector(), 1, { sorter: tensor([0n, 1n, 3n]) })),
    ).toMatchInlineSnapshot(`
      "searchsorted: position 3 is out of range.
        Use 0 … 2."
    `);
    expect(
      messageOf(() => search.searchsorted(vector(), 1, { sorter: tensor([0n, 1n]) })),
    ).toMatchInlineSnapshot(`
      "searchsorted: the sorter is i64 [2], the tensor [3].
        Give one integer position for each element, as argsort does."
    `);
    expect(messageOf(() => search.digitize(1, vector()))).toMatchInlineSnapshot(`
      "digitize: the edges neither rise nor fall throughout.
        Sort them first: sort(edges)."
    `);
    expect(messageOf(() => statistics.quantile(vector(), 2))).toMatchInlineSnapshot(`
      "quantile: q is the number 2.
        Use numbers from 0 to 1."
    `);
    expect(messageOf(() => statistics.percentile(vector(), 101))).toMatchInlineSnapshot(`
      "percentile: q is the number 101.
        Use numbers from 0 to 100."
    `);
    expect(messageOf(() => statistics.quantile(tensor([]), 0.5))).toMatchInlineSnapshot(`
      "quantile: nothing to choose from: the tensor is [0].
        Fold an axis that has elements."
    `);
    expect(
      messageOf(() => statistics.quantile(vector(), 0.5, { method: "x" as never })),
    ).toMatchInlineSnapshot(`
      "quantile: the method is the string "x".
        Use one of linear lower higher nearest midpoint invertedCdf averagedInvertedCdf closestObservation interpolatedInvertedCdf hazen weibull medianUnbiased normalUnbiased."
    `);
    expect(messageOf(() => statistics.bincount(vector()))).toMatchInlineSnapshot(`
      "bincount: the elements are f32.
        Counts are of integers: convert with to("i64")."
    `);
    expect(messageOf(() => statistics.bincount(tensor([1n, -4n])))).toMatchInlineSnapshot(`
      "bincount: an element is -4.
        Counts are of integers from 0."
    `);
    expect(messageOf(() => statistics.histogram(tensor([1, Number.NaN])))).toMatchInlineSnapshot(`
      "histogram: the range is from NaN to NaN.
        Give two finite numbers in order: { range: [0, 1] }."
    `);
    expect(messageOf(() => statistics.histogram(vector(), { bins: [2, 1] }))).toMatchInlineSnapshot(`
      "histogram: the edges are not in order.
        Give at least two, each not below the one before."
    `);
    expect(messageOf(() => statistics.average(vector(), { weights: tensor([1, 2]) }))).toMatchInlineSnapshot(`
      "average: weights are [2], the tensor is [3].
        Say which axis they belong to."
    `);
    expect(messageOf(() => statistics.cov(tensor([[[1]]])))).toMatchInlineSnapshot(`
      "cov: the tensor has 3 axes.
        Give a vector or a matrix of observations."
    `);
    expect(messageOf(() => statistics.diff(vector(), { n: -1 }))).toMatchInlineSnapshot(`
      "diff: n is the number -1.
        Use a whole number from 0."
    `);
    expect(
      messageOf(() => statistics.diff(matrix(), { append: tensor([[1, 2, 3]]) })),
    ).toMatchInlineSnapshot(`
      "diff: shapes [2, 2] and [1, 3] differ.
        All sizes but that of axis 1 must agree."
    `);
    expect(messageOf(() => statistics.interp(1, vector(), tensor([1])))).toMatchInlineSnapshot(`
      "interp: xp has 3 elements, fp has 1.
        Give one value for each point."
    `);
  });
});

describe("infinities", () => {
  it("an infinite neighbour without a part in a quantile does not make it NaN", () => {
    scope(() => {
      const t = tensor([1, 2, Infinity], { dtype: "f64" });
      expect(statistics.quantile(t, [0, 0.5, 1]).toArray()).toEqual([1, 2, Infinity]);
      expect(statistics.quantile(t, 0.75).item()).toBe(Number.NaN);
      expect(statistics.median(tensor([1, Infinity])).item()).toBe(Infinity);
    });
  });
});
