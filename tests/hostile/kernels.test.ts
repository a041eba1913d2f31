/** Functions that are hostile by what they say: deep, wide, long. Compiled, refused or called: never a raw error. */
import { describe, expect, it } from "vitest";
import { grad } from "../../src/grad.ts";
import {
  arange,
  fuse,
  kernel,
  mapIndex,
  njit,
  scope,
  stencil,
  type Tensor,
  TensorError,
} from "../../src/index.ts";

type Fn = (...args: never[]) => unknown;
const functionOf = (text: string): Fn => new Function(`return (${text})`)() as Fn;
const names = (n: number) => Array.from({ length: n }, (_, i) => `p${i}`);
const nested = (open: string, inside: string, close: string, n: number) =>
  open.repeat(n) + inside + close.repeat(n);

/** The body of a function of x, and of at(0) for a stencil. */
const bodies: Readonly<Record<string, string>> = {
  "1,000 parentheses": nested("(", "x", ")", 1000),
  "3,000 minus signs": `${"- ".repeat(3000)}x`,
  "500 calls, one in another": nested("Math.abs(", "x", ")", 500),
  "500 conditions, one in another": nested("(x > 0 ? x : ", "x", ")", 500),
  "20,000 terms": `x${" + x".repeat(20_000)}`,
  "a constant of 20,000 digits": `x + ${"9".repeat(20_000)}`,
  "a constant of 20,000 decimals": `x + 0.${"1".repeat(20_000)}`,
  "a bigint of 20,000 digits": `x + Number(${"9".repeat(20_000)}n)`,
  "300 functions, one in another": nested("((y) => y + ", "x", ")(x)", 300),
  "a name of 100,000 letters": `((${"a".repeat(100_000)}) => ${"a".repeat(100_000)})(x)`,
};

/** Ways to have it compiled. */
const ways: Readonly<Record<string, (body: string) => unknown>> = {
  kernel: (body) => kernel(functionOf(`(x) => ${body}`) as (x: number) => number)(arange(3)),
  map: (body) => arange(3).map(functionOf(`(x) => ${body}`) as (x: number) => number),
  reduce: (body) => arange(3).reduce(functionOf(`(a, x) => ${body}`) as (a: number, x: number) => number),
  scan: (body) => arange(3).scan(functionOf(`(a, x) => ${body}`) as (a: number, x: number) => number),
  mapIndex: (body) => mapIndex(arange(3), functionOf(`(x, i) => ${body}`) as (x: number) => number),
  stencil: (body) => stencil(functionOf(`(at) => { const x = at(0); return ${body}; }`) as never)(arange(3)),
  njit: (body) => njit(functionOf(`(x) => ${body}`))(2),
  grad: (body) =>
    grad((t: Tensor) => kernel(functionOf(`(x) => ${body}`) as (x: number) => number)(t).sum())(arange(3)),
  fuse: (body) =>
    fuse((t: Tensor) => kernel(functionOf(`(x) => ${body}`) as (x: number) => number)(t).sum())(arange(3)),
};

function said(action: () => unknown): string | null {
  try {
    scope(() => {
      action();
    });
    return null;
  } catch (error) {
    if (error instanceof TensorError && error.code !== "internal") return null;
    return `${(error as Error).name}: ${(error as Error).message.slice(0, 100)}`;
  }
}

describe.each(Object.entries(ways))("%s of a function with", (_, run) => {
  it.each(Object.entries(bodies))("%s", (_, body) => {
    expect(said(() => run(body))).toBeNull();
  });
});

describe("10,000 parameters", () => {
  const wide = `(${names(10_000).join(", ")}) => p0 + p9999`;
  const named = `(x, { ${names(10_000).join(", ")} }) => x + p0 + p9999`;
  const captures = Object.fromEntries(names(10_000).map((name, i) => [name, i]));

  it("as operands", () => {
    expect(said(() => kernel(functionOf(wide) as (x: number) => number)(arange(3)))).toBeNull();
    expect(said(() => arange(3).map(functionOf(wide) as (x: number) => number))).toBeNull();
    expect(said(() => mapIndex(arange(3), functionOf(wide) as (x: number) => number))).toBeNull();
    expect(said(() => njit(functionOf(wide))(1))).toBeNull();
    const given = new Array<number>(10_000).fill(1);
    expect(said(() => njit(functionOf(wide))(...given))).toBeNull();
  });

  it("as captured values", () => {
    expect(
      said(() => kernel(functionOf(named) as (x: number) => number, captures as never)(arange(3))),
    ).toBeNull();
    expect(
      said(() => arange(3).map(functionOf(named) as (x: number) => number, { with: captures } as never)),
    ).toBeNull();
    expect(said(() => njit(functionOf(named), captures)(1))).toBeNull();
  });
});
