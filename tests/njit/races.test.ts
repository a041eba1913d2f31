/** Which prange loops are taken, and which are refused, with what words. */
import { describe, expect, test } from "vitest";
import { TensorError } from "../../src/index.ts";
import { njit } from "../../src/njit/njit.ts";

type Fn = (...args: never[]) => unknown;
const made = (body: string) =>
  njit(
    new Function(
      `return ((y, x, a, b, n, m, { prange }) => { let acc = 0, best = 0; ${body} return acc + best; })`,
    )() as Fn,
  );

function refusal(body: string): string {
  try {
    made(body);
  } catch (error) {
    if (error instanceof TensorError && error.code === "kernel") return error.message;
    throw error;
  }
  return "taken";
}
const loop = (body: string, bounds = "n") => refusal(`for (const i of prange(${bounds})) { ${body} }`);

describe("refused, with the iterations that share an element", () => {
  test("what Numba computes, wrongly", () => {
    expect(refusal("for (const i of prange(n)) y[i % 4] += x[i];")).toMatchInlineSnapshot(`
      "njit: iterations i and i + 4 of this prange loop share y[i % 4].
        …}) => { let acc = 0, best = 0; for (const i of prange(n)) y[i % 4] += x[i]; return acc + best; }
                                                                   ^^^^^^^^
        To add up, use a variable: acc += f is kept for each thread. Let each iteration write elements of its own, such as y[i], or write a plain for loop."
    `);
    expect(refusal("for (const i of prange(1, n)) a.set([i], a.get(i - 1) + 1);")).toMatchInlineSnapshot(`
      "njit: iterations i and i - 1 of this prange loop share a[…]: one writes a[i], the other reads a[i - 1].
        … = 0, best = 0; for (const i of prange(1, n)) a.set([i], a.get(i - 1) + 1); return acc + best; }
                                                                  ^^^^^^^^^^^^
        Read from one array and write to another, or write a plain for loop: its iterations run in order."
    `);
  });

  test("elements that every iteration writes, or may write", () => {
    expect(loop("y[0] += x[i];")).toMatchInlineSnapshot(`
      "njit: every iteration of this prange loop writes y[0]: no index depends on i.
        …}) => { let acc = 0, best = 0; for (const i of prange(n)) { y[0] += x[i]; } return acc + best; }
                                                                     ^^^^
        To add up, use a variable: acc += f is kept for each thread. Let each iteration write elements of its own, such as y[i], or write a plain for loop."
    `);
    expect(loop("y[x[i]] = 1;")).toMatchInlineSnapshot(`
      "njit: two iterations of this prange loop may share y[x[i]]; whether they do cannot be told.
        … }) => { let acc = 0, best = 0; for (const i of prange(n)) { y[x[i]] = 1; } return acc + best; }
                                                                      ^^^^^^^
        Let each iteration write elements of its own, such as y[i]; where you know that they are, say so: prange(n, { independent: true })."
    `);
    expect(loop("for (let j = 0; j < m; j++) a.set([j, i], a.get(i, j));")).toMatchInlineSnapshot(`
      "njit: two iterations of this prange loop may share a[…]: one writes a[j, i], the other reads a[i, j].
        …i of prange(n)) { for (let j = 0; j < m; j++) a.set([j, i], a.get(i, j)); } return acc + best; }
                                                                     ^^^^^^^^^^^
        Let each iteration write elements of its own, such as a[i]; where you know that they are, say so: prange(n, { independent: true })."
    `);
  });

  test("variables that are carried along, or read afterwards", () => {
    expect(loop("acc = acc * 10 + i;")).toMatchInlineSnapshot(`
      "njit: "acc" is carried from one iteration of a prange loop to the next; they run in no particular order.
        …{ let acc = 0, best = 0; for (const i of prange(n)) { acc = acc * 10 + i; } return acc + best; }
                                                                     ^^^
        Declare it inside the loop, or let each iteration only add to it: acc += f, acc -= f, acc *= f, acc = Math.min(acc, f), acc = Math.max(acc, f)."
    `);
    expect(loop("best = i;")).toMatchInlineSnapshot(`
      "njit: "best" is set by every iteration of a prange loop and read after it; which comes last is not known.
        …nge }) => { let acc = 0, best = 0; for (const i of prange(n)) { best = i; } return acc + best; }
                                                                         ^^^^
        Declare it inside the loop, or write it into an element of the iteration's own."
    `);
  });

  test("in a function that is called: what was given to it", () => {
    expect(
      refusal(
        "const put = (p, v) => { y[p] = v; }; for (const i of prange(n)) { put(i, 1); put(i + 1, 2); }",
      ),
    ).toMatchInlineSnapshot(`
      "njit: iterations i and i + 1 of this prange loop share y[…]: one writes y[i], the other writes y[i + 1].
        …const put = (p, v) => { y[p] = v; }; for (const i of prange(n)) { put(i, 1); put(i + 1, 2); } re…
                                 ^^^^
        Let each iteration write elements of its own, such as y[i], or write a plain for loop."
    `);
    expect(
      refusal(
        "const put = (p, v) => { const q = p; y[q] = v; }; for (const i of prange(n)) { put(n - i, 1); put(i + 1, 2); }",
      ),
    ).toMatch(/one writes y\[n - i\], the other writes y\[i \+ 1\]/);
  });

  test("a loop inside of a parallel one", () => {
    expect(loop("for (const j of prange(m)) y[i * m + j] = 1;")).toMatchInlineSnapshot(`
      "njit: cannot run a prange loop inside of another; the iterations of the outer one are on all threads already.
        …for (const i of prange(n)) { for (const j of prange(m)) y[i * m + j] = 1; } return acc + best; }
                                                      ^^^^^^^^^
        Count: for (let j = 0; j < n; j++)."
    `);
  });

  test.each([
    ["y[i] = y[i + 1];", /iterations i and i \+ 1 .* share y/],
    ["y[2 * i] = 1; y[2 * i + 2] = 2;", /iterations i and i \+ 1 .* share y/],
    ["y[i] = 1; y[n - i] = 2;", /may share y/],
    ["y[i >> 1] = x[i];", /may share y\[i >> 1\]/],
    ["y[i * i] = 1;", /may share y\[i \* i\]/],
    ["for (let j = 0; j <= m; j++) y[i * m + j] = 1;", /may share y/],
    ["for (let j = -1; j < m; j++) y[i * m + j] = 1;", /may share y/],
    ["for (let j = 0; j < m; j++) y[i * n + j] = 1;", /may share y/],
    ["for (let j = 0; j < m; j++) { y[i * m + j] = 1; if (x[j]) j += 2; }", /may share y/],
    ["let j = 0; for (; j < m; j++) x[i]; y[i * m + j] = 1;", /may share y/],
    ["for (let j = 0; j < m; j++) y[j] += 1;", /no index depends on i/],
    ["const k = i; y[k % 3] = 1;", /iterations i and i \+ 3/],
    ["a.set([i, 0], a.get(0, i));", /may share a/],
    ["acc += x[i]; y[i] = acc;", /"acc" is carried/],
    ["if (x[i] > best) best = x[i];", /"best" is carried/],
    ["acc += x[i]; acc *= 2;", /"acc" is carried/],
    ["acc = x[i] - acc;", /"acc" is carried/],
    ["acc += acc;", /"acc" is carried/],
    ["const f = () => { best = i; }; f();", /"best" is set by every iteration/],
  ])("%s", (body, words) => {
    expect(loop(body)).toMatch(words);
  });

  test("an array of the function's own that was made outside", () => {
    expect(refusal("const w = [0, 0]; for (const i of prange(n)) w[i & 1] += 1; acc = w[0];")).toMatch(
      /may share w\[i & 1\]/,
    );
  });
});

describe("taken", () => {
  test.each([
    "y[i] = x[i] + x[i + 1];",
    "y[i] += 1;",
    "y[n - i] = y[n - i] * 2;",
    "y[3 * i + 2] = y[3 * i];",
    "y[2 * i] = y[2 * i + 3];",
    "y[i] = y[i + n];",
    "y[i * m] = 1;",
    "for (let j = 0; j < m; j++) y[i * m + j] = y[i * m];",
    "for (let j = m - 1; j >= 0; j -= 2) y[i * m + j] = 1;",
    "for (let j = 1; j <= m; j++) y[i * m + j] = 1;",
    "const row = i * m; for (let j = 0; j < m; j++) y[row + j] = 1;",
    "for (let j = 0; j < n; j++) for (let k = 0; k < m; k++) y[(i * n + j) * m + k] += 1;",
    "for (let j = 0; j < i; j++) { a.set([i, j], a.get(i, j) + 1); y[i * n + j] = 1; }",
    "for (let j = 0; j < m; j++) a.set([j, i], a.get(j, i) * 2);",
    "a.set([0, i], a.get(1, i + 1));",
    "y[i | 0] = 1;",
    "const w = [0, 0]; w[i & 1] += 1; y[i] = w[0];",
    "let t; if (x[i] > 0) t = 1; else t = 2; y[i] = t;",
    "const put = (k, v) => { y[k] = v; }; put(i, 2);",
    "acc += x[i]; acc -= 2; acc++;",
    "for (let j = 0; j < m; j++) if (x[j] > 0) acc += x[i] * x[j];",
    "acc *= x[i];",
    "best = Math.max(best, x[i], x[i + 1]); acc = Math.min(x[i], acc);",
    "acc = acc + x[i] + 1;",
    "if (x[i] > 0) continue; y[i] = 1;",
  ])("%s", (body) => {
    expect(loop(body)).toBe("taken");
  });

  test("steps, and what its author vouches for", () => {
    expect(loop("y[i] = 1; y[i + 3] = 2;", "0, n, 4")).toBe("taken");
    expect(loop("y[i] = 1; y[i + 4] = 2;", "0, n, 4")).toMatch(/share y/);
    expect(loop("y[x[i]] = 1;", "n, { independent: true }")).toBe("taken");
    expect(loop("acc = acc * 2 + x[i];", "n, { independent: true }")).toMatch(/"acc" is carried/);
  });

  test("prange loops one after another, inside of plain ones", () => {
    expect(
      refusal(
        "for (let t = 0; t < 9; t++) { for (const i of prange(1, n)) y[i] = x[i - 1]; for (const i of prange(n)) x[i] = y[i]; }",
      ),
    ).toBe("taken");
  });
});
