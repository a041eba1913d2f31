/**
 * Hostile calls where shared memory is refused: there a heap that grows leaves every older view of it detached, in the
 * middle of a call too.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engine } from "../../src/engine.ts";
import { memory } from "../../src/index.ts";
import { expectNone } from "./findings.ts";
import { casesFor, run, targets } from "./hostile.ts";
import { startWatchdog } from "./watch.ts";
import { canaries } from "./world.ts";

vi.setConfig({ testTimeout: 300_000 });

let stop: () => Promise<unknown>;
beforeAll(async () => {
  const Memory = new Proxy(WebAssembly.Memory, {
    construct(of, [options]: [WebAssembly.MemoryDescriptor]) {
      if (options.shared) throw new RangeError("no shared memory here");
      return new of(options);
    },
  });
  vi.stubGlobal("WebAssembly", Object.create(WebAssembly, { Memory: { value: Memory } }));
  canaries();
  stop = await startWatchdog();
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await stop();
});

describe("without shared memory", () => {
  it("the heap is not shared", () => {
    expect(engine().heap.shared).toBe(false);
  });

  it.each(["get-grows", "value-grows", "fn-grows"])("every place, with %s", (mutator) => {
    expectNone(targets.flatMap((target) => casesFor(target, mutator)).map((of) => run(of, false)));
    const { capacityBytes, maximumBytes } = memory();
    expect(capacityBytes, "it could grow each time").toBeLessThan(maximumBytes);
  });
});
