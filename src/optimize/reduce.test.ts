import { describe, expect, it } from "vitest";
import type { DType } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id, Program } from "../ir/node.ts";
import { makeFold, recognise } from "./reduce.ts";
import { type FoldAxis, planFold, planFoldKernel, RUN } from "./reduce-plan.ts";

const fold = (make: (b: Builder, acc: Id, x: Id) => Id, acc: DType = "f32", x: DType = acc): Program => {
  const b = new Builder();
  return b.finish(make(b, b.input(0, acc), b.input(1, x)), [acc, x]);
};
const sum = fold((b, acc, x) => b.op("add", acc, x));
const squares = fold((b, acc, x) => b.op("add", b.op("mul", x, x), acc));
const horner = fold((b, acc, x) => b.op("add", b.op("mul", acc, x), x));

describe("what may be regrouped", () => {
  it("acc ∘ f(x) with an associative ∘, from either side", () => {
    expect(recognise(sum)?.op).toBe("add");
    expect(recognise(squares)?.op).toBe("add");
    expect(recognise(fold((b, acc, x) => b.op("bitXor", acc, x), "u8"))?.op).toBe("bitXor");
  });

  it("nothing that uses the accumulator twice, or another operation", () => {
    expect(recognise(horner)).toBeNull();
    expect(recognise(fold((b, acc) => b.op("add", acc, acc)))).toBeNull();
    expect(recognise(fold((b, acc, x) => b.op("sub", acc, x)))).toBeNull();
  });

  it("without a start value only if f(x) is the element: the first one is taken as it is", () => {
    expect(makeFold(sum, "f32", { startless: true }).algebra).not.toBeNull();
    expect(makeFold(squares, "f32", { startless: true }).algebra).toBeNull();
    expect(makeFold(squares, "f32").algebra).not.toBeNull();
  });

  it("sums and products of floats are carried in f64, other folds of half floats in f32", () => {
    expect(makeFold(sum, "f32").carry).toBe("f64");
    expect(
      makeFold(
        fold((b, acc, x) => b.op("max", acc, x), "f16"),
        "f16",
      ).carry,
    ).toBe("f32");
    expect(
      makeFold(
        fold((b, acc, x) => b.op("add", acc, x), "i16"),
        "i16",
      ).carry,
    ).toBe("i16");
    expect(makeFold(horner, "f32").carry).toBe("f32");
  });
});

describe("which loop runs in the lanes", () => {
  const axis = (size: number, stride: number, out = 0): FoldAxis => ({ size, inputs: [stride], out });
  const plan = (kept: FoldAxis[], folded: FoldAxis[], mayRegroup = true) =>
    planFold(kept, folded, [4], mayRegroup);

  it("a contiguous folded axis: rows, cut into runs where they are long", () => {
    expect(plan([axis(10, 400, 4)], [axis(100, 4)]).kind).toBe("rows");
    const long = plan([axis(10, 4e6, 4)], [axis(3 * RUN + 5, 4)]);
    expect(long).toMatchObject({ kind: "runs", lane: { size: RUN }, step: { size: 3 }, tail: 5 });
  });

  it("a contiguous kept axis: columns, and for every function that keeps its order", () => {
    expect(plan([axis(100, 4, 4)], [axis(10, 400)]).kind).toBe("columns");
    expect(plan([axis(10, 400, 4)], [axis(100, 4)], false).kind).toBe("columns");
    expect(plan([], [axis(100, 4)], false)).toMatchObject({ kind: "columns", lane: { size: 1 } });
  });

  it("a folded axis of a few elements is not worth lanes: pixels' channels are columns", () => {
    expect(plan([axis(1000, 12, 4)], [axis(3, 4)]).kind).toBe("columns");
  });

  it("a kernel's key says how operands lie, never how large they are", () => {
    const of = (n: number) =>
      planFoldKernel(makeFold(sum, "f32"), plan([axis(n, 4, 4)], [axis(n, 4 * n)]), [4], false, 4).key;
    expect(of(100)).toBe("columns:cC");
    expect(of(100)).toBe(of(57));
  });
});
