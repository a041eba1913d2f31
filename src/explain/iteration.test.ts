/** The iteration of a kernel as data. */
import { describe, expect, it } from "vitest";
import { arange, empty, matmul, tensor, zip } from "../index.ts";
import { explain } from "./explain.ts";

describe("report.iteration()", () => {
  it("has a row for each element of the output: index, positions, what was read and written", () => {
    const a = tensor([[10, 20, 30]]);
    const b = tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3] });
    const it = explain(() => zip([a, b], (x, y) => x + y)).iteration();
    expect([it.form, it.count, it.readsPerRow]).toEqual(["elementwise", 6, 2]);
    expect(it.row(3)).toEqual({
      ordinal: 3,
      index: [1, 0],
      position: 3,
      written: "14",
      bases: [],
      reads: [
        { operand: 1, index: [0, 0], position: 0, value: "10" },
        { operand: 2, index: [1, 0], position: 3, value: "4" },
      ],
    });
  });

  it("shows each operand among its neighbours in memory, as it was when the kernel ran", () => {
    const base = arange(8).reshape(2, 4);
    const view = base.slice(":", "1::2");
    const report = explain(() => view.map((x) => x + 100));
    base.fill(-1);
    const [out, operand] = report.iteration().operands;
    expect(operand).toMatchObject({ name: "in", shape: [2, 2], strides: [4, 2], offset: 1, length: 8 });
    expect(operand.address).toBe(base.storage.address);
    expect([0, 1, 7, 8].map((p) => operand.at(p))).toEqual(["0", "1", "7", null]);
    expect([0, 3].map((p) => out.at(p))).toEqual(["101", "107"]);
  });

  it("of a fold walks the folded axes from its base, and looks up no more reads than asked for", () => {
    const t = arange(24).reshape(2, 3, 4);
    const it = explain(() => t.reduce((acc, x) => acc + x, { axis: [0, 2], init: 0 })).iteration();
    expect([it.count, it.readsPerRow]).toEqual([3, 8]);
    const { bases, reads, written } = it.row(1);
    expect(bases).toEqual([4]);
    expect(reads.map((r) => r.position)).toEqual([4, 5, 6, 7, 16, 17, 18, 19]);
    expect(reads[4].index).toEqual([1, 1, 0]);
    expect(written).toBe("92");
    expect(it.row(1, 2).reads).toHaveLength(2);
  });

  it("of a matrix product reads a and b in turn, a batch of size 1 again and again", () => {
    const a = tensor([1, 2, 3, 4, 5, 6], { shape: [1, 2, 3] });
    const b = tensor([10, 11, 12, 13, 14, 15, 7, 8, 9, 10, 11, 12], { shape: [2, 3, 2] });
    const row = explain(() => matmul(a, b))
      .iteration()
      .row(6);
    expect(row).toMatchObject({ index: [1, 1, 0], position: 6, bases: [3, 6], written: "139" });
    expect(row.reads.map((r) => [r.operand, r.position, r.value])).toEqual([
      [1, 3, "4"],
      [2, 6, "7"],
      [1, 4, "5"],
      [2, 8, "9"],
      [1, 5, "6"],
      [2, 10, "11"],
    ]);
  });

  it("of nothing has no rows; of a report without kernels it is an error", () => {
    expect(explain(() => empty([0, 3]).neg()).kernels.length).toBeLessThanOrEqual(1);
    expect(() => explain(() => arange(4).T).iteration()).toThrow(/iteration: no such kernel: 0 ran/);
  });
});
