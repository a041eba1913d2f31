/**
 * Lets the garbage collector feel what tensors weigh. It sees a handle of a few words; the megabytes behind it lie in
 * one memory that it counts as a whole or not at all, so left alone it has no reason to look for dead handles. But it
 * counts array buffers as they are made. So each time blocks have grown by a step, the heap makes one that nobody
 * reads or writes, a weight, and drops it: the collector begins a collection as it would for a large typed array, and
 * the backstop frees what was garbage.
 *
 * A weight is so large that allocators give it fresh pages of the system's: never touched, they take no memory. What is
 * freed by hand sets none: a loop that frees what it makes meets the limit once.
 */

const MIB = 1 << 20;
/** Twice what V8 lets array buffers grow before it collects, and more than allocators keep for reuse (32 MiB). */
const WEIGHT_BYTES = 128 * MIB;
/** More than V8 takes without collecting first, at once: for when the collection that was asked for does not come. */
const HEAVY_BYTES = 2 ** 33;
/** A collection takes a few milliseconds; to fill so many bytes takes twenty times as long at least. */
const MOST_STEP_BYTES = 256 * MIB;
/** The weights of the turns that follow one another while no collection is seen; 0 is a look whether there was one. */
const TURNS = [WEIGHT_BYTES, 0, 0, 0, HEAVY_BYTES, 0, 0, 0];

/**
 * How far blocks may grow before a collection is worth it: a quarter of the room that is left, within limits. The
 * tighter the heap, the sooner: garbage is freed a moment later, and the heap must not be full before that.
 */
export function stepFrom(bytes: number, maximumBytes: number): number {
  return Math.max(MIB, maximumBytes / 64, Math.min(MOST_STEP_BYTES, (maximumBytes - bytes) / 4));
}

/** Objects that nobody holds. */
const canaries = (): WeakRef<object>[] => TURNS.map(() => new WeakRef({}));

export class Weight {
  /** Blocks that reach so many bytes are told of with `grown`. */
  limit: number;
  /** Weights set so far. */
  count = 0;
  /** Turns since a collection was seen. */
  #turns = 0;
  /**
   * They die in the next collection, and one is spent with every look. Made when garbage was freed, long before the next
   * weight: what is made in the task of a weight, or while a collection is under way, outlives it.
   */
  #canaries = canaries();
  #isRenewing = false;
  readonly #maximum: number;
  readonly #inUse: () => number;
  readonly #sweep: () => void;

  /** `sweep` frees the blocks whose owners the last collection has found dead. */
  constructor(maximumBytes: number, bytesInUse: () => number, sweep: () => void) {
    this.#maximum = maximumBytes;
    this.#inUse = bytesInUse;
    this.#sweep = sweep;
    this.limit = stepFrom(0, maximumBytes);
  }

  /**
   * Blocks have reached the limit: a collection is asked for, and once there was one, what it found dead is freed. The
   * host may be late with its finalizers: timers that are always due keep Node from them for good.
   */
  grown(): void {
    const turn = this.#turns++;
    const isLate = turn >= TURNS.length;
    const isNearlyFull = this.#inUse() > 0.75 * this.#maximum;
    let weight = isLate ? (turn % 2 === 0 ? WEIGHT_BYTES : 0) : TURNS[turn];
    if (isNearlyFull && weight > 0) weight = HEAVY_BYTES;
    this.limit = this.#limitAfter(isLate ? 1 : 8);
    if (weight > 0) this.#set(weight);
    else if (this.#wasCollected()) this.#sweepSoon();
  }

  /** Garbage was freed: the next step begins at what is left. */
  settle(): void {
    this.#turns = 0;
    this.limit = this.#limitAfter(1);
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    queueMicrotask(() => {
      this.#isRenewing = false;
      this.#canaries = canaries();
    });
  }

  #set(bytes: number): void {
    this.count++;
    try {
      void new ArrayBuffer(bytes);
    } catch {
      // A host that has no room for it has collected all it could before it says so.
    }
  }

  /**
   * To look whether something is alive keeps it alive until the task ends, or through the collection that is under way.
   * So canaries are looked at, each once, and the owners of blocks only when it is known that a collection is over.
   */
  #wasCollected(): boolean {
    return this.#canaries.pop()?.deref() === undefined;
  }

  /** Not now: the operation that allocates may use a block whose owner it has no more need of. */
  #sweepSoon(): void {
    queueMicrotask(() => {
      this.#sweep();
      this.settle();
    });
  }

  #limitAfter(share: number): number {
    const bytes = this.#inUse();
    return bytes + stepFrom(bytes, this.#maximum) / share;
  }
}
