import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { TensorError } from "../errors.ts";
import type { View } from "../view/view.ts";
import { Heap } from "./heap.ts";
import { checkReach, createStorage, type Storage } from "./storage.ts";

function errorOf(run: () => unknown): TensorError {
  try {
    run();
  } catch (error) {
    if (error instanceof TensorError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const smallHeap = (): Heap => new Heap({ initialPages: 2, maximumPages: 64 });

describe("a storage", () => {
  it("lives until its last holder releases it, then its block is free", () => {
    const heap = smallHeap();
    const storage = createStorage(heap, 100, "test");
    storage.retain();
    storage.release();
    expect(storage.disposed).toBe(false);
    expect(heap.stats().blocks).toBe(1);
    storage.release();
    expect(storage.disposed).toBe(true);
    expect(heap.stats().blocks).toBe(0);
  });

  it("cannot be retained or released after its end", () => {
    const heap = smallHeap();
    const storage = createStorage(heap, 100, "test");
    storage.release();
    const next = createStorage(heap, 100, "test");
    expect(next.address).toBe(storage.address);
    expect(errorOf(() => storage.release()).code).toBe("internal");
    expect(errorOf(() => storage.retain()).code).toBe("internal");
    expect(next.disposed).toBe(false);
    expect(heap.stats().blocks).toBe(1);
  });

  it("is zero when asked for, also where others have written", () => {
    const heap = smallHeap();
    const dirty = createStorage(heap, 256, "test");
    heap.u8.fill(255, dirty.address, dirty.address + 256);
    dirty.release();
    const { address, bytes } = createStorage(heap, 200, "test", { zeroed: true });
    expect([address, bytes]).toEqual([dirty.address, 200]);
    expect(heap.u8.subarray(address, address + bytes).every((byte) => byte === 0)).toBe(true);
  });

  it("names the operation when there is no memory", () => {
    expect(errorOf(() => createStorage(smallHeap(), 2 ** 30, "ones")).message).toMatch(
      /^ones: out of memory/,
    );
  });
});

describe("a storage that becomes garbage", () => {
  let collect: () => void;
  beforeAll(() => {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  });

  /** Finalizers run in tasks of their own: collects and waits until it is so, or the rounds are over. */
  async function settle(isDone: () => boolean, rounds = 50): Promise<void> {
    for (let i = 0; i < rounds && !isDone(); i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it("is freed exactly once, released ones not again, and live ones not at all", async () => {
    const heap = smallHeap();
    const live: Storage[] = [];
    (() => {
      for (let i = 0; i < 300; i++) {
        const storage = createStorage(heap, 64 + i, "test");
        if (i % 3 === 0) live.push(storage);
        else if (i % 3 === 1) storage.release();
        else storage.retain();
      }
    })();
    expect(heap.stats().blocks).toBe(200);
    await settle(() => heap.stats().blocks <= 100);
    expect(heap.stats().blocks).toBe(100);
    // A second wave reuses anchors of the first: a late finalizer would now free a block of ours.
    for (let i = 0; i < 300; i++) live.push(createStorage(heap, 64, "test"));
    await settle(() => false, 5);
    expect(heap.stats().blocks).toBe(400);
    heap.check();
    for (const storage of live) storage.release();
    expect(heap.stats()).toMatchObject({ blocks: 0, freeBlocks: 1 });
  });

  it("is freed although its anchor served released storages before", async () => {
    const heap = smallHeap();
    (() => {
      for (let round = 0; round < 5; round++) {
        const batch = Array.from({ length: 20 }, () => createStorage(heap, 64, "test"));
        if (round < 4) for (const storage of batch) storage.release();
      }
    })();
    expect(heap.stats().blocks).toBe(20);
    await settle(() => heap.stats().blocks === 0);
    expect(heap.stats()).toMatchObject({ blocks: 0, freeBlocks: 1 });
    heap.check();
  });
});

describe("a sweep after a collection", () => {
  it("frees large blocks before their finalizers run, once, and none that is held", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const heap = new Heap({ initialPages: 64, maximumPages: 64 });
    const held = createStorage(heap, 65536, "test");
    (() => {
      // The anchor of a small one that was released serves a large one too.
      createStorage(heap, 64, "test").release();
      for (let i = 0; i < 10; i++) createStorage(heap, 65536 + i, "test");
    })();
    // What was made in this task is kept until it ends.
    await new Promise((resolve) => setImmediate(resolve));
    expect(heap.stats().blocks).toBe(11);
    collect();
    heap.backstop.sweep();
    expect(heap.stats().blocks).toBe(1);
    const again = Array.from({ length: 10 }, () => createStorage(heap, 65536, "test"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(heap.stats().blocks).toBe(11);
    for (const storage of [held, ...again]) storage.release();
    heap.check();
    expect(heap.stats().blocks).toBe(0);
  });
});

describe("checkReach", () => {
  const view = (shape: number[], strides: number[], offset = 0, itemBytes = 4): View => ({
    shape,
    strides,
    offset,
    itemBytes,
  });
  const accepts = (v: View, bytes: number): boolean => {
    try {
      checkReach("asStrided", v, { bytes });
      return true;
    } catch (error) {
      if (error instanceof TensorError && error.code === "bounds") return false;
      throw error;
    }
  };

  /** The addresses of all elements, one by one. */
  function addresses({ shape, strides, offset }: View): number[] {
    let all = [offset];
    for (const [d, size] of shape.entries()) {
      all = all.flatMap((at) => Array.from({ length: size }, (_, i) => at + i * strides[d]));
    }
    return all;
  }

  const axis = fc.record({ size: fc.integer({ min: 0, max: 4 }), stride: fc.integer({ min: -12, max: 12 }) });
  const views = fc
    .record({
      axes: fc.array(axis, { maxLength: 4 }),
      offset: fc.integer({ min: -8, max: 80 }),
      itemBytes: fc.constantFrom(1, 2, 4, 8),
    })
    .map(({ axes, offset, itemBytes }) => ({
      shape: axes.map(({ size }) => size),
      strides: axes.map(({ stride }) => stride),
      offset,
      itemBytes,
    }));

  it("accepts exactly the views whose every byte lies inside, counted one by one", () => {
    const seen = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(views, fc.integer({ min: 0, max: 128 }), (v, bytes) => {
        const all = addresses(v);
        const fits =
          all.length > 0
            ? all.every((at) => at >= 0 && at + v.itemBytes <= bytes)
            : v.offset >= 0 && v.offset <= bytes;
        expect(accepts(v, bytes)).toBe(fits);
        seen[fits ? "accepted" : "refused"]++;
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(100);
  });

  it("finds the exact size: one byte less is refused, and so is one byte before", () => {
    fc.assert(
      fc.property(views, (v) => {
        fc.pre(v.shape.every((size) => size > 0));
        const all = addresses(v);
        const moved = { ...v, offset: v.offset - Math.min(...all) };
        const bytes = Math.max(...all) - Math.min(...all) + v.itemBytes;
        expect(accepts(moved, bytes)).toBe(true);
        expect(accepts(moved, bytes - 1)).toBe(false);
        expect(accepts({ ...moved, offset: moved.offset - 1 }, bytes)).toBe(false);
        expect(accepts({ ...moved, offset: moved.offset + 1 }, bytes)).toBe(false);
      }),
    );
  });

  it("agrees with exact arithmetic on numbers of any size", () => {
    const whole = fc.oneof(
      fc.integer({ min: -4, max: 40 }),
      fc.maxSafeInteger(),
      fc.constantFrom(2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 52, 2 ** 53 - 1, 1 - 2 ** 53, 94906267, 2 ** 26, -0),
    );
    const size = whole.map((n) => Math.abs(n));
    const wild = fc.record({
      axes: fc.array(fc.record({ size, stride: whole }), { maxLength: 5 }),
      offset: whole,
      itemBytes: fc.constantFrom(1, 2, 4, 8),
      bytes: fc.oneof(fc.constantFrom(0, 64, 2 ** 32, 2 ** 53 - 1), size),
    });
    fc.assert(
      fc.property(wild, ({ axes, offset, itemBytes, bytes }) => {
        let low = BigInt(offset);
        let high = low + BigInt(itemBytes);
        for (const one of axes) {
          const extent = BigInt(one.stride) * (BigInt(one.size) - 1n);
          if (extent < 0n) low += extent;
          else high += extent;
        }
        const isEmpty = axes.some((one) => one.size === 0);
        const fits = isEmpty ? offset >= 0 && offset <= bytes : low >= 0n && high <= BigInt(bytes);
        const v = view(
          axes.map((one) => one.size),
          axes.map((one) => one.stride),
          offset,
          itemBytes,
        );
        expect(accepts(v, bytes)).toBe(fits);
      }),
      { numRuns: 3000 },
    );
  });

  const hostile = [2 ** 53, -(2 ** 53), 2 ** 64, 1e308, -1e308, Infinity, -Infinity, Number.NaN, 0.5, -0.5];

  it("refuses every number that is not an exact whole one, wherever it stands", () => {
    for (const n of hostile) {
      for (const bytes of [0, 64, 2 ** 53 - 1]) {
        expect(accepts(view([n], [0]), bytes), `size ${n}`).toBe(false);
        expect(accepts(view([0, n], [0, 0]), bytes), `size ${n} of an empty view`).toBe(false);
        expect(accepts(view([2], [n]), bytes), `stride ${n}`).toBe(false);
        expect(accepts(view([1], [n]), bytes), `stride ${n} of a size-1 axis`).toBe(false);
        expect(accepts(view([1], [0], n), bytes), `offset ${n}`).toBe(false);
        expect(accepts(view([0], [0], n), bytes), `offset ${n} of an empty view`).toBe(false);
        expect(accepts(view([1], [0], 0, n), bytes), `element of ${n} bytes`).toBe(false);
      }
    }
  });

  it("refuses things that are not numbers at all", () => {
    for (const n of ["0", null, undefined, 0n, [], {}, true] as unknown as number[]) {
      expect(accepts(view([n], [0]), 64)).toBe(false);
      expect(accepts(view([1], [n]), 64)).toBe(false);
      expect(accepts({ ...view([1], [0]), offset: n }, 64)).toBe(false);
      expect(accepts({ ...view([1], [0]), itemBytes: n }, 64)).toBe(false);
    }
    expect(accepts(view(new Array<number>(1), [0]), 64)).toBe(false);
  });

  it("refuses overflow in both directions, which must not cancel", () => {
    const huge = 2 ** 53 - 1;
    expect(accepts(view([2, 2], [huge, -huge]), huge)).toBe(false);
    expect(accepts(view([huge, huge], [huge, -huge]), huge)).toBe(false);
    expect(accepts(view([3, 3], [2 ** 52, -(2 ** 52)], 2 ** 52), huge)).toBe(false);
    expect(accepts(view([2], [huge], huge), huge)).toBe(false);
    expect(accepts(view([1], [0], huge, 8), huge)).toBe(false);
    expect(accepts(view([2 ** 30 + 1, 2 ** 30 + 1], [0, 0]), 4)).toBe(true);
  });

  it("refuses negative sizes, elements without bytes, and ranks that differ", () => {
    expect(accepts(view([-1], [4]), 64)).toBe(false);
    expect(accepts(view([0, -1], [4, 4]), 64)).toBe(false);
    expect(accepts(view([1], [4], 0, 0), 64)).toBe(false);
    expect(accepts(view([1], [4], 0, -4), 64)).toBe(false);
    expect(accepts(view([1], []), 64)).toBe(false);
    expect(accepts(view([], [4]), 64)).toBe(false);
    expect(accepts(view([], []), 4)).toBe(true);
    expect(accepts(view([], []), 3)).toBe(false);
  });

  it("lets an empty view begin anywhere from the first byte to behind the last, with any whole strides", () => {
    expect(accepts(view([0, 3], [2 ** 60, -1e300], 16), 16)).toBe(true);
    expect(accepts(view([3, 0], [-(2 ** 60), 4], 0), 0)).toBe(true);
    expect(accepts(view([0], [4], 17), 16)).toBe(false);
    expect(accepts(view([0], [4], -1), 16)).toBe(false);
    for (const n of [Number.NaN, 0.5, Infinity]) expect(accepts(view([0], [n]), 16)).toBe(false);
  });

  it("takes -0 for 0", () => {
    expect(accepts(view([-0], [-0], -0), 0)).toBe(true);
    expect(accepts(view([2], [-0], -0), 4)).toBe(true);
  });

  it("accepts nothing in a storage whose size is not a number", () => {
    expect(accepts(view([1], [4]), Number.NaN)).toBe(false);
    expect(accepts(view([0], [4]), Number.NaN)).toBe(false);
  });

  it("says which bytes are reached and which there are", () => {
    const message = (v: View, bytes: number): string =>
      errorOf(() => checkReach("asStrided", v, { bytes })).message;
    expect(message(view([3, 2], [16, -4]), 32)).toMatchInlineSnapshot(`
      "asStrided: the view reaches bytes -4 … 35, its storage has bytes 0 … 31.
        Every element must lie inside: shape [3, 2], strides [16, -4] bytes, offset 0 bytes, 4 bytes an element."
    `);
    expect(message(view([2], [2 ** 53 - 1], 2 ** 53 - 1), 32)).toMatchInlineSnapshot(`
      "asStrided: the view reaches bytes 9007199254740991 … 18014398509481985, its storage has bytes 0 … 31.
        Every element must lie inside: shape [2], strides [9007199254740991] bytes, offset 9007199254740991 bytes, 4 bytes an element."
    `);
    expect(message(view([1], [4]), 0)).toMatchInlineSnapshot(`
      "asStrided: the view reaches bytes 0 … 3, its storage has no bytes.
        Every element must lie inside: shape [1], strides [4] bytes, offset 0 bytes, 4 bytes an element."
    `);
    expect(message(view([0, 2], [8, 4], 33), 32)).toMatchInlineSnapshot(`
      "asStrided: the empty view begins at byte 33, its storage has 32 bytes.
        Every element must lie inside: shape [0, 2], strides [8, 4] bytes, offset 33 bytes, 4 bytes an element."
    `);
    expect(message(view([2, 2], [8, 0.5]), 32)).toMatchInlineSnapshot(`
      "asStrided: stride 0.5 of axis 1 is not a whole number of bytes below 2^53.
        Every element must lie inside: shape [2, 2], strides [8, 0.5] bytes, offset 0 bytes, 4 bytes an element."
    `);
    expect(message(view([2, -2], [8, 4]), 32)).toMatchInlineSnapshot(`
      "asStrided: size -2 of axis 1 is not a whole number from 0 below 2^53.
        Every element must lie inside: shape [2, -2], strides [8, 4] bytes, offset 0 bytes, 4 bytes an element."
    `);
    expect(message(view([2], [8], Number.NaN), 32)).toMatchInlineSnapshot(`
      "asStrided: offset NaN is not a whole number of bytes below 2^53.
        Every element must lie inside: shape [2], strides [8] bytes, offset NaN bytes, 4 bytes an element."
    `);
    expect(message(view([2], [8, 4]), 32)).toMatchInlineSnapshot(`
      "asStrided: 1 sizes, 2 strides.
        Every element must lie inside: shape [2], strides [8, 4] bytes, offset 0 bytes, 4 bytes an element."
    `);
    expect(message(view([2], [8], 0, 0), 32)).toMatchInlineSnapshot(`
      "asStrided: an element of 0 bytes is impossible.
        Every element must lie inside: shape [2], strides [8] bytes, offset 0 bytes, 0 bytes an element."
    `);
  });
});
