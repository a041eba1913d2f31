import fc from "fast-check";
import { expect, test } from "vitest";
import { Heap, SCRATCH } from "../memory/heap.ts";
import { MOST_DESCRIPTOR, Scratch, TaskQueue, TEMPLATE, workspaceOf } from "./descriptors.ts";
import type { PoolKernel } from "./pool.ts";

const END = SCRATCH.address + SCRATCH.bytes;

test("a queue of any descriptors fills the area, and never leaves it", () => {
  const scratch = new Scratch(new Heap({ initialPages: 2, maximumPages: 2 }));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: MOST_DESCRIPTOR }), fc.boolean(), (bytes, hasTemplate) => {
      const queue = new TaskQueue(scratch, bytes, hasTemplate);
      const places: number[] = [];
      while (!queue.isFull) places.push(4 * queue.next());
      const step = 4 * queue.stride;
      expect(step).toBeGreaterThanOrEqual(bytes);
      expect(places[0]).toBe(TEMPLATE + (hasTemplate ? step : 0));
      expect(places).toEqual(places.map((_, i) => places[0] + i * step));
      expect(places.at(-1)! + step).toBeLessThanOrEqual(END);
      expect(places.at(-1)! + 2 * step).toBeGreaterThan(END);
      const ran: number[] = [];
      queue.run({ bytes: new Uint8Array(0), run: (task) => ran.push(task) }, null);
      expect(ran).toEqual(places);
      expect(queue.tasks).toBe(0);
    }),
  );
  expect(() => new TaskQueue(scratch, MOST_DESCRIPTOR + 1)).toThrow(/has no room/);
  expect(workspaceOf(SCRATCH.bytes)).toBe(SCRATCH.address);
  expect(workspaceOf(SCRATCH.bytes + 1)).toBeNull();
});

test("tasks that fail are not there for the next call", () => {
  const scratch = new Scratch(new Heap({ initialPages: 2, maximumPages: 2 }));
  const queue = new TaskQueue(scratch, 100);
  queue.copy();
  queue.copy();
  const trap: PoolKernel = { bytes: new Uint8Array(0), run: () => expect.fail("a trap") };
  expect(() => queue.run(trap, null)).toThrow("a trap");
  expect(queue.tasks).toBe(0);
  queue.run(trap, null);
});

test("recorded tasks come back as they were", () => {
  const scratch = new Scratch(new Heap({ initialPages: 2, maximumPages: 2 }));
  const queue = new TaskQueue(scratch, 100);
  for (const value of [7, 8, 9]) scratch.words[queue.copy() + 3] = value;
  const words = queue.record();
  scratch.words.fill(0);
  const again = new TaskQueue(scratch, 100);
  const start = again.restore(words);
  expect(again.tasks).toBe(3);
  expect([0, 1, 2].map((i) => scratch.words[start + i * again.stride + 3])).toEqual([7, 8, 9]);
  expect(() => again.restore(new Int32Array(SCRATCH.bytes / 4))).toThrow(RangeError);
});

test("a memory that nobody shares and that grows has new views: words are written to those", () => {
  const memory = new WebAssembly.Memory({ initial: 2, maximum: 3 });
  const heap = { shared: false, buffer: memory.buffer };
  const scratch = new Scratch(heap as unknown as Heap);
  const queue = new TaskQueue(scratch, 64);
  scratch.words[queue.copy()] = 5;
  memory.grow(1);
  heap.buffer = memory.buffer;
  scratch.words[queue.copy()] = 6;
  expect([...queue.record()].filter((word) => word !== 0)).toEqual([5, 6]);
});
