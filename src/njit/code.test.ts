/** The typed form: what it says, what the verifier refuses, and how loops come out. */
import { describe, expect, test } from "vitest";
import { zeros } from "../index.ts";
import { watOf } from "../wasm/assembler/wat.ts";
import { chunkSizes } from "./chunks.ts";
import { emitCode } from "./emit.ts";
import { infer } from "./infer.ts";
import { type Code, eachStep, type Step } from "./ir.ts";
import { insideOf, type NjitValue, njit } from "./njit.ts";
import { outlinedLoops } from "./outline.ts";
import { printCode } from "./print.ts";
import type { Stmt } from "./tree.ts";
import { verifyCode } from "./verify.ts";

const codeOf = (source: string, ...args: NjitValue[]): Code =>
  insideOf(njit(new Function(`return (${source})`)() as never)).codeFor(args);
const dtypeOf = (code: Code, name: string) => code.locals.find((l) => l.name === name)?.dtype;
const f64 = (...shape: number[]) => zeros(shape, { dtype: "f64" });

/** Accesses of innermost loops that are still checked, in the fastest form of each loop. */
function checksInside(code: Code): number {
  let count = 0;
  const visit = (steps: readonly Step[], inLoop: boolean): void => {
    for (const step of steps) {
      if ((step.op === "load" || step.op === "store") && inLoop)
        count += step.proved.filter((p) => !p).length;
      if (step.op === "if") {
        visit(step.yes, inLoop);
        // The other side of a guard is the loop as it was.
        if (!hasLoop(step.yes)) visit(step.no, inLoop);
      } else if (step.op === "block") visit(step.body, inLoop);
      else if (step.op === "loop") visit(step.body, !hasLoop(step.body));
    }
  };
  const hasLoop = (steps: readonly Step[]): boolean => {
    let found = false;
    eachStep(steps, (s) => {
      if (s.op === "loop") found = true;
    });
    return found;
  };
  visit(code.body, false);
  return count;
}

describe("numbers are integers where nobody can tell", () => {
  test.each([
    ["a counter", "(a, x, n) => { let i = 0; for (; i < n; i++) a.set([i], x); return i; }", "i", "i32"],
    [
      "a counter without a bound",
      "(a, x, n) => { let i = 0; while (x > i * 0.1) i++; return i; }",
      "i",
      "f64",
    ],
    ["one that arrays bound", "(a, x, n) => { let i = 0; while (a.get(i) < x) i++; return i; }", "i", "i32"],
    [
      "a count of some elements",
      "(a, x, n) => { let i = 0; for (let k = 0; k < n; k++) if (a.get(k) > x) i = i + 1; return i; }",
      "i",
      "i32",
    ],
    [
      "a sum of bytes",
      "(a, x, n, b) => { let i = 0; for (let k = 0; k < b.length; k++) i += b[k]; return i; }",
      "i",
      "i64",
    ],
    [
      "a sum in a loop that may not end",
      "(a, x, n, b) => { let i = 0; while (b[0] < x) i += b[1]; return i; }",
      "i",
      "f64",
    ],
    [
      "a sum that begins with what another turn left",
      "(a, x, n, b) => { let i = 0, t = 1e9; for (let k = 0; k < 5; k++) { i = t; t = i + 1000000000; } return i; }",
      "i",
      "f64",
    ],
    [
      "a sum of sums of whole numbers beyond 2^53",
      "(a, x, n, b) => { let i = 9007199254740000; for (let k = 0; k < n; k++) i += 1000; return i; }",
      "i",
      "f64",
    ],
    [
      "what is masked",
      "(a, x, n) => { let i = 1; for (let k = 0; k < n; k++) i = (i * 5 + 1) & 1023; return i; }",
      "i",
      "i32",
    ],
    [
      "what wraps",
      "(a, x, n) => { let i = 1; for (let k = 0; k < n; k++) i = Math.imul(i, 1664525) + 1013904223 | 0; return i; }",
      "i",
      "i32",
    ],
    [
      "what wraps without a sign",
      "(a, x, n) => { let i = 1; for (let k = 0; k < n; k++) i = (i ^ (i << 13)) >>> 0; return i; }",
      "i",
      "u32",
    ],
    ["a remainder of what may be negative", "(a, x, n) => { const i = n % 3; return i; }", "i", "f64"],
    [
      "a remainder of an index",
      "(a, x, n) => { let s = 0; for (let k = 0; k < n; k++) { const i = k % 3; s += i; } return s; }",
      "i",
      "i32",
    ],
    [
      "a remainder of the counter of a parallel loop",
      "(a, x, n, { prange }) => { const m = a.shape[0]; for (const k of prange(m)) { const i = (k + m) % m; a.set([k], i); } }",
      "i",
      "i32",
    ],
    [
      "a place in a matrix",
      "(a, x, n, b, m) => { const [h, w] = m.shape; let s = 0; for (let p = 0; p < h; p++) for (let q = 0; q < w; q++) { const i = p * w + q; if (p > 0) s += i; } return s; }",
      "i",
      "i32",
    ],
    [
      "the place above it",
      "(a, x, n, b, m) => { const [h, w] = m.shape; let s = 0; for (let p = 1; p < h; p++) for (let q = 0; q < w; q++) { const i = (p - 1) * w + q - 1; s += i; } return s; }",
      "i",
      "i32",
    ],
    [
      "all places of a matrix",
      "(a, x, n, b, m) => { let i = 0; while (i < m.shape[0] * m.shape[1]) i++; return i; }",
      "i",
      "i32",
    ],
    [
      "a place beyond the row",
      "(a, x, n, b, m) => { const [h, w] = m.shape; let s = 0; for (let p = 0; p < h; p++) for (let q = 0; q <= w; q++) { const i = p * w + q; s += i; } return s; }",
      "i",
      "u32",
    ],
    [
      "a place in a matrix of other sizes",
      "(a, x, n, b, m) => { const [h, w] = m.shape; let s = 0; for (let p = 0; p < b.length; p++) for (let q = 0; q < w; q++) { const i = p * w + q; s += i; } return s; }",
      "i",
      "f64",
    ],
    [
      "a place in a layer: the other axis may be empty",
      "(a, x, n, b, m, t) => { const [, h, w] = t.shape; let s = 0; for (let p = 0; p < h; p++) for (let q = 0; q < w; q++) { const i = p * w + q; s += i; } return s; }",
      "i",
      "f64",
    ],
    [
      "a place that was moved on",
      "(a, x, n, b, m) => { const [h, w] = m.shape; let s = 0; for (let p = 0; p < h; p++) { let r = p; r = r + n; for (let q = 0; q < w; q++) { const i = r * w + q; s += i; } } return s; }",
      "i",
      "f64",
    ],
    [
      "half of an index",
      "(a, x, n) => { let s = 0; for (let k = 0; k < n; k++) { const i = Math.floor(k / 2); s += i; } return s; }",
      "i",
      "i32",
    ],
    ["a literal that becomes another number", "(a, x, n) => { let i = 0; i += x; return i; }", "i", "f64"],
    ["a flag", "(a, x, n) => { let i = false; if (x > 0) i = true; return i; }", "i", "bool"],
  ])("%s", (_, source, name, dtype) => {
    const named = source
      .slice(1, source.indexOf(")"))
      .split(",")
      .filter((name) => !/[{}]/.test(name));
    const args = [f64(4), 0.5, 3, new Uint8Array(4), f64(2, 3), f64(2, 3, 4)].slice(0, named.length);
    expect(dtypeOf(codeOf(source, ...args), name)).toBe(dtype);
  });
});

test("a loop inside of loops is not learnt anew in each of their rounds", () => {
  const names = [..."ijklmn"];
  const heads = names.map((c) => `for (let ${c} = 0; ${c} < n; ${c}++) {`).join(" ");
  const source = `(a, n) => { let s = 0; ${heads} s += a.get(n); ${"}".repeat(names.length)} return s; }`;
  const fn = insideOf(njit(new Function(`return (${source})`)() as never));
  let looks = 0;
  const watch = (stmts: readonly Stmt[]): void => {
    for (const s of stmts) {
      if (s.op === "loop") watch(s.body);
      const { op } = s;
      const get = () => {
        looks++;
        return op;
      };
      if (op === "load") Object.defineProperty(s, "op", { get });
    }
  };
  watch(fn.tree.body);
  infer(fn.tree, fn.typesFor([f64(4), 3]));
  // 2,900 when each began with nothing.
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(2000);
});

describe("loops", () => {
  const matmul = `(out, a, b) => {
    const [n, k] = a.shape;
    for (let i = 0; i < n; i++) for (let j = 0; j < b.shape[1]; j++) {
      let acc = 0;
      for (let p = 0; p < k; p++) acc += a.get(i, p) * b.get(p, j);
      out.set([i, j], acc);
    }
  }`;
  const heat = `(v, u) => {
    const [n, m] = u.shape;
    for (let i = 1; i < n - 1; i++) for (let j = 1; j < m - 1; j++)
      v.set([i, j], u.get(i - 1, j) + u.get(i + 1, j) + u.get(i, j - 1) + u.get(i, j + 1) - 4 * u.get(i, j));
  }`;
  const flat = `(out, x, n) => {
    for (let i = 0; i < n; i++) for (let j = n - 1; j >= 0; j--) out[i * n + j] = x[i * n + j] * 2;
  }`;

  test("the text form", () => {
    expect(
      printCode(codeOf("(a, n) => { for (let i = 0; i < n; i++) a.set([i], i / 2); return n; }", f64(4), 3)),
    ).toMatchInlineSnapshot(`
      "function (anonymous)
        array a: f64, rank 1, unit stride, argument 0
        n:i32 = argument 1
        a.shape0:i32 = shape[0] of a
        i:i32 = 0
        if ((u64(i64(i)) <.u64 u64(a.shape0)) &&.bool (u64((i64(n) -.i64 1:i64)) <.u64 u64(a.shape0)))
          lanes of 4: i:i32 to n
            a[i] = (f64(i) /.f64 2)
          block
            loop
              if (i <.i32 n)
              else
                break 1
              a[i] = (f64(i) /.f64 2)
              i:i32 = (i +.i32 1)
              break 0
        else
          block
            loop
              if (i <.i32 n)
              else
                break 1
              a[i?] = (f64(i) /.f64 2)
              i:i32 = (i +.i32 1)
              break 0
        return f64(n)"
    `);
  });

  test("no check is left in the hot loops of matmul and heat", () => {
    expect(checksInside(codeOf(matmul, f64(3, 3), f64(3, 3), f64(3, 3)))).toBe(0);
    expect(checksInside(codeOf(heat, f64(5, 5), f64(5, 5)))).toBe(0);
  });

  test("nor in a loop over flat arrays: i·n + j is understood", () => {
    const code = codeOf(flat, new Float64Array(9), new Float64Array(9), 3);
    expect(checksInside(code)).toBe(0);
    expect(printCode(code)).toContain("out[((i *.i32 n) +.i32 j)]");
    const fn = njit((a: Float64Array, i: number, n: number, j: number) => a[i * n + j]);
    const a = Float64Array.from([5, 6, 7]);
    expect([fn(a, 1, 2, 0), fn(a, 2, 1, -1), fn(a, -1, -2, 0), fn(a, 0, -5, 1)]).toEqual([7, 6, 7, 6]);
    // Products that 32 bits would wrap into the array.
    for (const [i, n, j] of [
      [65536, 65536, 0],
      [2147483647, 2, 2],
      [-2147483648, -2147483648, 1],
      [-1, 1, 0],
    ]) {
      const text = new RegExp(`index ${i * n + j} is out of range`);
      expect(() => fn(a, i, n, j)).toThrow(text);
      expect(() => fn.plain(a, i, n, j)).toThrow(text);
    }
  });

  test("indices that are data, or of another turn, are checked", () => {
    const gather = "(out, a, at) => { for (let i = 0; i < 40; i++) out.set([i], a.get(at.get(i))); }";
    expect(checksInside(codeOf(gather, f64(4), f64(4), zeros([4], { dtype: "i32" })))).toBe(1);
    const before = "(a) => { let p = 3; for (let i = 0; i < 40; i++) { a.set([p], i); p = i; } }";
    expect(checksInside(codeOf(before, f64(4)))).toBe(1);
    const after = "(a) => { for (let i = 0; i < 40; i++, a.set([i], 1)) a.set([i], 2); }";
    expect(checksInside(codeOf(after, f64(5)))).toBe(1);
  });

  test("two tests joined by && bound an index, as one does", () => {
    const bin = `(a, x, n) => {
      const at = Math.floor(x * n);
      if (at >= 0 && at < n) a.set([at], a.get(at) + 1);
    }`;
    const text = printCode(codeOf(bin, f64(4), 0.5, 3));
    // Found by its last bits, not by a conversion that looks for what does not fit.
    expect(text).not.toContain("a[at?]");
    expect(text).toContain("a[i32(i64((at +.f64 6755399441055744)))?]");
  });

  test("what tests have shown to be inside is checked nowhere, not even before the loop", () => {
    const around = `(a) => {
      const [h, w] = a.shape;
      let s = 0;
      for (let i = 0; i < h; i++) for (let j = 0; j < w; j++) {
        if (i > 0) s += a.get(i - 1, j);
        if (j > 0 && a.get(i, j - 1) > s) s = 1;
      }
      for (let k = 0; k < h * w; k++) s += a.get(Math.floor(k / w), k % w);
      return s;
    }`;
    const text = printCode(codeOf(around, f64(3, 4)));
    expect(text).not.toContain("?]");
    expect(text).not.toContain("u64");
    // Another array may have another size, and what is one too many is none.
    expect(
      printCode(codeOf("(a, b, i) => (i >= 0 && i < a.shape[0] ? b.get(i) : 0)", f64(3), f64(3), 1)),
    ).toContain("?]");
    const over = "(a, i) => (i >= 0 && i <= a.shape[0] ? a.get(i) : 0)";
    expect(printCode(codeOf(over, f64(3), 1))).toContain("?]");
    const fraction = "(a, x) => (x >= 0 && x < a.shape[0] ? a.get(x) : 0)";
    expect(printCode(codeOf(fraction, f64(3), 0.5))).toContain("?]");
  });

  test("i * i < n bounds i by the root, so that what begins with i * i is an index", () => {
    const sieve =
      "(p) => { const n = p.length; for (let i = 2; i * i < n; i++) for (let j = i * i; j < n; j += i) p[j] = 0; }";
    const code = codeOf(sieve, new Uint8Array(9));
    expect(dtypeOf(code, "j")).toBe("i32");
    expect(checksInside(code)).toBe(0);
  });

  test("a few turns that are known are written out, and what they decide is decided", () => {
    const life = `(out, a) => {
      const [n, m] = a.shape;
      for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) {
        let s = 0;
        for (let y = -1; y <= 1; y++) for (let x = 1; x >= -1; x--) {
          if (y === 0 && x === 0) continue;
          s += a.get((i + y + n) % n, (j + x + m) % m);
        }
        out.set([i, j], s);
      }
    }`;
    const code = codeOf(life, f64(3, 3), f64(3, 3));
    const text = printCode(code);
    expect(code.unrolled.map((u) => u.turns)).toEqual([3, 3]);
    // In the form without checks: eight elements, and a remainder for each row and each column, those of rows before the loop.
    const fast = text.slice(text.lastIndexOf("block", text.indexOf("j <.i32 m")), text.indexOf("out["));
    expect(fast.match(/= a\[/g)).toHaveLength(8);
    expect(fast.match(/%\.u32/g)).toHaveLength(3);
    const left = "(n) => { let k = 0; for (let i = 0; i < 9; i++) k += n; return k; }";
    expect(codeOf(left, 1).unrolled).toEqual([]);
  });

  test("turns that are written out end where the loop would have", () => {
    const leaves = njit((a: Float64Array, limit: number) => {
      let [sum, last] = [0, -1];
      for (let k = 0; k < 5; k++) {
        search: for (let i = 6; i > 0; i -= 2) {
          if (a[i] > limit) break;
          for (let j = 0; j < 2; j++) {
            if (a[j + k] === 3) continue search;
            if (a[i - j] < 0) return [sum, -7, k];
            sum += a[i - j] * (j + 1);
          }
          last = i;
        }
      }
      return [sum, last, 0];
    });
    for (let seed = 0; seed < 40; seed++) {
      const a = Float64Array.from(
        { length: 8 },
        (_, i) => ((seed * 7 + i * 5) % 11) - (seed % 4 === 0 ? 2 : 0),
      );
      expect(leaves(a, 5 + (seed % 5))).toEqual(leaves.plain(a, 5 + (seed % 5)));
    }
  });

  test("loops at the top run in chunks, and chunks are functions of their own", () => {
    const wat = (source: string, ...args: NjitValue[]) =>
      watOf(emitCode(codeOf(source, ...args), { shared: true }));
    const sum = "(a) => { let s = 0; for (let i = 0; i < a.length; i++) s += a[i]; return s; }";
    expect(wat(sum, new Float64Array(9))).toContain("call $loop0");
    // Whoever leaves early would only leave its chunk.
    const found = "(a) => { let i = 0; for (; i < a.length; i++) if (a[i] > 0) break; return i; }";
    expect(wat(found, new Float64Array(9))).not.toContain("call $loop0");
  });

  test("chunks of any length give what one loop gives", () => {
    const before = structuredClone(chunkSizes);
    const run = () => {
      const fn = njit((out: Float64Array, x: Float64Array, n: number) => {
        let [k, last] = [0, 0];
        for (let i = 0; i < n; i++) if (x[i] > 0.4) out[k++] = i;
        for (let i = 1; i <= n - 2; i += 3) out[i] += x[i];
        for (let i = 0; i < n; i++) {
          let s = 0;
          for (let j = i; j < n; j++) s += x[j];
          last = s + out[i];
        }
        for (let i = 0; i < n; i++) x[i] = out[i] * 2 + last;
        return [k, last];
      });
      const [out, x] = [new Float64Array(50), Float64Array.from({ length: 50 }, (_, i) => (i * 0.37) % 1)];
      return [fn(out, x, 50), out, x];
    };
    const whole = run();
    try {
      for (const first of [1, 2, 7, 16, 49, 50, 51]) {
        for (const size of Object.values(chunkSizes)) Object.assign(size, { first, most: 2 * first });
        expect(run()).toEqual(whole);
      }
    } finally {
      Object.assign(chunkSizes, before);
    }
  });

  test("remainders of 32-bit integers are one instruction, and of 0 they are none", () => {
    const turn = njit((out: Float64Array, n: number, m: number) => {
      for (let i = 0; i < n; i++) for (let j = 0; j < 9; j++) if (m > 0) out[j % m] += (i + m) % m;
    });
    const args = (n: number, m: number) => [new Float64Array(9), n, m] as const;
    const wat = watOf(emitCode(insideOf(turn).codeFor(args(3, 4)), { shared: true }));
    expect(wat).toMatch(/i32\.rem_[su]/);
    expect(wat).not.toMatch(/i64\.rem|f64\.div/);
    for (const [n, m] of [
      [0, 0],
      [3, 0],
      [3, -2],
      [5, 1],
      [6, 4],
      [7, 9],
    ]) {
      const [a, b] = [args(n, m), args(n, m)];
      turn(...a);
      turn.plain(...b);
      expect(a[0]).toEqual(b[0]);
    }
  });

  test("a loop whose extremes are outside fails where the function fails", () => {
    const fn = njit((a, n, step) => {
      for (let i = 0; i < n; i += 2) a.set([i], i + step);
      for (let i = n; i >= 0; i--) a.set([i], a.get(i) + 1);
    });
    for (const n of [0, 1, 4, 5, 6, 9]) {
      const [a, b] = [f64(6), f64(6)];
      const ends = [() => fn(a, n, 0.5), () => fn.plain(b, n, 0.5)].map((run) => {
        try {
          run();
          return "ran";
        } catch (error) {
          return (error as Error).message.split("\n")[0].replace(/ \(line.*/, "");
        }
      });
      expect(ends[0]).toBe(ends[1]);
      expect(a.toArray()).toEqual(b.toArray());
      a.dispose();
      b.dispose();
    }
  });

  test("innermost loops inside of loops are functions of their own, in both forms", () => {
    // Lanes and the loop over j, where nothing is checked; the loop over j and its form with checks.
    expect(outlinedLoops(codeOf(matmul, f64(3, 3), f64(3, 3), f64(3, 3))).size).toBe(3);
    expect(outlinedLoops(codeOf(flat, new Float64Array(9), new Float64Array(9), 3)).size).toBeGreaterThan(0);
    const search = `(a) => { for (let i = 0; i < 30; i++) for (let j = 0; j < 30; j++) if (a.get(i, j) > 0) return i; return -1; }`;
    expect(outlinedLoops(codeOf(search, f64(3, 3))).size).toBe(0);
  });
});

describe("the verifier", () => {
  const code = codeOf("(a, n) => { for (let i = 0; i < n; i++) a.set([i], i); return n > 2; }", f64(4), 3);
  const broken = (change: Partial<Code>) => () => verifyCode({ ...code, ...change }, "a test");

  test("takes what the compiler makes", () => {
    expect(verifyCode(code, "a test")).toBe(code);
  });

  test("refuses what the emitter could not trust", () => {
    expect(broken({ locals: code.locals.slice(1) })).toThrow(/internal error: njit, after a test/);
    expect(broken({ sites: [] })).toThrow(/site 0 is of another array/);
    expect(broken({ results: ["f64"] })).toThrow(/value 0 is no f64/);
    expect(broken({ results: [] })).toThrow(/another number of values/);
    expect(broken({ body: [{ op: "break", depth: 0 }] })).toThrow(/depth 0 of 0/);
    expect(broken({ arrays: code.arrays.map((a) => ({ ...a, rank: 2 })) })).toThrow(/1 indices for rank 2/);
    expect(broken({ arrays: code.arrays.map((a) => ({ ...a, written: false })) })).toThrow(
      /not marked as written/,
    );
  });
});
