/**
 * Programs that write: tensors are made of others, written over wholly and in parts, added to where they lie. Their
 * gradients agree with differences, or what the gradient needs was written over and the writer is named.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grad } from "../../src/grad.ts";
import { scope, type Tensor, TensorError, tensor } from "../../src/index.ts";

const N = 4;

/** One line of a program: what it does, from which tensor, to which. */
type Line = readonly [kind: number, from: number, to: number];

/** Each takes the value that it reads and the one that it may write to; given back is a new tensor, or none. */
const kinds: readonly ((x: Tensor, y: Tensor) => Tensor | null)[] = [
  (x) => x.mul(1.5),
  (x) => x.sin(),
  (x, y) => x.add(y),
  (x, y) => x.mul(y),
  (x) => x.clone(),
  (x, y) => written(y.assign(x)),
  (x, y) => written(x.add(0.5, { out: y })),
  (x, y) => written(x.mul(2, { out: y })),
  (x, y) => written(y.add(x, { out: y })),
  (x, y) => written(y.slice([0, 2]).assign(x.slice([1, 3]))),
  (x, y) => written(y.slice("::2").assign(x.slice("1::2"))),
  (x, y) => written(y.slice([1, 4]).add(x.slice([0, 3]), { out: y.slice([1, 4]) })),
  (x, y) => written(y.flip().assign(x)),
];
const written = (_: unknown): null => null;

/** The arguments a and b are read only: lines write to what other lines have made. */
function run(lines: readonly Line[], a: Tensor, b: Tensor): Tensor {
  const all = [a, b, a.mul(0.5), b.add(1)];
  for (const [kind, from, to] of lines) {
    const made = kinds[kind](all[from % all.length], all[2 + (to % (all.length - 2))]);
    if (made !== null) all.push(made);
  }
  return all.reduce(
    (sum, t, i) =>
      i < 2
        ? sum
        : sum.add(
            t
              .mul(t)
              .mul(i + 0.5)
              .sum(),
          ),
    tensor(0, { dtype: "f64" }),
  );
}

const at = (values: readonly number[]) => tensor([...values], { dtype: "f64" });
const line = fc.tuple(fc.nat(kinds.length - 1), fc.nat(9), fc.nat(9));

describe("writes", () => {
  it("have the gradients that differences have, or name the writer", () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
        const [a, b] = [
          [0.3, -0.7, 1.1, 0.4],
          [-0.2, 0.9, 0.6, -1.3],
        ];
        scope(() => {
          let made: readonly Tensor[];
          try {
            made = grad((x: Tensor, y: Tensor) => run(lines, x, y), { wrt: [0, 1] })(at(a), at(b));
          } catch (error) {
            if (error instanceof TensorError && error.message.includes("written over")) return;
            throw error;
          }
          compared++;
          const h = 1e-5;
          const value = (x: number[], y: number[]) => Number(run(lines, at(x), at(y)).item());
          for (const [k, given] of [a, b].entries()) {
            for (let i = 0; i < N; i++) {
              const moved = (by: number) => given.map((v, j) => (j === i ? v + by : v));
              const [up, down] = [h, -h].map((by) => (k === 0 ? value(moved(by), b) : value(a, moved(by))));
              const want = (up - down) / (2 * h);
              const got = Number(made[k].get(i));
              expect(Math.abs(got - want)).toBeLessThan(1e-4 * Math.max(1, Math.abs(want)));
            }
          }
        });
      }),
      { numRuns: 150 },
    );
    expect(compared).toBeGreaterThan(50);
  });

  it("over all of a traced tensor leave the gradient of what was written", () => {
    const x = at([1, 2, 3]);
    const assigned = (t: Tensor) => {
      const y = t.mul(2);
      y.assign(t);
      return y.mul(y).sum();
    };
    expect(grad(assigned)(x).toArray()).toEqual([2, 4, 6]);
    const added = (t: Tensor) => {
      const y = t.mul(2);
      t.add(1, { out: y });
      return y.mul(y).sum();
    };
    expect(grad(added)(x).toArray()).toEqual([4, 6, 8]);
  });

  it("to one of two equal gradients leave the other as it was", () => {
    const sum = (a: Tensor, b: Tensor) => a.add(b).sum();
    const [ga, gb] = grad(sum, { wrt: [0, 1] })(at([1, 2]), at([3, 4]));
    ga.fill(7);
    expect(gb.toArray()).toEqual([1, 1]);
    const tied = (p: { a: Tensor; b: Tensor }) => p.a.add(p.b).add(p.a).sum();
    const grads = grad(tied)({ a: at([1, 2]), b: at([3, 4]) });
    expect([grads.a.toArray(), grads.b.toArray()]).toEqual([
      [2, 2],
      [1, 1],
    ]);
  });
});
