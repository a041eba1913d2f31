/** Linear algebra against NumPy's answers, where they are unique. Residuals are in linalg-residuals.test.ts. */
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  empty,
  explain,
  eye,
  memory,
  ones,
  scope,
  type Tensor,
  tensor,
  where,
  zeros,
} from "../../src/index.ts";
import * as linalg from "../../src/library/linalg.ts";
import { type Rows, testReference } from "./reference.ts";

/** JSON has no infinities. */
const orderOf = (params: { ord?: number | string; axis?: number; keepdims?: boolean }) => ({
  ...params,
  ...(typeof params.ord === "string" && params.ord.endsWith("Infinity") ? { ord: Number(params.ord) } : {}),
});

/** Columns of Q and rows of R with the sign that makes R's diagonal positive; min(m, n) of them. */
function normalized({ q, r }: linalg.QrResult): Tensor[] {
  const k = Math.min(r.shape[r.rank - 2], r.shape[r.rank - 1]);
  const rows = r.slice("...", [0, k], ":");
  const diagonal = linalg.diagonal(rows);
  const sign = where(diagonal.less(0), -1, ones(diagonal.shape, { dtype: diagonal.dtype }));
  return [q.slice("...", ":", [0, k]).mul(sign.expandDims(-2)), rows.mul(sign.expandDims(-1))];
}

const rows: Rows = {
  inv: ([a]) => linalg.inv(a),
  det: ([a]) => linalg.det(a),
  slogdet: ([a]) => {
    const { sign, logabsdet } = linalg.slogdet(a);
    return [sign, logabsdet];
  },
  solve: ([a, b]) => linalg.solve(a, b),
  cholesky: ([a], options) => linalg.cholesky(a, options),
  eigvalsh: ([a], options) => linalg.eigvalsh(a, options),
  eigenvalues: ([a], options) => linalg.eigh(a, options).eigenvalues,
  qr: ([a], options) => normalized(linalg.qr(a, options)),
  svdvals: ([a]) => linalg.svdvals(a),
  pinv: ([a], options) => linalg.pinv(a, options),
  matrixRank: ([a], options) => linalg.matrixRank(a, options),
  lstsq: ([a, b], options) => {
    const { x, residuals, rank, s } = linalg.lstsq(a, b, options);
    return [x, residuals, tensor(rank, { dtype: "f64" }), s];
  },
  matrixNorm: ([a], params) => linalg.matrixNorm(a, orderOf(params) as linalg.MatrixNormOptions),
  vectorNorm: ([a], params) => linalg.vectorNorm(a, orderOf(params) as linalg.VectorNormOptions),
  cond: ([a], params) => linalg.cond(a, orderOf(params) as linalg.MatrixNormOptions),
  matrixPower: ([a], { n }) => linalg.matrixPower(a, n),
  trace: ([a], options) => linalg.trace(a, options),
  diagonal: ([a], options) => linalg.diagonal(a, options),
};

describe("linear algebra by NumPy's reference values", () => {
  testReference("linalg", rows);
});

describe("messages", () => {
  const message = (fn: () => unknown): string => {
    try {
      fn();
    } catch (error) {
      return (error as Error).message;
    }
    return "no error";
  };

  it("name the matrix and the pivot", () => {
    const singular = tensor(
      [
        [1, 2],
        [2, 4],
      ],
      { dtype: "f64" },
    );
    const batch = zeros([2, 2, 3, 3]);
    batch.slice(0).assign(eye(3));
    expect(message(() => linalg.solve(singular, ones([2])))).toMatchInlineSnapshot(`
      "solve: the matrix is singular: pivot 1 is exactly 0.
        There is no inverse. Use lstsq or pinv for a solution of least squares."
    `);
    expect(message(() => linalg.inv(batch))).toMatchInlineSnapshot(`
      "inv: matrix [1, 0] is singular: pivot 0 is exactly 0.
        There is no inverse. Use lstsq or pinv for a solution of least squares."
    `);
    expect(message(() => linalg.cholesky(singular))).toMatchInlineSnapshot(`
      "cholesky: the matrix is not positive definite: pivot 1 is not positive.
        Check that the matrix is symmetric with positive eigenvalues (eigvalsh); solve and lstsq need neither."
    `);
    expect(message(() => linalg.cholesky(batch))).toMatchInlineSnapshot(`
      "cholesky: matrix [1, 0] is not positive definite: pivot 0 is not positive.
        Check that the matrix is symmetric with positive eigenvalues (eigvalsh); solve and lstsq need neither."
    `);
    expect(message(() => linalg.eigh(tensor([[Number.NaN]])))).toMatchInlineSnapshot(`
      "eigh: the matrix holds NaN or an infinity.
        Its factors are not defined; check the data with isfinite."
    `);
    expect(message(() => linalg.svd(batch.div(0)))).toMatchInlineSnapshot(`
      "svd: matrix [0, 0] holds NaN or an infinity.
        Its factors are not defined; check the data with isfinite."
    `);
  });

  it("name shapes, dtypes and options", () => {
    const a = ones([2, 3]);
    expect(message(() => linalg.inv(a))).toMatchInlineSnapshot(`
      "inv: the matrix is 2 × 3: [2, 3].
        inv is for square matrices; the last two sizes must be equal."
    `);
    expect(message(() => linalg.det(ones([3])))).toMatchInlineSnapshot(`
      "det: a is [3], which has no matrix.
        Matrices lie in the last two axes; axes before them are batches."
    `);
    expect(message(() => linalg.solve(eye(2), a.T))).toMatchInlineSnapshot(`
      "solve: a is [2, 2], b is [3, 2].
        b must be a vector of 2, or matrices of 2 rows."
    `);
    expect(message(() => linalg.svd(a.to("bf16")))).toMatchInlineSnapshot(`
      "svd: bf16 is too coarse for it.
        Convert first: to("f32") or to("f64")."
    `);
    expect(message(() => linalg.qr(a, { mode: "raw" as never }))).toMatchInlineSnapshot(`
      "qr: mode is the string "raw".
        Use "reduced" or "complete"."
    `);
    expect(message(() => linalg.matrixNorm(a, { ord: 7 }))).toMatchInlineSnapshot(`
      "matrixNorm: ord is the number 7.
        Use "fro", "nuc", 1, -1, 2, -2, Infinity or -Infinity."
    `);
    expect(message(() => linalg.vectorNorm(a, { ord: "fro" as never }))).toMatchInlineSnapshot(`
      "vectorNorm: ord is the string "fro".
        Use a number, Infinity or -Infinity."
    `);
    expect(message(() => linalg.pinv(a, { rtol: -1 }))).toMatchInlineSnapshot(`
      "pinv: rtol is the number -1.
        Use a number from 0 on: values below rtol × the largest count as 0."
    `);
    expect(message(() => linalg.eigh(eye(2), { uplo: "X" as never }))).toMatchInlineSnapshot(`
      "eigh: uplo is the string "X".
        Use "L" or "U"."
    `);
    expect(message(() => linalg.matrixPower(eye(2), 0.5))).toMatchInlineSnapshot(`
      "matrixPower: the power is the number 0.5.
        Use a whole number."
    `);
    expect(message(() => linalg.lstsq(a, ones([3])))).toMatchInlineSnapshot(`
      "lstsq: a is [2, 3], b is [3].
        a is one matrix m × n, b a vector of m or a matrix m × k."
    `);
    expect(message(() => linalg.cholesky(3 as never))).toMatchInlineSnapshot(`
      "cholesky: expected a tensor, got the number 3.
        Make one with tensor(…)."
    `);
    expect(message(() => linalg.cholesky(eye(2), true as never))).toMatchInlineSnapshot(`
      "cholesky: the options are the boolean true.
        Give an object such as { upper: true }."
    `);
    const gone = ones([2, 2]);
    gone.dispose();
    expect(message(() => linalg.inv(gone))).toMatchInlineSnapshot(`
      "inv: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
  });
});

describe("half floats", () => {
  it.each(["f16", "bf16"] as const)("have vector norms, whose squares leave their range (%s)", (dtype) => {
    const t = tensor(
      [
        [300, 400],
        [0, 2],
      ],
      { dtype },
    );
    expect(linalg.vectorNorm(t, { axis: 1 }).toArray()).toEqual([500, 2]);
    expect(linalg.vectorNorm(t, { axis: 1, ord: 3 }).dtype).toBe(dtype);
    expect(linalg.matrixPower(t.div(100).round(), 2).dtype).toBe(dtype);
  });
});

describe("what happens around it", () => {
  const random = (n: number, dtype: "f32" | "f64") => {
    const t = empty([n, n], { dtype });
    let x = 1;
    t.data.forEach((_, i) => {
      x = (x * 48271) % 2147483647;
      t.data[i] = x / 2147483647 - 0.5;
    });
    return t;
  };

  it("the operand stays as it was, and explain hears of the copy", () => {
    const a = random(5, "f64");
    const before = a.toTypedArray();
    const report = explain(() => linalg.solve(a, ones([5])));
    expect(report.copies.map((c) => c.operation)).toEqual(["solve", "solve"]);
    for (const f of [linalg.inv, linalg.qr, linalg.svd, linalg.eigh, linalg.det]) f(a);
    expect(a.toTypedArray()).toEqual(before);
  });

  it("a failure leaves nothing behind", () => {
    scope(() => {
      const bad = zeros([40, 40]);
      const worse = bad.div(0);
      const before = memory().tensors;
      expect(() => linalg.inv(bad)).toThrow();
      expect(() => linalg.cholesky(bad)).toThrow();
      expect(() => linalg.eigh(worse)).toThrow();
      expect(memory().tensors).toBe(before);
    });
  });

  it.each(["f32", "f64"] as const)("one thread and all threads give the same bits (%s)", (dtype) => {
    engine().pool.waitUntilReady();
    scope(() => {
      const a = random(150, dtype);
      const s = a.add(a.T);
      const d = a.matmul(a.T).add(eye(150, { dtype }));
      const all = () =>
        scope(() => [
          linalg.inv(a).toTypedArray(),
          linalg.cholesky(d).toTypedArray(),
          linalg.qr(a).q.toTypedArray(),
          linalg.eigh(s).eigenvectors.toTypedArray(),
          linalg.svd(a).u.toTypedArray(),
        ]);
      expect(engine().kernels.alone(all)).toEqual(all());
    });
  });

  it("scalar code gives the same answers up to rounding", () => {
    scope(() => {
      const a = random(40, "f64");
      const b = ones([40, 3], { dtype: "f64" });
      const fast = [
        linalg.solve(a, b),
        linalg.svdvals(a),
        linalg.eigvalsh(a),
        linalg.cholesky(a.matmul(a.T)),
      ];
      engine().kernels.simd = false;
      try {
        const slow = [
          linalg.solve(a, b),
          linalg.svdvals(a),
          linalg.eigvalsh(a),
          linalg.cholesky(a.matmul(a.T)),
        ];
        fast.forEach((t, i) => void expect(t.sub(slow[i]).abs().max().item()).toBeLessThan(1e-8));
      } finally {
        engine().kernels.simd = true;
      }
    });
  });
});
