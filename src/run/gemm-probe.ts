/**
 * Which register tile is the fastest on this host, found by trying: whether V8 joins vectors into 256 bits, how it
 * hoists loads and when it spills differ from version to version and from flag to flag.
 *
 * A candidate counts once the host's optimising compiler, which works in the background, has replaced its first code. So
 * a race may need several short attempts; until it is decided, and when in doubt, the first candidate is the answer.
 */
import { unreachable } from "../errors.ts";
import type { Heap } from "../memory/heap.ts";
import { type GemmLane, type GemmTile, isWide, laneBytes, laneDType } from "../optimize/gemm.ts";
import { compileModule } from "../wasm/assembler/module.ts";
import { emitBlockGemm, type PackedGemm } from "../wasm/product/gemm.ts";
import { workspaceOf } from "./descriptors.ts";

export interface TileProbe {
  readonly tile: GemmTile;
  /** Operations per nanosecond, best slice. */
  readonly rate: number;
  readonly optimized: boolean;
}

type ProbeHeap = Pick<Heap, "memory" | "shared" | "buffer">;

/** Steps of k in one slice. */
const K = 256;
/** Slices that show how slow the first code is. */
const FIRST_SLICES = 4;
/** Milliseconds, and rounds, after the last candidate became fast: cores with wide vectors need some time to wake up. */
const LAST_TIME = 1;
const LAST_ROUNDS = 8;
/** Optimised code is at least so many times faster than the first. */
const JUMP = 1.6;
/**
 * Milliseconds after which code is taken for optimised that has not become faster. On a busy machine the optimising compiler
 * may be done while the first slices still wait for a core: then nothing gets faster any more.
 */
const LONG_ENOUGH = 400;

export class TileRace {
  readonly #heap: ProbeHeap;
  readonly #lane: GemmLane;
  readonly #runners: readonly Runner[];
  decided = false;

  constructor(heap: ProbeHeap, lane: GemmLane, candidates: readonly GemmTile[]) {
    this.#heap = heap;
    this.#lane = lane;
    this.#runners = candidates.map((tile) => new Runner(heap, lane, tile));
  }

  get probes(): readonly TileProbe[] {
    return this.#runners.map(({ tile, rate, optimized }) => ({ tile, rate, optimized }));
  }

  /** Runs the candidates in turn, for so many milliseconds at the most. The argument area is all the memory it needs. */
  attempt(milliseconds: number): void {
    const start = performance.now();
    for (const runner of this.#runners) runner.clear(this.#heap.buffer);
    let rounds = 0;
    let now = start;
    let fast = start;
    do {
      for (const runner of this.#runners) runner.slice();
      now = performance.now();
      if (!this.#runners.every((runner) => runner.optimized)) fast = now;
      else if (++rounds >= LAST_ROUNDS && now - fast >= LAST_TIME) this.decided = true;
    } while (!this.decided && now - start < milliseconds);
  }

  get best(): GemmTile {
    const [plain, ...others] = this.#runners;
    let best = plain;
    if (!plain.optimized) return plain.tile;
    for (const other of others) {
      const clearly = isWide(other.tile, this.#lane) ? 1.1 : 1.03;
      if (other.optimized && other.rate > clearly * plain.rate && other.rate > 1.03 * best.rate) best = other;
    }
    return best.tile;
  }
}

class Runner {
  readonly tile: GemmTile;
  readonly #block: PackedGemm["block"];
  readonly #lane: number;
  readonly #operations: number;
  readonly #bytes: number;
  readonly #at: number;
  #calls = 2;
  #slices = 0;
  #firstRate = 0;
  #time = 0;
  rate = 0;

  constructor(heap: ProbeHeap, lane: GemmLane, tile: GemmTile) {
    const dtype = laneDType(lane);
    const bytes = emitBlockGemm({ dtypes: [dtype, dtype, dtype], tile, shared: heap.shared }).toBytes();
    const instance = new WebAssembly.Instance(compileModule(bytes), { e: { m: heap.memory } });
    this.tile = tile;
    this.#block = instance.exports.block as PackedGemm["block"];
    this.#lane = laneBytes(lane);
    this.#operations = 4 * tile.mr * tile.nr * K;
    // Two panels of a, one of b, what they make, and a tile for edges.
    this.#bytes = this.#lane * ((2 * tile.mr + tile.nr) * K + 3 * tile.mr * tile.nr);
    this.#at = workspaceOf(this.#bytes) ?? unreachable(`a tile of ${tile.mr} × ${tile.nr} has no room`);
  }

  clear(buffer: ArrayBufferLike): void {
    // Filling shared memory takes one step an element.
    new Float64Array(buffer, this.#at, this.#bytes / 8).fill(0);
  }

  get optimized(): boolean {
    if (this.#slices <= FIRST_SLICES) return false;
    return this.rate > JUMP * this.#firstRate || this.#time > LONG_ENOUGH;
  }

  slice(): void {
    const { mr, nr } = this.tile;
    const row = nr * this.#lane;
    const a = this.#at;
    const b = a + 2 * mr * K * this.#lane;
    const c = b + nr * K * this.#lane;
    const scratch = c + 2 * mr * row;
    const start = performance.now();
    for (let i = 0; i < this.#calls; i++) this.#block(2 * mr, nr, K, a, b, c, row, scratch, 0);
    const time = performance.now() - start;
    this.#time += time;
    // Clocks may be coarse.
    if (time < 0.005) {
      this.#calls *= 2;
      return;
    }
    const rate = (this.#calls * this.#operations) / (time * 1e6);
    if (this.#slices++ < FIRST_SLICES) this.#firstRate = Math.max(this.#firstRate, rate);
    else this.rate = Math.max(this.rate, rate);
  }
}
