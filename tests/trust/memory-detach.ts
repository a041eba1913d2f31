/**
 * For tests: a host without shared memory, where every allocation moves the heap. Older views of an unshared memory are
 * detached when it grows, so code that keeps one across an allocation fails here, and only once in a while elsewhere.
 * Import it before the first tensor is made.
 */
import { Heap } from "../../src/memory/heap.ts";

const { Memory } = WebAssembly;
WebAssembly.Memory = class extends Memory {
  constructor(descriptor: WebAssembly.MemoryDescriptor) {
    if (descriptor.shared) throw new RangeError("shared memory is refused");
    super(descriptor);
  }
};

const { alloc, allocZeroed } = Heap.prototype;
/** Growing by nothing gives a new buffer and detaches the old one. */
function detached(heap: Heap, address: number): number {
  heap.memory.grow(0);
  heap.refresh();
  return address;
}
Heap.prototype.alloc = function (this: Heap, bytes: number, operation: string): number {
  return detached(this, alloc.call(this, bytes, operation));
};
Heap.prototype.allocZeroed = function (this: Heap, bytes: number, operation: string): number {
  return detached(this, allocZeroed.call(this, bytes, operation));
};
