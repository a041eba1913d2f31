/** Copies and conversions: any pair of dtypes, any strides, within one piece of memory too. */
import fc from "fast-check";
import { convert, type DType, dtypeNames } from "../../src/dtype.ts";
import { scope } from "../../src/index.ts";
import { family } from "./family.ts";
import {
  anyLay,
  expectValues,
  filled,
  type Lay,
  type Placed,
  placed,
  plainLay,
  positions,
  valuesOf,
  viewOf,
} from "./memory.ts";

export interface CopyCase {
  readonly how: "assign" | "assignFlat" | "to";
  readonly from: DType;
  readonly to: DType;
  readonly shape: readonly number[];
  readonly source: Lay;
  readonly target: Lay;
  /** The source lies in the target's memory, so many elements on; null: in memory of its own. */
  readonly within: number | null;
  readonly seed: number;
}

export const sizes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 3, arbitrary: fc.constantFrom(7, 8, 16, 17, 33, 64, 65) },
  { weight: 1, arbitrary: fc.constant(0) },
);
export const shapeUpTo = (most: number, maxLength = 4) =>
  fc.array(sizes, { maxLength }).filter((shape) => shape.reduce((p, n) => p * n, 1) <= most);

const cases: fc.Arbitrary<CopyCase> = fc
  .record({
    how: fc.constantFrom("assign" as const, "assign" as const, "assignFlat" as const, "to" as const),
    from: fc.constantFrom(...dtypeNames),
    to: fc.constantFrom(...dtypeNames),
    shape: shapeUpTo(5000),
    source: anyLay,
    target: plainLay,
    within: fc.option(fc.nat(40), { freq: 3 }),
    seed: fc.nat(2 ** 30),
  })
  .map((c) => (c.within === null ? c : { ...c, from: c.to }));

/** The whole of the target's memory is compared, so that nothing beside it may change. */
function check(c: CopyCase): boolean {
  return scope(() => {
    const source = placed(c.shape, c.source);
    const target = placed(c.how === "assignFlat" ? [...c.shape].reverse() : c.shape, c.target);
    const shifted: Placed = { ...source, offset: source.offset + (c.within ?? 0) };
    const room = c.within === null ? target.room : Math.max(target.room, source.room + c.within);
    const into = filled(c.to, room, "any", c.seed + 1);
    const from = c.within === null ? filled(c.from, source.room, "any", c.seed) : into;
    const values = valuesOf(from);
    const moved = positions(shifted).map((at) => convert(values[at], c.from, c.to));
    const view = viewOf(from, shifted);
    if (c.how === "to") {
      expectValues(valuesOf(view.to(c.to)), moved, "the result");
      return true;
    }
    const want = valuesOf(into);
    positions(target).forEach((at, i) => {
      want[at] = moved[i];
    });
    viewOf(into, target)[c.how](view);
    expectValues(valuesOf(into), want, "the target's memory");
    return true;
  });
}

export const copies = family<CopyCase>({
  name: "copies",
  law: "copies between any dtypes and any strides move each element as convert does, as if the source had been copied first",
  cases,
  check,
  gate: 1500,
});
