/** A closure's own Math is not the global one, and its text does not say so. */
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { lowerFunction } from "../frontend/lower.ts";
import { isRefusal } from "../frontend/refusal.ts";
import { captureValues } from "../frontend/template.ts";
import { explain, kernel, mapReduce, tensor, zip } from "../index.ts";
import { ownGlobals } from "./probe.ts";

// biome-ignore lint/suspicious/noExplicitAny: functions of any kind
type Any = any;

/** The function in a place where the names are declared, as written: build tools would rename them. */
const closure = (declared: string, source: string): Any =>
  runInThisContext(`(() => { ${declared}; return ${source}; })()`);
const x = tensor([1, -2, 3], { dtype: "f64" });

function probe(fn: Any, captures: Record<string, unknown> = {}) {
  const template = lowerFunction(fn, captures);
  if (isRefusal(template)) expect.fail(template.message);
  return ownGlobals(fn, template, captureValues(template, captures), captures);
}

describe("a name that a closure has of its own", () => {
  const abs = "const Math = { ...globalThis.Math, abs: () => 42 }";

  it.each([
    [abs, "(x) => Math.abs(x)", [42, 42, 42]],
    ["const NaN = 7", "(x) => x > 0 ? x : NaN", [1, 7, 3]],
    ["const Infinity = 5", "(x) => x < Infinity ? 1 : 0", [1, 1, 1]],
    ["const Number = (x) => x + 1", "(x) => Number(x)", [2, -1, 4]],
    ["const isNaN = (x) => x > 0", "(x) => isNaN(x) ? 1 : 2", [1, 2, 1]],
    ["const isFinite = (x) => x > 0", "(x) => isFinite(x) ? 1 : 2", [1, 2, 1]],
    ["const Boolean = (x) => x < 0", "(x) => Boolean(x) ? 1 : 2", [2, 1, 2]],
    ["const undefined = 3", "(x) => x === undefined ? 1 : 2", [2, 2, 1]],
    ["const globalThis = { Math: { abs: () => 42 } }", "(x) => globalThis.Math.abs(x)", [42, 42, 42]],
    [abs, "(x) => { const { abs } = Math; return abs(x); }", [42, 42, 42]],
    [abs, "(x) => { const f = (v) => Math.abs(v); return f(x) + 1; }", [43, 43, 43]],
  ])("%s: %s is called", (declared, source, want) => {
    const fn = closure(declared, source);
    expect(x.map(fn).toArray()).toEqual(want);
    expect(explain(() => x.map(fn)).fallbacks[0].why).toMatch(/of its own: called on/);
    expect(() => kernel(fn)).toThrow(/of its own/);
    // The same text elsewhere means the global one.
    const global = closure("", source);
    expect(explain(() => x.map(global)).fallbacks).toEqual([]);
    // And again the first, by its identity.
    expect(x.map(fn).toArray()).toEqual(want);
  });

  it("is shown, with what it gives", () => {
    const fn = closure(abs, "(x) => 1 + Math.abs(x)");
    expect(() => kernel(fn)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: kernel: the function has a Math of its own: called on 0.75 it gives 43, where the global one gives 1.75.
        (x) => 1 + Math.abs(x)
                   ^^^^
        Give it another name, and pass it as a captured value: kernel((x, { abs }) => abs(x), { abs }).]
    `);
  });

  it("is shown in the function's own words: booleans as such", () => {
    const fn = closure("const isNaN = () => true", "(x) => isNaN(x)");
    expect(() => kernel(fn)).toThrow("called on 0.75 it gives true, where the global one gives false.");
  });

  it("is called by zip, reduce, scan and mapReduce, too", () => {
    const two = closure(abs, "(a, b) => a + Math.abs(b)");
    expect(zip([x, x], two).toArray()).toEqual([43, 40, 45]);
    expect(x.reduce(two, { init: 0 }).item()).toBe(126);
    expect(x.scan(two, { init: 0 }).toArray()).toEqual([42, 84, 126]);
    expect(mapReduce([x, x], two).item()).toBe(128);
    expect(() => kernel((v) => v).reduce(two)(x)).not.toThrow();
  });

  it("is noticed in a captured function", () => {
    const inner = closure(abs, "(v) => Math.abs(v)");
    expect(() => kernel((v: number, { inner }: Any) => inner(v) + 1, { inner } as Any)).toThrow(/of its own/);
  });
});

describe("functions that mean the global names", () => {
  it("are compiled: with captured values by name, in an object, and as free variables", () => {
    const same = closure("const Math = globalThis.Math", "(x) => Math.sin(x)");
    expect(probe(same)).toBe(null);
    expect(probe((v: number, { k, q }: Any) => Math.sin(v * k) + q, { k: 2, q: 0.5 })).toBe(null);
    expect(probe((v: number, k: number) => Math.max(v, k), { k: 0.5 })).toBe(null);
    expect(probe(closure("const k = 3", "(x) => Math.min(x, k)"), { k: 3 })).toBe(null);
    const half = kernel((v) => v * 0.5);
    expect(probe((v: number, { half }: Any) => Math.floor(half(v)), { half })).toBe(null);
    expect(probe((v: number, w: number) => Math.hypot(v, w) + (Number.isNaN(v) ? 1 : 0))).toBe(null);
  });

  it("are taken as they read where calling tells nothing: they throw, or give no number", () => {
    expect(probe(closure("", "(x) => x * 2n + 0n * (Number(1n) > 0 ? 1n : 0n)"))).toBe(null);
    const throws = closure("const Math = { abs() { throw new Error('no'); } }", "(x) => Math.abs(x)");
    expect(probe(throws)).toBe(null);
  });

  it("are called once: a known function costs nothing", () => {
    const count = { calls: 0 };
    const counting = closure(
      "const Math = new Proxy(globalThis.Math, { get: (m, k) => (globalThis.probed.calls++, m[k]) })",
      "(x) => Math.abs(x)",
    );
    (globalThis as Any).probed = count;
    x.map(counting);
    const after = count.calls;
    expect(after).toBeGreaterThan(0);
    x.map(counting);
    x.map(counting);
    expect(count.calls).toBe(after);
    delete (globalThis as Any).probed;
  });

  it("without any such name are not called at all", () => {
    const fn = closure("", "(x) => x * 2 + 1");
    const template = lowerFunction(fn);
    expect("globals" in template).toBe(false);
  });
});
