import { arange, ones, tensor } from "strided";
import { expect, test } from "vitest";

test("equal tensors are equal", () => {
  expect(arange(3)).toEqual(arange(3));
  expect(arange(6).reshape(2, 3).T).toStrictEqual(
    tensor([
      [0, 3],
      [1, 4],
      [2, 5],
    ]),
  );
  expect({ loss: tensor(1), names: ["a"] }).toEqual({ loss: tensor(1), names: ["a"] });
});

test("others are not", () => {
  expect(arange(3)).not.toEqual(tensor([0, 1, 3]));
  expect(arange(3)).not.toEqual(arange(3).to("f64"));
  expect(arange(4)).not.toEqual(arange(4).reshape(2, 2));
  expect([arange(3)]).not.toEqual([[0, 1, 2]]);
});

test("a million elements are compared at once", () => {
  const [a, b] = [ones([1000, 1000]), ones([1000, 1000])];
  // The best of several: the machine may be busy.
  const rounds = Array.from({ length: 5 }, () => {
    const began = performance.now();
    expect(a).toEqual(b);
    return performance.now() - began;
  });
  expect(Math.min(...rounds)).toBeLessThan(200);
}, 20_000);
