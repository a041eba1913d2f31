/** What users found in linear algebra: matrices that are hard, options that are misspelt, numbers at the end of the range. */
import { describe, expect, it } from "vitest";
import {
  cov,
  cross,
  empty,
  eye,
  fromFunction,
  linalg,
  ones,
  random,
  scope,
  type Tensor,
  TensorError,
  tensor,
  tensordot,
  trace,
  vecdot,
  zeros,
} from "../../src/index.ts";

type Float = "f32" | "f64";
const epsilon = { f32: 2 ** -23, f64: 2 ** -52 };

let seed = 7;
/** From -1 to 1. */
function next(): number {
  seed = (seed * 48271) % 2147483647;
  return (2 * seed) / 2147483647 - 1;
}

function made(m: number, n: number, dtype: Float, f: (i: number, j: number) => number): Tensor<Float> {
  const t = empty([m, n], { dtype });
  const { data } = t;
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) data[i * n + j] = f(i, j);
  return t;
}

const symmetric = (t: Tensor): Tensor => t.add(t.T).mul(0.5);
const tridiagonal = (n: number, dtype: Float, d: () => number, e: () => number) => {
  const [ds, es] = [d, e].map((f) => Array.from({ length: n }, f));
  return made(n, n, dtype, (i, j) => (i === j ? ds[i] : Math.abs(i - j) === 1 ? es[Math.min(i, j)] : 0));
};
const withEigenvalues = (n: number, dtype: Float, value: (i: number) => number) => {
  const { q } = linalg.qr(made(n, n, dtype, next));
  return symmetric(q.mul(made(1, n, dtype, (_, i) => value(i))).matmul(q.T));
};
const gram = (n: number, k: number, dtype: Float) => {
  const b = made(n, k, dtype, next);
  return b.matmul(b.T);
};

/** Symmetric matrices whose eigenvalues are few, equal, far apart, or zero. */
const families: Record<string, (n: number, dtype: Float) => Tensor> = {
  "rank 1": (n, dtype) => gram(n, 1, dtype),
  "rank 2": (n, dtype) => gram(n, 2, dtype),
  "a third of the rank": (n, dtype) => gram(n, Math.ceil(n / 3), dtype),
  waves: (n, dtype) => made(n, n, dtype, (i, j) => Math.sin(i + j)),
  remainders: (n, dtype) => made(n, n, dtype, (i, j) => ((i + 1) * (j + 1)) % 7),
  clustered: (n, dtype) => withEigenvalues(n, dtype, (i) => 1 + (i % 4) * 1e-14),
  "far apart": (n, dtype) => withEigenvalues(n, dtype, (i) => 10 ** ((-20 * i) / n)),
  "graded down": (n, dtype) => symmetric(made(n, n, dtype, (i, j) => next() * 2 ** (-(i + j) / 2))),
  "graded up": (n, dtype) => symmetric(made(n, n, dtype, (i, j) => next() * 2 ** ((i + j) / 2 - n))),
  "large in the middle": (n, dtype) =>
    symmetric(made(n, n, dtype, (i, j) => next() * 2 ** -(Math.abs(i - n / 2) + Math.abs(j - n / 2)))),
  "blocks of zeros": (n, dtype) =>
    symmetric(made(n, n, dtype, (i, j) => (i < n / 3 !== j < n / 3 || i + j > 1.6 * n ? 0 : next()))),
  "tridiagonal with zeros": (n, dtype) =>
    tridiagonal(
      n,
      dtype,
      () => Math.max(0, next()),
      () => Math.max(0, next()),
    ),
  "tridiagonal of all sizes": (n, dtype) =>
    tridiagonal(
      n,
      dtype,
      () => next() * 10 ** (-20 * Math.abs(next())),
      () => next() * 10 ** (-20 * Math.abs(next())),
    ),
  "blocks of ones": (n, dtype) =>
    made(n, n, dtype, (i, j) => (Math.floor(i / 5) === Math.floor(j / 5) ? 1 : 0)),
  "rank 2, tiny": (n, dtype) => gram(n, 2, dtype).mul(dtype === "f64" ? 1e-305 : 1e-36),
};

const size = (t: Tensor): number => linalg.matrixNorm(t, { ord: 1 }).item() as number;
const notOrthogonal = (v: Tensor) => size(v.T.matmul(v).sub(eye(v.shape[1], { dtype: "f64" })));

/** The error's text; "no error" where there is none. */
function message(fn: () => unknown): string {
  try {
    scope(() => void fn());
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    return (error as Error).message;
  }
  return "no error";
}

describe("eigh converges", () => {
  it("on matrices short of rank", () => {
    scope(() => {
      const wave = fromFunction((i, j) => Math.sin(i + j), [60, 60], { dtype: "f64" });
      const values = linalg.eigvalsh(wave).toArray() as number[];
      // sin(i + j) = sin i·cos j + cos i·sin j has rank 2.
      expect(values.filter((x) => Math.abs(x) > 1e-10)).toHaveLength(2);
      for (let i = 0; i < 20; i++) {
        expect(linalg.eigvalsh(cov(random.generator(i).normal([100, 30]))).shape).toEqual([100]);
      }
    });
  });

  describe.each(["f32", "f64"] as const)("%s", (dtype) => {
    it.each(Object.keys(families))("%s, with small residuals", (family) => {
      for (const n of [2, 3, 10, 33, 60, 61, 100, 130]) {
        scope(() => {
          const a = symmetric(families[family](n, dtype));
          const { eigenvalues, eigenvectors } = linalg.eigh(a);
          const v = eigenvectors.to("f64");
          const scale = size(a.to("f64")) || 1;
          const near = a.to("f64").div(scale);
          const rest = near.matmul(v).sub(v.mul(eigenvalues.to("f64").div(scale)));
          const limit = 12 * n * epsilon[dtype];
          expect(size(rest), `${n}`).toBeLessThan(limit);
          expect(notOrthogonal(v), `${n}`).toBeLessThan(limit);
          expect(linalg.eigvalsh(a).toTypedArray(), `${n}`).toEqual(eigenvalues.toTypedArray());
        });
      }
    });
  });

  it("with the digits of small eigenvalues that stand apart", () => {
    const small = tensor(
      [
        [1, 0, 0],
        [0, 2e-20, 1e-20],
        [0, 1e-20, 2e-20],
      ],
      { dtype: "f64" },
    );
    const [a, b, c] = linalg.eigvalsh(small).toArray() as number[];
    expect([a * 1e20, b * 1e20, c].map((x) => x.toFixed(12))).toEqual([1, 3, 1].map((x) => x.toFixed(12)));
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("and refuses %d", (x) => {
    const a = ones([60, 60], { dtype: "f64" });
    a.data[61] = x;
    expect(message(() => linalg.eigh(a))).toContain("eigh: the matrix holds NaN or an infinity.");
    expect(message(() => linalg.pinv(a))).toContain("pinv: the matrix holds NaN or an infinity.");
    expect(message(() => linalg.lstsq(a, ones([60])))).toContain("lstsq: the matrix holds NaN");
  });
});

describe("options", () => {
  const a = eye(3);
  const wrong = (x: unknown) => x as never;
  const unknown: Record<string, () => unknown> = {
    svd: () => linalg.svd(a, wrong({ full_matrices: false })),
    eigh: () => linalg.eigh(a, wrong({ UPLO: "U" })),
    eigvalsh: () => linalg.eigvalsh(a, wrong({ UPLO: "U" })),
    qr: () => linalg.qr(a, wrong({ modes: "complete" })),
    cholesky: () => linalg.cholesky(a, wrong({ lower: true })),
    pinv: () => linalg.pinv(a, wrong({ rcond: 1 })),
    matrixRank: () => linalg.matrixRank(a, wrong({ tol: 1 })),
    lstsq: () => linalg.lstsq(a, a, wrong({ rcond: 1 })),
    matrixNorm: () => linalg.matrixNorm(a, wrong({ order: 1 })),
    vectorNorm: () => linalg.vectorNorm(a, wrong({ p: 1 })),
    cond: () => linalg.cond(a, wrong({ p: 1 })),
    trace: () => linalg.trace(a, wrong({ k: 1 })),
    diagonal: () => linalg.diagonal(a, wrong({ axis1: 0 })),
    tensordot: () => tensordot(a, a, wrong({ axis: 1 })),
    vecdot: () => vecdot(a, a, wrong({ dim: 1 })),
    cross: () => cross(a, a, wrong({ axes: 1 })),
  };

  it.each(Object.keys(unknown))("%s names one that it does not know", (name) => {
    expect(message(unknown[name])).toMatch(new RegExp(`^${name}: there is no option `));
  });

  it("names come with a guess", () => {
    expect(message(unknown.svd)).toMatchInlineSnapshot(`
      "svd: there is no option "full_matrices".
        Did you mean fullMatrices? The only one is fullMatrices."
    `);
    expect(message(unknown.eigvalsh)).toMatchInlineSnapshot(`
      "eigvalsh: there is no option "UPLO".
        Did you mean uplo? The only one is uplo."
    `);
    expect(message(() => trace(a, wrong({ offsett: 1 })))).toContain("Did you mean offset?");
  });

  it.each([null, 7])("%s is none", (options) => {
    type Call = (a: Tensor, options: never) => unknown;
    const calls: Call[] = [linalg.trace, linalg.diagonal, linalg.svd, linalg.cond, linalg.eigh];
    for (const f of calls) {
      expect(message(() => f(a, wrong(options)))).toContain(`${f.name}: the options are`);
    }
  });

  it("flags are true or false", () => {
    expect(message(() => linalg.svd(a, { fullMatrices: wrong("no") }))).toMatchInlineSnapshot(`
      "svd: fullMatrices is the string "no".
        Use true or false."
    `);
    for (const f of [
      () => linalg.cholesky(a, { upper: wrong(1) }),
      () => linalg.matrixNorm(a, { keepdims: wrong("yes") }),
      () => linalg.vectorNorm(a, { keepdims: wrong(0) }),
    ]) {
      expect(message(f)).toContain("Use true or false.");
    }
    expect(message(() => linalg.vectorNorm(a, { axis: wrong(null) }))).toContain(
      "vectorNorm: the axis is null",
    );
  });
});

describe("numbers at the end of the range", () => {
  it.each([
    ["f64", 1e-310, 1e-310],
    ["f64", 2 ** -1074, 2 ** -1074],
    ["f64", 1e-310, 1e-10],
    ["f64", 1e300, 1e305],
    ["f64", 1e-200, 1e100],
    ["f32", 1e-40, 1e-40],
    ["f32", 1e-40, 1e-3],
    ["f32", 1e38, 1e30],
  ] as const)("lstsq in %s: a of %d, b of %d", (dtype, p, q) => {
    scope(() => {
      const a = tensor([p, 0, 0, p, 0, 0], { dtype, shape: [3, 2] });
      const b = tensor([q, 2 * q, 0], { dtype });
      const { x, rank, s } = linalg.lstsq(a, b);
      expect(rank).toBe(2);
      const [x0, x1] = x.toArray() as number[];
      const [a0, b0, b1] = [a.toTypedArray()[0], ...b.toTypedArray()];
      expect(Math.abs(x0 / (b0 / a0) - 1)).toBeLessThan(4 * epsilon[dtype]);
      expect(Math.abs(x1 / (b1 / a0) - 1)).toBeLessThan(4 * epsilon[dtype]);
      expect(s.toArray()).toEqual([a0, a0]);
    });
  });

  it("pinv beyond the range is infinite, not NaN", () => {
    const a = tensor([1e-310, 0, 0, 1e-310], { dtype: "f64", shape: [2, 2] });
    expect(linalg.pinv(a).toArray()).toEqual([
      [Number.POSITIVE_INFINITY, 0],
      [0, Number.POSITIVE_INFINITY],
    ]);
  });

  it.each([
    ["f64", 1e-320],
    ["f64", 2 ** -1074],
    ["f64", 1e-310],
    ["f64", 1e307],
    ["f32", 1e-44],
    ["f32", 1e38],
  ] as const)("qr in %s: a column of %d", (dtype, p) => {
    scope(() => {
      const a = tensor([p, 1, p, 1, 2 * p, 3], { dtype, shape: [3, 2] });
      const q = linalg.qr(a).q.to("f64");
      expect(notOrthogonal(q)).toBeLessThan(12 * epsilon[dtype]);
    });
  });
});

describe("nothing to measure", () => {
  const infinite = Number.POSITIVE_INFINITY;
  const cases: readonly (readonly [string, () => Tensor, unknown])[] = [
    ["vectorNorm ∞ of [0]", () => linalg.vectorNorm(zeros([0]), { ord: infinite }), 0],
    ["… of [0, 3] down", () => linalg.vectorNorm(zeros([0, 3]), { ord: infinite, axis: 0 }), [0, 0, 0]],
    ["… of [0, 3] across", () => linalg.vectorNorm(zeros([0, 3]), { ord: infinite, axis: 1 }), []],
    ["… with all axes", () => linalg.vectorNorm(zeros([0, 3]), { ord: infinite, keepdims: true }), [[0]]],
    ["matrixNorm ∞ of [0, 3]", () => linalg.matrixNorm(zeros([0, 3]), { ord: infinite }), 0],
    ["matrixNorm 1 of [3, 0]", () => linalg.matrixNorm(zeros([3, 0]), { ord: 1 }), 0],
    ["matrixNorm 2 of [0, 3]", () => linalg.matrixNorm(zeros([0, 3]), { ord: 2 }), 0],
    ["matrixNorm 2 of [2, 3, 0]", () => linalg.matrixNorm(zeros([2, 3, 0]), { ord: 2 }), [0, 0]],
    ["matrixNorm -1 of [0, 3]", () => linalg.matrixNorm(zeros([0, 3]), { ord: -1 }), 0],
    ["matrixNorm -2 of [0, 2, 2]", () => linalg.matrixNorm(zeros([0, 2, 2]), { ord: -2 }), []],
    ["cond of [0, 2, 2]", () => linalg.cond(zeros([0, 2, 2])), []],
    ["cond 1 of [0, 2, 2]", () => linalg.cond(zeros([0, 2, 2]), { ord: 1 }), []],
  ];

  it.each(cases)("%s is NumPy's", (_, f, expected) => {
    expect(scope(() => f().toArray())).toEqual(expected);
  });

  it("and its errors", () => {
    expect(message(() => linalg.matrixNorm(zeros([0, 3]), { ord: -2 }))).toContain("nothing to fold");
    expect(message(() => linalg.cond(zeros([2, 0, 0])))).toContain("cond: the matrix is [2, 0, 0].");
  });
});

describe("names in messages", () => {
  it("matrixPower of a singular matrix", () => {
    expect(message(() => linalg.matrixPower(zeros([2, 2]), -1))).toMatch(
      /^matrixPower: the matrix is singular/,
    );
  });
  it("cond of an order that there is not", () => {
    expect(message(() => linalg.cond(eye(2), { ord: 7 }))).toMatch(/^cond: ord is the number 7/);
  });
});

describe("the smallest signed integer, whose magnitude its dtype does not hold", () => {
  it.each([
    ["i8", 2 ** 7],
    ["i16", 2 ** 15],
    ["i32", 2 ** 31],
  ] as const)("%s: norms are those of the same numbers in f64", (dtype, low) => {
    const t = tensor([-low, 1, 1, 3], { dtype, shape: [2, 2] });
    const f = t.to("f64");
    for (const ord of [1, -1, Infinity, -Infinity]) {
      expect(linalg.matrixNorm(t, { ord }).item()).toBe(linalg.matrixNorm(f, { ord }).item());
      expect(linalg.cond(t, { ord }).item()).toBe(linalg.cond(f, { ord }).item());
    }
    expect(linalg.vectorNorm(t.slice(0, 0)).item()).toBe(low);
  });
});
