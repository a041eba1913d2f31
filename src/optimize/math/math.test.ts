/**
 * Every decomposition, through the interpreter: with and without fused multiply-add, on f32 and f64, at special values
 * and within its bound of ulps. f32 is measured against JavaScript's Math, whose own error is far below; f64 against
 * tests/accuracy/references.json.gz. STRIDED_DENSE=1 takes a thousand times the f32 points.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import type { DType, Value } from "../../dtype.ts";
import { dtypes } from "../../dtype.ts";
import { Builder } from "../../ir/build.ts";
import { type Evaluator, evaluator } from "../../ir/eval.ts";
import type { Program } from "../../ir/node.ts";
import { isOp, type OpName, ops } from "../../ir/ops.ts";
import { verify } from "../../ir/verify.ts";
import { decompose, decompositions, widenHalf } from "../decompose.ts";

type Float = "f32" | "f64";

const unary = [
  "exp",
  "exp2",
  "expm1",
  "log",
  "log2",
  "log10",
  "log1p",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh",
  "asinh",
  "acosh",
  "atanh",
  "cbrt",
  "sigmoid",
] as const satisfies readonly OpName[];
const binary = ["atan2", "hypot", "pow"] as const satisfies readonly OpName[];
const functions = [...unary, ...binary];
type Function = (typeof functions)[number];

const dense = process.env.STRIDED_DENSE === "1";
const POINTS = dense ? 4_000_000 : 5_000;
const modes = [false, true] as const;

/** The bound in ulps: exactly representable results must come within it too. */
function boundOf(op: Function, dtype: Float): number {
  return dtype === "f32" && ["exp", "log", "tanh", "sigmoid"].includes(op) ? 1 : 2;
}

function program(op: OpName, dtype: DType, fma: boolean): Program {
  const b = new Builder();
  const args = Array.from({ length: ops[op].arity }, (_, i) => b.input(i, dtype));
  const plain = b.finish(
    b.op(op, ...args),
    args.map(() => dtype),
  );
  return verify(decompose(plain, { fma }), "decompose");
}

/** a = high + low, each of 26 bits, so that products of such halves are exact. */
function halves(a: number): [number, number] {
  const c = a * 134217729;
  const high = c - (c - a);
  return [high, a - high];
}

/** a·b + c with one rounding (or as good as): the interpreter's f64 madd has two. */
function fused(a: number, b: number, c: number): number {
  const product = a * b;
  const plain = product + c;
  if (!(Math.abs(a) < 2 ** 900 && Math.abs(b) < 2 ** 900 && Math.abs(product) > 2 ** -900)) return plain;
  const [p, q] = halves(a);
  const [r, s] = halves(b);
  const lostProduct = p * r - product + p * s + q * r + q * s;
  const part = plain - product;
  const lostSum = product - (plain - part) + (c - part);
  const exact = plain + (lostProduct + lostSum);
  return Number.isFinite(exact) ? exact : plain;
}

const compiled = new Map<string, Evaluator>();
function evaluate(op: OpName, dtype: DType, fma: boolean): Evaluator {
  const key = `${op} ${dtype} ${fma}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  // An evaluator takes its operations when it is made
  const madd = ops.madd as { eval: (a: number, b: number, c: number) => number };
  const plain = madd.eval;
  if (dtype === "f64") madd.eval = fused;
  const made = evaluator(program(op, dtype, fma));
  madd.eval = plain;
  compiled.set(key, made);
  return made;
}

/** Unit in the last place at x, which is not rounded to the dtype. */
function ulpAt(x: number, dtype: Float): number {
  const [digits, least] = dtype === "f32" ? [23, -126] : [52, -1022];
  const size = Math.abs(x);
  let e = Math.floor(Math.log2(size));
  if (size < 2 ** e) e--;
  else if (size >= 2 ** (e + 1)) e++;
  return 2 ** (Math.max(e, least) - digits);
}

/** |got - (high + low)| in ulps; what overflows by rounding counts as one step beyond the largest. */
function ulps(got: number, high: number, low: number, dtype: Float): number {
  if (Object.is(got, high) && low === 0) return 0;
  if (Number.isNaN(got) || Number.isNaN(high)) return Number.isNaN(got) && Number.isNaN(high) ? 0 : Infinity;
  if (!Number.isFinite(high)) return got === high ? 0 : Infinity;
  if (!Number.isFinite(got)) {
    const { max } = dtypes[dtype];
    return Math.abs(high) > (max as number) * 0.9999999 && Math.sign(got) === Math.sign(high) ? 1 : Infinity;
  }
  const unit = ulpAt(high === 0 ? 0 : high, dtype);
  return Math.abs((got - high) / unit - low / unit);
}

const worst = new Map<string, { ulps: number; at: string }>();
function note(op: Function, dtype: Float, fma: boolean, error: number, at: readonly number[]): void {
  const key = `${op} ${dtype} ${fma}`;
  const known = worst.get(key);
  if (known === undefined || error > known.ulps) worst.set(key, { ulps: error, at: at.join(", ") });
}

const specials = [
  0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 4, 8, -27, 10, 100, 1000, 0.1, -0.1, 1e-10, -1e-10, 1e10, -1e10, 1e22,
  Math.PI, -Math.PI, Math.PI / 2, Math.PI / 4, Math.LN2 / 2, Math.SQRT2, Math.SQRT1_2, 88.7228, 88.723, 89, -87.4,
  -103.9, -104, 709.78, 709.79, 710.4758, 710.476, -745.13, -745.14, -708.4, 127.999999, 128, 1023.9999999999, 1024,
  -149, -149.5, -150, -151, -1074, -1074.5, -1075, -1076, 6400, 6401, 1.6e6, 1.7e6, NaN, Infinity, -Infinity,
]; // biome-ignore format: a table
const edges: Record<Float, readonly number[]> = {
  f32: [2 ** -149, -(2 ** -149), 2 ** -126, 1e-40, -1e-40, 3.4028234663852886e38, -3.4028234663852886e38],
  f64: [5e-324, -5e-324, 2 ** -1022, 1e-310, -1e-310, Number.MAX_VALUE, -Number.MAX_VALUE, 1e300],
};

function specialPoints(dtype: Float): number[] {
  return [...specials, ...edges[dtype]].map((x) => dtypes[dtype].wrap(x) as number);
}

describe("special values are JavaScript's", () => {
  for (const dtype of ["f32", "f64"] as const) {
    for (const op of functions) {
      it(`${op} of ${dtype}`, () => {
        const points = specialPoints(dtype);
        const args =
          ops[op].arity === 1 ? points.map((x) => [x]) : points.flatMap((x) => points.map((y) => [x, y]));
        const bad: string[] = [];
        for (const fma of modes) {
          const run = evaluate(op, dtype, fma);
          for (const at of args) {
            const got = run(at) as number;
            const exact = ops[op].eval(at[0], at[1], 0) as number;
            const want = dtypes[dtype].wrap(exact) as number;
            if (Object.is(got, want)) continue;
            const small = want === 0 || got === 0;
            const signs = small && Object.is(got, 0) !== Object.is(want, 0) && Object.is(-got, want);
            const error = dtype === "f32" ? ulps(got, exact, 0, dtype) : ulps(got, want, 0, dtype);
            // V8's own functions are off by an ulp or two on f64
            const slack = dtype === "f64" ? 3 : boundOf(op, dtype);
            if (signs || !(error <= slack)) bad.push(`${op}(${at}): got ${got}, JavaScript has ${want}`);
          }
        }
        expect(bad).toEqual([]);
      });
    }
  }

  it("whole powers and roots are exact", () => {
    for (const dtype of ["f32", "f64"] as const) {
      for (const fma of modes) {
        for (let n = -20; n <= 20; n++) {
          expect(evaluate("exp2", dtype, fma)([n])).toBe(2 ** n);
          expect(evaluate("log2", dtype, fma)([2 ** n])).toBe(n + 0);
          expect(evaluate("cbrt", dtype, fma)([n ** 3])).toBe(n);
          if (n >= 0 && n <= 10) expect(evaluate("log10", dtype, fma)([10 ** n])).toBe(n);
          expect(evaluate("pow", dtype, fma)([2, n])).toBe(2 ** n);
          expect(evaluate("pow", dtype, fma)([-3, Math.abs(n) % 14])).toBe((-3) ** (Math.abs(n) % 14));
        }
        expect(evaluate("cos", dtype, fma)([0])).toBe(1);
        expect(evaluate("hypot", dtype, fma)([5, 12])).toBe(13);
      }
    }
  });
});

/** Bit patterns spread over all floats, and numbers spread over where functions bend. */
function* samples32(op: Function): Generator<number[]> {
  const float = new Float32Array(1);
  const bits = new Uint32Array(float.buffer);
  const scales = [1, 4, 12, 110, 7000];
  let seed = 12345;
  const next = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed;
  };
  const anyFloat = () => {
    bits[0] = next();
    return float[0];
  };
  const plain = (i: number) => Math.fround((next() / 2 ** 31 - 1) * scales[i % scales.length]);
  for (let i = 0; i < POINTS; i++) {
    if (ops[op].arity === 1) {
      yield [anyFloat()];
      yield [plain(i)];
      yield [Math.fround(plain(i) * 2 ** -12)];
    } else if (op === "pow") {
      const x = Math.abs(anyFloat());
      const y = plain(i);
      yield [x, Math.fround((plain(i) * 150) / (scales[i % scales.length] * Math.log2(x)))];
      yield [Math.fround(Math.abs(y)), plain(i)];
      yield [y, Math.round(plain(i))];
    } else {
      yield [anyFloat(), anyFloat()];
      yield [plain(i), plain(i + (i % 3))];
      const x = anyFloat();
      yield [x, Math.fround(x * (next() / 2 ** 31))];
    }
  }
}

describe("f32 within the bound", () => {
  for (const op of functions) {
    it(`${op}`, { timeout: 3_600_000 }, () => {
      for (const fma of modes) {
        const run = evaluate(op, "f32", fma);
        const reference = ops[op].eval as (x: number, y: number) => number;
        for (const at of samples32(op)) {
          const exact = reference(at[0], at[1]);
          const got = run(at) as number;
          const rounded = Math.fround(exact);
          if (Object.is(got, rounded)) {
            if (Math.abs(exact) < 3.4e38) note(op, "f32", fma, ulps(got, exact, 0, "f32"), at);
            continue;
          }
          note(op, "f32", fma, Number.isFinite(rounded) ? ulps(got, exact, 0, "f32") : Infinity, at);
        }
        const { ulps: error, at } = worst.get(`${op} f32 ${fma}`)!;
        expect(error, `${op}(${at}), ${fma ? "fused" : "unfused"}`).toBeLessThanOrEqual(boundOf(op, "f32"));
      }
    });
  }
});

describe("f64 within the bound", () => {
  const file =
    process.env.STRIDED_REFERENCES ?? new URL("../../../tests/accuracy/references.json.gz", import.meta.url);
  const references = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Record<string, number[][]>;
  for (const op of functions) {
    it(`${op}`, () => {
      const { arity } = ops[op];
      expect(references[op].length).toBeGreaterThan(250);
      for (const fma of modes) {
        const run = evaluate(op, "f64", fma);
        for (const row of references[op]) {
          const at = row.slice(0, arity);
          note(op, "f64", fma, ulps(run(at) as number, row[arity], row[arity + 1], "f64"), at);
        }
        const { ulps: error, at } = worst.get(`${op} f64 ${fma}`)!;
        expect(error, `${op}(${at}), ${fma ? "fused" : "unfused"}`).toBeLessThanOrEqual(boundOf(op, "f64"));
      }
    });
  }

  afterAll(() => {
    const cell = (op: Function, dtype: Float, fma: boolean) => {
      const nodes = program(op, dtype, fma).nodes.filter(
        (n) => !["const", "input", "bitcast"].includes(n.op),
      ).length;
      const error = worst.get(`${op} ${dtype} ${fma}`)?.ulps ?? Number.NaN;
      return `${String(nodes).padStart(4)} ${error.toFixed(2)}`;
    };
    const lines = functions.map((op) =>
      [
        op.padEnd(8),
        cell(op, "f32", false),
        cell(op, "f32", true),
        cell(op, "f64", false),
        cell(op, "f64", true),
      ].join("   "),
    );
    console.log(
      [
        "nodes and largest error in ulps",
        "function  f32        f32 fused   f64         f64 fused",
        ...lines,
      ].join("\n"),
    );
  });
});

describe("structure", () => {
  it("nothing that has a decomposition is left on floats", () => {
    for (const op of Object.keys(decompositions) as OpName[]) {
      for (const dtype of ["f32", "f64"] as const) {
        for (const fma of modes) {
          const left = program(op, dtype, fma).nodes.filter(
            (n) => isOp(n.op) && decompositions[n.op] !== undefined,
          );
          expect(left, `${op} ${dtype}`).toEqual([]);
        }
      }
    }
  });

  it("without a fused multiply-add none is written", () => {
    for (const op of functions) {
      expect(program(op, "f32", false).nodes.some((n) => n.op === "madd")).toBe(false);
      expect(program(op, "f64", false).nodes.some((n) => n.op === "madd")).toBe(false);
    }
  });

  it("the frequent f32 functions stay in f32 lanes, are short, and divide at most once", () => {
    const limits = { exp: 18, exp2: 17, log: 30, sin: 29, cos: 29, tanh: 29, sigmoid: 32 };
    for (const [op, limit] of Object.entries(limits)) {
      for (const fma of modes) {
        const { nodes } = program(op as OpName, "f32", fma);
        expect(nodes.some((n) => n.dtype === "f64" || n.dtype === "i64")).toBe(false);
        expect(nodes.filter((n) => n.op === "div").length).toBeLessThanOrEqual(1);
        if (!fma) continue;
        const work = nodes.filter((n) => n.op !== "const" && n.op !== "input" && n.op !== "bitcast");
        expect(work.length, op).toBeLessThanOrEqual(limit);
      }
    }
  });

  it("a constant exponent becomes products", () => {
    const count = (y: number) => {
      const b = new Builder();
      const p = b.finish(b.op("pow", b.input(0, "f64"), b.constant("f64", y)), ["f64"]);
      const { nodes } = decompose(p, { fma: true });
      const run = evaluator({ ...p, ...decompose(p, { fma: true }) });
      for (const x of [0, -0, 1.5, -3, NaN, Infinity, -Infinity, 1e-200, 1e200]) {
        const [got, want] = [run([x]) as number, x ** y];
        if (!Object.is(got, want)) expect(Math.abs(got - want) / Math.abs(want)).toBeLessThan(4e-16);
      }
      return nodes.filter((n) => n.op !== "const" && n.op !== "input").length;
    };
    expect([0, 1, 2, 3, 4, -1, 0.5].map(count)).toEqual([0, 0, 1, 2, 2, 1, 4]);
  });

  it("integers keep their own remainders", () => {
    for (const op of ["rem", "floorMod", "floorDivide"] as const) {
      expect(program(op, "i32", false).nodes.map((n) => n.op)).toEqual(["input", "input", op]);
    }
  });
});

describe("widenHalf", () => {
  const half = (build: (b: Builder) => number, inputs: readonly DType[], params: readonly DType[] = []) => {
    const b = new Builder();
    const plain = b.finish(build(b), inputs, params);
    const widened = verify(widenHalf(plain), "widen");
    return { plain, widened };
  };

  it("casts at the rim only: inputs to f32, one cast at the end", () => {
    const { widened } = half((b) => b.op("add", b.op("mul", b.input(0, "f16"), b.input(1, "f16")), b.constant("f16", 0.5)), ["f16", "f16"]); // biome-ignore format: one line
    expect(widened.nodes.map((n) => `${n.op} ${n.dtype}`)).toEqual([
      "input f16",
      "cast f32",
      "input f16",
      "cast f32",
      "mul f32",
      "const f32",
      "add f32",
      "cast f16",
    ]);
    expect(widened.dtype).toBe("f16");
  });

  it("an operand that is handed through is not touched", () => {
    const { widened } = half((b) => b.input(0, "bf16"), ["bf16"]);
    expect(widened.nodes).toHaveLength(1);
  });

  it("means what the program meant", () => {
    const programs = [
      half((b) => b.op("select", b.op("lt", b.input(0, "f16"), b.param(0, "f16")), b.input(0, "f16"), b.op("neg", b.input(0, "f16"))), ["f16"], ["f16"]), // biome-ignore format: one line
      half((b) => b.op("mul", b.cast("f16", b.input(0, "f32")), b.cast("f16", b.input(1, "i8"))), ["f32", "i8"], ["f16"]), // biome-ignore format: one line
      half((b) => b.cast("f64", b.op("sqrt", b.input(0, "bf16"))), ["bf16"], ["f16"]),
      half((b) => b.op("bitAnd", b.bitcast("u16", b.input(0, "f16")), b.constant("u16", 255)), ["f16"], ["f16"]), // biome-ignore format: one line
    ];
    for (const { plain, widened } of programs) {
      const [p, w] = [evaluator(plain, [0.25]), evaluator(widened, [0.25])];
      const store = dtypes[plain.dtype].wrap;
      for (const x of [0, -0, 0.1, 1.5, -3.25, 1000, NaN, Infinity]) {
        const at: Value[] = plain.inputs.map((d) => dtypes[d].wrap(d === "i8" ? Math.trunc(x) | 0 : x));
        expect(w(at)).toBe(store(p(at)));
      }
    }
  });
});
