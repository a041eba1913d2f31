/** Tensors by name, as writers of several take them. */
import { fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { isOfBlocks, live, type Tensor } from "../tensor.ts";
import { Streamed } from "./into-heap.ts";

/** Names and tensors, each read once; all of them live. */
export function readTensors(operation: string, tensors: unknown): [string, Tensor][] {
  const all = Object.entries(readNamed<Tensor>(operation, tensors));
  for (const [, t] of all) if (!Streamed.is(t)) live(operation, t);
  return all;
}

/** What is given by name, each read once. */
export function readNamed<T>(operation: string, tensors: unknown): Record<string, T> {
  // By its keys it would be a tensor of bytes called "blocks".
  if (isOfBlocks(tensors))
    fail("value", operation, "expected tensors by name, got a Quantised.", "Give an object: { weight }.");
  // Left out it would be no tensors at all.
  return readOptions(operation, (tensors ?? null) as Record<string, T>, "{ weight, bias }");
}
