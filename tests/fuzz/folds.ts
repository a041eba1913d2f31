/** Random folds and scans: compiled equals interpreted, to the bit, over any axes of any layout. */
import { compareFold, compareScan, type FoldCase, foldCases } from "../compiled/folds.ts";
import { family } from "./family.ts";
import { switched } from "./kernels.ts";

export const folds = family<FoldCase>({
  name: "folds",
  law: "folds of any function over any axes of any layout, in SIMD, equal the interpreter",
  cases: foldCases,
  check: compareFold,
  gate: 2000,
});

export const foldsScalar = family<FoldCase>({
  name: "folds-scalar",
  law: "folds of any function over any axes of any layout, in scalar code, equal the interpreter",
  cases: foldCases,
  check: (c) => switched("simd", false, () => compareFold(c)),
  gate: 1000,
});

export const scans = family<FoldCase>({
  name: "scans",
  law: "scans of any function along any axis of any layout equal the interpreter",
  cases: foldCases,
  check: compareScan,
  gate: 1000,
});
