/** Loops by lanes: which ones become vectors, and that nobody can tell from what they do. */
import { describe, expect, test } from "vitest";
import { broadcastTo, type DType, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { emitCode, emitTasks } from "../../src/njit/emit.ts";
import { type Code, eachStep, insides, type Step } from "../../src/njit/ir.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { watOf } from "../../src/wasm/assembler/wat.ts";
import { expectSame, lanesOf, outcome } from "./compare.ts";
import { classic, f64, randomTensor } from "./programs.ts";

const watOfCode = (code: Code): string => watOf(emitCode(code, { shared: true }));

const hasLoop = (steps: readonly Step[]): boolean => {
  let found = false;
  eachStep(steps, (s) => {
    found ||= s.op === "loop";
  });
  return found;
};

/** Indices that innermost loops check, in the form that runs where the guards around them hold. */
function checksInside(code: Code): number {
  let count = 0;
  const visit = (steps: readonly Step[], inLoop: boolean): void => {
    for (const step of steps) {
      if ((step.op === "load" || step.op === "store") && inLoop)
        count += step.proved.filter((p) => !p).length;
      if (step.op === "loop") visit(step.body, !hasLoop(step.body));
      else if (step.op === "if" && hasLoop(step.yes)) visit(step.yes, inLoop);
      else for (const list of insides(step)) visit(list, inLoop);
    }
  };
  visit(code.body, false);
  return count;
}

/** The same by the function itself, by the interpreter and compiled. */
function expectAlike(fn: Njit, make: () => NjitValue[]): void {
  scope(() => {
    const [a, b, c] = [make(), make(), make()];
    const runs = [
      () => outcome(fn(...a), a),
      () => outcome(fn.plain(...b), b),
      () => outcome(insideOf(fn).interpreted(c), c),
    ].map((run, k) => {
      try {
        return run();
      } catch (error) {
        const [, index, axis] = /index (\S+) .*?for axis (\d+)/.exec((error as Error).message)!;
        return [`index ${index}, axis ${axis}`, ...outcome(null, [a, b, c][k]).slice(1)];
      }
    });
    expectSame(runs[0], runs[1]);
    expectSame(runs[2], runs[1]);
  });
}

describe("what runs by lanes", () => {
  test.each([
    ["matmul ijk", "f64x2.mul"],
    ["matmul ikj", "f64x2.mul"],
    ["matmul kij", "f64x2.mul"],
    ["heat equation", "f64x2.mul"],
    ["Floyd–Warshall", "v128.bitselect"],
    ["LU", "f64x2.sub"],
    ["Black–Scholes", "f64x2.sqrt"],
    ["bilateral filter", "f64x2.div"],
  ])("%s", (name, instruction) => {
    scope(() => {
      const { fn, make } = classic(name);
      const code = insideOf(fn).codeFor(make());
      expect(lanesOf(code).length).toBeGreaterThan(0);
      expect(watOfCode(code)).toContain(instruction);
    });
  });

  test("four floats, and four integers where ranges prove them", () => {
    const add = njit((out, a) => {
      for (let i = 0; i < a.shape[0]; i++) out.set([i], a.get(i) + a.get(i));
    });
    const wat = (dtype: DType) =>
      scope(() => watOfCode(insideOf(add).codeFor([zeros([9], { dtype }), zeros([9], { dtype })])));
    expect(wat("f32")).toContain("f32x4.add");
    expect(wat("i16")).toContain("i32x4.add");
  });

  test("the loop above a sum runs by lanes, not the sum", () => {
    scope(() => {
      const { fn, make } = classic("matmul ijk");
      const [{ body, counter }] = lanesOf(insideOf(fn).codeFor(make()));
      expect(body.some((s) => s.op === "block" && s.body[0].op === "loop")).toBe(true);
      expect(insideOf(fn).codeFor(make()).locals[counter].name).toBe("j");
    });
  });

  test("what is carried from turn to turn does not", () => {
    const count = (source: string, ...args: NjitValue[]) =>
      scope(
        () => lanesOf(insideOf(njit(new Function(`return (${source})`)() as never)).codeFor(args)).length,
      );
    expect(count("(a) => { let s = 0; for (let i = 0; i < 9; i++) s += a.get(i); return s; }", f64(9))).toBe(
      0,
    );
    expect(count("(a) => { for (let i = 0; i < 9; i++) a.set([0], i); }", f64(9))).toBe(0);
    expect(count("(a, b) => { for (let i = 0; i < 9; i++) a.set([b.get(i)], i); }", f64(9), f64(9))).toBe(0);
    // Costly terms are made by lanes, the sum of them in order.
    expect(
      count(
        "(a) => { let s = 0; for (let i = 0; i < 9; i++) { const x = Math.sqrt(a.get(i)); s += x; } return s; }",
        f64(9),
      ),
    ).toBe(1);
  });

  test("no index is checked in the hot loops of the classics", () => {
    scope(() => {
      for (const name of [
        "matmul ijk",
        "matmul ikj",
        "matmul kij",
        "heat equation",
        "Floyd–Warshall",
        "LU",
        "game of life",
      ]) {
        const { fn, make } = classic(name);
        expect({ name, checks: checksInside(insideOf(fn).codeFor(make())) }).toEqual({ name, checks: 0 });
      }
    });
  });

  test.each([
    [
      "rows of a matrix",
      "(out, a, { prange }) => { for (const i of prange(a.shape[0])) for (let j = 0; j < a.shape[1]; j++) out.set([i, j], a.get(i, j) * 2); }",
      () => [f64(9, 9), f64(9, 9)],
    ],
    [
      "flat rows",
      "(out, a, n, { prange }) => { for (const i of prange(n)) { const row = i * n; for (let j = 0; j < n; j++) out[row + j] = a[row + j] * 2; } }",
      () => [new Float64Array(81), new Float64Array(81), 9],
    ],
    [
      "the parallel loop itself",
      "(out, a, { prange }) => { for (const i of prange(a.shape[0])) out.set([i], a.get(i) * 2); }",
      () => [f64(9), f64(9)],
    ],
    [
      "under a test, in a loop of steps",
      "(out, a, n, { prange }) => { for (let t = 0; t < n; t++) for (const i of prange(9)) for (let j = 0; j < 9; j++) if (a.get(i, j) > t) out.set([i, j], a.get(i, j) * 2); }",
      () => [f64(9, 9), f64(9, 9), 3],
    ],
    [
      "a product of matrices",
      "(out, a, b, { prange }) => { for (const i of prange(a.shape[0])) for (let j = 0; j < b.shape[1]; j++) { let s = 0; for (let k = 0; k < a.shape[1]; k++) s += a.get(i, k) * b.get(k, j); out.set([i, j], s); } }",
      () => [f64(9, 9), f64(9, 9), f64(9, 9)],
    ],
    [
      "a stencil of loops that are written out",
      "(out, a, k, { prange }) => { for (const i of prange(1, a.shape[0] - 1)) for (let j = 1; j < a.shape[1] - 1; j++) { let s = 0; for (let y = 0; y < 3; y++) for (let x = 0; x < 3; x++) s += a.get(i + y - 1, j + x - 1) * k.get(y, x); out.set([i, j], s); } }",
      () => [f64(9, 9), f64(9, 9), f64(3, 3)],
    ],
  ] as const)("in the code of other threads, without checks: %s", (_, source, make) => {
    scope(() => {
      const fn = njit(new Function(`return (${source})`)() as never);
      const code = insideOf(fn).codeFor(make() as NjitValue[]);
      expect(checksInside(code)).toBe(0);
      const tasks = watOf(emitTasks(code, { shared: true }));
      expect(tasks).toContain("f64x2.mul");
      expect(tasks).toContain("v128.load");
    });
  });

  test("a constant that an index is made of is looked through", () => {
    const fn = njit((out: Float64Array, a: Float64Array, n: number) => {
      for (let i = 0; i < n; i++) {
        const base = i * n;
        for (let j = 0; j < n; j++) out[base + j] = a[base + j] * 2;
      }
    });
    const make = (n: number) => [
      new Float64Array(n * n),
      Float64Array.from({ length: n * n }, (_, i) => i),
      n,
    ];
    for (const n of [4, 20_000]) {
      const code = insideOf(fn).codeFor([new Float64Array(4), new Float64Array(4), n]);
      expect(checksInside(code)).toBe(0);
      expect(lanesOf(code).length).toBeGreaterThan(0);
    }
    expectAlike(fn as Njit, () => make(13));
  });
});

const mixed = njit((out, a, b, n) => {
  let last = -1;
  for (let i = 0; i < n; i++) {
    const x = a.get(i) * 2 + b.get(i);
    if (x > 3) out.set([i], x);
    else if (b.get(i) === 0) continue;
    last = x;
  }
  return last;
});

describe("nobody can tell", () => {
  const views: Record<string, (n: number, base: Tensor) => [Tensor, Tensor, Tensor]> = {
    apart: (n) => [f64(n), randomTensor([n], "f64", 1, 4), randomTensor([n], "f64", 2, 3)],
    "the same": (n, base) => [base.slice(`:${n}`), base.slice(`:${n}`), base.slice(`:${n}`)],
    "one ahead": (n, base) => [base.slice(`1:${n + 1}`), base.slice(`:${n}`), base.slice(`:${n}`)],
    "one behind": (n, base) => [base.slice(`:${n}`), base.slice(`1:${n + 1}`), base.slice(`2:${n + 2}`)],
    "three ahead": (n, base) => [base.slice(`3:${n + 3}`), base.slice(`:${n}`), randomTensor([n], "f64", 3)],
    backwards: (n, base) => [
      base.slice(`:${n}`),
      base.slice(`:${n}`).flip(),
      randomTensor([n], "f64", 4).flip(),
    ],
    steps: (n, base) => [
      base.slice(`:${2 * n}:2`),
      base.slice(`1:${2 * n + 1}:2`),
      randomTensor([2 * n], "f64", 5).slice("::2"),
    ],
    "one element": (n) => [
      f64(n),
      broadcastTo(randomTensor([1], "f64", 6, 4), [n]),
      broadcastTo(tensor([2], { dtype: "f64" }), [n]) as Tensor,
    ],
  };
  const lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33];

  test.each(Object.keys(views))("arrays that are %s, for all trip counts", (name) => {
    for (const n of lengths) {
      expectAlike(mixed as Njit, () => [...views[name](n, randomTensor([80], "f64", 9, 4)), n]);
    }
  });

  test.each(["f32", "i32", "u8", "i16", "u32", "bool"] as const)("elements of %s", (dtype) => {
    const fn = njit((out, a, b) => {
      for (let i = 0; i < a.shape[0]; i++) {
        const x = Number(a.get(i));
        if (x > 1) out.set([i], x * 3 - Number(b.get(i)));
        else out.set([i], i);
      }
    });
    for (const n of [5, 16, 23]) {
      scope(() => {
        const make = () => [
          zeros([n], { dtype }),
          randomTensor([n], dtype, 1, 90),
          randomTensor([n], dtype, 2, 5),
        ];
        const [a, b] = [make(), make()];
        fn(...a);
        insideOf(fn).interpreted(b);
        expectSame(outcome(null, a), outcome(null, b));
      });
    }
  });

  test("an index outside is the same error, with the same written before it, and nothing beyond", () => {
    const fn = njit((out, a, from, to, by) => {
      for (let i = from; i < to; i++) out.set([i], a.get(i + by) + 1);
    });
    for (const [from, to, by] of [
      [0, 20, 0],
      [0, 21, 0],
      [0, 20, 1],
      [0, 20, -1],
      [3, 19, 2],
      [-1, 20, 0],
      [5, 40, 0],
    ]) {
      expectAlike(fn as Njit, () => {
        const [x, y] = [randomTensor([30], "f64", 1), randomTensor([30], "f64", 2)];
        return [x.slice("5:25"), y.slice("5:25"), from, to, by];
      });
      scope(() => {
        const x = tensor(new Float64Array(30).fill(7)) as Tensor;
        try {
          fn(x.slice("5:25"), x.slice("5:25").clone(), from, to, by);
        } catch {}
        const around = [...(x.data as Float64Array).subarray(0, 5), ...(x.data as Float64Array).subarray(25)];
        expect(around).toEqual(new Array(10).fill(7));
      });
    }
  });

  test("numbers beyond 32 bits and sums that wrap nowhere", () => {
    const fn = njit((out, a: Int32Array, b: Uint32Array) => {
      let total = 0;
      for (let i = 0; i < a.length; i++) {
        const x = a[i] + b[i];
        total += x;
        out[i] = x - 2147483648;
        b[i] = Math.min(x, a[i] * 2) + 1;
      }
      return total;
    });
    const make = () => [
      new Float64Array(11),
      Int32Array.from({ length: 11 }, (_, i) => (i % 2 ? 2147483647 : -2147483648)),
      Uint32Array.from({ length: 11 }, (_, i) => 4294967295 - i),
    ];
    expectAlike(fn as Njit, make);
  });

  test("ToInt32 of huge numbers, and remainders that wrap an index", () => {
    const fn = njit((out: Float64Array, x: Float64Array) => {
      for (let i = 0; i < x.length; i++) {
        out[i] = (x[i] | 0) + (Math.floor(x[i]) & 255);
        out[(i + 3) % out.length] += i;
      }
    });
    const odd = [
      0,
      -0,
      1.5,
      -1.5,
      2 ** 31,
      2 ** 53 + 2,
      2 ** 63,
      -(2 ** 63),
      2 ** 70 + 2 ** 30,
      -(2 ** 84),
      NaN,
      Infinity,
      -Infinity,
      1e300,
    ];
    expectAlike(fn as Njit, () => [new Float64Array(odd.length), Float64Array.from(odd)]);
  });
});
