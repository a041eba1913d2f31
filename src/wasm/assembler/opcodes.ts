/**
 * The instruction table: one row a WebAssembly instruction, named once by its text-format name. The assembler
 * encodes from it, its typed stack checks from it, the disassembler reads it backwards.
 *
 * `code`  one byte, or a prefix byte and a number below it: 0xfd_0e4 is the bytes fd, then 0xe4 in LEB128.
 * `sig`   types popped (last is the top of the stack) -> types pushed: i = i32, l = i64, f = f32, d = f64,
 *         v = v128. `*` means that the types follow from the immediates or from the stack.
 * `imm`   what follows the code in the bytes; `bytes` is the width of a memory access.
 */
export type ValType = "i32" | "i64" | "f32" | "f64" | "v128";

/** A lane index below the number. */
export type LaneImmediate = "lane2" | "lane4" | "lane8" | "lane16";
/** Reserved bytes, one or two (memory indices): nothing for the caller to say. */
type ReservedImmediate = "zero" | "zero2";
/**
 * A ValType is a constant of it; "memarg" is alignment and offset; "memlane" is a memarg and a lane index below
 * 16 / bytes; "shuffle" is 16 lane indices below 32; the others are indices into the spaces they name.
 */
export type Immediate =
  | ReservedImmediate
  | ValType
  | LaneImmediate
  | ("memarg" | "memlane" | "shuffle")
  | ("block" | "label" | "labels" | "func" | "local" | "global");

interface Row {
  readonly code: number;
  readonly sig: string;
  readonly imm?: Immediate;
  readonly bytes?: 1 | 2 | 4 | 8 | 16;
}

export const opcodes = {
  // Control
  unreachable: { code: 0x00, sig: "*" },
  nop: { code: 0x01, sig: "->" },
  block: { code: 0x02, sig: "*", imm: "block" },
  loop: { code: 0x03, sig: "*", imm: "block" },
  if: { code: 0x04, sig: "*", imm: "block" },
  else: { code: 0x05, sig: "*" },
  end: { code: 0x0b, sig: "*" },
  br: { code: 0x0c, sig: "*", imm: "label" },
  br_if: { code: 0x0d, sig: "*", imm: "label" },
  br_table: { code: 0x0e, sig: "*", imm: "labels" },
  return: { code: 0x0f, sig: "*" },
  call: { code: 0x10, sig: "*", imm: "func" },
  drop: { code: 0x1a, sig: "*" },
  select: { code: 0x1b, sig: "*" },

  // Variables
  "local.get": { code: 0x20, sig: "*", imm: "local" },
  "local.set": { code: 0x21, sig: "*", imm: "local" },
  "local.tee": { code: 0x22, sig: "*", imm: "local" },
  "global.get": { code: 0x23, sig: "*", imm: "global" },
  "global.set": { code: 0x24, sig: "*", imm: "global" },

  // Memory: `bytes` is what one access touches, and its natural alignment
  "i32.load": { code: 0x28, sig: "i -> i", imm: "memarg", bytes: 4 },
  "i64.load": { code: 0x29, sig: "i -> l", imm: "memarg", bytes: 8 },
  "f32.load": { code: 0x2a, sig: "i -> f", imm: "memarg", bytes: 4 },
  "f64.load": { code: 0x2b, sig: "i -> d", imm: "memarg", bytes: 8 },
  "i32.load8_s": { code: 0x2c, sig: "i -> i", imm: "memarg", bytes: 1 },
  "i32.load8_u": { code: 0x2d, sig: "i -> i", imm: "memarg", bytes: 1 },
  "i32.load16_s": { code: 0x2e, sig: "i -> i", imm: "memarg", bytes: 2 },
  "i32.load16_u": { code: 0x2f, sig: "i -> i", imm: "memarg", bytes: 2 },
  "i64.load8_s": { code: 0x30, sig: "i -> l", imm: "memarg", bytes: 1 },
  "i64.load8_u": { code: 0x31, sig: "i -> l", imm: "memarg", bytes: 1 },
  "i64.load16_s": { code: 0x32, sig: "i -> l", imm: "memarg", bytes: 2 },
  "i64.load16_u": { code: 0x33, sig: "i -> l", imm: "memarg", bytes: 2 },
  "i64.load32_s": { code: 0x34, sig: "i -> l", imm: "memarg", bytes: 4 },
  "i64.load32_u": { code: 0x35, sig: "i -> l", imm: "memarg", bytes: 4 },
  "i32.store": { code: 0x36, sig: "i i ->", imm: "memarg", bytes: 4 },
  "i64.store": { code: 0x37, sig: "i l ->", imm: "memarg", bytes: 8 },
  "f32.store": { code: 0x38, sig: "i f ->", imm: "memarg", bytes: 4 },
  "f64.store": { code: 0x39, sig: "i d ->", imm: "memarg", bytes: 8 },
  "i32.store8": { code: 0x3a, sig: "i i ->", imm: "memarg", bytes: 1 },
  "i32.store16": { code: 0x3b, sig: "i i ->", imm: "memarg", bytes: 2 },
  "i64.store8": { code: 0x3c, sig: "i l ->", imm: "memarg", bytes: 1 },
  "i64.store16": { code: 0x3d, sig: "i l ->", imm: "memarg", bytes: 2 },
  "i64.store32": { code: 0x3e, sig: "i l ->", imm: "memarg", bytes: 4 },
  "memory.size": { code: 0x3f, sig: "-> i", imm: "zero" },
  "memory.grow": { code: 0x40, sig: "i -> i", imm: "zero" },
  "memory.copy": { code: 0xfc_00a, sig: "i i i ->", imm: "zero2" },
  "memory.fill": { code: 0xfc_00b, sig: "i i i ->", imm: "zero" },

  // Constants
  "i32.const": { code: 0x41, sig: "-> i", imm: "i32" },
  "i64.const": { code: 0x42, sig: "-> l", imm: "i64" },
  "f32.const": { code: 0x43, sig: "-> f", imm: "f32" },
  "f64.const": { code: 0x44, sig: "-> d", imm: "f64" },

  // i32 and i64 comparison
  "i32.eqz": { code: 0x45, sig: "i -> i" },
  "i32.eq": { code: 0x46, sig: "i i -> i" },
  "i32.ne": { code: 0x47, sig: "i i -> i" },
  "i32.lt_s": { code: 0x48, sig: "i i -> i" },
  "i32.lt_u": { code: 0x49, sig: "i i -> i" },
  "i32.gt_s": { code: 0x4a, sig: "i i -> i" },
  "i32.gt_u": { code: 0x4b, sig: "i i -> i" },
  "i32.le_s": { code: 0x4c, sig: "i i -> i" },
  "i32.le_u": { code: 0x4d, sig: "i i -> i" },
  "i32.ge_s": { code: 0x4e, sig: "i i -> i" },
  "i32.ge_u": { code: 0x4f, sig: "i i -> i" },
  "i64.eqz": { code: 0x50, sig: "l -> i" },
  "i64.eq": { code: 0x51, sig: "l l -> i" },
  "i64.ne": { code: 0x52, sig: "l l -> i" },
  "i64.lt_s": { code: 0x53, sig: "l l -> i" },
  "i64.lt_u": { code: 0x54, sig: "l l -> i" },
  "i64.gt_s": { code: 0x55, sig: "l l -> i" },
  "i64.gt_u": { code: 0x56, sig: "l l -> i" },
  "i64.le_s": { code: 0x57, sig: "l l -> i" },
  "i64.le_u": { code: 0x58, sig: "l l -> i" },
  "i64.ge_s": { code: 0x59, sig: "l l -> i" },
  "i64.ge_u": { code: 0x5a, sig: "l l -> i" },

  // f32 and f64 comparison
  "f32.eq": { code: 0x5b, sig: "f f -> i" },
  "f32.ne": { code: 0x5c, sig: "f f -> i" },
  "f32.lt": { code: 0x5d, sig: "f f -> i" },
  "f32.gt": { code: 0x5e, sig: "f f -> i" },
  "f32.le": { code: 0x5f, sig: "f f -> i" },
  "f32.ge": { code: 0x60, sig: "f f -> i" },
  "f64.eq": { code: 0x61, sig: "d d -> i" },
  "f64.ne": { code: 0x62, sig: "d d -> i" },
  "f64.lt": { code: 0x63, sig: "d d -> i" },
  "f64.gt": { code: 0x64, sig: "d d -> i" },
  "f64.le": { code: 0x65, sig: "d d -> i" },
  "f64.ge": { code: 0x66, sig: "d d -> i" },

  // i32 and i64 arithmetic
  "i32.clz": { code: 0x67, sig: "i -> i" },
  "i32.ctz": { code: 0x68, sig: "i -> i" },
  "i32.popcnt": { code: 0x69, sig: "i -> i" },
  "i32.add": { code: 0x6a, sig: "i i -> i" },
  "i32.sub": { code: 0x6b, sig: "i i -> i" },
  "i32.mul": { code: 0x6c, sig: "i i -> i" },
  "i32.div_s": { code: 0x6d, sig: "i i -> i" },
  "i32.div_u": { code: 0x6e, sig: "i i -> i" },
  "i32.rem_s": { code: 0x6f, sig: "i i -> i" },
  "i32.rem_u": { code: 0x70, sig: "i i -> i" },
  "i32.and": { code: 0x71, sig: "i i -> i" },
  "i32.or": { code: 0x72, sig: "i i -> i" },
  "i32.xor": { code: 0x73, sig: "i i -> i" },
  "i32.shl": { code: 0x74, sig: "i i -> i" },
  "i32.shr_s": { code: 0x75, sig: "i i -> i" },
  "i32.shr_u": { code: 0x76, sig: "i i -> i" },
  "i32.rotl": { code: 0x77, sig: "i i -> i" },
  "i32.rotr": { code: 0x78, sig: "i i -> i" },
  "i64.clz": { code: 0x79, sig: "l -> l" },
  "i64.ctz": { code: 0x7a, sig: "l -> l" },
  "i64.popcnt": { code: 0x7b, sig: "l -> l" },
  "i64.add": { code: 0x7c, sig: "l l -> l" },
  "i64.sub": { code: 0x7d, sig: "l l -> l" },
  "i64.mul": { code: 0x7e, sig: "l l -> l" },
  "i64.div_s": { code: 0x7f, sig: "l l -> l" },
  "i64.div_u": { code: 0x80, sig: "l l -> l" },
  "i64.rem_s": { code: 0x81, sig: "l l -> l" },
  "i64.rem_u": { code: 0x82, sig: "l l -> l" },
  "i64.and": { code: 0x83, sig: "l l -> l" },
  "i64.or": { code: 0x84, sig: "l l -> l" },
  "i64.xor": { code: 0x85, sig: "l l -> l" },
  "i64.shl": { code: 0x86, sig: "l l -> l" },
  "i64.shr_s": { code: 0x87, sig: "l l -> l" },
  "i64.shr_u": { code: 0x88, sig: "l l -> l" },
  "i64.rotl": { code: 0x89, sig: "l l -> l" },
  "i64.rotr": { code: 0x8a, sig: "l l -> l" },

  // f32 and f64 arithmetic
  "f32.abs": { code: 0x8b, sig: "f -> f" },
  "f32.neg": { code: 0x8c, sig: "f -> f" },
  "f32.ceil": { code: 0x8d, sig: "f -> f" },
  "f32.floor": { code: 0x8e, sig: "f -> f" },
  "f32.trunc": { code: 0x8f, sig: "f -> f" },
  "f32.nearest": { code: 0x90, sig: "f -> f" },
  "f32.sqrt": { code: 0x91, sig: "f -> f" },
  "f32.add": { code: 0x92, sig: "f f -> f" },
  "f32.sub": { code: 0x93, sig: "f f -> f" },
  "f32.mul": { code: 0x94, sig: "f f -> f" },
  "f32.div": { code: 0x95, sig: "f f -> f" },
  "f32.min": { code: 0x96, sig: "f f -> f" },
  "f32.max": { code: 0x97, sig: "f f -> f" },
  "f32.copysign": { code: 0x98, sig: "f f -> f" },
  "f64.abs": { code: 0x99, sig: "d -> d" },
  "f64.neg": { code: 0x9a, sig: "d -> d" },
  "f64.ceil": { code: 0x9b, sig: "d -> d" },
  "f64.floor": { code: 0x9c, sig: "d -> d" },
  "f64.trunc": { code: 0x9d, sig: "d -> d" },
  "f64.nearest": { code: 0x9e, sig: "d -> d" },
  "f64.sqrt": { code: 0x9f, sig: "d -> d" },
  "f64.add": { code: 0xa0, sig: "d d -> d" },
  "f64.sub": { code: 0xa1, sig: "d d -> d" },
  "f64.mul": { code: 0xa2, sig: "d d -> d" },
  "f64.div": { code: 0xa3, sig: "d d -> d" },
  "f64.min": { code: 0xa4, sig: "d d -> d" },
  "f64.max": { code: 0xa5, sig: "d d -> d" },
  "f64.copysign": { code: 0xa6, sig: "d d -> d" },

  // Conversion
  "i32.wrap_i64": { code: 0xa7, sig: "l -> i" },
  "i32.trunc_f32_s": { code: 0xa8, sig: "f -> i" },
  "i32.trunc_f32_u": { code: 0xa9, sig: "f -> i" },
  "i32.trunc_f64_s": { code: 0xaa, sig: "d -> i" },
  "i32.trunc_f64_u": { code: 0xab, sig: "d -> i" },
  "i64.extend_i32_s": { code: 0xac, sig: "i -> l" },
  "i64.extend_i32_u": { code: 0xad, sig: "i -> l" },
  "i64.trunc_f32_s": { code: 0xae, sig: "f -> l" },
  "i64.trunc_f32_u": { code: 0xaf, sig: "f -> l" },
  "i64.trunc_f64_s": { code: 0xb0, sig: "d -> l" },
  "i64.trunc_f64_u": { code: 0xb1, sig: "d -> l" },
  "f32.convert_i32_s": { code: 0xb2, sig: "i -> f" },
  "f32.convert_i32_u": { code: 0xb3, sig: "i -> f" },
  "f32.convert_i64_s": { code: 0xb4, sig: "l -> f" },
  "f32.convert_i64_u": { code: 0xb5, sig: "l -> f" },
  "f32.demote_f64": { code: 0xb6, sig: "d -> f" },
  "f64.convert_i32_s": { code: 0xb7, sig: "i -> d" },
  "f64.convert_i32_u": { code: 0xb8, sig: "i -> d" },
  "f64.convert_i64_s": { code: 0xb9, sig: "l -> d" },
  "f64.convert_i64_u": { code: 0xba, sig: "l -> d" },
  "f64.promote_f32": { code: 0xbb, sig: "f -> d" },
  "i32.reinterpret_f32": { code: 0xbc, sig: "f -> i" },
  "i64.reinterpret_f64": { code: 0xbd, sig: "d -> l" },
  "f32.reinterpret_i32": { code: 0xbe, sig: "i -> f" },
  "f64.reinterpret_i64": { code: 0xbf, sig: "l -> d" },
  "i32.extend8_s": { code: 0xc0, sig: "i -> i" },
  "i32.extend16_s": { code: 0xc1, sig: "i -> i" },
  "i64.extend8_s": { code: 0xc2, sig: "l -> l" },
  "i64.extend16_s": { code: 0xc3, sig: "l -> l" },
  "i64.extend32_s": { code: 0xc4, sig: "l -> l" },
  "i32.trunc_sat_f32_s": { code: 0xfc_000, sig: "f -> i" },
  "i32.trunc_sat_f32_u": { code: 0xfc_001, sig: "f -> i" },
  "i32.trunc_sat_f64_s": { code: 0xfc_002, sig: "d -> i" },
  "i32.trunc_sat_f64_u": { code: 0xfc_003, sig: "d -> i" },
  "i64.trunc_sat_f32_s": { code: 0xfc_004, sig: "f -> l" },
  "i64.trunc_sat_f32_u": { code: 0xfc_005, sig: "f -> l" },
  "i64.trunc_sat_f64_s": { code: 0xfc_006, sig: "d -> l" },
  "i64.trunc_sat_f64_u": { code: 0xfc_007, sig: "d -> l" },

  // SIMD memory
  "v128.load": { code: 0xfd_000, sig: "i -> v", imm: "memarg", bytes: 16 },
  "v128.load8x8_s": { code: 0xfd_001, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load8x8_u": { code: 0xfd_002, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load16x4_s": { code: 0xfd_003, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load16x4_u": { code: 0xfd_004, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load32x2_s": { code: 0xfd_005, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load32x2_u": { code: 0xfd_006, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load8_splat": { code: 0xfd_007, sig: "i -> v", imm: "memarg", bytes: 1 },
  "v128.load16_splat": { code: 0xfd_008, sig: "i -> v", imm: "memarg", bytes: 2 },
  "v128.load32_splat": { code: 0xfd_009, sig: "i -> v", imm: "memarg", bytes: 4 },
  "v128.load64_splat": { code: 0xfd_00a, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.load32_zero": { code: 0xfd_05c, sig: "i -> v", imm: "memarg", bytes: 4 },
  "v128.load64_zero": { code: 0xfd_05d, sig: "i -> v", imm: "memarg", bytes: 8 },
  "v128.store": { code: 0xfd_00b, sig: "i v ->", imm: "memarg", bytes: 16 },
  "v128.load8_lane": { code: 0xfd_054, sig: "i v -> v", imm: "memlane", bytes: 1 },
  "v128.load16_lane": { code: 0xfd_055, sig: "i v -> v", imm: "memlane", bytes: 2 },
  "v128.load32_lane": { code: 0xfd_056, sig: "i v -> v", imm: "memlane", bytes: 4 },
  "v128.load64_lane": { code: 0xfd_057, sig: "i v -> v", imm: "memlane", bytes: 8 },
  "v128.store8_lane": { code: 0xfd_058, sig: "i v ->", imm: "memlane", bytes: 1 },
  "v128.store16_lane": { code: 0xfd_059, sig: "i v ->", imm: "memlane", bytes: 2 },
  "v128.store32_lane": { code: 0xfd_05a, sig: "i v ->", imm: "memlane", bytes: 4 },
  "v128.store64_lane": { code: 0xfd_05b, sig: "i v ->", imm: "memlane", bytes: 8 },

  // SIMD constants and lanes
  "v128.const": { code: 0xfd_00c, sig: "-> v", imm: "v128" },
  "i8x16.shuffle": { code: 0xfd_00d, sig: "v v -> v", imm: "shuffle" },
  "i8x16.swizzle": { code: 0xfd_00e, sig: "v v -> v" },
  "i8x16.splat": { code: 0xfd_00f, sig: "i -> v" },
  "i16x8.splat": { code: 0xfd_010, sig: "i -> v" },
  "i32x4.splat": { code: 0xfd_011, sig: "i -> v" },
  "i64x2.splat": { code: 0xfd_012, sig: "l -> v" },
  "f32x4.splat": { code: 0xfd_013, sig: "f -> v" },
  "f64x2.splat": { code: 0xfd_014, sig: "d -> v" },
  "i8x16.extract_lane_s": { code: 0xfd_015, sig: "v -> i", imm: "lane16" },
  "i8x16.extract_lane_u": { code: 0xfd_016, sig: "v -> i", imm: "lane16" },
  "i8x16.replace_lane": { code: 0xfd_017, sig: "v i -> v", imm: "lane16" },
  "i16x8.extract_lane_s": { code: 0xfd_018, sig: "v -> i", imm: "lane8" },
  "i16x8.extract_lane_u": { code: 0xfd_019, sig: "v -> i", imm: "lane8" },
  "i16x8.replace_lane": { code: 0xfd_01a, sig: "v i -> v", imm: "lane8" },
  "i32x4.extract_lane": { code: 0xfd_01b, sig: "v -> i", imm: "lane4" },
  "i32x4.replace_lane": { code: 0xfd_01c, sig: "v i -> v", imm: "lane4" },
  "i64x2.extract_lane": { code: 0xfd_01d, sig: "v -> l", imm: "lane2" },
  "i64x2.replace_lane": { code: 0xfd_01e, sig: "v l -> v", imm: "lane2" },
  "f32x4.extract_lane": { code: 0xfd_01f, sig: "v -> f", imm: "lane4" },
  "f32x4.replace_lane": { code: 0xfd_020, sig: "v f -> v", imm: "lane4" },
  "f64x2.extract_lane": { code: 0xfd_021, sig: "v -> d", imm: "lane2" },
  "f64x2.replace_lane": { code: 0xfd_022, sig: "v d -> v", imm: "lane2" },

  // SIMD comparison: every lane becomes all ones or all zeros
  "i8x16.eq": { code: 0xfd_023, sig: "v v -> v" },
  "i8x16.ne": { code: 0xfd_024, sig: "v v -> v" },
  "i8x16.lt_s": { code: 0xfd_025, sig: "v v -> v" },
  "i8x16.lt_u": { code: 0xfd_026, sig: "v v -> v" },
  "i8x16.gt_s": { code: 0xfd_027, sig: "v v -> v" },
  "i8x16.gt_u": { code: 0xfd_028, sig: "v v -> v" },
  "i8x16.le_s": { code: 0xfd_029, sig: "v v -> v" },
  "i8x16.le_u": { code: 0xfd_02a, sig: "v v -> v" },
  "i8x16.ge_s": { code: 0xfd_02b, sig: "v v -> v" },
  "i8x16.ge_u": { code: 0xfd_02c, sig: "v v -> v" },
  "i16x8.eq": { code: 0xfd_02d, sig: "v v -> v" },
  "i16x8.ne": { code: 0xfd_02e, sig: "v v -> v" },
  "i16x8.lt_s": { code: 0xfd_02f, sig: "v v -> v" },
  "i16x8.lt_u": { code: 0xfd_030, sig: "v v -> v" },
  "i16x8.gt_s": { code: 0xfd_031, sig: "v v -> v" },
  "i16x8.gt_u": { code: 0xfd_032, sig: "v v -> v" },
  "i16x8.le_s": { code: 0xfd_033, sig: "v v -> v" },
  "i16x8.le_u": { code: 0xfd_034, sig: "v v -> v" },
  "i16x8.ge_s": { code: 0xfd_035, sig: "v v -> v" },
  "i16x8.ge_u": { code: 0xfd_036, sig: "v v -> v" },
  "i32x4.eq": { code: 0xfd_037, sig: "v v -> v" },
  "i32x4.ne": { code: 0xfd_038, sig: "v v -> v" },
  "i32x4.lt_s": { code: 0xfd_039, sig: "v v -> v" },
  "i32x4.lt_u": { code: 0xfd_03a, sig: "v v -> v" },
  "i32x4.gt_s": { code: 0xfd_03b, sig: "v v -> v" },
  "i32x4.gt_u": { code: 0xfd_03c, sig: "v v -> v" },
  "i32x4.le_s": { code: 0xfd_03d, sig: "v v -> v" },
  "i32x4.le_u": { code: 0xfd_03e, sig: "v v -> v" },
  "i32x4.ge_s": { code: 0xfd_03f, sig: "v v -> v" },
  "i32x4.ge_u": { code: 0xfd_040, sig: "v v -> v" },
  "i64x2.eq": { code: 0xfd_0d6, sig: "v v -> v" },
  "i64x2.ne": { code: 0xfd_0d7, sig: "v v -> v" },
  "i64x2.lt_s": { code: 0xfd_0d8, sig: "v v -> v" },
  "i64x2.gt_s": { code: 0xfd_0d9, sig: "v v -> v" },
  "i64x2.le_s": { code: 0xfd_0da, sig: "v v -> v" },
  "i64x2.ge_s": { code: 0xfd_0db, sig: "v v -> v" },
  "f32x4.eq": { code: 0xfd_041, sig: "v v -> v" },
  "f32x4.ne": { code: 0xfd_042, sig: "v v -> v" },
  "f32x4.lt": { code: 0xfd_043, sig: "v v -> v" },
  "f32x4.gt": { code: 0xfd_044, sig: "v v -> v" },
  "f32x4.le": { code: 0xfd_045, sig: "v v -> v" },
  "f32x4.ge": { code: 0xfd_046, sig: "v v -> v" },
  "f64x2.eq": { code: 0xfd_047, sig: "v v -> v" },
  "f64x2.ne": { code: 0xfd_048, sig: "v v -> v" },
  "f64x2.lt": { code: 0xfd_049, sig: "v v -> v" },
  "f64x2.gt": { code: 0xfd_04a, sig: "v v -> v" },
  "f64x2.le": { code: 0xfd_04b, sig: "v v -> v" },
  "f64x2.ge": { code: 0xfd_04c, sig: "v v -> v" },

  // SIMD bits
  "v128.not": { code: 0xfd_04d, sig: "v -> v" },
  "v128.and": { code: 0xfd_04e, sig: "v v -> v" },
  "v128.andnot": { code: 0xfd_04f, sig: "v v -> v" },
  "v128.or": { code: 0xfd_050, sig: "v v -> v" },
  "v128.xor": { code: 0xfd_051, sig: "v v -> v" },
  "v128.bitselect": { code: 0xfd_052, sig: "v v v -> v" },
  "v128.any_true": { code: 0xfd_053, sig: "v -> i" },

  // i8x16 arithmetic
  "i8x16.abs": { code: 0xfd_060, sig: "v -> v" },
  "i8x16.neg": { code: 0xfd_061, sig: "v -> v" },
  "i8x16.popcnt": { code: 0xfd_062, sig: "v -> v" },
  "i8x16.all_true": { code: 0xfd_063, sig: "v -> i" },
  "i8x16.bitmask": { code: 0xfd_064, sig: "v -> i" },
  "i8x16.shl": { code: 0xfd_06b, sig: "v i -> v" },
  "i8x16.shr_s": { code: 0xfd_06c, sig: "v i -> v" },
  "i8x16.shr_u": { code: 0xfd_06d, sig: "v i -> v" },
  "i8x16.add": { code: 0xfd_06e, sig: "v v -> v" },
  "i8x16.add_sat_s": { code: 0xfd_06f, sig: "v v -> v" },
  "i8x16.add_sat_u": { code: 0xfd_070, sig: "v v -> v" },
  "i8x16.sub": { code: 0xfd_071, sig: "v v -> v" },
  "i8x16.sub_sat_s": { code: 0xfd_072, sig: "v v -> v" },
  "i8x16.sub_sat_u": { code: 0xfd_073, sig: "v v -> v" },
  "i8x16.min_s": { code: 0xfd_076, sig: "v v -> v" },
  "i8x16.min_u": { code: 0xfd_077, sig: "v v -> v" },
  "i8x16.max_s": { code: 0xfd_078, sig: "v v -> v" },
  "i8x16.max_u": { code: 0xfd_079, sig: "v v -> v" },
  "i8x16.avgr_u": { code: 0xfd_07b, sig: "v v -> v" },
  "i8x16.narrow_i16x8_s": { code: 0xfd_065, sig: "v v -> v" },
  "i8x16.narrow_i16x8_u": { code: 0xfd_066, sig: "v v -> v" },

  // i16x8 arithmetic
  "i16x8.abs": { code: 0xfd_080, sig: "v -> v" },
  "i16x8.neg": { code: 0xfd_081, sig: "v -> v" },
  "i16x8.all_true": { code: 0xfd_083, sig: "v -> i" },
  "i16x8.bitmask": { code: 0xfd_084, sig: "v -> i" },
  "i16x8.shl": { code: 0xfd_08b, sig: "v i -> v" },
  "i16x8.shr_s": { code: 0xfd_08c, sig: "v i -> v" },
  "i16x8.shr_u": { code: 0xfd_08d, sig: "v i -> v" },
  "i16x8.add": { code: 0xfd_08e, sig: "v v -> v" },
  "i16x8.add_sat_s": { code: 0xfd_08f, sig: "v v -> v" },
  "i16x8.add_sat_u": { code: 0xfd_090, sig: "v v -> v" },
  "i16x8.sub": { code: 0xfd_091, sig: "v v -> v" },
  "i16x8.sub_sat_s": { code: 0xfd_092, sig: "v v -> v" },
  "i16x8.sub_sat_u": { code: 0xfd_093, sig: "v v -> v" },
  "i16x8.mul": { code: 0xfd_095, sig: "v v -> v" },
  "i16x8.min_s": { code: 0xfd_096, sig: "v v -> v" },
  "i16x8.min_u": { code: 0xfd_097, sig: "v v -> v" },
  "i16x8.max_s": { code: 0xfd_098, sig: "v v -> v" },
  "i16x8.max_u": { code: 0xfd_099, sig: "v v -> v" },
  "i16x8.avgr_u": { code: 0xfd_09b, sig: "v v -> v" },
  "i16x8.q15mulr_sat_s": { code: 0xfd_082, sig: "v v -> v" },
  "i16x8.narrow_i32x4_s": { code: 0xfd_085, sig: "v v -> v" },
  "i16x8.narrow_i32x4_u": { code: 0xfd_086, sig: "v v -> v" },
  "i16x8.extend_low_i8x16_s": { code: 0xfd_087, sig: "v -> v" },
  "i16x8.extend_high_i8x16_s": { code: 0xfd_088, sig: "v -> v" },
  "i16x8.extend_low_i8x16_u": { code: 0xfd_089, sig: "v -> v" },
  "i16x8.extend_high_i8x16_u": { code: 0xfd_08a, sig: "v -> v" },
  "i16x8.extmul_low_i8x16_s": { code: 0xfd_09c, sig: "v v -> v" },
  "i16x8.extmul_high_i8x16_s": { code: 0xfd_09d, sig: "v v -> v" },
  "i16x8.extmul_low_i8x16_u": { code: 0xfd_09e, sig: "v v -> v" },
  "i16x8.extmul_high_i8x16_u": { code: 0xfd_09f, sig: "v v -> v" },
  "i16x8.extadd_pairwise_i8x16_s": { code: 0xfd_07c, sig: "v -> v" },
  "i16x8.extadd_pairwise_i8x16_u": { code: 0xfd_07d, sig: "v -> v" },

  // i32x4 arithmetic
  "i32x4.abs": { code: 0xfd_0a0, sig: "v -> v" },
  "i32x4.neg": { code: 0xfd_0a1, sig: "v -> v" },
  "i32x4.all_true": { code: 0xfd_0a3, sig: "v -> i" },
  "i32x4.bitmask": { code: 0xfd_0a4, sig: "v -> i" },
  "i32x4.shl": { code: 0xfd_0ab, sig: "v i -> v" },
  "i32x4.shr_s": { code: 0xfd_0ac, sig: "v i -> v" },
  "i32x4.shr_u": { code: 0xfd_0ad, sig: "v i -> v" },
  "i32x4.add": { code: 0xfd_0ae, sig: "v v -> v" },
  "i32x4.sub": { code: 0xfd_0b1, sig: "v v -> v" },
  "i32x4.mul": { code: 0xfd_0b5, sig: "v v -> v" },
  "i32x4.min_s": { code: 0xfd_0b6, sig: "v v -> v" },
  "i32x4.min_u": { code: 0xfd_0b7, sig: "v v -> v" },
  "i32x4.max_s": { code: 0xfd_0b8, sig: "v v -> v" },
  "i32x4.max_u": { code: 0xfd_0b9, sig: "v v -> v" },
  "i32x4.dot_i16x8_s": { code: 0xfd_0ba, sig: "v v -> v" },
  "i32x4.extend_low_i16x8_s": { code: 0xfd_0a7, sig: "v -> v" },
  "i32x4.extend_high_i16x8_s": { code: 0xfd_0a8, sig: "v -> v" },
  "i32x4.extend_low_i16x8_u": { code: 0xfd_0a9, sig: "v -> v" },
  "i32x4.extend_high_i16x8_u": { code: 0xfd_0aa, sig: "v -> v" },
  "i32x4.extmul_low_i16x8_s": { code: 0xfd_0bc, sig: "v v -> v" },
  "i32x4.extmul_high_i16x8_s": { code: 0xfd_0bd, sig: "v v -> v" },
  "i32x4.extmul_low_i16x8_u": { code: 0xfd_0be, sig: "v v -> v" },
  "i32x4.extmul_high_i16x8_u": { code: 0xfd_0bf, sig: "v v -> v" },
  "i32x4.extadd_pairwise_i16x8_s": { code: 0xfd_07e, sig: "v -> v" },
  "i32x4.extadd_pairwise_i16x8_u": { code: 0xfd_07f, sig: "v -> v" },
  "i32x4.trunc_sat_f32x4_s": { code: 0xfd_0f8, sig: "v -> v" },
  "i32x4.trunc_sat_f32x4_u": { code: 0xfd_0f9, sig: "v -> v" },
  "i32x4.trunc_sat_f64x2_s_zero": { code: 0xfd_0fc, sig: "v -> v" },
  "i32x4.trunc_sat_f64x2_u_zero": { code: 0xfd_0fd, sig: "v -> v" },

  // i64x2 arithmetic
  "i64x2.abs": { code: 0xfd_0c0, sig: "v -> v" },
  "i64x2.neg": { code: 0xfd_0c1, sig: "v -> v" },
  "i64x2.all_true": { code: 0xfd_0c3, sig: "v -> i" },
  "i64x2.bitmask": { code: 0xfd_0c4, sig: "v -> i" },
  "i64x2.shl": { code: 0xfd_0cb, sig: "v i -> v" },
  "i64x2.shr_s": { code: 0xfd_0cc, sig: "v i -> v" },
  "i64x2.shr_u": { code: 0xfd_0cd, sig: "v i -> v" },
  "i64x2.add": { code: 0xfd_0ce, sig: "v v -> v" },
  "i64x2.sub": { code: 0xfd_0d1, sig: "v v -> v" },
  "i64x2.mul": { code: 0xfd_0d5, sig: "v v -> v" },
  "i64x2.extend_low_i32x4_s": { code: 0xfd_0c7, sig: "v -> v" },
  "i64x2.extend_high_i32x4_s": { code: 0xfd_0c8, sig: "v -> v" },
  "i64x2.extend_low_i32x4_u": { code: 0xfd_0c9, sig: "v -> v" },
  "i64x2.extend_high_i32x4_u": { code: 0xfd_0ca, sig: "v -> v" },
  "i64x2.extmul_low_i32x4_s": { code: 0xfd_0dc, sig: "v v -> v" },
  "i64x2.extmul_high_i32x4_s": { code: 0xfd_0dd, sig: "v v -> v" },
  "i64x2.extmul_low_i32x4_u": { code: 0xfd_0de, sig: "v v -> v" },
  "i64x2.extmul_high_i32x4_u": { code: 0xfd_0df, sig: "v v -> v" },

  // f32x4 arithmetic
  "f32x4.abs": { code: 0xfd_0e0, sig: "v -> v" },
  "f32x4.neg": { code: 0xfd_0e1, sig: "v -> v" },
  "f32x4.sqrt": { code: 0xfd_0e3, sig: "v -> v" },
  "f32x4.ceil": { code: 0xfd_067, sig: "v -> v" },
  "f32x4.floor": { code: 0xfd_068, sig: "v -> v" },
  "f32x4.trunc": { code: 0xfd_069, sig: "v -> v" },
  "f32x4.nearest": { code: 0xfd_06a, sig: "v -> v" },
  "f32x4.add": { code: 0xfd_0e4, sig: "v v -> v" },
  "f32x4.sub": { code: 0xfd_0e5, sig: "v v -> v" },
  "f32x4.mul": { code: 0xfd_0e6, sig: "v v -> v" },
  "f32x4.div": { code: 0xfd_0e7, sig: "v v -> v" },
  "f32x4.min": { code: 0xfd_0e8, sig: "v v -> v" },
  "f32x4.max": { code: 0xfd_0e9, sig: "v v -> v" },
  "f32x4.pmin": { code: 0xfd_0ea, sig: "v v -> v" },
  "f32x4.pmax": { code: 0xfd_0eb, sig: "v v -> v" },
  "f32x4.convert_i32x4_s": { code: 0xfd_0fa, sig: "v -> v" },
  "f32x4.convert_i32x4_u": { code: 0xfd_0fb, sig: "v -> v" },
  "f32x4.demote_f64x2_zero": { code: 0xfd_05e, sig: "v -> v" },

  // f64x2 arithmetic
  "f64x2.abs": { code: 0xfd_0ec, sig: "v -> v" },
  "f64x2.neg": { code: 0xfd_0ed, sig: "v -> v" },
  "f64x2.sqrt": { code: 0xfd_0ef, sig: "v -> v" },
  "f64x2.ceil": { code: 0xfd_074, sig: "v -> v" },
  "f64x2.floor": { code: 0xfd_075, sig: "v -> v" },
  "f64x2.trunc": { code: 0xfd_07a, sig: "v -> v" },
  "f64x2.nearest": { code: 0xfd_094, sig: "v -> v" },
  "f64x2.add": { code: 0xfd_0f0, sig: "v v -> v" },
  "f64x2.sub": { code: 0xfd_0f1, sig: "v v -> v" },
  "f64x2.mul": { code: 0xfd_0f2, sig: "v v -> v" },
  "f64x2.div": { code: 0xfd_0f3, sig: "v v -> v" },
  "f64x2.min": { code: 0xfd_0f4, sig: "v v -> v" },
  "f64x2.max": { code: 0xfd_0f5, sig: "v v -> v" },
  "f64x2.pmin": { code: 0xfd_0f6, sig: "v v -> v" },
  "f64x2.pmax": { code: 0xfd_0f7, sig: "v v -> v" },
  "f64x2.convert_low_i32x4_s": { code: 0xfd_0fe, sig: "v -> v" },
  "f64x2.convert_low_i32x4_u": { code: 0xfd_0ff, sig: "v -> v" },
  "f64x2.promote_low_f32x4": { code: 0xfd_05f, sig: "v -> v" },

  // Relaxed SIMD: the result may depend on the processor
  "i8x16.relaxed_swizzle": { code: 0xfd_100, sig: "v v -> v" },
  "i32x4.relaxed_trunc_f32x4_s": { code: 0xfd_101, sig: "v -> v" },
  "i32x4.relaxed_trunc_f32x4_u": { code: 0xfd_102, sig: "v -> v" },
  "i32x4.relaxed_trunc_f64x2_s_zero": { code: 0xfd_103, sig: "v -> v" },
  "i32x4.relaxed_trunc_f64x2_u_zero": { code: 0xfd_104, sig: "v -> v" },
  "f32x4.relaxed_madd": { code: 0xfd_105, sig: "v v v -> v" },
  "f32x4.relaxed_nmadd": { code: 0xfd_106, sig: "v v v -> v" },
  "f64x2.relaxed_madd": { code: 0xfd_107, sig: "v v v -> v" },
  "f64x2.relaxed_nmadd": { code: 0xfd_108, sig: "v v v -> v" },
  "i8x16.relaxed_laneselect": { code: 0xfd_109, sig: "v v v -> v" },
  "i16x8.relaxed_laneselect": { code: 0xfd_10a, sig: "v v v -> v" },
  "i32x4.relaxed_laneselect": { code: 0xfd_10b, sig: "v v v -> v" },
  "i64x2.relaxed_laneselect": { code: 0xfd_10c, sig: "v v v -> v" },
  "f32x4.relaxed_min": { code: 0xfd_10d, sig: "v v -> v" },
  "f32x4.relaxed_max": { code: 0xfd_10e, sig: "v v -> v" },
  "f64x2.relaxed_min": { code: 0xfd_10f, sig: "v v -> v" },
  "f64x2.relaxed_max": { code: 0xfd_110, sig: "v v -> v" },
  "i16x8.relaxed_q15mulr_s": { code: 0xfd_111, sig: "v v -> v" },
  "i16x8.relaxed_dot_i8x16_i7x16_s": { code: 0xfd_112, sig: "v v -> v" },
  "i32x4.relaxed_dot_i8x16_i7x16_add_s": { code: 0xfd_113, sig: "v v v -> v" },

  // Threads: alignment must be the natural one
  "memory.atomic.notify": { code: 0xfe_000, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "memory.atomic.wait32": { code: 0xfe_001, sig: "i i l -> i", imm: "memarg", bytes: 4 },
  "memory.atomic.wait64": { code: 0xfe_002, sig: "i l l -> i", imm: "memarg", bytes: 8 },
  "atomic.fence": { code: 0xfe_003, sig: "->", imm: "zero" },
  "i32.atomic.load": { code: 0xfe_010, sig: "i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.load": { code: 0xfe_011, sig: "i -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.store": { code: 0xfe_017, sig: "i i ->", imm: "memarg", bytes: 4 },
  "i64.atomic.store": { code: 0xfe_018, sig: "i l ->", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.add": { code: 0xfe_01e, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.add": { code: 0xfe_01f, sig: "i l -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.sub": { code: 0xfe_025, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.sub": { code: 0xfe_026, sig: "i l -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.and": { code: 0xfe_02c, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.and": { code: 0xfe_02d, sig: "i l -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.or": { code: 0xfe_033, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.or": { code: 0xfe_034, sig: "i l -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.xor": { code: 0xfe_03a, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.xor": { code: 0xfe_03b, sig: "i l -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.xchg": { code: 0xfe_041, sig: "i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.xchg": { code: 0xfe_042, sig: "i l -> l", imm: "memarg", bytes: 8 },
  "i32.atomic.rmw.cmpxchg": { code: 0xfe_048, sig: "i i i -> i", imm: "memarg", bytes: 4 },
  "i64.atomic.rmw.cmpxchg": { code: 0xfe_049, sig: "i l l -> l", imm: "memarg", bytes: 8 },
} as const satisfies Record<string, Row>;

type Rows = typeof opcodes;
export type Opcode = keyof Rows;
type OpcodeWith<Shape> = { [Name in Opcode]: Rows[Name] extends Shape ? Name : never }[Opcode];

/** Nothing to say beside the name: arithmetic, comparison, conversion, `memory.copy`, `atomic.fence`. */
export type PlainOp = Exclude<
  Opcode,
  OpcodeWith<{ sig: "*" } | { imm: Exclude<Immediate, ReservedImmediate> }>
>;
export type LoadOp = OpcodeWith<{ imm: "memarg"; sig: `i -> ${string}` }>;
export type StoreOp = OpcodeWith<{ imm: "memarg"; sig: `${string} ->` }>;
export type LaneOp = OpcodeWith<{ imm: LaneImmediate }>;
export type LoadLaneOp = OpcodeWith<{ imm: "memlane"; sig: "i v -> v" }>;
export type StoreLaneOp = OpcodeWith<{ imm: "memlane"; sig: "i v ->" }>;
/** Read-modify-write, wait and notify; atomic loads and stores are a LoadOp and a StoreOp. */
export type AtomicOp = Exclude<OpcodeWith<{ imm: "memarg" }>, LoadOp | StoreOp>;

/** What a host must support; "core" is in every host that has SIMD. */
export type Feature = "core" | "bulkMemory" | "simd" | "relaxedSimd" | "threads";

/** A row, spelled out. */
export interface Instruction {
  readonly name: Opcode;
  readonly code: number;
  readonly params: readonly ValType[];
  readonly results: readonly ValType[];
  /** The types follow from the immediates or from the stack; `params` and `results` are empty. */
  readonly polymorphic: boolean;
  readonly imm: Immediate | null;
  /** Width of the memory access, 0 when there is none. */
  readonly bytes: number;
  readonly feature: Feature;
}

const types: Readonly<Record<string, ValType>> = { i: "i32", l: "i64", f: "f32", d: "f64", v: "v128" };
const spelledOut = new Map<string, Instruction>();
let namesByCode: Map<number, Opcode> | null = null;

export function isOpcode(name: string): name is Opcode {
  return Object.hasOwn(opcodes, name);
}

/** The row of `name`, spelled out on first use. */
export function instruction(name: Opcode): Instruction {
  return spelledOut.get(name) ?? spellOut(name);
}

/** The instruction that a code stands for, or null. */
export function instructionOfCode(code: number): Instruction | null {
  namesByCode ??= new Map((Object.keys(opcodes) as Opcode[]).map((name) => [opcodes[name].code, name]));
  const name = namesByCode.get(code);
  return name === undefined ? null : instruction(name);
}

function spellOut(name: Opcode): Instruction {
  const row: Row = opcodes[name];
  const polymorphic = row.sig === "*";
  const [params, results] = polymorphic ? [[], []] : row.sig.split("->").map(typesOf);
  const { code, imm = null, bytes = 0 } = row;
  const spelled = { name, code, params, results, polymorphic, imm, bytes, feature: featureOf(code) };
  spelledOut.set(name, spelled);
  return spelled;
}

function typesOf(letters: string): ValType[] {
  return Array.from(letters.replaceAll(" ", ""), (letter) => types[letter]);
}

/** Each proposal took a range of codes. */
function featureOf(code: number): Feature {
  if (code >= 0xfe_000) return "threads";
  if (code >= 0xfd_100) return "relaxedSimd";
  if (code >= 0xfd_000) return "simd";
  return code >= 0xfc_008 ? "bulkMemory" : "core";
}
