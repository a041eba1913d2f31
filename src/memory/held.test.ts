import { describe, expect, it } from "vitest";
import { heldIn } from "./held.ts";

class Thing {
  readonly inside = { nested: "not looked at" };
}
const isThing = (value: object): value is Thing => value instanceof Thing;
const find = (root: unknown) => heldIn(root, isThing);

describe("what a value holds", () => {
  const one = new Thing();

  it("is found in arrays, objects, classes, Maps and Sets, under names and symbols", () => {
    class Model {
      readonly weights = one;
    }
    const symbol = Symbol("hidden");
    const hidden = Object.defineProperty({}, "quiet", { value: one, enumerable: false });
    const bare: Record<string, unknown> = Object.create(null);
    bare.x = one;
    for (const root of [
      one,
      [1, [null, one]],
      { a: { b: one } },
      new Model(),
      { [symbol]: one },
      Object.assign([1, 2], { [symbol]: one }),
      new Map([["key", one]]),
      new Map([[one, "value"]]),
      new Set([[one]]),
      new (class extends Map {
        readonly own = one;
      })(),
      hidden,
      bare,
    ]) {
      expect([...find(root)]).toEqual([one]);
    }
  });

  it("is found once, at any depth, through cycles", () => {
    let root: unknown = one;
    for (let i = 0; i < 200_000; i++)
      root = i % 3 === 0 ? [root] : i % 3 === 1 ? { root } : new Map([[i, root]]);
    expect(find(root).size).toBe(1);
    const cycle: { self?: unknown; things: Thing[] } = { things: [one, one] };
    cycle.self = [cycle, new Set([cycle])];
    expect(find(cycle).size).toBe(1);
  });

  it("does not call getters, and does not look at bytes or at what is no object", () => {
    let calls = 0;
    const root = {
      get trap() {
        calls++;
        return one;
      },
      bytes: new Uint8Array(1 << 20),
      buffer: new ArrayBuffer(8),
      text: "x".repeat(100),
      fn: Object.assign(() => one, { one }),
    };
    expect(find(root).size).toBe(0);
    expect(calls).toBe(0);
    for (const nothing of [undefined, null, 1, "x", Symbol("s"), 1n, true])
      expect(find(nothing).size).toBe(0);
  });

  it("is found in arrays with holes, however long", () => {
    const sparse: unknown[] = [];
    sparse[2 ** 32 - 2] = one;
    expect(find(sparse).size).toBe(1);
    const short = new Array(3);
    short[2] = one;
    expect(find(short).size).toBe(1);
  });
});
