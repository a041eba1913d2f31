/** Tensors by name, as writers of several take them. */
import { readOptions } from "../ops/arguments.ts";
import { live, type Tensor } from "../tensor.ts";
import { Streamed } from "./into-heap.ts";

/** Names and tensors, each read once; all of them live. */
export function readTensors(operation: string, tensors: unknown): [string, Tensor][] {
  // Left out it would be no tensors at all.
  const read = readOptions(operation, (tensors ?? null) as Record<string, Tensor>, "{ weight, bias }");
  const all = Object.entries(read);
  for (const [, t] of all) if (!Streamed.is(t)) live(operation, t);
  return all;
}
