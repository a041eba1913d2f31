import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { explain, memory, scope, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";
import * as complex from "../../src/library/complex.ts";
import * as transforms from "../../src/library/fft.ts";
import { stridedOf } from "../../src/tensor.ts";
import { flatValues } from "../oracle/compare.ts";
import { type Rows, testReference } from "./reference.ts";

const fft = { ...complex, ...transforms };
type Lane = "f32" | "f64";

/** The signal that make_fft.py has the transforms of. */
function formula(n: number, dtype: Lane): Tensor {
  const pairs = new Float64Array(2 * n);
  for (let j = 0; j < n; j++) {
    pairs[2 * j] = ((j * 7919) % 1009) / 1024 - 0.5;
    pairs[2 * j + 1] = ((j * 104729) % 997) / 1024 - 0.5;
  }
  return tensor(pairs, { shape: [n, 2] }).to(dtype);
}

const transform =
  (fn: (t: Tensor, options: object) => Tensor): Rows[string] =>
  ([t], params) =>
    fn(t, params);

const rows: Rows = {
  fft: transform(fft.fft),
  ifft: transform(fft.ifft),
  rfft: transform(fft.rfft),
  irfft: transform(fft.irfft),
  hfft: transform(fft.hfft),
  ihfft: transform(fft.ihfft),
  fftn: transform(fft.fftn),
  ifftn: transform(fft.ifftn),
  rfftn: transform(fft.rfftn),
  irfftn: transform(fft.irfftn),
  fft2: transform(fft.fft2),
  ifft2: transform(fft.ifft2),
  rfft2: transform(fft.rfft2),
  irfft2: transform(fft.irfft2),
  fftshift: transform(fft.fftshift),
  ifftshift: transform(fft.ifftshift),
  fftfreq: (_, { n, d }) => fft.fftfreq(n, { d, dtype: "f64" }),
  rfftfreq: (_, { n, d }) => fft.rfftfreq(n, { d, dtype: "f64" }),
  sampled: (_, { op, dtype, n, at, norm }) => {
    const signal = formula(n, dtype);
    const options = norm === undefined ? {} : { norm };
    const run = {
      fft: () => fft.fft(signal, options),
      ifft: () => fft.ifft(signal, options),
      rfft: () => fft.rfft(fft.real(signal), options),
      irfft: () => fft.irfft(signal.slice([0, Math.floor(n / 2) + 1]), { ...options, n }),
    };
    const result = run[op as keyof typeof run]();
    const all = result.toTypedArray() as Float64Array;
    const width = op === "irfft" ? 1 : 2;
    const values = (at as number[]).flatMap((k) => [...all.subarray(width * k, width * k + width)]);
    return tensor(values, { dtype, shape: width === 1 ? [at.length] : [at.length, 2] });
  },
};

describe("Fourier transforms", () => {
  testReference("fft", rows);
});

const lanes = ["f32", "f64"] as const;

/** Equality of long arrays is slow to look at one by one. */
const sameBits = (a: Tensor, b: Tensor) => Buffer.compare(bytes(a), bytes(b)) === 0;
const bytes = (t: Tensor) => new Uint8Array(t.toTypedArray().buffer);

describe("laws of transforms", () => {
  it("a transform and its inverse give the signal back", () => {
    for (const dtype of lanes) {
      for (const n of [1, 12, 97, 1000, 4096, 5003]) {
        scope(() => {
          const z = formula(n, dtype);
          const back = fft.ifft(fft.fft(z)).sub(z).abs().max().item();
          expect(back).toBeLessThan(dtype === "f32" ? 2e-6 : 4e-15);
          const x = fft.real(z);
          const again = fft.irfft(fft.rfft(x), { n }).sub(x).abs().max().item();
          expect(again).toBeLessThan(dtype === "f32" ? 2e-6 : 4e-15);
        });
      }
    }
  });

  it("N threads give what one gives, to the bit", () => {
    engine().pool.waitUntilReady();
    for (const dtype of lanes) {
      scope(() => {
        const long = formula(1 << 16, dtype);
        const odd = formula(20011, dtype);
        for (const run of [
          () => fft.fft(long),
          () => fft.ifft(odd),
          () => fft.fft2(long.reshape(256, 256, 2)),
          () => fft.rfft(fft.imag(long)),
        ]) {
          const many = run();
          const one = engine().kernels.alone(run);
          expect(sameBits(many, one)).toBe(true);
        }
      });
    }
  });

  it("scalar code gives what SIMD gives", () => {
    for (const dtype of lanes) {
      for (const n of [60, 77, 101, 4096]) {
        scope(() => {
          const z = formula(n, dtype);
          const [fast, quick] = [fft.fft(z), fft.irfft(z)];
          engine().kernels.simd = false;
          try {
            expect(flatValues(fft.fft(z))).toEqual(flatValues(fast));
            expect(flatValues(fft.irfft(z))).toEqual(flatValues(quick));
          } finally {
            engine().kernels.simd = true;
          }
        });
      }
    }
  });

  it("one NaN reaches every result", () => {
    scope(() => {
      const z = formula(15, "f64");
      z.set([3, 0], Number.NaN);
      for (const [re, im] of fft.fft(z).toArray() as number[][]) expect(Number.isNaN(re + im)).toBe(true);
    });
  });

  it("a constant is one peak, exactly", () => {
    scope(() => {
      const flat = fft.fft(fft.complex(zeros([64]).add(1)));
      const values = flatValues(flat) as number[];
      expect(values[0]).toBe(64);
      expect(values.slice(1).every((v) => v === 0)).toBe(true);
    });
  });

  it("lengths that come and go leave nothing behind", () => {
    const before = memory().tensors;
    scope(() => {
      for (let n = 1; n < 200; n++) fft.fft(formula(n, "f32"));
    });
    expect(memory().tensors).toBe(before);
  });

  it("of integers and bool they are those of the same numbers in f64", () => {
    for (const dtype of ["bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"] as const) {
      const low = dtype[0] === "i" ? -128 : 1; // -128: the i8 that has no other sign
      const z = tensor(
        [
          [1, 0],
          [1, low],
          [0, 1],
          [1, 1],
        ],
        { dtype },
      );
      for (const name of ["fft", "ifft", "irfft", "hfft", "rfft", "ihfft"] as const) {
        expect(fft[name](z).toArray(), `${name} of ${dtype}`).toEqual(fft[name](z.to("f64")).toArray());
      }
    }
  });

  it("explain shows the copies", () => {
    scope(() => {
      const z = formula(4000, "f64");
      expect(explain(() => fft.fft(z)).copies).toEqual([]);
      expect(explain(() => fft.fft(z, { n: 4096 })).copies.map((c) => c.why)).toEqual([
        "zeros are put behind the input",
      ]);
    });
  });
});

describe("complex numbers as pairs", () => {
  it("parts are views, products and lengths are what they should be", () => {
    scope(() => {
      const z = fft.complex(tensor([1, 2, -3]), tensor([0, -1, 4]));
      expect(z.toArray()).toEqual([
        [1, 0],
        [2, -1],
        [-3, 4],
      ]);
      expect(stridedOf(fft.real(z)).storage).toBe(stridedOf(z).storage);
      expect(fft.imag(z).toArray()).toEqual([0, -1, 4]);
      expect(fft.conj(z).toArray()).toEqual([
        [1, -0],
        [2, 1],
        [-3, -4],
      ]);
      expect(fft.complexMul(z, fft.conj(z)).toArray()).toEqual([
        [1, 0],
        [5, 0],
        [25, 0],
      ]);
      expect(fft.complexAbs(z).toArray()).toEqual([1, Math.fround(Math.sqrt(5)), 5]);
      expect(fft.complexAngle(fft.complex(tensor([-1, 0, 1]), tensor([0, 2, 0]))).toArray()).toEqual([
        Math.fround(Math.PI),
        Math.fround(Math.PI / 2),
        0,
      ]);
      expect(fft.complex(tensor([[1], [2]]), tensor([5, 6])).shape).toEqual([2, 2, 2]);
    });
  });
});

describe("what transforms refuse", () => {
  const refused = (fn: () => unknown): string => {
    try {
      scope(fn);
    } catch (error) {
      expect(error).toBeInstanceOf(TensorError);
      return (error as TensorError).message;
    }
    return "nothing";
  };
  // biome-ignore lint/suspicious/noExplicitAny: these are the wrong types
  const any = (value: unknown) => value as any;
  const z = () => zeros([3, 4, 2]);

  it("names the fact and the remedy", () => {
    expect(refused(() => fft.fft(zeros([3, 4])))).toMatchInlineSnapshot(`
      "fft: expected complex numbers, got shape [3, 4].
        They are pairs along a last axis of size 2: complex(re, im) makes them, rfft takes real numbers."
    `);
    expect(refused(() => fft.fft(z(), { axis: 2 }))).toMatchInlineSnapshot(`
      "fft: axis 2 of 2 axes.
        Axes are -2 … 1, pairs not counted."
    `);
    expect(refused(() => fft.fft(z(), { n: 0 }))).toMatchInlineSnapshot(`
      "fft: n is the number 0.
        Use a whole number from 1 to 1073741823."
    `);
    expect(refused(() => fft.fft(z(), { norm: any("both") }))).toMatchInlineSnapshot(`
      "fft: norm is the string "both".
        Use "backward", "ortho" or "forward"."
    `);
    expect(refused(() => fft.irfft(zeros([1, 2])))).toMatchInlineSnapshot(`
      "irfft: axis 0 of [1, 2] has 1 element.
        Give the length as n."
    `);
    expect(refused(() => fft.fft2(zeros([4, 2])))).toMatchInlineSnapshot(`
      "fft2: axis -2 of 1 axis.
        Axes are -1 … 0, pairs not counted."
    `);
    expect(refused(() => fft.fftn(z(), { axes: [0, 1], shape: [4] }))).toMatchInlineSnapshot(`
      "fftn: 1 lengths for 2 axes.
        Give one length for each axis."
    `);
    expect(refused(() => fft.fftfreq(0))).toMatchInlineSnapshot(`
      "fftfreq: n is the number 0.
        Use a whole number from 1 to 1073741823."
    `);
  });

  it("never with a raw error", () => {
    const disposed = z();
    disposed.dispose();
    for (const bad of [null, 3, [1, 2], disposed, zeros([]), zeros([2, 3])]) {
      for (const fn of [
        fft.fft,
        fft.ifft,
        fft.irfft,
        fft.fft2,
        fft.fftn,
        fft.irfft2,
        fft.real,
        fft.imag,
        fft.conj,
      ]) {
        expect(refused(() => fn(any(bad)))).not.toBe("nothing");
      }
      expect(refused(() => fft.complexMul(any(bad), z()))).not.toBe("nothing");
    }
    for (const bad of [null, 3, disposed, zeros([])]) {
      expect(refused(() => fft.rfft(any(bad)))).not.toBe("nothing");
      expect(refused(() => fft.rfft2(any(bad)))).not.toBe("nothing");
    }
    for (const bad of [-1, 1.5, Number.NaN, "4", 2 ** 40, {}]) {
      expect(refused(() => fft.fft(z(), { n: any(bad) }))).not.toBe("nothing");
      expect(refused(() => fft.fftn(z(), { shape: [any(bad), 4] }))).not.toBe("nothing");
      expect(refused(() => fft.fftfreq(any(bad)))).not.toBe("nothing");
    }
    for (const bad of [5, -4, 0.5, "0", Number.NaN, {}]) {
      expect(refused(() => fft.fft(z(), { axis: any(bad) }))).not.toBe("nothing");
      expect(refused(() => fft.fftn(z(), { axes: [any(bad)] }))).not.toBe("nothing");
      expect(refused(() => fft.fftshift(z(), { axes: any(bad) }))).not.toBe("nothing");
    }
    expect(refused(() => fft.fft(z(), any(1)))).not.toBe("nothing");
    expect(refused(() => fft.fftn(z(), { axes: any(3) }))).not.toBe("nothing");
    expect(refused(() => fft.fftn(z(), { shape: any(3) }))).not.toBe("nothing");
    expect(refused(() => fft.fftfreq(4, { d: any("x") }))).not.toBe("nothing");
  });
});
