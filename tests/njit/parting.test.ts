/** Lanes that leave a loop one by one, elements at places of their own, and records: nobody can tell. */
import { describe, expect, test } from "vitest";
import { explain, kernel, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { emitCode } from "../../src/njit/emit.ts";
import { type Code, eachStep, isLoopBlock, type Step } from "../../src/njit/ir.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { watOf } from "../../src/wasm/assembler/wat.ts";
import { expectSame, lanesOf, outcome } from "./compare.ts";
import { classic, f64, randomTensor } from "./programs.ts";

type Fn = (...args: never[]) => unknown;
const made = (source: string, captures: object = {}): Njit =>
  njit(new Function(`return (${source})`)() as Fn, captures as never);

/** The counters of the loops that run by lanes. */
const countersOf = (code: Code): string[] => lanesOf(code).map((l) => code.locals[l.counter].name);

const loadsIn = (steps: readonly Step[]): number => {
  let count = 0;
  eachStep(steps, (s) => {
    if (s.op === "load") count++;
  });
  return count;
};

/** What a run did, up to an index that is outside: where it was, and what was written before. */
function ran(run: (...args: NjitValue[]) => unknown, args: NjitValue[]): unknown[] {
  try {
    return outcome(run(...args), args);
  } catch (error) {
    const [, index, axis] = /index (\S+) .*?for axis (\d+)/.exec((error as Error).message)!;
    return [`index ${index}, axis ${axis}`, ...outcome(null, args).slice(1)];
  }
}

function expectAlike(fn: Njit, make: () => NjitValue[], ulps = 0): unknown[] {
  return scope(() => {
    const compiled = ran(fn, make());
    expectSame(compiled, ran(fn.plain, make()), ulps);
    expectSame(
      compiled,
      ran((...args) => insideOf(fn).interpreted(args), make()),
      ulps,
    );
    return compiled;
  });
}

describe("the loop above one that each turn leaves when it likes", () => {
  test.each([
    ["Mandelbrot", "j", "v128.any_true"],
    ["Newton fractal", "j", "v128.any_true"],
    ["bilateral filter", "j", "v128.any_true"],
    ["n-body", "i", "f64x2.sqrt"],
  ])("%s runs by lanes", (name, counter, instruction) => {
    scope(() => {
      const { fn, make } = classic(name);
      const code = insideOf(fn).codeFor(make());
      expect(countersOf(code)).toContain(counter);
      expect(watOf(emitCode(code, { shared: true }))).toContain(instruction);
    });
  });

  test("not where there is little to do in it", () => {
    scope(() => {
      const follow = made(`(out, next) => {
        for (let i = 0; i < out.shape[0]; i++) {
          let at = i;
          while (next.get(at) !== at) at = next.get(at);
          out.set([i], at);
        }
      }`);
      const i32 = () => zeros([9], { dtype: "i32" });
      expect(countersOf(insideOf(follow).codeFor([i32(), i32()]))).toEqual([]);
    });
  });

  const bodies: Record<string, string> = {
    "a test of data": "while (n < 50 && x * x < c) { x = x * 1.25 + 0.5 / (1 + x); n++; }",
    "a break in the middle":
      "for (let k = 0; k < 20; k++) { x = Math.sqrt(x + c) / 1.5; if (x > c / 3) break; n = n + k; }",
    "a turn that is left out":
      "for (let k = 0; k < 20; k++) { if ((k + i) % 3 === 0) continue; x = Math.sqrt(x + c) / 1.5; n++; }",
    "two loops and a label":
      "out: for (let k = 0; k < 6; k++) for (let m = 0; m < 5; m++) { x = Math.sqrt(x + c * m) / 1.5; n++; if (x > 4 + k) break out; if (x > 2 + m) continue out; }",
    "an end that each turn has for itself":
      "for (let k = Math.max(0, i - 2); k <= Math.min(i + 2, 11); k++) { x += Math.sqrt(k + c) / (1 + x); n += k; }",
    "a test at the end": "do { x = Math.sqrt(x + c) / 1.5 + 0.125; n++; } while (x * n < c);",
    "a loop under a test":
      "if (c > 5) { while (x < c) { x = x * 1.5 + Math.sqrt(c) / 9; n++; } } else n = -1;",
    "a loop that is left at once": "for (;;) { x = Math.sqrt(x * c) / 3; n++; break; }",
    "what one turn leaves for the next":
      "let last = -1; for (let k = 0; k < 9; k++) { if (last * last > c) { x = last; break; } last = Math.sqrt(k * c) / 2 - x; n++; }",
  };
  test.each(Object.entries(bodies))("%s", (_, body) => {
    const fn = made(`(out, a) => {
      for (let i = 0; i < out.shape[0]; i++) {
        const c = a.get(i);
        let x = 0.5;
        let n = 0;
        ${body}
        out.set([i], x + 100 * n);
      }
    }`);
    for (const n of [0, 1, 3, 4, 5, 8, 11, 12]) {
      expectAlike(fn, () => [f64(n), randomTensor([n], "f64", n + 1, 12)]);
    }
    scope(() => {
      expect(lanesOf(insideOf(fn).codeFor([f64(9), f64(9)])).length).toBeGreaterThan(0);
    });
  });
});

test("a limit ends lanes that nobody leaves", () => {
  const forever = made(`(out, a) => {
    for (let i = 0; i < out.shape[0]; i++) {
      let x = a.get(i);
      while (x > 0) x = Math.sqrt(x + 2) / 1.5 + 0.25 * x;
      out.set([i], x);
    }
  }`);
  scope(() => {
    const make = () => [f64(16), tensor(new Float64Array(16).fill(1))];
    expect(countersOf(insideOf(forever).codeFor(make()))).toContain("i");
    expect(() => forever.with({ timeLimit: 30 })(...make())).toThrow(/was stopped|time|cancel/i);
    // And lanes that all leave end without one.
    const [out, a] = [f64(16), tensor(new Float64Array(16).fill(-1))];
    forever.with({ timeLimit: 10_000 })(out, a);
    expect([...(out.data as Float64Array)]).toEqual(new Array(16).fill(-1));
  });
});

describe("elements at places of their own", () => {
  const blur = made(`(out, a, r) => {
    const [h, w] = a.shape;
    for (let i = 0; i < h; i++) for (let j = 0; j < w; j++) {
      let s = 0;
      for (let y = Math.max(0, i - r); y <= Math.min(h - 1, i + r); y++)
        for (let x = Math.max(0, j - r); x <= Math.min(w - 1, j + r); x++) s += Math.sqrt(a.get(y, x)) / (1 + (x - j) * (x - j));
      out.set([i, j], s);
    }
  }`);

  test.each(["f64", "i32", "u8", "u16", "bool"] as const)("of %s, in any layout", (dtype) => {
    scope(() => expect(countersOf(insideOf(blur).codeFor([f64(5, 9), f64(5, 9), 2]))).toContain("j"));
    const views: ((t: Tensor) => Tensor)[] = [
      (t) => t,
      (t) => t.flip(),
      (t) => t.slice(":", "::2"),
      (t) => t.T.clone().T,
    ];
    for (const view of views) {
      for (const r of [0, 1, 3]) {
        const make = (): NjitValue[] => {
          const a = view(randomTensor([5, 22], dtype, 3, 90));
          return [f64(...a.shape), a, r];
        };
        expectAlike(blur, make);
      }
    }
  });

  test("one that is outside: the same error, with the same written before it, and nothing beyond", () => {
    const fn = made(`(out, a, b) => {
      for (let j = 0; j < out.shape[0]; j++) {
        let s = 0;
        for (let x = Math.floor(b.get(j)); x < j + 3; x++) s += Math.sqrt(a.get(x)) / (1 + x * x);
        out.set([j], s);
      }
    }`);
    for (const bad of [null, 0, 2, 3, 4, 7, 9, 15]) {
      const outcome = expectAlike(fn, () => {
        const starts = Array.from({ length: 16 }, (_, j) => (j === bad ? -1 : Math.max(0, j - 2)));
        return [
          (randomTensor([20], "f64", 5) as Tensor).slice("2:18"),
          randomTensor([30], "f64", 1, 4).slice("5:24"),
          tensor(starts, { dtype: "f64" }),
        ];
      });
      if (bad !== null) expect(outcome[0]).toBe("index -1, axis 0");
    }
    scope(() => {
      const around = tensor(new Float64Array(24).fill(7)) as Tensor;
      const starts = tensor(new Float64Array(16).fill(20));
      expect(() =>
        fn(around.slice("4:20"), f64(12), tensor([...Array(16).keys()], { dtype: "f64" })),
      ).toThrow();
      fn(around.slice("4:20"), f64(12), starts);
      const data = around.data as Float64Array;
      expect([...data.subarray(0, 4), ...data.subarray(20)]).toEqual(new Array(8).fill(7));
    });
  });

  test("not after a store, which could not be taken back", () => {
    scope(() => {
      const fn = made(`(out, a) => {
        for (let j = 0; j < out.shape[0]; j++) {
          let s = 0;
          out.set([j], -1);
          for (let x = Math.max(0, j - 2); x < j + 3; x++) s += Math.sqrt(a.get(x)) / (1 + x * x);
          out.set([j], s);
        }
      }`);
      expect(countersOf(insideOf(fn).codeFor([f64(9), f64(12)]))).not.toContain("j");
      expectAlike(fn, () => [f64(9), randomTensor([9], "f64", 1)]);
    });
  });
});

describe("records", () => {
  const move = made(`(pos, vel, mass) => {
    const n = mass.shape[0];
    for (let i = 0; i < n; i++) {
      let [ax, ay] = [0, 0];
      for (let j = 0; j < n; j++) {
        if (i === j) continue;
        const dx = pos.get(j, 0) - pos.get(i, 0);
        const dy = pos.get(j, 1) - pos.get(i, 1);
        const k = mass.get(j) / Math.sqrt(dx * dx + dy * dy + 0.01);
        ax += k * dx;
        ay += k * dy;
      }
      vel.set([i, 0], vel.get(i, 0) + ax);
      vel.set([i, 1], vel.get(i, 1) + ay);
    }
  }`);

  test("fields that lie between each other are stored by lanes", () => {
    scope(() => {
      const code = insideOf(move).codeFor([f64(9, 2), f64(9, 2), f64(9)]);
      expect(countersOf(code)).toContain("i");
    });
    for (const n of [1, 3, 4, 7, 12]) {
      const make = (): NjitValue[] => [
        randomTensor([n, 2], "f64", 1),
        randomTensor([n, 2], "f64", 2),
        randomTensor([n], "f64", 3),
      ];
      expectAlike(move, make);
      expectAlike(move, () => make().map((t, k) => (k === 1 ? (t as Tensor).T.clone().T : t)));
      // The same array twice, and rows that overlap.
      expectAlike(move, () => {
        const [pos, , mass] = make();
        return [pos, pos, mass];
      });
      expectAlike(move, () => {
        const both = randomTensor([n + 1, 2], "f64", 4);
        return [both.slice("1:"), both.slice(`:${n}`), randomTensor([n], "f64", 3)];
      });
    }
  });

  test("what a loop would load again and again is loaded before it", () => {
    scope(() => {
      const code = insideOf(move).codeFor([f64(9, 2), f64(9, 2), f64(9)]);
      const inner: number[] = [];
      for (const { body } of lanesOf(code)) {
        for (const s of body) if (isLoopBlock(s)) inner.push(loadsIn(s.body));
      }
      expect(Math.min(...inner)).toBe(3);
    });
  });

  test("not from under a test that it needs", () => {
    const fn = made(`(out, a, p) => {
      let s = 0;
      for (let i = 0; i < out.shape[0]; i++) {
        if (p >= 0 && p < a.shape[0]) s += a.get(p);
        out.set([i], s);
      }
      return s;
    }`);
    for (const p of [0, 2, 3, -1, 1e9, -1e9]) expectAlike(fn, () => [f64(9), randomTensor([3], "f64", 1), p]);
  });
});

describe("picking what a test finds", () => {
  const pick = made(`(out, x, limit) => {
    let k = 0;
    for (let i = 0; i < x.length; i++) if (x[i] > limit) out[k++] = i;
    return k;
  }`);

  test("all, none and some; where there is no room, the error comes with the one too many", () => {
    const x = randomTensor([40], "f64", 7).toTypedArray() as Float64Array;
    for (const limit of [-1, 0.3, 0.6, 2, NaN]) {
      for (const room of [0, 5, 40]) {
        expectAlike(pick, () => [new Int32Array(room).fill(9), x.slice(), limit]);
        expectAlike(pick, () => [new Float32Array(room).fill(9), x.slice(), limit]);
      }
    }
  });

  test("values, bytes and several cursors", () => {
    const split = made(`(low, high, x, limit) => {
      let [a, b] = [0, 0];
      for (let i = 0; i < x.length; i++) {
        if (x[i] < limit) { low[a] = x[i] * 2; a = a + 1; }
        if (x[i] >= limit) { high[b] = x[i]; b += 2; }
      }
      return [a, b];
    }`);
    for (const make of [Float64Array, Float32Array, Uint8Array, Int16Array]) {
      const x = Float64Array.from({ length: 30 }, (_, i) => (i * 7) % 11);
      expectAlike(split, () => [new make(40), new make(60), make.from(x), 5]);
      expectAlike(split, () => [new make(40), new make(20), make.from(x), 5]);
    }
  });
});

describe("what cannot be seen in a text", () => {
  test("a captured function with a Math of its own is refused", () => {
    const own = new Function("const Math = { sqrt: (x) => -1 }; return (x) => Math.sqrt(x);")() as Fn;
    const main = "(a, { f }) => { for (let i = 0; i < a.shape[0]; i++) a.set([i], f(a.get(i))); }";
    expect(() => made(main, { f: own })).toThrow(/captured function "f": the function has a Math of its own/);
    scope(() => {
      const a = tensor([4, 9], { dtype: "f64" });
      made(main, { f: (x: number) => Math.sqrt(x) })(a);
      expect([...(a.data as Float64Array)]).toEqual([2, 3]);
    });
  });
});

describe("explain", () => {
  test("says why a kernel with a loop is computed one element at a time", () => {
    scope(() => {
      const halve = kernel((x) => {
        let n = 0;
        let v = x;
        while (v > 1) {
          v /= 2;
          n++;
        }
        return n;
      });
      const report = explain(() => halve(tensor([8, 5, 1], { dtype: "f64" })));
      expect(report.kernels[0].vector).toBeNull();
      expect(report.kernels[0].note).toBe("no vectors: it has a loop");
      expect(String(report)).toContain("no vectors: it has a loop");
    });
  });
});

describe("what only some lanes come to", () => {
  const numbers = (n: number, f: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => f(i));
  const heavy = "s = Math.sqrt(s * s + x * y + 1) / (1 + Math.sqrt(s + 2)) + Math.sqrt(y) / (s + 3);";

  const alike = (source: string, make: () => NjitValue[], isByLanes = true) => {
    const fn = made(source);
    if (isByLanes) expect(scope(() => countersOf(insideOf(fn).codeFor(make())))).toContain("j");
    return expectAlike(fn, make);
  };

  test("what one side of a test has loaded is not known to the other", () => {
    const source = `(a, b, x) => {
      for (let j = 0; j < a.length; j++) { let v = 0; if (x > 0) v = a[j]; if (b[j] > 0) a[j] = 1 + v; }
    }`;
    for (const x of [1, -1]) alike(source, () => [numbers(40, (i) => i + 100), numbers(40, (i) => i % 3), x]);
  });

  test("a test that one side changes is the same for the other side", () => {
    const once = `(out, a) => {
      for (let j = 0; j < out.length; j++) {
        let c = a[j] > 3;
        let d = a[j] < 5;
        let x = 0;
        if (c) { c = d; d = true; x = Math.sqrt(a[j]); } else { x = 2 / (1 + a[j]); d = false; }
        out[j] = x + (c ? 10 : 20) + (d ? 100 : 200);
      }
    }`;
    const turning = `(out, a) => {
      for (let j = 0; j < out.length; j++) {
        let seen = false;
        let x = a[j];
        for (let k = 0; k < 10; k++) {
          x = Math.sqrt(x * x + k) / 1.5;
          if (seen) { seen = x > 2; x += 1; } else { seen = x > 1; x -= 0.5; }
          if (seen && x > 4) break;
        }
        out[j] = x + (seen ? 100 : 0);
      }
    }`;
    for (const source of [once, turning])
      alike(source, () => [numbers(40, () => 0), numbers(40, (i) => i % 7)]);
  });

  test("an element far from the one of the turn before", () => {
    const source = `(out, a) => {
      for (let j = 0; j < out.length; j++) { let v = 0; if (j < 1) v = a[j * 5000000000]; out[j] = Math.sqrt(v + 1); }
    }`;
    alike(source, () => [numbers(40, () => 0), numbers(40, (i) => i + 7)], false);
  });

  test("what was loaded before a loop is not known to its turns, if they store there", () => {
    const source = `(a, b, m) => {
      for (let j = 0; j < a.length; j++) {
        let v = a[j];
        for (let k = 0; k < m; k++) { if (v > k) a[j] = k + 0.5; v = Math.sqrt(v * 0.7 + b[j]) / 1.1; }
      }
    }`;
    alike(source, () => [numbers(40, (i) => (i % 7) - 2), numbers(40, (i) => i % 3), 12]);
  });

  test("a lane whose index was outside turns in no loop", () => {
    const source = `(out, b, t, c, m) => {
      for (let j = 0; j < out.length; j++) {
        let u = b[j], s = 0; const at = c[j];
        for (let r = 0; r < m; r++) {
          const x = t[at + r];
          while (u > 0) { u -= x; s += Math.sqrt(u * u + 1) / 3 + Math.sqrt(s) / 5; }
        }
        out[j] = s;
      }
    }`;
    const index = () => Int16Array.from({ length: 40 }, (_, i) => i * 7);
    const make = (): NjitValue[] => [
      numbers(40, () => 0),
      numbers(40, (i) => i),
      numbers(20, (i) => i),
      index(),
      3,
    ];
    expect(scope(() => countersOf(insideOf(made(source)).codeFor(make())))).toContain("j");
    const fn = made(source).with({ timeLimit: 5000 });
    expect(() => fn(...make())).toThrow("index 21 is out of range");
  });

  test("a lane whose index was outside is loaded from nowhere", () => {
    const source = `(out, t, a, c, d) => {
      for (let j = 0; j < out.length; j++) {
        let s = 0; const at = c[j]; const e = d[j];
        for (let k = at; k < a.length; k++) {
          let x = 1, y = 2;
          if (e > 0) { x = t[k]; y = a[k]; }
          ${heavy}
          if (s > 1e9) break;
        }
        out[j] = s;
      }
    }`;
    for (const far of [3, 1e8, 4e8]) {
      const index = () => Int32Array.from({ length: 40 }, (_, i) => (i < 20 ? 40 : -far));
      const five = numbers(45, (i) => i % 5);
      alike(source, () => [
        numbers(40, () => 0),
        numbers(50, (i) => i % 3),
        five,
        index(),
        numbers(40, () => 1),
      ]);
    }
  });

  const kinds = [Float64Array, Float32Array, Int32Array, Uint8Array, Int16Array] as const;
  test.each(kinds.map((of) => [of.name, of] as const))(
    "an element of %s that a test lets few lanes come to",
    (_, of) => {
      const read = `(out, a) => {
      for (let j = 0; j < out.length; j++) { let v = 0.5; if (j < a.length) v = a[j] + 1; out[j] = v; }
    }`;
      const write = `(out, a) => {
      for (let j = 0; j < a.length; j++) { if (j < out.length) out[j] = out[j] + a[j] + 1; }
    }`;
      const window = `(out, a, c) => {
      for (let j = 0; j < out.length; j++) { const x = j - 5; let v = 0.5; if (x >= 0 && x < a.length && c[j] > 0) v = a[x]; out[j] = v; }
    }`;
      for (const few of [0, 1, 7, 8, 9, 17, 40]) {
        const [short, c] = [new of(few).map((_: number, i: number) => i + 3), numbers(40, (i) => i % 3)];
        alike(read, () => [numbers(40, () => 0), short.slice()]);
        alike(write, () => [short.slice(), numbers(40, (i) => i)]);
        alike(window, () => [numbers(40, () => 0), short.slice(), c]);
      }
    },
  );

  test("no memory is touched beyond an array whose index a test keeps inside", () => {
    // So many turns that most would lie beyond all of the memory.
    const many = () => new Uint8Array(3e7);
    const ten = () => new Float64Array(10).fill(3);
    const read = made(`(out, a) => {
      for (let j = 0; j < out.length; j++) { let v = 0; if (j < a.length) v = a[j]; out[j] = v + 1; }
    }`);
    const out = many();
    read(out, ten());
    expect([out[9], out[10], out.at(-1)]).toEqual([4, 1, 1]);
    const write = made(`(out, a) => {
      for (let j = 0; j < a.length; j++) { if (j < out.length) out[j] = a[j] + 1; }
    }`);
    const few = ten();
    write(few, many());
    expect([...few]).toEqual(Array(10).fill(1));
  });

  test("rows and columns that a test keeps inside, in any layout", () => {
    const source = `(out, a, r) => {
      const [h, w] = a.shape;
      for (let i = 0; i < h; i++) {
        for (let j = 0; j < w; j++) {
          let s = 0;
          for (let dy = -r; dy <= r; dy++) for (let dx = -1; dx <= 1; dx++) {
            const y = i + dy, x = j + dx;
            if (y >= 0 && y < h && x >= 0 && x < w) s += a.get(y, x) / 3 + Math.sqrt(s + 1);
          }
          out.set([i, j], s);
        }
      }
    }`;
    const a = () => randomTensor([5, 23], "f64", 3, 9);
    const layouts = [
      () => a(),
      () => randomTensor([23, 5], "f64", 3, 9).T,
      () => a().flip(),
      () => a().to("u8"),
      () => a().to("bool"),
    ];
    for (const make of layouts) alike(source, () => [zeros([5, 23]), make(), 2], false);
  });
});
