/**
 * Entries whose functions wait, or keep tensors, among hostile arguments: strided/nn's optimisers and loaders,
 * strided/chunked. Whatever they are given, they return or throw a TensorError; nobody else's elements change.
 */
import { describe, expect, it } from "vitest";
import { type ChunkedArray, chunked } from "../../src/chunked.ts";
import { engine } from "../../src/engine.ts";
import { arange, scope, type Tensor, TensorError, tensor } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";

type Fn = (...args: readonly unknown[]) => unknown;

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const gone = () => {
  const t = tensor([1, 2, 3]);
  t.dispose();
  return t;
};
/** Says another length, or another value, each time it is asked. */
const turning = (first: unknown, then: unknown) => {
  let reads = 0;
  return { get: () => (reads++ === 0 ? first : then), enumerable: true };
};
const changing = () => Object.defineProperties({}, { axis: turning(0, 9), lr: turning(0.1, Number.NaN) });
const longer = () =>
  new Proxy([1, 2], { get: (list, key) => (key === "length" ? 2 ** 32 : Reflect.get(list, key)) });
const circle = () => {
  const made: Record<string, unknown> = {};
  made.again = made;
  return made;
};
const hostile: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  "0": () => 0,
  "-1": () => -1,
  "1.5": () => 1.5,
  "2^53": () => 2 ** 53,
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  bigint: () => 3n,
  text: () => "x",
  true: () => true,
  symbol: () => Symbol("s"),
  "empty list": () => [],
  "list of null": () => [null],
  "sizes that do not fit": () => [2 ** 40, 2 ** 40],
  "negative sizes": () => [-1, -1],
  "empty object": () => ({}),
  "odd keys": () => ({ __proto__: null, constructor: 3 }),
  "a function": () => () => 3,
  "an async function": () => async () => 3,
  "a class": () => class {},
  "a text that is no object": () => ({ toString: () => "x", valueOf: () => 3 }),
  "no primitive": () => ({ [Symbol.toPrimitive]: () => ({}) }),
  "a disposed tensor": gone,
  "a Proxy around a tensor": () => new Proxy(tensor([1, 2, 3]), {}),
  "a forged tensor": () => Object.create(Object.getPrototypeOf(tensor([1]))),
  integers: () => tensor([1, 2, 3], { dtype: "i32" }),
  revoked: revoked,
  "a getter that changes": changing,
  "a length that lies": longer,
  "a circle": circle,
};

const params = () => ({ w: tensor([1, 2, 3]), b: [tensor([4])] });
const stepped =
  (make: Fn) =>
  (...args: readonly unknown[]) => {
    const optimiser = make(...args) as { step(g: unknown): unknown };
    optimiser.step(params());
  };
const batches = async (data: unknown, options: unknown) => {
  let n = 0;
  for await (const batch of nn.loader(data as never, options as never)) if (++n > 3 || batch === null) break;
};
const initialised =
  (make: Fn) =>
  (...args: readonly unknown[]) =>
    (make(...args) as Fn)([3, 2], { normal: () => 0 }, "f32");

/** How each is called. */
const networks: Readonly<Record<string, { args: () => unknown[]; call: Fn }>> = {
  sgd: {
    args: () => [
      params(),
      { lr: 0.1, momentum: 0.9, dampening: 0, nesterov: false, weightDecay: 0.1, frozen: ["b"] },
    ],
    call: stepped(nn.sgd as Fn),
  },
  adam: {
    args: () => [params(), { lr: 0.1, betas: [0.9, 0.99], eps: 1e-8, weightDecay: 0 }],
    call: stepped(nn.adam as Fn),
  },
  adamw: { args: () => [params(), { lr: 0.1, weightDecay: 0.1 }], call: stepped(nn.adamw as Fn) },
  rmsprop: {
    args: () => [params(), { lr: 0.1, alpha: 0.9, centered: true, momentum: 0.1 }],
    call: stepped(nn.rmsprop as Fn),
  },
  step: { args: () => [params()], call: (grads) => nn.sgd(params(), { lr: 0.1 }).step(grads as never) },
  loader: {
    args: () => [
      { x: arange(8).reshape(4, 2), y: arange(4) },
      { batch: 2, shuffle: 1, dropLast: false, prefetch: 1 },
    ],
    call: batches as Fn,
  },
  encodeTree: { args: () => [params()], call: nn.encodeTree as Fn },
  "linear.init": { args: () => [3, 2, { bias: true, rng: 1, dtype: "f32" }], call: nn.linear.init as Fn },
  "conv2d.init": {
    args: () => [3, 2, [2, 2], { bias: true, groups: 1, rng: 1 }],
    call: nn.conv2d.init as Fn,
  },
  "embedding.init": { args: () => [3, 2, { rng: 1 }], call: nn.embedding.init as Fn },
  "layerNorm.init": { args: () => [3, { dtype: "f64" }], call: nn.layerNorm.init as Fn },
  "batchNorm.init": { args: () => [3, { dtype: "f64" }], call: nn.batchNorm.init as Fn },
  "multiHeadAttention.init": { args: () => [4, { rng: 1 }], call: nn.multiHeadAttention.init as Fn },
  "init.constant": { args: () => [0.5], call: initialised(nn.init.constant as Fn) },
};

const some = (shape = [4, 6]) =>
  chunked.full(shape, 2, { chunks: shape.map((n) => Math.max(1, n >> 1)), dtype: "f32" });
const computed =
  (name: keyof ChunkedArray) =>
  async (...args: readonly unknown[]) => {
    const made = Reflect.apply(some()[name] as Fn, some(), args) as ChunkedArray;
    const t = await made.compute();
    t.dispose();
  };
const arrays: Readonly<Record<string, { args: () => unknown[]; call: Fn }>> = {
  full: { args: () => [[4, 4], 2, { chunks: [2, 2], dtype: "f32" }], call: chunked.full as Fn },
  random: {
    args: () => [[4, 4], { chunks: [2, 2], seed: 1, distribution: "normal" }],
    call: chunked.random as Fn,
  },
  concat: { args: () => [[some(), some()], { axis: 0 }], call: chunked.concat as Fn },
  stack: { args: () => [[some(), some()], { axis: 0 }], call: chunked.stack as Fn },
  open: { args: () => ["/nowhere", { path: "a" }], call: chunked.open as Fn },
  add: { args: () => [some()], call: computed("add") },
  to: { args: () => ["f64"], call: computed("to") },
  map: {
    args: () => [(x: number, { k }: { k: number }) => x * k, { with: { k: 2 } }],
    call: computed("map"),
  },
  zip: { args: () => [some(), (x: number, y: number) => x * y, {}], call: computed("zip") },
  sum: { args: () => [{ axis: 0, keepdims: true }], call: computed("sum") },
  std: { args: () => [{ axis: [0], ddof: 1 }], call: computed("std") },
  cumsum: { args: () => [{ axis: 1 }], call: computed("cumsum") },
  histogram: { args: () => [{ bins: 4, range: [0, 9] }], call: computed("histogram") },
  approximateQuantile: { args: () => [[0.5], { bins: 8 }], call: computed("approximateQuantile") },
  slice: { args: () => ["1:3", [0, 2]], call: computed("slice") },
  transpose: { args: () => [[1, 0]], call: computed("transpose") },
  expandDims: { args: () => [[0]], call: computed("expandDims") },
  rechunk: { args: () => [[1, 6]], call: computed("rechunk") },
  matmul: { args: () => [some([6, 4])], call: computed("matmul") },
  plan: {
    args: () => [{ memory: "1 GiB", workers: 1 }],
    call: (options) =>
      some()
        .plan(options as never)
        .explain(),
  },
};

/** The arguments with a hostile value in place of one of them, or of one of its options. */
function* places(args: () => unknown[]): Generator<readonly [string, (value: unknown) => unknown[]]> {
  for (const [at, arg] of args().entries()) {
    yield [`${at}`, (value) => args().map((a, i) => (i === at ? value : a))];
    const isOptions =
      typeof arg === "object" && arg !== null && Object.getPrototypeOf(arg) === Object.prototype;
    for (const key of isOptions ? Object.keys(arg) : []) {
      yield [
        `${at}.${key}`,
        (value) => args().map((a, i) => (i === at ? { ...(a as object), [key]: value } : a)),
      ];
    }
  }
}

async function attack({ args, call }: { args: () => unknown[]; call: Fn }): Promise<string[]> {
  const found: string[] = [];
  const canary: Tensor = arange(1000);
  for (const [place, given] of places(args)) {
    for (const [what, make] of Object.entries(hostile)) {
      try {
        await scope(() => [call(...given(make()))])[0];
      } catch (error) {
        const isTheirs = what === "a class" && /Class constructor/.test(String(error));
        const isOurs = isTheirs || (error instanceof TensorError && error.code !== "internal");
        if (!isOurs) found.push(`${place} = ${what} → ${String(error).slice(0, 120)}`);
      }
      if (engine().recorder !== null) found.push(`${place} = ${what} → left recording`);
    }
  }
  engine().heap.check();
  expect(canary.sum().item()).toBe(499_500);
  canary.dispose();
  return found;
}

describe("strided/nn among hostile arguments", () => {
  it.each(Object.entries(networks))("%s", async (_, way) => {
    await way.call(...way.args());
    expect(await attack(way)).toEqual([]);
  });
});

describe("strided/chunked among hostile arguments", () => {
  it.each(Object.entries(arrays))("%s", async (name, way) => {
    if (name !== "open") await way.call(...way.args());
    expect(await attack(way)).toEqual([]);
  });
});
