/** Pictures: resizing against Pillow and OpenCV, colours against colorsys, canvas bytes, and values by hand. */
import { describe, expect, it } from "vitest";
import { arange, explain, image, scope, type Tensor, TensorError, tensor } from "../../src/index.ts";
import { planAxis } from "../../src/library/image-resize.ts";
import { testReference } from "./reference.ts";

const refusal = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    if (error instanceof TensorError) return error.message;
    throw error;
  }
  return "nothing was thrown";
};

describe("references", () => {
  type Params = { readonly size: [number, number] } & image.ResizeOptions;
  const of =
    (fn: (t: Tensor) => Tensor) =>
    ([t]: readonly Tensor[]) =>
      fn(t);
  testReference("image", {
    resize: ([t], { size, ...options }: Params) => image.resize(t, size, options),
    rgbToHsv: of(image.rgbToHsv),
    hsvToRgb: of(image.hsvToRgb),
    rgbToHsl: of(image.rgbToHsl),
    hslToRgb: of(image.hslToRgb),
    rgbToYcbcr: of(image.rgbToYcbcr),
    ycbcrToRgb: of(image.ycbcrToRgb),
    rgbToGray: of((t) => image.rgbToGray(t)),
  });
});

describe("resize, by hand", () => {
  it("half-pixel centres: twice as many pixels are quarters and three quarters of their neighbours", () => {
    scope(() => {
      const t = tensor([[0, 4]]);
      expect(image.resize(t, [1, 4]).toArray()).toEqual([[0, 1, 3, 4]]);
      expect(image.resize(t, [1, 4], { method: "nearest" }).toArray()).toEqual([[0, 0, 4, 4]]);
      expect(image.resize(t, [1, 4], { method: "area" }).toArray()).toEqual([[0, 0, 4, 4]]);
    });
  });

  it("half as many pixels: with antialias all count, without it two", () => {
    scope(() => {
      const t = tensor([[0, 8, 16, 64]]);
      // Weights 3/8 3/8 1/8 without those beyond the border: 3 3 1 of 7.
      expect(
        image
          .resize(t, [1, 2])
          .map((x) => x * 7)
          .round()
          .toArray(),
      ).toEqual([[40, 248]]);
      expect(image.resize(t, [1, 2], { antialias: false }).toArray()).toEqual([[4, 40]]);
      expect(image.resize(t, [1, 2], { method: "area" }).toArray()).toEqual([[4, 40]]);
    });
  });

  it("plans are data: every window's weights add up to 1, and lie inside", () => {
    for (const method of ["nearest", "area", "bilinear", "bicubic", "lanczos"] as const) {
      for (const antialias of [true, false]) {
        for (const [size, to] of [
          [1, 5],
          [5, 1],
          [7, 3],
          [3, 7],
          [100, 33],
          [10, 10],
        ]) {
          const { starts, weights } = planAxis(size, to, method, antialias);
          expect(starts.length).toBe(to);
          for (const [i, start] of starts.entries()) {
            expect(start >= 0 && start + weights[i].length <= size).toBe(true);
            expect(weights[i].reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
          }
        }
      }
    }
  });

  it("the same size is the same picture, for every method", () => {
    scope(() => {
      const t = arange(24).reshape(4, 3, 2);
      for (const method of ["nearest", "area", "bilinear", "bicubic", "lanczos"] as const) {
        expect(image.resize(t, [4, 3], { method }).toArray(), method).toEqual(t.toArray());
      }
    });
  });

  it("a NaN and an infinity stay in their own neighbourhood", () => {
    scope(() => {
      const t = tensor([[1, 1, NaN, 1, 1, 1, 1, 1, Infinity, 1]]);
      const small = image.resize(t, [1, 5], { method: "area" }).toArray() as number[][];
      expect(small).toEqual([[1, NaN, 1, 1, Infinity]]);
      const large = (image.resize(t, [1, 20]).toArray() as number[][])[0];
      expect(large.map((x) => (Number.isFinite(x) ? "." : Number.isNaN(x) ? "n" : "i")).join("")).toBe(
        "...nnnn........iiii.",
      );
    });
  });

  it("many windows into few pixels, and integers are rounded and held", () => {
    scope(() => {
      const long = arange(5000).reshape(1, 5000);
      expect(image.resize(long, [1, 1], { method: "area" }).toArray()).toEqual([[2499.5]]);
      const edge = tensor([[0, 0, 255, 255]], { dtype: "u8" });
      const sharp = image.resize(edge, [1, 8], { method: "lanczos" });
      expect(sharp.dtype).toBe("u8");
      const exact = image.resize(edge.to("f64"), [1, 8], { method: "lanczos" });
      expect(exact.max().item()).toBeGreaterThan(255);
      expect(sharp.toArray()).toEqual(exact.round().clip(0, 255).to("u8").toArray());
      const signed = tensor([[-3, 0]], { dtype: "i16" });
      expect(image.resize(signed, [1, 1], { method: "area" }).toArray()).toEqual([[-2]]);
      const half = tensor([[1, 2]], { dtype: "f16" });
      expect(image.resize(half, [1, 1]).toString()).toContain("f16 [1, 1]");
      const batch = arange(2 * 4 * 4 * 3).reshape(2, 4, 4, 3);
      const resized = image.resize(batch, [2, 2]);
      expect(resized.slice(1).toArray()).toEqual(image.resize(batch.slice(1), [2, 2]).toArray());
    });
  });

  it("runs compiled", () => {
    scope(() => {
      const t = arange(300).reshape(10, 10, 3);
      for (const method of ["area", "bilinear", "lanczos"] as const) {
        expect(explain(() => image.resize(t, [4, 25], { method })).fallbacks).toEqual([]);
      }
      const colours = t.div(300).contiguous();
      const all = [
        image.rgbToHsv,
        image.hsvToRgb,
        image.rgbToHsl,
        image.hslToRgb,
        image.rgbToYuv,
        image.yuvToRgb,
      ];
      for (const fn of [...all, image.srgbToLinear, image.linearToSrgb, image.rgbToGray]) {
        expect(explain(() => fn(colours)).fallbacks).toEqual([]);
      }
    });
  });
});

describe("canvas bytes", () => {
  it("come in as bytes or as 0 … 1, with alpha, without it, or multiplied by it", () => {
    scope(() => {
      const bytes = Uint8ClampedArray.of(255, 51, 0, 255, 100, 200, 50, 51);
      expect(image.fromRGBA(bytes, { width: 2 }).toString()).toContain("u8 [1, 2, 4]");
      expect(image.fromRGBA(bytes, { width: 1, alpha: "drop" }).toArray()).toEqual([
        [[255, 51, 0]],
        [[100, 200, 50]],
      ]);
      const unit = image.fromRGBA({ data: bytes, width: 2, height: 1 }, { dtype: "f64" });
      expect(unit.get(0, 0, 1)).toBe(0.2);
      const dim = image.fromRGBA(bytes, { width: 2, alpha: "premultiply" });
      expect(dim.toArray()).toEqual([
        [
          [255, 51, 0, 255],
          [20, 40, 10, 51],
        ],
      ]);
      const back = image.toRGBA(dim, { alpha: "premultiplied" });
      expect([...back]).toEqual([...bytes]);
    });
  });

  it("every byte goes to 0 … 1 and back to itself, in every float", () => {
    scope(() => {
      const all = Uint8ClampedArray.from({ length: 256 }, (_, i) => i);
      for (const dtype of ["f16", "f32", "f64"] as const) {
        expect([...image.toRGBA(image.fromRGBA(all, { width: 8, dtype }))]).toEqual([...all]);
      }
    });
  });

  it("rounding: nearest, halves to even, held at the ends; NaN is 0", () => {
    scope(() => {
      const values = [0.5 / 255, 1.5 / 255, 2.5 / 255, -1, 2, NaN, Infinity, -Infinity];
      const gray = image.toRGBA(tensor([values], { dtype: "f64" }));
      expect([...gray].filter((_, i) => i % 4 === 0)).toEqual([0, 2, 2, 0, 255, 0, 255, 0]);
      expect([...gray].filter((_, i) => i % 4 === 3)).toEqual(values.map(() => 255));
    });
  });

  it("grey, grey with alpha, u16 and bool", () => {
    scope(() => {
      expect([...image.toRGBA(tensor([[[10, 128]]], { dtype: "u8" }))]).toEqual([10, 10, 10, 128]);
      expect([...image.toRGBA(tensor([[[1, 2, 3]]], { dtype: "u8" }))]).toEqual([1, 2, 3, 255]);
      expect(
        [...image.toRGBA(tensor([[0, 257, 65535]], { dtype: "u16" }))].filter((_, i) => i % 4 === 0),
      ).toEqual([0, 1, 255]);
      expect([...image.toRGBA(tensor([[true, false]]))].filter((_, i) => i % 4 === 0)).toEqual([255, 0]);
      expect(image.toRGBA(tensor([[0]])).buffer).toBeInstanceOf(ArrayBuffer);
    });
  });

  it("views of any layout give the same bytes as their copies", () => {
    scope(() => {
      const t = arange(60).reshape(3, 4, 5).div(60);
      const view = t.slice("::-1", ":", "::2").permute(1, 0, 2);
      expect([...image.toRGBA(view)]).toEqual([...image.toRGBA(view.clone())]);
    });
  });
});

describe("colours", () => {
  it("by hand, and there and back", () => {
    scope(() => {
      const orange = tensor([1, 0.5, 0], { dtype: "f64" });
      expect(image.rgbToHsv(orange).toArray()).toEqual([0.5 / 6, 1, 1]);
      expect(image.rgbToHsl(orange).toArray()).toEqual([0.5 / 6, 1, 0.5]);
      expect(image.rgbToGray(tensor([[255, 255, 255]], { dtype: "u8" })).toArray()).toEqual([255]);
      expect(image.rgbToYcbcr(tensor([255, 0, 0], { dtype: "u8" })).toArray()).toEqual([76, 85, 255]);
      expect(image.rgbToGray(tensor([0, 1, 0], { dtype: "f64" }), { standard: "bt709" }).item()).toBe(0.7152);
      const grid = arange(27 * 3)
        .reshape(27, 3)
        .map((x) => (x * 7919) % 256)
        .to("u8");
      for (const [there, back] of [
        [image.rgbToHsv, image.hsvToRgb],
        [image.rgbToHsl, image.hslToRgb],
        [image.rgbToYuv, image.yuvToRgb],
        [image.rgbToYcbcr, image.ycbcrToRgb],
        [image.srgbToLinear, image.linearToSrgb],
      ]) {
        const unit = grid.to("f64").div(255);
        const error = back(there(unit)).sub(unit).abs().max().item() as number;
        expect(error, there.name).toBeLessThan(1e-12);
      }
    });
  });

  it("sRGB's curve at its knee and ends", () => {
    scope(() => {
      const x = tensor([0, 0.04045, 0.5, 1], { dtype: "f64" });
      const linear = image.srgbToLinear(x.reshape(2, 2)).reshape(4).toArray() as number[];
      expect(linear[0]).toBe(0);
      expect(linear[1]).toBeCloseTo(0.0031308, 7);
      expect(linear[2]).toBeCloseTo(0.21404114048223255, 14);
      expect(linear[3]).toBeCloseTo(1, 14);
    });
  });

  it("alpha, a fourth channel, stays", () => {
    scope(() => {
      const t = tensor([[0.2, 0.4, 0.6, 0.3]], { dtype: "f64" });
      for (const fn of [image.rgbToHsv, image.hslToRgb, image.rgbToYcbcr, image.srgbToLinear]) {
        expect(fn(t).get(0, 3)).toBe(0.3);
      }
      expect(image.rgbToGray(t).shape).toEqual([1]);
      expect(image.grayToRgb(tensor([[1, 2]])).toArray()).toEqual([
        [
          [1, 1, 1],
          [2, 2, 2],
        ],
      ]);
    });
  });

  it("a mask is resized as it is, and so are whole numbers of 64 bits", () => {
    scope(() => {
      const mask = tensor([[true, false]]);
      const large = image.resize(mask, [2, 4], { method: "nearest" });
      expect([large.dtype, large.toArray()]).toEqual([
        "bool",
        [
          [true, true, false, false],
          [true, true, false, false],
        ],
      ]);
      const labels = tensor([[2n ** 60n + 1n]]);
      expect(image.resize(labels, [1, 2], { method: "nearest" }).toArray()).toEqual([
        [2n ** 60n + 1n, 2n ** 60n + 1n],
      ]);
      expect(refusal(() => image.resize(mask, [1, 1]))).toContain('{ method: "nearest" }');
    });
  });

  it("what is no picture is told", () => {
    scope(() => {
      const t = arange(12).reshape(2, 2, 3);
      const texts = [
        () => image.resize(t, [0, 2]),
        () => image.resize(t, [2] as never),
        () => image.resize(t, [2, 2 ** 30]),
        () => image.resize(t, [2, 2], { method: "cubic" as never }),
        () => image.resize(t.slice(0, 0), [2, 2]),
        () => image.resize(t.slice("0:0"), [2, 2]),
        () => image.resize(t.to("i64"), [2, 2]),
        () => image.rgbToHsv(t.slice(0).T),
        () => image.rgbToHsv(t.to("i32")),
        () => image.rgbToYuv(t.to("u8")),
        () => image.toRGBA(t.reshape(3, 4).reshape(12)),
        () => image.fromRGBA(new Uint8Array(8)),
        () => image.fromRGBA(new Uint8Array(9), { width: 2 }),
        () => image.fromRGBA(new Float32Array(8) as never, { width: 2 }),
        () => image.fromRGBA(new Uint8Array(8), { width: 2, height: 3 }),
        () => image.fromRGBA(new Uint8Array(80), { width: 7 }),
        () => image.fromRGBA([1, 2, 3, 4] as never, { width: 1 }),
        () => image.rgbToGray(t, { standard: "x" as never }),
      ];
      expect(texts.map(refusal).join("\n")).toMatchInlineSnapshot(`
        "image.resize: the size is [0, 2].
          Give [height, width], whole numbers from 1 to 1048576.
        image.resize: the size is [2].
          Give [height, width], whole numbers from 1 to 1048576.
        image.resize: the size is [2, 1073741824].
          Give [height, width], whole numbers from 1 to 1048576.
        image.resize: method is the string "cubic".
          Use one of nearest area bilinear bicubic lanczos.
        image.resize: [3] is no picture.
          It is [height, width], [height, width, channels] or [batch, height, width, channels].
        image.resize: [0, 2, 3] is no picture.
          It is [height, width], [height, width, channels] or [batch, height, width, channels].
        image.resize: bilinear is not defined on i64.
          Convert it first: t.to("f32"), or take pixels as they are: { method: "nearest" }.
        image.rgbToHsv: [3, 2] has no colours.
          The last axis has three channels, or four with alpha.
        image.rgbToHsv: a picture of i32 has no range.
          Use u8 (0 … 255), u16 (0 … 65535) or floats (0 … 1).
        image.rgbToYuv: U and V are signed, u8 is not.
          Use rgbToYcbcr and ycbcrToRgb for bytes, or floats here.
        image.toRGBA: [12] is no picture.
          It is [height, width], or [height, width, 1 to 4].
        image.fromRGBA: the width is missing.
          Say it: { width: 640 }.
        image.fromRGBA: 9 bytes are no rows of 2 pixels.
          A pixel of RGBA has 4 bytes.
        image.fromRGBA: expected bytes, got a typed array of f32.
          Give ImageData, a Uint8ClampedArray or a Uint8Array of RGBA.
        image.fromRGBA: 8 bytes are no picture of 2 by 3.
          RGBA has 4 · width · height bytes.
        image.fromRGBA: 80 bytes are no rows of 7 pixels.
          A pixel of RGBA has 4 bytes.
        image.fromRGBA: expected bytes, got an array.
          Give ImageData, a Uint8ClampedArray or a Uint8Array of RGBA.
        image.rgbToGray: standard is the string "x".
          Use one of bt601 bt709."
      `);
    });
  });
});
