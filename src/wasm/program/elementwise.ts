/**
 * The elementwise kernel: out[i,j] = program(in0[i,j], in1[i,j], …) over m rows of n elements. Sizes, addresses and
 * strides come from a descriptor in memory, so one kernel serves every shape of its layout class.
 *
 * Outputs are the first operands.
 *
 *     i32 n, m, then per operand: i32 address, stride, rowStride; then 8 bytes a captured value
 */
import { type DType, dtypes } from "../../dtype.ts";
import { type Id, type Node, resultsOf } from "../../ir/node.ts";
import type { KernelPlan, LayoutClass } from "../../optimize/vectorize.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { countedLoop, heapModule, loadWord } from "../kit.ts";
import { lifetimesOf } from "./lifetimes.ts";
import { boolMask, loadLanes, loadNarrow, packed, reverse2, reverse4, storeLanes } from "./memory.ts";
import { type CodeContext, loadScalar, ScalarCode, storeScalar } from "./scalar.ts";
import { slowFunctions } from "./slow.ts";
import { registersOf, VectorCode } from "./vector.ts";

/** Word positions in the descriptor, and its length in bytes. */
export const descriptor = {
  n: 0,
  m: 1,
  address: (operand: number) => 2 + 3 * operand,
  stride: (operand: number) => 3 + 3 * operand,
  rowStride: (operand: number) => 4 + 3 * operand,
  /** In 8-byte units. */
  param: (operands: number, param: number) => Math.ceil((2 + 3 * operands) / 2) + param,
};

export interface Operand {
  readonly dtype: DType;
  readonly layout: LayoutClass;
  readonly bytes: number;
  /** Address of the row, and of the current element. */
  readonly row: Local;
  readonly at: Local;
  readonly stride: Local;
  readonly rowStride: Local;
}

export interface ElementwiseOptions {
  readonly fma: boolean;
  /** Is the memory that is imported shared? */
  readonly shared: boolean;
}

/** What every elementwise kernel begins with. */
export interface KernelStart {
  readonly module: ModuleBuilder;
  readonly f: FuncBuilder;
  readonly context: CodeContext;
  readonly d: Local;
  readonly n: Local;
  readonly m: Local;
  /** The outputs first. */
  readonly operands: readonly Operand[];
  readonly outputs: number;
}

/** A module that imports memory "m" of module "e" and exports "run" (descriptor address), which has read its sizes. */
export function startKernel(plan: KernelPlan, { shared, fma }: ElementwiseOptions): KernelStart {
  const module = heapModule(shared);
  const f = module.func("run", { d: "i32" }, [], { export: true });
  const context: CodeContext = { f, program: plan.program, fma, slow: slowFunctions(module) };
  const [d] = f.params;
  const n = loadWord(f, d, descriptor.n, "n");
  const m = loadWord(f, d, descriptor.m, "m");
  const outputs = resultsOf(plan.program).length;
  return { module, f, context, d, n, m, operands: loadOperands(f, d, plan), outputs };
}

/**
 * What is computed once a call (level 0: constants and what follows from captured values) or once a row (level 1: what is
 * the same all along it), in scalars, and in all lanes where vectors want it.
 */
export function emitOnce(
  { f, d, operands, outputs, context: { program } }: KernelStart,
  level: 0 | 1,
  levels: KernelPlan["levels"],
  scalar: ScalarCode,
  vectors: readonly VectorCode[],
  wanted: (id: Id) => boolean = () => true,
): void {
  program.nodes.forEach((node, id) => {
    if (levels[id] !== level || node.op === "tuple") return;
    scalar.emit(id, () => {
      if (node.op === "param")
        loadScalar(f.get(d), node.dtype, 8 * descriptor.param(operands.length, node.index));
      else if (node.op === "input") loadScalar(f.get(operands[node.index + outputs].row), node.dtype);
    });
    if (vectors.length === 0 || !wanted(id)) return;
    const local = scalar.value(id, true);
    vectors.forEach((code, i) => {
      if (i === 0) code.splat(id, local);
      else code.share(id, vectors[0]);
    });
  });
}

/** How many vectors wide the loops of a kernel are, one after the other; scalar code does the rest. */
export const unrollsOf = ({ width, unroll }: KernelPlan): number[] =>
  width === 0 ? [] : [...new Set([unroll, 1])];

export function emitElementwise(plan: KernelPlan, options: ElementwiseOptions): ModuleBuilder {
  const start = startKernel(plan, options);
  const { module, f, context, n, m, operands } = start;
  const { program, levels } = plan;

  const lifetimes = lifetimesOf(program, levels);
  const scalar = new ScalarCode(context, lifetimes);
  const used = new Set<Id>();
  program.nodes.forEach((node, id) => {
    if (levels[id] === 2) for (const a of node.args) if (levels[a] < 2) used.add(a);
  });
  for (const id of resultsOf(program)) if (levels[id] < 2) used.add(id);
  const vectors = unrollsOf(plan).map((u) => ({ u, code: new VectorCode(context, lifetimes) }));
  const once = (level: 0 | 1) =>
    emitOnce(
      start,
      level,
      levels,
      scalar,
      vectors.map(({ code }) => code),
      (id) => used.has(id),
    );
  once(0);

  const left = f.local("i32", "left");
  f.block((done) => {
    f.get(m).i32(0).op("i32.le_s").brIf(done);
    f.loop((nextRow) => {
      once(1);
      for (const o of operands) f.get(o.row).set(o.at);
      f.get(n).set(left);
      for (const { u, code } of vectors) vectorLoop(plan, context, operands, left, u, code);
      scalarLoop(plan, context, operands, left, scalar);
      for (const o of operands) f.get(o.row).get(o.rowStride).op("i32.add").set(o.row);
      f.get(m).i32(1).op("i32.sub").tee(m).brIf(nextRow);
    });
  });
  return module;
}

/** Addresses and strides of all operands, out first, from the descriptor. */
function loadOperands(f: FuncBuilder, d: Local, { program, classes }: KernelPlan): Operand[] {
  const results = resultsOf(program);
  const outputs = results.map((id) => program.nodes[id].dtype);
  return [...outputs, ...program.inputs].map((dtype, k) => {
    const more = k === 0 ? "" : k;
    const name = k < outputs.length ? `out${more}` : `in${k - outputs.length}`;
    return {
      dtype,
      layout: classes[k],
      bytes: dtypes[dtype].bytes,
      row: loadWord(f, d, descriptor.address(k), `${name}Row`),
      at: f.local("i32", name),
      stride: loadWord(f, d, descriptor.stride(k), `${name}Stride`),
      rowStride: loadWord(f, d, descriptor.rowStride(k), `${name}RowStride`),
    };
  });
}

function scalarLoop(
  plan: KernelPlan,
  context: CodeContext,
  operands: readonly Operand[],
  left: Local,
  scalar: ScalarCode,
): void {
  const { f, program } = context;
  const results = resultsOf(program);
  countedLoop(f, left, 1, () => {
    program.nodes.forEach((node, id) => {
      if (plan.levels[id] < 2 || node.op === "tuple") return;
      scalar.emit(id, (input) => {
        const o = operands[(input as Node & { op: "input" }).index + results.length];
        loadScalar(f.get(o.at), o.dtype);
      });
    });
    results.forEach((id, k) => {
      storeScalar(f.get(operands[k].at).get(scalar.value(id)), operands[k].dtype);
    });
    for (const o of operands) {
      if (o.layout === "broadcast") continue;
      f.get(o.at);
      if (o.layout === "strided") f.get(o.stride);
      else f.i32(o.layout === "reversed" ? -o.bytes : o.bytes);
      f.op("i32.add").set(o.at);
    }
  });
}

function vectorLoop(
  plan: KernelPlan,
  context: CodeContext,
  operands: readonly Operand[],
  left: Local,
  unroll: number,
  code: VectorCode,
): void {
  const { f, program } = context;
  const elements = 4 * unroll;
  const results = resultsOf(program);
  countedLoop(f, left, elements, () => {
    program.nodes.forEach((node, id) => {
      if (plan.levels[id] < 2 || node.op === "tuple") return;
      if (node.op === "input")
        code.define(id, loadVectors(f, operands[node.index + results.length], unroll), true);
      else code.emit(id);
    });
    results.forEach((id, k) => {
      const out = operands[k];
      storeVectors(f, out, out.dtype === "bool" ? code.mask(id, false) : code.regs(id), unroll);
    });
    for (const o of operands) {
      // A strided operand's address was moved lane by lane.
      if (o.layout !== "contiguous" && o.layout !== "reversed") continue;
      const step = elements * o.bytes;
      f.get(o.at)
        .i32(o.layout === "reversed" ? -step : step)
        .op("i32.add")
        .set(o.at);
    }
  });
}

/* Loads and stores ------------------------------------------------------------------------------------- */

/** Temps, one a register. */
export function loadVectors(f: FuncBuilder, o: Operand, unroll: number): Local[] {
  const count = registersOf(o.dtype, unroll);
  const lanes = o.bytes === 8 ? 2 : 4;
  let base = o.at;
  if (o.layout === "reversed") {
    // The group's last element has its lowest address.
    base = f.temp("i32");
    f.get(o.at)
      .i32((4 * unroll - 1) * o.bytes)
      .op("i32.sub")
      .set(base);
  }
  const regs = Array.from({ length: count }, (_, r) => {
    const local = f.temp("v128");
    if (o.layout === "strided") gather(f, o, lanes);
    else {
      const group = o.layout === "reversed" ? count - 1 - r : r;
      loadLanes(f.get(base), o.dtype, group * lanes * o.bytes);
      if (o.layout === "reversed") {
        const t = f.temp("v128");
        f.tee(t)
          .get(t)
          .shuffle(lanes === 2 ? reverse2 : reverse4)
          .release(t);
      }
    }
    boolMask(f, o.dtype);
    f.set(local);
    return local;
  });
  if (base !== o.at) f.release(base);
  return regs;
}

/** Lane by lane, moving the address along. */
function gather(f: FuncBuilder, o: Operand, lanes: number): void {
  const step = () => f.get(o.at).get(o.stride).op("i32.add").set(o.at);
  if (o.bytes >= 4) {
    const v = f.temp("v128");
    f.get(o.at)
      .load(o.bytes === 4 ? "v128.load32_zero" : "v128.load64_zero", 0, 1)
      .set(v);
    step();
    for (let l = 1; l < lanes; l++) {
      f.get(o.at).get(v);
      f.loadLane(o.bytes === 4 ? "v128.load32_lane" : "v128.load64_lane", l, 0, 1).set(v);
      step();
    }
    f.get(v).release(v);
    return;
  }
  const v = f.temp("v128");
  for (let l = 0; l < lanes; l++) {
    if (l > 0) f.get(v);
    loadNarrow(f.get(o.at), o.dtype);
    if (l === 0) f.op("i32x4.splat");
    else f.lane("i32x4.replace_lane", l);
    f.set(v);
    step();
  }
  f.get(v).release(v);
}

/** High registers first, so that V8 can pair neighbours into 256-bit stores. */
export function storeVectors(f: FuncBuilder, o: Operand, regs: readonly Local[], unroll: number): void {
  const count = registersOf(o.dtype, unroll);
  const lanes = o.bytes === 8 ? 2 : 4;
  if (o.layout === "strided" || o.layout === "broadcast") {
    for (let r = 0; r < count; r++) scatter(f, o, packed(f, o.dtype, regs[r % regs.length]), lanes);
    return;
  }
  let base = o.at;
  if (o.layout === "reversed") {
    base = f.temp("i32");
    f.get(o.at)
      .i32((4 * unroll - 1) * o.bytes)
      .op("i32.sub")
      .set(base);
  }
  const ready = Array.from({ length: count }, (_, r) => {
    let reg = regs[r % regs.length];
    if (o.layout === "reversed") {
      const turned = f.local("v128");
      f.get(reg)
        .get(reg)
        .shuffle(lanes === 2 ? reverse2 : reverse4)
        .set(turned);
      reg = turned;
    }
    return packed(f, o.dtype, reg);
  });
  for (let g = count - 1; g >= 0; g--) {
    const reg = ready[o.layout === "reversed" ? count - 1 - g : g];
    const offset = g * lanes * o.bytes;
    storeLanes(f.get(base).get(reg), o.dtype, offset);
  }
  if (base !== o.at) f.release(base);
}

function scatter(f: FuncBuilder, o: Operand, reg: Local, lanes: number): void {
  const op = (
    { 1: "v128.store8_lane", 2: "v128.store16_lane", 4: "v128.store32_lane", 8: "v128.store64_lane" } as const
  )[o.bytes as 1 | 2 | 4 | 8];
  for (let l = 0; l < lanes; l++) {
    f.get(o.at).get(reg).storeLane(op, l, 0, 1);
    f.get(o.at).get(o.stride).op("i32.add").set(o.at);
  }
}
