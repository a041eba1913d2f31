/** Functions of any size, and sizes of anything: an answer or a TensorError, soon, and never what the engine says. */
import { describe, expect, it } from "vitest";
import { arange, kernel } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: what plain JavaScript may pass
type Any = any;

describe("a function with properties of a kernel", () => {
  it.each([[{ nodes: [], result: 0 }], [5], [null], ["x"]])("is a function: template %j", (template) => {
    const fn = Object.assign((x: number) => x + 1, { template });
    const x = arange(3);
    expect(x.map(fn).toArray()).toEqual([1, 2, 3]);
    expect(kernel(fn)(x).toArray()).toEqual([1, 2, 3]);
    expect(kernel((x: number, { fn }: Any) => fn(x) * 2, { fn } as Any)(x).toArray()).toEqual([2, 4, 6]);
    expect(x.reduce(Object.assign((a: number, b: number) => a + b, { template })).item()).toBe(3);
  });

  it("and an object is no kernel", () => {
    const { template } = kernel((x) => x * 2);
    expect(() => kernel((x: number, { k }: Any) => k(x), { k: { template } } as Any)).toThrow(/captured "k"/);
  });

  it("a kernel's own template cannot be exchanged", () => {
    const twice = kernel((x) => x * 2) as Any;
    expect(() => {
      twice.template = { nodes: [] };
    }).toThrow(TypeError);
    expect(kernel((x: number, { twice }: Any) => twice(x), { twice })(arange(2)).toArray()).toEqual([0, 2]);
  });
});
