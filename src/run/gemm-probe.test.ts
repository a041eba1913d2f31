import { expect, test, vi } from "vitest";
import { Heap } from "../memory/heap.ts";
import { plainTile } from "../optimize/gemm.ts";
import { TileRace } from "./gemm-probe.ts";

test("a second race in one process is decided too: it is not given code that was fast from the start", () => {
  const heap = new Heap();
  const plain = plainTile("f32", false);
  const candidates = [plain, { ...plain, nr: 2 * plain.nr }];
  for (let n = 0; n < 2; n++) {
    const race = new TileRace(heap, "f32", candidates);
    // Optimised code comes from a background thread, later on a busy machine.
    const start = performance.now();
    while (!race.decided && performance.now() - start < 60_000) race.attempt(4);
    expect(race.decided).toBe(true);
    expect(race.probes.map((p) => p.optimized)).toEqual([true, true]);
    expect(candidates).toContain(race.best);
  }
}, 180_000);

test("code that was fast before the first slice was over is taken for what it is, after a while", () => {
  const plain = plainTile("f32", false);
  const race = new TileRace(new Heap(), "f32", [plain, { ...plain, nr: 2 * plain.nr }]);
  // Every slice takes the same time, as if nothing were replaced any more.
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 0.1));
  try {
    for (let i = 0; i < 1000 && !race.decided; i++) race.attempt(4);
  } finally {
    clock.mockRestore();
  }
  expect(race.decided).toBe(true);
});
