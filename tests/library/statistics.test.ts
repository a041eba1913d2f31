import { describe } from "vitest";
import type { Tensor } from "../../src/index.ts";
import * as statistics from "../../src/library/statistics.ts";
import * as without from "../../src/library/statistics-nan.ts";
import { testReference } from "./reference.ts";

/** The tensors after the first, under the names that the case gives them. */
const named = (rest: readonly Tensor[], names: readonly string[] = []) =>
  Object.fromEntries(names.map((name, i) => [name, rest[i]]));

describe("statistics", () => {
  testReference("statistics", {
    median: ([x], o) => statistics.median(x, o),
    ptp: ([x], o) => statistics.ptp(x, o),
    quantile: ([x, tensor], { q, ...o }) => statistics.quantile(x, tensor ?? q, o),
    percentile: ([x], { q, ...o }) => statistics.percentile(x, q, o),
    bincount: ([x, ...rest], o) =>
      statistics.bincount(x, { ...o, ...named(rest, rest.length > 0 ? ["weights"] : []) }),
    histogram: ([x, ...rest], o) => {
      const { counts, edges } = statistics.histogram(x, {
        ...o,
        ...named(rest, rest.length > 0 ? ["weights"] : []),
      });
      return [counts, edges];
    },
    average: ([x, ...rest], o) =>
      statistics.average(x, { ...o, ...named(rest, rest.length > 0 ? ["weights"] : []) }),
    cov: ([x, ...rest], { with: names, ...o }) => statistics.cov(x, { ...o, ...named(rest, names) }),
    corrcoef: ([x, ...rest], { with: names, ...o }) =>
      statistics.corrcoef(x, { ...o, ...named(rest, names) }),
    diff: ([x, ...rest], { with: names, ...o }) => statistics.diff(x, { ...o, ...named(rest, names) }),
    cumulativeSum: ([x], o) => statistics.cumulativeSum(x, o),
    cumulativeProd: ([x], o) => statistics.cumulativeProd(x, o),
    nansum: ([x], o) => without.nansum(x, o),
    nanprod: ([x], o) => without.nanprod(x, o),
    nanmax: ([x], o) => without.nanmax(x, o),
    nanmin: ([x], o) => without.nanmin(x, o),
    nanmean: ([x], o) => without.nanmean(x, o),
    nanvar: ([x], o) => without.nanvar(x, o),
    nanstd: ([x], o) => without.nanstd(x, o),
    nanquantile: ([x], { q, ...o }) => without.nanquantile(x, q, o),
    nanpercentile: ([x], { q, ...o }) => without.nanpercentile(x, q, o),
    nanmedian: ([x], o) => without.nanmedian(x, o),
    interp: ([x, xp, fp], o) => statistics.interp(x, xp, fp, o),
  });
});
