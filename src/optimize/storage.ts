/**
 * From dtypes to what memory holds: after this pass f16 and bf16 are 16-bit integers at the loads and the store, and
 * every cast is one a lane can do. All of it is ordinary IR, so the interpreter can check it.
 */
import { type DType, dtypes, isHalf } from "../dtype.ts";
import type { Builder } from "../ir/build.ts";
import { type Id, type Node, type Program, someNode } from "../ir/node.ts";
import { rewrite } from "./rewrite.ts";

/** What a dtype's bytes are loaded and stored as. */
export const storedAs = (d: DType): DType => (isHalf(d) ? "u16" : d);

/** Captured values are passed one by one: half floats as f32. */
const passedAs = (d: DType): DType => (isHalf(d) ? "f32" : d);

/** Half floats must already be at the rim only (see widenHalf): loads cast to f32, and at most one cast at the end. */
export function lowerStorage(program: Program): Program {
  if (!someNode(program, (node) => node.op === "cast" || isHalf(node.dtype))) return program;
  const stored: Program = {
    ...program,
    inputs: program.inputs.map(storedAs),
    params: program.params.map(passedAs),
  };
  return rewrite(stored, (b, node, args, of) => {
    if (node.op === "input" && isHalf(node.dtype)) return b.input(node.index, "u16", node.span);
    if (node.op === "param" && isHalf(node.dtype)) return b.param(node.index, "f32", node.span);
    if (node.op === "read" && isHalf(node.dtype)) return b.add({ ...node, args, dtype: "u16" });
    if (node.op === "cast") return lowerCast(b, of, node, args[0]);
    return node.op === "tuple" ? b.tuple(...args) : null;
  });
}

function lowerCast(b: Builder, program: Program, node: Node, x: Id): Id | null {
  const from = program.nodes[node.args[0]].dtype;
  const to = node.dtype;
  if (isHalf(from) && program.nodes[node.args[0]].op === "param") return castLane(b, to, x);
  if (isHalf(from)) {
    const wide = from === "f16" ? halfToFloat(b, x) : brainToFloat(b, x);
    return isHalf(to) ? fromFloat(b, wide, to) : castLane(b, to, wide);
  }
  if (isHalf(to)) return fromFloat(b, toFloatOdd(b, x, from), to);
  return castLane(b, to, x);
}

/** Float → narrow integer saturates at the narrow range, which lanes of 32 bits do not know of. */
function castLane(b: Builder, to: DType, x: Id): Id {
  const from = b.dtypeOf(x);
  const row = dtypes[to];
  const narrow = row.bytes < 4 && (row.kind === "int" || row.kind === "uint");
  if (dtypes[from].kind !== "float" || !narrow) return b.cast(to, x);
  const low = b.constant("i32", row.min);
  const high = b.constant("i32", row.max);
  return b.cast(to, b.op("min", b.op("max", b.cast("i32", x), low), high));
}

const u32 = (b: Builder, value: number): Id => b.constant("u32", value >>> 0);

/** f16 bits (u16) → f32: the exponent is moved by one exact multiplication, which also normalises subnormals. */
function halfToFloat(b: Builder, x: Id): Id {
  const h = b.cast("u32", x);
  const magnitude = b.op("bitAnd", h, u32(b, 0x7fff));
  const scaled = b.op(
    "mul",
    b.bitcast("f32", b.op("shl", magnitude, u32(b, 13))),
    b.constant("f32", 2 ** 112),
  );
  const special = b.op("ge", magnitude, u32(b, 0x7c00));
  const bits = b.bitcast("u32", scaled);
  const fixed = b.op("select", special, b.op("bitOr", bits, u32(b, 0x7f800000)), bits);
  const sign = b.op("shl", b.op("bitAnd", h, u32(b, 0x8000)), u32(b, 16));
  return b.bitcast("f32", b.op("bitOr", fixed, sign));
}

function brainToFloat(b: Builder, x: Id): Id {
  return b.bitcast("f32", b.op("shl", b.cast("u32", x), u32(b, 16)));
}

function fromFloat(b: Builder, x: Id, to: "f16" | "bf16"): Id {
  return b.cast("u16", to === "f16" ? floatToHalf(b, x) : floatToBrain(b, x));
}

/** f32 → f16 bits, ties to even. */
function floatToHalf(b: Builder, x: Id): Id {
  const bits = b.bitcast("u32", x);
  const sign = b.op("bitAnd", bits, u32(b, 0x80000000));
  const a = b.op("bitXor", bits, sign);
  // Normal results: the exponent is moved, and adding just under half a unit (plus the odd bit) rounds to even.
  const odd = b.op("bitAnd", b.op("shru", a, u32(b, 13)), u32(b, 1));
  const normal = b.op("shru", b.op("add", b.op("add", a, odd), u32(b, 0xc8000fff)), u32(b, 13));
  // Subnormal results: adding 0.5 lines the mantissa up, and the adder rounds.
  const magic = b.constant("f32", 0.5);
  const aligned = b.op("add", b.bitcast("f32", a), magic);
  const subnormal = b.op("sub", b.bitcast("u32", aligned), u32(b, 0x3f000000));
  const finite = b.op("select", b.op("lt", a, u32(b, 0x38800000)), subnormal, normal);
  const special = b.op("select", b.op("gt", a, u32(b, 0x7f800000)), u32(b, 0x7e00), u32(b, 0x7c00));
  const magnitude = b.op("select", b.op("ge", a, u32(b, 0x47800000)), special, finite);
  return b.op("bitOr", magnitude, b.op("shru", sign, u32(b, 16)));
}

/** f32 → bf16 bits, ties to even; every NaN becomes the quiet one. */
function floatToBrain(b: Builder, x: Id): Id {
  const bits = b.bitcast("u32", x);
  const odd = b.op("bitAnd", b.op("shru", bits, u32(b, 16)), u32(b, 1));
  const rounded = b.op("shru", b.op("add", b.op("add", bits, odd), u32(b, 0x7fff)), u32(b, 16));
  return b.op("select", b.op("ne", x, x), u32(b, 0x7fc0), rounded);
}

/**
 * Any value → an f32 that rounds to 16 bits as the value itself would. Wider floats are rounded to ODD: cut towards
 * zero, with the last bit set if anything was lost, so that the second rounding sees the truth.
 */
function toFloatOdd(b: Builder, x: Id, from: DType): Id {
  if (from === "f32") return x;
  const row = dtypes[from];
  if (row.kind !== "float" && row.bytes <= 2) return b.cast("f32", x);
  return roundToOdd(b, row.big ? bigToDouble(b, x, from) : b.cast("f64", x));
}

function roundToOdd(b: Builder, x: Id): Id {
  const near = b.cast("f32", x);
  const back = b.cast("f64", near);
  const one = u32(b, 1);
  const zero = u32(b, 0);
  const away = b.op("select", b.op("gt", b.op("abs", back), b.op("abs", x)), one, zero);
  const lost = b.op("select", b.op("ne", back, x), one, zero);
  return b.bitcast("f32", b.op("bitOr", b.op("sub", b.bitcast("u32", near), away), lost));
}

/** i64 or u64 → f64 without a rounding that a later one could notice: what lies below the top 52 bits becomes one sticky bit. */
function bigToDouble(b: Builder, x: Id, from: DType): Id {
  const big = (value: bigint) => b.constant(from, value);
  const low = b.op("bitAnd", x, big(0xfffn));
  const sticky = b.op("select", b.op("ne", low, big(0n)), big(0x800n), big(0n));
  const cut = b.op("bitOr", b.op("sub", x, low), sticky);
  const limit = big(1n << 53n);
  const small =
    from === "u64"
      ? b.op("lt", x, limit)
      : b.op("and", b.op("lt", x, limit), b.op("gt", x, big(-(1n << 53n))));
  return b.cast("f64", b.op("select", small, x, cut));
}
