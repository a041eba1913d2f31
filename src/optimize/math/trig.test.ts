/**
 * What is special about angles and arcs: JavaScript's table of special values to the bit, arguments next to multiples
 * of π/2, and what a function costs. math.test.ts measures accuracy over the whole range.
 */
import { describe, expect, test } from "vitest";
import { dtypes } from "../../dtype.ts";
import { Builder } from "../../ir/build.ts";
import { type Evaluator, evaluator } from "../../ir/eval.ts";
import type { Program } from "../../ir/node.ts";
import { verify } from "../../ir/verify.ts";
import { expandExact } from "../exact.ts";
import { rewrite } from "../rewrite.ts";
import { trigTable } from "./trig.ts";

const names = ["sin", "cos", "tan", "asin", "acos", "atan", "atan2"] as const;
type Name = (typeof names)[number];
type Float = "f32" | "f64";
const floats = ["f32", "f64"] as const;

function program(name: Name, d: Float, fma = false): Program {
  const b = new Builder();
  const inputs = name === "atan2" ? [d, d] : [d];
  const result = trigTable[name]!(
    b,
    inputs.map((_, i) => b.input(i, d)),
    { fma },
  );
  const expanded = expandExact(verify(b.finish(result, inputs), name));
  // Rebuilt without a rule: only what the result needs.
  return verify(
    rewrite(expanded, () => null),
    "exact",
  );
}

const compute = (name: Name, d: Float, fma = false): Evaluator => evaluator(program(name, d, fma));
const round = (d: Float, x: number) => dtypes[d].wrap(x) as number;

describe("special values are JavaScript's, to the bit", () => {
  const { NaN: nan, POSITIVE_INFINITY: inf, MIN_VALUE: tiny } = Number;
  const specials = [0, -0, nan, inf, -inf, tiny, -tiny, 1e-45, -1e-45];
  for (const d of floats) {
    for (const name of names.slice(0, 6) as (keyof Math & Name)[]) {
      test(`${name} of ${d}`, () => {
        const run = compute(name, d);
        for (const x of [...specials, 1, -1].map((x) => round(d, x))) {
          if (Math.abs(x) === 1 && ["sin", "cos", "tan"].includes(name)) continue;
          const want = round(d, (Math[name] as (x: number) => number)(x));
          expect(run([x]), `${name}(${Object.is(x, -0) ? "-0" : x})`).toBe(want);
        }
      });
    }

    test(`atan2 of ${d}`, () => {
      const run = compute("atan2", d);
      const all = [0, -0, nan, inf, -inf, 1, -1].map((x) => round(d, x));
      for (const y of all) {
        for (const x of all) expect(run([y, x]), `atan2(${y}, ${x})`).toBe(round(d, Math.atan2(y, x)));
      }
    });

    test(`asin and acos of ${d} beyond 1 are NaN`, () => {
      for (const name of ["asin", "acos"] as const) {
        const run = compute(name, d);
        for (const x of [1.0000002, -1.0000002, 2, -1e30, inf]) expect(run([round(d, x)])).toBeNaN();
      }
    });
  }
});

/** The next double or float, `steps` further. */
function step(d: Float, x: number, steps: number): number {
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - (d === "f32" ? 23 : 52));
  return round(d, x + steps * unit);
}

describe("next to multiples of π/2, where most of x cancels", () => {
  for (const d of floats) {
    for (const name of ["sin", "cos", "tan"] as const) {
      for (const fma of [false, true]) {
        test(`${name} of ${d}${fma ? ", fused" : ""} is within 2 ulp`, () => {
          const run = compute(name, d, fma);
          // f64: the multiples of π/2 below 2e5 with the closest doubles are multiples of these
          const turns = d === "f32" ? [1] : [1, 29, 58, 14479, 29327, 58285, 116570];
          const count = d === "f32" ? 8000 : 400;
          for (const turn of turns) {
            for (let n = 1; n <= count && turn * n < 127_000; n++) {
              for (let s = -2; s <= 2; s++) {
                const x = step(d, round(d, (turn * n * Math.PI) / 2), s);
                const want = Math[name](x);
                const ulp = 2 ** (Math.floor(Math.log2(Math.abs(want))) - (d === "f32" ? 23 : 52));
                const off = Math.abs((run([x]) as number) - want) / ulp;
                if (!(off <= 2)) expect.fail(`${name}(${x}): ${off} ulp`);
              }
            }
          }
        });
      }
    }
  }
});

test("what each function costs, in nodes without constants and bit casts", () => {
  const cost = (name: Name, d: Float, fma: boolean) =>
    program(name, d, fma).nodes.filter(({ op }) => op !== "const" && op !== "bitcast" && op !== "input")
      .length;
  const rows = names.map((name) => [
    name,
    ...floats.flatMap((d) => [cost(name, d, false), cost(name, d, true)]),
  ]);
  expect(rows.map((row) => row.join(" "))).toMatchInlineSnapshot(`
    [
      "sin 32 22 61 49",
      "cos 33 24 62 50",
      "tan 32 22 74 62",
      "asin 26 22 52 40",
      "acos 33 29 58 46",
      "atan 30 22 46 35",
      "atan2 42 34 58 47",
    ]
  `);
});
