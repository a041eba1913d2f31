/**
 * Pairs of tensors that are equal and pairs that are not, for any test framework: nothing here knows which. Values are
 * compared with dtype and shape, NaN is NaN, and -0 is not 0.
 */
import type * as Strided from "../../src/index.ts";

type Tensor = Strided.Tensor;
export type Pair = readonly [name: string, make: (s: typeof Strided) => readonly [Tensor, Tensor]];

export const equalPairs: readonly Pair[] = [
  ["vectors", (s) => [s.arange(3), s.tensor([0, 1, 2])]],
  [
    "matrices",
    (s) => [
      s.arange(6).reshape(2, 3),
      s.tensor([
        [0, 1, 2],
        [3, 4, 5],
      ]),
    ],
  ],
  [
    "a transpose and a dense copy",
    (s) => [
      s.arange(6).reshape(2, 3).T,
      s.tensor([
        [0, 3],
        [1, 4],
        [2, 5],
      ]),
    ],
  ],
  [
    "two views of one storage",
    (s) => {
      const t = s.tensor([1, 2, 1, 2]);
      return [t.slice("0:2"), t.slice("2:4")];
    },
  ],
  ["a broadcast and what it stands for", (s) => [s.tensor([7]).broadcastTo(2, 2), s.full([2, 2], 7)]],
  ["0-d", (s) => [s.arange(4).sum(), s.tensor(6)]],
  [
    "NaN of any sign",
    (s) => [
      s.tensor([0, NaN]),
      s
        .tensor([0, Infinity])
        .mul(0)
        .add(s.tensor([0, -1]))
        .sqrt()
        .mul(s.tensor([0, 1])),
    ],
  ],
  ["empty", (s) => [s.zeros([0, 3]), s.ones([0, 3])]],
  ["booleans", (s) => [s.tensor([true, false]), s.arange(2).equal(0)]],
  ["bigints", (s) => [s.tensor([1n, 2n]), s.arange(1, 3).to("i64")]],
  ["halves", (s) => [s.tensor([0.5, 1.5], { dtype: "f16" }), s.tensor([0.5, 1.5]).to("f16")]],
  ["a million elements", (s) => [s.arange(1_000_000), s.arange(1_000_000)]],
  [
    "a million elements, of which some are NaN",
    (s) => {
      const make = () => s.arange(1_000_000).map((x: number) => (x % 1000 === 0 ? NaN : x));
      return [make(), make()];
    },
  ],
  [
    "a large view and its copy",
    (s) => {
      const t = s.arange(40_000).reshape(200, 200).T;
      return [t, t.clone()];
    },
  ],
];

export const unequalPairs: readonly Pair[] = [
  ["one element", (s) => [s.tensor([1, 2, 3]), s.tensor([1, 2, 4])]],
  ["dtype", (s) => [s.tensor([1, 2]), s.tensor([1, 2], { dtype: "f64" })]],
  ["dtype of empty tensors", (s) => [s.zeros(0), s.zeros(0, { dtype: "i32" })]],
  ["f16 and bf16 of the same values", (s) => [s.tensor([1]).to("f16"), s.tensor([1]).to("bf16")]],
  ["shape", (s) => [s.arange(6).reshape(2, 3), s.arange(6).reshape(3, 2)]],
  ["shapes without elements", (s) => [s.zeros([0, 3]), s.zeros([0, 4])]],
  ["0-d and 1-d", (s) => [s.tensor(1), s.tensor([1])]],
  ["values of 0-d", (s) => [s.tensor(1), s.tensor(2)]],
  ["NaN and a number", (s) => [s.tensor([NaN]), s.tensor([0])]],
  ["true and 1", (s) => [s.tensor([true]), s.tensor([1])]],
  [
    "the last of a million",
    (s) => {
      const t = s.arange(1_000_000).clone();
      t.set([-1], 0);
      return [s.arange(1_000_000), t];
    },
  ],
  [
    "one of a million in the middle",
    (s) => {
      const t = s.zeros([1000, 1000]);
      t.set([500, 499], 1);
      return [s.zeros([1000, 1000]), t];
    },
  ],
  [
    "a large tensor and its transpose",
    (s) => {
      const t = s.arange(40_000).reshape(200, 200);
      return [t, t.T];
    },
  ],
];

/** Told apart by strict comparison only. */
export const strictlyUnequalPairs: readonly Pair[] = [["-0 and 0", (s) => [s.tensor([-0]), s.tensor([0])]]];
