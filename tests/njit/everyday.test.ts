/** Programs that people bring along, compiled beside plain, on layouts that nobody wrote them for. */
import { expect, test } from "vitest";
import { njit, scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import type { Njit, NjitValue } from "../../src/njit/njit.ts";
import { plain } from "./compare.ts";

/** Both ways from the same start: results and everything that was written. */
function same(fn: Njit, make: () => NjitValue[]): unknown {
  return scope(() => {
    const [a, b] = [make(), make()];
    const [got, want] = [fn(...a), fn.plain(...b)];
    expect(got).toEqual(want);
    expect(a.map(plain)).toEqual(b.map(plain));
    return got;
  });
}

const noise = (n: number, seed: number) =>
  Float64Array.from({ length: n }, (_, i) => ((Math.imul(i + seed * 977, 0x9e3779b1) >>> 8) % 1000) / 1000);

const fft = njit((re, im) => {
  const n = re.shape[0];
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const [x, y] = [re.get(i), im.get(i)];
      re.set([i], re.get(j));
      im.set([i], im.get(j));
      re.set([j], x);
      im.set([j], y);
    }
  }
  for (let len = 2; len <= n; len *= 2) {
    for (let k = 0; k < len / 2; k++) {
      // Exact on both sides: no sine.
      const t = k / len;
      const [wr, wi] = [1 - 2 * t * t, -2 * t];
      for (let i = k; i < n; i += len) {
        const o = i + len / 2;
        const [x, y] = [re.get(o) * wr - im.get(o) * wi, re.get(o) * wi + im.get(o) * wr];
        re.set([o], re.get(i) - x);
        im.set([o], im.get(i) - y);
        re.set([i], re.get(i) + x);
        im.set([i], im.get(i) + y);
      }
    }
  }
});

test("a transform in place, on columns and backwards", () => {
  for (const n of [1, 2, 8, 64]) {
    const both = () => tensor(noise(2 * n, n)).reshape([n, 2]) as Tensor;
    same(fft, () => {
      const t = both();
      return [t.slice(":", 0) as Tensor, t.slice("::-1", 1) as Tensor];
    });
    same(fft, () => [tensor(noise(n, 1)) as Tensor, zeros([n], { dtype: "f64" })]);
  }
});

const quicksort = njit((a, stack: Int32Array) => {
  let top = 0;
  stack[top++] = 0;
  stack[top++] = a.shape[0] - 1;
  let swaps = 0;
  while (top > 0) {
    const high = stack[--top];
    const low = stack[--top];
    if (low >= high) continue;
    const pivot = a.get((low + high) >> 1);
    let [i, j] = [low, high];
    while (i <= j) {
      while (a.get(i) < pivot) i++;
      while (a.get(j) > pivot) j--;
      if (i <= j) {
        const t = a.get(i);
        a.set([i], a.get(j));
        a.set([j], t);
        swaps++;
        i++;
        j--;
      }
    }
    stack[top++] = low;
    stack[top++] = j;
    stack[top++] = i;
    stack[top++] = high;
  }
  return swaps;
});

test("quicksort with a stack of its own", () => {
  for (const n of [0, 1, 2, 50, 300]) {
    same(quicksort as Njit, () => [
      (tensor(noise(2 * n, n)) as Tensor).slice("::-2") as Tensor,
      new Int32Array(200),
    ]);
  }
  // A stack that is too small is an error of both, at the same index.
  const run = (go: Njit | Njit["plain"]) => () =>
    scope(() => go(tensor(noise(300, 3)) as Tensor, new Int32Array(6)));
  let message = "";
  try {
    run(quicksort as Njit)();
  } catch (error) {
    message = (error as Error).message.split(" (line")[0];
  }
  expect(message).toMatch(/index 6 is out of range/);
  expect(run((quicksort as Njit).plain)).toThrow(message);
});

const components = njit((label, image, stack) => {
  const [h, w] = image.shape;
  let count = 0;
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      if (!image.get(i, j) || label.get(i, j) !== 0) continue;
      count++;
      let top = 0;
      stack.set([top++], i * w + j);
      label.set([i, j], count);
      while (top > 0) {
        const at = stack.get(--top);
        const [y, x] = [Math.floor(at / w), at % w];
        for (let d = 0; d < 4; d++) {
          const ny = y + (d === 0 ? -1 : d === 1 ? 1 : 0);
          const nx = x + (d === 2 ? -1 : d === 3 ? 1 : 0);
          if (ny < 0 || ny >= h || nx < 0 || nx >= w) continue;
          if (image.get(ny, nx) && label.get(ny, nx) === 0) {
            label.set([ny, nx], count);
            stack.set([top++], ny * w + nx);
          }
        }
      }
    }
  }
  return count;
});

test("connected components, of a transposed image", () => {
  for (const [h, w] of [
    [0, 5],
    [1, 1],
    [13, 9],
  ]) {
    const image = () =>
      ((tensor(noise(h * w, 5)).reshape([w, h]) as Tensor).map((x) => x < 0.55) as Tensor).T as Tensor;
    same(components, () => [zeros([h, w], { dtype: "i32" }), image(), zeros([h * w + 1], { dtype: "i32" })]);
  }
});

const sudoku = njit((grid: Uint8Array, given: Uint8Array) => {
  let at = 0;
  let steps = 0;
  let back = false;
  while (at >= 0 && at < 81) {
    steps++;
    if (given[at] !== 0) {
      at += back ? -1 : 1;
      continue;
    }
    let v = grid[at] + 1;
    grid[at] = 0;
    const [row, column] = [Math.floor(at / 9), at % 9];
    for (; v <= 9; v++) {
      let isFree = true;
      for (let k = 0; k < 9 && isFree; k++) {
        const box = (row - (row % 3) + Math.floor(k / 3)) * 9 + column - (column % 3) + (k % 3);
        if (grid[row * 9 + k] === v || grid[k * 9 + column] === v || grid[box] === v) isFree = false;
      }
      if (isFree) break;
    }
    back = v > 9;
    if (!back) grid[at] = v;
    at += back ? -1 : 1;
  }
  return [at, steps];
});

test("sudoku by going back", () => {
  const puzzle = "530070000600195000098000060800060003400803001700020006060000280000419005000080079";
  const made = () => Uint8Array.from(puzzle, Number);
  expect((same(sudoku as Njit, () => [made(), made()]) as number[])[0]).toBe(81);
});

const march = njit((out, n, { prange }) => {
  const sphere = (x: number, y: number, z: number, r: number) => Math.sqrt(x * x + y * y + z * z) - r;
  for (const i of prange(n)) {
    for (let j = 0; j < n; j++) {
      const [dx, dy] = [(2 * j) / n - 1, (2 * i) / n - 1];
      const length = Math.sqrt(dx * dx + dy * dy + 1);
      let [t, hit, k] = [0, false, 0];
      for (; k < 40; k++) {
        const [x, y, z] = [(dx / length) * t, (dy / length) * t, t / length - 3];
        const d = Math.min(sphere(x, y, z, 1), sphere(x - 1, y - 0.5, z + 0.5, 0.4));
        if (d < 1e-3) {
          hit = true;
          break;
        }
        t += d;
        if (t > 20) break;
      }
      out.set([i, j], hit ? k + t / 100 : -1);
    }
  }
});

test("a ray marcher, into every second column", () => {
  same(march, () => [zeros([17, 34], { dtype: "f64" }).slice(":", "::2") as Tensor, 17]);
});

const search = njit((text: Uint8Array, word: Uint8Array, next: Int32Array, found) => {
  next[0] = 0;
  for (let i = 1, k = 0; i < word.length; i++) {
    while (k > 0 && word[i] !== word[k]) k = next[k - 1];
    if (word[i] === word[k]) k++;
    next[i] = k;
  }
  let count = 0;
  for (let i = 0, k = 0; i < text.length; i++) {
    while (k > 0 && text[i] !== word[k]) k = next[k - 1];
    if (text[i] === word[k]) k++;
    if (k === word.length) {
      found.set([count++], i - k + 1);
      k = next[k - 1];
    }
  }
  return count;
});

test("a word in a text", () => {
  const bytes = (s: string) => new TextEncoder().encode(s);
  const found = () => zeros([80], { dtype: "i32" }).slice("::-2") as Tensor;
  expect(
    same(search as Njit, () => [bytes("abababcababab"), bytes("abab"), new Int32Array(4), found()]),
  ).toBe(4);
  expect(same(search as Njit, () => [bytes("aaaa"), bytes("b"), new Int32Array(1), found()])).toBe(0);
});

const lru = njit((requests, cache: Int32Array, used: Int32Array) => {
  let misses = 0;
  for (let t = 0; t < requests.shape[0]; t++) {
    const page = requests.get(t);
    let at = -1;
    for (let k = 0; k < cache.length; k++) if (cache[k] === page) at = k;
    if (at < 0) {
      misses++;
      at = 0;
      for (let k = 1; k < cache.length; k++) if (used[k] < used[at]) at = k;
      cache[at] = page;
    }
    used[at] = t + 1;
  }
  return misses;
});

test("a cache that forgets what was used longest ago", () => {
  for (const slots of [1, 3, 8]) {
    const pages = () =>
      tensor(noise(200, 9))
        .map((x) => Math.floor(x * x * 12))
        .to("u8") as Tensor;
    same(lru as Njit, () => [
      pages().flip(0) as Tensor,
      new Int32Array(slots).fill(-1),
      new Int32Array(slots),
    ]);
  }
});
