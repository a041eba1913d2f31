/**
 * Three models as torch has them in scripts/fixtures-nn.py and bench/native/training.py: parameters, inputs and classes are
 * formulas of a position, so that both sides begin with the same numbers.
 */
import { arange, kernel, maxPool2d, relu, type Tensor, tensor } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";

export type Floats = "f32" | "f64";

/** A whole number below 2^32 that looks like chance, of a position and a seed. */
function mixed(i: number, seed: number): number {
  let h = Math.imul(i + 1 + Math.imul(seed, 7919), 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return (h ^ (h >>> 15)) >>> 0;
}

const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** Numbers from -1 to 1, times scale, plus shift: the same ones for a seed. */
export function noise(shape: readonly number[], dtype: Floats, seed: number, scale = 1, shift = 0): Tensor {
  const values = Float64Array.from(
    { length: sizeOf(shape) },
    (_, i) => (mixed(i, seed) / 2 ** 31 - 1) * scale + shift,
  );
  return tensor(values, { shape }).to(dtype);
}

/** Classes below count. */
export function classes(shape: readonly number[], count: number, seed: number): Tensor {
  const values = Int32Array.from({ length: sizeOf(shape) }, (_, i) => mixed(i, seed) % count);
  return tensor(values, { shape });
}

/** Parameters one after the other, each with a seed of its own. */
class Maker {
  readonly #dtype: Floats;
  #seed = 0;
  constructor(dtype: Floats) {
    this.#dtype = dtype;
  }
  /** Weight [outputs, …rest] and bias, as large as the number of inputs wants. */
  weighted(...shape: number[]): { weight: Tensor; bias: Tensor } {
    const fan = shape.slice(1).reduce((a, b) => a * b, 1);
    const weight = noise(shape, this.#dtype, ++this.#seed, 1.7 / Math.sqrt(fan));
    return { weight, bias: noise([shape[0]], this.#dtype, ++this.#seed, 0.1) };
  }
  norm(size: number): { weight: Tensor; bias: Tensor } {
    const weight = noise([size], this.#dtype, ++this.#seed, 0.1, 1);
    return { weight, bias: noise([size], this.#dtype, ++this.#seed, 0.1) };
  }
  table(words: number, size: number): { weight: Tensor } {
    return { weight: noise([words, size], this.#dtype, ++this.#seed, 0.3) };
  }
}

export interface Model<P = unknown> {
  readonly params: P;
  readonly x: Tensor;
  readonly y: Tensor;
  readonly loss: (p: P, x: Tensor, y: Tensor) => Tensor;
}

export function mlp(sizes: readonly number[], batch: number, dtype: Floats) {
  const make = new Maker(dtype);
  const params = { layers: sizes.slice(1).map((n, k) => make.weighted(n, sizes[k])) };
  const loss = (p: typeof params, x: Tensor, y: Tensor): Tensor => {
    let h = x;
    p.layers.forEach((layer, k) => {
      h = k === 0 ? nn.linear(layer, h) : nn.linear(layer, relu(h));
    });
    return nn.crossEntropy(h, y);
  };
  return { params, loss, x: noise([batch, sizes[0]], dtype, 101), y: classes([batch], sizes.at(-1)!, 102) };
}

/** Two convolutions of 3 × 3, each followed by relu and a pool of 2, and a layer of 10 classes. */
export function convnet(
  channels: readonly [number, number, number],
  size: number,
  batch: number,
  dtype: Floats,
) {
  const make = new Maker(dtype);
  const [from, first, second] = channels;
  const flat = second * Math.floor(size / 4) ** 2;
  const params = {
    first: make.weighted(first, from, 3, 3),
    second: make.weighted(second, first, 3, 3),
    last: make.weighted(10, flat),
  };
  const loss = (p: typeof params, x: Tensor, y: Tensor): Tensor => {
    const one = maxPool2d(relu(nn.conv2d(p.first, x, { padding: 1 })), 2);
    const two = maxPool2d(relu(nn.conv2d(p.second, one, { padding: 1 })), 2);
    return nn.crossEntropy(nn.linear(p.last, two.reshape([-1, flat])), y);
  };
  return { params, loss, x: noise([batch, from, size, size], dtype, 101), y: classes([batch], 10, 102) };
}

export interface GptSize {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly context: number;
  readonly words: number;
  readonly batch: number;
}

const gelu = kernel((x) => 0.5 * x * (1 + Math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))));

export function gpt({ layers, width, heads, context, words, batch }: GptSize, dtype: Floats) {
  const make = new Maker(dtype);
  const params = {
    words: make.table(words, width),
    places: make.table(context, width),
    layers: Array.from({ length: layers }, () => ({
      before: make.norm(width),
      attention: {
        query: make.weighted(width, width),
        key: make.weighted(width, width),
        value: make.weighted(width, width),
        out: make.weighted(width, width),
      },
      after: make.norm(width),
      wide: make.weighted(4 * width, width),
      narrow: make.weighted(width, 4 * width),
    })),
    last: make.norm(width),
    out: make.weighted(words, width),
  };
  const loss = (p: typeof params, x: Tensor, y: Tensor): Tensor => {
    let h = nn.embedding(p.words, x).add(nn.embedding(p.places, arange(context, { dtype: "i32" })));
    for (const { before, attention, after, wide, narrow } of p.layers) {
      h = h.add(nn.multiHeadAttention(attention, nn.layerNorm(before, h), { heads, causal: true }));
      h = h.add(nn.linear(narrow, gelu(nn.linear(wide, nn.layerNorm(after, h)))));
    }
    return nn.crossEntropy(nn.linear(p.out, nn.layerNorm(p.last, h)), y);
  };
  return { params, loss, x: classes([batch, context], words, 101), y: classes([batch, context], words, 102) };
}
