/**
 * Which register tile is the fastest on this host, found by trying: whether V8 joins vectors into 256 bits, how it
 * hoists loads and when it spills differ from version to version and from flag to flag.
 */
import { type Heap, SCRATCH } from "../memory/heap.ts";
import { type GemmLane, type GemmTile, laneBytes, laneDType } from "../optimize/gemm.ts";
import { emitBlockGemm, type PackedGemm } from "../wasm/gemm.ts";

export interface TileProbe {
  readonly tile: GemmTile;
  /** Operations per nanosecond, best slice. */
  readonly rate: number;
  /** The host's optimising compiler has replaced its first code. */
  readonly optimized: boolean;
}

type ProbeHeap = Pick<Heap, "memory" | "shared" | "buffer">;

/** Steps of k in one slice, and milliseconds that the probe may take. */
const K = 256;
const BUDGET = 10;
/** Slices after the last candidate became fast. */
const EXTRA_ROUNDS = 12;

/** Runs the candidates in turn until all are optimised; an argument area of the heap is all the memory it needs. */
export function probeTiles(
  heap: ProbeHeap,
  lane: GemmLane,
  candidates: readonly GemmTile[],
  budget = BUDGET,
): readonly TileProbe[] {
  const start = performance.now();
  new Float64Array(heap.buffer, SCRATCH.address, SCRATCH.bytes / 8).fill(0);
  const runners = candidates.map((tile) => new Runner(heap, lane, tile));
  let extra = 0;
  do {
    for (const runner of runners) runner.slice();
    if (runners.every((runner) => runner.optimized)) extra++;
  } while (extra < EXTRA_ROUNDS && performance.now() - start < budget);
  return runners.map(({ tile, rate, optimized }) => ({ tile, rate, optimized }));
}

/** The first candidate (the plain one), unless another is clearly faster. */
export function bestOf(probes: readonly TileProbe[]): GemmTile {
  let best = probes[0];
  for (const probe of probes)
    if (probe.rate > best.rate * 1.03 && probe.rate > probes[0].rate * 1.1) best = probe;
  return best.tile;
}

class Runner {
  readonly tile: GemmTile;
  readonly #block: PackedGemm["block"];
  readonly #lane: number;
  readonly #operations: number;
  #calls = 2;
  #slices = 0;
  #first = 0;
  rate = 0;

  constructor(heap: ProbeHeap, lane: GemmLane, tile: GemmTile) {
    const dtype = laneDType(lane);
    const bytes = emitBlockGemm({ dtypes: [dtype, dtype, dtype], tile, shared: heap.shared }).toBytes();
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { m: heap.memory } });
    this.tile = tile;
    this.#block = instance.exports.block as PackedGemm["block"];
    this.#lane = laneBytes(lane);
    this.#operations = 4 * tile.mr * tile.nr * K;
  }

  /** Faster than it was at the start: V8's first code is several times slower. */
  get optimized(): boolean {
    return this.rate > 1.4 * this.#first;
  }

  slice(): void {
    const { mr, nr } = this.tile;
    const row = nr * this.#lane;
    const a = SCRATCH.address;
    const b = a + 2 * mr * K * this.#lane;
    const c = b + nr * K * this.#lane;
    const scratch = c + 2 * mr * row;
    const start = performance.now();
    for (let i = 0; i < this.#calls; i++) this.#block(2 * mr, nr, K, a, b, c, row, scratch, 0);
    const time = performance.now() - start;
    // Clocks may be coarse.
    if (time < 0.005) {
      this.#calls *= 2;
      return;
    }
    const rate = (this.#calls * this.#operations) / (time * 1e6);
    if (this.#slices++ < 2) this.#first = Math.max(this.#first, rate);
    this.rate = Math.max(this.rate, rate);
  }
}
