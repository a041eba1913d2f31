/**
 * Softmax, its logarithm, and log Σ exp, row by row: the largest element, the exponentials and their sum, the result. A
 * row stays in the cache between these, so memory is read once and written once.
 *
 * Exponentials are summed in their own dtype for 256 elements a lane at the most, and these sums in f64.
 */
import type { Program } from "../../ir/node.ts";
import {
  type Callable,
  type FuncBuilder,
  f32x4,
  f64x2,
  type Local,
  type ModuleBuilder,
} from "../assembler/assembler.ts";
import { countedLoop, heapModule } from "../kit.ts";

import { ScalarCode } from "../program/scalar.ts";
import { slowFunctions } from "../program/slow.ts";
import { VectorCode } from "../program/vector.ts";
import { task } from "../task.ts";

export type SoftmaxKind = "softmax" | "logSoftmax" | "logsumexp";

export interface SoftmaxPlan {
  readonly kind: SoftmaxKind;
  readonly dtype: "f32" | "f64";
  /** x → e^x and x → log x, as the emitter wants them. */
  readonly exp: Program;
  readonly log: Program;
}

/** Rows are dense, strides lead from row to row. */
export const softmaxTask = task({
  rows: "i32",
  n: "i32",
  out: "ptr",
  x: "ptr",
  outStride: "i32",
  xStride: "i32",
});

/** Elements a function handles a call: V8 replaces slow first code only between calls. */
const PIECE = 16384;
/** Vector steps a turn, and turns after which a sum moves on to f64. */
const UNROLL = 4;
const TURNS = 64;

interface Emit {
  readonly module: ModuleBuilder;
  readonly plan: SoftmaxPlan;
  readonly fma: boolean;
  readonly bytes: 4 | 8;
  readonly shape: "f32x4" | "f64x2";
}

export function emitSoftmax(plan: SoftmaxPlan, options: { shared: boolean; fma: boolean }): ModuleBuilder {
  const module = heapModule(options.shared);
  const c: Emit = {
    module,
    plan,
    fma: options.fma,
    bytes: plan.dtype === "f32" ? 4 : 8,
    shape: plan.dtype === "f32" ? "f32x4" : "f64x2",
  };
  const { dtype, kind } = plan;
  const largest = emitLargest(c);
  const sum = emitSum(c);
  const finish = kind === "logsumexp" ? null : emitFinish(c);
  const log = kind === "softmax" ? null : emitLog(c);
  const { f, words } = softmaxTask.open(module);
  const { rows, n, out, x, outStride, xStride } = words;
  const base = f.local(dtype, "base");
  const total = f.local("f64", "total");
  const scale = f.local(dtype, "scale");
  const push = (value: number) => (dtype === "f32" ? f.f32(value) : f.f64(value));
  f.block((done) => {
    f.get(rows).i32(0).op("i32.le_s").brIf(done);
    f.loop((next) => {
      push(Number.NEGATIVE_INFINITY).set(base);
      pieces(f, n, [x], c.bytes, ([at], count) => {
        f.get(at).get(count).get(base).call(largest).set(base);
      });
      guard(c, f, base);
      f.f64(0).set(total);
      pieces(f, n, [out, x], c.bytes, ([to, at], count) => {
        f.get(total).get(to).get(at).get(count).get(base).call(sum).op("f64.add").set(total);
      });
      // The sum is 1 or more, so its reciprocal is a good factor; doubles have no wider one to round and divide.
      if (kind === "softmax" && dtype === "f32") f.f64(1).get(total).op("f64.div");
      else f.get(total);
      if (dtype === "f32") f.op("f32.demote_f64");
      f.set(scale);
      if (log !== null) f.get(scale).call(log).set(scale);
      if (finish === null) {
        const store = dtype === "f32" ? "f32.store" : "f64.store";
        f.get(out).get(scale).get(base).op(`${dtype}.add`).store(store, 0);
      } else {
        pieces(f, n, [out, x], c.bytes, ([to, at], count) => {
          f.get(to).get(at).get(count).get(base).get(scale).call(finish);
        });
      }
      f.get(out).get(outStride).op("i32.add").set(out);
      f.get(x).get(xStride).op("i32.add").set(x);
      f.get(rows).i32(1).op("i32.sub").tee(rows).brIf(next);
    });
  });
  return module;
}

/** body(addresses, count) for the pieces of a row. */
function pieces(
  f: FuncBuilder,
  n: Local,
  from: readonly Local[],
  bytes: number,
  body: (at: readonly Local[], count: Local) => void,
): void {
  const at = from.map((p) => {
    const local = f.temp("i32");
    f.get(p).set(local);
    return local;
  });
  const left = f.temp("i32");
  const count = f.temp("i32");
  f.get(n).set(left);
  f.block((done) => {
    f.get(left).op("i32.eqz").brIf(done);
    f.loop((next) => {
      f.get(left).i32(PIECE).get(left).i32(PIECE).op("i32.lt_s").select().set(count);
      body(at, count);
      for (const p of at) f.get(p).get(count).i32(bytes).op("i32.mul").op("i32.add").set(p);
      f.get(left).get(count).op("i32.sub").tee(left).brIf(next);
    });
  });
  for (const local of [...at, left, count]) f.release(local);
}

/**
 * What is taken from every element before exp: the largest of them. Where that is -Infinity, or for log Σ exp not
 * finite at all, 0 is taken instead, and no Infinity meets its like.
 */
function guard({ plan: { dtype, kind } }: Emit, f: FuncBuilder, base: Local): void {
  const push = (value: number) => (dtype === "f32" ? f.f32(value) : f.f64(value));
  push(0).get(base);
  f.get(base);
  if (kind === "logsumexp") {
    f.op(`${dtype}.abs`);
    push(Number.POSITIVE_INFINITY).op(`${dtype}.eq`);
  } else push(Number.NEGATIVE_INFINITY).op(`${dtype}.eq`);
  f.select().set(base);
}

/** largest(x, n, before): the larger of all. NaN counts as small: it comes back by the sum. */
function emitLargest({ module, plan: { dtype }, bytes, shape }: Emit): Callable {
  const f = module.func("largest", { x: "i32", n: "i32", before: dtype }, [dtype]);
  const [x, n, before] = f.params;
  const lanes = 16 / bytes;
  const accs = Array.from({ length: UNROLL }, () => f.local("v128"));
  for (const acc of accs) f.get(before).op(`${shape}.splat`).set(acc);
  countedLoop(f, n, UNROLL * lanes, () => {
    accs.forEach((acc, u) => {
      // pmax(a, b) is a < b ? b : a, which is a single instruction of the host's.
      f.get(acc)
        .get(x)
        .load("v128.load", 16 * u, 1)
        .op(`${shape}.pmax`)
        .set(acc);
    });
    f.get(x)
      .i32(16 * UNROLL)
      .op("i32.add")
      .set(x);
  });
  for (const acc of accs.slice(1)) f.get(accs[0]).get(acc).op(`${shape}.pmax`).set(accs[0]);
  const value = f.local(dtype);
  const larger = () => f.get(value).get(before).get(value).get(before).op(`${dtype}.gt`).select().set(before);
  for (let l = 0; l < lanes; l++) {
    f.get(accs[0]).lane(`${shape}.extract_lane`, l).set(value);
    larger();
  }
  countedLoop(f, n, 1, () => {
    f.get(x).load(`${dtype}.load`, 0).set(value);
    larger();
    f.get(x).i32(bytes).op("i32.add").set(x);
  });
  f.get(before);
  return f;
}

/** sum(out, x, n, base): Σ exp(x - base) in f64; softmax leaves the exponentials in out. */
function emitSum(c: Emit): Callable {
  const { module, plan, bytes, shape, fma } = c;
  const { dtype, exp: program } = plan;
  const f = module.func("sum", { out: "i32", x: "i32", n: "i32", base: dtype }, ["f64"]);
  const [out, x, n, base] = f.params;
  const context = { f, program, fma, slow: slowFunctions(module) };
  const stores = plan.kind === "softmax";
  const vector = new VectorCode(context);
  const scalar = new ScalarCode(context);
  program.nodes.forEach((node, id) => {
    if (node.op !== "const") return;
    scalar.emit(id, () => {});
    vector.splat(id, null);
  });
  const base4 = f.local("v128", "base4");
  f.get(base).op(`${shape}.splat`).set(base4);
  // Groups of 4 elements: one register of f32, two of f64.
  const registers = dtype === "f32" ? UNROLL : 2 * UNROLL;
  const accs = Array.from({ length: UNROLL }, () => f.local("v128"));
  const total2 = f.local("v128", "total2");
  const turns = f.local("i32", "turns");
  const zero = () => f.v128(dtype === "f32" ? f32x4(0) : f64x2(0));
  const collect = () => {
    for (let u = 1; u < UNROLL; u++) f.get(accs[0]).get(accs[u]).op(`${shape}.add`).set(accs[0]);
    if (dtype === "f32") {
      const high = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];
      f.get(total2).get(accs[0]).op("f64x2.promote_low_f32x4").op("f64x2.add");
      f.get(accs[0]).get(accs[0]).shuffle(high).op("f64x2.promote_low_f32x4").op("f64x2.add").set(total2);
    } else f.get(total2).get(accs[0]).op("f64x2.add").set(total2);
    for (const acc of accs) zero().set(acc);
  };
  f.v128(f64x2(0)).set(total2);
  for (const acc of accs) zero().set(acc);
  f.i32(TURNS).set(turns);
  countedLoop(f, n, 4 * UNROLL, () => {
    const loaded = Array.from({ length: registers }, (_, r) => {
      const reg = f.local("v128");
      f.get(x)
        .load("v128.load", 16 * r, 1)
        .get(base4)
        .op(`${shape}.sub`)
        .set(reg);
      return reg;
    });
    program.nodes.forEach((node, id) => {
      if (node.op === "input") vector.define(id, loaded);
      else if (node.op !== "const") vector.emit(id);
    });
    const regs = vector.regs(program.result);
    if (stores) {
      for (let r = registers - 1; r >= 0; r--) {
        f.get(out)
          .get(regs[r])
          .store("v128.store", 16 * r, 1);
      }
    }
    regs.forEach((reg, r) => {
      f.get(accs[r % UNROLL])
        .get(reg)
        .op(`${shape}.add`)
        .set(accs[r % UNROLL]);
    });
    for (const p of stores ? [x, out] : [x])
      f.get(p)
        .i32(16 * registers)
        .op("i32.add")
        .set(p);
    f.get(turns)
      .i32(1)
      .op("i32.sub")
      .tee(turns)
      .op("i32.eqz")
      .if(() => {
        collect();
        f.i32(TURNS).set(turns);
      });
  });
  collect();
  const total = f.local("f64", "total");
  f.get(total2)
    .lane("f64x2.extract_lane", 0)
    .get(total2)
    .lane("f64x2.extract_lane", 1)
    .op("f64.add")
    .set(total);
  countedLoop(f, n, 1, () => {
    program.nodes.forEach((node, id) => {
      if (node.op === "const") return;
      scalar.emit(id, () => f.get(x).load(`${dtype}.load`, 0).get(base).op(`${dtype}.sub`));
    });
    const e = scalar.value(program.result);
    if (stores) f.get(out).get(e).store(`${dtype}.store`, 0);
    f.get(total).get(e);
    if (dtype === "f32") f.op("f64.promote_f32");
    f.op("f64.add").set(total);
    for (const p of stores ? [x, out] : [x]) f.get(p).i32(bytes).op("i32.add").set(p);
  });
  f.get(total);
  return f;
}

/** finish(out, x, n, base, scale): out · scale (f64: out / scale), or x - base - scale. */
function emitFinish({ module, plan: { dtype, kind }, bytes, shape }: Emit): Callable {
  const f = module.func("finish", { out: "i32", x: "i32", n: "i32", base: dtype, scale: dtype });
  const [out, x, n, base, scale] = f.params;
  const scales = kind === "softmax";
  const operation = dtype === "f32" ? "mul" : "div";
  const base4 = f.local("v128");
  const scale4 = f.local("v128");
  f.get(base).op(`${shape}.splat`).set(base4).get(scale).op(`${shape}.splat`).set(scale4);
  const regs = Array.from({ length: UNROLL }, () => f.local("v128"));
  const from = scales ? out : x;
  const step = (size: number) => {
    for (const p of scales ? [out] : [out, x]) f.get(p).i32(size).op("i32.add").set(p);
  };
  countedLoop(f, n, (16 / bytes) * UNROLL, () => {
    regs.forEach((reg, r) => {
      f.get(from).load("v128.load", 16 * r, 1);
      if (scales) f.get(scale4).op(`${shape}.${operation}`).set(reg);
      else f.get(base4).op(`${shape}.sub`).get(scale4).op(`${shape}.sub`).set(reg);
    });
    for (let r = UNROLL - 1; r >= 0; r--) {
      f.get(out)
        .get(regs[r])
        .store("v128.store", 16 * r, 1);
    }
    step(16 * UNROLL);
  });
  countedLoop(f, n, 1, () => {
    f.get(out).get(from).load(`${dtype}.load`, 0);
    if (scales) f.get(scale).op(`${dtype}.${operation}`);
    else f.get(base).op(`${dtype}.sub`).get(scale).op(`${dtype}.sub`);
    f.store(`${dtype}.store`, 0);
    step(bytes);
  });
  return f;
}

function emitLog({ module, plan, fma }: Emit): Callable {
  const { dtype, log: program } = plan;
  const f = module.func("log", { value: dtype }, [dtype]);
  const scalar = new ScalarCode({ f, program, fma, slow: slowFunctions(module) });
  program.nodes.forEach((_, id) => {
    scalar.emit(id, () => f.get(f.params[0]));
  });
  f.get(scalar.value(program.result));
  return f;
}
