import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { TensorError } from "../errors.ts";
import { binOf } from "./bins.ts";
import { Heap, SCRATCH } from "./heap.ts";

const PAGE = 65536;
const MIB = 1 << 20;

function errorOf(run: () => unknown): TensorError {
  try {
    run();
  } catch (error) {
    if (error instanceof TensorError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("alloc and free", () => {
  it("blocks are 64-byte aligned, inside the memory, after the scratch page, and never overlap", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 64 });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ bytes: fc.integer({ min: 0, max: 5000 }) }) },
      { weight: 1, arbitrary: fc.record({ bytes: fc.integer({ min: 0, max: 200_000 }) }) },
      { weight: 3, arbitrary: fc.record({ victim: fc.nat() }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const live: { address: number; bytes: number }[] = [];
        for (const one of steps) {
          if ("bytes" in one) {
            const address = heap.alloc(one.bytes, "test");
            expect(address % 64).toBe(0);
            expect(address).toBeGreaterThanOrEqual(SCRATCH.address + SCRATCH.bytes);
            expect(address + one.bytes).toBeLessThanOrEqual(heap.memory.buffer.byteLength);
            for (const other of live) {
              const apart = address + one.bytes <= other.address || other.address + other.bytes <= address;
              expect(apart && address !== other.address).toBe(true);
            }
            live.push({ address, bytes: one.bytes });
          } else if (live.length > 0) {
            heap.free(live.splice(one.victim % live.length, 1)[0].address);
          }
          heap.check();
          const inUse = live.reduce((sum, { bytes }) => sum + Math.max(64, Math.ceil(bytes / 64) * 64), 0);
          expect(heap.stats()).toMatchObject({ blocks: live.length, bytesInUse: inUse });
          expect(heap.stats().peakBytes).toBeGreaterThanOrEqual(inUse);
        }
        for (const { address } of live) heap.free(address);
        heap.check();
        expect(heap.stats()).toMatchObject({ blocks: 0, bytesInUse: 0, freeBlocks: 1 });
      }),
      { numRuns: 200 },
    );
  });

  it("a block's content survives everything that happens to other blocks", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 256 });
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.boolean()), { maxLength: 50 });
    fc.assert(
      fc.property(steps, (all) => {
        const live: { address: number; bytes: number; mark: number }[] = [];
        for (const [i, [bytes, zeroed]] of all.entries()) {
          if (i % 3 === 2) heap.free(live.splice(bytes % live.length, 1)[0].address);
          const address = zeroed ? heap.allocZeroed(bytes, "test") : heap.alloc(bytes, "test");
          const content = heap.u8.subarray(address, address + bytes);
          if (zeroed) expect(content.every((byte) => byte === 0)).toBe(true);
          content.fill(i + 1);
          live.push({ address, bytes, mark: i + 1 });
        }
        for (const { address, bytes, mark } of live) {
          expect(heap.u8.subarray(address, address + bytes).every((byte) => byte === mark)).toBe(true);
          heap.free(address);
        }
        heap.check();
      }),
      { numRuns: 50 },
    );
  });

  it("three neighbours freed in any order become one free block", () => {
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]) {
      const heap = new Heap({ initialPages: 2, maximumPages: 2 });
      const blocks = [100, 200, 300].map((bytes) => heap.alloc(bytes, "test"));
      for (const i of order) {
        heap.free(blocks[i]);
        heap.check();
      }
      expect(heap.stats().freeBlocks).toBe(1);
      expect(heap.alloc(PAGE, "test")).toBe(PAGE);
    }
  });

  it("a hole is reused by the size that left it, without growth", () => {
    const heap = new Heap({ initialPages: 4, maximumPages: 4 });
    const blocks = Array.from({ length: 3 }, () => heap.alloc(PAGE, "test"));
    heap.free(blocks[1]);
    expect(heap.alloc(PAGE, "test")).toBe(blocks[1]);
  });

  it("a fitting block that lies behind a smaller one of its bin is found before memory runs out", () => {
    // 1000 and 1020 units share a bin; the smaller is freed last, so it comes first.
    expect(binOf(1000)).toBe(binOf(1020));
    const heap = new Heap({ initialPages: 4, maximumPages: 4 });
    const large = heap.alloc(1020 * 64, "test");
    heap.alloc(64, "test");
    const small = heap.alloc(1000 * 64, "test");
    heap.alloc(heap.stats().maximumBytes - PAGE - heap.stats().bytesInUse, "test");
    heap.free(large);
    heap.free(small);
    expect(heap.alloc(1010 * 64, "test")).toBe(large);
    heap.check();
  });

  it("thousands of blocks can be in use at once, and each is found again", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 256 });
    const addresses = Array.from({ length: 5000 }, (_, i) => heap.alloc(1 + ((i * 7919) % 3000), "test"));
    expect(new Set(addresses).size).toBe(5000);
    heap.check();
    for (const address of addresses) heap.free(address);
    heap.check();
    expect(heap.stats()).toMatchObject({ blocks: 0, freeBlocks: 1 });
  });

  it("100,000 blocks of 1 MiB, one after the other, take the memory of one", () => {
    const heap = new Heap({ initialPages: 2 });
    heap.free(heap.alloc(MIB, "test"));
    const { capacityBytes } = heap.stats();
    for (let i = 0; i < 100_000; i++) heap.free(heap.alloc(MIB, "test"));
    expect(heap.stats()).toMatchObject({ capacityBytes, peakBytes: MIB, bytesInUse: 0, freeBlocks: 1 });
  });

  it("freeing twice, or an address that was never handed out, is an internal error and changes nothing", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 2 });
    const address = heap.alloc(256, "test");
    const other = heap.alloc(256, "test");
    heap.free(address);
    for (const wrong of [address, other + 64, other + 0.5, 0, 64, -64, 2 ** 32 + other, Number.NaN]) {
      expect(errorOf(() => heap.free(wrong)).code).toBe("internal");
    }
    heap.check();
    expect(heap.stats().blocks).toBe(1);
  });

  it("bins grow with the size, and sizes above 16 units differ by at most 1/16 inside one", () => {
    const gaps = new Set<number>();
    let widest = 0;
    for (let units = 2, least = 1; units <= 70_000; units++) {
      gaps.add(binOf(units) - binOf(units - 1));
      if (binOf(units) !== binOf(least)) least = units;
      if (units > 16) widest = Math.max(widest, (units - least) / least);
    }
    expect([...gaps].sort()).toEqual([0, 1]);
    expect(widest).toBeGreaterThan(0);
    expect(widest).toBeLessThan(1 / 16);
  });
});

describe("zeroed memory", () => {
  it("memory that was used before is cleared", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 2 });
    const dirty = heap.alloc(1000, "test");
    heap.u8.fill(7, dirty, dirty + 1000);
    heap.free(dirty);
    const address = heap.allocZeroed(2000, "test");
    expect(address).toBe(dirty);
    expect(heap.u8.subarray(address, address + 2000).every((byte) => byte === 0)).toBe(true);
  });

  it("memory that was never handed out is not touched", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 2 });
    heap.free(heap.alloc(128, "test"));
    heap.u8.fill(7, PAGE, PAGE + 256); // Nobody may do this: it shows which bytes are cleared.
    const address = heap.allocZeroed(256, "test");
    expect(address).toBe(PAGE);
    expect(heap.u8.subarray(address, address + 128).every((byte) => byte === 0)).toBe(true);
    expect(heap.u8.subarray(address + 128, address + 256).every((byte) => byte === 7)).toBe(true);
  });
});

describe("growth", () => {
  it("keeps the content, renews the views, and leaves the older ones readable", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 1024 });
    const address = heap.alloc(1000, "test");
    const before = heap.u8;
    before.fill(9, address, address + 1000);
    const far = heap.alloc(20 * MIB, "test");
    expect(heap.u8).not.toBe(before);
    expect(heap.u8.byteLength).toBe(heap.memory.buffer.byteLength);
    expect(heap.view.byteLength).toBe(heap.buffer.byteLength);
    expect(heap.u8.subarray(address, address + 1000).every((byte) => byte === 9)).toBe(true);
    expect(before[address]).toBe(9);
    heap.u8[far + 20 * MIB - 1] = 1;
    expect(heap.view.getUint8(far + 20 * MIB - 1)).toBe(1);
    heap.check();
  });

  it("takes at least 1 MiB, then a quarter of what there is", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 4096 });
    heap.alloc(PAGE + 1, "test");
    expect(heap.stats().capacityBytes / PAGE).toBe(2 + 16);
    heap.alloc(40 * MIB, "test");
    const { capacityBytes } = heap.stats();
    heap.alloc(MIB, "test");
    expect(heap.stats().capacityBytes).toBe(capacityBytes + Math.ceil(capacityBytes / PAGE / 4) * PAGE);
  });

  it("uses the free tail, so the whole maximum can be one block", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 100 });
    const all = 99 * PAGE;
    expect(heap.alloc(all, "test")).toBe(PAGE);
    expect(heap.stats()).toMatchObject({ capacityBytes: 100 * PAGE, freeBlocks: 0, bytesInUse: all });
    heap.check();
  });

  it("asks for exactly what is needed when the host refuses more", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 1024 });
    const grow = heap.memory.grow.bind(heap.memory);
    const asked: number[] = [];
    heap.memory.grow = (pages: number) => {
      asked.push(pages);
      if (pages > 3) throw new RangeError("no");
      return grow(pages);
    };
    heap.alloc(3 * PAGE, "test");
    expect(asked).toEqual([16, 2]);
    heap.check();
    expect(errorOf(() => heap.alloc(8 * PAGE, "test")).code).toBe("memory");
    heap.check();
  });

  it("pages that another thread added are taken in", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 10 });
    const block = heap.alloc(PAGE, "test");
    heap.memory.grow(8);
    expect(heap.u8.byteLength).toBe(2 * PAGE);
    heap.refresh();
    expect(heap.u8.byteLength).toBe(10 * PAGE);
    heap.check();
    heap.free(block);
    expect(heap.alloc(9 * PAGE, "test")).toBe(PAGE);
  });

  it("pages that another thread added are found by an allocation at the maximum", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 10 });
    heap.memory.grow(8);
    expect(heap.alloc(9 * PAGE, "test")).toBe(PAGE);
    heap.check();
  });
});

describe("addresses above 2 GiB", () => {
  it("are handed out, written and freed like others, up to the end of the memory", () => {
    const heap = new Heap();
    const low = heap.alloc(2 ** 31, "test");
    const high = heap.alloc(2 ** 32 - 2 * PAGE - 2 ** 31, "test");
    const end = high + (2 ** 32 - 2 * PAGE - 2 ** 31);
    expect([low, high, end]).toEqual([PAGE, PAGE + 2 ** 31, 2 ** 32 - PAGE]);
    heap.u8[end - 1] = 3;
    heap.check();
    heap.free(high);
    const again = heap.allocZeroed(64, "test");
    expect(again).toBe(high);
    heap.free(again);
    heap.free(low);
    heap.check();
    expect(heap.stats()).toMatchObject({ blocks: 0, freeBlocks: 1, capacityBytes: 2 ** 32 - PAGE });
    expect(heap.u8[end - 1]).toBe(3);
  });
});

describe("out of memory", () => {
  it("says what is needed, what is used, and how to free", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 16 * 8 });
    const blocks = Array.from({ length: 7 }, () => heap.alloc(MIB, "zeros"));
    heap.free(blocks[2]);
    const error = errorOf(() => heap.alloc(2.5 * MIB, "zeros"));
    expect(error.code).toBe("memory");
    expect(error.message).toMatchInlineSnapshot(`
      "zeros: out of memory: needs 2.5 MiB, 6 MiB of 8 MiB in use by 6 tensors; the largest free piece has 1 MiB.
        Free tensors with dispose(), using, scope(() => …) or scopeAsync(async (s) => …): garbage is freed between tasks, not inside a synchronous loop and not in one that awaits only resolved promises."
    `);
    heap.check();
    expect(heap.alloc(MIB, "zeros")).toBe(blocks[2]);
  });

  it("a request larger than all memory is refused without growing", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 16 });
    const error = errorOf(() => heap.alloc(2 ** 33, "zeros"));
    expect(error.code).toBe("memory");
    expect(error.message).toMatchInlineSnapshot(`
      "zeros: out of memory: needs 8192 MiB, all memory there can be is 0.9 MiB.
        Work on smaller pieces, or in a dtype with fewer bytes."
    `);
    expect(heap.stats().capacityBytes).toBe(2 * PAGE);
  });

  it("numbers that are no size are refused, never served", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 16 });
    const hostile = [
      Number.NaN,
      -1,
      0.5,
      -Infinity,
      Infinity,
      2 ** 53,
      2 ** 60,
      1e308,
      15 * PAGE + 1,
      2 ** 32 + 64,
    ];
    for (const bytes of hostile) {
      expect(errorOf(() => heap.alloc(bytes, "zeros")).code).toBe("memory");
      expect(errorOf(() => heap.allocZeroed(bytes, "zeros")).code).toBe("memory");
    }
    heap.check();
    expect(heap.stats().blocks).toBe(0);
    expect(errorOf(() => heap.alloc(0.5, "zeros")).message).toMatchInlineSnapshot(`
      "zeros: cannot allocate 0.5 bytes.
        A size is a whole number of bytes, at most 0.9 MiB."
    `);
  });

  it("the owner is asked to free first, once, and the allocation then succeeds", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 2 });
    const cached = heap.alloc(PAGE, "test");
    const onPressure = vi.fn(() => {
      heap.free(cached);
      return true;
    });
    heap.onPressure = onPressure;
    expect(heap.alloc(PAGE, "test")).toBe(cached);
    expect(onPressure).toHaveBeenCalledTimes(1);
  });

  it("an owner that frees nothing, or allocates itself, is asked once and the request refused", () => {
    const heap = new Heap({ initialPages: 2, maximumPages: 2 });
    heap.alloc(PAGE, "test");
    const onPressure = vi.fn(() => true);
    heap.onPressure = onPressure;
    expect(errorOf(() => heap.alloc(64, "test")).code).toBe("memory");
    expect(onPressure).toHaveBeenCalledTimes(1);
    onPressure.mockImplementation(() => heap.alloc(64, "hook") > 0);
    expect(errorOf(() => heap.alloc(64, "test")).message).toMatch(/^hook: out of memory/);
    expect(onPressure).toHaveBeenCalledTimes(2);
    heap.check();
  });
});

describe("hosts", () => {
  afterEach(() => vi.unstubAllGlobals());

  /** A host whose memories obey `grants`; returns what it was asked for. */
  function stubHost(grants: (wish: WebAssembly.MemoryDescriptor) => boolean): WebAssembly.MemoryDescriptor[] {
    const asked: WebAssembly.MemoryDescriptor[] = [];
    const { Memory } = WebAssembly;
    class Picky extends Memory {
      constructor(wish: WebAssembly.MemoryDescriptor) {
        asked.push(wish);
        if (!grants(wish)) throw new RangeError("could not allocate memory");
        super({ ...wish, maximum: Math.min(wish.maximum ?? 0, 64) });
      }
    }
    vi.stubGlobal("WebAssembly", { Memory: Picky });
    return asked;
  }

  it("by default the memory is shared and may grow to 4 GiB less one page", () => {
    const heap = new Heap();
    expect(heap.shared).toBe(true);
    expect(heap.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(heap.stats().maximumBytes).toBe(2 ** 32 - PAGE);
  });

  it("a host that refuses 4 GiB is asked for less", () => {
    const asked = stubHost(({ maximum }) => maximum !== undefined && maximum <= 8192);
    expect(new Heap({ initialPages: 2 }).stats().maximumBytes).toBe(8192 * PAGE);
    expect(asked.map(({ maximum }) => maximum)).toEqual([65536, 32768, 16384, 8192]);
  });

  it("a host without shared memory gives an unshared one, and growth renews the views", () => {
    stubHost(({ shared }) => shared === false);
    const heap = new Heap({ initialPages: 2, maximumPages: 64 });
    expect(heap.shared).toBe(false);
    const address = heap.alloc(64, "test");
    heap.u8[address] = 5;
    heap.alloc(30 * PAGE, "test");
    expect(heap.u8[address]).toBe(5);
    heap.check();
  });

  it("a host that grants nothing is named in the error", () => {
    stubHost(() => false);
    expect(errorOf(() => new Heap({ initialPages: 2 })).message).toMatchInlineSnapshot(
      `"strided: the host grants no WebAssembly memory of 0.1 MiB: RangeError: could not allocate memory"`,
    );
  });
});
