/**
 * Calls with many operands and captured values: what a kernel reads of its call is what was written there, on one thread
 * and on several, and nothing but the output changes. What a call has no room for is refused.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Kernel, Tensor } from "../../src/index.ts";

type Strided = typeof import("../../src/index.ts");
type Pool = ReturnType<typeof import("../../src/engine.ts")["engine"]>["pool"];
type At = (i: number, j: number) => number;

/** Large enough for several tasks, of elementwise calls and of folds. */
const ROWS = 24;
const COLUMNS = 4096;
/** Operands repeat after so many steps in any direction: the interpreter is asked once for each case. */
const PERIOD = 7;
const f64 = { dtype: "f64" } as const;
const indices = (n: number): number[] => Array.from({ length: n }, (_, k) => k);

/** An operand that is value(i, j) at [i, j], and lies as its name says. */
const layouts = {
  contiguous: (s, value) => dense(s, ROWS, COLUMNS, value),
  strided: (s, value) => {
    const view = s.zeros([ROWS, 2 * COLUMNS], f64).slice(":", "1::2");
    return view.assign(dense(s, ROWS, COLUMNS, value));
  },
  reversed: (s, value) => dense(s, ROWS, COLUMNS, (i, j) => value(i, COLUMNS - 1 - j)).slice(":", "::-1"),
  transposed: (s, value) => dense(s, COLUMNS, ROWS, (j, i) => value(i, j)).T,
  row: (s, value) => dense(s, 1, COLUMNS, value),
  column: (s, value) => dense(s, ROWS, 1, value),
} as const satisfies Record<string, (s: Strided, value: At) => Tensor>;
type Layout = keyof typeof layouts;
const names = Object.keys(layouts) as Layout[];

const dense = (s: Strided, rows: number, columns: number, value: At): Tensor =>
  s
    .tensor(
      Float64Array.from({ length: rows * columns }, (_, p) => value(Math.floor(p / columns), p % columns)),
    )
    .reshape(rows, columns);

/** Operand k at [i, j]: small integers, so that every sum is exact. */
const element = (layout: Layout, k: number): At => {
  const [a, b] = [layout === "row" ? 0 : 1, layout === "column" ? 0 : 1];
  return (i, j) => (a * i + b * j + k) % PERIOD;
};

/** `(x0, …, { c0, … }) => x0 * 1 + x1 * 2 + … + c0 * x0 + …`, and the captured values. */
function functionOf(operands: number, captured: number) {
  const xs = indices(operands).map((k) => `x${k}`);
  const cs = indices(captured).map((k) => `c${k}`);
  const terms = [
    ...xs.map((x, k) => `${x} * ${(k % 5) + 1}`),
    ...cs.map((c, k) => `${c} * x${k % operands}`),
  ];
  const parameters = captured === 0 ? xs : [...xs, `{ ${cs.join(", ")} }`];
  return {
    fn: new Function(`return (${parameters.join(", ")}) => ${terms.join(" + ")}`)() as (x: number) => number,
    values: Object.fromEntries(cs.map((c, k) => [c, ((k * 31) % 11) - 5])),
  };
}

/** All elements as rows, from what is at the first PERIOD × PERIOD. */
function rowsOf(value: At): number[][] {
  const known = indices(PERIOD).map((i) => indices(PERIOD).map((j) => value(i, j)));
  return indices(ROWS).map((i) => indices(COLUMNS).map((j) => known[i % PERIOD][j % PERIOD]));
}
const transpose = (rows: readonly number[][]) => indices(COLUMNS).map((j) => rows.map((row) => row[j]));

function expectSame(t: Tensor, want: readonly number[], what: string): void {
  const got = t.toTypedArray() as Float64Array;
  expect(got.length).toBe(want.length);
  const at = want.findIndex((x, i) => x !== got[i]);
  if (at >= 0) expect.fail(`${what}: element ${at} is ${got[at]}, interpreted ${want[at]}`);
}

describe.each([1, 2, 3])("on %i threads", (threads) => {
  let s: Strided;
  let pool: Pool;
  let canaries: Tensor[] = [];
  const operands = new Map<string, Tensor>();
  const pattern = (n: number) => Buffer.from(Uint8Array.from({ length: n }, (_, i) => i * 37 + n));

  function putCanary(bytes: number): void {
    canaries.push(s.tensor(Uint8Array.from(pattern(bytes))));
  }
  function expectCanaries(): void {
    for (const c of canaries) {
      expect(Buffer.compare(Buffer.from(c.toTypedArray() as Uint8Array), pattern(c.size))).toBe(0);
    }
  }

  beforeAll(async () => {
    vi.resetModules();
    s = await import("../../src/index.ts");
    s.configure({ threads });
    pool = (await import("../../src/engine.ts")).engine().pool;
    pool.waitUntilReady(20_000);
    expect(pool.threads).toBe(threads);
    // The heap's first tensor: what runs over the end of the scratch area writes here.
    canaries = [];
    putCanary(4096);
    for (const layout of names) {
      for (const k of indices(PERIOD)) {
        operands.set(`${layout} ${k}`, layouts[layout](s, element(layout, k)));
        putCanary(100 + k);
      }
    }
  });
  afterAll(() => pool.stop());

  /** At least so many calls of `run` are shared among the threads. */
  function sharing(least: number, run: () => void): void {
    const { jobs } = pool.tally;
    run();
    if (threads > 1) expect(pool.tally.jobs - jobs).toBeGreaterThanOrEqual(least);
  }

  /** A kernel of operands that lie so, and what the interpreter makes of every element. */
  function build(kinds: readonly Layout[], captured: number) {
    const { fn, values } = functionOf(kinds.length, captured);
    const kernel: Kernel = s.kernel(fn, values);
    return {
      kernel,
      tensors: kinds.map((kind, k) => operands.get(`${kind} ${k % PERIOD}`)!),
      want: rowsOf((i, j) => kernel(...kinds.map((kind, k) => element(kind, k)(i, j)))),
      what: `${kinds.length} operands, ${captured} captured values`,
    };
  }

  /** Runs it twice: as a new call, and as one that is known. */
  function twice(run: () => Tensor, want: readonly number[], what: string): void {
    for (const _ of [1, 2]) {
      s.scope(() => expectSame(run(), want, what));
      expectCanaries();
    }
  }

  test.each(names)("elementwise calls of up to 300 operands, %s", (kind) => {
    for (const count of [2, 41, 42, 84, 85, 300]) {
      // The first one has the whole shape.
      const kinds = indices(count).map((k) => (k === 0 ? "contiguous" : kind));
      const { kernel, tensors, want, what } = build(kinds, 0);
      sharing(count > 20 ? 2 : 0, () => twice(() => kernel(...tensors), want.flat(), what));
    }
  });

  test("elementwise calls of up to 2,000 captured values", () => {
    for (const captured of [0, 1, 60, 120, 125, 500, 2000]) {
      for (const kinds of [
        ["contiguous"],
        ["contiguous", "strided", "row"],
        ["transposed", "contiguous"],
      ] as const) {
        const { kernel, tensors, want, what } = build(kinds, captured);
        sharing(captured > 20 ? 2 : 0, () => twice(() => kernel(...tensors), want.flat(), what));
        const out = s.zeros([ROWS, COLUMNS], f64);
        twice(() => kernel.into(out.slice("::-1"), ...tensors).clone(), want.flat(), what);
        expectSame(out, want.toReversed().flat(), what);
        out.dispose();
      }
    }
  });

  test("folds of many operands and captured values: along rows, along columns, along both", () => {
    const sum = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0);
    const folds = [
      { how: "sum", fold: sum },
      { how: "max", fold: (xs: readonly number[]) => xs.reduce((a, b) => Math.max(a, b)) },
      {
        how: (a: number, x: number) => x - a,
        fold: (xs: readonly number[]) => xs.reduce((a, x) => x - a, 0),
      },
    ] as const;
    const cases = [
      [2, 0],
      [3, 125],
      [40, 60],
      [3, 500],
      [120, 10],
      [200, 0],
      [1, 2000],
    ];
    for (const [count, captured] of cases) {
      const kinds = indices(count).map((k) => names[k % names.length]);
      const { kernel, tensors, want, what } = build(kinds, captured);
      const groups = [
        { axis: 1, lines: want },
        { axis: 0, lines: transpose(want) },
        { axis: [0, 1], lines: [want.flat()] },
      ];
      const run = () => {
        for (const { how, fold } of folds) {
          const init = typeof how === "function" ? { init: 0 } : {};
          for (const { axis, lines } of groups) {
            twice(() => kernel.reduce(how, { axis, ...init })(...tensors), lines.map(fold), what);
          }
        }
      };
      sharing(count + captured > 20 ? 6 : 0, run);
    }
  });

  test("mapReduce, reduce and scan with captured values", () => {
    for (const captured of [0, 125, 500, 2000]) {
      const { kernel, tensors, want, what } = build(["contiguous", "transposed"], captured);
      const total = (row: readonly number[]) => row.reduce((a, b) => a + b, 0);
      twice(() => s.mapReduce(tensors, kernel as never, { axis: 1 }), want.map(total), what);
      // acc + x, and captured values that are zero in all.
      const cs = indices(captured).map((k) => `c${k}`);
      const values = Object.fromEntries(cs.map((c, k) => [c, (k % 9) - 3]));
      const rest = -Object.values(values).reduce((a, b) => a + b, 0);
      const body = `return (acc, x, { ${[...cs, "rest"].join(", ")} }) => ${["acc", "x", ...cs, "rest"].join(" + ")}`;
      const step = s.kernel(new Function(body)(), { ...values, rest }) as never;
      const x = tensors[0];
      const lines = rowsOf(element("contiguous", 0));
      for (const [axis, along] of [
        [0, transpose(lines)],
        [1, lines],
      ] as const) {
        twice(
          () => x.reduce(step, { axis, init: 1 }),
          along.map((line) => 1 + total(line)),
          what,
        );
        const sums = along.map((line) => {
          let acc = 0;
          return line.map((v) => (acc += v));
        });
        const inOrder = axis === 1 ? sums : indices(ROWS).map((i) => sums.map((line) => line[i]));
        twice(() => x.scan(step, { axis }), inOrder.flat(), what);
      }
    }
  });

  test("what a call has no room for is refused, and nothing is written", () => {
    const x = s.arange(96).to("f64").reshape(4, 24);
    const { tensors: before } = s.memory();
    for (const captured of [4040, 4090]) {
      const { fn, values } = sumOf(captured);
      const kernel = s.kernel(fn, values);
      const refused = expect.objectContaining({
        name: "TensorError",
        code: "kernel",
        message: expect.stringMatching(
          `1 operand and ${captured} captured values need \\d+ bytes of arguments`,
        ),
      });
      expect(() => kernel(x)).toThrow(refused);
      expect(() => kernel(x)).toThrow(refused);
      expect(() => kernel.into(x, x)).toThrow(refused);
      expect(() => kernel(x.T)).toThrow(refused);
      expect(() => kernel.reduce("sum", { axis: 0 })(x)).toThrow(refused);
      expectCanaries();
    }
    expect(s.memory().tensors).toBe(before);
    expect(x.add(1).get(3, 5)).toBe(3 * 24 + 6);
  });

  test("whoever made the program, and however many values it has", async () => {
    const { engine } = await import("../../src/engine.ts");
    const { walkThrough } = await import("../walk.ts");
    const { flatKernel } = await import("../../src/run/walks.ts");
    const { stridedOf } = await import("../../src/tensor.ts");
    const { kernels, walker } = engine();
    for (const captured of [4032, 8070, 100_000]) {
      const nodes = [
        { op: "input", index: 0, dtype: "f64", args: [] },
        { op: "param", index: captured - 1, dtype: "f64", args: [] },
        { op: "add", dtype: "f64", args: [0, 1] },
      ] as const;
      const params = new Array<"f64">(captured).fill("f64");
      const program = { nodes, result: 2, inputs: ["f64"], params, dtype: "f64" } as const;
      const x = s.zeros([8], f64);
      const operand = { storage: stridedOf(x).storage, frame: stridedOf(x).frame };
      const values = new Array<number>(captured).fill(1);
      expect(() => walker.flat(flatKernel(kernels, program), operand, [operand], 8, values)).toThrow(
        /bytes of arguments/,
      );
      const { address } = stridedOf(x).storage;
      const nest = {
        shape: [8],
        strides: [[8], [8]],
        offsets: [address, address],
        order: [[0]],
        flipped: [],
      };
      expect(() => walkThrough(program, nest, values)).toThrow(/bytes of arguments/);
      expect(x.toArray()).toEqual(new Array(8).fill(0));
      expectCanaries();
    }
  });
});

/** `(x, { c0, … }) => x + c0 + …` */
function sumOf(captured: number) {
  const cs = indices(captured).map((k) => `c${k}`);
  return {
    fn: new Function(`return (x, { ${cs.join(", ")} }) => x + ${cs.join(" + ")}`)() as (x: number) => number,
    values: Object.fromEntries(cs.map((c) => [c, 1])),
  };
}

test("a call that has no room says what it needs and what there is", async () => {
  const { arange, kernel } = await import("../../src/index.ts");
  const { fn, values } = sumOf(4090);
  expect(() => kernel(fn, values)(arange(3))).toThrowErrorMatchingInlineSnapshot(`
    [TensorError: kernel: 1 operand and 4090 captured values need 32752 bytes of arguments; a call has room for 32256.
      Put the values into a tensor that is broadcast, or compute in several steps.]
  `);
});

test("tasks of a routine have room and are of one length, or are refused", async () => {
  const { engine } = await import("../../src/engine.ts");
  const { emitBulkCopy } = await import("../../src/wasm/program/bulk.ts");
  const { routines } = engine();
  const run = (tasks: readonly (readonly number[])[]) =>
    routines.run("test copy", ({ shared }) => emitBulkCopy(shared), tasks, 0);
  const nothing = (words: number) => new Array<number>(words).fill(0);
  expect(() => run([nothing(3), nothing(16)])).toThrow(/a task of 16 words among those of 3/);
  expect(() => run([nothing(20_000), nothing(20_000)])).toThrow(/a task of 80000 bytes has no room/);
  run([nothing(16_128), nothing(16_128)]);
});
