/**
 * Residuals, in units of n·ε·‖A‖ as LAPACK's own tests measure them: of matrices that are random, ill-conditioned, short
 * of rank, very small or large, graded, or have many equal eigenvalues.
 */
import { describe, expect, it } from "vitest";
import { empty, eye, ones, scope, type Tensor, zeros } from "../../src/index.ts";
import * as linalg from "../../src/library/linalg.ts";

type Float = "f32" | "f64";
const epsilon = { f32: 2 ** -23, f64: 2 ** -52 };

let seed = 1;
function random(shape: readonly number[], dtype: Float): Tensor<Float> {
  const t = empty(shape, { dtype });
  const { data } = t;
  for (let i = 0; i < data.length; i++) {
    seed = (seed * 48271) % 2147483647;
    data[i] = (2 * seed) / 2147483647 - 1;
  }
  return t;
}

function fromFunction(
  m: number,
  n: number,
  dtype: Float,
  f: (i: number, j: number) => number,
): Tensor<Float> {
  const t = empty([m, n], { dtype });
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) t.data[i * n + j] = f(i, j);
  return t;
}

/** Orthogonal times a diagonal times its inverse. */
function withEigenvalues(n: number, dtype: Float, value: (i: number) => number): Tensor {
  const { q } = linalg.qr(random([n, n], dtype));
  const s = q.mul(fromFunction(1, n, dtype, (_, i) => value(i))).matmul(q.T);
  return s.add(s.T).mul(0.5);
}

/** What is hard for one algorithm or another. */
const families: Record<string, (m: number, n: number, dtype: Float) => Tensor> = {
  random: (m, n, dtype) => random([m, n], dtype),
  hilbert: (m, n, dtype) => fromFunction(m, n, dtype, (i, j) => 1 / (i + j + 1)),
  "short of rank": (m, n, dtype) => {
    const k = Math.ceil(Math.min(m, n) / 3);
    return random([m, k], dtype).matmul(random([k, n], dtype));
  },
  zero: (m, n, dtype) => zeros([m, n], { dtype }),
  ones: (m, n, dtype) => ones([m, n], { dtype }),
  identity: (m, n, dtype) => eye(m, { columns: n, dtype }),
  graded: (m, n, dtype) => random([m, n], dtype).mul(fromFunction(m, n, dtype, (i, j) => 2 ** (-i - j))),
  "graded upwards": (m, n, dtype) =>
    random([m, n], dtype).mul(fromFunction(m, n, dtype, (i, j) => 2 ** (i + j - m - n))),
  jordan: (m, n, dtype) => fromFunction(m, n, dtype, (i, j) => (j === i + 1 ? 1 : j === i ? 0.5 : 0)),
  nilpotent: (m, n, dtype) => fromFunction(m, n, dtype, (i, j) => (j === i + 1 ? 1 : 0)),
  tiny: (m, n, dtype) => random([m, n], dtype).mul(dtype === "f64" ? 1e-150 : 1e-30),
  huge: (m, n, dtype) => random([m, n], dtype).mul(dtype === "f64" ? 1e150 : 1e30),
  "one large element": (m, n, dtype) => fromFunction(m, n, dtype, (i, j) => (i + j === 0 ? 1e15 : 1)),
  "equal eigenvalues": (m, n, dtype) =>
    m === n ? withEigenvalues(n, dtype, (i) => (i % 3) - 1) : random([m, n], dtype),
  "clustered eigenvalues": (m, n, dtype) =>
    m === n ? withEigenvalues(n, dtype, (i) => 1 + i * 8 * epsilon[dtype]) : random([m, n], dtype),
  wilkinson: (m, n, dtype) =>
    fromFunction(m, n, dtype, (i, j) =>
      i === j ? Math.abs(i - (Math.min(m, n) - 1) / 2) : Math.abs(i - j) === 1 ? 1 : 0,
    ),
  orthogonal: (m, n, dtype) =>
    linalg.qr(random([Math.max(m, n), n], dtype), { mode: "complete" }).q.slice([0, m], [0, n]),
};

const size = (t: Tensor): number => (t.size === 0 ? 0 : Number(linalg.matrixNorm(t, { ord: 1 }).item()));

/** ‖difference‖ in units of n·ε·scale; anything but a number is infinitely wrong. */
function units(difference: Tensor, scale: number, dtype: Float): number {
  const error = size(difference);
  const n = Math.max(...difference.shape.slice(-2), 1);
  if (error === 0) return 0;
  const value = error / (n * epsilon[dtype] * scale);
  return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
}

const notOrthogonal = (q: Tensor, dtype: Float) =>
  units(q.T.matmul(q).sub(eye(q.shape[1], { dtype })), 1, dtype);

const LIMIT = 12;
const rectangles = [
  [1, 1],
  [3, 3],
  [5, 3],
  [3, 5],
  [17, 17],
  [33, 20],
  [20, 33],
  [65, 65],
] as const;
const squares = rectangles.filter(([m, n]) => m === n).map(([m]) => m);

describe.each(["f32", "f64"] as const)("residuals in %s", (dtype) => {
  describe.each(Object.keys(families))("%s", (family) => {
    const make = families[family];

    it("qr: A = Q·R, Q orthogonal, R triangular", () => {
      for (const [m, n] of rectangles) {
        for (const mode of ["reduced", "complete"] as const) {
          scope(() => {
            const a = make(m, n, dtype);
            const { q, r } = linalg.qr(a, { mode });
            const label = `${m} × ${n} ${mode}`;
            expect(units(q.matmul(r).sub(a), size(a), dtype), label).toBeLessThan(LIMIT);
            expect(notOrthogonal(q, dtype), label).toBeLessThan(LIMIT);
            for (let i = 1; i < r.shape[0]; i++) {
              expect(
                r
                  .slice(i, [0, Math.min(i, n)])
                  .toTypedArray()
                  .every((x) => x === 0),
              ).toBe(true);
            }
          });
        }
      }
    });

    it("svd: A = U·S·Vᴴ, both orthogonal, values in order", () => {
      for (const [m, n] of rectangles) {
        for (const fullMatrices of [true, false]) {
          scope(() => {
            const a = make(m, n, dtype);
            const { u, s, vh } = linalg.svd(a, { fullMatrices });
            const k = Math.min(m, n);
            expect([u.shape, vh.shape]).toEqual(
              fullMatrices
                ? [
                    [m, m],
                    [n, n],
                  ]
                : [
                    [m, k],
                    [k, n],
                  ],
            );
            const back = u
              .slice(":", [0, k])
              .mul(s)
              .matmul(vh.slice([0, k]));
            const label = `${m} × ${n} ${fullMatrices}`;
            expect(units(back.sub(a), size(a), dtype), label).toBeLessThan(LIMIT);
            expect(notOrthogonal(u, dtype), label).toBeLessThan(LIMIT);
            expect(notOrthogonal(vh.T, dtype), label).toBeLessThan(LIMIT);
            const values = s.toTypedArray();
            expect(
              values.every((x, i) => x >= 0 && (i === 0 || x <= values[i - 1])),
              label,
            ).toBe(true);
            expect(linalg.svdvals(a).toTypedArray(), label).toEqual(values);
          });
        }
      }
    });

    it("eigh: A·V = V·Λ, V orthogonal, values in order", () => {
      for (const n of squares) {
        scope(() => {
          const half = make(n, n, dtype);
          const a = half.add(half.T).mul(0.5);
          const { eigenvalues, eigenvectors } = linalg.eigh(a);
          expect(
            units(a.matmul(eigenvectors).sub(eigenvectors.mul(eigenvalues)), size(a), dtype),
            `${n}`,
          ).toBeLessThan(LIMIT);
          expect(notOrthogonal(eigenvectors, dtype), `${n}`).toBeLessThan(LIMIT);
          const values = eigenvalues.toTypedArray();
          expect(values.every((x, i) => i === 0 || x >= values[i - 1])).toBe(true);
          expect(linalg.eigvalsh(a, { uplo: "U" }).toTypedArray()).toEqual(values);
        });
      }
    });

    it("solve: A·X = B as far as A can be told from its rounding", () => {
      for (const n of squares) {
        scope(() => {
          const a = make(n, n, dtype);
          const b = random([n, 2], dtype).mul(size(a) || 1);
          try {
            const x = linalg.solve(a, b);
            expect(units(a.matmul(x).sub(b), size(a) * size(x), dtype), `${n}`).toBeLessThan(LIMIT);
          } catch (error) {
            expect((error as Error).message).toContain("singular");
          }
        });
      }
    });

    it("cholesky: A = L·Lᵀ where A is positive definite", () => {
      if (dtype === "f32" && (family === "tiny" || family === "huge")) return;
      for (const n of squares) {
        scope(() => {
          const half = make(n, n, dtype);
          const square = half.matmul(half.T);
          const a = square.add(eye(n, { dtype }).mul((size(square) || 1) * 0.01));
          const l = linalg.cholesky(a);
          expect(units(l.matmul(l.T).sub(a), size(a), dtype), `${n}`).toBeLessThan(LIMIT);
          const u = linalg.cholesky(a, { upper: true });
          expect(units(u.T.matmul(u).sub(a), size(a), dtype), `${n}`).toBeLessThan(LIMIT);
        });
      }
    });

    it("pinv and lstsq: A·A⁺·A = A, and what remains of b is orthogonal to A", () => {
      for (const [m, n] of rectangles) {
        scope(() => {
          const a = make(m, n, dtype);
          const rtol = 100 * Math.max(m, n) * epsilon[dtype];
          const inverse = linalg.pinv(a, { rtol });
          const back = a.matmul(inverse).matmul(a).sub(a);
          const growth = Math.max(1, size(a) * size(inverse));
          // What was cut off is part of the difference.
          expect(units(back, size(a) * (growth + 200), dtype), `${m} × ${n}`).toBeLessThan(LIMIT);
          const b = random([m, 2], dtype).mul(size(a) || 1);
          const { x, s } = linalg.lstsq(a, b, { rtol });
          const rest = b.sub(a.matmul(x));
          expect(s.shape).toEqual([Math.min(m, n)]);
          const scale = size(a) * (size(a) * size(x) + size(b)) * (1 + 200);
          // In two steps: the product of small numbers would vanish.
          const unit = size(a) || 1;
          expect(
            units(a.T.div(unit).matmul(rest.div(unit)), scale / unit / unit || 1, dtype),
            `${m} × ${n}`,
          ).toBeLessThan(LIMIT);
        });
      }
    });
  });

  it("blocks, panels and halves of every size: solve, cholesky, qr", () => {
    for (let n = 1; n < 100; n += n < 36 ? 1 : 7) {
      scope(() => {
        const a = random([n, n], dtype);
        const b = random([n, 5], dtype);
        const x = linalg.solve(a, b);
        expect(units(a.matmul(x).sub(b), size(a) * size(x), dtype), `${n}`).toBeLessThan(LIMIT);
        const d = a.matmul(a.T).add(eye(n, { dtype }));
        const l = linalg.cholesky(d);
        expect(units(l.matmul(l.T).sub(d), size(d), dtype), `${n}`).toBeLessThan(LIMIT);
        const { q, r } = linalg.qr(a);
        expect(units(q.matmul(r).sub(a), size(a), dtype), `${n}`).toBeLessThan(LIMIT);
      });
    }
  });

  it("batches give what their matrices give one by one", () => {
    scope(() => {
      for (const n of [3, 20, 40]) {
        const a = random([2, 3, n, n], dtype);
        const b = random([2, 3, n, 2], dtype);
        const d = a.matmul(linalg.matrixTranspose(a)).add(eye(n, { dtype }));
        const [x, l, v] = [linalg.solve(a, b), linalg.cholesky(d), linalg.eigvalsh(d)];
        const { q } = linalg.qr(a);
        const { u } = linalg.svd(a);
        for (const [i, j] of [
          [0, 0],
          [1, 2],
        ]) {
          const one = (t: Tensor) => t.slice(i, j);
          const same = (got: Tensor, want: Tensor) =>
            expect(units(one(got).sub(want).reshape(-1, 1), 1e3, dtype)).toBeLessThan(LIMIT);
          same(x, linalg.solve(one(a), one(b)));
          same(l, linalg.cholesky(one(d)));
          same(q, linalg.qr(one(a)).q);
          same(u, linalg.svd(one(a)).u);
          same(v, linalg.eigvalsh(one(d)));
        }
      }
    });
  });

  it("large matrices: 300", () => {
    scope(() => {
      const n = 300;
      const a = random([n, n], dtype);
      const b = random([n], dtype);
      const x = linalg.solve(a, b);
      const rest = a.matmul(x).sub(b).reshape(-1, 1);
      expect(units(rest, size(a) * size(x.reshape(-1, 1)), dtype)).toBeLessThan(LIMIT);
      const { q, r } = linalg.qr(a.slice(":", [0, 200]));
      expect(units(q.matmul(r).sub(a.slice(":", [0, 200])), size(a), dtype)).toBeLessThan(LIMIT);
      const { u, s, vh } = linalg.svd(a);
      expect(units(u.mul(s).matmul(vh).sub(a), size(a), dtype)).toBeLessThan(LIMIT);
      const sym = a.add(a.T);
      const { eigenvalues, eigenvectors } = linalg.eigh(sym);
      expect(
        units(sym.matmul(eigenvectors).sub(eigenvectors.mul(eigenvalues)), size(sym), dtype),
      ).toBeLessThan(LIMIT);
    });
  });
});
