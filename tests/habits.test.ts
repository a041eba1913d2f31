/** What people try who come from NumPy, torch or arrays of JavaScript: an answer, or an error that names ours. */
import { describe, expect, it } from "vitest";
import { arange, image, kernel, mapIndex, stencil, type Tensor, tensor, zeros } from "../src/index.ts";
import "../src/methods.ts";
import { TensorError } from "../src/errors.ts";

const t = arange(6).reshape(2, 3);
// biome-ignore lint/suspicious/noExplicitAny: what TypeScript would refuse
const loose = (x: unknown) => x as any;

describe("habits", () => {
  it.each<[string, () => unknown, string]>([
    ["an index beside the element", () => t.map(loose((x: number, i: number) => x + i)), "mapIndex(t, "],
    [
      "a table by index",
      () =>
        t.map(
          loose((x: number, { lut }: { lut: number[] }) => lut[x]),
          { with: { lut: t } },
        ),
      "Read an element with lut.get(i).",
    ],
    [
      "a table by a call",
      () =>
        t.map(
          loose((x: number, { lut }: { lut: (x: number) => number }) => lut(x)),
          { with: { lut: t } },
        ),
      "Read an element with lut.get(i).",
    ],
    [
      "neighbours by index",
      () => stencil(loose((at: number[][]) => at[-1][1])),
      "One offset an axis: at(-1, 0).",
    ],
    ["a shape as several arguments", () => zeros(2, loose(3)), "several sizes are a list: [2, 3]"],
    ["float32", () => zeros([2], { dtype: loose("float32") }), "Did you mean f32?"],
    ["uint8", () => t.to(loose("uint8")), "Did you mean u8?"],
    ["bfloat16", () => tensor([1], { dtype: loose("bfloat16") }), "Did you mean bf16?"],
    ["int64", () => t.sum({ dtype: loose("int64") }), "Did you mean i64?"],
    ["operators", () => loose(t) * 2, "t.mul(2)"],
    ["comparisons", () => loose(t) < 2, "t.less(3)"],
    ["unary minus", () => -loose(t), "t.mul(2)"],
    ["a mean as a fold", () => kernel((x) => x).reduce(loose("mean"))(t), '"sum", "prod", "max", "min"'],
  ])("%s", (_, attempt, remedy) => {
    let said: unknown;
    try {
      said = attempt();
    } catch (error) {
      said = error;
    }
    expect(said).toBeInstanceOf(TensorError);
    expect((said as Error).message).toContain(remedy);
  });

  it("a tensor in a sentence is text", () => {
    const text = String(t);
    expect(text).toContain("Tensor f32 [2, 3]");
    expect([`${t}`, `${loose(t)}`, "".concat(loose(t))]).toEqual([text, text, text]);
    expect(loose("t: ") + t).toBe(`t: ${text}`);
  });

  it("flatten is a method too", () => {
    const flat: Tensor<"f32"> = t.T.flatten();
    expect(flat.toArray()).toEqual([0, 3, 1, 4, 2, 5]);
  });

  it("captures beside several operands, of any rank, typed by themselves", () => {
    const step = kernel((w, d, { rate }) => w - rate * d, { rate: 0.5 });
    expect(step(t, t).toArray()).toEqual([
      [0, 0.5, 1],
      [1.5, 2, 2.5],
    ]);
    const [low, high] = [zeros([3]), zeros([3], { dtype: "f64" })];
    const both = kernel((x, y, { k }) => [x - k, y + k], { k: 1 });
    const outs: readonly [Tensor<"f32">, Tensor<"f64">] = both.into([low, high], arange(3), arange(3));
    expect(outs.map((o) => o.toArray())).toEqual([
      [-1, 0, 1],
      [1, 2, 3],
    ]);
    expect(mapIndex(arange(3), (x, i, { k }) => x + i * k, { with: { k: 10 } }).toArray()).toEqual([
      0, 11, 22,
    ]);
    expect(
      mapIndex(t, (x, i, j, { t }) => x - t.get(i, j), { with: { t } })
        .sum()
        .item(),
    ).toBe(0);
    const grey: Tensor<"u8"> = image.rgbToGray(image.resize(zeros([2, 2, 3], { dtype: "u8" }), [1, 1]));
    expect(grey.dtype).toBe("u8");
  });
});
