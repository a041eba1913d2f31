import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { arange, explain, memory, scope, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";
import * as join from "../../src/library/join.ts";
import * as m from "../../src/library/manipulate.ts";
import { pad } from "../../src/library/pad.ts";
import { stridedOf } from "../../src/tensor.ts";
import { testReference } from "./reference.ts";

const given = <P extends object>(params: P) =>
  Object.fromEntries(Object.entries(params).filter(([, v]) => v !== null)) as object;
const atleast = [m.atleast1d, m.atleast2d, m.atleast3d];

describe("manipulation", () => {
  testReference("manipulate", {
    concat: (all, p) => join.concat(all, p),
    stack: (all, p) => join.stack(all, p),
    hstack: (all) => join.hstack(all),
    vstack: (all) => join.vstack(all),
    unstack: ([t], p) => m.unstack(t, p),
    split: ([t], { parts, axis }) => m.split(t, parts, { axis }),
    arraySplit: ([t], { parts, axis }) => m.arraySplit(t, parts, { axis }),
    repeat: ([t], { repeats, axis }) => join.repeat(t, repeats, given({ axis })),
    tile: ([t], { reps }) => join.tile(t, reps),
    roll: ([t], { shift, axis }) => m.roll(t, shift, given({ axis })),
    pad: ([t], { width, value, ...rest }) =>
      pad(
        t,
        width,
        typeof value === "string"
          ? { ...rest, value: Number(value) }
          : given({ ...rest, value: value ?? null }),
      ),
    flip: ([t], { axis }) => m.flip(t, axis ?? undefined),
    rot90: ([t], p) => m.rot90(t, p),
    matrixTranspose: ([t]) => m.matrixTranspose(t),
    permuteDims: ([t], { axes }) => m.permuteDims(t, axes),
    swapAxes: ([t], { a, b }) => m.swapAxes(t, a, b),
    moveAxis: ([t], { source, destination }) => m.moveAxis(t, source, destination),
    expandDims: ([t], { axis }) => m.expandDims(t, axis),
    squeeze: ([t], { axis }) => m.squeeze(t, axis),
    ravel: ([t]) => m.ravel(t),
    flatten: ([t]) => m.flatten(t),
    reshape: ([t], { shape }) => m.reshape(t, shape),
    broadcastTo: ([t], { shape }) => m.broadcastTo(t, shape),
    broadcastArrays: (all) => m.broadcastArrays(all) as readonly Tensor[],
    atleast: ([t], { k }) => atleast[k - 1](t),
  });
});

const message = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    return (error as Error).message;
  }
  throw new Error("no error");
};

describe("views", () => {
  const t = arange(24).reshape(2, 3, 4);

  it.each<[string, () => Tensor | Tensor[]]>([
    ["reshape", () => m.reshape(t, [6, 4])],
    ["ravel", () => m.ravel(t)],
    ["expandDims", () => m.expandDims(t, 0)],
    ["squeeze", () => m.squeeze(t.slice([0, 1]))],
    ["broadcastTo", () => m.broadcastTo(t, [5, 2, 3, 4])],
    ["broadcastArrays", () => [...m.broadcastArrays([t, t.slice(0)])]],
    ["atleast3d", () => m.atleast3d(t.slice(0))],
    ["permuteDims", () => m.permuteDims(t, [2, 0, 1])],
    ["swapAxes", () => m.swapAxes(t, 0, 2)],
    ["moveAxis", () => m.moveAxis(t, 0, 2)],
    ["matrixTranspose", () => m.matrixTranspose(t)],
    ["flip", () => m.flip(t, 1)],
    ["rot90", () => m.rot90(t)],
    ["unstack", () => m.unstack(t, { axis: 1 })],
    ["split", () => m.split(t, 3, { axis: 1 })],
    ["arraySplit", () => m.arraySplit(t, 3, { axis: 2 })],
  ])("%s copies nothing: it shares the tensor's memory", (_, make) => {
    scope(() => {
      let made: readonly Tensor[] = [];
      const report = explain(() => {
        made = [make()].flat();
      });
      expect(report.copies).toEqual([]);
      for (const view of made) expect(stridedOf(view).storage).toBe(stridedOf(t).storage);
      const writable = made.filter((v) => !v.readOnly && v.size > 0);
      for (const view of writable) {
        const first = view.rank === 0 ? [] : view.shape.map(() => 0);
        const before = view.get(...first);
        view.set(first, 99);
        expect(t.toTypedArray()).toContain(99);
        view.set(first, before);
      }
    });
  });

  it.each<[string, () => Tensor]>([
    ["concat", () => join.concat([t])],
    ["stack", () => join.stack([t])],
    ["flatten", () => m.flatten(t)],
    ["tile", () => join.tile(t, 1)],
    ["repeat", () => join.repeat(t, 1, { axis: 0 })],
    ["roll", () => m.roll(t, 0)],
    ["pad", () => pad(t, 0)],
  ])("%s is a tensor of its own", (_, make) => {
    scope(() => {
      const made = make();
      expect(stridedOf(made).storage).not.toBe(stridedOf(t).storage);
      expect(made.readOnly).toBe(false);
    });
  });

  it("broadcast views are read-only", () => {
    const [wide] = m.broadcastArrays([arange(3), zeros([2, 1])]);
    expect(wide.readOnly).toBe(true);
    expect(message(() => wide.set([0, 0], 1))).toContain("read-only");
  });

  it("views leave nothing behind", () => {
    const before = memory().tensors;
    for (const made of [m.unstack(t), m.split(t, 2), [m.rot90(t)], [m.roll(t, 1)], [pad(t, 1)]]) {
      for (const x of made) x.dispose();
    }
    expect(memory().tensors).toBe(before);
  });
});

describe("large copies", () => {
  it("concat, tile, repeat, roll and pad agree with a loop", () => {
    scope(() => {
      const n = 300;
      const x = arange(n * n).reshape(n, n);
      const at = (t: Tensor, want: (i: number, j: number) => number) => {
        const [, columns] = t.shape;
        const got = t.toTypedArray() as Float32Array;
        return got.every((v, k) => v === want(Math.floor(k / columns), k % columns));
      };
      const of = (i: number, j: number) => i * n + j;
      expect(at(join.concat([x, x.T], { axis: 1 }), (i, j) => (j < n ? of(i, j) : of(j - n, i)))).toBe(true);
      expect(at(join.tile(x, [2, 3]), (i, j) => of(i % n, j % n))).toBe(true);
      expect(at(join.repeat(x.T, 3, { axis: 1 }), (i, j) => of(Math.floor(j / 3), i))).toBe(true);
      expect(at(m.roll(x, [7, -9], { axis: [0, 1] }), (i, j) => of((i + n - 7) % n, (j + 9) % n))).toBe(true);
      const edge = (i: number) => Math.min(n - 1, Math.max(0, i - 5));
      expect(at(pad(x.T, 5, { mode: "edge" }), (i, j) => of(edge(j), edge(i)))).toBe(true);
    });
  });

  it.each(["u8", "f32", "f64"] as const)(
    "%s parts side by side, as runs or not, join as element by element",
    (dtype) => {
      scope(() => {
        const base = arange(40 * 7 * 60, { dtype: "i32" })
          .remainder(200)
          .to(dtype)
          .reshape(40, 7, 60);
        const part = (rows: number, middle: number, columns: number, from: number) =>
          base.slice([from, from + rows], [0, middle], [0, columns]);
        const groups = [
          [part(4, 7, 60, 0), part(9, 7, 60, 5)],
          [part(4, 7, 33, 0), part(9, 7, 33, 5)],
          [part(4, 7, 33, 0), part(4, 7, 33, 5)],
          [part(4, 7, 33, 0), part(4, 7, 60, 5), part(4, 7, 20, 9)],
          [part(4, 3, 60, 0), part(4, 7, 60, 5)],
          [part(4, 3, 20, 0), part(4, 7, 20, 5)],
          [part(4, 7, 60, 0).flip(0), part(4, 7, 60, 5).flip(1)],
          [part(30, 7, 60, 0).reshape(210, 60), part(30, 7, 50, 5).clone().reshape(210, 50)],
        ];
        for (const all of groups) {
          const axis = all[0].shape.findIndex((n, d) => all.some((t) => t.shape[d] !== n));
          for (const along of axis < 0 ? [0, 1, 2] : [axis]) {
            const want = all.flatMap((t) => t.moveAxis(along, 0).toArray() as unknown[]);
            for (const got of [
              join.concat(all, { axis: along }),
              engine().kernels.alone(() => join.concat(all, { axis: along })),
            ]) {
              expect(got.moveAxis(along, 0).toArray()).toEqual(want);
            }
          }
        }
      });
    },
  );

  it("bf16 moves as it is, and joins with others by promotion", () => {
    const b = arange(4).to("bf16");
    expect(join.concat([b, b]).dtype).toBe("bf16");
    expect(join.concat([b, arange(2).to("f16")]).dtype).toBe("f32");
    expect(pad(b, 1, { mode: "wrap" }).toArray()).toEqual([3, 0, 1, 2, 3, 0]);
    expect(join.concat([b, b], { dtype: "i8" }).toArray()).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
  });
});

describe("arguments", () => {
  it("errors name the operation, the fact and the remedy", () => {
    const t = arange(6).reshape(2, 3);
    expect(message(() => join.concat([t, arange(3)]))).toMatchInlineSnapshot(`
      "concat: tensor 1 is [3], tensor 0 is [2, 3].
        Beside axis 0, all sizes must agree."
    `);
    expect(message(() => join.concat([]))).toMatchInlineSnapshot(`
      "concat: no tensors.
        Give one at least: concat([a, b])."
    `);
    expect(message(() => join.stack([t, t.T]))).toMatchInlineSnapshot(`
      "stack: tensor 1 is [3, 2], tensor 0 is [2, 3].
        All shapes must be equal."
    `);
    expect(message(() => m.split(t, 2, { axis: 1 }))).toMatchInlineSnapshot(`
      "split: axis 1 of size 3 does not split into 2 equal parts.
        Use arraySplit, whose first parts may be one longer, or give the indices to split at."
    `);
    expect(message(() => join.repeat(t, [1, 2], { axis: 1 }))).toMatchInlineSnapshot(`
      "repeat: 2 counts for axis 1 of size 3.
        Give one count, or one for each index."
    `);
    expect(message(() => join.repeat(t, tensor([1, 2]), { axis: 0 }))).toMatchInlineSnapshot(`
      "repeat: the counts are f32 [2].
        Give a vector of integers."
    `);
    expect(message(() => m.roll(t, [1, 2, 3], { axis: [0, 1] }))).toMatchInlineSnapshot(`
      "roll: 3 shifts for 2 axes.
        Give one shift for each axis."
    `);
    expect(message(() => pad(t, [[1, 2, 3]] as never))).toMatchInlineSnapshot(`
      "pad: [1, 2, 3] is no pair.
        Give [before, after]."
    `);
    expect(message(() => pad(t, 1, { mode: "mean" as never }))).toMatchInlineSnapshot(`
      "pad: mode is the string "mean".
        Use one of constant edge reflect symmetric wrap."
    `);
    expect(message(() => pad(zeros([0, 2]), 1, { mode: "wrap" }))).toMatchInlineSnapshot(`
      "pad: axis 0 is empty, so wrap has nothing to go on.
        Use mode "constant"."
    `);
    expect(message(() => m.rot90(arange(3)))).toMatchInlineSnapshot(`
      "rot90: axis 1 is out of range for rank 1.
        Use -1 … 0."
    `);
    expect(message(() => join.tile(t, 1e9))).toContain("tile");
  });

  it("whatever is passed, the answer is a result or a TensorError", () => {
    const odd: unknown[] = [
      undefined,
      null,
      Number.NaN,
      1e300,
      -1,
      0.5,
      "x",
      {},
      [],
      [[1], [2, 3]],
      Symbol("s"),
      () => 1,
      5n,
      true,
    ];
    const t = arange(6).reshape(2, 3);
    const calls: ((x: never) => unknown)[] = [
      (x) => join.concat(x),
      (x) => join.concat([x]),
      (x) => join.concat([t], x),
      (x) => join.concat([t], { axis: x }),
      (x) => join.concat([t], { dtype: x }),
      (x) => join.stack([t], { axis: x }),
      (x) => join.tile(t, x),
      (x) => join.tile(t, [x]),
      (x) => join.repeat(t, x),
      (x) => join.repeat(t, [x, 1], { axis: 0 }),
      (x) => m.roll(t, x),
      (x) => m.roll(t, 1, { axis: x }),
      (x) => pad(t, x),
      (x) => pad(t, 1, x),
      (x) => pad(t, 1, { value: x }),
      (x) => m.split(t, x),
      (x) => m.arraySplit(t, [x]),
      (x) => m.unstack(t, { axis: x }),
      (x) => m.rot90(t, { k: x }),
      (x) => m.rot90(t, { axes: x }),
      (x) => m.reshape(t, x),
      (x) => m.flip(t, x),
      (x) => m.squeeze(t, x),
      (x) => m.expandDims(t, x),
      (x) => m.permuteDims(t, x),
      (x) => m.swapAxes(t, x, 0),
      (x) => m.moveAxis(t, x, 0),
      (x) => m.broadcastTo(t, x),
      (x) => m.broadcastArrays(x),
      (x) => m.atleast2d(x),
      (x) => m.ravel(x),
      (x) => m.matrixTranspose(x),
    ];
    for (const [k, call] of calls.entries()) {
      for (const x of odd) {
        try {
          scope(() => call(x as never));
        } catch (error) {
          expect(error, `call ${k} with ${String(x)}`).toBeInstanceOf(TensorError);
        }
      }
    }
  });
});
