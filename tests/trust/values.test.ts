/** Values that were wrong without a word: each mechanism, with everything it could reach. */
import { describe, expect, it } from "vitest";
import { arange, kernel, tensor } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: what plain JavaScript may pass
type Any = any;

describe("captured values that a kernel does not use", () => {
  const a = arange(4);
  const unused = [5n, true, 1.5, 3];

  it("have places of their own: kernels of one algebra are one only if those agree", () => {
    expect(kernel((x) => x * 3 + 2)(a).toArray()).toEqual([2, 5, 8, 11]);
    for (const k of unused) {
      expect(kernel((x: number, { k: _ }: Any) => x * 3 + 2, { k } as Any)(a).toArray()).toEqual([
        2, 5, 8, 11,
      ]);
    }
    const two = kernel((x: number, { p, q }: Any) => x * 3 + 2 + q * 0 + (p ? 0 : 0), { p: 1n, q: 7 } as Any);
    expect(two(a).toArray()).toEqual([2, 5, 8, 11]);
  });

  it("have them in folds, too", () => {
    for (const k of unused) {
      const scaled = kernel((x: number, { k: _, q }: Any) => x * q, { k, q: 3 } as Any);
      expect(scaled.reduce("sum")(a).item()).toBe(18);
      expect(
        scaled
          .reduce((acc, x) => acc * 0.5 + x)(a)
          .item(),
      ).toBe(12.75);
    }
  });
});

describe("a value that is seen as a narrower one", () => {
  it("stays what it is, in every lane", () => {
    const narrow = kernel((x: number) => x).as("u8");
    const large = kernel((x: number, { narrow }: Any) => (narrow(x) > 3 ? x : 0), { narrow });
    const values = [300, 2, 261, 7, 600, -1, 256, 1000, 300];
    const want = values.map((x) => (((x % 256) + 256) % 256 > 3 ? x : 0));
    expect(large(tensor(values, { dtype: "i32" })).toArray()).toEqual(want);
    const folded = large.reduce("sum")(tensor(values, { dtype: "i32" }));
    expect(Number(folded.item())).toBe(want.reduce((p, q) => p + q));
  });
});
