import { describe } from "vitest";
import type { Tensor } from "../../src/index.ts";
import {
  intersect1d,
  isin,
  setdiff1d,
  setxor1d,
  union1d,
  unique,
  uniqueAll,
  uniqueCounts,
  uniqueInverse,
  uniqueValues,
} from "../../src/library/sets.ts";
import { testReference } from "./reference.ts";

describe("sets", () => {
  testReference("sets", {
    unique: ([x], o) => {
      if (!o.returnCounts) return unique(x);
      const { values, counts } = unique(x, { returnCounts: true });
      return [values, counts];
    },
    unique_all: ([x], { equalNan }) => {
      const all = { returnIndex: true, returnInverse: true, returnCounts: true } as const;
      const { values, indices, inverseIndices, counts } = equalNan ? unique(x, all) : uniqueAll(x);
      return [values, indices, inverseIndices, counts];
    },
    unique_axis: ([x], { axis }) => {
      const all = { axis, returnIndex: true, returnInverse: true, returnCounts: true } as const;
      const { values, indices, inverseIndices, counts } = unique(x, all);
      return [values, indices, inverseIndices, counts];
    },
    unique_values: ([x]) => uniqueValues(x),
    unique_counts: ([x]) => {
      const { values, counts } = uniqueCounts(x);
      return [values, counts];
    },
    unique_inverse: ([x]) => {
      const { values, inverseIndices } = uniqueInverse(x);
      return [values, inverseIndices];
    },
    isin: ([a, b], o) => isin(a, b, o),
    union1d: ([a, b]) => union1d(a, b),
    intersect1d: ([a, b], o): Tensor | readonly Tensor[] => {
      if (!o.returnIndices) return intersect1d(a, b);
      const { values, indices } = intersect1d(a, b, { returnIndices: true });
      return [values, ...indices];
    },
    setdiff1d: ([a, b], o) => setdiff1d(a, b, o),
    setxor1d: ([a, b], o) => setxor1d(a, b, o),
  });
});
