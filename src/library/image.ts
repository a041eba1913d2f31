/**
 * Pictures as tensors [height, width, channels]: bytes of a canvas and back, and colours. Bytes are u8, 0 … 255; floats
 * are 0 … 1; u16 is 0 … 65535. Results have the picture's dtype: integers are computed in f32, rounded to the nearest
 * (halves to even) and held in their range, floats are stored as they come. Resizing is in image-resize.ts.
 */
import { empty, ones, tensor, zip } from "../api.ts";
import { arrayFacts, type DType, dtypeOfArray, isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Captures } from "../ops/function.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { checkShape } from "../view/layout.ts";
import { scoped } from "./scoped.ts";

export { type ResizeMethod, type ResizeOptions, resize } from "./image-resize.ts";

/* Numbers of a picture ------------------------------------------------------------------------------------- */

/** Nearest whole number, halves to even, of a byte's share; the store into u8 holds it in 0 … 255, NaN is 0. */
const toByte = (x: number): number => {
  const y = x * 255;
  const low = Math.floor(y);
  const rest = y - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
};
const toWord = (x: number): number => {
  const y = x * 65535;
  const low = Math.floor(y);
  const rest = y - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
};

/** The picture in 0 … 1: floats as they are. */
function unitOf(op: string, t: Tensor): Tensor {
  if (isFloat(t.dtype)) return t;
  if (t.dtype === "u8") return t.map((x) => x / 255, { compute: "f32", dtype: "f32" });
  if (t.dtype === "u16") return t.map((x) => x / 65535, { compute: "f32", dtype: "f32" });
  return fail(
    "dtype",
    op,
    `a picture of ${t.dtype} has no range.`,
    "Use u8 (0 … 255), u16 (0 … 65535) or floats (0 … 1).",
  );
}

/** From 0 … 1 to the dtype of the picture it came from. */
function asDType(t: Tensor, dtype: DType): Tensor {
  if (dtype === "u8") return t.map(toByte, { dtype });
  return dtype === "u16" ? t.map(toWord, { dtype }) : t.to(dtype);
}

/* Canvas bytes ---------------------------------------------------------------------------------------------- */

/** The options of `fromRGBA`. */
export interface FromRGBAOptions {
  /** Pixels of a row; not needed where the picture says it. */
  readonly width?: number;
  /** Default: as many rows as there are bytes for. */
  readonly height?: number;
  /** u8, as the bytes are (the default), or a float from 0 to 1. */
  readonly dtype?: "u8" | "f16" | "f32" | "f64";
  /** "keep" (the default): four channels; "drop": three; "premultiply": four, colours times alpha. */
  readonly alpha?: "keep" | "drop" | "premultiply";
}

/** What a canvas gives. */
interface Picture {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * A tensor [height, width, 4] (or 3) of RGBA bytes: a typed array and its width, or ImageData.
 *
 *     image.fromRGBA(context.getImageData(0, 0, 640, 480), { dtype: "f32", alpha: "drop" }); // f32 [480, 640, 3]
 *
 * @param bytes four a pixel, or ImageData
 * @param options `width`, `height`, `dtype`, `alpha`: "keep", "drop" or "premultiply"
 * @returns a new tensor, u8 or a float from 0 to 1
 * @throws TensorError where the bytes are no whole rows
 * @example
 * image.fromRGBA(new Uint8Array([1, 2, 3, 255]), { width: 1, alpha: "drop" }); // → u8 [[[1, 2, 3]]]
 */
export function fromRGBA<E extends NonNullable<FromRGBAOptions["dtype"]> = "u8">(
  bytes: Uint8ClampedArray | Uint8Array | Picture,
  options?: FromRGBAOptions & { readonly dtype?: E },
): Tensor<E>;
export function fromRGBA(
  bytes: Uint8ClampedArray | Uint8Array | Picture,
  options: FromRGBAOptions = {},
): Tensor {
  const op = "image.fromRGBA";
  const read = readOptions(op, options, "{ width: 640 }", ["width", "height", "dtype", "alpha"]);
  const { dtype = "u8", alpha = "keep" } = read;
  if (!["u8", "f16", "f32", "f64"].includes(dtype)) {
    fail("dtype", op, `dtype is ${describe(dtype)}.`, "Use u8, or a float, which is 0 … 1.");
  }
  if (!["keep", "drop", "premultiply"].includes(alpha)) {
    fail("value", op, `alpha is ${describe(alpha)}.`, "Use one of keep drop premultiply.");
  }
  const picture = pictureOf(op, bytes, read);
  const { width, height } = picture;
  const data = new Uint8Array(picture.data.buffer, picture.data.byteOffset, picture.data.byteLength);
  return scoped(op, () => {
    const t: Tensor = tensor(data, { shape: [height, width, 4] });
    const kept = alpha === "drop" ? t.slice("...", [0, 3]) : t;
    if (alpha !== "premultiply")
      return dtype === "u8" ? kept.clone() : kept.map((x) => x / 255, { compute: "f64", dtype });
    const unit = unitOf(op, t).clone();
    const colours = unit.slice("...", [0, 3]);
    zip([colours, unit.slice("...", [3, 4])], (x, a) => x * a, { out: colours });
    return asDType(unit, dtype);
  });
}

function pictureOf(op: string, given: unknown, options: FromRGBAOptions): Picture {
  let { width, height } = options;
  let data: unknown = given;
  if (typeof given === "object" && given !== null && !ArrayBuffer.isView(given)) {
    const said = partsOf(op, given);
    data = said.data;
    width ??= said.width as number;
    height ??= said.height as number;
  }
  const kind = ArrayBuffer.isView(data) ? dtypeOfArray(data) : null;
  if (!ArrayBuffer.isView(data) || kind !== "u8") {
    return fail(
      "value",
      op,
      `expected bytes, got ${kind === null ? describe(data ?? given) : `a typed array of ${kind}`}.`,
      "Give ImageData, a Uint8ClampedArray or a Uint8Array of RGBA.",
    );
  }
  const { buffer, byteOffset, byteLength } = arrayFacts(data);
  if (width === undefined) fail("value", op, "the width is missing.", "Say it: { width: 640 }.");
  const rows = height ?? (width > 0 ? byteLength / 4 / width : 0);
  if (height === undefined && Number.isInteger(width) && width > 0 && !Number.isInteger(rows)) {
    fail("shape", op, `${byteLength} bytes are no rows of ${width} pixels.`, "A pixel of RGBA has 4 bytes.");
  }
  if (typeof width !== "number" || typeof rows !== "number" || width * rows * 4 !== byteLength) {
    fail(
      "shape",
      op,
      `${byteLength} bytes are no picture of ${describe(width)} by ${describe(rows)}.`.replaceAll(
        "the number ",
        "",
      ),
      "RGBA has 4 · width · height bytes.",
    );
  }
  checkShape(op, [rows, width]);
  return { data: new Uint8Array(buffer, byteOffset, byteLength), width, height: rows };
}

/** A Proxy may refuse to say anything. */
function partsOf(op: string, given: object): Record<string, unknown> {
  try {
    Array.isArray(given);
  } catch {
    fail("value", op, "the picture is a Proxy that was revoked.", "Pass the thing itself.");
  }
  const { data, width, height } = given as Record<string, unknown>;
  return { data, width, height };
}

/** The options of `toRGBA`. */
export interface ToRGBAOptions {
  /** "straight" (the default): colours as they are; "premultiplied": they are divided by alpha. */
  readonly alpha?: "straight" | "premultiplied";
}

/**
 * The bytes of a canvas, a copy: of [height, width] and one channel grey, of two grey and alpha, of three opaque, of four
 * RGBA. Floats are taken as 0 … 1, u16 as 0 … 65535, bool as black and white; what is outside is held at the ends.
 *
 *     new ImageData(image.toRGBA(t), t.shape[1]);
 *
 * @param t a picture
 * @param options `alpha`: "straight" (default) or "premultiplied"
 * @returns four bytes a pixel, for ImageData
 * @example
 * image.toRGBA(tensor([[1, 0.5]])); // → [255, 255, 255, 255, 128, 128, 128, 255]
 */
export function toRGBA(t: Tensor, options: ToRGBAOptions = {}): Uint8ClampedArray<ArrayBuffer> {
  const op = "image.toRGBA";
  const { alpha = "straight" } = readOptions(op, options, '{ alpha: "premultiplied" }', ["alpha"]);
  if (alpha !== "straight" && alpha !== "premultiplied") {
    fail("value", op, `alpha is ${describe(alpha)}.`, "Use straight or premultiplied.");
  }
  const { shape, dtype } = liveTensor(op, t);
  const channels = shape.length === 2 ? 1 : shape.length === 3 ? shape[2] : 0;
  if (channels < 1 || channels > 4) {
    fail("shape", op, `${list(shape)} is no picture.`, "It is [height, width], or [height, width, 1 to 4].");
  }
  const bytes = scoped(op, () => {
    const [height, width] = shape;
    const cube = t.reshape(height, width, channels);
    const unit =
      dtype === "bool" ? cube.to("f32") : dtype === "u8" && alpha === "straight" ? cube : unitOf(op, cube);
    const write = (x: Tensor) => (x.dtype === "u8" ? x : x.map(toByte, { dtype: "u8" }));
    const out: Tensor = ones([height, width, 4], { dtype: "u8" }).fill(255);
    const hasAlpha = channels === 2 || channels === 4;
    const colours = unit.slice("...", [0, hasAlpha ? channels - 1 : channels]);
    const opacity = unit.slice("...", [channels - 1, channels]);
    const straight =
      alpha === "premultiplied" && hasAlpha
        ? zip([colours, opacity], (x, a) => (a === 0 ? 0 : x / a))
        : colours;
    out.slice("...", [0, 3]).assign(write(straight));
    if (hasAlpha) out.slice("...", [3, 4]).assign(write(opacity));
    return out.toTypedArray() as Uint8Array<ArrayBuffer>;
  });
  return new Uint8ClampedArray(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/* Colours ------------------------------------------------------------------------------------------------------- */

type OfThree = (a: number, b: number, c: number, captured: never) => number;
/** What makes each channel of the result out of three, and the values it is given by name. */
type Channel = readonly [fn: OfThree, captured?: Captures];

/** Three channels become three others, pixel by pixel; a fourth, alpha, stays. */
function recoloured(op: string, t: Tensor, channels: readonly Channel[]): Tensor {
  const { shape, dtype } = checkColours(op, t);
  return scoped(op, () => {
    const unit = unitOf(op, t);
    const three = [0, 1, 2].map((k) => unit.slice("...", k));
    const out = empty(shape, { dtype: unit.dtype });
    for (const [k, [fn, captured]] of channels.entries()) {
      zip(three, fn as never, {
        out: out.slice("...", k),
        ...(captured === undefined ? {} : { with: captured }),
      });
    }
    if (shape.at(-1) === 4) out.slice("...", 3).assign(unit.slice("...", 3));
    return asDType(out, dtype);
  });
}

function checkColours(op: string, t: Tensor): Tensor {
  const { shape } = liveTensor(op, t);
  if (shape.length > 0 && (shape.at(-1) === 3 || shape.at(-1) === 4)) return t;
  return fail(
    "shape",
    op,
    `${list(shape)} has no colours.`,
    "The last axis has three channels, or four with alpha.",
  );
}

const standards = {
  bt601: { r: 0.299, g: 0.587, b: 0.114 },
  bt709: { r: 0.2126, g: 0.7152, b: 0.0722 },
} as const;

/** The options of `rgbToGray`. */
export interface GrayOptions {
  /** How much each colour counts: "bt601" (the default, as JPEG and OpenCV) or "bt709" (HDTV, sRGB). */
  readonly standard?: keyof typeof standards;
}

/**
 * How bright each pixel is: [height, width] of [height, width, 3] or 4; alpha does not count.
 *
 *     image.rgbToGray(picture, { standard: "bt709" });
 *
 * @param t a picture of three channels, or four
 * @param options `standard`: "bt601" (default) or "bt709"
 * @returns a new tensor [height, width] of t's dtype
 * @example
 * image.rgbToGray(tensor([[[255, 255, 255]]], { dtype: "u8" })); // → u8 [[255]]
 */
export function rgbToGray<D extends DType>(t: Tensor<D>, options?: GrayOptions): Tensor<D>;
export function rgbToGray(t: Tensor, options: GrayOptions = {}): Tensor {
  const op = "image.rgbToGray";
  const { standard = "bt601" } = readOptions(op, options, '{ standard: "bt709" }', ["standard"]);
  if (typeof standard !== "string" || !Object.hasOwn(standards, standard)) {
    fail(
      "value",
      op,
      `standard is ${describe(standard)}.`,
      `Use one of ${Object.keys(standards).join(" ")}.`,
    );
  }
  const { dtype } = checkColours(op, t);
  return scoped(op, () => {
    const unit = unitOf(op, t);
    const [red, green, blue] = [0, 1, 2].map((k) => unit.slice("...", k));
    const gray = zip([red, green, blue], (x, y, z, { r, g, b }) => r * x + g * y + b * z, {
      with: standards[standard],
    });
    return asDType(gray, dtype);
  });
}

/**
 * Three equal channels of one: [height, width, 3] of [height, width].
 *
 * @param t a picture [height, width]
 * @returns a new picture of t's dtype
 * @example
 * image.grayToRgb(tensor([[0.5]])); // → f32 [[[0.5, 0.5, 0.5]]]
 */
export function grayToRgb<D extends DType>(t: Tensor<D>): Tensor<D>;
export function grayToRgb(t: Tensor): Tensor {
  const op = "image.grayToRgb";
  const { shape } = liveTensor(op, t);
  return scoped(op, () =>
    t
      .expandDims(-1)
      .broadcastTo([...shape, 3])
      .clone(),
  );
}

/**
 * Hue, saturation and value, each 0 … 1: hue 0 is red, 1/3 green, 2/3 blue. In bytes all three are 0 … 255.
 *
 *     image.rgbToHsv(tensor([1, 0.5, 0])); // [1 / 12, 1, 1]
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.rgbToHsv(tensor([0, 1, 0], { dtype: "f64" })).get(1); // → 1
 */
export function rgbToHsv<D extends DType>(t: Tensor<D>): Tensor<D>;
export function rgbToHsv(t: Tensor): Tensor {
  return recoloured("image.rgbToHsv", t, [[hue], [hsvSaturation], [largest]]);
}
/**
 * Back from hue, saturation and value.
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.hsvToRgb(tensor([0, 1, 1])); // → f32 [1, 0, 0]
 */
export function hsvToRgb<D extends DType>(t: Tensor<D>): Tensor<D>;
export function hsvToRgb(t: Tensor): Tensor {
  return recoloured("image.hsvToRgb", t, [
    [ofHsv, { n: 5 }],
    [ofHsv, { n: 3 }],
    [ofHsv, { n: 1 }],
  ]);
}
/**
 * Hue, saturation and lightness, each 0 … 1.
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.rgbToHsl(tensor([1, 0, 0])); // → f32 [0, 1, 0.5]
 */
export function rgbToHsl<D extends DType>(t: Tensor<D>): Tensor<D>;
export function rgbToHsl(t: Tensor): Tensor {
  return recoloured("image.rgbToHsl", t, [[hue], [hslSaturation], [lightness]]);
}
/**
 * Back from hue, saturation and lightness.
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.hslToRgb(tensor([0, 1, 0.5])); // → f32 [1, 0, 0]
 */
export function hslToRgb<D extends DType>(t: Tensor<D>): Tensor<D>;
export function hslToRgb(t: Tensor): Tensor {
  return recoloured("image.hslToRgb", t, [
    [ofHsl, { n: 0 }],
    [ofHsl, { n: 8 }],
    [ofHsl, { n: 4 }],
  ]);
}

const hue = (r: number, g: number, b: number): number => {
  const most = Math.max(r, g, b);
  const range = most - Math.min(r, g, b);
  if (range === 0) return 0;
  const sixths = most === r ? (g - b) / range : most === g ? (b - r) / range + 2 : (r - g) / range + 4;
  return sixths < 0 ? sixths / 6 + 1 : sixths / 6;
};
const largest = (r: number, g: number, b: number): number => Math.max(r, g, b);
const lightness = (r: number, g: number, b: number): number => (Math.max(r, g, b) + Math.min(r, g, b)) / 2;
const hsvSaturation = (r: number, g: number, b: number): number => {
  const most = Math.max(r, g, b);
  return most === 0 ? 0 : (most - Math.min(r, g, b)) / most;
};
const hslSaturation = (r: number, g: number, b: number): number => {
  const sum = Math.max(r, g, b) + Math.min(r, g, b);
  const range = Math.max(r, g, b) - Math.min(r, g, b);
  return range === 0 ? 0 : range / (1 - Math.abs(sum - 1));
};
/** n sixths of the circle away from the channel's own hue. */
const ofHsv = (h: number, s: number, v: number, { n }: { n: number }): number => {
  const k = (n + h * 6) % 6;
  return v - v * s * Math.max(0, Math.min(k, 4 - k, 1));
};
/** The same in twelfths. */
const ofHsl = (h: number, s: number, l: number, { n }: { n: number }): number => {
  const k = (n + h * 12) % 12;
  return l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
};

/**
 * Luma and two colour differences, BT.601: Y 0 … 1, U ±0.436, V ±0.615. They are signed: for floats only.
 *
 * @param t a picture [height, width, channels] of floats
 * @returns a new picture of t's shape and dtype
 * @throws TensorError for integers
 * @example
 * image.rgbToYuv(tensor([0, 0, 0])).get(0); // → 0
 */
export function rgbToYuv<D extends DType>(t: Tensor<D>): Tensor<D>;
export function rgbToYuv(t: Tensor): Tensor {
  return recoloured("image.rgbToYuv", signed("image.rgbToYuv", t), [[luma], [uOf], [vOf]]);
}
/**
 * Back from luma and colour differences.
 *
 * @param t a picture [height, width, channels] of floats
 * @returns a new picture of t's shape and dtype
 * @throws TensorError for integers
 * @example
 * image.yuvToRgb(tensor([0.5, 0, 0])); // → f32 [0.5, 0.5, 0.5]
 */
export function yuvToRgb<D extends DType>(t: Tensor<D>): Tensor<D>;
export function yuvToRgb(t: Tensor): Tensor {
  return recoloured("image.yuvToRgb", signed("image.yuvToRgb", t), [[redOfYuv], [greenOfYuv], [blueOfYuv]]);
}

function signed(op: string, t: Tensor): Tensor {
  const { dtype } = liveTensor(op, t);
  if (isFloat(dtype)) return t;
  return fail(
    "dtype",
    op,
    `U and V are signed, ${dtype} is not.`,
    "Use rgbToYcbcr and ycbcrToRgb for bytes, or floats here.",
  );
}

const luma = (r: number, g: number, b: number): number => 0.299 * r + 0.587 * g + 0.114 * b;
const uOf = (r: number, g: number, b: number): number =>
  (0.436 / 0.886) * (b - (0.299 * r + 0.587 * g + 0.114 * b));
const vOf = (r: number, g: number, b: number): number =>
  (0.615 / 0.701) * (r - (0.299 * r + 0.587 * g + 0.114 * b));
const redOfYuv = (y: number, _u: number, v: number): number => y + (0.701 / 0.615) * v;
const blueOfYuv = (y: number, u: number, _v: number): number => y + (0.886 / 0.436) * u;
const greenOfYuv = (y: number, u: number, v: number): number =>
  y - ((0.114 * 0.886) / 0.436 / 0.587) * u - ((0.299 * 0.701) / 0.615 / 0.587) * v;

/**
 * Luma and two colour differences as JPEG has them, full range: no colour is 0.5, in bytes 128.
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.rgbToYcbcr(tensor([0, 0, 0], { dtype: "u8" })); // → u8 [0, 128, 128]
 */
export function rgbToYcbcr<D extends DType>(t: Tensor<D>): Tensor<D>;
export function rgbToYcbcr(t: Tensor): Tensor {
  const half = middle("image.rgbToYcbcr", t);
  return recoloured("image.rgbToYcbcr", t, [[luma], [cbOf, half], [crOf, half]]);
}
/**
 * Back from JPEG's luma and colour differences.
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.ycbcrToRgb(tensor([255, 128, 128], { dtype: "u8" })); // → u8 [255, 255, 255]
 */
export function ycbcrToRgb<D extends DType>(t: Tensor<D>): Tensor<D>;
export function ycbcrToRgb(t: Tensor): Tensor {
  const half = middle("image.ycbcrToRgb", t);
  return recoloured("image.ycbcrToRgb", t, [
    [redOfYcc, half],
    [greenOfYcc, half],
    [blueOfYcc, half],
  ]);
}

interface Middle extends Captures {
  readonly half: number;
}

/** Where there is no colour: bytes have no 127.5. */
function middle(op: string, t: Tensor): Middle {
  const { dtype } = liveTensor(op, t);
  return { half: dtype === "u8" ? 128 / 255 : dtype === "u16" ? 32768 / 65535 : 0.5 };
}

const cbOf = (r: number, g: number, b: number, { half }: Middle): number =>
  half + (0.5 / 0.886) * (b - (0.299 * r + 0.587 * g + 0.114 * b));
const crOf = (r: number, g: number, b: number, { half }: Middle): number =>
  half + (0.5 / 0.701) * (r - (0.299 * r + 0.587 * g + 0.114 * b));
const redOfYcc = (y: number, _cb: number, cr: number, { half }: Middle): number => y + 1.402 * (cr - half);
const blueOfYcc = (y: number, cb: number, _cr: number, { half }: Middle): number => y + 1.772 * (cb - half);
const greenOfYcc = (y: number, cb: number, cr: number, { half }: Middle): number =>
  y - ((0.114 * 1.772) / 0.587) * (cb - half) - ((0.299 * 1.402) / 0.587) * (cr - half);

/**
 * From the numbers of a file to amounts of light (sRGB's own curve): what averages, blurs and resizes should see. Of a
 * last axis of four the fourth, alpha, stays.
 *
 *     const small = image.linearToSrgb(image.resize(image.srgbToLinear(picture), [240, 320]));
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.srgbToLinear(tensor([0, 1, 1])); // → f32 [0, 1, 1]
 */
export function srgbToLinear<D extends DType>(t: Tensor<D>): Tensor<D>;
export function srgbToLinear(t: Tensor): Tensor {
  return curved("image.srgbToLinear", t, (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
}
/**
 * From amounts of light to the numbers of a file.
 *
 * @param t a picture [height, width, channels]
 * @returns a new picture of t's shape and dtype
 * @example
 * image.linearToSrgb(tensor([0, 0, 0])); // → f32 [0, 0, 0]
 */
export function linearToSrgb<D extends DType>(t: Tensor<D>): Tensor<D>;
export function linearToSrgb(t: Tensor): Tensor {
  return curved("image.linearToSrgb", t, (x) =>
    x <= 0.0031308 ? x * 12.92 : 1.055 * x ** (1 / 2.4) - 0.055,
  );
}

function curved(op: string, t: Tensor, curve: (x: number) => number): Tensor {
  const { dtype, shape } = liveTensor(op, t);
  return scoped(op, () => {
    const unit = unitOf(op, t);
    if (shape.at(-1) !== 4) return asDType(unit.map(curve), dtype);
    const out = unit.clone();
    const colours = out.slice("...", [0, 3]);
    colours.map(curve, { out: colours });
    return asDType(out, dtype);
  });
}
