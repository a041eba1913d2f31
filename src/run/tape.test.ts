import { expect, it } from "vitest";
import { Heap } from "../memory/heap.ts";
import { ModuleBuilder } from "../wasm/assembler/assembler.ts";
import { Pool } from "./pool.ts";
import { tapedModule, writeTapes } from "./tape.ts";

it("a worker that is seconds behind is waited for while its tape moves on, also where only time can tell", {
  timeout: 60_000,
}, async () => {
  const heap = new Heap();
  // Two seconds without a sign of life, and it would be given up; every call is one.
  const pool = new Pool(heap, 2, { patience: 2000 });
  await pool.ready();
  const module = new ModuleBuilder();
  module.importMemory("e", "m", { min: 2, max: 65536, shared: true });
  const f = module.func("spin", { turns: "i32", at: "i32" }, [], { export: true });
  const [turns, at] = f.params;
  f.loop((next) => f.get(turns).i32(1).op("i32.sub").tee(turns).brIf(next));
  f.get(at).get(at).load("i32.load", 0).i32(1).op("i32.add").store("i32.store", 0);
  const bytes = module.toBytes();
  const compiled = new WebAssembly.Module(bytes);
  const { exports } = new WebAssembly.Instance(compiled, { e: { m: heap.memory } });
  const spin = exports.spin as (turns: number, at: number) => void;
  const taped = tapedModule(heap, bytes, compiled, { spin });
  const counts = heap.allocZeroed(128, "test");
  const start = performance.now();
  spin(2 ** 26, counts);
  const turnsFor = Math.max(1, Math.floor((2 ** 26 * 100) / (performance.now() - start)));

  // The caller takes the first tape and is done two seconds before whoever takes the second.
  const tapes = [4, 50].map((calls, i) => {
    const tape: number[] = [];
    const record = taped.record(tape);
    for (let k = 0; k < calls; k++) record.spin(turnsFor, counts + 64 * i);
    return tape;
  });
  pool.run(taped.kernel, writeTapes(heap, tapes, "test"), 4, 2);
  const seen = new Int32Array(heap.buffer);
  expect([seen[counts / 4], seen[counts / 4 + 16]]).toEqual([5, 50]);
  expect(pool.status().why).toBe(null);
});
