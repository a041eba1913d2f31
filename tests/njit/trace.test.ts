/** A call told line by line: what it tells is what happened, and nothing of the program's changes. */
import { describe, expect, test } from "vitest";
import { explain, type NjitTrace, njit, scope, Tensor, tensor, zeros } from "../../src/index.ts";
import { programs } from "./programs.ts";

/** The elements of each array once every write of the rows has happened. */
function played({ arrays, rows }: NjitTrace): Map<string, unknown[]> {
  const values = arrays.map((a) => [...a.values]) as unknown[][];
  for (const { accesses } of rows) {
    for (const { array, index, value, isWrite } of accesses) {
      const at = index.reduce((sum, i, d) => sum * arrays[array].shape[d] + i, 0);
      if (isWrite) values[array][at] = value;
      else expect(Object.is(value, values[array][at]), "what was read is what was there").toBe(true);
    }
  }
  return new Map(arrays.map((a, i) => [a.name, values[i]]));
}

const matmul = njit((out, a, b, { prange }) => {
  const [n, k] = a.shape;
  for (const i of prange(n)) {
    for (let j = 0; j < b.shape[1]; j++) {
      let acc = 0;
      for (let p = 0; p < k; p++) acc += a.get(i, p) * b.get(p, j);
      out.set([i, j], acc);
    }
  }
});

describe("a trace", () => {
  test("has a row for each line that has its turn", () => {
    const out = zeros([2, 1]);
    const report = explain(() =>
      matmul(
        out,
        tensor([
          [1, 2],
          [3, 4],
        ]),
        tensor([[5], [6]]),
      ),
    );
    const trace = report.trace();
    expect(trace.isWhole).toBe(true);
    expect(trace.error).toBeNull();
    const text = trace.rows.map(({ source, line }) => source.split("\n")[line - 1].trim());
    const turn = ["let acc = 0;", "for (let p = 0; p < k; p++) acc += a.get(i, p) * b.get(p, j);"];
    const inner = trace.rows.filter((row) => row.accesses.some((a) => !a.isWrite));
    expect(text.slice(0, 2)).toEqual(["const [n, k] = a.shape;", "for (const i of prange(n)) {"]);
    expect(text).toEqual(expect.arrayContaining(turn));
    expect(inner.map((row) => row.sets)).toEqual([
      [
        ["acc", 5],
        ["p", 1],
      ],
      [
        ["acc", 17],
        ["p", 2],
      ],
      [
        ["acc", 15],
        ["p", 1],
      ],
      [
        ["acc", 39],
        ["p", 2],
      ],
    ]);
    expect(played(trace).get("out")).toEqual([17, 39]);
    expect(out.toArray()).toEqual([[17], [39]]);
    expect(() => JSON.stringify(report)).not.toThrow();
  });

  test("ends where it was asked to, or where an index was outside", () => {
    const count = njit((a) => {
      for (let i = 0; i < 100; i++) {
        a.set([0], i);
      }
    });
    const { rows, isWhole } = explain(() => count(zeros([1]))).trace({ most: 7 });
    expect([rows.length, isWhole]).toEqual([7, false]);
    const beyond = njit((a, n) => {
      for (let i = 0; i < n; i++) a[i] = i;
    });
    const a = new Float64Array(2);
    const report = explain(() => {
      try {
        beyond(a, 3);
      } catch {
        // It is in the trace.
      }
    });
    const trace = report.trace();
    expect(trace.error).toMatch(/element: index 2 is out of range for axis 0 of size 2/);
    expect(played(trace).get("a")).toEqual([0, 1]);
  });

  test("arrays over one memory are told as such", () => {
    const shift = njit((out, a) => {
      for (let i = 0; i < a.size; i++) out.set([i], a.get(i) + 1);
    });
    const t = tensor([1, 9, 9, 9]);
    const trace = explain(() => shift(t.slice("1:"), t.slice(":3"))).trace();
    expect(trace.rows.flatMap((r) => r.accesses.filter((x) => x.isWrite).map((x) => x.value))).toEqual([
      2, 3, 4,
    ]);
    expect(t.toArray()).toEqual([1, 2, 3, 4]);
  });

  test("says what it cannot tell", () => {
    const report = explain(() => zeros([2]).add(1));
    expect(() => report.trace()).toThrow(/there is no call -1: 0 ran/);
    const fill = njit((a) => {
      a.set([0], 1);
    });
    const large = explain(() => fill(zeros([1 << 20])));
    expect(() => large.trace()).toThrow(/larger than 1 MiB/);
    const small = explain(() => fill(zeros([1])));
    expect(() => small.trace({ call: 1 })).toThrow(/there is no call 1: 1 ran/);
    expect(() => small.trace({ most: -1 })).toThrow(/most is -1/);
  });

  test.each(programs)("$name: what it tells is what was computed", ({ fn, make, ulps = 0 }) => {
    scope(() => {
      const args = make();
      const report = explain(() => fn(...args));
      if (ulps > 0) return;
      let trace: NjitTrace;
      try {
        trace = report.trace({ most: 100_000 });
      } catch (error) {
        expect(String(error)).toMatch(/larger than 1 MiB/);
        return;
      }
      if (!trace.isWhole) return;
      const names = report.functions[0].operands.map((o) => o.name);
      const values = played(trace);
      const arrays = args.filter((x) => x instanceof Tensor || ArrayBuffer.isView(x));
      names.forEach((name, i) => {
        const got = values.get(name);
        if (got === undefined) return;
        const array = arrays[i];
        expect(got).toEqual(
          array instanceof Tensor ? array.reshape(-1).toArray() : [...(array as Float64Array)],
        );
      });
    });
  });
});
