/** Numba's kernels, written out by hand as njit functions, do what the library's own operations do, on any strides. */
import { afterAll, describe, expect, test } from "vitest";
import { tensorMap, tensorMatmul, tensorReduce, tensorZip } from "../../examples/numba-documents.ts";
import { scope, type Tensor, tensor } from "../../src/index.ts";
import type { Njit, NjitValue } from "../../src/njit/njit.ts";
import { randomTensor } from "./programs.ts";
import { onThreads, stopPools } from "./threads.ts";

afterAll(stopPools);

/** Storage, shape and strides of a view, which begins with its storage. */
function parts(base: Tensor, view: Tensor = base): [Float64Array, Int32Array, Int32Array] {
  return [base.toTypedArray() as Float64Array, Int32Array.from(view.shape), Int32Array.from(view.strides)];
}
const out = (...shape: number[]): [Float64Array, Int32Array, Int32Array] => {
  const strides = shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));
  const size = shape.reduce((a, b) => a * b, 1);
  return [new Float64Array(size), Int32Array.from(shape), Int32Array.from(strides)];
};
const flat = (t: Tensor) => Array.from(t.toTypedArray() as Float64Array);

/** What it makes of its first argument: on one thread, on three and plain, the same. */
function run(fn: Njit<unknown>, args: () => NjitValue[]): number[] {
  const outOf = (call: (...given: NjitValue[]) => unknown) => {
    const given = args();
    call(...given);
    return [...(given[0] as Float64Array)];
  };
  const alone = outOf(fn);
  expect(onThreads(3, () => outOf(fn))).toEqual(alone);
  expect(outOf(fn.plain)).toEqual(alone);
  return alone;
}

describe("the documents' kernels", () => {
  test("tensor_map, over a permuted tensor and a broadcast row", () => {
    scope(() => {
      const double = (x: number) => x * 2 + 1;
      const base = randomTensor([3, 4, 5], "f64", 1);
      const view = base.permute(2, 0, 1);
      expect(run(tensorMap(double), () => [...out(5, 3, 4), ...parts(base, view)])).toEqual(
        flat(view.map(double)),
      );
      const row = randomTensor([4], "f64", 2);
      expect(run(tensorMap(double), () => [...out(3, 4), ...parts(row)])).toEqual(
        flat(row.broadcastTo(3, 4).map(double)),
      );
    });
  });

  test("tensor_zip, broadcast on both sides", () => {
    scope(() => {
      const f = (a: number, b: number) => a * b - a;
      const [a, b] = [randomTensor([6, 1, 4], "f64", 3), randomTensor([4, 5], "f64", 4)];
      const turned = b.T;
      expect(run(tensorZip(f), () => [...out(6, 5, 4), ...parts(a), ...parts(b, turned)])).toEqual(
        flat(a.mul(turned).sub(a)),
      );
    });
  });

  test("tensor_reduce, along each axis", () => {
    scope(() => {
      const base = randomTensor([4, 5, 6], "f64", 5);
      const view = base.permute(1, 2, 0);
      const shapes = [
        [1, 6, 4],
        [5, 1, 4],
        [5, 6, 1],
      ];
      shapes.forEach((shape, axis) => {
        const got = run(
          tensorReduce((acc, x) => Math.max(acc, x)),
          () => [...out(...shape), ...parts(base, view), axis],
        );
        expect(got).toEqual(flat(view.max({ axis })));
      });
    });
  });

  test("matmul, of transposed and broadcast batches", () => {
    scope(() => {
      const [a, b] = [randomTensor([3, 4, 5], "i32", 6, 9), randomTensor([1, 6, 5], "i32", 7, 9)];
      const [x, y] = [a.to("f64"), b.to("f64")];
      const [o, shape] = out(3, 4, 6);
      const turned = y.permute(0, 2, 1);
      expect(run(tensorMatmul, () => [o.slice(), shape, ...parts(x), ...parts(y, turned)])).toEqual(
        flat(x.matmul(turned)),
      );
    });
  });

  test("an ordinal outside is an error, not a wrong place", () => {
    const [o, shape, strides] = out(2, 2);
    const wrong = Int32Array.of(2, 3);
    const map = tensorMap((x) => x);
    expect(() => map(o, shape, wrong, new Float64Array(4), shape, strides)).toThrow(
      /element: index 5 is out of range for axis 0 of size 4/,
    );
    expect(tensor([...o]).shape).toEqual([4]);
  });
});
