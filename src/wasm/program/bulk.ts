/** A run of bytes from one place to another, which the host does best itself. Descriptor: i32 to, from, bytes. */
import type { ModuleBuilder } from "../assembler/assembler.ts";
import { heapModule } from "../kit.ts";

export function emitBulkCopy(shared: boolean): ModuleBuilder {
  const module = heapModule(shared);
  const f = module.func("run", { d: "i32" }, [], { export: true });
  const d = f.params[0];
  for (const word of [0, 1, 2]) f.get(d).load("i32.load", 4 * word);
  f.op("memory.copy");
  return module;
}
