/**
 * From Code to a module: scalar WebAssembly with every access checked. `run` takes the address of a descriptor (layout.ts).
 *
 * A check is a comparison and, where it fails, two stores and a trap, in line. Innermost loops inside of loops are
 * functions of their own: V8 replaces a function's first, slow code only between calls.
 */
import { type DType, dtypes } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import { storedAs } from "../optimize/storage.ts";
import type { FuncBuilder, Label, Local, ModuleBuilder } from "../wasm/assembler/assembler.ts";
import type { ValType } from "../wasm/assembler/opcodes.ts";
import { heapModule } from "../wasm/kit.ts";
import { lifetimesOf } from "../wasm/program/lifetimes.ts";
import { loadScalar, pushConst, ScalarCode, storeScalar } from "../wasm/program/scalar.ts";
import { slowFunctions } from "../wasm/program/slow.ts";
import type { ArrayInfo, Code, Expression, LanesStep, Step } from "./ir.ts";
import { lowered } from "./lanes.ts";
import { AXES, FAILURE, type Layout, layoutOf } from "./layout.ts";
import { type Outlined, outlinedLoops } from "./outline.ts";
import { emitLanes, type ScalarSide } from "./simd.ts";

export interface EmitOptions {
  /** The heap is shared memory. */
  readonly shared: boolean;
}

export function emitCode(code: Code, { shared }: EmitOptions): ModuleBuilder {
  const module = heapModule(shared);
  new Emitter(code, module).run();
  return module;
}

const laneOf = (dtype: DType): ValType => dtypes[dtype].lane;

/** An array's words, as locals of the function that uses it. */
interface ArrayLocals {
  /** Null: it lies in the descriptor, `offset` bytes from its start. */
  readonly address: Local | null;
  readonly offset: number;
  readonly sizes: readonly Local[];
  readonly strides: readonly Local[];
}

/** A function under construction, and where it has everything. */
interface Context {
  readonly f: FuncBuilder;
  /** The descriptor. */
  readonly d: Local;
  readonly locals: Map<number, Local>;
  readonly arrays: Map<number, ArrayLocals>;
  readonly labels: Label[];
}

class Emitter {
  readonly #code: Code;
  readonly #module: ModuleBuilder;
  readonly #layout: Layout;
  readonly #outlined: ReadonlyMap<Step, Outlined>;
  #loops = 0;

  constructor(code: Code, module: ModuleBuilder) {
    this.#code = code;
    this.#module = module;
    this.#layout = layoutOf(code);
    this.#outlined = outlinedLoops(code);
  }

  run(): void {
    const code = this.#code;
    const layout = this.#layout;
    const f = this.#module.func("run", { d: "i32" }, [], { export: true });
    const [d] = f.params;
    const context: Context = { f, d, locals: new Map(), arrays: new Map(), labels: [] };
    const word = (at: number, name: string): Local => {
      const local = f.local("i32", name);
      f.get(d).load("i32.load", at).set(local);
      return local;
    };
    code.arrays.forEach((array, k) => {
      const at = layout.arrays[k];
      const isOwn = array.argument === null;
      context.arrays.set(k, {
        address: isOwn ? null : word(at.address, array.name),
        offset: isOwn ? at.address : 0,
        sizes: at.sizes.map((s, i) => word(s, `${array.name}.shape${i}`)),
        strides: at.strides.map((s, i) => word(s, `${array.name}.stride${i}`)),
      });
    });
    code.scalars.forEach(({ local }, k) => {
      const { dtype } = code.locals[local];
      loadScalar(f.get(d), dtype, layout.scalars[k]).set(this.#local(context, local));
    });
    for (const { local, array, axis } of code.sizes) {
      const at = layout.arrays[array];
      f.get(d)
        .load("i32.load", axis === "size" ? at.size : at.sizes[axis])
        .set(this.#local(context, local));
    }
    for (const { local, array, word } of code.words) {
      const at = layout.arrays[array];
      f.get(d)
        .load("i32.load", word === "address" ? at.address : at.strides[word])
        .set(this.#local(context, local));
    }
    this.#steps(context, code.body);
  }

  #local(context: Context, id: number): Local {
    let local = context.locals.get(id);
    if (local === undefined) {
      const { name, dtype } = this.#code.locals[id];
      local = context.f.local(laneOf(dtype), name || null);
      context.locals.set(id, local);
    }
    return local;
  }

  /* Steps ------------------------------------------------------------------------------------------------ */

  #steps(context: Context, steps: readonly Step[]): void {
    for (const step of steps) {
      const outlined = this.#outlined.get(step);
      if (outlined === undefined) this.#step(context, step);
      else this.#callOutlined(context, step, outlined);
    }
  }

  #step(context: Context, step: Step): void {
    const { f, d, labels } = context;
    switch (step.op) {
      case "set":
        this.#push(context, step.value);
        f.set(this.#local(context, step.local));
        return;
      case "load":
        this.#load(context, step);
        return;
      case "store":
        this.#store(context, step);
        return;
      case "if":
        this.#if(context, step);
        return;
      case "block":
      case "loop":
        f[step.op]((label) => {
          labels.push(label);
          this.#steps(context, step.body);
          labels.pop();
        });
        return;
      case "lanes":
        this.#lanes(context, step);
        return;
      case "break":
        f.br(this.#label(context, step.depth));
        return;
      case "return":
        step.values.forEach((value, i) => {
          f.get(d);
          this.#push(context, value);
          storeScalar(f, value.program.dtype, this.#layout.results[i]);
        });
        f.return();
    }
  }

  #label({ labels }: Context, depth: number): Label {
    return labels[labels.length - 1 - depth] ?? unreachable(`njit: no label ${depth} levels out`);
  }

  #if(context: Context, { test, yes, no }: Step & { op: "if" }): void {
    const { f } = context;
    this.#push(context, test);
    const [a, b] = [yes[0], no[0]];
    if (yes.length === 1 && no.length === 0 && a.op === "break") f.brIf(this.#label(context, a.depth));
    else if (yes.length === 0 && no.length === 1 && b.op === "break") {
      f.op("i32.eqz").brIf(this.#label(context, b.depth));
    } else if (yes.length === 0) {
      f.op("i32.eqz").if(() => this.#steps(context, no));
    } else {
      const otherwise = no.length === 0 ? undefined : () => this.#steps(context, no);
      f.if(() => this.#steps(context, yes), otherwise);
    }
  }

  /* Elements --------------------------------------------------------------------------------------------- */

  #load(context: Context, step: Step & { op: "load" }): void {
    const { f } = context;
    const { dtype } = this.#code.arrays[step.array];
    const to = this.#code.locals[step.local].dtype;
    const local = this.#local(context, step.local);
    const offset = this.#address(context, step);
    if (storedAs(dtype) === dtype && laneOf(dtype) === laneOf(to) && (to === "bool") === (dtype === "bool")) {
      loadScalar(f, dtype, offset).set(local);
      return;
    }
    loadScalar(f, storedAs(dtype), offset);
    const raw = f.temp(laneOf(storedAs(dtype)));
    f.set(raw);
    this.#emitProgram(context, conversion(dtype, to), () => f.get(raw));
    f.set(local).release(raw);
  }

  #store(context: Context, step: Step & { op: "store" }): void {
    const { f } = context;
    const { dtype } = this.#code.arrays[step.array];
    const value = f.temp(laneOf(storedAs(dtype)));
    this.#push(context, step.value);
    f.set(value);
    const offset = this.#address(context, step);
    storeScalar(f.get(value), storedAs(dtype), offset).release(value);
  }

  /** Leaves the address on the stack, and gives what is still to be added: base + Σ index·stride, each index checked. */
  #address(context: Context, step: Step & { op: "load" | "store" }): number {
    const { f, d } = context;
    const info = this.#code.arrays[step.array];
    const array = context.arrays.get(step.array) ?? unreachable(`njit: array ${step.array} is not here`);
    const indices = step.index.map((index, axis) =>
      step.proved[axis]
        ? this.#provedIndex(context, index)
        : this.#index(context, index, step.site, axis, info, array),
    );
    f.get(array.address ?? d);
    indices.forEach((index, axis) => {
      f.get(index);
      if (info.unit && axis === info.rank - 1) {
        const shift = Math.log2(dtypes[info.dtype].bytes);
        if (shift > 0) f.i32(shift).op("i32.shl");
      } else f.get(array.strides[axis]).op("i32.mul");
      f.op("i32.add").release(index);
    });
    return array.offset;
  }

  #provedIndex(context: Context, index: Expression): Local {
    const { f } = context;
    const whole = f.temp("i32");
    this.#push(context, index);
    f.set(whole);
    return whole;
  }

  /** The index as a whole number below the axis' size, or a trap. */
  #index(
    context: Context,
    index: Expression,
    site: number,
    axis: number,
    info: ArrayInfo,
    array: ArrayLocals,
  ): Local {
    const { f } = context;
    const { dtype } = index.program;
    const whole = f.temp("i32");
    this.#push(context, index);
    const size = () => (info.argument === null ? f.i32(info.length) : f.get(array.sizes[axis]));
    if (dtype === "i32") {
      f.tee(whole);
      size()
        .op("i32.ge_u")
        .if(() => this.#fail(context, site, axis, () => f.get(whole).op("f64.convert_i32_s")));
      return whole;
    }
    if (dtype === "i64") {
      const wide = f.temp("i64");
      f.tee(wide).op("i32.wrap_i64").set(whole);
      f.get(wide);
      size().op("i64.extend_i32_u").op("i64.ge_u");
      f.if(() => this.#fail(context, site, axis, () => f.get(wide).op("f64.convert_i64_s"))).release(wide);
      return whole;
    }
    const given = f.temp("f64");
    if (dtype === "f32") f.op("f64.promote_f32");
    f.tee(given).op("i32.trunc_sat_f64_u").tee(whole);
    size().op("i32.ge_u").get(whole).op("f64.convert_i32_u").get(given).op("f64.ne").op("i32.or");
    f.if(() => this.#fail(context, site, axis, () => f.get(given))).release(given);
    return whole;
  }

  #fail({ f, d }: Context, site: number, axis: number, index: () => void): void {
    f.get(d)
      .i32((site + 1) * AXES + axis)
      .store("i32.store", FAILURE.site);
    f.get(d);
    index();
    f.store("f64.store", FAILURE.index).unreachable();
  }

  /* Expressions ------------------------------------------------------------------------------------------ */

  /** Leaves the value on the stack. */
  #push(context: Context, { program, locals }: Expression): void {
    const { f } = context;
    const last = program.nodes[program.result];
    if (last.op === "input") f.get(this.#local(context, locals[last.index]));
    else if (last.op === "const" && storedAs(last.dtype) === last.dtype) pushConst(f, last.dtype, last.value);
    else this.#emitProgram(context, program, (k) => f.get(this.#local(context, locals[k])));
  }

  #emitProgram({ f }: Context, program: Program, pushInput: (k: number) => void): void {
    const optimized = lowered(program);
    const { nodes, result } = optimized;
    const levels = nodes.map(() => 0);
    const slow = slowFunctions(this.#module);
    const code = new ScalarCode({ f, program: optimized, fma: false, slow }, lifetimesOf(optimized, levels));
    nodes.forEach((_, id) => {
      code.emit(id, (node) => (node.op === "input" ? pushInput(node.index) : unreachable("njit: a param")));
    });
    const local = code.value(result);
    f.get(local).release(local);
  }

  /* Lanes ------------------------------------------------------------------------------------------------- */

  #lanes(context: Context, step: LanesStep): void {
    const { f } = context;
    const side: ScalarSide = {
      f,
      slow: slowFunctions(this.#module),
      local: (id) => this.#local(context, id),
      push: (e) => this.#push(context, e),
      address: (access) => this.#address(context, access),
      stride: (array, axis) => this.#stride(context, array, axis),
      step: (inner) => this.#step(context, inner),
    };
    emitLanes(side, this.#code, step);
  }

  #stride({ f, arrays }: Context, array: number, axis: number): void {
    const info = this.#code.arrays[array];
    if (info.unit && axis === info.rank - 1) f.i32(dtypes[info.dtype].bytes);
    else f.get(arrays.get(array)!.strides[axis]);
  }

  /* Loops of their own ----------------------------------------------------------------------------------- */

  #callOutlined(context: Context, step: Step, { params, results, arrays }: Outlined): void {
    const { f } = context;
    const { locals } = this.#code;
    const words = arrays.flatMap((k) => arrayWords(context.arrays.get(k)!));
    const types: [string, ValType][] = [
      ["d", "i32"],
      ...params.map((id, i): [string, ValType] => [
        `${locals[id].name || "p"}${i}`,
        laneOf(locals[id].dtype),
      ]),
      ...words.map((w, i): [string, ValType] => [`w${i}`, w.type]),
    ];
    const inner = this.#module.func(
      `loop${this.#loops++}`,
      types,
      results.map((id) => laneOf(locals[id].dtype)),
    );
    const [d, ...rest] = inner.params;
    const own: Context = { f: inner, d, locals: new Map(), arrays: new Map(), labels: [] };
    params.forEach((id, i) => {
      own.locals.set(id, rest[i]);
    });
    let at = params.length;
    for (const k of arrays) {
      const { address, offset, sizes, strides } = context.arrays.get(k)!;
      own.arrays.set(k, {
        address: address === null ? null : rest[at++],
        offset,
        sizes: sizes.map(() => rest[at++]),
        strides: strides.map(() => rest[at++]),
      });
    }
    this.#step(own, step);
    for (const id of results) inner.get(this.#local(own, id));

    f.get(context.d);
    for (const id of params) f.get(this.#local(context, id));
    for (const w of words) f.get(w);
    f.call(inner);
    for (const id of results.toReversed()) f.set(this.#local(context, id));
  }
}

const arrayWords = ({ address, sizes, strides }: ArrayLocals): Local[] => [
  ...(address === null ? [] : [address]),
  ...sizes,
  ...strides,
];

/** An element of one dtype as another. */
function conversion(from: DType, to: DType): Program {
  const b = new Builder();
  return b.finish(b.cast(to, b.input(0, from)), [from]);
}
