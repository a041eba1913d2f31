/** Names one reaches for, and borders where they once refused: shapes, positions, slopes, polynomials, buffers, scalars. */
import { describe, expect, it } from "vitest";
import * as s from "../src/index.ts";
import { arange, full, linspace, tensor, zeros } from "../src/index.ts";
import { refused } from "./refused.ts";

describe("one element", () => {
  it("is a number, also of 64-bit integers: positions index arrays and tensors", () => {
    const t = tensor([3, 9, 4]);
    expect(["a", "b", "c"][t.argmax().item()]).toBe("b");
    expect(t.get(t.argmax().item())).toBe(9);
    expect(s.bincount(tensor([1, 1, 0], { dtype: "i32" })).get(1) + 1).toBe(3);
    expect(t.to("u8").sum().item()).toBe(16);
    expect([...tensor([1n, 2n])]).toEqual([1, 2]);
    expect(tensor([true]).get(0)).toBe(true);
    expect(tensor([1n, 2n]).toArray()).toEqual([1n, 2n]);
  });

  it("that no number holds for certain is an error", () => {
    expect(tensor([2n ** 53n - 1n]).item()).toBe(2 ** 53 - 1);
    expect(refused(() => tensor([2n ** 53n]).get(0))).toMatchInlineSnapshot(`
      "(dtype) get: the element is 9007199254740992, which no number holds for certain.
        Read it as a bigint: toTypedArray() or toArray()."
    `);
    expect(tensor([2n ** 63n], { dtype: "u64" }).toTypedArray()[0]).toBe(2n ** 63n);
  });

  it("bigints are taken wherever an index is", () => {
    const t = arange(12).reshape(3, 4);
    expect(t.get(1n, -1n)).toBe(7);
    expect(t.slice(2n, [1n, 3n]).toArray()).toEqual([9, 10]);
    expect(t.slice([null, null, -1n]).slice(0).toArray()).toEqual([8, 9, 10, 11]);
    expect(t.clone().set([0n, 1n], 5).get(0, 1)).toBe(5);
    expect(s.take(t, [0n, 2n], { axis: 1 }).slice(0).toArray()).toEqual([0, 2]);
    expect(refused(() => t.get(3n, 0))).toMatch("index 3 is out of range for axis 0 of size 3");
    expect(refused(() => t.get(2n ** 80n, 0))).toMatch("out of range");
    expect(refused(() => t.slice([0, 1, 0n]))).toMatch("has step 0");
  });
});

describe("literals", () => {
  it("that f32 cannot hold are an error where nobody asked for f32", () => {
    for (const x of [16777217, -123456789, 1763392000123, 2 ** 53 - 1]) {
      expect(
        refused(() => tensor([1, x])),
        String(x),
      ).toMatch(`${x} does not fit f32`);
      expect(refused(() => full([2], x))).toMatch("does not fit f32");
      expect(tensor([x], { dtype: "f64" }).get(0)).toBe(x);
      expect(tensor([x], { dtype: "f32" }).get(0)).toBe(Math.fround(x));
    }
    for (const x of [
      0.1,
      16777216,
      33554432,
      1e10,
      1e12,
      6.022e23,
      1e300,
      Number.NaN,
      Infinity,
      0.123456789012,
    ]) {
      expect(tensor([x]).get(0)).toBe(Math.fround(x));
    }
  });

  it("nor are they counted in f32, unless that is asked for", () => {
    const time = 1763392000123;
    for (const x of [time, -time]) {
      expect(refused(() => arange(x, x + 3))).toMatch(`arange: ${x} does not fit f32`);
      expect(refused(() => linspace(x, x + 3, 4))).toMatch(`linspace: ${x} does not fit f32`);
      expect(arange(x, x + 3, { dtype: "f64" }).toArray()).toEqual([x, x + 1, x + 2]);
      expect(linspace(x, x + 2, 2, { dtype: "f64" }).toArray()).toEqual([x, x + 2]);
      expect(arange(x, x + 1, { dtype: "f32" }).toArray()).toEqual([Math.fround(x)]);
    }
    expect(refused(() => arange(2 ** 24, 2 ** 24 + 3))).toMatch("16777217 does not fit f32");
    expect(refused(() => linspace(0, 16777217))).toMatch("16777217 does not fit f32");
    expect(arange(2 ** 24 - 3, 2 ** 24 + 1).toArray()).toEqual([16777213, 16777214, 16777215, 16777216]);
    expect(arange(2 ** 24, 2 ** 24 + 5, 2).toArray()).toEqual([16777216, 16777218, 16777220]);
    expect(arange(0, 1e10, 5e9).toArray()).toEqual([0, 5e9]);
    expect(linspace(0, 1e12, 3).toArray()).toEqual([0, 5e11, 1e12].map(Math.fround));
  });

  it("whole numbers beyond 2^53 are taken by 64-bit integers everywhere, or nowhere", () => {
    const big = 2 ** 60;
    expect(full([1], big, { dtype: "i64" }).toArray()).toEqual([BigInt(big)]);
    expect(tensor([1n]).add(big).toArray()).toEqual([BigInt(big) + 1n]);
    expect(arange(0, big, 2 ** 58, { dtype: "i64" }).toArray()).toEqual([
      0n,
      2n ** 58n,
      2n ** 59n,
      3n * 2n ** 58n,
    ]);
    // Counted one by one, where a float would count in twos.
    expect(arange(2 ** 53, 2 ** 53 + 4, 1, { dtype: "i64" }).toArray()).toEqual(
      arange(2n ** 53n, 2n ** 53n + 4n).toArray(),
    );
    expect(refused(() => full([1], 2 ** 63, { dtype: "i64" }))).toMatch(
      "-9223372036854775808 to 9223372036854775807",
    );
    expect(refused(() => full([1], 0.5, { dtype: "i64" }))).toMatch("Write a whole number");
  });

  it("arange counts in bigints", () => {
    expect(arange(3n).toArray()).toEqual([0n, 1n, 2n]);
    expect(arange(2n ** 60n, 2n ** 60n + 5n, 2n).toArray()).toEqual([
      2n ** 60n,
      2n ** 60n + 2n,
      2n ** 60n + 4n,
    ]);
    expect(arange(3n, 0n, -1n).dtype).toBe("i64");
    expect(arange(0n, 3n, { dtype: "u8" }).toArray()).toEqual([0, 1, 2]);
    expect(arange(5n, 5n).size).toBe(0);
    expect(refused(() => arange(0n, 3n, 0n))).toMatch("the step is 0");
    expect(refused(() => arange(0n, 2n ** 70n, 2n ** 68n))).toMatch("does not fit i64");
    expect(refused(() => arange(0n, 2n ** 60n))).toMatch("too many");
    expect(refused(() => (arange as (...x: unknown[]) => unknown)(0n, 3))).toMatch("expected bigints");
  });
});

describe("shapes and positions", () => {
  it("broadcastShapes", () => {
    expect(s.broadcastShapes([4, 1], [3])).toEqual([4, 3]);
    expect(s.broadcastShapes()).toEqual([]);
    expect(refused(() => s.broadcastShapes([2], [3]))).toMatch("do not broadcast");
  });

  it("unravelIndex and ravelIndex undo each other", () => {
    const t = arange(24).reshape(2, 3, 4);
    for (let i = 0; i < 24; i++) {
      const at = s.unravelIndex(i, t.shape);
      expect(t.get(...at)).toBe(i);
      expect(s.ravelIndex(at, t.shape)).toBe(i);
    }
    expect(s.unravelIndex(t.argmax().item(), t.shape)).toEqual([1, 2, 3]);
    const all = s.unravelIndex(arange(24, { dtype: "i32" }), t.shape);
    expect(all.map((x) => x.slice(17).item())).toEqual([1, 1, 1]);
    expect(s.ravelIndex(all, t.shape).toArray()).toEqual(arange(24n).toArray());
    expect(s.ravelIndex([tensor([-1n]), tensor([0n])], [2, 3]).toArray()).toEqual([3n]);
    expect(refused(() => s.unravelIndex(24, t.shape))).toMatch("out of range");
    expect(refused(() => s.ravelIndex([2, 0, 0], t.shape))).toMatch("out of range");
    expect(refused(() => s.ravelIndex([tensor([2n]), tensor([0n])], [2, 3]))).toMatch(/ravelIndex/);
  });

  it("broadcastArrays takes tensors or a list of them", () => {
    const [a, b] = s.broadcastArrays(zeros([2, 1]), zeros(3));
    expect([a.shape, b.shape]).toEqual([
      [2, 3],
      [2, 3],
    ]);
    expect(s.broadcastArrays([zeros([2, 1]), zeros(3)]).map((t) => t.shape)).toEqual([a.shape, b.shape]);
  });

  it("argmax takes a list of one axis, as sum does", () => {
    const t = tensor([
      [1, 5],
      [7, 2],
    ]);
    expect(t.argmax({ axis: [0] }).toArray()).toEqual([1n, 0n]);
  });

  it("a mask without elements chooses none", () => {
    const mask = zeros([0, 2], { dtype: "bool" });
    expect(s.booleanMask(zeros([3, 2]), mask).shape).toEqual([0]);
    expect(s.booleanMask(zeros([3, 2, 4]), zeros([0], { dtype: "bool" })).shape).toEqual([0, 2, 4]);
    expect(refused(() => s.booleanMask(zeros([3, 2]), zeros([2, 2], { dtype: "bool" })))).toMatch("the mask");
  });

  it("isin and resultType take scalars", () => {
    expect(s.isin(tensor([1, 2, 3]), 2).toArray()).toEqual([false, true, false]);
    expect(s.isin(2, tensor([1, 2])).item()).toBe(true);
    expect(s.isin(tensor([2n ** 60n]), 2n ** 60n).toArray()).toEqual([true]);
    expect(s.resultType(tensor([1]), 2)).toBe("f32");
    expect(s.resultType("u8", 0.5)).toBe("f64");
    expect(s.resultType("bool", 1)).toBe("i32");
    expect(s.resultType("u8", 1n, true)).toBe("u8");
    expect(refused(() => s.resultType(1, 2))).toMatch("no tensor and no dtype");
  });

  it("asarray copies when told to, and never when told not to", () => {
    const t = tensor([1, 2]);
    expect(s.asarray(t, { copy: true }).fill(7).toArray()).toEqual([7, 7]);
    expect(t.toArray()).toEqual([1, 2]);
    s.asarray(t, { copy: false }).fill(5);
    expect(t.toArray()).toEqual([5, 5]);
    expect(refused(() => s.asarray([1], { copy: false }))).toMatch("has to be copied");
    expect(refused(() => s.asarray(t, { copy: false, dtype: "f64" }))).toMatch("f32 as f64 is a copy");
  });

  it("asStrided counts from the view, and so does its default", () => {
    const t = arange(10).slice([4, null]);
    expect(t.asStrided([2], [1]).toArray()).toEqual([4, 5]);
    expect(t.asStrided([2], [1], 0).toArray()).toEqual([4, 5]);
    expect(t.asStrided([2], [1], 1).toArray()).toEqual([5, 6]);
    expect(t.asStrided([2], [1], -4).toArray()).toEqual([0, 1]);
    expect(refused(() => t.asStrided([1], [1], -5))).toMatch("asStrided");
  });
});

describe("slopes, polynomials, chances", () => {
  it("gradient is NumPy's", () => {
    expect(s.gradient(tensor([1, 4, 9, 16])).toString()).toBe(tensor([3, 4, 6, 7]).toString());
    const m = tensor([
      [1, 2, 6],
      [3, 4, 5],
    ]);
    const [down, along] = s.gradient(m, { axis: [0, 1] });
    expect(down.toArray()).toEqual([
      [2, 2, -1],
      [2, 2, -1],
    ]);
    expect(along.toArray()).toEqual([
      [1, 2.5, 4],
      [1, 1, 1],
    ]);
    // np.gradient([1, 2, 4, 7, 11, 16], [0, 1, 1.5, 3.5, 4, 6])
    const at = tensor([0, 1, 1.5, 3.5, 4, 6], { dtype: "f64" });
    const y = tensor([1, 2, 4, 7, 11, 16], { dtype: "f64" });
    expect(
      s.allclose(
        s.gradient(y, { axis: 0, spacing: at }),
        tensor([1, 3, 3.5, 6.7, 6.9, 2.5], { dtype: "f64" }),
      ),
    ).toBe(true);
    expect(s.gradient(tensor([1, 3], { dtype: "i32" }), { axis: 0, spacing: 2 }).toArray()).toEqual([1, 1]);
    expect(refused(() => s.gradient(tensor([1])))).toMatch("fewer than 2");
    expect(refused(() => s.gradient(m, { spacing: [1, 2, 3] }))).toMatch("3 spacings for 2 axes");
  });

  it("polyfit finds the polynomial that polyval evaluates", () => {
    const p = tensor([0.5, -2, 3, 1], { dtype: "f64" });
    const x = s.linspace(-3, 5, 40, { dtype: "f64" });
    expect(s.allclose(s.polyfit(x, s.polyval(p, x), 3), p, { rtol: 1e-10 })).toBe(true);
    const two = s.stack([s.polyval(p, x), x.mul(2).add(1)], { axis: 1 });
    expect(
      s.allclose(s.polyfit(x, two, 3).slice(":", 1), tensor([0, 0, 2, 1], { dtype: "f64" }), { atol: 1e-10 }),
    ).toBe(true);
    expect(s.polyval(tensor([2, 1]), 10).item()).toBe(21);
    expect(s.polyval(tensor([2, 1]), tensor([1, 2], { dtype: "f64" })).dtype).toBe("f64");
    expect(refused(() => s.polyfit(x, x, -1))).toMatch("the degree is");
    expect(refused(() => s.polyfit(x, zeros(3), 1))).toMatch("one y");
  });

  it("erf and erfc are right to a few units in the last place", () => {
    // From Python's math.erf and math.erfc.
    const rows: readonly (readonly [number, number, number])[] = [
      [0.0, 0.0, 1.0],
      [1e-300, 1.1283791670955126e-300, 1.0],
      [1e-8, 1.1283791670955126e-8, 0.9999999887162083],
      [0.01, 0.011283415555849616, 0.9887165844441503],
      [0.1, 0.1124629160182849, 0.8875370839817152],
      [0.25, 0.2763263901682369, 0.7236736098317631],
      [0.5, 0.5204998778130465, 0.4795001221869535],
      [0.75, 0.7111556336535151, 0.28884436634648486],
      [1, 0.8427007929497149, 0.15729920705028513],
      [1.25, 0.9229001282564582, 0.07709987174354177],
      [1.49, 0.9648978648432042, 0.03510213515679579],
      [1.5, 0.9661051464753108, 0.033894853524689274],
      [1.51, 0.9672767481287117, 0.03272325187128836],
      [2, 0.9953222650189527, 0.004677734981047265],
      [2.25, 0.9985372834133188, 0.0014627165866811518],
      [2.49, 0.9995707121322661, 0.000429287867733913],
      [2.5, 0.999593047982555, 0.0004069520174449589],
      [2.51, 0.9996142945182758, 0.0003857054817242798],
      [3, 0.9999779095030014, 2.2090496998585438e-5],
      [4, 0.9999999845827421, 1.541725790028002e-8],
      [5, 0.9999999999984626, 1.5374597944280351e-12],
      [5.9, 0.9999999999999999, 7.190409783550478e-17],
      [-0.3, -0.3286267594591274, 1.3286267594591274],
      [-1, -0.8427007929497149, 1.842700792949715],
      [-2.4, -0.999311486103355, 1.999311486103355],
      [-3, -0.9999779095030014, 1.9999779095030015],
      [-6, -1.0, 2.0],
      [8.0, 1.0, 1.1224297172982928e-29],
      [15.5, 1.0, 1.6632016400488723e-106],
      [26.0, 1.0, 5.663192408856143e-296],
    ];
    const x = tensor(Float64Array.from(rows, (r) => r[0]));
    const [f, c] = [s.erf(x).toTypedArray(), s.erfc(x).toTypedArray()];
    rows.forEach(([at, erf, erfc], i) => {
      expect(Math.abs(f[i] - erf) / Math.abs(erf || 1), `erf(${at})`).toBeLessThan(1.5e-15);
      expect(Math.abs(c[i] - erfc) / erfc, `erfc(${at})`).toBeLessThan(5e-15);
    });
    expect(s.erf(tensor([Number.NaN, Infinity, -Infinity, -0])).toArray()).toEqual([Number.NaN, 1, -1, -0]);
    expect(s.erfc(tensor([Number.NaN, Infinity, -Infinity, 0])).toArray()).toEqual([Number.NaN, 0, 2, 1]);
    expect(s.erf(tensor([1], { dtype: "i32" })).dtype).toBe("f64");
  });

  it("categorical draws positions as often as their weights say", () => {
    const rng = s.random.generator(7);
    const drawn = s.bincount(rng.categorical([1, 0, 3], [20000]), { minlength: 3 });
    expect(drawn.get(1)).toBe(0);
    expect(drawn.get(2) / 20000).toBeCloseTo(0.75, 2);
    const rows = rng.categorical(
      tensor([
        [0, 1],
        [5, 0],
      ]),
      [4],
    );
    expect(rows.toArray()).toEqual(Array.from({ length: 4 }, () => [1n, 0n]));
    expect(refused(() => rng.categorical([-1, 2]))).toMatch("weights");
    expect(refused(() => rng.categorical([0, 0]))).toMatch("sum to 0");
    expect(refused(() => rng.categorical([]))).toMatch("at least one");
  });

  it("pinv and matrixRank take a tolerance for each matrix", () => {
    const m = s.stack([s.diag(tensor([1, 0.1])), s.diag(tensor([1, 0.1]))]);
    const rtol = tensor([0.01, 0.5]);
    expect(s.linalg.matrixRank(m, { rtol }).toArray()).toEqual([2n, 1n]);
    expect(s.linalg.pinv(m, { rtol }).slice(1, 1, 1).item()).toBe(0);
    expect(refused(() => s.linalg.pinv(m, { rtol: tensor([1, 1, 1]) }))).toMatch("pinv");
  });

  it("frequencies are what creation makes", () => {
    expect(s.fft.fftfreq(4).dtype).toBe("f32");
    expect(s.fft.rfftfreq(4, { dtype: "f64" }).dtype).toBe("f64");
  });
});

describe("toBuffer", () => {
  it("writes what fromBuffer reads, in every dtype and layout", () => {
    for (const dtype of s.dtypeNames) {
      const t = arange(24, { dtype: "i32" }).remainder(2).reshape(2, 3, 4).permute(2, 0, 1);
      const bytes = new Uint8Array(2000).fill(7);
      const options = { dtype, byteStrides: [-80, 320, 16], byteOffset: 803 } as const;
      expect(s.toBuffer(t, bytes, options)).toBe(bytes);
      const back = s.fromBuffer(bytes, { ...options, shape: t.shape });
      expect(s.arrayEqual(back.to("i32"), t)).toBe(true);
      expect(bytes.filter((b) => b === 7).length).toBeGreaterThanOrEqual(2000 - 24 * 8);
    }
  });

  it("dense, converted, into shared memory, and nothing", () => {
    expect(s.toBuffer(tensor([1, 2, 3]).flip(), new Float32Array(3))).toEqual(Float32Array.of(3, 2, 1));
    const shared = new SharedArrayBuffer(8);
    s.toBuffer(tensor([1.9, 300]), shared, { dtype: "u8", byteOffset: 2 });
    expect([...new Uint8Array(shared)]).toEqual([0, 0, 1, 255, 0, 0, 0, 0]);
    expect(s.toBuffer(zeros([0, 3]), new ArrayBuffer(0)).byteLength).toBe(0);
    expect(new Uint8Array(s.toBuffer(tensor(5, { dtype: "u8" }), new ArrayBuffer(1)))[0]).toBe(5);
  });

  it("refuses what does not fit", () => {
    const t = arange(6).reshape(2, 3);
    expect(refused(() => s.toBuffer(t, new ArrayBuffer(23)))).toMatch("toBuffer");
    expect(refused(() => s.toBuffer(t, new ArrayBuffer(64), { byteOffset: -4 }))).toMatch("toBuffer");
    expect(refused(() => s.toBuffer(t, new ArrayBuffer(64), { byteStrides: [4, 4] }))).toMatch(
      "lie on each other",
    );
    expect(refused(() => s.toBuffer(t, new ArrayBuffer(64), { byteStrides: [4] }))).toMatch("1 byteStrides");
    expect(refused(() => s.toBuffer(t, [] as never))).toMatch("expected a buffer");
  });
});

describe("computing in another dtype", () => {
  it("reaches results that met no operand", () => {
    expect(tensor([20, 5], { dtype: "u8" }).map((x) => (x > 10 ? 1 : 0), { compute: "f32" }).dtype).toBe(
      "f32",
    );
    const bytes = tensor([20, 5], { dtype: "u8" });
    const one = Number("1");
    const f32 = { compute: "f32" } as const;
    for (const made of [
      bytes.map(() => 1, f32),
      bytes.map(() => one, f32),
      bytes.map((_, { one }) => one, { ...f32, with: { one } }),
      bytes.map(() => 0.5, f32),
      s.zip([bytes, bytes.to("f64")], (x, _y) => (x > 10 ? 1 : 0), f32),
      bytes.scan((_a, _x) => 1, f32),
      s.kernel((_x: number) => 1, {}, f32)(bytes),
    ]) {
      expect([made.dtype, made.shape]).toEqual(["f32", [2]]);
    }
  });

  it("a kernel of numbers gives what its function gives", () => {
    expect(s.kernel((x) => x > 2)(3)).toBe(true);
    expect(s.kernel((x) => x * 2)(3)).toBe(6);
  });

  it("arithmetic asked for in bool is logic", () => {
    const t = tensor([2, 0], { dtype: "u8" });
    expect(t.add(t, { dtype: "bool" }).toArray()).toEqual([true, false]);
    expect(refused(() => t.neg({ dtype: "bool" }))).toMatch("not defined on bool");
  });
});
