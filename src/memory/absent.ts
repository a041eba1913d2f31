/** Storages without a block: for tensors that have a dtype and a shape, and no elements yet. */
import type { Heap } from "./heap.ts";
import { Storage } from "./storage.ts";

/** Stands where a heap has to be while a storage is made. */
const nowhere = { backstop: { watch: () => ({}), unwatch: () => {} }, free: () => {} } as unknown as Heap;

/** It is never freed, and whoever asks where it lies asks `memory`, which may refuse. */
export abstract class AbsentStorage extends Storage {
  constructor(heap: Heap, bytes: number) {
    super(nowhere, 0, bytes);
    // It has no block to be given back.
    this.retain();
    (this as { heap: Heap }).heap = heap;
    Object.defineProperty(this, "address", { get: () => this.memory().address, configurable: true });
  }

  /** From now on it lies here. */
  protected located(address: number): this {
    return Object.defineProperty(this, "address", { value: address });
  }

  /** What stands for it, where something does. */
  protected abstract memory(): Storage;
}
