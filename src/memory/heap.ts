/**
 * The one memory that every tensor lives in: an allocator over a growable, shared `WebAssembly.Memory`.
 *
 * Blocks tile the memory in units of 64 bytes (a cache line, and the widest load). What is known about a
 * block is a JavaScript object, never bytes beside the data: a kernel gone wrong cannot corrupt the heap.
 * Free blocks lie in size bins (`bins.ts`); freeing merges with both neighbours, so no two free blocks touch.
 * Who may use a block, and for how long, is `storage.ts`.
 */

import { fail, unreachable } from "../errors.ts";
import { Backstop } from "./backstop.ts";
import { Block, FreeBins } from "./bins.ts";
import { BlockTable } from "./table.ts";
import { Weight } from "./weight.ts";

/** Bytes at the start of every heap that are never handed out: room for kernel arguments. */
export const SCRATCH = { address: 1024, bytes: 65536 - 1024 } as const;

export interface HeapOptions {
  /** Pages of 64 KiB that the memory starts with. */
  readonly initialPages?: number;
  /** Pages that it may grow to; a host that refuses so many gives fewer. */
  readonly maximumPages?: number;
}

export interface HeapStats {
  /** Bytes of all blocks handed out, each rounded up to 64. */
  readonly bytesInUse: number;
  /** Blocks handed out. */
  readonly blocks: number;
  /** The most that `bytesInUse` has been. */
  readonly peakBytes: number;
  /** Bytes the memory has now, and may grow to. */
  readonly capacityBytes: number;
  readonly maximumBytes: number;
  readonly freeBlocks: number;
}

const PAGE = 65536;
const UNIT = 64;
const WORDS_PER_UNIT = 8;
const UNITS_PER_PAGE = PAGE / UNIT;
const MIB = 1 << 20;
const DEFAULT_PAGES = 256;
/** What a 32-bit memory can have, and what is asked for when a host refuses that. */
const MAXIMUM_PAGES = [65536, 32768, 16384, 8192, 4096];
/** The last page of 4 GiB is never used: the address after a block must fit in 32 bits. */
const USABLE_PAGES = 65535;

export class Heap {
  readonly memory: WebAssembly.Memory;
  /** Whether other threads can see the memory. */
  readonly shared: boolean;
  /**
   * Views of the whole memory, replaced when it grows: read them afresh after anything that allocates.
   * Older ones of a shared memory stay valid and are only too short; of an unshared one they are detached.
   */
  buffer: ArrayBufferLike;
  u8: Uint8Array;
  view: DataView;
  /** Called before an allocation is refused: frees what it can, says whether trying again is worth it. */
  onPressure: (() => boolean) | undefined = undefined;
  /** Frees the blocks whose owners became garbage. */
  readonly backstop: Backstop;
  /** Makes the garbage collector look for them. */
  readonly weight: Weight;

  /** For clearing: filling shared memory takes one step an element, so eight bytes at a time. */
  #words: Float64Array;
  readonly #maximumPages: number;
  /** What an empty heap could give to one block. */
  readonly #mostBytes: number;
  readonly #bins = new FreeBins();
  readonly #used = new BlockTable();
  readonly #first: Block;
  #last: Block;
  /** Units below this one have been handed out at some time; those above are still zero. */
  #freshUnit = UNITS_PER_PAGE;
  #unitsInUse = 0;
  #peakUnits = 0;
  #underPressure = false;
  /** Block objects that a merge left over, linked by `nextFree`: a split takes one, so none is made. */
  #spare: Block | null = null;

  constructor(options: HeapOptions = {}) {
    const initial = Math.max(2, options.initialPages ?? DEFAULT_PAGES);
    const wanted = Math.max(initial, options.maximumPages ?? MAXIMUM_PAGES[0]);
    const { memory, maximum } = createMemory(initial, wanted);
    this.memory = memory;
    this.#maximumPages = Math.min(maximum, USABLE_PAGES);
    this.#mostBytes = (this.#maximumPages - 1) * PAGE;
    this.buffer = memory.buffer;
    this.shared = !(this.buffer instanceof ArrayBuffer);
    this.u8 = new Uint8Array(this.buffer);
    this.view = new DataView(this.buffer);
    this.#words = new Float64Array(this.buffer);
    this.backstop = new Backstop((address) => {
      this.free(address);
      this.weight.settle();
    });
    const inUse = () => this.#unitsInUse * UNIT;
    this.weight = new Weight(this.#maximumPages * PAGE, inUse, () => this.backstop.sweep());

    this.#first = new Block(UNITS_PER_PAGE, this.#capacityUnits() - UNITS_PER_PAGE);
    this.#last = this.#first;
    this.#bins.insert(this.#first);
  }

  /** Address of `bytes` bytes with any content, a multiple of 64. Zero bytes have an address of their own too. */
  alloc(bytes: number, operation: string): number {
    const block = this.#take(bytes, operation);
    const end = block.start + block.units;
    if (end > this.#freshUnit) this.#freshUnit = end;
    return block.start * UNIT;
  }

  /** As `alloc`, all bytes 0. Memory that was never handed out is zero already and is not touched. */
  allocZeroed(bytes: number, operation: string): number {
    const block = this.#take(bytes, operation);
    const end = block.start + block.units;
    const dirtyEnd = Math.min(end, this.#freshUnit);
    if (block.start < dirtyEnd) this.#words.fill(0, block.start * WORDS_PER_UNIT, dirtyEnd * WORDS_PER_UNIT);
    if (end > this.#freshUnit) this.#freshUnit = end;
    return block.start * UNIT;
  }

  free(address: number): void {
    const unit = (address / UNIT) | 0;
    let block = unit * UNIT === address ? this.#used.remove(unit) : null;
    if (block === null) unreachable(`address ${address} is freed and is not in use`);
    this.#unitsInUse -= block.units;

    const { before, after } = block;
    if (after?.isFree) {
      this.#bins.remove(after);
      this.#swallowNext(block, after);
    }
    if (before?.isFree) {
      this.#bins.remove(before);
      this.#swallowNext(before, block);
      block = before;
    }
    this.#bins.insert(block);
  }

  /** Renews the views and takes in the new pages, if the memory has grown: here or in another thread. */
  refresh(): void {
    const { buffer } = this.memory;
    if (buffer.byteLength === this.buffer.byteLength) return;
    this.buffer = buffer;
    this.u8 = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.#words = new Float64Array(buffer);

    const last = this.#last;
    const end = last.start + last.units;
    const units = this.#capacityUnits() - end;
    if (units <= 0) return;
    if (last.isFree) {
      this.#bins.remove(last);
      last.units += units;
    } else {
      const block = new Block(end, units);
      block.before = last;
      last.after = block;
      this.#last = block;
    }
    this.#bins.insert(this.#last);
  }

  stats(): HeapStats {
    return {
      bytesInUse: this.#unitsInUse * UNIT,
      blocks: this.#used.count,
      peakBytes: this.#peakUnits * UNIT,
      capacityBytes: this.buffer.byteLength,
      maximumBytes: this.#maximumPages * PAGE,
      freeBlocks: this.#bins.count,
    };
  }

  /** From now on the peak is that of what comes; for whoever measures one piece of work. */
  resetPeak(): void {
    this.#peakUnits = this.#unitsInUse;
  }

  /** Walks every block and throws where the heap contradicts itself; for tests. */
  check(): void {
    const free = this.#bins.check();
    let end = UNITS_PER_PAGE;
    let used = 0;
    let freeSeen = 0;
    let unitsInUse = 0;
    let before: Block | null = null;
    for (let block: Block | null = this.#first; block !== null; block = block.after) {
      if (block.start !== end)
        unreachable(`a block starts at unit ${block.start}, the one before ends at ${end}`);
      if (block.units < 1) unreachable(`the block at unit ${end} is empty`);
      if (block.before !== before) unreachable(`the block at unit ${end} has a broken link`);
      if (block.isFree !== free.has(block)) unreachable(`the block at unit ${end} is not in its bin`);
      if (block.isFree && before?.isFree) unreachable(`two free blocks meet at unit ${end}`);
      if (block.isFree) freeSeen++;
      else {
        if (!this.#used.has(block)) unreachable(`the block at unit ${end} is lost`);
        used++;
        unitsInUse += block.units;
      }
      before = block;
      end += block.units;
      if (!block.isFree && end > this.#freshUnit) unreachable(`unit ${end} is in use and called fresh`);
    }
    if (before !== this.#last) unreachable("the last block is not the last");
    if (end !== this.#capacityUnits()) unreachable(`blocks end at unit ${end} of ${this.#capacityUnits()}`);
    if (used !== this.#used.count) unreachable(`${used} blocks are in use, ${this.#used.count} are known`);
    if (freeSeen !== free.size) unreachable(`${freeSeen} blocks are free, ${free.size} are in bins`);
    if (unitsInUse !== this.#unitsInUse)
      unreachable(`${unitsInUse} units in use, ${this.#unitsInUse} counted`);
  }

  /** A block for so many bytes, marked as used. */
  #take(bytes: number, operation: string): Block {
    if (!(Number.isInteger(bytes) && bytes >= 0 && bytes <= this.#mostBytes)) {
      this.#refuseSize(bytes, operation);
    }
    const units = bytes === 0 ? 1 : Math.ceil(bytes / UNIT);
    const block = this.#bins.find(units) ?? this.#makeRoom(units) ?? this.#relieve(units);
    if (block === null) this.#refuse(bytes, operation);

    this.#bins.remove(block);
    if (block.units > units) this.#bins.insert(this.#split(block, units));
    this.#used.add(block);
    this.#unitsInUse += units;
    if (this.#unitsInUse > this.#peakUnits) this.#peakUnits = this.#unitsInUse;
    if (this.#unitsInUse * UNIT >= this.weight.limit) this.weight.grown();
    return block;
  }

  /** Cuts a block to `units`; the rest is a new block after it. */
  #split(block: Block, units: number): Block {
    const rest = this.#spare ?? new Block(0, 0);
    this.#spare = rest.nextFree;
    rest.start = block.start + units;
    rest.units = block.units - units;
    rest.before = block;
    rest.after = block.after;
    if (block.after !== null) block.after.before = rest;
    else this.#last = rest;
    block.after = rest;
    block.units = units;
    return rest;
  }

  /** The inverse of `#split`. */
  #swallowNext(block: Block, next: Block): void {
    block.units += next.units;
    block.after = next.after;
    if (next.after !== null) next.after.before = block;
    else this.#last = block;
    next.nextFree = this.#spare;
    this.#spare = next;
  }

  /** A free block that the quick search missed, or one made by growing; null when neither is possible. */
  #makeRoom(units: number): Block | null {
    this.refresh();
    const missed = this.#bins.findAny(units);
    if (missed !== null) return missed;

    const tail = this.#last.isFree ? this.#last.units : 0;
    const needed = Math.ceil((units - tail) / UNITS_PER_PAGE);
    const current = this.buffer.byteLength / PAGE;
    const possible = this.#maximumPages - current;
    if (needed > possible) return null;
    const generous = Math.min(possible, Math.max(needed, Math.ceil(current / 4), MIB / PAGE));
    if (!this.#grow(generous) && !(needed < generous && this.#grow(needed))) return null;
    return this.#bins.findAny(units);
  }

  #grow(pages: number): boolean {
    try {
      this.memory.grow(pages);
    } catch {
      return false;
    }
    this.refresh();
    return true;
  }

  /** Lets the owner free something, then tries once more. */
  #relieve(units: number): Block | null {
    if (this.onPressure === undefined || this.#underPressure) return null;
    this.#underPressure = true;
    try {
      if (!this.onPressure()) return null;
    } finally {
      this.#underPressure = false;
    }
    return this.#bins.find(units) ?? this.#makeRoom(units);
  }

  #refuse(bytes: number, operation: string): never {
    const { bytesInUse, maximumBytes, blocks } = this.stats();
    let largest = 0;
    for (let block: Block | null = this.#first; block !== null; block = block.after) {
      if (block.isFree && block.units > largest) largest = block.units;
    }
    fail(
      "memory",
      operation,
      `out of memory: needs ${mebibytes(bytes)}, ${mebibytes(bytesInUse)} of ${mebibytes(maximumBytes)} in use ` +
        `by ${blocks} tensors; the largest free piece has ${mebibytes(largest * UNIT)}.`,
      "Free tensors with dispose(), using, scope(() => …) or scopeAsync(async (s) => …): garbage is freed between tasks, " +
        "not inside a synchronous loop and not in one that awaits only resolved promises.",
    );
  }

  #refuseSize(bytes: number, operation: string): never {
    const most = mebibytes(this.#mostBytes);
    if (bytes > 0 && (Number.isInteger(bytes) || bytes === Infinity)) {
      fail(
        "memory",
        operation,
        `out of memory: needs ${mebibytes(bytes)}, all memory there can be is ${most}.`,
        "Work on smaller pieces, or in a dtype with fewer bytes.",
      );
    }
    fail(
      "memory",
      operation,
      `cannot allocate ${bytes} bytes.`,
      `A size is a whole number of bytes, at most ${most}.`,
    );
  }

  #capacityUnits(): number {
    return Math.min(this.buffer.byteLength / PAGE, USABLE_PAGES) * UNITS_PER_PAGE;
  }
}

/** The largest memory that the host grants, shared if it can be. */
function createMemory(initial: number, wanted: number): { memory: WebAssembly.Memory; maximum: number } {
  const maxima = [wanted, ...MAXIMUM_PAGES.filter((pages) => pages < wanted && pages >= initial)];
  let refusal: unknown;
  for (const shared of [true, false]) {
    for (const maximum of maxima) {
      try {
        return { memory: new WebAssembly.Memory({ initial, maximum, shared }), maximum };
      } catch (error) {
        refusal = error;
      }
    }
  }
  fail(
    "memory",
    "strided",
    `the host grants no WebAssembly memory of ${mebibytes(initial * PAGE)}: ${refusal}`,
  );
}

/** `1.5 MiB`; amounts too small to show are given in bytes. */
function mebibytes(bytes: number): string {
  if (bytes > 0 && bytes < MIB / 10) return `${bytes} bytes`;
  return `${Number((bytes / MIB).toFixed(1))} MiB`;
}
