/** What there is to say about an operation and the plan that was spent on it: each fact a function. */
import type { DType, Value } from "../dtype.ts";
import { type Event, engine } from "../engine.ts";
import type { Program } from "../ir/node.ts";
import { isOp, ops } from "../ir/ops.ts";
import { printProgram, printTemplate, short } from "../ir/print.ts";
import { type GemmPlan, laneBytes } from "../optimize/gemm.ts";
import { optimize, passes } from "../optimize/pipeline.ts";
import { earlyCount, joinsEarly, levelsOf, unrollOf } from "../optimize/reduce-plan.ts";
import { whyScalar } from "../optimize/size.ts";
import { classLetters, type KernelPlan, layoutClass } from "../optimize/vectorize.ts";
import type { Plan, Spent, Strided, Work } from "../run/call.ts";
import type { CompiledFold } from "../run/reduce-tasks.ts";
import { sizeOf } from "../view/layout.ts";
import type { LoopNest } from "../view/loops.ts";
import { isContiguous, type View } from "../view/view.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import type { KernelStep, OperandReport, RoutineOperand, SpanReport } from "./steps.ts";

/** An operand as it is told of: in the shape the operation has. */
export type Seen = Pick<Strided, "dtype" | "storage" | "frame">;

/** A call as it is told of. */
export interface Operation {
  readonly operation: string;
  readonly form: Work["form"];
  /** The function's text, or the operation as algebra. */
  readonly source: string;
  readonly out: Seen;
  /** Outputs besides the first. */
  readonly more: readonly Seen[];
  readonly inputs: readonly Seen[];
  /** reduce and scan: the axes of the input that are folded. */
  readonly axes: readonly number[];
  /** Captured values by name. */
  readonly values: Readonly<Record<string, string>>;
}

export function operationOf({ call, plan, out }: Event & { kind: "begins" | "ran" }): Operation {
  const { work, told } = plan;
  const [own, ...frames] = framesOf(work);
  const outs = plan.more?.length ?? 0;
  const seen = (t: Strided, frame: View): Seen => ({ ...t, frame: { ...frame, offset: t.frame.offset } });
  return {
    operation: call.operation,
    form: work.form,
    source: textOf(told) ?? call.operation,
    out: seen(out, own),
    more: call.inputs.slice(0, outs).map((t, k) => seen(t, frames[k])),
    inputs: call.inputs.slice(outs).map((t, k) => seen(t, frames[outs + k])),
    axes: "isFolded" in work ? work.isFolded.flatMap((f, d) => (f ? [d] : [])) : [],
    values: Object.fromEntries(plan.names.map((name, i) => [name, String(call.values[i])])),
  };
}

const framesOf = (work: Work): readonly View[] =>
  "isFolded" in work ? [work.out, ...work.sources.filter((s) => s !== null)] : work.frames;

function textOf(told: Plan["told"]): string | null {
  if (typeof told === "function") return String(told);
  if (typeof told !== "object" || told === null) return told;
  return told.source === "" ? printTemplate(told) : told.source;
}

/** The code that ran, whichever kind of kernel it was. */
export interface Code {
  readonly bytes: Uint8Array;
  readonly compileTime: number | undefined;
  readonly calls: number | undefined;
  readonly plan: KernelPlan | null;
  readonly vector: KernelStep["vector"];
  /** How each operand is walked, the output first, where the plan says so. */
  readonly walks: readonly string[] | null;
}

export function codeOf({ kernel, gemm }: Spent): Code | null {
  if (gemm) return gemmCode(gemm);
  if (!kernel) return null;
  const { bytes, compileTime } = kernel;
  if ("programs" in kernel) {
    const { plan } = kernel;
    const { step } = kernel.programs;
    return {
      bytes,
      compileTime,
      calls: undefined,
      plan: null,
      vector: kernel.simd
        ? { lanes: 4, unroll: unrollOf(step, levelsOf(step, plan), plan), tiled: false, rows: 1 }
        : null,
      walks: [plan.out, ...plan.streams.filter((s) => s.layout !== "index").map((s) => s.layout)],
    };
  }
  const { plan, calls } = kernel;
  const { width, unroll, tiled, rows, classes } = plan;
  return {
    bytes,
    compileTime,
    calls,
    plan,
    vector: width === 0 ? null : { lanes: width, unroll, tiled, rows },
    walks: classes,
  };
}

/** What the function captured, as a step has it. */
export function capturedOf({ values, source }: Operation): Pick<KernelStep, "values"> {
  const entries = Object.entries(values).map(([name, value]) => [name.replace(/#\d+$/, ""), value]);
  // A built-in operation has them in its algebra already.
  return entries.length === 0 || !isFunction(source) ? {} : { values: Object.fromEntries(entries) };
}

const isFunction = (source: string) => /=>|[{}]/.test(source);

function gemmCode(gemm: GemmPlan): Code | null {
  const { path, tile, lane } = gemm;
  if (path === "empty") return null;
  const { bytes } = engine().products.moduleOf(gemm);
  const vector = { lanes: 16 / laneBytes(lane), unroll: tile.unrollK, tiled: false, rows: 1 };
  return { bytes, compileTime: undefined, calls: undefined, plan: null, vector, walks: null };
}

/** Work that is over before the clock has ticked has no rate. */
export function rateOf(milliseconds: number, flops: number | null, bytes: number): KernelStep["rate"] {
  if (milliseconds < 0.01) return null;
  const unit = flops === null ? "GB/s" : "GFLOP/s";
  return { value: (flops ?? bytes) / milliseconds / 1e6, unit };
}

/** The function's text; of a built-in operation its algebra, with the operands' names instead of x0, x1 …. */
export function sourceOf(event: Operation, program: Program | undefined): string {
  const { source, form, operation, values } = event;
  if (isFunction(source)) return source;
  const folds = form === "reduce" || form === "scan";
  const names = [...(folds ? ["acc"] : []), ...event.inputs.map((_, i) => inputName(event, i))];
  const algebra =
    source === operation && program !== undefined
      ? printAlgebra(program, (i) => names[i] ?? "position", Object.values(values))
      : source.replace(/\b[a-z]\w*\b/gi, (text) => values[text] ?? names[inputAt(text)] ?? text);
  // What the machine does with bits says nothing to a reader.
  return algebra.includes("bitcast") ? operation : withoutParentheses(algebra);
}

/** Which input "x1" is; -1 for other words. */
const inputAt = (text: string) => (/^x\d+$/.test(text) ? Number(text.slice(1)) : -1);

/** Without the pair around all of it, if there is one. */
function withoutParentheses(text: string): string {
  let depth = 0;
  for (let i = 0; i < text.length - 1; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")") depth--;
    if (depth === 0) return text;
  }
  return text.slice(1, -1);
}

/** A program as one line of algebra. */
function printAlgebra(
  { nodes, result }: Program,
  name: (input: number) => string,
  values: readonly string[],
): string {
  const text: string[] = [];
  for (const node of nodes) {
    const args = node.args.map((a) => short(text[a]));
    const sign = isOp(node.op) ? ops[node.op].sign : undefined;
    if (node.op === "input") text.push(name(node.index));
    else if (node.op === "param") text.push(values[node.index] ?? `param ${node.index}`);
    else if (node.op === "const") text.push(constantText(node.value, node.dtype));
    else if (node.op === "cast") text.push(`${node.dtype}(${args[0]})`);
    else if (node.op === "tuple") text.push(`[${args.join(", ")}]`);
    else if (sign !== undefined) text.push(`(${args.join(` ${sign} `)})`);
    else text.push(`${node.op}(${args.join(", ")})`);
  }
  return text[result];
}

/** The largest u32 stands for a position that there is none of. */
const constantText = (value: Value, dtype: DType) =>
  dtype === "u32" && value === 4294967295 ? "none" : Object.is(value, -0) ? "-0" : String(value);

/** Loops before and after planning; a fold's are those that stay and, last, those that go. */
export function loopsOf({ form, out, inputs }: Operation, detail: Spent): KernelStep["loops"] {
  const { nest, kept, folded } = detail;
  if (form === "reduce" && kept !== undefined && folded !== undefined) {
    return { before: inputs[0]?.frame.shape ?? [], after: [...kept.shape, ...folded.shape] };
  }
  if (form === "matmul") {
    const before = [...out.frame.shape, inputs[0].frame.shape.at(-1) ?? 1];
    return { before, after: before };
  }
  return { before: out.frame.shape, after: nest?.shape ?? out.frame.shape };
}

/** The same loops with the steps of each operand. */
export function nestsOf({ form, out, more, inputs, axes }: Operation, detail: Spent): KernelStep["nest"] {
  const seen = [out, ...more, ...inputs];
  const items = seen.map((t) => t.frame.itemBytes);
  const inElements = (bytes: number, k: number) => bytes / items[k];
  const { nest, kept, folded } = detail as Record<string, LoopNest | undefined>;
  if (form === "matmul") return { before: [], after: [] };
  if (form === "reduce" && kept !== undefined && folded !== undefined) {
    // The plan of a fold has its inputs first and the output last, and folded loops do not move it.
    const loops = (n: LoopNest, own: boolean) =>
      n.shape.map((size, d) => ({
        size,
        steps: seen.map((_, k) => {
          const bytes = k === 0 ? (own ? n.strides.at(-1) : undefined) : n.strides[k - 1];
          return inElements(bytes?.[d] ?? 0, k);
        }),
      }));
    let stays = 0;
    const before = inputs[0].frame.shape.map((size, d) => ({
      size,
      steps: [
        axes.includes(d) ? 0 : inElements(out.frame.strides[stays++], 0),
        ...inputs.map((t, k) => inElements(t.frame.strides[d], k + 1)),
      ],
    }));
    return { before, after: [...loops(kept, true), ...loops(folded, false)] };
  }
  const before = out.frame.shape.map((size, d) => ({
    size,
    steps: seen.map((t, k) => inElements(t.frame.strides[d], k)),
  }));
  const after = (nest?.shape ?? []).map((size, d) => ({
    size,
    steps: seen.map((_, k) => inElements(nest!.strides[k][d], k)),
  }));
  return { before, after: nest === undefined ? before : after };
}

export function noteOf({ gemm, loops, fold, kernel }: Spent): string | null {
  if (gemm) {
    const { path, tile } = gemm;
    if (path === "empty") return null;
    if (path === "dots" || path === "axpy") return "a product with a vector: the matrix is read as a stream";
    const how = path === "packed" ? "operands packed in panels" : "operands read where they lie";
    return `${how}, tiles of ${tile.mr} × ${tile.nr}${tile.fma ? ", fused multiply-add" : ""}`;
  }
  const why = kernel == null ? null : whyScalar(programIn(kernel));
  const scalar = why === null ? null : `no vectors: ${why}`;
  if (fold === undefined || loops === undefined) return scalar;
  const lanes =
    scalar ?? (loops.kind === "columns" ? "4 results side by side" : "4 parts of one result side by side");
  const order =
    fold.algebra === null
      ? "each in the order of its elements"
      : "grouped the same way on any number of threads";
  return `${lanes}, ${order}${earlyNote(kernel as CompiledFold | undefined)}`;
}

/** What is computed for each element. */
const programIn = (kernel: NonNullable<Spent["kernel"]>): Program =>
  "programs" in kernel ? kernel.programs.step : kernel.plan.program;

/** What is joined before it is carried. */
function earlyNote(kernel: CompiledFold | undefined): string {
  const early = kernel?.programs.early ?? null;
  const simd = engine().kernels.simd && detectFeatures().simd;
  if (!simd || early?.watch !== "finite" || !joinsEarly(early, kernel!.plan)) return "";
  return `; ${earlyCount(early)} at a time in ${early.join.dtype}, then in ${early.enter.dtype}`;
}

export function layoutKeyOf(code: Code | null): string | null {
  return code?.plan?.classes.map((c) => classLetters[c]).join("") ?? null;
}

export function inputName(event: Operation, i: number): string {
  return event.inputs.length === 1 ? "in" : letter(i);
}

/** Of the operands of a step: the outputs first. */
export function operandName(event: Operation, k: number): string {
  const outs = 1 + event.more.length;
  if (k >= outs) return inputName(event, k - outs);
  return k === 0 ? "out" : `out${k}`;
}

export const letter = (i: number): string => String.fromCharCode(97 + i);

/** Bytes that the elements of a view really occupy: a broadcast axis is read from cache. */
export function touched(frame: View): number {
  const shape = frame.shape.filter((_, d) => frame.strides[d] !== 0);
  return sizeOf(shape) * frame.itemBytes;
}

export function routineOperand(
  name: string,
  { frame, dtype }: Pick<Seen, "frame" | "dtype">,
): RoutineOperand {
  const { itemBytes, shape } = frame;
  const strides = frame.strides.map((s) => s / itemBytes);
  return { name, dtype, shape, strides, offset: frame.offset / itemBytes };
}

export function operandReport(
  name: string,
  seen: Seen,
  k: number,
  detail: Spent,
  code: Code | null,
): OperandReport {
  const { frame } = seen;
  const { itemBytes } = frame;
  // Without elements nothing is walked.
  const stride = frame.shape.includes(0) ? null : strideOf(k, detail);
  const otherwise =
    stride !== null ? layoutClass(stride, itemBytes) : isContiguous(frame) ? "contiguous" : "any";
  return {
    ...routineOperand(name, seen),
    walk: (code?.walks?.[k] ?? otherwise) as OperandReport["walk"],
    step: stride === null ? null : stride / itemBytes,
  };
}

/** Bytes from one lane to the next of an operand, 0 being the output; null where it is not known. */
function strideOf(k: number, { loops, nest }: Spent): number | null {
  if (loops !== undefined) {
    const { kind, lane, step, outer } = loops;
    const cells = { columns: lane, rows: step, runs: outer }[kind];
    return k === 0 ? cells.out : lane.inputs[k - 1];
  }
  return nest?.strides[k]?.at(-1) ?? null;
}

/** What one element costs: the function, or one step of a fold. */
export function programOf({ program, fold }: Spent): Program | undefined {
  return program ?? fold?.step;
}

export function passesOf(program: Program | undefined, values: Operation["values"]): KernelStep["passes"] {
  if (program === undefined) return [];
  const captured = Object.entries(values).map(([name, value]) => `${name.replace(/#\d+$/, "")} = ${value}`);
  const print = (p: Program) =>
    printProgram(p).replace(/param \w+ #(\d+)$/gm, (text, i) => `${text} (${captured[i] ?? "captured"})`);
  const texts = [{ name: "function", says: "what the function says, with dtypes", text: print(program) }];
  optimize(program, { fma: detectFeatures().relaxedSimd }, (name, p) => {
    const text = print(p);
    if (text !== texts[texts.length - 1].text)
      texts.push({ name, says: passes.find((pass) => pass.name === name)?.says ?? "", text });
  });
  return texts;
}

export function spansOf({ nodes }: Program, source: string): SpanReport[] {
  return nodes.flatMap(({ span }, node) =>
    span === undefined || span.end > source.length
      ? []
      : [{ node, ...span, text: source.slice(span.start, span.end) }],
  );
}
