/**
 * Random numbers. A generator is a key, a stream and a place in it; what it draws depends on these alone, not on threads,
 * on SIMD or on the host. Algorithms are in wasm/routines/random.ts.
 *
 *     const rng = random.generator(42);
 *     rng.normal([3, 4]);
 */
import { scope } from "../api.ts";
import type { DefaultDType } from "../defaults.ts";
import { checkDType, type DType, dtypes, type FloatDType, isFloat, isInteger } from "../dtype.ts";
import { defaultDType, engine, type GeneratorState } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, readOptions, snapshot } from "../ops/arguments.ts";
import { fromData, type Nested, shapeOf } from "../ops/create.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate, checkWritable, filled } from "../ops/strided.ts";
import { drawRoutine, shuffleRoutine } from "../routines/random.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, live, liveTensor, namedOp, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxis, sizeOf } from "../view/layout.ts";
import { type Distribution, type DrawDType, GROUP_WORDS, philox } from "../wasm/routines/random.ts";
import { take } from "./indexing.ts";
import { searchsorted } from "./search.ts";
import { argsort } from "./sort.ts";

/** From 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1. */
export type Seed = number | bigint;
type Shape = number | readonly number[];
type IntegerDType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "u64" | "i64";

/** The options of `uniform`. */
export interface UniformOptions<D extends DType = DType> {
  /** Default 0. */
  readonly low?: number;
  /** Never drawn itself; default 1. */
  readonly high?: number;
  /** A float dtype; default f32 or what `configure` says. */
  readonly dtype?: D;
}
/** The options of `normal`. */
export interface NormalOptions<D extends DType = DType> {
  /** Default 0. */
  readonly mean?: number;
  /** Default 1. */
  readonly std?: number;
  /** A float dtype; default f32 or what `configure` says. */
  readonly dtype?: D;
}
/** The options of `exponential`. */
export interface ExponentialOptions<D extends DType = DType> {
  /** The mean; default 1. */
  readonly scale?: number;
  /** A float dtype; default f32 or what `configure` says. */
  readonly dtype?: D;
}
/** The options of `integers`. */
export interface IntegersOptions<D extends DType = DType> {
  /** An integer dtype; default i32. */
  readonly dtype?: D;
  /** May `high` be drawn too? Default false. */
  readonly endpoint?: boolean;
}
/** The options of `bits`. */
export interface BitsOptions<D extends DType = DType> {
  /** u32 (default) or u64. */
  readonly dtype?: D;
}
/** The options of `bernoulli`. */
export interface BernoulliOptions {
  /** How likely true is; default 1/2. */
  readonly p?: number;
}
/** Which slices change places. */
export interface ShuffleOptions {
  /** Slices along it change places; default the first. */
  readonly axis?: number;
}
/** The options of `choice`. */
export interface ChoiceOptions extends ShuffleOptions {
  /** May one be chosen several times? Default true. */
  readonly replace?: boolean;
  /** How likely each is; their sum is 1. Default: all alike. */
  readonly p?: Tensor | readonly number[];
}

/** Blocks of four words in a stream: the counter's upper bits are for second attempts. */
const STREAM_GROUPS = 2 ** 46;

const methodNames = [
  "spawn",
  "bits",
  "uniform",
  "normal",
  "exponential",
  "bernoulli",
  "integers",
  "permutation",
  "shuffle",
  "choice",
] as const;

/** Made by `generator`, which also makes it anew from what it was: generator(rng.seed, { stream: rng.stream, at: rng.at }). */
class RandomGenerator {
  /** What it was made from. */
  readonly seed: bigint;
  /** Which of the seed's streams it draws from. */
  readonly stream: bigint;
  readonly #key: readonly number[];
  readonly #stream: readonly number[];
  readonly #state: GeneratorState;

  constructor(seed: bigint, stream: bigint, at: number) {
    this.seed = seed;
    this.stream = stream;
    this.#key = wordsOfBits(seed);
    this.#stream = wordsOfBits(stream);
    this.#state = { at, spawned: 0 };
    // They work without the generator in front of them: const { normal } = generator(1).
    for (const name of methodNames) Object.defineProperty(this, name, { value: this[name].bind(this) });
  }

  /** How far it has come in its stream, in groups of 16 words. */
  get at(): number {
    return this.#state.at;
  }

  /** Generators of their own streams, for parts of a program that must not depend on each other. */
  spawn(count: number): RandomGenerator[] {
    checkWhole("spawn", "the count", count, 0, 1e6);
    engine().recorder?.draws?.(this.#state);
    return Array.from({ length: count }, () => {
      const place = [this.#state.spawned++, 0xffff0000, ...this.#stream];
      const [a, b, c, d] = philox(place, this.#key).map(BigInt);
      return new RandomGenerator(a | (b << 32n), c | (d << 32n), 0);
    });
  }

  /** Raw words: all 32 or 64 bits are random. */
  bits<D extends "u32" | "u64" = "u32">(shape: Shape, options: BitsOptions<D> = {}): Tensor<D> {
    const op = "bits";
    options = readOptions(op, options, '{ dtype: "u64" }', ["dtype"]);
    const { dtype = "u32" as D } = options;
    if (dtype !== "u32" && dtype !== "u64")
      fail(
        "dtype",
        op,
        `bits are u32 or u64, not ${describe(dtype)}.`,
        "Use integers(low, high) for others.",
      );
    return wrap(this.#draw(op, "bits", dtype, shapeOf(op, shape))) as Tensor<D>;
  }

  /** Evenly from [low, high). */
  uniform<D extends FloatDType = DefaultDType>(shape: Shape, options: UniformOptions<D> = {}): Tensor<D> {
    const op = "uniform";
    options = readOptions(op, options, "{ low: -1, high: 1 }", ["low", "high", "dtype"]);
    const { low = 0, high = 1, dtype = defaultDType() as D } = options;
    checkNumbers(op, { low, high });
    const { wrap, max } = dtypes[checkFloat(op, dtype)];
    const [from, to] = [wrap(low) as number, wrap(high) as number];
    if (from > to || high - low > (max as number))
      fail(
        "value",
        op,
        `low is ${low}, high is ${high}.`,
        `low is at most high, and ${dtype} holds high - low.`,
      );
    const last = from === to ? to : before(dtype, to);
    return this.#floats(op, "uniform", dtype, shape, [from, to - from, last]);
  }

  /** The bell curve around `mean`. */
  normal<D extends FloatDType = DefaultDType>(shape: Shape, options: NormalOptions<D> = {}): Tensor<D> {
    const op = "normal";
    options = readOptions(op, options, "{ mean: 5, std: 2 }", ["mean", "std", "dtype"]);
    const { mean = 0, std = 1, dtype = defaultDType() as D } = options;
    checkNumbers(op, { mean, std });
    checkSize(op, "std", std);
    return this.#floats(op, "normal", checkFloat(op, dtype), shape, [mean, std]);
  }

  /** Waiting times: exp(-x / scale) / scale. */
  exponential<D extends FloatDType = DefaultDType>(
    shape: Shape,
    options: ExponentialOptions<D> = {},
  ): Tensor<D> {
    const op = "exponential";
    options = readOptions(op, options, "{ scale: 2 }", ["scale", "dtype"]);
    const { scale = 1, dtype = defaultDType() as D } = options;
    checkNumbers(op, { scale });
    checkSize(op, "scale", scale);
    return this.#floats(op, "exponential", checkFloat(op, dtype), shape, [scale]);
  }

  /** true as often as `p` says. */
  bernoulli(shape: Shape, options: BernoulliOptions = {}): Tensor<"bool"> {
    const op = "bernoulli";
    options = readOptions(op, options, "{ p: 0.1 }", ["p"]);
    const { p = 0.5 } = options;
    if (!(typeof p === "number" && p >= 0 && p <= 1))
      fail("value", op, `p is ${describe(p)}.`, "Use a number from 0 to 1.");
    return scope(() => {
      const words = wrap(this.#draw(op, "bits", "u32", shapeOf(op, shape)));
      return namedOp("less", [words, Math.round(p * 2 ** 32)]) as Tensor<"bool">;
    });
  }

  /** Whole numbers from low up to high, without high; none is likelier than another. */
  integers<D extends IntegerDType = "i32">(
    low: number | bigint,
    high: number | bigint,
    shape: Shape = [],
    options: IntegersOptions<D> = {},
  ): Tensor<D> {
    const op = "integers";
    options = readOptions(op, options, '{ dtype: "u8" }', ["dtype", "endpoint"]);
    checkFlag(op, "endpoint", options.endpoint);
    const { dtype = "i32" as D, endpoint = false } = options;
    if (!isInteger(checkDType(op, dtype)))
      fail("dtype", op, `${dtype} is no integer dtype.`, "Use i32, u8, ….");
    const [from, to] = [wholeNumber(op, "low", low), wholeNumber(op, "high", high) + (endpoint ? 1n : 0n)];
    const { min, max } = dtypes[dtype];
    if (from >= to) {
      const most = endpoint ? "at most" : "below";
      fail("value", op, `low is ${low}, high is ${high}.`, `low must be ${most} high.`);
    }
    if (from < BigInt(min) || to - 1n > BigInt(max)) {
      const range = `${dtype} holds ${min} to ${max}`;
      fail(
        "value",
        op,
        `numbers from ${from} to ${to - 1n} do not fit ${dtype}.`,
        `${range}; give { dtype }.`,
      );
    }
    return scope(() => {
      const offsets = wrap(this.#below(op, to - from, dtype, shapeOf(op, shape)));
      return shifted(offsets, from, dtype) as Tensor<D>;
    });
  }

  /** The numbers from 0 to n - 1 in random order, or a copy of a tensor with its slices in random order. */
  permutation(n: number): Tensor<"i64">;
  permutation<D extends DType>(t: Tensor<D>, options?: ShuffleOptions): Tensor<D>;
  permutation(from: number | Tensor, options: ShuffleOptions = {}): Tensor {
    const op = "permutation";
    options = readOptions(op, options, "{ axis: 1 }", ["axis"]);
    if (typeof from === "number") return scope(() => this.#order(op, from).to("i64"));
    return this.#permuted(op, liveTensor(op, from), options.axis);
  }

  /** The slices of a tensor change places, in place. */
  shuffle<D extends DType>(t: Tensor<D>, options: ShuffleOptions = {}): Tensor<D> {
    const op = "shuffle";
    options = readOptions(op, options, "{ axis: 1 }", ["axis"]);
    checkWritable(op, live(op, t));
    scope(() => {
      t.assign(this.#permuted(op, t, options.axis));
    });
    return t;
  }

  /**
   * Positions along the last axis of `weights`, each as often as its weight says: numbers from 0 that need not sum to 1. The
   * result has `shape` and then the other axes.
   *
   *     rng.categorical([0.2, 0.5, 0.3], [1000]);
   *     rng.categorical(softmax(logits)); // one class a row
   */
  categorical(weights: Tensor | readonly number[], shape: Shape = []): Tensor<"i64"> {
    const op = "categorical";
    const read = isTensor(weights) ? weights : snapshot(op, "the weights", weights);
    const sizes = shapeOf(op, shape);
    return scope(() => {
      const given = isTensor(read) ? liveTensor(op, read) : wrap(fromData(read, { dtype: "f64" }, op));
      if (given.rank === 0 || given.shape[given.rank - 1] === 0) {
        fail("shape", op, `the weights are ${list(given.shape)}.`, "Give at least one along the last axis.");
      }
      const w = given.to("f64");
      const total = w.sum({ axis: -1, keepdims: true });
      const isFine = w.greaterEqual(0).all().item() && total.greater(0).all().item();
      if (!isFine || !total.isfinite().all().item()) {
        fail(
          "value",
          op,
          "the weights are not all from 0, or sum to 0.",
          "Give finite weights, such as softmax(logits).",
        );
      }
      const steps = w.cumsum({ axis: w.rank - 1 });
      const batch = w.shape.slice(0, -1);
      const at = this.uniform([...sizes, ...batch, 1], { dtype: "f64" }).mul(total);
      // A weight of 0 has no room, and rounding must not pass the last one that has some.
      const last = steps.less(total).sum({ axis: -1 });
      return steps.lessEqual(at).sum({ axis: -1 }).minimum(last);
    });
  }

  /** Elements (slices along `axis`) of a tensor, or of the numbers from 0 to n - 1. */
  choice(n: number, shape?: Shape, options?: ChoiceOptions): Tensor<"i64">;
  choice<D extends DType>(t: Tensor<D>, shape?: Shape, options?: ChoiceOptions): Tensor<D>;
  choice(from: number | Tensor, shape: Shape = [], options: ChoiceOptions = {}): Tensor {
    const op = "choice";
    options = readOptions(op, options, "{ replace: false }", ["axis", "replace", "p"]);
    const sizes = shapeOf(op, shape);
    if (typeof from === "number") checkWhole(op, "the number of choices", from, 0, 2 ** 32);
    const axis = typeof from === "number" ? 0 : axisOf(op, liveTensor(op, from), options.axis);
    const n = typeof from === "number" ? from : from.shape[axis];
    return scope(() => {
      const chosen = this.#chosen(op, n, sizes, options);
      return typeof from === "number" ? chosen.to("i64") : take(from, chosen, { axis });
    });
  }

  #chosen(op: string, n: number, shape: readonly number[], options: ChoiceOptions): Tensor {
    const { replace = true, p } = options;
    checkFlag(op, "replace", replace);
    const count = sizeOf(shape);
    const likely = p === undefined ? null : probabilities(op, p, n);
    const most = replace ? (n > 0 ? count : 0) : likely === null ? n : likely.filter((x) => x > 0).length;
    if (count > most) {
      const remedy =
        n === 0 || replace ? "Give more to choose from." : "Ask for fewer, or with { replace: true }.";
      fail("value", op, `${count} of ${most} cannot be chosen.`, remedy);
    }
    if (likely === null) {
      if (replace) return this.integers(0, Math.max(1, n), shape, { dtype: "u32" });
      return this.#order(op, n).slice([0, count]).reshape(shape);
    }
    if (replace)
      return searchsorted(cumulative(op, likely), this.uniform(shape, { dtype: "f64" }), { side: "right" });
    // The first of several waiting times is as likely to be one as its rate is: the order is that of choices.
    const rates = wrap(fromData(likely, {}, op));
    const times = this.exponential(n, { dtype: "f64" }).div(rates);
    return argsort(times).slice([0, count]).clone().reshape(shape);
  }

  #permuted<D extends DType>(op: string, t: Tensor<D>, axis: number | undefined): Tensor<D> {
    const along = axisOf(op, t, axis);
    return scope(() => take(t, this.#order(op, t.shape[along]), { axis: along }));
  }

  /** 0 … n - 1 in random order, as u32. */
  #order(op: string, n: number): Tensor<"u32"> {
    checkWhole(op, "the number of elements", n, 0, 2 ** 32);
    const start = this.#state.at;
    const words = wrap(this.#draw(op, "bits", "u32", [n]));
    const items = allocate(op, "u32", [n]);
    return wrap(
      filled(items, () => {
        const params = { ...this.#place, start };
        runRoutine(shuffleRoutine, { operation: op, params, inputs: [stridedOf(words)], outs: [items] });
      }),
    ) as Tensor<"u32">;
  }

  #floats<D extends FloatDType>(
    op: string,
    distribution: Distribution,
    dtype: D,
    shape: Shape,
    params: readonly number[],
  ): Tensor<D> {
    const sizes = shapeOf(op, shape);
    const d = dtype === "f64" ? "f64" : "f32";
    const large = params.find((x) => !Number.isFinite(dtypes[dtype].wrap(x)));
    if (large !== undefined) fail("value", op, `${dtype} does not hold ${large}.`, 'Use { dtype: "f64" }.');
    if (d === dtype) return wrap(this.#draw(op, distribution, d, sizes, params)) as Tensor as Tensor<D>;
    return scope(() => wrap(this.#draw(op, distribution, d, sizes, params)).to(dtype));
  }

  /** Numbers below `bound`, as u32, or as u64 where they do not fit. */
  #below(op: string, bound: bigint, dtype: DType, shape: readonly number[]): Strided {
    const wide = bound > 1n << 32n || dtypes[dtype].big;
    const d = wide && bound > 1n << 32n ? "u64" : "u32";
    const isAll = bound === 1n << BigInt(8 * dtypes[d].bytes);
    return this.#draw(op, isAll ? "bits" : "below", d, shape, [], isAll ? 0n : bound);
  }

  /** A new tensor of words, made numbers. It is written in whole groups, which its block of memory has room for. */
  #draw<D extends DrawDType>(
    op: string,
    distribution: Distribution,
    dtype: D,
    shape: readonly number[],
    params: readonly number[] = [],
    bound = 0n,
  ): Strided<D> {
    const out = allocate(op, dtype, shape);
    const words = (sizeOf(shape) * dtypes[dtype].bytes) / 4;
    const groups = Math.ceil(words / GROUP_WORDS);
    return filled(out, () => {
      const state = this.#state;
      if (state.at + groups > STREAM_GROUPS)
        fail("value", op, "this generator's stream is used up.", "Go on with one of spawn(n).");
      const own = bound === 0n ? params.flatMap((x) => wordsOf(dtype, x)) : wordsOfBits(bound);
      const place = { ...this.#place, start: state.at };
      engine().recorder?.draws?.(state);
      runRoutine(drawRoutine, {
        operation: op,
        params: { ...place, distribution, own },
        inputs: [],
        outs: [out],
      });
      state.at += groups;
    });
  }

  /** Which stream the words are of. */
  get #place(): { readonly stream: readonly number[]; readonly key: readonly number[] } {
    return { stream: this.#stream, key: this.#key };
  }
}

/* Making generators ------------------------------------------------------------------------------------- */

export type { RandomGenerator };

/** Where a generator begins. */
export interface GeneratorOptions {
  /** Streams of one seed have nothing to do with each other; default 0. */
  readonly stream?: Seed;
  /** Where in the stream to begin, in groups of 16 words; default 0. */
  readonly at?: number;
}

/**
 * A generator; the same seed gives the same numbers everywhere. Without a seed it is one nobody has seen before.
 *
 * @param seed a whole number, or none
 * @param options `stream`, and `at`: where in it to begin
 * @returns a new generator
 * @example
 * const [a, b] = [random.generator(42), random.generator(42)];
 * arrayEqual(a.normal([3]), b.normal([3])); // → true
 */
export function generator(seed?: Seed, options: GeneratorOptions = {}): RandomGenerator {
  const op = "generator";
  options = readOptions(op, options, "{ stream: 1 }", ["stream", "at"]);
  const { stream = 0, at = 0 } = options;
  checkWhole(op, "at", at, 0, STREAM_GROUPS);
  const own =
    seed === undefined ? crypto.getRandomValues(new BigUint64Array(1))[0] : checkBits(op, "the seed", seed);
  return new RandomGenerator(own, checkBits(op, "the stream", stream), at);
}

function checkBits(op: string, what: string, x: unknown): bigint {
  const isWhole = typeof x === "bigint" || Number.isSafeInteger(x);
  if (isWhole && (x as bigint) >= 0 && (x as bigint) < 1n << 64n) return BigInt(x as bigint);
  const remedy = "Use a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1.";
  return fail("value", op, `${what} is ${describe(x)}.`, remedy);
}

let unseeded: RandomGenerator | undefined;
function own(): RandomGenerator {
  unseeded ??= generator();
  return unseeded;
}

/* The same functions of a generator that differs in every run. */
type Methods = RandomGenerator;
/**
 * Numbers evenly from [low, high), of a generator that the library keeps.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `low` (default 0), `high` (default 1), `dtype`
 * @returns a new tensor
 * @example
 * random.uniform([2, 3]).shape; // → [2, 3]
 */
export const uniform: Methods["uniform"] = (shape, options) => own().uniform(shape, options);
/**
 * Numbers of the bell curve, of a generator that the library keeps.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `mean` (default 0), `std` (default 1), `dtype`
 * @returns a new tensor
 * @example
 * random.normal([2, 3]).shape; // → [2, 3]
 */
export const normal: Methods["normal"] = (shape, options) => own().normal(shape, options);
/**
 * Waiting times, of a generator that the library keeps.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `scale`: the mean, default 1; `dtype`
 * @returns a new tensor
 * @example
 * random.exponential(100).min().item() >= 0; // → true
 */
export const exponential: Methods["exponential"] = (shape, options) => own().exponential(shape, options);
/**
 * true as often as `p` says, of a generator that the library keeps.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `p`, default 1/2
 * @returns a new bool tensor
 * @example
 * random.bernoulli(3, { p: 1 }); // → bool [true, true, true]
 */
export const bernoulli: Methods["bernoulli"] = (shape, options) => own().bernoulli(shape, options);
/**
 * Whole numbers from low up to high, without high, of a generator that the library keeps.
 *
 *
 * @param low the smallest
 * @param high the first that is too large
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `endpoint`: may high be drawn too; `dtype`, default i32
 * @returns a new tensor
 * @example
 * random.integers(5, 6, 3); // → i32 [5, 5, 5]
 */
export const integers: Methods["integers"] = (low, high, shape, options) =>
  own().integers(low, high, shape, options);
/**
 * The slices of a tensor change places, in place.
 *
 *
 * @param t the tensor to change
 * @param options `axis`, default the first
 * @returns t
 * @example
 * sort(random.shuffle(arange(4))); // → f32 [0, 1, 2, 3]
 */
export const shuffle: Methods["shuffle"] = (t, options) => own().shuffle(t, options);
/**
 * The numbers from 0 to n - 1 in random order, or a copy of a tensor with its slices in random order.
 *
 *
 * @param from n, or a tensor
 * @param options `axis`, default the first
 * @returns a new tensor, i64 for n
 * @example
 * sort(random.permutation(3)); // → i64 [0n, 1n, 2n]
 */
export const permutation = ((from: never, options?: ShuffleOptions) =>
  own().permutation(from, options)) as Methods["permutation"];
/**
 * Positions along the last axis of `weights`, each as often as its weight says.
 *
 *
 * @param weights numbers from 0, which need not sum to 1
 * @param shape how many; default one
 * @returns a new i64 tensor: `shape`, and then the other axes of the weights
 * @example
 * random.categorical([0, 1, 0], 3); // → i64 [1n, 1n, 1n]
 */
export const categorical: Methods["categorical"] = (weights, shape) => own().categorical(weights, shape);
/**
 * Elements (slices along `axis`) of a tensor, or of the numbers from 0 to n - 1.
 *
 *
 * @param from n, or a tensor
 * @param shape how many; default one
 * @param options `replace`: several times, default true; `p`: how likely each is; `axis`
 * @returns a new tensor
 * @example
 * random.choice(tensor([7]), 3); // → f32 [7, 7, 7]
 */
export const choice = ((from: never, shape?: Shape, options?: ChoiceOptions) =>
  own().choice(from, shape, options)) as Methods["choice"];

/* Arguments --------------------------------------------------------------------------------------------- */

function checkFloat<D extends FloatDType>(op: string, dtype: D): D {
  if (!isFloat(checkDType(op, dtype)))
    fail(
      "dtype",
      op,
      `${dtype} is no float dtype.`,
      "Use f32, f64, f16 or bf16; integers(low, high) makes others.",
    );
  return dtype;
}

function checkNumbers(op: string, numbers: Readonly<Record<string, unknown>>): void {
  for (const [name, x] of Object.entries(numbers)) {
    if (!Number.isFinite(x)) fail("value", op, `${name} is ${describe(x)}.`, "Use a finite number.");
  }
}

function checkSize(op: string, name: string, value: number): void {
  if (value < 0) fail("value", op, `${name} is ${value}.`, "It is a size: 0 or more.");
}

function checkWhole(op: string, what: string, n: unknown, least: number, below: number): void {
  if (Number.isInteger(n) && (n as number) >= least && (n as number) < below) return;
  fail("value", op, `${what} is ${describe(n)}.`, `Use a whole number from ${least} to ${below - 1}.`);
}

function wholeNumber(op: string, name: string, x: unknown): bigint {
  if (typeof x === "bigint" || Number.isSafeInteger(x)) return BigInt(x as bigint);
  return fail("value", op, `${name} is ${describe(x)}.`, "Use a whole number up to 2^53 - 1, or a bigint.");
}

function axisOf(op: string, t: Tensor, axis = 0): number {
  if (t.rank === 0) fail("shape", op, "a 0-d tensor has no axis.", "Reshape it to [1] first.");
  return normalizeAxis(op, axis, t.rank);
}

/** The largest number below x. */
function before(dtype: FloatDType, x: number): number {
  const bytes = dtypes[dtype].bytes as 2 | 4 | 8;
  const memory = new DataView(new ArrayBuffer(8));
  dtypes[dtype].write(memory, 0, x);
  const { read, write } = dtypes[({ 2: "i16", 4: "i32", 8: "i64" } as const)[bytes]];
  const bits = BigInt(read(memory, 0));
  const sign = -(1n << BigInt(8 * bytes - 1));
  const moved = x > 0 ? bits - 1n : x < 0 ? bits + 1n : sign + 1n;
  write(memory, 0, bytes === 8 ? moved : Number(moved));
  return dtypes[dtype].read(memory, 0) as number;
}

/** A parameter as the two words of its slot. */
function wordsOf(dtype: DrawDType, x: number): number[] {
  const memory = new DataView(new ArrayBuffer(8));
  dtypes[dtype].write(memory, 0, x);
  return [memory.getInt32(0, true), memory.getInt32(4, true)];
}

const wordsOfBits = (x: bigint): number[] => [Number(x & 0xffffffffn), Number(x >> 32n)];

/** offset + low in the dtype; both wrap alike. */
function shifted(offsets: Tensor, low: bigint, dtype: DType): Tensor {
  const { big, wrap } = dtypes[dtype];
  const converted = offsets.to(dtype);
  if (low === 0n) return converted;
  const scalar = big ? low : (wrap(Number(BigInt.asIntN(32, low))) as number);
  return namedOp("add", [converted, scalar], { out: converted });
}

/** The probabilities, checked. */
function probabilities(op: string, p: Tensor | readonly number[], n: number): Float64Array {
  const values = isTensor(p) ? scope(() => liveTensor(op, p).to("f64").toTypedArray()) : listOf(op, p);
  const remedy = "Give one for each choice, none below 0, with a sum of 1.";
  if (values.length !== n) fail("value", op, `${values.length} probabilities for ${n} choices.`, remedy);
  const wrong = values.findIndex((x) => !(x >= 0));
  if (wrong >= 0) fail("value", op, `p[${wrong}] is ${values[wrong]}.`, remedy);
  const sum = values.reduce((a, b) => a + b, 0);
  if (!(Math.abs(sum - 1) <= 1e-6)) fail("value", op, `the probabilities add up to ${sum}.`, remedy);
  return values;
}

function listOf(op: string, p: readonly number[]): Float64Array {
  if (!Array.isArray(p) || p.some((x) => typeof x !== "number"))
    fail("value", op, `p is ${describe(p)}.`, "Give a tensor or an array of numbers.");
  return Float64Array.from(p);
}

/** Where the share of each choice ends in [0, 1]. */
function cumulative(op: string, p: Float64Array): Tensor {
  const ends = new Float64Array(p.length);
  p.reduce((sum, x, i) => {
    ends[i] = sum + x;
    return ends[i];
  }, 0);
  const total = ends[ends.length - 1];
  // The last that can be chosen takes what rounding leaves.
  return wrap(fromData(ends.map((x) => (x === total ? 1 : x / total)) as unknown as Nested, {}, op));
}
