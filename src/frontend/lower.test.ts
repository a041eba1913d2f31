import { describe, expect, test } from "vitest";
import { printTemplate } from "../ir/print.ts";
import { isRefusal, lowerFunction } from "./lower.ts";
import { parseFunction } from "./parse.ts";
import { registerKernel } from "./template.ts";
import { expectSame, interpreted, lowered, refused } from "./testing.ts";

type Numeric = (...args: number[]) => unknown;
const compile = (source: string) => new Function(`return (${source})`)() as Numeric;
const text = (source: string) => printTemplate(lowered(source));

describe("on f64 a kernel computes what the function itself computes", () => {
  const sources: Record<string, string[]> = {
    arithmetic: ["(x, y) => x + y - x * y / (x % y)", "(x, y) => x ** y", "x => -x + +x", "x => x / 3 % 2"],
    bits: [
      "(x, y) => (x & y) | (x ^ ~y)",
      "(x, y) => (x << y) + (x >> y) + (x >>> y)",
      "x => ~~x",
      "x => x >>> 0",
      "x => (x & 4294967295) + (x | 3e9) + (3e9 >> 1) + (3e9 >>> 1)",
      "x => (x > 0) & (x < 9)",
      "x => (x > 0) << 2 | ~(x > 3)",
    ],
    comparison: [
      "(x, y) => x < y",
      "(x, y) => (x <= y) + 2 * (x > y) + 4 * (x >= y) + 8 * (x == y) + 16 * (x != y)",
      "(x, y) => x === y ? 1 : x !== x ? 2 : 3",
      "x => (x > 0) === true",
      "x => (x > 0) == 1",
      "x => (1n === 1 ? 10 : 20) + (1 !== 1n ? 1 : 2) + (1n == 1 ? 100 : 0) + (1n === 1n ? 1000 : 0) + x",
      "x => x === undefined ? 1 : x",
      "x => x !== void 0 ? x : 1",
      "x => x != null ? x : 1",
      "x => x !== null && x !== void 0 ? x : 1",
      "x => (null == void 0) + 2 * (null === void 0) + x",
    ],
    logic: [
      "(x, y) => x && y",
      "(x, y) => x || y",
      "(x, y) => x ?? y",
      "x => null ?? x",
      "(x, y) => !x + !!y",
      "(x, y) => x > 0 && y > 0",
      "(x, y) => x > 0 || y",
      "(x, y) => (x && y) || (x > y && x)",
      "(x, y) => !(x < y) ? x : y",
      "(x, y) => x && y ? 1 : x || !y ? 2 : 3",
      "x => !0 && x || !1",
      "x => Boolean(x) + Number(x > 1)",
    ],
    literals: [
      "x => x + 1/0",
      "x => x * (0/0)",
      "x => Math.max(x, -Infinity) + Math.min(NaN, x)",
      "x => x + 0x10 + 1e3 + .5 + 1_000",
      "x => -0 * x",
      "x => x > 0 ? true : false",
      "() => 5",
      "x => true",
    ],
    variables: [
      "x => { const a = x * 2, b = a + 1; return a * b; }",
      "x => { let t = x; t += 1; t -= 2; t *= 3; t /= 4; t %= 5; t **= 2; return t; }",
      "x => { let t = x; t &= 255; t |= 3; t ^= 5; t <<= 2; t >>= 1; t >>>= 1; return t; }",
      "(x, y) => { x &&= y; y ||= 3; x ??= 9; return x + y; }",
      "x => { let i = x; const a = i++, b = ++i, c = i--; --i; return a + 10 * b + 100 * c + i; }",
      "x => { var t = x; { var t = t + 1; } return t; }",
      "x => { let t = 1; { let t = x; t += 1; } return t + x; }",
      "x => { var y = x; if (x > 0) { var z = y * 2; } else z = -y; return z; }",
      "x => (x += 1, x * 2)",
      "x => { let b = x > 0; b++; return b; }",
      "(x, y) => { const t = x; x = y; y = t; return x - y; }",
      "x => x + (x = 5) * x",
      "(x, y) => { [x, y] = [y, x + y]; return x - y; }",
      "(x, y) => { let [a, b] = [y, x]; for (let i = 0; i < 4; i++) [a, b] = [b, a + b]; return a; }",
      "x => { let a = 0, b = 1; while (b < x && b < 50) [a, b] = [b, a + b]; return a; }",
      "(x, y) => { if (x > y) [x, , y] = [y, 3, x]; const f = t => { [t, x] = [x, t]; return t; }; return f(y) - x; }",
    ],
    "if and return": [
      "x => { if (x > 0) return x; return -x; }",
      "x => { if (x > 0) { return x; } else { return x * 0.01; } }",
      "x => { if (x < 0) return 0; if (x > 1) return 1; return x; }",
      "(x, y) => { if (x < 0) { if (y < 0) return 1; x = -x; } else if (y > 3) return 2; return x + y; }",
      "(x, y) => { if (x < 0) { if (y < 0) return 1; } else { if (y > 3) return 2; } return x + y; }",
      "x => { let t = 0; if (x > 1) t = 1; else if (x > 0.5) t = 2; return t + x; }",
      "x => { let t; if (x > 1) t = 1; else t = 2; return t; }",
      'x => { "use strict"; return x; }',
      "x => { if (!0) return x; return 5; }",
      "x => { ; ; { { return x; } } }",
    ],
    "what minifiers write": [
      "x => (x < 0 && (x = 0), x)",
      "x => (x > 0 || (x = -x), x)",
      "function (t) { var n; return t > 0 ? (n = t, n * n) : (n = 2 * t, n - 1) }",
      "t => { for (var n = 0, r = 4; r--;) n += t * r; return n }",
      "x => x < 0 ? 0 : x > 1 ? 1 : x",
      "(x, y) => { var t; return (t = x) > y ? t : y }",
      "(e, t) => e > t ? (e -= t, e) : (t -= e, t)",
      "x => { x > 5 ? x = 5 : x < 1 && (x = 1); return x }",
    ],
    Math: [
      ..."abs acos acosh asin asinh atan atanh cbrt ceil clz32 cos cosh exp expm1 floor fround log log10 log1p"
        .split(" ")
        .concat("log2 round sign sin sinh sqrt tan tanh trunc".split(" "))
        .map((name) => `x => Math.${name}(x)`),
      ..."atan2 imul pow max min hypot".split(" ").map((name) => `(x, y) => Math.${name}(x, y)`),
      "(x, y, z) => Math.max(x, y, z) - Math.min(x, y, z)",
      "x => Math.max() + Math.min() + x",
      "x => Math.max(x > 0) + Math.min(x)",
      "x => Math.hypot() + Math.hypot(x)",
      "x => Math.sin() + x",
      "x => Math.clz32() + Math.imul(x)",
      "x => Math.PI + Math.E * x + Math.LN2 + Math.LN10 + Math.LOG2E + Math.LOG10E + Math.SQRT2 + Math.SQRT1_2",
      'x => Math["max"](x, 1) + globalThis.Math.min(x, 2) + Math["PI"]',
      "x => { const { sin, max: most } = Math; return most(sin(x), 0); }",
      "x => { const M = Math; return M.floor(x); }",
    ],
    Number: [
      "x => Number.isNaN(x) + 2 * isNaN(x) + 4 * Number.isFinite(x) + 8 * isFinite(x)",
      "x => Number.isInteger(x) + 2 * Number.isSafeInteger(x)",
      "x => Number.isFinite(x > 0) + isFinite(x > 0)",
      "x => Number.EPSILON * x + Number.MAX_SAFE_INTEGER",
      "x => Math.min(Math.max(x, Number.MIN_VALUE), Number.MAX_VALUE)",
      "x => Math.max(Number.NEGATIVE_INFINITY, Math.min(Number.POSITIVE_INFINITY, x)) + Number.NaN",
      "x => Number() + Number(x) + Boolean()",
    ],
    "functions inside": [
      "x => { const sq = t => t * t; return sq(x) + sq(3); }",
      "x => { function clamp(v, lo, hi) { if (v < lo) return lo; return v > hi ? hi : v; } return clamp(x, -1, 1); }",
      "x => (t => t + 1)(x * 2)",
      "x => (function (t) { return t + x; })(2)",
      "x => { let n = 0; const f = t => { if (t < 0) return 1; n += t; return 2; }; const r = f(x); return r + n; }",
      "x => { const f = (t, k = 2) => t * k; return f(x) + f(x, 3); }",
      'x => { const f = __name(t => t + 1, "f"); return f(x); }',
      "x => { const f = () => { x += 1; }; f(); f(); return x; }",
    ],
    loops: [
      "x => { let t = 0; for (let i = 0; i < 5; i++) t = t * x + i; return t; }",
      "x => { let t = x; let i = 4; while (i > 0) { t = t * t - 1; i--; } return t; }",
      "x => { let t = x, i = 0; do { t += i; i += 2; } while (i < 6); return t; }",
      "x => { for (let i = 0; i < 8; i++) if (x < i) return i; return 8; }",
      "x => { let t = 0; for (let i = 0; i < 4; i++) for (let j = i; j < 4; j++) t += x * j; return t; }",
    ],
  };
  for (const [name, list] of Object.entries(sources)) {
    test(name, () => {
      for (const source of list) {
        const fn = compile(source.replaceAll("__name(", "((f, n) => f)("));
        expectSame(fn, source, 40);
      }
    });
  }

  test("Math.hypot of three is within an ulp or two of the host's", () => {
    const run = interpreted("(x, y, z) => Math.hypot(x, y, z)", ["f64", "f64", "f64"]);
    expect(run(3, 4, 12)).toBe(13);
    expect(run(1e200, 1e200, 1e200)).toBeCloseTo(Math.sqrt(3) * 1e200, -187);
    expect(run(NaN, 1, Infinity)).toBe(Infinity);
  });
});

describe("source forms", () => {
  const object = {
    method(x: number) {
      return x + 1;
    },
    async later(x: number) {
      return x;
    },
    *many(x: number) {
      yield x;
    },
    get value() {
      return 1;
    },
  };
  class Holder {
    static scale(x: number) {
      return x * 2;
    }
    #hidden(x: number) {
      return x - 1;
    }
    hidden() {
      return this.#hidden;
    }
  }
  test("arrows, functions and methods are read from their printed source", () => {
    expect(text("x => x + 1")).toBe("(x0 + 1)");
    expect(text("function (x) { return x + 1 }")).toBe("(x0 + 1)");
    expect(text("function named(x) { return x + 1 }")).toBe("(x0 + 1)");
    expect(text("(x, y) => ((x) + (y));")).toBe("(x0 + x1)");
    expect(text("// a comment\n(x) => /* here */ x + 1 // there")).toBe("(x0 + 1)");
    expect(printTemplate(lowered(object.method))).toBe("(x0 + 1)");
    expect(printTemplate(lowered(Holder.scale))).toBe("(x0 * 2)");
    expect(printTemplate(lowered(new Holder().hidden()))).toBe("(x0 - 1)");
    expect(printTemplate(lowered(new Function("x", "return x + 1")))).toBe("(x0 + 1)");
  });

  test("functions of Math may be given as they are", () => {
    expect(printTemplate(lowered(Math.sqrt))).toBe("sqrt(x0)");
    expect(printTemplate(lowered(Math.max))).toBe("max(x0, x1)");
    expect(printTemplate(lowered("x => root(x)", { root: Math.cbrt }))).toBe("cbrt(x0)");
    expect(refused(Math.random)).toMatchInlineSnapshot(`
      "map: cannot compile Math.random; a kernel gives the same value for the same element.
        Math.random
        ^^^^^^^^^^^"
    `);
  });

  test("spans lie in the printed source, for methods too", () => {
    const template = lowered("twice(x) { return x * 2 }");
    const node = template.nodes[template.result];
    expect(template.source.slice(node.span?.start, node.span?.end)).toBe("x * 2");
    expect(lowered(object.method).name).toBe("method");
  });

  test("what is no plain function is refused", () => {
    expect(refused(Array.isArray)).toMatchInlineSnapshot(`
      "map: cannot compile native or bound code; its source is hidden.
        function isArray() { [native code] }
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        Wrap it: x => fn(x)."
    `);
    expect(refused(object.method.bind(object))).toMatchInlineSnapshot(`
      "map: cannot compile native or bound code; its source is hidden.
        function () { [native code] }
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        Wrap it: x => fn(x)."
    `);
    expect(refused(Holder)).toMatchInlineSnapshot(`
      "map: cannot compile a class; a kernel is a plain function.
        class Holder {
        ^^^^^^^^^^^^^^"
    `);
    expect(refused(object.later)).toMatchInlineSnapshot(`
      "map: cannot compile an async function; a kernel computes one number at once.
        async later(x) {
        ^^^^^^^^^^^^^^^^"
    `);
    expect(refused(object.many)).toMatchInlineSnapshot(`
      "map: cannot compile a generator; a kernel returns one number.
        *many(x) {
        ^^^^^^^^^^"
    `);
    expect(refused(async (x: number) => x)).toMatchInlineSnapshot(`
      "map: cannot compile an async function; a kernel computes one number at once.
        async (x) => x
        ^^^^^^^^^^^^^^"
    `);
    expect(refused(Object.getOwnPropertyDescriptor(object, "value")!.get!)).toMatchInlineSnapshot(`
      "map: cannot compile this; it is not a plain function.
        get value() {
        ^^^^^^^^^^^^^"
    `);
    expect(refused("x => x +")).toMatchInlineSnapshot(`
      "map: cannot read this function's source; unexpected token.
        x => x +
               ^"
    `);
    expect(refused("3 + 4")).toMatchInlineSnapshot(`
      "map: cannot compile this; it is not a plain function.
        3 + 4
        ^^^^^"
    `);
    expect(isRefusal(parseFunction(""))).toBe(true);
  });
});

describe("the template", () => {
  test("equal subexpressions are one node", () => {
    expect(lowered("x => (x + 1) * (x + 1)").nodes).toHaveLength(4);
  });

  test("early returns nest as the ternary would", () => {
    const want = "select((x0 < 0), 0, select((x0 > 1), 1, x0))";
    expect(text("x => x < 0 ? 0 : x > 1 ? 1 : x")).toBe(want);
    expect(text("x => { if (x < 0) return 0; if (x > 1) return 1; return x }")).toBe(want);
    expect(text("x => { if (x < 0) return 0; else if (!(x > 1)) return x; return 1 }")).toBe(want);
    expect(text("x => { let t = x; if (x > 1) t = 1; if (x < 0) t = 0; return t }")).toBe(want);
  });

  test("comparisons joined by && and || are logic, numbers are choices", () => {
    expect(text("x => x > 0 && x < 1")).toBe("((x0 > 0) && (x0 < 1))");
    expect(text("x => x > 0 ? x < 1 : false")).toBe("((x0 > 0) && (x0 < 1))");
    expect(text("(x, y) => x && y")).toBe("select(truthy(x0), x1, x0)");
    expect(text("(x, y) => x && y ? 1 : 2")).toBe("select((truthy(x0) && truthy(x1)), 1, 2)");
  });

  test("unused work leaves no trace", () => {
    expect(lowered("(x, y) => { const unused = Math.exp(y); return x }").nodes).toHaveLength(1);
  });

  test("literals fold as JavaScript folds them", () => {
    expect(text("() => 7 % -3 + 2 ** 0.5 * (3e9 >> 1)")).toBe(String((7 % -3) + 2 ** 0.5 * (3e9 >> 1)));
    expect(text("() => 7n / 2n + 2n ** 70n")).toBe(String(7n / 2n + 2n ** 70n));
    expect(text("() => -0")).toBe("-0");
    expect(text("() => 1n < 2 && 1n == 1")).toBe("true");
  });
});

describe("captured values", () => {
  test("by a last parameter that takes an object apart", () => {
    const template = lowered("(x, { k, scale: s }) => x * k + s", { scale: 3, k: 2 });
    expect(template).toMatchObject({ inputs: 1, params: ["scale", "k"] });
    expect(printTemplate(template)).toBe("((x0 * k) + scale)");
    expect(interpreted("(x, {k}) => x * k", ["f64"], { k: 2.5 })(2)).toBe(5);
  });

  test("one as the last parameter, whatever a build tool has named it", () => {
    const original = lowered("(x, k) => x > 0 ? x : k * x", { k: 1 });
    expect(printTemplate(original)).toBe("select((x0 > 0), x0, (k * x0))");
    expect(printTemplate(lowered("(a, b) => a > 0 ? a : b * a", { k: 1 }))).toBe(printTemplate(original));
  });

  test("one as a variable the function reads, also beside an object", () => {
    expect(lowered("x => x * k", { k: 2 })).toMatchObject({ inputs: 1, params: ["k"] });
    const both = lowered("(x, { m }) => x * k + m", { k: 1, m: 2 });
    expect(both.inputs).toBe(1);
    expect(printTemplate(both)).toBe("((x0 * k) + m)");
  });

  test("two that a build tool may have renamed are refused, under any names", () => {
    for (const source of [
      "(x, lo, hi) => Math.min(Math.max(x, lo), hi)",
      "(x, hi, lo) => Math.min(Math.max(x, lo), hi)",
      "(a, b, c) => Math.min(Math.max(a, b), c)",
      "(x, lo) => Math.min(Math.max(x, lo), hi)",
      "x => Math.min(Math.max(x, lo), hi)",
    ]) {
      expect(refused(source, { hi: 1, lo: 0 })).toContain("whose names stay: (x, {");
    }
    expect(refused("(x, lo, hi) => Math.min(Math.max(x, lo), hi)", { hi: 1, lo: 0 })).toMatchInlineSnapshot(`
      "map: 2 captured values are parameters or outer variables: "hi", "lo"; a build tool may rename those.
        (x, lo, hi) => Math.min(Math.max(x, lo), hi)
            ^^^^^^
        Write them in one object, whose names stay: (x, { hi, lo }) => …"
    `);
  });

  test("functions and kernels are inlined, with their own captures", () => {
    const clamp = (v: number, lo: number, hi: number) => (v < lo ? lo : v > hi ? hi : v);
    expect(printTemplate(lowered("x => clamp(x * 2, 0, 1)", { clamp }))).toBe(
      "select(((x0 * 2) < 0), 0, select(((x0 * 2) > 1), 1, (x0 * 2)))",
    );
    const captures = { k: 0.5 };
    const own = lowered("(x, k) => x > 0 ? x : k * x", captures);
    const leaky = () => 0;
    registerKernel(leaky, own, [0.5]);
    const outer = { leaky, m: 4 };
    const template = lowered("(x, { leaky, m }) => leaky(x) + m", outer);
    expect(template.params).toEqual(["leaky.k", "m"]);
    expect(interpreted("(x, { leaky, m }) => leaky(x) + m", ["f64"], outer)(-2)).toBe(3);
    expect(lowerFunction(leaky)).toBe(own);
  });

  test("inlined nodes carry the span of the call", () => {
    const template = lowered("x => 1 + sq(x)", { sq: (t: number) => t * t });
    const square = template.nodes.find((node) => node.op === "mul");
    expect(template.source.slice(square?.span?.start, square?.span?.end)).toBe("sq(x)");
  });

  test("values are not baked in; a copy may be assigned", () => {
    expect(printTemplate(lowered("(x, k) => { k += 1; return x * k }", { k: 3 }))).toBe("(x0 * (k + 1))");
  });

  test("mismatches are refused", () => {
    expect(refused("x => x", { k: 1, m: 2 })).toMatchInlineSnapshot(`
      "map: the function does not use the captured "k", "m".
        x => x
        ^^^^^^
        Leave them out, or read them by name."
    `);
    expect(refused("x => x * m", { k: 1, m: 2, n: 3 })).toMatchInlineSnapshot(`
      "map: the function does not use the captured "k", "n".
        x => x * m
        ^^^^^^^^^^
        Leave them out, or read them by name."
    `);
    expect(refused("(k, x) => x * k", { k: 1 })).toMatchInlineSnapshot(`
      "map: the captured parameter "k" comes last.
        (k, x) => x * k
         ^
        Write it in one object, whose name stays: (x, { k }) => …"
    `);
    expect(refused("(x, {k, m}) => x * k", { k: 1 })).toMatchInlineSnapshot(`
      "map: the function expects a captured value "m".
        (x, {k, m}) => x * k
                ^
        Pass it: map(…, { with: { m } })."
    `);
    expect(refused("(x, {k = 1}) => x * k", { k: 1 })).toMatchInlineSnapshot(`
      "map: cannot compile this parameter; captured values are plain names.
        (x, {k = 1}) => x * k
             ^^^^^"
    `);
    expect(refused("x => x * k", { k: "2" })).toMatchInlineSnapshot(`
      "map: captured "k" is a string; only numbers, bigints, booleans, tensors, functions and kernels can be.
        x => x * k
        ^^^^^^^^^^
        Pass an array as a tensor: tensor([…]), read with get(i)."
    `);
    expect(refused("x => x * k", { k: [1, 2] })).toMatchInlineSnapshot(`
      "map: captured "k" is an array; only numbers, bigints, booleans, tensors, functions and kernels can be.
        x => x * k
        ^^^^^^^^^^
        Pass an array as a tensor: tensor([…]), read with get(i)."
    `);
    expect(refused("x => x * k", { k: new Float32Array(1) })).toMatchInlineSnapshot(`
      "map: captured "k" is a Float32Array; only numbers, bigints, booleans, tensors, functions and kernels can be.
        x => x * k
        ^^^^^^^^^^
        Pass an array as a tensor: tensor([…]), read with get(i)."
    `);
    expect(refused("x => f(x)", { f: "x => y".at.bind("") })).toMatchInlineSnapshot(`
      "map: captured function "f": cannot compile native or bound code; its source is hidden.
        x => f(x)
        ^^^^^^^^^
        Wrap it: x => fn(x)."
    `);
  });
});

describe("refusals point at what cannot be compiled", () => {
  test("outer variables and calls", () => {
    expect(refused("x => Math.max(x, clamp(x))")).toMatchInlineSnapshot(`
      "map: cannot compile this call; only Math.* functions are known.
        x => Math.max(x, clamp(x))
                         ^^^^^^^^
        Write clamp inside the function, or pass it: map(…, { with: { clamp } })."
    `);
    expect(refused("x => x * k")).toMatchInlineSnapshot(`
      "map: the function reads the outer variable "k".
        x => x * k
                 ^
        Pass it: map(…, { with: { k } })."
    `);
    expect(refused("x => console.log(x)")).toMatchInlineSnapshot(`
      "map: cannot compile this call; only Math.* functions are known.
        x => console.log(x)
             ^^^^^^^^^^^^^^"
    `);
    expect(refused("x => Math.random() * x")).toMatchInlineSnapshot(`
      "map: cannot compile Math.random; a kernel gives the same value for the same element.
        x => Math.random() * x
             ^^^^^^^^^^^^^"
    `);
    expect(refused("x => Math.max(...x)")).toMatchInlineSnapshot(`
      "map: cannot compile a spread; write the arguments one by one.
        x => Math.max(...x)
                      ^^^^"
    `);
    expect(refused("x => Math.sinc(x)")).toMatchInlineSnapshot(`
      "map: there is no Math.sinc for kernels.
        x => Math.sinc(x)
             ^^^^^^^^^"
    `);
    expect(refused("x => x.toFixed(2)")).toMatchInlineSnapshot(`
      "map: cannot compile this property; only Math.* and Number.* are known.
        x => x.toFixed(2)
             ^^^^^^^^^"
    `);
    expect(refused("x => { total = x; return x }")).toMatchInlineSnapshot(`
      "map: the function writes the outer variable "total".
        x => { total = x; return x }
               ^^^^^
        A kernel only returns a value."
    `);
    expect(refused("x => { const f = t => f(t - 1); return f(x) }")).toMatchInlineSnapshot(`
      "map: cannot compile a function that calls itself.
        x => { const f = t => f(t - 1); return f(x) }
                              ^^^^^^^^"
    `);
  });

  test("values that are no numbers", () => {
    expect(refused("x => 'a' + x")).toMatchInlineSnapshot(`
      "map: cannot compile a string; a kernel computes with numbers and booleans.
        x => 'a' + x
             ^^^"
    `);
    expect(refused("x => [x, 1][0]")).toMatchInlineSnapshot(`
      "map: cannot compile an array; a kernel computes with numbers and booleans.
        x => [x, 1][0]
             ^^^^^^"
    `);
    expect(refused("x => `a`")).toMatchInlineSnapshot(`
      "map: cannot compile a string; a kernel computes with numbers and booleans.
        x => \`a\`
             ^^^"
    `);
    expect(refused("x => x + undefined")).toMatchInlineSnapshot(`
      "map: cannot compute with undefined; every variable needs a number.
        x => x + undefined
                 ^^^^^^^^^"
    `);
    expect(refused("x => null + x")).toMatchInlineSnapshot(`
      "map: cannot compute with null; every variable needs a number.
        x => null + x
             ^^^^"
    `);
    expect(refused("x => typeof x")).toMatchInlineSnapshot(`
      "map: cannot compile \`typeof\`.
        x => typeof x
             ^^^^^^^^"
    `);
    expect(refused("x => x + Math")).toMatchInlineSnapshot(`
      "map: cannot use a function or an object as a number.
        x => x + Math
                 ^^^^"
    `);
    expect(refused("x => x === true")).toMatchInlineSnapshot(`
      "map: cannot compile === between a number and a boolean; they are never equal.
        x => x === true
             ^^^^^^^^^^
        Use ==, which compares a boolean as 0 or 1."
    `);
    expect(refused("function (x) { return this.k * x }")).toMatchInlineSnapshot(`
      "map: cannot compile \`this\`; a kernel computes with numbers and booleans.
        function (x) { return this.k * x }
                              ^^^^"
    `);
    expect(refused("function (x) { return arguments[0] }")).toMatchInlineSnapshot(`
      "map: cannot compile \`arguments\`; name the parameters.
        function (x) { return arguments[0] }
                              ^^^^^^^^^"
    `);
  });

  test("control flow", () => {
    expect(refused("x => { while (x > 0) { const y = x } return x }")).toMatchInlineSnapshot(`
      "map: cannot compile this loop; nothing in it makes it end.
        x => { while (x > 0) { const y = x } return x }
                      ^^^^^
        Change what its test reads, or leave it with break or return."
    `);
    expect(refused("x => { for (;;) { x += 1 } }")).toMatchInlineSnapshot(`
      "map: cannot compile this loop; nothing in it makes it end.
        x => { for (;;) { x += 1 } }
               ^^^^^^^^^^^^^^^^^^^
        Change what its test reads, or leave it with break or return."
    `);

    expect(refused("x => { switch (x) { case 1: return 2 } return 3 }")).toMatchInlineSnapshot(`
      "map: cannot compile \`switch\`; a kernel has if, return, for, while, do, break and continue.
        x => { switch (x) { case 1: return 2 } return 3 }
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    `);
    expect(refused("x => { if (x > 0) return 1 }")).toMatchInlineSnapshot(`
      "map: cannot compile a function that does not return a value on every path.
        x => { if (x > 0) return 1 }
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    `);
    expect(refused("x => { if (x > 0) return; return 1 }")).toMatchInlineSnapshot(`
      "map: cannot compile a return without a value.
        x => { if (x > 0) return; return 1 }
                          ^^^^^^^"
    `);
    expect(refused("x => { x + 1 }")).toMatchInlineSnapshot(`
      "map: cannot compile a function that does not return a value on every path.
        x => { x + 1 }
        ^^^^^^^^^^^^^^"
    `);
    expect(refused("x => { throw x }")).toMatchInlineSnapshot(`
      "map: cannot compile \`throw\`; a kernel has if, return, for, while, do, break and continue.
        x => { throw x }
               ^^^^^^^"
    `);
  });

  test("variables", () => {
    expect(refused("x => { const k = 1; k = x; return k }")).toMatchInlineSnapshot(`
      "map: the function assigns to the constant "k".
        x => { const k = 1; k = x; return k }
                            ^"
    `);
    expect(refused("x => { const y = t; const t = x; return y }")).toMatchInlineSnapshot(`
      "map: the function reads "t" before its declaration.
        x => { const y = t; const t = x; return y }
                         ^"
    `);
    expect(refused("x => { let t; if (x > 0) t = 1; return t + x }")).toMatchInlineSnapshot(`
      "map: "t" is not a number on every path to here.
        x => { let t; if (x > 0) t = 1; return t + x }
                                               ^"
    `);
    expect(refused("x => { const [a] = x; return a }")).toMatchInlineSnapshot(`
      "map: cannot compile this declaration; only plain names can be declared.
        x => { const [a] = x; return a }
                     ^^^"
    `);
    expect(refused("(x, y) => { [x, y] = y; return x }")).toMatchInlineSnapshot(`
      "map: cannot compile this; only a list with as many values is taken apart.
        (x, y) => { [x, y] = y; return x }
                             ^
        Write [a, b] = [b, a], or assign one by one."
    `);
    expect(refused("x => { x.y = 1; return x }")).toMatchInlineSnapshot(`
      "map: cannot compile this assignment; only local variables can be assigned.
        x => { x.y = 1; return x }
               ^^^"
    `);
  });

  test("parameters", () => {
    expect(refused("(x, k = 2) => x * k")).toMatchInlineSnapshot(`
      "map: cannot compile a default value; every parameter is an operand or captured.
        (x, k = 2) => x * k
            ^^^^^"
    `);
    expect(refused("(...x) => 1")).toMatchInlineSnapshot(`
      "map: cannot compile a rest parameter; name the operands one by one.
        (...x) => 1
         ^^^^"
    `);
    expect(refused("([a], x) => a")).toMatchInlineSnapshot(`
      "map: cannot compile this parameter; only the last may be { captured names }.
        ([a], x) => a
         ^^^"
    `);
  });

  test("only the offending line is shown, long lines are trimmed around the caret", () => {
    expect(refused("x => {\n\tconst a = x * 2;\n\treturn a + outer(\n    x);\n}")).toMatchInlineSnapshot(`
      "map: cannot compile this call; only Math.* functions are known.
        return a + outer(
                   ^^^^^^
        Write outer inside the function, or pass it: map(…, { with: { outer } })."
    `);
    const long = Array.from({ length: 40 }, (_, i) => `x * ${i}`);
    expect(refused(`x => ${long.join(" + ")} + k + ${long.join(" + ")}`)).toMatchInlineSnapshot(`
      "map: the function reads the outer variable "k".
        … 37 + x * 38 + x * 39 + k + x * 0 + x * 1 + x * 2 + x * 3 + x * 4 + x * 5 + x * 6 + x * 7 + x * …
                                 ^
        Pass it: map(…, { with: { k } })."
    `);
  });
});

describe("hostile sources are refused, not fatal", () => {
  const reason = (source: string) => {
    const result = lowerFunction(source);
    return isRefusal(result) ? result.reason : result.nodes.length;
  };
  test("deep nesting", () => {
    const deep = 100_000;
    expect(reason(`x => ${"(".repeat(deep)}x${")".repeat(deep)}`)).toMatch(/nested too deeply/);
    expect(reason(`x => ${"-(".repeat(2000)}x${")".repeat(2000)}`)).toMatch(/nested too deeply/);
    expect(reason(`x => ${"!".repeat(3000)}x`)).toMatch(/nested too deeply/);
    expect(reason(`x => ${"x+".repeat(1500)}x`)).toBe(1501);
  });

  test("exponential helpers and nested loops", () => {
    const lines = Array.from({ length: 40 }, (_, i) => `const f${i + 1} = t => f${i}(t) + f${i}(t + ${i});`);
    expect(reason(`x => { const f0 = t => t * t; ${lines.join("")} return f40(x) }`)).toMatch(/too many/);
    // Loops that would unfold to too much stay loops.
    expect(reason(`x => { ${nest(5)} return x }`)).toBeLessThan(10);
  });

  test("huge powers of bigints are not computed", () => {
    expect(typeof reason("x => x + 2n ** 99999999999n")).toBe("number");
  });
});

function nest(depth: number): string {
  return depth === 0
    ? "x += 1;"
    : `for (let i${depth} = 0; i${depth} < 60; i${depth}++) { ${nest(depth - 1)} }`;
}
