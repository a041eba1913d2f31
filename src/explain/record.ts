/** Listens to the engine while a function runs and turns what it hears into steps: plain data, values included. */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { type Event, engine, type Seen } from "../engine.ts";
import type { Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import type { GemmPlan } from "../optimize/gemm.ts";
import { optimize } from "../optimize/pipeline.ts";
import { classLetters, type KernelPlan, layoutClass } from "../optimize/vectorize.ts";
import type { CompiledKernel } from "../run/kernel.ts";
import type { PoolStatus } from "../run/pool.ts";
import { sizeOf } from "../view/layout.ts";
import type { LoopNest } from "../view/loops.ts";
import { extent, isContiguous, type View } from "../view/view.ts";
import { detectFeatures } from "../wasm/features.ts";
import { disassemble } from "../wasm/wat.ts";
import type { Snapshot } from "./table.ts";

export interface OperandReport {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  readonly offset: number;
  /** How the innermost loop walks it. */
  readonly walk: "contiguous" | "broadcast" | "strided" | "reversed" | "transposed" | "any";
}

export interface KernelStep {
  readonly kind: "kernel";
  readonly operation: string;
  readonly form: string;
  readonly source: string;
  readonly backend: "wasm" | "interpreter" | "function";
  readonly operands: readonly OperandReport[];
  /** Loops before planning, and after axes were dropped, sorted and merged; outermost first. */
  readonly loops: { readonly before: readonly number[]; readonly after: readonly number[] };
  /** The program after each pass; empty where nothing was compiled. */
  readonly passes: readonly { readonly name: string; readonly text: string }[];
  readonly vector: { readonly lanes: number; readonly unroll: number; readonly tiled: boolean } | null;
  readonly layoutKey: string | null;
  /** What else there is to say of the code: the tile of a matrix product, the order of a fold. */
  readonly note: string | null;
  readonly threads: PoolStatus & { readonly shared: boolean };
  /** Milliseconds spent compiling, 0 when the kernel was known. */
  readonly compileTime: number;
  /** Milliseconds from the start of the operation to its end, compiling included. */
  readonly time: number;
  readonly bytes: number;
  readonly wat: string | null;
}
/** A copy that nobody asked for. */
export interface CopyStep {
  readonly kind: "copy";
  readonly operation: string;
  readonly bytes: number;
  readonly why: string;
}
/** A function that was called instead of compiled. */
export interface FallbackStep {
  readonly kind: "fallback";
  readonly operation: string;
  readonly why: string;
}
export type Step = KernelStep | CopyStep | FallbackStep;

/** What the tables need besides the step: the operands' values when they were read and written. */
export interface Trace {
  readonly form: string;
  readonly out: Snapshot;
  readonly inputs: readonly Snapshot[];
  readonly axes: readonly number[];
}

/** Larger operands are not copied for the tables. */
const MOST_BYTES = 1 << 22;

type Operation = Event & { kind: "operation" };

export class Recorder {
  readonly steps: Step[] = [];
  readonly traces = new Map<Step, Trace>();
  #pending: { event: Operation; inputs: Snapshot[]; start: number; compiled: number } | null = null;

  hear(event: Event): void {
    switch (event.kind) {
      case "operation":
        this.#pending = {
          event,
          inputs: event.inputs.map((t, i) => snapshot(inputName(event, i), t)),
          compiled: engine().kernels.compiled,
          start: performance.now(),
        };
        break;
      case "kernel":
        this.#kernel(event);
        break;
      default:
        this.steps.push(event);
    }
  }

  #kernel(event: Event & { kind: "kernel" }): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    const time = performance.now() - pending.start;
    const { out, inputs } = pending.event;
    const seen = [out, ...inputs];
    const nest = event.detail.nest as LoopNest | undefined;
    const compiled = event.detail.kernel as CompiledKernel | null | undefined;
    const kernel = event.detail.nest === undefined ? null : compiled;
    const plan = kernel?.plan;
    const isNew = engine().kernels.compiled > pending.compiled;
    const bytes = seen.reduce((sum, t) => sum + touched(t.frame), 0);
    const status = engine().pool.status();
    const step: KernelStep = {
      kind: "kernel",
      operation: event.operation,
      form: pending.event.form,
      source: pending.event.source,
      backend: event.backend,
      operands: seen.map((t, i) =>
        operandReport(i === 0 ? "out" : inputName(pending.event, i - 1), t, nest, i, plan),
      ),
      loops: loopsOf(pending.event, event.detail),
      passes: passesOf(event.detail.program as Program | undefined),
      vector:
        plan === undefined || plan.width === 0
          ? null
          : { lanes: plan.width, unroll: plan.unroll, tiled: plan.tiled },
      note: noteOf(event.detail),
      layoutKey: plan === undefined ? null : plan.classes.map((c) => classLetters[c]).join(""),
      threads: { ...status, shared: event.detail.parallel === true },
      compileTime: isNew && kernel ? kernel.compileTime : 0,
      time,
      bytes,
      wat: compiled?.bytes ? disassemble(compiled.bytes) : null,
    };
    this.steps.push(step);
    const { form, axes = [] } = pending.event;
    this.traces.set(step, { form, out: snapshot("out", out), inputs: pending.inputs, axes });
  }
}

/** Loops before and after planning; a fold's are those that stay and, last, those that go. */
function loopsOf(
  { form, out, inputs }: Operation,
  detail: Readonly<Record<string, unknown>>,
): KernelStep["loops"] {
  const nest = detail.nest as LoopNest | undefined;
  const kept = detail.kept as LoopNest | undefined;
  const folded = detail.folded as LoopNest | undefined;
  if (form === "reduce" && kept !== undefined && folded !== undefined) {
    return { before: inputs[0]?.frame.shape ?? [], after: [...kept.shape, ...folded.shape] };
  }
  if (form === "matmul") {
    const before = [...out.frame.shape, inputs[0].frame.shape.at(-1) ?? 1];
    return { before, after: before };
  }
  return { before: out.frame.shape, after: nest?.shape ?? out.frame.shape };
}

function noteOf(detail: Readonly<Record<string, unknown>>): string | null {
  const gemm = detail.gemm as GemmPlan | undefined;
  if (gemm !== undefined) {
    const { path, tile } = gemm;
    if (path === "dots" || path === "axpy") return "a product with a vector: the matrix is read as a stream";
    const how = path === "packed" ? "operands packed in panels" : "operands read where they lie";
    return `${how}, tiles of ${tile.mr} × ${tile.nr}${tile.fma ? ", fused multiply-add" : ""}`;
  }
  const loops = detail.loops as { readonly kind?: string } | undefined;
  const fold = detail.fold as { readonly algebra?: unknown } | undefined;
  if (fold === undefined || loops === undefined) return null;
  return fold.algebra === null
    ? "folded in the order of the elements"
    : "folded in fixed blocks, whatever the threads";
}

function inputName(event: Operation, i: number): string {
  if (event.inputs.length === 1) return "in";
  return String.fromCharCode(97 + i);
}

/** Bytes that the elements of a view really occupy: a broadcast axis is read from cache. */
function touched(frame: View): number {
  const shape = frame.shape.filter((_, d) => frame.strides[d] !== 0);
  return sizeOf(shape) * frame.itemBytes;
}

function operandReport(
  name: string,
  t: Seen,
  nest: LoopNest | undefined,
  k: number,
  plan: KernelPlan | undefined,
): OperandReport {
  const { frame, dtype } = t;
  const inner = nest === undefined ? -1 : nest.shape.length - 1;
  const stride = inner >= 0 ? nest?.strides[k]?.[inner] : undefined;
  const walk =
    plan?.classes[k] ??
    (stride === undefined
      ? isContiguous(frame)
        ? "contiguous"
        : "any"
      : layoutClass(stride, frame.itemBytes));
  return {
    name,
    dtype,
    shape: frame.shape,
    strides: frame.strides.map((s) => s / frame.itemBytes),
    offset: frame.offset / frame.itemBytes,
    walk,
  };
}

function passesOf(program: Program | undefined): { name: string; text: string }[] {
  if (program === undefined) return [];
  const texts = [{ name: "function", text: printProgram(program) }];
  optimize(program, { fma: detectFeatures().relaxedSimd }, (name, p) => {
    const text = printProgram(p);
    if (text !== texts[texts.length - 1].text) texts.push({ name, text });
  });
  return texts;
}

/** A copy of the bytes a view reaches, so that later writes do not change the story. */
function snapshot(name: string, t: Seen): Snapshot {
  const { start, end } = extent(t.frame);
  const { heap } = engine();
  const { read } = dtypes[t.dtype];
  if (end - start > MOST_BYTES) {
    const { address } = t.storage;
    return { name, dtype: t.dtype, frame: t.frame, read: (p): Value => read(heap.view, address + p) };
  }
  const copy = heap.u8.slice(t.storage.address + start, t.storage.address + end);
  const memory = new DataView(copy.buffer, copy.byteOffset, copy.byteLength);
  return { name, dtype: t.dtype, frame: t.frame, read: (p): Value => read(memory, p - start) };
}
