import { afterEach, describe, expect, it, vi } from "vitest";
import { stepFrom, Weight } from "./weight.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

describe("a step", () => {
  it("is a quarter of the room that is left, at most 256 MiB, at least 1/64 of all and 1 MiB", () => {
    expect([0, 1, 3, 3.5, 3.9, 4].map((used) => stepFrom(used * GIB, 4 * GIB) / MIB)).toEqual([
      256, 256, 256, 128, 64, 64,
    ]);
    expect([0, 64, 120].map((used) => stepFrom(used * MIB, 128 * MIB) / MIB)).toEqual([32, 16, 2]);
    expect(stepFrom(0, MIB / 2)).toBe(MIB);
  });
});

describe("weights", () => {
  afterEach(() => vi.unstubAllGlobals());

  /** A heap that only says how much is in use; the array buffers that are made, and a collector that is told when. */
  function setup(maximumBytes = 4 * GIB) {
    const made: { readonly at: number; readonly mib: number }[] = [];
    const seen = { collections: 0, sweeps: 0 };
    const heap = { bytes: 0 };
    vi.stubGlobal(
      "ArrayBuffer",
      class {
        constructor(bytes: number) {
          made.push({ at: heap.bytes / MIB, mib: bytes / MIB });
        }
      },
    );
    vi.stubGlobal(
      "WeakRef",
      class {
        readonly born = seen.collections;
        deref(): object | undefined {
          return this.born === seen.collections ? this : undefined;
        }
      },
    );
    const sweep = () => {
      seen.sweeps++;
    };
    const weight = new Weight(maximumBytes, () => heap.bytes, sweep);
    /** As the heap does it when it hands out blocks, up to so many MiB. */
    const growTo = (mib: number) => {
      for (; heap.bytes < mib * MIB; heap.bytes += MIB) if (heap.bytes >= weight.limit) weight.grown();
    };
    const shrinkTo = (mib: number) => {
      heap.bytes = mib * MIB;
    };
    return { made, seen, weight, growTo, shrinkTo };
  }

  it("one is set after a step, a heavy one when no collection comes, then one every two steps", () => {
    const { made, seen, growTo } = setup();
    growTo(2100);
    expect(made).toEqual([
      { at: 256, mib: 128 },
      { at: 256 + 4 * 32, mib: 8192 },
      { at: 256 + 8 * 32, mib: 128 },
      { at: 256 + 8 * 32 + 512, mib: 128 },
      { at: 256 + 8 * 32 + 1024, mib: 128 },
      { at: 256 + 8 * 32 + 1536, mib: 128 },
    ]);
    expect(seen.sweeps).toBe(0);
  });

  it("a collection that was is seen soon, and what it found is freed when the task is over", async () => {
    const { made, seen, weight, growTo, shrinkTo } = setup();
    growTo(260);
    seen.collections++;
    growTo(300);
    expect(seen.sweeps).toBe(0);
    shrinkTo(40);
    await null;
    expect([seen.sweeps, weight.limit / MIB]).toEqual([1, 296]);
    growTo(296);
    expect(made.length).toBe(1);
    growTo(297);
    expect(made.length).toBe(2);
  });

  it("nothing is looked at while no collection was: that would keep it alive", async () => {
    const { seen, growTo } = setup();
    growTo(600);
    await null;
    expect(seen.sweeps).toBe(0);
  });

  it("when garbage is freed the next step begins at what is left", () => {
    const { made, weight, growTo, shrinkTo } = setup();
    growTo(300);
    shrinkTo(40);
    weight.settle();
    growTo(296);
    expect(made.length).toBe(1);
    growTo(297);
    expect(made.map(({ at }) => at)).toEqual([256, 296]);
  });

  it("a loop that frees what it makes meets the limits once", () => {
    const { weight, growTo, shrinkTo } = setup();
    for (let i = 0; i < 100; i++) {
      growTo(350);
      shrinkTo(0);
    }
    expect(weight.count).toBe(1);
  });

  it("in a heap that is nearly full all are heavy", () => {
    const { made, growTo } = setup(128 * MIB);
    growTo(127);
    expect(made.filter(({ at }) => at > 96).every(({ mib }) => mib === 8192)).toBe(true);
    expect(made.filter(({ at }) => at > 96).length).toBeGreaterThan(0);
  });

  it("a host that has no room for one does not fail the allocation", () => {
    vi.stubGlobal(
      "ArrayBuffer",
      class {
        constructor() {
          throw new RangeError("Array buffer allocation failed");
        }
      },
    );
    const weight = new Weight(
      GIB,
      () => GIB / 2,
      () => {},
    );
    weight.grown();
    expect(weight.count).toBe(1);
  });
});
