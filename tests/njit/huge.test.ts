/** Numbers of any size in indices and bounds: checks that leave loops, lanes and threads stay within the array. */
import { afterAll, describe, expect, test } from "vitest";
import { scope, type Tensor, TensorError, zeros } from "../../src/index.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { expectSame, lanesOf } from "./compare.ts";
import { onThreads, stopPools } from "./threads.ts";

type Fn = (...args: never[]) => unknown;
const made = (source: string): Njit => njit(new Function(`return (${source})`)() as Fn);
afterAll(stopPools);

const numbers = [
  1,
  2 ** 14 + 1,
  2 ** 30,
  2 ** 31 - 2 ** 16,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 33 + 1,
  2 ** 52 + 1,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 62,
  2 ** 63,
  2 ** 64,
  2 ** 80,
  1e300,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
].flatMap((c) => [c, -c]);

/** What a call gave or threw, and the memory around the elements it was given. */
function ran(run: (y: Tensor) => unknown, isOnThreads: boolean): unknown[] {
  return scope(() => {
    const all = zeros([3, 100], { dtype: "f64" });
    let outcome: unknown;
    try {
      const call = () => run(all.slice(1));
      outcome = isOnThreads ? onThreads(3, call) : call();
    } catch (error) {
      if (!(error instanceof TensorError)) throw error;
      outcome = error.message.split(/[\n(]/)[0].trim();
    }
    const [before, within, after] = all.toArray() as number[][];
    expect([...before, ...after].every((v) => v === 0)).toBe(true);
    return [outcome, within];
  });
}

/** Gives whether something was written. */
function sameAsPlain(fn: Njit, args: readonly NjitValue[], isOnThreads = false): boolean {
  const [plain, written] = ran((y) => fn.plain(y, ...args), false);
  const [outcome, own] = ran((y) => fn(y, ...args), isOnThreads);
  expectSame(outcome, plain);
  // Where a parallel loop fails, later turns may have been made.
  if (!isOnThreads || typeof plain !== "string") expectSame(own, written);
  return (own as number[]).some((v) => v !== 0);
}

const indices = [
  "i + c - c",
  "i + (c - c)",
  "i * c",
  "i * c - i * c + i",
  "(i * c) | 0",
  "(i * c) >>> 0",
  "i + (c | 0)",
  "(i + c) | 0",
  "(i | 0) + c * 4",
  "Math.floor(i + c / 4)",
  "i * c * c + i",
  "Math.imul(i, c)",
  "i + c * d - c * d",
  "i % c",
  "c - i",
  "c * c + i - c * c",
];

describe("huge numbers", () => {
  test.each(indices)("in an index of a loop: %s", (at) => {
    const body = `y.set([${at}], y.get(${at}) * 2 + i + 1);`;
    const loop = made(`(y, n, c, d) => { for (let i = 0; i < n; i++) { ${body} } }`);
    const nest = made(
      `(y, n, c, d) => { for (let j = 0; j < 3; j++) { const base = j * c; for (let i = 0; i < n; i++) { ${body.replaceAll("[", "[base + ").replaceAll("get(", "get(base + ")} } } }`,
    );

    expect(sameAsPlain(loop, [60, 1, 3])).toBe(true);
    for (const c of numbers) {
      sameAsPlain(loop, [60, c, 3]);
      sameAsPlain(nest, [60, c, 2 ** 31 + 1]);
    }
  });

  test.each([
    ["i + (c | 0)", 1, 2 ** 30],
    ["i + c * 4", 1, 2 ** 20],
    ["i + c - c", 1, 2 ** 30],
    ["i + c", 1, 2 ** 30],
    ["3 - c + i + c", 1, 2 ** 30],
  ])("in an index of lanes: %s", (at, ...most) => {
    const fn = made(`(y, n, c) => { for (let i = 0; i < n; i++) y.set([${at}], i * 1.5 + 1); }`);
    for (const c of most) {
      const code = insideOf(fn).codeFor([zeros([100], { dtype: "f64" }), 60, c]);
      expect(lanesOf(code).length).toBeGreaterThan(0);
    }
    for (const c of [0, ...numbers]) sameAsPlain(fn, [60, c]);
  });

  test.each([
    ["let i = 0; i < n + c - c; i++", "i"],
    ["let i = c - c; i < n; i++", "i"],
    ["let i = 0; i <= c; i++", "i"],
    ["let i = 0; i < n; i += c", "i"],
    ["let i = c; i < n; i++", "i"],
    ["let i = c; i > c - n; i--", "i - c + 99"],
    ["let i = c; i < c + n; i++", "i - c"],
    ["let i = n; i >= c * 0; i -= 3", "i"],
    ["let i = 0; i * c < n * c; i++", "i"],
  ])("in what a loop counts: %s", (head, at) => {
    const loop = made(
      `(y, n, c) => { let t = 0; for (${head}) { if (t++ > 200) break; y.set([${at}], t); } return t; }`,
    );
    const plain = made(`(y, n, c) => { for (${head}) y.set([${at}], y.get(${at}) + 1); }`);
    for (const c of numbers) {
      sameAsPlain(loop, [60, c]);
      // Without an end of its own it must come to one.
      const isEndless = /i (<|>) c [+-] n/.test(head) && Math.abs(c) > 2 ** 52;
      if (!isEndless && c !== 0) sameAsPlain(plain, [60, c]);
    }
  });

  test.each(indices.filter((at) => !/[|>%M]|i \* c$/.test(at)))("in a parallel loop: %s", (at) => {
    const fn = made(
      `(y, n, c, d, { prange }) => { for (const i of prange(n, { independent: true })) y.set([${at}], i); }`,
    );
    const row = made(
      `(y, n, c, d, { prange }) => { for (const i of prange(n, { independent: true })) for (let j = 0; j < 4; j++) y.set([(${at}) * 4 + j], i + j); }`,
    );
    for (const c of numbers) {
      // Where all turns write one place, which of them comes last is chance.
      const distinct = new Set(
        Array.from({ length: 20 }, (_, i) => new Function("i", "c", "d", `return ${at}`)(i, c, 3)),
      );
      if (distinct.size < 20) continue;
      sameAsPlain(fn, [20, c, 3], true);
      sameAsPlain(row, [20, c, 3], true);
    }
  });
});
