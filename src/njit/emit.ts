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
import type {
  Callable,
  FuncBuilder,
  Global,
  Label,
  Local,
  ModuleBuilder,
} from "../wasm/assembler/assembler.ts";
import type { ValType } from "../wasm/assembler/opcodes.ts";
import { heapModule } from "../wasm/kit.ts";
import { lifetimesOf } from "../wasm/program/lifetimes.ts";
import { loadScalar, pushConst, ScalarCode, storeScalar } from "../wasm/program/scalar.ts";
import { slowFunctions } from "../wasm/program/slow.ts";
import { cutLongLoops } from "./chunks.ts";
import { combination, identityOf } from "./forks.ts";
import {
  type ArrayInfo,
  type Code,
  CUTS,
  type Expression,
  eachStep,
  expressionsOf,
  type ForkStep,
  insides,
  isLoopBlock,
  jumpsTo,
  type LanesStep,
  type LoopBlock,
  type LoopStep,
  type Step,
} from "./ir.ts";
import { loweredScalar } from "./lanes.ts";
import { AXES, ENDS, FAILURE, HEAD, type Layout, layoutOf, TASK } from "./layout.ts";
import { type Outlined, outlinedLoops } from "./outline.ts";
import { emitLanes, type ScalarSide } from "./simd.ts";

export interface EmitOptions {
  /** The heap is shared memory. */
  readonly shared: boolean;
  /** Loops ask again and again whether they are to go on. */
  readonly guarded?: boolean;
}

/**
 * The call: `run` takes a descriptor. Where there are forks, it calls the import `fork` with the number of the fork, how many
 * turns there are and whether they must run in order; `task` takes a task of a fork (layout.ts). Where it is guarded, it calls
 * the import `pulse` now and then, which says after how many more questions it wants to be called.
 */
export function emitCode(code: Code, options: EmitOptions): ModuleBuilder {
  const module = heapModule(options.shared);
  new Emitter(code, module, options).call();
  return module;
}

/** The tasks of forks alone, for other threads: `run` takes a task. */
export function emitTasks(code: Code, options: EmitOptions): ModuleBuilder {
  const module = heapModule(options.shared);
  new Emitter(code, module, options).tasks("run");
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
  /** It does a task of a fork: `d` is the task. */
  readonly isTask: boolean;
}

class Emitter {
  readonly #code: Code;
  readonly #module: ModuleBuilder;
  readonly #layout: Layout;
  readonly #outlined: ReadonlyMap<Step, Outlined>;
  #loops = 0;
  readonly #options: EmitOptions;
  #fork: Callable | null = null;
  #pulse: { readonly call: Callable; readonly left: Global } | null = null;

  constructor(code: Code, module: ModuleBuilder, options: EmitOptions) {
    this.#code = cutLongLoops(code);
    this.#module = module;
    this.#options = options;
    this.#layout = layoutOf(this.#code);
    this.#outlined = outlinedLoops(this.#code);
  }

  call(): void {
    const hasForks = this.#layout.forks.length > 0;
    if (hasForks) this.#fork = this.#module.importFunc("e", "fork", ["i32", "i32", "i32"], []);
    if (this.#options.guarded) {
      const call = this.#module.importFunc("e", "pulse", [], ["i32"]);
      this.#pulse = { call, left: this.#module.global("i32", true, 1, { name: "left" }) };
    }
    const f = this.#module.func("run", { d: "i32" }, [], { export: true });
    const [d] = f.params;
    const context: Context = { f, d, locals: new Map(), arrays: new Map(), labels: [], isTask: false };
    this.#arguments(context, d, this.#code.body, null);
    this.#steps(context, this.#code.body);
    if (hasForks) this.tasks("task");
  }

  /** Arrays, scalars and sizes that the steps mention, from the call's descriptor. */
  #arguments(
    context: Context,
    d: Local,
    steps: readonly Step[],
    own: ReadonlyMap<number, number> | null,
  ): void {
    const { f } = context;
    const code = this.#code;
    const layout = this.#layout;
    const [arrays, locals] = mentionsOf(steps);
    const word = (at: number, name: string): Local => {
      const local = f.local("i32", name);
      f.get(d).load("i32.load", at).set(local);
      return local;
    };
    code.arrays.forEach((array, k) => {
      if (!arrays.has(k)) return;
      const at = layout.arrays[k];
      const sizes = at.sizes.map((s, i) => word(s, `${array.name}.shape${i}`));
      const strides = at.strides.map((s, i) => word(s, `${array.name}.stride${i}`));
      let address: Local | null = null;
      if (array.argument !== null) address = word(at.address, array.name);
      else if (own !== null && !own.has(k)) {
        // The call's, not the task's.
        address = f.local("i32", array.name);
        f.get(d).i32(at.address).op("i32.add").set(address);
      }
      const offset = address === null ? (own?.get(k) ?? at.address) : 0;
      context.arrays.set(k, { address, offset, sizes, strides });
    });
    code.scalars.forEach(({ local }, k) => {
      if (!locals.has(local)) return;
      const { dtype } = code.locals[local];
      loadScalar(f.get(d), dtype, layout.scalars[k]).set(this.#local(context, local));
    });
    for (const { local, array, axis } of code.sizes) {
      if (!locals.has(local)) continue;
      const at = layout.arrays[array];
      f.get(d)
        .load("i32.load", axis === "size" ? at.size : at.sizes[axis])
        .set(this.#local(context, local));
    }
    for (const { local, array, word } of code.words) {
      if (!locals.has(local)) continue;
      const at = layout.arrays[array];
      f.get(d)
        .load("i32.load", word === "address" ? at.address : at.strides[word])
        .set(this.#local(context, local));
    }
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
        if (isLoopBlock(step) && this.#turned(context, step)) return;
        f[step.op]((label) => {
          labels.push(label);
          if (step.op === "loop") this.#ask(context, step);
          this.#steps(context, step.body);
          labels.pop();
        });
        return;
      case "lanes":
        this.#lanes(context, step);
        return;
      case "fork":
        this.#callFork(context, step);
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

  /**
   * A loop that begins with its test, tested before it and at the end of each turn: one jump a turn less. Measured: turns with
   * branches gain by it (a histogram a third), the tightest loops lose (a sieve a tenth).
   */
  #turned(context: Context, { body: [loop] }: LoopBlock): boolean {
    const { f, labels } = context;
    const [first, ...rest] = loop.body;
    const last = rest.pop();
    if (first?.op !== "if" || first.yes.length > 0 || first.no.length !== 1) return false;
    const [leave] = first.no;
    if (leave.op !== "break" || leave.depth !== 1 || last?.op !== "break" || last.depth !== 0) return false;
    if (jumpsTo(rest, 0) || !rest.some((s) => insides(s).length > 0)) return false;
    f.block((out) => {
      labels.push(out);
      this.#push(context, first.test);
      f.op("i32.eqz").brIf(out);
      f.loop((again) => {
        labels.push(again);
        this.#ask(context, loop);
        this.#steps(context, rest);
        this.#push(context, first.test);
        f.brIf(again);
        labels.pop();
      });
      labels.pop();
    });
    return true;
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
    this.#emitProgram(context, conversion(dtype, to), () => raw);
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

  #fail({ f, d, isTask }: Context, site: number, axis: number, index: () => void): void {
    f.get(d)
      .i32((site + 1) * AXES + axis)
      .store("i32.store", FAILURE.site);
    f.get(d);
    index();
    f.store("f64.store", FAILURE.index);
    // Cuts after this task's need not run. Two that fail may both write here: each leaves those before it to run.
    if (isTask) {
      f.get(d).load("i32.load", TASK.d).get(d).load("i32.load", TASK.from);
      f.store(this.#options.shared ? "i32.atomic.store" : "i32.store", HEAD.stop);
    }
    f.unreachable();
  }

  /* Forks ------------------------------------------------------------------------------------------------ */

  /** Tells whoever runs the tasks, waits for them, and combines what they have added up. */
  #callFork(context: Context, step: ForkStep): void {
    const { f, d } = context;
    const number = this.#layout.forks.findIndex((k) => k.step === step);
    const { params } = this.#layout.forks[number];
    const counter = this.#local(context, step.counter);
    const end = f.temp("i32");
    const turns = f.temp("i32");
    this.#push(context, step.end);
    f.tee(end).get(counter).op("i32.gt_s");
    f.if(() => {
      for (const { local, at } of params) {
        f.get(d).get(this.#local(context, local));
        storeScalar(f, this.#code.locals[local].dtype, at);
      }
      // ⌈(end - counter) / step⌉, which 32 bits without a sign hold.
      f.get(end).get(counter).op("i32.sub").i32(1).op("i32.sub").i32(step.step).op("i32.div_u");
      f.i32(1).op("i32.add").set(turns);
      f.i32(number).get(turns);
      if (step.inOrder === null) f.i32(0);
      else this.#push(context, step.inOrder);
      f.call(this.#fork ?? unreachable("njit: a fork inside of a task"));
      if (step.reductions.length > 0) this.#combine(context, step, turns);
    });
    f.release(end).release(turns);
  }

  #combine(context: Context, { reductions }: ForkStep, turns: Local): void {
    const { f, d } = context;
    const at = f.temp("i32");
    const left = f.temp("i32");
    f.get(d).load("i32.load", HEAD.partials).set(at);
    this.#cuts(f, turns).set(left);
    f.loop((next) => {
      reductions.forEach(({ local, op }, k) => {
        const { dtype } = this.#code.locals[local];
        const sum = this.#local(context, local);
        const partial = f.temp(laneOf(dtype));
        loadScalar(f.get(at), dtype, 8 * k).set(partial);
        this.#emitProgram(context, combination(op, dtype), (i) => (i === 0 ? sum : partial));
        f.set(sum).release(partial);
      });
      f.get(at)
        .i32(8 * reductions.length)
        .op("i32.add")
        .set(at);
      f.get(left).i32(1).op("i32.sub").tee(left).brIf(next);
    });
    f.release(at).release(left);
  }

  /** Into how many cuts so many turns are cut: leaves it on the stack. */
  #cuts(f: FuncBuilder, turns: Local): FuncBuilder {
    return f.get(turns).i32(CUTS).get(turns).i32(CUTS).op("i32.lt_u").select();
  }

  /** One function for each fork, and one that finds it. */
  tasks(name: string): void {
    const tasks = this.#layout.forks.map((_, k) => this.#task(k));
    const f = this.#module.func(name, { t: "i32" }, [], { export: true });
    const [t] = f.params;
    tasks.forEach((task, k) => {
      f.get(t).load("i32.load", TASK.fork).i32(k).op("i32.eq");
      f.if(() => f.get(t).call(task).return());
    });
  }

  /** The cuts of a task, one after another. */
  #task(number: number): FuncBuilder {
    const { step, params, own } = this.#layout.forks[number];
    const { locals } = this.#code;
    const f = this.#module.func(`task${number}`, { t: "i32" });
    const [t] = f.params;
    const context: Context = { f, d: t, locals: new Map(), arrays: new Map(), labels: [], isTask: true };
    const word = (at: number, label: string): Local => {
      const local = f.local("i32", label);
      f.get(t).load("i32.load", at).set(local);
      return local;
    };
    const d = word(TASK.d, "d");
    const cut = word(TASK.from, "cut");
    const last = word(TASK.to, "last");
    const turns = word(TASK.turns, "turns");
    const cuts = f.local("i32", "cuts");
    this.#cuts(f, turns).set(cuts);
    this.#arguments(context, d, step.body, own);
    for (const { local, at } of params) {
      loadScalar(f.get(d), locals[local].dtype, at).set(this.#local(context, local));
    }
    const [counter, limit] = [this.#local(context, step.counter), this.#local(context, step.limit)];
    const start = f.local("i32", "start");
    f.get(counter).set(start);
    /** start + step·⌊c·turns/cuts⌋ */
    const bound = (more: number) => {
      f.get(cut).op("i64.extend_i32_u");
      if (more > 0) f.i64(more).op("i64.add");
      f.get(turns).op("i64.extend_i32_u").op("i64.mul").get(cuts).op("i64.extend_i32_u").op("i64.div_u");
      f.op("i32.wrap_i64").i32(step.step).op("i32.mul").get(start).op("i32.add");
    };
    const partial = f.local("i32", "partial");
    f.loop((next) => {
      this.#beat(context, cut);
      bound(0);
      f.set(counter);
      bound(1);
      f.set(limit);
      for (const { local, op } of step.reductions) {
        const { dtype } = locals[local];
        pushConst(f, dtype, identityOf(op, dtype)!);
        f.set(this.#local(context, local));
      }
      this.#steps(context, step.body);
      const count = step.reductions.length;
      if (count > 0) {
        f.get(d).load("i32.load", HEAD.partials);
        f.get(cut)
          .i32(8 * count)
          .op("i32.mul")
          .op("i32.add")
          .set(partial);
      }
      step.reductions.forEach(({ local }, k) => {
        f.get(partial).get(this.#local(context, local));
        storeScalar(f, locals[local].dtype, 8 * k);
      });
      f.get(cut).i32(1).op("i32.add").tee(cut).get(last).op("i32.lt_u").brIf(next);
    });
    f.get(t).i32(ENDS.done).store("i32.store", TASK.end);
    return f;
  }

  /** A sign of life; and an end, if the task's work is no longer wanted. */
  #beat({ f, d }: Context, cut: Local | null): void {
    const atomic = this.#options.shared;
    f.get(d).get(d).load("i32.load", TASK.beat).i32(1).op("i32.add").store("i32.store", TASK.beat);
    f.get(d)
      .load("i32.load", TASK.d)
      .load(atomic ? "i32.atomic.load" : "i32.load", HEAD.stop);
    if (cut === null) f.get(d).load("i32.load", TASK.from);
    else f.get(cut);
    f.op("i32.lt_s").if(() => f.get(d).i32(ENDS.stopped).store("i32.store", TASK.end).unreachable());
  }

  /**
   * At the start of each turn: is this still wanted? Tasks ask in loops around loops; guarded code asks there too, and in
   * loops whose end nobody can tell.
   */
  #ask(context: Context, loop: LoopStep): void {
    const { f, isTask } = context;
    const isOuter = loop.body.some(hasLoop);
    const asks = isOuter || (this.#options.guarded === true && !isBounded(loop));
    if (!asks) return;
    if (isTask) this.#beat(context, null);
    if (this.#pulse === null) return;
    const { call, left } = this.#pulse;
    // A call that was cancelled has left it at 0.
    f.get(left).i32(1).op("i32.sub").set(left);
    f.get(left)
      .i32(0)
      .op("i32.le_s")
      .if(() => f.call(call).set(left));
  }

  /* Expressions ------------------------------------------------------------------------------------------ */

  /** Leaves the value on the stack. */
  #push(context: Context, { program, locals }: Expression): void {
    const { f } = context;
    const last = program.nodes[program.result];
    if (last.op === "input") f.get(this.#local(context, locals[last.index]));
    else if (last.op === "const" && storedAs(last.dtype) === last.dtype) pushConst(f, last.dtype, last.value);
    else this.#emitProgram(context, program, (k) => this.#local(context, locals[k]));
  }

  /** Leaves the result on the stack. Inputs are in locals, which it only reads. */
  #emitProgram({ f }: Context, program: Program, input: (k: number) => Local): void {
    const optimized = loweredScalar(program);
    const { nodes, result } = optimized;
    const slow = slowFunctions(this.#module);
    const lifetimes = lifetimesOf(optimized);
    const code = new ScalarCode({ f, program: optimized, fma: false, slow }, lifetimes);
    for (let id = 0; id < result; id++) {
      const node = nodes[id];
      if (node.op === "input") code.use(id, input(node.index));
      else code.emit(id, () => unreachable("njit: a param"));
    }
    if (nodes[result].op === "input") code.use(result, input(nodes[result].index));
    code.push(result);
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
      size: (array, axis) => this.#size(context, array, axis),
      base: (array) => this.#base(context, array),
      step: (inner) => this.#step(context, inner),
      ask: (loop) => this.#ask(context, loop),
    };
    emitLanes(side, this.#code, step);
  }

  #stride({ f, arrays }: Context, array: number, axis: number): void {
    const info = this.#code.arrays[array];
    if (info.unit && axis === info.rank - 1) f.i32(dtypes[info.dtype].bytes);
    else f.get(arrays.get(array)!.strides[axis]);
  }

  #size({ f, arrays }: Context, array: number, axis: number): FuncBuilder {
    const { argument, length } = this.#code.arrays[array];
    return argument === null ? f.i32(length) : f.get(arrays.get(array)!.sizes[axis]);
  }

  #base({ f, d, arrays }: Context, array: number): number {
    const { address, offset } = arrays.get(array)!;
    f.get(address ?? d);
    return offset;
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
    const own: Context = {
      f: inner,
      d,
      locals: new Map(),
      arrays: new Map(),
      labels: [],
      isTask: context.isTask,
    };
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

/** The arrays and locals that steps mention. */
function mentionsOf(
  steps: readonly Step[],
): readonly [arrays: ReadonlySet<number>, locals: ReadonlySet<number>] {
  const [arrays, locals] = [new Set<number>(), new Set<number>()];
  eachStep(steps, (s) => {
    if (s.op === "load" || s.op === "store") arrays.add(s.array);
    for (const e of expressionsOf(s)) for (const l of e.locals) locals.add(l);
  });
  return [arrays, locals];
}

const hasLoop = (step: Step): boolean =>
  step.op === "loop" || step.op === "fork" || insides(step).some((list) => list.some(hasLoop));

/** Does its first step leave it when a 32-bit counter, which every turn moves by a number and nothing else sets, has come far enough? */
function isBounded({ body }: LoopStep): boolean {
  const [first] = body;
  if (first?.op !== "if" || first.no[0]?.op !== "break") return false;
  const { program, locals } = first.test;
  const { op, args } = program.nodes[program.result];
  if (!["lt", "le", "gt", "ge"].includes(op) || program.nodes[args[0]].dtype !== "i32") return false;
  return args.some((a) => {
    const node = program.nodes[a];
    if (node.op !== "input") return false;
    const counter = locals[node.index];
    const sets: Step[] = [];
    eachStep(body, (s) => {
      if ((s.op === "set" || s.op === "load") && s.local === counter) sets.push(s);
    });
    const [set] = sets;
    if (sets.length !== 1 || set.op !== "set" || !body.includes(set)) return false;
    const { nodes, result } = set.value.program;
    const by = nodes[result];
    const [x, c] = by.args.map((b) => nodes[b]);
    const isStep = (by.op === "add" || by.op === "sub") && c.op === "const" && c.value !== 0;
    return isStep && x.op === "input" && set.value.locals[x.index] === counter;
  });
}

/** An element of one dtype as another. */
function conversion(from: DType, to: DType): Program {
  const b = new Builder();
  return b.finish(b.cast(to, b.input(0, from)), [from]);
}
