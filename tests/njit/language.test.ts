/** What an njit function may say: each piece of the language, compiled and plain. */
import { describe, expect, test } from "vitest";
import { explain, kernel, memory, scope, tensor, zeros } from "../../src/index.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { expectSame, outcome } from "./compare.ts";

type Fn = (...args: never[]) => unknown;
const fromText = (source: string): Fn => new Function(`return (${source})`)() as Fn;
const made = (source: string, captures = {}): Njit => njit(fromText(source), captures);

/** Runs it compiled, interpreted and plain on arguments made anew; all three agree, and give this. */
function expectRun(fn: Njit, make: () => NjitValue[], result: unknown): void {
  scope(() => {
    const [a, b, c] = [make(), make(), make()];
    const compiled = outcome(fn(...a), a);
    expectSame(compiled, outcome(fn.plain(...b), b));
    expectSame(compiled, outcome(insideOf(fn).interpreted(c), c));
    expectSame(compiled[0], result);
  });
}
const gives = (source: string, args: NjitValue[], result: unknown, captures = {}) =>
  expectRun(made(source, captures), () => [...args], result);

describe("scalars", () => {
  test.each([
    ["n => n + 1", [41], 42],
    ["n => n / 2", [3], 1.5],
    ["n => n % 0", [3], Number.NaN],
    ["n => -n", [0], -0],
    ["n => n * -1", [0], -0],
    ["n => n * n", [2147483647], 2147483647 ** 2],
    ["n => n + n + n", [2147483647], 3 * 2147483647],
    ["n => (n + 1) | 0", [2147483647], -2147483648],
    ["n => n >>> 0", [-1], 4294967295],
    ["n => Math.imul(n, n)", [65537], 131073],
    ["n => n << 31", [1], -2147483648],
    ["x => Math.floor(x)", [-0.5], -1],
    ["x => Math.ceil(x)", [-0.5], -0],
    ["x => x > 1 && x < 3", [2], true],
    ["x => !(x > 1) || x === 2", [2], true],
    ["x => x > 0 ? x : -x", [-2.5], 2.5],
    ["b => (b ? 1 : 0) + Number(b) + +b", [true], 3],
    ["(x, y) => { x += y; y -= x; x *= y; return x ** 2; }", [3, 4], 441],
    ["x => { x ||= 5; return x; }", [0], 5],
    ["x => { let y = 2; x &&= y; return x; }", [7], 2],
    ["n => { let a = n++, b = ++n; return [a, b, n, n--, n]; }", [1], [1, 3, 3, 3, 2]],
    ["n => { let a = 1, b = n; [a, b] = [b, a + b]; return [a, b]; }", [5], [5, 6]],
    ["(n) => { let s = 0; s = (s, n, n + 1); return s; }", [1], 2],
    ["x => x + (x = 3) + x", [10], 16],
    ["x => { const f = () => (x = x + 1); return x * 100 + f() * 10 + x; }", [1], 122],
    ["n => 3n * BigInt(n | 0) - (1n << 40n)", [5], 15n - (1n << 40n)],
    ["b => Number(b) / 2", [5n], 2.5],
    ["b => b > 3n ? b & 6n : -b", [5n], 4n],
    ["() => [1.5, true, 2n]", [], [1.5, true, 2n]],
    ["() => {}", [], undefined],
    ["n => Number.isInteger(n / 2)", [3], false],
    ["n => { const { max, min } = Math; return max(n, 2) - min(n, 2, 1); }", [5], 4],
    ["n => Math.hypot(n, 4) + Math.sign(-n) + Math.PI", [3], 5 - 1 + Math.PI],
  ] as [string, NjitValue[], unknown][])("%s", (source, args, result) => gives(source, args, result));
});

describe("control", () => {
  test.each([
    ["n => { let s = 0; for (let i = 0; i < n; i++) s += i; return s; }", [5], 10],
    ["n => { let s = 0; for (let i = n - 1; i >= 0; i--) s = s * 10 + i; return s; }", [4], 3210],
    [
      "n => { let s = 0, i = 0; while (true) { if (i++ >= n) break; if (i % 2) continue; s += i; } return s; }",
      [6],
      12,
    ],
    ["n => { let i = 0; do i += 3; while (i < n); return i; }", [7], 9],
    ["n => { let s = 0; do { s++; if (s > 2) continue; s += 10; } while (s < n); return s; }", [13], 13],
    ["n => { let k = 0; for (;;) { if (k * k > n) return k; k++; } }", [50], 8],
    [
      "n => { let s = 0; a: for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) { if (j > i) continue a; if (i === 3) break a; s += 1; } return s; }",
      [9],
      6,
    ],
    ["n => { a: { if (n > 3) break a; n = 100; } return n; }", [5], 5],
    ["n => { a: if (n > 3) { if (n > 7) break a; n = 1; } else n = 12; return n; }", [5], 1],
    ["n => { a: if (n > 3) { if (n > 7) break a; n = 1; } else n = 12; return n; }", [8], 8],
    ["n => { a: n = 3; b: { c: if (n) break b; n = 9; } return n; }", [5], 3],
    [
      "n => { let s = 0; for (let i = 0; i < n; i++) a: if (i > 1) { if (i > 3) break a; s += i; } return s; }",
      [9],
      5,
    ],
    // Their ends cannot be reached.
    ["n => { while (true) { n--; if (n === 5) return n; } }", [8], 5],
    [
      "n => { a: while (true) { while (true) { n--; if (n === 5) return n; if (n > 3) continue a; } } }",
      [8],
      5,
    ],
    ["n => { while (1) { while (n > 6) { n--; if (n === 9) break; } return n; } }", [8], 6],
    ["n => { do { return n; } while (n < 4); }", [8], 8],
    ["n => { for (;;) { if (n > 2) return n; else return 3; } }", [8], 8],
    ["n => { if (n > 2) { return 1; } else { if (n > 1) return 2; else return 3; } }", [2], 2],
    ["n => { { if (n > 2) { return 1; } return 2; } }", [2], 2],
    ["n => { const f = () => { while (true) { if (n > 4) return 1; n++; } }; return f() + n; }", [0], 6],
    ["n => { const f = (x) => { if (x > 4) return 1; n++; }; f(3); f(n); return n; }", [9], 10],
    ["n => []", [1], []],
    ["n => { const f = () => []; return f(); }", [1], []],
    ["n => { let s = 0; for (const i of [0].length ? [0] : [0]) s += i; return s; }", [5], 0],
  ] as [string, NjitValue[], unknown][])("%s", (source, args, result) => {
    if (source.includes(" of [")) expect(() => made(source)).toThrow(/only prange/);
    else gives(source, args, result);
  });

  test("prange counts, from a start and by a step", () => {
    gives("(n, { prange }) => { let s = 0; for (const i of prange(n)) s += i; return s; }", [5], 10);
    gives("(n, { prange: p }) => { let s = 0; for (const i of p(2, n, 3)) s += i * i; return s; }", [9], 93);
    gives(
      "(n, { prange }) => { let s = 0; for (const i of prange(n, { independent: true })) s += i; return s; }",
      [3],
      3,
    );
  });

  test("a variable that is set on one path only is refused where it is read", () => {
    expect(() => made("n => { let x; if (n > 0) x = 1; return x; }")(1)).toThrow(
      /"x" may be read before it has a value/,
    );
    gives("n => { let x; if (n > 0) x = 1; else x = 2.5; return x; }", [0], 2.5);
    gives("n => { let x; if (n > 0) x = 1; else return 7; return x; }", [0], 7);
  });
});

describe("functions", () => {
  test("inner ones are written out, closures over variables included", () => {
    gives(
      "n => { let s = 0; const add = (x, y = 2) => { s += x * y; return s; }; add(n); add(1, 10); return s; }",
      [3],
      16,
    );
    gives(
      "n => { function f(x) { if (x > 2) return x; return -x; } return [f(n), f(n - 3)]; }",
      [3],
      [3, -0],
    );
    gives(
      "n => { const divmod = (a, b) => [Math.floor(a / b), a % b]; const [q, r] = divmod(n, 4); return q * 100 + r; }",
      [11],
      203,
    );
    gives("n => { const at = (w, i) => w[i]; const w = [5, 6, 7]; return at(w, n); }", [2], 7);
  });

  test("captured ones are, too, and kernels and scalars", () => {
    const twice = (x: number) => x * 2;
    const squared = kernel((x, { factor }) => x * x * factor, { factor: 1 });
    gives(
      "(n, { twice, squared, k, flag, sqrt }) => flag ? twice(n) + squared(n) + k + sqrt(n) : 0",
      [4],
      8 + 16 + 0.5 + 2,
      {
        twice,
        squared,
        k: 0.5,
        flag: true,
        sqrt: Math.sqrt,
      },
    );
  });

  test("captured tensors and typed arrays are read and written by name", () => {
    const table = tensor([10, 20, 30], { dtype: "f64" });
    const counts = new Int32Array(3);
    const fn = made("(n, { table, counts }) => { counts[n] += 1; return table.get(n); }", { table, counts });
    expect([fn(1), fn(1), fn.plain(2)]).toEqual([20, 20, 30]);
    expect([...counts]).toEqual([0, 2, 1]);
    table.dispose();
    expect(() => fn(0)).toThrow(/disposed/);
  });
});

describe("arrays", () => {
  test("tensors: get, set, shape, size, rank", () => {
    const source = `(a) => {
      const [n, m] = a.shape;
      const { rank, size } = a;
      for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) a.set([i, j], a.get(i, j) * 2 + j);
      return [a.shape.at(-1), a.shape.length, rank, size, a];
    }`;
    const fn = made(source);
    scope(() => {
      const a = tensor(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        { dtype: "f64" },
      );
      const [last, length, rank, size, same] = fn(a) as unknown[];
      expect([last, length, rank, size]).toEqual([3, 2, 2, 6]);
      expect(same).toBe(a);
      expect(a.toArray()).toEqual([
        [2, 5, 8],
        [8, 11, 14],
      ]);
      expect((fn.plain(a) as unknown[])[4]).toBe(a);
    });
  });

  test.each([
    ["u8", [300, -5, 2.7, Number.NaN], [255, 0, 2, 0]],
    ["i32", [3e9, -3e9, 2.7, Number.NaN], [2147483647, -2147483648, 2, 0]],
    ["bool", [2, 0, Number.NaN, -0], [1, 0, 1, 0]],
    ["f16", [1 / 3, 1e6, -0, 5], [0x3555, 0x7c00, 0x8000, 0x4500]],
  ] as const)("a tensor of %s converts as set does", (dtype, values, stored) => {
    const fn = made("(out, x) => { for (let i = 0; i < x.length; i++) out.set([i], x[i]); }");
    scope(() => {
      const [a, b] = [zeros([4], { dtype }), zeros([4], { dtype })];
      fn(a, Float64Array.from(values));
      fn.plain(b, Float64Array.from(values));
      expect([...a.toTypedArray()]).toEqual([...stored]);
      expect([...b.toTypedArray()]).toEqual([...stored]);
    });
  });

  test.each([
    ["Uint8Array", [300, -5, 2.7, Number.NaN], [44, 251, 2, 0]],
    ["Int32Array", [3e9, -3e9, 2.7, Number.NaN], [-1294967296, 1294967296, 2, 0]],
    ["Uint8ClampedArray", [300, -5, 2.5, 3.5], [255, 0, 2, 4]],
    ["Float32Array", [0.1, 1e300, -0, 5], [Math.fround(0.1), Number.POSITIVE_INFINITY, -0, 5]],
  ] as const)("a %s converts as JavaScript does, an argument or its own", (kind, values, stored) => {
    const make = { Uint8Array, Int32Array, Uint8ClampedArray, Float32Array }[kind];
    gives(
      `(out, x) => { for (let i = 0; i < 4; i++) out[i] = x[i]; return out; }`,
      [new make(4), Float64Array.from(values)],
      [...stored],
    );
    gives(
      `(x) => { const w = new ${kind}(4); for (let i = 0; i < 4; i++) w[i] = x[i]; return [w[0], w[1], w[2], w[3]]; }`,
      [Float64Array.from(values)],
      [...stored],
    );
  });

  test("integers that the ranges see saturate in tensors, too", () => {
    const fn = made(
      "(out, n) => { for (let i = 0; i < 3; i++) out.set([i], n + i * 200); out.set([3], 300); out.set([4], -1); }",
    );
    expectRun(fn, () => [zeros([5], { dtype: "u8" }), 100], undefined);
  });

  test("i64 and u64 are bigints; whole numbers may be written there", () => {
    const fn = made(
      "(a, n) => { a.set([0], a.get(1) * 3n + 1n); a.set([1], n & 255); a.set([2], true); return a.get(0) >> 1n; }",
    );
    expectRun(fn, () => [tensor([1n, 5n, 0n], { dtype: "i64" }), 300], 8n);
    expectRun(fn, () => [tensor([1n, 5n, 0n], { dtype: "u64" }), -1], 8n);
    expect(() => made("(a, x) => a.set([0], x)")(tensor([1n], { dtype: "i64" }), 0.5)).toThrow(
      /i64 holds bigints/,
    );
    expect(() => made("(a) => a.get(0) + 1")(tensor([1n], { dtype: "i64" }))).toThrow(
      /mixes a bigint and a number/,
    );
  });

  test("bigints are divided and shifted as JavaScript does, within 64 bits", () => {
    const some = [0n, 1n, -1n, 7n, -7n, 63n, 64n, -64n, 2n ** 40n, 2n ** 63n - 1n, -(2n ** 63n)];
    const within = (x: bigint) => BigInt.asIntN(64, x);
    const divided = made("(a, b) => [BigInt.asIntN(64, a / b), a % b]");
    const shifted = made(
      "(a, n) => [BigInt.asIntN(64, a << n), BigInt.asIntN(64, a >> n), BigInt.asIntN(64, a << 70n), a >> -2n]",
    );
    for (const a of some) {
      for (const b of some) {
        if (b !== 0n) expectRun(divided, () => [a, b], [within(a / b), a % b]);
        if (b >= -64n && b <= 64n)
          expectRun(shifted, () => [a & 255n, b], [
            within(b < 0n ? (a & 255n) >> -b : (a & 255n) << b),
            within(b < 0n ? (a & 255n) << -b : (a & 255n) >> b),
            0n,
            (a & 255n) << 2n,
          ]);
      }
    }
    const fn = made(
      "(a, b, out) => { for (let i = 0; i < out.shape[0]; i++) out.set([i], (a.get(i) / b.get(i) + a.get(i) % b.get(i)) ^ (a.get(i) >> b.get(i))); }",
    );
    for (const dtype of ["i64", "u64"] as const) {
      const make = () => [
        tensor([70n, 2n ** 62n, 5n, 9n, 12345678901n], { dtype }),
        tensor([3n, 64n, 7n, 1n, 12n], { dtype }),
        zeros([5], { dtype }),
      ];
      expectRun(fn, make, undefined);
    }
    expect(made("(a) => a.get(0) / 3n")(tensor([2n ** 64n - 1n], { dtype: "u64" }))).toBe(
      (2n ** 64n - 1n) / 3n,
    );
  });

  test.each([
    ["(a, b) => a / b", [5n, 0n]],
    ["(a, b) => a % b", [5n, 0n]],
    ["(a, b) => { let s = 0n; for (let i = 3n; i >= b; i -= 1n) s += a / i; return s; }", [5n, 0n]],
    ["(a, b) => { while (a % b !== 3n) a += 1n; return a; }", [5n, 0n]],
    ["(a, b) => (a > b ? a / b : 0n)", [5n, 0n]],
    ["(a, b) => a / 0n + b", [5n, 0n]],
  ] as [string, NjitValue[]][])("a bigint divided by 0n is an error: %s", (source, args) => {
    const fn = made(source);
    const first = /^njit: a bigint is divided by 0n\./;
    expect(() => fn(...args)).toThrow(first);
    expect(() => fn.plain(...args)).toThrow(first);
    expect(() => insideOf(fn).interpreted(args)).toThrow(first);
  });

  test("what is not come to is not divided", () => {
    gives("(a, b) => (b === 0n ? -1n : a / b)", [5n, 0n], -1n);
    gives("(a, b) => b !== 0n && a % b === 1n", [5n, 0n], false);
    gives("(a, b) => { while (b !== 0n && a % b !== 1n) a += 1n; return a; }", [5n, 0n], 5n);
    gives("(a, b) => { if (b === 0n || a / b > 3n) return 1; return 2; }", [5n, 0n], 1);
    gives(
      "(a, b) => { let s = 0n; for (let i = 0; i < 4; i++) if (i > 3) s = a / b; return s; }",
      [5n, 0n],
      0n,
    );
  });

  test("a prange loop tells of a division by 0n", () => {
    const fn = made(
      "(out, b, { prange }) => { for (const i of prange(out.shape[0])) out.set([i], 100n / b.get(i)); }",
    );
    const b = tensor([1n, 2n, 0n, 4n], { dtype: "i64" });
    expect(() => fn(zeros([4], { dtype: "i64" }), b)).toThrow(/a bigint is divided by 0n. \(line 1/);
  });

  test("BigInt(x) of a number that is no whole one is an error", () => {
    gives("x => BigInt(x)", [2 ** 62 + 2 ** 30], 2n ** 62n + 2n ** 30n);
    gives("x => BigInt(x)", [-0], 0n);
    gives("x => BigInt(x / 2)", [-6], -3n);
    for (const x of [1.5, -0.5, Number.NaN, Infinity]) {
      const [fn, first] = [made("x => BigInt(x)"), `BigInt: ${x} is no whole number of 64 bits.`];
      expect(() => fn(x)).toThrow(first);
      expect(() => fn.plain(x)).toThrow(first);
    }
    expect(() => made("x => BigInt(x)")(2 ** 63)).toThrow(/no whole number of 64 bits/);
  });

  test("bigints are compared with literals that they cannot be", () => {
    const list = (source: string) => made(`(a) => [${source}]`);
    const u64 = () => [tensor([2n ** 64n - 1n], { dtype: "u64" })];
    const i64 = () => [tensor([-(2n ** 63n)], { dtype: "i64" })];
    expectRun(
      list("a.get(0) < 18446744073709551616n, a.get(0) > -1n, -1n === a.get(0), 1n << 64n > a.get(0)"),
      u64,
      [true, true, false, true],
    );
    expectRun(
      list(
        "a.get(0) > -9223372036854775809n, a.get(0) !== 9223372036854775808n, a.get(0) < 0xffffffffffffffffn",
      ),
      i64,
      [true, true, true],
    );
    for (const by of ["18446744073709551616n", "-1n"])
      expect(() => made(`(a) => a.get(0) / ${by}`)(...u64())).toThrow(/^njit: -?\d+n does not fit u64\./);
  });

  test("f32 is compared with literals beyond it as they are", () => {
    const f32 = () => [tensor([Infinity, -Infinity, 3.4028234663852886e38])];
    expectRun(
      made("(a) => [a.get(0) > 1e39, a.get(0) === 1e39, a.get(1) < -1e39, a.get(2) < 3.402823567e38]"),
      f32,
      [true, false, true, true],
    );
    const counted = made(
      "(a) => { let n = 0; for (let i = 0; i < a.size; i++) if (a.get(i) < -1e39) n++; return n; }",
    );
    expectRun(counted, f32, 1);
  });

  test("BigInt.asIntN and asUintN say that bigints wrap, uncompiled too", () => {
    const a = () => tensor([2n ** 40n, 2n ** 63n - 1n], { dtype: "i64" });
    const square = made("(a) => [BigInt.asIntN(64, a.get(0) * a.get(0)), BigInt.asIntN(64, a.get(1) + 1n)]");
    expectRun(square, () => [a()], [0n, -(2n ** 63n)]);
    const below = made("(a) => [BigInt.asUintN(64, a.get(0) - 5n), BigInt.asUintN(64, a.get(0) - 5n) < 0n]");
    expectRun(below, () => [tensor([2n], { dtype: "u64" })], [2n ** 64n - 3n, false]);
    gives("(x) => BigInt.asUintN(64, x)", [-1n], 2n ** 64n - 1n);
    gives("() => BigInt.asIntN(64, 18446744073709551615n)", [], -1n);
  });

  test("local arrays keep what they hold, and are made anew in each turn", () => {
    gives(
      "n => { let s = 0; for (let i = 0; i < n; i++) { const w = [i, 0]; w[1] += w[0] + 1; s += w[1]; } return s; }",
      [4],
      10,
    );
    gives(
      "n => { const w = new Float64Array(3); for (let i = 0; i < n; i++) w[i % 3] += i; return [w[0], w[1], w[2], w.length]; }",
      [7],
      [9, 5, 7, 3],
    );
    expect(() => made("n => { const w = [1, 2]; return w[n]; }")(2)).toThrow(
      /index 2 is out of range for axis 0 of size 2/,
    );
  });

  test("arrays over one buffer overlap as they do outside", () => {
    const buffer = new ArrayBuffer(64);
    const make = () => {
      const bytes = new Uint8Array(buffer, 3, 40);
      const floats = new Float64Array(buffer, 16, 3);
      bytes.fill(7);
      return [bytes, floats] as NjitValue[];
    };
    const fn = made(
      "(b, f) => { b[13] = 1; f[0] = f[1] + 1; for (let i = 0; i < b.length; i++) b[i] = b[i] + 1; return f[2]; }",
    );
    const [a, b] = [make(), make()];
    const compiled = outcome(fn(...a), a);
    b.forEach((x, i) => {
      if (i === 0) (x as Uint8Array).fill(7);
    });
    expectSame(compiled, outcome(fn.plain(...b), b));
  });

  test("a typed array over the heap is used where it lies", () => {
    scope(() => {
      const t = zeros([4], { dtype: "f64" });
      made("(a) => { for (let i = 0; i < a.length; i++) a[i] = i; }")(t.data);
      expect(t.toArray()).toEqual([0, 1, 2, 3]);
    });
  });

  test("so is one over the buffer that the heap had before it grew", () => {
    scope(() => {
      const t = zeros([4], { dtype: "f64" });
      const old = t.data;
      zeros([memory().capacityBytes / 8], { dtype: "f64" }).dispose();
      expect(t.data.buffer).not.toBe(old.buffer);
      const fn = made("(a, b) => { a[0] = 7; b.set([1], a[0] + b.get(0)); return a[1]; }");
      const report = explain(() => fn(old, t));
      expect([report.result, report.copies, t.toArray()]).toEqual([14, [], [7, 14, 0, 0]]);
    });
    // Other shared memory is copied, however it looks.
    const other = new Float64Array(new SharedArrayBuffer(1 << 17));
    made("(a) => { a[0] = 1; }")(other);
    expect(other[0]).toBe(1);
  });

  test("f32 computes in f32, with literals too, and in f64 with other numbers", () => {
    scope(() => {
      const [a, out] = [tensor([0.1], { dtype: "f32" }), zeros([1], { dtype: "f64" })];
      const x = Math.fround(0.1);
      made("(out, a) => out.set([0], a.get(0) * 0.1 + a.get(0))")(out, a);
      expect(out.item()).toBe(Math.fround(Math.fround(x * x) + x));
      made("(out, a, k) => out.set([0], a.get(0) * k)")(out, a, 0.1);
      expect(out.item()).toBe(x * 0.1);
      made(
        "(out, a) => { let s = 0; for (let i = 0; i < 3; i++) s += a.get(0) * a.get(0); out.set([0], s); }",
      )(out, a);
      const square = Math.fround(x * x);
      expect(out.item()).toBe(square + square + square);
    });
  });
});
