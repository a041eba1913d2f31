/**
 * Kernels are read from their printed source, so they must survive what build tools print. Every kernel here goes
 * through esbuild, terser, swc and tsc as part of one program; the functions that come out are lowered and
 * specialised on f64 and on f32. Each must give the SAME program as the original text (`printProgram`), or, where
 * a minifier rewrote the algebra (`b < a` for `a > b`, `?:` turned round), compute the same values to the bit.
 * Tools that only lower syntax must give the same programs throughout.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync as swc } from "@swc/core";
import { transformSync as esbuild } from "esbuild";
import { minify_sync as terser } from "terser";
import { describe, expect, test } from "vitest";
import type { DType, Value } from "../../src/dtype.ts";
import { paramKind, paramValue, specialize } from "../../src/frontend/infer.ts";
import { isRefusal, lowerFunction } from "../../src/frontend/lower.ts";
import { captureValues } from "../../src/frontend/template.ts";
import { evaluator } from "../../src/ir/eval.ts";
import { printProgram } from "../../src/ir/print.ts";

type Captures = Record<string, number | boolean>;

/** The kernel as it is written, and the values passed with it. */
const kernels: readonly [source: string, captures?: Captures][] = [
  ["x => x + 100"],
  ["(a, b) => Math.max(a * b, 0)"],
  ["x => 0.5 * x * (1 + Math.tanh(0.79788456 * (x + 0.044715 * x * x * x)))"],
  ["(x, slope) => x > 0 ? x : slope * x", { slope: 0.01 }],
  ["(x, { scale, shift }) => x * scale + shift", { scale: 2.5, shift: -1 }],
  ["(x, y, { lo, hi }) => Math.min(Math.max(x + y, lo), hi)", { hi: 1, lo: -1 }],
  ["(x, flag) => flag ? x * x : -x", { flag: true }],
  ["x => { if (x < 0) return 0; if (x > 1) return 1; return x; }"],
  ["x => { if (x < 0) { x = -x; } return Math.sqrt(x); }"],
  ["x => { let y = x; if (y > 3) y -= 3; else if (y < -3) y += 3; return y * 2; }"],
  ["function relu6(x) { return Math.min(Math.max(0, x), 6); }"],
  ["x => { const sq = t => t * t; return sq(x) + sq(x + 1); }"],
  [
    "x => { function clamp(v, lo, hi) { return v < lo ? lo : v > hi ? hi : v; } return clamp(x, -1, 1) * 2; }",
  ],
  ["x => { let s = 0; for (let i = 0; i < 4; i++) s = s * x + i; return s; }"],
  ["(x, y) => x && y"],
  ["(x, y) => (x || y) + (x ?? y)"],
  ["(x, y) => { x ||= 2; y &&= x; x ??= 3; return x - y; }"],
  ["(x, y) => x > 0 && y > 0 ? x / y : Infinity"],
  ["x => Number.isNaN(x) ? -Infinity : x"],
  ["(x, y) => x ** 2 + y ** 3"],
  ["x => ((x | 0) & 255) ^ (x >>> 3)"],
  ["x => { const t = 1 / (1 + Math.exp(-x)); return t * (1 - t); }"],
  ["(re, im) => { const r = Math.hypot(re, im), a = Math.atan2(im, re); return Math.log(r) + a * a; }"],
  ["x => (x > 0) - (x < 0)"],
  ["x => { var t = x * 2 * Math.PI; return Math.sin(t) / (t === 0 ? 1 : t); }"],
  ["(x, y) => { const { abs, max } = Math; return max(abs(x), abs(y)); }"],
  ["x => x !== x || x === 1 / 0 ? true : x < 1e3"],
  ["(acc, x) => acc + (x > 0.5 ? 1 : 0)"],
  ["x => { let a = x, b = 1; a++; b += a--; return a * b - --b; }"],
];

const program = kernels
  .map(
    ([source, captures]) => `keep(${source}, ${captures === undefined ? "{}" : JSON.stringify(captures)});`,
  )
  .join("\n");

/** Runs a transformed program and gives the functions it kept. */
function functionsOf(code: string): { fn: (...args: number[]) => unknown; captures: Captures }[] {
  const kept: { fn: (...args: number[]) => unknown; captures: Captures }[] = [];
  new Function("keep", code)((fn: (...args: number[]) => unknown, captures: Captures) =>
    kept.push({ fn, captures }),
  );
  return kept;
}

/** For a text comparison, and values over a grid for the rest. */
function meaningOf(fn: ((...args: number[]) => unknown) | string, captures: Captures, dtype: DType) {
  const template = lowerFunction(fn, captures);
  if (isRefusal(template)) return { refusal: template.message };
  const values = captureValues(template, captures);
  const inputs = new Array<DType>(template.inputs).fill(dtype);
  const specialized = specialize(template, inputs, values.map(paramKind));
  const params = values.map((value, i) => paramValue(value, specialized.params[i]));
  const run = evaluator(specialized, params);
  const points = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 0.5, 0.25, 2.75, -3.5, 40, -300.125, 2 ** 33];
  const results: Value[] = [];
  for (const x of points) for (const y of points) results.push(run([x, y]));
  return { text: printProgram(specialized), results, dtype: specialized.dtype };
}

const scratch = mkdtempSync(join(tmpdir(), "strided-minify-"));

function tsc(target: string): string {
  const file = join(scratch, "kernels.js");
  writeFileSync(file, `${program}\n`);
  const bin = fileURLToPath(new URL("../../node_modules/typescript/lib/tsc.js", import.meta.url));
  const outDir = join(scratch, target);
  const options = ["--allowJs", "--ignoreConfig", "--removeComments", "--noCheck", "--types", ""];
  execFileSync(process.execPath, [bin, ...options, "--target", target, "--outDir", outDir, file]);
  const code = readFileSync(join(outDir, "kernels.js"), "utf8");
  return code;
}

const targets = ["es2015", "es2017", "es2020", "es2022", "esnext"] as const;

interface Tool {
  readonly name: string;
  readonly run: () => string;
  /** Only lowers syntax: every program must come out the same. */
  readonly exact: boolean;
  /** Kernels it turns into a call of a helper outside of them. */
  readonly outer?: RegExp;
}

const tools: readonly Tool[] = [
  ...targets.map(
    (target): Tool => ({
      name: `esbuild ${target}`,
      run: () => esbuild(program, { target, format: "iife" }).code,
      exact: true,
    }),
  ),
  ...targets.map((target): Tool => {
    const tool = {
      name: `esbuild --minify ${target}`,
      run: () => esbuild(program, { target, minify: true, format: "iife" }).code,
      exact: false,
    };
    // ** becomes a call of a renamed helper: kernels that use it are refused by name, not miscompiled.
    return target === "es2015" ? { ...tool, outer: /\*\*/ } : tool;
  }),
  {
    name: "esbuild keepNames",
    run: () => esbuild(program, { keepNames: true, format: "iife" }).code,
    exact: true,
  },
  ...([2015, 2020] as const).map(
    (ecma): Tool => ({
      name: `terser ecma ${ecma}`,
      run: () => terser(program, { ecma, toplevel: true }).code ?? "",
      exact: false,
    }),
  ),
  {
    name: "terser 3 passes, unsafe",
    run: () =>
      terser(program, { ecma: 2020, toplevel: true, compress: { passes: 3, unsafe: true } }).code ?? "",
    exact: false,
  },
  ...targets.map(
    (target): Tool => ({
      name: `swc ${target}`,
      run: () => swc(program, { jsc: { target, parser: { syntax: "ecmascript" } }, isModule: false }).code,
      exact: true,
    }),
  ),
  ...targets.map(
    (target): Tool => ({
      name: `swc minify ${target}`,
      run: () =>
        swc(program, {
          minify: true,
          isModule: false,
          jsc: {
            target,
            parser: { syntax: "ecmascript" },
            minify: { compress: true, mangle: { toplevel: true } },
          },
        }).code,
      exact: false,
    }),
  ),
  ...["ES2015", "ES2020", "ESNext"].map(
    (target): Tool => ({ name: `tsc ${target}`, run: () => tsc(target), exact: true }),
  ),
];

describe.each(tools)("$name", ({ run, exact, outer }) => {
  test("prints kernels that mean the same", () => {
    const kept = functionsOf(run());
    expect(kept).toHaveLength(kernels.length);
    kept.forEach(({ fn, captures }, i) => {
      const [source, given = {}] = kernels[i];
      for (const dtype of ["f64", "f32"] as const) {
        const want = meaningOf(source, given, dtype);
        const got = meaningOf(fn, captures, dtype);
        expect(want.refusal).toBeUndefined();
        if (outer?.test(source)) {
          expect(got.refusal).toMatch(/only Math\.\* functions are known/);
          continue;
        }
        const about = `${source}\nbecame ${fn}`;
        if (exact) expect(got, about).toEqual(want);
        else if (got.text !== want.text) {
          expect({ ...got, text: "" }, about).toEqual({ ...want, text: "" });
        }
      }
    });
  });
});

test("most minified kernels give the same program to the letter", () => {
  const code = terser(program, { ecma: 2020, toplevel: true }).code ?? "";
  const same = functionsOf(code).filter(({ fn, captures }, i) => {
    const want = meaningOf(kernels[i][0], kernels[i][1] ?? {}, "f32");
    return meaningOf(fn, captures, "f32").text === want.text;
  });
  expect(same.length).toBeGreaterThan(kernels.length * 0.7);
  rmSync(scratch, { recursive: true, force: true });
});
