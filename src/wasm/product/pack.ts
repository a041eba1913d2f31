/**
 * Copies between matrices as they lie and lanes as the micro-kernel wants them, converting dtypes on the way: `pack`
 * makes panels, `store` writes finished sums.
 *
 * A panel holds, for each p < k, `width` lanes side by side: panel[p·width + i] = src[i·strideI + p·strideK], with
 * zeros where i ≥ count. A packed as rows of a, b as columns of b: one function serves both, from any strides.
 */
import { type DType, dtypes } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import { Builder } from "../../ir/build.ts";
import { optimize } from "../../optimize/pipeline.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { boolMask, loadLanes, packed, storeLanes } from "../program/memory.ts";
import { type CodeContext, loadScalar, ScalarCode, storeScalar } from "../program/scalar.ts";
import { transpose32, transpose64 } from "../program/transpose.ts";
import { VectorCode } from "../program/vector.ts";
import { bump, type LaneRow, repeat } from "./lanes.ts";

/** Four elements of one dtype → four of another; constants are set once, where the converter is made. */
export class Converter {
  readonly #f: FuncBuilder;
  readonly #context: CodeContext;
  readonly #scalar: ScalarCode;
  readonly #vector: VectorCode;
  /** What memory holds: 16-bit integers for half floats. */
  readonly from: DType;
  readonly to: DType;

  constructor(f: FuncBuilder, from: DType, to: DType) {
    const b = new Builder();
    const cast = b.finish(b.cast(to, b.input(0, from)), [from]);
    const program = from === to ? cast : optimize(cast, { fma: false });
    this.#f = f;
    this.#context = { f, program, fma: false, slow: (name) => unreachable(`no slow function ${name}`) };
    this.#scalar = new ScalarCode(this.#context);
    this.#vector = new VectorCode(this.#context);
    this.from = program.inputs[0];
    this.to = program.dtype;
    program.nodes.forEach((node, id) => {
      if (node.op !== "const") return;
      this.#scalar.emit(id, () => {});
      this.#vector.splat(id, null);
    });
  }

  /** The element at `at` + offset, converted. */
  scalar(at: Local, offset = 0): Local {
    const { program } = this.#context;
    program.nodes.forEach((node, id) => {
      if (node.op !== "const") this.#scalar.emit(id, () => loadScalar(this.#f.get(at), this.from, offset));
    });
    return this.#scalar.value(program.result);
  }

  /** Four elements side by side: one register, or two of 64-bit lanes. Booleans come out as masks. */
  vector(at: Local, offset: number): readonly Local[] {
    const { program } = this.#context;
    const f = this.#f;
    program.nodes.forEach((node, id) => {
      if (node.op === "const") return;
      if (node.op !== "input") {
        this.#vector.emit(id);
        return;
      }
      const count = dtypes[this.from].bytes === 8 ? 2 : 1;
      this.#vector.define(
        id,
        Array.from({ length: count }, (_, r) => {
          const reg = f.local("v128");
          loadLanes(f.get(at), this.from, offset + 16 * r);
          boolMask(f, this.from);
          f.set(reg);
          return reg;
        }),
      );
    });
    return this.to === "bool" ? this.#vector.mask(program.result, false) : this.#vector.regs(program.result);
  }
}

/** pack(dst, src, strideI, strideK, count, k): all panels of `count` rows. `partial`: never as many as the width. */
export function emitPack(
  m: ModuleBuilder,
  name: string,
  from: DType,
  to: DType,
  lane: LaneRow,
  width: number,
  partial = width < 2,
): FuncBuilder {
  const panel = emitPanel(m, `${name}Panel`, from, to, lane, width, partial);
  const f = m.func(
    name,
    { dst: "i32", src: "i32", strideI: "i32", strideK: "i32", count: "i32", k: "i32" },
    [],
    { export: true },
  );
  const [dst, src, strideI, strideK, count, k] = f.params;
  f.block((done) => {
    f.loop((next) => {
      f.get(count).i32(0).op("i32.le_s").brIf(done);
      f.get(dst).get(src).get(strideI).get(strideK);
      f.get(count).i32(width).get(count).i32(width).op("i32.lt_s").select();
      f.get(k).call(panel);
      f.get(dst)
        .get(k)
        .i32(width * lane.bytes)
        .op("i32.mul")
        .op("i32.add")
        .set(dst);
      f.get(src).get(strideI).i32(width).op("i32.mul").op("i32.add").set(src);
      bump(f, count, -width);
      f.br(next);
    });
  });
  return f;
}

function emitPanel(
  m: ModuleBuilder,
  name: string,
  from: DType,
  to: DType,
  lane: LaneRow,
  width: number,
  partial: boolean,
): FuncBuilder {
  const f = m.func(name, {
    dst: "i32",
    src: "i32",
    strideI: "i32",
    strideK: "i32",
    count: "i32",
    k: "i32",
  });
  const [, , strideI, strideK, count] = f.params;
  const itemBytes = dtypes[from].bytes;
  const converter = new Converter(f, from, to);
  if (!partial) {
    f.get(count)
      .i32(width)
      .op("i32.eq")
      .if(() => {
        const stepsBy = (stride: Local) => f.get(stride).i32(itemBytes).op("i32.eq");
        stepsBy(strideI).if(() => {
          packAlong(f, converter, lane, width);
          f.return();
        });
        stepsBy(strideK).if(() => {
          packAcross(f, converter, lane, width);
          f.return();
        });
      });
  }
  packAny(f, converter, lane, width);
  return f;
}

/** The panel's lanes lie side by side: one run for each p. */
function packAlong(f: FuncBuilder, converter: Converter, lane: LaneRow, width: number): void {
  const [dst, src, , strideK, , k] = f.params;
  const itemBytes = dtypes[converter.from].bytes;
  const whole = width - (width % 4);
  repeat(f, k, () => {
    const regs: Local[] = [];
    for (let i = 0; i < whole; i += 4) regs.push(...converter.vector(src, i * itemBytes));
    for (let j = regs.length - 1; j >= 0; j--)
      f.get(dst)
        .get(regs[j])
        .store("v128.store", 16 * j, 4);
    for (let i = whole; i < width; i++) {
      const x = converter.scalar(src, i * itemBytes);
      f.get(dst)
        .get(x)
        .store(lane.scalar.store, i * lane.bytes);
    }
    bump(f, src, strideK);
    bump(f, dst, width * lane.bytes);
  });
}

/** The steps of k lie side by side: blocks of 4 (at the end 1 to 3) rows × 4 steps are turned in registers. */
function packAcross(f: FuncBuilder, converter: Converter, lane: LaneRow, width: number): void {
  const [dst, src, strideI, , , k] = f.params;
  const itemBytes = dtypes[converter.from].bytes;
  const pointers = [0, 1, 2, 3].map((r) => f.local("i32", `row${r}`));
  const next = f.local("i32", "nextRow");
  const out = f.local("i32", "out");
  const left = f.local("i32", "left");
  f.get(src).set(next);
  for (let g = 0; g < width; g += 4) {
    const rows = pointers.slice(0, Math.min(4, width - g));
    for (const row of rows) {
      f.get(next).tee(row).get(strideI).op("i32.add").set(next);
    }
    f.get(dst)
      .i32(g * lane.bytes)
      .op("i32.add")
      .set(out)
      .get(k)
      .set(left);
    f.get(left)
      .i32(4)
      .op("i32.ge_s")
      .if(() => {
        f.loop((again) => {
          const loaded = rows.map((row) => converter.vector(row, 0));
          const columns = [0, 1, 2, 3].map((r) => loaded[r % loaded.length]);
          const turned =
            lane.bytes === 4
              ? transpose32(
                  f,
                  columns.map(([c]) => c),
                )
              : transpose64(f, columns);
          const perStep = lane.bytes / 4;
          for (let p = 0; p < 4; p++) {
            const offset = p * width * lane.bytes;
            for (let h = perStep - 1; h >= 0; h--) {
              const bytes = rows.length * lane.bytes - 16 * h;
              if (bytes <= 0) continue;
              storePart(f, out, turned[p * perStep + h], Math.min(16, bytes), offset + 16 * h);
            }
          }
          for (const row of rows) bump(f, row, 4 * itemBytes);
          bump(f, out, 4 * width * lane.bytes);
          f.get(left).i32(4).op("i32.sub").tee(left).i32(4).op("i32.ge_s").brIf(again);
        });
      });
    repeat(f, left, () => {
      rows.forEach((row, r) => {
        const x = converter.scalar(row);
        f.get(out)
          .get(x)
          .store(lane.scalar.store, r * lane.bytes, lane.bytes);
        bump(f, row, itemBytes);
      });
      bump(f, out, width * lane.bytes);
    });
  }
}

/** The first 4, 8, 12 or 16 bytes of a register. */
function storePart(f: FuncBuilder, at: Local, reg: Local, bytes: number, offset: number): void {
  f.get(at).get(reg);
  if (bytes === 16) f.store("v128.store", offset, 4);
  else if (bytes === 4) f.storeLane("v128.store32_lane", 0, offset, 4);
  else f.storeLane("v128.store64_lane", 0, offset, 4);
  if (bytes === 12)
    f.get(at)
      .get(reg)
      .storeLane("v128.store32_lane", 2, offset + 8, 4);
}

/** Element by element, from any strides; lanes that are not there become 0. */
function packAny(f: FuncBuilder, converter: Converter, lane: LaneRow, width: number): void {
  const [dst, src, strideI, strideK, count, k] = f.params;
  const at = f.local("i32", "at");
  const out = f.local("i32", "to");
  const zeros = f.local("i32", "zeros");
  f.i32(width).get(count).op("i32.sub").set(zeros);
  const column = (element: () => void) => {
    f.get(dst).set(out);
    repeat(f, k, () => {
      element();
      bump(f, out, width * lane.bytes);
    });
    bump(f, dst, lane.bytes);
  };
  repeat(f, count, () => {
    f.get(src).set(at);
    column(() => {
      const x = converter.scalar(at);
      f.get(out).get(x).store(lane.scalar.store, 0, lane.bytes);
      bump(f, at, strideK);
    });
    bump(f, src, strideI);
  });
  repeat(f, zeros, () => {
    column(() => {
      f.get(out);
      if (lane.bytes === 4) f.i32(0).store("i32.store", 0, 4);
      else f.i64(0).store("i64.store", 0, 8);
    });
  });
}

/** store(dst, dstRow, dstColumn, src, srcRow, rows, columns): lanes → elements of the output. */
export function emitStore(m: ModuleBuilder, from: DType, to: DType, lane: LaneRow): FuncBuilder {
  const row = emitStoreRow(m, from, to, lane);
  const f = m.func(
    "store",
    {
      dst: "i32",
      dstRow: "i32",
      dstColumn: "i32",
      src: "i32",
      srcRow: "i32",
      rows: "i32",
      columns: "i32",
    },
    [],
    { export: true },
  );
  const [dst, dstRow, dstColumn, src, srcRow, rows, columns] = f.params;
  repeat(f, rows, () => {
    f.get(dst).get(dstColumn).get(src).get(columns).call(row);
    bump(f, dst, dstRow);
    bump(f, src, srcRow);
  });
  return f;
}

function emitStoreRow(m: ModuleBuilder, from: DType, to: DType, lane: LaneRow): FuncBuilder {
  const f = m.func("storeRow", { dst: "i32", step: "i32", src: "i32", n: "i32" });
  const [dst, step, src, n] = f.params;
  const converter = new Converter(f, from, to);
  const itemBytes = dtypes[to].bytes;
  f.get(step)
    .i32(itemBytes)
    .op("i32.eq")
    .get(n)
    .i32(4)
    .op("i32.ge_s")
    .op("i32.and")
    .if(() => {
      f.loop((next) => {
        const regs = converter.vector(src, 0).map((reg) => packed(f, converter.to, reg));
        const count = itemBytes === 8 ? 2 : 1;
        for (let r = count - 1; r >= 0; r--)
          storeLanes(f.get(dst).get(regs[r % regs.length]), converter.to, 16 * r);
        bump(f, dst, 4 * itemBytes);
        bump(f, src, 4 * lane.bytes);
        f.get(n).i32(4).op("i32.sub").tee(n).i32(4).op("i32.ge_s").brIf(next);
      });
    });
  repeat(f, n, () => {
    const x = converter.scalar(src);
    storeScalar(f.get(dst).get(x), converter.to);
    bump(f, dst, step);
    bump(f, src, lane.bytes);
  });
  return f;
}
