/** Products of small whole numbers, whose sums are exact, against three loops. */
import fc from "fast-check";
import { type DType, dtypeNames, dtypes, promote, type Value } from "../../src/dtype.ts";
import { matmul as product, scope, type Tensor } from "../../src/index.ts";
import { family } from "./family.ts";
import {
  anyLay,
  expectValues,
  filled,
  type Lay,
  placed,
  plainLay,
  positions,
  valuesOf,
  viewOf,
} from "./memory.ts";

export interface MatmulCase {
  readonly types: readonly [DType, DType];
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly batch: readonly number[];
  /** Bit d: a (then b) has batch axis d only once. */
  readonly once: readonly [number, number];
  readonly lays: readonly [Lay, Lay];
  /** Where the result goes; null: wherever the library likes. */
  readonly out: Lay | null;
  readonly seed: number;
}

const size = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 9 }) },
  { weight: 3, arbitrary: fc.constantFrom(1, 12, 15, 16, 17, 31, 33, 48, 65) },
  { weight: 1, arbitrary: fc.constantFrom(96, 129, 200) },
);

const cases: fc.Arbitrary<MatmulCase> = fc
  .record({
    types: fc
      .tuple(fc.constantFrom(...dtypeNames), fc.constantFrom(...dtypeNames), fc.boolean())
      .map(([a, b, one]) => [a, one ? a : b] as const),
    m: size,
    k: size,
    n: size,
    batch: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
    once: fc.tuple(fc.nat(3), fc.nat(3)),
    lays: fc.tuple(anyLay, anyLay),
    out: fc.option(plainLay),
    seed: fc.nat(2 ** 30),
  })
  .filter(({ m, k, n, batch }) => batch.reduce((p, x) => p * x, m * k * n) <= 300_000);

function check(c: MatmulCase): boolean {
  return scope(() => {
    const { m, k, n, batch } = c;
    const dtype = promote(...c.types);
    const shapes = [
      [m, k],
      [k, n],
    ].map((shape, i) => [...batch.map((x, d) => ((c.once[i] >> d) & 1 ? 1 : x)), ...shape]);
    const at = shapes.map((shape, i) => placed(shape, c.lays[i]));
    const bases = at.map((p, i) => filled(c.types[i], p.room, "whole", c.seed + i));
    const [a, b] = at.map((p, i) => {
      const values = valuesOf(bases[i]);
      return positions(p).map((x) => Number(values[x]));
    });
    const lead = batch.map((_, d) => Math.max(shapes[0][d], shapes[1][d]));
    /** Which matrix of an operand serves this one of the result. */
    const matrix = (i: number, which: number): number => {
      let [rest, step, found] = [which, 1, 0];
      for (let d = lead.length - 1; d >= 0; d--) {
        const own = shapes[i][d];
        if (own > 1) found += (rest % lead[d]) * step;
        step *= own;
        rest = Math.floor(rest / lead[d]);
      }
      return found;
    };
    const want: Value[] = [];
    for (let which = 0; which < lead.reduce((p, x) => p * x, 1); which++) {
      const [p, q] = [matrix(0, which) * m * k, matrix(1, which) * k * n];
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let x = 0; x < k; x++) sum += a[p + i * k + x] * b[q + x * n + j];
          want.push(plusZero(stored(sum, dtype)));
        }
      }
    }
    const operands = at.map((p, i) => viewOf(bases[i], p)) as [Tensor, Tensor];
    if (c.out === null) {
      const got = product(...operands);
      if (got.dtype !== dtype) throw new Error(`the result is ${got.dtype}, expected ${dtype}`);
      expectValues(valuesOf(got).map(plusZero), want, "the product");
    } else {
      const p = placed([...lead, m, n], c.out);
      const base = filled(dtype, p.room, "whole", c.seed + 7);
      const all = valuesOf(base);
      positions(p).forEach((x, i) => {
        all[x] = want[i];
      });
      product(...operands, { out: viewOf(base, p) });
      expectValues(valuesOf(base).map(plusZero), all.map(plusZero), "the output's memory");
    }
    return true;
  });
}

/** The sign of a zero sum is open. */
const plusZero = (x: Value): Value => (x === 0 ? 0 : x);

/** A whole number, as the dtype stores it. */
function stored(sum: number, d: DType): Value {
  const { kind, big, wrap } = dtypes[d];
  if (kind === "bool") return Number(sum !== 0);
  return wrap(big ? BigInt(sum) : sum);
}

export const matmul = family<MatmulCase>({
  name: "matmul",
  law: "products of any dtypes, sizes, batches and strides are Σ a·b",
  cases,
  check,
  gate: 600,
});
