/**
 * Code for block types, made of their recipes: for each group of 16 elements the whole numbers as bytes in one register
 * (or one by one where there is no SIMD), widened to f32, scaled, and handed to whoever stores or sums them. What several
 * groups of a block need is computed once.
 */
import type { FuncBuilder, Local } from "../wasm/assembler/assembler.ts";
import { i8x16, i32x4 } from "../wasm/assembler/assembler.ts";
import type { Bytes, Float, Group, Recipe, Whole } from "./recipes.ts";

type Node = Bytes | Float | Whole;

/** How often each part of a recipe is used. */
function countUses(recipe: Recipe): Map<Node, number> {
  const uses = new Map<Node, number>();
  const look = (node: Node): void => {
    const seen = uses.get(node) ?? 0;
    uses.set(node, seen + 1);
    if (seen === 0) for (const part of partsOf(node)) look(part);
  };
  for (const { q, scale, shift, plus, less } of recipe.groups) {
    for (const part of [q, scale, shift, plus, less]) if (part !== undefined) look(part);
  }
  return uses;
}

function partsOf(node: Node): readonly Node[] {
  const { x, a, b, from, of, rows } = node as Partial<
    Record<"x" | "a" | "b" | "from", Node> & Record<"of" | "rows", readonly Node[]>
  >;
  return [x, a, b, from, ...(of ?? []), ...(rows ?? [])].filter((part) => part !== undefined);
}

const splat8 = (value: number): Uint8Array => i8x16(...new Array<number>(16).fill((value << 24) >> 24));
/** Byte k of the first register 8 times, then byte k + 1. */
const twoBytes = i8x16(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
const bitOfLane = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
const halves = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
const fours = [0, 1, 2, 3, 16, 17, 18, 19, 0, 0, 0, 0, 0, 0, 0, 0];
const inTurn = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const pairsInTurn = [0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23];

/** Bytes that lie in memory as they are wanted are widened as they are loaded, eight and eight; all others in pairs. */
export const isPlain = (q: Bytes): q is Extract<Bytes, { op: "load" }> => q.op === "load" && q.bytes === 16;

/** Four bits of each byte, from a bit on, as they are or less 8; null: q is something else. */
function nibbleOf(q: Bytes): { readonly of: Bytes; readonly from: 0 | 4; readonly isSigned: boolean } | null {
  const isSigned = q.op === "minus" && q.by === 8;
  const x = isSigned ? q.x : q;
  if (x.op === "and" && x.by === 15 && x.x.op === "load") return { of: x.x, from: 0, isSigned };
  return x.op === "shr" && x.by === 4 ? { of: x.x, from: 4, isSigned } : null;
}

/**
 * Vectors that loops need, in locals that are set before them: made anew in every turn they cost more than the rest. Which
 * ones these are is known when the code has been emitted once (`emitTwice`).
 */
export class Constants {
  readonly #wanted: ReadonlyMap<string, Uint8Array>;
  readonly #found = new Map<string, Uint8Array>();
  readonly #locals = new Map<string, Local>();

  constructor(wanted: ReadonlyMap<string, Uint8Array> = new Map()) {
    this.#wanted = wanted;
  }
  get found(): ReadonlyMap<string, Uint8Array> {
    return this.#found;
  }
  /** Before the loops. */
  set(f: FuncBuilder): void {
    for (const [key, bytes] of this.#wanted) {
      const local = f.local("v128");
      f.v128(bytes).set(local);
      this.#locals.set(key, local);
    }
  }
  push(f: FuncBuilder, bytes: Uint8Array): FuncBuilder {
    const key = bytes.join();
    this.#found.set(key, bytes);
    const local = this.#locals.get(key);
    return local === undefined ? f.v128(bytes) : f.get(local);
  }
}

/** What `emit` makes when it knows its constants. */
export function emitTwice<T>(emit: (constants: Constants) => T): T {
  const first = new Constants();
  emit(first);
  return emit(new Constants(first.found));
}

/** Code for one block whose address is in `at`; `grid` is where the type's grid lies. */
export class BlockCode {
  readonly #f: FuncBuilder;
  readonly #constants: Constants;
  readonly #at: Local;
  readonly #grid: Local;
  readonly #uses: Map<Node, number>;
  readonly #gridRow: number;
  /** What was computed already, by node; as numbers, as splats. */
  readonly #kept = new Map<Node, Local>();
  readonly #splats = new Map<Float, Local>();

  constructor(f: FuncBuilder, constants: Constants, recipe: Recipe, at: Local, grid: Local) {
    this.#f = f;
    this.#constants = constants;
    this.#at = at;
    this.#grid = grid;
    this.#uses = countUses(recipe);
    this.#gridRow = recipe.grid?.startsWith("iq3") ? 4 : 8;
  }

  /** Pushes what `emit` pushes; the second time out of a local. */
  #once(node: Node, type: "i32" | "f32" | "v128", emit: () => void): void {
    const kept = this.#kept.get(node);
    if (kept !== undefined) {
      this.#f.get(kept);
      return;
    }
    emit();
    if ((this.#uses.get(node) ?? 0) < 2) return;
    const local = this.#f.local(type);
    this.#f.tee(local);
    this.#kept.set(node, local);
  }

  #constant(bytes: Uint8Array): FuncBuilder {
    return this.#constants.push(this.#f, bytes);
  }

  /** A scale that is known already: `lane` of a register. */
  preset(node: Float, four: Local, lane: number): void {
    const f = this.#f;
    const word = [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3];
    const splat = f.local("v128");
    f.get(four)
      .get(four)
      .shuffle([...word, ...word, ...word, ...word])
      .set(splat);
    this.#splats.set(node, splat);
    if (!this.#isPart(node)) return;
    const local = f.local("f32");
    f.get(splat).lane("f32x4.extract_lane", 0).set(local);
    this.#kept.set(node, local);
  }

  /** Is it used for others, not only as it is? */
  #isPart(node: Float): boolean {
    for (const other of this.#uses.keys()) if (partsOf(other).includes(node)) return true;
    return false;
  }

  /* Numbers ----------------------------------------------------------------------------------------------- */

  whole(node: Whole): void {
    const f = this.#f;
    this.#once(node, "i32", () => {
      switch (node.op) {
        case "u8":
        case "i8":
          f.get(this.#at).load(node.op === "u8" ? "i32.load8_u" : "i32.load8_s", node.at);
          break;
        case "u16":
          f.get(this.#at).load("i32.load16_u", node.at, 1);
          break;
        case "u32":
          f.get(this.#at).load("i32.load", node.at, 1);
          break;
        case "or":
          this.whole(node.a);
          this.whole(node.b);
          f.op("i32.or");
          break;
        case "parity": {
          const x = f.temp("i32");
          this.whole(node.x);
          f.tee(x).get(x).op("i32.popcnt").i32(1).op("i32.and").i32(7).op("i32.shl").op("i32.or");
          f.release(x);
          break;
        }
        default:
          this.whole(node.x);
          f.i32(node.by).op(wholeOps[node.op]);
      }
    });
  }

  float(node: Float): void {
    const f = this.#f;
    this.#once(node, "f32", () => {
      switch (node.op) {
        case "f16":
          this.whole(node.x);
          halfToFloat(f);
          break;
        case "f32":
          f.get(this.#at).load("f32.load", node.at, 1);
          break;
        case "e8m0": {
          // The two smallest are subnormal.
          const x = f.temp("i32");
          this.whole(node.x);
          f.set(x).i32(0x00200000).get(x).op("i32.shl");
          f.get(x).i32(1).op("i32.sub").i32(23).op("i32.shl");
          f.get(x).i32(2).op("i32.lt_u").select().op("f32.reinterpret_i32");
          f.release(x);
          break;
        }
        case "e4m3": {
          const x = f.temp("i32");
          this.whole(node.x);
          f.set(x);
          // Below eight the mantissa alone, in units of 2^-10; 127 stands for no number and is 0.
          f.get(x)
            .i32(7)
            .op("i32.and")
            .op("f32.convert_i32_s")
            .f32(2 ** -10)
            .op("f32.mul");
          f.get(x)
            .i32(127)
            .op("i32.and")
            .i32(20)
            .op("i32.shl")
            .i32(119 << 23)
            .op("i32.add");
          f.op("f32.reinterpret_i32");
          f.get(x).i32(0x78).op("i32.and").op("i32.eqz").select();
          f.f32(0).get(x).i32(127).op("i32.ne").select();
          f.release(x);
          break;
        }
        case "of":
          this.whole(node.x);
          f.op("f32.convert_i32_s");
          break;
        case "const":
          f.f32(node.value);
          break;
        default:
          this.float(node.a);
          this.float(node.b);
          f.op(node.op === "mul" ? "f32.mul" : "f32.add");
      }
    });
  }

  /** A scale in all four lanes. */
  splat(node: Float): void {
    const f = this.#f;
    let local = this.#splats.get(node);
    if (local === undefined) {
      local = f.local("v128");
      this.float(node);
      f.op("f32x4.splat").set(local);
      this.#splats.set(node, local);
    }
    f.get(local);
  }

  /* Sixteen at once --------------------------------------------------------------------------------------- */

  bytes(node: Bytes): void {
    const f = this.#f;
    this.#once(node, "v128", () => {
      switch (node.op) {
        case "load": {
          const load =
            node.bytes === 16 ? "v128.load" : node.bytes === 8 ? "v128.load64_zero" : "v128.load32_zero";
          f.get(this.#at).load(load, node.at, 1);
          break;
        }
        case "and":
          if (node.x.op === "shr") this.#shifted(node.x, node.by);
          else {
            this.bytes(node.x);
            this.#constant(splat8(node.by)).op("v128.and");
          }
          break;
        case "shr":
          this.#shifted(node, 255);
          break;
        case "minus":
          this.bytes(node.x);
          this.#constant(splat8(node.by)).op("i8x16.sub");
          break;
        case "shl":
          this.bytes(node.x);
          f.i32(node.by).op("i8x16.shl");
          break;
        case "or":
        case "add":
          this.bytes(node.a);
          this.bytes(node.b);
          f.op(node.op === "or" ? "v128.or" : "i8x16.add");
          break;
        case "lookup":
          this.#constant(i8x16(...node.table));
          this.bytes(node.x);
          f.op("i8x16.swizzle");
          break;
        case "bits":
          this.#mask(node.from);
          this.#constant(splat8(node.value)).op("v128.and");
          break;
        case "negate": {
          // With m all ones, -x is (x ^ m) - m.
          const mask = f.temp("v128");
          this.bytes(node.x);
          this.#mask(node.from);
          f.tee(mask).op("v128.xor").get(mask).op("i8x16.sub");
          f.release(mask);
          break;
        }
        case "thirds": {
          const x = f.temp("v128");
          this.bytes(node.x);
          f.set(x);
          this.#constant(splat8(0));
          for (const from of [86, 171]) {
            f.get(x);
            this.#constant(splat8(from)).op("i8x16.ge_u").op("i8x16.sub");
          }
          f.release(x);
          break;
        }
        case "join": {
          const [a, b, c, d] = node.of;
          this.bytes(a);
          this.bytes(b);
          f.shuffle(c === undefined ? halves : fours);
          if (c === undefined) break;
          this.bytes(c);
          this.bytes(d);
          f.shuffle(fours).shuffle(halves);
          break;
        }
        case "weave": {
          const [a, b, c, d] = node.of;
          this.bytes(a);
          this.bytes(b);
          f.shuffle(inTurn);
          this.bytes(c);
          this.bytes(d);
          f.shuffle(inTurn).shuffle(pairsInTurn);
          break;
        }
        case "grid": {
          const reg = f.temp("v128");
          const isWide = this.#gridRow === 8;
          node.rows.forEach((row, k) => {
            this.#gridAddress(row);
            if (k === 0) f.load(isWide ? "v128.load64_zero" : "v128.load32_zero", 0, 1);
            else f.get(reg).loadLane(isWide ? "v128.load64_lane" : "v128.load32_lane", k, 0, 1);
            f.set(reg);
          });
          f.get(reg).release(reg);
          break;
        }
      }
    });
  }

  /** Shifted as lanes of 16 bits, as hosts have no shift of bytes, and cut. */
  #shifted({ x, by }: { readonly x: Bytes; readonly by: number }, mask: number): void {
    this.bytes(x);
    this.#f.i32(by).op("i16x8.shr_u");
    this.#constant(splat8(mask & (255 >> by))).op("v128.and");
  }

  #gridAddress(row: Whole): void {
    this.whole(row);
    this.#f
      .i32(this.#gridRow === 8 ? 3 : 2)
      .op("i32.shl")
      .get(this.#grid)
      .op("i32.add");
  }

  /** All ones in the lanes whose bit is set. */
  #mask(from: Whole): void {
    this.whole(from);
    this.#f.op("i32x4.splat");
    this.#constant(twoBytes).op("i8x16.swizzle");
    this.#constant(bitOfLane).op("v128.and");
    this.#constant(bitOfLane).op("i8x16.eq");
  }

  /**
   * What `each` gets pushes q in lanes of 16 bits: the even ones, then the odd ones; or, where isPlain(q), the first
   * eight, then the others.
   */
  words({ q }: Group, each: (part: number, push: () => void) => void): void {
    const f = this.#f;
    if (isPlain(q)) {
      for (const part of [0, 1]) {
        each(part, () => f.get(this.#at).load("v128.load8x8_s", q.at + 8 * part, 1));
      }
      return;
    }
    const all = f.temp("v128");
    const four = nibbleOf(q);
    const size = four === null ? 8 : 4;
    const isSigned = four?.isSigned ?? true;
    this.bytes(four?.of ?? q);
    if (four?.isSigned) this.#constant(splat8(0x88)).op("v128.xor");
    f.set(all);
    for (const part of [0, 1]) {
      const from = 8 * part + (four?.from ?? 0);
      const above = 16 - size - from;
      each(part, () => {
        f.get(all);
        if (isSigned) {
          if (above > 0) f.i32(above).op("i16x8.shl");
          f.i32(16 - size).op("i16x8.shr_s");
        } else {
          if (from > 0) f.i32(from).op("i16x8.shr_u");
          if (above > 0) this.#constant(i32x4(0x000f000f)).op("v128.and");
        }
      });
    }
    f.release(all);
  }

  /** What `each` gets pushes elements 4r … 4r + 3 of q, as f32, unscaled. */
  quarters({ q }: Group, each: (r: number, push: () => void) => void): void {
    const f = this.#f;
    const [first, second] = [f.temp("v128"), f.temp("v128")];
    if (q.op === "load" && q.bytes === 16) {
      f.get(this.#at).load("v128.load8x8_s", q.at, 1).set(first);
      f.get(this.#at)
        .load("v128.load8x8_s", q.at + 8, 1)
        .set(second);
    } else {
      const all = f.temp("v128");
      this.bytes(q);
      f.tee(all).op("i16x8.extend_low_i8x16_s").set(first);
      f.get(all).op("i16x8.extend_high_i8x16_s").set(second);
      f.release(all);
    }
    for (let r = 0; r < 4; r++) {
      each(r, () => {
        f.get(r < 2 ? first : second);
        f.op(r % 2 === 0 ? "i32x4.extend_low_i16x8_s" : "i32x4.extend_high_i16x8_s");
        f.op("f32x4.convert_i32x4_s");
      });
    }
    f.release(first).release(second);
  }

  /** The same, scaled: elements of the block. */
  values(group: Group, each: (r: number, push: () => void) => void): void {
    const f = this.#f;
    const { scale, shift, plus, less } = group;
    this.quarters(group, (r, push) =>
      each(r, () => {
        push();
        if (shift !== undefined) {
          this.splat(shift);
          f.op("f32x4.add");
        }
        this.splat(scale);
        f.op("f32x4.mul");
        if (plus !== undefined) {
          this.splat(plus);
          f.op("f32x4.add");
        }
        if (less !== undefined) {
          this.splat(less);
          f.op("f32x4.sub");
        }
      }),
    );
  }

  /* One by one -------------------------------------------------------------------------------------------- */

  /** Element `lane` of a group, scaled, without SIMD. */
  value({ q, scale, shift, plus, less }: Group, lane: number): void {
    const f = this.#f;
    this.#byte(q, lane);
    f.op("i32.extend8_s").op("f32.convert_i32_s");
    const step = (x: Float | undefined, op: "f32.add" | "f32.mul" | "f32.sub") => {
      if (x === undefined) return;
      this.float(x);
      f.op(op);
    };
    step(shift, "f32.add");
    step(scale, "f32.mul");
    step(plus, "f32.add");
    step(less, "f32.sub");
  }

  /** One lane as an i32 whose low eight bits count. */
  #byte(node: Bytes, lane: number): void {
    const f = this.#f;
    switch (node.op) {
      case "load":
        f.get(this.#at).load("i32.load8_u", node.at + lane);
        break;
      case "and":
        this.#byte(node.x, lane);
        f.i32(node.by).op("i32.and");
        break;
      case "minus":
        this.#byte(node.x, lane);
        f.i32(node.by).op("i32.sub");
        break;
      case "shl":
        this.#byte(node.x, lane);
        f.i32(node.by).op("i32.shl");
        break;
      case "shr":
        this.#clean(node.x, lane);
        f.i32(node.by).op("i32.shr_u");
        break;
      case "or":
      case "add":
        this.#byte(node.a, lane);
        this.#byte(node.b, lane);
        f.op(node.op === "or" ? "i32.or" : "i32.add");
        break;
      case "lookup":
        // The table in two halves of 64 bits: byte i is what is left of a shift by 8i.
        this.#tableLane(node.table, () => this.#clean(node.x, lane));
        break;
      case "bits":
        this.#bit(node.from, lane);
        f.i32(node.value).op("i32.mul");
        break;
      case "negate":
        // 1 - 2·bit is the sign.
        this.#byte(node.x, lane);
        f.i32(1);
        this.#bit(node.from, lane);
        f.i32(1).op("i32.shl").op("i32.sub").op("i32.mul");
        break;
      case "thirds":
        this.#clean(node.x, lane);
        f.i32(3).op("i32.mul").i32(8).op("i32.shr_u");
        break;
      case "join": {
        const run = 16 / node.of.length;
        this.#byte(node.of[Math.floor(lane / run)], lane % run);
        break;
      }
      case "weave":
        this.#byte(node.of[lane % 4], lane >> 2);
        break;
      case "grid": {
        const run = this.#gridRow;
        this.#gridAddress(node.rows[Math.floor(lane / run)]);
        f.load("i32.load8_s", lane % run);
        break;
      }
    }
  }

  #clean(node: Bytes, lane: number): void {
    this.#byte(node, lane);
    this.#f.i32(255).op("i32.and");
  }

  #bit(from: Whole, lane: number): void {
    this.whole(from);
    this.#f.i32(lane).op("i32.shr_u").i32(1).op("i32.and");
  }

  #tableLane(table: readonly number[], push: () => void): void {
    const f = this.#f;
    const packed = (from: number) =>
      table
        .slice(from, from + 8)
        .reduce((all, x, i) => all | (BigInt.asUintN(8, BigInt(x)) << BigInt(8 * i)), 0n);
    const index = f.temp("i32");
    push();
    f.set(index);
    f.i64(BigInt.asIntN(64, packed(8))).i64(BigInt.asIntN(64, packed(0)));
    f.get(index).i32(8).op("i32.ge_u").select();
    f.get(index)
      .i32(7)
      .op("i32.and")
      .i32(3)
      .op("i32.shl")
      .op("i64.extend_i32_u")
      .op("i64.shr_u")
      .op("i32.wrap_i64");
    f.release(index);
  }
}

const wholeOps = {
  and: "i32.and",
  shr: "i32.shr_u",
  shl: "i32.shl",
  plus: "i32.add",
  times: "i32.mul",
} as const;

/** The bits of a half float → its value: exact, subnormal ones too. */
function halfToFloat(f: FuncBuilder): void {
  const [bits, moved] = [f.temp("i32"), f.temp("i32")];
  f.tee(bits).i32(0x7fff).op("i32.and").i32(13).op("i32.shl").set(moved);
  // The exponent's bias is 112 less; all ones stay all ones.
  f.get(moved)
    .op("f32.reinterpret_i32")
    .f32(2 ** 112)
    .op("f32.mul")
    .op("i32.reinterpret_f32");
  f.get(moved).i32(0x7f800000).op("i32.or");
  f.get(moved).i32(0x0f800000).op("i32.lt_u").select();
  f.get(bits).i32(0x8000).op("i32.and").i32(16).op("i32.shl").op("i32.or").op("f32.reinterpret_i32");
  f.release(bits).release(moved);
}

/** Half floats of a block that stand in two bytes of their own. */
export function plainHalves(recipe: Recipe): { readonly node: Float; readonly at: number }[] {
  const found = new Map<Float, number>();
  for (const node of countUses(recipe).keys()) {
    if (node.op === "f16" && node.x.op === "u16") found.set(node, node.x.at);
  }
  return [...found].map(([node, at]) => ({ node, at }));
}

/** Half floats, up to four, each at its own address, as lanes of f32. */
export function halfLanes(
  f: FuncBuilder,
  constants: Constants,
  at: readonly Local[],
  offset: number,
  into: Local,
): void {
  const all = (bits: number) => constants.push(f, i32x4(bits));
  all(0).set(into);
  at.forEach((address, k) => {
    f.get(address)
      .get(into)
      .loadLane("v128.load16_lane", 2 * k + 1, offset, 1)
      .set(into);
  });
  // As halfToFloat, in lanes. The sign stays at the top; what the shift makes of it is cut off.
  const moved = f.temp("v128");
  f.get(into).i32(3).op("i32x4.shr_s");
  all(0x8fffe000 | 0)
    .op("v128.and")
    .set(moved);
  f.get(moved);
  all(0x77800000).op("f32x4.mul").get(moved);
  all(0x0f800000).op("v128.and");
  all(0x0f800000).op("i32x4.eq");
  all(0x7f800000).op("v128.and").op("v128.or").set(into);
  f.release(moved);
}
