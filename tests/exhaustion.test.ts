/** A heap of 4 MiB, to see it full: in a file of its own, as the heap of a thread is made once. */
import { beforeAll, describe, expect, it } from "vitest";
import { arange, configure, memory, scope, type Tensor, zeros } from "../src/index.ts";
import { refused } from "./refused.ts";

describe("when the heap is full", () => {
  beforeAll(() => configure({ maximumBytes: 4 * 2 ** 20 }));

  it("settings outside what a heap can have are refused before it is made", () => {
    expect(() => configure({ maximumBytes: 10 })).toThrowErrorMatchingInlineSnapshot();
    expect(() => configure({ maximumBytes: 2 ** 40 })).toThrowErrorMatchingInlineSnapshot();
    expect(() => configure(null as never)).toThrowErrorMatchingInlineSnapshot();
  });

  it("memory() knows the limit", () => {
    expect(memory().maximumBytes).toBe(4 * 2 ** 20);
  });

  it("the error says what is held and how to hold less", () => {
    const held: Tensor[] = [];
    const message = () => {
      try {
        for (;;) held.push(zeros([2 ** 18]));
      } catch (error) {
        return String(error);
      }
    };
    expect(message()).toMatchInlineSnapshot();
    const before = memory();
    expect(refused(() => held[0].map((x) => x + 1))).toMatchInlineSnapshot();
    expect(refused(() => held[0].to("f64"))).toMatch(/^\(memory\) to: /);
    expect(memory()).toEqual(before);
    for (const t of held) t.dispose();
    expect(memory().bytes).toBe(0);
  });

  it("one tensor larger than the heap says so", () => {
    expect(refused(() => zeros([2 ** 21]))).toMatchInlineSnapshot();
  });

  it("after freeing, everything works again", () => {
    expect(arange(1000).sum().item()).toBe(499500);
  });

  it("a loop that allocates far more than the heap runs in a scope", () => {
    let total = 0;
    for (let i = 0; i < 100; i++) {
      total += scope(
        () =>
          zeros([2 ** 17])
            .add(1)
            .slice(0)
            .item() as number,
      );
    }
    expect(total).toBe(100);
  });

  it("a loop that forgets to free runs as long as garbage is collected between turns", async () => {
    // Finalizers run between turns of the event loop; without --expose-gc this only shows that nothing breaks.
    for (let i = 0; i < 8; i++) {
      scope(() => zeros([2 ** 17]));
      await new Promise((done) => setTimeout(done, 0));
    }
    expect(memory().tensors).toBeLessThanOrEqual(8);
  });
});
