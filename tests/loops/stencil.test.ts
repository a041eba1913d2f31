/** stencil and mapIndex: every edge, layout and dtype, against the same said element by element. */
import { describe, expect, test } from "vitest";
import {
  arange,
  arrayEqual,
  mapIndex,
  type PadMode,
  pad,
  stencil,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";
import { refused } from "../refused.ts";

const modes: readonly PadMode[] = ["constant", "edge", "reflect", "symmetric", "wrap"];
const five = (at: (...o: number[]) => number) => at(0, 0) * 4 - at(-1, 0) - at(1, 0) - at(0, -1) - at(0, 2);

/** The same on a padded copy, by get. */
function slowly(t: Tensor, edge: PadMode, value: number): number[][] {
  const around = pad(t, 2, edge === "constant" ? { value } : { mode: edge });
  const [m, n] = t.shape;
  const get = (i: number, j: number) => Number(around.get(i + 2, j + 2));
  return Array.from({ length: m }, (_, i) =>
    Array.from({ length: n }, (_, j) => five((di, dj) => get(i + di, j + dj))),
  );
}

describe("stencil", () => {
  test("every edge, on layouts and sizes down to one element", () => {
    const base = arange(120, { dtype: "f64" })
      .reshape([10, 12])
      .map((x) => (x * 37) % 101);
    const layouts: Tensor[] = [
      base,
      base.T,
      base.slice("::-1", "::2"),
      base.slice("0:1", ":"),
      base.slice(":", "3:4"),
      base.slice("2:3", "5:6"),
      base.slice("0:2", "0:3"),
      base.slice("4:4", ":"),
    ];
    for (const edge of modes) {
      const run = stencil(five, edge === "constant" ? { edge, value: 7 } : { edge });
      for (const t of layouts) {
        if (edge !== "constant" && t.size === 0) {
          expect(run(t).shape).toEqual(t.shape);
          continue;
        }
        expect(run(t).toArray()).toEqual(slowly(t, edge, 7));
      }
    }
  });

  test("dtypes as in kernels, one axis and three, captured values, loops and tables", () => {
    const blur = stencil((at) => (at(-1) + at(0) + at(1)) / 3, { edge: "edge" });
    expect(blur(tensor([0, 3, 9], { dtype: "f32" })).toArray()).toEqual([1, 4, 7]);
    expect(blur(tensor([0, 3, 9], { dtype: "u8" })).dtype).toBe("f64");
    const most = stencil((at) => Math.max(at(0), at(1)), { dtype: "i32" });
    expect(most(tensor([1, 5, 2], { dtype: "u8" })).toArray()).toEqual([5, 5, 2]);
    const cube = stencil((at) => at(0, 0, 1) + at(-1, 0, 0), { edge: "wrap" });
    expect(
      cube(arange(8, { dtype: "i32" }).reshape([2, 2, 2]))
        .reshape([8])
        .toArray(),
    ).toEqual([5, 5, 9, 9, 5, 5, 9, 9]);
    const weights = tensor([1, 10, 100], { dtype: "f64" });
    const weighed = stencil(
      (at, { weights, k }: { weights: Tensor; k: number }) => {
        let sum = 0;
        for (let d = -1; d <= 1; d++) sum += at(d) * Number(weights.get(d + 1));
        while (sum > 1000) sum -= k;
        return sum;
      },
      { edge: "wrap", with: { weights, k: 500 } },
    );
    expect(weighed(tensor([1, 2, 3], { dtype: "f64" })).toArray()).toEqual([213, 321, 132]);
  });

  test("into an output, which may overlap: nothing is read that was written", () => {
    const t = arange(30, { dtype: "f64" }).reshape([5, 6]);
    const sum = stencil((at) => at(-1, 0) + at(0, 1), { edge: "reflect" });
    const want = sum(t).toArray();
    const out = zeros([5, 6], { dtype: "f64" });
    expect(sum.into(out, t)).toBe(out);
    expect(out.toArray()).toEqual(want);
    const turned = zeros([6, 5], { dtype: "f64" }).T;
    expect(sum.into(turned, t).toArray()).toEqual(want);
    sum.into(t, t);
    expect(t.toArray()).toEqual(want);
  });

  test("what is no stencil, or does not fit, is refused", () => {
    expect(refused(() => stencil((at) => at(Math.random())))).toMatchInlineSnapshot(`
      "(kernel) stencil: cannot compile Math.random; a kernel gives the same value for the same element.
        (at) => at(Math.random())
                   ^^^^^^^^^^^^^"
    `);
    expect(refused(() => stencil((at) => at(0) + at(1, 0)))).toMatchInlineSnapshot(`
      "(kernel) stencil: this offset has 2 numbers, another has 1.
        (at) => at(0) + at(1, 0)
                        ^^^^^^^^
        Give one for each axis of the tensor."
    `);
    expect(refused(() => stencil(() => 1))).toMatchInlineSnapshot(`
      "(kernel) stencil: the stencil asks for no element.
        () => 1
        ^^^^^^^
        Call the first parameter: at => at(-1) + at(1)."
    `);
    expect(refused(() => stencil((at) => at(0), { edge: "mirror" as never }))).toMatchInlineSnapshot(`
      "(value) stencil: edge is the string "mirror".
        Use one of constant edge reflect symmetric wrap."
    `);
    expect(refused(() => stencil((at) => at(0))(zeros([2, 2])))).toMatchInlineSnapshot(`
      "(shape) stencil: the tensor is [2, 2], the stencil has offsets of 1 axis.
        Give at(…) an offset for each axis."
    `);
    expect(refused(() => stencil((at) => at(0)).into(zeros([3]), zeros([2])))).toMatchInlineSnapshot(`
      "(shape) stencil: the output is [3], the tensor [2].
        They have one shape."
    `);
  });
});

test("a stencil computes in what it is told to, and stores what it is told to", () => {
  const bright = tensor([[200, 100, 255, 200]], { dtype: "u8" });
  const mean = (at: (...o: number[]) => number) => (at(0, -1) + at(0, 0) + at(0, 1)) / 3;
  for (const edge of modes) {
    const exact = stencil(mean, { edge })(bright.to("f32"));
    const got = stencil(mean, { edge, compute: "f32" })(bright);
    expect([got.dtype, arrayEqual(got, exact)]).toEqual(["f32", true]);
    const bytes = stencil(mean, { edge, compute: "f32", dtype: "u8" });
    expect(arrayEqual(bytes(bright), exact.to("u8"))).toBe(true);
    expect(arrayEqual(bytes.into(zeros([1, 4], { dtype: "u8" }), bright), exact.to("u8"))).toBe(true);
  }
  expect(stencil(mean)(bright).get(0, 2)).toBe(((100 + 255 + 200) % 256) / 3);
});

describe("mapIndex", () => {
  test("gives each element its index, in any layout, and keeps the dtype", () => {
    const t = arange(12, { dtype: "f32" }).reshape([3, 4]);
    const place = mapIndex(t, (x, i, j) => x * 100 + i * 10 + j);
    expect(place.dtype).toBe("f32");
    expect(place.get(2, 3)).toBe(1123);
    const turned = mapIndex(t.T, (x, i, j) => x * 100 + i * 10 + j);
    expect(turned.get(3, 2)).toBe(1132);
    const whole = mapIndex(tensor([5, 6], { dtype: "u8" }), (x, i) => x + i);
    expect([whole.dtype, whole.toArray()]).toEqual(["i32", [5, 7]]);
    expect(mapIndex(tensor(3), (x) => x + 1).item()).toBe(4);
    expect(
      arrayEqual(
        mapIndex(t, (x) => x),
        t,
      ),
    ).toBe(true);
    expect(mapIndex(t, (x, i) => x > i).dtype).toBe("bool");
  });

  test("with loops and tables", () => {
    const t = zeros([4], { dtype: "f64" });
    const factorial = mapIndex(t, (_, i) => {
      let p = 1;
      for (let k = 2; k <= i; k++) p *= k;
      return p;
    });
    expect(factorial.toArray()).toEqual([1, 1, 2, 6]);
    const from = tensor([9, 8, 7, 6]);
    const fn = ((x: number, i: number, { from }: { from: Tensor }) => x + Number(from.get(3 - i))) as never;
    expect(mapIndex(t, fn, { with: { from } } as never).toArray()).toEqual([6, 7, 8, 9]);
  });
});
