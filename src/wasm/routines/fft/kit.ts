/** What the parts of the Fourier transform's code share: the cell, the instructions of a lane, complex arithmetic. */
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import type { LoadOp, PlainOp, StoreOp, ValType } from "../../assembler/opcodes.ts";

export type FftLane = "f32" | "f64";

/** Bytes of one cell, and of its real parts. */
export const CELL = 64;
export const HALF = 32;
/** Lines of a block. */
export const linesOf = (lane: FftLane): number => (lane === "f32" ? 8 : 4);

export interface Row {
  readonly bytes: 4 | 8;
  readonly type: ValType;
  readonly load: LoadOp;
  readonly store: StoreOp;
  readonly splat: LoadOp;
  readonly add: PlainOp;
  readonly sub: PlainOp;
  readonly mul: PlainOp;
  readonly neg: PlainOp;
}

export const rows = {
  f32: {
    bytes: 4,
    type: "f32",
    load: "f32.load",
    store: "f32.store",
    splat: "f32.load",
    add: "f32.add",
    sub: "f32.sub",
    mul: "f32.mul",
    neg: "f32.neg",
  },
  f64: {
    bytes: 8,
    type: "f64",
    load: "f64.load",
    store: "f64.store",
    splat: "f64.load",
    add: "f64.add",
    sub: "f64.sub",
    mul: "f64.mul",
    neg: "f64.neg",
  },
} as const satisfies Record<FftLane, Row>;

const vectorRows = {
  f32: {
    bytes: 4,
    type: "v128",
    load: "v128.load",
    store: "v128.store",
    splat: "v128.load32_splat",
    add: "f32x4.add",
    sub: "f32x4.sub",
    mul: "f32x4.mul",
    neg: "f32x4.neg",
  },
  f64: {
    bytes: 8,
    type: "v128",
    load: "v128.load",
    store: "v128.store",
    splat: "v128.load64_splat",
    add: "f64x2.add",
    sub: "f64x2.sub",
    mul: "f64x2.mul",
    neg: "f64x2.neg",
  },
} as const satisfies Record<FftLane, Row>;

/** What a module is made for. */
export class Kit {
  readonly module: ModuleBuilder;
  readonly lane: FftLane;
  readonly simd: boolean;
  readonly row: Row;
  /** Lines of a block; registers of half a cell, and bytes of one. */
  readonly lines: number;
  readonly regs: number;
  readonly regBytes: number;

  constructor(module: ModuleBuilder, lane: FftLane, simd: boolean) {
    this.module = module;
    this.lane = lane;
    this.simd = simd;
    this.row = simd ? vectorRows[lane] : rows[lane];
    this.lines = linesOf(lane);
    this.regBytes = simd ? 16 : this.row.bytes;
    this.regs = HALF / this.regBytes;
  }

  func(name: string, params: string, results: readonly ValType[] = []): FuncBuilder {
    return this.module.func(
      name,
      params.split(" ").map((param) => [param, "i32"] as const),
      results,
    );
  }

  /** A complex number in registers, from the cell (or cells' factors) at `at`. */
  load(f: FuncBuilder, at: Local, h: number): Complex {
    return complex(f, this.row.type, (half) => {
      f.get(at).load(this.row.load, half * HALF + h * this.regBytes);
    });
  }

  /** A pair of numbers in memory, each in every lane. */
  splat(f: FuncBuilder, at: Local, offset: number): Complex {
    return complex(f, this.row.type, (half) => {
      f.get(at).load(this.row.splat, offset + half * this.row.bytes);
    });
  }

  /** Imaginary part first: neighbours that are stored from high to low may be joined. */
  store(f: FuncBuilder, at: Local, h: number, x: Complex): void {
    for (const half of [1, 0] as const) {
      f.get(at)
        .get(x[half])
        .store(this.row.store, half * HALF + h * this.regBytes);
    }
  }

  add(f: FuncBuilder, a: Complex, b: Complex): Complex {
    return complex(f, this.row.type, (half) => f.get(a[half]).get(b[half]).op(this.row.add));
  }
  sub(f: FuncBuilder, a: Complex, b: Complex): Complex {
    return complex(f, this.row.type, (half) => f.get(a[half]).get(b[half]).op(this.row.sub));
  }
  /** a + i·b, or a - i·b. */
  addTurned(f: FuncBuilder, a: Complex, b: Complex, sign: 1 | -1): Complex {
    const { add, sub } = this.row;
    return complex(f, this.row.type, (half) => {
      const plus = half === 0 ? sign < 0 : sign > 0;
      f.get(a[half])
        .get(b[1 - half])
        .op(plus ? add : sub);
    });
  }
  mul(f: FuncBuilder, a: Complex, b: Complex): Complex {
    const { mul, add, sub } = this.row;
    return complex(f, this.row.type, (half) => {
      f.get(a[0]).get(b[half]).op(mul);
      f.get(a[1])
        .get(b[1 - half])
        .op(mul);
      f.op(half === 0 ? sub : add);
    });
  }
}

export type Complex = readonly [re: Local, im: Local];

/** Two locals, set to what `part` leaves on the stack. */
export function complex(f: FuncBuilder, type: ValType, part: (half: 0 | 1) => void): Complex {
  const made: Local[] = [];
  for (const half of [0, 1] as const) {
    part(half);
    const local = f.temp(type);
    f.set(local);
    made.push(local);
  }
  return made as unknown as Complex;
}

export function release(f: FuncBuilder, ...all: readonly Complex[]): void {
  for (const [re, im] of all) f.release(re).release(im);
}

/** A number in every lane. */
export function constant(kit: Kit, f: FuncBuilder, value: number): void {
  if (kit.lane === "f32") f.f32(value);
  else f.f64(value);
  if (kit.simd) f.op(kit.lane === "f32" ? "f32x4.splat" : "f64x2.splat");
}

/** The f64 on the stack in every lane. */
export function splatF64(kit: Kit, f: FuncBuilder): void {
  if (kit.lane === "f32") f.op("f32.demote_f64");
  if (kit.simd) f.op(kit.lane === "f32" ? "f32x4.splat" : "f64x2.splat");
}

/** Words of 4 or 8 bytes picked from two registers, as byte indices. */
export const pick = (bytes: number, ...words: number[]) =>
  words.flatMap((w) => Array.from({ length: bytes }, (_, b) => w * bytes + b));
