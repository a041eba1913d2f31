/**
 * njit functions are read from their printed source, so they must survive what build tools print: each goes through
 * esbuild, terser and swc as part of one program, and what comes out gives what the original gives, to the bit, on f64 and
 * on f32, where literals must stay literals.
 */
import { transformSync as swc } from "@swc/core";
import { transformSync as esbuild } from "esbuild";
import { minify_sync as terser } from "terser";
import { describe, expect, test } from "vitest";
import { type DType, scope, zeros } from "../../src/index.ts";
import { type NjitValue, njit } from "../../src/njit/njit.ts";
import { difference, outcome } from "./compare.ts";
import { randomTensor } from "./programs.ts";

type Fn = (...args: never[]) => unknown;
interface Source {
  readonly text: string;
  readonly captures?: string;
  readonly make: (dtype: DType) => NjitValue[];
}

const sources: readonly Source[] = [
  {
    text: `(out, a, b, { prange }) => {
      const [n, k] = a.shape;
      for (const i of prange(n)) {
        for (let j = 0; j < b.shape[1]; j++) {
          let acc = 0;
          for (let p = 0; p < k; p++) acc += a.get(i, p) * b.get(p, j);
          out.set([i, j], acc);
        }
      }
    }`,
    make: (d) => [zeros([3, 4], { dtype: d }), randomTensor([3, 5], d, 1), randomTensor([5, 4], d, 2)],
  },
  {
    text: `(out, a, n, m, { prange: range, weight }) => {
      let sum = 0, most = -Infinity;
      for (const i of range(n)) {
        const row = i * m;
        const window = [0, 0, 0];
        for (let j = 0; j < m; j++) {
          window[j % 3] += a[row + j];
          out[row + j] = weight(window[0], window[1]) - window[2];
          if (a[row + j] > 0.5) sum += 1;
        }
        most = Math.max(most, window[1]);
      }
      for (const i of range(1, n, 2)) out[i * m] *= 2;
      return [sum, most];
    }`,
    captures: "{ weight: (x, y) => x * 2 + y }",
    make: () => [
      new Float64Array(40),
      (randomTensor([40], "f64", 8).toTypedArray() as Float64Array).slice(),
      8,
      5,
    ],
  },
  {
    text: `(out, a, { scale, shift, twice }) => {
      const quarter = 0.25;
      let clipped = 0;
      for (let i = 0; i < a.shape[0]; i++) {
        let x = a.get(i) * scale + shift;
        if (x < 0) {
          x = 0;
          clipped++;
        } else if (x > 1) {
          x = 1;
          clipped++;
        }
        out.set([i], twice(x) * quarter);
      }
      return clipped;
    }`,
    captures: "{ scale: 2.5, shift: -0.3, twice: (x) => x + x }",
    make: (d) => [zeros([20], { dtype: d }), randomTensor([20], d, 3)],
  },
  {
    text: `(a) => {
      const n = a.shape[0];
      let best = -Infinity, at = -1;
      outer: for (let i = 0; i < n; i++) {
        for (let j = 0; j < i; j++) if (a.get(j) === a.get(i)) continue outer;
        if (a.get(i) > best) {
          best = a.get(i);
          at = i;
        }
      }
      return [best, at, at >= 0];
    }`,
    make: (d) => [randomTensor([17], d, 4)],
  },
  {
    text: `function collatz(out, n) {
      for (let i = 1; i <= n; i++) {
        let x = i, steps = 0;
        while (x !== 1) {
          x = x % 2 === 0 ? x / 2 : 3 * x + 1;
          steps++;
          if (steps > 500) break;
        }
        out[i - 1] = steps;
      }
    }`,
    make: () => [new Int32Array(30), 30],
  },
  {
    text: `(a, b) => {
      const swap = (i, j) => {
        const t = a.get(i);
        a.set([i], a.get(j));
        a.set([j], t);
      };
      const { abs } = Math;
      for (let i = a.shape[0] - 1; i > 0; i--) {
        for (let j = 0; j < i; j++) if (abs(a.get(j)) > abs(a.get(j + 1))) swap(j, j + 1);
      }
      const window = [0, 0, 0];
      let k = 0;
      do {
        window[k % 3] += a.get(k);
        b.set([k], window[0] - window[1] + window[2] * 0.5);
        k++;
      } while (k < a.shape[0]);
      return k > 3 && !(b.get(0) > 100) ? 1 : 0;
    }`,
    make: (d) => [randomTensor([11], d, 5), zeros([11], { dtype: d })],
  },
  {
    text: `(out, a) => {
      for (let i = 0; i < a.shape[0]; i++) {
        const x = a.get(i);
        const y = x > 0.5 ? x * 0.1 : 0.3;
        let z;
        if (y > 0.08) z = y;
        else z = 0;
        out.set([i], y + z);
      }
    }`,
    make: (d) => [zeros([20], { dtype: d }), randomTensor([20], d, 6)],
  },
];

const program = sources.map(({ text, captures = "{}" }) => `keep(${text}, ${captures});`).join("\n");

function kept(code: string): { fn: Fn; captures: Record<string, unknown> }[] {
  const all: { fn: Fn; captures: Record<string, unknown> }[] = [];
  new Function("keep", code)((fn: Fn, captures: Record<string, unknown>) => all.push({ fn, captures }));
  return all;
}

const targets = ["es2015", "es2020", "esnext"] as const;
const swcOptions = (target: (typeof targets)[number], minify: boolean) => ({
  minify,
  isModule: false,
  jsc: {
    target,
    parser: { syntax: "ecmascript" as const },
    ...(minify ? { minify: { compress: true, mangle: { toplevel: true } } } : {}),
  },
});
const tools: readonly (readonly [string, () => string])[] = [
  ...targets.flatMap((target): [string, () => string][] => [
    [`esbuild ${target}`, () => esbuild(program, { target, format: "iife" }).code],
    [`esbuild --minify ${target}`, () => esbuild(program, { target, minify: true, format: "iife" }).code],
    [`swc ${target}`, () => swc(program, swcOptions(target, false)).code],
    [`swc minify ${target}`, () => swc(program, swcOptions(target, true)).code],
  ]),
  ["esbuild keepNames", () => esbuild(program, { keepNames: true, format: "iife" }).code],
  ["terser", () => terser(program, { ecma: 2020, toplevel: true }).code ?? ""],
  [
    "terser 3 passes, unsafe",
    () => terser(program, { ecma: 2020, toplevel: true, compress: { passes: 3, unsafe: true } }).code ?? "",
  ],
];

const originals = kept(program);

describe.each(tools)("%s", (_, transform) => {
  test("prints njit functions that do the same", () => {
    const transformed = kept(transform());
    expect(transformed).toHaveLength(sources.length);
    transformed.forEach(({ fn, captures }, i) => {
      const [was, is] = [njit(originals[i].fn, originals[i].captures), njit(fn, captures)];
      for (const dtype of ["f64", "f32"] as const) {
        scope(() => {
          const [a, b] = [sources[i].make(dtype), sources[i].make(dtype)];
          const found = difference(outcome(is(...a), a), outcome(was(...b), b));
          expect(found, `${dtype}: ${fn}`).toBeNull();
        });
      }
    });
  });
});
