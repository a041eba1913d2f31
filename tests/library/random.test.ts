/** Random numbers: the stream against a second implementation, distributions by their statistics, and what is refused. */
import { beforeAll, describe, expect, it } from "vitest";
import type { TypedArray } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { arange, ready, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import * as random from "../../src/library/random.ts";
import { philox } from "../../src/wasm/routines/random.ts";
import { refused } from "../refused.ts";
import { testReference } from "./reference.ts";

const { generator } = random;

const of = ({ seed }: { seed: string }) => generator(BigInt(seed));
testReference("random", {
  bits: (_, p) => of(p).bits(p.shape, { dtype: p.dtype }),
  uniform: (_, p) => of(p).uniform(p.shape, { dtype: p.dtype, low: p.low, high: p.high }),
  normal: (_, p) =>
    of(p).normal(p.shape, { dtype: p.dtype, ...(p.std === undefined ? {} : { mean: p.mean, std: p.std }) }),
  exponential: (_, p) => of(p).exponential(p.shape, { dtype: p.dtype, scale: p.scale }),
  bernoulli: (_, p) => of(p).bernoulli(p.shape, { p: p.p }),
  integers: (_, p) => of(p).integers(BigInt(p.low), BigInt(p.high), p.shape, { dtype: p.dtype }),
  permutation: (_, p) => of(p).permutation(p.n),
  spawn: (_, p) => {
    const child = of(p).spawn(p.index + 1)[p.index];
    return (p.then === undefined ? child : child.spawn(2)[p.then]).bits(20);
  },
  place: (_, p) => generator(BigInt(p.seed), { at: p.at }).bits(p.n),
  sequence: (_, p) => {
    const rng = of(p);
    return [rng.uniform(5), rng.permutation(7), rng.uniform(40, { dtype: "f64" })];
  },
});

/** The vectors that come with Random123. */
describe("Philox4x32-10", () => {
  const hex = (words: readonly number[]) => words.map((w) => w.toString(16).padStart(8, "0")).join(" ");
  it("gives the published words", () => {
    const all = 0xffffffff;
    const pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
    expect(hex(philox([0, 0, 0, 0], [0, 0]))).toBe("6627e8d5 e169c58d bc57ac4c 9b00dbd8");
    expect(hex(philox([all, all, all, all], [all, all]))).toBe("408f276d 41c83b0e a20bc7c6 6d5451fd");
    expect(hex(philox(pi, [0xa4093822, 0x299f31d0]))).toBe("d16cfe09 94fdcceb 5001e420 24126ea1");
  });

  it("in WebAssembly gives the same, at any place of any stream", () => {
    scope(() => {
      for (const [key, stream, at] of [
        [[1, 2], [3, 4], 0],
        [[0xffffffff, 0xdeadbeef], [0xffffffff, 0x80000000], 2 ** 30 - 1],
        [[0xa4093822, 0x299f31d0], [0x13198a2e, 0x03707344], 0x243f6a88 / 4],
      ] as const) {
        const [seed, own] = [key, stream].map(([low, high]) => BigInt(low) | (BigInt(high) << 32n));
        const words = generator(seed, { stream: own, at }).bits(32).toTypedArray();
        for (let block = 0; block < 8; block++) {
          const place = 4 * at + block;
          const want = philox([place % 2 ** 32, Math.floor(place / 2 ** 32), ...stream], key);
          expect(hex([...words.subarray(4 * block, 4 * block + 4)])).toBe(hex(want));
        }
      }
    });
  });
});

describe("the same seed gives the same numbers", () => {
  const draws: Record<string, (rng: random.RandomGenerator) => Tensor> = {
    bits: (rng) => rng.bits(100_003),
    uniform: (rng) => rng.uniform([1000, 333]),
    uniformWide: (rng) => rng.uniform(100_001, { dtype: "f64", low: -3, high: 5 }),
    uniformHalf: (rng) => rng.uniform(100_001, { dtype: "f16" }),
    normal: (rng) => rng.normal(333_333),
    normalWide: (rng) => rng.normal(100_001, { dtype: "f64" }),
    exponential: (rng) => rng.exponential(100_001),
    exponentialWide: (rng) => rng.exponential(50_001, { dtype: "f64" }),
    integers: (rng) => rng.integers(-5, 1000, 100_001),
    integersOften: (rng) => rng.integers(0, 3_000_000_000, 50_001, { dtype: "u32" }),
    integersWide: (rng) => rng.integers(0, 2n ** 63n + 5n, 50_001, { dtype: "u64" }),
    bernoulli: (rng) => rng.bernoulli(100_001, { p: 0.25 }),
    permutation: (rng) => rng.permutation(50_001),
  };
  const bytesOf = (x: TypedArray) => new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
  const same = (a: TypedArray, b: TypedArray) => Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
  beforeAll(ready);
  for (const [name, draw] of Object.entries(draws)) {
    it(`${name}: on one thread, on all of them, and without SIMD`, () => {
      const { kernels } = engine();
      scope(() => {
        const shared = draw(generator(5)).toTypedArray();
        const alone = kernels.alone(() => draw(generator(5)).toTypedArray());
        kernels.simd = false;
        try {
          expect(same(shared, draw(generator(5)).toTypedArray()), "without SIMD").toBe(true);
        } finally {
          kernels.simd = true;
        }
        expect(same(alone, shared), "on one thread").toBe(true);
        expect(same(draw(generator(6)).toTypedArray(), shared), "another seed").toBe(false);
      });
    });
  }

  it("draws of whole groups join up, and none is drawn twice", () => {
    scope(() => {
      const [whole, parts] = [generator(1), generator(1)];
      const all = [...whole.uniform(96).toTypedArray()];
      expect([32, 16, 48].flatMap((n) => [...parts.uniform(n).toTypedArray()])).toEqual(all);
      expect(new Set(whole.bits(100_000).toTypedArray()).size).toBeGreaterThan(99_990);
    });
  });

  it("streams differ from each other and from their parent", () => {
    scope(() => {
      const rng = generator(3);
      const all = [rng, ...rng.spawn(3), ...rng.spawn(2), ...generator(4).spawn(2)];
      const firsts = all.map((g) => g.bits(4).toTypedArray().join());
      expect(new Set(firsts).size).toBe(all.length);
    });
  });

  it("a generator goes on where another stopped", () => {
    scope(() => {
      for (const rng of [generator(3), ...generator(3).spawn(2), generator(3, { stream: 7 })]) {
        rng.normal(1000);
        const again = generator(rng.seed, { stream: rng.stream, at: rng.at });
        expect(again.uniform(50).toArray()).toEqual(rng.uniform(50).toArray());
      }
      expect(generator(3, { stream: 1 }).bits(4).toArray()).not.toEqual(generator(3).bits(4).toArray());
    });
  });

  it("generators without a seed differ", () => {
    scope(() => {
      expect(generator().bits(4).toArray()).not.toEqual(generator().bits(4).toArray());
      expect(random.uniform(8).toArray()).not.toEqual(random.uniform(8).toArray());
    });
  });
});

/* Statistics: seeds are fixed, so these pass or fail for good. Bounds are those of 1 in 1000 or rarer. */

const values = (t: Tensor): Float64Array => scope(() => t.to("f64").toTypedArray());
function sumOf(x: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i];
  return sum;
}

function moments(x: Float64Array): { mean: number; variance: number; skew: number; kurtosis: number } {
  const mean = sumOf(x) / x.length;
  const power = (k: number) => sumOf(x.map((v) => (v - mean) ** k)) / x.length;
  const variance = power(2);
  return { mean, variance, skew: power(3) / variance ** 1.5, kurtosis: power(4) / variance ** 2 };
}

/** Kolmogorov and Smirnov's distance, times √n: beyond 1.95 once in 1000. */
function distance(x: Float64Array, cdf: (v: number) => number): number {
  const sorted = x.slice().sort();
  let most = 0;
  sorted.forEach((v, i) => {
    const p = cdf(v);
    most = Math.max(most, Math.abs(p - i / x.length), Math.abs(p - (i + 1) / x.length));
  });
  return most * Math.sqrt(x.length);
}

/** χ² as a number of standard deviations from its mean, by Wilson and Hilferty's cube root. */
function surprise(counts: ArrayLike<number>, expected: (i: number) => number): number {
  let chi = 0;
  for (let i = 0; i < counts.length; i++) chi += (counts[i] - expected(i)) ** 2 / expected(i);
  const freedom = counts.length - 1;
  const spread = 2 / (9 * freedom);
  return (Math.cbrt(chi / freedom) - (1 - spread)) / Math.sqrt(spread);
}

/** The normal distribution function, by the continued fraction or the series of erfc. */
function normalCdf(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  let tail: number;
  if (z < 2.5) {
    let [term, sum] = [z, z];
    for (let n = 1; n < 80; n++) {
      term *= (-z * z) / n;
      sum += term / (2 * n + 1);
    }
    tail = (1 - (2 / Math.sqrt(Math.PI)) * sum) / 2;
  } else {
    let fraction = 0;
    for (let n = 60; n > 0; n--) fraction = n / 2 / (z + fraction);
    tail = Math.exp(-z * z) / (Math.sqrt(Math.PI) * (z + fraction)) / 2;
  }
  return x > 0 ? 1 - tail : tail;
}

function counted(x: ArrayLike<number | bigint>, size: number): Uint32Array {
  const counts = new Uint32Array(size);
  for (let i = 0; i < x.length; i++) counts[Number(x[i])]++;
  return counts;
}

describe("distributions", () => {
  const n = 100_000;
  for (const dtype of ["f32", "f64"] as const) {
    for (const seed of [1, 2, 3]) {
      it(`uniform ${dtype}, seed ${seed}`, () => {
        const x = values(generator(seed).uniform(n, { dtype }));
        const m = moments(x);
        expect(Math.min(...x.subarray(0, 1000))).toBeGreaterThanOrEqual(0);
        expect(x.every((v) => v >= 0 && v < 1)).toBe(true);
        expect(Math.abs(m.mean - 0.5) * Math.sqrt(12 * n)).toBeLessThan(3.3);
        expect(Math.abs(m.variance - 1 / 12) * Math.sqrt(180 * n)).toBeLessThan(3.3);
        expect(distance(x, (v) => v)).toBeLessThan(1.95);
      });

      it(`normal ${dtype}, seed ${seed}`, () => {
        const x = values(generator(seed).normal(n, { dtype }));
        const m = moments(x);
        expect(Math.abs(m.mean) * Math.sqrt(n)).toBeLessThan(3.3);
        expect(Math.abs(m.variance - 1) * Math.sqrt(n / 2)).toBeLessThan(3.3);
        expect(Math.abs(m.skew) * Math.sqrt(n / 6)).toBeLessThan(3.3);
        expect(Math.abs(m.kurtosis - 3) * Math.sqrt(n / 24)).toBeLessThan(3.5);
        expect(distance(x, normalCdf)).toBeLessThan(1.95);
        // The tails: 270 and 6 in 100,000 are beyond 3 and 4.
        const beyond = (z: number) => x.filter((v) => Math.abs(v) > z).length;
        expect(Math.abs(beyond(3) - n * 0.0026998) / Math.sqrt(n * 0.0027)).toBeLessThan(3.3);
        expect(Math.abs(beyond(4) - n * 6.334e-5) / Math.sqrt(n * 6.334e-5)).toBeLessThan(3.3);
        // Neighbours, and the two of one pair, have nothing to do with each other.
        for (const lag of [1, 2, 4, 8, 16]) {
          let sum = 0;
          for (let i = lag; i < n; i++) sum += x[i] * x[i - lag];
          expect(Math.abs(sum) / Math.sqrt(n), `lag ${lag}`).toBeLessThan(3.5);
        }
      });

      it(`exponential ${dtype}, seed ${seed}`, () => {
        const x = values(generator(seed).exponential(n, { dtype, scale: 2 }));
        expect(x.every((v) => v >= 0)).toBe(true);
        expect(Math.abs(moments(x).mean / 2 - 1) * Math.sqrt(n)).toBeLessThan(3.3);
        expect(distance(x, (v) => 1 - Math.exp(-v / 2))).toBeLessThan(1.95);
      });
    }
  }

  it("every bit of a word is set half of the time, and words are uniform by their upper and lower bytes", () => {
    const words = scope(() => generator(8).bits(n).toTypedArray());
    for (let bit = 0; bit < 32; bit++) {
      let count = 0;
      for (const w of words) count += (w >>> bit) & 1;
      expect((Math.abs(count - n / 2) * 2) / Math.sqrt(n), `bit ${bit}`).toBeLessThan(3.5);
    }
    for (const shift of [0, 8, 16, 24]) {
      const counts = counted(
        words.map((w) => (w >>> shift) & 255),
        256,
      );
      expect(Math.abs(surprise(counts, () => n / 256))).toBeLessThan(3.5);
    }
  });

  it("16-bit floats never reach the upper end", () => {
    scope(() => {
      for (const dtype of ["f16", "bf16"] as const) {
        const x = values(generator(2).uniform(n, { dtype }));
        expect(x.every((v) => v >= 0 && v < 1)).toBe(true);
        const y = values(generator(2).uniform(n, { dtype, low: 100, high: 101 }));
        expect(y.every((v) => v >= 100 && v < 101)).toBe(true);
        expect(Math.abs(sumOf(x) / n - 0.5)).toBeLessThan(0.004);
      }
      const close = values(generator(2).uniform(n, { low: 16777214, high: 16777216 }));
      expect(new Set(close)).toEqual(new Set([16777214, 16777215]));
      expect(generator(2).uniform(3, { low: 4, high: 4 }).toArray()).toEqual([4, 4, 4]);
    });
  });

  it("whole numbers are all alike, whatever the bound", () => {
    for (const bound of [2, 3, 7, 10, 100, 1000]) {
      const x = scope(() => generator(bound).integers(0, bound, n).toTypedArray());
      expect(Math.abs(surprise(counted(x, bound), () => n / bound)), `below ${bound}`).toBeLessThan(3.5);
    }
    // 3·2^30 by a remainder of 32 bits would make the first third twice as likely.
    const x = scope(() =>
      generator(4)
        .integers(0, 3 * 2 ** 30, n, { dtype: "u32" })
        .toTypedArray(),
    );
    const thirds = counted(
      [...x].map((v) => Math.floor(v / 2 ** 30)),
      3,
    );
    expect(Math.abs(surprise(thirds, () => n / 3))).toBeLessThan(3.5);
    const wide = scope(() =>
      generator(4)
        .integers(0, 3n * 2n ** 61n, n, { dtype: "u64" })
        .toTypedArray(),
    );
    const parts = counted(
      [...wide].map((v) => v / 2n ** 61n),
      3,
    );
    expect(Math.abs(surprise(parts, () => n / 3))).toBeLessThan(3.5);
  });

  it("bernoulli is true as often as p says, always or never at the ends", () => {
    scope(() => {
      for (const p of [0.1, 0.5, 0.9]) {
        const yes = sumOf(values(generator(7).bernoulli(n, { p })));
        expect(Math.abs(yes - n * p) / Math.sqrt(n * p * (1 - p))).toBeLessThan(3.3);
      }
      expect(generator(7).bernoulli(1000, { p: 1 }).all().item()).toBe(true);
      expect(generator(7).bernoulli(1000, { p: 0 }).any().item()).toBe(false);
    });
  });

  it("every order of four is as likely as any other", () => {
    const counts = new Map<string, number>();
    const rng = generator(12);
    for (let i = 0; i < 4800; i++) {
      const order = scope(() => rng.permutation(4).toTypedArray().join());
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(24);
    expect(Math.abs(surprise([...counts.values()], () => 200))).toBeLessThan(3.5);
  });

  it("choices follow their probabilities, with and without replacement", () => {
    const p = [0.1, 0, 0.25, 0.6, 0.05];
    const chosen = scope(() => generator(5).choice(5, n, { p }).toTypedArray());
    const counts = counted(chosen, 5);
    expect(counts[1]).toBe(0);
    const seen = [0, 2, 3, 4];
    expect(
      Math.abs(
        surprise(
          seen.map((i) => counts[i]),
          (i) => n * p[seen[i]],
        ),
      ),
    ).toBeLessThan(3.5);
    // Two without replacement: i then j with p[i]·p[j] / (1 - p[i]).
    const rng = generator(6);
    const rounds = 4000;
    const pairs = new Map<string, number>();
    for (let k = 0; k < rounds; k++) {
      const pair = scope(() => rng.choice(5, 2, { p, replace: false }).toTypedArray().join());
      pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
    }
    const wanted = seen.flatMap((i) => seen.filter((j) => j !== i).map((j) => [i, j]));
    expect(pairs.size).toBe(wanted.length);
    expect(
      Math.abs(
        surprise(
          wanted.map(([i, j]) => pairs.get(`${i},${j}`) ?? 0),
          (k) => {
            const [i, j] = wanted[k];
            return (rounds * p[i] * p[j]) / (1 - p[i]);
          },
        ),
      ),
    ).toBeLessThan(3.5);
  });
});

describe("orders and choices of tensors", () => {
  it("a permutation has every number once", () => {
    scope(() => {
      for (const n of [1, 16, 1000, 50_000]) {
        const order = generator(n).permutation(n).toTypedArray();
        expect([...order].sort((a, b) => Number(a - b))).toEqual(
          Array.from({ length: n }, (_, i) => BigInt(i)),
        );
      }
    });
  });

  it("of a tensor it moves whole slices, along any axis, of any layout", () => {
    scope(() => {
      const t = arange(24, { dtype: "i32" }).reshape(4, 6);
      for (const view of [t, t.T, t.flip(), t.slice(":", "::2")]) {
        for (const axis of [0, 1, -1]) {
          const moved = generator(2).permutation(view, { axis });
          expect(moved.shape).toEqual(view.shape);
          const slices = (x: Tensor) =>
            [...x.moveAxis(axis, 0)].map((s) => (s as Tensor).toTypedArray().join());
          expect(slices(moved).sort()).toEqual(slices(view).sort());
        }
      }
    });
  });

  it("shuffle does it in place, through a view too", () => {
    scope(() => {
      const t = arange(100);
      expect(generator(3).shuffle(t)).toBe(t);
      expect(t.toArray()).not.toEqual(arange(100).toArray());
      expect([...t.toTypedArray()].sort((a, b) => a - b)).toEqual([...arange(100).toTypedArray()]);
      const base = arange(100);
      generator(3).shuffle(base.slice("::2"));
      expect(base.slice("1::2").toArray()).toEqual(arange(100).slice("1::2").toArray());
    });
  });

  it("choice takes elements or slices, with their dtype", () => {
    scope(() => {
      const names = tensor([10n, 20n, 30n]);
      const some = generator(1).choice(names, [4, 5]);
      expect(some.dtype).toBe("i64");
      expect(some.shape).toEqual([4, 5]);
      expect([...some.toTypedArray()].every((x) => [10n, 20n, 30n].includes(x))).toBe(true);
      const rows = generator(1).choice(arange(12).reshape(3, 4), 2, { replace: false, axis: 1 });
      expect(rows.shape).toEqual([3, 2]);
      const all = generator(1).choice(5, 5, { replace: false }).toArray();
      expect([...(all as unknown as bigint[])].sort()).toEqual([0n, 1n, 2n, 3n, 4n]);
      expect(generator(1).choice(3).shape).toEqual([]);
      expect(generator(1).choice(0, 0).shape).toEqual([0]);
      const p = tensor([0, 0, 1], { dtype: "f32" });
      expect(generator(1).choice(names, 2, { p }).toArray()).toEqual([30n, 30n]);
    });
  });

  it("the functions without a generator do the same", () => {
    scope(() => {
      expect(random.uniform([2, 3]).shape).toEqual([2, 3]);
      expect(random.normal(4, { dtype: "f64" }).dtype).toBe("f64");
      expect(random.exponential(4).shape).toEqual([4]);
      expect(random.integers(0, 3, [4]).dtype).toBe("i32");
      expect(random.bernoulli(4).dtype).toBe("bool");
      expect(random.permutation(4).size).toBe(4);
      expect(random.choice(4, 2).size).toBe(2);
      expect(random.shuffle(arange(4)).size).toBe(4);
    });
  });
});

describe("refusals", () => {
  const rng = generator(1);
  it("say what is wrong and what to do", () => {
    expect(refused(() => generator(-1))).toMatchInlineSnapshot(`
      "(value) generator: the seed is the number -1.
        Use a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1."
    `);
    expect(refused(() => generator(0.5))).toMatchInlineSnapshot(`
      "(value) generator: the seed is the number 0.5.
        Use a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1."
    `);
    expect(refused(() => generator("x" as never))).toMatchInlineSnapshot(`
      "(value) generator: the seed is the string "x".
        Use a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1."
    `);
    expect(refused(() => generator(2n ** 64n))).toMatchInlineSnapshot(`
      "(value) generator: the seed is the bigint 18446744073709551616n.
        Use a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1."
    `);
    expect(refused(() => generator(1, { stream: -1 }))).toMatchInlineSnapshot(`
      "(value) generator: the stream is the number -1.
        Use a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1."
    `);
    expect(refused(() => generator(1, { at: 0.5 }))).toMatchInlineSnapshot(`
      "(value) generator: at is the number 0.5.
        Use a whole number from 0 to 70368744177663."
    `);
    expect(refused(() => generator(1, { at: 2 ** 46 - 1 }).uniform(17))).toMatchInlineSnapshot(`
      "(value) uniform: this generator's stream is used up.
        Go on with one of spawn(n)."
    `);
    expect(refused(() => rng.uniform([2, -1]))).toMatchInlineSnapshot(`
      "(shape) uniform: size -1 of axis 1 in [2, -1] is not a size.
        Sizes are integers from 0."
    `);
    expect(refused(() => rng.uniform(2, { low: 1, high: 0 }))).toMatchInlineSnapshot(`
      "(value) uniform: low is 1, high is 0.
        low is at most high, and f32 holds high - low."
    `);
    expect(refused(() => rng.uniform(2, { high: Number.NaN }))).toMatchInlineSnapshot(`
      "(value) uniform: high is the number NaN.
        Use a finite number."
    `);
    expect(refused(() => rng.uniform(2, { dtype: "i32" as never }))).toMatchInlineSnapshot(`
      "(dtype) uniform: i32 is no float dtype.
        Use f32, f64, f16 or bf16; integers(low, high) makes others."
    `);
    expect(refused(() => rng.uniform(2, 5 as never))).toMatchInlineSnapshot(`
      "(value) uniform: the options are the number 5.
        Give an object such as { low: -1, high: 1 }."
    `);
    expect(refused(() => rng.uniform(2, { max: 5 } as never))).toMatchInlineSnapshot(`
      "(value) uniform: there is no option "max".
        There are low, high, dtype."
    `);
    expect(refused(() => rng.uniform(2, { low: -3e38, high: 3e38 }))).toMatchInlineSnapshot(`
      "(value) uniform: low is -3e+38, high is 3e+38.
        low is at most high, and f32 holds high - low."
    `);
    expect(refused(() => rng.normal(2, { std: -1 }))).toMatchInlineSnapshot(`
      "(value) normal: std is -1.
        It is a size: 0 or more."
    `);
    expect(refused(() => rng.normal(2, { std: 1e5, dtype: "f16" }))).toMatchInlineSnapshot(`
      "(value) normal: f16 does not hold 100000.
        Use { dtype: "f64" }."
    `);
    expect(refused(() => rng.exponential(2, { scale: -1 }))).toMatchInlineSnapshot(`
      "(value) exponential: scale is -1.
        It is a size: 0 or more."
    `);
    expect(refused(() => rng.bernoulli(2, { p: 2 }))).toMatchInlineSnapshot(`
      "(value) bernoulli: p is the number 2.
        Use a number from 0 to 1."
    `);
    expect(refused(() => rng.bits(2, { dtype: "f32" as never }))).toMatchInlineSnapshot(`
      "(dtype) bits: bits are u32 or u64, not the string "f32".
        Use integers(low, high) for others."
    `);
    expect(refused(() => rng.integers(3, 3))).toMatchInlineSnapshot(`
      "(value) integers: low is 3, high is 3.
        low must be below high."
    `);
    expect(refused(() => rng.integers(0, 300, 2, { dtype: "u8" }))).toMatchInlineSnapshot(`
      "(value) integers: numbers from 0 to 299 do not fit u8.
        u8 holds 0 to 255; give { dtype }."
    `);
    expect(refused(() => rng.integers(0, 2.5))).toMatchInlineSnapshot(`
      "(value) integers: high is the number 2.5.
        Use a whole number up to 2^53 - 1, or a bigint."
    `);
    expect(refused(() => rng.integers(0, 2, 2, { dtype: "f32" as never }))).toMatchInlineSnapshot(`
      "(dtype) integers: f32 is no integer dtype.
        Use i32, u8, …."
    `);
    expect(refused(() => rng.permutation(-1))).toMatchInlineSnapshot(`
      "(value) permutation: the number of elements is the number -1.
        Use a whole number from 0 to 4294967295."
    `);
    expect(refused(() => rng.permutation("x" as never))).toMatchInlineSnapshot(`
      "(value) permutation: expected a tensor, got the string "x".
        Make one with tensor(…)."
    `);
    expect(refused(() => rng.permutation(tensor(1)))).toMatchInlineSnapshot(`
      "(shape) permutation: a 0-d tensor has no axis.
        Reshape it to [1] first."
    `);
    expect(refused(() => rng.permutation(tensor([1]), { axis: 1 }))).toMatchInlineSnapshot(`
      "(axis) permutation: axis 1 is out of range for rank 1.
        Use -1 … 0."
    `);
    expect(refused(() => rng.shuffle(zeros(1).broadcastTo(3)))).toMatchInlineSnapshot(`
      "(readonly) shuffle: the destination is a read-only view: several of its indices share one element.
        Broadcast and window views are read-only. Write to the tensor they view, or to a copy made with clone()."
    `);
    expect(refused(() => rng.choice(3, 4, { replace: false }))).toMatchInlineSnapshot(`
      "(value) choice: 4 of 3 cannot be chosen.
        Ask for fewer, or with { replace: true }."
    `);
    expect(refused(() => rng.choice(0, 1))).toMatchInlineSnapshot(`
      "(value) choice: 1 of 0 cannot be chosen.
        Give more to choose from."
    `);
    expect(refused(() => rng.choice(3, 1, { p: [0.5, 0.5] }))).toMatchInlineSnapshot(`
      "(value) choice: 2 probabilities for 3 choices.
        Give one for each choice, none below 0, with a sum of 1."
    `);
    expect(refused(() => rng.choice(2, 1, { p: [0.5, 0.6] }))).toMatchInlineSnapshot(`
      "(value) choice: the probabilities add up to 1.1.
        Give one for each choice, none below 0, with a sum of 1."
    `);
    expect(refused(() => rng.choice(2, 1, { p: [1.5, -0.5] }))).toMatchInlineSnapshot(`
      "(value) choice: p[1] is -0.5.
        Give one for each choice, none below 0, with a sum of 1."
    `);
    expect(refused(() => rng.choice(2, 1, { p: "x" as never }))).toMatchInlineSnapshot(`
      "(value) choice: p is the string "x".
        Give a tensor or an array of numbers."
    `);
    expect(refused(() => rng.choice(3, 2, { p: [1, 0, 0], replace: false }))).toMatchInlineSnapshot(`
      "(value) choice: 2 of 1 cannot be chosen.
        Ask for fewer, or with { replace: true }."
    `);
    expect(refused(() => rng.spawn(-1))).toMatchInlineSnapshot(`
      "(value) spawn: the count is the number -1.
        Use a whole number from 0 to 999999."
    `);
  });

  it("a disposed tensor is refused", () => {
    const gone = tensor([1, 2]);
    gone.dispose();
    expect(() => rng.permutation(gone)).toThrow(/disposed/);
    expect(() => rng.shuffle(gone)).toThrow(/disposed/);
    expect(() => rng.choice(gone)).toThrow(/disposed/);
  });

  it("what is refused draws nothing", () => {
    const [a, b] = [generator(1), generator(1)];
    refused(() => a.uniform(2, { low: 1, high: 0 }));
    refused(() => a.integers(0, 0));
    refused(() => a.uniform(2 ** 40));
    scope(() => expect(a.bits(4).toArray()).toEqual(b.bits(4).toArray()));
  });
});
