/** What explain says of njit functions: loops that are parallel, by lanes, without checks, and why others are not. */
import { afterAll, describe, expect, test } from "vitest";
import { explain, scope, zeros } from "../../src/index.ts";
import { type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { onThreads, stopPools } from "./threads.ts";

afterAll(stopPools);

type Fn = (...args: never[]) => unknown;
const made = (source: string): Njit => njit(new Function(`return (${source})`)() as Fn);
const f64 = (...shape: number[]) => zeros(shape, { dtype: "f64" });
const reportOf = (fn: Njit, ...args: NjitValue[]) => explain(fn, ...args);

const matmul = made(`function matmul(out, a, b, { prange }) {
  const [n, k] = a.shape;
  for (const i of prange(n)) {
    for (let j = 0; j < b.shape[1]; j++) {
      let acc = 0;
      for (let p = 0; p < k; p++) acc += a.get(i, p) * b.get(p, j);
      out.set([i, j], acc);
    }
  }
}`);

describe("the loops of a function", () => {
  test("in the order of the source, with line, depth and head", () => {
    scope(() => {
      const [step] = reportOf(matmul, f64(4, 4), f64(4, 4), f64(4, 4)).functions;
      expect(step.name).toBe("matmul");
      expect(step.loops.map(({ line, depth, text }) => [line, depth, text])).toEqual([
        [3, 0, "for (const i of prange(n))"],
        [4, 1, "for (let j = 0; j < b.shape[1]; j++)"],
        [6, 2, "for (let p = 0; p < k; p++)"],
      ]);
      expect(step.loops[0].parallel).toEqual({ turns: 4, tasks: 0, threads: 1 });
      expect(step.loops[2].checks).toBe(0);
      expect(step.loops[2].checksOtherwise).toBeGreaterThan(0);
      expect(step.typed).toContain("fork from i to before");
      expect(step.wat).toContain("(module");
      expect(step.operands.map((o) => `${o.name} ${o.dtype} ${o.shape}`)).toEqual([
        "out f64 4,4",
        "a f64 4,4",
        "b f64 4,4",
      ]);
    });
  });

  test("tasks that threads shared", () => {
    scope(() => {
      const args = [f64(9, 4), f64(9, 4), f64(4, 4)];
      const [step] = onThreads(3, () => reportOf(matmul, ...args)).functions;
      expect(step.loops[0].parallel).toEqual({ turns: 9, tasks: 9, threads: 3 });
    });
  });

  test("why a prange loop ran in order", () => {
    scope(() => {
      const a = f64(4, 4);
      const report = reportOf(matmul, a, a, f64(4, 4));
      expect(report.functions[0].loops[0].why).toBe("what it writes to overlaps what it reads, or itself");
      expect(String(report)).toMatch(/prange\(n\)\): in order, because what it writes to overlaps/);
      const fill = made("(a, n, { prange }) => { for (const i of prange(n)) a[i] = 1; }");
      const loops = (n: number) => reportOf(fill, new Float64Array(4), n).functions[0].loops;
      expect(loops(2.5)[0].why).toBe("its bounds are not known to be 32-bit integers");
      expect(loops(2)[0].why).toBeNull();
      const spread = made("(a, n, c, { prange }) => { for (const i of prange(n)) a[i * c] = a[i * c] + 1; }");
      const [still, moving] = [0, 1].map(
        (c) => reportOf(spread, new Float64Array(4), 4, c).functions[0].loops[0],
      );
      expect(still).toMatchObject({
        parallel: null,
        why: "its turns share elements: a factor of an index is 0",
      });
      expect(moving).toMatchObject({ parallel: { turns: 4 }, why: null });
    });
  });

  test("copies of typed arrays, and whether the code was there", () => {
    const fill = made("(a, n) => { for (let i = 0; i < n; i++) a[i] = 1; }");
    const first = reportOf(fill, new Float64Array(4), 3);
    expect(first.copies.map((c) => [c.operation, c.bytes])).toEqual([["njit", 32]]);
    expect([first.functions[0].cached, reportOf(fill, new Float64Array(4), 3).functions[0].cached]).toEqual([
      false,
      true,
    ]);
  });

  test("a report is data", () => {
    scope(() => {
      const report = explain(() => matmul(f64(2, 2), f64(2, 2), f64(2, 2)));
      const json = JSON.parse(JSON.stringify(report.toJSON({ wat: false })));
      expect(json.steps[0]).toMatchObject({ kind: "njit", name: "matmul", cached: true });
    });
  });
});
