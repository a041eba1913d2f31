import { describe, expect, it } from "vitest";
import { compileModule } from "./assembler/module.ts";
import { heapModule } from "./kit.ts";
import { task } from "./task.ts";

describe("what a routine is called with", () => {
  const schema = task({ at: "ptr", scale: "f64", n: "i32", to: "ptr", shift: "f64" });

  it("an f64 has two words, from an even one on", () => {
    expect(schema.at).toEqual({ at: 0, scale: 2, n: 4, to: 5, shift: 6 });
    expect(schema.words).toBe(8);
  });

  it("what is not given is 0", () => {
    expect(schema.of({ n: 7, to: 4096 })).toEqual([0, 0, 0, 0, 7, 4096, 0, 0]);
  });

  it("what is written is what the code reads", () => {
    const module = heapModule(false);
    const { f, words } = schema.open(module);
    // to[0] = n · scale + shift; to[8] = at
    f.get(words.to).get(words.n).op("f64.convert_i32_s").get(words.scale).op("f64.mul");
    f.get(words.shift).op("f64.add").store("f64.store");
    f.get(words.to).get(words.at).store("i32.store", 8);
    const memory = new WebAssembly.Memory({ initial: 2 });
    const { exports } = new WebAssembly.Instance(compileModule(module.toBytes()), { e: { m: memory } });
    new Int32Array(memory.buffer).set(schema.of({ at: 123, scale: -0.1, n: 3, to: 1024, shift: 1e300 }));
    (exports.run as (task: number) => void)(0);
    const view = new DataView(memory.buffer);
    expect(view.getFloat64(1024, true)).toBe(3 * -0.1 + 1e300);
    expect(view.getInt32(1032, true)).toBe(123);
  });
});
