/** One row a kind of lane that matrix products are summed in: its instructions, in SIMD and for one element. */
import type { GemmLane } from "../../optimize/gemm.ts";
import type { FuncBuilder, Local } from "../assembler/assembler.ts";
import type { LoadOp, PlainOp, StoreOp, ValType } from "../assembler/opcodes.ts";

export interface LaneRow {
  readonly bytes: 4 | 8;
  readonly splat: LoadOp;
  readonly mul: PlainOp;
  readonly add: PlainOp;
  /** Floats only: sums may be taken away from what is there. */
  readonly sub: PlainOp | null;
  /** a·b + c at once, where relaxed SIMD has it. */
  readonly madd: PlainOp | null;
  readonly scalar: {
    readonly type: ValType;
    readonly load: LoadOp;
    readonly store: StoreOp;
    readonly mul: PlainOp;
    readonly add: PlainOp;
    readonly sub: PlainOp;
  };
}

const i32 = {
  type: "i32",
  load: "i32.load",
  store: "i32.store",
  mul: "i32.mul",
  add: "i32.add",
  sub: "i32.sub",
} as const;

export const laneRows = {
  f32: {
    bytes: 4,
    splat: "v128.load32_splat",
    mul: "f32x4.mul",
    add: "f32x4.add",
    sub: "f32x4.sub",
    madd: "f32x4.relaxed_madd",
    scalar: {
      type: "f32",
      load: "f32.load",
      store: "f32.store",
      mul: "f32.mul",
      add: "f32.add",
      sub: "f32.sub",
    },
  },
  f64: {
    bytes: 8,
    splat: "v128.load64_splat",
    mul: "f64x2.mul",
    add: "f64x2.add",
    sub: "f64x2.sub",
    madd: "f64x2.relaxed_madd",
    scalar: {
      type: "f64",
      load: "f64.load",
      store: "f64.store",
      mul: "f64.mul",
      add: "f64.add",
      sub: "f64.sub",
    },
  },
  i32: {
    bytes: 4,
    splat: "v128.load32_splat",
    mul: "i32x4.mul",
    add: "i32x4.add",
    sub: null,
    madd: null,
    scalar: i32,
  },
  i64: {
    bytes: 8,
    splat: "v128.load64_splat",
    mul: "i64x2.mul",
    add: "i64x2.add",
    sub: null,
    madd: null,
    scalar: {
      type: "i64",
      load: "i64.load",
      store: "i64.store",
      mul: "i64.mul",
      add: "i64.add",
      sub: "i64.sub",
    },
  },
  // 0 and 1 in 32-bit lanes: "or" of "and"s.
  bool: {
    bytes: 4,
    splat: "v128.load32_splat",
    mul: "v128.and",
    add: "v128.or",
    sub: null,
    madd: null,
    scalar: { ...i32, mul: "i32.and", add: "i32.or" },
  },
} as const satisfies Record<GemmLane, LaneRow>;

/** sums[j] += a·b[j]. */
export function multiplyAdd(
  f: FuncBuilder,
  row: LaneRow,
  fma: boolean,
  sums: readonly Local[],
  a: Local,
  b: readonly Local[],
): void {
  for (let j = 0; j < sums.length; j++) {
    if (fma && row.madd !== null) f.get(a).get(b[j]).get(sums[j]).op(row.madd);
    else f.get(sums[j]).get(a).get(b[j]).op(row.mul).op(row.add);
    f.set(sums[j]);
  }
}

/** local += by (a local or a constant). */
export function bump(f: FuncBuilder, local: Local, by: Local | number): void {
  f.get(local);
  if (typeof by === "number") f.i32(by);
  else f.get(by);
  f.op("i32.add").set(local);
}

/** for (left = count; left > 0; left--) body. */
export function repeat(f: FuncBuilder, count: Local, body: () => void): void {
  const left = f.local("i32");
  f.get(count)
    .tee(left)
    .i32(0)
    .op("i32.gt_s")
    .if(() => {
      f.loop((next) => {
        body();
        f.get(left).i32(1).op("i32.sub").tee(left).brIf(next);
      });
    });
}
