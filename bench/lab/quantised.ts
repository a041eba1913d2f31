/**
 * Rows of blocks times a vector: forms of the inner loop, each checked against a plain sum, then timed in turns by
 * processor time, on one thread. Forms of floats widen four elements at a time, for q8_0 and q4_0 only; forms of whole
 * numbers are the library's own code (src/quantised/routines.ts), by how many blocks go on together. Beside them the
 * same sum of a matrix of floats.
 *
 * Rows decide where blocks come from: 128 stay in the cache, 4096 do not. Four rows at once, which share what is loaded of
 * x, were faster by a fifth from the cache and slower by a tenth from memory, being four streams. Borders between basic
 * blocks, and touching the next rows ahead, gained nothing.
 *
 *     npx tsx bench/lab/quantised.ts [rounds] [rows] [types]
 */
import { random, scope } from "../../src/index.ts";
import { productRoutine, productWords, vectorForm } from "../../src/quantised/routines.ts";
import { blockTypes } from "../../src/quantised/types.ts";
import { vectorBytes, writeVector } from "../../src/quantised/vector.ts";
import { type EncodedDType, quantise } from "../../src/quantised.ts";
import {
  type FuncBuilder,
  f32x4,
  i8x16,
  i32x4,
  type Label,
  type Local,
  ModuleBuilder,
} from "../../src/wasm/assembler/assembler.ts";

const rounds = Number(process.argv[2] ?? 15);
const n = Number(process.argv[3] ?? 1024);
const types = (process.argv[4] ?? "q8_0,q4_0").split(",") as EncodedDType[];
const k = 4096;
const topBytes = [0, 4, 8, 12].map((from) =>
  i8x16(...Array.from({ length: 16 }, (_, b) => (b % 4 === 3 ? from + (b >> 2) : -1))),
);
const splat8 = (v: number) => i8x16(...new Array<number>(16).fill((v << 24) >> 24));

type Type = "q8_0" | "q4_0";
const isOld = (type: EncodedDType): type is Type => type === "q8_0" || type === "q4_0";
const bytesOf = { q8_0: 34, q4_0: 18 };

interface Rows {
  readonly f: FuncBuilder;
  readonly type: Type;
  /** One address a row; x and the blocks that are left. */
  readonly rows: readonly Local[];
  readonly x: Local;
  readonly left: Local;
  readonly totals: readonly Local[];
  readonly masks: readonly Local[];
  readonly consts: Readonly<Record<"sign" | "exp" | "big" | "all" | "limit" | "low" | "eight", Local>>;
}

const move = (f: FuncBuilder, at: Local, by: number) => f.get(at).i32(by).op("i32.add").set(at);

/** Halves at two (or four) addresses as lanes of f32. */
function halves({ f, consts }: Rows, rows: readonly Local[], into: Local, step = 0): void {
  const moved = f.temp("v128");
  rows.forEach((row, r) => {
    if (r === 0)
      f.get(row)
        .load("v128.load16_splat", step * r, 1)
        .set(into);
    else
      f.get(row)
        .get(into)
        .loadLane("v128.load16_lane", 2 * r, step * r, 1)
        .set(into);
  });
  f.get(into).get(consts.all).op("v128.and").i32(13).op("i32x4.shl").set(moved);
  f.get(moved).get(consts.exp).op("v128.or");
  f.get(moved).get(consts.big).op("f32x4.mul");
  f.get(moved).get(consts.limit).op("i32x4.gt_s").op("v128.bitselect");
  f.get(into).get(consts.sign).op("v128.and").i32(16).op("i32x4.shl").op("v128.or").set(into);
  f.release(moved);
}

const lane = (f: FuncBuilder, four: Local, r: number) =>
  f
    .get(four)
    .get(four)
    .shuffle([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3].map((b) => b + 4 * r));

/** Bytes of group g of a row. */
function group({ f, type, consts }: Rows, row: Local, g: number, offset = 0): void {
  if (type === "q8_0") f.get(row).load("v128.load", offset + 2 + 16 * g, 1);
  else {
    f.get(row).load("v128.load", offset + 2, 1);
    if (g === 0) f.get(consts.low).op("v128.and");
    else f.i32(4).op("i8x16.shr_u");
    f.get(consts.eight).op("i8x16.sub");
  }
}

/** sum (or sum +=) of a group of one row. */
function sumGroup(
  o: Rows,
  row: Local,
  g: number,
  sum: Local,
  isFirst: boolean,
  offset = 0,
  xOffset = 0,
): void {
  const { f, masks, x } = o;
  const bytes = f.temp("v128");
  group(o, row, g, offset);
  f.set(bytes);
  for (let r = 0; r < 4; r++) {
    const push = () => f.get(bytes).get(masks[r]).op("i8x16.swizzle").op("f32x4.convert_i32x4_s");
    const some = () => f.get(x).load("v128.load", xOffset + 64 * g + 16 * r, 1);
    if (isFirst && r === 0) {
      push();
      some();
      f.op("f32x4.mul").set(sum);
    } else {
      f.get(sum);
      push();
      some();
      f.op("f32x4.mul").op("f32x4.add").set(sum);
    }
  }
  f.release(bytes);
}

function scaled({ f, totals }: Rows, r: number, sum: Local, scale: () => void): void {
  f.get(totals[r]).get(sum);
  scale();
  f.op("f32x4.mul").op("f32x4.add").set(totals[r]);
}

/** A new basic block, by a jump that is never taken. */
const border = ({ f, left }: Rows, out: Label) => f.get(left).op("i32.eqz").brIf(out);

type Form = (o: Rows, out: Label) => void;

/** A block of each row, maybe with a border between rows. */
const abreast =
  (hasBorders: boolean): Form =>
  (o, out) => {
    const { f, rows } = o;
    const [four, sum] = [f.local("v128"), f.local("v128")];
    halves(o, rows, four);
    rows.forEach((row, r) => {
      if (hasBorders) border(o, out);
      for (let g = 0; g < 2; g++) sumGroup(o, row, g, sum, g === 0);
      scaled(o, r, sum, () => lane(f, four, r));
    });
  };

/** So many blocks of one row: their scales are widened at once. */
const along =
  (blocks: number): Form =>
  (o) => {
    const { f, rows, x, left, type } = o;
    const [four, sum] = [f.local("v128"), f.local("v128")];
    const [row] = rows;
    halves(o, new Array<Local>(blocks).fill(row), four, bytesOf[type]);
    for (let b = 0; b < blocks; b++) {
      const offset = b * bytesOf[type];
      for (let g = 0; g < 2; g++) sumGroup(o, row, g, sum, g === 0, offset, 128 * b);
      scaled(o, 0, sum, () => lane(f, four, b));
    }
    move(f, row, (blocks - 1) * bytesOf[type]);
    move(f, x, (blocks - 1) * 128);
    f.get(left)
      .i32(blocks - 1)
      .op("i32.sub")
      .set(left);
  };

const floatForms: Record<string, { count: number; form: Form }> = {
  "floats, 1 row": { count: 1, form: abreast(false) },
  "floats, 1 row, 2 blocks": { count: 1, form: along(2) },
  "floats, 2 rows": { count: 2, form: abreast(false) },
  "floats, 4 rows, border a row": { count: 4, form: abreast(true) },
};

const memory = new WebAssembly.Memory({ initial: 2048, maximum: 2048, shared: true });
const instance = (bytes: Uint8Array) =>
  new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), { e: { m: memory } }).exports;
const heap = () => new ModuleBuilder().importMemory("e", "m", { min: 2, max: 65536, shared: true });
type Run = () => void;

const [TASK, TO, X, FROM] = [1 << 10, 1 << 16, 1 << 17, 1 << 20];

/** Rows of floats: eight at a time. */
function floats(): Run {
  const m = heap();
  const f = m.func("run", { from: "i32", to: "i32", n: "i32" }, [], { export: true });
  const [from, to, left] = f.params;
  const [x, i, a, b] = [f.local("i32"), f.local("i32"), f.local("v128"), f.local("v128")];
  f.loop((nextRow) => {
    f.i32(X)
      .set(x)
      .i32(k / 8)
      .set(i)
      .v128(f32x4(0))
      .tee(a)
      .set(b);
    f.loop((next) => {
      for (const [s, at] of [
        [a, 0],
        [b, 16],
      ] as const) {
        f.get(s).get(from).load("v128.load", at, 4).get(x).load("v128.load", at, 4);
        f.op("f32x4.mul").op("f32x4.add").set(s);
      }
      move(f, from, 32);
      move(f, x, 32);
      f.get(i).i32(1).op("i32.sub").tee(i).brIf(next);
    });
    f.get(to);
    f.get(a).get(b).op("f32x4.add").set(a);
    for (const l of [0, 1, 2, 3]) {
      f.get(a).lane("f32x4.extract_lane", l);
      if (l > 0) f.op("f32.add");
    }
    f.store("f32.store", 0, 4);
    move(f, to, 4);
    f.get(left).i32(1).op("i32.sub").tee(left).brIf(nextRow);
  });
  const run = instance(m.toBytes()).run as (from: number, to: number, n: number) => void;
  return () => run(FROM, TO, n);
}

/** The library's own code; x is where no other form has its own. */
function wholes(type: EncodedDType, blocks: number, x: number): Run {
  const run = instance(productRoutine(type, blocks).emit({ shared: true, simd: true, fma: false }).toBytes())
    .run as (task: number) => void;
  const form = vectorForm(type, blocks);
  const { mains, tails } = writeVector(new Float32Array(memory.buffer, put(xs, x), k), form, x + 4 * k) ?? {
    mains: 0,
    tails: 0,
  };
  const { block, bytes } = blockTypes[type];
  const task = {
    rows: n,
    portions: mains,
    tails,
    from: FROM,
    to: TO,
    fromStride: (k / block) * bytes,
    toStride: 4,
    step: bytes,
    grid: 0,
    x: x + 4 * k,
  };
  return () => {
    new Int32Array(memory.buffer, TASK, productWords.length).set(productWords.map((name) => task[name]));
    run(TASK);
  };
}

function put(values: Float32Array | Uint8Array, at: number): number {
  new Uint8Array(memory.buffer).set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
  return at;
}

function compile(
  type: Type,
  count: number,
  form: Form,
): (from: number, to: number, x: number, n: number) => void {
  const m = heap();
  const f = m.func("rows", { from: "i32", to: "i32", x: "i32" }, []);
  const [from, to, x0] = f.params;
  const stride = (k / 32) * bytesOf[type];
  const constant = (bytes: Uint8Array) => {
    const local = f.local("v128");
    f.v128(bytes).set(local);
    return local;
  };
  const all = (b: number) => constant(i32x4(b, b, b, b));
  const consts = {
    all: all(0x7fff),
    exp: all(0x7f800000),
    big: all(0x77800000),
    limit: all(0x0f7fffff),
    sign: all(0x8000),
    low: constant(splat8(15)),
    eight: constant(splat8(8)),
  };
  const masks = topBytes.map(constant);
  const rows = Array.from({ length: count }, (_, r) => {
    const row = f.local("i32");
    f.get(from)
      .i32(r * stride)
      .op("i32.add")
      .set(row);
    return row;
  });
  const totals = rows.map(() => constant(f32x4(0)));
  const left = f.local("i32");
  f.i32(k / 32).set(left);
  f.block((out) => {
    f.loop((next) => {
      form({ f, type, rows, x: x0, left, totals, masks, consts }, out);
      for (const row of rows) move(f, row, bytesOf[type]);
      move(f, x0, 128);
      f.get(left).i32(1).op("i32.sub").tee(left).brIf(next);
    });
  });
  totals.forEach((total, r) => {
    f.get(to);
    for (const l of [0, 1, 2, 3]) {
      f.get(total).lane("f32x4.extract_lane", l);
      if (l > 0) f.op("f32.add");
    }
    f.store("f32.store", 4 * r, 1);
  });
  const g = m.func("run", { from: "i32", to: "i32", x: "i32", n: "i32" }, [], { export: true });
  const [p, q, x, left2] = g.params;
  g.loop((next) => {
    g.get(p).get(q).get(x).call(f);
    move(g, p, count * stride);
    move(g, q, 4 * count);
    g.get(left2).i32(count).op("i32.sub").tee(left2).i32(0).op("i32.gt_s").brIf(next);
  });
  const bytes = m.toBytes();
  return instance(bytes).run as never;
}

const rng = random.generator(1);
const xs = Float32Array.from(rng.normal([k]).data);
const f32 = new Float32Array(memory.buffer);

/** Each in turn, the best of some rounds. */
function race(title: string, runs: { name: string; run: Run }[], want: ArrayLike<number>): void {
  for (const { name, run } of runs) {
    f32.fill(0, TO / 4, TO / 4 + n);
    run();
    for (let r = 0; r < n; r++) {
      const got = f32[TO / 4 + r];
      if (!(Math.abs(got - want[r]) < 1e-3 * Math.max(1, Math.abs(want[r]))))
        throw new Error(`${title}, ${name}, row ${r}: ${got}, not ${want[r]}`);
    }
    for (let i = 0; i < 10; i++) run();
  }
  const best = runs.map(() => Infinity);
  for (let round = 0; round < rounds; round++)
    runs.forEach(({ run }, c) => {
      const start = process.cpuUsage();
      for (let i = 0; i < 4; i++) run();
      const { user, system } = process.cpuUsage(start);
      best[c] = Math.min(best[c], (user + system) / 4);
    });
  for (const [c, { name }] of runs.entries()) {
    console.log(title, name.padEnd(36), `${((n * k) / best[c] / 1000).toFixed(2)} elements/ns`);
  }
}

for (const type of types) {
  scope(() => {
    const q = quantise(rng.normal([n, k]), type);
    const x = random.generator(1).normal([k]).to("f64");
    const want = q.dequantise({ dtype: "f64" }).matmul(x).toTypedArray() as Float64Array;
    put(q.blocks.toTypedArray(), FROM);
    put(
      xs.map((v) => v * 2 ** -24),
      X,
    );
    const byFloats = isOld(type)
      ? Object.entries(floatForms).map(([name, { count, form }]) => {
          const run = compile(type, count, form);
          return { name, run: () => run(FROM, TO, X, n) };
        })
      : [];
    const counts = blockTypes[type].block <= 64 ? [1, 2, 4] : [1];
    let at = X + 4 * k;
    const byWholes = counts.map((blocks) => {
      const run = wholes(type, blocks, at);
      at += 4 * k + vectorBytes(vectorForm(type, blocks), k);
      return { name: `whole numbers, ${blocks} blocks`, run };
    });
    race(type, [...byFloats, ...byWholes], want);
  });
}
{
  // A matrix of floats that the cache holds again and again: what arithmetic alone costs there.
  put(xs, X);
  const row = rng.normal([n, k]);
  if (FROM + 4 * n * k < memory.buffer.byteLength) {
    put(row.toTypedArray() as Float32Array, FROM);
    const x = random.generator(1).normal([k]).to("f64");
    race("f32", [{ name: "1 row", run: floats() }], row.to("f64").matmul(x).toTypedArray() as Float64Array);
  }
}
