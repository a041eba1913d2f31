/** The iteration of a kernel as data. */
import { describe, expect, it } from "vitest";
import { arange, empty, kernel, matmul, tensor, zeros, zip } from "../index.ts";
import { stridedOf } from "../tensor.ts";
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
    expect(operand.address).toBe(stridedOf(base).storage.address);
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

  it("of a large operand shows what was there when the kernel ran", () => {
    const a = arange(1.2e6);
    const report = explain(() => a.map((x) => x + 1));
    a.fill(-7);
    const { written, reads } = report.iteration().row(600000);
    expect([reads[0].value, written]).toEqual(["600000", "600001"]);
  });

  it("of a very large operand keeps what the table shows, and never reads memory later", () => {
    const a = zeros([4200, 4200]).fill(3).T;
    const report = explain(() => a.map((x) => x + 1));
    a.fill(-7);
    report.result.dispose();
    arange(4200 * 4200).dispose();
    const it = report.iteration();
    expect(it.operands.map((o) => o.whole)).toEqual([false, false]);
    expect(report.table()).not.toMatch(/-7|\?/);
    expect(it.row(it.count - 1)).toMatchObject({ written: "4", reads: [{ value: "3" }] });
    expect(it.row(it.count / 2 + 2100)).toMatchObject({ written: "?", reads: [{ value: "?" }] });
    expect([0, 1, 4200 * 2100].map((p) => it.operands[1].at(p))).toEqual(["3", "3", null]);
    expect(report.table({ rows: 40000 })).toMatch(
      /\n\? was not kept: .*only the first and the last rows are\.$/,
    );
  });

  it("keeps no more than 64 MiB a report, and what is small always", () => {
    const a = zeros(1 << 22);
    const b = arange(1 << 12);
    const report = explain(() => {
      for (let i = 0; i < 3; i++) a.neg().dispose();
      return b.neg();
    });
    const whole = report.kernels.map((_, k) => report.iteration(k).operands.every((o) => o.whole));
    expect(whole).toEqual([true, true, false, true]);
  });

  it("of a long walk looks up 256 reads, or those asked for", () => {
    const it = explain(() => arange(1e6).sum()).iteration();
    expect([it.readsPerRow, it.readsPerStep]).toEqual([1e6, 1]);
    expect(it.row(0).reads).toHaveLength(256);
    expect(it.row(0, { most: 300 }).reads).toHaveLength(300);
    expect(it.row(0, { from: 999_998, most: 9 }).reads.map((r) => r.value)).toEqual(["999998", "999999"]);
    expect(() => it.row(1)).toThrow(/row: the row is the number 1; rows are numbered 0 … 0/);
  });

  it("of a fold of several inputs reads each of them at every step", () => {
    const m = arange(6).reshape(2, 3);
    const squares = kernel((a: number, b: number) => (a - b) ** 2).reduce("sum", { axis: -1 });
    const report = explain(() => squares(m, arange(3)));
    const it = report.iteration();
    expect([it.readsPerRow, it.readsPerStep]).toEqual([6, 2]);
    expect(it.row(1).bases).toEqual([3, 0]);
    expect(it.row(1).reads.map((r) => [r.operand, r.position, r.value])).toEqual([
      [1, 3, "3"],
      [2, 0, "0"],
      [1, 4, "4"],
      [2, 1, "1"],
      [1, 5, "5"],
      [2, 2, "2"],
    ]);
    expect(`\n${report.table()}\n`).toMatchInlineSnapshot(`
      "
      ordinal  out index  out position  a base  a walk  read a  b base  b walk  read b  written
      ─────────────────────────────────────────────────────────────────────────────────────────
      0        [0]        0             0       0 1 2   0 1 2   0       0 1 2   0 1 2   0
      1        [1]        1             3       3 4 5   3 4 5   0       0 1 2   0 1 2   27
      "
    `);
    const [first, second] = [0, 1].map((k) => explain(() => m.std({ axis: 1 })).iteration(k));
    expect([first.operands.length, second.operands.length]).toEqual([2, 3]);
    expect(second.row(0).reads.map((r) => r.operand)).toEqual([1, 2, 1, 2, 1, 2]);
  });

  it("is JSON with its first rows", () => {
    const it = explain(() => arange(100).neg()).iteration();
    const { rows, operands, ...rest } = JSON.parse(JSON.stringify(it));
    expect(rest).toEqual({ form: "elementwise", count: 100, readsPerRow: 1, readsPerStep: 1 });
    expect(rows).toHaveLength(24);
    expect(rows[3]).toMatchObject({ ordinal: 3, written: "-3", reads: [{ value: "3" }] });
    expect(operands[1]).toMatchObject({ name: "in", shape: [100], strides: [1], offset: 0 });
  });
});
