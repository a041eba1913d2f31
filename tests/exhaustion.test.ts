/** A heap of 4 MiB, to see it full: in a file of its own, as the heap of a thread is made once. */
import { beforeAll, describe, expect, it } from "vitest";
import { engine } from "../src/engine.ts";
import {
  arange,
  configure,
  empty,
  full,
  matmul,
  memory,
  scope,
  type Tensor,
  tensor,
  zeros,
} from "../src/index.ts";
import { refused } from "./refused.ts";

describe("when the heap is full", () => {
  beforeAll(() => configure({ maximumBytes: 4 * 2 ** 20, threads: 3 }));

  it("settings outside what a heap can have are refused before it is made", () => {
    expect(() => configure({ maximumBytes: 10 })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: configure: maximumBytes is 10.
        Use a whole number from 262144 to 4294967296.]
    `);
    expect(() => configure({ maximumBytes: 2 ** 40 })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: configure: maximumBytes is 1099511627776.
        Use a whole number from 262144 to 4294967296.]
    `);
    expect(() => configure(null as never)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: configure: the settings are null.
        Give an object such as { maximumBytes: 2 ** 30 }.]
    `);
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
    expect(message()).toMatchInlineSnapshot(`
      "TensorError: zeros: out of memory: needs 1 MiB, 3 MiB of 4 MiB in use by 3 tensors; the largest free piece has 0.9 MiB.
        Free tensors with dispose(), using, scope(() => …) or scopeAsync(async (s) => …): garbage is freed between tasks, not inside a synchronous loop and not in one that awaits only resolved promises."
    `);
    const before = memory();
    expect(refused(() => held[0].map((x) => x + 1))).toMatchInlineSnapshot(`
      "(memory) map: out of memory: needs 1 MiB, 3 MiB of 4 MiB in use by 3 tensors; the largest free piece has 0.9 MiB.
        Free tensors with dispose(), using, scope(() => …) or scopeAsync(async (s) => …): garbage is freed between tasks, not inside a synchronous loop and not in one that awaits only resolved promises."
    `);
    expect(refused(() => held[0].to("f64"))).toMatch(/^\(memory\) to: /);
    expect(memory()).toEqual(before);
    for (const t of held) t.dispose();
    expect(memory().bytes).toBe(0);
  });

  it("a conversion that finds no room for its source leaves nothing behind", () => {
    const held = zeros([2 ** 18]);
    const before = memory();
    for (let i = 0; i < 3; i++) {
      expect(refused(() => tensor(new Float64Array(300_000), { dtype: "f32" }))).toMatch(
        /^\(memory\) tensor: /,
      );
      expect(memory()).toEqual({ ...before, peakBytes: memory().peakBytes });
    }
    held.dispose();
  });

  it("a product whose threads find no room for their workspaces is made by one of them", () => {
    const { pool } = engine();
    pool.waitUntilReady(20_000);
    const shape = [8, 100, 100];
    const [a, turned, out] = [1, 2, 3].map((x) => full(shape, x, { dtype: "f64" }));
    const b = turned.swapAxes(1, 2);
    const gemm = engine().products;
    matmul(a, b, { out });
    expect(gemm.shared).toBe(true);
    out.fill(0);
    const held: Tensor[] = [];
    const room = zeros([2 ** 16]);
    for (let bytes = 2 ** 20; bytes >= 64; bytes /= 2) {
      while (held.length < 1000) {
        try {
          held.push(empty([bytes], { dtype: "u8" }));
        } catch {
          break;
        }
      }
    }
    room.dispose();
    const before = memory();
    matmul(a, b, { out });
    expect(gemm.shared).toBe(false);
    expect(memory()).toEqual({ ...before, peakBytes: memory().peakBytes });
    for (const t of held) t.dispose();
    expect([out.min().item(), out.max().item()]).toEqual([200, 200]);
    for (const t of [a, b, turned, out]) t.dispose();
  });

  it("one tensor larger than the heap says so", () => {
    expect(refused(() => zeros([2 ** 21]))).toMatchInlineSnapshot(`
      "(memory) zeros: out of memory: needs 8 MiB, all memory there can be is 3.9 MiB.
        Work on smaller pieces, or in a dtype with fewer bytes."
    `);
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
});
