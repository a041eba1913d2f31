/** A step of a report as text that a newcomer can read. */

import { counted, list } from "../errors.ts";
import type { PoolStatus } from "../run/pool.ts";
import type { WholeLoop } from "../run/whole.ts";
import { rowMajorStrides } from "../view/layout.ts";
import { switches } from "../wasm/assembler/features.ts";
import type {
  FallbackStep,
  KernelStep,
  LoopReport,
  NjitStep,
  OperandReport,
  RoutineOperand,
  RoutineStep,
  SpanReport,
  Step,
} from "./steps.ts";

const indent = (text: string) => text.replace(/^/gm, "   ");
const row = (name: string, text: string) => `   ${name.padEnd(7)}  ${text}`;

export function stepText(step: Step, number: number): string {
  switch (step.kind) {
    case "copy":
      return `${number}. ${step.operation} copied ${bytesText(step.bytes)}: ${step.why}.`;
    case "fallback":
      return `${number}. ${fallbackText(step)}\n${indent(step.why)}`;
    case "routine":
      return [`${number}. ${step.operation}: ${handText(step)}`, ...routineRows(step)].join("\n");
    case "njit":
      return [`${number}. njit${step.name === "" ? "" : `: ${step.name}`}`, ...njitRows(step)].join("\n");
    case "kernel":
      return [`${number}. ${titleOf(step)}`, ...kernelRows(step)].join("\n");
  }
}

const fallbackText = ({ operation, backend }: FallbackStep) =>
  `${operation} ${backend === "function" ? "calls the function for each element" : "is interpreted"}, because it was not compiled:`;

/** All steps; those of a call that is made of others stand under its name. */
export function stepsText(steps: readonly Step[]): string {
  const texts = steps.map((step, i) => stepText(step, i + 1));
  const parts: string[] = [];
  for (let i = 0; i < steps.length; ) {
    const { within } = steps[i];
    let end = i + 1;
    while (end < steps.length && steps[end].within === within) end++;
    const part = texts.slice(i, end).join("\n\n");
    const isGroup = within !== undefined && steps.slice(i, end).some((s) => s.operation !== within);
    parts.push(isGroup ? `${within}:\n${part.replace(/^(?=.)/gm, "   ")}` : part);
    i = end;
  }
  return parts.join("\n\n");
}

const titleOf = ({ operation, source }: KernelStep) =>
  source === operation ? operation : `${operation}: ${oneLine(source)}`;

function kernelRows(step: KernelStep): string[] {
  return [
    ...(step.values === undefined ? [] : [row("with", valuesText(step.values))]),
    ...step.operands.map((o) => row(o.name, operandText(o))),
    row("loops", loopsText(step)),
    row("code", codeText(step)),
    ...(step.replayed ? [row("plan", "replayed: it was made for an earlier call")] : []),
    ...(step.note === null ? [] : [row("", step.note)]),
    row("threads", threadsText(step.threads, step.threads.tasks, step.threads.own)),
    row("memory", `${bytesText(step.bytesRead)} read, ${bytesText(step.bytesWritten)} written`),
    row("time", timeText(step)),
  ];
}

const valuesText = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([name, value]) => `${name} = ${value}`)
    .join(", ");

function handText({ operation, name, tasks }: RoutineStep): string {
  return `a routine written by hand${name === operation ? "" : ` ("${name}")`}, ${counted(tasks, "task")}`;
}

function routineRows({ operands, bytes, threads, tasks, cached, compileTime, time }: RoutineStep): string[] {
  return [
    ...operands.map((o) => row(o.name, placeText(o))),
    row("code", `WebAssembly, ${cached ? "known already" : `compiled in ${milliseconds(compileTime)}`}`),
    row("threads", threads.shared ? `${threads.threads} share ${tasks} tasks` : threadsText(threads, 0, 0)),
    ...(bytes === null ? [] : [row("memory", `${bytesText(bytes)} read and written`)]),
    row("time", milliseconds(time - compileTime)),
  ];
}

function njitRows({ operands, loops, threads, cached, compileTime, time }: NjitStep): string[] {
  return [
    ...operands.map((o) => row(o.name, `${o.dtype} ${list(o.shape)}, strides ${list(o.strides)}`)),
    ...loops.map((l) => row(`line ${l.line}`, `${"  ".repeat(l.depth)}${l.text}: ${loopText(l, threads)}`)),
    row("code", `WebAssembly, ${cached ? "known already" : `compiled in ${milliseconds(compileTime)}`}`),
    row("time", milliseconds(time - compileTime)),
  ];
}

function loopText(
  { prange, parallel, why, lanes, whyScalar, unrolled, checks, checksOtherwise }: WholeLoop,
  threads: PoolStatus,
): string {
  if (unrolled !== null) return `its ${unrolled} turns are written out`;
  const parts: string[] = [];
  if (parallel !== null) {
    const { turns, tasks } = parallel;
    const who = threadsText({ ...threads, threads: parallel.threads, shared: false }, 0, 0);
    parts.push(
      `parallel, ${turns} turns; threads: ${tasks > 0 ? `${parallel.threads} share ${tasks} tasks` : who}`,
    );
  } else if (prange) parts.push(`in order, because ${why}`);
  parts.push(lanes === null ? `no vectors: ${whyScalar}` : `vectors, ${lanes} turns at once`);
  if (checks > 0) parts.push(`${checks} ${checks === 1 ? "index" : "indices"} checked each turn`);
  else if (checksOtherwise > 0) parts.push("checks moved out of it");
  return parts.join("; ");
}

/** What ran where there is no element table, and why there is none. */
export function routinesText(routines: readonly RoutineStep[]): string {
  const names = [
    ...new Set(routines.map((r) => (r.name === r.operation ? r.name : `${r.operation} ("${r.name}")`))),
  ];
  return `No compiled kernel ran, only routines written by hand: ${names.join(", ")}.\nThey work on whole lines and blocks, so there is no table of elements.`;
}

/* Operands and loops ------------------------------------------------------------------------------------- */

function placeText(o: RoutineOperand): string {
  const offset = o.offset === 0 ? "" : `, offset ${o.offset}`;
  return `${o.dtype} ${list(o.shape)}, strides ${list(o.strides)}${offset}`;
}

const operandText = (o: OperandReport) =>
  `${placeText(o)}: ${o.shape.includes(0) ? "no elements" : walks[o.walk](o)}`;

/** Is the whole tensor one run in row-major order? A walk may be side by side where the tensor is not. */
function isDense({ shape, strides }: OperandReport): boolean {
  const dense = rowMajorStrides(shape);
  return shape.every((n, d) => n === 1 || strides[d] === dense[d]);
}

const walks: Record<OperandReport["walk"], (o: OperandReport) => string> = {
  contiguous: (o) => (isDense(o) ? "dense" : "side by side along the inner loop"),
  broadcast: () => "broadcast, one element for the whole inner loop",
  strided: ({ step, name }) => {
    const apart =
      step === null ? "apart from each other" : `${Math.abs(step)} apart${step < 0 ? ", backwards" : ""}`;
    return `elements ${apart}, ${name === "out" ? "written" : "picked up"} one by one`;
  },
  reversed: () => "backwards, vectors are turned round",
  transposed: () => "side by side along the other axis, turned round in registers",
  repeated: () => "the same in every row, loaded once for several rows",
  any: ({ name }) => `${name === "out" ? "written" : "read"} through its own strides, without a copy`,
};

const oneLine = (source: string) => source.replace(/\s+/g, " ");
const product = (shape: readonly number[]) => (shape.length === 0 ? "one element" : shape.join(" × "));

function loopsText({ loops, form }: KernelStep): string {
  const before = product(loops.before);
  const after = product(loops.after);
  const folds = form === "reduce" ? ", the folded ones inside" : "";
  if (before === after) return before;
  if (loops.after.length === 1) return `${before}, walked as one loop of ${after}`;
  return `${before}, walked as ${after}${folds}`;
}

/** A nest of loops, outermost first, with the steps of each operand in elements. */
export function nestText(loops: readonly LoopReport[], names: readonly string[]): string {
  if (loops.length === 0) return "one element";
  return loops
    .map(({ size, steps }, d) => {
      const moves = steps.map((s, k) => `${names[k]} ${s < 0 ? "" : "+"}${s}`).join(", ");
      return `${"  ".repeat(d)}for ${size}: ${moves}`;
    })
    .join("\n");
}

/** The lines of a program, each with the piece of source its node came from. */
export function withSpans(program: string, spans: readonly SpanReport[]): string {
  const lines = program.split("\n");
  const width = Math.max(...lines.map((line) => line.length)) + 3;
  for (const { node, text } of spans) lines[node] = `${lines[node].padEnd(width)}${oneLine(text)}`;
  return lines.join("\n");
}

/* Code, threads, time -------------------------------------------------------------------------------------- */

function codeText(step: KernelStep): string {
  if (step.backend === "function") return "the JavaScript function itself, called for each element";
  if (step.backend === "interpreter") return "the interpreter, one element after another";
  if (step.operands[0].shape.includes(0)) return "none: there is no element to write";
  if (step.wat === null)
    return step.form === "copy"
      ? "WebAssembly's memory.copy, the bytes as they are"
      : "none of its own: nothing is folded, so every element is what the fold starts with";
  return `${vectorText(step)}; ${madeText(step)}`;
}

function vectorText({ vector }: KernelStep): string {
  if (vector === null) return "WebAssembly, one element at a time";
  if (vector.tiled) return "SIMD WebAssembly, tiles of 4 × 4 elements";
  const { lanes, unroll, rows } = vector;
  const turn = unroll > 1 ? `, ${lanes * unroll} a turn of the loop` : "";
  const paired = switches.revectorised ? "; V8 may pair them into 256 bits (turbo)" : "";
  const together = rows > 1 ? `, ${rows} rows together` : "";
  return `SIMD WebAssembly, ${lanes} elements at once${turn}${together}${paired}`;
}

function madeText({ cached, compileTime, tier }: KernelStep): string {
  const made = !cached
    ? compileTime > 0
      ? `compiled in ${milliseconds(compileTime)}`
      : "compiled now"
    : "known already";
  if (tier === null) return made;
  return `${made}, ${tier === "optimised" ? "optimised by V8" : "V8's first code"}`;
}

function threadsText(
  { why, threads, wanted, shared }: KernelStep["threads"] | RoutineStep["threads"],
  tasks: number,
  own: number,
): string {
  if (shared) return `${threads} share ${tasks} tasks: ${own} done here, ${tasks - own} by others`;
  if (why !== null) return `1, because ${why}`;
  if (threads < wanted) return "1, the others are still starting (await ready() waits for them)";
  return "1, too little work to share";
}

/** Less than this says nothing of the speed. */
const LEAST_BYTES = 1 << 18;
const LEAST_FLOPS = 1 << 18;

function timeText({ time, compileTime, rate, bytes, flops }: KernelStep): string {
  const tells = flops === null ? bytes >= LEAST_BYTES : flops >= LEAST_FLOPS;
  const speed = rate === null || !tells ? "" : `, ${rate.value.toPrecision(3)} ${rate.unit}`;
  return `${milliseconds(time - compileTime)}${speed}`;
}

const milliseconds = (t: number) =>
  t < 0.1 ? `${Math.max(1, Math.round(t * 1000))} µs` : `${t.toFixed(t < 10 ? 2 : 0)} ms`;

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 2 ** 20) return `${Number((bytes / 1024).toFixed(1))} KiB`;
  return `${Number((bytes / 2 ** 20).toFixed(1))} MiB`;
}
