/**
 * Rows of q8_0 and q4_0 times a vector: forms of the inner loop, each checked against a plain sum, then timed in turns by
 * processor time, beside the same sum of floats. Old TurboFan lays the pure operations of a basic block out breadth first,
 * so a wide block keeps everything alive at once and spills; forms differ in what they put into one block.
 *
 *     npx tsx bench/lab/quantised.ts [rounds] [rows]
 */
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
const fma = process.argv[4] === "fma";
const k = 4096;

const topBytes = [0, 4, 8, 12].map((from) =>
  i8x16(...Array.from({ length: 16 }, (_, b) => (b % 4 === 3 ? from + (b >> 2) : -1))),
);
const splat8 = (v: number) => i8x16(...new Array<number>(16).fill((v << 24) >> 24));

type Type = "q8_0" | "q4_0";
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
    } else if (fma) {
      push();
      some();
      f.get(sum).op("f32x4.relaxed_madd").set(sum);
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
  if (fma) {
    f.get(sum);
    scale();
    f.get(totals[r]).op("f32x4.relaxed_madd").set(totals[r]);
    return;
  }
  f.get(totals[r]).get(sum);
  scale();
  f.op("f32x4.mul").op("f32x4.add").set(totals[r]);
}

/** A new basic block, by a jump that is never taken. */
const border = ({ f, left }: Rows, out: Label) => f.get(left).op("i32.eqz").brIf(out);

type Form = (o: Rows, out: Label) => void;

/** A group's sum is scaled; all rows of a group in turn. */
const oneBlock: Form = (o) => {
  const { f, rows } = o;
  const [four, sum] = [f.local("v128"), f.local("v128")];
  halves(o, rows, four);
  for (let g = 0; g < 2; g++)
    rows.forEach((row, r) => {
      sumGroup(o, row, g, sum, true);
      scaled(o, r, sum, () => lane(f, four, r));
    });
};

/** The same, with a border after each row's group. */
const borders =
  (each: "group" | "row" | "none", perBlock = false): Form =>
  (o, out) => {
    const { f, rows } = o;
    const [four, sum] = [f.local("v128"), f.local("v128")];
    halves(o, rows, four);
    if (each !== "none") border(o, out);
    rows.forEach((row, r) => {
      for (let g = 0; g < 2; g++) {
        sumGroup(o, row, g, sum, g === 0 || !perBlock);
        if (!perBlock || g === 1) scaled(o, r, sum, () => lane(f, four, r));
        if (each === "group" && !(r === rows.length - 1 && g === 1)) border(o, out);
      }
      if (each === "row" && r < rows.length - 1) border(o, out);
    });
  };

/** Four elements of x meet all rows, then a border; scaled once a block. */
const quads =
  (every: number, perGroup = false): Form =>
  (o, out) => {
    const { f, rows, x, masks } = o;
    const sums = rows.map(() => f.local("v128"));
    const bytes = rows.map(() => f.local("v128"));
    const some = f.local("v128");
    const four = f.local("v128");
    if (perGroup) {
      halves(o, rows, four);
      border(o, out);
    }
    for (let g = 0; g < 2; g++) {
      rows.forEach((row, r) => {
        group(o, row, g);
        f.set(bytes[r]);
      });
      for (let i = 0; i < 4; i++) {
        f.get(x)
          .load("v128.load", 64 * g + 16 * i, 1)
          .set(some);
        rows.forEach((_, r) => {
          const push = () =>
            f.get(bytes[r]).get(masks[i]).op("i8x16.swizzle").op("f32x4.convert_i32x4_s").get(some);
          if (i === 0 && (g === 0 || perGroup)) {
            push();
            f.op("f32x4.mul").set(sums[r]);
          } else if (fma) {
            push();
            f.get(sums[r]).op("f32x4.relaxed_madd").set(sums[r]);
          } else {
            f.get(sums[r]);
            push();
            f.op("f32x4.mul").op("f32x4.add").set(sums[r]);
          }
        });
        if (i % every === every - 1) border(o, out);
      }
      if (perGroup) for (const r of rows.keys()) scaled(o, r, sums[r], () => lane(f, four, r));
    }
    if (!perGroup) {
      halves(o, rows, four);
      for (const r of rows.keys()) scaled(o, r, sums[r], () => lane(f, four, r));
    }
  };

/** So many blocks of one row: their scales are widened at once. */
const along =
  (blocks: number, borders: boolean, twice = false): Form =>
  (o, out) => {
    const { f, rows, x, left, type } = o;
    const [four, sum, other] = [f.local("v128"), f.local("v128"), f.local("v128")];
    const [row] = rows;
    const at = Array.from({ length: blocks }, () => row);
    halves(o, at, four, bytesOf[type]);
    if (borders) border(o, out);
    for (let b = 0; b < blocks; b++) {
      const offset = b * bytesOf[type];
      sumGroup(o, row, 0, sum, true, offset, 128 * b);
      sumGroup(o, row, 1, twice ? other : sum, twice, offset, 128 * b);
      if (twice) f.get(sum).get(other).op("f32x4.add").set(sum);
      scaled(o, 0, sum, () => lane(f, four, b));
      if (borders && b < blocks - 1) border(o, out);
    }
    move(f, row, (blocks - 1) * bytesOf[type]);
    move(f, x, (blocks - 1) * 128);
    f.get(left)
      .i32(blocks - 1)
      .op("i32.sub")
      .set(left);
  };

const forms: Record<string, { count: number; form: Form }> = {
  "2 rows, one basic block": { count: 2, form: oneBlock },
  "1 row, one basic block": { count: 1, form: oneBlock },
  "2 rows, border a row": { count: 2, form: borders("row") },
  "2 rows, border a group": { count: 2, form: borders("group") },
  "4 rows, border a group": { count: 4, form: borders("group") },
  "4 rows, border a row": { count: 4, form: borders("row") },
  "4 rows, border a row, scaled a block": { count: 4, form: borders("row", true) },
  "4 rows, border a group, scaled a block": { count: 4, form: borders("group", true) },
  "2 rows, border 4 elements": { count: 2, form: quads(1) },
  "2 rows, border 8 elements": { count: 2, form: quads(2) },
  "2 rows, border 16 elements": { count: 2, form: quads(4) },
  "3 rows, border 4 elements": { count: 3, form: quads(1) },
  "4 rows, border 4 elements": { count: 4, form: quads(1) },
  "4 rows, border 8 elements": { count: 4, form: quads(2) },
  "4 rows, border 4 elements, scaled a group": { count: 4, form: quads(1, true) },
  "1 row, 4 blocks": { count: 1, form: along(4, false) },
  "1 row, 4 blocks, borders": { count: 1, form: along(4, true) },
  "1 row, 4 blocks, borders, two sums": { count: 1, form: along(4, true, true) },
  "1 row, 2 blocks": { count: 1, form: along(2, false) },
  "1 row, 2 blocks, borders": { count: 1, form: along(2, true) },
  "1 row, scaled a block": { count: 1, form: borders("none", true) },
};

const memory = new WebAssembly.Memory({ initial: 2048, maximum: 2048, shared: true });

function compile(
  type: Type,
  count: number,
  form: Form,
): (from: number, to: number, x: number, n: number) => void {
  const m = new ModuleBuilder().importMemory("e", "m", { min: 2, max: 65536, shared: true });
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
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { m: memory } }).exports.run as never;
}

const half = (bits: number) => {
  const e = (bits >> 10) & 31;
  const v = e === 0 ? (bits & 1023) * 2 ** -24 : (1 + (bits & 1023) / 1024) * 2 ** (e - 15);
  return bits & 0x8000 ? -v : v;
};

const u8 = new Uint8Array(memory.buffer);
const f32 = new Float32Array(memory.buffer);
const [X, TO, FROM] = [1 << 16, 1 << 17, 1 << 18];
let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed >>> 8;
};
const xs = Float32Array.from({ length: k }, () => random() / 2 ** 23 - 1);
for (let i = 0; i < k; i++) f32[X / 4 + i] = xs[i] * 2 ** -24;

for (const type of ["q8_0", "q4_0"] as const) {
  const b = bytesOf[type];
  for (let at = FROM; at < FROM + n * (k / 32) * b; at += b) {
    for (let i = 0; i < b; i++) u8[at + i] = random();
    u8[at + 1] = 0x20 | (u8[at + 1] & 0x8f);
  }
  const want = Array.from({ length: 8 }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < k; i++) {
      const at = FROM + row * (k / 32) * b + (i >> 5) * b;
      const d = half(u8[at] | (u8[at + 1] << 8));
      const j = i & 31;
      const q =
        type === "q8_0"
          ? (u8[at + 2 + j] << 24) >> 24
          : ((u8[at + 2 + (j & 15)] >> (j < 16 ? 0 : 4)) & 15) - 8;
      sum += d * q * xs[i];
    }
    return sum;
  });
  const runs = Object.entries(forms).map(([name, { count, form }]) => ({
    name,
    run: compile(type, count, form),
  }));
  for (const { name, run } of runs) {
    f32.fill(0, TO / 4, TO / 4 + n);
    run(FROM, TO, X, n);
    want.forEach((w, r) => {
      if (!(Math.abs(f32[TO / 4 + r] - w) < 1e-3 * Math.max(1, Math.abs(w))))
        throw new Error(`${type}, ${name}: ${f32[TO / 4 + r]}, not ${w}`);
    });
    for (let i = 0; i < 10; i++) run(FROM, TO, X, n);
  }
  const best = runs.map(() => Infinity);
  for (let round = 0; round < rounds; round++)
    runs.forEach(({ run }, c) => {
      const start = process.cpuUsage();
      for (let i = 0; i < 4; i++) run(FROM, TO, X, n);
      const { user, system } = process.cpuUsage(start);
      best[c] = Math.min(best[c], (user + system) / 4);
    });
  for (const [c, { name }] of runs.entries()) {
    console.log(type, name.padEnd(42), `${((n * k) / best[c] / 1000).toFixed(2)} elements/ns`);
  }
}
