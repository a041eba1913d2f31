/** Window functions against SciPy's, and what holds of all of them. */
import { describe, expect, it } from "vitest";
import { explain, scope, type Tensor, TensorError, windows } from "../../src/index.ts";
import { testReference } from "./reference.ts";

type Plain = { readonly n: number; readonly periodic: boolean; readonly beta: number };
const cosine =
  (name: "hann" | "hamming" | "blackman" | "bartlett" | "flatTop") =>
  (_: readonly Tensor[], { n, periodic }: Plain) =>
    windows[name](n, { periodic, dtype: "f64" });

describe("windows", () => {
  testReference("windows", {
    hann: cosine("hann"),
    hamming: cosine("hamming"),
    blackman: cosine("blackman"),
    bartlett: cosine("bartlett"),
    flatTop: cosine("flatTop"),
    kaiser: (_, { n, periodic, beta }: Plain) => windows.kaiser(n, beta, { periodic, dtype: "f64" }),
  });

  const all = {
    hann: windows.hann,
    hamming: windows.hamming,
    blackman: windows.blackman,
    bartlett: windows.bartlett,
    flatTop: windows.flatTop,
    kaiser: (n: number, options?: windows.WindowOptions) => windows.kaiser(n, 8.6, options),
  };

  it("a few values by hand", () => {
    scope(() => {
      expect(windows.hann(5).toArray()).toEqual([0, 0.5, 1, 0.5, 0]);
      expect(windows.hann(4, { periodic: true }).toArray()).toEqual([0, 0.5, 1, 0.5]);
      expect(windows.bartlett(5, { dtype: "f64" }).toArray()).toEqual([0, 0.5, 1, 0.5, 0]);
      expect(windows.kaiser(3, 0).toArray()).toEqual([1, 1, 1]);
      expect(windows.hamming(3, { dtype: "f64" }).get(0)).toBeCloseTo(0.08, 15);
    });
  });

  it("symmetric ones are equal to the bit from both ends, periodic ones are one more without the last", () => {
    scope(() => {
      for (const make of Object.values(all)) {
        for (const n of [2, 7, 64, 1001]) {
          const symmetric = make(n, { dtype: "f64" }).toArray() as number[];
          expect(symmetric).toEqual([...symmetric].reverse());
          const longer = make(n + 1, { dtype: "f64" }).toArray() as number[];
          expect(make(n, { periodic: true, dtype: "f64" }).toArray()).toEqual(longer.slice(0, -1));
        }
      }
    });
  });

  it("they run compiled: no function is called", () => {
    for (const make of Object.values(all)) {
      scope(() => {
        const report = explain(() => make(100));
        expect(report.fallbacks).toEqual([]);
        expect(report.kernels.length).toBeGreaterThan(0);
        expect(report.result.dtype).toBe("f32");
      });
    }
  });

  it("lengths and options that are none are told", () => {
    const refusal = (fn: () => unknown) => {
      try {
        fn();
      } catch (error) {
        if (error instanceof TensorError) return error.message;
        throw error;
      }
      return "nothing was thrown";
    };
    const texts = [
      () => windows.hann(-1),
      () => windows.hann(2.5),
      () => windows.hann("8" as never),
      () => windows.kaiser(8, Number.NaN),
      () => windows.hann(8, { periodic: 1 as never }),
      () => windows.hann(8, { sym: true } as never),
    ];
    expect(texts.map(refusal).join("\n")).toMatchInlineSnapshot(`
      "windows.hann: size -1 of axis 0 in [-1] is not a size.
        Sizes are integers from 0.
      windows.hann: size 2.5 of axis 0 in [2.5] is not a size.
        Sizes are integers from 0.
      windows.hann: the length is the string "8".
        Give a whole number, such as 512.
      windows.kaiser: beta is the number NaN.
        Give a number, such as 8.6.
      windows.hann: periodic is the number 1.
        Use { periodic: true } or { periodic: false }.
      windows.hann: there is no option "sym".
        There are periodic, dtype."
    `);
  });
});
