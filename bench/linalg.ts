/**
 * Factorisations beside this library's own matrix product, taking turns: GFLOP/s of both, and the share of the product's
 * rate that is reached. Residuals are checked first.
 */
import { empty, eye, scope, type Tensor } from "../src/index.ts";
import { cholesky, eigh, qr, solve, svd } from "../src/library/linalg.ts";
import { duration, isShown, table, timeAll, timesAsFast } from "./harness.ts";

type Float = "f32" | "f64";

function random(shape: readonly number[], dtype: Float): Tensor<Float> {
  const t = empty(shape, { dtype });
  const { data } = t;
  let x = 1;
  for (let i = 0; i < data.length; i++) {
    x = (x * 48271) % 2147483647;
    data[i] = (2 * x) / 2147483647 - 1;
  }
  return t;
}

const largest = (t: Tensor): number => Number(scope(() => t.abs().max()).item());

interface Factorisation {
  readonly name: string;
  readonly n: number;
  /** In units of n³. */
  readonly work: number;
  /** The least share of the product's rate; null: none was set. */
  readonly target: number | null;
  readonly run: (a: Tensor, d: Tensor, b: Tensor) => void;
  /** Should be small, in units of n·ε. */
  readonly residual: (a: Tensor, d: Tensor, b: Tensor) => Tensor;
}

const factorisations = (n: number, small: number): Factorisation[] => [
  {
    name: "solve",
    n,
    work: 2 / 3,
    target: 0.4,
    run: (a, _, b) => solve(a, b).dispose(),
    residual: (a, _, b) => {
      const x = solve(a, b);
      return a
        .matmul(x)
        .sub(b)
        .div(largest(x) * n);
    },
  },
  {
    name: "cholesky",
    n,
    work: 1 / 3,
    target: 0.4,
    run: (_, d) => cholesky(d).dispose(),
    residual: (_, d) => {
      const l = cholesky(d);
      return l.matmul(l.T).sub(d).div(largest(d));
    },
  },
  {
    name: "qr",
    n: small,
    work: 8 / 3,
    target: null,
    run: (a) => scope(() => void qr(a)),
    residual: (a) => {
      const { q, r } = qr(a);
      return q.matmul(r).sub(a);
    },
  },
  {
    name: "eigh",
    n: small,
    work: 9,
    target: null,
    run: (_, d) => scope(() => void eigh(d)),
    residual: (_, d) => {
      const { eigenvalues, eigenvectors } = eigh(d);
      return d.matmul(eigenvectors).sub(eigenvectors.mul(eigenvalues)).div(largest(d));
    },
  },
  {
    name: "svd",
    n: small,
    work: 20,
    target: null,
    run: (a) => scope(() => void svd(a)),
    residual: (a) => {
      const { u, s, vh } = svd(a);
      return u.mul(s).matmul(vh).sub(a);
    },
  },
];

/** n: of solve and cholesky; small: of the others, which take longer. */
export function linalg(n = 1024, small = 512): void {
  const rows = [["", "time", "GFLOP/s", "matmul GFLOP/s", "share", "target"]];
  for (const dtype of ["f32", "f64"] as const) {
    for (const f of factorisations(n, small).filter(isShown)) {
      scope(() => {
        const a = random([f.n, f.n], dtype);
        const d = a.matmul(a.T).add(eye(f.n, { dtype }));
        const b = random([f.n], dtype);
        const unit = f.n * (dtype === "f32" ? 2 ** -23 : 2 ** -52);
        const error = largest(f.residual(a, d, b)) / unit;
        if (!(error < 20)) throw new Error(`${f.name} ${dtype}: residual ${error} in units of n·ε`);
        const [ours, product] = timeAll(
          [
            { name: f.name, run: () => f.run(a, d, b) },
            { name: "matmul", run: () => a.matmul(a).dispose() },
          ],
          { rounds: 5, turn: 1 },
        );
        const rate = (f.work * f.n ** 3) / ours.median / 1e6;
        const best = (2 * f.n ** 3) / product.median / 1e6;
        const share = (f.work / 2) * timesAsFast(ours, product);
        const target = f.target === null ? "" : `≥ ${f.target} ${share >= f.target ? "✓" : "✗"}`;
        rows.push([
          `${f.name} ${f.n} ${dtype}`,
          duration(ours.median),
          rate.toFixed(1),
          best.toFixed(1),
          share.toFixed(2),
          target,
        ]);
      });
    }
  }
  console.log(table(rows));
}
